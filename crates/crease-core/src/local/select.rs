//! Comparisons and selections: the branch that is taken near the point, or, where two meet, both of them joined at a kink.
//!
//! Two branches may meet where a comparison is tied. They are joined if their values agree at the point and if, to first order,
//! they agree along the border: then their difference is a multiple of the difference that is compared, and the selection is a
//! linear function plus a multiple of a maximum. Everything else is refused, with the reason.

use super::NodeId;
use super::localize::{LocalError, Localizer, Origins, Pair};
use super::weigh::Tie;
use crate::number::{Mixed, Number};
use crate::op::{Comparison, Logic, Op};
use crate::program::{Atom, Equation, Program};
use std::cmp::Ordering;
use std::collections::HashMap;

/// How deep selections may be nested in branches of selections.
const MAX_NESTED_SELECTIONS: usize = 200;

/// A truth value near the point.
#[derive(Clone, Debug)]
pub(super) enum Truth {
    /// The same in a neighbourhood.
    Fixed(bool),
    /// It depends on the sign of a difference that is zero at the point: whether it holds where that is negative, zero, positive.
    Tied { left: NodeId, right: NodeId, holds: [bool; 3] },
    /// It depends on several of them. What it is at the point.
    Complex(bool),
}

impl Truth {
    /// The truth value at the point itself.
    fn here(&self) -> bool {
        match self {
            Truth::Fixed(b) | Truth::Complex(b) => *b,
            Truth::Tied { holds, .. } => holds[1],
        }
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

    /// The same for all arguments of an equation that are used as numbers.
    pub(super) fn check_truths(&self, e: &Equation<'_>, truths: &HashMap<Atom, Truth>) -> Result<(), LocalError> {
        let numbers = match e.op {
            Op::Logic(_) => &[],
            Op::Select(ids) => &e.args[ids.len() - 1..],
            _ => e.args,
        };
        numbers.iter().filter_map(|a| truths.get(a)).try_for_each(|t| self.check_truth(t))
    }

    /// The condition of a selection: a truth value, or a number, which holds where it is not zero.
    pub(super) fn condition(&mut self, a: Atom, x: &Mixed, t: NodeId, truths: &HashMap<Atom, Truth>) -> Truth {
        if let Some(truth) = truths.get(&a) {
            return truth.clone();
        }
        self.operation = "select";
        match (self.order(x, &Mixed::zero()), a) {
            (Ordering::Equal, Atom::Const(_)) => Truth::Fixed(false),
            (Ordering::Equal, Atom::Value(_)) => {
                Truth::Tied { left: t, right: self.zero, holds: signs(Comparison::NotEqual) }
            }
            _ => {
                self.margin(x, &Mixed::zero());
                Truth::Fixed(true)
            }
        }
    }

    /// The truth value of a comparison or of a Boolean operation, and what it is at the point.
    pub(super) fn truth(
        &mut self,
        e: &Equation<'_>,
        args: &[&Mixed],
        t: &[NodeId],
        known: &HashMap<Atom, Truth>,
    ) -> (Truth, bool) {
        let part = |i: usize| match (known.get(&e.args[i]), e.args[i]) {
            (Some(truth), _) => truth.clone(),
            (None, Atom::Const(_)) => Truth::Fixed(*args[i] != Mixed::zero()),
            (None, Atom::Value(_)) => Truth::Complex(*args[i] != Mixed::zero()),
        };
        let truth = match e.op {
            Op::Compare(how) => {
                self.operation = "select";
                match self.order(args[0], args[1]) {
                    Ordering::Equal if e.args[0] == e.args[1] => Truth::Fixed(how.holds(Ordering::Equal)),
                    Ordering::Equal => Truth::Tied { left: t[0], right: t[1], holds: signs(*how) },
                    order => {
                        self.margin(args[0], args[1]);
                        Truth::Fixed(how.holds(order))
                    }
                }
            }
            Op::Logic(Logic::Not) => match part(0) {
                Truth::Fixed(b) => Truth::Fixed(!b),
                Truth::Tied { left, right, holds } => Truth::Tied { left, right, holds: holds.map(|h| !h) },
                Truth::Complex(here) => Truth::Complex(!here),
            },
            Op::Logic(how) => {
                // the value that settles the result whatever the other one is
                let settles = *how == Logic::Or;
                let both = |a: bool, b: bool| if settles { a || b } else { a && b };
                match (part(0), part(1)) {
                    (Truth::Fixed(b), _) | (_, Truth::Fixed(b)) if b == settles => Truth::Fixed(settles),
                    (Truth::Fixed(_), other) | (other, Truth::Fixed(_)) => other,
                    (
                        Truth::Tied { left, right, holds },
                        Truth::Tied { left: other_left, right: other_right, holds: other },
                    ) if (left, right) == (other_left, other_right) => {
                        let holds = [0, 1, 2].map(|s| both(holds[s], other[s]));
                        if holds == [holds[0]; 3] { Truth::Fixed(holds[0]) } else { Truth::Tied { left, right, holds } }
                    }
                    (a, b) => Truth::Complex(both(a.here(), b.here())),
                }
            }
            _ => Truth::Complex(false),
        };
        let here = truth.here();
        (truth, here)
    }

    /// A selection function.
    pub(super) fn select(
        &mut self,
        q: &Program,
        e: &Equation<'_>,
        conditions: &[Truth],
        args: &[Pair],
        depth: usize,
    ) -> Result<Vec<Pair>, LocalError> {
        let Op::Select(ids) = e.op else { return Ok(Vec::new()) };
        if depth >= MAX_NESTED_SELECTIONS {
            return Err(self.no_derivative(format!("more than {MAX_NESTED_SELECTIONS} selections are nested")));
        }
        let mut meeting: Vec<(usize, Truth)> = Vec::new();
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
                tied => meeting.push((i, tied.clone())),
            }
        }
        let branch = |m: &mut Self, i: usize| {
            let program = q.callee(ids[i]).program.clone();
            m.program(&program, args.to_vec(), Origins::Fixed, depth + 1)
        };
        let mut results = branch(self, last)?;
        for (i, truth) in meeting.into_iter().rev() {
            let inside = branch(self, i)?;
            self.operation = "select";
            let mut joined = Vec::new();
            for (a, b) in inside.into_iter().zip(results) {
                joined.push(self.join(&truth, a, b)?);
            }
            results = joined;
        }
        Ok(results)
    }

    /// Two branches that meet where a difference is zero: `inside` where the condition holds, `outside` elsewhere.
    fn join(&mut self, truth: &Truth, inside: Pair, outside: Pair) -> Result<Pair, LocalError> {
        let Truth::Tied { left, right, holds } = truth else { return Ok(outside) };
        let discontinuous = |m: &Self, why: String| LocalError::Discontinuous { site: Box::new(m.site()), why };
        match inside.0.compare(&outside.0) {
            Some(Ordering::Equal) => {}
            // enclosures that overlap: that they are equal cannot be refuted
            None => self.note_undecided(),
            Some(_) => {
                let why = format!("the branches that meet here have the values {} and {}", inside.0, outside.0);
                return Err(discontinuous(self, why));
            }
        }
        let value = if holds[1] { inside.0 } else { outside.0 };
        let one = Mixed::one();
        let nothing = HashMap::new();
        let difference = self.linear(&[(&one, inside.1), (&one.neg(), outside.1)]);
        let switch = self.linear(&[(&one, *left), (&one.neg(), *right)]);
        let apart = self.model.form(difference, &nothing);
        if apart.is_zero() {
            // rounded slopes that agree need not be equal
            self.model.lost |= self.is_near(inside.1) || self.is_near(outside.1);
            return Ok((value, outside.1));
        }
        if self.is_near(difference) || self.is_near(switch) {
            let why = "whether the slopes of its branches agree cannot be proved with rounded numbers";
            return Err(self.no_derivative(why));
        }
        let form = self.model.form(switch, &nothing);
        let factor = match apart.ratio(&form) {
            Some(factor) => Mixed::Exact(factor),
            None if form.is_zero() => {
                let why = "its branches have different slopes, and the tied condition does not change to first order";
                return Err(self.no_derivative(why));
            }
            None if !form.kinks.is_empty() || !apart.kinks.is_empty() => {
                let why = "whether the slopes of its branches agree along the border depends on other ties";
                return Err(self.no_derivative(why));
            }
            None => {
                return Err(discontinuous(self, "the slopes of the branches do not agree along the border".into()));
            }
        };
        // where the condition holds, the difference is factor * switch; elsewhere it is nothing
        let tie = |_| Tie::Branches { holds: holds[1] };
        let node = match (holds[0], holds[2]) {
            (false, true) => {
                let up = self.max(&[switch, self.zero], tie);
                self.linear(&[(&one, outside.1), (&factor, up)])
            }
            (true, false) => {
                let minus = self.negated(switch);
                let down = self.max(&[minus, self.zero], tie);
                self.linear(&[(&one, outside.1), (&factor.neg(), down)])
            }
            (true, true) => inside.1,
            (false, false) => outside.1,
        };
        Ok((value, node))
    }
}

/// Whether a comparison of a and b holds where a - b is negative, zero, positive.
fn signs(how: Comparison) -> [bool; 3] {
    [Ordering::Less, Ordering::Equal, Ordering::Greater].map(|order| how.holds(order))
}
