//! The table of `docs/prices.md`, computed. `CREASE_WRITE=1 cargo test -p crease-core --test properties prices` writes it anew.

use crease_core::cost::{Item, ItemKind, Mode, Price, Prices, Ratio};
use crease_core::differentiate::Selection;
use crease_core::{Rational, Smooth};

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
    list.extend([ItemKind::Relu, ItemKind::Abs, ItemKind::LeakyRelu, ItemKind::Elu].map(|k| of(k, 1)));
    list.push(of(ItemKind::TimesRelu, 2));
    let lanes = [
        ItemKind::Max,
        ItemKind::Min,
        ItemKind::OrderStatistic,
        ItemKind::Sort,
        ItemKind::Norm1,
        ItemKind::Norm2,
        ItemKind::NormInf,
        ItemKind::LogSumExp,
    ];
    list.extend(lanes.map(|k| of(k, LANE)));
    list
}

/// cost(g), cost(gd), and what going backward takes in all.
fn costs(item: &Item) -> [Price; 3] {
    let gd = item.joint_price(Mode::Backward, &Selection::paper());
    let all = gd.clone() + Price::ones(2 * item.predecessors());
    [item.price(), gd, all]
}

/// The overhead if every operation costs 1, and if nonlinear ones, or comparisons, cost more and more.
fn overheads(item: &Item) -> [Option<Rational>; 3] {
    let [below, _, above] = costs(item);
    let limit = |above: &Price, below: &Price, part: fn(&Price) -> Rational| part(above).checked_div(&part(below));
    let nonlinear = limit(&above, &below, |p| p.nonlin.to_rational());
    let compared = limit(&above, &below, |p| p.relu.to_rational());
    [Ratio { above, below }.at(&Prices::unit()), nonlinear, compared]
}

fn table() -> String {
    let mut out = String::from(
        "| operation | cost(g) | cost(gd) | backward | overhead | as c_nonlin grows | as c_relu grows |\n| --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for item in items() {
        let [g, gd, all] = costs(&item);
        let number = |x: &Option<Rational>| x.as_ref().map_or(String::new(), |x| format!("{:.3}", x.to_f64()));
        let cells =
            overheads(&item).each_ref().map(number).map(|x| x.trim_end_matches('0').trim_end_matches('.').to_string());
        out += &format!("| `{}` | {g} | {gd} | {all} | {} |\n", item.name(), cells.join(" | "));
    }
    out
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

/// What the page says of the constant 5.
#[test]
fn what_exceeds_five() {
    let five = Rational::from(5);
    let dear = |i: usize| -> Vec<String> {
        let exceeds = |item: &Item| overheads(item)[i].as_ref().is_some_and(|x| *x > five);
        items().iter().filter(|item| exceeds(item)).map(Item::name).collect()
    };
    assert_eq!(dear(0), ["asin", "acos", "atan", "atanh", "erf_slope"]);
    assert!(dear(1).is_empty() && dear(2).is_empty());
}
