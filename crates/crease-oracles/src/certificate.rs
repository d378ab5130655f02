//! The parts of certificates that all claims share: the model, and limits of gradients. The format is that of the crate `crease-check`.

use crease_core::local::{Form, NormalForm};
use crease_core::number::Rational;
use std::fmt::{self, Display, Write};

/// The head of a certificate: what is claimed, and of which model.
pub(crate) fn model(out: &mut String, claim: &str, normal: &NormalForm, output: usize) -> fmt::Result {
    writeln!(out, "crease-certificate 1\nclaim {claim}\ndimension {}\nkinks {}", normal.dimension, normal.kinks.len())?;
    for kink in &normal.kinks {
        out.push_str("max");
        for (i, f) in kink.forms.iter().enumerate() {
            out.push_str(if i == 0 { " " } else { " ; " });
            form(out, f)?;
        }
        out.push('\n');
    }
    out.push_str("output ");
    form(out, &normal.outputs[output])?;
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
