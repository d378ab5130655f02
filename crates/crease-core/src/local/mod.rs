//! The local model: what a program looks like from one point.
//!
//! At a point x, the directional derivative d -> F'(x; d) of a program is itself a positively homogeneous piecewise-linear
//! program. Smooth operations become linear maps with constant coefficients, decided kinks become one of their branches, and
//! only ties remain. [`localize`] takes a program and a point and returns that: a [`LocalModel`], a graph of nodes each of
//! which is a direction, a linear combination of earlier nodes, or the maximum of earlier nodes. Everything in Section 5 of the
//! paper is a function of it and of nothing else.
//!
//! There is one more kind of node, for what is round instead of having edges: the Euclidean norm of earlier nodes ([`Node::Norm`]). Where norms do
//! not cancel ([`LocalModel::without_norms`]) the model is not piecewise linear, and what it computes is enclosed.
//!
//! [`LocalModel::normal_form`] eliminates the linear nodes: a list of kinks, each the maximum of two or more linear forms in
//! the direction and in earlier kinks, and one form for each output. [`LocalModel::program`] is the same model as an ordinary
//! [`Program`], to be printed, costed and drawn like any other.
//!
//! The model is exact when the operations of the program are rational where it is evaluated ([`Exactness::Exact`]). Otherwise some
//! of its coefficients are [certain enclosures](Term::radius). Branches are decided in either case: where enclosures of numbers
//! cannot tell which one is taken, [`localize`] makes them tighter, and where that does not help it says so instead of returning a model.

mod apart;
mod assumed;
mod enclosure;
mod form;
mod jumps;
mod localize;
mod lower;
mod nodes;
mod norm;
mod normal;
mod prune;
mod select;
mod slopes;
mod tensors;
mod weigh;

pub use form::{Form, Sum};
pub use localize::{LocalError, Precision, localize, localize_within};
pub use normal::{NormalForm, NormalKink};
pub use tensors::sweeps;

use crate::builder::{BuildError, Builder};
use crate::number::{Mixed, Rational};
use crate::op::{Kink, Lane};
use crate::program::Site;
use crate::program::{Atom, Input, Program};
use crate::shape::Shape;
use crate::tensor::Tensor;

/// A node of a [`LocalModel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(crate) u32);

impl NodeId {
    /// The number of the node; the directions come first.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a node of a [`LocalModel`] computes from the direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Node<'m> {
    /// A coordinate of the direction.
    Direction(usize),
    /// A linear combination of earlier nodes.
    Linear(&'m [Term]),
    /// The largest of earlier nodes: a kink that is active at the point.
    Max(&'m [NodeId]),
    /// The Euclidean norm of earlier nodes, two or more: a kink where all of them are 0, and curved elsewhere.
    Norm(&'m [NodeId]),
    /// The same as an earlier node. Two branches of a selection meet here that agree to first order, but need not agree beside the
    /// point: the program may jump where this other node is 0, so that directions along which it is 0 show no gradients.
    Seam {
        /// What it is.
        taken: NodeId,
        /// What is 0 where the branches meet, to first order.
        across: NodeId,
    },
    /// The first of earlier nodes. The others belong to the conservative gradient only: a selection that takes one piece around the
    /// point and another one, of the same value, at the point itself.
    Taken(&'m [NodeId]),
}

/// A term of a linear combination.
#[derive(Clone, Debug, PartialEq)]
pub struct Term {
    /// The coefficient, or the middle of its enclosure.
    pub coefficient: Rational,
    /// How far the coefficient of the program may be from that: 0 if it is exact.
    pub radius: Rational,
    /// Which number it is, if it is enclosed: coefficients of one symbol are one number, whatever else is known of it. 0 if it is exact.
    pub symbol: u32,
    /// The node.
    pub node: NodeId,
}

/// A kink that is active at the point: a tie that can matter.
#[derive(Clone, Debug, PartialEq)]
pub struct ActiveKink {
    /// Its node, a [`Node::Max`], [`Node::Norm`] or [`Node::Taken`].
    pub node: NodeId,
    /// The operation that has the kink.
    pub operation: &'static str,
    /// The equation of the program, and its place in the source.
    pub site: Site,
    /// Which number of the result of that equation it is, or which lane, counted from 0; of a call, which of one of the equations that are called.
    pub element: usize,
    tie: weigh::Tie,
}

/// A kink that is decided at the point, and how far it is from switching.
#[derive(Clone, Debug, PartialEq)]
pub struct Margin {
    /// The operation that has the kink.
    pub operation: &'static str,
    /// The number of the equation in the program.
    pub equation: usize,
    /// Which number of its result it is, or which lane, counted from 0; of a call, which of one of the equations that are called.
    pub element: usize,
    /// The distance of its argument from zero, or of the winner from the next.
    pub margin: f64,
}

/// How the kinks of a large program of tensors were decided, where it was swept as tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decided {
    /// The kinks.
    pub kinks: usize,
    /// Those whose arguments were closer to their kinks than a million times the errors of doubles, and were computed exactly.
    pub exactly: usize,
    /// Those among them that are tied and that matter to the outputs.
    pub tied: usize,
    /// How many numbers were computed exactly, for that and for the outputs.
    pub numbers: usize,
}

/// What is known of the numbers in a model. Which branches are taken is certain in either case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exactness {
    /// All of them are exact.
    Exact,
    /// Some coefficients that matter are enclosed, or a Euclidean norm matters, whose slopes are.
    Enclosed {
        /// The bits of the enclosures.
        bits: u32,
    },
}

#[derive(Clone, Copy, Debug)]
enum Stored {
    Linear { start: u32, end: u32 },
    Max { start: u32, end: u32 },
    Norm { start: u32, end: u32 },
    Taken { start: u32, end: u32 },
    Seam { taken: NodeId, across: NodeId },
}

/// The directional derivative of a program at a point, as a piecewise-linear graph. See the [module](self).
#[derive(Clone, Debug)]
pub struct LocalModel {
    inputs: Vec<Input>,
    directions: usize,
    nodes: Vec<Stored>,
    terms: Vec<Term>,
    members: Vec<NodeId>,
    outputs: Vec<NodeId>,
    output_shapes: Vec<Shape>,
    values: Vec<Tensor<Mixed>>,
    kinks: Vec<ActiveKink>,
    margins: Vec<Margin>,
    exactness: Exactness,
    precision: Precision,
    /// Whether an active kink has an argument that is not piecewise affine near the point.
    curved: bool,
    /// Whether an active kink is a maximum to first order only.
    to_first_order: bool,
    decided: Option<Decided>,
}

impl LocalModel {
    /// The inputs of the program; their elements, one after the other, are the coordinates of directions.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// The number of coordinates of a direction: the paper's p.
    pub fn dimension(&self) -> usize {
        self.directions
    }

    /// The number of nodes, directions included.
    pub fn len(&self) -> usize {
        self.directions + self.nodes.len()
    }

    /// The memory that it takes, in bytes, long numbers aside.
    pub(crate) fn bytes(&self) -> usize {
        self.nodes.len() * size_of::<Stored>()
            + self.terms.len() * size_of::<Term>()
            + self.members.len() * size_of::<NodeId>()
            + self.margins.len() * size_of::<Margin>()
    }

    /// Whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What a node computes.
    pub fn node(&self, id: NodeId) -> Node<'_> {
        match id.index().checked_sub(self.directions) {
            None => Node::Direction(id.index()),
            Some(i) => match self.nodes[i] {
                Stored::Linear { start, end } => Node::Linear(&self.terms[start as usize..end as usize]),
                Stored::Max { start, end } => Node::Max(&self.members[start as usize..end as usize]),
                Stored::Norm { start, end } => Node::Norm(&self.members[start as usize..end as usize]),
                Stored::Taken { start, end } => Node::Taken(&self.members[start as usize..end as usize]),
                Stored::Seam { taken, across } => Node::Seam { taken, across },
            },
        }
    }

    /// The node of that number. Panics if there is none.
    pub fn node_id(&self, i: usize) -> NodeId {
        assert!(i < self.len(), "there is no node {i}");
        NodeId(i as u32)
    }

    /// All nodes in order.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = Node<'_>> + DoubleEndedIterator {
        (0..self.len()).map(|i| self.node(NodeId(i as u32)))
    }

    /// The nodes of the outputs, element by element.
    pub fn outputs(&self) -> &[NodeId] {
        &self.outputs
    }

    /// The shapes of the outputs of the program.
    pub fn output_shapes(&self) -> &[Shape] {
        &self.output_shapes
    }

    /// The values of the outputs at the point.
    pub fn values(&self) -> &[Tensor<Mixed>] {
        &self.values
    }

    /// The kinks that are active, in order.
    pub fn kinks(&self) -> &[ActiveKink] {
        &self.kinks
    }

    /// The kinks that are decided, with their distances from switching.
    pub fn margins(&self) -> &[Margin] {
        &self.margins
    }

    /// How kinks were decided, if the program was swept as tensors.
    pub fn decided(&self) -> Option<Decided> {
        self.decided
    }

    /// What is known of the numbers.
    pub fn exactness(&self) -> Exactness {
        self.exactness
    }

    /// The precision at which its numbers are enclosed, and the limit that was set.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// The same model with one scalar output, a combination of its nodes. Kinks below it are numbered anew.
    ///
    /// ```
    /// use crease_core::{exp, local::{localize, Node}, relu, trace, Rational, Tensor};
    /// let p = trace(2, |x| exp(x[1]) * relu(x[0]) - exp(x[1]) * relu(-x[0])).unwrap();
    /// let model = localize(&p, &[Tensor::scalar(Rational::ZERO), Tensor::scalar(Rational::ONE)]).unwrap();
    /// assert!(!model.is_exact());
    /// let (plus, minus) = (model.kinks()[0].node, model.kinks()[1].node);
    /// let identity = model.of_combination(&[(plus, Rational::ONE), (minus, Rational::from(-1))]);
    /// assert!(identity.is_exact());
    /// ```
    pub fn of_combination(&self, terms: &[(NodeId, Rational)]) -> LocalModel {
        let mut one = self.clone();
        let start = one.terms.len() as u32;
        let term = |(node, c): &(NodeId, Rational)| Term {
            coefficient: c.clone(),
            radius: Rational::ZERO,
            symbol: 0,
            node: *node,
        };
        one.terms.extend(terms.iter().map(term));
        one.nodes.push(Stored::Linear { start, end: one.terms.len() as u32 });
        one.outputs = vec![NodeId(one.len() as u32 - 1)];
        one.output_shapes = vec![Shape::scalar()];
        one.values = Vec::new();
        let used = one.used();
        one.kinks.retain(|k| used[k.node.index()]);
        let round = one.nodes().zip(&used).any(|(n, used)| *used && matches!(n, Node::Norm(_)));
        let enclosed = round || one.terms_below(&used).any(|t| !t.radius.is_zero());
        one.exactness = if enclosed { self.exactness } else { Exactness::Exact };
        one.pruned(&used)
    }

    /// The terms of those linear nodes that are used.
    fn terms_below<'m>(&'m self, used: &'m [bool]) -> impl Iterator<Item = &'m Term> {
        self.nodes().zip(used).filter(|(_, used)| **used).flat_map(|(node, _)| match node {
            Node::Linear(terms) => terms,
            _ => &[],
        })
    }

    /// Whether the arguments of all active kinks are piecewise affine near the point, as far as that can be seen from the operations. Then
    /// the limits of gradients at the point are the gradients of the model; otherwise there may be more of them.
    ///
    /// ```
    /// use crease_core::{abs, exp, local::localize, trace, Rational, Tensor};
    /// let zeros = vec![Tensor::scalar(Rational::ZERO); 2];
    /// // beside the parabola the gradient is near (0, -2), but along every direction the function is flat
    /// let p = trace(2, |x| abs(x[1] - x[0] * x[0]) - abs(x[1])).unwrap();
    /// assert!(!localize(&p, &zeros).unwrap().has_affine_kinks());
    /// let p = trace(2, |x| exp(abs(x[1] - 2.0 * x[0])) * x[1]).unwrap();
    /// assert!(localize(&p, &zeros).unwrap().has_affine_kinks());
    /// ```
    pub fn has_affine_kinks(&self) -> bool {
        !self.curved
    }

    /// Whether every active kink is a maximum of smooth functions around the point, and not only to first order. A Euclidean norm of several curved arguments
    /// may be an absolute value along directions, and turn beside them.
    ///
    /// ```
    /// use crease_core::{local::localize, sqrt, trace, Rational, Tensor};
    /// let zeros = vec![Tensor::scalar(Rational::ZERO); 2];
    /// let p = trace(2, |x| sqrt(x[0].powi(2) + x[1].powi(4))).unwrap(); // |x| along all directions, but not where x is as small as y^2
    /// assert!(!localize(&p, &zeros).unwrap().has_kinks_around());
    /// ```
    pub fn has_kinks_around(&self) -> bool {
        !self.to_first_order
    }

    /// Whether every coefficient in the model is exact.
    pub fn is_exact(&self) -> bool {
        self.exactness == Exactness::Exact
    }

    /// The model as an ordinary program: from the direction to the directional derivative. Of enclosed coefficients it has the middle.
    ///
    /// ```
    /// use crease_core::{abs, local::localize, trace, Rational, Tensor};
    /// let p = trace(1, |x| abs(x[0]) + 2.0 * x[0]).unwrap();
    /// let model = localize(&p, &[Tensor::scalar(Rational::ZERO)]).unwrap();
    /// assert_eq!(model.program().unwrap().to_string(), "program local(d_x0) {
    ///   let v1 = -d_x0
    ///   let v2 = max(v1, d_x0)
    ///   let v3 = 2 * d_x0
    ///   let v4 = v2 + v3
    ///   return v4
    /// }
    /// ");
    /// ```
    pub fn program(&self) -> Result<Program, BuildError> {
        let mut b = Builder::new("local");
        let mut atoms: Vec<Atom> = Vec::with_capacity(self.len());
        let mut tensors = Vec::new();
        for i in &self.inputs {
            tensors.push((b.input(format!("d_{}", i.name), i.shape.clone())?, i.shape.clone()));
        }
        for (x, shape) in tensors {
            if shape.is_scalar() {
                atoms.push(x);
                continue;
            }
            let flat = b.flatten(x)?;
            for k in 0..shape.len() {
                atoms.push(b.at(flat, &[k])?);
            }
        }
        for node in self.nodes().skip(self.directions) {
            let atom = match node {
                Node::Direction(i) => atoms[i],
                Node::Taken(members) => atoms[members[0].index()],
                Node::Seam { taken, .. } => atoms[taken.index()],
                Node::Max(members) => {
                    let members: Vec<Atom> = members.iter().map(|m| atoms[m.index()]).collect();
                    b.max(&members)?
                }
                Node::Norm(members) => {
                    let members: Vec<Atom> = members.iter().map(|m| atoms[m.index()]).collect();
                    b.push1(Kink::Norm2(Lane::Args), &members)?
                }
                Node::Linear(terms) => {
                    let mut sum: Option<Atom> = None;
                    for t in terms {
                        let x = atoms[t.node.index()];
                        let (size, negative) = (t.coefficient.abs(), t.coefficient.is_negative());
                        let scaled = if size.is_one() {
                            x
                        } else {
                            let c = b.constant(size);
                            b.mul(c, x)?
                        };
                        sum = Some(match (sum, negative) {
                            (None, false) => scaled,
                            (None, true) => b.neg(scaled)?,
                            (Some(s), false) => b.add(s, scaled)?,
                            (Some(s), true) => b.sub(s, scaled)?,
                        });
                    }
                    match sum {
                        Some(s) => s,
                        None => b.constant(Rational::ZERO),
                    }
                }
            };
            atoms.push(atom);
        }
        let mut outputs = Vec::new();
        let mut elements = self.outputs.iter().map(|o| atoms[o.index()]);
        for shape in &self.output_shapes {
            let parts: Vec<Atom> = elements.by_ref().take(shape.len()).collect();
            if shape.is_scalar() {
                outputs.extend(parts);
                continue;
            }
            let joined = b.concat(&parts, 0)?;
            outputs.push(b.reshape(joined, shape)?);
        }
        b.finish(&outputs)
    }
}
