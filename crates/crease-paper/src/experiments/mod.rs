//! What the paper says about derivatives, put to the test on programs of your own.
//!
//! - [`conservativity`]: Definition 1, the chain rule along curves, for any gradient of any program. Curves run inside kinks, and
//!   answers are exact.
//! - [`beyond`]: unrolled algorithms and implicit functions, differentiated by other means than backprop, and what that costs.
//! - [`training`]: gradient descent with what is picked at kinks as the one thing that changes.
//! - [`overhead`]: Theorem 2 by model, by count and on the clock, for families of programs against their number of inputs.

pub mod beyond;
pub mod conservativity;
pub mod overhead;
pub mod training;
