//! What is true of a model, by evaluating it: the judge of what the checker accepts. It shares no code with it.

use crease_check::{Claim, Side, Vector};
use crease_number::Rational;

type Terms = Vec<(Rational, char, usize)>;

/// The function that the lines of a certificate state.
pub struct Function {
    pub dimension: usize,
    kinks: Vec<Vec<Terms>>,
    output: Terms,
}

pub fn terms(text: &str) -> Terms {
    let term = |t: &str| {
        let (c, v) = t.split_once('*').unwrap();
        (c.parse().unwrap(), v.chars().next().unwrap(), v[1..].parse().unwrap())
    };
    if text == "0" { Vec::new() } else { text.split(' ').map(term).collect() }
}

pub fn evaluate(terms: &Terms, d: &[Rational], other: &[Rational]) -> Rational {
    terms.iter().map(|(c, kind, i)| c * if *kind == 'd' { &d[*i] } else { &other[*i] }).sum()
}

impl Function {
    /// From the text of a certificate that was accepted, so that its first lines are in order.
    pub fn of(text: &str) -> Function {
        let mut f = Function { dimension: 0, kinks: Vec::new(), output: Vec::new() };
        for line in text.lines() {
            match line.split_once(' ') {
                Some(("dimension", n)) => f.dimension = n.parse().unwrap(),
                Some(("max", forms)) => f.kinks.push(forms.split(" ; ").map(terms).collect()),
                Some(("output", form)) => {
                    f.output = terms(form);
                    break;
                }
                _ => {}
            }
        }
        f
    }

    pub fn at(&self, d: &[Rational]) -> Rational {
        let mut kinks: Vec<Rational> = Vec::new();
        for forms in &self.kinks {
            let value = forms.iter().map(|f| evaluate(f, d, &kinks)).max().unwrap();
            kinks.push(value);
        }
        evaluate(&self.output, d, &kinks)
    }

    /// Whether it is linear with this gradient, as far as many directions tell.
    pub fn is_linear(&self, gradient: &Vector, random: &mut Random) -> bool {
        (0..60).all(|i| {
            let d = random.vector(self.dimension, if i < 40 { 3 } else { 1000 });
            self.at(&d) == dot(gradient, &d)
        })
    }

    /// Whether it is linear around the direction, as far as many directions tell.
    fn is_side(&self, side: &Side, random: &mut Random) -> bool {
        let tiny = Rational::new(1, 1_000_000).unwrap();
        (0..20).all(|_| {
            let near: Vec<Rational> = random
                .vector(self.dimension, 100)
                .iter()
                .enumerate()
                .map(|(i, e)| side.direction.get(i) + e * &tiny)
                .collect();
            self.at(&near) == dot(&side.gradient, &near)
        })
    }

    /// Whether a claim is true.
    pub fn has(&self, claim: &Claim, random: &mut Random) -> bool {
        match claim {
            Claim::Differentiable { gradient } => self.is_linear(gradient, random),
            Claim::NotDifferentiable { sides: [a, b] } => {
                a.gradient != b.gradient && self.is_side(a, random) && self.is_side(b, random)
            }
            // another kind of model, which these lines do not state
            Claim::NotDifferentiableEnclosed { .. } => false,
            Claim::Member { vector, sides } => {
                let total: Rational = sides.iter().map(|s| &s.0).sum();
                let mean = |i| sides.iter().map(|(w, s)| w * &s.gradient.get(i)).sum::<Rational>();
                total.is_one()
                    && sides.iter().all(|(w, s)| w.is_positive() && self.is_side(s, random))
                    && (0..self.dimension).all(|i| mean(i) == vector.get(i))
            }
        }
    }
}

pub fn dot(a: &Vector, d: &[Rational]) -> Rational {
    a.entries().map(|(i, c)| c * &d[i]).sum()
}

/// Numbers that are the same in every run.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) % n as u64) as usize
    }

    pub fn within(&mut self, size: i64) -> i64 {
        self.below(2 * size as usize + 1) as i64 - size
    }

    pub fn vector(&mut self, n: usize, size: i64) -> Vec<Rational> {
        (0..n).map(|_| Rational::from(self.within(size))).collect()
    }
}
