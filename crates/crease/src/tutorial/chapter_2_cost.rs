//! Chapter 2: cost.
//!
//! The claim that derivatives are cheap has to be made precise before it can be checked. How much is cheap? Seconds
//! depend on the machine and on the compiler. The paper counts operations, and so does crease: what a program costs is
//! a fact about the program.
//!
//! # Counting
//!
//! A [`Tally`](crate::cost::Tally) says how often each operation is applied. It is counted from the equations, without
//! running them, because a program applies the same operations wherever it is run. (Of a `select`, which has branches,
//! the dearest one is counted.)
//!
//! ```
//! use crease::{cost::tally, formats::parse};
//!
//! let module = parse("
//!     program lasso(a, b) {
//!       let r = 2 * a + b - 2
//!       return r * r + abs(a) + abs(b)
//!     }
//! ")?;
//! assert_eq!(tally(module.main()).to_string(), "1 *, 1 *c, 3 +, 1 +c, 2 abs");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Adding a constant, `+c`, and multiplying by one, `*c`, are counted apart from `+` and `*`. They cost the same, but
//! their derivatives do not: `2 * a` passes one derivative on, `r * r` has two to combine.
//!
//! # Prices
//!
//! How do a multiplication, an exponential and the test of a sign compare? That differs between machines, so crease
//! leaves it open. A [`Price`](crate::cost::Price) is a linear form: additions and multiplications cost 1, smooth
//! functions such as exp cost c_nonlin, looking at a sign costs c_relu. If you need a number, you say what the symbols
//! are worth:
//!
//! ```
//! # use crease::formats::parse;
//! # let source = "program lasso(a, b) { let r = 2 * a + b - 2 return r * r + abs(a) + abs(b) }";
//! # let lasso = parse(source)?.main().clone();
//! use crease::cost::{cost, Prices};
//! use crease::Rational;
//!
//! let price = cost(&lasso);
//! assert_eq!(price.to_string(), "8 + 2 c_relu");
//! assert_eq!(price.at(&Prices::unit()), Rational::from(10));
//!
//! let free_signs = Prices { relu: Rational::ZERO, ..Prices::unit() };
//! assert_eq!(price.at(&free_signs), Rational::from(8));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The absolute value is a sign and, at worst, a multiplication by it: 1 + c_relu. With six arithmetic operations and
//! two absolute values the lasso costs 8 + 2 c_relu. [`Prices::unit`](crate::cost::Prices::unit) is the paper's
//! Assumption 1, in which every symbol is worth 1; there it is 10.
//!
//! Tensors change nothing: a product of matrices is counted as the multiplications and additions that it stands for.
//! Taking a tensor apart, transposing it or repeating it moves numbers and computes none, so it is free:
//!
//! ```
//! use crease::{cost::{cost, tally}, scalarize, trace_shapes, Shape};
//!
//! let product = trace_shapes(&[Shape::new([2, 3])?, Shape::vector(3)?], |x| vec![x[0].matmul(x[1])])?;
//! assert_eq!(tally(&product).to_string(), "6 *, 4 +");
//! let scalars = scalarize(&product)?; // the same with one equation for each number
//! assert_eq!(cost(&scalars), cost(&product));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A program and its function
//!
//! Figure 1 of the paper has two programs of the function a (b + c). P1 adds first, Q1 multiplies first:
//!
//! ```
//! use crease::{cost::cost, trace, Function};
//!
//! let p = trace(3, |x| x[0] * (x[1] + x[2]))?; // P1
//! let q = trace(3, |x| x[0] * x[1] + x[0] * x[2])?; // Q1
//! assert_eq!((cost(&p).to_string(), cost(&q).to_string()), ("2".into(), "3".into()));
//!
//! let at = [2.0, 3.0, 4.0];
//! assert_eq!(Function::from(p).value(&at)?, 14.0);
//! assert_eq!(Function::from(q).value(&at)?, 14.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! So cost belongs to programs: 2 for one, 3 for the other. What belongs to the function is the *infimum* over all of
//! its programs, which the paper calls comp(f, D), where D is the dictionary. Every program is an upper bound on it. A
//! lower bound is another matter, as one has to speak about all programs at once; for most functions nobody knows a
//! good one. This is why the paper's lower bounds on derivatives are of the form *as hard as*: as a product of
//! matrices, as 3-SAT.
//!
//! Better upper bounds can be searched for. [`simplify`](crate::simplify()) does the modest part: it shares what is
//! computed twice and drops what is not used. It does not know that a b + a c is a (b + c); `saturate`, a feature
//! of this crate, and the command `crease simplify` do.
//!
//! ```
//! use crease::{cost::cost, simplify, trace};
//!
//! let twice = trace(2, |x| (x[0] + x[1]) * (x[0] + x[1]))?;
//! assert_eq!((cost(&twice).to_string(), cost(&simplify(&twice)?).to_string()), ("3".into(), "2".into()));
//! let q = trace(3, |x| x[0] * x[1] + x[0] * x[2])?;
//! assert_eq!(cost(&simplify(&q)?).to_string(), "3");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Calls cost what they call
//!
//! A program of level 2 costs as much as its expansion. This is not a definition to argue about: it has to be so, or
//! one could make a program cheaper by giving names to its parts.
//!
//! ```
//! use crease::{cost::{cost, tally}, formats::parse, inline};
//!
//! let figure = parse("
//!     program P1(a, b, c) = a * (b + c)
//!     program Q1(a, b, c) = a * b + a * c
//!     program P2(a, b, c, d) = Q1(a, c, d) + P1(b, c, d)
//! ")?;
//! let p = figure.main(); // the last one
//! assert_eq!((p.level(), cost(p).to_string().as_str()), (2, "6"));
//! let flat = inline(p)?;
//! assert_eq!(flat.level(), 1);
//! assert_eq!(tally(&flat), tally(p));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The figure's P2 costs 3 + 2 + 1 = 6, while its function (a + b)(c + d) has a program of cost 3.
//!
//! ```
//! # let source = "program P1(a, b, c) = a * (b + c) program Q1(a, b, c) = a * b + a * c
//! #     program P2(a, b, c, d) = Q1(a, c, d) + P1(b, c, d)";
//! # let p2 = crease::formats::parse(source)?.main().clone();
//! use crease::{cost::cost, run, trace, Tensor};
//! let short = trace(4, |x| (x[0] + x[1]) * (x[2] + x[3]))?;
//! assert_eq!(cost(&short).to_string(), "3");
//! let at = [1.0, 2.0, 3.0, 4.0].map(Tensor::scalar);
//! assert_eq!(run(&short, &at)?, run(&p2, &at)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # To try
//!
//! - What does the lowered lasso of [chapter 1](super::chapter_1_programs) cost? How much of that is the price of
//!   writing `abs` by ReLUs?
//! - Write a polynomial of degree 4 with powers and in Horner's form, and compare.
//! - The maximum of n numbers costs n - 1 comparisons. Check it, and then look up what sorting is charged.
//!
//! The details: [`cost`](crate::cost) has tallies and prices; the crate `crease-paper` has the paper's cost tables,
//! computed, and where the two differ. Next: [what derivatives cost](super::chapter_3_backprop).
