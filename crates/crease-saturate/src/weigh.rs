//! What a term costs: the library's own tally of its operation, at the given prices, or nothing where the dictionary lacks it.
//!
//! Weights are whole numbers, so that extraction can add and compare them fast: prices times a common denominator, and one for each
//! operation on top, so that of two programs of one price the one with fewer equations is taken. Very long prices are rounded, which
//! only guides the extraction: whether its result is accepted is decided by exact costs.

use crate::language::{Graph, Node};
use crease_core::cost::{Price, Prices, cost};
use crease_core::dictionary::{Dictionary, outside};
use crease_core::{Atom, BuildError, Builder, Op, Program, Rational, Shape};
use egg::{Id, Language};
use std::collections::HashMap;

/// A weight that stands for a price of one is a multiple of this, so that the numbers of equations never add up to it.
const STEP: u64 = 1 << 16;

/// Weighs the terms that stand for equations of one program.
pub struct Weights<'a> {
    source: &'a Program,
    prices: &'a Prices,
    dictionary: Dictionary,
    scale: Rational,
    seen: HashMap<(Op, Vec<bool>), Option<u64>>,
}

impl<'a> Weights<'a> {
    /// Weights at some prices, for terms over a dictionary. Callees are those of `source`.
    pub fn new(source: &'a Program, prices: &'a Prices, dictionary: Dictionary) -> Self {
        let denominator = |x: &Rational| x.small_parts().map(|(_, d)| d).filter(|d| *d <= 1000);
        let scale = match (denominator(&prices.nonlin), denominator(&prices.relu)) {
            (Some(a), Some(b)) => a * b,
            _ => 1 << 20,
        };
        Weights { source, prices, dictionary, scale: Rational::from(scale), seen: HashMap::new() }
    }

    /// The weight of a term; none if the dictionary does not have its operation.
    pub fn of(&mut self, graph: &Graph, node: &Node) -> Option<u64> {
        let Some(op) = node.op(&graph.analysis.ops) else { return Some(0) };
        let known: Vec<bool> = node.children().iter().map(|&id: &Id| graph[id].data.known).collect();
        let key = (op, known);
        if let Some(&weight) = self.seen.get(&key) {
            return weight;
        }
        let weight = self.weigh(&key.0, &key.1);
        self.seen.insert(key, weight);
        weight
    }

    fn weigh(&self, op: &Op, known: &[bool]) -> Option<u64> {
        let p = alone(self.source, op, known).ok()?;
        if !outside(&p, self.dictionary).is_empty() {
            return None;
        }
        Some(self.price(&cost(&p)) + 1)
    }

    fn price(&self, price: &Price) -> u64 {
        let exact = &price.at(self.prices) * &self.scale;
        // at most 2^40 of them, so that sums stay far from the end
        (exact.to_f64().round().clamp(0.0, 2f64.powi(40)) as u64).saturating_mul(STEP)
    }
}

/// A program of one equation, some of whose arguments are constants.
fn alone(source: &Program, op: &Op, known: &[bool]) -> Result<Program, BuildError> {
    let mut b = Builder::new("one");
    let mut args: Vec<Atom> = Vec::with_capacity(known.len());
    for (i, known) in known.iter().enumerate() {
        args.push(if *known { b.constant(2) } else { b.input(format!("x{i}"), Shape::scalar())? });
    }
    let results = b.push_from(source, op, &args)?;
    b.finish(&results)
}
