//! Bad input: one message that says what, where and what to do; nothing on standard output; exit code 1.

mod tool;

use tool::{fault, file, ok_with_input};

/// The message about an expression at a point.
fn eval(expression: &str, at: &str) -> String {
    fault(&["eval", "-e", expression, "--at", at])
}

#[test]
fn a_misspelt_name() {
    assert_eq!(
        eval("x + rleu(x)", "x=1"),
        "unknown function `rleu`; did you mean `relu`?
 --> <expression>:1:5
  |
1 | x + rleu(x)
  |     ^^^^
"
    );
    let path = file("misspelt", "f.crease", "program f(width) =\n  relu(widht)\n");
    let message = fault(&["eval", &path, "--at", "width=1"]);
    assert!(message.contains("`width`?") && message.contains("f.crease:2:8"), "{message}");
}

#[test]
fn a_wrong_number_of_arguments() {
    let message = eval("relu(x, y)", "x=1,y=2");
    assert!(message.contains("relu") && message.contains("1:1"), "{message}");
}

#[test]
fn shapes_that_do_not_fit() {
    let message = eval("W @ v", "W=[[1,2],[3,4]],v=[1,2,3]");
    assert!(message.contains("[2, 2]") && message.contains("[3]") && message.contains("^"), "{message}");
}

#[test]
fn a_missing_bracket() {
    let message = eval("relu(x", "x=1");
    assert!(message.contains("`)`") && message.contains("1:"), "{message}");
}

#[test]
fn an_input_without_value() {
    assert_eq!(eval("x + y", "x=1"), "input `y` has no value; add y=... to --at\n");
    assert_eq!(fault(&["grad", "-e", "x"]), "input `x` has no value; add x=... to --at\n");
}

#[test]
fn a_value_without_input() {
    let message = eval("width * 2", "widht=1,width=2");
    assert!(message.contains("`widht` is not an input") && message.contains("`width`?"), "{message}");
}

#[test]
fn a_value_of_the_wrong_shape() {
    let path = file("shape", "f.crease", "program f(v[3]) = sum(v)");
    assert_eq!(fault(&["eval", &path, "--at", "v=[1,2]"]), "input `v` has shape [3], but its value has shape [2]\n");
}

#[test]
fn division_by_zero() {
    for flag in ["--exact", "--float", "--json"] {
        assert_eq!(
            fault(&["eval", "-e", "1 + y / x", "--at", "x=0,y=1", flag]),
            "division by zero
 --> <expression>:1:5
  |
1 | 1 + y / x
  |     ^^^^^
"
        );
    }
}

#[test]
fn a_logarithm_of_a_negative_number() {
    for flag in ["--json", "--float"] {
        let message = fault(&["eval", "-e", "log(x)", "--at", "x=-1", flag]);
        assert!(
            message.starts_with("logarithm of a number that is not positive\n --> <expression>:1:1\n"),
            "{message}"
        );
    }
}

#[test]
fn overflow_to_infinity() {
    let message = eval("exp(exp(exp(x)))", "x=1000");
    assert!(message.starts_with("the result overflows to inf\n"), "{message}");
    assert!(message.ends_with("= help: scale the inputs\n"), "{message}");
    let message = fault(&["eval", "-e", "exp(x)", "--at", "x=1000", "--float"]);
    assert!(message.contains("without --float"), "{message}");
    let message = fault(&["eval", "-e", "x^1000", "--at", "x=10", "--float"]);
    assert!(message.contains("without --float"), "{message}");
}

#[test]
fn no_exact_value() {
    let message = fault(&["eval", "-e", "exp(x)", "--at", "x=1", "--exact"]);
    assert!(message.starts_with("exp of this number has no exact value\n"), "{message}");
    assert!(message.contains("without --exact"), "{message}");
    let square = "let y = x * x; ".to_string() + &"let y = y * y; ".repeat(40) + "y";
    let message = fault(&["eval", "-e", &square, "--at", "x=3", "--exact"]);
    assert!(message.starts_with("the exact number grew past ten million bits"), "{message}");
}

#[test]
fn a_derivative_that_does_not_exist() {
    let message = fault(&["grad", "-e", "sqrt(x)", "--at", "x=0"]);
    assert!(
        message.contains("the square root has infinite slope at 0") && message.contains("not Lipschitz here"),
        "{message}"
    );
    for (function, what) in [
        ("x^(1/3)", "a power of less than 1 has infinite slope at 0"),
        ("acos(x + 1)", "the arccosine has infinite slope at 1"),
    ] {
        let message = fault(&["grad", "-e", function, "--at", "x=0"]);
        assert!(message.contains(what), "{message}");
        assert_eq!(message, fault(&["grad", "-e", function, "--at", "x=0", "--float"]));
    }
    // many points in floats say it as well, and where
    let message =
        fault(&["grad", "-e", "sqrt(x)", "--points", &file("singular", "points.json", r#"[{"x": 1}, {"x": 0}]"#)]);
    assert!(message.contains("infinite slope at 0"), "{message}");
    // where nothing is singular but the derivative's own arithmetic fails, that is what is said
    let message = fault(&["grad", "-e", "x^400 * x^400", "--at", "x=5/2", "--float"]);
    assert!(message.contains("overflow"), "{message}");
}

#[test]
fn not_a_number_in_the_point() {
    assert_eq!(eval("x", "x=nan"), "--at: x is NaN; a point needs finite numbers\n");
    let path = file("nan", "point.json", "{\"x\": NaN}");
    assert!(eval("x", &path).contains("point.json"), "{}", eval("x", &path));
}

#[test]
fn a_point_that_is_none() {
    for (at, says) in
        [("x", "expected `=` after `x`"), ("x=1/0", "x"), ("x=one", "`one` is not a number"), ("x=[1,[2]]", "`x`")]
    {
        let message = eval("x", at);
        assert!(message.contains(says), "{at}: {message}");
    }
    assert!(eval("x", "nowhere.json").contains("there is no file nowhere.json"));
}

#[test]
fn recursion_between_programs() {
    let path = file("recursion", "f.crease", "program f(x) = g(x)\nprogram g(x) = f(x)\n");
    let message = fault(&["eval", &path, "--at", "x=1"]);
    assert!(message.contains("`g`") && message.contains("f.crease:1:16"), "{message}");
}

#[test]
fn an_empty_file() {
    let message = fault(&["cost", &file("empty", "empty.crease", "")]);
    assert!(message.contains("program") && message.contains("empty.crease:1:1"), "{message}");
    let message = fault(&["cost", &file("empty", "comment.crease", "# nothing\n")]);
    assert!(message.contains("program"), "{message}");
    assert!(!fault(&["cost", "-e", ""]).is_empty());
}

#[test]
fn a_very_long_line() {
    // one wrong letter in twenty million right ones
    let line = format!("program f(x) = {}x $ x", "x + ".repeat(5_000_000));
    let path = file("long", "long.crease", line);
    let clock = std::time::Instant::now();
    let message = fault(&["cost", &path]);
    assert!(message.len() < 600 && message.contains('…') && message.contains('^'), "{message}");
    assert!(clock.elapsed().as_secs() < 30);
    std::fs::remove_file(path).unwrap();
}

#[test]
fn files_that_cannot_be_read() {
    assert_eq!(fault(&["eval", "no/such.crease"]), "there is no file no/such.crease\n");
    assert_eq!(fault(&["eval", "examples"]), "examples is a directory, not a file\n");
    let path = file("bytes", "bytes.crease", b"program f(x) = \xff");
    let message = fault(&["eval", &path]);
    assert!(message.ends_with("bytes.crease is not UTF-8 text: byte 15 is 0xff\n"), "{message}");
    assert_eq!(fault(&["eval", "net.onnx"]), "there is no file net.onnx\n");
    let path = file("bytes", "net.onnx", "program f(x) = x");
    assert!(fault(&["eval", &path]).contains("this is no ONNX model"), "{}", fault(&["eval", &path]));
    assert!(fault(&["eval", "-e", "x", "--batch", "2"]).contains("for ONNX files"));
}

#[test]
fn an_unknown_program() {
    let message = fault(&["cost", "examples/figure1.crease", "--program", "P3"]);
    assert_eq!(message, "examples/figure1.crease has no program `P3`; it has `P0`, `P1`, `Q1`, `P2`\n");
}

#[test]
fn several_outputs_have_no_gradient() {
    let message = fault(&["grad", "-e", "x, y", "--at", "x=1,y=2"]);
    assert!(message.contains("--jacobian") && message.contains("--output 0"), "{message}");
    let message = fault(&["grad", "-e", "v", "--at", "v=[1,2]"]);
    assert!(message.contains("--jacobian") && !message.contains("--output"), "{message}");
    let message = fault(&["grad", "-e", "x, y", "--at", "x=1,y=2", "--output", "2"]);
    assert!(message.contains("there is no output 2: `f` has 2 outputs"), "{message}");
}

#[test]
fn selections_and_prices_that_mean_nothing() {
    let select = |s: &str| fault(&["grad", "-e", "max(x, y)", "--at", "x=0,y=0", "--select", s]);
    assert!(select("max=every").contains("no element of a conservative gradient"));
    assert!(select("relu=2").contains("between 0 and 1"));
    assert!(select("theano").contains("paper, torch, jax or tensorflow"));
    let prices = |p: &str| fault(&["cost", "-e", "x", "--prices", p]);
    assert_eq!(prices("c_relu=-1"), "c_relu is -1, but it must be at least 0\n");
    assert_eq!(prices("c_nonlin=1/2"), "c_nonlin is 0.5, but it must be at least 1\n");
    assert!(prices("c_exp=1").contains("c_nonlin and c_relu"));
    assert!(prices("c_relu").contains("write c_relu=1/2"));
}

#[test]
fn what_cannot_be_lowered_or_drawn() {
    let message = fault(&["show", "-e", "1 + exp(x)", "--lower", "D0"]);
    assert!(message.contains("cannot be expressed in D0") && message.contains("^^^"), "{message}");
    let long = format!("x{}", " + x".repeat(600));
    let message = fault(&["draw", "-e", &long]);
    assert!(message.contains("--max-nodes 602"), "{message}");
    assert!(fault(&["draw", "-e", "x", "-o", "picture.bmp"]).contains("--format"));
    assert!(fault(&["draw", "-e", "x", "-o", "no/such/picture.svg"]).contains("cannot be written"));
}

#[test]
fn a_fault_in_a_called_program_is_shown_where_it_stands() {
    let path = file("called", "f.crease", "program half(x, y) = x / y\n\nprogram f(x) = half(1, x)\n");
    let message = fault(&["eval", &path, "--at", "x=0"]);
    assert!(message.contains("f.crease:1:22"), "{message}");
    // what crease printed itself has places as well
    assert_eq!(
        ok_with_input(&["eval", "-", "--at", "x=2"], "program f(x) {\n  let v1 = 1 / x\n  return v1\n}\n"),
        "0.5\n"
    );
}
