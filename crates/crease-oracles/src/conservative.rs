//! The autodiff conservative gradient: one element or several, and which. Definition "autodiff conservative gradient" and
//! Proposition "finding two elements is tractable".
//!
//! Every active kink may take any convex combination of its members; the set of gradients that come out is the conservative
//! gradient of the program. It is the image of a polynomial in those choices, affine in each kink, so it is a single point iff the
//! polynomial is constant. That is decided twice: by evaluating it at random points of a prime field, where a difference is certain,
//! and by the graph of the paper's proof, exactly. A path of the graph gives a second element only if it has the *fewest* kinks:
//! with an arbitrary one sub-monomials can cancel.

use crate::sweep::{Random, Weights, backward};
use crate::{OracleError, output};
use crease_core::local::{Form, LocalModel, Node, NormalForm};
use crease_core::number::{Field61, Number, Rational};

/// How many node visits may be spent on the exact graph.
const GRAPH_BUDGET: usize = 50_000_000;

/// How many node visits may be spent on pushing two elements apart.
const SPREAD_BUDGET: usize = 20_000_000;

/// An element of the conservative gradient, and the choices that produce it.
#[derive(Clone, Debug, PartialEq)]
pub struct ConservativeElement {
    /// The gradient.
    pub gradient: Vec<Rational>,
    /// For each kink of the model, the weights of its members; they add up to 1.
    pub choices: Vec<Vec<Rational>>,
}

/// What is known of the conservative gradient at a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Conservative {
    /// One element if the set is a singleton, else two distinct ones.
    pub elements: Vec<ConservativeElement>,
    /// Whether the verdict is proved. Two distinct elements prove themselves; a singleton is proved by the graph, unless that is too
    /// large: then the probability of an error is below 2^-50.
    pub proved: bool,
    /// The kinks of a shortest path of the paper's graph, from the output down, if there is one and the graph was made.
    pub path: Option<Vec<usize>>,
    /// For every coordinate, numbers between which all elements lie. They need not be attained.
    pub bounds: Vec<(Rational, Rational)>,
}

impl Conservative {
    /// Whether the set has one element only.
    pub fn is_singleton(&self) -> bool {
        self.elements.len() == 1
    }
}

/// The conservative gradient of one scalar output: a singleton, or two distinct elements.
///
/// ```
/// use crease_core::{local::localize, relu, trace, Rational, Tensor};
/// use crease_oracles::conservative;
/// let p = trace(1, |x| relu(x[0]) - relu(-x[0])).unwrap();
/// let model = localize(&p, &[Tensor::scalar(Rational::ZERO)]).unwrap();
/// let c = conservative(&model, 0).unwrap();
/// let found: Vec<String> = c.elements.iter().map(|e| e.gradient[0].to_string()).collect();
/// assert_eq!(found, ["0", "2"]);
/// ```
pub fn conservative(model: &LocalModel, output_number: usize) -> Result<Conservative, OracleError> {
    let from = output(model, output_number)?;
    let weights: Weights<Rational> = Weights::new(model)?;
    let sizes = sizes(model);
    let bounds = bounds(model, from);
    let vertex = |k: &[usize]| -> Vec<Vec<Rational>> {
        let unit = |(n, &k): (&usize, &usize)| (0..*n).map(|i| Rational::from_usize(usize::from(i == k))).collect();
        sizes.iter().zip(k).map(unit).collect()
    };
    let at = |choices: &[Vec<Rational>]| {
        backward(model, &weights, from, |kink, k| Some(choices[kink][k].clone()).filter(|c| !c.is_zero()))
    };
    let base = vec![0; sizes.len()];
    let first = ConservativeElement { gradient: at(&vertex(&base)), choices: vertex(&base) };

    if several_in_field(model, output_number, 0x5EED)? {
        let affordable = model.len().saturating_mul(sizes.len()) <= GRAPH_BUDGET;
        let (mut choices, mut path) = (None, None);
        if affordable {
            let normal = model.normal_form();
            if let Some(steps) = shortest_path(&normal, output_number) {
                path = Some(steps.iter().map(|&(k, _)| normal.kinks[k].origin).collect());
                choices = Some(vertex(&switched(model, &normal, &steps)));
            }
        }
        let second = match choices {
            Some(c) => c,
            None => random_choices(&sizes, &at, &first.gradient)?,
        };
        let second = ConservativeElement { gradient: at(&second), choices: second };
        let elements = spread(model, vec![first, second], &sizes, &vertex, &at);
        return Ok(Conservative { elements, proved: true, path, bounds });
    }
    let affordable = model.len().saturating_mul(sizes.len()) <= GRAPH_BUDGET;
    let proved = affordable && shortest_path(&model.normal_form(), output_number).is_none();
    Ok(Conservative { elements: vec![first], proved, path: None, bounds })
}

/// The randomized test: whether two sweeps with random choices in the prime field differ. If they do, the set is certainly no
/// singleton; if they do not, it is one but for a probability below 2^-50.
pub fn several_in_field(model: &LocalModel, output_number: usize, seed: u64) -> Result<bool, OracleError> {
    let from = output(model, output_number)?;
    let field: Weights<Field61> = Weights::new(model)?;
    let mut random = Random::new(seed);
    let mut draw = || -> Vec<Field61> {
        let choices: Vec<Vec<Field61>> = sizes(model)
            .iter()
            .map(|&n| {
                let mut shares: Vec<Field61> = (1..n).map(|_| Field61::new(random.next())).collect();
                let rest = shares.iter().fold(Field61::one(), |rest, s| rest.sub(s));
                shares.push(rest);
                shares
            })
            .collect();
        backward(model, &field, from, |kink, k| Some(choices[kink][k]))
    };
    Ok(draw() != draw())
}

fn sizes(model: &LocalModel) -> Vec<usize> {
    let members = |n: Node<'_>| match n {
        Node::Max(members) => Some(members.len()),
        _ => None,
    };
    model.nodes().filter_map(members).collect()
}

/// Random rational choices whose gradient differs from a given one.
fn random_choices(
    sizes: &[usize],
    at: &impl Fn(&[Vec<Rational>]) -> Vec<Rational>,
    other: &[Rational],
) -> Result<Vec<Vec<Rational>>, OracleError> {
    let mut random = Random::new(1);
    for attempt in 0..32 {
        // corners first, then points of the inside, where a polynomial that is not constant is almost never equal
        let choices: Vec<Vec<Rational>> = sizes
            .iter()
            .map(|&n| {
                let parts: Vec<i64> = match attempt {
                    0..8 => {
                        let k = random.below(n as u64) as usize;
                        (0..n).map(|i| i64::from(i == k)).collect()
                    }
                    _ => (0..n).map(|_| 1 + random.below(1 << (attempt / 2)) as i64).collect(),
                };
                let total = parts.iter().sum::<i64>();
                parts.iter().filter_map(|&p| Rational::new(p, total)).collect()
            })
            .collect();
        if at(&choices) != other {
            return Ok(choices);
        }
    }
    Err(OracleError::NoGenericDirection)
}

/// Pushes two distinct elements apart along a coordinate in which they differ, corner by corner.
fn spread(
    model: &LocalModel,
    mut elements: Vec<ConservativeElement>,
    sizes: &[usize],
    vertex: &impl Fn(&[usize]) -> Vec<Vec<Rational>>,
    at: &impl Fn(&[Vec<Rational>]) -> Vec<Rational>,
) -> Vec<ConservativeElement> {
    let visits = model.len().saturating_mul(sizes.iter().sum::<usize>()).saturating_mul(2);
    let Some(coordinate) = (0..model.dimension()).find(|&i| elements[0].gradient[i] != elements[1].gradient[i]) else {
        return elements;
    };
    elements.sort_by(|a, b| a.gradient[coordinate].cmp(&b.gradient[coordinate]));
    let corner = |e: &ConservativeElement| -> Option<Vec<usize>> {
        e.choices.iter().map(|c| c.iter().position(Rational::is_one)).collect()
    };
    if visits > SPREAD_BUDGET {
        return elements;
    }
    for (element, larger) in elements.iter_mut().zip([false, true]) {
        let Some(mut best) = corner(element) else { continue };
        for kink in 0..sizes.len() {
            for k in 0..sizes[kink] {
                let mut tried = best.clone();
                tried[kink] = k;
                let gradient = at(&vertex(&tried));
                let order = gradient[coordinate].cmp(&element.gradient[coordinate]);
                if if larger { order.is_gt() } else { order.is_lt() } {
                    *element = ConservativeElement { gradient, choices: vertex(&tried) };
                    best = tried;
                }
            }
        }
    }
    elements
}

/// Bounds on every coordinate, by intervals: each member of a kink takes any part of the kink's adjoint.
fn bounds(model: &LocalModel, from: crease_core::local::NodeId) -> Vec<(Rational, Rational)> {
    let zero = || (Rational::ZERO, Rational::ZERO);
    let mut adjoints: Vec<(Rational, Rational)> = vec![zero(); model.len()];
    adjoints[from.index()] = (Rational::ONE, Rational::ONE);
    for i in (model.dimension()..model.len()).rev() {
        let (low, high) = adjoints[i].clone();
        if low.is_zero() && high.is_zero() {
            continue;
        }
        match model.node(model.node_id(i)) {
            Node::Direction(_) => {}
            Node::Linear(terms) => {
                for t in terms {
                    let (a, b) = (&t.coefficient * &low, &t.coefficient * &high);
                    let (a, b) = if t.coefficient.is_negative() { (b, a) } else { (a, b) };
                    let slot = &mut adjoints[t.node.index()];
                    slot.0 += &a;
                    slot.1 += &b;
                }
            }
            Node::Max(members) => {
                let part = (Ord::min(low, Rational::ZERO), Ord::max(high, Rational::ZERO));
                for m in members {
                    let slot = &mut adjoints[m.index()];
                    slot.0 += &part.0;
                    slot.1 += &part.1;
                }
            }
        }
    }
    adjoints.truncate(model.dimension());
    adjoints
}

/// A path of the paper's graph with the fewest kinks, as pairs of a kink and the form to switch to.
///
/// The base choice is the first form of every kink. Switching kink k to form j adds `f_j - f_0`; an edge leads from the output, or
/// from such a switch, to every kink whose effective coefficient in it is not zero when all others stay at their base choice; a path
/// ends where the effective coefficient of some coordinate of the direction is not zero.
fn shortest_path(normal: &NormalForm, output_number: usize) -> Option<Vec<(usize, usize)>> {
    let n = normal.kinks.len();
    // what a form depends on, effectively: kinks, and whether any coordinate
    let effective = |form: &Form| -> (Vec<usize>, bool) {
        let mut adjoints = vec![Rational::ZERO; n];
        let mut direct = form.clone();
        direct.kinks.clear();
        for (k, c) in &form.kinks {
            adjoints[*k] += c;
        }
        let mut reached = Vec::new();
        for k in (0..n).rev() {
            if adjoints[k].is_zero() {
                continue;
            }
            reached.push(k);
            let weight = adjoints[k].clone();
            let base = &normal.kinks[k].forms[0];
            for (l, c) in &base.kinks {
                adjoints[*l].add_mul(&weight, c);
            }
            direct = direct.plus(&weight, &Form { directions: base.directions.clone(), kinks: Vec::new() });
        }
        (reached, !direct.directions.is_empty())
    };
    let mut came_from: Vec<Option<Option<(usize, usize)>>> = vec![None; n];
    let mut layer: Vec<usize> = Vec::new();
    for k in effective(normal.outputs.get(output_number)?).0 {
        came_from[k] = Some(None);
        layer.push(k);
    }
    while !layer.is_empty() {
        let mut next = Vec::new();
        let mut switches = Vec::new();
        for &k in &layer {
            for j in 1..normal.kinks[k].forms.len() {
                let difference = normal.kinks[k].forms[j].plus(&Rational::from(-1), &normal.kinks[k].forms[0]);
                let (reached, ends) = effective(&difference);
                if ends {
                    let mut path = vec![(k, j)];
                    let mut at = k;
                    while let Some(Some(previous)) = came_from[at] {
                        path.push(previous);
                        at = previous.0;
                    }
                    path.reverse();
                    return Some(path);
                }
                switches.push((k, j, reached));
            }
        }
        for (k, j, reached) in switches {
            for l in reached {
                if came_from[l].is_none() {
                    came_from[l] = Some(Some((k, j)));
                    next.push(l);
                }
            }
        }
        layer = next;
    }
    None
}

/// The choices, as members of the model's kinks, that switch the kinks of a path and leave all others at their base.
fn switched(model: &LocalModel, normal: &NormalForm, path: &[(usize, usize)]) -> Vec<usize> {
    let mut picked = vec![0; model.kinks().len()];
    for &(k, j) in path {
        let kink = &normal.kinks[k];
        picked[kink.origin] = kink.members[j];
    }
    picked
}
