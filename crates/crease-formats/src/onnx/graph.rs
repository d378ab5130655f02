//! A graph as a program: inputs, weights, then node by node.

use super::branches::{Graph, Parts};
use super::call::Call;
use super::error::{Fault, OnnxError, cut, refuse};
use super::messages::{DimensionProto, ModelProto, NodeProto, TensorProto, ValueInfoProto};
use super::operators::{self, needs_numbers};
use super::order::{order, shown};
use super::values::{self, Budget, Data, Kind, Known, MAX_RANK, Value, count, kind};
use super::{Network, OPSETS, Options, Weights, weigh};
use crate::point::identifier;
use crease_core::{Atom, Builder, Constant, Origin, Shape, printable};
use prost::Message;
use prost::bytes::Bytes;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

pub(super) fn read(bytes: &[u8], options: &Options<'_>) -> Result<Network, OnnxError> {
    let limits = options.limits;
    let limit = |what: String, limit| Err(OnnxError::Limit { what, limit });
    if bytes.len() as u64 > limits.bytes {
        return limit(format!("has {} bytes", bytes.len()), limits.bytes);
    }
    let parts = weigh::parts(bytes).map_err(OnnxError::Malformed)?;
    if parts as u64 > limits.parts {
        return limit(format!("has {parts} parts"), limits.parts);
    }
    // raw data stays where it is
    let mut model =
        ModelProto::decode(Bytes::copy_from_slice(bytes)).map_err(|e| OnnxError::Malformed(e.to_string()))?;
    let graph = model.graph.take().ok_or_else(|| OnnxError::Malformed("it has no graph".into()))?;
    let opset = opset(&model)?;
    let graph = Graph::new(graph, &mut Parts { count: parts, limit: limits.parts })?;
    Reading::new(&graph, options, opset)?.read()
}

/// The version of the operators of ONNX itself.
fn opset(model: &ModelProto) -> Result<i64, OnnxError> {
    let of_onnx = |domain: &str| matches!(domain, "" | "ai.onnx");
    let version = model.opset_import.iter().find(|o| of_onnx(o.domain())).map(|o| o.version());
    match version {
        Some(v) if OPSETS.contains(&v) => Ok(v),
        Some(v) => Err(OnnxError::Malformed(format!(
            "it uses version {v} of the operators; versions {} to {} are read",
            OPSETS.start(),
            OPSETS.end()
        ))),
        None => Err(OnnxError::Malformed("it does not say which version of the operators it uses".into())),
    }
}

pub(super) struct Reading<'g> {
    pub(super) graph: &'g Graph,
    pub(super) options: &'g Options<'g>,
    pub(super) opset: i64,
    pub(super) budget: Budget,
    pub(super) builder: Builder,
    pub(super) initializers: HashMap<&'g str, &'g TensorProto>,
    pub(super) values: HashMap<&'g str, Value>,
    /// The names of integers that are computed.
    pub(super) whole: HashSet<&'g str>,
    weights: Vec<(String, Constant)>,
    /// The names of the inputs that are no variables.
    given: Vec<String>,
}

impl<'g> Reading<'g> {
    pub(super) fn new(graph: &'g Graph, options: &'g Options<'g>, opset: i64) -> Result<Self, OnnxError> {
        let proto = &graph.proto;
        let mut initializers = HashMap::new();
        for t in &proto.initializer {
            if t.name().is_empty() {
                return Err(OnnxError::Malformed("an initializer has no name".into()));
            }
            if initializers.insert(t.name(), t).is_some() {
                return Err(OnnxError::Malformed(format!("there are two initializers named `{}`", cut(t.name()))));
            }
        }
        if let Some(t) = proto.sparse_initializer.first() {
            let name = cut(t.values.as_ref().map_or("", |v| v.name()));
            return Err(OnnxError::Tensor {
                name,
                why: "sparse tensors are not supported; store all of its numbers".into(),
            });
        }
        let name = if proto.name().is_empty() { "model" } else { proto.name() };
        Ok(Reading {
            graph,
            options,
            opset,
            budget: Budget::new(options.limits.memory),
            builder: Builder::new(name),
            initializers,
            values: HashMap::new(),
            whole: HashSet::new(),
            weights: Vec::new(),
            given: Vec::new(),
        })
    }

    fn read(mut self) -> Result<Network, OnnxError> {
        let graph = &self.graph.proto;
        let ports: Vec<&ValueInfoProto> =
            graph.input.iter().filter(|i| !self.initializers.contains_key(i.name())).collect();
        let given: Vec<&str> = ports.iter().map(|p| p.name()).chain(self.initializers.keys().copied()).collect();
        let outputs: Vec<&str> = graph.output.iter().map(|o| o.name()).collect();
        let mut listed = HashSet::new();
        if let Some(twice) = graph.input.iter().find(|i| !listed.insert(i.name())) {
            return Err(OnnxError::Malformed(format!("there are two inputs named `{}`", cut(twice.name()))));
        }
        let needs = self.graph.needs();
        let sorted = order(&graph.node, &needs, &given, &outputs)?;
        self.inputs(&ports)?;
        self.enter_weights(&sorted, &needs, &outputs)?;
        let results = self.nodes(&sorted)?;
        let mut atoms = Vec::new();
        for (value, name) in results.iter().zip(&outputs) {
            atoms.push(self.result(value).map_err(|f| port(name, f))?);
        }
        let program = self.builder.finish(&atoms).map_err(|e| OnnxError::Malformed(e.to_string()))?;
        let outputs = outputs.iter().map(|n| printable(n).into()).collect();
        Ok(Network { program, outputs, weights: self.weights, given: self.given, opset: self.opset })
    }

    /// Node after node; what the outputs of the graph stand for then.
    pub(super) fn nodes(&mut self, sorted: &[usize]) -> Result<Vec<Value>, OnnxError> {
        let model: Arc<str> = self.options.name.into();
        for &i in sorted {
            self.node(i, &model)?;
        }
        let graph = self.graph;
        graph.proto.output.iter().map(|o| self.value(o.name())).collect()
    }

    /// A value as the output of a program.
    pub(super) fn result(&mut self, value: &Value) -> Result<Atom, Fault> {
        match value {
            Value::Real(a) => Ok(*a),
            Value::Known(k) => k.numbers().unwrap_or_else(|| k.clone()).atom(&mut self.builder),
            Value::Masked(_) => refuse("some of its numbers are minus infinity"),
        }
    }

    /// Declares the inputs of the graph.
    fn inputs(&mut self, ports: &[&'g ValueInfoProto]) -> Result<(), OnnxError> {
        let sizes = self.sizes(ports);
        for (said, _) in self.options.dims {
            let is = |p: &ValueInfoProto, axis: usize, d: &DimensionProto| {
                d.dim_value.is_none() && (d.dim_param() == said || *said == format!("{}:{axis}", p.name()))
            };
            if !ports.iter().any(|p| axes(p).unwrap_or_default().iter().enumerate().any(|(i, d)| is(p, i, d))) {
                let why = "a size is given for this axis, but the file leaves no such axis of an input open".into();
                return Err(OnnxError::Port { name: cut(said), why });
            }
        }
        for p in ports {
            let name = p.name();
            let fail = |why: String| Err(OnnxError::Port { name: cut(name), why });
            if name.is_empty() {
                return Err(OnnxError::Malformed("an input has no name".into()));
            }
            let Some(tensor) = p.r#type.as_ref().and_then(|t| t.tensor_type.as_ref()) else {
                return fail("it is no tensor; inputs that are sequences, maps or optional are not supported".into());
            };
            let (of, _, called) = kind(tensor.elem_type()).map_err(|why| OnnxError::Port { name: cut(name), why })?;
            let numbers = if of == Kind::Float { None } else { Some(self.numbers_of(name, called)?) };
            let dims = match (&tensor.shape, self.given_shape(p)) {
                (Some(shape), _) if shape.dim.len() > MAX_RANK => {
                    return fail(format!("it has {} axes; there may be {MAX_RANK}", shape.dim.len()));
                }
                (Some(shape), _) => {
                    let dims = shape.dim.iter().enumerate().map(|(axis, d)| self.size(p, axis, d, &sizes));
                    dims.collect::<Result<Vec<_>, _>>()?
                }
                (None, Some(dims)) => dims.to_vec(),
                (None, None) => return fail("the file does not say its shape; give a point that has one".into()),
            };
            if let Some(numbers) = numbers {
                self.fixed(name, of, numbers, dims)?;
                continue;
            }
            let shape = Shape::new(dims).map_err(|e| OnnxError::Port { name: cut(name), why: e.to_string() })?;
            let atom = self.builder.input(name, shape);
            let atom = atom.map_err(|e| OnnxError::Port { name: cut(name), why: e.to_string() })?;
            self.values.insert(name, Value::Real(atom));
        }
        Ok(())
    }

    /// The numbers that are given for an input.
    fn numbers_of(&self, name: &str, called: &str) -> Result<Vec<i64>, OnnxError> {
        let why = match self.options.given.map(|given| given(name)) {
            Some(Ok(Some(numbers))) => return Ok(numbers),
            Some(Err(why)) => why,
            Some(Ok(None)) | None => format!(
                "an input of {called} is no variable, since a function of integers has no derivative; give its numbers in the point"
            ),
        };
        Err(OnnxError::Port { name: cut(name), why })
    }

    /// An input of integers or truth values is no variable, for a function of it has no derivative: its numbers are given, and constants.
    fn fixed(&mut self, name: &'g str, of: Kind, numbers: Vec<i64>, dims: Vec<usize>) -> Result<(), OnnxError> {
        let fail = |why: String| Err(OnnxError::Port { name: cut(name), why });
        let n = count(&dims).map_err(|f| port(name, f))?;
        if numbers.len() != n {
            return fail(format!("its shape {dims:?} needs {n} numbers, but the point has {} for it", numbers.len()));
        }
        self.budget.spend(n).map_err(|f| port(name, f))?;
        let data = match of {
            Kind::Bool if numbers.iter().any(|i| !(0..=1).contains(i)) => {
                return fail("its truth values must be 0 or 1".into());
            }
            Kind::Bool => Data::Bool(numbers.iter().map(|&i| i == 1).collect()),
            _ => Data::Int(numbers.into()),
        };
        self.values.insert(name, Value::Known(Known { dims, data }));
        self.given.push(printable(name).into());
        Ok(())
    }

    /// The shape that is known of an input, if it agrees with all sizes that the file has for it.
    fn given_shape(&self, p: &ValueInfoProto) -> Option<&'g [usize]> {
        let (name, shapes) = (p.name(), self.options.shapes);
        let called = |n: &str| n == printable(name) || n == identifier(name) || n.is_empty();
        let dims = shapes.iter().find(|(n, _)| called(n)).map(|(_, dims)| &dims[..])?;
        let Some(axes) = axes(p) else { return Some(dims) };
        let agrees = |(d, &size): (&DimensionProto, &usize)| d.dim_value.is_none_or(|v| v == size as i64);
        (axes.len() == dims.len() && axes.iter().zip(dims).all(agrees)).then_some(dims)
    }

    /// The sizes that names of axes stand for: those that were said, those that shapes tell, and the batch for names of first axes.
    fn sizes(&self, ports: &[&'g ValueInfoProto]) -> HashMap<&'g str, usize> {
        let mut sizes: HashMap<&str, usize> = self.options.dims.iter().map(|(n, size)| (&n[..], *size)).collect();
        for &p in ports {
            for (d, &size) in axes(p).unwrap_or_default().iter().zip(self.given_shape(p).unwrap_or_default()) {
                if d.dim_value.is_none() && !d.dim_param().is_empty() {
                    sizes.entry(d.dim_param()).or_insert(size);
                }
            }
        }
        for &p in ports {
            if let Some(d) = axes(p).and_then(|a| a.first())
                && d.dim_value.is_none()
                && !d.dim_param().is_empty()
            {
                sizes.entry(d.dim_param()).or_insert(self.options.batch);
            }
        }
        sizes
    }

    /// The size of an axis of an input.
    fn size(
        &self,
        p: &ValueInfoProto,
        axis: usize,
        d: &DimensionProto,
        sizes: &HashMap<&str, usize>,
    ) -> Result<usize, OnnxError> {
        let name = p.name();
        let fail = |why: String| Err(OnnxError::Port { name: cut(name), why });
        if let Some(value) = d.dim_value {
            return match usize::try_from(value) {
                Ok(size) if size > 0 => Ok(size),
                _ => fail(format!("its axis {axis} has size {value}; a size is at least 1")),
            };
        }
        let place = format!("{name}:{axis}");
        let said = self.options.dims.iter().find(|(n, _)| *n == place).map(|(_, size)| *size);
        let named = || sizes.get(d.dim_param()).copied().filter(|_| !d.dim_param().is_empty());
        let from_point = || self.given_shape(p).and_then(|dims| dims.get(axis)).copied();
        let first = || (axis == 0).then_some(self.options.batch);
        match said.or_else(named).or_else(from_point).or_else(first) {
            Some(0) => fail(format!("its axis {axis} cannot have size 0")),
            Some(size) => Ok(size),
            None => {
                let what = if d.dim_param().is_empty() { &place } else { d.dim_param() };
                fail(format!("the file leaves the size of its axis {axis} open; say the size of `{}`", cut(what)))
            }
        }
    }

    /// Declares weights as inputs, if they are to be; those that say how something is computed stay what they are.
    fn enter_weights(&mut self, sorted: &[usize], needs: &[Vec<&str>], outputs: &[&str]) -> Result<(), OnnxError> {
        if self.options.weights == Weights::Constants {
            return Ok(());
        }
        let mut used: HashSet<&str> = outputs.iter().copied().collect();
        let mut fixed: HashSet<&str> = HashSet::new();
        used.extend(sorted.iter().flat_map(|&i| &needs[i]));
        for node in self.graph.nodes() {
            let numbers = |i: &usize| needs_numbers(node.op_type(), *i);
            fixed.extend((0..node.input.len()).filter(numbers).map(|i| &node.input[i][..]));
        }
        for t in &self.graph.proto.initializer {
            let is_float = kind(t.data_type()).is_ok_and(|(of, ..)| of == Kind::Float);
            if !is_float || !used.contains(t.name()) || fixed.contains(t.name()) {
                continue;
            }
            let Value::Known(k) = self.value(t.name())? else { continue };
            let fail = |why: String| OnnxError::Tensor { name: cut(t.name()), why };
            let shape = Shape::new(k.dims.clone()).map_err(|e| fail(e.to_string()))?;
            let data = k.as_floats().unwrap_or_default();
            let constant = Constant::new(shape.clone(), data).map_err(|e| fail(e.to_string()))?;
            let atom = self.builder.input(t.name(), shape).map_err(|e| fail(e.to_string()))?;
            self.values.insert(t.name(), Value::Real(atom));
            self.weights.push((printable(t.name()).into(), constant));
        }
        Ok(())
    }

    /// What a name stands for. A constant of the file is read when it is first asked for.
    pub(super) fn value(&mut self, name: &'g str) -> Result<Value, OnnxError> {
        if let Some(value) = self.values.get(name) {
            return Ok(value.clone());
        }
        let Some(t) = self.initializers.get(name) else {
            return Err(OnnxError::Malformed(format!("`{}` is used, but nothing gives it", cut(name))));
        };
        let known = values::read(t, self.options, &mut self.budget).map_err(|fault| match fault {
            Fault::Node(why) => OnnxError::Tensor { name: cut(name), why },
        })?;
        self.values.insert(name, Value::Known(known.clone()));
        Ok(Value::Known(known))
    }

    fn node(&mut self, i: usize, model: &Arc<str>) -> Result<(), OnnxError> {
        let graph = self.graph;
        let node = &graph.proto.node[i];
        let args = node.input.iter().map(|n| if n.is_empty() { Ok(None) } else { self.value(n).map(Some) });
        let args = args.collect::<Result<Vec<_>, _>>()?;
        let name = shown(node);
        let origin = Origin::node(model.clone(), &*name);
        self.builder.set_origin(Some(match layer(node.name()) {
            Some(path) => Origin::layer(path, Some(origin)),
            None => origin,
        }));
        let operator = operators::find(node, &name)?;
        let in_node = |fault: Fault| match fault {
            Fault::Node(why) => OnnxError::Node { operator: cut(node.op_type()), node: name.clone(), why },
        };
        if let Some(branches) = &graph.branches[i] {
            let results = self.conditional(branches, &args, &in_node)?;
            return self.keep(node, &name, results);
        }
        let whole: Vec<bool> = node.input.iter().map(|n| self.whole.contains(&n[..])).collect();
        let mut call = Call {
            b: &mut self.builder,
            budget: &mut self.budget,
            options: self.options,
            opset: self.opset,
            node,
            args,
            whole: whole.clone(),
        };
        let results = operator.apply(&mut call).map_err(in_node)?;
        for (i, output) in node.output.iter().enumerate() {
            if operators::makes_integers(node, i, &whole) {
                self.whole.insert(output);
            }
        }
        self.keep(node, &name, results)
    }

    /// The results of a node under their names.
    fn keep(&mut self, node: &'g NodeProto, name: &str, results: Vec<Value>) -> Result<(), OnnxError> {
        for (i, output) in node.output.iter().enumerate().filter(|(_, n)| !n.is_empty()) {
            let Some(result) = results.get(i) else {
                let why = format!(
                    "its result {} (`{}`) is not supported; the first {} are",
                    i + 1,
                    cut(output),
                    results.len()
                );
                return Err(OnnxError::Node { operator: cut(node.op_type()), node: name.into(), why });
            };
            self.values.insert(output, result.clone());
        }
        Ok(())
    }
}

/// The axes of an input, if the file says them.
fn axes(p: &ValueInfoProto) -> Option<&[DimensionProto]> {
    let shape = p.r#type.as_ref()?.tensor_type.as_ref()?.shape.as_ref()?;
    Some(&shape.dim)
}

fn port(name: &str, fault: Fault) -> OnnxError {
    match fault {
        Fault::Node(why) => OnnxError::Port { name: cut(name), why: format!("as an output: {why}") },
    }
}

/// The path of layers that the name of a node tells: `/layer1/layer1.0/conv1/Conv` is in `layer1.0.conv1`.
fn layer(name: &str) -> Option<String> {
    let (path, _) = name.rsplit_once('/')?;
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/').filter(|p| !p.is_empty()) {
        // exporters repeat the path of a list of layers in the name of each of them
        if let Some(last) = parts.last()
            && part.strip_prefix(last).is_some_and(|rest| rest.starts_with('.'))
        {
            parts.pop();
        }
        parts.push(part);
    }
    (!parts.is_empty()).then(|| cut(&parts.join(".")))
}

#[cfg(test)]
mod tests {
    use super::layer;

    #[test]
    fn names_of_nodes_tell_layers() {
        assert_eq!(layer("/layer1/layer1.0/conv1/Conv").as_deref(), Some("layer1.0.conv1"));
        assert_eq!(layer("model/dense/MatMul").as_deref(), Some("model.dense"));
        assert_eq!(layer("Relu_7"), None);
        assert_eq!(layer("/Relu"), None);
    }
}
