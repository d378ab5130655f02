//! Errors: whatever crease says becomes one kind of exception, with its message and place.

use pyo3::PyErr;
use std::fmt::Display;

pyo3::create_exception!(
    crease,
    CreaseError,
    pyo3::exceptions::PyValueError,
    "What crease could not do, where, and what to do about it."
);

/// What messages call by the flags of the command line, and what it is called here.
const FLAGS: [(&str, &str); 10] = [
    ("with --output 0", "with output=0"),
    ("with --jacobian", "with Program.jacobian"),
    ("with --max-steps or --limit steps=N, or `Limits::steps`", "with steps="),
    ("with --max-numbers or --limit numbers=N, or `Limits::numbers`", "by smaller inputs"),
    (
        "(--max-equations or --limit equations=N, `How::max_equations`, `Limits::equations`)",
        "with equations= where a question takes limits",
    ),
    (" (--technique backward)", ""),
    ("or insist on exact numbers with --exact", "or insist on exact numbers with numbers=\"exact\""),
    ("or run with --exact", "or ask with numbers=\"exact\""),
    ("without --exact", "without numbers=\"exact\""),
    ("--exact", "numbers=\"exact\""),
];

/// The exception for an error of crease, in the words of Python.
pub fn raise(e: impl Display) -> PyErr {
    let text = FLAGS.iter().fold(e.to_string(), |text, (flag, here)| text.replace(flag, here));
    CreaseError::new_err(text)
}
