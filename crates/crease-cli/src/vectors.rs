//! Files of many vectors over the inputs of a program: `--points`, `--basis` and `--directions`.
//!
//! A file is a JSON list, each member an object such as {"x": 1, "v": [1, 2]} or the list of all coordinates, one input after the
//! other; or an NPY array with one vector in each row. It is read as its vectors are asked for, so that a long one takes no more room than a
//! short one. What a name that is left out means is for the reader to say: a point needs them all, of a direction it is 0.

use crate::source::{Source, open};
use anyhow::{Result, anyhow, bail};
use crease_core::{Rational, Shape, Tensor};
use crease_formats::point::{List, ListError, Member, Rows};
use crease_formats::{Point, PointError};
use std::fs::File;
use std::io::BufReader;
use std::iter::Peekable;

/// What a file lists.
pub struct Vectors {
    path: String,
    /// What each is: a point or a direction.
    what: &'static str,
    members: Peekable<Members>,
    /// How many were taken.
    taken: usize,
}

/// The members of a file, and for each the line on which it begins, where there are lines and it could be found.
type Members = Box<dyn Iterator<Item = (Result<Vector>, Option<usize>)>>;

/// One member of the list.
enum Vector {
    Named(Point),
    Coordinates(Shape, Vec<Rational>),
}

/// One point of a file.
pub struct Listed {
    /// The values of all inputs.
    pub inputs: Vec<Tensor<Rational>>,
    /// Its number, counted from 1.
    pub number: usize,
    /// Where it stands, such as `line 3 of points.json`; nothing where there are no lines.
    pub place: Option<String>,
}

impl AsRef<[Tensor<Rational>]> for Listed {
    fn as_ref(&self) -> &[Tensor<Rational>] {
        &self.inputs
    }
}

/// What the first vector of a file says about the shapes of inputs.
pub enum Shapes {
    Named(Vec<(String, Shape)>),
    /// A vector without names is the only input, or one scalar input after the other.
    Nameless(Shape),
    Nothing,
}

impl Shapes {
    /// The shape of the input of this name; a vector without names has one input only.
    pub fn of(&self, name: &str) -> Option<Shape> {
        match self {
            Shapes::Named(shapes) => shapes.iter().find(|(n, _)| n == name).map(|(_, shape)| shape.clone()),
            Shapes::Nameless(shape) => Some(shape.clone()),
            Shapes::Nothing => None,
        }
    }
}

impl Vectors {
    /// Reads a file of points.
    pub fn read_points(path: &str) -> Result<Self> {
        Vectors::read(path, "point")
    }

    /// Reads a file of directions.
    pub fn read_directions(path: &str) -> Result<Self> {
        Vectors::read(path, "direction")
    }

    fn read(path: &str, what: &'static str) -> Result<Self> {
        let npy = path.to_ascii_lowercase().ends_with(".npy");
        let members = if npy { from_npy(path)? } else { from_json(path, what)? };
        Ok(Vectors { path: path.into(), what, members: members.peekable(), taken: 0 })
    }

    /// What the first vector says about shapes.
    pub fn shapes(&mut self) -> Shapes {
        match self.members.peek() {
            Some((Ok(Vector::Named(point)), _)) => {
                Shapes::Named(point.iter().map(|(name, shape, _)| (name.into(), shape.clone())).collect())
            }
            Some((Ok(Vector::Coordinates(shape, _)), _)) => Shapes::Nameless(shape.clone()),
            _ => Shapes::Nothing,
        }
    }

    /// The next vector, and what to call it in messages.
    fn next(&mut self) -> Result<Option<(Vector, Option<String>, String)>> {
        let Some((vector, line)) = self.members.next() else { return Ok(None) };
        self.taken += 1;
        let line_told = line.map_or(String::new(), |line| format!("line {line}, "));
        let told = format!("{}: {line_told}{} {}", self.path, self.what, self.taken);
        let vector = vector.map_err(|e| if e.is::<ListError>() { e } else { anyhow!("{told}: {e}") })?;
        Ok(Some((vector, line.map(|line| format!("line {line} of {}", self.path)), told)))
    }

    /// The next vector as a point, one tensor for each input. A file has at least one.
    pub fn next_point(&mut self, source: &Source) -> Result<Option<Listed>> {
        let Some((vector, place, told)) = self.next()? else {
            if self.taken == 0 {
                bail!("{} has no points in it", self.path);
            }
            return Ok(None);
        };
        let inputs = source.program.inputs();
        let coordinates = match named(vector, source) {
            Vector::Named(point) => {
                let point = source.completed(&point).map_err(|e| anyhow!("{told}: {e}"))?;
                let missing = inputs.iter().find(|i| point.get(&i.name).is_none());
                match missing {
                    Some(input) if point.iter().all(|(name, ..)| is_input(source, name)) => {
                        bail!("{told} has no value for `{}`", input.name)
                    }
                    _ => {
                        let bound = point.bind(&source.program).map_err(|e| anyhow!("{told}: {e}"))?;
                        bound.into_iter().map(|(_, values)| values).collect::<Vec<_>>().concat()
                    }
                }
            }
            Vector::Coordinates(shape, values) => coordinates(&shape, values, source, &told)?,
        };
        let mut rest = coordinates.into_iter();
        let part = |i: &crease_core::Input| Tensor::new(i.shape.clone(), rest.by_ref().take(i.shape.len()).collect());
        let parts: Option<Vec<_>> = inputs.iter().map(part).collect();
        let inputs = parts.ok_or_else(|| anyhow!("{told} does not fill the shapes of the inputs"))?;
        Ok(Some(Listed { inputs, number: self.taken, place }))
    }

    /// All vectors as directions: their coordinates, one input after the other. Names that are left out are 0.
    pub fn directions(mut self, source: &Source) -> Result<Vec<Vec<Rational>>> {
        let mut all = Vec::new();
        while let Some((vector, _, told)) = self.next()? {
            all.push(match vector {
                Vector::Named(point) => {
                    crate::along::coordinates(&point, source).map_err(|e| anyhow!("{told}: {e}"))?
                }
                Vector::Coordinates(shape, values) => coordinates(&shape, values, source, &told)?,
            });
        }
        Ok(all)
    }
}

/// A vector without names, for a network with one input, is the value of that.
fn named(vector: Vector, source: &Source) -> Vector {
    match (vector, &source.own_inputs()[..]) {
        (Vector::Coordinates(shape, values), [name]) if source.is_network() => {
            let mut point = Point::default();
            // as many numbers as the shape has: they were read so
            let _ = point.insert(name.to_string(), shape, values);
            Vector::Named(point)
        }
        (vector, _) => vector,
    }
}

/// Coordinates in one row, or in the shape of the only input.
fn coordinates(shape: &Shape, values: Vec<Rational>, source: &Source, told: &str) -> Result<Vec<Rational>> {
    let (inputs, dimension) = (source.program.inputs(), source.program.dimension());
    let fits = match inputs {
        [one] if shape.rank() != 1 => one.shape == *shape,
        _ => shape.rank() <= 1,
    };
    if !fits || values.len() != dimension {
        let names = if inputs.len() == 1 { "" } else { ", one input after the other" };
        bail!("{told} needs {dimension} coordinates in one list{names}, or names; it has the shape {shape}");
    }
    Ok(values)
}

fn is_input(source: &Source, name: &str) -> bool {
    source.program.inputs().iter().any(|i| *i.name == *name)
}

fn reader(path: &str) -> Result<BufReader<File>> {
    Ok(BufReader::with_capacity(1 << 16, open(path)?))
}

fn from_json(path: &str, what: &'static str) -> Result<Members> {
    let name = path.to_string();
    let read = move |member: Result<Member, ListError>| match member {
        Ok(member) => (vector(&member.text), Some(member.line)),
        // it keeps its type, by which it is seen that its place has been told
        Err(e) => {
            let what = match e {
                ListError::Io { .. } => format!("{name} cannot be read"),
                _ => format!("{name} is not a JSON list of {what}s such as [{{\"x\": 1}}, {{\"x\": 2}}]"),
            };
            (Err(anyhow::Error::from(e).context(what)), None)
        }
    };
    Ok(Box::new(List::new(reader(path)?).map(read)))
}

/// A member of a JSON list.
fn vector(text: &str) -> Result<Vector> {
    if text.starts_with('{') {
        return Ok(Vector::Named(Point::from_json(text)?));
    }
    let point = Point::from_json(&format!("{{\"it\": {text}}}"))?;
    let (shape, values) = point.get("it").ok_or_else(|| anyhow!("it is empty"))?;
    Ok(Vector::Coordinates(shape.clone(), values.to_vec()))
}

fn from_npy(path: &str) -> Result<Members> {
    let rows = Rows::new(reader(path)?).map_err(|e| anyhow!("{path}: {e}"))?;
    let shape = rows.shape().clone();
    let vector = move |row: Result<_, PointError>| Ok(Vector::Coordinates(shape.clone(), row?));
    Ok(Box::new(rows.map(move |row| (vector(row), None))))
}
