//! Chapter 4: ties.
//!
//! ReLU has slope 0 on the left of 0 and slope 1 on the right. At 0 it has none, and a program that computes
//! derivatives has to return something. Every system picks a number, and most do not say so. Here is where one can see
//! it.
//!
//! # The identity, in two ReLUs
//!
//! For every x, relu(x) - relu(-x) is x. Its derivative is 1. The chain rule, applied to the program at 0, gives s + s,
//! where s is the slope that was picked for relu'(0):
//!
//! ```
//! use crease::{relu, Function, Selection};
//!
//! let identity = Function::trace(1, |x| relu(x[0]) - relu(-x[0]))?;
//! for (choice, slope) in [("relu=0", 0.0), ("relu=1/2", 1.0), ("relu=1", 2.0)] {
//!     let f = identity.clone().select(Selection::parse(choice)?);
//!     assert_eq!(f.grad(&[0.0])?, [slope]);
//!     assert_eq!(f.grad(&[0.1])?, [1.0]); // elsewhere there is nothing to pick
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The answers 0 and 2 are not rounding errors. The function is smooth there, and its slope is 1. The answers are facts
//! about the program. No choice of s is safe, either: 1/2 is right here by luck, and wrong for relu(x) - relu(relu(x)),
//! which is zero and gets s - s s = 1/4.
//!
//! ```
//! use crease::{relu, Function, Selection};
//! let zero = Function::trace(1, |x| relu(x[0]) - relu(relu(x[0])))?.select(Selection::parse("relu=1/2")?);
//! assert_eq!((zero.value(&[3.0])?, zero.grad(&[0.0])?), (0.0, vec![0.25]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Selections
//!
//! What is picked at each kind of kink is a [`Selection`](crate::Selection). The presets are what the paper and three
//! frameworks do. At the minimum of the lasso, a = 7/8 and b = 0, the one active kink is that of `abs(b)`, and everyone
//! has an opinion:
//!
//! ```
//! use crease::{dictionary::{lower, Dictionary}, formats::parse, Function, Selection};
//!
//! let source = "program lasso(a, b) { let r = 2 * a + b - 2 return r * r + abs(a) + abs(b) }";
//! let lasso = Function::from((**parse(source)?.main()).clone());
//! let minimum = [0.875, 0.0];
//! let by = |name: &str| -> Result<_, Box<dyn std::error::Error>> {
//!     Ok(lasso.clone().select(Selection::parse(name)?).grad(&minimum)?)
//! };
//! assert_eq!(by("paper")?, [0.0, -1.5]); // abs'(0) = -1
//! assert_eq!(by("torch")?, [0.0, -0.5]); // abs'(0) = 0
//! assert_eq!(by("tensorflow")?, [0.0, -0.5]); // the same
//! assert_eq!(by("jax")?, [0.0, 0.5]); // abs'(0) = 1
//! assert_eq!(by("torch, abs=1/2")?, [0.0, 0.0]); // a choice of one's own
//!
//! // with ReLUs it is the same function and another program: the slope is s - s = 0 for every s
//! let lowered = Function::from(lower(lasso.program(), Dictionary::Relu)?);
//! assert_eq!(lowered.grad(&minimum)?, [0.0, -0.5]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! At the minimum, none of the presets says that the gradient is zero. An optimizer that stops at a zero gradient would
//! not stop there. Which vectors *should* one look at? That is the question of the next chapter. First, how does one
//! notice?
//!
//! # Noticing
//!
//! [`Function::kinks`](crate::Function::kinks) lists the kinks that a run meets. If there is none, what was computed is
//! the gradient. If there are some, a [`KinkReport`](crate::oracles::KinkReport) tells what was picked, and what else
//! could have come out:
//!
//! ```
//! # use crease::{formats::parse, Function, Rational, Selection, Tensor};
//! # let source = "program lasso(a, b) { let r = 2 * a + b - 2 return r * r + abs(a) + abs(b) }";
//! # let lasso = Function::from((**parse(source)?.main()).clone());
//! use crease::{local::localize, oracles::{KinkReport, Session}, Limits};
//!
//! let hits = lasso.kinks(&[0.875, 0.0])?;
//! assert_eq!((hits.len(), hits[0].site.shown.as_str()), (1, "abs(b)"));
//!
//! let q = |n, d| Rational::new(n, d).unwrap();
//! let model = localize(lasso.program(), &[Tensor::scalar(q(7, 8)), Tensor::scalar(q(0, 1))])?;
//! let report = KinkReport::new(&Session::new(&model, 0), &Selection::paper(), &Limits::default())?;
//! assert_eq!(report.gradient, [q(0, 1), q(-3, 2)]);
//! assert_eq!(report.bounds[1], (q(-3, 2), q(1, 2))); // under any selection the second coordinate is in between
//! assert_eq!((report.nearest[0].operation, report.nearest[0].margin), ("abs", 0.875)); // the next kink: abs(a)
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # All that could have been picked
//!
//! Let every active kink take every slope between its left and its right one, and every tied maximum share its weight
//! in every way, each independently of the others. The set of gradients that come out is the program's *conservative
//! gradient* at the point. If it has one element, the choice does not matter, and that element is the gradient. Whether
//! it has one is an easy question, and if it has more, two of them are easily found; the paper proves it, and crease
//! does it:
//!
//! ```
//! use crease::{local::localize, oracles::conservative, relu, trace, Program, Rational, Tensor};
//!
//! let elements = |p: &Program| -> Result<Vec<String>, Box<dyn std::error::Error>> {
//!     let model = localize(p, &[Tensor::scalar(Rational::ZERO)])?;
//!     Ok(conservative(&model, 0)?.elements.iter().map(|e| e.gradient[0].to_string()).collect())
//! };
//! assert_eq!(elements(&trace(1, |x| relu(x[0]) - relu(-x[0]))?)?, ["0", "2"]);
//! // a kink that is multiplied by zero does not matter
//! assert_eq!(elements(&trace(1, |x| x[0] * relu(x[0]) + 3.0 * x[0])?)?, ["3"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What makes it conservative
//!
//! If 0, 1 and 2 are all allowed for the identity, is anything forbidden? Yes. Definition 1 of the paper asks for the
//! chain rule along curves: for almost every instant t, the derivative of F along the curve must be ⟨v, γ'(t)⟩ for the
//! vectors v at γ(t). A curve on the line that is at 0 for more than an instant stands still there, and then any v will
//! do. In the plane it is different: the kinks of max(a, b) fill the line a = b, and a curve can run along it. Its
//! direction is (1, 1), the function grows at rate 1, so the weights of a and b must add up to 1. *Across* the line
//! anything goes; *along* the line the answer is fixed:
//!
//! ```
//! use crease::{max, Function, Selection};
//!
//! let larger = Function::trace(2, |x| max(&[x[0], x[1]]))?;
//! let along = |g: &[f64]| g[0] + g[1]; // the product with (1, 1)
//! for name in ["paper", "torch", "tensorflow", "jax"] {
//!     let g = larger.clone().select(Selection::parse(name)?).grad(&[3.0, 3.0])?;
//!     assert_eq!(along(&g), 1.0); // they share the weight in different ways
//! }
//!
//! // a wrong rule: every argument of max that is as large as the largest gets weight 1
//! let wrong = |x: &[f64]| [f64::from(x[0] >= x[1]), f64::from(x[1] >= x[0])];
//! assert_eq!(along(&wrong(&[3.0, 3.0])), 2.0);
//! assert_eq!(wrong(&[3.0, 2.0]), [1.0, 0.0]); // away from ties the rule is right
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Here the line was easy to see. For any program and any rule, `conservativity` in the crate `crease-paper` makes curves
//! that run inside kinks, and tries it on them, exactly.
//!
//! There are libraries with that rule. It differs from the right one on a line only, which looks harmless; but whoever
//! walks along that line is told that the function changes twice as fast as it does.
//!
//! The right rules have this in return: at almost every point a conservative gradient is the gradient, and first-order
//! methods that use it keep their guarantees of convergence. That is why training works although nobody looks at ties.
//! Slopes that lie outside of a kink's own are refused from the start:
//!
//! ```
//! use crease::{abs, Error, Function, Selection};
//! let f = Function::trace(1, |x| abs(x[0]))?.select(Selection::parse("abs=2")?);
//! assert!(matches!(f.grad(&[0.0]), Err(Error::Diff(_))));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # To try
//!
//! - Find a program of the function 0 whose conservative gradient at 0 holds 1000.
//! - Give `max` the weights 1/3 and 2/3 at ties. Is that conservative? And 1/3 and 1/3? `crease-paper` can tell: see
//!   `with_choices` there.
//! - Sorting has kinks, too. Which selections does `sort` know?
//!
//! The details: [`Selection`](crate::Selection) with all its parameters, [`oracles`](crate::oracles) for reports. Next:
//! [the derivatives that belong to the function](super::chapter_5_clarke).
