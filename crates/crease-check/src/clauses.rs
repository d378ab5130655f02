//! Refutations: atoms with a meaning for every direction, clauses that hold for all of them, and what follows.
//!
//! Suppose h(d) is not 0 for some d. Then there is a generic one among those: no form in d alone that an atom or a phase names is 0 at
//! it, unless it is 0 everywhere. Every clause below is true at that d; so when they contradict each other there is none.

use crate::Statistics;
use crate::form::{Form, Scope, Sum, Var};
use crate::lines::{Fault, Lines, Words, literal, natural};
use crate::meter::Meter;
use crate::model::Model;
use crate::rewrite::{known_relu, relu_number};
use crate::rup::{Clauses, Lit};
use crease_number::Rational;
use std::collections::HashMap;

enum Atom {
    /// The form is positive.
    Above(Form),
    /// The form is not negative.
    AtLeast(Form),
    /// The form of this relu is not negative.
    Phase(u32),
}

/// What a literal states: `form` (or `-form`, if `negative`) is positive, or only not negative. At a generic direction the literal is true
/// if *and only if* that is so: some rules need the one direction, some the other.
struct Statement<'p> {
    form: &'p Form,
    negative: bool,
    strict: bool,
    /// Both come to the same, because the form cannot be 0: it is in the direction alone, and the direction is generic.
    generic: bool,
}

impl Statement<'_> {
    fn sign(&self) -> Rational {
        if self.negative { Rational::from(-1) } else { Rational::ONE }
    }

    fn is_strict(&self) -> bool {
        self.strict || self.generic
    }

    /// Whether this is the statement that the sum is positive, or that it is not negative, up to a positive factor.
    fn says(&self, sum: &Sum, strict: bool, meter: &mut Meter<'_>) -> Result<bool, Fault> {
        Ok((self.generic || self.strict == strict) && sum.is_positive_multiple(self.form, self.negative, meter)?)
    }
}

/// What `split` has in place of a literal.
enum Part {
    Literal(Lit),
    True,
    False,
}

/// A refutation as far as it has been read.
pub struct Refutation<'p> {
    scope: Scope,
    relus: &'p [Form],
    /// What is claimed to be 0 everywhere.
    h: &'p Form,
    atoms: Vec<Atom>,
    clauses: Clauses,
    counts: Statistics,
}

impl<'p> Refutation<'p> {
    pub fn new(model: &Model, relus: &'p [Form], h: &'p Form) -> Self {
        // the caller has read as many lines as there are relus, and their number is a `u32`
        let scope = Scope { d: model.dimension, z: relus.len() as u32, k: 0 };
        let counts = Statistics { relus: relus.len(), ..Statistics::default() };
        Refutation { scope, relus, h, atoms: Vec::new(), clauses: Clauses::new(), counts }
    }

    /// Reads all lines up to `end`, which has to be justified.
    pub fn read(mut self, lines: &mut Lines<'_>, meter: &mut Meter<'_>) -> Result<Statistics, Fault> {
        const KINDS: &str =
            "a line that starts with `atom`, `phase`, `root`, `split`, `lemma`, `learn`, `drop` or `end`";
        let mut literals = Vec::new();
        loop {
            let Some(text) = lines.next()? else { return Err(Fault::expected("a clause, or `end`", None)) };
            let mut line = Words::new(text);
            match line.next()?.unwrap_or_default() {
                "atom" => self.atom(&mut line)?,
                "phase" => self.phase(&mut line)?,
                "root" => self.root(&mut line, meter)?,
                "split" => self.split(&mut line, meter)?,
                "lemma" => self.lemma(&mut line, meter)?,
                "learn" => {
                    self.literals(&mut line, &mut literals)?;
                    if !self.clauses.learn(&literals, meter)? {
                        return Err(Fault::new("the clause does not follow from those before by unit propagation"));
                    }
                    self.counts.learned += 1;
                }
                "drop" => {
                    self.literals(&mut line, &mut literals)?;
                    if !self.clauses.remove(&literals, meter)? {
                        return Err(Fault::new("there is no such clause to drop"));
                    }
                }
                "end" => {
                    line.finish()?;
                    break;
                }
                _ => return Err(Fault::expected(KINDS, Some(text))),
            }
        }
        match self.h.is_zero() || self.clauses.refuted() {
            true => Ok(self.counts),
            false => Err(Fault::new("unit propagation finds no contradiction among the clauses")),
        }
    }

    fn atom(&mut self, line: &mut Words<'_>) -> Result<(), Fault> {
        let relation = line.need("`>` or `>=`")?;
        let atom = match relation {
            ">" => Atom::Above,
            ">=" => Atom::AtLeast,
            _ => return Err(Fault::expected("`>` or `>=`", Some(relation))),
        };
        let atom = atom(Form::last(line, self.scope)?);
        self.define(atom)
    }

    fn phase(&mut self, line: &mut Words<'_>) -> Result<(), Fault> {
        let j = relu_number(line.need("a relu such as `z0`")?, self.relus)?;
        line.finish()?;
        self.define(Atom::Phase(j))
    }

    fn define(&mut self, atom: Atom) -> Result<(), Fault> {
        if self.atoms.len() >= i32::MAX as usize {
            return Err(Fault::new(format!("there are more than {} atoms", i32::MAX)));
        }
        self.atoms.push(atom);
        self.clauses.add_atom();
        self.counts.atoms += 1;
        Ok(())
    }

    /// h is positive, or it is negative.
    fn root(&mut self, line: &mut Words<'_>, meter: &mut Meter<'_>) -> Result<(), Fault> {
        let a = self.literal(line.need("a literal")?)?;
        let b = self.literal(line.need("a literal")?)?;
        line.finish()?;
        for (literal, factor, what) in [(a, 1, "output - gradient > 0"), (b, -1, "gradient - output > 0")] {
            let sum = Sum::of(&Rational::from(factor), self.h, meter)?;
            if !self.statement(literal).says(&sum, true, meter)? {
                return Err(Fault::new(format!("literal {} does not state that {what}", shown(literal))));
            }
        }
        self.counts.clauses += 1;
        self.clauses.add(&[a, b], meter)
    }

    /// f = r + c max(0, w) is the larger of r and r + c w if c is positive, the smaller if it is negative.
    fn split(&mut self, line: &mut Words<'_>, meter: &mut Meter<'_>) -> Result<(), Fault> {
        let n = self.literal(line.need("a literal")?)?;
        let j = relu_number(line.need("a relu such as `z0`")?, self.relus)?;
        let parts = [self.part(line.need("a literal, `F` or `T`")?)?, self.part(line.need("a literal, `F` or `T`")?)?];
        line.finish()?;
        let f = self.statement(n);
        // A statement that is strict and not can be taken as strict, but then no relu stands in it.
        let strict = f.is_strict();
        let mut sum = Sum::of(&f.sign(), f.form, meter)?;
        let Some(c) = sum.remove(Var::Z(j)) else {
            return Err(Fault::new(format!("z{j} does not occur in what literal {} states", shown(n))));
        };
        self.is_part(&parts[0], &sum, strict, "without the relu", meter)?;
        sum.add(&c, &self.relus[j as usize], meter)?;
        self.is_part(&parts[1], &sum, strict, "with the relu's form in its place", meter)?;
        if c.is_positive() {
            self.split_clause(n, &parts, meter)
        } else {
            self.split_clause(n, &parts[..1], meter)?;
            self.split_clause(n, &parts[1..], meter)
        }
    }

    /// Not n, or one of the parts.
    fn split_clause(&mut self, n: Lit, parts: &[Part], meter: &mut Meter<'_>) -> Result<(), Fault> {
        let mut clause = vec![!n];
        for part in parts {
            match part {
                Part::Literal(literal) => clause.push(*literal),
                Part::False => {}
                Part::True => return Ok(()),
            }
        }
        self.counts.clauses += 1;
        self.clauses.add(&clause, meter)
    }

    fn is_part(&self, part: &Part, sum: &Sum, strict: bool, which: &str, meter: &mut Meter<'_>) -> Result<(), Fault> {
        let (right, found) = match part {
            Part::Literal(literal) => {
                (self.statement(*literal).says(sum, strict, meter)?, format!("literal {}", shown(*literal)))
            }
            Part::False => (sum.is_zero() && strict, "F".into()),
            Part::True => (sum.is_zero() && !strict, "T".into()),
        };
        let relation = if strict { "> 0" } else { ">= 0" };
        match right {
            true => Ok(()),
            false => Err(Fault::new(format!("{found} does not state that the form {which} is {relation}"))),
        }
    }

    /// Farkas: a sum of what is not negative, and once positive, is not 0.
    fn lemma(&mut self, line: &mut Words<'_>, meter: &mut Meter<'_>) -> Result<(), Fault> {
        let mut clause = Vec::new();
        let mut phases: HashMap<u32, bool> = HashMap::new();
        let mut sum = Sum::default();
        let mut positive = false;
        while let Some(word) = line.next()? {
            let fact = self.fact(word)?;
            let literal = if fact.is_none() { Some(self.literal(word)?) } else { None };
            let weight = line.number("the weight")?;
            if weight.is_negative() {
                return Err(Fault::expected("a weight that is not negative", Some(&weight.fraction())));
            }
            if let Some((j, above)) = fact {
                sum.add(&weight, &Form::variable(Var::Z(j)), meter)?;
                if above {
                    sum.add(&-&weight, &self.relus[j as usize], meter)?;
                }
            }
            let Some(literal) = literal else { continue };
            let states = self.statement(literal);
            positive |= states.is_strict() && weight.is_positive();
            sum.add(&(states.sign() * weight), states.form, meter)?;
            if let Atom::Phase(j) = self.atoms[literal.atom()]
                && phases.insert(j, !literal.is_negative()) == Some(literal.is_negative())
            {
                return Err(Fault::new(format!("the lemma has z{j} in both of its phases")));
            }
            clause.push(!literal);
        }
        if !positive {
            return Err(Fault::new("the lemma has no literal with a positive weight that states a strict inequality"));
        }
        while let Some((Var::Z(j), c)) = sum.pop(|v| matches!(v, Var::Z(_))) {
            match phases.get(&j) {
                Some(true) => sum.add(&c, &self.relus[j as usize], meter)?,
                Some(false) => {}
                // forms of earlier relus do not have z_j, so nothing could cancel it
                None => {
                    return Err(Fault::new(format!("z{j} is left in the sum, and the lemma does not have its phase")));
                }
            }
        }
        if !sum.is_zero() {
            return Err(Fault::new(format!(
                "the weighted sum is not 0: {} terms are left",
                sum.finish().terms().len()
            )));
        }
        self.counts.lemmas += 1;
        self.clauses.add(&clause, meter)
    }

    fn statement(&self, literal: Lit) -> Statement<'_> {
        let (form, strict) = match &self.atoms[literal.atom()] {
            Atom::Above(form) => (form, true),
            Atom::AtLeast(form) => (form, false),
            Atom::Phase(j) => (&self.relus[*j as usize], false),
        };
        let generic = !form.is_zero() && form.is_in_directions();
        // the negation of f > 0 is -f >= 0, that of f >= 0 is -f > 0
        Statement { form, negative: literal.is_negative(), strict: strict != literal.is_negative(), generic }
    }

    fn literal(&self, word: &str) -> Result<Lit, Fault> {
        let number = literal(word).ok_or_else(|| Fault::expected("a literal such as `3` or `-3`", Some(word)))?;
        match number.unsigned_abs() as usize <= self.atoms.len() {
            true => Ok(Lit::new(number)),
            false => Err(Fault::new(format!(
                "atom {} is not defined before its use; there are {}",
                number.unsigned_abs(),
                self.atoms.len()
            ))),
        }
    }

    /// A fact about a relu, z >= 0 written `z7` or z - w >= 0 written `w7`: its number, and whether it is the second.
    fn fact(&self, word: &str) -> Result<Option<(u32, bool)>, Fault> {
        let Some(number) = word.strip_prefix(['z', 'w']) else { return Ok(None) };
        let expected = || Fault::expected("a literal, or a fact such as `z0` or `w0`", Some(word));
        let number = known_relu(natural(number).ok_or_else(expected)?, self.relus)?;
        Ok(Some((number, word.starts_with('w'))))
    }

    fn literals(&self, line: &mut Words<'_>, literals: &mut Vec<Lit>) -> Result<(), Fault> {
        literals.clear();
        while let Some(word) = line.next()? {
            literals.push(self.literal(word)?);
        }
        Ok(())
    }

    fn part(&self, word: &str) -> Result<Part, Fault> {
        Ok(match word {
            "F" => Part::False,
            "T" => Part::True,
            _ => Part::Literal(self.literal(word)?),
        })
    }
}

/// A literal as the text has it.
fn shown(literal: Lit) -> String {
    format!("{}{}", if literal.is_negative() { "-" } else { "" }, literal.atom() + 1)
}
