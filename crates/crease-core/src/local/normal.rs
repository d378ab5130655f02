//! The normal form: kinks as maxima of linear forms.

use super::{LocalModel, Node, NodeId};
use crate::number::Rational;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

/// A linear form in the coordinates of the direction and in kinks, sparse.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Form {
    /// Coefficients of coordinates of the direction, by number, none zero.
    pub directions: Vec<(usize, Rational)>,
    /// Coefficients of kinks, by number in [`NormalForm::kinks`], none zero.
    pub kinks: Vec<(usize, Rational)>,
}

impl Form {
    /// Whether all coefficients are zero.
    pub fn is_zero(&self) -> bool {
        self.directions.is_empty() && self.kinks.is_empty()
    }

    /// `self + factor * other`.
    pub fn plus(&self, factor: &Rational, other: &Form) -> Form {
        Form {
            directions: merge(&self.directions, factor, &other.directions),
            kinks: merge(&self.kinks, factor, &other.kinks),
        }
    }

    /// The factor λ with `self = λ other`, if there is one.
    pub fn ratio(&self, other: &Form) -> Option<Rational> {
        let lead = |f: &Form| f.directions.first().or(f.kinks.first()).map(|t| t.1.clone());
        let Some(denominator) = lead(other) else {
            return if self.is_zero() { Some(Rational::ZERO) } else { None };
        };
        let factor = lead(self).map_or(Some(Rational::ZERO), |n| n.checked_div(&denominator))?;
        (self.plus(&-&factor, other).is_zero()).then_some(factor)
    }
}

fn merge(a: &[(usize, Rational)], factor: &Rational, b: &[(usize, Rational)]) -> Vec<(usize, Rational)> {
    let mut sum: BTreeMap<usize, Rational> = a.iter().cloned().collect();
    for (i, c) in b {
        let entry = sum.entry(*i).or_insert(Rational::ZERO);
        entry.add_mul(factor, c);
    }
    sum.into_iter().filter(|(_, c)| !c.is_zero()).collect()
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let directions = self.directions.iter().map(|(i, c)| (c, format!("d{i}")));
        let kinks = self.kinks.iter().map(|(i, c)| (c, format!("k{i}")));
        let mut first = true;
        for (c, name) in directions.chain(kinks) {
            let sign = match (first, c.is_negative()) {
                (true, false) => "",
                (true, true) => "-",
                (false, false) => " + ",
                (false, true) => " - ",
            };
            let size = c.abs();
            if size.is_one() {
                write!(f, "{sign}{name}")?
            } else {
                write!(f, "{sign}{size} {name}")?
            }
            first = false;
        }
        if first { f.write_str("0") } else { Ok(()) }
    }
}

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

/// A local model without linear nodes.
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
    /// dropped.
    ///
    /// ```
    /// use crease_core::{local::localize, relu, trace, Rational, Tensor};
    /// // max(x + y, y + x) has no kink at all
    /// let p = trace(2, |x| crease_core::max(&[x[0] + x[1], x[1] + x[0]]) + relu(x[0])).unwrap();
    /// let zero = Tensor::scalar(Rational::ZERO);
    /// let normal = localize(&p, &[zero.clone(), zero]).unwrap().normal_form();
    /// assert_eq!(normal.kinks.len(), 1);
    /// assert_eq!(normal.outputs[0].to_string(), "d0 + d1 + k0");
    /// ```
    pub fn normal_form(&self) -> NormalForm {
        self.normal_form_within(usize::MAX).unwrap_or_default()
    }

    /// The normal form, unless it takes more than so many steps: forms can be long, and linear nodes are visited once for each kink
    /// that uses them.
    pub fn normal_form_within(&self, steps: usize) -> Option<NormalForm> {
        self.eliminated(steps, false)
    }

    /// The normal form of all that selections may choose among, unless it takes more than so many steps. Nodes that are
    /// [taken](Node::Taken) are kinks in it, so that it is not a form of the directional derivative.
    pub fn choices_within(&self, steps: usize) -> Option<NormalForm> {
        self.eliminated(steps, true)
    }

    fn eliminated(&self, steps: usize, choices: bool) -> Option<NormalForm> {
        let mut left = steps;
        let mut eliminated: HashMap<NodeId, Form> = HashMap::new();
        let mut kinks: Vec<NormalKink> = Vec::new();
        for (origin, kink) in self.kinks.iter().enumerate() {
            let members = match self.node(kink.node) {
                Node::Max(members) => members,
                Node::Taken(members) if choices => members,
                Node::Taken(members) => &members[..1],
                Node::Direction(_) | Node::Linear(_) | Node::Seam { .. } => continue,
            };
            let mut forms: Vec<Form> = Vec::new();
            let mut kept: Vec<usize> = Vec::new();
            let mut seen: HashSet<Form> = HashSet::new();
            for (i, &m) in members.iter().enumerate() {
                let form = self.form_within(m, &eliminated, &mut left)?;
                if seen.insert(form.clone()) {
                    forms.push(form);
                    kept.push(i);
                }
            }
            let form = if forms.len() == 1 {
                forms.swap_remove(0)
            } else {
                kinks.push(NormalKink { forms, members: kept, origin });
                Form { directions: Vec::new(), kinks: vec![(kinks.len() - 1, Rational::ONE)] }
            };
            eliminated.insert(kink.node, form);
        }
        let outputs = self.outputs.iter().map(|&o| self.form_within(o, &eliminated, &mut left));
        let outputs = outputs.collect::<Option<Vec<_>>>()?;
        let mut normal = NormalForm { dimension: self.directions, kinks, outputs };
        normal.drop_unused();
        Some(normal)
    }

    /// The form of a node, in the direction and in those nodes whose forms are given. Kinks without a form keep the number of
    /// their node.
    pub(super) fn form(&self, node: NodeId, known: &HashMap<NodeId, Form>) -> Form {
        let mut unlimited = usize::MAX;
        self.form_within(node, known, &mut unlimited).unwrap_or_default()
    }

    fn form_within(&self, node: NodeId, known: &HashMap<NodeId, Form>, left: &mut usize) -> Option<Form> {
        // adjoints from the node down; nodes are numbered so that arguments come first
        let mut adjoints: BTreeMap<NodeId, Rational> = BTreeMap::from([(node, Rational::ONE)]);
        let mut directions: BTreeMap<usize, Rational> = BTreeMap::new();
        let mut kinks: BTreeMap<usize, Rational> = BTreeMap::new();
        let add = |sum: &mut BTreeMap<usize, Rational>, weight: &Rational, terms: &[(usize, Rational)]| {
            terms.iter().for_each(|(i, c)| sum.entry(*i).or_default().add_mul(weight, c));
        };
        while let Some((id, weight)) = adjoints.pop_last() {
            if weight.is_zero() {
                continue;
            }
            let steps = match (known.get(&id), self.node(id)) {
                (Some(form), _) => {
                    add(&mut directions, &weight, &form.directions);
                    add(&mut kinks, &weight, &form.kinks);
                    form.directions.len() + form.kinks.len()
                }
                (None, Node::Direction(i)) => {
                    *directions.entry(i).or_default() += weight;
                    1
                }
                (None, Node::Linear(terms)) => {
                    for t in terms {
                        adjoints.entry(t.node).or_default().add_mul(&weight, &t.coefficient);
                    }
                    terms.len()
                }
                (None, Node::Seam { taken, .. }) => {
                    *adjoints.entry(taken).or_default() += weight;
                    1
                }
                (None, Node::Max(_) | Node::Taken(_)) => {
                    *kinks.entry(id.index()).or_default() += weight;
                    1
                }
            };
            *left = left.checked_sub(steps)?;
        }
        let list = |sum: BTreeMap<usize, Rational>| sum.into_iter().filter(|(_, c)| !c.is_zero()).collect();
        Some(Form { directions: list(directions), kinks: list(kinks) })
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
    /// let normal = localize(&p, &[zero.clone(), zero]).unwrap().normal_form();
    /// let second = normal.of_output(1);
    /// assert_eq!((normal.kinks.len(), second.kinks.len()), (2, 1));
    /// assert_eq!(second.outputs[0].to_string(), "d0 + k0");
    /// ```
    pub fn of_output(&self, number: usize) -> NormalForm {
        let outputs = vec![self.outputs.get(number).cloned().unwrap_or_default()];
        let mut one = NormalForm { dimension: self.dimension, kinks: self.kinks.clone(), outputs };
        one.drop_unused();
        one
    }

    fn drop_unused(&mut self) {
        let mut used = vec![false; self.kinks.len()];
        for form in &self.outputs {
            form.kinks.iter().for_each(|(k, _)| used[*k] = true);
        }
        for k in (0..self.kinks.len()).rev() {
            if used[k] {
                let below: Vec<usize> = self.kinks[k].forms.iter().flat_map(|f| f.kinks.iter().map(|t| t.0)).collect();
                below.into_iter().for_each(|b| used[b] = true);
            }
        }
        let mut number = vec![0; used.len()];
        let mut next = 0;
        for (k, n) in number.iter_mut().enumerate() {
            *n = next;
            next += usize::from(used[k]);
        }
        let renumber = |f: &mut Form| f.kinks.iter_mut().for_each(|t| t.0 = number[t.0]);
        let mut k = 0;
        self.kinks.retain(|_| {
            k += 1;
            used[k - 1]
        });
        self.kinks.iter_mut().flat_map(|k| &mut k.forms).for_each(renumber);
        self.outputs.iter_mut().for_each(renumber);
    }
}
