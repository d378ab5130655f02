//! Properties of crease-core, on thousands of random programs and on the named cases of the corpus.
//!
//! One file for each property. Programs are drawn from seeds, smallest first, so that the first failure is a small one;
//! a failure prints the program, the point and what was found there.

mod batches;
mod bounds;
mod corpus;
mod differences;
mod directions;
mod expansion;
mod invariants;
mod kinks;
mod loops;
mod modes;
mod nesting;
mod norms;
mod numbers;
mod operations;
mod paper;
mod prices;
mod printing;
mod rewriting;
mod rules;
mod support;
mod windows;
mod words;
