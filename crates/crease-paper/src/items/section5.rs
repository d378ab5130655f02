//! Section 5: what is hard about other derivatives.

use super::appendix_a::spanned;
use super::appendix_d::{corners_at, hardness};
use super::item::{Failure, Item, Kind, Run};
use super::outcome::{Outcome, Picture};
use super::sample;
use super::section3::unit;
use crate::plot::{Axis, Plot, Series};
use crate::products::{Scheme, counts, product};
use crate::theorem3::{Derivative, Figures, Stage, chain, figures, hadamard};
use crease::reductions::{SatForm, origin, sat_bounds, sat_network};
use crease_core::cost::{Prices, cost};
use crease_core::differentiate::{How, backprop, jvp};
use crease_core::local::localize;
use crease_core::random::SplitMix64;
use crease_core::{Program, Rational, Shape, Tensor, abs, run, trace_shapes};
use crease_oracles::{SweepCost, clarke_element, conservative, identity, lexicographic_forward};

pub const ITEMS: &[Item] = &[
    Item::statement("matrix-multiplication").about("The complexity c(p) of a product of matrices", "Section 5.1").claims(
        "c(p) = p^(ω+o(1)) with 2 ≤ ω; c(p) ≥ p²; ω ≤ log₂ 7 since Strassen.",
        products,
    ),
    Item::numbered(Kind::Theorem, 3, "theorem-3").about("p directional derivatives", "Section 5.1").claims(
        "There are F and a program P_F of it such that every program of the p directional derivatives at 0 costs at least \
         (c(p) - 5p)/(40p²) times as much: as much as a product of matrices.",
        theorem_3,
    ),
    Item::statement("smooth-case").about("Comparison with the smooth case", "Section 5.1").claims(
        "If F is C¹, p directional derivatives are one gradient and p scalar products: in proportion \
         to F, if F costs p².",
        smooth,
    ),
    Item::statement("forward-clarke").about("Clarke subgradients by forward mode", "Section 5.2").claims(
        "Vector forward mode computes elements of the Clarke subdifferential with an overhead that grows like p.",
        khan_barton,
    ),
    Item::numbered(Kind::Theorem, 4, "theorem-4").about("Clarke subgradients and NP-hardness", "Section 5.3").claims(
        "For programs over {+, -, ReLU}, finding two Clarke subgradients and deciding \
         non-differentiability are NP-hard.",
        || hardness(SatForm::Lattice, 91),
    ),
    Item::numbered(Kind::Remark, 3, "remark-3").about("Strong NP-hardness", "Section 5.3").claims(
        "Parameters and inputs are in {-1, 0, 1}, so hardness comes from the size of the program alone.",
        signs,
    ),
    Item::numbered(Kind::Proposition, 1, "proposition-1").about("Two elements of the conservative gradient", "Section 5.3").claims(
        "For programs over D0 two elements of D_P(x), or the only one, are found in polynomial time.",
        tractable,
    ),
];

fn products() -> Run {
    let mut o = Outcome::of(
        "products of 2 × 2 to 32 × 32 matrices as programs, counted; those of 4 × 4 matrices run on integers",
    );
    let table = counts(&[2, 4, 8, 16, 32], 1)?;
    for row in &table {
        let n = row.size as u128;
        match row.scheme {
            Scheme::Naive => o.equal(format!("naive, p = {n}: 2p³ - p²"), 2 * n * n * n - n * n, row.plain.total()),
            _ => o.equal(
                format!("{}, p = {n}: multiplications 7^log₂p", row.scheme),
                7u128.pow(row.size.ilog2()),
                row.plain.multiplications,
            ),
        }
    }
    let respected = table.iter().filter(|row| row.polynomial.total() >= (row.size * row.size) as u128).count();
    o.always("c(p) ≥ p² is respected", respected, table.len());
    let mut random = SplitMix64::new(92);
    let mut right = 0;
    for scheme in Scheme::ALL {
        let p = product(4, scheme, 1)?;
        let at = sample::integers(&p, 9, &mut random);
        let out: Vec<Rational> = run(&p, &at)?.iter().flat_map(|t| t.data().to_vec()).collect();
        let given: Vec<Rational> = at.iter().flat_map(|t| t.data().to_vec()).collect();
        let entry = |i: usize, j: usize| (0..4).map(|k| &given[4 * i + k] * &given[16 + 4 * k + j]).sum::<Rational>();
        right += usize::from((0..16).all(|k| out[k] == entry(k / 4, k % 4)));
    }
    o.always("all schemes compute the product", right, 3);
    let exponent = Scheme::Strassen.exponent();
    o.equal("Strassen's exponent log₂ 7", "2.81", format!("{exponent:.2}"));
    o.slip(
        "omega-bound",
        "\"the best known lower bound is ω < 2.37\"",
        "lower",
        "an upper bound, as its sign says",
        false,
    );
    Ok(o)
}

/// A curve through figures.
fn curve(name: &str, all: &[Figures], y: impl Fn(&Figures) -> Option<f64>, dashed: bool, colour: usize) -> Series {
    let points = all.iter().filter_map(|f| Some((f.order as f64, y(f)?))).collect();
    Series { name: name.into(), points, dashed, colour }
}

fn theorem_3() -> Run {
    let mut o = Outcome::of(
        "F for p = 2 to 128; the proof carried out for p = 2, 4, 8, 12, 16 on random data: derivatives, sum, ReLU' fixed, ReLU replaced, \
         backprop by M, and the product B Aᵀ that remains",
    );
    let all: Vec<Figures> = [2, 4, 8, 12, 16, 32, 64, 128].into_iter().map(figures).collect::<Result<_, _>>()?;
    for f in &all {
        let p = f.order as u128;
        o.equal(format!("cost(P_F) = 6p² + 2p, p = {p}"), 6 * p * p + 2 * p, f.function);
    }
    for p in [2, 4, 8, 12, 16] {
        let c = chain(p, Derivative::Forward, 5)?;
        let step = c.step(Stage::Product).ok_or("the chain has no product")?;
        let n = p as u128;
        o.at_most(
            format!("cost of the program of B Aᵀ that the proof ends with, p = {p}: 5(cost(P') + p)"),
            c.bound,
            step.cost,
        );
        // what that program shows of the theorem: c(p) is at most its cost
        let overhead = c.overhead();
        let bound = (step.cost as f64 - 5.0 * p as f64) / (40.0 * (n * n) as f64);
        o.holds(
            format!("overhead against (c - 5p)/(40p²) with that cost for c, p = {p}"),
            format!("≥ {bound:.3}"),
            format!("{overhead:.3}"),
            overhead >= bound,
        );
        if p == 16 {
            o.slip(
                "theorem-3-constant",
                "40p² and the proof's 8p², p = 16, against 5 cost(P_F)",
                8 * n * n,
                5 * c.function_cost,
                8 * n * n >= 5 * c.function_cost,
            );
        }
    }
    let exist: Vec<String> = (1..=40).filter(|&p| hadamard(p).is_some()).map(|p| p.to_string()).collect();
    o.slip("theorem-3-order", "orders up to 40 with a matrix U", "all", exist.join(", "), exist.len() == 40);
    let by = |how: Derivative| {
        move |f: &Figures| f.derivatives.iter().find(|(d, _)| *d == how).map(|(_, cost)| f.overhead(*cost))
    };
    let lower = |product: &dyn Fn(f64) -> f64, f: &Figures| {
        let bound = f.bound(product(f.order as f64) as u128);
        (bound > 0.0).then_some(bound)
    };
    let strassen = Scheme::Strassen.exponent();
    let series = vec![
        curve("F on each column", &all, by(Derivative::Columns), false, 0),
        curve("naive products", &all, by(Derivative::Products(Scheme::Naive)), true, 1),
        curve("Winograd's products", &all, by(Derivative::Products(Scheme::Winograd)), false, 2),
        curve("backprop: the gradient", &all, |f| Some(f.overhead(f.backprop)), false, 3),
        curve("lower bound if c(p) = 2p³ - p²", &all, |f| lower(&|p| 2.0 * p.powi(3) - p * p, f), true, 4),
        curve("lower bound if c(p) = p^2.81", &all, |f| lower(&|p| p.powf(strassen), f), true, 5),
    ];
    let axis = |label: &str| Axis { label: label.into(), log: true };
    o.pictures.push(Picture::Plot(Plot {
        title: "p directional derivatives get dearer with p, the conservative gradient does not".into(),
        x: axis("order p"),
        y: axis("cost / cost(P_F)"),
        series,
    }));
    let flat: Vec<f64> = all.iter().map(|f| f.overhead(f.backprop)).collect();
    o.holds(
        "overhead of backprop, p = 2 to 128",
        "≤ 5",
        format!("{:.2} to {:.2}", flat[0], flat[flat.len() - 1]),
        flat.iter().all(|x| *x <= 5.0),
    );
    Ok(o)
}

/// `sum (C x)^2` for a p × p matrix C and a vector x, which is smooth, or with `|.|` in the place of squares.
fn quadratic(p: usize, smooth: bool) -> Result<Program, Failure> {
    Ok(trace_shapes(&[Shape::vector(p)?, Shape::new([p, p])?], |x| {
        let y = x[1].matmul(x[0]);
        vec![if smooth { (y * y).sum() } else { abs(y).sum() }]
    })?)
}

fn smooth() -> Run {
    let mut o = Outcome::of(
        "sum of (Cx)², p = 8 to 256: the cost of a gradient and p scalar products over that of F; \
         and both derivatives in rationals",
    );
    let how = How::default();
    let mut points = Vec::new();
    for p in [8, 32, 128, 256] {
        let f = quadratic(p, true)?;
        let directions = (p * (2 * p - 1)) as f64;
        points.push((p as f64, (unit(&backprop(&f, &how)?).to_f64() + directions) / unit(&f).to_f64()));
    }
    let (first, last) = (points[0].1, points[points.len() - 1].1);
    o.holds(
        "overhead of p directional derivatives, p = 8 to 256",
        "does not grow with p",
        format!("{first:.2} to {last:.2}"),
        last <= 1.2 * first,
    );
    let f = quadratic(5, true)?;
    let mut random = SplitMix64::new(93);
    let at = sample::generic(&f, &mut random);
    let gradient = run(&backprop(&f, &how)?, &at)?[1].clone();
    let mut right = 0;
    for _ in 0..20 {
        let d = sample::integers(&f, 5, &mut random);
        let tangents = [d[0].clone(), Tensor::new(at[1].shape().clone(), vec![Rational::ZERO; 25]).ok_or("shape")?];
        let out = run(&jvp(&f, &how)?, &[&at[..], &tangents[..]].concat())?;
        let dot: Rational = gradient.data().iter().zip(d[0].data()).map(|(g, d)| g * d).sum();
        right += usize::from(out.last().map(|t| &t.data()[0]) == Some(&dot));
    }
    o.always("F'(x; d) = ⟨∇F(x), d⟩", right, 20);
    let kink = quadratic(5, false)?;
    let zero = [Tensor::vector(vec![Rational::ZERO; 5])?, at[1].clone()];
    let returned = run(&backprop(&kink, &how)?, &zero)?[1].clone();
    let mut same = 0;
    for _ in 0..20 {
        let d = sample::generic(&kink, &mut random);
        // F is positively homogeneous, so F'(0; d) = F(d)
        let derivative = run(&kink, &[d[0].clone(), at[1].clone()])?[0].data()[0].clone();
        same += usize::from(derivative == returned.data().iter().zip(d[0].data()).map(|(g, d)| g * d).sum());
    }
    o.holds(
        "with |·| in the place of squares, at 0: F'(0; d) = ⟨g, d⟩ for what backprop returns",
        "fails",
        format!("{same} of 20"),
        same < 20,
    );
    Ok(o)
}

fn khan_barton() -> Run {
    let mut o = Outcome::of(
        "sum of |Cx| for a sparse C at 0, p = 10 to 1,000: operations of one Clarke subgradient by a \
         random direction, and of vector forward mode, over cost(P)",
    );
    let (mut one, mut forward) = (Vec::new(), Vec::new());
    for p in [10, 30, 100, 300, 1000] {
        let f = trace_shapes(&[Shape::vector(p)?], |x| {
            let next: Vec<usize> = (0..p).map(|i| (i + 1) % p).collect();
            vec![abs(x[0] * 2.0 - x[0].gather(0, &next)).sum() + x[0].norminf()]
        })?;
        let base = cost(&f).at(&Prices::unit()).to_f64();
        let model = localize(&f, &origin(&f))?;
        let element = clarke_element(&model, 0, 1)?;
        let sweeps = SweepCost::of(&model).with_forward_sweeps(p as u64).total();
        if p <= 100 && lexicographic_forward(&model, 0, &identity(p))?.operations != sweeps {
            return Err("vector forward mode took another number of operations than counted".into());
        }
        one.push((p as f64, (base + element.operations.total() as f64) / base));
        forward.push((p as f64, (base + sweeps as f64) / base));
    }
    let last = forward.len() - 1;
    let growth = (forward[last].1 / forward[0].1) / 100.0;
    o.holds(
        "vector forward mode",
        "grows like p",
        format!("{:.1} to {:.0}, {growth:.2} times in proportion", forward[0].1, forward[last].1),
        (0.5..1.5).contains(&growth),
    );
    o.measured("one random direction, then backward", format!("{:.2} to {:.2}, without p", one[0].1, one[last].1));
    let axis = |label: &str| Axis { label: label.into(), log: true };
    let series = |name: &str, points, colour| Series { name: name.into(), points, dashed: false, colour };
    o.pictures.push(Picture::Plot(Plot {
        title: "One Clarke subgradient: vector forward mode, and one random direction".into(),
        x: axis("number of inputs p"),
        y: axis("operations / cost(P)"),
        series: vec![series("vector forward mode", forward, 0), series("a random direction, then backward", one, 1)],
    }));
    Ok(o)
}

fn signs() -> Run {
    let mut o = Outcome::of(
        "networks of 40 random formulas with up to 40 variables: entries of their matrices, layers, and sizes",
    );
    let mut random = SplitMix64::new(94);
    let (mut entries, mut all, mut layers, mut width) = (0, 0, 0, 0);
    for k in 0..40 {
        let cnf = sample::formula(5 + k, 4 * (5 + k), &mut random);
        let (network, bounds) = (sat_network(&cnf)?, sat_bounds(&cnf));
        for m in network.layers().iter().map(|l| l.matrix()).chain([network.last()]) {
            all += m.entries();
            entries += (0..m.rows()).flat_map(|i| m.row(i)).filter(|(_, w)| matches!(w, -1 | 1)).count();
        }
        layers += usize::from(network.relu_layers() == bounds.relu_layers as usize);
        width += usize::from(network.layers().iter().all(|l| l.width() <= bounds.width));
    }
    o.always("nonzero entries are -1 or 1", entries, all);
    o.always("log₂(n) + 3 ReLU layers", layers, 40);
    o.always("of size at most 6n", width, 40);
    Ok(o)
}

fn tractable() -> Run {
    let mut o = Outcome::of("200 random programs over D0 at integer points, against all corners of D_P");
    let mut random = SplitMix64::new(95);
    let (mut right, mut elements, mut singletons, mut tried) = (0, 0, 0, 0);
    for _ in 0..200 {
        let p = sample::d0(3, 13, &mut random)?;
        let at = sample::integers(&p, 1, &mut random);
        let Ok(all) = corners_at(&p, &at) else { continue };
        tried += 1;
        let found = conservative(&localize(&p, &at)?, 0)?;
        right += usize::from(found.is_singleton() == (all.len() == 1));
        singletons += usize::from(found.is_singleton());
        let points: Vec<Vec<Rational>> = all.into_iter().collect();
        let inside: Vec<bool> =
            found.elements.iter().map(|e| spanned(&points, &e.gradient)).collect::<Result<_, Failure>>()?;
        elements += usize::from(!inside.contains(&false));
    }
    o.always("singleton or several, as all corners say", right, tried);
    o.measured("singletons", format!("{singletons} of {tried}"));
    o.always("the elements returned are in the convex hull of the corners", elements, tried);
    Ok(o)
}
