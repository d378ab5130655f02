//! Nonsmooth operations as maxima of linear forms: what is left of each at a tie.

use super::NodeId;
use super::localize::{LocalError, Localizer};
use super::weigh::Tie;
use crate::number::{Mixed, Number};
use crate::op::{Kink, Ties};
use std::cmp::Ordering;

impl Localizer<'_> {
    pub(super) fn kink(&mut self, kink: &Kink, args: &[&Mixed], t: &[NodeId]) -> Result<Vec<NodeId>, LocalError> {
        self.operation = kink.name();
        let (zero, one) = (Mixed::zero(), Mixed::one());
        let node = match kink {
            Kink::Relu => self.hinge(kink, args[0], t[0], &zero, &one),
            Kink::Abs => self.hinge(kink, args[0], t[0], &one.neg(), &one),
            Kink::LeakyRelu(slope) => self.hinge(kink, args[0], t[0], &Mixed::Exact(slope.clone()), &one),
            Kink::Elu(scale) => {
                let scale = Mixed::Exact(scale.clone());
                let left = match args[0].compare(&zero) {
                    Some(Ordering::Equal | Ordering::Greater) => scale,
                    _ => scale.mul(&args[0].exp().map_err(|e| self.no_derivative(e.to_string()))?),
                };
                self.hinge(kink, args[0], t[0], &left, &one)
            }
            Kink::TimesRelu => {
                let inner = self.hinge(kink, args[1], t[1], &zero, &one);
                let rectified = match args[1].compare(&zero) {
                    Some(Ordering::Greater) => args[1].clone(),
                    Some(_) => zero,
                    None => {
                        args[1].interval().relu().map(Mixed::Near).map_err(|e| self.no_derivative(e.to_string()))?
                    }
                };
                self.linear(&[(&rectified, t[0]), (args[0], inner)])
            }
            Kink::Max(_) => self.extreme(kink, args, t, Ordering::Greater),
            Kink::Min(_) => self.extreme(kink, args, t, Ordering::Less),
            Kink::Norm1(_) => {
                let minus = one.neg();
                let sizes: Vec<NodeId> =
                    args.iter().zip(t).map(|(x, &t)| self.hinge(kink, x, t, &minus, &one)).collect();
                let terms: Vec<(&Mixed, NodeId)> = sizes.iter().map(|&s| (&one, s)).collect();
                self.linear(&terms)
            }
            Kink::NormInf(_) => {
                let minus: Vec<Mixed> = args.iter().map(|x| x.neg()).collect();
                let (mut numbers, mut nodes) = (Vec::new(), Vec::new());
                for ((x, minus), &t) in args.iter().zip(&minus).zip(t) {
                    let down = self.negated(t);
                    numbers.extend([x, minus]);
                    nodes.extend([t, down]);
                }
                self.extreme(kink, &numbers, &nodes, Ordering::Greater)
            }
            Kink::OrderStatistic(_, k) => self.sorted(kink, args, t, Some(*k))[*k],
            Kink::Sort(_) => return Ok(self.sorted(kink, args, t, None)),
            Kink::MaxLinear { rows, .. } => {
                let columns = args.len() / (rows + 1);
                let (a, x) = args.split_at(rows * columns);
                let (ta, tx) = t.split_at(rows * columns);
                let (mut numbers, mut nodes) = (Vec::new(), Vec::new());
                for r in 0..*rows {
                    let row = r * columns..(r + 1) * columns;
                    let products = a[row.clone()].iter().zip(x).map(|(a, x)| a.mul(x));
                    numbers.push(products.reduce(|s, y| s.add(&y)).unwrap_or_else(Mixed::zero));
                    let by_a = x.iter().copied().zip(ta[row.clone()].iter().copied());
                    let by_x = a[row].iter().copied().zip(tx.iter().copied());
                    let terms: Vec<(&Mixed, NodeId)> = by_a.chain(by_x).collect();
                    nodes.push(self.linear(&terms));
                }
                let numbers: Vec<&Mixed> = numbers.iter().collect();
                self.extreme(kink, &numbers, &nodes, Ordering::Greater)
            }
        };
        Ok(vec![node])
    }

    /// A function of one variable with its kink at zero and slopes `left` and `right` there.
    fn hinge(&mut self, kink: &Kink, x: &Mixed, t: NodeId, left: &Mixed, right: &Mixed) -> NodeId {
        if t == self.zero {
            return t;
        }
        let zero = Mixed::zero();
        let side = self.order(x, &zero);
        if side.is_ne() {
            self.margin(x, &zero);
            return self.linear(&[(if side.is_lt() { left } else { right }, t)]);
        }
        let arms = [self.linear(&[(left, t)]), self.linear(&[(right, t)])];
        // convex where the right slope is the larger
        let convex = self.order(right, left).is_ge();
        let tie = |_| Tie::Sides(kink.clone());
        if convex { self.max(&arms, tie) } else { self.min(&arms, tie) }
    }

    fn min(&mut self, members: &[NodeId], tie: impl FnOnce(Vec<u32>) -> Tie) -> NodeId {
        let negated: Vec<NodeId> = members.iter().map(|&m| self.negated(m)).collect();
        let largest = self.max(&negated, tie);
        self.negated(largest)
    }

    /// The largest or smallest of several numbers: only those that tie for it remain. Comparisons among the others do not matter,
    /// and neither does whether they can be told.
    fn extreme(&mut self, kink: &Kink, args: &[&Mixed], t: &[NodeId], which: Ordering) -> NodeId {
        let apart = |a: &Mixed, b: &Mixed| {
            let rounded = || a.to_f64().partial_cmp(&b.to_f64()).unwrap_or(Ordering::Equal);
            a.compare(b).unwrap_or_else(rounded)
        };
        let ahead = |a: usize, b: usize| apart(args[a], args[b]) == which;
        let best = (1..args.len()).fold(0, |best, i| if ahead(i, best) { i } else { best });
        let mut tied = Vec::new();
        let mut next: Option<usize> = None;
        for i in 0..args.len() {
            if i == best || self.order(args[i], args[best]).is_eq() {
                tied.push(t[i]);
            } else if next.is_none_or(|n| ahead(i, n)) {
                next = Some(i);
            }
        }
        if let (1, Some(n)) = (tied.len(), next) {
            self.margin(args[best], args[n]);
        }
        let signed = matches!(kink, Kink::NormInf(_)) && tied.len() == args.len();
        let tie = |entries| Tie::Tied { kink: kink.clone(), entries, signed };
        if which == Ordering::Greater { self.max(&tied, tie) } else { self.min(&tied, tie) }
    }

    /// Numbers in ascending order: the nodes of the sorted values, or of the one at `only`. Groups of equal numbers are sorted by
    /// exchanges of neighbours, each one maximum: the smaller of two is their sum less the larger.
    fn sorted(&mut self, kink: &Kink, args: &[&Mixed], t: &[NodeId], only: Option<usize>) -> Vec<NodeId> {
        let mut order: Vec<usize> = (0..args.len()).collect();
        if args.iter().all(|x| x.exact().is_some()) {
            order.sort_by(|&i, &j| args[i].exact().cmp(&args[j].exact()));
        } else {
            // comparisons that cannot be told need not be transitive
            for end in 1..order.len() {
                let i = order[end];
                let mut at = end;
                while at > 0 && self.order(args[order[at - 1]], args[i]).is_gt() {
                    order[at] = order[at - 1];
                    at -= 1;
                }
                order[at] = i;
            }
        }
        let mut starts = vec![0];
        for end in 1..order.len() {
            if self.order(args[order[end]], args[order[starts[starts.len() - 1]]]).is_ne() {
                starts.push(end);
            }
        }
        let mut nodes: Vec<NodeId> = order.iter().map(|&i| t[i]).collect();
        for (g, &start) in starts.iter().enumerate() {
            let end = starts.get(g + 1).copied().unwrap_or(order.len());
            let rank = only.map(|k| k.wrapping_sub(start)).filter(|&r| r < end - start);
            // of an order statistic, only its own group matters, and what is next to it
            if start > 0 && (only.is_none() || rank.is_some()) {
                self.margin(args[order[start]], args[order[start - 1]]);
            }
            if end < order.len() && rank.is_some() {
                self.margin(args[order[end]], args[order[end - 1]]);
            }
            if only.is_none() || rank.is_some() {
                self.exchange(kink, &mut nodes[start..end], rank);
            }
        }
        nodes
    }

    /// Sorts a group of equal numbers. For each exchange it is noted whether it takes place when the first of tied elements is
    /// wanted at a rank, or in a sort when tied elements keep their order; and the same for the last.
    fn exchange(&mut self, kink: &Kink, group: &mut [NodeId], rank: Option<usize>) {
        let one = Mixed::one();
        let minus = one.neg();
        let mut wanted = [ranks(group.len(), rank, Ties::First), ranks(group.len(), rank, Ties::Last)];
        for round in 0..group.len() {
            for i in (round % 2..group.len().saturating_sub(1)).step_by(2) {
                let (a, b) = (group[i], group[i + 1]);
                let moves = wanted.each_mut().map(|w| {
                    let up = w[i] > w[i + 1];
                    if up {
                        w.swap(i, i + 1);
                    }
                    up
                });
                let tie = |_| Tie::Exchange { kink: kink.clone(), first: moves[0], last: moves[1] };
                let larger = self.max(&[a, b], tie);
                group[i] = self.linear(&[(&one, a), (&one, b), (&minus, larger)]);
                group[i + 1] = larger;
            }
        }
    }
}

/// Where each of `n` tied elements goes. In a sort they keep their order or are turned round; for an order statistic the first or
/// the last of them goes to its rank, and the others keep their order.
fn ranks(n: usize, rank: Option<usize>, ties: Ties) -> Vec<usize> {
    match (rank, ties) {
        (None, Ties::Last) => (0..n).rev().collect(),
        (None, _) => (0..n).collect(),
        (Some(rank), _) => {
            let chosen = if ties == Ties::Last { n - 1 } else { 0 };
            let mut free = (0..n).filter(|&r| r != rank);
            (0..n).map(|i| if i == chosen { rank } else { free.next().unwrap_or(rank) }).collect()
        }
    }
}
