//! Appendix A: programs as graphs, lexicographic derivatives, and how sharp Theorem 3 is.

use super::item::{Item, Kind, Run};
use super::outcome::{Outcome, Picture};
use super::sample;
use super::section3::unit;
use crate::products::Scheme;
use crate::programs;
use crate::theorem3::{Derivative, figures};
use crease_core::local::localize;
use crease_core::random::SplitMix64;
use crease_core::{Limits, Op, Program, Rational, run};
use crease_draw::{Drawing, svg};
use crease_oracles::{HullPosition, identity, in_hull, lexicographic, lexicographic_forward, neighbouring_gradients};

pub const ITEMS: &[Item] = &[
    Item::numbered(Kind::Remark, 4, "remark-4").about("Programs as directed graphs", "Appendix A.1").claims(
        "The predecessor relation is an acyclic graph; the cost of a program is the sum over its nodes, and nodes without \
         outgoing edges are outputs.",
        graphs,
    ),
    Item::numbered(Kind::Figure, 1, "figure-1").about("Four programs over {+, ×}", "Appendix A.1").claims(
        "P0 = a + b, P1 = a(b + c), Q1 = ab + ac and P2 = Q1(a, c, d) + P1(b, c, d) cost 1, 2, 3 and 6; P1 and Q1 compute the same \
         function, and P2 = (a + b)(c + d).",
        figure_1,
    ),
    Item::statement("lexicographic").about("Lexicographic subgradients are Clarke subgradients", "Appendix A.2").claims(
        "Nesterov's lexicographic subdifferential is contained in the Clarke subdifferential; vector \
         forward mode computes its elements.",
        lexicographic_is_clarke,
    ),
    Item::numbered(Kind::Remark, 5, "remark-5").about("Theorem 3's bound is sharp", "Appendix A.2").claims(
        "For linear ReLU networks with L square layers, p directional derivatives cost about L c(p) by products of matrices, and F about \
         2 L p², so the overhead is at most about c(p) / (2p²).",
        sharpness,
    ),
];

fn graphs() -> Run {
    let mut o = Outcome::of("200 random programs over D0: the sum of the costs of nodes, edges, and outputs");
    let mut random = SplitMix64::new(41);
    let (mut sums, mut acyclic, mut arity) = (0, 0, 0);
    for _ in 0..200 {
        let p = sample::d0(3, 12, &mut random)?;
        sums += usize::from(Rational::from(p.len() as i64) == unit(&p));
        acyclic += usize::from((0..p.len()).all(|i| p.predecessors(i).iter().all(|v| *v < p.equation(i).result())));
        arity += usize::from((0..p.len()).all(|i| p.predecessors(i).len() <= p.equation(i).args.len()));
    }
    o.always("cost(P) is the number of nodes at unit costs", sums, 200);
    o.always("edges go from earlier cells to later ones", acyclic, 200);
    o.always("a node has at most as many edges as arguments", arity, 200);
    Ok(o)
}

fn figure_1() -> Run {
    let mut o = Outcome::of("the four programs built, costed, compared at 100 random points, and drawn");
    let all = [programs::p0()?, programs::p1()?, programs::q1()?, programs::p2()?];
    for ((name, p), expected) in ["P0", "P1", "Q1", "P2"].iter().zip(&all).zip([1, 2, 3, 6]) {
        o.equal(format!("cost({name})"), expected, unit(p));
        o.pictures.push(Picture::Graph {
            caption: format!("{name}: level {}, cost {}", p.level(), unit(p)),
            svg: svg(p, &Drawing::default())?,
        });
    }
    let [_, p1, q1, p2] = &all;
    let mut random = SplitMix64::new(42);
    let (mut equivalent, mut product) = (0, 0);
    for _ in 0..100 {
        let at = sample::generic(p1, &mut random);
        equivalent += usize::from(run(p1, &at)? == run(q1, &at)?);
        let at = sample::generic(p2, &mut random);
        let x: Vec<&Rational> = at.iter().map(|t| &t.data()[0]).collect();
        product += usize::from(run(p2, &at)?[0].data()[0] == &(x[0] + x[1]) * &(x[2] + x[3]));
    }
    o.always("P1 ~ Q1", equivalent, 100);
    o.always("P2 computes (a + b)(c + d)", product, 100);
    let node = p2.equations().find(|e| !matches!(e.op, Op::Call(_))).map_or("none", |e| e.op.name());
    o.slip("p2-node", "the node of P2 that is no program", "×", node, node == "*");
    Ok(o)
}

/// Whether a vector is in the convex hull of others.
pub fn spanned(by: &[Vec<Rational>], vector: &[Rational]) -> Result<bool, super::item::Failure> {
    Ok(matches!(in_hull(by, vector, &Limits::DEFAULT)?, HullPosition::Inside { .. }))
}

/// The whole Clarke subdifferential of a piecewise-linear program at a point, as the points that span it.
pub fn neighbours(
    p: &Program,
    at: &[crease_core::Tensor<Rational>],
) -> Result<Vec<Vec<Rational>>, super::item::Failure> {
    let found = neighbouring_gradients(&localize(p, at)?, 0, &Default::default())?;
    if !found.complete() {
        return Err("an enumeration met its limit".into());
    }
    Ok(found.gradients.into_iter().map(|n| n.gradient).collect())
}

fn lexicographic_is_clarke() -> Run {
    let mut o = Outcome::of(
        "lexicographic derivatives of 150 random programs over D0 at 0 by Nesterov's definition and by vector forward mode, against the \
         convex hull of all neighbouring gradients",
    );
    let mut random = SplitMix64::new(43);
    let (mut inside, mut among, mut forward) = (0, 0, 0);
    for _ in 0..150 {
        let p = sample::d0(3, 14, &mut random)?;
        let at = crease::reductions::origin(&p);
        let model = localize(&p, &at)?;
        let all = neighbours(&p, &at)?;
        let one = lexicographic(&model, 0, &identity(3))?;
        inside += usize::from(spanned(&all, &one.gradient)?);
        among += usize::from(all.contains(&one.gradient));
        forward += usize::from(lexicographic_forward(&model, 0, &identity(3))?.gradient == one.gradient);
    }
    o.always("it lies in the Clarke subdifferential", inside, 150);
    o.always("it is a neighbouring gradient, as it must be for piecewise-linear programs", among, 150);
    o.always("vector forward mode computes the same", forward, 150);
    Ok(o)
}

fn sharpness() -> Run {
    let mut o = Outcome::of("Theorem 3's function, three square layers, by three products of matrices; costs counted");
    for p in [16, 64, 128] {
        let f = figures(p)?;
        let n = p as f64;
        let product = 2.0 * n.powi(3) - n * n;
        let by_products =
            f.derivatives.iter().find(|(d, _)| *d == Derivative::Products(Scheme::Naive)).map_or(0, |(_, cost)| *cost);
        let (ratio, bound) = (f.overhead(by_products), product / (2.0 * n * n));
        o.holds(
            format!("overhead at p = {p} with naive products, against c(p)/(2p²) = {bound:.2}"),
            "≤ c(p)/(2p²), up to lower terms",
            format!("{ratio:.2}, {:.3} times", ratio / bound),
            ratio <= bound * (1.0 + 4.0 / n),
        );
    }
    Ok(o)
}
