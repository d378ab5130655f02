//! Functions that move numbers about or multiply matrices: reshaping, slices, sums, and the raw
//! views and assemblies that printed programs hold.

use super::lanes::axes;
use super::{Args, Function, name};
use crate::memory::{self, shown};
use crate::text::emit::double;
use crate::text::error::TextError;
use crate::text::operand::Kind;
use crate::text::parser::Parser;
use crease_core::shape::MAX_ELEMENTS;
use crease_core::{Atom, Constant, Layout, Op, Place, Shape};

impl<'s> Parser<'s> {
    /// Applies a function that moves numbers about.
    pub fn structural(&mut self, function: Function, mut args: Args<'s>) -> Result<Kind, TextError> {
        let place = args.place;
        let atom = match function {
            Function::Reshape => {
                let (x, shape) = self.value_and_shape(args)?;
                let len = self.builder.shape(x).len();
                self.build(place, |b| {
                    if len != shape.len() {
                        return b.reshape(x, &shape);
                    }
                    // the raw operation, even where nothing changes: that is what was written
                    b.push1(Op::View { layout: Layout::identity(len), shape }, &[x])
                })?
            }
            Function::Broadcast => {
                let (x, shape) = self.value_and_shape(args)?;
                self.build(place, |b| b.broadcast(x, &shape))?
            }
            Function::Transpose => {
                args.arity(1, 2)?;
                args.no_more_settings(self)?;
                let order = match args.positional.len() {
                    2 => Some(args.pop().counts("the order of the axes")?),
                    _ => None,
                };
                let x = self.values(args)?[0];
                let rank = self.builder.shape(x).rank();
                let order = order.unwrap_or_else(|| (0..rank).rev().collect());
                self.build(place, |b| b.transpose(x, &order))?
            }
            Function::Concat => {
                let axis = match args.key("axis") {
                    Some(axis) => axis.integer("the axis")?,
                    None => 0,
                };
                args.arity(1, usize::MAX)?;
                args.no_more_settings(self)?;
                let atoms = self.values(args)?;
                self.build(place, |b| b.concat(&atoms, axis as isize))?
            }
            Function::Gather => self.gather(args)?,
            Function::Sum | Function::Mean | Function::Prod | Function::Var | Function::Std => {
                let axis = args.key("axis");
                args.arity(1, 1)?;
                args.no_more_settings(self)?;
                let x = self.values(args)?[0];
                let shape = self.builder.shape(x);
                let axes = match axis {
                    Some(axis) => axes(&axis, &shape)?,
                    None => (0..shape.rank()).collect(),
                };
                self.build(place, |b| match function {
                    Function::Mean => b.mean(x, &axes),
                    Function::Prod => b.prod(x, &axes),
                    Function::Var => b.variance(x, &axes),
                    Function::Std => b.deviation(x, &axes),
                    _ => b.sum(x, &axes),
                })?
            }
            Function::Zeros => {
                args.arity(1, 1)?;
                args.no_more_settings(self)?;
                let shape = args.pop().shape()?;
                self.build(place, |b| b.assemble(shape, Vec::new()))?
            }
            Function::Constant => {
                args.arity(1, 1)?;
                args.no_more_settings(self)?;
                let operand = args.pop();
                let number = operand.number("a constant")?;
                let number = double(&number).ok_or_else(|| {
                    TextError::new("`constant` holds a double, and no double is this number", operand.place())
                        .help("write ~0.1 for the double that is nearest to 0.1")
                })?;
                self.build(place, |b| {
                    let constant = Constant::new(Shape::scalar(), vec![number])?;
                    b.push1(Op::Constant(constant), &[])
                })?
            }
            Function::Dot | Function::MatMul => self.product(args)?,
            Function::View => {
                let layout = layout(&mut args)?;
                let (x, shape) = self.value_and_shape(args)?;
                self.build(place, |b| b.push1(Op::View { layout, shape }, &[x]))?
            }
            Function::Put => {
                let layout = layout(&mut args)?;
                args.arity(1, 1)?;
                args.no_more_settings(self)?;
                let x = self.values(args)?[0];
                return Ok(Kind::Put(Box::new((x, layout))));
            }
            Function::Assemble => self.assemble(args)?,
            _ => return Err(args.fault(format!("`{}` does not move numbers about", name(function)))),
        };
        Ok(self.kind_of(atom))
    }

    /// The arguments of `f(x, [shape])`.
    fn value_and_shape(&mut self, mut args: Args<'s>) -> Result<(Atom, Shape), TextError> {
        args.arity(2, 2)?;
        args.no_more_settings(self)?;
        let shape = args.pop().shape()?;
        Ok((self.values(args)?[0], shape))
    }

    fn gather(&mut self, mut args: Args<'s>) -> Result<Atom, TextError> {
        let axis = match args.key("axis") {
            Some(axis) => axis.integer("the axis")?,
            None => 0,
        };
        args.arity(2, 2)?;
        args.no_more_settings(self)?;
        let place = args.place;
        if let Some(Kind::Value(_)) = args.positional.last().map(|o| &o.kind) {
            let atoms = self.values(args)?;
            return self.build(place, |b| b.take(atoms[0], atoms[1], axis as isize));
        }
        let positions = args.pop().counts("the positions")?;
        let x = self.values(args)?[0];
        let shape = self.builder.shape(x);
        if let Ok(axis) = shape.axis(axis as isize) {
            self.table(shape.len() / shape.dims()[axis], positions.len(), place)?;
        }
        self.build(place, |b| b.gather(x, axis as isize, &positions))
    }

    /// Takes the memory of an index map that is no loop: four bytes for each of its entries.
    fn table(&mut self, rows: usize, positions: usize, place: Place) -> Result<(), TextError> {
        let bytes = (rows as u64).saturating_mul(positions as u64).saturating_mul(4);
        self.tables = self.tables.saturating_add(bytes);
        if self.tables <= memory::LIMIT {
            return Ok(());
        }
        let (this, all, limit) = (shown(bytes), shown(self.tables), shown(memory::LIMIT));
        let message = format!(
            "this reads through an index map that takes {this} of memory; all that the text has take {all}, more than the limit of {limit}"
        );
        Err(TextError::new(message, place))
    }

    fn product(&mut self, mut args: Args<'s>) -> Result<Atom, TextError> {
        let which = match args.function {
            Function::MatMul => args.key("transpose"),
            _ => None,
        };
        args.arity(2, 2)?;
        args.no_more_settings(self)?;
        let place = args.place;
        let transposed = match which {
            None => None,
            Some(word) => Some(match self.text_of(&word) {
                "first" => (true, false),
                "second" => (false, true),
                "both" => (true, true),
                _ => return Err(TextError::new("what is transposed is `first`, `second` or `both`", word.place())),
            }),
        };
        let atoms = self.values(args)?;
        self.build(place, |b| match transposed {
            None => b.matmul(atoms[0], atoms[1]),
            Some((transpose_a, transpose_b)) => b.push1(Op::MatMul { transpose_a, transpose_b }, &atoms),
        })
    }

    fn assemble(&mut self, args: Args<'s>) -> Result<Atom, TextError> {
        args.arity(1, usize::MAX)?;
        args.no_more_settings(self)?;
        let place = args.place;
        let mut operands = args.positional.into_iter();
        let shape = operands.next().expect("the arity has been checked").shape()?;
        let mut pieces = Vec::new();
        for operand in operands {
            let at = operand.place();
            match operand.kind {
                Kind::Put(piece) => pieces.push(*piece),
                _ => return Err(TextError::new("the pieces of `assemble` are written put(x, ...)", at)),
            }
        }
        self.build(place, |b| b.assemble(shape, pieces))
    }
}

/// The index map that `from=, sizes=, strides=` or `table=` describe.
fn layout(args: &mut Args<'_>) -> Result<Layout, TextError> {
    if let Some(table) = args.key("table") {
        let entries = table.counts("the table")?;
        if entries.is_empty() {
            return Err(TextError::new("the table is empty", table.place()));
        }
        // counts are at most 2^31, so they fit
        return Ok(Layout::table(entries.into_iter().map(|i| i as u32).collect::<Vec<_>>()));
    }
    let from = args.key("from").map_or(Ok(0), |o| o.count("`from`"))?;
    let (Some(sizes), Some(strides)) = (args.key("sizes"), args.key("strides")) else {
        return Err(args.fault(format!("`{}` needs its index map: sizes and strides, or a table", name(args.function))));
    };
    let place = Place { start: sizes.start.min(strides.start), end: sizes.end.max(strides.end) };
    let (sizes, strides) = (sizes.counts("`sizes`")?, strides.integers("`strides`")?);
    if sizes.len() != strides.len() {
        return Err(TextError::new(format!("{} sizes but {} strides", sizes.len(), strides.len()), place));
    }
    // limits that keep all products of sizes and strides within the range of isize
    let total = sizes.iter().try_fold(1usize, |a, &b| a.checked_mul(b)).unwrap_or(0);
    if total == 0 || total > MAX_ELEMENTS || strides.iter().any(|s| s.unsigned_abs() as usize > MAX_ELEMENTS) {
        return Err(TextError::new("sizes and strides must be from 1 to 2^27 elements together", place));
    }
    let loops: Vec<(usize, isize)> = sizes.into_iter().zip(strides.into_iter().map(|s| s as isize)).collect();
    Ok(Layout::strided(from, &loops))
}
