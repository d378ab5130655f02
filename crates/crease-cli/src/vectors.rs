//! Files of many vectors over the inputs of a program: `--points`, `--basis` and `--directions`.
//!
//! A file is a JSON list, each member an object such as {"x": 1, "v": [1, 2]} or the list of all coordinates, one input after the
//! other; or an NPY array with one vector in each row. What a name that is left out means is for the reader to say: a point needs
//! them all, of a direction it is 0.

use crate::source::{Source, read_bytes, read_text};
use anyhow::{Result, anyhow, bail};
use crease_core::{Rational, Shape, Tensor};
use crease_formats::Point;
use serde_json::value::RawValue;

/// What a file lists.
pub struct Vectors {
    path: String,
    /// What each is: a point or a direction.
    what: &'static str,
    list: Vec<Vector>,
}

/// One member of the list.
enum Vector {
    Named(Point),
    Coordinates(Shape, Vec<Rational>),
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
        let list = if npy { from_npy(path, what)? } else { from_json(path, what)? };
        Ok(Vectors { path: path.into(), what, list })
    }

    /// What the first vector says about the shape of the input of this name; a vector without names has one input only.
    pub fn shape_of(&self, name: &str) -> Option<Shape> {
        match self.list.first()? {
            Vector::Named(point) => point.shape_of(name).cloned(),
            Vector::Coordinates(shape, _) => Some(shape.clone()),
        }
    }

    /// Whether all vectors are lists of coordinates.
    pub fn nameless(&self) -> bool {
        self.list.iter().all(|v| matches!(v, Vector::Coordinates(..)))
    }

    /// All vectors as points, one tensor for each input.
    pub fn points(&self, source: &Source) -> Result<Vec<Vec<Tensor<Rational>>>> {
        let all = |vector: &Vector, place: String| match vector {
            Vector::Named(point) => {
                let missing = source.program.inputs().iter().find(|i| point.get(&i.name).is_none());
                match missing {
                    Some(input) if point.iter().all(|(name, ..)| is_input(source, name)) => {
                        bail!("{place} has no value for `{}`", input.name)
                    }
                    _ => {
                        let bound = point.bind(&source.program).map_err(|e| anyhow!("{place}: {e}"))?;
                        Ok(bound.into_iter().map(|(_, values)| values).collect::<Vec<_>>().concat())
                    }
                }
            }
            Vector::Coordinates(shape, values) => self.coordinates(shape, values, source, &place),
        };
        let tensors = |coordinates: Vec<Rational>| {
            let mut rest = coordinates.into_iter();
            let part =
                |i: &crease_core::Input| Tensor::new(i.shape.clone(), rest.by_ref().take(i.shape.len()).collect());
            let parts: Option<Vec<_>> = source.program.inputs().iter().map(part).collect();
            parts.ok_or_else(|| anyhow!("a value of the point does not fill its shape"))
        };
        if self.list.is_empty() {
            bail!("{} has no points in it", self.path);
        }
        self.numbered().map(|(v, place)| tensors(all(v, place)?)).collect()
    }

    /// All vectors as directions: their coordinates, one input after the other. Names that are left out are 0.
    pub fn directions(&self, source: &Source) -> Result<Vec<Vec<Rational>>> {
        let one = |(vector, place): (&Vector, String)| match vector {
            Vector::Named(point) => crate::along::coordinates(point, source).map_err(|e| anyhow!("{place}: {e}")),
            Vector::Coordinates(shape, values) => self.coordinates(shape, values, source, &place),
        };
        self.numbered().map(one).collect()
    }

    /// The vectors, and what to call each in messages.
    fn numbered(&self) -> impl Iterator<Item = (&Vector, String)> {
        self.list.iter().zip(1..).map(|(v, k)| (v, format!("{}: {} {k}", self.path, self.what)))
    }

    /// Coordinates in one row, or in the shape of the only input.
    fn coordinates(&self, shape: &Shape, values: &[Rational], source: &Source, place: &str) -> Result<Vec<Rational>> {
        let (inputs, dimension) = (source.program.inputs(), source.program.dimension());
        let fits = match inputs {
            [one] if shape.rank() != 1 => one.shape == *shape,
            _ => shape.rank() <= 1,
        };
        if !fits || values.len() != dimension {
            let names = if inputs.len() == 1 { "" } else { ", one input after the other" };
            bail!("{place} needs {dimension} coordinates in one list{names}, or names; it has the shape {shape}");
        }
        Ok(values.to_vec())
    }
}

fn is_input(source: &Source, name: &str) -> bool {
    source.program.inputs().iter().any(|i| *i.name == *name)
}

fn from_json(path: &str, what: &str) -> Result<Vec<Vector>> {
    let text = read_text(path)?;
    let list: Vec<&RawValue> = serde_json::from_str(&text)
        .map_err(|e| anyhow!("{path} is not a JSON list of {what}s such as [{{\"x\": 1}}, {{\"x\": 2}}]: {e}"))?;
    let read = |(raw, k): (&&RawValue, usize)| {
        let told = |e| anyhow!("{path}: {what} {k}: {e}");
        if raw.get().starts_with('{') {
            return Point::from_json(raw.get()).map(Vector::Named).map_err(told);
        }
        let point = Point::from_json(&format!("{{\"it\": {}}}", raw.get())).map_err(told)?;
        let (shape, values) = point.get("it").ok_or_else(|| anyhow!("{path}: {what} {k} is empty"))?;
        Ok(Vector::Coordinates(shape.clone(), values.to_vec()))
    };
    list.iter().zip(1..).map(read).collect()
}

fn from_npy(path: &str, what: &str) -> Result<Vec<Vector>> {
    let array = Point::from_npy(&read_bytes(path)?, "it").map_err(|e| anyhow!("{path}: {e}"))?;
    let whole = array.get("it").and_then(|(shape, values)| Some((shape.dims().split_first()?.1, values)));
    let Some((dims, values)) = whole else { bail!("{path} holds one number, not an array with a {what} in each row") };
    let row = Shape::new(dims.to_vec())?;
    Ok(values.chunks(row.len()).map(|v| Vector::Coordinates(row.clone(), v.to_vec())).collect())
}
