//! Thousands of random programs over D0 = {+, -, relu} at points rich in ties, against independent code: an interpreter of its own
//! with a choice at every relu, all sign patterns, all cells.

mod support;

use crease_core::number::Rational;
use crease_core::{Program, relu, trace};
use crease_oracles::{
    clarke_element, conservative, directional, identity, lexicographic, lexicographic_forward, several_in_field,
};
use support::{Rng, ints, model_at};

/// An instruction on earlier cells; the inputs are the first cells.
#[derive(Clone, Copy, Debug)]
enum Step {
    Add(usize, usize),
    Sub(usize, usize),
    Relu(usize),
}

/// A random program over D0 and a point.
#[derive(Clone, Debug)]
struct Case {
    inputs: usize,
    steps: Vec<Step>,
    at: Vec<i64>,
}

fn case(rng: &mut Rng) -> Case {
    let inputs = 1 + rng.below(3);
    let length = 4 + rng.below(17);
    let mut steps = Vec::new();
    let mut relus = 0;
    for i in 0..length {
        let cells = inputs + i;
        // late cells more often, so that programs are deep
        let mut cell = || cells - 1 - rng.below(cells).min(rng.below(cells));
        let (a, b) = (cell(), cell());
        steps.push(match rng.below(10) {
            0..2 => Step::Add(a, b),
            2..5 => Step::Sub(a, b),
            _ if relus < 12 => {
                relus += 1;
                Step::Relu(a)
            }
            _ => Step::Sub(a, b),
        });
    }
    let at = (0..inputs).map(|_| [0, 0, 0, 1, -1][rng.below(5)]).collect();
    Case { inputs, steps, at }
}

impl Case {
    fn program(&self) -> Program {
        trace(self.inputs, |x| {
            let mut cells = x.to_vec();
            for s in &self.steps {
                cells.push(match *s {
                    Step::Add(a, b) => cells[a] + cells[b],
                    Step::Sub(a, b) => cells[a] - cells[b],
                    Step::Relu(a) => relu(cells[a]),
                });
            }
            cells[cells.len() - 1]
        })
        .unwrap()
    }

    /// The value at a point.
    fn value(&self, at: &[i128]) -> i128 {
        let mut cells = at.to_vec();
        for s in &self.steps {
            cells.push(match *s {
                Step::Add(a, b) => cells[a] + cells[b],
                Step::Sub(a, b) => cells[a] - cells[b],
                Step::Relu(a) => cells[a].max(0),
            });
        }
        cells[cells.len() - 1]
    }

    /// The tied relus: those that are given 0 at the point.
    fn ties(&self) -> Vec<usize> {
        let mut cells: Vec<i64> = self.at.clone();
        let mut ties = Vec::new();
        for (i, s) in self.steps.iter().enumerate() {
            cells.push(match *s {
                Step::Add(a, b) => cells[a] + cells[b],
                Step::Sub(a, b) => cells[a] - cells[b],
                Step::Relu(a) => {
                    if cells[a] == 0 {
                        ties.push(i);
                    }
                    cells[a].max(0)
                }
            });
        }
        ties
    }

    /// Carries derivatives along all inputs; `pass` says of each relu, given its value and its derivatives, whether it lets them
    /// through. Returns the derivatives of the output.
    fn forms(&self, mut pass: impl FnMut(usize, i64, &[i64]) -> bool) -> Vec<i64> {
        let mut values = self.at.clone();
        let unit = |i: usize| (0..self.inputs).map(|j| i64::from(i == j)).collect::<Vec<_>>();
        let mut cells: Vec<Vec<i64>> = (0..self.inputs).map(unit).collect();
        for (i, s) in self.steps.iter().enumerate() {
            let zip = |a: usize, b: usize, f: fn(i64, i64) -> i64| {
                cells[a].iter().zip(&cells[b]).map(|(x, y)| f(*x, *y)).collect::<Vec<_>>()
            };
            let (value, form) = match *s {
                Step::Add(a, b) => (values[a] + values[b], zip(a, b, |x, y| x + y)),
                Step::Sub(a, b) => (values[a] - values[b], zip(a, b, |x, y| x - y)),
                Step::Relu(a) => {
                    let through = pass(i, values[a], &cells[a]);
                    (values[a].max(0), if through { cells[a].clone() } else { vec![0; self.inputs] })
                }
            };
            values.push(value);
            cells.push(form);
        }
        cells.swap_remove(cells.len() - 1)
    }

    /// The gradient when tied relus take these choices.
    fn at_choices(&self, choice: impl Fn(usize) -> bool) -> Vec<i64> {
        self.forms(|i, value, _| value > 0 || value == 0 && choice(i))
    }

    /// The gradient in the cell around a direction, and whether it lies in the inside of one.
    fn in_cell(&self, d: &[i64]) -> (Vec<i64>, bool) {
        let mut inside = true;
        let gradient = self.forms(|_, value, form| {
            let along: i64 = form.iter().zip(d).map(|(f, d)| f * d).sum();
            inside &= value != 0 || along != 0 || form.iter().all(|&f| f == 0);
            value > 0 || value == 0 && along > 0
        });
        (gradient, inside)
    }

    /// The gradient that the definition of Nesterov gives along a basis: x, then the directions, decide one after the other.
    fn lexicographic(&self, basis: &[Vec<i64>]) -> Vec<i64> {
        self.forms(|_, value, form| {
            let along = basis.iter().map(|d| form.iter().zip(d).map(|(f, d)| f * d).sum::<i64>());
            std::iter::once(value).chain(along).find(|&s| s != 0).unwrap_or(0) > 0
        })
    }

    /// All gradients in the neighbourhood, for one or two inputs: one direction inside each cell.
    fn neighbours(&self) -> Vec<Vec<i64>> {
        let directions = match self.inputs {
            1 => vec![vec![1], vec![-1]],
            2 => self.cells().iter().map(|d| d.to_vec()).collect(),
            _ => unreachable!("brute force is for one or two inputs"),
        };
        let mut found = Vec::new();
        for d in directions {
            let (gradient, inside) = self.in_cell(&d);
            assert!(inside, "{d:?} is on a border");
            found.push(gradient);
        }
        found.sort();
        found.dedup();
        found
    }

    /// For two inputs, a direction in every cell: between neighbours of all rays on which any pattern of choices puts a border.
    fn cells(&self) -> Vec<[i64; 2]> {
        let ties = self.ties();
        let mut rays: Vec<[i64; 2]> = Vec::new();
        for pattern in 0..1u32 << ties.len() {
            let choice = |i: usize| ties.iter().position(|&t| t == i).is_some_and(|k| pattern >> k & 1 == 1);
            self.forms(|i, value, form| {
                if value == 0 && (form[0] != 0 || form[1] != 0) {
                    let g = gcd(form[0], form[1]);
                    let ray = [-form[1] / g, form[0] / g];
                    if !rays.contains(&ray) {
                        rays.extend([ray, [-ray[0], -ray[1]]]);
                    }
                }
                value > 0 || value == 0 && choice(i)
            });
        }
        if rays.is_empty() {
            return vec![[1, 0]];
        }
        let half = |r: &[i64; 2]| (r[1], r[0]) < (0, 0);
        rays.sort_by(|a, b| half(a).cmp(&half(b)).then((b[0] * a[1]).cmp(&(a[0] * b[1]))));
        let next = rays.iter().cycle().skip(1);
        // a ray and the next: if they are opposite, what lies between is the perpendicular
        let between = |(a, b): (&[i64; 2], &[i64; 2])| match [a[0] + b[0], a[1] + b[1]] {
            [0, 0] => [-a[1], a[0]],
            sum => sum,
        };
        rays.iter().zip(next).map(between).collect()
    }
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}

fn small(xs: &[Rational]) -> Vec<i64> {
    xs.iter()
        .map(|x| {
            let (num, den) = x.small_parts().unwrap();
            assert_eq!(den, 1);
            num
        })
        .collect()
}

fn random_basis(p: usize, rng: &mut Rng) -> Vec<Vec<i64>> {
    loop {
        let rows: Vec<Vec<i64>> = (0..p).map(|_| (0..p).map(|_| rng.within(2)).collect()).collect();
        let at = |i: usize, j: usize| rows[i][j];
        let det = match p {
            1 => at(0, 0),
            2 => at(0, 0) * at(1, 1) - at(0, 1) * at(1, 0),
            _ => (0..3)
                .map(|j| {
                    let (k, l) = ((j + 1) % 3, (j + 2) % 3);
                    at(0, j) * (at(1, k) * at(2, l) - at(1, l) * at(2, k))
                })
                .sum(),
        };
        if det != 0 {
            return rows;
        }
    }
}

/// Runs a check on many cases, and counts those that have something to check.
fn each(seed: u64, count: usize, mut check: impl FnMut(&Case, &mut Rng) -> bool) {
    let mut rng = Rng::new(seed);
    let interesting = (0..count).filter(|_| check(&case(&mut rng), &mut rng)).count();
    assert!(interesting * 4 > count, "only {interesting} of {count} had a tie that matters");
}

/// F is positively homogeneous, so that F(x + d / s) = F(s x + d) / s: difference quotients in integers. Values at the point are
/// integers and slopes below 2^20, so 2^40 is small enough a step, and 2^80 for a step within the step.
const STEP: i128 = 1 << 40;

#[test]
fn directional_derivatives_are_difference_quotients() {
    each(1, 4000, |case, rng| {
        let m = model_at(&case.program(), &case.at);
        for _ in 0..4 {
            let d: Vec<i64> = (0..case.inputs).map(|_| rng.within(3)).collect();
            let x: Vec<i128> = case.at.iter().map(|&x| i128::from(x)).collect();
            let there: Vec<i128> = x.iter().zip(&d).map(|(x, d)| x * STEP + i128::from(*d)).collect();
            let quotient = case.value(&there) - STEP * case.value(&x);
            let found = directional(&m, &ints(&d)).unwrap();
            assert_eq!(i128::from(small(&found)[0]), quotient, "{case:?} along {d:?}");
        }
        !m.kinks().is_empty()
    });
}

#[test]
fn clarke_elements_are_gradients_along_their_direction() {
    each(2, 4000, |case, rng| {
        let m = model_at(&case.program(), &case.at);
        let e = clarke_element(&m, 0, rng.next()).unwrap();
        assert!(e.proved);
        let gradient = small(&e.gradient);
        let near: Vec<i128> = case
            .at
            .iter()
            .zip(small(&e.direction))
            .map(|(&x, d)| (i128::from(x) * STEP + i128::from(d)) * STEP)
            .collect();
        let here = case.value(&near);
        let mut probes: Vec<Vec<i64>> =
            (0..case.inputs).map(|i| (0..case.inputs).map(|j| i64::from(i == j)).collect()).collect();
        probes.extend((0..4).map(|_| (0..case.inputs).map(|_| rng.within(9)).collect()));
        for v in probes {
            let expected: i64 = gradient.iter().zip(&v).map(|(g, v)| g * v).sum();
            for sign in [1, -1] {
                let there: Vec<i128> = near.iter().zip(&v).map(|(x, v)| x + sign * i128::from(*v)).collect();
                assert_eq!(case.value(&there) - here, sign * i128::from(expected), "{case:?} {e:?}");
            }
        }
        // and the gradient of the cell around the direction, by the interpreter of this file
        assert_eq!(case.in_cell(&small(&e.direction)).0, gradient);
        !m.kinks().is_empty()
    });
}

#[test]
fn answers_are_neighbouring_gradients() {
    each(3, 3000, |case, rng| {
        if case.inputs > 2 || case.ties().len() > 10 {
            return true;
        }
        let m = model_at(&case.program(), &case.at);
        let neighbours = case.neighbours();
        for seed in 0..4 {
            let e = clarke_element(&m, 0, seed).unwrap();
            assert!(neighbours.contains(&small(&e.gradient)), "{case:?}");
        }
        for basis in [identity(case.inputs), random_basis(case.inputs, rng).iter().map(|d| ints(d)).collect()] {
            let l = lexicographic(&m, 0, &basis).unwrap();
            assert!(neighbours.contains(&small(&l.gradient)), "{case:?} along {basis:?}: {neighbours:?}");
        }
        let c = conservative(&m, 0).unwrap();
        if c.is_singleton() {
            assert_eq!(neighbours, [small(&c.elements[0].gradient)], "a singleton, but not differentiable: {case:?}");
        }
        for g in &neighbours {
            assert!(c.bounds.iter().zip(ints(g)).all(|((low, high), x)| *low <= x && x <= *high));
        }
        !m.kinks().is_empty()
    });
}

#[test]
fn both_lexicographic_derivatives_are_that_of_the_definition() {
    each(4, 4000, |case, rng| {
        let m = model_at(&case.program(), &case.at);
        let unit = (0..case.inputs).map(|i| (0..case.inputs).map(|j| i64::from(i == j)).collect()).collect();
        for basis in [unit, random_basis(case.inputs, rng)] {
            let rows: Vec<Vec<Rational>> = basis.iter().map(|d| ints(d)).collect();
            let a = lexicographic(&m, 0, &rows).unwrap();
            let b = lexicographic_forward(&m, 0, &rows).unwrap();
            assert_eq!(small(&a.gradient), case.lexicographic(&basis), "{case:?} along {basis:?}");
            assert_eq!((a.gradient, a.settled), (b.gradient, b.settled), "{case:?} along {basis:?}");
        }
        !m.kinks().is_empty()
    });
}

#[test]
fn the_conservative_verdict_is_that_of_all_corners() {
    let (mut single, mut several) = (0, 0);
    each(5, 3000, |case, _| {
        let ties = case.ties();
        let m = model_at(&case.program(), &case.at);
        let c = conservative(&m, 0).unwrap();
        assert!(c.proved);
        let corners: Vec<Vec<i64>> = (0..1u32 << ties.len())
            .map(|pattern| {
                case.at_choices(|i| ties.iter().position(|&t| t == i).is_some_and(|k| pattern >> k & 1 == 1))
            })
            .collect();
        // the polynomial is affine in every choice: constant iff it is the same at all corners
        let constant = corners.iter().all(|g| *g == corners[0]);
        assert_eq!(c.is_singleton(), constant, "{case:?}");
        assert_eq!(several_in_field(&m, 0, 9).unwrap(), !constant, "{case:?}");
        if constant {
            single += 1;
        } else {
            several += 1;
            assert_ne!(c.elements[0].gradient, c.elements[1].gradient);
            assert!(c.path.is_some());
        }
        for e in &c.elements {
            // members of a relu are 0 and its argument, in this order; its equation is the step of that number
            let on = |i: usize| {
                let kink = m.kinks().iter().position(|k| k.site.equation == i);
                kink.is_some_and(|k| e.choices[k][1].is_one())
            };
            assert!(e.choices.iter().flatten().all(|w| w.is_one() || w.is_zero()));
            assert_eq!(small(&e.gradient), case.at_choices(on), "{case:?}");
        }
        for g in corners {
            let inside = c.bounds.iter().zip(ints(&g)).all(|((low, high), x)| *low <= x && x <= *high);
            assert!(inside, "{case:?}: {g:?} is outside {:?}", c.bounds);
        }
        !m.kinks().is_empty()
    });
    assert!(single > 100 && several > 100, "{single} singletons, {several} others");
}
