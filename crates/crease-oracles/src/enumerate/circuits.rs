//! Contradictions that were proved before.
//!
//! A signed circuit is a set of signed forms of which a positive combination is zero: they cannot all be positive, and neither can
//! all their negatives. A linear program without a solution gives one, with exact multipliers; after that the same contradiction
//! is seen without a linear program.

use crate::cone::{FormId, Half, Signed};

/// How many signed forms all circuits together may hold; what is learnt beyond that is forgotten.
const MOST: usize = 4_000_000;

/// The signs that the forms have on the cone of a node.
#[derive(Clone, Debug, Default)]
pub(super) struct Signs(Vec<i8>);

impl Signs {
    /// 1 or -1, or 0 for a form that has both signs or whose sign is not known.
    pub fn of(&self, form: FormId) -> i8 {
        self.0.get(form.index()).copied().unwrap_or(0)
    }

    pub fn set(&mut self, half: Half) {
        if self.0.len() <= half.form.index() {
            self.0.resize(half.form.index() + 1, 0);
        }
        self.0[half.form.index()] = if half.negative { -1 } else { 1 };
    }

    pub fn unset(&mut self, half: Half) {
        self.0[half.form.index()] = 0;
    }
}

/// The circuits, each under the form that was asked about when it was found.
#[derive(Clone, Debug, Default)]
pub(super) struct Circuits {
    under: Vec<Vec<Circuit>>,
    size: usize,
    pub count: u64,
}

#[derive(Clone, Debug)]
struct Circuit {
    /// The sign of the form under which it is kept.
    sign: i8,
    others: Box<[(FormId, i8)]>,
}

fn sign(negative: bool) -> i8 {
    if negative { -1 } else { 1 }
}

impl Circuits {
    /// Keeps a circuit under one of its forms.
    pub fn learn(&mut self, under: FormId, circuit: impl Iterator<Item = Signed>) {
        let (own, others): (Vec<Signed>, Vec<Signed>) = circuit.partition(|s| s.form == under);
        let [own] = own[..] else { return };
        if self.size + others.len() + 1 > MOST {
            return;
        }
        self.size += others.len() + 1;
        self.count += 1;
        if self.under.len() <= under.index() {
            self.under.resize(under.index() + 1, Vec::new());
        }
        let others = others.iter().map(|s| (s.form, sign(s.negative))).collect();
        self.under[under.index()].push(Circuit { sign: sign(own.negative), others });
    }

    /// Whether a known circuit says that the form cannot have this sign where the others have theirs.
    pub fn refute(&mut self, asked: Half, signs: &Signs) -> bool {
        let Some(list) = self.under.get_mut(asked.form.index()) else { return false };
        let want = sign(asked.negative);
        // the negative of a circuit is one, too
        let hit = |c: &Circuit| c.others.iter().all(|&(form, s)| signs.of(form) * c.sign == s * want);
        let Some(i) = list.iter().position(hit) else { return false };
        // what was of use will be of use again
        list.swap(i, i / 2);
        true
    }
}
