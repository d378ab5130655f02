//! Running: Algorithm 1, the reference interpreter. It is the definition of meaning.
//!
//! A program and its inputs enter, the outputs leave, in any kind of [`Number`]. Equations are carried out one after the
//! other in the order in which they stand; within an operation on tensors, sums are taken in row-major order. There is no
//! clever evaluation here: whatever is faster must agree with this.
//!
//! By default a run is *checked*: the first equation whose result is not a finite number stops it with a [`RunError`] that
//! says where and why. [`Arithmetic::Ieee`] lets infinities and NaN through, as the hardware would. Only in a program with
//! [`Op::Where`] a number without a value stops the run when it is needed, and not before: the branch that is not taken need not have one.
//! Calls run on an explicit stack of frames, so nesting is limited by memory only. How much a run may compute and hold is limited by
//! its [`Limits`].

pub(crate) mod apply;
mod kinks;
mod lanes;
mod limits;
mod missing;
pub(crate) mod positions;
pub mod ready;
mod turns;

pub use kinks::{KinkHit, kinks, kinks_with};
pub use limits::least_steps;

use crate::limits::{Limits, Stop};
use crate::number::{Number, NumberError};
use crate::op::Op;
use crate::program::{Atom, Equation, Program, ProgramId, Site};
use crate::shape::Shape;
use crate::tensor::Tensor;
use limits::Meter;
use missing::{Missing, Reasons};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use turns::Turning;

/// What happens when a result is not a finite number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Arithmetic {
    /// The run stops with an error that tells where.
    #[default]
    Checked,
    /// Infinities and NaN travel on.
    Ieee,
}

/// How to run: the arithmetic, and how far to go.
///
/// ```
/// use crease_core::{Arithmetic, Limits, RunOptions};
/// assert_eq!(RunOptions::from(Arithmetic::Ieee).limits.steps, Limits::default().steps);
/// ```
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// What happens when a result is not a finite number.
    pub arithmetic: Arithmetic,
    /// How far the run may go.
    pub limits: Limits,
}

impl From<Arithmetic> for RunOptions {
    fn from(arithmetic: Arithmetic) -> Self {
        RunOptions { arithmetic, limits: Limits::default() }
    }
}

impl From<&Limits> for RunOptions {
    fn from(limits: &Limits) -> Self {
        limits.clone().into()
    }
}

impl From<Limits> for RunOptions {
    fn from(limits: Limits) -> Self {
        RunOptions { arithmetic: Arithmetic::default(), limits }
    }
}

/// What went wrong in a run, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct RunError {
    /// What.
    pub fault: RunFault,
    /// The equation in which it happened, if it happened in one.
    pub site: Option<Box<Site>>,
}

/// The kinds of [`RunError`].
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RunFault {
    /// The wrong number of inputs.
    #[error("the program takes {expected} input{}, got {got}", if *expected == 1 { "" } else { "s" })]
    InputCount {
        /// How many it takes.
        expected: usize,
        /// How many it got.
        got: usize,
    },
    /// An input of the wrong shape.
    #[error("input `{name}` has shape {expected}, got a value of shape {got}")]
    InputShape {
        /// The input.
        name: String,
        /// Its shape.
        expected: Shape,
        /// The shape of the value given.
        got: Shape,
    },
    /// An input that is no finite number.
    #[error("input `{name}` is {value}; a point needs finite numbers")]
    InputNotFinite {
        /// The input.
        name: String,
        /// Its value.
        value: String,
    },
    /// An operation without result in this kind of numbers.
    #[error("{0}")]
    Number(#[from] NumberError),
    /// A result too large for the kind of numbers.
    #[error("the result overflows to {0}; scale the inputs, or run on exact numbers where all operations are rational")]
    Overflow(String),
    /// A result that is no number.
    #[error("the result is not a number")]
    NotANumber,
    /// More steps than the limit.
    #[error("the run takes at least {} steps, more than the limit of {limit}; raise `steps`", at_least(*steps))]
    TooLong {
        /// How many it takes at least.
        steps: u128,
        /// The limit.
        limit: u64,
    },
    /// More numbers at once than the limit.
    #[error("the run holds at least {} numbers at once, more than the limit of {limit}; raise `numbers`", at_least(*numbers))]
    TooLarge {
        /// How many it holds at least.
        numbers: u128,
        /// The limit.
        limit: u64,
    },
    /// More bytes at once than the limit.
    #[error(
        "the run holds at least {numbers} numbers of {each} bytes at once, more memory than the limit of {limit} bytes; raise `memory`"
    )]
    Memory {
        /// How many numbers it holds at least, those that leave it among them.
        numbers: u128,
        /// The bytes of each.
        each: usize,
        /// The limit.
        limit: u64,
    },
    /// The time of [`Limits`] was up, or somebody stopped it.
    #[error("the run did not come to its end: {0}")]
    Stopped(Stop),
    /// A condition that is neither true nor false.
    #[error("a condition must be 1 or 0, true or false, but here it is {0}")]
    NotATruth(String),
}

/// A number that may have been too large to be counted on.
fn at_least(n: u128) -> String {
    if n == u128::MAX { "2^128".into() } else { n.to_string() }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.site {
            Some(site) => write!(f, "{}, in `{}` of program `{}`", self.fault, site.shown, site.program),
            None => write!(f, "{}", self.fault),
        }
    }
}

impl std::error::Error for RunError {}

impl RunError {
    /// What ended the run, if a limit was reached on the way or somebody stopped it.
    pub fn stop(&self) -> Option<Stop> {
        match self.fault {
            RunFault::Stopped(stop) => Some(stop),
            _ => None,
        }
    }
}

/// Sees every equation of a run with its arguments and results, in the order in which they are carried out.
pub trait Observer<N> {
    /// Called after an equation that runs no sub-program has been carried out.
    fn step(&mut self, program: &Program, equation: usize, args: &[Arg<'_, N>], results: &[Vec<N>]);

    /// Called when a selection has chosen a branch, with the number of calls that are open: 0 in the program that was run.
    fn chosen(&mut self, _program: &Program, _equation: usize, _open: usize) {}
}

/// An observer that does not look.
pub struct Unobserved;

impl<N> Observer<N> for Unobserved {
    fn step(&mut self, _: &Program, _: usize, _: &[Arg<'_, N>], _: &[Vec<N>]) {}
}

/// An argument of an operation in a run: the elements of a value, or a constant that stands for as many as are needed.
#[derive(Debug)]
pub struct Arg<'a, N> {
    data: &'a [N],
    repeated: bool,
    missing: Option<&'a [u32]>,
}

impl<N> Copy for Arg<'_, N> {}

impl<N> Clone for Arg<'_, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<'a, N> Arg<'a, N> {
    /// A single number.
    pub(crate) fn single(x: &'a N) -> Self {
        Arg { data: std::slice::from_ref(x), repeated: false, missing: None }
    }

    /// Part number `i` of those of `n` elements.
    fn part(&self, i: usize, n: usize) -> Arg<'a, N> {
        match self.repeated {
            true => *self,
            false => Arg { data: &self.data[i * n..][..n], missing: self.missing.map(|m| &m[i * n..][..n]), ..*self },
        }
    }

    /// Why element number `i` is missing; 0 if it is there.
    fn reason(&self, i: usize) -> u32 {
        self.missing.map_or(0, |m| m[i])
    }

    /// Whether element number `i` has a value: only what a `where` does not take may have none, and then it is 0 here.
    pub fn is_there(&self, i: usize) -> bool {
        self.reason(i) == 0
    }

    /// Element number `i`.
    pub fn get(&self, i: usize) -> &'a N {
        if self.repeated { &self.data[0] } else { &self.data[i] }
    }

    /// The elements; only one for a constant.
    pub fn data(&self) -> &'a [N] {
        self.data
    }
}

/// Runs a program: inputs in, outputs out.
///
/// ```
/// use crease_core::{run, trace, Rational, Tensor};
/// let p = trace(2, |x| x[0] / x[1]).unwrap();
/// let third = run(&p, &[Tensor::scalar(Rational::from(1)), Tensor::scalar(Rational::from(3))]).unwrap();
/// assert_eq!(third[0].to_string(), "1/3");
/// let error = run(&p, &[Tensor::scalar(1.0), Tensor::scalar(0.0)]).unwrap_err();
/// assert_eq!(error.to_string(), "division by zero, in `x0 / x1` of program `f`");
/// ```
pub fn run<N: Number>(p: &Program, inputs: &[Tensor<N>]) -> Result<Vec<Tensor<N>>, RunError> {
    run_with(p, inputs, Arithmetic::Checked, &mut Unobserved)
}

/// Runs a program with a choice of arithmetic and limits, observed.
pub fn run_with<N: Number>(
    p: &Program,
    inputs: &[Tensor<N>],
    options: impl Into<RunOptions>,
    observer: &mut impl Observer<N>,
) -> Result<Vec<Tensor<N>>, RunError> {
    interpret(p, inputs, options.into(), observer)
}

/// [`run_with`], generic in nothing but the numbers.
fn interpret<N: Number>(
    p: &Program,
    inputs: &[Tensor<N>],
    RunOptions { arithmetic, limits }: RunOptions,
    observer: &mut dyn Observer<N>,
) -> Result<Vec<Tensor<N>>, RunError> {
    check_inputs(p, inputs, arithmetic)?;
    let mut meter = Meter::new::<N>(p, limits);
    meter.enter(p, None)?;
    let first = inputs.iter().map(|t| Cell::from_vec(t.data().to_vec())).collect();
    let mut machine = Machine { arithmetic, constants: HashMap::new() };
    let mut reasons = p.has_where().then(Reasons::default);
    let mut frames = vec![machine.frame(p, first, 0)?];
    loop {
        let depth = frames.len() - 1;
        let Some(frame) = frames.last_mut() else { unreachable!("the frame of the main program ends the loop") };
        let program = frame.program;
        if frame.next == program.len() {
            let outputs = frame.outputs();
            let into = frame.into;
            frames.pop();
            match frames.last_mut() {
                Some(caller) => match caller.turning.take() {
                    None => caller.cells[into..into + outputs.len()].clone_from_slice(&outputs),
                    Some(mut turning) => {
                        turning.done(outputs);
                        caller.turning = Some(turning);
                    }
                },
                None => {
                    if let (Some(reasons), Some(reason)) = (&reasons, outputs.iter().find_map(Cell::missing)) {
                        return Err(reasons.error(reason));
                    }
                    let shapes = p.outputs().iter().map(|&o| p.atom_shape(o));
                    let tensor = |(cell, shape): (Cell<N>, Shape)| Tensor::new(shape, cell.into_vec());
                    return Ok(outputs.into_iter().zip(shapes).filter_map(tensor).collect());
                }
            }
            continue;
        }
        let i = frame.next;
        let e = program.equation(i);
        meter.step(program, i)?;
        if let Op::Scan(scan) = e.op {
            let turning = frame.turning.take().unwrap_or_else(|| Turning::new(scan, &e));
            if turning.turn < scan.turns {
                let body = &program.callee(scan.body).program;
                let args = turning.args(frame, program, &e, scan);
                frame.turning = Some(turning);
                meter.enter(body, Some((program, i)))?;
                frames.push(machine.frame(body, args, 0)?);
            } else {
                turning.results(&mut frame.cells[e.first.index()..]);
                frame.next += 1;
            }
            continue;
        }
        frame.next += 1;
        let here = |fault: RunFault| RunError { fault, site: Some(Box::new(Site::new(program, i))) };
        match e.op {
            Op::Call(id) => {
                let args = e.args.iter().map(|&a| frame.cell(a)).collect();
                let callee = &program.callee(*id).program;
                meter.enter(callee, Some((program, i)))?;
                let into = e.first.index();
                frames.push(machine.frame(callee, args, into)?);
            }
            Op::Select(ids) => {
                let (conditions, rest) = e.args.split_at(ids.len() - 1);
                let chosen = match choose(frame, conditions).map_err(here)? {
                    Ok(chosen) => chosen,
                    Err(reason) => {
                        for v in e.results() {
                            frame.cells[v.index()] = Cell::absent(program.shape(v).len(), reason);
                        }
                        continue;
                    }
                };
                observer.chosen(program, i, depth);
                let args = rest.iter().map(|&a| frame.cell(a)).collect();
                let callee = &program.callee(ids[chosen]).program;
                meter.enter(callee, Some((program, i)))?;
                let into = e.first.index();
                frames.push(machine.frame(callee, args, into)?);
            }
            _ => {
                let args: Vec<Arg<'_, N>> = e.args.iter().map(|&a| frame.arg(a)).collect();
                if let Some(reasons) = &mut reasons {
                    let (results, missing) = reasons.apply(program, i, &args, machine.arithmetic);
                    observer.step(program, i, &args, &results);
                    for ((v, data), missing) in e.results().zip(results).zip(missing) {
                        frame.cells[v.index()] = Cell::with(data, missing);
                    }
                    continue;
                }
                let results = apply::apply(program, &e, &args).map_err(|e| here(e.into()))?;
                if machine.arithmetic == Arithmetic::Checked
                    && let Some(bad) = results.iter().flatten().find(|x| !x.is_finite())
                {
                    return Err(here(diagnose(&e, &args, bad)));
                }
                observer.step(program, i, &args, &results);
                for (v, data) in e.results().zip(results) {
                    frame.cells[v.index()] = Cell::from_vec(data);
                }
            }
        }
    }
}

/// The first branch whose condition holds, or why a condition is missing.
fn choose<N: Number>(frame: &Frame<'_, N>, conditions: &[Atom]) -> Result<Result<usize, u32>, RunFault> {
    for (i, &c) in conditions.iter().enumerate() {
        let truth = frame.arg(c);
        if !truth.is_there(0) {
            return Ok(Err(truth.reason(0)));
        }
        let truth = truth.get(0);
        if *truth == N::one() {
            return Ok(Ok(i));
        }
        match truth.compare(&N::zero()) {
            Some(std::cmp::Ordering::Equal) => {}
            None => return Err(NumberError::Undecided.into()),
            Some(_) => return Err(RunFault::NotATruth(truth.to_string())),
        }
    }
    Ok(Ok(conditions.len()))
}

/// A memory cell: scalars lie in it directly.
#[derive(Clone, Debug)]
enum Cell<N> {
    Scalar(N),
    Tensor(std::sync::Arc<[N]>),
    /// With elements that are missing.
    Partial(std::sync::Arc<[N]>, std::sync::Arc<[u32]>),
}

impl<N: Number> Cell<N> {
    fn from_vec(mut data: Vec<N>) -> Self {
        match data.len() {
            1 => Cell::Scalar(data.swap_remove(0)),
            _ => Cell::Tensor(data.into()),
        }
    }

    fn with(data: Vec<N>, missing: Missing) -> Self {
        match missing {
            None => Cell::from_vec(data),
            Some(missing) => Cell::Partial(data.into(), missing),
        }
    }

    /// With no element at all.
    fn absent(len: usize, reason: u32) -> Self {
        Cell::Partial(vec![N::zero(); len].into(), vec![reason; len].into())
    }

    fn data(&self) -> &[N] {
        match self {
            Cell::Scalar(x) => std::slice::from_ref(x),
            Cell::Tensor(t) | Cell::Partial(t, _) => t,
        }
    }

    /// Why an element is missing, if one is.
    fn missing(&self) -> Option<u32> {
        match self {
            Cell::Partial(_, reasons) => reasons.iter().copied().find(|r| *r > 0),
            Cell::Scalar(_) | Cell::Tensor(_) => None,
        }
    }

    fn into_vec(self) -> Vec<N> {
        match self {
            Cell::Scalar(x) => vec![x],
            Cell::Tensor(t) | Cell::Partial(t, _) => t.to_vec(),
        }
    }
}

/// A program in the middle of its run.
struct Frame<'p, N> {
    program: &'p Program,
    constants: std::sync::Arc<[N]>,
    cells: Vec<Cell<N>>,
    next: usize,
    /// where in the caller's cells the outputs go
    into: usize,
    /// the loop that is under way
    turning: Option<Turning<N>>,
}

impl<N: Number> Frame<'_, N> {
    fn arg(&self, a: Atom) -> Arg<'_, N> {
        match a {
            Atom::Value(v) => {
                let cell = &self.cells[v.index()];
                let missing = if let Cell::Partial(_, reasons) = cell { Some(&**reasons) } else { None };
                Arg { data: cell.data(), repeated: false, missing }
            }
            Atom::Const(c) => Arg { data: &self.constants[c.0 as usize..][..1], repeated: true, missing: None },
        }
    }

    fn cell(&self, a: Atom) -> Cell<N> {
        match a {
            Atom::Value(v) => self.cells[v.index()].clone(),
            Atom::Const(c) => Cell::Scalar(self.constants[c.0 as usize].clone()),
        }
    }

    fn outputs(&self) -> Vec<Cell<N>> {
        self.program.outputs().iter().map(|&o| self.cell(o)).collect()
    }
}

struct Machine<N> {
    arithmetic: Arithmetic,
    constants: HashMap<ProgramId, std::sync::Arc<[N]>>,
}

impl<N: Number> Machine<N> {
    fn frame<'p>(&mut self, p: &'p Program, mut cells: Vec<Cell<N>>, into: usize) -> Result<Frame<'p, N>, RunError> {
        let key = p.id();
        let constants = match self.constants.get(&key) {
            Some(known) => known.clone(),
            None => {
                let converted: Result<Vec<N>, _> = p.consts.iter().map(N::from_rational).collect();
                let list: std::sync::Arc<[N]> = converted.map_err(|e| error(e.into()))?.into();
                self.constants.insert(key, list.clone());
                list
            }
        };
        cells.resize(p.values(), Cell::Scalar(N::zero()));
        Ok(Frame { program: p, constants, cells, next: 0, into, turning: None })
    }
}

pub(crate) fn check_inputs<N: Number>(
    p: &Program,
    inputs: &[Tensor<N>],
    arithmetic: Arithmetic,
) -> Result<(), RunError> {
    if inputs.len() != p.inputs().len() {
        return Err(error(RunFault::InputCount { expected: p.inputs().len(), got: inputs.len() }));
    }
    for (input, given) in p.inputs().iter().zip(inputs) {
        let name = || input.name.to_string();
        if input.shape != *given.shape() {
            let (expected, got) = (input.shape.clone(), given.shape().clone());
            return Err(error(RunFault::InputShape { name: name(), expected, got }));
        }
        let bad = given.data().iter().find(|x| !x.is_finite());
        if let (Some(x), Arithmetic::Checked) = (bad, arithmetic) {
            return Err(error(RunFault::InputNotFinite { name: name(), value: x.to_string() }));
        }
    }
    Ok(())
}

fn error(fault: RunFault) -> RunError {
    RunError { fault, site: None }
}

/// Why floating point gave a result that is not finite although all arguments are.
fn diagnose<N: Number>(e: &Equation<'_>, args: &[Arg<'_, N>], bad: &N) -> RunFault {
    let elements = |arg: usize| args.get(arg).map_or(&[][..], |a| a.data()).iter();
    let whole = |k: i32| match usize::try_from(k.unsigned_abs()) {
        Ok(size) if k < 0 => N::from_usize(size).neg(),
        Ok(size) => N::from_usize(size),
        Err(_) => N::zero(),
    };
    let outside = match e.op {
        Op::Div => elements(1).find(|x| **x == N::zero()).map(|_| NumberError::DivisionByZero),
        Op::Smooth(f) => elements(0).find_map(|x| {
            // of what cannot be compared nothing is said
            let told = std::cell::Cell::new(true);
            let order = |k: i32| {
                let order = x.compare(&whole(k));
                told.set(told.get() && order.is_some());
                order.unwrap_or(Ordering::Equal)
            };
            f.outside(order).filter(|_| told.get())
        }),
        _ => None,
    };
    match outside {
        Some(why) => why.into(),
        None if bad.is_nan() => RunFault::NotANumber,
        None => RunFault::Overflow(bad.to_string()),
    }
}

impl Program {
    /// Whether it, or what it calls, has an elementwise choice, so that numbers may be missing.
    pub(crate) fn has_where(&self) -> bool {
        let has = |q: &Program| q.ops.contains(&Op::Where);
        has(self) || self.library().iter().any(|q| has(q))
    }

    /// The equation as it would stand behind `let`, for messages.
    pub(crate) fn show_equation(&self, i: usize) -> String {
        let shown = self.equation_text(i);
        match shown.char_indices().nth(80) {
            Some((cut, _)) => format!("{}…", &shown[..cut]),
            None => shown,
        }
    }
}
