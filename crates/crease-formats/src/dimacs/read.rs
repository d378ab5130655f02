//! Reading a DIMACS file: one pass over its lines and their words.

use super::error::line_of;
use super::{Cnf, DimacsError, DimacsFault, MAX_VARIABLES};

/// The longest piece of a word that a message repeats.
const SHOWN: usize = 40;

/// Reads a formula. See the [module](super) for what is accepted.
///
/// ```
/// use crease_formats::dimacs::parse_dimacs;
/// let cnf = parse_dimacs(b"c a comment\np cnf 3 2\n1 -2\nc another\n3 0 -1 0\n%\n0\n")?;
/// assert_eq!(cnf.clauses, [vec![1, -2, 3], vec![-1]]);
/// assert_eq!(parse_dimacs(cnf.to_string().as_bytes())?, cnf);
/// # Ok::<(), crease_formats::dimacs::DimacsError>(())
/// ```
pub fn parse_dimacs(bytes: &[u8]) -> Result<Cnf, DimacsError> {
    if u32::try_from(bytes.len()).is_err() {
        return Err(DimacsError::new(DimacsFault::TooLong, bytes, 0, 0));
    }
    let mut reader = Reader { bytes, header: None, clauses: Vec::new(), open: None, end: None };
    // some editors begin a text with a mark of its encoding
    let mut start = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    for line in bytes[start..].split(|&b| b == b'\n') {
        reader.line(line, start)?;
        start += line.len() + 1;
    }
    reader.finish()
}

/// A word of a line: its bytes and where they begin.
#[derive(Clone, Copy)]
struct Word<'b> {
    bytes: &'b [u8],
    start: usize,
}

impl Word<'_> {
    fn place(self) -> (usize, usize) {
        (self.start, self.start + self.bytes.len())
    }
}

/// The words of a line that begins at a byte of the file.
fn words(line: &[u8], start: usize) -> impl Iterator<Item = Word<'_>> {
    let blank = |b: &u8| matches!(b, b' ' | b'\t' | b'\r' | 0x0b | 0x0c);
    let mut at = 0;
    std::iter::from_fn(move || {
        at += line[at..].iter().position(|b| !blank(b))?;
        let length = line[at..].iter().position(blank).unwrap_or(line.len() - at);
        let word = Word { bytes: &line[at..at + length], start: start + at };
        at += length;
        Some(word)
    })
}

struct Header {
    /// Where it begins.
    start: usize,
    variables: usize,
    clauses: usize,
    /// The place of the number of clauses.
    count: (usize, usize),
}

/// The `%` line.
struct End {
    start: usize,
    /// Whether its 0 has come.
    zero: bool,
}

struct Reader<'b> {
    bytes: &'b [u8],
    header: Option<Header>,
    clauses: Vec<Vec<i32>>,
    /// The clause that has not ended yet, and the place of its first literal.
    open: Option<(Vec<i32>, (usize, usize))>,
    end: Option<End>,
}

impl Reader<'_> {
    fn fault<T>(&self, fault: DimacsFault, (start, end): (usize, usize)) -> Result<T, DimacsError> {
        Err(DimacsError::new(fault, self.bytes, start, end))
    }

    fn line(&mut self, line: &[u8], start: usize) -> Result<(), DimacsError> {
        let mut words = words(line, start);
        let Some(first) = words.next() else { return Ok(()) };
        if first.bytes[0] == b'c' {
            return Ok(());
        }
        if self.end.is_some() {
            return std::iter::once(first).chain(words).try_for_each(|word| self.after_end(word));
        }
        match first.bytes[0] {
            b'p' => self.header(first, words.collect()),
            b'%' => {
                self.end_mark(first)?;
                words.try_for_each(|word| self.after_end(word))
            }
            _ => std::iter::once(first).chain(words).try_for_each(|word| self.literal(word)),
        }
    }

    /// A word as text.
    fn text<'w>(&self, word: Word<'w>) -> Result<&'w str, DimacsError> {
        std::str::from_utf8(word.bytes).or_else(|e| {
            let bad = word.start + e.valid_up_to();
            self.fault(DimacsFault::NotText { byte: self.bytes[bad] }, (bad, bad + 1))
        })
    }

    fn header(&mut self, p: Word<'_>, rest: Vec<Word<'_>>) -> Result<(), DimacsError> {
        if let Some(header) = &self.header {
            return self.fault(DimacsFault::SecondHeader { first: line_of(self.bytes, header.start) }, p.place());
        }
        let end = rest.last().map_or(p.place().1, |w| w.place().1);
        let words = std::iter::once(&p).chain(&rest).map(|&w| self.text(w)).collect::<Result<Vec<_>, _>>()?;
        let wrong = |why: String, place| self.fault(DimacsFault::Header { why }, place);
        if words[0] != "p" {
            return wrong(format!("it begins with `{}`", short(words[0])), p.place());
        }
        match words.get(1) {
            Some(&"cnf") => {}
            Some(format) => {
                return wrong(format!("the format is `{}`, and only cnf can be read", short(format)), rest[0].place());
            }
            None => return wrong("the format and two numbers are missing".into(), (p.start, end)),
        }
        let [_, _, variables, clauses] = words[..] else {
            let n = words.len() - 2;
            return wrong(format!("cnf is followed by two numbers, not by {n}"), (p.start, end));
        };
        for (word, of, at) in [(variables, "variables", rest[1]), (clauses, "clauses", rest[2])] {
            if !word.bytes().all(|b| b.is_ascii_digit()) {
                return wrong(format!("`{}` is no number of {of}", short(word)), at.place());
            }
        }
        let few = |n: &usize| *n <= MAX_VARIABLES;
        let Some(variables) = variables.parse().ok().filter(few) else {
            return self.fault(DimacsFault::TooManyVariables { number: short(variables) }, rest[1].place());
        };
        let Ok(clauses) = clauses.parse() else {
            return self.fault(DimacsFault::TooManyClauses { number: short(clauses) }, rest[2].place());
        };
        self.header = Some(Header { start: p.start, variables, clauses, count: rest[2].place() });
        Ok(())
    }

    fn literal(&mut self, word: Word<'_>) -> Result<(), DimacsError> {
        let text = self.text(word)?;
        let digits = text.strip_prefix('-').unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) || text == "-0" {
            return self.fault(DimacsFault::Word { word: short(text) }, word.place());
        }
        let Some(Header { variables, .. }) = self.header else {
            return self.fault(DimacsFault::ClauseBeforeHeader, word.place());
        };
        let named = |l: &i32| l.unsigned_abs() as usize <= variables;
        match text.parse::<i32>().ok().filter(named) {
            None => self.fault(DimacsFault::Literal { literal: short(text), variables }, word.place()),
            Some(0) => {
                self.clauses.push(self.open.take().map_or(Vec::new(), |(clause, _)| clause));
                Ok(())
            }
            Some(literal) => {
                self.open.get_or_insert_with(|| (Vec::new(), word.place())).0.push(literal);
                Ok(())
            }
        }
    }

    fn end_mark(&mut self, mark: Word<'_>) -> Result<(), DimacsError> {
        let text = self.text(mark)?;
        if self.header.is_none() {
            return self.fault(DimacsFault::NoHeader, mark.place());
        }
        if let Some((_, place)) = self.open {
            return self.fault(DimacsFault::OpenClause, place);
        }
        if text != "%" {
            return self.fault(DimacsFault::Word { word: short(text) }, mark.place());
        }
        self.end = Some(End { start: mark.start, zero: false });
        Ok(())
    }

    fn after_end(&mut self, word: Word<'_>) -> Result<(), DimacsError> {
        let text = self.text(word)?;
        match &mut self.end {
            Some(end) if text == "0" && !end.zero => {
                end.zero = true;
                Ok(())
            }
            end => {
                let end = end.as_ref().map_or(0, |e| line_of(self.bytes, e.start));
                self.fault(DimacsFault::AfterEnd { word: short(text), end }, word.place())
            }
        }
    }

    fn finish(self) -> Result<Cnf, DimacsError> {
        let length = self.bytes.len();
        let Some(header) = &self.header else {
            return self.fault(DimacsFault::NoHeader, (length, length));
        };
        if let Some((_, place)) = self.open {
            return self.fault(DimacsFault::OpenClause, place);
        }
        if header.clauses != self.clauses.len() {
            let fault = DimacsFault::Clauses { announced: header.clauses, found: self.clauses.len() };
            return self.fault(fault, header.count);
        }
        Ok(Cnf { variables: header.variables, clauses: self.clauses })
    }
}

/// A word for a message: cut if it is long, without characters that could drive a terminal.
fn short(word: &str) -> String {
    let mut out: String = word.chars().take(SHOWN).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if word.chars().nth(SHOWN).is_some() {
        out.push('…');
    }
    out
}
