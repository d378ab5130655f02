//! Messages with their place in the text. Faults of the text itself and faults of a run look alike.
//!
//! `main` writes `error: ` before every message, so it is taken off here where the renderer has written it already.

use crate::arithmetic::FloatBecause;
use crease_core::{NumberError, Origin, RunError, RunFault, Site, Text};
use crease_formats::TextError;

/// A fault of a text.
pub fn text(e: &TextError, text: &Text) -> anyhow::Error {
    let rendered = e.render(text.as_str(), text.name());
    let message = rendered.strip_prefix("error: ").unwrap_or(&rendered);
    anyhow::Error::msg(message.trim_end().to_string())
}

/// A fault at an equation: shown in the text where its place is known, else in words.
pub fn at_site(message: String, site: &Site, help: Option<&str>) -> anyhow::Error {
    match site.origin.as_ref().and_then(Origin::in_text) {
        Some((text, place)) => {
            let error = TextError { message, place, help: help.map(Into::into) };
            self::text(&error, text)
        }
        None => {
            let help = help.map(|h| format!("\n  = help: {h}")).unwrap_or_default();
            let from = site.origin.as_ref().map(|o| format!(", {o}")).unwrap_or_default();
            anyhow::anyhow!("{message}, in `{}` of program `{}`{from}{help}", site.shown, site.program)
        }
    }
}

/// A fault of a run, in the derivative only or in the program itself, in floats for a reason or exactly.
pub fn run(e: &RunError, of_derivative: bool, float: Option<&FloatBecause>) -> anyhow::Error {
    let help = match (&e.fault, float) {
        (RunFault::Number(NumberError::NotExact { .. }), _) => Some("without --exact it is computed in f64"),
        (RunFault::Overflow(_), Some(FloatBecause::NotExact(_))) => Some("scale the inputs"),
        (RunFault::Overflow(_), _) => Some("scale the inputs, or insist on exact numbers with --exact"),
        _ if of_derivative => Some("the value exists at this point, its derivative does not"),
        _ => None,
    };
    match &e.site {
        Some(site) => at_site(message(&e.fault), site, help),
        None => anyhow::Error::msg(message(&e.fault)),
    }
}

/// What went wrong, without the advice that `help` gives.
fn message(fault: &RunFault) -> String {
    match fault {
        RunFault::Number(NumberError::NotExact { operation }) => {
            format!("{operation} of this number has no exact value")
        }
        RunFault::Overflow(value) => format!("the result overflows to {value}"),
        other => other.to_string(),
    }
}
