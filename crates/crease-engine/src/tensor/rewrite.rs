//! The same results for less work: nodes enter and nodes leave. Only where agreement up to rounding is enough.
//!
//! - The sum of the rows of a matrix product is the product with the sum of the rows, which takes a row where there was a matrix.
//! - The sum of relu over a tensor that is not computed here, and its slopes, take one pass over it.
//! - A log-sum-exp over a matrix that would have to be transposed first runs down its columns instead, many at a time.

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
