//! The text language of crease, files `*.crease`.
//!
//! Text enters, [`Program`]s leave; the other direction is [`Program`]'s `Display`, and what it prints parses back to an
//! equal program.
//!
//! ```text
//! # the l1 loss of a small network, and a kink with a derivative of its own
//! program hinge(t) = max(0, 1 - t)
//! joint hinge(t) {
//!   let low = t < 1
//!   return max(0, 1 - t), -low
//! }
//! program loss(W[3, 2], b[3], x[2], y) {
//!   let h = relu(W @ x + b)
//!   let least, middle, most = sort(h[0], h[1], h[2])
//!   return hinge(y * sum(h)), select { most > 1 => most, else => 2/3 * middle }
//! }
//! ```
//!
//! - A **file** is a list of programs; the last one is the main one. A program can call earlier ones. A `joint` gives an
//!   earlier program its own derivative, for all calls that follow. `#` begins a comment; newlines are blanks; a `;` may
//!   end a statement. Names can be bound again, which hides what they were.
//! - **Operators**, loosest first: `or`, `and`, `not`, comparisons (which do not chain), `+ -`, `* / @`, unary minus, `^`
//!   with an integer, indices `x[0, 1:3, ::2]`. Scalars are spread over tensors, and arithmetic on numbers alone is done
//!   at once: `2/3` is the exact number.
//! - **Numbers** are exact: `0.1` is one tenth, `1e-3`, `1/3`; `~0.1` is the double nearest to it.
//! - **Functions** are raw operations; `add(1, 2)` stays an equation. Those on groups of numbers (`max`, `min`, `median`,
//!   `order_statistic`, `sort`, `norm1`, `norminf`, `logsumexp`) take several arguments, all elements of a tensor, or an
//!   `axis`. With a tick, as in `relu'(x, at=0)`, an operation returns its value and its derivative.
//! - **Lists** `[[1, 2], [x, y]]` make tensors. **Selections** `select { x > 0 => x, else => 0 }` make piecewise programs.
//!
//! There is no recursion, no loop, no type but that of tensors, and no way to read other files. Nothing is simplified on
//! the way in beyond numbers: what is written is what is built, and what it costs.
//!
//! Reading is one pass, without a tree of syntax and without recursion: a million equations or a hundred thousand nested
//! brackets take a second and no stack.

mod captures;
mod emit;
mod error;
mod file;
mod functions;
mod index;
mod lexer;
mod loops;
mod machine;
mod operand;
mod parser;
mod scope;
mod select;
mod suggest;

pub use error::TextError;

pub(crate) use suggest::did_you_mean;

use crease_core::{Place, Program, Shape, Text};
use parser::Parser;
use std::collections::HashMap;
use std::sync::Arc;

/// The programs of a file.
///
/// ```
/// let module = crease_formats::parse("program sq(x) = x * x  program f(a, b) = sq(a) + sq(b)")?;
/// assert_eq!(module.main().name(), "f");
/// assert_eq!(module.names().collect::<Vec<_>>(), ["sq", "f"]);
/// # Ok::<(), crease_formats::TextError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Module {
    programs: Vec<Arc<Program>>,
    joints: Vec<Option<Arc<Program>>>,
    by_name: HashMap<Box<str>, usize>,
}

impl Module {
    /// The programs in the order of the file.
    ///
    /// ```
    /// let module = crease_formats::parse("program f(x) = -x  program g(x) = f(x)")?;
    /// assert_eq!(module.programs().len(), 2);
    /// # Ok::<(), crease_formats::TextError>(())
    /// ```
    pub fn programs(&self) -> &[Arc<Program>] {
        &self.programs
    }

    /// The main program: the last one.
    ///
    /// ```
    /// assert_eq!(crease_formats::parse("program f(x) = -x").unwrap().main().inputs().len(), 1);
    /// ```
    pub fn main(&self) -> &Arc<Program> {
        // parsing refuses a file without programs
        &self.programs[self.programs.len() - 1]
    }

    /// The program of that name.
    ///
    /// ```
    /// let module = crease_formats::parse("program f(x) = -x  program g(x) = f(x)")?;
    /// assert_eq!(module.get("f").unwrap().name(), "f");
    /// assert!(module.get("h").is_none());
    /// # Ok::<(), crease_formats::TextError>(())
    /// ```
    pub fn get(&self, name: &str) -> Option<&Arc<Program>> {
        self.by_name.get(name).map(|&i| &self.programs[i])
    }

    /// The names of the programs in the order of the file.
    ///
    /// ```
    /// let module = crease_formats::parse("program f(x) = -x")?;
    /// assert!(module.names().eq(["f"]));
    /// # Ok::<(), crease_formats::TextError>(())
    /// ```
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.programs.iter().map(|p| p.name())
    }

    /// The user's own joint program of the program of that name.
    ///
    /// ```
    /// let module = crease_formats::parse("program f(x) = relu(x)  joint f(x) = relu'(x, at=1)")?;
    /// assert_eq!(module.joint_of("f").unwrap().outputs().len(), 2);
    /// # Ok::<(), crease_formats::TextError>(())
    /// ```
    pub fn joint_of(&self, name: &str) -> Option<&Arc<Program>> {
        self.by_name.get(name).and_then(|&i| self.joints[i].as_ref())
    }
}

/// Reads the programs of a file.
///
/// ```
/// let source = "program f(x) = relu(x) - relu(-x)";
/// let module = crease_formats::parse(source)?;
/// let printed = module.main().to_string();
/// assert_eq!(crease_formats::parse(&printed)?.main(), module.main());
/// # Ok::<(), crease_formats::TextError>(())
/// ```
pub fn parse(source: &str) -> Result<Module, TextError> {
    parse_text(&Arc::new(source.into()))
}

/// Reads the programs of a text that has a name, by which reports and messages call it.
///
/// ```
/// use crease_core::Text;
/// let text = Text::new("f.crease", "program f(x) =\n  relu(x)").into();
/// let module = crease_formats::parse_text(&text)?;
/// let origin = module.main().equation(0).origin().unwrap();
/// assert_eq!(origin.to_string(), "f.crease:2:3");
/// # Ok::<(), crease_formats::TextError>(())
/// ```
pub fn parse_text(text: &Arc<Text>) -> Result<Module, TextError> {
    let mut parser = Parser::new(text)?;
    parser.file()?;
    let library = parser.library;
    let by_name = library.by_name.into_iter().map(|(name, i)| (name.into(), i)).collect();
    Ok(Module { programs: library.programs, joints: library.joints, by_name })
}

/// Reads the programs of a file that may not be text at all.
///
/// ```
/// let error = crease_formats::parse_bytes(b"program f(x) = \xff").unwrap_err();
/// assert_eq!(error.message, "the file is not UTF-8 text: byte 15 is 0xff");
/// ```
pub fn parse_bytes(bytes: &[u8]) -> Result<Module, TextError> {
    match std::str::from_utf8(bytes) {
        Ok(source) => parse(source),
        Err(e) => {
            let at = e.valid_up_to();
            let message = format!("the file is not UTF-8 text: byte {at} is 0x{:02x}", bytes[at]);
            // beyond 4 GiB the message alone must do
            let start = u32::try_from(at).unwrap_or(u32::MAX - 1);
            Err(TextError::new(message, Place { start, end: start + 1 }))
        }
    }
}

/// Reads one expression, or several separated by commas, as a program named `f`. Free names are its inputs in order of
/// first appearance; `shapes` tells their shapes, and where it does not, they are scalars. `let` statements, each ended by
/// `;`, may come before.
///
/// ```
/// use crease_core::Shape;
/// let p = crease_formats::parse_expression("let y = x * x; y + z", &|_| None)?;
/// assert_eq!(p.to_string(), "program f(x, z) {\n  let v2 = x * x\n  let v3 = v2 + z\n  return v3\n}\n");
/// let p = crease_formats::parse_expression("sum(v)", &|_| Shape::vector(3).ok())?;
/// assert_eq!(p.dimension(), 3);
/// # Ok::<(), crease_formats::TextError>(())
/// ```
pub fn parse_expression(source: &str, shapes: &dyn Fn(&str) -> Option<Shape>) -> Result<Program, TextError> {
    parse_expression_text(&Arc::new(source.into()), shapes)
}

/// Reads an expression from a text that has a name: see [`parse_expression`].
pub fn parse_expression_text(text: &Arc<Text>, shapes: &dyn Fn(&str) -> Option<Shape>) -> Result<Program, TextError> {
    Parser::new(text)?.bare_expression(shapes)
}
