//! The items of the paper, what it numbers and what it claims in passing, each with the computation that shows it.
//!
//! An [`Item`] is a name, a claim in our words and a function; what that function returns is an [`Outcome`], a list of [`Fact`]s.
//! `section2` to `section5` and `appendix_a` to `appendix_d` hold the items where the paper has them; `conservative` and
//! `beyond` are computations that items of more than one section share, and `sample` draws the random programs, points and
//! formulas on which they are tried.

mod appendix_a;
mod appendix_b;
mod appendix_c;
mod appendix_d;
mod beyond;
mod conservative;
mod item;
mod outcome;
mod sample;
mod section2;
mod section3;
mod section4;
mod section5;

pub use item::{Item, Kind, PaperError};
pub use outcome::{Fact, Outcome, Picture, Verdict};

/// All items, in the paper's order.
///
/// ```
/// let all = crease_paper::items();
/// assert!(all.len() > 50 && all[0].place == "Section 2");
/// ```
pub fn items() -> Vec<Item> {
    [
        section2::ITEMS,
        section3::ITEMS,
        section4::ITEMS,
        section5::ITEMS,
        appendix_a::ITEMS,
        appendix_b::ITEMS,
        appendix_c::ITEMS,
        appendix_d::ITEMS,
    ]
    .concat()
}

/// The item of that name.
///
/// ```
/// assert!(crease_paper::find("lemma-3").is_some() && crease_paper::find("lemma-4").is_none());
/// ```
pub fn find(id: &str) -> Option<Item> {
    items().into_iter().find(|i| i.id == id)
}
