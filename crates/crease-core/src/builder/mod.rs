//! The builder: the only way to make a program.
//!
//! [`Builder::push`] adds one equation and checks it at once, so a finished program has nothing left to doubt. The
//! methods in [`arithmetic`](self), [`structure`](self) and [`lanes`](self) put the words of users on top of it:
//! sums, convolutions, pooling, norms. [`trace`](crate::trace) puts operators on top of those.

pub(crate) mod arithmetic;
mod lanes;
mod loops;
mod named;
mod positions;
mod reductions;
pub(crate) mod structure;
mod windows;

pub use loops::Cumulative;
pub use windows::{Along, Conv2d, Sliding, Stretch, Window};

use crate::limits::{Limits, Stop};
use crate::number::Rational;
use crate::op::{CalleeId, Op, OpError};
use crate::program::{Atom, Callee, Callees, ConstId, Input, Origin, Origins, Program, ProgramId, Stored, Value};
use crate::shape::{Shape, ShapeError};
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::sync::Arc;

/// The most equations of one program: with that many it takes some gigabytes.
pub const MAX_EQUATIONS: usize = 1 << 26;

/// The most values of one program, and the most arguments of all its equations together.
const MAX_NUMBERED: usize = 1 << 29;

type Table<K> = HashMap<K, u32, BuildHasherDefault<DefaultHasher>>;

/// Why a program could not be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A limit was reached, or somebody stopped it.
    #[error("the program was not built: {0}")]
    Stopped(#[from] Stop),
    /// An operation does not take these arguments.
    #[error(transparent)]
    Op(#[from] OpError),
    /// A shape that cannot be.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// Two inputs of one name.
    #[error("there are two inputs named `{0}`")]
    DuplicateInput(String),
    /// An input declared after the first equation.
    #[error("input `{0}` comes after the first equation; declare all inputs first")]
    LateInput(String),
    /// A constant that is not finite.
    #[error("a constant must be finite, got {0}")]
    NotFinite(f64),
    /// A value of another program, or one that is not defined yet.
    #[error("{0} is not a value of this program")]
    UnknownValue(Value),
    /// A program without outputs.
    #[error("the program has no output")]
    NoOutput,
    /// More equations, values or arguments than one program may have.
    #[error(
        "program `{name}` would have {what}, which is more than one program may have; put parts of it into programs that it calls, or \
         keep tensors whole"
    )]
    TooLarge {
        /// The program.
        name: String,
        /// What there is too much of.
        what: String,
    },
    /// A program with too few or too many arguments.
    #[error("program `{name}` takes {expected} argument{}, got {got}", if *expected == 1 { "" } else { "s" })]
    Arguments {
        /// The program.
        name: String,
        /// How many it takes.
        expected: usize,
        /// How many it got.
        got: usize,
    },
    /// An argument of another shape than that of the input it stands for.
    #[error("input `{input}` of program `{name}` has shape {expected}, got an argument of shape {got}")]
    ArgumentShape {
        /// The program.
        name: String,
        /// The input.
        input: String,
        /// Its shape.
        expected: Shape,
        /// That of the argument.
        got: Shape,
    },
    /// A callee of another program.
    #[error("there is no callee number {0} in this program; enter it with `callee`")]
    UnknownCallee(usize),
    /// A joint program that does not fit the program it belongs to.
    #[error("the joint program of `{name}` must return its value and then one derivative for each input: {why}")]
    Joint {
        /// The program.
        name: String,
        /// What does not fit.
        why: String,
    },
    /// A number where a truth value is needed.
    #[error("a condition is a comparison such as x > 0, or several joined by and, or, not; {0} is a number")]
    NotATruth(Value),
    /// Variables of two different traces in one expression.
    #[error("an expression mixes variables of two different traces")]
    ForeignVariable,
}

/// Makes a [`Program`] equation by equation.
///
/// ```
/// use crease_core::{Builder, Op, Shape};
/// let mut b = Builder::new("f");
/// let x = b.input("x", Shape::scalar())?;
/// let one = b.constant(1);
/// let y = b.push1(Op::Add, &[x, one])?;
/// let p = b.finish(&[y])?;
/// assert_eq!(p.to_string(), "program f(x) {\n  let v1 = x + 1\n  return v1\n}\n");
/// # Ok::<(), crease_core::BuildError>(())
/// ```
pub struct Builder {
    program: Program,
    op_ids: Table<Op>,
    const_ids: Table<Rational>,
    shape_ids: Table<Shape>,
    /// the shape of scalars, which is by far the most frequent one: not looked up each time
    scalar_id: Option<u32>,
    callee_ids: HashMap<(ProgramId, Option<ProgramId>), CalleeId>,
    names: HashSet<Arc<str>>,
    origin: Option<Origin>,
    /// what equations are charged to
    limits: Option<Limits>,
}

/// The units of work that an equation takes to be built, and each of its arguments.
const WORK: (u64, u64) = (20, 2);

impl BuildError {
    /// What ended it, if a limit was reached on the way or somebody stopped it.
    pub fn stop(&self) -> Option<Stop> {
        match self {
            BuildError::Stopped(stop) => Some(*stop),
            _ => None,
        }
    }
}

impl Builder {
    /// An empty program of that name.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Builder {
            program: Program {
                id: ProgramId::fresh(),
                name: named(name.into()),
                inputs: Vec::new(),
                ops: Vec::new(),
                consts: Vec::new(),
                shapes: Vec::new(),
                value_shapes: Vec::new(),
                args: Vec::new(),
                equations: Vec::new(),
                outputs: Vec::new(),
                origins: Origins::default(),
                callees: Callees::default(),
            },
            op_ids: HashMap::default(),
            const_ids: HashMap::default(),
            shape_ids: HashMap::default(),
            scalar_id: None,
            callee_ids: HashMap::new(),
            names: HashSet::new(),
            origin: None,
            limits: None,
        }
    }

    /// The same builder, charging each equation to these limits; [`BuildError::Stopped`] is what ends it.
    ///
    /// ```
    /// use crease_core::{limits::Stop, BuildError, Builder, Limits, Op, Shape};
    /// let limits = Limits { work: 0, ..Limits::default() }.started();
    /// let mut b = Builder::new("f").within(&limits);
    /// let x = b.input("x", Shape::scalar())?;
    /// assert_eq!(b.push1(Op::Neg, &[x]), Err(BuildError::Stopped(Stop::Work)));
    /// # Ok::<(), BuildError>(())
    /// ```
    pub fn within(self, limits: &Limits) -> Self {
        Builder { limits: Some(limits.clone()), ..self }
    }

    /// Charges work to the limits, if there are any.
    pub(crate) fn charge(&self, units: u64) -> Result<(), BuildError> {
        Ok(self.limits.as_ref().map_or(Ok(()), |limits| limits.charge(units))?)
    }

    /// Declares an input. All inputs come before the first equation.
    pub fn input(&mut self, name: impl Into<Arc<str>>, shape: Shape) -> Result<Atom, BuildError> {
        let name = named(name.into());
        if !self.program.equations.is_empty() {
            return Err(BuildError::LateInput(name.to_string()));
        }
        if self.names.contains(&name) {
            return Err(BuildError::DuplicateInput(name.to_string()));
        }
        self.room_for_values(1, 0)?;
        self.names.insert(name.clone());
        self.program.inputs.push(Input { name, shape: shape.clone() });
        Ok(Atom::Value(self.new_value(shape)))
    }

    /// Declares the inputs of another program, by their names and shapes.
    pub(crate) fn inputs_of(&mut self, p: &Program) -> Result<Vec<Atom>, BuildError> {
        p.inputs().iter().map(|i| self.input(i.name.clone(), i.shape.clone())).collect()
    }

    fn new_value(&mut self, shape: Shape) -> Value {
        let index = self.program.value_shapes.len();
        let scalar = shape.is_scalar();
        let id = match self.scalar_id {
            Some(id) if scalar => id,
            _ => intern(&mut self.shape_ids, &mut self.program.shapes, shape),
        };
        if scalar {
            self.scalar_id = Some(id);
        }
        self.program.value_shapes.push(id);
        Value(index as u32)
    }

    /// Checks that so many more equations fit into the program: for expansions, which know beforehand how many there will be.
    pub(crate) fn room_for(&self, equations: u128) -> Result<(), BuildError> {
        match equations.saturating_add(self.program.len() as u128) {
            all if all > MAX_EQUATIONS as u128 => Err(self.too_large(all, "equations")),
            _ => Ok(()),
        }
    }

    /// Checks that so many more values and arguments can be numbered.
    fn room_for_values(&self, values: usize, args: usize) -> Result<(), BuildError> {
        let p = &self.program;
        for (all, word) in
            [(p.values().saturating_add(values), "values"), (p.args.len().saturating_add(args), "arguments")]
        {
            if all > MAX_NUMBERED {
                return Err(self.too_large(all as u128, word));
            }
        }
        Ok(())
    }

    fn too_large(&self, n: u128, word: &str) -> BuildError {
        BuildError::TooLarge { name: self.program.name().into(), what: format!("{n} {word}") }
    }

    /// A constant of the program's table.
    pub fn constant(&mut self, c: impl Into<Rational>) -> Atom {
        Atom::Const(ConstId(intern(&mut self.const_ids, &mut self.program.consts, c.into())))
    }

    /// A finite float as an exact constant.
    pub fn constant_f64(&mut self, c: f64) -> Result<Atom, BuildError> {
        Ok(self.constant(Rational::from_f64(c).ok_or(BuildError::NotFinite(c))?))
    }

    /// The constant that an atom is, if it is one of this program.
    pub fn as_constant(&self, a: Atom) -> Option<&Rational> {
        match a {
            Atom::Const(c) => self.program.consts.get(c.0 as usize),
            Atom::Value(_) => None,
        }
    }

    /// The shape of an atom; a constant is a scalar. So is, here, what is no atom of this program: to use it is an error.
    pub fn shape(&self, a: Atom) -> Shape {
        self.shape_of(a).unwrap_or_default()
    }

    /// The shape of an atom of this program.
    pub(crate) fn shape_of(&self, a: Atom) -> Result<Shape, BuildError> {
        self.check_atoms(&[a])?;
        Ok(self.program.atom_shape(a))
    }

    /// The program so far.
    pub(crate) fn so_far(&self) -> &Program {
        &self.program
    }

    /// Says where the equations that follow come from.
    pub fn set_origin(&mut self, origin: Option<Origin>) {
        self.origin = origin;
    }

    /// The origin set last.
    pub fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }

    /// Makes a program available to [`Op::Call`], [`Op::Select`] and [`Op::Scan`], with the user's own joint program if there is one.
    /// The same program is entered only once.
    pub fn callee(&mut self, program: Arc<Program>, joint: Option<Arc<Program>>) -> Result<CalleeId, BuildError> {
        if let Some(joint) = &joint {
            check_joint(&program, joint)?;
        }
        let key = (program.id(), joint.as_ref().map(|q| q.id()));
        let list = &mut self.program.callees.0;
        Ok(*self.callee_ids.entry(key).or_insert_with(|| {
            list.push(Callee { program, joint });
            CalleeId(list.len() as u32 - 1)
        }))
    }

    /// Adds an equation and returns its results.
    pub fn push(&mut self, op: impl Into<Op>, args: &[Atom]) -> Result<Vec<Atom>, BuildError> {
        let (first, n) = self.push_raw(op.into(), args)?;
        Ok((0..n).map(|i| Atom::Value(Value(first + i))).collect())
    }

    /// Adds an equation and returns its first result, which for most operations is the only one.
    pub fn push1(&mut self, op: impl Into<Op>, args: &[Atom]) -> Result<Atom, BuildError> {
        Ok(Atom::Value(Value(self.push_raw(op.into(), args)?.0)))
    }

    fn push_raw(&mut self, op: Op, args: &[Atom]) -> Result<(u32, u32), BuildError> {
        if let Some(limits) = &self.limits {
            limits.charge(WORK.0 + WORK.1 * args.len() as u64)?;
        }
        self.check_atoms(args)?;
        if let Some(id) = op.callees().iter().find(|id| id.index() >= self.program.callees().len()) {
            return Err(BuildError::UnknownCallee(id.index()));
        }
        match &op {
            Op::Logic(_) => self.check_truths(args)?,
            Op::Where => self.check_truths(&args[..args.len().min(1)])?,
            Op::Select(branches) => self.check_truths(&args[..args.len().min(branches.len().saturating_sub(1))])?,
            _ => {}
        }
        let p = &self.program;
        let first = p.value_shapes.len() as u32;
        self.room_for(1)?;
        // a scalar operation is by far the most frequent case: keep it free of allocation
        if scalar_arity(&op) == Some(args.len()) && args.iter().all(|a| p.atom_is_scalar(*a)) {
            self.room_for_values(1, args.len())?;
            self.new_value(Shape::scalar());
        } else {
            let shapes = p.infer(&op, args)?;
            self.room_for_values(shapes.len(), args.len())?;
            for shape in shapes {
                self.new_value(shape);
            }
        }
        let op = intern(&mut self.op_ids, &mut self.program.ops, op);
        let p = &mut self.program;
        p.equations.push(Stored { op, first_arg: p.args.len() as u32, first_result: first });
        p.args.extend_from_slice(args);
        p.origins.push(p.equations.len() - 1, self.origin.as_ref());
        let results = p.value_shapes.len() as u32 - first;
        Ok((first, results))
    }

    /// Checks that atoms are of this program.
    fn check_atoms(&self, atoms: &[Atom]) -> Result<(), BuildError> {
        for a in atoms {
            match *a {
                Atom::Value(v) if v.index() >= self.program.values() => return Err(BuildError::UnknownValue(v)),
                Atom::Const(c) if c.0 as usize >= self.program.consts.len() => return Err(BuildError::ForeignVariable),
                _ => {}
            }
        }
        Ok(())
    }

    /// Checks that values are 0 or 1 by their making, as far as that can be seen: an input, or what a call returns, is seen to
    /// only in the run.
    fn check_truths(&self, atoms: &[Atom]) -> Result<(), BuildError> {
        for atom in atoms.iter().filter_map(|a| a.value()) {
            let mut open = vec![atom];
            while let Some(v) = open.pop() {
                let Some(i) = self.program.definition(v) else { continue };
                let e = self.program.equation(i);
                match e.op {
                    // what is put together, as the turns of a loop are, is made of its parts
                    Op::View { .. } | Op::Assemble { .. } => open.extend(e.args.iter().filter_map(|a| a.value())),
                    Op::Compare(_) | Op::Logic(_) | Op::Call(_) | Op::Select(_) | Op::Scan(_) | Op::Where => {}
                    _ => return Err(BuildError::NotATruth(atom)),
                }
            }
        }
        Ok(())
    }

    /// Ends the program with these outputs.
    pub fn finish(mut self, outputs: &[Atom]) -> Result<Program, BuildError> {
        if outputs.is_empty() {
            return Err(BuildError::NoOutput);
        }
        self.check_atoms(outputs)?;
        self.program.outputs = outputs.to_vec();
        Ok(self.program)
    }

    /// Appends the equations of another level of program, its inputs replaced by `args`; returns its outputs.
    /// Callees are entered as they are. This is one step of inlining, and how a program is extended.
    ///
    /// ```
    /// use crease_core::{trace, Builder, Shape};
    /// let square = trace(1, |x| x[0] * x[0]).unwrap();
    /// let mut b = Builder::new("f");
    /// let x = b.input("x", Shape::scalar())?;
    /// assert_eq!(b.splice(&square, &[x, x]).unwrap_err().to_string(), "program `f` takes 1 argument, got 2");
    /// let y = b.splice(&square, &[x])?;
    /// assert_eq!(b.finish(&y)?.len(), 1);
    /// # Ok::<(), crease_core::BuildError>(())
    /// ```
    pub fn splice(&mut self, p: &Program, args: &[Atom]) -> Result<Vec<Atom>, BuildError> {
        if args.len() != p.inputs().len() {
            let (expected, got) = (p.inputs().len(), args.len());
            return Err(BuildError::Arguments { name: p.name().into(), expected, got });
        }
        for (input, &arg) in p.inputs().iter().zip(args) {
            let got = self.shape_of(arg)?;
            // a constant stands for a tensor wherever an operation lets it, which is seen when that is added
            if got != input.shape && arg.value().is_some() {
                let (name, expected) = (p.name().into(), input.shape.clone());
                return Err(BuildError::ArgumentShape { name, input: input.name.to_string(), expected, got });
            }
        }
        self.room_for(p.len() as u128)?;
        let mut map: Vec<Atom> = args.to_vec();
        let outer = self.origin.take();
        for e in p.equations() {
            let args = self.translate_all(p, &map, e.args);
            self.origin = e.origin().or_else(|| outer.clone());
            map.extend(self.push_from(p, e.op, &args)?);
        }
        self.origin = outer;
        Ok(self.translate_all(p, &map, p.outputs()))
    }

    /// Adds an operation of another program, entering the callees that it names.
    ///
    /// ```
    /// use crease_core::{trace, Builder, Op, Shape};
    /// use std::sync::Arc;
    /// let mut b = Builder::new("f");
    /// let x = b.input("x", Shape::scalar())?;
    /// let square = b.callee(Arc::new(trace(1, |x| x[0] * x[0]).unwrap()), None)?;
    /// let y = b.push(Op::Call(square), &[x])?;
    /// let p = b.finish(&y)?;
    /// let mut other = Builder::new("g");
    /// let x = other.input("x", Shape::scalar())?;
    /// let y = other.push_from(&p, p.equation(0).op, &[x])?;
    /// assert_eq!(other.finish(&y)?.callees().len(), 1);
    /// # Ok::<(), crease_core::BuildError>(())
    /// ```
    pub fn push_from(&mut self, p: &Program, op: &Op, args: &[Atom]) -> Result<Vec<Atom>, BuildError> {
        let mut ids = HashMap::new();
        for &id in op.callees() {
            let c = p.callee(id);
            ids.insert(id, self.callee(c.program.clone(), c.joint.clone())?);
        }
        self.push(op.map_callees(|id| ids[&id]), args)
    }

    /// An atom of `p` as an atom of this program; `map` tells what became of the values of `p`.
    pub(crate) fn translate(&mut self, p: &Program, map: &[Atom], a: Atom) -> Atom {
        match a {
            Atom::Value(v) => map[v.index()],
            Atom::Const(c) => self.constant(p.constant(c).clone()),
        }
    }

    /// Several atoms of `p` as atoms of this program.
    pub(crate) fn translate_all(&mut self, p: &Program, map: &[Atom], atoms: &[Atom]) -> Vec<Atom> {
        atoms.iter().map(|&a| self.translate(p, map, a)).collect()
    }
}

impl Program {
    fn atom_is_scalar(&self, a: Atom) -> bool {
        a.value().is_none_or(|v| self.shape(v).is_scalar())
    }
}

/// The number of arguments of operations that, given scalars, have one scalar result and nothing to check.
fn scalar_arity(op: &Op) -> Option<usize> {
    use crate::op::{Kink, Smooth};
    match op {
        Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Compare(_) => Some(2),
        Op::Neg | Op::Stair(_) => Some(1),
        Op::Where => Some(3),
        Op::Smooth(Smooth::Power(_) | Smooth::Root(..)) => None,
        Op::Smooth(_) => Some(1),
        Op::Kink(Kink::Relu | Kink::Abs) => Some(1),
        _ => None,
    }
}

fn intern<K: Clone + Eq + std::hash::Hash>(ids: &mut Table<K>, list: &mut Vec<K>, key: K) -> u32 {
    if let Some(&id) = ids.get(&key) {
        return id;
    }
    let id = list.len() as u32;
    list.push(key.clone());
    ids.insert(key, id);
    id
}

fn check_joint(program: &Program, joint: &Program) -> Result<(), BuildError> {
    let fail = |why: String| Err(BuildError::Joint { name: program.name().into(), why });
    let shapes = |p: &Program| p.inputs().iter().map(|i| i.shape.clone()).collect::<Vec<_>>();
    let outputs = |p: &Program| p.outputs().iter().map(|&o| p.atom_shape(o)).collect::<Vec<_>>();
    if outputs(program) != [Shape::scalar()] {
        return fail("only a program with one scalar output can have one".into());
    }
    if shapes(program) != shapes(joint) {
        return fail(format!("its inputs are {:?}, those of the program {:?}", shapes(joint), shapes(program)));
    }
    let mut want = vec![Shape::scalar()];
    want.extend(shapes(program));
    if outputs(joint) != want {
        return fail(format!("it returns shapes {:?}, expected {want:?}", outputs(joint)));
    }
    Ok(())
}

/// A name that can be shown as it is.
fn named(name: Arc<str>) -> Arc<str> {
    match crate::program::printable(&name) {
        std::borrow::Cow::Borrowed(_) => name,
        std::borrow::Cow::Owned(shown) => shown.into(),
    }
}
