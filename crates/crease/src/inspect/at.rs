//! A program at a point: its local model, asked again with more bits where that helps, and how what it says is shown, input by input.

use super::numbers::Answer;
use super::{Ask, InspectError};
use crate::show::{self, Apart, Enclosed, Rows};
use crease_core::Limits;
use crease_core::limits::Stop;
use crease_core::local::{ActiveKink, Exactness, LocalError, LocalModel, Precision, localize_within};
use crease_core::number::Mixed;
use crease_core::{Number, Program, Rational, Shape, Site, Tensor};
use crease_formats::{Point, parse_point};
use crease_oracles::{AskError, OracleError, Session, accurate};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

/// The most kinks that text shows.
pub(crate) const SHOWN: usize = 12;

/// What can be a point: numbers for all inputs in order, tensors, a named point, or its text.
///
/// ```
/// use crease::inspect::Coordinates;
/// let p = crease::trace(2, |x| x[0] * x[1])?;
/// assert_eq!([0.5, 3.0].inputs(&p)?, "x1=3,x0=1/2".inputs(&p)?);
/// assert!([0.5].inputs(&p).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Coordinates {
    /// The values of the inputs of a program, in order.
    fn inputs(&self, p: &Program) -> Result<Vec<Tensor<Rational>>, InspectError>;
}

impl Coordinates for [f64] {
    fn inputs(&self, p: &Program) -> Result<Vec<Tensor<Rational>>, InspectError> {
        let (expected, got) = (p.dimension(), self.len());
        if expected != got {
            return Err(InspectError::Other(format!("the point has {got} numbers, `{}` takes {expected}", p.name())));
        }
        let mut numbers = self.iter();
        let number = |x: &f64| {
            Rational::from_f64(*x).ok_or_else(|| InspectError::Other(format!("{x}: a point needs finite numbers")))
        };
        let part = |i: &crease_core::Input| {
            let data = numbers.by_ref().take(i.shape.len()).map(number).collect::<Result<Vec<_>, _>>()?;
            filled(i.shape.clone(), data)
        };
        p.inputs().iter().map(part).collect()
    }
}

impl<const N: usize> Coordinates for [f64; N] {
    fn inputs(&self, p: &Program) -> Result<Vec<Tensor<Rational>>, InspectError> {
        self[..].inputs(p)
    }
}

impl Coordinates for [Tensor<Rational>] {
    fn inputs(&self, _: &Program) -> Result<Vec<Tensor<Rational>>, InspectError> {
        // what does not fit is for the run to say
        Ok(self.to_vec())
    }
}

impl<const N: usize> Coordinates for [Tensor<Rational>; N] {
    fn inputs(&self, p: &Program) -> Result<Vec<Tensor<Rational>>, InspectError> {
        self[..].inputs(p)
    }
}

impl<T> Coordinates for Vec<T>
where
    [T]: Coordinates,
{
    fn inputs(&self, p: &Program) -> Result<Vec<Tensor<Rational>>, InspectError> {
        self[..].inputs(p)
    }
}

impl Coordinates for Point {
    fn inputs(&self, p: &Program) -> Result<Vec<Tensor<Rational>>, InspectError> {
        self.bind(p)?.into_iter().map(|(shape, data)| filled(shape, data)).collect()
    }
}

impl Coordinates for str {
    fn inputs(&self, p: &Program) -> Result<Vec<Tensor<Rational>>, InspectError> {
        parse_point(self)?.inputs(p)
    }
}

fn filled(shape: Shape, data: Vec<Rational>) -> Result<Tensor<Rational>, InspectError> {
    let wrong = || InspectError::Other("a value of the point does not fill its shape".into());
    Tensor::new(shape, data).ok_or_else(wrong)
}

/// A program at a point.
///
/// ```
/// use crease::inspect::{Ask, At};
/// let p = crease::trace(1, |x| crease::abs(x[0]))?;
/// let at = At::new(&p, "x0=0", &Ask::default())?;
/// assert_eq!(at.model().kinks().len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct At<'p> {
    program: Cow<'p, Program>,
    point: Vec<Tensor<Rational>>,
    session: Session<'static>,
    limits: Limits,
}

impl<'p> At<'p> {
    /// Localizes a program, with as many bits as the limits allow.
    pub fn new(program: &'p Program, point: &(impl Coordinates + ?Sized), ask: &Ask<'_>) -> Result<Self, InspectError> {
        At::within(program, point, precision(ask.limits.bits), &ask.limits)
    }

    /// The same with this precision.
    pub fn within(
        program: &'p Program,
        point: &(impl Coordinates + ?Sized),
        precision: Precision,
        limits: &Limits,
    ) -> Result<Self, InspectError> {
        let (point, limits) = (point.inputs(program)?, &limits.metered());
        let session = Session::owning(localize_within(program, &point, precision, limits)?, 0).within(limits);
        Ok(At { program: Cow::Borrowed(program), point, session, limits: limits.clone() })
    }

    /// The same with a program of its own.
    ///
    /// ```
    /// use crease::inspect::{Ask, At};
    /// let at: At<'static> = {
    ///     let p = crease::trace(1, |x| crease::abs(x[0]))?;
    ///     At::new(&p, "x0=0", &Ask::default())?.into_owned()
    /// };
    /// assert_eq!(at.names(), ["x0"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn into_owned(self) -> At<'static> {
        At { program: Cow::Owned(self.program.into_owned()), ..self }
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The local model.
    pub fn model(&self) -> &LocalModel {
        self.session.model()
    }

    /// The session of the output that was picked last, of the first one before that.
    pub fn session(&self) -> &Session<'static> {
        &self.session
    }

    /// Asks a question of the session, and of one with more bits as long as the answer, and the values beside it, could be better.
    pub fn ask<T>(
        &mut self,
        mut question: impl FnMut(&Session<'static>) -> Result<(T, bool), OracleError>,
    ) -> Result<T, InspectError> {
        let again = |session: &Session<'static>| -> Result<(T, bool), OracleError> {
            let ((answer, open), model) = (question(session)?, session.model());
            let values = model.values().iter().flat_map(|t| t.data());
            Ok((answer, open || !accurate(model.precision().bits, values)))
        };
        match self.session.ask(&self.program, &self.point, &self.limits, again) {
            Ok(answer) => Ok(answer),
            Err(AskError::Local(e)) => Err(e.into()),
            Err(AskError::Oracle(e)) => Err(e.into()),
        }
    }

    /// Picks the one scalar output that a question is about: its number among the outputs, and among their elements.
    pub fn scalar_output(&mut self, what: &str, asked: Option<usize>) -> Result<(usize, usize), InspectError> {
        let (shapes, name) = (self.model().output_shapes(), self.program.name());
        let k = match (asked, shapes) {
            (Some(k), _) if k >= shapes.len() => {
                let count = if shapes.len() == 1 { "1 output".into() } else { format!("{} outputs", shapes.len()) };
                return Err(other(format!("there is no output {k}: `{name}` has {count}, counted from 0")));
            }
            (Some(k), _) => k,
            (None, [_]) => 0,
            (None, _) => {
                return Err(other(format!(
                    "{what} is that of one scalar output, but `{name}` returns {} outputs; pick one with --output 0",
                    shapes.len()
                )));
            }
        };
        if !shapes[k].is_scalar() {
            return Err(other(format!(
                "{what} is that of one scalar output, but `{name}` returns a tensor of shape {}; return one element of it",
                shapes[k]
            )));
        }
        let element = shapes[..k].iter().map(Shape::len).sum();
        self.session.turn_to(element);
        Ok((k, element))
    }

    /// The names of the inputs.
    pub fn names(&self) -> Vec<&str> {
        self.program.inputs().iter().map(|i| &*i.name).collect()
    }

    /// The input that coordinate number `k` of a direction belongs to, and its indices there.
    pub(crate) fn coordinate(&self, mut k: usize) -> Option<(&str, Vec<usize>)> {
        let input = self.program.inputs().iter().find(|i| {
            let here = k < i.shape.len();
            k -= if here { 0 } else { i.shape.len() };
            here
        })?;
        let mut index = input.shape.dims().to_vec();
        for n in index.iter_mut().rev() {
            (*n, k) = (k % *n, k / *n);
        }
        Some((&input.name, index))
    }

    /// A vector, input by input; with how far it may be off, if it is not exact.
    pub fn by_input(&self, vector: &[Rational], radius: Option<&[Rational]>) -> Vec<Answer> {
        by_input(self.model(), vector, radius)
    }

    /// The values of the outputs.
    pub fn values(&self) -> Vec<Answer> {
        self.model().values().iter().map(|t| known(t.shape().clone(), t.data())).collect()
    }

    /// A vector as a point is written: see [`vector`].
    pub(crate) fn shown(&self, v: &[Rational], radius: Option<&[Rational]>) -> String {
        vector(&self.program, v, radius)
    }

    /// The same of one of several vectors, in as many digits as tell it apart from the others.
    pub(crate) fn shown_apart(&self, v: Enclosed<'_>, of: (&Apart, usize)) -> String {
        if !of.0.is_needed(of.1) {
            return self.shown(v.0, v.1);
        }
        point_text(&self.program, v, |part, answer| texts_of(answer, part, v, of))
    }

    /// One of several vectors, input by input, in as many digits as tell it apart from the others.
    pub(crate) fn texts(&self, v: Enclosed<'_>, of: (&Apart, usize)) -> Vec<String> {
        texts(self.model(), v, of)
    }

    /// The member `digits` of a JSON object: one of several vectors in as many digits as tell it apart
    /// from the others. `None` where the nearest floats do.
    pub(crate) fn json_digits(&self, v: Enclosed<'_>, of: (&Apart, usize)) -> Option<(&'static str, Value)> {
        let parts = json_digits(self.model(), v, of)?;
        Some(("digits", show::object(self.names().into_iter().zip(parts))))
    }

    /// Active kinks, one line for each place, each with further cells; lines that differ in nothing are one.
    pub(crate) fn kinks<'m>(
        &'m self,
        lines: impl IntoIterator<Item = (&'m ActiveKink, Vec<String>)>,
    ) -> Vec<Vec<String>> {
        grouped(lines)
    }

    /// Whether the answer is exact, and if it is not, how it is known.
    pub fn exactness(&self, rows: &mut Rows) {
        rows.add("arithmetic", &arithmetic(self.model()));
    }

    /// The same as members of a JSON object.
    pub fn json_exactness(&self) -> Vec<(&'static str, Value)> {
        json_exactness(self.model())
    }

    /// A vector as a JSON object by inputs, in numbers.
    pub fn json(&self, vector: &[Rational]) -> Value {
        show::object(self.names().into_iter().zip(self.by_input(vector, None).iter().map(show::near)))
    }

    /// The member `radius` of a JSON object: how far the floats of a vector may be off. `None` for an
    /// exact vector.
    pub(crate) fn json_radius(&self, v: Enclosed<'_>) -> Option<(&'static str, Value)> {
        v.1?;
        let parts = self.by_input(v.0, v.1);
        let radius = parts.iter().map(|a| show::radius(a).unwrap_or(Value::Null));
        Some(("radius", show::object(self.names().into_iter().zip(radius))))
    }

    /// The same in strings such as "1/3", if it is exact.
    pub(crate) fn json_exact(&self, vector: &[Rational], radius: Option<&[Rational]>) -> Option<Value> {
        if radius.is_some() {
            return None;
        }
        let parts = self.by_input(vector, None);
        let shown = parts.iter().map(show::fractions).collect::<Option<Vec<_>>>()?;
        Some(show::object(self.names().into_iter().zip(shown)))
    }

    /// An active kink as a JSON object, with further members.
    pub(crate) fn json_kink(&self, kink: &ActiveKink, more: Vec<(&'static str, Value)>) -> Value {
        let members = [("operation", kink.operation.into())].into_iter().chain(located(&kink.site));
        show::object(members.chain(more))
    }
}

/// A vector as a point is written, without what is 0, with how far it may be off if it is not exact; cut where it is long.
pub(crate) fn vector(p: &Program, vector: &[Rational], radius: Option<&[Rational]>) -> String {
    const WIDTH: usize = 48;
    let mut parts: Vec<String> = Vec::new();
    let mut start = 0;
    for i in p.inputs() {
        let part = start..vector.len().min(start + i.shape.len());
        start = part.end;
        let (these, off) = (&vector[part.clone()], radius.map(|r| &r[part]));
        if these.iter().chain(off.unwrap_or_default()).all(Rational::is_zero) {
            continue;
        }
        let answer = answer(i.shape.clone(), these, off);
        parts.push(format!("{}={}", i.name, show::answer(&answer, false).replace(", ", ",")));
    }
    let text = if parts.is_empty() { "0".into() } else { parts.join(",") };
    if text.chars().count() <= WIDTH {
        return text;
    }
    text.chars().take(WIDTH).chain(['…']).collect()
}

/// The parts of a vector that are not 0, as a point is written.
fn point_text(p: &Program, v: Enclosed<'_>, show: impl Fn(Range<usize>, &Answer) -> Tensor<String>) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut start = 0;
    for i in p.inputs() {
        let part = start..v.0.len().min(start + i.shape.len());
        start = part.end;
        let (these, off) = (&v.0[part.clone()], v.1.map(|r| &r[part.clone()]));
        if these.iter().chain(off.unwrap_or_default()).all(Rational::is_zero) {
            continue;
        }
        let texts = show(part, &answer(i.shape.clone(), these, off));
        parts.push(format!("{}={}", i.name, show::texts(&texts).replace(", ", ",")));
    }
    if parts.is_empty() { "0".into() } else { parts.join(",") }
}

/// The elements of a part of a vector, as text.
fn texts_of(a: &Answer, part: Range<usize>, v: Enclosed<'_>, (apart, i): (&Apart, usize)) -> Tensor<String> {
    let usual = show::elements(a);
    let told = |(k, usual): (usize, String)| match apart.digits(i, k, v) {
        // an exact number that is shown in full needs no more digits
        Some(digits) if a.exact.is_none() || usual.starts_with('≈') => digits,
        _ => usual,
    };
    let texts = part.zip(usual).map(told).collect();
    Tensor::new(a.near.shape().clone(), texts).unwrap_or_else(|| Tensor::scalar(String::new()))
}

/// One of several vectors, input by input, in as many digits as tell it apart from the others.
pub(crate) fn texts(model: &LocalModel, v: Enclosed<'_>, of: (&Apart, usize)) -> Vec<String> {
    let mut start = 0;
    let part = |a: &Answer| {
        let part = start..start + a.near.shape().len();
        start = part.end;
        show::texts(&texts_of(a, part, v, of))
    };
    by_input(model, v.0, v.1).iter().map(part).collect()
}

/// One of several vectors as JSON strings, in as many digits as tell it apart from the others.
/// `None` where the nearest floats do.
pub(crate) fn json_digits(model: &LocalModel, v: Enclosed<'_>, (apart, i): (&Apart, usize)) -> Option<Vec<Value>> {
    if !apart.is_needed(i) {
        return None;
    }
    let mut start = 0;
    let part = |a: &Answer| {
        let digits = |(k, near): (usize, &f64)| apart.digits(i, k, v).unwrap_or_else(|| show::float(*near));
        let texts: Vec<String> = (start..).zip(a.near.data()).map(digits).collect();
        start += texts.len();
        Tensor::new(a.near.shape().clone(), texts).map_or(Value::Null, |t| show::strings(&t))
    };
    Some(by_input(model, v.0, v.1).iter().map(part).collect())
}

/// A result of this shape; with how far the floats may be off, if it is not exact.
pub(crate) fn answer(shape: Shape, data: &[Rational], radius: Option<&[Rational]>) -> Answer {
    // the callers cut vectors by the shapes of inputs
    let tensor = |data: &[Rational]| Tensor::new(shape.clone(), data.to_vec());
    let t = tensor(data).unwrap_or_else(|| Tensor::scalar(Rational::ZERO));
    match radius {
        None => Answer::exact(t),
        Some(radii) => {
            let off = |(i, x): (usize, &Rational)| rounded(x, &radii[i]);
            let (near, radius) = data.iter().enumerate().map(off).unzip();
            Answer { middle: beyond(&t, radii), ..Answer::within(shape.clone(), near, radius) }
        }
    }
}

/// A bound on the distance of a float from a number that is within `radius` of `x`.
fn off(near: f64, x: &Rational, radius: &Rational) -> f64 {
    Rational::from_f64(near).map_or(f64::INFINITY, |near| above(&((&near - x).abs() + radius)))
}

/// A float that is not below a number.
pub(crate) fn above(x: &Rational) -> f64 {
    let near = x.to_f64();
    if Rational::from_f64(near).is_none_or(|n| n >= *x) { near } else { near.next_up() }
}

/// A result of this shape of which exact numbers or enclosures are known.
pub(crate) fn known(shape: Shape, data: &[Mixed]) -> Answer {
    if let Some(exact) = data.iter().map(|x| x.exact().cloned()).collect::<Option<Vec<_>>>() {
        return answer(shape, &exact, None);
    }
    let parts = |x: &Mixed| match x.exact() {
        Some(r) => Some((r.clone(), Rational::ZERO)),
        None => x.enclosure().middle().zip(x.enclosure().radius()),
    };
    match data.iter().map(parts).collect::<Option<Vec<_>>>() {
        Some(parts) => {
            let (middle, radius): (Vec<Rational>, Vec<Rational>) = parts.into_iter().unzip();
            answer(shape, &middle, Some(&radius))
        }
        // some are not bounded
        None => {
            let one = |x: &Mixed| parts(x).map_or((x.to_f64(), f64::INFINITY), |(m, r)| rounded(&m, &r));
            let (near, radius) = data.iter().map(one).unzip();
            Answer::within(shape, near, radius)
        }
    }
}

/// The float nearest to the middle of an enclosure, and how far the number may be from that.
fn rounded(middle: &Rational, radius: &Rational) -> (f64, f64) {
    let near = middle.to_f64();
    (near, off(near, middle, radius))
}

/// The middles of enclosures, if the nearest float of one is infinite, or is 0 and the number is not; 0 where even the sign is open.
fn beyond(middles: &Tensor<Rational>, radii: &[Rational]) -> Option<Tensor<Rational>> {
    let far = |(x, radius): (&Rational, &Rational)| {
        let near = x.to_f64();
        *radius < x.abs() && (near == 0.0 || !near.is_finite())
    };
    if !middles.data().iter().zip(radii).any(far) {
        return None;
    }
    let signed = |(x, radius): (&Rational, &Rational)| if *radius < x.abs() { x.clone() } else { Rational::ZERO };
    Tensor::new(middles.shape().clone(), middles.data().iter().zip(radii).map(signed).collect())
}

/// A vector, input by input; with how far it may be off, if it is not exact.
pub(crate) fn by_input(model: &LocalModel, vector: &[Rational], radius: Option<&[Rational]>) -> Vec<Answer> {
    let mut start = 0;
    let part = |i: &crease_core::Input| {
        let these = start..start + i.shape.len();
        start = these.end;
        answer(i.shape.clone(), &vector[these.clone()], radius.map(|r| &r[these]))
    };
    model.inputs().iter().map(part).collect()
}

/// What an operation is called where it has a kink, where it stands, and what stands there.
fn cells(kink: &ActiveKink) -> Vec<String> {
    vec![kink.operation.into(), kink.site.short(), kink.site.text()]
}

fn located(site: &Site) -> [(&'static str, Value); 2] {
    [("place", show::origin(site.origin.as_deref())), ("text", site.text().into())]
}

/// Lines of active kinks: see [`At::kinks`].
pub(crate) fn grouped<'m>(lines: impl IntoIterator<Item = (&'m ActiveKink, Vec<String>)>) -> Vec<Vec<String>> {
    let mut index: HashMap<(usize, &str, Vec<String>), usize> = HashMap::new();
    let mut out: Vec<(&ActiveKink, Vec<String>, usize)> = Vec::new();
    for (kink, more) in lines {
        let next = out.len();
        let i = *index.entry((kink.site.equation, kink.operation, more.clone())).or_insert(next);
        match out.get_mut(i) {
            Some((_, _, elements)) => *elements += 1,
            None => out.push((kink, more, 1)),
        }
    }
    let line = |(kink, more, elements): &(&ActiveKink, Vec<String>, usize)| {
        let many = if *elements == 1 { String::new() } else { format!("{} elements", show::count(elements)) };
        [cells(kink), more.clone(), vec![many]].concat()
    };
    let mut rows: Vec<Vec<String>> = out.iter().take(SHOWN).map(line).collect();
    if out.len() > SHOWN {
        rows.push(vec!["…".into(), String::new(), format!("and {} more", show::count(out.len() - SHOWN))]);
    }
    rows
}

/// Why enclosures cannot tell, with so many bits.
#[derive(Clone, Debug, PartialEq)]
pub struct Undecided {
    /// What could not be told, and where.
    pub why: String,
    /// With how many bits; 0 if it was stopped before.
    pub bits: u32,
}

impl Undecided {
    /// That it was stopped.
    pub(crate) fn stopped(stop: Stop) -> Undecided {
        Undecided { why: stop.to_string(), bits: 0 }
    }

    /// The reason, if an error is that.
    pub(crate) fn from_error(e: InspectError) -> Result<Undecided, InspectError> {
        match e {
            InspectError::Local(LocalError::Undecided { site, what, bits }) => {
                Ok(Undecided { why: format!("{what}, in {}, with {bits} bits", site.text()), bits })
            }
            InspectError::Stopped(stop) => Ok(Undecided::stopped(stop)),
            other => Err(other),
        }
    }

    pub(crate) fn text(&self, question: &str) -> String {
        let mut rows = Rows::default();
        rows.add(question, &format!("unknown: {}", self.why));
        rows.text()
    }

    /// With an empty list of what an answer would be shown by.
    pub(crate) fn json(&self, shown_by: &str) -> Value {
        let mut members = vec![
            ("verdict", Value::from("unknown")),
            (shown_by, Value::Array(Vec::new())),
            ("limit", (&*self.why).into()),
        ];
        members.extend((self.bits > 0).then(|| ("bits", self.bits.into())));
        members.push(("certain", false.into()));
        show::object(members)
    }
}

fn other(message: String) -> InspectError {
    InspectError::Other(message)
}

/// Up to so many bits, beginning with as many as there are by default.
pub(crate) fn precision(limit: u32) -> Precision {
    Precision { bits: Precision::default().bits.min(limit), limit }
}

/// How exact a model is, in words.
pub(crate) fn arithmetic(model: &LocalModel) -> String {
    match model.exactness() {
        Exactness::Exact => "exact".into(),
        Exactness::Enclosed { bits } => format!("certain enclosures of {bits} bits, where there is no exact value"),
    }
}

/// The members of a JSON object that say how exact a model is.
pub(crate) fn json_exactness(model: &LocalModel) -> Vec<(&'static str, Value)> {
    match model.exactness() {
        Exactness::Exact => vec![("arithmetic", "exact".into()), ("certain", true.into())],
        Exactness::Enclosed { bits } => {
            vec![("arithmetic", "enclosures".into()), ("certain", true.into()), ("bits", bits.into())]
        }
    }
}

/// The weights of the members of a kink in words.
pub(crate) fn choice(kink: &ActiveKink, weights: &[Rational]) -> String {
    let sides = matches!(kink.operation, "relu" | "times_relu" | "abs" | "leaky_relu" | "elu" | "norm1");
    match (weights.iter().position(Rational::is_one), sides && weights.len() == 2) {
        (Some(0), true) => "left".into(),
        (Some(_), true) => "right".into(),
        (Some(k), false) => format!("{} of {}", ordinal(k + 1), weights.len()),
        (None, _) if weights.len() <= 4 => weights.iter().map(show::exact).collect::<Vec<_>>().join(" : "),
        (None, _) => match weights.iter().filter(|w| !w.is_zero()).collect::<Vec<_>>()[..] {
            [first, ref rest @ ..] if rest.iter().all(|w| w == &first) => {
                format!("{} of {} equally", rest.len() + 1, weights.len())
            }
            _ => format!("a mixture of {}", weights.len()),
        },
    }
}

/// 1st, 2nd, 3rd, 4th and so on.
pub(crate) fn ordinal(n: usize) -> String {
    let ending = match (n % 10, n % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{n}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinals() {
        assert_eq!(
            [1, 2, 3, 4, 11, 12, 21, 103, 112].map(ordinal).join(" "),
            "1st 2nd 3rd 4th 11th 12th 21st 103rd 112th"
        );
    }
}
