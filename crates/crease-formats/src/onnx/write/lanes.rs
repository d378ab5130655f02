//! Operations on groups of numbers: the group is the last axis, to which several arguments are stacked.

use super::apply::{Frame, Writing};
use super::error::WriteError;
use super::nodes::{Nodes, Tensor, With};
use crease_core::op::Choice;
use crease_core::{Atom, Equation, Kink, Lane, Ties, kinks_of_numbers};

impl Writing {
    /// The group that an operation works on, as the last axis.
    pub fn lane(&mut self, f: &mut Frame<'_>, e: &Equation<'_>, lane: Lane) -> Result<Tensor, WriteError> {
        match lane {
            Lane::Axis => self.numbers(f, e.args[0]),
            Lane::Args => {
                let dims = f.p.shape(e.first).dims().to_vec();
                self.stack(f, e.args, &dims)
            }
        }
    }

    /// Several atoms of one shape along a new last axis.
    pub fn stack(&mut self, f: &mut Frame<'_>, args: &[Atom], dims: &[usize]) -> Result<Tensor, WriteError> {
        let parts = args.iter().map(|&a| self.numbers(f, a)).collect::<Result<Vec<_>, _>>()?;
        self.nodes.stacked(&parts, dims)
    }

    /// The matrix and the vector of a maximum of linear functions.
    pub fn linear(
        &mut self,
        f: &mut Frame<'_>,
        e: &Equation<'_>,
        lane: Lane,
        rows: usize,
    ) -> Result<(Tensor, Tensor), WriteError> {
        match lane {
            Lane::Axis => {
                let columns = e.columns(f.p, rows);
                let (a, x) = (self.numbers(f, e.args[0])?, self.numbers(f, e.args[1])?);
                Ok((self.nodes.expand(&a, &[rows, columns])?, self.nodes.expand(&x, &[columns])?))
            }
            Lane::Args => {
                let columns = e.args.len() / (rows + 1);
                let (a, x) = e.args.split_at(rows * columns);
                let (a, x) = (self.stack(f, a, &[])?, self.stack(f, x, &[])?);
                Ok((self.nodes.reshape(&a, &[rows, columns])?, x))
            }
        }
    }
}

impl Nodes {
    /// Tensors that spread to one shape, along a new last axis.
    pub fn stacked(&mut self, parts: &[Tensor], dims: &[usize]) -> Result<Tensor, WriteError> {
        let one = [dims, &[1]].concat();
        let mut all = Vec::with_capacity(parts.len());
        for p in parts {
            let p = self.expand(p, dims)?;
            all.push(self.reshape(&p, &one)?);
        }
        Ok(self.concat(&all, dims.len()))
    }

    /// Results of a lane as the operation gives them: one tensor, or one for each member, as far as they are wanted.
    pub fn unlane(
        &mut self,
        lane: Lane,
        all: Option<Tensor>,
        want: &[bool],
    ) -> Result<Vec<Option<Tensor>>, WriteError> {
        let all = match (all, lane) {
            (None, _) => return Ok(vec![None; want.len()]),
            (Some(all), Lane::Axis) => return Ok(vec![Some(all)]),
            (Some(all), Lane::Args) => all,
        };
        let dims = all.dims[..all.rank() - 1].to_vec();
        let mut out = Vec::with_capacity(want.len());
        for (k, &wanted) in want.iter().enumerate() {
            out.push(if wanted {
                let mut ranges: Vec<(usize, usize, isize)> = all.dims.iter().map(|&d| (0, d, 1)).collect();
                ranges[dims.len()] = (k, 1, 1);
                let part = self.slice(&all, &ranges)?;
                Some(self.reshape(&part, &dims)?)
            } else {
                None
            });
        }
        Ok(out)
    }

    /// The last axis in ascending order and, if asked for, where each number stood; of equal ones the first, or the last, comes first.
    pub fn sorted(&mut self, x: &Tensor, last: bool, places: bool) -> Result<(Tensor, Option<Tensor>), WriteError> {
        let n = x.dims.last().copied().unwrap_or(1);
        let mut ranges: Vec<(usize, usize, isize)> = x.dims.iter().map(|&d| (0, d, 1)).collect();
        let turned = match (last && places, ranges.last_mut()) {
            (true, Some(range)) => {
                *range = (n - 1, n, -1);
                self.slice(x, &ranges)?
            }
            _ => x.clone(),
        };
        let (values, places) = self.smallest(&turned, n)?;
        if last {
            let end = self.ints(&[], &[n as i64 - 1])?;
            let places = self.binary("Sub", &end, &places);
            return Ok((values, Some(places)));
        }
        Ok((values, Some(places)))
    }

    /// The k smallest of the last axis in order, and where they stand; of equal ones the first comes first.
    fn smallest(&mut self, x: &Tensor, k: usize) -> Result<(Tensor, Tensor), WriteError> {
        let count = self.list(&[k])?;
        let with = vec![With::Int("axis", -1), With::Int("largest", 0), With::Int("sorted", 1)];
        let names = self.nodes("TopK", &[x, &count], with, 2);
        let mut dims = x.dims.clone();
        if let Some(last) = dims.last_mut() {
            *last = k;
        }
        let tensor = |name: &std::rc::Rc<str>| Tensor { name: name.clone(), dims: dims.clone() };
        Ok((tensor(&names[0]), tensor(&names[1])))
    }

    /// The value of a reduction of the last axis.
    pub fn extreme(&mut self, kink: &Kink, x: &Tensor) -> Result<Tensor, WriteError> {
        let last = [x.rank() - 1];
        match kink {
            Kink::Max(_) => self.reduce("ReduceMax", x, &last, false),
            Kink::Min(_) => self.reduce("ReduceMin", x, &last, false),
            Kink::Norm1(_) => self.reduce("ReduceL1", x, &last, false),
            Kink::Norm2(_) => self.reduce("ReduceL2", x, &last, false),
            Kink::NormInf(_) => {
                let sizes = self.unary("Abs", x);
                self.reduce("ReduceMax", &sizes, &last, false)
            }
            Kink::OrderStatistic(_, k) => {
                let (values, _) = self.smallest(x, k + 1)?;
                let mut ranges: Vec<(usize, usize, isize)> = values.dims.iter().map(|&d| (0, d, 1)).collect();
                ranges[last[0]] = (*k, 1, 1);
                let value = self.slice(&values, &ranges)?;
                self.reshape(&value, &x.dims[..last[0]])
            }
            kinks_of_numbers!() | Kink::Sort(_) | Kink::MaxLinear { .. } => {
                unreachable!("`{}` is no reduction", kink.name())
            }
        }
    }

    /// The weights of the members of the last axis, given the value of the reduction.
    pub fn weights(&mut self, kink: &Kink, choice: &Choice, x: &Tensor, value: &Tensor) -> Result<Tensor, WriteError> {
        let kept = [&value.dims[..], &[1]].concat();
        let value = self.reshape(value, &kept)?;
        match kink {
            Kink::Norm1(_) => self.sign(x, &choice.at_kink),
            Kink::Norm2(_) => {
                let (zero, one) = (self.number(0.0)?, self.number(1.0)?);
                let nothing = self.binary("Equal", &value, &zero);
                let size = self.pick(&nothing, &one, &value);
                Ok(self.binary("Div", x, &size))
            }
            Kink::NormInf(_) => {
                let sizes = self.unary("Abs", x);
                let shares = self.shares(&sizes, &value, choice.ties)?;
                let sign = self.sign(x, &choice.at_kink)?;
                Ok(self.binary("Mul", &shares, &sign))
            }
            Kink::Max(_) | Kink::Min(_) | Kink::OrderStatistic(..) => self.shares(x, &value, choice.ties),
            kinks_of_numbers!() | Kink::Sort(_) | Kink::MaxLinear { .. } => {
                unreachable!("`{}` is no reduction", kink.name())
            }
        }
    }

    /// How the weight is shared among the members of the last axis that equal the value, which is kept as an axis of size 1.
    fn shares(&mut self, x: &Tensor, value: &Tensor, ties: Ties) -> Result<Tensor, WriteError> {
        let tied = self.binary("Equal", x, value);
        let tied = self.number_of(&tied);
        let axis = x.rank() - 1;
        match ties {
            Ties::Every => Ok(tied),
            Ties::Average => {
                let count = self.reduce("ReduceSum", &tied, &[axis], true)?;
                Ok(self.binary("Div", &tied, &count))
            }
            Ties::First | Ties::Last => {
                let last = i64::from(ties == Ties::Last);
                let with = vec![
                    With::Int("axis", axis as i64),
                    With::Int("keepdims", 1),
                    With::Int("select_last_index", last),
                ];
                let winner = self.node("ArgMax", &[&tied], with, &value.dims);
                let places = self.list(&(0..x.dims[axis]).collect::<Vec<_>>())?;
                let won = self.binary("Equal", &places, &winner);
                Ok(self.number_of(&won))
            }
        }
    }

    /// The products of the rows of a matrix with a vector.
    pub fn rows_times(&mut self, a: &Tensor, x: &Tensor) -> Result<Tensor, WriteError> {
        Ok(self.node("MatMul", &[a, x], vec![], &a.dims[..1]))
    }

    /// The largest entry of A x, the matrix of what its elements weigh, and the row that wins.
    pub fn joint_linear(
        &mut self,
        lane: Lane,
        a: &Tensor,
        x: &Tensor,
        choice: &Choice,
        want: &[bool],
    ) -> Result<Vec<Option<Tensor>>, WriteError> {
        let (rows, columns) = (a.dims[0], a.dims[1]);
        let values = self.rows_times(a, x)?;
        let value = self.reduce("ReduceMax", &values, &[0], false)?;
        let mut out = vec![Some(value.clone())];
        let kept = self.reshape(&value, &[1])?;
        let shares = self.shares(&values, &kept, choice.ties)?;
        let (matrix, row) = match lane {
            Lane::Axis => (&want[1..2], &want[2..]),
            Lane::Args => want[1..].split_at(rows * columns),
        };
        let of_rows = if matrix.contains(&true) {
            let column = self.reshape(&shares, &[rows, 1])?;
            let weights = self.binary("Mul", &column, x);
            Some(if lane == Lane::Args { self.flat(&weights)? } else { weights })
        } else {
            None
        };
        out.extend(self.unlane(lane, of_rows, matrix)?);
        let of_columns = match row.contains(&true) {
            true => Some(self.node("MatMul", &[&shares, a], vec![], &[columns])),
            false => None,
        };
        out.extend(self.unlane(lane, of_columns, row)?);
        Ok(out)
    }
}
