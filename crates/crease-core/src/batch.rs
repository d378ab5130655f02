//! Batching: a program at one point becomes the program at n points, with a leading axis for the points.
//!
//! A program enters, and which of its inputs differ from point to point; what leaves is an ordinary program in which those inputs have a leading
//! axis of n, as has every output. Values that do not depend on them stay as they are and are computed once. The product of one matrix for
//! each point with one for all is a single product. Sums are taken in the order in which one point takes them, so that results are those
//! of the points, bit for bit (a joint max_linear may give a zero of the other sign).
//!
//! A called program is batched as often as there are ways to call it, and stays a call; a joint program of its author's own is not carried along,
//! since it has one scalar output: differentiate first where it is to be used. Which branch of a selection runs is one
//! decision, so a selection whose conditions differ from point to point is refused, with its place. A checked run stops if any of the points
//! would have stopped it.

use crate::builder::{BuildError, Builder};
use crate::op::{CalleeId, Choice, Kink, Lane, Op, Scan, calling, elementwise, with_lane};
use crate::program::{Atom, Program, ProgramId, Site};
use crate::shape::{Layout, Shape};
use std::collections::HashMap;
use std::sync::Arc;

/// Why a program cannot be batched.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BatchError {
    /// An input that the program does not have was named.
    #[error("there is no input {index} to take a leading axis; the program takes {inputs}")]
    NoSuchInput {
        /// The number given.
        index: usize,
        /// How many inputs there are.
        inputs: usize,
    },
    /// A selection that may take another branch at each point.
    #[error(
        "the branch that `{}` of program `{}` takes may differ from point to point, and one program takes one; \
         run the points one by one, or write it without a selection",
        site.text(), site.program
    )]
    Selection {
        /// Where.
        site: Box<Site>,
    },
    /// The result could not be built: it is too large, or there are no points.
    #[error(transparent)]
    Build(#[from] BuildError),
}

/// The program at `n` points at once: the inputs numbered in `along` have a leading axis of `n`, the others are the same for all points;
/// every output has that axis.
///
/// ```
/// use crease_core::{batch, run, trace_shapes, Shape, Tensor};
/// // one layer; the points share its matrix
/// let (m, v) = (Shape::new([2, 3])?, Shape::vector(3)?);
/// let p = trace_shapes(&[m.clone(), v], |x| vec![crease_core::relu(x[0].matmul(x[1]))])?;
/// let b = batch(&p, &[1], 2)?;
/// let w = Tensor::new(m.clone(), vec![1.0, 0.0, 0.0, 0.0, 1.0, -1.0]).unwrap();
/// let x = Tensor::new(m, vec![3.0, 5.0, 1.0, -2.0, 0.0, 4.0]).unwrap();
/// assert_eq!(run(&b, &[w, x])?[0].to_string(), "[[3, 4], [0, 0]]");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn batch(p: &Program, along: &[usize], n: usize) -> Result<Program, BatchError> {
    let inputs = p.inputs().len();
    let mut mask = vec![false; inputs];
    for &index in along {
        *mask.get_mut(index).ok_or(BatchError::NoSuchInput { index, inputs })? = true;
    }
    let mut done: HashMap<Key, Batched> = HashMap::new();
    let mut frame = Frame::new(p, (p.id(), mask, true), n)?;
    let mut callers: Vec<Frame<'_>> = Vec::new();
    loop {
        match frame.advance(&done)? {
            Some(callee) => callers.push(std::mem::replace(&mut frame, callee)),
            None => match callers.pop() {
                None => return Ok(Arc::unwrap_or_clone(frame.end()?.program)),
                Some(caller) => {
                    let finished = std::mem::replace(&mut frame, caller);
                    done.insert(finished.key.clone(), finished.end()?);
                }
            },
        }
    }
}

/// A program, which of its inputs have the leading axis, and whether all outputs are to have it.
type Key = (ProgramId, Vec<bool>, bool);

/// A batched program, and which of its outputs have the leading axis.
struct Batched {
    program: Arc<Program>,
    outputs: Vec<bool>,
}

/// A value of the batched program, and whether it has the leading axis.
#[derive(Clone, Copy)]
struct Lifted {
    atom: Atom,
    along: bool,
}

/// A program in the middle of being batched.
struct Frame<'p> {
    key: Key,
    program: &'p Program,
    to: Points,
    values: Vec<Lifted>,
    next: usize,
}

impl<'p> Frame<'p> {
    fn new(program: &'p Program, key: Key, n: usize) -> Result<Self, BatchError> {
        let mut to = Points { b: Builder::new(format!("batch_{}", program.name())), n };
        let mut values = Vec::with_capacity(program.values());
        for (i, &along) in program.inputs().iter().zip(&key.1) {
            let shape = if along { to.lead(&i.shape)? } else { i.shape.clone() };
            values.push(Lifted { atom: to.b.input(i.name.clone(), shape)?, along });
        }
        Ok(Frame { key, program, to, values, next: 0 })
    }

    fn lifted(&mut self, a: Atom) -> Lifted {
        match a {
            Atom::Value(v) => self.values[v.index()],
            Atom::Const(c) => Lifted { atom: self.to.b.constant(self.program.constant(c).clone()), along: false },
        }
    }

    /// Goes on to the end, or to an equation that runs a program which has yet to be batched.
    fn advance(&mut self, done: &HashMap<Key, Batched>) -> Result<Option<Frame<'p>>, BatchError> {
        let p = self.program;
        while self.next < p.len() {
            let e = p.equation(self.next);
            let args: Vec<Lifted> = e.args.iter().map(|&a| self.lifted(a)).collect();
            self.to.b.set_origin(e.origin());
            if args.iter().all(|a| !a.along) {
                let atoms: Vec<Atom> = args.iter().map(|a| a.atom).collect();
                let results = self.to.b.push_from(p, e.op, &atoms)?;
                self.values.extend(results.into_iter().map(|atom| Lifted { atom, along: false }));
                self.next += 1;
                continue;
            }
            let conditions = match e.op {
                Op::Select(ids) => ids.len() - 1,
                _ => 0,
            };
            if args[..conditions].iter().any(|c| c.along) {
                return Err(BatchError::Selection { site: Box::new(Site::new(p, self.next)) });
            }
            if e.op.callees().is_empty() {
                let shapes: Vec<&Shape> = e.results().map(|v| p.shape(v)).collect();
                let results = self.to.equation(e.op, &args, &shapes)?;
                self.values.extend(results.into_iter().map(|atom| Lifted { atom, along: true }));
            } else if let Op::Scan(scan) = e.op {
                // what is carried may differ from point to point after a turn, whatever it was before
                let mask: Vec<bool> = args.iter().enumerate().map(|(i, a)| i < scan.carried || a.along).collect();
                let body = &p.callee(scan.body).program;
                let Some(batched) = done.get(&(body.id(), mask.clone(), true)) else {
                    return Frame::new(body, (body.id(), mask, true), self.to.n).map(Some);
                };
                let program = batched.program.clone();
                let results = self.to.turns(scan, body, program, &args)?;
                self.values.extend(results.into_iter().map(|atom| Lifted { atom, along: true }));
            } else {
                let mask: Vec<bool> = args[conditions..].iter().map(|a| a.along).collect();
                // branches return the same shapes
                let all = matches!(e.op, Op::Select(_));
                let key = |id: &CalleeId| -> Key { (p.callee(*id).program.id(), mask.clone(), all) };
                if let Some(id) = e.op.callees().iter().find(|id| !done.contains_key(&key(id))) {
                    return Frame::new(&p.callee(*id).program, key(id), self.to.n).map(Some);
                }
                let mut ids = HashMap::new();
                let mut outputs = &[][..];
                for id in e.op.callees() {
                    let callee = &done[&key(id)];
                    outputs = &callee.outputs;
                    ids.insert(*id, self.to.b.callee(callee.program.clone(), None)?);
                }
                let atoms: Vec<Atom> = args.iter().map(|a| a.atom).collect();
                let results = self.to.b.push(e.op.map_callees(|id| ids[&id]), &atoms)?;
                let lifted = results.into_iter().zip(outputs);
                self.values.extend(lifted.map(|(atom, &along)| Lifted { atom, along }));
            }
            self.next += 1;
        }
        Ok(None)
    }

    fn end(mut self) -> Result<Batched, BatchError> {
        self.to.b.set_origin(None);
        let (mut atoms, mut outputs) = (Vec::new(), Vec::new());
        for &o in self.program.outputs() {
            let shape = self.program.atom_shape(o);
            let x = self.lifted(o);
            let along = x.along || self.key.2;
            atoms.push(if along { self.to.tensor(x, &shape)? } else { x.atom });
            outputs.push(along);
        }
        Ok(Batched { program: Arc::new(self.to.b.finish(&atoms)?), outputs })
    }
}

/// What emits equations, for n points.
struct Points {
    b: Builder,
    n: usize,
}

impl Points {
    fn lead(&self, shape: &Shape) -> Result<Shape, BuildError> {
        Ok(shape.with_leading(self.n)?)
    }

    /// A value with the leading axis; a constant stands for whatever is needed.
    fn spread(&mut self, x: Lifted) -> Result<Atom, BuildError> {
        match x.along || x.atom.value().is_none() {
            true => Ok(x.atom),
            false => {
                let shape = self.lead(&self.b.shape(x.atom))?;
                self.b.broadcast(x.atom, &shape)
            }
        }
    }

    /// A value of that shape with the leading axis, constants too.
    fn tensor(&mut self, x: Lifted, shape: &Shape) -> Result<Atom, BuildError> {
        if x.along {
            return Ok(x.atom);
        }
        let shape = self.lead(shape)?;
        self.b.broadcast(x.atom, &shape)
    }

    fn spread_all(&mut self, args: &[Lifted]) -> Result<Vec<Atom>, BuildError> {
        args.iter().map(|&a| self.spread(a)).collect()
    }

    /// An operation that runs no program, at least one of whose arguments has the leading axis; so have all results, whose shapes at one
    /// point are given.
    fn equation(&mut self, op: &Op, args: &[Lifted], shapes: &[&Shape]) -> Result<Vec<Atom>, BuildError> {
        match op {
            Op::View { layout, shape } => {
                let to = self.lead(shape)?;
                let source = self.b.shape(args[0].atom).len() / self.n;
                Ok(vec![self.b.view(args[0].atom, layout.batched(self.n, source), to)?])
            }
            Op::Assemble { shape, pieces } => {
                let to = self.lead(shape)?;
                let atoms = self.spread_all(args)?;
                let pieces = atoms.into_iter().zip(pieces).map(|(a, l)| (a, l.batched(self.n, shape.len())));
                Ok(vec![self.b.assemble(to, pieces.collect())?])
            }
            Op::MatMul { transpose_a, transpose_b } => {
                Ok(vec![self.matmul(args[0], args[1], *transpose_a, *transpose_b)?])
            }
            Op::Kink(Kink::MaxLinear { lane, rows }) => {
                let (_, _, products) = self.products(*lane, *rows, args)?;
                self.b.push(Op::Kink(Kink::Max(Lane::Axis)), &[products])
            }
            Op::Joint(Kink::MaxLinear { lane, rows }, choice) => self.max_linear(*lane, *rows, choice, args),
            // one number by itself is a lane only as a scalar
            Op::LogSumExp(_) | Op::LogSumExpJoint(_) | Op::Kink(_) | Op::Joint(..) | Op::Position(..)
                if args.len() == 1 && op.lane() == Some(Lane::Args) =>
            {
                let one = Shape::new([self.n, 1])?;
                let x = self.b.reshape(args[0].atom, &one)?;
                let results = self.b.push(op.with_lane(Lane::Axis), &[x])?;
                let reshaped = results.into_iter().zip(shapes).map(|(r, shape)| {
                    let shape = self.lead(shape)?;
                    self.b.reshape(r, &shape)
                });
                reshaped.collect()
            }
            // element by element, or lane by lane along the last axis; what runs a program or takes nothing is not asked for here
            elementwise!() | with_lane!() | calling!() | Op::Constant(_) => {
                let atoms = self.spread_all(args)?;
                self.b.push(op.clone(), &atoms)
            }
        }
    }

    /// A loop whose body takes all points at once. In sequences the axis of turns comes first, so that of points is put behind it.
    fn turns(
        &mut self,
        scan: &Scan,
        body: &Program,
        batched: Arc<Program>,
        args: &[Lifted],
    ) -> Result<Vec<Atom>, BuildError> {
        let mut atoms = Vec::with_capacity(args.len());
        for (i, &x) in args.iter().enumerate() {
            let shape = &body.inputs()[i].shape;
            atoms.push(match x.along {
                _ if i < scan.carried => self.tensor(x, shape)?,
                true if i < scan.still() => self.b.swap_leading(x.atom)?,
                _ => x.atom,
            });
        }
        let op = Scan { body: self.b.callee(batched, None)?, ..*scan };
        let mut results = self.b.push(op, &atoms)?;
        for r in &mut results[scan.carried..] {
            *r = self.b.swap_leading(*r)?;
        }
        Ok(results)
    }

    /// A product of matrices. If one of them is the same for all points, the others are put one below the other, and it is one product.
    fn matmul(&mut self, x: Lifted, y: Lifted, tx: bool, ty: bool) -> Result<Atom, BuildError> {
        let product = |ta: bool, tb: bool| Op::MatMul { transpose_a: ta, transpose_b: tb };
        let (sx, sy) = (self.b.shape(x.atom), self.b.shape(y.atom));
        match (x.along, y.along) {
            (true, false) if sy.rank() == 2 => {
                let (tall, m) = self.tall(x.atom, tx)?;
                let out = self.b.push1(product(false, ty), &[tall, y.atom])?;
                let columns = sy.dims()[usize::from(!ty)];
                self.b.reshape(out, &Shape::new([self.n, m, columns])?)
            }
            (false, true) if sx.rank() == 2 => {
                // the transpose of the second times that of the first
                let (tall, columns) = self.tall(y.atom, !ty)?;
                let out = self.b.push1(product(false, !tx), &[tall, x.atom])?;
                let m = sx.dims()[usize::from(tx)];
                let out = self.b.reshape(out, &Shape::new([self.n, columns, m])?)?;
                self.b.transpose(out, &[0, 2, 1])
            }
            _ => {
                let (x, y) = (self.spread(x)?, self.spread(y)?);
                self.b.push1(product(tx, ty), &[x, y])
            }
        }
    }

    /// Matrices, one for each point, one below the other, each transposed if asked for; and how many rows each has then.
    fn tall(&mut self, x: Atom, transposed: bool) -> Result<(Atom, usize), BuildError> {
        let x = if transposed { self.b.transpose(x, &[0, 2, 1])? } else { x };
        let shape = self.b.shape(x);
        let (rows, columns) = (shape.dims()[1], shape.dims()[2]);
        Ok((self.b.reshape(x, &Shape::new([self.n * rows, columns])?)?, rows))
    }

    /// A matrix, a vector, and the rows of their product for all points.
    fn products(&mut self, lane: Lane, rows: usize, args: &[Lifted]) -> Result<(Lifted, Lifted, Atom), BuildError> {
        let (a, x) = match lane {
            Lane::Args => {
                let columns = args.len() / (rows + 1);
                let (a, x) = args.split_at(rows * columns);
                (self.gathered(a, Shape::new([rows, columns])?)?, self.gathered(x, Shape::vector(columns)?)?)
            }
            Lane::Axis => {
                let columns =
                    args.iter().filter_map(|a| self.b.shape(a.atom).dims().last().copied()).max().unwrap_or(1);
                let whole = |b: &mut Builder, x: Lifted, shape: Shape| match x.atom {
                    Atom::Value(_) => Ok(x),
                    Atom::Const(_) => Ok::<_, BuildError>(Lifted { atom: b.broadcast(x.atom, &shape)?, along: false }),
                };
                let a = whole(&mut self.b, args[0], Shape::new([rows, columns])?)?;
                (a, whole(&mut self.b, args[1], Shape::vector(columns)?)?)
            }
        };
        let column = self.b.shape(x.atom);
        let column = Shape::new([column.dims(), &[1]].concat())?;
        let x_column = Lifted { atom: self.b.reshape(x.atom, &column)?, along: x.along };
        let product = self.matmul(a, x_column, false, false)?;
        let products = self.b.reshape(product, &Shape::new([self.n, rows])?)?;
        Ok((a, x, products))
    }

    /// Scalars as a tensor, with the leading axis if one of them has it.
    fn gathered(&mut self, args: &[Lifted], shape: Shape) -> Result<Lifted, BuildError> {
        let len = shape.len();
        let along = args.iter().any(|a| a.along);
        let n = if along { self.n } else { 1 };
        let atoms = if along { self.spread_all(args)? } else { args.iter().map(|a| a.atom).collect() };
        let place = |(i, a): (usize, Atom)| (a, Layout::strided(i, &[(n, len as isize)]));
        let pieces = atoms.into_iter().enumerate().map(place).collect();
        let to = if along { self.lead(&shape)? } else { shape };
        Ok(Lifted { atom: self.b.assemble(to, pieces)?, along })
    }

    /// The largest entry of A x, with the weights of the entries of A and of x.
    fn max_linear(
        &mut self,
        lane: Lane,
        rows: usize,
        choice: &Choice,
        args: &[Lifted],
    ) -> Result<Vec<Atom>, BuildError> {
        let (a, x, products) = self.products(lane, rows, args)?;
        let both = self.b.push(Op::Joint(Kink::Max(Lane::Axis), choice.clone()), &[products])?;
        let columns = self.b.shape(x.atom).dims().last().copied().unwrap_or(1);
        let shares = both[1];
        let full = Shape::new([self.n, rows, columns])?;
        let by_row = self.b.view(shares, Layout::strided(0, &[(self.n * rows, 1), (columns, 0)]), full.clone())?;
        let step = if x.along { columns as isize } else { 0 };
        let x_all = Layout::strided(0, &[(self.n, step), (rows, 0), (columns, 1)]);
        let x_all = self.b.view(x.atom, x_all, full)?;
        let matrix = self.b.mul(by_row, x_all)?;
        let line = Lifted { atom: self.b.reshape(shares, &Shape::new([self.n, 1, rows])?)?, along: true };
        let row = self.matmul(line, a, false, false)?;
        let row = self.b.reshape(row, &Shape::new([self.n, columns])?)?;
        match lane {
            Lane::Axis => Ok(vec![both[0], matrix, row]),
            Lane::Args => {
                let mut out = vec![both[0]];
                for (weights, len) in [(matrix, rows * columns), (row, columns)] {
                    for i in 0..len {
                        let layout = Layout::strided(i, &[(self.n, len as isize)]);
                        out.push(self.b.view(weights, layout, Shape::vector(self.n)?)?);
                    }
                }
                Ok(out)
            }
        }
    }
}
