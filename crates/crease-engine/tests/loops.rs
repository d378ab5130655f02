//! Loops as code: the examples of the repository against differences, many turns, and what a run takes.

use crease_core::differentiate::{How, backprop};
use crease_core::random::SplitMix64;
use crease_core::{Program, Tensor, run};
use crease_engine::{Agreement, Compiled, Options, compile, value_and_grad};
use crease_formats::parse;
use std::sync::Arc;

fn main_of(text: &str) -> Arc<Program> {
    parse(text).unwrap().main().clone()
}

/// Numbers between -1 and 1.
fn numbers(rng: &mut SplitMix64, n: usize) -> Vec<f64> {
    (0..n).map(|_| (rng.bits() >> 11) as f64 / (1u64 << 52) as f64 - 1.0).collect()
}

fn outputs(c: &Compiled<f64>, at: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let mut out: Vec<Vec<f64>> = c.outputs().iter().map(|s| vec![0.0; s.len()]).collect();
    let inputs: Vec<&[f64]> = at.iter().map(|x| &x[..]).collect();
    let mut slices: Vec<&mut [f64]> = out.iter_mut().map(|v| &mut v[..]).collect();
    c.run(&mut c.workspace(), &inputs, &mut slices).unwrap();
    out
}

/// Value and gradient by the engine, by the interpreter, and by differences.
fn check(name: &str, p: &Program, at: &[Vec<f64>]) {
    let tensor = |(x, i): (&Vec<f64>, &crease_core::Input)| Tensor::new(i.shape.clone(), x.clone()).unwrap();
    let point: Vec<Tensor<f64>> = at.iter().zip(p.inputs()).map(tensor).collect();
    let derived = run(&backprop(p, &How::default()).unwrap(), &point).unwrap();
    for agreement in [Agreement::Rounding, Agreement::Bits] {
        let c = value_and_grad::<f64>(p, &[], &Options::default().agreement(agreement)).unwrap();
        for (k, (got, expected)) in outputs(&c, at).iter().zip(&derived).enumerate() {
            for (g, e) in got.iter().zip(expected.data()) {
                let close = (g - e).abs() <= 1e-10 * (1.0 + e.abs());
                assert!(if agreement == Agreement::Bits { g == e } else { close }, "{name}: output {k}: {g}, {e}");
            }
        }
    }
    let value = compile::<f64>(p, &Options::default()).unwrap();
    let h = 1e-5;
    for i in 0..at.len() {
        // some elements of each input
        for j in (0..at[i].len()).step_by(1 + at[i].len() / 5) {
            let beside = |d: f64| {
                let mut at = at.to_vec();
                at[i][j] += d;
                outputs(&value, &at)[0][0]
            };
            let difference = (beside(h) - beside(-h)) / (2.0 * h);
            let slope = derived[i + 1].data()[j];
            assert!(
                (difference - slope).abs() < 1e-5 * (1.0 + slope.abs()),
                "{name}, input {i}[{j}]: {slope}, {difference}"
            );
        }
    }
}

#[test]
fn gradients_of_the_examples_are_their_difference_quotients() {
    let mut rng = SplitMix64::new(12);
    let ista = main_of(include_str!("../../../examples/ista.crease"));
    check("ista", &ista, &[vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], vec![1.0, 2.0, 3.0], vec![0.1], vec![0.01]]);
    let gru = main_of(include_str!("../../../examples/gru.crease"));
    let point: Vec<Vec<f64>> = gru.inputs().iter().map(|i| numbers(&mut rng, i.shape.len())).collect();
    check("gru", &gru, &point);
    let camera = main_of(include_str!("../../../examples/camera.crease"));
    let at = [vec![0.1, 0.2, -0.1], vec![0.0, 0.0, -5.0], vec![2.0], vec![0.0, 0.0], vec![0.1, 0.01]];
    let at = [&at[..], &[vec![1.0, 1.0, 2.0], vec![1.2], vec![0.5, 4.5]]].concat();
    check("camera", &camera, &at);
}

/// 10^5 turns: the text stays short, the code too, and memory is what is kept for going back.
#[test]
fn many_turns_take_no_more_text_and_memory_in_proportion() {
    let of = |turns: usize| {
        main_of(&format!("program f(x, w) = repeat({turns}, s = x) {{ return s + 0.001 * relu(w - s) * sin(s) }}"))
    };
    let mut bytes = Vec::new();
    for turns in [10_000, 100_000] {
        let p = of(turns);
        let derived = backprop(&p, &How::default()).unwrap();
        assert!(derived.to_string().len() < 3000, "{derived}");
        let c = value_and_grad::<f64>(&p, &[], &Options::default()).unwrap();
        let out = outputs(&c, &[vec![0.5], vec![2.0]]);
        let points = [Tensor::scalar(0.5), Tensor::scalar(2.0)];
        let expected = run(&derived, &points).unwrap();
        for (g, e) in out.iter().zip(&expected) {
            assert!((g[0] - e.data()[0]).abs() < 1e-9, "{} {}", g[0], e.data()[0]);
        }
        bytes.push(c.workspace().bytes());
    }
    assert!(bytes[1] < 12 * bytes[0] && bytes[1] < 100 * 100_000, "{bytes:?}");
}

/// Loops that are worth less than running code in turns are unrolled; others are not.
#[test]
fn what_is_short_is_unrolled() {
    let lines = |turns: usize| {
        let p = main_of(&format!("program f(x) = repeat({turns}, s = x) {{ return s * 1.01 + 0.1 }}"));
        compile::<f64>(&p, &Options::default()).unwrap().explain().lines().join("\n")
    };
    assert!(!lines(10).contains("in the loop of"), "{}", lines(10));
    assert!(lines(100_000).contains("in the loop of"), "{}", lines(100_000));
}

/// What a choice does not take need not have a value, in a loop neither, and its gradient is 0.
#[test]
fn a_loop_behind_a_choice_does_no_harm() {
    let p = main_of("program f(x) = where(x > 0, repeat(2, s = x) { return log(s) + 3 }, 2 * x)");
    let d = backprop(&p, &How::default()).unwrap();
    for (x, value, slope) in [(-1.0, -2.0, 2.0), (1.0, 3f64.ln() + 3.0, 1.0 / 3.0)] {
        let out = run(&d, &[Tensor::scalar(x)]).unwrap();
        assert!((out[0].data()[0] - value).abs() < 1e-15 && (out[1].data()[0] - slope).abs() < 1e-15, "{x}: {out:?}");
        let c = value_and_grad::<f64>(&p, &[], &Options::default()).unwrap();
        let got = outputs(&c, &[vec![x]]);
        assert!((got[0][0] - value).abs() < 1e-15 && (got[1][0] - slope).abs() < 1e-15, "{x}: {got:?}");
    }
    // and inside of a loop: what is stacked may be missing in some of the turns
    let p = main_of("program f(v[3]) { let all = scan(x in v) { return log(x) }\n return sum(where(v > 0, all, v)) }");
    let d = backprop(&p, &How::default()).unwrap();
    let out = run(&d, &[Tensor::vector(vec![-1.0, 1.0, 2.0]).unwrap()]).unwrap();
    assert!((out[0].data()[0] - (2f64.ln() - 1.0)).abs() < 1e-15);
    assert_eq!(out[1].data(), [1.0, 1.0, 0.5]);
}

/// By some inputs: what the adjoints of the others need is not computed, and the rest comes out as if it were.
#[test]
fn derivatives_by_some_inputs_are_those_by_all() {
    let mut rng = SplitMix64::new(34);
    let lasso = "program f(A[9, 14], b[9], lambda, rate) {
        let x = repeat(40, x = zeros([14])) {
          let y = x - rate * (transpose(A) @ (A @ x - b))
          return relu(y - rate * lambda) - relu(-y - rate * lambda)
        }
        return dot(x, x) + lambda * norm1(x)
      }";
    let gru = "program f(x[30, 5], W[17, 17], V[17, 17], w[17, 5], out[17]) {
        let h, error = scan(h = zeros([17]), x in x) {
          let r = sigmoid(W @ h + w @ x)
          let next = h + r * (tanh(V @ (r * h)) - h)
          return next, abs(dot(out, next) - x[0])
        }
        return sum(error)
      }";
    for (text, some) in [(lasso, vec![1, 2]), (lasso, vec![3]), (gru, vec![1, 4]), (gru, vec![0]), (gru, vec![2, 3])] {
        let p = main_of(text);
        let mut at: Vec<Vec<f64>> = p.inputs().iter().map(|i| numbers(&mut rng, i.shape.len())).collect();
        // steps short enough to stay where numbers are small
        at.iter_mut().filter(|x| x.len() == 1).for_each(|x| x[0] = 0.02 + x[0].abs() / 50.0);
        let tensor = |(x, i): (&Vec<f64>, &crease_core::Input)| Tensor::new(i.shape.clone(), x.clone()).unwrap();
        let point: Vec<Tensor<f64>> = at.iter().zip(p.inputs()).map(tensor).collect();
        let derived = run(&backprop(&p, &How::default()).unwrap(), &point).unwrap();
        for agreement in [Agreement::Rounding, Agreement::Bits] {
            let c = value_and_grad::<f64>(&p, &some, &Options::default().agreement(agreement)).unwrap();
            let expected = [0].into_iter().chain(some.iter().map(|i| i + 1)).map(|k| &derived[k]);
            for (got, expected) in outputs(&c, &at).iter().zip(expected) {
                for (g, e) in got.iter().zip(expected.data()) {
                    let close = (g - e).abs() <= 1e-10 * (1.0 + e.abs());
                    assert!(if agreement == Agreement::Bits { g == e } else { close }, "{some:?}: {g}, {e}\n{text}");
                }
            }
        }
    }
}
