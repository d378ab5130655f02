//! Value and gradient at many points, data on the device: the least of ten, in milliseconds, one JSON line for each row. Clauses (the smallest of
//! 1,065 relus of the largest of three of 250 literals), and a Huber loss of a camera's reprojection error; how long kernels take to compile.
//!
//! `cargo bench -p crease-cuda --features cuda --bench rows`; `docs/cuda.md` has what came out, beside JAX on the same device.

use crease_core::differentiate::backprop;
use crease_core::{
    Arithmetic, Atom, Builder, Program, Shape, Tensor, Var, abs, cos, min, relu, run, sin, sqrt, trace, trace_shapes,
};
use crease_cuda::{Batch, CudaError, Device, DeviceReal, Loaded, Options, Plan, Products, Real, TensorPlan};
use std::time::Instant;

/// Numbers that look normal enough, quickly.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() >> 33) as usize % n
    }

    fn normal(&mut self) -> f64 {
        let x = self.next();
        let part = |k: u32| (x >> (16 * k) & 0xffff) as f64 / 65536.0 - 0.5;
        (part(0) + part(1) + part(2) + part(3)) * 1.732
    }
}

fn clauses(draw: &mut Draw) -> Program {
    let mut b = Builder::new("clauses");
    let x = b.input("x", Shape::vector(250).unwrap()).unwrap();
    let x: Vec<Atom> = (0..250).map(|i| b.at(x, &[i]).unwrap()).collect();
    let members: Vec<Atom> = (0..1065)
        .map(|_| {
            let literals: Vec<Atom> = (0..3)
                .map(|_| {
                    let v = x[draw.below(250)];
                    if draw.below(2) == 0 { v } else { b.neg(v).unwrap() }
                })
                .collect();
            let top = b.max(&literals).unwrap();
            b.relu(top).unwrap()
        })
        .collect();
    let out = b.min(&members).unwrap();
    b.finish(&[out]).unwrap()
}

fn dot<'t>(a: &[Var<'t>], b: &[Var<'t>]) -> Var<'t> {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn camera() -> Program {
    trace(17, |p| {
        let (w, c, fl, x0, rad, x, wt, m) =
            (&p[0..3], &p[3..6], p[6], &p[7..9], &p[9..11], &p[11..14], p[14], &p[15..17]);
        let t = sqrt(dot(w, w) + 1e-12);
        let k = [w[0] / t, w[1] / t, w[2] / t];
        let (cs, sn) = (cos(t), sin(t));
        let x = [x[0] - c[0], x[1] - c[1], x[2] - c[2]];
        let cross = [k[1] * x[2] - k[2] * x[1], k[2] * x[0] - k[0] * x[2], k[0] * x[1] - k[1] * x[0]];
        let along = dot(&k, &x) * (1.0 - cs);
        let y: Vec<Var<'_>> = (0..3).map(|i| x[i] * cs + cross[i] * sn + k[i] * along).collect();
        let q = [y[0] / y[2], y[1] / y[2]];
        let r2 = q[0] * q[0] + q[1] * q[1];
        let far = (1.0 + rad[0] * r2 + rad[1] * r2 * r2) * fl;
        let huber = |i: usize| {
            let a = abs(wt * (q[i] * far + x0[i] - m[i]));
            let small = min(&[a, a.tape().constant(1.0)]);
            small * (a - small * 0.5)
        };
        huber(0) + huber(1) + relu(abs(1.0 - wt * wt) - 0.1)
    })
    .unwrap()
}

/// A scalar program of so many operations, of which nothing is alike.
fn irregular(steps: usize) -> Program {
    trace(8, |x| {
        let mut v: Vec<Var<'_>> = x.to_vec();
        let mut draw = Draw(99);
        for _ in 0..steps {
            let (a, b) = (v[v.len() - 1 - draw.below(6)], v[v.len() - 1 - draw.below(8)]);
            v.push(match draw.below(6) {
                0 => a * b,
                1 => a + b * 0.5,
                2 => relu(a - b),
                3 => sin(a),
                4 => min(&[a, b]),
                _ => a - b,
            });
        }
        v[v.len() - 1] + v[v.len() - 2]
    })
    .unwrap()
}

/// The least of ten runs, in milliseconds, as a caller sees them.
fn clock<T: DeviceReal>(device: &Device, loaded: &Loaded<T>, batch: &Batch<T>) -> Result<f64, CudaError> {
    let mut results = loaded.results(batch.points())?;
    let mut least = f64::INFINITY;
    for _ in 0..13 {
        device.wait()?;
        let start = Instant::now();
        loaded.run(batch, &mut results)?;
        device.wait()?;
        least = least.min(start.elapsed().as_secs_f64());
    }
    if let Some(point) = results.first_bad()? {
        println!("point {point} does not count");
    }
    Ok(least * 1e3)
}

/// Compares some points with the interpreter.
fn agrees<T: DeviceReal>(
    p: &Program,
    gradient: &Loaded<T>,
    batch: &Batch<T>,
    rows: &[T],
    outputs: &[usize],
) -> Result<f64, CudaError> {
    let derived = backprop(p, &Options::default().how)?.with_outputs(outputs).unwrap();
    let points = batch.points();
    let mut results = gradient.results(points)?;
    gradient.run(batch, &mut results)?;
    let found = results.read_unchecked()?;
    let mut worst = 0.0_f64;
    for point in (0..points).step_by(points / 20 + 1) {
        let mut row = 0;
        let inputs: Vec<Tensor<T>> = p
            .inputs()
            .iter()
            .map(|i| {
                let numbers = (0..i.shape.len()).map(|k| rows[(row + k) * points + point]).collect();
                row += i.shape.len();
                Tensor::new(i.shape.clone(), numbers).unwrap()
            })
            .collect();
        let expected: Vec<f64> = run(&derived, &inputs)
            .unwrap()
            .iter()
            .flat_map(|t| t.data().iter().map(|x| x.to_f64()).collect::<Vec<_>>())
            .collect();
        let scale = expected.iter().fold(1e-30, |s: f64, x| s.max(f64::abs(*x)));
        let here = found
            .iter()
            .zip(gradient.plan().outputs())
            .flat_map(|(y, &n)| y[point * n..][..n].iter().map(|x| x.to_f64()));
        for (a, b) in here.zip(&expected) {
            worst = worst.max((a - b).abs() / scale);
        }
    }
    Ok(worst)
}

#[allow(clippy::too_many_arguments)]
fn row<T: DeviceReal>(
    device: &Device,
    name: &str,
    p: &Program,
    wrt: &[usize],
    points: usize,
    options: &Options,
    bump: Option<usize>,
    note: &str,
) -> Result<(), CudaError> {
    let value = Plan::compile::<T>(p, options)?;
    let gradient = Plan::value_and_grad::<T>(p, wrt, options)?;
    let start = Instant::now();
    let (value, gradient) = (device.load::<T>(&value)?, device.load::<T>(&gradient)?);
    let compile = start.elapsed().as_secs_f64();
    let mut draw = Draw(88172645463325252);
    let mut rows: Vec<T> = (0..points * value.plan().rows()).map(|_| <T as Real>::from_f64(draw.normal())).collect();
    if let Some(k) = bump {
        rows[k * points..][..points].iter_mut().for_each(|x| *x = x.add(&<T as Real>::from_f64(10.0)));
    }
    let batch = device.upload_rows(points, &rows, &[])?;
    let (v, g) = (clock(device, &value, &batch)?, clock(device, &gradient, &batch)?);
    let all: Vec<usize> = (0..p.inputs().len()).collect();
    let wrt = if wrt.is_empty() { &all } else { wrt };
    let outputs: Vec<usize> = [0].into_iter().chain(wrt.iter().map(|i| i + 1)).collect();
    let off = agrees(p, &gradient, &batch, &rows, &outputs)?;
    let ((vr, vl), (gr, gl)) = (value.resources()?, gradient.resources()?);
    println!(
        "{{\"row\":\"{name}\",\"system\":\"crease{note}\",\"dtype\":\"{}\",\"points\":{points},\"value_ms\":{v:.4},\"gradient_ms\":{g:.4},\
         \"ratio\":{:.2},\"off\":{off:.1e},\"compile_s\":{compile:.2},\"registers\":[{vr},{gr}],\"local\":[{vl},{gl}],\"form\":\"{}\"}}",
        if size_of::<T>() == 4 { "float32" } else { "float64" },
        g / v,
        gradient.plan()
    );
    Ok(())
}

/// The sum of relu(x) w over 2^28 numbers: a program of two numbers at as many points, its value summed.
fn sum(device: &Device) -> Result<(), CudaError> {
    let points = 1 << 28;
    let p = trace(2, |x| relu(x[0]) * x[1]).unwrap();
    let options = Options::default().arithmetic(Arithmetic::Ieee).summed(&[0]);
    let value = device.load::<f32>(&Plan::compile::<f32>(&p, &options)?)?;
    let gradient = device.load::<f32>(&Plan::value_and_grad::<f32>(&p, &[0], &options)?)?;
    let mut draw = Draw(3);
    let rows: Vec<f32> = (0..2 * points).map(|_| draw.normal() as f32).collect();
    let batch = device.upload_rows(points, &rows, &[])?;
    let (v, g) = (clock(device, &value, &batch)?, clock(device, &gradient, &batch)?);
    let mut results = gradient.results(points)?;
    gradient.run(&batch, &mut results)?;
    let found = results.read()?;
    let (x, w) = rows.split_at(points);
    let expected: f64 = x.iter().zip(w).map(|(&x, &w)| f64::from(x.max(0.0) * w)).sum();
    let off = (f64::from(found[0][0]) - expected).abs() / expected.abs();
    let wrong = (0..points).filter(|&i| found[1][i] != if x[i] > 0.0 { w[i] } else { 0.0 }).count();
    println!(
        "{{\"row\":\"GC\",\"system\":\"crease\",\"dtype\":\"float32\",\"points\":{points},\"value_ms\":{v:.4},\"gradient_ms\":{g:.4},\
         \"ratio\":{:.2},\"off\":{off:.1e},\"wrong\":{wrong}}}",
        g / v
    );
    Ok(())
}

/// A network of 784, 256, 256 and 10 with relus, its mean cross entropy.
fn network(batch: usize) -> Program {
    let shape = |dims: &[usize]| Shape::new(dims.to_vec()).unwrap();
    let sizes = [784, 256, 256, 10];
    let mut shapes = vec![shape(&[batch, 784]), shape(&[batch, 10])];
    for (a, b) in sizes.iter().zip(&sizes[1..]) {
        shapes.extend([shape(&[*a, *b]), shape(&[*b])]);
    }
    trace_shapes(&shapes, |x| {
        let mut h = x[0];
        for layer in 0..3 {
            let z = h.matmul(x[2 + 2 * layer]) + x[3 + 2 * layer].broadcast(&[batch, sizes[layer + 1]]);
            h = if layer < 2 { relu(z) } else { z };
        }
        let chosen = (h * x[1]).sum_axis(1);
        vec![(h.logsumexp(1) - chosen).mean()]
    })
    .unwrap()
}

fn train(device: &Device, batch: usize, products: Products, note: &str) -> Result<(), CudaError> {
    let p = network(batch);
    let derived = backprop(&p, &Options::default().how)?.with_outputs(&[0, 3, 4, 5, 6, 7, 8]).unwrap();
    let mut draw = Draw(5);
    let mut inputs: Vec<Vec<f32>> =
        p.inputs().iter().map(|i| (0..i.shape.len()).map(|_| draw.normal() as f32 / 20.0).collect()).collect();
    for (i, x) in inputs[1].iter_mut().enumerate() {
        *x = if i % 10 == (i / 10 * 7) % 10 { 1.0 } else { 0.0 };
    }
    let mut times = Vec::new();
    let mut off = 0.0_f64;
    for q in [&p, &derived] {
        let plan = TensorPlan::compile::<f32>(q)?;
        let mut loaded = device.load_tensors::<f32>(&plan, products)?;
        for (i, x) in inputs.iter().enumerate() {
            loaded.set(i, x)?;
        }
        let mut least = f64::INFINITY;
        for _ in 0..13 {
            device.wait()?;
            let start = Instant::now();
            loaded.run()?;
            device.wait()?;
            least = least.min(start.elapsed().as_secs_f64());
        }
        times.push((least * 1e3, plan.launches()));
        if batch <= 64 {
            let tensors: Vec<Tensor<f64>> = q
                .inputs()
                .iter()
                .zip(&inputs)
                .map(|(i, x)| Tensor::new(i.shape.clone(), x.iter().map(|&x| f64::from(x)).collect()).unwrap())
                .collect();
            for (j, y) in run(q, &tensors).unwrap().iter().enumerate() {
                let scale = y.data().iter().fold(1e-30, |s: f64, x| s.max(f64::abs(*x)));
                let found = loaded.read(j)?;
                off = found.iter().zip(y.data()).fold(off, |o, (a, b)| o.max((f64::from(*a) - b).abs() / scale));
            }
        }
    }
    println!(
        "{{\"row\":\"GD\",\"system\":\"crease{note}\",\"dtype\":\"float32\",\"points\":{batch},\"value_ms\":{:.4},\"gradient_ms\":{:.4},\
         \"ratio\":{:.2},\"off\":{off:.1e},\"launches\":[{},{}]}}",
        times[0].0,
        times[1].0,
        times[1].0 / times[0].0,
        times[0].1,
        times[1].1
    );
    Ok(())
}

/// Writes the sources of some kernels, to look at what a compiler makes of them.
fn sources(folder: &str) -> Result<(), CudaError> {
    let ieee = Options::default().arithmetic(Arithmetic::Ieee);
    let p = clauses(&mut Draw(7));
    let mut all = vec![
        ("clauses_value_32".to_string(), Plan::compile::<f32>(&p, &ieee)?),
        ("clauses_gradient_32".into(), Plan::value_and_grad::<f32>(&p, &[], &ieee)?),
        ("clauses_value_64".into(), Plan::compile::<f64>(&p, &ieee)?),
    ];
    for steps in [500, 1000, 2000, 4000, 8000] {
        all.push((format!("irregular_{steps}"), Plan::compile::<f32>(&irregular(steps), &ieee)?));
    }
    for (name, plan) in all {
        std::fs::write(format!("{folder}/{name}.cu"), plan.source())
            .map_err(|e| CudaError::Arguments(e.to_string()))?;
    }
    Ok(())
}

fn main() -> Result<(), CudaError> {
    let args: Vec<String> = std::env::args().collect();
    if let Some(i) = args.iter().position(|a| a == "--sources") {
        return sources(args.get(i + 1).map_or(".", |s| s));
    }
    let device = match Device::open(0) {
        Ok(device) => device,
        Err(why) => {
            println!("{why}");
            return Ok(());
        }
    };
    println!("{}", device.name()?);
    let ieee = Options::default().arithmetic(Arithmetic::Ieee);
    let p = clauses(&mut Draw(7));
    for points in [10_000, 100_000] {
        for warps in [4, 8] {
            let note = format!(" {warps} warps");
            row::<f32>(&device, "GA", &p, &[], points, &ieee.clone().warps(warps), None, &note)?;
            row::<f64>(&device, "GA", &p, &[], points, &ieee.clone().warps(warps), None, &note)?;
        }
    }
    let wrt: Vec<usize> = (0..15).collect();
    let p = camera();
    println!("camera: {} operations", p.len());
    for points in [1_000_000, 10_000_000] {
        row::<f32>(&device, "GB", &p, &wrt, points, &ieee, Some(13), "")?;
        row::<f64>(&device, "GB", &p, &wrt, points, &ieee, Some(13), "")?;
    }
    row::<f32>(&device, "GB", &p, &wrt, 10_000_000, &Options::default(), Some(13), " checked")?;
    train(&device, 64, Products::Full, " full")?;
    train(&device, 65536, Products::Full, " full")?;
    train(&device, 65536, Products::Short, " short")?;
    sum(&device)?;
    for steps in [500, 1000, 2000, 4000, 8000] {
        let plan = Plan::compile::<f32>(&irregular(steps), &ieee)?;
        let start = Instant::now();
        device.load::<f32>(&plan)?;
        println!("{{\"row\":\"compile\",\"steps\":{},\"seconds\":{:.3}}}", plan.steps(), start.elapsed().as_secs_f64());
    }
    Ok(())
}
