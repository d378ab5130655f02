//! Loops: the code of the body, run turn after turn on parts of buffers.
//!
//! The body is compiled on its own, to whatever code suits it. It reads carried values where the turn before has left them and writes them where the turn
//! after finds them, by turns to the result itself and to a buffer beside it, so that the last turn writes to the result; parts of sequences are read, and
//! stacked outputs written, in their places. Nothing is copied, and nothing is allocated.

use super::lower::Buf;
use super::memory::Pointers;
use crate::executable::{Code, Inputs, Run};
use crate::float::Float;
use crease_core::{Limits, Scan};
use std::sync::Arc;

/// A loop in a plan.
#[derive(Clone, Debug)]
pub(crate) struct Turns {
    /// Which of the bodies of the plan.
    pub body: usize,
    pub scan: Scan,
    pub args: Vec<Buf>,
    /// How many numbers each input of the body has, and each of its outputs.
    pub inputs: Vec<usize>,
    pub outputs: Vec<usize>,
    /// The results; then, for each carried value, a buffer beside it.
    pub out: Vec<Buf>,
}

/// The code of a body with its memory, and room to say what it reads and writes.
pub(crate) struct Body<T: 'static> {
    run: Box<dyn Run<T>>,
    reads: Vec<&'static [T]>,
    writes: Vec<&'static mut [T]>,
}

impl<T: Float> Body<T> {
    pub fn new(code: Arc<dyn Code<T>>) -> Self {
        Body { run: code.bind(), reads: Vec::new(), writes: Vec::new() }
    }

    pub fn bytes(&self) -> usize {
        self.run.bytes()
    }
}

impl Turns {
    /// Runs all turns; false if one of them does not count, or if they were stopped.
    pub fn run<T: Float>(&self, p: &Pointers<'_, T>, body: &mut Body<T>, limits: &Limits) -> bool {
        let scan = &self.scan;
        let results = self.outputs.len();
        let mut fine = true;
        for turn in 0..scan.turns {
            if limits.stopped().is_some() {
                fine = false;
                break;
            }
            let part = scan.part(turn);
            // whether this turn writes carried values to the results
            let there = (scan.turns - 1 - turn).is_multiple_of(2);
            body.reads.clear();
            body.writes.clear();
            for (i, (&b, &len)) in self.args.iter().zip(&self.inputs).enumerate() {
                let slice = if i >= scan.still() {
                    p.read(b)
                } else if i >= scan.carried {
                    &p.read(b)[part * len..][..len]
                } else if turn == 0 {
                    p.read(b)
                } else {
                    p.read(self.out[if there { results + i } else { i }])
                };
                // SAFETY: the list is emptied before the buffers go, and nobody reads it in between but this turn
                body.reads.push(unsafe { std::slice::from_raw_parts(slice.as_ptr(), len) });
            }
            for (k, &len) in self.outputs.iter().enumerate() {
                let slice = if k >= scan.carried {
                    &mut p.write(self.out[k])[part * len..][..len]
                } else {
                    p.write(self.out[if there { k } else { results + k }])
                };
                // SAFETY: as above; what is written in this turn is not read in it, and no two of the slices overlap
                body.writes.push(unsafe { std::slice::from_raw_parts_mut(slice.as_mut_ptr(), len) });
            }
            fine &= body.run.run(0..1, Inputs::new(&body.reads, &self.inputs), &mut body.writes);
        }
        body.reads.clear();
        body.writes.clear();
        fine
    }
}
