//! What the planner does to large programs only: products in blocks, sums of products, log-sum-exp of columns, fast transforms. Against the
//! interpreter, and with a look at what the compiler says it did.

mod lesser;

#[allow(dead_code)]
#[path = "../benches/workloads/data.rs"]
mod data;
#[allow(dead_code)]
#[path = "../benches/workloads/programs.rs"]
mod programs;

use crease_core::differentiate::{How, backprop};
use crease_core::random::SplitMix64;
use crease_core::{Arithmetic, Builder, Op, Program, Shape, Tensor, run};
use crease_engine::{Agreement, Compiled, Float, Form, Options, compile, directional, value_and_grad};

fn shape(dims: &[usize]) -> Shape {
    Shape::new(dims.to_vec()).unwrap()
}

/// Small multiples of 1/8: sums of products of two of them are exact in any order.
fn dyadic(rng: &mut SplitMix64, n: usize) -> Vec<f64> {
    (0..n).map(|_| rng.below(33) as f64 / 8.0 - 2.0).collect()
}

fn tensors<T: Float>(p: &Program, data: &[Vec<f64>]) -> Vec<Tensor<T>> {
    let of = |x: &[f64]| x.iter().map(|&x| T::from_f64(x)).collect();
    p.inputs().iter().zip(data).map(|(i, x)| Tensor::new(i.shape.clone(), of(x)).unwrap()).collect()
}

fn outputs<T: Float>(c: &Compiled<T>, at: &[Tensor<T>]) -> Vec<Vec<T>> {
    let inputs: Vec<&[T]> = at.iter().map(|t| t.data()).collect();
    let mut out: Vec<Vec<T>> = c.outputs().iter().map(|s| vec![T::NAN; s.len()]).collect();
    let mut slices: Vec<&mut [T]> = out.iter_mut().map(|o| &mut o[..]).collect();
    c.run(&mut c.workspace(), &inputs, &mut slices).unwrap();
    out
}

/// Every output up to a relative error, measured against the largest number in it; bit for bit if that is asked.
fn check<T: Float>(what: &str, c: &Compiled<T>, p: &Program, at: &[Tensor<T>], tolerance: f64) {
    for (k, (expected, got)) in run(p, at).unwrap().iter().zip(outputs(c, at)).enumerate() {
        let scale = expected.data().iter().fold(0.0, |m: f64, x| m.max(x.to_f64().abs()));
        for (i, (e, g)) in expected.data().iter().zip(&got).enumerate() {
            let off = (e.to_f64() - g.to_f64()).abs();
            assert!(off <= tolerance * scale, "{what}, output {k}[{i}]: {e} {g}\n{}", c.explain());
        }
    }
}

#[test]
fn a_mixture_agrees() {
    let (d, k, n) = (5, 12, 700);
    let p = programs::gmm(d, k, n).unwrap();
    let mut rng = data::Normal::new(9);
    let point: Vec<Vec<f64>> = p.inputs().iter().map(|i| rng.normals(i.shape.len(), 0.7)).collect();
    let derived = backprop(&p, &How::default()).unwrap();
    for (agreement, tolerance) in [(Agreement::Bits, 0.0), (Agreement::Rounding, 1e-12)] {
        for arithmetic in [Arithmetic::Checked, Arithmetic::Ieee] {
            let options = Options::default().agreement(agreement).arithmetic(arithmetic).form(Form::Tensors);
            let value = compile::<f64>(&p, &options).unwrap();
            check("value", &value, &p, &tensors(&p, &point), tolerance);
            let gradient = value_and_grad::<f64>(&p, &[], &options).unwrap();
            check("gradient", &gradient, &derived, &tensors(&p, &point), tolerance);
            let said = gradient.explain().to_string();
            assert_eq!(said.contains("log-sum-exp of 700 columns of 12"), agreement == Agreement::Rounding, "{said}");
        }
    }
    let c = value_and_grad::<f32>(&p, &[], &Options::default()).unwrap();
    check("f32", &c, &derived, &tensors(&p, &point), 1e-4);
}

#[test]
fn what_is_not_finite_is_found() {
    let (d, k, n) = (5, 12, 700);
    let p = programs::gmm(d, k, n).unwrap();
    let mut rng = data::Normal::new(9);
    let mut point: Vec<Vec<f64>> = p.inputs().iter().map(|i| rng.normals(i.shape.len(), 0.7)).collect();
    // squares of this overflow
    point[1][7 * d + 1] = 1e200;
    let at: Vec<Tensor<f64>> = tensors(&p, &point);
    let inputs: Vec<&[f64]> = at.iter().map(|t| t.data()).collect();
    let c = compile::<f64>(&p, &Options::default()).unwrap();
    assert_eq!(c.run(&mut c.workspace(), &inputs, &mut [&mut [0.0]]).is_err(), run(&p, &at).is_err());
    assert!(run(&p, &at).is_err());
}

#[test]
fn the_sum_of_the_rows_of_a_product_is_the_product_of_their_sum() {
    let mut rng = SplitMix64::new(2);
    for (batch, m, k, n) in [(1, 40, 30, 20), (3, 17, 5, 9), (4, 2, 1, 3)] {
        for negated in [false, true] {
            let mut b = Builder::new("f");
            let x = b.input("x", shape(&[batch, m, k])).unwrap();
            let y = b.input("y", shape(&[batch, k, n])).unwrap();
            let x = b.mul(x, x).unwrap();
            let mut z = b.matmul(x, y).unwrap();
            if negated {
                z = b.neg(z).unwrap();
            }
            let z = b.sum(z, &[1]).unwrap();
            let p = b.finish(&[z]).unwrap();
            let data: Vec<Vec<f64>> = p.inputs().iter().map(|i| dyadic(&mut rng, i.shape.len())).collect();
            for agreement in [Agreement::Bits, Agreement::Rounding] {
                let c = compile::<f64>(&p, &Options::default().agreement(agreement).form(Form::Tensors)).unwrap();
                check("sum", &c, &p, &tensors(&p, &data), 0.0);
                let short = format!("{batch} x [1, {k}] @ [{k}, {n}]");
                let said = c.explain().to_string();
                assert_eq!(said.contains(&short), agreement == Agreement::Rounding, "{said}");
            }
        }
    }
}

#[test]
fn products_in_several_blocks() {
    let mut rng = SplitMix64::new(3);
    for round in 0..14 {
        let mut size = |most: u64| 1 + rng.below(most) as usize;
        // beyond the blocks in each direction in turn
        let (m, n, k) = match round % 3 {
            0 => (size(250), size(90), size(90)),
            1 => (size(90), size(250), size(90)),
            _ => (size(60), size(60), 200 + size(600)),
        };
        for (ta, tb) in [(false, false), (false, true), (true, false), (true, true)] {
            let mut b = Builder::new("f");
            let of = |r: usize, c: usize, t: bool| if t { shape(&[c, r]) } else { shape(&[r, c]) };
            let x = b.input("x", of(m, k, ta)).unwrap();
            let y = b.input("y", of(k, n, tb)).unwrap();
            let z = b.push1(Op::MatMul { transpose_a: ta, transpose_b: tb }, &[x, y]).unwrap();
            let p = b.finish(&[z]).unwrap();
            let data: Vec<Vec<f64>> = p.inputs().iter().map(|i| dyadic(&mut rng, i.shape.len())).collect();
            let options = Options::default().form(Form::Tensors);
            check("f64", &compile::<f64>(&p, &options).unwrap(), &p, &tensors(&p, &data), 0.0);
            check("f32", &compile::<f32>(&p, &options).unwrap(), &p, &tensors(&p, &data), 1e-6);
        }
    }
}

#[test]
fn hadamard_matrices_are_transforms_on_either_side() {
    let mut rng = SplitMix64::new(5);
    for p in [16usize, 32, 128] {
        for (left, scale) in [(true, 1.0), (false, 1.0), (true, -0.5), (false, 0.25)] {
            for other in [1usize, 3, 40] {
                let mut b = Builder::new("f");
                let x = b.input("x", if left { shape(&[p, other]) } else { shape(&[other, p]) }).unwrap();
                let h: Vec<f64> = crease_corpus::paper::hadamard(p).iter().map(|x| scale * x).collect();
                let h = b.tensor(shape(&[p, p]), h).unwrap();
                let z = if left { b.matmul(h, x) } else { b.matmul(x, h) }.unwrap();
                let f = b.finish(&[z]).unwrap();
                let data = vec![dyadic(&mut rng, p * other)];
                let c = compile::<f64>(&f, &Options::default().form(Form::Tensors)).unwrap();
                check("transform", &c, &f, &tensors(&f, &data), 0.0);
                assert!(c.explain().to_string().contains("Hadamard"), "{}", c.explain());
                let c = compile::<f64>(&f, &Options::default().form(Form::Tensors).agreement(Agreement::Bits)).unwrap();
                check("product", &c, &f, &tensors(&f, &data), 0.0);
            }
        }
    }
    // one sign off, and it is none
    let mut h = crease_corpus::paper::hadamard(16);
    h[37] = -h[37];
    let mut b = Builder::new("f");
    let x = b.input("x", shape(&[16, 16])).unwrap();
    let h = b.tensor(shape(&[16, 16]), h).unwrap();
    let z = b.matmul(h, x).unwrap();
    let c = compile::<f64>(&b.finish(&[z]).unwrap(), &Options::default().form(Form::Tensors)).unwrap();
    assert!(!c.explain().to_string().contains("Hadamard"));
}

#[test]
fn infinities_pass_a_transform_as_they_pass_a_product() {
    let p = 16;
    let mut b = Builder::new("f");
    let x = b.input("x", shape(&[p])).unwrap();
    let h = b.tensor(shape(&[p, p]), crease_corpus::paper::hadamard(p)).unwrap();
    let z = b.matmul(h, x).unwrap();
    let f = b.finish(&[z]).unwrap();
    let ieee = Options::default().form(Form::Tensors).arithmetic(Arithmetic::Ieee);
    let (fast, exact) = (compile::<f64>(&f, &ieee).unwrap(), ieee.agreement(Agreement::Bits));
    let exact = compile::<f64>(&f, &exact).unwrap();
    for odd in [vec![(3, f64::INFINITY)], vec![(3, f64::INFINITY), (4, f64::NEG_INFINITY)], vec![(9, f64::NAN)]] {
        let mut x = vec![1.0; p];
        odd.iter().for_each(|&(i, v)| x[i] = v);
        let at = tensors(&f, &[x]);
        let (a, b) = (outputs(&fast, &at), outputs(&exact, &at));
        assert!(a[0].iter().zip(&b[0]).all(|(a, b)| a == b || a.is_nan() && b.is_nan()), "{a:?} {b:?}");
    }
}

#[test]
fn the_function_of_theorem_3_has_its_own_values_as_derivatives_at_zero() {
    let p = 32;
    let f = crease_corpus::paper::theorem_3(p);
    let mut rng = SplitMix64::new(6);
    let (b, m, a) = (dyadic(&mut rng, p * p), dyadic(&mut rng, p * p), dyadic(&mut rng, p * p));
    let c = directional::<f64>(&f, &[0], p, &Options::default()).unwrap();
    let (mut y, mut d) = ([f64::NAN], vec![f64::NAN; p]);
    c.run(&mut c.workspace(), &[&vec![0.0; p], &b, &m, &a], &mut [&mut y, &mut d]).unwrap();
    for (direction, d) in a.chunks_exact(p).zip(d) {
        let at: Vec<Tensor<f64>> = tensors(&f, &[direction.to_vec(), b.clone(), m.clone()]);
        assert_eq!(run(&f, &at).unwrap()[0].data(), [d]);
    }
}

#[test]
fn lesser_instructions_pass_these_tests_too() {
    lesser::again();
}
