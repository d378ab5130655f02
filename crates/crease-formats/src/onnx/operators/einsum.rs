//! `Einsum` of one or two arguments: sums, transposes and products, each letter an axis.
//!
//! Letters that only one argument has, and the result has not, are summed first. Of two arguments, letters of both and of the result stack matrices,
//! letters of both alone are multiplied and summed, and the others are rows and columns. Deliberately absent: the ellipsis, and diagonals.

use super::product::multiplied;
use crate::onnx::call::{Call, Results, one};
use crate::onnx::error::{Fault, cut, refuse};
use crease_core::Atom;

pub fn einsum(c: &mut Call<'_>) -> Results {
    let equation = c.word("equation", "")?;
    if equation.len() > 256 {
        return refuse("its equation is too long");
    }
    let plain: String = equation.chars().filter(|l| !l.is_whitespace()).collect();
    let (left, right) = match plain.split_once("->") {
        Some((left, right)) => (left.to_string(), Some(right.to_string())),
        None => (plain.clone(), None),
    };
    let terms: Vec<Vec<char>> = left.split(',').map(|t| t.chars().collect()).collect();
    // without a result, the letters that occur once, in the order of the alphabet
    let mut once: Vec<char> = left.chars().filter(|l| l.is_alphabetic() && left.matches(*l).count() == 1).collect();
    once.sort_unstable();
    let result: Vec<char> = right.map_or(once, |r| r.chars().collect());
    let letters = terms.iter().chain([&result]);
    let twice = |t: &[char]| t.iter().enumerate().any(|(i, l)| t[..i].contains(l));
    if letters.clone().flatten().any(|l| !l.is_ascii_alphabetic()) || letters.clone().any(|t| twice(t)) {
        return refuse(format!(
            "equation `{}` is not supported; letters are, each once in an argument, without an ellipsis",
            cut(&equation)
        ));
    }
    if terms.len() != c.args.len() || result.iter().any(|l| !terms.iter().any(|t| t.contains(l))) {
        return refuse(format!("equation `{}` does not fit {} arguments", cut(&equation), c.args.len()));
    }
    let mut parts = Vec::new();
    let mut sizes: Vec<(char, usize)> = Vec::new();
    for (i, term) in terms.iter().enumerate() {
        let x = c.real(i)?;
        let dims = c.shape(x);
        if dims.len() != term.len() {
            return refuse(format!("equation `{}` has {} letters for {dims:?}", cut(&equation), term.len()));
        }
        for (&l, &d) in term.iter().zip(&dims) {
            match sizes.iter().find(|(m, _)| *m == l) {
                Some((_, size)) if *size != d => return refuse(format!("`{l}` stands for sizes {size} and {d}")),
                Some(_) => {}
                None => sizes.push((l, d)),
            }
        }
        // what nobody else has
        let others = |l: &char| result.contains(l) || terms.iter().enumerate().any(|(j, t)| j != i && t.contains(l));
        let gone: Vec<usize> = (0..term.len()).filter(|&a| !others(&term[a])).collect();
        let kept: Vec<char> = term.iter().copied().filter(|l| others(l)).collect();
        parts.push((c.b.sum(x, &gone)?, kept));
    }
    let (y, order) = match &parts[..] {
        [(x, letters)] => (*x, letters.clone()),
        [a, b] => product(c, a, b, &result, &sizes)?,
        _ => return refuse("more than two arguments are not supported"),
    };
    let order = result.iter().filter_map(|l| order.iter().position(|o| o == l)).collect::<Vec<_>>();
    one(if order.is_empty() { y } else { c.b.transpose(y, &order)? })
}

type Term = (Atom, Vec<char>);

/// The product of two arguments, and the letters of its axes.
fn product(c: &mut Call<'_>, a: &Term, b: &Term, result: &[char], sizes: &[(char, usize)]) -> Result<Term, Fault> {
    let size = |l: &char| sizes.iter().find(|(m, _)| m == l).map_or(1, |(_, n)| *n);
    let both = |l: &&char| a.1.contains(l) && b.1.contains(l);
    let stack: Vec<char> = a.1.iter().filter(both).filter(|l| result.contains(l)).copied().collect();
    let summed: Vec<char> = a.1.iter().filter(both).filter(|l| !result.contains(l)).copied().collect();
    let rows: Vec<char> = a.1.iter().filter(|l| !b.1.contains(l)).copied().collect();
    let columns: Vec<char> = b.1.iter().filter(|l| !a.1.contains(l)).copied().collect();
    let product = |letters: &[char]| letters.iter().map(size).product::<usize>();
    let arrange = |c: &mut Call<'_>, (x, letters): &Term, parts: [&[char]; 3]| {
        let order: Vec<usize> = parts.concat().iter().filter_map(|l| letters.iter().position(|m| m == l)).collect();
        let moved = if order.is_empty() { *x } else { c.b.transpose(*x, &order)? };
        c.reshape(moved, &parts.map(product))
    };
    let left = arrange(c, a, [&stack, &rows, &summed])?;
    let right = arrange(c, b, [&stack, &summed, &columns])?;
    let y = multiplied(c, left, right, false, false)?;
    let letters = [stack, rows, columns].concat();
    let dims: Vec<usize> = letters.iter().map(size).collect();
    Ok((c.reshape(y, &dims)?, letters))
}
