//! One sparse linear form, for the normal form and for everything that the oracles do with it.
//!
//! What enters are terms, each the number of a variable and its coefficient. What leaves are [`Form`]s: variables ascend, none is there
//! twice, and no coefficient is zero, so that equal forms are equal values. What a variable is, the user of the form knows; coordinates of the direction come first
//! everywhere, and kinks or relus after them. A [`Sum`] is a form under way, whose last variables can be replaced by what they stand for.
//!
//! Deliberately absent: numbers other than rationals. Where forms are evaluated many times, in floats by the simplex method and by filters of
//! signs or in a prime field by random sweeps, a copy of the coefficients lies in the layout that makes that fast.

use crate::number::Rational;
use std::cmp::Ordering;
use std::collections::BTreeMap;

type Terms = [(usize, Rational)];

/// A linear form: variables in ascending order, with coefficients that are not zero.
///
/// ```
/// use crease_core::{Rational, local::Form};
/// let form: Form = [(7, Rational::from(2)), (0, Rational::ONE), (7, Rational::from(-4))].into_iter().collect();
/// assert_eq!(form.terms(), [(0, Rational::ONE), (7, Rational::from(-2))]);
/// assert_eq!(form, Form::variable(0).plus(&Rational::from(-2), &Form::variable(7)));
/// assert!(form.minus(&form).is_zero());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Form(Vec<(usize, Rational)>);

/// Terms in any order; those of one variable are added up.
impl FromIterator<(usize, Rational)> for Form {
    fn from_iter<I: IntoIterator<Item = (usize, Rational)>>(terms: I) -> Self {
        let mut terms: Vec<(usize, Rational)> = terms.into_iter().collect();
        if !terms.is_sorted_by(|a, b| a.0 < b.0) {
            terms.sort_by_key(|t| t.0);
            terms.dedup_by(|next, kept| {
                let same = next.0 == kept.0;
                if same {
                    kept.1 += &next.1;
                }
                same
            });
        }
        terms.retain(|t| !t.1.is_zero());
        Form(terms)
    }
}

/// The form that multiplies by a vector.
impl From<&[Rational]> for Form {
    fn from(vector: &[Rational]) -> Self {
        Form(vector.iter().cloned().enumerate().filter(|t| !t.1.is_zero()).collect())
    }
}

impl Form {
    /// One variable.
    pub fn variable(v: usize) -> Form {
        Form(vec![(v, Rational::ONE)])
    }

    /// The variables and their coefficients.
    pub fn terms(&self) -> &Terms {
        &self.0
    }

    /// Whether it is zero everywhere.
    pub fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    /// The memory that it takes, in bytes.
    pub fn bytes(&self) -> usize {
        let long = |c: &Rational| if c.small_parts().is_some() { 0 } else { c.bits() / 8 };
        self.0.iter().map(|(_, c)| size_of::<(usize, Rational)>() + long(c)).sum()
    }

    /// The coefficient of a variable, unless that is zero.
    pub fn coefficient(&self, v: usize) -> Option<&Rational> {
        self.0.binary_search_by_key(&v, |t| t.0).ok().map(|i| &self.0[i].1)
    }

    /// The coefficients of the first so many variables, zeros and all.
    pub fn vector(&self, variables: usize) -> Vec<Rational> {
        let mut out = vec![Rational::ZERO; variables];
        self.split(variables).0.iter().for_each(|(v, c)| out[*v] = c.clone());
        out
    }

    /// The terms of the first so many variables, and those of the others.
    ///
    /// ```
    /// use crease_core::{Rational, local::Form};
    /// let form: Form = [1, 4, 5].map(|v| (v, Rational::ONE)).into_iter().collect();
    /// assert_eq!((form.split(4).0.len(), form.split(4).1.len()), (1, 2));
    /// assert_eq!(form.beyond(4).map(|(v, _)| v).collect::<Vec<_>>(), [0, 1]);
    /// ```
    pub fn split(&self, variables: usize) -> (&Terms, &Terms) {
        self.0.split_at(self.0.partition_point(|t| t.0 < variables))
    }

    /// The terms of all but the first so many variables, counted from there.
    pub fn beyond(&self, variables: usize) -> impl DoubleEndedIterator<Item = (usize, &Rational)> + Clone {
        self.split(variables).1.iter().map(move |(v, c)| (v - variables, c))
    }

    /// The last term, and the form without it.
    pub fn split_last(&self) -> Option<(&(usize, Rational), Form)> {
        self.0.split_last().map(|(last, rest)| (last, Form(rest.to_vec())))
    }

    /// `self + factor * other`.
    pub fn plus(&self, factor: &Rational, other: &Form) -> Form {
        if factor.is_zero() {
            return self.clone();
        }
        let add = |x: &Rational, y: &Rational| {
            let mut sum = x.clone();
            sum.add_mul(factor, y);
            sum
        };
        self.merged(other, add, |y| factor * y)
    }

    /// `self - other`.
    pub fn minus(&self, other: &Form) -> Form {
        self.merged(other, |x, y| x - y, |y| -y)
    }

    /// What becomes of the variables of two forms: those of this one stay, those of the other are `alone`, those of `both` are met.
    fn merged(
        &self,
        other: &Form,
        both: impl Fn(&Rational, &Rational) -> Rational,
        alone: impl Fn(&Rational) -> Rational,
    ) -> Form {
        let (mut a, mut b) = (&self.0[..], &other.0[..]);
        let mut out = Vec::with_capacity(a.len() + b.len());
        while let ([x, after_x @ ..], [y, after_y @ ..]) = (a, b) {
            match x.0.cmp(&y.0) {
                Ordering::Less => {
                    out.push(x.clone());
                    a = after_x;
                }
                Ordering::Greater => {
                    out.push((y.0, alone(&y.1)));
                    b = after_y;
                }
                Ordering::Equal => {
                    let c = both(&x.1, &y.1);
                    if !c.is_zero() {
                        out.push((x.0, c));
                    }
                    (a, b) = (after_x, after_y);
                }
            }
        }
        out.extend_from_slice(a);
        out.extend(b.iter().map(|y| (y.0, alone(&y.1))));
        Form(out)
    }

    /// The form times a number.
    pub fn scaled(&self, factor: &Rational) -> Form {
        if factor.is_one() {
            return self.clone();
        }
        let times = |(v, c): &(usize, Rational)| (*v, c * factor);
        if factor.is_zero() { Form::default() } else { Form(self.0.iter().map(times).collect()) }
    }

    /// The negative of the form.
    pub fn negated(&self) -> Form {
        Form(self.0.iter().map(|(v, c)| (*v, -c)).collect())
    }

    /// The form with other variables in the same order.
    pub(super) fn renamed(&mut self, name: impl Fn(usize) -> usize) {
        self.0.iter_mut().for_each(|t| t.0 = name(t.0));
        debug_assert!(self.0.is_sorted_by(|a, b| a.0 < b.0));
    }

    /// The form divided by its first coefficient, and that coefficient: what all its multiples share. Nothing for the zero form.
    ///
    /// ```
    /// use crease_core::{Rational, local::Form};
    /// let form: Form = [(0, Rational::from(-6)), (1, Rational::from(4))].into_iter().collect();
    /// let (monic, lead) = form.monic().unwrap();
    /// assert_eq!((monic.scaled(&lead), lead), (form.clone(), Rational::from(-6)));
    /// assert_eq!(form.ray(), monic.negated());
    /// assert_eq!(form.content(), Some(Rational::from(-2))); // -2 (3 d0 - 2 d1)
    /// ```
    pub fn monic(&self) -> Option<(Form, Rational)> {
        let lead = self.0.first()?.1.clone();
        Some((self.scaled(&lead.inv()?), lead))
    }

    /// The form divided by the size of its first coefficient: what all its positive multiples share.
    pub fn ray(&self) -> Form {
        let scale = self.0.first().and_then(|t| t.1.abs().inv());
        scale.map_or_else(Form::default, |s| self.scaled(&s))
    }

    /// The number by which the form is one of coprime integers, the first of them positive. Nothing for the zero form.
    pub fn content(&self) -> Option<Rational> {
        let mut common = Rational::ZERO;
        for (_, x) in &self.0 {
            if !(common.is_one() && x.is_integer()) {
                common = gcd(common, x.abs());
            }
        }
        Some(if self.0.first()?.1.is_negative() { -common } else { common })
    }

    /// The factor λ with `self = λ other`, if there is one.
    pub fn ratio(&self, other: &Form) -> Option<Rational> {
        let (Some((_, a)), Some((_, b))) = (self.0.first(), other.0.first()) else {
            return self.is_zero().then_some(Rational::ZERO);
        };
        let factor = a.checked_div(b)?;
        (*self == other.scaled(&factor)).then_some(factor)
    }

    /// The form with all but the first so many variables, counted from there, replaced by what they stand for.
    pub fn replaced<'f>(&self, variables: usize, by: impl Fn(usize) -> &'f Form) -> Form {
        let mut sum = Sum(self.split(variables).0.iter().cloned().collect());
        self.beyond(variables).for_each(|(v, c)| sum.add(c, by(v)));
        sum.form()
    }

    /// The value where the variables have these values.
    pub fn at(&self, values: &[Rational]) -> Rational {
        let mut sum = Rational::ZERO;
        self.0.iter().for_each(|(v, c)| sum.add_mul(c, &values[*v]));
        sum
    }
}

/// The largest number of which both are integer multiples.
pub(super) fn gcd(a: Rational, b: Rational) -> Rational {
    a.gcd(&b)
}

/// A linear form under way.
///
/// ```
/// use crease_core::{Rational, local::{Form, Sum}};
/// // 2 z - y, where z is x + y
/// let (mut sum, two) = (Sum::default(), Rational::from(2));
/// sum.add(&two, &Form::variable(2));
/// sum.add_term(1, &Rational::ONE, &Rational::from(-1));
/// let (z, c) = sum.pop(2).unwrap();
/// sum.add(&c, &[0, 1].map(|v| (v, Rational::ONE)).into_iter().collect());
/// assert_eq!((z, sum.pop(2)), (2, None));
/// assert_eq!(sum.form().terms(), [(0, two), (1, Rational::ONE)]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Sum(BTreeMap<usize, Rational>);

impl Sum {
    /// Adds a multiple of a form.
    pub fn add(&mut self, factor: &Rational, form: &Form) {
        self.add_terms(factor, &form.0);
    }

    /// Adds a multiple of some terms.
    pub fn add_terms(&mut self, factor: &Rational, terms: &Terms) {
        terms.iter().for_each(|(v, c)| self.add_term(*v, factor, c));
    }

    /// Adds a multiple of a term.
    pub fn add_term(&mut self, v: usize, factor: &Rational, c: &Rational) {
        self.0.entry(v).or_default().add_mul(factor, c);
    }

    /// Takes out the last variable whose coefficient is not zero, unless it is one of the first so many.
    pub fn pop(&mut self, variables: usize) -> Option<(usize, Rational)> {
        while let Some(last) = self.0.last_entry().filter(|e| *e.key() >= variables) {
            let (v, c) = last.remove_entry();
            if !c.is_zero() {
                return Some((v, c));
            }
        }
        None
    }

    /// What it came to.
    pub fn form(self) -> Form {
        Form(self.0.into_iter().filter(|t| !t.1.is_zero()).collect())
    }

    /// Whether all coefficients are zero.
    pub fn is_zero(&self) -> bool {
        self.0.values().all(Rational::is_zero)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    const WIDTH: usize = 7;

    fn dense(form: &Form) -> Vec<Rational> {
        assert!(form.0.is_sorted_by(|a, b| a.0 < b.0) && form.0.iter().all(|t| !t.1.is_zero()), "{form:?}");
        form.vector(WIDTH)
    }

    fn draw(random: &mut SplitMix64) -> Rational {
        // small numbers, which cancel, fractions, and some that take more than a word
        let n = Rational::from(random.below(5) as i64 - 2);
        match random.below(4) {
            0 => n.checked_div(&Rational::from(1 + random.below(6) as i64)).unwrap(),
            1 if random.below(8) == 0 => n * Rational::from(10).pow(25).unwrap(),
            _ => n,
        }
    }

    fn vector(random: &mut SplitMix64) -> Vec<Rational> {
        (0..WIDTH).map(|_| if random.below(2) == 0 { Rational::ZERO } else { draw(random) }).collect()
    }

    #[test]
    fn as_dense_vectors_do() {
        let mut random = SplitMix64::new(11);
        for _ in 0..5000 {
            let (x, y, c) = (vector(&mut random), vector(&mut random), draw(&mut random));
            let (f, g) = (Form::from(&x[..]), Form::from(&y[..]));
            let each = |with: &dyn Fn(&Rational, &Rational) -> Rational| -> Vec<Rational> {
                x.iter().zip(&y).map(|(a, b)| with(a, b)).collect()
            };
            assert_eq!(dense(&f), x);
            assert_eq!(dense(&f.plus(&c, &g)), each(&|a, b| a + &c * b));
            assert_eq!(dense(&f.minus(&g)), each(&|a, b| a - b));
            assert_eq!(dense(&f.scaled(&c)), each(&|a, _| a * &c));
            assert_eq!(dense(&f.negated()), each(&|a, _| -a));
            assert_eq!(f.at(&y), each(&|a, b| a * b).iter().sum());
            assert!((0..WIDTH).all(|v| f.coefficient(v) == Some(&x[v]).filter(|c| !c.is_zero())));
            assert_eq!(f.is_zero(), x.iter().all(Rational::is_zero));
            assert_eq!((f == g, f.cmp(&g).is_eq()), (x == y, x == y));
            // in any order, with repetitions
            let mut terms: Vec<(usize, Rational)> =
                [&x, &y].into_iter().flat_map(|v| v.iter().cloned().enumerate()).collect();
            for i in (1..terms.len()).rev() {
                terms.swap(i, random.below(i as u64 + 1) as usize);
            }
            assert_eq!(terms.into_iter().collect::<Form>(), f.plus(&Rational::ONE, &g));
            let at = random.below(WIDTH as u64 + 1) as usize;
            let (low, high) = f.split(at);
            assert!(low.iter().all(|t| t.0 < at) && high.iter().all(|t| t.0 >= at));
            assert_eq!([low, high].concat(), f.0);
            assert!(f.beyond(at).map(|(v, c)| (v + at, c.clone())).eq(high.iter().cloned()));
        }
    }

    #[test]
    fn multiples_share_what_they_are_reduced_to() {
        let mut random = SplitMix64::new(12);
        for _ in 0..3000 {
            let (x, by) = (vector(&mut random), draw(&mut random));
            let f = Form::from(&x[..]);
            let (Some((monic, lead)), false) = (f.monic(), by.is_zero()) else { continue };
            let g = f.scaled(&by);
            assert!(monic.0[0].1.is_one());
            assert_eq!((monic.scaled(&lead), g.monic().unwrap().0), (f.clone(), monic));
            assert_eq!(f.ray() == g.ray(), by.is_positive());
            assert_eq!((g.ratio(&f), f.ratio(&Form::default())), (Some(by.clone()), None));
            let primitive = f.scaled(&f.content().unwrap().inv().unwrap());
            assert_eq!(primitive, g.scaled(&g.content().unwrap().inv().unwrap()));
            assert!(primitive.0[0].1.is_positive() && primitive.0.iter().all(|t| t.1.is_integer()));
            assert_eq!(primitive.0.iter().fold(Rational::ZERO, |a, t| gcd(a, t.1.abs())), Rational::ONE);
        }
        assert_eq!((Form::default().monic(), Form::default().content()), (None, None));
        assert_eq!(Form::default().ratio(&Form::variable(3)), Some(Rational::ZERO));
    }

    /// Replacing variables from the last one on is what a matrix does.
    #[test]
    fn sums_replace_variables() {
        let mut random = SplitMix64::new(13);
        for _ in 0..2000 {
            let x = vector(&mut random);
            let first = random.below(WIDTH as u64) as usize;
            // each variable from the first on is a form in earlier ones
            let stands: Vec<Form> = (0..WIDTH).map(|v| Form::from(&vector(&mut random)[..v])).collect();
            let mut sum = Sum::default();
            let (f, mut expected) = (Form::from(&x[..]), x);
            sum.add(&Rational::ONE, &f);
            while let Some((v, c)) = sum.pop(first) {
                sum.add(&c, &stands[v]);
            }
            for v in (first..WIDTH).rev() {
                let c = std::mem::take(&mut expected[v]);
                stands[v].0.iter().for_each(|(i, x)| expected[*i].add_mul(&c, x));
            }
            assert_eq!(sum.is_zero(), expected.iter().all(Rational::is_zero));
            assert_eq!(dense(&sum.form()), expected);
            let once = f.replaced(first, |v| &stands[first + v]);
            let direct = f
                .split(first)
                .1
                .iter()
                .fold(f.split(first).0.iter().cloned().collect(), |sum: Form, (v, c)| sum.plus(c, &stands[*v]));
            assert_eq!(once, direct);
        }
    }
}
