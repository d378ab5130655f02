//! What is wrong with a text, and where: a message with a place, shown as compilers show it.
//!
//! Nothing here ever echoes more than one screen line of the source, however long its lines are.

use crease_core::Place;
use std::fmt;
use std::fmt::Write;

/// The widest piece of a source line that is shown.
const WIDTH: usize = 100;

/// A fault in a source text.
///
/// ```
/// let source = "program f(x) = rleu(x)";
/// let error = crease_formats::parse(source).unwrap_err();
/// assert_eq!(error.message, "unknown function `rleu`; did you mean `relu`?");
/// assert_eq!(&source[error.place.start as usize..error.place.end as usize], "rleu");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextError {
    /// What is wrong, in one line.
    pub message: String,
    /// The bytes of the source that it is about.
    pub place: Place,
    /// What to do about it.
    pub help: Option<String>,
}

impl TextError {
    pub(crate) fn new(message: impl Into<String>, place: Place) -> Self {
        let mut message: String = message.into();
        // lists of shapes of a wide call may be as long as the program
        if message.len() > 600 {
            let end = (0..=400).rev().find(|&i| message.is_char_boundary(i)).unwrap_or(0);
            message.truncate(end);
            message.push('…');
        }
        TextError { message, place, help: None }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The fault as compilers show it: the message, the place, the source line with the place underlined, the help.
    ///
    /// ```
    /// let source = "program f(x) =\n  x + rleu(x)\n";
    /// let error = crease_formats::parse(source).unwrap_err();
    /// assert_eq!(
    ///     error.render(source, "f.crease"),
    ///     "\
    /// error: unknown function `rleu`; did you mean `relu`?
    ///  --> f.crease:2:7
    ///   |
    /// 2 |   x + rleu(x)
    ///   |       ^^^^
    /// "
    /// );
    /// ```
    pub fn render(&self, source: &str, file: &str) -> String {
        let at = boundary(source, self.place.start as usize);
        let end = boundary(source, self.place.end as usize).max(at);
        let (line, column) = line_and_column(source, at);
        let line_start = source[..at].rfind('\n').map_or(0, |i| i + 1);
        // a place of no width, such as the end of the text, gets one caret all the same
        let (before, cut_before) = tail(&source[line_start..at], WIDTH / 2);
        let room = WIDTH - before.chars().count();
        let (after, cut_after) = head(source[at..].split(['\n', '\r']).next().unwrap_or(""), room);
        let marked =
            source[at..end].chars().take_while(|c| !matches!(c, '\n' | '\r')).take(after.chars().count()).count();

        let number = line.to_string();
        let gutter = " ".repeat(number.len());
        let cut = |cut: bool| if cut { "…" } else { "" };
        let mut out = String::new();
        let _ = writeln!(out, "error: {}", self.message);
        let _ = writeln!(out, "{gutter}--> {}:{line}:{column}", crease_core::printable(file));
        let _ = writeln!(out, "{gutter} |");
        let shown = format!("{}{}{}{}", cut(cut_before), visible(before), visible(after), cut(cut_after));
        let _ = writeln!(out, "{}", format!("{number} | {shown}").trim_end());
        let indent = " ".repeat(before.chars().count() + usize::from(cut_before));
        let _ = writeln!(out, "{gutter} | {indent}{}", "^".repeat(marked.max(1)));
        if let Some(help) = &self.help {
            let _ = writeln!(out, "{gutter} = help: {help}");
        }
        out
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.help {
            Some(help) => write!(f, " ({help})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for TextError {}

/// A range of bytes as a place. Sources are refused before they are too long for it.
pub(crate) fn place(start: usize, end: usize) -> Place {
    Place { start: start as u32, end: end as u32 }
}

/// The line and the column, in characters, of a byte of the source; both count from 1.
pub(crate) fn line_and_column(source: &str, at: usize) -> (usize, usize) {
    let before = &source[..boundary(source, at)];
    let line_start = before.rfind('\n').map_or(0, |i| i + 1);
    (before.bytes().filter(|&b| b == b'\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// A name for a message, cut if it is very long.
pub(crate) fn short(name: &str) -> String {
    match name.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", visible(&name[..end])),
        None => visible(name),
    }
}

/// The nearest character boundary at or before a byte.
fn boundary(source: &str, at: usize) -> usize {
    let at = at.min(source.len());
    (0..=at).rev().find(|&i| source.is_char_boundary(i)).unwrap_or(0)
}

/// At most the last `n` characters, and whether some were left out.
fn tail(text: &str, n: usize) -> (&str, bool) {
    match text.char_indices().rev().nth(n) {
        Some((i, c)) => (&text[i + c.len_utf8()..], true),
        None => (text, false),
    }
}

/// At most the first `n` characters, and whether some were left out.
fn head(text: &str, n: usize) -> (&str, bool) {
    match text.char_indices().nth(n) {
        Some((i, _)) => (&text[..i], true),
        None => (text, false),
    }
}

/// The text with every character one column wide: tabs as blanks, control characters (which could drive a terminal)
/// replaced.
fn visible(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\t' => ' ',
            c if crease_core::program::is_hidden(c) => '\u{fffd}',
            c => c,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_shown_around_the_place() {
        let source = format!("{}HERE{}", "a+".repeat(50_000_000), "+b".repeat(1000));
        let shown = TextError::new("m", place(100_000_000, 100_000_004)).render(&source, "f");
        assert!(shown.len() < 500, "{shown}");
        assert!(shown.contains("…") && shown.contains("^^^^"), "{shown}");
        assert!(shown.contains("f:1:100000001"), "{shown}");
    }

    #[test]
    fn places_outside_and_inside_characters_do_no_harm() {
        for (start, end) in [(0, 99), (1, 2), (5, 3), (99, 99)] {
            let shown = TextError::new("m", place(start, end)).render("é\tβ\u{1b}[0m", "f");
            assert!(shown.contains('^') && !shown.contains('\u{1b}'), "{shown}");
        }
    }

    #[test]
    fn the_end_of_an_empty_text_has_a_place() {
        assert!(TextError::new("m", place(0, 0)).render("", "f").contains("f:1:1"));
    }
}
