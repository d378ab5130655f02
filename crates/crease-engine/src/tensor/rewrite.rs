//! The same results for less work: nodes enter and nodes leave. Only where agreement up to rounding is enough.
//!
//! - The sum of the rows of a matrix product is the product with the sum of the rows, which takes a row where there was a matrix.
//! - The sum of relu over a tensor that is not computed here, and its slopes, take one pass over it.
//! - Where relu goes before a maximum over windows, its slope is asked of what was chosen, and not of all numbers; and behind both only what was chosen
//!   goes back through a convolution.
//! - A log-sum-exp over a matrix that would have to be transposed first runs down its columns instead, many at a time.

use super::chosen::Chosen;
use super::guard::{Need, needs};
use super::lower::{Arg, Buf, Kind, Matrix, Node, Nodes};
use super::pattern::{Uses, buffer, copied, uses};
use crate::float::Float;
use crate::unit::{LaneOp, Pick, Unit};
use crease_core::{Layout, Ties};
use std::collections::{HashMap, HashSet};

/// Replaces what can be had for less.
pub(crate) fn rewrite<T: Float>(n: &mut Nodes<T>) {
    sums_of_products(n);
    across(n);
    sums_of_relu(n);
    slopes_of_chosen(n);
    adjoints_of_chosen(n);
}

/// Products of what goes back through a maximum over windows with the slopes of a relu in front of it: the slope where a number was chosen is that of the maximum, if it is
/// 0 at 0, and elsewhere 0 is multiplied. What lies in no window might be NaN without the maximum knowing it, so all must lie in one.
fn slopes_of_chosen<T: Float>(n: &mut Nodes<T>) {
    let u = uses(n);
    let mut first: HashMap<usize, Vec<Node<T>>> = HashMap::new();
    let mut gone: HashSet<usize> = HashSet::new();
    let slope = Unit::Slope(T::ZERO, T::ZERO, T::ONE);
    for i in 0..n.nodes.len() {
        let Kind::Unpool(pool) = &n.nodes[i].kind else { continue };
        if !pool.tiles && !pool.windows.cover(n.lens[pool.out as usize]) {
            continue;
        }
        let Some(times) = only_reader(n, &u, pool.out) else { continue };
        let Kind::Unit(Unit::Mul, args) = &n.nodes[times].kind else { continue };
        let [Arg::Direct(a), Arg::Direct(b)] = args[..] else { continue };
        let slopes = if a == pool.out { b } else { a };
        let argument = |b: Buf, of: Unit<T>| match &n.nodes[u.maker[b as usize]?].kind {
            Kind::Unit(unit, args) if *unit == of => match args[..] {
                [Arg::Direct(x)] => Some(x),
                _ => None,
            },
            _ => None,
        };
        let Some(Kind::Pool(maximum)) = u.maker[pool.values as usize].map(|m| &n.nodes[m].kind) else { continue };
        let before = argument(slopes, slope);
        if before.is_none() || before != argument(maximum.image, Unit::Relu) {
            continue;
        }
        let (mut pool, product) = (pool.clone(), n.nodes[times].out[0]);
        let adjoint = match pool.adjoint {
            (b, None) => Arg::Direct(b),
            (b, Some((layout, _))) => Arg::Through(b, layout),
        };
        let count = n.lens[pool.values as usize];
        let [slopes, less] = [buffer(n, count), buffer(n, count)];
        let unit = |unit, args, out| Node { kind: Kind::Unit(unit, args), out: vec![out] };
        first.insert(
            i,
            vec![
                unit(slope, vec![Arg::Direct(pool.values)], slopes),
                unit(Unit::Mul, vec![adjoint, Arg::Direct(slopes)], less),
            ],
        );
        (pool.adjoint, pool.out) = ((less, None), product);
        n.nodes[i] = Node { kind: Kind::Unpool(pool), out: vec![product] };
        gone.insert(times);
    }
    let old = std::mem::take(&mut n.nodes);
    for (i, node) in old.into_iter().enumerate() {
        n.nodes.extend(first.remove(&i).into_iter().flatten());
        if !gone.contains(&i) {
            n.nodes.push(node);
        }
    }
}

/// What goes back through a maximum over windows and then through a convolution, and is added up for each channel perhaps. It is the adjoint of the convolution that looks whether all is
/// finite, so a sum is only taken of what was chosen if that is needed whenever the sum is.
fn adjoints_of_chosen<T: Float>(n: &mut Nodes<T>) {
    if !n.nodes.iter().any(|node| matches!(node.kind, Kind::Unpool(_))) {
        return;
    }
    let u = uses(n);
    let needs = needs(&n.nodes, &n.lens, n.outputs.iter().chain(&n.truths).copied());
    let mut gone: HashSet<usize> = HashSet::new();
    for i in 0..n.nodes.len() {
        let Kind::Unpool(pool) = &n.nodes[i].kind else { continue };
        let (out, adjoint) = (pool.out, pool.adjoint.0);
        if pool.adjoint.1.is_some() || n.outputs.contains(&out) {
            continue;
        }
        let mut steps: Vec<(usize, Chosen)> = Vec::new();
        let mut sums: Vec<(usize, &Layout)> = Vec::new();
        let mut all = true;
        for &reader in &u.readers[out as usize] {
            match &n.nodes[reader].kind {
                Kind::Conv(conv, pass) if conv.values == out => {
                    let found = Chosen::new::<T>(conv, *pass, pool);
                    all &= found.is_some();
                    steps.extend(found.map(|chosen| (reader, chosen)));
                }
                Kind::Assemble(pieces) => match &pieces[..] {
                    [(Arg::Direct(b), layout)] if *b == out => sums.push((reader, layout)),
                    _ => all = false,
                },
                _ => all = false,
            }
        }
        let Some([values, places]) = steps.first().map(|(_, chosen)| chosen.values()) else { continue };
        let sums: Option<Vec<(usize, Layout)>> =
            sums.into_iter().map(|(reader, layout)| Some((reader, fewer(layout, values, places)?))).collect();
        let (true, Some(sums)) = (all, sums) else { continue };
        let need = |node: usize| n.nodes[node].out.iter().fold(Need::Never, |all, &b| all.and(needs[b as usize]));
        let looks = steps.iter().fold(Need::Never, |all, (step, _)| all.and(need(*step)));
        if looks != Need::Always && sums.iter().any(|(sum, _)| need(*sum) != looks) {
            continue;
        }
        for (reader, layout) in sums {
            n.nodes[reader].kind = Kind::Assemble(vec![(Arg::Direct(adjoint), layout)]);
        }
        let mut steps = steps.into_iter();
        if let Some((at, chosen)) = steps.next() {
            let mut chosen = chosen;
            for (later, other) in steps {
                // both at once, if all is there by then that the later one reads
                let node = Node { kind: Kind::<T>::Chosen(other.clone()), out: Vec::new() };
                let there = node.reads().iter().all(|(b, _)| u.maker[*b as usize].is_none_or(|m| m < at));
                match if there { chosen.clone().joined(other) } else { Err(other) } {
                    Ok(both) => {
                        chosen = both;
                        gone.insert(later);
                    }
                    Err(other) => n.nodes[later] = chosen_node(other),
                }
            }
            n.nodes[at] = chosen_node(chosen);
        }
    }
    let mut i = 0;
    n.nodes.retain(|_| {
        i += 1;
        !gone.contains(&(i - 1))
    });
}

fn chosen_node<T>(chosen: Chosen) -> Node<T> {
    let out = [chosen.kernels, chosen.image].into_iter().flatten().map(|(_, out)| out).collect();
    Node { kind: Kind::Chosen(chosen), out }
}

/// The index map of a sum over parts of equal size each of which goes into one cell, where of the numbers of a part only so many are left.
fn fewer(layout: &Layout, part: usize, left: usize) -> Option<Layout> {
    let Layout::Strided { offset, dims } = layout else { return None };
    let inner = dims.iter().rev().take_while(|d| d.stride == 0).count();
    let (outer, inner) = dims.split_at(dims.len() - inner);
    let together: usize = inner.iter().map(|d| d.size).product();
    let outer = outer.iter().map(|d| (d.size, d.stride));
    let sum = (together / part * left, 0);
    together.is_multiple_of(part).then(|| Layout::strided(*offset, &outer.chain([sum]).collect::<Vec<_>>()))
}

/// The only one who reads a buffer, if nobody outside does.
fn only_reader<T>(n: &Nodes<T>, u: &Uses, b: Buf) -> Option<usize> {
    match u.readers[b as usize][..] {
        [reader] if !n.outputs.contains(&b) => Some(reader),
        _ => None,
    }
}

/// The sum of relu of all numbers of a buffer. Not of one that an elementwise node computes: the sum joins its group, and the numbers
/// need not be written down.
fn sums_of_relu<T: Float>(n: &mut Nodes<T>) {
    let u = uses(n);
    for i in 0..n.nodes.len() {
        let Kind::Assemble(pieces) = &n.nodes[i].kind else { continue };
        let [(Arg::Direct(terms), layout)] = &pieces[..] else { continue };
        let (len, out) = (n.lens[*terms as usize], n.nodes[i].out[0]);
        if n.lens[out as usize] != 1 || layout.len() != len || len < LONG {
            continue;
        }
        let Some(maker) = private(n, &u, *terms) else { continue };
        let Kind::Unit(Unit::Relu, args) = &n.nodes[maker].kind else { continue };
        let [Arg::Direct(src)] = args[..] else { continue };
        if n.lens[src as usize] != len
            || u.maker[src as usize].is_some_and(|m| matches!(n.nodes[m].kind, Kind::Unit(..)))
        {
            continue;
        }
        // its slopes, if somebody wants them; they may be asked for before the sum is
        let slopes = u.readers[src as usize].iter().copied().find_map(|r| match &n.nodes[r].kind {
            Kind::Unit(Unit::Slope(left, at, right), args)
                if matches!(args[..], [Arg::Direct(_)]) && (*left, *right) == (T::ZERO, T::ONE) =>
            {
                Some((r, *at))
            }
            _ => None,
        });
        let lane = |pick| Kind::Lane { op: LaneOp::SumRelu, pick, src, second: None, n: len, count: 1 };
        match slopes {
            None => n.nodes[i].kind = lane(None),
            Some((reader, at)) => {
                let pick = Pick { at, ties: Ties::First };
                let (first, second) = (reader.min(i), reader.max(i));
                let slopes = n.nodes[reader].out[0];
                n.nodes[first] = Node { kind: lane(Some(pick)), out: vec![out, slopes] };
                // nobody reads this one
                let unused = buffer(n, 1);
                n.nodes[second] = Node { kind: Kind::Unit(Unit::Copy, vec![Arg::Const(T::ZERO)]), out: vec![unused] };
            }
        }
    }
}

/// Sums of fewer numbers are left to groups.
const LONG: usize = 1024;

/// The node that alone makes a buffer which one node alone reads, and nobody outside.
fn private<T>(n: &Nodes<T>, u: &Uses, b: Buf) -> Option<usize> {
    (u.readers[b as usize].len() == 1 && !n.outputs.contains(&b)).then(|| u.maker[b as usize]).flatten()
}

fn sums_of_products<T: Float>(n: &mut Nodes<T>) {
    let u = uses(n);
    // sums of first factors, each behind the node that makes the factor
    let mut sums: HashMap<usize, Vec<Node<T>>> = HashMap::new();
    let mut gone: HashSet<usize> = HashSet::new();
    for i in 0..n.nodes.len() {
        let Some((negation, product)) = summed_product(n, &u, i) else { continue };
        let Kind::MatMul { a, b, size: [m, columns, k, batch], .. } = n.nodes[product].kind else { continue };
        // summed by the node that makes it, if it is one that runs element by element
        let Some(maker) = u.maker[a.buf as usize] else { continue };
        if !matches!(n.nodes[maker].kind, Kind::Unit(..)) {
            continue;
        }
        let sum = buffer(n, batch * k);
        let down = Layout::strided(0, &[(batch, k as isize), (m, 0), (k, 1)]);
        let kind = Kind::Assemble(vec![(Arg::Direct(a.buf), down)]);
        sums.entry(maker).or_default().push(Node { kind, out: vec![sum] });
        let row = Matrix { buf: sum, offset: 0, batch: k as isize, row: k as isize, column: 1 };
        let out = n.nodes[i].out[0];
        let to = if negation.is_some() { buffer(n, batch * columns) } else { out };
        let kind = Kind::MatMul { a: row, b, size: [1, columns, k, batch], stands_for_sum: true };
        n.nodes[product] = Node { kind, out: vec![to] };
        if let Some(minus) = negation {
            n.nodes[minus] = Node { kind: Kind::Unit(Unit::Neg, vec![Arg::Direct(to)]), out: vec![out] };
        }
        gone.insert(i);
    }
    let old = std::mem::take(&mut n.nodes);
    for (i, node) in old.into_iter().enumerate() {
        if !gone.contains(&i) {
            n.nodes.push(node);
        }
        n.nodes.extend(sums.remove(&i).into_iter().flatten());
    }
}

/// The product whose rows node number `i` adds up, and the negation in between, if there is one. The first factor lies in order.
fn summed_product<T: Float>(n: &Nodes<T>, u: &Uses, i: usize) -> Option<(Option<usize>, usize)> {
    let Kind::Assemble(pieces) = &n.nodes[i].kind else { return None };
    let [(Arg::Direct(terms), layout)] = &pieces[..] else { return None };
    let mut product = private(n, u, *terms)?;
    let mut negation = None;
    if let Kind::Unit(Unit::Neg, args) = &n.nodes[product].kind {
        let [Arg::Direct(b)] = args[..] else { return None };
        negation = Some(product);
        product = private(n, u, b)?;
    }
    let Kind::MatMul { a, size: [m, columns, k, batch], .. } = n.nodes[product].kind else { return None };
    let in_order = (a.offset, a.row, a.column) == (0, k as isize, 1)
        && (batch == 1 || a.batch == (m * k) as isize)
        && n.lens[a.buf as usize] == batch * m * k;
    let down = Layout::strided(0, &[(batch, columns as isize), (m, 0), (columns, 1)]);
    let rows = m > 1 && *layout == down && n.lens[n.nodes[i].out[0] as usize] == batch * columns;
    (in_order && rows).then_some((negation, product))
}

/// Log-sum-exp of the columns of a matrix.
fn across<T: Float>(n: &mut Nodes<T>) {
    let u = uses(n);
    for i in 0..n.nodes.len() {
        let Kind::Lane { op: LaneOp::LogSumExp, pick, src, second: None, n: rows, count } = n.nodes[i].kind else {
            continue;
        };
        let Some((matrix, layout)) = u.maker[src as usize].and_then(|m| copied(&n.nodes[m])) else { continue };
        let columns = Layout::strided(0, &[(count, 1), (rows, count as isize)]);
        if *layout != columns || rows < 2 || count < 2 || n.lens[matrix as usize] != rows * count {
            continue;
        }
        let mut out = vec![n.nodes[i].out[0]];
        if pick.is_some() {
            let old = n.nodes[i].out[1];
            let Some(moved) = moved(n, &u, old, &columns) else { continue };
            let new = buffer(n, rows * count);
            for (reader, k, layout) in moved {
                let arg = if layout.is_identity(rows * count) { Arg::Direct(new) } else { Arg::Through(new, layout) };
                match &mut n.nodes[reader].kind {
                    Kind::Unit(_, args) => args[k] = arg,
                    Kind::Assemble(pieces) => pieces[k].0 = arg,
                    _ => {}
                }
            }
            out.push(new);
        }
        n.nodes[i] = Node { kind: Kind::Across { src: matrix, rows, count }, out };
    }
}

/// Where a buffer is read, and through which index maps once it lies the other way round.
fn moved<T>(n: &Nodes<T>, u: &Uses, old: Buf, columns: &Layout) -> Option<Vec<(usize, usize, Layout)>> {
    if n.outputs.contains(&old) {
        return None;
    }
    let mut found = Vec::new();
    for &reader in &u.readers[old as usize] {
        let args: Vec<&Arg<T>> = match &n.nodes[reader].kind {
            Kind::Unit(_, args) => args.iter().collect(),
            Kind::Assemble(pieces) => pieces.iter().map(|(a, _)| a).collect(),
            _ => return None,
        };
        for (k, arg) in args.into_iter().enumerate() {
            match arg {
                Arg::Direct(b) if *b == old => found.push((reader, k, columns.clone())),
                Arg::Through(b, l) if *b == old => found.push((reader, k, l.after(columns))),
                _ => {}
            }
        }
    }
    Some(found)
}
