//! Names as text: what a file calls things must neither steer a terminal nor pass for a line of a report.

use std::borrow::Cow;

/// The name with every character escaped that is not shown as it is: control characters and line breaks, and those that change the direction of text.
/// All else stays, letters of any script included. What is escaped once is not escaped again.
///
/// Names of programs, inputs and points, and origins of equations are made so where they are made.
///
/// ```
/// use crease_core::printable;
/// assert_eq!(printable("Schicht_π/層.0"), "Schicht_π/層.0");
/// assert_eq!(printable("a\nkinks 0"), r"a\nkinks 0");
/// assert_eq!(printable("\u{1b}[31m\u{202e}x"), r"\u{1b}[31m\u{202e}x");
/// assert_eq!(printable(r"a\n"), r"a\n");
/// ```
pub fn printable(name: &str) -> Cow<'_, str> {
    if !name.contains(is_hidden) {
        return name.into();
    }
    let shown = |c: char| if is_hidden(c) { c.escape_default().to_string() } else { c.to_string() };
    name.chars().map(shown).collect::<String>().into()
}

/// Whether a character steers a terminal, breaks a line, or changes the direction of what follows.
///
/// ```
/// assert!(crease_core::program::is_hidden('\n') && !crease_core::program::is_hidden('ß'));
/// ```
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        // tags, and the mark of byte order
        || matches!(c, '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}
