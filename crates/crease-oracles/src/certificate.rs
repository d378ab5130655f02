//! The parts of certificates that all claims share: the model, and limits of gradients; and the certificate that a vector is a Clarke
//! subgradient. The format is that of the crate `crease-check`.

use crate::conservative::GRAPH_BUDGET;
use crate::{Membership, Neighbour, OracleError, clarke_element, output};
use crease_core::local::{Form, LocalModel, NormalForm};
use crease_core::number::Rational;
use std::fmt::{self, Display, Write};

/// The head of a certificate: what is claimed, and of which model.
pub(crate) fn head(out: &mut String, claim: &str, normal: &NormalForm, output: usize) -> fmt::Result {
    writeln!(out, "crease-certificate 1\nclaim {claim}")?;
    model(out, normal, output)
}

/// The lines of a certificate that state the model: one output of a normal form, with all of its kinks.
///
/// ```
/// use crease_core::{local::localize, relu, trace, Rational, Tensor};
/// use crease_oracles::certificate_model;
/// let p = trace(1, |x| relu(x[0]) + x[0]).unwrap();
/// let normal = localize(&p, &[Tensor::scalar(Rational::ZERO)]).unwrap().normal_form();
/// assert_eq!(certificate_model(&normal, 0), "dimension 1\nkinks 1\nmax 0 ; 1*d0\noutput 1*d0 1*k0\n");
/// ```
pub fn certificate_model(normal: &NormalForm, output: usize) -> String {
    let mut out = String::new();
    // a string takes all that is written to it
    let _ = model(&mut out, normal, output);
    out
}

fn model(out: &mut String, normal: &NormalForm, output: usize) -> fmt::Result {
    writeln!(out, "dimension {}\nkinks {}", normal.dimension, normal.kinks.len())?;
    for kink in &normal.kinks {
        out.push_str("max");
        for (i, f) in kink.forms.iter().enumerate() {
            out.push_str(if i == 0 { " " } else { " ; " });
            form(out, f)?;
        }
        out.push('\n');
    }
    out.push_str("output ");
    match normal.outputs.get(output) {
        Some(f) => form(out, f)?,
        None => out.push('0'),
    }
    out.push('\n');
    Ok(())
}

fn form(out: &mut String, f: &Form) -> fmt::Result {
    let directions = f.directions.iter().map(|(i, c)| ('d', *i, c));
    let kinks = f.kinks.iter().map(|(i, c)| ('k', *i, c));
    terms(out, directions.chain(kinks))
}

/// A vector as a form in the direction.
pub(crate) fn vector(out: &mut String, x: &[Rational]) -> fmt::Result {
    terms(out, x.iter().enumerate().filter(|t| !t.1.is_zero()).map(|(i, c)| ('d', i, c)))
}

fn terms<'a>(out: &mut String, terms: impl Iterator<Item = (char, usize, &'a Rational)>) -> fmt::Result {
    let before = out.len();
    for (letter, i, c) in terms {
        if out.len() > before {
            out.push(' ');
        }
        write!(out, "{}*{letter}{i}", c.fraction())?;
    }
    if out.len() == before {
        out.push('0');
    }
    Ok(())
}

/// A limit of gradients: the function is linear around the direction, with that gradient.
pub(crate) fn side(
    out: &mut String,
    weight: Option<&dyn Display>,
    direction: &[Rational],
    gradient: &[Rational],
) -> fmt::Result {
    match weight {
        None => out.push_str("side\ndirection "),
        Some(w) => write!(out, "side {w}\ndirection ")?,
    }
    vector(out, direction)?;
    out.push_str("\ngradient ");
    vector(out, gradient)?;
    out.push('\n');
    Ok(())
}

/// The certificate that a vector is a Clarke subgradient, for the checker of the crate `crease-check`: it is a convex combination of limits
/// of gradients. The gradients are those that [`Membership::Hull`] names by their numbers. There is none if the vector was not found to be
/// one, if the model is not exact, or if it is too large to be written down.
///
/// ```
/// use crease_core::{abs, local::localize, trace, Rational, Tensor};
/// use crease_oracles::{
///     conservative, membership_among, membership_certificate, neighbouring_gradients, EnumerateLimits,
/// };
/// let p = trace(1, |x| abs(x[0])).unwrap();
/// let model = localize(&p, &[Tensor::scalar(Rational::ZERO)]).unwrap();
/// let known = conservative(&model, 0).unwrap();
/// let all = neighbouring_gradients(&model, 0, EnumerateLimits::default()).unwrap();
/// let zero = [Rational::ZERO];
/// let found = membership_among(&model, 0, &known, &all, &zero).unwrap();
/// let text = membership_certificate(&model, 0, &zero, &found, &all.gradients).unwrap().unwrap();
/// assert!(text.starts_with("crease-certificate 1\nclaim member\n"));
/// ```
pub fn membership_certificate(
    model: &LocalModel,
    output_number: usize,
    vector: &[Rational],
    found: &Membership,
    gradients: &[Neighbour],
) -> Result<Option<String>, OracleError> {
    output(model, output_number)?;
    let whole = |direction: Vec<Rational>| vec![(Rational::ONE, direction, vector.to_vec())];
    let sides: Vec<(Rational, Vec<Rational>, Vec<Rational>)> = match found {
        Membership::Clarke { direction } | Membership::Vertex { direction } => whole(direction.clone()),
        Membership::Gradient => whole(clarke_element(model, output_number, 0)?.direction),
        Membership::Hull { weights } => {
            let part = |(i, w): &(usize, Rational)| {
                let n = gradients.get(*i)?;
                Some((w.clone(), n.direction.clone(), n.gradient.clone()))
            };
            weights.iter().filter_map(part).collect()
        }
        _ => return Ok(None),
    };
    let Some(normal) = model.normal_form_within(GRAPH_BUDGET).filter(|_| model.is_exact()) else { return Ok(None) };
    let mut out = String::new();
    let written = head(&mut out, "member", &normal, output_number).and_then(|()| {
        out.push_str("vector ");
        self::vector(&mut out, vector)?;
        out.push('\n');
        sides.iter().try_for_each(|(w, d, g)| side(&mut out, Some(&w.fraction()), d, g))
    });
    out.push_str("end\n");
    Ok(written.is_ok().then_some(out))
}
