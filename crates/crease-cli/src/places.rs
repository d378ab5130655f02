//! Places in a text: bytes as lines and columns, and as short pieces of text.

use crease_core::Place;

/// The most characters of a piece of text that are shown.
const WIDTH: usize = 60;

/// A text with the starts of its lines, found once: there may be as many places to show as there are equations.
pub struct Places<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Places<'t> {
    pub fn new(text: &'t str) -> Self {
        let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(i, _)| i + 1)).collect();
        Places { text, starts }
    }

    /// The line and the column, in characters, both counted from 1.
    pub fn line_and_column(&self, place: Place) -> (usize, usize) {
        let at = self.boundary(place.start as usize);
        let line = self.starts.partition_point(|&s| s <= at);
        (line, self.text[self.starts[line - 1]..at].chars().count() + 1)
    }

    /// The text at a place: blanks run together, and cut where it is long.
    pub fn piece(&self, place: Place) -> String {
        let (start, end) = (self.boundary(place.start as usize), self.boundary(place.end as usize));
        let mut out = String::new();
        let mut shown = 0;
        for c in self.text[start..end.max(start)].chars() {
            let c = if c.is_whitespace() || c.is_control() { ' ' } else { c };
            if c == ' ' && (out.is_empty() || out.ends_with(' ')) {
                continue;
            }
            if shown == WIDTH {
                out.push('…');
                break;
            }
            out.push(c);
            shown += 1;
        }
        out.truncate(out.trim_end().len());
        out
    }

    fn boundary(&self, at: usize) -> usize {
        let at = at.min(self.text.len());
        (0..=at).rev().find(|&i| self.text.is_char_boundary(i)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_columns_and_pieces() {
        let places = Places::new("é = 1\nrelu(  x\n )");
        let place = |start, end| Place { start, end };
        assert_eq!(places.line_and_column(place(0, 1)), (1, 1));
        assert_eq!(places.line_and_column(place(3, 4)), (1, 3));
        assert_eq!(places.line_and_column(place(7, 18)), (2, 1));
        assert_eq!(places.piece(place(7, 18)), "relu( x )");
        assert_eq!(places.line_and_column(place(99, 99)), (3, 3));
        let long = "a".repeat(100);
        assert_eq!(Places::new(&long).piece(place(0, 100)).chars().count(), WIDTH + 1);
    }
}
