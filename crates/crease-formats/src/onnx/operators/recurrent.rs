//! Recurrent layers: RNN, GRU and LSTM, each as a loop over the steps of a sequence, in one direction or both.
//!
//! What does not depend on the state, the products of all steps with the weights of the input and all biases that can be added there, is computed for the whole sequence at
//! once; the body of the loop has the products with the state. A layer that goes backward is a loop that does.

use super::product::multiplied;
use crate::onnx::call::{Call, Results, rational};
use crate::onnx::error::{Fault, cut, refuse};
use crate::onnx::values::Value;
use crease_core::op::Comparison;
use crease_core::{Atom, BuildError, Builder, Kink, Op, Rational, Scan, Shape, Smooth};
use std::sync::Arc;

/// The kinds of layers, with their gates.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Rnn,
    Gru,
    Lstm,
}

impl Kind {
    /// How many gates there are, and which functions they go through unless told otherwise.
    fn gates(self) -> (usize, &'static [&'static str]) {
        match self {
            Kind::Rnn => (1, &["Tanh"]),
            Kind::Gru => (3, &["Sigmoid", "Tanh"]),
            Kind::Lstm => (4, &["Sigmoid", "Tanh", "Tanh"]),
        }
    }
}

pub fn rnn(c: &mut Call<'_>) -> Results {
    read(c, Kind::Rnn)
}

pub fn gru(c: &mut Call<'_>) -> Results {
    read(c, Kind::Gru)
}

pub fn lstm(c: &mut Call<'_>) -> Results {
    read(c, Kind::Lstm)
}

/// Sizes that all directions share.
#[derive(Clone, Copy)]
struct Sizes {
    steps: usize,
    batch: usize,
    input: usize,
    hidden: usize,
}

fn read(c: &mut Call<'_>, kind: Kind) -> Results {
    let (gates, _) = kind.gates();
    let backward = match c.one_of("direction", &["forward", "reverse", "bidirectional"])? {
        "forward" => vec![false],
        "reverse" => vec![true],
        _ => vec![false, true],
    };
    let functions = functions(c, kind, backward.len())?;
    let clip = if c.has("clip") { Some(c.exact("clip", 0.0)?) } else { None };
    if clip.as_ref().is_some_and(|bound| !bound.is_positive()) {
        return refuse("its clip must be positive");
    }
    let coupled = kind == Kind::Lstm && c.flag("input_forget", false)?;
    let batch_first = c.flag("layout", false)?;
    let mut x = c.real(0)?;
    if batch_first && c.shape(x).len() == 3 {
        x = c.b.transpose(x, &[1, 0, 2])?;
    }
    let dims = c.shape(x);
    let (w, r) = (c.real(1)?, c.real(2)?);
    let (dw, dr) = (c.shape(w), c.shape(r));
    let (&[steps, batch, input], &[directions, rows, columns]) = (&dims[..], &dw[..]) else {
        return refuse(format!(
            "it takes a sequence [steps, batch, input] and weights of three axes, not {dims:?} and {dw:?}"
        ));
    };
    let hidden = rows / gates;
    let declared = c.int("hidden_size", hidden as i64)?;
    let fits = directions == backward.len() && columns == input && rows == gates * hidden;
    if !fits || dr != [directions, rows, hidden] || declared != hidden as i64 {
        return refuse(format!(
            "weights {dw:?} and {dr:?} do not fit a sequence {dims:?} with {declared} numbers of state in {} directions",
            backward.len()
        ));
    }
    let size = Sizes { steps, batch, input, hidden };
    if c.fixed_ints(4, "sequence_lens")?.is_some_and(|lens| lens.iter().any(|&n| n != steps as i64)) {
        return refuse("its sequences end at different steps (sequence_lens), which is not supported");
    }
    let biases = expected(c, 3, &[directions, 2 * rows], "biases")?;
    let state = if batch_first { [batch, directions, hidden] } else { [directions, batch, hidden] };
    let first_h = expected(c, 5, &state, "initial state")?;
    let first_c = if kind == Kind::Lstm { expected(c, 6, &state, "initial cells")? } else { None };
    let peepholes = if kind == Kind::Lstm { expected(c, 7, &[directions, 3 * hidden], "peepholes")? } else { None };
    let mut ends: [Vec<Atom>; 3] = Default::default();
    for (d, &back) in backward.iter().enumerate() {
        let mut part = |a: Option<Atom>, batch_first: bool| -> Result<Option<Atom>, Fault> {
            let Some(mut a) = a else { return Ok(None) };
            if batch_first {
                a = c.b.transpose(a, &[1, 0, 2])?;
            }
            Ok(Some(c.b.at(a, &[d])?))
        };
        let direction = Direction {
            size,
            kind,
            back,
            w: part(Some(w), false)?.unwrap_or(w),
            r: part(Some(r), false)?.unwrap_or(r),
            biases: part(biases, false)?,
            h: part(first_h, batch_first)?,
            c: part(first_c, batch_first)?,
            peepholes: part(peepholes, false)?,
            functions: &functions[d * kind.gates().1.len()..][..kind.gates().1.len()],
            clip: clip.as_ref(),
            coupled,
        };
        for (list, end) in ends.iter_mut().zip(direction.write(c, x)?) {
            list.push(end);
        }
    }
    results(c, size, kind, batch_first, &ends)
}

/// What the layer gives: all states, the last of them, and the last cells of an LSTM.
fn results(c: &mut Call<'_>, size: Sizes, kind: Kind, batch_first: bool, ends: &[Vec<Atom>; 3]) -> Results {
    let Sizes { steps, batch, hidden, .. } = size;
    let mut stacked = |list: &[Atom], dims: &[usize], axis: isize, order: &[usize]| -> Result<Value, Fault> {
        let parts = list.iter().map(|&a| c.reshape(a, dims)).collect::<Result<Vec<_>, _>>()?;
        let mut all = c.b.concat(&parts, axis)?;
        if batch_first {
            all = c.b.transpose(all, order)?;
        }
        Ok(Value::Real(all))
    };
    let mut out = vec![stacked(&ends[0], &[steps, 1, batch, hidden], 1, &[2, 0, 1, 3])?];
    out.push(stacked(&ends[1], &[1, batch, hidden], 0, &[1, 0, 2])?);
    if kind == Kind::Lstm {
        out.push(stacked(&ends[2], &[1, batch, hidden], 0, &[1, 0, 2])?);
    }
    Ok(out)
}

/// An argument of that shape, if it is there.
fn expected(c: &mut Call<'_>, i: usize, dims: &[usize], what: &str) -> Result<Option<Atom>, Fault> {
    if c.arg(i).is_none() {
        return Ok(None);
    }
    let a = c.real(i)?;
    let got = c.shape(a);
    // a number that stands for all is spread
    if a.value().is_none() {
        return Ok(Some(c.spread(a, dims)?));
    }
    if got != dims {
        return refuse(format!("its {what} have shape {got:?}, expected {dims:?}"));
    }
    Ok(Some(a))
}

/// A function of a gate, with its parameters.
enum Function {
    Plain(Op),
    Softsign,
    /// `alpha * x + beta`.
    Affine(Rational, Rational),
    /// `alpha * tanh(beta * x)`.
    ScaledTanh(Rational, Rational),
    /// `alpha * x + beta` between 0 and 1.
    HardSigmoid(Rational, Rational),
    /// `x` above alpha, else 0.
    Thresholded(Rational),
}

impl Function {
    fn apply(&self, b: &mut Builder, x: Atom) -> Result<Atom, BuildError> {
        let line = |b: &mut Builder, alpha: &Rational, beta: &Rational| {
            let (alpha, beta) = (b.constant(alpha.clone()), b.constant(beta.clone()));
            let steep = b.mul(x, alpha)?;
            b.add(steep, beta)
        };
        match self {
            Function::Plain(op) => b.push1(op.clone(), &[x]),
            Function::Softsign => b.softsign(x),
            Function::Affine(alpha, beta) => line(b, alpha, beta),
            Function::ScaledTanh(alpha, beta) => {
                let (alpha, beta) = (b.constant(alpha.clone()), b.constant(beta.clone()));
                let steep = b.mul(x, beta)?;
                let bent = b.push1(Smooth::Tanh, &[steep])?;
                b.mul(bent, alpha)
            }
            Function::HardSigmoid(alpha, beta) => {
                let line = line(b, alpha, beta)?;
                let (zero, unit) = (b.constant(0), b.constant(1));
                b.clamp(line, zero, unit)
            }
            Function::Thresholded(alpha) => {
                let (alpha, zero) = (b.constant(alpha.clone()), b.constant(0));
                let above = b.compare(Comparison::Greater, x, alpha)?;
                b.choose(above, x, zero)
            }
        }
    }
}

/// The functions of the gates, for each direction in turn. Those that have parameters take them from two lists, each the next one.
fn functions(c: &Call<'_>, kind: Kind, directions: usize) -> Result<Vec<Function>, Fault> {
    let (_, usual) = kind.gates();
    let words =
        c.words("activations")?.unwrap_or_else(|| usual.repeat(directions).iter().map(|w| w.to_string()).collect());
    if words.len() != usual.len() * directions {
        return refuse(format!(
            "it names {} functions for its gates, expected {}",
            words.len(),
            usual.len() * directions
        ));
    }
    let (alphas, betas) =
        (c.floats("activation_alpha")?.unwrap_or_default(), c.floats("activation_beta")?.unwrap_or_default());
    let (mut alphas, mut betas) = (alphas.into_iter(), betas.into_iter());
    let mut all = Vec::new();
    for word in &words {
        let mut alpha = |usual: f64| rational(alphas.next().unwrap_or(usual));
        let mut beta = |usual: f64| rational(betas.next().unwrap_or(usual));
        all.push(match &*word.to_ascii_lowercase() {
            "sigmoid" => Function::Plain(Op::Smooth(Smooth::Sigmoid)),
            "tanh" => Function::Plain(Op::Smooth(Smooth::Tanh)),
            "relu" => Function::Plain(Op::Kink(Kink::Relu)),
            "softplus" => Function::Plain(Op::Smooth(Smooth::Softplus)),
            "softsign" => Function::Softsign,
            "affine" => Function::Affine(alpha(1.0)?, beta(0.0)?),
            "scaledtanh" => Function::ScaledTanh(alpha(1.0)?, beta(1.0)?),
            "hardsigmoid" => Function::HardSigmoid(alpha(f64::from(0.2f32))?, beta(0.5)?),
            "thresholdedrelu" => Function::Thresholded(alpha(1.0)?),
            "leakyrelu" => match alpha(f64::from(0.01f32))? {
                slope if slope < Rational::ONE => Function::Plain(Op::Kink(Kink::LeakyRelu(slope))),
                _ => return refuse("the slope of a LeakyRelu of a gate must be below 1"),
            },
            "elu" => match alpha(1.0)? {
                scale if scale.is_positive() => Function::Plain(Op::Kink(Kink::Elu(scale))),
                _ => return refuse("the alpha of an Elu of a gate must be positive"),
            },
            _ => {
                return refuse(format!(
                    "the function `{}` of a gate is not supported; Sigmoid, Tanh, Relu, Affine, LeakyRelu, ThresholdedRelu, ScaledTanh, HardSigmoid, Elu, Softsign and Softplus are",
                    cut(word)
                ));
            }
        });
    }
    Ok(all)
}

/// One direction of a layer.
struct Direction<'f> {
    size: Sizes,
    kind: Kind,
    back: bool,
    w: Atom,
    r: Atom,
    biases: Option<Atom>,
    h: Option<Atom>,
    c: Option<Atom>,
    peepholes: Option<Atom>,
    functions: &'f [Function],
    /// What goes into functions lies between this and its opposite.
    clip: Option<&'f Rational>,
    /// Whether the forget gate is 1 minus the input gate.
    coupled: bool,
}

impl Direction<'_> {
    /// All states, the last state, the last cells (of an LSTM).
    fn write(&self, c: &mut Call<'_>, x: Atom) -> Result<Vec<Atom>, Fault> {
        let Sizes { steps, batch, input, hidden, .. } = self.size;
        let rows = self.kind.gates().0 * hidden;
        let reset_after = self.kind == Kind::Gru && c.flag("linear_before_reset", false)?;
        // all that the input gives, for all steps at once
        let flat = c.reshape(x, &[steps * batch, input])?;
        let mut given = multiplied(c, flat, self.w, false, true)?;
        let mut later = None;
        if let Some(biases) = self.biases {
            let first = c.b.slice(biases, &[(0, rows, 1)])?;
            let second = c.b.slice(biases, &[(rows, rows, 1)])?;
            given = c.apply(Op::Add, &[given, first])?;
            let early = if reset_after { 2 * hidden } else { rows };
            let now = c.b.slice(second, &[(0, early, 1)])?;
            let now = if early == rows {
                now
            } else {
                let rest = c.b.zeros(Shape::new([rows - early])?)?;
                later = Some(c.b.slice(second, &[(early, rows - early, 1)])?);
                c.b.concat(&[now, rest], 0)?
            };
            given = c.apply(Op::Add, &[given, now])?;
        }
        let given = c.reshape(given, &[steps, batch, rows])?;
        let state = Shape::new([batch, hidden])?;
        let zeros = c.b.zeros(state.clone())?;
        let mut carried = vec![self.h.unwrap_or(zeros)];
        if self.kind == Kind::Lstm {
            carried.push(self.c.unwrap_or(zeros));
        }
        let mut still = vec![self.r];
        for extra in [later, self.peepholes].into_iter().flatten() {
            let dims = [batch, c.shape(extra)[0]];
            still.push(c.spread(extra, &dims)?);
        }
        let body = self.body(rows, reset_after, later.is_some())?;
        let body = c.b.callee(Arc::new(body), None)?;
        let scan = Scan { body, turns: steps, carried: carried.len(), each: 1, back: self.back };
        let args: Vec<Atom> = carried.into_iter().chain([given]).chain(still).collect();
        let mut all = c.b.push(scan, &args)?;
        // the states of all steps come last
        all.rotate_right(1);
        Ok(all)
    }

    /// One step.
    fn body(&self, rows: usize, reset_after: bool, later: bool) -> Result<crease_core::Program, BuildError> {
        let Sizes { batch, hidden, .. } = self.size;
        let mut b = Builder::new("step");
        let h = b.input("h", Shape::new([batch, hidden])?)?;
        let cell = match self.kind {
            Kind::Lstm => Some(b.input("c", Shape::new([batch, hidden])?)?),
            _ => None,
        };
        let given = b.input("given", Shape::new([batch, rows])?)?;
        let r = b.input("r", Shape::new([rows, hidden])?)?;
        let later = if later { Some(b.input("bias", Shape::new([batch, hidden])?)?) } else { None };
        let holes = match self.peepholes {
            Some(_) => Some(b.input("peepholes", Shape::new([batch, 3 * hidden])?)?),
            None => None,
        };
        let mut step = Step { b, hidden, batch, functions: self.functions, clip: self.clip, coupled: self.coupled };
        let outputs = match self.kind {
            Kind::Rnn => {
                let z = step.both(given, h, r, 0, 1)?;
                let h = step.through(0, z)?;
                vec![h, h]
            }
            Kind::Gru => step.gru(given, h, r, reset_after, later)?,
            Kind::Lstm => step.lstm(given, h, cell.unwrap_or(h), r, holes)?,
        };
        step.b.finish(&outputs)
    }
}

/// What writes one step down.
struct Step<'f> {
    b: Builder,
    hidden: usize,
    batch: usize,
    functions: &'f [Function],
    clip: Option<&'f Rational>,
    coupled: bool,
}

impl Step<'_> {
    /// A part of the gates.
    fn gate(&mut self, all: Atom, first: usize, count: usize) -> Result<Atom, BuildError> {
        self.b.slice(all, &[(0, self.batch, 1), (first * self.hidden, count * self.hidden, 1)])
    }

    /// State times some rows of the weights.
    fn times(&mut self, h: Atom, r: Atom, first: usize, count: usize) -> Result<Atom, BuildError> {
        let rows = self.b.slice(r, &[(first * self.hidden, count * self.hidden, 1), (0, self.hidden, 1)])?;
        self.b.push1(Op::MatMul { transpose_a: false, transpose_b: true }, &[h, rows])
    }

    /// What input and state give to some gates together.
    fn both(&mut self, given: Atom, h: Atom, r: Atom, first: usize, count: usize) -> Result<Atom, BuildError> {
        let from_state = self.times(h, r, first, count)?;
        let from_input = self.gate(given, first, count)?;
        self.b.add(from_input, from_state)
    }

    fn through(&mut self, function: usize, x: Atom) -> Result<Atom, BuildError> {
        let x = match self.clip {
            None => x,
            Some(bound) => {
                let (low, high) = (self.b.constant(-bound.clone()), self.b.constant(bound.clone()));
                self.b.clamp(x, low, high)?
            }
        };
        self.functions[function].apply(&mut self.b, x)
    }

    fn gru(
        &mut self,
        given: Atom,
        h: Atom,
        r: Atom,
        reset_after: bool,
        later: Option<Atom>,
    ) -> Result<Vec<Atom>, BuildError> {
        let gates = self.both(given, h, r, 0, 2)?;
        let gates = self.through(0, gates)?;
        let (update, reset) = (self.gate(gates, 0, 1)?, self.gate(gates, 1, 1)?);
        let from_input = self.gate(given, 2, 1)?;
        let from_state = if reset_after {
            let mut from_state = self.times(h, r, 2, 1)?;
            if let Some(bias) = later {
                from_state = self.b.add(from_state, bias)?;
            }
            self.b.mul(reset, from_state)?
        } else {
            let less = self.b.mul(reset, h)?;
            self.times(less, r, 2, 1)?
        };
        let new = self.b.add(from_input, from_state)?;
        let new = self.through(1, new)?;
        // (1 - z) * new + z * h
        let change = self.b.sub(h, new)?;
        let change = self.b.mul(update, change)?;
        let h = self.b.add(new, change)?;
        Ok(vec![h, h])
    }

    fn lstm(&mut self, given: Atom, h: Atom, c: Atom, r: Atom, holes: Option<Atom>) -> Result<Vec<Atom>, BuildError> {
        // in the order of the format: input, output, forget, cell
        let gates = self.both(given, h, r, 0, 4)?;
        let gate = |s: &mut Self, number: usize, looks_at: Option<Atom>| -> Result<Atom, BuildError> {
            let mut g = s.gate(gates, number, 1)?;
            if let (Some(holes), Some(c)) = (holes, looks_at) {
                let weights = s.gate(holes, number, 1)?;
                let seen = s.b.mul(weights, c)?;
                g = s.b.add(g, seen)?;
            }
            s.through(if number == 3 { 1 } else { 0 }, g)
        };
        let (input, new) = (gate(self, 0, Some(c))?, gate(self, 3, None)?);
        let forget = if self.coupled {
            let unit = self.b.constant(1);
            self.b.sub(unit, input)?
        } else {
            gate(self, 2, Some(c))?
        };
        let kept = self.b.mul(forget, c)?;
        let added = self.b.mul(input, new)?;
        let c = self.b.add(kept, added)?;
        let output = gate(self, 1, Some(c))?;
        let shown = self.through(2, c)?;
        let h = self.b.mul(output, shown)?;
        Ok(vec![h, c, h])
    }
}
