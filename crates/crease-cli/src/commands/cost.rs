//! `crease cost`: what a program costs, which dictionary it is over, and Theorem 2.

use crate::how::HowArgs;
use crate::source::{Source, SourceArgs};
use crate::transform::dictionary;
use anyhow::{Result, anyhow, bail};
use clap::Args;
use crease::show::{self, object};
use crease_core::cost::{Count, Price, Prices, Tally, tally_within};
use crease_core::dictionary::{Dictionary, Outsider, outside};
use crease_core::differentiate::{DiffError, How, Mode, counted};
use crease_core::differentiate::{Overhead, overhead};
use crease_core::{InlineError, Limits, Op, Program, Rational, Site};
use serde_json::Value;

/// The most operations outside a dictionary that text shows.
const OUTSIDERS: usize = 20;

/// Programs with more equations than this are sorted into dictionaries by their tally, which does not ask where each
/// operation stands.
const LARGE: usize = 2000;

/// Count what a program costs, and what its derivatives cost
///
/// Costs are linear forms in 1 (additions and multiplications), c_nonlin (other smooth operations) and c_relu (sign
/// evaluations and comparisons). Of a derived program, `counted` is the cost of the program that crease emits, `model` the
/// formula in the proof of Theorem 2, and omega the theorem's bound on the overhead: counted <= model <= omega * cost.
/// Counts are exact whatever their size; in JSON, those beyond 63 bits are strings of digits. Nothing that is counted is run, and the
/// columns of forward mode are not emitted.
#[derive(Args)]
#[command(after_help = "Examples:
  crease cost -e 'relu(x) - relu(-x)'
  crease cost network.crease --prices c_nonlin=2,c_relu=1/2
  crease cost -e '2 * relu(x) + exp(y)' --dictionary D0")]
pub struct Cost {
    #[command(flatten)]
    source: SourceArgs,

    #[command(flatten)]
    how: HowArgs,

    /// The prices of operations, such as c_nonlin=2,c_relu=1/2; 1 unless told
    #[arg(long, value_name = "PRICES", allow_hyphen_values = true)]
    prices: Option<String>,

    /// Tell which operations put the program outside a dictionary: D0, relu, relu' or polynomial
    #[arg(long, value_name = "DICTIONARY", value_parser = dictionary)]
    dictionary: Option<Dictionary>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Cost {
    pub fn run(&self) -> Result<String> {
        let source = self.source.load()?;
        let how = self.how.read()?;
        let prices = self.prices.as_deref().map_or(Ok(Prices::unit()), read_prices)?;
        let p = &*source.program;
        let tally = tally_within(p, &Limits { equations: how.max_equations, ..Limits::default() })?;
        let report = Report {
            source: &source,
            smallest: Smallest::new(p, &tally),
            tally,
            outsiders: self.dictionary.map(|d| (d, outside(p, d))),
            backprop: Derived::costed(p, &how, Mode::Backward, &prices)?,
            forprop: Derived::costed(p, &how, Mode::Forward, &prices)?,
            prices,
        };
        Ok(if self.json { show::json(&report.json()) } else { report.text() })
    }
}

pub fn read_prices(text: &str) -> Result<Prices> {
    let mut prices = Prices::unit();
    for part in text.split(',').map(str::trim).filter(|p| !p.is_empty()) {
        let (name, value) = part.split_once('=').ok_or_else(|| anyhow!("`{part}` is no price; write c_relu=1/2"))?;
        let value: Rational =
            value.trim().parse().map_err(|_| anyhow!("`{}` is not a number; write {name}=1/2", value.trim()))?;
        let (slot, least) = match name.trim() {
            "c_nonlin" => (&mut prices.nonlin, 1),
            "c_relu" => (&mut prices.relu, 0),
            other => bail!("there is no price `{other}`; there are c_nonlin and c_relu, everything else costs 1"),
        };
        if value < Rational::from(least) {
            bail!("{} is {value}, but it must be at least {least}", name.trim());
        }
        *slot = value;
    }
    Ok(prices)
}

/// The first of the dictionaries, from small to large, that a program is over.
struct Smallest {
    dictionary: Dictionary,
    /// The operation that puts it outside those of the paper.
    because: Option<String>,
}

impl Smallest {
    fn new(p: &Program, tally: &Tally) -> Self {
        let library = p.library();
        let size = p.len() + library.iter().map(|q| q.len()).sum::<usize>();
        let selects = |q: &Program| q.equations().any(|e| matches!(e.op, Op::Select(_)));
        // the first operation outside
        let outsider: Box<dyn Fn(Dictionary) -> Option<String> + '_> = if size <= LARGE {
            Box::new(|d| outside(p, d).first().map(|o| o.item.clone()))
        } else {
            let select = selects(p) || library.iter().any(|q| selects(q));
            Box::new(move |d| match select {
                true => Some("select".into()),
                false => tally.iter().find(|(item, _)| !d.contains(item)).map(|(item, _)| item.name()),
            })
        };
        let mut because = None;
        for dictionary in [Dictionary::Polynomial, Dictionary::D0, Dictionary::Relu, Dictionary::ReluDerived] {
            because = outsider(dictionary);
            if because.is_none() {
                return Smallest { dictionary, because };
            }
        }
        Smallest { dictionary: Dictionary::Extended, because }
    }

    fn shown(&self) -> String {
        match &self.because {
            Some(item) => format!("extended: {item} is not in {}", Dictionary::ReluDerived),
            None => self.dictionary.to_string(),
        }
    }
}

/// What differentiating costs in one mode.
struct Derived {
    /// The cost of the program that is emitted; nothing for a program without gradient.
    counted: Option<Price>,
    theorem: Overhead,
}

/// The same, or why it is not known: expanding the calls gives too much, or they are called in too many ways.
type Costed = std::result::Result<Derived, DiffError>;

impl Derived {
    /// What else the report says of a program holds although its calls cannot be expanded, so that this is no error.
    fn costed(p: &Program, how: &How, mode: Mode, prices: &Prices) -> Result<Costed> {
        match Derived::new(p, how, mode, prices) {
            Ok(derived) => Ok(Ok(derived)),
            Err(e @ (DiffError::Inline(InlineError::TooLarge { .. }) | DiffError::Cases(_))) => Ok(Err(e)),
            Err(e) => Err(e.into()),
        }
    }

    fn new(p: &Program, how: &How, mode: Mode, prices: &Prices) -> std::result::Result<Self, DiffError> {
        let counted = match counted(p, how, mode) {
            Ok(tally) => Some(tally.price()),
            Err(DiffError::NotScalar { .. }) => None,
            Err(e) => return Err(e),
        };
        Ok(Derived { counted, theorem: overhead(p, how, mode, prices)? })
    }
}

struct Report<'a> {
    source: &'a Source,
    tally: Tally,
    prices: Prices,
    smallest: Smallest,
    outsiders: Option<(Dictionary, Vec<Outsider>)>,
    backprop: Costed,
    forprop: Costed,
}

impl Report<'_> {
    fn modes(&self) -> [(&'static str, &Costed); 2] {
        [("backprop", &self.backprop), ("forprop", &self.forprop)]
    }

    /// A price as a number at the prices asked for.
    fn at(&self, price: &Price) -> Rational {
        price.at(&self.prices)
    }

    /// A price as a number and, unless that says the same, as a form.
    fn both(&self, price: &Price) -> String {
        let (number, form) = (show::price(&self.at(price)), price.to_string());
        if price.nonlin.is_zero() && price.relu.is_zero() { number } else { format!("{number} = {form}") }
    }

    fn text(&self) -> String {
        let p = &self.source.program;
        let plural = |n: usize, word: &str| format!("{} {word}{}", show::count(n), if n == 1 { "" } else { "s" });
        let size = format!(
            "level {} · {} · {}",
            p.level(),
            plural(p.dimension(), "scalar input"),
            plural(p.len(), "equation")
        );
        let total = self.tally.price();
        let mut head = vec![
            vec!["program".into(), p.name().into(), size],
            vec!["dictionary".into(), self.smallest.shown()],
            vec!["cost".into(), self.both(&total)],
        ];
        if self.prices != Prices::unit() {
            let Prices { nonlin, relu } = &self.prices;
            head.push(vec!["prices".into(), format!("c_nonlin = {nonlin}, c_relu = {relu}")]);
        }
        // only the first line has a third column
        let mut out: String = head.iter().map(|row| format!("{:<10}  {}\n", row[0], row[1..].join("  "))).collect();

        let mut rows = vec![["operation", "count", "price of one"].map(String::from).to_vec()];
        for (name, n, each) in self.operations() {
            rows.push(vec![name, show::count(n), each.to_string()]);
        }
        if rows.len() > 1 {
            out.push('\n');
            out.push_str(&show::columns(&rows, &[1]));
        }
        let mut rows = vec![["", "counted", "model", "ratio", "omega", "at", "attained by"].map(String::from).to_vec()];
        for (name, derived) in self.modes().into_iter().filter_map(|(name, d)| Some((name, d.as_ref().ok()?))) {
            let model = &derived.theorem.model;
            let ratio = self.at(model).checked_div(&self.at(&total));
            let attained = derived.theorem.attained.as_ref();
            let mut row = vec![
                name.into(),
                derived.counted.as_ref().map_or("-".into(), |c| self.both(c)),
                self.both(model),
                ratio.map_or("-".into(), |r| show::ratio(&r)),
                derived.theorem.omega.as_ref().map_or("none".into(), show::ratio),
            ];
            if let Some(a) = attained {
                let [operation, at, text] = shown(&a.item, &a.site);
                row.extend([at, format!("{operation} in {text}")]);
            }
            rows.push(row);
        }
        if rows.len() > 1 {
            out.push('\n');
            out.push_str(&show::columns(&rows, &[3, 4]));
        }
        if self.backprop.as_ref().is_ok_and(|d| d.counted.is_none()) {
            out.push_str("\nnothing is counted: a gradient needs one scalar output\n");
        }
        for (name, error) in self.modes().into_iter().filter_map(|(name, d)| Some((name, d.as_ref().err()?))) {
            out.push_str(&format!("\n{name}  not counted: {error}\n"));
        }
        if let Some((dictionary, outsiders)) = &self.outsiders {
            out.push('\n');
            out.push_str(&outsiders_text(*dictionary, outsiders));
        }
        out
    }

    /// The operations by name, with their counts and the price of one. Items that differ in nothing that the name tells
    /// have one price.
    fn operations(&self) -> Vec<(String, Count, Price)> {
        let mut out: Vec<(String, Count, Price)> = Vec::new();
        for (item, n) in self.tally.iter() {
            let (name, price) = (item.name(), item.price());
            match out.iter_mut().find(|(known, _, p)| *known == name && *p == price) {
                Some((_, count, _)) => *count += n,
                None => out.push((name, n.clone(), price)),
            }
        }
        out
    }

    fn json(&self) -> Value {
        let number = |price: &Price| exactly(&self.at(price));
        let total = self.tally.price();
        let derived = |d: &Costed| {
            let d = match d {
                Ok(d) => d,
                Err(e) => return object([("error", e.to_string().into())]),
            };
            let ratio = self.at(&d.theorem.model).checked_div(&self.at(&total));
            let attained = d.theorem.attained.as_ref().map(|a| located(&a.item, &a.site));
            object([
                ("model", number(&d.theorem.model)),
                ("counted", d.counted.as_ref().map_or(Value::Null, number)),
                ("omega", d.theorem.omega.as_ref().map_or(Value::Null, show::number)),
                ("ratio", ratio.as_ref().map_or(Value::Null, show::number)),
                ("attained", attained.unwrap_or_default()),
            ])
        };
        let forms = |d: &Costed| {
            let Ok(d) = d else { return Value::Null };
            let counted = d.counted.as_ref().map_or(Value::Null, |c| c.to_string().into());
            object([("model", d.theorem.model.to_string().into()), ("counted", counted)])
        };
        let tally = self.tally.by_name().into_iter().map(|(name, n)| (name, exactly(&n.to_rational())));
        let mut members = vec![
            ("level", self.source.program.level().into()),
            ("cost", number(&total)),
            ("tally", object(tally)),
            ("dictionary", name(self.smallest.dictionary).into()),
            ("backprop", derived(&self.backprop)),
            ("forprop", derived(&self.forprop)),
            (
                "prices",
                object([
                    ("c_nonlin", show::number(&self.prices.nonlin)),
                    ("c_relu", show::number(&self.prices.relu)),
                    ("cost", total.to_string().into()),
                    ("backprop", forms(&self.backprop)),
                    ("forprop", forms(&self.forprop)),
                ]),
            ),
        ];
        if let Some((dictionary, outsiders)) = &self.outsiders {
            let listed = outsiders.iter().map(|o| located(&o.item, &o.site));
            members.push((
                "outside",
                object([("dictionary", name(*dictionary).into()), ("operations", listed.collect())]),
            ));
        }
        object(members)
    }
}

/// A count or a cost in JSON: a number, or, where that would round a whole number, a string of its digits.
fn exactly(x: &Rational) -> Value {
    match x.small_parts() {
        None if x.is_integer() => x.fraction().into(),
        _ => show::number(x),
    }
}

/// The short name of a dictionary.
pub fn name(d: Dictionary) -> &'static str {
    match d {
        Dictionary::Polynomial => "polynomial",
        Dictionary::D0 => "D0",
        Dictionary::Relu => "D_ReLU",
        Dictionary::ReluDerived => "D'_ReLU",
        Dictionary::Extended => "extended",
    }
}

/// An operation with its place, in JSON.
fn located(operation: &str, site: &Site) -> Value {
    let place = show::origin(site.origin.as_deref());
    object([("operation", operation.into()), ("place", place), ("text", text(site).into())])
}

fn text(site: &Site) -> String {
    site.text()
}

/// An operation, where it stands, and what stands there.
fn shown(operation: &str, site: &Site) -> [String; 3] {
    [operation.into(), site.short(), site.text()]
}

fn outsiders_text(dictionary: Dictionary, outsiders: &[Outsider]) -> String {
    if outsiders.is_empty() {
        return format!("inside {dictionary}\n");
    }
    let row = |o: &Outsider| shown(&o.item, &o.site).to_vec();
    let rows: Vec<Vec<String>> = outsiders.iter().take(OUTSIDERS).map(row).collect();
    let mut out = format!("outside {dictionary} by\n");
    out.extend(show::columns(&rows, &[]).lines().map(|line| format!("  {line}\n")));
    if outsiders.len() > OUTSIDERS {
        out.push_str(&format!("  … and {} more\n", show::count(outsiders.len() - OUTSIDERS)));
    }
    out
}
