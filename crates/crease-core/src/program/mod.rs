//! Programs: the data of Algorithm 1.
//!
//! A [`Program`] is a straight list of [`Equation`]s over memory cells ([`Value`]), with named inputs and a list of
//! outputs that may be constants. Each equation applies one [`Op`] to earlier values; a [`Op::Call`] applies another
//! program, and that is how programs of any level come about. Programs are made by a [`Builder`](crate::Builder), are
//! immutable afterwards, cheap to clone, and shared freely between threads.
//!
//! Storage is flat on purpose: operations, constants and shapes are interned, arguments lie in one array, so that a
//! scalar program of a million equations takes a few dozen megabytes. Nesting is by reference counting, and nothing in
//! this crate recurses over it: a chain of 10^5 programs is walked with a list ([`Program::library`]).

mod display;
mod names;
mod origin;
mod verify;

pub use display::{KEYWORDS, reserved};
pub use names::{is_hidden, printable};
pub use origin::{Origin, Place, Site, Text};
pub use verify::Fault;

pub(crate) use origin::Origins;

use crate::number::Rational;
use crate::op::{CalleeId, Op};
use crate::shape::Shape;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A memory cell of Algorithm 1; prints as `v7`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub(crate) u32);

impl Value {
    /// The number of the cell: inputs come first, then the results of the equations in order.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Which entry of a program's table of constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConstId(pub(crate) u32);

/// What an argument or an output is: a value, or a constant of the program's table.
///
/// Constants are not predecessors in the paper's sense: `x + 1` has one predecessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Atom {
    /// A memory cell.
    Value(Value),
    /// A constant; [`Program::constant`] tells which.
    Const(ConstId),
}

impl Atom {
    /// The value, if this is one.
    pub fn value(self) -> Option<Value> {
        match self {
            Atom::Value(v) => Some(v),
            Atom::Const(_) => None,
        }
    }
}

impl From<Value> for Atom {
    fn from(v: Value) -> Self {
        Atom::Value(v)
    }
}

/// One step of a program: an operation, its arguments, and the values it defines.
#[derive(Clone, Copy, Debug)]
pub struct Equation<'p> {
    /// The operation.
    pub op: &'p Op,
    /// Its arguments, in order.
    pub args: &'p [Atom],
    /// The first result; the others follow it.
    pub first: Value,
    /// The number of results.
    pub results: usize,
    pub(crate) program: &'p Program,
    pub(crate) number: usize,
}

impl Equation<'_> {
    /// Where it comes from, if that is known.
    pub fn origin(&self) -> Option<Origin> {
        self.program.origins.get(self.number)
    }

    /// The values it defines.
    pub fn results(&self) -> impl ExactSizeIterator<Item = Value> + use<> {
        let first = self.first.0;
        (0..self.results as u32).map(move |i| Value(first + i))
    }

    /// How many products of two numbers a product of matrices is: [.., m, k] @ [.., k, n] takes k for each of its results. Nothing for
    /// other operations.
    pub(crate) fn multiplied(&self, p: &Program) -> u128 {
        match (self.op, self.args.first().and_then(|a| a.value())) {
            (Op::MatMul { transpose_a, .. }, Some(a)) => {
                let dims = p.shape(a).dims();
                let k = dims[dims.len() - if *transpose_a { 2 } else { 1 }];
                p.shape(self.first).len() as u128 * k as u128
            }
            _ => 0,
        }
    }

    /// How many columns a matrix of so many rows has that stands before a vector; one of the two may be a constant.
    pub fn columns(&self, p: &Program, rows: usize) -> usize {
        let len = |i: usize| self.args[i].value().map(|v| p.shape(v).len());
        len(1).or(len(0).map(|n| n / rows)).unwrap_or(1)
    }

    /// Its one result, for an operation that has only one.
    pub fn result(&self) -> Value {
        self.first
    }
}

/// An input of a program: its name and its shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The name, as in the text language and in `--at`.
    pub name: Arc<str>,
    /// The shape.
    pub shape: Shape,
}

/// A program that another one calls, with, if the user knows a better way to differentiate it, a joint program of his own.
#[derive(Clone, Debug)]
pub struct Callee {
    /// The program.
    pub program: Arc<Program>,
    /// The paper's gd: returns the value and then one derivative for each input, in the input's shape.
    pub joint: Option<Arc<Program>>,
}

/// A list of callees that is dropped without recursion, however deep the nesting.
#[derive(Clone, Default)]
pub(crate) struct Callees(pub(crate) Vec<Callee>);

impl Drop for Callees {
    fn drop(&mut self) {
        let mut pending = std::mem::take(&mut self.0);
        while let Some(Callee { program, joint }) = pending.pop() {
            for shared in [Some(program), joint].into_iter().flatten() {
                if let Some(mut last) = Arc::into_inner(shared) {
                    pending.append(&mut last.callees.0);
                }
            }
        }
    }
}

/// How one equation is stored: everything else about it is in the tables of the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stored {
    pub op: u32,
    pub first_arg: u32,
    pub first_result: u32,
}

/// Which program this is: no two that were built have the same, and clones share theirs.
///
/// Programs are immutable, so what was found out about one can be kept under its id; addresses may be used again.
///
/// ```
/// let p = crease_core::trace(1, |x| x[0] * x[0]).unwrap();
/// assert_eq!(p.id(), p.clone().id());
/// assert_ne!(p.id(), p.renamed("g").id());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProgramId(u64);

impl ProgramId {
    pub(crate) fn fresh() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        ProgramId(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// A program over a dictionary: Algorithm 1. See the [module](self).
///
/// ```
/// use crease_core::trace;
/// let p = trace(2, |x| x[0] * x[1] + 1.0).unwrap();
/// assert_eq!(p.equations().count(), 2);
/// assert_eq!(p.to_string(), "program f(x0, x1) {\n  let v2 = x0 * x1\n  let v3 = v2 + 1\n  return v3\n}\n");
/// ```
#[derive(Clone)]
pub struct Program {
    pub(crate) id: ProgramId,
    pub(crate) name: Arc<str>,
    pub(crate) inputs: Vec<Input>,
    pub(crate) ops: Vec<Op>,
    pub(crate) consts: Vec<Rational>,
    pub(crate) shapes: Vec<Shape>,
    pub(crate) value_shapes: Vec<u32>,
    pub(crate) args: Vec<Atom>,
    pub(crate) equations: Vec<Stored>,
    pub(crate) outputs: Vec<Atom>,
    pub(crate) origins: Origins,
    pub(crate) callees: Callees,
}

impl Program {
    /// Which program this is.
    pub fn id(&self) -> ProgramId {
        self.id
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same program under another name.
    pub fn renamed(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = name.into();
        self.id = ProgramId::fresh();
        self
    }

    /// The inputs in order. Input i is the value of index i.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// The total number of scalars among the inputs: the paper's p.
    pub fn dimension(&self) -> usize {
        self.inputs.iter().map(|i| i.shape.len()).sum()
    }

    /// The values that hold the inputs.
    pub fn input_values(&self) -> impl ExactSizeIterator<Item = Value> + use<> {
        (0..self.inputs.len() as u32).map(Value)
    }

    /// The outputs in order.
    pub fn outputs(&self) -> &[Atom] {
        &self.outputs
    }

    /// The same program with some of its outputs only, in any order.
    ///
    /// ```
    /// use crease_core::{trace_shapes, Shape};
    /// let p = trace_shapes(&[Shape::scalar()], |x| vec![x[0] * x[0], 3.0 * x[0]]).unwrap();
    /// assert_eq!(p.with_outputs(&[1]).unwrap().outputs(), &p.outputs()[1..]);
    /// assert!(p.with_outputs(&[2]).is_none());
    /// assert!(p.with_outputs(&[]).is_none());
    /// ```
    pub fn with_outputs(&self, numbers: &[usize]) -> Option<Program> {
        let outputs = numbers.iter().map(|&k| self.outputs.get(k).copied()).collect::<Option<Vec<_>>>()?;
        (!outputs.is_empty()).then(|| Program { id: ProgramId::fresh(), outputs, ..self.clone() })
    }

    /// The number of equations.
    pub fn len(&self) -> usize {
        self.equations.len()
    }

    /// Whether the program has no equation.
    pub fn is_empty(&self) -> bool {
        self.equations.is_empty()
    }

    /// Equation number `i`. Panics if there is none.
    pub fn equation(&self, i: usize) -> Equation<'_> {
        let s = self.equations[i];
        let (end_arg, end_result) = match self.equations.get(i + 1) {
            Some(next) => (next.first_arg as usize, next.first_result as usize),
            None => (self.args.len(), self.value_shapes.len()),
        };
        Equation {
            op: &self.ops[s.op as usize],
            args: &self.args[s.first_arg as usize..end_arg],
            first: Value(s.first_result),
            results: end_result - s.first_result as usize,
            program: self,
            number: i,
        }
    }

    /// The equations in order.
    pub fn equations(&self) -> impl ExactSizeIterator<Item = Equation<'_>> + DoubleEndedIterator {
        (0..self.equations.len()).map(|i| self.equation(i))
    }

    /// The number of memory cells: the paper's m.
    pub fn values(&self) -> usize {
        self.value_shapes.len()
    }

    /// The equation that defines a value; none for an input.
    pub fn definition(&self, v: Value) -> Option<usize> {
        let after = self.equations.partition_point(|e| e.first_result <= v.0);
        after.checked_sub(1)
    }

    /// The shape of a value.
    pub fn shape(&self, v: Value) -> &Shape {
        &self.shapes[self.value_shapes[v.index()] as usize]
    }

    /// The shape of an atom; a constant is a scalar.
    pub fn atom_shape(&self, a: Atom) -> Shape {
        a.value().map_or_else(Shape::scalar, |v| self.shape(v).clone())
    }

    /// The constant of that number.
    pub fn constant(&self, id: ConstId) -> &Rational {
        &self.consts[id.0 as usize]
    }

    /// The constant that an atom is, if it is one.
    pub fn as_constant(&self, a: Atom) -> Option<&Rational> {
        match a {
            Atom::Const(id) => Some(self.constant(id)),
            Atom::Value(_) => None,
        }
    }

    /// The programs that this one calls directly.
    pub fn callees(&self) -> &[Callee] {
        &self.callees.0
    }

    /// The callee of that number.
    pub fn callee(&self, id: CalleeId) -> &Callee {
        &self.callees.0[id.index()]
    }

    /// The predecessors of an equation: the values among its arguments, without repetition.
    pub fn predecessors(&self, i: usize) -> Vec<Value> {
        let mut out: Vec<Value> = self.equation(i).args.iter().filter_map(|a| a.value()).collect();
        out.sort_unstable();
        out.dedup();
        out
    }

    /// All programs that this one needs, each once, callees before their callers; joint programs are included. The program
    /// itself is not.
    ///
    /// This is the one way in which nesting is walked, and it does not recurse.
    pub fn library(&self) -> Vec<Arc<Program>> {
        let mut order: Vec<Arc<Program>> = Vec::new();
        let mut state: HashMap<ProgramId, bool> = HashMap::new();
        let needs = |p: &Program| {
            let mut out: Vec<Arc<Program>> = Vec::new();
            for c in p.callees() {
                out.push(c.program.clone());
                out.extend(c.joint.clone());
            }
            out.reverse(); // the stack turns it round again
            out
        };
        let mut stack = needs(self);
        while let Some(p) = stack.last().cloned() {
            let key = p.id();
            match state.get(&key) {
                None => {
                    state.insert(key, false);
                    stack.extend(needs(&p));
                }
                Some(false) => {
                    state.insert(key, true);
                    stack.pop();
                    order.push(p);
                }
                Some(true) => {
                    stack.pop();
                }
            }
        }
        order
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Program({}: {} inputs, {} equations)", self.name, self.inputs.len(), self.len())
    }
}

/// Two programs are equal when they apply equal operations to equal values, throughout their libraries. Names of programs and
/// places in source texts do not count; names of inputs do.
impl PartialEq for Program {
    fn eq(&self, other: &Self) -> bool {
        let (mine, theirs) = (self.library(), other.library());
        if mine.len() != theirs.len() {
            return false;
        }
        let number = |library: &[Arc<Program>]| -> HashMap<ProgramId, usize> {
            library.iter().enumerate().map(|(i, p)| (p.id(), i)).collect()
        };
        let (a, b) = (number(&mine), number(&theirs));
        let pairs = mine.iter().zip(&theirs).map(|(p, q)| (&**p, &**q));
        pairs
            .chain([(self, other)])
            .all(|(p, q)| std::ptr::eq(p, q) || same_equations(p, q, |x, y| a[&x.id()] == b[&y.id()]))
    }
}

fn same_equations(p: &Program, q: &Program, same: impl Fn(&Arc<Program>, &Arc<Program>) -> bool) -> bool {
    let same_callee = |(a, b): (&Callee, &Callee)| {
        same(&a.program, &b.program)
            && match (&a.joint, &b.joint) {
                (None, None) => true,
                (Some(a), Some(b)) => same(a, b),
                _ => false,
            }
    };
    let same_atom = |a: Atom, b: Atom| match (a, b) {
        (Atom::Value(a), Atom::Value(b)) => a == b,
        (Atom::Const(a), Atom::Const(b)) => p.constant(a) == q.constant(b),
        _ => false,
    };
    let same_atoms = |a: &[Atom], b: &[Atom]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_atom(*a, *b));
    let same_op = |a: &Op, b: &Op| {
        let (x, y) = (a.callees(), b.callees());
        x.len() == y.len()
            && x.iter().zip(y).all(|(x, y)| same_callee((p.callee(*x), q.callee(*y))))
            && a.map_callees(|_| CalleeId(0)) == b.map_callees(|_| CalleeId(0))
    };
    p.inputs == q.inputs
        && p.len() == q.len()
        && p.equations().zip(q.equations()).all(|(a, b)| {
            a.first == b.first && a.results == b.results && same_atoms(a.args, b.args) && same_op(a.op, b.op)
        })
        && same_atoms(&p.outputs, &q.outputs)
}
