//! Inlining: a program of any level as one of level 1, with the same cost.
//!
//! Calls are replaced by the equations of what they call, over and over, until only operations are left. Selections stay,
//! because which branch runs is known only in the run, and so do loops, which [`unroll`](crate::unroll()) takes apart; their branches and bodies are inlined.

use crate::builder::{BuildError, Builder};
use crate::flow::{Made, size};
use crate::limits::{Limits, Stop};
use crate::op::Op;
use crate::program::{Atom, Callee, Program, ProgramId};
use std::collections::HashSet;
use std::sync::Arc;

/// The largest number of calls and equations that are expanded unless told otherwise: some gigabytes once they are differentiated.
pub const MAX_INLINED: u64 = Limits::DEFAULT.equations;

/// Why a program cannot be inlined.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InlineError {
    /// Expanding all calls gives more than the limit, which is [`MAX_INLINED`] unless told otherwise.
    #[error(
        "expanding all calls of `{name}` gives {} calls and equations, more than the limit of {limit}; differentiate calls from inside \
         instead (technique `backward`), or raise `equations`",
        shown(*size)
    )]
    TooLarge {
        /// The program.
        name: String,
        /// How many calls and equations there are once all calls are expanded; beyond 2^128 it is that much.
        size: u128,
        /// The limit.
        limit: u64,
    },
    /// Unrolling all loops gives more than the limit.
    #[error(
        "unrolling the loops of `{name}` gives {} calls and equations, more than the limit of {limit}; raise `equations`",
        shown(*size)
    )]
    Turns {
        /// The program.
        name: String,
        /// How many calls and equations there are once all loops are unrolled.
        size: u128,
        /// The limit.
        limit: u64,
    },
    /// The result could not be built.
    #[error(transparent)]
    Build(#[from] BuildError),
}

impl InlineError {
    /// What ended it, if a limit was reached on the way or somebody stopped it.
    pub fn stop(&self) -> Option<Stop> {
        match self {
            InlineError::Build(e) => e.stop(),
            InlineError::TooLarge { .. } | InlineError::Turns { .. } => None,
        }
    }
}

/// The same function with all calls expanded: level at most 1, apart from selections.
///
/// ```
/// use crease_core::{inline, trace, trace_shapes, Shape};
/// use std::sync::Arc;
/// let square = Arc::new(trace(1, |x| x[0] * x[0]).unwrap());
/// let p = trace(1, |x| {
///     let y = x[0].tape().call(&square, &[x[0]])[0];
///     x[0].tape().call(&square, &[y])[0]
/// }).unwrap();
/// assert_eq!((p.level(), inline(&p).unwrap().level()), (2, 1));
/// assert_eq!(inline(&p).unwrap().len(), 2);
/// ```
pub fn inline(p: &Program) -> Result<Program, InlineError> {
    inline_within(p, MAX_INLINED)
}

/// Like [`inline`], with another limit on the calls and equations that are expanded.
///
/// ```
/// use crease_core::{inline_within, trace};
/// use std::sync::Arc;
/// let square = Arc::new(trace(1, |x| x[0] * x[0]).unwrap());
/// let p = trace(1, |x| x[0].tape().call(&square, &[x[0]])[0]).unwrap();
/// assert!(inline_within(&p, 2).is_ok());
/// assert!(inline_within(&p, 1).unwrap_err().to_string().contains("gives 2 calls and equations, more than the limit of 1"));
/// ```
pub fn inline_within(p: &Program, limit: u64) -> Result<Program, InlineError> {
    inline_limited(p, &Limits { equations: limit, ..Limits::DEFAULT })
}

/// Like [`inline_within`], with all limits that concern it: [`Limits::equations`], and those that stop it on the way.
pub fn inline_limited(p: &Program, limits: &Limits) -> Result<Program, InlineError> {
    Ok(inline_traced(p, limits)?.0)
}

/// Like [`inline_limited`], with the equation of `p` from which each equation came.
pub(crate) fn inline_traced(p: &Program, limits: &Limits) -> Result<(Program, Vec<u32>), InlineError> {
    // branches and bodies first, callees before callers
    let library = p.library();
    let is_kept: HashSet<ProgramId> = library.iter().map(|q| &**q).chain([p]).flat_map(kept).collect();
    let programs: Vec<&Arc<Program>> = library.iter().filter(|q| is_kept.contains(&q.id())).collect();
    // all of them together have to keep within the limit, before the first is expanded
    let sizes = size::expanded(p, &|_| true);
    let all = programs.iter().map(|q| sizes[q]).chain([sizes[p]]);
    within(p, all.fold(0, u128::saturating_add), limits.equations)?;
    let mut made = Made::default();
    for q in programs {
        let inlined = Arc::new(expand(q, &|_| true, &made, limits)?.0);
        made.insert(q, inlined);
    }
    expand(p, &|_| true, &made, limits)
}

/// The sub-programs of a program that are not called but chosen or run in turns: branches of selections, bodies of loops.
fn kept(p: &Program) -> Vec<ProgramId> {
    let kept = p.equations().filter(|e| matches!(e.op, Op::Select(_) | Op::Scan(_)));
    kept.flat_map(|e| e.op.callees()).map(|&id| p.callee(id).program.id()).collect()
}

fn within(p: &Program, size: u128, limit: u64) -> Result<(), InlineError> {
    match size > u128::from(limit) {
        true => Err(InlineError::TooLarge { name: p.name().into(), size, limit }),
        false => Ok(()),
    }
}

fn shown(size: u128) -> String {
    if size == u128::MAX { "at least 2^128".into() } else { size.to_string() }
}

/// The same function with those calls expanded that the test picks, here and in what they bring in.
pub(crate) fn inline_where(
    p: &Program,
    pick: impl Fn(&Callee) -> bool,
    limits: &Limits,
) -> Result<Program, InlineError> {
    within(p, size::expanded(p, &pick)[p], limits.equations)?;
    Ok(expand(p, &pick, &Made::default(), limits)?.0)
}

/// A program in the middle of its expansion.
struct Frame {
    program: Arc<Program>,
    map: Vec<Atom>,
    next: usize,
}

fn expand(
    p: &Program,
    pick: &dyn Fn(&Callee) -> bool,
    made: &Made,
    limits: &Limits,
) -> Result<(Program, Vec<u32>), InlineError> {
    let mut b = Builder::new(p.name()).within(limits);
    let inputs = b.inputs_of(p)?;
    let mut origins = Vec::new();
    let mut frames = vec![Frame { program: Arc::new(p.clone()), map: inputs, next: 0 }];
    loop {
        let depth = frames.len() - 1;
        let frame = &mut frames[depth];
        let program = frame.program.clone();
        if frame.next == program.len() {
            let map = std::mem::take(&mut frame.map);
            let outputs = b.translate_all(&program, &map, program.outputs());
            frames.pop();
            match frames.last_mut() {
                Some(caller) => caller.map.extend(outputs),
                None => {
                    b.set_origin(None);
                    return Ok((b.finish(&outputs)?, origins));
                }
            }
            continue;
        }
        let e = program.equation(frame.next);
        frame.next += 1;
        let map = &frame.map;
        let args = b.translate_all(&program, map, e.args);
        match e.op {
            Op::Call(id) if pick(program.callee(*id)) => {
                // a callee without equations takes time, too
                limits.charge(1).map_err(BuildError::Stopped)?;
                // what a call brings in happened, for the reader of the outermost text, where the call stands
                if depth == 0 {
                    b.set_origin(e.origin());
                }
                frames.push(Frame { program: program.callee(*id).program.clone(), map: args, next: 0 });
            }
            op => {
                if depth == 0 {
                    b.set_origin(e.origin());
                }
                let op = made.op(&mut b, &program, op)?;
                let results = b.push(op, &args)?;
                frame.map.extend(results);
                origins.push(frames[0].next as u32 - 1);
            }
        }
    }
}
