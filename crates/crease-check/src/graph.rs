//! A model with enclosed coefficients, as the lines of a certificate state it: a graph, in which nothing is eliminated, since
//! enclosures only grow when they are multiplied out.

use crate::form::Scope;
use crate::interval::Interval;
use crate::lines::{Fault, Lines, MAX_BITS, Words, natural, number};
use std::fmt;

/// What a node is made of. The order is that of elimination: nodes go first, from the last to the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Argument {
    /// A coordinate of the direction.
    Direction(u32),
    /// An earlier node.
    Node(u32),
}

impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Argument::Direction(i) => write!(f, "d{i}"),
            Argument::Node(i) => write!(f, "n{i}"),
        }
    }
}

/// A node.
pub enum Node {
    /// A linear combination, by increasing arguments, none twice.
    Linear(Vec<(Argument, Interval)>),
    /// The largest of two or more.
    Max(Vec<Argument>),
    /// The Euclidean norm of two or more.
    Norm(Vec<Argument>),
}

/// A family of positively homogeneous functions, piecewise linear but for norms, one for each choice of the coefficients from their enclosures.
pub struct Graph {
    pub dimension: u32,
    pub bits: u32,
    pub nodes: Vec<Node>,
    pub output: Argument,
}

impl Graph {
    pub fn read(lines: &mut Lines<'_>) -> Result<Graph, Fault> {
        let mut count = |word: &str, usage: &str, what: &str| -> Result<u32, Fault> {
            let mut line = lines.expect(word, usage)?;
            let count = line.count(what)?;
            line.finish()?;
            Ok(count)
        };
        let dimension = count("dimension", "dimension P", "the number of coordinates of a direction")?;
        let bits = count("bits", "bits B", "the number of bits of enclosures")?;
        if bits == 0 {
            return Err(Fault::expected("a positive number of bits", Some("0")));
        }
        let number = count("nodes", "nodes N", "the number of nodes")?;
        // no room is made for nodes before their lines are there
        let mut nodes = Vec::new();
        for n in 0..number {
            nodes.push(node(lines, Known { dimension, nodes: n })?);
        }
        let mut line = lines.expect("output", "output VARIABLE")?;
        let output = Known { dimension, nodes: number }.argument(line.need("a variable")?)?;
        line.finish()?;
        Ok(Graph { dimension, bits, nodes, output })
    }

    /// The bits of square roots.
    pub fn root_bits(&self) -> u32 {
        self.bits.min(MAX_BITS as u32 / 8)
    }

    /// What may stand in a direction.
    pub fn directions(&self) -> Scope {
        Scope { d: self.dimension, z: 0, k: 0 }
    }

    pub fn kinks(&self) -> usize {
        self.nodes.iter().filter(|n| matches!(n, Node::Max(_) | Node::Norm(_))).count()
    }

    /// The coordinate that the rest of a line is.
    pub fn coordinate(&self, line: &mut Words<'_>) -> Result<u32, Fault> {
        let word = line.need("a coordinate such as `d0`")?;
        line.finish()?;
        match (Known { dimension: self.dimension, nodes: 0 }).argument(word)? {
            Argument::Direction(i) => Ok(i),
            Argument::Node(_) => Err(Fault::expected("a coordinate such as `d0`", Some(word))),
        }
    }
}

/// The variables that may be used: the first so many of each kind.
#[derive(Clone, Copy)]
struct Known {
    dimension: u32,
    nodes: u32,
}

impl Known {
    fn argument(self, word: &str) -> Result<Argument, Fault> {
        let numbered = |letter| word.strip_prefix(letter).and_then(natural);
        let (argument, known) = match (numbered('d'), numbered('n')) {
            (Some(i), _) => (Argument::Direction(i), i < self.dimension),
            (_, Some(i)) => (Argument::Node(i), i < self.nodes),
            (None, None) => return Err(Fault::expected("a variable such as `d0` or `n0`", Some(word))),
        };
        match known {
            true => Ok(argument),
            false => Err(Fault::new(format!(
                "{argument} cannot be used here; there are {} coordinates and {} earlier nodes",
                self.dimension, self.nodes
            ))),
        }
    }

    /// `COEFFICIENT*VARIABLE` or `LOW..HIGH*VARIABLE`.
    fn term(self, word: &str) -> Result<(Argument, Interval), Fault> {
        let expected = || Fault::expected("a term such as `-3/2*d1` or `1/3..1/2*n0`", Some(word));
        let (coefficient, argument) = word.split_once('*').ok_or_else(expected)?;
        let interval = match coefficient.split_once("..") {
            None => Interval::point(number(coefficient)?),
            Some((low, high)) => Interval::between(number(low)?, number(high)?)
                .ok_or_else(|| Fault::expected("an enclosure that begins below its end", Some(word)))?,
        };
        if interval.is_zero() {
            return Err(Fault::expected("a coefficient that is not 0", Some(word)));
        }
        Ok((self.argument(argument)?, interval))
    }
}

fn node(lines: &mut Lines<'_>, known: Known) -> Result<Node, Fault> {
    let usage = "`linear TERM TERM ...`, `norm VARIABLE VARIABLE ...` or `max VARIABLE VARIABLE ...`";
    let text = lines.next()?;
    let mut line = Words::new(text.unwrap_or_default());
    let read: fn(&mut Words<'_>, Known) -> Result<Node, Fault> = match line.peek() {
        Some("linear") => linear,
        Some("max") => |line, known| members(line, known, "maximum").map(Node::Max),
        Some("norm") => |line, known| members(line, known, "norm").map(Node::Norm),
        _ => return Err(Fault::expected(usage, text)),
    };
    line.next()?;
    read(&mut line, known)
}

fn linear(line: &mut Words<'_>, known: Known) -> Result<Node, Fault> {
    let mut terms = Vec::new();
    if line.peek() == Some("0") {
        line.next()?;
        line.finish()?;
        return Ok(Node::Linear(terms));
    }
    terms.push(known.term(line.need("a term, or `0`")?)?);
    while let Some(word) = line.next()? {
        terms.push(known.term(word)?);
    }
    terms.sort_unstable_by_key(|t| t.0);
    match terms.windows(2).find(|w| w[0].0 == w[1].0) {
        Some(w) => Err(Fault::new(format!("{} stands in the combination twice", w[0].0))),
        None => Ok(Node::Linear(terms)),
    }
}

fn members(line: &mut Words<'_>, known: Known, what: &str) -> Result<Vec<Argument>, Fault> {
    let mut members = Vec::new();
    while let Some(word) = line.next()? {
        members.push(known.argument(word)?);
    }
    match members.len() {
        0 | 1 => Err(Fault::new(format!("a kink is the {what} of two or more variables; here is {}", members.len()))),
        _ => Ok(members),
    }
}

impl fmt::Display for Graph {
    /// The lines of the model, each combination by increasing variables.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "dimension {}\nbits {}\nnodes {}", self.dimension, self.bits, self.nodes.len())?;
        for node in &self.nodes {
            match node {
                Node::Linear(terms) if terms.is_empty() => f.write_str("linear 0")?,
                Node::Linear(terms) => {
                    f.write_str("linear")?;
                    terms.iter().try_for_each(|(argument, c)| write!(f, " {c}*{argument}"))?;
                }
                Node::Max(members) | Node::Norm(members) => {
                    f.write_str(if matches!(node, Node::Max(_)) { "max" } else { "norm" })?;
                    members.iter().try_for_each(|m| write!(f, " {m}"))?;
                }
            }
            writeln!(f)?;
        }
        writeln!(f, "output {}", self.output)
    }
}
