//! The frameworks that presets of [`Selection`](super::Selection) are named after: which version, and where it does not return what a program with the preset does.
//!
//! A selection picks an element of the conservative gradient, always. A framework may return NaN or infinity instead, because it multiplies slopes that are infinite by 0, or pick
//! what its algorithm happens to leave in front. `docs/ties.md` has all cases, computed by running the framework; here are those that differ.

use std::fmt;

/// A framework that a preset is named after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Framework {
    /// The preset.
    pub preset: &'static str,
    /// What people call it.
    pub name: &'static str,
    /// The version whose choices the preset has; nothing where no version was run, and the choices are those of its source.
    pub version: Option<&'static str>,
    /// Where this version returns something else.
    pub departures: &'static [Departure],
}

/// Where a framework returns something else than a program with its preset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Departure {
    /// The operation, in the words of the framework.
    pub operation: &'static str,
    /// The point.
    pub at: &'static str,
    /// What the framework returns.
    pub framework: &'static str,
    /// What the program has.
    pub program: &'static str,
}

const fn at(operation: &'static str, at: &'static str, framework: &'static str, program: &'static str) -> Departure {
    Departure { operation, at, framework, program }
}

/// What a program says where a slope is infinite or missing.
const ERROR: &str = "an error";

/// All of them.
const ALL: [Framework; 3] = [
    Framework {
        preset: "torch",
        name: "PyTorch",
        version: Some("2.15.0"),
        departures: &[
            at("topk(x, 2)", "(1, 3, 3, 3)", "(0, 0, 1, 2)", "(0, 1, 2, 0)"),
            at("hypot(x[0], x[1])", "(0, 0)", "(NaN, NaN)", "(0, 0)"),
            at("sqrt(x)", "(0)", "inf", ERROR),
            at("sqrt(sum(x * x))", "(0, 0)", "(NaN, NaN)", "(0, 0)"),
            at("sqrt(relu(x))", "(0)", "0", ERROR),
            at("atan2(x[0], x[1])", "(0, 0)", "(0, 0)", ERROR),
            at("x ** 0.5", "(0)", "inf", ERROR),
        ],
    },
    Framework {
        preset: "jax",
        name: "JAX",
        version: Some("0.10.2"),
        departures: &[
            at("linalg.norm(x)", "(0, 0)", "(NaN, NaN)", "(0, 0)"),
            at("linalg.norm(x) ** 2", "(0, 0)", "(NaN, NaN)", "(0, 0)"),
            at("sqrt(sum(x * x))", "(0, 0)", "(NaN, NaN)", "(0, 0)"),
            at("std(x)", "(1, 1, 1)", "(NaN, NaN, NaN)", "(0, 0, 0)"),
            at("sqrt(x)", "(0)", "inf", ERROR),
            at("sqrt(relu(x))", "(0)", "0", ERROR),
            at("cbrt(x)", "(0)", "inf", ERROR),
            at("x ** 0.5", "(0)", "inf", ERROR),
            at("arctan2(x[0], x[1])", "(0, 0)", "(NaN, NaN)", ERROR),
        ],
    },
    Framework { preset: "tensorflow", name: "TensorFlow", version: None, departures: &[] },
];

impl Framework {
    /// The framework that a preset is named after; nothing for `paper`.
    ///
    /// ```
    /// use crease_core::op::Framework;
    /// let jax = Framework::of("jax").unwrap();
    /// assert_eq!(jax.to_string(), "JAX 0.10.2");
    /// assert!(jax.departures.iter().any(|d| d.operation == "sqrt(sum(x * x))" && d.framework == "(NaN, NaN)"));
    /// assert_eq!(Framework::of("paper"), None);
    /// ```
    pub fn of(preset: &str) -> Option<&'static Framework> {
        ALL.iter().find(|f| f.preset == preset)
    }

    /// All frameworks that presets are named after.
    pub fn all() -> &'static [Framework] {
        &ALL
    }
}

impl fmt::Display for Framework {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.version {
            Some(version) => write!(f, "{} {version}", self.name),
            None => f.write_str(self.name),
        }
    }
}

impl fmt::Display for Departure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}: {}, and not {}", self.operation, self.at, self.framework, self.program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Selection;

    /// The table is that of the page, whose rows the tests of the Python package compare with the framework itself.
    #[test]
    fn the_table_is_that_of_the_page() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ties.md");
        // a package of the crate alone has no pages
        let Ok(page) = std::fs::read_to_string(page) else { return };
        for framework in Framework::all() {
            assert!(Selection::preset(framework.preset).is_some_and(|s| s.validate().is_ok()), "{framework}");
            let Some(version) = framework.version else { continue };
            let start = format!("<!-- {} -->\n", framework.preset);
            let part = page.split_once(&start).unwrap().1.split_once("<!-- end of").unwrap().0;
            let told = part.lines().next().unwrap();
            let numbers = told.trim_end_matches('.').rsplit_once(' ').unwrap().1.split('+').next();
            assert_eq!(numbers, Some(version), "{told}");
            let rows = part.lines().filter(|l| l.starts_with("| `"));
            let cells = rows.map(|l| l.trim_matches('|').split(" | ").map(|c| c.trim().trim_matches('`')).collect());
            let differ = cells.filter(|c: &Vec<&str>| c[2] != c[3]).map(|c| [c[0], c[1], c[2], c[3]]);
            let here = framework.departures.iter().map(|d| [d.operation, d.at, d.framework, d.program]);
            assert_eq!(differ.collect::<Vec<_>>(), here.collect::<Vec<_>>(), "{framework}");
        }
    }
}
