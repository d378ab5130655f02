//! Programs as Python sees them: called like functions, with the structure of their arguments, compiled when first run.

use crate::arrays::{Given, Numeric, room, unwrapped};
use crate::error::{CreaseError, raise};
use crate::tree::{Path, Tree};
use crease::cost::{Prices, cost_within};
use crease::differentiate::{self, Mode};
use crease::engine::{self, Compiled, Options, Workspace};
use crease::{Arithmetic, How, Limits, Program as Core, Selection, Shape};
use numpy::{PyArrayDyn, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

/// How arguments and results are nested, and what arguments are called.
#[derive(Debug)]
pub struct Structure {
    pub params: Vec<String>,
    pub args: Vec<Tree>,
    pub out: Tree,
}

impl Structure {
    /// One argument for each input, one result for each output.
    pub fn plain(p: &Core) -> Self {
        let out = match p.outputs().len() {
            1 => Tree::Leaf,
            n => Tree::Tuple((0..n).map(|_| Tree::Leaf).collect()),
        };
        Structure {
            params: p.inputs().iter().map(|i| i.name.to_string()).collect(),
            args: p.inputs().iter().map(|_| Tree::Leaf).collect(),
            out,
        }
    }

    pub fn with_out(mut self, out: Tree) -> Self {
        self.out = out;
        self
    }

    /// From a tuple of arguments whose leaves are the handles of the inputs, in order.
    pub fn of_handles(p: &Core, args: &Bound<'_, PyAny>, params: Option<Vec<String>>, out: Tree) -> PyResult<Self> {
        let mut leaves = Vec::new();
        let Tree::Tuple(trees) = Tree::learn(args, &mut leaves)? else {
            return Err(CreaseError::new_err("the arguments must be a tuple"));
        };
        let order = leaves.iter().map(|h| h.extract()).collect::<PyResult<Vec<usize>>>()?;
        if !order.into_iter().eq(0..p.inputs().len()) {
            return Err(CreaseError::new_err("the leaves of the arguments must be the inputs, in their order"));
        }
        let params = params.unwrap_or_else(|| (0..trees.len()).map(|i| format!("arg{i}")).collect());
        if params.len() != trees.len() {
            return Err(CreaseError::new_err("there must be a name for each argument"));
        }
        Ok(Structure { params, args: trees, out })
    }

    /// How many arguments do not stand still.
    pub fn free(&self) -> usize {
        self.args.iter().filter(|t| !matches!(t, Tree::Still(_))).count()
    }

    /// The places of the arguments that do not stand still.
    pub fn free_places(&self) -> Vec<usize> {
        (0..self.args.len()).filter(|&a| !matches!(self.args[a], Tree::Still(_))).collect()
    }

    pub fn copy(&self, py: Python<'_>) -> Self {
        Structure {
            params: self.params.clone(),
            args: self.args.iter().map(|t| t.copy(py)).collect(),
            out: self.out.copy(py),
        }
    }
}

/// What is computed.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Kind {
    Value,
    ValueAndGrad(Vec<usize>),
    Jvp,
    Vjp,
    Jacobian(bool),
    Hvp,
    Block(Block),
}

/// Some points at once as one program of tensors.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Block {
    /// By which inputs it is differentiated, if it is.
    pub wrt: Option<Vec<usize>>,
    /// Which inputs differ from point to point.
    pub along: Vec<usize>,
    pub points: usize,
}

/// Code, and workspaces that nobody uses just now.
pub struct Code<T: Numeric> {
    pub compiled: Compiled<T>,
    idle: Mutex<Vec<Workspace<T>>>,
}

impl<T: Numeric> Code<T> {
    /// A workspace that nobody uses.
    pub fn workspace(&self) -> Workspace<T> {
        let kept = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        kept.unwrap_or_else(|| self.compiled.workspace())
    }

    /// Keeps it for the next one.
    pub fn keep(&self, w: Workspace<T>) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(w);
    }
}

/// Code in one of the two precisions.
#[derive(Clone)]
pub enum AnyCode {
    Double(Arc<Code<f64>>),
    Single(Arc<Code<f32>>),
}

/// The precision of a run, and its code.
pub trait Coded: Numeric {
    fn wrap(code: Arc<Code<Self>>) -> AnyCode;
    fn unwrap(code: &AnyCode) -> Option<Arc<Code<Self>>>;
    const SINGLE: bool;
}

impl Coded for f64 {
    fn wrap(code: Arc<Code<f64>>) -> AnyCode {
        AnyCode::Double(code)
    }
    fn unwrap(code: &AnyCode) -> Option<Arc<Code<f64>>> {
        match code {
            AnyCode::Double(c) => Some(c.clone()),
            AnyCode::Single(_) => None,
        }
    }
    const SINGLE: bool = false;
}

impl Coded for f32 {
    fn wrap(code: Arc<Code<f32>>) -> AnyCode {
        AnyCode::Single(code)
    }
    fn unwrap(code: &AnyCode) -> Option<Arc<Code<f32>>> {
        match code {
            AnyCode::Single(c) => Some(c.clone()),
            AnyCode::Double(_) => None,
        }
    }
    const SINGLE: bool = true;
}

/// A program: what it computes, where its parts come from, and how it is differentiated.
#[pyclass(frozen, module = "crease")]
pub struct Program {
    pub core: Arc<Core>,
    pub structure: Structure,
    pub how: How,
    select: Option<String>,
    checked: bool,
    codes: Mutex<HashMap<(Kind, bool), AnyCode>>,
    /// What has no code.
    refused: Mutex<HashSet<(Kind, bool)>>,
    /// How many points make a block, of the program and of its derivatives by some inputs.
    sizes: Mutex<HashMap<Option<Vec<usize>>, usize>>,
}

impl Program {
    pub fn new(core: Arc<Core>, structure: Structure) -> Self {
        Program {
            core,
            structure,
            how: How::default(),
            select: None,
            checked: true,
            codes: Mutex::default(),
            refused: Mutex::default(),
            sizes: Mutex::default(),
        }
    }

    /// The leaves of arguments, in the order of the inputs.
    pub fn leaves<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let s = &self.structure;
        let mut leaves = Vec::with_capacity(self.core.inputs().len());
        let given = args.len();
        if given > s.args.len() {
            return Err(CreaseError::new_err(format!(
                "{} takes {} arguments, got {given}",
                self.title(),
                s.args.len()
            )));
        }
        // what stands still may be left out: then the others follow one another
        let short = given <= s.free() && s.free() < s.args.len();
        let (mut used, mut next) = (0, 0);
        for (tree, name) in s.args.iter().zip(&s.params) {
            let by_name = named.and_then(|d| d.get_item(name).transpose()).transpose()?;
            let still = matches!(tree, Tree::Still(_));
            let i = next;
            if short && still && by_name.is_none() {
                continue;
            }
            if !(short && still) {
                next += 1;
            }
            let arg = match (i < given && !(short && still), by_name) {
                (true, None) => args.get_item(i)?,
                (false, None) if still => continue,
                (false, Some(arg)) => {
                    used += 1;
                    arg
                }
                (true, Some(_)) => {
                    return Err(CreaseError::new_err(format!("argument `{name}` is given twice")));
                }
                (false, None) => {
                    return Err(CreaseError::new_err(format!("argument `{name}` of {} is missing", self.title())));
                }
            };
            match tree {
                Tree::Leaf => leaves.push(arg),
                _ => tree.flatten(&arg, Path::Argument(name), &mut leaves)?,
            }
        }
        if let Some(d) = named.filter(|d| d.len() > used) {
            let unknown = d.keys().iter().map(|k| k.to_string()).find(|k| !s.params.contains(k)).unwrap_or_default();
            let known = s.params.join(", ");
            return Err(CreaseError::new_err(format!(
                "{} has no argument `{unknown}`; it takes {known}",
                self.title()
            )));
        }
        Ok(leaves)
    }

    fn output_shape(&self, k: usize) -> Shape {
        self.core.atom_shape(self.core.outputs()[k])
    }

    fn title(&self) -> String {
        format!("`{}`", self.core.name())
    }

    /// The numbers of the inputs, with their shapes checked.
    pub fn given<'py>(&self, leaves: &[Bound<'py, PyAny>]) -> PyResult<Vec<Given<'py>>> {
        let one = |(x, input): (&Bound<'py, PyAny>, &crease::Input)| {
            let given = Given::take(x)?;
            fits(&given, &input.shape, || format!("input `{}` of {}", input.name, self.title()))?;
            Ok(given)
        };
        leaves.iter().zip(self.core.inputs()).map(one).collect()
    }

    /// Which inputs are meant by `wrt`: names or places of arguments.
    pub fn wrt(&self, wrt: Option<&Bound<'_, PyAny>>) -> PyResult<(Vec<usize>, Vec<usize>, bool)> {
        let s = &self.structure;
        let (which, several): (Vec<usize>, bool) = match wrt {
            None => (s.free_places(), s.free() != 1),
            Some(x) => {
                let one = |x: &Bound<'_, PyAny>| -> PyResult<usize> {
                    if let Ok(i) = x.extract::<isize>() {
                        let n = s.args.len() as isize;
                        let k = if i < 0 { i + n } else { i };
                        return match (0..n).contains(&k) {
                            true => Ok(k as usize),
                            false => Err(CreaseError::new_err(format!("there is no argument {i}; there are {n}"))),
                        };
                    }
                    let name: String = x.extract()?;
                    let found = s.params.iter().position(|p| *p == name);
                    found.ok_or_else(|| {
                        CreaseError::new_err(format!(
                            "there is no argument `{name}`; there are {}",
                            s.params.join(", ")
                        ))
                    })
                };
                match x.extract::<String>().is_ok() || x.extract::<isize>().is_ok() {
                    true => (vec![one(x)?], false),
                    false => (x.try_iter()?.map(|i| one(&i?)).collect::<PyResult<_>>()?, true),
                }
            }
        };
        if let Some(&a) = which.iter().find(|&&a| matches!(s.args[a], Tree::Still(_))) {
            return Err(CreaseError::new_err(format!(
                "argument `{}` is part of the program; there is no derivative by it",
                s.params[a]
            )));
        }
        let starts: Vec<usize> = s
            .args
            .iter()
            .scan(0, |n, t| {
                let start = *n;
                *n += t.leaves();
                Some(start)
            })
            .collect();
        let inputs = which.iter().flat_map(|&a| starts[a]..starts[a] + s.args[a].leaves()).collect();
        Ok((which, inputs, several))
    }

    fn options(&self) -> Options {
        let arithmetic = if self.checked { Arithmetic::Checked } else { Arithmetic::Ieee };
        Options::default().how(self.how.clone()).arithmetic(arithmetic)
    }

    /// The code of a kind, made when it is first asked for.
    pub fn code<T: Coded>(&self, py: Python<'_>, kind: &Kind) -> PyResult<Arc<Code<T>>> {
        let key = (kind.clone(), T::SINGLE);
        let kept = |codes: &HashMap<_, AnyCode>| codes.get(&key).and_then(T::unwrap);
        if let Some(code) = kept(&self.codes.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(code);
        }
        let options = self.options();
        let compiled: Compiled<T> = py.detach(|| -> PyResult<_> {
            let p = &self.core;
            let compile = |derived: Result<Core, differentiate::DiffError>| {
                engine::compile(&derived.map_err(raise)?, &options).map_err(raise)
            };
            match kind {
                Kind::Value => engine::compile(p, &options).map_err(raise),
                Kind::ValueAndGrad(wrt) => engine::value_and_grad(p, wrt, &options).map_err(raise),
                Kind::Jvp => engine::jvp(p, &options).map_err(raise),
                Kind::Vjp => engine::vjp(p, &options).map_err(raise),
                Kind::Jacobian(forward) => {
                    let mode = if *forward { Mode::Forward } else { Mode::Backward };
                    compile(differentiate::jacobian(p, &self.how, mode))
                }
                Kind::Hvp => {
                    compile(differentiate::gradient(p, &self.how).and_then(|g| differentiate::jvp(&g, &self.how)))
                }
                Kind::Block(block) => {
                    let one = self.at_one_point(block.wrt.as_deref())?;
                    let all = crease::batch(&one, &block.along, block.points).map_err(raise)?;
                    let options = options.clone().form(engine::Form::Tensors);
                    engine::compile(&crease::simplify(&all).map_err(raise)?, &options).map_err(raise)
                }
            }
        })?;
        let code = Arc::new(Code { compiled, idle: Mutex::default() });
        self.codes.lock().unwrap_or_else(PoisonError::into_inner).insert(key, T::wrap(code.clone()));
        Ok(code)
    }

    /// Code that need not exist: what is refused once is not tried again.
    pub fn code_if_any<T: Coded>(&self, py: Python<'_>, kind: Kind) -> PyResult<Option<Arc<Code<T>>>> {
        let key = (kind, T::SINGLE);
        if self.refused.lock().unwrap_or_else(PoisonError::into_inner).contains(&key) {
            return Ok(None);
        }
        match self.code(py, &key.0) {
            Ok(code) => Ok(Some(code)),
            Err(_) => {
                self.refused.lock().unwrap_or_else(PoisonError::into_inner).insert(key);
                Ok(None)
            }
        }
    }

    /// How many points a block has at most, a power of two: so many that all numbers of it lie near the processor.
    pub fn block_size(&self, wrt: Option<&[usize]>) -> PyResult<usize> {
        let wrt = wrt.map(<[usize]>::to_vec);
        if let Some(&known) = self.sizes.lock().unwrap_or_else(PoisonError::into_inner).get(&wrt) {
            return Ok(known);
        }
        let one = self.at_one_point(wrt.as_deref())?;
        let inputs: usize = one.inputs().iter().map(|i| i.shape.len()).sum();
        let all = one.library().iter().map(|q| numbers(q)).fold(inputs + numbers(&one), usize::saturating_add);
        let most = (NEAR / all.max(1)).clamp(1, MOST);
        let size = 1 << most.ilog2();
        self.sizes.lock().unwrap_or_else(PoisonError::into_inner).insert(wrt, size);
        Ok(size)
    }

    /// The program itself, or its value and its derivatives by some inputs, as one program.
    pub fn at_one_point(&self, wrt: Option<&[usize]>) -> PyResult<Core> {
        let Some(wrt) = wrt else { return Ok((*self.core).clone()) };
        let outputs: Vec<usize> = [0].into_iter().chain(wrt.iter().map(|i| i + 1)).collect();
        let derived = differentiate::backprop(&self.core, &self.how).map_err(raise)?;
        derived.with_outputs(&outputs).ok_or_else(|| CreaseError::new_err("there is no such derivative"))
    }

    /// Runs code at a point: the arrays that come out.
    fn run<'py>(&self, py: Python<'py>, kind: &Kind, given: &[Given<'py>]) -> PyResult<Vec<Bound<'py, PyAny>>> {
        match is_single(given) {
            true => self.run_in::<f32>(py, kind, given),
            false => self.run_in::<f64>(py, kind, given),
        }
    }

    fn run_in<'py, T: Coded>(
        &self,
        py: Python<'py>,
        kind: &Kind,
        given: &[Given<'py>],
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let code = self.code::<T>(py, kind)?;
        let numbers = given.iter().map(|g| g.numbers::<T>()).collect::<PyResult<Vec<_>>>()?;
        let inputs: Vec<&[T]> = numbers.iter().map(|n| &**n).collect();
        let arrays: Vec<Bound<'py, PyArrayDyn<T>>> =
            code.compiled.outputs().iter().map(|s| room::<T>(py, s.dims())).collect();
        let mut held = arrays.iter().map(|a| Ok(a.try_readwrite()?)).collect::<PyResult<Vec<_>>>()?;
        let mut outputs = held.iter_mut().map(|a| Ok(a.as_slice_mut()?)).collect::<PyResult<Vec<&mut [T]>>>()?;
        py.detach(|| {
            let mut workspace = code.workspace();
            let done = code.compiled.run(&mut workspace, &inputs, &mut outputs).map_err(raise);
            code.keep(workspace);
            done
        })?;
        drop(held);
        arrays.into_iter().map(unwrapped).collect()
    }

    /// Derivatives by some arguments, in their structure.
    pub fn structured<'py>(
        &self,
        py: Python<'py>,
        which: &[usize],
        several: bool,
        leaves: Vec<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut leaves = leaves.into_iter();
        let parts =
            which.iter().map(|&a| self.structure.args[a].unflatten(py, &mut leaves)).collect::<PyResult<Vec<_>>>()?;
        match (several, parts.into_iter()) {
            (true, parts) => Ok(PyTuple::new(py, parts.collect::<Vec<_>>())?.into_any()),
            (false, mut parts) => parts.next().ok_or_else(|| CreaseError::new_err("there is no argument")),
        }
    }

    /// Numbers for all inputs in their order, in the structure of the arguments: as they are for one argument, else a tuple.
    pub fn like_arguments<'py>(&self, py: Python<'py>, leaves: Vec<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let which = self.structure.free_places();
        self.structured(py, &which, which.len() != 1, leaves)
    }

    /// The same with another derivative of its inputs, in plain structure.
    fn derived(&self, core: Core) -> Program {
        let structure = Structure::plain(&core);
        Program {
            how: self.how.clone(),
            select: self.select.clone(),
            checked: self.checked,
            ..Program::new(Arc::new(core), structure)
        }
    }
}

/// So many numbers of a block of points are to lie near the processor.
const NEAR: usize = 1 << 20;
/// More points than this are in no block.
const MOST: usize = 1 << 12;

/// How many numbers the equations of a program make.
fn numbers(p: &Core) -> usize {
    p.equations().flat_map(|e| e.results()).map(|v| p.shape(v).len()).fold(0, usize::saturating_add)
}

/// Whether a run is in single precision.
pub fn is_single(given: &[Given<'_>]) -> bool {
    given.iter().any(|g| matches!(g, Given::Single(_))) && !given.iter().any(|g| matches!(g, Given::Double(_)))
}

/// Whether numbers have a shape.
fn fits(given: &Given<'_>, shape: &Shape, what: impl Fn() -> String) -> PyResult<()> {
    match given.dims() == shape.dims() {
        true => Ok(()),
        false => {
            let tuple = |d: &[usize]| match d {
                [] => "a number".to_string(),
                [n] => format!("shape ({n},)"),
                _ => format!("shape ({})", d.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
            };
            Err(CreaseError::new_err(format!("{} takes {}, got {}", what(), tuple(shape.dims()), tuple(given.dims()))))
        }
    }
}

#[pymethods]
impl Program {
    /// Runs the program.
    ///
    /// >>> import crease
    /// >>> crease.parse("program f(x, y) = max(x, y)")(2.0, 3.0)
    /// np.float64(3.0)
    #[pyo3(signature = (*args, **named))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let given = self.given(&self.leaves(args, named)?)?;
        let out = self.run(py, &Kind::Value, &given)?;
        self.structure.out.unflatten(py, &mut out.into_iter())
    }

    /// The gradient by all arguments, or by those that `wrt` names, in their structure.
    ///
    /// >>> import crease
    /// >>> crease.parse("program f(x, y) = max(x, y)").grad(2.0, 3.0)
    /// (np.float64(0.0), np.float64(1.0))
    #[pyo3(signature = (*args, wrt = None, **named))]
    fn grad<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        wrt: Option<&Bound<'py, PyAny>>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Ok(self.value_and_grad(py, args, wrt, named)?.1)
    }

    /// The value and the gradient.
    #[pyo3(signature = (*args, wrt = None, **named))]
    fn value_and_grad<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        wrt: Option<&Bound<'py, PyAny>>,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let given = self.given(&self.leaves(args, named)?)?;
        let (which, inputs, several) = self.wrt(wrt)?;
        let mut out = self.run(py, &Kind::ValueAndGrad(inputs), &given)?.into_iter();
        let value = self.structure.out.unflatten(py, &mut out)?;
        Ok((value, self.structured(py, &which, several, out.collect())?))
    }

    /// The value and its tangent: Jacobian times `tangents`, which are like the arguments.
    fn jvp<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        tangents: &Bound<'py, PyTuple>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let mut given = self.given(&self.leaves(args, None)?)?;
        given.extend(self.given(&self.leaves(tangents, None)?)?);
        let mut out = self.run(py, &Kind::Jvp, &given)?.into_iter();
        Ok((self.structure.out.unflatten(py, &mut out)?, self.structure.out.unflatten(py, &mut out)?))
    }

    /// The value, and adjoints times Jacobian; `adjoints` are like the result.
    fn vjp<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        adjoints: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let mut given = self.given(&self.leaves(args, None)?)?;
        let mut leaves = Vec::new();
        self.structure.out.flatten(adjoints, Path::Argument("the adjoint"), &mut leaves)?;
        for (x, k) in leaves.iter().zip(0..) {
            let g = Given::take(x)?;
            fits(&g, &self.output_shape(k), || format!("the adjoint of output {k}"))?;
            given.push(g);
        }
        let mut out = self.run(py, &Kind::Vjp, &given)?.into_iter();
        let value = self.structure.out.unflatten(py, &mut out)?;
        Ok((value, self.like_arguments(py, out.collect())?))
    }

    /// The second derivative along `tangents`, which are like the arguments: Hessian times vector, of one scalar output.
    fn hvp<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        tangents: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut given = self.given(&self.leaves(args, None)?)?;
        given.extend(self.given(&self.leaves(tangents, None)?)?);
        let mut out = self.run(py, &Kind::Hvp, &given)?;
        let tangents = out.split_off(out.len() - self.core.inputs().len());
        self.like_arguments(py, tangents)
    }

    /// The derivatives of all numbers of the outputs: for each output in the structure of the arguments, arrays whose first axes are those of the output.
    #[pyo3(signature = (*args, forward = false, **named))]
    fn jacobian<'py>(
        &self,
        py: Python<'py>,
        args: &Bound<'py, PyTuple>,
        forward: bool,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let given = self.given(&self.leaves(args, named)?)?;
        let mut out = self.run(py, &Kind::Jacobian(forward), &given)?;
        let mut rest = out.split_off(self.core.outputs().len()).into_iter();
        let n = self.core.inputs().len();
        let each = (0..self.core.outputs().len())
            .map(|_| self.like_arguments(py, rest.by_ref().take(n).collect()))
            .collect::<PyResult<Vec<_>>>()?;
        self.structure.out.unflatten(py, &mut each.into_iter())
    }

    /// What it costs at unit prices: of the program, of its derivative as counted, and what Theorem 2 allows.
    fn cost<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (program, derived) = py.detach(|| -> PyResult<_> {
            let unit = Prices::unit();
            let limits =
                Limits { equations: self.how.max_equations.unwrap_or(Limits::DEFAULT.equations), ..Limits::default() };
            let price = |p: &Core| Ok::<_, PyErr>(cost_within(p, &limits).map_err(raise)?.at(&unit).to_f64());
            let program = price(&self.core)?;
            let Ok(derived) = differentiate::backprop(&self.core, &self.how) else { return Ok((program, None)) };
            let backprop = price(&derived)?;
            let theorem = differentiate::overhead(&self.core, &self.how, Mode::Backward, &unit).map_err(raise)?;
            let (theorem, bound) = (theorem.model.at(&unit).to_f64(), theorem.omega.map(|o| o.to_f64()));
            Ok((program, Some((backprop, theorem, bound))))
        })?;
        let d = PyDict::new(py);
        d.set_item("program", program)?;
        if let Some((backprop, theorem, bound)) = derived {
            d.set_item("backprop", backprop)?;
            d.set_item("theorem", theorem)?;
            d.set_item("bound", bound)?;
        }
        Ok(d)
    }

    /// The same program with other options: what is picked at kinks (`torch`, `jax`, `relu=1/2`, ...), and whether a division by zero is an error.
    #[pyo3(signature = (select = None, checked = None))]
    #[pyo3(name = "options")]
    fn with_options<'py>(&self, py: Python<'py>, select: Option<String>, checked: Option<bool>) -> PyResult<Program> {
        let mut how = self.how.clone();
        if let Some(text) = &select {
            how = how.select(selection(text)?);
        }
        Ok(Program {
            how,
            select: select.or_else(|| self.select.clone()),
            checked: checked.unwrap_or(self.checked),
            ..Program::new(self.core.clone(), self.structure.copy(py))
        })
    }

    /// The program of the value and the gradient, or another derivative: backprop, forprop, jvp, vjp, gradient, jacobian, hessian.
    fn derive(&self, py: Python<'_>, kind: &str) -> PyResult<Program> {
        let (p, how) = (&*self.core, &self.how);
        let derived = py.detach(|| {
            Some(match kind {
                "backprop" => differentiate::backprop(p, how),
                "forprop" => differentiate::forprop(p, how),
                "jvp" => differentiate::jvp(p, how),
                "vjp" => differentiate::vjp(p, how),
                "gradient" => differentiate::gradient(p, how),
                "jacobian" => differentiate::jacobian(p, how, Mode::Backward),
                "hessian" => differentiate::hessian(p, how),
                _ => return None,
            })
        });
        let Some(derived) = derived else {
            let all = "backprop, forprop, jvp, vjp, gradient, jacobian, hessian";
            return Err(CreaseError::new_err(format!("there is no derivative `{kind}`; there are {all}")));
        };
        Ok(self.derived(derived.map_err(raise)?))
    }

    /// The same function as a cheaper program.
    fn simplify(&self, py: Python<'_>) -> PyResult<Program> {
        let core = py.detach(|| crease::simplify(&self.core)).map_err(raise)?;
        Ok(Program {
            how: self.how.clone(),
            select: self.select.clone(),
            checked: self.checked,
            ..Program::new(Arc::new(core), self.structure.copy(py))
        })
    }

    /// The same with its k-th output only.
    fn output(&self, py: Python<'_>, k: usize) -> PyResult<Program> {
        let core = crease::inspect::pick(&self.core, k).map_err(raise)?;
        Ok(Program {
            how: self.how.clone(),
            select: self.select.clone(),
            checked: self.checked,
            ..Program::new(Arc::new(core), self.structure.copy(py).with_out(Tree::Leaf))
        })
    }

    /// The program in the language of crease.
    #[getter]
    fn text(&self) -> String {
        self.core.to_string()
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        self.core.name()
    }

    /// The names and shapes of the inputs.
    #[getter]
    fn inputs<'py>(&self, py: Python<'py>) -> PyResult<Vec<(String, Bound<'py, PyTuple>)>> {
        self.core.inputs().iter().map(|i| Ok((i.name.to_string(), PyTuple::new(py, i.shape.dims())?))).collect()
    }

    /// The shapes of the outputs.
    #[getter]
    fn outputs<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        (0..self.core.outputs().len()).map(|k| PyTuple::new(py, self.output_shape(k).dims())).collect()
    }

    /// The names of the arguments, without those that are part of the program.
    #[getter]
    fn params(&self) -> Vec<String> {
        self.structure.free_places().into_iter().map(|a| self.structure.params[a].clone()).collect()
    }

    /// The same program with the arguments of a function: `frame` has one for each, and where it has a `Still`, something is part of the program.
    fn calling(&self, py: Python<'_>, params: Vec<String>, frame: &Bound<'_, PyTuple>) -> PyResult<Program> {
        let mut mine = self.structure.copy(py).args.into_iter();
        let mut args = Vec::with_capacity(frame.len());
        for x in frame.iter() {
            let theirs = Tree::learn(&x, &mut Vec::new())?;
            args.push(match theirs {
                Tree::Still(_) => theirs,
                _ => mine
                    .next()
                    .ok_or_else(|| CreaseError::new_err("there are more arguments than the program has"))?
                    .with_still(py, &theirs),
            });
        }
        if mine.next().is_some() || params.len() != args.len() {
            return Err(CreaseError::new_err("the program has more arguments than there are, or names are missing"));
        }
        let out = self.structure.out.copy(py);
        Ok(Program {
            how: self.how.clone(),
            select: self.select.clone(),
            checked: self.checked,
            ..Program::new(self.core.clone(), Structure { params, args, out })
        })
    }

    /// What is picked at kinks.
    #[getter]
    fn select(&self) -> Option<&str> {
        self.select.as_deref()
    }

    /// How the engine runs it.
    fn explain_code(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        Ok(self.code::<f64>(py, &Kind::Value)?.compiled.explain().lines().to_vec())
    }

    fn __len__(&self) -> usize {
        self.core.len()
    }

    fn __repr__(&self) -> String {
        let shapes = |dims: &[usize]| match dims {
            [] => String::new(),
            _ => format!("{dims:?}"),
        };
        let inputs: Vec<String> =
            self.core.inputs().iter().map(|i| format!("{}{}", i.name, shapes(i.shape.dims()))).collect();
        format!("<crease.Program {}({}), {} equations>", self.core.name(), inputs.join(", "), self.core.len())
    }

    fn __eq__(&self, other: &Program) -> bool {
        self.core == other.core && self.select == other.select
    }

    fn __hash__(&self) -> u64 {
        self.core.len() as u64
    }

    /// What a copy is made of, for pickling: the text, the structure, and where equations come from.
    fn __getstate__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let s = &self.structure;
        let mut handles = (0usize..).map(|i| i.into_pyobject(py).map(Bound::into_any)).map_while(Result::ok);
        let args = s.args.iter().map(|t| t.frame(py, &mut handles)).collect::<PyResult<Vec<_>>>()?;
        let mut outs = (0usize..).map(|i| i.into_pyobject(py).map(Bound::into_any)).map_while(Result::ok);
        let out = s.out.unflatten(py, &mut outs)?;
        let args = PyTuple::new(py, args)?;
        let (text, origins) = py.detach(|| (self.core.to_string(), crate::origins::told(&self.core)));
        PyTuple::new(
            py,
            [
                text.into_pyobject(py)?.into_any(),
                args.into_any(),
                s.params.clone().into_pyobject(py)?.into_any(),
                out,
                self.select.clone().into_pyobject(py)?.into_any(),
                self.checked.into_pyobject(py)?.to_owned().into_any(),
                origins.into_pyobject(py)?.into_any(),
            ],
        )
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        Ok((py.import("crease._crease")?.getattr("rebuild")?, self.__getstate__(py)?))
    }
}

/// What is picked at kinks, if it can be.
fn selection(text: &str) -> PyResult<Selection> {
    let selection = Selection::parse(text).map_err(raise)?;
    selection.validate().map_err(raise)?;
    Ok(selection)
}

/// A program again, from what was pickled.
#[pyfunction]
#[pyo3(signature = (text, args, params, out, select, checked, origins = None))]
#[allow(clippy::too_many_arguments)]
pub fn rebuild(
    py: Python<'_>,
    text: &str,
    args: &Bound<'_, PyAny>,
    params: Vec<String>,
    out: &Bound<'_, PyAny>,
    select: Option<String>,
    checked: bool,
    origins: Option<&str>,
) -> PyResult<Program> {
    let core = py.detach(|| -> PyResult<_> {
        let core = crate::load::main_program(text, "<pickle>", None)?;
        Ok(match origins {
            Some(told) => crate::origins::restored(core, told),
            None => core,
        })
    })?;
    let out = Tree::learn(out, &mut Vec::new())?;
    let structure = Structure::of_handles(&core, args, Some(params), out)?;
    let how = match &select {
        Some(text) => How::default().select(selection(text)?),
        None => How::default(),
    };
    Ok(Program { how, select, checked, ..Program::new(core, structure) })
}
