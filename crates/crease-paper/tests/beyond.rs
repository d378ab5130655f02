//! Unrolled algorithms and implicit functions: derivatives against those of the plain program, costs against Theorem 2.

use crease::cost::{Prices, cost};
use crease::formats::parse;
use crease::{
    Builder, Callee, Error, How, Op, Program, Rational, Shape, Technique, Tensor, backprop, gradient, run, trace,
    trace_shapes,
};
use crease_corpus::random::Rng;
use crease_paper::experiments::beyond::{
    elimination, fixed_point, implicit, inner_costs, ista_step, linear_system, outer_costs, unrolled,
};
use crease_paper::experiments::conservativity::{Field, Options, check};
use std::sync::Arc;

fn q(n: i64) -> Rational {
    Rational::from(n)
}

fn program(text: &str) -> Arc<Program> {
    parse(text).unwrap().main().clone()
}

fn random(rng: &mut Rng, shape: &[usize]) -> Tensor<Rational> {
    let shape = Shape::new(shape.to_vec()).unwrap();
    let data = (0..shape.len()).map(|_| Rational::new(rng.between(-30, 30), 7).unwrap()).collect();
    Tensor::new(shape, data).unwrap()
}

/// Random numbers with a diagonal that dominates them, so that no pivot vanishes.
fn dominant(rng: &mut Rng, n: usize) -> Tensor<Rational> {
    let mut data = random(rng, &[n, n]).into_data();
    (0..n).for_each(|i| data[i * n + i] = q(40 + rng.between(0, 9)));
    Tensor::new(Shape::new([n, n]).unwrap(), data).unwrap()
}

fn unit() -> Prices {
    Prices::unit()
}

#[test]
fn elimination_solves_at_the_textbook_price() {
    let mut rng = Rng::new(1);
    for n in 1..=9usize {
        let p = elimination(n).unwrap();
        let k = n as i64;
        let textbook = Rational::new(4 * k.pow(3) + 9 * k * k - 7 * k, 6).unwrap();
        assert_eq!(cost(&p).at(&unit()), textbook, "{n}");
        let (a, b) = (dominant(&mut rng, n), random(&mut rng, &[n]));
        let z = run(&p, &[a.clone(), b.clone()]).unwrap();
        for (row, right) in a.data().chunks(n).zip(b.data()) {
            assert_eq!(row.iter().zip(z[0].data()).map(|(a, z)| a * z).sum::<Rational>(), *right);
        }
    }
    let singular = Tensor::new(Shape::new([1, 1]).unwrap(), vec![q(0)]).unwrap();
    assert!(run(&elimination(1).unwrap(), &[singular, Tensor::vector(vec![q(1)]).unwrap()]).is_err());
}

#[test]
fn the_implicit_derivative_of_a_linear_system_is_that_of_its_elimination() {
    let mut rng = Rng::new(2);
    for n in 1..=5 {
        for objective in [
            // nonsmooth ones, and one that depends on A and b directly
            format!("program f(z[{n}], A[{n},{n}], b[{n}]) = norm1(z)"),
            format!("program f(z[{n}], A[{n},{n}], b[{n}]) = max(z) * sum(b) + norminf(A @ b)"),
            format!("program f(z[{n}], A[{n},{n}], b[{n}]) = sum(z * z) / 2 - sum(b * z)"),
        ] {
            let callee = linear_system(&program(&objective)).unwrap();
            let at = [dominant(&mut rng, n), random(&mut rng, &[n])];
            let joint = run(callee.joint.as_ref().unwrap(), &at).unwrap();
            let through = run(&backprop(&callee.program, &How::default()).unwrap(), &at).unwrap();
            assert_eq!(joint, through, "{objective}"); // exactly, in rationals
        }
    }
}

#[test]
fn implicit_costs_one_more_elimination_and_through_costs_several() {
    let mut joints = Vec::new();
    for n in [4, 8, 16] {
        let objective = program(&format!("program f(z[{n}], A[{n},{n}], b[{n}]) = norm1(z)"));
        let costs = inner_costs(&linear_system(&objective).unwrap(), &How::default(), &unit()).unwrap();
        let joint = costs.ratio(costs.joint.as_ref().unwrap()).unwrap();
        let through = costs.ratio(&costs.backward.counted).unwrap();
        assert!(joint < through, "{n}: {joint} {through}");
        assert!(through <= q(5));
        // two eliminations, n² products for the derivative by A, the norm, and a sign of -λ and of the derivative by b
        let k = n as i64;
        let twice = &cost(&elimination(n).unwrap()).at(&unit()) * &q(2);
        let norm = cost(&objective).at(&unit());
        assert_eq!(&costs.joint.unwrap().at(&unit()) - &(&twice + &norm), q(k * k + 2 * k));
        joints.push(joint);
        println!("n = {n}: joint {:.3}, through {:.3}", joints[joints.len() - 1].to_f64(), through.to_f64());
    }
    // the second elimination is what remains
    assert!(joints.windows(2).all(|w| w[0] > w[1]) && joints[2] < Rational::new(5, 2).unwrap());
}

/// A validation loss after some steps of ISTA, for random data of m rows.
fn lasso(n: usize, m: usize, steps: usize) -> Arc<Program> {
    let mut rng = Rng::new(3);
    let rows: Vec<Vec<Rational>> = (0..m).map(|_| (0..n).map(|_| q(rng.between(-3, 3))).collect()).collect();
    let targets: Vec<Rational> = (0..m).map(|_| q(rng.between(-9, 9))).collect();
    let step = Arc::new(ista_step(&rows, &targets, &Rational::new(1, 50).unwrap()).unwrap());
    let objective = program(&format!("program loss(w[{n}], lambda[{n}]) = sum(w * w) + sum(w)"));
    Arc::new(unrolled(&step, steps, &objective).unwrap().renamed("lasso"))
}

/// A program that calls a part: (part(x, y * y) + sum(y))^2.
fn outer(part: &Callee, n: usize) -> Program {
    let mut b = Builder::new("outer");
    let x = b.input("x", Shape::new([n]).unwrap()).unwrap();
    let y = b.input("y", Shape::new([n]).unwrap()).unwrap();
    let id = b.callee(part.program.clone(), part.joint.clone()).unwrap();
    let squares = b.mul(y, y).unwrap();
    let value = b.push1(Op::Call(id), &[x, squares]).unwrap();
    let total = b.sum_all(y).unwrap();
    let sum = b.add(value, total).unwrap();
    let out = b.mul(sum, sum).unwrap();
    b.finish(&[out]).unwrap()
}

#[test]
fn forward_inside_and_backward_outside_is_the_same_derivative() {
    for n in [1, 3] {
        let part = Callee { program: lasso(n, 4, 5), joint: None };
        let p = outer(&part, n);
        let mut rng = Rng::new(4);
        let at = [random(&mut rng, &[n]), random(&mut rng, &[n])];
        let with = |t| run(&gradient(&p, &How::default().callee("lasso", t)).unwrap(), &at).unwrap();
        let through = with(Technique::Through);
        assert_eq!(with(Technique::Forward), through);
        assert_eq!(with(Technique::Backward), through);
        assert!(through[1].data().iter().any(|c| !c.is_zero()));
    }
}

#[test]
fn the_mixed_technique_costs_what_the_theorem_predicts() {
    let mut last = Rational::ZERO;
    for n in [1, 2, 4, 8] {
        let part = Callee { program: lasso(n, 4, 5), joint: None };
        let inner = inner_costs(&part, &How::default(), &unit()).unwrap();
        assert_eq!(inner.dimension, 2 * n);
        let p = 2 * n as i64;
        // the sum of two variables attains the constant
        assert_eq!(inner.forward.omega, Some(q(3 * p + 1)));
        assert_eq!(inner.printed(), q(3 * p + 5));
        let (counted, model) =
            (inner.ratio(&inner.forward.counted).unwrap(), inner.ratio(&inner.forward.model).unwrap());
        assert!(counted <= model && model <= q(3 * p + 1) && q(3 * p + 1) < inner.printed());
        assert!(inner.ratio(&inner.backward.counted).unwrap() <= q(5));
        // the part is long, so the program that calls it has about its overhead
        let outer = outer_costs(&outer(&part, n), "lasso", &How::default(), &unit()).unwrap();
        let (mixed, through) =
            (outer.ratio(&outer.mixed.counted).unwrap(), outer.ratio(&outer.through.counted).unwrap());
        assert!(through <= q(5) && outer.ratio(&outer.chained.counted).unwrap() <= q(6));
        assert!(outer.mixed.counted.at(&unit()) <= outer.mixed.model.at(&unit()));
        assert!(outer.ratio(&outer.mixed.model).unwrap() <= outer.mixed.omega.clone().unwrap());
        assert!(outer.joint.is_none());
        assert!(mixed > last, "grows with the dimension");
        last = mixed.clone();
        println!(
            "p = {p}: inner forward counted {:.2}, model {:.2}, omega {}, printed {}; outer mixed {:.2}, through {:.2}",
            counted.to_f64(),
            model.to_f64(),
            3 * p + 1,
            3 * p + 5,
            mixed.to_f64(),
            through.to_f64()
        );
    }
}

#[test]
fn long_products_attain_the_constant_of_forward_mode() {
    // once all partial derivatives are there, a product takes 2p products and p sums on top of itself
    for p in [2, 6] {
        let long = trace(p, |x| {
            let sum = x.iter().copied().reduce(|a, b| a + b).unwrap();
            (0..400).fold((sum, sum + x[0]), |(u, v), _| (u * v, u)).0
        });
        let part = Callee { program: Arc::new(long.unwrap()), joint: None };
        let costs = inner_costs(&part, &How::default(), &unit()).unwrap();
        let bound = 3.0 * p as f64 + 1.0;
        assert_eq!(costs.forward.omega.as_ref().unwrap().to_f64(), bound);
        let counted = costs.ratio(&costs.forward.counted).unwrap().to_f64();
        assert!(counted <= bound && counted > 0.98 * bound, "{p}: {counted}");
    }
}

#[test]
fn an_implicit_derivative_is_conservative() {
    // the larger of two unknowns: inside its kink the rule of the objective decides, and the theorem hands it on
    let objective = program("program larger(z[2], A[2,2], b[2]) = max(z[0], z[1])");
    let part = linear_system(&objective).unwrap();
    let mut b = Builder::new("outer");
    let c = b.input("c", Shape::new([2]).unwrap()).unwrap();
    let a = b.tensor(Shape::new([2, 2]).unwrap(), vec![2.0, 1.0, 1.0, 3.0]).unwrap();
    let id = b.callee(part.program.clone(), part.joint.clone()).unwrap();
    let out = b.push1(Op::Call(id), &[a, c]).unwrap();
    let p = b.finish(&[out]).unwrap();
    for technique in [Technique::Joint, Technique::Through] {
        let how = How::default().technique(technique);
        let report = check(&p, Field::Derived(&how), &[vec![q(3), q(4)]], &Options::default()).unwrap();
        assert!(report.passed() && report.complete() && report.inside_kinks > 0);
    }
}

#[test]
fn an_affine_fixed_point_has_the_derivative_of_its_iteration() {
    // k steps from 0 sum k powers of the matrix; so do k - 1 rounds for the multiplier
    let step = program("program step(z[2], B[2,2], a[2]) = B @ z + a");
    let value = program("program value(z[2], B[2,2], a[2]) = z[0] - 3 * z[1]");
    let callee = fixed_point(&step, 6, 5, &value, &How::default()).unwrap();
    let mut rng = Rng::new(5);
    let zero = Tensor::vector(vec![q(0), q(0)]).unwrap();
    let at = [zero, random(&mut rng, &[2, 2]), random(&mut rng, &[2])];
    let joint = run(callee.joint.as_ref().unwrap(), &at).unwrap();
    let through = run(&backprop(&callee.program, &How::default()).unwrap(), &at).unwrap();
    assert_eq!((&joint[0], &joint[3]), (&through[0], &through[3]));
    assert!(joint[1].data().iter().all(Rational::is_zero));
}

/// Central differences of a program of doubles.
fn differences(p: &Program, at: &[Tensor<f64>], input: usize) -> Vec<f64> {
    let h = 1e-6;
    let moved = |k: usize, by: f64| {
        let mut at = at.to_vec();
        let mut data = at[input].data().to_vec();
        data[k] += by;
        at[input] = Tensor::new(at[input].shape().clone(), data).unwrap();
        run(p, &at).unwrap()[0].data()[0]
    };
    (0..at[input].data().len()).map(|k| (moved(k, h) - moved(k, -h)) / (2.0 * h)).collect()
}

fn close(a: &[f64], b: &[f64], tolerance: f64) -> bool {
    a.iter().zip(b).all(|(a, b)| (a - b).abs() <= tolerance * a.abs().max(1.0))
}

#[test]
fn an_equilibrium_network_is_differentiated_at_its_fixed_point() {
    let step = program("program layer(z[3], W[3,3], x[3]) = tanh(W @ z + x)");
    let loss = program("program loss(z[3], W[3,3], x[3]) = sum(z * z) + norm1(x)");
    let callee = fixed_point(&step, 80, 80, &loss, &How::default()).unwrap();
    let w = vec![0.2, -0.3, 0.1, 0.05, 0.25, -0.2, 0.3, 0.1, -0.15];
    let at = [
        Tensor::vector(vec![0.0; 3]).unwrap(),
        Tensor::new(Shape::new([3, 3]).unwrap(), w).unwrap(),
        Tensor::vector(vec![0.7, -0.4, 0.2]).unwrap(),
    ];
    let joint = run(callee.joint.as_ref().unwrap(), &at).unwrap();
    for input in [1, 2] {
        let by_differences = differences(&callee.program, &at, input);
        assert!(close(joint[1 + input].data(), &by_differences, 1e-8), "{input}");
        assert!(joint[1 + input].data().iter().any(|d| d.abs() > 0.01));
    }
    // the forward part is shared by all rounds: the joint is no dearer than backprop through all steps
    let costs = inner_costs(&callee, &How::default(), &unit()).unwrap();
    let (joint, through) = (costs.joint.unwrap().at(&unit()), costs.backward.counted.at(&unit()));
    println!("joint {joint}, through {through}, plain {}", costs.cost.at(&unit()));
    assert!(joint <= through, "{joint} {through}");
}

#[test]
fn the_lasso_has_the_derivative_of_its_support() {
    // A'A = [[2, 1], [1, 3]] and A'b = (5, 1): with weights (1, 1) the second coordinate is 0 and w = ((5 - 1) / 2, 0)
    let rows = [vec![q(1), q(1)], vec![q(1), q(-1)], vec![q(0), q(1)]];
    let rows: Vec<Vec<Rational>> = rows.iter().map(|r| vec![r[0].clone(), r[1].clone()]).collect();
    let targets = [q(3), q(2), q(0)];
    let step = Arc::new(ista_step(&rows, &targets, &Rational::new(1, 4).unwrap()).unwrap());
    let value = program("program value(w[2], lambda[2]) = 3 * w[0] + w[1]");
    let callee = fixed_point(&step, 120, 120, &value, &How::default()).unwrap();
    let at = [Tensor::vector(vec![0.0, 0.0]).unwrap(), Tensor::vector(vec![1.0, 1.0]).unwrap()];
    let joint = run(callee.joint.as_ref().unwrap(), &at).unwrap();
    // w0 = (5 - lambda0) / 2 on the support
    assert!(close(joint[0].data(), &[6.0], 1e-12));
    assert!(close(joint[2].data(), &[-1.5, 0.0], 1e-12), "{}", joint[2]);
    let through = run(&gradient(&callee.program, &How::default()).unwrap(), &at).unwrap();
    assert!(close(joint[2].data(), through[1].data(), 1e-12));
}

#[test]
fn a_joint_program_is_used_where_it_is_called() {
    let step = program("program heron(z[1], a[1]) = (z + a / z) / 2");
    let value = program("program value(z[1], a[1]) = sum(z)");
    let part = fixed_point(&step, 8, 1, &value, &How::default()).unwrap();
    let p = outer(&part, 1);
    let name = part.program.name().to_string();
    let at = [Tensor::vector(vec![1.0]).unwrap(), Tensor::vector(vec![1.5]).unwrap()];
    let with = |t| run(&gradient(&p, &How::default().callee(name.as_str(), t)).unwrap(), &at).unwrap();
    let (joint, through) = (with(Technique::Joint), with(Technique::Through));
    // (sqrt(y²) + y)² = 4 y²
    assert!(close(joint[1].data(), &[12.0], 1e-12) && close(through[1].data(), &[12.0], 1e-12));
    let costs = outer_costs(&p, &name, &How::default(), &unit()).unwrap();
    let by_joint = costs.joint.unwrap();
    assert!(by_joint.counted.at(&unit()) < costs.through.counted.at(&unit()));
}

#[test]
fn what_does_not_fit_is_refused() {
    let step = program("program step(z[2], a) = sum(z) + a");
    let value = program("program value(z[2], a) = sum(z)");
    assert!(matches!(unrolled(&step, 3, &value), Err(Error::Parameter { what: "the step", .. })));
    let step = program("program step(z[2], a) = z * a");
    assert!(matches!(unrolled(&step, 3, &step), Err(Error::Parameter { what: "the objective", .. })));
    assert!(matches!(fixed_point(&step, 3, 3, &step, &How::default()), Err(Error::Parameter { .. })));
    assert!(matches!(linear_system(&value), Err(Error::Parameter { what: "the objective", .. } | Error::Build(_))));
    let shapes = [Shape::new([2]).unwrap(), Shape::new([2]).unwrap()];
    let fine = Arc::new(trace_shapes(&shapes, |x| vec![x[0] - x[1]]).unwrap());
    let solver = Arc::new(trace_shapes(&shapes[..1], |x| vec![x[0]]).unwrap());
    let objective = Arc::new(trace_shapes(&shapes, |x| vec![x[0].sum()]).unwrap());
    let refused = implicit(&solver, &fine, &fine, &objective, &How::default());
    assert!(matches!(refused, Err(Error::Parameter { what: "the jacobian", .. })));
    assert!(matches!(ista_step(&[vec![q(1)], vec![]], &[q(1), q(1)], &q(1)), Err(Error::Length { .. })));
    assert!(matches!(ista_step(&[vec![q(1)]], &[], &q(1)), Err(Error::Length { .. })));
}
