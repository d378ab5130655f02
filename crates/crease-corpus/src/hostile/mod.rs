//! Hostile programs: small ones, built to make whoever answers questions about their derivatives say something wrong.
//!
//! The generator of [`random`](crate::random) guards domains, keeps numbers small, and hardly ever meets a tie that it did not put
//! into the point. This one does the opposite: logarithms, roots and quotients of anything, constants from 1e-40 to 1e40, and above
//! all *pairs that tie or cancel by their structure*. While a program grows, every value is known at the point (by
//! [`precise`](crate::precise)), so that any expression can be shifted to be exactly zero there and put under a kink, and
//! any expression can be written a second time in disguise and compared with itself, taken away from itself,
//! or selected against itself.
//!
//! What enters is a seed; what leaves is a [`Case`]: a program with one scalar output, and a point. Nothing is promised about them: the
//! program may have no value at the point.
//!
//! ```
//! use crease_corpus::hostile::case;
//! assert_eq!(case(7).to_string(), case(7).to_string());
//! ```

mod branches;
mod disguise;
mod grow;
mod loops;
mod point;
mod positions;
mod prune;
mod steps;
mod tensors;
mod ties;

use crate::random::Rng;
use crease_core::{Program, Rational, Tensor};
use std::fmt;

/// A hostile program and the point at which to ask about it. Printing shows both, as a text that can be read back.
#[derive(Clone, Debug)]
pub struct Case {
    /// From which seed it was made.
    pub seed: u64,
    /// The program: scalar inputs, one scalar output.
    pub program: Program,
    /// The point, one number for each input.
    pub point: Vec<Rational>,
}

impl Case {
    /// The point as the inputs of the program.
    pub fn inputs(&self) -> Vec<Tensor<Rational>> {
        self.point.iter().map(|x| Tensor::scalar(x.clone())).collect()
    }
}

/// The case of a seed.
pub fn case(seed: u64) -> Case {
    let mut rng = Rng::new(seed);
    // neighbouring seeds shall have nothing in common
    let mut rng = rng.split();
    let inputs = *rng.pick(&[1, 1, 2, 2, 2, 3]);
    let point = point::point(&mut rng, inputs);
    let steps = if rng.once_in(12) { 8 + rng.below(8) } else { 1 + rng.below(5) };
    let program = grow::program(&mut rng, &point, steps);
    Case { seed, program, point }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.program)?;
        let at: Vec<String> =
            self.program.inputs().iter().zip(&self.point).map(|(i, x)| format!("{}={x}", i.name)).collect();
        writeln!(f, "# at {}, from seed {}", at.join(","), self.seed)
    }
}
