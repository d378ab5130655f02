//! Programs taken apart into scalar equations, before they are localized number by number.
//!
//! What enters is a program without calls and loops, and from which equation of the root program each of its equations came. What leaves is a program of scalar equations, in which what
//! a choice guards is [assumed](super::assumed), with the equation and the element that each of them stands for.

use super::assumed::assume;
use super::localize::Origins;
use crate::builder::BuildError;
use crate::limits::Limits;
use crate::op::Op;
use crate::program::{Equation, Program};
use crate::scalarize::scalarize_traced;

/// A program without calls, taken apart into scalar equations, choices inside of choices [assumed](assume); and where each of its equations comes from.
pub(super) struct Apart {
    /// Its equations.
    pub scalar: Program,
    root: Vec<u32>,
    elements: Vec<u32>,
}

impl Apart {
    /// `origin` says from which equation of the root program those of `p` came.
    pub fn new(p: &Program, origin: impl Fn(u32) -> u32, limits: &Limits) -> Result<Apart, BuildError> {
        let (scalar, whole) = scalarize_traced(p, limits)?;
        let (mut seen, mut last) = (0, None);
        let element = |(e, &w): (Equation<'_>, &u32)| {
            if last.replace(w) != Some(w) {
                seen = 0;
            }
            seen += u32::from(matches!(e.op, Op::Kink(_)));
            seen - u32::from(matches!(e.op, Op::Kink(_)))
        };
        let elements: Vec<u32> = scalar.equations().zip(&whole).map(element).collect();
        let root = whole.iter().map(|&e| origin(e)).collect();
        Ok(match assume(&scalar, limits)? {
            None => Apart { scalar, root, elements },
            Some((scalar, from)) => {
                let of = |list: Vec<u32>| from.iter().map(|&e| list[e as usize]).collect();
                Apart { scalar, root: of(root), elements: of(elements) }
            }
        })
    }

    /// The same of a program that has scalar equations only, if there is something to assume.
    pub fn of_scalars(p: &Program, limits: &Limits) -> Result<Option<Apart>, BuildError> {
        Ok(assume(p, limits)?.map(|(scalar, root)| Apart { scalar, root, elements: Vec::new() }))
    }

    /// Where its equations come from.
    pub fn origins(&self) -> Origins<'_> {
        Origins::Listed { root: &self.root, elements: &self.elements }
    }
}
