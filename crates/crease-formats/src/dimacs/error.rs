//! What is wrong with a DIMACS file, and where.

use super::{MAX_VARIABLES, numbering};
use crate::text::TextError;
use crease_core::Place;
use std::fmt;

/// A fault in a DIMACS file.
///
/// ```
/// use crease_formats::dimacs::parse_dimacs;
/// let bytes = b"p cnf 2 1\n1 -3 0\n";
/// let error = parse_dimacs(bytes).unwrap_err();
/// assert_eq!((error.line, error.column), (2, 3));
/// assert_eq!(
///     error.render(bytes, "f.cnf"),
///     "\
/// error: -3 is no literal here: the variables are numbered from 1 to 2
///  --> f.cnf:2:3
///   |
/// 2 | 1 -3 0
///   |   ^^
/// "
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DimacsError {
    /// What is wrong.
    pub fault: DimacsFault,
    /// The bytes of the file that it is about.
    pub place: Place,
    /// The line of the place, counted from 1.
    pub line: usize,
    /// The character in the line, counted from 1.
    pub column: usize,
}

/// What can be wrong with a DIMACS file.
///
/// ```
/// use crease_formats::dimacs::{parse_dimacs, DimacsFault};
/// assert_eq!(parse_dimacs(b"1 2 0\n").unwrap_err().fault, DimacsFault::ClauseBeforeHeader);
/// assert_eq!(parse_dimacs(b"c nothing else\n").unwrap_err().fault, DimacsFault::NoHeader);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DimacsFault {
    /// The file ends and there was no header.
    #[error("the file has no header")]
    NoHeader,
    /// A literal comes before the header.
    #[error("a clause before the header")]
    ClauseBeforeHeader,
    /// A second header.
    #[error("a second header; the first one is at line {first}")]
    SecondHeader {
        /// The line of the first one.
        first: usize,
    },
    /// A line that begins like a header and is none.
    #[error("this is no header: {why}")]
    Header {
        /// What does not fit.
        why: String,
    },
    /// More variables than literals can name.
    #[error("{number} variables are more than can be read; there may be at most {MAX_VARIABLES}")]
    TooManyVariables {
        /// How many the header announces.
        number: String,
    },
    /// More clauses than can be counted.
    #[error("{number} clauses are more than can be counted")]
    TooManyClauses {
        /// How many the header announces.
        number: String,
    },
    /// The header announces another number of clauses.
    #[error("the header announces {announced} {}, but the file has {found}", clauses(*announced))]
    Clauses {
        /// How many the header announces.
        announced: usize,
        /// How many there are.
        found: usize,
    },
    /// A literal of no variable.
    #[error("{literal} is no literal here: {}", numbering(*variables))]
    Literal {
        /// The literal.
        literal: String,
        /// How many variables there are.
        variables: usize,
    },
    /// A word that is no number.
    #[error("`{word}` is no literal")]
    Word {
        /// The word.
        word: String,
    },
    /// Bytes that are no text, outside comments.
    #[error("the byte 0x{byte:02x} is no part of UTF-8 text")]
    NotText {
        /// The byte.
        byte: u8,
    },
    /// A clause without its 0.
    #[error("this clause does not end")]
    OpenClause,
    /// Something after the `%` line.
    #[error("`{word}` after the end of the formula, which the % at line {end} marks")]
    AfterEnd {
        /// The first word there.
        word: String,
        /// The line of the mark.
        end: usize,
    },
    /// A file too long for places in it to be numbered.
    #[error("the file is longer than 4 GiB")]
    TooLong,
}

fn clauses(n: usize) -> &'static str {
    if n == 1 { "clause" } else { "clauses" }
}

impl DimacsFault {
    /// What to do about it, where that is not said already.
    ///
    /// ```
    /// use crease_formats::dimacs::DimacsFault;
    /// assert_eq!(DimacsFault::OpenClause.help().unwrap(), "end it with a 0");
    /// ```
    pub fn help(&self) -> Option<&'static str> {
        match self {
            DimacsFault::NoHeader | DimacsFault::Header { .. } => {
                Some("write p cnf VARIABLES CLAUSES, such as p cnf 3 2")
            }
            DimacsFault::ClauseBeforeHeader => {
                Some("the first line that is no comment must be p cnf VARIABLES CLAUSES")
            }
            DimacsFault::Clauses { .. } => {
                Some("every 0 ends a clause; correct the number, or see whether the file is whole")
            }
            DimacsFault::Word { .. } => Some("a clause is a list of numbers such as 1 -2 0; comments begin with c"),
            DimacsFault::NotText { .. } => Some("only comments may hold other bytes"),
            DimacsFault::OpenClause => Some("end it with a 0"),
            DimacsFault::AfterEnd { .. } => Some("only one 0 and comments may follow it"),
            _ => None,
        }
    }
}

impl DimacsError {
    /// A fault at some bytes of a file.
    pub(super) fn new(fault: DimacsFault, bytes: &[u8], start: usize, end: usize) -> Self {
        // lines are sought only now: a file without faults need not count them
        let before = &bytes[..start.min(bytes.len())];
        let line_start = before.iter().rposition(|&b| b == b'\n').map_or(0, |i| i + 1);
        let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        DimacsError {
            fault,
            place: Place { start: offset(start), end: offset(end) },
            line: line_of(bytes, start),
            column: String::from_utf8_lossy(&before[line_start..]).chars().count() + 1,
        }
    }

    /// The fault as [`TextError::render`] shows those of programs. `bytes` is the file.
    ///
    /// ```
    /// use crease_formats::dimacs::parse_dimacs;
    /// let bytes = b"p cnf 1 1\n1";
    /// assert_eq!(
    ///     parse_dimacs(bytes).unwrap_err().render(bytes, "f.cnf"),
    ///     "\
    /// error: this clause does not end
    ///  --> f.cnf:2:1
    ///   |
    /// 2 | 1
    ///   | ^
    ///   = help: end it with a 0
    /// "
    /// );
    /// ```
    pub fn render(&self, bytes: &[u8], file: &str) -> String {
        let (error, source) = self.as_text(bytes);
        error.render(&source, file)
    }

    /// The fault and the file as text, with the place where it is in that text: a byte that is none becomes a character of three.
    ///
    /// ```
    /// use crease_formats::dimacs::parse_dimacs;
    /// let (error, source) = parse_dimacs(b"c \xff\n1 0\n").unwrap_err().as_text(b"c \xff\n1 0\n");
    /// assert_eq!(&source[error.place.start as usize..error.place.end as usize], "1");
    /// ```
    pub fn as_text(&self, bytes: &[u8]) -> (TextError, String) {
        let start = (self.place.start as usize).min(bytes.len());
        let end = (self.place.end as usize).clamp(start, bytes.len());
        let mut source = String::with_capacity(bytes.len());
        let mut ends = [0; 3];
        for (part, end) in [&bytes[..start], &bytes[start..end], &bytes[end..]].into_iter().zip(&mut ends) {
            source.push_str(&String::from_utf8_lossy(part));
            *end = u32::try_from(source.len()).unwrap_or(u32::MAX);
        }
        let place = Place { start: ends[0], end: ends[1] };
        let help = self.fault.help().map(Into::into);
        (TextError { message: self.fault.to_string(), place, help }, source)
    }
}

/// The line of a byte, counted from 1.
pub(super) fn line_of(bytes: &[u8], at: usize) -> usize {
    bytes[..at.min(bytes.len())].iter().filter(|&&b| b == b'\n').count() + 1
}

impl fmt::Display for DimacsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.fault)?;
        match self.fault.help() {
            Some(help) => write!(f, " ({help})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for DimacsError {}
