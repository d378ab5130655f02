//! What small transformers are made of, against loops written down here: tokens that are given with the point, masks of minus infinity, attention, rotary embeddings, and the
//! operators that move numbers to places.

mod network;

use crease_core::differentiate::{How, backprop};
use crease_formats::onnx::{Network, OnnxError, Options, Weights, messages::*, parse_onnx};
use network::*;
use prost::Message;

/// Reads a model with numbers for inputs that are no variables.
fn read_given(m: &ModelProto, given: &[(&str, &[i64])], weights: Weights) -> Result<Network, OnnxError> {
    let numbers = |name: &str| Ok(given.iter().find(|g| g.0 == name).map(|g| g.1.to_vec()));
    parse_onnx(&m.encode_to_vec(), &Options { given: Some(&numbers), weights, ..Options::default() })
}

fn ints_of(name: &str, dims: &[i64], data: &[i64]) -> TensorProto {
    TensorProto { dims: dims.to_vec(), ..ints(name, data) }
}

fn integer_port(name: &str, dims: &[i64], of: i32) -> ValueInfoProto {
    let dim = dims.iter().map(|&d| DimensionProto { dim_value: Some(d), dim_param: None }).collect();
    typed(name, of, Some(TensorShapeProto { dim }))
}

#[track_caller]
fn is(got: (Vec<usize>, Vec<f64>), dims: &[usize], want: &[f64]) {
    assert_eq!(got.0, dims);
    assert!(near(&got.1, want), "{:?} and {want:?}", got.1);
}

/// Numbers that repeat nowhere nearby.
fn numbers(n: usize, shift: f64) -> Vec<f64> {
    (0..n).map(|i| ((i as f64 * 0.7 + shift).sin() * 64.0).round() / 32.0).collect()
}

fn single(x: &[f64]) -> Vec<f32> {
    x.iter().map(|&x| x as f32).collect()
}

fn softmax(x: &[f64]) -> Vec<f64> {
    let top = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let e: Vec<f64> = x.iter().map(|x| (x - top).exp()).collect();
    e.iter().map(|y| y / e.iter().sum::<f64>()).collect()
}

/// Central differences of the sum of all outputs, beside the gradient of that sum.
#[track_caller]
fn gradients_agree(p: &crease_core::Program, at: &[Vec<f64>]) {
    let mut b = crease_core::Builder::new("sum");
    let inputs: Vec<_> = p.inputs().iter().map(|i| b.input(i.name.clone(), i.shape.clone()).unwrap()).collect();
    let outputs = b.splice(p, &inputs).unwrap();
    // different weights, so that a softmax does not sum to a constant
    let mut total = b.constant(0);
    for o in outputs {
        let flat = b.flatten(o).unwrap();
        let n = b.shape(flat).len();
        let weights = b.tensor(crease_core::Shape::vector(n).unwrap(), numbers(n, 1.3)).unwrap();
        let product = b.mul(flat, weights).unwrap();
        let sum = b.sum_all(product).unwrap();
        total = b.add(total, sum).unwrap();
    }
    let p = b.finish(&[total]).unwrap();
    let d = backprop(&p, &How::default()).unwrap();
    let gradient: Vec<f64> = values(&d, at)[1..].iter().flat_map(|t| t.data().to_vec()).collect();
    let value = |at: &[Vec<f64>]| values(&p, at)[0].data()[0];
    let mut k = 0;
    for i in 0..at.len() {
        for j in 0..at[i].len() {
            let h = 1e-5;
            let moved = |by: f64| {
                let mut at = at.to_vec();
                at[i][j] += by;
                value(&at)
            };
            let slope = (moved(h) - moved(-h)) / (2.0 * h);
            assert!(
                (slope - gradient[k]).abs() < 1e-6 * (1.0 + slope.abs()),
                "input {i}, {j}: {slope} and {}",
                gradient[k]
            );
            k += 1;
        }
    }
    assert_eq!(k, gradient.len());
}

#[test]
fn tokens_are_given_with_the_point_and_are_no_variables() {
    let table = floats("table", &[4, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    let nodes = vec![node("Gather", "table ids", "rows", &[]), node("Mul", "rows x", "y", &[])];
    let m = model(17, vec![integer_port("ids", &[3], 7), port("x", &[3, 1])], vec![table], nodes, &["y"]);
    let refused = message(&m);
    assert!(
        refused.contains("`ids`: an input of int64 is no variable")
            && refused.contains("give its numbers in the point"),
        "{refused}"
    );
    let network = read_given(&m, &[("ids", &[2, 0, -1])], Weights::Constants).unwrap();
    assert_eq!(network.given, ["ids"]);
    assert_eq!(network.program.inputs().len(), 1);
    let out = values(&network.program, &[vec![1.0, 10.0, 100.0]]);
    assert_eq!(out[0].data(), [5.0, 6.0, 10.0, 20.0, 700.0, 800.0]);
    let short = read_given(&m, &[("ids", &[2, 0])], Weights::Constants).unwrap_err().to_string();
    assert!(short.contains("needs 3 numbers, but the point has 2"), "{short}");
    let outside = read_given(&m, &[("ids", &[2, 0, 4])], Weights::Constants).unwrap_err().to_string();
    assert!(outside.contains("an index leaves an axis of size 4"), "{outside}");
    // by the weights there are derivatives: the table is an input, and tokens say which rows count
    let trained = read_given(&m, &[("ids", &[2, 0, 2])], Weights::Inputs).unwrap();
    gradients_agree(&trained.program, &[vec![1.0, 2.0, 3.0], numbers(8, 0.0)]);
}

#[test]
fn integers_and_masks_that_are_given_are_computed_with_while_reading() {
    // 1 - mask, times a large negative number, is added to scores; positions are counted by a cumulative sum
    let nodes = vec![
        node("CumSum", "mask axis", "counted", &[]),
        node("Sub", "counted one", "positions", &[]),
        node("Gather", "table positions", "row", &[]),
        node("Cast", "mask", "truth", &[("to", A::I(9))]),
        node("Where", "truth row x", "y", &[]),
    ];
    let constants = vec![int("axis", 0), int("one", 1), floats("table", &[3], &[10.0, 20.0, 30.0])];
    let m = model(17, vec![integer_port("mask", &[4], 6), port("x", &[4])], constants, nodes, &["y"]);
    let network = read_given(&m, &[("mask", &[1, 1, 0, 1])], Weights::Constants).unwrap();
    let out = values(&network.program, &[vec![1.0, 2.0, 3.0, 4.0]]);
    assert_eq!(out[0].data(), [10.0, 20.0, 3.0, 30.0]);
    let m = model(
        17,
        vec![integer_port("b", &[2], 9), port("x", &[2])],
        vec![],
        vec![node("Where", "b x x", "y", &[])],
        &["y"],
    );
    let wrong = read_given(&m, &[("b", &[1, 2])], Weights::Constants).unwrap_err().to_string();
    assert!(wrong.contains("truth values must be 0 or 1"), "{wrong}");
}

#[test]
fn minus_infinity_in_front_of_a_softmax_is_left_out_exactly() {
    const GONE: f32 = f32::NEG_INFINITY;
    let x = [0.5, -1.0, 2.0, 0.25, 3.0, -0.5];
    // two rows of three: the last of the first row and the first of the second are masked
    let want = |row: &[f64], gone: usize| {
        let kept: Vec<f64> = (0..3).filter(|&i| i != gone).map(|i| row[i]).collect();
        let mut soft = softmax(&kept);
        soft.insert(gone, 0.0);
        soft
    };
    let both = [want(&x[..3], 2), want(&x[3..], 0)].concat();
    let added = vec![floats("m", &[2, 3], &[0.0, 0.0, GONE, GONE, 0.0, 0.0])];
    let chosen = vec![bools("m", &[2, 3], &[true, true, false, false, true, true]), floats("low", &[], &[GONE])];
    let sum = vec![node("Add", "x m", "s", &[]), node("Softmax", "s", "y", &[])];
    let choice = vec![node("Where", "m x low", "s", &[]), node("Softmax", "s", "y", &[("axis", A::I(1))])];
    for (constants, nodes) in [(added.clone(), sum), (chosen, choice)] {
        let network = read(&model(17, vec![port("x", &[2, 3])], constants, nodes, &["y"])).unwrap();
        let out = values(&network.program, &[x.to_vec()]);
        assert!(near(out[0].data(), &both), "{:?} and {both:?}", out[0].data());
        gradients_agree(&network.program, &[x.to_vec()]);
        // large numbers do not overflow, and what is masked has no influence at all
        let far = values(&network.program, &[vec![1000.0, 1001.0, 5e3, -4e3, -900.0, -901.0]]);
        let soft = softmax(&[0.0, 1.0]);
        assert!(near(far[0].data(), &[soft[0], soft[1], 0.0, 0.0, soft[1], soft[0]]), "{:?}", far[0].data());
    }
    // the logarithm of the sum of exponentials, along another axis
    let nodes = vec![
        node("Add", "x m", "s", &[]),
        node("Transpose", "s", "t", &[]),
        node("ReduceLogSumExp", "t", "y", &[("axes", A::Is(&[0])), ("keepdims", A::I(0))]),
    ];
    let network = read(&model(17, vec![port("x", &[2, 3])], added.clone(), nodes, &["y"])).unwrap();
    let out = values(&network.program, &[x.to_vec()]);
    let lse = |a: f64, b: f64| (a.exp() + b.exp()).ln();
    assert!(near(out[0].data(), &[lse(0.5, -1.0), lse(3.0, -0.5)]), "{:?}", out[0].data());
    gradients_agree(&network.program, &[x.to_vec()]);
    // a logarithm of a softmax is minus infinity where it is masked, and its exponential of a second softmax is the same
    let nodes = vec![node("Add", "x m", "s", &[]), node("LogSoftmax", "s", "l", &[]), node("Softmax", "l", "y", &[])];
    let network = read(&model(17, vec![port("x", &[2, 3])], added.clone(), nodes, &["y"])).unwrap();
    assert!(near(values(&network.program, &[x.to_vec()])[0].data(), &both));
    // everything masked has no value, and anything else refuses minus infinity
    let all = vec![floats("m", &[2, 3], &[0.0, 0.0, 0.0, GONE, GONE, GONE])];
    let nodes = vec![node("Add", "x m", "s", &[]), node("Softmax", "s", "y", &[])];
    let told = message(&model(17, vec![port("x", &[2, 3])], all, nodes, &["y"]));
    assert!(told.contains("(Softmax): all of its numbers at [1] are masked"), "{told}");
    let nodes = vec![node("Add", "x m", "s", &[]), node("Relu", "s", "y", &[])];
    let told = message(&model(17, vec![port("x", &[2, 3])], added.clone(), nodes, &["y"]));
    assert!(told.contains("(Relu): its argument is minus infinity at [0, 2]"), "{told}");
    let told = message(&model(17, vec![port("x", &[2, 3])], added, vec![node("Add", "x m", "y", &[])], &["y"]));
    assert!(told.contains("`y`: as an output: some of its numbers are minus infinity"), "{told}");
}

#[test]
fn numbers_that_are_computed_are_numbers() {
    let x: (&[i64], &[f64]) = (&[3], &[1.0, -2.0, 3.0]);
    is(apply(17, "IsNaN", x, vec![], &[]), &[3], &[0.0; 3]);
    is(apply(17, "IsInf", x, vec![], &[]), &[3], &[0.0; 3]);
    // as exporters guard a softmax: what is no number becomes 0
    let nodes =
        vec![node("Softmax", "x", "s", &[]), node("IsNaN", "s", "bad", &[]), node("Where", "bad zero s", "y", &[])];
    let network = read(&model(17, vec![port("x", &[3])], vec![floats("zero", &[], &[0.0])], nodes, &["y"])).unwrap();
    assert!(near(values(&network.program, &[x.1.to_vec()])[0].data(), &softmax(x.1)));
    let constant = floats("c", &[3], &[f32::NAN, f32::NEG_INFINITY, 1.0]);
    for (op, attributes, want) in [
        ("IsNaN", vec![], [1.0, 2.0, 2.0]),
        ("IsInf", vec![], [2.0, 1.0, 2.0]),
        ("IsInf", vec![("detect_negative", A::I(0))], [2.0, 2.0, 2.0]),
    ] {
        let nodes = vec![node(op, "c", "bad", &attributes), node("Where", "bad one x", "y", &[])];
        let constants = vec![constant.clone(), floats("one", &[], &[1.0])];
        let network = read(&model(20, vec![port("x", &[3])], constants, nodes, &["y"])).unwrap();
        assert_eq!(values(&network.program, &[vec![2.0; 3]])[0].data(), want, "{op}");
    }
}

#[test]
fn triangles() {
    let x = numbers(12, 0.0);
    for (upper, k) in [(true, 0), (true, 1), (true, -1), (false, 0), (false, 1), (false, -2), (true, 9), (false, 9)] {
        let got = apply(17, "Trilu", (&[2, 2, 3], &x), vec![int("k", k)], &[("upper", A::I(i64::from(upper)))]);
        let mut want = x.clone();
        for m in 0..2 {
            for i in 0..2i64 {
                for j in 0..3i64 {
                    let keep = if upper { j - i >= k } else { j - i <= k };
                    if !keep {
                        want[m * 6 + (i * 3 + j) as usize] = 0.0;
                    }
                }
            }
        }
        is(got, &[2, 2, 3], &want);
    }
    // a causal mask as exporters write it
    let full = TensorProto { dims: vec![1], ..floats("v", &[1], &[f32::NEG_INFINITY]) };
    let nodes = vec![
        node("ConstantOfShape", "size", "low", &[("value", A::T(&full))]),
        node("Trilu", "low k", "mask", &[]),
        node("Add", "x mask", "s", &[]),
        node("Softmax", "s", "y", &[]),
    ];
    let network =
        read(&model(17, vec![port("x", &[3, 3])], vec![ints("size", &[3, 3]), int("k", 1)], nodes, &["y"])).unwrap();
    let x = numbers(9, 0.4);
    let mut want = vec![0.0; 9];
    for i in 0..3 {
        want[3 * i..3 * i + i + 1].copy_from_slice(&softmax(&x[3 * i..3 * i + i + 1]));
    }
    assert!(near(values(&network.program, std::slice::from_ref(&x))[0].data(), &want));
    gradients_agree(&network.program, &[x]);
}

#[test]
fn cumulative_sums() {
    let x = numbers(12, 0.2);
    for axis in [0i64, 1, -1] {
        for (exclusive, reverse) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
            let with = [("exclusive", A::I(exclusive)), ("reverse", A::I(reverse))];
            let got = apply(14, "CumSum", (&[2, 3, 2], &x), vec![int("a", axis)], &with);
            let along = axis.rem_euclid(3) as usize;
            let dims = [2, 3, 2];
            let at = |i: usize| [i / 6, i / 2 % 3, i % 2];
            let want: Vec<f64> = (0..12)
                .map(|i| {
                    let mine = at(i);
                    let counts = |j: usize| {
                        let other = at(j);
                        let same = (0..3).all(|a| a == along || mine[a] == other[a]);
                        let before =
                            if reverse == 1 { other[along] >= mine[along] } else { other[along] <= mine[along] };
                        same && before && !(exclusive == 1 && other[along] == mine[along])
                    };
                    (0..12).filter(|&j| counts(j)).map(|j| x[j]).sum()
                })
                .collect();
            is(got, &dims, &want);
        }
    }
    is(apply(14, "CumSum", (&[2, 1], &[3.0, 4.0]), vec![int("a", 1)], &[("exclusive", A::I(1))]), &[2, 1], &[0.0, 0.0]);
}

#[test]
fn elements_and_parts_at_constant_places() {
    let x: Vec<f64> = (0..6).map(f64::from).collect();
    let x: (&[i64], &[f64]) = (&[3, 2], &x);
    is(
        apply(13, "GatherElements", x, vec![ints_of("i", &[2, 2], &[2, 0, -1, 1])], &[]),
        &[2, 2],
        &[4.0, 1.0, 4.0, 3.0],
    );
    is(
        apply(13, "GatherElements", x, vec![ints_of("i", &[3, 1], &[1, 0, 1])], &[("axis", A::I(1))]),
        &[3, 1],
        &[1.0, 2.0, 5.0],
    );
    is(apply(13, "GatherND", x, vec![ints_of("i", &[2, 2], &[2, 1, 0, 0])], &[]), &[2], &[5.0, 0.0]);
    is(apply(13, "GatherND", x, vec![ints_of("i", &[2, 1], &[-1, 0])], &[]), &[2, 2], &[4.0, 5.0, 0.0, 1.0]);
    is(
        apply(13, "GatherND", x, vec![ints_of("i", &[3, 1], &[1, 0, 1])], &[("batch_dims", A::I(1))]),
        &[3],
        &[1.0, 2.0, 5.0],
    );
    let scatter = |op: &str, i: TensorProto, u: TensorProto, with: &[(&str, A<'_>)]| apply(18, op, x, vec![i, u], with);
    let i = ints_of("i", &[2, 2], &[2, 0, 1, 0]);
    let u = floats("u", &[2, 2], &[10.0, 20.0, 30.0, 40.0]);
    // the last one for a place counts
    is(scatter("ScatterElements", i.clone(), u.clone(), &[]), &[3, 2], &[0.0, 40.0, 30.0, 3.0, 10.0, 5.0]);
    is(
        scatter("ScatterElements", i.clone(), u.clone(), &[("reduction", A::S("add"))]),
        &[3, 2],
        &[0.0, 61.0, 32.0, 3.0, 14.0, 5.0],
    );
    let once = ints_of("i", &[1, 2], &[2, 0]);
    let pair = floats("u", &[1, 2], &[3.0, -1.0]);
    for (reduction, want) in [
        ("mul", [0.0, -1.0, 2.0, 3.0, 12.0, 5.0]),
        ("max", [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]),
        ("min", [0.0, -1.0, 2.0, 3.0, 3.0, 5.0]),
    ] {
        is(scatter("ScatterElements", once.clone(), pair.clone(), &[("reduction", A::S(reduction))]), &[3, 2], &want);
    }
    let rows = ints_of("i", &[2, 1], &[2, 0]);
    is(scatter("ScatterND", rows, u.clone(), &[]), &[3, 2], &[30.0, 40.0, 2.0, 3.0, 10.0, 20.0]);
    let single = ints_of("i", &[2, 2], &[2, 0, 2, 0]);
    is(
        scatter("ScatterND", single, floats("u", &[2], &[1.0, 2.0]), &[("reduction", A::S("add"))]),
        &[3, 2],
        &[0.0, 1.0, 2.0, 3.0, 7.0, 5.0],
    );
    let told = |op: &str, constants: Vec<TensorProto>, inputs: &str, with: &[(&str, A<'_>)]| {
        message(&model(18, vec![port("x", &[3, 2])], constants, vec![node(op, inputs, "y", with)], &["y"]))
    };
    let twice = told("ScatterElements", vec![i, u.clone()], "x i u", &[("reduction", A::S("max"))]);
    assert!(twice.contains("an index occurs twice"), "{twice}");
    let outside = told("GatherND", vec![ints_of("i", &[1, 2], &[3, 0])], "x i", &[]);
    assert!(outside.contains("an index is 3, on an axis of size 3"), "{outside}");
    let shape = told("ScatterND", vec![ints_of("i", &[1, 1], &[0]), u], "x i u", &[]);
    assert!(shape.contains("updates of shape [2, 2], expected [1, 2]"), "{shape}");
}

#[test]
fn scatters_at_computed_places() {
    // the largest number of each row is written over, or added to
    for (reduction, want) in [("none", [1.0, 9.0, 8.0, 3.0]), ("add", [1.0, 11.0, 13.0, 3.0])] {
        let nodes = vec![
            node("ArgMax", "x", "i", &[("axis", A::I(1))]),
            node("ScatterElements", "x i u", "y", &[("axis", A::I(1)), ("reduction", A::S(reduction))]),
        ];
        let m = model(18, vec![port("x", &[2, 2]), port("u", &[2, 1])], vec![], nodes, &["y"]);
        let network = read(&m).unwrap();
        let at = [vec![1.0, 2.0, 5.0, 3.0], vec![9.0, 8.0]];
        assert_eq!(values(&network.program, &at)[0].data(), want, "{reduction}");
        gradients_agree(&network.program, &at);
    }
}

#[test]
fn casts_and_divisions_of_computed_integers() {
    let nodes = vec![
        node("Cast", "x", "i", &[("to", A::I(7))]),
        node("ArgMax", "x", "k", &[("axis", A::I(0)), ("keepdims", A::I(1))]),
        node("Div", "i two", "half", &[]),
        node("Cast", "i", "again", &[("to", A::I(6))]),
        node("Cast", "again", "truth", &[("to", A::I(9))]),
        node("Cast", "truth", "y", &[("to", A::I(1))]),
    ];
    let m = model(17, vec![port("x", &[4])], vec![int("two", 2)], nodes, &["i", "half", "y", "k"]);
    let out = values(&read(&m).unwrap().program, &[vec![-3.7, -0.5, 3.7, 0.25]]);
    assert_eq!(out[0].data(), [-3.0, 0.0, 3.0, 0.0]);
    // towards 0, as a runtime divides integers
    assert_eq!(out[1].data(), [-1.0, 0.0, 1.0, 0.0]);
    assert_eq!(out[2].data(), [1.0, 0.0, 1.0, 0.0]);
    assert_eq!(out[3].data(), [2.0]);
}

#[test]
fn either_but_not_both() {
    let nodes = vec![
        node("Greater", "x zero", "a", &[]),
        node("Greater", "x one", "b", &[]),
        node("Xor", "a b", "c", &[]),
        node("Xor", "c known", "d", &[]),
        node("And", "d known", "e", &[]),
        node("Where", "c x zero", "y", &[]),
        node("Cast", "e", "z", &[("to", A::I(1))]),
    ];
    let constants =
        vec![floats("zero", &[], &[0.0]), floats("one", &[], &[1.0]), bools("known", &[3], &[true, false, true])];
    let network = read(&model(17, vec![port("x", &[3])], constants, nodes, &["y", "z"])).unwrap();
    let out = values(&network.program, &[vec![-1.0, 0.5, 2.0]]);
    assert_eq!(out[0].data(), [0.0, 0.5, 0.0]);
    assert_eq!(out[1].data(), [1.0, 0.0, 1.0]);
}

#[test]
fn thresholds_and_norms() {
    let x = [-2.0, 0.5, 1.0, 3.0];
    let relu = |alpha: f32| apply(17, "ThresholdedRelu", (&[4], &x), vec![], &[("alpha", A::F(alpha))]).1;
    assert_eq!(relu(1.0), [0.0, 0.0, 0.0, 3.0]);
    assert_eq!(relu(0.0), [0.0, 0.5, 1.0, 3.0]);
    assert_eq!(relu(-3.0), x);
    let y = numbers(2 * 16, 0.6);
    for p in [1i64, 2, 3] {
        let norm = |v: &[f64]| v.iter().map(|x| x.abs().powi(p as i32)).sum::<f64>().powf(1.0 / p as f64);
        let got = apply(
            18,
            "LpPool",
            (&[1, 2, 4, 4], &y),
            vec![],
            &[
                ("kernel_shape", A::Is(&[2, 3])),
                ("strides", A::Is(&[2, 1])),
                ("pads", A::Is(&[1, 0, 1, 1])),
                ("p", A::I(p)),
            ],
        );
        let mut want = Vec::new();
        for channel in 0..2i64 {
            for row in 0..3i64 {
                for column in 0..3i64 {
                    let mut window = Vec::new();
                    for (i, j) in (0..2).flat_map(|i| (0..3).map(move |j| (row * 2 - 1 + i, column + j))) {
                        if (0..4).contains(&i) && (0..4).contains(&j) {
                            window.push(y[(channel * 16 + i * 4 + j) as usize]);
                        }
                    }
                    want.push(norm(&window));
                }
            }
        }
        is(got, &[1, 2, 3, 3], &want);
        let got = apply(18, "GlobalLpPool", (&[1, 2, 4, 4], &y), vec![], &[("p", A::I(p))]);
        is(got, &[1, 2, 1, 1], &[norm(&y[..16]), norm(&y[16..])]);
        if p < 3 {
            let got = apply(18, "LpNormalization", (&[2, 16], &y), vec![], &[("axis", A::I(0)), ("p", A::I(p))]);
            let want: Vec<f64> = (0..32).map(|i| y[i] / norm(&[y[i % 16], y[16 + i % 16]])).collect();
            is(got, &[2, 16], &want);
        }
    }
}

/// Sums over all values of all letters, as the definition has it.
fn einsum(equation: &str, args: &[(&[usize], &[f64])]) -> Vec<f64> {
    let (left, right) = equation.split_once("->").unwrap();
    let terms: Vec<Vec<char>> = left.split(',').map(|t| t.chars().collect()).collect();
    let mut letters: Vec<char> = right.chars().collect();
    terms.iter().flatten().for_each(|l| {
        if !letters.contains(l) {
            letters.push(*l)
        }
    });
    let size =
        |l: &char| terms.iter().zip(args).find_map(|(t, a)| t.iter().position(|m| m == l).map(|i| a.0[i])).unwrap();
    let sizes: Vec<usize> = letters.iter().map(size).collect();
    let mut out = vec![0.0; right.chars().map(|l| size(&l)).product()];
    for count in 0..sizes.iter().product::<usize>() {
        let mut rest = count;
        let mut at = vec![0; letters.len()];
        for i in (0..letters.len()).rev() {
            at[i] = rest % sizes[i];
            rest /= sizes[i];
        }
        let place = |t: &[char], dims: &[usize]| {
            t.iter().zip(dims).fold(0, |p, (l, d)| p * d + at[letters.iter().position(|m| m == l).unwrap()])
        };
        let product: f64 = terms.iter().zip(args).map(|(t, a)| a.1[place(t, a.0)]).product();
        let to: Vec<char> = right.chars().collect();
        let dims: Vec<usize> = to.iter().map(size).collect();
        out[place(&to, &dims)] += product;
    }
    out
}

/// A shape and its numbers.
type Array<'a> = (&'a [i64], &'a [f64]);

#[test]
fn sums_of_products() {
    let (a, b, d) = (numbers(24, 0.1), numbers(24, 0.9), numbers(12, 2.0));
    let run = |equation: &str, args: &[Array<'_>]| {
        let names: Vec<String> = (0..args.len()).map(|i| format!("a{i}")).collect();
        let ports = args.iter().zip(&names).map(|(a, n)| port(n, a.0)).collect();
        let nodes = vec![node("Einsum", &names.join(" "), "y", &[("equation", A::S(equation))])];
        let network = read(&model(12, ports, vec![], nodes, &["y"])).unwrap_or_else(|e| panic!("{equation}: {e}"));
        let at: Vec<Vec<f64>> = args.iter().map(|a| a.1.to_vec()).collect();
        gradients_agree(&network.program, &at);
        let out = values(&network.program, &at);
        (out[0].shape().dims().to_vec(), out[0].data().to_vec())
    };
    // with letters in the place of the dots
    let cases: [(&str, &str, &[Array<'_>]); 9] = [
        ("...ij,...jk->...ik", "aij,ajk->aik", &[(&[2, 3, 4], &a), (&[2, 4, 3], &b)]),
        ("i...j->...ji", "iabj->abji", &[(&[2, 3, 2, 2], &a)]),
        ("...i,i->...", "abi,i->ab", &[(&[2, 3, 4], &a), (&[4], &b[..4])]),
        ("ij,jk,kl->il", "ij,jk,kl->il", &[(&[2, 3], &a[..6]), (&[3, 4], &d), (&[4, 2], &b[..8])]),
        ("ij,ij,ij->i", "ij,ij,ij->i", &[(&[2, 3], &a[..6]), (&[2, 3], &b[..6]), (&[2, 3], &d[..6])]),
        ("ii->i", "ii->i", &[(&[3, 3], &a[..9])]),
        ("iij->ij", "iij->ij", &[(&[2, 2, 3], &d)]),
        ("ii,i->", "ii,i->", &[(&[3, 3], &a[..9]), (&[3], &b[..3])]),
        ("bhqd,bhkd->bhqk", "bhqd,bhkd->bhqk", &[(&[1, 2, 3, 4], &a), (&[1, 2, 3, 4], &b)]),
    ];
    for (equation, spelled, args) in cases {
        let owned: Vec<(Vec<usize>, &[f64])> =
            args.iter().map(|a| (a.0.iter().map(|&d| d as usize).collect(), a.1)).collect();
        let spelt: Vec<(&[usize], &[f64])> = owned.iter().map(|a| (&a.0[..], a.1)).collect();
        let (_, got) = run(equation, args);
        let want = einsum(spelled, &spelt);
        assert!(near(&got, &want), "{equation}: {got:?} and {want:?}");
    }
    // axes of dots spread: one matrix for all of a stack, which has an axis of size 1 here; without an arrow the dots come first
    let (dims, got) = run("...ij,...jk", &[(&[2, 3, 4], &a), (&[1, 4, 3], &d)]);
    assert_eq!(dims, [2, 3, 3]);
    assert!(near(&got, &einsum("aij,jk->aik", &[(&[2, 3, 4], &a), (&[4, 3], &d)])));
}

/// Attention by its definition; the mask says what is added to the scores.
#[allow(clippy::too_many_arguments)]
fn attend(
    q: &[f64],
    k: &[f64],
    v: &[f64],
    sizes: [usize; 6],
    scale: f64,
    cap: f64,
    mask: &dyn Fn(usize, usize, usize, usize) -> f64,
) -> Vec<f64> {
    let [n, qh, kh, queries, keys, size] = sizes;
    let mut out = Vec::new();
    for b in 0..n {
        for h in 0..qh {
            let other = b * kh + h / (qh / kh);
            for i in 0..queries {
                let scores: Vec<f64> = (0..keys)
                    .map(|j| {
                        let row = &q[((b * qh + h) * queries + i) * size..][..size];
                        let column = &k[(other * keys + j) * size..][..size];
                        let mut s = scale * row.iter().zip(column).map(|(x, y)| x * y).sum::<f64>();
                        if cap > 0.0 {
                            s = cap * (s / cap).tanh();
                        }
                        s + mask(b, h, i, j)
                    })
                    .collect();
                let weights = softmax(&scores);
                out.extend(
                    (0..size).map(|d| (0..keys).map(|j| weights[j] * v[(other * keys + j) * size + d]).sum::<f64>()),
                );
            }
        }
    }
    out
}

#[test]
fn attention_is_its_definition() {
    let (q, k, v) = (numbers(48, 0.0), numbers(24, 1.0), numbers(24, 2.0));
    let inputs = || vec![port("q", &[1, 4, 3, 4]), port("k", &[1, 2, 3, 4]), port("v", &[1, 2, 3, 4])];
    let sizes = [1, 4, 2, 3, 3, 4];
    let check = |names: &str, constants: Vec<TensorProto>, with: &[(&str, A<'_>)], want: &[f64]| {
        let m = model(23, inputs(), constants, vec![node("Attention", names, "y", with)], &["y"]);
        let network = read(&m).unwrap();
        let at = [q.clone(), k.clone(), v.clone()];
        let got = values(&network.program, &at);
        assert!(near(got[0].data(), want), "{names}: {:?} and {want:?}", got[0].data());
        gradients_agree(&network.program, &at);
    };
    let causal = |_: usize, _: usize, i: usize, j: usize| if j > i { f64::NEG_INFINITY } else { 0.0 };
    check("q k v", vec![], &[], &attend(&q, &k, &v, sizes, 0.5, 0.0, &|_, _, _, _| 0.0));
    check("q k v", vec![], &[("is_causal", A::I(1))], &attend(&q, &k, &v, sizes, 0.5, 0.0, &causal));
    check(
        "q k v",
        vec![],
        &[("softcap", A::F(2.0)), ("scale", A::F(0.25))],
        &attend(&q, &k, &v, sizes, 0.25, 2.0, &|_, _, _, _| 0.0),
    );
    let seen = [true, false, true, true, true, false, false, true, true];
    let hidden = |_: usize, _: usize, i: usize, j: usize| if seen[3 * i + j] { 0.0 } else { f64::NEG_INFINITY };
    check("q k v m", vec![bools("m", &[3, 3], &seen)], &[], &attend(&q, &k, &v, sizes, 0.5, 0.0, &hidden));
    let bias = numbers(36, 3.0);
    let added = |_: usize, h: usize, i: usize, j: usize| bias[(h * 3 + i) * 3 + j];
    check("q k v m", vec![floats("m", &[4, 3, 3], &single(&bias))], &[], &attend(&q, &k, &v, sizes, 0.5, 0.0, &added));
    // rows instead of heads, and a past: what came before is in front
    let rows = |x: &[f64], heads: usize| -> Vec<f64> {
        (0..3)
            .flat_map(|i| (0..heads).flat_map(move |h| (0..4).map(move |d| (h, i, d))))
            .map(|(h, i, d)| x[(h * 3 + i) * 4 + d])
            .collect()
    };
    let ports = vec![port("q", &[1, 3, 16]), port("k", &[1, 3, 8]), port("v", &[1, 3, 8])];
    let with = [("q_num_heads", A::I(4)), ("kv_num_heads", A::I(2)), ("is_causal", A::I(1))];
    let past = (numbers(16, 4.0), numbers(16, 5.0));
    let constants = vec![floats("pk", &[1, 2, 2, 4], &single(&past.0)), floats("pv", &[1, 2, 2, 4], &single(&past.1))];
    let m = model(23, ports, constants, vec![node("Attention", "q k v _ pk pv", "y keys", &with)], &["y", "keys"]);
    let out = values(&read(&m).unwrap().program, &[rows(&q, 4), rows(&k, 2), rows(&v, 2)]);
    let joined = |past: &[f64], now: &[f64]| [&past[..8], &now[..12], &past[8..], &now[12..]].concat();
    let (keys, vals) = (joined(&past.0, &k), joined(&past.1, &v));
    assert!(near(out[1].data(), &keys));
    let later = |_: usize, _: usize, i: usize, j: usize| if j > i + 2 { f64::NEG_INFINITY } else { 0.0 };
    let want = attend(&q, &keys, &vals, [1, 4, 2, 3, 5, 4], 0.5, 0.0, &later);
    assert!(near(out[0].data(), &rows(&want, 4)), "{:?} and {want:?}", out[0].data());
    let none = vec![bools("m", &[3, 3], &[true, true, true, false, false, false, true, true, true])];
    let told = message(&model(23, inputs(), none, vec![node("Attention", "q k v m", "y", &[])], &["y"]));
    assert!(told.contains("all of its numbers at [0, 0, 1] are masked"), "{told}");
}

#[test]
fn rotary_embeddings_turn_pairs() {
    let x = numbers(2 * 3 * 6, 0.5);
    let (cos, sin) = (numbers(8, 1.0), numbers(8, 2.0));
    let tables = vec![floats("c", &[4, 2], &single(&cos)), floats("s", &[4, 2], &single(&sin))];
    let positions = [3i64, 0, 2];
    for interleaved in [false, true] {
        // four of six numbers of a head are turned, in two pairs
        let with = [("interleaved", A::I(i64::from(interleaved))), ("rotary_embedding_dim", A::I(4))];
        let constants = [tables.clone(), vec![ints_of("p", &[1, 3], &positions)]].concat();
        let got = apply(23, "RotaryEmbedding", (&[1, 2, 3, 6], &x), constants, &with);
        let mut want = x.clone();
        for head in 0..2 {
            for (step, &position) in positions.iter().enumerate() {
                for pair in 0..2 {
                    let (i, j) = if interleaved { (2 * pair, 2 * pair + 1) } else { (pair, pair + 2) };
                    let at = (head * 3 + step) * 6;
                    let row = position as usize * 2 + pair;
                    let (a, b) = (x[at + i], x[at + j]);
                    want[at + i] = cos[row] * a - sin[row] * b;
                    want[at + j] = sin[row] * a + cos[row] * b;
                }
            }
        }
        is(got, &[1, 2, 3, 6], &want);
    }
    // rows, and tables that have the steps already
    let half = vec![floats("c", &[1, 2, 1], &[0.0, 1.0]), floats("s", &[1, 2, 1], &[1.0, 0.0])];
    let y = numbers(8, 0.0);
    let got = apply(23, "RotaryEmbedding", (&[1, 2, 4], &y), half, &[("num_heads", A::I(2))]);
    is(got, &[1, 2, 4], &[-y[1], y[0], -y[3], y[2], y[4], y[5], y[6], y[7]]);
}
