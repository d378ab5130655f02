//! Building the local model: one pass over the scalar equations of a program, values and tangents together.
//!
//! Every number on the way is exact or enclosed, and every branch is decided: where enclosures cannot tell which one is taken, the pass
//! ends with [`LocalError::Undecided`], and [`localize_within`] starts again with twice the bits. So a model that exists has no open
//! branch, and the only doubt in it is that of its [enclosed coefficients](super::Term::radius).

use super::apart::Apart;
use super::jumps::{Spoiled, unspoiled};
use super::norm::Square;
use super::select::Truth;
use super::tensors::{self, Subject};
use super::weigh::Tie;
use super::{ActiveKink, Exactness, LocalModel, Margin, NodeId, Stored};
use crate::builder::BuildError;
use crate::flow::curvature::{self, Class};
use crate::inline::{InlineError, inline_traced};
use crate::limits::{Limits, Stop, work_of, work_of_bits};
use crate::number::{Mixed, Number, NumberError, Rational};
use crate::op::{Op, Smooth};
use crate::program::{Atom, Equation, Program, ProgramId, Site};
use crate::run::{Arg, RunError, RunFault, apply, check_inputs};
use crate::scalarize::numbers;
use crate::tensor::Tensor;
use crate::unroll::{has_loops, unroll_traced};
use std::cmp::Ordering;
use std::collections::HashMap;

/// How precisely numbers are enclosed that are not exact.
///
/// ```
/// use crease_core::local::Precision;
/// assert!(Precision::default().bits < Precision::default().limit);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Precision {
    /// The number of bits to begin with.
    pub bits: u32,
    /// The largest number of bits to go on with where fewer cannot tell.
    pub limit: u32,
}

impl Default for Precision {
    fn default() -> Self {
        Precision { bits: 128, limit: 4096 }
    }
}

impl Precision {
    /// Twice the bits, unless that is beyond the limit.
    pub fn doubled(self) -> Option<Precision> {
        let bits = self.bits.max(1).saturating_mul(2).min(self.limit);
        (bits > self.bits).then_some(Precision { bits, ..self })
    }
}

/// Why there is no local model.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LocalError {
    /// A limit was reached, or somebody stopped it, before there was a model.
    #[error("there is no local model yet: {0}")]
    Stopped(Stop),
    /// The program has no value at the point.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The branches of a selection do not agree where they meet.
    #[error("`{}` is not continuous here: {why}", site.shown)]
    Discontinuous {
        /// The selection.
        site: Box<Site>,
        /// What does not agree.
        why: String,
    },
    /// An operation without directional derivative, or one whose derivative cannot be told.
    #[error("`{}` has no directional derivative here that could be told: {why}", site.shown)]
    NoDerivative {
        /// The equation.
        site: Box<Site>,
        /// Why.
        why: String,
    },
    /// A smooth operation at a point where it has no finite slope, under an argument that is not constant: the function need not be
    /// Lipschitz there, and nothing follows from a tangent that vanishes.
    #[error("`{}` is singular here: {why}", site.shown)]
    Singular {
        /// The equation.
        site: Box<Site>,
        /// Why.
        why: String,
        /// Whether it is certain that the operation is not Lipschitz here: its slope is infinite, and its argument leaves the place at some speed.
        steep: bool,
    },
    /// An operation whose argument is where it jumps, and need not stay there. Nothing is told of what depends on it.
    #[error("`{}` jumps here: {why}", site.shown)]
    Jump {
        /// The equation.
        site: Box<Site>,
        /// Where, and from what to what.
        why: String,
    },
    /// Enclosures of so many bits do not tell which branch is taken.
    #[error("`{}` could not be decided: {what}, with {bits} bits", site.shown)]
    Undecided {
        /// The equation.
        site: Box<Site>,
        /// What could not be told.
        what: String,
        /// The bits of the enclosures.
        bits: u32,
    },
    /// The program is too large once its calls are expanded.
    #[error(transparent)]
    Inline(#[from] InlineError),
    /// The program is too large once its tensors are taken apart.
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// The local model of a program at a point, at the default [`Precision`].
///
/// ```
/// use crease_core::{local::localize, relu, trace, Rational, Tensor};
/// let p = trace(1, |x| relu(x[0]) - relu(-x[0])).unwrap();
/// let model = localize(&p, &[Tensor::scalar(Rational::ZERO)]).unwrap();
/// assert_eq!(model.kinks().len(), 2);
/// assert!(model.is_exact());
/// let away = localize(&p, &[Tensor::scalar(Rational::from(3))]).unwrap();
/// assert_eq!((away.kinks().len(), away.margins()[0].margin), (0, 3.0));
/// ```
pub fn localize(p: &Program, at: &[Tensor<Rational>]) -> Result<LocalModel, LocalError> {
    localize_within(p, at, Precision::default(), &Limits::default())
}

/// The local model of a program at a point. Where enclosures cannot tell which branch is taken, it is made again with twice the bits,
/// up to the limit of the precision. Of the limits, it keeps to those of expansion and of time,
/// and to what [`OracleLimits`](crate::limits::OracleLimits) says of tangents and squares.
///
/// ```
/// use crease_core::{cos, local::{localize_within, LocalError, Precision}, relu, sin, trace, Limits, Rational, Tensor};
/// let p = trace(1, |x| relu(sin(x[0]) * sin(x[0]) + cos(x[0]) * cos(x[0]) - 1.0)).unwrap();
/// // it is zero, which no number of bits can show
/// let precision = Precision { bits: 64, limit: 256 };
/// let refused = localize_within(&p, &[Tensor::scalar(Rational::ONE)], precision, &Limits::default());
/// assert!(matches!(refused, Err(LocalError::Undecided { bits: 256, .. })));
/// ```
pub fn localize_within(
    p: &Program,
    at: &[Tensor<Rational>],
    precision: Precision,
    limits: &Limits,
) -> Result<LocalModel, LocalError> {
    let limits = &limits.metered();
    let model = model(p, at, precision, limits);
    model.map_err(|e| e.stop().map_or(e, LocalError::Stopped))
}

fn model(
    p: &Program,
    at: &[Tensor<Rational>],
    precision: Precision,
    limits: &Limits,
) -> Result<LocalModel, LocalError> {
    limits.check().map_err(LocalError::Stopped)?;
    check_inputs(p, at, crate::run::Arithmetic::Checked)?;
    let expanded = match is_scalar(p) {
        true => None,
        false => {
            let unrolled = if has_loops(p) { Some(unroll_traced(p, limits)?) } else { None };
            let (inlined, mut calls) = inline_traced(unrolled.as_ref().map_or(p, |u| &u.0), limits)?;
            if let Some((_, turns)) = &unrolled {
                calls.iter_mut().for_each(|e| *e = turns[*e as usize]);
            }
            if numbers(&inlined) >= tensors::LARGE {
                let subject = Subject { root: p, inlined: &inlined, origins: &calls, limits };
                if let Some(model) = tensors::localize_tensors(subject, at, precision)? {
                    return Ok(model);
                }
            }
            Some(Apart::new(&inlined, |e| calls[e as usize], limits)?)
        }
    };
    let expanded = match expanded {
        Some(apart) => Some(apart),
        None => Apart::of_scalars(p, limits)?,
    };
    let mut precision = precision;
    let held = limits.held();
    loop {
        limits.release_to(held);
        let mut m = Localizer::new(p, precision, limits);
        let numbers = at.iter().flat_map(|t| t.data().iter());
        let inputs: Vec<Local> = numbers.enumerate().map(|(i, x)| m.input(i, x)).collect();
        let outputs = match &expanded {
            None => m.program(p, inputs, Origins::Same, 0),
            Some(apart) => m.program(&apart.scalar, inputs, apart.origins(), 0),
        };
        let outputs = outputs.and_then(unspoiled);
        match (outputs, precision.doubled()) {
            (Err(LocalError::Undecided { .. }), Some(more)) => precision = more,
            (outputs, _) => return Ok(m.finish(outputs?)),
        }
    }
}

impl LocalError {
    /// The limit that ended it, if it was stopped; nothing if the error is about the program.
    pub fn stop(&self) -> Option<Stop> {
        match self {
            LocalError::Stopped(stop) => Some(*stop),
            LocalError::Run(e) => e.stop(),
            LocalError::Inline(e) => e.stop(),
            LocalError::Build(e) => e.stop(),
            LocalError::Discontinuous { .. }
            | LocalError::NoDerivative { .. }
            | LocalError::Singular { .. }
            | LocalError::Jump { .. }
            | LocalError::Undecided { .. } => None,
        }
    }
}

/// The units of work that an equation takes, without what its numbers take.
const EQUATION: u64 = 48;

/// The units of work that a branch of a selection takes by itself, and for each of its inputs and constants.
const CALL: u64 = 64;
const EACH: u64 = 16;

/// The units of work of a library function on numbers of one word.
const FUNCTION: u64 = 400;

/// The equations between two checks of the memory that the model takes.
const UNWATCHED: u32 = 64;

/// The units of work that an operation on a number takes.
pub(super) fn work_of_mixed(x: &Mixed, bits: u32) -> u64 {
    x.exact().map_or_else(|| work_of_bits(bits as usize), work_of)
}

/// Whether a program calls nothing and knows no tensors, so that it can be worked on as it is.
fn is_scalar(p: &Program) -> bool {
    let structural =
        |op: &Op| matches!(op, Op::Constant(_) | Op::View { .. } | Op::Assemble { .. } | Op::MatMul { .. });
    p.callees().is_empty() && p.shapes.iter().all(|s| s.is_scalar()) && !p.ops.iter().any(structural)
}

/// Whether an operation is the square root of a value that is 0 here and not around.
fn is_root_at_zero(op: &Op, args: &[&Local]) -> bool {
    let vanishes = |x: &Local| x.class != Class::Constant && x.value.exact().is_some_and(Rational::is_zero);
    matches!((op, args), (Op::Smooth(Smooth::Sqrt), [x]) if vanishes(x))
}

/// All that is known of a value at the point.
#[derive(Clone, Debug)]
pub(super) struct Local {
    pub value: Mixed,
    /// The node of its derivative.
    pub node: NodeId,
    pub class: Class,
    /// Values of one number are one value, whatever else is known of them.
    pub number: u32,
    /// Why nobody may use it, if so.
    pub spoiled: Option<Spoiled>,
}

/// From which equations of the root program those of the program at hand came.
#[derive(Clone, Copy)]
pub(super) enum Origins<'a> {
    /// It is the root program.
    Same,
    /// From these; and which kink of theirs each is or comes before, if tensors were taken apart.
    Listed { root: &'a [u32], elements: &'a [u32] },
    /// All from the one that is being worked on.
    Fixed,
}

pub(super) struct Localizer<'p> {
    root: &'p Program,
    pub model: LocalModel,
    pub zero: NodeId,
    precision: Precision,
    pub limits: &'p Limits,
    /// whether the program has an elementwise choice, so that what has no value may not be needed
    pub defers: bool,
    /// equations until the memory is looked at again, and what was held then
    unwatched: u32,
    held: usize,
    /// the memory of long numbers
    long: usize,
    /// for every node but the directions, whether a coefficient below it is enclosed
    pub near: Vec<bool>,
    /// nodes of kinks, with their equations and how they came about: messages are written for those that survive
    pub unfinished: Vec<(NodeId, usize, usize, &'static str, Tie)>,
    /// whether the kink at hand has curved arguments, and those kinks that have
    pub bent: bool,
    pub curved: Vec<NodeId>,
    /// kinks that are maxima to first order only
    pub to_first_order: Vec<NodeId>,
    /// the equation of the root program that is being worked on, and the operation there that may have a kink
    pub origin: usize,
    pub operation: &'static str,
    /// which number of the result of that equation it is
    pub element: usize,
    pub numbers: u32,
    /// results of operations on enclosed numbers: the same operation on the same values has the same result
    shared: HashMap<(Op, Vec<u32>), Vec<Local>>,
    /// sums of squares, by their numbers
    pub squares: HashMap<u32, Square>,
    /// results of branches of selections, by program and arguments
    pub branches: HashMap<(ProgramId, Vec<u32>), Vec<Local>>,
}

impl<'p> Localizer<'p> {
    pub fn new(root: &'p Program, precision: Precision, limits: &'p Limits) -> Self {
        let directions = root.dimension();
        Localizer {
            root,
            model: LocalModel {
                inputs: root.inputs().to_vec(),
                directions,
                nodes: vec![Stored::Linear { start: 0, end: 0 }],
                terms: Vec::new(),
                members: Vec::new(),
                outputs: Vec::new(),
                output_shapes: root.outputs().iter().map(|&o| root.atom_shape(o)).collect(),
                values: Vec::new(),
                kinks: Vec::new(),
                margins: Vec::new(),
                exactness: Exactness::Exact,
                precision,
                curved: false,
                to_first_order: false,
                decided: None,
            },
            zero: NodeId(directions as u32),
            precision,
            limits,
            defers: root.has_where(),
            unwatched: UNWATCHED,
            held: 0,
            long: 0,
            near: vec![false],
            unfinished: Vec::new(),
            bent: false,
            curved: Vec::new(),
            to_first_order: Vec::new(),
            origin: 0,
            operation: "",
            element: 0,
            numbers: 0,
            shared: HashMap::new(),
            squares: HashMap::new(),
            branches: HashMap::new(),
        }
    }
}

impl Localizer<'_> {
    pub fn site(&self) -> Site {
        Site::new(self.root, self.origin)
    }

    pub fn no_derivative(&self, why: impl Into<String>) -> LocalError {
        LocalError::NoDerivative { site: Box::new(self.site()), why: why.into() }
    }

    pub fn undecided(&self, what: impl Into<String>) -> LocalError {
        LocalError::Undecided { site: Box::new(self.site()), what: what.into(), bits: self.precision.bits }
    }

    pub fn run_error(&self, fault: RunFault) -> LocalError {
        match fault {
            // with more bits it may have a value
            RunFault::Number(NumberError::Undecided | NumberError::NoOrder) => {
                self.undecided("whether its argument is where it has a value")
            }
            fault => RunError { fault, site: Some(Box::new(self.site())) }.into(),
        }
    }

    /// A value that is like no other.
    pub fn fresh(&mut self, value: Mixed, node: NodeId, class: Class) -> Local {
        self.numbers += 1;
        Local { value, node, class, number: self.numbers, spoiled: None }
    }

    fn input(&mut self, i: usize, x: &Rational) -> Local {
        let value = self.exactly(x);
        self.fresh(value, NodeId(i as u32), Class::Affine)
    }

    /// A number that is known exactly; what is computed from it and is not is enclosed.
    pub fn exactly(&self, x: &Rational) -> Mixed {
        Mixed::exactly(x.clone()).at(self.precision.bits)
    }

    fn constant(&mut self, x: &Rational) -> Local {
        let value = self.exactly(x);
        let zero = self.zero;
        self.fresh(value, zero, Class::Constant)
    }

    /// The order of two values.
    pub fn order(&self, a: &Local, b: &Local) -> Result<Ordering, LocalError> {
        if a.number == b.number {
            return Ok(Ordering::Equal);
        }
        self.compare(&a.value, &b.value)
    }

    /// The order of two numbers.
    pub fn compare(&self, a: &Mixed, b: &Mixed) -> Result<Ordering, LocalError> {
        a.compare(b).ok_or_else(|| self.undecided(format!("whether {a} is equal to {b}")))
    }

    pub fn margin(&mut self, a: &Mixed, b: &Mixed) {
        let margin = a.sub(b).to_f64().abs();
        self.model.margins.push(Margin {
            operation: self.operation,
            equation: self.origin,
            element: self.element,
            margin,
        });
    }

    /// Charges work.
    pub fn charge(&self, units: u64) -> Result<(), LocalError> {
        self.limits.charge(units).map_err(LocalError::Stopped)
    }

    /// Why something is not known that was to be found out until it is stopped.
    pub fn was_stopped(&self) -> LocalError {
        LocalError::Stopped(self.limits.stopped().unwrap_or(Stop::Work))
    }

    /// What was found out within limits, unless it is time to stop.
    pub fn go_on<T>(&self, found: T) -> Result<T, LocalError> {
        self.limits.check().map_err(LocalError::Stopped).map(|()| found)
    }

    /// Charges an equation on these numbers, and now and then the memory that the model takes.
    fn look(&mut self, e: &Equation<'_>, args: &[&Local]) -> Result<(), LocalError> {
        let bits = self.precision.bits;
        let numbers: u64 = args.iter().map(|x| work_of_mixed(&x.value, bits)).sum();
        let each = match e.op {
            Op::Smooth(_) | Op::LogSumExp(_) | Op::Div => {
                FUNCTION * (1 + work_of_bits(bits as usize) / 4) + 2 * numbers
            }
            _ => 2 * numbers,
        };
        self.charge(EQUATION + each)?;
        let long = |x: &&Local| x.value.exact().filter(|r| r.small_parts().is_none()).map_or(0, |r| r.bits() / 8);
        self.long += args.iter().map(long).sum::<usize>();
        self.unwatched -= 1;
        if self.unwatched > 0 {
            return Ok(());
        }
        self.unwatched = UNWATCHED;
        let held = self.model.bytes() + self.numbers as usize * size_of::<Local>() + self.long;
        let more = held.saturating_sub(self.held);
        self.held = held;
        self.limits.hold(more).map_err(LocalError::Stopped)
    }

    /// Carries out a scalar program on values and their nodes.
    pub fn program(
        &mut self,
        q: &Program,
        inputs: Vec<Local>,
        origins: Origins<'_>,
        depth: usize,
    ) -> Result<Vec<Local>, LocalError> {
        self.charge(CALL + EACH * (q.consts.len() + inputs.len()) as u64)?;
        let constants: Vec<Local> = q.consts.iter().map(|c| self.constant(c)).collect();
        let mut values = inputs;
        values.reserve(q.values());
        let mut truths: HashMap<Atom, Truth> = HashMap::new();
        let mut any_spoiled = values.iter().any(|x| x.spoiled.is_some());
        for (i, e) in q.equations().enumerate() {
            match origins {
                Origins::Same => self.origin = i,
                Origins::Listed { root, elements } => {
                    self.origin = root[i] as usize;
                    self.element = elements.get(i).map_or(0, |&k| k as usize);
                }
                Origins::Fixed => {}
            }
            let of = |a: &Atom| match a {
                Atom::Value(v) => &values[v.index()],
                Atom::Const(c) => &constants[c.0 as usize],
            };
            // the bulk of large programs, without detours
            if let (Op::Add | Op::Sub | Op::Mul, [a, b], true) = (e.op, e.args, truths.is_empty() && !any_spoiled) {
                let (a, b) = (of(a), of(b));
                self.look(&e, &[a, b])?;
                let result = self.binary(e.op, a, b)?;
                values.push(result);
                continue;
            }
            let args: Vec<&Local> = e.args.iter().map(of).collect();
            self.look(&e, &args)?;
            let results = match self.spoiling(&e, &args, &truths) {
                Some(why) => self.spoiled(&why, e.results),
                None => {
                    let made = self.equation(q, &e, &args, &mut truths, depth);
                    made.or_else(|error| {
                        let why = self.spoils(error)?;
                        Ok::<_, LocalError>(self.spoiled(&why, e.results))
                    })?
                }
            };
            any_spoiled |= results.iter().any(|x| x.spoiled.is_some());
            values.extend(results);
        }
        let output = |&o: &Atom| match o {
            Atom::Value(v) => values[v.index()].clone(),
            Atom::Const(c) => constants[c.0 as usize].clone(),
        };
        let mut outputs: Vec<Local> = q.outputs().iter().map(output).collect();
        for (x, o) in outputs.iter_mut().zip(q.outputs()) {
            // a truth value that changes here is returned as a number
            if let Some(Err(error)) = truths.get(o).map(|truth| self.check_truth(truth)) {
                x.spoiled = Some(Spoiled::new(error, true));
            }
        }
        Ok(outputs)
    }

    /// An equation none of whose arguments is spoiled, but for branches that need not be taken.
    fn equation(
        &mut self,
        q: &Program,
        e: &Equation<'_>,
        args: &[&Local],
        truths: &mut HashMap<Atom, Truth>,
        depth: usize,
    ) -> Result<Vec<Local>, LocalError> {
        match (e.op, args) {
            (Op::Add | Op::Sub | Op::Mul, [a, b]) => {
                Ok(vec![match (e.op, a.spoiled.is_some() || b.spoiled.is_some()) {
                    // the other factor is 0, and stays 0
                    (Op::Mul, true) => self.constant(&Rational::ZERO),
                    _ => self.binary(e.op, a, b)?,
                }])
            }
            (Op::Select(ids), _) => {
                let (first, rest) = args.split_at(ids.len() - 1);
                let mut conditions = Vec::with_capacity(first.len());
                for (a, x) in e.args.iter().zip(first) {
                    conditions.push(self.condition(*a, x, truths)?);
                }
                let rest: Vec<Local> = rest.iter().map(|x| (*x).clone()).collect();
                self.select(q, e, &conditions, &rest, depth)
            }
            (Op::Where, [condition, a, b]) => {
                let truth = self.condition(e.args[0], condition, truths)?;
                self.operation = "where";
                Ok(vec![self.choose(&truth, a, b)?])
            }
            (Op::Stair(s), [x]) => Ok(vec![self.stair(*s, x)?]),
            (Op::Position(which, _), _) => self.position(*which, args),
            (Op::Gather { of, scatter, .. }, _) => self.gathered(*of, *scatter, args),
            (Op::Compare(_) | Op::Logic(_), _) => {
                let truth = self.truth(e, args, truths)?;
                let here = if truth.here() { Mixed::one() } else { Mixed::zero() };
                truths.insert(e.first.into(), truth);
                let zero = self.zero;
                Ok(vec![self.fresh(here.at(self.precision.bits), zero, Class::Constant)])
            }
            _ => self.operation(q, e, args),
        }
    }

    /// A sum, a difference or a product.
    pub(super) fn binary(&mut self, op: &Op, a: &Local, b: &Local) -> Result<Local, LocalError> {
        let one = Mixed::one();
        let exact = |x: &Local| x.value.exact().is_some();
        let key = match exact(a) && exact(b) {
            true => None,
            false => Some((op.clone(), vec![a.number, b.number])),
        };
        if let Some(known) = key.as_ref().and_then(|k| self.shared.get(k)) {
            return Ok(known[0].clone());
        }
        let (value, node) = match op {
            Op::Add => (a.value.add(&b.value), self.linear(&[(&one, a.node), (&one, b.node)])?),
            Op::Sub if a.number == b.number => (Mixed::zero().at(self.precision.bits), self.zero),
            Op::Sub => (a.value.sub(&b.value), self.linear(&[(&one, a.node), (&one.neg(), b.node)])?),
            Op::Mul => (a.value.mul(&b.value), {
                self.combination(&[(&b.value, b.number, a.node), (&a.value, a.number, b.node)])?
            }),
            other => unreachable!("`{other}` is no sum, difference or product"),
        };
        self.check_finite(std::slice::from_ref(&value))?;
        let is_zero = |i: usize| [a, b][i].value.exact().is_some_and(Rational::is_zero);
        let class = match op {
            Op::Sub if a.number == b.number => Class::Constant,
            _ => curvature::of_smooth(op, &[a.class, b.class], is_zero).unwrap_or(Class::Curved),
        };
        let result = self.fresh(value, node, class);
        if class != Class::Constant {
            self.note_square(op, a, b, result.number);
        }
        if let Some(key) = key {
            self.shared.insert(key, vec![result.clone()]);
        }
        Ok(result)
    }

    /// Any other operation that runs no sub-program.
    fn operation(&mut self, q: &Program, e: &Equation<'_>, args: &[&Local]) -> Result<Vec<Local>, LocalError> {
        let numbers = || args.iter().map(|x| x.number).collect();
        // every kink is one of its own: a selection may choose differently at each
        let kinked = matches!(e.op, Op::Kink(_)) || is_root_at_zero(e.op, args);
        let key: Option<(Op, Vec<u32>)> = (!kinked).then(|| (e.op.clone(), numbers()));
        if let Some(known) = key.as_ref().and_then(|k| self.shared.get(k)) {
            return Ok(known.clone());
        }
        let values = self.values(q, e, args)?;
        self.check_finite(&values)?;
        let derivatives = match e.op {
            Op::Kink(kink) => self.kink(kink, args, &values)?,
            op => {
                let is_zero = |i: usize| args[i].value.exact().is_some_and(Rational::is_zero);
                let classes: Vec<Class> = args.iter().map(|x| x.class).collect();
                let Some(class) = curvature::of_smooth(op, &classes, is_zero) else {
                    return Err(match op {
                        Op::Joint(..) | Op::LogSumExpJoint(_) => {
                            self.no_derivative("it is itself a derivative; localize the program it was derived from")
                        }
                        _ => self.no_derivative("it has no place in a scalar program"),
                    });
                };
                match self.rooted(op, args)? {
                    Some(root) => vec![root],
                    None => self.smooth(op, args, &values, class)?.into_iter().map(|n| (n, class)).collect(),
                }
            }
        };
        let results: Vec<Local> = values.into_iter().zip(derivatives).map(|(v, (n, c))| self.fresh(v, n, c)).collect();
        match (args, &results[..]) {
            ([x], [y]) if y.class != Class::Constant => self.note_power(e.op, x, y.number)?,
            ([a, b], [y]) if y.class != Class::Constant => self.note_square(e.op, a, b, y.number),
            _ => {}
        }
        if let Some(key) = key {
            self.shared.insert(key, results.clone());
        }
        Ok(results)
    }

    /// A square root of 0 that is a Euclidean norm.
    fn rooted(&mut self, op: &Op, args: &[&Local]) -> Result<Option<(NodeId, Class)>, LocalError> {
        if is_root_at_zero(op, args) { self.root_of_squares(args[0]) } else { Ok(None) }
    }

    /// The values of the results of an equation.
    fn values(&self, q: &Program, e: &Equation<'_>, args: &[&Local]) -> Result<Vec<Mixed>, LocalError> {
        let slices: Vec<Arg<'_, Mixed>> = args.iter().map(|x| Arg::single(&x.value)).collect();
        let results = apply::apply(q, e, &slices).map_err(|fault| self.run_error(fault.into()))?;
        Ok(results.into_iter().flatten().collect())
    }

    fn check_finite(&self, results: &[Mixed]) -> Result<(), LocalError> {
        match results.iter().find(|x| !x.is_finite()) {
            Some(bad) => Err(self.run_error(RunFault::Overflow(bad.to_string()))),
            None => Ok(()),
        }
    }

    pub fn finish(mut self, outputs: Vec<Local>) -> LocalModel {
        let mut elements = outputs.into_iter();
        for shape in self.model.output_shapes.clone() {
            let part: Vec<Local> = elements.by_ref().take(shape.len()).collect();
            self.model.outputs.extend(part.iter().map(|p| p.node));
            self.model.values.extend(Tensor::new(shape, part.into_iter().map(|p| p.value).collect()));
        }
        let mut sites: HashMap<usize, Site> = HashMap::new();
        let mut site = |i: usize| sites.entry(i).or_insert_with(|| Site::new(self.root, i)).clone();
        let used = self.model.used();
        if self.near.iter().zip(&used[self.model.directions..]).any(|(near, used)| *near && *used) {
            self.model.exactness = Exactness::Enclosed { bits: self.precision.bits };
        }
        self.model.curved = self.curved.iter().any(|n| used[n.index()]);
        self.model.to_first_order = self.to_first_order.iter().any(|n| used[n.index()]);
        for (node, equation, element, operation, tie) in self.unfinished {
            if used[node.index()] {
                self.model.kinks.push(ActiveKink { node, operation, site: site(equation), element, tie });
            }
        }
        self.model.pruned(&used)
    }
}
