//! The record of a search, kept while it runs: enough for a checker to follow it. See the crate `crease-check` for the format.

use super::relus::{Maximum, Relus};
use super::signs::{Meaning, Part, Signs};
use crate::certificate::form;
use crease_core::local::Form;
use crease_core::number::Rational;
use std::collections::HashMap;
use std::fmt::{self, Write};

/// What was learned, in order: lemmas of the theory, clauses of the SAT solver.
#[derive(Clone, Debug, Default)]
pub(crate) struct Record {
    /// Clauses one after the other: literals, then what the clause was.
    steps: Vec<Step>,
    literals: Vec<i32>,
    facts: Vec<Fact>,
    weights: Vec<Rational>,
}

/// What holds of a relu z = relu(w) in every direction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fact {
    /// z >= 0.
    NotNegative(u32),
    /// z - w >= 0.
    NotBelow(u32),
}

#[derive(Clone, Copy, Debug)]
enum Step {
    /// The next so many literals and facts, each with a weight.
    Lemma(u32, u32),
    Learn(u32),
    Drop(u32),
}

impl Record {
    /// Literals that cannot all be true, and the facts that show it, with their weights.
    pub fn lemma(
        &mut self,
        literals: impl ExactSizeIterator<Item = (i32, Rational)>,
        facts: impl ExactSizeIterator<Item = (Fact, Rational)>,
    ) {
        self.steps.push(Step::Lemma(literals.len() as u32, facts.len() as u32));
        for (literal, weight) in literals {
            self.literals.push(literal);
            self.weights.push(weight);
        }
        for (fact, weight) in facts {
            self.facts.push(fact);
            self.weights.push(weight);
        }
    }

    pub fn learn(&mut self, clause: impl ExactSizeIterator<Item = i32>) {
        self.steps.push(Step::Learn(clause.len() as u32));
        self.literals.extend(clause);
    }

    pub fn drop(&mut self, clause: impl ExactSizeIterator<Item = i32>) {
        self.steps.push(Step::Drop(clause.len() as u32));
        self.literals.extend(clause);
    }

    /// Adds what another search has learned, which is about the same atoms: its lines, as they are written. It may have dropped clauses that are not its own, which stay.
    pub fn read(&mut self, lines: &str) -> Option<()> {
        let mut own: HashMap<Vec<i32>, usize> = HashMap::new();
        let sorted = |mut clause: Vec<i32>| {
            clause.sort_unstable();
            clause.dedup();
            clause
        };
        for line in lines.lines() {
            let mut words = line.split(' ');
            let kind = words.next()?;
            if kind == "lemma" {
                let (mut literals, mut facts) = (Vec::new(), Vec::new());
                while let Some(word) = words.next() {
                    let weight: Rational = words.next()?.parse().ok()?;
                    match word.split_at_checked(1)? {
                        ("z", relu) => facts.push((Fact::NotNegative(relu.parse().ok()?), weight)),
                        ("w", relu) => facts.push((Fact::NotBelow(relu.parse().ok()?), weight)),
                        _ => literals.push((word.parse().ok()?, weight)),
                    }
                }
                *own.entry(sorted(literals.iter().map(|(l, _): &(i32, _)| -l).collect())).or_default() += 1;
                self.lemma(literals.into_iter(), facts.into_iter());
                continue;
            }
            let clause: Vec<i32> = words.map(|w| w.parse().ok()).collect::<Option<_>>()?;
            match kind {
                "learn" => {
                    *own.entry(sorted(clause.clone())).or_default() += 1;
                    self.learn(clause.into_iter());
                }
                "drop" => {
                    if let Some(count) = own.get_mut(&sorted(clause.clone())).filter(|count| **count > 0) {
                        *count -= 1;
                        self.drop(clause.into_iter());
                    }
                }
                _ => return None,
            }
        }
        Some(())
    }

    /// The lines of a certificate that say what was learned.
    pub fn write(&self, out: &mut String) -> fmt::Result {
        let mut literals = self.literals.iter();
        let mut facts = self.facts.iter();
        let mut weights = self.weights.iter().map(Rational::fraction);
        for step in &self.steps {
            let (word, n, weighted) = match *step {
                Step::Lemma(n, m) => ("lemma", n, Some(m)),
                Step::Learn(n) => ("learn", n, None),
                Step::Drop(n) => ("drop", n, None),
            };
            out.push_str(word);
            for literal in literals.by_ref().take(n as usize) {
                write!(out, " {literal}")?;
                if weighted.is_some() {
                    write!(out, " {}", weights.next().unwrap_or_default())?;
                }
            }
            for fact in facts.by_ref().take(weighted.unwrap_or(0) as usize) {
                let weight = weights.next().unwrap_or_default();
                match fact {
                    Fact::NotNegative(z) => write!(out, " z{z} {weight}")?,
                    Fact::NotBelow(z) => write!(out, " w{z} {weight}")?,
                }
            }
            out.push('\n');
        }
        Ok(())
    }
}

/// The proof that a function is linear: its relus, and if need be a refutation.
#[derive(Clone, Debug)]
pub(crate) struct Proof {
    pub relus: Relus,
    pub gradient: Form,
    pub refutation: Option<Box<(Signs, Record)>>,
}

impl Proof {
    /// The lines after those of the model.
    pub fn write(&self, out: &mut String) -> fmt::Result {
        let p = self.relus.dimension;
        let line = |out: &mut String, word: &str, f: &Form| {
            out.push_str(word);
            form(out, f, p, 'z')?;
            writeln!(out)
        };
        line(out, "gradient ", &self.gradient)?;
        writeln!(out, "relus {}", self.relus.arguments.len())?;
        for w in &self.relus.arguments {
            line(out, "relu ", w)?;
        }
        for joins in &self.relus.joins {
            out.push_str("kink");
            for join in joins {
                let [a, b] = join.items;
                match join.by {
                    Maximum::Relu(z) => write!(out, " {a} {b} z{z}")?,
                    Maximum::Equal => write!(out, " {a} {b} =")?,
                    Maximum::First => write!(out, " {a} {b} >=")?,
                }
            }
            out.push('\n');
        }
        if let Some((signs, record)) = self.refutation.as_deref() {
            for atom in &signs.atoms {
                match atom {
                    Meaning::Positive(f) => line(out, "atom > ", f)?,
                    Meaning::Phase(z) => writeln!(out, "phase z{z}")?,
                }
            }
            let [a, b] = signs.root;
            writeln!(out, "root {a} {b}")?;
            for s in &signs.splits {
                write!(out, "split {} z{}", s.atom, s.relu)?;
                for part in s.parts {
                    match part {
                        Part::Never => out.push_str(" F"),
                        Part::Literal(l) => write!(out, " {l}")?,
                    }
                }
                out.push('\n');
            }
            // not all of: the sum is positive, and none of its parts is
            for sum in &signs.sums {
                write!(out, "lemma {} {}", sum.atom.0, sum.atom.1.fraction())?;
                for (part, weight) in &sum.parts {
                    write!(out, " {} {}", -part, weight.fraction())?;
                }
                out.push('\n');
            }
            record.write(out)?;
        }
        out.push_str("end\n");
        Ok(())
    }
}
