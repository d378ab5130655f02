//! A tutorial: from programs to the question whether a network has a derivative, in six chapters.
//!
//! You know calculus and some Rust. You may have called `backward()` in a framework, and need not know what it does. At
//! the end you will know what automatic differentiation computes where a function has a kink, what that costs, and
//! which questions about derivatives are easy, which are hard, and why.
//!
//! 1. [Programs](chapter_1_programs): functions as lists of operations. Writing, running, printing and drawing them.
//! 2. [Cost](chapter_2_cost): counting operations, and what a function costs as opposed to a program of it.
//! 3. [Backprop](chapter_3_backprop): programs that compute derivatives are programs. They are cheap, and counting
//!    shows it.
//! 4. [Ties](chapter_4_ties): at a kink somebody has to pick a slope. What the choice changes, and what it must not
//!    change.
//! 5. [Clarke](chapter_5_clarke): what a function looks like from one point, and the derivatives that belong to the
//!    function.
//! 6. [3-SAT and a network](chapter_6_sat_and_a_network): the hard question, asked of a formula; and kinks met in
//!    training.
//!
//! Most chapters are about one small function, the *lasso* with two unknowns:
//!
//! ```
//! let lasso = crease::formats::parse("
//!     program lasso(a, b) {
//!       let r = 2 * a + b - 2
//!       return r * r + abs(a) + abs(b)
//!     }
//! ")?;
//! assert_eq!(lasso.main().inputs().len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! It asks for two numbers with `2 a + b` near 2 and charges for the size of both. The charge makes one of them zero:
//! the minimum is at a = 7/8, b = 0, and that is a point where `abs(b)` has no derivative. This is not bad luck. The
//! kink is there to attract the minimum, so whoever minimizes such functions works at kinks, and wants to know what a
//! gradient means there.
//!
//! Everything here is compiled and run with the tests, and what the prose says in numbers the code asserts. Read the
//! chapters in order; each uses words that those before have explained. The words are those of Bolte, Boustany, Pauwels
//! and Pesquet-Popescu, *On the complexity of nonsmooth automatic differentiation* (ICLR 2023), called *the paper* from
//! here on.

pub mod chapter_1_programs;
pub mod chapter_2_cost;
pub mod chapter_3_backprop;
pub mod chapter_4_ties;
pub mod chapter_5_clarke;
pub mod chapter_6_sat_and_a_network;
