//! In place of machine code, where there is none: see `native/mod.rs`.

use crate::executable::{Executable, Inputs};
use crate::flat::Flat;
use crate::float::Float;
use std::convert::Infallible;
use std::marker::PhantomData;
use std::ops::Range;

/// Why there is no machine code.
pub(crate) type NoCode = &'static str;

/// There is none.
pub(crate) struct Machine<T>(Infallible, PhantomData<T>);

/// Whether there is machine code at all.
pub(crate) const PRESENT: bool = false;

impl<T> Machine<T> {
    pub fn new(_: &Flat, _: &[usize], _: bool) -> Result<Self, NoCode> {
        Err("this build makes no machine code: its feature `native` does")
    }

    pub fn bytes(&self) -> usize {
        match self.0 {}
    }
}

impl<T: Float> Executable<T> for Machine<T> {
    type Memory = Infallible;

    fn memory(&self) -> Infallible {
        self.0
    }

    fn numbers(&self) -> usize {
        match self.0 {}
    }

    fn bytes(memory: &Infallible) -> usize {
        match *memory {}
    }

    fn run(&self, memory: &mut Infallible, _: Range<usize>, _: Inputs<'_, T>, _: &mut [&mut [T]]) -> bool {
        match *memory {}
    }
}
