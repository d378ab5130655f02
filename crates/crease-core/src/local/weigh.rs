//! What a selection picks at an active kink, as weights of its members.

use super::ActiveKink;
use crate::differentiate::Selection;
use crate::number::Rational;
use crate::op::{Kink, Ties};

/// How the members of an active kink came about.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Tie {
    /// The slopes left and right of the kink of a function of one variable.
    Sides(Kink),
    /// Tied arguments, in order, each with the member that has its form. In `signed` pairs, an argument and its negative.
    Tied { kink: Kink, entries: Vec<u32>, signed: bool },
    /// An exchange of neighbours in a sort: whether it is the first member that moves up if the first of tied elements is wanted,
    /// and if the last is.
    Exchange { kink: Kink, first: bool, last: bool },
    /// A Euclidean norm: for each member, the argument that it is, if it is one.
    Round { entries: Vec<Option<u32>> },
    /// A Euclidean norm whose arguments are all multiples of one, so that it is a multiple of its absolute value: which arguments have a part in it, and
    /// how large these parts are, unless they are no rational numbers.
    Line { shares: Option<Vec<(u32, Rational)>> },
    /// Branches of a selection function: whether the first member is that of the branch which runs at the point itself.
    Branches { first: bool },
}

impl ActiveKink {
    /// The weights of the members of this kink that a selection picks, as [`backprop`](crate::differentiate::backprop) would.
    /// Nothing if it has none: equal parts of tied order statistics cannot be written as weights of single exchanges.
    ///
    /// ```
    /// use crease_core::{abs, differentiate::Selection, local::localize, trace, Rational, Tensor};
    /// let p = trace(1, |x| abs(x[0])).unwrap();
    /// let model = localize(&p, &[Tensor::scalar(Rational::ZERO)]).unwrap();
    /// let weights = model.kinks()[0].weights(&Selection::torch()).unwrap(); // abs'(0) = 0: both sides in equal parts
    /// assert_eq!(weights[0], Rational::new(1, 2).unwrap());
    /// assert_eq!(weights[0], weights[1]);
    /// ```
    pub fn weights(&self, selection: &Selection) -> Option<Vec<Rational>> {
        let unit = |first: bool| if first { [1, 0] } else { [0, 1] }.map(Rational::from).to_vec();
        match &self.tie {
            Tie::Sides(kink) => {
                let (_, left) = kink.hinge()?.side(&Rational::ZERO, false).ok()??;
                // at = left + right share * (1 - left)
                let share = (&selection.choice(kink).at_kink - &left).checked_div(&(Rational::ONE - &left))?;
                Some(vec![Rational::ONE - &share, share])
            }
            Tie::Tied { kink, entries, signed } => {
                let choice = selection.choice(kink);
                let per = if *signed { 2 } else { 1 };
                let arguments = entries.len() / per;
                let part = |i: usize| match choice.ties {
                    Ties::First => Some(Rational::from(usize::from(i == 0))),
                    Ties::Last => Some(Rational::from(usize::from(i + 1 == arguments))),
                    Ties::Average => Rational::new(1, arguments as i64),
                    Ties::Every => None,
                };
                let plus = (&Rational::ONE + &choice.at_kink).checked_div(&Rational::from(2))?;
                let minus = Rational::ONE - &plus;
                let members = entries.iter().max().map_or(0, |&m| m as usize + 1);
                let mut weights = vec![Rational::ZERO; members];
                for (e, &member) in entries.iter().enumerate() {
                    let part = part(e / per)?;
                    let sign = match (signed, e % 2) {
                        (false, _) => &Rational::ONE,
                        (true, 0) => &plus,
                        (true, _) => &minus,
                    };
                    weights[member as usize].add_mul(&part, sign);
                }
                Some(weights)
            }
            Tie::Exchange { kink, first, last } => match selection.choice(kink).ties {
                Ties::First => Some(unit(*first)),
                Ties::Last => Some(unit(*last)),
                Ties::Average | Ties::Every => None,
            },
            Tie::Round { entries } => {
                let zero = selection.norm2.iter().all(Rational::is_zero);
                let at = |e: &Option<u32>| match e {
                    Some(e) => Some(selection.norm2.get(*e as usize).cloned().unwrap_or_default()),
                    // only 0 has the same parts whatever the weights
                    None => zero.then_some(Rational::ZERO),
                };
                entries.iter().map(at).collect()
            }
            Tie::Line { shares } => {
                let chosen = |i: u32| selection.norm2.get(i as usize).filter(|c| !c.is_zero());
                let part = match shares {
                    Some(shares) => shares.iter().filter_map(|(i, r)| Some(chosen(*i)? * r)).sum(),
                    None if selection.norm2.iter().all(Rational::is_zero) => Rational::ZERO,
                    None => return None,
                };
                let half = Rational::new(1, 2)?;
                let right = &(&Rational::ONE + &part) * &half;
                Some(vec![Rational::ONE - &right, right])
            }
            Tie::Branches { first } => Some(unit(*first)),
        }
    }
}
