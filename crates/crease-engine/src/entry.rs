//! The doors of this crate: what other crates call, compiled here, once for `f64` and once for `f32`.
//!
//! Everything behind them is generic over both, and generic code is compiled in the crate that names its types. Left at that,
//! every program and every test that runs something would compile all kernels once more, for every kind of instructions.
//! [`Entry`] names the types here: its functions are ordinary ones, to which other crates link.

use crate::compiled::{self, Compiled, Workspace};
use crate::error::EngineError;
use crate::float::Float;
use crate::options::Options;
use crate::{batch, compile as generic};
use crease_core::Program;

/// Declares the functions, and defines them for both kinds of numbers by generic ones of the same names.
macro_rules! entries {
    ($(fn $name:ident($($arg:ident: $type:ty),*) -> $result:ty = $generic:path;)*) => {
        /// The functions of this crate for one kind of numbers, behind those that have documentation.
        pub trait Entry: Sized {
            $(#[doc(hidden)]
            fn $name($($arg: $type),*) -> $result
            where
                Self: Float;)*
        }
        entries!(@for f64, $(fn $name($($arg: $type),*) -> $result = $generic;)*);
        entries!(@for f32, $(fn $name($($arg: $type),*) -> $result = $generic;)*);
    };
    (@for $t:ty, $(fn $name:ident($($arg:ident: $type:ty),*) -> $result:ty = $generic:path;)*) => {
        impl Entry for $t {
            $(fn $name($($arg: $type),*) -> $result {
                $generic($($arg),*)
            })*
        }
    };
}

type Made<T> = Result<Compiled<T>, EngineError>;
type Done = Result<(), EngineError>;

entries! {
    fn compile(p: &Program, options: &Options) -> Made<Self> = generic::compile;
    fn value_and_grad(p: &Program, wrt: &[usize], options: &Options) -> Made<Self> = generic::value_and_grad;
    fn jvp(p: &Program, options: &Options) -> Made<Self> = generic::jvp;
    fn vjp(p: &Program, options: &Options) -> Made<Self> = generic::vjp;
    fn directional(p: &Program, wrt: &[usize], count: usize, options: &Options) -> Made<Self> = generic::directional;
    fn clarke(p: &Program, options: &Options) -> Made<Self> = generic::clarke;
    fn workspace(c: &Compiled<Self>) -> Workspace<Self> = compiled::workspace;
    fn run(c: &Compiled<Self>, w: &mut Workspace<Self>, x: &[&[Self]], y: &mut [&mut [Self]]) -> Done = batch::run;
    fn run_batch(c: &Compiled<Self>, w: &mut Workspace<Self>, points: usize, x: &[&[Self]], y: &mut [&mut [Self]]) -> Done =
        batch::run_batch;
    fn run_parallel(
        c: &Compiled<Self>,
        w: &mut [Workspace<Self>],
        points: usize,
        x: &[&[Self]],
        y: &mut [&mut [Self]]
    ) -> Done = batch::run_parallel;
    fn run_sum(c: &Compiled<Self>, w: &mut [Workspace<Self>], points: usize, x: &[&[Self]], y: &mut [&mut [Self]]) -> Done =
        batch::run_sum;
}

/// Compiles a program.
///
/// ```
/// use crease_core::{trace_shapes, Shape};
/// use crease_engine::{compile, Options};
/// let p = trace_shapes(&[Shape::vector(3).unwrap()], |x| vec![(x[0] * x[0]).sum()]).unwrap();
/// let c = compile::<f32>(&p, &Options::default()).unwrap();
/// let mut y = [0.0];
/// c.run(&mut c.workspace(), &[&[1.0, 2.0, 3.0]], &mut [&mut y]).unwrap();
/// assert_eq!(y, [14.0]);
/// ```
pub fn compile<T: Float>(p: &Program, options: &Options) -> Result<Compiled<T>, EngineError> {
    T::compile(p, options)
}

/// Compiles the value of a program with one scalar output and its gradient by some of its inputs, all if none are named:
/// the value comes first, then one output for each of these inputs in the order given.
///
/// ```
/// use crease_core::{relu, trace};
/// use crease_engine::{value_and_grad, Options};
/// let p = trace(2, |x| relu(x[0] * x[1])).unwrap();
/// let c = value_and_grad::<f64>(&p, &[], &Options::default()).unwrap();
/// let (mut y, mut dx, mut dz) = ([0.0], [0.0], [0.0]);
/// c.run(&mut c.workspace(), &[&[3.0], &[2.0]], &mut [&mut y, &mut dx, &mut dz]).unwrap();
/// assert_eq!((y, dx, dz), ([6.0], [2.0], [3.0]));
/// ```
pub fn value_and_grad<T: Float>(p: &Program, wrt: &[usize], options: &Options) -> Result<Compiled<T>, EngineError> {
    T::value_and_grad(p, wrt, options)
}

/// Compiles Jacobian times tangent: inputs are those of the program and one tangent for each, outputs those of the program and
/// one tangent for each. At kinks this is what the selection picks.
///
/// ```
/// use crease_core::trace;
/// use crease_engine::{jvp, Options};
/// let c = jvp::<f64>(&trace(1, |x| x[0] * x[0]).unwrap(), &Options::default()).unwrap();
/// let (mut y, mut dy) = ([0.0], [0.0]);
/// c.run(&mut c.workspace(), &[&[3.0], &[1.0]], &mut [&mut y, &mut dy]).unwrap();
/// assert_eq!((y, dy), ([9.0], [6.0]));
/// ```
pub fn jvp<T: Float>(p: &Program, options: &Options) -> Result<Compiled<T>, EngineError> {
    T::jvp(p, options)
}

/// Compiles adjoint times Jacobian: inputs are those of the program and one adjoint for each output, outputs those of the
/// program and one adjoint for each input.
///
/// ```
/// use crease_core::trace;
/// use crease_engine::{vjp, Options};
/// let c = vjp::<f64>(&trace(1, |x| x[0] * x[0]).unwrap(), &Options::default()).unwrap();
/// let (mut y, mut dx) = ([0.0], [0.0]);
/// c.run(&mut c.workspace(), &[&[3.0], &[10.0]], &mut [&mut y, &mut dx]).unwrap();
/// assert_eq!((y, dx), ([9.0], [60.0]));
/// ```
pub fn vjp<T: Float>(p: &Program, options: &Options) -> Result<Compiled<T>, EngineError> {
    T::vjp(p, options)
}

/// Compiles directional derivatives, right at kinks, for several directions at once: see
/// [`crease_core::differentiate::directional`] for inputs and outputs, and for when the result is the directional derivative.
///
/// ```
/// use crease_core::{abs, trace};
/// use crease_engine::{directional, Options};
/// let c = directional::<f64>(&trace(1, |x| abs(x[0])).unwrap(), &[0], 2, &Options::default()).unwrap();
/// let (mut y, mut dy) = ([0.0], [0.0; 2]);
/// c.run(&mut c.workspace(), &[&[0.0], &[1.0, -1.0]], &mut [&mut y, &mut dy]).unwrap();
/// assert_eq!((y, dy), ([0.0], [1.0, 1.0]));
/// ```
pub fn directional<T: Float>(
    p: &Program,
    wrt: &[usize],
    directions: usize,
    options: &Options,
) -> Result<Compiled<T>, EngineError> {
    T::directional(p, wrt, directions, options)
}

/// Compiles one Clarke subgradient of a program with one scalar output: inputs are those of the program and then a direction
/// for each (in its shape, with a leading axis of 1); outputs are the value and one derivative for each input.
///
/// Values and tangents along the direction are run once, every tie is decided by them, and adjoints go back through the
/// branches so chosen ([`crease_core::differentiate::locked`]). For all directions but a set of measure zero the result is a limit of
/// gradients: take a random one.
///
/// ```
/// use crease_core::{relu, trace};
/// use crease_engine::{clarke, Options};
/// // the identity, of which the chain rule says 0 at 0
/// let p = trace(1, |x| relu(x[0]) - relu(-x[0])).unwrap();
/// let c = clarke::<f64>(&p, &Options::default()).unwrap();
/// let (mut y, mut g) = ([0.0], [0.0]);
/// c.run(&mut c.workspace(), &[&[0.0], &[0.7]], &mut [&mut y, &mut g]).unwrap();
/// assert_eq!((y, g), ([0.0], [1.0]));
/// ```
pub fn clarke<T: Float>(p: &Program, options: &Options) -> Result<Compiled<T>, EngineError> {
    T::clarke(p, options)
}
