//! Numbers put into zeros: pieces beside each other, and sums along axes.
//!
//! A sum has a thread for each cell and each of several parts of what is added there; it adds in double precision, and a second kernel adds the
//! parts. Which part takes which number does not depend on the device, so that results do not either.

use super::{Holds, Launch, Maker, Pull};
use crease_core::{Equation, Layout, Op};
use std::fmt::Write;

/// Threads that fill a device.
const FILLED: usize = 1 << 18;
/// The most parts of one sum.
const PARTS: usize = 1 << 16;

/// Loops of a sum: those that walk over cells (size, stride in the source, stride in the result), those that are added up (size, stride in the source), and
/// the first cell. Nothing if cells overlap.
pub(super) struct Axes {
    cells: Vec<(usize, usize, isize)>,
    added: Vec<(usize, usize)>,
    offset: usize,
}

pub(super) fn axes(layout: &Layout) -> Option<Axes> {
    let Layout::Strided { offset, dims } = layout else { return None };
    let mut out = Axes { cells: Vec::new(), added: Vec::new(), offset: *offset };
    let mut inner = layout.len();
    for d in dims {
        inner /= d.size;
        match d.stride {
            0 => out.added.push((d.size, inner)),
            _ => out.cells.push((d.size, inner, d.stride)),
        }
    }
    let kept: Vec<(usize, isize)> = out.cells.iter().map(|c| (c.0, c.2)).collect();
    Layout::strided(*offset, &kept).is_injective().then_some(out)
}

impl Maker<'_> {
    /// Pieces, one launch after the other.
    pub(super) fn assembled(&mut self, e: &Equation<'_>) {
        let Op::Assemble { pieces, .. } = e.op else { return };
        let to = self.buffer_of(e.first);
        self.launches.push(Launch::Zero(to));
        for (a, piece) in e.args.iter().zip(pieces) {
            self.piece(*a, piece, to);
        }
    }

    fn piece(&mut self, a: crease_core::Atom, piece: &Layout, to: usize) {
        let n = piece.len();
        let name = format!("put{}", self.launches.len());
        let mut pull = Pull::new(self, "  ");
        let _ = write!(pull.body, "  const unsigned i = (unsigned)THREAD;\n  if (i >= {n}u) return;\n");
        let x = pull.atom(a, "i");
        let at = pull.index(piece, "i");
        let (mut body, mut buffers) = (pull.body, pull.buffers);
        let _ = writeln!(body, "  o{}[{at}] += {x};", buffers.len());
        buffers.push(to);
        self.kernel(name, n, &body, buffers, 1);
    }

    /// Sums along axes, and pieces among them, one after the other.
    pub(super) fn summed(&mut self, e: &Equation<'_>) {
        let Op::Assemble { pieces, .. } = e.op else { return };
        let to = self.buffer_of(e.first);
        if pieces.len() > 1 || !axes(&pieces[0]).is_some_and(|x| x.covers(self.buffers[to].0)) {
            self.launches.push(Launch::Zero(to));
        }
        for (a, piece) in e.args.iter().zip(pieces) {
            match axes(piece) {
                Some(axes) if !axes.added.is_empty() => self.sum(*a, &axes, to, pieces.len() > 1),
                _ => self.piece(*a, piece, to),
            }
        }
    }

    fn sum(&mut self, a: crease_core::Atom, axes: &Axes, to: usize, onto: bool) {
        let cells: usize = axes.cells.iter().map(|c| c.0).product();
        let added: usize = axes.added.iter().map(|c| c.0).product();
        let parts = (FILLED / cells).clamp(1, added.div_ceil(8).min(PARTS));
        let sums = self.buffer(parts * cells, Holds::Sums);
        let name = format!("sum{}", self.launches.len());
        let mut pull = Pull::new(self, "    ");
        let _ = write!(
            pull.body,
            "  const unsigned t = (unsigned)THREAD;\n  if (t >= {}u) return;\n  const unsigned cell = t % {cells}u, part = t / {cells}u;\n  \
             double sum = 0;\n  unsigned k;\n  UNROLL\n  for (k = part; k < {added}u; k += {parts}u) {{\n    const unsigned i = {};\n",
            parts * cells,
            place(axes, "cell", "k")
        );
        let x = pull.atom(a, "i");
        let (mut body, mut buffers) = (pull.body, pull.buffers);
        let _ = write!(body, "    sum += (double)({x});\n  }}\n  o{}[t] = sum;\n", buffers.len());
        buffers.push(sums);
        self.kernel(name, parts * cells, &body, buffers, 1);
        let name = format!("total{}", self.launches.len());
        let mut at = format!("{}", axes.offset);
        let mut inner = cells;
        for (size, _, stride) in &axes.cells {
            inner /= size;
            let _ = write!(at, " + (int)(cell / {inner}u % {size}u) * {stride}");
        }
        let sign = if onto { "+=" } else { "=" };
        let body = if cells >= 1024 || parts < 64 {
            format!(
                "  const unsigned cell = (unsigned)THREAD;\n  if (cell >= {cells}u) return;\n  double sum = 0;\n  unsigned k;\n  UNROLL\n  \
                 for (k = 0; k < {parts}u; k++) sum += b0[k * {cells}u + cell];\n  o1[{at}] {sign} (REAL)sum;\n"
            )
        } else {
            format!(
                "  const unsigned cell = BLOCK;\n  double sum = 0;\n  unsigned k;\n  for (k = LOCAL; k < {parts}u; k += LOCALS) sum += b0[k * {cells}u + cell];\n  \
                 BLOCK_SUM(sum, o1[{at}] {sign} (REAL)sum);\n"
            )
        };
        // the second form has a block for each cell
        let threads = if cells >= 1024 || parts < 64 { cells } else { cells * super::BLOCK };
        self.kernel(name, threads, &body, vec![sums, to], 1);
    }
}

impl Axes {
    /// Whether every cell of the result gets a sum.
    fn covers(&self, cells: usize) -> bool {
        self.cells.iter().map(|c| c.0).product::<usize>() == cells
    }
}

/// The index in the source of number `k` of a cell.
fn place(axes: &Axes, cell: &str, k: &str) -> String {
    let mut terms = vec!["0u".to_string()];
    let mut inner: usize = axes.cells.iter().map(|c| c.0).product();
    for (size, stride, _) in &axes.cells {
        inner /= size;
        terms.push(format!("{cell} / {inner}u % {size}u * {stride}u"));
    }
    let mut inner: usize = axes.added.iter().map(|c| c.0).product();
    for (size, stride) in &axes.added {
        inner /= size;
        terms.push(format!("{k} / {inner}u % {size}u * {stride}u"));
    }
    terms.join(" + ")
}
