use super::*;
use crate::cost::{Prices, cost};
use crate::{Function, How, Rational, backprop};

const ACTIVATIONS: [Activation; 7] = [
    Activation::Relu,
    Activation::LeakyRelu(0.125),
    Activation::Elu(1.0),
    Activation::Tanh,
    Activation::Sigmoid,
    Activation::Abs,
    Activation::Identity,
];

/// A point for the program of a network: noise for the input, first weights, noise for the target.
fn point(network: &Network, batch: usize, target: usize) -> Vec<f64> {
    let mut noise = init::Normal::new(11);
    let n: usize = network.input.iter().product();
    let mut x: Vec<f64> = (0..batch * n).map(|_| noise.draw()).collect();
    x.extend(network.weights(5).unwrap().into_iter().flat_map(Tensor::into_data));
    x.extend((0..target).map(|i| if i % 3 == 0 { 1.0 } else { 0.0 }));
    x
}

fn slopes_match(f: &Function, x: &[f64], what: &str) {
    let (g, e) = (f.grad(x).unwrap(), 1e-6);
    let mut y = x.to_vec();
    for i in 0..x.len() {
        y[i] = x[i] + e;
        let up = f.value(&y).unwrap();
        y[i] = x[i] - e;
        let down = f.value(&y).unwrap();
        y[i] = x[i];
        let slope = (up - down) / (2.0 * e);
        assert!((slope - g[i]).abs() < 1e-6 * (1.0 + slope.abs()), "{what}, number {i}: {slope} and {}", g[i]);
    }
}

#[test]
fn a_dense_layer_costs_two_operations_for_each_weight() {
    let p = Network::new([7]).layer(Layer::Dense(5)).layer(Layer::Activation(Activation::Relu)).program(3).unwrap();
    assert_eq!(cost(&p), crate::cost::Price::new(3 * 5 * 2 * 7, 0, 3 * 5));
}

#[test]
fn gradients_are_those_of_finite_differences() {
    for activation in ACTIVATIONS {
        let mlp = Mlp::new(&[3, 4, 3]).activation(activation).network();
        let f = Function::from(mlp.loss_program(2, Loss::CrossEntropy).unwrap());
        slopes_match(&f, &point(&mlp, 2, 6), &format!("{activation:?}"));
    }
    let mlp = Mlp::new(&[3, 4, 2]).network();
    for loss in [Loss::Squared, Loss::Absolute, Loss::Hinge, Loss::Huber(0.5)] {
        let f = Function::from(mlp.loss_program(2, loss).unwrap());
        slopes_match(&f, &point(&mlp, 2, 4), loss.name());
    }
    let cnn: Network = Cnn::new((2, 6, 6))
        .padded_conv(3, (3, 3), (1, 1))
        .activation(Activation::Relu)
        .max_pool((2, 2))
        .flatten()
        .dense(3)
        .into();
    let f = Function::from(cnn.loss_program(2, Loss::CrossEntropy).unwrap());
    slopes_match(&f, &point(&cnn, 2, 6), "convolution");
}

#[test]
fn a_batch_loss_is_the_mean_of_single_losses() {
    let mlp = Mlp::new(&[3, 4, 3]).network();
    let x = point(&mlp, 2, 6);
    let both = Function::from(mlp.loss_program(2, Loss::CrossEntropy).unwrap()).value(&x).unwrap();
    let one = Function::from(mlp.loss_program(1, Loss::CrossEntropy).unwrap());
    let weights = &x[6..x.len() - 6];
    let single = |i: usize| {
        let target = &x[x.len() - 6 + 3 * i..][..3];
        one.value(&[&x[3 * i..][..3], weights, target].concat()).unwrap()
    };
    assert!((both - (single(0) + single(1)) / 2.0).abs() < 1e-14);
}

#[test]
fn backprop_stays_within_five_times_the_cost() {
    let unit = Prices::unit();
    let cnn = Cnn::new((1, 8, 8)).padded_conv(2, (3, 3), (1, 1)).max_pool((2, 2)).flatten().dense(3);
    let networks = ACTIVATIONS.map(|a| Mlp::new(&[6, 5, 4]).activation(a).network());
    for network in networks.iter().chain([cnn.network()]) {
        for loss in [Loss::Squared, Loss::Absolute, Loss::Hinge, Loss::Huber(1.0), Loss::CrossEntropy] {
            for batch in [1, 4] {
                let p = network.loss_program(batch, loss).unwrap();
                let d = backprop(&p, &How::default()).unwrap();
                let (p, d) = (cost(&p).at(&unit), cost(&d).at(&unit));
                assert!(d <= p.clone() * Rational::from(5), "{loss:?}: {d} for {p}");
            }
        }
    }
}

#[test]
fn the_network_of_the_benchmarks_has_these_costs() {
    let cnn = Cnn::new((1, 28, 28))
        .padded_conv(8, (3, 3), (1, 1))
        .activation(Activation::Relu)
        .max_pool((2, 2))
        .padded_conv(16, (3, 3), (1, 1))
        .activation(Activation::Relu)
        .max_pool((2, 2))
        .flatten()
        .dense(10);
    let shapes = cnn.network().shapes().unwrap();
    assert_eq!(shapes[2], [8, 14, 14]);
    assert_eq!(shapes[5], [16, 7, 7]);
    let price = cost(&cnn.program(1).unwrap());
    // two operations for each weight and position; a sign for each number; three comparisons for each window of four
    assert_eq!(price.one, 2 * (9 * 8 * 28 * 28 + 72 * 16 * 14 * 14 + 784 * 10));
    assert_eq!(price.relu, 8 * 28 * 28 + 16 * 14 * 14 + 3 * (8 * 14 * 14 + 16 * 7 * 7));
}

#[test]
fn misfits_are_told() {
    let told = |n: Network| n.program(1).unwrap_err().to_string();
    assert_eq!(told(Mlp::new(&[3]).network()), "the network has no layer; give at least two sizes, or add a layer");
    assert_eq!(told(Mlp::new(&[3, 0]).network()), "layer 1, dense to 0, gives nothing; its size must be at least 1");
    assert_eq!(
        told(Network::new([4]).layer(Layer::Conv { out: 1, kernel: (1, 1), stride: (1, 1), padding: (0, 0) })),
        "layer 1, convolution to 1 channels, takes images [channels, rows, columns], but gets shape [4]"
    );
    assert_eq!(
        told(Cnn::new((1, 4, 4)).flatten().dense(2).max_pool((2, 2)).into()),
        "layer 3, max-pool 2x2, takes images [channels, rows, columns], but gets shape [2]"
    );
    assert_eq!(
        told(Cnn::new((1, 4, 4)).conv(2, (5, 5)).into()),
        "layer 1, convolution to 2 channels, does not fit shape [1, 4, 4]: its window of (5, 5) has steps (1, 1) and padding (0, 0)"
    );
    assert!(Mlp::new(&[3, 2]).program(0).is_err());
    assert!(Mlp::new(&[0, 2]).program(1).is_err());
    let huge = (1 << 40, 1 << 40);
    assert!(Cnn::new((1, 4, 4)).padded_conv(1, huge, ((1 << 40) - 1, (1 << 40) - 1)).program(1).is_err());
    assert!(Cnn::new((1, 1 << 40, 1 << 40)).flatten().dense(1).program(1).is_err());
    assert!(Mlp::new(&[3, 2, 1]).activation(Activation::LeakyRelu(2.0)).program(1).is_err());
}

#[test]
fn the_gradient_by_weights_leaves_out_the_rest() {
    let mlp = Mlp::new(&[5, 4, 3]).network();
    let loss = mlp.loss_program(2, Loss::CrossEntropy).unwrap();
    let all = backprop(&loss, &How::default()).unwrap();
    let some = mlp.gradient_program(2, Loss::CrossEntropy, &How::default()).unwrap();
    let x = point(&mlp, 2, 6);
    let (g, h) = (Function::from(all.clone()).values(&x).unwrap(), Function::from(some.clone()).values(&x).unwrap());
    // the loss, then behind the derivatives by x those by the weights, and those by the target left out
    assert_eq!(h.len(), 1 + x.len() - 10 - 6);
    assert!((g[0] - h[0]).abs() < 1e-14);
    assert!(g[11..].iter().zip(&h[1..]).all(|(a, b)| (a - b).abs() < 1e-14));
    // at least the product that carries the adjoint to x is saved
    assert!(cost(&some).one <= cost(&all).one - 2 * 5 * (2 * 4 - 1));
}
