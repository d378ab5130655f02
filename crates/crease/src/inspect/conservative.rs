//! The conservative gradient of automatic differentiation: a singleton or not, and which choices show that.

use super::at::{At, SHOWN, Undecided, choice, texts};
use super::contains::{Contains, undecided_if_stopped};
use super::{Ask, Coordinates, InspectError};
use crate::show::{self, Apart, Rows};
use crease_core::local::LocalModel;
use crease_core::{Program, Rational};
use crease_oracles::{Conservative as Known, OracleError, accurate_vector};
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::fmt;

/// What automatic differentiation can return. It displays as the text of `crease conservative`, and serializes as its JSON.
///
/// ```
/// use crease::inspect::{conservative, Ask};
/// let p = crease::trace(1, |x| crease::relu(x[0]) - crease::relu(-x[0]))?;
/// let answer = conservative(&p, &[0.0], None, &Ask::default())?;
/// assert!(!answer.answer.as_ref().unwrap().known.is_singleton());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Conservative<'p> {
    /// What is known, or why enclosures cannot tell.
    pub answer: Result<Told<'p>, Undecided>,
}

/// What is known of a conservative gradient.
#[derive(Debug)]
pub struct Told<'p> {
    /// The program at the point.
    pub at: At<'p>,
    /// Which of its outputs.
    pub output: usize,
    /// One element, or two.
    pub known: Known,
    /// The vector that was asked about, and where it lies.
    pub asked: Option<Contains>,
}

/// The conservative gradient of a program at a point, and where a vector lies in it.
pub fn conservative<'p>(
    program: &'p Program,
    point: &(impl Coordinates + ?Sized),
    contains: Option<Vec<Rational>>,
    ask: &Ask<'_>,
) -> Result<Conservative<'p>, InspectError> {
    let ask = &ask.started();
    let mut at = match At::new(program, point, ask) {
        Ok(at) => at,
        Err(e) => return Ok(Conservative { answer: Err(Undecided::from_error(e)?) }),
    };
    let (output, _) = at.scalar_output("a conservative gradient", ask.output)?;
    let known = at.ask(|session| {
        let bits = session.model().precision().bits;
        match session.conservative().cloned() {
            Ok(known) => {
                let close = known.elements.iter().all(|e| accurate_vector(bits, &e.gradient, e.radius.as_deref()));
                Ok((Ok(known), !close))
            }
            Err(OracleError::Stopped(stop)) => Ok((Err(Undecided::stopped(stop)), false)),
            Err(e @ OracleError::Undecided { .. }) => Ok((Err(Undecided { why: e.to_string(), bits }), true)),
            Err(e) => Err(e),
        }
    })?;
    let known = match known {
        Ok(known) => known,
        Err(undecided) => return Ok(Conservative { answer: Err(undecided) }),
    };
    let asked = match contains {
        Some(vector) => {
            let found = undecided_if_stopped(at.session().membership(&vector, ask.directions))?;
            Some(Contains::new(&at, vector, found, &[], ask)?)
        }
        None => None,
    };
    Ok(Conservative { answer: Ok(Told { at, output, known, asked }) })
}

impl Conservative<'_> {
    fn text(&self) -> String {
        self.answer.as_ref().map_or_else(|undecided| undecided.text("conservative"), Told::text)
    }

    fn json(&self) -> Value {
        self.answer.as_ref().map_or_else(|undecided| undecided.json("elements"), Told::json)
    }
}

impl fmt::Display for Conservative<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl Serialize for Conservative<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json().serialize(serializer)
    }
}

/// The digits that tell the elements apart.
pub(crate) fn apart(known: &Known) -> Apart {
    Apart::of(known.elements.iter().map(|e| (&e.gradient[..], e.radius.as_deref())))
}

/// Two elements in a sentence, or what stands for them where they are vectors.
pub(crate) fn sentence(model: &LocalModel, known: &Known) -> (String, [String; 2]) {
    let apart = apart(known);
    let show = |i: usize| {
        let e = &known.elements[i];
        let single = matches!(model.inputs(), [one] if one.shape.is_scalar());
        texts(model, (&e.gradient, e.radius.as_deref()), (&apart, i)).pop().filter(|_| single)
    };
    match &known.elements[..] {
        [_, _] => {
            let names = match (show(0), show(1)) {
                (Some(a), Some(b)) => [a, b],
                _ => ["a".into(), "b".into()],
            };
            (format!("not a singleton: {} and {} both belong to it", names[0], names[1]), names)
        }
        _ if model.kinks().is_empty() => ("a singleton: no kink matters here".into(), Default::default()),
        _ if known.proved => ("a singleton: every choice at the kinks gives the same".into(), Default::default()),
        _ => {
            let chance = "a singleton, but for a chance of about 2^-61 for each kink";
            (chance.into(), Default::default())
        }
    }
}

impl Told<'_> {
    fn text(&self) -> String {
        let Told { at, known, .. } = self;
        let mut rows = Rows::default();
        rows.add("value", &show::answer(&at.values()[self.output], false));
        let (verdict, names) = sentence(at.model(), known);
        rows.add("conservative", &verdict);
        self.elements(&mut rows);
        if !known.is_singleton() {
            let header = vec![
                String::new(),
                String::new(),
                String::new(),
                format!("for {}", names[0]),
                format!("for {}", names[1]),
            ];
            let [a, b] = &known.elements[..] else { return rows.text() };
            let lines = at.model().kinks().iter().zip(a.choices.iter().zip(&b.choices));
            let lines = at.kinks(lines.map(|(kink, (a, b))| (kink, vec![choice(kink, a), choice(kink, b)])));
            let table: Vec<Vec<String>> = std::iter::once(header).chain(lines).collect();
            rows.block("choices", &show::columns(&table, &[]));
            if let Some(path) = &known.path {
                let kinks: Vec<String> = path.iter().take(SHOWN).map(|&k| at.model().kinks()[k].site.text()).collect();
                let more = if path.len() > SHOWN { " → …" } else { "" };
                rows.add("path", &format!("{}{more}  the fewest kinks between output and inputs", kinks.join(" → ")));
            }
        } else if !at.model().kinks().is_empty() {
            let lines = at.kinks(at.model().kinks().iter().map(|kink| (kink, Vec::new())));
            rows.block("kinks", &show::columns(&lines, &[]));
        }
        if let Some(asked) = &self.asked {
            rows.add("contains", &asked.text(at, &[]));
        }
        at.exactness(&mut rows);
        rows.text()
    }

    /// The elements and the bounds, input by input.
    fn elements(&self, rows: &mut Rows) {
        let Told { at, known, .. } = self;
        let apart = apart(known);
        let of = |(i, e): (usize, &crease_oracles::ConservativeElement)| {
            at.texts((&e.gradient, e.radius.as_deref()), (&apart, i))
        };
        let parts: Vec<Vec<String>> = known.elements.iter().enumerate().map(of).collect();
        let off = (!at.model().is_exact()).then(|| vec![Rational::ZERO; at.model().dimension()]);
        // in the digits that tell the elements apart
        let [low, high] = self.bounds().map(|v| at.texts((&v, off.as_deref()), (&apart, 0)));
        let between = |i: usize| match (&low[i], &high[i]) {
            (low, high) if low == high => format!("{low} in all"),
            (low, high) => format!("all between {low} and {high}"),
        };
        let names = at.names();
        if let [input] = at.model().inputs()
            && input.shape.is_scalar()
        {
            match known.is_singleton() {
                true => rows.add("gradient", &parts[0][0]),
                false => rows.add("bounds", &between(0)),
            }
            return;
        }
        let [a, b] = &parts[..] else {
            names.iter().zip(&parts[0]).for_each(|(name, part)| rows.add(&format!("  {name}"), part));
            return;
        };
        let scalar = |i: &usize| at.model().inputs()[*i].shape.is_scalar();
        let line = |i: usize| vec![format!("a {}", a[i]), format!("b {}", b[i]), between(i)];
        let lines: Vec<Vec<String>> = (0..names.len()).filter(scalar).map(line).collect();
        let table = show::columns(&lines, &[]);
        let mut lines = table.lines();
        for (i, name) in names.iter().enumerate() {
            let label = format!("  {name}");
            if scalar(&i) {
                rows.add(&label, lines.next().unwrap_or_default());
                continue;
            }
            rows.add(&label, &format!("a     {}", a[i]));
            rows.add("", &format!("b     {}", b[i]));
            rows.add("", &format!("from  {}", low[i]));
            rows.add("", &format!("to    {}", high[i]));
        }
    }

    fn bounds(&self) -> [Vec<Rational>; 2] {
        let (low, high) = self.known.bounds.iter().cloned().unzip();
        [low, high]
    }

    fn json(&self) -> Value {
        let Told { at, known, .. } = self;
        let verdict = if known.is_singleton() { "singleton" } else { "several" };
        let [low, high] = self.bounds();
        let pairs = |low: Value, high: Value| match (low, high) {
            (Value::Object(low), Value::Object(high)) => show::object(
                low.into_iter().zip(high).map(|((name, low), (_, high))| (name, Value::from(vec![low, high]))),
            ),
            _ => Value::Null,
        };
        let mut members = vec![
            ("verdict", verdict.into()),
            ("elements", known.elements.iter().map(|e| at.json(&e.gradient)).collect()),
            ("proved", known.proved.into()),
            ("bounds", pairs(at.json(&low), at.json(&high))),
            ("value", show::near(&at.values()[self.output])),
            ("kinks", at.model().kinks().len().into()),
        ];
        members.extend(at.json_exactness());
        if !at.model().is_exact() {
            let radius = |e: &crease_oracles::ConservativeElement| at.json_radius((&e.gradient, e.radius.as_deref()));
            members.push(("radius", known.elements.iter().filter_map(radius).map(|(_, r)| r).collect()));
        }
        let apart = apart(known);
        if apart.is_needed_somewhere() {
            let digits = |(i, e): (usize, &crease_oracles::ConservativeElement)| {
                let digits = at.json_digits((&e.gradient, e.radius.as_deref()), (&apart, i));
                digits.map_or(Value::Null, |(_, digits)| digits)
            };
            members.push(("digits", known.elements.iter().enumerate().map(digits).collect()));
        }
        let elements: Option<Value> =
            known.elements.iter().map(|e| at.json_exact(&e.gradient, e.radius.as_deref())).collect();
        if let (Some(elements), Some(low), Some(high)) =
            (elements, at.json_exact(&low, None), at.json_exact(&high, None))
        {
            members.push(("exact", show::object([("elements", elements), ("bounds", pairs(low, high))])));
        }
        let choices = at.model().kinks().iter().enumerate().map(|(k, kink)| {
            let weights =
                |e: &crease_oracles::ConservativeElement| e.choices[k].iter().map(show::number).collect::<Value>();
            at.json_kink(kink, vec![("weights", known.elements.iter().map(weights).collect())])
        });
        members.push(("choices", choices.collect()));
        if let Some(path) = &known.path {
            members.push(("path", path.iter().copied().collect()));
        }
        if let Some(asked) = &self.asked {
            members.push(("contains", asked.json(at)));
        }
        show::object(members)
    }
}
