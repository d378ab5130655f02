//! In which order kinks that do not use each other are decided.
//!
//! The tree has as many nodes at a level as there are cones so far, and there are fewest for as long as forms that depend on earlier
//! ones come first: for the hyperplanes of a braid arrangement, all that compare the first three coordinates before any that
//! knows the fourth. The order is of no consequence for the answer, so dependence may be tested in a prime field.

use super::is_alone;
use crease_core::local::{Form, NormalForm};
use crease_core::number::{Field61, Number, Rational};
use std::collections::HashMap;

/// How many field operations this is worth.
const MOST: usize = 50_000_000;

/// The order for a normal form whose kinks use no kinks. If they do, or if it would take too long, the order in which they are.
pub(super) fn order(normal: &NormalForm) -> Vec<usize> {
    let n = normal.kinks.len();
    let as_is: Vec<usize> = (0..n).collect();
    let p = normal.dimension;
    let flat = normal.kinks.iter().all(|k| is_alone(k, p));
    if !flat || n.saturating_mul(p).saturating_mul(n.min(p)) > MOST {
        return as_is;
    }
    let vectors: Option<Vec<Vec<Field61>>> = normal.kinks.iter().map(|k| vector(&k.forms, p)).collect();
    let Some(mut vectors) = vectors else { return as_is };
    let mut out = Vec::with_capacity(n);
    let mut left = as_is;
    while !left.is_empty() {
        // what depends on those before
        let zero = |k: &usize| vectors[*k].iter().all(|x| *x == Field61::zero());
        let (now, later): (Vec<usize>, Vec<usize>) = left.into_iter().partition(zero);
        out.extend(now);
        left = later;
        // of the rest, the one after which most depend
        let mut classes: HashMap<Vec<u64>, (usize, usize)> = HashMap::new();
        for (i, &k) in left.iter().enumerate() {
            normalize(&mut vectors[k]);
            let key = vectors[k].iter().map(|x| x.value()).collect();
            classes.entry(key).or_insert((0, i)).0 += 1;
        }
        let best = classes.values().max_by_key(|(count, i)| (*count, usize::MAX - i));
        let Some(&(_, i)) = best else { break };
        let k = left.remove(i);
        out.push(k);
        let by = std::mem::take(&mut vectors[k]);
        let Some(lead) = by.iter().position(|x| *x != Field61::zero()) else { continue };
        for &other in &left {
            let factor = vectors[other][lead].neg();
            if factor != Field61::zero() {
                vectors[other].iter_mut().zip(&by).for_each(|(x, y)| *x = x.add(&factor.mul(y)));
            }
        }
    }
    out
}

/// The difference of the first two members.
fn vector(forms: &[Form], p: usize) -> Option<Vec<Field61>> {
    let mut out = vec![Field61::zero(); p];
    let mut add = |form: &Form, by: i32| {
        for (i, c) in form.terms() {
            let c = Field61::from_rational(&(c * Rational::from(by))).ok()?;
            out[*i] = out[*i].add(&c);
        }
        Some(())
    };
    add(forms.first()?, -1)?;
    add(forms.get(1)?, 1)?;
    Some(out)
}

/// Scales a vector such that its first element that is not zero is 1.
fn normalize(x: &mut [Field61]) {
    let Some(lead) = x.iter().find(|x| **x != Field61::zero()).copied() else { return };
    if let Ok(over) = lead.inv() {
        x.iter_mut().for_each(|x| *x = x.mul(&over));
    }
}
