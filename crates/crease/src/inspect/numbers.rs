//! In which numbers a command computes: exact rationals where they do, f64 where they do not.
//!
//! Unless told otherwise, the exact run is tried first; it decides every kink as the real numbers would. Where an
//! operation has no exact value, or there is too much to compute, f64 takes its place, and the reason is kept to be
//! told. Ties that f64 finds are those of rounded numbers; a run in intervals then tries to show that they are right. Runs in
//! f64 are compiled where that is faster.

use super::InspectError;
use super::at::precision;
use super::compiled;
use super::ties::{self, Met};
use crate::show::count;
use crease_core::cost::tally_within;
use crease_core::local::{LocalError, localize_within};
use crease_core::number::{Budget, Exact, Interval};
use crease_core::run::{Unobserved, least_steps};
use crease_core::{Limits, Number, NumberError, Program, Rational, RunError, RunFault, Tensor, run_with};
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

/// A result: the nearest floats, and the exact numbers where there are.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The nearest floats.
    pub near: Tensor<f64>,
    /// The exact numbers.
    pub exact: Option<Tensor<Rational>>,
    /// How far the true numbers may be from the floats, where enclosures tell.
    pub radius: Option<Tensor<f64>>,
}

impl Answer {
    /// What floats computed, of which nothing more is known.
    pub fn float(near: Tensor<f64>) -> Answer {
        Answer { near, exact: None, radius: None }
    }

    /// Exact numbers.
    pub fn exact(exact: Tensor<Rational>) -> Answer {
        Answer { near: exact.map(Rational::to_f64), exact: Some(exact), radius: None }
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
    pub certain: bool,
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
            FloatBecause::Many(n) => write!(f, "{} operations are many for exact numbers", count(n)),
            FloatBecause::Uncounted => f.write_str("there are too many operations to count them"),
            FloatBecause::Points => f.write_str("the points are many for exact numbers"),
        }
    }
}

impl Computed {
    /// The name of the arithmetic in JSON.
    pub fn arithmetic(&self) -> &'static str {
        if self.float_because.is_none() { "exact" } else { "f64" }
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
struct Failed {
    error: RunError,
    of_derivative: bool,
    point: usize,
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
    fn watch<N: Number>(&self, point: usize, inputs: &[Tensor<N>], limits: &Limits) -> Result<Vec<Met>, Failed> {
        let Some(p) = self.watched else { return Ok(Vec::new()) };
        ties::find(p, inputs, limits).map_err(|error| Failed { error, of_derivative: false, point })
    }

    fn run<N: Number>(&self, point: usize, inputs: &[Tensor<N>], limits: &Limits) -> Result<Vec<Tensor<N>>, Failed> {
        let of_derivative = self.watched.is_some();
        run_with(self.program, inputs, limits, &mut Unobserved).map_err(|error| Failed { error, of_derivative, point })
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
        let certain = met.iter().all(|m| m.certain);
        Ok(Computed { outputs: outputs.into_iter().map(answer).collect(), met, certain, float_because: None })
    }

    fn float<P: AsRef<[Tensor<Rational>]>>(
        &self,
        points: &[P],
        operations: u128,
        limits: &Limits,
        code: Option<&Compiled<f64>>,
    ) -> Result<Vec<Computed>, Failed> {
        let near: Vec<Vec<Tensor<f64>>> = points.iter().map(|x| nearest(x.as_ref())).collect();
        let compiled = code.and_then(|code| compiled::run_compiled(self.program, code, &near));
        let mut compiled = compiled.map(Vec::into_iter);
        let at = |(k, near): (usize, &Vec<Tensor<f64>>)| {
            let met = self.watch(k, near, limits)?;
            let outputs = match compiled.as_mut().and_then(Iterator::next) {
                Some(outputs) => outputs,
                None => self.run(k, near, limits)?,
            };
            let certain = match self.watched {
                Some(p) if operations <= u128::from(limits.interval_operations) => {
                    confirmed(p, points[k].as_ref(), &met, limits)
                }
                _ => false,
            };
            let outputs = outputs.into_iter().map(Answer::float).collect();
            Ok(Computed { outputs, met, certain, float_because: None })
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
            .map_err(|error| told(Failed { error, of_derivative: false, point: 0 }, None))?;
        let operations = self.each.saturating_mul(points.len() as u128);
        let because = if self.numbers == Numbers::Float {
            FloatBecause::Asked
        } else if self.several && !insist {
            FloatBecause::Points
        } else if !insist && operations > u128::from(limits.exact_operations) {
            if self.each == u128::MAX { FloatBecause::Uncounted } else { FloatBecause::Many(operations) }
        } else {
            let budget = limits.affordable(if insist { Budget::LONG } else { limits.exact });
            match points.iter().enumerate().map(|(k, x)| task.exact(k, x.as_ref(), budget, limits)).collect() {
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
        let done = task.float(points, operations, limits, code.as_ref()).map_err(|f| told(f, Some(because)))?;
        Ok(done.into_iter().map(|done| Computed { float_because: Some(because), ..done }).collect())
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

/// Whether intervals, which certainly enclose the real numbers, see the same ties and leave none open.
fn confirmed(p: &Program, inputs: &[Tensor<Rational>], met: &[Met], limits: &Limits) -> bool {
    let enclosed: Result<Vec<Tensor<Interval>>, _> = inputs.iter().map(Tensor::convert).collect();
    let seen = enclosed.ok().and_then(|inputs| ties::find(p, &inputs, limits).ok());
    seen.is_some_and(|seen| seen.iter().all(|m| m.certain) && seen == met)
}

/// Why there is no exact result, if floats can give one all the same.
fn reason(e: &RunError) -> Option<FloatBecause> {
    match &e.fault {
        RunFault::Number(NumberError::NotExact { operation }) => Some(FloatBecause::NotExact(operation)),
        _ if grew_too_long(e) => Some(FloatBecause::TooLong),
        _ => None,
    }
}
