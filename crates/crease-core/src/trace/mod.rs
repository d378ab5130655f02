//! Tracing: a program from a Rust closure.
//!
//! [`trace`] runs a closure once on variables that record what is done to them. A [`Var`] is a small copyable handle, so
//! formulas read as on paper: `relu(x[0]) - relu(-x[1])`. What goes wrong on the way (shapes that do not fit, a constant
//! that is not finite) is kept and reported at the end, because operators cannot fail. An equation comes from the line of the closure that
//! asked for it ([`Origin::Line`]), or from a layer that is open ([`Tape::within`]).

mod groups;
mod loops;
mod windows;

use crate::builder::{BuildError, Builder};
use crate::number::Rational;
use crate::op::{Comparison, Kink, Lane, Logic, Op, Smooth, Stair};
use crate::program::{Atom, Origin, Program};
use crate::shape::Shape;
use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, Sub};
use std::panic::Location;
use std::sync::Arc;

/// Where a trace is recorded.
pub struct Tape {
    state: RefCell<State>,
}

struct State {
    builder: Builder,
    error: Option<BuildError>,
    /// The layers that are open, as a path.
    layers: String,
    /// The file of the last equation: equations of one file share its name.
    file: (&'static str, Arc<str>),
}

impl State {
    fn new(name: &str, error: Option<BuildError>) -> RefCell<Self> {
        RefCell::new(State { builder: Builder::new(name), error, layers: String::new(), file: ("", "".into()) })
    }

    /// Says of the equations that follow where they come from: the layer that is open, or else the line that asked for them.
    fn come_from(&mut self, line: &'static Location<'static>) {
        let origin = if self.layers.is_empty() {
            if self.file.0 != line.file() {
                self.file = (line.file(), line.file().into());
            }
            Origin::line(self.file.1.clone(), line.line())
        } else {
            Origin::layer(&*self.layers, None)
        };
        self.builder.set_origin(Some(origin));
    }
}

/// A variable of a trace: a handle on a value, with operators.
#[derive(Clone, Copy)]
pub struct Var<'t> {
    tape: &'t Tape,
    atom: Atom,
}

impl Tape {
    /// An empty tape for a program of that name.
    pub fn new(name: &str) -> Self {
        Tape { state: State::new(name, None) }
    }

    /// Inputs of these shapes, named `x0`, `x1`, ...; apart from [`trace_shapes`], which is compiled once for every closure.
    fn numbered(&self, shapes: &[Shape]) -> Vec<Var<'_>> {
        shapes.iter().enumerate().map(|(i, s)| self.input(&format!("x{i}"), s.clone())).collect()
    }

    #[track_caller]
    fn record<T>(&self, f: impl FnOnce(&mut Builder) -> Result<T, BuildError>) -> Option<T> {
        let state = &mut *self.state.borrow_mut();
        if state.error.is_some() {
            return None;
        }
        state.come_from(Location::caller());
        match f(&mut state.builder) {
            Ok(x) => Some(x),
            Err(e) => {
                state.error = Some(e);
                None
            }
        }
    }

    /// Runs something as a layer of that name, inside of the layers that are open: whatever it records comes from there.
    ///
    /// ```
    /// use crease_core::{kinks, relu, Shape, Tape, Tensor};
    /// let tape = Tape::new("f");
    /// let x = tape.input("x", Shape::scalar());
    /// let y = tape.within("encoder", || tape.within("0", || relu(x)));
    /// let p = tape.finish(&[y])?;
    /// let (_, met) = kinks(&p, &[Tensor::scalar(0.0)]).unwrap();
    /// assert_eq!(met[0].site.origin.as_deref().unwrap().to_string(), "encoder.0");
    /// # Ok::<(), crease_core::BuildError>(())
    /// ```
    pub fn within<T>(&self, layer: &str, f: impl FnOnce() -> T) -> T {
        let before = self.state.borrow().layers.len();
        {
            let layers = &mut self.state.borrow_mut().layers;
            if before > 0 {
                layers.push('.');
            }
            layers.push_str(layer);
        }
        let out = f();
        self.state.borrow_mut().layers.truncate(before);
        out
    }

    #[track_caller]
    fn var<'t>(&'t self, f: impl FnOnce(&mut Builder) -> Result<Atom, BuildError>) -> Var<'t> {
        let atom = self.record(f).unwrap_or_else(|| self.state.borrow_mut().builder.constant(Rational::ZERO));
        Var { tape: self, atom }
    }

    /// Declares an input; all inputs come before the first operation.
    pub fn input<'t>(&'t self, name: &str, shape: Shape) -> Var<'t> {
        self.var(|b| b.input(name, shape))
    }

    /// A constant number.
    #[track_caller]
    pub fn constant<'t>(&'t self, c: f64) -> Var<'t> {
        self.var(|b| b.constant_f64(c))
    }

    /// An exact constant.
    #[track_caller]
    pub fn exact<'t>(&'t self, c: Rational) -> Var<'t> {
        self.var(|b| Ok(b.constant(c)))
    }

    /// A constant tensor, from its elements in row-major order.
    #[track_caller]
    pub fn tensor<'t>(&'t self, shape: Shape, data: Vec<f64>) -> Var<'t> {
        self.var(|b| b.tensor(shape, data))
    }

    /// Applies a program to variables; its outputs.
    #[track_caller]
    pub fn call<'t>(&'t self, program: &Arc<Program>, args: &[Var<'t>]) -> Vec<Var<'t>> {
        self.several(program.outputs().len(), |b| {
            let atoms = self.atoms(args)?;
            let id = b.callee(program.clone(), None)?;
            b.push(Op::Call(id), &atoms)
        })
    }

    /// What gives so many results; zeros once an error was recorded.
    #[track_caller]
    fn several<'t>(
        &'t self,
        results: usize,
        f: impl FnOnce(&mut Builder) -> Result<Vec<Atom>, BuildError>,
    ) -> Vec<Var<'t>> {
        let outputs = self.record(f);
        let zeros = || vec![self.state.borrow_mut().builder.constant(Rational::ZERO); results];
        outputs.unwrap_or_else(zeros).into_iter().map(|atom| Var { tape: self, atom }).collect()
    }

    /// Makes the trace fail with an error of one's own; the first error counts.
    pub fn fail(&self, error: BuildError) {
        self.record(|_| Err::<(), _>(error));
    }

    /// The atoms of variables, which must all be of this tape.
    fn atoms(&self, vars: &[Var<'_>]) -> Result<Vec<Atom>, BuildError> {
        let own = |v: &Var<'_>| std::ptr::eq(v.tape, self).then_some(v.atom).ok_or(BuildError::ForeignVariable);
        vars.iter().map(own).collect()
    }

    /// Ends the trace with these outputs. Variables that are used after it belong to no program any more.
    pub fn finish(&self, outputs: &[Var<'_>]) -> Result<Program, BuildError> {
        let outputs = self.atoms(outputs);
        let ended = State::new("ended", Some(BuildError::ForeignVariable)).into_inner();
        let State { builder, error, .. } = self.state.replace(ended);
        match error {
            Some(e) => Err(e),
            None => builder.finish(&outputs?),
        }
    }
}

/// A program of `n` scalar inputs, named `x0`, `x1`, ..., from a closure.
///
/// ```
/// use crease_core::{relu, trace};
/// let p = trace(2, |x| relu(x[0]) - relu(-x[1])).unwrap();
/// assert_eq!(p.inputs().len(), 2);
/// assert!(trace(1, |x| x[0] * f64::NAN).is_err());
/// ```
pub fn trace<F>(n: usize, f: F) -> Result<Program, BuildError>
where
    F: for<'t> FnOnce(&[Var<'t>]) -> Var<'t>,
{
    trace_shapes(&vec![Shape::scalar(); n], |x| vec![f(x)])
}

/// A program of inputs of these shapes, named `x0`, `x1`, ..., with any number of outputs.
///
/// ```
/// use crease_core::{trace_shapes, Shape};
/// let p = trace_shapes(&[Shape::new([3, 2]).unwrap(), Shape::vector(2).unwrap()], |x| {
///     vec![x[0].matmul(x[1]).sum()]
/// }).unwrap();
/// assert_eq!(p.dimension(), 8);
/// ```
pub fn trace_shapes<F>(shapes: &[Shape], f: F) -> Result<Program, BuildError>
where
    F: for<'t> FnOnce(&[Var<'t>]) -> Vec<Var<'t>>,
{
    let tape = Tape::new("f");
    tape.finish(&f(&tape.numbered(shapes)))
}

impl<'t> Var<'t> {
    #[track_caller]
    fn apply(self, f: impl FnOnce(&mut Builder, Atom) -> Result<Atom, BuildError>) -> Var<'t> {
        self.tape.var(|b| f(b, self.atom))
    }

    #[track_caller]
    fn apply2(self, other: Var<'t>, f: impl FnOnce(&mut Builder, Atom, Atom) -> Result<Atom, BuildError>) -> Var<'t> {
        self.tape.var(|b| {
            self.tape.atoms(&[other])?;
            f(b, self.atom, other.atom)
        })
    }

    /// Applies an elementwise operation of one argument.
    #[track_caller]
    pub fn elementwise(self, op: impl Into<Op>) -> Var<'t> {
        self.apply(|b, x| b.elementwise(op, &[x]))
    }

    /// The tape on which this variable is.
    pub fn tape(self) -> &'t Tape {
        self.tape
    }

    /// The shape; that of a scalar once the trace has failed or ended.
    pub fn shape(self) -> Shape {
        match &*self.tape.state.borrow() {
            State { builder, error: None, .. } => builder.shape(self.atom),
            _ => Shape::scalar(),
        }
    }

    /// `x ^ k`.
    #[track_caller]
    pub fn powi(self, k: i32) -> Var<'t> {
        self.apply(|b, x| b.power(x, k))
    }

    /// The sum of all elements.
    #[track_caller]
    pub fn sum(self) -> Var<'t> {
        self.apply(|b, x| b.sum_all(x))
    }

    /// The sum along one axis, which may count from the end.
    #[track_caller]
    pub fn sum_axis(self, axis: isize) -> Var<'t> {
        self.apply(|b, x| {
            let axis = b.shape(x).axis(axis)?;
            b.sum(x, &[axis])
        })
    }

    /// The mean of all elements.
    #[track_caller]
    pub fn mean(self) -> Var<'t> {
        self.apply(|b, x| {
            let axes: Vec<usize> = (0..b.shape(x).rank()).collect();
            b.mean(x, &axes)
        })
    }

    /// The product of matrices and vectors.
    #[track_caller]
    pub fn matmul(self, other: Var<'t>) -> Var<'t> {
        self.apply2(other, |b, x, y| b.matmul(x, y))
    }

    /// The axes in reverse order.
    #[track_caller]
    pub fn transpose(self) -> Var<'t> {
        self.apply(|b, x| {
            let order: Vec<usize> = (0..b.shape(x).rank()).rev().collect();
            b.transpose(x, &order)
        })
    }

    /// The same elements in another shape.
    #[track_caller]
    pub fn reshape(self, dims: &[usize]) -> Var<'t> {
        self.apply(|b, x| {
            let shape = Shape::new(dims)?;
            b.reshape(x, &shape)
        })
    }

    /// Repeats the elements over a larger shape.
    #[track_caller]
    pub fn broadcast(self, dims: &[usize]) -> Var<'t> {
        self.apply(|b, x| {
            let shape = Shape::new(dims)?;
            b.broadcast(x, &shape)
        })
    }

    /// The part at fixed indices of the first axes.
    #[track_caller]
    pub fn at(self, indices: &[usize]) -> Var<'t> {
        self.apply(|b, x| b.at(x, indices))
    }

    /// `count` indices of an axis from `first` on.
    #[track_caller]
    pub fn slice_axis(self, axis: isize, first: usize, count: usize) -> Var<'t> {
        self.apply(|b, x| {
            let shape = b.shape(x);
            let axis = shape.axis(axis)?;
            let mut ranges: Vec<(usize, usize, isize)> = shape.dims().iter().map(|&n| (0, n, 1)).collect();
            ranges[axis] = (first, count, 1);
            b.slice(x, &ranges)
        })
    }

    /// The parts at these positions of an axis.
    #[track_caller]
    pub fn gather(self, axis: isize, positions: &[usize]) -> Var<'t> {
        self.apply(|b, x| b.gather(x, axis, positions))
    }

    /// The largest element along an axis.
    #[track_caller]
    pub fn max_axis(self, axis: isize) -> Var<'t> {
        self.apply(|b, x| b.lane_axis(&Kink::Max(Lane::Axis), x, axis))
    }

    /// The smallest element along an axis.
    #[track_caller]
    pub fn min_axis(self, axis: isize) -> Var<'t> {
        self.apply(|b, x| b.lane_axis(&Kink::Min(Lane::Axis), x, axis))
    }

    /// The largest of all elements.
    #[track_caller]
    pub fn max_all(self) -> Var<'t> {
        self.apply(|b, x| b.lane_all(&Kink::Max(Lane::Axis), x))
    }

    /// The smallest of all elements.
    #[track_caller]
    pub fn min_all(self) -> Var<'t> {
        self.apply(|b, x| b.lane_all(&Kink::Min(Lane::Axis), x))
    }

    /// The elements in ascending order along an axis.
    #[track_caller]
    pub fn sort(self, axis: isize) -> Var<'t> {
        self.apply(|b, x| b.lane_axis(&Kink::Sort(Lane::Axis), x, axis))
    }

    /// The lower median of all elements.
    #[track_caller]
    pub fn median(self) -> Var<'t> {
        self.apply(|b, x| b.median(x))
    }

    /// The k-th smallest of all elements, counted from 0.
    #[track_caller]
    pub fn order_statistic(self, k: usize) -> Var<'t> {
        self.apply(|b, x| b.lane_all(&Kink::OrderStatistic(Lane::Axis, k), x))
    }

    /// The sum of the absolute values of all elements.
    #[track_caller]
    pub fn norm1(self) -> Var<'t> {
        self.apply(|b, x| b.norm1(x))
    }

    /// The largest absolute value of all elements.
    #[track_caller]
    pub fn norminf(self) -> Var<'t> {
        self.apply(|b, x| b.norminf(x))
    }

    /// The Euclidean norm of all elements.
    pub fn norm2(self) -> Var<'t> {
        self.apply(|b, x| b.norm2(x))
    }

    /// `log(sum(exp(x)))` along an axis.
    #[track_caller]
    pub fn logsumexp(self, axis: isize) -> Var<'t> {
        self.apply(|b, x| b.logsumexp_axis(x, axis))
    }

    /// 1 where this compares so with the other, else 0.
    #[track_caller]
    pub fn compare(self, how: Comparison, other: Var<'t>) -> Var<'t> {
        self.apply2(other, |b, x, y| b.compare(how, x, y))
    }

    /// 1 where both are, else 0.
    #[track_caller]
    pub fn and(self, other: Var<'t>) -> Var<'t> {
        self.apply2(other, |b, x, y| b.logic(Logic::And, &[x, y]))
    }

    /// 1 where one of them is, else 0.
    #[track_caller]
    pub fn or(self, other: Var<'t>) -> Var<'t> {
        self.apply2(other, |b, x, y| b.logic(Logic::Or, &[x, y]))
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident, $build:ident) => {
        impl<'t> $trait for Var<'t> {
            type Output = Var<'t>;
            #[track_caller]
            fn $method(self, other: Var<'t>) -> Var<'t> {
                self.apply2(other, |b, x, y| b.$build(x, y))
            }
        }
        impl<'t> $trait<f64> for Var<'t> {
            type Output = Var<'t>;
            #[track_caller]
            fn $method(self, c: f64) -> Var<'t> {
                self.apply(|b, x| {
                    let c = b.constant_f64(c)?;
                    b.$build(x, c)
                })
            }
        }
        impl<'t> $trait<Var<'t>> for f64 {
            type Output = Var<'t>;
            #[track_caller]
            fn $method(self, x: Var<'t>) -> Var<'t> {
                x.apply(|b, x| {
                    let c = b.constant_f64(self)?;
                    b.$build(c, x)
                })
            }
        }
    };
}

operator!(Add, add, add);
operator!(Sub, sub, sub);
operator!(Mul, mul, mul);
operator!(Div, div, div);

impl<'t> Neg for Var<'t> {
    type Output = Var<'t>;
    #[track_caller]
    fn neg(self) -> Var<'t> {
        self.apply(|b, x| b.neg(x))
    }
}

macro_rules! function {
    ($($(#[$doc:meta])* $name:ident => $op:expr;)*) => {$(
        $(#[$doc])*
        #[track_caller]
        pub fn $name(x: Var<'_>) -> Var<'_> {
            x.elementwise($op)
        }
    )*};
}

function! {
    /// `max(0, x)`, element by element.
    relu => Kink::Relu;
    /// The absolute value, element by element.
    abs => Kink::Abs;
    /// `1 / x`, element by element.
    inv => Smooth::Inv;
    /// The exponential, element by element.
    exp => Smooth::Exp;
    /// The natural logarithm, element by element.
    log => Smooth::Log;
    /// The square root, element by element.
    sqrt => Smooth::Sqrt;
    /// The sine, element by element.
    sin => Smooth::Sin;
    /// The cosine, element by element.
    cos => Smooth::Cos;
    /// The hyperbolic tangent, element by element.
    tanh => Smooth::Tanh;
    /// The logistic function, element by element.
    sigmoid => Smooth::Sigmoid;
    /// `log(1 + exp(x))`, element by element.
    softplus => Smooth::Softplus;
    /// The tangent, element by element.
    tan => Smooth::Tan;
    /// The arcsine, element by element.
    asin => Smooth::Asin;
    /// The arccosine, element by element.
    acos => Smooth::Acos;
    /// The arctangent, element by element.
    atan => Smooth::Atan;
    /// The hyperbolic sine, element by element.
    sinh => Smooth::Sinh;
    /// The hyperbolic cosine, element by element.
    cosh => Smooth::Cosh;
    /// The inverse of the hyperbolic sine, element by element.
    asinh => Smooth::Asinh;
    /// The inverse of the hyperbolic cosine, element by element.
    acosh => Smooth::Acosh;
    /// The inverse of the hyperbolic tangent, element by element.
    atanh => Smooth::Atanh;
    /// The error function, element by element.
    erf => Smooth::Erf;
    /// What the error function lacks to 1, element by element.
    erfc => Smooth::Erfc;
    /// `log(1 + x)`, element by element.
    log1p => Smooth::Log1p;
    /// `exp(x) - 1`, element by element.
    expm1 => Smooth::Expm1;
}

macro_rules! composition {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[track_caller]
        pub fn $name(x: Var<'_>) -> Var<'_> {
            x.apply(|b, x| b.$name(x))
        }
    )*};
}

composition! {
    /// `x` times the normal distribution function of x, element by element.
    gelu;
    /// GELU by its approximation with a hyperbolic tangent, element by element.
    gelu_tanh;
    /// `x * sigmoid(x)`, element by element.
    silu;
    /// `x * tanh(softplus(x))`, element by element.
    mish;
    /// `x / (1 + |x|)`, element by element.
    softsign;
    /// `log(sigmoid(x))`, element by element.
    logsigmoid;
    /// `min(max(x, 0), 6)`, element by element.
    relu6;
    /// `relu6(x + 3) / 6`, element by element.
    hardsigmoid;
    /// `x * relu6(x + 3) / 6`, element by element.
    hardswish;
    /// The self-normalising ELU, element by element.
    selu;
}

/// `x` where positive, else `alpha * (exp(x / alpha) - 1)`, for alpha that is not 0.
#[track_caller]
pub fn celu(x: Var<'_>, alpha: f64) -> Var<'_> {
    x.apply(|b, x| b.celu(x, Rational::from_f64(alpha).ok_or(BuildError::NotFinite(alpha))?))
}

/// `x` where it lies between two numbers, else the nearer of them, element by element.
///
/// ```
/// use crease_core::{clamp, run, trace, Tensor};
/// let p = trace(1, |x| clamp(x[0], -1.0, 1.0)).unwrap();
/// assert_eq!(run(&p, &[Tensor::scalar(3.0)]).unwrap()[0].data(), [1.0]);
/// ```
#[track_caller]
pub fn clamp(x: Var<'_>, low: f64, high: f64) -> Var<'_> {
    let number = |x: f64| Rational::from_f64(x).ok_or(BuildError::NotFinite(x));
    x.apply(|b, x| {
        let (low, high) = (b.constant(number(low)?), b.constant(number(high)?));
        b.clamp(x, low, high)
    })
}

/// `a` where the condition, a truth value, holds, else `b`, element by element. What is not taken need not have a value; see [`Builder::choose`].
///
/// ```
/// use crease_core::{choose, op::Comparison, run, trace, Tensor};
/// let p = trace(2, |x| choose(x[0].compare(Comparison::Greater, x[1]), 2.0 * x[0], x[0])).unwrap();
/// assert_eq!(run(&p, &[Tensor::scalar(3.0), Tensor::scalar(0.0)]).unwrap()[0].data(), [6.0]);
/// ```
#[track_caller]
pub fn choose<'t>(condition: Var<'t>, a: Var<'t>, b: Var<'t>) -> Var<'t> {
    several(&[condition, a, b], |builder, atoms| builder.choose(atoms[0], atoms[1], atoms[2]))
}

/// -1, 0 or 1, element by element. It jumps at 0.
#[track_caller]
pub fn sign(x: Var<'_>) -> Var<'_> {
    x.elementwise(Stair::Sign)
}

/// The greatest integer that is not above, element by element. It jumps at integers.
#[track_caller]
pub fn floor(x: Var<'_>) -> Var<'_> {
    x.elementwise(Stair::Floor)
}

/// The least integer that is not below, element by element. It jumps at integers.
#[track_caller]
pub fn ceil(x: Var<'_>) -> Var<'_> {
    x.elementwise(Stair::Ceil)
}

/// The nearest integer, the even one of two, element by element. It jumps halfway between integers.
#[track_caller]
pub fn round(x: Var<'_>) -> Var<'_> {
    x.elementwise(Stair::Round)
}

/// The angle of the point (x, y), above -pi and at most pi; see [`Builder::atan2`].
#[track_caller]
pub fn atan2<'t>(y: Var<'t>, x: Var<'t>) -> Var<'t> {
    y.apply2(x, |b, y, x| b.atan2(y, x))
}

/// `x ^ y` for positive x.
#[track_caller]
pub fn pow<'t>(x: Var<'t>, y: Var<'t>) -> Var<'t> {
    x.apply2(y, |b, x, y| b.pow(x, y))
}

/// `x ^ exponent`, the exponent being the number that the float is. One that is no integer has no value where x is negative.
#[track_caller]
pub fn powf(x: Var<'_>, exponent: f64) -> Var<'_> {
    x.apply(|b, x| b.power_of(x, &Rational::from_f64(exponent).ok_or(BuildError::NotFinite(exponent))?))
}

/// `x` where positive, else `slope * x`.
#[track_caller]
pub fn leaky_relu(x: Var<'_>, slope: f64) -> Var<'_> {
    x.apply(|b, x| b.leaky_relu(x, Rational::from_f64(slope).ok_or(BuildError::NotFinite(slope))?))
}

/// `x` where positive, else `scale * (exp(x) - 1)`.
#[track_caller]
pub fn elu(x: Var<'_>, scale: f64) -> Var<'_> {
    x.apply(|b, x| b.elu(x, Rational::from_f64(scale).ok_or(BuildError::NotFinite(scale))?))
}

/// `a * relu(b)`.
#[track_caller]
pub fn times_relu<'t>(a: Var<'t>, b: Var<'t>) -> Var<'t> {
    a.apply2(b, |builder, a, b| builder.times_relu(a, b))
}

/// The largest of several variables.
///
/// # Panics
///
/// If there is none: then there is no trace to record it on.
///
/// ```
/// use crease_core::{max, trace};
/// assert!(trace(3, |x| max(x)).is_ok());
/// ```
#[track_caller]
pub fn max<'t>(xs: &[Var<'t>]) -> Var<'t> {
    several(xs, |b, atoms| b.max(atoms))
}

/// The smallest of several variables.
///
/// # Panics
///
/// If there is none.
#[track_caller]
pub fn min<'t>(xs: &[Var<'t>]) -> Var<'t> {
    several(xs, |b, atoms| b.min(atoms))
}

/// Puts variables one after the other along an axis; scalars make a vector.
///
/// # Panics
///
/// If there is none.
#[track_caller]
pub fn concat<'t>(xs: &[Var<'t>], axis: isize) -> Var<'t> {
    several(xs, |b, atoms| b.concat(atoms, axis))
}

/// The largest entry of `A x`.
#[track_caller]
pub fn max_linear<'t>(a: Var<'t>, x: Var<'t>) -> Var<'t> {
    a.apply2(x, |b, a, x| b.max_linear(a, x))
}

#[track_caller]
fn several<'t>(xs: &[Var<'t>], f: impl FnOnce(&mut Builder, &[Atom]) -> Result<Atom, BuildError>) -> Var<'t> {
    let tape = xs.first().expect("at least one variable").tape;
    tape.var(|b| f(b, &tape.atoms(xs)?))
}
