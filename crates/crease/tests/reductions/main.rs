//! Formulas as programs and programs as networks, against brute force.

mod networks;
mod sat;
mod solve;
mod support;
