//! Gradients by difference quotients, which need no rule of differentiation.

use super::walk::evaluate;
use super::{Arithmetic, Fault, Number};
use crease_core::{Program, Rational, Tensor};
use dashu_int::UBig;
use dashu_ratio::RBig;

/// The step is 2 to this power, times the smallest coordinate that is not 0 where that is below 1.
const STEP: i64 = -500;

/// The step of the second look, which tells curvature from kinks and shows how good the quotients are, is smaller by this power.
const AGAIN: i64 = -40;

/// Slopes on both sides whose difference is smaller than they are by this power of two are one slope.
const SAME: i64 = -200;

/// The bits to which quotients by both steps must agree; otherwise no slope is returned.
const AGREE: i64 = -150;

/// The value and the gradient of a program with one output that is a number.
#[derive(Clone, Debug)]
pub struct Slopes {
    /// The value.
    pub value: Number,
    /// The partial derivatives, one for each number of the point.
    pub gradient: Vec<Number>,
}

/// The value and the gradient of a program by central difference quotients with a step of 2^-500 (10^-150), from values of this many bits; 2400 are
/// a good choice. Quotients by two steps agree to 150 bits.
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
    let smallest = |r: &Rational| a.size(&Number::Exact(r.clone().into())).least;
    let step = STEP + at.iter().flat_map(|t| t.data()).filter_map(smallest).min().unwrap_or(0).min(0);
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
                let quotient = |to: &Number, from: &Number| a.div(&a.sub(to, from)?, &Number::Exact(h.clone()));
                Ok((quotient(&value, &moved(&-h.clone())?)?, quotient(&moved(&h)?, &value)?))
            };
            let apart = |x: &Number, y: &Number| Ok::<_, Fault>(a.size(&a.sub(x, y)?));
            let ((left, right), (nearer_left, nearer_right)) = (sides(step)?, sides(step + AGAIN)?);
            let half = Number::Exact(RBig::from_parts(1.into(), 2u8.into()));
            let slope = a.mul(&a.add(&nearer_left, &nearer_right)?, &half)?;
            let least = a.size(&slope).least;
            let is_small = |most: Option<i64>, bits: i64| most.is_none_or(|m| least.is_some_and(|s| m < s + bits));
            let (jump, nearer) = (apart(&left, &right)?, apart(&nearer_left, &nearer_right)?);
            if !is_small(jump.most, SAME) {
                // curvature shrinks with the step, and a kink stays
                let jump = jump.least.ok_or(Fault::TooClose)?;
                if nearer.most.is_some_and(|most| most > jump + AGAIN / 2) {
                    return Err(Fault::NoValue("a kink"));
                }
            }
            let first = a.mul(&a.add(&left, &right)?, &half)?;
            if !is_small(apart(&first, &slope)?.most, AGREE) {
                return Err(Fault::TooClose);
            }
            gradient.push(slope);
        }
    }
    Ok(Slopes { value, gradient })
}
