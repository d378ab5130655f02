//! In place of machine code, where there is none: see `native/mod.rs`.

use crate::flat::Flat;
use std::convert::Infallible;
use std::marker::PhantomData;

/// Why there is no machine code.
pub(crate) type NoCode = &'static str;

/// There is none.
pub(crate) struct Machine<T>(Infallible, PhantomData<T>);

/// Nor memory for it.
pub(crate) struct Memory<T>(Infallible, PhantomData<T>);

/// Whether there is machine code at all.
pub(crate) const PRESENT: bool = false;

impl<T> Memory<T> {
    pub fn bytes(&self) -> usize {
        match self.0 {}
    }
}

impl<T> Machine<T> {
    pub fn new(_: &Flat, _: &[usize], _: bool) -> Result<Self, NoCode> {
        Err("this build makes no machine code")
    }

    pub fn bytes(&self) -> usize {
        match self.0 {}
    }

    pub fn memory(&self) -> Memory<T> {
        match self.0 {}
    }

    pub fn run(&self, m: &mut Memory<T>, _: usize, _: (&[&[T]], &[usize]), _: &mut [&mut [T]]) -> bool {
        match m.0 {}
    }
}
