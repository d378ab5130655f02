//! What a local model may take is a limit with a name, and the default is none that cannot be passed.

use crease_core::differentiate::{How, backprop};
use crease_core::limits::OracleLimits;
use crease_core::local::{LocalError, LocalModel, Node, Precision, localize_within};
use crease_core::{InlineError, Limits, Program, Rational, Tensor, inline, unroll, unroll_within};
use crease_formats::parse_expression;

fn read(text: &str) -> Program {
    parse_expression(text, &|_| None).unwrap_or_else(|e| panic!("{text}: {e:?}"))
}

fn model(text: &str, oracles: OracleLimits) -> Result<LocalModel, LocalError> {
    let p = read(text);
    let at = vec![Tensor::scalar(Rational::ZERO); p.inputs().len()];
    localize_within(&p, &at, Precision::default(), &Limits { oracles, ..Limits::default() })
}

#[test]
fn whether_an_argument_moves_takes_visits() {
    let steep = |tangents| match model("sqrt(x + 2 * y)", OracleLimits { tangents, ..OracleLimits::DEFAULT }) {
        Err(LocalError::Singular { steep, .. }) => steep,
        other => panic!("{other:?}"),
    };
    assert!(steep(OracleLimits::DEFAULT.tangents) && steep(100));
    // without them it is singular all the same, but not known to be steep
    assert!(!steep(0));
}

#[test]
fn that_squares_are_on_a_line_takes_terms() {
    let norms = |text: &str, squares| {
        let model = model(text, OracleLimits { squares, ..OracleLimits::DEFAULT }).unwrap();
        model.nodes().filter(|n| matches!(n, Node::Norm(_))).count()
    };
    // one multiple of another is a multiple of its absolute value
    let line = "norm2(x + y, 2 * x + 2 * y)";
    assert_eq!([100, 0].map(|squares| norms(line, squares)), [0, 1]);
    assert_eq!([100, 0].map(|squares| norms("norm2(x - y)", squares)), [0, 0]);
}

#[test]
fn loops_are_unrolled_within_a_limit() {
    let mut b = crease_core::Builder::new("f");
    let x = b.input("x", crease_core::Shape::scalar()).unwrap();
    let body = b.callee(std::sync::Arc::new(read("x * x")), None).unwrap();
    let y = b.push(crease_core::Scan::repeat(body, 9, 1), &[x]).unwrap();
    let p = b.finish(&y).unwrap();
    let size = match unroll_within(&p, 0).unwrap_err() {
        InlineError::Turns { size, limit: 0, .. } => u64::try_from(size).unwrap(),
        other => panic!("{other}"),
    };
    let error = unroll_within(&p, size - 1).unwrap_err().to_string();
    assert!(error.ends_with("raise `equations`"), "{error}");
    assert_eq!(unroll_within(&p, size).unwrap(), unroll(&p).unwrap());
}

/// Differentiation keeps to the limits that it is used with, unless it was told a limit of its own.
#[test]
fn equations_are_those_of_the_limits() {
    let p = super::doubled(5);
    let n = 2 * inline(&p).unwrap().len() as u64;
    let few = Limits { equations: 1, ..Limits::default() };
    assert!(backprop(&p, &How::default()).is_ok());
    assert!(backprop(&p, &How::default().within(&few)).is_err());
    assert!(backprop(&p, &How::default().max_equations(n).within(&few)).is_ok());
}
