//! Which numbers are constants: element by element through structure, and into sub-programs, so that it does not matter whether calls are
//! expanded or tensors taken apart.
//!
//! What a program returns depends on which of its inputs are constants, so a [`Walk`] looks at a program once for each such case,
//! however often it is called, and on the way makes a [`Summary`] of it: a tally is one.
//!
//! There may be as many cases as there are sets of inputs, and no way around them. Let the inputs be the clauses of a formula, and p_k call p_(k-1) twice: with constants for the clauses that
//! hold if the k-th variable is true, and for those that hold if it is false. How often a sum of all inputs is a constant is then the number of solutions of the formula. So all
//! cases of a program but the first are paid for, within [`Limits`]; what would take more is refused, and never guessed.

use crate::limits::{Limits, Stop};
use crate::op::{Kink, Lane, Op, Scan, calling, elementwise, with_lane};
use crate::program::{Atom, Equation, Program, ProgramId};
use crate::shape::Layout;
use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::sync::Arc;

/// Why it is not known which numbers of a program are constants, and with it what it costs and what of it has a derivative.
///
/// ```
/// use crease_core::{cost::{tally, tally_within}, trace, CasesError, Limits};
/// use std::sync::Arc;
/// let sum = Arc::new(trace(2, |x| x[0] * x[0] + x[1]).unwrap());
/// let p = trace(1, |x| {
///     let tape = x[0].tape();
///     tape.call(&sum, &[x[0], tape.constant(1.0)])[0] + tape.call(&sum, &[tape.constant(1.0), x[0]])[0]
/// }).unwrap();
/// assert_eq!(tally(&p).to_string(), "1 *, 1 +, 2 +c");
/// let tight = Limits { equations: 3, ..Limits::default() };
/// assert!(matches!(tally_within(&p, &tight), Err(CasesError::TooMany { limit: 3, .. })));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CasesError {
    /// Programs are called in too many ways.
    #[error(
        "`{name}` calls its programs in so many ways, each with other arguments that are constants, that going through them takes more than the limit of {limit} \
         equations; raise `equations`"
    )]
    TooMany {
        /// The program.
        name: String,
        /// The limit.
        limit: u64,
    },
    /// It was stopped.
    #[error("which numbers of `{name}` are constants is not known: {stop}")]
    Stopped {
        /// The program.
        name: String,
        /// How.
        stop: Stop,
    },
}

impl CasesError {
    /// What ended it, if it was stopped.
    pub fn stop(&self) -> Option<Stop> {
        match self {
            CasesError::Stopped { stop, .. } => Some(*stop),
            CasesError::TooMany { .. } => None,
        }
    }
}

/// How many elements of values that are constants in part are looked at in the time that an equation takes.
const ELEMENTS: usize = 32;

/// The units of work that a walk takes for an equation.
const WORK: u64 = 16;

/// How far a walk may go.
pub(crate) trait Bound {
    /// Why it ends early.
    type Error;

    /// Pays for so much.
    fn pay(&mut self, of: &Program, much: usize) -> Result<(), Self::Error>;
}

/// However far it takes.
#[derive(Default)]
pub(crate) struct Unbounded;

impl Bound for Unbounded {
    type Error = Infallible;

    fn pay(&mut self, _: &Program, _: usize) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Within limits on equations, and until it is stopped.
#[derive(Default)]
pub(crate) struct Within {
    limits: Limits,
    paid: u64,
}

impl Within {
    pub fn new(limits: &Limits) -> Self {
        Within { limits: limits.clone(), paid: 0 }
    }
}

impl Bound for Within {
    type Error = CasesError;

    fn pay(&mut self, of: &Program, much: usize) -> Result<(), CasesError> {
        self.paid = self.paid.saturating_add(much as u64);
        if self.paid > self.limits.equations {
            return Err(CasesError::TooMany { name: of.name().into(), limit: self.limits.equations });
        }
        self.limits.charge(WORK * much as u64).map_err(|stop| CasesError::Stopped { name: of.name().into(), stop })
    }
}

/// Which elements of a value are constants.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Known {
    /// None of them.
    Nothing,
    /// All of them.
    All,
    /// Those marked.
    Some(Arc<[bool]>),
}

impl Known {
    pub fn get(&self, i: usize) -> bool {
        match self {
            Known::Nothing => false,
            Known::All => true,
            Known::Some(mask) => mask[i],
        }
    }

    /// Of the elements from `first` on.
    fn part(&self, first: usize, len: usize) -> Self {
        match self {
            Known::Some(mask) => Known::from_mask(mask[first..first + len].to_vec()),
            uniform => uniform.clone(),
        }
    }

    /// The elements that have to be looked at one by one.
    fn mixed(&self) -> usize {
        match self {
            Known::Some(mask) => mask.len(),
            Known::Nothing | Known::All => 0,
        }
    }

    fn from_mask(mask: Vec<bool>) -> Self {
        if mask.iter().all(|k| *k) {
            Known::All
        } else if mask.iter().any(|k| *k) {
            Known::Some(mask.into())
        } else {
            Known::Nothing
        }
    }
}

/// Which elements of an atom are constants.
pub(crate) fn known(values: &[Known], a: Atom) -> Known {
    a.value().map_or(Known::All, |v| values[v.index()].clone())
}

/// Which results of an equation without sub-programs are made of constants alone.
pub(crate) fn results(p: &Program, e: &Equation<'_>, args: &[Known]) -> Vec<Known> {
    if args.iter().all(|a| *a == Known::All) {
        return vec![Known::All; e.results];
    }
    let mixed = args.iter().any(|a| matches!(a, Known::Some(_)));
    match e.op {
        Op::View { layout, .. } => {
            return vec![match &args[0] {
                Known::Some(mask) => Known::from_mask(layout.iter().map(|i| mask[i]).collect()),
                uniform => uniform.clone(),
            }];
        }
        Op::Assemble { pieces, .. } => return vec![assembled(p.shape(e.first).len(), pieces, args)],
        // not all of them are constants
        _ if !mixed => return vec![Known::Nothing; e.results],
        Op::Kink(Kink::MaxLinear { .. }) | Op::Joint(Kink::MaxLinear { .. }, _) => {
            return vec![Known::Nothing; e.results];
        }
        Op::Gather { lane: Lane::Axis, .. } => return vec![gathered(p, e, args)],
        Op::MatMul { transpose_a, transpose_b } => return vec![product(p, e, *transpose_a, *transpose_b, args)],
        elementwise!() | with_lane!() | calling!() | Op::Constant(_) => {}
    }
    let all = |i: usize| args.iter().all(|a| a.get(i));
    let n = match (e.op.lane(), e.args[0].value()) {
        (Some(Lane::Axis), Some(v)) => p.shape(v).split_last().map_or(1, |(_, n)| n),
        _ => 1,
    };
    let total = e.args.iter().filter_map(|a| a.value()).map(|v| p.shape(v).len()).max().unwrap_or(1);
    let lanes: Vec<bool> = (0..total / n).map(|l| (0..n).all(|k| all(l * n + k))).collect();
    let result = |v: crate::Value| {
        let each = p.shape(v).len() / lanes.len();
        Known::from_mask(lanes.iter().flat_map(|k| std::iter::repeat_n(*k, each)).collect())
    };
    e.results().map(result).collect()
}

fn assembled(len: usize, pieces: &[Layout], args: &[Known]) -> Known {
    let mut cells = vec![true; len];
    for (arg, piece) in args.iter().zip(pieces) {
        piece.iter().enumerate().for_each(|(i, to)| cells[to] &= arg.get(i));
    }
    Known::from_mask(cells)
}

/// What is read or added up depends on all of a lane and on all of its positions.
fn gathered(p: &Program, e: &Equation<'_>, args: &[Known]) -> Known {
    let shape = p.shape(e.first);
    let (rows, each) = shape.split_last().map_or((1, 1), |(rest, n)| (rest.len(), n));
    let len = |a: Atom| a.value().map_or(1, |v| p.shape(v).len()) / rows;
    let sizes = [len(e.args[0]), len(e.args[1])];
    let row = |l: usize| args.iter().zip(sizes).all(|(a, n)| (l * n..(l + 1) * n).all(|i| a.get(i)));
    Known::from_mask((0..rows).flat_map(|l| std::iter::repeat_n(row(l), each)).collect())
}

fn product(p: &Program, e: &Equation<'_>, ta: bool, tb: bool, args: &[Known]) -> Known {
    let shape = p.shape(e.first);
    let (m, n) = (shape.dims()[shape.rank() - 2], shape.dims()[shape.rank() - 1]);
    let batch = shape.len() / (m * n);
    let k = e.args[0].value().map_or(1, |v| p.shape(v).len()) / (batch * m);
    // an entry is a constant if its row and its column are
    let left = |s: usize, i: usize| (0..k).all(|l| args[0].get(s * m * k + if ta { l * m + i } else { i * k + l }));
    let right = |s: usize, j: usize| (0..k).all(|l| args[1].get(s * k * n + if tb { j * k + l } else { l * n + j }));
    let mut mask = Vec::with_capacity(shape.len());
    for s in 0..batch {
        let columns: Vec<bool> = (0..n).map(|j| right(s, j)).collect();
        for i in 0..m {
            let row = left(s, i);
            mask.extend(columns.iter().map(|column| row && *column));
        }
    }
    Known::from_mask(mask)
}

/// What is put together on a walk through a program.
pub(crate) trait Summary: Default {
    /// What it needs to know beside the program.
    type Context;

    /// An equation without sub-programs, number `i` of its program, and which of its arguments are constants.
    fn equation(&mut self, context: &Self::Context, p: &Program, i: usize, args: &[Known]);

    /// A call, or a selection of which one branch runs.
    fn one_of(&mut self, branches: &[&Self]);

    /// So many turns of a loop.
    fn turns(&mut self, body: &Self, times: usize);
}

/// For those who ask for constants alone.
impl Summary for () {
    type Context = ();

    fn equation(&mut self, (): &(), _: &Program, _: usize, _: &[Known]) {}

    fn one_of(&mut self, _: &[&()]) {}

    fn turns(&mut self, (): &(), _: usize) {}
}

/// Walks through programs that share callees, each callee once for each case.
pub(crate) struct Walk<S: Summary, B = Within> {
    memo: HashMap<(ProgramId, Vec<Known>), (S, Vec<Known>)>,
    /// the callees of which there was a case
    seen: HashSet<ProgramId>,
    bound: B,
    pub context: S::Context,
}

impl<S: Summary, B: Bound> Walk<S, B>
where
    S::Context: Default,
{
    pub fn new(bound: B) -> Self {
        Walk { memo: HashMap::new(), seen: HashSet::new(), bound, context: S::Context::default() }
    }
}

struct Frame<'p, S> {
    program: &'p Program,
    inputs: Vec<Known>,
    values: Vec<Known>,
    summary: S,
    next: usize,
    /// whether there was another case of it before
    again: bool,
    /// the loop that is under way
    turning: Option<Turning>,
}

/// A loop, turn by turn. Which of its numbers are constants may change from turn to turn, for as long as carried values go on changing from
/// constants to others; from then on all turns with parts alike are one case.
struct Turning {
    turn: usize,
    carried: Vec<Known>,
    /// what was stacked: so many turns in a row, and what each of them returned
    stacked: Vec<(usize, Vec<Known>)>,
}

impl Turning {
    /// Which arguments of the body are constants in this turn, and for how many turns from here on, carried values aside.
    fn args(&self, p: &Program, e: &Equation<'_>, scan: &Scan, args: &[Known]) -> (Vec<Known>, usize) {
        let mut out = self.carried.clone();
        let mut same = scan.turns - self.turn;
        for (a, known) in e.args[scan.carried..].iter().zip(&args[scan.carried..]).take(scan.each) {
            let len = a.value().map_or(1, |v| p.shape(v).len() / scan.turns);
            let part = |turn: usize| known.part(scan.part(turn) * len, len);
            out.push(part(self.turn));
            if matches!(known, Known::Some(_)) {
                same = (1..same).find(|k| part(self.turn + k) != part(self.turn)).unwrap_or(same);
            }
        }
        out.extend_from_slice(&args[scan.still()..]);
        (out, same)
    }

    /// Goes on by one case of the body, given what it returned and for how many turns its parts stay alike.
    fn advance(&mut self, scan: &Scan, outputs: &[Known], same: usize) -> usize {
        let (carried, stacked) = outputs.split_at(scan.carried);
        let turns = if *carried == self.carried { same } else { 1 };
        self.carried = carried.to_vec();
        self.stacked.push((turns, stacked.to_vec()));
        self.turn += turns;
        turns
    }

    /// Which results are constants, once all turns are done.
    fn results(mut self, p: &Program, e: &Equation<'_>, scan: &Scan) -> Vec<Known> {
        if scan.back {
            self.stacked.reverse();
        }
        let mut out = self.carried;
        for (k, v) in e.results().skip(scan.carried).enumerate() {
            let len = p.shape(v).len() / scan.turns;
            let each = || self.stacked.iter().map(|(n, known)| (*n, &known[k]));
            out.push(match self.stacked[0].1[k] {
                ref first @ (Known::Nothing | Known::All) if each().all(|(_, known)| known == first) => first.clone(),
                _ => {
                    let mask = each().flat_map(|(n, known)| (0..n * len).map(move |i| known.get(i % len)));
                    Known::from_mask(mask.collect())
                }
            });
        }
        out
    }
}

impl<'p, S: Default> Frame<'p, S> {
    fn new(program: &'p Program, inputs: Vec<Known>) -> Self {
        Frame { program, values: inputs.clone(), inputs, summary: S::default(), next: 0, again: false, turning: None }
    }

    fn outputs(&self) -> Vec<Known> {
        self.program.outputs().iter().map(|&o| known(&self.values, o)).collect()
    }
}

impl<S: Summary, B: Bound> Walk<S, B> {
    /// The summary, and which outputs are constants, when some inputs are.
    pub fn outputs(&mut self, p: &Program, inputs: Vec<Known>) -> Result<(S, Vec<Known>), B::Error> {
        let frame = self.walk(p, inputs)?;
        let outputs = frame.outputs();
        Ok((frame.summary, outputs))
    }

    /// Which elements of all values are constants, when no input is.
    pub fn values(&mut self, p: &Program) -> Result<Vec<Known>, B::Error> {
        Ok(self.walk(p, vec![Known::Nothing; p.inputs().len()])?.values)
    }

    /// A case of a callee, paid for if there was another one.
    fn case<'p>(&mut self, p: &Program, callee: &'p Program, inputs: Vec<Known>) -> Result<Frame<'p, S>, B::Error> {
        let again = !self.seen.insert(callee.id());
        if again {
            let size = callee.len() + inputs.len() + inputs.iter().map(Known::mixed).sum::<usize>() / ELEMENTS;
            self.bound.pay(p, size)?;
        }
        Ok(Frame { again, ..Frame::new(callee, inputs) })
    }

    fn walk<'p>(&mut self, p: &'p Program, inputs: Vec<Known>) -> Result<Frame<'p, S>, B::Error> {
        let mut callers: Vec<Frame<'p, S>> = Vec::new();
        let mut frame = Frame::new(p, inputs);
        'walk: loop {
            let program = frame.program;
            if frame.next == program.len() {
                let Some(caller) = callers.pop() else { return Ok(frame) };
                let outputs = frame.outputs();
                self.memo.insert((program.id(), frame.inputs), (frame.summary, outputs));
                frame = caller;
                continue;
            }
            let e = program.equation(frame.next);
            let ids = e.op.callees();
            if ids.is_empty() {
                let args: Vec<Known> = e.args.iter().map(|&a| known(&frame.values, a)).collect();
                if frame.again && args.iter().any(|a| a.mixed() > 0) {
                    let elements = args.iter().map(Known::mixed).sum::<usize>();
                    let products = usize::try_from(e.multiplied(program)).unwrap_or(usize::MAX);
                    self.bound.pay(p, elements.saturating_add(products) / ELEMENTS)?;
                }
                frame.summary.equation(&self.context, program, frame.next, &args);
                frame.values.extend(results(program, &e, &args));
                frame.next += 1;
                continue;
            }
            if let Op::Scan(scan) = e.op {
                let args: Vec<Known> = e.args.iter().map(|&a| known(&frame.values, a)).collect();
                let first = || Turning { turn: 0, carried: args[..scan.carried].to_vec(), stacked: Vec::new() };
                let mut turning = frame.turning.take().unwrap_or_else(first);
                let body: &'p Program = &program.callee(scan.body).program;
                while turning.turn < scan.turns {
                    let (inputs, same) = turning.args(program, &e, scan, &args);
                    let Some((summary, outputs)) = self.memo.get(&(body.id(), inputs.clone())) else {
                        frame.turning = Some(turning);
                        let case = self.case(p, body, inputs)?;
                        callers.push(std::mem::replace(&mut frame, case));
                        continue 'walk;
                    };
                    if frame.again {
                        self.bound.pay(p, 1)?;
                    }
                    let turns = turning.advance(scan, outputs, same);
                    frame.summary.turns(summary, turns);
                }
                frame.values.extend(turning.results(program, &e, scan));
                frame.next += 1;
                continue;
            }
            let conditions = if matches!(e.op, Op::Select(_)) { ids.len() - 1 } else { 0 };
            let args: Vec<Known> = e.args[conditions..].iter().map(|&a| known(&frame.values, a)).collect();
            let callees: Vec<&'p Program> = ids.iter().map(|id| &*program.callee(*id).program).collect();
            let find = |q: &&'p Program| self.memo.get(&(q.id(), args.clone()));
            if let Some(q) = callees.iter().find(|q| find(q).is_none()) {
                let case = self.case(p, q, args)?;
                callers.push(std::mem::replace(&mut frame, case));
                continue;
            }
            let found: Vec<&(S, Vec<Known>)> = callees.iter().filter_map(find).collect();
            frame.summary.one_of(&found.iter().map(|f| &f.0).collect::<Vec<_>>());
            match (e.op, &found[..]) {
                (Op::Call(_), [(_, outputs)]) => frame.values.extend(outputs.iter().cloned()),
                // which branch runs is not known, so what it returns is not either
                _ => frame.values.extend(vec![Known::Nothing; e.results]),
            }
            frame.next += 1;
        }
    }
}
