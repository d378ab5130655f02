//! Derivatives as linear maps between tangents, and the two ways to apply them.
//!
//! Every rule of the [table](super::rules) says how the tangent of one argument enters the tangent of one result: as a
//! short chain of [`Step`]s. Forward mode applies the chain to tangents, backward mode applies its transpose to adjoints.
//! Both come from one table, and that is why one selection gives one answer in both directions.
//!
//! Tangents and adjoints are [`Dual`]s. They may carry a leading axis of several directions at once; a constant stands for
//! a tensor of equal elements; a sign is carried along and costs nothing until it must be written down.

use crate::builder::{BuildError, Builder};
use crate::number::Rational;
use crate::op::Op;
use crate::program::Atom;
use crate::shape::{Layout, Shape};

/// One step of a linear map.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Times a constant.
    Scale(Rational),
    /// Times a value of the same shape.
    Times(Atom),
    /// Divided by a value of the same shape.
    Over(Atom),
    /// Read through an index map.
    View { layout: Layout, from: Shape, to: Shape },
    /// Added into zeros through an index map.
    Put { layout: Layout, from: Shape, to: Shape },
    /// The first factor of a matrix product.
    Left { other: Atom, transpose: bool, transpose_other: bool, from: Shape },
    /// The second factor of a matrix product.
    Right { other: Atom, transpose: bool, transpose_other: bool, from: Shape },
    /// Reordered along the last axis.
    Permute { permutation: Atom },
    /// Read along the last axis at positions, or added into zeros there: from a shape, along an axis of so many.
    Gather { index: Atom, of: usize, scatter: bool, from: Shape },
    /// Kept where a truth value is 1, or where it is 0; nothing elsewhere, whatever stands there.
    Keep { condition: Atom, holds: bool },
}

/// How the tangent of argument `arg` enters the tangent of result `result`.
#[derive(Clone, Debug)]
pub(super) struct Linear {
    pub arg: usize,
    pub result: usize,
    pub steps: Vec<Step>,
}

/// A tangent or an adjoint: an atom, possibly to be negated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Dual {
    pub atom: Atom,
    pub negative: bool,
}

impl Dual {
    pub fn positive(atom: Atom) -> Self {
        Dual { atom, negative: false }
    }
}

/// Applies steps, with or without a leading axis of directions.
pub(super) struct Calculus<'b> {
    pub b: &'b mut Builder,
    pub lead: Option<usize>,
}

impl Calculus<'_> {
    /// The shape of a tangent of a value of that shape.
    pub fn dual_shape(&self, shape: &Shape) -> Result<Shape, BuildError> {
        Ok(match self.lead {
            None => shape.clone(),
            Some(s) => shape.with_leading(s)?,
        })
    }

    fn batched(&self, layout: &Layout, source: usize) -> Layout {
        self.lead.map_or_else(|| layout.clone(), |s| layout.batched(s, source))
    }

    /// A primal value as a factor of tangents: repeated along the leading axis.
    fn factor(&mut self, w: Atom) -> Result<Atom, BuildError> {
        match (self.lead, w) {
            (Some(_), Atom::Value(_)) => {
                let shape = self.dual_shape(&self.b.shape(w))?;
                self.b.broadcast(w, &shape)
            }
            _ => Ok(w),
        }
    }

    /// A dual as a tensor, where constants will not do.
    fn tensor(&mut self, t: Dual, shape: &Shape) -> Result<Dual, BuildError> {
        let shape = self.dual_shape(shape)?;
        match t.atom {
            Atom::Const(_) if !shape.is_scalar() => {
                Ok(Dual { atom: self.b.broadcast(t.atom, &shape)?, negative: t.negative })
            }
            _ => Ok(t),
        }
    }

    /// A dual as an atom of the given primal shape, its sign written down.
    pub fn settle(&mut self, t: Dual, shape: &Shape) -> Result<Atom, BuildError> {
        let t = self.tensor(t, shape)?;
        if t.negative { self.b.neg(t.atom) } else { Ok(t.atom) }
    }

    fn is_zero(&self, t: Dual) -> bool {
        self.b.as_constant(t.atom).is_some_and(Rational::is_zero)
    }

    /// The sum of two duals.
    pub fn add(&mut self, x: Dual, y: Dual) -> Result<Dual, BuildError> {
        if self.is_zero(x) {
            return Ok(y);
        }
        if self.is_zero(y) {
            return Ok(x);
        }
        Ok(match (x.negative, y.negative) {
            (false, true) => Dual::positive(self.b.sub(x.atom, y.atom)?),
            (true, false) => Dual::positive(self.b.sub(y.atom, x.atom)?),
            (negative, _) => Dual { atom: self.b.add(x.atom, y.atom)?, negative },
        })
    }

    fn scale(&mut self, t: Dual, c: &Rational) -> Result<Dual, BuildError> {
        if c.is_zero() {
            return Ok(Dual::positive(self.b.constant(Rational::ZERO)));
        }
        if c.abs().is_one() {
            return Ok(Dual { atom: t.atom, negative: t.negative != c.is_negative() });
        }
        // the constant takes the sign in
        let c = self.b.constant(if t.negative { -c } else { c.clone() });
        Ok(Dual::positive(self.b.mul(t.atom, c)?))
    }

    fn times(&mut self, t: Dual, w: Atom) -> Result<Dual, BuildError> {
        if let Some(c) = self.b.as_constant(w).cloned() {
            return self.scale(t, &c);
        }
        let w = self.factor(w)?;
        match self.b.as_constant(t.atom).cloned() {
            Some(c) => self.scale(Dual { atom: w, negative: t.negative }, &c),
            None => Ok(Dual { atom: self.b.mul(t.atom, w)?, negative: t.negative }),
        }
    }

    fn over(&mut self, t: Dual, w: Atom) -> Result<Dual, BuildError> {
        let w = self.factor(w)?;
        Ok(Dual { atom: self.b.div(t.atom, w)?, negative: t.negative })
    }

    fn view(&mut self, t: Dual, layout: &Layout, from: &Shape, to: &Shape) -> Result<Dual, BuildError> {
        if t.atom.value().is_none() {
            return Ok(t); // equal elements stay equal
        }
        let layout = self.batched(layout, from.len());
        let to = self.dual_shape(to)?;
        Ok(Dual { atom: self.b.view(t.atom, layout, to)?, negative: t.negative })
    }

    /// Adds pieces into zeros, all of one sign.
    pub fn put(&mut self, pieces: Vec<(Atom, Layout)>, to: &Shape) -> Result<Atom, BuildError> {
        let full = self.dual_shape(to)?;
        if let [(atom, layout)] = &pieces[..]
            && let (Some(inverse), Atom::Value(_)) = (layout.inverse(to.len()), atom)
        {
            let layout = self.batched(&inverse, to.len());
            return self.b.view(*atom, layout, full);
        }
        let pieces = pieces.into_iter().map(|(a, l)| (a, self.batched(&l, to.len()))).collect();
        self.b.assemble(full, pieces)
    }

    fn product(&mut self, a: Atom, b: Atom, ta: bool, tb: bool) -> Result<Atom, BuildError> {
        self.b.push1(Op::MatMul { transpose_a: ta, transpose_b: tb }, &[a, b])
    }

    /// Applies a step to a tangent.
    pub fn forward(&mut self, t: Dual, step: &Step) -> Result<Dual, BuildError> {
        match step {
            Step::Scale(c) => self.scale(t, c),
            Step::Times(w) => self.times(t, *w),
            Step::Over(w) => self.over(t, *w),
            Step::View { layout, from, to } => self.view(t, layout, from, to),
            Step::Put { layout, to, .. } => {
                Ok(Dual { atom: self.put(vec![(t.atom, layout.clone())], to)?, negative: t.negative })
            }
            Step::Left { other, transpose, transpose_other, from } => {
                let (t, other) = (self.tensor(t, from)?, self.factor(*other)?);
                Ok(Dual { atom: self.product(t.atom, other, *transpose, *transpose_other)?, negative: t.negative })
            }
            Step::Right { other, transpose, transpose_other, from } => {
                let (t, other) = (self.tensor(t, from)?, self.factor(*other)?);
                Ok(Dual { atom: self.product(other, t.atom, *transpose_other, *transpose)?, negative: t.negative })
            }
            Step::Permute { permutation } => self.permute(t, *permutation, false),
            Step::Gather { index, of, scatter, from } => self.gather(t, *index, *of, *scatter, from),
            Step::Keep { condition, holds } => self.keep(t, *condition, *holds),
        }
    }

    fn gather(&mut self, t: Dual, index: Atom, of: usize, scatter: bool, from: &Shape) -> Result<Dual, BuildError> {
        if t.atom.value().is_none() && !scatter {
            return Ok(t); // equal elements stay equal
        }
        let (t, index) = (self.tensor(t, from)?, self.factor(index)?);
        let op = Op::Gather { lane: crate::op::Lane::Axis, of, scatter };
        Ok(Dual { atom: self.b.push1(op, &[t.atom, index])?, negative: t.negative })
    }

    fn keep(&mut self, t: Dual, condition: Atom, holds: bool) -> Result<Dual, BuildError> {
        let zero = self.b.constant(Rational::ZERO);
        let other = Dual::positive(zero);
        if holds { self.choose(condition, t, other) } else { self.choose(condition, other, t) }
    }

    /// One of two duals, element by element.
    pub fn choose(&mut self, condition: Atom, a: Dual, b: Dual) -> Result<Dual, BuildError> {
        if let Some(truth) = self.b.as_constant(condition) {
            return Ok(if truth.is_one() { a } else { b });
        }
        let condition = self.factor(condition)?;
        let sign = |c: &Self, t: Dual| if c.is_zero(t) { None } else { Some(t.negative) };
        let negative = match (sign(self, a), sign(self, b)) {
            (Some(x), Some(y)) => x && y,
            (x, y) => x.or(y).unwrap_or(false),
        };
        let mut written = [a.atom, b.atom];
        for (atom, t) in written.iter_mut().zip([a, b]) {
            if t.negative && !negative {
                *atom = self.b.neg(t.atom)?;
            }
        }
        Ok(Dual { atom: self.b.choose(condition, written[0], written[1])?, negative })
    }

    /// A product with an adjoint that is 0 where the adjoint is, whatever the factor is there.
    pub fn guarded(&mut self, adjoint: Dual, product: Dual) -> Result<Dual, BuildError> {
        if adjoint.atom.value().is_none() || product.atom.value().is_none() || adjoint == product {
            return Ok(product);
        }
        let zero = self.b.constant(Rational::ZERO);
        let moves = self.b.compare(crate::op::Comparison::NotEqual, adjoint.atom, zero)?;
        Ok(Dual { atom: self.b.choose(moves, product.atom, zero)?, negative: product.negative })
    }

    fn permute(&mut self, t: Dual, permutation: Atom, inverse: bool) -> Result<Dual, BuildError> {
        if t.atom.value().is_none() {
            return Ok(t);
        }
        let permutation = self.factor(permutation)?;
        let op = Op::Permute { lane: crate::op::Lane::Axis, inverse };
        Ok(Dual { atom: self.b.push1(op, &[t.atom, permutation])?, negative: t.negative })
    }

    /// Applies the transpose of a step to the adjoint of its result, whose primal shape is given.
    /// [`Step::View`] is not transposed here: its adjoints are collected, see [`Pending`].
    pub fn backward(&mut self, t: Dual, step: &Step, shape: &Shape) -> Result<Dual, BuildError> {
        match step {
            Step::Scale(c) => self.scale(t, c),
            Step::Times(w) => self.times(t, *w),
            Step::Over(w) => self.over(t, *w),
            Step::View { layout, from, .. } => {
                Ok(Dual { atom: self.put(vec![(t.atom, layout.clone())], from)?, negative: t.negative })
            }
            Step::Put { layout, from, to } => self.view(t, layout, to, from),
            Step::Left { other, transpose, transpose_other, .. } => {
                let (t, other) = (self.tensor(t, shape)?, self.factor(*other)?);
                let atom = match transpose {
                    false => self.product(t.atom, other, false, !transpose_other)?,
                    true => self.product(other, t.atom, *transpose_other, true)?,
                };
                Ok(Dual { atom, negative: t.negative })
            }
            Step::Right { other, transpose, transpose_other, .. } => {
                let (t, other) = (self.tensor(t, shape)?, self.factor(*other)?);
                let atom = match transpose {
                    false => self.product(other, t.atom, !transpose_other, false)?,
                    true => self.product(t.atom, other, true, *transpose_other)?,
                };
                Ok(Dual { atom, negative: t.negative })
            }
            Step::Permute { permutation } => self.permute(t, *permutation, true),
            Step::Gather { index, of, scatter, .. } => self.gather(t, *index, *of, !scatter, shape),
            Step::Keep { condition, holds } => self.keep(t, *condition, *holds),
        }
    }
}

/// The shape of the result of a step applied to a tangent of that primal shape.
pub(super) fn shape_after(step: &Step, before: &Shape, result: &Shape) -> Shape {
    match step {
        Step::View { to, .. } | Step::Put { to, .. } => to.clone(),
        Step::Left { .. } | Step::Right { .. } | Step::Gather { .. } => result.clone(),
        Step::Scale(_) | Step::Times(_) | Step::Over(_) | Step::Permute { .. } | Step::Keep { .. } => before.clone(),
    }
}

/// What has come in so far for the adjoint of one value.
///
/// Parts that reach it through views are kept apart and assembled all at once: taking a vector apart into its n elements
/// must not cost n vector additions on the way back.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending {
    whole: Option<Dual>,
    parts: Vec<(Atom, Layout)>,
}

impl Pending {
    /// Whether nothing came in: the adjoint is zero.
    pub fn is_zero(&self) -> bool {
        self.whole.is_none() && self.parts.is_empty()
    }

    /// Adds a contribution to the whole.
    pub fn add(&mut self, c: &mut Calculus<'_>, t: Dual) -> Result<(), BuildError> {
        self.whole = Some(match self.whole {
            None => t,
            Some(w) => c.add(w, t)?,
        });
        Ok(())
    }

    /// Adds a contribution that reaches a part only.
    pub fn add_part(&mut self, c: &mut Calculus<'_>, t: Dual, layout: &Layout, part: &Shape) -> Result<(), BuildError> {
        let atom = if t.negative { c.settle(t, part)? } else { t.atom };
        self.parts.push((atom, layout.clone()));
        Ok(())
    }

    /// The sum of all that came in.
    pub fn take(&mut self, c: &mut Calculus<'_>, shape: &Shape) -> Result<Option<Dual>, BuildError> {
        let mut parts = std::mem::take(&mut self.parts);
        let whole = self.whole.take();
        if parts.is_empty() {
            return Ok(whole);
        }
        if let Some(w) = whole {
            let atom = if w.negative { c.settle(w, shape)? } else { w.atom };
            parts.insert(0, (atom, Layout::identity(shape.len())));
        }
        Ok(Some(Dual::positive(c.put(parts, shape)?)))
    }
}
