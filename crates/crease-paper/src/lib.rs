//! The paper, executed: every definition, theorem, table, case and lemma of *On the complexity of nonsmooth automatic
//! differentiation* with the computation that shows it.
//!
//! Nothing enters but the paper's statements, which are written down here in other words; what leaves is, for each
//! [`Item`], an [`Outcome`]: what was run, and [`Fact`]s, each a figure of the paper beside ours, with a [`Verdict`]. Where the two
//! differ, an [erratum](crease::errata) must say why; a difference without one is a defect of crease or news about the paper.
//!
//! | room | what it holds |
//! | --- | --- |
//! | `item` | items, kinds, the list of all |
//! | `outcome` | facts and verdicts |
//! | `section2` to `section5`, `appendix_a` to `appendix_d` | the items, where the paper has them |
//! | `conservative` | Definition 1 along curves inside kinks |
//! | `beyond` | unrolled algorithms, implicit functions, training |
//! | `overhead` | Theorem 2 on the clock: families of programs against their number of inputs |
//! | `sample` | random programs, points and formulas |
//! | `plot` | curves as pictures |
//! | `page` | the report as one page of HTML |
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

mod appendix_a;
mod appendix_b;
mod appendix_c;
mod appendix_d;
mod beyond;
mod conservative;
mod item;
mod outcome;
mod overhead;
mod page;
mod plot;
mod sample;
mod section2;
mod section3;
mod section4;
mod section5;

pub use item::{Item, Kind, PaperError, find, items};
pub use outcome::{Fact, Outcome, Picture, Verdict};
pub use overhead::{Family, Measured, measure};
pub use page::{PageError, page};

pub use plot::{Axis, Plot, PlotError, Series};
