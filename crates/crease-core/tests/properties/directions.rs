//! Directional derivatives and locked programs against what the program itself says next to the point, in rationals: where a program is
//! piecewise linear, one-sided difference quotients are exact.

use crate::support::{Verdict, check_programs, ensure, outputs, rational, shown};
use crease_core::differentiate::{DiffError, How, backprop, directional, gradient, locked, vjp};
use crease_core::op::{Comparison, Logic};
use crease_core::{
    Atom, Builder, Kink, Lane, Op, Program, Rational, RunFault, Shape, Tensor, inline, kinks, run, scalarize, simplify,
};
use crease_corpus::compare::{dot, flat, moved, stacked};
use crease_corpus::random::{Dictionary, Options, Rng, dyadic_point, generic_point, origin, tied_point};
use std::sync::Arc;

type Point = Vec<Tensor<Rational>>;

fn short(rng: &mut Rng, p: &Program) -> Point {
    let numbers = [0, 0, 1, 1, -1, 2, -3];
    p.inputs()
        .iter()
        .map(|i| {
            let data = (0..i.shape.len()).map(|_| Rational::from(*rng.pick(&numbers))).collect();
            Tensor::new(i.shape.clone(), data).unwrap()
        })
        .collect()
}

/// The one-sided difference quotients of all outputs, with a step that is halved until they stay the same.
fn quotients(p: &Program, at: &Point, d: &Point) -> Result<Vec<Rational>, String> {
    let half = rational("1/2");
    let (mut last, mut same, mut step) = (Vec::new(), 0, rational("1/64"));
    let here = flat(&outputs(p, at)?);
    for _ in 0..60 {
        let there = flat(&outputs(p, &moved(at, &step, d))?);
        let all: Vec<Rational> = there.iter().zip(&here).map(|(y, x)| (y - x).checked_div(&step).unwrap()).collect();
        same = if all == last { same + 1 } else { 0 };
        if same == 6 {
            return Ok(all);
        }
        last = all;
        step *= &half;
    }
    Err("the quotients do not settle: the program is not piecewise linear".into())
}

/// Both programs at a point, against quotients and against the gradient a little further along.
fn check(p: &Program, at: &Point, directions: &[Point]) -> Verdict {
    let wrt: Vec<usize> = (0..p.inputs().len()).collect();
    let s = directions.len();
    let derived = directional(p, &wrt, s).map_err(|e| e.to_string())?;
    ensure(derived.verify().is_empty(), || format!("{:?}\n{derived}", derived.verify()))?;
    let found = outputs(&derived, &[at.clone(), stacked(directions)].concat())?;
    let (values, tangents) = found.split_at(p.outputs().len());
    let expected = outputs(p, at)?;
    ensure(values == expected, || format!("values {} and not {}", shown(values), shown(&expected)))?;
    let locked = locked(p).map_err(|e| e.to_string())?;
    ensure(locked.verify().is_empty(), || format!("{:?}\n{locked}", locked.verify()))?;
    let adjoint = vjp(&locked, &How::default()).map_err(|e| e.to_string())?;
    for (j, d) in directions.iter().enumerate() {
        let say = || format!("at {} along {}", shown(at), shown(d));
        let quotients = quotients(p, at, d)?;
        let mine: Vec<Rational> = tangents
            .iter()
            .flat_map(|t| {
                let n = t.data().len() / s;
                t.data()[j * n..(j + 1) * n].to_vec()
            })
            .collect();
        ensure(mine == quotients, || format!("{mine:?} and not {quotients:?} {}\n{derived}", say()))?;
        let inputs = [at.clone(), stacked(std::slice::from_ref(d))].concat();
        let values = outputs(&locked, &inputs)?;
        ensure(values == expected, || format!("locked values {} {}", shown(&values), say()))?;
        // one output at a time: the gradient of the branches along d, times d, is the derivative along d
        let mut number = 0;
        for (k, o) in p.outputs().iter().enumerate() {
            for i in 0..p.atom_shape(*o).len() {
                let mut seeds: Vec<Tensor<Rational>> = expected.iter().map(|t| t.map(|_| Rational::ZERO)).collect();
                let mut data = seeds[k].data().to_vec();
                data[i] = Rational::ONE;
                seeds[k] = Tensor::new(seeds[k].shape().clone(), data).unwrap();
                let all = outputs(&adjoint, &[inputs.clone(), seeds.clone()].concat())?;
                let g = &all[p.outputs().len()..][..wrt.len()];
                let along = dot(g, d);
                ensure(along == quotients[number], || {
                    format!(
                        "output {number}: gradient {} gives {along}, not {} {}\n{locked}",
                        shown(g),
                        quotients[number],
                        say()
                    )
                })?;
                number += 1;
                // the gradient itself, where the program has one a little further along
                let there = moved(at, &rational("1/1000000000"), d);
                if kinks(p, &there).map_err(|e| e.to_string())?.1.is_empty() {
                    let plain = vjp(p, &How::default()).map_err(|e| e.to_string())?;
                    let all = outputs(&plain, &[there, seeds].concat())?;
                    let expected = &all[p.outputs().len()..];
                    ensure(g == expected, || format!("gradient {} and not {} {}", shown(g), shown(expected), say()))?;
                }
            }
        }
    }
    Ok(())
}

fn some_directions(rng: &mut Rng, p: &Program) -> Vec<Point> {
    vec![short(rng, p), dyadic_point(rng, p), origin(p), generic_point(rng, p)]
}

#[test]
fn piecewise_linear_programs_have_them_at_every_tie() {
    for (seed, tensors, calls) in [(1, false, 0), (2, true, 0), (3, false, 2), (4, true, 2)] {
        let options = |rng: &mut Rng, size: usize| {
            let o =
                Options::new(Dictionary::PiecewiseLinear).exact().inputs(1 + rng.below(3)).equations(size).calls(calls);
            let o = if tensors { o.tensors() } else { o };
            if rng.once_in(2) { o.outputs(1 + rng.below(3)) } else { o }
        };
        check_programs(seed, 150, 9, options, |p, rng| {
            let directions = some_directions(rng, p);
            let at = if rng.once_in(3) { origin(p) } else { tied_point(rng, p) };
            check(p, &at, &directions)?;
            check(p, &at, &directions[..1])
        });
    }
}

/// Programs of one kink each, at points where nothing, two, three or all of its arguments are tied.
#[test]
fn every_kink_is_right_where_its_arguments_tie() {
    let shape = |dims: &[usize]| Shape::new(dims.to_vec()).unwrap();
    let mut programs: Vec<Program> = Vec::new();
    let mut single = |op: Op, shapes: &[Shape]| {
        let mut b = Builder::new("f");
        let x: Vec<Atom> = (0..).zip(shapes).map(|(i, s)| b.input(format!("x{i}"), s.clone()).unwrap()).collect();
        let y = b.push(op, &x).unwrap();
        programs.push(b.finish(&y).unwrap());
    };
    let s = Shape::scalar;
    for n in [1, 2, 3, 5] {
        for lane in [Lane::Args, Lane::Axis] {
            let mut kinks =
                vec![Kink::Max(lane), Kink::Min(lane), Kink::Sort(lane), Kink::Norm1(lane), Kink::NormInf(lane)];
            kinks.extend((0..n).map(|k| Kink::OrderStatistic(lane, k)));
            for kink in kinks {
                match lane {
                    Lane::Args => {
                        single(Op::Kink(kink.clone()), &vec![s(); n]);
                        if n > 1 {
                            single(Op::Kink(kink), &vec![shape(&[2]); n]);
                        }
                    }
                    Lane::Axis => {
                        single(Op::Kink(kink.clone()), &[shape(&[n])]);
                        single(Op::Kink(kink), &[shape(&[2, n])]);
                    }
                }
            }
        }
    }
    for kink in [Kink::Relu, Kink::Abs, Kink::LeakyRelu(rational("1/3")), Kink::LeakyRelu(rational("-2"))] {
        single(Op::Kink(kink), &[shape(&[3])]);
    }
    let mut rng = Rng::new(5);
    for p in &programs {
        for _ in 0..12 {
            let at = tied_point(&mut rng, p);
            let directions = some_directions(&mut rng, p);
            check(p, &at, &directions).unwrap_or_else(|e| panic!("{e}\n{p}"));
        }
    }
}

/// The derivative of a maximum of products, by hand: rows that are tied, in whatever way the matrix is given.
#[test]
fn max_linear_takes_the_largest_tangent_of_tied_rows() {
    let (m, n) = (3, 2);
    let mut rng = Rng::new(6);
    let s = Shape::scalar();
    let build = |lane: Lane, constant: bool| {
        let mut b = Builder::new("f");
        let x: Vec<Atom> = match (lane, constant) {
            (Lane::Args, _) => (0..m * n + n).map(|i| b.input(format!("x{i}"), s.clone()).unwrap()).collect(),
            (Lane::Axis, false) => {
                let a = b.input("a", Shape::new([m, n]).unwrap()).unwrap();
                vec![a, b.input("x", Shape::vector(n).unwrap()).unwrap()]
            }
            (Lane::Axis, true) => {
                let x = b.input("x", Shape::vector(n).unwrap()).unwrap();
                vec![b.constant(2), x]
            }
        };
        let y = b.push(Op::Kink(Kink::MaxLinear { lane, rows: m }), &x).unwrap();
        b.finish(&y).unwrap()
    };
    let numbers = [0, 0, 1, 1, -1, 2];
    let mut draw = |k: usize| -> Vec<Rational> { (0..k).map(|_| Rational::from(*rng.pick(&numbers))).collect() };
    let product = |a: &[Rational], x: &[Rational], r: usize| (0..n).map(|j| &a[r * n + j] * &x[j]).sum::<Rational>();
    let mut tied = 0;
    for round in 0..300 {
        let (a, x, da, dx) = (draw(m * n), draw(n), draw(m * n), draw(n));
        let rows: Vec<Rational> = (0..m).map(|r| product(&a, &x, r)).collect();
        let most = rows.iter().max().unwrap().clone();
        let moving: Vec<Rational> =
            (0..m).filter(|&r| rows[r] == most).map(|r| product(&da, &x, r) + product(&a, &dx, r)).collect();
        tied += usize::from(moving.len() > 1);
        let expected = moving.iter().max().unwrap().clone();
        let given = |lane: Lane, a: &[Rational], x: &[Rational]| -> Point {
            match lane {
                Lane::Args => a.iter().chain(x).map(|v| Tensor::scalar(v.clone())).collect(),
                Lane::Axis => vec![
                    Tensor::new(Shape::new([m, n]).unwrap(), a.to_vec()).unwrap(),
                    Tensor::vector(x.to_vec()).unwrap(),
                ],
            }
        };
        for lane in [Lane::Args, Lane::Axis] {
            let p = build(lane, false);
            let wrt: Vec<usize> = (0..p.inputs().len()).collect();
            let (at, d) = (given(lane, &a, &x), given(lane, &da, &dx));
            let inputs = [at.clone(), stacked(&[d.clone(), d.clone()])].concat();
            let out = run(&directional(&p, &wrt, 2).unwrap(), &inputs).unwrap();
            assert_eq!(out[0].data(), std::slice::from_ref(&most), "{round}");
            assert_eq!(out[1].data(), [expected.clone(), expected.clone()], "{round}: {a:?} {x:?} along {da:?} {dx:?}");
            let l = backprop(&locked(&p).unwrap(), &How::default()).unwrap();
            let out = run(&l, &[at, stacked(std::slice::from_ref(&d))].concat()).unwrap();
            assert_eq!(out[0].data(), std::slice::from_ref(&most));
            assert_eq!(dot(&out[1..=d.len()], &d), expected);
        }
        // by the vector alone, and with a constant for a matrix
        let p = build(Lane::Axis, false);
        let inputs = [given(Lane::Axis, &a, &x), stacked(&[vec![Tensor::vector(dx.clone()).unwrap()]])].concat();
        let out = run(&directional(&p, &[1], 1).unwrap(), &inputs).unwrap();
        let moving = (0..m).filter(|&r| rows[r] == most).map(|r| product(&a, &dx, r));
        assert_eq!(out[1].data(), [moving.max().unwrap()]);
        let p = build(Lane::Axis, true);
        let inputs = [vec![Tensor::vector(x.clone()).unwrap()], stacked(&[vec![Tensor::vector(dx.clone()).unwrap()]])];
        let out = run(&directional(&p, &[0], 1).unwrap(), &inputs.concat()).unwrap();
        assert_eq!(out[1].data(), [Rational::from(2) * dx.iter().sum::<Rational>()]);
    }
    assert!(tied > 50, "{tied}");
}

fn parse(source: &str) -> Program {
    Program::clone(crease_formats::parse(source).unwrap_or_else(|e| panic!("{e}\n{source}")).main())
}

/// Continuous selections of linear functions, written in many ways.
const SELECTIONS: &[&str] = &[
    "program f(x, y) = select { x > y => x, else => y }",
    "program f(x, y) = select { x >= y => x, else => y }",
    "program f(x, y) = select { x < y => x, else => y }",
    "program f(x, y) = select { y <= x => y, else => x }",
    "program f(x, y) = select { x == y => x, else => y }",
    "program f(x, y) = select { x != y => 2 * x - y, else => x }",
    "program f(x) = select { x < 0 => -x, x == 0 => 5 * x, else => 3 * x }",
    // clipping, three pieces
    "program f(x, y) = select { x < -1 => -1 + y, x > 1 => 1 + y, else => x + y }",
    // the largest of three by conditions of several parts
    "program f(x, y, z) = select { x >= y and x >= z => x, y > z => y, else => z }",
    "program f(x, y, z) = select { not (x < y or x < z) => x, not (y <= z) => y, else => z }",
    // one selection inside another, and inside a branch of it
    "program f(x, y, z) = select { x > y => select { x > z => x, else => z }, else => select { y > z => y, else => z } }",
    "program f(x, y) = select { x > 0 => select { y > 0 => x, else => select { x + y > 0 => x + y, else => 0 } }, \
     else => 0 } + 0 * y",
    "program f(x, y) = abs(select { x > y => max(x, y) - y, else => min(x, y) - x } + select { x < 0 => relu(-x), else => abs(x) })",
    // a truth value that goes into branches, and one that comes out of them
    "program g(c, x, y) = select { c => x, else => y }
     program f(x, y, z) = select { z > 0 => g(x > y, x, y) + z, else => g(y <= x, x, y) }",
    "program g(a, c) = a > c
     program f(x, y, z) {
       let above = select { x > y => g(x, z), else => g(y, z) }
       return select { above => max(x, y), else => z }
     }",
    // several results, some of which do not move in one branch
    "program f(x[2], y) {
       let s = sum(x)
       return select { s > y => x * 2, else => x + x }, select { s > y => s - y, else => 0 }, select { y > y => 1, else => 2 }
     }",
    "program f(x[3], y) = sum(select { x[0] > x[1] => sort(x), else => sort(x) * 1 }) + select { y > 0 => y, else => -2 * y }",
    // a number in one branch, a truth value in the other
    "program f(x, y) = 2 * select { y > 50 => x < 0, else => x } + select { y < 50 => abs(y), else => y > x }",
    // as numbers, truth values are flat: here they are never tied
    "program f(x, y) = select { x > y => x, else => y } * (x < 100) + (y > 100)",
];

#[test]
fn selections_take_the_branch_that_the_direction_takes() {
    let mut rng = Rng::new(7);
    for text in SELECTIONS {
        let p = parse(text);
        for round in 0..60 {
            let at = if round < 2 { origin(&p) } else { tied_point(&mut rng, &p) };
            let mut directions = some_directions(&mut rng, &p);
            directions.extend((0..4).map(|_| short(&mut rng, &p)));
            check(&p, &at, &directions).unwrap_or_else(|e| panic!("{e}\n{p}"));
        }
    }
}

/// Random lattices of selections: each step selects between two earlier values by how they compare, so that all is continuous.
#[test]
fn random_selections_inside_branches_of_selections() {
    let mut rng = Rng::new(8);
    for round in 0..250 {
        let p = lattice(&mut rng, 3, 1 + round / 60);
        for _ in 0..3 {
            let at = if rng.once_in(3) { origin(&p) } else { tied_point(&mut rng, &p) };
            let directions = some_directions(&mut rng, &p);
            check(&p, &at, &directions).unwrap_or_else(|e| panic!("{e}\n{p}"));
        }
    }
}

/// A program of `inputs` scalars with one output. Deeper ones have such programs as branches, which differ by a multiple of what is
/// compared.
fn lattice(rng: &mut Rng, inputs: usize, depth: usize) -> Program {
    let mut b = Builder::new(format!("l{depth}"));
    let mut pool: Vec<Atom> = (0..inputs).map(|i| b.input(format!("x{i}"), Shape::scalar()).unwrap()).collect();
    for _ in 0..2 + rng.below(3) {
        let (x, y) = (*rng.pick(&pool), *rng.pick(&pool));
        let next = match rng.below(if depth > 0 { 6 } else { 4 }) {
            0 => b.add(x, y),
            1 => b.sub(x, y),
            2 => b.abs(x),
            3 => b.push1(Op::Kink(Kink::OrderStatistic(Lane::Args, 1)), &[x, y, pool[0]]),
            _ => {
                // the same function plus, in one branch, a multiple of x - y
                let args = [x, y, *rng.pick(&pool)];
                let base = Arc::new(lattice(rng, 3, depth - 1));
                let mut other = Builder::new("other");
                let given: Vec<Atom> = (0..3).map(|i| other.input(format!("x{i}"), Shape::scalar()).unwrap()).collect();
                let id = other.callee(base.clone(), None).unwrap();
                let value = other.push1(Op::Call(id), &given).unwrap();
                let apart = other.sub(given[0], given[1]).unwrap();
                let factor = other.constant(rng.between(-2, 2));
                let apart = other.mul(factor, apart).unwrap();
                let value = other.add(value, apart).unwrap();
                let other = Arc::new(other.finish(&[value]).unwrap());
                let ids = if rng.once_in(2) { [base, other] } else { [other, base] };
                let ids: Vec<_> = ids.into_iter().map(|q| b.callee(q, None).unwrap()).collect();
                let mut c = b.compare(*rng.pick(&Comparison::ALL), x, y).unwrap();
                if rng.once_in(3) {
                    let again = b.compare(*rng.pick(&Comparison::ALL), y, x).unwrap();
                    c = b.logic(*rng.pick(&[Logic::And, Logic::Or]), &[c, again]).unwrap();
                }
                if rng.once_in(3) {
                    c = b.logic(Logic::Not, &[c]).unwrap();
                }
                b.push1(Op::Select(ids.into()), &[&[c], &args[..]].concat())
            }
        };
        pool.push(next.unwrap());
    }
    let (x, y) = (pool[pool.len() - 1], pool[pool.len() - 2]);
    let out = b.add(x, y).unwrap();
    b.finish(&[out]).unwrap()
}

#[test]
fn a_branch_that_is_not_picked_is_not_run() {
    let p = parse("program f(x, y) = select { x > 0 => log(x) + y, y > 0 => inv(y), else => x / (x - 1) }");
    let d = directional(&p, &[0, 1], 2).unwrap();
    let l = backprop(&locked(&p).unwrap(), &How::default()).unwrap();
    let at = |x: f64, y: f64| vec![Tensor::scalar(x), Tensor::scalar(y)];
    let along = |x: Vec<f64>| Tensor::vector(x).unwrap();
    for ((x, y), slopes) in [((2.0, 0.0), [0.5, 1.0]), ((-1.0, 2.0), [0.0, -0.25]), ((-1.0, -1.0), [-0.25, 0.0])] {
        let out = run(&d, &[at(x, y), vec![along(vec![1.0, 0.0]), along(vec![0.0, 1.0])]].concat()).unwrap();
        assert_eq!(out[1].data(), slopes);
        let out = run(&l, &[at(x, y), vec![along(vec![1.0]), along(vec![-1.0])]].concat()).unwrap();
        assert_eq!([out[1].data()[0], out[2].data()[0]], slopes);
    }
    // picked by a direction, a branch has to have a value at the point
    let error = run(&d, &[at(0.0, 1.0), vec![along(vec![1.0, 0.0]), along(vec![0.0, 1.0])]].concat()).unwrap_err();
    assert!(matches!(error.fault, RunFault::Number(_)), "{error}");
    assert!(run(&d, &[at(0.0, 1.0), vec![along(vec![-1.0, 0.0]), along(vec![0.0, 1.0])]].concat()).is_ok());
}

/// Where first order cannot tell, what holds at the point is taken, as the documentation says.
#[test]
fn tangents_that_tie_leave_the_branch_of_the_point() {
    let p = parse("program f(x) = select { x^3 > 0 => x, else => -x }");
    let d = directional(&p, &[0], 2).unwrap();
    let out = run(&d, &[Tensor::scalar(0.0), Tensor::vector(vec![1.0, -1.0]).unwrap()]).unwrap();
    assert_eq!(out[1].data(), [-1.0, 1.0]);
}

#[test]
fn what_jumps_is_refused_with_its_place() {
    let p = trace_gradient();
    let error = directional(&p, &[0], 1).unwrap_err();
    assert!(matches!(error, DiffError::NoDirectional { .. }), "{error}");
    assert!(error.to_string().contains("relu'"), "{error}");
    assert!(locked(&p).is_err());
    assert_eq!(directional(&p, &[3], 1), Err(DiffError::NoSuchInput { index: 3, inputs: 1 }));
    assert!(directional(&p, &[0], 0).is_err());
    assert!(matches!(directional(&p, &[0], usize::MAX / 2), Err(DiffError::Columns { .. })));
}

fn trace_gradient() -> Program {
    let p = crease_core::trace(1, |x| crease_core::relu(x[0]) * x[0]).unwrap();
    gradient(&p, &How::default()).unwrap()
}

/// The order in which inputs are named is that of the tangents, and names never clash.
#[test]
fn tangents_come_in_the_order_given() {
    let p = parse("program f(x, dx, x_) = abs(x) + 10 * abs(dx) + 100 * abs(x_)");
    let d = directional(&p, &[2, 0, 1], 1).unwrap();
    let zero = || Tensor::scalar(0.0);
    let one = |x: f64| Tensor::vector(vec![x]).unwrap();
    let out = run(&d, &[zero(), zero(), zero(), one(1.0), one(-2.0), one(3.0)]).unwrap();
    assert_eq!(out[1].data(), [132.0]);
    assert!(directional(&p, &[0, 0], 1).is_err());
}

/// Ordinary programs: they can be expanded, taken apart and simplified without meaning something else.
#[test]
fn derived_programs_are_ordinary_ones() {
    let mut rng = Rng::new(9);
    for text in SELECTIONS {
        let p = parse(text);
        let wrt: Vec<usize> = (0..p.inputs().len()).collect();
        let d = directional(&p, &wrt, 3).unwrap();
        let at = tied_point(&mut rng, &p);
        let along: Vec<Point> = (0..3).map(|_| short(&mut rng, &p)).collect();
        let inputs = [at, stacked(&along)].concat();
        let expected = run(&d, &inputs).unwrap();
        assert_eq!(run(&inline(&d).unwrap(), &inputs).unwrap(), expected);
        assert_eq!(run(&simplify(&d).unwrap(), &inputs).unwrap(), expected);
        let scalars: Point = flat(&inputs).into_iter().map(Tensor::scalar).collect();
        assert_eq!(flat(&run(&scalarize(&d).unwrap(), &scalars).unwrap()), flat(&expected));
        assert_eq!(parse(&d.to_string()), d);
    }
}

/// Selections nested 3000 deep: nothing goes deep but a list.
#[test]
fn deep_nesting_is_a_list() {
    let mut inner = Arc::new(crease_core::trace(1, |x| x[0] * 1.0).unwrap());
    for _ in 0..3000 {
        let mut b = Builder::new("f");
        let x = b.input("x", Shape::scalar()).unwrap();
        let zero = b.constant(0);
        let c = b.compare(Comparison::Greater, x, zero).unwrap();
        let id = b.callee(inner, None).unwrap();
        let y = b.push1(Op::Select(vec![id, id].into()), &[c, x]).unwrap();
        inner = Arc::new(b.finish(&[y]).unwrap());
    }
    let d = directional(&inner, &[0], 1).unwrap();
    let out = run(&d, &[Tensor::scalar(0.0), Tensor::vector(vec![3.0]).unwrap()]).unwrap();
    assert_eq!(out[1].data(), [3.0]);
    assert!(locked(&inner).is_ok());
}
