//! Lines and tokens: the text of a certificate, one line after the other, and what to say where it is not what was expected.
//!
//! What enters is bytes. Nothing is trusted: not that they are UTF-8, not that a number is short, not that another line follows.

use crease_number::Rational;

/// The most bits of a number, numerator and denominator together: see the limits in the documentation of the crate.
pub const MAX_BITS: usize = 1 << 18;

/// The most characters of a token that a message repeats.
const SHOWN: usize = 40;

/// What is wrong with the line that was read last.
#[derive(Debug)]
pub struct Fault(pub String);

impl Fault {
    pub fn new(message: impl Into<String>) -> Self {
        Fault(message.into())
    }

    /// `expected ..., found ...`.
    pub fn expected(what: &str, found: Option<&str>) -> Self {
        Fault(format!("expected {what}, found {}", shown(found)))
    }
}

/// A piece of the text as messages show it: short, and without characters that a terminal would obey.
fn shown(found: Option<&str>) -> String {
    match found {
        None => "the end of the text".into(),
        Some("") => "nothing".into(),
        Some(text) => {
            let cut: String = text.chars().take(SHOWN).flat_map(char::escape_debug).collect();
            let dots = if text.chars().nth(SHOWN).is_some() { "..." } else { "" };
            format!("`{cut}{dots}`")
        }
    }
}

/// The lines of a text that are no comments.
pub struct Lines<'a> {
    rest: &'a [u8],
    number: usize,
}

impl<'a> Lines<'a> {
    pub fn new(text: &'a [u8]) -> Self {
        Lines { rest: text, number: 0 }
    }

    /// The number of the line that was read last, from 1; behind the end of the text, the number that the next line would have.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The next line, or `None` at the end of the text.
    pub fn next(&mut self) -> Result<Option<&'a str>, Fault> {
        loop {
            self.number += 1;
            if self.rest.is_empty() {
                return Ok(None);
            }
            let (line, rest) = match self.rest.iter().position(|&b| b == b'\n') {
                Some(end) => (&self.rest[..end], &self.rest[end + 1..]),
                None => (self.rest, &self.rest[self.rest.len()..]),
            };
            self.rest = rest;
            let line = std::str::from_utf8(line).map_err(|_| Fault::new("the line is not UTF-8 text"))?;
            if line.ends_with('\r') {
                return Err(Fault::new("the line ends in a carriage return; lines end in a line feed alone"));
            }
            if !line.starts_with('#') {
                return Ok(Some(line));
            }
        }
    }

    /// The next line, which starts with this word, without it. `usage` is the whole line as the format has it.
    pub fn expect(&mut self, word: &str, usage: &str) -> Result<Words<'a>, Fault> {
        let line = self.next()?;
        let mut words = Words::new(line.unwrap_or_default());
        match line {
            Some(_) if words.peek() == Some(word) => {
                words.next()?;
                Ok(words)
            }
            found => Err(Fault::expected(&format!("`{usage}`"), found)),
        }
    }
}

/// The tokens of a line, separated by single blanks.
#[derive(Clone)]
pub struct Words<'a> {
    rest: Option<&'a str>,
}

impl<'a> Words<'a> {
    pub fn new(line: &'a str) -> Self {
        Words { rest: Some(line) }
    }

    /// The next token, left where it is.
    pub fn peek(&self) -> Option<&'a str> {
        self.clone().take()
    }

    fn take(&mut self) -> Option<&'a str> {
        let rest = self.rest?;
        let (word, rest) = match rest.split_once(' ') {
            Some((word, rest)) => (word, Some(rest)),
            None => (rest, None),
        };
        self.rest = rest;
        Some(word)
    }

    /// The next token, or `None` at the end of the line.
    pub fn next(&mut self) -> Result<Option<&'a str>, Fault> {
        match self.take() {
            Some("") => {
                Err(Fault::new("tokens are separated by single blanks, and a line neither starts nor ends with one"))
            }
            word => Ok(word),
        }
    }

    /// The next token, which has to be there.
    pub fn need(&mut self, what: &str) -> Result<&'a str, Fault> {
        self.next()?.ok_or_else(|| Fault::expected(what, Some("")))
    }

    /// The end of the line.
    pub fn finish(&mut self) -> Result<(), Fault> {
        match self.next()? {
            None => Ok(()),
            found => Err(Fault::expected("the end of the line", found)),
        }
    }

    /// A count: of dimensions, kinks or relus.
    pub fn count(&mut self, what: &str) -> Result<u32, Fault> {
        let word = self.need(what)?;
        natural(word).ok_or_else(|| Fault::expected(&format!("{what}, at most {}", u32::MAX), Some(word)))
    }

    /// A number: an integer, or a fraction in lowest terms.
    pub fn number(&mut self, what: &str) -> Result<Rational, Fault> {
        number(self.need(what)?)
    }
}

/// A natural number in decimal, without leading zeros.
pub fn natural(word: &str) -> Option<u32> {
    if plain(word) && !word.starts_with('-') { word.parse().ok() } else { None }
}

/// Whether this is the text of an integer: no sign but `-`, no leading zeros, and zero has no sign.
fn plain(word: &str) -> bool {
    let digits = word.strip_prefix('-').unwrap_or(word);
    let leading = digits.starts_with('0') && word != "0";
    !digits.is_empty() && !leading && digits.bytes().all(|b| b.is_ascii_digit())
}

/// A literal: the number of an atom, negative for its negation.
pub fn literal(word: &str) -> Option<i32> {
    if plain(word) && word != "0" { word.parse().ok() } else { None }
}

/// An integer, or a fraction in lowest terms: just as [`Rational::fraction`] writes it, so that a number has one text.
pub fn number(word: &str) -> Result<Rational, Fault> {
    let fault = || Fault::expected("an integer or a fraction in lowest terms", Some(word));
    // three decimal digits are less than ten bits
    if word.len() > MAX_BITS / 10 * 3 {
        return Err(Fault(format!(
            "the number {} is too long: a number has at most {MAX_BITS} bits",
            shown(Some(word))
        )));
    }
    if !word.bytes().all(|b| b.is_ascii_digit() || b == b'-' || b == b'/') {
        return Err(fault());
    }
    // most numbers are short integers, and there can be millions
    if let Some(n) = word.strip_prefix('-').unwrap_or(word).parse::<u32>().ok().filter(|_| plain(word)) {
        return Ok(if word.starts_with('-') { Rational::from(-i64::from(n)) } else { Rational::from(i64::from(n)) });
    }
    let value: Rational = word.parse().map_err(|_| fault())?;
    if value.fraction() == word { Ok(value) } else { Err(fault()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_one_text() {
        for good in ["0", "7", "-7", "3/2", "-3/2", "123456789012345678901234567890/17"] {
            assert_eq!(number(good).unwrap().fraction(), good);
        }
        for bad in [
            "", "-", "-0", "+1", "07", "2/4", "3/1", "3/-2", "1/0", "0/5", "1.5", "1e3", "~1", "--1", "/", "1/",
            "1/2/3",
        ] {
            assert!(number(bad).is_err(), "{bad}");
        }
        assert!(number(&"9".repeat(100_000)).unwrap_err().0.contains("too long"));
    }

    #[test]
    fn counts_have_no_ornaments() {
        assert_eq!([natural("0"), natural("12"), natural("4294967295")], [Some(0), Some(12), Some(u32::MAX)]);
        for bad in ["", "00", "01", "-1", "+1", "4294967296", "99999999999", "x"] {
            assert_eq!(natural(bad), None);
        }
    }

    #[test]
    fn lines_are_counted_with_comments() {
        let mut lines = Lines::new(b"# one\ntwo\n#\nfour");
        assert_eq!((lines.next().unwrap(), lines.number()), (Some("two"), 2));
        assert_eq!((lines.next().unwrap(), lines.number()), (Some("four"), 4));
        assert_eq!((lines.next().unwrap(), lines.number()), (None, 5));
        assert!(Lines::new(b"end\r\n").next().is_err());
        assert!(Lines::new(b"\xff\n").next().is_err());
    }

    #[test]
    fn blanks_are_single() {
        for bad in ["a  b", " a", "a "] {
            let mut words = Words::new(bad);
            assert!((0..3).any(|_| words.next().is_err()), "{bad}");
        }
        let mut words = Words::new("a b");
        assert_eq!([words.next().unwrap(), words.next().unwrap(), words.next().unwrap()], [Some("a"), Some("b"), None]);
    }

    #[test]
    fn messages_stay_short_and_harmless() {
        let f = Fault::expected("x", Some(&format!("\u{1b}[31m{}", "y".repeat(1000))));
        assert!(f.0.len() < 100 && f.0.contains("\\u{1b}"), "{}", f.0);
    }
}
