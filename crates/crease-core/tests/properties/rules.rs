//! The table of rules, operation by operation, against central differences.

use crate::support::outputs;
use crease_core::differentiate::{How, Mode, jacobian, jvp, vjp};
use crease_core::op::{Choice, Comparison, Logic};
use crease_core::{
    Atom, BuildError, Builder, Constant, Kink, Lane, Layout, Op, Program, Rational, Shape, Smooth, Tensor, Ties,
};
use crease_corpus::compare::{doubles, moved};

/// The test that shows the rule of an operation. The compiler asks here for every new one.
fn shown_by(op: &Op) -> &'static str {
    match op {
        Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Neg | Op::Smooth(_) => "smooth",
        Op::LogSumExp(_) | Op::LogSumExpJoint(_) | Op::Permute { .. } | Op::MatMul { .. } => "tensors",
        Op::View { .. } | Op::Assemble { .. } => "tensors",
        Op::Compare(_) | Op::Logic(_) | Op::Constant(_) | Op::Stair(_) | Op::Position(..) => "flat",
        Op::Where => "choices",
        Op::Gather { .. } => "positions",
        // at their kinks in `kinks.rs`, off them here
        Op::Kink(_) | Op::Joint(..) => "kinks",
        Op::Call(_) | Op::Select(_) | Op::Scan(_) => "calls",
    }
}

fn shape(dims: &[usize]) -> Shape {
    Shape::new(dims.to_vec()).expect("a shape")
}

/// One operation on inputs of these shapes; every result is an output.
fn single(op: &Op, shapes: &[Shape]) -> Program {
    let mut b = Builder::new("f");
    let inputs: Vec<Atom> =
        (0..).zip(shapes).map(|(i, s)| b.input(format!("x{i}"), s.clone()).expect("an input")).collect();
    let results = b.push(op.clone(), &inputs).expect("arguments that fit");
    b.finish(&results).expect("a program")
}

fn scalars(x: &[f64]) -> Vec<Tensor<f64>> {
    x.iter().map(|&c| Tensor::scalar(c)).collect()
}

/// Some numbers without ties, of which none is 0.
fn spread_out(shapes: &[Shape]) -> Vec<Tensor<f64>> {
    let mut k = 0.0;
    let mut next = || {
        k += 1.0;
        (k * 1.7f64).sin() * 1.3 + k * 0.01
    };
    shapes.iter().map(|s| Tensor::new(s.clone(), (0..s.len()).map(|_| next()).collect()).expect("a tensor")).collect()
}

/// The Jacobian, forward and backward, and its derivative once more, against differences.
fn check_twice(p: &Program, x: &[Tensor<f64>]) {
    check(p, x);
    let how = How::default();
    let mut inputs = x.to_vec();
    let d = jvp(p, &how).expect("a tangent program");
    let shapes: Vec<Shape> = d.inputs()[x.len()..].iter().map(|i| i.shape.clone()).collect();
    inputs.extend(spread_out(&shapes));
    check(&d, &inputs);
    let mut inputs = x.to_vec();
    let d = vjp(p, &how).expect("an adjoint program");
    let shapes: Vec<Shape> = d.inputs()[x.len()..].iter().map(|i| i.shape.clone()).collect();
    inputs.extend(spread_out(&shapes));
    check(&d, &inputs);
}

fn check(p: &Program, x: &[Tensor<f64>]) {
    let n = p.inputs().len();
    let m = p.outputs().len();
    for mode in [Mode::Forward, Mode::Backward] {
        let j = jacobian(p, &How::default(), mode).expect("a Jacobian");
        assert!(j.verify().is_empty(), "{:?}", j.verify());
        let j = outputs(&j, x).expect("a run");
        for (i, input) in x.iter().enumerate() {
            for c in 0..input.data().len() {
                let mut d: Vec<Tensor<f64>> = x.iter().map(|t| t.map(|_| 0.0)).collect();
                let mut unit = vec![0.0; input.data().len()];
                unit[c] = 1.0;
                d[i] = Tensor::new(input.shape().clone(), unit).expect("a direction");
                let at = |h: f64| doubles(&outputs(p, &moved(x, &h, &d)).expect("a run"));
                let quotient = |h: f64| -> Vec<f64> {
                    at(h).iter().zip(at(-h)).map(|(up, down)| (up - down) / (2.0 * h)).collect()
                };
                let (coarse, fine) = (quotient(2e-4), quotient(1e-4));
                let expected = coarse.iter().zip(&fine).map(|(c, f)| f + (f - c) / 3.0);
                let found = (0..m).flat_map(|o| {
                    let block = &j[m + o * n + i];
                    let width = input.data().len();
                    block.data().chunks(width).map(|row| row[c]).collect::<Vec<_>>()
                });
                for (r, (found, expected)) in found.zip(expected).enumerate() {
                    let near = (found - expected).abs() <= 1e-7 * (1.0 + found.abs());
                    assert!(near, "{mode:?}: element {r} by {i}.{c}: {found}, differences give {expected}\n{p}");
                }
            }
        }
    }
}

#[test]
fn every_smooth_operation_of_one_argument_has_its_derivative() {
    let all: &[f64] = &[-2.5, -2.0, -0.4, -0.3, 0.0, 0.2, 0.6, 0.7, 1.0, 1.2, 1.3, 1.9, 3.0, 3.5];
    let powers = [0, 1, 2, 3, 7, -1, -3].map(Smooth::Power);
    let roots = [(1, 3), (-1, 3), (5, 2), (-7, 4)].map(|(p, q)| Smooth::Root(p, q));
    for f in Smooth::NAMED.iter().copied().chain(powers).chain(roots) {
        let inside = |x: f64| {
            let compare = |k: i32| x.partial_cmp(&f64::from(k)).expect("a number");
            f.outside(compare).is_none() && f.singular(|k| Ok::<_, ()>(compare(k))) == Ok(None)
        };
        let points: Vec<f64> = all.iter().copied().filter(|&x| inside(x)).collect();
        assert!(points.len() > 4, "{f:?}");
        of_one_argument(&f.into(), &points);
    }
    of_one_argument(&Op::Neg, all);
}

fn of_one_argument(op: &Op, points: &[f64]) {
    assert_eq!(shown_by(op), "smooth");
    for &x in points {
        check_twice(&single(op, &[Shape::scalar()]), &scalars(&[x]));
    }
    let v = Tensor::vector(points.to_vec()).expect("a vector");
    check_twice(&single(op, &[v.shape().clone()]), &[v]);
}

#[test]
fn every_smooth_operation_of_two_arguments_has_its_derivative() {
    for op in [Op::Add, Op::Sub, Op::Mul, Op::Div] {
        assert_eq!(shown_by(&op), "smooth");
        for (a, b) in [(1.5, 0.5), (-2.0, 3.0), (0.0, -1.25), (0.7, 0.7)] {
            check_twice(&single(&op, &[Shape::scalar(), Shape::scalar()]), &scalars(&[a, b]));
            // one argument twice, and a constant on either side
            let mut p = Builder::new("twice");
            let x = p.input("x", Shape::scalar()).expect("an input");
            let y = p.push1(op.clone(), &[x, x]).expect("a result");
            check_twice(&p.finish(&[y]).expect("a program"), &scalars(&[b]));
            for left in [true, false] {
                let mut p = Builder::new("constant");
                let x = p.input("x", Shape::scalar()).expect("an input");
                let c = p.constant(Rational::new(-5, 2).expect("a number"));
                let args = if left { [c, x] } else { [x, c] };
                let y = p.push1(op.clone(), &args).expect("a result");
                check_twice(&p.finish(&[y]).expect("a program"), &scalars(&[b]));
            }
        }
        let v = shape(&[2, 3]);
        check_twice(&single(&op, &[v.clone(), v.clone()]), &spread_out(&[v.clone(), v]));
    }
}

#[test]
fn a_constant_tensor_divides_and_multiplies_as_it_should() -> Result<(), BuildError> {
    for op in [Op::Mul, Op::Div, Op::Sub] {
        for left in [true, false] {
            let mut b = Builder::new("f");
            let x = b.input("x", shape(&[3]))?;
            let c = b.tensor(shape(&[3]), vec![2.0, -0.5, 1.25])?;
            let y = b.push1(op.clone(), &if left { [c, x] } else { [x, c] })?;
            check_twice(&b.finish(&[y])?, &spread_out(&[shape(&[3])]));
        }
    }
    Ok(())
}

#[test]
fn every_operation_on_tensors_has_its_derivative() {
    let mut table: Vec<(Op, Vec<Shape>)> = vec![
        (Op::LogSumExp(Lane::Args), vec![Shape::scalar(); 3]),
        (Op::LogSumExp(Lane::Args), vec![shape(&[2]); 2]),
        (Op::LogSumExp(Lane::Axis), vec![shape(&[2, 3])]),
        (Op::LogSumExpJoint(Lane::Args), vec![Shape::scalar(); 3]),
        (Op::LogSumExpJoint(Lane::Args), vec![shape(&[2]); 2]),
        (Op::LogSumExpJoint(Lane::Axis), vec![shape(&[2, 3])]),
        // repeats, leaves out, reverses
        (Op::View { layout: Layout::table(vec![5, 0, 0, 3]), shape: shape(&[2, 2]) }, vec![shape(&[2, 3])]),
        (Op::View { layout: Layout::strided(5, &[(3, -2)]), shape: shape(&[3]) }, vec![shape(&[6])]),
        (Op::View { layout: Layout::strided(0, &[(3, 1), (2, 3)]), shape: shape(&[3, 2]) }, vec![shape(&[2, 3])]),
        (Op::View { layout: Layout::strided(0, &[(4, 0)]), shape: shape(&[4]) }, vec![Shape::scalar()]),
        // overlaps, gaps
        (
            Op::Assemble { shape: shape(&[4]), pieces: [Layout::table(vec![0, 2, 2]), Layout::strided(2, &[])].into() },
            vec![shape(&[3]), Shape::scalar()],
        ),
        (Op::Assemble { shape: Shape::scalar(), pieces: [Layout::strided(0, &[(6, 0)])].into() }, vec![shape(&[2, 3])]),
    ];
    for (transpose_a, transpose_b) in [(false, false), (false, true), (true, false), (true, true)] {
        for batch in [&[][..], &[2], &[2, 1]] {
            let matrix = |rows: usize, columns: usize, transposed: bool| {
                let last = if transposed { [columns, rows] } else { [rows, columns] };
                shape(&[batch, &last].concat())
            };
            let op = Op::MatMul { transpose_a, transpose_b };
            table.push((op, vec![matrix(2, 3, transpose_a), matrix(3, 1, transpose_b)]));
        }
    }
    for (op, shapes) in table {
        assert_eq!(shown_by(&op), "tensors");
        check_twice(&single(&op, &shapes), &spread_out(&shapes));
    }
}

#[test]
fn permuting_has_its_derivative_both_ways() -> Result<(), BuildError> {
    for inverse in [false, true] {
        let mut b = Builder::new("axis");
        let x = b.input("x", shape(&[2, 3]))?;
        let order = b.tensor(shape(&[2, 3]), vec![2.0, 0.0, 1.0, 1.0, 2.0, 0.0])?;
        let y = b.push1(Op::Permute { lane: Lane::Axis, inverse }, &[x, order])?;
        check_twice(&b.finish(&[y])?, &spread_out(&[shape(&[2, 3])]));
        let mut b = Builder::new("args");
        let mut args = Vec::new();
        for i in 0..3 {
            args.push(b.input(format!("x{i}"), Shape::scalar())?);
        }
        args.extend([2, 0, 1].map(|k| b.constant(k)));
        let y = b.push(Op::Permute { lane: Lane::Args, inverse }, &args)?;
        check_twice(&b.finish(&y)?, &scalars(&[1.0, 2.0, 4.0]));
    }
    Ok(())
}

#[test]
fn choices_have_the_derivative_of_what_is_taken() -> Result<(), BuildError> {
    let mut b = Builder::new("f");
    let (x, y) = (b.input("x", shape(&[2, 3]))?, b.input("y", shape(&[2, 3]))?);
    let (less, product) = (b.compare(Comparison::Less, x, y)?, b.mul(x, y)?);
    let one = b.choose(less, product, y)?;
    let two = b.choose(less, x, x)?;
    // only one of its branches varies, and the other one has no value where it is not taken
    let zero = b.constant(0);
    let (right, log) = (b.compare(Comparison::Greater, x, zero)?, b.elementwise(Smooth::Log, &[x])?);
    let three = b.choose(right, log, zero)?;
    assert_eq!(shown_by(&Op::Where), "choices");
    check_twice(&b.finish(&[one, two, three])?, &spread_out(&[shape(&[2, 3]), shape(&[2, 3])]));
    Ok(())
}

#[test]
fn reading_and_adding_at_positions_are_each_others_derivatives() -> Result<(), BuildError> {
    for scatter in [false, true] {
        let (of, width) = (4, if scatter { 3 } else { 4 });
        let mut b = Builder::new("axis");
        let x = b.input("x", shape(&[2, width]))?;
        let index = b.tensor(shape(&[2, 3]), vec![2.0, 0.0, 2.0, 1.0, 3.0, 1.0])?;
        let y = b.push1(Op::Gather { lane: Lane::Axis, of, scatter }, &[x, index])?;
        check_twice(&b.finish(&[y])?, &spread_out(&[shape(&[2, width])]));
        let mut b = Builder::new("args");
        let mut args = Vec::new();
        for i in 0..width {
            args.push(b.input(format!("x{i}"), Shape::scalar())?);
        }
        args.extend([2, 0, 2].map(|k| b.constant(k)));
        let op = Op::Gather { lane: Lane::Args, of, scatter };
        assert_eq!(shown_by(&op), "positions");
        let y = b.push(op, &args)?;
        check_twice(&b.finish(&y)?, &scalars(&[1.0, 2.0, 4.0, 8.0][..width]));
    }
    Ok(())
}

#[test]
fn comparisons_logic_and_constants_are_flat() -> Result<(), BuildError> {
    let mut b = Builder::new("f");
    let (x, y) = (b.input("x", Shape::scalar())?, b.input("y", Shape::scalar())?);
    let less = b.compare(Comparison::Less, x, y)?;
    let not = b.logic(Logic::Not, &[less])?;
    let both = b.logic(Logic::And, &[less, not])?;
    let either = b.logic(Logic::Or, &[both, less])?;
    let c = b.push1(Op::Constant(Constant::new(Shape::scalar(), vec![2.0]).map_err(BuildError::Op)?), &[])?;
    let z = b.mul(x, either)?;
    check_twice(&b.finish(&[less, not, both, either, c, z])?, &scalars(&[0.5, 0.75]));
    Ok(())
}

/// All kinks, with inputs of these shapes.
fn kinks() -> Vec<(Kink, Vec<Shape>)> {
    let s = Shape::scalar;
    let fraction = |n, d| Rational::new(n, d).expect("a number");
    let mut all = vec![
        (Kink::Relu, vec![s()]),
        (Kink::Relu, vec![shape(&[2, 3])]),
        (Kink::TimesRelu, vec![s(), s()]),
        (Kink::TimesRelu, vec![shape(&[4]), shape(&[4])]),
        (Kink::Abs, vec![shape(&[3])]),
        (Kink::LeakyRelu(fraction(1, 10)), vec![shape(&[4])]),
        (Kink::Elu(fraction(3, 2)), vec![shape(&[4])]),
        (Kink::MaxLinear { lane: Lane::Axis, rows: 3 }, vec![shape(&[3, 2]), shape(&[2])]),
        (Kink::MaxLinear { lane: Lane::Args, rows: 2 }, vec![s(); 6]),
    ];
    let lanes = |lane: Lane| {
        [
            Kink::Max(lane),
            Kink::Min(lane),
            Kink::OrderStatistic(lane, 1),
            Kink::Sort(lane),
            Kink::Norm1(lane),
            Kink::NormInf(lane),
        ]
    };
    for kink in lanes(Lane::Args) {
        all.push((kink.clone(), vec![s(); 3]));
        all.push((kink, vec![shape(&[2]); 3]));
    }
    all.extend(lanes(Lane::Axis).map(|kink| (kink, vec![shape(&[2, 3])])));
    all
}

#[test]
fn every_kink_has_its_derivative_away_from_ties() {
    for (kink, shapes) in kinks() {
        let op = Op::Kink(kink);
        assert_eq!(shown_by(&op), "kinks");
        check_twice(&single(&op, &shapes), &spread_out(&shapes));
    }
}

#[test]
fn every_joint_operation_has_its_derivative_away_from_ties() {
    let choice = Choice { at_kink: Rational::ZERO, ties: Ties::First };
    for (kink, shapes) in kinks() {
        let p = single(&Op::Joint(kink, choice.clone()), &shapes);
        check_twice(&p, &spread_out(&shapes));
    }
}
