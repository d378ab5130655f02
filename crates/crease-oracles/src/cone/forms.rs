//! A table of linear forms in the direction, each kept once up to scale.
//!
//! What enters is a form; what leaves is its number, its sign and its positive factor. Two differences
//! of members that are proportional describe the same hyperplane, so they must be the same form for everything that splits
//! cones. Coefficients of a kept form are coprime integers of which the first is positive; a copy in floats, with coordinates beside them and a
//! bound on what rounding does, decides most signs, and exact numbers decide the rest.

use crease_core::local::Form;
use crease_core::number::Rational;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::rc::Rc;

/// The number of a form in [`Forms`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FormId(pub(super) u32);

impl FormId {
    /// The number, counted from 0 in the order of interning.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A kept form or its negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Signed {
    /// The form.
    pub form: FormId,
    /// Whether its negative is meant.
    pub negative: bool,
}

impl Signed {
    /// The form with the other sign.
    pub fn opposite(self) -> Signed {
        Signed { form: self.form, negative: !self.negative }
    }
}

/// The forms that were met so far.
#[derive(Clone, Debug)]
pub(crate) struct Forms {
    dimension: usize,
    ids: HashMap<Rc<Form>, FormId>,
    kept: Vec<Kept>,
}

#[derive(Clone, Debug)]
struct Kept {
    exact: Rc<Form>,
    /// The coordinates, with the nearest floats.
    near: Box<[(usize, f64)]>,
    /// The largest coefficient.
    size: Rational,
    /// The error of the dot product, relative to the sum of the absolute values of its terms.
    slack: f64,
}

impl Forms {
    /// No forms yet, in directions of so many coordinates.
    pub fn new(dimension: usize) -> Self {
        Forms { dimension, ids: HashMap::new(), kept: Vec::new() }
    }

    /// The number of a form: what was given is the signed form times the factor, which is positive. Nothing for the form that is zero.
    pub fn intern(&mut self, form: &Form) -> Option<(Signed, Rational)> {
        debug_assert!(form.split(self.dimension).1.is_empty());
        let content = form.content()?;
        let primitive = match content.is_one() {
            true => Cow::Borrowed(form),
            false => Cow::Owned(form.scaled(&content.inv()?)),
        };
        let form = match self.ids.get(&*primitive) {
            Some(&form) => form,
            None => self.keep(primitive.into_owned()),
        };
        Some((Signed { form, negative: content.is_negative() }, content.abs()))
    }

    fn keep(&mut self, primitive: Form) -> FormId {
        let form = FormId(self.kept.len() as u32);
        let near: Box<[(usize, f64)]> = primitive.terms().iter().map(|(i, c)| (*i, c.to_f64())).collect();
        let size = primitive.terms().iter().map(|(_, c)| c.abs()).max().unwrap_or_default();
        // one rounding for the coefficient, one for the product, and one for each sum; twice that is more than enough
        let slack = (near.len() + 3) as f64 * f64::EPSILON;
        let exact = Rc::new(primitive);
        self.ids.insert(exact.clone(), form);
        self.kept.push(Kept { exact, near, size, slack });
        form
    }

    /// The form as it is kept: in coprime integers, the first of them positive.
    pub fn exact(&self, form: FormId) -> &Form {
        &self.kept[form.index()].exact
    }

    /// The coordinates and their coefficients as floats.
    pub fn near(&self, form: FormId) -> impl Iterator<Item = (usize, f64)> {
        self.kept[form.index()].near.iter().copied()
    }

    /// The largest absolute value of a coefficient.
    pub fn size(&self, form: FormId) -> &Rational {
        &self.kept[form.index()].size
    }

    /// The coordinate that the form is, if it is one.
    pub fn coordinate(&self, form: FormId) -> Option<usize> {
        match self.exact(form).terms() {
            [(i, _)] => Some(*i),
            _ => None,
        }
    }

    /// The sign at a direction of floats, if rounding leaves no doubt.
    pub fn quick_sign(&self, form: FormId, direction: &[f64]) -> Option<Ordering> {
        let kept = &self.kept[form.index()];
        let (mut sum, mut size) = (0.0, 0.0);
        for (i, c) in &kept.near {
            let x = c * direction[*i];
            sum += x;
            size += x.abs();
        }
        // products too small for full precision lose less than this each
        let error = kept.slack * size + kept.near.len() as f64 * f64::MIN_POSITIVE;
        if !error.is_finite() {
            return None;
        }
        if sum > error {
            Some(Ordering::Greater)
        } else if sum < -error {
            Some(Ordering::Less)
        } else {
            None
        }
    }

    /// The sign at a direction of finite floats, exactly.
    pub fn sign(&self, form: FormId, direction: &[f64]) -> Ordering {
        self.quick_sign(form, direction).unwrap_or_else(|| {
            let mut sum = Rational::ZERO;
            for (i, c) in self.exact(form).terms() {
                sum.add_mul(c, &Rational::from_f64(direction[*i]).unwrap_or_default());
            }
            sum.cmp(&Rational::ZERO)
        })
    }

    /// The value at an exact direction.
    pub fn value(&self, form: FormId, direction: &[Rational]) -> Rational {
        self.exact(form).at(direction)
    }

    /// The sign at an exact direction.
    pub fn exact_sign(&self, form: FormId, direction: &[Rational]) -> Ordering {
        self.value(form, direction).cmp(&Rational::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crease_core::random::SplitMix64;

    fn terms(list: &[(usize, &str)]) -> Form {
        list.iter().map(|(i, c)| (*i, c.parse().unwrap())).collect()
    }

    #[test]
    fn proportional_forms_are_one() {
        let mut forms = Forms::new(3);
        let (a, factor) = forms.intern(&terms(&[(0, "2/3"), (2, "-4/5")])).unwrap();
        assert_eq!((a.negative, factor.fraction().as_str()), (false, "2/15"));
        assert_eq!(*forms.exact(a.form), terms(&[(0, "5"), (2, "-6")]));
        let (b, factor) = forms.intern(&terms(&[(0, "-10"), (2, "12")])).unwrap();
        assert_eq!((b, factor), (a.opposite(), Rational::from(2)));
        let (c, _) = forms.intern(&terms(&[(1, "-1e40")])).unwrap();
        assert_eq!((c.negative, forms.coordinate(c.form), forms.coordinate(a.form)), (true, Some(1), None));
        let big = terms(&[(0, "3e40"), (1, "6e40"), (2, "1e40")]);
        assert_eq!(forms.intern(&big).unwrap().1, "1e40".parse().unwrap());
        assert_eq!(forms.intern(&terms(&[(0, "0")])), None);
        assert_eq!(forms.intern(&Form::default()), None);
        assert_eq!(forms.kept.len(), 3);
    }

    /// Coefficients and directions that nearly cancel: the filter may abstain, and must not be wrong.
    #[test]
    fn quick_signs_are_true() {
        let mut random = SplitMix64::new(3);
        let (mut told, mut abstained) = (0, 0);
        for _ in 0..20_000 {
            let mut forms = Forms::new(4);
            let coefficients: Form =
                (0..4).map(|i| (i, Rational::from((random.bits() >> (random.bits() % 60)) as i64))).collect();
            let Some((form, _)) = forms.intern(&coefficients) else { continue };
            let mut d: Vec<f64> = (0..4).map(|_| (random.bits() as i64) as f64 * 1e-18).collect();
            // the last coordinate makes the sum as small as it can be
            let last = forms.exact(form.form).terms().last().unwrap().clone();
            let rest: f64 = forms.near(form.form).filter(|t| t.0 != last.0).map(|(i, c)| c * d[i]).sum();
            d[last.0] = -rest / last.1.to_f64() * (1.0 + (random.below(81) as f64 - 40.0) * f64::EPSILON);
            let exact: Vec<Rational> = d.iter().map(|x| Rational::from_f64(*x).unwrap()).collect();
            let truth = forms.exact_sign(form.form, &exact);
            assert_eq!(forms.sign(form.form, &d), truth);
            match forms.quick_sign(form.form, &d) {
                Some(sign) => {
                    assert_eq!(sign, truth);
                    told += 1
                }
                None => abstained += 1,
            }
        }
        assert!(abstained > 1000 && told > 100, "{told} told, {abstained} not");
        let mut forms = Forms::new(2);
        let (f, _) = forms.intern(&terms(&[(0, "1"), (1, "1")])).unwrap();
        assert_eq!(forms.quick_sign(f.form, &[f64::MAX, f64::MAX]), None);
        assert_eq!(forms.sign(f.form, &[f64::MAX, f64::MAX]), Ordering::Greater);
        assert_eq!(forms.sign(f.form, &[1e-320, -2e-320]), Ordering::Less);
    }
}
