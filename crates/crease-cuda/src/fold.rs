//! A maximum or minimum of many members that look alike: members run in a loop over tables of indices.
//!
//! A scalar [`Program`] enters that is `g(x, m1, m2, ..)`, each `m` the largest or smallest of many members, and each member one of a few
//! *templates* applied to some of the inputs: the clauses of a formula, the pieces of a fit. What leaves is [`Folded`]: `g` and the templates as programs of
//! their own, and tables that say which inputs go into which member. Their derivatives come from `crease_core::differentiate`, like all.
//!
//! The kernel has a block for 32 points. Inputs lie in shared memory, 32 numbers of one input side by side, so that no
//! access waits for another; several warps share them, each taking a slice of the members for all 32 points. A table is read at one place by the whole
//! warp. Each slice remembers its winner, the winners are compared, ties by the position at which members stand in the program.
//! Backward, nothing is done but through the member that won: a gradient costs its zeros and little else (the engine's rule, "go back along the
//! selected path only").
//!
//! Ties that are shared by averages, members that hold selections or are made of anything but inputs are left to the other forms.

use crate::error::CudaError;
use crate::lower::{lower, scalars_only};
use crate::text::{Precision, Writer};
use crate::thread::{ARGUMENTS, Source};
use crease_core::differentiate::{How, vjp};
use crease_core::{Atom, BuildError, Builder, Kink, Lane, Op, Program, Rational, Shape, Ties, Value};
use std::collections::HashMap;
use std::fmt::Write;

/// Fewer members than this are not worth a loop.
const MEMBERS: usize = 64;
/// Members are repeated up to a multiple of this, so that loops over them have no rest: 8 warps, 4 members at once.
const PADDED: usize = 32;
/// Members that a thread computes at once.
const ABREAST: usize = 4;
/// Members of at most so many operations are taken for templates.
const TEMPLATE: usize = 64;
/// The most templates of one fold.
const TEMPLATES: usize = 64;

/// Members that are computed alike.
#[derive(Debug)]
struct Template {
    /// Slots, then parameters, to the member.
    program: Program,
    slots: usize,
    /// For each member, the inputs in its slots.
    inputs: Vec<Vec<u32>>,
    /// For each member, its constants.
    params: Vec<Vec<Rational>>,
    /// For each member, its position among the arguments.
    positions: Vec<u32>,
    /// Whether members of finite numbers are finite.
    safe: bool,
}

/// The largest or smallest of many.
#[derive(Debug)]
struct Fold {
    largest: bool,
    templates: Vec<Template>,
}

/// A program as an outer one of inputs and folds, and the folds.
#[derive(Debug)]
pub(crate) struct Folded {
    outer: Program,
    folds: Vec<Fold>,
    inputs: usize,
}

/// A word of the key that tells templates apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Word {
    Op(Op, usize),
    Slot(usize),
    Param,
}

/// A member on its way to a template: its key in postfix order, the inputs in its slots, its constants.
#[derive(Default)]
struct Member {
    key: Vec<Word>,
    slots: Vec<u32>,
    params: Vec<Rational>,
}

/// Finds folds, if there are any.
pub(crate) fn fold(p: &Program, limit: usize) -> Result<Option<Folded>, CudaError> {
    let s = scalars_only(p, limit)?;
    let mut folds: HashMap<usize, Fold> = HashMap::new();
    for (i, e) in s.equations().enumerate() {
        let largest = match e.op {
            Op::Kink(Kink::Max(Lane::Args)) => true,
            Op::Kink(Kink::Min(Lane::Args)) => false,
            _ => continue,
        };
        if e.args.len() < MEMBERS {
            continue;
        }
        let members: Option<Vec<Member>> = e.args.iter().map(|&a| member(&s, a)).collect();
        if let Some(members) = members
            && let Some(templates) = templates(members)?
        {
            folds.insert(i, Fold { largest, templates });
        }
    }
    if folds.is_empty() {
        return Ok(None);
    }
    let inputs = s.inputs().len();
    let (outer, order) = outer(&s, &folds)?;
    let folds = order.into_iter().filter_map(|i| folds.remove(&i)).collect();
    Ok(Some(Folded { outer, folds, inputs }))
}

/// What a member is made of, if that is inputs, constants and few operations.
fn member(s: &Program, a: Atom) -> Option<Member> {
    enum Task {
        Read(Atom),
        Write(usize),
        Negate,
    }
    let mut m = Member::default();
    let mut tasks = vec![Task::Read(a)];
    while let Some(task) = tasks.pop() {
        if m.key.len() > TEMPLATE {
            return None;
        }
        let a = match task {
            Task::Write(i) => {
                let e = s.equation(i);
                m.key.push(Word::Op(e.op.clone(), e.args.len()));
                continue;
            }
            Task::Negate => {
                m.key.push(Word::Op(Op::Neg, 1));
                continue;
            }
            Task::Read(a) => a,
        };
        let v = match a {
            Atom::Const(id) => {
                m.params.push(s.constant(id).clone());
                m.key.push(Word::Param);
                continue;
            }
            Atom::Value(v) => v,
        };
        let Some(i) = s.definition(v) else {
            // an input that stands twice has two slots, so that members look alike; adjoints of both are added
            m.key.push(Word::Slot(m.slots.len()));
            m.slots.push(v.index() as u32);
            continue;
        };
        let e = s.equation(i);
        if e.results != 1 || !e.op.callees().is_empty() {
            return None;
        }
        // products with 1 and -1 are no products
        if let (Op::Mul, &[a, b]) = (e.op, e.args)
            && let (x, Some(c)) = if a.value().is_some() { (a, s.as_constant(b)) } else { (b, s.as_constant(a)) }
        {
            if c.is_one() {
                tasks.push(Task::Read(x));
                continue;
            }
            if *c == Rational::from(-1) {
                tasks.push(Task::Negate);
                tasks.push(Task::Read(x));
                continue;
            }
        }
        tasks.push(Task::Write(i));
        e.args.iter().rev().for_each(|&a| tasks.push(Task::Read(a)));
    }
    Some(m)
}

fn templates(members: Vec<Member>) -> Result<Option<Vec<Template>>, BuildError> {
    let mut all: Vec<Template> = Vec::new();
    let mut by_key: HashMap<Vec<Word>, usize> = HashMap::new();
    let count = members.len();
    for (position, m) in members.into_iter().enumerate() {
        let next = all.len();
        let id = *by_key.entry(m.key.clone()).or_insert(next);
        if id == next {
            if next == TEMPLATES || (next + 1) * 4 > count {
                return Ok(None);
            }
            let (program, safe) = template(&m)?;
            let slots = m.slots.len();
            all.push(Template { program, slots, inputs: vec![], params: vec![], positions: vec![], safe });
        }
        all[id].inputs.push(m.slots);
        all[id].params.push(m.params);
        all[id].positions.push(position as u32);
    }
    Ok(Some(all))
}

/// The program of a key.
fn template(m: &Member) -> Result<(Program, bool), BuildError> {
    let mut b = Builder::new("member");
    let inputs = (0..m.slots.len() + m.params.len())
        .map(|i| b.input(format!("s{i}"), Shape::scalar()))
        .collect::<Result<Vec<_>, _>>()?;
    let (mut stack, mut param, mut safe) = (Vec::new(), m.slots.len(), true);
    for word in &m.key {
        match word {
            Word::Slot(i) => stack.push(inputs[*i]),
            Word::Param => {
                stack.push(inputs[param]);
                param += 1;
            }
            Word::Op(op, arity) => {
                safe &= matches!(op, Op::Neg | Op::Kink(Kink::Relu | Kink::Abs | Kink::Max(_) | Kink::Min(_)));
                let args = stack.split_off(stack.len() - arity);
                stack.push(b.push1(op.clone(), &args)?);
            }
        }
    }
    let out = stack.pop().unwrap_or_else(|| b.constant(0));
    Ok((b.finish(&[out])?, safe))
}

/// The program with folds as inputs behind its own, and the folds in their order.
fn outer(s: &Program, folds: &HashMap<usize, Fold>) -> Result<(Program, Vec<usize>), BuildError> {
    let mut needed = vec![false; s.values()];
    let mut order = Vec::new();
    s.outputs().iter().filter_map(|a| a.value()).for_each(|v| needed[v.index()] = true);
    for i in (0..s.len()).rev() {
        let e = s.equation(i);
        if !e.results().any(|v| needed[v.index()]) {
            continue;
        }
        if folds.contains_key(&i) {
            order.push(i);
            continue;
        }
        e.args.iter().filter_map(|a| a.value()).for_each(|v| needed[v.index()] = true);
    }
    order.reverse();
    let mut b = Builder::new(s.name());
    let mut map: HashMap<Value, Atom> = HashMap::new();
    for (v, input) in s.input_values().zip(s.inputs()) {
        map.insert(v, b.input(input.name.clone(), Shape::scalar())?);
    }
    for &i in &order {
        let mut name = format!("fold{i}");
        while s.inputs().iter().any(|input| *input.name == *name) {
            name.push('_');
        }
        map.insert(s.equation(i).first, b.input(name, Shape::scalar())?);
    }
    let translate = |b: &mut Builder, map: &HashMap<Value, Atom>, a: Atom| match a {
        Atom::Value(v) => map[&v],
        Atom::Const(id) => b.constant(s.constant(id).clone()),
    };
    for (i, e) in s.equations().enumerate() {
        if folds.contains_key(&i) || !e.results().any(|v| needed[v.index()]) {
            continue;
        }
        let args: Vec<Atom> = e.args.iter().map(|&a| translate(&mut b, &map, a)).collect();
        let results = b.push_from(s, e.op, &args)?;
        e.results().zip(results).for_each(|(v, a)| {
            map.insert(v, a);
        });
    }
    let outputs: Vec<Atom> = s.outputs().iter().map(|&a| translate(&mut b, &map, a)).collect();
    Ok((b.finish(&outputs)?, order))
}

/// What a maximum does at ties, under a way to differentiate.
fn ties(how: &How, largest: bool) -> Result<Option<Ties>, CudaError> {
    let mut b = Builder::new("ties");
    let args = ["a", "b", "c"].map(|name| b.input(name, Shape::scalar()));
    let [x, y, z] = args;
    let args = [x?, y?, z?];
    let kink = if largest { Kink::Max(Lane::Args) } else { Kink::Min(Lane::Args) };
    let top = b.push1(Op::Kink(kink), &args)?;
    let derived = crease_core::differentiate::backprop(&b.finish(&[top])?, how)?;
    Ok(derived.equations().find_map(|e| match e.op {
        Op::Joint(_, choice) => Some(choice.ties),
        _ => None,
    }))
}

/// What the kernel of a folded program is to write.
pub(crate) enum Wanted<'a> {
    /// The outputs.
    Values,
    /// The one output, then its derivatives: for each scalar input the row it goes to, if any.
    Gradient(&'a How, &'a [Option<usize>], usize),
}

impl Folded {
    /// Members of all folds, for explanations.
    pub fn sizes(&self) -> (usize, usize) {
        let templates = self.folds.iter().flat_map(|f| &f.templates);
        (templates.clone().count(), templates.map(|t| t.positions.len()).sum())
    }

    /// The bytes of shared memory that a block of so many warps needs.
    pub fn shared_bytes(&self, precision: Precision, warps: usize) -> usize {
        32 * (self.inputs * precision.bytes() + warps * (precision.bytes() + 4))
    }

    /// The text of the kernel; nothing if ties are such that more than one member counts.
    pub fn kernel(
        &self,
        name: &str,
        precision: Precision,
        sources: &[Source],
        wanted: &Wanted<'_>,
        checked: bool,
        limit: usize,
    ) -> Result<Option<String>, CudaError> {
        let n = self.inputs;
        let mut tables = String::new();
        let mut out = format!("KERNEL BOUNDED {name}{ARGUMENTS} {{\n");
        let mut last = Vec::new();
        for f in &self.folds {
            let ties = match wanted {
                Wanted::Values => Some(Ties::First),
                Wanted::Gradient(how, ..) => ties(how, f.largest)?,
            };
            match ties {
                Some(Ties::First) => last.push(false),
                Some(Ties::Last) => last.push(true),
                Some(Ties::Average | Ties::Every) | None => return Ok(None),
            }
        }
        out.push_str(
            "  const int lane = LANE, slice = SLICE;\n  const long long here = POINT, p = here < points ? here : points - 1;\n  \
             int bad = 0, k;\n  REAL *held = (REAL *)shared_memory, *mine = held + lane;\n",
        );
        let _ = writeln!(out, "  REAL *top = held + {n} * WIDTH;\n  int *top_at = (int *)(top + SLICES * WIDTH);");
        self.stage(sources, wanted, &mut out);
        for (i, f) in self.folds.iter().enumerate() {
            f.forward(&format!("{name}_{i}"), i, last[i], precision, limit, (&mut tables, &mut out))?;
        }
        let inputs: Vec<String> = (0..n)
            .map(|k| format!("mine[{k} * WIDTH]"))
            .chain((0..self.folds.len()).map(|i| format!("best{i}")))
            .collect();
        match wanted {
            Wanted::Values => {
                out.push_str("  if (slice == 0 && here < points) {\n");
                let s = lower(&self.outer, limit)?;
                let writer = Writer { precision, prefix: "v", inputs: &inputs, indent: "    ", checked };
                for (j, y) in writer.steps(&s, &mut out).iter().enumerate() {
                    let _ = writeln!(out, "    y[{j} * y_stride + p] = {y};");
                }
            }
            Wanted::Gradient(how, rows, _) => {
                out.push_str("  SYNC();\n  if (slice == 0 && here < points) {\n");
                let s = lower(&vjp(&self.outer, how)?, limit)?;
                let mut inputs = inputs;
                inputs.push(precision.literal(&Rational::ONE));
                let writer = Writer { precision, prefix: "v", inputs: &inputs, indent: "    ", checked };
                let adjoints = writer.steps(&s, &mut out);
                let _ = writeln!(out, "    y[p] = {};", adjoints[0]);
                let zero = precision.literal(&Rational::ZERO);
                for (k, row) in rows.iter().enumerate() {
                    if let Some(row) = row
                        && adjoints[1 + k] != zero
                    {
                        let _ = writeln!(out, "    y[{row} * y_stride + p] += {};", adjoints[1 + k]);
                    }
                }
                let contiguous = rows.iter().enumerate().all(|(k, r)| *r == Some(k + 1));
                if !contiguous {
                    let _ = write!(tables, "TABLE int {name}_rows[{n}] = {{");
                    rows.iter().for_each(|r| {
                        let _ = write!(tables, "{},", r.map_or(-1, |r| r as i64));
                    });
                    tables.push_str("};\n");
                }
                for (i, f) in self.folds.iter().enumerate() {
                    let adjoint = &adjoints[1 + n + i];
                    let _ = writeln!(out, "    const REAL adjoint{i} = {adjoint};");
                    let rows = (!contiguous).then(|| format!("{name}_rows"));
                    f.backward(&format!("{name}_{i}"), i, rows.as_deref(), precision, how, limit, &mut out)?;
                }
            }
        }
        out.push_str("  }\n  if (bad && here < points) REPORT(bad_point, (unsigned long long)p);\n}\n");
        Ok(Some(tables + &out))
    }

    /// Inputs into shared memory, and zeros into the gradient.
    fn stage(&self, sources: &[Source], wanted: &Wanted<'_>, out: &mut String) {
        let n = self.inputs;
        let in_order = sources.iter().enumerate().all(|(k, s)| *s == Source::Row(k));
        if in_order {
            let _ = writeln!(
                out,
                "  UNROLL\n  for (k = slice; k < {n}; k += SLICES) {{\n    const REAL t = x[k * x_stride + p];\n    \
                 mine[k * WIDTH] = t;\n    bad |= !is_finite(t);\n  }}"
            );
        } else {
            for (k, source) in sources.iter().enumerate() {
                let read = source.read();
                let _ = writeln!(
                    out,
                    "  if (slice == {k} % SLICES) {{ const REAL t = {read}; mine[{k} * WIDTH] = t; bad |= !is_finite(t); }}"
                );
            }
        }
        if let Wanted::Gradient(_, _, rows) = wanted {
            let _ = writeln!(
                out,
                "  if (here < points) {{\n    UNROLL\n    for (k = 1 + slice; k < {rows}; k += SLICES) y[k * y_stride + p] = 0;\n  }}"
            );
        }
        out.push_str("  SYNC();\n");
    }
}

impl Fold {
    /// The loops over members, and the comparison of what slices found: `best` and `at`.
    fn forward(
        &self,
        name: &str,
        i: usize,
        last: bool,
        precision: Precision,
        limit: usize,
        (tables, out): (&mut String, &mut String),
    ) -> Result<(), CudaError> {
        let (worst, better) = if self.largest { ("-INFINITE", ">") } else { ("INFINITE", "<") };
        let or_equal = if last { format!("{better}=") } else { better.into() };
        let _ = writeln!(out, "  REAL best{i} = {worst};\n  int at{i} = -1;");
        let _ = write!(tables, "TABLE int {name}_at[] = {{");
        self.templates.iter().flat_map(|t| t.padded().map(|m| t.positions[m])).for_each(|p| {
            let _ = write!(tables, "{p},");
        });
        tables.push_str("};\n");
        let merge = |out: &mut String, indent: &str, value: &str, at: &str| {
            let order = if last { ">" } else { "<" };
            let _ = writeln!(
                out,
                "{indent}if ({at} >= 0 && (at{i} < 0 || {value} {better} best{i} || ({value} == best{i} && {name}_at[{at}] {order} {name}_at[at{i}]))) \
                 {{ best{i} = {value}; at{i} = {at}; }}"
            );
        };
        let mut base = 0;
        for (t, template) in self.templates.iter().enumerate() {
            template.tables(&format!("{name}_{t}"), precision, tables);
            let count = template.padded().count();
            let _ = writeln!(
                out,
                "  {{\n    REAL found = {worst};\n    int found_at = -1, j;\n    for (j = 0; j < {count} / SLICES / {ABREAST}; j++) {{\n      k = j * SLICES * {ABREAST} + slice;"
            );
            let s = lower(&template.program, limit)?;
            // several members abreast: what one waits for, the others use
            let inputs: Vec<Vec<String>> = (0..ABREAST)
                .map(|u| {
                    template.inputs(
                        &format!("{name}_{t}"),
                        &format!("(k + {u} * SLICES)"),
                        &format!("m{u}_"),
                        out,
                        "      ",
                    )
                })
                .collect();
            for (u, inputs) in inputs.iter().enumerate() {
                let prefix = format!("v{u}_");
                let writer = Writer { precision, prefix: &prefix, inputs, indent: "      ", checked: false };
                let value = writer.steps(&s, out).remove(0);
                if !template.safe {
                    let _ = writeln!(out, "      bad |= !is_finite({value});");
                }
                let _ = writeln!(
                    out,
                    "      if ({value} {or_equal} found) {{ found = {value}; found_at = {base} + k + {u} * SLICES; }}"
                );
            }
            out.push_str("    }\n");
            merge(out, "    ", "found", "found_at");
            out.push_str("  }\n");
            base += count;
        }
        let _ = writeln!(
            out,
            "  top[slice * WIDTH + lane] = best{i};\n  top_at[slice * WIDTH + lane] = at{i};\n  SYNC();\n  at{i} = -1;\n  \
             for (k = 0; k < SLICES; k++) {{\n    const REAL found = top[k * WIDTH + lane];\n    const int found_at = top_at[k * WIDTH + lane];"
        );
        merge(out, "    ", "found", "found_at");
        let _ = writeln!(out, "  }}\n  bad |= at{i} < 0;\n  SYNC();");
        Ok(())
    }

    /// Through the member that won.
    #[allow(clippy::too_many_arguments)]
    fn backward(
        &self,
        name: &str,
        i: usize,
        rows: Option<&str>,
        precision: Precision,
        how: &How,
        limit: usize,
        out: &mut String,
    ) -> Result<(), CudaError> {
        let mut base = 0;
        for (t, template) in self.templates.iter().enumerate() {
            let count = template.padded().count();
            let otherwise = if t == 0 { "" } else { "else " };
            let _ = writeln!(
                out,
                "    {otherwise}if (at{i} >= {base} && at{i} < {}) {{\n      const int m = at{i} - {base};",
                base + count
            );
            let table = format!("{name}_{t}");
            let mut inputs = template.inputs(&table, "m", "", out, "      ");
            inputs.push(format!("adjoint{i}"));
            let s = lower(&vjp(&template.program, how)?, limit)?;
            let writer = Writer { precision, prefix: "v", inputs: &inputs, indent: "      ", checked: false };
            let adjoints = writer.steps(&s, out);
            for (slot, adjoint) in adjoints[1..].iter().enumerate().take(template.slots) {
                let k = template.slot(&table, slot, "m");
                match rows {
                    None => {
                        let _ = writeln!(out, "      y[(1 + INPUT({k})) * y_stride + p] += {adjoint};");
                    }
                    Some(rows) => {
                        let _ = writeln!(
                            out,
                            "      if ({rows}[INPUT({k})] >= 0) y[{rows}[INPUT({k})] * y_stride + p] += {adjoint};"
                        );
                    }
                }
            }
            out.push_str("    }\n");
            base += count;
        }
        Ok(())
    }
}

impl Template {
    /// The members, the last one repeated until slices are even: it changes neither a value nor who comes first or last.
    fn padded(&self) -> impl Iterator<Item = usize> + '_ {
        let n = self.positions.len();
        (0..n.next_multiple_of(PADDED)).map(move |m| m.min(n - 1))
    }

    /// Entries of the table for one member: its slots, and as many more that one load is wide.
    fn width(&self) -> usize {
        match self.slots {
            0..=4 => self.slots.next_power_of_two(),
            more => more.next_multiple_of(4),
        }
    }

    /// Tables of inputs (where they lie in shared memory), and of constants.
    fn tables(&self, name: &str, precision: Precision, out: &mut String) {
        let width = self.width();
        let _ = write!(out, "TABLE unsigned {name}_s[] = {{");
        for m in self.padded() {
            for slot in 0..width {
                let _ = write!(out, "PLACE({}),", self.inputs[m].get(slot).copied().unwrap_or(0));
            }
        }
        out.push_str("};\n");
        for param in 0..self.params.first().map_or(0, Vec::len) {
            let _ = write!(out, "TABLE REAL {name}_c{param}[] = {{");
            self.padded().for_each(|m| {
                let _ = write!(out, "{},", precision.literal(&self.params[m][param]));
            });
            out.push_str("};\n");
        }
    }

    /// Where the input in a slot of member `m` lies.
    fn slot(&self, name: &str, slot: usize, m: &str) -> String {
        format!("{name}_s[{m} * {} + {slot}]", self.width())
    }

    /// Variables for slots and parameters of member `m`, with a prefix: places first, then what is there.
    fn inputs(&self, name: &str, m: &str, prefix: &str, out: &mut String, indent: &str) -> Vec<String> {
        for slot in 0..self.slots {
            let _ = writeln!(out, "{indent}const unsigned {prefix}a{slot} = {};", self.slot(name, slot, m));
        }
        let mut inputs = Vec::new();
        for slot in 0..self.slots {
            let _ = writeln!(out, "{indent}const REAL {prefix}s{slot} = AT(mine, {prefix}a{slot});");
            inputs.push(format!("{prefix}s{slot}"));
        }
        for param in 0..self.params.first().map_or(0, Vec::len) {
            let _ = writeln!(out, "{indent}const REAL {prefix}c{param} = {name}_c{param}[{m}];");
            inputs.push(format!("{prefix}c{param}"));
        }
        inputs
    }
}
