//! Kinks become forms in the direction and in relus: the maximum of a and b is b + relu(a - b).
//!
//! A kink is kept as a form in relus and *earlier kinks*, and kinks are replaced only in differences, after what cancels has cancelled. So
//! what is kept is about as long as the text, while kinks written out in relus alone can be longer by far.

use crate::form::{Form, Scope, Sum, Var};
use crate::lines::{Fault, Lines, Words, natural};
use crate::meter::{Meter, words};
use crate::model::Model;
use crease_number::Rational;

/// Reads `relus R` and its lines: for each relu the form w of z = max(0, w).
pub fn relus(lines: &mut Lines<'_>, model: &Model) -> Result<Vec<Form>, Fault> {
    let mut line = lines.expect("relus", "relus R")?;
    let count = line.count("the number of relus")?;
    line.finish()?;
    let mut relus = Vec::new();
    for z in 0..count {
        let mut line = lines.expect("relu", "relu FORM")?;
        relus.push(Form::last(&mut line, Scope { d: model.dimension, z, k: 0 })?);
    }
    Ok(relus)
}

/// Reads the lines `kink`, and returns what each kink is: a form in the direction, in relus and in earlier kinks.
pub fn kinks(lines: &mut Lines<'_>, model: &Model, relus: &[Form], meter: &mut Meter<'_>) -> Result<Vec<Form>, Fault> {
    let mut became: Vec<Form> = Vec::new();
    let mut kept = 0;
    for forms in &model.kinks {
        let mut line = lines.expect("kink", "kink [A B zJ]...")?;
        let mut items: Vec<Option<Form>> = forms.iter().cloned().map(Some).collect();
        while let Some(word) = line.next()? {
            let a = Place::of(word, &items)?;
            let b = Place::of(line.need("the number of an item")?, &items)?;
            if a.number == b.number {
                return Err(Fault::new(format!("item {} cannot be joined with itself", a.number)));
            }
            let joined = join(a.form, b.form, &mut line, relus, &became, meter)?;
            let (a, b) = (a.number, b.number);
            let joined = match joined {
                Joined::First { term: None } => items[a].take(),
                Joined::First { term: Some((c, z)) } => with_term(items[a].take(), &c, z, meter)?,
                Joined::Second { c, z } => with_term(items[b].take(), &c, z, meter)?,
            };
            (items[a], items[b]) = (None, None);
            items.push(joined);
        }
        let mut left = items.into_iter().flatten();
        match (left.next(), left.count()) {
            (Some(form), 0) => {
                // one long number can be copied from kink to kink
                kept += form.terms().iter().map(|t| words(&t.1)).sum::<u64>();
                meter.room(kept)?;
                became.push(form);
            }
            (_, more) => {
                return Err(Fault::new(format!(
                    "{} items are left unjoined; there has to be one in the end",
                    more + 1
                )));
            }
        }
    }
    Ok(became)
}

/// The output less the gradient, in the direction and in relus.
pub fn rest(model: &Model, became: &[Form], gradient: &Form, meter: &mut Meter<'_>) -> Result<Form, Fault> {
    let mut sum = Sum::of(&Rational::ONE, &model.output, meter)?;
    sum.add(&Rational::from(-1), gradient, meter)?;
    eliminate(&mut sum, became, meter)?;
    Ok(sum.finish())
}

/// The number of a relu, written `z7`.
pub fn relu_number(word: &str, relus: &[Form]) -> Result<u32, Fault> {
    let number = word.strip_prefix('z').and_then(natural);
    known_relu(number.ok_or_else(|| Fault::expected("a relu such as `z0`", Some(word)))?, relus)
}

/// A number, if there is such a relu.
pub fn known_relu(number: u32, relus: &[Form]) -> Result<u32, Fault> {
    match (number as usize) < relus.len() {
        true => Ok(number),
        false => Err(Fault::new(format!("there is no relu z{number}; there are {}", relus.len()))),
    }
}

/// An item that is not joined yet.
struct Place<'i> {
    number: usize,
    form: &'i Form,
}

impl<'i> Place<'i> {
    fn of(word: &str, items: &'i [Option<Form>]) -> Result<Place<'i>, Fault> {
        let number = natural(word).ok_or_else(|| Fault::expected("the number of an item", Some(word)))? as usize;
        match items.get(number) {
            Some(Some(form)) => Ok(Place { number, form }),
            Some(None) => Err(Fault::new(format!("item {number} has been joined before"))),
            None => Err(Fault::new(format!("there is no item {number} yet; there are {}", items.len()))),
        }
    }
}

/// What the maximum of two items is.
enum Joined {
    /// The first, and perhaps a multiple of a relu.
    First { term: Option<(Rational, Var)> },
    /// The second and a multiple of a relu.
    Second { c: Rational, z: Var },
}

fn join(
    a: &Form,
    b: &Form,
    line: &mut Words<'_>,
    relus: &[Form],
    became: &[Form],
    meter: &mut Meter<'_>,
) -> Result<Joined, Fault> {
    let word = line.need("a relu such as `z0`, `=` or `>=`")?;
    let mut difference = Sum::of(&Rational::ONE, a, meter)?;
    difference.add(&Rational::from(-1), b, meter)?;
    eliminate(&mut difference, became, meter)?;
    match word {
        "=" if difference.is_zero() => return Ok(Joined::First { term: None }),
        "=" => return Err(Fault::new("the two items joined by `=` are not equal")),
        ">=" if difference.is_sum_of_relus() => return Ok(Joined::First { term: None }),
        ">=" => return Err(Fault::new("the first item joined by `>=` is not the second and a sum of relus")),
        _ => {}
    }
    let j = relu_number(word, relus)?;
    let Some(c) = difference.ratio(&relus[j as usize], meter)? else {
        return Err(Fault::new(format!("the difference of the two items is no multiple of the form of z{j}")));
    };
    meter.short(&c)?;
    Ok(match c.is_negative() {
        false => Joined::Second { c, z: Var::Z(j) },
        true => Joined::First { term: Some((-c, Var::Z(j))) },
    })
}

fn with_term(item: Option<Form>, c: &Rational, z: Var, meter: &mut Meter<'_>) -> Result<Option<Form>, Fault> {
    let mut form = item.unwrap_or_default();
    form.add_term(c, z, meter)?;
    Ok(Some(form))
}

/// Replaces kinks, from the last to the first, by what they became.
fn eliminate(sum: &mut Sum, became: &[Form], meter: &mut Meter<'_>) -> Result<(), Fault> {
    while let Some((Var::K(k), c)) = sum.pop(|v| matches!(v, Var::K(_))) {
        sum.add(&c, &became[k as usize], meter)?;
    }
    Ok(())
}
