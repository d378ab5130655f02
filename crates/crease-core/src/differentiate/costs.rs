//! What derived programs cost, without emitting what is too large: as a whole, and the calls and selections of a program with and
//! without their derivatives, for Theorem 2.

use super::derive::Deriver;
use super::prepare::prepare;
use super::rules::Direction;
use super::{DiffError, How, Mode, Technique, scalar_output};
use crate::builder::Builder;
use crate::cost::{Price, Tally};
use crate::flow::constants::Known;
use crate::op::Op;
use crate::program::{Callee, Program};
use std::sync::Arc;

/// The tally of [`backprop`](super::backprop) or [`forprop`](super::forprop), counted without emitting the columns of forward mode,
/// of which there is one for each scalar input.
///
/// ```
/// use crease_core::{cost::tally, differentiate::{counted, forprop, How, Mode}, trace_shapes, Shape};
/// let square = |n| trace_shapes(&[Shape::vector(n).unwrap()], |x| vec![(x[0] * x[0]).sum()]).unwrap();
/// let (how, p) = (How::default(), square(10));
/// assert_eq!(counted(&p, &how, Mode::Forward).unwrap(), tally(&forprop(&p, &how).unwrap()));
/// // a million columns of a million numbers each would not fit
/// let p = square(1_000_000);
/// assert!(forprop(&p, &how).is_err());
/// assert_eq!(counted(&p, &how, Mode::Forward).unwrap().total().to_string(), "4000000999999");
/// ```
pub fn counted(p: &Program, how: &How, mode: Mode) -> Result<Tally, DiffError> {
    scalar_output(p)?;
    let mut deriver = Deriver::to_count(p, how)?;
    let derived = match mode {
        Mode::Backward => Arc::new(deriver.backprop(p)?),
        Mode::Forward => {
            let (derived, columns) = deriver.forprop(p)?;
            deriver.shared(derived, columns)
        }
    };
    Ok(deriver.counter.count(&derived, vec![Known::Nothing; derived.inputs().len()])?.0)
}

/// A program as the sweep sees it, with the costs of the calls that are differentiated on their own: for Theorem 2.
pub(crate) struct Prepared<'h> {
    deriver: Deriver<'h>,
    program: Program,
}

impl<'h> Prepared<'h> {
    pub fn new(p: &Program, how: &'h How) -> Result<Self, DiffError> {
        let deriver = Deriver::to_count(p, how)?;
        let program = prepare(p, |c| deriver.technique(c).is_some(), &how.limits())?;
        Ok(Prepared { deriver, program })
    }

    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The paper's cost(g) and cost(gd) of equation number `i`, a call or a selection with these arguments.
    pub fn costs(&mut self, i: usize, mode: Mode, known: &[Known]) -> Result<(Price, Price), DiffError> {
        let directions = self.program.dimension().max(1);
        // derived branches take tangents or adjoints after the arguments
        let cost = |d: &mut Deriver<'_>, q: Arc<Program>| {
            let mut inputs = known.to_vec();
            inputs.resize(q.inputs().len(), Known::Nothing);
            let price = d.counter.count(&q, inputs)?.0.price();
            d.keep.push(q);
            Ok::<Price, DiffError>(price)
        };
        let e = self.program.equation(i);
        let programs: Vec<Callee> = e.op.callees().iter().map(|id| self.program.callee(*id).clone()).collect();
        let scalar = e.results == 1 && self.program.shape(e.first).is_scalar();
        let is_call = matches!(e.op, Op::Call(_));
        let mut worst = (Price::default(), Price::default());
        for callee in programs {
            let q = &callee.program;
            let technique = if is_call { self.deriver.technique(&callee) } else { None };
            let joint = match technique {
                Some(Technique::Joint) => {
                    let name = || DiffError::NoJoint(q.name().into());
                    callee.joint.clone().ok_or_else(name)?
                }
                Some(Technique::Forward) => self.deriver.joint(q, Direction::Forward)?,
                _ if is_call || scalar => self.deriver.joint(q, Direction::Backward)?,
                _ if mode == Mode::Backward => self.deriver.branch(q, Direction::Backward, None)?,
                _ => self.deriver.branch(q, Direction::Forward, Some(directions))?,
            };
            let g = cost(&mut self.deriver, q.clone())?;
            let gd = cost(&mut self.deriver, joint)?;
            // the dearest at unit prices, the first of equals: as tallies count it
            if gd.unit() > worst.1.unit() {
                worst.1 = gd;
            }
            if g.unit() > worst.0.unit() {
                worst.0 = g;
            }
        }
        if !is_call && !scalar {
            // the values are computed by a selection of their own
            worst.1 += &worst.0;
        }
        Ok(worst)
    }

    /// The same for a loop, and which of its results are constants: it is differentiated as a whole, by those arguments that are not.
    pub fn loop_costs(
        &mut self,
        i: usize,
        mode: Mode,
        known: &[Known],
        guarded: bool,
    ) -> Result<(Price, Price, Vec<Known>), DiffError> {
        let e = self.program.equation(i);
        let mut b = Builder::new("repeat").within(&self.deriver.how.limits());
        let mut args = Vec::with_capacity(e.args.len());
        for (k, &a) in e.args.iter().enumerate() {
            args.push(b.input(format!("x{k}"), self.program.atom_shape(a))?);
        }
        let results = b.push_from(&self.program, e.op, &args)?;
        let alone = Arc::new(b.finish(&results)?);
        let open: Vec<bool> = known.iter().map(|k| *k != Known::All).collect();
        let derived = match mode {
            Mode::Backward => {
                self.deriver.shielded = guarded;
                let derived = self.deriver.vjp_by(&alone, None, Some(&open));
                self.deriver.shielded = false;
                Arc::new(derived?)
            }
            Mode::Forward => {
                let directions = self.program.dimension().max(1);
                let (derived, columns) = self.deriver.jvp_by(&alone, Some(directions), &open)?;
                self.deriver.shared(derived, columns)
            }
        };
        let mut inputs = known.to_vec();
        inputs.resize(derived.inputs().len(), Known::Nothing);
        let (tally, constants) = self.deriver.counter.count(&alone, known.to_vec())?;
        let all = self.deriver.counter.count(&derived, inputs)?.0;
        self.deriver.keep.extend([alone, derived]);
        Ok((tally.price(), all.price(), constants))
    }
}
