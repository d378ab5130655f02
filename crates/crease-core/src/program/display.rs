//! Printing: a program in its own text language, so that what is printed can be read, kept and parsed back.
//!
//! One equation a line, `let v7 = ...`; the library comes first, callees before callers. Views and assemblies print by
//! the word a user would have written (`x[2]`, `transpose`, `sum`, `concat`, ...) where there is one, else in full.
//! Infix operators fold constants when they are parsed, so an equation of constants alone prints as a call.

use super::{Atom, Equation, Program, ProgramId, Value};
use crate::number::Rational;
use crate::op::{Choice, Kink, KinkKind, Lane, Logic, Op, Position, Scan, Smooth, Stair, Takes, Ties};
use crate::shape::{Layout, Shape, broadcast_layout, concat_layouts, sum_layout, transpose_layout};
use std::collections::{HashMap, HashSet};
use std::fmt::{self, Write};
use std::sync::Arc;

/// Words that no input and no program can be named by: the operations and the syntax of the language.
///
/// ```
/// assert!(crease_core::program::reserved().any(|word| word == "sqrt"));
/// ```
pub fn reserved() -> impl Iterator<Item = &'static str> {
    let smooth = Smooth::NAMED.iter().map(|f| f.name()).chain(Stair::ALL.iter().map(|s| s.name()));
    let kinks = KinkKind::ALL.iter().map(|k| k.facts().name).chain(Position::ALL.iter().map(|p| p.name()));
    KEYWORDS.iter().chain(RESERVED).copied().chain(smooth).chain(kinks)
}

/// Words with a meaning in the grammar of the language.
pub const KEYWORDS: &[&str] = &[
    "program",
    "joint",
    "let",
    "return",
    "select",
    "else",
    "and",
    "or",
    "not",
    "repeat",
    "repeat_back",
    "scan",
    "scan_back",
    "in",
];

/// Operations that have no table of their own.
const RESERVED: &[&str] = &[
    "neg",
    "add",
    "sub",
    "mul",
    "div",
    "power",
    "logsumexp",
    "median",
    "permute",
    "unpermute",
    "constant",
    "view",
    "assemble",
    "put",
    "zeros",
    "reshape",
    "broadcast",
    "transpose",
    "slice",
    "concat",
    "gather",
    "take_along",
    "add_along",
    "top_k",
    "where",
    "sum",
    "mean",
    "prod",
    "var",
    "std",
    "dot",
    "matmul",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cummax",
    "cummin",
    "cumprod",
    "cumsum",
    "avgpool",
    "maxpool",
    "atan2",
    "celu",
    "clamp",
    "gelu",
    "gelu_tanh",
    "hardsigmoid",
    "hardswish",
    "logsigmoid",
    "mish",
    "relu6",
    "selu",
    "silu",
    "softsign",
];

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let library = self.library();
        let mut owners: HashMap<ProgramId, Vec<ProgramId>> = HashMap::new();
        for c in library.iter().map(|p| &**p).chain([self]).flat_map(|p| p.callees()) {
            if let Some(joint) = &c.joint {
                let list = owners.entry(joint.id()).or_default();
                if !list.contains(&c.program.id()) {
                    list.push(c.program.id());
                }
            }
        }
        let called: HashSet<ProgramId> =
            library.iter().map(|p| &**p).chain([self]).flat_map(|p| p.callees()).map(|c| c.program.id()).collect();
        let mut taken: HashSet<String> = reserved().map(String::from).collect();
        let mut names: HashMap<ProgramId, String> = HashMap::new();
        for p in &library {
            let key = p.id();
            if called.contains(&key) {
                let name = fresh(p.name(), &mut taken);
                print_one(f, "program", &name, p, &names)?;
                f.write_char('\n')?;
                names.insert(key, name);
            } else {
                // a joint program comes after the program that it belongs to, and has its name
                for owner in owners.get(&key).into_iter().flatten().filter_map(|o| names.get(o)) {
                    print_one(f, "joint", owner, p, &names)?;
                    f.write_char('\n')?;
                }
            }
            // one that is called, too, has a name of its own: say so as soon as both are there
            for (joint, owned) in &owners {
                for owner in owned.iter().filter(|&&o| o == key || *joint == key) {
                    if let (Some(owner), Some(joint)) = (names.get(owner), names.get(joint)) {
                        writeln!(f, "joint {owner} = {joint}\n")?;
                    }
                }
            }
        }
        let name = fresh(self.name(), &mut taken);
        print_one(f, "program", &name, self, &names)
    }
}

/// A name of the language that is like the given one and not taken yet.
fn fresh(name: &str, taken: &mut HashSet<String>) -> String {
    let mut base = identifier(name);
    if reserved().any(|word| word == base) {
        base.push('_');
    }
    let mut candidate = base.clone();
    for i in 2.. {
        if taken.insert(candidate.clone()) {
            break;
        }
        candidate = format!("{base}_{i}");
    }
    candidate
}

fn identifier(name: &str) -> String {
    let mut out: String = name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if !out.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        out.insert(0, '_');
    }
    out
}

fn print_one(
    f: &mut fmt::Formatter<'_>,
    keyword: &str,
    name: &str,
    p: &Program,
    names: &HashMap<ProgramId, String>,
) -> fmt::Result {
    let printer = Printer::new(p, names);
    write!(f, "{keyword} {name}(")?;
    for (i, input) in p.inputs().iter().enumerate() {
        let sep = if i == 0 { "" } else { ", " };
        let shape = if input.shape.is_scalar() { String::new() } else { input.shape.to_string() };
        write!(f, "{sep}{}{shape}", printer.inputs[i])?;
    }
    f.write_str(") {\n")?;
    for e in p.equations() {
        f.write_str("  let ")?;
        for (i, v) in e.results().enumerate() {
            write!(f, "{}{}", if i == 0 { "" } else { ", " }, printer.value(v))?;
        }
        writeln!(f, " = {}", printer.equation(&e))?;
    }
    writeln!(f, "  return {}\n}}", printer.atoms(p.outputs()))
}

impl Program {
    /// An equation as it stands behind `let v = `, callees by their own names.
    pub(crate) fn equation_text(&self, i: usize) -> String {
        let e = self.equation(i);
        let named = |p: &Arc<Program>| (p.id(), p.name().to_string());
        let names = e.op.callees().iter().map(|id| named(&self.callee(*id).program)).collect();
        // inputs by their own names: finding others would take longer than the text is worth
        Printer { p: self, names: &names, inputs: Vec::new(), prefix: "v", bound: "s" }.equation(&e)
    }
}

struct Printer<'p> {
    p: &'p Program,
    names: &'p HashMap<ProgramId, String>,
    inputs: Vec<String>,
    prefix: &'static str,
    /// how names begin that are bound in loops
    bound: &'static str,
}

impl<'p> Printer<'p> {
    fn new(p: &'p Program, names: &'p HashMap<ProgramId, String>) -> Self {
        // only the names that stand in this program can clash in it
        let called: Vec<&String> = p.callees().iter().filter_map(|c| names.get(&c.program.id())).collect();
        let mut taken: HashSet<String> = called.iter().map(|n| n.to_string()).collect();
        taken.extend(reserved().map(String::from));
        let inputs: Vec<String> = p.inputs().iter().map(|i| fresh(&i.name, &mut taken)).collect();
        let free = |prefix: &&str| {
            let clashes = |n: &String| {
                n.strip_prefix(prefix).is_some_and(|r| !r.is_empty() && r.bytes().all(|b| b.is_ascii_digit()))
            };
            !inputs.iter().chain(called.iter().copied()).any(clashes)
        };
        let prefix = ["v", "t", "u", "w", "value_"].into_iter().find(free).unwrap_or("__v");
        let bound = ["s", "c", "turn_"].into_iter().find(free).unwrap_or("__s");
        Printer { p, names, inputs, prefix, bound }
    }

    fn value(&self, v: Value) -> String {
        match (self.inputs.get(v.index()), self.p.inputs().get(v.index())) {
            (Some(name), _) => name.clone(),
            (None, Some(input)) => input.name.to_string(),
            (None, None) => format!("{}{}", self.prefix, v.index()),
        }
    }

    fn atom(&self, a: Atom) -> String {
        match a {
            Atom::Value(v) => self.value(v),
            Atom::Const(c) => literal(self.p.constant(c)),
        }
    }

    fn atoms(&self, atoms: &[Atom]) -> String {
        atoms.iter().map(|&a| self.atom(a)).collect::<Vec<_>>().join(", ")
    }

    fn call(&self, name: &str, args: &[Atom], named: &[(&str, String)]) -> String {
        let named = named.iter().map(|(k, v)| format!("{k}={v}"));
        let all: Vec<String> = args.iter().map(|&a| self.atom(a)).chain(named).collect();
        format!("{name}({})", all.join(", "))
    }

    fn equation(&self, e: &Equation<'_>) -> String {
        let foldable = e.args.iter().all(|a| a.value().is_none());
        let infix = |sign: &str, word: &str| match e.args {
            [a, b] if !foldable => format!("{} {sign} {}", self.atom(*a), self.atom(*b)),
            _ => self.call(word, e.args, &[]),
        };
        match e.op {
            Op::Add => infix("+", "add"),
            Op::Sub => infix("-", "sub"),
            Op::Mul => infix("*", "mul"),
            Op::Div => infix("/", "div"),
            Op::Neg if foldable => self.call("neg", e.args, &[]),
            Op::Neg => format!("-{}", self.atoms(e.args)),
            Op::Smooth(Smooth::Power(k)) if foldable => format!("power({}, {k})", self.atoms(e.args)),
            Op::Smooth(Smooth::Power(k)) => format!("{} ^ {k}", self.atoms(e.args)),
            Op::Smooth(Smooth::Root(p, q)) if foldable => format!("power({}, {p}/{q})", self.atoms(e.args)),
            Op::Smooth(Smooth::Root(p, q)) => format!("{} ^ ({p}/{q})", self.atoms(e.args)),
            Op::Compare(c) => format!("{} {} {}", self.atom(e.args[0]), c.sign(), self.atom(e.args[1])),
            Op::Logic(Logic::Not) => format!("not {}", self.atoms(e.args)),
            Op::Logic(l) => format!("{} {} {}", self.atom(e.args[0]), l.word(), self.atom(e.args[1])),
            Op::LogSumExp(lane) | Op::LogSumExpJoint(lane) => self.call(&e.op.to_string(), e.args, &axis(*lane)),
            Op::Kink(kink) => self.kink(e, kink, None),
            Op::Joint(kink, choice) => self.kink(e, kink, Some(choice)),
            Op::Permute { lane, .. } => self.call(e.op.name(), e.args, &axis(*lane)),
            Op::Gather { lane, of, scatter } => {
                let mut named = axis(*lane).to_vec();
                if *scatter || *lane == Lane::Args {
                    named.push(("of", of.to_string()));
                }
                self.call(e.op.name(), e.args, &named)
            }
            Op::Position(which, lane) => self.call(which.name(), e.args, &axis(*lane)),
            Op::Stair(s) => self.call(s.name(), e.args, &[]),
            Op::Where => self.call("where", e.args, &[]),
            Op::Constant(c) if c.shape().is_scalar() => format!("constant({})", literal(&exact(c.data()[0]))),
            Op::Constant(c) => tensor(c.shape().dims(), c.data()),
            Op::View { layout, shape } => self.view(e.args[0], layout, shape),
            Op::Assemble { shape, pieces } => self.assemble(e.args, pieces, shape),
            Op::MatMul { transpose_a, transpose_b } => match (transpose_a, transpose_b) {
                (false, false) => format!("{} @ {}", self.atom(e.args[0]), self.atom(e.args[1])),
                (a, b) => {
                    let which = if *a && *b {
                        "both"
                    } else if *a {
                        "first"
                    } else {
                        "second"
                    };
                    self.call("matmul", e.args, &[("transpose", which.into())])
                }
            },
            Op::Call(id) => self.call(&self.names[&self.p.callee(*id).program.id()], e.args, &[]),
            Op::Select(ids) => {
                let (conditions, args) = e.args.split_at(ids.len() - 1);
                let conditions = conditions.iter().map(|&c| self.atom(c)).chain(["else".into()]);
                let arms = conditions.zip(ids).map(|(c, id)| {
                    let name = &self.names[&self.p.callee(*id).program.id()];
                    format!("{c} => {}", self.call(name, args, &[]))
                });
                format!("select {{ {} }}", arms.collect::<Vec<_>>().join(", "))
            }
            Op::Scan(scan) => self.turns(e, scan),
            Op::Smooth(f) => self.call(f.name(), e.args, &[]),
        }
    }

    /// A loop whose body is one call.
    fn turns(&self, e: &Equation<'_>, scan: &Scan) -> String {
        let mut bindings = vec![scan.turns.to_string()];
        let mut args = Vec::with_capacity(e.args.len());
        for (i, &a) in e.args.iter().enumerate() {
            if i >= scan.still() {
                args.push(self.atom(a));
                continue;
            }
            let name = format!("{}{i}", self.bound);
            let sign = if i < scan.carried { "=" } else { "in" };
            bindings.push(format!("{name} {sign} {}", self.atom(a)));
            args.push(name);
        }
        let word = if scan.back { "repeat_back" } else { "repeat" };
        let body = &self.names[&self.p.callee(scan.body).program.id()];
        format!("{word}({}) {{ return {body}({}) }}", bindings.join(", "), args.join(", "))
    }

    fn kink(&self, e: &Equation<'_>, kink: &Kink, choice: Option<&Choice>) -> String {
        let mut named: Vec<(&str, String)> = match kink {
            Kink::LeakyRelu(slope) => vec![("slope", literal(slope))],
            Kink::Elu(scale) => vec![("scale", literal(scale))],
            Kink::OrderStatistic(_, k) => vec![("k", k.to_string())],
            Kink::MaxLinear { lane: Lane::Args, rows } => vec![("rows", rows.to_string())],
            // a matrix has no other way to be given
            Kink::MaxLinear { lane: Lane::Axis, .. } => Vec::new(),
            Kink::Relu | Kink::TimesRelu | Kink::Abs => Vec::new(),
            Kink::Max(_) | Kink::Min(_) | Kink::Sort(_) | Kink::Norm1(_) | Kink::NormInf(_) | Kink::Norm2(_) => {
                Vec::new()
            }
        };
        if let Takes::Lane(lane) | Takes::Order(lane) = kink.takes() {
            named.extend(axis(lane));
        }
        if let Some(choice) = choice {
            if !choice.at_kink.is_zero() {
                named.push(("at", literal(&choice.at_kink)));
            }
            if choice.ties != Ties::First {
                named.push(("ties", choice.ties.name().into()));
            }
        }
        self.call(&e.op.to_string(), e.args, &named)
    }

    fn view(&self, x: Atom, layout: &Layout, shape: &Shape) -> String {
        let from = self.p.atom_shape(x);
        let name = self.atom(x);
        if layout.is_identity(from.len()) {
            return format!("reshape({name}, {shape})");
        }
        if broadcast_layout(&from, shape).as_ref() == Some(layout) {
            return format!("broadcast({name}, {shape})");
        }
        if let Some(indices) = element(&from, layout, shape) {
            return format!("{name}{indices:?}");
        }
        if let Some(order) = orders(from.rank()).into_iter().find(|order| {
            order.iter().map(|&a| from.dims()[a]).eq(shape.dims().iter().copied())
                && transpose_layout(&from, order) == *layout
        }) {
            return format!("transpose({name}, {order:?})");
        }
        format!("view({name}, {shape}, {})", map(layout))
    }

    fn assemble(&self, args: &[Atom], pieces: &[Layout], shape: &Shape) -> String {
        let shapes: Vec<Shape> = args.iter().map(|&a| self.p.atom_shape(a)).collect();
        match args {
            [] => return format!("zeros({shape})"),
            [x] if x.value().is_some() => {
                let from = &shapes[0];
                let axes = (1..1u32 << from.rank().min(6))
                    .map(|bits| (0..from.rank()).filter(|a| bits >> a & 1 == 1).collect::<Vec<_>>());
                for axes in axes {
                    if sum_layout(from, &axes).is_ok_and(|(to, l)| to == *shape && l == pieces[0]) {
                        return match &axes[..] {
                            all if all.len() == from.rank() => format!("sum({})", self.atom(*x)),
                            [one] => format!("sum({}, axis={one})", self.atom(*x)),
                            some => format!("sum({}, axis={some:?})", self.atom(*x)),
                        };
                    }
                }
            }
            _ => {
                let vector = |s: &Shape| if s.is_scalar() { Shape::vector(1).unwrap_or_default() } else { s.clone() };
                let shapes: Vec<Shape> = shapes.iter().map(vector).collect();
                let alike = |axis: usize| {
                    shapes.iter().all(|s| {
                        s.rank() == shape.rank() && (0..s.rank()).all(|a| a == axis || s.dims()[a] == shape.dims()[a])
                    })
                };
                for axis in (0..shape.rank()).filter(|&a| alike(a)) {
                    if concat_layouts(&shapes, axis).is_ok_and(|(to, l)| to == *shape && l == pieces) {
                        return self.call("concat", args, &[("axis", axis.to_string())]);
                    }
                }
            }
        }
        let puts = args.iter().zip(pieces).map(|(&a, l)| format!("put({}, {})", self.atom(a), map(l)));
        format!("assemble({shape}, {})", puts.collect::<Vec<_>>().join(", "))
    }
}

fn axis(lane: Lane) -> Vec<(&'static str, String)> {
    match lane {
        Lane::Args => Vec::new(),
        Lane::Axis => vec![("axis", "-1".into())],
    }
}

/// A constant as an operand: a fraction is bracketed, because `a * 1/3` would be read as `(a * 1) / 3`.
fn literal(c: &Rational) -> String {
    let text = c.to_string();
    if text.contains('/') { format!("({text})") } else { text }
}

fn exact(x: f64) -> Rational {
    Rational::from_f64(x).unwrap_or(Rational::ZERO)
}

fn tensor(dims: &[usize], data: &[f64]) -> String {
    let parts: Vec<String> = match dims {
        [] | [_] => data.iter().map(|&x| exact(x).to_string()).collect(),
        [_, inner @ ..] => data.chunks(inner.iter().product()).map(|part| tensor(inner, part)).collect(),
    };
    format!("[{}]", parts.join(", "))
}

/// The indices `x[i, j]` that read this block, if there are any.
fn element(from: &Shape, layout: &Layout, to: &Shape) -> Option<Vec<usize>> {
    let k = from.rank().checked_sub(to.rank()).filter(|&k| k > 0)?;
    let Layout::Strided { offset, .. } = layout else { return None };
    if from.dims()[k..] != *to.dims() || *layout != Layout::strided(*offset, &[(to.len(), 1)]) || offset % to.len() != 0
    {
        return None;
    }
    let strides = from.strides();
    Some((0..k).map(|a| offset / strides[a] as usize % from.dims()[a]).collect())
}

/// All orders of a few axes, none for many.
fn orders(rank: usize) -> Vec<Vec<usize>> {
    if !(2..=5).contains(&rank) {
        return Vec::new();
    }
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    for _ in 0..rank {
        all = all
            .into_iter()
            .flat_map(|head| {
                (0..rank).filter(|a| !head.contains(a)).map(|a| [&head[..], &[a]].concat()).collect::<Vec<_>>()
            })
            .collect();
    }
    all
}

fn map(layout: &Layout) -> String {
    match layout {
        Layout::Strided { offset, dims } => {
            let sizes: Vec<usize> = dims.iter().map(|d| d.size).collect();
            let strides: Vec<isize> = dims.iter().map(|d| d.stride).collect();
            format!("from={offset}, sizes={sizes:?}, strides={strides:?}")
        }
        Layout::Table(t) => format!("table={t:?}"),
    }
}
