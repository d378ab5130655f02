//! Numbers that are missing, and do no harm where nobody needs them.
//!
//! `where(x > 0, log(x), 0)` computes both of its branches, and takes one: at -1 the logarithm has no value, and none is needed. So in a program that has a
//! `where` a number without a value does not end the run. It is missing, whatever is computed from it is missing too, the results of a selection by a missing
//! condition among it, and why is kept. What ends the run is that an output is missing; the error is that of the equation where it began. Whatever is present was
//! computed as in any other run.
//!
//! Whether something is missing is known element by element and lane by lane: an equation is carried out part by part where one of its
//! parts has no result. Programs without `where` never come here.

use super::apply::{apply, apply_parts, parts, taken};
use super::{Arg, Arithmetic, RunError, RunFault, diagnose};
use crate::number::{Number, NumberError};
use crate::op::{Kink, Lane, Op};
use crate::program::{Equation, Program, Site};
use std::sync::Arc;

/// Which elements of a value are missing: 0 for those that are there, else the number of a reason, counted from 1. Nothing if all are there.
pub(super) type Missing = Option<Arc<[u32]>>;

/// Why numbers are missing, by their numbers.
#[derive(Default)]
pub(super) struct Reasons<'p>(Vec<(&'p Program, usize, RunFault)>);

/// The results of an equation, and which of them are missing.
pub(super) type Parts<N> = (Vec<Vec<N>>, Vec<Missing>);

impl<'p> Reasons<'p> {
    /// The error of a missing number.
    pub fn error(&self, reason: u32) -> RunError {
        match self.0.get(reason as usize - 1) {
            Some((p, i, fault)) => RunError { fault: fault.clone(), site: Some(Box::new(Site::new(p, *i))) },
            None => unreachable!("every missing number has its reason"),
        }
    }

    fn note(&mut self, p: &'p Program, i: usize, fault: RunFault) -> u32 {
        // a tensor of numbers without a value has one reason
        let same = self.0.last().is_some_and(|(q, k, f)| q.id() == p.id() && *k == i && *f == fault);
        if !same {
            self.0.push((p, i, fault));
        }
        self.0.len() as u32
    }

    /// Carries out equation number `i`, which runs no sub-program.
    pub fn apply<N: Number>(
        &mut self,
        p: &'p Program,
        i: usize,
        args: &[Arg<'_, N>],
        arithmetic: Arithmetic,
    ) -> Parts<N> {
        let e = p.equation(i);
        let fine = |x: &N| arithmetic == Arithmetic::Ieee || x.is_finite();
        if args.iter().all(|a| a.missing.is_none())
            && let Ok(results) = apply(p, &e, args)
            && results.iter().flatten().all(fine)
        {
            return (results, vec![None; e.results]);
        }
        let len = p.shape(e.first).len();
        let reasons = match e.op {
            Op::Constant(_) => vec![0; len],
            Op::View { layout, .. } => layout.iter().map(|k| args[0].reason(k)).collect(),
            Op::Assemble { pieces, .. } => {
                let mut cells = vec![0; len];
                for (arg, piece) in args.iter().zip(pieces).filter(|(arg, _)| arg.missing.is_some()) {
                    piece.iter().enumerate().for_each(|(k, to)| first(&mut cells[to], arg.reason(k)));
                }
                cells
            }
            Op::MatMul { transpose_a, transpose_b } => product(p, &e, *transpose_a, *transpose_b, args),
            _ => return self.by_parts(p, i, &e, args, &fine),
        };
        // these have a result whatever is in the place of what is missing
        match apply(p, &e, args) {
            Ok(results) => {
                let mut reasons: Vec<u32> = reasons;
                for (reason, x) in reasons.iter_mut().zip(&results[0]).filter(|(_, x)| !fine(x)) {
                    if *reason == 0 {
                        *reason = self.note(p, i, diagnose(&e, args, x));
                    }
                }
                (results, vec![shared(reasons)])
            }
            Err(fault) => self.none(p, i, &e, fault),
        }
    }

    /// No result at all.
    fn none<N: Number>(&mut self, p: &'p Program, i: usize, e: &Equation<'_>, fault: NumberError) -> Parts<N> {
        let reason = self.note(p, i, fault.into());
        let lens = e.results().map(|v| p.shape(v).len());
        lens.map(|n| (vec![N::zero(); n], Some(vec![reason; n].into()))).unzip()
    }

    fn by_parts<N: Number>(
        &mut self,
        p: &'p Program,
        i: usize,
        e: &Equation<'_>,
        args: &[Arg<'_, N>],
        fine: &dyn Fn(&N) -> bool,
    ) -> Parts<N> {
        let count = parts(p, e);
        let along_axis = e.op.lane() == Some(Lane::Axis);
        let whole = matches!(e.op, Op::Kink(Kink::MaxLinear { .. }) | Op::Joint(Kink::MaxLinear { .. }, _));
        let width = |k: usize| match e.args[k].value() {
            Some(v) if whole => p.shape(v).len(),
            Some(v) if along_axis => p.shape(v).split_last().map_or(1, |(_, n)| n),
            _ => 1,
        };
        let widths: Vec<usize> = (0..args.len()).map(width).collect();
        let mut results: Vec<Vec<N>> = vec![Vec::new(); e.results];
        let mut missing: Vec<Vec<u32>> = vec![Vec::new(); e.results];
        for part in 0..count {
            let slices: Vec<Arg<'_, N>> = args.iter().zip(&widths).map(|(a, &n)| a.part(part, n)).collect();
            let needed = match e.op {
                // the condition, and what it takes
                Op::Where => match slices[0].reason(0) {
                    0 => match taken(slices[0].get(0)) {
                        Ok(Some(k)) => slices[k].reason(0),
                        Ok(None) => match (slices[1].reason(0), slices[2].reason(0)) {
                            // whether what has no value is taken at all is open
                            (0, 1..) | (1.., 0) => self.note(p, i, NumberError::Undecided.into()),
                            (reason, _) => reason,
                        },
                        Err(_) => 0,
                    },
                    reason => reason,
                },
                _ => slices
                    .iter()
                    .zip(&widths)
                    .flat_map(|(a, &n)| (0..n).map(|k| a.reason(k)))
                    .find(|r| *r > 0)
                    .unwrap_or(0),
            };
            let mut reason = needed;
            let mut numbers: Vec<Vec<N>> = Vec::new();
            if reason == 0 {
                match apply_parts(p, e, &slices, 1) {
                    Ok(found) => match found.iter().flatten().find(|x| !fine(x)) {
                        Some(bad) => reason = self.note(p, i, diagnose(e, &slices, bad)),
                        None => numbers = found,
                    },
                    Err(fault) => reason = self.note(p, i, fault.into()),
                }
            }
            for (r, v) in e.results().enumerate() {
                let n = p.shape(v).len() / count;
                match reason {
                    0 => results[r].append(&mut numbers[r]),
                    _ => results[r].extend(std::iter::repeat_n(N::zero(), n)),
                }
                missing[r].extend(std::iter::repeat_n(reason, n));
            }
        }
        (results, missing.into_iter().map(shared).collect())
    }
}

/// The first of several reasons is told.
fn first(there: &mut u32, other: u32) {
    if *there == 0 {
        *there = other;
    }
}

fn shared(reasons: Vec<u32>) -> Missing {
    reasons.iter().any(|r| *r > 0).then(|| reasons.into())
}

/// An entry of a product is missing if its row or its column holds something that is.
fn product<N>(p: &Program, e: &Equation<'_>, ta: bool, tb: bool, args: &[Arg<'_, N>]) -> Vec<u32> {
    let shape = p.shape(e.first);
    let (m, n) = (shape.dims()[shape.rank() - 2], shape.dims()[shape.rank() - 1]);
    let batch = shape.len() / (m * n);
    let k = args[0].data().len() / (batch * m);
    let (mut rows, mut columns) = (vec![0; batch * m], vec![0; batch * n]);
    for s in 0..batch {
        for l in 0..k {
            (0..m).for_each(|i| {
                first(&mut rows[s * m + i], args[0].reason(s * m * k + if ta { l * m + i } else { i * k + l }));
            });
            (0..n).for_each(|j| {
                first(&mut columns[s * n + j], args[1].reason(s * k * n + if tb { j * k + l } else { l * n + j }));
            });
        }
    }
    let entry = |s: usize, i: usize, j: usize| match rows[s * m + i] {
        0 => columns[s * n + j],
        reason => reason,
    };
    (0..shape.len()).map(|at| entry(at / (m * n), at / n % m, at % n)).collect()
}
