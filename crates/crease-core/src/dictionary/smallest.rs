//! The smallest dictionary that a program is over.

use super::{Dictionary, outside};
use crate::cost::Tally;
use crate::op::Op;
use crate::program::Program;
use std::fmt;

/// Programs with more equations than this are sorted into dictionaries by their tally, which does not ask where each
/// operation stands.
const LARGE: usize = 2000;

/// The first of the dictionaries, from small to large, that a program is over.
///
/// ```
/// use crease_core::{cost::tally, dictionary::{Dictionary, Smallest}, exp, relu, sin, trace};
/// let smallest = |p| Smallest::of(&p, &tally(&p));
/// assert_eq!(smallest(trace(2, |x| relu(x[0]) - x[1])?).dictionary, Dictionary::D0);
/// assert_eq!(smallest(trace(2, |x| relu(x[0]) * exp(x[1]))?).dictionary, Dictionary::Relu);
/// assert_eq!(smallest(trace(1, |x| sin(x[0]))?).to_string(), "extended: sin is not in D'_ReLU");
/// # Ok::<(), crease_core::BuildError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Smallest {
    /// The dictionary.
    pub dictionary: Dictionary,
    /// The operation that puts it outside those of the paper, if one does.
    pub because: Option<String>,
}

impl Smallest {
    /// That of a program, whose tally is known.
    pub fn of(p: &Program, tally: &Tally) -> Self {
        let library = p.library();
        let size = p.len() + library.iter().map(|q| q.len()).sum::<usize>();
        let selects = |q: &Program| q.equations().any(|e| matches!(e.op, Op::Select(_)));
        // the first operation outside
        let outsider: Box<dyn Fn(Dictionary) -> Option<String> + '_> = if size <= LARGE {
            Box::new(|d| outside(p, d).first().map(|o| o.item.clone()))
        } else {
            let select = selects(p) || library.iter().any(|q| selects(q));
            Box::new(move |d| match select {
                true => Some("select".into()),
                false => tally.iter().find(|(item, _)| !d.contains(item)).map(|(item, _)| item.name()),
            })
        };
        let mut because = None;
        for dictionary in [Dictionary::Polynomial, Dictionary::D0, Dictionary::Relu, Dictionary::ReluDerived] {
            because = outsider(dictionary);
            if because.is_none() {
                return Smallest { dictionary, because };
            }
        }
        Smallest { dictionary: Dictionary::Extended, because }
    }
}

impl fmt::Display for Smallest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.because {
            Some(item) => write!(f, "extended: {item} is not in {}", Dictionary::ReluDerived),
            None => self.dictionary.fmt(f),
        }
    }
}
