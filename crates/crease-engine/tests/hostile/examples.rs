//! What was found wrong once, each in the form in which it was found.

use crate::judge::{Way, judge_both};
use crate::points::{Kind, points};
use crease_core::differentiate::How;
use crease_core::op::Comparison;
use crease_core::{
    Arithmetic, Atom, Builder, Conv2d, Kink, Lane, Layout, Op, Program, Rational, Shape, Window, abs, max, relu, trace,
};
use crease_corpus::random::Rng;
use crease_engine::{Agreement, Backend, Compiled, EngineError, Form, Options, clarke, compile, value_and_grad};
use std::sync::Arc;

fn shape(dims: &[usize]) -> Shape {
    Shape::new(dims.to_vec()).unwrap()
}

pub fn built(inputs: &[(&str, &[usize])], f: impl FnOnce(&mut Builder, &[Atom]) -> Atom) -> Program {
    let mut b = Builder::new("f");
    let x: Vec<Atom> = inputs.iter().map(|(name, dims)| b.input(*name, shape(dims)).unwrap()).collect();
    let y = f(&mut b, &x);
    b.finish(&[y]).unwrap()
}

/// Through every path, at points of every kind.
fn check(what: &str, p: &Program) {
    let mut rng = Rng::new(11);
    for kind in Kind::ALL {
        let at = points(&mut rng, p, kind, 2);
        judge_both(&format!("{what}, {kind:?}"), p, &at, &How::default(), &Way::all())
            .unwrap_or_else(|m| panic!("{m}"));
    }
}

fn gradient(p: &Program, at: &[f64], options: &Options) -> Vec<f64> {
    let c = value_and_grad::<f64>(p, &[], options).unwrap();
    let inputs: Vec<&[f64]> = at.chunks(1).collect();
    let mut out = vec![[0.0]; 1 + at.len()];
    let mut room: Vec<&mut [f64]> = out.iter_mut().map(|o| &mut o[..]).collect();
    c.run(&mut c.workspace(), &inputs, &mut room).unwrap();
    out[1..].iter().map(|g| g[0]).collect()
}

#[test]
fn registers_are_consecutive_only_if_all_of_them_are() {
    let of = |members: &[usize]| {
        let names: Vec<String> = (0..101).map(|i| format!("x{i}")).collect();
        let inputs: Vec<(&str, &[usize])> = names.iter().map(|n| (&**n, &[][..])).collect();
        built(&inputs, |b, x| {
            let args: Vec<Atom> = members.iter().map(|&i| x[i]).collect();
            b.max(&args).unwrap()
        })
    };
    let mut members: Vec<usize> = (0..18).collect();
    members[1] = 100;
    let mut at = [0.0; 101];
    at[100] = 1.0;
    let g = gradient(&of(&members), &at, &Options::default());
    assert_eq!((g[100], g.iter().sum::<f64>()), (1.0, 1.0));
    check("one stranger", &of(&members));

    let names: Vec<String> = (0..33).map(|i| format!("x{i}")).collect();
    let inputs: Vec<(&str, &[usize])> = names.iter().map(|n| (&**n, &[][..])).collect();
    let p = built(&inputs, |b, x| {
        let args: Vec<Atom> = x[11..24].iter().chain(&x[32..33]).chain(&x[25..32]).copied().collect();
        let backward: Vec<Atom> = x.iter().rev().copied().collect();
        let (quarter, most) = (b.constant(Rational::new(1, 4).unwrap()), b.max(&args).unwrap());
        let size = b.push1(Op::Kink(Kink::NormInf(Lane::Args)), &backward).unwrap();
        let most = b.mul(quarter, most).unwrap();
        b.add(most, size).unwrap()
    });
    let mut at = [0.0; 33];
    at[32] = 1.0;
    assert_eq!(gradient(&p, &at, &Options::default())[32], 1.25);
    check("two lanes", &p);
}

#[test]
fn windows_may_run_backward() {
    check(
        "a maximum",
        &built(&[("x", &[1002])], |b, x| {
            let windows = b.view(x[0], Layout::strided(2, &[(1000, 1), (3, -1)]), shape(&[1000, 3])).unwrap();
            let most = b.push1(Op::Kink(Kink::Max(Lane::Axis)), &[windows]).unwrap();
            b.sum_all(most).unwrap()
        }),
    );
    check(
        "pooling",
        &built(&[("x", &[8, 8])], |b, x| {
            let back = b.slice(x[0], &[(7, 8, -1), (0, 8, 1)]).unwrap();
            let pooled = b.maxpool2d(back, Window::new((2, 2)).stride((2, 2))).unwrap();
            b.sum_all(pooled).unwrap()
        }),
    );
    for (image, kernel) in [([1, 1, 9, 5], [2, 1, 2, 2]), ([3, 2, 2, 8], [3, 2, 2, 1])] {
        let p = built(&[("X", &image), ("K", &kernel)], |b, x| {
            let axes: Vec<_> =
                image.iter().enumerate().map(|(i, &n)| if i == 2 { (n - 1, n, -1) } else { (0, n, 1) }).collect();
            let back = b.slice(x[0], &axes).unwrap();
            let y = b.conv2d(back, x[1], Conv2d::default()).unwrap();
            let y = b.mul(y, y).unwrap();
            crease_corpus::operations::weighed(b, y)
        });
        check("a convolution", &p);
    }
    check(
        "a product",
        &built(&[("x", &[64]), ("K", &[3, 8])], |b, x| {
            let windows = b.view(x[0], Layout::strided(49, &[(9, 1), (4, 1), (2, -1)]), shape(&[9, 8])).unwrap();
            let y = b.push1(Op::MatMul { transpose_a: false, transpose_b: true }, &[windows, x[1]]).unwrap();
            crease_corpus::operations::weighed(b, y)
        }),
    );
}

fn squares(n: usize) -> Program {
    built(&[("x", &[n])], |b, x| {
        let y = b.mul(x[0], x[0]).unwrap();
        b.sum_all(y).unwrap()
    })
}

fn run(c: &Compiled<f64>, w: &mut crease_engine::Workspace<f64>, x: &[f64]) -> Result<f64, EngineError> {
    let mut y = [0.0];
    c.run(w, &[x], &mut [&mut y]).map(|()| y[0])
}

#[test]
fn a_workspace_outlives_its_program_and_serves_no_other() {
    for form in [Form::Scalars, Form::Tensors] {
        let options = Options::default().form(form);
        let mut left = Vec::new();
        for n in 1..200 {
            let small = compile::<f64>(&squares(1), &options).unwrap();
            let mut w = small.workspace();
            assert_eq!(run(&small, &mut w, &[3.0]), Ok(9.0));
            drop(small);
            // somewhere a program of the right size comes to lie where the last one lay
            let large = compile::<f64>(&squares(n), &options).unwrap();
            let x = vec![1.0; n];
            assert_eq!(run(&large, &mut w, &x), Err(EngineError::Workspace));
            assert_eq!(
                large.run_parallel(&mut [large.workspace(), w], 1, &[&x], &mut [&mut [0.0]]),
                Err(EngineError::Workspace)
            );
            left.push(large.workspace());
        }
    }
}

#[test]
fn what_the_interpreter_says_after_a_false_alarm_is_the_answer() {
    // summed in several lanes this overflows; in order it does not
    let total = built(&[("x", &[256])], |b, x| b.sum_all(x[0]).unwrap());
    let x: Vec<f64> = (0..256).map(|i| if i % 2 == 0 { 1.7e308 } else { -1.7e308 }).collect();
    let c = compile::<f64>(&total, &Options::default().form(Form::Tensors)).unwrap();
    assert_eq!(run(&c, &mut c.workspace(), &x), Ok(0.0));
    // the branch that is not taken divides by zero
    let divide = Arc::new(built(&[("x", &[4])], |b, x| {
        let zero = b.sub(x[0], x[0]).unwrap();
        let y = b.div(x[0], zero).unwrap();
        b.sum_all(y).unwrap()
    }));
    let add = Arc::new(built(&[("x", &[4])], |b, x| b.sum_all(x[0]).unwrap()));
    let p = built(&[("x", &[4])], |b, x| {
        let (one, two) = (b.callee(divide, None).unwrap(), b.callee(add, None).unwrap());
        let (first, zero) = (b.at(x[0], &[0]).unwrap(), b.constant(0));
        let less = b.compare(Comparison::Less, first, zero).unwrap();
        b.push1(Op::Select([one, two].into()), &[less, x[0]]).unwrap()
    });
    check("a branch not taken", &p);
    for agreement in [Agreement::Bits, Agreement::Rounding] {
        let c = value_and_grad::<f64>(&p, &[], &Options::default().agreement(agreement)).unwrap();
        let (mut y, mut g) = ([0.0], [0.0; 4]);
        c.run(&mut c.workspace(), &[&[1.0, 2.0, 3.0, 4.0]], &mut [&mut y, &mut g]).unwrap();
        assert_eq!((y, g), ([10.0], [1.0; 4]));
    }
}

#[test]
fn a_zero_adjoint_of_an_infinite_slope_is_no_zero() {
    // relu(sqrt(x) - 1) at 0: the derived program multiplies 0 by infinity, and says so
    let p = trace(1, |x| relu(crease_core::sqrt(x[0]) - 1.0)).unwrap();
    check("a root", &p);
    let c = value_and_grad::<f64>(&p, &[], &Options::default()).unwrap();
    assert!(matches!(c.run(&mut c.workspace(), &[&[0.0]], &mut [&mut [0.0], &mut [0.0]]), Err(EngineError::Run(_))));
}

/// One Clarke subgradient of a function of scalars.
fn subgradient(p: &Program, at: &[f64], along: &[f64]) -> Vec<f64> {
    let c = clarke::<f64>(p, &Options::default()).unwrap();
    let inputs: Vec<&[f64]> = at.chunks(1).chain(along.chunks(1)).collect();
    let mut out = vec![[0.0]; 1 + at.len()];
    let mut room: Vec<&mut [f64]> = out.iter_mut().map(|o| &mut o[..]).collect();
    c.run(&mut c.workspace(), &inputs, &mut room).unwrap();
    out[1..].iter().map(|g| g[0]).collect()
}

#[test]
fn ties_are_told_apart_along_directions_of_any_size() {
    for size in [1e-300, 1.0, 2f64.powi(53), 1e20, 1e300] {
        let larger = trace(3, |x| max(&[x[0], x[1], x[2]])).unwrap();
        assert_eq!(subgradient(&larger, &[0.0, 1.0, 0.0], &[size; 3]), [0.0, 1.0, 0.0]);
        assert_eq!(subgradient(&larger, &[0.0, 1.0, 1.0], &[size, size, 2.0 * size]), [0.0, 0.0, 1.0]);
        let smaller = trace(3, |x| -max(&[-x[0], -x[1], -x[2]])).unwrap();
        assert_eq!(subgradient(&smaller, &[2.0, 1.0, 1.0], &[-size, size, -size]), [0.0, 0.0, 1.0]);
        let names = [("a", &[][..]), ("b", &[]), ("c", &[])];
        let least = built(&names, |b, x| b.min(x).unwrap());
        assert_eq!(subgradient(&least, &[2.0, 1.0, 3.0], &[size; 3]), [0.0, 1.0, 0.0]);
        let middle = built(&names, |b, x| b.push1(Op::Kink(Kink::OrderStatistic(Lane::Args, 1)), x).unwrap());
        assert_eq!(subgradient(&middle, &[3.0, 1.0, 2.0], &[size; 3]), [0.0, 0.0, 1.0]);
        assert_eq!(subgradient(&middle, &[2.0, 1.0, 2.0], &[size, size, -size]), [0.0, 0.0, 1.0]);
        let norm = built(&names, |b, x| b.push1(Op::Kink(Kink::NormInf(Lane::Args)), x).unwrap());
        assert_eq!(subgradient(&norm, &[1.0, -2.0, 0.0], &[size; 3]), [0.0, -1.0, 0.0]);
        assert_eq!(subgradient(&trace(1, |x| abs(x[0])).unwrap(), &[0.0], &[-size]), [-1.0]);
    }
    // a slope of any size, too
    let steep = built(&[("x", &[])], |b, x| b.leaky_relu(x[0], "-100000000000000000000".parse().unwrap()).unwrap());
    assert_eq!(subgradient(&steep, &[0.0], &[1.0]), [1.0]);
    assert_eq!(subgradient(&steep, &[0.0], &[-1.0]), [-1e20]);
}

/// A sum that overflows, in a lane that is called as a whole, and a minimum after which nothing is seen of it.
#[test]
fn what_is_not_finite_and_hidden_later_stops_a_checked_run() {
    let p = trace(20, |x| {
        let size = crease_core::concat(x, 0).norm1();
        crease_core::min(&[size, x[0]])
    });
    let mut b = Builder::new("f");
    let inputs: Vec<_> = (0..20).map(|i| b.input(format!("x{i}"), Shape::scalar()).unwrap()).collect();
    let size = b.push1(Op::Kink(Kink::Norm1(Lane::Args)), &inputs).unwrap();
    let least = b.push1(Op::Kink(Kink::Min(Lane::Args)), &[size, inputs[0]]).unwrap();
    let scalars = b.finish(&[least]).unwrap();
    let huge = [1e308; 20];
    for p in [p.unwrap(), scalars] {
        for backend in [Backend::Auto, Backend::Bytecode, Backend::Native] {
            for form in [Form::Auto, Form::Scalars, Form::Tensors] {
                for (arithmetic, stops) in [(Arithmetic::Checked, true), (Arithmetic::Ieee, false)] {
                    let options = Options::default().form(form).backend(backend).arithmetic(arithmetic);
                    let c = compile::<f64>(&p, &options).unwrap();
                    let (inputs, mut y) = (huge.each_ref().map(std::slice::from_ref), [0.0]);
                    let result = c.run(&mut c.workspace(), &inputs, &mut [&mut y]);
                    assert_eq!(result.is_err(), stops, "{backend:?} {form:?} {arithmetic:?}: {y:?}");
                    assert!(stops || y == [1e308], "{y:?}");
                }
            }
        }
    }
}

/// The condition of a selection of tensors is one element of a tensor of truth values.
#[test]
fn a_condition_may_be_read_through_a_view() {
    let branch = |scale: i64| {
        Arc::new(built(&[("x", &[5])], |b, x| {
            let scale = b.constant(scale);
            b.mul(x[0], scale).unwrap()
        }))
    };
    for at in 0..5 {
        let p = built(&[("x", &[5]), ("y", &[5])], |b, x| {
            let less = b.compare(Comparison::Less, x[0], x[1]).unwrap();
            let condition = b.at(less, &[at]).unwrap();
            let ids = [b.callee(branch(2), None).unwrap(), b.callee(branch(-3), None).unwrap()];
            let y = b.push1(Op::Select(ids.into()), &[condition, x[0]]).unwrap();
            crease_corpus::operations::weighed(b, y)
        });
        check("a selection by an element", &p);
    }
}
