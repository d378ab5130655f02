//! Making curves that run inside kinks.
//!
//! A program and a point enter, a [`Curve`] leaves. At the point, the local model lists the active kinks as maxima of linear
//! forms; each tie that is to last is one linear equation on the direction, once it is said which form wins in the kinks
//! below. Directions that solve some of these equations keep the curve inside the kinks. Where the ties are curved, a polynomial
//! curve is bent to follow one of them. Where a segment meets the next kink, the curve may turn into that.
//!
//! Nothing rests on any of this: the chain rule is asked for along every curve, and whether one runs inside a kink is seen when it is run.

use super::curve::{Curve, Piece};
use super::germ::{Log, Seen};
use super::polynomial::Polynomial;
use super::subspace::Subspace;
use super::tensors;
use crease_core::local::{Form, NormalForm, localize};
use crease_core::random::SplitMix64;
use crease_core::{Limits, Program, Rational, run};
use std::sync::Arc;

/// Larger models are not brought into normal form; their curves go anywhere.
const STEPS: usize = 1_000_000;

/// The largest number of ties that a curve tries to keep at once.
const TIES: usize = 64;

/// The highest power of t in a curve.
const DEGREE: usize = 4;

/// The largest number of breakpoints on a segment among which a turn is picked.
const TURNS: usize = 16;

/// A random curve of so many pieces from a point, inside kinks where it can.
///
/// ```
/// use crease::{Rational, max, trace};
/// use crease_paper::experiments::conservativity::curve_inside_kinks;
/// let f = trace(3, |x| max(&[x[0], x[1], x[2]]))?;
/// let curve = curve_inside_kinks(&f, &[Rational::ZERO, Rational::ZERO, Rational::ZERO], 2, 7).unwrap();
/// assert_eq!(curve.pieces.len(), 2);
/// # Ok::<(), crease::BuildError>(())
/// ```
///
/// Nothing is returned for a point that is none of the program's.
pub fn curve_inside_kinks(program: &Program, from: &[Rational], pieces: usize, seed: u64) -> Option<Curve> {
    let fits = from.len() == program.dimension();
    fits.then(|| curve(program, from.to_vec(), pieces, &mut SplitMix64::new(seed)))
}

pub(super) fn curve(program: &Program, from: Vec<Rational>, pieces: usize, random: &mut SplitMix64) -> Curve {
    let mut x = from;
    let mut out = Curve::default();
    for _ in 0..pieces {
        let directions = lasting(program, &x, random);
        let mut piece = Piece::straight(x, moving(&directions, random), Rational::ONE);
        // follow a curved tie if there is one, else be a segment more often than not
        let bent = random.below(4) > 0 && bend(program, &mut piece, random);
        if !bent && random.below(3) == 0 {
            piece.powers.push(moving(&directions, random));
        } else if !bent {
            let turns = breakpoints(program, &piece);
            // mostly turn where something happens
            if !turns.is_empty() && random.below(4) > 0 {
                piece.until = turns[random.below(turns.len() as u64) as usize].clone();
            }
        }
        x = piece.at(&piece.until);
        out.pieces.push(piece);
    }
    out
}

/// A random vector of a space that has others than 0, small and not 0.
fn moving(space: &Subspace, random: &mut SplitMix64) -> Vec<Rational> {
    loop {
        let d = space.vector(|| Rational::from(random.below(7) as i64 - 3));
        if space.size() == 0 || d.iter().any(|c| !c.is_zero()) {
            return d;
        }
    }
}

/// Directions along which some of the ties at a point last, picked at random.
fn lasting(program: &Program, x: &[Rational], random: &mut SplitMix64) -> Subspace {
    let mut space = Subspace::whole(x.len());
    let model = localize(program, &tensors(program, x)).ok();
    let Some(normal) = model.and_then(|m| m.normal_form_within(Limits::DEFAULT.steps_of(STEPS))) else { return space };
    // at a vertex most ties cannot last together, so start with any of them
    let mut order: Vec<usize> = (0..normal.kinks.len()).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, random.below(i as u64 + 1) as usize);
    }
    order.truncate(TIES);
    for kink in order {
        if space.size() <= 1 {
            break;
        }
        if random.below(4) == 0 {
            continue;
        }
        let guide = space.vector(|| Rational::from(random.below(15) as i64 - 7));
        let wins = winners(&normal, &guide);
        let forms = &normal.kinks[kink].forms;
        let other = random.below(forms.len() as u64) as usize;
        if other == wins[kink].0 {
            continue;
        }
        let mut tie = linear(&forms[other], &wins, x.len());
        tie.iter_mut().zip(&wins[kink].1).for_each(|(a, b)| *a -= b);
        space.restrict(tie);
    }
    space
}

/// For each kink the form that wins along a direction: its number, and what it is in the coordinates of the direction.
fn winners(normal: &NormalForm, direction: &[Rational]) -> Vec<(usize, Vec<Rational>)> {
    let mut wins: Vec<(usize, Vec<Rational>)> = Vec::with_capacity(normal.kinks.len());
    for kink in &normal.kinks {
        let mut best: Option<(Rational, usize, Vec<Rational>)> = None;
        for (i, form) in kink.forms.iter().enumerate() {
            let row = linear(form, &wins, direction.len());
            let value: Rational = row.iter().zip(direction).map(|(a, b)| a * b).sum();
            if best.as_ref().is_none_or(|b| value > b.0) {
                best = Some((value, i, row));
            }
        }
        wins.push(best.map_or_else(|| (0, vec![Rational::ZERO; direction.len()]), |(_, i, row)| (i, row)));
    }
    wins
}

/// A form in the coordinates of the direction, each kink in it replaced by the form that wins.
fn linear(form: &Form, wins: &[(usize, Vec<Rational>)], dimension: usize) -> Vec<Rational> {
    let mut row = vec![Rational::ZERO; dimension];
    form.split(dimension).0.iter().for_each(|(i, c)| row[*i] += c);
    for (k, c) in form.beyond(dimension) {
        row.iter_mut().zip(&wins[k].1).for_each(|(a, b)| a.add_mul(c, b));
    }
    row
}

/// What a run of the program compares just after an instant of a piece.
fn comparisons(program: &Program, piece: &Piece, t: &Rational) -> Option<Seen> {
    let log = Arc::new(Log::default());
    run(program, &tensors(program, &piece.germs(t, &log))).ok()?;
    Some(log.seen())
}

/// The first instants at which kinks switch along a piece, as far as they are known.
fn breakpoints(program: &Program, piece: &Piece) -> Vec<Rational> {
    let mut out = Vec::new();
    let mut t = Rational::ZERO;
    while out.len() < TURNS
        && let Some(Seen { next: Some(s), safe, .. }) = comparisons(program, piece, &t)
        && safe.is_none_or(|safe| safe >= s)
    {
        t += s;
        if t >= piece.until {
            break;
        }
        out.push(t.clone());
    }
    out
}

/// Bends a segment so that a tie to which it is tangent at its start lasts along all of it, if a low degree is enough. Whether
/// there is such a tie.
///
/// The coefficient of t^k in the difference of the two sides is an affine function of the vector that is multiplied by t^k, as long as the
/// vectors before it stay the same. Two runs tell that function, and its zero is the next vector. Only one coordinate is
/// bent, so that a tie which is the graph of a polynomial over the others is found exactly.
fn bend(program: &Program, piece: &mut Piece, random: &mut SplitMix64) -> bool {
    let ties = |piece: &Piece| comparisons(program, piece, &Rational::ZERO).map_or_else(Vec::new, |seen| seen.ties);
    let of = |piece: &Piece, number: usize| ties(piece).into_iter().find(|tie| tie.0 == number).map(|tie| tie.1);
    let tangent = |d: &Polynomial| d.order().is_some_and(|k| k >= 2);
    let tangents: Vec<usize> = ties(piece).iter().filter(|tie| tangent(&tie.1)).map(|tie| tie.0).collect();
    if tangents.is_empty() {
        return false;
    }
    let number = tangents[random.below(tangents.len() as u64) as usize];
    let n = piece.powers[0].len();
    let moved = |piece: &Piece, coordinate: usize, k: usize, by: &Rational| {
        let mut moved = piece.clone();
        moved.powers.resize(moved.powers.len().max(k + 1), vec![Rational::ZERO; n]);
        moved.powers[k][coordinate] += by;
        moved
    };
    let mut coordinates: Vec<usize> = (0..n).collect();
    coordinates.rotate_left(random.below(n as u64) as usize);
    for _ in 2..=DEGREE {
        let Some(now) = of(piece, number) else { break };
        let Some(k) = now.order().filter(|k| (2..=DEGREE).contains(k)) else { break };
        let at = |p: &Polynomial| p.coefficients().get(k).cloned().unwrap_or_default();
        let zero = |coordinate: usize| {
            let then = of(&moved(piece, coordinate, k, &Rational::ONE), number)?;
            at(&now).checked_div(&(&at(&now) - &at(&then)))
        };
        let Some((coordinate, by)) = coordinates.iter().find_map(|&c| Some((c, zero(c)?))) else { break };
        coordinates = vec![coordinate];
        *piece = moved(piece, coordinate, k, &by);
    }
    true
}
