//! Cost: what a program costs, counted and priced.
//!
//! A program enters; a [`Tally`] leaves, the number of times each elementary operation is applied, and its [`Price`], a
//! linear form in 1, c_nonlin and c_relu: Section 3.1, Assumption 1, and the refined costs of the appendix. Tensor operations
//! are counted by their scalars. Structure is free.
//!
//! The counted cost of a derived program is simply its own tally. What Theorem 2 says of it is
//! [`differentiate::overhead`](crate::differentiate::overhead()), and the two are always kept apart: counted <= model <= omega cost.

mod columns;
mod count;
mod item;
mod level;
mod price;

pub use crate::number::Count;
pub(crate) use columns::Columns;
pub(crate) use count::{Counter, count_equation};
pub use count::{Tally, tally, tally_within};
pub use item::{Item, ItemKind, Mode};
pub use price::{Price, Prices, Ratio, Worst};

use crate::flow::constants::CasesError;
use crate::limits::Limits;
use crate::program::Program;

/// The cost of a program: the price of its [tally](tally()).
///
/// ```
/// use crease_core::{cost::{cost, Prices}, relu, trace};
/// let p = trace(1, |x| relu(x[0]) - relu(-x[0])).unwrap();
/// assert_eq!(cost(&p).to_string(), "2 + 2 c_relu");
/// assert_eq!(cost(&p).at(&Prices::unit()).to_string(), "4");
/// ```
pub fn cost(p: &Program) -> Price {
    tally(p).price()
}

/// Like [`cost`], within limits: see [`tally_within`].
///
/// ```
/// use crease_core::{cost::{cost, cost_within}, trace, Limits};
/// let p = trace(2, |x| x[0] * x[1] + 1.0).unwrap();
/// assert_eq!(cost_within(&p, &Limits::default()), Ok(cost(&p)));
/// ```
pub fn cost_within(p: &Program, limits: &Limits) -> Result<Price, CasesError> {
    Ok(tally_within(p, limits)?.price())
}
