//! What of a network is exact: layers whose numbers are made of constants that are no fractions are rounded once, and then everything is.

mod network;

use crease_core::local::localize;
use crease_core::{Rational, Tensor, run};
use network::*;

fn rational(x: f64) -> Rational {
    Rational::from_f64(x).unwrap()
}

#[test]
fn a_batch_normalisation_of_constants_is_piecewise_linear() {
    let (scale, bias) = ([1.0f32, -0.3, 0.0, 2.5], [0.25f32, 1.0, -1.0, 0.0]);
    let (mean, variance) = ([0.5f32, 0.1, 2.0, -3.0], [3.75f32, 0.7, 1e-3, 1e4]);
    let constants = vec![
        floats("s", &[4], &scale),
        floats("b", &[4], &bias),
        floats("m", &[4], &mean),
        floats("v", &[4], &variance),
    ];
    let nodes =
        vec![node("BatchNormalization", "x s b m v", "n", &[("epsilon", A::F(0.25))]), node("Relu", "n", "y", &[])];
    let network = read(&model(15, vec![port("x", &[1, 4])], constants, nodes, &["y"])).unwrap();
    let p = &network.program;
    // at the mean of the first channel nothing but its bias is left; the second is at its kink within a rounding at most
    let x = [0.5, -0.25, 7.0, 1.5];
    let point = vec![Tensor::new(p.inputs()[0].shape.clone(), x.iter().map(|&x| rational(x)).collect()).unwrap()];
    let model = localize(p, &point).unwrap();
    assert!(model.is_exact());
    let got = run(p, &point).unwrap();
    for i in 0..4 {
        // the factor is the double f next to s / sqrt(v), and the layer is (x - m) f + b, exactly
        let (s, v) = (f64::from(scale[i]), rational(f64::from(variance[i])) + rational(0.25));
        let f = s / v.to_f64().sqrt();
        let near = [f.next_down().next_down(), f.next_down(), f, f.next_up(), f.next_up().next_up()];
        // of these the one whose square times v is closest to s squared
        let miss = |f: &f64| (rational(*f).abs() * rational(*f).abs() * &v - rational(s) * rational(s)).abs();
        let best = near.iter().min_by(|a, b| miss(a).cmp(&miss(b))).unwrap();
        let value = (rational(x[i]) - rational(f64::from(mean[i]))) * rational(*best) + rational(f64::from(bias[i]));
        let want = if value.is_negative() { Rational::ZERO } else { value };
        assert_eq!(got[0].data()[i], want, "channel {i}");
    }
}

#[test]
fn a_variance_that_is_none_is_refused() {
    let constants = ["s", "b", "m", "v"].map(|n| floats(n, &[1], &[if n == "v" { -1.0 } else { 1.0 }])).to_vec();
    let nodes = vec![node("BatchNormalization", "x s b m v", "y", &[])];
    let told = message(&model(15, vec![port("x", &[1, 1])], constants, nodes, &["y"]));
    assert!(told.contains("the variance of channel 0 and epsilon are") && told.contains("must be positive"), "{told}");
}
