//! Where equations come from: a text, a node of a model file, a line of somebody's source code, a layer of a network.
//!
//! Whatever makes a program says where its equations come from ([`Builder::set_origin`](crate::Builder::set_origin)); every transformation and
//! every derivative keeps that; reports and messages name it. Two programs that differ in origins alone are equal.

use super::{Program, printable};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// The most characters of a text that [`Origin::excerpt`] shows.
const WIDTH: usize = 60;

/// A range of bytes of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Place {
    /// The first byte.
    pub start: u32,
    /// The byte after the last one.
    pub end: u32,
}

/// A text that programs are read from, with what to call it in messages.
///
/// ```
/// use crease_core::{Place, Text};
/// let text = Text::new("f.crease", "program f(x) =\n  relu(  x)");
/// let place = Place { start: 17, end: 26 };
/// assert_eq!(text.line_and_column(place), (2, 3));
/// assert_eq!(text.piece(place), "relu( x)");
/// ```
pub struct Text {
    name: String,
    text: String,
    /// The bytes at which lines start: found when first asked for.
    starts: OnceLock<Vec<usize>>,
}

impl Text {
    /// A text under this name, such as that of its file.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Text { name: name.into(), text: text.into(), starts: OnceLock::new() }
    }

    /// What to call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All of it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The line and the column, in characters, at which a place begins; both count from 1.
    pub fn line_and_column(&self, place: Place) -> (usize, usize) {
        let lines = || std::iter::once(0).chain(self.text.match_indices('\n').map(|(i, _)| i + 1)).collect();
        let starts = self.starts.get_or_init(lines);
        let at = self.boundary(place.start as usize);
        let line = starts.partition_point(|&s| s <= at);
        (line, self.text[starts[line - 1]..at].chars().count() + 1)
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

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Text::new("<text>", text)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Text({:?}, {} bytes)", self.name, self.text.len())
    }
}

/// Where an equation comes from.
///
/// ```
/// use crease_core::{Builder, Op, Origin, Shape, kinks, Tensor};
/// let mut b = Builder::new("f");
/// let x = b.input("x", Shape::scalar())?;
/// b.set_origin(Some(Origin::layer("encoder.0", Some(Origin::node("net.onnx", "Relu_7")))));
/// let y = b.relu(x)?;
/// let p = b.finish(&[y])?;
/// let (_, met) = kinks(&p, &[Tensor::scalar(0.0)]).unwrap();
/// let origin = met[0].site.origin.as_deref().unwrap();
/// assert_eq!(origin.to_string(), "encoder.0, node Relu_7 of net.onnx");
/// # Ok::<(), crease_core::BuildError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Origin {
    /// A place in a text.
    Text {
        /// The text.
        text: Arc<Text>,
        /// The place.
        place: Place,
    },
    /// A node of a model file.
    Node {
        /// The file, or what else to call the model.
        model: Arc<str>,
        /// The name of the node.
        name: Arc<str>,
    },
    /// A line of source code.
    Line {
        /// The file.
        file: Arc<str>,
        /// The line, counted from 1.
        line: u32,
    },
    /// A layer of a network, by its path, and what is known of the equation inside it.
    Layer {
        /// The path, such as `encoder.0.mlp`.
        path: Arc<str>,
        /// Where inside.
        inside: Option<Box<Origin>>,
    },
}

impl Origin {
    /// A node of a model file.
    pub fn node(model: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Origin::Node { model: model.into(), name: name.into() }
    }

    /// A line of source code.
    pub fn line(file: impl Into<Arc<str>>, line: u32) -> Self {
        Origin::Line { file: file.into(), line }
    }

    /// A layer of a network.
    pub fn layer(path: impl Into<Arc<str>>, inside: Option<Origin>) -> Self {
        Origin::Layer { path: path.into(), inside: inside.map(Box::new) }
    }

    /// The text and the place in it, if it is one.
    pub fn in_text(&self) -> Option<(&Arc<Text>, Place)> {
        match self {
            Origin::Text { text, place } => Some((text, *place)),
            Origin::Layer { inside: Some(inside), .. } => inside.in_text(),
            Origin::Node { .. } | Origin::Line { .. } | Origin::Layer { inside: None, .. } => None,
        }
    }

    /// What stands there, [`printable`]: the piece of text, the name of the node or of the layer; nothing for a line of code.
    pub fn excerpt(&self) -> Option<String> {
        match self {
            Origin::Text { text, place } => Some(text.piece(*place)),
            Origin::Node { name, .. } => Some(printable(name).into()),
            Origin::Line { .. } => None,
            Origin::Layer { path, inside } => {
                let path = printable(path);
                Some(inside.as_ref().and_then(|i| i.excerpt()).map_or(path.to_string(), |i| format!("{path}: {i}")))
            }
        }
    }

    /// Where it is, as short as can be: line and column of a text, file and line of code, a path of layers.
    pub fn short(&self) -> String {
        match self {
            Origin::Text { text, place } => {
                let (line, column) = text.line_and_column(*place);
                format!("{line}:{column}")
            }
            Origin::Node { .. } => String::new(),
            Origin::Line { file, line } => format!("{}:{line}", printable(file)),
            Origin::Layer { path, inside } => match inside.as_ref().map(|i| i.short()) {
                Some(inside) if !inside.is_empty() => format!("{} {inside}", printable(path)),
                _ => printable(path).into(),
            },
        }
    }
}

/// Origins are the same if they are the same place of the same text, whatever else that text is equal to.
impl PartialEq for Origin {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Origin::Text { text: a, place: p }, Origin::Text { text: b, place: q }) => Arc::ptr_eq(a, b) && p == q,
            (Origin::Node { model: a, name: p }, Origin::Node { model: b, name: q }) => a == b && p == q,
            (Origin::Line { file: a, line: p }, Origin::Line { file: b, line: q }) => a == b && p == q,
            (Origin::Layer { path: a, inside: p }, Origin::Layer { path: b, inside: q }) => a == b && p == q,
            (Origin::Text { .. } | Origin::Node { .. } | Origin::Line { .. } | Origin::Layer { .. }, _) => false,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Text { text, place } => {
                let (line, column) = text.line_and_column(*place);
                write!(f, "{}:{line}:{column}", printable(text.name()))
            }
            Origin::Node { model, name } => write!(f, "node {} of {}", printable(name), printable(model)),
            Origin::Line { file, line } => write!(f, "{}:{line}", printable(file)),
            Origin::Layer { path, inside: Some(inside) } => write!(f, "{}, {inside}", printable(path)),
            Origin::Layer { path, inside: None } => f.write_str(&printable(path)),
        }
    }
}

/// An equation of a program, for messages.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// The program.
    pub program: String,
    /// The number of the equation.
    pub equation: usize,
    /// The equation as text.
    pub shown: String,
    /// Where it comes from, if that is known.
    pub origin: Option<Box<Origin>>,
}

impl Site {
    /// What to show of it: what stands where it comes from, or the equation itself.
    pub fn text(&self) -> String {
        self.origin.as_deref().and_then(Origin::excerpt).unwrap_or_else(|| self.shown.clone())
    }

    /// Where it is, as short as can be; empty if that is not known.
    pub fn short(&self) -> String {
        self.origin.as_deref().map(Origin::short).unwrap_or_default()
    }

    /// Equation number `i` of a program.
    pub fn new(p: &Program, i: usize) -> Self {
        Site {
            program: p.name().into(),
            equation: i,
            shown: p.show_equation(i),
            origin: p.equation(i).origin().map(Box::new),
        }
    }
}

/// The origins of a program's equations. A place of the text that the first of them came from takes twelve bytes; the others are entered
/// once each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origins {
    text: Option<Arc<Text>>,
    others: Vec<Origin>,
    marks: Vec<Mark>,
}

#[derive(Clone, Copy, Debug)]
enum Mark {
    Unknown,
    Place(Place),
    Other(u32),
}

impl Origins {
    /// Enters the origin of the next equation, unless none is known of any so far.
    pub fn push(&mut self, equation: usize, origin: Option<&Origin>) {
        if origin.is_none() && self.marks.is_empty() {
            return;
        }
        self.marks.resize(equation, Mark::Unknown);
        let mark = match origin {
            None => Mark::Unknown,
            Some(Origin::Text { text, place }) if Arc::ptr_eq(text, self.text.get_or_insert_with(|| text.clone())) => {
                Mark::Place(*place)
            }
            Some(other) => {
                // equations of one layer or node follow one another
                if self.others.last() != Some(other) {
                    self.others.push(other.clone());
                }
                Mark::Other(self.others.len() as u32 - 1)
            }
        };
        self.marks.push(mark);
    }

    /// Where an equation comes from.
    pub fn get(&self, equation: usize) -> Option<Origin> {
        match *self.marks.get(equation)? {
            Mark::Unknown => None,
            Mark::Place(place) => self.text.as_ref().map(|text| Origin::Text { text: text.clone(), place }),
            Mark::Other(i) => self.others.get(i as usize).cloned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_columns_and_pieces() {
        let text = Text::from("é = 1\nrelu(  x\n )");
        let place = |start, end| Place { start, end };
        assert_eq!(text.line_and_column(place(0, 1)), (1, 1));
        assert_eq!(text.line_and_column(place(3, 4)), (1, 3));
        assert_eq!(text.line_and_column(place(7, 18)), (2, 1));
        assert_eq!(text.piece(place(7, 18)), "relu( x )");
        assert_eq!(text.line_and_column(place(99, 99)), (3, 3));
        let long = Text::from(&*"a".repeat(100));
        assert_eq!(long.piece(place(0, 100)).chars().count(), WIDTH + 1);
    }

    #[test]
    fn origins_of_all_kinds_and_of_several_texts_are_kept_apart() {
        let [one, two] = ["x + y", "relu(x)"].map(|t| Arc::new(Text::from(t)));
        let of = |text: &Arc<Text>, end| Some(Origin::Text { text: text.clone(), place: Place { start: 0, end } });
        let all = [
            None,
            None,
            of(&one, 1),
            of(&two, 1),
            of(&one, 3),
            None,
            Some(Origin::node("m", "a")),
            Some(Origin::node("m", "a")),
            Some(Origin::layer("l", of(&two, 2))),
            Some(Origin::line("f.py", 3)),
            of(&two, 2),
        ];
        let mut kept = Origins::default();
        all.iter().enumerate().for_each(|(i, o)| kept.push(i, o.as_ref()));
        for (i, origin) in all.iter().enumerate() {
            assert_eq!(&kept.get(i), origin, "{i}");
        }
        assert_eq!(kept.others.len(), 5);
        assert_eq!(kept.get(99), None);
    }
}
