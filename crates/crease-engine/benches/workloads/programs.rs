//! The workloads as programs.

use crate::data::Sat;
use crease_core::{Atom, BuildError, Builder, Conv2d, Kink, Lane, Layout, Op, Program, Shape, Smooth, Window};

type Built<T> = Result<T, BuildError>;

fn shape(dims: &[usize]) -> Shape {
    Shape::new(dims.to_vec()).expect("a small shape")
}

/// A: the smallest of relu(largest of three literals), scalar by scalar.
pub fn sat(s: &Sat) -> Built<Program> {
    let mut b = Builder::new("sat");
    let x: Vec<Atom> = (0..s.variables).map(|i| b.input(format!("x{i}"), Shape::scalar())).collect::<Built<_>>()?;
    let mut clauses = Vec::with_capacity(s.clauses.len());
    for c in &s.clauses {
        let mut literals = [x[0]; 3];
        for (l, &k) in literals.iter_mut().zip(c) {
            let v = x[k.unsigned_abs() as usize - 1];
            *l = if k > 0 { v } else { b.neg(v)? };
        }
        let largest = b.max(&literals)?;
        clauses.push(b.relu(largest)?);
    }
    let smallest = b.min(&clauses)?;
    b.finish(&[smallest])
}

/// A, as people write it with arrays.
pub fn sat_tensors(s: &Sat) -> Built<Program> {
    let (p, n) = (s.variables, s.clauses.len());
    let mut b = Builder::new("sat");
    let x = b.input("x", shape(&[p]))?;
    let index: Vec<u32> = s.clauses.iter().flatten().map(|l| l.unsigned_abs() - 1).collect();
    let sign: Vec<f64> = s.clauses.iter().flatten().map(|l| f64::from(l.signum())).collect();
    let read = b.view(x, Layout::table(index), shape(&[n, 3]))?;
    let signs = b.tensor(shape(&[n, 3]), sign)?;
    let literals = b.mul(read, signs)?;
    let largest = b.push1(Op::Kink(Kink::Max(Lane::Axis)), &[literals])?;
    let r = b.relu(largest)?;
    let smallest = b.push1(Op::Kink(Kink::Min(Lane::Axis)), &[r])?;
    b.finish(&[smallest])
}

fn cross_entropy(b: &mut Builder, z: Atom, y: Atom) -> Built<Program> {
    let all = b.logsumexp_axis(z, -1)?;
    let chosen = b.mul(z, y)?;
    let chosen = b.sum(chosen, &[1])?;
    let loss = b.sub(all, chosen)?;
    let mean = b.mean(loss, &[0])?;
    std::mem::replace(b, Builder::new("")).finish(&[mean])
}

fn affine(b: &mut Builder, h: Atom, w: Atom, c: Atom) -> Built<Atom> {
    let z = b.matmul(h, w)?;
    let to = b.shape(z);
    let c = b.broadcast(c, &to)?;
    b.add(z, c)
}

/// B: a network 784-256-256-10 with relu and cross-entropy; inputs are weights, biases, images, labels.
pub fn mlp(batch: usize) -> Built<Program> {
    let sizes = [784, 256, 256, 10];
    let mut b = Builder::new("mlp");
    let mut layers = Vec::new();
    for (i, s) in sizes.windows(2).enumerate() {
        layers.push((b.input(format!("w{i}"), shape(s))?, b.input(format!("b{i}"), shape(&s[1..]))?));
    }
    let mut h = b.input("x", shape(&[batch, 784]))?;
    let y = b.input("y", shape(&[batch, 10]))?;
    for (i, &(w, c)) in layers.iter().enumerate() {
        h = affine(&mut b, h, w, c)?;
        if i < 2 {
            h = b.relu(h)?;
        }
    }
    cross_entropy(&mut b, h, y)
}

/// C: norms and sums of a vector.
pub fn of_vector(n: usize, f: impl Fn(&mut Builder, Atom) -> Built<Atom>) -> Built<Program> {
    let mut b = Builder::new("f");
    let x = b.input("x", shape(&[n]))?;
    let y = f(&mut b, x)?;
    b.finish(&[y])
}

pub fn max_linear(rows: usize, columns: usize) -> Built<Program> {
    let mut b = Builder::new("f");
    let a = b.input("a", shape(&[rows, columns]))?;
    let x = b.input("x", shape(&[columns]))?;
    let y = b.max_linear(a, x)?;
    b.finish(&[y])
}

/// E: conv8-relu-pool-conv16-relu-pool-fc10 on 28 x 28 images.
pub fn cnn(batch: usize) -> Built<Program> {
    let mut b = Builder::new("cnn");
    let mut layers = Vec::new();
    for (i, dims) in [[8, 1, 3, 3], [16, 8, 3, 3]].iter().enumerate() {
        layers.push((b.input(format!("w{i}"), shape(dims))?, b.input(format!("b{i}"), shape(&dims[..1]))?));
    }
    let (w, c) = (b.input("w2", shape(&[784, 10]))?, b.input("b2", shape(&[10]))?);
    let mut h = b.input("x", shape(&[batch, 1, 28, 28]))?;
    let y = b.input("y", shape(&[batch, 10]))?;
    for (w, c) in layers {
        h = b.conv2d(h, w, Conv2d { stride: (1, 1), padding: (1, 1) })?;
        let to = b.shape(h);
        let c = b.reshape(c, &shape(&[to.dims()[1], 1, 1]))?;
        let c = b.broadcast(c, &to)?;
        h = b.add(h, c)?;
        h = b.relu(h)?;
        h = b.maxpool2d(h, Window::new((2, 2)).stride((2, 2)))?;
    }
    h = b.reshape(h, &shape(&[batch, 784]))?;
    let z = affine(&mut b, h, w, c)?;
    cross_entropy(&mut b, z, y)
}

/// F: the log-likelihood of a Gaussian mixture with a Wishart prior: alphas, means, inverse covariance factors, points.
pub fn gmm(d: usize, k: usize, n: usize) -> Built<Program> {
    let below = d * (d - 1) / 2;
    let mut b = Builder::new("gmm");
    let alphas = b.input("alphas", shape(&[k]))?;
    let means = b.input("means", shape(&[k, d]))?;
    let icf = b.input("icf", shape(&[k, d + below]))?;
    let x = b.input("x", shape(&[n, d]))?;
    let diagonal = b.slice(icf, &[(0, k, 1), (0, d, 1)])?;
    let lower = b.slice(icf, &[(0, k, 1), (d, below, 1)])?;
    let logs = b.sum(diagonal, &[1])?;
    let scales = b.push1(Smooth::Exp, &[diagonal])?;
    // the lower triangle comes column by column
    let mut cells = Vec::new();
    for j in 0..k {
        for column in 0..d {
            cells.extend((column + 1..d).map(|row| (j * d * d + row * d + column) as u32));
        }
    }
    let on = Layout::strided(0, &[(k, (d * d) as isize), (d, d as isize + 1)]);
    let factors = b.assemble(shape(&[k, d, d]), vec![(lower, Layout::table(cells)), (scales, on)])?;
    let all = shape(&[k, n, d]);
    let points = b.broadcast(x, &all)?;
    let centres = b.reshape(means, &shape(&[k, 1, d]))?;
    let centres = b.broadcast(centres, &all)?;
    let centred = b.sub(points, centres)?;
    let q = b.push1(Op::MatMul { transpose_a: false, transpose_b: true }, &[centred, factors])?;
    let squares = b.mul(q, q)?;
    let squares = b.sum(squares, &[2])?;
    let half = b.constant_f64(0.5)?;
    let squares = b.mul(squares, half)?;
    let weights = b.add(alphas, logs)?;
    let weights = b.reshape(weights, &shape(&[k, 1]))?;
    let weights = b.broadcast(weights, &shape(&[k, n]))?;
    let terms = b.sub(weights, squares)?;
    let each = b.logsumexp_axis(terms, 0)?;
    let total = b.sum_all(each)?;
    let norm = b.logsumexp(alphas)?;
    let many = b.constant_f64(n as f64)?;
    let norm = b.mul(norm, many)?;
    let s = b.mul(scales, scales)?;
    let s = b.sum_all(s)?;
    let l = b.mul(lower, lower)?;
    let l = b.sum_all(l)?;
    let prior = b.add(s, l)?;
    let prior = b.mul(prior, half)?;
    let value = b.sub(total, norm)?;
    let value = b.add(value, prior)?;
    let constant = b.constant_f64(-((n * d) as f64) * 0.5 * std::f64::consts::TAU.ln())?;
    let value = b.add(value, constant)?;
    b.finish(&[value])
}
