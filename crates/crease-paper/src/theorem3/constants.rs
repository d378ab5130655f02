//! The lemma on constant complexity: a program with ReLU and ReLU' as a polynomial one, by constants. Appendix, with Theorem 3.
//!
//! On an open set, every ReLU' of a program is a constant 0 or 1, and every ReLU is a multiplication by such a constant.
//! A scalar program of level 1 enters with a point of that set; [`fix_relu_derivatives`] replaces the ReLU', which costs no more,
//! and [`replace_relus`] the ReLU, which costs exactly the same where ReLU costs what a multiplication by a constant costs. The
//! new program agrees with the old one near the point. If the old one is a polynomial there, the new one is that polynomial
//! everywhere; this module does not check that, [`prove`](super::prove) does.
//!
//! Deliberately absent: a decision whether a ReLU whose argument is 0 at the point is 0 around it. The convention
//! of the lemma, ReLU'(0) = 0, is used, and [`on_kinks`] counts them, so that one may look for another point.

use crease::Error;
use crease_core::op::{Kink, Op};
use crease_core::{Arg, Arithmetic, Atom, Builder, Equation, Observer, Program, Rational, Tensor, run_with};

/// What one run met at each ReLU and ReLU'.
struct Slopes {
    /// for each equation that is one: ReLU' there
    slopes: Vec<Option<Rational>>,
    /// how many have the argument 0
    zeros: usize,
}

impl Observer<Rational> for Slopes {
    fn step(&mut self, p: &Program, i: usize, args: &[Arg<'_, Rational>], results: &[Vec<Rational>]) {
        let argument = || args[0].get(0);
        let slope = match p.equation(i).op {
            Op::Kink(Kink::Relu) => Some(Rational::from(i64::from(argument().is_positive()))),
            Op::Joint(Kink::Relu, _) => Some(results[1][0].clone()),
            _ => None,
        };
        if slope.is_some() {
            self.zeros += usize::from(argument().is_zero());
        }
        self.slopes[i] = slope;
    }
}

fn slopes(p: &Program, at: &[Tensor<Rational>]) -> Result<Slopes, Error> {
    let mut seen = Slopes { slopes: vec![None; p.len()], zeros: 0 };
    run_with(p, at, Arithmetic::Checked, &mut seen)?;
    Ok(seen)
}

/// How many ReLU and ReLU' of a scalar program of level 1 have the argument 0 at a point.
///
/// ```
/// use crease::{relu, trace, Rational, Tensor};
/// use crease_paper::theorem3::on_kinks;
/// let p = trace(2, |x| relu(x[0]) + relu(x[0] + x[1]))?;
/// let at = |x: i64, y: i64| [Tensor::scalar(Rational::from(x)), Tensor::scalar(Rational::from(y))];
/// assert_eq!((on_kinks(&p, &at(2, -2))?, on_kinks(&p, &at(2, 1))?), (1, 0));
/// # Ok::<(), crease::Error>(())
/// ```
pub fn on_kinks(p: &Program, at: &[Tensor<Rational>]) -> Result<usize, Error> {
    Ok(slopes(p, at)?.zeros)
}

/// The same program with every ReLU' replaced by the constant that it is around a point: P_1 of P_0 in the proof. A ReLU whose
/// value is used stays; the program must be scalar and of level 1.
///
/// ```
/// use crease::{backprop, cost::tally, relu, trace, How, Rational, Tensor};
/// use crease_paper::theorem3::fix_relu_derivatives;
/// let d = backprop(&trace(2, |x| x[0] * relu(x[1]))?, &How::default())?;
/// let at = [3, 5].map(|x| Tensor::scalar(Rational::from(x)));
/// assert_eq!(tally(&d).to_string(), "2 *, 1 relu'");
/// // x0 ReLU'(x1) becomes x0 times 1
/// assert_eq!(tally(&fix_relu_derivatives(&d, &at)?).to_string(), "1 *, 1 *c, 1 relu");
/// # Ok::<(), crease::Error>(())
/// ```
pub fn fix_relu_derivatives(p: &Program, at: &[Tensor<Rational>]) -> Result<Program, Error> {
    let slopes = slopes(p, at)?.slopes;
    let mut used = vec![false; p.values()];
    let arguments = p.equations().flat_map(|e| e.args.iter().copied()).chain(p.outputs().iter().copied());
    arguments.filter_map(Atom::value).for_each(|v| used[v.index()] = true);
    rewrite(p, |b, i, e, args| match (e.op, &slopes[i]) {
        (Op::Joint(Kink::Relu, _), Some(slope)) => {
            let slope = b.constant(slope.clone());
            let value = if used[e.first.index()] { b.push1(Op::Kink(Kink::Relu), args)? } else { slope };
            Ok(Some(vec![value, slope]))
        }
        _ => Ok(None),
    })
}

/// The same program with every ReLU replaced by a multiplication by 0 or 1, whichever it is around a point: P_2 of P_1 in the
/// proof, by the lemma on constant complexity. The program must be scalar and of level 1.
///
/// ```
/// use crease::{cost::{cost, Prices}, relu, trace, Rational, Tensor};
/// use crease_paper::theorem3::replace_relus;
/// let p = trace(1, |x| relu(x[0]) + relu(x[0] * -1.0))?; // |x|
/// let q = replace_relus(&p, &[Tensor::scalar(Rational::from(-2))])?;
/// let text = "program f(x0) {\n  let v1 = x0 * 0\n  let v2 = x0 * -1\n  let v3 = v2 * 1\n  let v4 = v1 + v3\n  return v4\n}\n";
/// assert_eq!(q.to_string(), text); // -x, for every x
/// assert_eq!(cost(&p).at(&Prices::unit()), cost(&q).at(&Prices::unit()));
/// # Ok::<(), crease::Error>(())
/// ```
pub fn replace_relus(p: &Program, at: &[Tensor<Rational>]) -> Result<Program, Error> {
    let slopes = slopes(p, at)?.slopes;
    rewrite(p, |b, i, e, args| match (e.op, &slopes[i]) {
        (Op::Kink(Kink::Relu), Some(slope)) => {
            let slope = b.constant(slope.clone());
            Ok(Some(vec![b.push1(Op::Mul, &[args[0], slope])?]))
        }
        _ => Ok(None),
    })
}

/// Copies a program that calls nothing, but for the equations for which `change` has other results.
fn rewrite(
    p: &Program,
    mut change: impl FnMut(&mut Builder, usize, &Equation<'_>, &[Atom]) -> Result<Option<Vec<Atom>>, Error>,
) -> Result<Program, Error> {
    let mut b = Builder::new(p.name());
    let mut map = Vec::with_capacity(p.values());
    for input in p.inputs() {
        map.push(b.input(input.name.clone(), input.shape.clone())?);
    }
    let translate = |b: &mut Builder, map: &[Atom], atoms: &[Atom]| -> Vec<Atom> {
        let one = |a: &Atom| match (a.value(), p.as_constant(*a)) {
            (None, Some(c)) => b.constant(c.clone()),
            (v, _) => v.map_or(*a, |v| map[v.index()]),
        };
        atoms.iter().map(one).collect()
    };
    for (i, e) in p.equations().enumerate() {
        let args = translate(&mut b, &map, e.args);
        let results = match change(&mut b, i, &e, &args)? {
            Some(results) => results,
            None => b.push(e.op.clone(), &args)?,
        };
        map.extend(results);
    }
    let outputs = translate(&mut b, &map, p.outputs());
    Ok(b.finish(&outputs)?)
}
