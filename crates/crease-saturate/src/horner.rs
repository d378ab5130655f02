//! From normal forms to terms: Horner's form, in several variables by taking out, again and again, the atom that most terms share.
//!
//! What leaves is added to the e-graph beside the terms of the program, so that saturation starts from both: the laws of the ring
//! alone would have to multiply out and gather a polynomial step by step, and run out of room on the way.

use crate::language::{Graph, Node, opaque};
use crate::normal::{Atoms, Key, Monomial, Poly};
use crease_core::Rational;
use egg::Id;
use std::collections::{BTreeMap, HashMap};

/// Adds normal forms to an e-graph.
pub struct Horner<'a> {
    graph: &'a mut Graph,
    atoms: &'a Atoms,
    values: &'a [Id],
    /// The classes of the atoms that were added.
    done: HashMap<u32, Id>,
}

impl<'a> Horner<'a> {
    /// Adds to a graph; `values` are the classes of the values of the program, inputs first.
    pub fn new(graph: &'a mut Graph, atoms: &'a Atoms, values: &'a [Id]) -> Self {
        Horner { graph, atoms, values, done: HashMap::new() }
    }

    /// Adds a polynomial to the class that it is equal to.
    pub fn union(&mut self, class: Id, p: &Poly) {
        let id = self.poly(p);
        self.graph.union(class, id);
    }

    /// A class whose term is this polynomial.
    fn poly(&mut self, p: &Poly) -> Id {
        let terms: Vec<(Monomial, Rational)> = p.0.iter().rev().map(|(m, c)| (m.clone(), c.clone())).collect();
        self.sum(terms)
    }

    fn number(&mut self, c: Rational) -> Id {
        self.graph.add(Node::Number(c))
    }

    fn sum(&mut self, terms: Vec<(Monomial, Rational)>) -> Id {
        if terms.is_empty() {
            return self.number(Rational::ZERO);
        }
        if terms.len() == 1 {
            return self.term(&terms[0].0, &terms[0].1);
        }
        // a factor that all coefficients have up to sign
        let size = terms[0].1.abs();
        if !size.is_one() && terms.iter().all(|(_, c)| c.abs() == size) {
            let signs = terms.into_iter().map(|(m, c)| (m, c.checked_div(&size).unwrap_or_default())).collect();
            let (inner, size) = (self.sum(signs), self.number(size));
            return self.graph.add(Node::Mul([size, inner]));
        }
        match shared(&terms) {
            Some((atom, exponent)) => {
                let (with, without): (Vec<_>, Vec<_>) =
                    terms.into_iter().partition(|(m, _)| m.iter().any(|&(a, k)| a == atom && k > 0));
                let inner = with.into_iter().map(|(m, c)| (divided(m, atom, exponent), c)).collect();
                let (inner, power) = (self.sum(inner), self.power(atom, exponent));
                let product = self.graph.add(Node::Mul([power, inner]));
                if without.is_empty() {
                    return product;
                }
                let rest = self.sum(without);
                self.graph.add(Node::Add([product, rest]))
            }
            None => self.plain(&terms),
        }
    }

    /// A sum term by term, what is added first.
    fn plain(&mut self, terms: &[(Monomial, Rational)]) -> Id {
        let mut sum: Option<Id> = None;
        let first = |t: &&(Monomial, Rational)| t.1.is_positive();
        for (m, c) in terms.iter().filter(first).chain(terms.iter().filter(|t| !first(t))) {
            sum = Some(match sum {
                None => self.term(m, c),
                Some(sum) if c.is_negative() => {
                    let term = self.term(m, &-c);
                    self.graph.add(Node::Sub([sum, term]))
                }
                Some(sum) => {
                    let term = self.term(m, c);
                    self.graph.add(Node::Add([sum, term]))
                }
            });
        }
        sum.unwrap_or_else(|| self.number(Rational::ZERO))
    }

    fn term(&mut self, m: &Monomial, c: &Rational) -> Id {
        let mut product: Option<Id> = None;
        for &(atom, k) in m {
            let power = self.power(atom, k);
            product = Some(match product {
                None => power,
                Some(p) => self.graph.add(Node::Mul([p, power])),
            });
        }
        match product {
            None => self.number(c.clone()),
            Some(p) if c.is_one() => p,
            Some(p) => {
                let c = self.number(c.clone());
                self.graph.add(Node::Mul([c, p]))
            }
        }
    }

    fn power(&mut self, atom: u32, k: i32) -> Id {
        let base = self.atom(atom);
        match k {
            1 => base,
            -1 => self.graph.add(Node::Inv([base])),
            _ => self.graph.add(Node::Power(k, [base])),
        }
    }

    fn atom(&mut self, id: u32) -> Id {
        if let Some(&class) = self.done.get(&id) {
            return class;
        }
        let class = self.new_atom(id);
        self.done.insert(id, class);
        class
    }

    fn new_atom(&mut self, id: u32) -> Id {
        let atoms = self.atoms;
        match atoms.key(id) {
            Key::Input(i) | Key::Value(i) => self.values[*i as usize],
            Key::Relu(w) => {
                let w = self.poly(w);
                self.graph.add(Node::Relu([w]))
            }
            Key::Group(w) => self.poly(w),
            Key::Other(op, args, part) => {
                let args: Box<[Id]> = args.iter().map(|a| self.poly(a)).collect();
                let results = crate::graph::results(op, args.len());
                let op = opaque(self.graph, op);
                let whole = self.graph.add(Node::Opaque(op, args));
                if results == 1 { whole } else { self.graph.add(Node::Part(*part, [whole])) }
            }
        }
    }
}

/// The atom with a positive exponent in most terms, at least two, and the least of those exponents.
fn shared(terms: &[(Monomial, Rational)]) -> Option<(u32, i32)> {
    let mut counts: BTreeMap<u32, (usize, i32)> = BTreeMap::new();
    for (m, _) in terms {
        for &(atom, k) in m.iter().filter(|(_, k)| *k > 0) {
            let entry = counts.entry(atom).or_insert((0, k));
            *entry = (entry.0 + 1, entry.1.min(k));
        }
    }
    let best = counts.into_iter().max_by_key(|(atom, (n, _))| (*n, std::cmp::Reverse(*atom)))?;
    (best.1.0 > 1).then_some((best.0, best.1.1))
}

fn divided(m: Monomial, atom: u32, exponent: i32) -> Monomial {
    m.into_iter().map(|(a, k)| (a, if a == atom { k - exponent } else { k })).filter(|(_, k)| *k != 0).collect()
}
