//! Drawing programs and reporting what fails.

use crease_core::differentiate::{
    How, Mode, Selection, Technique, backprop, forprop, gradient, hessian, jacobian, jvp, jvp_batch, vjp,
};
use crease_core::{Number, Program, Rational, Tensor, run};
use crease_corpus::random::{Options, Rng, program};

/// What a check of one program finds: nothing, or what is wrong.
pub type Verdict = Result<(), String>;

/// Checks `count` random programs of up to `largest` operations, smallest first.
pub fn check_programs(
    seed: u64,
    count: usize,
    largest: usize,
    options: impl Fn(&mut Rng, usize) -> Options,
    check: impl Fn(&Program, &mut Rng) -> Verdict,
) {
    for i in 0..count {
        let mut rng = Rng::new(seed.wrapping_mul(1_000_003).wrapping_add(i as u64));
        let size = 1 + i * largest / count;
        let options = options(&mut rng, size);
        let p = program(&mut rng, &options);
        if let Err(what) = check(&p, &mut rng) {
            panic!("program {i} of seed {seed}: {what}\n{p}");
        }
    }
}

/// Fails with a message unless the condition holds.
pub fn ensure(holds: bool, what: impl FnOnce() -> String) -> Verdict {
    if holds { Ok(()) } else { Err(what()) }
}

/// Runs a program that must run.
pub fn outputs<N: Number>(p: &Program, x: &[Tensor<N>]) -> Result<Vec<Tensor<N>>, String> {
    run(p, x).map_err(|e| format!("{e}\nat {}\nin {p}", shown(x)))
}

/// A point as text.
pub fn shown<N: Number>(x: &[Tensor<N>]) -> String {
    x.iter().map(|t| t.to_string()).collect::<Vec<_>>().join("; ")
}

/// The presets, and two selections that differ from them wherever they can.
pub fn selections() -> Vec<Selection> {
    let texts = [
        "paper",
        "torch",
        "jax",
        "relu=1, times_relu=1/2, abs=1/3, leaky_relu=1/2, elu=1/2, max=last, order=last",
        "relu=1/2, times_relu=0, abs=-1/2, leaky_relu=1, elu=1/4, max=average, order=average",
    ];
    texts.map(|t| Selection::parse(t).expect("a selection")).to_vec()
}

/// All ways to treat calls that every program allows.
pub const TECHNIQUES: [Technique; 4] = [Technique::Auto, Technique::Through, Technique::Backward, Technique::Forward];

/// Whether the program has one scalar output, so that it has a gradient.
pub fn is_scalar(p: &Program) -> bool {
    matches!(p.outputs(), [o] if p.atom_shape(*o).is_scalar())
}

/// The programs derived from a program, by name.
pub fn derived(p: &Program, how: &How) -> Result<Vec<(&'static str, Program)>, String> {
    let fail = |e: crease_core::differentiate::DiffError| e.to_string();
    let mut all = vec![
        ("jvp", jvp(p, how).map_err(fail)?),
        ("vjp", vjp(p, how).map_err(fail)?),
        ("jvp_batch", jvp_batch(p, how, 2).map_err(fail)?),
        ("forward jacobian", jacobian(p, how, Mode::Forward).map_err(fail)?),
        ("backward jacobian", jacobian(p, how, Mode::Backward).map_err(fail)?),
    ];
    if is_scalar(p) {
        all.push(("backprop", backprop(p, how).map_err(fail)?));
        all.push(("forprop", forprop(p, how).map_err(fail)?));
        all.push(("gradient", gradient(p, how).map_err(fail)?));
        all.push(("hessian", hessian(p, how).map_err(fail)?));
    }
    Ok(all)
}

/// A number as an exact rational.
pub fn rational(text: &str) -> Rational {
    text.parse().expect("a number")
}
