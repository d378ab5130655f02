//! What is tied, what of it matters, and the model of it.

use super::enclose::Enclosed;
use super::exact::Values;
use super::forms::{Forms, LinearForm, Variable};
use super::plan::{Plan, State, Step, Times};
use super::{Refusal, Subject};
use crate::builder::{BuildError, Builder};
use crate::flow::curvature::Class;
use crate::local::apart::Apart;
use crate::local::jumps::unspoiled;
use crate::local::localize::{Local, LocalError, Localizer, Precision};
use crate::local::{Decided, LocalModel, Margin, NodeId};
use crate::number::{Mixed, Number, Rational};
use crate::program::{Atom, Value};

/// What is tied.
pub(super) struct Ties {
    /// For each slot and number, whether it varies near the point.
    pub varies: Vec<Vec<bool>>,
    /// The ties that matter to what is returned, in order.
    pub cells: Vec<(usize, usize)>,
    /// For each slot with ties, their numbers plus 1.
    numbers: Vec<Vec<u32>>,
    margins: Vec<Margin>,
}

impl Ties {
    /// The number of the tie that a number is.
    pub fn number(&self, slot: usize, cell: usize) -> Option<usize> {
        (self.numbers[slot].get(cell).copied().unwrap_or(0) as usize).checked_sub(1)
    }
}

/// Which numbers vary, how far decided kinks are from switching, and which ties matter.
pub(super) fn ties(plan: &Plan, known: &Enclosed, subject: Subject<'_>) -> Ties {
    let mut varies: Vec<Vec<bool>> = plan.slots.iter().map(|s| vec![false; s.len]).collect();
    let mut margins = Vec::new();
    for slot in plan.order() {
        let of = &plan.slots[slot];
        let kink = plan.kink(slot);
        for cell in 0..of.len {
            varies[slot][cell] = match (&of.step, known.state(slot, cell)) {
                (Step::Input(_), _) => true,
                (Step::Hinge { arg, .. }, State::Tied(_)) => varies[*arg][cell],
                (_, State::Tied(members)) => members.iter().any(|&m| {
                    let (arg, from) = plan.member(slot, cell, m);
                    varies[arg][from]
                }),
                (_, state) => moved(plan, slot, cell, state, |arg, from| varies[arg][from]),
            };
            if let Some(kink) = &kink
                && let Some(margin) = margin(plan, known, &varies, slot, cell)
            {
                let equation = subject.origins[of.equation] as usize;
                margins.push(Margin { operation: kink.name(), equation, element: cell, margin });
            }
        }
    }
    let reached = reached(plan, known, &varies);
    let mut ties = Ties { varies, cells: Vec::new(), numbers: vec![Vec::new(); plan.slots.len()], margins };
    for slot in plan.kinks() {
        for (cell, &matters) in reached[slot].iter().enumerate() {
            if matters && matches!(known.state(slot, cell), State::Tied(_)) {
                ties.cells.push((slot, cell));
                ties.numbers[slot].resize(plan.slots[slot].len, 0);
                ties.numbers[slot][cell] = ties.cells.len() as u32;
            }
        }
    }
    ties
}

/// Whether something that a number is made of varies.
fn moved(plan: &Plan, slot: usize, cell: usize, state: &State, varies: impl Fn(usize, usize) -> bool) -> bool {
    let mut any = false;
    let weights = plan.weights(slot);
    plan.terms(slot, cell, state, |times, _, arg, from| {
        let counts = match times {
            Times::Weight(i) => weights[i] != 0.0,
            Times::Ratio => plan.ratio(slot).is_some_and(|r| !r.is_zero()),
            Times::One | Times::MinusOne => true,
        };
        any |= counts && varies(arg, from);
    });
    any
}

/// How far a decided kink is from switching; nothing if it is tied, or cannot switch.
fn margin(plan: &Plan, known: &Enclosed, varies: &[Vec<bool>], slot: usize, cell: usize) -> Option<f64> {
    let State::Taken(taken) = known.state(slot, cell) else { return None };
    if let Step::Hinge { arg, .. } = &plan.slots[slot].step
        && !varies[*arg][cell]
    {
        return None;
    }
    if let Some(&margin) = known.margins.get(&(slot, cell)) {
        return Some(margin);
    }
    let value = |m: u32| {
        let (arg, from) = plan.member(slot, cell, m);
        known.middle[arg][from]
    };
    match &plan.slots[slot].step {
        Step::Hinge { .. } => Some(value(0).abs()),
        Step::Lane { size, .. } => {
            let others = (0..*size as u32).filter(|m| m != taken);
            others.map(|m| (value(*taken) - value(m)).abs()).reduce(f64::min)
        }
        _ => None,
    }
}

/// Which numbers what is returned depends on, near the point.
fn reached(plan: &Plan, known: &Enclosed, varies: &[Vec<bool>]) -> Vec<Vec<bool>> {
    let mut reached: Vec<Vec<bool>> = vec![Vec::new(); plan.slots.len()];
    let mark = |reached: &mut [Vec<bool>], slot: usize, cell: usize| {
        if varies[slot][cell] {
            reached[slot].resize(plan.slots[slot].len, false);
            reached[slot][cell] = true;
        }
    };
    for &slot in plan.border.iter().chain(plan.outputs.iter().flatten()) {
        (0..plan.slots[slot].len).for_each(|cell| mark(&mut reached, slot, cell));
    }
    for slot in (0..plan.slots.len()).rev() {
        for cell in 0..reached[slot].len() {
            if !reached[slot][cell] {
                continue;
            }
            match known.state(slot, cell) {
                State::Tied(members) => {
                    for &member in members {
                        let (arg, from) = plan.member(slot, cell, member);
                        mark(&mut reached, arg, from);
                    }
                }
                state => plan.terms(slot, cell, state, |_, _, arg, from| mark(&mut reached, arg, from)),
            }
        }
    }
    reached
}

/// The model: ties by the rules for single kinks, then what is returned. What follows the border is worked on number by number; where enclosures cannot
/// tell a branch there, it is done again with twice the bits.
pub(super) fn model(
    plan: &Plan,
    ties: &Ties,
    forms: &Forms,
    values: &Values,
    effort: Decided,
    subject: Subject<'_>,
    precision: Precision,
) -> Result<LocalModel, Refusal> {
    let rest = rest(plan, subject).map_err(LocalError::from)?;
    let mut precision = precision;
    loop {
        let mut m = Localizer::new(subject.root, precision, subject.limits);
        m.model.margins = ties.margins.clone();
        m.model.decided = Some(effort);
        match (outputs(&mut m, plan, ties, forms, values, rest.as_ref(), subject), precision.doubled()) {
            (Err(LocalError::Undecided { .. }), Some(more)) => precision = more,
            (outputs, _) => return Ok(m.finish(outputs?)),
        }
    }
}

fn outputs(
    m: &mut Localizer<'_>,
    plan: &Plan,
    ties: &Ties,
    forms: &Forms,
    values: &Values,
    rest: Option<&Apart>,
    subject: Subject<'_>,
) -> Result<Vec<Local>, LocalError> {
    let mut nodes: Vec<NodeId> = Vec::with_capacity(ties.cells.len());
    for (&(slot, cell), members) in ties.cells.iter().zip(&forms.ties) {
        let of = &plan.slots[slot];
        (m.origin, m.element) = (subject.origins[of.equation] as usize, cell);
        let mut args = Vec::with_capacity(members.len());
        for form in members {
            let node = linear(m, form, &nodes)?;
            // they were found to be equal, so that the value of all of them may be called 0
            let class = if form.is_empty() { Class::Constant } else { Class::Affine };
            let zero = m.exactly(&Rational::ZERO);
            args.push(m.fresh(zero, node, class));
        }
        let Some(kink) = plan.kink(slot) else {
            return Err(m.no_derivative("a tie has no kink"));
        };
        let derived = m.kink(&kink, &args.iter().collect::<Vec<_>>(), &[Mixed::zero()])?;
        nodes.extend(derived.into_iter().map(|(node, _)| node));
    }
    let whole = |m: &mut Localizer<'_>, slot: usize, forms: &[LinearForm]| -> Result<Vec<Local>, LocalError> {
        let mut out = Vec::with_capacity(forms.len());
        for (cell, form) in forms.iter().enumerate() {
            let node = linear(m, form, &nodes)?;
            let value = m.exactly(&values.number(slot, cell));
            let class = if ties.varies[slot][cell] { Class::Affine } else { Class::Constant };
            out.push(m.fresh(value, node, class));
        }
        Ok(out)
    };
    let mut computed = Vec::new();
    if let Some(rest) = rest {
        let mut inputs = Vec::new();
        for (&slot, forms) in plan.border.iter().zip(&forms.border) {
            inputs.extend(whole(m, slot, forms)?);
        }
        let all = m.program(&rest.scalar, inputs, rest.origins(), 0)?;
        computed = unspoiled(all)?;
    }
    let (mut computed, mut swept) = (computed.into_iter(), forms.outputs.iter());
    let mut out = Vec::new();
    for (slot, o) in plan.outputs.iter().zip(subject.inlined.outputs()) {
        match slot {
            Some(slot) => out.extend(whole(m, *slot, swept.next().map_or(&[], |f| &f[..]))?),
            None => out.extend(computed.by_ref().take(subject.inlined.atom_shape(*o).len())),
        }
    }
    Ok(out)
}

fn linear(m: &mut Localizer<'_>, form: &LinearForm, ties: &[NodeId]) -> Result<NodeId, LocalError> {
    let terms: Vec<(Mixed, NodeId)> = form
        .iter()
        .map(|(variable, c)| match variable {
            Variable::Input(i) => (m.exactly(c), NodeId(*i as u32)),
            Variable::Tie(t) => (m.exactly(c), ties[*t]),
        })
        .collect();
    m.linear(&terms.iter().map(|(c, node)| (c, *node)).collect::<Vec<_>>())
}

/// What follows the border, number by number; nothing if nothing is left.
fn rest(plan: &Plan, subject: Subject<'_>) -> Result<Option<Apart>, BuildError> {
    let p = subject.inlined;
    let left = |v: usize| matches!(plan.slots[v].step, Step::Left);
    if plan.outputs.iter().all(Option::is_some) {
        return Ok(None);
    }
    let mut b = Builder::new(p.name());
    let mut map: Vec<Option<Atom>> = vec![None; p.values()];
    for &slot in &plan.border {
        map[slot] = Some(b.input(format!("border{slot}"), p.shape(Value(slot as u32)).clone())?);
    }
    let mut whole = Vec::new();
    for (i, e) in p.equations().enumerate() {
        if !left(e.first.index()) {
            continue;
        }
        let args: Option<Vec<Atom>> = e
            .args
            .iter()
            .map(|a| match a {
                Atom::Value(v) => map[v.index()],
                Atom::Const(c) => Some(b.constant(p.constant(*c).clone())),
            })
            .collect();
        // an equation that no output needs may lack an argument
        let Some(args) = args else { continue };
        b.set_origin(e.origin());
        let results = b.push_from(p, e.op, &args)?;
        whole.resize(b.so_far().len(), i as u32);
        e.results().zip(results).for_each(|(v, r)| map[v.index()] = Some(r));
    }
    b.set_origin(None);
    let outputs = p.outputs().iter().zip(&plan.outputs).filter(|(_, slot)| slot.is_none());
    let outputs: Vec<Atom> = outputs.filter_map(|(o, _)| map[o.value()?.index()]).collect();
    let origin = |e: u32| subject.origins[whole[e as usize] as usize];
    Ok(Some(Apart::new(&b.finish(&outputs)?, origin, subject.limits)?))
}
