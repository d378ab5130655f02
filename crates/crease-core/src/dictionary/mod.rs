//! Dictionaries: which operations a program may use, and how to get into one.
//!
//! The paper's dictionaries are [`Dictionary::Polynomial`] {+, x, +c, xc}, [`Dictionary::D0`] {+, -, ReLU},
//! [`Dictionary::Relu`] D_ReLU = {+, x, +c, xc, inv, exp, log, ReLU} and [`Dictionary::ReluDerived`] D'_ReLU, which adds
//! ReLU'; [`Dictionary::Extended`] is everything. [`outside`] answers which operations put a program outside of one, [`Smallest`] which is the smallest that it is over;
//! [`lower`](lower()) rewrites a program into one where the paper shows how.

mod lower;
mod smallest;

pub use lower::{LowerError, lower};
pub use smallest::Smallest;

use crate::cost::{Item, ItemKind, Tally, count_equation};
use crate::flow::PerProgram;
use crate::flow::constants::{self, Known, known};
use crate::op::{KinkKind, Smooth};
use crate::program::{Program, ProgramId, Site};
use std::collections::HashSet;
use std::fmt;

/// A set of operations. See the [module](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dictionary {
    /// {+, x, +c, xc}: polynomials.
    Polynomial,
    /// {+, -, ReLU}: the piecewise linear programs of Section 5.3. Negation counts as `-`.
    D0,
    /// D_ReLU: {+, x, +c, xc, inv, exp, log, ReLU}.
    Relu,
    /// D'_ReLU: the above and ReLU'.
    ReluDerived,
    /// All operations of crease.
    Extended,
}

impl Dictionary {
    /// The dictionary of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "polynomial" => Some(Dictionary::Polynomial),
            "D0" | "d0" => Some(Dictionary::D0),
            "D_ReLU" | "relu" => Some(Dictionary::Relu),
            "D'_ReLU" | "D_ReLU'" | "relu'" => Some(Dictionary::ReluDerived),
            "extended" => Some(Dictionary::Extended),
            _ => None,
        }
    }

    /// Its short name, which [`from_name`](Self::from_name) knows.
    ///
    /// ```
    /// use crease_core::dictionary::Dictionary;
    /// assert_eq!(Dictionary::from_name("relu'").unwrap().name(), "D'_ReLU");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Dictionary::Polynomial => "polynomial",
            Dictionary::D0 => "D0",
            Dictionary::Relu => "D_ReLU",
            Dictionary::ReluDerived => "D'_ReLU",
            Dictionary::Extended => "extended",
        }
    }

    /// Whether an operation is in it.
    pub fn contains(self, item: &Item) -> bool {
        let values = item.values;
        let arithmetic = matches!(item.kind, ItemKind::Add | ItemKind::Mul) && values > 0;
        let plain = item.joint.is_none();
        match self {
            Dictionary::Polynomial => arithmetic,
            Dictionary::D0 => {
                plain
                    && match item.kind {
                        ItemKind::Add | ItemKind::Sub => values == 2,
                        ItemKind::Neg | ItemKind::Kink(KinkKind::Relu) => values == 1,
                        _ => false,
                    }
            }
            Dictionary::Relu => {
                arithmetic
                    || plain
                        && values > 0
                        && matches!(
                            item.kind,
                            ItemKind::Smooth(Smooth::Inv | Smooth::Exp | Smooth::Log) | ItemKind::Kink(KinkKind::Relu)
                        )
            }
            Dictionary::ReluDerived => {
                Dictionary::Relu.contains(item) || item.kind == KinkKind::Relu.into() && item.joint.is_some()
            }
            Dictionary::Extended => true,
        }
    }
}

impl fmt::Display for Dictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Dictionary::Polynomial => "{+, x, +c, xc}",
            Dictionary::D0 => "D0 = {+, -, ReLU}",
            Dictionary::Relu => "D_ReLU",
            Dictionary::ReluDerived => "D'_ReLU",
            Dictionary::Extended => "the extended dictionary",
        })
    }
}

/// An operation that is not in a dictionary, and where it is used.
#[derive(Clone, Debug, PartialEq)]
pub struct Outsider {
    /// The equation.
    pub site: Site,
    /// The operation, as tallies name it.
    pub item: String,
}

impl fmt::Display for Outsider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` in `{}` of program `{}`", self.item, self.site.shown, self.site.program)
    }
}

/// The operations that put a program outside a dictionary, each equation once; none if it is inside.
///
/// ```
/// use crease_core::{dictionary::{outside, Dictionary}, relu, trace};
/// let p = trace(2, |x| relu(x[0]) - x[1] * 2.0).unwrap();
/// let why = outside(&p, Dictionary::D0);
/// assert_eq!(why[0].to_string(), "`*c` in `x1 * 2` of program `f`");
/// assert!(outside(&p, Dictionary::Extended).is_empty());
/// ```
pub fn outside(p: &Program, dictionary: Dictionary) -> Vec<Outsider> {
    let mut found = Vec::new();
    let mut outputs: PerProgram<Vec<Known>> = PerProgram::default();
    let library = p.library();
    // what joint programs use is a matter of the derived dictionary
    let mut run: HashSet<ProgramId> = p.callees().iter().map(|c| c.program.id()).collect();
    for q in library.iter().rev() {
        if run.contains(&q.id()) {
            run.extend(q.callees().iter().map(|c| c.program.id()));
        }
    }
    for q in library.iter().filter(|q| run.contains(&q.id())) {
        let known = outside_one(q, dictionary, &outputs, &mut found);
        outputs.insert(q, known);
    }
    outside_one(p, dictionary, &outputs, &mut found);
    found
}

fn outside_one(
    p: &Program,
    dictionary: Dictionary,
    outputs: &PerProgram<Vec<Known>>,
    found: &mut Vec<Outsider>,
) -> Vec<Known> {
    let mut constants = vec![Known::Nothing; p.inputs().len()];
    for (i, e) in p.equations().enumerate() {
        let outsider = |item: String| Outsider { site: Site::new(p, i), item };
        match e.op {
            crate::Op::Call(id) => constants.extend(outputs[&p.callee(*id).program].clone()),
            // loops stand for their turns, and a turn is a call
            crate::Op::Scan(_) => constants.extend(vec![Known::Nothing; e.results]),
            crate::Op::Select(_) => {
                if dictionary != Dictionary::Extended {
                    found.push(outsider("select".into()));
                }
                constants.extend(vec![Known::Nothing; e.results]);
            }
            _ => {
                let mut tally = Tally::default();
                let args: Vec<Known> = e.args.iter().map(|&a| known(&constants, a)).collect();
                count_equation(p, &e, &args, &mut tally);
                if let Some((item, _)) = tally.iter().find(|(item, _)| !dictionary.contains(item)) {
                    found.push(outsider(item.name()));
                }
                constants.extend(constants::results(p, &e, &args));
            }
        }
    }
    p.outputs().iter().map(|&o| known(&constants, o)).collect()
}

#[cfg(test)]
mod tests;
