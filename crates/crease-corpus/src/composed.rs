//! Functions that are made of others, at each of their kinks: what every path must say there, derived by hand.
//!
//! Inputs are single numbers, so that the judge of hostile programs can look at the same rows. Facts are exact if [`Row::exact`]; else they are
//! decimals to some fifteen digits.

use crate::hostile::Case;
use crease_core::{Program, Rational, Tensor};
use crease_formats::{parse, parse_point};
use std::sync::Arc;

/// Whether a function is differentiable at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is.
    Yes,
    /// It has one-sided derivatives that do not fit together.
    No,
    /// It is not continuous there.
    Jumps,
}

/// A function, a point, and what is known there.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The program.
    pub source: &'static str,
    /// The point.
    pub at: &'static str,
    /// The value.
    pub value: &'static str,
    /// Selections, and what the chain rule gives under each.
    pub gradients: &'static [(&'static str, &'static str)],
    /// Directions, and the derivative along each.
    pub along: &'static [(&'static str, &'static str)],
    /// All limits of gradients of neighbouring points; none if they are infinitely many.
    pub limits: &'static [&'static str],
    /// Whether it is differentiable.
    pub verdict: Verdict,
    /// Whether rationals can carry it out.
    pub exact: bool,
}

impl Row {
    /// The program. Panics if the text does not parse.
    pub fn program(&self) -> Arc<Program> {
        parse(self.source).unwrap_or_else(|e| panic!("{}: {e:?}", self.source)).main().clone()
    }

    /// Numbers for the inputs of the program, in their order.
    pub fn numbers(&self, text: &str) -> Vec<Rational> {
        let point = parse_point(text).unwrap_or_else(|e| panic!("{}: {e}", self.source));
        let bound = point.bind(&self.program()).unwrap_or_else(|e| panic!("{} at {text}: {e}", self.source));
        bound.into_iter().flat_map(|(_, data)| data).collect()
    }

    /// The point as the inputs of the program.
    pub fn point(&self) -> Vec<Tensor<Rational>> {
        self.numbers(self.at).into_iter().map(Tensor::scalar).collect()
    }

    /// The row as a case for the judge of hostile programs.
    pub fn case(&self, seed: u64) -> Case {
        Case { seed, program: (*self.program()).clone(), point: self.numbers(self.at) }
    }
}

/// All rows.
///
/// ```
/// use crease_corpus::composed::{ROWS, Verdict};
/// assert!(ROWS.iter().any(|r| r.source.contains("hardswish") && r.verdict == Verdict::No));
/// ```
pub const ROWS: &[Row] = &[
    Row {
        source: "program f(x) = relu6(x)",
        at: "x=0",
        value: "0",
        gradients: &[("paper", "x=0"), ("torch", "x=0"), ("relu=1", "x=1")],
        along: &[("x=1", "1"), ("x=-1", "0")],
        limits: &["x=0", "x=1"],
        verdict: Verdict::No,
        exact: true,
    },
    Row {
        source: "program f(x) = relu6(x)",
        at: "x=6",
        value: "6",
        gradients: &[("paper", "x=0"), ("torch", "x=0"), ("relu=1", "x=1")],
        along: &[("x=1", "0"), ("x=-1", "-1")],
        limits: &["x=0", "x=1"],
        verdict: Verdict::No,
        exact: true,
    },
    Row {
        source: "program f(x) = hardsigmoid(x)",
        at: "x=-3",
        value: "0",
        gradients: &[("paper", "x=0"), ("torch", "x=0"), ("relu=1", "x=1/6")],
        along: &[("x=1", "1/6"), ("x=-1", "0")],
        limits: &["x=0", "x=1/6"],
        verdict: Verdict::No,
        exact: true,
    },
    Row {
        source: "program f(x) = hardsigmoid(x)",
        at: "x=3",
        value: "1",
        gradients: &[("paper", "x=0"), ("torch", "x=0"), ("relu=1", "x=1/6")],
        along: &[("x=1", "0"), ("x=-1", "-1/6")],
        limits: &["x=0", "x=1/6"],
        verdict: Verdict::No,
        exact: true,
    },
    // x (x + 3) / 6 between -3 and 3, whose slope is (2 x + 3) / 6
    Row {
        source: "program f(x) = hardswish(x)",
        at: "x=-3",
        value: "0",
        gradients: &[("paper", "x=0"), ("torch", "x=0"), ("relu=1", "x=-1/2")],
        along: &[("x=1", "-1/2"), ("x=-1", "0")],
        limits: &["x=0", "x=-1/2"],
        verdict: Verdict::No,
        exact: true,
    },
    Row {
        source: "program f(x) = hardswish(x)",
        at: "x=3",
        value: "3",
        gradients: &[("paper", "x=1"), ("torch", "x=1"), ("relu=1", "x=3/2")],
        along: &[("x=1", "1"), ("x=-1", "-3/2")],
        limits: &["x=1", "x=3/2"],
        verdict: Verdict::No,
        exact: true,
    },
    // the slope is Phi(x) + x phi(x)
    Row {
        source: "program f(x) = gelu(x)",
        at: "x=0",
        value: "0",
        gradients: &[("paper", "x=1/2"), ("torch", "x=1/2")],
        along: &[("x=1", "1/2"), ("x=-2", "-1")],
        limits: &["x=1/2"],
        verdict: Verdict::Yes,
        exact: false,
    },
    Row {
        source: "program f(x) = silu(x)",
        at: "x=0",
        value: "0",
        gradients: &[("paper", "x=1/2"), ("torch", "x=1/2")],
        along: &[("x=1", "1/2"), ("x=-2", "-1")],
        limits: &["x=1/2"],
        verdict: Verdict::Yes,
        exact: false,
    },
    // scale * alpha from the left, scale from the right
    Row {
        source: "program f(x) = selu(x)",
        at: "x=0",
        value: "0",
        gradients: &[("torch", "x=1.758099340847376624"), ("elu=1", "x=1.050700987355480493")],
        along: &[("x=1", "1.050700987355480493"), ("x=-1", "-1.758099340847376624")],
        limits: &["x=1.050700987355480493", "x=1.758099340847376624"],
        verdict: Verdict::No,
        exact: false,
    },
    Row {
        source: "program f(x) = clamp(x, -1, 2)",
        at: "x=-1",
        value: "-1",
        gradients: &[("paper", "x=1"), ("max=last", "x=0"), ("torch", "x=1/2")],
        along: &[("x=1", "1"), ("x=-1", "0")],
        limits: &["x=0", "x=1"],
        verdict: Verdict::No,
        exact: true,
    },
    Row {
        source: "program f(x) = clamp(x, -1, 2)",
        at: "x=2",
        value: "2",
        gradients: &[("paper", "x=1"), ("max=last", "x=0"), ("torch", "x=1/2")],
        along: &[("x=1", "0"), ("x=-1", "-1")],
        limits: &["x=0", "x=1"],
        verdict: Verdict::No,
        exact: true,
    },
    // both bounds are one number: a constant
    Row {
        source: "program f(x) = clamp(x, 1, 1)",
        at: "x=1",
        value: "1",
        gradients: &[("max=last", "x=0")],
        along: &[("x=1", "0"), ("x=-1", "0")],
        limits: &["x=0"],
        verdict: Verdict::Yes,
        exact: true,
    },
    // 3 x + 2 y + z
    Row {
        source: "program f(x, y, z) = sum(cumsum([x, y, z]))",
        at: "x=1,y=1,z=1",
        value: "6",
        gradients: &[("paper", "x=3,y=2,z=1")],
        along: &[("x=1,y=0,z=0", "3"), ("x=0,y=-1,z=1", "-1")],
        limits: &["x=3,y=2,z=1"],
        verdict: Verdict::Yes,
        exact: true,
    },
    // x + x y + x y z: no division by the 0
    Row {
        source: "program f(x, y, z) = sum(cumprod([x, y, z]))",
        at: "x=2,y=0,z=3",
        value: "2",
        gradients: &[("paper", "x=1,y=8,z=0")],
        along: &[("x=0,y=1,z=0", "8"), ("x=-1,y=0,z=5", "-1")],
        limits: &["x=1,y=8,z=0"],
        verdict: Verdict::Yes,
        exact: true,
    },
    // x + max(x, y)
    Row {
        source: "program f(x, y) = sum(cummax([x, y]))",
        at: "x=1,y=1",
        value: "2",
        gradients: &[("paper", "x=2,y=0"), ("torch", "x=3/2,y=1/2"), ("max=last", "x=1,y=1")],
        along: &[("x=1,y=0", "2"), ("x=0,y=1", "1"), ("x=-1,y=0", "-1"), ("x=0,y=-1", "0")],
        limits: &["x=2,y=0", "x=1,y=1"],
        verdict: Verdict::No,
        exact: true,
    },
    // 3 max(x, y) + min(x, y), z being smaller
    Row {
        source: "program f(x, y, z) { let a, i = top_k([x, y, z], k=2) return dot([3, 1], a) }",
        at: "x=2,y=2,z=1",
        value: "8",
        gradients: &[],
        along: &[("x=1,y=0,z=0", "3"), ("x=0,y=1,z=0", "3"), ("x=-1,y=0,z=0", "-1"), ("x=0,y=0,z=1", "0")],
        limits: &["x=3,y=1,z=0", "x=1,y=3,z=0"],
        verdict: Verdict::No,
        exact: true,
    },
    // |x - y| / 2
    Row {
        source: "program f(x, y) = std([x, y])",
        at: "x=1,y=1",
        value: "0",
        gradients: &[("paper", "x=0,y=0"), ("torch", "x=0,y=0")],
        along: &[("x=1,y=0", "1/2"), ("x=-1,y=0", "1/2"), ("x=1,y=1", "0")],
        limits: &["x=1/2,y=-1/2", "x=-1/2,y=1/2"],
        verdict: Verdict::No,
        exact: false,
    },
    // sqrt((d - mean d)^2 / 3) of three tangents
    Row {
        source: "program f(x, y, z) = std([x, y, z])",
        at: "x=1,y=1,z=1",
        value: "0",
        gradients: &[("paper", "x=0,y=0,z=0"), ("torch", "x=0,y=0,z=0")],
        along: &[("x=1,y=1,z=1", "0"), ("x=1,y=0,z=0", "0.47140452079103168293")],
        limits: &[],
        verdict: Verdict::No,
        exact: false,
    },
    // max(x, x + y)
    Row {
        source: "program f(x, y) { let s, all = scan(s = 0, v in [x, y]) { return s + v, s + v } return max(all, axis=0) }",
        at: "x=1,y=0",
        value: "1",
        gradients: &[("paper", "x=1,y=0"), ("torch", "x=1,y=1/2"), ("max=last", "x=1,y=1")],
        along: &[("x=1,y=0", "1"), ("x=0,y=1", "1"), ("x=0,y=-1", "0"), ("x=-1,y=0", "-1")],
        limits: &["x=1,y=0", "x=1,y=1"],
        verdict: Verdict::No,
        exact: true,
    },
    // two turns of soft thresholding: at 2 the first leaves 1, which the second has its kink at
    Row {
        source: "program f(x) = repeat(2, s = x) { return relu(s - 1) - relu(-s - 1) }",
        at: "x=2",
        value: "0",
        gradients: &[("paper", "x=0"), ("relu=1", "x=1")],
        along: &[("x=1", "1"), ("x=-1", "0")],
        limits: &["x=0", "x=1"],
        verdict: Verdict::No,
        exact: true,
    },
    Row {
        source: "program f(x, y, i) = gather([x, y], floor(i))",
        at: "x=3,y=5,i=1/2",
        value: "3",
        gradients: &[("paper", "x=1,y=0,i=0")],
        along: &[("x=1,y=1,i=1", "1")],
        limits: &["x=1,y=0,i=0"],
        verdict: Verdict::Yes,
        exact: true,
    },
    Row {
        source: "program f(x, y, i) = gather([x, y], floor(i))",
        at: "x=3,y=5,i=1",
        value: "5",
        gradients: &[("paper", "x=0,y=1,i=0")],
        along: &[],
        limits: &[],
        verdict: Verdict::Jumps,
        exact: true,
    },
    Row {
        source: "program f(x, y) = norm2(x, y)^2",
        at: "x=0,y=0",
        value: "0",
        gradients: &[("paper", "x=0,y=0"), ("torch", "x=0,y=0"), ("norm2=[1]", "x=0,y=0")],
        along: &[("x=3,y=4", "0"), ("x=-1,y=0", "0")],
        limits: &["x=0,y=0"],
        verdict: Verdict::Yes,
        exact: true,
    },
    Row {
        source: "program f(x, y) = sqrt(x^2 + y^2)^2",
        at: "x=0,y=0",
        value: "0",
        gradients: &[("paper", "x=0,y=0"), ("torch", "x=0,y=0"), ("norm2=[1]", "x=0,y=0")],
        along: &[("x=3,y=4", "0"), ("x=-1,y=0", "0")],
        limits: &["x=0,y=0"],
        verdict: Verdict::Yes,
        exact: true,
    },
    Row {
        source: "program f(x, y) = norm2(x, y)",
        at: "x=0,y=0",
        value: "0",
        gradients: &[("paper", "x=0,y=0"), ("torch", "x=0,y=0"), ("norm2=[3/5,-4/5]", "x=3/5,y=-4/5")],
        along: &[("x=3,y=4", "5"), ("x=-3,y=-4", "5"), ("x=0,y=0", "0")],
        limits: &[],
        verdict: Verdict::No,
        exact: true,
    },
];
