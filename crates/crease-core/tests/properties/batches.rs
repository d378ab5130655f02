//! Batched programs against the program itself, run point by point: bit for bit in f64, exactly in rationals.

use crate::support::{Verdict, check_programs, derived, ensure, outputs, shown};
use crease_core::differentiate::{How, backprop, vjp};
use crease_core::op::{Choice, Comparison};
use crease_core::{
    Atom, BatchError, Builder, Kink, Lane, Number, Op, Program, Rational, Shape, Tensor, Ties, batch, run,
};
use crease_corpus::compare::{convert, flat};
use crease_corpus::hostile;
use crease_corpus::operations;
use crease_corpus::random::{Dictionary, Options, Rng, any_options, generic_point, tied_point};
use std::collections::BTreeSet;
use std::sync::Arc;

type Point<N> = Vec<Tensor<N>>;

/// Points that agree in all inputs but those that are named.
fn points(rng: &mut Rng, p: &Program, along: &[usize], n: usize) -> Vec<Point<Rational>> {
    let first = tied_point(rng, p);
    (0..n)
        .map(|_| {
            let own = if rng.once_in(2) { tied_point(rng, p) } else { generic_point(rng, p) };
            own.into_iter()
                .zip(&first)
                .enumerate()
                .map(|(i, (own, first))| if along.contains(&i) { own } else { first.clone() })
                .collect()
        })
        .collect()
}

/// The inputs of the batched program.
fn stacked<N: Number>(points: &[Point<N>], along: &[usize]) -> Point<N> {
    let lead = |i: usize| {
        let data = points.iter().flat_map(|x| x[i].data().to_vec()).collect();
        Tensor::new(points[0][i].shape().with_leading(points.len()).unwrap(), data).unwrap()
    };
    (0..points[0].len()).map(|i| if along.contains(&i) { lead(i) } else { points[0][i].clone() }).collect()
}

/// Some of the inputs, at least one.
fn some_inputs(rng: &mut Rng, p: &Program) -> Vec<usize> {
    let all: Vec<usize> = (0..p.inputs().len()).collect();
    let some: Vec<usize> = all.iter().copied().filter(|_| rng.once_in(2)).collect();
    if some.is_empty() { all } else { some }
}

/// The batched program does at all points what the program does at each, faults included.
fn same<N: Number>(
    p: &Program,
    b: &Program,
    along: &[usize],
    points: &[Point<N>],
    equal: impl Fn(&N, &N) -> bool,
) -> Verdict {
    let n = points.len();
    let together = run(b, &stacked(points, along));
    let each: Result<Vec<_>, _> = points.iter().map(|x| run(p, x)).collect();
    let (together, each) = match (together, each) {
        (Ok(together), Ok(each)) => (together, each),
        (Err(_), Err(_)) => return Ok(()),
        (Ok(_), Err(e)) => return Err(format!("alone: {e}, together nothing\n{b}")),
        (Err(e), Ok(_)) => return Err(format!("together: {e}, alone nothing\n{b}")),
    };
    for (k, &o) in p.outputs().iter().enumerate() {
        let shape = p.atom_shape(o).with_leading(n).map_err(|e| e.to_string())?;
        ensure(*together[k].shape() == shape, || format!("output {k} has shape {}", together[k].shape()))?;
        let expected = each.iter().flat_map(|y| y[k].data());
        ensure(together[k].data().iter().zip(expected.clone()).all(|(x, y)| equal(x, y)), || {
            format!(
                "output {k}: {} and not {:?}\nby {along:?} at {}\n{b}",
                together[k],
                expected.collect::<Vec<_>>(),
                points.iter().map(|x| shown(x)).collect::<Vec<_>>().join(" | ")
            )
        })?;
    }
    Ok(())
}

/// Weights of max_linear are products with 0 and 1, which may have the sign of what they are multiplied by.
fn weighs(p: &Program) -> bool {
    let library = p.library();
    let all = || library.iter().map(|q| &**q).chain([p]).flat_map(|q| q.equations());
    all().any(|e| matches!(e.op, Op::Joint(Kink::MaxLinear { .. }, _)))
}

/// In f64 and in rationals. Returns whether there was a batch: a selection by what differs from point to point has none.
fn check(p: &Program, rng: &mut Rng) -> Result<bool, String> {
    let along = some_inputs(rng, p);
    let n = 1 + rng.below(4);
    let b = match batch(p, &along, n) {
        Ok(b) => b,
        Err(BatchError::Selection { .. }) => return Ok(false),
        Err(e) => return Err(e.to_string()),
    };
    ensure(b.verify().is_empty(), || format!("{:?}\n{b}", b.verify()))?;
    let points = points(rng, p, &along, n);
    let zeros = weighs(p);
    same(p, &b, &along, &points, |x, y| x == y)?;
    let points: Vec<Point<f64>> = points.iter().map(|x| convert(x)).collect();
    same(p, &b, &along, &points, |x, y| x.to_bits() == y.to_bits() || zeros && x == y)?;
    Ok(true)
}

#[test]
fn random_programs_at_many_points_are_the_program_at_each() {
    let batched = std::cell::Cell::new(0);
    check_programs(31, 1500, 12, any_options, |p, rng| {
        batched.set(batched.get() + usize::from(check(p, rng)?));
        Ok(())
    });
    assert!(batched.get() > 1200, "{}", batched.get());
}

#[test]
fn derived_programs_are_batched_like_any_others() {
    let options = |rng: &mut Rng, size: usize| {
        let o = any_options(rng, size).continuous();
        if rng.once_in(2) { o.one_output() } else { o }
    };
    check_programs(32, 250, 6, options, |p, rng| {
        for (what, d) in derived(p, &How::default())? {
            let done = check(&d, rng).map_err(|e| format!("{what}: {e}"))?;
            ensure(done, || format!("{what} has no selection"))?;
        }
        Ok(())
    });
}

#[test]
fn every_operation_is_batched() {
    let mut rng = Rng::new(33);
    let mut seen = BTreeSet::new();
    let names = |p: &Program| p.equations().map(|e| operations::name(e.op)).collect::<Vec<_>>();
    for n in [1, 3, 6] {
        for (what, p) in operations::programs(n, &mut rng) {
            let gradient = backprop(&p, &How::default()).ok();
            for p in [Some(p), gradient].into_iter().flatten() {
                for _ in 0..4 {
                    if check(&p, &mut rng).unwrap_or_else(|e| panic!("{what} of {n}: {e}\n{p}")) {
                        seen.extend(p.library().iter().flat_map(|q| names(q)));
                        seen.extend(names(&p));
                    }
                }
            }
        }
    }
    // selections have a test of their own
    let missing: Vec<&&str> = operations::ALL.iter().filter(|n| !seen.contains(**n) && **n != "select").collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// One operation, with every set of inputs that may have the axis.
fn every_mask(op: Op, shapes: &[Shape]) {
    let mut b = Builder::new("f");
    let x: Vec<Atom> = (0..).zip(shapes).map(|(i, s)| b.input(format!("x{i}"), s.clone()).unwrap()).collect();
    let y = b.push(op, &x).unwrap();
    let p = b.finish(&y).unwrap();
    let mut rng = Rng::new(34);
    for mask in 1..1usize << shapes.len() {
        let along: Vec<usize> = (0..shapes.len()).filter(|i| mask >> i & 1 == 1).collect();
        for n in [1, 3] {
            let b = batch(&p, &along, n).unwrap();
            let points = points(&mut rng, &p, &along, n);
            same(&p, &b, &along, &points, |x, y| x == y).unwrap_or_else(|e| panic!("{e}\n{p}"));
        }
    }
}

#[test]
fn shared_arguments_are_shared_in_every_place() {
    let shape = |dims: &[usize]| Shape::new(dims.to_vec()).unwrap();
    for (ta, tb) in [(false, false), (false, true), (true, false), (true, true)] {
        let op = Op::MatMul { transpose_a: ta, transpose_b: tb };
        for lead in [&[][..], &[2], &[2, 2]] {
            for (m, k, n) in [(2, 3, 4), (1, 3, 2), (3, 1, 1), (2, 3, 1)] {
                let a = if ta { [k, m] } else { [m, k] };
                let b = if tb { [n, k] } else { [k, n] };
                every_mask(op.clone(), &[shape(&[lead, &a].concat()), shape(&[lead, &b].concat())]);
            }
        }
    }
    for ties in [Ties::First, Ties::Last, Ties::Average] {
        let choice = Choice { at_kink: Rational::ZERO, ties };
        for rows in [1, 3] {
            let axis = Kink::MaxLinear { lane: Lane::Axis, rows };
            let args = Kink::MaxLinear { lane: Lane::Args, rows };
            for op in [Op::Kink(axis.clone()), Op::Joint(axis, choice.clone())] {
                every_mask(op, &[shape(&[rows, 2]), shape(&[2])]);
            }
            for op in [Op::Kink(args.clone()), Op::Joint(args, choice.clone())] {
                every_mask(op, &vec![Shape::scalar(); 2 * rows + 2]);
            }
        }
        for n in [1, 3] {
            let kinks = |lane: Lane| {
                [
                    Kink::Max(lane),
                    Kink::Min(lane),
                    Kink::OrderStatistic(lane, n - 1),
                    Kink::Sort(lane),
                    Kink::Norm1(lane),
                    Kink::NormInf(lane),
                ]
            };
            for kink in kinks(Lane::Args) {
                every_mask(Op::Joint(kink, choice.clone()), &vec![Shape::scalar(); n]);
            }
            for kink in kinks(Lane::Axis) {
                every_mask(Op::Joint(kink, choice.clone()), &[shape(&[2, n])]);
            }
        }
    }
    for inverse in [false, true] {
        every_mask(Op::Permute { lane: Lane::Axis, inverse }, &[shape(&[2, 3]), shape(&[2, 3])]);
        every_mask(Op::Permute { lane: Lane::Args, inverse }, &vec![Shape::scalar(); 6]);
    }
}

#[test]
fn hostile_programs_too() {
    let mut batched = 0;
    for seed in 0..3000 {
        let case = hostile::case(seed);
        let p = &case.program;
        let mut rng = Rng::new(seed);
        let along = some_inputs(&mut rng, p);
        let b = match batch(p, &along, 3) {
            Ok(b) => b,
            Err(BatchError::Selection { .. }) => continue,
            Err(e) => panic!("{e}\n{case}"),
        };
        // the point itself, with its ties, and two beside it
        let mut all = points(&mut rng, p, &along, 3);
        for (k, x) in all.iter_mut().enumerate() {
            for (i, (x, at)) in x.iter_mut().zip(case.inputs()).enumerate() {
                if k == 1 || !along.contains(&i) {
                    *x = at;
                }
            }
        }
        let zeros = weighs(p);
        let floats: Vec<Point<f64>> = all.iter().map(|x| convert(x)).collect();
        same(p, &b, &along, &all, |x, y| x == y).unwrap_or_else(|e| panic!("{e}\n{case}"));
        same(p, &b, &along, &floats, |x, y| x.to_bits() == y.to_bits() || zeros && x == y)
            .unwrap_or_else(|e| panic!("{e}\n{case}"));
        batched += 1;
    }
    assert!(batched > 1500, "{batched}");
}

/// Of the sum over all points: that of each point where it has its own input, and the sum where they share one.
#[test]
fn the_gradient_of_a_batch_is_that_of_its_points() {
    let options = |rng: &mut Rng, size: usize| {
        Options::new(Dictionary::Everything)
            .exact()
            .tensors()
            .inputs(1 + rng.below(3))
            .equations(size)
            .calls(rng.below(3))
    };
    check_programs(35, 300, 8, options, |p, rng| {
        let along = some_inputs(rng, p);
        let n = 1 + rng.below(3);
        let b = batch(p, &along, n).map_err(|e| e.to_string())?;
        let adjoint = vjp(&b, &How::default()).map_err(|e| e.to_string())?;
        let gradient = backprop(p, &How::default()).map_err(|e| e.to_string())?;
        let points = points(rng, p, &along, n);
        let each = points.iter().map(|x| outputs(&gradient, x)).collect::<Result<Vec<_>, _>>()?;
        let ones = Tensor::vector(vec![Rational::ONE; n]).unwrap();
        let all = outputs(&adjoint, &[stacked(&points, &along), vec![ones]].concat())?;
        for i in 0..p.inputs().len() {
            let of_points: Vec<Vec<Rational>> = each.iter().map(|g| g[1 + i].data().to_vec()).collect();
            let expected = match along.contains(&i) {
                true => of_points.concat(),
                false => (0..of_points[0].len()).map(|j| of_points.iter().map(|g| g[j].clone()).sum()).collect(),
            };
            ensure(all[1 + i].data() == expected, || format!("input {i}: {} and not {expected:?}\n{b}", all[1 + i]))?;
        }
        Ok(())
    });
}

#[test]
fn a_shared_matrix_is_multiplied_once() {
    let (m, v) = (Shape::new([4, 3]).unwrap(), Shape::vector(3).unwrap());
    let p = crease_core::trace_shapes(&[m, v], |x| vec![x[0].matmul(x[1])]).unwrap();
    let b = batch(&p, &[1], 100).unwrap();
    let products: Vec<_> = b.equations().filter(|e| matches!(e.op, Op::MatMul { .. })).collect();
    assert_eq!(products.len(), 1);
    assert_eq!(b.shape(products[0].first).dims(), [100, 4]);
    // and the matrix is read as it is
    assert_eq!(products[0].args[1], Atom::Value(b.input_values().next().unwrap()));
}

fn parse(source: &str) -> Arc<Program> {
    crease_formats::parse(source).unwrap_or_else(|e| panic!("{e}\n{source}")).main().clone()
}

#[test]
fn a_selection_is_batched_if_all_points_take_one_branch() {
    let p = parse("program f(c, x[2]) = select { c > 0 => x * x, else => [c, 1] }");
    let error = batch(&p, &[0], 2).unwrap_err();
    assert!(matches!(error, BatchError::Selection { .. }));
    assert!(error.to_string().contains("select { c > 0"), "{error}");
    assert!(batch(&p, &[0, 1], 2).is_err());
    let b = batch(&p, &[1], 2).unwrap();
    let x = Tensor::new(Shape::new([2, 2]).unwrap(), vec![1.0, 2.0, 3.0, 4.0]).unwrap();
    let at = |c: f64| run(&b, &[Tensor::scalar(c), x.clone()]).unwrap()[0].to_string();
    assert_eq!(at(1.0), "[[1, 4], [9, 16]]");
    assert_eq!(at(-1.0), "[[-1, 1], [-1, 1]]");
    // a condition that comes out of a call, and does not depend on what the points do not share
    let p = parse(
        "program g(a, b) { return a > 0, b * b }
         program f(c, x) { let t, y = g(c, x); return select { t => y, else => -y } }",
    );
    let b = batch(&p, &[1], 2).unwrap();
    let out = run(&b, &[Tensor::scalar(-1.0), Tensor::vector(vec![2.0, 3.0]).unwrap()]).unwrap();
    assert_eq!(out[0].data(), [-4.0, -9.0]);
}

#[test]
fn calls_stay_calls_and_faults_are_said() {
    let p = parse("program g(a, b) = a * b + 1\nprogram f(x, y) = g(x, y) + g(y, x) + g(g(x, y), g(y, y))");
    let b = batch(&p, &[0], 5).unwrap();
    // with the axis left, right, and not at all
    assert_eq!(b.library().len(), 3);
    assert_eq!(batch(&p, &[0, 1], 5).unwrap().library().len(), 1);
    assert_eq!(batch(&p, &[2], 5), Err(BatchError::NoSuchInput { index: 2, inputs: 2 }));
    assert!(matches!(batch(&p, &[0], 0), Err(BatchError::Build(_))));
    assert!(matches!(batch(&p, &[0], usize::MAX), Err(BatchError::Build(_))));
    // no input at all: the same for all points, as often as there are points
    let b = batch(&p, &[], 2).unwrap();
    let out = run(&b, &[Tensor::scalar(1.0), Tensor::scalar(2.0)]).unwrap();
    assert_eq!(flat(&out), [22.0, 22.0]);
}

#[test]
fn programs_that_call_each_other_ten_thousand_deep_are_batched() {
    let mut inner = parse("program f(x) = x + 1");
    for _ in 0..10_000 {
        let mut b = Builder::new("f");
        let x = b.input("x", Shape::scalar()).unwrap();
        let id = b.callee(inner, None).unwrap();
        let y = b.push1(Op::Call(id), &[x]).unwrap();
        inner = Arc::new(b.finish(&[y]).unwrap());
    }
    let b = batch(&inner, &[0], 2).unwrap();
    assert_eq!(run(&b, &[Tensor::vector(vec![1.0, 2.0]).unwrap()]).unwrap()[0].data(), [2.0, 3.0]);
}

/// Comparisons and what is made of them differ from point to point like anything else.
#[test]
fn truth_values_are_batched_as_numbers() {
    let p = crease_core::trace(2, |x| x[0].compare(Comparison::Less, x[1]) * x[1]).unwrap();
    let b = batch(&p, &[0], 3).unwrap();
    let out = run(&b, &[Tensor::vector(vec![1.0, 2.0, 3.0]).unwrap(), Tensor::scalar(2.0)]).unwrap();
    assert_eq!(out[0].data(), [2.0, 0.0, 0.0]);
}

/// The angle of a point is a choice element by element, which a batch makes for each point on its own; it is that of the platform's library.
#[test]
fn angles_are_batched() {
    let build = || -> Result<Program, crease_core::BuildError> {
        let mut b = Builder::new("angles");
        let (y, x) = (b.input("y", Shape::vector(2)?)?, b.input("x", Shape::vector(2)?)?);
        let angles = b.atan2(y, x)?;
        b.finish(&[angles])
    };
    let p = build().unwrap();
    let points: Vec<[f64; 2]> = vec![
        [0.0, 1.0],
        [0.0, -1.0],
        [1.0, 0.0],
        [-1.0, 0.0],
        [1.0, 1.0],
        [1.0, -1.0],
        [-1.0, -1.0],
        [-1.0, 1.0],
        [3.0, 4.0],
        [-4.0, 3.0],
        [1e-3, -5.0],
        [-1e-3, -5.0],
    ];
    let all = batch(&p, &[0, 1], points.len() / 2).unwrap();
    let shape = Shape::new([points.len() / 2, 2]).unwrap();
    let y = Tensor::new(shape.clone(), points.iter().map(|p| p[0]).collect()).unwrap();
    let x = Tensor::new(shape, points.iter().map(|p| p[1]).collect()).unwrap();
    let angles = run(&all, &[y, x]).unwrap().swap_remove(0);
    for (angle, [y, x]) in angles.data().iter().zip(points) {
        assert!((angle - y.atan2(x)).abs() < 1e-15, "({x}, {y}): {angle}");
    }
}
