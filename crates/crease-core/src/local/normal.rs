//! The normal form: kinks as maxima of linear forms.

use super::form::{Form, Sum};
use super::{LocalModel, Node, NodeId};
use crate::limits::{self, Limits, Steps};
use crate::number::Rational;
use std::collections::{HashMap, HashSet};

/// A kink in normal form: the maximum of two or more different linear forms.
#[derive(Clone, Debug, PartialEq)]
pub struct NormalKink {
    /// The forms.
    pub forms: Vec<Form>,
    /// For each form, a member of the model's maximum that has it.
    pub members: Vec<usize>,
    /// The kink in [`LocalModel::kinks`] from which it came.
    pub origin: usize,
}

/// A local model without linear nodes. In its forms, the coordinates of the direction are the variables from 0 on, and kinks those from
/// `dimension` on.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct NormalForm {
    /// The number of coordinates of a direction.
    pub dimension: usize,
    /// The kinks in order; each only uses earlier ones.
    pub kinks: Vec<NormalKink>,
    /// One form for each scalar output.
    pub outputs: Vec<Form>,
}

impl LocalModel {
    /// Eliminates the linear nodes; of enclosed coefficients it has the middle. Kinks whose forms are all equal are no kinks, and those that no output depends on are
    /// dropped. A model with Euclidean norms has no normal form.
    ///
    /// ```
    /// use crease_core::{local::localize, relu, trace, Rational, Tensor};
    /// // max(x + y, y + x) has no kink at all
    /// let p = trace(2, |x| crease_core::max(&[x[0] + x[1], x[1] + x[0]]) + relu(x[0])).unwrap();
    /// let zero = Tensor::scalar(Rational::ZERO);
    /// let normal = localize(&p, &[zero.clone(), zero]).unwrap().normal_form().unwrap();
    /// assert_eq!(normal.kinks.len(), 1);
    /// assert_eq!(normal.text(&normal.outputs[0]), "d0 + d1 + k0");
    /// ```
    pub fn normal_form(&self) -> Option<NormalForm> {
        self.normal_form_within(Limits::DEFAULT.steps_of(usize::MAX))
    }

    /// The normal form, unless it takes more than so many steps: forms can be long, and linear nodes are visited once for each kink
    /// that uses them; or unless there is none.
    ///
    /// ```
    /// use crease_core::{local::localize, relu, trace, Limits, Rational, Tensor};
    /// let p = trace(1, |x| relu(x[0] + relu(x[0]))).unwrap();
    /// let model = localize(&p, &[Tensor::scalar(Rational::ZERO)]).unwrap();
    /// let form = |steps| model.normal_form_within(Limits::default().steps_of(steps));
    /// assert!(form(100).is_some() && form(1).is_none());
    /// ```
    pub fn normal_form_within(&self, steps: Steps<'_>) -> Option<NormalForm> {
        self.eliminated(steps, false)
    }

    /// The normal form of all that selections may choose among, unless it takes more than so many steps. Nodes that are
    /// [taken](Node::Taken) are kinks in it, so that it is not a form of the directional derivative.
    pub fn choices_within(&self, steps: Steps<'_>) -> Option<NormalForm> {
        self.eliminated(steps, true)
    }

    fn eliminated(&self, mut left: Steps<'_>, choices: bool) -> Option<NormalForm> {
        let mut eliminated: HashMap<NodeId, Form> = HashMap::new();
        let mut kinks: Vec<NormalKink> = Vec::new();
        for (origin, kink) in self.kinks.iter().enumerate() {
            let members = match self.node(kink.node) {
                Node::Max(members) => members,
                Node::Norm(_) => return None,
                Node::Taken(members) if choices => members,
                Node::Taken(members) => &members[..1],
                Node::Direction(_) | Node::Linear(_) | Node::Seam { .. } => continue,
            };
            let mut forms: Vec<Form> = Vec::new();
            let mut kept: Vec<usize> = Vec::new();
            let mut seen: HashSet<Form> = HashSet::new();
            for (i, &m) in members.iter().enumerate() {
                let form = self.form_within(m, &eliminated, &mut left)?;
                left.hold(form.bytes())?;
                if seen.insert(form.clone()) {
                    forms.push(form);
                    kept.push(i);
                }
            }
            let form = if forms.len() == 1 {
                forms.swap_remove(0)
            } else {
                kinks.push(NormalKink { forms, members: kept, origin });
                Form::variable(self.directions + kinks.len() - 1)
            };
            eliminated.insert(kink.node, form);
        }
        let outputs = self.outputs.iter().map(|&o| self.form_within(o, &eliminated, &mut left));
        let outputs = outputs.collect::<Option<Vec<_>>>()?;
        let mut normal = NormalForm { dimension: self.directions, kinks, outputs };
        normal.drop_unused();
        Some(normal)
    }

    /// The form of a node, in the direction and in those nodes whose forms are given. Kinks without a form are variables by the number of
    /// their node.
    pub(super) fn form_within(
        &self,
        node: NodeId,
        known: &HashMap<NodeId, Form>,
        left: &mut Steps<'_>,
    ) -> Option<Form> {
        // adjoints from the node down; nodes are numbered so that arguments come first
        let (mut adjoints, mut form, one) = (Sum::default(), Sum::default(), Rational::ONE);
        adjoints.add_term(node.index(), &one, &one);
        while let Some((i, weight)) = adjoints.pop(0) {
            let id = NodeId(i as u32);
            left.charge(limits::work_of(&weight))?;
            let steps = match (known.get(&id), self.node(id)) {
                (Some(known), _) => {
                    form.add(&weight, known);
                    known.terms().len()
                }
                (None, Node::Linear(terms)) => {
                    terms.iter().for_each(|t| adjoints.add_term(t.node.index(), &weight, &t.coefficient));
                    terms.len()
                }
                (None, Node::Seam { taken, .. }) => {
                    adjoints.add_term(taken.index(), &weight, &one);
                    1
                }
                (None, Node::Direction(_) | Node::Max(_) | Node::Norm(_) | Node::Taken(_)) => {
                    form.add_term(i, &weight, &one);
                    1
                }
            };
            left.take(steps)?;
        }
        Some(form.form())
    }
}

impl NormalForm {
    /// The same with one output only, and with the kinks that it depends on; an output that is not there is 0.
    ///
    /// ```
    /// use crease_core::{abs, local::localize, relu, trace_shapes, Rational, Shape, Tensor};
    /// let scalar = [Shape::scalar(), Shape::scalar()];
    /// let p = trace_shapes(&scalar, |x| {
    ///     let shared = relu(x[1]);
    ///     vec![abs(x[0]) + shared, x[0] + shared]
    /// })
    /// .unwrap();
    /// let zero = Tensor::scalar(Rational::ZERO);
    /// let normal = localize(&p, &[zero.clone(), zero]).unwrap().normal_form().unwrap();
    /// let second = normal.of_output(1);
    /// assert_eq!((normal.kinks.len(), second.kinks.len()), (2, 1));
    /// assert_eq!(second.text(&second.outputs[0]), "d0 + k0");
    /// ```
    pub fn of_output(&self, number: usize) -> NormalForm {
        let outputs = vec![self.outputs.get(number).cloned().unwrap_or_default()];
        let mut one = NormalForm { dimension: self.dimension, kinks: self.kinks.clone(), outputs };
        one.drop_unused();
        one
    }

    /// A form in words, such as `d0 - 2 d1 + k0`.
    pub fn text(&self, form: &Form) -> String {
        let mut out = String::new();
        for (v, c) in form.terms() {
            out.push_str(match (out.is_empty(), c.is_negative()) {
                (true, false) => "",
                (true, true) => "-",
                (false, false) => " + ",
                (false, true) => " - ",
            });
            if !c.abs().is_one() {
                out.push_str(&format!("{} ", c.abs()));
            }
            out.push_str(&match v.checked_sub(self.dimension) {
                None => format!("d{v}"),
                Some(k) => format!("k{k}"),
            });
        }
        if out.is_empty() { "0".into() } else { out }
    }

    fn drop_unused(&mut self) {
        let p = self.dimension;
        let mut used = vec![false; self.kinks.len()];
        let mark = |form: &Form, used: &mut [bool]| form.beyond(p).for_each(|(k, _)| used[k] = true);
        self.outputs.iter().for_each(|form| mark(form, &mut used));
        for k in (0..self.kinks.len()).rev() {
            if used[k] {
                self.kinks[k].forms.iter().for_each(|form| mark(form, &mut used));
            }
        }
        let mut number = vec![0; used.len()];
        let mut next = 0;
        for (k, n) in number.iter_mut().enumerate() {
            *n = next;
            next += usize::from(used[k]);
        }
        let mut k = 0;
        self.kinks.retain(|_| {
            k += 1;
            used[k - 1]
        });
        let forms = self.kinks.iter_mut().flat_map(|k| &mut k.forms).chain(&mut self.outputs);
        forms.for_each(|f| f.renamed(|v| if v < p { v } else { p + number[v - p] }));
    }
}
