//! Signs as propositions: which atoms there are, and which clauses link them.
//!
//! A form f = r + c z with z = relu(w) is the maximum of r and r + c w if c > 0, and their minimum if c < 0. So f > 0 iff one
//! of them is positive, or both are: signs travel through max, min, relu and negation without any arithmetic, and a lattice program becomes the
//! formula that it spells. What enters is h, the output minus a candidate gradient; what leaves is a list of atoms, the splits that
//! link them, and the *leaves*: forms in the direction alone, which are half-spaces, and forms that are sums of relus, for which a split would
//! only multiply cases. For these the relus below get a *phase* each (is w >= 0), and the theory of `theory.rs` does the arithmetic.
//!
//! Only the implication from f down to its parts is stated, since only h > 0 or h < 0 is asked for.

use super::relus::Relus;
use crease_core::Limits;
use crease_core::limits::work_of;
use crease_core::local::Form;
use crease_core::number::Rational;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// What is true iff an atom is.
#[derive(Clone, Debug)]
pub(crate) enum Meaning {
    /// The form is positive.
    Positive(Form),
    /// The argument of the relu is not negative.
    Phase(u32),
}

/// The literal of a part, or that the part is zero, so that it is never positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Never,
    Literal(i32),
}

/// If the atom is true, then one of the parts is, or both are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Split {
    pub atom: i32,
    pub relu: u32,
    pub parts: [Part; 2],
    pub both: bool,
}

/// If the atom is true, then one of the parts is, because they add up to its form, all with these weights.
#[derive(Clone, Debug)]
pub(crate) struct Sum {
    pub atom: (i32, Rational),
    pub parts: Vec<(i32, Rational)>,
}

/// Atoms, numbered from 1 as in DIMACS, and what links them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Signs {
    pub atoms: Vec<Meaning>,
    pub splits: Vec<Split>,
    /// For h and for -h, if they are sums of parts that have no coordinate in common.
    pub sums: Vec<Sum>,
    /// The atoms of h > 0 and of h < 0.
    pub root: [i32; 2],
    /// For each atom, its split.
    split_of: Vec<Option<u32>>,
    /// For each relu, the atom of its phase, or 0.
    phases: Vec<i32>,
    numbers: HashMap<Form, i32>,
}

impl Signs {
    /// The atoms for the question whether h, which is not zero and has relus, can be positive or negative; no more are split than the limits
    /// say. Once they say stop, nothing more is split: what that leaves is of no use.
    pub fn new(relus: &Relus, h: &Form, limits: &Limits) -> Signs {
        let most = limits.oracles.atoms;
        let mut signs = Signs { phases: vec![0; relus.arguments.len()], ..Signs::default() };
        let mut queue: VecDeque<i32> = VecDeque::new();
        signs.root = [h.clone(), h.negated()].map(|f| signs.literal(&f, relus, &mut queue));
        let parts = components(relus, h);
        if parts.len() > 1 {
            // what h needs, its parts need; it has no split and is no leaf
            queue.clear();
            for (root, negative) in signs.root.into_iter().zip([false, true]) {
                let size = |f: &Form| f.terms().first().map(|t| t.1.abs()).unwrap_or_default();
                let signed = |f: &Form| if negative { f.negated() } else { f.clone() };
                let list = parts.iter().map(|f| (signs.literal(&signed(f), relus, &mut queue), size(f))).collect();
                signs.sums.push(Sum { atom: (root, size(h)), parts: list });
            }
        }
        let mut leaves: Vec<i32> = Vec::new();
        while let Some(atom) = queue.pop_front() {
            let work = match signs.meaning(atom) {
                Meaning::Positive(f) => f.terms().iter().map(|t| 4 + 4 * work_of(&t.1)).sum(),
                Meaning::Phase(_) => 1,
            };
            if !limits.go_on(16 + work) {
                return signs;
            }
            match signs.parts(atom, relus) {
                Some((relu, both, parts)) if signs.atoms.len() < most => {
                    let parts = parts.map(|f| match f.is_zero() {
                        true => Part::Never,
                        false => Part::Literal(signs.literal(&f, relus, &mut queue)),
                    });
                    signs.split_of[atom as usize - 1] = Some(signs.splits.len() as u32);
                    signs.splits.push(Split { atom, relu, parts, both });
                }
                _ => leaves.push(atom),
            }
        }
        signs.add_phases(&leaves, relus);
        signs
    }

    /// The literal that says that a nonzero form is positive. Forms in the direction alone share an atom with their negatives: the
    /// direction may be taken generic.
    fn literal(&mut self, form: &Form, relus: &Relus, queue: &mut VecDeque<i32>) -> i32 {
        let has_relus = relus.are_in(form);
        let (key, sign) = match form.monic() {
            Some((monic, lead)) if !has_relus => (monic, if lead.is_negative() { -1 } else { 1 }),
            _ => (form.ray(), 1),
        };
        let next = self.atoms.len() as i32 + 1;
        let atom = *self.numbers.entry(key).or_insert_with_key(|key| {
            self.atoms.push(Meaning::Positive(key.clone()));
            self.split_of.push(None);
            if has_relus {
                queue.push_back(next);
            }
            next
        });
        sign * atom
    }

    /// The two forms of which an atom's form is the maximum or the minimum, where splitting pays: at least half of the relus of the first are
    /// gone in the second, as in max(a, b) = b + relu(a - b). In a sum of relus none would be, and splitting would list all cases.
    fn parts(&self, atom: i32, relus: &Relus) -> Option<(u32, bool, [Form; 2])> {
        let Meaning::Positive(form) = &self.atoms[atom as usize - 1] else { return None };
        let ((variable, c), rest) = form.split_last()?;
        let relu = variable - relus.dimension;
        let other = rest.plus(c, &relus.arguments[relu]);
        let before = rest.split(relus.dimension).1;
        let shared = before.iter().filter(|t| other.coefficient(t.0).is_some()).count();
        (2 * shared <= before.len()).then(|| (relu as u32, c.is_negative(), [rest, other]))
    }

    /// Gives a phase to every relu below the leaves, inner ones first.
    fn add_phases(&mut self, leaves: &[i32], relus: &Relus) {
        let forms = leaves.iter().filter_map(|&leaf| match self.meaning(leaf) {
            Meaning::Positive(f) => Some(f),
            Meaning::Phase(_) => None,
        });
        let below = relus.below(forms);
        for j in (0..relus.arguments.len()).filter(|&j| below[relus.dimension + j]) {
            self.atoms.push(Meaning::Phase(j as u32));
            self.split_of.push(None);
            self.phases[j] = self.atoms.len() as i32;
        }
    }

    pub fn meaning(&self, atom: i32) -> &Meaning {
        &self.atoms[atom.unsigned_abs() as usize - 1]
    }

    /// The split of an atom, unless it is a leaf.
    pub fn split(&self, atom: i32) -> Option<&Split> {
        self.split_of[atom.unsigned_abs() as usize - 1].map(|s| &self.splits[s as usize])
    }

    /// The parts of which an atom's form is the sum, if it is h or -h and has several.
    pub fn sum(&self, atom: i32) -> Option<&Sum> {
        self.sums.iter().find(|s| s.atom.0 == atom)
    }

    /// The atom of the phase of a relu, if it has one.
    pub fn phase(&self, relu: u32) -> Option<i32> {
        Some(self.phases[relu as usize]).filter(|&p| p != 0)
    }

    /// How many relus have a phase.
    pub fn phases_used(&self) -> usize {
        self.phases.iter().filter(|&&p| p != 0).count()
    }

    /// The atoms on which a search may be taken apart, those that matter most first: half-spaces and phases, by how many clauses and relus they are in.
    pub fn ranked(&self, relus: &Relus) -> Vec<i32> {
        let mut uses = vec![0usize; self.atoms.len()];
        for clause in self.clauses() {
            clause.iter().for_each(|l| uses[l.unsigned_abs() as usize - 1] += 1);
        }
        for (v, _) in relus.arguments.iter().flat_map(Form::terms).filter(|(v, _)| *v >= relus.dimension) {
            if let Some(atom) = self.phase((v - relus.dimension) as u32) {
                uses[atom as usize - 1] += 1;
            }
        }
        let plain = |atom: &i32| match self.meaning(*atom) {
            Meaning::Positive(f) => !relus.are_in(f),
            Meaning::Phase(_) => true,
        };
        let mut ranked: Vec<i32> = (1..=self.atoms.len() as i32).filter(plain).collect();
        ranked.sort_by_key(|&atom| (std::cmp::Reverse(uses[atom as usize - 1]), atom));
        ranked
    }

    /// The literals that give the first atoms by their rank these signs.
    pub fn given(&self, relus: &Relus, given: &[bool]) -> Vec<i32> {
        if given.is_empty() {
            return Vec::new();
        }
        self.ranked(relus).into_iter().zip(given).map(|(atom, &yes)| if yes { atom } else { -atom }).collect()
    }

    /// The clauses that splits stand for.
    pub fn clauses(&self) -> Vec<Vec<i32>> {
        let mut clauses = vec![self.root.to_vec()];
        clauses.extend(self.sums.iter().map(|s| s.parts.iter().map(|p| p.0).chain([-s.atom.0]).collect()));
        for s in &self.splits {
            let literal = |p: &Part| match p {
                Part::Never => None,
                Part::Literal(l) => Some(*l),
            };
            if s.both {
                clauses.extend(s.parts.iter().map(|p| literal(p).into_iter().chain([-s.atom]).collect()));
            } else {
                clauses.push(s.parts.iter().filter_map(literal).chain([-s.atom]).collect());
            }
        }
        clauses
    }
}

/// The form taken apart into sums of terms that depend on different coordinates of the direction.
pub(crate) fn components(relus: &Relus, h: &Form) -> Vec<Form> {
    // a forest over all variables: those of one argument belong together
    let mut parent: Vec<usize> = (0..relus.dimension + relus.arguments.len()).collect();
    fn root(parent: &mut [usize], mut v: usize) -> usize {
        while parent[v] != v {
            parent[v] = parent[parent[v]];
            v = parent[v];
        }
        v
    }
    let below = relus.below([h]);
    for (z, w) in (relus.dimension..).zip(&relus.arguments).filter(|(z, _)| below[*z]) {
        for (v, _) in w.terms() {
            let (a, b) = (root(&mut parent, z), root(&mut parent, *v));
            parent[a] = b;
        }
    }
    let mut parts: BTreeMap<usize, Vec<(usize, Rational)>> = BTreeMap::new();
    for (v, c) in h.terms() {
        parts.entry(root(&mut parent, *v)).or_default().push((*v, c.clone()));
    }
    parts.into_values().map(Form::from_iter).collect()
}
