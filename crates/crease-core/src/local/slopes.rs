//! Slopes of smooth operations, and where they are singular.

use super::NodeId;
use super::curvature::Class;
use super::localize::{Local, LocalError, Localizer};
use crate::number::{Mixed, Number, NumberError, Rational};
use crate::op::Op;
use std::cmp::Ordering;

impl Localizer<'_> {
    /// The nodes of the results of a smooth operation.
    pub(super) fn smooth(
        &mut self,
        op: &Op,
        args: &[&Local],
        results: &[Mixed],
        class: Class,
    ) -> Result<Vec<NodeId>, LocalError> {
        if class == Class::Constant {
            return Ok(vec![self.zero; results.len()]);
        }
        let one = Mixed::one();
        let failed = |m: &Self, e: NumberError| m.run_error(e.into());
        let x = &args[0].value;
        let y = results.first().cloned().unwrap_or_else(Mixed::zero);
        let slope = match op {
            Op::Div => {
                let over = one.div(&args[1].value).map_err(|e| failed(self, e))?;
                let down = y.mul(&over).neg();
                return Ok(vec![self.linear(&[(&over, args[0].node), (&down, args[1].node)])?]);
            }
            Op::LogSumExp(_) => {
                let weights = args.iter().map(|x| x.value.sub(&y).exp()).collect::<Result<Vec<_>, _>>();
                let weights = weights.map_err(|e| failed(self, e))?;
                let terms: Vec<(&Mixed, NodeId)> = weights.iter().zip(args.iter().map(|x| x.node)).collect();
                return Ok(vec![self.linear(&terms)?]);
            }
            Op::Permute { inverse, .. } => {
                let n = args.len() / 2;
                let mut out = vec![self.zero; n];
                for (k, p) in args[n..].iter().enumerate() {
                    let index = p
                        .value
                        .exact()
                        .and_then(|r| r.small_parts())
                        .filter(|r| r.1 == 1 && p.class == Class::Constant);
                    let Some(at) = index.and_then(|r| usize::try_from(r.0).ok()).filter(|&at| at < n) else {
                        return Err(self.no_derivative("its permutation is none, or changes with the inputs"));
                    };
                    if *inverse { out[at] = args[k].node } else { out[k] = args[at].node }
                }
                return Ok(out);
            }
            Op::Sqrt => {
                // a tangent that vanishes proves nothing here: sqrt(x^2) is |x|
                let singular = |m: &Self| LocalError::Singular {
                    site: Box::new(m.site()),
                    why: "the square root has infinite slope at 0, and its argument is 0 here but not around".into(),
                };
                match self.compare(x, &Mixed::zero())? {
                    Ordering::Greater => one.div(&y.add(&y)).map_err(|e| failed(self, e))?,
                    _ => return Err(singular(self)),
                }
            }
            Op::Neg => one.neg(),
            Op::Inv => y.mul(&y).neg(),
            Op::Exp => y,
            Op::Log => one.div(x).map_err(|e| failed(self, e))?,
            Op::Sin => x.cos().map_err(|e| failed(self, e))?,
            Op::Cos => x.sin().map_err(|e| failed(self, e))?.neg(),
            // without the cancellation of 1 - tanh(x)^2 for large arguments
            Op::Tanh => {
                let twice = x.add(x);
                let sides = twice.sigmoid().and_then(|up| Ok(up.mul(&twice.neg().sigmoid()?)));
                Mixed::exactly(Rational::from(4)).mul(&sides.map_err(|e| failed(self, e))?)
            }
            Op::Sigmoid => y.mul(&x.neg().sigmoid().map_err(|e| failed(self, e))?),
            Op::Power(k) => {
                let lower = k.checked_sub(1).ok_or_else(|| self.no_derivative("its exponent is too large"))?;
                let lower = x.powi(lower).map_err(|e| failed(self, e))?;
                Mixed::exactly(Rational::from(*k)).mul(&lower)
            }
            // these are handled by their own methods, or have no class
            Op::Add | Op::Sub | Op::Mul | Op::Kink(_) | Op::Joint(..) | Op::LogSumExpJoint(_) => {
                return Err(self.no_derivative("it has no slope"));
            }
            Op::Constant(_) | Op::View { .. } | Op::Assemble { .. } | Op::MatMul { .. } => {
                return Err(self.no_derivative("it has no place in a scalar program"));
            }
            Op::Call(_) | Op::Select(_) | Op::Compare(_) | Op::Logic(_) => {
                return Err(self.no_derivative("it has no slope"));
            }
        };
        Ok(vec![self.linear(&[(&slope, args[0].node)])?])
    }
}
