//! Theorem 2: what differentiating a program costs by the model, and the constants omega_b and omega_f.

use super::{DiffError, How, Mode, Prepared};
use crate::cost::{Item, ItemKind, Price, Prices, Tally, count_equation};
use crate::flow::constants::{self, Known, Walk, Within, known};
use crate::flow::shielded::guarded;
use crate::number::Count;
use crate::number::Rational;
use crate::op::Op;
use crate::program::Program;
use crate::program::Site;

/// What Theorem 2 says about a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Overhead {
    /// The model cost of the derived program, by the formulas in the proof of the theorem.
    pub model: Price,
    /// omega: the bound on the overhead, at the given prices; nothing if an operation with derivative costs nothing.
    pub omega: Option<Rational>,
    /// The operation that attains it.
    pub attained: Option<Attained>,
}

/// Where a maximum is attained.
#[derive(Clone, Debug, PartialEq)]
pub struct Attained {
    /// The operation.
    pub item: String,
    /// Its equation, after expansion of the calls that are differentiated through.
    pub site: Site,
}

/// Evaluates Theorem 2 on a program: model cost and omega of [`backprop`](crate::differentiate::backprop) or
/// [`forprop`](crate::differentiate::forprop), differentiated as told.
///
/// ```
/// use crease_core::{cost::Prices, differentiate::{overhead, How, Mode}, relu, trace};
/// let p = trace(1, |x| relu(x[0]) - relu(-x[0])).unwrap();
/// let b = overhead(&p, &How::default(), Mode::Backward, &Prices::unit()).unwrap();
/// assert_eq!(b.model.at(&Prices::unit()).to_string(), "14");
/// assert_eq!(b.omega.unwrap().to_string(), "5");
/// ```
pub fn overhead(p: &Program, how: &How, mode: Mode, prices: &Prices) -> Result<Overhead, DiffError> {
    let dimension = Count::from(p.dimension());
    let mut prepared = Prepared::new(p, how)?;
    let program = prepared.program().clone();
    let mut out = Overhead { model: Price::default(), omega: Some(Rational::ZERO), attained: None };
    let mut walk = Walk::<()>::new(Within::new(&how.limits()));
    let mut constants = vec![Known::Nothing; program.inputs().len()];
    // the cost of combining the derivatives of one node that has `pr` predecessors
    let combine = |pr: usize| match mode {
        Mode::Backward => Price::ones(2 * pr),
        Mode::Forward => Price::ones(&dimension * &(pr + pr.saturating_sub(1)).into()),
    };
    let guarded = match mode {
        Mode::Backward => guarded(&program),
        Mode::Forward => vec![false; program.len()],
    };
    let one = Count::from(1);
    let note = |out: &mut Overhead, i: usize, name: String, g: Price, gd: Price, n: &Count| {
        out.model += gd.clone() * n;
        if g.at(prices).is_zero() && gd.at(prices).is_zero() {
            return;
        }
        let ratio = crate::cost::Ratio { above: gd, below: g }.at(prices);
        let better = match (&ratio, &out.omega) {
            (_, None) => false,
            (None, Some(_)) => true,
            (Some(a), Some(b)) => a > b,
        };
        if better {
            out.omega = ratio;
            out.attained = Some(Attained { item: name, site: Site::new(&program, i) });
        }
    };
    for (i, e) in program.equations().enumerate() {
        match e.op {
            Op::Call(_) | Op::Select(_) => {
                let conditions = e.op.callees().len() - 1;
                let args: Vec<Known> = e.args[conditions..].iter().map(|&a| known(&constants, a)).collect();
                let (g, gd) = prepared.costs(i, mode, &args)?;
                let open = e.args[conditions..].iter().zip(&args).filter(|(_, k)| **k != Known::All);
                let pr: usize = open.filter_map(|(a, _)| a.value()).map(|v| program.shape(v).len()).sum();
                let name = match e.op {
                    Op::Call(id) => program.callee(*id).program.name().to_string(),
                    _ => "select".into(),
                };
                let guards = if guarded[i] { Price::new(0, 0, 2) * pr } else { Price::default() };
                note(&mut out, i, name, g, gd + combine(pr) + guards, &one);
                constants.extend(match e.op {
                    Op::Call(id) => walk.outputs(&program.callee(*id).program, args)?.1,
                    _ => vec![Known::Nothing; e.results],
                });
            }
            Op::Scan(_) => {
                let args: Vec<Known> = e.args.iter().map(|&a| known(&constants, a)).collect();
                let (g, gd, results) = prepared.loop_costs(i, mode, &args, guarded[i])?;
                let open = e.args.iter().zip(&args).filter(|(_, k)| **k != Known::All);
                let pr: usize = open.filter_map(|(a, _)| a.value()).map(|v| program.shape(v).len()).sum();
                note(&mut out, i, e.op.name().into(), g, gd + combine(pr), &one);
                constants.extend(results);
            }
            _ => {
                let mut tally = Tally::default();
                let args: Vec<Known> = e.args.iter().map(|&a| known(&constants, a)).collect();
                count_equation(&program, &e, &args, &mut tally);
                // a tensor is differentiated as a whole: it counts as constant only if all of it is
                let mut whole = Tally::default();
                let coarse = |k: &Known| if *k == Known::All { Known::All } else { Known::Nothing };
                count_equation(&program, &e, &args.iter().map(coarse).collect::<Vec<_>>(), &mut whole);
                if tally == whole {
                    for (item, n) in tally.iter() {
                        let (g, gd) = item_costs(&item, mode, how, &combine, &dimension, guarded[i]);
                        note(&mut out, i, item.name(), g, gd, n);
                    }
                } else {
                    let gd = whole.iter().fold(Price::default(), |sum, (item, n)| {
                        sum + item_costs(&item, mode, how, &combine, &dimension, guarded[i]).1 * n
                    });
                    note(&mut out, i, e.op.to_string(), tally.price(), gd, &one);
                }
                constants.extend(constants::results(&program, &e, &args));
            }
        }
    }
    Ok(out)
}

fn item_costs(
    item: &Item,
    mode: Mode,
    how: &How,
    combine: &impl Fn(usize) -> Price,
    dimension: &Count,
    guarded: bool,
) -> (Price, Price) {
    let pr = item.predecessors() as usize;
    let g = item.price();
    if g == Price::default() {
        return (g.clone(), g); // moves only
    }
    let mut combined = match (item.kind, mode) {
        _ if pr == 0 => Price::default(),
        // one choice instead of two products and a sum
        (ItemKind::Where { .. }, Mode::Forward) => Price::new(0, 0, 1) * dimension,
        _ => combine(pr),
    };
    if guarded {
        combined += &(Price::new(0, 0, 2) * pr);
    }
    (g, item.joint_price(mode, &how.selection) + combined)
}
