//! Comparisons and selections: the branch that is taken near the point, or, where two meet, both of them joined at a kink.
//!
//! Two branches may meet where a comparison is tied. They are joined if their values agree at the point and if, to first order,
//! they agree along the border: then their difference is a multiple of the difference that is compared, and the selection is a
//! linear function plus a multiple of a maximum. Everything else is refused, with the reason.

use super::jumps::Spoiled;
use super::localize::{Local, LocalError, Localizer, Origins};
use super::weigh::Tie;
use super::{Node, NodeId};
use crate::flow::curvature::Class;
use crate::limits::work_of_bits;
use crate::number::{Mixed, Number, Rational};
use crate::op::{Comparison, Logic, Op};
use crate::program::{Atom, Equation, Program};
use crate::run::RunFault;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

/// How deep selections may be nested in branches of selections. No budget but what the stack has room for, since each is worked on inside of the one around it: to set it
/// higher would not go further but end the process, so it is no limit of [`Limits`](crate::limits::Limits).
const MAX_NESTED_SELECTIONS: usize = 200;

/// A truth value near the point.
#[derive(Clone, Debug)]
pub(super) enum Truth {
    /// The same in a neighbourhood.
    Fixed(bool),
    /// It depends on the sign of a difference that is zero at the point: whether it holds where that is negative, zero, positive.
    Tied { switch: Switch, holds: [bool; 3] },
    /// It depends on several of them. What it is at the point.
    Complex(bool),
}

/// A difference of two values that is zero at the point.
#[derive(Clone, Debug)]
pub(super) struct Switch {
    /// The numbers of the two values: differences of the same values are the same, those with the same tangent need not be.
    values: (u32, u32),
    left: NodeId,
    right: NodeId,
    class: Class,
}

impl Truth {
    /// The truth value at the point itself.
    pub fn here(&self) -> bool {
        match self {
            Truth::Fixed(b) | Truth::Complex(b) => *b,
            Truth::Tied { holds, .. } => holds[1],
        }
    }

    /// What depends on one difference; if it is the same everywhere, it depends on nothing.
    fn tied(switch: Switch, holds: [bool; 3]) -> Truth {
        if holds == [holds[0]; 3] { Truth::Fixed(holds[0]) } else { Truth::Tied { switch, holds } }
    }
}

impl Localizer<'_> {
    /// Refuses a truth value that changes at the point where it is used as a number.
    pub(super) fn check_truth(&self, truth: &Truth) -> Result<(), LocalError> {
        match truth {
            Truth::Fixed(_) => Ok(()),
            _ => Err(self.no_derivative("a comparison that is tied here is used as a number, which jumps")),
        }
    }

    /// A truth value: one by its making, or a number that is 0 or 1 and stays so.
    pub(super) fn condition(&self, a: Atom, x: &Local, truths: &HashMap<Atom, Truth>) -> Result<Truth, LocalError> {
        if let Some(truth) = truths.get(&a) {
            return Ok(truth.clone());
        }
        let holds = match x.value.exact() {
            Some(r) if r.is_zero() => false,
            Some(r) if r.is_one() => true,
            Some(_) => return Err(self.run_error(RunFault::NotATruth(x.value.to_string()))),
            None => {
                let known = [Mixed::zero(), Mixed::one()].iter().any(|t| x.value.compare(t).is_none());
                return Err(match known {
                    true => self.undecided(format!("whether the condition {} is 0 or 1", x.value)),
                    false => self.run_error(RunFault::NotATruth(x.value.to_string())),
                });
            }
        };
        match x.class {
            Class::Constant => Ok(Truth::Fixed(holds)),
            _ => {
                Err(self
                    .no_derivative("a condition is a number that changes with the inputs; compare it with something"))
            }
        }
    }

    /// The truth value of a comparison or of a Boolean operation.
    pub(super) fn truth(
        &mut self,
        e: &Equation<'_>,
        args: &[&Local],
        known: &HashMap<Atom, Truth>,
    ) -> Result<Truth, LocalError> {
        let part = |m: &Self, i: usize| m.condition(e.args[i], args[i], known);
        match e.op {
            Op::Compare(how) => {
                self.operation = "select";
                let (a, b) = (args[0], args[1]);
                Ok(match self.order(a, b)? {
                    Ordering::Equal if a.number == b.number => Truth::Fixed(how.holds(Ordering::Equal)),
                    Ordering::Equal if a.class.max(b.class) == Class::Constant => {
                        Truth::Fixed(how.holds(Ordering::Equal))
                    }
                    Ordering::Equal => {
                        // one order for both ways to write a comparison
                        let (a, b, how) = if a.number < b.number { (a, b, *how) } else { (b, a, mirrored(*how)) };
                        let switch = Switch {
                            values: (a.number, b.number),
                            left: a.node,
                            right: b.node,
                            class: a.class.max(b.class),
                        };
                        Truth::tied(switch, signs(how))
                    }
                    order => {
                        self.margin(&a.value, &b.value);
                        Truth::Fixed(how.holds(order))
                    }
                })
            }
            Op::Logic(Logic::Not) => Ok(match part(self, 0)? {
                Truth::Fixed(b) => Truth::Fixed(!b),
                Truth::Tied { switch, holds } => Truth::tied(switch, holds.map(|h| !h)),
                Truth::Complex(here) => Truth::Complex(!here),
            }),
            Op::Logic(how) => {
                // the value that settles the result whatever the other one is
                let settles = *how == Logic::Or;
                let both = |a: bool, b: bool| if settles { a || b } else { a && b };
                Ok(match (part(self, 0)?, part(self, 1)?) {
                    (Truth::Fixed(b), _) | (_, Truth::Fixed(b)) if b == settles => Truth::Fixed(settles),
                    (Truth::Fixed(_), other) | (other, Truth::Fixed(_)) => other,
                    (Truth::Tied { switch, holds }, Truth::Tied { switch: second, holds: other })
                        if switch.values == second.values =>
                    {
                        Truth::tied(switch, [0, 1, 2].map(|s| both(holds[s], other[s])))
                    }
                    (a, b) => Truth::Complex(both(a.here(), b.here())),
                })
            }
            _ => Err(self.no_derivative("it is no truth value")),
        }
    }

    /// A selection function.
    pub(super) fn select(
        &mut self,
        q: &Program,
        e: &Equation<'_>,
        conditions: &[Truth],
        args: &[Local],
        depth: usize,
    ) -> Result<Vec<Local>, LocalError> {
        let Op::Select(ids) = e.op else { return Err(self.no_derivative("it is no selection")) };
        if depth >= MAX_NESTED_SELECTIONS {
            return Err(self.no_derivative(format!("more than {MAX_NESTED_SELECTIONS} selections are nested")));
        }
        let mut meeting: Vec<(usize, Switch, [bool; 3])> = Vec::new();
        let mut last = ids.len() - 1;
        for (i, truth) in conditions.iter().enumerate() {
            match truth {
                Truth::Fixed(false) => {}
                Truth::Fixed(true) => {
                    last = i;
                    break;
                }
                Truth::Complex(_) => {
                    return Err(self.no_derivative("several comparisons of one condition are tied"));
                }
                Truth::Tied { switch, holds } => meeting.push((i, switch.clone(), *holds)),
            }
        }
        // of those that meet, the one that runs at the point itself
        let runs = conditions[..last].iter().position(Truth::here).unwrap_or(last);
        let numbers: Vec<u32> = args.iter().map(|x| x.number).collect();
        let branch = |m: &mut Self, i: usize| -> Result<Vec<Local>, LocalError> {
            let program = &q.callee(ids[i]).program;
            let key = (program.id(), numbers.clone());
            if let Some(known) = m.branches.get(&key) {
                return Ok(known.clone());
            }
            let results = m.program(program, args.to_vec(), Origins::Fixed, depth + 1).map_err(|e| match e {
                LocalError::Run(e) if i != runs && e.stop().is_none() => {
                    m.no_derivative(format!("a branch that begins here has no value at the point itself: {}", e.fault))
                }
                e => e,
            })?;
            m.branches.insert(key, results.clone());
            Ok(results)
        };
        let mut results = branch(self, last)?;
        for (i, switch, holds) in meeting.into_iter().rev() {
            let inside = branch(self, i)?;
            self.operation = "select";
            let mut joined = Vec::new();
            for (a, b) in inside.into_iter().zip(results) {
                joined.push(self.join(&switch, holds, a, b)?);
            }
            results = joined;
        }
        Ok(results)
    }

    /// An elementwise choice between two values that are there already.
    pub(super) fn choose(&mut self, truth: &Truth, a: &Local, b: &Local) -> Result<Local, LocalError> {
        match truth {
            Truth::Fixed(true) => Ok(a.clone()),
            Truth::Fixed(false) => Ok(b.clone()),
            Truth::Complex(_) if a.number == b.number => Ok(a.clone()),
            Truth::Complex(_) => Err(self.no_derivative("several comparisons of one condition are tied")),
            Truth::Tied { switch, holds } => self.join(switch, *holds, a.clone(), b.clone()),
        }
    }

    /// Two branches that meet where a difference is zero: `inside` where the condition holds, `outside` elsewhere.
    fn join(&mut self, switch: &Switch, holds: [bool; 3], inside: Local, outside: Local) -> Result<Local, LocalError> {
        // one value whichever branch it comes from
        if inside.number == outside.number {
            return Ok(inside);
        }
        for (branch, runs) in [(&inside, holds[1]), (&outside, !holds[1])] {
            match &branch.spoiled {
                Some(Spoiled { error, has_value: false }) if !runs => {
                    let why = match &**error {
                        LocalError::Run(e) => {
                            format!("a branch that begins here has no value at the point itself: {}", e.fault)
                        }
                        _ => return Err((**error).clone()),
                    };
                    return Err(self.no_derivative(why));
                }
                Some(why) => return Err((*why.error).clone()),
                None => {}
            }
        }
        let discontinuous = |m: &Self, why: String| LocalError::Discontinuous { site: Box::new(m.site()), why };
        if self.compare(&inside.value, &outside.value)?.is_ne() {
            let why = format!("the branches that meet here have the values {} and {}", inside.value, outside.value);
            return Err(discontinuous(self, why));
        }
        let value = if holds[1] { inside.value.clone() } else { outside.value.clone() };
        let both = inside.class.max(outside.class);
        // what is equal at the point may differ beside it, unless the difference is piecewise affine
        let class = if both == Class::Constant { both } else { both.max(switch.class) };
        let one = Mixed::one();
        let difference = self.linear(&[(&one, inside.node), (&one.neg(), outside.node)])?;
        let slope = self.linear(&[(&one, switch.left), (&one.neg(), switch.right)])?;
        let Some(factor) = self.factor(difference, slope)? else {
            // what is piecewise affine and agrees to first order agrees
            let node = match class {
                Class::Curved => self.seam(outside.node, slope)?,
                _ => outside.node,
            };
            return Ok(self.fresh(value, node, class));
        };
        self.bent = class == Class::Curved;
        let node = match (holds[0], holds[2]) {
            // where the condition holds, the difference is factor * slope; elsewhere it is nothing
            (false, true) => {
                let up = self.max(&[slope, self.zero], |_| Tie::Branches { first: holds[1] })?;
                self.linear(&[(&one, outside.node), (&factor, up)])?
            }
            (true, false) => {
                let minus = self.negated(slope)?;
                let down = self.max(&[minus, self.zero], |_| Tie::Branches { first: holds[1] })?;
                self.linear(&[(&one, outside.node), (&factor.neg(), down)])?
            }
            // the other branch only runs where the difference is zero, as at the point itself
            (true, true) => self.taken(inside.node, outside.node, Tie::Branches { first: holds[1] })?,
            (false, false) => self.taken(outside.node, inside.node, Tie::Branches { first: !holds[1] })?,
        };
        Ok(self.fresh(value, node, class))
    }

    /// The number by which the slope of a switch is to be multiplied for the difference of two branches, to first order; nothing if
    /// there is no difference.
    fn factor(&self, difference: NodeId, slope: NodeId) -> Result<Option<Mixed>, LocalError> {
        if difference == self.zero {
            return Ok(None);
        }
        let flat = "its branches have different slopes, and the tied condition does not change to first order";
        let others = "whether the slopes of its branches agree along the border depends on other ties";
        if self.is_near(difference) || self.is_near(slope) {
            // in one coordinate, any two slopes are proportional
            let parts = self.coordinates(difference)?.zip(self.coordinates(slope)?);
            let (apart, along) = parts.ok_or_else(|| self.no_derivative(others))?;
            let zero = Mixed::zero();
            if apart.values().all(|c| *c == zero) {
                return Ok(None);
            }
            return match (&apart.into_iter().collect::<Vec<_>>()[..], &along.into_iter().collect::<Vec<_>>()[..]) {
                ([(i, a)], [(j, b)]) if i == j => match self.compare(b, &zero)? {
                    Ordering::Equal => Err(self.no_derivative(flat)),
                    _ => a.div(b).map(Some).map_err(|e| self.run_error(e.into())),
                },
                (_, []) => Err(self.no_derivative(flat)),
                _ => Err(self.undecided("whether the slopes of its branches agree along the border")),
            };
        }
        let (nothing, p) = (HashMap::new(), self.model.dimension());
        let mut left = self.limits.steps_of(usize::MAX);
        let mut form = |node| self.model.form_within(node, &nothing, &mut left).ok_or_else(|| self.was_stopped());
        let (apart, form) = (form(difference)?, form(slope)?);
        if apart.is_zero() {
            return Ok(None);
        }
        match apart.ratio(&form) {
            Some(factor) => Ok(Some(Mixed::exactly(factor))),
            None if form.is_zero() => Err(self.no_derivative(flat)),
            None if [&form, &apart].iter().any(|f| !f.split(p).1.is_empty()) => Err(self.no_derivative(others)),
            None => Err(LocalError::Discontinuous {
                site: Box::new(self.site()),
                why: "the slopes of the branches do not agree along the border".into(),
            }),
        }
    }

    /// What is known of the slopes of a node by the coordinates of the direction; nothing if it depends on kinks.
    fn coordinates(&self, node: NodeId) -> Result<Option<BTreeMap<usize, Mixed>>, LocalError> {
        let bits = self.model.precision().bits;
        let each = work_of_bits(bits as usize);
        let mut adjoints: BTreeMap<NodeId, Mixed> = BTreeMap::from([(node, Mixed::one().at(bits))]);
        let mut out = BTreeMap::new();
        while let Some((id, weight)) = adjoints.pop_last() {
            match self.model.node(id) {
                _ if weight.exact().is_some_and(Rational::is_zero) => {}
                Node::Direction(i) => {
                    out.insert(i, weight);
                }
                Node::Linear(terms) => {
                    self.charge(each * terms.len() as u64)?;
                    for t in terms {
                        let slot = adjoints.entry(t.node).or_insert_with(Mixed::zero);
                        *slot = slot.add(&weight.mul(&t.known(bits)));
                    }
                }
                Node::Seam { taken, .. } => {
                    let slot = adjoints.entry(taken).or_insert_with(Mixed::zero);
                    *slot = slot.add(&weight);
                }
                Node::Max(_) | Node::Norm(_) | Node::Taken(_) => return Ok(None),
            }
        }
        Ok(Some(out))
    }
}

/// The comparison of b with a that holds where that of a with b does.
fn mirrored(how: Comparison) -> Comparison {
    match how {
        Comparison::Less => Comparison::Greater,
        Comparison::LessEqual => Comparison::GreaterEqual,
        Comparison::Greater => Comparison::Less,
        Comparison::GreaterEqual => Comparison::LessEqual,
        Comparison::Equal | Comparison::NotEqual => how,
    }
}

/// Whether a comparison of a and b holds where a - b is negative, zero, positive.
fn signs(how: Comparison) -> [bool; 3] {
    [Ordering::Less, Ordering::Equal, Ordering::Greater].map(|order| how.holds(order))
}
