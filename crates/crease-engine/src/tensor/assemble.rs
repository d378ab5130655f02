//! Sums, concatenations, paddings, scatterings: arguments added into zeros through index maps.
//!
//! A cell that one number reaches holds that number, one that none reaches holds 0, and what meets in a cell is added in the
//! order in which it comes. Which pieces can simply be put in their places is found out beforehand.

use super::lower::{Arg, Buf};
use super::memory::Pointers;
use super::walk::Walk;
use crate::float::Float;
use crate::isa::{Isa, Kernel, dispatch};
use crease_core::Layout;
use std::ops::Range;

/// What is in the cells before the first piece.
#[derive(Debug)]
enum Begin<T> {
    /// Every cell is put.
    Anything,
    All(T),
    /// 0 in cells that nothing reaches, -0 in the others.
    Given(Vec<T>),
}

#[derive(Debug)]
struct Piece<T> {
    from: Arg<T>,
    /// How the argument is read, if not as it lies.
    read: Option<Walk>,
    to: Walk,
    len: usize,
    /// Whether the cells are new, so that nothing is added.
    put: bool,
}

/// An assembly.
#[derive(Debug)]
pub(crate) struct Assembly<T> {
    begin: Begin<T>,
    pieces: Vec<Piece<T>>,
    out: Buf,
}

/// Plans an assembly of `cells` cells.
pub(crate) fn build<T: Float>(pieces: &[(Arg<T>, Layout)], out: Buf, cells: usize) -> Assembly<T> {
    let mut reached = vec![false; cells];
    let mut plan = Vec::with_capacity(pieces.len());
    let mut simple = true;
    let mut missing = cells;
    for (from, layout) in pieces {
        let (mut new, mut old) = (0usize, 0usize);
        for i in layout.iter() {
            if std::mem::replace(&mut reached[i], true) { old += 1 } else { new += 1 }
        }
        missing -= new;
        // cells that are partly new, or new but met twice, cannot be told apart piece by piece
        simple &= new == 0 || old == 0;
        let read = match from {
            Arg::Through(_, l) => Some(Walk::new(l)),
            _ => None,
        };
        plan.push(Piece { from: from.clone(), read, to: Walk::new(layout), len: layout.len(), put: old == 0 });
    }
    let begin = match (simple, missing) {
        (true, 0) => Begin::Anything,
        (true, _) => Begin::All(T::ZERO),
        (false, 0) => Begin::All(T::NEG_ZERO),
        (false, _) => Begin::Given(reached.iter().map(|&r| if r { T::NEG_ZERO } else { T::ZERO }).collect()),
    };
    if !simple {
        plan.iter_mut().for_each(|p| p.put = false);
    }
    Assembly { begin, pieces: plan, out }
}

impl<T: Float> Assembly<T> {
    pub fn run(&self, p: &Pointers<'_, T>, space: &mut [T], ordered: bool) {
        dispatch(Pieces { assembly: self, p, space, ordered });
    }

    /// Where numbers go, if they are one piece that is put in its place, and all other cells are the same.
    pub fn put_in_order(&self) -> Option<(Buf, &Walk)> {
        match (&self.pieces[..], &self.begin) {
            ([piece], Begin::Anything | Begin::All(_)) if piece.put => Some((self.out, &piece.to)),
            _ => None,
        }
    }

    /// A part of one piece: some of its numbers, which go to some of the cells. `of` is that part of a buffer.
    pub fn part(&self, numbers: Range<usize>, to: Walk, out: Buf, of: impl FnOnce(Buf) -> Buf) -> Option<Assembly<T>> {
        let [piece] = &self.pieces[..] else { return None };
        let begin = match &self.begin {
            Begin::Anything => Begin::Anything,
            Begin::All(x) => Begin::All(*x),
            Begin::Given(_) => return None,
        };
        let read = match &piece.read {
            Some(walk) => Some(walk.part(numbers.clone())?),
            None => None,
        };
        let from = match &piece.from {
            Arg::Direct(b) => Arg::Direct(of(*b)),
            from @ (Arg::Through(..) | Arg::Const(_)) => from.clone(),
        };
        let part = Piece { from, read, to, len: numbers.len(), put: piece.put };
        Some(Assembly { begin, pieces: vec![part], out })
    }
}

struct Pieces<'a, 'p, T> {
    assembly: &'a Assembly<T>,
    p: &'a Pointers<'p, T>,
    space: &'a mut [T],
    ordered: bool,
}

impl<T: Float> Kernel for Pieces<'_, '_, T> {
    type Output = ();
    #[inline(always)]
    fn run<I: Isa>(self) {
        let size = super::block::block::<T>();
        let out = self.p.write(self.assembly.out);
        match &self.assembly.begin {
            Begin::Anything => {}
            Begin::All(x) => out.fill(*x),
            Begin::Given(cells) => out.copy_from_slice(cells),
        }
        for piece in &self.assembly.pieces {
            let mut start = 0;
            while start < piece.len {
                let block = &mut self.space[..size.min(piece.len - start)];
                let x = match (&piece.from, &piece.read) {
                    (Arg::Direct(b), _) => &self.p.read(*b)[..piece.len],
                    (Arg::Through(b, _), Some(walk)) => {
                        walk.load(self.p.read(*b), start, block);
                        block
                    }
                    (Arg::Const(c), _) => {
                        block.fill(*c);
                        block
                    }
                    _ => block,
                };
                if piece.put {
                    piece.to.put(x, start, out);
                } else {
                    piece.to.add(x, start, out, self.ordered);
                }
                start += x.len();
            }
        }
    }
}
