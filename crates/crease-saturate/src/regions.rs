//! Large programs, piece by piece.
//!
//! A program of more equations than a region holds is cut into runs of consecutive equations. Each becomes a program of its own, of what
//! it reads and what is read of it later, is saturated, verified, and put back if it is cheaper. A second pass cuts in between, so that what was separated
//! by one cut is seen together in the other. The time is linear in the size.

use crate::emit::{Region, last_uses, region, translated};
use crate::saturate::saturate;
use crate::verify::{Verified, verify};
use crate::{Limit, Options};
use crease_core::cost::cost;
use crease_core::dictionary::outside;
use crease_core::{Atom, BuildError, Builder, Program, Value, simplify};
use std::collections::{BTreeSet, HashMap};

/// A scalar program that was improved.
pub struct Improved {
    pub program: Program,
    pub verified: Verified,
    pub limits: BTreeSet<Limit>,
    pub optimal: bool,
    pub iterations: usize,
    pub nodes: usize,
    pub regions: usize,
}

/// The cheapest form of a scalar program without calls that was found, in one piece or in several.
pub fn improve(p: &Program, o: &Options<'_>) -> Result<Improved, BuildError> {
    let folded = simplify(p)?;
    let mut improved = Improved {
        program: folded,
        verified: Verified::Folded,
        limits: BTreeSet::new(),
        optimal: false,
        iterations: 0,
        nodes: 0,
        regions: 0,
    };
    if improved.program.len() <= o.region {
        // what was found is a better place to start from
        for _ in 0..o.limits.saturation.again {
            let s = saturate(&improved.program, o)?;
            improved.iterations = improved.iterations.max(s.iterations);
            improved.nodes += s.nodes;
            (improved.limits, improved.optimal) = (s.limits, s.optimal);
            match s.program.filter(|q| cheaper(q, &improved.program, o)) {
                Some(q) => improved.program = q,
                None => break,
            }
            if improved.optimal && improved.limits.is_empty() {
                break;
            }
        }
        improved.regions = 1;
        improved.verified = verify(p, &improved.program, o.seed, &o.limits);
        return Ok(improved);
    }
    improved.limits.insert(Limit::Regions);
    for shift in [0, o.region / 2] {
        improved.pass(shift, o)?;
    }
    Ok(improved)
}

fn cheaper(q: &Program, than: &Program, o: &Options<'_>) -> bool {
    cost(q).at(o.prices) < cost(than).at(o.prices) && outside(q, o.dictionary).is_empty()
}

impl Improved {
    /// Improves all regions, the first of which has `shift` equations fewer.
    fn pass(&mut self, shift: usize, o: &Options<'_>) -> Result<(), BuildError> {
        let p = self.program.clone();
        let last = last_uses(&p);
        let mut b = Builder::new(p.name());
        let mut map: HashMap<Value, Atom> = HashMap::new();
        for (v, input) in p.input_values().zip(p.inputs()) {
            map.insert(v, b.input(input.name.clone(), input.shape.clone())?);
        }
        let mut from = 0;
        while from < p.len() {
            let size = if from == 0 { o.region - shift } else { o.region };
            let to = (from + size.max(1)).min(p.len());
            let expired = o.limits.stopped().is_some();
            let piece = if expired { None } else { region(&p, from, to, &last)? };
            match piece {
                Some(Region { program: piece, reads, writes }) => {
                    let better = self.region(&piece, o)?;
                    let args: Vec<Atom> = reads.iter().map(|v| map[v]).collect();
                    let results = b.splice(better.as_ref().unwrap_or(&piece), &args)?;
                    map.extend(writes.into_iter().zip(results));
                }
                None => {
                    if expired && !self.limits.contains(&Limit::Stopped) {
                        self.limits.insert(Limit::Time);
                    }
                    for e in (from..to).map(|i| p.equation(i)) {
                        let args: Vec<Atom> = e.args.iter().map(|&a| translated(&mut b, &p, &map, a)).collect();
                        let results = b.push_from(&p, e.op, &args)?;
                        map.extend(e.results().zip(results));
                    }
                }
            }
            from = to;
        }
        let outputs: Vec<Atom> = p.outputs().iter().map(|&a| translated(&mut b, &p, &map, a)).collect();
        self.program = simplify(&b.finish(&outputs)?)?;
        Ok(())
    }

    /// A cheaper program for a region, if one was found and verified.
    fn region(&mut self, p: &Program, o: &Options<'_>) -> Result<Option<Program>, BuildError> {
        let s = saturate(p, o)?;
        self.regions += 1;
        self.nodes += s.nodes;
        self.iterations = self.iterations.max(s.iterations);
        self.limits.extend(s.limits);
        let Some(q) = s.program.filter(|q| cheaper(q, p, o)) else { return Ok(None) };
        match verify(p, &q, o.seed, &o.limits) {
            Verified::Not(_) => Ok(None),
            verified => {
                let all = std::mem::replace(&mut self.verified, Verified::Unchanged);
                self.verified = all.and(verified);
                Ok(Some(q))
            }
        }
    }
}
