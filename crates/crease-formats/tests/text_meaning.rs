//! What is written is what is computed: expressions run exactly at a point.

use crease_core::{Program, Rational, Tensor, run};
use crease_formats::{Point, parse, parse_expression, parse_point};

fn run_at(p: &Program, point: &Point) -> String {
    let inputs: Vec<Tensor<Rational>> =
        point.bind(p).unwrap().into_iter().map(|(shape, data)| Tensor::new(shape, data).unwrap()).collect();
    let show = |t: &Tensor<Rational>| {
        let numbers = t.data().iter().map(|r| r.to_string()).collect::<Vec<_>>().join(" ");
        if t.shape().is_scalar() { numbers } else { format!("{}{numbers}", t.shape()) }
    };
    run(p, &inputs).unwrap().iter().map(show).collect::<Vec<_>>().join(" | ")
}

fn at(expression: &str, point: &str) -> String {
    let point = parse_point(point).unwrap();
    let p = parse_expression(expression, &|name| point.shape_of(name).cloned())
        .unwrap_or_else(|e| panic!("{}", e.render(expression, "test")));
    run_at(&p, &point)
}

#[test]
fn arithmetic() {
    for (expression, value) in [
        ("x + 2 * 3 ^ 2", "20"),
        ("-x ^ 2", "-4"),
        ("2 ^ -1 * x", "1"),
        ("x - 1 - 1", "0"),
        ("x / 4 / 2", "0.25"),
        ("1/3 + x * 0.1", "8/15"),
        ("x > 1 and not x > 2", "1"),
        ("x < 1 or x == 2", "1"),
        ("x != 2", "0"),
        ("relu(-x), abs(-x), leaky_relu(-x, 1/4), times_relu(3, x)", "0 | 2 | -0.5 | 6"),
        ("max(x, 1, 3), min(x, 1), median(x, 1, 7), order_statistic(x, 1, 7, k=2)", "3 | 1 | 2 | 7"),
        ("sort(3, x, 1)", "1 | 2 | 3"),
        ("norm1(x, -3), norminf(x, -3)", "5 | 3"),
        ("relu'(x - 2, at=1/2), abs'(x - 2, at=-1)", "0 | 0.5 | 0 | -1"),
        ("max'(x, 2, 1, ties=last)", "2 | 0 | 1 | 0"),
        ("max_linear(1, 0, 0, 3, x, 1, rows=2)", "3"),
        ("select { x > 3 => 1, x > 1 => x * 10, else => 0 }", "20"),
        ("let y = x; let x = y * y; x + y", "6"),
        ("(4 * x) ^ (1/3), (4 * x) ^ (-2/3), (2 * x) ^ 0.5, (8 * x) ^ 1.5", "2 | 0.25 | 2 | 64"),
        ("x ^ (3 - 1), x ^ -(1), -x ^ -2 * 4, power(8 * x, -3/4), power(8, 1/3)", "4 | 0.5 | -1 | 0.125 | 2"),
        ("relu6(x), relu6(9), relu6(-x), hardsigmoid(x), hardsigmoid(5), hardswish(x)", "2 | 6 | 0 | 5/6 | 1 | 5/3"),
        ("clamp(x, 0, 1), clamp(-x, -1, x), clamp(x, 3, 1), sum(clamp([x, 0.5, -x], 0, 1))", "1 | -1 | 1 | 1.5"),
        ("softsign(x), silu(0), celu(x, alpha=3), selu(0)", "2/3 | 0 | 2 | 0"),
        ("tan(0) + asin(0) + atan(0) + sinh(0) + asinh(0) + atanh(0) + erf(0) + log1p(0) + expm1(x - 2)", "0"),
        ("cosh(0), acos(1), acosh(1), erfc(x - 2)", "1 | 0 | 0 | 1"),
    ] {
        assert_eq!(at(expression, "x=2"), value, "{expression}");
    }
}

/// A permutation reorders the elements of a tensor, as the page about the language shows it, and nothing else is one.
#[test]
fn permutations() {
    let (vector, matrix) = ("v=[3,1,2],p=[2,0,1]", "M=[[1,2,3],[6,5,4]],P=[[2,0,1],[0,2,1]]");
    for (expression, point, value) in [
        ("permute(v, p)", vector, "[3]2 3 1"),
        ("unpermute(v, p)", vector, "[3]1 2 3"),
        ("unpermute(permute(v, p), p)", vector, "[3]3 1 2"),
        ("permute(M, P)", matrix, "[2, 3]3 1 2 6 4 5"),
        ("permute(M, P, axis=1)", matrix, "[2, 3]3 1 2 6 4 5"),
        ("permute(v[0], v[1], p[2], p[1])", vector, "1 | 3"),
    ] {
        assert_eq!(at(expression, point), value, "{expression}");
    }
    for (positions, why) in [
        ("[0.5,0,1]", "a position among 3 numbers must be an integer from 0 to 2, but here it is 0.5"),
        ("[3,0,1]", "a position among 3 numbers must be an integer from 0 to 2, but here it is 3"),
        ("[-1,0,1]", "a position among 3 numbers must be an integer from 0 to 2, but here it is -1"),
        ("[1,0,1]", "a permutation of 3 numbers has every position once, but here 1 is there twice"),
    ] {
        for f in ["permute", "unpermute"] {
            let point = parse_point(&format!("v=[3,1,2],p={positions}")).unwrap();
            let p = parse_expression(&format!("{f}(v, p)"), &|name| point.shape_of(name).cloned()).unwrap();
            let inputs: Vec<Tensor<Rational>> =
                point.bind(&p).unwrap().into_iter().map(|(shape, data)| Tensor::new(shape, data).unwrap()).collect();
            let error = run(&p, &inputs).unwrap_err();
            assert!(error.to_string().starts_with(why), "{error}");
        }
    }
}

#[test]
fn tensors() {
    let point = "v=[3,1,2],M=[[1,2,3],[6,5,4]],T=[[[1,2],[3,4]],[[8,7],[6,5]]],s=10";
    for (expression, value) in [
        ("v + s", "[3]13 11 12"),
        ("v * [1, 2, s]", "[3]3 2 20"),
        ("M @ v", "[2]11 31"),
        ("v @ transpose(M), dot(v, v)", "[2]11 31 | 14"),
        ("matmul(M, M, transpose=second)", "[2, 2]14 28 28 77"),
        ("v[0], v[-1], M[1], M[0, -1], M[:, 0]", "3 | 2 | [3]6 5 4 | 3 | [2]1 6"),
        (
            "v[::-1], v[::2], v[1:], v[:-1], M[:, 1:3], M[::-1, 0]",
            "[3]2 1 3 | [2]3 2 | [2]1 2 | [2]3 1 | [2, 2]2 3 5 4 | [2]6 1",
        ),
        ("T[1, :, 0]", "[2]8 6"),
        ("max(v), max(M, axis=0), max(M, axis=1), min(T, axis=[0, 2])", "3 | [3]6 5 4 | [2]3 6 | [2]1 3"),
        ("max(T, axis=[1, 2]), max(T)", "[2]4 8 | 8"),
        ("sum(M), sum(M, axis=0), sum(T, axis=[0, 2]), mean(M, axis=1)", "21 | [3]7 7 7 | [2]18 18 | [2]2 5"),
        ("median(v), median(M, axis=-1), sort(v), sort(M, axis=1)", "2 | [2]2 5 | [3]1 2 3 | [2, 3]1 2 3 4 5 6"),
        ("sort(-M, axis=0)", "[2, 3]-6 -5 -4 -1 -2 -3"),
        ("norm1(-M), norminf(M, axis=0)", "21 | [3]6 5 4"),
        ("max_linear(M, v)", "31"),
        ("max'(M, axis=0)", "[3]6 5 4 | [2, 3]0 0 0 1 1 1"),
        ("max'(T, axis=[0, 1])", "[2]8 7 | [2, 2, 2]0 0 0 0 1 1 0 0"),
        ("max'(M)", "6 | [2, 3]0 0 0 1 0 0"),
        ("sort'(v)", "[3]1 2 3 | [3]1 2 0"),
        ("let a, p = sort'(v); permute(v, p, axis=-1), unpermute(a, p, axis=-1)", "[3]1 2 3 | [3]3 1 2"),
        ("concat(v, s), concat(M, M, axis=1)", "[4]3 1 2 10 | [2, 6]1 2 3 1 2 3 6 5 4 6 5 4"),
        ("gather(v, [2, 0, 0]), gather(M, [1], axis=1)", "[3]2 3 3 | [2, 1]2 5"),
        ("reshape(M, [3, 2])[1], broadcast(v, [2, 3])[1, 2], transpose(M)[0]", "[2]3 6 | 2 | [2]1 6"),
        ("transpose(T, [2, 0, 1])[1]", "[2, 2]2 4 7 5"),
        ("[[s, 1], [2, s]], [v, v + 1], [0.1, 1/3]", "[2, 2]10 1 2 10 | [2, 3]3 1 2 4 2 3 | [2]0.1 1/3"),
        ("zeros([2]), view(v, [2], from=2, sizes=[2], strides=[-2])", "[2]0 0 | [2]2 3"),
        ("assemble([2], put(v, table=[0, 1, 0]), put(s, from=1, sizes=[], strides=[]))", "[2]5 11"),
        ("maxpool(M, [1, 2], stride=1), maxpool(M, 2, padding=1)", "[2, 2]2 3 6 5 | [2, 2]1 3 6 5"),
        ("conv2d(reshape(M, [1, 2, 3]), [[[[1, 10], [100, 1000]]]])", "[1, 1, 2]5621 4532"),
        ("conv2d(reshape(M, [1, 2, 3]), [[[[1]]]], stride=[1, 2], padding=[1, 0])", "[1, 4, 2]0 0 1 3 6 4 0 0"),
        // M is [[1, 2, 3], [6, 5, 4]]: two channels of three
        ("conv1d(M, [[[1, 0], [0, 10]]])", "[1, 2]51 42"),
        ("conv1d(M, [[[1, 10]], [[100, 1000]]], groups=2, dilation=2)", "[2, 1]31 4600"),
        ("conv1d(M, [[[1]], [[10]]], groups=2, stride=2, padding=1)", "[2, 3]0 2 0 0 50 0"),
        ("conv_transpose1d(M[:1], [[[1, 10]]], stride=2)", "[1, 6]1 10 2 20 3 30"),
        ("conv_transpose1d(M[:1], [[[1, 10]]], stride=2, padding=1, extra=1)", "[1, 5]10 2 20 3 30"),
        ("conv_transpose2d(reshape(M, [1, 2, 3]), [[[[1], [10]]]])", "[1, 3, 3]1 2 3 16 25 34 60 50 40"),
        ("maxpool(M, [2], stride=1), maxpool(M[0], 2, ceil=1)", "[2, 2]2 3 6 5 | [2]2 3"),
        ("avgpool(M, [2], stride=1), avgpool(M, [1, 3])", "[2, 2]1.5 2.5 5.5 4.5 | [2, 1]2 5"),
        ("avgpool(M[0], 2, padding=1), avgpool(M[0], 2, padding=1, count_padding=0)", "[2]0.5 2.5 | [2]1 2.5"),
        ("maxpool(M[0], 2, dilation=2)", "[1]3"),
        ("select { sum(v) > 0 => v * s, else => v }", "[3]30 10 20"),
        ("M > 3", "[2, 3]0 0 0 1 1 1"),
    ] {
        let names: Vec<&str> = ["v", "M", "T", "s"].into_iter().filter(|n| uses(expression, n)).collect();
        let all = parse_point(point).unwrap();
        let given: Vec<String> = all
            .iter()
            .filter(|(n, _, _)| names.contains(n))
            .map(|(n, shape, values)| {
                let flat: Vec<String> = values.iter().map(|r| r.to_string()).collect();
                format!("{n}={}", nested(shape.dims(), &flat))
            })
            .collect();
        assert_eq!(at(expression, &given.join(",")), value, "{expression}");
    }
}

/// Whether a name occurs as a word.
fn uses(expression: &str, name: &str) -> bool {
    expression.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).any(|w| w == name)
}

fn nested(dims: &[usize], flat: &[String]) -> String {
    match dims {
        [] => flat[0].clone(),
        [_] => format!("[{}]", flat.join(",")),
        [n, rest @ ..] => {
            let parts: Vec<String> = flat.chunks(flat.len() / n).map(|part| nested(rest, part)).collect();
            format!("[{}]", parts.join(","))
        }
    }
}

/// The example on the first page of the language.
#[test]
fn the_example_runs() {
    let source = "
        # the l1 loss of a small network, and a kink with a derivative of its own
        program hinge(t) = max(0, 1 - t)
        joint hinge(t) {
          let low = t < 1
          return max(0, 1 - t), -low
        }
        program loss(W[3, 2], b[3], x[2], y) {
          let h = relu(W @ x + b)
          let least, middle, most = sort(h[0], h[1], h[2])
          return hinge(y * sum(h)), select { most > 1 => most, else => 2/3 * middle }
        }";
    let module = parse(source).unwrap();
    let point = parse_point("W=[[1,0],[0,1],[1,1]],b=[0,0,-1],x=[1/2,1/4],y=1").unwrap();
    assert_eq!(run_at(module.main(), &point), "0.25 | 1/6");
    let joint = module.joint_of("hinge").unwrap();
    assert_eq!(run_at(joint, &parse_point("t=1/2").unwrap()), "0.5 | -1");
}

/// The value in doubles.
fn float(expression: &str, point: &str) -> f64 {
    let point = parse_point(point).unwrap();
    let p = parse_expression(expression, &|name| point.shape_of(name).cloned())
        .unwrap_or_else(|e| panic!("{}", e.render(expression, "test")));
    let inputs: Vec<Tensor<f64>> = point
        .bind(&p)
        .unwrap()
        .into_iter()
        .map(|(shape, data)| Tensor::new(shape, data.iter().map(|r| r.to_f64()).collect()).unwrap())
        .collect();
    run(&p, &inputs).unwrap()[0].data()[0]
}

#[test]
fn powers_and_named_functions_in_doubles() {
    for (expression, value) in [
        ("x ^ y", 0.7_f64.powf(-1.3)),
        ("2 ^ y", 2_f64.powf(-1.3)),
        ("x ^ (y * 2)", 0.7_f64.powf(-2.6)),
        ("x ^ -y", 0.7_f64.powf(1.3)),
        ("x ^ ~0.3", 0.7_f64.powf(0.3)),
        ("x ^ 0.3", 0.7_f64.powf(0.3)),
        ("gelu(x)", 0.530_625_443_443_848_9),
        ("gelu_tanh(x)", 0.530_570_134_705_116_7),
        ("silu(y)", -1.3 / (1.0 + 1.3_f64.exp())),
        ("mish(y)", -1.3 * (-1.3_f64).exp().ln_1p().tanh()),
        ("logsigmoid(y)", -(1.3_f64.exp().ln_1p())),
        ("selu(y)", 1.050_700_987_355_480_5 * 1.673_263_242_354_377_2 * (-1.3_f64).exp_m1()),
        ("celu(y, alpha=2)", 2.0 * (-0.65_f64).exp_m1()),
    ] {
        let names = [("(x", "x=0.7"), ("x ^", "x=0.7"), ("(y", "y=-1.3"), ("^ y", "y=-1.3"), ("^ -y", "y=-1.3")];
        let mut point: Vec<&str> = names.iter().filter(|(use_, _)| expression.contains(use_)).map(|n| n.1).collect();
        point.dedup();
        let found = float(expression, &point.join(","));
        assert!((found - value).abs() <= 4e-16 * value.abs().max(0.1), "{expression}: {found}, not {value}");
    }
}

#[test]
fn the_angle_of_a_point_is_right_in_all_quadrants_and_on_the_axes() {
    for (y, x) in [
        (0.0, 1.0),
        (1.0, 1.0),
        (1.0, 0.0),
        (1.0, -1.0),
        (0.0, -1.0),
        (-1.0, -1.0),
        (-1.0, 0.0),
        (-1.0, 1.0),
        (3.0, -0.1),
        (-1e-300, -1e-300),
        (1e300, -1e300),
        (-1e-20, -1.0),
        (0.3, 1e-200),
    ] {
        let found = float("atan2(y, x)", &format!("x={x:e},y={y:e}"));
        let value = f64::atan2(y, x);
        assert!((found - value).abs() <= 4e-16 * value.abs(), "atan2({y}, {x}) = {found}, not {value}");
    }
    let point = parse_point("x=0,y=0").unwrap();
    let p = parse_expression("atan2(y, x)", &|name| point.shape_of(name).cloned()).unwrap();
    let error = run(&p, &[Tensor::scalar(0.0), Tensor::scalar(0.0)]).unwrap_err();
    assert!(error.to_string().contains("division by zero"), "{error}");
    // element by element
    let angle = float("sum(atan2([1, 2], v))", "v=[-1, 2]");
    assert!((angle - std::f64::consts::PI).abs() < 1e-15, "{angle}");
}

#[test]
fn loops() {
    for (expression, value) in [
        ("repeat(3, s = x) { return s * s }", "256"),
        ("repeat(2, a = x, b = 1) { return a + b, a }", "5 | 3"),
        ("let k = 3; repeat(2, s = x) { let k = s + k; return k * x }", "26"),
        ("repeat(2, s = x) { return s + 1, s } + 0 * x", "error"),
        ("sum(scan(v in [1, 2, 3]) { return v * x })", "12"),
        ("scan(s = 0, v in [1, 2, 4]) { return s + v, s * x }", "7 | [3]0 2 6"),
        ("scan_back(s = 0, v in [1, 2, 4]) { return s + v, s * x }", "7 | [3]12 8 0"),
        ("repeat_back(3, s = x - 1) { return 2 * s, s }", "8 | [3]4 2 1"),
        // a loop in a loop, with the names of both
        ("repeat(2, s = x) { return repeat(2, t = s) { return t + s } }", "18"),
        // a loop in an arm, an arm in a loop
        ("select { x > 1 => repeat(2, s = x) { return s * x }, else => repeat(1, s = 0) { return s } }", "8"),
        ("repeat(3, s = x) { return select { s > 5 => s, else => s + x } }", "6"),
        ("1 + 2 * repeat(1, s = x) { return s } ^ 2", "9"),
        (
            "cumsum([1, 2, 4]), cumprod([x, 2, 4]), cummax([1, 3, 2]), cummin([1, 3, 0])",
            "[3]1 3 7 | [3]2 4 16 | [3]1 3 3 | [3]1 1 0",
        ),
        ("cumsum([[1, x], [3, 4]], axis=0), cumsum([[1, 2], [3, 4]])", "[2, 2]1 2 4 6 | [2, 2]1 3 3 7"),
    ] {
        if value == "error" {
            let point = parse_point("x=2").unwrap();
            assert!(parse_expression(expression, &|name| point.shape_of(name).cloned()).is_err(), "{expression}");
            continue;
        }
        assert_eq!(at(expression, "x=2"), value, "{expression}");
    }
}

/// The names of a loop are its own, and free names are inputs wherever they stand.
#[test]
fn names_in_loops() {
    let inputs = |expression: &str| {
        let p = parse_expression(expression, &|_| None).unwrap_or_else(|e| panic!("{}", e.render(expression, "test")));
        p.inputs().iter().map(|i| i.name.to_string()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(inputs("repeat(3, s = a) { let b = s + c; return b }"), "a c");
    assert_eq!(inputs("s + repeat(3, s = a) { return s + d }"), "s a d");
    assert_eq!(inputs("repeat(3, s = s) { return s }"), "s");
    assert_eq!(inputs("let t = a; repeat(2, s = t) { return repeat(2, u = s) { return u + t + w } }"), "a w");
    assert_eq!(
        inputs("select { repeat(1, q = a) { return q } > 0 => repeat(1, q = b) { return q * c }, else => d }"),
        "a b c d"
    );
    assert_eq!(inputs("repeat(2, s = a) { let x, y = sort(s, b); return x + y }"), "a b");
    assert_eq!(inputs("max(x, repeat(2, s = 0) { return s }) + y"), "x y");
}

/// What is printed reads back: the body that is one call is that program, and others are printed as one.
#[test]
fn loops_read_back() {
    for text in [
        "program f(x, v[3]) = scan(s = x, a in v) { return s * a, s + x }",
        "program g(s, a, w) = s * a + w\nprogram f(x, v[3]) = scan_back(s = x, a in v) { return g(s, a, 1/3) }",
        "program f(x, s0, c0) = repeat(2, s = x) { return s + s0 * c0 }",
        "program f(x) = repeat(2, s = x) { return repeat(3, t = s) { return t * s + x } }",
    ] {
        let p = parse(text).unwrap().main().clone();
        let again =
            parse(&p.to_string()).unwrap_or_else(|e| panic!("{}", e.render(&p.to_string(), "test"))).main().clone();
        assert_eq!(p, again, "{p}");
        assert_eq!(p.to_string(), again.to_string());
    }
}
