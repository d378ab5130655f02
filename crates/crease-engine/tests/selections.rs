//! Selections in tensor code: what only the side needs that was not chosen is not computed, and the answers are the interpreter's.

mod lesser;

use crease_core::differentiate::{How, backprop};
use crease_core::op::Comparison;
use crease_core::{Arithmetic, Builder, Op, Program, Shape, Tensor, run, trace_shapes};
use crease_engine::{Agreement, Form, Options, compile, value_and_grad};
use std::sync::Arc;

/// The sum of squares where that is below 1, else the sum of exponentials of all products with a matrix.
fn program(n: usize) -> Program {
    let (vector, matrix) = (Shape::vector(n).unwrap(), Shape::new([n, n]).unwrap());
    let shapes = [vector.clone(), matrix.clone()];
    let near = trace_shapes(&shapes, |x| vec![(x[0] * x[0]).sum()]).unwrap().renamed("near");
    let far = {
        let mut b = Builder::new("far");
        let (x, a) = (b.input("x", vector.clone()).unwrap(), b.input("a", matrix.clone()).unwrap());
        let row = b.reshape(x, &Shape::new([1, n]).unwrap()).unwrap();
        let y = b.matmul(row, a).unwrap();
        let e = b.push1(crease_core::Smooth::Exp, &[y]).unwrap();
        let s = b.sum(e, &[0, 1]).unwrap();
        b.finish(&[s]).unwrap()
    };
    let mut b = Builder::new("selection");
    let (x, a) = (b.input("x", vector).unwrap(), b.input("a", matrix).unwrap());
    let size = b.callee(Arc::new(near.clone().renamed("size")), None).unwrap();
    let pieces = [b.callee(Arc::new(near), None).unwrap(), b.callee(Arc::new(far), None).unwrap()];
    let s = b.push1(Op::Call(size), &[x, a]).unwrap();
    let one = b.constant(1);
    let small = b.compare(Comparison::Less, s, one).unwrap();
    let chosen = b.push1(Op::Select(pieces.into()), &[small, x, a]).unwrap();
    b.finish(&[chosen]).unwrap()
}

/// A point near 0 or far from it.
fn point(n: usize, size: f64) -> Vec<Tensor<f64>> {
    let x = (0..n).map(|i| size * ((i * 37 + 11) % 29) as f64 / 29.0).collect();
    let a = (0..n * n).map(|i| ((i * 53 + 7) % 101) as f64 / 1010.0 - 0.05).collect();
    vec![Tensor::vector(x).unwrap(), Tensor::new(Shape::new([n, n]).unwrap(), a).unwrap()]
}

#[test]
fn both_sides_are_the_interpreters() {
    for n in [1, 5, 64, 1000] {
        let p = program(n);
        let derived = backprop(&p, &How::default()).unwrap();
        for agreement in [Agreement::Bits, Agreement::Rounding] {
            for arithmetic in [Arithmetic::Checked, Arithmetic::Ieee] {
                let options = Options::default().form(Form::Tensors).agreement(agreement).arithmetic(arithmetic);
                let value = compile::<f64>(&p, &options).unwrap();
                let both = value_and_grad::<f64>(&p, &[], &options).unwrap();
                let (mut v, mut w) = (value.workspace(), both.workspace());
                // one after the other, so that each finds what the other side has left behind
                for size in [1e-3, 0.5, 1e-3, 2.0] {
                    let at = point(n, size);
                    let inputs: Vec<&[f64]> = at.iter().map(Tensor::data).collect();
                    let expected = run(&derived, &at).unwrap();
                    let mut y = [0.0];
                    value.run(&mut v, &inputs, &mut [&mut y]).unwrap();
                    let mut out: Vec<Vec<f64>> = both.outputs().iter().map(|s| vec![f64::NAN; s.len()]).collect();
                    let mut slices: Vec<&mut [f64]> = out.iter_mut().map(|o| &mut o[..]).collect();
                    both.run(&mut w, &inputs, &mut slices).unwrap();
                    close(&y, expected[0].data(), agreement);
                    for (o, e) in out.iter().zip(&expected) {
                        close(o, e.data(), agreement);
                    }
                }
            }
        }
    }
}

fn close(got: &[f64], expected: &[f64], agreement: Agreement) {
    assert_eq!(got.len(), expected.len());
    let size = expected.iter().fold(0.0f64, |s, x| s.max(x.abs()));
    let allowed = if agreement == Agreement::Bits { 0.0 } else { 1e-12 * size };
    for (g, e) in got.iter().zip(expected) {
        assert!((g - e).abs() <= allowed, "{g} {e} {agreement:?}");
    }
}

#[test]
fn a_side_that_was_not_chosen_is_not_computed() {
    let n = 64;
    let p = program(n);
    let options = Options::default().form(Form::Tensors);
    let both = value_and_grad::<f64>(&p, &[], &options).unwrap();
    let said = both.explain().to_string();
    assert!(said.contains("run only where a selection asks for them"), "{said}");
    // exponentials of this matrix overflow, which is nobody's business near 0; far from it, it is an error
    let mut at = point(n, 1e-3);
    at[1] = Tensor::new(Shape::new([n, n]).unwrap(), vec![1e300; n * n]).unwrap();
    let inputs: Vec<&[f64]> = at.iter().map(Tensor::data).collect();
    let mut out: Vec<Vec<f64>> = both.outputs().iter().map(|s| vec![f64::NAN; s.len()]).collect();
    let mut slices: Vec<&mut [f64]> = out.iter_mut().map(|o| &mut o[..]).collect();
    both.run(&mut both.workspace(), &inputs, &mut slices).unwrap();
    let expected = run(&backprop(&p, &How::default()).unwrap(), &at).unwrap();
    for (o, e) in out.iter().zip(&expected) {
        close(o, e.data(), Agreement::Rounding);
    }
    let far = point(n, 2.0);
    let inputs = [far[0].data(), inputs[1]];
    let mut slices: Vec<&mut [f64]> = out.iter_mut().map(|o| &mut o[..]).collect();
    assert!(both.run(&mut both.workspace(), &inputs, &mut slices).is_err());
}

#[test]
fn lesser_instructions_pass_these_tests_too() {
    lesser::again();
}
