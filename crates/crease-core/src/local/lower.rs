//! Nonsmooth operations as maxima of linear forms: what is left of each at a tie.

use super::NodeId;
use super::localize::{Local, LocalError, Localizer};
use super::weigh::Tie;
use crate::flow::curvature::Class;
use crate::number::{Mixed, Number, Rational};
use crate::op::{Kink, Ties};
use std::cmp::Ordering;

/// The units of work that a product of a row with a vector takes for each number.
const PRODUCT: u64 = 48;

/// The units of work that an exchange of a sort takes.
const EXCHANGE: u64 = 32;

/// The node of a result, and how it varies near the point.
type Derived = (NodeId, Class);

impl Localizer<'_> {
    /// What is left of a kink whose results have these values.
    pub(super) fn kink(&mut self, kink: &Kink, args: &[&Local], values: &[Mixed]) -> Result<Vec<Derived>, LocalError> {
        self.operation = kink.name();
        let (zero, one) = (Mixed::zero(), Mixed::one());
        let x = args[0];
        let derived = match kink {
            Kink::Relu | Kink::Abs | Kink::LeakyRelu(_) | Kink::Elu(_) => self.hinge(kink, x)?,
            Kink::TimesRelu => {
                let (a, b) = (args[0], args[1]);
                let (inner, class) = self.hinge(kink, b)?;
                let rectified = match self.compare(&b.value, &zero)? {
                    Ordering::Greater => b.value.clone(),
                    _ => zero,
                };
                let node = self.linear(&[(&rectified, a.node), (&a.value, inner)])?;
                let vanishes = |x: &Mixed, class| class == Class::Constant && x.exact().is_some_and(Rational::is_zero);
                match vanishes(&rectified, class) || vanishes(&a.value, a.class) {
                    true => (node, Class::Constant),
                    false => (node, a.class.times(class)),
                }
            }
            Kink::Max(_) => self.extreme(kink, args, Ordering::Greater)?,
            Kink::Min(_) => self.extreme(kink, args, Ordering::Less)?,
            Kink::Norm1(_) => {
                let mut terms = Vec::with_capacity(args.len());
                let mut class = Class::Constant;
                for x in args {
                    let size = self.hinge(kink, x)?;
                    terms.push((&one, size.0));
                    class = class.max(size.1);
                }
                (self.linear(&terms)?, class)
            }
            Kink::NormInf(_) => {
                let mut signed = Vec::with_capacity(2 * args.len());
                for &x in args {
                    let down = self.negated(x.node)?;
                    let minus = self.fresh(x.value.neg(), down, x.class);
                    signed.extend([x.clone(), minus]);
                }
                let signed: Vec<&Local> = signed.iter().collect();
                self.extreme(kink, &signed, Ordering::Greater)?
            }
            Kink::Norm2(_) => self.norm2(args, &values[0])?,
            Kink::OrderStatistic(_, k) => self.ranked(kink, args, *k)?,
            Kink::Sort(_) => return self.sorted(kink, args),
            Kink::MaxLinear { rows, .. } => {
                let columns = args.len() / (rows + 1);
                let (a, x) = args.split_at(rows * columns);
                let mut sums = Vec::with_capacity(*rows);
                for r in 0..*rows {
                    self.charge(PRODUCT * columns as u64)?;
                    let row = &a[r * columns..(r + 1) * columns];
                    let products = row.iter().zip(x).map(|(a, x)| a.value.mul(&x.value));
                    let value = products.reduce(|s, y| s.add(&y)).unwrap_or_else(Mixed::zero);
                    let by_a = x.iter().zip(row).map(|(x, a)| (&x.value, a.node));
                    let by_x = row.iter().zip(x).map(|(a, x)| (&a.value, x.node));
                    let node = self.linear(&by_a.chain(by_x).collect::<Vec<_>>())?;
                    let class = Class::largest(row.iter().zip(x).map(|(a, x)| a.class.times(x.class)));
                    sums.push(self.fresh(value, node, class));
                }
                let sums: Vec<&Local> = sums.iter().collect();
                self.extreme(kink, &sums, Ordering::Greater)?
            }
        };
        Ok(vec![derived])
    }

    /// The function of one number whose kink at 0 the operation has.
    fn hinge(&mut self, kink: &Kink, x: &Local) -> Result<Derived, LocalError> {
        if x.class == Class::Constant {
            return Ok((self.zero, Class::Constant));
        }
        let zero = Mixed::zero();
        let order = self.compare(&x.value, &zero)?;
        let none = "it is no function of one number";
        let function = kink.hinge().ok_or_else(|| self.no_derivative(none))?;
        let side = |m: &Self, right: bool| -> Result<(Mixed, Class), LocalError> {
            let both = function.side(&x.value, right).map_err(|e| m.run_error(e.into()))?;
            let (_, slope) = both.ok_or_else(|| m.no_derivative(none))?;
            let class = match slope.exact() {
                Some(s) if s.is_zero() => Class::Constant,
                _ if right || function.facts().is_straight => x.class,
                _ => x.class.bent(),
            };
            Ok((slope, class))
        };
        if order.is_ne() {
            self.margin(&x.value, &zero);
            let (slope, class) = side(self, order.is_gt())?;
            return Ok((self.linear(&[(&slope, x.node)])?, class));
        }
        let (left, right) = (side(self, false)?, side(self, true)?);
        let class = left.1.max(right.1);
        // whatever the slope is, a tangent that vanishes has no other
        if x.node == self.zero {
            return Ok((self.zero, class));
        }
        self.bent = x.class == Class::Curved;
        let arms = [self.linear(&[(&left.0, x.node)])?, self.linear(&[(&right.0, x.node)])?];
        // convex where the right slope is the larger
        let convex = self.compare(&right.0, &left.0)?.is_ge();
        let tie = |_| Tie::Sides(kink.clone());
        let node = if convex { self.max(&arms, tie)? } else { self.min(&arms, tie)? };
        Ok((node, class))
    }

    fn min(&mut self, members: &[NodeId], tie: impl FnOnce(Vec<u32>) -> Tie) -> Result<NodeId, LocalError> {
        let negated = members.iter().map(|&m| self.negated(m)).collect::<Result<Vec<_>, _>>()?;
        let largest = self.max(&negated, tie)?;
        self.negated(largest)
    }

    /// The largest or smallest of several numbers: only those that tie for it remain. Comparisons among the others do not matter,
    /// and neither does whether they can be told.
    fn extreme(&mut self, kink: &Kink, args: &[&Local], which: Ordering) -> Result<Derived, LocalError> {
        let ahead = |a: &Local, b: &Local| a.number != b.number && a.value.compare(&b.value) == Some(which);
        // nothing is certainly ahead of the best, and whoever ties with it is not behind it
        let best = (1..args.len()).fold(0, |best, i| if ahead(args[i], args[best]) { i } else { best });
        let mut tied: Vec<&Local> = Vec::new();
        let mut next: Option<&Local> = None;
        for (i, x) in args.iter().enumerate() {
            if i == best || self.order(x, args[best])?.is_eq() {
                tied.push(x);
            } else if next.is_none_or(|n| ahead(x, n)) {
                next = Some(x);
            }
        }
        let class = Class::largest(tied.iter().map(|x| x.class));
        if let ([one], next) = (&tied[..], next) {
            if let Some(next) = next {
                self.margin(&one.value, &next.value);
            }
            return Ok((one.node, class));
        }
        let signed = matches!(kink, Kink::NormInf(_)) && tied.len() == args.len();
        let tie = |entries| Tie::Tied { kink: kink.clone(), entries, signed };
        self.bent = class == Class::Curved;
        let nodes: Vec<NodeId> = tied.iter().map(|x| x.node).collect();
        Ok((if which == Ordering::Greater { self.max(&nodes, tie)? } else { self.min(&nodes, tie)? }, class))
    }

    /// The element of some rank in ascending order. Only those that are equal to it remain.
    fn ranked(&mut self, kink: &Kink, args: &[&Local], rank: usize) -> Result<Derived, LocalError> {
        // the order of enclosures that overlap is a guess, and checked against all the others
        let chosen = guessed(args)[rank];
        let (mut below, mut tied) = (0, Vec::new());
        let mut nearest: [Option<&Local>; 2] = [None, None];
        for &x in args {
            let (side, closer) = match self.order(x, chosen)? {
                Ordering::Equal => {
                    tied.push(x);
                    continue;
                }
                Ordering::Less => (0, Ordering::Greater),
                Ordering::Greater => (1, Ordering::Less),
            };
            below += usize::from(side == 0);
            if nearest[side].is_none_or(|n| x.value.compare(&n.value) == Some(closer)) {
                nearest[side] = Some(x);
            }
        }
        let Some(rank) = rank.checked_sub(below).filter(|&r| r < tied.len()) else {
            return Err(self.undecided("which of its elements has that rank"));
        };
        for x in nearest.into_iter().flatten() {
            self.margin(&x.value, &chosen.value);
        }
        let class = Class::largest(tied.iter().map(|x| x.class));
        self.bent = class == Class::Curved;
        let mut nodes: Vec<NodeId> = tied.iter().map(|x| x.node).collect();
        self.exchange(kink, &mut nodes, Some(rank))?;
        Ok((nodes[rank], class))
    }

    /// Numbers in ascending order: the nodes of the sorted values.
    fn sorted(&mut self, kink: &Kink, args: &[&Local]) -> Result<Vec<Derived>, LocalError> {
        let order = guessed(args);
        // of enclosures that overlap the order is a guess; if all neighbours are told apart or equal, it is right
        let mut starts = vec![0];
        for end in 1..order.len() {
            match self.order(order[end - 1], order[end])? {
                Ordering::Equal => {}
                Ordering::Less => {
                    self.margin(&order[end].value, &order[end - 1].value);
                    starts.push(end);
                }
                Ordering::Greater => return Err(self.undecided("the order of its elements")),
            }
        }
        let mut out = Vec::with_capacity(order.len());
        for (g, &start) in starts.iter().enumerate() {
            let end = starts.get(g + 1).copied().unwrap_or(order.len());
            let class = Class::largest(order[start..end].iter().map(|x| x.class));
            self.bent = class == Class::Curved;
            let mut nodes: Vec<NodeId> = order[start..end].iter().map(|x| x.node).collect();
            self.exchange(kink, &mut nodes, None)?;
            out.extend(nodes.into_iter().map(|n| (n, class)));
        }
        Ok(out)
    }

    /// Sorts a group of equal numbers by Batcher's merge exchange, of the order of n log^2 n exchanges, each one maximum: the smaller
    /// of two is their sum less the larger. For each exchange it is noted whether it takes place when the first of tied elements is
    /// wanted at a rank, or in a sort when tied elements keep their order; and the same for the last.
    fn exchange(&mut self, kink: &Kink, group: &mut [NodeId], rank: Option<usize>) -> Result<(), LocalError> {
        let one = Mixed::one();
        let minus = one.neg();
        let mut wanted = [ranks(group.len(), rank, Ties::First), ranks(group.len(), rank, Ties::Last)];
        for (i, j) in exchanges(group.len()) {
            self.charge(EXCHANGE)?;
            let (a, b) = (group[i], group[j]);
            let moves = wanted.each_mut().map(|w| {
                let up = w[i] > w[j];
                if up {
                    w.swap(i, j);
                }
                up
            });
            let tie = |_| Tie::Exchange { kink: kink.clone(), first: moves[0], last: moves[1] };
            let larger = self.max(&[a, b], tie)?;
            group[i] = self.linear(&[(&one, a), (&one, b), (&minus, larger)])?;
            group[j] = larger;
        }
        Ok(())
    }
}

/// Numbers in ascending order, where that can be told; else by the lower ends of their enclosures. Equal ones keep their order.
fn guessed<'a>(args: &[&'a Local]) -> Vec<&'a Local> {
    let mut order = args.to_vec();
    if args.iter().all(|x| x.value.exact().is_some()) {
        order.sort_by(|a, b| a.value.exact().cmp(&b.value.exact()));
        return order;
    }
    let mut enclosed: Vec<_> = order.into_iter().map(|x| (x.value.enclosure(), x)).collect();
    enclosed.sort_by(|(a, _), (b, _)| a.compare_beginnings(b));
    enclosed.into_iter().map(|(_, x)| x).collect()
}

/// The exchanges that sort n numbers, whatever they are: Batcher's merge exchange, as in Knuth's Algorithm M of section 5.2.2.
fn exchanges(n: usize) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    if n < 2 {
        return out;
    }
    let top = (n - 1).ilog2();
    let mut p = 1usize << top;
    while p > 0 {
        let (mut q, mut r, mut d) = (1usize << top, 0, p);
        loop {
            out.extend((0..n.saturating_sub(d)).filter(|i| i & p == r).map(|i| (i, i + d)));
            if q == p {
                break;
            }
            (d, q, r) = (q - p, q / 2, p);
        }
        p /= 2;
    }
    out
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

#[cfg(test)]
mod tests {
    use super::exchanges;

    /// A network sorts everything if it sorts all sequences of zeros and ones.
    #[test]
    fn exchanges_sort() {
        for n in 0..=13 {
            let network = exchanges(n);
            assert!(network.iter().all(|&(i, j)| i < j && j < n));
            for bits in 0..1u32 << n {
                let mut x: Vec<u32> = (0..n).map(|i| bits >> i & 1).collect();
                for &(i, j) in &network {
                    if x[i] > x[j] {
                        x.swap(i, j);
                    }
                }
                assert!(x.is_sorted(), "{n} {bits:b}");
            }
        }
    }

    #[test]
    fn exchanges_are_few() {
        // n/4 log2(n) (log2(n) + 1), about
        assert!(exchanges(400).len() < 400 * 9 * 10 / 4);
        assert!(exchanges(8193).len() < 8193 * 14 * 15 / 4);
    }
}
