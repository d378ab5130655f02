//! One selection gives one answer: backward, forward, along a direction, as a Jacobian, through calls or inside them.

use crate::support::{Verdict, check_programs, ensure, is_scalar, outputs, selections, shown};
use crease_core::differentiate::{How, Mode, Technique, backprop, forprop, hessian, jacobian, jvp, jvp_batch, vjp};
use crease_core::{Program, Rational, Tensor, kinks};
use crease_corpus::compare::{dot, flat};
use crease_corpus::random::{Dictionary, Options, Rng, any_options, generic_point, origin, tied_point};

type Point = Vec<Tensor<Rational>>;

fn points(p: &Program, rng: &mut Rng) -> Vec<Point> {
    vec![generic_point(rng, p), tied_point(rng, p), tied_point(rng, p), origin(p)]
}

fn exact(rng: &mut Rng, n: usize) -> Options {
    any_options(rng, n).exact()
}

fn same(name: &str, x: &Point, a: &[Tensor<Rational>], b: &[Tensor<Rational>]) -> Verdict {
    ensure(a == b, || format!("{name} at {}: {} and {}", shown(x), shown(a), shown(b)))
}

#[test]
fn backward_equals_forward_exactly_under_every_selection() {
    check_programs(
        30,
        700,
        12,
        |rng, n| exact(rng, n).one_output(),
        |p, rng| {
            for selection in selections() {
                let how = How::default().select(selection);
                let b = backprop(p, &how).map_err(|e| e.to_string())?;
                let f = forprop(p, &how).map_err(|e| e.to_string())?;
                for x in points(p, rng) {
                    let (b, f) = (outputs(&b, &x)?, outputs(&f, &x)?);
                    same(&format!("{}: backward and forward", how.selection), &x, &b, &f)?;
                    same("the value", &x, &b[..1], &outputs(p, &x)?)?;
                }
            }
            Ok(())
        },
    );
}

#[test]
fn joint_programs_of_their_own_serve_both_directions() {
    check_programs(
        35,
        200,
        8,
        |rng, n| exact(rng, n).one_output().calls(2).joints(),
        |p, rng| {
            let how = How::default();
            let b = backprop(p, &how).map_err(|e| e.to_string())?;
            let f = forprop(p, &how).map_err(|e| e.to_string())?;
            for x in points(p, rng) {
                same("backward and forward", &x, &outputs(&b, &x)?, &outputs(&f, &x)?)?;
            }
            Ok(())
        },
    );
}

#[test]
fn techniques_for_calls_give_the_same_gradient() {
    check_programs(
        31,
        400,
        8,
        |rng, n| exact(rng, n).one_output().calls(1 + n % 3),
        |p, rng| {
            let how = How::default().select(rng.pick(&selections()).clone());
            let of = |t| backprop(p, &how.clone().technique(t)).map_err(|e| e.to_string());
            let through = of(Technique::Through)?;
            for technique in [Technique::Backward, Technique::Forward] {
                let inside = of(technique)?;
                for x in points(p, rng) {
                    same(&format!("{technique:?} and through"), &x, &outputs(&inside, &x)?, &outputs(&through, &x)?)?;
                }
            }
            Ok(())
        },
    );
}

/// The program's inputs with tangents after them, or adjoints.
fn joined(x: &Point, seeds: &[Tensor<Rational>]) -> Point {
    x.iter().chain(seeds).cloned().collect()
}

#[test]
fn tangents_and_adjoints_are_transposes() {
    check_programs(
        32,
        800,
        10,
        |rng, n| exact(rng, n).outputs(1 + n % 3),
        |p, rng| {
            let how = How::default().select(rng.pick(&selections()).clone());
            let (j, v) = (jvp(p, &how).map_err(|e| e.to_string())?, vjp(p, &how).map_err(|e| e.to_string())?);
            let (n, m) = (p.inputs().len(), p.outputs().len());
            for x in points(p, rng) {
                let tangents = generic_point(rng, &j)[n..].to_vec();
                let adjoints = generic_point(rng, &v)[n..].to_vec();
                let forward = outputs(&j, &joined(&x, &tangents))?;
                let backward = outputs(&v, &joined(&x, &adjoints))?;
                same("values", &x, &forward[..m], &backward[..m])?;
                let (a, b) = (dot(&forward[m..], &adjoints), dot(&tangents, &backward[m..]));
                ensure(a == b, || format!("at {}: <v, J d> = {a}, <J' v, d> = {b}", shown(&x)))?;
            }
            Ok(())
        },
    );
}

#[test]
fn jacobians_agree_forward_backward_and_along_directions() {
    check_programs(
        33,
        500,
        10,
        |rng, n| exact(rng, n).outputs(1 + n % 3),
        |p, rng| {
            let how = How::default().select(rng.pick(&selections()).clone());
            let f = jacobian(p, &how, Mode::Forward).map_err(|e| e.to_string())?;
            let b = jacobian(p, &how, Mode::Backward).map_err(|e| e.to_string())?;
            let batch = jvp_batch(p, &how, 2).map_err(|e| e.to_string())?;
            let one = jvp(p, &how).map_err(|e| e.to_string())?;
            let (n, m) = (p.inputs().len(), p.outputs().len());
            for x in points(p, rng) {
                let (f, b) = (outputs(&f, &x)?, outputs(&b, &x)?);
                same("Jacobians", &x, &f, &b)?;
                let tangents = generic_point(rng, &one)[n..].to_vec();
                let along = flat(&outputs(&one, &joined(&x, &tangents))?[m..]);
                let mut product = Vec::new();
                for o in 0..m {
                    let rows = f[o].data().len();
                    for r in 0..rows {
                        let blocks = &f[m + o * n..m + (o + 1) * n];
                        let row: Vec<Rational> = blocks
                            .iter()
                            .flat_map(|t| t.data().chunks(t.data().len() / rows).nth(r).unwrap_or(&[]).to_vec())
                            .collect();
                        product.push(row.iter().zip(flat(&tangents)).map(|(a, b)| a * &b).sum::<Rational>());
                    }
                }
                ensure(product == along, || format!("J d = {product:?}, jvp gives {along:?} at {}", shown(&x)))?;
                // two directions at once: the tangents themselves, and twice them
                let two = |t: &Tensor<Rational>| {
                    let data: Vec<Rational> = t.data().iter().cloned().chain(t.data().iter().map(|c| c + c)).collect();
                    Tensor::new(t.shape().with_leading(2).expect("small"), data).expect("twice as many")
                };
                let twice: Vec<_> = tangents.iter().map(two).collect();
                let out = outputs(&batch, &joined(&x, &twice))?;
                let expected: Vec<_> = outputs(&one, &joined(&x, &tangents))?[m..].iter().map(two).collect();
                same("batches of directions", &x, &out[m..], &expected)?;
            }
            Ok(())
        },
    );
}

#[test]
fn hessians_are_symmetric_where_no_kink_is_met() {
    let options = |rng: &mut Rng, n: usize| {
        let dictionary = *rng.pick(&[Dictionary::Polynomial, Dictionary::Smooth, Dictionary::Everything]);
        let o = Options::new(dictionary).exact().equations(n).inputs(1 + n % 3);
        if rng.once_in(2) { o.tensors() } else { o }
    };
    check_programs(34, 400, 8, options, |p, rng| {
        let h = hessian(p, &How::default()).map_err(|e| e.to_string())?;
        assert!(is_scalar(p));
        let x = generic_point(rng, p);
        if !kinks(p, &x).map_err(|e| e.to_string())?.1.is_empty() {
            return Ok(());
        }
        let out = outputs(&h, &x)?;
        let sizes: Vec<usize> = p.inputs().iter().map(|i| i.shape.len()).collect();
        let n = sizes.len();
        for i in 0..n {
            for j in 0..n {
                let (a, b) = (out[i * n + j].data(), out[j * n + i].data());
                for r in 0..sizes[i] {
                    for c in 0..sizes[j] {
                        let (a, b) = (&a[r * sizes[j] + c], &b[c * sizes[i] + r]);
                        ensure(a == b, || {
                            format!("H[{i},{r}; {j},{c}] = {a} but its transpose is {b} at {}", shown(&x))
                        })?;
                    }
                }
            }
        }
        Ok(())
    });
}
