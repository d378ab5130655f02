//! Machine code for scalar programs that run often at one point: no table, no dispatch, numbers in registers.
//!
//! A flat scalar program enters; [`Machine`] leaves, a list of functions in executable memory that are called one after the
//! other. [`plan`] says which number is where, [`emit`] translates equations for the Cranelift compiler, [`calls`] holds what
//! generated code calls: the functions of the library, and operations on many numbers. Equations keep their order, each is
//! carried out exactly as the interpreter does, and so results are bit for bit the interpreter's. A gradient is that of
//! the derived program, without skipping zeros.
//!
//! Code is cut into pieces of a fixed number of equations, so that the time of compilation grows linearly with them. It is
//! thousands of times that of a run; [`estimate`](crate::scalar::estimate) weighs both.
//!
//! Deliberately absent: code for several points at once, where the groups of [`scalar`](crate::scalar) fill wider vectors than
//! Cranelift has; machines other than x86-64, which the tests do not reach; and any optimisation between equations, which
//! would have to prove that it leaves every bit alone.

mod calls;
mod emit;
mod plan;

use crate::executable::{Executable, Inputs};
use crate::flat::{Flat, FlatOp};
use crate::float::{Float, all_finite, all_truths};
use crate::unit::{LaneOp, Lowered, Move, Part, Pick, Unit, lower, number};
use calls::Scratch;
use cranelift_codegen::Context;
use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{Function, UserFuncName};
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use crease_core::Lane;
use plan::{ODD, ONES, PIECE, Plan};
use std::ops::Range;

/// Whether there is machine code at all.
pub(crate) const PRESENT: bool = true;

/// How an operation is carried out.
enum Placing<T> {
    /// One unit for each result.
    Units(Vec<Part<T>>),
    /// On all arguments, with weights if something is picked.
    Lane(LaneOp, Option<Pick<T>>),
    Move(Move),
}

/// Why there is no machine code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoCode {
    /// The program holds tensors.
    NotScalar,
    /// More numbers than offsets reach.
    TooLarge,
    /// The compiler or the system refuses.
    Refused(String),
}

impl std::fmt::Display for NoCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            NoCode::NotScalar => f.write_str("the program holds tensors"),
            NoCode::TooLarge => f.write_str("too many numbers are alive at once"),
            NoCode::Refused(why) => f.write_str(why),
        }
    }
}

type Entry<T> = unsafe extern "C" fn(*mut T, *mut Scratch<T>);

/// A scalar program as machine code.
pub(crate) struct Machine<T> {
    code: memmap2::Mmap,
    /// Where in the code functions begin.
    pieces: Vec<usize>,
    /// What the code points to.
    _pool: emit::Pool<T>,
    consts: Vec<T>,
    first_input: usize,
    arena: usize,
    longest: usize,
    checked: bool,
    /// For each output, the slots of its elements.
    outputs: Vec<Vec<u32>>,
    /// Slots that must turn out to hold truth values.
    truths: Vec<u32>,
}

/// The memory of a run.
pub(crate) struct Memory<T> {
    arena: Vec<T>,
    scratch: Scratch<T>,
}

impl<T: Float> Machine<T> {
    /// Compiles a program. `checked` code finds out whether everything was finite.
    pub fn new(f: &Flat, output_lens: &[usize], checked: bool) -> Result<Self, NoCode> {
        if (0..f.values()).any(|v| f.len_of(v) != 1) {
            return Err(NoCode::NotScalar);
        }
        let placings: Vec<Placing<T>> = f.ops.iter().map(placing).collect::<Option<_>>().ok_or(NoCode::NotScalar)?;
        let plan = Plan::new(f, &placings);
        if plan.arena >= 1 << 28 {
            return Err(NoCode::TooLarge);
        }
        let isa = target()?;
        let source = emit::Source { flat: f, placings: &placings, plan: &plan, checked };
        let mut pool = emit::Pool { calls: Vec::new(), units: Vec::new() };
        let (mut bytes, mut pieces) = (Vec::new(), Vec::new());
        let mut context = Context::new();
        for from in (0..f.eqs.len()).step_by(PIECE) {
            context.clear();
            let signature = emit::signature(CallConv::triple_default(isa.triple()));
            context.func = Function::with_name_signature(UserFuncName::default(), signature);
            emit::piece(&source, &mut pool, from, &mut context.func);
            let compiled = context
                .compile(&*isa, &mut ControlPlane::default())
                .map_err(|e| NoCode::Refused(e.inner.to_string()))?;
            if !compiled.buffer.relocs().is_empty() {
                return Err(NoCode::Refused("the code depends on where it stands".into()));
            }
            // constants of a piece stand behind its code, aligned to vectors
            bytes.resize(bytes.len().next_multiple_of(64), 0);
            pieces.push(bytes.len());
            bytes.extend_from_slice(compiled.code_buffer());
        }
        Ok(Machine {
            code: executable(&bytes)?,
            pieces,
            _pool: pool,
            consts: f.consts.iter().map(number).collect(),
            first_input: plan.inputs(),
            arena: plan.arena,
            longest: plan.longest,
            checked,
            outputs: outputs(f, &plan, output_lens),
            truths: f.truths.iter().filter_map(|&t| plan.slot(t)).collect(),
        })
    }

    /// How many bytes the code has.
    pub fn bytes(&self) -> usize {
        self.code.len()
    }

    /// Runs at one point; false if something was not finite, which only checked code finds out, or no truth value where
    /// one must be.
    fn run_at(&self, m: &mut Memory<T>, point: usize, inputs: Inputs<'_, T>, outputs: &mut [&mut [T]]) -> bool {
        assert!(m.arena.len() == self.arena && m.scratch.fits(self.longest), "memory of other code");
        let mut at = self.first_input;
        for input in inputs.at(point) {
            let len = input.len();
            match input {
                // many inputs are single numbers, which are sooner written than copied
                [x] => m.arena[at] = *x,
                _ => m.arena[at..at + len].copy_from_slice(input),
            }
            at += len;
        }
        m.arena[ODD] = T::ZERO;
        let (arena, scratch) = (m.arena.as_mut_ptr(), &raw mut m.scratch);
        for &piece in &self.pieces {
            // SAFETY: at this place stands a function of this signature, which `new` has compiled for this machine and copied
            // whole; it does not depend on where it stands. It reads and writes slots of the arena, of which there are as many
            // as `memory` makes, all below `self.arena`, and hands both pointers on to calls that the pool keeps alive. The
            // memory is that of this thread alone, and code is never written to again.
            unsafe {
                let entry = std::mem::transmute::<*const u8, Entry<T>>(self.code.as_ptr().add(piece));
                entry(arena, scratch);
            }
        }
        for (slots, out) in self.outputs.iter().zip(outputs) {
            let out = &mut out[point * slots.len()..][..slots.len()];
            for (o, &slot) in out.iter_mut().zip(slots) {
                *o = m.arena[slot as usize];
            }
        }
        m.arena[ODD] == T::ZERO
            && self.truths.iter().all(|&slot| all_truths(&m.arena[slot as usize..][..1]))
            && (!self.checked || inputs.at(point).all(all_finite))
    }
}

impl<T: Float> Executable<T> for Machine<T> {
    type Memory = Memory<T>;

    fn memory(&self) -> Memory<T> {
        let mut arena = vec![T::ZERO; self.arena];
        arena[..ONES].fill(T::ONE);
        arena[ONES + 1..][..self.consts.len()].copy_from_slice(&self.consts);
        Memory { arena, scratch: Scratch::new(self.longest) }
    }

    fn numbers(&self) -> usize {
        self.arena + 6 * self.longest + 2
    }

    fn bytes(memory: &Memory<T>) -> usize {
        size_of_val(&memory.arena[..]) + memory.scratch.bytes()
    }

    fn run(&self, m: &mut Memory<T>, points: Range<usize>, inputs: Inputs<'_, T>, outputs: &mut [&mut [T]]) -> bool {
        points.into_iter().all(|point| self.run_at(m, point, inputs, outputs))
    }
}

fn outputs(f: &Flat, plan: &Plan, lens: &[usize]) -> Vec<Vec<u32>> {
    let mut slots = f.outputs.iter().filter_map(|&o| plan.slot(o));
    lens.iter().map(|&n| slots.by_ref().take(n).collect()).collect()
}

/// The machine that this runs on. Compilation is to be quick: pieces leave little to decide.
fn target() -> Result<OwnedTargetIsa, NoCode> {
    let refused = |e: &dyn std::fmt::Display| NoCode::Refused(e.to_string());
    let mut flags = settings::builder();
    for (name, value) in [
        ("opt_level", "none"),
        ("regalloc_algorithm", "backtracking"),
        ("enable_verifier", "false"),
        ("enable_alias_analysis", "false"),
        ("unwind_info", "false"),
        ("enable_probestack", "false"),
    ] {
        flags.set(name, value).map_err(|e| refused(&e))?;
    }
    let builder = cranelift_native::builder().map_err(|e| refused(&e))?;
    builder.finish(settings::Flags::new(flags)).map_err(|e| refused(&e))
}

/// Code in memory of its own, which is first written to, then executable, never both, and given back when it is dropped.
fn executable(bytes: &[u8]) -> Result<memmap2::Mmap, NoCode> {
    let refused = |e: std::io::Error| NoCode::Refused(e.to_string());
    let mut memory = memmap2::MmapMut::map_anon(bytes.len().max(1)).map_err(refused)?;
    memory[..bytes.len()].copy_from_slice(bytes);
    memory.make_exec().map_err(refused)
}

fn placing<T: Float>(op: &FlatOp) -> Option<Placing<T>> {
    let op = match op {
        FlatOp::Pick => return Some(Placing::Units(vec![(Unit::Pick, [0, 1])])),
        FlatOp::Loop(..) => return None,
        FlatOp::Op(op) => op,
    };
    match lower(op) {
        Lowered::Units(parts) => Some(Placing::Units(parts)),
        Lowered::Lane(op, Lane::Args, pick) => Some(Placing::Lane(op, pick)),
        Lowered::Move(Lane::Args, what) => Some(Placing::Move(what)),
        _ => None,
    }
}
