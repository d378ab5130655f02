//! Operators one by one, against numbers derived by hand; what differs between sets of operators; what is refused.

mod network;

use network::*;

/// An operator on `x` without constants.
fn on(op: &str, x: &[f64], attributes: &[(&str, A<'_>)]) -> Vec<f64> {
    apply(17, op, (&[x.len() as i64], x), vec![], attributes).1
}

#[track_caller]
fn is(got: (Vec<usize>, Vec<f64>), dims: &[usize], want: &[f64]) {
    assert_eq!(got.0, dims);
    assert!(near(&got.1, want), "{:?} and {want:?}", got.1);
}

#[test]
fn functions_of_single_numbers() {
    let x = [-2.0, -0.5, 0.5, 3.0];
    let each = |op: &str, f: fn(f64) -> f64| {
        let want: Vec<f64> = x.iter().map(|&x| f(x)).collect();
        let got = on(op, &x, &[]);
        assert!(near(&got, &want), "{op}: {got:?} and {want:?}");
    };
    each("Relu", |x| x.max(0.0));
    each("Abs", f64::abs);
    each("Neg", |x| -x);
    each("Exp", f64::exp);
    each("Sin", f64::sin);
    each("Cos", f64::cos);
    each("Tanh", f64::tanh);
    each("Tan", f64::tan);
    each("Atan", f64::atan);
    each("Sinh", f64::sinh);
    each("Cosh", f64::cosh);
    each("Asinh", f64::asinh);
    each("Sigmoid", |x| 1.0 / (1.0 + (-x).exp()));
    each("Softplus", |x| x.exp().ln_1p());
    each("Softsign", |x| x / (1.0 + x.abs()));
    each("Reciprocal", |x| 1.0 / x);
    each("Identity", |x| x);
    each("Elu", |x| if x > 0.0 { x } else { x.exp() - 1.0 });
    each("Celu", |x| if x > 0.0 { x } else { x.exp() - 1.0 });
    each("HardSwish", |x| x * (x / 6.0 + 0.5).clamp(0.0, 1.0));
    each("HardSigmoid", |x| (f64::from(0.2f32) * x + 0.5).clamp(0.0, 1.0));
    each("Mish", |x| x * x.exp().ln_1p().tanh());
    each("Selu", |x| {
        let (a, g) = (1.673_263_192_176_818_8, 1.050_701_022_148_132_3);
        g * if x > 0.0 { x } else { a * (x.exp() - 1.0) }
    });
    assert!(near(&on("Log", &[1.0, 4.0], &[]), &[0.0, 4f64.ln()]));
    assert!(near(&on("Sqrt", &[0.25, 4.0], &[]), &[0.5, 2.0]));
    let inside = [-0.5f64, 0.25];
    assert!(near(&on("Asin", &inside, &[]), &inside.map(f64::asin)));
    assert!(near(&on("Acos", &inside, &[]), &inside.map(f64::acos)));
    assert!(near(&on("Atanh", &inside, &[]), &inside.map(f64::atanh)));
    assert!(near(&on("Acosh", &[1.5, 3.0], &[]), &[1.5f64.acosh(), 3f64.acosh()]));
    assert!(near(&on("Erf", &[0.0, 0.5, -1.0], &[]), &[0.0, 0.520_499_877_813_046_5, -0.842_700_792_949_714_9]));
}

#[test]
fn parameters_of_activations() {
    let x = [-2.0, 3.0];
    assert!(near(&on("LeakyRelu", &x, &[]), &[-2.0 * f64::from(0.01f32), 3.0]));
    assert!(near(&on("LeakyRelu", &x, &[("alpha", A::F(0.25))]), &[-0.5, 3.0]));
    assert!(near(&on("LeakyRelu", &x, &[("alpha", A::F(1.0))]), &x));
    assert!(near(&on("LeakyRelu", &x, &[("alpha", A::F(2.0))]), &[-4.0, 3.0]));
    assert!(near(&on("Elu", &x, &[("alpha", A::F(2.0))]), &[2.0 * ((-2f64).exp() - 1.0), 3.0]));
    assert!(near(&on("Elu", &x, &[("alpha", A::F(0.0))]), &[0.0, 3.0]));
    assert!(near(&on("Elu", &x, &[("alpha", A::F(-1.0))]), &[1.0 - (-2f64).exp(), 3.0]));
    assert!(near(&on("Celu", &x, &[("alpha", A::F(2.0))]), &[2.0 * ((-1f64).exp() - 1.0), 3.0]));
    assert!(near(&on("HardSigmoid", &x, &[("alpha", A::F(0.5)), ("beta", A::F(0.25))]), &[0.0, 1.0]));
    is(
        apply(17, "PRelu", (&[2, 2], &[-1.0, 2.0, -3.0, 4.0]), vec![floats("s", &[2, 1], &[0.5, 2.0])], &[]),
        &[2, 2],
        &[-0.5, 2.0, -6.0, 4.0],
    );
    let swish = apply(24, "Swish", (&[1], &[2.0]), vec![], &[("alpha", A::F(0.5))]);
    is(swish, &[1], &[2.0 / (1.0 + (-1f64).exp())]);
    let gelu = apply(20, "Gelu", (&[1], &[1.0]), vec![], &[("approximate", A::S("tanh"))]);
    let inner: f64 = (2.0 / std::f64::consts::PI).sqrt() * 1.044715;
    is(gelu, &[1], &[0.5 * (1.0 + inner.tanh())]);
    // 1 and -1 times the normal distribution function there
    assert!(near(&on("Gelu", &[1.0, -1.0], &[]), &[0.841_344_746_068_542_9, -0.158_655_253_931_457_05]));
    let m =
        model(20, vec![port("x", &[1])], vec![], vec![node("Gelu", "x", "y", &[("approximate", A::S("erf"))])], &["y"]);
    assert!(message(&m).contains("none and tanh are"), "{}", message(&m));
}

#[test]
fn arithmetic_spreads_shapes() {
    let x: (&[i64], &[f64]) = (&[2, 2], &[1.0, 2.0, 3.0, 4.0]);
    is(apply(13, "Add", x, vec![floats("c", &[2], &[10.0, 20.0])], &[]), &[2, 2], &[11.0, 22.0, 13.0, 24.0]);
    is(apply(13, "Sub", x, vec![floats("c", &[2, 1], &[10.0, 20.0])], &[]), &[2, 2], &[-9.0, -8.0, -17.0, -16.0]);
    is(apply(13, "Mul", x, vec![floats("c", &[], &[3.0])], &[]), &[2, 2], &[3.0, 6.0, 9.0, 12.0]);
    is(apply(13, "Div", x, vec![floats("c", &[1, 1, 1], &[4.0])], &[]), &[1, 2, 2], &[0.25, 0.5, 0.75, 1.0]);
    is(
        apply(13, "Add", (&[2, 1], &[1.0, 2.0]), vec![floats("c", &[3], &[0.0, 1.0, 2.0])], &[]),
        &[2, 3],
        &[1.0, 2.0, 3.0, 2.0, 3.0, 4.0],
    );
    is(
        apply(13, "Max", x, vec![floats("c", &[], &[2.5]), floats("d", &[2], &[0.0, 3.5])], &[]),
        &[2, 2],
        &[2.5, 3.5, 3.0, 4.0],
    );
    is(apply(13, "Min", x, vec![floats("c", &[2], &[2.5, 2.5])], &[]), &[2, 2], &[1.0, 2.0, 2.5, 2.5]);
    is(
        apply(13, "Sum", x, vec![floats("c", &[], &[1.0]), floats("d", &[2], &[0.0, 1.0])], &[]),
        &[2, 2],
        &[2.0, 4.0, 4.0, 6.0],
    );
    is(
        apply(13, "Mean", x, vec![floats("c", &[], &[2.0]), floats("d", &[2], &[0.0, 3.0])], &[]),
        &[2, 2],
        &[1.0, 7.0 / 3.0, 5.0 / 3.0, 3.0],
    );
    is(apply(13, "Max", x, vec![], &[]), &[2, 2], x.1);
    let m = model(
        13,
        vec![port("x", &[2, 2])],
        vec![floats("c", &[3], &[1.0; 3])],
        vec![node("Add", "x c", "y", &[])],
        &["y"],
    );
    assert!(message(&m).contains("do not spread to one"), "{}", message(&m));
    let m = model(
        13,
        vec![port("x", &[2])],
        vec![floats("c", &[2], &[1.0, 0.0])],
        vec![node("Div", "x c", "y", &[])],
        &["y"],
    );
    // what nobody needs may have no value, so this is an error where it runs
    let p = read(&m).unwrap().program;
    let at = [crease_core::Tensor::vector(vec![1.0, 2.0]).unwrap()];
    let error = crease_core::run(&p, &at).unwrap_err().to_string();
    assert!(error.contains("division by zero"), "{error}");
}

#[test]
fn powers() {
    let x: (&[i64], &[f64]) = (&[3], &[0.5, 1.0, 4.0]);
    let pow = |k: f32| apply(13, "Pow", x, vec![floats("k", &[], &[k])], &[]).1;
    let by = |k: f64| x.1.iter().map(|x| x.powf(k)).collect::<Vec<_>>();
    for k in [0.0, 1.0, 2.0, -1.0, 3.0, -2.0, 0.5, 1.5, 0.75, -0.5, 1.25] {
        assert!(near(&pow(k), &by(f64::from(k))), "{k}");
    }
    assert!(near(&pow(0.3), &by(f64::from(0.3f32))));
    is(apply(13, "Pow", x, vec![int("k", 2)], &[]), &[3], &[0.25, 1.0, 16.0]);
    let m = model(
        13,
        vec![port("x", &[2])],
        vec![floats("k", &[2], &[1.0, 2.0])],
        vec![node("Pow", "x k", "y", &[])],
        &["y"],
    );
    assert!(message(&m).contains("differ from element to element"), "{}", message(&m));
}

#[test]
fn bounds_are_parameters_up_to_version_10_and_arguments_then() {
    let x: (&[i64], &[f64]) = (&[3], &[-3.0, 0.5, 7.0]);
    is(apply(6 + 1, "Clip", x, vec![], &[("min", A::F(-1.0)), ("max", A::F(6.0))]), &[3], &[-1.0, 0.5, 6.0]);
    is(apply(11, "Clip", x, vec![floats("l", &[], &[-1.0]), floats("h", &[], &[6.0])], &[]), &[3], &[-1.0, 0.5, 6.0]);
    is(apply(13, "Clip", x, vec![nothing(), floats("h", &[], &[6.0])], &[]), &[3], &[-3.0, 0.5, 6.0]);
    is(
        apply(13, "Clip", x, vec![floats("l", &[], &[0.0]), floats("h", &[], &[f32::INFINITY])], &[]),
        &[3],
        &[0.0, 0.5, 7.0],
    );
    is(apply(13, "Clip", x, vec![], &[]), &[3], x.1);
}

#[test]
fn shapes_change_by_parameters_or_arguments() {
    let x: (&[i64], &[f64]) = (&[1, 2, 1, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    is(apply(11, "Squeeze", x, vec![], &[("axes", A::Is(&[0, -2]))]), &[2, 3], x.1);
    is(apply(13, "Squeeze", x, vec![ints("a", &[-2])], &[]), &[1, 2, 3], x.1);
    is(apply(13, "Squeeze", x, vec![], &[]), &[2, 3], x.1);
    is(apply(11, "Unsqueeze", x, vec![], &[("axes", A::Is(&[0, -1]))]), &[1, 1, 2, 1, 3, 1], x.1);
    is(apply(13, "Unsqueeze", x, vec![ints("a", &[-1, 0])], &[]), &[1, 1, 2, 1, 3, 1], x.1);
    is(apply(13, "Reshape", x, vec![ints("s", &[0, -1])], &[]), &[1, 6], x.1);
    is(apply(13, "Reshape", x, vec![ints("s", &[3, 2])], &[]), &[3, 2], x.1);
    is(apply(13, "Flatten", x, vec![], &[("axis", A::I(0))]), &[1, 6], x.1);
    is(apply(13, "Flatten", x, vec![], &[("axis", A::I(4))]), &[6, 1], x.1);
    is(apply(13, "Flatten", x, vec![], &[("axis", A::I(-1))]), &[2, 3], x.1);
    is(apply(13, "Flatten", x, vec![], &[]), &[1, 6], x.1);
    is(apply(13, "Transpose", (&[2, 3], x.1), vec![], &[]), &[3, 2], &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    is(apply(13, "Transpose", (&[1, 2, 3], x.1), vec![], &[("perm", A::Is(&[1, 0, 2]))]), &[2, 1, 3], x.1);
    is(
        apply(13, "Expand", (&[2, 1], &[1.0, 2.0]), vec![ints("s", &[3, 1, 2])], &[]),
        &[3, 2, 2],
        &[1.0, 1.0, 2.0, 2.0, 1.0, 1.0, 2.0, 2.0, 1.0, 1.0, 2.0, 2.0],
    );
    is(apply(13, "Expand", (&[2, 3], x.1), vec![ints("s", &[1, 1])], &[]), &[2, 3], x.1);
    is(
        apply(13, "Tile", (&[1, 2], &[1.0, 2.0]), vec![ints("r", &[2, 2])], &[]),
        &[2, 4],
        &[1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0],
    );
    let bad = |s: &[i64]| {
        let m = model(13, vec![port("x", &[2, 3])], vec![ints("s", s)], vec![node("Reshape", "x s", "y", &[])], &["y"]);
        message(&m)
    };
    assert!(bad(&[4, -1]).contains("does not fit") && bad(&[-1, -1]).contains("two sizes open"), "{}", bad(&[4, -1]));
    assert!(bad(&[7]).contains("different numbers of elements") && bad(&[-3]).contains("negative"), "{}", bad(&[7]));
}

#[test]
fn depth_and_space() {
    let x: Vec<f64> = (0..16).map(f64::from).collect();
    // four channels of 2 x 2 become one of 4 x 4
    let blocks = [0.0, 4.0, 1.0, 5.0, 8.0, 12.0, 9.0, 13.0, 2.0, 6.0, 3.0, 7.0, 10.0, 14.0, 11.0, 15.0];
    is(apply(13, "DepthToSpace", (&[1, 4, 2, 2], &x), vec![], &[("blocksize", A::I(2))]), &[1, 1, 4, 4], &blocks);
    is(apply(13, "SpaceToDepth", (&[1, 1, 4, 4], &blocks), vec![], &[("blocksize", A::I(2))]), &[1, 4, 2, 2], &x);
    let pairs: Vec<f64> = (0..8).map(f64::from).collect();
    let crd =
        apply(13, "DepthToSpace", (&[1, 8, 1, 1], &pairs), vec![], &[("blocksize", A::I(2)), ("mode", A::S("CRD"))]);
    is(crd, &[1, 2, 2, 2], &pairs);
    let dcr = apply(13, "DepthToSpace", (&[1, 8, 1, 1], &pairs), vec![], &[("blocksize", A::I(2))]);
    is(dcr, &[1, 2, 2, 2], &[0.0, 2.0, 4.0, 6.0, 1.0, 3.0, 5.0, 7.0]);
}

#[test]
fn parts() {
    let x: Vec<f64> = (0..12).map(f64::from).collect();
    let x: (&[i64], &[f64]) = (&[3, 4], &x);
    is(
        apply(9, "Slice", x, vec![], &[("starts", A::Is(&[1])), ("ends", A::Is(&[1000])), ("axes", A::Is(&[-2]))]),
        &[2, 4],
        &[4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 11.0],
    );
    let slice = |s: &[i64], e: &[i64], a: &[i64], t: &[i64]| {
        apply(13, "Slice", x, vec![ints("s", s), ints("e", e), ints("a", a), ints("t", t)], &[])
    };
    is(slice(&[0, -1], &[2, i64::MIN], &[0, 1], &[1, -1]), &[2, 4], &[3.0, 2.0, 1.0, 0.0, 7.0, 6.0, 5.0, 4.0]);
    is(slice(&[3], &[0], &[1], &[-2]), &[3, 2], &[3.0, 1.0, 7.0, 5.0, 11.0, 9.0]);
    is(slice(&[-100], &[i64::MAX], &[1], &[3]), &[3, 2], &[0.0, 3.0, 4.0, 7.0, 8.0, 11.0]);
    is(slice(&[1], &[2], &[1], &[i64::MAX]), &[3, 1], &[1.0, 5.0, 9.0]);
    is(apply(13, "Slice", x, vec![ints("s", &[1, 2]), ints("e", &[2, 4])], &[]), &[1, 2], &[6.0, 7.0]);
    is(
        apply(13, "Gather", x, vec![ints("i", &[2, 0, -1])], &[("axis", A::I(1))]),
        &[3, 3],
        &[2.0, 0.0, 3.0, 6.0, 4.0, 7.0, 10.0, 8.0, 11.0],
    );
    is(apply(13, "Gather", x, vec![int("i", 1)], &[]), &[4], &[4.0, 5.0, 6.0, 7.0]);
    let m = model(13, vec![port("x", &[3])], vec![ints("i", &[3])], vec![node("Gather", "x i", "y", &[])], &["y"]);
    assert!(message(&m).contains("leaves an axis of size 3"), "{}", message(&m));
    let m = model(
        13,
        vec![port("x", &[3])],
        vec![ints("s", &[2]), ints("e", &[1])],
        vec![node("Slice", "x s e", "y", &[])],
        &["y"],
    );
    assert!(message(&m).contains("empty axis"), "{}", message(&m));
}

#[test]
fn split_in_all_versions() {
    let split = |opset: i64, attributes: &[(&str, A<'_>)], sizes: Option<&[i64]>, outputs: &str| {
        let (inputs, constants) = sizes.map_or(("x", vec![]), |s| ("x s", vec![ints("s", s)]));
        let names: Vec<&str> = outputs.split_whitespace().collect();
        let m =
            model(opset, vec![port("x", &[5])], constants, vec![node("Split", inputs, outputs, attributes)], &names);
        read(&m).map(|n| {
            values(&n.program, &[vec![1.0, 2.0, 3.0, 4.0, 5.0]]).iter().map(|t| t.data().to_vec()).collect::<Vec<_>>()
        })
    };
    let want = vec![vec![1.0, 2.0, 3.0], vec![4.0, 5.0]];
    assert_eq!(split(9, &[("split", A::Is(&[3, 2]))], None, "a b").unwrap(), want);
    assert_eq!(split(13, &[], Some(&[3, 2]), "a b").unwrap(), want);
    assert_eq!(split(18, &[("num_outputs", A::I(2))], None, "a b").unwrap(), want);
    assert!(split(13, &[], None, "a b").unwrap_err().to_string().contains("equal parts"));
    assert!(split(13, &[], Some(&[3, 3]), "a b").unwrap_err().to_string().contains("cannot be split"));
    assert_eq!(split(13, &[], None, "a b c d e").unwrap().len(), 5);
}

#[test]
fn concat_and_where() {
    let nodes = vec![node("Concat", "x c x", "y", &[("axis", A::I(-1))]), node("Where", "m x d", "z", &[])];
    let constants =
        vec![floats("c", &[2, 1], &[8.0, 9.0]), bools("m", &[2], &[true, false]), floats("d", &[], &[-1.0])];
    let n = read(&model(13, vec![port("x", &[2, 2])], constants, nodes, &["y", "z"])).unwrap();
    let out = values(&n.program, &[vec![1.0, 2.0, 3.0, 4.0]]);
    assert_eq!(out[0].data(), [1.0, 2.0, 8.0, 1.0, 2.0, 3.0, 4.0, 9.0, 3.0, 4.0]);
    assert_eq!(out[1].data(), [1.0, -1.0, 3.0, -1.0]);
}

#[test]
fn reductions() {
    let x: (&[i64], &[f64]) = (&[2, 3], &[1.0, -2.0, 3.0, 4.0, 5.0, -6.0]);
    let axis = |op: &str| apply(13, op, x, vec![], &[("axes", A::Is(&[-1])), ("keepdims", A::I(0))]);
    is(axis("ReduceMean"), &[2], &[2.0 / 3.0, 1.0]);
    is(axis("ReduceMax"), &[2], &[3.0, 5.0]);
    is(axis("ReduceMin"), &[2], &[-2.0, -6.0]);
    is(axis("ReduceL1"), &[2], &[6.0, 15.0]);
    is(axis("ReduceL2"), &[2], &[14f64.sqrt(), 77f64.sqrt()]);
    is(axis("ReduceSumSquare"), &[2], &[14.0, 77.0]);
    is(
        axis("ReduceLogSumExp"),
        &[2],
        &[(1f64.exp() + (-2f64).exp() + 3f64.exp()).ln(), (4f64.exp() + 5f64.exp() + (-6f64).exp()).ln()],
    );
    is(apply(13, "ReduceLogSum", (&[2], &[1.0, 3.0]), vec![], &[]), &[1], &[4f64.ln()]);
    // an argument from version 13 on, for the others from 18 on
    is(apply(11, "ReduceSum", x, vec![], &[("axes", A::Is(&[0]))]), &[1, 3], &[5.0, 3.0, -3.0]);
    is(apply(13, "ReduceSum", x, vec![ints("a", &[0])], &[("keepdims", A::I(0))]), &[3], &[5.0, 3.0, -3.0]);
    is(apply(18, "ReduceMax", x, vec![ints("a", &[0, 1])], &[("keepdims", A::I(0))]), &[], &[5.0]);
    is(apply(18, "ReduceMean", x, vec![], &[]), &[1, 1], &[5.0 / 6.0]);
    is(apply(18, "ReduceMean", x, vec![], &[("noop_with_empty_axes", A::I(1))]), &[2, 3], x.1);
    is(
        apply(18, "ReduceMax", (&[2, 2, 2], &[1.0, 8.0, 3.0, 4.0, 5.0, 6.0, 7.0, 2.0]), vec![ints("a", &[0, 2])], &[]),
        &[1, 2, 1],
        &[8.0, 7.0],
    );
    is(apply(13, "ReduceL1", (&[], &[-3.0]), vec![], &[]), &[], &[3.0]);
}

#[test]
fn softmax_flattens_before_version_13() {
    let x: (&[i64], &[f64]) = (&[1, 2, 2], &[1.0, 2.0, 3.0, 4.0]);
    let all: f64 = x.1.iter().map(|x| x.exp()).sum();
    let flat: Vec<f64> = x.1.iter().map(|x| x.exp() / all).collect();
    is(apply(11, "Softmax", x, vec![], &[]), &[1, 2, 2], &flat);
    let pair = |a: f64, b: f64| [a.exp() / (a.exp() + b.exp()), b.exp() / (a.exp() + b.exp())];
    let rows = [pair(1.0, 2.0), pair(3.0, 4.0)].concat();
    is(apply(13, "Softmax", x, vec![], &[]), &[1, 2, 2], &rows);
    let columns = [pair(1.0, 3.0)[0], pair(2.0, 4.0)[0], pair(1.0, 3.0)[1], pair(2.0, 4.0)[1]];
    is(apply(13, "Softmax", x, vec![], &[("axis", A::I(1))]), &[1, 2, 2], &columns);
    let logs: Vec<f64> = rows.iter().map(|x| x.ln()).collect();
    is(apply(13, "LogSoftmax", x, vec![], &[("axis", A::I(-1))]), &[1, 2, 2], &logs);
}

#[test]
fn products_of_matrices() {
    let x: (&[i64], &[f64]) = (&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    is(apply(13, "MatMul", x, vec![floats("w", &[3, 1], &[1.0, 0.0, -1.0])], &[]), &[2, 1], &[-2.0, -2.0]);
    is(apply(13, "MatMul", x, vec![floats("w", &[3], &[1.0, 0.0, -1.0])], &[]), &[2], &[-2.0, -2.0]);
    is(
        apply(13, "MatMul", (&[3], &[1.0, 2.0, 3.0]), vec![floats("w", &[3, 2], &[1.0, 0.0, 0.0, 1.0, 1.0, 1.0])], &[]),
        &[2],
        &[4.0, 5.0],
    );
    is(apply(13, "MatMul", (&[3], &[1.0, 2.0, 3.0]), vec![floats("w", &[3], &[1.0, 1.0, 1.0])], &[]), &[], &[6.0]);
    is(
        apply(13, "MatMul", (&[2, 1, 3], x.1), vec![floats("w", &[3, 2], &[1.0, 0.0, 0.0, 1.0, 1.0, 1.0])], &[]),
        &[2, 1, 2],
        &[4.0, 5.0, 10.0, 11.0],
    );
    // stacks spread over one another
    is(
        apply(13, "MatMul", (&[1, 1, 2], &[1.0, 2.0]), vec![floats("w", &[2, 2, 1], &[1.0, 0.0, 0.0, 1.0])], &[]),
        &[2, 1, 1],
        &[1.0, 2.0],
    );
    is(
        apply(13, "MatMul", (&[2, 1, 1, 1], &[1.0, 2.0]), vec![floats("w", &[3, 1, 1], &[1.0, 2.0, 3.0])], &[]),
        &[2, 3, 1, 1],
        &[1.0, 2.0, 3.0, 2.0, 4.0, 6.0],
    );
    let gemm = |a: &[(&str, A<'_>)], w: &[i64], c: TensorProto| {
        apply(13, "Gemm", x, vec![floats("w", w, &[1.0, 0.0, 0.0, 1.0, 1.0, 1.0]), c], a)
    };
    is(gemm(&[], &[3, 2], floats("c", &[2], &[10.0, 20.0])), &[2, 2], &[14.0, 25.0, 20.0, 31.0]);
    is(
        gemm(&[("transB", A::I(1)), ("alpha", A::F(0.5)), ("beta", A::F(2.0))], &[2, 3], floats("c", &[], &[1.0])),
        &[2, 2],
        &[2.5, 5.0, 4.0, 9.5],
    );
    is(
        gemm(&[("transB", A::I(1)), ("beta", A::F(0.0))], &[2, 3], floats("c", &[], &[1.0])),
        &[2, 2],
        &[1.0, 6.0, 4.0, 15.0],
    );
    let t = apply(
        13,
        "Gemm",
        (&[3, 2], x.1),
        vec![floats("w", &[3, 1], &[1.0, 1.0, 1.0]), floats("c", &[1, 1], &[0.5])],
        &[("transA", A::I(1))],
    );
    is(t, &[2, 1], &[9.5, 12.5]);
}

use crease_formats::onnx::messages::TensorProto;

#[test]
fn einsum_of_plain_kinds() {
    let x: (&[i64], &[f64]) = (&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let with =
        |e: &str, w: Option<TensorProto>| apply(13, "Einsum", x, w.into_iter().collect(), &[("equation", A::S(e))]);
    is(with("ij->ji", None), &[3, 2], &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    is(with("ij->i", None), &[2], &[6.0, 15.0]);
    is(with("ij->", None), &[], &[21.0]);
    let w = floats("w", &[3, 2], &[1.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
    is(with("ij,jk->ik", Some(w.clone())), &[2, 2], &[4.0, 5.0, 10.0, 11.0]);
    is(with("ij,jk", Some(w.clone())), &[2, 2], &[4.0, 5.0, 10.0, 11.0]);
    is(with("ij, jk -> ki", Some(w.clone())), &[2, 2], &[4.0, 10.0, 5.0, 11.0]);
    is(with("ij,kl->ik", Some(w)), &[2, 3], &[6.0, 6.0, 12.0, 15.0, 15.0, 30.0]);
    let v = floats("w", &[2], &[1.0, 10.0]);
    is(with("ij,i->ij", Some(v.clone())), &[2, 3], &[1.0, 2.0, 3.0, 40.0, 50.0, 60.0]);
    is(with("ij,k->kji", Some(v)), &[2, 3, 2], &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0, 10.0, 40.0, 20.0, 50.0, 30.0, 60.0]);
    for bad in ["i1->i", "ij->ii", "ij->k", "ijk->i", "ij,jk->ik", "i...j...->i", "ijk...->i"] {
        let m = model(
            13,
            vec![port("x", &[2, 2])],
            vec![],
            vec![node("Einsum", "x", "y", &[("equation", A::S(bad))])],
            &["y"],
        );
        assert!(message(&m).contains(&format!("equation `{bad}`")), "{}", message(&m));
    }
}

#[test]
fn normalisations() {
    let x: (&[i64], &[f64]) = (&[1, 2, 2], &[1.0, 3.0, 2.0, 6.0]);
    let e = f64::from(1e-5f32);
    let batch = vec![
        floats("s", &[2], &[2.0, 1.0]),
        floats("b", &[2], &[0.5, 0.0]),
        floats("m", &[2], &[1.0, 2.0]),
        floats("v", &[2], &[4.0, 1.0]),
    ];
    let want = [0.5, 2.0 * 2.0 / (4.0 + e).sqrt() + 0.5, 0.0, 4.0 / (1.0 + e).sqrt()];
    is(apply(15, "BatchNormalization", x, batch, &[]), &[1, 2, 2], &want);
    let pairs = [-1.0 / (1.0 + e).sqrt(), 1.0 / (1.0 + e).sqrt(), -2.0 / (4.0 + e).sqrt(), 2.0 / (4.0 + e).sqrt()];
    let by = |s: [f64; 4], b: [f64; 4]| (0..4).map(|i| pairs[i] * s[i] + b[i]).collect::<Vec<_>>();
    let two = |n: i64, s: &str, d: [f32; 2]| floats(s, &[n], &d);
    is(
        apply(13, "InstanceNormalization", x, vec![two(2, "s", [2.0, 3.0]), two(2, "b", [0.0, 1.0])], &[]),
        &[1, 2, 2],
        &by([2.0, 2.0, 3.0, 3.0], [0.0, 0.0, 1.0, 1.0]),
    );
    is(
        apply(17, "LayerNormalization", x, vec![two(2, "s", [2.0, 3.0]), two(2, "b", [0.0, 1.0])], &[]),
        &[1, 2, 2],
        &by([2.0, 3.0, 2.0, 3.0], [0.0, 1.0, 0.0, 1.0]),
    );
    // every group has one channel; scales are those of groups, then those of channels
    for opset in [18, 21] {
        let group = apply(
            opset,
            "GroupNormalization",
            x,
            vec![two(2, "s", [2.0, 3.0]), two(2, "b", [0.0, 1.0])],
            &[("num_groups", A::I(2))],
        );
        is(group, &[1, 2, 2], &by([2.0, 2.0, 3.0, 3.0], [0.0, 0.0, 1.0, 1.0]));
    }
    let rms = apply(23, "RMSNormalization", (&[2], &[3.0, 4.0]), vec![two(2, "s", [1.0, 2.0])], &[]);
    let root = (12.5 + e).sqrt();
    is(rms, &[2], &[3.0 / root, 8.0 / root]);
    let lrn = apply(
        13,
        "LRN",
        (&[1, 3, 1], &[1.0, 2.0, 3.0]),
        vec![],
        &[("size", A::I(3)), ("alpha", A::F(3.0)), ("beta", A::F(0.5)), ("bias", A::F(1.0))],
    );
    is(lrn, &[1, 3, 1], &[1.0 / 6f64.sqrt(), 2.0 / 15f64.sqrt(), 3.0 / 14f64.sqrt()]);
    let even = apply(
        13,
        "LRN",
        (&[1, 3, 1], &[1.0, 2.0, 3.0]),
        vec![],
        &[("size", A::I(2)), ("alpha", A::F(2.0)), ("beta", A::F(1.0)), ("bias", A::F(1.0))],
    );
    is(even, &[1, 3, 1], &[1.0 / 6.0, 2.0 / 14.0, 3.0 / 10.0]);
    let m = model(
        15,
        vec![port("x", &[1, 1])],
        ["s", "b", "m", "v"].map(|n| floats(n, &[1], &[1.0])).to_vec(),
        vec![node("BatchNormalization", "x s b m v", "y", &[("training_mode", A::I(1))])],
        &["y"],
    );
    assert!(message(&m).contains("inference"), "{}", message(&m));
}

#[test]
fn padding() {
    let x: (&[i64], &[f64]) = (&[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let row = |v: f64, x: &[f64]| [&[v], x, &[v]].concat();
    let (a, b) = (row(0.0, &x.1[..3]), row(0.0, &x.1[3..]));
    is(
        apply(9, "Pad", x, vec![], &[("pads", A::Is(&[0, 1, 1, 1]))]),
        &[3, 5],
        &[a.clone(), b.clone(), vec![0.0; 5]].concat(),
    );
    let nine = [vec![9.0; 5], row(9.0, &x.1[..3]), row(9.0, &x.1[3..])].concat();
    is(apply(13, "Pad", x, vec![ints("p", &[1, 1, 0, 1]), floats("v", &[], &[9.0])], &[]), &[3, 5], &nine);
    is(apply(18, "Pad", x, vec![ints("p", &[1, 1]), nothing(), ints("a", &[-1])], &[]), &[2, 5], &[a, b].concat());
    is(apply(13, "Pad", x, vec![ints("p", &[0, -1, 0, 1])], &[]), &[2, 3], &[2.0, 3.0, 0.0, 5.0, 6.0, 0.0]);
    let mode = |m: &str| apply(19, "Pad", (&[3], &[1.0, 2.0, 3.0]), vec![ints("p", &[2, 1])], &[("mode", A::S(m))]);
    is(mode("reflect"), &[6], &[3.0, 2.0, 1.0, 2.0, 3.0, 2.0]);
    is(mode("edge"), &[6], &[1.0, 1.0, 1.0, 2.0, 3.0, 3.0]);
    is(mode("wrap"), &[6], &[2.0, 3.0, 1.0, 2.0, 3.0, 1.0]);
}

#[test]
fn resizing() {
    let x: (&[i64], &[f64]) = (&[1, 1, 1, 2], &[1.0, 3.0]);
    let resize = |scale: f32, a: &[(&str, A<'_>)]| {
        apply(13, "Resize", x, vec![nothing(), floats("s", &[4], &[1.0, 1.0, 1.0, scale])], a).1
    };
    assert_eq!(resize(2.0, &[]), [1.0, 1.0, 3.0, 3.0]);
    let linear = |how: &str, scale: f32| {
        resize(scale, &[("mode", A::S("linear")), ("coordinate_transformation_mode", A::S(how))])
    };
    assert_eq!(linear("half_pixel", 2.0), [1.0, 1.5, 2.5, 3.0]);
    assert_eq!(linear("asymmetric", 2.0), [1.0, 2.0, 3.0, 3.0]);
    assert!(near(&linear("align_corners", 2.0), &[1.0, 5.0 / 3.0, 7.0 / 3.0, 3.0]));
    assert_eq!(linear("pytorch_half_pixel", 0.5), [1.0]);
    assert_eq!(linear("half_pixel", 0.5), [2.0]);
    let near_ = |how: &str, round: &str| {
        resize(2.0, &[("coordinate_transformation_mode", A::S(how)), ("nearest_mode", A::S(round))])
    };
    assert_eq!(near_("asymmetric", "round_prefer_floor"), [1.0, 1.0, 3.0, 3.0]);
    assert_eq!(near_("asymmetric", "round_prefer_ceil"), [1.0, 3.0, 3.0, 3.0]);
    assert_eq!(near_("asymmetric", "ceil"), [1.0, 3.0, 3.0, 3.0]);
    assert_eq!(near_("half_pixel", "floor"), [1.0, 1.0, 1.0, 3.0]);
    is(
        apply(13, "Resize", x, vec![nothing(), nothing(), ints("z", &[1, 1, 2, 3])], &[]),
        &[1, 1, 2, 3],
        &[1.0, 1.0, 3.0, 1.0, 1.0, 3.0],
    );
    is(
        apply(18, "Resize", x, vec![nothing(), nothing(), ints("z", &[4])], &[("axes", A::Is(&[3]))]),
        &[1, 1, 1, 4],
        &[1.0, 1.0, 3.0, 3.0],
    );
    is(
        apply(10, "Resize", x, vec![floats("s", &[4], &[1.0, 1.0, 2.0, 1.5])], &[]),
        &[1, 1, 2, 3],
        &[1.0, 1.0, 3.0, 1.0, 1.0, 3.0],
    );
    is(
        apply(9, "Upsample", x, vec![floats("s", &[4], &[1.0, 1.0, 1.0, 2.0])], &[("mode", A::S("linear"))]),
        &[1, 1, 1, 4],
        &[1.0, 2.0, 3.0, 3.0],
    );
    is(
        apply(7, "Upsample", x, vec![], &[("scales", A::Fs(&[1.0, 1.0, 1.0, 2.0]))]),
        &[1, 1, 1, 4],
        &[1.0, 1.0, 3.0, 3.0],
    );
    let m = model(
        13,
        vec![port("x", &[1, 1, 2, 2])],
        vec![floats("s", &[4], &[1.0, 1.0, 2.0, 2.0])],
        vec![node("Resize", "x _ s", "y", &[("mode", A::S("cubic"))])],
        &["y"],
    );
    assert!(message(&m).contains("mode `cubic` is not supported"), "{}", message(&m));
}

#[test]
fn dropout_is_the_identity_unless_it_trains() {
    let x: (&[i64], &[f64]) = (&[2], &[1.0, 2.0]);
    is(apply(9, "Dropout", x, vec![], &[("ratio", A::F(0.5))]), &[2], x.1);
    is(apply(13, "Dropout", x, vec![floats("r", &[], &[0.5]), bools("t", &[], &[false])], &[]), &[2], x.1);
    is(apply(13, "Dropout", x, vec![floats("r", &[], &[0.0]), bools("t", &[], &[true])], &[]), &[2], x.1);
    let m = model(
        13,
        vec![port("x", &[2])],
        vec![bools("t", &[], &[true])],
        vec![node("Dropout", "x _ t", "y", &[])],
        &["y"],
    );
    assert!(message(&m).contains("random"), "{}", message(&m));
}
