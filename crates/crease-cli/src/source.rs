//! Where programs and points come from: FILE, `-`, `-e`, `--program` and `--at` become a program, its text and a point. FILE may be a network in ONNX.

use crate::fault;
use crate::network::NetworkArgs;
use crate::vectors::{Shapes, Vectors};
use crate::writer;
use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use crease_core::{Constant, Program, Rational, Shape, Tensor, Text, printable};
use crease_formats::onnx::{Limits, looks_like_onnx};
use crease_formats::{Module, Point, PointError, parse_expression_text, parse_point, parse_text};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// The flags that name a program and a point.
#[derive(Args)]
pub struct SourceArgs {
    /// A file in the language of crease, or a network in ONNX (.onnx); `-` reads standard input
    #[arg(value_name = "FILE", required_unless_present = "expression")]
    file: Option<String>,

    /// An expression instead of a file; its free names are the inputs, in order of first appearance
    #[arg(short = 'e', long, value_name = "EXPR", conflicts_with_all = ["file", "program"], allow_hyphen_values = true)]
    expression: Option<String>,

    /// The program of the file to take; else the last one
    #[arg(long, value_name = "NAME")]
    program: Option<String>,

    /// The point, such as `x=0,y=1/2,v=[1,2,3]`, or a .json, .npy or .npz file; with -e it also tells shapes
    #[arg(long, value_name = "POINT", allow_hyphen_values = true)]
    at: Option<String>,

    #[command(flatten)]
    network: NetworkArgs,
}

/// A program, and the point that was given.
pub struct Source {
    /// The program.
    pub program: Arc<Program>,
    given: Given,
    /// The weights that are inputs, if it is a network.
    weights: Option<Vec<(String, Constant)>>,
    /// The names of the outputs, if it is a network of which all are taken.
    outputs: Vec<String>,
}

/// What `--at` said.
enum Given {
    Nothing,
    Point(Point),
    /// An array without a name, for a program with one input.
    Array(Vec<u8>),
    /// Nothing, but a file lists many points.
    Many(Shapes),
}

impl SourceArgs {
    /// Reads what the flags name.
    pub fn load(&self) -> Result<Source> {
        self.load_given(self.at.as_deref().map_or(Ok(Given::Nothing), read_point)?)
    }

    /// Reads what the flags name, for points that a file lists; with -e they tell shapes.
    pub fn load_for(&self, points: &mut Vectors) -> Result<Source> {
        self.load_given(Given::Many(points.shapes()))
    }

    fn load_given(&self, given: Given) -> Result<Source> {
        if let Some(text) = &self.expression {
            self.network.for_programs()?;
            let text = Arc::new(Text::new("<expression>", text));
            let program = expression(&text, &given).map_err(|e| fault::text(&e, &text))?;
            return Ok(Source {
                program: self.network.picked(Arc::new(program))?,
                given,
                weights: None,
                outputs: Vec::new(),
            });
        }
        // clap sees to it that there is one or the other
        let path = self.file.as_deref().unwrap_or("-");
        let bytes = read_program(path)?;
        if is_onnx(path) || path == "-" && looks_like_onnx(&bytes) {
            return self.load_network(&bytes, path, given);
        }
        self.network.for_programs()?;
        let file = if path == "-" { "<stdin>" } else { path };
        let text = Arc::new(Text::new(file, utf8(bytes, file)?));
        let module = parse_text(&text).map_err(|e| fault::text(&e, &text))?;
        let program = pick(&module, self.program.as_deref(), file)?;
        Ok(Source { program: self.network.picked(program)?, given, weights: None, outputs: Vec::new() })
    }

    fn load_network(&self, bytes: &[u8], path: &str, mut given: Given) -> Result<Source> {
        if self.program.is_some() {
            bail!("--program is for files with several programs; an ONNX file holds one network");
        }
        let network = self.network.read(bytes, path, &given.shapes(), &|name| given.integers(name))?;
        given.without(&network.given);
        let whole = Arc::new(network.program);
        let program = self.network.picked(whole.clone())?;
        let outputs = if whole.id() == program.id() { network.outputs } else { Vec::new() };
        Ok(Source { program, given, weights: Some(network.weights), outputs })
    }
}

impl Given {
    /// The shapes of what was given, by names; an array without a name is any input.
    fn shapes(&self) -> Vec<(String, Vec<usize>)> {
        let array = |shape: &Shape| vec![(String::new(), shape.dims().to_vec())];
        match self {
            Given::Nothing | Given::Many(Shapes::Nothing) => Vec::new(),
            Given::Point(point) => point.iter().map(|(name, shape, _)| (name.into(), shape.dims().to_vec())).collect(),
            Given::Array(bytes) => {
                let point = Point::from_npy(bytes, "x").ok();
                point.as_ref().and_then(|p| p.shape_of("x")).map(array).unwrap_or_default()
            }
            Given::Many(Shapes::Named(shapes)) => shapes.iter().map(|(n, s)| (n.clone(), s.dims().to_vec())).collect(),
            Given::Many(Shapes::Nameless(shape)) => array(shape),
        }
    }
}

impl Given {
    /// The numbers of an input that is no variable.
    fn integers(&self, name: &str) -> Result<Option<Vec<i64>>, String> {
        match self {
            Given::Nothing | Given::Many(_) => Ok(None),
            Given::Point(point) => point.integers(name),
            Given::Array(bytes) => Point::from_npy(bytes, name).map_err(|e| e.to_string())?.integers(name),
        }
    }

    /// What was taken by inputs that are no variables is no part of the point.
    fn without(&mut self, names: &[String]) {
        match self {
            Given::Array(_) if !names.is_empty() => *self = Given::Point(Point::default()),
            Given::Point(point) if !names.is_empty() => *point = point.without(names),
            _ => {}
        }
    }
}

impl Source {
    /// Whether a point was given.
    pub fn has_point(&self) -> bool {
        !matches!(self.given, Given::Nothing)
    }

    /// The values of the program's inputs, in order.
    pub fn inputs(&self) -> Result<Vec<Tensor<Rational>>> {
        let names = self.own_inputs();
        let from_array;
        let point = match (&self.given, &names[..]) {
            (Given::Nothing | Given::Many(_), _) => &Point::default(),
            (Given::Point(point), _) => point,
            (Given::Array(bytes), [name]) => {
                from_array = Point::from_npy(bytes, name)?;
                &from_array
            }
            (Given::Array(_), _) => bail!(
                "an NPY file holds one array, but `{}` has {} inputs; give a JSON file such as {{\"x\": 0, \"v\": [1, 2]}}",
                self.program.name(),
                names.len()
            ),
        };
        let bound = self.completed(point)?.bind(&self.program)?;
        let tensors = bound.into_iter().map(|(shape, data)| Tensor::new(shape, data));
        tensors.collect::<Option<_>>().ok_or_else(|| anyhow!("a value of the point does not fill its shape"))
    }

    /// The names of the inputs that are no weights.
    pub fn own_inputs(&self) -> Vec<&str> {
        let weights = self.weights.as_ref().map_or(0, Vec::len);
        let inputs = self.program.inputs();
        inputs[..inputs.len() - weights].iter().map(|i| &*i.name).collect()
    }

    /// The names of the outputs: those of a network, else `output`, or `output_0` and so on.
    pub fn output_names(&self) -> Vec<String> {
        match (self.program.outputs().len(), &self.outputs[..]) {
            (n, names) if n == names.len() => names.to_vec(),
            (1, _) => vec!["output".into()],
            (n, _) => (0..n).map(|i| format!("output_{i}")).collect(),
        }
    }

    /// Whether it is a network from a file, whose names and shapes users did not choose.
    pub fn is_network(&self) -> bool {
        self.weights.is_some()
    }

    /// A point or a direction in the names and shapes of a network.
    pub fn fitted(&self, point: &Point) -> Point {
        if self.is_network() { point.fit(&self.program) } else { point.clone() }
    }

    /// The same, with the weights of the file where the point has none.
    pub fn completed(&self, point: &Point) -> Result<Point, PointError> {
        let mut point = self.fitted(point);
        for (name, values) in self.weights.iter().flatten() {
            if point.get(name).is_none() {
                let numbers = values.data().iter().map(|&x| Rational::from_f64(x).unwrap_or_default()).collect();
                point.insert(name.clone(), values.shape().clone(), numbers)?;
            }
        }
        Ok(point)
    }
}

fn expression(text: &Arc<Text>, given: &Given) -> Result<Program, crease_formats::TextError> {
    let array = match given {
        Given::Array(bytes) => Point::from_npy(bytes, "x").ok().and_then(|p| p.shape_of("x").cloned()),
        _ => None,
    };
    if let Given::Many(shapes @ Shapes::Nameless(_)) = given {
        let whole = parse_expression_text(text, &|name| shapes.of(name));
        return whole.ok().filter(|p| p.inputs().len() == 1).map_or_else(|| parse_expression_text(text, &|_| None), Ok);
    }
    parse_expression_text(text, &|name| -> Option<Shape> {
        match given {
            Given::Nothing => None,
            Given::Many(shapes) => shapes.of(name),
            Given::Point(point) => point.shape_of(name).cloned(),
            Given::Array(_) => array.clone(),
        }
    })
}

fn pick(module: &Module, name: Option<&str>, file: &str) -> Result<Arc<Program>> {
    let Some(name) = name else { return Ok(module.main().clone()) };
    module.get(name).cloned().ok_or_else(|| {
        let mut names: Vec<String> = module.names().take(8).map(|n| format!("`{n}`")).collect();
        if module.names().len() > names.len() {
            names.push("...".into());
        }
        anyhow!("{file} has no program `{name}`; it has {}", names.join(", "))
    })
}

/// Reads a point for another flag than `--at`.
pub fn named_point(flag: &str, text: &str, source: &Source) -> Result<Point> {
    match read_named(flag, text)? {
        Given::Nothing | Given::Many(_) => Ok(Point::default()),
        Given::Point(point) => Ok(point),
        Given::Array(bytes) => match &source.own_inputs()[..] {
            [input] => Ok(Point::from_npy(&bytes, input)?),
            inputs => bail!(
                "{flag}: an NPY file holds one array, but `{}` has {} inputs; give a JSON file",
                source.program.name(),
                inputs.len()
            ),
        },
    }
}

fn read_point(text: &str) -> Result<Given> {
    read_named("--at", text)
}

fn read_named(flag: &str, text: &str) -> Result<Given> {
    let ends = |extension: &str| text.to_ascii_lowercase().ends_with(extension);
    if !ends(".json") && !ends(".npy") && !ends(".npz") {
        return parse_point(text).map(Given::Point).map_err(|e| in_point(e, flag, text));
    }
    let bytes = read_bytes(text)?;
    if ends(".npy") {
        Point::from_npy(&bytes, "x").map_err(|e| anyhow!("{text}: {e}"))?;
        return Ok(Given::Array(bytes));
    }
    if ends(".npz") {
        return Ok(Given::Point(Point::from_npz(&bytes).map_err(|e| anyhow!("{text}: {e}"))?));
    }
    let json = utf8(bytes, text)?;
    Ok(Given::Point(Point::from_json(&json).map_err(|e| anyhow!("{text}: {e}"))?))
}

fn in_point(e: PointError, flag: &str, text: &str) -> anyhow::Error {
    match e {
        // shows what was read up to the fault, where that is short enough to show
        PointError::Syntax { .. } if text.len() <= 60 => anyhow!("{flag} `{text}`: {e}"),
        _ => anyhow!("{flag}: {e}"),
    }
}

fn is_onnx(path: &str) -> bool {
    path.to_ascii_lowercase().ends_with(".onnx")
}

fn read_program(path: &str) -> Result<Vec<u8>> {
    if !is_onnx(path) {
        return read_input(path);
    }
    // one byte more than may be read is enough to see that there is more
    let mut bytes = Vec::new();
    let file = open(path)?;
    let size = file.metadata().map_or(0, |m| m.len());
    if size > Limits::DEFAULT.bytes {
        bail!("{path} has {size} bytes, more than the limit of {} for a model", Limits::DEFAULT.bytes);
    }
    // a pipe has no size
    file.take(Limits::DEFAULT.bytes + 1).read_to_end(&mut bytes).map_err(|e| unreadable(path, &e))?;
    Ok(bytes)
}

/// The bytes of a file, or of standard input if the path is `-`.
pub fn read_input(path: &str) -> Result<Vec<u8>> {
    if path != "-" {
        return read_bytes(path);
    }
    let mut bytes = Vec::new();
    writer::note_read(Path::new("/dev/stdin"));
    std::io::stdin().lock().read_to_end(&mut bytes).context("standard input cannot be read")?;
    Ok(bytes)
}

/// The bytes of a file.
fn read_bytes(path: &str) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.read_to_end(&mut bytes).map_err(|e| unreadable(path, &e))?;
    Ok(bytes)
}

/// A file to be read; it will not be overwritten.
pub fn open(path: &str) -> Result<File> {
    if Path::new(path).is_dir() {
        bail!("{path} is a directory, not a file");
    }
    let file = File::open(path).map_err(|e| unreadable(path, &e))?;
    writer::note_read(Path::new(path));
    Ok(file)
}

/// Why a file cannot be read.
fn unreadable(path: &str, e: &std::io::Error) -> anyhow::Error {
    let path = printable(path);
    match e.kind() {
        std::io::ErrorKind::NotFound => anyhow!("there is no file {path}"),
        std::io::ErrorKind::PermissionDenied => anyhow!("{path} cannot be read: permission denied"),
        _ => anyhow!("{path} cannot be read: {e}"),
    }
}

fn utf8(bytes: Vec<u8>, file: &str) -> Result<String> {
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        anyhow!("{file} is not UTF-8 text: byte {at} is 0x{:02x}", e.as_bytes()[at])
    })
}
