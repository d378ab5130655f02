//! Small programs from bytes, as text in the language of crease.

use arbitrary::{Result, Unstructured};

/// The most operations of an expression.
const SIZE: usize = 24;

/// The names of the inputs.
pub const INPUTS: [&str; 3] = ["x", "y", "z"];

/// Which operations there are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Operations {
    /// Piecewise linear ones, with constants that are small fractions.
    PiecewiseLinear,
    /// These, and smooth ones.
    All,
}

/// An expression in x, y and z, built from the bottom up: each operation takes what came before it, so that parts are shared.
pub fn program(u: &mut Unstructured<'_>, operations: Operations) -> Result<String> {
    let mut values: Vec<String> = INPUTS.iter().map(ToString::to_string).collect();
    let mut lines = String::new();
    let size = u.int_in_range(1..=SIZE)?;
    for k in 0..size {
        let (a, b) = (u.choose(&values)?.clone(), u.choose(&values)?.clone());
        let c = format!("{}/{}", u.int_in_range(-3..=3)?, u.int_in_range(1..=3)?);
        let kinds = if operations == Operations::All { 18 } else { 10 };
        let value = match u.int_in_range(0..=kinds - 1)? {
            0 => format!("{a} + {b}"),
            1 => format!("{a} - {b}"),
            2 => format!("({c}) * {a}"),
            3 => format!("{a} + ({c})"),
            4 => format!("relu({a})"),
            5 => format!("abs({a})"),
            6 => format!("max({a}, {b})"),
            7 => format!("min({a}, {b})"),
            8 => format!("max({a}, {b}, {c})"),
            9 => format!("-{a}"),
            10 => format!("{a} * {b}"),
            11 => format!("{a} / {b}"),
            12 => format!("exp({a})"),
            13 => format!("tanh({a})"),
            14 => format!("sqrt({a})"),
            15 => format!("log({a})"),
            16 => format!("{a}^3"),
            _ => format!("sin({a})"),
        };
        lines.push_str(&format!("  let v{k} = {value}\n"));
        values.push(format!("v{k}"));
    }
    // all that was computed has a part in the output
    let sum = (0..size).map(|k| format!("v{k}")).collect::<Vec<_>>().join(" + ");
    Ok(format!("program f(x, y, z) {{\n{lines}  return {sum}\n}}\n"))
}
