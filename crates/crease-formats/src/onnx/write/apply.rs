//! Equation by equation: what each operation is in ONNX.

use super::Element;
use super::conv::Fused;
use super::error::WriteError;
use super::nodes::{Nodes, Tensor, With};
use crease_core::op::{Choice, Comparison, Logic, Takes};
use crease_core::{Atom, Equation, Kink, Lane, Layout, Op, Origin, Program, Site, Ties};
use std::rc::Rc;

/// What the graph has of a value.
#[derive(Clone)]
pub(super) enum Held {
    /// Nothing, since nobody needs it.
    Nothing,
    /// Numbers.
    Numbers(Tensor),
    /// Truth values, and the same as numbers once somebody asked for them.
    Truths(Tensor, Option<Tensor>),
    /// Positions in a lane as integers, and the same as numbers.
    Positions(Tensor, Option<Tensor>),
}

/// A program in the middle of being written.
pub(super) struct Frame<'p> {
    pub p: &'p Program,
    pub held: Vec<Held>,
    fused: Rc<Fused>,
}

/// The graph that programs are written into.
pub(super) struct Writing {
    pub nodes: Nodes,
}

pub(super) type Results = Result<Vec<Held>, WriteError>;

/// One result of numbers.
pub(super) fn one(t: Tensor) -> Results {
    Ok(vec![Held::Numbers(t)])
}

/// Several results of numbers.
pub(super) fn several(all: Vec<Option<Tensor>>) -> Results {
    Ok(all.into_iter().map(|t| t.map_or(Held::Nothing, Held::Numbers)).collect())
}

impl Writing {
    pub fn new(nodes: Nodes) -> Self {
        Writing { nodes }
    }

    /// Writes the whole program, whose inputs are those of the graph.
    pub fn main(&mut self, p: &Program, names: &[String]) -> Result<(), WriteError> {
        let inputs = p.inputs().iter();
        let held = inputs.map(|i| Held::Numbers(Tensor { name: Rc::from(&*i.name), dims: i.shape.dims().to_vec() }));
        let outputs = self.program(p, held.collect())?;
        for (output, name) in outputs.iter().zip(names) {
            self.nodes.node_to("Identity", &[output], vec![], &[Rc::from(name.as_str())]);
        }
        Ok(())
    }

    /// Writes the equations of a program of which something is needed; its outputs leave as numbers.
    pub fn program(&mut self, p: &Program, inputs: Vec<Held>) -> Result<Vec<Tensor>, WriteError> {
        let fused = Rc::new(if self.nodes.element == Element::F32 { Fused::of(p) } else { Fused::default() });
        let needed = needed(p, &fused);
        let mut frame = Frame { p, held: inputs, fused };
        let around = self.nodes.from(None);
        for (i, e) in p.equations().enumerate() {
            let want: Vec<bool> = e.results().map(|v| needed[v.index()]).collect();
            if !want.contains(&true) {
                frame.held.extend(want.iter().map(|_| Held::Nothing));
                continue;
            }
            self.nodes.from(e.origin().as_ref().map(named));
            let results = self.apply(&mut frame, i, &e, &want).map_err(|e| e.within(|| Site::new(p, i)))?;
            frame.held.extend(results);
        }
        self.nodes.from(around);
        p.outputs().iter().map(|&o| self.numbers(&mut frame, o)).collect()
    }

    /// An atom as numbers; a constant has no axes.
    pub fn numbers(&mut self, f: &mut Frame<'_>, a: Atom) -> Result<Tensor, WriteError> {
        let v = match (a.value(), f.p.as_constant(a)) {
            (Some(v), _) => v.index(),
            (None, Some(r)) => return self.nodes.exact(r),
            (None, None) => unreachable!("an atom is a value or a constant"),
        };
        match &mut f.held[v] {
            Held::Numbers(t) => Ok(t.clone()),
            Held::Truths(of, as_numbers) | Held::Positions(of, as_numbers) => {
                let t = match as_numbers {
                    Some(t) => t.clone(),
                    None => self.nodes.number_of(of),
                };
                *as_numbers = Some(t.clone());
                Ok(t)
            }
            Held::Nothing => unreachable!("what is read is needed"),
        }
    }

    /// An atom as truth values.
    pub fn truths(&mut self, f: &mut Frame<'_>, a: Atom) -> Result<Tensor, WriteError> {
        if let Some(Held::Truths(t, _)) = a.value().map(|v| &f.held[v.index()]) {
            return Ok(t.clone());
        }
        let (t, half) = (self.numbers(f, a)?, self.nodes.number(0.5)?);
        Ok(self.nodes.binary("Greater", &t, &half))
    }

    /// What the graph has of an atom, for a program that is written inside this one.
    pub fn held(&mut self, f: &mut Frame<'_>, a: Atom) -> Result<Held, WriteError> {
        match a.value() {
            Some(v) => Ok(f.held[v.index()].clone()),
            None => Ok(Held::Numbers(self.numbers(f, a)?)),
        }
    }

    fn arithmetic(&mut self, f: &mut Frame<'_>, e: &Equation<'_>, name: &str) -> Results {
        let (a, b) = (self.numbers(f, e.args[0])?, self.numbers(f, e.args[1])?);
        one(self.nodes.binary(name, &a, &b))
    }

    fn apply(&mut self, f: &mut Frame<'_>, i: usize, e: &Equation<'_>, want: &[bool]) -> Results {
        let dims = f.p.shape(e.first).dims().to_vec();
        match e.op {
            Op::Add => self.arithmetic(f, e, "Add"),
            Op::Sub => self.arithmetic(f, e, "Sub"),
            Op::Mul => self.arithmetic(f, e, "Mul"),
            Op::Div => self.arithmetic(f, e, "Div"),
            Op::Neg => {
                let a = self.numbers(f, e.args[0])?;
                one(self.nodes.unary("Neg", &a))
            }
            Op::Smooth(s) => {
                let a = self.numbers(f, e.args[0])?;
                one(self.nodes.smooth(*s, &a)?)
            }
            Op::Compare(how) => {
                let (a, b) = (self.numbers(f, e.args[0])?, self.numbers(f, e.args[1])?);
                Ok(vec![Held::Truths(self.nodes.compare(*how, &a, &b), None)])
            }
            Op::Logic(how) => {
                let args = e.args.iter().map(|&a| self.truths(f, a)).collect::<Result<Vec<_>, _>>()?;
                let t = match how {
                    Logic::And => self.nodes.binary("And", &args[0], &args[1]),
                    Logic::Or => self.nodes.binary("Or", &args[0], &args[1]),
                    Logic::Not => self.nodes.unary("Not", &args[0]),
                };
                Ok(vec![Held::Truths(t, None)])
            }
            Op::Constant(c) => one(self.nodes.numbers(c.shape().dims(), c.data())?),
            Op::View { layout, .. } => {
                let a = self.numbers(f, e.args[0])?;
                one(self.nodes.view(&a, layout, &dims)?)
            }
            Op::Assemble { pieces, .. } => {
                let (fused, mut pieces) = (f.fused.clone(), pieces.to_vec());
                let mut args = Vec::new();
                for (k, &a) in e.args.iter().enumerate() {
                    args.push(match fused.transposed.get(&(i, k)) {
                        Some((product, windows)) => {
                            pieces[k] = Layout::identity(dims.iter().product());
                            self.transposed(f, *product, windows, &dims)?
                        }
                        None => self.numbers(f, a)?,
                    });
                }
                one(self.nodes.assemble(&args, &pieces, &dims)?)
            }
            Op::MatMul { transpose_a, transpose_b } => {
                let fused = f.fused.clone();
                if let Some((which, image, windows)) = fused.convolutions.get(&i) {
                    return one(self.convolution(f, i, *which, *image, windows)?);
                }
                let (a, b) = (self.numbers(f, e.args[0])?, self.numbers(f, e.args[1])?);
                one(self.nodes.product(&a, *transpose_a, &b, *transpose_b, &dims))
            }
            Op::Kink(kink) => match kink.takes() {
                Takes::Numbers => {
                    let args = e.args.iter().map(|&a| self.numbers(f, a)).collect::<Result<Vec<_>, _>>()?;
                    one(self.nodes.hinge(kink, &args)?)
                }
                Takes::Order(lane) => {
                    let x = self.lane(f, e, lane)?;
                    let (sorted, _) = self.nodes.sorted(&x, false, false)?;
                    several(self.nodes.unlane(lane, Some(sorted), want)?)
                }
                Takes::Linear { lane, rows } => {
                    let (a, x) = self.linear(f, e, lane, rows)?;
                    let values = self.nodes.rows_times(&a, &x)?;
                    one(self.nodes.reduce("ReduceMax", &values, &[0], false)?)
                }
                Takes::Lane(lane) => {
                    let short = match kink {
                        Kink::Max(Lane::Args) => Some("Max"),
                        Kink::Min(Lane::Args) => Some("Min"),
                        _ => None,
                    };
                    if let Some(name) = short {
                        let args = e.args.iter().map(|&a| self.numbers(f, a)).collect::<Result<Vec<_>, _>>()?;
                        let args: Vec<&Tensor> = args.iter().collect();
                        return one(self.nodes.node(name, &args, vec![], &dims));
                    }
                    let x = self.lane(f, e, lane)?;
                    one(self.nodes.extreme(kink, &x)?)
                }
            },
            Op::Joint(kink, choice) => match kink.takes() {
                Takes::Numbers => {
                    let args = e.args.iter().map(|&a| self.numbers(f, a)).collect::<Result<Vec<_>, _>>()?;
                    several(self.nodes.joint_hinge(kink, choice, &args, want)?)
                }
                Takes::Order(lane) => self.joint_sort(f, e, lane, choice, want),
                Takes::Linear { lane, rows } => {
                    let (a, x) = self.linear(f, e, lane, rows)?;
                    several(self.nodes.joint_linear(lane, &a, &x, choice, want)?)
                }
                Takes::Lane(lane) => {
                    let x = self.lane(f, e, lane)?;
                    let value = self.nodes.extreme(kink, &x)?;
                    let weights = match want[1..].contains(&true) {
                        true => Some(self.nodes.weights(kink, choice, &x, &value)?),
                        false => None,
                    };
                    let mut all = vec![Some(value)];
                    all.extend(self.nodes.unlane(lane, weights, &want[1..])?);
                    several(all)
                }
            },
            Op::LogSumExp(lane) => {
                let x = self.lane(f, e, *lane)?;
                one(self.nodes.reduce("ReduceLogSumExp", &x, &[x.rank() - 1], false)?)
            }
            Op::LogSumExpJoint(lane) => {
                let x = self.lane(f, e, *lane)?;
                let mut all = vec![match want[0] {
                    true => Some(self.nodes.reduce("ReduceLogSumExp", &x, &[x.rank() - 1], false)?),
                    false => None,
                }];
                let weights = self.nodes.node("Softmax", &[&x], vec![With::Int("axis", -1)], &x.dims);
                all.extend(self.nodes.unlane(*lane, Some(weights), &want[1..])?);
                several(all)
            }
            Op::Permute { lane, inverse } => self.permute(f, e, *lane, *inverse, want),
            Op::Stair(stair) => self.stair(f, e, *stair),
            Op::Where => self.choice(f, e),
            Op::Position(which, lane) => self.position(f, e, *which, *lane, want),
            Op::Gather { lane, of, scatter } => self.gather(f, e, (*lane, *of, *scatter), want),
            Op::Select(ids) => self.select(f, e, ids),
            Op::Call(_) | Op::Scan(_) => unreachable!("calls and loops are expanded before anything is written"),
        }
    }

    fn joint_sort(
        &mut self,
        f: &mut Frame<'_>,
        e: &Equation<'_>,
        lane: Lane,
        choice: &Choice,
        want: &[bool],
    ) -> Results {
        let x = self.lane(f, e, lane)?;
        let last = choice.ties == Ties::Last;
        let (sorted, positions) = self.nodes.sorted(&x, last, true)?;
        let half = want.len() / 2;
        let mut all = several(self.nodes.unlane(lane, Some(sorted), &want[..half])?)?;
        let positions = self.nodes.unlane(lane, positions, &want[half..])?;
        all.extend(positions.into_iter().map(|t| t.map_or(Held::Nothing, |t| Held::Positions(t, None))));
        Ok(all)
    }

    fn permute(&mut self, f: &mut Frame<'_>, e: &Equation<'_>, lane: Lane, inverse: bool, want: &[bool]) -> Results {
        let dims = f.p.shape(e.first).dims().to_vec();
        let (x, positions) = match lane {
            Lane::Axis => {
                let x = self.numbers(f, e.args[0])?;
                let positions = self.integers(f, e.args[1])?;
                (self.nodes.expand(&x, &dims)?, self.nodes.expand(&positions, &dims)?)
            }
            Lane::Args => {
                let (members, places) = e.args.split_at(e.args.len() / 2);
                let x = self.stack(f, members, &dims)?;
                let places = places.iter().map(|&a| self.integers(f, a)).collect::<Result<Vec<_>, _>>()?;
                let positions = self.nodes.stacked(&places, &dims)?;
                (x, positions)
            }
        };
        let axis = vec![With::Int("axis", -1)];
        let moved = match inverse {
            false => self.nodes.node("GatherElements", &[&x, &positions], axis, &x.dims),
            true => {
                let zeros = self.nodes.zeros(&x.dims)?;
                self.nodes.node("ScatterElements", &[&zeros, &positions, &x], axis, &x.dims)
            }
        };
        several(self.nodes.unlane(lane, Some(moved), want)?)
    }
}

/// Which values lead to an output.
fn needed(p: &Program, fused: &Fused) -> Vec<bool> {
    let mut needed = vec![false; p.values()];
    let need = |needed: &mut Vec<bool>, a: Atom| a.value().into_iter().for_each(|v| needed[v.index()] = true);
    p.outputs().iter().for_each(|&o| need(&mut needed, o));
    for (i, e) in p.equations().enumerate().rev() {
        if !e.results().any(|v| needed[v.index()]) {
            continue;
        }
        if let Some((which, image, _)) = fused.convolutions.get(&i) {
            [Atom::Value(*image), e.args[1 - which]].into_iter().for_each(|a| need(&mut needed, a));
            continue;
        }
        for (k, &a) in e.args.iter().enumerate() {
            match fused.transposed.get(&(i, k)) {
                Some((product, _)) => p.equation(*product).args.iter().for_each(|&a| need(&mut needed, a)),
                None => need(&mut needed, a),
            }
        }
    }
    needed
}

/// What a node is named after.
fn named(origin: &Origin) -> String {
    match origin {
        Origin::Node { name, .. } => name.to_string(),
        Origin::Layer { inside: Some(inside), .. } if matches!(**inside, Origin::Node { .. }) => named(inside),
        other => other.to_string(),
    }
}

impl Nodes {
    /// A comparison; with NaN it does not hold, not even that of being different.
    pub fn compare(&mut self, how: Comparison, a: &Tensor, b: &Tensor) -> Tensor {
        match how {
            Comparison::Less => self.binary("Less", a, b),
            Comparison::LessEqual => self.binary("LessOrEqual", a, b),
            Comparison::Greater => self.binary("Greater", a, b),
            Comparison::GreaterEqual => self.binary("GreaterOrEqual", a, b),
            Comparison::Equal => self.binary("Equal", a, b),
            Comparison::NotEqual => {
                let (less, greater) = (self.binary("Less", a, b), self.binary("Greater", a, b));
                self.binary("Or", &less, &greater)
            }
        }
    }
}
