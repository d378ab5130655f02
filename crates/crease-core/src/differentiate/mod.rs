//! Differentiation: Algorithm 2, as transformations from program to program.
//!
//! A program enters, a program leaves that computes the same values and their derivatives: [`backprop`] and [`forprop`] as
//! in the paper, [`vjp`] and [`jvp`] with given seeds, [`jacobian`] both ways, [`hessian`] forward over backward;
//! [`directional`] and [`locked`], in which tangents decide the ties. What else is
//! picked at kinks is a [`Selection`]; how a called program is differentiated is a [`Technique`]. The result is an
//! ordinary program: cost it, print it, draw it, run it, differentiate it again.
//!
//! The plan: [`prepare`](self) inlines the calls that are differentiated through; one sweep over the equations emits them in
//! their joint form and collects their derivatives from the table of [rules](self); then tangents travel forward with the
//! sweep, or adjoints backward after it. Equations that no input or no output depends on stay as they are.
//!
//! Deliberately absent: any simplification beyond not multiplying by 1, not adding to nothing and not writing a sign down
//! before it is needed. What more can be removed is the business of [`simplify`](crate::simplify).

mod columns;
mod costs;
mod derive;
mod directional;
mod linear;
mod loops;
mod norms;
mod overhead;
mod prepare;
mod rules;
mod sweep;
mod ties;

pub use crate::cost::Mode;
pub use crate::op::{Selection, SelectionError};
pub use directional::{directional, directional_limited, locked};
pub use overhead::{Attained, Overhead, overhead};

use crate::builder::{BuildError, Builder};
use crate::flow::constants::CasesError;
use crate::inline::InlineError;
use crate::limits::{Limits, Stop};
use crate::program::{Atom, Program, Site};
use crate::shape::{Layout, Shape};
use costs::Prepared;
pub use costs::counted;
use derive::Deriver;
use std::collections::HashMap;
use std::sync::Arc;

/// How a called program is differentiated: the paper's choice of gd.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Technique {
    /// By its own joint program if it has one, else through it.
    #[default]
    Auto,
    /// Through it, as if it stood in the place of the call.
    Through,
    /// Its gradient is computed inside, by backprop, and multiplied outside.
    Backward,
    /// Its gradient is computed inside, by forprop: the paper's mixed mode, with overhead 3p+5.
    Forward,
    /// By the joint program that its author gave; an error if there is none.
    Joint,
}

impl Technique {
    /// The technique of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "auto" => Some(Technique::Auto),
            "through" => Some(Technique::Through),
            "backward" => Some(Technique::Backward),
            "forward" => Some(Technique::Forward),
            "joint" => Some(Technique::Joint),
            _ => None,
        }
    }
}

/// How to differentiate: the selection, and the techniques.
///
/// ```
/// use crease_core::differentiate::{How, Selection, Technique};
/// let how = How::default().select(Selection::torch()).technique(Technique::Through).callee("solve", Technique::Forward);
/// assert_eq!(how.technique_of("solve"), Technique::Forward);
/// ```
#[derive(Clone, Debug, Default)]
pub struct How {
    /// What is picked at kinks.
    pub selection: Selection,
    /// The most calls and equations to which the calls are expanded that are differentiated through, and the most that are looked at again because other arguments of calls are
    /// constants. Where nothing is told it is that of the limits that it is used with, [`Limits::equations`].
    pub max_equations: Option<u64>,
    /// What ends it on the way, if it was told.
    stopped_by: Option<Box<Limits>>,
    technique: Technique,
    callees: HashMap<String, Technique>,
}

impl How {
    /// With another selection.
    pub fn select(mut self, selection: Selection) -> Self {
        self.selection = selection;
        self
    }

    /// With a limit of its own on the expansion of calls, whatever limits it is used with; without any it is [`MAX_INLINED`](crate::MAX_INLINED).
    pub fn max_equations(mut self, limit: u64) -> Self {
        self.max_equations = Some(limit);
        self
    }

    /// With the limits that concern differentiation: [`Limits::equations`], unless it has a limit of its own, and when to stop.
    ///
    /// ```
    /// use crease_core::{differentiate::How, Limits};
    /// let limits = Limits { equations: 1000, ..Limits::default() };
    /// assert_eq!(How::default().within(&limits).max_equations, Some(1000));
    /// assert_eq!(How::default().max_equations(5).within(&limits).max_equations, Some(5));
    /// ```
    pub fn within(self, limits: &Limits) -> Self {
        How { max_equations: self.max_equations.or(Some(limits.equations)), ..self.stopped_by(limits) }
    }

    /// To be stopped when these limits say so.
    pub fn stopped_by(mut self, limits: &Limits) -> Self {
        self.stopped_by = Some(Box::new(limits.clone()));
        self
    }

    /// The limits that concern differentiation, as they were told; all others are the usual ones.
    pub fn limits(&self) -> Limits {
        let equations = self.max_equations.unwrap_or(Limits::DEFAULT.equations);
        let Some(by) = &self.stopped_by else { return Limits { equations, ..Limits::DEFAULT } };
        let (work, memory, deadline) = (by.work, by.memory, by.deadline);
        let (cancel, meter) = (by.cancel.clone(), by.meter.clone());
        Limits { equations, work, memory, deadline, cancel, meter, ..Limits::DEFAULT }
    }

    /// With another technique for all callees.
    pub fn technique(mut self, technique: Technique) -> Self {
        self.technique = technique;
        self
    }

    /// With another technique for the callee of that name.
    pub fn callee(mut self, name: impl Into<String>, technique: Technique) -> Self {
        self.callees.insert(name.into(), technique);
        self
    }

    /// The technique for a callee.
    pub fn technique_of(&self, name: &str) -> Technique {
        self.callees.get(name).copied().unwrap_or(self.technique)
    }
}

/// Why a program cannot be differentiated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DiffError {
    /// The selection is no element of a conservative gradient.
    #[error(transparent)]
    Selection(#[from] SelectionError),
    /// The gradient of several outputs, or of a tensor, was asked for.
    #[error(
        "a gradient needs one scalar output, but program `{name}` returns {outputs}; use the Jacobian, or pick one output"
    )]
    NotScalar {
        /// The program.
        name: String,
        /// What it returns.
        outputs: String,
    },
    /// The technique is [`Technique::Joint`], but there is no joint program.
    #[error(
        "program `{0}` has no joint program of its own; write one with `joint {0}(...)`, or choose another technique"
    )]
    NoJoint(String),
    /// Forward mode would carry too much along.
    #[error(
        "forward mode of `{name}` carries {columns} columns along, one for each scalar input or direction: {what}, which is too much; \
         go backward (backprop, vjp), or take fewer directions at a time (jvp)"
    )]
    Columns {
        /// The program.
        name: String,
        /// How many columns.
        columns: usize,
        /// What they take.
        what: String,
    },
    /// An input that the program does not have was named for differentiation.
    #[error("there is no input {index} to differentiate by; the program takes {inputs}")]
    NoSuchInput {
        /// The number given.
        index: usize,
        /// How many inputs there are.
        inputs: usize,
    },
    /// An operation whose results jump at ties, so that it has no directional derivative there.
    #[error(
        "`{}` of program `{}` has no directional derivative: the weights that a joint operation gives jump at ties",
        site.text(), site.program
    )]
    NoDirectional {
        /// Where.
        site: Box<Site>,
    },
    /// Loops inside of loops, too deep to be differentiated inside of each other.
    #[error(
        "loops of `{name}` are nested {depth} deep, more than {limit}; unroll those that have few turns (`unroll`)"
    )]
    Nested {
        /// The program.
        name: String,
        /// How deep.
        depth: usize,
        /// How deep they may be.
        limit: usize,
    },
    /// The program is too large once its calls are expanded.
    #[error(transparent)]
    Inline(#[from] InlineError),
    /// Programs are called in too many ways, each with other arguments that are constants.
    #[error(transparent)]
    Cases(#[from] CasesError),
    /// A derived program that cannot be built, because it is too large.
    #[error(transparent)]
    Build(#[from] BuildError),
}

impl DiffError {
    /// What ended it, if a limit was reached on the way or somebody stopped it.
    pub fn stop(&self) -> Option<Stop> {
        match self {
            DiffError::Inline(e) => e.stop(),
            DiffError::Cases(e) => e.stop(),
            DiffError::Build(e) => e.stop(),
            _ => None,
        }
    }
}

/// The gradient of a program, backward: value first, then one derivative for each input. Algorithm 2, backward mode.
///
/// ```
/// use crease_core::{differentiate::{backprop, How}, relu, run, trace, Tensor};
/// let p = trace(1, |x| relu(x[0]) - relu(-x[0])).unwrap();
/// let d = backprop(&p, &How::default()).unwrap();
/// let out = run(&d, &[Tensor::scalar(0.0)]).unwrap();
/// // the function is the identity, yet the chain rule gives 0 at the kink
/// assert_eq!(out[1].data(), [0.0]);
/// ```
pub fn backprop(p: &Program, how: &How) -> Result<Program, DiffError> {
    scalar_output(p)?;
    Deriver::new(p, how)?.backprop(p)
}

/// The gradient of a program, forward: value first, then one derivative for each input. Algorithm 2, forward mode, which
/// carries all p partial derivatives along.
pub fn forprop(p: &Program, how: &How) -> Result<Program, DiffError> {
    scalar_output(p)?;
    Ok(Deriver::new(p, how)?.forprop(p)?.0)
}

/// Adjoint times Jacobian. The inputs are those of the program and one adjoint for each output; the outputs are those of the
/// program and one adjoint for each input.
///
/// ```
/// use crease_core::{differentiate::{vjp, How}, run, trace_shapes, Shape, Tensor};
/// let p = trace_shapes(&[Shape::scalar()], |x| vec![x[0] * x[0], 3.0 * x[0]]).unwrap();
/// let d = vjp(&p, &How::default()).unwrap();
/// let s = |x: f64| Tensor::scalar(x);
/// assert_eq!(run(&d, &[s(5.0), s(1.0), s(10.0)]).unwrap()[2].data(), [40.0]);
/// ```
pub fn vjp(p: &Program, how: &How) -> Result<Program, DiffError> {
    Deriver::new(p, how)?.vjp(p, None)
}

/// Jacobian times tangent. The inputs are those of the program and one tangent for each of them; the outputs are those of the
/// program and one tangent for each of them. At kinks this is what the selection picks, not the directional derivative.
pub fn jvp(p: &Program, how: &How) -> Result<Program, DiffError> {
    Ok(Deriver::new(p, how)?.jvp(p, None)?.0)
}

/// Several tangents at once: as [`jvp`], each tangent with a leading axis of size `directions`.
pub fn jvp_batch(p: &Program, how: &How, directions: usize) -> Result<Program, DiffError> {
    Ok(Deriver::new(p, how)?.jvp(p, Some(directions))?.0)
}

/// The outputs of a program followed by its Jacobian: for each output and each input in turn, a tensor whose axes are those of
/// the output and then those of the input.
///
/// ```
/// use crease_core::{differentiate::{jacobian, How, Mode}, run, trace_shapes, Shape, Tensor};
/// let p = trace_shapes(&[Shape::vector(2).unwrap()], |x| vec![x[0] * x[0]]).unwrap();
/// for mode in [Mode::Forward, Mode::Backward] {
///     let d = jacobian(&p, &How::default(), mode).unwrap();
///     let out = run(&d, &[Tensor::vector(vec![1.0, 2.0]).unwrap()]).unwrap();
///     assert_eq!(out[1].to_string(), "[[2, 0], [0, 4]]");
/// }
/// ```
pub fn jacobian(p: &Program, how: &How, mode: Mode) -> Result<Program, DiffError> {
    let mut deriver = Deriver::new(p, how)?;
    match mode {
        Mode::Forward => forward_jacobian(p, &mut deriver),
        Mode::Backward => backward_jacobian(p, &mut deriver),
    }
}

/// The Hessian of a program with one scalar output: for each pair of inputs in turn a tensor, forward over backward.
///
/// ```
/// use crease_core::{differentiate::{hessian, How}, run, trace, Tensor};
/// let p = trace(2, |x| x[0] * x[0] * x[1]).unwrap();
/// let h = run(&hessian(&p, &How::default()).unwrap(), &[Tensor::scalar(2.0), Tensor::scalar(3.0)]).unwrap();
/// let h: Vec<f64> = h.iter().map(|t| t.data()[0]).collect();
/// assert_eq!(h, [6.0, 4.0, 4.0, 0.0]);
/// ```
pub fn hessian(p: &Program, how: &How) -> Result<Program, DiffError> {
    let gradient = gradient(p, how)?;
    let n = gradient.outputs().len();
    let both = jacobian(&gradient, how, Mode::Forward)?;
    without_first(&both, n)
}

/// The gradient alone, without the value: one derivative for each input.
pub fn gradient(p: &Program, how: &How) -> Result<Program, DiffError> {
    without_first(&backprop(p, how)?, 1)
}

/// The same program without its first outputs: a derived program returns values first, then derivatives.
fn without_first(p: &Program, n: usize) -> Result<Program, DiffError> {
    let rest: Vec<usize> = (n..p.outputs().len()).collect();
    Ok(p.with_outputs(&rest).ok_or(BuildError::NoOutput)?)
}

/// Declares the inputs of `p`, their names prefixed, each with a leading axis if asked for.
fn declare(b: &mut Builder, p: &Program, prefix: &str, lead: Option<usize>) -> Result<Vec<Atom>, BuildError> {
    let mut out = Vec::with_capacity(p.inputs().len());
    for i in p.inputs() {
        let shape = match lead {
            None => i.shape.clone(),
            Some(s) => i.shape.with_leading(s)?,
        };
        let name: Arc<str> = if prefix.is_empty() { i.name.clone() } else { format!("{prefix}{}", i.name).into() };
        out.push(b.input(name, shape)?);
    }
    Ok(out)
}

/// For parts of these shapes laid one after the other, and `total` directions: for each part, the directions in which
/// exactly one of its elements moves. Built from a constant 1, at no cost.
fn unit_directions(b: &mut Builder, shapes: &[Shape]) -> Result<Vec<Atom>, BuildError> {
    let total: usize = shapes.iter().map(Shape::len).sum();
    let one = b.constant(1);
    let mut first = 0;
    let mut out = Vec::with_capacity(shapes.len());
    for shape in shapes {
        let n = shape.len();
        let diagonal = Layout::strided(first * n, &[(n, n as isize + 1)]);
        out.push(b.assemble(shape.with_leading(total)?, vec![(one, diagonal)])?);
        first += n;
    }
    Ok(out)
}

fn forward_jacobian(p: &Program, deriver: &mut Deriver<'_>) -> Result<Program, DiffError> {
    let total = p.dimension();
    if total == 0 {
        return Ok(p.clone());
    }
    let tangents = deriver.jvp(p, Some(total))?.0;
    let mut b = Builder::new(format!("jacobian_{}", p.name())).within(&deriver.how.limits());
    let mut args = declare(&mut b, p, "", None)?;
    let shapes: Vec<Shape> = p.inputs().iter().map(|i| i.shape.clone()).collect();
    args.extend(unit_directions(&mut b, &shapes)?);
    let all = b.splice(&tangents, &args)?;
    let (values, tangents) = all.split_at(p.outputs().len());
    let mut outputs = values.to_vec();
    for (&t, &o) in tangents.iter().zip(p.outputs()) {
        let out = p.atom_shape(o);
        // the tangent lies as [direction, output]; the Jacobian as [output, input]
        let mut first = 0;
        for input in &shapes {
            let n = input.len();
            let loops = [(out.len(), 1), (n, out.len() as isize)];
            let shape = Shape::new([out.dims(), input.dims()].concat()).map_err(BuildError::from)?;
            outputs.push(b.view(t, Layout::strided(first * out.len(), &loops), shape)?);
            first += n;
        }
    }
    Ok(b.finish(&outputs)?)
}

fn backward_jacobian(p: &Program, deriver: &mut Deriver<'_>) -> Result<Program, DiffError> {
    let out_shapes: Vec<Shape> = p.outputs().iter().map(|&o| p.atom_shape(o)).collect();
    let total: usize = out_shapes.iter().map(Shape::len).sum();
    let adjoints = deriver.vjp(p, Some(total))?;
    let mut b = Builder::new(format!("jacobian_{}", p.name())).within(&deriver.how.limits());
    let mut args = declare(&mut b, p, "", None)?;
    args.extend(unit_directions(&mut b, &out_shapes)?);
    let all = b.splice(&adjoints, &args)?;
    let (values, adjoints) = all.split_at(p.outputs().len());
    let mut outputs = values.to_vec();
    let mut first = 0;
    for out in &out_shapes {
        for (&t, input) in adjoints.iter().zip(p.inputs()) {
            let n = input.shape.len();
            let shape = Shape::new([out.dims(), input.shape.dims()].concat()).map_err(BuildError::from)?;
            outputs.push(b.view(t, Layout::strided(first * n, &[(out.len() * n, 1)]), shape)?);
        }
        first += out.len();
    }
    Ok(b.finish(&outputs)?)
}

fn scalar_output(p: &Program) -> Result<(), DiffError> {
    let shapes: Vec<Shape> = p.outputs().iter().map(|&o| p.atom_shape(o)).collect();
    match &shapes[..] {
        [one] if one.is_scalar() => Ok(()),
        [one] => Err(DiffError::NotScalar { name: p.name().into(), outputs: format!("a tensor of shape {one}") }),
        several => Err(DiffError::NotScalar { name: p.name().into(), outputs: format!("{} outputs", several.len()) }),
    }
}
