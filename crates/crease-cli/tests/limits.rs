//! Every command ends: what it may take is limited, and what ended it is said, with the flag that goes further.

mod tool;

use tool::{fault, file, json, ok, usage};

/// f_0(x) = relu(x) + 1 and n levels above it.
fn levels(name: &str, n: usize, next: impl Fn(&str) -> String) -> String {
    let text = (1..=n).fold("program f0(x) = relu(x) + 1\n".to_string(), |text, i| {
        format!("{text}program f{i}(x) = {}\n", next(&format!("f{}", i - 1)))
    });
    file("limits", &format!("{name}{n}.crease"), text)
}

/// f_i(x) = f_(i-1)(x) + f_(i-1)(x).
fn doubled(n: usize) -> String {
    levels("doubled", n, |f| format!("{f}(x) + {f}(x)"))
}

/// f_i(x) = f_(i-1)(f_(i-1)(x)).
fn composed(n: usize) -> String {
    levels("composed", n, |f| format!("{f}({f}(x))"))
}

/// 2^n, in decimal.
fn power_of_two(n: usize) -> String {
    let mut digits = vec![1u8];
    for _ in 0..n {
        let mut carry = 0;
        for d in &mut digits {
            let twice = 2 * *d + carry;
            (*d, carry) = (twice % 10, twice / 10);
        }
        digits.extend((carry > 0).then_some(carry));
    }
    digits.iter().rev().map(|d| char::from(b'0' + d)).collect()
}

#[test]
fn costs_are_exact_at_every_level() {
    for n in [126, 127, 128, 700] {
        let path = composed(n);
        let report = json(&["cost", &path, "--technique", "backward", "--json"]);
        let (single, double) = (power_of_two(n), power_of_two(n + 1));
        assert_eq!(report["cost"], double.as_str());
        assert_eq!(report["tally"]["relu"], single.as_str());
        assert_eq!(report["prices"]["cost"], format!("{single} + {single} c_relu"));
        let counted = report["backprop"]["counted"].as_str().unwrap();
        assert!(counted.len() >= single.len() && !counted.starts_with('-'), "{counted}");
        let text = ok(&["cost", &path, "--technique", "backward"]);
        assert!(text.contains(&format!("{single} + {single} c_relu")), "{text}");
    }
    // where they fit, they are numbers as ever
    let report = json(&["cost", &composed(20), "--technique", "backward", "--json"]);
    assert_eq!(report["cost"], 1u64 << 21);
}

#[test]
fn runs_that_take_too_long_do_not_begin() {
    for path in [doubled(40), composed(200)] {
        let message = fault(&["eval", &path, "--at", "x=1"]);
        assert!(message.contains("the run takes at least") && message.contains("--max-steps"), "{message}");
        for flag in ["--float", "--exact"] {
            assert!(fault(&["eval", &path, "--at", "x=1", flag]).contains("--max-steps"));
        }
        let message = fault(&["grad", &path, "--at", "x=1", "--technique", "backward"]);
        assert!(message.contains("--max-steps"), "{message}");
        let message = fault(&["grad", &path, "--at", "x=1"]);
        assert!(message.contains("--max-equations") && message.contains("--technique backward"), "{message}");
    }
}

#[test]
fn the_limit_is_a_flag() {
    let path = doubled(10);
    assert_eq!(ok(&["eval", &path, "--at", "x=1"]), "2048\n");
    let message = fault(&["eval", &path, "--at", "x=1", "--max-steps", "1000"]);
    assert!(message.contains("more than the limit of 1000"), "{message}");
    assert_eq!(ok(&["eval", &path, "--at", "x=1", "--max-steps", "100000"]), "2048\n");
    let message = fault(&["eval", "-e", "sum(v)", "--at", "v=[1,2,3]", "--max-numbers", "3"]);
    assert!(message.contains("holds at least 4 numbers") && message.contains("--max-numbers"), "{message}");
    let message = fault(&["show", &path, "--inline", "--max-equations", "100"]);
    assert!(message.contains("more than the limit of 100"), "{message}");
    assert!(ok(&["show", &path, "--inline"]).lines().count() > 3000);
}

/// What can be said is said although the calls cannot be expanded, and what cannot be said is not made up.
#[test]
fn a_program_whose_calls_cannot_be_expanded_has_a_cost_all_the_same() {
    let path = doubled(40);
    let text = ok(&["cost", &path]);
    assert!(text.contains("3,298,534,883,327 = 2199023255551 + 1099511627776 c_relu"), "{text}");
    assert!(text.contains("backprop  not counted: expanding all calls of `f40`"), "{text}");
    let report = json(&["cost", &path, "--json"]);
    assert_eq!(report["cost"], 3_298_534_883_327u64);
    assert!(report["backprop"]["error"].as_str().unwrap().contains("raise `equations`"));
    assert!(report["backprop"]["counted"].is_null() && report["prices"]["backprop"].is_null());
    let known = json(&["cost", &path, "--technique", "backward", "--json"]);
    assert!(known["backprop"]["counted"].is_u64() && known["backprop"]["error"].is_null());
    assert!(fault(&["show", &path, "--inline"]).contains("--max-equations"));
    // what expands nothing is not concerned, and says what it left out
    assert!(ok(&["simplify", &path]).contains("only folded and shared"));
    assert!(ok(&["show", &path]).contains("program f40(x)"));
}

const NETWORK: &str = "program loss(x[784], W1[256, 784], b1[256], W2[256, 256], b2[256], W3[10, 256], b3[10]) {
  let h1 = relu(W1 @ x + b1)
  let h2 = relu(W2 @ h1 + b2)
  let s = W3 @ h2 + b3
  return logsumexp(s) - s[0]
}
";

#[test]
fn a_network_of_ordinary_size_is_costed_in_both_modes() {
    let path = file("limits", "network.crease", NETWORK);
    let report = json(&["cost", &path, "--json"]);
    assert_eq!(report["cost"], 538_153);
    for mode in ["backprop", "forprop"] {
        let (counted, model) = (report[mode]["counted"].as_u64().unwrap(), report[mode]["model"].as_u64().unwrap());
        let omega = report[mode]["omega"].as_f64().unwrap();
        assert!(counted <= model && model as f64 <= omega * 538_153.0, "{report}");
    }
    assert_eq!(report["forprop"]["counted"], 290_562_205_755u64);
    for derived in [&["forprop"][..], &["jacobian", "--mode", "forward"], &["hessian"]] {
        let message = fault(&[&["show", &path, "--derive"][..], derived].concat());
        assert!(message.contains("carries 270106 columns") && message.contains("backprop"), "{message}");
    }
}

#[test]
fn tables_and_simplify_have_limits_of_their_own() {
    assert!(tool::usage(&["table", "3", "--n", "10001"]).contains("10000"));
    let text = ok(&["simplify", "-e", "(x + y) * (x - y) * (x + 2) * (y + 3)", "--nodes", "50"]);
    assert!(text.contains("50 terms (--nodes)"), "{text}");
    let text = ok(&["simplify", "-e", "(x + y) * (x - y) * (x + 2) * (y + 3)", "--seconds", "0"]);
    assert!(text.contains("time is up (--seconds)"), "{text}");
}

#[test]
fn time_is_a_limit_of_every_question_about_a_point() {
    // 8,192 calls, each of them two operations
    let path = doubled(13);
    let at = ["--at", "x=0", "--seconds"];
    // a verdict is unknown then
    assert_eq!(ok(&["conservative", &path, "--at", "x=0", "--seconds", "0"]), "conservative  unknown: time is up\n");
    for command in [&["directional", "--along", "x=1"][..], &["lexicographic"], &["clarke"]] {
        let message = fault(&[&command[..1], &[&path], &at, &["0"], &command[1..]].concat());
        assert!(message.contains("time is up"), "{command:?}: {message}");
        ok(&[&command[..1], &[&path], &at, &["1000"], &command[1..]].concat());
    }
    for command in ["grad", "eval"] {
        let message = fault(&[&[command, &path][..], &at, &["0"]].concat());
        assert!(message.contains("time is up"), "{command}: {message}");
        assert!(fault(&[command, "-e", "x", "--at", "x=0", "--seconds=-1"]).contains("not negative"));
    }
}

/// Each limit has a name, and more of it goes further.
#[test]
fn limits_are_set_by_name() {
    let identity = ["-e", "relu(x) - relu(-x)", "--at", "x=0", "--json"];
    let verdict = |more: &[&str]| json(&[&["differentiable"], &identity[..], more].concat())["verdict"].clone();
    assert_eq!(verdict(&[]), "yes");
    assert_eq!(verdict(&["--limit", "graph=0"]), "unknown");
    assert_eq!(verdict(&["--limit", "graph=0", "--limit", "graph=100000"]), "yes");
    assert_eq!(verdict(&["--limit", "normal-form=7"]), "yes"); // as flags are written
    for (limit, message) in [
        ("grph=1", "there is no limit grph; there are: steps, numbers,"),
        ("graph", "this is NAME=N"),
        ("graph=-1", "-1 is no whole number"),
        ("bits=99999999999", "bits=99999999999 is too large: 4294967295 at most"),
    ] {
        let text = usage(&[&["differentiable"], &identity[..], &["--limit", limit]].concat());
        assert!(text.contains(message), "{text}");
    }
}

/// p_0 is a sum of squares, and p_k(x) = p_(k-1)(x with a 1 in its place number k) + p_(k-1)(x), which is a case of its own for each set of constants.
fn patterns(m: usize) -> (String, String) {
    let names: Vec<String> = (0..m).map(|i| format!("x{i}")).collect();
    let all = names.join(", ");
    let squares: Vec<String> = names.iter().map(|x| format!("{x} * {x}")).collect();
    let mut text = format!("program p0({all}) = {}\n", squares.join(" + "));
    for k in 0..m {
        let mut fixed = names.clone();
        fixed[k] = "1".into();
        text.push_str(&format!("program p{}({all}) = p{k}({}) + p{k}({all})\n", k + 1, fixed.join(", ")));
    }
    let at = names.iter().map(|x| format!("{x}=2")).collect::<Vec<_>>().join(",");
    (file("limits", &format!("patterns{m}.crease"), text), at)
}

#[test]
fn programs_that_are_called_in_too_many_ways_are_refused_and_small_ones_counted() {
    let report = json(&["cost", &patterns(8).0, "--json"]);
    assert_eq!(report["cost"], 897 + 1023 + 1024);
    assert_eq!(report["backprop"]["counted"], 4984);
    let tight = ["--max-equations", "100000"];
    for m in [16, 40] {
        let (path, at) = patterns(m);
        let message = fault(&[&["cost", &path][..], &tight].concat());
        let says = format!("`p{m}` calls its programs in so many ways");
        assert!(message.contains(&says) && message.contains("--max-equations"), "{message}");
        for technique in ["auto", "backward", "forward"] {
            let how = ["--technique", technique, "--max-equations", "100000"];
            let message = fault(&[&["grad", &path, "--at", &at][..], &how].concat());
            assert!(message.contains("more than the limit of 100000"), "{message}");
            let message = fault(&[&["show", &path, "--derive", "backprop"][..], &how].concat());
            assert!(message.contains("more than the limit of 100000"), "{message}");
        }
    }
    // a run needs no tally, only steps
    let (path, at) = patterns(40);
    assert!(fault(&["eval", &path, "--at", &at]).contains("--max-steps"));
    for command in ["cost", "clarke", "bench"] {
        let message = fault(&[command, &path, "--at", &at][..if command == "cost" { 2 } else { 4 }]);
        assert!(message.contains("more than the limit of"), "{command}: {message}");
    }
}

/// What a message names is a flag of the command that says it.
#[test]
fn equations_are_a_limit_of_what_expands_calls() {
    let path = doubled(10);
    let at = ["--at", "x=1"];
    for flag in [&["--max-equations", "100"][..], &["--limit", "equations=100"]] {
        let message = fault(&[&["grad", &path][..], &at, flag].concat());
        assert!(message.contains("more than the limit of 100;"), "{message}");
        assert!(message.contains("--max-equations or --limit equations=N"), "{message}");
    }
    // the limit by its name is one on differentiation, in both directions
    let tight = ["--max-equations", "100", "--limit", "equations=100000"];
    assert!(ok(&[&["grad", &path][..], &at, &tight].concat()).contains("2048"));
    let (calls, zeros) = patterns(16);
    let message = fault(&["grad", &calls, "--at", &zeros, "--limit", "equations=100000"]);
    assert!(message.contains("more than the limit of 100000") && message.contains("--limit equations=N"), "{message}");
    let message = fault(&["simplify", &path, "--limit", "equations=100"]);
    assert!(message.contains("more than the limit of 100;") && message.contains("--limit equations=N"), "{message}");
    assert!(fault(&["clarke", &path, "--at", "x=1", "--limit", "equations=100"]).contains("--limit equations=N"));
}

#[test]
fn the_parts_of_simplify_have_limits() {
    let proved =
        |limit: &str| json(&["simplify", "-e", "x * y + x * z", "--limit", limit, "--json"])["verified"].clone();
    assert_eq!([proved("monomials=100"), proved("monomials=1")], ["proved", "certain"]);
    let text = ok(&["simplify", "-e", "(x + y) * (x - y) * (x + 2) * (y + 3)", "--nodes", "50", "--limit", "terms=60"]);
    assert!(text.contains("60 terms (--nodes)"), "{text}");
}

#[test]
fn a_message_about_a_limit_names_a_flag_that_the_command_takes() {
    let (path, at) = patterns(16);
    // cases are counted within `equations`, runs within `steps`
    for (command, more) in [("cost", &[][..]), ("grad", &["--at", &at]), ("bench", &["--at", &at])] {
        let message = fault(&[&[command, &path][..], more, &["--limit", "equations=1000"]].concat());
        assert!(
            message.contains(
                "more than the limit of 1000 equations; raise it with --max-equations or --limit equations=N"
            ),
            "{command}: {message}"
        );
    }
    let raised = ["cost", &patterns(8).0, "--max-equations", "10", "--limit", "equations=100000", "--json"];
    assert_eq!(json(&raised)["backprop"]["counted"], 4984);
    let timed = ["bench", "-e", "relu(x)", "--at", "x=0", "--duration", "0", "--limit"];
    let message = fault(&[&timed[..], &["steps=1"]].concat());
    assert!(message.contains("more than the limit of 1; raise it with --limit steps=N"), "{message}");
    ok(&[&timed[..], &["steps=1000"]].concat());
    // to look at a program from one point, its calls are expanded within `equations`
    let nested = file("limits", "nested.crease", "program g(x) = relu(x)\nprogram f(x) = g(x) + g(x)\n");
    let certificate = file("limits", "nested.cert", "");
    ok(&["differentiable", &nested, "--at", "x=0", "--certificate", &certificate]);
    for asked in [&["clarke", &nested][..], &["check", &certificate, &nested]] {
        let message = fault(&[asked, &["--at", "x=0", "--limit", "equations=4"]].concat());
        assert!(message.contains("more than the limit of 4") && message.contains("--limit equations=N"), "{message}");
        ok(&[asked, &["--at", "x=0", "--limit", "equations=5"]].concat());
    }
    // loops are written out within `equations`, too
    let looped = file("limits", "looped.crease", "program f(a) = repeat(100, x = a) { return relu(x) * 2 }\n");
    let onnx = file("limits", "looped.onnx", "");
    for asked in [&["show", &looped, "--scalarize"][..], &["export", &looped, "--output", &onnx]] {
        let message = fault(&[asked, &["--max-equations", "50"]].concat());
        assert!(message.contains("unrolling the loops of `f`") && message.contains("--max-equations"), "{message}");
        ok(asked);
    }
    assert!(
        ok(&["simplify", "-e", "a * b + a * c", "--limit", "rounds=0"])
            .contains("# limits      0 rounds (--iterations)")
    );
}

#[test]
fn the_budget_of_exact_numbers_is_a_limit_with_names() {
    // 3^100 takes 159 bits
    let ask = |limit: &str| {
        json(&["eval", "-e", "x^100 * x^100", "--at", "x=3", "--limit", limit, "--json"])["arithmetic"].clone()
    };
    assert_eq!(ask("exact_bits=100000"), "exact");
    assert_eq!(ask("exact_bits=200"), "enclosures");
    assert_eq!(ask("exact_work=1"), "enclosures");
}
