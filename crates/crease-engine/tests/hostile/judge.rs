//! The judge: a program at some points through every way of running it, against the interpreter.
//!
//! What is demanded: under [`Agreement::Bits`], and of the values of scalar code, the same bits (a NaN is a NaN). Under
//! [`Agreement::Rounding`], equal numbers where every number that the interpreter met is an integer that floats hold exactly, so
//! that no order of sums rounds; elsewhere numbers that are close, NaN for NaN and infinities for infinities, unless finite
//! numbers overflowed on the way, or nearly did: another order of a sum, or a fused product, may or may not. Errors where the interpreter has errors, and nothing that is
//! not finite from a checked run that says it went well. Batches and second runs give what the first run gave.

use crease_core::differentiate::{How, backprop};
use crease_core::run::{Arg, Observer};
use crease_core::{Arithmetic, Op, Program, Smooth, Tensor, run_with};
use crease_engine::{Agreement, Backend, Compiled, EngineError, Float, Form, Options, compile, value_and_grad};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What the interpreter says.
struct Expected<T> {
    ieee: Vec<T>,
    checked: Result<Vec<T>, String>,
    scale: Scale,
}

/// How large the finite numbers of a run are, whether all are integers, and whether some became too large for floats.
struct Scale {
    largest: f64,
    whole: bool,
    overflowed: bool,
}

impl Scale {
    fn see(&mut self, x: f64) {
        if x.is_finite() {
            self.largest = self.largest.max(x.abs());
        }
        self.whole &= x.fract() == 0.0;
    }
}

impl<T: Float> Observer<T> for Scale {
    fn step(&mut self, p: &Program, equation: usize, args: &[Arg<'_, T>], results: &[Vec<T>]) {
        results.iter().flatten().for_each(|x| self.see(x.to_f64()));
        let finite = |xs: &[T]| xs.iter().all(|x| x.to_f64().is_finite());
        let pole = match p.equation(equation).op {
            Op::Div | Op::Smooth(Smooth::Power(_)) => true,
            Op::Smooth(f) => !f.facts().edges.is_empty(),
            _ => false,
        };
        self.overflowed |= !pole && args.iter().all(|a| finite(a.data())) && !results.iter().all(|r| finite(r));
    }
}

fn interpreter<T: Float>(p: &Program, at: &[Tensor<T>]) -> Expected<T> {
    let mut scale = Scale { largest: 0.0, whole: true, overflowed: false };
    at.iter().flat_map(|t| t.data()).for_each(|x| scale.see(x.to_f64()));
    let data = |out: Vec<Tensor<T>>| out.into_iter().flat_map(Tensor::into_data).collect();
    // only conditions that are no truth values fail in this arithmetic, and no program here has one
    let ieee = run_with(p, at, Arithmetic::Ieee, &mut scale).map(data).expect("IEEE arithmetic does not fail");
    let checked = run_with(p, at, Arithmetic::Checked, &mut crease_core::run::Unobserved);
    Expected { ieee, checked: checked.map(data).map_err(|e| e.to_string()), scale }
}

/// The mantissa and the largest number.
fn limits<T: Float>() -> (f64, f64) {
    if T::NAME == "f32" { (f64::from(1 << 24), f64::from(f32::MAX)) } else { (2f64.powi(53), f64::MAX) }
}

fn same<T: Float>(a: T, b: T) -> bool {
    let (x, y) = (a.to_f64(), b.to_f64());
    x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan()
}

/// Whether two numbers agree as they must.
fn agree<T: Float>(e: T, g: T, bits: bool, scale: &Scale) -> bool {
    let (x, y) = (e.to_f64(), g.to_f64());
    let (mantissa, most) = limits::<T>();
    if bits || same(e, g) || x == y {
        return same(e, g) || !bits && x == y;
    }
    // another order of a sum may overflow, or not
    if scale.overflowed || scale.largest > most / 1e6 {
        return true;
    }
    if scale.whole && scale.largest < mantissa / 1024.0 {
        return false;
    }
    (x - y).abs() <= 4096.0 / mantissa * scale.largest.max(most.recip())
}

/// One way of running a program.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    pub arithmetic: Arithmetic,
    pub agreement: Agreement,
    pub form: Form,
    pub backend: Backend,
}

impl Way {
    /// All of them.
    pub fn all() -> Vec<Way> {
        let mut all = Vec::new();
        for arithmetic in [Arithmetic::Checked, Arithmetic::Ieee] {
            for agreement in [Agreement::Bits, Agreement::Rounding] {
                let code = [
                    (Form::Scalars, Backend::Bytecode),
                    (Form::Scalars, Backend::Native),
                    (Form::Tensors, Backend::Auto),
                ];
                all.extend(code.map(|(form, backend)| Way { arithmetic, agreement, form, backend }));
            }
        }
        all
    }

    fn options(self, how: &How) -> Options {
        let o = Options::default().arithmetic(self.arithmetic).agreement(self.agreement);
        o.form(self.form).backend(self.backend).how(how.clone())
    }
}

type Numbers<T> = Result<Vec<T>, String>;

/// Runs at each of the points alone, twice, and then at all of them together; the answers must not differ.
fn engine<T: Float>(c: &Compiled<T>, points: &[Vec<Tensor<T>>]) -> Result<Vec<Numbers<T>>, String> {
    let mut w = c.workspace();
    let width: usize = c.outputs().iter().map(|s| s.len()).sum();
    let mut answers: Vec<Numbers<T>> = Vec::new();
    let run = |w: &mut _, count: usize, inputs: &[&[T]]| -> Result<Vec<Vec<T>>, EngineError> {
        let mut out: Vec<Vec<T>> = c.outputs().iter().map(|s| vec![T::ZERO; s.len() * count]).collect();
        let mut room: Vec<&mut [T]> = out.iter_mut().map(|o| &mut o[..]).collect();
        let result = if count == 1 { c.run(w, inputs, &mut room) } else { c.run_batch(w, count, inputs, &mut room) };
        result.map(|()| out)
    };
    let flat = |out: Vec<Vec<T>>| out.into_iter().flatten().collect::<Vec<T>>();
    for at in points {
        let inputs: Vec<&[T]> = at.iter().map(|t| t.data()).collect();
        let once = run(&mut w, 1, &inputs).map(flat).map_err(|e| e.to_string());
        let again = run(&mut w, 1, &inputs).map(flat).map_err(|e| e.to_string());
        let equal = match (&once, &again) {
            (Ok(a), Ok(b)) => a.len() == width && a.iter().zip(b).all(|(a, b)| same(*a, *b)),
            (a, b) => a.is_err() && a.as_ref().err() == b.as_ref().err(),
        };
        if !equal {
            return Err(format!("two runs differ: {once:?} {again:?}"));
        }
        answers.push(once);
    }
    let inputs: Vec<Vec<T>> =
        (0..c.inputs().len()).map(|i| points.iter().flat_map(|at| at[i].data()).copied().collect()).collect();
    let slices: Vec<&[T]> = inputs.iter().map(|x| &x[..]).collect();
    if points.len() > 1 {
        match run(&mut w, points.len(), &slices) {
            Err(e) => {
                let first = answers.iter().find_map(|a| a.as_ref().err());
                if first != Some(&e.to_string()) {
                    return Err(format!("the batch fails with `{e}`, single points with {first:?}"));
                }
            }
            Ok(out) => {
                for (k, answer) in answers.iter().enumerate() {
                    let part = out.iter().zip(c.outputs()).flat_map(|(o, s)| &o[k * s.len()..][..s.len()]);
                    let equal = answer.as_ref().is_ok_and(|a| a.iter().zip(part.clone()).all(|(a, b)| same(*a, *b)));
                    if !equal {
                        return Err(format!("point {k} of a batch: {:?} for {answer:?}", part.collect::<Vec<_>>()));
                    }
                }
            }
        }
    }
    Ok(answers)
}

fn compare<T: Float>(e: &Expected<T>, got: &Numbers<T>, way: Way, bits: bool) -> Result<(), String> {
    let close = |e: &[T], g: &[T], scale: &Scale| {
        if e.len() != g.len() {
            return Err(format!("{} numbers for {}", g.len(), e.len()));
        }
        match e.iter().zip(g).position(|(e, g)| !agree(*e, *g, bits, scale)) {
            None => Ok(()),
            Some(k) => Err(format!("number {k}: {} for {} (largest number {:e})", g[k], e[k], scale.largest)),
        }
    };
    match (way.arithmetic, &e.checked, got) {
        (Arithmetic::Ieee, _, Ok(g)) => close(&e.ieee, g, &e.scale),
        (Arithmetic::Ieee, _, Err(g)) => Err(format!("an error in IEEE arithmetic: {g}")),
        (_, Ok(e_), Ok(g)) => close(e_, g, &e.scale),
        (_, Err(_), Err(_)) => Ok(()),
        // nobody needs what fails, or another order of a sum does not overflow; then the numbers are right
        (_, Err(why), Ok(g)) if g.iter().all(|x| x.to_f64().is_finite()) => {
            close(&e.ieee, g, &e.scale).map_err(|m| format!("{m}, and the interpreter says {why}"))
        }
        (_, Err(why), Ok(g)) => Err(format!("{g:?} from a checked run; the interpreter says {why}")),
        (_, Ok(_), Err(g)) => Err(format!("an error that the interpreter does not have: {g}")),
    }
}

fn judged<T: Float>(
    p: &Program,
    points: &[Vec<Tensor<T>>],
    way: Way,
    bits: bool,
    code: impl FnOnce() -> Result<Compiled<T>, EngineError>,
) -> Result<(), String> {
    let expected: Vec<Expected<T>> = points.iter().map(|at| interpreter(p, at)).collect();
    let got = catch_unwind(AssertUnwindSafe(|| {
        let c = code().map_err(|e| format!("it does not compile: {e}"))?;
        engine(&c, points).map(|a| (a, c.explain().to_string()))
    }));
    let (answers, explained) = got.map_err(|e| {
        let text = e.downcast_ref::<String>().map(String::as_str).or(e.downcast_ref::<&str>().copied());
        format!("panics: {}", text.unwrap_or("?"))
    })??;
    for (k, (e, g)) in expected.iter().zip(&answers).enumerate() {
        compare(e, g, way, bits).map_err(|m| format!("point {k}: {m}\n{explained}at {:?}", points[k]))?;
    }
    Ok(())
}

/// Judges the values of a program and, if it has one scalar output, its gradient, in one kind of numbers.
pub fn judge<T: Float>(
    what: &str,
    p: &Program,
    points: &[Vec<Tensor<T>>],
    how: &How,
    ways: &[Way],
) -> Result<(), String> {
    let derived = backprop(p, how).ok();
    for &way in ways {
        let options = way.options(how);
        let told = |part: &str, m: String| format!("{what}, {} of {part}, {way:?}: {m}\n{p}", T::NAME);
        // values of scalar code agree bit for bit in any case
        let bits = way.agreement == Agreement::Bits || way.form == Form::Scalars;
        judged(p, points, way, bits, || compile::<T>(p, &options)).map_err(|m| told("value", m))?;
        if let Some(derived) = &derived {
            let bits = way.agreement == Agreement::Bits;
            judged(derived, points, way, bits, || value_and_grad::<T>(p, &[], &options))
                .map_err(|m| told("gradient", m))?;
        }
    }
    Ok(())
}

/// As [`judge`] in both kinds of numbers, at points given as doubles.
pub fn judge_both(what: &str, p: &Program, points: &[Vec<Vec<f64>>], how: &How, ways: &[Way]) -> Result<(), String> {
    judge::<f64>(what, p, &tensors(p, points), how, ways)?;
    judge::<f32>(what, p, &tensors(p, points), how, ways)
}

fn tensors<T: Float>(p: &Program, points: &[Vec<Vec<f64>>]) -> Vec<Vec<Tensor<T>>> {
    let tensor = |(i, x): (&crease_core::Input, &Vec<f64>)| {
        let data = x.iter().map(|&x| T::from_f64(x)).collect();
        Tensor::new(i.shape.clone(), data).expect("numbers that fit the shape")
    };
    points.iter().map(|at| p.inputs().iter().zip(at).map(tensor).collect()).collect()
}

/// Collects faults, so that one run shows all kinds of them.
#[derive(Default)]
pub struct Faults {
    seen: Vec<String>,
    judged: usize,
}

impl Faults {
    pub fn add(&mut self, result: Result<(), String>) {
        self.judged += 1;
        self.seen.extend(result.err());
    }

    /// Fails if there are any, and shows the first few.
    #[track_caller]
    pub fn none(self) {
        let shown: Vec<&str> = self.seen.iter().take(4).map(|s| s.get(..6000).unwrap_or(s)).collect();
        assert!(shown.is_empty(), "{} of {} programs:\n{}", self.seen.len(), self.judged, shown.join("\n\n"));
    }
}
