//! Chapter 5: Clarke.
//!
//! The last chapter ended with derivatives that depend on the program. This one is about derivatives that depend on the
//! function alone. They exist at kinks, too, and they are what a minimum is recognized by.
//!
//! # What a function looks like from one point
//!
//! Take a point and look at it through a microscope. Smooth operations look linear. A kink whose argument is not zero
//! looks like one of its sides. What remains of the program are the ties, and the result is a function of the
//! *direction* d in which one walks away:
//!
//! ```
//! use crease::{formats::parse, local::localize, Rational, Tensor};
//!
//! let source = "program lasso(a, b) { let r = 2 * a + b - 2 return r * r + abs(a) + abs(b) }";
//! let lasso = parse(source)?.main().clone();
//! let minimum = [Tensor::scalar(Rational::new(7, 8).unwrap()), Tensor::scalar(Rational::ZERO)];
//! let model = localize(&lasso, &minimum)?;
//! assert_eq!(model.program()?.to_string(), "\
//! program local(d_a, d_b) {
//!   let v2 = 2 * d_a
//!   let v3 = v2 + d_b
//!   let v4 = 0.5 * v3
//!   let v5 = -v4
//!   let v6 = v5 + d_a
//!   let v7 = -d_b
//!   let v8 = max(v7, d_b)
//!   let v9 = v6 + v8
//!   return v9
//! }
//! ");
//! assert!(model.is_exact());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This is the [`LocalModel`](crate::local::LocalModel): here -(2 d_a + d_b)/2 + d_a + |d_b|, and the d_a cancel.
//! `abs(a)` has become d_a, because a is positive. `abs(b)` has stayed a maximum. The model is computed in rationals;
//! with floats, one could not tell a tie from a near tie.
//!
//! # Directional derivatives
//!
//! The model is the directional derivative F'(x; d): the rate at which the function changes when one walks along d. It
//! is a number, and it is never ambiguous. Forward mode is something else. It computes ⟨v, d⟩ for the vector v that the
//! selection picked:
//!
//! ```
//! # use crease::{formats::parse, local::localize, Rational, Tensor};
//! # let source = "program lasso(a, b) { let r = 2 * a + b - 2 return r * r + abs(a) + abs(b) }";
//! # let lasso = parse(source)?.main().clone();
//! # let minimum = [Tensor::scalar(Rational::new(7, 8).unwrap()), Tensor::scalar(Rational::ZERO)];
//! # let model = localize(&lasso, &minimum)?;
//! use crease::{oracles::directional, Function};
//!
//! let along = |a: i64, b: i64| directional(&model, &[a.into(), b.into()]).map(|d| d[0].to_string());
//! assert_eq!((along(0, 1)?.as_str(), along(0, -1)?.as_str(), along(1, 0)?.as_str()), ("0.5", "1.5", "0"));
//!
//! let f = Function::from((*lasso).clone());
//! assert_eq!(f.jvp(&[0.875, 0.0], &[0.0, 1.0])?.1, [-1.5]); // abs'(0) = -1: downhill, where it is uphill
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Both ways along b lead uphill, at rates 1/2 and 3/2. That is what a minimum at a kink looks like. A single vector v
//! cannot say that: if ⟨v, d⟩ is positive, ⟨v, -d⟩ is negative. This is why at kinks one needs a *set* of vectors.
//!
//! # Limits of gradients
//!
//! Functions made of our operations are differentiable at almost every point. So go to nearby points where there is a
//! gradient, and see what the gradients tend to. Each limit is a *Clarke subgradient*, and so is every average of such
//! limits; all of them together are the Clarke subdifferential. Nobody picked anything, and no program was mentioned.
//!
//! One limit is cheap. Walk away along a random direction; every tie is decided by it, and one backward sweep over what
//! is decided gives the gradient. All limits can be many: every kink may double their number.
//!
//! ```
//! # use crease::{formats::parse, local::localize, Rational, Tensor};
//! # let source = "program lasso(a, b) { let r = 2 * a + b - 2 return r * r + abs(a) + abs(b) }";
//! # let lasso = parse(source)?.main().clone();
//! # let minimum = [Tensor::scalar(Rational::new(7, 8).unwrap()), Tensor::scalar(Rational::ZERO)];
//! # let model = localize(&lasso, &minimum)?;
//! use crease::oracles::{clarke_along, clarke_element, neighbouring_gradients, Stationarity};
//! use crease::{abs, trace};
//!
//! let q = |n, d| Rational::new(n, d).unwrap();
//! let right = clarke_along(&model, 0, &[q(0, 1), q(1, 1)])?.unwrap();
//! assert_eq!(right.gradient, [q(0, 1), q(1, 2)]);
//! let some = clarke_element(&model, 0, 7)?; // along a direction drawn with seed 7
//!
//! let all = neighbouring_gradients(&model, 0, &Default::default())?;
//! let mut limits: Vec<_> = all.gradients.iter().map(|n| n.gradient.clone()).collect();
//! limits.sort();
//! assert_eq!(limits, [[q(0, 1), q(-3, 2)], [q(0, 1), q(1, 2)]]);
//! assert!(all.complete() && limits.contains(&some.gradient));
//!
//! // the sum of n absolute values has 2^n limits at 0
//! let sum = trace(6, |x| x.iter().skip(1).fold(abs(x[0]), |sum, &x| sum + abs(x)))?;
//! let corner = localize(&sum, &vec![Tensor::scalar(Rational::ZERO); 6])?;
//! assert_eq!(neighbouring_gradients(&corner, 0, &Default::default())?.gradients.len(), 1 << 6);
//!
//! // at a minimum, 0 is an average of limits
//! let Stationarity::Stationary { weights } = all.stationarity(&Default::default()) else { panic!() };
//! let zero: Rational = weights.iter().map(|(i, w)| w * &all.gradients[*i].gradient[1]).sum();
//! assert_eq!(zero, Rational::ZERO);
//! assert!(weights.iter().any(|(_, w)| *w == q(3, 4))); // 3/4 of 1/2 and 1/4 of -3/2
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! That is the test that the last chapter was looking for: not whether *the* gradient is zero, but whether zero is in
//! the set. (The lasso is convex, so here the test also proves the minimum.) Where zero is not in the set, there is a
//! direction whose product with every subgradient is negative, and one can walk downhill:
//!
//! ```
//! # use crease::{formats::parse, local::localize, Rational, Tensor};
//! # let source = "program lasso(a, b) { let r = 2 * a + b - 2 return r * r + abs(a) + abs(b) }";
//! # let lasso = parse(source)?.main().clone();
//! use crease::oracles::{directional, neighbouring_gradients, Stationarity};
//!
//! let origin = localize(&lasso, &vec![Tensor::scalar(Rational::ZERO); 2])?; // two kinks, four limits
//! let all = neighbouring_gradients(&origin, 0, &Default::default())?;
//! assert_eq!(all.gradients.len(), 4);
//! let Stationarity::Descent { direction } = all.stationarity(&Default::default()) else { panic!() };
//! assert!(directional(&origin, &direction)?[0].is_negative());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Why backprop does not compute this
//!
//! For smooth functions the derivative of a sum is the sum of the derivatives, and backprop is built on that. Clarke's
//! subdifferential of a sum is only *contained* in the sum of the subdifferentials. At 0, relu(x) and -relu(-x) have
//! [0, 1] each; their sum is [0, 2]; and the identity has 1 alone:
//!
//! ```
//! use crease::{local::localize, relu, trace, Rational, Tensor};
//! use crease::oracles::{Membership, Session};
//!
//! let identity = trace(1, |x| relu(x[0]) - relu(-x[0]))?;
//! let model = localize(&identity, &[Tensor::scalar(Rational::ZERO)])?;
//! let session = Session::new(&model, 0); // what several questions share is computed once
//! let all = session.neighbouring_gradients(&Default::default(), |_| ())?;
//! assert_eq!((all.gradients.len(), &all.gradients[0].gradient[0]), (1, &Rational::ONE));
//!
//! // so the answer of backprop, 0, is an element of the conservative gradient and of nothing better
//! let place = session.membership_among(&all, &[Rational::ZERO], &Default::default())?;
//! assert!(matches!(place, Membership::ConservativeOnly { .. }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An older way to a Clarke subgradient is *lexicographic*: walk along a first direction, where that leaves ties along
//! a second one, and so on through a basis. It is deterministic, and may take as many sweeps as there are inputs. With
//! max(a, b) at 0 and a first step along (1, 1), which settles nothing, the second one decides:
//!
//! ```
//! use crease::{local::localize, max, oracles::lexicographic, trace, Rational, Tensor};
//! let larger = trace(2, |x| max(&[x[0], x[1]]))?;
//! let model = localize(&larger, &vec![Tensor::scalar(Rational::ZERO); 2])?;
//! let basis = [[1, 1], [0, 1]].map(|d| d.map(Rational::from).to_vec());
//! let found = lexicographic(&model, 0, &basis)?;
//! assert_eq!(found.gradient, [0, 1].map(Rational::from));
//! assert_eq!((found.directions, found.settled), (2, vec![Some(1)])); // by direction number 1, the second
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Is it differentiable?
//!
//! It is, if the model is linear in d, that is, if it has one gradient only. Listing all would be one way to find out.
//! [`differentiable`](crate::oracles::differentiable) takes one and searches for an exception instead. Either answer
//! comes with a certificate, a text that a checker reads which knows nothing of the search:
//!
//! ```
//! # use crease::{formats::parse, local::localize, relu, trace, Rational, Tensor};
//! # let source = "program lasso(a, b) { let r = 2 * a + b - 2 return r * r + abs(a) + abs(b) }";
//! # let lasso = parse(source)?.main().clone();
//! # let minimum = [Tensor::scalar(Rational::new(7, 8).unwrap()), Tensor::scalar(Rational::ZERO)];
//! # let identity = trace(1, |x| relu(x[0]) - relu(-x[0]))?;
//! use crease::oracles::{certificate_model, differentiable, Effort, Verdict};
//! use crease::check::{check, Claim};
//!
//! let model = localize(&identity, &[Tensor::scalar(Rational::ZERO)])?;
//! let decision = differentiable(&model, 0, &Effort::default())?;
//! assert!(matches!(&decision.verdict, Verdict::Yes(e) if e.gradient == [Rational::ONE]));
//!
//! let certificate = decision.certificate().unwrap();
//! let checked = check(certificate.as_bytes())?;
//! assert!(matches!(checked.claim, Claim::Differentiable { .. }));
//! assert_eq!(checked.model, certificate_model(&model.normal_form().unwrap(), 0)); // it speaks of this model
//! let forged = certificate.replace("gradient 1*d0", "gradient 2*d0");
//! assert!(forged != certificate && check(forged.as_bytes()).is_err());
//!
//! let decision = differentiable(&localize(&lasso, &minimum)?, 0, &Effort::default())?;
//! let Verdict::No(sides) = &decision.verdict else { panic!() };
//! assert_ne!(sides[0].gradient, sides[1].gradient); // two limits that differ, each with its direction
//! assert!(matches!(check(decision.certificate().unwrap().as_bytes())?.claim, Claim::NotDifferentiable { .. }));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # To try
//!
//! - Find the minimum of the lasso when the charge for `b` is 1/4 of what it is. At which kink is it now?
//! - Is (0, 0) a Clarke subgradient of the lasso at its minimum? Ask
//!   [`membership_among`](crate::oracles::Session::membership_among), and have it certified.
//! - Localize `abs(b - a * a) - abs(b)` at 0. Why is its list of limits not called complete?
//!
//! The details: [`local`](crate::local) for the model, [`oracles`](crate::oracles) for a table of all that can be asked
//! of it and what it costs; the format of certificates is in the crate `crease-check`. Next: [why one of these
//! questions is hard](super::chapter_6_sat_and_a_network).
