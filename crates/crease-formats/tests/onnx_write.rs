//! What is written computes what the program computes: by a runtime of the tests' own, over every operation, random and hostile programs, and what is
//! derived from them; and it is read again, as far as its operators are.

mod runtime;

use crease_core::differentiate::{How, Mode, Selection, backprop, directional, forprop, jacobian, vjp};
use crease_core::number::Interval;
use crease_core::{Arithmetic, Program, Rational, RunOptions, Tensor, inline, run, run_with};
use crease_corpus::compare::convert;
use crease_corpus::random::{Rng, any_options, generic_point, program, tied_point};
use crease_corpus::{hostile, operations};
use crease_formats::onnx::{Element, Options, WriteError, WriteOptions, parse_onnx, write_onnx};
use runtime::{T, execute};
use std::collections::BTreeSet;

fn written(p: &Program, element: Element) -> Vec<u8> {
    let options = WriteOptions { element, ..WriteOptions::default() };
    write_onnx(p, &options).unwrap_or_else(|e| panic!("{e}\n{p}"))
}

fn reference(p: &Program, at: &[Tensor<f64>]) -> Option<Vec<Tensor<f64>>> {
    let unobserved = &mut crease_core::run::Unobserved;
    run_with(p, at, RunOptions::from(Arithmetic::Checked), unobserved).ok()
}

/// The operators of a model, those of branches not among them.
fn operators(bytes: &[u8]) -> Vec<String> {
    let model = <crease_formats::onnx::messages::ModelProto as prost::Message>::decode(bytes).unwrap();
    model.graph.unwrap().node.iter().map(|n| n.op_type().to_string()).collect()
}

/// How often a program was compared, and how often what was read again was.
#[derive(Default, Debug)]
struct Seen {
    run: usize,
    read: usize,
    outside: usize,
}

impl Seen {
    /// Compares what is written with the interpreter, where that has a value.
    fn check(&mut self, name: &str, p: &Program, at: &[Tensor<f64>], tolerance: f64) -> bool {
        self.check_as(name, p, at, tolerance, Element::F64)
    }

    fn check_as(&mut self, name: &str, p: &Program, at: &[Tensor<f64>], tolerance: f64, element: Element) -> bool {
        let bytes = written(p, element);
        let Some(want) = reference(p, at) else {
            self.outside += 1;
            return false;
        };
        let inputs: Vec<(&str, T)> =
            p.inputs().iter().zip(at).map(|(i, t)| (&*i.name, T::new(i.shape.dims(), t.data().to_vec()))).collect();
        let got = execute(&bytes, &inputs);
        self.run += 1;
        let close = |a: f64, b: f64, size: f64| (a - b).abs() <= tolerance * (1.0 + size) || a == b;
        let compare = |what: &str, got: &[f64], want: &Tensor<f64>| {
            let size = want.data().iter().fold(0.0, |s: f64, x| s.max(x.abs()));
            let fine = got.len() == want.data().len() && got.iter().zip(want.data()).all(|(&g, &w)| close(g, w, size));
            assert!(fine, "{name}, {what}: {got:?} is not {:?}\n{p}", want.data());
        };
        for (g, w) in got.iter().zip(&want) {
            compare("written", &g.data, w);
        }
        assert_eq!(got.len(), want.len());
        // whatever is written is read again
        let again = parse_onnx(&bytes, &Options::default()).unwrap_or_else(|e| panic!("{name}: {e}\n{p}"));
        if let Some(again) = reference(&again.program, at) {
            self.read += 1;
            for (g, w) in again.iter().zip(&want) {
                compare("read again", g.data(), w);
            }
        }
        true
    }
}

fn derived(p: &Program) -> Vec<(&'static str, Program)> {
    let mut all = Vec::new();
    for (name, selection) in [
        ("paper", Selection::paper()),
        ("torch", Selection::torch()),
        ("last", Selection::parse("relu=1/3, abs=1/2, elu=1/2, leaky_relu=1/3, max=last, order=last").unwrap()),
    ] {
        let how = How::default().select(selection);
        all.extend(backprop(p, &how).ok().map(|d| (name, d)));
    }
    all.extend(forprop(p, &How::default()).ok().map(|d| ("forprop", d)));
    all
}

#[test]
fn every_operation() {
    let mut rng = Rng::new(3);
    let (mut seen, mut names) = (Seen::default(), BTreeSet::new());
    for n in [1, 3, 4] {
        for (name, p) in operations::programs(n, &mut rng) {
            let mut all = vec![("itself", p.clone())];
            all.extend(derived(&p));
            for (what, d) in &all {
                for k in 0..3 {
                    let at: Vec<Tensor<f64>> =
                        convert(&if k == 0 { tied_point(&mut rng, d) } else { generic_point(&mut rng, d) });
                    // logarithms and roots have values where these are
                    let inside = |t: &Tensor<f64>| {
                        let numbers = t.data().iter().map(|x| 0.2 + 0.6 * (x.abs() % 1.0)).collect();
                        Tensor::new(t.shape().clone(), numbers).unwrap()
                    };
                    let at = if k == 2 { at.iter().map(inside).collect() } else { at };
                    if seen.check(&format!("{name}, {what}"), d, &at, 1e-12) {
                        for q in d.library().iter().map(|q| &**q).chain([d]) {
                            names.extend(q.equations().map(|e| operations::name(e.op)));
                        }
                    }
                }
            }
        }
    }
    let missing: Vec<_> = operations::ALL.iter().filter(|n| !names.contains(**n)).collect();
    assert!(missing.is_empty(), "no program had {missing:?}");
    assert!(seen.run > 5 * seen.outside && seen.read > 200, "{seen:?}");
}

/// What is written is read again in either type, whatever its constants are: at the ends of domains, where formulas for the functions that ONNX lacks might divide by 0.
#[test]
fn what_is_written_is_read_again() {
    let mut rng = Rng::new(5);
    let mut read = 0;
    let mut again = |name: &str, p: &Program| {
        for element in [Element::F32, Element::F64] {
            let bytes = written(p, element);
            let got = parse_onnx(&bytes, &Options::default());
            let network = got.unwrap_or_else(|e| panic!("{name} in {}: {e}\n{p}", element.name()));
            read += 1;
            let x: Vec<Tensor<f64>> = convert(&generic_point(&mut Rng::new(1), p));
            if let (Some(want), true) = (reference(p, &x), element == Element::F64) {
                let got = reference(&network.program, &x).unwrap_or_else(|| panic!("{name} has no value\n{p}"));
                for (g, w) in got.iter().zip(&want).flat_map(|(g, w)| g.data().iter().zip(w.data())) {
                    assert!((g - w).abs() <= 1e-12 * (1.0 + w.abs()), "{name}: {g} is not {w}\n{p}");
                }
            }
        }
    };
    for (name, p) in operations::programs(3, &mut rng) {
        again(&name, &p);
        derived(&p).iter().for_each(|(what, d)| again(&format!("{name}, {what}"), d));
    }
    let functions = "sqrt log exp sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh sigmoid softplus erf erfc erf_slope log1p expm1";
    for f in functions.split(' ') {
        for c in ["0", "1", "-1", "1/2"] {
            let text = format!("where(x > 100, {f}({c}), x) + where(x < 100, {f}({c}), x)");
            let p = crease_formats::parse_expression(&text, &|_| None).unwrap();
            // outside of its domain there is no value, here and there
            again(&text, &p);
        }
    }
    for text in ["atan2(x, 1)", "atan2(1, x)", "atan2(x, y)", "where(x > 100, 1/0, x)", "where(x > 0, inv(0), y)"] {
        again(text, &crease_formats::parse_expression(text, &|_| None).unwrap());
    }
    assert!(read > 400, "{read}");
}

/// The ends of the domains, where a quotient of roots would divide by 0.
#[test]
fn inverse_sines_at_their_ends() {
    for (f, ends) in
        [("asin", [-std::f64::consts::FRAC_PI_2, std::f64::consts::FRAC_PI_2]), ("acos", [std::f64::consts::PI, 0.0])]
    {
        let p = crease_formats::parse_expression(&format!("{f}(x)"), &|_| None).unwrap();
        let bytes = written(&p, Element::F64);
        let again = parse_onnx(&bytes, &Options::default()).unwrap().program;
        for (x, end) in [-1.0, 1.0].into_iter().zip(ends) {
            let read = reference(&again, &[Tensor::scalar(x)]).unwrap()[0].data()[0];
            let run = execute(&bytes, &[("x", T::new(&[], vec![x]))])[0].data[0];
            assert!((read - end).abs() <= 1e-15 && (run - end).abs() <= 1e-15, "{f}({x}): {read}, {run}");
        }
        for x in [-0.999_999_999f64, -0.7, -1e-9, 0.0, 0.3, 0.999_999_999] {
            let want = if f == "asin" { x.asin() } else { x.acos() };
            let run = execute(&bytes, &[("x", T::new(&[], vec![x]))])[0].data[0];
            assert!((run - want).abs() <= 4.0 * f64::EPSILON * want.abs(), "{f}({x}): {run}, {want}");
        }
    }
}

#[test]
fn random_programs_and_their_derivatives() {
    let mut rng = Rng::new(11);
    let mut seen = Seen::default();
    for round in 0..400 {
        let options = any_options(&mut rng, 4 + round % 12);
        let p = program(&mut rng, &options);
        let mut all = vec![("itself", p.clone())];
        all.extend(derived(&p));
        all.extend(vjp(&p, &How::default()).ok().map(|d| ("vjp", d)));
        if p.dimension() <= 12 && p.outputs().iter().map(|&o| p.atom_shape(o).len()).sum::<usize>() <= 12 {
            all.extend(jacobian(&p, &How::default(), Mode::Forward).ok().map(|d| ("jacobian", d)));
            let wrt: Vec<usize> = (0..p.inputs().len()).collect();
            all.extend(directional(&p, &wrt, 2).ok().map(|d| ("directional", d)));
        }
        for (what, d) in &all {
            let tied = rng.once_in(3);
            let at = convert(&if tied { tied_point(&mut rng, d) } else { generic_point(&mut rng, d) });
            seen.check(&format!("round {round}, {what}"), d, &at, 1e-9);
        }
    }
    assert!(seen.run > 1500 && seen.read > 300, "{seen:?}");
}

#[test]
fn hostile_programs_and_their_gradients() {
    let mut seen = Seen::default();
    for seed in 0..1500 {
        let case = hostile::case(seed);
        let at: Vec<Tensor<f64>> = convert(&case.inputs());
        // where the last digits decide a branch, or are all that is left, two right answers have nothing in common
        if unstable(&case.program, &at) {
            continue;
        }
        seen.check(&format!("seed {seed}"), &case.program, &at, 1e-6);
        if let Ok(d) = backprop(&case.program, &How::default())
            && !unstable(&d, &at)
        {
            seen.check(&format!("seed {seed}, backprop"), &d, &at, 1e-6);
        }
    }
    assert!(seen.run > 700, "{seen:?}");
}

/// Whether last digits decide a branch of the program, or are all that is left of a result: then its doubles say nothing. Intervals hold what any runtime
/// computes whose functions are right but for those. So is a program that cannot be expanded: it takes a number for a condition.
fn unstable(p: &Program, at: &[Tensor<f64>]) -> bool {
    if inline(p).is_err() {
        return true;
    }
    let points = |t: &Tensor<f64>| t.data().iter().map(|&x| Interval::point(x)).collect();
    let at_points: Vec<Tensor<Interval>> =
        at.iter().map(|t| Tensor::new(t.shape().clone(), points(t)).unwrap()).collect();
    let Ok(spans) = run(p, &at_points) else { return true };
    let wide = |x: &Interval| x.width() > 1e-9 * (1.0 + x.lo().abs());
    reference(p, at).is_none() || spans.iter().any(|t| t.data().iter().any(wide))
}

#[test]
fn convolutions_are_recognised() {
    use crease_core::{Builder, Conv2d, Shape};
    let mut rng = Rng::new(17);
    let (mut seen, mut recognised) = (Seen::default(), 0);
    for round in 0..60 {
        let mut pick = |from: i64, to: i64| rng.between(from, to) as usize;
        let (n, c, o) = (pick(1, 3), pick(1, 3), pick(1, 3));
        let (kernel, stride, padding) = ((pick(1, 3), pick(2, 4)), (pick(1, 2), pick(1, 2)), (pick(0, 2), pick(0, 2)));
        let image = (kernel.0 + pick(2, 5), kernel.1 + pick(2, 6));
        let mut b = Builder::new("f");
        let x = b.input("x", Shape::new([n, c, image.0, image.1]).unwrap()).unwrap();
        let k = b.input("k", Shape::new([o, c, kernel.0, kernel.1]).unwrap()).unwrap();
        let y = b.conv2d(x, k, Conv2d { stride, padding }).unwrap();
        let shift = b.constant(Rational::new(1, 8).unwrap());
        let y = b.add(y, shift).unwrap();
        let value = b.relu(y).unwrap();
        let z = operations::weighed(&mut b, value);
        let p = b.finish(&[z]).unwrap();
        let at: Vec<Tensor<f64>> = convert(&generic_point(&mut rng, &p));
        let d = backprop(&p, &How::default()).unwrap();
        for q in [&p, &d] {
            for element in [Element::F32, Element::F64] {
                assert!(seen.check_as(&format!("round {round}"), q, &at, 1e-11, element));
            }
        }
        let (value, both) = (operators(&written(&p, Element::F32)), operators(&written(&d, Element::F32)));
        let has = |all: &[String], name: &str| all.iter().any(|o| o == name);
        // rows of single elements are none where they are skipped, and in a derivative some element has to be inside all windows
        if kernel.0 > 1 || stride.0 == 1 {
            assert!(has(&value, "Conv"), "round {round}: {value:?}");
            if 2 * padding.0 < kernel.0 && 2 * padding.1 < kernel.1 {
                recognised += 1;
                assert!(has(&both, "Conv") && has(&both, "ConvTranspose"), "round {round}: {both:?}\n{d}");
                assert!(!has(&both, "ScatterElements") && !has(&both, "Gather"), "round {round}: {both:?}");
            }
        }
    }
    assert!(seen.run == 240 && recognised > 10, "{seen:?}, {recognised}");
}

#[test]
fn damaged_files_are_refused_or_are_other_networks() {
    let mut rng = Rng::new(23);
    let files: Vec<Vec<u8>> = operations::programs(3, &mut rng)
        .iter()
        .map(|(_, p)| written(p, Element::F64))
        .filter(|f| parse_onnx(f, &Options::default()).is_ok())
        .collect();
    let (mut read, rounds) = (0, 4000);
    for _ in 0..rounds {
        let mut bytes = rng.pick(&files).clone();
        for _ in 0..1 + rng.below(3) {
            let at = rng.below(bytes.len());
            match rng.below(4) {
                0 => bytes[at] ^= 1 << rng.below(8),
                1 => bytes[at] = rng.bits() as u8,
                2 => drop(bytes.remove(at)),
                _ => bytes.insert(at, rng.bits() as u8),
            }
        }
        let limits = crease_formats::onnx::Limits { bytes: 1 << 16, parts: 1 << 11, memory: 1 << 17 };
        let Ok(network) = parse_onnx(&bytes, &Options { limits, ..Options::default() }) else { continue };
        read += 1;
        let p = &network.program;
        assert!(p.verify().is_empty());
        if p.equations().flat_map(|e| e.results()).map(|v| p.shape(v).len()).sum::<usize>() < 1 << 16 {
            for element in [Element::F32, Element::F64] {
                // constants may have become too large for f32; nothing else stands in the way
                let again = write_onnx(p, &WriteOptions { element, ..WriteOptions::default() });
                assert!(again.is_ok() || matches!(again, Err(WriteError::Constant { .. } | WriteError::Twice(_))));
            }
        }
    }
    assert!(read > rounds / 40, "{read}");
}

#[test]
fn faults_name_the_place() {
    use crease_formats::parse_expression_text;
    let read = |text: &str| {
        let text = std::sync::Arc::new(crease_core::Text::new("<expression>", text));
        parse_expression_text(&text, &|_| None).unwrap()
    };
    let p = read("relu(x) + 1e39 * x");
    let error = write_onnx(&p, &WriteOptions::default()).unwrap_err();
    assert_eq!(error.to_string(), "a constant of about 1e39 does not fit into f32, in `1e39 * x` of program `f`");
    assert!(write_onnx(&p, &WriteOptions { element: Element::F64, ..WriteOptions::default() }).is_ok());
    let names = ["x".to_string()];
    let twice = write_onnx(&p, &WriteOptions { element: Element::F64, outputs: &names, ..WriteOptions::default() });
    assert_eq!(twice, Err(WriteError::Twice("x".into())));
    let names = ["y".to_string(), "z".to_string()];
    let many = write_onnx(&p, &WriteOptions { outputs: &names, ..WriteOptions::default() });
    assert!(matches!(many, Err(WriteError::Names { outputs: 1, names: 2, .. })));
    // beyond all doubles
    let far = read("x * 1e400");
    let error = write_onnx(&far, &WriteOptions { element: Element::F64, ..WriteOptions::default() }).unwrap_err();
    assert!(matches!(error, WriteError::Constant { .. }), "{error}");
}

#[test]
fn branches_that_are_not_taken_are_not_computed() {
    // a chain of selections in each other's branches, and one of very many branches
    let mut text = "x".to_string();
    for k in 0..20 {
        text = format!("select {{ x > {k} => {text} / (x - {k}), else => log(x) + {k} }}");
    }
    let many: Vec<String> = (0..200).map(|k| format!("x < {k} => {k} / (x - {k})")).collect();
    for text in [text, format!("select {{ {}, else => sqrt(x) }}", many.join(", "))] {
        let source = std::sync::Arc::new(crease_core::Text::new("<expression>", text));
        let p = crease_formats::parse_expression_text(&source, &|_| None).unwrap();
        let mut seen = Seen::default();
        for x in [0.5, 1.0, 7.25, 42.0, 199.5, 1000.0] {
            seen.check("branches", &p, &[Tensor::scalar(x)], 1e-12);
            seen.check("branches, backprop", &backprop(&p, &How::default()).unwrap(), &[Tensor::scalar(x)], 1e-12);
        }
        assert!(seen.run >= 8, "{seen:?}");
    }
    let mut deep = "x".to_string();
    for k in 0..40 {
        deep = format!("select {{ x > {k} => {deep}, else => {k} }}");
    }
    let source = std::sync::Arc::new(crease_core::Text::new("<expression>", deep));
    let p = crease_formats::parse_expression_text(&source, &|_| None).unwrap();
    let error = write_onnx(&p, &WriteOptions::default()).unwrap_err();
    assert!(error.to_string().starts_with("selections are nested more than 28 deep, in `select {"), "{error}");
}

#[test]
fn what_was_read_is_written_as_it_was() {
    // constants that are outputs, inputs that are outputs, one output twice
    let mut b = crease_core::Builder::new("f");
    let x = b.input("x", crease_core::Shape::new([2, 3]).unwrap()).unwrap();
    let third = b.constant(Rational::new(1, 3).unwrap());
    let zeros = b.zeros(crease_core::Shape::new([2]).unwrap()).unwrap();
    let p = b.finish(&[third, x, x, zeros]).unwrap();
    let mut seen = Seen::default();
    let at = Tensor::new(crease_core::Shape::new([2, 3]).unwrap(), vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
    seen.check("outputs", &p, &[at], 0.0);
    assert_eq!((seen.run, seen.read), (1, 1));
}

/// Programs, points and results for other runtimes, in the folder that CREASE_ONNX_DIR names: `bench/onnx-runtimes` compares them.
#[test]
#[ignore = "writes files for bench/onnx-runtimes"]
fn files_for_other_runtimes() {
    let folder = std::path::PathBuf::from(std::env::var("CREASE_ONNX_DIR").expect("CREASE_ONNX_DIR"));
    let mut rng = Rng::new(5);
    let mut count = 0;
    let mut put = |name: String, p: &Program, at: &[Tensor<f64>], element: Element, tolerance: f64| {
        let Some(want) = reference(p, at) else { return };
        let Ok(bytes) = write_onnx(p, &WriteOptions { element, ..WriteOptions::default() }) else { return };
        let tensor = |t: &Tensor<f64>| serde_json::json!({ "shape": t.shape().dims(), "data": t.data() });
        let inputs: Vec<_> = p.inputs().iter().zip(at).map(|(i, t)| serde_json::json!([&*i.name, tensor(t)])).collect();
        let outputs: Vec<_> = want.iter().map(tensor).collect();
        let about = serde_json::json!({ "name": name, "dtype": element.name(), "inputs": inputs, "outputs": outputs, "tolerance": tolerance });
        std::fs::write(folder.join(format!("{count:05}.onnx")), bytes).unwrap();
        std::fs::write(folder.join(format!("{count:05}.json")), about.to_string()).unwrap();
        count += 1;
    };
    let inside = |at: &[Tensor<f64>]| -> Vec<Tensor<f64>> {
        let one = |t: &Tensor<f64>| {
            Tensor::new(t.shape().clone(), t.data().iter().map(|x| 0.25 + 0.5 * (x.abs() % 1.0)).collect()).unwrap()
        };
        at.iter().map(one).collect()
    };
    for (name, p) in operations::programs(3, &mut rng) {
        for (what, d) in [("itself", p.clone())].into_iter().chain(derived(&p)) {
            let generic: Vec<Tensor<f64>> = convert(&generic_point(&mut rng, &d));
            for (at, element, tolerance) in [
                (convert(&tied_point(&mut rng, &d)), Element::F64, 1e-12),
                (generic.clone(), Element::F64, 1e-12),
                (inside(&generic), Element::F64, 1e-12),
                (inside(&generic), Element::F32, 1e-4),
            ] {
                put(format!("{name}, {what}"), &d, &at, element, tolerance);
            }
        }
    }
    for round in 0..150 {
        let options = any_options(&mut rng, 4 + round % 12);
        let p = program(&mut rng, &options);
        for (what, d) in [("itself", p.clone())].into_iter().chain(derived(&p)) {
            let at = convert(&generic_point(&mut rng, &d));
            put(format!("random {round}, {what}"), &d, &at, Element::F64, 1e-8);
        }
    }
    for seed in 0..300 {
        let case = hostile::case(seed);
        let at: Vec<Tensor<f64>> = convert(&case.inputs());
        for (what, d) in [("itself", case.program.clone())].into_iter().chain(derived(&case.program)) {
            if !unstable(&d, &at) {
                put(format!("hostile {seed}, {what}"), &d, &at, Element::F64, 1e-6);
            }
        }
    }
    println!("{count} models");
}
