//! Directional derivatives of the engine at kinks: difference quotients of piecewise-linear programs are exact near a point.

mod lesser;

use crease_core::differentiate::{How, backprop};
use crease_core::{Tensor, kinks, run};
use crease_corpus::compare::{convert, moved};
use crease_corpus::random::{
    Dictionary, Options as Grown, Rng, dyadic_point, generic_point, origin, program, tied_point,
};
use crease_engine::{Options, clarke, directional};

#[test]
fn they_are_one_sided_limits_also_where_everything_is_tied() {
    let mut rng = Rng::new(12);
    let mut checked = 0;
    for round in 0..400 {
        let tensors = round % 2 == 0;
        let options = Grown::new(Dictionary::PiecewiseLinear).inputs(1 + rng.below(3)).equations(3 + rng.below(8));
        let p = program(&mut rng, &if tensors { options.tensors() } else { options });
        let wrt: Vec<usize> = (0..p.inputs().len()).collect();
        let directions = 3;
        let c = directional::<f64>(&p, &wrt, directions, &Options::default()).unwrap();
        for at in [tied_point(&mut rng, &p), origin(&p)] {
            let at: Vec<Tensor<f64>> = convert(&at);
            let along: Vec<Vec<Tensor<f64>>> = (0..directions).map(|_| convert(&dyadic_point(&mut rng, &p))).collect();
            // tangents have the directions along their first axis
            let tangents: Vec<Vec<f64>> =
                wrt.iter().map(|&i| along.iter().flat_map(|d| d[i].data().to_vec()).collect()).collect();
            let mut inputs: Vec<&[f64]> = at.iter().map(|t| t.data()).collect();
            inputs.extend(tangents.iter().map(|t| &t[..]));
            let (mut y, mut d) = ([0.0], vec![0.0; directions]);
            c.run(&mut c.workspace(), &inputs, &mut [&mut y, &mut d]).unwrap();
            let h = 0.5f64.powi(20);
            let value = run(&p, &at).unwrap()[0].data()[0];
            for (direction, d) in along.iter().zip(&d) {
                let there = run(&p, &moved(&at, &h, direction)).unwrap()[0].data()[0];
                let quotient = (there - value) / h;
                assert!((quotient - d).abs() <= 1e-6 * quotient.abs().max(1.0), "round {round}: {quotient} {d}\n{p}");
                checked += 1;
            }
        }
    }
    assert_eq!(checked, 400 * 2 * 3);
}

/// The middle one of five, at points where up to all five are tied: one-sided limits, and the gradient a little further along.
#[test]
fn order_statistics_and_elu_are_right_at_ties() {
    use crease_core::{Kink, Lane, Op};
    let mut rng = Rng::new(14);
    let mut compared = 0;
    for (k, points) in (0..5).zip([[0.0, 0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 1.0, 0.0, 2.0]].into_iter().cycle()) {
        let mut b = crease_core::Builder::new("order");
        let x: Vec<_> = (0..5).map(|i| b.input(format!("x{i}"), crease_core::Shape::scalar()).unwrap()).collect();
        let y = b.push1(Op::Kink(Kink::OrderStatistic(Lane::Args, k)), &x).unwrap();
        let y = b.push1(Op::Kink(Kink::Elu(2.into())), &[y]).unwrap();
        let p = b.finish(&[y]).unwrap();
        let (d, c) = (
            directional::<f64>(&p, &[0, 1, 2, 3, 4], 1, &Options::default()).unwrap(),
            clarke::<f64>(&p, &Options::default()).unwrap(),
        );
        let derived = backprop(&p, &How::default()).unwrap();
        for _ in 0..50 {
            let at: Vec<Tensor<f64>> = points.iter().map(|&x| Tensor::scalar(x)).collect();
            let along: Vec<Tensor<f64>> = convert(&generic_point(&mut rng, &p));
            let h = 0.5f64.powi(24);
            let there = moved(&at, &h, &along);
            let value = |at: &[Tensor<f64>]| run(&p, at).unwrap()[0].data()[0];
            let mut inputs: Vec<&[f64]> = at.iter().map(|t| t.data()).collect();
            inputs.extend(along.iter().map(|t| t.data()));
            let (mut y, mut slope) = ([0.0], [0.0]);
            d.run(&mut d.workspace(), &inputs, &mut [&mut y, &mut slope]).unwrap();
            assert_eq!(y[0], value(&at));
            let quotient = (value(&there) - y[0]) / h;
            assert!((quotient - slope[0]).abs() < 1e-5, "{k}: {quotient} {slope:?}");
            let mut out = [[0.0]; 6];
            let mut slices: Vec<&mut [f64]> = out.iter_mut().map(|o| &mut o[..]).collect();
            c.run(&mut c.workspace(), &inputs, &mut slices).unwrap();
            assert!((out[0][0] - value(&at)).abs() < 1e-15);
            // a direction that ties, too, has several
            if !kinks(&p, &there).unwrap().1.is_empty() {
                continue;
            }
            compared += 1;
            for (e, g) in run(&derived, &there).unwrap()[1..].iter().zip(&out[1..]) {
                assert!((e.data()[0] - g[0]).abs() < 1e-5, "{k}: {e:?} {g:?}");
            }
        }
    }
    assert!(compared > 240, "{compared}");
}

#[test]
fn a_clarke_subgradient_is_the_gradient_a_little_further_along() {
    let mut rng = Rng::new(13);
    let mut checked = 0;
    for round in 0..400 {
        let options = Grown::new(Dictionary::PiecewiseLinear).inputs(1 + rng.below(3)).equations(3 + rng.below(8));
        let p = program(&mut rng, &if round % 2 == 0 { options.tensors() } else { options });
        let c = clarke::<f64>(&p, &Options::default()).unwrap();
        let derived = backprop(&p, &How::default()).unwrap();
        for at in [tied_point(&mut rng, &p), origin(&p)] {
            let at: Vec<Tensor<f64>> = convert(&at);
            let along: Vec<Tensor<f64>> = convert(&generic_point(&mut rng, &p));
            let there = moved(&at, &0.5f64.powi(24), &along);
            // a kink that the whole line meets is tied there, too
            if !kinks(&p, &there).unwrap().1.is_empty() {
                continue;
            }
            let mut inputs: Vec<&[f64]> = at.iter().map(|t| t.data()).collect();
            inputs.extend(along.iter().map(|t| t.data()));
            let mut out: Vec<Vec<f64>> = c.outputs().iter().map(|s| vec![0.0; s.len()]).collect();
            let mut slices: Vec<&mut [f64]> = out.iter_mut().map(|o| &mut o[..]).collect();
            c.run(&mut c.workspace(), &inputs, &mut slices).unwrap();
            let expected = run(&derived, &there).unwrap();
            for (e, g) in expected[1..].iter().zip(&out[1..]) {
                for (e, g) in e.data().iter().zip(g) {
                    assert!((e - g).abs() <= 1e-9 * e.abs().max(1.0), "round {round}: {e} {g}\n{p}");
                }
            }
            checked += 1;
        }
    }
    assert!(checked > 300, "{checked} checked");
}

#[test]
fn lesser_instructions_pass_these_tests_too() {
    lesser::again();
}
