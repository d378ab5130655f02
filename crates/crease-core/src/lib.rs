//! Sections 2 to 4 of the paper, as a library.
pub mod builder;
pub mod cost;
pub mod differentiate;
mod inline;
pub mod number;
pub mod op;
pub mod program;
pub mod run;
pub mod shape;
mod tensor;
mod trace;

pub use builder::{BuildError, Builder, Conv2d, Window};
pub use inline::{InlineError, MAX_INLINED, inline};
pub use number::{Number, NumberError, Rational};
pub use op::{Constant, Kink, Lane, Op, OpError, Ties};
pub use program::{Atom, Callee, Equation, Input, Place, Program, Value};
pub use run::{Arg, Arithmetic, KinkHit, Observer, RunError, RunFault, kinks, run, run_with};
pub use shape::{Layout, Shape, ShapeError};
pub use tensor::Tensor;
pub use trace::*;
