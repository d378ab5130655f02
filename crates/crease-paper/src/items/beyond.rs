//! The paper's paragraph on other ways to differentiate, and training with what a conservative gradient returns.

use super::item::{Failure, Run};
use super::outcome::{Outcome, Picture};
use crate::experiments::beyond::{inner_costs, ista_step, linear_system, outer_costs, unrolled};
use crate::experiments::training::{Precision, Study, relu_at_zero};
use crate::plot::{Axis, Plot, Series};
use crease::formats::parse;
use crease_core::cost::{Price, Prices};
use crease_core::differentiate::How;
use crease_core::{Callee, Program, Rational, trace_shapes};
use std::sync::Arc;

fn program(text: &str) -> Result<Arc<Program>, Failure> {
    Ok(parse(text)?.main().clone())
}

/// Lasso in n variables by some steps of ISTA: an optimisation algorithm with 2n inputs.
fn lasso(n: usize, steps: usize) -> Result<Program, Failure> {
    let entry = |i: usize, j: usize| Rational::from(((i * 7 + j * 3) % 5) as i64 - 2);
    let rows: Vec<Vec<Rational>> = (0..n).map(|i| (0..n).map(|j| entry(i, j)).collect()).collect();
    let targets: Vec<Rational> = (0..n).map(|i| entry(i, 1)).collect();
    let step = Arc::new(ista_step(&rows, &targets, &Rational::new(1, 64).unwrap_or_default())?);
    let objective = program(&format!("program size(w[{n}], lambda[{n}]) = norm1(w)"))?;
    Ok(unrolled(&step, steps, &objective)?.renamed("lasso"))
}

pub fn other_means() -> Run {
    let mut o = Outcome::of(
        "20 steps of an optimisation algorithm (ISTA for the lasso) in n = 2 to 16 variables, differentiated forward inside and backward \
         outside, and backward throughout; the solution of a linear system by the implicit function theorem; all counted",
    );
    let (how, prices) = (How::default(), Prices::unit());
    let (mut forward, mut backward, mut printed) = (Vec::new(), Vec::new(), Vec::new());
    for n in [2, 4, 8, 16] {
        let inner = lasso(n, 20)?;
        let costs = inner_costs(&Callee { program: Arc::new(inner.clone()), joint: None }, &how, &prices)?;
        let ratio = |price: &Price| costs.ratio(price).unwrap_or_default().to_f64();
        let (bound, p) = (costs.printed().to_f64(), costs.dimension as f64);
        o.holds(
            format!("forward inside, p = {p}: Theorem 2's model, and counted"),
            format!("≤ 3p + 5 = {bound}"),
            format!("{:.1}, {:.1}", ratio(&costs.forward.model), ratio(&costs.forward.counted)),
            ratio(&costs.forward.counted) <= ratio(&costs.forward.model) && ratio(&costs.forward.model) <= bound,
        );
        let g = Arc::new(inner);
        let outer = trace_shapes(&[g.inputs()[0].shape.clone(), g.inputs()[1].shape.clone()], |x| {
            let y = x[0].tape().call(&g, &[x[0], x[1]])[0];
            vec![y * y + y]
        })?;
        let whole = outer_costs(&outer, "lasso", &how, &prices)?;
        let ratio = |price: &Price| whole.ratio(price).unwrap_or_default().to_f64();
        forward.push((p, ratio(&whole.mixed.counted)));
        backward.push((p, ratio(&whole.through.counted)));
        printed.push((p, bound));
    }
    let last = forward.len() - 1;
    o.holds(
        "with an outer backward pass, p = 4 to 32",
        "depends on the dimension",
        format!("{:.1} to {:.1}", forward[0].1, forward[last].1),
        forward[last].1 > 4.0 * forward[0].1,
    );
    o.holds(
        "backward throughout",
        "does not, ≤ 5",
        format!("{:.2} to {:.2}", backward[0].1, backward[last].1),
        backward.iter().all(|p| p.1 <= 5.0),
    );
    let product = crease_core::trace(4, |x| x.iter().copied().reduce(|a, b| a * b).unwrap_or(x[0]))?;
    let costs = inner_costs(&Callee { program: Arc::new(product), joint: None }, &how, &prices)?;
    let attained = costs.forward.omega.clone().unwrap_or_default();
    o.slip(
        "forward-constant",
        "ω_f of programs of + and ×, p = 4",
        costs.printed(),
        &attained,
        attained == costs.printed(),
    );
    for n in [4, 8, 16] {
        let callee = linear_system(&program(&format!("program size(z[{n}], A[{n},{n}], b[{n}]) = norm1(z)"))?)?;
        let costs = inner_costs(&callee, &how, &prices)?;
        let ratio = |price: &Price| costs.ratio(price).unwrap_or_default().to_f64();
        let joint = ratio(costs.joint.as_ref().ok_or("a linear system without its joint program")?);
        o.holds(
            format!("solution of {n} linear equations: by the implicit function theorem, and through the elimination"),
            "an overhead of its own",
            format!("{joint:.2}, {:.2}", ratio(&costs.backward.counted)),
            joint < ratio(&costs.backward.counted),
        );
    }
    let axis = |label: &str| Axis { label: label.into(), log: true };
    let series = |name: &str, points, dashed, colour| Series { name: name.into(), points, dashed, colour };
    o.pictures.push(Picture::Plot(Plot {
        title: "An unrolled optimisation algorithm: forward inside and backward outside, and backward throughout"
            .into(),
        x: axis("inputs p of the algorithm"),
        y: axis("cost of the derivative / cost of the function"),
        series: vec![
            series("forward inside", forward, false, 0),
            series("backward throughout", backward, false, 1),
            series("3p + 5", printed, true, 6),
        ],
    }));
    Ok(o)
}

/// The name of a precision.
fn named(p: Precision) -> String {
    match p {
        Precision::Double => "f64".into(),
        Precision::Single => "f32".into(),
        Precision::Grid { data, weights } => format!("data on a grid of 2^-{data}, weights of 2^-{weights}"),
    }
}

pub fn first_order_oracle() -> Run {
    let study = Study::default();
    let mut o = Outcome::of(format!(
        "a perceptron with two hidden layers trained for {} steps with relu'(0) = 0, 1/2, 1 and with Clarke subgradients, from the same \
         weights on the same batches, in f64, f32 and on coarse grids",
        study.steps
    ));
    let outcomes = relu_at_zero(&study)?;
    for &precision in &study.precisions {
        let all: Vec<_> = outcomes.iter().filter(|t| t.precision == precision).collect();
        let losses: Vec<String> = all.iter().map(|t| format!("{:.4}", t.final_loss)).collect();
        let first = all.iter().map(|t| t.losses[0]).fold(0.0, f64::max);
        o.holds(
            format!("{}: final losses", named(precision)),
            "all converge",
            format!("{}, from {first:.4}", losses.join(", ")),
            all.iter().all(|t| t.final_loss < 0.75 * first),
        );
        let (kinks, relus) = (all[0].kinks, all[0].relus);
        let parted = all.iter().filter(|t| t.parted.is_some()).count();
        o.measured(
            format!("{}: ReLUs at 0, and trainings whose weights part from those with relu'(0) = 0", named(precision)),
            format!("{kinks} of {relus}, {parted} of 3"),
        );
    }
    let coarse = study.precisions[study.precisions.len() - 1];
    let epoch = study.examples / study.batch;
    let curves = outcomes.iter().filter(|t| t.precision == coarse).enumerate();
    let series = curves.map(|(colour, t)| Series {
        name: t.oracle.into(),
        points: t
            .losses
            .chunks(epoch)
            .enumerate()
            .map(|(k, l)| (k as f64, l.iter().sum::<f64>() / l.len() as f64))
            .collect(),
        dashed: colour == 3,
        colour,
    });
    o.pictures.push(Picture::Plot(Plot {
        title: format!("Training with different choices at kinks, {}", named(coarse)),
        x: Axis { label: "epochs".into(), log: false },
        y: Axis { label: "loss, mean over an epoch".into(), log: false },
        series: series.collect(),
    }));
    Ok(o)
}
