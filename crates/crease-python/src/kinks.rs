//! Which kinks lie between two points: the places that decide otherwise at one of them than at the other.
//!
//! A finite difference that steps over a kink is none. Two runs are compared, decision by decision: on which side of 0 an argument is, which member of a group is the largest, in which order it is, what a
//! comparison says. A kink that is met at one of the points counts as well. Nothing is said about kinks that are crossed twice.

use crate::answers::floats;
use crate::error::{CreaseError, raise};
use crate::program::Program;
use crate::waiting::interruptible;
use crease::op::{Kink, Lane, Op, Takes};
use crease::{Arg, Arithmetic, Cancel, Limits, Observer, Site, Tensor, run_with};
use crease_core::RunOptions;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// The decisions of a run, in its order.
#[derive(Default)]
struct Decisions(Vec<Decided>);

/// One step: operation, decisions, site.
type Decided = (&'static str, Vec<i64>, Site);

/// -1, 0 or 1.
fn side(x: f64) -> i64 {
    i64::from(x > 0.0) - i64::from(x < 0.0)
}

/// The places of numbers in ascending order.
fn order(x: &[f64]) -> Vec<i64> {
    let mut places: Vec<usize> = (0..x.len()).collect();
    places.sort_by(|&a, &b| x[a].total_cmp(&x[b]));
    places.into_iter().map(|k| k as i64).collect()
}

/// Which is the largest, the first of equals.
fn largest(x: &[f64]) -> i64 {
    (1..x.len()).fold(0, |best, k| if x[k] > x[best] { k } else { best }) as i64
}

/// What a group of numbers decides.
fn of_group(kink: &Kink, x: &[f64]) -> Vec<i64> {
    match kink {
        Kink::Max(_) => vec![largest(x)],
        Kink::Min(_) => vec![largest(&x.iter().map(|v| -v).collect::<Vec<_>>())],
        Kink::Sort(_) | Kink::OrderStatistic(..) => order(x),
        Kink::Norm1(_) => x.iter().map(|&v| side(v)).collect(),
        Kink::NormInf(_) => {
            let k = largest(&x.iter().map(|v| v.abs()).collect::<Vec<_>>());
            vec![k, side(x[k as usize])]
        }
        Kink::Norm2(_) => vec![i64::from(x.iter().all(|&v| v == 0.0))],
        Kink::Relu | Kink::TimesRelu | Kink::Abs | Kink::LeakyRelu(_) | Kink::Elu(_) | Kink::MaxLinear { .. } => {
            Vec::new()
        }
    }
}

impl Observer<f64> for Decisions {
    fn step(&mut self, p: &crease::Program, equation: usize, args: &[Arg<'_, f64>], results: &[Vec<f64>]) {
        let e = p.equation(equation);
        let n = results.first().map_or(0, Vec::len);
        let decided: Vec<i64> = match e.op {
            Op::Kink(kink) => match kink.takes() {
                // of a product, the last factor has the kink
                Takes::Numbers => (0..n).map(|k| side(*args[args.len() - 1].get(k))).collect(),
                Takes::Linear { .. } => return,
                Takes::Lane(Lane::Args) | Takes::Order(Lane::Args) => {
                    let group = |k: usize| args.iter().map(|a| *a.get(k)).collect::<Vec<f64>>();
                    (0..n).flat_map(|k| of_group(kink, &group(k))).collect()
                }
                Takes::Lane(Lane::Axis) | Takes::Order(Lane::Axis) => {
                    let of = p.atom_shape(e.args[0]).dims().last().copied().unwrap_or(1).max(1);
                    args[0].data().chunks(of).flat_map(|x| of_group(kink, x)).collect()
                }
            },
            Op::Compare(_) | Op::Position(..) | Op::Stair(_) => {
                results.iter().flatten().map(|&x| x.to_bits() as i64).collect()
            }
            _ => return,
        };
        self.0.push((e.op.name(), decided, Site::new(p, equation)));
    }
}

/// An operation, its place, its text.
type Place = (String, String, String);

/// The kinks that two points lie on different sides of, or on.
#[pyfunction]
pub fn kinks_between(
    py: Python<'_>,
    program: &Bound<'_, Program>,
    one: &Bound<'_, PyTuple>,
    other: &Bound<'_, PyTuple>,
) -> PyResult<Vec<Place>> {
    let p = program.get();
    let ends = [floats(p, one)?, floats(p, other)?];
    let cancel = Cancel::new();
    let limits = Limits::default().cancelled_by(&cancel);
    let runs = interruptible(py, &cancel, || {
        let decide = |at: &Vec<Tensor<f64>>| {
            let mut seen = Decisions::default();
            let options = RunOptions { arithmetic: Arithmetic::Ieee, limits: limits.clone() };
            run_with(&p.core, at, options, &mut seen).map_err(raise).map(|_| seen.0)
        };
        ends.iter().map(decide).collect::<PyResult<Vec<_>>>()
    })??;
    let [a, b] = &runs[..] else { return Err(CreaseError::new_err("two points are compared")) };
    let mut found: Vec<Place> = Vec::new();
    for (x, y) in a.iter().zip(b) {
        let (operation, decided, site) = x;
        let same_place = site.program == y.2.program && site.equation == y.2.equation;
        if same_place && *decided == y.1 {
            continue;
        }
        let place = site.origin.as_ref().map(|o| o.to_string()).unwrap_or_default();
        let told = (operation.to_string(), place, site.text());
        if !found.contains(&told) {
            found.push(told);
        }
        // another branch was taken: what follows cannot be compared
        if !same_place {
            break;
        }
    }
    Ok(found)
}
