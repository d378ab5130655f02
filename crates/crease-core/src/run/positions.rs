//! Positions in lanes: where numbers stand, and numbers where positions say.

use super::Arg;
use super::lanes::{Group, beside, group, order, spread};
use crate::number::{Number, NumberError};
use crate::op::{Lane, Position};
use crate::program::{Equation, Program};
use std::cmp::Ordering;

type Results<N> = Result<Vec<Vec<N>>, NumberError>;

/// A number that is an exact position in a lane of so many numbers.
pub(crate) fn index<N: Number>(x: &N, of: usize) -> Result<usize, NumberError> {
    let near = x.to_f64();
    let at = if near >= 0.0 && near < of as f64 { near.round_ties_even() as usize } else { of };
    if at < of && *x == N::from_usize(at) {
        return Ok(at);
    }
    let undecided = x.hull(x).is_some() && (0..of).any(|k| x.compare(&N::from_usize(k)).is_none());
    Err(if undecided { NumberError::Undecided } else { NumberError::NotAPosition { value: x.to_string(), of } })
}

/// A position as a number, if it is one.
fn number<N: Number>(k: usize, which: Position) -> Result<N, NumberError> {
    let x = N::from_usize(k);
    // single precision has 24 bits
    match N::EXACT || x.to_f64() == k as f64 {
        true => Ok(x),
        false => Err(NumberError::NotExact { operation: which.name() }),
    }
}

/// Where the largest, the smallest or all numbers of a lane stand. A lane with NaN has no largest number, and its order is the one in which it stands, as
/// for a sort.
pub(super) fn position<N: Number>(which: Position, members: &Group<'_, N>) -> Result<Vec<N>, NumberError> {
    match which {
        Position::Largest => Ok(vec![extreme(members, which, Ordering::Greater)?]),
        Position::Smallest => Ok(vec![extreme(members, which, Ordering::Less)?]),
        Position::Order => {
            let order = match order(members) {
                Some(order) => order,
                None if members.iter().any(|x| x.is_nan()) => (0..members.len()).collect(),
                None => return Err(NumberError::Undecided),
            };
            order.into_iter().map(|k| number(k, which)).collect()
        }
    }
}

/// The first member that no other is ahead of.
fn extreme<N: Number>(members: &Group<'_, N>, which: Position, ahead: Ordering) -> Result<N, NumberError> {
    if let Some(nan) = members.iter().find(|x| x.is_nan()) {
        return Ok((*nan).clone());
    }
    let mut best = 0;
    for (k, x) in members.iter().enumerate().skip(1) {
        if x.compare(members[best]).ok_or(NumberError::Undecided)? == ahead {
            best = k;
        }
    }
    number(best, which)
}

/// Reads lanes at positions, or adds into zeros there.
pub(super) fn gather<N: Number>(
    p: &Program,
    e: &Equation<'_>,
    lane: Lane,
    of: usize,
    scatter: bool,
    args: &[Arg<'_, N>],
    count: usize,
) -> Results<N> {
    // how many numbers go in, and how many positions there are
    let m = match lane {
        Lane::Args if scatter => args.len() / 2,
        Lane::Args => args.len() - of,
        Lane::Axis => e.args[1].value().and_then(|v| p.shape(v).split_last()).map_or(1, |(_, m)| m),
    };
    let n = if scatter { m } else { of };
    spread(e, lane, count, |i| {
        let (members, positions) = (group(lane, n, args, i), group(lane, m, beside(lane, n, args), i));
        // without checks NaN travels on: what is read there is NaN, and what is added there may be anywhere
        match scatter {
            false => {
                let read = |x: &&N| if x.is_nan() { Ok((*x).clone()) } else { Ok(members[index(*x, of)?].clone()) };
                positions.iter().map(read).collect()
            }
            true => {
                let mut cells = vec![N::zero(); of];
                for (x, at) in members.iter().zip(&positions) {
                    if at.is_nan() {
                        cells.iter_mut().for_each(|cell| *cell = cell.add(at));
                        continue;
                    }
                    let cell = &mut cells[index(*at, of)?];
                    *cell = cell.add(x);
                }
                Ok(cells)
            }
        }
    })
}
