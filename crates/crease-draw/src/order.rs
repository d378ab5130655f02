//! Order: who stands left of whom in each row.
//!
//! A [`Layered`] graph enters with its rows in any order and leaves with fewer crossings. The price of an order counts
//! crossings, inputs and outputs that do not stand in the order of the program, and arguments that do not arrive in the
//! order in which they are read. The weights are those that give the paper's Figure 1: there the inputs of Q1 stand as b, a, c,
//! which saves one crossing for one exchange, and those of P2 as a, b, c, d although c and d are wanted by both calls.
//!
//! The method is the usual one: sweeps that sort each row by the mean position of its neighbours, each followed by
//! exchanges of neighbours while that lowers the price. The best order seen is kept.

use crate::graph::{Graph, Kind};
use crate::layers::Layered;

const CROSSING: u64 = 10;
const INPUTS_EXCHANGED: u64 = 8;
const ARGUMENTS_EXCHANGED: u64 = 5;
const OUTPUTS_EXCHANGED: u64 = 4;

const SWEEPS: usize = 12;

/// Where arrows arrive at and leave from a node that has places for them, as fractions of its width from left to right.
pub(super) struct Ports {
    pub ins: Vec<f64>,
    pub outs: Vec<f64>,
}

/// Orders the rows.
pub(super) fn order(g: &Graph, layered: &mut Layered, ports: &[Ports]) {
    let start = layered.rows.clone();
    let mut best = (u64::MAX, start.clone());
    // first with the inputs as they are declared, so that this wins when nothing is gained by moving them
    for lowest in [1, 0] {
        let mut state = State::new(g, layered, ports, start.clone());
        for sweep in 0..SWEEPS {
            let rows = state.rows.len();
            if sweep % 2 == 0 {
                (1..rows).for_each(|r| state.sort(r, true));
            } else {
                (lowest..rows.saturating_sub(1)).rev().for_each(|r| state.sort(r, false));
            }
            state.exchange(lowest);
            let price = state.price();
            if price < best.0 {
                best = (price, state.rows.clone());
            }
        }
        state.restore(&best.1);
        state.exchange(0);
        let price = state.price();
        if price < best.0 {
            best = (price, state.rows.clone());
        }
    }
    layered.rows = best.1;
}

struct State<'a> {
    g: &'a Graph,
    layered: &'a Layered,
    rows: Vec<Vec<usize>>,
    at: Vec<usize>,
    /// For each link, how far into its lower and its upper end it is attached: a number between 0 and 1.
    fractions: Vec<(f64, f64)>,
}

impl<'a> State<'a> {
    fn new(g: &'a Graph, layered: &'a Layered, ports: &[Ports], rows: Vec<Vec<usize>>) -> Self {
        let fraction = |v: usize, i: usize, pick: fn(&Ports) -> &Vec<f64>| {
            ports.get(v).and_then(|p| pick(p).get(i)).copied().unwrap_or(0.5)
        };
        let fractions = layered.links.iter();
        let fractions =
            fractions.map(|l| (fraction(l.low, l.result, |p| &p.outs), fraction(l.high, l.arg, |p| &p.ins))).collect();
        let mut state = State { g, layered, at: vec![0; layered.row_of.len()], rows: Vec::new(), fractions };
        state.restore(&rows);
        state
    }

    fn restore(&mut self, rows: &[Vec<usize>]) {
        self.rows = rows.to_vec();
        for row in &self.rows {
            for (i, &v) in row.iter().enumerate() {
                self.at[v] = i;
            }
        }
    }

    fn low_key(&self, link: usize) -> f64 {
        self.at[self.layered.links[link].low] as f64 + self.fractions[link].0
    }

    fn high_key(&self, link: usize) -> f64 {
        self.at[self.layered.links[link].high] as f64 + self.fractions[link].1
    }

    /// Sorts a row by the mean position of the neighbours in the row below or above.
    fn sort(&mut self, r: usize, by_below: bool) {
        let mut keyed: Vec<(f64, usize)> = self.rows[r]
            .iter()
            .map(|&v| {
                let links = if by_below { &self.layered.down[v] } else { &self.layered.up[v] };
                let sum: f64 = links.iter().map(|&l| if by_below { self.low_key(l) } else { self.high_key(l) }).sum();
                // without neighbours it stays about where it is
                (if links.is_empty() { self.at[v] as f64 + 0.5 } else { sum / links.len() as f64 }, v)
            })
            .collect();
        keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
        self.rows[r] = keyed.into_iter().map(|(_, v)| v).collect();
        for (i, &v) in self.rows[r].iter().enumerate() {
            self.at[v] = i;
        }
    }

    /// Exchanges neighbours in rows from `lowest` up while that helps.
    fn exchange(&mut self, lowest: usize) {
        // each round lowers the price, so the bound is only there to keep large drawings quick
        for _ in 0..20 {
            let mut changed = false;
            for r in lowest..self.rows.len() {
                for i in 1..self.rows[r].len() {
                    let (u, v) = (self.rows[r][i - 1], self.rows[r][i]);
                    if self.pair(v, u) < self.pair(u, v) {
                        self.rows[r].swap(i - 1, i);
                        self.at[u] = i;
                        self.at[v] = i - 1;
                        changed = true;
                    }
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// The part of the price that depends on `u` standing left of its neighbour `v`.
    fn pair(&self, u: usize, v: usize) -> u64 {
        let crossings = |a: &[usize], b: &[usize], key: &dyn Fn(usize) -> f64| {
            let mut right: Vec<f64> = b.iter().map(|&l| key(l)).collect();
            right.sort_by(f64::total_cmp);
            a.iter().map(|&l| right.partition_point(|&k| k < key(l)) as u64).sum::<u64>()
        };
        let (down, up) = (&self.layered.down, &self.layered.up);
        let crossings =
            crossings(&down[u], &down[v], &|l| self.low_key(l)) + crossings(&up[u], &up[v], &|l| self.high_key(l));
        CROSSING * crossings + self.declared(u, v) + self.arguments(u, v)
    }

    /// The price of `u` anywhere left of `v` among inputs and outputs.
    fn declared(&self, u: usize, v: usize) -> u64 {
        let (Some(a), Some(b)) = (self.g.nodes.get(u), self.g.nodes.get(v)) else { return 0 };
        match (a.kind, b.kind) {
            (Kind::Input, Kind::Input) if a.position > b.position => INPUTS_EXCHANGED,
            (Kind::Output, Kind::Output) if a.position > b.position => OUTPUTS_EXCHANGED,
            _ => 0,
        }
    }

    /// The price of `u` anywhere left of `v` as bringers of arguments to the same operations.
    fn arguments(&self, u: usize, v: usize) -> u64 {
        let mut price = 0;
        for &l in &self.layered.up[u] {
            let a = &self.layered.links[l];
            if self.g.nodes.get(a.high).is_some_and(|t| t.ordered && t.inside.is_none()) {
                let after = |&m: &usize| self.layered.links[m].high == a.high && self.layered.links[m].arg < a.arg;
                price += ARGUMENTS_EXCHANGED * self.layered.up[v].iter().filter(|m| after(m)).count() as u64;
            }
        }
        price
    }

    /// The price of the whole order.
    fn price(&self) -> u64 {
        let mut price = 0;
        for row in &self.rows {
            let mut keys: Vec<(f64, f64)> = Vec::new();
            for &v in row {
                keys.extend(self.layered.up[v].iter().map(|&l| (self.low_key(l), self.high_key(l))));
                // arguments of one operation: pairs of its links
                let down = &self.layered.down[v];
                if self.g.nodes.get(v).is_some_and(|t| t.ordered && t.inside.is_none()) {
                    let mut seen: Vec<(f64, usize)> =
                        down.iter().map(|&l| (self.low_key(l), self.layered.links[l].arg)).collect();
                    seen.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                    price += ARGUMENTS_EXCHANGED * inversions(seen.into_iter().map(|(_, arg)| arg as f64));
                }
            }
            keys.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
            price += CROSSING * inversions(keys.into_iter().map(|(_, high)| high));
            for (kind, each) in [(Kind::Input, INPUTS_EXCHANGED), (Kind::Output, OUTPUTS_EXCHANGED)] {
                let of_kind = row.iter().filter_map(|&v| self.g.nodes.get(v)).filter(|t| t.kind == kind);
                price += each * inversions(of_kind.map(|t| t.position as f64));
            }
        }
        price
    }
}

/// The number of pairs that stand in descending order.
fn inversions(keys: impl Iterator<Item = f64>) -> u64 {
    let mut seen: Vec<f64> = Vec::new();
    let mut total = 0;
    for key in keys {
        let at = seen.partition_point(|&k| k <= key);
        total += (seen.len() - at) as u64;
        seen.insert(at, key);
    }
    total
}

#[cfg(test)]
mod tests {
    #[test]
    fn inversions_are_counted() {
        let count = |keys: &[f64]| super::inversions(keys.iter().copied());
        assert_eq!((count(&[1.0, 2.0, 2.0]), count(&[3.0, 2.0, 1.0]), count(&[2.0, 1.0, 2.0])), (0, 3, 1));
    }
}
