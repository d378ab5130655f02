//! One tensor program on several threads: the same bits whatever their number, and the interpreter's answers.

#[allow(dead_code)]
#[path = "../benches/workloads/data.rs"]
mod data;
mod lesser;
#[allow(dead_code)]
#[path = "../benches/workloads/programs.rs"]
mod programs;

use crease_core::differentiate::{How, backprop};
use crease_core::{Builder, Kink, Lane, Layout, Op, Program, Shape, Smooth, Tensor, run};
use crease_engine::{Agreement, Compiled, Float, Form, Options, compile, value_and_grad};

/// Numbers without a pattern, some of them zero.
fn numbers<T: Float>(n: usize, seed: usize) -> Vec<T> {
    let number = |i: usize| ((i * 7919 + seed * 104_729 + 13) % 1009) as f64 / 2018.0 - 0.25;
    (0..n).map(|i| T::from_f64(if i % 17 == 3 { 0.0 } else { number(i) })).collect()
}

fn answers<T: Float>(c: &Compiled<T>) -> Vec<Vec<T>> {
    let data: Vec<Vec<T>> = c.inputs().iter().enumerate().map(|(k, s)| numbers(s.len(), k)).collect();
    let inputs: Vec<&[T]> = data.iter().map(|d| &d[..]).collect();
    let mut out: Vec<Vec<T>> = c.outputs().iter().map(|s| vec![T::ZERO; s.len()]).collect();
    let mut w = c.workspace();
    // twice, so that a run finds what another has left
    for _ in 0..2 {
        let mut slices: Vec<&mut [T]> = out.iter_mut().map(|o| &mut o[..]).collect();
        c.run(&mut w, &inputs, &mut slices).unwrap();
    }
    out
}

/// Lanes of every kind, sorted, and sums of rows and of columns.
fn lanes() -> Program {
    let mut b = Builder::new("lanes");
    let x = b.input("x", Shape::new([200, 150]).unwrap()).unwrap();
    let e = b.mul(x, x).unwrap();
    let l = b.logsumexp_axis(e, -1).unwrap();
    let columns = b.sum(e, &[0]).unwrap();
    let largest = b.norminf(columns).unwrap();
    let rows = b.norm1(l).unwrap();
    let sorted = b.push1(Op::Kink(Kink::Sort(Lane::Axis)), &[x]).unwrap();
    let moved = b.mul(sorted, e).unwrap();
    let moved = b.sum_all(moved).unwrap();
    let y = b.add(largest, rows).unwrap();
    let y = b.add(y, moved).unwrap();
    b.finish(&[y]).unwrap()
}

/// Elementwise work that ends in sums of neighbours, of several lengths at once, beside sums that all parts add to.
fn neighbours(count: usize, runs: &[usize]) -> Program {
    let mut b = Builder::new("neighbours");
    let n: usize = count * runs.iter().product::<usize>();
    let x = b.input("x", Shape::new([n]).unwrap()).unwrap();
    let y = b.mul(x, x).unwrap();
    let mut all = b.sum_all(y).unwrap();
    for &run in runs {
        let rows = b.reshape(y, &Shape::new([n / run, run]).unwrap()).unwrap();
        let sums = b.sum(rows, &[1]).unwrap();
        let bent = b.push1(Smooth::Sin, &[sums]).unwrap();
        let bent = b.sum_all(bent).unwrap();
        let columns = b.sum(rows, &[0]).unwrap();
        let columns = b.norm1(columns).unwrap();
        all = b.add(all, bent).unwrap();
        all = b.add(all, columns).unwrap();
    }
    b.finish(&[all]).unwrap()
}

/// Numbers put in their places: a border of zeros around them, rows from the last to the first, columns from the last to the first, rows that lie
/// between those of others, and all of them read through another order.
fn placed() -> Program {
    let mut b = Builder::new("placed");
    let x = b.input("x", Shape::new([150, 140]).unwrap()).unwrap();
    let turned = b.transpose(x, &[1, 0]).unwrap();
    let to = |offset: usize, dims: &[(usize, isize)]| Layout::strided(offset, dims);
    let places = [
        (x, 152 * 142, to(143, &[(150, 142), (140, 1)])),
        (x, 152 * 142, to(143 + 149 * 142, &[(150, -142), (140, 1)])),
        (x, 152 * 142, to(143 + 139, &[(150, 142), (140, -1)])),
        (x, 150 * 141 + 7, to(149 * 141 + 139 + 3, &[(150, -141), (140, -1)])),
        (x, 140 * 150, to(0, &[(150, 1), (140, 150)])),
        (x, 150 * 70 * 2 + 150, to(0, &[(75, 280), (140, 1), (2, 140)])),
        (turned, 140 * 151 + 10, to(10, &[(140, 151), (150, 1)])),
        (turned, 140 * 451, to(2, &[(140, 451), (150, 3)])),
    ];
    let mut all = b.sum_all(x).unwrap();
    for (from, cells, layout) in places {
        let y = b.assemble(Shape::new([cells]).unwrap(), vec![(from, layout)]).unwrap();
        let sorted = b.push1(Op::Kink(Kink::Sort(Lane::Axis)), &[y]).unwrap();
        let y = b.mul(sorted, y).unwrap();
        let y = b.sum_all(y).unwrap();
        all = b.add(all, y).unwrap();
    }
    b.finish(&[all]).unwrap()
}

/// The square of a product, of so many rows, columns and products of numbers for each.
fn product([m, n, k]: [usize; 3]) -> Program {
    let mut b = Builder::new("product");
    let x = b.input("x", Shape::new([m, k]).unwrap()).unwrap();
    let y = b.input("y", Shape::new([k, n]).unwrap()).unwrap();
    let z = b.matmul(x, y).unwrap();
    let z = b.mul(z, z).unwrap();
    let z = b.sum_all(z).unwrap();
    b.finish(&[z]).unwrap()
}

fn all() -> Vec<(&'static str, Program)> {
    let n = 100_003;
    vec![
        ("MLP, batch 64", programs::mlp(64).unwrap()),
        ("CNN, batch 35", programs::cnn(35).unwrap()),
        ("CNN, batch 3", programs::cnn(3).unwrap()),
        ("mixture", programs::gmm(10, 25, 200).unwrap()),
        ("l1", programs::of_vector(n, |b, x| b.norm1(x)).unwrap()),
        ("linf", programs::of_vector(n, |b, x| b.norminf(x)).unwrap()),
        (
            "relu",
            programs::of_vector(n, |b, x| {
                let r = b.relu(x)?;
                b.sum(r, &[0])
            })
            .unwrap(),
        ),
        ("max-linear", programs::max_linear(10, 10_000).unwrap()),
        ("lanes", lanes()),
        ("placed", placed()),
        ("rows", product([40, 200, 300])),
        ("rows and a bit", product([37, 131, 70])),
        ("few rows", product([5, 333, 100])),
        ("neighbours", neighbours(1001, &[10, 7])),
        ("neighbours, far", neighbours(3, &[129, 131])),
        ("neighbours, one", neighbours(40_000, &[1])),
    ]
}

fn same<T: Float>(p: &Program, name: &str, agreement: Agreement) {
    let options = Options::default().form(Form::Tensors).agreement(agreement);
    let with = |threads: usize| {
        let options = options.clone().threads(threads);
        [compile::<T>(p, &options).unwrap(), value_and_grad::<T>(p, &[], &options).unwrap()]
    };
    let expected = with(1).map(|c| answers(&c));
    for threads in [2, 3, 7] {
        for (c, expected) in with(threads).iter().zip(&expected) {
            for (a, b) in answers(c).iter().zip(expected) {
                let at = a.iter().zip(b).position(|(a, b)| a.to_f64().to_bits() != b.to_f64().to_bits());
                assert_eq!(at, None, "{name}, {threads} threads, {agreement:?}, {}\n{}", T::NAME, c.explain());
            }
        }
    }
}

#[test]
fn every_bit_is_the_same_whatever_the_number_of_threads() {
    for (name, p) in all() {
        same::<f32>(&p, name, Agreement::Rounding);
        // the large ones take long where code is not optimised
        if !name.contains("64") && !name.contains("35") {
            same::<f64>(&p, name, Agreement::Rounding);
            same::<f64>(&p, name, Agreement::Bits);
        }
    }
}

#[test]
fn answers_on_threads_are_the_interpreters() {
    for (name, p) in all().into_iter().filter(|(name, _)| !name.contains("batch 35") && !name.contains("64")) {
        let c = value_and_grad::<f64>(&p, &[], &Options::default().form(Form::Tensors).threads(3)).unwrap();
        let at: Vec<Tensor<f64>> = p
            .inputs()
            .iter()
            .enumerate()
            .map(|(k, i)| Tensor::new(i.shape.clone(), numbers(i.shape.len(), k)).unwrap())
            .collect();
        let expected = run(&backprop(&p, &How::default()).unwrap(), &at).unwrap();
        for (got, e) in answers(&c).iter().zip(&expected) {
            let size = e.data().iter().fold(1e-300f64, |s, x| s.max(x.abs()));
            for (g, e) in got.iter().zip(e.data()) {
                assert!((g - e).abs() <= 1e-10 * size, "{name}: {g} {e}");
            }
        }
    }
}

#[test]
fn large_steps_are_shared() {
    let shared = |p: &Program| {
        let c = value_and_grad::<f32>(p, &[], &Options::default().threads(2)).unwrap();
        let said = c.explain().to_string();
        let line = said.lines().find(|l| l.ends_with("of the steps on up to 2 threads")).expect("a line on threads");
        line.split(' ').next().and_then(|n| n.parse::<usize>().ok()).expect("a number")
    };
    // the products of three layers, those of two of them backward, and those of three weights
    assert!(shared(&programs::mlp(64).unwrap()) >= 5);
    // two convolutions, forward and by their kernels; one backward; pools, and the way back
    assert!(shared(&programs::cnn(64).unwrap()) >= 8);
    // log-sum-exp and sorts, what a sort moved on its way back, and groups
    assert!(shared(&lanes()) >= 4);
    // the squares with their sums, though no line of the caches begins with a row; what is put in its places
    assert!(shared(&neighbours(30, &[10_001])) >= 1);
    assert!(shared(&placed()) >= 5);
}

#[test]
fn lesser_instructions_pass_these_tests_too() {
    lesser::again();
}
