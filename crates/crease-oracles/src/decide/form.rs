//! Linear forms in the coordinates of the direction and in relus.

use crease_core::number::Rational;
use std::fmt;

/// A linear form over one list of variables: coordinates of the direction first, then relus. Sparse, ascending, none zero.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub(crate) struct Form(Vec<(u32, Rational)>);

impl Form {
    /// A form from terms in ascending order.
    pub fn new(terms: Vec<(u32, Rational)>) -> Form {
        debug_assert!(terms.is_sorted_by(|a, b| a.0 < b.0) && terms.iter().all(|t| !t.1.is_zero()));
        Form(terms)
    }

    /// One variable.
    pub fn variable(v: u32) -> Form {
        Form(vec![(v, Rational::ONE)])
    }

    pub fn terms(&self) -> &[(u32, Rational)] {
        &self.0
    }

    pub fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    /// The last variable and its coefficient.
    pub fn last(&self) -> Option<&(u32, Rational)> {
        self.0.last()
    }

    /// All but the last term.
    pub fn without_last(&self) -> Form {
        Form(self.0[..self.0.len().saturating_sub(1)].to_vec())
    }

    /// `self + factor * other`.
    pub fn plus(&self, factor: &Rational, other: &Form) -> Form {
        let mut out = Vec::with_capacity(self.0.len() + other.0.len());
        let (mut a, mut b) = (self.0.iter().peekable(), other.0.iter().peekable());
        loop {
            let next = match (a.peek(), b.peek()) {
                (None, None) => return Form(out),
                (Some(x), Some(y)) if x.0 == y.0 => {
                    let mut sum = x.1.clone();
                    sum.add_mul(factor, &y.1);
                    let v = x.0;
                    a.next();
                    b.next();
                    (v, sum)
                }
                (Some(x), y) if y.is_none_or(|y| x.0 < y.0) => {
                    let x = (*x).clone();
                    a.next();
                    x
                }
                (_, Some(y)) => {
                    let y = (y.0, factor * &y.1);
                    b.next();
                    y
                }
                (Some(_), None) => unreachable!("taken by the arm before"),
            };
            if !next.1.is_zero() {
                out.push(next);
            }
        }
    }

    /// The form divided by its first coefficient, and that coefficient; nothing for the zero form.
    pub fn monic(&self) -> Option<(Form, Rational)> {
        let lead = self.0.first()?.1.clone();
        Some((self.scaled(&lead.inv()?), lead))
    }

    /// The form divided by the size of its first coefficient: what all positive multiples of it share.
    pub fn ray(&self) -> Form {
        let scale = self.0.first().and_then(|t| t.1.abs().inv());
        scale.map_or_else(Form::default, |s| self.scaled(&s))
    }

    fn scaled(&self, factor: &Rational) -> Form {
        if factor.is_one() {
            return self.clone();
        }
        Form(self.0.iter().map(|(v, c)| (*v, c * factor)).collect())
    }

    pub fn negated(&self) -> Form {
        Form(self.0.iter().map(|(v, c)| (*v, -c)).collect())
    }

    /// The terms of relus.
    pub fn relus(&self, dimension: usize) -> &[(u32, Rational)] {
        &self.0[self.0.partition_point(|t| (t.0 as usize) < dimension)..]
    }

    /// The form as certificates have it, where the variables from `dimension` on are relus.
    pub fn show(&self, dimension: usize) -> impl fmt::Display + '_ {
        Shown { form: self, dimension }
    }
}

struct Shown<'f> {
    form: &'f Form,
    dimension: usize,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.form.is_zero() {
            return f.write_str("0");
        }
        for (i, (v, c)) in self.form.0.iter().enumerate() {
            let blank = if i == 0 { "" } else { " " };
            match (*v as usize).checked_sub(self.dimension) {
                None => write!(f, "{blank}{}*d{v}", c.fraction())?,
                Some(z) => write!(f, "{blank}{}*z{z}", c.fraction())?,
            }
        }
        Ok(())
    }
}
