//! Exact sparse linear forms in the variables of a certificate.

use crate::lines::{Fault, Words, natural, number};
use crate::meter::{Meter, words};
use crease_number::Rational;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

/// A variable. The order is that of elimination: kinks go first, from the last to the first, then relus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Var {
    /// A coordinate of the direction.
    D(u32),
    /// A relu of the proof.
    Z(u32),
    /// A kink of the model.
    K(u32),
}

impl Var {
    fn parse(word: &str) -> Option<Var> {
        let kind = match word.as_bytes().first()? {
            b'd' => Var::D,
            b'z' => Var::Z,
            b'k' => Var::K,
            _ => return None,
        };
        natural(&word[1..]).map(kind)
    }

    pub fn is_direction(self) -> bool {
        matches!(self, Var::D(_))
    }
}

impl fmt::Display for Var {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Var::D(i) => write!(f, "d{i}"),
            Var::Z(i) => write!(f, "z{i}"),
            Var::K(i) => write!(f, "k{i}"),
        }
    }
}

/// The variables that may stand in a form: the first so many of each kind.
#[derive(Clone, Copy, Debug)]
pub struct Scope {
    pub d: u32,
    pub z: u32,
    pub k: u32,
}

impl Scope {
    fn has(self, v: Var) -> bool {
        match v {
            Var::D(i) => i < self.d,
            Var::Z(i) => i < self.z,
            Var::K(i) => i < self.k,
        }
    }

    /// In words, for messages.
    fn shown(self) -> String {
        let kinds = [("d", self.d), ("z", self.z), ("k", self.k)];
        let some: Vec<String> = kinds
            .iter()
            .filter(|(_, n)| *n > 0)
            .map(|(v, n)| if *n == 1 { format!("{v}0") } else { format!("{v}0 to {v}{}", n - 1) })
            .collect();
        if some.is_empty() { "no variable".into() } else { some.join(", ") }
    }
}

/// A linear form: terms by variable, none zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Form(Vec<(Var, Rational)>);

impl Form {
    /// The form that the rest of a line is.
    pub fn last(line: &mut Words<'_>, scope: Scope) -> Result<Form, Fault> {
        let form = Form::parse(line, scope)?;
        line.finish()?;
        Ok(form)
    }

    /// A form up to the end of the line or to a `;`, which is left there.
    pub fn parse(line: &mut Words<'_>, scope: Scope) -> Result<Form, Fault> {
        let mut terms = Vec::new();
        if line.peek() == Some("0") {
            line.next()?;
            return match line.peek() {
                None | Some(";") => Ok(Form(terms)),
                found => Err(Fault::expected("nothing behind the form `0`", found)),
            };
        }
        while !matches!(line.peek(), None | Some(";")) {
            terms.push(term(line.need("a term")?, scope)?);
        }
        if terms.is_empty() {
            let found = line.peek().unwrap_or_default();
            return Err(Fault::expected("a form such as `1*d0 -3/2*d1`, or `0`", Some(found)));
        }
        terms.sort_unstable_by_key(|t| t.0);
        match terms.windows(2).find(|w| w[0].0 == w[1].0) {
            Some(w) => Err(Fault::new(format!("{} stands in the form twice", w[0].0))),
            None => Ok(Form(terms)),
        }
    }

    /// One variable.
    pub fn variable(v: Var) -> Form {
        Form(vec![(v, Rational::ONE)])
    }

    pub fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the direction alone stands in it.
    pub fn is_in_directions(&self) -> bool {
        self.0.last().is_none_or(|t| t.0.is_direction())
    }

    pub fn terms(&self) -> &[(Var, Rational)] {
        &self.0
    }

    /// The coefficient of a variable, if it is not zero.
    pub fn coefficient(&self, v: Var) -> Option<&Rational> {
        self.0.binary_search_by_key(&v, |t| t.0).ok().map(|i| &self.0[i].1)
    }

    /// Adds one term.
    pub fn add_term(&mut self, c: &Rational, v: Var, meter: &mut Meter<'_>) -> Result<(), Fault> {
        match self.0.binary_search_by_key(&v, |t| t.0) {
            Err(place) => {
                // the terms behind are moved
                meter.spend((self.0.len() - place) as u64)?;
                self.0.insert(place, (v, c.clone()));
            }
            Ok(place) => {
                meter.operation(words(c) + words(&self.0[place].1))?;
                let sum = &self.0[place].1 + c;
                meter.short(&sum)?;
                if sum.is_zero() {
                    self.0.remove(place);
                } else {
                    self.0[place].1 = sum;
                }
            }
        }
        Ok(())
    }
}

/// `COEFFICIENT*VARIABLE`.
fn term(word: &str, scope: Scope) -> Result<(Var, Rational), Fault> {
    let expected = || Fault::expected("a term such as `-3/2*d1`", Some(word));
    let (c, v) = word.split_once('*').ok_or_else(expected)?;
    let (c, v) = (number(c)?, Var::parse(v).ok_or_else(expected)?);
    if c.is_zero() {
        return Err(Fault::expected("a coefficient that is not 0", Some(word)));
    }
    if !scope.has(v) {
        return Err(Fault::new(format!("{v} cannot be used here; there is {}", scope.shown())));
    }
    Ok((v, c))
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_zero() {
            return f.write_str("0");
        }
        for (i, (v, c)) in self.0.iter().enumerate() {
            write!(f, "{}{}*{v}", if i == 0 { "" } else { " " }, c.fraction())?;
        }
        Ok(())
    }
}

/// A form that is being computed.
#[derive(Default)]
pub struct Sum {
    terms: BTreeMap<Var, Rational>,
    words: u64,
}

impl Sum {
    /// A form by itself.
    pub fn of(factor: &Rational, form: &Form, meter: &mut Meter<'_>) -> Result<Sum, Fault> {
        let mut sum = Sum::default();
        sum.add(factor, form, meter)?;
        Ok(sum)
    }

    /// Adds `factor * form`.
    pub fn add(&mut self, factor: &Rational, form: &Form, meter: &mut Meter<'_>) -> Result<(), Fault> {
        if factor.is_zero() {
            return Ok(());
        }
        let long = words(factor);
        for (v, c) in form.terms() {
            match self.terms.entry(*v) {
                Entry::Vacant(e) => {
                    meter.operation(long + words(c))?;
                    let product = factor * c;
                    meter.short(&product)?;
                    self.words += words(&product);
                    e.insert(product);
                }
                Entry::Occupied(mut e) => {
                    let before = words(e.get());
                    meter.operation(long + words(c) + before)?;
                    e.get_mut().add_mul(factor, c);
                    meter.short(e.get())?;
                    self.words -= before;
                    if e.get().is_zero() {
                        e.remove();
                    } else {
                        self.words += words(e.get());
                    }
                }
            }
            meter.room(self.words)?;
        }
        Ok(())
    }

    pub fn is_zero(&self) -> bool {
        self.terms.is_empty()
    }

    /// Whether it consists of relus, none with a negative coefficient, so that it is nowhere negative.
    pub fn is_sum_of_relus(&self) -> bool {
        self.terms.iter().all(|(v, c)| matches!(v, Var::Z(_)) && !c.is_negative())
    }

    /// The last variable, if it is one to eliminate, taken out with its coefficient.
    pub fn pop(&mut self, eliminate: impl Fn(Var) -> bool) -> Option<(Var, Rational)> {
        let last = self.terms.last_entry().filter(|e| eliminate(*e.key()))?;
        let (v, c) = last.remove_entry();
        self.words -= words(&c);
        Some((v, c))
    }

    /// Takes a variable out and returns its coefficient.
    pub fn remove(&mut self, v: Var) -> Option<Rational> {
        let c = self.terms.remove(&v)?;
        self.words -= words(&c);
        Some(c)
    }

    /// The factor c with `self = c * form`, if there is exactly one, and it is not 0.
    pub fn ratio(&self, form: &Form, meter: &mut Meter<'_>) -> Result<Option<Rational>, Fault> {
        if self.terms.len() != form.terms().len() {
            return Ok(None);
        }
        let mut ratio: Option<Rational> = None;
        for ((v, a), (w, b)) in self.terms.iter().zip(form.terms()) {
            if v != w {
                return Ok(None);
            }
            meter.operation(words(a) + words(b) + ratio.as_ref().map_or(0, words))?;
            match &ratio {
                None => ratio = a.checked_div(b),
                Some(c) if &(c * b) != a => return Ok(None),
                Some(_) => {}
            }
        }
        Ok(ratio)
    }

    /// Whether the two are equal up to a positive factor; `negative` turns the form round first.
    pub fn is_positive_multiple(&self, form: &Form, negative: bool, meter: &mut Meter<'_>) -> Result<bool, Fault> {
        if self.is_zero() || form.is_zero() {
            return Ok(self.is_zero() && form.is_zero());
        }
        let ratio = self.ratio(form, meter)?;
        Ok(ratio.is_some_and(|c| c.is_negative() == negative))
    }

    pub fn finish(self) -> Form {
        Form(self.terms.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Effort;

    const SCOPE: Scope = Scope { d: 3, z: 2, k: 1 };

    fn form(text: &str) -> Result<Form, Fault> {
        Form::last(&mut Words::new(text), SCOPE)
    }

    #[test]
    fn forms_are_sorted_and_print_back() {
        assert_eq!(form("2*k0 -1*z1 1/2*d2").unwrap().to_string(), "1/2*d2 -1*z1 2*k0");
        assert_eq!(form("0").unwrap().to_string(), "0");
        let bad = [
            "",
            "1*d3",
            "1*z2",
            "1*k1",
            "1*d0 2*d0",
            "0*d0",
            "d0",
            "1*",
            "*d0",
            "1*d00",
            "0 1*d0",
            "1*d0 0",
            "1*d0 ; 1*d1",
        ];
        for bad in bad {
            assert!(form(bad).is_err(), "{bad}");
        }
        assert_eq!(form("1*z7").unwrap_err().0, "z7 cannot be used here; there is d0 to d2, z0 to z1, k0");
    }

    #[test]
    fn multiples() {
        let meter = &mut Meter::new(Effort::default(), 0);
        let (a, b) = (form("2*d0 -4*z1").unwrap(), form("-1*d0 2*z1").unwrap());
        let sum = Sum::of(&Rational::ONE, &a, meter).unwrap();
        assert_eq!(sum.ratio(&b, meter).unwrap(), Some(Rational::from(-2)));
        assert!(sum.is_positive_multiple(&b, true, meter).unwrap());
        assert!(!sum.is_positive_multiple(&b, false, meter).unwrap());
        for other in ["0", "1*d0", "2*d0 4*z1", "2*d0 -4*z0", "2*d0 -4*z1 1*k0"] {
            let other = form(other).unwrap();
            assert_eq!(sum.ratio(&other, meter).unwrap(), None);
            assert!(!sum.is_positive_multiple(&other, false, meter).unwrap());
        }
        assert!(Sum::default().is_positive_multiple(&Form::default(), true, meter).unwrap());
    }

    #[test]
    fn sums_cancel() {
        let meter = &mut Meter::new(Effort::default(), 0);
        let mut sum = Sum::of(&Rational::from(3), &form("1*d0 1*z0 1*k0").unwrap(), meter).unwrap();
        assert_eq!(sum.pop(|v| !v.is_direction()), Some((Var::K(0), Rational::from(3))));
        assert_eq!(sum.pop(|v| !v.is_direction()), Some((Var::Z(0), Rational::from(3))));
        assert_eq!(sum.pop(|v| !v.is_direction()), None);
        sum.add(&Rational::from(-1), &form("3*d0").unwrap(), meter).unwrap();
        assert!(sum.is_zero() && sum.words == 0);
    }
}
