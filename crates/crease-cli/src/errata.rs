//! Errata of the paper, as text and as JSON: below tables, and at the end of the report.

use crease::show::{self, object};
use crease_paper::errata::Erratum;
use serde_json::Value;

/// Errata as paragraphs.
pub fn notes(errata: &[Erratum]) -> String {
    let mut out = String::new();
    for e in errata {
        out.push_str(&format!("{}\n", e.id));
        for (label, body) in [("where", e.place), ("the paper", e.says), ("computed", &e.computed), ("holds", e.holds)]
        {
            out.push_str(&show::wrapped(label, body));
        }
        out.push('\n');
    }
    out
}

pub fn json(errata: &[Erratum]) -> Value {
    let all = errata.iter().map(|e| {
        object([
            ("id", Value::from(e.id)),
            ("place", e.place.into()),
            ("says", e.says.into()),
            ("computed", e.computed.as_str().into()),
            ("holds", e.holds.into()),
        ])
    });
    all.collect()
}
