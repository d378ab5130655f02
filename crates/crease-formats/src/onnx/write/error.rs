//! Why a program cannot be written as a network.

use crease_core::{InlineError, Site};

/// Why a program cannot be written as a network, and where.
///
/// ```
/// use crease_core::trace;
/// use crease_formats::onnx::{Element, WriteOptions, write_onnx};
/// let p = trace(1, |x| x[0] * 1e300).unwrap();
/// let options = WriteOptions { element: Element::F32, ..WriteOptions::default() };
/// let error = write_onnx(&p, &options).unwrap_err();
/// assert!(error.to_string().starts_with("a constant of about 1e300 does not fit into f32"));
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// All calls are expanded, and that is too much.
    #[error(transparent)]
    Inline(#[from] InlineError),
    /// A constant beyond all floats of the type.
    #[error("a constant of about {value:e} does not fit into {element}{}", at(site))]
    Constant {
        /// Its value, as far as a double holds it.
        value: f64,
        /// The type.
        element: &'static str,
        /// Where, if it is no output.
        site: Option<Box<Site>>,
    },
    /// Selections inside selections: readers of the format refuse messages that are nested more than about a hundred times.
    #[error("selections are nested more than {limit} deep{}; ONNX files cannot be nested deeper", at(site))]
    Nested {
        /// The most.
        limit: usize,
        /// Where.
        site: Option<Box<Site>>,
    },
    /// A file that no reader would take.
    #[error("the network takes more than 2^31 - 1 bytes, which is all that an ONNX file can have{}", at(site))]
    TooLarge {
        /// Where it became too much, if that is known.
        site: Option<Box<Site>>,
    },
    /// Names of outputs that do not fit the program.
    #[error("program `{program}` has {outputs} outputs, but {names} names for them were given")]
    Names {
        /// The program.
        program: String,
        /// How many outputs.
        outputs: usize,
        /// How many names.
        names: usize,
    },
    /// An output that would be called like another output or like an input.
    #[error("`{0}` would be the name of two inputs or outputs of the network; give other names to the outputs")]
    Twice(String),
}

impl WriteError {
    /// The same at an equation, unless it is at one already.
    pub(super) fn within(mut self, equation: impl FnOnce() -> Site) -> Self {
        match &mut self {
            WriteError::Constant { site, .. } | WriteError::Nested { site, .. } | WriteError::TooLarge { site } => {
                if site.is_none() {
                    *site = Some(Box::new(equation()));
                }
            }
            WriteError::Inline(_) | WriteError::Names { .. } | WriteError::Twice(_) => {}
        }
        self
    }
}

fn at(site: &Option<Box<Site>>) -> String {
    site.as_ref().map(|s| format!(", in `{}` of program `{}`", s.text(), s.program)).unwrap_or_default()
}
