//! Stress programs: short texts that take exponential or quadratic time or memory if they are treated as trees.
//!
//! A [`Family`] makes a [`Case`] for each size: a program as text or ONNX, a point, and whether the function is differentiable
//! there, where that is known. Expected of every command and function is an answer or the limit that ended it, in time;
//! the answer is a bonus. [`FAMILIES`] holds programs, [`FORMULAS`] holds formulas in DIMACS format for `crease sat` and `crease reduce`.
//!
//! ```
//! use crease_corpus::stress::{FAMILIES, Source};
//! let family = FAMILIES.iter().find(|f| f.name == "shared-squares").unwrap();
//! let case = family.case(2);
//! let Source::Text(text) = &case.source else { unreachable!() };
//! assert_eq!(text, "program f(x, y) {\n  let s0 = x * x + y * y\n  let s1 = s0 + s0\n  let s2 = s1 + s1\n  return sqrt(s2)\n}\n");
//! assert_eq!(case.point(), "x=0,y=0");
//! ```

mod chains;
mod formulas;
mod kinks;
mod numbers;
mod structure;
mod text;

pub use crate::composed::Verdict;
pub use formulas::{FORMULAS, Formula};

use crease_core::{Program, Rational};
use crease_formats::PointError;
use crease_formats::{Point, parse_bytes, parse_onnx, parse_point};
use text::nested;

/// Points with more characters than this are files, not arguments of a command.
const LONGEST_ARGUMENT: usize = 60_000;

/// Programs of one kind, for each size.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Its name.
    pub name: &'static str,
    /// The sizes to try, in ascending order: the first is small enough for every question to be answered, the last is the worst.
    pub sizes: &'static [usize],
    make: fn(usize) -> Case,
}

impl Family {
    /// The program of size `n` and its point.
    pub fn case(&self, n: usize) -> Case {
        Case { family: self.name, n, ..(self.make)(n) }
    }

    /// The largest size.
    pub fn worst(&self) -> usize {
        self.sizes.iter().copied().max().unwrap_or(1)
    }
}

/// Where a program is written down.
#[derive(Clone, Debug)]
pub enum Source {
    /// In the language of crease.
    Text(String),
    /// As a network in ONNX.
    Onnx(Vec<u8>),
}

/// An input of a program, all elements of which have one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// Its shape.
    pub dims: Vec<usize>,
    /// The value of all its elements at the point, as text.
    pub value: String,
}

/// A program, a point, and what is known there.
#[derive(Clone, Debug)]
pub struct Case {
    /// The family that it belongs to.
    pub family: &'static str,
    /// The size.
    pub n: usize,
    /// The program.
    pub source: Source,
    /// The point.
    pub inputs: Vec<Input>,
    /// Whether the function is differentiable at the point; nothing where that is not known, or there is no value.
    pub verdict: Option<Verdict>,
}

/// Why the program of a case cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Unreadable(String);

impl Case {
    fn text(source: String, inputs: Vec<Input>, verdict: Option<Verdict>) -> Case {
        Case { family: "", n: 0, source: Source::Text(source), inputs, verdict }
    }

    /// The point as text such as `x=0,y=1/2,v=[1,1,1]`.
    pub fn point(&self) -> String {
        let input = |i: &Input| format!("{}={}", i.name, nested(&i.dims, &i.value));
        self.inputs.iter().map(input).collect::<Vec<_>>().join(",")
    }

    /// The point as a JSON object.
    pub fn json(&self) -> String {
        self.object(|i| i.value.clone())
    }

    /// A direction, a 1 for each number of the point, as a JSON object.
    pub fn direction(&self) -> String {
        self.object(|_| "1".into())
    }

    fn object(&self, value: impl Fn(&Input) -> String) -> String {
        let word = |i: &Input| {
            let value = value(i);
            // JSON has no fractions
            if value.contains(['/', '~']) { format!("\"{value}\"") } else { value }
        };
        let input = |i: &Input| format!("\"{}\": {}", i.name, nested(&i.dims, &word(i)));
        format!("{{{}}}", self.inputs.iter().map(input).collect::<Vec<_>>().join(", "))
    }

    /// The point as a line of CSV, all numbers one after the other.
    pub fn line(&self) -> String {
        let numbers = self.inputs.iter().flat_map(|i| vec![i.value.clone(); i.dims.iter().product()]);
        numbers.collect::<Vec<_>>().join(",")
    }

    /// How many numbers the point has.
    pub fn dimension(&self) -> usize {
        self.inputs.iter().map(|i| i.dims.iter().product::<usize>()).sum()
    }

    /// Whether the point fits into an argument of a command.
    pub fn is_short(&self) -> bool {
        let longest = |i: &Input| i.dims.iter().product::<usize>().saturating_mul(i.value.len() + 2) + i.name.len() + 2;
        self.inputs.iter().map(longest).sum::<usize>() < LONGEST_ARGUMENT
    }

    /// The program and the point, read.
    ///
    /// # Errors
    ///
    /// Some programs are refused when they are read, such as one with a number of 10^9 digits.
    pub fn read(&self) -> Result<(Program, Point), Unreadable> {
        let say = |e: &dyn std::fmt::Display| Unreadable(e.to_string());
        let program = match &self.source {
            Source::Text(text) => parse_bytes(text.as_bytes()).map_err(|e| say(&e))?.main().as_ref().clone(),
            Source::Onnx(bytes) => parse_onnx(bytes, &Default::default()).map_err(|e| say(&e))?.program,
        };
        let point: Result<Point, PointError> =
            if self.is_short() { parse_point(&self.point()) } else { Point::from_json(&self.json()) };
        Ok((program, point.map_err(|e| say(&e))?))
    }

    /// A direction of ones, for functions that take numbers.
    pub fn ones(&self) -> Vec<Rational> {
        vec![Rational::ONE; self.dimension()]
    }
}

/// An input that is a scalar.
fn scalar(name: &str, value: &str) -> Input {
    Input { name: name.into(), dims: Vec::new(), value: value.into() }
}

/// An input that is a tensor.
fn tensor(name: &str, dims: &[usize], value: &str) -> Input {
    Input { name: name.into(), dims: dims.into(), value: value.into() }
}

/// All families.
pub const FAMILIES: &[Family] = &[
    // values that are shared
    Family { name: "shared-squares", sizes: &[5, 22, 60, 10_000], make: structure::shared_squares },
    Family { name: "shared-maxima", sizes: &[5, 60, 1000, 10_000], make: structure::shared_maxima },
    Family { name: "shared-products", sizes: &[5, 30, 60, 1000], make: structure::shared_products },
    Family { name: "shared-selections", sizes: &[4, 19, 60, 1000], make: structure::shared_selections },
    Family { name: "shared-calls", sizes: &[4, 20, 60, 10_000], make: structure::shared_calls },
    Family { name: "composed-calls", sizes: &[4, 20, 60, 10_000], make: structure::composed_calls },
    Family { name: "constant-calls", sizes: &[4, 20, 60, 1000], make: structure::constant_calls },
    Family { name: "joint-programs", sizes: &[4, 20, 60, 1000], make: structure::joint_programs },
    Family { name: "conjunctions", sizes: &[4, 20, 60, 1000], make: structure::conjunctions },
    // loops
    Family { name: "nested-loops", sizes: &[3, 100, 1000, 10_000], make: structure::nested_loops },
    Family { name: "deep-loops", sizes: &[3, 12, 24, 60], make: structure::deep_loops },
    Family { name: "long-loop", sizes: &[10, 1000, 100_000, 100_000_000], make: structure::long_loop },
    Family { name: "kinked-loop", sizes: &[5, 50, 1000, 10_000], make: structure::kinked_loop },
    Family { name: "running-maxima", sizes: &[5, 100, 1000, 10_000], make: structure::running_maxima },
    // syntax
    Family { name: "parentheses", sizes: &[10, 1000, 10_000, 1_000_000], make: structure::parentheses },
    Family { name: "nested-calls", sizes: &[10, 1000, 10_000, 100_000], make: structure::nested_calls },
    Family { name: "wide-sum", sizes: &[4, 100, 1000, 10_000], make: structure::wide_sum },
    Family { name: "wide-output", sizes: &[4, 100, 1000, 10_000], make: structure::wide_output },
    // many kinks at once
    Family { name: "norm-one", sizes: &[3, 16, 100, 10_000], make: kinks::norm_one },
    Family { name: "ties", sizes: &[4, 100, 1000, 10_000], make: kinks::ties },
    Family { name: "maximum", sizes: &[4, 100, 1000, 10_000], make: kinks::maximum },
    Family { name: "median", sizes: &[5, 21, 101, 10_001], make: kinks::median },
    Family { name: "sorts", sizes: &[3, 12, 100, 10_000], make: kinks::sorts },
    Family { name: "sorting-network", sizes: &[3, 8, 20, 100], make: kinks::sorting_network },
    Family { name: "norms", sizes: &[3, 30, 200, 10_000], make: kinks::norms },
    Family { name: "products", sizes: &[3, 16, 100, 10_000], make: kinks::products },
    Family { name: "hidden-identity", sizes: &[3, 20, 100, 1000], make: kinks::hidden_identity },
    Family { name: "layers", sizes: &[2, 6, 16, 60], make: kinks::layers },
    Family { name: "max-linear", sizes: &[3, 20, 100, 1000], make: kinks::max_linear },
    Family { name: "stairs", sizes: &[3, 100, 1000, 10_000], make: kinks::stairs },
    Family { name: "residual", sizes: &[2, 30, 200, 2000], make: kinks::residual },
    Family { name: "max-pools", sizes: &[2, 4, 6, 8], make: kinks::max_pools },
    // chains of smooth functions, and numbers that grow
    Family { name: "sines", sizes: &[5, 100, 1000, 10_000], make: chains::sines },
    Family { name: "exponentials", sizes: &[5, 100, 1000, 10_000], make: chains::exponentials },
    Family { name: "tower", sizes: &[2, 4, 6, 1000], make: chains::tower },
    Family { name: "rational-chain", sizes: &[5, 20, 40, 10_000], make: chains::rational_chain },
    Family { name: "escaping-chain", sizes: &[5, 20, 40, 10_000], make: chains::escaping_chain },
    Family { name: "undecided-ties", sizes: &[1, 10, 100, 1000], make: chains::undecided_ties },
    Family { name: "roots", sizes: &[5, 100, 1000, 10_000], make: chains::roots },
    Family { name: "horner", sizes: &[5, 100, 1000, 10_000], make: chains::horner },
    Family { name: "log-sum-exps", sizes: &[3, 30, 300, 3000], make: chains::log_sum_exps },
    Family { name: "long-number", sizes: &[10, 1000, 100_000, 3_000_000], make: numbers::long_number },
    Family { name: "long-point", sizes: &[10, 1000, 100_000, 3_000_000], make: numbers::long_point },
    Family { name: "long-decimal", sizes: &[10, 1000, 100_000, 3_000_000], make: numbers::long_decimal },
    Family { name: "exponent", sizes: &[10, 1000, 100_000, 999_999_999], make: numbers::exponent },
    Family { name: "exponent-of-point", sizes: &[10, 1000, 100_000, 999_999_999], make: numbers::exponent_of_point },
    Family { name: "power", sizes: &[10, 1000, 100_000, 2_000_000_000], make: numbers::power },
    Family { name: "root", sizes: &[3, 1001, 100_003, 2_000_000_011], make: numbers::root },
    Family { name: "large-angle", sizes: &[10, 300, 3000, 300_000], make: numbers::large_angle },
    Family { name: "large-exponential", sizes: &[2, 10, 300, 300_000], make: numbers::large_exponential },
    Family { name: "zeros", sizes: &[10, 10_000, 10_000_000, 134_217_728], make: numbers::zeros },
];
