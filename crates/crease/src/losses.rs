//! Losses: how far a prediction is from its target, as functions on variables and as ready programs.
//!
//! Each takes a prediction and a target of one shape and gives one number, the mean over all elements or, for
//! [`cross_entropy`], over the batch. [`Loss`] names them for [`networks`](crate::networks) and makes programs of them.
//!
//! | loss | formula, before the mean | kinks |
//! | --- | --- | --- |
//! | [`squared`] | (y - t)^2 | none |
//! | [`absolute`] | abs(y - t) | y = t: slope abs'(0) of the selection |
//! | [`hinge`] | relu(1 - t y) | t y = 1: slope relu'(0) of the selection |
//! | [`huber`] | (y - t)^2 / 2, or delta (abs(y - t) - delta / 2) beyond delta | cancel: the gradient is right everywhere |
//! | [`cross_entropy`] | logsumexp(z) - sum(t z) | none |

use crate::Error;
use crease_core::{Program, Shape, Tape, Var, abs, max, min, relu};

/// The mean of `(y - t)^2`. Smooth. The gradient by `y` is `2 (y - t) / n`.
///
/// ```
/// use crease::{grad, losses::squared};
/// assert_eq!(grad(|x| squared(x[0], x[1]), &[3.0, 1.0])?, [4.0, -4.0]);
/// # Ok::<(), crease::Error>(())
/// ```
pub fn squared<'t>(prediction: Var<'t>, target: Var<'t>) -> Var<'t> {
    let d = prediction - target;
    // a product, not a power: it is in the paper's dictionary and costs 1
    (d * d).mean()
}

/// The mean of `|y - t|`. It has a kink where `y = t`; there the slope is the selection's abs'(0), which is -1 in the paper's
/// and 0 in torch's. Every choice in [-1, 1] is a Clarke subgradient.
///
/// ```
/// use crease::{losses::absolute, Function, Selection};
/// let f = Function::trace(2, |x| absolute(x[0], x[1]))?;
/// assert_eq!(f.grad(&[3.0, 1.0])?, [1.0, -1.0]);
/// assert_eq!(f.grad(&[1.0, 1.0])?, [-1.0, 1.0]);
/// assert_eq!(f.select(Selection::torch()).grad(&[1.0, 1.0])?, [0.0, 0.0]);
/// # Ok::<(), crease::Error>(())
/// ```
pub fn absolute<'t>(prediction: Var<'t>, target: Var<'t>) -> Var<'t> {
    abs(prediction - target).mean()
}

/// The mean of `relu(1 - t y)`, for targets 1 and -1. It has a kink on the margin `t y = 1`; there the slope by `y` is
/// `-t relu'(0)`: nothing by the paper's selection, which counts the margin as won.
///
/// ```
/// use crease::{losses::hinge, Function};
/// let f = Function::trace(2, |x| hinge(x[0], x[1]))?;
/// assert_eq!(f.value(&[0.25, 1.0])?, 0.75);
/// assert_eq!(f.grad(&[0.25, 1.0])?, [-1.0, -0.25]);
/// assert_eq!(f.grad(&[1.0, 1.0])?, [0.0, 0.0]);
/// # Ok::<(), crease::Error>(())
/// ```
pub fn hinge<'t>(prediction: Var<'t>, target: Var<'t>) -> Var<'t> {
    relu(1.0 - prediction * target).mean()
}

/// The mean of Huber's loss: `d^2 / 2` where `|d| <= delta`, else `delta (|d| - delta / 2)`, with `d = y - t`.
///
/// It is written `c (d - c / 2)` with `c = max(-delta, min(d, delta))`. The loss is continuously differentiable, and this
/// formula keeps it so for every selection: at `d = delta`, if min is given slope s, the product rule gives
/// `s (d - c/2) + c (1 - s/2) = delta`, whatever s is. A formula with abs and two branches would leave that to the
/// selection. [`kinks`](crate::kinks) still reports the clamp at `|d| = delta`, because it looks at operations one by one.
///
/// `delta` must be positive and finite; anything else makes the trace fail as a constant that is not finite.
///
/// ```
/// use crease::{losses::huber, Function, Selection};
/// let f = Function::trace(2, |x| huber(x[0], x[1], 2.0))?;
/// assert_eq!(f.value_and_grad(&[1.0, 0.0])?, (0.5, vec![1.0, -1.0]));
/// assert_eq!(f.value_and_grad(&[5.0, 0.0])?, (8.0, vec![2.0, -2.0]));
/// for selection in ["max=first", "max=last", "max=average"] {
///     let f = f.clone().select(Selection::parse(selection).unwrap());
///     assert_eq!(f.grad(&[2.0, 0.0])?, [2.0, -2.0]);
/// }
/// # Ok::<(), crease::Error>(())
/// ```
pub fn huber<'t>(prediction: Var<'t>, target: Var<'t>, delta: f64) -> Var<'t> {
    let d = prediction - target;
    let delta = if delta > 0.0 { delta } else { f64::NAN };
    let tape = d.tape();
    let below = min(&[d, tape.constant(delta)]);
    let c = max(&[below, tape.constant(-delta)]);
    (c * (d - c * 0.5)).mean()
}

/// The mean over the batch of `logsumexp(z) - sum(t z)`: the cross-entropy of the softmax of the logits `z`, of shape
/// `[.., classes]`, with targets `t` of the same shape, each row of which adds up to 1 (one-hot, or probabilities).
///
/// Smooth, and computed without overflow. The gradient by `z` is `(softmax(z) - t) / batch`.
///
/// ```
/// use crease::{concat, losses::cross_entropy, trace, Function};
/// let f = Function::trace(4, |x| cross_entropy(concat(&x[..2], 0), concat(&x[2..], 0)))?;
/// let (value, gradient) = f.value_and_grad(&[0.0, 0.0, 1.0, 0.0])?;
/// assert_eq!(value, 2f64.ln());
/// assert_eq!(gradient[..2], [-0.5, 0.5]);
/// # Ok::<(), crease::Error>(())
/// ```
pub fn cross_entropy<'t>(logits: Var<'t>, target: Var<'t>) -> Var<'t> {
    (logits.logsumexp(-1) - (logits * target).sum_axis(-1)).mean()
}

/// [`cross_entropy`] with fixed classes, one for each row of the logits, in place of one-hot targets. Picking an element costs
/// nothing, so this is cheaper by the products with the target.
///
/// ```
/// use crease::{concat, losses::cross_entropy_of, Function};
/// let f = Function::trace(2, |x| cross_entropy_of(concat(x, 0), &[0]))?;
/// assert_eq!(f.value_and_grad(&[0.0, 0.0])?, (2f64.ln(), vec![-0.5, 0.5]));
/// assert!(Function::trace(2, |x| cross_entropy_of(concat(x, 0), &[7])).is_err());
/// # Ok::<(), crease::Error>(())
/// ```
pub fn cross_entropy_of<'t>(logits: Var<'t>, classes: &[usize]) -> Var<'t> {
    let n = logits.shape().dims().last().copied().unwrap_or(1);
    if classes.iter().any(|&c| c >= n) {
        return logits.gather(-1, classes); // fails, and says which class there is not
    }
    let positions: Vec<usize> = classes.iter().enumerate().map(|(row, class)| row * n + class).collect();
    // as many rows as classes: the shapes do not fit otherwise, and the trace fails with them
    let normalizer = logits.logsumexp(-1).reshape(&[classes.len()]);
    let picked = logits.reshape(&[classes.len() * n]).gather(0, &positions);
    (normalizer - picked).mean()
}

/// A loss by name.
///
/// ```
/// use crease::losses::Loss;
/// use crease::{Function, Shape};
/// let loss = Function::from(Loss::Absolute.program(Shape::vector(2).unwrap())?);
/// assert_eq!(loss.value(&[1.0, 2.0, 3.0, 4.0])?, 2.0);
/// # Ok::<(), crease::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// [`squared`].
    Squared,
    /// [`absolute`].
    Absolute,
    /// [`hinge`].
    Hinge,
    /// [`huber`], with its delta.
    Huber(f64),
    /// [`cross_entropy`].
    CrossEntropy,
}

impl Loss {
    /// The name, as of the function.
    ///
    /// ```
    /// assert_eq!(crease::losses::Loss::Huber(1.0).name(), "huber");
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Loss::Squared => "squared",
            Loss::Absolute => "absolute",
            Loss::Hinge => "hinge",
            Loss::Huber(_) => "huber",
            Loss::CrossEntropy => "cross_entropy",
        }
    }

    /// The loss of a prediction.
    ///
    /// ```
    /// use crease::{grad, losses::Loss};
    /// assert_eq!(grad(|x| Loss::Hinge.apply(x[0], x[1]), &[0.0, 1.0])?, [-1.0, 0.0]);
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn apply<'t>(self, prediction: Var<'t>, target: Var<'t>) -> Var<'t> {
        match self {
            Loss::Squared => squared(prediction, target),
            Loss::Absolute => absolute(prediction, target),
            Loss::Hinge => hinge(prediction, target),
            Loss::Huber(delta) => huber(prediction, target, delta),
            Loss::CrossEntropy => cross_entropy(prediction, target),
        }
    }

    /// The loss as a program with inputs `prediction` and `target` of that shape.
    ///
    /// ```
    /// use crease::{cost::cost, losses::Loss, Shape};
    /// let p = Loss::Squared.program(Shape::vector(3).unwrap())?;
    /// // three differences, three squares, two additions, one multiplication by 1/3
    /// assert_eq!(cost(&p).to_string(), "9");
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn program(self, shape: Shape) -> Result<Program, Error> {
        self.check()?;
        let tape = Tape::new(self.name());
        let prediction = tape.input("prediction", shape.clone());
        let target = tape.input("target", shape);
        Ok(tape.finish(&[self.apply(prediction, target)])?)
    }

    pub(crate) fn check(self) -> Result<(), Error> {
        match self {
            Loss::Huber(delta) if !(delta > 0.0 && delta.is_finite()) => Err(Error::Parameter {
                what: "delta of Huber's loss",
                expected: "a positive number",
                got: delta.to_string(),
            }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Function, Selection};

    const LOSSES: [Loss; 5] = [Loss::Squared, Loss::Absolute, Loss::Hinge, Loss::Huber(0.75), Loss::CrossEntropy];

    fn of(loss: Loss, dims: &[usize]) -> Function {
        loss.program(Shape::new(dims).unwrap()).unwrap().into()
    }

    #[test]
    fn gradients_are_those_of_finite_differences() {
        let x = [0.3, -1.2, 2.0, 0.7, -0.4, 1.1, 1.0, -1.0, 1.0, 0.0, 1.0, 0.0];
        for loss in LOSSES {
            let f = of(loss, &[2, 3]);
            let (e, g) = (1e-6, f.grad(&x).unwrap());
            for i in 0..x.len() {
                let (mut up, mut down) = (x, x);
                up[i] += e;
                down[i] -= e;
                let slope = (f.value(&up).unwrap() - f.value(&down).unwrap()) / (2.0 * e);
                assert!((slope - g[i]).abs() < 1e-8, "{loss:?} by {i}: {slope} and {}", g[i]);
            }
        }
    }

    #[test]
    fn values_are_those_of_the_formulas() {
        let (y, t) = ([0.3, -1.2, 2.0], [1.0, -1.0, 1.0]);
        let x = [y, t].concat();
        let mean = |f: &dyn Fn(f64, f64) -> f64| y.iter().zip(t).map(|(&y, t)| f(y, t)).sum::<f64>() / 3.0;
        let close = |loss: Loss, expected: f64| assert!((of(loss, &[3]).value(&x).unwrap() - expected).abs() < 1e-15);
        close(Loss::Squared, mean(&|y, t| (y - t).powi(2)));
        close(Loss::Absolute, mean(&|y, t| (y - t).abs()));
        close(Loss::Hinge, mean(&|y, t| (1.0 - y * t).max(0.0)));
        close(
            Loss::Huber(0.75),
            mean(&|y, t| {
                let d = (y - t).abs();
                if d <= 0.75 { d * d / 2.0 } else { 0.75 * (d - 0.75 / 2.0) }
            }),
        );
        let z = [0.3f64, -1.2, 2.0];
        let normalizer = z.iter().map(|z| z.exp()).sum::<f64>().ln();
        let f = of(Loss::CrossEntropy, &[3]);
        assert!((f.value(&[0.3, -1.2, 2.0, 0.0, 1.0, 0.0]).unwrap() - (normalizer + 1.2)).abs() < 1e-15);
    }

    #[test]
    fn a_batch_loss_is_the_mean_of_single_losses() {
        let x = [0.3, -1.2, 2.0, 0.7, -0.4, 1.1];
        let t = [1.0, 0.0, 0.0, 0.0, 0.0, 1.0];
        for loss in LOSSES {
            let whole = of(loss, &[2, 3]).value(&[x, t].concat()).unwrap();
            let half = of(loss, &[3]);
            let one = half.value(&[&x[..3], &t[..3]].concat()).unwrap();
            let two = half.value(&[&x[3..], &t[3..]].concat()).unwrap();
            assert!((whole - (one + two) / 2.0).abs() < 1e-15, "{loss:?}");
        }
    }

    #[test]
    fn classes_and_one_hot_targets_agree() {
        let shape = Shape::new([2, 3]).unwrap();
        let p = crate::trace_shapes(std::slice::from_ref(&shape), |x| vec![cross_entropy_of(x[0], &[0, 2])]).unwrap();
        let z = [0.3, -1.2, 2.0, 0.7, -0.4, 1.1];
        let one_hot = [1.0, 0.0, 0.0, 0.0, 0.0, 1.0];
        let (by_class, by_target) = (Function::from(p), of(Loss::CrossEntropy, &[2, 3]));
        let (v, g) = by_class.value_and_grad(&z).unwrap();
        let (w, h) = by_target.value_and_grad(&[z, one_hot].concat()).unwrap();
        assert!((v - w).abs() < 1e-15);
        assert!(g.iter().zip(&h[..6]).all(|(a, b)| (a - b).abs() < 1e-15));
        for bad in [&[0usize, 3][..], &[0]] {
            assert!(crate::trace_shapes(std::slice::from_ref(&shape), |x| vec![cross_entropy_of(x[0], bad)]).is_err());
        }
    }

    #[test]
    fn huber_has_its_gradient_under_every_selection() {
        let f = of(Loss::Huber(0.5), &[1]);
        for selection in ["paper", "torch", "jax", "max=last", "relu=1, abs=1"] {
            let f = f.clone().select(Selection::parse(selection).unwrap());
            for (d, slope) in [(0.0, 0.0), (0.25, 0.25), (0.5, 0.5), (-0.5, -0.5), (3.0, 0.5), (-3.0, -0.5)] {
                assert_eq!(f.grad(&[d, 0.0]).unwrap(), [slope, -slope], "{selection} at {d}");
            }
        }
        for delta in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Loss::Huber(delta).program(Shape::scalar()).is_err());
            assert!(crate::trace(2, |x| huber(x[0], x[1], delta)).is_err());
        }
    }
}
