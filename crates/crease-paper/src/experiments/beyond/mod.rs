//! Beyond backpropagation: programs whose parts are differentiated by other means, and what that costs. Section 4 of the paper.
//!
//! The paper's gd of a called program is free: it may come from backprop, from forprop, or from its author. This module makes the
//! two kinds of parts that the paper names, as programs of programs, and counts them:
//!
//! - [`unrolled`]: an optimisation algorithm as k turns of its step, a loop, such as [`ista_step`]. Differentiated forward inside and
//!   backward outside ([`Technique::Forward`](crease::Technique)) it has the overhead for which the paper prints 3p + 5; [`inner_costs`] has what
//!   Theorem 2 says and what the emitted program counts, [`outer_costs`] the same for the program that calls it.
//! - [`implicit`] and [`fixed_point`]: a function of the solution of equations, with the joint program that the implicit function
//!   theorem gives. [`elimination`] is the linear solver that it needs, and one to be differentiated itself.
//!
//! ```
//! use crease_paper::experiments::beyond::{inner_costs, linear_system};
//! use crease::{cost::Prices, formats::parse};
//! use std::sync::Arc;
//! // the sum of the absolute values of the solution of A z = b, for 12 unknowns
//! let size = parse("program size(z[12], A[12,12], b[12]) = norm1(z)").unwrap().main().clone();
//! let callee = linear_system(&size)?;
//! let costs = inner_costs(&callee, &Default::default(), &Prices::unit())?;
//! // by the theorem it costs one more elimination; through the elimination, more than that
//! let (joint, through) = (costs.ratio(costs.joint.as_ref().unwrap()), costs.ratio(&costs.backward.counted));
//! assert!(joint < through);
//! # Ok::<(), crease::Error>(())
//! ```

mod costs;
mod elimination;
mod implicit;
mod unrolled;

pub use costs::{Derived, InnerCosts, OuterCosts, inner_costs, outer_costs};
pub use elimination::elimination;
pub use implicit::{fixed_point, implicit, linear_system};
pub use unrolled::{ista_step, unrolled};
