//! The level of a program: how deep programs are nested in it. What is elementary is a matter of counting.

use super::tally;
use crate::flow::PerProgram;
use crate::program::{Atom, Program};

impl Program {
    /// The level: 0 for a single elementary operation applied to the inputs as they come (which the paper identifies with the
    /// operation), else one more than the highest level among the operations and programs it applies.
    ///
    /// ```
    /// use crease_core::trace;
    /// assert_eq!(trace(2, |x| x[0] + x[1]).unwrap().level(), 0);
    /// assert_eq!(trace(3, |x| x[0] * (x[1] + x[2])).unwrap().level(), 1);
    /// ```
    pub fn level(&self) -> usize {
        self.each(|p, levels: &PerProgram<usize>| {
            if p.callees().is_empty() && p.is_elementary() {
                return 0;
            }
            1 + p.callees().iter().map(|c| levels[&c.program]).max().unwrap_or(0)
        })[self]
    }

    fn is_elementary(&self) -> bool {
        if self.is_empty() {
            return true;
        }
        let inputs = self.input_values().map(Atom::Value);
        let operations = || tally(self).total();
        self.len() == 1
            && operations() <= 1.into()
            && self.equation(0).args.iter().copied().filter(|a| a.value().is_some()).eq(inputs)
            && self.outputs.iter().copied().eq(self.equation(0).results().map(Atom::Value))
    }
}
