//! Recurrent layers against loops written out by hand.

mod network;

use crease_core::random::SplitMix64;
use network::*;

const STEPS: usize = 4;
const BATCH: usize = 2;
const INPUT: usize = 3;
const HIDDEN: usize = 2;

/// Weights of a layer, one direction after the other, and its sequence.
struct Layer {
    x: Vec<f64>,
    w: Vec<f32>,
    r: Vec<f32>,
    bias: Vec<f32>,
    h: Vec<f32>,
    c: Vec<f32>,
    holes: Vec<f32>,
    gates: usize,
}

fn layer(gates: usize, directions: usize) -> Layer {
    let mut rng = SplitMix64::new(gates as u64);
    let mut draw = |n: usize| -> Vec<f32> { (0..n).map(|_| rng.below(33) as f32 / 16.0 - 1.0).collect() };
    let x = draw(STEPS * BATCH * INPUT).into_iter().map(f64::from).collect();
    let rows = gates * HIDDEN;
    Layer {
        x,
        w: draw(directions * rows * INPUT),
        r: draw(directions * rows * HIDDEN),
        bias: draw(directions * 2 * rows),
        h: draw(directions * BATCH * HIDDEN),
        c: draw(directions * BATCH * HIDDEN),
        holes: draw(directions * 3 * HIDDEN),
        gates,
    }
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

impl Layer {
    /// What the input and the state give to gate `g`, number `j`; the biases of both.
    fn parts(&self, d: usize, g: usize, j: usize, x: &[f64], h: &[f64]) -> (f64, f64, f64, f64) {
        let rows = self.gates * HIDDEN;
        let row = d * rows + g * HIDDEN + j;
        let from_x: f64 = (0..INPUT).map(|k| f64::from(self.w[row * INPUT + k]) * x[k]).sum();
        let from_h: f64 = (0..HIDDEN).map(|k| f64::from(self.r[row * HIDDEN + k]) * h[k]).sum();
        let bias = |half: usize| f64::from(self.bias[d * 2 * rows + half * rows + g * HIDDEN + j]);
        (from_x, from_h, bias(0), bias(1))
    }

    fn sum(&self, d: usize, g: usize, j: usize, x: &[f64], h: &[f64]) -> f64 {
        let (a, b, c, e) = self.parts(d, g, j, x, h);
        a + b + c + e
    }

    /// All states [steps, directions, batch, hidden], the last ones and the last cells [directions, batch, hidden].
    fn run(
        &self,
        backward: &[bool],
        step: impl Fn(&Layer, usize, &[f64], &mut Vec<f64>, &mut Vec<f64>),
    ) -> [Vec<f64>; 3] {
        let n = backward.len();
        let mut all = vec![0.0; STEPS * n * BATCH * HIDDEN];
        let (mut last, mut cells) = (Vec::new(), Vec::new());
        for (d, &back) in backward.iter().enumerate() {
            for s in 0..BATCH {
                let start = (d * BATCH + s) * HIDDEN;
                let of = |list: &[f32]| list[start..start + HIDDEN].iter().map(|&x| f64::from(x)).collect::<Vec<f64>>();
                let (mut h, mut c) = (of(&self.h), of(&self.c));
                for t in 0..STEPS {
                    let t = if back { STEPS - 1 - t } else { t };
                    let x = &self.x[(t * BATCH + s) * INPUT..][..INPUT];
                    step(self, d, x, &mut h, &mut c);
                    all[((t * n + d) * BATCH + s) * HIDDEN..][..HIDDEN].copy_from_slice(&h);
                }
                last.extend(h);
                cells.extend(c);
            }
        }
        [all, last, cells]
    }

    /// The values of the layer as a network.
    fn network(
        &self,
        op: &str,
        directions: usize,
        attributes: &[(&str, A<'_>)],
        holes: bool,
    ) -> Vec<(Vec<usize>, Vec<f64>)> {
        let (d, rows) = (directions as i64, (self.gates * HIDDEN) as i64);
        let (h, b, i) = (HIDDEN as i64, BATCH as i64, INPUT as i64);
        let mut constants = vec![
            floats("w", &[d, rows, i], &self.w),
            floats("r", &[d, rows, h], &self.r),
            floats("b", &[d, 2 * rows], &self.bias),
            floats("h0", &[d, b, h], &self.h),
        ];
        let mut inputs = "x w r b _ h0".to_string();
        let mut outputs = "y last";
        if op == "LSTM" {
            constants.push(floats("c0", &[d, b, h], &self.c));
            inputs.push_str(" c0");
            outputs = "y last cells";
        }
        if holes {
            constants.push(floats("p", &[d, 3 * h], &self.holes));
            inputs.push_str(" p");
        }
        let names: Vec<&str> = outputs.split(' ').collect();
        let nodes = vec![node(op, &inputs, outputs, attributes)];
        let m = model(14, vec![port("x", &[STEPS as i64, b, i])], constants, nodes, &names);
        let network = read(&m).unwrap_or_else(|e| panic!("{op}: {e}"));
        let out = values(&network.program, std::slice::from_ref(&self.x));
        out.iter().map(|t| (t.shape().dims().to_vec(), t.data().to_vec())).collect()
    }
}

fn check(got: &[(Vec<usize>, Vec<f64>)], want: &[Vec<f64>; 3], directions: usize) {
    assert_eq!(got[0].0, [STEPS, directions, BATCH, HIDDEN]);
    assert_eq!(got[1].0, [directions, BATCH, HIDDEN]);
    for ((_, got), want) in got.iter().zip(want) {
        assert!(near(got, want), "{got:?}\n{want:?}");
    }
}

#[test]
fn plain_layers_in_both_directions() {
    let step = |l: &Layer, d: usize, x: &[f64], h: &mut Vec<f64>, _: &mut Vec<f64>| {
        *h = (0..HIDDEN).map(|j| l.sum(d, 0, j, x, h).tanh()).collect();
    };
    for (direction, backward) in [("forward", &[false][..]), ("reverse", &[true]), ("bidirectional", &[false, true])] {
        let l = layer(1, backward.len());
        let got = l.network("RNN", backward.len(), &[("direction", A::S(direction))], false);
        check(&got, &l.run(backward, step), backward.len());
    }
}

#[test]
fn gated_layers_with_both_kinds_of_reset() {
    for after in [false, true] {
        let step = |l: &Layer, d: usize, x: &[f64], h: &mut Vec<f64>, _: &mut Vec<f64>| {
            let gate = |g: usize| (0..HIDDEN).map(|j| sigmoid(l.sum(d, g, j, x, h))).collect::<Vec<f64>>();
            let (z, r) = (gate(0), gate(1));
            let less: Vec<f64> = r.iter().zip(h.iter()).map(|(r, h)| r * h).collect();
            let new = (0..HIDDEN).map(|j| {
                let (from_x, from_h, bx, bh) = l.parts(d, 2, j, x, if after { h } else { &less });
                let state = if after { r[j] * (from_h + bh) } else { from_h + bh };
                (from_x + bx + state).tanh()
            });
            *h = new.zip(z).zip(h.iter()).map(|((n, z), h)| (1.0 - z) * n + z * h).collect();
        };
        let l = layer(3, 2);
        let attributes = [("direction", A::S("bidirectional")), ("linear_before_reset", A::I(i64::from(after)))];
        check(&l.network("GRU", 2, &attributes, false), &l.run(&[false, true], step), 2);
    }
}

#[test]
fn layers_with_cells_and_peepholes() {
    for holes in [false, true] {
        let step = |l: &Layer, d: usize, x: &[f64], h: &mut Vec<f64>, c: &mut Vec<f64>| {
            let hole =
                |g: usize, j: usize, c: f64| if holes { f64::from(l.holes[(d * 3 + g) * HIDDEN + j]) * c } else { 0.0 };
            let mut next = (Vec::new(), Vec::new());
            for (j, &before) in c.iter().enumerate() {
                let input = sigmoid(l.sum(d, 0, j, x, h) + hole(0, j, before));
                let forget = sigmoid(l.sum(d, 2, j, x, h) + hole(2, j, before));
                let cell = forget * before + input * l.sum(d, 3, j, x, h).tanh();
                let output = sigmoid(l.sum(d, 1, j, x, h) + hole(1, j, cell));
                next.0.push(output * cell.tanh());
                next.1.push(cell);
            }
            (*h, *c) = next;
        };
        let l = layer(4, 2);
        let got = l.network("LSTM", 2, &[("direction", A::S("bidirectional")), ("hidden_size", A::I(2))], holes);
        check(&got, &l.run(&[false, true], step), 2);
    }
}

#[test]
fn what_goes_into_functions_is_clipped_and_gates_are_coupled() {
    const BOUND: f64 = 0.5;
    let cut = |x: f64| x.clamp(-BOUND, BOUND);
    let step = |l: &Layer, d: usize, x: &[f64], h: &mut Vec<f64>, c: &mut Vec<f64>| {
        let mut next = (Vec::new(), Vec::new());
        for (j, &before) in c.iter().enumerate() {
            let input = sigmoid(cut(l.sum(d, 0, j, x, h)));
            let cell = (1.0 - input) * before + input * cut(l.sum(d, 3, j, x, h)).tanh();
            next.0.push(sigmoid(cut(l.sum(d, 1, j, x, h))) * cut(cell).tanh());
            next.1.push(cell);
        }
        (*h, *c) = next;
    };
    let l = layer(4, 1);
    let got = l.network("LSTM", 1, &[("clip", A::F(BOUND as f32)), ("input_forget", A::I(1))], false);
    check(&got, &l.run(&[false], step), 1);
}

#[test]
fn functions_of_gates_take_their_parameters_in_turn() {
    type Function = fn(f64) -> f64;
    let all: [(&str, Function); 11] = [
        ("Sigmoid", sigmoid),
        ("Tanh", f64::tanh),
        ("Relu", |x| x.max(0.0)),
        ("Softplus", |x| x.exp().ln_1p()),
        ("Softsign", |x| x / (1.0 + x.abs())),
        ("Affine", |x| 0.25 * x + 0.75),
        ("LeakyRelu", |x| if x > 0.0 { x } else { 0.25 * x }),
        ("ThresholdedRelu", |x| if x > 0.25 { x } else { 0.0 }),
        ("ScaledTanh", |x| 0.25 * (0.75 * x).tanh()),
        ("HardSigmoid", |x| (0.25 * x + 0.75).clamp(0.0, 1.0)),
        ("Elu", |x| if x > 0.0 { x } else { 0.25 * (x.exp() - 1.0) }),
    ];
    for (name, f) in all {
        let step = |l: &Layer, d: usize, x: &[f64], h: &mut Vec<f64>, _: &mut Vec<f64>| {
            *h = (0..HIDDEN).map(|j| f(l.sum(d, 0, j, x, h))).collect();
        };
        let l = layer(1, 1);
        let with = [
            ("activations", A::Ss(&[name])),
            ("activation_alpha", A::Fs(&[0.25])),
            ("activation_beta", A::Fs(&[0.75])),
        ];
        check(&l.network("RNN", 1, &with, false), &l.run(&[false], step), 1);
    }
    // only functions that have a parameter take one: the second direction has the first of the list
    let step = |l: &Layer, d: usize, x: &[f64], h: &mut Vec<f64>, _: &mut Vec<f64>| {
        let f = |x: f64| if d == 0 { x.tanh() } else { x.max(0.5 * x) };
        *h = (0..HIDDEN).map(|j| f(l.sum(d, 0, j, x, h))).collect();
    };
    let l = layer(1, 2);
    let with = [
        ("direction", A::S("bidirectional")),
        ("activations", A::Ss(&["Tanh", "LeakyRelu"])),
        ("activation_alpha", A::Fs(&[0.5])),
    ];
    check(&l.network("RNN", 2, &with, false), &l.run(&[false, true], step), 2);
}

#[test]
fn what_is_not_read_is_refused() {
    let l = layer(4, 1);
    let constants = || vec![floats("w", &[1, 8, 3], &l.w), floats("r", &[1, 8, 2], &l.r)];
    let refused = |attributes: &[(&str, A<'_>)], more: &str| {
        let nodes = vec![node("LSTM", &format!("x w r{more}"), "y", attributes)];
        let mut constants = constants();
        constants.push(ints("lens", &[4, 3]));
        message(&model(14, vec![port("x", &[4, 2, 3])], constants, nodes, &["y"]))
    };
    assert!(refused(&[("clip", A::F(0.0))], "").contains("its clip must be positive"));
    assert!(refused(&[("activations", A::Ss(&["Sigmoid", "Sine", "Tanh"]))], "").contains("`Sine` of a gate"));
    assert!(refused(&[("hidden_size", A::I(3))], "").contains("do not fit"));
    assert!(refused(&[], " _ lens").contains("different steps"));
}
