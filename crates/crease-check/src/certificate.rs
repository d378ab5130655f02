//! A certificate from its first line to its last: the claim, the model, and the proof that belongs to the claim.

use crate::clauses::Refutation;
use crate::form::Form;
use crate::lines::{Fault, Lines, Words};
use crate::meter::Meter;
use crate::model::Model;
use crate::sides::Mixture;
use crate::{Checked, Claim, Side, Statistics, Vector, enclosed, rewrite, sides};

/// What the lines behind the model prove.
type Proved = Result<(Claim, Statistics), Fault>;

/// Reads a whole certificate.
pub fn read(lines: &mut Lines<'_>, meter: &mut Meter<'_>) -> Result<Checked, Fault> {
    let mut line = lines.expect("crease-certificate", "crease-certificate 1")?;
    let version = line.need("the version 1")?;
    if version != "1" {
        return Err(Fault::expected("the version 1", Some(version)));
    }
    line.finish()?;
    let mut line = lines.expect("claim", "claim CLAIM")?;
    let claim = line.need("a claim")?;
    line.finish()?;
    let checked = match claim {
        "differentiable" => exact(lines, meter, differentiable),
        "not-differentiable" => exact(lines, meter, not_differentiable),
        "not-differentiable-enclosed" => enclosed::read(lines, meter),
        "member" => exact(lines, meter, member),
        _ => {
            let claims = "`differentiable`, `not-differentiable`, `not-differentiable-enclosed` or `member`";
            return Err(Fault::expected(claims, Some(claim)));
        }
    }?;
    match lines.next()? {
        None => Ok(checked),
        found => Err(Fault::expected("the end of the text", found)),
    }
}

/// Reads a model with exact coefficients, and what is proved of it.
fn exact(
    lines: &mut Lines<'_>,
    meter: &mut Meter<'_>,
    proved: fn(&mut Lines<'_>, &Model, &mut Meter<'_>) -> Proved,
) -> Result<Checked, Fault> {
    let model = Model::read(lines)?;
    let (claim, statistics) = proved(lines, &model, meter)?;
    Ok(Checked {
        claim,
        dimension: model.dimension as usize,
        kinks: model.kinks.len(),
        model: model.to_string(),
        statistics,
    })
}

fn differentiable(lines: &mut Lines<'_>, model: &Model, meter: &mut Meter<'_>) -> Proved {
    let mut line = lines.expect("gradient", "gradient FORM")?;
    let gradient = Form::last(&mut line, model.directions())?;
    let relus = rewrite::relus(lines, model)?;
    let became = rewrite::kinks(lines, model, &relus, meter)?;
    let h = rewrite::rest(model, &became, &gradient, meter)?;
    drop(became);
    let statistics = Refutation::new(model, &relus, &h).read(lines, meter)?;
    Ok((Claim::Differentiable { gradient: Vector(gradient) }, statistics))
}

fn not_differentiable(lines: &mut Lines<'_>, model: &Model, meter: &mut Meter<'_>) -> Proved {
    let mut one = || {
        lines.expect("side", "side")?.finish()?;
        side(lines, model, meter)
    };
    let sides = [one()?, one()?];
    lines.expect("end", "end")?.finish()?;
    match sides[0].gradient == sides[1].gradient {
        true => Err(Fault::new("the two sides have the same gradient, which does not refute that there is one")),
        false => Ok((Claim::NotDifferentiable { sides }, Statistics::default())),
    }
}

fn member(lines: &mut Lines<'_>, model: &Model, meter: &mut Meter<'_>) -> Proved {
    let mut line = lines.expect("vector", "vector FORM")?;
    let vector = Form::last(&mut line, model.directions())?;
    let mut mixture = Mixture::default();
    let mut sides = Vec::new();
    loop {
        let Some(text) = lines.next()? else { return Err(Fault::expected("`side WEIGHT` or `end`", None)) };
        let mut line = Words::new(text);
        match line.next()?.unwrap_or_default() {
            "side" => {}
            "end" => {
                line.finish()?;
                break;
            }
            _ => return Err(Fault::expected("`side WEIGHT` or `end`", Some(text))),
        }
        let weight = Mixture::weight(&mut line)?;
        let side = side(lines, model, meter)?;
        mixture.add(&weight, &side.gradient.0, meter)?;
        sides.push((weight, side));
    }
    mixture.is(&vector, meter)?;
    Ok((Claim::Member { vector: Vector(vector), sides }, Statistics::default()))
}

fn side(lines: &mut Lines<'_>, model: &Model, meter: &mut Meter<'_>) -> Result<Side, Fault> {
    let (direction, gradient) = sides::side(lines, model, meter)?;
    Ok(Side { direction: Vector(direction), gradient: Vector(gradient) })
}
