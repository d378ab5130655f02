//! The shared test corpus of crease: programs, points, and what is known about them.
//!
//! Three kinds of material, for every engine that claims to run or to differentiate programs:
//!
//! - [`cases`]: a table of named cases, each a text, a point and the facts that hold there (value, gradient under each
//!   preset selection, kinks, cost, level), small enough to be checked by hand;
//! - [`random`]: seeded generators of programs over a chosen [`Dictionary`](random::Dictionary), with tensors and calls
//!   if wanted, that run without domain errors, and of points for them, with or without ties;
//! - [`hostile`]: a seeded generator of small programs and points that are meant to bring out wrong answers, by ties and
//!   cancellations that are hidden, missed by a hair, or at the border of what has a value.
//!
//! [`operations`] has every operation in programs of its own. [`paper`] builds the programs that the paper itself talks about. [`compare`] says when two results are the same. [`precise`]
//! evaluates programs at hundreds of bits, for checking claims about them independently.
//! Nothing here depends on an engine; `crease_core::run` is the definition of meaning and the tests of each engine
//! compare with it.
//!
//! ```
//! use crease_core::run;
//! use crease_corpus::random::{Dictionary, Options, Rng, generic_point, program};
//! let mut rng = Rng::new(7);
//! let p = program(&mut rng, &Options::new(Dictionary::Everything).exact().tensors());
//! let x = generic_point(&mut rng, &p);
//! assert!(run(&p, &x).is_ok());
//! ```

pub mod cases;
pub mod compare;
pub mod composed;
pub mod hostile;
pub mod operations;
pub mod paper;
pub mod precise;
pub mod random;
pub mod rounding;
pub mod stress;
