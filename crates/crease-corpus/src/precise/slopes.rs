//! Gradients by difference quotients, which need no rule of differentiation.

use super::walk::evaluate;
use super::{Arithmetic, Fault, Number};
use crease_core::{Program, Rational, Tensor};
use dashu_int::UBig;
use dashu_ratio::RBig;

/// The step is 2 to this power, and for a second look at what may be a kink 2 to twice this power.
const STEP: i64 = -500;

/// Differences between slopes on both sides that are smaller than the slope by this factor, as a power of two, are curvature.
const CURVATURE: i64 = -200;

/// The value and the gradient of a program with one output that is a number.
#[derive(Clone, Debug)]
pub struct Slopes {
    /// The value.
    pub value: Number,
    /// The partial derivatives, one for each number of the point.
    pub gradient: Vec<Number>,
}

/// The value and the gradient of a program by central difference quotients with a step of 2^-500 (10^-150), from values of so many bits; 2400 are
/// a good choice.
///
/// The error of a slope is that of the rounded values, which it carries, and 2^-1000 times a third derivative, which it does not.
///
/// ```
/// use crease_core::{Rational, Tensor, exp, trace};
/// use crease_corpus::precise::slopes;
/// let p = trace(1, |x| exp(x[0]) * 2.0).unwrap();
/// let s = slopes(&p, &[Tensor::scalar(Rational::ZERO)], 2400).unwrap();
/// assert_eq!((s.value.to_f64(), s.gradient[0].to_f64()), (2.0, 2.0));
/// ```
///
/// # Errors
///
/// Those of [`evaluate`], and [`Fault::NoValue`] where the slopes to the left and to the right differ, as they do at kinks;
/// [`Fault::TooClose`] where that cannot be told.
pub fn slopes(p: &Program, at: &[Tensor<Rational>], bits: usize) -> Result<Slopes, Fault> {
    let a = Arithmetic::new(bits);
    let one = |at: &[Tensor<Rational>]| match <[Number; 1]>::try_from(evaluate(p, at, &a)?) {
        Ok([value]) => Ok(value),
        Err(_) => Err(Fault::Unsupported("several outputs")),
    };
    let value = one(at)?;
    let mut gradient = Vec::new();
    for (i, tensor) in at.iter().enumerate() {
        for k in 0..tensor.data().len() {
            let sides = |step: i64| -> Result<(Number, Number), Fault> {
                let h = RBig::from_parts(1.into(), UBig::ONE << step.unsigned_abs() as usize);
                let moved = |h: &RBig| {
                    let mut at = at.to_vec();
                    let mut data = tensor.data().to_vec();
                    data[k] = Rational::from(RBig::from(data[k].clone()) + h);
                    at[i] = Tensor::new(tensor.shape().clone(), data).unwrap_or_else(|| tensor.clone());
                    one(&at)
                };
                let quotient = |a_: &Number, b: &Number| a.div(&a.sub(a_, b)?, &Number::Exact(h.clone()));
                Ok((quotient(&value, &moved(&-h.clone())?)?, quotient(&moved(&h)?, &value)?))
            };
            let (left, right) = sides(STEP)?;
            let slope = a.mul(&a.add(&left, &right)?, &Number::Exact(RBig::from_parts(1.into(), 2u8.into())))?;
            let jump = |left: &Number, right: &Number| Ok::<_, Fault>(a.size(&a.sub(right, left)?));
            let (first, size) = (jump(&left, &right)?, a.size(&slope));
            let is_curvature = first.most.is_none_or(|j| size.least.is_some_and(|s| j < s + CURVATURE));
            if !is_curvature {
                // curvature shrinks with the step, and a kink stays
                let (left, right) = sides(2 * STEP)?;
                let second = jump(&left, &right)?;
                let Some(least) = first.least else { return Err(Fault::TooClose) };
                if second.most.is_some_and(|most| most > least + STEP / 2) {
                    return Err(Fault::NoValue("a kink"));
                }
            }
            gradient.push(slope);
        }
    }
    Ok(Slopes { value, gradient })
}
