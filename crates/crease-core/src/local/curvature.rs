//! Whether values are piecewise affine in the inputs, near any point: what decides if the model tells all limits of gradients.
//!
//! The model is of first order. If the arguments of all active kinks are piecewise affine, the branches that are taken near the point are
//! those that the model takes along directions. Otherwise there may be more: `abs(y - x^2) - abs(y)` has the directional derivative
//! 0 at 0, but between the axis and the parabola its gradient is near (0, -2).

use crate::op::{Kink, Op};
use crate::program::{Atom, Equation, Program};

/// How deep selections are looked into.
const DEPTH: usize = 64;

/// How a value depends on the inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    Constant,
    /// Piecewise affine.
    Affine,
    Curved,
}

/// The class of each value of a scalar program so far, by number.
pub(super) fn of_atom(classes: &[Class], a: Atom) -> Class {
    a.value().map_or(Class::Constant, |v| classes[v.index()])
}

/// The class of the results of an equation, and whether a kink in it may have an argument that is curved.
pub(super) fn of_equation(q: &Program, e: &Equation<'_>, args: &[Class], depth: usize) -> (Class, bool) {
    use Class::{Affine, Constant, Curved};
    let largest = args.iter().copied().max().unwrap_or(Constant);
    let smooth = |c: Class| if c == Constant { Constant } else { Curved };
    let product = |a: Class, b: Class| if a == Affine && b == Affine { Curved } else { a.max(b) };
    let class = match e.op {
        Op::Mul => product(args[0], args[1]),
        Op::Div if args[1] == Constant => args[0],
        Op::Div => Curved,
        Op::Power(0) => Constant,
        Op::Power(1) => args[0],
        Op::Inv | Op::Exp | Op::Log | Op::Sqrt | Op::Sin | Op::Cos | Op::Tanh | Op::Sigmoid | Op::Power(_) => {
            smooth(args[0])
        }
        Op::LogSumExp(_) | Op::LogSumExpJoint(_) | Op::Joint(..) | Op::MatMul { .. } => smooth(largest),
        Op::Kink(Kink::Elu(_)) => smooth(args[0]),
        Op::Kink(Kink::TimesRelu) => product(args[0], args[1]),
        Op::Kink(Kink::MaxLinear { rows, .. }) => {
            let columns = args.len() / (rows + 1);
            let (a, x) = args.split_at(rows * columns);
            let of = |part: &[Class]| part.iter().copied().max().unwrap_or(Constant);
            let forms = product(of(a), of(x));
            return (forms, forms == Curved);
        }
        Op::Call(_) => Curved,
        Op::Select(_) if depth >= DEPTH => Curved,
        Op::Select(ids) => {
            let inner: Vec<Class> = args[ids.len() - 1..].to_vec();
            let mut curved = largest == Curved;
            let mut class = largest;
            for id in ids.iter() {
                let (results, bent) = of_program(&q.callee(*id).program, inner.clone(), depth + 1);
                curved |= bent || results == Curved;
                class = class.max(results);
            }
            return (class, curved);
        }
        _ => largest,
    };
    // the argument of a kink, not its result, has to be affine
    (class, largest == Curved)
}

/// The largest class of the outputs of a scalar program, and whether a kink in it may have a curved argument.
fn of_program(q: &Program, mut classes: Vec<Class>, depth: usize) -> (Class, bool) {
    let mut bent = false;
    for e in q.equations() {
        let args: Vec<Class> = e.args.iter().map(|&a| of_atom(&classes, a)).collect();
        let (class, curved) = of_equation(q, &e, &args, depth);
        bent |= curved;
        classes.extend(e.results().map(|_| class));
    }
    (q.outputs().iter().map(|&o| of_atom(&classes, o)).max().unwrap_or(Class::Constant), bent)
}
