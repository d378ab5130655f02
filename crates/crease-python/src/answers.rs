//! The questions: each runs on a thread of its own without the lock of the interpreter, so that Ctrl-C stops it, and gives an [`Answer`] with the text and the
//! JSON of the command of its name.

use crate::answer::{Answer, answer};
use crate::arrays::filled;
use crate::cubes::listed;
use crate::error::{CreaseError, raise};
use crate::program::Program;
use crate::waiting::{interruptible, keeping};
use crease::inspect::{self as ask_about, Ask, Basis, Beside, Numbers, Status, Wanted};
use crease::{Cancel, How, Limits, Rational, Tensor};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::time::Duration;

/// How far to go: `time` in seconds, `bits`, `conflicts`, `cells`, `gradients`, ...; what else is asked: `output`, `seed`, `directions`, `numbers`, `report`.
pub struct Wish {
    how: How,
    limits: Limits,
    beside: Beside,
    output: Option<usize>,
    seed: u64,
    directions: u64,
    report: bool,
    numbers: Numbers,
    within: Option<Rational>,
}

impl Wish {
    /// What options say.
    pub fn new(p: &Program, options: Option<&Bound<'_, PyDict>>, cancel: &Cancel) -> PyResult<Wish> {
        let usual = Ask::default();
        let mut ask = Wish {
            how: p.how.clone(),
            limits: Limits::default().cancelled_by(cancel),
            beside: usual.beside,
            output: None,
            seed: usual.seed,
            directions: usual.directions,
            report: false,
            numbers: Numbers::Auto,
            within: None,
        };
        for (key, value) in options.into_iter().flatten() {
            let key: String = key.extract()?;
            let l = &mut ask.limits;
            match &*key {
                "time" => {
                    let seconds: f64 = value.extract()?;
                    let time = Duration::try_from_secs_f64(seconds);
                    let time = time.map_err(|_| CreaseError::new_err("the time must be seconds, and not negative"))?;
                    ask.limits = ask.limits.clone().within(time);
                }
                "conflicts" => {
                    l.conflicts = value.extract()?;
                    ask.beside.conflicts = l.conflicts;
                }
                "output" => ask.output = value.extract()?,
                "seed" => ask.seed = value.extract()?,
                "directions" => ask.directions = value.extract()?,
                "within" => {
                    let within: Option<f64> = value.extract()?;
                    let number = |x: f64| Rational::from_f64(x).filter(|x| !x.is_negative());
                    let wrong = || CreaseError::new_err("within is a number that is not negative");
                    ask.within = within.map(|x| number(x).ok_or_else(wrong)).transpose()?;
                }
                "report" => ask.report = value.extract()?,
                "numbers" => {
                    ask.numbers = match &*value.extract::<String>()? {
                        "auto" => Numbers::Auto,
                        "exact" => Numbers::Exact,
                        "float" => Numbers::Float,
                        other => {
                            return Err(CreaseError::new_err(format!(
                                "numbers are auto, exact or float, not `{other}`"
                            )));
                        }
                    }
                }
                // `numbers` is in which numbers, as above
                limit if Limits::names().any(|name| name == limit) => {
                    l.set(limit, value.extract()?).map_err(|e| CreaseError::new_err(e.to_string()))?;
                }
                other => {
                    let limits: Vec<&str> = Limits::names().filter(|name| *name != "numbers").collect();
                    return Err(CreaseError::new_err(format!(
                        "there is no option `{other}`; there are time, output, seed, directions, within, report, numbers, and limits: {}",
                        limits.join(", ")
                    )));
                }
            }
        }
        Ok(ask)
    }

    /// The question.
    pub fn ask(&self) -> Ask<'static> {
        Ask {
            how: self.how.clone(),
            limits: self.limits.clone(),
            beside: self.beside,
            output: self.output,
            seed: self.seed,
            directions: self.directions,
            report: self.report,
            numbers: self.numbers,
            within: self.within.clone(),
            ..Ask::default()
        }
    }
}

/// Exact numbers of what is given for the inputs.
pub fn point(p: &Program, leaves: &[Bound<'_, PyAny>]) -> PyResult<Vec<Tensor<Rational>>> {
    let one = |(given, input): (crate::arrays::Given<'_>, &crease::Input)| {
        let number = |&x: &f64| {
            let what =
                || CreaseError::new_err(format!("input `{}` holds {x}: a point needs finite numbers", input.name));
            Rational::from_f64(x).ok_or_else(what)
        };
        let data = given.numbers::<f64>()?.iter().map(number).collect::<PyResult<Vec<_>>>()?;
        Tensor::new(input.shape.clone(), data).ok_or_else(|| CreaseError::new_err("numbers do not fill their shape"))
    };
    p.given(leaves)?.into_iter().zip(p.core.inputs()).map(one).collect()
}

/// A vector for all inputs, one after the other.
pub fn vector(p: &Program, args: &Bound<'_, PyAny>) -> PyResult<Vec<Rational>> {
    let args = match args.cast::<PyTuple>() {
        Ok(t) if p.structure.free() != 1 => t.clone(),
        _ => PyTuple::new(args.py(), [args])?,
    };
    let parts = point(p, &p.leaves(&args, None)?)?;
    Ok(parts.into_iter().flat_map(|t| t.data().to_vec()).collect())
}

/// A flat list of numbers in the structure of the arguments.
pub fn like_arguments<'py>(py: Python<'py>, p: &Program, numbers: &[f64]) -> PyResult<Bound<'py, PyAny>> {
    let mut rest = numbers;
    let part = |i: &crease::Input| {
        let (these, others) = rest.split_at_checked(i.shape.len()).unwrap_or((&[], &[]));
        rest = others;
        filled(py, &i.shape, these)
    };
    p.like_arguments(py, p.core.inputs().iter().map(part).collect::<PyResult<_>>()?)
}

/// An inspection, kept to judge other answers.
#[pyclass(frozen, module = "crease._crease")]
pub struct Inspection {
    inner: ask_about::Inspection<'static>,
    program: Py<Program>,
}

fn word(status: &Status) -> (&'static str, Option<String>) {
    match status {
        Status::Gradient => ("gradient", None),
        Status::Clarke => ("clarke", None),
        Status::Conservative => ("conservative", None),
        Status::Outside => ("outside", None),
        Status::Undecided(why) => ("undecided", Some(why.clone())),
        _ => ("undecided", Some(status.to_string())),
    }
}

#[pymethods]
impl Inspection {
    #[getter]
    fn text(&self) -> String {
        self.inner.to_string()
    }

    #[getter]
    fn json(&self) -> PyResult<String> {
        serde_json::to_string(&self.inner).map_err(raise)
    }

    #[getter]
    fn gradient<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        like_arguments(py, self.program.get(), &self.inner.gradient())
    }

    #[getter]
    fn clarke<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = self.inner.clarke().map(|c| c.gradient.iter().map(Rational::to_f64).collect::<Vec<_>>());
        found.map(|g| like_arguments(py, self.program.get(), &g)).transpose()
    }

    #[getter]
    fn status(&self, py: Python<'_>) -> (&'static str, Option<String>) {
        py.detach(|| word(&self.inner.status()))
    }

    #[getter]
    fn certificate(&self) -> Option<String> {
        self.inner.certificate()
    }

    #[getter]
    fn program(&self, py: Python<'_>) -> Py<Program> {
        self.program.clone_ref(py)
    }

    /// What a gradient from elsewhere is, exactly or within a relative distance.
    #[pyo3(signature = (gradient, within = None))]
    fn judge(
        &self,
        py: Python<'_>,
        gradient: &Bound<'_, PyAny>,
        within: Option<f64>,
    ) -> PyResult<(&'static str, Option<String>)> {
        let vector = vector(self.program.get(), gradient)?;
        let mut rest = vector.into_iter();
        let part = |i: &crease::Input| {
            let data: Vec<Rational> = rest.by_ref().take(i.shape.len()).collect();
            Tensor::new(i.shape.clone(), data).ok_or_else(|| CreaseError::new_err("the gradient does not fit"))
        };
        let parts = self.program.get().core.inputs().iter().map(part).collect::<PyResult<Vec<_>>>()?;
        Ok(py.detach(|| match within {
            Some(relative) => word(&self.inner.judge_within(&parts, relative)),
            None => word(&self.inner.judge(&parts)),
        }))
    }
}

/// Differentiates, and says what the answer is.
#[pyfunction]
#[pyo3(signature = (program, args, how = None))]
pub fn inspect(
    py: Python<'_>,
    program: Py<Program>,
    args: &Bound<'_, PyTuple>,
    how: Option<&Bound<'_, PyDict>>,
) -> PyResult<Inspection> {
    let p = program.get();
    let at = point(p, &p.leaves(args, None)?)?;
    let cancel = Cancel::new();
    let wish = Wish::new(p, how, &cancel)?;
    let core = &p.core;
    let inner = interruptible(py, &cancel, || {
        let ask = &wish.ask();
        ask_about::inspect(core, &at, ask).map(ask_about::Inspection::into_owned).map_err(raise)
    })??;
    Ok(Inspection { inner, program })
}

/// One of the other questions, by its name.
#[pyfunction]
#[pyo3(signature = (question, program, args, along = None, how = None, stationary = false))]
pub fn question(
    py: Python<'_>,
    question: &str,
    program: &Bound<'_, Program>,
    args: &Bound<'_, PyTuple>,
    along: Option<&Bound<'_, PyAny>>,
    how: Option<&Bound<'_, PyDict>>,
    stationary: bool,
) -> PyResult<Answer> {
    let p = program.get();
    let at = point(p, &p.leaves(args, None)?)?;
    let cancel = Cancel::new();
    let wish = Wish::new(p, how, &cancel)?;
    let vectors = match (question, along) {
        ("directional" | "lexicographic", Some(several)) => {
            several.try_iter()?.map(|d| vector(p, &d?)).collect::<PyResult<Vec<_>>>()?
        }
        (_, Some(one)) => vec![vector(p, one)?],
        (_, None) => Vec::new(),
    };
    let core = &p.core;
    keeping(py, &cancel, || -> PyResult<Answer> {
        let ask = &wish.ask();
        let one = vectors.first().cloned();
        match question {
            "clarke" => {
                let a = ask_about::clarke(core, &at, ask).map_err(raise)?;
                answer(&a, None, Some(&a.found.gradient))
            }
            "clarke_all" => {
                let wanted = Wanted { contains: one, stationary };
                let a = ask_about::all_gradients(core, &at, &wanted, ask, |_, _| ()).map_err(raise)?;
                listed(a)
            }
            "differentiable" => {
                let a = ask_about::differentiable(core, &at, ask).map_err(raise)?;
                answer(&a, a.certificate(), None)
            }
            "conservative" => {
                let a = ask_about::conservative(core, &at, one, ask).map_err(raise)?;
                answer(&a, None, None)
            }
            "directional" => {
                let a = ask_about::directional(core, &at, &vectors, ask).map_err(raise)?;
                answer(&a, None, None)
            }
            "lexicographic" => {
                let directions = if vectors.is_empty() { None } else { Some(vectors) };
                let basis = Basis { directions, ..Basis::default() };
                let a = ask_about::lexicographic(core, &at, &basis, ask).map_err(raise)?;
                answer(&a, None, Some(&a.found.gradient))
            }
            _ => Err(CreaseError::new_err(format!("there is no question `{question}`"))),
        }
    })
}

/// The numbers of what is given for the inputs, as floats.
pub fn floats(p: &Program, args: &Bound<'_, PyTuple>) -> PyResult<Vec<Tensor<f64>>> {
    let one = |(given, input): (crate::arrays::Given<'_>, &crease::Input)| {
        let data = given.numbers::<f64>()?.into_owned();
        Tensor::new(input.shape.clone(), data).ok_or_else(|| CreaseError::new_err("numbers do not fill their shape"))
    };
    p.given(&p.leaves(args, None)?)?.into_iter().zip(p.core.inputs()).map(one).collect()
}

/// A place whose slope is no finite number: operation, place, text, argument, how many elements.
type SingularPlace = (String, String, String, f64, usize);

/// Where a backward run in floats makes infinities or NaN of finite numbers, in the order in which it gets there.
#[pyfunction]
pub fn singular(
    py: Python<'_>,
    program: &Bound<'_, Program>,
    args: &Bound<'_, PyTuple>,
) -> PyResult<Vec<SingularPlace>> {
    let p = program.get();
    let at = floats(p, args)?;
    let cancel = Cancel::new();
    let limits = Limits::default().cancelled_by(&cancel);
    let search = || ask_about::singular_places(&p.core, &at, &p.how, &limits).map_err(raise);
    let found = interruptible(py, &cancel, search)??;
    let told = found.into_iter().map(|s| {
        let place = s.site.origin.as_ref().map(|o| o.to_string()).unwrap_or_default();
        (s.operation.to_string(), place, s.site.text(), s.argument, s.elements)
    });
    Ok(told.collect())
}

/// Checks a certificate, and whether it is about a program at a point, if one is given: the claim that it proves, and its vector, as a form in the coordinates d0, d1, ... of a direction, if it is about one.
#[pyfunction]
#[pyo3(signature = (certificate, program = None, args = None, how = None))]
pub fn check(
    py: Python<'_>,
    certificate: &str,
    program: Option<&Bound<'_, Program>>,
    args: Option<&Bound<'_, PyTuple>>,
    how: Option<&Bound<'_, PyDict>>,
) -> PyResult<(&'static str, Option<String>)> {
    use crease::check::Claim;
    let cancel = Cancel::new();
    let wish = program.map(|p| Wish::new(p.get(), how, &cancel)).transpose()?;
    let limits = match &wish {
        Some(wish) => wish.limits.clone(),
        None => Limits::default().cancelled_by(&cancel),
    };
    let proof = interruptible(py, &cancel, || ask_about::check_within(certificate, &limits))?;
    let mut proof = proof.map_err(|e| match e {
        ask_about::ProofError::Invalid(e) => CreaseError::new_err(format!("the certificate proves nothing: {e}")),
        e => CreaseError::new_err(e.to_string()),
    })?;
    if let (Some(program), Some(wish)) = (program, wish) {
        let p = program.get();
        let args = args.cloned().unwrap_or_else(|| PyTuple::empty(py));
        let at = point(p, &p.leaves(&args, None)?)?;
        proof = interruptible(py, &cancel, || proof.about(&p.core, &at, &wish.ask()).map_err(raise))??;
    }
    Ok(match proof.checked.claim {
        Claim::Differentiable { gradient } => ("differentiable", Some(gradient.to_string())),
        Claim::NotDifferentiable { .. } => ("not-differentiable", None),
        Claim::NotDifferentiableEnclosed { .. } => ("not-differentiable-enclosed", None),
        Claim::Member { vector, .. } => ("member", Some(vector.to_string())),
    })
}
