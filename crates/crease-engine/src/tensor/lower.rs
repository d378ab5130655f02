//! From equations to nodes: views are resolved to index maps on buffers, lanes given as arguments are stacked, constants
//! get their places.

use super::chosen::Chosen;
use super::pool::{Pool, Unpool};
use super::turns::Turns;
use super::walk::axes;
use super::windows::{Conv, Pass};
use crate::error::EngineError;
use crate::flat::{Flat, FlatEq, FlatOp, Operand};
use crate::float::Float;
use crate::unit::{LaneOp, Lowered, Move, Part, Pick, Unit, lower, number};
use crease_core::{Lane, Layout, Limits, Op, Scan, Shape};
use std::collections::HashMap;

/// So many products of matrices with so few products of numbers in each are taken element by element: a kernel for one of them would take longer to begin than
/// to work.
const MANY: usize = 8;
const SMALL: usize = 6;

/// The number of a buffer.
pub(crate) type Buf = u32;

/// Where an argument of a node is read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Arg<T> {
    Const(T),
    /// As it lies.
    Direct(Buf),
    /// Through an index map.
    Through(Buf, Layout),
}

impl<T> Arg<T> {
    pub fn buf(&self) -> Option<Buf> {
        match self {
            Arg::Const(_) => None,
            Arg::Direct(b) | Arg::Through(b, _) => Some(*b),
        }
    }
}

/// A matrix, or a batch of them, in a buffer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Matrix {
    pub buf: Buf,
    pub offset: usize,
    pub batch: isize,
    pub row: isize,
    pub column: isize,
}

/// What one step of the plan does.
#[derive(Clone, Debug)]
pub(crate) enum Kind<T> {
    /// An elementwise operation.
    Unit(Unit<T>, Vec<Arg<T>>),
    /// Adds the arguments into zeros through index maps.
    Assemble(Vec<(Arg<T>, Layout)>),
    /// m, n, k, and the number of products. A product that stands for a sum of others is that sum only if it is finite.
    MatMul {
        a: Matrix,
        b: Matrix,
        size: [usize; 4],
        stands_for_sum: bool,
    },
    /// On `count` lanes of `n` numbers that lie side by side. Values first, then weights if there are any.
    Lane {
        op: LaneOp,
        pick: Option<Pick<T>>,
        src: Buf,
        second: Option<Buf>,
        n: usize,
        count: usize,
    },
    /// Log-sum-exp of each column of a matrix; then weights, as the matrix lies, if there are any.
    Across {
        src: Buf,
        rows: usize,
        count: usize,
    },
    /// On lanes of so many numbers, with so many positions for each, and so many results.
    Move {
        what: Move,
        src: Buf,
        positions: Option<Buf>,
        sizes: [usize; 3],
    },
    /// One of the products of a convolution.
    Conv(Conv, Pass),
    Pool(Pool),
    Unpool(Unpool),
    /// Adjoints of a convolution behind a maximum.
    Chosen(Chosen),
    /// A loop; it gets its results when it becomes a step.
    Turns(Turns),
}

/// A step of the plan before fusion.
#[derive(Clone, Debug)]
pub(crate) struct Node<T> {
    pub kind: Kind<T>,
    /// The buffers written, with the number of elements of each.
    pub out: Vec<Buf>,
}

impl<T> Node<T> {
    /// The buffers read, and whether each is read as it lies by an elementwise operation.
    pub fn reads(&self) -> Vec<(Buf, bool)> {
        match &self.kind {
            Kind::Unit(_, args) => args.iter().filter_map(|a| Some((a.buf()?, matches!(a, Arg::Direct(_))))).collect(),
            Kind::Assemble(pieces) => pieces.iter().filter_map(|(a, _)| Some((a.buf()?, false))).collect(),
            Kind::MatMul { a, b, .. } => vec![(a.buf, false), (b.buf, false)],
            Kind::Lane { src, second, .. } => [Some(*src), *second].into_iter().flatten().map(|b| (b, false)).collect(),
            Kind::Across { src, .. } => vec![(*src, false)],
            Kind::Move { src, positions, .. } => {
                [Some(*src), *positions].into_iter().flatten().map(|b| (b, false)).collect()
            }
            Kind::Conv(c, Pass::Forward) => vec![(c.image, false), (c.kernels.0, false)],
            Kind::Conv(c, Pass::Backward(_)) => vec![(c.values, false), (c.kernels.0, false)],
            Kind::Conv(c, Pass::Kernels(_)) => vec![(c.values, false), (c.image, false)],
            Kind::Pool(p) => vec![(p.image, false)],
            Kind::Turns(t) => t.args.iter().map(|&b| (b, false)).collect(),
            Kind::Chosen(c) => c.reads().map(|b| (b, false)).collect(),
            Kind::Unpool(p) => vec![(p.winners, false), (p.values, false), (p.adjoint.0, false)],
        }
    }
}

/// Where a value of the program is.
#[derive(Clone, Debug)]
enum Holder<T> {
    Const(T),
    Buffer(Buf),
    Alias(Buf, Layout),
    /// Dead, or not yet defined.
    Nowhere,
}

/// Who fills a buffer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Origin<T> {
    Input(usize),
    /// A constant tensor.
    Given(Vec<T>),
    Computed,
}

/// The nodes of a program.
pub(crate) struct Nodes<T> {
    pub nodes: Vec<Node<T>>,
    pub lens: Vec<usize>,
    pub origins: Vec<Origin<T>>,
    /// Which buffer is output number i; each is computed and used for one output alone.
    pub outputs: Vec<Buf>,
    /// Copies of what must turn out to be truth values, read by nobody else.
    pub truths: Vec<Buf>,
}

struct Lowering<'f, T> {
    f: &'f Flat,
    holders: Vec<Holder<T>>,
    out: Nodes<T>,
    copies: HashMap<(Buf, Layout), Buf>,
    filled: Vec<(T, usize, Buf)>,
    /// How many numbers of constants there are so far. Those beyond the limits are not made.
    given: u64,
    limits: &'f Limits,
}

/// Resolves all views and places all constants.
pub(crate) fn lower_all<T: Float>(f: &Flat, limits: &Limits) -> Result<Nodes<T>, EngineError> {
    let mut l = Lowering {
        f,
        holders: vec![Holder::Nowhere; f.values()],
        out: Nodes {
            nodes: Vec::new(),
            lens: Vec::new(),
            origins: Vec::new(),
            outputs: Vec::new(),
            truths: Vec::new(),
        },
        copies: HashMap::new(),
        filled: Vec::new(),
        given: 0,
        limits,
    };
    for v in 0..f.inputs {
        let b = l.buffer(f.len_of(v), Origin::Input(v));
        l.holders[v] = Holder::Buffer(b);
    }
    for e in &f.eqs {
        l.equation(e);
    }
    for &o in &f.outputs {
        let b = l.output(o);
        l.out.outputs.push(b);
    }
    for &t in &f.truths {
        let copy = Kind::Unit(Unit::Copy, vec![l.arg(t)]);
        let b = l.node(copy, &[f.operand_len(t)])[0];
        l.out.truths.push(b);
    }
    if l.given > limits.numbers {
        let what = "the constants of the program";
        return Err(EngineError::TooManyNumbers { what, numbers: l.given, limit: limits.numbers, several: false });
    }
    Ok(l.out)
}

impl<T: Float> Lowering<'_, T> {
    fn buffer(&mut self, len: usize, origin: Origin<T>) -> Buf {
        self.out.lens.push(len);
        self.out.origins.push(origin);
        self.out.lens.len() as Buf - 1
    }

    fn node(&mut self, kind: Kind<T>, lens: &[usize]) -> Vec<Buf> {
        let out: Vec<Buf> = lens.iter().map(|&n| self.buffer(n, Origin::Computed)).collect();
        self.out.nodes.push(Node { kind, out: out.clone() });
        out
    }

    fn arg(&self, a: Operand) -> Arg<T> {
        match a {
            Operand::Const(c) => Arg::Const(number(&self.f.consts[c as usize])),
            Operand::Value(v) => reading(self.holders[v as usize].clone()),
        }
    }

    /// An argument as a buffer of `len` elements that lie in order.
    fn plain(&mut self, a: Operand, len: usize) -> Buf {
        match self.arg(a) {
            Arg::Direct(b) => b,
            Arg::Through(b, layout) => {
                if let Some(&known) = self.copies.get(&(b, layout.clone())) {
                    return known;
                }
                let copy = self.node(Kind::Unit(Unit::Copy, vec![Arg::Through(b, layout.clone())]), &[len])[0];
                self.copies.insert((b, layout), copy);
                copy
            }
            Arg::Const(c) => {
                if let Some((_, _, b)) = self.filled.iter().find(|(x, n, _)| *x == c && *n == len) {
                    return *b;
                }
                self.given += len as u64;
                let made = if self.given > self.limits.numbers { 0 } else { len };
                let b = self.buffer(len, Origin::Given(vec![c; made]));
                self.filled.push((c, len, b));
                b
            }
        }
    }

    fn set(&mut self, e: &FlatEq, result: usize, b: Buf) {
        self.holders[e.first as usize + result] = Holder::Buffer(b);
    }

    fn equation(&mut self, e: &FlatEq) {
        let f = self.f;
        let args = f.args(e);
        let len = f.len_of(e.first as usize);
        let op = match f.op(e) {
            FlatOp::Pick => {
                // the condition is one number for all elements
                let condition = match self.arg(args[0]) {
                    Arg::Direct(b) if len > 1 => Arg::Through(b, Layout::strided(0, &[(len, 0)])),
                    Arg::Through(b, l) if len > 1 => {
                        Arg::Through(b, Layout::strided(l.iter().next().unwrap_or(0), &[(len, 0)]))
                    }
                    other => other,
                };
                let kind = Kind::Unit(Unit::Pick, vec![condition, self.arg(args[1]), self.arg(args[2])]);
                let b = self.node(kind, &[len])[0];
                return self.set(e, 0, b);
            }
            FlatOp::Loop(body, scan) => return self.turns(e, *body, scan),
            FlatOp::Op(op) => op,
        };
        match op {
            Op::Constant(c) => {
                let data: Vec<T> = c.data().iter().map(|&x| T::from_f64(x)).collect();
                self.holders[e.first as usize] = match data[..] {
                    [single] => Holder::Const(single),
                    _ => Holder::Buffer(self.buffer(data.len(), Origin::Given(data))),
                };
            }
            Op::View { layout, .. } => {
                self.holders[e.first as usize] = match self.arg(args[0]) {
                    Arg::Const(c) => Holder::Const(c),
                    Arg::Direct(b) => viewed(b, layout.clone(), self.out.lens[b as usize]),
                    Arg::Through(b, inner) => viewed(b, layout.after(&inner), self.out.lens[b as usize]),
                };
            }
            Op::Assemble { pieces, .. } => {
                let pieces: Vec<_> = args.iter().zip(pieces).map(|(&a, l)| (self.arg(a), l.clone())).collect();
                let b = self.node(Kind::Assemble(pieces), &[len])[0];
                self.set(e, 0, b);
            }
            Op::MatMul { transpose_a, transpose_b } => {
                let shape = f.shape(e.first as usize);
                let (m, n) = (shape.dims()[shape.rank() - 2], shape.dims()[shape.rank() - 1]);
                let batch = len / (m * n);
                let k = f.operand_len(args[0]) / (batch * m);
                let a = self.matrix(args[0], [batch, m, k], *transpose_a);
                let b = self.matrix(args[1], [batch, k, n], *transpose_b);
                let size = [m, n, k, batch];
                let b = match batch >= MANY && m * n * k <= SMALL {
                    true => self.small_products(a, b, size, len),
                    false => self.node(Kind::MatMul { a, b, size, stands_for_sum: false }, &[len])[0],
                };
                self.set(e, 0, b);
            }
            op => match lower(op) {
                Lowered::Units(parts) => self.units(e, &parts, len),
                Lowered::Lane(op, lane, pick) => self.lanes(e, op, lane, pick),
                Lowered::Move(lane, what) => self.moves(e, lane, what),
                Lowered::Other => {}
            },
        }
    }

    /// A loop, whose body reads and writes buffers that lie in order.
    fn turns(&mut self, e: &FlatEq, body: usize, scan: &Scan) {
        let f = self.f;
        let program = &f.bodies[body];
        let inputs: Vec<usize> = program.inputs().iter().map(|i| i.shape.len()).collect();
        let outputs: Vec<usize> = program.outputs().iter().map(|&o| program.atom_shape(o).len()).collect();
        let args = f.args(e).iter().map(|&a| self.plain(a, f.operand_len(a))).collect();
        let mut lens: Vec<usize> = (0..e.results as usize).map(|i| f.len_of(e.first as usize + i)).collect();
        lens.extend_from_within(..scan.carried);
        let turns = Turns { body, scan: *scan, args, inputs, outputs, out: Vec::new() };
        let out = self.node(Kind::Turns(turns), &lens);
        out.iter().take(e.results as usize).enumerate().for_each(|(i, &b)| self.set(e, i, b));
    }

    fn units(&mut self, e: &FlatEq, parts: &[Part<T>], len: usize) {
        let args: Vec<Arg<T>> = self.f.args(e).iter().map(|&a| self.arg(a)).collect();
        for (k, (unit, which)) in parts.iter().enumerate() {
            let args = match unit {
                Unit::Pick => args.clone(),
                _ => which[..unit.arity()].iter().map(|&i| args[i].clone()).collect(),
            };
            let b = self.node(Kind::Unit(*unit, args), &[len])[0];
            self.set(e, k, b);
        }
    }

    /// A batch of matrices of that size, transposed in memory if asked for.
    fn matrix(&mut self, a: Operand, [batch, rows, columns]: [usize; 3], transposed: bool) -> Matrix {
        let (r, c) = if transposed { (columns, rows) } else { (rows, columns) };
        let len = batch * r * c;
        let found = match self.arg(a) {
            Arg::Through(b, layout) => axes(&layout, &[batch, r, c]).map(|(offset, s)| (b, offset, s)),
            _ => None,
        };
        let (buf, offset, s) = match found {
            Some(found) => found,
            None => {
                let b = self.plain(a, len);
                (b, 0, vec![(r * c) as isize, c as isize, 1])
            }
        };
        let (row, column) = if transposed { (s[2], s[1]) } else { (s[1], s[2]) };
        Matrix { buf, offset, batch: s[0], row, column }
    }

    /// Many products of small matrices, element by element: the sums that the interpreter takes, in its order.
    fn small_products(&mut self, a: Matrix, b: Matrix, [m, n, k, batch]: [usize; 4], len: usize) -> Buf {
        // where the factors stand, for every element of the results
        let factors = |l: &Self, at: usize| {
            let of = |x: Matrix, step: isize, [row, column]: [isize; 2]| {
                let offset = (x.offset as isize + at as isize * step) as usize;
                let layout = Layout::strided(offset, &[(batch, x.batch), (m, row), (n, column)]);
                reading(viewed(x.buf, layout, l.out.lens[x.buf as usize]))
            };
            vec![of(a, a.column, [a.row, 0]), of(b, b.row, [0, b.column])]
        };
        let first = Kind::Unit(Unit::Mul, factors(self, 0));
        let mut sum = self.node(first, &[len])[0];
        for at in 1..k {
            let next = Kind::Unit(Unit::Mul, factors(self, at));
            let next = self.node(next, &[len])[0];
            sum = self.node(Kind::Unit(Unit::Add, vec![Arg::Direct(sum), Arg::Direct(next)]), &[len])[0];
        }
        sum
    }

    /// Several arguments of one length as one buffer, each lane side by side.
    fn stack(&mut self, args: &[Operand], len: usize) -> Buf {
        let n = args.len();
        let piece = |(i, &a): (usize, &Operand)| (self.arg(a), Layout::strided(i, &[(len, n as isize)]));
        let pieces = args.iter().enumerate().map(piece).collect();
        self.node(Kind::Assemble(pieces), &[len * n])[0]
    }

    /// Results from number `from` on are the members of the lanes of a buffer.
    fn unstack(&mut self, e: &FlatEq, from: usize, b: Buf, len: usize, n: usize) {
        for i in 0..n {
            let layout = Layout::strided(i, &[(len, n as isize)]);
            self.holders[e.first as usize + from + i] = viewed(b, layout, len * n);
        }
    }

    fn lanes(&mut self, e: &FlatEq, op: LaneOp, lane: Lane, pick: Option<Pick<T>>) {
        let f = self.f;
        let args = f.args(e);
        let len = f.len_of(e.first as usize);
        if let LaneOp::MaxLinear(rows) = op {
            return self.max_linear(e, rows, lane, pick);
        }
        let (src, n, count) = match lane {
            Lane::Args => {
                match (op, pick) {
                    (LaneOp::Max | LaneOp::Min, None) => return self.fold(e, op, len),
                    (LaneOp::Max | LaneOp::Min, Some(pick)) if args.len() == 2 => return self.pair(e, op, pick, len),
                    _ => {}
                }
                (self.stack(args, len), args.len(), len)
            }
            Lane::Axis => {
                let total = f.operand_len(args[0]);
                let n = lane_length(args[0].value().map(|v| f.shape(v)));
                (self.plain(args[0], total), n, total / n)
            }
        };
        let mut lens = match op {
            LaneOp::Sort => vec![n * count],
            _ => vec![count],
        };
        if pick.is_some() {
            lens.push(n * count);
        }
        let out = self.node(Kind::Lane { op, pick, src, second: None, n, count }, &lens);
        match (lane, op) {
            (Lane::Axis, _) => out.iter().enumerate().for_each(|(i, &b)| self.set(e, i, b)),
            (Lane::Args, LaneOp::Sort) => {
                out.iter().enumerate().for_each(|(i, &b)| self.unstack(e, i * n, b, count, n));
            }
            (Lane::Args, _) => {
                self.set(e, 0, out[0]);
                if let Some(&w) = out.get(1) {
                    self.unstack(e, 1, w, count, n);
                }
            }
        }
    }

    /// The largest or smallest of several tensors, two by two in order.
    fn fold(&mut self, e: &FlatEq, op: LaneOp, len: usize) {
        let unit = if op == LaneOp::Max { Unit::Max } else { Unit::Min };
        let args: Vec<Arg<T>> = self.f.args(e).iter().map(|&a| self.arg(a)).collect();
        let mut all = args[0].clone();
        for a in &args[1..] {
            all = Arg::Direct(self.node(Kind::Unit(unit, vec![all, a.clone()]), &[len])[0]);
        }
        let b = match all {
            Arg::Direct(b) if args.len() > 1 => b,
            other => self.node(Kind::Unit(Unit::Copy, vec![other]), &[len])[0],
        };
        self.set(e, 0, b);
    }

    /// The larger or smaller of two tensors, and what each takes of its derivative.
    fn pair(&mut self, e: &FlatEq, op: LaneOp, pick: Pick<T>, len: usize) {
        let [first, second] = pick.of_two();
        // the first of two is the larger where the second is the smaller
        let (unit, ahead, behind) =
            if op == LaneOp::Max { (Unit::Max, [0, 1], [1, 0]) } else { (Unit::Min, [1, 0], [0, 1]) };
        self.units(e, &[(unit, [0, 1]), (Unit::Share(first), ahead), (Unit::Share(second), behind)], len);
    }

    fn max_linear(&mut self, e: &FlatEq, rows: usize, lane: Lane, pick: Option<Pick<T>>) {
        let args = self.f.args(e);
        let (a, x, columns) = match lane {
            Lane::Args => {
                let columns = args.len() / (rows + 1);
                let (a, x) = args.split_at(rows * columns);
                (self.stack(a, 1), self.stack(x, 1), columns)
            }
            Lane::Axis => {
                let len = |i: usize| args[i].value().map(|v| self.f.len_of(v));
                let columns = len(1).or(len(0).map(|n| n / rows)).unwrap_or(1);
                (self.plain(args[0], rows * columns), self.plain(args[1], columns), columns)
            }
        };
        let kind = Kind::Lane { op: LaneOp::MaxLinear(rows), pick, src: a, second: Some(x), n: columns, count: 1 };
        let lens = [1, rows * columns, columns];
        let out = self.node(kind, &lens[..if pick.is_some() { 3 } else { 1 }]);
        self.set(e, 0, out[0]);
        if pick.is_some() {
            match lane {
                Lane::Axis => (1..3).for_each(|i| self.set(e, i, out[i])),
                Lane::Args => {
                    self.unstack(e, 1, out[1], 1, rows * columns);
                    self.unstack(e, 1 + rows * columns, out[2], 1, columns);
                }
            }
        }
    }

    fn moves(&mut self, e: &FlatEq, lane: Lane, what: Move) {
        let f = self.f;
        let args = f.args(e);
        let len = f.len_of(e.first as usize);
        match lane {
            Lane::Axis => {
                let of = |a: Operand| a.value().map_or(1, |v| lane_length(Some(f.shape(v))));
                let n = of(args[0]);
                let rows = f.operand_len(args[0]) / n;
                let m = args.get(1).map_or(0, |&a| of(a));
                let sizes = [n, m, len / rows];
                let src = self.plain(args[0], rows * n);
                let positions = args.get(1).map(|&a| self.plain(a, rows * m));
                let b = self.node(Kind::Move { what, src, positions, sizes }, &[len])[0];
                self.set(e, 0, b);
            }
            Lane::Args => {
                let results = e.results as usize;
                let n = what.lane(args.len(), results);
                let src = self.stack(&args[..n], len);
                let positions = (n < args.len()).then(|| self.stack(&args[n..], len));
                let sizes = [n, args.len() - n, results];
                let b = self.node(Kind::Move { what, src, positions, sizes }, &[len * results])[0];
                self.unstack(e, 0, b, len, results);
            }
        }
    }

    /// A buffer that is computed and holds just this output.
    fn output(&mut self, o: Operand) -> Buf {
        let len = self.f.operand_len(o);
        match self.arg(o) {
            Arg::Direct(b) if self.out.origins[b as usize] == Origin::Computed && !self.out.outputs.contains(&b) => b,
            other => self.node(Kind::Unit(Unit::Copy, vec![other]), &[len])[0],
        }
    }
}

fn lane_length(shape: Option<&Shape>) -> usize {
    shape.and_then(|s| s.dims().last().copied()).unwrap_or(1)
}

fn reading<T: Float>(holder: Holder<T>) -> Arg<T> {
    match holder {
        Holder::Const(c) => Arg::Const(c),
        Holder::Buffer(b) => Arg::Direct(b),
        Holder::Alias(b, layout) => Arg::Through(b, layout),
        Holder::Nowhere => Arg::Const(T::NAN),
    }
}

fn viewed<T>(b: Buf, layout: Layout, len: usize) -> Holder<T> {
    if layout.is_identity(len) { Holder::Buffer(b) } else { Holder::Alias(b, layout) }
}
