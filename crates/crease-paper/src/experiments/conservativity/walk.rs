//! Walking along a curve: interval by interval where the next breakpoint is known, at random instants where it is not.

use super::enclose::{self, Outcome};
use super::germ::{Germ, Log, Seen};
use super::{Curve, Options, Piece, Ready, Report, Undecided, Violation, tensors};
use crease_core::number::Mixed;
use crease_core::random::SplitMix64;
use crease_core::{Number, NumberError, Program, Rational, RunError, RunFault, kinks, run};
use std::sync::Arc;

/// Random instants are multiples of one part in this prime of a piece.
const PARTS: u64 = 1_000_003;

pub(super) struct Tester<'a> {
    program: &'a Program,
    field: Ready<'a>,
    options: &'a Options,
}

/// What happens just after an instant.
struct After {
    /// (F∘γ)', as a function of the time after it.
    derivative: Germ,
    /// ⟨v, γ'⟩, if the field is a program.
    product: Option<Germ>,
    /// Whether the curve runs inside a kink.
    inside: bool,
    /// For how long all of this holds.
    length: Rational,
    /// Whether that is all that is known, and it may hold for longer.
    cut: bool,
}

/// Two numbers that should be equal, some time after the instant.
struct Sides {
    s: Rational,
    expected: Rational,
    found: Rational,
}

impl<'a> Tester<'a> {
    pub fn new(program: &'a Program, field: Ready<'a>, options: &'a Options) -> Self {
        Tester { program, field, options }
    }

    pub fn curve(&self, curve: &Curve, random: &mut SplitMix64, report: &mut Report) {
        report.curves += 1;
        for piece in &curve.pieces {
            report.pieces += 1;
            self.piece(piece, random, report);
        }
    }

    fn piece(&self, piece: &Piece, random: &mut SplitMix64, report: &mut Report) {
        let mut t = Rational::ZERO;
        let mut intervals = 0;
        while t < piece.until {
            if intervals == self.options.intervals {
                let why = format!("more than {intervals} intervals on one piece");
                report.undecided.push(Undecided { piece: piece.clone(), t, why });
                return;
            }
            intervals += 1;
            match self.after(piece, &t) {
                Ok(after) if after.cut => return self.instants(piece, &t, random, report),
                Ok(after) => {
                    report.intervals += 1;
                    self.compare(piece, &t, &after, random, report);
                    t += after.length;
                }
                Err(e) if has_no_formula(&e) => return self.enclosures(piece, &t, random, report),
                Err(e) => {
                    report.undecided.push(Undecided { piece: piece.clone(), t, why: e.to_string() });
                    return;
                }
            }
        }
    }

    fn instants(&self, piece: &Piece, from: &Rational, random: &mut SplitMix64, report: &mut Report) {
        for _ in 0..self.options.instants {
            let t = instant(piece, from, random);
            match self.after(piece, &t) {
                Ok(after) => {
                    report.instants += 1;
                    self.compare(piece, &t, &after, random, report);
                }
                Err(e) if has_no_formula(&e) => return self.enclosures(piece, from, random, report),
                Err(e) => report.undecided.push(Undecided { piece: piece.clone(), t, why: e.to_string() }),
            }
        }
    }

    fn enclosures(&self, piece: &Piece, from: &Rational, random: &mut SplitMix64, report: &mut Report) {
        for _ in 0..self.options.instants {
            let t = instant(piece, from, random);
            let at = |t: &Rational| enclose::instant(self.program, &self.field, piece, t);
            match at(&t) {
                Outcome::Equal { inside } => {
                    report.instants += 1;
                    report.inside_kinks += usize::from(inside);
                }
                Outcome::Meet => report.enclosed += 1,
                Outcome::Unknown(why) => report.undecided.push(Undecided { piece: piece.clone(), t, why }),
                Outcome::Differ { expected, found, inside } => {
                    // it must fail at another instant, too: at one alone it may
                    match at(&instant(piece, from, random)) {
                        Outcome::Differ { .. } => {
                            let piece = piece.clone();
                            report.violations.push(Violation { piece, interval: None, t, expected, found, inside });
                        }
                        _ => {
                            let why = "the chain rule fails at this instant, but not at another one".into();
                            report.undecided.push(Undecided { piece: piece.clone(), t, why });
                        }
                    }
                }
            }
        }
    }

    /// Runs the program, and the field if it is one, just after an instant.
    fn after(&self, piece: &Piece, t: &Rational) -> Result<After, RunError> {
        let log = Arc::new(Log::default());
        let x = piece.germs(t, &log);
        let inputs = tensors(self.program, &x);
        let (values, hits) = kinks(self.program, &inputs)?;
        let derivative = values[0].data()[0].derivative();
        let product = match &self.field {
            Ready::Function(_) => None,
            Ready::Program(field) => {
                let v = run(field, &inputs)?;
                let terms = v.iter().flat_map(|v| v.data()).zip(&x).map(|(v, x)| v.mul(&x.derivative()));
                Some(terms.fold(Germ::zero(), |sum, term| sum.add(&term)))
            }
        };
        let Seen { next, safe, .. } = log.seen();
        let end = Ord::min(next.unwrap_or_else(|| piece.until.clone()), &piece.until - t);
        let cut = safe.as_ref().is_some_and(|safe| *safe < end);
        let length = if cut { safe.unwrap_or(end) } else { end };
        Ok(After { derivative, product, inside: !hits.is_empty(), length, cut })
    }

    /// Compares the two sides of the chain rule on the interval after t.
    fn compare(&self, piece: &Piece, t: &Rational, after: &After, random: &mut SplitMix64, report: &mut Report) {
        report.inside_kinks += usize::from(after.inside);
        let sides = match &after.product {
            Some(product) => Ok(formulas_differ(&after.derivative, product, &after.length)),
            None => self.sampled(piece, t, after, random),
        };
        match sides {
            Ok(None) => {}
            Ok(Some(Sides { s, expected, found })) => report.violations.push(Violation {
                piece: piece.clone(),
                interval: Some((t.clone(), t + &after.length)),
                t: t + &s,
                expected: Mixed::exactly(expected),
                found: Mixed::exactly(found),
                inside: after.inside,
            }),
            Err(why) => report.undecided.push(Undecided { piece: piece.clone(), t: t.clone(), why }),
        }
    }

    /// Asks a field that is a function of the point at two instants.
    fn sampled(
        &self,
        piece: &Piece,
        t: &Rational,
        after: &After,
        random: &mut SplitMix64,
    ) -> Result<Option<Sides>, String> {
        let Ready::Function(field) = &self.field else { return Ok(None) };
        for _ in 0..2 {
            let s = fraction(&after.length, random);
            let (x, d) = (piece.at(&(t + &s)), piece.velocity(&(t + &s)));
            let v = field(&x);
            if v.len() != d.len() {
                return Err(format!("the field has {} numbers, expected {}", v.len(), d.len()));
            }
            let found: Rational = v.iter().zip(&d).map(|(v, d)| v * d).sum();
            let expected = after.derivative.at(&s).ok_or("the function has a pole here")?;
            if expected != found {
                return Ok(Some(Sides { s, expected, found }));
            }
        }
        Ok(None)
    }
}

/// Where on an interval two different formulas have different values; nothing if they are the same.
fn formulas_differ(expected: &Germ, found: &Germ, length: &Rational) -> Option<Sides> {
    if expected == found {
        return None;
    }
    // different rational functions agree at finitely many instants, so this ends
    (1..).find_map(|k| {
        let s = length * &Rational::new(k, k + 1)?;
        let (expected, found) = (expected.at(&s)?, found.at(&s)?);
        (expected != found).then_some(Sides { s, expected, found })
    })
}

/// A random instant between two others.
fn instant(piece: &Piece, from: &Rational, random: &mut SplitMix64) -> Rational {
    from + &fraction(&(&piece.until - from), random)
}

/// A random part of a length, neither nothing nor all of it.
fn fraction(length: &Rational, random: &mut SplitMix64) -> Rational {
    let part = 1 + random.below(PARTS - 1);
    length * &Rational::new(part as i64, PARTS as i64).unwrap_or(Rational::ONE)
}

/// Whether a run failed only because the result is no rational function, or too long a one.
fn has_no_formula(e: &RunError) -> bool {
    use NumberError::{NotExact, TooLarge};
    matches!(e.fault, RunFault::Number(NotExact { .. } | TooLarge) | RunFault::Overflow(_))
}
