//! Roundings, choices, positions in lanes, and reading and adding at computed positions. A position that is no integer, which ends a run of the program, is cut to one.

use super::apply::{Frame, Held, Results, Writing, one, several};
use super::error::WriteError;
use super::nodes::{INT64, Tensor, With};
use crease_core::{Atom, Equation, Lane, Position, Stair};

impl Writing {
    pub fn stair(&mut self, f: &mut Frame<'_>, e: &Equation<'_>, stair: Stair) -> Results {
        let x = self.numbers(f, e.args[0])?;
        let name = match stair {
            Stair::Sign => "Sign",
            Stair::Floor => "Floor",
            Stair::Ceil => "Ceil",
            Stair::Round => "Round",
        };
        one(self.nodes.unary(name, &x))
    }

    pub fn choice(&mut self, f: &mut Frame<'_>, e: &Equation<'_>) -> Results {
        let dims = f.p.shape(e.first).dims().to_vec();
        let condition = self.truths(f, e.args[0])?;
        let (a, b) = (self.numbers(f, e.args[1])?, self.numbers(f, e.args[2])?);
        one(self.nodes.node("Where", &[&condition, &a, &b], vec![], &dims))
    }

    /// Where the largest, the smallest or all numbers of a lane stand, of equal ones the first.
    pub fn position(
        &mut self,
        f: &mut Frame<'_>,
        e: &Equation<'_>,
        which: Position,
        lane: Lane,
        want: &[bool],
    ) -> Results {
        let x = self.lane(f, e, lane)?;
        let name = match which {
            Position::Largest => "ArgMax",
            Position::Smallest => "ArgMin",
            Position::Order => {
                let (_, places) = self.nodes.sorted(&x, false, true)?;
                let places = self.nodes.unlane(lane, places, want)?;
                return Ok(places.into_iter().map(|t| t.map_or(Held::Nothing, |t| Held::Positions(t, None))).collect());
            }
        };
        let dims = x.dims[..x.rank() - 1].to_vec();
        let with = vec![With::Int("axis", -1), With::Int("keepdims", 0)];
        Ok(vec![Held::Positions(self.nodes.node(name, &[&x], with, &dims), None)])
    }

    /// Reads a lane at positions, or adds into zeros there.
    pub fn gather(
        &mut self,
        f: &mut Frame<'_>,
        e: &Equation<'_>,
        (lane, of, scatter): (Lane, usize, bool),
        want: &[bool],
    ) -> Results {
        let (x, positions) = match lane {
            Lane::Axis => {
                let given = if scatter { f.p.atom_shape(e.args[1]) } else { f.p.shape(e.first).clone() };
                let positions = self.integers(f, e.args[1])?;
                let positions = self.nodes.expand(&positions, given.dims())?;
                let x = self.numbers(f, e.args[0])?;
                let mut dims = given.dims().to_vec();
                if let (Some(last), false) = (dims.last_mut(), scatter) {
                    *last = of;
                }
                (self.nodes.expand(&x, &dims)?, positions)
            }
            Lane::Args => {
                let dims = f.p.shape(e.first).dims().to_vec();
                let members = if scatter { e.args.len() / 2 } else { of };
                let (members, places) = e.args.split_at(members);
                let places = places.iter().map(|&a| self.integers(f, a)).collect::<Result<Vec<_>, _>>()?;
                (self.stack(f, members, &dims)?, self.nodes.stacked(&places, &dims)?)
            }
        };
        let result = match scatter {
            false => {
                let axis = vec![With::Int("axis", -1)];
                self.nodes.node("GatherElements", &[&x, &positions], axis, &positions.dims)
            }
            true => {
                let mut dims = x.dims.clone();
                if let Some(last) = dims.last_mut() {
                    *last = of;
                }
                let zeros = self.nodes.zeros(&dims)?;
                let with = vec![With::Int("axis", -1), With::Word("reduction", "add")];
                self.nodes.node("ScatterElements", &[&zeros, &positions, &x], with, &dims)
            }
        };
        several(self.nodes.unlane(lane, Some(result), want)?)
    }

    /// An atom as integers.
    pub fn integers(&mut self, f: &mut Frame<'_>, a: Atom) -> Result<Tensor, WriteError> {
        if let Some(Held::Positions(t, _)) = a.value().map(|v| &f.held[v.index()]) {
            return Ok(t.clone());
        }
        let given = self.numbers(f, a)?;
        Ok(self.nodes.cast(&given, INT64))
    }
}
