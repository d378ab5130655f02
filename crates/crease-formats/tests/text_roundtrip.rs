//! What is printed parses back to the same program, for every function and every printed form.

use crease_core::{Builder, Layout, Op, Program, Shape, Smooth};
use crease_formats::{parse, parse_expression};
use proptest::prelude::*;
use std::sync::Arc;

/// Parses, prints, parses and prints again.
fn roundtrip(source: &str) -> String {
    let show = |e: crease_formats::TextError, s: &str| panic!("{}", e.render(s, "test"));
    let first = parse(source).unwrap_or_else(|e| show(e, source));
    let printed = first.main().to_string();
    let second = parse(&printed).unwrap_or_else(|e| show(e, &printed));
    assert!(first.main() == second.main(), "{source}\nprints as\n{printed}\nand that as\n{}", second.main());
    assert_eq!(printed, second.main().to_string());
    assert!(first.main().verify().is_empty());
    printed
}

fn main_of(source: &str) -> Arc<Program> {
    parse(source).unwrap_or_else(|e| panic!("{}", e.render(source, "test"))).main().clone()
}

/// The printed equations, without header and return.
fn equations(source: &str) -> Vec<String> {
    let printed = roundtrip(source);
    let last = printed.rfind("program ").unwrap();
    let lines = printed[last..].lines().filter_map(|l| l.trim().strip_prefix("let "));
    lines.map(|l| l.to_string()).collect()
}

#[test]
fn every_scalar_function() {
    for f in [
        "neg(x)",
        "inv(x)",
        "exp(x)",
        "log(x)",
        "sqrt(x)",
        "sin(x)",
        "cos(x)",
        "tanh(x)",
        "sigmoid(x)",
        "power(x, 3)",
        "power(x, -2)",
        "power(3, 2)",
        "add(x, y)",
        "sub(x, y)",
        "mul(x, y)",
        "div(x, y)",
        "add(1, 2)",
        "neg(2)",
        "inv(2)",
        "div(1, 0)",
        "relu(x)",
        "abs(x)",
        "times_relu(x, y)",
        "leaky_relu(x, 0.01)",
        "leaky_relu(x, slope=1/3)",
        "elu(x)",
        "elu(x, 2)",
        "elu(x, scale=~0.1)",
        "max(x, y, 0)",
        "min(x, 1/3)",
        "max(x)",
        "median(x, y, 1)",
        "order_statistic(x, y, 3, k=1)",
        "norm1(x, y)",
        "norminf(x, -1)",
        "logsumexp(x, y, 1)",
        "logsumexp(x)",
        "max_linear(1, 2, 3, 4, x, y, rows=2)",
        "x < y",
        "x <= 1",
        "x > y",
        "x >= y",
        "x == y",
        "x != 2",
        "1 < 2",
        "not x",
        "not (x < y) and y > 1 or x == 0",
        "-x",
        "x ^ 2",
        "x ^ -1",
        "x + -1",
        "-1 * x",
        "x * (1/3)",
        "x / 3",
        "constant(2)",
        "constant(~0.1)",
        "constant(-3)",
        "2",
        "~0.1 * x",
        "~-1e-300 + x",
        "x - 1e30",
    ] {
        roundtrip(&format!("program f(x, y) = {f}"));
    }
}

#[test]
fn every_tensor_function() {
    for f in [
        "relu(v) + 1",
        "v * s",
        "max(v, s)",
        "max(v, v * 2, 1)",
        "max(v)",
        "max(M)",
        "max(M, axis=0)",
        "max(M, axis=1)",
        "min(T, axis=[0, 2])",
        "max(T, axis=[1, 2])",
        "sum(T, axis=[0, 2])",
        "sum(T, axis=1)",
        "sum(T)",
        "sum(s)",
        "mean(T, axis=[1, 2])",
        "mean(v)",
        "mean(s)",
        "median(v)",
        "median(M, axis=0)",
        "order_statistic(v, k=0)",
        "order_statistic(M, k=1, axis=0)",
        "sort(v)",
        "sort(M, axis=0)",
        "norm1(M)",
        "norm1(M, axis=0)",
        "norminf(v)",
        "norminf(v, v)",
        "max_linear(M, v)",
        "logsumexp(v)",
        "logsumexp(M, axis=0)",
        "logsumexp(v, v)",
        "dot(v, v)",
        "M @ v",
        "v @ transpose(M)",
        "M @ transpose(M)",
        "matmul(M, M, transpose=first)",
        "matmul(M, M, transpose=second)",
        "matmul(M, transpose(M), transpose=both)",
        "reshape(M, [3, 2])",
        "reshape(v, [3])",
        "reshape(s, [1, 1])",
        "reshape(2, [1])",
        "broadcast(v, [2, 3])",
        "broadcast(s, [2])",
        "broadcast(2, [2])",
        "transpose(T, [2, 0, 1])",
        "transpose(v)",
        "concat(v, s, v)",
        "concat(v)",
        "concat(s)",
        "concat(M, M, axis=1)",
        "concat(1, s)",
        "gather(v, [2, 0, 0])",
        "gather(M, [1, 1, 0], axis=1)",
        "v[1]",
        "M[1]",
        "M[0, -1]",
        "M[:, 1]",
        "v[::2]",
        "v[::-1]",
        "T[1, :, 1:3]",
        "M[:, :]",
        "zeros([2, 3])",
        "zeros([])",
        "conv2d(I, K)",
        "conv2d(I, K, stride=2, padding=1)",
        "conv2d(I, K, padding=[1, 0])",
        "conv2d(I, K, dilation=2, padding=2)",
        "conv_transpose2d(I, transpose(K, [1, 0, 2, 3]), stride=2, extra=1)",
        "avgpool(I, 2)",
        "avgpool(I, 3, stride=2, padding=1, ceil=1, count_padding=0)",
        "maxpool(I, [2])",
        "maxpool(I, 2)",
        "maxpool(I, [2, 1], stride=1)",
        "maxpool(I, 3, stride=2, padding=1)",
        "[1, 2, 3] * v",
        "[[1, ~0.5], [-3, 0.25]]",
        "[0.1, 1/3]",
        "[[0.1, 1], [2, 3]]",
        "[s, 1, s + 1]",
        "[v, 2 * v]",
        "[[s, 1], [2, s]]",
        "[[[1]]]",
        "view(v, [2], from=0, sizes=[2], strides=[2])",
        "view(M, [4], table=[0, 5, 1, 1])",
        "assemble([4], put(v, from=1, sizes=[3], strides=[1]))",
        "assemble([])",
        "assemble([2], put(v, table=[0, 1, 0]), put(s, from=1, sizes=[], strides=[]), put(1/3, from=0, sizes=[2], strides=[1]))",
        "assemble([], put(s, from=0, sizes=[], strides=[]))",
        "M < 1 and not (M > -1)",
        "M ^ 3 - -M / 2",
        "max(M[0, 0], v[1], s)",
    ] {
        roundtrip(&format!("program f(s, v[3], M[2, 3], T[2, 2, 3], I[1, 4, 4], K[2, 1, 3, 3]) = {f}"));
    }
}

#[test]
fn every_joint_operation() {
    for (results, f) in [
        (2, "relu'(s)"),
        (2, "relu'(s, at=1)"),
        (2, "relu'(v, at=1/2)"),
        (2, "abs'(v, at=-1)"),
        (2, "leaky_relu'(s, slope=0.01, at=1)"),
        (2, "leaky_relu'(s, 0.01)"),
        (2, "elu'(s, scale=2)"),
        (2, "elu'(s, 1, ties=last)"),
        (3, "times_relu'(s, t)"),
        (3, "times_relu'(v, v, at=1)"),
        (3, "max'(s, t)"),
        (4, "min'(s, t, 0, ties=average)"),
        (2, "max'(v, axis=-1, ties=last)"),
        (2, "max'(M, axis=0)"),
        (2, "max'(M)"),
        (2, "max'(M, axis=-1, ties=every)"),
        (2, "max'(s)"),
        (4, "order_statistic'(s, t, 1, k=1, at=1)"),
        (2, "order_statistic'(v, k=2, axis=-1)"),
        (2, "median'(v)"),
        (4, "sort'(s, t)"),
        (2, "sort'(v)"),
        (2, "sort'(M, axis=0, ties=last)"),
        (3, "norm1'(s, t, at=1/3)"),
        (2, "norm1'(M)"),
        (2, "norminf'(v, ties=average)"),
        (3, "max_linear'(M, v)"),
        (7, "max_linear'(1, 2, 3, 4, s, t, rows=2)"),
        (3, "logsumexp'(s, t)"),
        (2, "logsumexp'(M, axis=-1)"),
        (2, "sort(s, t)"),
        (2, "permute(s, t, 1, 0)"),
        (2, "unpermute(s, t, 1, 0)"),
        (1, "permute(v, w, axis=-1)"),
        (1, "unpermute(M, M, axis=1)"),
        (1, "permute(s, 0)"),
    ] {
        let names = (0..results).map(|i| format!("r{i}")).collect::<Vec<_>>().join(", ");
        roundtrip(&format!("program f(s, t, v[3], w[3], M[2, 3]) {{ let {names} = {f}; return {names} }}"));
        roundtrip(&format!("program f(s, t, v[3], w[3], M[2, 3]) = {f}"));
    }
}

#[test]
fn precedence_is_that_of_the_page() {
    assert_eq!(equations("program f(x, y) = -x^2 * y + 1"), ["v2 = x ^ 2", "v3 = -v2", "v4 = v3 * y", "v5 = v4 + 1"]);
    assert_eq!(equations("program f(a, b, c) = a - b - c"), ["v3 = a - b", "v4 = v3 - c"]);
    assert_eq!(equations("program f(a, b, c) = a / b * c"), ["v3 = a / b", "v4 = v3 * c"]);
    assert_eq!(equations("program f(a, b, c) = a - (b - c)"), ["v3 = b - c", "v4 = a - v3"]);
    assert_eq!(
        equations("program f(a, b) = not a < b or b > 1 and a == 0"),
        ["v2 = a < b", "v3 = not v2", "v4 = b > 1", "v5 = a == 0", "v6 = v4 and v5", "v7 = v3 or v6"]
    );
    assert_eq!(equations("program f(x) = 2/3 * x - 1/2^2 - -3"), ["v1 = (2/3) * x", "v2 = v1 - 0.25", "v3 = v2 - -3"]);
    assert_eq!(equations("program f(x) = --x - -(2) + 0.1"), ["v1 = -x", "v2 = -v1", "v3 = v2 - -2", "v4 = v3 + 0.1"]);
    assert_eq!(equations("program f(v[3]) = -v[0]^2"), ["v1 = v[0]", "v2 = v1 ^ 2", "v3 = -v2"]);
}

#[test]
fn names_are_bound_again_and_numbers_stay_numbers() {
    let p = main_of("program f(x) { let n = 2; let x = x + n\n let x = x * x; return x, reshape([x, x], [n, 1]), n }");
    assert_eq!(p.outputs().len(), 3);
    assert!(p.as_constant(p.outputs()[2]).is_some());
}

#[test]
fn calls_joints_and_selections() {
    let calls = "program sq(x) = x * x
        program two(a, v[2]) = a + v[0], v * a
        joint sq(x) = x * x, 2 * x
        program f(x) {
          let a, b = two(sq(x), [x, 1])
          return a - sq(2), b
        }";
    let printed = roundtrip(calls);
    assert!(printed.contains("joint sq(x)"), "{printed}");
    let module = parse(calls).unwrap();
    assert!(module.joint_of("sq").is_some() && module.joint_of("two").is_none() && module.joint_of("f").is_none());
    assert_eq!(module.names().collect::<Vec<_>>(), ["sq", "two", "f"]);
    assert!(module.main().callees().iter().any(|c| c.joint.is_some()));

    roundtrip("program f(x, y) = select { x > 0 => x * y, y > 0 and x < -1 => y, else => 0 }");
    roundtrip("program f(x, y) { let z = x; let n = 3; return select { 1 => z + x, else => n } + 1 }");
    roundtrip(
        "program f(x) = select { x > 0 => select { x > 1 => 1, else => x }, else => -select { x < -1 => -1, else => x } }",
    );
    roundtrip("program f(x) = select { select { x > 0 => 1, else => 0 } => x, else => 2 }");
    roundtrip("program g(x) = x, -x  program f(x) { let a, b = select { x > 0 => g(x), else => g(-x) } return a * b }");
    roundtrip("program f(v[3]) = select { sum(v) > 0 => v, else => max(v, axis=-1) * [1, 2, 3], }");
    roundtrip("program f(x) = select { else => x + 1 }");
}

#[test]
fn arms_that_are_calls_alike_are_the_branches() {
    let source = "program a(x, y) = x  program b(x, y) = y
        program f(x, y) = select { x < y => a(y, 1/3), else => b(y, 1/3) }";
    let p = main_of(source);
    assert_eq!(p.callees().len(), 2);
    assert_eq!((p.callees()[0].program.name(), p.callees()[1].program.name()), ("a", "b"));
    roundtrip(source);
    let other = main_of(&source.replace("b(y, 1/3)", "b(y, 1/4)"));
    assert_eq!(other.callees()[0].program.name(), "f_branch1");
    assert_eq!(other.callees()[0].program.inputs().len(), 1);
}

#[test]
fn branches_take_each_value_once_in_order_of_use() {
    let p = main_of("program f(x, y, z) { let w = y; return select { z > 0 => w + x, else => y } }");
    let Op::Select(ids) = p.equation(1).op else { panic!() };
    let branch = &p.callee(ids[0]).program;
    let names: Vec<&str> = branch.inputs().iter().map(|i| &*i.name).collect();
    assert_eq!(names, ["w", "x"]);
    assert_eq!(branch.name(), "f_branch1");
}

#[test]
fn expressions_have_their_free_names_as_inputs() {
    let shapes = |name: &str| (name == "v").then(|| Shape::vector(3).unwrap());
    let p = parse_expression("let y = b * a; sum(v) + y, select { c > 0 => a, else => d }", &shapes).unwrap();
    let names: Vec<String> = p.inputs().iter().map(|i| format!("{}{:?}", i.name, i.shape)).collect();
    assert_eq!(names, ["b[]", "a[]", "v[3]", "c[]", "d[]"]);
    assert_eq!(p.outputs().len(), 2);
    assert_eq!(parse_expression("1/3", &|_| None).unwrap().inputs().len(), 0);
}

#[test]
fn equations_know_their_place() {
    let source = "program f(x, y) = (x + y) * relu(x)^2";
    let p = main_of(source);
    let text: Vec<&str> = p
        .equations()
        .map(|e| e.origin().unwrap().in_text().unwrap().1)
        .map(|place| &source[place.start as usize..place.end as usize])
        .collect();
    assert_eq!(text, ["x + y", "relu(x)", "relu(x)^2", "(x + y) * relu(x)^2"]);
}

#[test]
fn awkward_names_print_as_names() {
    let mut b = Builder::new("max");
    let x = b.input("program", Shape::scalar()).unwrap();
    let y = b.input("a b", Shape::scalar()).unwrap();
    let z = b.add(x, y).unwrap();
    let p = b.finish(&[z, x]).unwrap();
    let q = parse(&p.to_string()).unwrap();
    assert_eq!(q.main().len(), 1);
}

/// One random step: which operation, and on which earlier values.
#[derive(Clone, Debug)]
struct Step(u8, usize, usize, i64);

fn random_program(steps: &[Step]) -> Program {
    let mut b = Builder::new("f");
    let mut vectors = vec![b.input("v", Shape::new([2, 3]).unwrap()).unwrap()];
    let mut scalars = vec![b.input("s", Shape::scalar()).unwrap(), b.input("t", Shape::scalar()).unwrap()];
    for &Step(op, i, j, c) in steps {
        let (x, y) = (scalars[i % scalars.len()], scalars[j % scalars.len()]);
        let (m, n) = (vectors[i % vectors.len()], vectors[j % vectors.len()]);
        let number = b.constant(crease_core::Rational::new(c, 12).unwrap());
        match op % 16 {
            0 => scalars.push(b.push1(Op::Add, &[x, number]).unwrap()),
            1 => scalars.push(b.push1(Op::Mul, &[number, x]).unwrap()),
            2 => scalars.push(b.push1(Op::Sub, &[x, y]).unwrap()),
            3 => scalars.push(b.push1(Smooth::Power(c as i32), &[number]).unwrap()),
            4 => scalars.push(b.push1(Op::Neg, &[x]).unwrap()),
            5 => scalars.push(b.max(&[x, y, number]).unwrap()),
            6 => scalars.push(b.at(m, &[i % 2, j % 3]).unwrap()),
            7 => vectors.push(b.elementwise(Op::Div, &[m, x]).unwrap()),
            8 => vectors.push(
                b.transpose(m, &[1, 0])
                    .and_then(|t| b.gather(t, 0, &[j % 3, 0, 1]))
                    .and_then(|t| b.transpose(t, &[1, 0]))
                    .unwrap(),
            ),
            9 => scalars.push(b.norminf(m).unwrap()),
            10 => scalars.push(b.mean(m, &[0, 1]).unwrap()),
            11 => vectors.push(
                b.sum(m, &[1])
                    .and_then(|t| b.concat(&[t, t, t], 0))
                    .and_then(|t| b.reshape(t, &Shape::new([2, 3]).unwrap()))
                    .unwrap(),
            ),
            12 => vectors.push(b.add(m, n).unwrap()),
            13 => scalars.push(b.compare(crease_core::op::Comparison::Less, x, number).unwrap()),
            14 => vectors
                .push(b.tensor(Shape::new([2, 3]).unwrap(), (0..6).map(|k| (k * c) as f64 / 7.0).collect()).unwrap()),
            _ => {
                vectors.push(b.view(m, Layout::strided(i % 2, &[(2, 1), (3, 0)]), Shape::new([2, 3]).unwrap()).unwrap())
            }
        }
    }
    let outputs = [*scalars.last().unwrap(), *vectors.last().unwrap()];
    b.finish(&outputs).unwrap()
}

proptest! {
    #[test]
    fn random_programs_come_back(steps in prop::collection::vec((any::<u8>(), 0..9usize, 0..9usize, -40..40i64).prop_map(|(a, b, c, d)| Step(a, b, c, d)), 0..30)) {
        let p = random_program(&steps);
        let printed = p.to_string();
        let q = parse(&printed).unwrap_or_else(|e| panic!("{}", e.render(&printed, "test")));
        prop_assert!(**q.main() == p, "{printed}\n{}", q.main());
    }

    #[test]
    fn no_text_panics(text in "[-a-c0-9~.^*/+@()\\[\\]{},;:=<>'# ]{0,40}") {
        let _ = parse_expression(&text, &|n| if n == "a" { Shape::new([2, 2]).ok() } else { None });
    }

    #[test]
    fn no_sequence_of_words_panics(words in prop::collection::vec(prop::sample::select(vec![
        "program", "joint", "f", "g", "x", "v", "(", ")", "[", "]", "{", "}", ",", ";", ":", "=", "=>", "let", "return",
        "select", "else", "and", "not", "-", "+", "^", "2", "0", "max", "relu'", "sum", "axis", "reshape", "put", "view",
        "sort", "f(x)", "x > 0", "v[3]", "program f(x, v[3]) =", "program g(x) {", "ties=last", "0.5",
    ]), 0..40)) {
        let _ = parse(&words.join(" "));
        let _ = parse_expression(&words.join(" "), &|n| if n == "v" { Shape::vector(3).ok() } else { None });
    }
}

#[test]
fn programs_without_inputs() {
    roundtrip("program c() = 3, 1/3  program f() { let a, b = c() return a + b }");
}

#[test]
fn fractions_of_any_length_stay_numbers() {
    for number in ["5740635180217337184e-99699", "7e-99999", "1/3e9000", "(2^2000 + 1)/(3^1300)"] {
        let p = crease_formats::parse_expression(&format!("x + {number}"), &|_| None).unwrap();
        let again = crease_formats::parse(&p.to_string()).unwrap();
        assert_eq!(&p, &**again.main(), "{number}");
    }
}
