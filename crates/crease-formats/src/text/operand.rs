//! What lies on the operand stack while an expression is read, and how it is read as a parameter.
//!
//! Numbers and lists of numbers are not made into values until they are used as such: `[3, 2]` is a shape in
//! `reshape(x, [3, 2])` and a tensor in `x + [3, 2]`, and `2/3` must not leave 2 and 3 behind in the table of constants.

use super::error::TextError;
use crease_core::{Atom, Layout, Place, Rational, Shape};

/// The most axes that a shape in a text may have. Only mistakes have more.
pub(crate) const MAX_RANK: usize = 32;

/// An operand with the range of bytes it came from.
pub(crate) struct Operand {
    pub kind: Kind,
    pub start: u32,
    pub end: u32,
}

/// What an operand is.
pub(crate) enum Kind {
    /// A number, not yet a constant of the program.
    Number(Rational),
    /// A value of the program.
    Value(Atom),
    /// A list of numbers, not yet a tensor.
    List(Box<List>),
    /// The results of an operation that has not exactly one.
    Several(Box<[Atom]>),
    /// A piece of an `assemble`.
    Put(Box<(Atom, Layout)>),
    /// A bare word, the value of a setting such as `ties=last`. The text is that of the range.
    Word,
    /// The name of the setting whose value follows it on the stack.
    Key,
}

/// Numbers in row-major order, from nested brackets.
pub(crate) struct List {
    pub dims: Vec<usize>,
    pub data: Vec<Rational>,
}

impl Operand {
    pub fn place(&self) -> Place {
        Place { start: self.start, end: self.end }
    }

    /// The exact number that was written. `what` says in a message what it is for.
    pub fn number(&self, what: &str) -> Result<Rational, TextError> {
        match &self.kind {
            Kind::Number(r) => Ok(r.clone()),
            _ => Err(TextError::new(format!("{what} must be a number, known when the text is read"), self.place())),
        }
    }

    /// The integer that was written.
    pub fn integer(&self, what: &str) -> Result<i64, TextError> {
        match &self.kind {
            Kind::Number(r) => integer(r).ok_or_else(|| wanted(what, "an integer", self.place())),
            _ => Err(wanted(what, "an integer", self.place())),
        }
    }

    /// The count that was written: an integer from 0 to 2^31.
    pub fn count(&self, what: &str) -> Result<usize, TextError> {
        let n = self.integer(what)?;
        count(n).ok_or_else(|| wanted(what, "an integer from 0 to 2^31", self.place()))
    }

    /// The flat list of integers that was written.
    pub fn integers(&self, what: &str) -> Result<Vec<i64>, TextError> {
        let fail = || wanted(what, "a list of integers, such as [3, 2]", self.place());
        match &self.kind {
            Kind::List(list) if list.dims.len() <= 1 => list.data.iter().map(|r| integer(r).ok_or_else(fail)).collect(),
            _ => Err(fail()),
        }
    }

    /// The flat list of counts that was written.
    pub fn counts(&self, what: &str) -> Result<Vec<usize>, TextError> {
        let fail = || wanted(what, "a list of integers from 0 to 2^31, such as [3, 2]", self.place());
        self.integers(what)?.into_iter().map(|n| count(n).ok_or_else(fail)).collect()
    }

    /// The shape that was written as a list.
    pub fn shape(&self) -> Result<Shape, TextError> {
        let dims = self.counts("a shape")?;
        checked_shape(dims, self.place())
    }

    /// One integer for all of so many axes, or a list of one for each.
    pub fn for_each(&self, axes: usize, what: &str) -> Result<Vec<usize>, TextError> {
        if let Kind::Number(_) = self.kind {
            return Ok(vec![self.count(what)?; axes]);
        }
        let counts = self.counts(what)?;
        if counts.len() == axes {
            return Ok(counts);
        }
        let form = match axes {
            1 => "one integer".into(),
            2 => "one integer or [rows, columns]".into(),
            n => format!("one integer or a list of {n}"),
        };
        Err(wanted(what, &form, self.place()))
    }

    /// A truth value, written 0 or 1.
    pub fn truth(&self, what: &str) -> Result<bool, TextError> {
        match self.integer(what) {
            Ok(0) => Ok(false),
            Ok(1) => Ok(true),
            _ => Err(wanted(what, "0 or 1", self.place())),
        }
    }
}

/// A shape with the limits of the text language.
pub(crate) fn checked_shape(dims: Vec<usize>, place: Place) -> Result<Shape, TextError> {
    if dims.len() > MAX_RANK {
        return Err(TextError::new(
            format!("a shape can have {MAX_RANK} axes here, this one has {}", dims.len()),
            place,
        ));
    }
    Shape::new(dims).map_err(|e| TextError::new(e.to_string(), place))
}

/// The value of a small integer.
pub(crate) fn integer(r: &Rational) -> Option<i64> {
    r.small_parts().filter(|&(_, den)| den == 1).map(|(num, _)| num)
}

fn count(n: i64) -> Option<usize> {
    usize::try_from(n).ok().filter(|&n| n <= crease_core::shape::MAX_ELEMENTS)
}

fn wanted(what: &str, form: &str, place: Place) -> TextError {
    TextError::new(format!("{what} must be {form}"), place)
}
