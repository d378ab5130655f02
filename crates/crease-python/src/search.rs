//! Whether a program is differentiable, searched in parts: what one of them found as a text that can be sent, and the answer that such texts make together.

use crate::answer::{Answer, answer};
use crate::answers::{Wish, point};
use crate::error::{CreaseError, raise};
use crate::program::Program;
use crate::waiting::{interruptible, keeping};
use crease::inspect as ask_about;
use crease::oracles::{Limit, PartOutcome, SearchCounts, SearchPart, SignCube};
use crease::{Cancel, Rational};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// Searches a part: how it ended (`found`, `none`, or the limit), and a text for [`differentiable_united`].
#[pyfunction]
#[pyo3(signature = (program, args, cube, how = None))]
pub fn differentiable_in(
    py: Python<'_>,
    program: &Bound<'_, Program>,
    args: &Bound<'_, PyTuple>,
    cube: &str,
    how: Option<&Bound<'_, PyDict>>,
) -> PyResult<(&'static str, String)> {
    let (p, cube) = (program.get(), cube.parse::<SignCube>().map_err(raise)?);
    let at = point(p, &p.leaves(args, None)?)?;
    let cancel = Cancel::new();
    let wish = Wish::new(p, how, &cancel)?;
    let work = || ask_about::differentiable_in(&p.core, &at, &cube, &wish.ask()).map_err(raise);
    sent(&interruptible(py, &cancel, work)??)
}

/// What searches in parts say together. `missing` says why some are not there: `time` or `stopped`.
#[pyfunction]
#[pyo3(signature = (program, args, parts, missing = None, how = None))]
pub fn differentiable_united(
    py: Python<'_>,
    program: &Bound<'_, Program>,
    args: &Bound<'_, PyTuple>,
    parts: Vec<(String, String)>,
    missing: Option<&str>,
    how: Option<&Bound<'_, PyDict>>,
) -> PyResult<Answer> {
    let p = program.get();
    let at = point(p, &p.leaves(args, None)?)?;
    let cancel = Cancel::new();
    let wish = Wish::new(p, how, &cancel)?;
    let missing = match missing {
        None => None,
        Some("time") => Some(Limit::Time),
        Some("stopped") => Some(Limit::Stopped),
        Some(other) => {
            return Err(CreaseError::new_err(format!("parts are missing for time or stopped, not `{other}`")));
        }
    };
    keeping(py, &cancel, || {
        let one = |(cube, text): &(String, String)| Ok((cube.parse().map_err(raise)?, received(text)?));
        let parts = parts.iter().map(one).collect::<PyResult<Vec<_>>>()?;
        let a = ask_about::differentiable_united(&p.core, &at, parts, missing, &wish.ask()).map_err(raise)?;
        answer(&a, a.certificate(), None)
    })
}

/// A part on its way: how it ended, a number or a text that belongs to that, and what it took.
type Sent = (String, u64, String, [u64; 6]);

fn sent(part: &SearchPart) -> PyResult<(&'static str, String)> {
    let c = &part.counts;
    let counts = [c.relus as u64, c.atoms as u64, c.phases as u64, c.conflicts, c.lemmas, c.linear_programs];
    let (word, number, text) = match &part.outcome {
        PartOutcome::Found(d) => ("found", 0, d.iter().map(Rational::fraction).collect::<Vec<_>>().join(" ")),
        PartOutcome::None(lines) => ("none", 0, lines.clone()),
        PartOutcome::Limit(limit) => {
            let (word, number) = match limit {
                Limit::Conflicts(n) => ("conflicts", *n),
                Limit::Time => ("time", 0),
                Limit::Stopped => ("stopped", 0),
                Limit::Work => ("work", 0),
                Limit::Memory => ("memory", 0),
                Limit::TooLarge => ("too large", 0),
                Limit::Bits(n) => ("bits", u64::from(*n)),
            };
            (word, number, String::new())
        }
    };
    let all: Sent = (word.into(), number, text, counts);
    Ok((word, serde_json::to_string(&all).map_err(raise)?))
}

fn received(text: &str) -> PyResult<SearchPart> {
    let wrong = || CreaseError::new_err("this is no part of a search");
    let (word, number, text, counts): Sent = serde_json::from_str(text).map_err(|_| wrong())?;
    let [relus, atoms, phases] = [counts[0], counts[1], counts[2]].map(|n| n as usize);
    let counts =
        SearchCounts { relus, atoms, phases, conflicts: counts[3], lemmas: counts[4], linear_programs: counts[5] };
    let outcome = match &*word {
        "found" => {
            let numbers = text.split_whitespace().map(|x| x.parse().map_err(|_| wrong()));
            PartOutcome::Found(numbers.collect::<PyResult<Vec<Rational>>>()?)
        }
        "none" => PartOutcome::None(text),
        "conflicts" => PartOutcome::Limit(Limit::Conflicts(number)),
        "time" => PartOutcome::Limit(Limit::Time),
        "stopped" => PartOutcome::Limit(Limit::Stopped),
        "work" => PartOutcome::Limit(Limit::Work),
        "memory" => PartOutcome::Limit(Limit::Memory),
        "too large" => PartOutcome::Limit(Limit::TooLarge),
        "bits" => PartOutcome::Limit(Limit::Bits(u32::try_from(number).map_err(|_| wrong())?)),
        _ => return Err(wrong()),
    };
    Ok(SearchPart { outcome, counts })
}
