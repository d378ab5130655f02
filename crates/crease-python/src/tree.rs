//! The structure of arguments and results: nested dicts, lists and tuples, as in JAX, with numbers and arrays as leaves.
//!
//! A [`Tree`] is learned once, from an example. After that arguments are taken apart by it, and results are put together; what does not fit is an
//! error that says where. `None` has no leaves. What stands still (`Still` of `crease._tree`) is no leaf: it is part of the program, may be given again or be `None`, and nothing else.

use crate::error::CreaseError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use std::fmt;

/// A structure without its leaves.
#[derive(Debug)]
pub enum Tree {
    Leaf,
    Nothing,
    /// What does not change: a `Still`.
    Still(Py<PyAny>),
    Tuple(Vec<Tree>),
    /// A tuple with names, which are those of its class.
    Named(Py<PyAny>, Vec<Tree>),
    List(Vec<Tree>),
    Dict(Vec<(Py<PyAny>, Tree)>),
}

/// Where a part of an argument lies. It is written down when something does not fit there, since that takes longer than to take arguments apart.
#[derive(Clone, Copy)]
pub enum Path<'a> {
    Argument(&'a str),
    Place(&'a Path<'a>, usize),
    Key(&'a Path<'a>, &'a Bound<'a, PyAny>),
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Argument(name) => f.write_str(name),
            Path::Place(of, i) => write!(f, "{of}[{i}]"),
            Path::Key(of, key) => write!(f, "{of}[{}]", shown(key)),
        }
    }
}

fn shown(key: &Bound<'_, PyAny>) -> String {
    key.repr().map_or_else(|_| "?".into(), |r| r.to_string())
}

/// How deep structures may be.
const DEEPEST: usize = 200;

impl Tree {
    /// Learns a structure, and appends its leaves.
    pub fn learn<'py>(x: &Bound<'py, PyAny>, leaves: &mut Vec<Bound<'py, PyAny>>) -> PyResult<Tree> {
        learn(x, leaves, 0)
    }

    /// Takes apart what has this structure, and appends its leaves. `path` says what it is, for messages.
    pub fn flatten<'py>(
        &self,
        x: &Bound<'py, PyAny>,
        path: Path<'_>,
        leaves: &mut Vec<Bound<'py, PyAny>>,
    ) -> PyResult<()> {
        let wrong = |wanted: &str| {
            let got = x.get_type().name().map_or("something else".into(), |n| n.to_string());
            Err(CreaseError::new_err(format!("{path} must be {wanted}, as in the example, got {got}")))
        };
        match self {
            Tree::Leaf => leaves.push(x.clone()),
            Tree::Nothing if x.is_none() => {}
            Tree::Still(still) => {
                if !still.bind(x.py()).call_method1("is_same", (x,))?.is_truthy()? {
                    let kept = still.bind(x.py()).getattr("value")?.repr()?.to_string();
                    let kept: String = kept.chars().take(60).collect();
                    let why =
                        format!("{path} is part of the program, as {kept}; make another program for another value");
                    return Err(CreaseError::new_err(why));
                }
            }
            Tree::Nothing => return wrong("None"),
            Tree::Tuple(parts) | Tree::Named(_, parts) => match x.cast::<PyTuple>() {
                Ok(t) if t.len() == parts.len() => each(parts, t.iter(), path, leaves)?,
                _ => return wrong(&format!("a tuple of {}", parts.len())),
            },
            Tree::List(parts) => match x.cast::<PyList>() {
                Ok(t) if t.len() == parts.len() => each(parts, t.iter(), path, leaves)?,
                _ => return wrong(&format!("a list of {}", parts.len())),
            },
            Tree::Dict(members) => {
                let Ok(d) = x.cast::<PyDict>() else { return wrong("a dict") };
                if d.len() != members.len() {
                    return wrong(&format!("a dict of {}", members.len()));
                }
                for (key, tree) in members {
                    let key = key.bind(x.py());
                    match d.get_item(key)? {
                        Some(part) => tree.flatten(&part, Path::Key(&path, key), leaves)?,
                        None => return wrong(&format!("a dict with {}", shown(key))),
                    }
                }
            }
        }
        Ok(())
    }

    /// Puts leaves together.
    pub fn unflatten<'py>(
        &self,
        py: Python<'py>,
        leaves: &mut impl Iterator<Item = Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.put(py, leaves, false)
    }

    /// The structure with what stands still in its place, for pickles.
    pub fn frame<'py>(
        &self,
        py: Python<'py>,
        leaves: &mut impl Iterator<Item = Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.put(py, leaves, true)
    }

    /// Puts leaves together, with what stands still or with nothing in its place.
    fn put<'py>(
        &self,
        py: Python<'py>,
        leaves: &mut impl Iterator<Item = Bound<'py, PyAny>>,
        still: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let all = |parts: &[Tree], leaves: &mut _| -> PyResult<Vec<Bound<'py, PyAny>>> {
            parts.iter().map(|t| t.put(py, leaves, still)).collect()
        };
        Ok(match self {
            Tree::Leaf => leaves.next().ok_or_else(|| CreaseError::new_err("too few results for their structure"))?,
            Tree::Still(value) if still => value.bind(py).clone(),
            Tree::Nothing | Tree::Still(_) => py.None().into_bound(py),
            Tree::Tuple(parts) => PyTuple::new(py, all(parts, leaves)?)?.into_any(),
            Tree::Named(class, parts) => class.bind(py).call1(PyTuple::new(py, all(parts, leaves)?)?)?,
            Tree::List(parts) => PyList::new(py, all(parts, leaves)?)?.into_any(),
            Tree::Dict(members) => {
                let d = PyDict::new(py);
                for (key, tree) in members {
                    d.set_item(key.bind(py), tree.put(py, leaves, still)?)?;
                }
                d.into_any()
            }
        })
    }

    /// The same structure with what stands still where another one has it, and this one nothing.
    pub fn with_still(self, py: Python<'_>, other: &Tree) -> Tree {
        let each = |mine: Vec<Tree>, theirs: &[Tree]| -> Vec<Tree> {
            let mut theirs = theirs.iter();
            mine.into_iter()
                .map(|t| match theirs.next() {
                    Some(o) => t.with_still(py, o),
                    None => t,
                })
                .collect()
        };
        match (self, other) {
            (Tree::Nothing, Tree::Still(_)) => other.copy(py),
            (Tree::Tuple(a), Tree::Tuple(b)) => Tree::Tuple(each(a, b)),
            (Tree::Named(c, a), Tree::Named(_, b)) => Tree::Named(c, each(a, b)),
            (Tree::List(a), Tree::List(b)) => Tree::List(each(a, b)),
            (Tree::Dict(a), Tree::Dict(b)) => {
                let theirs = |key: &Py<PyAny>| {
                    b.iter().find(|(k, _)| k.bind(py).eq(key.bind(py)).unwrap_or(false)).map(|(_, t)| t)
                };
                let member = |(key, t): (Py<PyAny>, Tree)| match theirs(&key) {
                    Some(o) => (key, t.with_still(py, o)),
                    None => (key, t),
                };
                Tree::Dict(a.into_iter().map(member).collect())
            }
            (mine, _) => mine,
        }
    }

    /// How many leaves it has.
    pub fn leaves(&self) -> usize {
        match self {
            Tree::Leaf => 1,
            Tree::Nothing | Tree::Still(_) => 0,
            Tree::Tuple(parts) | Tree::Named(_, parts) | Tree::List(parts) => parts.iter().map(Tree::leaves).sum(),
            Tree::Dict(members) => members.iter().map(|(_, t)| t.leaves()).sum(),
        }
    }

    /// The same structure, for another owner.
    pub fn copy(&self, py: Python<'_>) -> Tree {
        let all = |parts: &[Tree]| parts.iter().map(|t| t.copy(py)).collect();
        match self {
            Tree::Leaf => Tree::Leaf,
            Tree::Nothing => Tree::Nothing,
            Tree::Still(still) => Tree::Still(still.clone_ref(py)),
            Tree::Tuple(parts) => Tree::Tuple(all(parts)),
            Tree::Named(class, parts) => Tree::Named(class.clone_ref(py), all(parts)),
            Tree::List(parts) => Tree::List(all(parts)),
            Tree::Dict(members) => Tree::Dict(members.iter().map(|(k, t)| (k.clone_ref(py), t.copy(py))).collect()),
        }
    }
}

fn learn<'py>(x: &Bound<'py, PyAny>, leaves: &mut Vec<Bound<'py, PyAny>>, depth: usize) -> PyResult<Tree> {
    if depth > DEEPEST {
        return Err(CreaseError::new_err(format!("arguments are nested more than {DEEPEST} deep")));
    }
    let mut all = |parts: &mut dyn Iterator<Item = Bound<'py, PyAny>>| -> PyResult<Vec<Tree>> {
        parts.map(|p| learn(&p, leaves, depth + 1)).collect()
    };
    if x.is_none() {
        return Ok(Tree::Nothing);
    }
    if is_still(x)? {
        return Ok(Tree::Still(x.clone().unbind()));
    }
    if let Ok(t) = x.cast::<PyTuple>() {
        let parts = all(&mut t.iter())?;
        let named = x.hasattr("_fields")?;
        return Ok(match named {
            // a class of named tuples is made by its `_make`, which takes them as one
            true => Tree::Named(x.get_type().into_any().unbind(), parts),
            false => Tree::Tuple(parts),
        });
    }
    if let Ok(t) = x.cast::<PyList>() {
        return Ok(Tree::List(all(&mut t.iter())?));
    }
    if let Ok(d) = x.cast::<PyDict>() {
        let member = |(k, v): (Bound<'py, PyAny>, Bound<'py, PyAny>)| Ok((k.unbind(), learn(&v, leaves, depth + 1)?));
        return Ok(Tree::Dict(d.iter().map(member).collect::<PyResult<_>>()?));
    }
    leaves.push(x.clone());
    Ok(Tree::Leaf)
}

/// Whether it is a `Still` of `crease._tree`; told by its name, so that nothing has to be imported.
fn is_still(x: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(x.get_type().name()? == "Still" && x.hasattr("is_same")?)
}

fn each<'py>(
    trees: &[Tree],
    parts: impl Iterator<Item = Bound<'py, PyAny>>,
    path: Path<'_>,
    leaves: &mut Vec<Bound<'py, PyAny>>,
) -> PyResult<()> {
    let mut all = trees.iter().zip(parts).enumerate();
    all.try_for_each(|(i, (tree, part))| tree.flatten(&part, Path::Place(&path, i), leaves))
}
