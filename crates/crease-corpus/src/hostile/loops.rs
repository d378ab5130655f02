//! Loops: one body and a few turns, over numbers that tie, so that kinks are met in some turns and not in others.

use super::grow::{Grower, Var, grown};
use crate::precise::Number;
use crease_core::op::Comparison;
use crease_core::{Atom, BuildError, Builder, Kink, Lane, Op, Program, Scan, Shape};
use std::sync::Arc;

impl Grower<'_> {
    /// A loop of two or three turns, over a sequence or by number, onward or back: what it carries at the end, or something made of all that it
    /// carried.
    pub fn turns(&mut self) -> Option<Var> {
        let turns = 2 + self.rng.below(2);
        let start = if self.rng.once_in(2) { self.any() } else { self.zero()? };
        let mut parts = if self.rng.once_in(3) { Vec::new() } else { self.members(turns)? };
        let still = self.any();
        let firsts: Vec<&Var> = [&start].into_iter().chain(parts.first()).chain([&still]).collect();
        let body = match self.rng.below(2) {
            0 => {
                let numbers = firsts.iter().map(|v| v.number.clone()).collect();
                let steps = 1 + self.rng.below(2);
                Arc::new(grown(self.rng, self.arithmetic.clone(), "body", numbers, steps, self.depth + 1).0)
            }
            _ => Arc::new(self.step_of(firsts.len()).ok()?),
        };
        let atoms: Vec<Atom> = parts.iter().map(|v| v.atom).collect();
        let back = self.rng.once_in(3);
        if back {
            parts.reverse();
        }
        let mut carried: Vec<Option<Number>> = vec![start.number.clone()];
        for turn in 0..turns {
            let part = parts.get(turn).map(|v| v.number.clone());
            let inputs: Vec<Option<Number>> =
                [carried[turn].clone()].into_iter().chain(part).chain([still.number.clone()]).collect();
            carried.push(self.output(&body, &inputs));
        }
        let twice = self.b.callee(Arc::new(both(&body).ok()?), None).ok()?;
        let mut args = vec![start.atom];
        if !atoms.is_empty() {
            args.push(self.b.concat(&atoms, 0).ok()?);
        }
        args.push(still.atom);
        let scan = Scan { body: twice, turns, carried: 1, each: usize::from(!atoms.is_empty()), back };
        let results = self.b.push(scan, &args).ok()?;
        self.count(3 + turns);
        if self.rng.once_in(2) {
            return Some(Var { atom: results[0], number: carried.pop().flatten() });
        }
        // all that was carried, in the order of the sequence, which ties do not depend on
        let numbers: Option<Vec<Number>> = carried.into_iter().skip(1).collect();
        let kinks = [Kink::Max(Lane::Axis), Kink::Min(Lane::Axis), Kink::Norm1(Lane::Axis), Kink::Norm2(Lane::Axis)];
        let kink = self.rng.pick(&kinks).clone();
        let number = numbers.and_then(|x| self.arithmetic.scalar(&Op::Kink(kink.clone()), &x).ok());
        Some(Var { atom: self.b.lane_all(&kink, results[1]).ok()?, number: number.map(|mut n| n.swap_remove(0)) })
    }

    /// One step of a loop that people write: of what is carried and what comes next.
    fn step_of(&mut self, inputs: usize) -> Result<Program, BuildError> {
        let mut b = Builder::new("body");
        let atoms = (0..inputs).map(|i| b.input(format!("a{i}"), Shape::scalar())).collect::<Result<Vec<_>, _>>()?;
        let (s, x) = (atoms[0], atoms[1]);
        let y = match self.rng.below(9) {
            0 => b.max(&[s, x])?,
            1 => b.min(&[x, s])?,
            2 => {
                let apart = b.sub(s, x)?;
                b.abs(apart)?
            }
            3 => {
                let sum = b.add(s, x)?;
                b.relu(sum)?
            }
            4 => b.mul(s, x)?,
            5 => b.lane(&Kink::Norm2(Lane::Args), &[s, x])?[0],
            6 => {
                // soft thresholding
                let (up, down) = (b.sub(s, x)?, b.add(s, x)?);
                let minus = b.neg(down)?;
                let (up, down) = (b.relu(up)?, b.relu(minus)?);
                b.sub(up, down)?
            }
            7 => {
                let larger = b.compare(Comparison::Greater, s, x)?;
                b.choose(larger, s, x)?
            }
            _ => {
                let bent = b.abs(x)?;
                b.add(s, bent)?
            }
        };
        b.finish(&[y])
    }
}

/// A program that returns what another one does, twice: once to carry on, once to keep.
fn both(body: &Arc<Program>) -> Result<Program, BuildError> {
    let mut b = Builder::new("turn");
    let names = body.inputs().iter().enumerate();
    let inputs =
        names.map(|(i, input)| b.input(format!("t{i}"), input.shape.clone())).collect::<Result<Vec<_>, _>>()?;
    let id = b.callee(body.clone(), None)?;
    let y = b.push1(Op::Call(id), &inputs)?;
    b.finish(&[y, y])
}
