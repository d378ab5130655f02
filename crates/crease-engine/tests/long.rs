//! Long lanes, which are worked on in parts: the same bits whatever the number of threads, and the interpreter's answers, at every length around the
//! size of a part, wherever ties, zeros of both signs and what is no number stand.

mod lesser;

use crease_core::op::Choice;
use crease_core::run::{Unobserved, run_with};
use crease_core::{Arithmetic, Atom, BuildError, Builder, Kink, Lane, Op, Program, Rational, Shape, Tensor, Ties};
use crease_engine::{Agreement, Compiled, EngineError, Float, Form, Options, compile};

/// The size of a part, around which lengths are tried.
const PART: usize = 1 << 13;

/// Writes an operation on a lane, with its weights if there is a choice.
type Write = fn(&mut Builder, Atom, Option<Choice>) -> Result<Vec<Atom>, BuildError>;

/// An operation, and how near its results are to those of the interpreter.
struct Case {
    name: &'static str,
    program: Write,
    /// Whether the value is no sum, so that it is the interpreter's to the bit.
    value: bool,
    /// Whether weights are equal to the interpreter's.
    weights: bool,
}

fn of(b: &mut Builder, x: Atom, kink: Kink, choice: Option<Choice>) -> Result<Vec<Atom>, BuildError> {
    match choice {
        None => b.push(Op::Kink(kink), &[x]),
        Some(choice) => b.push(Op::Joint(kink, choice), &[x]),
    }
}

fn cases() -> Vec<Case> {
    vec![
        Case { name: "max", program: |b, x, c| of(b, x, Kink::Max(Lane::Axis), c), value: true, weights: true },
        Case { name: "min", program: |b, x, c| of(b, x, Kink::Min(Lane::Axis), c), value: true, weights: true },
        Case { name: "norminf", program: |b, x, c| of(b, x, Kink::NormInf(Lane::Axis), c), value: true, weights: true },
        Case { name: "norm1", program: |b, x, c| of(b, x, Kink::Norm1(Lane::Axis), c), value: false, weights: true },
        Case {
            name: "norm2",
            program: |b, x, c| of(b, x, Kink::Norm2(Lane::Axis), c.map(|_| choices()[0].clone())),
            value: false,
            weights: false,
        },
        Case {
            name: "order",
            program: |b, x, c| of(b, x, Kink::OrderStatistic(Lane::Axis, 4000), c),
            value: true,
            weights: true,
        },
        Case {
            name: "sum of relu",
            program: |b, x, c| {
                let r = of(b, x, Kink::Relu, c)?;
                Ok([b.sum_all(r[0])?].into_iter().chain(r.into_iter().skip(1)).collect())
            },
            value: false,
            weights: true,
        },
        Case {
            name: "logsumexp",
            program: |b, x, c| match c {
                None => b.push(Op::LogSumExp(Lane::Axis), &[x]),
                Some(_) => b.push(Op::LogSumExpJoint(Lane::Axis), &[x]),
            },
            value: false,
            weights: false,
        },
    ]
}

fn program(case: &Case, shape: &Shape, choice: Option<Choice>) -> Program {
    let mut b = Builder::new("lane");
    let x = b.input("x", shape.clone()).unwrap();
    let out = (case.program)(&mut b, x, choice).unwrap();
    b.finish(&out).unwrap()
}

fn choices() -> [Choice; 4] {
    let choice = |ties, p, q| Choice { at_kink: Rational::new(p, q).unwrap(), ties };
    [choice(Ties::First, 0, 1), choice(Ties::Last, 1, 1), choice(Ties::Average, 1, 2), choice(Ties::Every, 0, 1)]
}

/// Where something stands: in one part, at the borders of parts, in the first and the last one.
fn places(n: usize) -> Vec<Vec<usize>> {
    vec![
        vec![0],
        vec![n - 1],
        vec![PART.min(n) - 1],
        vec![PART.min(n - 1)],
        vec![0, n - 1],
        vec![n / 2, n / 2 + 1, n - 1],
        vec![3, PART.min(n) - 2, PART.min(n - 1), n - 2],
    ]
}

/// Lanes that try everything: numbers without a pattern, ties of the largest, the smallest and the largest size, one number for all,
/// zeros of both signs, and what is not finite.
fn lanes(n: usize) -> Vec<Vec<f64>> {
    let plain: Vec<f64> =
        (0..n).map(|i| if i % 17 == 3 { 0.0 } else { ((i * 7919 + 13) % 10_007) as f64 / 1024.0 - 4.875 }).collect();
    let with = |base: &[f64], at: &[usize], x: &[f64]| {
        let mut lane = base.to_vec();
        at.iter().enumerate().for_each(|(i, &k)| lane[k] = x[i % x.len()]);
        lane
    };
    let mut all = vec![plain.clone(), vec![-2.5; n], vec![0.0; n], vec![-0.0; n]];
    let below: Vec<f64> = plain.iter().map(|x| x.abs() + 0.5).collect();
    for (i, at) in places(n).iter().enumerate() {
        all.push(with(&plain, at, &[[9.0], [-9.0]][i % 2]));
        all.push(with(&plain, at, &[9.0, -9.0]));
        all.push(with(&vec![-0.0; n], at, &[0.0]));
        // the smallest, and the largest of what is negated
        all.push(with(&below, at, &[0.0, -0.0]));
        all.push(with(&plain, at, &[[f64::NAN], [f64::INFINITY], [f64::NEG_INFINITY]][i % 3]));
    }
    // squares that are too large, or lost
    all.push(plain.iter().map(|x| x * 1e200).collect());
    all.push(plain.iter().map(|x| x * 1e-200).collect());
    all
}

fn answer<T: Float>(c: &Compiled<T>, lane: &[T]) -> Result<Vec<Vec<T>>, EngineError> {
    let mut out: Vec<Vec<T>> = c.outputs().iter().map(|s| vec![T::ONE; s.len()]).collect();
    let mut slices: Vec<&mut [T]> = out.iter_mut().map(|o| &mut o[..]).collect();
    c.run(&mut c.workspace(), &[lane], &mut slices)?;
    Ok(out)
}

fn bits<T: Float>(all: &[Vec<T>]) -> Vec<u64> {
    all.iter().flatten().map(|x| x.to_f64().to_bits()).collect()
}

/// Equal, but for the sign of a zero, or no number both.
fn equal<T: Float>(a: T, b: T) -> bool {
    a == b || a.is_nan() && b.is_nan()
}

fn check<T: Float>(case: &Case, n: usize, choice: Option<Choice>, agreement: Agreement, lanes: &[Vec<f64>]) {
    let p = program(case, &Shape::vector(n).unwrap(), choice.clone());
    let options = Options::default().form(Form::Tensors).agreement(agreement).arithmetic(Arithmetic::Ieee);
    let codes = [1, 2, 3, 5].map(|threads| compile::<T>(&p, &options.clone().threads(threads)).unwrap());
    for (number, lane) in lanes.iter().enumerate() {
        let lane: Vec<T> = lane.iter().map(|&x| T::from_f64(x)).collect();
        let what = format!("{} of {n}, lane {number}, {choice:?}, {agreement:?}, {}", case.name, T::NAME);
        let [one, rest @ ..] = codes.each_ref().map(|c| answer(c, &lane).unwrap());
        assert!(rest.iter().all(|r| bits(r) == bits(&one)), "threads differ: {what}");
        // the interpreter takes its time to sort what has no order
        if case.name == "order" && lane.iter().any(|x| x.is_nan()) {
            assert!(one.iter().flatten().all(|x| x.is_nan()), "{what}");
            continue;
        }
        let at = [Tensor::vector(lane.clone()).unwrap()];
        let expected = run_with(&p, &at, Arithmetic::Ieee, &mut Unobserved).unwrap();
        // sums in the interpreter's order lose more than those in parts do
        let wide = [Tensor::vector(lane.iter().map(|x| x.to_f64()).collect()).unwrap()];
        let near = run_with(&p, &wide, Arithmetic::Ieee, &mut Unobserved).unwrap();
        let exact = agreement == Agreement::Bits;
        for (i, (got, (expected, near))) in one.iter().zip(expected.iter().zip(&near)).enumerate() {
            let same = if i == 0 { case.value } else { case.weights };
            let terms = lane.iter().map(|x| x.to_f64().abs()).sum::<f64>();
            let scale = if i == 0 && case.name != "logsumexp" { terms.max(1.0) } else { 1.0 };
            let allowed = if T::NAME == "f32" { 3e-5 } else { 1e-12 } * scale;
            for (j, (&g, &e)) in got.iter().zip(expected.data()).enumerate() {
                let (gf, ef) = (g.to_f64(), e.to_f64());
                let fine = if exact || (same && i == 0) {
                    gf.to_bits() == ef.to_bits() || g.is_nan() && e.is_nan()
                } else if same {
                    equal(g, e)
                } else {
                    equal(g, e) || (gf - near.data()[j]).abs() <= allowed
                };
                assert!(fine, "{gf:e} instead of {ef:e}, number {j} of result {i}: {what}");
            }
        }
    }
}

#[test]
fn every_length_and_every_choice() {
    let lengths = [PART - 1, PART, 2 * PART - 1, 2 * PART, 2 * PART + 1, 3 * PART - 1, 3 * PART, 3 * PART + 1];
    for (i, case) in cases().iter().enumerate() {
        for (k, &n) in lengths.iter().enumerate() {
            // few of them each time, others at every length
            let few: Vec<Vec<f64>> = lanes(n).into_iter().skip((i + k) % 8).step_by(8).collect();
            let choice = choices()[(i + k) % 4].clone();
            check::<f64>(case, n, Some(choice.clone()), Agreement::Rounding, &few);
            check::<f32>(case, n, Some(choice), Agreement::Rounding, &few);
            check::<f64>(case, n, None, Agreement::Rounding, &few);
        }
        let n = 3 * PART + 7;
        let all = lanes(n);
        // a quarter of them for each choice, others in each kind of numbers
        let quarter = |k: usize| -> Vec<Vec<f64>> { all.iter().skip((i + k) % 4).step_by(4).cloned().collect() };
        for (k, choice) in choices().into_iter().enumerate() {
            check::<f64>(case, n, Some(choice.clone()), Agreement::Rounding, &quarter(k));
            check::<f32>(case, n, Some(choice.clone()), Agreement::Rounding, &quarter(k + 1));
            if case.name != "sum of relu" {
                check::<f64>(case, n, Some(choice), Agreement::Bits, &quarter(k + 2));
            }
        }
        check::<f64>(case, n, None, Agreement::Rounding, &quarter(0));
        check::<f32>(case, n, None, Agreement::Rounding, &quarter(1));
        check::<f64>(case, n, None, Agreement::Bits, &quarter(2));
    }
}

#[test]
fn one_huge_lane() {
    let n = 300_001;
    for (i, case) in cases().iter().enumerate() {
        let all = lanes(n);
        check::<f64>(case, n, Some(choices()[i % 4].clone()), Agreement::Rounding, &all[..1]);
        check::<f32>(case, n, Some(choices()[(i + 2) % 4].clone()), Agreement::Rounding, &all[4..6]);
    }
}

/// Lanes side by side, each of which is long.
#[test]
fn several_long_lanes() {
    let n = 2 * PART + 5;
    let shape = Shape::new([3, n]).unwrap();
    for case in cases().iter().filter(|c| c.name != "sum of relu") {
        let p = program(case, &shape, Some(choices()[2].clone()));
        let single = program(case, &Shape::vector(n).unwrap(), Some(choices()[2].clone()));
        let options = Options::default().form(Form::Tensors);
        let rows: Vec<Vec<f64>> = lanes(n).into_iter().take(6).step_by(2).collect();
        let one = compile::<f64>(&single, &options).unwrap();
        let each: Vec<Vec<Vec<f64>>> = rows.iter().map(|r| answer(&one, r).unwrap()).collect();
        for threads in [1, 2, 4] {
            let c = compile::<f64>(&p, &options.clone().threads(threads)).unwrap();
            let together = answer(&c, &rows.concat()).unwrap();
            for (k, got) in together.iter().enumerate() {
                let expected: Vec<f64> = each.iter().flat_map(|e| e[k].clone()).collect();
                assert_eq!(bits(std::slice::from_ref(got)), bits(&[expected]), "{} on {threads} threads", case.name);
            }
        }
    }
}

/// In checked arithmetic a number that is not finite is found wherever it stands, whether a step looks at it by itself or not.
#[test]
fn what_is_not_finite_is_found_in_every_part() {
    for case in cases() {
        for n in [100, 2 * PART + 3] {
            for choice in [None, Some(choices()[0].clone())] {
                // the 4000th of a few is none
                if case.name == "order" && n < PART {
                    continue;
                }
                let p = program(&case, &Shape::vector(n).unwrap(), choice);
                for threads in [1, 3] {
                    let c = compile::<f64>(&p, &Options::default().form(Form::Tensors).threads(threads)).unwrap();
                    let fine: Vec<f64> = (0..n).map(|i| (i % 101) as f64 / 50.0 - 1.0).collect();
                    assert!(answer(&c, &fine).is_ok());
                    for at in [0, n / 2, n - 1] {
                        for x in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                            let mut lane = fine.clone();
                            lane[at] = x;
                            if case.name == "order" && x.is_nan() {
                                continue;
                            }
                            let tensor = [Tensor::vector(lane.clone()).unwrap()];
                            let expected = run_with(&p, &tensor, Arithmetic::Checked, &mut Unobserved);
                            let got = answer(&c, &lane);
                            assert_eq!(got.is_ok(), expected.is_ok(), "{} of {n}: {x} at {at}", case.name);
                        }
                    }
                }
            }
        }
    }
}

fn max_linear<T: Float>(rows: usize, columns: usize, choice: &Choice, arithmetic: Arithmetic) {
    let mut b = Builder::new("f");
    let a = b.input("a", Shape::new([rows, columns]).unwrap()).unwrap();
    let x = b.input("x", Shape::vector(columns).unwrap()).unwrap();
    let kink = Kink::MaxLinear { lane: Lane::Axis, rows };
    let mut out = b.push(Op::Joint(kink.clone(), choice.clone()), &[a, x]).unwrap();
    out.extend(b.push(Op::Kink(kink), &[a, x]).unwrap());
    let p = b.finish(&out).unwrap();
    let options = Options::default().form(Form::Tensors).arithmetic(arithmetic);
    let codes = [1, 2, 3, 5].map(|threads| compile::<T>(&p, &options.clone().threads(threads)).unwrap());
    // small integers, of which every sum is exact: rows that are equal, and rows that are not
    let row = |r: usize, j: usize| ((j * 31 + (r % 5) * 17 + (r % 5) * j) % 7) as f64 - 3.0;
    let vector: Vec<T> = (0..columns).map(|j| T::from_f64(((j * 5 + 1) % 3) as f64 - 1.0)).collect();
    let matrix: Vec<T> = (0..rows * columns).map(|i| T::from_f64(row(i / columns, i % columns))).collect();
    let cells = [None, Some(0), Some(rows * columns - 1), Some((rows / 2) * columns + columns / 2)];
    for (cell, odd) in cells.iter().flat_map(|&c| [f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(|x| (c, x))) {
        let mut matrix = matrix.clone();
        if let Some(cell) = cell {
            matrix[cell] = T::from_f64(odd);
        }
        let what = format!("{rows} x {columns}, {choice:?}, {odd} at {cell:?}, {arithmetic:?}, {}", T::NAME);
        let answers = codes.each_ref().map(|c| {
            let mut out: Vec<Vec<T>> = c.outputs().iter().map(|s| vec![T::ONE; s.len()]).collect();
            let mut slices: Vec<&mut [T]> = out.iter_mut().map(|o| &mut o[..]).collect();
            c.run(&mut c.workspace(), &[&matrix, &vector], &mut slices).map(|()| out)
        });
        let at = [
            Tensor::new(Shape::new([rows, columns]).unwrap(), matrix.clone()).unwrap(),
            Tensor::vector(vector.clone()).unwrap(),
        ];
        let Ok(expected) = run_with(&p, &at, arithmetic, &mut Unobserved) else {
            assert!(answers.iter().all(Result::is_err), "{what}");
            continue;
        };
        let [one, rest @ ..] = answers.map(Result::unwrap);
        assert!(rest.iter().all(|r| bits(r) == bits(&one)), "threads differ: {what}");
        for (k, (got, expected)) in one.iter().zip(&expected).enumerate() {
            let off = got.iter().zip(expected.data()).position(|(&g, &e)| !equal(g, e));
            assert_eq!(off, None, "result {k}: {what}");
        }
    }
}

#[test]
fn largest_entries_of_products() {
    let shapes = [
        (1, 2 * PART + 5),
        (2, 3 * PART),
        (10, 1638),
        (10, 2047),
        (10, 2048),
        (10, 2049),
        (10, 4099),
        (48, 1025),
        (50, 1023),
        (97, 2050),
        (300, 70),
        (17_000, 1),
    ];
    for (i, &(rows, columns)) in shapes.iter().enumerate() {
        max_linear::<f64>(rows, columns, &choices()[i % 4], Arithmetic::Ieee);
        max_linear::<f32>(rows, columns, &choices()[(i + 1) % 4], Arithmetic::Ieee);
        max_linear::<f64>(rows, columns, &choices()[(i + 2) % 4], Arithmetic::Checked);
    }
}

#[test]
fn long_lanes_are_shared() {
    for case in cases() {
        let p = program(&case, &Shape::vector(100_000).unwrap(), Some(choices()[0].clone()));
        let said = compile::<f64>(&p, &Options::default().threads(2)).unwrap().explain().to_string();
        assert!(said.contains("\n1 of the steps on up to 2 threads"), "{}: {said}", case.name);
    }
}

#[test]
fn lesser_instructions_pass_these_tests_too() {
    lesser::again();
}
