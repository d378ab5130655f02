//! Clauses, and what follows from them by unit propagation.
//!
//! Two literals of each clause are watched, as in a solver, but there is no search: a clause is learned by setting its literals false,
//! propagating, and taking everything back. What propagation finds without assumptions is never taken back, even when the clauses that led
//! there are dropped: they were true, so it is.

use crate::lines::Fault;
use crate::meter::Meter;
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

/// A literal: twice the atom, from 0, and one more for its negation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lit(u32);

impl Lit {
    /// From the number in the text, which is not 0. The sign bit keeps the double within 32 bits.
    pub fn new(number: i32) -> Lit {
        Lit((number.unsigned_abs().saturating_sub(1)) << 1 | u32::from(number < 0))
    }

    /// The number of its atom, from 0.
    pub fn atom(self) -> usize {
        (self.0 >> 1) as usize
    }

    pub fn is_negative(self) -> bool {
        self.0 & 1 == 1
    }

    fn index(self) -> usize {
        self.0 as usize
    }
}

impl std::ops::Not for Lit {
    type Output = Lit;
    fn not(self) -> Lit {
        Lit(self.0 ^ 1)
    }
}

/// The words before the literals of a clause: how many there are, and the next clause with the same hash.
const HEADER: usize = 2;
/// A length with this bit is that of a dropped clause.
const DROPPED: u32 = 1 << 31;
const NONE: u32 = u32::MAX;
/// The kinds of clauses: those of `root`, `split` and `lemma`, and those of `learn`.
const STATED: usize = 0;
const LEARNED: usize = 1;

#[derive(Clone, Copy)]
struct Watch {
    clause: u32,
    /// Another literal of the clause: while it is true, the clause need not be looked at.
    blocker: Lit,
}

/// The clauses that have been stated, and what has been found to be true.
pub struct Clauses {
    /// 1 true, -1 false, 0 open, for each literal.
    values: Vec<i8>,
    /// For each literal the clauses that watch it: those that were stated, and those that were learned.
    watches: [Vec<Vec<Watch>>; 2],
    arena: Vec<u32>,
    /// From the hash of a clause's literals to the last clause with it.
    by_hash: HashMap<u64, u32>,
    hasher: RandomState,
    trail: Vec<Lit>,
    /// How much of the trail has been propagated through the clauses of each kind.
    heads: [usize; 2],
    refuted: bool,
    /// The literals of the clause at hand, sorted, none twice.
    sorted: Vec<Lit>,
}

impl Clauses {
    pub fn new() -> Self {
        Clauses {
            values: Vec::new(),
            watches: [Vec::new(), Vec::new()],
            arena: Vec::new(),
            by_hash: HashMap::new(),
            hasher: RandomState::new(),
            trail: Vec::new(),
            heads: [0, 0],
            refuted: false,
            sorted: Vec::new(),
        }
    }

    /// Makes room for one more atom.
    pub fn add_atom(&mut self) {
        self.values.extend([0, 0]);
        self.watches.iter_mut().for_each(|w| w.extend([Vec::new(), Vec::new()]));
    }

    /// Whether the clauses contradict each other, as far as unit propagation finds.
    pub fn refuted(&self) -> bool {
        self.refuted
    }

    /// Adds a clause that is known to be true.
    pub fn add(&mut self, literals: &[Lit], meter: &mut Meter<'_>) -> Result<(), Fault> {
        self.attach(literals, STATED, meter)
    }

    fn attach(&mut self, literals: &[Lit], kind: usize, meter: &mut Meter<'_>) -> Result<(), Fault> {
        self.sort(literals);
        let clause = self.store()?;
        // a tautology says nothing
        if self.refuted || self.sorted.windows(2).any(|w| w[0] == !w[1]) {
            return Ok(());
        }
        // What is known by now stays so: a clause with a true literal is never needed, and false literals need not be watched.
        let mut open = [0; 2];
        let mut count = 0;
        for (i, literal) in self.sorted.iter().enumerate() {
            match self.values[literal.index()] {
                1 => return Ok(()),
                0 if count < 2 => {
                    open[count] = i;
                    count += 1;
                }
                _ => {}
            }
        }
        // the first two open literals come to the front, to be watched
        for (place, i) in open.into_iter().enumerate().take(count) {
            self.arena.swap(clause + HEADER + place, clause + HEADER + i);
        }
        match count {
            0 => self.refuted = true,
            1 => {
                self.set(Lit(self.arena[clause + HEADER]));
                self.refuted = self.propagate(meter)?;
            }
            _ => {
                let [a, b] = [0, 1].map(|i| Lit(self.arena[clause + HEADER + i]));
                self.watches[kind][a.index()].push(Watch { clause: clause as u32, blocker: b });
                self.watches[kind][b.index()].push(Watch { clause: clause as u32, blocker: a });
            }
        }
        Ok(())
    }

    /// Adds a clause that follows by unit propagation, and says whether it does.
    pub fn learn(&mut self, literals: &[Lit], meter: &mut Meter<'_>) -> Result<bool, Fault> {
        if !self.refuted {
            let known = self.trail.len();
            let mut conflict = false;
            for &literal in literals {
                match self.values[literal.index()] {
                    1 => conflict = true,
                    0 => self.set(!literal),
                    _ => {}
                }
            }
            let follows = conflict || self.propagate(meter)?;
            for literal in self.trail.drain(known..) {
                self.values[literal.index()] = 0;
                self.values[(!literal).index()] = 0;
            }
            self.heads = [known; 2];
            if !follows {
                return Ok(false);
            }
        }
        self.attach(literals, LEARNED, meter)?;
        Ok(true)
    }

    /// Drops a clause, and says whether it was there. A clause of one literal is kept.
    pub fn remove(&mut self, literals: &[Lit], meter: &mut Meter<'_>) -> Result<bool, Fault> {
        self.sort(literals);
        let hash = self.hasher.hash_one(&self.sorted);
        let mut before = NONE;
        let mut at = self.by_hash.get(&hash).copied().unwrap_or(NONE);
        while at != NONE {
            let (length, next) = (self.arena[at as usize], self.arena[at as usize + 1]);
            meter.spend(1 + u64::from(length))?;
            if self.is_sorted_clause(at as usize) {
                if length > 1 {
                    self.arena[at as usize] |= DROPPED;
                    match before {
                        NONE if next == NONE => drop(self.by_hash.remove(&hash)),
                        NONE => drop(self.by_hash.insert(hash, next)),
                        before => self.arena[before as usize + 1] = next,
                    }
                }
                return Ok(true);
            }
            (before, at) = (at, next);
        }
        Ok(false)
    }

    /// Whether a clause has just the literals at hand.
    fn is_sorted_clause(&self, clause: usize) -> bool {
        let literals = &self.arena[clause + HEADER..][..self.arena[clause] as usize];
        // no literal is there twice on either side, so as many are all of them
        literals.len() == self.sorted.len() && literals.iter().all(|&l| self.sorted.binary_search(&Lit(l)).is_ok())
    }

    fn sort(&mut self, literals: &[Lit]) {
        self.sorted.clear();
        self.sorted.extend_from_slice(literals);
        self.sorted.sort_unstable();
        self.sorted.dedup();
    }

    /// Writes down the literals at hand, and returns where.
    fn store(&mut self) -> Result<usize, Fault> {
        let at = self.arena.len();
        if at + HEADER + self.sorted.len() >= DROPPED as usize {
            return Err(Fault::new(format!("the clauses have more than {DROPPED} literals together")));
        }
        let hash = self.hasher.hash_one(&self.sorted);
        let next = self.by_hash.insert(hash, at as u32).unwrap_or(NONE);
        self.arena.extend([self.sorted.len() as u32, next]);
        self.arena.extend(self.sorted.iter().map(|l| l.0));
        Ok(at)
    }

    fn set(&mut self, literal: Lit) {
        self.values[literal.index()] = 1;
        self.values[(!literal).index()] = -1;
        self.trail.push(literal);
    }

    /// Follows all consequences of the trail; whether they contradict each other. Clauses that were stated come first: they are few, and what
    /// is wanted is any conflict.
    fn propagate(&mut self, meter: &mut Meter<'_>) -> Result<bool, Fault> {
        loop {
            let Some(kind) = [STATED, LEARNED].into_iter().find(|&k| self.heads[k] < self.trail.len()) else {
                return Ok(false);
            };
            let literal = self.trail[self.heads[kind]];
            self.heads[kind] += 1;
            let mut steps = 1;
            let conflict = self.visit(!literal, kind, &mut steps);
            meter.spend(steps)?;
            if conflict {
                return Ok(true);
            }
        }
    }

    /// Looks at all clauses of a kind that watch a literal which has become false; whether one of them is false.
    fn visit(&mut self, literal: Lit, kind: usize, steps: &mut u64) -> bool {
        let mut watches = std::mem::take(&mut self.watches[kind][literal.index()]);
        let (mut kept, mut conflict) = (0, false);
        let mut i = 0;
        while i < watches.len() {
            let watch = watches[i];
            i += 1;
            *steps += 1;
            if self.values[watch.blocker.index()] == 1 {
                watches[kept] = watch;
                kept += 1;
                continue;
            }
            let at = watch.clause as usize;
            let length = self.arena[at];
            if length & DROPPED != 0 {
                continue;
            }
            let clause = &mut self.arena[at + HEADER..][..length as usize];
            if clause[0] == literal.0 {
                clause.swap(0, 1);
            }
            let other = Lit(clause[0]);
            let watch = Watch { clause: watch.clause, blocker: other };
            if self.values[other.index()] != 1 {
                let next = clause[2..].iter().position(|&l| self.values[l as usize] != -1);
                *steps += next.unwrap_or(clause.len()) as u64 / 4;
                if let Some(next) = next {
                    clause.swap(1, next + 2);
                    let new = Lit(clause[1]);
                    self.watches[kind][new.index()].push(watch);
                    continue;
                }
            }
            watches[kept] = watch;
            kept += 1;
            match self.values[other.index()] {
                1 => {}
                0 => self.set(other),
                _ => {
                    conflict = true;
                    break;
                }
            }
        }
        // after a conflict the rest has not been looked at
        let rest = i..watches.len();
        watches.copy_within(rest.clone(), kept);
        watches.truncate(kept + rest.len());
        self.watches[kind][literal.index()] = watches;
        conflict
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Effort;

    struct Proof(Clauses, Meter<'static>);

    impl Proof {
        fn new(atoms: usize) -> Self {
            let mut clauses = Clauses::new();
            (0..atoms).for_each(|_| clauses.add_atom());
            Proof(clauses, Meter::new(Effort::default(), 1 << 20))
        }
        fn add(&mut self, c: &[i32]) {
            self.0.add(&lits(c), &mut self.1).unwrap()
        }
        fn learn(&mut self, c: &[i32]) -> bool {
            self.0.learn(&lits(c), &mut self.1).unwrap()
        }
        fn remove(&mut self, c: &[i32]) -> bool {
            self.0.remove(&lits(c), &mut self.1).unwrap()
        }
    }

    fn lits(c: &[i32]) -> Vec<Lit> {
        c.iter().map(|&n| Lit::new(n)).collect()
    }

    #[test]
    fn four_clauses_on_two_atoms() {
        let mut p = Proof::new(2);
        [[1, 2], [1, -2], [-1, 2], [-1, -2]].iter().for_each(|c| p.add(c));
        assert!(!p.0.refuted());
        assert!(!p.learn(&[]));
        assert!(p.learn(&[1]) && p.0.refuted() && p.learn(&[]));
    }

    #[test]
    fn duplicates_tautologies_and_empty_clauses() {
        let mut p = Proof::new(3);
        p.add(&[1, 1, 2, 1]);
        p.add(&[3, -3, 1]);
        assert!(!p.learn(&[1]) && !p.learn(&[3]));
        assert!(p.learn(&[2, -2]) && p.learn(&[2, 1, 1]) && !p.0.refuted());
        assert!(p.remove(&[-3, 3, 1]) && !p.remove(&[-3, 3, 1]));
        p.add(&[-1, -1]);
        assert!(p.learn(&[2]) && !p.0.refuted());
        p.add(&[]);
        assert!(p.0.refuted());
    }

    #[test]
    fn dropped_clauses_are_gone_but_units_stay() {
        let mut p = Proof::new(3);
        p.add(&[1, 2, 3]);
        p.add(&[3, 2, 1]);
        assert!(p.learn(&[1, 2, 3]));
        for _ in 0..3 {
            assert!(p.remove(&[2, 3, 1]));
        }
        assert!(!p.remove(&[1, 2, 3]) && !p.learn(&[1, 2, 3]));
        p.add(&[1, 2]);
        p.add(&[-2]);
        assert!(p.remove(&[1, 2]), "it is the reason of a unit, and may go");
        assert!(p.remove(&[-2]) && p.remove(&[-2]));
        assert!(p.learn(&[1]) && p.learn(&[-2]) && !p.learn(&[3]));
    }

    /// What propagation says by the definition.
    fn slow(clauses: &[Vec<i32>], mut known: Vec<i32>) -> bool {
        loop {
            let mut new = None;
            for c in clauses {
                if c.iter().any(|l| known.contains(l)) {
                    continue;
                }
                let mut open: Vec<i32> = c.iter().copied().filter(|l| !known.contains(&-l)).collect();
                open.dedup();
                match open[..] {
                    [] => return true,
                    [one] => new = Some(one),
                    _ => {}
                }
            }
            if known.iter().any(|l| known.contains(&-l)) {
                return true;
            }
            match new {
                Some(l) => known.push(l),
                None => return false,
            }
        }
    }

    #[test]
    fn propagation_is_that_of_the_definition() {
        let mut state = 1_u64;
        let mut random = |n: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % n
        };
        let (mut yes, mut no) = (0, 0);
        for _ in 0..300 {
            let atoms = 3 + random(6);
            let mut p = Proof::new(atoms as usize);
            let mut clauses: Vec<Vec<i32>> = Vec::new();
            for _ in 0..60 {
                let mut c: Vec<i32> = (0..1 + random(4))
                    .map(|_| (1 + random(atoms) as i32) * if random(2) == 0 { 1 } else { -1 })
                    .collect();
                c.sort_unstable();
                match random(8) {
                    0..=2 => {
                        let expected = slow(&clauses, c.iter().map(|l| -l).collect());
                        assert_eq!(p.learn(&c), expected);
                        if expected {
                            yes += 1;
                            clauses.push(c);
                        } else {
                            no += 1;
                        }
                    }
                    3 if !clauses.is_empty() => {
                        let i = random(clauses.len() as u64) as usize;
                        // dropping may lose units that propagation has found; only the other way is comparable
                        if clauses[i].len() > 1 && !p.0.refuted() && p.0.trail.is_empty() {
                            let c = clauses.swap_remove(i);
                            assert!(p.remove(&c));
                        }
                    }
                    _ => {
                        if c.len() > 1 || random(4) == 0 {
                            p.add(&c);
                            clauses.push(c);
                        }
                    }
                }
                assert_eq!(p.0.refuted(), slow(&clauses, Vec::new()));
            }
        }
        assert!(yes > 500 && no > 500, "{yes} {no}");
    }
}
