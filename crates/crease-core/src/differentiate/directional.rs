//! Directional derivatives as a program, right at kinks, for many directions at once; and the program in which a direction decides
//! every tie.
//!
//! A program enters; what leaves is an ordinary program. [`directional`] takes the inputs and `s` directions along a leading
//! axis, and gives values and one-sided directional derivatives. [`locked`] takes the inputs and one direction, and gives values by the
//! branches that the direction takes, so that its gradient is a Clarke subgradient.
//!
//! The plan: one sweep over the equations. Each value may have a [`Companion`]: a number its tangents, a truth value what it becomes a
//! little further along each direction. Smooth operations take their rules from the [table](super::rules); [`ties`](super::ties) says what
//! kinks and comparisons do where they are tied. A selection picks, for each direction, among its branches derived in the same way: a
//! branch that is not picked is not run. Branches are derived when a selection asks for them, on a stack of [`Frame`]s, once for each set of
//! companions.
//!
//! # When it is the directional derivative
//!
//! Ties are exact: two numbers are tied if they are equal in the numbers of the run. Then, for a program that has values around the point
//! and is continuous there,
//!
//! - without comparisons the result is the directional derivative wherever the smooth operations have derivatives;
//! - a comparison of numbers that are not tied is decided, and one of tied numbers goes as their tangents do. Where the tangents are tied,
//!   too, first order cannot tell, and what holds at the point itself is taken. That is right if the compared numbers are piecewise affine
//!   near the point, for then they stay equal along the direction; and it is right if both branches have the same derivative along it, as they
//!   must if the border between them is smooth (the difference of the compared numbers has a gradient, and that is not zero). It may be
//!   wrong for, say, `select(x^3 > 0, x, -x)` at 0;
//! - a condition that is a number given from outside is taken to stay what it is, and a truth value that is used as a number is
//!   taken at the point, as are roundings, signs and positions of largest numbers: the result is a directional derivative if no such comparison is tied and nothing jumps.
//!
//! Where a selection jumps there is no directional derivative, and what comes out is that of the branch picked. A branch is evaluated
//! at the point itself: if it has no value there, as `sin(x) / x` has none at 0, a checked run stops and names the place. Whoever
//! wants to be told instead of trusting these conditions asks the local model ([`localize`](crate::local::localize)), which
//! proves or refuses.

use super::columns;
use super::derive::fresh;
use super::linear::{Calculus, Dual};
use super::prepare::lanes_along_axis;
use super::rules::{Direction, linearize};
use super::sweep::carried;
use super::{DiffError, Selection};
use crate::builder::{BuildError, Builder};
use crate::flow::activity::needed;
use crate::inline::inline_limited;
use crate::limits::Limits;
use crate::op::{CalleeId, Comparison, Op, calling, elementwise, shaped};
use crate::program::{Atom, Program, ProgramId, Site};
use crate::shape::{Layout, Shape};
use crate::unroll::{has_loops, unroll_limited};
use std::collections::HashMap;
use std::sync::Arc;

/// Values and directional derivatives, right at kinks: the inputs are those of `p` and one tangent for each input in `wrt`,
/// with a leading axis of `directions`; the outputs are those of `p` and then the derivative of each, with the same axis.
///
/// Relu goes on with relu of the tangent where it is tied, a maximum with the largest tangent among tied members, a sort with the tangents
/// of tied members sorted, a selection with the branch that the tangents of a tied comparison pick, for each direction its own. If
/// the program is continuous this is the one-sided directional derivative; but a comparison whose two sides are tied to first order, too, is
/// taken as it is at the point itself. That is right where the compared numbers are piecewise affine or the border is smooth, but first order
/// cannot tell the branches of `select(x^3 > 0, x, -x)` at 0 apart. Outside of conditions, truth values do not move. Joint
/// operations, whose weights jump at ties, have no directional derivative and are refused.
///
/// ```
/// use crease_core::{differentiate::directional, run, trace_shapes, Shape, Tensor};
/// let p = trace_shapes(&[Shape::vector(3)?], |x| vec![x[0].sort(0)])?;
/// let d = directional(&p, &[0], 2)?;
/// let at = Tensor::vector(vec![1.0, 0.0, 1.0]).unwrap();
/// let along = Tensor::new(Shape::new([2, 3])?, vec![5.0, 7.0, -5.0, 0.0, 1.0, 0.0]).unwrap();
/// let out = run(&d, &[at, along])?;
/// assert_eq!(out[0].data(), [0.0, 1.0, 1.0]);
/// assert_eq!(out[1].data(), [7.0, -5.0, 5.0, 1.0, 0.0, 0.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn directional(p: &Program, wrt: &[usize], directions: usize) -> Result<Program, DiffError> {
    directional_limited(p, wrt, directions, &Limits::default())
}

/// The same within limits, which calls and loops that are expanded count against.
///
/// ```
/// use crease_core::{Limits, differentiate::directional_limited, limits::Stop, trace};
/// use std::time::Duration;
/// let p = trace(1, |x| x[0] * x[0])?;
/// let over = Limits::default().within(Duration::ZERO).started();
/// assert_eq!(directional_limited(&p, &[0], 1, &over).unwrap_err().stop(), Some(Stop::Time));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn directional_limited(
    p: &Program,
    wrt: &[usize],
    directions: usize,
    limits: &Limits,
) -> Result<Program, DiffError> {
    let inputs = p.inputs().len();
    if let Some(&index) = wrt.iter().find(|&&i| i >= inputs) {
        return Err(DiffError::NoSuchInput { index, inputs });
    }
    let along = wrt.iter().map(|&i| (i, Kind::Tangent)).collect();
    let mut ended = derive(p, along, directions, (false, limits))?;
    let mut outputs = ended.outputs.clone();
    for (i, &value) in ended.outputs.iter().enumerate() {
        let found = ended.companions.iter().find(|c| (c.0, c.1) == (i, Kind::Tangent));
        outputs.push(match found {
            Some(c) => c.2,
            None => at_rest(&mut ended.b, directions, value, Kind::Tangent)?,
        });
    }
    Ok(ended.b.finish(&outputs)?)
}

/// The program in which a direction decides every tie: the inputs are those of `p` and one direction for each, with a leading axis of 1; the
/// outputs are those of `p`, by the branches that a little step along the direction takes.
///
/// Its values are those of `p` wherever `p` is continuous. Its gradient is that of `p` a little further along the direction, as far as first
/// order can tell: for almost every direction it is a limit of gradients, a Clarke subgradient, if `p` is continuous near the point and the
/// numbers that tied comparisons compare have different tangents along almost every direction. What [`directional`] says of ties holds
/// here, too.
///
/// ```
/// use crease_core::{differentiate::{backprop, locked, How}, relu, run, trace, Tensor};
/// // the identity, of which the chain rule says 0 at 0
/// let p = trace(1, |x| relu(x[0]) - relu(-x[0]))?;
/// let l = backprop(&locked(&p)?, &How::default())?;
/// let out = run(&l, &[Tensor::scalar(0.0), Tensor::vector(vec![0.7]).unwrap()])?;
/// assert_eq!((out[0].data(), out[1].data()), (&[0.0][..], &[1.0][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn locked(p: &Program) -> Result<Program, DiffError> {
    let along = (0..p.inputs().len()).map(|i| (i, Kind::Tangent)).collect();
    let ended = derive(p, along, 1, (true, &Limits::default()))?;
    Ok(ended.b.finish(&ended.outputs)?)
}

/// What goes along with a value, each with a leading axis of directions. A selection may return a number in one branch and a truth
/// value in another: then there are both.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Companion {
    /// The tangents of a number; without them it does not move.
    pub tangent: Option<Dual>,
    /// What a truth value becomes a little further along each direction; without them it stays what it is.
    pub truth: Option<Atom>,
}

/// One of the two that a [`Companion`] may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Tangent,
    Truth,
}

impl Companion {
    pub fn moving(tangent: Option<Dual>) -> Self {
        Companion { tangent, truth: None }
    }

    pub fn turning(truth: Atom) -> Self {
        Companion { tangent: None, truth: Some(truth) }
    }

    fn is_none(self) -> bool {
        self.tangent.is_none() && self.truth.is_none()
    }

    fn has(self, kind: Kind) -> bool {
        match kind {
            Kind::Tangent => self.tangent.is_some(),
            Kind::Truth => self.truth.is_some(),
        }
    }

    fn set(&mut self, kind: Kind, atom: Atom) {
        match kind {
            Kind::Tangent => self.tangent = Some(Dual::positive(atom)),
            Kind::Truth => self.truth = Some(atom),
        }
    }
}

const KINDS: [Kind; 2] = [Kind::Tangent, Kind::Truth];

/// The results of an equation, and what goes along with each.
pub(super) type Swept = (Vec<Atom>, Vec<Companion>);

/// A program, which of its inputs have companions, and how many directions there are.
type Key = (ProgramId, Vec<(usize, Kind)>, usize);

/// Which output has which companion.
type Kinds = Vec<(usize, Kind)>;

/// A derived branch: after the inputs come the companions that inputs have, after the outputs those that outputs have.
struct Branch {
    program: Program,
    outputs: usize,
    kinds: Kinds,
}

/// A derived program before it is known what it returns.
struct Ended {
    b: Builder,
    outputs: Vec<Atom>,
    companions: Vec<(usize, Kind, Atom)>,
}

impl Ended {
    fn branch(self) -> Result<Branch, BuildError> {
        let kinds = self.companions.iter().map(|&(i, kind, _)| (i, kind)).collect();
        let all: Vec<Atom> = self.outputs.iter().copied().chain(self.companions.iter().map(|c| c.2)).collect();
        Ok(Branch { outputs: self.outputs.len(), program: self.b.finish(&all)?, kinds })
    }
}

/// Derives a program, and before each selection its branches: depth is a matter of a list.
fn derive(
    p: &Program,
    along: Vec<(usize, Kind)>,
    s: usize,
    (locked, limits): (bool, &Limits),
) -> Result<Ended, DiffError> {
    // each turn decides its ties by its own tangents
    let p = match has_loops(p) {
        true => inline_limited(&unroll_limited(p, limits)?, limits)?,
        false => inline_limited(p, limits)?,
    };
    let mut done: HashMap<Key, Branch> = HashMap::new();
    let mut frame = Frame::new(&p, along, s, (locked, limits))?;
    let mut callers: Vec<Frame> = Vec::new();
    loop {
        match frame.advance(&done)? {
            Some(branch) => callers.push(std::mem::replace(&mut frame, branch)),
            None => match callers.pop() {
                None => return frame.end(),
                Some(caller) => {
                    let finished = std::mem::replace(&mut frame, caller);
                    done.insert(finished.key.clone(), finished.end()?.branch()?);
                }
            },
        }
    }
}

/// The companion of a value that has none: what has no tangent does not move, and what has no other truth stays as it is.
fn at_rest(b: &mut Builder, s: usize, value: Atom, kind: Kind) -> Result<Atom, BuildError> {
    let shape = b.shape(value).with_leading(s)?;
    match kind {
        Kind::Tangent => b.zeros(shape),
        Kind::Truth => b.broadcast(value, &shape),
    }
}

/// A program in the middle of its sweep.
struct Frame {
    key: Key,
    program: Arc<Program>,
    needed: Vec<bool>,
    sweep: Sweep,
    values: Vec<Atom>,
    companions: Vec<Companion>,
    next: usize,
    limits: Limits,
}

impl Frame {
    fn new(
        p: &Program,
        along: Vec<(usize, Kind)>,
        s: usize,
        (locked, limits): (bool, &Limits),
    ) -> Result<Frame, DiffError> {
        let key = (p.id(), along, s);
        let program = lanes_along_axis(p)?;
        let needed = needed(&program, &vec![true; program.values()]);
        let tangents = program.equations().zip(&needed).filter(|(_, needed)| **needed).flat_map(|(e, _)| e.results());
        let shapes = program.inputs().iter().map(|i| &i.shape).chain(tangents.map(|v| program.shape(v)));
        columns::check(&program, s, shapes)?;
        columns::check_tables(&program, s, &needed)?;
        let mut b =
            Builder::new(format!("{}_{}", if locked { "locked" } else { "directional" }, p.name())).within(limits);
        let values = b.inputs_of(&program)?;
        let mut companions = vec![Companion::default(); values.len()];
        let prefixes = [fresh(&program, "d"), fresh(&program, "t")];
        for &(i, kind) in &key.1 {
            let input = &program.inputs()[i];
            let shape = input.shape.with_leading(s).map_err(BuildError::from)?;
            let prefix = &prefixes[usize::from(kind == Kind::Truth)];
            let atom = b.input(format!("{prefix}{}", input.name), shape)?;
            companions[i].set(kind, atom);
        }
        let sweep = Sweep { b, s, locked };
        let limits = limits.clone();
        Ok(Frame { key, program: Arc::new(program), needed, sweep, values, companions, next: 0, limits })
    }

    /// Goes on to the end, or to a selection among whose branches one has yet to be derived.
    fn advance(&mut self, done: &HashMap<Key, Branch>) -> Result<Option<Frame>, DiffError> {
        let p = self.program.clone();
        while self.next < p.len() {
            let e = p.equation(self.next);
            let incoming: Vec<Companion> =
                e.args.iter().map(|a| a.value().map(|v| self.companions[v.index()]).unwrap_or_default()).collect();
            let moves = self.needed[self.next] && !incoming.iter().all(|c| c.is_none());
            let args = self.sweep.b.translate_all(&p, &self.values, e.args);
            self.sweep.b.set_origin(e.origin());
            let (results, outgoing) = match e.op {
                op if !moves => self.sweep.at_rest(&p, op, &args)?,
                Op::Select(ids) => {
                    let selection = Selecting::new(&self.sweep, ids, &args, &incoming);
                    let key =
                        |id: &CalleeId| -> Key { (p.callee(*id).program.id(), selection.along.clone(), selection.s) };
                    if let Some(id) = ids.iter().find(|id| !done.contains_key(&key(id))) {
                        let branch = &p.callee(*id).program;
                        let how = (self.sweep.locked, &self.limits);
                        return Frame::new(branch, selection.along, selection.s, how).map(Some);
                    }
                    let branches: Vec<&Branch> = ids.iter().map(|id| &done[&key(id)]).collect();
                    self.sweep.select(&p, e.op, &selection, &branches)?
                }
                op => self.sweep.equation(op, &args, &incoming, || Site::new(&p, self.next))?,
            };
            self.values.extend(results);
            self.companions.extend(outgoing);
            self.next += 1;
        }
        Ok(None)
    }

    fn end(mut self) -> Result<Ended, DiffError> {
        self.sweep.b.set_origin(None);
        let outputs = self.sweep.b.translate_all(&self.program, &self.values, self.program.outputs());
        let mut companions = Vec::new();
        for (i, &o) in self.program.outputs().iter().enumerate() {
            let c = o.value().map(|v| self.companions[v.index()]).unwrap_or_default();
            for (kind, atom) in self.sweep.settled(c, outputs[i])? {
                companions.push((i, kind, atom));
            }
        }
        Ok(Ended { b: self.sweep.b, outputs, companions })
    }
}

/// A selection, before its branches are known.
struct Selecting<'a> {
    conditions: Vec<(Atom, Companion)>,
    args: &'a [Atom],
    incoming: &'a [Companion],
    /// Which of the arguments have companions.
    along: Vec<(usize, Kind)>,
    /// For how many directions the branches are derived: for one if each direction picks its own branch.
    s: usize,
}

impl<'a> Selecting<'a> {
    fn new(sweep: &Sweep, ids: &[CalleeId], args: &'a [Atom], incoming: &'a [Companion]) -> Self {
        let (first, args) = args.split_at(ids.len() - 1);
        let (turns, incoming) = incoming.split_at(ids.len() - 1);
        // a condition that is a number has tangents at most, and stays
        let decided = turns.iter().all(|c| c.truth.is_none());
        let kinds = |(i, c): (usize, &Companion)| {
            let c = *c;
            KINDS.into_iter().filter(move |&kind| c.has(kind)).map(move |kind| (i, kind))
        };
        let along = incoming.iter().enumerate().flat_map(kinds).collect();
        let conditions = first.iter().copied().zip(turns.iter().copied()).collect();
        Selecting { conditions, args, incoming, along, s: if decided { sweep.s } else { 1 } }
    }
}

/// What emits equations, with values and companions going side by side.
pub(super) struct Sweep {
    pub b: Builder,
    /// How many directions there are.
    pub s: usize,
    /// Values go by the branches that the one direction takes.
    pub locked: bool,
}

impl Sweep {
    /// The shape of a companion.
    pub fn lead(&self, shape: &Shape) -> Result<Shape, DiffError> {
        Ok(shape.with_leading(self.s).map_err(BuildError::from)?)
    }

    /// A value repeated for all directions.
    pub fn spread(&mut self, a: Atom) -> Result<Atom, DiffError> {
        if a.value().is_none() {
            return Ok(a);
        }
        let shape = self.lead(&self.b.shape(a))?;
        Ok(self.b.broadcast(a, &shape)?)
    }

    /// A tangent of a value of that shape as an atom.
    pub fn settle(&mut self, t: Dual, shape: &Shape) -> Result<Atom, DiffError> {
        Ok(Calculus { b: &mut self.b, lead: Some(self.s) }.settle(t, shape)?)
    }

    /// The companions of a value as atoms.
    fn settled(&mut self, c: Companion, value: Atom) -> Result<Vec<(Kind, Atom)>, DiffError> {
        let mut out = Vec::new();
        if let Some(t) = c.tangent {
            out.push((Kind::Tangent, self.settle(t, &self.b.shape(value))?));
        }
        out.extend(c.truth.map(|t| (Kind::Truth, t)));
        Ok(out)
    }

    /// An equation whose results have no companions.
    fn at_rest(&mut self, p: &Program, op: &Op, args: &[Atom]) -> Result<Swept, DiffError> {
        let results = self.b.push_from(p, op, args)?;
        let none = vec![Companion::default(); results.len()];
        Ok((results, none))
    }

    fn equation(
        &mut self,
        op: &Op,
        args: &[Atom],
        incoming: &[Companion],
        site: impl Fn() -> Site,
    ) -> Result<Swept, DiffError> {
        let tangents: Vec<Option<Dual>> = incoming.iter().map(|c| c.tangent).collect();
        let mut turning = None;
        match op {
            Op::Compare(how) => return self.compare(*how, args, &tangents),
            Op::Logic(_) => return self.logic(op, args, incoming),
            Op::Where => return self.choice(args, incoming),
            // constant between jumps
            Op::Stair(_) | Op::Position(..) => {
                let results = self.b.push(op.clone(), args)?;
                let none = vec![Companion::default(); results.len()];
                return Ok((results, none));
            }
            Op::View { layout, shape } => {
                if let Some(truth) = incoming[0].truth {
                    let layout = layout.batched(self.s, self.b.shape(args[0]).len());
                    let to = self.lead(shape)?;
                    turning = Some(self.b.view(truth, layout, to)?);
                }
            }
            // no truth value goes through these
            Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Neg | Op::Smooth(_) => {}
            Op::LogSumExp(_) | Op::LogSumExpJoint(_) | Op::Kink(_) | Op::Joint(..) => {}
            Op::Permute { .. } | Op::Gather { .. } | Op::Constant(_) | Op::Assemble { .. } | Op::MatMul { .. } => {}
            calling!() => {}
        }
        if tangents.iter().all(Option::is_none) {
            // truth values as numbers, which do not move
            let results = self.b.push(op.clone(), args)?;
            let mut companions = vec![Companion::default(); results.len()];
            companions[0].truth = turning;
            return Ok((results, companions));
        }
        let absent = || Err(DiffError::NoDirectional { site: Box::new(site()) });
        match op {
            Op::Kink(kink) => self.kink(kink, args, &tangents),
            Op::Joint(..) | Op::Permute { .. } | calling!() => absent(),
            // by the table of rules
            elementwise!()
            | shaped!()
            | Op::LogSumExp(_)
            | Op::LogSumExpJoint(_)
            | Op::Gather { .. }
            | Op::Position(..) => {
                let (results, maps) = linearize(&mut self.b, &Selection::default(), Direction::Forward, op, args)?;
                let shapes: Vec<Shape> = results.iter().map(|&r| self.b.shape(r)).collect();
                let mut c = Calculus { b: &mut self.b, lead: Some(self.s) };
                let outgoing = carried(&mut c, &maps, &tangents, &shapes)?;
                let mut companions: Vec<Companion> = outgoing.into_iter().map(Companion::moving).collect();
                companions[0].truth = turning;
                Ok((results, companions))
            }
        }
    }

    /// A selection: its values by the branch that is taken at the point, or where the direction leads if that decides; its companions by
    /// the branch that each direction picks.
    fn select(&mut self, p: &Program, op: &Op, of: &Selecting<'_>, branches: &[&Branch]) -> Result<Swept, DiffError> {
        let outputs = branches[0].outputs;
        // what one branch has, all return
        let all = (0..outputs).flat_map(|i| KINDS.map(|kind| (i, kind)));
        let wanted: Kinds = all.filter(|k| branches.iter().any(|q| q.kinds.contains(k))).collect();
        let mut values = Vec::new();
        if !self.locked {
            let conditions = of.conditions.iter().map(|c| c.0);
            let args: Vec<Atom> = conditions.chain(of.args.iter().copied()).collect();
            values = self.b.push_from(p, op, &args)?;
        }
        let mut settled = Vec::with_capacity(of.along.len());
        for (&c, &a) in of.incoming.iter().zip(of.args) {
            for (_, c) in self.settled(c, a)? {
                settled.push((c, self.b.shape(a)));
            }
        }
        let derived = if wanted.is_empty() { Vec::new() } else { self.enter(branches, &wanted, of.s, false)? };
        let mut turns: Vec<Vec<Atom>> = Vec::new();
        for j in 0..self.s / of.s {
            let mut args = Vec::with_capacity(of.conditions.len() + of.args.len() + settled.len());
            for &(c, turn) in &of.conditions {
                args.push(match turn.truth {
                    Some(turn) => self.b.view(turn, Layout::strided(j, &[]), Shape::scalar())?,
                    None => c,
                });
            }
            args.extend_from_slice(of.args);
            for (c, shape) in &settled {
                let n = of.s * shape.len();
                let shape = shape.with_leading(of.s).map_err(BuildError::from)?;
                args.push(self.b.view(*c, Layout::strided(j * n, &[(n, 1)]), shape)?);
            }
            if self.locked {
                // apart from the companions, through which no derivative has to go
                let ids = self.enter(branches, &wanted, of.s, true)?;
                values = self.b.push(Op::Select(ids.into()), &args)?;
            }
            if !wanted.is_empty() {
                turns.push(self.b.push(Op::Select(derived.clone().into()), &args)?);
            }
        }
        let mut companions = vec![Companion::default(); outputs];
        for (found, (i, kind)) in wanted.into_iter().enumerate() {
            let parts: Vec<Atom> = turns.iter().map(|t| t[found]).collect();
            let atom = self.joined(&parts, values[i], kind)?;
            companions[i].set(kind, atom);
        }
        Ok((values, companions))
    }

    /// Derived branches as callees that all return the same: values, or companions.
    fn enter(
        &mut self,
        branches: &[&Branch],
        wanted: &[(usize, Kind)],
        s: usize,
        values: bool,
    ) -> Result<Vec<CalleeId>, DiffError> {
        let mut ids = Vec::with_capacity(branches.len());
        for branch in branches {
            let mut b = Builder::new(branch.program.name());
            let inputs = b.inputs_of(&branch.program)?;
            let all = b.splice(&branch.program, &inputs)?;
            let (outputs, companions) = all.split_at(branch.outputs);
            let mut returned = Vec::new();
            if values {
                returned.extend_from_slice(outputs);
            } else {
                for want in wanted {
                    returned.push(match branch.kinds.iter().position(|k| k == want) {
                        Some(k) => companions[k],
                        None => at_rest(&mut b, s, outputs[want.0], want.1)?,
                    });
                }
            }
            ids.push(self.b.callee(Arc::new(b.finish(&returned)?), None)?);
        }
        Ok(ids)
    }

    /// The companions of a value for all directions from those for each.
    fn joined(&mut self, parts: &[Atom], value: Atom, kind: Kind) -> Result<Atom, DiffError> {
        if let [one] = parts {
            return Ok(*one);
        }
        let shape = self.b.shape(value);
        let n = shape.len();
        let pieces = parts.iter().enumerate().map(|(j, &t)| (t, Layout::strided(j * n, &[(n, 1)]))).collect();
        let to = self.lead(&shape)?;
        let all = self.b.assemble(to, pieces)?;
        match kind {
            Kind::Tangent => Ok(all),
            Kind::Truth => {
                // what was put together is a number, until it is compared
                let one = self.b.constant(1);
                Ok(self.b.compare(Comparison::Equal, all, one)?)
            }
        }
    }
}
