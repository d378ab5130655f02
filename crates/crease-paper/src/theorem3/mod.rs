//! Theorem 3, carried out: p directional derivatives of a cheap function are as hard as a product of matrices. Section 5.1.
//!
//! Backprop is cheap whatever the number of inputs. Directional derivatives at kinks are not: for the function F of the theorem,
//! of cost 6 p^2 + 2 p, any program P' of p directional derivatives costs at least (c(p) - 5 p) / 5, where c(p) is the
//! cost of a p × p product. The proof turns P' into a program of such a product. Here that is done.
//!
//! - [`hadamard`] makes the matrix U, by the constructions of Sylvester and Paley.
//! - [`function`] is P_F, [`directional`] makes programs P', [`Derivative`] says how.
//! - [`fix_relu_derivatives`] and [`replace_relus`] are the lemma on constant complexity.
//! - [`chain`] and [`prove`] carry out the proof on a P', verify every program of it exactly, and cost it.
//! - [`figures`] has what the overhead p^(omega - 2) looks like, with that of backprop beside it.
//!
//! Deliberately absent: c(p) itself, which nobody knows. [`products`](crate::products) has upper bounds.
//!
//! ```
//! use crease_paper::theorem3::{chain, Derivative, Stage};
//!
//! let chain = chain(4, Derivative::Columns, 0)?;
//! let product = chain.step(Stage::Product).unwrap();
//! // from directional derivatives to B A^T, verified, and within the bound of the proof
//! assert!(product.cost >= 4 * 4 && product.cost <= 5 * (chain.steps[0].cost + 4));
//! # Ok::<(), crease_paper::theorem3::ProofError>(())
//! ```

mod chain;
mod constants;
mod data;
mod figures;
mod function;
mod hadamard;
mod verify;

pub use chain::{Chain, ProofError, Stage, Step, chain, prove};
pub use constants::{fix_relu_derivatives, on_kinks, replace_relus};
pub use figures::{Figures, figures};
pub use function::{Derivative, directional, function};
pub use hadamard::{Construction, construction, hadamard, is_hadamard, kronecker};
