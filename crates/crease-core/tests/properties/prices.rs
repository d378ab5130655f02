//! The table of `docs/prices.md`, computed. `CREASE_WRITE=1 cargo test -p crease-core --test properties prices` writes it anew.

use crease_core::cost::{Item, ItemKind, Mode, Price, Prices, cost};
use crease_core::differentiate::{How, Selection, backprop, overhead};
use crease_core::op::KinkKind;
use crease_core::{Position, Rational, Smooth, Stair};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/prices.md");
const BEGIN: &str = "<!-- table -->\n";
const END: &str = "<!-- end of table -->";

/// How many numbers lanes have here.
const LANE: u32 = 10;

/// Every elementary operation, with as many numbers as it takes.
fn items() -> Vec<Item> {
    let of = |kind: ItemKind, n: u32| Item::new(kind, n, n);
    let mut list = vec![
        of(ItemKind::Add, 2),
        of(ItemKind::Sub, 2),
        of(ItemKind::Mul, 2),
        of(ItemKind::Div, 2),
        of(ItemKind::Neg, 1),
    ];
    list.extend(Smooth::NAMED.iter().map(|&f| of(f.into(), 1)));
    // all powers are priced alike
    list.push(of(Smooth::Power(3).into(), 1));
    list.extend([KinkKind::Relu, KinkKind::Abs, KinkKind::LeakyRelu, KinkKind::Elu].map(|k| of(k.into(), 1)));
    list.push(of(KinkKind::TimesRelu.into(), 2));
    list.extend(Stair::ALL.map(|s| of(ItemKind::Stair(s), 1)));
    list.push(of(ItemKind::Where { fixed: false }, 3));
    let lanes = [
        KinkKind::Max.into(),
        KinkKind::Min.into(),
        KinkKind::OrderStatistic.into(),
        KinkKind::Sort.into(),
        KinkKind::Norm1.into(),
        KinkKind::Norm2.into(),
        KinkKind::NormInf.into(),
        ItemKind::LogSumExp,
    ];
    list.extend(lanes.map(|k| of(k, LANE)));
    // so many linear functions of so many numbers
    list.push(of(KinkKind::MaxLinear { rows: LANE }.into(), LANE * LANE + LANE));
    list.extend(Position::ALL.map(|p| of(ItemKind::Position(p), LANE)));
    // as many positions as numbers
    list.push(of(ItemKind::Gather { of: LANE }, 2 * LANE));
    list.push(of(ItemKind::Scatter, 2 * LANE));
    list
}

/// cost(g), cost(gd), and what going backward takes in all.
fn costs(item: &Item) -> [Price; 3] {
    let gd = item.joint_price(Mode::Backward, &Selection::paper());
    let all = gd.clone() + Price::ones(2 * item.predecessors());
    [item.price(), gd, all]
}

/// An overhead.
#[derive(Clone, Debug, PartialEq)]
enum Overhead {
    /// Neither the value nor the way back has this price.
    Absent,
    Number(Rational),
    /// The way back has it, and the value has not.
    Unbounded,
}

impl Overhead {
    fn new(above: Rational, below: Rational) -> Self {
        match above.checked_div(&below) {
            Some(ratio) => Overhead::Number(ratio),
            None if above.is_zero() => Overhead::Absent,
            None => Overhead::Unbounded,
        }
    }

    fn exceeds(&self, bound: i64) -> bool {
        match self {
            Overhead::Absent => false,
            Overhead::Number(x) => *x > Rational::from(bound),
            Overhead::Unbounded => true,
        }
    }

    fn shown(&self) -> String {
        match self {
            Overhead::Absent => String::new(),
            Overhead::Number(x) => format!("{:.3}", x.to_f64()).trim_end_matches('0').trim_end_matches('.').to_string(),
            Overhead::Unbounded => "unbounded".into(),
        }
    }
}

/// The overhead if every operation costs 1, and if nonlinear ones, or comparisons, cost more and more. At prices of 1 or more it lies between the
/// least and the largest of the three: a quotient of sums is between the quotients of their parts.
fn overheads(item: &Item) -> [Overhead; 3] {
    let [below, _, above] = costs(item);
    three(&above, &below)
}

fn three(above: &Price, below: &Price) -> [Overhead; 3] {
    let unit = |p: &Price| p.at(&Prices::unit());
    [
        Overhead::new(unit(above), unit(below)),
        Overhead::new(above.nonlin.to_rational(), below.nonlin.to_rational()),
        Overhead::new(above.relu.to_rational(), below.relu.to_rational()),
    ]
}

fn table() -> String {
    let mut out = String::from(
        "| operation | cost(g) | cost(gd) | backward | overhead | as c_nonlin grows | as c_relu grows |\n| --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for item in items() {
        let [g, gd, all] = costs(&item);
        let cells = overheads(&item).each_ref().map(Overhead::shown);
        out += &format!("| `{}` | {g} | {gd} | {all} | {} |\n", item.name(), cells.join(" | "));
    }
    out
}

/// A function that is made of others, as a program, with what it costs and what going backward through it takes: by Theorem 2, and as emitted.
struct Composed {
    name: &'static str,
    value: Price,
    backward: Price,
    counted: Price,
}

impl Composed {
    fn new(name: &'static str, source: &str) -> Self {
        let p = crease_formats::parse(source).unwrap_or_else(|e| panic!("{e:?}\n{source}")).main().clone();
        let how = How::default();
        let backward = overhead(&p, &how, Mode::Backward, &Prices::unit()).unwrap().model;
        Composed { name, value: cost(&p), backward, counted: cost(&backprop(&p, &how).unwrap()) }
    }

    /// The overhead at unit prices, as c_nonlin grows, and as c_relu grows.
    fn overheads(&self) -> [Overhead; 3] {
        three(&self.backward, &self.value)
    }
}

fn composed() -> Vec<Composed> {
    let of = |f: &str| format!("program f(x) = {f}");
    let lane = |f: &str| format!("program f(v[{LANE}]) = {f}");
    let numbers = ["gelu", "gelu_tanh", "silu", "mish", "logsigmoid", "selu", "softsign"];
    let kinked = ["relu6", "hardsigmoid", "hardswish"];
    let mut list: Vec<Composed> =
        numbers.iter().chain(&kinked).map(|name| Composed::new(name, &of(&format!("{name}(x)")))).collect();
    list.push(Composed::new("celu", &of("celu(x, alpha=2)")));
    list.push(Composed::new("clamp", "program f(x, a, b) = clamp(x, a, b)"));
    list.push(Composed::new("atan2", "program f(y, x) = atan2(y, x)"));
    list.push(Composed::new("x ^ y", "program f(x, y) = x ^ y"));
    let groups = [
        ("prod", "prod(v)"),
        ("mean", "mean(v)"),
        ("var", "var(v)"),
        ("std", "std(v)"),
        ("cumsum", "sum(cumsum(v))"),
        ("cumprod", "sum(cumprod(v))"),
        ("cummax", "sum(cummax(v))"),
        ("gather", "3 * gather(v, argmax(v))"),
        ("maxpool", "sum(maxpool(v, 2))"),
        ("avgpool", "sum(avgpool(v, 2))"),
    ];
    list.extend(groups.map(|(name, f)| Composed::new(name, &lane(f))));
    let top = format!("program f(v[{LANE}]) {{ let a, i = top_k(v, k=3) return sum(a) }}");
    list.push(Composed::new("top_k", &top));
    let conv = |f: &str| format!("program f(x[1, {LANE}], k[1, 1, 3]) = sum({f})");
    list.push(Composed::new("conv1d", &conv("conv1d(x, k)")));
    list.push(Composed::new("conv_transpose1d", &conv("conv_transpose1d(x, k)")));
    list
}

fn composed_table() -> String {
    let mut out = String::from(
        "| function | cost(g) | backward | counted | overhead | as c_nonlin grows | as c_relu grows |\n| --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for c in composed() {
        let cells = c.overheads().each_ref().map(Overhead::shown).join(" | ");
        out += &format!("| `{}` | {} | {} | {} | {cells} |\n", c.name, c.value, c.backward, c.counted);
    }
    out
}

#[test]
fn the_page_shows_what_is_computed() {
    let mut page = std::fs::read_to_string(PAGE).unwrap();
    for (begin, end, computed) in
        [(BEGIN, END, table()), ("<!-- composed -->\n", "<!-- end of composed -->", composed_table())]
    {
        let (before, rest) = page.split_once(begin).unwrap();
        let (written, after) = rest.split_once(end).unwrap();
        if std::env::var_os("CREASE_WRITE").is_none() {
            assert_eq!(written, computed, "CREASE_WRITE=1 writes the page anew");
        }
        page = format!("{before}{begin}{computed}{end}{after}");
    }
    if std::env::var_os("CREASE_WRITE").is_some() {
        std::fs::write(PAGE, page).unwrap();
    }
}

/// What is emitted never costs more than Theorem 2 allows; which bounds exceed 5 the page says, and why.
#[test]
fn composed_functions_cost_what_their_parts_do() {
    for c in composed() {
        for (nonlin, relu) in [(1, 1), (10, 1), (1, 10), (7, 3)] {
            let prices = Prices { nonlin: Rational::from(nonlin), relu: Rational::from(relu) };
            assert!(c.counted.at(&prices) <= c.backward.at(&prices), "{}", c.name);
        }
    }
    let dear =
        |i: usize| -> Vec<&str> { composed().iter().filter(|c| c.overheads()[i].exceeds(5)).map(|c| c.name).collect() };
    assert_eq!([dear(0), dear(1), dear(2)], [vec!["cumprod", "cummax"], vec![], vec!["std"]] as [Vec<&str>; 3]);
}

/// What the page says of the constant 5.
#[test]
fn what_exceeds_five() {
    let dear = |i: usize| -> Vec<String> {
        items().iter().filter(|item| overheads(item)[i].exceeds(5)).map(Item::name).collect()
    };
    assert_eq!(dear(0), ["asin", "acos", "atan", "atanh", "erf_slope", "take_along/20"]);
    assert!(dear(1).is_empty());
    assert_eq!(dear(2), ["norm2/10"]);
    // and the page says so
    let page = std::fs::read_to_string(PAGE).unwrap();
    let said = page.split_once("## What exceeds 5").unwrap().1;
    for name in dear(0).iter().chain(&dear(2)) {
        let name = name.split('/').next().unwrap_or_default();
        assert!(said.contains(&format!("`{name}`")), "{name}");
    }
}

/// At random prices of 1 or more no overhead is above the largest of the three.
#[test]
fn overheads_lie_between_their_limits() {
    let mut rng = crease_corpus::random::Rng::new(5);
    for item in items() {
        let [below, _, above] = costs(&item);
        let three = overheads(&item);
        for _ in 0..20 {
            let mut price = || Rational::new(rng.between(10, 1000), 10).unwrap_or(Rational::ONE);
            let prices = Prices { nonlin: price(), relu: price() };
            let Some(ratio) = above.at(&prices).checked_div(&below.at(&prices)) else { continue };
            let covers = |o: &Overhead| match o {
                Overhead::Absent => false,
                Overhead::Number(x) => *x >= ratio,
                Overhead::Unbounded => true,
            };
            assert!(three.iter().any(covers), "{}: {ratio}", item.name());
        }
    }
}
