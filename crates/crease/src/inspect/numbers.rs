//! In which numbers a command computes: exact rationals where they do, f64 with error bounds where they do not.
//!
//! Unless told otherwise, the exact run is tried first; it decides every kink as the real numbers would. Where an
//! operation has no exact value, or there is too much to compute, f64 takes its place, and the reason is kept to be
//! told. Runs in f64 are compiled where that is faster. What they return is then [certified](super::certify): runs on numbers with bounds decide the
//! branches, bound the error of each number, and put a better number in its place where rounding has spoilt it.

use super::InspectError;
use super::at::precision;
use super::certify::Reach;
use super::compiled;
use super::ties::{self, Met};
use crate::show::count;
use crease_core::cost::tally_within;
use crease_core::limits::Stop;
use crease_core::local::{LocalError, localize_within};
use crease_core::number::{Budget, Exact};
use crease_core::run::{Unobserved, least_steps};
use crease_core::{Limits, Number, NumberError, Program, Rational, RunError, RunFault, Shape, Tensor, run_with};
use crease_engine::Compiled;
use std::cell::OnceCell;
use std::fmt;

/// In which numbers to compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Numbers {
    /// In exact rationals where they do, in f64 where they do not.
    #[default]
    Auto,
    /// In exact rationals, however long it takes; an error where an operation has no exact value.
    Exact,
    /// In f64 at once.
    Float,
}

/// A result: floats, and what is known of the numbers that they stand for.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The nearest floats; what floats computed, where nothing better is known.
    pub near: Tensor<f64>,
    /// The exact numbers.
    pub exact: Option<Tensor<Rational>>,
    /// How far the true numbers may be from the floats, the rounding of these included, where bounds are known.
    pub radius: Option<Tensor<f64>>,
    /// The middles of the enclosures, where a number is known that no float comes near: `exp(1000)`, or `sigmoid(-800)`. 0 where even the sign is open.
    pub middle: Option<Tensor<Rational>>,
}

impl Answer {
    /// What floats computed, of which nothing more is known.
    pub fn float(near: Tensor<f64>) -> Answer {
        Answer { near, exact: None, radius: None, middle: None }
    }

    /// Exact numbers.
    pub fn exact(exact: Tensor<Rational>) -> Answer {
        Answer { near: exact.map(Rational::to_f64), exact: Some(exact), radius: None, middle: None }
    }

    /// Numbers that are within these distances of floats. The lists are as long as the shape says.
    pub(super) fn within(shape: Shape, near: Vec<f64>, radius: Vec<f64>) -> Answer {
        let near = Tensor::new(shape.clone(), near).unwrap_or_else(|| Tensor::scalar(f64::NAN));
        Answer { near, exact: None, radius: Tensor::new(shape, radius), middle: None }
    }

    /// Whether each number is exact, or known to more than that it is within a bound around 0.
    fn has_digits(&self) -> bool {
        let Some(radius) = &self.radius else { return self.exact.is_some() };
        let middle = |i: usize| self.middle.as_ref().and_then(|m| m.data().get(i)).is_some_and(|m| !m.is_zero());
        let known = |(i, (x, r)): (usize, (&f64, &f64))| *r == 0.0 || *r < f64::abs(*x) || middle(i);
        self.exact.is_some() || self.near.data().iter().zip(radius.data()).enumerate().all(known)
    }

    /// Each number and how far the true one may be from it, exactly; nothing if one has no bound.
    pub(super) fn enclosed(&self) -> Option<Vec<(Rational, Rational)>> {
        if let Some(exact) = &self.exact {
            return Some(exact.data().iter().map(|x| (x.clone(), Rational::ZERO)).collect());
        }
        let pairs = self.near.data().iter().zip(self.radius.as_ref()?.data());
        pairs.map(|(x, r)| Some((Rational::from_f64(*x)?, Rational::from_f64(*r)?))).collect()
    }

    /// Whether the floats are the numbers to their last digit.
    pub fn is_sharp(&self) -> bool {
        let Some(radius) = &self.radius else { return self.exact.is_some() };
        self.near.data().iter().zip(radius.data()).all(|(x, r)| *r <= f64::abs(*x) * f64::EPSILON)
    }
}

/// What was computed, and how.
#[derive(Clone, Debug)]
pub struct Computed {
    /// The outputs of the program that was run.
    pub outputs: Vec<Answer>,
    /// The ties of the program that was watched.
    pub met: Vec<Met>,
    /// Whether `met` is all ties and nothing but ties.
    pub decided: bool,
    /// Whether all of that is certain: `met` is decided, and each number is exact or has a bound that is smaller than itself.
    pub certain: bool,
    /// The bits of the enclosures that the numbers were taken from; nothing if they are exact, or come from floats.
    pub bits: Option<u32>,
    /// What could not be decided, if that is why it is not certain.
    pub doubt: Option<String>,
    /// Why it is not exact; nothing if it is.
    pub float_because: Option<FloatBecause>,
}

/// Why a result is computed in f64.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum FloatBecause {
    /// It was asked for.
    Asked,
    /// An operation has no exact value.
    NotExact(&'static str),
    /// Exact numbers grew too long.
    TooLong,
    /// Exact numbers took the time that they were given.
    TooSlow,
    /// There are so many operations.
    Many(u128),
    /// The operations are too many to be counted: calls take other arguments that are constants in too many ways.
    Uncounted,
    /// There are so many points.
    Points,
}

impl fmt::Display for FloatBecause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FloatBecause::Asked => f.write_str("as asked for with --float"),
            FloatBecause::NotExact(operation) => write!(f, "{operation} has no exact value here"),
            FloatBecause::TooLong => f.write_str("exact numbers grew too long"),
            FloatBecause::TooSlow => f.write_str("exact numbers took too long"),
            FloatBecause::Many(n) => write!(f, "{} operations are many for exact numbers", count(n)),
            FloatBecause::Uncounted => f.write_str("there are too many operations to count them"),
            FloatBecause::Points => f.write_str("the points are many for exact numbers"),
        }
    }
}

impl Computed {
    /// What is known with bounds, or without.
    pub(super) fn bounded(
        outputs: Vec<Answer>,
        met: Vec<Met>,
        decided: bool,
        bits: Option<u32>,
        because: FloatBecause,
    ) -> Computed {
        let certain = decided && outputs.iter().all(Answer::has_digits);
        Computed { outputs, met, decided, certain, bits, doubt: None, float_because: Some(because) }
    }

    /// The name of the arithmetic in JSON.
    pub fn arithmetic(&self) -> &'static str {
        match (&self.float_because, self.bits) {
            (None, _) => "exact",
            (Some(_), Some(_)) => "enclosures",
            (Some(_), None) => "f64",
        }
    }

    /// The arithmetic in words, if it is not exact.
    pub fn arithmetic_text(&self) -> Option<String> {
        let because = self.float_because.as_ref()?;
        Some(match self.bits {
            Some(bits) => format!("enclosures of {bits} bits ({because})"),
            None => format!("f64 ({because})"),
        })
    }

    /// Whether all numbers are the nearest floats or next to them, or exact.
    pub fn is_sharp(&self) -> bool {
        self.outputs.iter().all(Answer::is_sharp)
    }
}

/// What to run: a program, and, if it was derived from another one, that one, to watch for ties.
#[derive(Clone, Copy, Debug)]
pub struct Task<'p> {
    /// The program.
    pub program: &'p Program,
    /// The one that it was derived from.
    pub watched: Option<&'p Program>,
}

/// What went wrong at one of several points.
#[derive(Debug)]
pub struct AtPoint {
    /// The number of the point in its portion.
    pub point: usize,
    /// What.
    pub error: Box<InspectError>,
}

/// Where a run failed: at which point, in the program itself or in its derivative only.
pub(super) struct Failed {
    pub error: RunError,
    of_derivative: bool,
    point: usize,
    /// Whether it is a failure of floats, which need not be one of mathematics.
    rounded: bool,
}

impl Failed {
    /// An input of this point cannot be written down in the numbers of a run.
    pub fn input(fault: NumberError, point: usize) -> Failed {
        Failed { error: RunError { fault: fault.into(), site: None }, of_derivative: false, point, rounded: false }
    }
}

impl Task<'_> {
    /// Runs at a point.
    ///
    /// ```
    /// use crease::inspect::{Numbers, Task};
    /// use crease::{Limits, Rational, Tensor, trace};
    /// let third = trace(2, |x| x[0] / x[1])?;
    /// let task = Task { program: &third, watched: None };
    /// let at = [1, 3].map(|n| Tensor::scalar(Rational::from(n)));
    /// let done = task.compute(&at, Numbers::Auto, &Limits::default())?;
    /// assert_eq!(done.outputs[0].exact.as_ref().unwrap().to_string(), "1/3");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compute(
        &self,
        inputs: &[Tensor<Rational>],
        numbers: Numbers,
        limits: &Limits,
    ) -> Result<Computed, InspectError> {
        let mut all = Portions::new(self, numbers, limits, 1, false).compute(&[inputs]).map_err(|f| *f.error)?;
        // one result for each point
        Ok(all.remove(0))
    }

    /// Why there is a value but no derivative, if it is that an operation is singular there: the local model knows its slope and what that means, where a run of the derivative only
    /// meets the division by zero that comes of it.
    fn singular(&self, point: &[Tensor<Rational>], limits: &Limits) -> Option<InspectError> {
        let p = self.watched.filter(|_| self.operations(limits) <= u128::from(limits.local_operations))?;
        let model = localize_within(p, point, precision(limits.bits), limits);
        model.err().filter(|e| matches!(e, LocalError::Singular { .. })).map(InspectError::Local)
    }

    /// The operations of a run; as many as can be if they are too many to be counted.
    fn operations(&self, limits: &Limits) -> u128 {
        let tally = tally_within(self.watched.unwrap_or(self.program), limits);
        tally.ok().and_then(|t| t.total().to_u128()).unwrap_or(u128::MAX)
    }

    /// The most points that are few enough for exact numbers; reading a number counts as an operation.
    pub fn exact_points(&self, limits: &Limits) -> usize {
        let each = self.operations(limits).max(self.program.dimension() as u128).max(1);
        let most = limits.exact_points.max(1);
        usize::try_from(u128::from(limits.exact_operations) / each).map_or(most, |n| n.clamp(1, most))
    }

    /// The ties at point number `point`.
    pub(super) fn watch<N: Number>(
        &self,
        point: usize,
        inputs: &[Tensor<N>],
        limits: &Limits,
    ) -> Result<Vec<Met>, Failed> {
        let Some(p) = self.watched else { return Ok(Vec::new()) };
        ties::find(p, inputs, limits).map_err(|error| Failed { error, of_derivative: false, point, rounded: false })
    }

    pub(super) fn run<N: Number>(
        &self,
        point: usize,
        inputs: &[Tensor<N>],
        limits: &Limits,
    ) -> Result<Vec<Tensor<N>>, Failed> {
        let of_derivative = self.watched.is_some();
        run_with(self.program, inputs, limits, &mut Unobserved).map_err(|error| Failed {
            error,
            of_derivative,
            point,
            rounded: false,
        })
    }

    fn exact(
        &self,
        point: usize,
        inputs: &[Tensor<Rational>],
        budget: Budget,
        limits: &Limits,
    ) -> Result<Computed, Failed> {
        let inputs = shared(inputs, budget);
        let met = self.watch(point, &inputs, limits)?;
        let outputs = self.run(point, &inputs, limits)?;
        let answer = |t: Tensor<Exact>| {
            // a checked run returns finite numbers only
            Answer::exact(t.map(|x| x.clone().number().unwrap_or(Rational::ZERO)))
        };
        let (outputs, decided) = (outputs.into_iter().map(answer).collect(), met.iter().all(|m| m.certain));
        Ok(Computed { outputs, met, decided, certain: decided, bits: None, doubt: None, float_because: None })
    }

    /// Runs in f64, each result with its bounds where they can be had.
    fn float<P: AsRef<[Tensor<Rational>]>>(
        &self,
        points: &[P],
        reach: Reach,
        because: FloatBecause,
        limits: &Limits,
        code: Option<&Compiled<f64>>,
    ) -> Result<Vec<Computed>, Failed> {
        let near: Vec<Vec<Tensor<f64>>> = points.iter().map(|x| nearest(x.as_ref())).collect();
        let compiled = code.and_then(|code| compiled::run_compiled(self.program, code, &near));
        let mut compiled = compiled.map(Vec::into_iter);
        let at = |(k, near): (usize, &Vec<Tensor<f64>>)| {
            let compiled = compiled.as_mut().and_then(Iterator::next);
            let floats = self.watch(k, near, limits).and_then(|met| {
                let outputs = compiled.map_or_else(|| self.run(k, near, limits), Ok)?;
                Ok((outputs, met))
            });
            let floats = floats.map_err(|f| Failed { rounded: true, ..f });
            match floats {
                Err(f) if matches!(f.error.fault, RunFault::Stopped(_)) => Err(f),
                floats => self.certified((k, points[k].as_ref()), floats, reach, because, limits),
            }
        };
        near.iter().enumerate().map(at).collect()
    }
}

/// Refuses a program whose run takes too many steps whatever its inputs are.
fn check_steps(p: &Program, limits: &Limits) -> Result<(), RunError> {
    let steps = least_steps(p);
    match steps > u128::from(limits.steps) {
        true => Err(RunError { fault: RunFault::TooLong { steps, limit: limits.steps }, site: None }),
        false => Ok(()),
    }
}

/// The part of the time for exact numbers.
const EXACT: f64 = 0.5;

/// Runs at many points, a portion at a time, in one kind of numbers within a portion.
pub struct Portions<'t> {
    task: &'t Task<'t>,
    numbers: Numbers,
    limits: &'t Limits,
    /// The operations of a run.
    each: u128,
    /// How many points there are, at least.
    points: usize,
    several: bool,
    /// What the points are computed with in floats: looked for once.
    code: OnceCell<Option<Compiled<f64>>>,
}

impl<'t> Portions<'t> {
    /// For at least so many points, in several portions or in one. Where there are several, all are computed in floats unless the
    /// exact numbers are insisted on.
    pub fn new(task: &'t Task<'t>, numbers: Numbers, limits: &'t Limits, points: usize, several: bool) -> Self {
        Portions { task, numbers, limits, each: task.operations(limits), points, several, code: OnceCell::new() }
    }

    /// Whether points come in several portions.
    pub fn are_several(&self) -> bool {
        self.several
    }

    /// Runs at the points of a portion.
    pub fn compute<P: AsRef<[Tensor<Rational>]>>(&mut self, points: &[P]) -> Result<Vec<Computed>, AtPoint> {
        let Portions { task, limits, .. } = *self;
        let told = |f: Failed, float: Option<FloatBecause>| {
            let singular =
                points.get(f.point).filter(|_| f.of_derivative).and_then(|p| task.singular(p.as_ref(), limits));
            let run = || InspectError::Run { error: f.error, of_derivative: f.of_derivative, float };
            AtPoint { point: f.point, error: singular.unwrap_or_else(run).settled().into() }
        };
        let insist = self.numbers == Numbers::Exact;
        // compiled runs keep to the limit too
        check_steps(task.program, limits)
            .map_err(|error| told(Failed { error, of_derivative: false, point: 0, rounded: false }, None))?;
        let operations = self.each.saturating_mul(points.len() as u128);
        let because = if self.numbers == Numbers::Float {
            FloatBecause::Asked
        } else if self.several && !insist {
            FloatBecause::Points
        } else if !insist && operations > u128::from(limits.exact_operations) {
            if self.each == u128::MAX { FloatBecause::Uncounted } else { FloatBecause::Many(operations) }
        } else {
            let budget = limits.affordable(if insist { Budget::LONG } else { limits.exact });
            // there is time left for floats
            let part = if insist { limits.clone() } else { limits.part(EXACT) };
            match points.iter().enumerate().map(|(k, x)| task.exact(k, x.as_ref(), budget, &part)).collect() {
                Ok(done) => return Ok(done),
                Err(mut f) => match reason(&f.error) {
                    Some(because) if !insist => because,
                    Some(FloatBecause::TooLong) => {
                        f.error.fault = RunFault::Number(NumberError::TooLarge);
                        return Err(told(f, None));
                    }
                    _ => return Err(told(f, None)),
                },
            }
        };
        let code = self.code.get_or_init(|| compiled::compiled(task.program, self.points, limits));
        // who asks for floats wants those, with bounds on their errors
        let reach = Reach::of(operations, self.numbers != Numbers::Float && !self.several, limits);
        task.float(points, reach, because, limits, code.as_ref()).map_err(|f| {
            let float = f.rounded.then_some(because);
            told(f, float)
        })
    }
}

/// The nearest floats.
pub fn nearest(point: &[Tensor<Rational>]) -> Vec<Tensor<f64>> {
    point.iter().map(|t| t.map(Rational::to_f64)).collect()
}

/// A point whose numbers share a budget.
fn shared(point: &[Tensor<Rational>], budget: Budget) -> Vec<Tensor<Exact>> {
    let mut numbers = budget.share(point.iter().flat_map(|t| t.data().iter().cloned())).into_iter();
    let mut part = |t: &Tensor<Rational>| t.map(|_| numbers.next().unwrap_or(Exact::TooLong));
    point.iter().map(&mut part).collect()
}

/// Whether a run stopped because numbers grew too long.
fn grew_too_long(e: &RunError) -> bool {
    // rationals neither overflow nor leave a comparison open
    matches!(
        e.fault,
        RunFault::Overflow(_) | RunFault::Number(NumberError::TooLarge | NumberError::Undecided | NumberError::NoOrder)
    )
}

/// Why there is no exact result, if floats can give one all the same.
fn reason(e: &RunError) -> Option<FloatBecause> {
    match &e.fault {
        RunFault::Number(NumberError::NotExact { operation }) => Some(FloatBecause::NotExact(operation)),
        RunFault::Stopped(Stop::Time | Stop::Work) => Some(FloatBecause::TooSlow),
        _ if grew_too_long(e) => Some(FloatBecause::TooLong),
        _ => None,
    }
}
