//! The two sweeps over a local model on which all oracles stand: values of its nodes forward, adjoints backward.

use crease_core::local::{LocalModel, Node, NodeId};
use crease_core::number::{Number, NumberError, Rational};

/// Coefficients of a model in another kind of number, converted once.
pub(crate) struct Weights<N> {
    terms: Vec<(N, NodeId)>,
    starts: Vec<usize>,
}

impl<N: Number> Weights<N> {
    pub fn new(model: &LocalModel) -> Result<Self, NumberError> {
        let mut w = Weights { terms: Vec::new(), starts: Vec::with_capacity(model.len() + 1) };
        for node in model.nodes() {
            w.starts.push(w.terms.len());
            if let Node::Linear(terms) = node {
                for t in terms {
                    w.terms.push((N::from_rational(&t.coefficient)?, t.node));
                }
            }
        }
        w.starts.push(w.terms.len());
        Ok(w)
    }

    pub fn of(&self, node: usize) -> &[(N, NodeId)] {
        &self.terms[self.starts[node]..self.starts[node + 1]]
    }
}

/// The values of all nodes along a direction. At each maximum, `pick` is given the number of the kink, its members and the
/// values so far, and returns the value.
pub(crate) fn forward<N: Number>(
    model: &LocalModel,
    weights: &Weights<N>,
    direction: &[N],
    mut pick: impl FnMut(usize, &[NodeId], &[N]) -> N,
) -> Vec<N> {
    let mut values: Vec<N> = Vec::with_capacity(model.len());
    let mut kink = 0;
    for (i, node) in model.nodes().enumerate() {
        let value = match node {
            Node::Direction(k) => direction[k].clone(),
            Node::Linear(_) => {
                let mut sum: Option<N> = None;
                for (c, n) in weights.of(i) {
                    let x = c.mul(&values[n.index()]);
                    sum = Some(sum.map_or_else(|| x.clone(), |s| s.add(&x)));
                }
                sum.unwrap_or_else(N::zero)
            }
            Node::Max(members) => {
                kink += 1;
                pick(kink - 1, members, &values)
            }
        };
        values.push(value);
    }
    values
}

/// The gradient of one output when each maximum is replaced by a combination of its members: `share` is given the number of the
/// kink and of the member, and returns its weight, nothing for zero.
pub(crate) fn backward<N: Number>(
    model: &LocalModel,
    weights: &Weights<N>,
    from: NodeId,
    mut share: impl FnMut(usize, usize) -> Option<N>,
) -> Vec<N> {
    backward_from(model, weights, [(from, N::one())], &mut share)
}

/// As [`backward`], from several nodes with given adjoints.
pub(crate) fn backward_from<N: Number>(
    model: &LocalModel,
    weights: &Weights<N>,
    seeds: impl IntoIterator<Item = (NodeId, N)>,
    share: &mut impl FnMut(usize, usize) -> Option<N>,
) -> Vec<N> {
    let mut adjoints: Vec<Option<N>> = vec![None; model.len()];
    let add = |slot: &mut Option<N>, x: N| {
        *slot = Some(match slot {
            None => x,
            Some(sum) => sum.add(&x),
        });
    };
    for (node, x) in seeds {
        add(&mut adjoints[node.index()], x);
    }
    let mut kink = model.kinks().len();
    for i in (model.dimension()..model.len()).rev() {
        match model.node(model.node_id(i)) {
            Node::Max(members) => {
                kink -= 1;
                let Some(a) = adjoints[i].take() else { continue };
                for (k, m) in members.iter().enumerate() {
                    if let Some(s) = share(kink, k) {
                        add(&mut adjoints[m.index()], if s == N::one() { a.clone() } else { a.mul(&s) });
                    }
                }
            }
            _ => {
                let Some(a) = adjoints[i].take() else { continue };
                for (c, n) in weights.of(i) {
                    add(&mut adjoints[n.index()], c.mul(&a));
                }
            }
        }
    }
    adjoints.truncate(model.dimension());
    adjoints.into_iter().map(|a| a.unwrap_or_else(N::zero)).collect()
}

/// The largest value among the members.
pub(crate) fn largest(members: &[NodeId], values: &[Rational]) -> Rational {
    let mut best = &values[members[0].index()];
    for m in &members[1..] {
        best = Ord::max(best, &values[m.index()]);
    }
    best.clone()
}

/// How many operations the sweeps over a model take: multiplications and additions of one forward sweep, comparisons at its
/// maxima, multiplications and additions of one backward sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct SweepCost {
    /// Multiplications and additions forward.
    pub forward: u64,
    /// Comparisons at maxima.
    pub comparisons: u64,
    /// Multiplications and additions backward.
    pub backward: u64,
}

impl SweepCost {
    /// The cost of one sweep each way over a model.
    pub fn of(model: &LocalModel) -> Self {
        let mut cost = SweepCost::default();
        for node in model.nodes() {
            match node {
                Node::Direction(_) => {}
                Node::Linear(terms) => {
                    // a coefficient of 1 or -1 multiplies nothing
                    let scaled = terms.iter().filter(|t| !t.coefficient.abs().is_one()).count() as u64;
                    cost.forward += scaled + (terms.len() as u64).saturating_sub(1);
                    cost.backward += scaled + terms.len() as u64;
                }
                Node::Max(members) => {
                    cost.comparisons += members.len() as u64 - 1;
                    cost.backward += 1;
                }
            }
        }
        cost
    }

    /// All of it.
    pub fn total(&self) -> u64 {
        self.forward + self.comparisons + self.backward
    }
}

/// A small generator of pseudo-random numbers (SplitMix64): enough for directions, and the same on every machine.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Random(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}
