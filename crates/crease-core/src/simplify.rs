//! Simplifying: the same function over the real numbers, never dearer.
//!
//! Constants are folded exactly, neutral elements dropped (`x + 0`, `1 * x`, `0 * x`, `--x`), views of views merged, equal
//! equations shared, weights that nobody uses not computed, and what no output needs removed. It is never done behind your
//! back: every other transformation keeps the equations that it is given.
//!
//! In floating point a simplified program may round differently, and `0 * x` becomes 0 even where x is infinite.

use crate::builder::arithmetic::MAX_FOLDED_BITS;
use crate::builder::{BuildError, Builder};
use crate::flow::Made;
use crate::flow::activity::useful;
use crate::number::{Number, Rational};
use crate::op::{Op, Smooth};
use crate::program::{Atom, Program};
use crate::shape::{Layout, Shape};
use crate::views::{Views, definition};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A program that computes the same and costs at most as much.
///
/// ```
/// use crease_core::{simplify, trace};
/// let p = trace(2, |x| {
///     let unused = x[0] / x[1];
///     (x[0] + x[1]) * (x[0] + x[1]) * 1.0 + 0.0 * unused
/// }).unwrap();
/// assert_eq!(simplify(&p).unwrap().len(), 2);
/// ```
pub fn simplify(p: &Program) -> Result<Program, BuildError> {
    Ok(p.mapped(|q, made| Ok::<_, BuildError>((sweep(&rewrite(q, made)?)?, ())))?.0)
}

/// Folds and shares, from the first equation to the last.
fn rewrite(p: &Program, made: &Made) -> Result<Program, BuildError> {
    let mut b = Builder::new(p.name());
    let mut map = b.inputs_of(p)?;
    let mut seen: HashMap<u64, u32> = HashMap::new();
    let mut views = Views::default();
    let mut reads: HashMap<(Atom, Layout, Shape), Atom> = HashMap::new();
    for e in p.equations() {
        b.set_origin(e.origin());
        let args = b.translate_all(p, &map, e.args);
        let op = made.op(&mut b, p, e.op)?;
        if let Op::View { layout, shape } = op {
            // what is read twice in the same way is read once, so that what is computed from it can be shared
            let key = (args[0], layout, shape);
            let read = match reads.get(&key) {
                Some(&known) => known,
                None => views.read(&mut b, key.0, key.1.clone(), key.2.clone())?,
            };
            reads.insert(key, read);
            map.push(read);
            continue;
        }
        if let Some(atom) = shortcut(&mut b, &op, &args)? {
            map.push(atom);
            continue;
        }
        // a table of hashes alone keeps this small; where two equations collide, the later one is just not shared
        let slot = seen.entry(fingerprint(&op, &args)).or_insert(b.so_far().len() as u32);
        if (*slot as usize) < b.so_far().len() {
            let known = b.so_far().equation(*slot as usize);
            if *known.op == op && same_args(&op, known.args, &args) {
                map.extend(known.results().map(Atom::Value));
                continue;
            }
        }
        let results = b.push(op, &args)?;
        map.extend(results);
    }
    b.set_origin(None);
    let outputs = b.translate_all(p, &map, p.outputs());
    b.finish(&outputs)
}

/// A hash of an equation that does not see the order of the arguments where it does not matter.
fn fingerprint(op: &Op, args: &[Atom]) -> u64 {
    let mut hasher = DefaultHasher::new();
    op.hash(&mut hasher);
    match (op, args) {
        (Op::Add | Op::Mul, [x, y]) => (x.min(y), x.max(y)).hash(&mut hasher),
        _ => args.hash(&mut hasher),
    }
    hasher.finish()
}

fn same_args(op: &Op, known: &[Atom], args: &[Atom]) -> bool {
    known == args || matches!(op, Op::Add | Op::Mul) && known.iter().eq(args.iter().rev())
}

/// The result of an equation where no operation is needed for it.
fn shortcut(b: &mut Builder, op: &Op, args: &[Atom]) -> Result<Option<Atom>, BuildError> {
    let constant = |b: &Builder, i: usize| args.get(i).and_then(|&a| b.as_constant(a)).cloned();
    let (first, second) = (constant(b, 0), constant(b, 1));
    let is = |c: &Option<Rational>, test: fn(&Rational) -> bool| c.as_ref().is_some_and(test);
    let shape = |b: &Builder| args.iter().map(|&a| b.shape(a)).find(|s| !s.is_scalar()).unwrap_or_default();
    let all_constant = !args.is_empty() && args.iter().all(|&a| b.as_constant(a).is_some());
    if all_constant && let Some(folded) = fold(op, &first, &second) {
        return Ok(Some(b.constant(folded)));
    }
    Ok(match op {
        Op::Add if is(&first, Rational::is_zero) => Some(args[1]),
        Op::Add | Op::Sub if is(&second, Rational::is_zero) => Some(args[0]),
        Op::Sub if is(&first, Rational::is_zero) => Some(b.push1(Op::Neg, &args[1..])?),
        Op::Mul if is(&first, Rational::is_zero) || is(&second, Rational::is_zero) => Some(b.zeros(shape(b))?),
        Op::Mul if is(&first, Rational::is_one) => Some(args[1]),
        Op::Mul | Op::Div if is(&second, Rational::is_one) => Some(args[0]),
        Op::Smooth(Smooth::Power(1)) => Some(args[0]),
        Op::Smooth(Smooth::Power(0)) if shape(b).is_scalar() => Some(b.constant(1)),
        Op::Where if args[1] == args[2] && b.shape(args[1]) == shape(b) => Some(args[1]),
        Op::Where if is(&first, Rational::is_one) && b.shape(args[1]) == shape(b) => Some(args[1]),
        Op::Where if is(&first, Rational::is_zero) && b.shape(args[2]) == shape(b) => Some(args[2]),
        Op::Neg => match definition(b, args[0]) {
            Some((Op::Neg, inner)) => Some(inner[0]),
            _ => None,
        },
        Op::Assemble { shape, pieces } if pieces.len() == 1 && args[0].value().is_some() => {
            match pieces[0].inverse(shape.len()) {
                Some(back) => Some(b.view(args[0], back, shape.clone())?),
                None => None,
            }
        }
        _ => None,
    })
}

/// Exact results of operations on constants; none where the result is no rational number.
fn fold(op: &Op, a: &Option<Rational>, c: &Option<Rational>) -> Option<Rational> {
    let (a, c) = (a.as_ref()?, c.as_ref());
    if a.bits() + c.map_or(0, Rational::bits) > MAX_FOLDED_BITS {
        return None;
    }
    match op {
        Op::Add => Some(a + c?),
        Op::Sub => Some(a - c?),
        Op::Mul => Some(a * c?),
        Op::Div => a.checked_div(c?),
        Op::Neg => Some(-a),
        Op::Smooth(f) => a.smooth(*f).ok(),
        Op::Stair(s) => Some(s.at(a)),
        Op::Kink(kink) => kink.side(a, !a.is_negative()).ok()?.map(|(value, _)| value),
        _ => None,
    }
}

/// Removes what no output needs.
pub(crate) fn sweep(p: &Program) -> Result<Program, BuildError> {
    let live = useful(p);
    let mut b = Builder::new(p.name());
    let zero = b.constant(Rational::ZERO);
    let mut map = b.inputs_of(p)?;
    for e in p.equations() {
        if e.results().all(|v| !live[v.index()]) {
            map.extend(std::iter::repeat_n(zero, e.results));
            continue;
        }
        b.set_origin(e.origin());
        let args = b.translate_all(p, &map, e.args);
        match e.op.without_weights(e.results) {
            Some((op, values)) if e.results().skip(values).all(|v| !live[v.index()]) => {
                map.extend(b.push(op, &args)?);
                map.extend(std::iter::repeat_n(zero, e.results - values));
            }
            _ => map.extend(b.push_from(p, e.op, &args)?),
        }
    }
    b.set_origin(None);
    let outputs = b.translate_all(p, &map, p.outputs());
    b.finish(&outputs)
}
