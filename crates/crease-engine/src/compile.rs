//! From programs to compiled programs, and which engine takes which.

use crate::apart::{self, apart};
use crate::compiled::Compiled;
use crate::error::EngineError;
use crate::executable::{Beside, Code, Executable};
use crate::flat::{Flat, flatten};
use crate::float::Float;
use crate::native;
use crate::options::{Agreement, Backend, Explain, Form, Options};
use crate::reference::{Derive, Reference, gradient};
use crate::scalar::estimate::{self, Times};
use crate::scalar::{self, LANES};
use crate::tensor::{self, Manner};
use crease_core::differentiate::{self, DiffError, Technique, backprop};
use crease_core::op::scan::MOST_NESTED;
use crease_core::run::least_steps;
use crease_core::{
    Arithmetic, Atom, Builder, Kink, Layout, Op, Program, Shape, Smooth, inline, scalarize, simplify, unroll,
};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

/// See [`crate::compile`].
pub(crate) fn compile<T: Float>(p: &Program, options: &Options) -> Result<Compiled<T>, EngineError> {
    compile_for(p, Reference::new(p, Derive::Same), options)
}

/// As [`compile`], for a program that is to say what the reference says.
fn compile_for<T: Float>(p: &Program, reference: Reference, options: &Options) -> Result<Compiled<T>, EngineError> {
    let mut explain = Explain::default();
    let code = code(p, options, &mut explain, 0)?;
    Compiled::new(code, p, reference, options, explain, output_shapes(p))
}

/// Code for a program, which may be the body of a loop inside of so many others.
fn code<T: Float>(
    p: &Program,
    options: &Options,
    explain: &mut Explain,
    depth: usize,
) -> Result<Arc<dyn Code<T>>, EngineError> {
    if depth > MOST_NESTED {
        return Err(EngineError::Nested { name: p.name().into(), limit: MOST_NESTED });
    }
    let p = &*short_loops_unrolled(p, options)?;
    let p = &*calls_expanded(p);
    let together = options.agreement == Agreement::Rounding;
    let p = &*apart(p, apart::How { together, inline: true })?;
    if suits_scalar(p, options.form, explain) {
        let flat = flatten(&scalar_form(p)?, options)?;
        if let Ok(code) = scalar::build(&flat, &lens(&output_shapes(p)), None) {
            describe(explain, &code);
            let native = prefers_native(&estimate::value(&code), options, explain);
            let machine = if native { machine(&flat, &code, p, options, explain) } else { None };
            return Ok(values(code, machine, options, explain));
        }
    }
    let manner =
        Manner { exact: options.agreement == Agreement::Bits, checked: options.arithmetic == Arithmetic::Checked };
    let flat = flatten(p, options)?;
    let mut bodies = Vec::with_capacity(flat.bodies.len());
    for body in &flat.bodies {
        let mut inside = Explain::default();
        bodies.push(code(body, options, &mut inside, depth + 1)?);
        inside.lines().iter().for_each(|line| explain.say(format!("in the loop of `{}`: {line}", body.name())));
    }
    Ok(Arc::new(tensor::build(&flat, (bodies, depth > 0), manner, options.threads, &options.limits, explain)?))
}

/// Loops that take no more steps in all their turns are unrolled: what they compute is worth less than running code in turns.
const SHORT: u128 = 1 << 13;

/// The same program without loops, if those are short, or if scalars are asked for.
fn short_loops_unrolled<'p>(p: &'p Program, options: &Options) -> Result<Cow<'p, Program>, EngineError> {
    let unrolled = match (options.form, turns(p)) {
        (_, 0) | (Form::Tensors, _) => false,
        (Form::Scalars, _) => true,
        (Form::Auto, steps) => steps <= SHORT,
    };
    Ok(if unrolled { Cow::Owned(unroll(p)?) } else { Cow::Borrowed(p) })
}

/// The same program without calls if there are loops in what it calls: those are looked for in the program itself.
fn calls_expanded(p: &Program) -> Cow<'_, Program> {
    let loops = |q: &Program| q.equations().any(|e| matches!(e.op, Op::Scan(_)));
    let called = p.equations().any(|e| matches!(e.op, Op::Call(_))) && p.library().iter().any(|q| loops(q));
    match called.then(|| inline(p)) {
        Some(Ok(expanded)) => Cow::Owned(expanded),
        // what is too large is refused when code is made of it
        Some(Err(_)) | None => Cow::Borrowed(p),
    }
}

/// How many steps all loops of a program and its library take at least; none without loops.
fn turns(p: &Program) -> u128 {
    let of = |q: &Program| {
        let steps = q.equations().map(|e| match e.op {
            Op::Scan(scan) => (scan.turns as u128).saturating_mul(least_steps(&q.callee(scan.body).program)),
            _ => 0,
        });
        steps.fold(0, u128::saturating_add)
    };
    if p.callees().is_empty() { 0 } else { p.library().iter().map(|q| of(q)).fold(of(p), u128::saturating_add) }
}

/// Scalar code for values: machine code at one point if there is any; in lanes at several, if that is faster.
fn values<T: Float>(
    code: scalar::Code<T>,
    machine: Option<(native::Machine<T>, bool)>,
    options: &Options,
    explain: &mut Explain,
) -> Arc<dyn Code<T>> {
    let (code, checked) = (Arc::new(code), options.arithmetic == Arithmetic::Checked);
    let several = scalar::Values::<T, LANES> { code: code.clone(), checked };
    match machine {
        Some((one, false)) => Arc::new(Beside { one, several: None::<scalar::Values<T, LANES>> }),
        Some((one, true)) => Arc::new(beside(one, several, options, explain)),
        None => Arc::new(beside(scalar::Values::<T, 1> { code, checked }, several, options, explain)),
    }
}

/// Code for one point and for several, or for one alone if both would hold more numbers than may be.
fn beside<T, A: Executable<T>, B: Executable<T>>(
    one: A,
    several: B,
    options: &Options,
    explain: &mut Explain,
) -> Beside<A, B> {
    let both = Beside { one, several: Some(several) };
    let (numbers, limit) = (both.numbers(), options.limits.numbers);
    if numbers as u64 <= limit {
        return both;
    }
    explain.say(format!(
        "batches: point by point, because several at once would hold {numbers} numbers, more than the limit of {limit}"
    ));
    Beside { several: None, ..both }
}

/// So many numbers for each equation make a program one of tensors.
const FEW: usize = 16;
/// Programs of more numbers are not taken apart.
const MANY: usize = 1 << 24;

/// Whether a program is better run number by number.
fn suits_scalar(p: &Program, form: Form, explain: &mut Explain) -> bool {
    if form != Form::Auto {
        explain.say(format!("{form:?} as asked"));
        return form == Form::Scalars;
    }
    if turns(p) > 0 {
        explain.say("tensor program: it has loops");
        return false;
    }
    if !has_tensors(p) {
        explain.say(format!("scalar program: {} equations, no tensors", p.len()));
        return true;
    }
    let (mut numbers, mut equations, mut gathers, mut selects, mut dense) = (0usize, 0usize, 0usize, 0usize, 0usize);
    for q in p.library().iter().map(|q| &**q).chain([p]) {
        equations += q.len();
        for e in q.equations() {
            let touched = e.results().map(|v| q.shape(v).len()).sum::<usize>();
            let read: usize = e.args.iter().filter_map(|a| a.value()).map(|v| q.shape(v).len()).sum();
            numbers += touched.max(read);
            match e.op {
                Op::View { layout: Layout::Table(_), .. } => gathers += touched,
                Op::Kink(Kink::Max(_) | Kink::Min(_)) => selects += read,
                Op::MatMul { .. } | Op::Smooth(Smooth::Exp | Smooth::Log | Smooth::Tanh) | Op::LogSumExp(_) => {
                    dense += read
                }
                _ => {}
            }
        }
    }
    let short = numbers <= FEW * equations;
    // maxima of gathered numbers: loops over tables, and adjoints that are mostly zero
    let sparse = dense == 0 && gathers > 0 && 4 * selects >= numbers / 2;
    let suits = numbers <= MANY && (short || sparse);
    let kind = if suits { "scalar" } else { "tensor" };
    explain.say(format!("{kind} program: {numbers} numbers in {equations} equations"));
    suits
}

/// See [`crate::value_and_grad`].
pub(crate) fn value_and_grad<T: Float>(
    p: &Program,
    wrt: &[usize],
    options: &Options,
) -> Result<Compiled<T>, EngineError> {
    let inputs = p.inputs().len();
    let wrt: Vec<usize> = if wrt.is_empty() { (0..inputs).collect() } else { wrt.to_vec() };
    if let Some(&index) = wrt.iter().find(|&&i| i >= inputs) {
        return Err(DiffError::NoSuchInput { index, inputs }.into());
    }
    let reference = Reference::new(p, Derive::Gradient(options.how.clone(), wrt.clone()));
    // the derivative of the turns adds up in another order than that of the loop
    let unrolled = match options.agreement {
        Agreement::Bits => Cow::Borrowed(p),
        Agreement::Rounding => short_loops_unrolled(p, options)?,
    };
    let p = &*unrolled;
    let own_joints = has_joints(p);
    let through = options.how.technique_of("") == Technique::Auto;
    let mut explain = Explain::default();
    let scalar_output = matches!(output_shapes(p)[..], [ref one] if one.is_scalar());
    if scalar_output
        && !own_joints
        && through
        && options.agreement == Agreement::Rounding
        && suits_scalar(p, options.form, &mut explain)
    {
        options.how.selection.validate().map_err(DiffError::from)?;
        let flat = flatten(&scalar_form(p)?, options)?;
        if let Ok(code) = scalar::build(&flat, &lens(&output_shapes(p)), Some(&options.how.selection)) {
            if prefers_native(&estimate::gradient(&code, &flat), options, &mut explain) {
                let derived = gradient(&*prepared(p, options)?, &wrt, &options.how)?;
                let flat = flatten(&scalar_form(&derived)?, options)?;
                if let Ok(code) = scalar::build(&flat, &lens(&output_shapes(&derived)), None)
                    && let Some((machine, lanes)) = machine(&flat, &code, &derived, options, &mut explain)
                {
                    explain.say("gradient: by the derived program");
                    let code = values(code, Some((machine, lanes)), options, &mut explain);
                    return Compiled::new(code, &derived, reference, options, explain, output_shapes(&derived));
                }
            }
            explain.say("gradient: backward through the scalar code, zero adjoints skipped");
            describe(&mut explain, &code);
            let mut shapes = vec![Shape::scalar()];
            shapes.extend(wrt.iter().map(|&i| p.inputs()[i].shape.clone()));
            let (code, wrt): (_, Arc<[usize]>) = (Arc::new(code), wrt.into());
            let one = scalar::Gradient::<T, 1> { code: code.clone(), wrt: wrt.clone() };
            let several = scalar::Gradient::<T, LANES> { code, wrt };
            let code = Arc::new(beside(one, several, options, &mut explain));
            return Compiled::new(code, p, reference, options, explain, shapes);
        }
    }
    compile_for(&gradient(&*prepared(p, options)?, &wrt, &options.how)?, reference, options)
}

/// How long a program is run if nobody says how often, in nanoseconds. So compilation never takes longer unasked.
const PATIENCE: f64 = 1e8;

/// Whether a scalar program is to become machine code: as asked, or if compiling and running it takes less time than
/// running bytecode.
fn prefers_native(times: &Times, options: &Options, explain: &mut Explain) -> bool {
    match options.backend {
        Backend::Bytecode => {
            explain.say("bytecode as asked");
            return false;
        }
        _ if !native::PRESENT => {
            explain.say("bytecode, because this build makes no native code: its feature `native` does");
            return false;
        }
        Backend::Native => return true,
        Backend::Auto => {}
    }
    let runs = options.runs.map_or(PATIENCE / times.bytecode.max(1.0), |runs| runs as f64).ceil();
    let native = times.compile + runs * times.native < runs * times.bytecode;
    explain.say(format!(
        "{} for {}{runs} runs: estimated {:.1} us each as bytecode, {:.1} us as native code, {:.1} ms to compile that",
        if native { "native code" } else { "bytecode" },
        if options.runs.is_some() { "" } else { "a tenth of a second, " },
        times.bytecode / 1e3,
        times.native / 1e3,
        times.compile / 1e6,
    ));
    native
}

/// Machine code, and whether bytecode in lanes is faster for batches; nothing if there is none, which is explained.
fn machine<T: Float>(
    flat: &Flat,
    code: &scalar::Code<T>,
    p: &Program,
    options: &Options,
    explain: &mut Explain,
) -> Option<(native::Machine<T>, bool)> {
    let begin = Instant::now();
    match native::Machine::new(flat, &lens(&output_shapes(p)), options.arithmetic == Arithmetic::Checked) {
        Ok(machine) => {
            let (bytes, time) = (machine.bytes(), begin.elapsed().as_secs_f64() * 1e3);
            explain.say(format!("{bytes} bytes of native code, compiled in {time:.1} ms"));
            let lanes = estimate::lanes(code) < estimate::value(code).native;
            explain.say(if lanes { "batches: bytecode in lanes" } else { "batches: native code, point by point" });
            Some((machine, lanes))
        }
        Err(why) => {
            explain.say(format!("bytecode, because there is no native code: {why}"));
            None
        }
    }
}

/// See [`crate::jvp`].
pub(crate) fn jvp<T: Float>(p: &Program, options: &Options) -> Result<Compiled<T>, EngineError> {
    let reference = Reference::new(p, Derive::Jvp(options.how.clone()));
    compile_for(&differentiate::jvp(&*prepared(p, options)?, &options.how)?, reference, options)
}

/// See [`crate::vjp`].
pub(crate) fn vjp<T: Float>(p: &Program, options: &Options) -> Result<Compiled<T>, EngineError> {
    let reference = Reference::new(p, Derive::Vjp(options.how.clone()));
    compile_for(&differentiate::vjp(&*prepared(p, options)?, &options.how)?, reference, options)
}

/// See [`crate::directional`].
pub(crate) fn directional<T: Float>(
    p: &Program,
    wrt: &[usize],
    directions: usize,
    options: &Options,
) -> Result<Compiled<T>, EngineError> {
    compile(&simplify(&differentiate::directional_limited(p, wrt, directions, &options.limits)?)?, options)
}

/// See [`crate::clarke`].
pub(crate) fn clarke<T: Float>(p: &Program, options: &Options) -> Result<Compiled<T>, EngineError> {
    let derived = backprop(&differentiate::locked(p)?, &options.how)?;
    let outputs: Vec<usize> = (0..=p.inputs().len()).collect();
    let derived = derived.with_outputs(&outputs).ok_or(crease_core::BuildError::NoOutput)?;
    compile(&simplify(&derived)?, options)
}

/// Whether somebody has written down a derivative of their own.
fn has_joints(p: &Program) -> bool {
    let joints = |q: &Program| q.callees().iter().any(|c| c.joint.is_some());
    joints(p) || p.library().iter().any(|q| joints(q))
}

/// The same program in the form that is best differentiated: its loops taken apart, large padded tensors kept whole. The derivative then adds up in
/// another order, so this is not done where every bit must agree.
fn prepared<'p>(p: &'p Program, options: &Options) -> Result<Cow<'p, Program>, EngineError> {
    if options.agreement == Agreement::Bits {
        return Ok(Cow::Borrowed(p));
    }
    // a call that is differentiated in a way of its own stays one
    let inline = options.how.technique_of("") == Technique::Auto && !has_joints(p);
    let apart = apart(p, apart::How { together: true, inline })?;
    let whole = match held(&apart)? {
        Cow::Owned(whole) => Some(whole),
        Cow::Borrowed(_) => None,
    };
    Ok(whole.map_or(apart, Cow::Owned))
}

/// Assemblies of fewer elements are seen through by differentiation.
const LARGE: usize = 1 << 5;

/// The same program with large padded tensors kept whole.
///
/// Differentiation reads a view of an assembly where its numbers come from. For the windows of a padded image that gives
/// tables of indices in place of loops, which no kernel recognises. So such an assembly is negated twice, through which nothing
/// reads; the flat form takes both signs away again, and derivatives carry them along for nothing.
fn held(p: &Program) -> Result<Cow<'_, Program>, EngineError> {
    let padding = |v: crease_core::Value| {
        p.definition(v).is_some_and(|i| matches!(p.equation(i).op, Op::Assemble { .. })) && p.shape(v).len() >= LARGE
    };
    let windows = |e: &crease_core::Equation<'_>| match (e.op, e.args) {
        (Op::View { layout: Layout::Strided { dims, .. }, .. }, [Atom::Value(v)]) => dims.len() > 1 && padding(*v),
        _ => false,
    };
    if !p.callees().is_empty() || !p.equations().any(|e| windows(&e)) {
        return Ok(Cow::Borrowed(p));
    }
    let mut b = Builder::new(p.name());
    let mut map: Vec<Atom> =
        p.inputs().iter().map(|i| b.input(i.name.clone(), i.shape.clone())).collect::<Result<_, _>>()?;
    let mut held: HashMap<Atom, Atom> = HashMap::new();
    for e in p.equations() {
        let mut args = Vec::with_capacity(e.args.len());
        for &a in e.args {
            args.push(match a {
                Atom::Value(v) => map[v.index()],
                Atom::Const(c) => b.constant(p.constant(c).clone()),
            });
        }
        if windows(&e) {
            args[0] = match held.get(&args[0]) {
                Some(&known) => known,
                None => {
                    let once = b.push1(Op::Neg, &args)?;
                    let twice = b.push1(Op::Neg, &[once])?;
                    held.insert(args[0], twice);
                    twice
                }
            };
        }
        b.set_origin(e.origin());
        map.extend(b.push(e.op.clone(), &args)?);
    }
    let mut outputs = Vec::with_capacity(p.outputs().len());
    for &o in p.outputs() {
        outputs.push(match o {
            Atom::Value(v) => map[v.index()],
            Atom::Const(c) => b.constant(p.constant(c).clone()),
        });
    }
    Ok(Cow::Owned(b.finish(&outputs)?))
}

fn describe<T: Float>(explain: &mut Explain, code: &scalar::Code<T>) {
    let (groups, grouped, singles) = code.sizes();
    explain.say(format!("scalar code: {grouped} equations in {groups} groups, {singles} as single instructions"));
}

fn lens(shapes: &[Shape]) -> Vec<usize> {
    shapes.iter().map(Shape::len).collect()
}

fn output_shapes(p: &Program) -> Vec<Shape> {
    p.outputs().iter().map(|&o| p.atom_shape(o)).collect()
}

/// The program with every tensor taken apart.
fn scalar_form(p: &Program) -> Result<Program, EngineError> {
    Ok(if has_tensors(p) { scalarize(&inline(p)?)? } else { p.clone() })
}

fn has_tensors(p: &Program) -> bool {
    let structured = |q: &Program| {
        q.inputs().iter().any(|i| !i.shape.is_scalar())
            || q.equations().any(|e| {
                matches!(e.op, Op::View { .. } | Op::Assemble { .. } | Op::Constant(_) | Op::MatMul { .. })
                    || e.results().any(|v| !q.shape(v).is_scalar())
            })
    };
    structured(p) || p.library().iter().any(|q| structured(q))
}
