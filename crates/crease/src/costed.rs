//! What a program costs, and what its derivatives cost: a program enters, one value leaves that holds what can be counted of it.
//!
//! Costs are those of [`cost`](crate::cost), linear forms in the prices of operations; of derivatives there are the cost of the program that is emitted, the formula in the proof
//! of Theorem 2, and the theorem's bound. Nothing is run, and no columns of forward mode are emitted.

use crate::show::{self, object};
use crease_core::cost::{Count, Price, Prices, Tally, tally_within};
use crease_core::dictionary::{Dictionary, Outsider, Smallest, outside};
use crease_core::differentiate::{DiffError, How, Mode, Overhead, counted, overhead};
use crease_core::{InlineError, Program, Rational, Site};
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::fmt;

/// The most operations outside a dictionary that text shows.
const OUTSIDERS: usize = 20;

/// What a program costs, which dictionary it is over, and Theorem 2. It displays as the text of `crease cost`, and serializes as its JSON.
///
/// ```
/// use crease::{cost::Prices, costed::costed, dictionary::Dictionary, How};
/// let p = crease::trace(1, |x| crease::relu(x[0]) - crease::relu(-x[0]))?;
/// let c = costed(&p, &How::default(), &Prices::unit(), None)?;
/// assert_eq!((c.at(&c.cost()).to_string(), c.smallest.dictionary), ("4".into(), Dictionary::D0));
/// let backprop = c.backprop.as_ref().unwrap();
/// assert_eq!(c.at(backprop.counted.as_ref().unwrap()).to_string(), "5");
/// assert_eq!(backprop.theorem.omega.as_ref().unwrap().to_string(), "5");
/// println!("{c}"); // all of it, as the command-line tool shows it
/// # Ok::<(), crease::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Costed {
    /// The name of the program.
    pub program: String,
    /// How deep its calls are nested.
    pub level: usize,
    /// The number of its scalar inputs.
    pub dimension: usize,
    /// The number of its equations, without those of the programs that it calls.
    pub equations: usize,
    /// Its operations, with those of the programs that it calls.
    pub tally: Tally,
    /// The prices of operations.
    pub prices: Prices,
    /// The smallest dictionary that it is over.
    pub smallest: Smallest,
    /// The dictionary that was asked about, and what puts the program outside of it.
    pub outside: Option<(Dictionary, Vec<Outsider>)>,
    /// What differentiating it backward costs, or why that is not known.
    pub backprop: MaybeDerived,
    /// The same forward.
    pub forprop: MaybeDerived,
}

/// What a program costs at these prices, and its derivatives, differentiated as told; with what puts it outside of a dictionary, if one is asked about. How far to go is said by
/// [`How::limits`].
pub fn costed(p: &Program, how: &How, prices: &Prices, asked: Option<Dictionary>) -> Result<Costed, DiffError> {
    let tally = tally_within(p, &how.limits())?;
    Ok(Costed {
        program: p.name().into(),
        level: p.level(),
        dimension: p.dimension(),
        equations: p.len(),
        smallest: Smallest::of(p, &tally),
        tally,
        outside: asked.map(|d| (d, outside(p, d))),
        backprop: Derived::known(p, how, Mode::Backward, prices)?,
        forprop: Derived::known(p, how, Mode::Forward, prices)?,
        prices: prices.clone(),
    })
}

/// What differentiating a program costs in one mode.
#[derive(Clone, Debug, PartialEq)]
pub struct Derived {
    /// The cost of the program that is emitted; nothing for a program without gradient, which needs one scalar output.
    pub counted: Option<Price>,
    /// What Theorem 2 says.
    pub theorem: Overhead,
}

/// The same, or why it is not known: expanding the calls gives too much, or they are called in too many ways.
pub type MaybeDerived = Result<Derived, DiffError>;

impl Derived {
    /// What else is said of a program holds although its calls cannot be expanded, so that this is no error.
    fn known(p: &Program, how: &How, mode: Mode, prices: &Prices) -> Result<MaybeDerived, DiffError> {
        match Derived::of(p, how, mode, prices) {
            Err(e) if !matches!(e, DiffError::Inline(InlineError::TooLarge { .. }) | DiffError::Cases(_)) => Err(e),
            known => Ok(known),
        }
    }

    /// That of a program, differentiated as told.
    pub fn of(p: &Program, how: &How, mode: Mode, prices: &Prices) -> Result<Self, DiffError> {
        let counted = match counted(p, how, mode) {
            Ok(tally) => Some(tally.price()),
            Err(DiffError::NotScalar { .. }) => None,
            Err(e) => return Err(e),
        };
        Ok(Derived { counted, theorem: overhead(p, how, mode, prices)? })
    }
}

impl Costed {
    fn modes(&self) -> [(&'static str, &MaybeDerived); 2] {
        [("backprop", &self.backprop), ("forprop", &self.forprop)]
    }

    /// What it costs.
    pub fn cost(&self) -> Price {
        self.tally.price()
    }

    /// A price as a number, at the prices that were given.
    pub fn at(&self, price: &Price) -> Rational {
        price.at(&self.prices)
    }

    /// A price as a number and, unless that says the same, as a form.
    fn both(&self, price: &Price) -> String {
        let (number, form) = (show::price(&self.at(price)), price.to_string());
        if price.nonlin.is_zero() && price.relu.is_zero() { number } else { format!("{number} = {form}") }
    }

    fn text(&self) -> String {
        let plural = |n: usize, word: &str| format!("{} {word}{}", show::count(n), if n == 1 { "" } else { "s" });
        let size = format!(
            "level {} · {} · {}",
            self.level,
            plural(self.dimension, "scalar input"),
            plural(self.equations, "equation")
        );
        let total = self.cost();
        let mut head = vec![
            vec!["program".into(), self.program.clone(), size],
            vec!["dictionary".into(), self.smallest.to_string()],
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
        if let Some((dictionary, outsiders)) = &self.outside {
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
        let total = self.cost();
        let derived = |d: &MaybeDerived| {
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
        let forms = |d: &MaybeDerived| {
            let Ok(d) = d else { return Value::Null };
            let counted = d.counted.as_ref().map_or(Value::Null, |c| c.to_string().into());
            object([("model", d.theorem.model.to_string().into()), ("counted", counted)])
        };
        let tally = self.tally.by_name().into_iter().map(|(name, n)| (name, exactly(&n.to_rational())));
        let mut members = vec![
            ("level", self.level.into()),
            ("cost", number(&total)),
            ("tally", object(tally)),
            ("dictionary", self.smallest.dictionary.name().into()),
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
        if let Some((dictionary, outsiders)) = &self.outside {
            let listed = outsiders.iter().map(|o| located(&o.item, &o.site));
            members.push((
                "outside",
                object([("dictionary", dictionary.name().into()), ("operations", listed.collect())]),
            ));
        }
        object(members)
    }
}

impl fmt::Display for Costed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl Serialize for Costed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json().serialize(serializer)
    }
}

/// A count or a cost in JSON: a number, or, where that would round a whole number, a string of its digits.
fn exactly(x: &Rational) -> Value {
    match x.small_parts() {
        None if x.is_integer() => x.fraction().into(),
        _ => show::number(x),
    }
}

/// An operation with its place, in JSON.
fn located(operation: &str, site: &Site) -> Value {
    let place = show::origin(site.origin.as_deref());
    object([("operation", operation.into()), ("place", place), ("text", site.text().into())])
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
