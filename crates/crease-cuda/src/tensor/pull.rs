//! A value at an index, from the buffers behind it: the body of a kernel, written backward from what it is to give.
//!
//! Every load, every index and every step is written once for each index at which it is wanted, so that what two outputs of a kernel share is read and computed once.

use super::Maker;
use crate::lower::{Act, Operand, Scalars, Step};
use crate::text::Writer;
use crease_core::{Atom, Layout, Op, Value};
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

pub(crate) struct Pull<'m, 'p> {
    maker: &'m mut Maker<'p>,
    pub body: String,
    /// The buffers that are read, in the order of the kernel's arguments.
    pub buffers: Vec<usize>,
    known: HashMap<(Value, String), String>,
    indices: HashMap<(Layout, String), String>,
    names: usize,
    indent: &'static str,
}

impl<'m, 'p> Pull<'m, 'p> {
    pub fn new(maker: &'m mut Maker<'p>, indent: &'static str) -> Self {
        Pull {
            maker,
            body: String::new(),
            buffers: Vec::new(),
            known: HashMap::new(),
            indices: HashMap::new(),
            names: 0,
            indent,
        }
    }

    fn name(&mut self, what: &str) -> String {
        self.names += 1;
        format!("{what}{}", self.names)
    }

    fn argument(&mut self, buffer: usize) -> usize {
        self.buffers.iter().position(|&b| b == buffer).unwrap_or_else(|| {
            self.buffers.push(buffer);
            self.buffers.len() - 1
        })
    }

    pub fn atom(&mut self, a: Atom, index: &str) -> String {
        match a {
            Atom::Value(v) => self.value(v, index),
            Atom::Const(id) => self.maker.precision.literal(self.maker.p.constant(id)),
        }
    }

    /// The value at an index, which is the name of a variable. How deep this goes is bounded: long chains are cut by buffers.
    pub fn value(&mut self, v: Value, index: &str) -> String {
        let key = (v, index.to_string());
        if let Some(name) = self.known.get(&key) {
            return name.clone();
        }
        let indent = self.indent;
        if let Some(buffer) = self.maker.of[v.index()] {
            let (k, name) = (self.argument(buffer), self.name("r"));
            let at = if self.maker.p.shape(v).len() == 1 { "0" } else { index };
            let _ = writeln!(self.body, "{indent}const REAL {name} = b{k}[{at}];");
            self.known.insert(key, name.clone());
            return name;
        }
        let p = self.maker.p;
        let Some(i) = p.definition(v) else { return "0".into() };
        let e = p.equation(i);
        match e.op {
            Op::View { layout, .. } => {
                let from = self.index(layout, index);
                let name = self.atom(e.args[0], &from);
                self.known.insert(key, name.clone());
                name
            }
            Op::Assemble { shape, pieces } => {
                let n = shape.len();
                let mut terms = Vec::new();
                for (a, piece) in e.args.iter().zip(pieces) {
                    let from = match piece.inverse(n) {
                        Some(back) if !piece.is_identity(n) => self.index(&back, index),
                        _ => index.to_string(),
                    };
                    terms.push(self.atom(*a, &from));
                }
                let name = self.name("r");
                let sum = if terms.is_empty() { "0".into() } else { terms.join(" + ") };
                let _ = writeln!(self.body, "{indent}const REAL {name} = {sum};");
                self.known.insert(key, name.clone());
                name
            }
            op => {
                let inputs: Vec<String> = e.args.iter().map(|&a| self.atom(a, index)).collect();
                let step = Step {
                    act: Arc::new(Act::Op(op.clone())),
                    args: (0..inputs.len() as u32).map(Operand::Value).collect(),
                    first: inputs.len() as u32,
                    results: e.results as u32,
                };
                let s = Scalars {
                    inputs: inputs.len(),
                    outputs: (step.first..step.first + step.results).map(Operand::Value).collect(),
                    steps: vec![step],
                    ..Scalars::default()
                };
                let prefix = format!("{}_", self.name("t"));
                let writer = Writer {
                    precision: self.maker.precision,
                    prefix: &prefix,
                    inputs: &inputs,
                    indent,
                    checked: false,
                };
                let found = writer.steps(&s, &mut self.body);
                for (v, name) in e.results().zip(found) {
                    self.known.entry((v, index.to_string())).or_insert(name);
                }
                self.known[&key].clone()
            }
        }
    }

    /// Where an element comes from.
    pub fn index(&mut self, layout: &Layout, index: &str) -> String {
        let key = (layout.clone(), index.to_string());
        if let Some(name) = self.indices.get(&key) {
            return name.clone();
        }
        if layout.is_identity(layout.len()) {
            return index.into();
        }
        let text = match layout {
            Layout::Strided { offset, dims } => {
                let mut terms = vec![format!("{offset}")];
                let mut inner = layout.len();
                for (k, d) in dims.iter().enumerate() {
                    inner /= d.size;
                    if d.stride == 0 {
                        continue;
                    }
                    let mut step = if inner == 1 { index.to_string() } else { format!("{index} / {inner}u") };
                    if k > 0 {
                        step = format!("({step}) % {}u", d.size);
                    }
                    terms.push(format!("(int)({step}) * {}", d.stride));
                }
                format!("(unsigned)({})", terms.join(" + "))
            }
            Layout::Table(t) => {
                let buffer = self.maker.table(t);
                let k = self.argument(buffer);
                format!("b{k}[{index}]")
            }
        };
        let name = self.name("j");
        let _ = writeln!(self.body, "{}const unsigned {name} = {text};", self.indent);
        self.indices.insert(key, name.clone());
        name
    }
}

impl Maker<'_> {
    fn table(&mut self, t: &Arc<[u32]>) -> usize {
        if let Some((_, buffer)) = self.tables.iter().find(|(known, _)| known == t) {
            return *buffer;
        }
        let buffer = self.buffer(t.len(), super::Holds::Indices(t.clone()));
        self.tables.push((t.clone(), buffer));
        buffer
    }
}
