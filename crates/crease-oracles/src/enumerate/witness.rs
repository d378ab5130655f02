//! Directions inside cones, and the walk from one cone into the next.

use crate::cone::{FormId, Forms, Half};
use crease_core::number::Rational;
use std::cmp::Ordering;
use std::rc::Rc;

/// A direction inside an open cone. Floats are exact numbers, too; only cones that are too thin for them need others.
#[derive(Clone, Debug)]
pub(super) enum Witness {
    Float(Rc<[f64]>),
    Exact(Rc<[Rational]>),
}

impl Witness {
    /// The sign of a form there, exactly.
    pub fn sign(&self, forms: &Forms, form: FormId) -> Ordering {
        match self {
            Witness::Float(d) => forms.sign(form, d),
            Witness::Exact(d) => forms.exact_sign(form, d),
        }
    }

    /// Takes a direction of floats if it lies in all half-spaces.
    pub fn float<'h>(forms: &Forms, direction: &[f64], mut halves: impl Iterator<Item = &'h Half>) -> Option<Self> {
        let finite = direction.iter().all(|x| x.is_finite());
        let inside = |h: &Half| forms.sign(h.form, direction) == wanted(h);
        (finite && halves.all(inside)).then(|| Witness::Float(direction.into()))
    }
}

fn wanted(half: &Half) -> Ordering {
    if half.negative { Ordering::Less } else { Ordering::Greater }
}

/// Room for the computations of a walk.
#[derive(Default)]
pub(super) struct Walker {
    along: Vec<f64>,
    to: Vec<f64>,
}

impl Walker {
    /// Walks straight across the borders behind which `asked` begins, and stops in the middle between the last of them and the
    /// first border of `path` on the way. Nothing if there is no room, or less than floats can be sure of.
    pub fn walk(&mut self, forms: &Forms, from: &[f64], path: &[Half], asked: &[Half]) -> Option<Witness> {
        self.along.clear();
        self.along.resize(from.len(), 0.0);
        for half in asked {
            let (mut value, mut square) = (0.0, 0.0);
            for (i, c) in forms.near(half.form) {
                value += c * from[i];
                square += c * c;
            }
            let sign = if half.negative { -1.0 } else { 1.0 };
            if value * sign <= 0.0 {
                forms.near(half.form).for_each(|(i, c)| self.along[i] += sign * c / square);
            }
        }
        let (mut enter, mut leave) = (0.0f64, f64::INFINITY);
        for half in path.iter().chain(asked) {
            let (mut here, mut speed) = (0.0, 0.0);
            for (i, c) in forms.near(half.form) {
                here += c * from[i];
                speed += c * self.along[i];
            }
            if half.negative {
                (here, speed) = (-here, -speed);
            }
            if here <= 0.0 {
                if speed <= 0.0 {
                    return None;
                }
                enter = enter.max(-here / speed);
            } else if speed < 0.0 {
                leave = leave.min(here / -speed);
            }
            if enter >= leave {
                return None;
            }
        }
        let step = match (leave.is_finite(), enter > 0.0) {
            (true, _) => (enter + leave) / 2.0,
            (false, true) => 2.0 * enter,
            (false, false) => 1.0,
        };
        self.to.clear();
        self.to.extend(from.iter().zip(&self.along).map(|(x, u)| x + step * u));
        let sure = |h: &Half| forms.quick_sign(h.form, &self.to) == Some(wanted(h));
        path.iter().chain(asked).all(sure).then(|| Witness::Float((&self.to[..]).into()))
    }
}
