//! Derivatives against difference quotients, where no kink is met: an oracle that shares no code with the rules.

use crate::support::{Verdict, check_programs, ensure, outputs, rational, shown};
use crease_core::differentiate::{How, backprop, forprop, gradient, hessian};
use crease_core::{Program, Rational, Tensor, kinks};
use crease_corpus::compare::{convert, dot, doubles, moved};
use crease_corpus::random::{Dictionary, Options, Rng, dyadic_point, generic_point};

fn options(rng: &mut Rng, dictionary: Dictionary, n: usize) -> Options {
    let o = Options::new(dictionary).equations(n).inputs(1 + rng.below(3)).calls(rng.below(3));
    if rng.once_in(2) { o.tensors() } else { o }
}

fn smooth_at(p: &Program, x: &[Tensor<Rational>]) -> Result<bool, String> {
    Ok(kinks(p, x).map_err(|e| e.to_string())?.1.is_empty())
}

#[test]
fn piecewise_linear_programs_equal_their_difference_quotients_exactly() {
    let draw = |rng: &mut Rng, n: usize| {
        let dictionary = *rng.pick(&[Dictionary::D0, Dictionary::PiecewiseLinear]);
        options(rng, dictionary, n).exact()
    };
    let met = std::cell::Cell::new(0);
    check_programs(40, 1000, 14, draw, |p, rng| {
        let x = generic_point(rng, p);
        if !smooth_at(p, &x)? {
            return Ok(());
        }
        met.set(met.get() + 1);
        let g = outputs(&gradient(p, &How::default()).map_err(|e| e.to_string())?, &x)?;
        let d = generic_point(rng, p);
        let (h, slope) = (rational("1e-15"), dot(&g, &d));
        let value = |x: &[Tensor<Rational>]| outputs(p, x).map(|o| o[0].data()[0].clone());
        let (here, there, back) = (value(&x)?, value(&moved(&x, &h, &d))?, value(&moved(&x, &-&h, &d))?);
        ensure(&there - &here == &h * &slope && &here - &back == &h * &slope, || {
            format!("the slope is {slope}, but not by differences at {} along {}", shown(&x), shown(&d))
        })
    });
    assert!(met.get() > 400, "only {} programs met no kink", met.get());
}

#[test]
fn rational_programs_equal_their_difference_quotients_to_twenty_digits() {
    let met = std::cell::Cell::new(0);
    check_programs(
        41,
        800,
        10,
        |rng, n| options(rng, Dictionary::Everything, n).exact(),
        |p, rng| {
            let x = generic_point(rng, p);
            if !smooth_at(p, &x)? {
                return Ok(());
            }
            met.set(met.get() + 1);
            let b = outputs(&backprop(p, &How::default()).map_err(|e| e.to_string())?, &x)?;
            let d = generic_point(rng, p);
            // exact arithmetic does not cancel: only the third derivative is left, times h^2
            let (h, slope) = (rational("1e-25"), dot(&b[1..], &d));
            let value = |x: &[Tensor<Rational>]| outputs(p, x).map(|o| o[0].data()[0].clone());
            let rise = &value(&moved(&x, &h, &d))? - &value(&moved(&x, &-&h, &d))?;
            let quotient = rise.checked_div(&(&h + &h)).ok_or("h is not 0")?;
            let error = (&quotient - &slope).abs();
            let bound = &rational("1e-20") * &(&Rational::ONE + &slope.abs());
            ensure(error <= bound, || {
                format!("slope {}, differences give {} at {}", slope.to_f64(), quotient.to_f64(), shown(&x))
            })
        },
    );
    assert!(met.get() > 300, "only {} programs met no kink", met.get());
}

/// Central differences with one step of extrapolation.
fn quotient(p: &Program, x: &[Tensor<f64>], d: &[Tensor<f64>], output: usize) -> Result<Vec<f64>, String> {
    let at = |h: f64| -> Result<Vec<f64>, String> {
        let (up, down) = (outputs(p, &moved(x, &h, d))?, outputs(p, &moved(x, &-h, d))?);
        let pairs = doubles(&up[output..]).into_iter().zip(doubles(&down[output..]));
        Ok(pairs.map(|(a, b)| (a - b) / (2.0 * h)).collect())
    };
    let (coarse, fine) = (at(2e-4)?, at(1e-4)?);
    Ok(coarse.iter().zip(&fine).map(|(c, f)| f + (f - c) / 3.0).collect())
}

fn near(name: &str, a: f64, b: f64, size: f64, x: &[Tensor<f64>]) -> Verdict {
    ensure((a - b).abs() <= 1e-6 * (1.0 + a.abs() + size), || {
        format!("{name}: {a}, differences give {b} at {}", shown(x))
    })
}

#[test]
fn smooth_programs_are_near_their_difference_quotients() {
    check_programs(
        42,
        600,
        10,
        |rng, n| options(rng, Dictionary::Smooth, n),
        |p, rng| {
            let x = convert::<f64>(&dyadic_point(rng, p));
            let d: Vec<_> = convert::<f64>(&dyadic_point(rng, p)).iter().map(|t| t.map(|c| c / 4.0)).collect();
            let expected = quotient(p, &x, &d, 0)?[0];
            let size = outputs(p, &x)?[0].data()[0].abs();
            let how = How::default();
            for (name, g) in [("backprop", backprop(p, &how)), ("forprop", forprop(p, &how))] {
                let g = outputs(&g.map_err(|e| e.to_string())?, &x)?;
                near(name, dot(&g[1..], &d), expected, size, &x)?;
            }
            Ok(())
        },
    );
}

#[test]
fn hessians_are_near_difference_quotients_of_gradients() {
    check_programs(
        43,
        300,
        7,
        |rng, n| options(rng, Dictionary::Smooth, n).calls(0),
        |p, rng| {
            let x = convert::<f64>(&dyadic_point(rng, p));
            let d: Vec<_> = convert::<f64>(&dyadic_point(rng, p)).iter().map(|t| t.map(|c| c / 4.0)).collect();
            let g = gradient(p, &How::default()).map_err(|e| e.to_string())?;
            let expected = quotient(&g, &x, &d, 0)?;
            let size = doubles(&outputs(&g, &x)?).iter().fold(0.0, |m: f64, c| m.max(c.abs()));
            let h = outputs(&hessian(p, &How::default()).map_err(|e| e.to_string())?, &x)?;
            let n = p.inputs().len();
            let mut found = Vec::new();
            for (i, input) in p.inputs().iter().enumerate() {
                for r in 0..input.shape.len() {
                    let along = |j: usize| {
                        let k = d[j].data().len();
                        let row = &h[i * n + j].data()[r * k..][..k];
                        row.iter().zip(d[j].data()).map(|(a, b)| a * b).sum::<f64>()
                    };
                    found.push((0..n).map(along).sum::<f64>());
                }
            }
            found.iter().zip(&expected).try_for_each(|(a, b)| near("hessian", *a, *b, size, &x))
        },
    );
}
