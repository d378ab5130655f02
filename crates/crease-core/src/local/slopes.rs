//! Slopes of smooth operations, and where they are singular.

use super::NodeId;
use super::localize::{Local, LocalError, Localizer};
use crate::flow::curvature::Class;
use crate::number::{Mixed, Number, NumberError};
use crate::op::{Numbers, Op, Slope};
use std::collections::HashMap;

impl Localizer<'_> {
    /// Whether a node is certainly not 0 along some direction: a combination of coordinates that is not empty.
    fn moves(&self, node: NodeId) -> bool {
        let mut left = self.limits.steps_of(self.limits.oracles.tangents);
        let form = if self.is_near(node) { None } else { self.model.form_within(node, &HashMap::new(), &mut left) };
        form.is_some_and(|f| !f.is_zero() && f.terms().iter().all(|(i, _)| *i < self.model.dimension()))
    }

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
            Op::Smooth(f) => {
                // a tangent that vanishes proves nothing here: sqrt(x^2) is |x|
                if let Some((at, why)) = f.singular(|k| self.compare(x, &Mixed::exactly(k.into())))? {
                    let why = format!("{why}, and its argument is {at} here but not around");
                    let infinite = f.slope(&mut Numbers::new(), x, &y).is_err();
                    let steep = infinite && self.moves(args[0].node);
                    return Err(LocalError::Singular { site: Box::new(self.site()), why, steep });
                }
                match f.slope(&mut Numbers::new(), x, &y).map_err(|e| failed(self, e))? {
                    Slope::Zero => return Ok(vec![self.zero]),
                    Slope::One => one,
                    Slope::Plus(w) => w,
                    Slope::Minus(w) => w.neg(),
                }
            }
            Op::Neg => one.neg(),
            // these are handled by their own methods, or have no class
            Op::Add | Op::Sub | Op::Mul | Op::Kink(_) | Op::Joint(..) | Op::LogSumExpJoint(_) => {
                return Err(self.no_derivative("it has no slope"));
            }
            Op::Constant(_) | Op::View { .. } | Op::Assemble { .. } | Op::MatMul { .. } => {
                return Err(self.no_derivative("it has no place in a scalar program"));
            }
            Op::Call(_) | Op::Select(_) | Op::Scan(_) | Op::Compare(_) | Op::Logic(_) => {
                return Err(self.no_derivative("it has no slope"));
            }
            Op::Where | Op::Stair(_) | Op::Position(..) | Op::Gather { .. } => {
                return Err(self.no_derivative("it has no slope"));
            }
        };
        Ok(vec![self.linear(&[(&slope, args[0].node)])?])
    }
}
