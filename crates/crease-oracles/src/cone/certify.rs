//! From guesses to proofs: exact directions and exact multipliers near those that floats propose.

use super::{Conflict, Forms, Half};
use crease_core::Limits;
use crease_core::limits::work_of;
use crease_core::local::{Form, Sum};
use crease_core::number::Rational;
use std::collections::BTreeMap;

/// Sizes to which a direction is scaled before its coordinates are rounded to integers: short numbers first.
const SIZES: [f64; 6] = [1.0, 3.0, 10.0, 60.0, 1000.0, 1e6];

/// How near a simple fraction must be to a float to be tried in its place.
const NEAR: f64 = 1e-10;

/// An exact direction near the given one that lies in all half-spaces, in numbers that are short, or not so short for those who want
/// a finer choice.
pub(crate) fn direction(
    forms: &Forms,
    halves: &[Half],
    near: &[f64],
    fineness: usize,
    limits: &Limits,
) -> Option<Vec<Rational>> {
    if near.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let largest = near.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    if largest == 0.0 {
        let zero = halves.iter().all(|h| !h.strict);
        return zero.then(|| vec![Rational::ZERO; near.len()]);
    }
    let paid = |h: &Half, each: u64| limits.go_on(1 + each * forms.exact(h.form).terms().len() as u64 / 8);
    let holds = |d: &[f64]| halves.iter().all(|h| paid(h, 1) && h.allows(forms.sign(h.form, d)));
    let mut tried: Vec<f64> = vec![0.0; near.len()];
    for &size in SIZES.iter().skip(fineness) {
        tried.iter_mut().zip(near).for_each(|(t, x)| *t = (x * (size / largest)).round());
        if holds(&tried) {
            return Some(rationals(&tried));
        }
    }
    // half-spaces whose border is touched need the very fractions at which borders meet
    let simple: Vec<Rational> = near.iter().map(|&x| simplest(x)).collect();
    if halves.iter().all(|h| paid(h, 16) && h.allows(forms.exact_sign(h.form, &simple))) {
        return Some(simple);
    }
    holds(near).then(|| rationals(near))
}

fn rationals(xs: &[f64]) -> Vec<Rational> {
    xs.iter().map(|&x| Rational::from_f64(x).unwrap_or_default()).collect()
}

/// The first convergent of the continued fraction that is as near as [`NEAR`].
pub(super) fn simplest(x: f64) -> Rational {
    const MOST: f64 = 1e9;
    let (mut before, mut last) = ((0i64, 1i64), (1i64, 0i64));
    let mut rest = x;
    while rest.abs() < MOST {
        let whole = rest.floor();
        let next = |a: i64, b: i64| (whole as i64).checked_mul(b).and_then(|y| y.checked_add(a));
        let (Some(num), Some(den)) = (next(before.0, last.0), next(before.1, last.1)) else { break };
        (before, last) = (last, (num, den));
        if (num as f64 / den as f64 - x).abs() <= NEAR * x.abs().max(1.0) {
            break;
        }
        rest = 1.0 / (rest - whole);
    }
    Rational::new(last.0, last.1).or_else(|| Rational::from_f64(x)).unwrap_or_default()
}

/// Whether the signed forms of these half-spaces, times positive numbers, add up to zero, with a strict one among them.
pub(super) fn contradicts(forms: &Forms, halves: &[Half], parts: &[(usize, Rational)]) -> bool {
    let mut sum = Sum::default();
    for (half, by) in parts {
        let half = &halves[*half];
        sum.add(&if half.negative { -by } else { by.clone() }, forms.exact(half.form));
    }
    parts.iter().all(|(_, by)| by.is_positive()) && parts.iter().any(|(half, _)| halves[*half].strict) && sum.is_zero()
}

/// Exact multipliers near those that floats found for their scaled forms, unless that takes too long.
pub(super) fn multipliers(
    forms: &Forms,
    halves: &[Half],
    guess: Vec<(usize, f64)>,
    limits: &Limits,
) -> Option<Conflict> {
    let first = forms.size(halves[guess.first()?.0].form).to_f64();
    let simple = |&(half, size): &(usize, f64)| {
        let scaled = size * first / forms.size(halves[half].form).to_f64();
        (half, if scaled.is_finite() { simplest(scaled) } else { Rational::ZERO })
    };
    let mut parts: Vec<(usize, Rational)> = guess.iter().map(simple).collect();
    parts.sort_by_key(|part| part.0);
    let terms = |part: &(usize, Rational)| forms.exact(halves[part.0].form).terms().len() as u64;
    limits.charge(4 * parts.iter().map(terms).sum::<u64>()).ok()?;
    if contradicts(forms, halves, &parts) {
        return Some(Conflict { parts });
    }
    let numbers: Vec<usize> = parts.iter().map(|part| part.0).collect();
    let solved = dependency(forms, halves, &numbers, limits)?;
    let parts: Vec<(usize, Rational)> = numbers.into_iter().zip(solved).filter(|(_, by)| !by.is_zero()).collect();
    contradicts(forms, halves, &parts).then_some(Conflict { parts })
}

/// Numbers, not all zero, with which the signed forms of these half-spaces add up to zero, if there is just one such choice up to
/// scale; scaled such that they are not negative, if they can be.
///
/// Elimination keeps rows sparse: the shortest equation is solved for the number that occurs in the fewest others. Where forms say what a
/// relu is, that takes them apart one by one, and numbers stay short.
fn dependency(forms: &Forms, halves: &[Half], numbers: &[usize], limits: &Limits) -> Option<Vec<Rational>> {
    // one equation for each coordinate, in the multipliers
    let mut equations: BTreeMap<usize, Vec<(usize, Rational)>> = BTreeMap::new();
    for (k, &half) in numbers.iter().enumerate() {
        let half = &halves[half];
        for (i, c) in forms.exact(half.form).terms() {
            equations.entry(*i).or_default().push((k, if half.negative { -c } else { c.clone() }));
        }
    }
    let mut rows: Vec<Form> = equations.into_values().map(Form::from_iter).collect();
    let mut uses = vec![0usize; numbers.len()];
    rows.iter().flat_map(Form::terms).for_each(|t| uses[t.0] += 1);
    let mut solved: Vec<(usize, Form)> = Vec::new();
    while let Some(shortest) = (0..rows.len()).min_by_key(|&r| rows[r].terms().len()) {
        limits.charge(rows.len() as u64).ok()?;
        let row = rows.swap_remove(shortest);
        row.terms().iter().for_each(|t| uses[t.0] -= 1);
        let Some((k, lead)) = row.terms().iter().min_by_key(|t| uses[t.0]) else { continue };
        // what the number is, less the number itself
        let zero = row.scaled(&-lead.inv()?);
        for other in &mut rows {
            let Some(c) = other.coefficient(*k) else { continue };
            let terms = zero.terms().len() + other.terms().len();
            limits.charge(terms as u64 * (2 + work_of(c) + zero.terms().first().map_or(0, |t| work_of(&t.1)))).ok()?;
            let without = other.plus(c, &zero);
            other.terms().iter().for_each(|t| uses[t.0] -= 1);
            without.terms().iter().for_each(|t| uses[t.0] += 1);
            *other = without;
        }
        solved.push((*k, zero));
    }
    if solved.len() + 1 != numbers.len() {
        return None;
    }
    // one of them is open; the others follow from it, the last one that was solved first
    let mut values = vec![Rational::ONE; numbers.len()];
    for (k, zero) in solved.iter().rev() {
        values[*k] = Rational::ZERO;
        values[*k] = zero.at(&values);
    }
    if values.iter().any(Rational::is_negative) {
        values.iter_mut().for_each(|x| *x = -&*x);
    }
    Some(values)
}
