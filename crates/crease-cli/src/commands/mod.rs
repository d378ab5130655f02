//! The commands, one file each. A command is a struct of flags with `run`, which returns what is to be printed.

pub mod cost;
pub mod draw;
pub mod eval;
pub mod grad;
pub mod show;
pub mod table;
