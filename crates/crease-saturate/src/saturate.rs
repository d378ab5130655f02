//! Saturation of one region: a small scalar program enters, a cheaper one over the dictionary leaves.

use crate::emit::emit;
use crate::extract::extract;
use crate::graph::{Loaded, load};
use crate::language::{Facts, Node};
use crate::rules::{laws, passes};
use crate::weigh::Weights;
use crate::{Limit, Options, Progress};
use crease_core::cost::cost;
use crease_core::dictionary::Dictionary;
use crease_core::{BuildError, Program};
use egg::{BackoffScheduler, Rewrite, RewriteScheduler};
use std::collections::BTreeSet;

/// How saturation of one region ended.
pub struct Saturated {
    /// The cheapest program found; nothing if the dictionary cannot say it.
    pub program: Option<Program>,
    pub iterations: usize,
    pub nodes: usize,
    pub limits: BTreeSet<Limit>,
    /// Whether nothing in the e-graph is cheaper.
    pub optimal: bool,
}

/// Saturates and extracts.
pub fn saturate(p: &Program, o: &Options<'_>) -> Result<Saturated, BuildError> {
    let Loaded { mut graph, roots } = load(p, &o.limits.saturation);
    let laws: Vec<Rewrite<_, _>> = laws();
    let mut scheduler: Box<dyn RewriteScheduler<Node, Facts>> =
        Box::new(BackoffScheduler::default().with_initial_match_limit(o.limits.saturation.matches).with_ban_length(3));
    let mut limits = BTreeSet::new();
    let mut iterations = 0;
    'iterate: loop {
        if iterations == o.limits.rounds {
            limits.insert(Limit::Iterations);
            break;
        }
        let before = (graph.total_size(), graph.number_of_classes());
        let mut matches = Vec::with_capacity(laws.len());
        for law in &laws {
            matches.push(scheduler.search_rewrite(iterations, &graph, law));
            if let Some(stop) = o.limits.stopped() {
                limits.insert(stop.into());
                break 'iterate;
            }
        }
        for (law, found) in laws.iter().zip(matches) {
            if graph.total_size() > o.limits.terms {
                break;
            }
            scheduler.apply_rewrite(iterations, &mut graph, law, found);
        }
        passes(&mut graph, o.dictionary, o.limits.terms);
        graph.rebuild();
        iterations += 1;
        let nodes = graph.total_size();
        if let Some(watch) = o.watch {
            watch(&Progress { iterations, nodes });
        }
        if o.limits.cancel.is_stopped() {
            limits.insert(Limit::Stopped);
            break;
        }
        if nodes > o.limits.terms {
            limits.insert(Limit::Nodes);
            break;
        }
        let saturated = before == (graph.total_size(), graph.number_of_classes());
        if saturated && scheduler.can_stop(iterations) {
            break;
        }
    }
    let nodes = graph.total_size();
    let mut saturated = Saturated { program: None, iterations, nodes, limits, optimal: false };
    if graph.analysis.contradiction {
        // the program divides by zero everywhere: it is no function
        return Ok(saturated);
    }
    // where the search does not end, a smaller dictionary sometimes leads to a cheaper program than a larger one
    let mut best = None;
    for &dictionary in within(o.dictionary) {
        let mut weights = Weights::new(p, o.prices, dictionary);
        let Some(extracted) = extract(&graph, &roots, &mut weights, &o.limits) else { continue };
        // what cannot be written down is not found
        let Some(q) = emit(p, &graph, &extracted, &roots)? else { continue };
        let price = cost(&q).at(o.prices);
        if best.as_ref().is_none_or(|b| price < *b) {
            (best, saturated.program) = (Some(price), Some(q));
        }
        if extracted.optimal && dictionary == o.dictionary {
            saturated.optimal = true;
            break;
        }
    }
    Ok(saturated)
}

/// A dictionary and some that it contains.
fn within(dictionary: Dictionary) -> &'static [Dictionary] {
    match dictionary {
        Dictionary::Extended => &[Dictionary::Extended, Dictionary::ReluDerived, Dictionary::D0],
        Dictionary::ReluDerived => &[Dictionary::ReluDerived, Dictionary::Relu],
        Dictionary::Relu => &[Dictionary::Relu],
        Dictionary::D0 => &[Dictionary::D0],
        Dictionary::Polynomial => &[Dictionary::Polynomial],
    }
}
