//! What the tests share: random numbers, short ways to write points, and the checks that look at a program from outside.
#![allow(dead_code)]

pub mod arrangements;
pub mod d0;
pub mod elimination;
pub mod networks;

use crease_core::local::{LocalModel, localize};
use crease_core::number::Rational;
use crease_core::{Program, Tensor, run};

/// SplitMix64.
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Rng(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// An integer from `-n` to `n`.
    pub fn within(&mut self, n: i64) -> i64 {
        (self.next() % (2 * n as u64 + 1)) as i64 - n
    }
}

pub fn r(text: &str) -> Rational {
    text.parse().unwrap()
}

pub fn ints(xs: &[i64]) -> Vec<Rational> {
    xs.iter().map(|&x| Rational::from(x)).collect()
}

/// The local model at a point of scalar inputs.
pub fn model_at(p: &Program, at: &[i64]) -> LocalModel {
    localize(p, &scalars(&ints(at))).unwrap()
}

pub fn scalars(at: &[Rational]) -> Vec<Tensor<Rational>> {
    at.iter().map(|x| Tensor::scalar(x.clone())).collect()
}

/// The first output at a point of scalar inputs.
pub fn value(p: &Program, at: &[Rational]) -> Rational {
    run(p, &scalars(at)).unwrap()[0].data()[0].clone()
}

pub fn moved(at: &[Rational], t: &Rational, d: &[Rational]) -> Vec<Rational> {
    at.iter().zip(d).map(|(x, d)| x + &(t * d)).collect()
}

pub fn dot(a: &[Rational], b: &[Rational]) -> Rational {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

pub fn power_of_half(k: i32) -> Rational {
    Rational::new(1, 2).unwrap().pow(k).unwrap()
}

/// The one-sided difference quotient at a piecewise-linear program: with t halved until it stays the same for ten halvings.
pub fn quotient(p: &Program, at: &[Rational], d: &[Rational]) -> Rational {
    let here = value(p, at);
    let (mut last, mut same, mut t) = (None, 0, power_of_half(6));
    loop {
        let q = (value(p, &moved(at, &t, d)) - &here).checked_div(&t).unwrap();
        same = if last.as_ref() == Some(&q) { same + 1 } else { 0 };
        if same == 10 {
            return q;
        }
        last = Some(q);
        t *= Rational::new(1, 2).unwrap();
    }
}

/// Checks from outside that a piecewise-linear program has this gradient at x + t d for small t > 0: it is linear around such a
/// point, with that gradient, along the axes and along random directions, both ways.
pub fn assert_gradient_along(p: &Program, at: &[Rational], d: &[Rational], gradient: &[Rational], rng: &mut Rng) {
    let near = moved(at, &power_of_half(40), d);
    let here = value(p, &near);
    let tiny = power_of_half(80);
    let mut probes: Vec<Vec<Rational>> = crease_oracles::identity(at.len());
    probes.extend((0..3).map(|_| (0..at.len()).map(|_| Rational::from(rng.within(9))).collect()));
    for v in probes {
        for sign in [1, -1] {
            let v: Vec<Rational> = v.iter().map(|x| x * Rational::from(sign)).collect();
            let change = value(p, &moved(&near, &tiny, &v)) - &here;
            assert_eq!(
                change,
                &tiny * dot(gradient, &v),
                "{p}at {at:?} along {d:?}, gradient {gradient:?}, probe {v:?}"
            );
        }
    }
}
