//! Positions of numbers, which jump where numbers tie, and what is read or added there.

use super::grow::{Grower, Var};
use crate::precise::Number;
use crease_core::{Atom, Lane, Op, Position};

impl Grower<'_> {
    /// What is read, or added, at the places of the largest, the smallest, or all of some numbers, which may tie.
    pub fn position(&mut self) -> Option<Var> {
        let n = 2 + self.rng.below(3);
        let members = self.members(n)?;
        let args: Vec<&Var> = members.iter().collect();
        let which = *self.rng.pick(&[Position::Largest, Position::Smallest]);
        let read = Op::Gather { lane: Lane::Args, of: n, scatter: false };
        let add = Op::Gather { lane: Lane::Args, of: n, scatter: true };
        match self.rng.below(8) {
            0 => {
                let orders = self.emit_all(Op::Position(Position::Order, Lane::Args), &args)?;
                let place = self.rng.pick(&orders).clone();
                self.emit(read, &[&args[..], &[&place]].concat())
            }
            1 => {
                let place = self.emit(Op::Position(which, Lane::Args), &args)?;
                let (a, b) = (self.any(), self.any_or_constant());
                let mut cells = self.emit_all(add, &[&a, &b, &place, &place])?;
                let i = self.rng.below(n);
                Some(cells.swap_remove(i))
            }
            2 => {
                // the same along the axis of a vector
                let numbers = self.numbers(&args);
                let number = numbers.and_then(|mut x| {
                    x.extend(self.scalars(&Op::Position(which, Lane::Args), &x)?);
                    Some(self.scalars(&read, &x)?.swap_remove(0))
                });
                let vector = self.vector(&args)?;
                let place = self.b.position_axis(which, vector, 0).ok()?;
                self.count(3);
                Some(Var { atom: self.b.take(vector, place, 0).ok()?, number })
            }
            3 => {
                let scatter = self.rng.once_in(2);
                let numbers = self.numbers(&args);
                let results = numbers.and_then(|mut x| {
                    x.extend(self.scalars(&Op::Position(Position::Order, Lane::Args), &x)?);
                    self.scalars(if scatter { &add } else { &read }, &x)
                });
                let vector = self.vector(&args)?;
                let order = self.b.position_axis(Position::Order, vector, 0).ok()?;
                let moved = match scatter {
                    true => self.b.add_along(vector, order, 0, n).ok()?,
                    false => self.b.take_along(vector, order, 0).ok()?,
                };
                self.count(4);
                let i = self.rng.below(n);
                Some(Var { atom: self.b.at(moved, &[i]).ok()?, number: results.map(|mut r| r.swap_remove(i)) })
            }
            _ => {
                let place = self.emit(Op::Position(which, Lane::Args), &args)?;
                self.emit(read, &[&args[..], &[&place]].concat())
            }
        }
    }

    /// The numbers of some values, if all of them have one.
    pub fn numbers(&self, args: &[&Var]) -> Option<Vec<Number>> {
        args.iter().map(|v| v.number.clone()).collect()
    }

    /// What an operation makes of some numbers.
    pub fn scalars(&self, op: &Op, x: &[Number]) -> Option<Vec<Number>> {
        self.arithmetic.scalar(op, x).ok()
    }

    /// Some values as a vector.
    pub fn vector(&mut self, args: &[&Var]) -> Option<Atom> {
        let atoms: Vec<Atom> = args.iter().map(|v| v.atom).collect();
        self.b.concat(&atoms, 0).ok()
    }
}
