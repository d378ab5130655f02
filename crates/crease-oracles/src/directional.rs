//! Directional derivatives: F'(x; d), at kinks too. Section 5.1.

use crate::sweep::{Bend, forward, largest, near_norm};
use crate::{OracleError, Session, check_direction, check_exact};
use crease_core::local::LocalModel;
use crease_core::number::Rational;

const WHAT: &str = "the exact directional derivative";

impl Session<'_> {
    /// The directional derivative of every scalar output of the model along one direction. What is known of it in a model whose
    /// coefficients are enclosed is what [`LocalModel::along`] says; there it is [undecided](OracleError::Undecided) here.
    ///
    /// ```
    /// use crease_core::{abs, local::localize, trace, Rational, Tensor};
    /// use crease_oracles::Session;
    /// let p = trace(1, |x| abs(x[0])).unwrap();
    /// let model = localize(&p, &[Tensor::scalar(Rational::ZERO)]).unwrap();
    /// // the derivative of |x| at 0 along -1 is 1
    /// assert_eq!(Session::new(&model, 0).directional(&[Rational::from(-1)]).unwrap(), [Rational::ONE]);
    /// ```
    pub fn directional(&self, direction: &[Rational]) -> Result<Vec<Rational>, OracleError> {
        let model = self.model();
        check_exact(model, WHAT)?;
        check_direction(model, direction)?;
        let values = forward(self, self.weights(), direction, |_, bend, values| match bend {
            Bend::Max(members) => largest(members, values),
            // no exact model has one
            Bend::Norm(members) => near_norm(members, values, model.precision().bits),
        })?;
        Ok(model.outputs().iter().map(|o| values[o.index()].clone()).collect())
    }
}

/// [`Session::directional`], in a session of its own.
pub fn directional(model: &LocalModel, direction: &[Rational]) -> Result<Vec<Rational>, OracleError> {
    Session::new(model, 0).directional(direction)
}

/// The directional derivatives along several directions: one list for each of them.
///
/// ```
/// use crease_core::{local::localize, relu, trace, Rational, Tensor};
/// use crease_oracles::{directional_batch, identity};
/// let p = trace(2, |x| relu(x[0] - x[1])).unwrap();
/// let model = localize(&p, &vec![Tensor::scalar(Rational::ZERO); 2]).unwrap();
/// assert_eq!(directional_batch(&model, &identity(2)).unwrap(), [[Rational::ONE], [Rational::ZERO]]);
/// ```
pub fn directional_batch(model: &LocalModel, directions: &[Vec<Rational>]) -> Result<Vec<Vec<Rational>>, OracleError> {
    check_exact(model, WHAT)?;
    let session = Session::new(model, 0);
    directions.iter().map(|d| session.directional(d)).collect()
}
