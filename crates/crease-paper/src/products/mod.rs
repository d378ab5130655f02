//! Products of matrices as programs: the naive one, Strassen's, and Winograd's variant of it. Section 5.1.
//!
//! A size n and a [`Scheme`] enter, a program of `A, B -> A B` leaves ([`product`]), over `+`, `-` and `x` alone. The fast ones are
//! programs of programs: a product of size n calls one of half the size seven times, and rows and columns of zeros fill up odd
//! sizes. Blocks are written as tensors, which are shorthand for their scalars: `inline` and `scalarize` give the scalar program
//! of level 1, with the same tally.
//!
//! [`operations`] counts them, [`over_polynomials`] rewrites them in the dictionary {+, x, +c, xc} of Theorem 3, which has no `-`,
//! and [`counts`] is the table of all of it, with the cost of backprop beside: the figures behind the overhead p^(omega - 2).
//! Deliberately absent: rectangular products, schemes of larger blocks (Laderman, Pan), and floating-point error, which grows
//! with every level.

mod count;
mod schemes;

pub use count::{Counts, Operations, counts, operations, over_polynomials};
pub use schemes::{Scheme, product};
