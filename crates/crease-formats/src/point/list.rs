//! A JSON list, one member after the other: what is kept of a long list is the member at hand.
//!
//! Bytes enter, the text of each member leaves, with the line on which it begins. That a member is JSON is seen to here; what it means is
//! for [`Point::from_json`](super::Point::from_json) to say.

use serde_json::value::RawValue;
use std::io::BufRead;

/// A member of a JSON list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The line on which it begins, counted from 1.
    pub line: usize,
    /// Its text, which is JSON.
    pub text: String,
}

/// Why a list cannot be read any further.
///
/// ```
/// let mut list = crease_formats::point::List::new(&b"[1,\n2,,"[..]);
/// let error = list.find_map(Result::err).unwrap();
/// assert_eq!(error.to_string(), "line 2: expected a value before `,`");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ListError {
    /// Bytes that are no JSON list.
    #[error("line {line}: {why}")]
    Syntax {
        /// The line of the fault, counted from 1.
        line: usize,
        /// What is wrong there.
        why: String,
    },
    /// Bytes that cannot be read.
    #[error("{message}")]
    Io {
        /// Why, for programs.
        kind: std::io::ErrorKind,
        /// Why, in words.
        message: String,
    },
}

impl From<std::io::Error> for ListError {
    fn from(e: std::io::Error) -> Self {
        ListError::Io { kind: e.kind(), message: e.to_string() }
    }
}

/// Reads the members of a JSON list one at a time. Nothing comes after an error.
///
/// ```
/// let list = crease_formats::point::List::new(&b"[[1, 2],\n {\"x\": \"],\"}]"[..]);
/// let members: Vec<_> = list.map(|m| m.map(|m| (m.line, m.text))).collect::<Result<_, _>>()?;
/// assert_eq!(members, [(1, "[1, 2]".to_string()), (2, "{\"x\": \"],\"}".to_string())]);
/// # Ok::<(), crease_formats::point::ListError>(())
/// ```
pub struct List<R> {
    reader: R,
    /// The line of the next byte.
    line: usize,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Before,
    Within,
    After,
}

impl<R: BufRead> List<R> {
    /// A list that begins with the next byte that is no blank.
    pub fn new(reader: R) -> Self {
        List { reader, line: 1, state: State::Before }
    }

    fn peek(&mut self) -> std::io::Result<Option<u8>> {
        loop {
            match self.reader.fill_buf() {
                Ok(bytes) => return Ok(bytes.first().copied()),
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }

    /// Goes beyond the byte that was looked at.
    fn pass(&mut self, byte: u8) {
        self.reader.consume(1);
        self.line += usize::from(byte == b'\n');
    }

    /// The next byte that is no blank.
    fn visible(&mut self) -> std::io::Result<Option<u8>> {
        while let Some(byte) = self.peek()? {
            if !is_blank(byte) {
                return Ok(Some(byte));
            }
            self.pass(byte);
        }
        Ok(None)
    }

    fn fault<T>(&self, why: impl Into<String>) -> Result<T, ListError> {
        Err(ListError::Syntax { line: self.line, why: why.into() })
    }

    fn member(&mut self) -> Result<Option<Member>, ListError> {
        if self.state == State::Before {
            match self.visible()? {
                Some(b'[') => self.pass(b'['),
                Some(_) => return self.fault("expected `[`"),
                None => return self.fault("expected `[`, and there is nothing"),
            }
            self.state = State::Within;
            if self.visible()? == Some(b']') {
                return self.end();
            }
        }
        if self.state == State::After {
            return Ok(None);
        }
        let first = self.visible()?;
        let line = self.line;
        if let Some(byte @ (b',' | b']')) = first {
            return self.fault(format!("expected a value before `{}`", char::from(byte)));
        }
        let mut bytes = Vec::new();
        let (mut depth, mut quoted, mut escaped) = (0usize, false, false);
        let last = loop {
            let Some(byte) = self.peek()? else { return self.fault("expected `]`, but the text ends here") };
            match byte {
                _ if quoted => {
                    quoted = escaped || byte != b'"';
                    escaped = !escaped && byte == b'\\';
                }
                b'"' => quoted = true,
                b'[' | b'{' => depth += 1,
                b',' | b']' if depth == 0 => break byte,
                b'}' if depth == 0 => return self.fault("there is no `{` for this `}`"),
                b']' | b'}' => depth -= 1,
                _ => {}
            }
            bytes.push(byte);
            self.pass(byte);
        };
        bytes.truncate(bytes.iter().rposition(|b| !is_blank(*b)).map_or(0, |last| last + 1));
        let syntax = |line, why| ListError::Syntax { line, why };
        let text = String::from_utf8(bytes).map_err(|_| syntax(line, "it is not UTF-8 text".into()))?;
        if let Err(e) = serde_json::from_str::<&RawValue>(&text) {
            let why = e.to_string();
            // it counts lines from where the member begins
            let why = why.split(" at line ").next().unwrap_or_default();
            return Err(syntax(line + e.line().saturating_sub(1), why.into()));
        }
        if last == b',' {
            self.pass(last);
        } else {
            self.end()?;
        }
        Ok(Some(Member { line, text }))
    }

    /// Passes the `]`, after which nothing may come.
    fn end(&mut self) -> Result<Option<Member>, ListError> {
        self.pass(b']');
        self.state = State::After;
        match self.visible()? {
            Some(_) => self.fault("something follows the list"),
            None => Ok(None),
        }
    }
}

/// A blank of JSON; others, such as a form feed, are none there.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

impl<R: BufRead> Iterator for List<R> {
    type Item = Result<Member, ListError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.member().transpose();
        if !matches!(next, Some(Ok(_))) {
            self.state = State::After;
        }
        next
    }
}
