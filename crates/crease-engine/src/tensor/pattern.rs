//! Recognising what programs say with views, products and maxima: convolutions and pooling, forward and backward.
//!
//! Nodes enter and nodes leave. Only where agreement up to rounding is enough: sums are taken in another order, and an
//! adjoint that a maximum does not pass on is 0 whatever it is multiplied by.

use super::lower::{Arg, Buf, Kind, Matrix, Node, Nodes, Origin};
use super::pool::{Pool, Unpool};
use super::walk::{Walk, axes};
use super::windows::{Conv, Pass, Windows};
use crate::float::Float;
use crate::unit::{LaneOp, Unit};
use crease_core::shape::Dim;
use crease_core::{Layout, Ties};

/// Who makes and who reads each buffer.
pub(crate) struct Uses {
    pub maker: Vec<Option<usize>>,
    pub readers: Vec<Vec<usize>>,
}

pub(crate) fn uses<T>(n: &Nodes<T>) -> Uses {
    let mut u = Uses { maker: vec![None; n.lens.len()], readers: vec![Vec::new(); n.lens.len()] };
    for (i, node) in n.nodes.iter().enumerate() {
        node.out.iter().for_each(|&b| u.maker[b as usize] = Some(i));
        for (b, _) in node.reads() {
            if u.readers[b as usize].last() != Some(&i) {
                u.readers[b as usize].push(i);
            }
        }
    }
    u
}

/// Replaces what is recognised.
pub(crate) fn recognise<T: Float>(n: &mut Nodes<T>) {
    // values first: how they lie is how maxima find them, and adjoints behind those
    convolutions(n);
    pooling(n);
    adjoints_of_convolutions(n);
    // copies that are no longer needed read nothing
    sweep(n);
    super::rewrite::rewrite(n);
    sweep(n);
}

/// Removes nodes whose results nobody reads any more.
fn sweep<T>(n: &mut Nodes<T>) {
    let mut live = vec![false; n.lens.len()];
    n.outputs.iter().chain(&n.truths).for_each(|&b| live[b as usize] = true);
    let mut kept = vec![false; n.nodes.len()];
    for (i, node) in n.nodes.iter().enumerate().rev() {
        if node.out.iter().any(|&b| live[b as usize]) {
            kept[i] = true;
            node.reads().iter().for_each(|&(b, _)| live[b as usize] = true);
        }
    }
    let mut i = 0;
    n.nodes.retain(|_| {
        i += 1;
        kept[i - 1]
    });
}

/// The buffer and the index map that a node copies from.
pub(crate) fn copied<T>(node: &Node<T>) -> Option<(Buf, &Layout)> {
    match &node.kind {
        Kind::Unit(Unit::Copy, args) => match &args[..] {
            [Arg::Through(b, layout)] => Some((*b, layout)),
            _ => None,
        },
        _ => None,
    }
}

/// Maxima of windows, and the way back through them.
fn pooling<T: Float>(n: &mut Nodes<T>) {
    let u = uses(n);
    for i in 0..n.nodes.len() {
        let Kind::Lane { op: op @ (LaneOp::Max | LaneOp::Min), pick, src, second: None, n: size, count } =
            n.nodes[i].kind
        else {
            continue;
        };
        if pick.is_some_and(|p| !matches!(p.ties, Ties::First | Ties::Last)) {
            continue;
        }
        let Some((image, layout)) = u.maker[src as usize].and_then(|m| copied(&n.nodes[m])) else { continue };
        let layout = layout.clone();
        let Some(windows) = Windows::new(&layout, count, size) else { continue };
        let out = n.nodes[i].out.clone();
        let smallest = op == LaneOp::Min;
        let last = pick.is_some_and(|p| p.ties == Ties::Last);
        let mut pool = Pool { windows, image, smallest, last, values: out[0], winners: None };
        if pick.is_none() {
            n.nodes[i].kind = Kind::Pool(pool);
            continue;
        }
        let weights = out[1];
        let back = match u.readers[weights as usize][..] {
            [times] if !n.outputs.contains(&weights) => way_back(n, &u, times, weights, &layout, (image, size, count)),
            _ => None,
        };
        let Some((adjoint, target, others)) = back else { continue };
        let tiles = layout.inverse(n.lens[target as usize]).is_some();
        let winners = buffer(n, count);
        pool.winners = Some(winners);
        let windows = pool.windows.clone();
        n.nodes[i] = Node { kind: Kind::Pool(pool), out: vec![out[0], winners] };
        let unpool = Unpool { windows, winners, values: out[0], adjoint, tiles, out: target };
        // the product with the weights becomes the way back; what read it through an index map now reads it where it lies
        let [times] = u.readers[weights as usize][..] else { continue };
        n.nodes[times] = Node { kind: Kind::Unpool(unpool), out: vec![target] };
        instead(n, others);
    }
}

/// Another buffer of so many elements.
pub(crate) fn buffer<T>(n: &mut Nodes<T>, len: usize) -> Buf {
    n.lens.push(len);
    n.origins.push(Origin::Computed);
    n.lens.len() as Buf - 1
}

/// The adjoint that is multiplied by the weights of a maximum over windows, the buffer that the products are put into, and who
/// reads them there.
type WayBack<T> = ((Buf, Option<(Layout, Walk)>), Buf, Others<T>);

/// Who reads a buffer, as which argument, and what takes its place.
type Others<T> = Vec<(usize, usize, Arg<T>)>;

/// All that is read of a buffer through index maps, if nothing else is, read from another: what stands at a place there stands at the place that `back` says here, and the maps
/// after it must be loops.
fn read_from<T>(n: &mut Nodes<T>, u: &Uses, old: Buf, new: Buf, back: &Layout) -> Option<Others<T>> {
    let mut others = Vec::new();
    for &reader in &u.readers[old as usize] {
        for (k, a) in arguments(&mut n.nodes[reader].kind)?.into_iter().enumerate() {
            if a.buf() != Some(old) {
                continue;
            }
            let Arg::Through(_, l) = a else { return None };
            let arg = match l.after(back) {
                there if there.is_identity(back.len()) => Arg::Direct(new),
                there @ Layout::Strided { .. } => Arg::Through(new, there),
                Layout::Table(_) => return None,
            };
            others.push((reader, k, arg));
        }
    }
    Some(others)
}

fn instead<T>(n: &mut Nodes<T>, others: Others<T>) {
    for (reader, k, arg) in others {
        if let Some(a) = arguments(&mut n.nodes[reader].kind).into_iter().flatten().nth(k) {
            *a = arg;
        }
    }
}

/// What a node reads through index maps, if that is all that it reads.
fn arguments<T>(kind: &mut Kind<T>) -> Option<Vec<&mut Arg<T>>> {
    match kind {
        Kind::Unit(_, args) => Some(args.iter_mut().collect()),
        Kind::Assemble(pieces) => Some(pieces.iter_mut().map(|(a, _)| a).collect()),
        _ => None,
    }
}

fn way_back<T: Float>(
    n: &mut Nodes<T>,
    u: &Uses,
    times: usize,
    weights: Buf,
    layout: &Layout,
    (image, size, count): (Buf, usize, usize),
) -> Option<WayBack<T>> {
    let Kind::Unit(Unit::Mul, args) = &n.nodes[times].kind else { return None };
    let (adjoint, spread) = match &args[..] {
        [Arg::Through(b, l), Arg::Direct(w)] | [Arg::Direct(w), Arg::Through(b, l)] if *w == weights => (*b, l),
        _ => return None,
    };
    // each adjoint for all members of its lane
    let Layout::Strided { offset, dims } = spread else { return None };
    let (lane, outer) = dims.split_last()?;
    if (lane.size, lane.stride) != (size, 0) {
        return None;
    }
    let loops: Vec<(usize, isize)> = outer.iter().map(|d| (d.size, d.stride)).collect();
    let read = Layout::strided(*offset, &loops);
    if read.len() != count {
        return None;
    }
    let walk = Walk::new(&read);
    let adjoint = (adjoint, (!read.is_identity(n.lens[adjoint as usize])).then_some((read, walk)));
    let product = n.nodes[times].out[0];
    if n.outputs.contains(&product) {
        return None;
    }
    let cells = n.lens[image as usize];
    let readers = &u.readers[product as usize];
    // put into zeros, where windows overlap or leave something out
    if let [reader] = readers[..]
        && let Kind::Assemble(pieces) = &n.nodes[reader].kind
        && let [(Arg::Direct(b), to)] = &pieces[..]
        && *b == product
        && to == layout
        && n.lens[n.nodes[reader].out[0] as usize] == cells
    {
        let target = n.nodes[reader].out[0];
        // the assembly itself is no longer needed
        n.nodes[reader].kind = Kind::Unit(Unit::Copy, vec![Arg::Const(T::ZERO)]);
        n.nodes[reader].out = vec![buffer(n, 1)];
        return Some((adjoint, target, Vec::new()));
    }
    // read through index maps that undo this one first, where windows tile the image
    layout.inverse(cells)?;
    let target = buffer(n, cells);
    Some((adjoint, target, read_from(n, u, product, target, layout)?))
}

/// Products with a matrix of windows.
fn convolutions<T: Float>(n: &mut Nodes<T>) {
    let u = uses(n);
    for i in 0..n.nodes.len() {
        let Some((conv, others)) = forward(n, &u, i) else { continue };
        let out = vec![conv.values];
        n.nodes[i] = Node { kind: Kind::Conv(conv, Pass::Forward), out };
        instead(n, others);
    }
}

/// Products with a matrix of windows on the way back.
fn adjoints_of_convolutions<T: Float>(n: &mut Nodes<T>) {
    let u = uses(n);
    for i in 0..n.nodes.len() {
        if let Some((conv, out)) = by_kernels(n, &u, i) {
            n.nodes[i] = Node { kind: Kind::Conv(conv, Pass::Kernels(out)), out: vec![out] };
        } else if let Some((conv, out)) = by_image(n, &u, i) {
            n.nodes[i] = Node { kind: Kind::Conv(conv, Pass::Backward(out)), out: vec![out] };
        }
    }
}

/// The windows that a matrix holds, if it was copied together from windows: rows by columns.
fn windows_of<T>(n: &Nodes<T>, u: &Uses, m: &Matrix, rows: usize, columns: usize) -> Option<(Buf, Windows)> {
    if (m.offset, m.row, m.column) != (0, columns as isize, 1) {
        return None;
    }
    let (image, layout) = copied(&n.nodes[u.maker[m.buf as usize]?])?;
    let windows = Windows::new(layout, rows, columns)?;
    // short stretches are better gathered and multiplied
    (windows.along.size >= 4 && windows.offsets.len() >= 2).then_some((image, windows))
}

/// How many stretches make up one image: those that values written channel by channel have side by side.
fn stretches(windows: &Windows, layout: &Layout, rows: usize, kernels: usize) -> Option<usize> {
    let Layout::Strided { offset: 0, dims } = layout else { return None };
    let pairs: Vec<(usize, isize)> = dims.iter().map(|d| (d.size, d.stride)).collect();
    let per_image = match pairs[..] {
        // one image: [rows, kernels]
        [(r, 1), (o, s)] if o == kernels && r == rows && s == rows as isize => rows,
        [(images, whole), (r, 1), (o, s)]
            if o == kernels && images * r == rows && s == r as isize && whole == (r * o) as isize =>
        {
            r
        }
        _ => return None,
    };
    per_image.is_multiple_of(windows.along.size).then_some(per_image / windows.along.size)
}

/// Windows times kernels, if all readers take the result channel by channel: then it is computed that way.
fn forward<T: Float>(n: &mut Nodes<T>, u: &Uses, i: usize) -> Option<(Conv, Others<T>)> {
    let Kind::MatMul { a, b, size: [m, o, k, 1], .. } = n.nodes[i].kind else { return None };
    let (image, windows) = windows_of(n, u, &a, m, k)?;
    let old = n.nodes[i].out[0];
    if n.outputs.contains(&old) {
        return None;
    }
    let images = u.readers[old as usize].iter().find_map(|&reader| {
        let args = arguments(&mut n.nodes[reader].kind)?;
        args.into_iter().find_map(|a| match a {
            Arg::Through(b, Layout::Strided { dims, .. }) if *b == old => images(dims, m, o),
            _ => None,
        })
    })?;
    let rows = m / images;
    // [image, kernel, row], and where that stands among [image, row, kernel]
    let back = Layout::strided(0, &[(images, (rows * o) as isize), (rows, 1), (o, rows as isize)]);
    let stretches = stretches(&windows, &back, m, o)?;
    let new = buffer(n, m * o);
    let others = read_from(n, u, old, new, &back)?;
    let kernels = (b.buf, b.offset, b.column, b.row);
    Some((Conv { windows, image, kernels, count: o, stretches, values: new, packed: None }, others))
}

/// How many images a matrix of rows by kernels holds, if it is read image by image, and there kernel by kernel.
fn images(dims: &[Dim], rows: usize, kernels: usize) -> Option<usize> {
    let at = dims.iter().position(|d| (d.size, d.stride) == (kernels, 1))?;
    let images: usize = dims[..at].iter().map(|d| d.size).product();
    let whole = rows.checked_div(images)? * kernels;
    let apart = dims[..at].last().is_none_or(|d| d.stride == whole as isize);
    (rows.is_multiple_of(images) && apart).then_some(images)
}

/// A buffer of values [image, kernel, row] seen as a matrix of rows by kernels.
fn channels(n_rows: usize, kernels: usize, windows: &Windows, m: &Arg<()>) -> Option<usize> {
    let Arg::Through(_, layout) = m else { return None };
    stretches(windows, layout, n_rows, kernels)
}

/// Adjoints times windows: the adjoint of the kernels.
fn by_kernels<T: Float>(n: &Nodes<T>, u: &Uses, i: usize) -> Option<(Conv, Buf)> {
    // [o, rows] @ [rows, k]
    let Kind::MatMul { a, b, size: [o, k, rows, 1], .. } = n.nodes[i].kind else { return None };
    let (image, windows) = windows_of(n, u, &b, rows, k)?;
    let (values, stretches) = adjoints(n, u, &a, rows, o, &windows, true)?;
    let conv = Conv { windows, image, kernels: (0, 0, 0, 0), count: o, stretches, values, packed: None };
    Some((conv, n.nodes[i].out[0]))
}

/// The buffer in which adjoints lie channel by channel, read by a matrix of rows by kernels (or transposed).
fn adjoints<T: Float>(
    n: &Nodes<T>,
    u: &Uses,
    m: &Matrix,
    rows: usize,
    kernels: usize,
    windows: &Windows,
    transposed: bool,
) -> Option<(Buf, usize)> {
    let (row, column) = if transposed { (m.column, m.row) } else { (m.row, m.column) };
    // read where they lie: one image only
    if m.offset == 0 && row == 1 && column == rows as isize && n.lens[m.buf as usize] == rows * kernels {
        return rows.is_multiple_of(windows.along.size).then_some((m.buf, rows / windows.along.size));
    }
    if (m.offset, row, column) != (0, kernels as isize, 1) {
        return None;
    }
    let (values, layout) = copied(&n.nodes[u.maker[m.buf as usize]?])?;
    axes(layout, &[rows * kernels]).is_none().then_some(())?;
    let found = channels(rows, kernels, windows, &Arg::Through(values, layout.clone()))?;
    (n.lens[values as usize] == rows * kernels).then_some((values, found))
}

/// Adjoints times kernels, put back through the windows: the adjoint of the image.
fn by_image<T: Float>(n: &Nodes<T>, u: &Uses, i: usize) -> Option<(Conv, Buf)> {
    let Kind::Assemble(pieces) = &n.nodes[i].kind else { return None };
    let [(Arg::Direct(product), layout)] = &pieces[..] else { return None };
    let maker = u.maker[*product as usize]?;
    if u.readers[*product as usize].len() != 1 || n.outputs.contains(product) {
        return None;
    }
    let Kind::MatMul { a, b, size: [rows, k, o, 1], .. } = n.nodes[maker].kind else { return None };
    let windows = Windows::new(layout, rows, k)?;
    let (values, stretches) = adjoints(n, u, &a, rows, o, &windows, false)?;
    let kernels = (b.buf, b.offset, b.row, b.column);
    let out = n.nodes[i].out[0];
    Some((Conv { windows, image: out, kernels, count: o, stretches, values, packed: None }, out))
}
