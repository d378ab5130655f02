//! A program with every call expanded and every selection turned into picks, loops as they are: the form from which code is made.
//!
//! A [`Program`] enters; a straight list of equations without sub-programs leaves. All branches of a selection are carried
//! out and the result of the chosen one is picked: floating point has no side effects, so only time is lost, and code
//! without jumps can be fused, reordered and run in lanes. (In checked arithmetic a branch that was not chosen may raise a
//! false alarm; then the interpreter decides.)
//!
//! Logic and selections ask for truth values. A comparison makes one; of an input, or of what is made of inputs, that shows in the
//! run alone. Such numbers are listed in [`Flat::truths`], and a run in which one is neither 0 nor 1 is handed over to the
//! interpreter, which says so.
//!
//! On the way, what leaves every bit of the results alone is done: equal equations are shared, `--x` and `1 * x` are `x`,
//! weights that nobody uses are not computed, and what no output needs is dropped.

use crate::error::EngineError;
use crate::options::Options;
use crease_core::op::{CalleeId, Choice};
use crease_core::{Atom, Kink, Op, Position, Program, ProgramId, Rational, Scan, Shape, Ties};
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// So many calls, selections and equations, equal ones among them, are walked through for each equation that there may be.
const WALKED: u64 = 4;

/// An argument or an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operand {
    Value(u32),
    Const(u32),
}

impl Operand {
    pub fn value(self) -> Option<usize> {
        match self {
            Operand::Value(v) => Some(v as usize),
            Operand::Const(_) => None,
        }
    }
}

/// An operation of the flat form.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FlatOp {
    /// One of the dictionary, neither call nor selection.
    Op(Op),
    /// The second argument where the first, a scalar, is 1, else the third.
    Pick,
    /// A loop; its body is the number of one of [`Flat::bodies`].
    Loop(usize, Scan),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct FlatEq {
    pub op: u32,
    first_arg: u32,
    args: u32,
    pub first: u32,
    pub results: u32,
}

/// A program without sub-programs.
#[derive(Default)]
pub(crate) struct Flat {
    pub ops: Vec<FlatOp>,
    pub eqs: Vec<FlatEq>,
    pub consts: Vec<Rational>,
    pub inputs: usize,
    pub outputs: Vec<Operand>,
    /// Numbers that must turn out to be 0 or 1.
    pub truths: Vec<Operand>,
    /// The bodies of loops, as they stand.
    pub bodies: Vec<Arc<Program>>,
    args: Vec<Operand>,
    shapes: Vec<Shape>,
    value_shapes: Vec<u32>,
}

impl Flat {
    pub fn values(&self) -> usize {
        self.value_shapes.len()
    }

    pub fn shape(&self, v: usize) -> &Shape {
        &self.shapes[self.value_shapes[v] as usize]
    }

    pub fn len_of(&self, v: usize) -> usize {
        self.shape(v).len()
    }

    pub fn args(&self, e: &FlatEq) -> &[Operand] {
        &self.args[e.first_arg as usize..][..e.args as usize]
    }

    pub fn op(&self, e: &FlatEq) -> &FlatOp {
        &self.ops[e.op as usize]
    }

    /// The elements of an operand's shape; one for a constant.
    pub fn operand_len(&self, a: Operand) -> usize {
        a.value().map_or(1, |v| self.len_of(v))
    }
}

/// Equations, arguments and values are numbered with 32 bits, of which the last number stands for none.
const MOST: usize = u32::MAX as usize - 1;
/// After so many equations it looks whether it is to stop.
const LOOK: u32 = 1 << 12;

type Table<K, V> = HashMap<K, V, BuildHasherDefault<DefaultHasher>>;

struct Flattener<'p> {
    flat: Flat,
    op_ids: HashMap<*const Op, u32>,
    by_op: Table<FlatOp, u32>,
    const_ids: Table<Rational, u32>,
    shape_ids: Table<Shape, u32>,
    /// where equal equations were seen
    seen: Table<u64, u32>,
    definitions: Vec<u32>,
    program: &'p Program,
    options: &'p Options,
}

/// A program in the middle of its expansion.
struct Frame<'p> {
    program: &'p Program,
    map: Vec<Operand>,
    next: usize,
    select: Option<Choosing<'p>>,
}

/// A selection whose branches are being expanded.
struct Choosing<'p> {
    branches: &'p [CalleeId],
    conditions: Vec<Operand>,
    args: Vec<Operand>,
    done: Vec<Vec<Operand>>,
}

/// The calls, selections and equations of a program once all is expanded, known without expanding it.
fn walked(p: &Program) -> u64 {
    let mut sizes: HashMap<ProgramId, u64> = HashMap::new();
    for q in p.library().iter().map(|q| &**q).chain([p]) {
        let callees = q.equations().flat_map(|e| e.op.callees());
        let inside = callees.map(|id| sizes[&q.callee(*id).program.id()]);
        let size = inside.fold(q.len() as u64, u64::saturating_add);
        sizes.insert(q.id(), size);
    }
    sizes[&p.id()]
}

/// Expands a program, within the limits of the options.
pub(crate) fn flatten(p: &Program, options: &Options) -> Result<Flat, EngineError> {
    if walked(p) > WALKED.saturating_mul(options.equations as u64) {
        return Err(EngineError::TooLarge { name: p.name().into(), limit: options.equations });
    }
    let mut f = Flattener {
        flat: Flat { inputs: p.inputs().len(), ..Flat::default() },
        op_ids: HashMap::new(),
        by_op: HashMap::default(),
        const_ids: HashMap::default(),
        shape_ids: HashMap::default(),
        seen: HashMap::default(),
        definitions: Vec::new(),
        program: p,
        options,
    };
    let mut map = Vec::with_capacity(p.values());
    for i in p.inputs() {
        f.fits(&i.shape)?;
        map.push(f.value(&i.shape));
    }
    let mut frames = vec![Frame { program: p, map, next: 0, select: None }];
    while let Some(frame) = frames.last_mut() {
        let program = frame.program;
        if let Some(choosing) = &frame.select {
            if choosing.done.len() < choosing.branches.len() {
                let branch = &program.callee(choosing.branches[choosing.done.len()]).program;
                let map = choosing.args.clone();
                frames.push(Frame { program: branch, map, next: 0, select: None });
                continue;
            }
            let picked = f.pick(choosing)?;
            frame.map.extend(picked);
            frame.select = None;
            continue;
        }
        if frame.next == program.len() {
            let outputs: Vec<Operand> = program.outputs().iter().map(|&o| f.operand(program, &frame.map, o)).collect();
            frames.pop();
            match frames.last_mut() {
                None => f.flat.outputs = outputs,
                Some(caller) => match &mut caller.select {
                    Some(choosing) => choosing.done.push(outputs),
                    None => caller.map.extend(outputs),
                },
            }
            continue;
        }
        let e = program.equation(frame.next);
        frame.next += 1;
        let args: Vec<Operand> = e.args.iter().map(|&a| f.operand(program, &frame.map, a)).collect();
        match e.op {
            Op::Call(id) => {
                let callee = &program.callee(*id).program;
                frames.push(Frame { program: callee, map: args, next: 0, select: None });
            }
            Op::Scan(scan) => {
                let body = &program.callee(scan.body).program;
                let known = f.flat.bodies.iter().position(|q| q.id() == body.id());
                let number = known.unwrap_or_else(|| {
                    f.flat.bodies.push(body.clone());
                    f.flat.bodies.len() - 1
                });
                let id = f.enter(FlatOp::Loop(number, *scan));
                let shapes: Vec<&Shape> = e.results().map(|v| program.shape(v)).collect();
                f.push(id, &args, &shapes, &mut frame.map)?;
            }
            Op::Select(ids) => {
                let (conditions, rest) = args.split_at(ids.len() - 1);
                let (conditions, args) = (conditions.to_vec(), rest.to_vec());
                frame.select = Some(Choosing { branches: ids, conditions, args, done: Vec::new() });
            }
            Op::Position(Position::Order, lane) => {
                // what a sort finds beside its values
                let first = Choice { at_kink: Rational::ZERO, ties: Ties::First };
                let id = f.enter(FlatOp::Op(Op::Joint(Kink::Sort(*lane), first)));
                let shapes: Vec<&Shape> = e.results().chain(e.results()).map(|v| program.shape(v)).collect();
                let mut out = Vec::with_capacity(shapes.len());
                f.push(id, &args, &shapes, &mut out)?;
                frame.map.extend_from_slice(&out[e.results..]);
            }
            op => {
                let id = f.op_id(op);
                let shapes: Vec<&Shape> = e.results().map(|v| program.shape(v)).collect();
                f.push(id, &args, &shapes, &mut frame.map)?;
            }
        }
    }
    Ok(live_only(f.flat))
}

impl<'p> Flattener<'p> {
    fn value(&mut self, shape: &Shape) -> Operand {
        let id = match self.shape_ids.get(shape) {
            Some(&id) => id,
            None => {
                let id = self.flat.shapes.len() as u32;
                self.flat.shapes.push(shape.clone());
                self.shape_ids.insert(shape.clone(), id);
                id
            }
        };
        self.flat.value_shapes.push(id);
        self.definitions.push(u32::MAX);
        Operand::Value(self.flat.value_shapes.len() as u32 - 1)
    }

    /// Whether a tensor is not too large to be held at all.
    fn fits(&self, shape: &Shape) -> Result<(), EngineError> {
        let (numbers, limit) = (shape.len() as u64, self.options.limits.numbers);
        if numbers <= limit {
            return Ok(());
        }
        Err(EngineError::TooManyNumbers { what: "a tensor of the program", numbers, limit, several: false })
    }

    fn operand(&mut self, p: &Program, map: &[Operand], a: Atom) -> Operand {
        match a {
            Atom::Value(v) => map[v.index()],
            Atom::Const(id) => {
                let c = p.constant(id);
                Operand::Const(match self.const_ids.get(c) {
                    Some(&id) => id,
                    None => {
                        let id = self.flat.consts.len() as u32;
                        self.flat.consts.push(c.clone());
                        self.const_ids.insert(c.clone(), id);
                        id
                    }
                })
            }
        }
    }

    fn op_id(&mut self, op: &Op) -> u32 {
        // operations are interned in their programs, so their addresses tell most of them apart
        let key = std::ptr::from_ref(op);
        if let Some(&id) = self.op_ids.get(&key) {
            return id;
        }
        let id = self.enter(FlatOp::Op(op.clone()));
        self.op_ids.insert(key, id);
        id
    }

    fn enter(&mut self, op: FlatOp) -> u32 {
        if let Some(&id) = self.by_op.get(&op) {
            return id;
        }
        let id = self.flat.ops.len() as u32;
        self.flat.ops.push(op.clone());
        self.by_op.insert(op, id);
        id
    }

    fn pick(&mut self, choosing: &Choosing<'p>) -> Result<Vec<Operand>, EngineError> {
        let pick = self.enter(FlatOp::Pick);
        let Some((last, rest)) = choosing.done.split_last() else { return Ok(Vec::new()) };
        let mut results = last.clone();
        for (&condition, branch) in choosing.conditions.iter().zip(rest).rev() {
            for (result, &chosen) in results.iter_mut().zip(branch) {
                let shaped = [chosen, *result].into_iter().find_map(|o| o.value());
                let shape = shaped.map_or_else(Shape::scalar, |v| self.flat.shape(v).clone());
                let mut out = Vec::with_capacity(1);
                self.push(pick, &[condition, chosen, *result], &[&shape], &mut out)?;
                *result = out[0];
            }
        }
        Ok(results)
    }

    /// Adds an equation, or finds an equal one; its results are appended to `out`.
    fn push(
        &mut self,
        op: u32,
        args: &[Operand],
        shapes: &[&Shape],
        out: &mut Vec<Operand>,
    ) -> Result<(), EngineError> {
        if let Some(same) = self.shortcut(op, args) {
            out.push(same);
            return Ok(());
        }
        let mut hasher = DefaultHasher::new();
        (op, args).hash(&mut hasher);
        let next = self.flat.eqs.len() as u32;
        let slot = *self.seen.entry(hasher.finish()).or_insert(next);
        if slot < next {
            let known = self.flat.eqs[slot as usize];
            if known.op == op && self.flat.args(&known) == args {
                out.extend((0..known.results).map(|i| Operand::Value(known.first + i)));
                return Ok(());
            }
        }
        if next.is_multiple_of(LOOK)
            && let Some(stop) = self.options.limits.stopped()
        {
            return Err(EngineError::stopped(stop));
        }
        if next as usize >= self.options.equations.min(MOST) {
            return Err(EngineError::TooLarge {
                name: self.program.name().into(),
                limit: self.options.equations.min(MOST),
            });
        }
        // arguments and results are told apart by 32 bits
        let (held, limit) = (self.flat.args.len() + args.len(), self.options.limits.numbers.min(MOST as u64));
        let held = held.max(self.flat.values() + shapes.len()) as u64;
        if held > limit {
            let what = "the tables of the expanded program";
            return Err(EngineError::TooManyNumbers { what, numbers: held, limit, several: false });
        }
        shapes.iter().try_for_each(|s| self.fits(s))?;
        let first = self.flat.value_shapes.len() as u32;
        for shape in shapes {
            let v = self.value(shape);
            out.push(v);
        }
        self.definitions[first as usize..].fill(next);
        let first_arg = self.flat.args.len() as u32;
        self.flat.args.extend_from_slice(args);
        let (args, results) = (args.len() as u32, shapes.len() as u32);
        self.flat.eqs.push(FlatEq { op, first_arg, args, first, results });
        Ok(())
    }

    /// The result of an equation that is one of its arguments, bit for bit.
    fn shortcut(&self, op: u32, args: &[Operand]) -> Option<Operand> {
        let is_one = |a: Operand| match a {
            Operand::Const(c) => self.flat.consts[c as usize].is_one(),
            Operand::Value(_) => false,
        };
        match (&self.flat.ops[op as usize], args) {
            (FlatOp::Op(Op::Neg), [Operand::Value(v)]) => {
                let inner = self.flat.eqs.get(self.definitions[*v as usize] as usize)?;
                matches!(self.flat.op(inner), FlatOp::Op(Op::Neg)).then(|| self.flat.args(inner)[0])
            }
            (FlatOp::Op(Op::Mul), [a, b @ Operand::Value(_)]) if is_one(*a) => Some(*b),
            (FlatOp::Op(Op::Mul | Op::Div), [a @ Operand::Value(_), b]) if is_one(*b) => Some(*a),
            (FlatOp::Op(Op::View { layout, shape }), [a @ Operand::Value(v)])
                if self.flat.shape(*v as usize) == shape && layout.is_identity(shape.len()) =>
            {
                Some(*a)
            }
            _ => None,
        }
    }
}

/// Drops what no output needs, and weights that nobody uses.
fn live_only(mut f: Flat) -> Flat {
    let mut live = vec![false; f.values()];
    for v in f.outputs.iter().filter_map(|o| o.value()) {
        live[v] = true;
    }
    let mut kept = vec![false; f.eqs.len()];
    for (i, e) in f.eqs.iter().enumerate().rev() {
        if live[e.first as usize..][..e.results as usize].contains(&true) {
            kept[i] = true;
            f.args(e).iter().filter_map(|a| a.value()).for_each(|v| live[v] = true);
        }
    }
    let mut plain: HashMap<u32, u32> = HashMap::new();
    let mut map: Vec<u32> = (0..f.inputs as u32).collect();
    map.resize(f.values(), u32::MAX);
    let mut value_shapes = f.value_shapes[..f.inputs].to_vec();
    let mut args: Vec<Operand> = Vec::with_capacity(f.args.len());
    let mut eqs: Vec<FlatEq> = Vec::with_capacity(f.eqs.len());
    for (i, &e) in f.eqs.iter().enumerate() {
        if !kept[i] {
            continue;
        }
        let (mut op, mut results) = (e.op, e.results);
        if let Some((values, without)) = without_weights(&f.ops[op as usize], results)
            && !live[(e.first + values) as usize..(e.first + results) as usize].contains(&true)
        {
            let next = f.ops.len() as u32;
            op = *plain.entry(op).or_insert(next);
            if op == next {
                f.ops.push(without);
            }
            results = values;
        }
        let (first, first_arg) = (value_shapes.len() as u32, args.len() as u32);
        for r in 0..results {
            map[(e.first + r) as usize] = first + r;
            value_shapes.push(f.value_shapes[(e.first + r) as usize]);
        }
        args.extend(f.args[e.first_arg as usize..][..e.args as usize].iter().map(|&a| moved(a, &map)));
        eqs.push(FlatEq { op, first_arg, args: e.args, first, results });
    }
    f.outputs = f.outputs.iter().map(|&o| moved(o, &map)).collect();
    let mut flat = Flat { eqs, args, value_shapes, ..f };
    flat.truths = truths(&flat);
    flat
}

/// What is taken for a truth value, and is not one by its making.
fn truths(f: &Flat) -> Vec<Operand> {
    let logic = |op: &FlatOp| matches!(op, FlatOp::Pick | FlatOp::Op(Op::Logic(_) | Op::Where));
    if !f.ops.iter().any(logic) {
        return Vec::new();
    }
    let mut made = vec![false; f.values()];
    let mut listed = HashSet::new();
    let mut truths = Vec::new();
    for e in &f.eqs {
        let args = f.args(e);
        let is_made = |a: Operand| match a {
            Operand::Value(v) => made[v as usize],
            Operand::Const(c) => f.consts[c as usize].is_zero() || f.consts[c as usize].is_one(),
        };
        let asked = match f.op(e) {
            FlatOp::Pick | FlatOp::Op(Op::Where) => &args[..1],
            FlatOp::Op(Op::Logic(_)) => args,
            FlatOp::Op(_) | FlatOp::Loop(..) => &[],
        };
        truths.extend(asked.iter().filter(|&&a| !is_made(a) && listed.insert(a)));
        let makes = match f.op(e) {
            FlatOp::Op(Op::Compare(_) | Op::Logic(_)) => true,
            FlatOp::Pick | FlatOp::Op(Op::Where) => is_made(args[1]) && is_made(args[2]),
            FlatOp::Op(Op::View { .. }) => is_made(args[0]),
            FlatOp::Op(_) | FlatOp::Loop(..) => false,
        };
        made[e.first as usize] = makes;
    }
    truths
}

fn moved(a: Operand, map: &[u32]) -> Operand {
    match a {
        Operand::Value(v) => Operand::Value(map[v as usize]),
        constant => constant,
    }
}

/// The number of values of a joint operation, and the operation that gives them alone. What a flat program has besides operations is not joint.
fn without_weights(op: &FlatOp, results: u32) -> Option<(u32, FlatOp)> {
    let FlatOp::Op(op) = op else { return None };
    op.without_weights(results as usize).map(|(op, values)| (values as u32, FlatOp::Op(op)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crease_core::op::{Comparison, Logic};
    use crease_core::{Builder, trace};

    #[test]
    fn truth_values_are_looked_at_unless_they_are_made() {
        let mut b = Builder::new("f");
        let [x, y] = ["x", "y"].map(|name| b.input(name, Shape::scalar()).unwrap());
        let less = b.push1(Op::Compare(Comparison::Less), &[x, y]).unwrap();
        let not = b.push1(Op::Logic(Logic::Not), &[less]).unwrap();
        let and = b.push1(Op::Logic(Logic::And), &[not, x]).unwrap();
        let again = b.push1(Op::Logic(Logic::Or), &[x, and]).unwrap();
        // nobody needs it, so nobody asks
        b.push1(Op::Logic(Logic::Not), &[y]).unwrap();
        let f = flatten(&b.finish(&[again]).unwrap(), &Options::default()).unwrap();
        assert_eq!(f.truths, [Operand::Value(0)]);
    }

    #[test]
    fn what_nobody_needs_is_dropped_and_equals_are_shared() {
        let p = trace(2, |x| {
            let _unused = x[0] / x[1];
            (x[0] + x[1]) * (x[0] + x[1]) * 1.0
        });
        let f = flatten(&p.unwrap(), &Options::default()).unwrap();
        assert_eq!(f.eqs.len(), 2);
        assert_eq!(f.outputs, [Operand::Value(3)]);
    }
}
