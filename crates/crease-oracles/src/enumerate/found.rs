//! The gradients that were found, each once.

use super::Neighbour;
use crease_core::number::Rational;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

/// Gradients by their hash, so that they are stored only once.
pub(super) struct Found {
    pub list: Vec<Neighbour>,
    by_hash: HashMap<u64, Vec<u32>>,
    hasher: RandomState,
}

impl Found {
    pub fn new() -> Self {
        Found { list: Vec::new(), by_hash: HashMap::new(), hasher: RandomState::new() }
    }

    /// Counts a cell of a gradient that is known; nothing if it is not.
    pub fn count(&mut self, gradient: &[Rational]) -> Option<()> {
        let same = |&&i: &&u32| self.list[i as usize].gradient == gradient;
        let &i = self.by_hash.get(&self.hasher.hash_one(gradient))?.iter().find(same)?;
        self.list[i as usize].cells += 1;
        Some(())
    }

    /// Adds a gradient that is not known, with its first cell.
    pub fn add(&mut self, gradient: Vec<Rational>, direction: Vec<Rational>) -> &Neighbour {
        let hash = self.hasher.hash_one(&gradient[..]);
        self.by_hash.entry(hash).or_default().push(self.list.len() as u32);
        self.list.push(Neighbour { gradient, radius: None, direction, cells: 1 });
        &self.list[self.list.len() - 1]
    }
}
