//! Sides: directions around which the function is linear, and the gradients that it has there.
//!
//! Along a direction every form has a value, so each kink has largest forms. Where one is alone, it stays the largest around the direction;
//! where several are as large, they must be the same linear function there. Kinks are replaced by their largest forms only where
//! that has to be known, for the output and for differences of equally large forms, so no gradient of a kink is ever kept.

use crate::form::{Form, Sum, Var};
use crate::lines::{Fault, Lines, Words};
use crate::meter::{Meter, words};
use crate::model::Model;
use crease_number::Rational;

/// Reads `direction` and `gradient`, the lines behind `side`, and sees that the function has this gradient around the direction.
pub fn side(lines: &mut Lines<'_>, model: &Model, meter: &mut Meter<'_>) -> Result<(Form, Form), Fault> {
    let mut line = lines.expect("direction", "direction FORM")?;
    let direction = Form::last(&mut line, model.directions())?;
    let largest = largest_forms(model, &direction, meter)?;
    let mut line = lines.expect("gradient", "gradient FORM")?;
    let gradient = Form::last(&mut line, model.directions())?;
    let mut sum = Sum::of(&Rational::ONE, &model.output, meter)?;
    eliminate(&mut sum, &largest, meter)?;
    sum.add(&Rational::from(-1), &gradient, meter)?;
    match sum.is_zero() {
        true => Ok((direction, gradient)),
        false => Err(Fault::new("this is not the gradient around the direction")),
    }
}

/// For each kink a form that is largest along the direction, and around it.
fn largest_forms<'m>(model: &'m Model, direction: &Form, meter: &mut Meter<'_>) -> Result<Vec<&'m Form>, Fault> {
    let mut values: Vec<Rational> = Vec::new();
    let mut largest: Vec<&Form> = Vec::new();
    let mut room = 0;
    for (k, forms) in model.kinks.iter().enumerate() {
        let mut best: Option<(Rational, &Form)> = None;
        let mut ties: Vec<&Form> = Vec::new();
        for form in forms {
            let value = value(form, direction, &values, meter)?;
            match &best {
                Some((most, _)) if value < *most => {}
                Some((most, _)) if value == *most => ties.push(form),
                _ => {
                    ties.clear();
                    best = Some((value, form));
                }
            }
        }
        let Some((value, form)) = best else { return Err(Fault::new(format!("kink {k} has no forms"))) };
        for other in ties {
            let mut difference = Sum::of(&Rational::ONE, form, meter)?;
            difference.add(&Rational::from(-1), other, meter)?;
            eliminate(&mut difference, &largest, meter)?;
            if !difference.is_zero() {
                return Err(Fault::new(format!(
                    "the function need not be linear around this direction: along it kink {k} has two largest forms, with different gradients"
                )));
            }
        }
        room += words(&value);
        meter.room(room)?;
        values.push(value);
        largest.push(form);
    }
    Ok(largest)
}

/// Replaces kinks, from the last to the first, by their largest forms.
fn eliminate(sum: &mut Sum, largest: &[&Form], meter: &mut Meter<'_>) -> Result<(), Fault> {
    while let Some((Var::K(k), c)) = sum.pop(|v| matches!(v, Var::K(_))) {
        sum.add(&c, largest[k as usize], meter)?;
    }
    Ok(())
}

/// The value of a form along the direction, given those of the kinks.
fn value(form: &Form, direction: &Form, kinks: &[Rational], meter: &mut Meter<'_>) -> Result<Rational, Fault> {
    let mut sum = Rational::ZERO;
    for (v, c) in form.terms() {
        let x = match v {
            Var::D(_) => direction.coefficient(*v),
            Var::K(k) => Some(&kinks[*k as usize]),
            // no relu is in the scope of a model
            Var::Z(_) => None,
        };
        let Some(x) = x else { continue };
        meter.operation(words(c) + words(x) + words(&sum))?;
        sum.add_mul(c, x);
        meter.short(&sum)?;
    }
    Ok(sum)
}

/// A convex combination of gradients that is being added up.
#[derive(Default)]
pub struct Mixture {
    total: Rational,
    sum: Sum,
}

impl Mixture {
    /// The weight that a line `side WEIGHT` ends with.
    pub fn weight(line: &mut Words<'_>) -> Result<Rational, Fault> {
        let weight = line.number("a weight")?;
        line.finish()?;
        match weight.is_positive() {
            true => Ok(weight),
            false => Err(Fault::expected("a positive weight", Some(&weight.fraction()))),
        }
    }

    pub fn add(&mut self, weight: &Rational, gradient: &Form, meter: &mut Meter<'_>) -> Result<(), Fault> {
        meter.operation(words(weight) + words(&self.total))?;
        self.total += weight;
        meter.short(&self.total)?;
        self.sum.add(weight, gradient, meter)
    }

    /// Sees that the weights add up to 1 and the gradients to the vector.
    pub fn is(mut self, vector: &Form, meter: &mut Meter<'_>) -> Result<(), Fault> {
        if !self.total.is_one() {
            return Err(Fault::expected("weights that add up to 1", Some(&self.total.fraction())));
        }
        self.sum.add(&Rational::from(-1), vector, meter)?;
        match self.sum.is_zero() {
            true => Ok(()),
            false => Err(Fault::new("the weighted gradients do not add up to the vector")),
        }
    }
}
