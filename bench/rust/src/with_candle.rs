//! candle: tensors with a graph recorded in every call. It has no forward mode, so row D is absent.

use crate::measure::{self, Line, Meter};
use candle_core::{D, DType, Device, Result, Shape, Tensor, Var};

const SYSTEM: &str = "candle 0.11.1";
const CPU: Device = Device::Cpu;

fn tensor<S: Into<Shape>>(name: &str, shape: S, dtype: DType) -> Result<Tensor> {
    Tensor::from_vec(measure::numbers(name), shape, &CPU)?.to_dtype(dtype)
}

fn labels(name: &str) -> Result<Tensor> {
    let all: Vec<u32> = measure::integers(name).iter().map(|&l| l as u32).collect();
    let n = all.len();
    Tensor::from_vec(all, (n, 1), &CPU)
}

fn wide(t: &Tensor) -> Result<Vec<f64>> {
    t.to_dtype(DType::F64)?.flatten_all()?.to_vec1()
}

/// Runs f on each of several lists of parameters in turn; answers are summed and their gradients strung together.
fn row(
    meter: &Meter,
    (name, mode): (&str, &str),
    dtype: DType,
    points: &[Vec<Tensor>],
    f: impl Fn(&[Tensor]) -> Result<Tensor>,
) -> Result<()> {
    let points: Vec<Vec<Var>> = points
        .iter()
        .map(|p| p.iter().map(|t| Var::from_tensor(&t.to_dtype(dtype)?)).collect())
        .collect::<Result<_>>()?;
    // without the graph for the value; with it for the gradient
    let plain: Vec<Vec<Tensor>> = points.iter().map(|p| p.iter().map(|v| v.as_detached_tensor()).collect()).collect();
    let tracked: Vec<Vec<Tensor>> = points.iter().map(|p| p.iter().map(|v| v.as_tensor().clone()).collect()).collect();
    f(&tracked[0])?.backward()?;
    let mut i = 0;
    let mut next = || {
        i = (i + 1) % points.len();
        i
    };
    let value = meter.times(|| f(&plain[next()]));
    let gradient = meter.times(|| f(&tracked[next()])?.backward());
    let (mut total, mut parts) = (0.0, vec![Vec::new(); points[0].len()]);
    for (p, t) in points.iter().zip(&tracked) {
        let y = f(t)?;
        total += wide(&y)?[0];
        let g = y.backward()?;
        for (v, part) in p.iter().zip(&mut parts) {
            part.extend(match g.get(v) {
                Some(g) => wide(g)?,
                None => vec![0.0; v.elem_count()],
            });
        }
    }
    let line = Line { row: name, system: SYSTEM, mode, prepare: 0.0, value, gradient, answer: (total, parts) };
    line.print();
    Ok(())
}

/// One for each row of t; the shift is left out of the graph, for its derivatives cancel.
fn logsumexp(t: &Tensor) -> Result<Tensor> {
    let top = t.max_keepdim(D::Minus1)?.detach();
    t.broadcast_sub(&top)?.exp()?.sum_keepdim(D::Minus1)?.log()?.add(&top)
}

fn cross_entropy(z: &Tensor, labels: &Tensor) -> Result<Tensor> {
    (logsumexp(z)? - z.gather(labels, 1)?)?.mean_all()
}

fn sat(meter: &Meter, name: &str, variables: usize) -> Result<()> {
    let s = measure::sat(variables);
    let index: Vec<u32> = s.clauses.iter().flatten().map(|l| l.unsigned_abs() - 1).collect();
    let sign: Vec<f64> = s.clauses.iter().flatten().map(|l| f64::from(l.signum())).collect();
    let (index, sign) = (Tensor::new(index, &CPU)?, Tensor::from_vec(sign, (s.clauses.len(), 3), &CPU)?);
    let points: Vec<Vec<Tensor>> =
        s.points.iter().map(|p| Ok(vec![Tensor::new(&p[..], &CPU)?])).collect::<Result<_>>()?;
    let clauses = |x: &Tensor| x.index_select(&index, 0)?.reshape(sign.shape())?.mul(&sign)?.max(1)?.relu();
    // several clauses may share the smallest literal: min gives each of them the whole derivative, argmin chooses one
    row(meter, (name, "min"), DType::F64, &points, |x| clauses(&x[0])?.min(0))?;
    row(meter, (name, "argmin"), DType::F64, &points, |x| {
        let r = clauses(&x[0])?;
        r.index_select(&r.argmin_keepdim(0)?, 0)?.sum_all()
    })
}

fn mlp(meter: &Meter, name: &str, batch: usize, dtype: DType) -> Result<()> {
    let mut point = Vec::new();
    for (i, (a, b)) in [(784, 256), (256, 256), (256, 10)].into_iter().enumerate() {
        point.push(tensor(&format!("mlp_{batch}/w{i}.f64"), (a, b), dtype)?);
        point.push(tensor(&format!("mlp_{batch}/b{i}.f64"), b, dtype)?);
    }
    let (x, y) =
        (tensor(&format!("mlp_{batch}/x.f64"), (batch, 784), dtype)?, labels(&format!("mlp_{batch}/labels.i32"))?);
    row(meter, (name, ""), dtype, &[point], |p| {
        let h = x.matmul(&p[0])?.broadcast_add(&p[1])?.relu()?;
        let h = h.matmul(&p[2])?.broadcast_add(&p[3])?.relu()?;
        cross_entropy(&h.matmul(&p[4])?.broadcast_add(&p[5])?, &y)
    })
}

/// The largest of each 2 x 2 window, as an operation on axes.
fn pool_by_axes(h: &Tensor) -> Result<Tensor> {
    let (n, c, r, s) = h.dims4()?;
    h.reshape((n * c * r / 2, 2, s / 2, 2))?.max(3)?.max(1)?.reshape((n, c, r / 2, s / 2))
}

fn cnn(meter: &Meter, name: &str, batch: usize) -> Result<()> {
    // the derivative of max_pool2d comes out a quarter of what it is, so the right answer takes another way
    pooled(meter, (name, "max_pool2d"), batch, |h| h.max_pool2d(2))?;
    pooled(meter, (name, "max over axes"), batch, pool_by_axes)
}

fn pooled(meter: &Meter, name: (&str, &str), batch: usize, pool: fn(&Tensor) -> Result<Tensor>) -> Result<()> {
    let shapes: [(&str, &[usize]); 6] =
        [("w0", &[8, 1, 3, 3]), ("b0", &[8]), ("w1", &[16, 8, 3, 3]), ("b1", &[16]), ("w2", &[784, 10]), ("b2", &[10])];
    let read = |(n, s): &(&str, &[usize])| tensor(&format!("cnn_{batch}/{n}.f64"), *s, DType::F32);
    let point = shapes.iter().map(read).collect::<Result<_>>()?;
    let x = tensor(&format!("cnn_{batch}/x.f64"), (batch, 1, 28, 28), DType::F32)?;
    let y = labels(&format!("cnn_{batch}/labels.i32"))?;
    let layer = |h: &Tensor, w: &Tensor, b: &Tensor| -> Result<Tensor> {
        let h = h.conv2d(w, 1, 1, 1, 1)?.broadcast_add(&b.reshape((1, b.elem_count(), 1, 1))?)?;
        pool(&h.relu()?)
    };
    row(meter, name, DType::F32, &[point], |p| {
        let h = layer(&layer(&x, &p[0], &p[1])?, &p[2], &p[3])?;
        cross_entropy(&h.reshape((batch, 784))?.matmul(&p[4])?.broadcast_add(&p[5])?, &y)
    })
}

fn gmm(meter: &Meter, name: &str) -> Result<()> {
    let (d, k, n) = (10, 25, 1000);
    let read = |n: &str, shape: &[usize]| tensor(&format!("gmm/{n}.f64"), shape, DType::F64);
    let point = vec![read("alphas", &[k])?, read("means", &[k, d])?, read("icf", &[k, 55])?];
    let x = read("x", &[1, n, d])?;
    // the factors are read through a table from scales, entries below the diagonal, and a zero
    let mut table = vec![55u32; d * d];
    let mut entry = d as u32;
    for column in 0..d {
        table[column * d + column] = column as u32;
        for line in column + 1..d {
            table[line * d + column] = entry;
            entry += 1;
        }
    }
    let (table, nothing) = (Tensor::new(table, &CPU)?, Tensor::zeros((k, 1), DType::F64, &CPU)?);
    let constant = -((n * d) as f64) * 0.5 * std::f64::consts::TAU.ln();
    row(meter, (name, ""), DType::F64, &[point], |p| {
        let diagonal = p[2].narrow(1, 0, d)?;
        let (scales, below) = (diagonal.exp()?, p[2].narrow(1, d, 45)?);
        let factors = Tensor::cat(&[&scales, &below, &nothing], 1)?.index_select(&table, 1)?.reshape((k, d, d))?;
        let q = x.broadcast_sub(&p[1].reshape((k, 1, d))?)?.matmul(&factors.t()?)?;
        let squares = (q.sqr()?.sum(2)? * 0.5)?;
        let terms = (&p[0] + diagonal.sum(1)?)?.reshape((k, 1))?.broadcast_sub(&squares)?;
        let prior = ((scales.sqr()?.sum_all()? + below.sqr()?.sum_all()?)? * 0.5)?;
        let each = logsumexp(&terms.t()?.contiguous()?)?.sum_all()?;
        ((each - (logsumexp(&p[0])?.sum_all()? * n as f64)?)? + prior)? + constant
    })
}

pub fn rows(meter: &Meter) {
    type Run<'a> = (&'a str, &'a dyn Fn(&str) -> Result<()>);
    let vector = |dtype| tensor("vector/x.f64", 1_000_000, dtype);
    let of_vector = |name: &str, dtype, f: fn(&Tensor) -> Result<Tensor>| {
        row(meter, (name, ""), dtype, &[vec![vector(dtype)?]], |x| f(&x[0]))
    };
    let max_linear = |name: &str| {
        let q = tensor("vector/q.f64", (100_000, 1), DType::F64)?;
        let a = vector(DType::F64)?.reshape((10, 100_000))?;
        row(meter, (name, ""), DType::F64, &[vec![a]], |a| a[0].matmul(&q)?.flatten_all()?.max(0))
    };
    let median = |x: &Tensor| x.sort_last_dim(true)?.0.get((x.elem_count() - 1) / 2);
    let rows: [Run; 13] = [
        ("A sat", &|n| sat(meter, n, 250)),
        ("A' sat", &|n| sat(meter, n, 2500)),
        ("B mlp f32, batch 1", &|n| mlp(meter, n, 1, DType::F32)),
        ("B' mlp f32, batch 64", &|n| mlp(meter, n, 64, DType::F32)),
        ("B' mlp f64, batch 64", &|n| mlp(meter, n, 64, DType::F64)),
        ("C l1 10^6", &|n| of_vector(n, DType::F64, |x| x.abs()?.sum_all())),
        ("C linf 10^6", &|n| of_vector(n, DType::F64, |x| x.abs()?.max(0))),
        ("C sum of relu 10^6", &|n| of_vector(n, DType::F64, |x| x.relu()?.sum_all())),
        ("C max-linear 10 x 10^5", &max_linear),
        ("C' median 10^6 f32", &|n| of_vector(n, DType::F32, median)),
        ("E cnn f32, batch 1", &|n| cnn(meter, n, 1)),
        ("E cnn f32, batch 64", &|n| cnn(meter, n, 64)),
        ("F gmm 10, 25, 1000", &|n| gmm(meter, n)),
    ];
    for (name, run) in rows {
        if meter.wants(name)
            && let Err(e) = run(name)
        {
            let e = e.to_string();
            let e = e.lines().next().unwrap_or_default().replace(['"', '\\'], "'");
            println!("{{\"row\": \"{name}\", \"system\": \"{SYSTEM}\", \"mode\": \"\", \"error\": \"{e}\"}}");
        }
    }
}
