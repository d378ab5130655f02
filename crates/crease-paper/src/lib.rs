//! The paper, executed: every definition, theorem, table, case and lemma of *On the complexity of nonsmooth automatic
//! differentiation* with the computation that shows it.
//!
//! Nothing enters but the paper's statements, which are written down here in other words; what leaves is, for each
//! [`Item`], an [`Outcome`]: what was run, and [`Fact`]s, each a figure of the paper beside ours, with a [`Verdict`]. Where the two
//! differ, an [erratum](errata) must say why; a difference without one is a defect of crease or news about the paper.
//!
//! | where | what |
//! | --- | --- |
//! | [`items()`], [`find`], [`Item`], [`Outcome`], [`Fact`] | the items in the paper's order, and what their computations find |
//! | [`page()`], [`Plot`] | the report as one page of HTML; curves as pictures |
//! | [`programs`] | the programs that the paper draws, costs and differentiates |
//! | [`tables`] | Tables 1 to 3 and the cases of the appendix, computed, with the paper's figure beside each |
//! | [`errata`] | where the paper slips, with the computation; the text of `ERRATA.md` |
//! | [`theorem3`] | the lower bound on p directional derivatives, carried out: each step of the reduction as a program |
//! | [`products`] | products of matrices as programs, naive and by Strassen and Winograd, and their counts |
//! | [`experiments`] | Definition 1 along curves, unrolled and implicit functions, training, Theorem 2 on the clock |
//!
//! The first two rows are the report, and use the others, which do not know it.
//!
//! A theorem is not proved by running it. What is claimed for all programs is checked on many, exactly where that is possible; what
//! is constructed in a proof is constructed; what is printed as a number is counted. Statements about complexity classes are shown by
//! their reductions. Lower bounds on complexity are beyond computation, and items say so.
//!
//! ```
//! use crease_paper::{find, Verdict};
//! let table = find("table-1").unwrap().execute()?;
//! assert!(table.facts.iter().all(|f| f.verdict == Verdict::Agrees));
//! assert_eq!((table.facts[0].paper.as_str(), table.facts[0].ours.as_str()), ("5", "5"));
//! # Ok::<(), crease_paper::PaperError>(())
//! ```

pub mod errata;
pub mod experiments;
mod items;
mod page;
mod plot;
pub mod products;
pub mod programs;
pub mod tables;
pub mod theorem3;

pub use items::{Fact, Item, Kind, Outcome, PaperError, Picture, Verdict, find, items};
pub use page::{PageError, page};
pub use plot::{Axis, Plot, PlotError, Series};

/// What may be shared between threads.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Item>();
    shared::<Outcome>();
    shared::<Fact>();
    shared::<Plot>();
    shared::<PaperError>();
    shared::<PageError>();
};
