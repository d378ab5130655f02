//! Chapter 3: backprop.
//!
//! A derivative of a program is computed by another program. crease writes that program down, and it is a program like
//! all others: it can be printed, counted, run, and differentiated again. Nothing in the last two chapters has to be
//! said twice.
//!
//! # A derived program
//!
//! ```
//! use crease::{backprop, formats::parse, How};
//!
//! let module = parse("
//!     program lasso(a, b) {
//!       let r = 2 * a + b - 2
//!       return r * r + abs(a) + abs(b)
//!     }
//! ")?;
//! let derived = backprop(module.main(), &How::default())?;
//! assert_eq!(derived.to_string(), "\
//! program backprop_lasso(a, b) {
//!   let v2 = 2 * a
//!   let v3 = v2 + b
//!   let v4 = v3 - 2
//!   let v5 = v4 * v4
//!   let v6, v7 = abs'(a, at=-1)
//!   let v8 = v5 + v6
//!   let v9, v10 = abs'(b, at=-1)
//!   let v11 = v8 + v9
//!   let v12 = v4 + v4
//!   let v13 = v10 + v12
//!   let v14 = v12 * 2
//!   let v15 = v7 + v14
//!   return v11, v15, v13
//! }
//! ");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Down to `v11` it is the lasso, equation by equation, except that `abs` has become *joint*: `abs'` returns the
//! absolute value and its slope together, because whoever looks at the sign knows both. (The `at=-1` says which slope
//! is returned at 0. That is [the next chapter](super::chapter_4_ties).) Then the list is walked backward. For every
//! value there is an *adjoint*, the derivative of the result by that value: 1 for `v11` itself, 2 r for the residual,
//! which is `v12`, and from there the chain rule hands it on to `b`, with factor 1, and to `a`, with factor 2. The
//! three outputs are the value and the two partial derivatives.
//!
//! Is it right? At (1, 1) there is no kink nearby, and the lasso is quadratic there. For quadratic functions the
//! central difference quotient is not an approximation, and in rationals it is computed without rounding. So the two
//! must agree to the last digit:
//!
//! ```
//! # use crease::{backprop, formats::parse, How};
//! # let source = "program lasso(a, b) { let r = 2 * a + b - 2 return r * r + abs(a) + abs(b) }";
//! # let lasso = parse(source)?.main().clone();
//! use crease::{run, Rational, Tensor};
//!
//! let at = |a: &str, b: &str| [a, b].map(|x| Tensor::scalar(x.parse::<Rational>().unwrap()));
//! let out = run(&backprop(&lasso, &How::default())?, &at("1", "1"))?;
//! assert_eq!(out.iter().map(|t| t.to_string()).collect::<Vec<_>>(), ["3", "5", "3"]);
//!
//! let value = |a: &str, b: &str| run(&lasso, &at(a, b)).map(|out| out[0].data()[0].clone());
//! assert_eq!(value("1.25", "1")? - value("0.75", "1")?, Rational::new(5, 2).unwrap()); // over 1/2: 5
//! assert_eq!(value("1", "1.25")? - value("1", "0.75")?, Rational::new(3, 2).unwrap()); // over 1/2: 3
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What it costs
//!
//! Theorem 2 of the paper bounds the cost of the derived program by a constant times that of the program. The constant
//! omega is the worst, over the operations that occur, of the cost of the operation's own joint form and of the chain
//! rule through it, divided by the cost of the operation. For additions and multiplications that is 5, and at unit
//! prices nothing in the paper's dictionary is worse:
//!
//! ```
//! # use crease::{backprop, formats::parse, How, Rational};
//! # let source = "program lasso(a, b) { let r = 2 * a + b - 2 return r * r + abs(a) + abs(b) }";
//! # let lasso = parse(source)?.main().clone();
//! use crease::cost::{cost, Prices};
//! use crease::differentiate::overhead;
//! use crease::{exp, inv, log, relu, trace, Mode};
//!
//! let (how, unit) = (How::default(), Prices::unit());
//! let theorem = overhead(&lasso, &how, Mode::Backward, &unit)?;
//! let counted = cost(&backprop(&lasso, &how)?).at(&unit);
//! let model = theorem.model.at(&unit);
//! let bound = theorem.omega.clone().unwrap() * cost(&lasso).at(&unit);
//! assert_eq!([&counted, &model, &bound].map(|c| c.to_string()), ["14", "34", "50"]);
//! assert_eq!(theorem.omega, Some(Rational::from(5)));
//!
//! let others = trace(1, |x| log(exp(inv(x[0]))) + relu(x[0]))?;
//! assert_eq!(overhead(&others, &how, Mode::Backward, &unit)?.omega, Some(Rational::from(5)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Three numbers, and each has its use. The bound, 5 times 10, holds for every program of these operations that costs
//! 10. The model, 34, is the sum in the theorem's proof, operation by operation. The count, 14, is the tally of the
//! program above: it does not multiply by 1 and does not add to nothing, which the proof has no reason to avoid. The
//! three always come in this order.
//!
//! # Forward or backward
//!
//! One can also carry derivatives along while the program runs: *forward mode*. Each value then has p derivatives, one
//! for each input, so the price grows with p. Backward mode does not know p at all. A lasso with n unknowns shows it:
//!
//! ```
//! use crease::cost::{cost, Prices};
//! use crease::{abs, backprop, forprop, trace, BuildError, How, Program};
//!
//! fn lasso(n: usize) -> Result<Program, BuildError> {
//!     trace(n, |x| {
//!         let sum = x[1..].iter().fold(x[0], |sum, &x| sum + x);
//!         let r = sum - 1.0;
//!         x.iter().fold(r * r, |total, &x| total + abs(x))
//!     })
//! }
//!
//! let how = How::default();
//! let units = |p: &Program| cost(p).at(&Prices::unit()).to_f64();
//! let mut rows = Vec::new();
//! for n in [2, 8, 32] {
//!     let p = lasso(n)?;
//!     rows.push([units(&p), units(&backprop(&p, &how)?), units(&forprop(&p, &how)?)]);
//! }
//! assert_eq!(rows, [[9.0, 12.0, 23.0], [33.0, 42.0, 185.0], [129.0, 162.0, 2273.0]]);
//! assert!(rows.iter().all(|[p, back, _]| back / p < 1.4)); // below 1.4 for every n
//! assert!(rows[2][2] / rows[2][0] > 17.0); // more than 17 for n = 32
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! With 32 unknowns a value costs 129, a value and a gradient 162 backward and 2273 forward. With millions of unknowns,
//! the way is backward or not at all. What backward mode needs in return is memory, since all values must be kept until
//! the sweep comes back to them. And for a single direction, or a function with few inputs and many outputs, forward is
//! the cheaper one: [`jvp`](crate::differentiate::jvp).
//!
//! # Again
//!
//! Since the gradient is a program, its derivative needs no new idea. The derivative of the gradient along a direction
//! is the Hessian times that direction. [`hessian`](crate::differentiate::hessian) does this for all unit vectors:
//!
//! ```
//! # use crease::formats::parse;
//! # let source = "program lasso(a, b) { let r = 2 * a + b - 2 return r * r + abs(a) + abs(b) }";
//! # let lasso = parse(source)?.main().clone();
//! use crease::{differentiate::jvp, gradient, run, Function, How, Tensor};
//!
//! let how = How::default();
//! let again = jvp(&gradient(&lasso, &how)?, &how)?; // takes a, b and a direction
//! let out = run(&again, &[1.0, 1.0, 1.0, 0.0].map(Tensor::scalar))?;
//! assert_eq!((out[2].data(), out[3].data()), (&[8.0][..], &[4.0][..])); // along (1, 0)
//!
//! let f = Function::from((*lasso).clone()); // keeps the derived programs for many points
//! assert_eq!(f.hessian(&[1.0, 1.0])?, [[8.0, 4.0], [4.0, 2.0]]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The absolute values leave no trace in the Hessian: their slope is constant on either side, and what happens at 0 a
//! second derivative cannot say.
//!
//! The interpreter that runs all this is made to be right and not to be fast. The crate `crease-engine` compiles
//! programs, derived ones included, and must agree with it.
//!
//! # To try
//!
//! - Simplify `gradient(&lasso, &how)`. What is no longer computed when nobody asks for the value?
//! - Draw the derived program. Where does the backward sweep begin?
//! - Which operation attains omega in forward mode, and how does omega depend on p? See
//!   [`overhead`](crate::differentiate::overhead()).
//!
//! The details: [`differentiate`](crate::differentiate) for rules, modes and techniques, [`cost`](crate::cost) for
//! Theorem 2, and [`easy`](crate::easy) for those who only want numbers. Next: [what `at=-1`
//! means](super::chapter_4_ties).
