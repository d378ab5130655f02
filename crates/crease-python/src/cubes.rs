//! All gradients in parts: a list of cubes, what was found in one as a text that can be sent, and the answer that such texts make together.

use crate::answer::Answer;
use crate::answers::{Wish, point, vector};
use crate::error::{CreaseError, raise};
use crate::program::Program;
use crate::waiting::{interruptible, keeping};
use crease::inspect::{self as ask_about, Neighbourhood, Wanted};
use crease::oracles::{Cube, EnumerateLimit, EnumerateWork, Membership, Neighbour, Neighbours, Stationarity};
use crease::{Cancel, Rational};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::collections::HashMap;

/// Takes a cube apart, the whole if it is an empty text: its parts.
#[pyfunction]
#[pyo3(signature = (program, args, cube, wanted, how = None))]
pub fn clarke_cubes(
    py: Python<'_>,
    program: &Bound<'_, Program>,
    args: &Bound<'_, PyTuple>,
    cube: &str,
    wanted: usize,
    how: Option<&Bound<'_, PyDict>>,
) -> PyResult<Vec<String>> {
    let (p, cube) = (program.get(), cube.parse::<Cube>().map_err(raise)?);
    let at = point(p, &p.leaves(args, None)?)?;
    let cancel = Cancel::new();
    let wish = Wish::new(p, how, &cancel)?;
    let work = || ask_about::cubes(&p.core, &at, &cube, wanted, &wish.ask()).map_err(raise);
    let cubes = interruptible(py, &cancel, work)??;
    Ok(cubes.iter().map(Cube::to_string).collect())
}

/// All gradients of a cube: a text for [`clarke_united`], and whether the time was up before all were found.
#[pyfunction]
#[pyo3(signature = (program, args, cube, how = None))]
pub fn clarke_in(
    py: Python<'_>,
    program: &Bound<'_, Program>,
    args: &Bound<'_, PyTuple>,
    cube: &str,
    how: Option<&Bound<'_, PyDict>>,
) -> PyResult<(String, bool)> {
    let (p, cube) = (program.get(), cube.parse::<Cube>().map_err(raise)?);
    let at = point(p, &p.leaves(args, None)?)?;
    let cancel = Cancel::new();
    let wish = Wish::new(p, how, &cancel)?;
    interruptible(py, &cancel, || {
        let found = ask_about::gradients_in(&p.core, &at, &cube, &wish.ask()).map_err(raise)?;
        Ok((sent(&found)?, found.limit == Some(EnumerateLimit::Time)))
    })?
}

/// What was found in cubes as one answer. Those that were done again in smaller cubes are in `again`: what they found counts, their cells do not. `missing` says why some are not
/// there: `time` or `stopped`.
#[pyfunction]
#[pyo3(signature = (program, args, parts, again, missing = None, along = None, how = None, stationary = false))]
#[allow(clippy::too_many_arguments)]
pub fn clarke_united(
    py: Python<'_>,
    program: &Bound<'_, Program>,
    args: &Bound<'_, PyTuple>,
    parts: Vec<String>,
    again: Vec<String>,
    missing: Option<&str>,
    along: Option<&Bound<'_, PyAny>>,
    how: Option<&Bound<'_, PyDict>>,
    stationary: bool,
) -> PyResult<Answer> {
    let p = program.get();
    let at = point(p, &p.leaves(args, None)?)?;
    let contains = along.map(|v| vector(p, v)).transpose()?;
    let cancel = Cancel::new();
    let wish = Wish::new(p, how, &cancel)?;
    let missing = match missing {
        None => None,
        Some("time") => Some(EnumerateLimit::Time),
        Some("stopped") => Some(EnumerateLimit::Stopped),
        Some(other) => {
            return Err(CreaseError::new_err(format!("parts are missing for time or stopped, not `{other}`")));
        }
    };
    keeping(py, &cancel, || {
        let mut found = parts.iter().map(|text| received(text)).collect::<PyResult<Vec<_>>>()?;
        for text in &again {
            let mut part = received(text)?;
            (part.cells, part.limit, part.work) = (0, None, EnumerateWork::default());
            part.gradients.iter_mut().for_each(|n| n.cells = 0);
            found.push(part);
        }
        let wanted = Wanted { contains, stationary };
        listed(ask_about::united_gradients(&p.core, &at, found, missing, &wanted, &wish.ask()).map_err(raise)?)
    })
}

/// The answer that is a list of all gradients, with its certificate.
pub fn listed(a: Neighbourhood<'_>) -> PyResult<Answer> {
    let certificate = match &a.stationary {
        // that 0 is a combination of limits of gradients
        Some(Stationarity::Stationary { weights }) => {
            let zero = vec![Rational::ZERO; a.found.gradients.first().map_or(0, |n| n.gradient.len())];
            let found = Membership::Hull { weights: weights.clone() };
            a.at.session().membership_certificate(&zero, &found, &a.found.gradients).map_err(raise)?
        }
        _ => a.certificate().map_err(raise)?,
    };
    Ok(Answer::all(a, certificate))
}

/// A list on its way: cells, the limit and its number, whether all are vertices, what it took; the numbers that occur, since there are few of them, and for each gradient its coordinates and those of its
/// direction as places among them, and its cells.
type Sent = (u64, Option<(String, u64)>, bool, [u64; 6], Vec<String>, Vec<(Vec<usize>, Vec<usize>, u64)>);

fn sent(found: &Neighbours) -> PyResult<String> {
    let mut known: HashMap<&Rational, usize> = HashMap::new();
    let mut numbers: Vec<String> = Vec::new();
    let mut gradients = Vec::with_capacity(found.gradients.len());
    for n in &found.gradients {
        let [gradient, direction] = [&n.gradient, &n.direction].map(|v| {
            let place = |x| {
                *known.entry(x).or_insert_with(|| {
                    numbers.push(x.fraction());
                    numbers.len() - 1
                })
            };
            v.iter().map(place).collect::<Vec<usize>>()
        });
        gradients.push((gradient, direction, n.cells));
    }
    let w = &found.work;
    let work = [w.questions, w.walks, w.refuted, w.programs, w.exact, w.circuits];
    let limit = found.limit.map(|limit| {
        let (word, n) = match limit {
            EnumerateLimit::Cells(n) => ("cells", n),
            EnumerateLimit::Gradients(n) => ("gradients", n as u64),
            EnumerateLimit::Time => ("time", 0),
            EnumerateLimit::Stopped => ("stopped", 0),
            EnumerateLimit::Work => ("work", 0),
            EnumerateLimit::Memory => ("memory", 0),
            EnumerateLimit::TooLarge => ("too large", 0),
            EnumerateLimit::FirstOrder => ("first order", 0),
            EnumerateLimit::Enclosed(bits) => ("enclosed", bits.into()),
            EnumerateLimit::Infinite => ("infinite", 0),
            EnumerateLimit::Round => ("round", 0),
        };
        (word.to_string(), n)
    });
    let all: Sent = (found.cells, limit, found.all_vertices, work, numbers, gradients);
    serde_json::to_string(&all).map_err(raise)
}

fn received(text: &str) -> PyResult<Neighbours> {
    let wrong = || CreaseError::new_err("this is no list of gradients of a cube");
    let (cells, limit, all_vertices, work, numbers, gradients): Sent =
        serde_json::from_str(text).map_err(|_| wrong())?;
    let numbers = numbers.iter().map(|x| x.parse().map_err(|_| wrong())).collect::<PyResult<Vec<Rational>>>()?;
    let vector = |places: &[usize]| {
        places.iter().map(|&k| numbers.get(k).cloned().ok_or_else(wrong)).collect::<PyResult<Vec<Rational>>>()
    };
    let one = |(gradient, direction, cells): &(Vec<usize>, Vec<usize>, u64)| {
        Ok(Neighbour { gradient: vector(gradient)?, radius: None, direction: vector(direction)?, cells: *cells })
    };
    let limit = match limit {
        None => None,
        Some((word, n)) => Some(match &*word {
            "cells" => EnumerateLimit::Cells(n),
            "gradients" => EnumerateLimit::Gradients(usize::try_from(n).map_err(|_| wrong())?),
            "time" => EnumerateLimit::Time,
            "stopped" => EnumerateLimit::Stopped,
            "work" => EnumerateLimit::Work,
            "memory" => EnumerateLimit::Memory,
            "too large" => EnumerateLimit::TooLarge,
            "first order" => EnumerateLimit::FirstOrder,
            "enclosed" => EnumerateLimit::Enclosed(u32::try_from(n).map_err(|_| wrong())?),
            "infinite" => EnumerateLimit::Infinite,
            "round" => EnumerateLimit::Round,
            _ => return Err(wrong()),
        }),
    };
    let [questions, walks, refuted, programs, exact, circuits] = work;
    Ok(Neighbours {
        gradients: gradients.iter().map(one).collect::<PyResult<_>>()?,
        cells,
        limit,
        // a cube that is taken apart is one of an exact model
        exact: true,
        work: EnumerateWork { questions, walks, refuted, programs, exact, circuits },
        all_vertices,
    })
}
