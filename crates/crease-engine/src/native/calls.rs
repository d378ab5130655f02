//! What generated code calls: functions of one number, and operations on many.

use super::plan::ODD;
use crate::float::{Float, all_finite, library, sigmoid, softplus};
use crate::kernel::lanes;
use crate::kernel::moves::carry_out;
use crate::unit::{LaneOp, Move, Pick, Unit};
use crease_core::Smooth;

/// Memory for calls.
pub(super) struct Scratch<T> {
    members: Vec<T>,
    space: Vec<T>,
    results: Vec<T>,
    positions: Vec<u32>,
}

impl<T> Scratch<T> {
    pub fn bytes(&self) -> usize {
        let numbers = [&self.members, &self.space, &self.results];
        numbers.iter().map(|v| size_of_val(&v[..])).sum::<usize>() + size_of_val(&self.positions[..])
    }
}

impl<T: Float> Scratch<T> {
    pub fn new(longest: usize) -> Self {
        Scratch {
            members: vec![T::ZERO; longest],
            space: vec![T::ZERO; 2 * longest + 1],
            results: vec![T::ZERO; 2 * longest + 1],
            positions: vec![0; longest],
        }
    }

    /// Whether this was made for calls of so many numbers.
    pub fn fits(&self, longest: usize) -> bool {
        self.members.len() == longest
    }
}

/// An operation on many numbers, by the slots of its arguments and results.
pub(super) struct Call<T> {
    pub what: Called<T>,
    pub args: Vec<u32>,
    pub results: Vec<u32>,
    /// Whether to tell if a result is not finite.
    pub checked: bool,
}

pub(super) enum Called<T> {
    Lane(LaneOp, Option<Pick<T>>),
    Move(Move),
}

/// Carries out a call.
///
/// # Safety
///
/// The arena must have all slots that the call names, and the scratch memory room for as many numbers.
pub(super) unsafe extern "C" fn perform<T: Float>(call: *const Call<T>, arena: *mut T, scratch: *mut Scratch<T>) {
    // SAFETY: generated code passes on what `Machine::run` was given, and calls that `Machine` owns
    let (call, scratch) = unsafe { (&*call, &mut *scratch) };
    let members = &mut scratch.members[..call.args.len()];
    for (m, &slot) in members.iter_mut().zip(&call.args) {
        // SAFETY: by the contract
        *m = unsafe { *arena.add(slot as usize) };
    }
    match call.what {
        Called::Lane(op, pick) => {
            lanes::one(op, members, pick, (&mut scratch.space, &mut scratch.positions), &mut scratch.results);
        }
        Called::Move(what) => {
            let results = call.results.len();
            let (lane, positions) = members.split_at(what.lane(members.len(), results));
            if !carry_out(what, lane, positions, &mut scratch.results[..results]) {
                // SAFETY: by the contract
                unsafe { *arena.add(ODD) = T::NAN };
            }
        }
    }
    if call.checked && !all_finite(&scratch.results[..call.results.len()]) {
        // SAFETY: by the contract
        unsafe { *arena.add(ODD) = T::NAN };
    }
    for (&slot, &r) in call.results.iter().zip(&scratch.results) {
        // SAFETY: by the contract
        unsafe { *arena.add(slot as usize) = r };
    }
}

/// Carries out any operation on one or two numbers: the way for those that are rare.
///
/// # Safety
///
/// The pointer must be good.
pub(super) unsafe extern "C" fn unit<T: Float>(unit: *const Unit<T>, a: T, b: T) -> T {
    // SAFETY: by the contract
    unsafe { *unit }.apply(a, b, b)
}

/// A function that is called rather than written as instructions.
pub(super) fn function<T: Float>(f: Smooth) -> Option<extern "C" fn(T) -> T> {
    extern "C" fn exp<T: Float>(x: T) -> T {
        x.library_exp()
    }
    extern "C" fn ln<T: Float>(x: T) -> T {
        x.library_ln()
    }
    extern "C" fn sin<T: Float>(x: T) -> T {
        x.library_sin()
    }
    extern "C" fn cos<T: Float>(x: T) -> T {
        x.library_cos()
    }
    extern "C" fn tanh<T: Float>(x: T) -> T {
        x.library_tanh()
    }
    extern "C" fn logistic<T: Float>(x: T) -> T {
        sigmoid(x, |x| x.library_exp())
    }
    extern "C" fn log_of_sum<T: Float>(x: T) -> T {
        softplus(x, |x| x.library_ln_1p(), |x| x.library_exp())
    }
    /// The interpreter's function, each under an address of its own.
    macro_rules! library_function {
        ($f:ident) => {{
            extern "C" fn call<T: Float>(x: T) -> T {
                library(Smooth::$f, x)
            }
            Some(call)
        }};
    }
    match f {
        Smooth::Exp => Some(exp),
        Smooth::Log => Some(ln),
        Smooth::Sin => Some(sin),
        Smooth::Cos => Some(cos),
        Smooth::Tanh => Some(tanh),
        Smooth::Sigmoid => Some(logistic),
        Smooth::Softplus => Some(log_of_sum),
        Smooth::Tan => library_function!(Tan),
        Smooth::Asin => library_function!(Asin),
        Smooth::Acos => library_function!(Acos),
        Smooth::Atan => library_function!(Atan),
        Smooth::Sinh => library_function!(Sinh),
        Smooth::Cosh => library_function!(Cosh),
        Smooth::Asinh => library_function!(Asinh),
        Smooth::Acosh => library_function!(Acosh),
        Smooth::Atanh => library_function!(Atanh),
        Smooth::Erf => library_function!(Erf),
        Smooth::Erfc => library_function!(Erfc),
        Smooth::ErfSlope => library_function!(ErfSlope),
        Smooth::Log1p => library_function!(Log1p),
        Smooth::Expm1 => library_function!(Expm1),
        // a division, an instruction, functions of the exponent too
        Smooth::Inv | Smooth::Sqrt | Smooth::Power(_) | Smooth::Root(..) => None,
    }
}
