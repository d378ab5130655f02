//! Whether a given vector, such as the answer of a framework, is a Clarke subgradient: where that is easy to show.

use crate::{Conservative, OracleError, check_direction, clarke_along, clarke_element};
use crease_core::local::LocalModel;
use crease_core::number::Rational;

/// Where a vector lies.
#[derive(Clone, Debug, PartialEq)]
pub enum Membership {
    /// The conservative gradient is this vector alone: it is the gradient.
    Gradient,
    /// It is the limit of gradients along this direction, hence a Clarke subgradient.
    Clarke {
        /// The direction.
        direction: Vec<Rational>,
    },
    /// It is no Clarke subgradient: this coordinate is outside the bounds of the conservative gradient, whose convex hull holds all
    /// of them.
    Outside {
        /// The coordinate.
        coordinate: usize,
        /// The bounds of that coordinate.
        bounds: (Rational, Rational),
    },
    /// Neither was found. The enumeration of all Clarke subgradients would decide it.
    NotDecided,
}

/// Asks where a vector lies, given what is known of the conservative gradient. `tries` random directions are looked at.
///
/// ```
/// use crease_core::{local::localize, relu, trace, Rational, Tensor};
/// use crease_oracles::{conservative, membership, Membership};
/// let p = trace(1, |x| relu(x[0])).unwrap();
/// let model = localize(&p, &[Tensor::scalar(Rational::ZERO)]).unwrap();
/// let c = conservative(&model, 0).unwrap();
/// let ask = |v: &str| membership(&model, 0, &c, &[v.parse().unwrap()], 16).unwrap();
/// assert!(matches!(ask("1"), Membership::Clarke { .. }));
/// assert!(matches!(ask("2"), Membership::Outside { .. }));
/// assert_eq!(ask("1/2"), Membership::NotDecided);
/// ```
pub fn membership(
    model: &LocalModel,
    output_number: usize,
    known: &Conservative,
    vector: &[Rational],
    tries: u64,
) -> Result<Membership, OracleError> {
    check_direction(model, vector)?;
    if known.is_singleton() && known.proved && known.elements[0].gradient == vector {
        return Ok(Membership::Gradient);
    }
    // the bounds of a proved singleton are its element
    for (coordinate, (x, (low, high))) in vector.iter().zip(&known.bounds).enumerate() {
        if x < low || x > high {
            return Ok(Membership::Outside { coordinate, bounds: (low.clone(), high.clone()) });
        }
    }
    // the vector itself is a good guess: the gradient grows along it
    let own: Vec<Vec<Rational>> = vec![vector.to_vec(), vector.iter().map(|x| -x).collect()];
    for direction in own {
        if let Some(e) = clarke_along(model, output_number, &direction)?
            && e.gradient == vector
        {
            return Ok(Membership::Clarke { direction });
        }
    }
    for seed in 0..tries {
        let e = clarke_element(model, output_number, seed)?;
        if e.gradient == vector {
            return Ok(Membership::Clarke { direction: e.direction });
        }
    }
    Ok(Membership::NotDecided)
}
