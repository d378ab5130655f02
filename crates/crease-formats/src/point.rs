//! Points: the inputs of a program, as text, JSON, NPY or NPZ.
//!
//! Text such as `x=0,y=1/2,v=[1,2,3]` enters, exact numbers with names and shapes leave. [`Point::bind`] puts them in the
//! order of a program's inputs and says what is missing, unknown or of the wrong shape. Nothing is reshaped, rounded or
//! filled in; and nothing is read from files here. Of many points, the [`List`] of them in JSON and the [`Rows`] of an NPY array come one
//! at a time.

mod fit;
mod list;
mod npy;
mod npz;
mod values;

use crease_core::{Program, Rational, Shape, printable};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use values::Reader;

pub(crate) use fit::identifier;

pub use list::{List, ListError, Member};
pub use npy::Rows;

/// A value for each of some names, in the order in which they were given.
///
/// ```
/// let point = crease_formats::parse_point("x=0,y=1/2,W=[[1,2],[3,4]]")?;
/// assert_eq!(point.shape_of("W").unwrap().dims(), [2, 2]);
/// assert_eq!(point.iter().map(|(name, _, _)| name).collect::<Vec<_>>(), ["x", "y", "W"]);
/// # Ok::<(), crease_formats::PointError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Point {
    entries: Vec<(String, Shape, Vec<Rational>)>,
    by_name: HashMap<String, usize>,
}

/// What is wrong with a point.
///
/// ```
/// let error = crease_formats::parse_point("v=[[1,2],[3]]").unwrap_err();
/// assert_eq!(error.to_string(), "`v`: a list has 1 parts where the one before has 2");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PointError {
    /// A text that is not a point.
    #[error("{why}, at character {} of the point", at + 1)]
    Syntax {
        /// How many characters come before the fault.
        at: usize,
        /// What was expected.
        why: String,
    },
    /// A word that is no number.
    #[error(
        "`{name}`: `{text}` is not a number; write 3, 0.5, 1/3, 1e-3, or ~0.1 for the nearest double{}",
        detail(why)
    )]
    NotANumber {
        /// The input.
        name: String,
        /// What stands there.
        text: String,
        /// Why it is not one, where there is more to say.
        why: String,
    },
    /// A number that is not finite.
    #[error("{name} is {what}; a point needs finite numbers")]
    NotFinite {
        /// The input.
        name: String,
        /// NaN or infinite.
        what: &'static str,
    },
    /// Lists that make no tensor.
    #[error("`{name}`: {why}")]
    Ragged {
        /// The input.
        name: String,
        /// What does not fit.
        why: String,
    },
    /// One name twice.
    #[error("`{0}` is given twice")]
    Duplicate(String),
    /// An input of the program that the point does not have.
    #[error("input `{name}` has no value; add {name}={} to the point", if shape.is_scalar() { "..." } else { "[...]" })]
    Missing {
        /// The input.
        name: String,
        /// Its shape.
        shape: Shape,
    },
    /// A name that is no input of the program.
    #[error("`{name}` is not an input of `{program}`{hint}")]
    Unknown {
        /// The name.
        name: String,
        /// The program.
        program: String,
        /// Which inputs there are.
        hint: String,
    },
    /// A value of the wrong shape.
    #[error("input `{name}` {}, but its value {}", is(want), is(got))]
    Shape {
        /// The input.
        name: String,
        /// Its shape.
        want: Shape,
        /// The shape of the value.
        got: Shape,
    },
    /// A text that is not JSON, or not an object.
    #[error("the point is not a JSON object such as {{\"x\": 0, \"v\": [1, \"1/3\"]}}: {0}")]
    Json(String),
    /// Bytes that are not an array of numbers in NPY format.
    #[error("the point is not an NPY array of numbers: {0}")]
    Npy(String),
    /// Bytes that are not an archive of such arrays.
    #[error("the point is not an NPZ archive of arrays: {0}")]
    Npz(String),
}

fn detail(why: &str) -> String {
    if why.is_empty() { String::new() } else { format!(" ({why})") }
}

fn is(shape: &Shape) -> String {
    if shape.is_scalar() { "is a scalar".into() } else { format!("has shape {shape}") }
}

/// Reads a point such as `x=0,y=1/2,v=[1,2,3],W=[[1,2],[3,4]]`.
///
/// ```
/// let point = crease_formats::parse_point("x = -1/3, y = 1e-3")?;
/// assert_eq!(point.get("x").unwrap().1[0].to_string(), "-1/3");
/// let error = crease_formats::parse_point("x=nan").unwrap_err();
/// assert_eq!(error.to_string(), "x is NaN; a point needs finite numbers");
/// # Ok::<(), crease_formats::PointError>(())
/// ```
pub fn parse_point(text: &str) -> Result<Point, PointError> {
    let mut point = Point::default();
    let mut reader = Reader::new(text);
    while !reader.at_end() {
        let name = reader.name()?;
        let (shape, values) = reader.value(name)?;
        point.insert(name.into(), shape, values)?;
        if !reader.comma()? {
            break;
        }
    }
    Ok(point)
}

impl Point {
    /// Reads a JSON object from names to numbers, strings such as `"1/3"`, or nested arrays of these. Decimals are exact.
    ///
    /// ```
    /// let point = crease_formats::Point::from_json(r#"{"x": 0.1, "v": [1, "1/3"]}"#)?;
    /// assert_eq!(point.get("x").unwrap().1[0].fraction(), "1/10");
    /// assert_eq!(point.shape_of("v").unwrap().dims(), [2]);
    /// # Ok::<(), crease_formats::PointError>(())
    /// ```
    pub fn from_json(text: &str) -> Result<Point, PointError> {
        let Members(members) = serde_json::from_str(text).map_err(|e| PointError::Json(e.to_string()))?;
        let mut point = Point::default();
        for (name, raw) in members {
            let (shape, values) = Reader::new(raw.get()).value(&name)?;
            point.insert(name, shape, values)?;
        }
        Ok(point)
    }

    /// Reads an array in NPY format, of floats or integers, as the value of the input `name`.
    ///
    /// ```
    /// let mut bytes = b"\x93NUMPY\x01\x00\x46\x00".to_vec();
    /// bytes.extend(format!("{:<69}\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }").bytes());
    /// bytes.extend([1.0f32, 0.5].iter().flat_map(|x| x.to_le_bytes()));
    /// let point = crease_formats::Point::from_npy(&bytes, "v")?;
    /// assert_eq!(point.get("v").unwrap().1[1].to_string(), "0.5");
    /// # Ok::<(), crease_formats::PointError>(())
    /// ```
    pub fn from_npy(bytes: &[u8], name: &str) -> Result<Point, PointError> {
        let (shape, values) = npy::read(bytes, name)?;
        let mut point = Point::default();
        point.insert(name.into(), shape, values)?;
        Ok(point)
    }

    /// Reads an archive in NPZ format: the arrays in it are the values of the inputs of their names.
    ///
    /// ```
    /// let error = crease_formats::Point::from_npz(b"PK").unwrap_err();
    /// assert_eq!(error.to_string(), "the point is not an NPZ archive of arrays: it is no ZIP archive");
    /// ```
    pub fn from_npz(bytes: &[u8]) -> Result<Point, PointError> {
        npz::read(bytes)
    }

    /// Adds a value; as many numbers as the shape has.
    ///
    /// ```
    /// use crease_core::{Rational, Shape};
    /// let mut point = crease_formats::parse_point("x=1")?;
    /// point.insert("y".into(), Shape::scalar(), vec![Rational::ONE])?;
    /// assert!(point.insert("y".into(), Shape::scalar(), vec![Rational::ONE]).is_err());
    /// # Ok::<(), crease_formats::PointError>(())
    /// ```
    ///
    /// The name is made [`printable`], as names of inputs are.
    pub fn insert(&mut self, name: String, shape: Shape, values: Vec<Rational>) -> Result<(), PointError> {
        let name = match printable(&name) {
            Cow::Borrowed(_) => name,
            Cow::Owned(shown) => shown,
        };
        if shape.len() != values.len() {
            let why = format!("shape {shape} needs {} numbers, got {}", shape.len(), values.len());
            return Err(PointError::Ragged { name, why });
        }
        if self.by_name.insert(name.clone(), self.entries.len()).is_some() {
            return Err(PointError::Duplicate(name));
        }
        self.entries.push((name, shape, values));
        Ok(())
    }

    /// The shape and the numbers of a name.
    ///
    /// ```
    /// let point = crease_formats::parse_point("x=2")?;
    /// assert!(point.get("x").is_some() && point.get("y").is_none());
    /// # Ok::<(), crease_formats::PointError>(())
    /// ```
    pub fn get(&self, name: &str) -> Option<(&Shape, &[Rational])> {
        self.by_name.get(name).map(|&i| (&self.entries[i].1, &self.entries[i].2[..]))
    }

    /// The shape of the value of a name.
    ///
    /// ```
    /// let point = crease_formats::parse_point("v=[1,2]")?;
    /// assert_eq!(point.shape_of("v").unwrap().to_string(), "[2]");
    /// # Ok::<(), crease_formats::PointError>(())
    /// ```
    pub fn shape_of(&self, name: &str) -> Option<&Shape> {
        self.get(name).map(|(shape, _)| shape)
    }

    /// The names, shapes and numbers in order.
    ///
    /// ```
    /// let point = crease_formats::parse_point("v=[1,2]")?;
    /// assert!(point.iter().all(|(name, shape, values)| name == "v" && shape.len() == values.len()));
    /// # Ok::<(), crease_formats::PointError>(())
    /// ```
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Shape, &[Rational])> {
        self.entries.iter().map(|(name, shape, values)| (&name[..], shape, &values[..]))
    }

    /// The values in the order of a program's inputs. Every input must be there, in its shape, and nothing else.
    ///
    /// ```
    /// let program = crease_formats::parse_expression("x - y", &|_| None)?;
    /// let values = crease_formats::parse_point("y=1,x=2")?.bind(&program)?;
    /// assert_eq!(values[0].1[0].to_string(), "2");
    /// let error = crease_formats::parse_point("x=2")?.bind(&program).unwrap_err();
    /// assert_eq!(error.to_string(), "input `y` has no value; add y=... to the point");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bind(&self, program: &Program) -> Result<Vec<(Shape, Vec<Rational>)>, PointError> {
        let inputs = program.inputs();
        let known: HashSet<&str> = inputs.iter().map(|i| &*i.name).collect();
        if let Some((name, _, _)) = self.entries.iter().find(|(n, _, _)| !known.contains(&n[..])) {
            let hint = unknown_hint(name, inputs.iter().map(|i| &*i.name));
            return Err(PointError::Unknown { name: name.clone(), program: program.name().into(), hint });
        }
        let bound = inputs.iter().map(|input| {
            let name = input.name.to_string();
            match self.get(&input.name) {
                None => Err(PointError::Missing { name, shape: input.shape.clone() }),
                Some((shape, _)) if *shape != input.shape => {
                    Err(PointError::Shape { name, want: input.shape.clone(), got: shape.clone() })
                }
                Some((shape, values)) => Ok((shape.clone(), values.to_vec())),
            }
        });
        bound.collect()
    }
}

fn unknown_hint<'a>(name: &str, inputs: impl ExactSizeIterator<Item = &'a str> + Clone) -> String {
    let near = crate::text::did_you_mean(name, inputs.clone());
    match inputs.len() {
        _ if !near.is_empty() => near,
        0 => "; it has no inputs".into(),
        1..=8 => format!("; its inputs are {}", inputs.collect::<Vec<_>>().join(", ")),
        _ => String::new(),
    }
}

/// The members of a JSON object in order, their values as they are written.
struct Members(Vec<(String, Box<serde_json::value::RawValue>)>);

impl<'de> serde::Deserialize<'de> for Members {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> serde::de::Visitor<'de> for Object {
            type Value = Members;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(Object)
    }
}
