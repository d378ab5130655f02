//! Inlining: a program of any level as one of level 1, with the same cost.
//!
//! Calls are replaced by the equations of what they call, over and over, until only operations are left. Selections stay,
//! because which branch runs is known only in the run; their branches are inlined.

use crate::builder::{BuildError, Builder};
use crate::op::Op;
use crate::program::{Atom, Callee, Program};
use std::collections::HashMap;
use std::sync::Arc;

/// The largest number of equations that inlining may produce.
pub const MAX_INLINED: u64 = 1 << 27;

/// Why a program cannot be inlined.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InlineError {
    /// Expanding all calls gives more than [`MAX_INLINED`] equations.
    #[error(
        "expanding all calls of `{name}` gives more than {MAX_INLINED} equations; differentiate calls from inside instead (--technique backward)"
    )]
    TooLarge {
        /// The program.
        name: String,
    },
    /// The result could not be built.
    #[error(transparent)]
    Build(#[from] BuildError),
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
    Ok(inline_traced(p)?.0)
}

/// Like [`inline`], with the equation of `p` from which each equation came.
pub(crate) fn inline_traced(p: &Program) -> Result<(Program, Vec<u32>), InlineError> {
    // branches of selections first, callees before callers
    let mut done: HashMap<*const Program, Arc<Program>> = HashMap::new();
    let library = p.library();
    let branches = |q: &Program| -> Vec<*const Program> {
        let ids = q.equations().filter_map(|e| match e.op {
            Op::Select(ids) => Some(ids.to_vec()),
            _ => None,
        });
        ids.flatten().map(|id| Arc::as_ptr(&q.callee(id).program)).collect()
    };
    let mut wanted: std::collections::HashSet<*const Program> = branches(p).into_iter().collect();
    for q in &library {
        wanted.extend(branches(q));
    }
    for q in library.iter().filter(|q| wanted.contains(&Arc::as_ptr(q))) {
        let inlined = Arc::new(expand(q, &|_| true, &done)?.0);
        done.insert(Arc::as_ptr(q), inlined);
    }
    expand(p, &|_| true, &done)
}

/// The same function with those calls expanded that the test picks, here and in what they bring in.
pub(crate) fn inline_where(p: &Program, pick: impl Fn(&Callee) -> bool) -> Result<Program, InlineError> {
    Ok(expand(p, &pick, &HashMap::new())?.0)
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
    replaced: &HashMap<*const Program, Arc<Program>>,
) -> Result<(Program, Vec<u32>), InlineError> {
    if size(p, pick) > MAX_INLINED {
        return Err(InlineError::TooLarge { name: p.name().into() });
    }
    let mut b = Builder::new(p.name());
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
                    b.set_place(None);
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
                // what a call brings in happened, for the reader of the outermost text, where the call stands
                if depth == 0 {
                    b.set_place(e.place);
                }
                frames.push(Frame { program: program.callee(*id).program.clone(), map: args, next: 0 });
            }
            op => {
                if depth == 0 {
                    b.set_place(e.place);
                }
                let mut ids = HashMap::new();
                for &id in op.callees() {
                    let c = program.callee(id);
                    let q = replaced.get(&Arc::as_ptr(&c.program)).unwrap_or(&c.program).clone();
                    ids.insert(id, b.callee(q, c.joint.clone())?);
                }
                let results = b.push(op.map_callees(|id| ids[&id]), &args)?;
                frame.map.extend(results);
                origins.push(frames[0].next as u32 - 1);
            }
        }
    }
}

/// The number of equations after expansion.
fn size(p: &Program, pick: &dyn Fn(&Callee) -> bool) -> u64 {
    let mut sizes: HashMap<*const Program, u64> = HashMap::new();
    let of = |q: &Program, sizes: &HashMap<*const Program, u64>| {
        q.equations().fold(0u64, |n, e| match e.op {
            Op::Call(id) if pick(q.callee(*id)) => n.saturating_add(sizes[&Arc::as_ptr(&q.callee(*id).program)]),
            _ => n.saturating_add(1),
        })
    };
    for q in p.library() {
        let n = of(&q, &sizes);
        sizes.insert(Arc::as_ptr(&q), n);
    }
    of(p, &sizes)
}
