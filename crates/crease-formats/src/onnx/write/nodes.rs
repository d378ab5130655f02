//! A graph while it is written: nodes, constants, names, and the words in which operations are put.
//!
//! A [`Tensor`] is a value of the graph with its shape, which is always known. Words do nothing where nothing is to do: a reshape to the same
//! shape is no node. Constants lie in the outermost graph, each once.

use super::error::WriteError;
use super::{Element, MAX_BYTES};
use crate::onnx::messages::{AttributeProto, GraphProto, NodeProto, TensorProto, ValueInfoProto};
use crate::onnx::messages::{DimensionProto, TensorShapeProto, TensorTypeProto, TypeProto};
use crease_core::Rational;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// The number of ONNX for the type of integers.
pub(super) const INT64: i32 = 7;

/// A value of the graph.
#[derive(Clone, Debug)]
pub(super) struct Tensor {
    pub name: Rc<str>,
    pub dims: Vec<usize>,
}

impl Tensor {
    pub fn len(&self) -> usize {
        self.dims.iter().product()
    }

    pub fn rank(&self) -> usize {
        self.dims.len()
    }
}

/// A parameter of a node.
pub(super) enum With<'a> {
    Int(&'a str, i64),
    Float(&'a str, f32),
    Word(&'a str, &'a str),
    Ints(&'a str, Vec<i64>),
    Graph(&'a str, GraphProto),
}

/// A graph being written, and those around it.
pub(super) struct Nodes {
    pub element: Element,
    /// The nodes of the graph and of those around it, outermost first.
    open: Vec<Vec<NodeProto>>,
    constants: Vec<TensorProto>,
    known: HashMap<(i32, Vec<usize>, Vec<u8>), Rc<str>>,
    taken: HashSet<Rc<str>>,
    next: usize,
    bytes: usize,
    /// What the nodes that follow come from.
    origin: Option<String>,
}

impl Nodes {
    pub fn new(element: Element) -> Self {
        Nodes {
            element,
            open: vec![Vec::new()],
            constants: Vec::new(),
            known: HashMap::new(),
            taken: HashSet::new(),
            next: 0,
            bytes: 0,
            origin: None,
        }
    }

    // ---- names and graphs

    /// A name that is not used yet; whether it was free.
    pub fn take(&mut self, name: &str) -> bool {
        self.taken.insert(name.into())
    }

    fn fresh(&mut self) -> Rc<str> {
        loop {
            let name: Rc<str> = format!("v{}", self.next).into();
            self.next += 1;
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }

    /// What nodes come from, from now on; returns what they came from before.
    pub fn from(&mut self, origin: Option<String>) -> Option<String> {
        std::mem::replace(&mut self.origin, origin)
    }

    /// Begins a graph inside the one that is written.
    pub fn begin(&mut self) {
        self.open.push(Vec::new());
    }

    /// How many graphs are around the one that is written.
    pub fn depth(&self) -> usize {
        self.open.len() - 1
    }

    /// Ends the graph that was begun last.
    pub fn end(&mut self, name: &str, outputs: Vec<ValueInfoProto>) -> GraphProto {
        let node = self.open.pop().unwrap_or_default();
        GraphProto { node, name: Some(name.into()), output: outputs, ..Default::default() }
    }

    /// The outermost graph with its constants.
    pub fn finish(
        mut self,
        name: &str,
        inputs: Vec<ValueInfoProto>,
        outputs: Vec<ValueInfoProto>,
    ) -> Result<GraphProto, WriteError> {
        let constants = std::mem::take(&mut self.constants);
        let graph = self.end(name, outputs);
        Ok(GraphProto { input: inputs, initializer: constants, ..graph })
    }

    /// An input or output of numbers.
    pub fn port(&self, name: &str, dims: &[usize]) -> ValueInfoProto {
        let dim = dims.iter().map(|&d| DimensionProto { dim_value: Some(d as i64), dim_param: None }).collect();
        let shape = Some(TensorShapeProto { dim });
        let tensor_type = Some(TensorTypeProto { elem_type: Some(self.element.code()), shape });
        ValueInfoProto { name: Some(name.into()), r#type: Some(TypeProto { tensor_type }) }
    }

    // ---- nodes

    /// A node with several results, under fresh names.
    pub fn nodes(&mut self, op: &str, args: &[&Tensor], with: Vec<With<'_>>, results: usize) -> Vec<Rc<str>> {
        let names: Vec<Rc<str>> = (0..results).map(|_| self.fresh()).collect();
        self.node_to(op, args, with, &names);
        names
    }

    /// A node whose results have these names.
    pub fn node_to(&mut self, op: &str, args: &[&Tensor], with: Vec<With<'_>>, names: &[Rc<str>]) {
        let attribute = with.into_iter().map(attribute).collect();
        let name = match &self.origin {
            Some(origin) => format!("{origin}/{op}_{}", names[0]),
            None => format!("{op}_{}", names[0]),
        };
        let node = NodeProto {
            input: args.iter().map(|t| t.name.to_string()).collect(),
            output: names.iter().map(|n| n.to_string()).collect(),
            name: Some(name),
            op_type: Some(op.into()),
            attribute,
            domain: None,
        };
        if let Some(graph) = self.open.last_mut() {
            graph.push(node);
        }
    }

    /// A node with one result of this shape.
    pub fn node(&mut self, op: &str, args: &[&Tensor], with: Vec<With<'_>>, dims: &[usize]) -> Tensor {
        let name = self.nodes(op, args, with, 1).swap_remove(0);
        Tensor { name, dims: dims.to_vec() }
    }

    /// An operator of one argument, element by element.
    pub fn unary(&mut self, op: &str, a: &Tensor) -> Tensor {
        self.node(op, &[a], vec![], &a.dims)
    }

    /// An operator of two arguments, element by element; a shape spreads over a longer one.
    pub fn binary(&mut self, op: &str, a: &Tensor, b: &Tensor) -> Tensor {
        let dims = spread(&a.dims, &b.dims);
        self.node(op, &[a, b], vec![], &dims)
    }

    /// The first where the condition holds, else the second.
    pub fn pick(&mut self, condition: &Tensor, a: &Tensor, b: &Tensor) -> Tensor {
        let dims = spread(&condition.dims, &spread(&a.dims, &b.dims));
        self.node("Where", &[condition, a, b], vec![], &dims)
    }

    /// A truth value or an integer as a number.
    pub fn number_of(&mut self, a: &Tensor) -> Tensor {
        self.cast(a, self.element.code())
    }

    pub fn cast(&mut self, a: &Tensor, to: i32) -> Tensor {
        self.node("Cast", &[a], vec![With::Int("to", i64::from(to))], &a.dims)
    }

    // ---- constants

    fn constant(&mut self, kind: i32, dims: &[usize], data: Vec<u8>) -> Result<Tensor, WriteError> {
        let key = (kind, dims.to_vec(), data);
        if let Some(name) = self.known.get(&key) {
            return Ok(Tensor { name: name.clone(), dims: dims.to_vec() });
        }
        self.bytes = self.bytes.saturating_add(key.2.len());
        if self.bytes > MAX_BYTES {
            return Err(WriteError::TooLarge { site: None });
        }
        let name = self.fresh();
        self.constants.push(TensorProto {
            dims: dims.iter().map(|&d| d as i64).collect(),
            data_type: Some(kind),
            name: Some(name.to_string()),
            raw_data: Some(key.2.clone().into()),
            ..Default::default()
        });
        // a large one is hardly there twice, and would be held twice for that
        if key.2.len() <= 1 << 16 {
            self.known.insert(key, name.clone());
        }
        Ok(Tensor { name, dims: dims.to_vec() })
    }

    /// Integers.
    pub fn ints(&mut self, dims: &[usize], data: &[i64]) -> Result<Tensor, WriteError> {
        self.constant(INT64, dims, data.iter().flat_map(|i| i.to_le_bytes()).collect())
    }

    /// A list of integers.
    pub fn list(&mut self, data: &[usize]) -> Result<Tensor, WriteError> {
        let data: Vec<i64> = data.iter().map(|&i| i as i64).collect();
        self.ints(&[data.len()], &data)
    }

    /// Numbers, each rounded to the nearest of the type.
    pub fn numbers(&mut self, dims: &[usize], data: &[f64]) -> Result<Tensor, WriteError> {
        let bytes = match self.element {
            Element::F64 => data.iter().flat_map(|x| x.to_le_bytes()).collect(),
            Element::F32 => {
                if let Some(x) = data.iter().find(|x| !(**x as f32).is_finite()) {
                    return Err(self.beyond(*x));
                }
                data.iter().flat_map(|&x| (x as f32).to_le_bytes()).collect()
            }
        };
        self.constant(self.element.code(), dims, bytes)
    }

    /// A number without axes, rounded once to the nearest of the type.
    pub fn exact(&mut self, r: &Rational) -> Result<Tensor, WriteError> {
        let x = match self.element {
            Element::F64 => r.to_f64(),
            Element::F32 => f64::from(r.to_f32()),
        };
        match x.is_finite() {
            true => self.numbers(&[], &[x]),
            false => Err(self.beyond(r.to_f64())),
        }
    }

    fn beyond(&self, value: f64) -> WriteError {
        WriteError::Constant { value, element: self.element.name(), site: None }
    }

    /// A number without axes.
    pub fn number(&mut self, x: f64) -> Result<Tensor, WriteError> {
        self.numbers(&[], &[x])
    }

    // ---- structure

    pub fn reshape(&mut self, a: &Tensor, dims: &[usize]) -> Result<Tensor, WriteError> {
        if a.dims == dims {
            return Ok(a.clone());
        }
        let to = self.list(dims)?;
        Ok(self.node("Reshape", &[a, &to], vec![], dims))
    }

    pub fn flat(&mut self, a: &Tensor) -> Result<Tensor, WriteError> {
        self.reshape(a, &[a.len()])
    }

    /// The axes in another order: axis `order[i]` becomes axis i.
    pub fn transpose(&mut self, a: &Tensor, order: &[usize]) -> Tensor {
        // axes of one element may stand anywhere, so only the others have an order
        let long = |i: &usize| a.dims[*i] > 1;
        if order.iter().copied().eq(0..a.rank()) {
            return a.clone();
        }
        let dims: Vec<usize> = order.iter().map(|&i| a.dims[i]).collect();
        if order.iter().copied().filter(long).is_sorted()
            && let Ok(same) = self.reshape(a, &dims)
        {
            return same;
        }
        let perm = order.iter().map(|&i| i as i64).collect();
        self.node("Transpose", &[a], vec![With::Ints("perm", perm)], &dims)
    }

    /// For each axis where to begin, how many steps to take, and how far each goes.
    pub fn slice(&mut self, a: &Tensor, ranges: &[(usize, usize, isize)]) -> Result<Tensor, WriteError> {
        let cut: Vec<usize> = (0..a.rank()).filter(|&i| ranges[i] != (0, a.dims[i], 1)).collect();
        if cut.is_empty() {
            return Ok(a.clone());
        }
        let end = |&(start, size, step): &(usize, usize, isize)| match start as i64 + size as i64 * step as i64 {
            // beyond the first element; -1 would be the last one
            end if end < 0 => i64::MIN + 1,
            end => end,
        };
        let dims: Vec<usize> = ranges.iter().map(|r| r.1).collect();
        let n = [cut.len()];
        let of = |f: &dyn Fn(&(usize, usize, isize)) -> i64| cut.iter().map(|&i| f(&ranges[i])).collect::<Vec<_>>();
        let starts = self.ints(&n, &of(&|r| r.0 as i64))?;
        let ends = self.ints(&n, &of(&end))?;
        let axes = self.list(&cut)?;
        let steps = self.ints(&n, &of(&|r| r.2 as i64))?;
        let args = [a, &starts, &ends, &axes, &steps];
        let plain = cut.iter().all(|&i| ranges[i].2 == 1);
        Ok(self.node("Slice", &args[..if plain { 4 } else { 5 }], vec![], &dims))
    }

    /// Zeros around: for each axis so many before and after.
    pub fn pad(&mut self, a: &Tensor, pads: &[(usize, usize)]) -> Result<Tensor, WriteError> {
        if pads.iter().all(|&p| p == (0, 0)) {
            return Ok(a.clone());
        }
        let dims: Vec<usize> = a.dims.iter().zip(pads).map(|(d, p)| d + p.0 + p.1).collect();
        let all: Vec<usize> = pads.iter().map(|p| p.0).chain(pads.iter().map(|p| p.1)).collect();
        let all = self.list(&all)?;
        Ok(self.node("Pad", &[a, &all], vec![], &dims))
    }

    /// The same numbers over and over, to a longer shape.
    pub fn expand(&mut self, a: &Tensor, dims: &[usize]) -> Result<Tensor, WriteError> {
        if a.dims == dims {
            return Ok(a.clone());
        }
        let to = self.list(dims)?;
        Ok(self.node("Expand", &[a, &to], vec![], dims))
    }

    /// The parts at some positions of an axis.
    pub fn gather(&mut self, a: &Tensor, axis: usize, positions: &[usize]) -> Result<Tensor, WriteError> {
        let mut dims = a.dims.clone();
        dims[axis] = positions.len();
        let positions = self.list(positions)?;
        Ok(self.node("Gather", &[a, &positions], vec![With::Int("axis", axis as i64)], &dims))
    }

    /// One after the other along an axis.
    pub fn concat(&mut self, parts: &[Tensor], axis: usize) -> Tensor {
        if let [one] = parts {
            return one.clone();
        }
        let mut dims = parts[0].dims.clone();
        dims[axis] = parts.iter().map(|p| p.dims[axis]).sum();
        let args: Vec<&Tensor> = parts.iter().collect();
        self.node("Concat", &args, vec![With::Int("axis", axis as i64)], &dims)
    }

    /// A reduction over axes, which stay with size 1 if `keep`.
    pub fn reduce(&mut self, op: &str, a: &Tensor, axes: &[usize], keep: bool) -> Result<Tensor, WriteError> {
        if axes.is_empty() {
            return Ok(a.clone());
        }
        let left = |i: usize, d: usize| match axes.contains(&i) {
            true => keep.then_some(1),
            false => Some(d),
        };
        let dims: Vec<usize> = a.dims.iter().enumerate().filter_map(|(i, &d)| left(i, d)).collect();
        let axes = self.list(axes)?;
        Ok(self.node(op, &[a, &axes], vec![With::Int("keepdims", i64::from(keep))], &dims))
    }

    /// Zeros of a shape.
    pub fn zeros(&mut self, dims: &[usize]) -> Result<Tensor, WriteError> {
        let zero = self.number(0.0)?;
        self.expand(&zero, dims)
    }
}

fn attribute(with: With<'_>) -> AttributeProto {
    let named = |name: &str, kind: i32| AttributeProto {
        name: Some(name.into()),
        r#type: Some(kind),
        ..AttributeProto::default()
    };
    match with {
        With::Float(name, f) => AttributeProto { f: Some(f), ..named(name, 1) },
        With::Int(name, i) => AttributeProto { i: Some(i), ..named(name, 2) },
        With::Word(name, s) => AttributeProto { s: Some(s.as_bytes().to_vec().into()), ..named(name, 3) },
        With::Graph(name, g) => AttributeProto { g: Some(prost::Message::encode_to_vec(&g).into()), ..named(name, 5) },
        With::Ints(name, ints) => AttributeProto { ints, ..named(name, 7) },
    }
}

/// The shape of two that spread over one another, as these here do.
fn spread(a: &[usize], b: &[usize]) -> Vec<usize> {
    let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
    let missing = long.len() - short.len();
    let at = |i: usize| i.checked_sub(missing).map_or(1, |j| short[j]);
    long.iter().enumerate().map(|(i, &d)| d.max(at(i))).collect()
}
