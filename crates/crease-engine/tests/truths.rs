//! Logic and selections on numbers that are no truth values: every way of running them says what the interpreter says.

use crease_core::differentiate::{How, backprop};
use crease_core::op::{Comparison, Logic};
use crease_core::run::Unobserved;
use crease_core::{Arithmetic, Atom, Builder, Lane, Op, Program, Shape, Tensor, run_with, trace};
use crease_engine::{Agreement, Backend, Compiled, EngineError, Float, Form, Options, compile, value_and_grad};
use std::sync::Arc;

fn logic(b: &mut Builder, how: Logic, args: &[Atom]) -> Atom {
    b.push1(Op::Logic(how), args).unwrap()
}

/// Programs of two inputs of that shape and one more scalar, with one scalar output that depends on the latter smoothly.
fn programs(shape: &Shape) -> Vec<(&'static str, Program)> {
    let made = |name: &'static str, body: &dyn Fn(&mut Builder, Atom, Atom) -> Atom| {
        let mut b = Builder::new(name);
        let [x, y] = ["x", "y"].map(|n| b.input(n, shape.clone()).unwrap());
        let z = b.input("z", Shape::scalar()).unwrap();
        let truth = body(&mut b, x, y);
        let sum = if shape.is_scalar() { truth } else { b.sum(truth, &[0]).unwrap() };
        let square = b.push1(Op::Mul, &[z, z]).unwrap();
        let out = b.push1(Op::Mul, &[sum, square]).unwrap();
        (name, b.finish(&[out]).unwrap())
    };
    let mut all = vec![
        made("and", &|b, x, y| logic(b, Logic::And, &[x, y])),
        made("or", &|b, x, y| logic(b, Logic::Or, &[x, y])),
        made("not", &|b, x, _| logic(b, Logic::Not, &[x])),
        made("swallowed", &|b, x, y| {
            // whatever comes of the first, the result is a truth value
            let and = logic(b, Logic::And, &[x, y]);
            let two = b.constant(2);
            b.push1(Op::Compare(Comparison::Less), &[and, two]).unwrap()
        }),
        // so is what is no permutation
        made("permuted", &|b, x, y| {
            let (five, seven) = (b.constant(5), b.constant(7));
            b.push(Op::Permute { lane: Lane::Args, inverse: false }, &[five, seven, x, y]).unwrap()[0]
        }),
        made("unpermuted", &|b, x, y| {
            let (five, seven) = (b.constant(5), b.constant(7));
            b.push(Op::Permute { lane: Lane::Args, inverse: true }, &[five, seven, x, y]).unwrap()[1]
        }),
        made("of a call", &|b, x, y| {
            let mut inner = Builder::new("second");
            let [_, q] = ["p", "q"].map(|n| inner.input(n, shape.clone()).unwrap());
            let id = b.callee(Arc::new(inner.finish(&[q]).unwrap()), None).unwrap();
            let made = b.push1(Op::Call(id), &[x, y]).unwrap();
            logic(b, Logic::Not, &[made])
        }),
    ];
    if shape.is_scalar() {
        all.push(made("selection", &|b, x, y| {
            let branch = |f: fn(crease_core::Var<'_>) -> crease_core::Var<'_>| trace(1, |x| f(x[0])).unwrap();
            let one = b.callee(Arc::new(branch(|v| v * 3.0)), None).unwrap();
            let two = b.callee(Arc::new(branch(|v| v + 5.0)), None).unwrap();
            let three = b.callee(Arc::new(branch(|v| -v)), None).unwrap();
            let four = b.constant(4);
            b.push1(Op::Select([one, two, three].into()), &[x, y, four]).unwrap()
        }));
        all.push(made("a branch not taken", &|b, x, y| {
            let mut inner = Builder::new("logic");
            let p = inner.input("p", Shape::scalar()).unwrap();
            let out = logic(&mut inner, Logic::Not, &[p]);
            let one = b.callee(Arc::new(inner.finish(&[out]).unwrap()), None).unwrap();
            let two = b.callee(Arc::new(trace(1, |x| x[0] * x[0]).unwrap()), None).unwrap();
            let less = b.push1(Op::Compare(Comparison::Less), &[x, y]).unwrap();
            b.push1(Op::Select([one, two].into()), &[less, x]).unwrap()
        }));
    }
    all
}

const NUMBERS: [f64; 8] = [0.0, 1.0, -0.0, 0.5, -1.0, 2.0, f64::NAN, f64::INFINITY];

type Said<T> = Result<Vec<T>, String>;

/// Whether both say the same; a zero derivative may have the other sign.
fn same<T: Float>(a: &Said<T>, b: &Said<T>) -> bool {
    match (a, b) {
        (Ok(a), Ok(b)) => a.iter().zip(b).all(|(x, y)| x == y || x.is_nan() && y.is_nan()),
        (Err(a), Err(b)) => a == b,
        _ => false,
    }
}

fn interpreted<T: Float>(p: &Program, at: &[Vec<T>], arithmetic: Arithmetic) -> Said<T> {
    let shapes = p.inputs().iter().map(|i| i.shape.clone());
    let tensors: Vec<_> = shapes.zip(at).map(|(s, x)| Tensor::new(s, x.clone()).unwrap()).collect();
    let out = run_with(p, &tensors, arithmetic, &mut Unobserved).map_err(|e| e.to_string())?;
    Ok(out.into_iter().flat_map(Tensor::into_data).collect())
}

fn compiled<T: Float>(c: &Compiled<T>, at: &[Vec<T>]) -> Said<T> {
    let mut out: Vec<Vec<T>> = c.outputs().iter().map(|s| vec![T::ZERO; s.len()]).collect();
    let inputs: Vec<&[T]> = at.iter().map(|x| &x[..]).collect();
    let mut slices: Vec<&mut [T]> = out.iter_mut().map(|o| &mut o[..]).collect();
    c.run(&mut c.workspace(), &inputs, &mut slices).map_err(|e: EngineError| e.to_string())?;
    Ok(out.concat())
}

/// All points in one batch: an error if any point has one, else all results, point by point.
fn batched<T: Float>(c: &Compiled<T>, at: &[Vec<Vec<T>>]) -> Option<Vec<Vec<T>>> {
    let points = at.len();
    let inputs: Vec<Vec<T>> = (0..at[0].len()).map(|i| at.iter().flat_map(|x| x[i].clone()).collect()).collect();
    let mut out: Vec<Vec<T>> = c.outputs().iter().map(|s| vec![T::ZERO; s.len() * points]).collect();
    let mut slices: Vec<&mut [T]> = out.iter_mut().map(|o| &mut o[..]).collect();
    let inputs: Vec<&[T]> = inputs.iter().map(|x| &x[..]).collect();
    c.run_batch(&mut c.workspace(), points, &inputs, &mut slices).ok()?;
    let at = |p: usize| out.iter().flat_map(|o| o[p * o.len() / points..(p + 1) * o.len() / points].to_vec()).collect();
    Some((0..points).map(at).collect())
}

fn judge<T: Float>(shape: &Shape) {
    let (mut refused, mut answered) = (0, 0);
    for (name, p) in programs(shape) {
        let gradient = backprop(&p, &How::default()).unwrap();
        let points: Vec<Vec<Vec<T>>> = NUMBERS
            .iter()
            .flat_map(|&x| NUMBERS.map(|y| (x, y)))
            .map(|(x, y)| {
                // one element stands out among truth values
                let tensor = |x: f64| {
                    let mut data = vec![T::ONE; shape.len()];
                    data[shape.len() / 2] = T::from_f64(x);
                    data
                };
                vec![tensor(x), tensor(y), vec![T::from_f64(1.5)]]
            })
            .collect();
        for arithmetic in [Arithmetic::Checked, Arithmetic::Ieee] {
            for form in [Form::Scalars, Form::Tensors] {
                for backend in [Backend::Bytecode, Backend::Native] {
                    for agreement in [Agreement::Bits, Agreement::Rounding] {
                        let options = Options::default().arithmetic(arithmetic).form(form).backend(backend);
                        let options = options.agreement(agreement);
                        for (p, c) in [
                            (&p, compile::<T>(&p, &options).unwrap()),
                            (&gradient, value_and_grad::<T>(&p, &[], &options).unwrap()),
                        ] {
                            let said: Vec<_> = points.iter().map(|at| interpreted(p, at, arithmetic)).collect();
                            for (at, expected) in points.iter().zip(&said) {
                                let got = compiled(&c, at);
                                let what = format!("{name} {arithmetic:?} {form:?} {backend:?} {agreement:?} {at:?}");
                                assert!(same(expected, &got), "{what}: {expected:?}, got {got:?}");
                                *(if got.is_err() { &mut refused } else { &mut answered }) += 1;
                            }
                            // in a batch an odd number makes the others no odder
                            assert!(batched(&c, &points).is_none() || said.iter().all(Result::is_ok), "{name}");
                            let fine: Vec<usize> = (0..points.len()).filter(|&i| said[i].is_ok()).collect();
                            let some: Vec<_> = fine.iter().map(|&i| points[i].clone()).collect();
                            let all = (!some.is_empty()).then(|| batched(&c, &some).expect("none of these is refused"));
                            for (&i, got) in fine.iter().zip(all.into_iter().flatten()) {
                                assert!(same(&said[i], &Ok(got)), "{name} in a batch: {:?}", points[i]);
                            }
                        }
                    }
                }
            }
        }
    }
    assert!(refused > 100 && answered > 100, "{refused} {answered}");
}

#[test]
fn scalars_that_are_no_truth_values_are_refused() {
    judge::<f64>(&Shape::scalar());
    judge::<f32>(&Shape::scalar());
}

#[test]
fn tensors_that_are_no_truth_values_are_refused() {
    judge::<f64>(&Shape::vector(20).unwrap());
}

#[test]
fn what_is_refused_is_named() {
    let p = programs(&Shape::scalar()).swap_remove(0).1;
    let c = compile::<f64>(&p, &Options::default().arithmetic(Arithmetic::Ieee)).unwrap();
    let error = c.run(&mut c.workspace(), &[&[0.5], &[1.0], &[1.0]], &mut [&mut [0.0]]).unwrap_err();
    assert!(error.to_string().contains("0.5"), "{error}");
}
