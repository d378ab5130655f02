//! The model as relus: every maximum of a normal form written with z = relu(w), and equal ones recognised.
//!
//! What enters is the normal form; what leaves is a list of forms w_j, one for each relu, and every kink and the output as linear forms in the
//! direction and in the relus. The rewriting is max(a, b) = b + c z where a - b = c w, so that
//! - relus of proportional forms are one relu, and relu(-w) = relu(w) - w is that of w;
//! - `relu(a - b) + b`, and the paper's max lemma with its relu(b) - relu(-b), end up as the same form as max(a, b);
//! - a relu of what is a sum of relus is that sum.
//!
//! If the conservative gradient of the model is a singleton, no relu is left in the output: the graph of the paper's proof has no path.
//! The converse does not hold; `relu(x) - relu(-x)` is found to be x.

use crease_core::limits::{Steps, work_of};
use crease_core::local::{Form, NormalForm};
use crease_core::number::Rational;
use std::collections::{HashMap, VecDeque};

/// How two items of a kink became one. Items are numbered, the forms of the kink first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Join {
    pub items: [usize; 2],
    pub by: Maximum,
}

/// What the maximum of two items is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Maximum {
    /// A sum with this relu.
    Relu(u32),
    /// Either: they are equal.
    Equal,
    /// The first of them: it is the second and a sum of relus.
    First,
}

/// A model in which every kink is a relu.
#[derive(Clone, Debug, Default)]
pub(crate) struct Relus {
    /// The number of coordinates of a direction; variable `dimension + j` is relu j.
    pub dimension: usize,
    /// The arguments w_j, each with leading coefficient 1, in the direction and in earlier relus.
    pub arguments: Vec<Form>,
    /// For each kink, how it became a form.
    pub joins: Vec<Vec<Join>>,
    /// The output.
    pub output: Form,
}

impl Relus {
    /// Rewrites one output of a normal form, unless that takes more than so many terms.
    pub fn new(normal: &NormalForm, output: usize, mut left: Steps<'_>) -> Option<Relus> {
        let mut relus = Relus { dimension: normal.dimension, ..Relus::default() };
        let mut kinks: Vec<Form> = Vec::with_capacity(normal.kinks.len());
        let mut numbers: HashMap<Form, u32> = HashMap::new();
        for kink in &normal.kinks {
            let mut items: Vec<Form> = Vec::with_capacity(2 * kink.forms.len());
            for form in &kink.forms {
                items.push(relus.substitute(form, &kinks, &mut left)?);
            }
            let joined = relus.join_all(&mut items, &mut numbers, &mut left)?;
            relus.joins.push(joined);
            kinks.push(items.pop()?);
        }
        relus.output = relus.substitute(&normal.outputs[output], &kinks, &mut left)?;
        Some(relus)
    }

    /// A form in which each kink is replaced by what it has become.
    fn substitute(&self, form: &Form, kinks: &[Form], left: &mut Steps<'_>) -> Option<Form> {
        left.take(form.beyond(self.dimension).map(|(k, _)| kinks[k].terms().len()).sum())?;
        Some(form.replaced(self.dimension, |k| &kinks[k]))
    }

    /// Joins the items two by two, neighbours in a fixed order first, so that forms stay short and the order of arguments does not matter.
    /// The last item is the maximum of all.
    fn join_all(
        &mut self,
        items: &mut Vec<Form>,
        numbers: &mut HashMap<Form, u32>,
        left: &mut Steps<'_>,
    ) -> Option<Vec<Join>> {
        let mut order: Vec<usize> = (0..items.len()).collect();
        order.sort_by(|&a, &b| items[a].cmp(&items[b]));
        let mut queue: VecDeque<usize> = order.into();
        let mut joins = Vec::with_capacity(items.len().saturating_sub(1));
        while let (Some(a), Some(b)) = (queue.pop_front(), queue.pop_front()) {
            // the difference, scaled, looked up, and the sum
            let work = |f: &Form| f.terms().iter().map(|t| 4 + 4 * work_of(&t.1)).sum::<u64>();
            left.charge(work(&items[a]) + work(&items[b]))?;
            let (join, joined) = self.maximum(a, b, items, numbers);
            left.take(joined.terms().len())?;
            left.hold(joined.bytes())?;
            joins.push(join);
            items.push(joined);
            queue.push_back(items.len() - 1);
        }
        Some(joins)
    }

    /// The maximum of two items. `numbers` has the relus so far by their arguments.
    fn maximum(&mut self, a: usize, b: usize, items: &[Form], numbers: &mut HashMap<Form, u32>) -> (Join, Form) {
        let Some((w, c)) = items[a].minus(&items[b]).monic() else {
            return (Join { items: [a, b], by: Maximum::Equal }, items[a].clone());
        };
        let (larger, smaller) = if c.is_negative() { (b, a) } else { (a, b) };
        // w is monic, so one sign of all coefficients is a positive one
        if w.split(self.dimension).0.is_empty() && w.terms().iter().all(|t| t.1.is_positive()) {
            return (Join { items: [larger, smaller], by: Maximum::First }, items[larger].clone());
        }
        let next = self.arguments.len() as u32;
        let relu = *numbers.entry(w).or_insert_with_key(|w| {
            self.arguments.push(w.clone());
            next
        });
        let z = Form::variable(self.dimension + relu as usize);
        (Join { items: [a, b], by: Maximum::Relu(relu) }, items[smaller].plus(&c.abs(), &z))
    }

    /// The value of a form along a direction.
    pub fn evaluate(&self, form: &Form, direction: &[Rational]) -> Rational {
        let mut values = direction.to_vec();
        for w in &self.arguments {
            let z = w.at(&values);
            values.push(Ord::max(z, Rational::ZERO));
        }
        form.at(&values)
    }

    /// Whether a form has relus.
    pub fn are_in(&self, form: &Form) -> bool {
        !form.split(self.dimension).1.is_empty()
    }

    /// Which variables forms depend on, through relus and what is below them.
    pub fn below<'f>(&self, forms: impl IntoIterator<Item = &'f Form>) -> Vec<bool> {
        let mut below = vec![false; self.dimension + self.arguments.len()];
        let mark = |f: &Form, below: &mut [bool]| f.terms().iter().for_each(|t| below[t.0] = true);
        forms.into_iter().for_each(|f| mark(f, &mut below));
        for (j, w) in self.arguments.iter().enumerate().rev() {
            if below[self.dimension + j] {
                mark(w, &mut below);
            }
        }
        below
    }
}
