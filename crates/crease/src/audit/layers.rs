//! Layers of kinks: what they are called, how large they are, and where in a picture a number of one lies.

use crease_core::{Lane, Op, Origin, Program, Shape, Site};
use std::collections::HashMap;

/// A layer of kinks.
pub(super) struct Kinks {
    pub equation: usize,
    pub layer: String,
    pub operation: &'static str,
    /// The shape in which its results are used.
    shape: Shape,
    /// How many kinks it has.
    pub count: usize,
}

impl Kinks {
    /// The place of a number of the layer: its index along each axis that is longer than 1.
    pub fn at(&self, element: usize) -> Vec<usize> {
        let strides = self.shape.strides();
        let axes = self.shape.dims().iter().zip(strides).filter(|(n, _)| **n > 1);
        axes.map(|(n, stride)| element / stride as usize % n).collect()
    }
}

/// The layers of a program in order, by their equations. What is inside calls has the layer of the call.
pub(super) fn layers(p: &Program) -> Vec<Kinks> {
    let mut reshaped: HashMap<usize, Shape> = HashMap::new();
    for e in p.equations() {
        // a pool is computed as a list of windows, and then put in order
        if let (Op::View { layout, shape }, Some(v)) = (e.op, e.args.first().and_then(|a| a.value()))
            && layout.is_identity(shape.len())
            && p.shape(v).len() == shape.len()
        {
            reshaped.entry(v.index()).or_insert_with(|| shape.clone());
        }
    }
    let mut out = Vec::new();
    for (i, e) in p.equations().enumerate() {
        let operation = match e.op {
            Op::Kink(kink) => kink.name(),
            Op::Call(_) => "call",
            Op::Select(_) => "select",
            _ => continue,
        };
        let site = Site::new(p, i);
        let shape = p.shape(e.first);
        let lanes = matches!(e.op, Op::Kink(k) if k.lane() == Some(Lane::Axis));
        let wider = reshaped.get(&e.first.index()).filter(|_| lanes);
        // a place in a text is short; a node of a file has a name
        let origin = site.origin.as_deref();
        let named = match origin.and_then(Origin::in_text) {
            Some(_) => origin.map(Origin::short),
            None => origin.map(|o| o.excerpt().unwrap_or_else(|| o.short())),
        };
        out.push(Kinks {
            equation: i,
            layer: named.unwrap_or_else(|| format!("equation {i}")),
            operation,
            shape: wider.unwrap_or(shape).clone(),
            count: shape.len(),
        });
    }
    out
}
