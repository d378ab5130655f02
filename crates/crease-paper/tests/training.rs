//! Training with different oracles: what is at a kink, when weights part, and that nothing parts without a kink.

use crease::{Error, Number, Rational, Selection, Tensor, abs, max, relu, trace};
use crease_paper::experiments::training::{Oracle, Plan, Precision, Study, TrainingError, relu_at_zero, train};

fn small() -> Study {
    Study { steps: 150, ..Study::default() }
}

#[test]
fn weights_part_only_after_a_kink() {
    let coarse = Precision::Grid { data: 2, weights: 5 };
    let study = Study { precisions: vec![Precision::Double, Precision::Single, coarse], ..small() };
    let outcomes = relu_at_zero(&study).unwrap();
    assert_eq!(outcomes.len(), 12);
    for o in &outcomes {
        assert_eq!((o.losses.len(), o.relus), (150, 16 * 16 * 150));
        assert!(o.kinks >= o.steps_at_kinks);
        // without a kink every oracle is the gradient
        assert!(o.parted.is_none() || o.kinks > 0);
        // it learns
        assert!(o.final_loss < 0.6 && o.accuracy > 0.8, "{o:?}");
        if o.precision != coarse {
            assert_eq!((o.kinks, o.parted, o.distance), (0, None, 0.0));
        }
    }
    assert!(outcomes.iter().filter(|o| o.precision == coarse).all(|o| o.kinks > 0));
    assert!(outcomes.iter().filter(|o| o.precision == coarse).any(|o| o.parted.is_some() && o.distance > 0.0));
    // the same study gives the same outcomes
    assert_eq!(relu_at_zero(&study).unwrap(), outcomes);
}

#[test]
fn steps_are_those_of_gradient_descent() {
    // (x - 3)² / 2 with rate 1/2 halves the distance; in rationals exactly
    let p = trace(2, |x| (x[0] - x[1]) * (x[0] - x[1]) * 0.5).unwrap();
    let plan = Plan { program: &p, trained: &[0], rate: 0.5, steps: 4, grid: None };
    let q = |n, d| Tensor::scalar(Rational::new(n, d).unwrap());
    let ran = train(&plan, &Oracle::Selection(Selection::paper()), vec![q(0, 1), q(3, 1)], &[]).unwrap();
    assert_eq!(ran.inputs, [q(45, 16), q(3, 1)]);
    assert_eq!(ran.losses, [4.5, 1.125, 0.28125, 0.0703125]);
    // batches take turns
    let batches = [vec![(1, q(1, 1))], vec![(1, q(-1, 1))]];
    let ran = train(&plan, &Oracle::Selection(Selection::paper()), vec![q(0, 1), q(3, 1)], &batches).unwrap();
    assert_eq!(ran.inputs[0], q(-5, 16));
    // on a grid of quarters: 1.5, 2.25, 2.625 to 2.75, 2.875 to 3
    let coarse = Plan { grid: Some(2), ..plan };
    let ran = train(&coarse, &Oracle::Selection(Selection::paper()), vec![q(0, 1), q(3, 1)], &[]).unwrap();
    assert_eq!(ran.inputs[0], q(3, 1));
}

#[test]
fn a_clarke_oracle_sees_through_the_chain_rule() {
    // the identity, which the chain rule thinks is flat at 0: descent with relu'(0) = 0 never leaves
    let p = trace(1, |x| relu(x[0]) - relu(-x[0])).unwrap();
    let plan = Plan { program: &p, trained: &[0], rate: 1.0, steps: 3, grid: None };
    let start = || vec![Tensor::scalar(0.0)];
    let stuck = train(&plan, &Oracle::Selection(Selection::paper()), start(), &[]).unwrap();
    assert_eq!((stuck.losses, stuck.kinks), (vec![0.0; 3], vec![2; 3]));
    let free = train(&plan, &Oracle::Clarke { seed: 3 }, start(), &[]).unwrap();
    assert_eq!((free.losses, free.kinks), (vec![0.0, -1.0, -2.0], vec![2, 0, 0]));
}

#[test]
fn a_clarke_oracle_answers_with_limits_of_gradients() {
    let p = trace(2, |x| max(&[x[0], x[1]]) + abs(x[0])).unwrap();
    for seed in 0..20 {
        let plan = Plan { program: &p, trained: &[0, 1], rate: 1.0, steps: 1, grid: None };
        let zeros = vec![Tensor::scalar(0.0), Tensor::scalar(0.0)];
        let ran = train(&plan, &Oracle::Clarke { seed }, zeros, &[]).unwrap();
        let g: Vec<f64> = ran.inputs.iter().map(|t| -t.data()[0].to_f64()).collect();
        assert!([[2.0, 0.0], [0.0, 0.0], [1.0, 1.0], [-1.0, 1.0]].contains(&[g[0], g[1]]), "{g:?}");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let p = trace(1, |x| x[0]).unwrap();
    let plan = Plan { program: &p, trained: &[1], rate: 1.0, steps: 1, grid: None };
    let refused = train(&plan, &Oracle::Clarke { seed: 1 }, vec![Tensor::scalar(0.0)], &[]);
    assert!(matches!(refused, Err(TrainingError::Program(Error::Length { .. }))));
    let none = Plan { trained: &[0], rate: f64::NAN, ..plan.clone() };
    assert!(train(&none, &Oracle::Clarke { seed: 1 }, vec![Tensor::scalar(0.0)], &[]).is_err());
    let missing = Plan { trained: &[0], ..plan };
    assert!(train::<f64>(&missing, &Oracle::Clarke { seed: 1 }, vec![], &[]).is_err());
    assert!(train::<f64>(&missing, &Oracle::Clarke { seed: 1 }, vec![], &[vec![(0, Tensor::scalar(1.0))]]).is_err());
    assert!(relu_at_zero(&Study { batch: 7, ..small() }).is_err());
    assert!(relu_at_zero(&Study { batch: 0, ..small() }).is_err());
}
