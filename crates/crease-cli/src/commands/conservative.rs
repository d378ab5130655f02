//! `crease conservative`: the autodiff conservative gradient, a singleton or not, and which choices show that.

use crate::along;
use crate::local::{self, Local};
use crate::output;
use crate::rows::Rows;
use crate::source::SourceArgs;
use anyhow::Result;
use clap::Args;
use crease_core::local::{Exactness, LocalModel};
use crease_core::{Rational, Shape};
use crease_oracles::{Conservative as Known, Membership, conservative, membership};
use serde_json::Value;

/// How many random directions are looked at for a vector that is asked about.
const TRIES: u64 = 64;

/// How far a vector must be outside rounded bounds for that to be told, relative to their size.
const ROUNDING: f64 = 1e-9;

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

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Conservative {
    pub fn run(&self) -> Result<String> {
        let at = Local::load(&self.source)?;
        let (k, element) = at.scalar_output("a conservative gradient", self.output)?;
        let known = conservative(&at.model, element)?;
        let asked = match &self.contains {
            Some(text) => {
                let mut vector = along::vector("--contains", text, &at.source)?;
                if !at.model.is_exact() {
                    // numbers of the model are doubles, so these have to be
                    vector.iter_mut().for_each(|x| *x = Rational::from_f64(x.to_f64()).unwrap_or_default());
                }
                let found = membership(&at.model, element, &known, &vector, TRIES)?;
                let found = sure(found, &vector, &at.model);
                Some((vector, found))
            }
            None => None,
        };
        let report = Report { at: &at, k, known: &known, asked };
        Ok(if self.json { output::json(&report.json()) } else { report.text() })
    }
}

/// What is left of an answer where bounds are rounded: what is outside by less than rounding may do is not decided.
fn sure(found: Membership, vector: &[Rational], model: &LocalModel) -> Membership {
    match &found {
        Membership::Outside { coordinate, bounds: (low, high) } if !model.is_exact() => {
            let (x, low, high) = (vector[*coordinate].to_f64(), low.to_f64(), high.to_f64());
            let outside = (low - x).max(x - high);
            if outside <= ROUNDING * (1.0 + x.abs()) { Membership::NotDecided } else { found }
        }
        _ => found,
    }
}

/// Two elements in a sentence, or what stands for them where they are vectors.
pub fn sentence(model: &LocalModel, known: &Known) -> (String, [String; 2]) {
    let show = |e: &crease_oracles::ConservativeElement| {
        let parts = local::by_input(model, &e.gradient, model.is_exact());
        match &parts[..] {
            [one] if one.near.shape().is_scalar() => Some(output::answer(one, false)),
            _ => None,
        }
    };
    let sure = match model.exactness() {
        Exactness::Exact => true,
        Exactness::Approximate { undecided } => undecided.is_empty() && model.kinks().is_empty(),
    };
    match &known.elements[..] {
        [a, b] => {
            let names = match (show(a), show(b)) {
                (Some(a), Some(b)) => [a, b],
                _ => ["a".into(), "b".into()],
            };
            (format!("not a singleton: {} and {} both belong to it", names[0], names[1]), names)
        }
        _ if model.kinks().is_empty() && sure => ("a singleton: no kink matters here".into(), Default::default()),
        _ if !sure => ("a singleton, as far as floats can tell".into(), Default::default()),
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
    asked: Option<(Vec<Rational>, Membership)>,
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
                let places = at.places();
                let kinks: Vec<String> =
                    path.iter().take(local::SHOWN).map(|&k| local::text(&at.model.kinks()[k].site, &places)).collect();
                let more = if path.len() > local::SHOWN { " → …" } else { "" };
                rows.add("path", &format!("{}{more}  the fewest kinks between output and inputs", kinks.join(" → ")));
            }
        } else if !at.model.kinks().is_empty() {
            let lines = at.kinks(at.model.kinks().iter().map(|kink| (kink, Vec::new())));
            rows.block("kinks", &output::columns(&lines, &[]));
        }
        if let Some((vector, found)) = &self.asked {
            let vector = along::shown(vector, &at.source, at.model.is_exact());
            rows.add("contains", &format!("{vector}  {}", self.answer(found)));
        }
        at.exactness(&mut rows);
        rows.text()
    }

    /// The elements and the bounds, input by input.
    fn elements(&self, rows: &mut Rows) {
        let Report { at, known, .. } = self;
        let parts: Vec<Vec<_>> = known.elements.iter().map(|e| at.by_input(&e.gradient)).collect();
        let [low, high] = self.bounds().map(|v| at.by_input(&v));
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

    fn answer(&self, found: &Membership) -> String {
        match found {
            Membership::Gradient => "it is the gradient, the only element".into(),
            Membership::Clarke { direction } => {
                format!(
                    "yes, a Clarke subgradient: the limit of gradients along {}",
                    along::shown(direction, &self.at.source, self.at.model.is_exact())
                )
            }
            Membership::Outside { coordinate, bounds: (low, high) } => {
                let name = self.coordinate(*coordinate);
                let show = |x: &Rational| {
                    output::answer(
                        &local::answer(Shape::scalar(), std::slice::from_ref(x), self.at.model.is_exact()),
                        false,
                    )
                };
                match (show(low), show(high)) {
                    (low, high) if low == high => format!("no: {name} is {low} in all elements"),
                    (low, high) => format!("no: {name} is between {low} and {high} in all elements"),
                }
            }
            Membership::NotDecided => {
                "not decided here: within the bounds, but no limit of gradients that was found".into()
            }
        }
    }

    /// The name of a coordinate, such as v[1, 2].
    fn coordinate(&self, mut k: usize) -> String {
        for i in self.at.model.inputs() {
            if k >= i.shape.len() {
                k -= i.shape.len();
                continue;
            }
            let mut index = Vec::new();
            for n in i.shape.dims().iter().rev() {
                index.push((k % n).to_string());
                k /= n;
            }
            index.reverse();
            return if index.is_empty() { i.name.to_string() } else { format!("{}[{}]", i.name, index.join(", ")) };
        }
        "a coordinate".into()
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
        let elements: Option<Value> = known.elements.iter().map(|e| at.json_exact(&e.gradient)).collect();
        if let (Some(elements), Some(low), Some(high)) = (elements, at.json_exact(&low), at.json_exact(&high)) {
            members.push(("exact", output::object([("elements", elements), ("bounds", pairs(low, high))])));
        }
        let places = at.places();
        let choices = at.model.kinks().iter().enumerate().map(|(k, kink)| {
            let weights =
                |e: &crease_oracles::ConservativeElement| e.choices[k].iter().map(output::number).collect::<Value>();
            at.json_kink(kink, &places, vec![("weights", known.elements.iter().map(weights).collect())])
        });
        members.push(("choices", choices.collect()));
        if let Some(path) = &known.path {
            members.push(("path", path.iter().copied().collect()));
        }
        if let Some((_, found)) = &self.asked {
            members.push(("contains", self.json_answer(found)));
        }
        output::object(members)
    }

    fn json_answer(&self, found: &Membership) -> Value {
        let word = match found {
            Membership::Gradient => "gradient",
            Membership::Clarke { .. } => "clarke",
            Membership::Outside { .. } => "outside",
            Membership::NotDecided => "undecided",
        };
        let mut members = vec![("verdict", word.into())];
        match found {
            Membership::Clarke { direction } => members.push(("direction", self.at.json(direction))),
            Membership::Outside { coordinate, bounds: (low, high) } => {
                members.push(("coordinate", self.coordinate(*coordinate).into()));
                members.push(("bounds", vec![output::number(low), output::number(high)].into()));
            }
            _ => {}
        }
        output::object(members)
    }
}
