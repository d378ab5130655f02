//! From programs over D0 to linear ReLU networks: the other half of the equivalence in Appendix D.1.
//!
//! A program with one scalar output enters, a network leaves that computes the same function. Every `relu` of the program that the
//! output depends on becomes one ReLU of the network and nothing else does, so the choices at ties are the same and the autodiff
//! conservative gradient is, too. Equations of one depth make one layer; what is needed later is carried along by the identity.

use super::ReductionError;
use super::matrix::{Row, SignMatrix};
use super::network::{Layer, ReluNetwork};
use crease_core::dictionary::{Dictionary, Outsider, lower, outside};
use crease_core::number::Number;
use crease_core::{Atom, Kink, Op, Program, Rational, Site, inline, scalarize};
use std::borrow::Cow;

/// The most coordinates of all layers together.
pub(super) const MAX_COORDINATES: usize = 1 << 24;

impl ReluNetwork {
    /// The network of a program with one scalar output. Calls are expanded, tensors taken apart, and what is not in D0 is lowered
    /// first where that is possible (max, min, abs, norms, sorting); then it is the lowered program whose conservative gradient
    /// is kept. What the output does not depend on is left out; inputs stay.
    ///
    /// Weights are -1, 0 and 1. So `x + x`, a row with a 2 if the paper is followed to the letter, takes a layer that copies x; and
    /// factors other than -1, 0 and 1 are refused (write `x + x + x` for `3 * x`). So are constants other than 0: a linear ReLU
    /// network is 0 at 0.
    ///
    /// The paper's bound on the size is 18 c^3 for a program over D0 of cost c that uses all its inputs, by a layer for each
    /// operation. Here it is `2c (c + 1)(c + 2) + c + 1`, which is less: copies included there are at most 2c operations and so
    /// many layers, and none holds more than c + 1 coordinates, because each operation joins at most two.
    ///
    /// ```
    /// use crease::{reductions::ReluNetwork, relu, trace};
    /// let p = trace(2, |x| relu(x[0] - x[1]) + x[1])?;
    /// let network = ReluNetwork::from_program(&p).unwrap();
    /// assert_eq!(network.evaluate(&[3.0, 5.0]).unwrap(), 5.0);
    /// let widths: Vec<usize> = network.layers().iter().map(|l| l.width()).collect();
    /// assert_eq!((widths, network.relus()), (vec![2, 2], 1));
    ///
    /// let refused = ReluNetwork::from_program(&trace(1, |x| relu(x[0] * 3.0))?).unwrap_err();
    /// assert_eq!(refused.to_string(), "`*c` in `x0 * 3` of program `f` cannot be written with +, - and ReLU alone, \
    ///                                  as weights -1, 0 and 1 allow it");
    /// # Ok::<(), crease::BuildError>(())
    /// ```
    pub fn from_program(p: &Program) -> Result<ReluNetwork, ReductionError> {
        let outputs: usize = p.outputs().iter().map(|&o| p.atom_shape(o).len()).sum();
        if outputs != 1 {
            return Err(ReductionError::Outputs { outputs });
        }
        let mut scalar = Cow::Borrowed(p);
        if !p.callees().is_empty() {
            scalar = Cow::Owned(inline(&scalar)?);
        }
        let scalar = scalarize(&scalar)?;
        // what is over D0 stays as it is; the rest goes into D_ReLU, of whose products those by -1 and 1 are signs here
        let steps = match Steps::of(&scalar) {
            Err(ReductionError::Outside(_)) => Steps::of(&lower(&scalar, Dictionary::Relu)?)?,
            other => other?,
        };
        steps.network()
    }
}

/// A cell of the program up to its sign, or a number. Negations are free: they change the sign of an entry.
#[derive(Clone)]
enum Operand {
    Known(Rational),
    Cell { number: usize, negative: bool },
}

impl Operand {
    fn negated(self) -> Operand {
        match self {
            Operand::Known(c) => Operand::Known(-&c),
            Operand::Cell { number, negative } => Operand::Cell { number, negative: !negative },
        }
    }
}

/// What computes a cell: a row over earlier cells, and whether ReLU is applied.
struct Step {
    row: Row,
    relu: bool,
}

/// A program as sums of at most two cells and ReLUs of one.
struct Steps {
    inputs: usize,
    steps: Vec<Step>,
    output: Operand,
}

impl Steps {
    fn of(p: &Program) -> Result<Self, ReductionError> {
        let inputs = p.inputs().len();
        let mut all = Steps { inputs, steps: Vec::new(), output: Operand::Known(Rational::ZERO) };
        let mut operands: Vec<Operand> = (0..inputs).map(|number| Operand::Cell { number, negative: false }).collect();
        let operand = |operands: &[Operand], a: Atom| match a {
            Atom::Value(v) => operands[v.index()].clone(),
            Atom::Const(c) => Operand::Known(p.constant(c).clone()),
        };
        for (i, e) in p.equations().enumerate() {
            let args: Vec<Operand> = e.args.iter().map(|&a| operand(&operands, a)).collect();
            let Some(result) = all.equation(e.op, &args)? else {
                return Err(ReductionError::Outside(refused(p, i)));
            };
            operands.push(result);
        }
        all.output = operand(&operands, p.outputs()[0]);
        Ok(all)
    }

    /// What an equation computes; nothing if networks cannot.
    fn equation(&mut self, op: &Op, args: &[Operand]) -> Result<Option<Operand>, ReductionError> {
        let result = match (op, args) {
            (Op::Add, [a, b]) => return Ok(self.sum(a, b)),
            (Op::Sub, [a, b]) => return Ok(self.sum(a, &b.clone().negated())),
            (Op::Neg, [a]) => a.clone().negated(),
            (Op::Mul, [Operand::Known(a), Operand::Known(b)]) => Operand::Known(a * b),
            (Op::Mul, [x, Operand::Known(c)] | [Operand::Known(c), x]) => match c.small_parts() {
                Some((0, 1)) => Operand::Known(Rational::ZERO),
                Some((1, 1)) => x.clone(),
                Some((-1, 1)) => x.clone().negated(),
                _ => return Ok(None),
            },
            (Op::Kink(Kink::Relu), [Operand::Known(c)]) => Operand::Known(Number::relu(c)?),
            (Op::Kink(Kink::Relu), [Operand::Cell { number, negative }]) => {
                self.step(vec![(*number, if *negative { -1 } else { 1 })], true)
            }
            _ => return Ok(None),
        };
        Ok(Some(result))
    }

    fn step(&mut self, row: Row, relu: bool) -> Operand {
        self.steps.push(Step { row, relu });
        Operand::Cell { number: self.inputs + self.steps.len() - 1, negative: false }
    }

    fn sum(&mut self, a: &Operand, b: &Operand) -> Option<Operand> {
        let ((x, minus_x), (y, minus_y)) = match (a, b) {
            (Operand::Known(a), Operand::Known(b)) => return Some(Operand::Known(a + b)),
            (Operand::Known(c), other) | (other, Operand::Known(c)) => return c.is_zero().then(|| other.clone()),
            (Operand::Cell { number: x, negative: p }, Operand::Cell { number: y, negative: q }) => {
                ((*x, *p), (*y, *q))
            }
        };
        let sign = |negative: bool| if negative { -1 } else { 1 };
        if x != y {
            let mut row = vec![(x, sign(minus_x)), (y, sign(minus_y))];
            row.sort_unstable();
            return Some(self.step(row, false));
        }
        if minus_x != minus_y {
            return Some(Operand::Known(Rational::ZERO));
        }
        // 2 x is no row, x and a copy of it are
        let Operand::Cell { number: copy, .. } = self.step(vec![(x, 1)], false) else { return None };
        Some(self.step(vec![(x, sign(minus_x)), (copy, sign(minus_x))], false))
    }

    fn row(&self, cell: usize) -> &Row {
        &self.steps[cell - self.inputs].row
    }

    fn is_relu(&self, cell: usize) -> bool {
        cell >= self.inputs && self.steps[cell - self.inputs].relu
    }

    fn network(&self) -> Result<ReluNetwork, ReductionError> {
        let (output, negative) = match &self.output {
            Operand::Known(c) if c.is_zero() => {
                return ReluNetwork::new(Vec::new(), SignMatrix::new(self.inputs, [Vec::new()])?);
            }
            Operand::Known(c) => return Err(ReductionError::Constant(c.clone())),
            Operand::Cell { number, negative } => (*number, *negative),
        };
        // a sum at the end is the last matrix
        let last: Row = match output < self.inputs || self.is_relu(output) {
            true => vec![(output, 1)],
            false => self.row(output).clone(),
        };
        let schedule = Schedule::new(self, &last)?;
        let mut layers = Vec::with_capacity(schedule.depth);
        let mut places: Vec<usize> = (0..self.inputs + self.steps.len()).collect();
        let mut live: Vec<usize> = (0..self.inputs).collect();
        let moved = |row: &Row, places: &[usize]| {
            let mut row: Vec<(usize, i64)> = row.iter().map(|&(cell, sign)| (places[cell], i64::from(sign))).collect();
            row.sort_unstable();
            row
        };
        for level in 1..=schedule.depth {
            let columns = live.len();
            live.retain(|&cell| schedule.last_use[cell] >= level);
            let carried = live.len();
            live.extend(&schedule.levels[level]);
            let rows = live.iter().enumerate().map(|(i, &cell)| match i < carried {
                true => vec![(places[cell], 1)],
                false => moved(self.row(cell), &places),
            });
            let matrix = SignMatrix::new(columns, rows)?;
            let relu = live.iter().enumerate().map(|(i, &cell)| i >= carried && self.is_relu(cell)).collect();
            layers.push(Layer::new(matrix, relu)?);
            live.iter().enumerate().for_each(|(i, &cell)| places[cell] = i);
        }
        let mut row = moved(&last, &places);
        if negative {
            row.iter_mut().for_each(|(_, entry)| *entry = -*entry);
        }
        ReluNetwork::new(layers, SignMatrix::new(live.len(), [row])?)
    }
}

/// An equation that networks cannot compute.
fn refused(p: &Program, equation: usize) -> Outsider {
    let known = outside(p, Dictionary::D0).into_iter().find(|o| o.site.equation == equation);
    // arithmetic of constants alone is in every dictionary
    known.unwrap_or_else(|| {
        let e = p.equation(equation);
        let shown = e.op.to_string();
        Outsider {
            site: Site { program: p.name().into(), equation, shown: shown.clone(), origin: e.origin().map(Box::new) },
            item: shown,
        }
    })
}

/// Which cells are computed in which layer, and until which layer they are needed.
struct Schedule {
    /// The number of layers.
    depth: usize,
    /// The cells that each layer computes; the inputs are before the first.
    levels: Vec<Vec<usize>>,
    /// The last layer in which a cell must be there; 0 for those that nothing uses.
    last_use: Vec<usize>,
}

impl Schedule {
    fn new(all: &Steps, last: &Row) -> Result<Self, ReductionError> {
        let cells = all.inputs + all.steps.len();
        let mut level = vec![0; cells];
        for cell in all.inputs..cells {
            level[cell] = 1 + all.row(cell).iter().map(|&(from, _)| level[from]).max().unwrap_or(0);
        }
        let depth = last.iter().map(|&(cell, _)| level[cell]).max().unwrap_or(0);
        let mut last_use: Vec<Option<usize>> = vec![None; cells];
        last.iter().for_each(|&(cell, _)| last_use[cell] = Some(depth));
        for cell in (all.inputs..cells).rev() {
            // what nothing uses is not computed
            if last_use[cell].is_some() {
                for &(from, _) in all.row(cell) {
                    last_use[from] = last_use[from].max(Some(level[cell] - 1));
                }
            }
        }
        let mut levels: Vec<Vec<usize>> = vec![Vec::new(); depth + 1];
        let mut coordinates = 0usize;
        for cell in 0..cells {
            if let Some(until) = last_use[cell] {
                coordinates = coordinates.saturating_add(until + 1 - level[cell].max(1));
                if cell >= all.inputs {
                    levels[level[cell]].push(cell);
                }
            }
        }
        if coordinates > MAX_COORDINATES {
            return Err(ReductionError::TooLarge { coordinates });
        }
        let last_use = last_use.into_iter().map(|l| l.unwrap_or(0)).collect();
        Ok(Schedule { depth, levels, last_use })
    }
}
