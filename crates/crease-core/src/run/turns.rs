//! Loops, turn by turn: what the body gets, and what becomes of what it returns.

use super::{Cell, Frame};
use crate::number::Number;
use crate::op::Scan;
use crate::program::{Equation, Program};

/// A loop in the middle of its turns.
pub(super) struct Turning<N> {
    /// How many are done.
    pub turn: usize,
    /// what the turn before returned to be carried on; empty before the first
    carried: Vec<Cell<N>>,
    number: usize,
    /// for each output that is stacked what the turns returned, in their order
    stacked: Vec<Vec<Cell<N>>>,
    back: bool,
}

impl<N: Number> Turning<N> {
    pub fn new(scan: &Scan, e: &Equation<'_>) -> Self {
        let stacked = vec![Vec::new(); e.results - scan.carried];
        Turning { turn: 0, carried: Vec::new(), number: scan.carried, stacked, back: scan.back }
    }

    /// What the body gets in this turn.
    pub fn args(&self, frame: &Frame<'_, N>, p: &Program, e: &Equation<'_>, scan: &Scan) -> Vec<Cell<N>> {
        let mut args: Vec<Cell<N>> = match self.turn {
            0 => e.args[..scan.carried].iter().map(|&a| frame.cell(a)).collect(),
            _ => self.carried.clone(),
        };
        for v in e.args[scan.carried..scan.still()].iter().filter_map(|a| a.value()) {
            let len = p.shape(v).len() / scan.turns;
            args.push(frame.cells[v.index()].part(scan.part(self.turn) * len, len));
        }
        args.extend(e.args[scan.still()..].iter().map(|&a| frame.cell(a)));
        args
    }

    /// A turn has come to its end.
    pub fn done(&mut self, mut outputs: Vec<Cell<N>>) {
        for (all, new) in self.stacked.iter_mut().zip(outputs.split_off(self.number)) {
            all.push(new);
        }
        self.carried = outputs;
        self.turn += 1;
    }

    /// All turns have.
    pub fn results(self, cells: &mut [Cell<N>]) {
        let stacked = self.stacked.into_iter().map(|mut all| {
            if self.back {
                all.reverse();
            }
            Cell::concat(&all)
        });
        self.carried.into_iter().chain(stacked).zip(cells).for_each(|(result, cell)| *cell = result);
    }
}

impl<N: Number> Cell<N> {
    /// So many elements from one on.
    fn part(&self, first: usize, len: usize) -> Self {
        let data = self.data()[first..first + len].to_vec();
        match self {
            Cell::Partial(_, reasons) => {
                let reasons = &reasons[first..first + len];
                Cell::with(data, reasons.iter().any(|r| *r > 0).then(|| reasons.into()))
            }
            Cell::Scalar(_) | Cell::Tensor(_) => Cell::from_vec(data),
        }
    }

    /// One after the other.
    fn concat(all: &[Self]) -> Self {
        let data: Vec<N> = all.iter().flat_map(|c| c.data().iter().cloned()).collect();
        if all.iter().all(|c| c.missing().is_none()) {
            return Cell::from_vec(data);
        }
        let reasons = all.iter().flat_map(|c| match c {
            Cell::Partial(_, reasons) => reasons.to_vec(),
            Cell::Scalar(_) | Cell::Tensor(_) => vec![0; c.data().len()],
        });
        Cell::with(data, Some(reasons.collect()))
    }
}
