//! Indices and slices: `x[1, 2]`, `x[0:2, :, ::2]`, `x[-1]`.
//!
//! Indices count from 0, negative ones from the end. An index takes its axis away, a slice keeps it; axes that are not
//! mentioned are kept whole. A slice that leaves its axis is refused rather than cut short.

use super::error::TextError;
use super::lexer::{Lexeme, Token};
use super::operand::{Kind, integer};
use super::parser::Parser;
use crease_core::{Layout, Place, Rational, Shape};

/// What is written for one axis.
enum Entry {
    At(i64),
    Range { first: Option<i64>, end: Option<i64>, step: i64 },
}

impl Parser<'_> {
    /// Applies the index whose bracket has just been read to the operand before it.
    pub fn index(&mut self, open: Lexeme) -> Result<(), TextError> {
        let mut entries = Vec::new();
        let end = loop {
            if let Some(close) = self.lexer.take(Token::CloseList)? {
                break close.end;
            }
            let from = self.lexer.peek()?.start;
            let entry = self.index_entry()?;
            let until = self.lexer.peek()?;
            entries.push((entry, Place { start: from, end: until.start.max(from) }));
            match until.token {
                Token::Comma => _ = self.lexer.next()?,
                Token::CloseList => {}
                _ => return Err(self.not_an_index(until, open)),
            }
        };
        let x = self.operands.pop().expect("an index follows its operand");
        let place = Place { start: x.start, end };
        if entries.is_empty() {
            return Err(TextError::new("an index is missing between the brackets", place).help("write x[0] or x[0:2]"));
        }
        let atom = self.atom(x)?;
        let shape = self.builder.shape(atom);
        let (layout, to) = read_through(&shape, &entries, place)?;
        let part = self.build(place, |b| b.view(atom, layout, to))?;
        self.push(Kind::Value(part), place);
        Ok(())
    }

    fn index_entry(&mut self) -> Result<Entry, TextError> {
        let first = self.index_number()?;
        if self.lexer.take(Token::Colon)?.is_none() {
            return match first {
                Some(i) => Ok(Entry::At(i)),
                None => {
                    let found = self.lexer.peek()?;
                    Err(self.expected("an index", found).help("an index is an integer literal or a range such as 0:2"))
                }
            };
        }
        let end = self.index_number()?;
        let step = match self.lexer.take(Token::Colon)? {
            Some(_) => self.index_number()?.unwrap_or(1),
            None => 1,
        };
        Ok(Entry::Range { first, end, step })
    }

    fn index_number(&mut self) -> Result<Option<i64>, TextError> {
        let minus = self.lexer.take(Token::Minus)?;
        let lexeme = self.lexer.peek()?;
        if lexeme.token != Token::Number {
            return match minus {
                Some(_) => Err(self.expected("an integer", lexeme)),
                None => Ok(None),
            };
        }
        self.lexer.next()?;
        let number = self.lexer.text(lexeme).parse::<Rational>().ok().as_ref().and_then(integer);
        // far below the range of i64, so that sums of a few of them are safe
        match number.filter(|n| n.abs() <= 1 << 40) {
            Some(n) => Ok(Some(if minus.is_some() { -n } else { n })),
            None => Err(TextError::new("an index must be an integer", self.place_of(lexeme))),
        }
    }

    fn not_an_index(&self, found: Lexeme, open: Lexeme) -> TextError {
        let error = self.expected("`,`, `:` or `]`", found);
        match found.token {
            Token::End => error.help(format!("the `[` at {} is still open", self.where_is(open.start))),
            _ => error.help("indices are integer literals; to pick positions use gather(x, [0, 2], axis=0)"),
        }
    }
}

/// Where the elements of the part lie, and its shape.
fn read_through(shape: &Shape, entries: &[(Entry, Place)], place: Place) -> Result<(Layout, Shape), TextError> {
    if entries.len() > shape.rank() {
        if shape.is_scalar() {
            return Err(TextError::new("a scalar has no elements to pick", place).help(
                "an input gets its shape where it is declared, as in v[3]; that of a bare expression, from the point",
            ));
        }
        return Err(TextError::new(format!("{} indices are too many for shape {shape}", entries.len()), place));
    }
    let mut offset = 0i64;
    let mut loops = Vec::new();
    let mut dims = Vec::new();
    for (axis, (&size, &stride)) in shape.dims().iter().zip(&shape.strides()).enumerate() {
        let n = size as i64;
        match entries.get(axis) {
            None => {
                loops.push((size, stride));
                dims.push(size);
            }
            Some((Entry::At(i), at)) => {
                let resolved = if *i < 0 { i + n } else { *i };
                if !(0..n).contains(&resolved) {
                    let message = format!("there is no index {i} on axis {axis} of shape {shape}");
                    return Err(TextError::new(message, *at).help("indices count from 0, negative ones from the end"));
                }
                offset += resolved * stride as i64;
            }
            Some((Entry::Range { first, end, step }, at)) => {
                let (first, count) = range(*first, *end, *step, n).ok_or_else(|| {
                    let message = format!("this range is empty or leaves axis {axis} of shape {shape}");
                    TextError::new(message, *at).help("first:end:step takes first, but not end")
                })?;
                offset += first * stride as i64;
                // of one index the step does not matter, and may be large
                let step = if count == 1 { 1 } else { *step as isize };
                loops.push((count, stride * step));
                dims.push(count);
            }
        }
    }
    let to = Shape::new(dims).map_err(|e| TextError::new(e.to_string(), place))?;
    Ok((Layout::strided(offset as usize, &loops), to))
}

/// The first index and the number of indices of a range on an axis of size n, if it lies inside and holds any.
fn range(first: Option<i64>, end: Option<i64>, step: i64, n: i64) -> Option<(i64, usize)> {
    let resolve = |i: i64| if i < 0 { i + n } else { i };
    let (first, end) = match step.signum() {
        1 => (first.map_or(0, resolve), end.map_or(n, resolve)),
        -1 => (first.map_or(n - 1, resolve), end.map_or(-1, resolve)),
        _ => return None,
    };
    let inside = (0..n).contains(&first) && (-1..=n).contains(&end);
    let span = if step > 0 { end - first } else { first - end };
    if !inside || span <= 0 {
        return None;
    }
    Some((first, ((span - 1) / step.abs() + 1) as usize))
}

#[cfg(test)]
mod tests {
    use super::range;

    #[test]
    fn ranges_are_those_of_arrays() {
        assert_eq!(range(None, None, 1, 5), Some((0, 5)));
        assert_eq!(range(None, None, 2, 5), Some((0, 3)));
        assert_eq!(range(None, None, -1, 5), Some((4, 5)));
        assert_eq!(range(Some(1), Some(-1), 1, 5), Some((1, 3)));
        assert_eq!(range(Some(3), Some(0), -2, 5), Some((3, 2)));
        assert_eq!(range(Some(2), Some(2), 1, 5), None);
        assert_eq!(range(Some(0), Some(6), 1, 5), None);
        assert_eq!(range(Some(0), None, 0, 5), None);
    }
}
