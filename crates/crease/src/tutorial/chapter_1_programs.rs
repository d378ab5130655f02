//! Chapter 1: programs.
//!
//! Calculus differentiates functions. A computer differentiates *programs*: lists of operations, one after the other.
//! The difference is what this tutorial is about. One function has many programs, they cost different amounts, and at
//! kinks they can have different derivatives. So the first thing to get hold of is the program.
//!
//! # A program from a text
//!
//! Here is the function of this tutorial, and what crease makes of it:
//!
//! ```
//! use crease::formats::parse;
//!
//! let module = parse("
//!     program lasso(a, b) {
//!       let r = 2 * a + b - 2
//!       return r * r + abs(a) + abs(b)
//!     }
//! ")?;
//! let lasso = module.main(); // a file can hold several programs; the last one is the main one
//! assert_eq!(lasso.to_string(), "\
//! program lasso(a, b) {
//!   let v2 = 2 * a
//!   let v3 = v2 + b
//!   let v4 = v3 - 2
//!   let v5 = v4 * v4
//!   let v6 = abs(a)
//!   let v7 = v5 + v6
//!   let v8 = abs(b)
//!   let v9 = v7 + v8
//!   return v9
//! }
//! ");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Every line is an *equation*: one operation, applied to values that are there already. The inputs are values 0 and 1,
//! so the first equation defines `v2`. There are no loops, and the only branch is an operation, `select`. That is a
//! restriction, and it buys a lot: such a list can be read forward and backward, and differentiating needs both.
//!
//! What is printed is in the language that was read, so it can be read again. The result is the same program, apart
//! from the names that the printing made up:
//!
//! ```
//! # use crease::formats::parse;
//! # let source = "program lasso(a, b) { let r = 2 * a + b - 2 return r * r + abs(a) + abs(b) }";
//! let lasso = parse(source)?.main().clone();
//! assert_eq!(parse(&lasso.to_string())?.main(), &lasso);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The same program from Rust
//!
//! [`trace`](crate::trace) runs a closure once, on variables that write down what is done to them. It calls the inputs
//! `x0`, `x1` and so on. A [`Builder`](crate::Builder) is the long way, one equation at a time, for programs that other
//! programs make. Both end in the same type. Programs are equal if their equations and the names of their inputs are:
//!
//! ```
//! use crease::{abs, formats::parse, trace, Builder, Shape};
//!
//! let traced = trace(2, |x| {
//!     let r = 2.0 * x[0] + x[1] - 2.0;
//!     r * r + abs(x[0]) + abs(x[1])
//! })?;
//! let text = parse("program f(x0, x1) { let r = 2 * x0 + x1 - 2 return r * r + abs(x0) + abs(x1) }")?;
//! assert_eq!(&traced, &**text.main());
//!
//! let mut b = Builder::new("residual");
//! let (x, y) = (b.input("a", Shape::scalar())?, b.input("b", Shape::scalar())?);
//! let two = b.constant(2);
//! let doubled = b.mul(two, x)?;
//! let sum = b.add(doubled, y)?;
//! let r = b.sub(sum, two)?;
//! let residual = b.finish(&[r])?;
//! assert_eq!(&residual, &**parse("program residual(a, b) = 2 * a + b - 2")?.main());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Running
//!
//! A program does not say what its numbers are. [`run`](crate::run()) carries out the equations in whatever numbers it
//! is given. In doubles every operation rounds; in exact rationals none does:
//!
//! ```
//! # use crease::formats::parse;
//! # let source = "program lasso(a, b) { let r = 2 * a + b - 2 return r * r + abs(a) + abs(b) }";
//! # let lasso = parse(source)?.main().clone();
//! use crease::{run, Rational, Tensor};
//!
//! let third = Rational::new(1, 3).unwrap();
//! let exact = run(&lasso, &[Tensor::scalar(third.clone()), Tensor::scalar(third)])?;
//! assert_eq!(exact[0].to_string(), "5/3");
//!
//! let rounded = run(&lasso, &[Tensor::scalar(1.0 / 3.0), Tensor::scalar(1.0 / 3.0)])?;
//! assert_eq!((rounded[0].data()[0], 5.0 / 3.0), (1.6666666666666665, 1.6666666666666667));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Why would one want rationals? Because a kink is an exact thing. Whether `b` *is* zero decides whether `abs(b)` has a
//! derivative, and whether it is zero up to rounding decides nothing. From [chapter 5](super::chapter_5_clarke) on,
//! questions about kinks are answered in rationals.
//!
//! # Dictionaries
//!
//! The operations that a program may use are its *dictionary*. The constants in the paper's theorems depend on it, and
//! so does what is hard. crease has more operations than the paper's dictionary D_ReLU, and can say what is outside of
//! it and how to get inside:
//!
//! ```
//! # use crease::formats::parse;
//! # let source = "program lasso(a, b) { let r = 2 * a + b - 2 return r * r + abs(a) + abs(b) }";
//! # let lasso = parse(source)?.main().clone();
//! use crease::dictionary::{lower, outside, Dictionary};
//!
//! let strangers = outside(&lasso, Dictionary::Relu);
//! assert_eq!(strangers[0].to_string(), "`abs` in `abs(a)` of program `lasso`");
//! assert_eq!(strangers.len(), 2);
//!
//! let lowered = lower(&lasso, Dictionary::Relu)?; // abs(a) as relu(a) + relu(-a)
//! assert!(outside(&lowered, Dictionary::Relu).is_empty());
//! assert_eq!((lasso.len(), lowered.len()), (8, 14));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The lowered program has 14 equations in place of 8, and computes the same function. Keep it in mind: in [chapter
//! 4](super::chapter_4_ties) the two get different derivatives at a kink.
//!
//! # Programs of programs
//!
//! A program can be used like an operation. A single operation, applied to the inputs as they come, has *level* 0. A
//! program made of operations has level 1, one that calls programs of level 1 has level 2, and so on. Expanding all
//! calls gives back a program of level 1:
//!
//! ```
//! use crease::{formats::parse, inline, trace};
//!
//! let nested = parse("
//!     program residual(a, b) = 2 * a + b - 2
//!     program square(r) = r * r
//!     program lasso(a, b) = square(residual(a, b)) + abs(a) + abs(b)
//! ")?;
//! let levels: Vec<usize> = nested.programs().iter().map(|p| p.level()).collect();
//! assert_eq!(levels, [1, 1, 2]);
//! assert_eq!(trace(2, |x| x[0] + x[1])?.level(), 0);
//!
//! let flat = inline(nested.main())?;
//! # let source = "program lasso(a, b) { let r = 2 * a + b - 2 return r * r + abs(a) + abs(b) }";
//! # let lasso = parse(source)?.main().clone();
//! assert_eq!(flat.level(), 1);
//! assert_eq!(&flat, &*lasso); // the program from above, equation by equation
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Levels matter because a derivative can be given for a whole program, and not only for operations. If you know a
//! better way to differentiate a solver than going through its steps, you write its *joint* program, and the rest is
//! unchanged. For linear systems and fixed points, `beyond` in the crate `crease-paper` does it.
//!
//! # Drawing
//!
//! A list of equations is a graph: an arrow from every value to the operations that use it. The pictures are those of
//! the paper's Figure 1, with inputs at the bottom. The crate `crease-draw` makes them:
//!
//! ```
//! # use crease::formats::parse;
//! # let source = "program lasso(a, b) { let r = 2 * a + b - 2 return r * r + abs(a) + abs(b) }";
//! # let lasso = parse(source)?.main().clone();
//! use crease_draw::{picture, svg, Drawing, Kind};
//!
//! let image = svg(&lasso, &Drawing::default())?; // write it to a file and open it in a browser
//! assert!(image.starts_with("<svg "));
//! let marks = picture(&lasso, &Drawing::default())?.marks;
//! assert_eq!(marks.iter().filter(|m| m.kind == Kind::Input).count(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # To try
//!
//! - Write `r ^ 2` for `r * r`. Is it the same program? Does it have the same values?
//! - Run the lasso on [`Interval`](crate::number::Interval)s around 1/3. How wide is the result?
//! - Misspell `abs` in the text and read the message.
//!
//! The details: [`formats::text`](crate::formats::text) has the whole language, [`program`](crate::program) the data,
//! [`number`](crate::number) the kinds of numbers, the docs of `crease-draw` how to read a drawing. Next:
//! [what programs cost](super::chapter_2_cost).
