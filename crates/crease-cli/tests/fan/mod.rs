//! What is true of the function that a certificate states, by brute force: the judge of what the checker accepts.
//!
//! The text of a certificate and a claim enter, and it leaves whether the claim is true. The function is a maximum of linear forms, of maxima of
//! linear forms, and so on; so it is linear on every cell of the arrangement of all hyperplanes on which two forms of one maximum can be
//! equal, whatever earlier maxima select. With the coordinate hyperplanes, the cells are spanned by their rays, and of rays there are finitely
//! many: each is where all but one dimension's worth of hyperplanes meet. On all of them the function is evaluated. Nothing of this is what the
//! checker does: no rewriting, no propositions, no Farkas. It shares nothing with it but the numbers, and reads the text itself.

use crease_check::{Claim, Side, Vector};
use crease_core::Rational;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The most hyperplanes, and dimensions, whose rays are all looked at.
const HYPERPLANES: usize = 90;
const DIMENSIONS: usize = 4;

/// How a claim was judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judged {
    /// At all rays, which decides it.
    Rays,
    /// At many directions; there are too many rays.
    Directions,
}

type Terms = Vec<(Rational, char, usize)>;
type Point = Vec<Rational>;

/// The function, in the coordinates that matter.
struct Function {
    kinks: Vec<Vec<Terms>>,
    output: Terms,
    dimension: usize,
}

fn terms(text: &str) -> Terms {
    let term = |t: &str| {
        let (c, v) = t.split_once('*').expect("a term is a product");
        (c.parse().expect("a number"), v.chars().next().expect("a name"), v[1..].parse().expect("an index"))
    };
    if text == "0" { Vec::new() } else { text.split(' ').map(term).collect() }
}

impl Function {
    /// Reads the function, with its coordinates renumbered: those that occur in it and in the vectors of the claim, in order.
    fn read(text: &str, vectors: &[&Vector]) -> (Function, Vec<usize>) {
        let (mut kinks, mut output) = (Vec::new(), Terms::new());
        for line in text.lines() {
            match line.split_once(' ') {
                Some(("max", forms)) => kinks.push(forms.split(" ; ").map(terms).collect::<Vec<_>>()),
                Some(("output", form)) => {
                    output = terms(form);
                    break;
                }
                _ => {}
            }
        }
        let occur = |t: &Terms| t.iter().filter(|t| t.1 == 'd').map(|t| t.2).collect::<Vec<_>>();
        let mut used: BTreeSet<usize> = kinks.iter().flatten().chain([&output]).flat_map(occur).collect();
        used.extend(vectors.iter().flat_map(|v| v.entries().map(|(i, _)| i)));
        let coordinates: Vec<usize> = used.into_iter().collect();
        let new: BTreeMap<usize, usize> = coordinates.iter().copied().zip(0..).collect();
        for form in kinks.iter_mut().flatten().chain([&mut output]) {
            form.iter_mut().filter(|t| t.1 == 'd').for_each(|t| t.2 = new[&t.2]);
        }
        (Function { kinks, output, dimension: coordinates.len() }, coordinates)
    }

    fn at(&self, d: &[Rational]) -> Rational {
        let mut values: Vec<Rational> = Vec::new();
        let value = |form: &Terms, values: &[Rational]| -> Rational {
            form.iter().map(|(c, kind, i)| c * if *kind == 'd' { &d[*i] } else { &values[*i] }).sum()
        };
        for forms in &self.kinks {
            let largest = forms.iter().map(|f| value(f, &values)).max().expect("a maximum of something");
            values.push(largest);
        }
        value(&self.output, &values)
    }

    /// The hyperplanes across which it may bend, by a normal of each, and the coordinate hyperplanes. Nothing if they are too many.
    fn hyperplanes(&self) -> Option<Vec<Point>> {
        let n = self.dimension;
        let mut all: HashSet<Point> = (0..n).map(|i| unit(n, i)).collect();
        // the linear forms that each kink may be
        let mut pieces: Vec<HashSet<Point>> = Vec::new();
        for forms in &self.kinks {
            let members: Vec<HashSet<Point>> = forms.iter().map(|f| linear(f, &pieces, n)).collect::<Option<_>>()?;
            // forms that share an earlier kink may be given different pieces of it here: that only adds hyperplanes
            for (i, a) in members.iter().enumerate() {
                for b in &members[..i] {
                    for (a, b) in a.iter().flat_map(|a| b.iter().map(move |b| (a, b))) {
                        let normal: Point = a.iter().zip(b).map(|(a, b)| a - b).collect();
                        all.extend(scaled(&normal));
                        if all.len() > HYPERPLANES {
                            return None;
                        }
                    }
                }
            }
            pieces.push(members.into_iter().flatten().collect());
        }
        let mut all: Vec<Point> = all.into_iter().collect();
        all.sort();
        Some(all)
    }

    /// Whether it is this linear form, everywhere.
    fn is(&self, gradient: &[Rational]) -> (bool, Judged) {
        let agrees = |d: &Point| self.at(d) == dot(gradient, d) && self.at(&negative(d)) == dot(gradient, &negative(d));
        match self.hyperplanes().filter(|_| self.dimension <= DIMENSIONS) {
            Some(normals) => (rays(&normals, self.dimension).iter().all(agrees), Judged::Rays),
            None => (directions(self.dimension).iter().all(agrees), Judged::Directions),
        }
    }

    /// Whether it is this linear form around a direction.
    fn is_around(&self, direction: &[Rational], gradient: &[Rational]) -> (bool, Judged) {
        let near = |step: &Rational, r: &Point| -> bool {
            [step.clone(), -step].iter().all(|step| {
                let d: Point = direction.iter().zip(r).map(|(d, r)| d + &(step * r)).collect();
                self.at(&d) == dot(gradient, &d)
            })
        };
        let here = self.at(direction) == dot(gradient, direction);
        match self.hyperplanes().filter(|_| self.dimension <= DIMENSIONS) {
            Some(normals) => {
                let (mut through, beside): (Vec<Point>, Vec<Point>) =
                    normals.into_iter().partition(|n| dot(n, direction).is_zero());
                // so that cells around the direction have corners, too; more hyperplanes are none too many
                through.extend((0..self.dimension).map(|i| unit(self.dimension, i)));
                // so short a step that the hyperplanes beside it are not reached
                let step = |r: &Point| {
                    let lengths = beside.iter().filter_map(|n| dot(n, direction).abs().checked_div(&dot(n, r).abs()));
                    lengths.min().map_or(Rational::ONE, |l| l * Rational::new(1, 2).expect("a half"))
                };
                (here && rays(&through, self.dimension).iter().all(|r| near(&step(r), r)), Judged::Rays)
            }
            None => {
                let step = Rational::new(1, 1 << 40).expect("a small number");
                (here && directions(self.dimension).iter().all(|r| near(&step, r)), Judged::Directions)
            }
        }
    }
}

/// All linear forms that a form becomes when each kink in it is one of its pieces.
fn linear(form: &Terms, pieces: &[HashSet<Point>], n: usize) -> Option<HashSet<Point>> {
    let mut out = HashSet::from([vec![Rational::ZERO; n]]);
    for (c, kind, i) in form {
        let direct;
        let choices: &HashSet<Point> = if *kind == 'd' {
            direct = HashSet::from([unit(n, *i)]);
            &direct
        } else {
            &pieces[*i]
        };
        let add = |f: &Point, p: &Point| -> Point { f.iter().zip(p).map(|(f, p)| f + &(c * p)).collect() };
        out = out.iter().flat_map(|f| choices.iter().map(move |p| add(f, p))).collect();
        if out.len() > 4 * HYPERPLANES {
            return None;
        }
    }
    Some(out)
}

/// A vector along every line in which the hyperplanes with these normals meet.
fn rays(normals: &[Point], n: usize) -> Vec<Point> {
    let mut out: BTreeSet<Point> = BTreeSet::new();
    // rows in echelon form, and from where on the next normal is taken
    let mut stack: Vec<(Vec<(usize, Point)>, usize)> = vec![(Vec::new(), 0)];
    while let Some((rows, from)) = stack.pop() {
        if rows.len() + 1 >= n {
            out.extend(kernel(&rows, n).and_then(|r| scaled(&r)));
            continue;
        }
        for (k, normal) in normals.iter().enumerate().skip(from) {
            if let Some(more) = eliminated(&rows, normal) {
                stack.push((more, k + 1));
            }
        }
    }
    out.into_iter().collect()
}

/// The rows and one more, each with a pivot at which all others are 0; nothing if it depends on them.
fn eliminated(rows: &[(usize, Point)], row: &Point) -> Option<Vec<(usize, Point)>> {
    let minus = |a: &Point, c: &Rational, b: &Point| -> Point { a.iter().zip(b).map(|(a, b)| a - &(c * b)).collect() };
    let row = rows.iter().fold(row.clone(), |row, (p, other)| minus(&row, &row[*p], other));
    let pivot = row.iter().position(|x| !x.is_zero())?;
    let inverse = row[pivot].inv()?;
    let row: Point = row.iter().map(|x| x * &inverse).collect();
    let mut out: Vec<(usize, Point)> = rows.iter().map(|(p, r)| (*p, minus(r, &r[pivot], &row))).collect();
    out.push((pivot, row));
    Some(out)
}

/// The line on which all rows are 0.
fn kernel(rows: &[(usize, Point)], n: usize) -> Option<Point> {
    let free = (0..n).find(|i| rows.iter().all(|(p, _)| p != i))?;
    let mut out = unit(n, free);
    rows.iter().for_each(|(p, row)| out[*p] = -&row[free]);
    Some(out)
}

fn unit(n: usize, i: usize) -> Point {
    (0..n).map(|j| Rational::from(usize::from(i == j))).collect()
}

/// The multiple whose first number that is not 0 is 1.
fn scaled(v: &Point) -> Option<Point> {
    let inverse = v.iter().find(|x| !x.is_zero())?.inv()?;
    Some(v.iter().map(|x| x * &inverse).collect())
}

fn dot(a: &[Rational], b: &[Rational]) -> Rational {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn negative(v: &Point) -> Point {
    v.iter().map(|x| -x).collect()
}

/// Many directions, small numbers and large ones, the same in every run.
fn directions(n: usize) -> Vec<Point> {
    let mut random = crease_core::random::SplitMix64::new(7);
    let mut draw = |size: u64| Rational::from(random.below(2 * size + 1) as i64 - size as i64);
    (0..400).map(|k| (0..n).map(|_| draw(if k % 2 == 0 { 2 } else { 1_000_000 })).collect()).collect()
}

/// No damage makes one kind of certificate the other: they differ in all lines but the first.
const OTHER: &str = "a certificate of an enclosed model is judged by its own test";

/// Whether a claim is true of the function that the text states.
pub fn judge(text: &str, claim: &Claim) -> (bool, Judged) {
    let mut sides: Vec<&Side> = Vec::new();
    let mut vectors: Vec<&Vector> = Vec::new();
    match claim {
        Claim::Differentiable { gradient } => vectors.push(gradient),
        Claim::NotDifferentiable { sides: both } => sides.extend(both),
        Claim::Member { vector, sides: weighted } => {
            vectors.push(vector);
            sides.extend(weighted.iter().map(|(_, side)| side));
        }
        Claim::NotDifferentiableEnclosed { .. } => panic!("{OTHER}"),
    }
    vectors.extend(sides.iter().flat_map(|s| [&s.gradient, &s.direction]));
    let (f, coordinates) = Function::read(text, &vectors);
    let dense = |v: &Vector| -> Point { coordinates.iter().map(|i| v.get(*i)).collect() };
    let around = || {
        let judged = sides.iter().map(|s| f.is_around(&dense(&s.direction), &dense(&s.gradient)));
        judged.fold((true, Judged::Rays), |(all, how), (yes, this)| {
            (all && yes, if this == Judged::Rays { how } else { this })
        })
    };
    match claim {
        Claim::Differentiable { gradient } => f.is(&dense(gradient)),
        Claim::NotDifferentiable { sides: [a, b] } => {
            let (true_around, how) = around();
            (true_around && dense(&a.gradient) != dense(&b.gradient), how)
        }
        Claim::Member { vector, sides } => {
            let (true_around, how) = around();
            let total: Rational = sides.iter().map(|(w, _)| w).sum();
            let mean = |i: usize| sides.iter().map(|(w, s)| w * &s.gradient.get(i)).sum::<Rational>();
            let weighted = sides.iter().all(|(w, _)| w.is_positive()) && total.is_one();
            (true_around && weighted && coordinates.iter().all(|&i| mean(i) == vector.get(i)), how)
        }
        Claim::NotDifferentiableEnclosed { .. } => panic!("{OTHER}"),
    }
}
