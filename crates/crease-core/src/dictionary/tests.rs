//! Lowering around constants: 0 is never added, whatever the side, and other constants are refused by D0.

use super::*;
use crate::number::Rational;
use crate::op::{Kink, Lane, Op};
use crate::{Builder, Shape, Tensor, run};

/// An argument of a group: the input of that number, or a constant.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Member {
    Input(usize),
    Known(i64),
}
use Member::{Input, Known};

/// A program that applies an operation to a group, its inputs being scalars or vectors of that shape.
fn group(op: Op, members: &[Member], shape: &Shape) -> Program {
    let mut b = Builder::new("f");
    let inputs: Vec<_> = (0..2).map(|i| b.input(format!("x{i}"), shape.clone()).unwrap()).collect();
    let args: Vec<_> = members
        .iter()
        .map(|m| match *m {
            Input(i) => inputs[i],
            Known(c) => b.constant(c),
        })
        .collect();
    let results = b.push(op, &args).unwrap();
    b.finish(&results).unwrap()
}

fn results(p: &Program, at: [i64; 2]) -> Vec<Vec<Rational>> {
    let inputs: Vec<Tensor<Rational>> = p
        .inputs()
        .iter()
        .zip(at)
        // the elements of a vector differ
        .map(|(i, x)| {
            let data = (0..i.shape.len()).map(|k| Rational::from(x - 3 * k as i64)).collect();
            Tensor::new(i.shape.clone(), data).unwrap()
        })
        .collect();
    run(p, &inputs).unwrap().iter().map(|t| t.data().to_vec()).collect()
}

fn assert_lowers(p: &Program, dictionary: Dictionary) -> Program {
    let lowered = lower(p, dictionary).unwrap_or_else(|e| panic!("{e}\n{p}"));
    assert_eq!(outside(&lowered, dictionary), [], "{p}{lowered}");
    let shapes = |p: &Program| p.outputs().iter().map(|&o| p.atom_shape(o)).collect::<Vec<_>>();
    assert_eq!(shapes(&lowered), shapes(p), "{p}{lowered}");
    for x in -2..=2 {
        for y in -2..=2 {
            assert_eq!(results(&lowered, [x, y]), results(p, [x, y]), "at {x}, {y}:\n{p}{lowered}");
        }
    }
    lowered
}

fn kinks(n: usize) -> Vec<Op> {
    let mut all = vec![
        Kink::Max(Lane::Args),
        Kink::Min(Lane::Args),
        Kink::Norm1(Lane::Args),
        Kink::NormInf(Lane::Args),
        Kink::Sort(Lane::Args),
    ];
    all.extend((0..n).map(|k| Kink::OrderStatistic(Lane::Args, k)));
    all.into_iter().map(Op::Kink).collect()
}

#[test]
fn a_maximum_with_zero_is_relu_on_either_side() {
    let scalar = Shape::scalar();
    for members in [[Input(0), Known(0)], [Known(0), Input(0)]] {
        let max = assert_lowers(&group(Op::Kink(Kink::Max(Lane::Args)), &members, &scalar), Dictionary::D0);
        assert_eq!(max.to_string(), "program f(x0, x1) {\n  let v2 = relu(x0)\n  return v2\n}\n");
    }
    let min = |members: &[Member]| {
        assert_lowers(&group(Op::Kink(Kink::Min(Lane::Args)), members, &scalar), Dictionary::D0).to_string()
    };
    assert_eq!(
        min(&[Input(0), Known(0)]),
        "program f(x0, x1) {\n  let v2 = relu(x0)\n  let v3 = x0 - v2\n  return v3\n}\n"
    );
    assert_eq!(
        min(&[Known(0), Input(0)]),
        "program f(x0, x1) {\n  let v2 = -x0\n  let v3 = relu(v2)\n  let v4 = -v3\n  return v4\n}\n"
    );
}

#[test]
fn groups_with_zeros_lower_to_d0() {
    // all groups of up to four of x, y and 0, scalars and vectors; a group of one is a scalar
    let choices = [Input(0), Input(1), Known(0)];
    for (shape, least) in [(Shape::scalar(), 1), (Shape::vector(2).unwrap(), 2)] {
        for n in least..=4usize {
            for code in 0..3usize.pow(n as u32) {
                let members: Vec<Member> = (0..n as u32).map(|i| choices[code / 3usize.pow(i) % 3]).collect();
                for op in kinks(n) {
                    assert_lowers(&group(op, &members, &shape), Dictionary::D0);
                }
            }
        }
    }
}

#[test]
fn groups_with_any_constants_lower_to_d_relu() {
    let choices = [Input(0), Known(0), Known(1), Known(-2)];
    for n in 1..=4usize {
        for code in 0..4usize.pow(n as u32) {
            let members: Vec<Member> = (0..n as u32).map(|i| choices[code / 4usize.pow(i) % 4]).collect();
            for op in kinks(n) {
                let p = group(op.clone(), &members, &Shape::scalar());
                assert_lowers(&p, Dictionary::Relu);
                // D0 takes those of which 0 is the only constant that matters
                let constants = members.iter().filter_map(|m| if let Known(c) = m { Some(*c) } else { None });
                let matters = match op {
                    Op::Kink(Kink::Max(_)) => constants.max(),
                    Op::Kink(Kink::Min(_)) => constants.min(),
                    _ => continue,
                };
                if matters.is_none_or(|c| c == 0) {
                    assert_lowers(&p, Dictionary::D0);
                } else if members.contains(&Input(0)) {
                    assert!(matches!(lower(&p, Dictionary::D0), Err(LowerError::Outside { .. })), "{p}");
                }
            }
        }
    }
}

#[test]
fn zero_is_not_added() {
    for (op, members) in [
        (Op::Add, [Input(0), Known(0)]),
        (Op::Add, [Known(0), Input(0)]),
        (Op::Sub, [Input(0), Known(0)]),
        (Op::Sub, [Known(0), Input(0)]),
    ] {
        for shape in [Shape::scalar(), Shape::vector(2).unwrap()] {
            for dictionary in [Dictionary::D0, Dictionary::Relu, Dictionary::Polynomial] {
                let p = group(op.clone(), &members, &shape);
                let lowered = assert_lowers(&p, dictionary);
                assert!(lowered.equations().all(|e| matches!(e.op, Op::Neg | Op::Mul)), "{lowered}");
            }
        }
    }
    let one = group(Op::Add, &[Input(0), Known(1)], &Shape::scalar());
    assert!(lower(&one, Dictionary::D0).is_err());
}

#[test]
fn the_relu_of_a_constant_is_one() {
    // max(x0, relu(-1)) - |0|
    let mut b = Builder::new("f");
    let x = b.input("x0", Shape::scalar()).unwrap();
    b.input("x1", Shape::scalar()).unwrap();
    let (minus, zero) = (b.constant(-1), b.constant(0));
    let (r, a) = (b.relu(minus).unwrap(), b.abs(zero).unwrap());
    let m = b.max(&[x, r]).unwrap();
    let out = b.sub(m, a).unwrap();
    let lowered = assert_lowers(&b.finish(&[out]).unwrap(), Dictionary::D0);
    assert_eq!(lowered.to_string(), "program f(x0, x1) {\n  let v2 = relu(x0)\n  return v2\n}\n");
}
