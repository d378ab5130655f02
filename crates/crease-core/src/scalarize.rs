//! Scalarizing: a program on tensors as the paper would write it, on scalars, with the same tally.
//!
//! Every tensor becomes its elements, every operation on tensors the scalar operations that it stands for; structure
//! disappears. Calls stay calls, of scalarized programs; loops are unrolled. An input `W[2, 2]` becomes `W_0_0`, `W_0_1`, `W_1_0`, `W_1_1`.

use crate::builder::{BuildError, Builder};
use crate::flow::Made;
use crate::inline::{InlineError, MAX_INLINED};
use crate::limits::Limits;
use crate::number::Rational;
use crate::op::{Kink, Lane, Op, calling, elementwise, with_lane};
use crate::program::{Atom, Equation, Program};
use crate::shape::Shape;
use crate::unroll::{has_loops, unroll_limited};
use std::collections::HashSet;
use std::sync::Arc;

/// The same program with every tensor taken apart.
///
/// ```
/// use crease_core::{scalarize, trace_shapes, Shape};
/// let p = trace_shapes(&[Shape::vector(2).unwrap()], |x| vec![(x[0] * x[0]).sum()]).unwrap();
/// let s = scalarize(&p).unwrap();
/// assert_eq!(s.to_string(), "program f(x0_0, x0_1) {
///   let v2 = x0_0 * x0_0
///   let v3 = x0_1 * x0_1
///   let v4 = v2 + v3
///   return v4
/// }
/// ");
/// ```
pub fn scalarize(p: &Program) -> Result<Program, InlineError> {
    scalarize_within(p, MAX_INLINED)
}

/// Like [`scalarize`], with another limit on the calls and equations that loops become.
///
/// ```
/// use crease_core::{scalarize_within, trace, Builder, InlineError, Scan, Shape};
/// use std::sync::Arc;
/// let mut b = Builder::new("f");
/// let x = b.input("x", Shape::scalar())?;
/// let body = b.callee(Arc::new(trace(1, |x| x[0] * x[0])?), None)?;
/// let y = b.push(Scan::repeat(body, 3, 1), &[x])?;
/// let p = b.finish(&y)?;
/// assert!(matches!(scalarize_within(&p, 2), Err(InlineError::Turns { limit: 2, .. })));
/// assert_eq!(scalarize_within(&p, 100)?.len(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn scalarize_within(p: &Program, limit: u64) -> Result<Program, InlineError> {
    scalarize_limited(p, &Limits { equations: limit, ..Limits::DEFAULT })
}

/// Like [`scalarize_within`], with all limits that concern it: [`Limits::equations`], and those that stop it on the way.
pub fn scalarize_limited(p: &Program, limits: &Limits) -> Result<Program, InlineError> {
    if has_loops(p) {
        return Ok(scalarize_traced(&unroll_limited(p, limits)?, limits)?.0);
    }
    Ok(scalarize_traced(p, limits)?.0)
}

/// Like [`scalarize`], with the equation of `p` from which each equation came.
pub(crate) fn scalarize_traced(p: &Program, limits: &Limits) -> Result<(Program, Vec<u32>), BuildError> {
    p.mapped(|p, made| scalarize_one(p, made, limits))
}

/// The elements of a value.
type Elements = Arc<[Atom]>;

fn scalarize_one(p: &Program, made: &Made, limits: &Limits) -> Result<(Program, Vec<u32>), BuildError> {
    let mut origins = Vec::new();
    let mut b = Builder::new(p.name()).within(limits);
    b.room_for(numbers(p))?;
    let mut values: Vec<Elements> = Vec::with_capacity(p.values());
    let mut names: HashSet<String> = p.inputs().iter().map(|i| i.name.to_string()).collect();
    for input in p.inputs() {
        if input.shape.is_scalar() {
            values.push([b.input(input.name.clone(), Shape::scalar())?].into());
            continue;
        }
        let mut elements = Vec::with_capacity(input.shape.len());
        for i in 0..input.shape.len() {
            let mut name = input.name.to_string();
            for (n, stride) in input.shape.dims().iter().zip(input.shape.strides()) {
                name.push_str(&format!("_{}", i / stride as usize % n));
            }
            while !names.insert(name.clone()) {
                name.push('_');
            }
            elements.push(b.input(name, Shape::scalar())?);
        }
        values.push(elements.into());
    }
    for (i, e) in p.equations().enumerate() {
        b.set_origin(e.origin());
        // what only moves numbers pushes no equation
        let moved: usize = e.results().map(|v| p.shape(v).len()).sum();
        limits.charge(moved as u64 / 8)?;
        let mut scalars = Scalars { b: &mut b, p, values: &values, made };
        let results = scalars.equation(&e)?;
        values.extend(results.into_iter().map(Elements::from));
        origins.resize(b.so_far().len(), i as u32);
    }
    b.set_origin(None);
    let mut outputs = Vec::new();
    for &o in p.outputs() {
        match o {
            Atom::Value(v) => outputs.extend_from_slice(&values[v.index()]),
            Atom::Const(_) => outputs.push(b.translate(p, &[], o)),
        }
    }
    Ok((b.finish(&outputs)?, origins))
}

/// How many numbers there are once tensors are taken apart: one for each element, and those that matrix products and sums add up.
pub(crate) fn numbers(p: &Program) -> u128 {
    let values = (0..p.values()).map(|v| p.shapes[p.value_shapes[v] as usize].len() as u128).sum::<u128>();
    let inside = p.equations().map(|e| match e.op {
        Op::MatMul { .. } => 2 * e.multiplied(p),
        Op::Assemble { pieces, .. } => pieces.iter().map(|piece| piece.len() as u128).sum(),
        // one for each element of the result
        elementwise!() | with_lane!() | calling!() | Op::Constant(_) | Op::View { .. } => 0,
    });
    inside.fold(values, u128::saturating_add)
}

struct Scalars<'a> {
    b: &'a mut Builder,
    p: &'a Program,
    values: &'a [Elements],
    made: &'a Made,
}

impl Scalars<'_> {
    /// Element number `i` of an argument.
    fn get(&mut self, a: Atom, i: usize) -> Result<Atom, BuildError> {
        match a {
            Atom::Value(v) => Ok(self.values[v.index()][i]),
            Atom::Const(_) => Ok(self.b.translate(self.p, &[], a)),
        }
    }

    fn equation(&mut self, e: &Equation<'_>) -> Result<Vec<Vec<Atom>>, BuildError> {
        let len = self.p.shape(e.first).len();
        match e.op {
            Op::Constant(c) => {
                let exact = |x: &f64| Rational::from_f64(*x).unwrap_or(Rational::ZERO);
                Ok(vec![c.data().iter().map(|x| self.b.constant(exact(x))).collect()])
            }
            Op::View { layout, .. } => {
                Ok(vec![layout.iter().map(|i| self.get(e.args[0], i)).collect::<Result<_, _>>()?])
            }
            Op::Assemble { pieces, .. } => {
                let mut cells: Vec<Option<Atom>> = vec![None; len];
                for (&arg, piece) in e.args.iter().zip(pieces) {
                    for (i, to) in piece.iter().enumerate() {
                        let x = self.get(arg, i)?;
                        cells[to] = Some(match cells[to] {
                            None => x,
                            Some(sum) => self.b.push1(Op::Add, &[sum, x])?,
                        });
                    }
                }
                let zero = self.b.constant(Rational::ZERO);
                Ok(vec![cells.into_iter().map(|c| c.unwrap_or(zero)).collect()])
            }
            Op::MatMul { transpose_a, transpose_b } => self.matmul(e, *transpose_a, *transpose_b),
            calling!() => self.call(e),
            Op::Kink(Kink::MaxLinear { lane: Lane::Axis, rows })
            | Op::Joint(Kink::MaxLinear { lane: Lane::Axis, rows }, _) => {
                let columns = e.columns(self.p, *rows);
                let matrix = (0..rows * columns).map(|i| self.get(e.args[0], i)).collect::<Result<Vec<_>, _>>()?;
                let vector = (0..columns).map(|j| self.get(e.args[1], j)).collect::<Result<Vec<_>, _>>()?;
                let all = self.b.push(e.op.with_lane(Lane::Args), &[matrix, vector].concat())?;
                let mut rest = all.into_iter();
                let mut take = |n: usize| rest.by_ref().take(n).collect::<Vec<_>>();
                let sizes = [1, rows * columns, columns];
                Ok(sizes[..e.results].iter().map(|&n| take(n)).collect())
            }
            Op::Gather { lane: Lane::Axis, .. } => self.gather(e),
            op if op.lane() == Some(Lane::Axis) => self.lanes(e, !op.keeps_lane()),
            elementwise!() | with_lane!() => self.elementwise(e, len),
        }
    }

    fn elementwise(&mut self, e: &Equation<'_>, len: usize) -> Result<Vec<Vec<Atom>>, BuildError> {
        let mut out = vec![Vec::with_capacity(len); e.results];
        for i in 0..len {
            let args = e.args.iter().map(|&a| self.get(a, i)).collect::<Result<Vec<_>, _>>()?;
            let results = self.b.push(e.op.clone(), &args)?;
            out.iter_mut().zip(results).for_each(|(list, r)| list.push(r));
        }
        Ok(out)
    }

    /// One scalar operation for each lane; every argument and every result but a reduced value has the lane as last axis.
    fn lanes(&mut self, e: &Equation<'_>, reduces: bool) -> Result<Vec<Vec<Atom>>, BuildError> {
        let shape = self.p.atom_shape(e.args[0]);
        let n = shape.split_last().map_or(1, |(_, n)| n);
        let op = e.op.with_lane(Lane::Args);
        let mut out: Vec<Vec<Atom>> = vec![Vec::new(); e.results];
        for l in 0..shape.len() / n {
            let mut args = Vec::with_capacity(n * e.args.len());
            for &a in e.args {
                for k in 0..n {
                    args.push(self.get(a, l * n + k)?);
                }
            }
            let mut results = self.b.push(op.clone(), &args)?.into_iter();
            for (r, list) in out.iter_mut().enumerate() {
                let width = if reduces && r == 0 { 1 } else { n };
                list.extend(results.by_ref().take(width));
            }
        }
        Ok(out)
    }

    /// A lane and its positions, which need not be as many.
    fn gather(&mut self, e: &Equation<'_>) -> Result<Vec<Vec<Atom>>, BuildError> {
        let rows = self.p.shape(e.first).split_last().map_or(1, |(rest, _)| rest.len());
        let op = e.op.with_lane(Lane::Args);
        let mut out = Vec::with_capacity(self.p.shape(e.first).len());
        for l in 0..rows {
            let mut args = Vec::new();
            for &a in e.args {
                let n = self.p.atom_shape(a).len() / rows;
                for k in l * n..(l + 1) * n {
                    args.push(self.get(a, k)?);
                }
            }
            out.extend(self.b.push(op.clone(), &args)?);
        }
        Ok(vec![out])
    }

    fn matmul(&mut self, e: &Equation<'_>, ta: bool, tb: bool) -> Result<Vec<Vec<Atom>>, BuildError> {
        let shape = self.p.shape(e.first);
        let (m, n) = (shape.dims()[shape.rank() - 2], shape.dims()[shape.rank() - 1]);
        let batch = shape.len() / (m * n);
        let k = self.p.atom_shape(e.args[0]).len() / (batch * m);
        let mut out = Vec::with_capacity(shape.len());
        for s in 0..batch {
            for (i, j) in (0..m).flat_map(|i| (0..n).map(move |j| (i, j))) {
                let mut sum: Option<Atom> = None;
                for l in 0..k {
                    let a = self.get(e.args[0], s * m * k + if ta { l * m + i } else { i * k + l })?;
                    let b = self.get(e.args[1], s * k * n + if tb { j * k + l } else { l * n + j })?;
                    let product = self.b.push1(Op::Mul, &[a, b])?;
                    sum = Some(match sum {
                        None => product,
                        Some(sum) => self.b.push1(Op::Add, &[sum, product])?,
                    });
                }
                out.extend(sum);
            }
        }
        Ok(vec![out])
    }

    fn call(&mut self, e: &Equation<'_>) -> Result<Vec<Vec<Atom>>, BuildError> {
        let mut args = Vec::new();
        for &a in e.args {
            match a {
                Atom::Value(v) => args.extend_from_slice(&self.values[v.index()]),
                Atom::Const(_) => args.push(self.b.translate(self.p, &[], a)),
            }
        }
        // the scalarized joint returns many derivatives; the scalarized program has as many inputs
        let op = self.made.op(self.b, self.p, e.op)?;
        let mut results = self.b.push(op, &args)?.into_iter();
        Ok(e.results().map(|v| results.by_ref().take(self.p.shape(v).len()).collect()).collect())
    }
}
