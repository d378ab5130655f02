//! Random deep networks with weights -1, 0 and 1, with heads that make the question hard.

use super::Rng;
use crease_core::{Program, Var, max, relu, trace};

/// A layer of sums with weights -1, 0 and 1, none of them empty.
pub fn layer<'t>(x: &[Var<'t>], width: usize, rng: &mut Rng) -> Vec<Var<'t>> {
    let unit = |rng: &mut Rng| {
        let mut sum: Option<Var<'t>> = None;
        while sum.is_none() {
            for &v in x {
                sum = match (rng.below(3), sum) {
                    (0, sum) => sum,
                    (1, None) => Some(v),
                    (1, Some(s)) => Some(s + v),
                    (_, None) => Some(-v),
                    (_, Some(s)) => Some(s - v),
                };
            }
        }
        sum.unwrap()
    };
    (0..width).map(|_| unit(rng)).collect()
}

/// What stands on top of a random network with so many hidden layers.
#[derive(Clone, Copy, Debug)]
pub enum Head {
    /// Nothing: a random linear one.
    Random,
    /// relu(u) - u where u = sum of relu(a) - relu(sum of a), which is never negative: zero, but not at first sight.
    Zero,
    /// The maximum from the left minus the maximum from the right: zero as well.
    Orders,
    /// relu(a - 8 u) + relu(u) - u: positive, if at all, in narrow cones only.
    Narrow,
}

/// The sum of all.
pub fn sum<'t>(v: &[Var<'t>]) -> Var<'t> {
    v[1..].iter().fold(v[0], |s, x| s + *x)
}

/// A network with so many hidden layers, without biases.
pub fn network(inputs: usize, width: usize, layers: usize, head: Head, rng: &mut Rng) -> Program {
    trace(inputs, |x| {
        let mut a = x.to_vec();
        for _ in 1..layers {
            a = layer(&a, width, rng).into_iter().map(relu).collect();
        }
        let a = layer(&a, width, rng);
        let relus: Vec<Var<'_>> = a.iter().map(|v| relu(*v)).collect();
        let u = sum(&relus) - relu(sum(&a));
        match head {
            Head::Random => layer(&relus, 1, rng)[0],
            Head::Zero => relu(u) - u,
            Head::Orders => {
                let left = a[1..].iter().fold(a[0], |m, x| max(&[m, *x]));
                let right = a[..a.len() - 1].iter().rfold(a[a.len() - 1], |m, x| max(&[m, *x]));
                left - right
            }
            Head::Narrow => relu(a[0] - 8.0 * u) + relu(u) - u,
        }
    })
    .unwrap()
}
