//! The commands, one file each. A command is a struct of flags with `run`, which returns what is to be printed.

pub mod audit;
pub mod bench;
pub mod check;
pub mod clarke;
pub mod conservative;
pub mod cost;
pub mod differentiable;
pub mod directional;
pub mod draw;
pub mod eval;
pub mod export;
pub mod grad;
pub mod lexicographic;
pub mod paper;
pub mod reduce;
pub mod sat;
pub mod show;
pub mod simplify;
pub mod table;

use serde::Serialize;
use std::fmt::Display;

/// An answer as it is printed: its text, or one line of JSON.
pub fn printed(answer: &(impl Display + Serialize), json: bool) -> String {
    if !json {
        return answer.to_string();
    }
    // answers serialize as values do, which cannot fail
    let value = serde_json::to_value(answer).unwrap_or_default();
    crease::show::json(&value)
}
