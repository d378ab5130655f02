//! One application of an operator while it is read: arguments, parameters, and the words in which operators are written down.

use super::Options;
use super::error::{Fault, cut, refuse};
use super::messages::{AttributeProto, NodeProto};
use super::values::{Budget, Data, Known, MAX_RANK, Value, count, place, read};
use crease_core::{Atom, Builder, Kink, Lane, Layout, Op, Rational, Shape};

/// What an operator gives.
pub(super) type Results = Result<Vec<Value>, Fault>;

/// A node with the values of its arguments.
pub(super) struct Call<'c> {
    pub b: &'c mut Builder,
    pub budget: &'c mut Budget,
    pub options: &'c Options<'c>,
    pub opset: i64,
    pub node: &'c NodeProto,
    pub args: Vec<Option<Value>>,
    /// Which arguments are integers that are computed.
    pub whole: Vec<bool>,
}

/// One value as the result.
pub(super) fn one(a: Atom) -> Results {
    Ok(vec![Value::Real(a)])
}

/// One known value as the result.
pub(super) fn known(k: Known) -> Results {
    Ok(vec![Value::Known(k)])
}

impl Call<'_> {
    // ---- arguments

    /// An argument that is there.
    pub fn arg(&self, i: usize) -> Option<&Value> {
        self.args.get(i).and_then(Option::as_ref)
    }

    /// An argument that must be there.
    pub fn need(&self, i: usize) -> Result<Value, Fault> {
        match self.arg(i) {
            Some(v) => Ok(v.clone()),
            None => refuse(format!("argument {} is missing", i + 1)),
        }
    }

    /// An argument as numbers of the program.
    pub fn real(&mut self, i: usize) -> Result<Atom, Fault> {
        let v = self.need(i)?;
        self.atom(&v)
    }

    /// A value as numbers of the program.
    pub fn atom(&mut self, v: &Value) -> Result<Atom, Fault> {
        match v {
            Value::Real(a) => Ok(*a),
            Value::Known(k) => k.atom(self.b),
            Value::Masked(m) => refuse(format!(
                "its argument is minus infinity at {}, and only sums, choices, what moves numbers about, and a Softmax, LogSoftmax or ReduceLogSumExp at the end take that",
                place(m.gone.iter().position(|&g| g).unwrap_or(0), &m.dims)
            )),
        }
    }

    /// Whether an argument is computed from inputs, and so no constant.
    pub fn is_computed(&self, i: usize) -> bool {
        self.arg(i).is_some_and(|v| v.known().is_none())
    }

    /// Whether an argument holds integers that are computed: they are numbers here, but a runtime rounds what it makes of them.
    pub fn is_whole(&self, i: usize) -> bool {
        self.whole.get(i) == Some(&true)
    }

    /// The shape of an argument.
    pub fn dims(&self, i: usize) -> Result<Vec<usize>, Fault> {
        Ok(self.need(i)?.dims(self.b))
    }

    /// The shape of an atom.
    pub fn shape(&self, a: Atom) -> Vec<usize> {
        self.b.shape(a).dims().to_vec()
    }

    /// An argument that says how something is computed, if it is there.
    pub fn fixed(&self, i: usize, what: &str) -> Result<Option<&Known>, Fault> {
        match self.arg(i) {
            None => Ok(None),
            Some(Value::Known(k)) => Ok(Some(k)),
            Some(Value::Real(_) | Value::Masked(_)) => refuse(format!(
                "its {what} must be a constant, but is computed from inputs; only values may be computed"
            )),
        }
    }

    /// Such an argument as integers.
    pub fn fixed_ints(&self, i: usize, what: &str) -> Result<Option<Vec<i64>>, Fault> {
        match self.fixed(i, what)? {
            None => Ok(None),
            Some(Known { data: Data::Int(d), .. }) => Ok(Some(d.to_vec())),
            Some(_) => refuse(format!("its {what} must be integers")),
        }
    }

    /// Such an argument as one number; nothing if it is not there or infinite.
    pub fn fixed_number(&self, i: usize, what: &str) -> Result<Option<f64>, Fault> {
        match self.fixed(i, what)?.map(|k| (k.as_floats(), k.len())) {
            None => Ok(None),
            Some((Some(d), 1)) => Ok(Some(d[0])),
            Some(_) => refuse(format!("its {what} must be one number")),
        }
    }

    // ---- parameters

    fn attribute(&self, name: &str) -> Option<&AttributeProto> {
        self.node.attribute.iter().find(|a| a.name() == name)
    }

    /// Whether a parameter is given.
    pub fn has(&self, name: &str) -> bool {
        self.attribute(name).is_some()
    }

    fn typed<T>(&self, name: &str, get: impl Fn(&AttributeProto) -> Option<T>, what: &str) -> Result<Option<T>, Fault> {
        let Some(a) = self.attribute(name) else { return Ok(None) };
        match get(a) {
            Some(value) => Ok(Some(value)),
            None => refuse(format!("its attribute `{name}` is no {what}")),
        }
    }

    /// An integer.
    pub fn int(&self, name: &str, default: i64) -> Result<i64, Fault> {
        // a file may leave out what is 0
        let zero = |a: &AttributeProto| a.i.or((a.r#type() == 2).then_some(0));
        Ok(self.typed(name, zero, "integer")?.unwrap_or(default))
    }

    /// An integer that is 0 or 1.
    pub fn flag(&self, name: &str, default: bool) -> Result<bool, Fault> {
        match self.int(name, i64::from(default))? {
            0 => Ok(false),
            1 => Ok(true),
            other => refuse(format!("its attribute `{name}` is {other}; it may be 0 or 1")),
        }
    }

    /// A number, which is that of the f32 in the file.
    pub fn float(&self, name: &str, default: f64) -> Result<f64, Fault> {
        let zero = |a: &AttributeProto| a.f.or((a.r#type() == 1).then_some(0.0));
        let given = self.typed(name, zero, "number")?;
        match given.map_or(default, f64::from) {
            x if x.is_finite() => Ok(x),
            x => refuse(format!("its attribute `{name}` is {x}; it must be finite")),
        }
    }

    /// The same, exactly.
    pub fn exact(&self, name: &str, default: f64) -> Result<Rational, Fault> {
        rational(self.float(name, default)?)
    }

    /// Integers.
    pub fn ints(&self, name: &str) -> Result<Option<Vec<i64>>, Fault> {
        self.typed(name, |a| Some(a.ints.clone()), "list of integers")
    }

    /// Numbers.
    pub fn floats(&self, name: &str) -> Result<Option<Vec<f64>>, Fault> {
        self.typed(name, |a| Some(a.floats.iter().map(|&f| f64::from(f)).collect()), "list of numbers")
    }

    /// A word.
    pub fn word(&self, name: &str, default: &str) -> Result<String, Fault> {
        let text = |a: &AttributeProto| String::from_utf8(a.s.as_ref()?.to_vec()).ok();
        Ok(self.typed(name, text, "word")?.unwrap_or_else(|| default.into()))
    }

    /// Words, if there are any.
    pub fn words(&self, name: &str) -> Result<Option<Vec<String>>, Fault> {
        let word = |s: &prost::bytes::Bytes| String::from_utf8(s.to_vec()).ok();
        let texts = |a: &AttributeProto| a.strings.iter().map(word).collect::<Option<Vec<_>>>();
        Ok(self.typed(name, texts, "list of words")?.filter(|words| !words.is_empty()))
    }

    /// A word of a few; the first one unless it is given.
    pub fn one_of(&self, name: &str, words: &[&'static str]) -> Result<&'static str, Fault> {
        let word = self.word(name, words.first().unwrap_or(&""))?;
        match words.iter().find(|w| **w == word) {
            Some(word) => Ok(word),
            None => refuse(format!("{name} `{}` is not supported; {} is", cut(&word), words.join(", "))),
        }
    }

    /// A tensor.
    pub fn tensor(&mut self, name: &str) -> Result<Option<Known>, Fault> {
        let Some(t) = self.typed(name, |a| a.t.clone(), "tensor")? else { return Ok(None) };
        Ok(Some(read(&t, self.options, self.budget)?))
    }

    /// Integers that are a parameter in old sets of operators and an argument from `since` on.
    pub fn ints_of(&self, name: &str, position: usize, since: i64) -> Result<Option<Vec<i64>>, Fault> {
        if self.opset < since { self.ints(name) } else { self.fixed_ints(position, name) }
    }

    // ---- axes

    /// An axis of that many, which may count from the end.
    pub fn axis(&self, axis: i64, rank: usize) -> Result<usize, Fault> {
        let from_start = if axis < 0 { axis.checked_add(rank as i64) } else { Some(axis) };
        match from_start.and_then(|a| usize::try_from(a).ok()).filter(|&a| a < rank) {
            Some(axis) => Ok(axis),
            None => refuse(format!("there is no axis {axis} among {rank}")),
        }
    }

    /// Several axes, each named once, in ascending order.
    pub fn axes(&self, axes: &[i64], rank: usize) -> Result<Vec<usize>, Fault> {
        if axes.len() > MAX_RANK {
            return refuse(format!("it names {} axes; there may be {MAX_RANK}", axes.len()));
        }
        let mut found = axes.iter().map(|&a| self.axis(a, rank)).collect::<Result<Vec<_>, _>>()?;
        found.sort_unstable();
        if found.windows(2).any(|w| w[0] == w[1]) {
            return refuse(format!("its axes {axes:?} name one twice"));
        }
        Ok(found)
    }

    // ---- words of operators

    /// A constant of the program.
    pub fn constant(&mut self, c: f64) -> Result<Atom, Fault> {
        Ok(self.b.constant_f64(c)?)
    }

    /// The same numbers spread over a larger shape.
    pub fn spread(&mut self, a: Atom, dims: &[usize]) -> Result<Atom, Fault> {
        Ok(self.b.broadcast(a, &Shape::new(dims.to_vec())?)?)
    }

    /// The same numbers in another shape.
    pub fn reshape(&mut self, a: Atom, dims: &[usize]) -> Result<Atom, Fault> {
        count(dims)?;
        Ok(self.b.reshape(a, &Shape::new(dims.to_vec())?)?)
    }

    /// A value read through an index map.
    pub fn moved(&mut self, v: &Value, layout: Layout, dims: Vec<usize>) -> Result<Value, Fault> {
        v.moved(layout, dims, self.b, self.budget)
    }

    /// An elementwise operation on atoms of shapes that spread over one another; constants of the table fit everywhere.
    pub fn apply(&mut self, op: impl Into<Op>, args: &[Atom]) -> Result<Atom, Fault> {
        let mut dims: Vec<usize> = Vec::new();
        for &a in args {
            dims = together(&dims, &self.shape(a))?;
        }
        let args = args.iter().map(|&a| if a.value().is_none() { Ok(a) } else { self.spread(a, &dims) });
        let args = args.collect::<Result<Vec<_>, _>>()?;
        Ok(self.b.elementwise(op, &args)?)
    }

    /// An operation on the numbers along some axes together, which disappear.
    pub fn lane(&mut self, op: Op, a: Atom, axes: &[usize]) -> Result<Atom, Fault> {
        let dims = self.shape(a);
        let rest: Vec<usize> = (0..dims.len()).filter(|i| !axes.contains(i)).collect();
        let order: Vec<usize> = rest.iter().chain(axes).copied().collect();
        let moved = self.b.transpose(a, &order)?;
        let mut to: Vec<usize> = rest.iter().map(|&i| dims[i]).collect();
        to.push(axes.iter().map(|&i| dims[i]).product());
        let flat = self.reshape(moved, &to)?;
        Ok(self.b.push1(op, &[flat])?)
    }

    /// The larger of numbers and a constant; the numbers win a tie.
    pub fn at_least(&mut self, a: Atom, c: Atom) -> Result<Atom, Fault> {
        Ok(self.b.lane(&Kink::Max(Lane::Args), &[a, c])?[0])
    }

    /// The smaller of numbers and a constant; the numbers win a tie.
    pub fn at_most(&mut self, a: Atom, c: Atom) -> Result<Atom, Fault> {
        Ok(self.b.lane(&Kink::Min(Lane::Args), &[a, c])?[0])
    }

    /// Neighbouring parts of a value along an axis.
    pub fn range(&mut self, v: &Value, axis: usize, first: usize, size: usize) -> Result<Value, Fault> {
        let from = v.dims(self.b);
        let inner: usize = from[axis + 1..].iter().product();
        let outer: usize = from[..axis].iter().product();
        let mut dims = from.clone();
        dims[axis] = size;
        let loops = [(outer, (from[axis] * inner) as isize), (size * inner, 1)];
        self.moved(v, Layout::strided(first * inner, &loops), dims)
    }

    /// The parts of a value at some positions of an axis.
    pub fn gather(&mut self, v: &Value, axis: usize, positions: &[usize]) -> Result<Value, Fault> {
        let from = v.dims(self.b);
        let n = from[axis];
        if let Some(bad) = positions.iter().find(|&&p| p >= n) {
            return refuse(format!("there is no position {bad} on an axis of size {n}"));
        }
        let mut dims = from.clone();
        dims[axis] = positions.len();
        let total = count(&dims)?;
        let inner: usize = from[axis + 1..].iter().product();
        let outer: usize = from[..axis].iter().product();
        if total == 0 {
            return self.moved(v, Layout::identity(1), dims);
        }
        let step = positions.get(1).map_or(0, |&p| p as isize - positions[0] as isize);
        let even = positions.windows(2).all(|w| w[1] as isize - w[0] as isize == step);
        let layout = if even {
            let loops = [(outer, (n * inner) as isize), (positions.len(), step * inner as isize), (inner, 1)];
            Layout::strided(positions[0] * inner, &loops)
        } else {
            self.budget.spend(total)?;
            let mut table = Vec::with_capacity(total);
            for o in 0..outer {
                for &p in positions {
                    let start = (o * n + p) * inner;
                    table.extend((start..start + inner).map(|k| k as u32));
                }
            }
            Layout::table(table)
        };
        self.moved(v, layout, dims)
    }
}

/// A finite float as the number that it is.
pub(super) fn rational(x: f64) -> Result<Rational, Fault> {
    match Rational::from_f64(x) {
        Some(r) => Ok(r),
        None => refuse(format!("{x} is not finite")),
    }
}

/// The shape that two shapes spread to, matched from the last axis.
pub(super) fn together(a: &[usize], b: &[usize]) -> Result<Vec<usize>, Fault> {
    let rank = a.len().max(b.len());
    let at = |s: &[usize], i: usize| (i + s.len()).checked_sub(rank).map_or(1, |i| s[i]);
    let dims = (0..rank).map(|i| match (at(a, i), at(b, i)) {
        (x, y) if x == y => Ok(x),
        (1, y) => Ok(y),
        (x, 1) => Ok(x),
        _ => {
            refuse(format!("shapes {a:?} and {b:?} do not spread to one: from the last axis, sizes must be equal or 1"))
        }
    });
    dims.collect()
}
