//! Machine code does what the interpreter says, bit for bit: values and gradients, in both precisions, at odd numbers and ties.

use crease_core::differentiate::{How, Selection, backprop};
use crease_core::random::SplitMix64;
use crease_core::run::Unobserved;
use crease_core::{Arithmetic, Atom, Builder, Op, Program, Rational, Shape, Smooth, Tensor, relu, run_with, trace};
use crease_corpus::cases;
use crease_corpus::compare::convert;
use crease_corpus::random::{Rng, any_options, dyadic_point, generic_point, origin, program, tied_point};
use crease_engine::{Agreement, Backend, Compiled, Float, Form, Options, compile, value_and_grad};

/// Same bits; NaN is NaN.
fn same<T: Float>(a: T, b: T) -> bool {
    let (x, y) = (a.to_f64(), b.to_f64());
    x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan()
}

fn interpreter<T: Float>(p: &Program, at: &[Tensor<T>], how: Arithmetic) -> Result<Vec<T>, String> {
    let out = run_with(p, at, how, &mut Unobserved).map_err(|e| e.to_string())?;
    Ok(out.into_iter().flat_map(Tensor::into_data).collect())
}

fn engine<T: Float>(c: &Compiled<T>, at: &[Tensor<T>]) -> Result<Vec<T>, String> {
    let mut w = c.workspace();
    let inputs: Vec<&[T]> = at.iter().map(|t| t.data()).collect();
    let mut out: Vec<Vec<T>> = c.outputs().iter().map(|s| vec![T::ZERO; s.len()]).collect();
    let mut result = Ok(());
    // a second run in the same workspace gives the same
    for _ in 0..2 {
        let mut slices: Vec<&mut [T]> = out.iter_mut().map(|v| &mut v[..]).collect();
        result = c.run(&mut w, &inputs, &mut slices).map_err(|e| e.to_string());
    }
    result.map(|()| out.into_iter().flatten().collect())
}

/// Whether there is native code on this machine, in this build.
fn present() -> bool {
    cfg!(all(feature = "native", target_arch = "x86_64"))
}

fn is_native<T: Float>(c: &Compiled<T>) -> bool {
    c.explain().to_string().contains("bytes of native code")
}

fn native(arithmetic: Arithmetic) -> Options {
    Options::default().arithmetic(arithmetic).form(Form::Scalars).backend(Backend::Native)
}

/// A compiled program against the interpreter.
fn agrees<T: Float>(what: &str, c: &Compiled<T>, p: &Program, at: &[Tensor<T>], arithmetic: Arithmetic) {
    assert_eq!(is_native(c), present(), "{what}: {}", c.explain());
    match (interpreter(p, at, arithmetic), engine(c, at)) {
        (Ok(e), Ok(g)) => {
            assert_eq!(e.len(), g.len());
            for (k, (e, g)) in e.iter().zip(&g).enumerate() {
                assert!(same(*e, *g), "{what} {arithmetic:?}: number {k}: {e} {g}\n{p}\n{at:?}");
            }
        }
        // a program whose error lies in what nobody needs may run
        (Err(_), Ok(_)) => {}
        (Err(e), Err(g)) => assert_eq!(e, g, "{what}\n{p}"),
        (Ok(_), Err(g)) => panic!("{what}: the engine fails: {g}\n{p}\n{at:?}"),
    }
}

fn check<T: Float>(what: &str, p: &Program, at: &[Tensor<T>]) {
    for arithmetic in [Arithmetic::Checked, Arithmetic::Ieee] {
        let c = compile::<T>(p, &native(arithmetic)).unwrap_or_else(|e| panic!("{what}: {e}\n{p}"));
        agrees(what, &c, p, at, arithmetic);
    }
}

fn check_gradient<T: Float>(what: &str, p: &Program, how: &How, at: &[Tensor<T>]) {
    let Ok(derived) = backprop(p, how) else { return };
    // the backward sweep of bytecode sums in another order
    let agreement = if present() { Agreement::Rounding } else { Agreement::Bits };
    for arithmetic in [Arithmetic::Checked, Arithmetic::Ieee] {
        let c = value_and_grad::<T>(p, &[], &native(arithmetic).how(how.clone()).agreement(agreement));
        agrees(what, &c.unwrap_or_else(|e| panic!("{what}: {e}\n{p}")), &derived, at, arithmetic);
    }
}

#[test]
fn the_corpus_agrees_with_its_gradients() {
    for case in cases::ALL {
        let (p, at) = (case.program(), case.point());
        check::<f64>(case.name, &p, &convert(&at));
        check::<f32>(case.name, &p, &convert(&at));
        for (name, _) in case.gradients {
            let how = How::default().select(Selection::parse(name).unwrap());
            check_gradient::<f64>(case.name, &p, &how, &convert(&at));
            check_gradient::<f32>(case.name, &p, &how, &convert(&at));
        }
    }
}

#[test]
fn random_programs_agree_with_their_gradients() {
    let mut rng = Rng::new(77);
    let selections = ["paper", "torch", "jax", "relu=1/2, max=last, order=last", "tensorflow"];
    for round in 0..300 {
        let size = 4 + rng.below(40);
        // loops are unrolled before they are derived, which adds up in another order
        let options = any_options(&mut rng, size).loops(0);
        let p = program(&mut rng, &options);
        let how = How::default().select(Selection::parse(selections[round % selections.len()]).unwrap());
        for at in [generic_point(&mut rng, &p), dyadic_point(&mut rng, &p), tied_point(&mut rng, &p), origin(&p)] {
            let what = format!("round {round}");
            check::<f64>(&what, &p, &convert(&at));
            check::<f32>(&what, &p, &convert(&at));
            check_gradient::<f64>(&what, &p, &how, &convert(&at));
            check_gradient::<f32>(&what, &p, &how, &convert(&at));
        }
    }
}

#[test]
fn odd_numbers_come_out_as_in_the_interpreter() {
    let odd = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5e-324, -1e-310, 1e-42, 1e308, 1.0, -1.0, 1.0];
    let mut rng = Rng::new(5);
    let selections = ["paper", "torch", "jax", "relu=1/2, max=last, order=last", "tensorflow"];
    for round in 0..400 {
        let size = 3 + rng.below(12);
        // loops are unrolled before they are derived, which adds up in another order
        let options = any_options(&mut rng, size).loops(0);
        let p = program(&mut rng, &options);
        let how = How::default().select(Selection::parse(selections[round % selections.len()]).unwrap());
        let at: Vec<Tensor<f64>> = p
            .inputs()
            .iter()
            .map(|i| Tensor::new(i.shape.clone(), (0..i.shape.len()).map(|_| *rng.pick(&odd)).collect()).unwrap())
            .collect();
        let single: Vec<Tensor<f32>> = at
            .iter()
            .map(|t| Tensor::new(t.shape().clone(), t.data().iter().map(|&x| x as f32).collect()).unwrap())
            .collect();
        let what = format!("round {round}");
        check::<f64>(&what, &p, &at);
        check::<f32>(&what, &p, &single);
        check_gradient::<f64>(&what, &p, &how, &at);
        check_gradient::<f32>(&what, &p, &how, &single);
    }
}

/// Every operation on two numbers, at all pairs of odd numbers.
#[test]
fn every_operation_agrees_at_every_pair_of_odd_numbers() {
    use crease_core::Kink;
    use crease_core::Lane;
    use crease_core::Ties;
    use crease_core::op::{Choice, Comparison};
    let kinks = [Kink::Relu, Kink::Abs, Kink::LeakyRelu(Rational::from(-2)), Kink::Elu(Rational::from(2))];
    let lanes = [Kink::Max(Lane::Args), Kink::Min(Lane::Args), Kink::Norm1(Lane::Args), Kink::Sort(Lane::Args)];
    let mut b = Builder::new("all");
    let x = [b.input("x", Shape::scalar()).unwrap(), b.input("y", Shape::scalar()).unwrap()];
    let mut out: Vec<Atom> = Vec::new();
    for op in [Op::Add, Op::Sub, Op::Mul, Op::Div] {
        out.extend(b.push(op, &x).unwrap());
    }
    let smooth =
        Smooth::NAMED.iter().copied().chain([2, -3].map(Smooth::Power)).chain([Smooth::Root(5, 3)]).map(Op::from);
    for op in smooth.chain([Op::Neg]) {
        out.extend(b.push(op, &x[..1]).unwrap());
    }
    for c in Comparison::ALL {
        out.extend(b.push(Op::Compare(c), &x).unwrap());
    }
    for ties in [Ties::First, Ties::Last, Ties::Average, Ties::Every] {
        for at in ["0", "1", "1/2", "-1"] {
            let choice = Choice { at_kink: at.parse().unwrap(), ties };
            for kink in &kinks {
                out.extend(b.push(Op::Joint(kink.clone(), choice.clone()), &x[..1]).unwrap());
            }
            out.extend(b.push(Op::Joint(Kink::TimesRelu, choice.clone()), &x).unwrap());
            for kink in &lanes {
                let three = [x[0], x[1], x[0]];
                out.extend(b.push(Op::Joint(kink.clone(), choice.clone()), &three).unwrap());
                out.extend(b.push(Op::Kink(kink.clone()), &x).unwrap());
            }
        }
    }
    let p = b.finish(&out).unwrap();
    let odd = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 5e-324, -1e-310, 1e-42, 1e308, 1.0, -1.0, 0.5];
    let c = compile::<f64>(&p, &native(Arithmetic::Ieee)).unwrap();
    let single = compile::<f32>(&p, &native(Arithmetic::Ieee)).unwrap();
    for x in odd {
        for y in odd {
            agrees("pair", &c, &p, &[Tensor::scalar(x), Tensor::scalar(y)], Arithmetic::Ieee);
            let at = [Tensor::scalar(x as f32), Tensor::scalar(y as f32)];
            agrees("pair", &single, &p, &at, Arithmetic::Ieee);
        }
    }
}

#[test]
fn small_programs_are_programs() {
    let at = |x: f64| vec![Tensor::scalar(x)];
    // one equation; none; constants alone; an input twice and a result twice
    check::<f64>("one", &trace(1, |x| relu(x[0])).unwrap(), &at(-0.0));
    let mut b = Builder::new("none");
    let x = b.input("x", Shape::scalar()).unwrap();
    check::<f64>("none", &b.finish(&[x]).unwrap(), &at(3.0));
    let mut b = Builder::new("constants");
    b.input("x", Shape::scalar()).unwrap();
    let [two, third] = [b.constant(2), b.constant("1/3".parse::<Rational>().unwrap())];
    let sum = b.push1(Op::Add, &[two, third]).unwrap();
    check::<f64>("constants", &b.finish(&[two, sum, third, two]).unwrap(), &at(3.0));
    let mut b = Builder::new("twice");
    let x = b.input("x", Shape::scalar()).unwrap();
    let y = b.push1(Op::Mul, &[x, x]).unwrap();
    let p = b.finish(&[y, x, y, x]).unwrap();
    check::<f64>("twice", &p, &at(3.0));
    check::<f32>("twice", &p, &[Tensor::scalar(3.0)]);
}

/// Sums, differences, halves and maxima of values from anywhere before, so that most are far.
fn long(n: usize) -> Program {
    let mut rng = SplitMix64::new(9);
    let mut b = Builder::new("long");
    let mut values: Vec<Atom> = (0..50).map(|i| b.input(format!("x{i}"), Shape::scalar()).unwrap()).collect();
    let half = b.constant_f64(0.5).unwrap();
    while values.len() < n {
        let reach = [3, 400, values.len()][rng.below(3) as usize].min(values.len());
        let [x, y] = [(); 2].map(|()| values[values.len() - 1 - rng.below(reach as u64) as usize]);
        let v = match rng.below(4) {
            0 => b.push1(Op::Sub, &[x, y]),
            1 => b.push1(Op::Mul, &[x, half]),
            2 => b.push1(Op::Kink(crease_core::Kink::Abs), &[y]),
            _ => b.max(&[x, y]),
        };
        values.push(v.unwrap());
    }
    let last = b.max(&values[n - 40..]).unwrap();
    b.finish(&[last]).unwrap()
}

#[test]
fn long_programs_agree_and_batches_with_single_points() {
    for n in [255, 256, 257, 20_000] {
        let p = long(n);
        let at: Vec<Tensor<f64>> = (0..50).map(|i| Tensor::scalar(f64::from(i * 7 % 13) - 6.0)).collect();
        check(&format!("{n}"), &p, &at);
        check_gradient(&format!("{n}"), &p, &How::default(), &at);
    }
    let p = long(3000);
    let c = value_and_grad::<f64>(&p, &[], &native(Arithmetic::Checked)).unwrap();
    let points = 21;
    let x: Vec<Vec<f64>> =
        (0..50).map(|i| (0..points).map(|k| ((i * 7 + k * 5) % 13) as f64 - 6.0).collect()).collect();
    let inputs: Vec<&[f64]> = x.iter().map(|x| &x[..]).collect();
    let mut all = vec![vec![0.0; points]; 51];
    let mut out: Vec<&mut [f64]> = all.iter_mut().map(|o| &mut o[..]).collect();
    c.run_batch(&mut c.workspace(), points, &inputs, &mut out).unwrap();
    for k in 0..points {
        let one = engine(&c, &x.iter().map(|x| Tensor::scalar(x[k])).collect::<Vec<_>>()).unwrap();
        for (a, b) in one.iter().zip(&all) {
            assert!(same(*a, b[k]), "{a} {}", b[k]);
        }
    }
}

#[test]
fn a_million_equations_compile_and_memory_is_given_back() {
    let p = long(1_000_000);
    let at: Vec<Tensor<f64>> = (0..50).map(|i| Tensor::scalar(f64::from(i * 7 % 13) - 6.0)).collect();
    let c = compile::<f64>(&p, &native(Arithmetic::Checked)).unwrap();
    agrees("a million", &c, &p, &at, Arithmetic::Checked);
    drop(c);
    // code of some 200 kB each time
    let p = long(10_000);
    for _ in 0..20 {
        let c = compile::<f64>(&p, &native(Arithmetic::Checked)).unwrap();
        agrees("again", &c, &p, &at, Arithmetic::Checked);
    }
}

#[test]
fn compiled_programs_are_shared_between_threads() {
    let p = long(2000);
    let c = compile::<f64>(&p, &native(Arithmetic::Checked)).unwrap();
    let at: Vec<Tensor<f64>> = (0..50).map(|i| Tensor::scalar(f64::from(i * 7 % 13) - 6.0)).collect();
    let expected = engine(&c, &at).unwrap();
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| assert_eq!(engine(&c, &at).unwrap(), expected));
        }
    });
}

#[test]
fn what_is_chosen_is_explained() {
    let p = long(2000);
    let explained = |o: &Options| compile::<f64>(&p, o).unwrap().explain().to_string();
    assert!(explained(&Options::default().runs(1)).contains("bytecode"));
    let often = explained(&Options::default().runs(u64::MAX));
    assert_eq!(often.contains("bytes of native code"), present(), "{often}");
    assert!(explained(&Options::default().backend(Backend::Bytecode)).contains("bytecode as asked"));
    let forced = explained(&Options::default().backend(Backend::Native));
    let expected = if present() { "bytes of native code, compiled in" } else { "there is no native code" };
    assert!(forced.contains(expected), "{forced}");
}

#[test]
fn errors_are_those_of_the_interpreter() {
    // hidden from the output: minus infinity vanishes in a maximum, infinity in a quotient
    for (what, p) in [
        ("maximum", trace(1, |x| crease_core::max(&[-(1.0 / x[0]), x[0]])).unwrap()),
        ("quotient", trace(1, |x| 1.0 / (1.0 / x[0])).unwrap()),
        ("relu", trace(1, |x| relu(-(1.0 / x[0]))).unwrap()),
        ("overflow", trace(1, |x| relu(-crease_core::exp(x[0] * x[0])) + x[0]).unwrap()),
    ] {
        check::<f64>(what, &p, &[Tensor::scalar(0.0)]);
        check::<f64>(what, &p, &[Tensor::scalar(1e200)]);
        let c = compile::<f64>(&p, &native(Arithmetic::Checked)).unwrap();
        let wrong = if what == "overflow" { 1e200 } else { 0.0 };
        assert!(engine(&c, &[Tensor::scalar(wrong)]).is_err(), "{what}");
    }
}
