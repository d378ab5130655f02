//! Size and depth: nothing recurses, nothing is quadratic. Every test runs on a stack of 128 KiB.

use crease_core::cost::{Prices, cost};
use crease_core::differentiate::{How, backprop};
use crease_core::{Tensor, run};
use crease_formats::{TextError, parse, parse_expression};
use std::fmt::Write;

fn on_a_small_stack(test: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new().stack_size(128 << 10).spawn(test).unwrap().join().unwrap();
}

fn expression(source: &str) -> Result<crease_core::Program, TextError> {
    parse_expression(source, &|_| None)
}

const DEEP: usize = 100_000;

#[test]
fn nested_brackets_calls_and_signs() {
    on_a_small_stack(|| {
        let source = format!("{}x{}", "(".repeat(DEEP), ")".repeat(DEEP));
        assert_eq!(expression(&source).unwrap().len(), 0);
        let source = format!("{}x{}", "relu(".repeat(DEEP), ")".repeat(DEEP));
        assert_eq!(expression(&source).unwrap().len(), DEEP);
        let source = format!("{}x", "-".repeat(DEEP));
        assert_eq!(expression(&source).unwrap().len(), DEEP);
        let source = format!("{}x{}", "max(1, -(".repeat(DEEP), "))".repeat(DEEP));
        assert_eq!(expression(&source).unwrap().len(), 2 * DEEP);
        let source = format!("{}x", "not ".repeat(DEEP));
        assert_eq!(expression(&source).unwrap().len(), DEEP);
        let source = format!("{}x{}", "(x + ".repeat(DEEP), ")".repeat(DEEP));
        assert_eq!(expression(&source).unwrap().len(), DEEP);
    });
}

#[test]
fn nested_lists_are_refused_and_not_followed() {
    on_a_small_stack(|| {
        let error = expression(&format!("{}1{}", "[".repeat(DEEP), "]".repeat(DEEP))).unwrap_err();
        assert_eq!(error.message, "a list can be nested 32 deep");
        let error = expression(&format!("{}x{}", "[".repeat(DEEP), "]".repeat(DEEP))).unwrap_err();
        assert_eq!(error.message, "a list can be nested 32 deep");
        assert!(expression(&"[".repeat(DEEP)).unwrap_err().message.starts_with("expected an expression"));
        assert!(expression(&"(".repeat(DEEP)).unwrap_err().message.starts_with("expected an expression"));
    });
}

#[test]
fn nested_selections() {
    on_a_small_stack(|| {
        let n = 20_000;
        let arms = format!("{}x{}", "select { x > 0 => y, else => ".repeat(n), " }".repeat(n));
        let p = expression(&arms).unwrap();
        assert_eq!(p.inputs().len(), 2);
        drop(p);
        let conditions = format!("{}x{}", "select { ".repeat(n), " => x, else => y }".repeat(n));
        assert_eq!(expression(&conditions).unwrap().len(), n);
        assert!(expression(&"select { x => ".repeat(n)).is_err());
    });
}

/// A loop is as long as its text, and so is its derivative; what is computed is what its turns compute.
#[test]
fn many_turns_of_a_loop() {
    on_a_small_stack(|| {
        // 1 - s is multiplied by 1 - r in each turn
        let repeat = |n: usize| format!("program f(x, r) = repeat({n}, s = x) {{ return s + r * relu(1 - s) }}");
        let p = parse(&repeat(DEEP)).unwrap().main().clone();
        assert_eq!(cost(&p).to_string(), "300000 + 100000 c_relu");
        let d = backprop(&p, &How::default()).unwrap();
        let small = backprop(parse(&repeat(10)).unwrap().main(), &How::default()).unwrap();
        let (long, short) = (d.to_string(), small.to_string());
        assert!(long.len() < short.len() + 100, "{} and {} bytes", long.len(), short.len());
        assert_eq!(**parse(&long).unwrap().main(), d);
        let unit = |p: &crease_core::Program| cost(p).at(&Prices::unit()).to_f64();
        assert!(unit(&d) < 5.0 * unit(&p));
        let out = run(&d, &[Tensor::scalar(0.0), Tensor::scalar(1e-5)]).unwrap();
        let left = (1.0f64 - 1e-5).powi(DEEP as i32);
        let expected = [1.0 - left, left, DEEP as f64 * left / (1.0 - 1e-5)];
        for (got, expected) in out.iter().zip(expected) {
            assert!((got.data()[0] - expected).abs() < 1e-6 * (1.0 + expected), "{got} and {expected}");
        }
    });
}

#[test]
fn many_turns_over_a_sequence() {
    on_a_small_stack(|| {
        let scan = |n: usize| {
            format!(
                "program f(v[{n}]) {{ let s, all = scan(s = 0, e in v) {{ let t = max(s, e) return t, t }} return s + sum(all) }}"
            )
        };
        let p = parse(&scan(DEEP)).unwrap().main().clone();
        // 99,999 additions in the sum and one more
        assert_eq!(cost(&p).to_string(), "100000 + 100000 c_relu");
        let d = backprop(&p, &How::default()).unwrap();
        assert_eq!(**parse(&d.to_string()).unwrap().main(), d);
        assert!(d.to_string().len() < 4000);
        // ascending: each number is its own maximum, and the last one is counted twice
        let v: Vec<f64> = (1..=DEEP).map(|i| i as f64).collect();
        let out = run(&d, &[Tensor::vector(v).unwrap()]).unwrap();
        let n = DEEP as f64;
        assert_eq!(out[0].data(), [n + n * (n + 1.0) / 2.0]);
        assert!(out[1].data()[..DEEP - 1].iter().all(|g| *g == 1.0));
        assert_eq!(out[1].data()[DEEP - 1], 2.0);
    });
}

#[test]
fn a_chain_of_programs() {
    on_a_small_stack(|| {
        let mut source = String::from("program p0(x) = relu(x)\n");
        for i in 1..DEEP {
            let _ = writeln!(source, "program p{i}(x) = p{}(x) + 1", i - 1);
        }
        let module = parse(&source).unwrap();
        assert_eq!(module.programs().len(), DEEP);
        assert_eq!(module.main().name(), format!("p{}", DEEP - 1));
    });
}

#[test]
fn many_equations() {
    on_a_small_stack(|| {
        let n = 200_000;
        let sum = vec!["x"; n].join(" + ");
        assert_eq!(expression(&sum).unwrap().len(), n - 1);
        let mut source = String::from("program f(v0) {\n");
        for i in 1..n {
            let _ = writeln!(source, "  let v{i} = v{} * 1.{i}", i - 1);
        }
        let _ = writeln!(source, "return v{} }}", n - 1);
        assert_eq!(parse(&source).unwrap().main().len(), n - 1);
        let wide = format!("max({})", vec!["x"; n].join(","));
        assert_eq!(expression(&wide).unwrap().equation(0).args.len(), n);
        let list = format!("[{}]", vec!["0.5"; n].join(","));
        assert_eq!(expression(&list).unwrap().len(), 1);
    });
}

#[test]
fn sums_of_fractions_do_not_grow_without_end() {
    let harmonic = (1..20_000).map(|i| format!("1/{i}")).collect::<Vec<_>>().join(" + ");
    assert!(!expression(&harmonic).unwrap().is_empty());
    let squares = (0..60).fold(String::from("let a = 3;"), |s, _| s + "let a = a * a;") + "a";
    assert!(expression(&squares).unwrap().len() > 10);
}

#[test]
fn messages_about_large_texts_are_short() {
    let source = format!("program f(x) = {} + y", vec!["x"; 500_000].join(" + "));
    let error = parse(&source).unwrap_err();
    assert!(error.render(&source, "f").len() < 500);
    let long = "a".repeat(1_000_000);
    let error = parse(&format!("program f(x) = {long}(x)")).unwrap_err();
    assert!(error.message.len() < 200, "{}", error.message.len());
    let error = expression(&format!("reshape(x, [{}])", vec!["1"; 100_000].join(","))).unwrap_err();
    assert_eq!(error.message, "a shape can have 32 axes here, this one has 100000");
}

#[test]
fn extreme_parameters_are_built_or_refused() {
    let huge = [
        "2147483648",
        "2147483647",
        "1099511627776",
        "9223372036854775807",
        "18446744073709551616",
        "-9223372036854775808",
        "0",
        "-1",
    ];
    let forms = [
        "I[0, 0:1:#]",
        "I[0, #]",
        "I[#:]",
        "I[::#]",
        "view(x, [1], from=#, sizes=[], strides=[])",
        "view(I, [2], from=0, sizes=[2], strides=[#])",
        "view(I, [2], sizes=[#, #], strides=[#, #], from=1)",
        "view(I, [#], table=[#])",
        "assemble([#], put(x, from=#, sizes=[#], strides=[0]))",
        "maxpool(I, #)",
        "maxpool(I, 2, stride=#)",
        "maxpool(I, 2, padding=#)",
        "maxpool(I, [#, 1], stride=[#, 1], padding=[#, 0])",
        "conv2d(I, K, padding=#)",
        "conv2d(I, K, dilation=#)",
        "conv2d(I, K, groups=#)",
        "conv_transpose2d(I, K, stride=#)",
        "conv_transpose2d(I, K, dilation=#)",
        "conv_transpose2d(I, K, padding=#)",
        "conv_transpose2d(I, K, extra=#)",
        "avgpool(I, #)",
        "avgpool(I, 2, stride=#, ceil=1)",
        "avgpool(I, 2, padding=#)",
        "maxpool(I, [#], dilation=#, ceil=1)",
        "conv2d(I, K, stride=#)",
        "conv2d(I, K, stride=[1, #], padding=[#, #])",
        "gather(I, [#], axis=0)",
        "gather(I, [0], axis=#)",
        "gather(broadcast(x, [2, 1073741824]), [0, 0, 1, 1], axis=0)",
        "reshape(x, [#])",
        "broadcast(x, [#])",
        "max(broadcast(x, [#]))",
        "sum(broadcast(x, [2, #]), axis=[0, 1])",
        "mean(broadcast(x, [#]))",
        "concat(broadcast(x, [#]), broadcast(x, [#]))",
        "transpose(I, [#, 0, 1])",
        "max(I, axis=#)",
        "sum(I, axis=#)",
        "concat(I, I, axis=#)",
        "order_statistic(x, 1, k=#)",
        "max_linear(x, x, rows=#)",
        "power(x, #)",
        "power(2, #)",
        "2 ^ #",
        "x ^ #",
        "0 ^ #",
        "zeros([#, #])",
        "permute(I, I, axis=#)",
        "broadcast(x, [1, #]) @ broadcast(x, [#, 1])",
        "broadcast(x, [#, 1]) @ broadcast(x, [1, #])",
        "leaky_relu(x, #)",
        "constant(#)",
        "[#, #]",
        "reshape(x, [1, #])[0, # - 1]",
        "reshape(x, [1])[#:#:#]",
    ];
    for form in forms {
        for number in huge {
            let source = format!("program f(x, I[1, 4, 4], K[1, 1, 2, 2]) = {}", form.replace('#', number));
            if let Ok(module) = parse(&source) {
                assert!(module.main().verify().is_empty(), "{source}");
            }
        }
    }
}
