//! Random programs over D0 = {+, -, relu} at points rich in ties, with an interpreter of their own: every relu takes a choice, every
//! sign pattern and every cell can be listed.

use super::Rng;
use crease_core::number::Rational;
use crease_core::{Program, relu, trace};

/// An instruction on earlier cells; the inputs are the first cells.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Add(usize, usize),
    Sub(usize, usize),
    Relu(usize),
}

/// A random program over D0 and a point.
#[derive(Clone, Debug)]
pub struct Case {
    pub inputs: usize,
    pub steps: Vec<Step>,
    pub at: Vec<i64>,
}

/// A random one.
pub fn case(rng: &mut Rng) -> Case {
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
    /// As a program of crease.
    pub fn program(&self) -> Program {
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
    pub fn value(&self, at: &[i128]) -> i128 {
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
    pub fn ties(&self) -> Vec<usize> {
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
    pub fn forms(&self, mut pass: impl FnMut(usize, i64, &[i64]) -> bool) -> Vec<i64> {
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
    pub fn at_choices(&self, choice: impl Fn(usize) -> bool) -> Vec<i64> {
        self.forms(|i, value, _| value > 0 || value == 0 && choice(i))
    }

    /// The gradient in the cell around a direction, and whether it lies in the inside of one.
    pub fn in_cell(&self, d: &[i64]) -> (Vec<i64>, bool) {
        let mut inside = true;
        let gradient = self.forms(|_, value, form| {
            let along: i64 = form.iter().zip(d).map(|(f, d)| f * d).sum();
            inside &= value != 0 || along != 0 || form.iter().all(|&f| f == 0);
            value > 0 || value == 0 && along > 0
        });
        (gradient, inside)
    }

    /// The gradient that the definition of Nesterov gives along a basis: x, then the directions, decide one after the other.
    pub fn lexicographic(&self, basis: &[Vec<i64>]) -> Vec<i64> {
        self.forms(|_, value, form| {
            let along = basis.iter().map(|d| form.iter().zip(d).map(|(f, d)| f * d).sum::<i64>());
            std::iter::once(value).chain(along).find(|&s| s != 0).unwrap_or(0) > 0
        })
    }

    /// All gradients in the neighbourhood, for one or two inputs: one direction inside each cell.
    pub fn neighbours(&self) -> Vec<Vec<i64>> {
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

/// Whole numbers as such.
pub fn small(xs: &[Rational]) -> Vec<i64> {
    xs.iter()
        .map(|x| {
            let (num, den) = x.small_parts().unwrap();
            assert_eq!(den, 1);
            num
        })
        .collect()
}
