//! `crease conservative`: the autodiff conservative gradient, a singleton or not, and which choices show that.

use crate::contains::Contains;
use crate::local::{self, Local, PrecisionArgs};
use crate::output;
use crate::rows::Rows;
use crate::source::SourceArgs;
use anyhow::Result;
use clap::Args;
use crease_core::Rational;
use crease_core::local::LocalModel;
use crease_oracles::{Conservative as Known, OracleError, accurate_vector, conservative, membership};
use serde_json::Value;

/// How many random directions are looked at for a vector that is asked about.
const TRIES: u64 = 64;

/// What automatic differentiation can return at a point
///
/// At every kink a convention may pick any convex combination of the sides; the set of all gradients that can come out is the
/// conservative gradient of the program. If it has one element, the program is differentiable here and that is its gradient. Else
/// two elements are shown, with the choices at each kink that give them, and bounds between which all of them lie.
#[derive(Args)]
#[command(after_help = "Examples:
  crease conservative -e 'relu(x) - relu(-x)' --at x=0
  crease conservative -e 'max(x, y)' --at x=0,y=0 --contains x=1/2,y=1/2
  crease conservative -e 'abs(x) - abs(x)' --at x=0 --json")]
pub struct Conservative {
    #[command(flatten)]
    source: SourceArgs,

    /// Ask where a vector lies, such as the answer of a framework; names left out are 0
    #[arg(long, value_name = "VECTOR", allow_hyphen_values = true)]
    contains: Option<String>,

    /// The output that is asked about, counted from 0, where there are several
    #[arg(long, value_name = "K")]
    output: Option<usize>,

    #[command(flatten)]
    precision: PrecisionArgs,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Conservative {
    pub fn run(&self) -> Result<String> {
        let mut at = match Local::load_decided(&self.source, &self.precision)? {
            Ok(at) => at,
            Err((why, bits)) => return Ok(local::undecided("conservative", "elements", &why, bits, self.json)),
        };
        let (k, element) = at.scalar_output("a conservative gradient", self.output)?;
        let known = at.ask(|model| {
            let bits = model.precision().bits;
            match conservative(model, element) {
                Ok(known) => {
                    let close = known.elements.iter().all(|e| accurate_vector(bits, &e.gradient, e.radius.as_deref()));
                    Ok((Ok(known), !close))
                }
                Err(e @ OracleError::Undecided { .. }) => Ok((Err((e.to_string(), bits)), true)),
                Err(e) => Err(e),
            }
        })?;
        let known = match known {
            Ok(known) => known,
            Err((why, bits)) => return Ok(local::undecided("conservative", "elements", &why, bits, self.json)),
        };
        let ask =
            |text: &String| Contains::ask(text, &at, |vector| membership(&at.model, element, &known, vector, TRIES));
        let asked = self.contains.as_ref().map(ask).transpose()?;
        let report = Report { at: &at, k, known: &known, asked };
        Ok(if self.json { output::json(&report.json()) } else { report.text() })
    }
}

/// Two elements in a sentence, or what stands for them where they are vectors.
pub fn sentence(model: &LocalModel, known: &Known) -> (String, [String; 2]) {
    let show = |e: &crease_oracles::ConservativeElement| {
        let parts = local::by_input(model, &e.gradient, e.radius.as_deref());
        match &parts[..] {
            [one] if one.near.shape().is_scalar() => Some(output::answer(one, false)),
            _ => None,
        }
    };
    match &known.elements[..] {
        [a, b] => {
            let names = match (show(a), show(b)) {
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

struct Report<'a> {
    at: &'a Local,
    k: usize,
    known: &'a Known,
    asked: Option<Contains>,
}

impl Report<'_> {
    fn text(&self) -> String {
        let Report { at, known, .. } = self;
        let mut rows = Rows::default();
        rows.add("value", &output::answer(&at.values()[self.k], false));
        let (verdict, names) = sentence(&at.model, known);
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
            let lines = at.model.kinks().iter().zip(a.choices.iter().zip(&b.choices));
            let lines =
                at.kinks(lines.map(|(kink, (a, b))| (kink, vec![local::choice(kink, a), local::choice(kink, b)])));
            let table: Vec<Vec<String>> = std::iter::once(header).chain(lines).collect();
            rows.block("choices", &output::columns(&table, &[]));
            if let Some(path) = &known.path {
                let kinks: Vec<String> =
                    path.iter().take(local::SHOWN).map(|&k| at.model.kinks()[k].site.text()).collect();
                let more = if path.len() > local::SHOWN { " → …" } else { "" };
                rows.add("path", &format!("{}{more}  the fewest kinks between output and inputs", kinks.join(" → ")));
            }
        } else if !at.model.kinks().is_empty() {
            let lines = at.kinks(at.model.kinks().iter().map(|kink| (kink, Vec::new())));
            rows.block("kinks", &output::columns(&lines, &[]));
        }
        if let Some(asked) = &self.asked {
            rows.add("contains", &asked.text(at, &[]));
        }
        at.exactness(&mut rows);
        rows.text()
    }

    /// The elements and the bounds, input by input.
    fn elements(&self, rows: &mut Rows) {
        let Report { at, known, .. } = self;
        let parts: Vec<Vec<_>> = known.elements.iter().map(|e| at.by_input(&e.gradient, e.radius.as_deref())).collect();
        let off = (!at.model.is_exact()).then(|| vec![Rational::ZERO; at.model.dimension()]);
        let [low, high] = self.bounds().map(|v| at.by_input(&v, off.as_deref()));
        let show = |a| output::answer(a, false);
        let between = |i: usize| match (show(&low[i]), show(&high[i])) {
            (low, high) if low == high => format!("{low} in all"),
            (low, high) => format!("all between {low} and {high}"),
        };
        let names = at.names();
        if let [input] = at.model.inputs()
            && input.shape.is_scalar()
        {
            match known.is_singleton() {
                true => rows.add("gradient", &show(&parts[0][0])),
                false => rows.add("bounds", &between(0)),
            }
            return;
        }
        let [a, b] = &parts[..] else {
            names.iter().zip(&parts[0]).for_each(|(name, part)| rows.add(&format!("  {name}"), &show(part)));
            return;
        };
        let scalar = |i: &usize| at.model.inputs()[*i].shape.is_scalar();
        let line = |i: usize| vec![format!("a {}", show(&a[i])), format!("b {}", show(&b[i])), between(i)];
        let lines: Vec<Vec<String>> = (0..names.len()).filter(scalar).map(line).collect();
        let table = output::columns(&lines, &[]);
        let mut lines = table.lines();
        for (i, name) in names.iter().enumerate() {
            let label = format!("  {name}");
            if scalar(&i) {
                rows.add(&label, lines.next().unwrap_or_default());
                continue;
            }
            rows.add(&label, &format!("a     {}", show(&a[i])));
            rows.add("", &format!("b     {}", show(&b[i])));
            rows.add("", &format!("from  {}", show(&low[i])));
            rows.add("", &format!("to    {}", show(&high[i])));
        }
    }

    fn bounds(&self) -> [Vec<Rational>; 2] {
        let (low, high) = self.known.bounds.iter().cloned().unzip();
        [low, high]
    }

    fn json(&self) -> Value {
        let Report { at, known, .. } = self;
        let verdict = if known.is_singleton() { "singleton" } else { "several" };
        let [low, high] = self.bounds();
        let pairs = |low: Value, high: Value| match (low, high) {
            (Value::Object(low), Value::Object(high)) => output::object(
                low.into_iter().zip(high).map(|((name, low), (_, high))| (name, Value::from(vec![low, high]))),
            ),
            _ => Value::Null,
        };
        let mut members = vec![
            ("verdict", verdict.into()),
            ("elements", known.elements.iter().map(|e| at.json(&e.gradient)).collect()),
            ("proved", known.proved.into()),
            ("bounds", pairs(at.json(&low), at.json(&high))),
            ("value", output::near(&at.values()[self.k])),
            ("kinks", at.model.kinks().len().into()),
        ];
        members.extend(at.json_exactness());
        if !at.model.is_exact() {
            let radius = |e: &crease_oracles::ConservativeElement| at.json_radius(e.radius.as_deref());
            members.push(("radius", known.elements.iter().filter_map(radius).map(|(_, r)| r).collect()));
        }
        let elements: Option<Value> =
            known.elements.iter().map(|e| at.json_exact(&e.gradient, e.radius.as_deref())).collect();
        if let (Some(elements), Some(low), Some(high)) =
            (elements, at.json_exact(&low, None), at.json_exact(&high, None))
        {
            members.push(("exact", output::object([("elements", elements), ("bounds", pairs(low, high))])));
        }
        let choices = at.model.kinks().iter().enumerate().map(|(k, kink)| {
            let weights =
                |e: &crease_oracles::ConservativeElement| e.choices[k].iter().map(output::number).collect::<Value>();
            at.json_kink(kink, vec![("weights", known.elements.iter().map(weights).collect())])
        });
        members.push(("choices", choices.collect()));
        if let Some(path) = &known.path {
            members.push(("path", path.iter().copied().collect()));
        }
        if let Some(asked) = &self.asked {
            members.push(("contains", asked.json(at)));
        }
        output::object(members)
    }
}
