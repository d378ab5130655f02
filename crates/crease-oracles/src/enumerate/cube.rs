//! The directions around a point in parts, for several who enumerate: what is found in all parts is what is found in the whole.
//!
//! What enters is a session, and how many parts are wanted; what leaves are [cubes](Cube), short and without a trace of the search, so that they can be sent to others who have the program and
//! the point. A cube names the winners at some kinks: those of the first nodes of the tree over kinks. What the parts give is put together by [`Neighbours::united`].

use super::{EnumerateLimit, EnumerateWork, Neighbours, Way};
use crate::{OracleError, Session};
use crease_core::Limits;
use crease_core::number::Rational;
use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

/// A part of the directions around a point: those along which given members win at some kinks. It is written as `KINK:MEMBER ...`, and as nothing if it is the whole.
///
/// ```
/// use crease_oracles::Cube;
/// let cube: Cube = "3:0 7:1".parse().unwrap();
/// assert_eq!(cube.to_string(), "3:0 7:1");
/// assert!(Cube::default().is_whole() && "3".parse::<Cube>().is_err());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cube {
    /// Kinks, and which of their members that differ wins.
    pub(super) winners: Vec<(usize, usize)>,
}

impl Cube {
    /// Whether all directions are in it.
    pub fn is_whole(&self) -> bool {
        self.winners.is_empty()
    }

    /// The part of it in which these win.
    pub(super) fn with(&self, winners: &[(usize, usize)]) -> Cube {
        Cube { winners: [&self.winners[..], winners].concat() }
    }

    pub(super) fn winner(&self, kink: usize) -> Option<usize> {
        self.winners.iter().find(|(k, _)| *k == kink).map(|(_, member)| *member)
    }
}

impl fmt::Display for Cube {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (kink, member)) in self.winners.iter().enumerate() {
            let blank = if i == 0 { "" } else { " " };
            write!(f, "{blank}{kink}:{member}")?;
        }
        Ok(())
    }
}

impl FromStr for Cube {
    type Err = OracleError;

    fn from_str(text: &str) -> Result<Self, OracleError> {
        let pair = |word: &str| {
            let (kink, member) = word.split_once(':')?;
            Some((kink.parse().ok()?, member.parse().ok()?))
        };
        let winners: Option<Vec<_>> = text.split_whitespace().map(pair).collect();
        winners.map(|winners| Cube { winners }).ok_or(OracleError::Cube)
    }
}

impl Session<'_> {
    /// Takes a cube, as the whole of the directions around the point, apart into as many cubes as are wanted or some more, as far as there are so many. Every cone of it on which the model is linear
    /// lies in one of them, or its mirror image does. Where nothing is to be taken apart, or the limits say stop, there is the one that was given.
    ///
    /// ```
    /// use crease_core::{abs, local::localize, trace, Rational, Tensor};
    /// use crease_oracles::{Cube, Neighbours, Session};
    /// let p = trace(3, |x| abs(x[0]) + abs(x[1]) - abs(x[2])).unwrap();
    /// let model = localize(&p, &vec![Tensor::scalar(Rational::ZERO); 3]).unwrap();
    /// let (session, limits) = (Session::new(&model, 0), Default::default());
    /// let cubes = session.cubes(&Cube::default(), 2, &limits).unwrap();
    /// assert!(cubes.len() >= 2);
    /// let parts = cubes.iter().map(|cube| session.neighbouring_gradients_in(cube, &limits, |_| ()).unwrap());
    /// let all = Neighbours::united(parts, None, &limits);
    /// assert_eq!((all.gradients.len(), all.cells, all.complete()), (8, 8, true));
    /// ```
    pub fn cubes(&self, of: &Cube, wanted: usize, limits: &Limits) -> Result<Vec<Cube>, OracleError> {
        self.from()?;
        if let Some(plain) = self.plain_around() {
            return plain.cubes(of, wanted, limits);
        }
        let same = || vec![of.clone()];
        if wanted < 2 {
            return Ok(same());
        }
        let Way::Tree(normal) = self.way() else { return Ok(same()) };
        let cubes = self.with_tree(&normal, of, limits, &mut |_| (), |mut tree| tree.split(wanted));
        Ok(cubes.ok().filter(|cubes| !cubes.is_empty()).unwrap_or_else(same))
    }
}

impl Neighbours {
    /// What was found in parts of the directions, as one. A gradient of several parts is listed once, with the cells of all. The list is complete if that of every part is and none is missing; `missing` says
    /// what prevented those that are. (A part that was done again by others, in smaller parts, may be there with no cells, so that none is counted twice.) See [`Session::cubes`] for an example.
    pub fn united(
        parts: impl IntoIterator<Item = Neighbours>,
        missing: Option<EnumerateLimit>,
        limits: &Limits,
    ) -> Neighbours {
        let work = EnumerateWork::default();
        let mut all =
            Neighbours { gradients: Vec::new(), cells: 0, limit: missing, exact: true, work, all_vertices: true };
        let mut places: HashMap<Vec<Rational>, usize> = HashMap::new();
        for part in parts {
            all.cells += part.cells;
            all.exact &= part.exact;
            all.all_vertices &= part.all_vertices;
            all.limit = graver(all.limit, part.limit);
            all.work += part.work;
            for n in part.gradients {
                match places.get(&n.gradient) {
                    Some(&i) => all.gradients[i].cells += n.cells,
                    None if all.gradients.len() >= limits.gradients => {
                        all.limit = graver(Some(EnumerateLimit::Gradients(limits.gradients)), all.limit);
                    }
                    None => {
                        places.insert(n.gradient.clone(), all.gradients.len());
                        all.gradients.push(n);
                    }
                }
            }
        }
        all
    }
}

/// The one of two limits that says more: one that ended a search, before one that leaves open whether there is more.
fn graver(a: Option<EnumerateLimit>, b: Option<EnumerateLimit>) -> Option<EnumerateLimit> {
    let ended = |limit: &EnumerateLimit| match limit {
        EnumerateLimit::Cells(_)
        | EnumerateLimit::Gradients(_)
        | EnumerateLimit::Time
        | EnumerateLimit::Stopped
        | EnumerateLimit::Work
        | EnumerateLimit::Memory
        | EnumerateLimit::TooLarge => true,
        EnumerateLimit::FirstOrder | EnumerateLimit::Enclosed(_) | EnumerateLimit::Infinite | EnumerateLimit::Round => {
            false
        }
    };
    match (a, b) {
        (Some(a), Some(b)) if ended(&b) && !ended(&a) => Some(b),
        (Some(a), _) => Some(a),
        (None, b) => b,
    }
}
