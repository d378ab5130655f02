//! `not-differentiable-enclosed`: two gradients that differ whatever the coefficients are inside their enclosures.
//!
//! Along a direction every node has a value in an interval. A member of a maximum that lies above another one by intervals lies above it for
//! all coefficients, and around the direction, too; one that has the same gradient is the same function there. So each maximum is
//! one of its members. A Euclidean norm that is certainly not 0 is differentiable, its gradient the combination of those of its members with weights that are
//! intervals, too. So the gradient of the output is found from the output down, as an interval for each coordinate. The members that are
//! taken are the same for all coefficients, while the gradient, and the neighbourhood in which it is one, depend on them.
//!
//! Where there are norms, the function is differentiable at the direction and need not be linear around it. That is enough: a directional derivative that has two
//! gradients is not linear. Members with the same gradient there have the same value there, since all of it is positively homogeneous.

use crate::form::Form;
use crate::graph::{Argument, Graph, Node};
use crate::interval::Interval;
use crate::lines::{Fault, Lines};
use crate::meter::Meter;
use crate::{Checked, Claim, EnclosedSide, Statistics, Vector};
use crease_number::Rational;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Reads the model and the proof.
pub fn read(lines: &mut Lines<'_>, meter: &mut Meter<'_>) -> Result<Checked, Fault> {
    let graph = Graph::read(lines)?;
    let mut one = || {
        lines.expect("side", "side")?.finish()?;
        let mut line = lines.expect("direction", "direction FORM")?;
        let direction = Form::last(&mut line, graph.directions())?;
        let gradient = gradient(&graph, &direction, meter)?;
        Ok((direction, gradient))
    };
    let sides = [one()?, one()?];
    let coordinate = graph.coordinate(&mut lines.expect("coordinate", "coordinate dJ")?)?;
    let slope = |gradient: &Gradient| gradient.get(&coordinate).cloned().unwrap_or(Interval::point(Rational::ZERO));
    let [a, b] = [slope(&sides[0].1), slope(&sides[1].1)];
    if !a.is_below(&b, meter)? && !b.is_below(&a, meter)? {
        return Err(Fault::new(format!(
            "the enclosures of d{coordinate} of the two gradients meet, which does not show that the gradients differ"
        )));
    }
    lines.expect("end", "end")?.finish()?;
    let [(first, _), (second, _)] = sides;
    let side = |direction, slope: Interval| EnclosedSide {
        direction: Vector(direction),
        low: slope.low().clone(),
        high: slope.high().clone(),
    };
    Ok(Checked {
        claim: Claim::NotDifferentiableEnclosed {
            bits: graph.bits,
            coordinate: coordinate as usize,
            sides: [side(first, a), side(second, b)],
        },
        dimension: graph.dimension as usize,
        kinks: graph.kinks(),
        model: graph.to_string(),
        statistics: Statistics::default(),
    })
}

/// Enclosures of the coordinates of a gradient; those that are left out are 0.
type Gradient = BTreeMap<u32, Interval>;

/// The gradient of the output around a direction.
fn gradient(graph: &Graph, direction: &Form, meter: &mut Meter<'_>) -> Result<Gradient, Fault> {
    let mut along = Along { graph, values: Vec::new(), taken: Vec::new(), weights: BTreeMap::new(), room: 0 };
    let coordinates: BTreeMap<u32, Interval> =
        Vector(direction.clone()).entries().map(|(i, c)| (i as u32, Interval::point(c.clone()))).collect();
    for node in &graph.nodes {
        along.decide(node, &coordinates, meter)?;
    }
    along.gradient([(graph.output, Rational::ONE)], meter)
}

/// What is known of the first nodes along a direction.
struct Along<'g> {
    graph: &'g Graph,
    values: Vec<Interval>,
    /// The member that a maximum is; of everything else, itself.
    taken: Vec<Argument>,
    /// The weights of the members of norms, by the numbers of their nodes.
    weights: BTreeMap<u32, Vec<Interval>>,
    room: u64,
}

impl Along<'_> {
    /// Finds the value of the next node, and which member it is if it is a maximum.
    fn decide(&mut self, node: &Node, direction: &Gradient, meter: &mut Meter<'_>) -> Result<(), Fault> {
        let zero = Interval::point(Rational::ZERO);
        let of = |argument: Argument| match argument {
            Argument::Direction(i) => direction.get(&i).unwrap_or(&zero),
            Argument::Node(i) => &self.values[i as usize],
        };
        let own = Argument::Node(self.values.len() as u32);
        let (value, taken) = match node {
            Node::Linear(terms) => {
                let mut sum = zero.clone();
                for (argument, c) in terms {
                    sum.add(&c.times(of(*argument), meter)?, meter)?;
                }
                (sum, own)
            }
            Node::Max(members) => {
                let mut best = members[0];
                for &m in &members[1..] {
                    if of(best).begins_below(of(m), meter)? {
                        best = m;
                    }
                }
                for &m in members {
                    if m != best && !of(m).is_below(of(best), meter)? {
                        self.same(own, best, m, meter)?;
                    }
                }
                (of(best).clone(), best)
            }
            Node::Norm(members) => {
                let mut sum = zero.clone();
                for &m in members {
                    sum.add(&of(m).squared(meter)?, meter)?;
                }
                let norm = sum.root(self.graph.root_bits(), meter)?;
                let weights = match norm.inverse(meter)? {
                    Some(over) => members.iter().map(|&m| of(m).times(&over, meter)).collect::<Result<Vec<_>, _>>()?,
                    // members that are 0 around the direction have a norm that is
                    None if norm.is_zero() && self.vanish(members, meter)? => Vec::new(),
                    None => {
                        return Err(Fault::new(format!(
                            "along this direction the norm {own} may be 0, where it has no gradient"
                        )));
                    }
                };
                self.room += weights.iter().map(Interval::words).sum::<u64>();
                self.weights.insert(self.values.len() as u32, weights);
                (norm, own)
            }
        };
        self.room += value.words();
        meter.room(self.room)?;
        self.values.push(value);
        self.taken.push(taken);
        Ok(())
    }

    /// Whether the gradients of all members are 0 around the direction, whatever the coefficients are.
    fn vanish(&self, members: &[Argument], meter: &mut Meter<'_>) -> Result<bool, Fault> {
        for &m in members {
            if !self.gradient([(m, Rational::ONE)], meter)?.is_empty() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Sees that two members of a maximum have the same gradient around the direction, whatever the coefficients are.
    fn same(&self, kink: Argument, a: Argument, b: Argument, meter: &mut Meter<'_>) -> Result<(), Fault> {
        let difference = self.gradient([(a, Rational::ONE), (b, Rational::from(-1))], meter)?;
        match difference.is_empty() {
            true => Ok(()),
            false => Err(Fault::new(format!(
                "along this direction the enclosures do not tell which member of the maximum {kink} is the largest: {a} and {b} may both be, and their gradients may differ"
            ))),
        }
    }

    /// The gradient of a combination, around the direction: nodes are replaced, from the last to the first, by what they are there.
    fn gradient<const N: usize>(
        &self,
        terms: [(Argument, Rational); N],
        meter: &mut Meter<'_>,
    ) -> Result<Gradient, Fault> {
        let mut sum = Sum::default();
        for (argument, c) in terms {
            sum.add(argument, Interval::point(c), meter)?;
        }
        while let Some((n, weight)) = sum.pop() {
            match &self.graph.nodes[n as usize] {
                Node::Linear(terms) => {
                    for (argument, c) in terms {
                        sum.add(*argument, weight.times(c, meter)?, meter)?;
                    }
                }
                Node::Max(_) => sum.add(self.taken[n as usize], weight, meter)?,
                Node::Norm(members) => {
                    // every norm that came this far has its weights
                    for (&m, w) in members.iter().zip(self.weights.get(&n).into_iter().flatten()) {
                        sum.add(m, weight.times(w, meter)?, meter)?;
                    }
                }
            }
        }
        Ok(sum.directions)
    }
}

/// A combination of nodes and coordinates that is being computed, none with the coefficient 0.
#[derive(Default)]
struct Sum {
    nodes: Gradient,
    directions: Gradient,
    room: u64,
}

impl Sum {
    fn add(&mut self, argument: Argument, c: Interval, meter: &mut Meter<'_>) -> Result<(), Fault> {
        // a node that is replaced by another one is work, too, and a long chain of them would be followed for each tie
        meter.operation(c.words())?;
        let (map, i) = match argument {
            Argument::Direction(i) => (&mut self.directions, i),
            Argument::Node(i) => (&mut self.nodes, i),
        };
        match map.entry(i) {
            Entry::Vacant(_) if c.is_zero() => {}
            Entry::Vacant(e) => {
                self.room += c.words();
                e.insert(c);
            }
            Entry::Occupied(mut e) => {
                self.room -= e.get().words();
                e.get_mut().add(&c, meter)?;
                match e.get().is_zero() {
                    true => drop(e.remove()),
                    false => self.room += e.get().words(),
                }
            }
        }
        meter.room(self.room)
    }

    /// The last node, taken out with its coefficient.
    fn pop(&mut self) -> Option<(u32, Interval)> {
        let (n, c) = self.nodes.pop_last()?;
        self.room -= c.words();
        Some((n, c))
    }
}
