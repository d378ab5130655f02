//! The table of `docs/ties.md`, computed. `CREASE_WRITE=1 cargo test -p crease-cli --test ties` writes it anew.

use crease_core::differentiate::{How, Selection, backprop};
use crease_core::local::localize;
use crease_core::{Program, Rational, Shape, Tensor, run};
use crease_formats::parse_expression;
use crease_oracles::{clarke_element, conservative, directional};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ties.md");
const BEGIN: &str = "<!-- table -->\n";
const END: &str = "<!-- end of table -->";

/// The classics, each with the length of its vector `v`.
const CLASSICS: [(&str, usize); 12] = [
    ("relu(x) - relu(-x)", 0),
    ("max(x, 0) - max(-x, 0)", 0),
    ("relu(x)", 0),
    ("relu(x) - relu(relu(x))", 0),
    ("abs(x)", 0),
    ("abs(x) - abs(x)", 0),
    ("max(x, y)", 0),
    ("max(x, x)", 0),
    ("max(x, y) - max(y, x)", 0),
    ("median(v)", 3),
    ("norminf(v)", 2),
    ("norm1(v)", 2),
];

const PRESETS: [&str; 4] = ["paper", "torch", "jax", "tensorflow"];

fn program(expression: &str, length: usize) -> Program {
    parse_expression(expression, &|name| (name == "v").then(|| Shape::vector(length).ok()).flatten()).unwrap()
}

fn zero(p: &Program) -> Vec<Tensor<Rational>> {
    let zeros = |shape: &Shape| Tensor::new(shape.clone(), vec![Rational::ZERO; shape.len()]).unwrap();
    p.inputs().iter().map(|i| zeros(&i.shape)).collect()
}

fn by_preset(p: &Program, preset: &str) -> Vec<Rational> {
    let how = How::default().select(Selection::preset(preset).unwrap());
    let outputs = run(&backprop(p, &how).unwrap(), &zero(p)).unwrap();
    outputs[1..].iter().flat_map(|t| t.data().to_vec()).collect()
}

/// A number, or a vector in brackets, in fractions.
fn shown(v: &[Rational]) -> String {
    match v {
        [x] => x.fraction(),
        _ => format!("({})", v.iter().map(Rational::fraction).collect::<Vec<_>>().join(", ")),
    }
}

fn row(expression: &str, length: usize) -> Vec<String> {
    let p = program(expression, length);
    let model = localize(&p, &zero(&p)).unwrap();
    assert!(model.is_exact());
    let along = |x: i32| shown(&directional(&model, &vec![Rational::from(x); model.dimension()]).unwrap());
    let c = conservative(&model, 0).unwrap();
    assert!(c.proved);
    let verdict = match &c.elements[..] {
        [_] => "yes".into(),
        [a, b] => format!("no: {} and {}", shown(&a.gradient), shown(&b.gradient)),
        _ => panic!("one or two elements"),
    };
    let clarke = clarke_element(&model, 0, 1).unwrap();
    assert!(clarke.proved);
    let mut cells = vec![format!("`{expression}`")];
    cells.extend(PRESETS.map(|preset| shown(&by_preset(&p, preset))));
    cells.extend([shown(&clarke.gradient), format!("{}, {}", along(1), along(-1)), verdict]);
    cells
}

fn table() -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut header = vec!["at 0".to_string()];
    header.extend(PRESETS.map(|preset| format!("`{preset}`")));
    header.extend(
        ["a Clarke subgradient", "derivative along +1, -1", "conservative gradient a singleton?"].map(String::from),
    );
    let rule = vec!["---".to_string(); header.len()];
    let rows = CLASSICS.iter().map(|(expression, length)| line(&row(expression, *length)));
    line(&header) + &line(&rule) + &rows.collect::<String>()
}

#[test]
fn the_page_shows_what_is_computed() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (written, after) = rest.split_once(END).unwrap();
    let computed = table();
    if std::env::var_os("CREASE_WRITE").is_some() {
        std::fs::write(PAGE, format!("{before}{BEGIN}{computed}{END}{after}")).unwrap();
        return;
    }
    assert_eq!(written, computed, "CREASE_WRITE=1 writes the page anew");
}

/// What frameworks were measured to return for the identity: `relu` 0, averaging maxima 1, `tf.maximum` 2.
#[test]
fn presets_return_what_frameworks_do() {
    let answer = |expression: &str, preset: &str| shown(&by_preset(&program(expression, 0), preset));
    for preset in PRESETS {
        assert_eq!(answer("relu(x) - relu(-x)", preset), "0", "{preset}");
    }
    assert_eq!(PRESETS.map(|preset| answer("max(x, 0) - max(-x, 0)", preset)), ["2", "1", "1", "2"]);
    assert_eq!(PRESETS.map(|preset| answer("abs(x)", preset)), ["-1", "0", "1", "0"]);
    assert_eq!(PRESETS.map(|preset| answer("max(x, y)", preset)), ["(1, 0)", "(1/2, 1/2)", "(1/2, 1/2)", "(1, 0)"]);
}
