//! All neighbouring gradients: the limits of gradients at nearby points where the program is differentiable. Their convex hull is the
//! Clarke subdifferential. Section 5.3 of the paper, where programs are piecewise linear; elsewhere the model shows those limits that
//! straight directions lead to, and these are all if the arguments of kinks are piecewise affine or the kinks independent.
//!
//! What enters is a local model and limits; what leaves is [`Neighbours`]: every gradient with a direction along which it is
//! attained, and whether the list is complete. The directions around the point fall into open cones on which the model is
//! linear; a tree over the kinks visits each of them once. At a node, the members that won so far bound a cone, of which a
//! direction inside is known; the next kink is a comparison of linear forms there. The known direction settles one
//! side for free. For the other side, in this order:
//!
//! 1. a form whose sign is known already, as forms are kept up to scale, settles it;
//! 2. contradictions that were proved before (signed circuits) refute it;
//! 3. a walk in floats straight across the border may arrive there;
//! 4. a linear program decides.
//!
//! If all kinks are binary and use no other kinks, only half of the cones are visited and the others are their mirror images. A
//! subtree whose remaining conservative gradient is a single point is one cell. Signs are exact throughout, and so are gradients.
//!
//! Several can share the work, each with a [part](Cube) of the directions. Deliberately absent: threads, and lists of cones. The number of cones grows exponentially with the dimension, so that there are
//! [limits](Limits) and the list is told as it grows.

mod circuits;
mod cube;
mod found;
mod order;
mod prune;
mod tree;
mod witness;

pub use cube::Cube;

use crate::clarke::axis;
use crate::enclosed::{apart, for_each_argument};
use crate::sweep::backward_sparse;
use crate::{ClarkeElement, OracleError, Session};
use crease_core::limits::{Limits, Stop};
use crease_core::local::{Exactness, Form, Node, NodeId, NormalForm, NormalKink};
use crease_core::number::Rational;
use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::sync::Arc;
use tree::Tree;

/// Why a list is not known to be complete.
///
/// ```
/// assert_eq!(crease_oracles::EnumerateLimit::Cells(10).to_string(), "the limit of 10 cells was reached");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnumerateLimit {
    /// [`Limits::cells`].
    #[error("the limit of {0} cells was reached")]
    Cells(u64),
    /// [`Limits::gradients`].
    #[error("the limit of {0} gradients was reached")]
    Gradients(usize),
    /// [`Limits::deadline`].
    #[error("time is up")]
    Time,
    /// Somebody stopped it.
    #[error("it was stopped")]
    Stopped,
    /// [`Limits::work`].
    #[error("the limit of work was reached")]
    Work,
    /// [`Limits::memory`].
    #[error("the limit of memory was reached")]
    Memory,
    /// The normal form of the model is too large. One gradient is returned.
    #[error("the local model has too many terms")]
    TooLarge,
    /// The argument of a kink is curved near the point, so that branches may be taken beside those that the model, which is of first
    /// order, takes along directions: all in the list are neighbouring gradients, but there may be more.
    #[error("the arguments of kinks are curved here, so there may be gradients that no straight direction shows")]
    FirstOrder,
    /// Coefficients of the model are enclosed: what is in the list is certain, but there may be more.
    #[error("coefficients of the local model are enclosed, with {0} bits, so there may be more")]
    Enclosed(u32),
    /// A Euclidean norm is 0, and the gradient turns with the direction: those in the list are some of infinitely many.
    #[error("a Euclidean norm is 0 here, around which there are infinitely many")]
    Infinite,
    /// A Euclidean norm is 0 beside other kinks: there may be infinitely many.
    #[error("a Euclidean norm is 0 here, around which there may be infinitely many")]
    Round,
}

impl EnumerateLimit {
    fn of(stop: Stop) -> Self {
        match stop {
            Stop::Time => EnumerateLimit::Time,
            Stop::Cancelled => EnumerateLimit::Stopped,
            Stop::Work => EnumerateLimit::Work,
            Stop::Memory => EnumerateLimit::Memory,
        }
    }
}

/// A neighbouring gradient.
///
/// ```
/// use crease_core::{abs, local::localize, trace, Rational, Tensor};
/// use crease_oracles::{neighbouring_gradients, Neighbour};
/// let p = trace(1, |x| abs(x[0])).unwrap();
/// let model = localize(&p, &[Tensor::scalar(Rational::ZERO)]).unwrap();
/// let mut shown = Vec::new();
/// for Neighbour { gradient, direction, cells, .. } in neighbouring_gradients(&model, 0, &Default::default()).unwrap().gradients {
///     shown.push(format!("{} along {} in {cells} cell", gradient[0], direction[0]));
/// }
/// shown.sort();
/// assert_eq!(shown, ["-1 along -1 in 1 cell", "1 along 1 in 1 cell"]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbour {
    /// The gradient.
    pub gradient: Vec<Rational>,
    /// How far each coordinate may be from that of the program; nothing if all of it is exact.
    pub radius: Option<Vec<Rational>>,
    /// The program is differentiable at x + t d for small t > 0, and its gradient there tends to this one.
    pub direction: Vec<Rational>,
    /// In how many cells it is the gradient, of those that were visited.
    pub cells: u64,
}

impl Neighbour {
    fn of(e: ClarkeElement) -> Self {
        Neighbour { gradient: e.gradient, radius: e.radius, direction: e.direction, cells: 1 }
    }

    /// Whether every coordinate is known exactly.
    pub(crate) fn is_exact(&self) -> bool {
        self.radius.as_ref().is_none_or(|r| r.iter().all(Rational::is_zero))
    }
}

impl AsRef<[Rational]> for Neighbour {
    fn as_ref(&self) -> &[Rational] {
        &self.gradient
    }
}

/// How much was done.
///
/// ```
/// assert_eq!(crease_oracles::EnumerateWork::default().programs, 0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EnumerateWork {
    /// Questions whether a cone has another side of a form.
    pub questions: u64,
    /// How many of them a walk across the border answered.
    pub walks: u64,
    /// How many of them a circuit refuted that was known before.
    pub refuted: u64,
    /// How many linear programs were solved for the others.
    pub programs: u64,
    /// How many of these needed rationals.
    pub exact: u64,
    /// How many circuits were learnt.
    pub circuits: u64,
}

impl AddAssign for EnumerateWork {
    fn add_assign(&mut self, other: Self) {
        self.questions += other.questions;
        self.walks += other.walks;
        self.refuted += other.refuted;
        self.programs += other.programs;
        self.exact += other.exact;
        self.circuits += other.circuits;
    }
}

/// What [`Session::neighbouring_gradients`] tells while it works.
///
/// ```
/// use crease_core::{abs, local::localize, trace, Rational, Tensor};
/// use crease_core::{Cancel, Limits};
/// use crease_oracles::{EnumerateEvent, EnumerateLimit, Session};
/// let p = trace(2, |x| abs(x[0]) + abs(x[1])).unwrap();
/// let model = localize(&p, &[Tensor::scalar(Rational::ZERO), Tensor::scalar(Rational::ZERO)]).unwrap();
/// let (mut seen, cancel) = (0, Cancel::new());
/// let limits = Limits::default().cancelled_by(&cancel);
/// let session = Session::new(&model, 0);
/// let found = session.neighbouring_gradients(&limits, |event| {
///     seen += usize::from(matches!(event, EnumerateEvent::Gradient(_)));
///     if seen == 3 {
///         cancel.stop();
///     }
/// })
/// .unwrap();
/// assert_eq!((found.gradients.len(), found.complete(), found.limit), (3, false, Some(EnumerateLimit::Stopped)));
/// ```
#[derive(Clone, Copy, Debug)]
pub enum EnumerateEvent<'a> {
    /// A gradient that was not known before.
    Gradient(&'a Neighbour),
    /// From time to time, how far it is.
    Progress {
        /// Cells so far.
        cells: u64,
        /// Gradients so far.
        gradients: usize,
        /// What it took so far.
        work: EnumerateWork,
    },
}

/// What an enumeration found.
///
/// ```
/// use crease_core::{local::localize, relu, trace, Rational, Tensor};
/// use crease_oracles::neighbouring_gradients;
/// let p = trace(1, |x| relu(x[0]) - relu(-x[0])).unwrap(); // the identity
/// let model = localize(&p, &[Tensor::scalar(Rational::ZERO)]).unwrap();
/// let found = neighbouring_gradients(&model, 0, &Default::default()).unwrap();
/// assert!(found.complete());
/// assert_eq!((found.cells, found.gradients.len()), (2, 1));
/// assert_eq!(found.gradients[0].gradient, [Rational::ONE]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbours {
    /// The gradients, in the order in which they were found.
    pub gradients: Vec<Neighbour>,
    /// How many cells were visited: open cones on which the members that win are the same, or on which whatever wins gives the same.
    pub cells: u64,
    /// What prevented a complete list, if something did.
    pub limit: Option<EnumerateLimit>,
    /// Whether the local model is exact, so that what was found is what it seems to be.
    pub exact: bool,
    /// What it took.
    pub work: EnumerateWork,
    /// Whether signs show the directional derivative to be convex or concave, so that every gradient is a vertex of the hull.
    pub all_vertices: bool,
}

impl Neighbours {
    /// An empty list, for this reason.
    fn none(limit: Option<EnumerateLimit>) -> Self {
        let work = EnumerateWork::default();
        Neighbours { gradients: Vec::new(), cells: 0, limit, exact: true, work, all_vertices: false }
    }

    /// An empty list: it was stopped before anything was found.
    ///
    /// ```
    /// use crease_core::limits::Stop;
    /// use crease_oracles::{EnumerateLimit, Neighbours};
    /// assert_eq!(Neighbours::stopped(Stop::Time).limit, Some(EnumerateLimit::Time));
    /// ```
    pub fn stopped(stop: Stop) -> Self {
        Neighbours::none(Some(EnumerateLimit::of(stop)))
    }

    /// Whether the list is known to hold all neighbouring gradients: no limit was reached.
    ///
    /// The complete list of an inexact model is one gradient without kinks, known by its enclosure.
    pub fn complete(&self) -> bool {
        self.limit.is_none()
    }
}

impl Session<'_> {
    /// All neighbouring gradients of the output: the B-subdifferential, which for piecewise-linear programs is the lexicographic
    /// subdifferential. Where the arguments of kinks are curved the list may lack some, and is not called complete.
    ///
    /// If a limit ends it, what was found so far is returned, and [`Neighbours::complete`] says no. Every gradient is told when it is found: see
    /// [`EnumerateEvent`].
    ///
    /// ```
    /// use crease_core::{local::localize, max, trace, Rational, Tensor};
    /// use crease_oracles::Session;
    /// let p = trace(3, |x| max(x)).unwrap();
    /// let model = localize(&p, &vec![Tensor::scalar(Rational::ZERO); 3]).unwrap();
    /// let found = Session::new(&model, 0).neighbouring_gradients(&Default::default(), |_| ()).unwrap();
    /// let mut shown: Vec<_> = found.gradients.iter().map(|n| n.gradient.clone()).collect();
    /// shown.sort();
    /// assert_eq!(shown, [[0, 0, 1], [0, 1, 0], [1, 0, 0]].map(|g| g.map(Rational::from)));
    /// ```
    pub fn neighbouring_gradients(
        &self,
        limits: &Limits,
        tell: impl FnMut(EnumerateEvent<'_>),
    ) -> Result<Neighbours, OracleError> {
        self.neighbouring_gradients_in(&Cube::default(), limits, tell)
    }

    /// The same in a part of the directions, one of [`Session::cubes`]. It is complete if it holds all gradients of that part.
    pub fn neighbouring_gradients_in(
        &self,
        cube: &Cube,
        limits: &Limits,
        mut tell: impl FnMut(EnumerateEvent<'_>),
    ) -> Result<Neighbours, OracleError> {
        self.from()?;
        if let Some(plain) = self.plain_around() {
            return plain.neighbouring_gradients_in(cube, limits, tell);
        }
        let normal = match self.way() {
            Way::Tree(normal) => normal,
            Way::Enclosed(_) | Way::One if !cube.is_whole() => return Err(OracleError::Cube),
            Way::Enclosed(bits) => return enclosed(self, limits, bits, tell),
            // what it takes too long to make is not too large
            Way::One if limits.stopped().or_else(|| self.token().stopped()).is_some() => {
                let stop = limits.stopped().or_else(|| self.token().stopped());
                return Ok(Neighbours::none(stop.map(EnumerateLimit::of)));
            }
            Way::One => {
                let one = Neighbour::of(self.clarke_element(1)?);
                tell(EnumerateEvent::Gradient(&one));
                return Ok(Neighbours {
                    gradients: vec![one],
                    cells: 1,
                    limit: Some(EnumerateLimit::TooLarge),
                    exact: true,
                    work: EnumerateWork::default(),
                    all_vertices: false,
                });
            }
        };
        let limits = &limits.metered();
        let model = self.model();
        let all_taken = model.has_affine_kinks() || model.has_kinks_around() && independent(&normal);
        let all_vertices = bends_one_way(&normal);
        let (limit, left_out, met, (gradients, cells, work)) =
            self.with_tree(&normal, cube, limits, &mut tell, |mut tree| {
                let limit = tree.visit();
                (limit, tree.left_out(), tree.met_cube(), tree.into_found())
            });
        // a limit may have come before
        if limit.is_none() && !met {
            return Err(OracleError::Cube);
        }
        let limit = limit.or((!all_taken || left_out).then_some(EnumerateLimit::FirstOrder));
        Ok(Neighbours { gradients, cells, limit, exact: true, work, all_vertices })
    }

    /// How neighbouring gradients are found.
    fn way(&self) -> Way {
        if let Exactness::Enclosed { bits } = self.model().exactness() {
            return Way::Enclosed(bits);
        }
        match self.long_normal_form() {
            None => Way::One,
            Some(normal) if normal.outputs.len() == 1 => Way::Tree(normal.clone()),
            Some(normal) => Way::Tree(Arc::new(normal.of_output(self.output()))),
        }
    }

    /// Makes the tree over the kinks of a normal form, and does something with it.
    fn with_tree<T>(
        &self,
        normal: &NormalForm,
        cube: &Cube,
        limits: &Limits,
        tell: &mut dyn FnMut(EnumerateEvent<'_>),
        work: impl FnOnce(Tree<'_, '_>) -> T,
    ) -> T {
        let model = self.model();
        let mut left = self.limits().generic;
        let mut generic = |direction: &[Rational]| {
            left = left.saturating_sub(model.len());
            (left > 0).then(|| matches!(self.clarke_along(direction), Ok(Some(_))))
        };
        let seams = model.nodes().any(|n| matches!(n, Node::Seam { .. }));
        let whole = normal.kinks.len() == model.kinks().len() && !seams;
        let strict = seams || !model.has_affine_kinks();
        work(Tree::new(normal, limits, tell, whole, strict, &mut generic, cube))
    }
}

/// How neighbouring gradients are found.
enum Way {
    /// By a tree over the kinks of this normal form.
    Tree(Arc<NormalForm>),
    /// Along random directions, since coefficients are enclosed, with so many bits.
    Enclosed(u32),
    /// One only, since the model is too large.
    One,
}

/// Where coefficients are enclosed: gradients along random directions that are certain, and certainly different.
fn enclosed(
    session: &Session<'_>,
    limits: &Limits,
    bits: u32,
    mut tell: impl FnMut(EnumerateEvent<'_>),
) -> Result<Neighbours, OracleError> {
    let mut gradients: Vec<Neighbour> = Vec::new();
    let mut limit = None;
    let (model, from) = (session.model(), session.from()?);
    // where norms are, along axes first: there many of them are rational numbers
    let round =
        (0..model.len()).any(|i| session.nodes_below(from)[i] && matches!(model.node(model.node_id(i)), Node::Norm(_)));
    let axes = if round { (2 * model.dimension() as u64).min(session.limits().drawn) } else { 0 };
    let along_axes = (0..axes).map(|k| session.clarke_along(&axis(model.dimension(), k)));
    let random = (0..session.limits().drawn).map(|seed| session.clarke_element(seed).map(Some));
    for found in along_axes.chain(random) {
        limit = limits.stopped().map(EnumerateLimit::of);
        if limit.is_some() {
            break;
        }
        let found = match found {
            Ok(Some(found)) => Neighbour::of(found),
            // an axis along which a kink ties
            Ok(None) => continue,
            Err(OracleError::Undecided { .. }) if round => continue,
            Err(e) => return Err(e),
        };
        let differs =
            |n: &Neighbour| apart((&n.gradient, n.radius.as_deref()), (&found.gradient, found.radius.as_deref()));
        if gradients.iter().all(differs) {
            if gradients.len() >= limits.gradients {
                limit = Some(EnumerateLimit::Gradients(limits.gradients));
                break;
            }
            tell(EnumerateEvent::Gradient(&found));
            gradients.push(found);
        }
        // without kinks there is one gradient, and that is all
        if model.kinks().is_empty() {
            break;
        }
    }
    let open = match round {
        true if gradients.len() > 1 && only_norms(session, from) => Some(EnumerateLimit::Infinite),
        true => Some(EnumerateLimit::Round),
        false => (!model.kinks().is_empty()).then_some(EnumerateLimit::Enclosed(bits)),
    };
    let cells = gradients.len() as u64;
    let work = EnumerateWork::default();
    Ok(Neighbours { gradients, cells, limit: limit.or(open), exact: false, work, all_vertices: false })
}

/// Whether a node is made of exact linear combinations, and of norms of those, each of two forms or more that are no multiples of each other, and of nothing else. Its
/// gradient is continuous but where two such forms vanish, and that does not divide the directions: where it takes two values, it takes infinitely many.
fn only_norms(session: &Session<'_>, from: NodeId) -> bool {
    let (model, below) = (session.model(), session.nodes_below(from));
    let mut round = vec![false; model.len()];
    let mut left = session.token().steps_of(session.limits().norms);
    let mut plain = |n: NodeId| backward_sparse(model, [(n, Rational::ONE)], |_, _| None, &mut left);
    (0..model.len()).filter(|&i| below[i]).all(|i| {
        let node = model.node(model.node_id(i));
        let mut inside = false;
        for_each_argument(node, |n| inside |= round[n.index()]);
        round[i] = inside || matches!(node, Node::Norm(_));
        match node {
            Node::Norm(members) => {
                let forms: Option<Vec<Form>> = members.iter().map(|&m| plain(m)).collect();
                let several = |f: Vec<Form>| f.iter().any(|g| !f[0].is_zero() && g.ratio(&f[0]).is_none());
                !inside && forms.is_some_and(several)
            }
            Node::Linear(terms) => terms.iter().all(|t| t.radius.is_zero()),
            Node::Direction(_) => true,
            Node::Max(_) | Node::Taken(_) | Node::Seam { .. } => false,
        }
    })
}

/// Whether the kinks are independent: for each, how its members differ from the first, as far as that depends on the direction itself and
/// not on other kinks, and all of these linearly independent. Then all members can win in all combinations, near the point as in the model, even
/// if the arguments are curved (the linear independence kink qualification of Griewank and Walther).
fn independent(normal: &NormalForm) -> bool {
    // by their first coordinate, where they are 1
    let mut pivots: BTreeMap<usize, Form> = BTreeMap::new();
    for kink in &normal.kinks {
        for form in &kink.forms[1..] {
            let difference = form.minus(&kink.forms[0]);
            let mut row: Form = difference.split(normal.dimension).0.iter().cloned().collect();
            let first = loop {
                let Some((i, c)) = row.terms().first() else { return false };
                match pivots.get(i) {
                    Some(pivot) => row = row.plus(&-c, pivot),
                    None => break *i,
                }
            };
            pivots.extend(row.monic().map(|(row, _)| (first, row)));
        }
    }
    true
}

/// Whether the output adds up maxima, or subtracts them, with nothing but sums and maxima inside: then it is convex, or concave.
/// Where such a function has one gradient on an open cone, no other gradient does as well there.
fn bends_one_way(normal: &NormalForm) -> bool {
    let uses = |f: &Form, up: bool| f.beyond(normal.dimension).all(|(_, c)| c.is_positive() == up);
    let outer = |up: bool| normal.outputs.iter().all(|f| uses(f, up));
    normal.kinks.iter().flat_map(|k| &k.forms).all(|f| uses(f, true)) && (outer(true) || outer(false))
}

/// Whether a kink uses no other.
fn is_alone(kink: &NormalKink, dimension: usize) -> bool {
    kink.forms.iter().all(|f| f.split(dimension).1.is_empty())
}
