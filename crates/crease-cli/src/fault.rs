//! Messages with their place in the text. Faults of the text itself and faults of a run look alike.
//!
//! `main` writes `error: ` before every message, so it is taken off here where the renderer has written it already.

use crease::formats::TextError;
use crease::inspect::InspectError;
use crease::{Origin, Site, Text};
use crease_core::printable;

/// A message as it is printed. Names in it are printable already, but for those that only the command line or the system has.
pub fn shown(message: &str) -> String {
    message.split('\n').map(printable).collect::<Vec<_>>().join("\n")
}

/// A fault of a text.
pub fn text(e: &TextError, text: &Text) -> anyhow::Error {
    let rendered = e.render(text.as_str(), text.name());
    let message = rendered.strip_prefix("error: ").unwrap_or(&rendered);
    anyhow::Error::msg(message.trim_end().to_string())
}

/// A fault at an equation: shown in the text where its place is known, else in words.
pub fn at_site(message: String, site: &Site, help: Option<&str>) -> anyhow::Error {
    match site.origin.as_deref().and_then(Origin::in_text) {
        Some((text, place)) => {
            let error = TextError { message, place, help: help.map(Into::into) };
            self::text(&error, text)
        }
        None => {
            let help = help.map(|h| format!("\n  = help: {h}")).unwrap_or_default();
            let from = site.origin.as_deref().map(|o| format!(", {o}")).unwrap_or_default();
            anyhow::anyhow!("{message}, in `{}` of program `{}`{from}{help}", site.shown, site.program)
        }
    }
}

/// Why there is no answer at a point.
pub fn inspect(e: InspectError) -> anyhow::Error {
    let help = e.help();
    match e.site() {
        Some(site) => at_site(e.message(), site, help),
        None => anyhow::Error::msg(e.message()),
    }
}
