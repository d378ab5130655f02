//! Borders of selections.
//!
//! A selection has no kink of its own, but where a comparison is between equal numbers it stands between two branches, and
//! what it returns there is a choice like that at any kink. So does a number that is taken for a truth value, where it is 0.

use crate::ties::Met;
use crease_core::op::Op;
use crease_core::{Arg, Arithmetic, Atom, Number, Observer, Program, RunError, Tensor, Value, run_with};
use std::collections::{HashMap, HashSet};

/// Runs a program and tells on which borders it stands.
pub fn find<N: Number>(p: &Program, inputs: &[Tensor<N>]) -> Result<Vec<Met>, RunError> {
    let library = p.library();
    let mut watch = Watch { numbers: HashMap::new(), met: Vec::new() };
    let mut compares = false;
    for q in library.iter().map(|q| &**q).chain([p]) {
        compares |= q.equations().any(|e| matches!(e.op, Op::Compare(_)));
        let numbers = numbers_as_truth(q);
        let (inputs_of, defined): (Vec<_>, Vec<_>) = numbers.into_iter().partition(|(v, _)| q.definition(*v).is_none());
        for (v, used) in inputs_of {
            // what a callee was called with is not seen from here
            let given = std::ptr::eq(q, p).then(|| inputs[v.index()].data()[0].compare(&N::zero()));
            match given {
                Some(Some(order)) if order.is_ne() => {}
                known => watch.met.push(met(q, used, "select", 1, known.flatten().is_some())),
            }
        }
        let equations: HashSet<usize> = defined.into_iter().filter_map(|(v, _)| q.definition(v)).collect();
        if !equations.is_empty() {
            watch.numbers.insert(std::ptr::from_ref(q), equations);
        }
    }
    if compares || !watch.numbers.is_empty() {
        run_with(p, inputs, Arithmetic::Checked, &mut watch)?;
    }
    Ok(watch.met)
}

/// The values that are used as truth values but may be any number, with the equation that uses each.
fn numbers_as_truth(p: &Program) -> Vec<(Value, usize)> {
    let mut out = Vec::new();
    for (i, e) in p.equations().enumerate() {
        let truths: &[Atom] = match e.op {
            Op::Select(branches) => &e.args[..branches.len() - 1],
            Op::Logic(_) => e.args,
            _ => continue,
        };
        let numbers = truths.iter().filter_map(|a| a.value()).filter(|v| !is_truth(p, *v));
        out.extend(numbers.map(|v| (v, i)));
    }
    out
}

/// Whether a value is 0 or 1 by its making.
fn is_truth(p: &Program, mut v: Value) -> bool {
    loop {
        let Some(i) = p.definition(v) else { return false };
        let e = p.equation(i);
        match (e.op, e.args) {
            (Op::Compare(_) | Op::Logic(_), _) => return true,
            (Op::View { .. }, [Atom::Value(source)]) => v = *source,
            _ => return false,
        }
    }
}

fn met(p: &Program, equation: usize, operation: &'static str, elements: usize, certain: bool) -> Met {
    Met {
        operation,
        program: p.name().into(),
        equation,
        place: p.equation(equation).place,
        shown: String::new(),
        elements,
        certain,
        border: true,
    }
}

struct Watch {
    /// The equations that make numbers which are used as truth values.
    numbers: HashMap<*const Program, HashSet<usize>>,
    met: Vec<Met>,
}

impl<N: Number> Observer<N> for Watch {
    fn step(&mut self, p: &Program, i: usize, args: &[Arg<'_, N>], results: &[Vec<N>]) {
        let e = p.equation(i);
        let zero = N::zero();
        let (operation, orders): (_, Vec<_>) = match e.op {
            Op::Compare(how) => {
                let orders = (0..results[0].len()).map(|k| args[0].get(k).compare(args[1].get(k)));
                (how.sign(), orders.collect())
            }
            _ if self.numbers.get(&std::ptr::from_ref(p)).is_some_and(|n| n.contains(&i)) => {
                ("select", results.iter().flatten().map(|x| x.compare(&zero)).collect())
            }
            _ => return,
        };
        let equal = orders.iter().filter(|o| o.is_some_and(|o| o.is_eq())).count();
        let open = orders.iter().filter(|o| o.is_none()).count();
        if equal + open > 0 {
            self.met.push(met(p, i, operation, equal + open, open == 0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crease_formats::parse_expression;

    fn borders(expression: &str, x: f64) -> usize {
        let p = parse_expression(expression, &|_| None).unwrap();
        find(&p, &[Tensor::scalar(x)]).unwrap().len()
    }

    #[test]
    fn comparisons_of_equals_are_borders() {
        assert_eq!(borders("select { x > 0 => x, else => 0 }", 0.0), 1);
        assert_eq!(borders("select { x > 0 => x, else => 0 }", 1.0), 0);
        assert_eq!(borders("x * (x >= 0)", 0.0), 1);
        assert_eq!(borders("relu(x)", 0.0), 0);
    }

    #[test]
    fn numbers_taken_for_truth_have_borders_too() {
        for expression in ["select { x => x, else => 2 * x }", "select { 3 * x => x, else => 2 * x }"] {
            assert_eq!((borders(expression, 0.0), borders(expression, 1.0)), (1, 0), "{expression}");
        }
    }
}
