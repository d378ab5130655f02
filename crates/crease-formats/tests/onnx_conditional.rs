//! `If`: branches that are known, branches that are chosen in the run, what they take from outside, and what is refused.

mod network;

use crease_core::differentiate::{How, backprop};
use crease_formats::onnx::messages::*;
use network::*;

/// A branch: nodes, constants, and what it gives.
fn branch(nodes: Vec<NodeProto>, constants: Vec<TensorProto>, outputs: &[&str]) -> GraphProto {
    model(18, vec![], constants, nodes, outputs).graph.unwrap()
}

fn either(condition: &str, outputs: &str, then: &GraphProto, otherwise: &GraphProto) -> NodeProto {
    node("If", condition, outputs, &[("then_branch", A::G(then)), ("else_branch", A::G(otherwise))])
}

#[test]
fn a_computed_condition_chooses_in_the_run() {
    // sum(x) > 0 ? (x * s, 1) : (log(-sum(x)) + x, 2), where the logarithm has no value on the other side
    let then = branch(vec![node("Mul", "x s", "a", &[])], vec![floats("one", &[1], &[1.0])], &["a", "one"]);
    let nodes = vec![node("Neg", "total", "m", &[]), node("Log", "m", "l", &[]), node("Add", "l x", "b", &[])];
    let otherwise = branch(nodes, vec![floats("two", &[1], &[2.0])], &["b", "two"]);
    let nodes = vec![
        // the branches come first in the file: what they take is computed before them all the same
        either("positive", "y which", &then, &otherwise),
        node("ReduceSum", "x", "total", &[("keepdims", A::I(0))]),
        node("Greater", "total zero", "positive", &[]),
        node("Exp", "x", "s", &[]),
    ];
    let m = model(18, vec![port("x", &[2])], vec![floats("zero", &[], &[0.0])], nodes, &["y", "which"]);
    let network = read(&m).unwrap();
    let up = values(&network.program, &[vec![1.0, 2.0]]);
    assert!(near(up[0].data(), &[1f64.exp(), 2.0 * 2f64.exp()]), "{up:?}");
    assert_eq!(up[1].data(), [1.0]);
    let down = values(&network.program, &[vec![1.0, -2.0]]);
    assert!(near(down[0].data(), &[1.0, -2.0]), "{down:?}");
    assert_eq!(down[1].data(), [2.0]);
    // d/dx of the sum of (x exp x) is (1 + x) exp x
    let one = crease_core::Builder::new("f");
    let mut b = one;
    let x = b.input("x", network.program.inputs()[0].shape.clone()).unwrap();
    let y = b.splice(&network.program, &[x]).unwrap()[0];
    let y = b.sum_all(y).unwrap();
    let d = backprop(&b.finish(&[y]).unwrap(), &How::default()).unwrap();
    let slopes = values(&d, &[vec![1.0, 2.0]]);
    assert!(near(slopes[1].data(), &[2.0 * 1f64.exp(), 3.0 * 2f64.exp()]), "{slopes:?}");
    let slopes = values(&d, &[vec![1.0, -3.0]]);
    // two elements have log(-sum), whose slope is 1 / sum
    assert!(near(slopes[1].data(), &[0.0, 0.0]), "{slopes:?}");
}

#[test]
fn a_known_condition_is_the_branch_that_it_takes() {
    let inner = |op: &str| branch(vec![node(op, "x", "z", &[])], vec![], &["z"]);
    // a condition inside a condition, made of a shape
    let (relu, neg) = (inner("Relu"), inner("Neg"));
    let then = branch(vec![either("always", "w", &neg, &relu)], vec![], &["w"]);
    let otherwise = branch(vec![node("Loop", "x", "v", &[])], vec![], &["v"]);
    let nodes = vec![
        node("Size", "x", "n", &[]),
        node("Equal", "n three", "is3", &[]),
        node("Not", "is3", "always", &[]),
        either("is3", "y", &then, &otherwise),
    ];
    let m = model(18, vec![port("x", &[3])], vec![int("three", 3)], nodes, &["y"]);
    let network = read(&m).unwrap();
    // what is not taken is not even read
    assert_eq!(network.program.to_string().matches("relu").count(), 1, "{}", network.program);
    assert_eq!(values(&network.program, &[vec![-1.0, 0.5, 2.0]])[0].data(), [0.0, 0.5, 2.0]);
}

#[test]
fn what_is_wrong_with_branches_is_said() {
    let good = branch(vec![node("Relu", "x", "a", &[])], vec![], &["a"]);
    let told = |then: &GraphProto, otherwise: &GraphProto| {
        let nodes = vec![node("Greater", "x zero", "c", &[]), either("c", "y", then, otherwise)];
        message(&model(18, vec![port("x", &[1])], vec![floats("zero", &[], &[0.0])], nodes, &["y"]))
    };
    let shape = branch(vec![node("Concat", "x x", "b", &[("axis", A::I(0))])], vec![], &["b"]);
    assert!(told(&good, &shape).contains("all branches must give the same shapes"), "{}", told(&good, &shape));
    let unknown = branch(vec![node("Add", "x nobody", "b", &[])], vec![], &["b"]);
    assert!(told(&good, &unknown).contains("`nobody`, which no input"), "{}", told(&good, &unknown));
    let operator = branch(vec![node("Loop", "x", "b", &[])], vec![], &["b"]);
    assert!(told(&good, &operator).contains("operator `Loop` is not supported"), "{}", told(&good, &operator));
    let mut input = good.clone();
    input.input = vec![port("q", &[1])];
    assert!(told(&input, &good).contains("a branch has an input, `q`"), "{}", told(&input, &good));
    let nodes = vec![node("Greater", "x zero", "c", &[]), node("If", "c", "y", &[("then_branch", A::G(&good))])];
    let half = message(&model(18, vec![port("x", &[1])], vec![floats("zero", &[], &[0.0])], nodes, &["y"]));
    assert!(half.contains("it must have a then_branch and an else_branch"), "{half}");
    // deeper than anybody writes
    let mut deep = good.clone();
    for i in 0..40 {
        deep = branch(vec![either("c", &format!("d{i}"), &deep, &good)], vec![], &[&format!("d{i}")]);
    }
    assert!(told(&deep, &good).contains("lie in more than 32 others"), "{}", told(&deep, &good));
    // bytes that are no graph
    let mut broken = either("c", "y", &good, &good);
    broken.attribute[0].g = Some(vec![10, 200, 1].into());
    let nodes = vec![node("Greater", "x zero", "c", &[]), broken];
    let bytes = message(&model(18, vec![port("x", &[1])], vec![floats("zero", &[], &[0.0])], nodes, &["y"]));
    assert!(bytes.contains("a branch is no graph"), "{bytes}");
}
