//! When a subtree is one cell: whether the kinks that are left can still change the gradient.
//!
//! With the kinks before decided, what is left is a smaller normal form. If its conservative gradient is a single point, whatever
//! wins from here on gives the same gradient. Two random choices in a prime field, along one random direction, show in one sweep
//! that it is not, which is certain; where they agree, the graph of the paper's proof decides exactly.

use super::is_alone;
use crate::graph::{Path, shortest_path};
use crease_core::Limits;
use crease_core::local::{Form, NormalForm, NormalKink, Sum};
use crease_core::number::{Field61, Number, Rational};
use crease_core::random::SplitMix64;
use std::rc::Rc;

/// How many steps the exact test may take.
const GRAPH_STEPS: usize = 200_000;

/// A kink with its forms mixed at random: a constant, and what it uses of other kinks.
struct Mixed {
    constant: Field61,
    uses: Vec<(usize, Field61)>,
}

/// The sweeps of one model.
pub(super) struct Pruner<'n> {
    normal: &'n NormalForm,
    direction: Vec<Field61>,
    choices: [Vec<Mixed>; 2],
    output: Mixed,
    /// For kinks that are decided, their value along the random direction.
    decided: Vec<Field61>,
    swept: Vec<Field61>,
}

impl<'n> Pruner<'n> {
    /// Nothing if no kink uses another, where kinks that are left always matter, or if a coefficient does not fit the field.
    pub fn new(normal: &'n NormalForm) -> Option<Self> {
        let p = normal.dimension;
        if normal.kinks.iter().all(|k| is_alone(k, p)) {
            return None;
        }
        let mut random = SplitMix64::new(0x9e0);
        let mut draw = || Field61::new(random.bits());
        let direction: Vec<Field61> = (0..p).map(|_| draw()).collect();
        let mut mix = |kink: &NormalKink| {
            let mut shares: Vec<Field61> = (1..kink.forms.len()).map(|_| draw()).collect();
            shares.push(shares.iter().fold(Field61::one(), |rest, s| rest.sub(s)));
            mixed(kink.forms.iter().zip(shares), &direction)
        };
        let mut all = || normal.kinks.iter().map(&mut mix).collect::<Option<Vec<Mixed>>>();
        let choices = [all()?, all()?];
        let output = mixed([(normal.outputs.first()?, Field61::one())], &direction)?;
        let zeros = vec![Field61::zero(); normal.kinks.len()];
        Some(Pruner { normal, direction, choices, output, decided: zeros.clone(), swept: zeros })
    }

    /// Tells which form a kink has become.
    pub fn decide(&mut self, kink: usize, form: &Form) {
        let dot = form.terms().iter().map(|(i, c)| Some(Field61::from_rational(c).ok()?.mul(&self.direction[*i])));
        // a coefficient that does not fit makes a wrong guess, no more
        self.decided[kink] = dot.flatten().fold(Field61::zero(), |sum, x| sum.add(&x));
    }

    /// Whether the kinks from this one on cannot change the gradient, given the forms of those before.
    pub fn is_settled(&mut self, from: usize, forms: &[Rc<Form>], limits: &Limits) -> bool {
        let uses = |k: &Vec<Mixed>| k[from..].iter().map(|m| 1 + m.uses.len() as u64).sum::<u64>();
        limits.go_on(uses(&self.choices[0]) / 2)
            && self.sweep(0, from) == self.sweep(1, from)
            && self.is_single(from, forms, limits)
    }

    fn sweep(&mut self, choice: usize, from: usize) -> Field61 {
        let Pruner { choices, output, decided, swept, .. } = self;
        let value = |m: &Mixed, swept: &[Field61]| {
            let of = |k: usize| if k < from { decided[k] } else { swept[k] };
            m.uses.iter().fold(m.constant, |sum, (k, c)| sum.add(&c.mul(&of(*k))))
        };
        for k in from..swept.len() {
            swept[k] = value(&choices[choice][k], swept);
        }
        value(output, swept)
    }

    fn is_single(&self, from: usize, forms: &[Rc<Form>], limits: &Limits) -> bool {
        let p = self.normal.dimension;
        let inside =
            |f: &Form| f.beyond(p).filter(|(k, _)| *k < from).map(|(k, _)| forms[k].terms().len()).sum::<usize>();
        let terms = |f: &Form| -> usize { f.terms().len() + inside(f) };
        let all = self.normal.kinks[from..].iter().flat_map(|k| &k.forms).chain(&self.normal.outputs);
        if !limits.go_on(4 * all.map(terms).sum::<usize>() as u64) {
            return false;
        }
        let kinks = self.normal.kinks[from..].iter().map(|k| NormalKink {
            forms: k.forms.iter().map(|f| self.rest(f, from, forms)).collect(),
            members: k.members.clone(),
            origin: k.origin,
        });
        let outputs = self.normal.outputs.iter().map(|f| self.rest(f, from, forms)).collect();
        let left = NormalForm { dimension: self.normal.dimension, kinks: kinks.collect(), outputs };
        matches!(shortest_path(&left, 0, limits.steps_of(GRAPH_STEPS)), Path::None)
    }

    /// A form with the kinks before this one replaced by what they have become, and the others counted from it.
    fn rest(&self, form: &Form, from: usize, forms: &[Rc<Form>]) -> Form {
        let p = self.normal.dimension;
        let mut sum = Sum::default();
        sum.add_terms(&Rational::ONE, form.split(p).0);
        for (k, c) in form.beyond(p) {
            match k.checked_sub(from) {
                Some(k) => sum.add_term(p + k, &Rational::ONE, c),
                None => sum.add(c, &forms[k]),
            }
        }
        sum.form()
    }

    /// The gradient where it does not depend on what is left.
    pub fn gradient(&self, from: usize, forms: &[Rc<Form>]) -> Vec<Rational> {
        let p = self.normal.dimension;
        let mut sum = Sum::default();
        self.normal.outputs.iter().for_each(|o| sum.add(&Rational::ONE, o));
        while let Some((v, by)) = sum.pop(p) {
            let k = v - p;
            sum.add(&by, if k < from { &forms[k] } else { &self.normal.kinks[k].forms[0] });
        }
        sum.form().vector(p)
    }
}

/// Forms mixed along a direction.
fn mixed<'f>(forms: impl IntoIterator<Item = (&'f Form, Field61)>, direction: &[Field61]) -> Option<Mixed> {
    let mut constant = Field61::zero();
    let mut uses: Vec<(usize, Field61)> = Vec::new();
    for (form, share) in forms {
        for (v, c) in form.terms() {
            let c = share.mul(&Field61::from_rational(c).ok()?);
            match direction.get(*v) {
                Some(d) => constant = constant.add(&c.mul(d)),
                None => uses.push((v - direction.len(), c)),
            }
        }
    }
    Some(Mixed { constant, uses })
}
