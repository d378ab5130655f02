//! Conservativity, checked: Definition 1 of the paper, the chain rule along curves, put to the test.
//!
//! A program of a function F and a field v enter: what [`backprop`](crease::backprop) returns under a selection, a program, or any
//! function of the point. What leaves is a [`Report`]: along how many curves γ it was tried whether (F∘γ)'(t) = ⟨v(γ(t)), γ'(t)⟩ for almost every t,
//! how often the curve ran inside kinks, and every place where it failed.
//!
//! **A curve in general position shows nothing.** It crosses kinks at isolated instants, which Definition 1 does not ask about;
//! between them every rule for kinks, right or wrong, gives the gradient. So [`check`] makes curves that run *inside* kinks: at a
//! point it takes the local model, picks ties to keep, goes along a direction in which they last, and turns where it meets the
//! next kink. Where the tie is curved, a polynomial curve is bent order by order until it stays inside, if one of low degree does.
//!
//! **Exact, not sampled, where the program is rational.** The program and the field are run once for each open interval, on rational
//! functions of t, ordered as they are just after an instant. Values, kinks and gradients of the whole interval come out as
//! formulas, and the chain rule is an identity between two of them. Where all comparisons are linear in t, as they are for
//! piecewise-linear programs along segments, the next breakpoint is known exactly and the whole segment is covered
//! ([`Report::intervals`]); else the identity is tried just after random instants ([`Report::instants`]). A program with
//! exponentials is compared in certain enclosures at random instants, which can refute but not prove ([`Report::enclosed`]).
//! What cannot be told is listed in [`Report::undecided`]; nothing passes in silence.
//!
//! A pass is evidence about the curves that were tried, a violation is a proof.
//!
//! ```
//! use crease_paper::experiments::conservativity::{Field, Options, check};
//! use crease::{How, Selection, abs, max, number::Mixed, trace};
//! let f = trace(2, |x| max(&[x[0], x[1]]))?;
//! // PyTorch's rule, ties shared equally, is conservative
//! let torch = How::default().select(Selection::torch());
//! let report = check(&f, Field::Derived(&torch), &[], &Options::default())?;
//! assert!(report.passed() && report.inside_kinks > 0);
//! // full weight to every tied argument is not: inside x0 = x1 it gives twice the derivative
//! let q = |truth: bool| crease::Rational::from(i64::from(truth));
//! let every = |x: &[crease::Rational]| vec![q(x[0] >= x[1]), q(x[1] >= x[0])];
//! let report = check(&f, Field::Function(&every), &[], &Options::default())?;
//! assert!(!report.passed());
//! assert!(report.violations.iter().all(|v| v.inside)); // away from ties the rule is right
//! let caught = &report.violations[0];
//! assert_eq!((&caught.expected, &caught.found), (&Mixed::exactly(1.into()), &Mixed::exactly(2.into())));
//! // and with a square and two kinks, whatever is picked
//! let lasso = trace(2, |x| (2.0 * x[0] + x[1] - 2.0).powi(2) + abs(x[0]) + abs(x[1]))?;
//! for selection in [Selection::paper(), Selection::torch(), Selection::jax()] {
//!     let how = How::default().select(selection);
//!     let report = check(&lasso, Field::Derived(&how), &[], &Options::default())?;
//!     assert!(report.passed() && report.complete() && report.inside_kinks > 0);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod curve;
mod enclose;
mod follow;
mod germ;
mod polynomial;
mod rules;
mod subspace;
mod walk;

pub use curve::{Curve, Piece};
pub use follow::curve_inside_kinks;
pub use rules::with_choices;

use crease_core::differentiate::{DiffError, How, gradient};
use crease_core::number::Mixed;
use crease_core::random::SplitMix64;
use crease_core::{Program, Rational, Shape, Tensor};
use std::borrow::Cow;
use walk::Tester;

/// A candidate for a conservative gradient: from a point to a vector.
#[derive(Clone, Copy)]
pub enum Field<'a> {
    /// What backprop returns: with this selection, these techniques, and the joint programs of those who wrote them.
    Derived(&'a How),
    /// A program with the same inputs that returns one derivative for each of them, in its shape.
    Program(&'a Program),
    /// A function of the point. It is only asked at rational points, so it is tried at two instants of every interval.
    Function(&'a dyn Fn(&[Rational]) -> Vec<Rational>),
}

/// How many curves, and how long.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The number of curves that start from each point.
    pub curves: usize,
    /// The number of pieces of each of them.
    pub pieces: usize,
    /// The number of random instants on a piece whose breakpoints are not known.
    pub instants: usize,
    /// The largest number of intervals on one piece; what is beyond is undecided.
    pub intervals: usize,
    /// The seed of everything random.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options { curves: 8, pieces: 4, instants: 4, intervals: 1000, seed: 1 }
    }
}

/// What was tried, and what failed.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Report {
    /// The number of curves.
    pub curves: usize,
    /// The number of their pieces.
    pub pieces: usize,
    /// Open intervals on which the chain rule was decided exactly; on each no kink switches.
    pub intervals: usize,
    /// Random instants just after which the chain rule was decided exactly.
    pub instants: usize,
    /// How many of these intervals and instants lie inside at least one kink.
    pub inside_kinks: usize,
    /// Instants at which both sides are only known in certain enclosures, and these meet: not refuted, not proved.
    pub enclosed: usize,
    /// What could not be told.
    pub undecided: Vec<Undecided>,
    /// Where the chain rule fails.
    pub violations: Vec<Violation>,
}

impl Report {
    /// Whether there is no violation.
    pub fn passed(&self) -> bool {
        self.violations.is_empty()
    }

    /// Whether everything was decided exactly.
    pub fn complete(&self) -> bool {
        self.undecided.is_empty() && self.enclosed == 0
    }

    /// Adds what another report holds.
    pub fn merge(&mut self, other: Report) {
        self.curves += other.curves;
        self.pieces += other.pieces;
        self.intervals += other.intervals;
        self.instants += other.instants;
        self.inside_kinks += other.inside_kinks;
        self.enclosed += other.enclosed;
        self.undecided.extend(other.undecided);
        self.violations.extend(other.violations);
    }
}

/// A part of a curve of which nothing could be said.
#[derive(Clone, Debug, PartialEq)]
pub struct Undecided {
    /// The piece.
    pub piece: Piece,
    /// From where on.
    pub t: Rational,
    /// Why.
    pub why: String,
}

/// A part of a curve along which the chain rule fails: not at one instant, but around it.
#[derive(Clone, Debug, PartialEq)]
pub struct Violation {
    /// The piece of the curve.
    pub piece: Piece,
    /// An open interval on which the chain rule fails, for programs at all but finitely many instants; nothing where there are only
    /// enclosures.
    pub interval: Option<(Rational, Rational)>,
    /// An instant at which it fails.
    pub t: Rational,
    /// The derivative of F∘γ there.
    pub expected: Mixed,
    /// ⟨v, γ'⟩ there.
    pub found: Mixed,
    /// Whether the curve runs inside a kink there.
    pub inside: bool,
}

/// Why nothing can be checked.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConservativityError {
    /// The program cannot be differentiated, or the selection is refused.
    #[error(transparent)]
    Diff(#[from] DiffError),
    /// The function must be one number.
    #[error("Definition 1 is about one scalar output, but program `{name}` returns {outputs} numbers")]
    NotScalar {
        /// The program.
        name: String,
        /// How many numbers it returns.
        outputs: usize,
    },
    /// A field that does not belong to the program.
    #[error("a field must take the inputs of the program and return one derivative for each of them: {0}")]
    Field(String),
    /// A curve or a point of another space, or one that does not go on.
    #[error("{what} number {number} must have {dimension} coordinates throughout, and a parameter that ends after 0")]
    Curve {
        /// What it is.
        what: &'static str,
        /// Which one.
        number: usize,
        /// The dimension of the inputs.
        dimension: usize,
    },
}

/// Tries the chain rule along random curves that start from the given points and run inside kinks where they can.
///
/// Without points, curves start from small integer points. With a point at which many kinks meet, all of what follows happens near it, so
/// give such points if you know them.
///
/// ```
/// use crease_paper::experiments::conservativity::{Field, Options, check};
/// use crease::{How, Rational, relu, trace};
/// let f = trace(2, |x| relu(x[0] - x[1]) + relu(x[1]))?;
/// let report = check(&f, Field::Derived(&How::default()), &[vec![Rational::ZERO; 2]], &Options::default())?;
/// assert!(report.passed() && report.complete());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check(
    program: &Program,
    field: Field<'_>,
    points: &[Vec<Rational>],
    options: &Options,
) -> Result<Report, ConservativityError> {
    let tester = Tester::new(program, prepare(program, field)?, options);
    let mut random = SplitMix64::new(options.seed);
    let n = program.dimension();
    if let Some(number) = points.iter().position(|x| x.len() != n) {
        return Err(ConservativityError::Curve { what: "point", number, dimension: n });
    }
    let small = |random: &mut SplitMix64| (0..n).map(|_| Rational::from(random.below(5) as i64 - 2)).collect();
    let points = match points {
        [] => Cow::Owned(vec![vec![Rational::ZERO; n], small(&mut random), small(&mut random)]),
        given => Cow::Borrowed(given),
    };
    let mut report = Report::default();
    for point in points.iter() {
        for _ in 0..options.curves {
            let curve = follow::curve(program, point.clone(), options.pieces, &mut random);
            tester.curve(&curve, &mut random, &mut report);
        }
    }
    Ok(report)
}

/// Tries the chain rule along curves of one's own.
///
/// ```
/// use crease_paper::experiments::conservativity::{Curve, Field, Options, Piece, check_curves};
/// use crease::{How, Rational, relu, trace};
/// let q = |n: i64| Rational::from(n);
/// let f = trace(2, |x| relu(x[1] - x[0] * x[0]))?;
/// // inside the kink, along the parabola
/// let parabola = Piece { powers: vec![vec![q(0), q(0)], vec![q(1), q(0)], vec![q(0), q(1)]], until: q(1) };
/// let curve = Curve { pieces: vec![parabola] };
/// let report = check_curves(&f, Field::Derived(&How::default()), &[curve], &Options::default())?;
/// assert_eq!((report.intervals, report.inside_kinks, report.passed()), (1, 1, true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn check_curves(
    program: &Program,
    field: Field<'_>,
    curves: &[Curve],
    options: &Options,
) -> Result<Report, ConservativityError> {
    let dimension = program.dimension();
    let fits = |c: &Curve| c.pieces.iter().all(|p| p.dimension() == Some(dimension));
    if let Some(number) = curves.iter().position(|c| !fits(c)) {
        return Err(ConservativityError::Curve { what: "curve", number, dimension });
    }
    let tester = Tester::new(program, prepare(program, field)?, options);
    let mut random = SplitMix64::new(options.seed);
    let mut report = Report::default();
    curves.iter().for_each(|c| tester.curve(c, &mut random, &mut report));
    Ok(report)
}

/// A field that is ready to be run.
enum Ready<'a> {
    Program(Box<Program>),
    Function(&'a dyn Fn(&[Rational]) -> Vec<Rational>),
}

fn prepare<'a>(program: &Program, field: Field<'a>) -> Result<Ready<'a>, ConservativityError> {
    let outputs = program.outputs().iter().map(|&o| program.atom_shape(o).len()).sum();
    if outputs != 1 {
        return Err(ConservativityError::NotScalar { name: program.name().into(), outputs });
    }
    match field {
        Field::Derived(how) => Ok(Ready::Program(Box::new(gradient(program, how)?))),
        Field::Function(f) => Ok(Ready::Function(f)),
        Field::Program(p) => {
            let shapes = |p: &Program| p.inputs().iter().map(|i| i.shape.clone()).collect::<Vec<Shape>>();
            let returned: Vec<Shape> = p.outputs().iter().map(|&o| p.atom_shape(o)).collect();
            if shapes(p) != shapes(program) {
                let why = format!("`{}` takes {:?}, `{}` {:?}", p.name(), shapes(p), program.name(), shapes(program));
                return Err(ConservativityError::Field(why));
            }
            if returned != shapes(program) {
                return Err(ConservativityError::Field(format!("`{}` returns {returned:?}", p.name())));
            }
            Ok(Ready::Program(Box::new(p.clone())))
        }
    }
}

/// The numbers of a point, one after the other, as the inputs of a program.
fn tensors<N: Clone>(program: &Program, numbers: &[N]) -> Vec<Tensor<N>> {
    let mut rest = numbers;
    let mut next = |shape: &Shape| {
        let (head, tail) = rest.split_at_checked(shape.len())?;
        rest = tail;
        Tensor::new(shape.clone(), head.to_vec())
    };
    program.inputs().iter().filter_map(|i| next(&i.shape)).collect()
}
