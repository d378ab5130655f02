//! A runtime for ONNX of some hundred lines, for the operators that the writer uses and as the standard defines them: it shares nothing with
//! the reader but the messages. Numbers are doubles; an operator that it does not know is a panic.

use crease_formats::onnx::messages::*;
use prost::Message;
use std::collections::HashMap;

/// A tensor; truth values and integers are numbers, too, and `kind` is the type that ONNX has for them.
#[derive(Clone, Debug, PartialEq)]
pub struct T {
    pub kind: i32,
    pub dims: Vec<usize>,
    pub data: Vec<f64>,
}

// floats of both types are doubles here
const DOUBLE: i32 = 11;
const INT: i32 = 7;
const BOOL: i32 = 9;

impl T {
    pub fn new(dims: &[usize], data: Vec<f64>) -> T {
        assert_eq!(dims.iter().product::<usize>(), data.len(), "{dims:?}");
        T { kind: DOUBLE, dims: dims.to_vec(), data }
    }

    fn of(self, kind: i32) -> T {
        T { kind, ..self }
    }

    fn ints(&self) -> Vec<i64> {
        assert_eq!(self.kind, INT);
        self.data.iter().map(|&x| x as i64).collect()
    }

    fn axis(&self, axis: i64) -> usize {
        let axis = if axis < 0 { axis + self.dims.len() as i64 } else { axis };
        assert!((0..self.dims.len() as i64).contains(&axis));
        axis as usize
    }

    /// Sizes before, along and behind an axis.
    fn around(&self, axis: usize) -> (usize, usize, usize) {
        (self.dims[..axis].iter().product(), self.dims[axis], self.dims[axis + 1..].iter().product())
    }

    /// The numbers along an axis, lane by lane, with how far apart they lie.
    fn lanes(&self, axis: usize) -> Vec<(usize, usize)> {
        let (outer, n, inner) = self.around(axis);
        (0..outer).flat_map(|o| (0..inner).map(move |i| (o * n * inner + i, inner))).collect()
    }
}

/// Runs a model file: the outputs in order.
pub fn execute(bytes: &[u8], inputs: &[(&str, T)]) -> Vec<T> {
    let model = ModelProto::decode(bytes).expect("a model");
    assert_eq!(model.opset_import[0].version(), crease_formats::onnx::WRITTEN_OPSET);
    let graph = model.graph.expect("a graph");
    let mut env: HashMap<String, T> = graph.initializer.iter().map(|t| (t.name().to_string(), constant(t))).collect();
    for (port, (name, value)) in graph.input.iter().zip(inputs) {
        assert_eq!(port.name(), *name);
        assert_eq!(shape(port), value.dims, "{name}");
        env.insert(name.to_string(), value.clone());
    }
    assert_eq!(graph.input.len(), inputs.len());
    run_graph(&graph, &env)
}

fn shape(port: &ValueInfoProto) -> Vec<usize> {
    let of = port.r#type.as_ref().and_then(|t| t.tensor_type.as_ref()).and_then(|t| t.shape.as_ref());
    of.expect("a shape").dim.iter().map(|d| d.dim_value() as usize).collect()
}

fn run_graph(graph: &GraphProto, outer: &HashMap<String, T>) -> Vec<T> {
    let mut env = outer.clone();
    for node in &graph.node {
        let args: Vec<T> = node
            .input
            .iter()
            .map(|n| env.get(n).unwrap_or_else(|| panic!("{}: no `{n}`", node.name())).clone())
            .collect();
        let results = apply(node, &args, &env);
        assert_eq!(results.len(), node.output.len(), "{}", node.name());
        for (name, value) in node.output.iter().zip(results) {
            assert!(env.insert(name.clone(), value).is_none(), "`{name}` is computed twice");
        }
    }
    let out = |port: &ValueInfoProto| {
        let value = env[port.name()].clone();
        assert_eq!((shape(port), value.kind), (value.dims.clone(), DOUBLE), "{}", port.name());
        value
    };
    graph.output.iter().map(out).collect()
}

fn constant(t: &TensorProto) -> T {
    let raw = t.raw_data.as_ref().expect("raw data");
    let four = raw.chunks(4).map(|c| f32::from_le_bytes(c.try_into().expect("four bytes")));
    let eight = raw.chunks(8).map(|c| <[u8; 8]>::try_from(c).expect("eight bytes"));
    let data = match t.data_type() {
        1 => return T::new(&dims(t), four.map(f64::from).collect()),
        DOUBLE => eight.map(f64::from_le_bytes).collect(),
        INT => eight.map(|b| i64::from_le_bytes(b) as f64).collect(),
        other => panic!("constants of type {other}"),
    };
    T::new(&dims(t), data).of(t.data_type())
}

fn dims(t: &TensorProto) -> Vec<usize> {
    t.dims.iter().map(|&d| d as usize).collect()
}

fn spread(dims: &[&[usize]]) -> Vec<usize> {
    let rank = dims.iter().map(|d| d.len()).max().unwrap_or(0);
    let at = |d: &[usize], i: usize| (i + d.len()).checked_sub(rank).map_or(1, |j| d[j]);
    (0..rank)
        .map(|i| {
            let n = dims.iter().map(|d| at(d, i)).max().unwrap_or(1);
            assert!(dims.iter().all(|d| at(d, i) == 1 || at(d, i) == n), "{dims:?} do not spread");
            n
        })
        .collect()
}

/// The same numbers over and over, to a longer shape.
fn expanded(t: &T, dims: &[usize]) -> T {
    let rank = dims.len();
    let total: usize = dims.iter().product();
    let data = (0..total).map(|mut flat| {
        let (mut from, mut stride) = (0, 1);
        for i in (0..rank).rev() {
            let digit = flat % dims[i];
            flat /= dims[i];
            if let Some(j) = (i + t.dims.len()).checked_sub(rank) {
                from += if t.dims[j] == 1 { 0 } else { digit * stride };
                stride *= t.dims[j];
            }
        }
        t.data[from]
    });
    T::new(dims, data.collect()).of(t.kind)
}

fn each(args: &[T], f: impl Fn(&[f64]) -> f64) -> T {
    let dims = spread(&args.iter().map(|a| &a.dims[..]).collect::<Vec<_>>());
    let all: Vec<T> = args.iter().map(|a| expanded(a, &dims)).collect();
    let n = dims.iter().product();
    T::new(&dims, (0..n).map(|i| f(&all.iter().map(|t| t.data[i]).collect::<Vec<_>>())).collect()).of(args[0].kind)
}

fn reduced(x: &T, axes: &[i64], keep: bool, f: impl Fn(&[f64]) -> f64) -> T {
    let axes: Vec<usize> = axes.iter().map(|&a| x.axis(a)).collect();
    let strides: Vec<usize> = (0..x.dims.len()).map(|i| x.dims[i + 1..].iter().product()).collect();
    let kept: Vec<usize> = (0..x.dims.len()).filter(|i| !axes.contains(i)).collect();
    let walk = |over: &[usize]| {
        let mut all = vec![0usize];
        for &a in over {
            all = all
                .iter()
                .flat_map(|&p| (0..x.dims[a]).map(move |i| (p, i)))
                .map(|(p, i)| p + i * strides[a])
                .collect();
        }
        all
    };
    let inside = walk(&axes);
    let data = walk(&kept).into_iter().map(|p| f(&inside.iter().map(|i| x.data[p + i]).collect::<Vec<_>>())).collect();
    let dims: Vec<usize> = match keep {
        true => (0..x.dims.len()).map(|i| if axes.contains(&i) { 1 } else { x.dims[i] }).collect(),
        false => kept.iter().map(|&i| x.dims[i]).collect(),
    };
    T::new(&dims, data)
}

fn apply(node: &NodeProto, args: &[T], env: &HashMap<String, T>) -> Vec<T> {
    let attribute = |name: &str| node.attribute.iter().find(|a| a.name() == name);
    let int = |name: &str, default: i64| attribute(name).map_or(default, |a| a.i());
    let unary = |f: fn(f64) -> f64| vec![each(&args[..1], |x| f(x[0]))];
    let same = || assert!(args.windows(2).all(|w| w[0].kind == w[1].kind), "{}: mixed types", node.name());
    let binary = |f: fn(f64, f64) -> f64| {
        same();
        vec![each(args, |x| f(x[0], x[1]))]
    };
    let truth = |f: fn(f64, f64) -> bool| {
        same();
        vec![each(args, |x| f64::from(u8::from(f(x[0], x[1])))).of(BOOL)]
    };
    let reduce = |f: fn(&[f64]) -> f64| vec![reduced(&args[0], &args[1].ints(), int("keepdims", 1) == 1, f)];
    let fold = |f: fn(f64, f64) -> f64| vec![each(args, |x| x[1..].iter().fold(x[0], |a, &b| f(a, b)))];
    match node.op_type() {
        "Identity" => args.to_vec(),
        "Add" => binary(|a, b| a + b),
        "Sub" => binary(|a, b| a - b),
        "Mul" => binary(|a, b| a * b),
        "Div" => binary(|a, b| a / b),
        "Pow" => binary(f64::powf),
        "PRelu" => binary(|x, s| if x < 0.0 { s * x } else { x }),
        "Max" => fold(|a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }),
        "Min" => fold(|a, b| if a.is_nan() || b.is_nan() { f64::NAN } else { a.min(b) }),
        "Sum" => fold(|a, b| a + b),
        "Neg" => unary(|x| -x),
        "Relu" => unary(|x| if x < 0.0 { 0.0 } else { x }),
        "Abs" => unary(f64::abs),
        "Sign" => unary(|x| {
            if x > 0.0 {
                1.0
            } else if x < 0.0 {
                -1.0
            } else {
                0.0
            }
        }),
        "Floor" => unary(f64::floor),
        "Ceil" => unary(f64::ceil),
        "Round" => unary(f64::round_ties_even),
        "Reciprocal" => unary(|x| 1.0 / x),
        "Exp" => unary(f64::exp),
        "Log" => unary(f64::ln),
        "Sqrt" => unary(f64::sqrt),
        "Sin" => unary(f64::sin),
        "Cos" => unary(f64::cos),
        "Tanh" => unary(f64::tanh),
        "Atan" => unary(|x| f64::from(x.atan() as f32)),
        "Sigmoid" => unary(|x| if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) }),
        "Softplus" => unary(|x| x.max(0.0) + (-x.abs()).exp().ln_1p()),
        "Erf" => unary(erf),
        "Less" => truth(|a, b| a < b),
        "LessOrEqual" => truth(|a, b| a <= b),
        "Greater" => truth(|a, b| a > b),
        "GreaterOrEqual" => truth(|a, b| a >= b),
        "Equal" => truth(|a, b| a == b),
        "And" => truth(|a, b| a * b == 1.0),
        "Or" => truth(|a, b| a + b > 0.0),
        "Not" => {
            assert_eq!(args[0].kind, BOOL);
            unary(|a| 1.0 - a)
        }
        "Where" => {
            assert!(args[0].kind == BOOL && args[1].kind == args[2].kind);
            vec![each(args, |x| if x[0] == 1.0 { x[1] } else { x[2] }).of(args[1].kind)]
        }
        "Cast" => match int("to", 0) as i32 {
            1 => vec![each(args, |x| f64::from(x[0] as f32)).of(DOUBLE)],
            INT => vec![each(args, |x| x[0].trunc()).of(INT)],
            to => vec![args[0].clone().of(to)],
        },
        "Reshape" => {
            let dims: Vec<usize> = args[1].ints().iter().map(|&d| d as usize).collect();
            vec![T::new(&dims, args[0].data.clone()).of(args[0].kind)]
        }
        "Expand" => {
            let dims: Vec<usize> = args[1].ints().iter().map(|&d| d as usize).collect();
            let dims = spread(&[&dims, &args[0].dims]);
            vec![expanded(&args[0], &dims)]
        }
        "Transpose" => {
            let perm: Vec<usize> = attribute("perm").expect("perm").ints.iter().map(|&i| i as usize).collect();
            let x = &args[0];
            let strides: Vec<usize> = (0..x.dims.len()).map(|i| x.dims[i + 1..].iter().product()).collect();
            let mut from = vec![0usize];
            for &p in &perm {
                from = from
                    .iter()
                    .flat_map(|&f| (0..x.dims[p]).map(move |i| (f, i)))
                    .map(|(f, i)| f + i * strides[p])
                    .collect();
            }
            let dims: Vec<usize> = perm.iter().map(|&p| x.dims[p]).collect();
            vec![T::new(&dims, from.iter().map(|&i| x.data[i]).collect()).of(x.kind)]
        }
        "Slice" => {
            let (starts, ends, axes) = (args[1].ints(), args[2].ints(), args[3].ints());
            let steps = args.get(4).map_or(vec![1; starts.len()], T::ints);
            let mut x = args[0].clone();
            for k in 0..axes.len() {
                let axis = x.axis(axes[k]);
                let n = x.dims[axis] as i64;
                let clamp =
                    |p: i64, low: i64, high: i64| (if p < 0 { p.saturating_add(n) } else { p }).clamp(low, high);
                let (from, to) = match steps[k] > 0 {
                    true => (clamp(starts[k], 0, n), clamp(ends[k], 0, n)),
                    false => (clamp(starts[k], 0, n - 1), clamp(ends[k], -1, n - 1)),
                };
                let mut places = Vec::new();
                let mut p = from;
                while if steps[k] > 0 { p < to } else { p > to } {
                    places.push(p as usize);
                    p += steps[k];
                }
                x = gathered(&x, axis, &places);
            }
            vec![x]
        }
        "Gather" => {
            let places: Vec<usize> = args[1].ints().iter().map(|&i| i as usize).collect();
            vec![gathered(&args[0], args[0].axis(int("axis", 0)), &places)]
        }
        "Concat" => {
            let axis = args[0].axis(int("axis", 0));
            let mut dims = args[0].dims.clone();
            dims[axis] = args.iter().map(|a| a.dims[axis]).sum();
            let outer: usize = dims[..axis].iter().product();
            let mut data = Vec::new();
            for o in 0..outer {
                for a in args {
                    let block = a.data.len() / outer;
                    data.extend_from_slice(&a.data[o * block..(o + 1) * block]);
                }
            }
            vec![T::new(&dims, data).of(args[0].kind)]
        }
        "Pad" => {
            let (x, pads) = (&args[0], args[1].ints());
            let rank = x.dims.len();
            let dims: Vec<usize> = (0..rank).map(|i| x.dims[i] + (pads[i] + pads[rank + i]) as usize).collect();
            let mut data = vec![0.0; dims.iter().product()];
            for (flat, &v) in x.data.iter().enumerate() {
                let (mut rest, mut to, mut stride) = (flat, 0, 1);
                for i in (0..rank).rev() {
                    to += (rest % x.dims[i] + pads[i] as usize) * stride;
                    rest /= x.dims[i];
                    stride *= dims[i];
                }
                data[to] = v;
            }
            vec![T::new(&dims, data)]
        }
        "ReduceMax" => reduce(|x| x.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
        "ReduceMin" => reduce(|x| x.iter().copied().fold(f64::INFINITY, f64::min)),
        "ReduceSum" => reduce(|x| x.iter().sum()),
        "ReduceL1" => reduce(|x| x.iter().map(|x| x.abs()).sum()),
        "ReduceL2" => reduce(|x| x.iter().map(|x| x * x).sum::<f64>().sqrt()),
        "ReduceLogSumExp" => reduce(|x| {
            let top = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            top + x.iter().map(|x| (x - top).exp()).sum::<f64>().ln()
        }),
        "Softmax" => {
            let mut x = args[0].clone();
            let axis = x.axis(int("axis", -1));
            for (start, step) in x.lanes(axis) {
                let places: Vec<usize> = (0..x.dims[axis]).map(|k| start + k * step).collect();
                let top = places.iter().map(|&p| x.data[p]).fold(f64::NEG_INFINITY, f64::max);
                let powers: Vec<f64> = places.iter().map(|&p| (x.data[p] - top).exp()).collect();
                let total: f64 = powers.iter().sum();
                places.iter().zip(powers).for_each(|(&p, e)| x.data[p] = e / total);
            }
            vec![x]
        }
        "ArgMax" | "ArgMin" => {
            let (x, last) = (&args[0], int("select_last_index", 0) == 1);
            let smallest = node.op_type() == "ArgMin";
            let axis = x.axis(int("axis", 0));
            let best = |(start, step): (usize, usize)| {
                let mut best = 0;
                for k in 1..x.dims[axis] {
                    let (a, b) = (x.data[start + k * step], x.data[start + best * step]);
                    if (if smallest { a < b } else { a > b }) || last && a == b {
                        best = k;
                    }
                }
                best as f64
            };
            let mut dims = x.dims.clone();
            match int("keepdims", 1) {
                0 => _ = dims.remove(axis),
                _ => dims[axis] = 1,
            }
            vec![T::new(&dims, x.lanes(axis).into_iter().map(best).collect()).of(INT)]
        }
        "TopK" => {
            let x = &args[0];
            let (axis, k) = (x.axis(int("axis", -1)), args[1].ints()[0] as usize);
            assert!(axis + 1 == x.dims.len() && int("largest", 1) == 0 && int("sorted", 1) == 1);
            let (mut values, mut places) = (Vec::new(), Vec::new());
            for lane in x.data.chunks(x.dims[axis]) {
                let mut order: Vec<usize> = (0..lane.len()).collect();
                order.sort_by(|&a, &b| lane[a].partial_cmp(&lane[b]).expect("numbers"));
                values.extend(order[..k].iter().map(|&i| lane[i]));
                places.extend(order[..k].iter().map(|&i| i as f64));
            }
            let mut dims = x.dims.clone();
            dims[axis] = k;
            vec![T::new(&dims, values), T::new(&dims, places).of(INT)]
        }
        "GatherElements" => {
            let (x, places) = (&args[0], &args[1]);
            assert!(x.axis(int("axis", 0)) + 1 == x.dims.len() && places.kind == INT);
            let last = x.dims.len() - 1;
            assert_eq!(x.dims[..last], places.dims[..last]);
            let (n, m) = (x.dims[last], places.dims[last]);
            let data = places.data.iter().enumerate().map(|(i, &p)| x.data[i / m * n + p as usize]);
            vec![T::new(&places.dims, data.collect())]
        }
        "ScatterElements" => {
            let (mut x, places, updates) = (args[0].clone(), &args[1], &args[2]);
            assert!(x.axis(int("axis", 0)) + 1 == x.dims.len() && places.kind == INT);
            assert_eq!(places.dims, updates.dims);
            let add = attribute("reduction").is_some_and(|a| a.s() == b"add");
            let (n, m) = (x.dims[x.dims.len() - 1], places.dims[places.dims.len() - 1]);
            for (i, (&p, &u)) in places.data.iter().zip(&updates.data).enumerate() {
                let to = &mut x.data[i / m * n + p as usize];
                *to = if add { *to + u } else { u };
            }
            vec![x]
        }
        "MatMul" => vec![product(&args[0], &args[1])],
        "Gemm" => {
            let turn = |t: &T, name: &str| match int(name, 0) {
                0 => t.clone(),
                _ => {
                    let (m, n) = (t.dims[0], t.dims[1]);
                    T::new(&[n, m], (0..m * n).map(|i| t.data[i % m * n + i / m]).collect())
                }
            };
            vec![product(&turn(&args[0], "transA"), &turn(&args[1], "transB"))]
        }
        "LeakyRelu" => {
            let slope = f64::from(attribute("alpha").expect("alpha").f());
            vec![each(args, |x| if x[0] < 0.0 { slope * x[0] } else { x[0] })]
        }
        "Tan" => unary(f64::tan),
        "Asin" => unary(f64::asin),
        "Acos" => unary(f64::acos),
        "Sinh" => unary(f64::sinh),
        "Cosh" => unary(f64::cosh),
        "Asinh" => unary(f64::asinh),
        "Acosh" => unary(f64::acosh),
        "Atanh" => unary(f64::atanh),
        "Conv" | "ConvTranspose" => {
            let list =
                |name: &str| attribute(name).expect("given").ints.iter().map(|&i| i as usize).collect::<Vec<_>>();
            let (strides, dilations, pads) = (list("strides"), list("dilations"), list("pads"));
            let axes = strides.len();
            let (x, w) = (&args[0], &args[1]);
            assert_eq!(list("kernel_shape"), w.dims[2..]);
            let forward = node.op_type() == "Conv";
            let reach = |i: usize| (w.dims[i] - 1) * dilations[i - 2] + 1;
            let slid = |i: usize| match forward {
                true => (x.dims[i] + pads[i - 2] + pads[axes + i - 2] - reach(i)) / strides[i - 2] + 1,
                false => (x.dims[i] - 1) * strides[i - 2] + reach(i) - pads[i - 2] - pads[axes + i - 2],
            };
            let to: Vec<usize> =
                [x.dims[0], w.dims[usize::from(!forward)]].into_iter().chain((2..x.dims.len()).map(slid)).collect();
            let (inside, kernel): (usize, usize) = (x.dims[2..].iter().product(), w.dims[2..].iter().product());
            let outside: usize = to[2..].iter().product();
            let digits = |mut flat: usize, dims: &[usize]| {
                let mut out = vec![0; dims.len()];
                for i in (0..dims.len()).rev() {
                    out[i] = flat % dims[i];
                    flat /= dims[i];
                }
                out
            };
            let flat = |at: &[usize], dims: &[usize]| at.iter().zip(dims).fold(0, |f, (a, d)| f * d + a);
            // the positions of one side, each with those of the other that windows lead to
            let (from, into) = if forward { (&to[2..], &x.dims[2..]) } else { (&x.dims[2..], &to[2..]) };
            let mut data = vec![0.0; to.iter().product()];
            for n in 0..to[0] {
                for a in 0..x.dims[1] {
                    for b in 0..to[1] {
                        for p in 0..from.iter().product::<usize>() {
                            for k in 0..kernel {
                                let at: Vec<usize> = digits(p, from)
                                    .iter()
                                    .zip(digits(k, &w.dims[2..]))
                                    .enumerate()
                                    .map(|(i, (p, k))| (p * strides[i] + k * dilations[i]).wrapping_sub(pads[i]))
                                    .collect();
                                if at.iter().zip(into).any(|(a, n)| a >= n) {
                                    continue;
                                }
                                let q = flat(&at, into);
                                let (place, source, weight) = match forward {
                                    true => (p, q, (b * x.dims[1] + a) * kernel + k),
                                    false => (q, p, (a * to[1] + b) * kernel + k),
                                };
                                data[(n * to[1] + b) * outside + place] +=
                                    x.data[(n * x.dims[1] + a) * inside + source] * w.data[weight];
                            }
                        }
                    }
                }
            }
            vec![T::new(&to, data)]
        }
        "If" => {
            assert!(args[0].kind == BOOL && args[0].data.len() == 1);
            let branch = if args[0].data[0] == 1.0 { "then_branch" } else { "else_branch" };
            let bytes = attribute(branch).and_then(|a| a.g.clone()).expect("a branch");
            run_graph(&GraphProto::decode(bytes).expect("a graph"), env)
        }
        other => panic!("the runtime of the tests has no operator `{other}`"),
    }
}

fn gathered(x: &T, axis: usize, places: &[usize]) -> T {
    let (outer, n, inner) = x.around(axis);
    let mut data = Vec::new();
    for o in 0..outer {
        for &p in places {
            assert!(p < n);
            data.extend_from_slice(&x.data[(o * n + p) * inner..][..inner]);
        }
    }
    let mut dims = x.dims.clone();
    dims[axis] = places.len();
    T::new(&dims, data).of(x.kind)
}

/// Products as numpy has them, where all axes but the last two are equal.
fn product(a: &T, b: &T) -> T {
    let (mut da, mut db) = (a.dims.clone(), b.dims.clone());
    let (row, column) = (da.len() == 1, db.len() == 1);
    if row {
        da.insert(0, 1);
    }
    if column {
        db.push(1);
    }
    assert_eq!(da[..da.len() - 2], db[..db.len() - 2]);
    let (m, k, n) = (da[da.len() - 2], da[da.len() - 1], db[db.len() - 1]);
    assert_eq!(k, db[db.len() - 2]);
    let batch: usize = da[..da.len() - 2].iter().product();
    let mut data = Vec::new();
    for s in 0..batch {
        for i in 0..m {
            for j in 0..n {
                data.push((0..k).map(|l| a.data[(s * m + i) * k + l] * b.data[(s * k + l) * n + j]).sum());
            }
        }
    }
    let mut dims = da[..da.len() - 2].to_vec();
    dims.extend((!row).then_some(m).into_iter().chain((!column).then_some(n)));
    T::new(&dims, data)
}

/// The error function by its series, and by the continued fraction of what it lacks to 1.
fn erf(x: f64) -> f64 {
    let size = x.abs();
    if size < 3.0 {
        let (mut term, mut sum) = (x, x);
        for n in 1..200 {
            term *= -x * x / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        return sum * std::f64::consts::FRAC_2_SQRT_PI;
    }
    let mut fraction = size;
    for n in (1..200).rev() {
        fraction = size + f64::from(n) / 2.0 / fraction;
    }
    (1.0 - (-size * size).exp() / fraction / std::f64::consts::PI.sqrt()).copysign(x)
}
