//! Programs built from Python: what the walkers of foreign programs write into.
//!
//! Values are handles, small integers that count from 0. A handle belongs to its builder. Functions take handles and give handles; numbers and arrays become
//! handles by [`Builder::constant`], exactly. Nothing is broadcast but scalars, and nothing is guessed: NumPy's rules, and those of JAX and PyTorch, are
//! on the side of Python.

use crate::arrays::constant_of;
use crate::error::{CreaseError, raise};
use crate::program::{Program, Structure};
use crease::op::{Comparison, Kink, Lane, Logic, Op, Position, Scan, Smooth, Stair};
use crease::{Atom, Layout, Origin, Rational, Shape};
use pyo3::prelude::*;
use std::sync::Arc;

/// Makes a program, equation by equation.
#[pyclass(module = "crease._crease")]
pub struct Builder {
    inner: Option<crease::Builder>,
    atoms: Vec<Atom>,
    inputs: usize,
}

impl Builder {
    fn get(&mut self) -> PyResult<&mut crease::Builder> {
        self.inner.as_mut().ok_or_else(|| CreaseError::new_err("this builder has finished its program"))
    }

    fn atom(&self, x: usize) -> PyResult<Atom> {
        self.atoms.get(x).copied().ok_or_else(|| CreaseError::new_err(format!("there is no value {x} in this builder")))
    }

    fn all(&self, xs: &[usize]) -> PyResult<Vec<Atom>> {
        xs.iter().map(|&x| self.atom(x)).collect()
    }

    fn handle(&mut self, a: Atom) -> usize {
        self.atoms.push(a);
        self.atoms.len() - 1
    }

    fn handles(&mut self, atoms: &[Atom]) -> Vec<usize> {
        atoms.iter().map(|&a| self.handle(a)).collect()
    }

    /// A function of one value.
    fn unary(
        &mut self,
        x: usize,
        f: impl FnOnce(&mut crease::Builder, Atom) -> Result<Atom, crease::BuildError>,
    ) -> PyResult<usize> {
        let x = self.atom(x)?;
        let y = f(self.get()?, x).map_err(raise)?;
        Ok(self.handle(y))
    }
}

fn shape(dims: Vec<usize>) -> PyResult<Shape> {
    Shape::new(dims).map_err(raise)
}

fn rational(x: f64) -> PyResult<Rational> {
    Rational::from_f64(x).ok_or_else(|| CreaseError::new_err(format!("{x} is no finite number")))
}

/// The operations of single numbers by their names.
fn elementwise(name: &str) -> Option<Op> {
    let kink = |k| Some(Op::Kink(k));
    match name {
        "add" => Some(Op::Add),
        "sub" => Some(Op::Sub),
        "mul" => Some(Op::Mul),
        "div" => Some(Op::Div),
        "neg" => Some(Op::Neg),
        "where" => Some(Op::Where),
        "relu" => kink(Kink::Relu),
        "abs" => kink(Kink::Abs),
        "max" => kink(Kink::Max(Lane::Args)),
        "min" => kink(Kink::Min(Lane::Args)),
        "and" => Some(Op::Logic(Logic::And)),
        "or" => Some(Op::Logic(Logic::Or)),
        "not" => Some(Op::Logic(Logic::Not)),
        "<" => Some(Op::Compare(Comparison::Less)),
        "<=" => Some(Op::Compare(Comparison::LessEqual)),
        ">" => Some(Op::Compare(Comparison::Greater)),
        ">=" => Some(Op::Compare(Comparison::GreaterEqual)),
        "==" => Some(Op::Compare(Comparison::Equal)),
        "!=" => Some(Op::Compare(Comparison::NotEqual)),
        _ => Smooth::from_name(name).map(Op::Smooth).or_else(|| Stair::from_name(name).map(Op::Stair)),
    }
}

/// The operations of groups of numbers by their names.
fn lane_kink(name: &str, k: Option<usize>) -> PyResult<Kink> {
    Ok(match (name, k) {
        ("max", None) => Kink::Max(Lane::Axis),
        ("min", None) => Kink::Min(Lane::Axis),
        ("sort", None) => Kink::Sort(Lane::Axis),
        ("norm1", None) => Kink::Norm1(Lane::Axis),
        ("norm2", None) => Kink::Norm2(Lane::Axis),
        ("norminf", None) => Kink::NormInf(Lane::Axis),
        ("order_statistic", Some(k)) => Kink::OrderStatistic(Lane::Axis, k),
        _ => return Err(CreaseError::new_err(format!("`{name}` is no operation of groups of numbers"))),
    })
}

#[pymethods]
impl Builder {
    #[new]
    #[pyo3(signature = (name = "f"))]
    fn new(name: &str) -> Self {
        Builder { inner: Some(crease::Builder::new(name)), atoms: Vec::new(), inputs: 0 }
    }

    /// Declares an input. All inputs come first.
    fn input(&mut self, name: &str, dims: Vec<usize>) -> PyResult<usize> {
        if self.atoms.len() != self.inputs {
            return Err(CreaseError::new_err("all inputs come before everything else"));
        }
        let a = self.get()?.input(name, shape(dims)?).map_err(raise)?;
        self.inputs += 1;
        Ok(self.handle(a))
    }

    /// A number or an array of finite numbers, exactly.
    fn constant(&mut self, x: &Bound<'_, PyAny>) -> PyResult<usize> {
        let (dims, data) = constant_of(x)?;
        let b = self.get()?;
        let a = match (&dims[..], &data[..]) {
            ([], &[number]) => b.constant_f64(number),
            _ => b.tensor(shape(dims)?, data),
        };
        let a = a.map_err(raise)?;
        Ok(self.handle(a))
    }

    /// A fraction, exactly, as text such as `1/3`.
    fn fraction(&mut self, text: &str) -> PyResult<usize> {
        let r: Rational = text.parse().map_err(|_| CreaseError::new_err(format!("`{text}` is no fraction")))?;
        let a = self.get()?.constant(r);
        Ok(self.handle(a))
    }

    fn shape(&mut self, x: usize) -> PyResult<Vec<usize>> {
        let a = self.atom(x)?;
        Ok(self.get()?.shape(a).dims().to_vec())
    }

    /// Says where what follows comes from: a line of code, in a layer, or of a node.
    #[pyo3(signature = (file = None, line = 0, layer = None))]
    fn origin(&mut self, file: Option<&str>, line: u32, layer: Option<&str>) -> PyResult<()> {
        let place = file.map(|f| Origin::line(f, line));
        let origin = match layer {
            Some(layer) => Some(Origin::layer(layer, place)),
            None => place,
        };
        self.get()?.set_origin(origin);
        Ok(())
    }

    /// An operation of single numbers, by its name in the language; scalars are spread.
    #[pyo3(signature = (op, *args))]
    fn elementwise(&mut self, op: &str, args: Vec<usize>) -> PyResult<usize> {
        let args = self.all(&args)?;
        let known = elementwise(op).ok_or_else(|| CreaseError::new_err(format!("there is no operation `{op}`")))?;
        let y = self.get()?.elementwise(known, &args).map_err(raise)?;
        Ok(self.handle(y))
    }

    /// A power with a constant exponent.
    fn power(&mut self, x: usize, exponent: f64) -> PyResult<usize> {
        let exponent = rational(exponent)?;
        self.unary(x, |b, x| b.power_of(x, &exponent))
    }

    /// A function that is made of others, or has a parameter: gelu, gelu_tanh, silu, mish, softsign, logsigmoid, relu6, hardsigmoid, hardswish, selu, leaky_relu, elu, celu.
    #[pyo3(signature = (name, x, parameter = None))]
    fn named(&mut self, name: &str, x: usize, parameter: Option<f64>) -> PyResult<usize> {
        let parameter = parameter.map(rational).transpose()?;
        let x = self.atom(x)?;
        let b = self.get()?;
        let y = match (name, parameter) {
            ("gelu", None) => b.gelu(x),
            ("gelu_tanh", None) => b.gelu_tanh(x),
            ("silu", None) => b.silu(x),
            ("mish", None) => b.mish(x),
            ("softsign", None) => b.softsign(x),
            ("logsigmoid", None) => b.logsigmoid(x),
            ("relu6", None) => b.relu6(x),
            ("hardsigmoid", None) => b.hardsigmoid(x),
            ("hardswish", None) => b.hardswish(x),
            ("selu", None) => b.selu(x),
            ("leaky_relu", Some(slope)) => b.leaky_relu(x, slope),
            ("elu", Some(scale)) => b.elu(x, scale),
            ("celu", Some(alpha)) => b.celu(x, alpha),
            _ => return Err(CreaseError::new_err(format!("`{name}` is no function with these parameters"))),
        };
        let y = y.map_err(raise)?;
        Ok(self.handle(y))
    }

    fn pow(&mut self, x: usize, y: usize) -> PyResult<usize> {
        let y = self.atom(y)?;
        self.unary(x, |b, x| b.pow(x, y))
    }

    fn atan2(&mut self, y: usize, x: usize) -> PyResult<usize> {
        let x = self.atom(x)?;
        self.unary(y, |b, y| b.atan2(y, x))
    }

    fn reshape(&mut self, x: usize, dims: Vec<usize>) -> PyResult<usize> {
        let to = shape(dims)?;
        self.unary(x, |b, x| b.reshape(x, &to))
    }

    /// Repeats over a larger shape; axes are matched from the last one.
    fn broadcast(&mut self, x: usize, dims: Vec<usize>) -> PyResult<usize> {
        let to = shape(dims)?;
        self.unary(x, |b, x| b.broadcast(x, &to))
    }

    fn transpose(&mut self, x: usize, order: Vec<usize>) -> PyResult<usize> {
        self.unary(x, |b, x| b.transpose(x, &order))
    }

    /// A part: for each axis the first index, the number of indices, the step.
    fn slice(&mut self, x: usize, axes: Vec<(usize, usize, isize)>) -> PyResult<usize> {
        self.unary(x, |b, x| b.slice(x, &axes))
    }

    /// The parts at known positions of an axis.
    fn gather(&mut self, x: usize, axis: isize, positions: Vec<usize>) -> PyResult<usize> {
        self.unary(x, |b, x| b.gather(x, axis, &positions))
    }

    /// Any index map by a table: which number of x each number of the result is, in row-major order.
    fn table(&mut self, x: usize, positions: Vec<u32>, dims: Vec<usize>) -> PyResult<usize> {
        let to = shape(dims)?;
        self.unary(x, |b, x| b.view(x, Layout::table(positions), to))
    }

    /// An index map by strides, of the shape given or of its sizes.
    #[pyo3(signature = (x, start, sizes, strides, dims = None))]
    fn view(
        &mut self,
        x: usize,
        start: usize,
        sizes: Vec<usize>,
        strides: Vec<isize>,
        dims: Option<Vec<usize>>,
    ) -> PyResult<usize> {
        let to = shape(dims.unwrap_or_else(|| sizes.clone()))?;
        let layout = strided(start, &sizes, &strides)?;
        self.unary(x, |b, x| b.view(x, layout, to))
    }

    /// Adds pieces into zeros, each by strides: (handle, start, sizes, strides).
    #[allow(clippy::type_complexity)]
    fn assemble(&mut self, dims: Vec<usize>, pieces: Vec<(usize, usize, Vec<usize>, Vec<isize>)>) -> PyResult<usize> {
        let to = shape(dims)?;
        let piece = |(x, start, sizes, strides): (usize, usize, Vec<usize>, Vec<isize>)| {
            Ok((self.atom(x)?, strided(start, &sizes, &strides)?))
        };
        let pieces = pieces.into_iter().map(piece).collect::<PyResult<Vec<_>>>()?;
        let y = self.get()?.assemble(to, pieces).map_err(raise)?;
        Ok(self.handle(y))
    }

    /// Adds numbers into zeros at known places: for each number of x, in row-major order, where in the result.
    fn add_at(&mut self, x: usize, positions: Vec<u32>, dims: Vec<usize>) -> PyResult<usize> {
        let to = shape(dims)?;
        self.unary(x, |b, x| b.assemble(to, vec![(x, Layout::table(positions))]))
    }

    fn concat(&mut self, parts: Vec<usize>, axis: isize) -> PyResult<usize> {
        let parts = self.all(&parts)?;
        let y = self.get()?.concat(&parts, axis).map_err(raise)?;
        Ok(self.handle(y))
    }

    fn sum(&mut self, x: usize, axes: Vec<usize>) -> PyResult<usize> {
        self.unary(x, |b, x| b.sum(x, &axes))
    }

    fn mean(&mut self, x: usize, axes: Vec<usize>) -> PyResult<usize> {
        self.unary(x, |b, x| b.mean(x, &axes))
    }

    fn prod(&mut self, x: usize, axes: Vec<usize>) -> PyResult<usize> {
        self.unary(x, |b, x| b.prod(x, &axes))
    }

    fn matmul(&mut self, x: usize, y: usize) -> PyResult<usize> {
        let y = self.atom(y)?;
        self.unary(x, |b, x| b.matmul(x, y))
    }

    /// An operation of the numbers along an axis: max, min, sort, norm1, norm2, norminf, median, order_statistic (with k), logsumexp.
    #[pyo3(signature = (name, x, axis, k = None))]
    fn lane(&mut self, name: &str, x: usize, axis: isize, k: Option<usize>) -> PyResult<usize> {
        if name == "logsumexp" {
            return self.unary(x, |b, x| b.logsumexp_axis(x, axis));
        }
        let kink = lane_kink(name, k)?;
        self.unary(x, |b, x| b.lane_axis(&kink, x, axis))
    }

    /// What runs along an axis: cumsum, cumprod, cummax, cummin.
    fn cumulative(&mut self, name: &str, x: usize, axis: isize) -> PyResult<usize> {
        use crease_core::builder::Cumulative::{Max, Min, Product, Sum};
        let what = [Sum, Product, Max, Min].into_iter().find(|c| c.name() == name);
        let what = what.ok_or_else(|| CreaseError::new_err(format!("`{name}` does not run along an axis")))?;
        self.unary(x, |b, x| b.cumulative(what, x, axis))
    }

    /// Positions along an axis: argmax, argmin, argsort.
    fn position(&mut self, name: &str, x: usize, axis: isize) -> PyResult<usize> {
        let which = Position::from_name(name);
        let which = which.ok_or_else(|| CreaseError::new_err(format!("`{name}` is no position")))?;
        self.unary(x, |b, x| b.position_axis(which, x, axis))
    }

    /// The k largest numbers along an axis, and their positions.
    fn top_k(&mut self, x: usize, k: usize, axis: isize) -> PyResult<(usize, usize)> {
        let x = self.atom(x)?;
        let [values, positions] = self.get()?.top_k(x, k, axis).map_err(raise)?;
        Ok((self.handle(values), self.handle(positions)))
    }

    /// Reads each lane at its own computed positions.
    fn take_along(&mut self, x: usize, positions: usize, axis: isize) -> PyResult<usize> {
        let positions = self.atom(positions)?;
        self.unary(x, |b, x| b.take_along(x, positions, axis))
    }

    /// Adds into zeros along an axis of `of` numbers at computed positions.
    fn add_along(&mut self, x: usize, positions: usize, axis: isize, of: usize) -> PyResult<usize> {
        let positions = self.atom(positions)?;
        self.unary(x, |b, x| b.add_along(x, positions, axis, of))
    }

    /// The parts at computed positions of an axis.
    fn take(&mut self, x: usize, positions: usize, axis: isize) -> PyResult<usize> {
        let positions = self.atom(positions)?;
        self.unary(x, |b, x| b.take(x, positions, axis))
    }

    /// Runs a program once for each of `turns`: its inputs are the carried values, a part of each sequence, and what stays the same; its outputs the next carried
    /// values, then what is stacked.
    #[pyo3(signature = (body, turns, carried, sequences, still, back = false))]
    fn scan(
        &mut self,
        body: &Program,
        turns: usize,
        carried: Vec<usize>,
        sequences: Vec<usize>,
        still: Vec<usize>,
        back: bool,
    ) -> PyResult<Vec<usize>> {
        let args = self.all(&[&carried[..], &sequences, &still].concat())?;
        let b = self.get()?;
        let body = b.callee(body.core.clone(), None).map_err(raise)?;
        let scan = Scan { body, turns, carried: carried.len(), each: sequences.len(), back };
        let out = b.push(scan, &args).map_err(raise)?;
        Ok(self.handles(&out))
    }

    /// The first program whose condition holds is run, the last one if none does.
    fn select(&mut self, conditions: Vec<usize>, branches: Vec<Py<Program>>, args: Vec<usize>) -> PyResult<Vec<usize>> {
        let args = self.all(&[&conditions[..], &args].concat())?;
        let b = self.get()?;
        let id = |p: &Py<Program>| b.callee(p.get().core.clone(), None).map_err(raise);
        let ids = branches.iter().map(id).collect::<PyResult<Vec<_>>>()?;
        let out = b.push(Op::Select(ids.into()), &args).map_err(raise)?;
        Ok(self.handles(&out))
    }

    /// Runs a program in its place, as a call.
    fn call(&mut self, program: &Program, args: Vec<usize>) -> PyResult<Vec<usize>> {
        let args = self.all(&args)?;
        let b = self.get()?;
        let id = b.callee(program.core.clone(), None).map_err(raise)?;
        let out = b.push(Op::Call(id), &args).map_err(raise)?;
        Ok(self.handles(&out))
    }

    /// Ends the program. Arguments and results are nested dicts, lists and tuples of handles; `params` are the names of the arguments.
    #[pyo3(signature = (out, args = None, params = None))]
    fn finish(
        &mut self,
        out: &Bound<'_, PyAny>,
        args: Option<&Bound<'_, PyAny>>,
        params: Option<Vec<String>>,
    ) -> PyResult<Program> {
        let mut leaves = Vec::new();
        let out = crate::tree::Tree::learn(out, &mut leaves)?;
        let outputs = leaves.iter().map(|h| self.atom(h.extract()?)).collect::<PyResult<Vec<_>>>()?;
        let b = self.inner.take().ok_or_else(|| CreaseError::new_err("this builder has finished its program"))?;
        let core = Arc::new(b.finish(&outputs).map_err(raise)?);
        let structure = match args {
            None => Structure::plain(&core).with_out(out),
            Some(args) => Structure::of_handles(&core, args, params, out)?,
        };
        Ok(Program::new(core, structure))
    }
}

fn strided(start: usize, sizes: &[usize], strides: &[isize]) -> PyResult<Layout> {
    if sizes.len() != strides.len() {
        return Err(CreaseError::new_err("there must be a stride for each size"));
    }
    let dims: Vec<(usize, isize)> = sizes.iter().copied().zip(strides.iter().copied()).collect();
    Ok(Layout::strided(start, &dims))
}
