//! Reading through structure: a view of a view is one view, and a view of an assembly is a view of what was put into it.
//!
//! Used where a program is rewritten anyway. Besides being shorter, it keeps adjoints from passing through tensors of
//! which hardly an element is used.

use crate::builder::{BuildError, Builder};
use crate::op::Op;
use crate::program::{Atom, Value};
use crate::shape::{Layout, Shape};
use std::collections::HashMap;
use std::sync::Arc;

/// The largest assembly that is looked through.
const MAX_CELLS: usize = 1 << 22;

/// How many assemblies inside assemblies are looked through.
const MAX_DEPTH: usize = 16;

/// What a cell of an assembly holds.
#[derive(Clone, Copy, PartialEq)]
enum Cell {
    Zero,
    /// An element of one of the arguments.
    One {
        arg: u32,
        element: u32,
    },
    /// A sum.
    Several,
}

/// Emits views, with the assemblies that they look through taken apart once.
#[derive(Default)]
pub(crate) struct Views {
    cells: HashMap<Value, Option<Arc<[Cell]>>>,
}

impl Views {
    /// Reads `source` through an index map, by the shortest way.
    pub fn read(&mut self, b: &mut Builder, source: Atom, layout: Layout, shape: Shape) -> Result<Atom, BuildError> {
        self.read_through(b, source, layout, shape, MAX_DEPTH)
    }

    fn read_through(
        &mut self,
        b: &mut Builder,
        source: Atom,
        layout: Layout,
        shape: Shape,
        depth: usize,
    ) -> Result<Atom, BuildError> {
        let (mut source, mut layout) = (source, layout);
        while let Some((Op::View { layout: inner, .. }, args)) = definition(b, source) {
            (layout, source) = (layout.after(inner), args[0]);
        }
        let cells = if depth == 0 { None } else { self.cells_of(b, source) };
        let Some(cells) = cells else { return b.view(source, layout, shape) };
        let read: Vec<Cell> = layout.iter().map(|i| cells[i]).collect();
        if read.contains(&Cell::Several) {
            return b.view(source, layout, shape);
        }
        let args = definition(b, source).map(|(_, args)| args.to_vec()).unwrap_or_default();
        // for each argument, which of its elements go where
        let mut moves: Vec<(Vec<u32>, Vec<u32>)> = vec![Default::default(); args.len()];
        for (to, cell) in read.iter().enumerate() {
            if let Cell::One { arg, element } = cell {
                moves[*arg as usize].0.push(*element);
                moves[*arg as usize].1.push(to as u32);
            }
        }
        let mut parts = Vec::new();
        for (&arg, (from, to)) in args.iter().zip(moves).filter(|(_, (from, _))| !from.is_empty()) {
            let whole = to.len() == shape.len();
            if arg.value().is_none() {
                if whole && shape.is_scalar() {
                    return Ok(arg);
                }
                parts.push((arg, Layout::table(to)));
                continue;
            }
            let to_shape = if whole { shape.clone() } else { Shape::vector(to.len())? };
            let part = self.read_through(b, arg, Layout::table(from), to_shape, depth - 1)?;
            if whole {
                return Ok(part);
            }
            parts.push((part, Layout::table(to)));
        }
        if parts.is_empty() {
            return b.zeros(shape);
        }
        b.assemble(shape, parts)
    }

    fn cells_of(&mut self, b: &Builder, source: Atom) -> Option<Arc<[Cell]>> {
        let v = source.value()?;
        if let Some(known) = self.cells.get(&v) {
            return known.clone();
        }
        let cells = match definition(b, source) {
            Some((Op::Assemble { shape, pieces }, _)) if shape.len() <= MAX_CELLS => {
                let mut cells = vec![Cell::Zero; shape.len()];
                for (arg, piece) in pieces.iter().enumerate() {
                    for (element, to) in piece.iter().enumerate() {
                        cells[to] = match cells[to] {
                            Cell::Zero => Cell::One { arg: arg as u32, element: element as u32 },
                            _ => Cell::Several,
                        };
                    }
                }
                Some(cells.into())
            }
            _ => None,
        };
        self.cells.insert(v, cells.clone());
        cells
    }
}

/// The operation and the arguments that define a value.
pub(crate) fn definition(b: &Builder, a: Atom) -> Option<(&Op, &[Atom])> {
    let p = b.so_far();
    let e = p.equation(p.definition(a.value()?)?);
    Some((e.op, e.args))
}
