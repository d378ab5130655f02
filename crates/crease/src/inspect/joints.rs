//! Joint programs of the user's, compared with the derivatives that they stand for.
//!
//! A callee may come with a joint program, the paper's own gd_i: value and derivative, as its author knows them. Differentiation takes it at its word. Here
//! the derivative at the point is computed once more, through the callee itself, and the two are compared: exactly, or by their bounds.

use super::numbers::{Answer, Computed, Numbers, Task};
use super::{Ask, Coordinates, InspectError, derive};
use crease_core::differentiate::{How, Technique};
use crease_core::{Program, Rational, Tensor};

/// What is known of the joint programs that took part in a derivative.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joints {
    /// The callees that they belong to.
    pub names: Vec<String>,
    /// What comparing with the derivative through the callees showed.
    pub verdict: JointVerdict,
}

/// What comparing joint programs with derivatives showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JointVerdict {
    /// At this point they give the same numbers, exactly.
    Verified,
    /// At this point they give other numbers, although no kink was met.
    Wrong,
    /// Neither could be decided: they are taken on trust.
    Trusted,
}

impl JointVerdict {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            JointVerdict::Verified => "verified",
            JointVerdict::Wrong => "wrong",
            JointVerdict::Trusted => "trusted",
        }
    }
}

/// The callees whose derivative is taken from a joint program that their author wrote.
pub(super) fn joint_callees(p: &Program, how: &How) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for q in p.library().iter().map(|q| &**q).chain([p]) {
        for c in q.callees().iter().filter(|c| c.joint.is_some()) {
            let used = matches!(how.technique_of(c.program.name()), Technique::Auto | Technique::Joint);
            if used && !names.iter().any(|n| n == c.program.name()) {
                names.push(c.program.name().into());
            }
        }
    }
    names
}

impl Joints {
    /// Compares a derivative with the one through the callees; nothing if no joint program took part.
    pub(super) fn of(
        p: &Program,
        point: &[Tensor<Rational>],
        ask: &Ask<'_>,
        done: &Computed,
    ) -> Result<Option<Joints>, InspectError> {
        let names = joint_callees(p, &ask.how);
        if names.is_empty() {
            return Ok(None);
        }
        let through = |how: How, name: &String| how.callee(name, Technique::Through);
        let ask = Ask { how: names.iter().fold(ask.how.clone(), through), output: None, ..ask.clone() };
        let numbers = if ask.numbers == Numbers::Float { Numbers::Auto } else { ask.numbers };
        let own = derive(p, &ask).and_then(|(p, derived)| {
            Task { program: &derived, watched: Some(&p) }.compute(&point.inputs(&p)?, numbers, &ask.limits)
        });
        let verdict = match own {
            Ok(own) => compare(done, &own),
            // where the callee itself has no derivative that could be computed, there is nothing to compare with
            Err(_) => JointVerdict::Trusted,
        };
        Ok(Some(Joints { names, verdict }))
    }
}

fn compare(done: &Computed, own: &Computed) -> JointVerdict {
    let pairs = || done.outputs.iter().zip(&own.outputs);
    let same = pairs().all(|(a, b)| a.exact.is_some() && a.exact == b.exact);
    let smooth = |c: &Computed| c.met.is_empty() && c.decided;
    match () {
        () if same && own.certain => JointVerdict::Verified,
        // at a kink both may be elements of the same set
        () if smooth(done) && smooth(own) && pairs().any(|(a, b)| apart(a, b)) => JointVerdict::Wrong,
        () => JointVerdict::Trusted,
    }
}

/// Whether two results certainly differ.
fn apart(a: &Answer, b: &Answer) -> bool {
    let elements = a.enclosed().zip(b.enclosed());
    elements.is_some_and(|(a, b)| a.iter().zip(&b).any(|((x, r), (y, s))| (x - y).abs() > r + s))
}
