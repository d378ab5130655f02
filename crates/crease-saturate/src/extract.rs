//! Extraction: one term for each class that is needed, so that the whole costs little, everything shared being paid once.
//!
//! Finding the cheapest is NP-hard. First each class takes the term whose set of classes below it weighs least, until nothing changes; then
//! single choices are changed for as long as that helps; then, within a number of steps, all choices are searched, with the best
//! found so far as a bound. For small programs the search ends, and the result is the cheapest that the e-graph holds.

use crate::language::{Graph, Node};
use crate::weigh::Weights;
use crease_core::Limits;
use egg::{Id, Language};
use std::collections::{BTreeSet, HashMap};

/// The classes that changes and steps of the search go through before either looks at the clock: little enough to be done although time is up.
const UNWATCHED: u64 = 1 << 22;

/// One way to compute a class.
#[derive(Debug)]
struct Choice {
    node: Node,
    weight: u64,
    /// Those of its classes that cost something.
    children: Vec<u32>,
}

/// The choices for all classes that outputs may need.
struct Problem {
    choices: Vec<Vec<Choice>>,
    roots: Vec<u32>,
    /// For leaves, which cost nothing and need nothing.
    ids: Vec<Id>,
}

/// A term for each class that the outputs need, those below first.
pub struct Extracted {
    pub terms: Vec<(Id, Node)>,
    /// Whether nothing in the e-graph is cheaper.
    pub optimal: bool,
}

/// The cheapest terms for the roots that were found; nothing if the dictionary cannot express one of them.
///
/// After the deadline, sharing is seen to only where that takes little time.
pub fn extract(graph: &Graph, roots: &[Id], weights: &mut Weights<'_>, limits: &Limits) -> Option<Extracted> {
    let problem = Problem::new(graph, roots, weights, limits.saturation.alternatives)?;
    let mut chosen = problem.greedy(limits).unwrap_or_else(|| problem.trees());
    let mut best = problem.weight(&chosen).or_else(|| {
        chosen = problem.trees();
        problem.weight(&chosen)
    })?;
    problem.improve(&mut chosen, &mut best, limits);
    let optimal = Search::new(&problem, best, limits).run(&mut chosen);
    problem.improve(&mut chosen, &mut best, limits);
    let order = problem.order(&chosen)?;
    let term = |c: u32| (problem.ids[c as usize], problem.choices[c as usize][chosen[c as usize]].node.clone());
    Some(Extracted { terms: order.into_iter().map(term).collect(), optimal })
}

impl Problem {
    /// The choices for what these roots need, among so many terms for a class.
    fn new(graph: &Graph, roots: &[Id], weights: &mut Weights<'_>, alternatives: usize) -> Option<Self> {
        // the classes that can be reached, in a fixed order
        let mut numbers: HashMap<Id, u32> = HashMap::new();
        let mut ids: Vec<Id> = Vec::new();
        let mut enter = |id: Id, ids: &mut Vec<Id>| {
            let id = graph.find(id);
            *numbers.entry(id).or_insert_with(|| {
                ids.push(id);
                ids.len() as u32 - 1
            })
        };
        let root_numbers: Vec<u32> = roots.iter().map(|&r| enter(r, &mut ids)).collect();
        let mut choices: Vec<Vec<Choice>> = Vec::new();
        while choices.len() < ids.len() {
            let me = choices.len() as u32;
            let mut list: Vec<Choice> = Vec::new();
            for node in &graph[ids[me as usize]].nodes {
                let Some(weight) = weights.of(graph, node) else { continue };
                let mut children: Vec<u32> = node.children().iter().map(|&c| enter(c, &mut ids)).collect();
                children.sort_unstable();
                children.dedup();
                if !children.contains(&me) {
                    list.push(Choice { node: node.clone(), weight, children });
                }
            }
            choices.push(list);
        }
        let mut problem = Problem { choices, roots: root_numbers, ids };
        problem.settle(alternatives)?;
        Some(problem)
    }

    /// Drops what needs a class that cannot be computed, or more than another choice, and of what is left all but the lightest; nothing if a root is lost.
    fn settle(&mut self, alternatives: usize) -> Option<()> {
        let mut possible = vec![false; self.choices.len()];
        loop {
            let mut changed = false;
            // what a class needs mostly has a larger number
            for c in (0..self.choices.len()).rev() {
                let can = |choice: &Choice| choice.children.iter().all(|&d| possible[d as usize]);
                if !possible[c] && self.choices[c].iter().any(can) {
                    possible[c] = true;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        let free: Vec<bool> = self.choices.iter().map(|l| l.iter().any(|c| c.node.is_leaf())).collect();
        for list in &mut self.choices {
            list.retain(|choice| choice.children.iter().all(|&d| possible[d as usize]));
            for choice in list.iter_mut() {
                choice.children.retain(|&d| !free[d as usize]);
            }
            list.sort_by(|a, b| (a.weight, a.children.len(), &a.node).cmp(&(b.weight, b.children.len(), &b.node)));
            let mut kept: Vec<Choice> = Vec::new();
            for choice in list.drain(..) {
                let worse = kept.iter().any(|k| k.weight <= choice.weight && within(&k.children, &choice.children));
                if !worse && kept.len() < alternatives.max(1) {
                    kept.push(choice);
                }
            }
            *list = kept;
        }
        self.roots.iter().all(|&r| possible[r as usize]).then_some(())
    }

    /// Each class takes the term whose set of classes below it weighs least; nothing if there is no time for it.
    fn greedy(&self, limits: &Limits) -> Option<Vec<usize>> {
        let n = self.choices.len();
        let mut chosen = vec![0; n];
        let mut sets: Vec<Option<(u64, BTreeSet<u32>)>> = vec![None; n];
        // what a class costs itself, by the choice that it has now
        let mut own = vec![0u64; n];
        for _ in 0..n + 10 {
            let mut changed = false;
            for c in (0..n).rev() {
                if limits.stopped().is_some() {
                    return None;
                }
                for (i, choice) in self.choices[c].iter().enumerate() {
                    let mut set = BTreeSet::from([c as u32]);
                    let complete = choice.children.iter().all(|&d| match &sets[d as usize] {
                        Some((_, below)) if !below.contains(&(c as u32)) => {
                            set.extend(below);
                            true
                        }
                        _ => false,
                    });
                    if !complete {
                        continue;
                    }
                    let below: u64 = set.iter().filter(|&&d| d != c as u32).map(|&d| own[d as usize]).sum();
                    let total = below + choice.weight;
                    if sets[c].as_ref().is_none_or(|(best, _)| total < *best) {
                        sets[c] = Some((total, set));
                        own[c] = choice.weight;
                        chosen[c] = i;
                        changed = true;
                    }
                }
            }
            if !changed {
                break;
            }
        }
        Some(chosen)
    }

    /// Each class takes the term that weighs least as a tree: never in a circle, since all weights but those of leaves are positive.
    fn trees(&self) -> Vec<usize> {
        let n = self.choices.len();
        let mut chosen = vec![0; n];
        let mut best = vec![u64::MAX; n];
        loop {
            let mut changed = false;
            for c in (0..n).rev() {
                for (i, choice) in self.choices[c].iter().enumerate() {
                    let below = choice.children.iter().try_fold(choice.weight.max(1), |sum, &d| {
                        sum.checked_add(best[d as usize]).filter(|_| best[d as usize] != u64::MAX)
                    });
                    if let Some(total) = below
                        && total < best[c]
                    {
                        (best[c], chosen[c], changed) = (total, i, true);
                    }
                }
            }
            if !changed {
                return chosen;
            }
        }
    }

    /// The classes that are needed, those below first; nothing if they need each other in a circle.
    fn order(&self, chosen: &[usize]) -> Option<Vec<u32>> {
        #[derive(Clone, Copy, PartialEq)]
        enum State {
            New,
            Open,
            Done,
        }
        let mut state = vec![State::New; self.choices.len()];
        let mut order = Vec::new();
        let mut stack: Vec<(u32, usize)> = Vec::new();
        for &root in &self.roots {
            if state[root as usize] == State::New {
                state[root as usize] = State::Open;
                stack.push((root, 0));
            }
            while let Some((c, next)) = stack.last_mut() {
                let children = &self.choices[*c as usize].get(chosen[*c as usize])?.children;
                match children.get(*next) {
                    Some(&d) => {
                        *next += 1;
                        match state[d as usize] {
                            State::New => {
                                state[d as usize] = State::Open;
                                stack.push((d, 0));
                            }
                            State::Open => return None,
                            State::Done => {}
                        }
                    }
                    None => {
                        state[*c as usize] = State::Done;
                        order.push(*c);
                        stack.pop();
                    }
                }
            }
        }
        Some(order)
    }

    fn weight(&self, chosen: &[usize]) -> Option<u64> {
        let order = self.order(chosen)?;
        Some(order.iter().map(|&c| self.choices[c as usize][chosen[c as usize]].weight).sum())
    }

    /// Changes single choices for as long as that helps.
    fn improve(&self, chosen: &mut [usize], best: &mut u64, limits: &Limits) {
        let mut left = limits.saturation.changes;
        let mut spent = 0;
        loop {
            let Some(order) = self.order(chosen) else { return };
            let mut changed = false;
            for c in order.into_iter().rev() {
                let c = c as usize;
                for i in 0..self.choices[c].len() {
                    let before = chosen[c];
                    if i == before {
                        continue;
                    }
                    if left == 0 || is_stopped(limits, spent) {
                        return;
                    }
                    left -= 1;
                    spent += self.choices.len() as u64;
                    chosen[c] = i;
                    match self.weight(chosen) {
                        Some(w) if w < *best => (*best, changed) = (w, true),
                        _ => chosen[c] = before,
                    }
                }
            }
            if !changed {
                return;
            }
        }
    }
}

/// Whether time is up, once this much was gone through.
fn is_stopped(limits: &Limits, spent: u64) -> bool {
    spent > UNWATCHED && limits.stopped().is_some()
}

/// Whether all of `a` are in `b`; both in ascending order.
fn within(a: &[u32], b: &[u32]) -> bool {
    let mut b = b.iter();
    a.iter().all(|x| b.by_ref().any(|y| y == x))
}

/// The most classes that the search chooses for at once: each is a level of recursion. Searches of that size do not come to their end anyway.
const DEEPEST: usize = 1000;

/// The search through all choices.
struct Search<'p> {
    problem: &'p Problem,
    best: u64,
    found: Option<HashMap<u32, usize>>,
    limits: &'p Limits,
    /// The steps that are left.
    steps: usize,
    /// The classes that steps went through.
    spent: u64,
    /// The least that a class costs itself.
    least: Vec<u64>,
    chosen: HashMap<u32, usize>,
    pending: BTreeSet<u32>,
}

impl<'p> Search<'p> {
    fn new(problem: &'p Problem, best: u64, limits: &'p Limits) -> Self {
        let least = problem.choices.iter().map(|l| l.iter().map(|c| c.weight).min().unwrap_or(0)).collect();
        let pending = problem.roots.iter().copied().collect();
        let steps = limits.saturation.search;
        Search { problem, best, found: None, limits, steps, spent: 0, least, chosen: HashMap::new(), pending }
    }

    /// Whether the search came to its end. What it found, if that is better, is written into `chosen`.
    fn run(mut self, chosen: &mut [usize]) -> bool {
        let bound = self.pending.iter().map(|&c| self.least[c as usize]).sum();
        let ended = self.go(0, bound);
        for (c, i) in self.found.into_iter().flatten() {
            chosen[c as usize] = i;
        }
        ended
    }

    /// `spent` is what the choices made cost, `bound` the least that the pending classes will.
    fn go(&mut self, spent: u64, bound: u64) -> bool {
        let Some(&c) = self.pending.iter().min_by_key(|&&c| (self.problem.choices[c as usize].len(), c)) else {
            if spent < self.best {
                self.best = spent;
                self.found = Some(self.chosen.clone());
            }
            return true;
        };
        self.pending.remove(&c);
        let mut ended = true;
        for (i, choice) in self.problem.choices[c as usize].iter().enumerate() {
            let rest = bound - self.least[c as usize];
            if spent + choice.weight + rest >= self.best {
                break; // they are in the order of their weights
            }
            if self.steps == 0 || self.chosen.len() >= DEEPEST || is_stopped(self.limits, self.spent) {
                ended = false;
                break;
            }
            self.steps -= 1;
            self.spent += self.pending.len() as u64 + 1;
            let fresh: Vec<u32> = choice
                .children
                .iter()
                .copied()
                .filter(|d| !self.chosen.contains_key(d) && !self.pending.contains(d))
                .collect();
            let more: u64 = fresh.iter().map(|&d| self.least[d as usize]).sum();
            if spent + choice.weight + rest + more >= self.best || self.reaches(&choice.children, c) {
                continue;
            }
            self.chosen.insert(c, i);
            self.pending.extend(&fresh);
            ended &= self.go(spent + choice.weight, rest + more);
            for d in &fresh {
                self.pending.remove(d);
            }
            self.chosen.remove(&c);
            if !ended {
                break;
            }
        }
        self.pending.insert(c);
        ended
    }

    /// Whether a class is needed by what has been chosen for others.
    fn reaches(&self, from: &[u32], to: u32) -> bool {
        let mut stack = from.to_vec();
        let mut seen = BTreeSet::new();
        while let Some(d) = stack.pop() {
            if d == to {
                return true;
            }
            if let Some(&i) = self.chosen.get(&d)
                && seen.insert(d)
            {
                stack.extend(&self.problem.choices[d as usize][i].children);
            }
        }
        false
    }
}
