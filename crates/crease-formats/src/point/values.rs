//! Reading names and values: numbers and nested lists of them, without recursion.

use super::PointError;
use crease_core::{Rational, Shape};

/// The most axes that a value may have.
const MAX_RANK: usize = 32;

/// A text and how far it has been read.
pub(super) struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    pub fn new(text: &'t str) -> Self {
        Reader { text, at: 0 }
    }

    /// Whether only blanks are left.
    pub fn at_end(&mut self) -> bool {
        self.blanks();
        self.at == self.text.len()
    }

    /// A name and the `=` after it.
    pub fn name(&mut self) -> Result<&'t str, PointError> {
        self.blanks();
        let rest = &self.text[self.at..];
        let word = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        let name = &rest[..word];
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(self.fault("expected a name, as in x=0"));
        }
        self.at += word;
        self.blanks();
        if !self.text[self.at..].starts_with('=') {
            return Err(self.fault(&format!("expected `=` after `{}`", cut(name))));
        }
        self.at += 1;
        Ok(name)
    }

    /// A comma, if there is one; nothing else may come but the end.
    pub fn comma(&mut self) -> Result<bool, PointError> {
        if self.at_end() {
            return Ok(false);
        }
        if !self.text[self.at..].starts_with(',') {
            return Err(self.fault("expected `,` and the next name"));
        }
        self.at += 1;
        Ok(true)
    }

    /// A number or nested lists of numbers.
    pub fn value(&mut self, name: &str) -> Result<(Shape, Vec<Rational>), PointError> {
        let ragged = |why: &str| Err(PointError::Ragged { name: name.into(), why: why.into() });
        let mut values = Vec::new();
        // how many parts each open list has so far, and how many closed lists of that depth had
        let mut open: Vec<usize> = Vec::new();
        let mut dims: Vec<Option<usize>> = Vec::new();
        let mut leaf: Option<usize> = None;
        loop {
            // one part: a number, or a list that begins
            self.blanks();
            if self.text[self.at..].starts_with('[') {
                self.at += 1;
                open.push(0);
                if open.len() > MAX_RANK {
                    return ragged("lists can be nested 32 deep");
                }
                if leaf.is_some_and(|leaf| open.len() > leaf) {
                    return ragged("a list stands where a number stood before");
                }
                dims.resize(dims.len().max(open.len()), None);
                self.blanks();
                if self.text[self.at..].starts_with(']') {
                    return ragged("an empty list has no shape");
                }
                continue;
            }
            values.push(self.number(name)?);
            if *leaf.get_or_insert(open.len()) != open.len() {
                return ragged("a number stands where a list stood before");
            }
            // what closes after it
            loop {
                let Some(count) = open.last_mut() else {
                    let dims: Vec<usize> = dims.into_iter().flatten().collect();
                    let shape = Shape::new(dims);
                    return match shape {
                        Ok(shape) => Ok((shape, values)),
                        Err(e) => ragged(&e.to_string()),
                    };
                };
                *count += 1;
                self.blanks();
                let rest = &self.text[self.at..];
                if rest.starts_with(',') {
                    self.at += 1;
                    break;
                }
                if !rest.starts_with(']') {
                    return Err(self.fault("expected `,` or `]`"));
                }
                self.at += 1;
                let depth = open.len() - 1;
                let count = open.pop().unwrap_or(0);
                let expected = *dims[depth].get_or_insert(count);
                if expected != count {
                    return ragged(&format!("a list has {count} parts where the one before has {expected}"));
                }
            }
        }
    }

    fn number(&mut self, name: &str) -> Result<Rational, PointError> {
        let rest = &self.text[self.at..];
        let (word, taken) = match rest.strip_prefix('"') {
            Some(quoted) => match quoted.find('"') {
                Some(end) => (&quoted[..end], end + 2),
                None => return Err(self.fault("expected `\"`")),
            },
            None => {
                let end = rest.find([',', '[', ']']).unwrap_or(rest.len());
                (&rest[..end], end)
            }
        };
        let word = word.trim();
        if word.is_empty() {
            return Err(self.fault(&format!("expected a number for `{}`", cut(name))));
        }
        let unsigned = word.trim_start_matches(['-', '+', '~']);
        let name = || name.to_string();
        if unsigned.eq_ignore_ascii_case("nan") {
            return Err(PointError::NotFinite { name: name(), what: "NaN" });
        }
        if unsigned.eq_ignore_ascii_case("inf") || unsigned.eq_ignore_ascii_case("infinity") {
            return Err(PointError::NotFinite { name: name(), what: "infinite" });
        }
        match word.parse::<Rational>() {
            Ok(number) => {
                self.at += taken;
                Ok(number)
            }
            Err(e) => {
                let looks_right = unsigned.bytes().all(|b| b.is_ascii_digit() || b"+-./eE".contains(&b));
                let why = if looks_right { e.to_string() } else { String::new() };
                Err(PointError::NotANumber { name: name(), text: cut(word), why })
            }
        }
    }

    fn blanks(&mut self) {
        self.at = self.text.len() - self.text[self.at..].trim_start().len();
    }

    fn fault(&self, why: &str) -> PointError {
        PointError::Syntax { at: self.text[..self.at].chars().count(), why: why.into() }
    }
}

/// A piece of input for a message.
fn cut(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into(),
    }
}
