//! The parts of certificates that all claims share: the model, exact or enclosed, and limits of gradients; and the certificate that a
//! vector is a Clarke subgradient. The format is that of the crate `crease-check`.

use crate::enclosed::coordinate_apart;
use crate::{ClarkeElement, Membership, Neighbour, OracleError, Session};
use crease_core::local::{Form, LocalModel, Node, NodeId, NormalForm, Term};
use crease_core::number::Rational;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Write};

/// The head of a certificate: what is claimed, and of which model.
pub(crate) fn head(out: &mut String, claim: &str, normal: &NormalForm, output: usize) -> fmt::Result {
    writeln!(out, "crease-certificate 1\nclaim {claim}")?;
    model(out, normal, output)
}

/// The lines of a certificate that state the model: one output of a normal form, with all of its kinks.
///
/// ```
/// use crease_core::{local::localize, relu, trace, Rational, Tensor};
/// use crease_oracles::certificate_model;
/// let p = trace(1, |x| relu(x[0]) + x[0]).unwrap();
/// let normal = localize(&p, &[Tensor::scalar(Rational::ZERO)]).unwrap().normal_form().unwrap();
/// assert_eq!(certificate_model(&normal, 0), "dimension 1\nkinks 1\nmax 0 ; 1*d0\noutput 1*d0 1*k0\n");
/// ```
pub fn certificate_model(normal: &NormalForm, output: usize) -> String {
    let mut out = String::new();
    // a string takes all that is written to it
    let _ = model(&mut out, normal, output);
    out
}

fn model(out: &mut String, normal: &NormalForm, output: usize) -> fmt::Result {
    writeln!(out, "dimension {}\nkinks {}", normal.dimension, normal.kinks.len())?;
    for kink in &normal.kinks {
        out.push_str("max");
        for (i, f) in kink.forms.iter().enumerate() {
            out.push_str(if i == 0 { " " } else { " ; " });
            form(out, f, normal.dimension, 'k')?;
        }
        out.push('\n');
    }
    out.push_str("output ");
    match normal.outputs.get(output) {
        Some(f) => form(out, f, normal.dimension, 'k')?,
        None => out.push('0'),
    }
    out.push('\n');
    Ok(())
}

/// A form: coordinates of the direction are `d0`, `d1` and so on, what comes after them has this letter.
pub(crate) fn form(out: &mut String, f: &Form, dimension: usize, letter: char) -> fmt::Result {
    if f.is_zero() {
        out.push('0');
    }
    for (n, (v, c)) in f.terms().iter().enumerate() {
        let blank = if n == 0 { "" } else { " " };
        match v.checked_sub(dimension) {
            None => write!(out, "{blank}{}*d{v}", c.fraction())?,
            Some(k) => write!(out, "{blank}{}*{letter}{k}", c.fraction())?,
        }
    }
    Ok(())
}

/// The lines of a certificate that state a model with enclosed coefficients: the nodes that one output depends on. Fails if there is
/// no such output.
///
/// ```
/// use crease_core::{local::localize, max, trace, Rational, Tensor};
/// use crease_oracles::certificate_graph;
/// let p = trace(1, |x| max(&[x[0], -x[0]]) + x[0]).unwrap();
/// let model = localize(&p, &[Tensor::scalar(Rational::ZERO)]).unwrap();
/// let text = "dimension 1\nbits 128\nnodes 3\nlinear -1*d0\nmax d0 n0\nlinear 1*d0 1*n1\noutput n2\n";
/// assert_eq!(certificate_graph(&model, 0).unwrap(), text);
/// ```
pub fn certificate_graph(model: &LocalModel, output_number: usize) -> Result<String, OracleError> {
    let mut out = String::new();
    // a string takes all that is written to it
    let _ = graph(&mut out, model, Session::new(model, output_number).from()?);
    Ok(out)
}

fn graph(out: &mut String, model: &LocalModel, from: NodeId) -> fmt::Result {
    let from = value(model, from);
    let mut needed = vec![false; from.index() + 1];
    needed[from.index()] = true;
    for i in (model.dimension()..needed.len()).rev() {
        if needed[i] {
            arguments(model, model.node_id(i), |n| needed[n.index()] = true);
        }
    }
    let mut numbers = vec![0usize; needed.len()];
    let mut count = 0;
    for i in (model.dimension()..needed.len()).filter(|&i| needed[i]) {
        numbers[i] = count;
        count += 1;
    }
    let variable = |n: NodeId| match n.index() < model.dimension() {
        true => ('d', n.index()),
        false => ('n', numbers[n.index()]),
    };
    writeln!(out, "dimension {}\nbits {}\nnodes {count}", model.dimension(), model.precision().bits)?;
    for i in (model.dimension()..needed.len()).filter(|&i| needed[i]) {
        let node = model.node(model.node_id(i));
        match node {
            Node::Linear(terms) => {
                out.push_str("linear ");
                combination(out, terms, |n| variable(value(model, n)))?;
            }
            Node::Max(members) | Node::Norm(members) => {
                out.push_str(if matches!(node, Node::Max(_)) { "max" } else { "norm" });
                for (letter, i) in members.iter().map(|m| variable(value(model, *m))) {
                    write!(out, " {letter}{i}")?;
                }
            }
            // no value is one of these
            Node::Direction(_) | Node::Taken(_) | Node::Seam { .. } => {}
        }
        out.push('\n');
    }
    let (letter, i) = variable(from);
    writeln!(out, "output {letter}{i}")
}

/// The node whose value a node has: what is not taken, and what is 0 where branches meet, has no part in the directional derivative.
fn value(model: &LocalModel, mut id: NodeId) -> NodeId {
    loop {
        id = match model.node(id) {
            Node::Taken(members) => members[0],
            Node::Seam { taken, .. } => taken,
            Node::Direction(_) | Node::Linear(_) | Node::Max(_) | Node::Norm(_) => return id,
        };
    }
}

/// The values that a combination or maximum is made of.
fn arguments(model: &LocalModel, id: NodeId, mut each: impl FnMut(NodeId)) {
    match model.node(id) {
        Node::Linear(terms) => terms.iter().for_each(|t| each(value(model, t.node))),
        Node::Max(members) | Node::Norm(members) => members.iter().for_each(|m| each(value(model, *m))),
        // no value is one of the last two, and the first is made of nothing
        Node::Direction(_) | Node::Taken(_) | Node::Seam { .. } => {}
    }
}

/// A combination in which a coefficient may be enclosed. Terms of one variable are one term.
fn combination(out: &mut String, terms: &[Term], variable: impl Fn(NodeId) -> (char, usize)) -> fmt::Result {
    let mut sums: BTreeMap<(char, usize), (Rational, Rational)> = BTreeMap::new();
    for t in terms {
        let (middle, radius) = sums.entry(variable(t.node)).or_default();
        *middle += &t.coefficient;
        *radius += &t.radius;
    }
    sums.retain(|_, (middle, radius)| !middle.is_zero() || !radius.is_zero());
    if sums.is_empty() {
        out.push('0');
    }
    for (n, ((letter, i), (middle, radius))) in sums.iter().enumerate() {
        out.push_str(if n == 0 { "" } else { " " });
        match radius.is_zero() {
            true => write!(out, "{}", middle.fraction())?,
            false => write!(out, "{}..{}", (middle - radius).fraction(), (middle + radius).fraction())?,
        }
        write!(out, "*{letter}{i}")?;
    }
    Ok(())
}

/// The certificate that two gradients differ whatever the enclosed coefficients are. Nothing if no coordinate shows that.
pub(crate) fn enclosed(model: &LocalModel, output_number: usize, sides: &[ClarkeElement; 2]) -> Option<String> {
    let [a, b] = sides.each_ref().map(|e| (&e.gradient[..], e.radius.as_deref()));
    let coordinate = coordinate_apart(a, b)?;
    let mut out = String::from("crease-certificate 1\nclaim not-differentiable-enclosed\n");
    out.push_str(&certificate_graph(model, output_number).ok()?);
    for side in sides {
        out.push_str("side\ndirection ");
        vector(&mut out, &side.direction).ok()?;
        out.push('\n');
    }
    writeln!(out, "coordinate d{coordinate}\nend").ok()?;
    Some(out)
}

/// A vector as a form in the direction.
pub(crate) fn vector(out: &mut String, x: &[Rational]) -> fmt::Result {
    form(out, &Form::from(x), x.len(), 'd')
}

/// A limit of gradients: the function is linear around the direction, with that gradient.
pub(crate) fn side(
    out: &mut String,
    weight: Option<&dyn Display>,
    direction: &[Rational],
    gradient: &[Rational],
) -> fmt::Result {
    match weight {
        None => out.push_str("side\ndirection "),
        Some(w) => write!(out, "side {w}\ndirection ")?,
    }
    vector(out, direction)?;
    out.push_str("\ngradient ");
    vector(out, gradient)?;
    out.push('\n');
    Ok(())
}

impl Session<'_> {
    /// The certificate that a vector is a Clarke subgradient, for the checker of the crate `crease-check`: it is a convex combination of limits
    /// of gradients. The gradients are those that [`Membership::Hull`] names by their numbers. There is none if the vector was not found to be
    /// one, if the model is not exact, or if it is too large to be written down.
    ///
    /// ```
    /// use crease_core::{abs, local::localize, trace, Rational, Tensor};
    /// use crease_oracles::Session;
    /// let p = trace(1, |x| abs(x[0])).unwrap();
    /// let model = localize(&p, &[Tensor::scalar(Rational::ZERO)]).unwrap();
    /// let session = Session::new(&model, 0);
    /// let all = session.neighbouring_gradients(&Default::default(), |_| ()).unwrap();
    /// let zero = [Rational::ZERO];
    /// let found = session.membership_among(&all, &zero, &Default::default()).unwrap();
    /// let text = session.membership_certificate(&zero, &found, &all.gradients).unwrap().unwrap();
    /// assert!(text.starts_with("crease-certificate 1\nclaim member\n"));
    /// ```
    pub fn membership_certificate(
        &self,
        vector: &[Rational],
        found: &Membership,
        gradients: &[Neighbour],
    ) -> Result<Option<String>, OracleError> {
        self.from()?;
        let whole = |direction: Vec<Rational>| vec![(Rational::ONE, direction, vector.to_vec())];
        let sides: Vec<(Rational, Vec<Rational>, Vec<Rational>)> = match found {
            Membership::Clarke { direction } | Membership::Vertex { direction } => whole(direction.clone()),
            Membership::Gradient => whole(self.clarke_element(0)?.direction),
            Membership::Hull { weights } => {
                let part = |(i, w): &(usize, Rational)| {
                    let n = gradients.get(*i)?;
                    Some((w.clone(), n.direction.clone(), n.gradient.clone()))
                };
                weights.iter().filter_map(part).collect()
            }
            _ => return Ok(None),
        };
        let Some(normal) = self.normal_form().filter(|_| self.model().is_exact()) else { return Ok(None) };
        let mut out = String::new();
        let written = head(&mut out, "member", normal, self.output()).and_then(|()| {
            out.push_str("vector ");
            self::vector(&mut out, vector)?;
            out.push('\n');
            sides.iter().try_for_each(|(w, d, g)| side(&mut out, Some(&w.fraction()), d, g))
        });
        out.push_str("end\n");
        Ok(written.is_ok().then_some(out))
    }
}
