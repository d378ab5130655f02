//! Section 2: generalized gradients.

use super::appendix_a::{neighbours, spanned};
use super::appendix_d::corners_at;
use super::conservative;
use super::item::{Failure, Item, Kind, Run};
use super::outcome::Outcome;
use super::sample;
use crate::programs;
use crease::Function;
use crease_core::differentiate::{How, backprop};
use crease_core::local::localize;
use crease_core::random::SplitMix64;
use crease_core::{Rational, Tensor, relu, run, trace};
use crease_oracles::{directional, identity};

pub const ITEMS: &[Item] = &[
    Item::numbered(Kind::Example, 1, "example-1").about("The subdifferential of ReLU", "Section 2").claims(
        "∂ᶜReLU(t) is {0} for t < 0, {1} for t > 0 and [0, 1] at 0; ReLU'(t) = 1 for t > 0, else 0, \
         is a selection of it.",
        relu_example,
    ),
    Item::numbered(Kind::Definition, 1, "definition-1").about("Conservative gradient", "Section 2").claims(
        "D_F is a conservative gradient of F if along every absolutely continuous curve γ, for almost every t, the derivative of F(γ(t)) is \
         ⟨v, γ'(t)⟩ for all v in D_F(γ(t)).",
        conservative::definition,
    ),
    Item::statement("clarke-inclusion").about("Clarke subgradients are in the convex hull", "Section 2").claims(
        "∂ᶜF(x) ⊂ conv D_F(x) for every conservative gradient D_F.",
        inclusion,
    ),
    Item::statement("gradient-almost-everywhere").about("Gradients almost everywhere", "Section 2").claims(
        "A conservative gradient is the gradient, except on a set of measure zero.",
        almost_everywhere,
    ),
    Item::statement("first-order-oracle").about("A first-order oracle", "Section 2").claims(
        "Selections of conservative gradients can stand in for gradients, and convergence guarantees remain.",
        super::beyond::first_order_oracle,
    ),
    Item::statement("composition").about("Conservative Jacobians compose", "Section 2").claims(
        "Products of selections of conservative Jacobians are selections of a conservative Jacobian; \
         for Clarke Jacobians this fails.",
        composition,
    ),
    Item::numbered(Kind::Theorem, 1, "theorem-1").about("Path differentiable functions are ubiquitous", "Section 2").claims(
        "Locally Lipschitz functions that are semialgebraic or definable are path differentiable.",
        conservative::ubiquitous,
    ),
];

fn relu_example() -> Run {
    let mut o = Outcome::of("all neighbouring gradients of relu at -2, 0 and 3, and what backprop returns");
    let p = trace(1, |x| relu(x[0]))?;
    let f = Function::from(p.clone());
    for (t, expected, derivative) in [(-2, "{0}", 0.0), (0, "[0, 1]", 0.0), (3, "{1}", 1.0)] {
        let mut all = neighbours(&p, &[Tensor::scalar(Rational::from(t))])?;
        all.sort();
        let ours = match &all[..] {
            [one] => format!("{{{}}}", one[0]),
            [low, high] => format!("[{}, {}]", low[0], high[0]),
            more => format!("{more:?}"),
        };
        o.equal(format!("∂ᶜReLU({t})"), expected, ours);
        o.equal(format!("ReLU'({t})"), derivative, f.grad(&[f64::from(t)])?[0]);
    }
    Ok(o)
}

fn inclusion() -> Run {
    let mut o = Outcome::of(
        "200 random programs over D0 at integer points: each neighbouring gradient, which together \
         span ∂ᶜF, against the convex hull of the corners of D_F",
    );
    let mut random = SplitMix64::new(21);
    let (mut inside, mut all, mut smaller) = (0, 0, 0);
    for _ in 0..200 {
        let p = sample::d0(3, 12, &mut random)?;
        let at = sample::integers(&p, 1, &mut random);
        let Ok(corners) = corners_at(&p, &at) else { continue };
        let corners: Vec<Vec<Rational>> = corners.into_iter().collect();
        let near = neighbours(&p, &at)?;
        for g in &near {
            all += 1;
            inside += usize::from(spanned(&corners, g)?);
        }
        let outside = |c: &Vec<Rational>| Ok(!spanned(&near, c)?);
        smaller += usize::from(corners.iter().map(outside).collect::<Result<Vec<bool>, Failure>>()?.contains(&true));
    }
    o.always("neighbouring gradients in conv D_F", inside, all);
    o.measured("points where D_F is larger than ∂ᶜF", smaller);
    Ok(o)
}

fn almost_everywhere() -> Run {
    let mut o = Outcome::of(
        "300 random programs at random points: kinks met, and backprop against the exact directional \
         derivatives along all axes, both ways",
    );
    let mut random = SplitMix64::new(22);
    let (mut none, mut gradient) = (0, 0);
    for _ in 0..300 {
        let p = sample::rational_program(3, 20, &mut random)?;
        let at = sample::generic(&p, &mut random);
        let model = localize(&p, &at)?;
        // a kink whose argument is constant is met everywhere, and its argument does not move
        none += usize::from(model.kinks().is_empty());
        let out = run(&backprop(&p, &How::default())?, &at)?;
        let g: Vec<Rational> = out[1..].iter().flat_map(|t| t.data().to_vec()).collect();
        let mut same = true;
        for (i, e) in identity(3).into_iter().enumerate() {
            let minus: Vec<Rational> = e.iter().map(|x| -x).collect();
            same &= directional(&model, &e)?[0] == g[i] && directional(&model, &minus)?[0] == -&g[i];
        }
        gradient += usize::from(same);
    }
    o.always("what backprop returns is the gradient", gradient, 300);
    o.measured("points without kinks", format!("{none} of 300"));
    Ok(o)
}

fn composition() -> Run {
    let mut o = Outcome::of("relu(x) - relu(-x), the identity, as a composition, at 0");
    let p = programs::identity_by_relu()?;
    let origin = [Tensor::scalar(Rational::ZERO)];
    let products: Vec<String> = corners_at(&p, &origin)?.into_iter().map(|g| g[0].to_string()).collect();
    let clarke: Vec<String> = neighbours(&p, &origin)?.into_iter().map(|g| g[0].to_string()).collect();
    o.equal("∂ᶜ of the composition at 0", "1", clarke.join(", "));
    o.holds(
        "products of Clarke subgradients of its parts",
        "not all are in ∂ᶜ",
        products.join(", "),
        products.iter().any(|g| g != "1"),
    );
    let f = Function::from(p);
    let almost = [-0.5, -0.25, 0.125, 2.0].iter().filter(|&&x| f.grad(&[x]).is_ok_and(|g| g == [1.0])).count();
    o.always("and the product is the derivative at points other than 0", almost, 4);
    Ok(o)
}
