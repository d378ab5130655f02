//! Loops over numbers. A kernel gets slices and knows nothing of programs.

pub(crate) mod across;
pub(crate) mod dots;
pub(crate) mod lane;
pub(crate) mod lanes;
pub(crate) mod math;
pub(crate) mod moves;
pub(crate) mod order;
pub(crate) mod registers;
