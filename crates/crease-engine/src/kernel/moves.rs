//! Lanes that are reordered, read at positions, added into, or searched: no arithmetic but sums.
//!
//! A lane and positions enter, a lane leaves, and whether all positions were some: those that are not are for the interpreter, whose error counts.

use super::lane;
use crate::float::Float;
use crate::unit::Move;
use crease_core::Position;

/// Carries out one of them. False if a number is no position, or a position no number.
#[must_use]
pub(crate) fn carry_out<T: Float>(what: Move, lane: &[T], positions: &[T], out: &mut [T]) -> bool {
    match what {
        Move::Permute { inverse } => super::lanes::reorder(lane, positions, inverse, out),
        Move::Take => {
            let mut fine = true;
            for (o, x) in out.iter_mut().zip(positions) {
                let at = place(*x, lane.len());
                fine &= at.is_some() || x.is_nan();
                *o = at.map_or(*x, |at| lane[at]);
            }
            fine
        }
        Move::Add => {
            out.fill(T::ZERO);
            let mut fine = true;
            for (x, p) in lane.iter().zip(positions) {
                match place(*p, out.len()) {
                    Some(at) => out[at] += *x,
                    // it may be anywhere
                    None if p.is_nan() => out.iter_mut().for_each(|o| *o += *p),
                    None => fine = false,
                }
            }
            fine
        }
        Move::Find(which) => {
            let extreme = if which == Position::Smallest { lane::Extreme::Min } else { lane::Extreme::Max };
            let (value, from) = lane::located(lane, extreme);
            // zeros are equal, whatever their signs
            let found = lane[from..].iter().position(|x| *x == value);
            let at = found.map(|k| from + k);
            out[0] = at.map_or(T::NAN, T::from_usize);
            at.is_none_or(|at| out[0].to_f64() == at as f64)
        }
    }
}

/// The position that a number is.
#[inline(always)]
fn place<T: Float>(x: T, of: usize) -> Option<usize> {
    let x = x.to_f64();
    (x >= 0.0 && x < of as f64 && x.fract() == 0.0).then_some(x as usize)
}
