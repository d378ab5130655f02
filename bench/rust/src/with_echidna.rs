//! echidna: a tape of scalar operations, recorded once and run again ("tape"), or anew in every call ("eager").
//!
//! Absent: batches of 64, whose tapes have tens of millions of entries.

use crate::functions::{CNN, cnn, gmm, mlp, number, sat, theorem3};
use crate::measure::{self, Answer, Line, Meter, parts};
use echidna::{BReverse, Dual, Float, Reverse};
use std::time::Instant;

const SYSTEM: &str = "echidna 0.15.0";

fn wide<F: Float>(g: &[F]) -> Vec<f64> {
    g.iter().map(|g| g.to_f64().expect("a number")).collect()
}

/// Records f at the first point, then runs the tape at all points in turn.
fn recorded<F: Float + echidna::bytecode_tape::BtapeThreadLocal>(
    meter: &Meter,
    row: &str,
    points: &[Vec<F>],
    lengths: &[usize],
    f: impl FnOnce(&[BReverse<F>]) -> BReverse<F>,
) {
    let begin = Instant::now();
    let (mut tape, _) = echidna::record(f, &points[0]);
    tape.optimize();
    let prepare = begin.elapsed().as_secs_f64();
    let mut i = 0;
    let mut next = || {
        i = (i + 1) % points.len();
        &points[i]
    };
    let value = meter.times(|| {
        tape.forward(next());
        tape.output_value()
    });
    let mut space = Vec::new();
    let gradient = meter.times(|| tape.gradient_with_buf(next(), &mut space));
    let (mut total, mut all) = (0.0, Vec::new());
    for x in points {
        all.extend(wide(&tape.gradient(x)));
        total += tape.output_value().to_f64().expect("a number");
    }
    let answer = (total, parts(&all, lengths));
    Line { row, system: SYSTEM, mode: "tape", prepare, value, gradient, answer }.print();
}

fn eager(
    meter: &Meter,
    row: &str,
    points: &[Vec<f64>],
    lengths: &[usize],
    plain: impl Fn(&[f64]) -> f64,
    f: impl Fn(&[Reverse<f64>]) -> Reverse<f64>,
) {
    let mut i = 0;
    let mut next = || {
        i = (i + 1) % points.len();
        &points[i]
    };
    let value = meter.times(|| plain(next()));
    let gradient = meter.times(|| echidna::grad(&f, next()));
    let all: Vec<f64> = points.iter().flat_map(|x| echidna::grad(&f, x)).collect();
    let answer = (points.iter().map(|x| plain(x)).sum(), parts(&all, lengths));
    Line { row, system: SYSTEM, mode: "eager", prepare: 0.0, value, gradient, answer }.print();
}

pub fn rows(meter: &Meter) {
    for (row, variables) in [("A sat", 250), ("A' sat", 2500)] {
        if meter.wants(row) {
            let s = measure::sat(variables);
            let lengths = [16 * variables];
            recorded(meter, row, &s.points, &lengths, |x| sat(&s, x));
            eager(meter, row, &s.points, &lengths, |x| sat(&s, x), |x| sat(&s, x));
        }
    }
    let row = "B mlp f32, batch 1";
    if meter.wants(row) {
        let names = ["w0", "b0", "w1", "b1", "w2", "b2"];
        let all: Vec<Vec<f32>> = names.iter().map(|n| measure::singles(&format!("mlp_1/{n}.f64"))).collect();
        let lengths: Vec<usize> = all.iter().map(Vec::len).collect();
        let (image, label) = (measure::numbers("mlp_1/x.f64"), measure::integers("mlp_1/labels.i32")[0]);
        recorded(meter, row, &[all.concat()], &lengths, |p| mlp(p, &image, label as usize));
    }
    vectors(meter);
    for (row, p) in [("D theorem 3, p = 256", 256), ("D theorem 3, p = 512", 512)] {
        if meter.wants(row) {
            directions(meter, row, p);
        }
    }
    let row = "E cnn f32, batch 1";
    if meter.wants(row) {
        let names = ["w0", "b0", "w1", "b1", "w2", "b2"];
        let all: Vec<f32> = names.iter().flat_map(|n| measure::singles(&format!("cnn_1/{n}.f64"))).collect();
        let (image, label) = (measure::numbers("cnn_1/x.f64"), measure::integers("cnn_1/labels.i32")[0]);
        recorded(meter, row, &[all], &CNN, |p| cnn(p, &image, label as usize));
    }
    let row = "F gmm 10, 25, 1000";
    if meter.wants(row) {
        let theta = ["alphas", "means", "icf"].map(|n| measure::numbers(&format!("gmm/{n}.f64"))).concat();
        let x = measure::numbers("gmm/x.f64");
        recorded(meter, row, &[theta], &[25, 250, 1375], |t| gmm(t, &x));
    }
}

fn vectors(meter: &Meter) {
    let rows = ["C l1 10^6", "C linf 10^6", "C sum of relu 10^6", "C max-linear 10 x 10^5", "C' median 10^6 f32"];
    if !rows.iter().any(|r| meter.wants(r)) {
        return;
    }
    use num_traits::Float;
    let (x, q) = ([measure::numbers("vector/x.f64")], measure::numbers("vector/q.f64"));
    let n = [x[0].len()];
    type B = BReverse<f64>;
    let add = |a: B, b: B| a + b;
    if meter.wants(rows[0]) {
        recorded(meter, rows[0], &x, &n, |x| x.iter().map(|&x| Float::abs(x)).reduce(add).expect("an entry"));
    }
    if meter.wants(rows[1]) {
        recorded(meter, rows[1], &x, &n, |x| x.iter().map(|&x| Float::abs(x)).reduce(Float::max).expect("an entry"));
    }
    if meter.wants(rows[2]) {
        let relu = |x: &B| Float::max(*x, number(0.0));
        recorded(meter, rows[2], &x, &n, |x| x.iter().map(relu).reduce(add).expect("an entry"));
    }
    if meter.wants(rows[3]) {
        let line = |a: &[B]| a.iter().zip(&q).map(|(&a, &q)| a * number::<B>(q)).reduce(add).expect("an entry");
        recorded(meter, rows[3], &x, &n, |a| a.chunks_exact(q.len()).map(line).reduce(Float::max).expect("a row"));
    }
    // The median needs branches on values, which a tape that is run again would not see: no row.
}

fn directions(meter: &Meter, row: &str, p: usize) {
    let [b, m, all] = ["b", "m", "directions"].map(|n| measure::numbers(&format!("theorem3_{p}/{n}.f64")));
    let sign = |i: usize| if ((i / p) & (i % p)).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
    let u: Vec<f64> = (0..p * p).map(sign).collect();
    let zero = vec![0.0; p];
    let along = |d: &[f64]| echidna::jvp(|x: &[Dual<f64>]| vec![theorem3(x, &u, &b, &m)], &zero, d).1[0];
    let every = || all.chunks_exact(p).map(along).collect::<Vec<f64>>();
    let plain = || theorem3(&zero, &u, &b, &m);
    let (value, gradient) = (meter.times(plain), meter.times(every));
    let answer: Answer = (plain(), vec![every()]);
    Line { row, system: SYSTEM, mode: "jvp, one by one", prepare: 0.0, value, gradient, answer }.print();
}
