//! `Einsum`: sums, transposes, diagonals and products, each letter an axis.
//!
//! An ellipsis stands for letters of its own, matched from the last axis; a letter that stands twice in an argument for its diagonal. Letters that only one argument has, and the result has not,
//! are summed first. Then arguments are multiplied from the left to the right: letters of both that are needed later stack matrices, letters of both alone are multiplied and
//! summed, and the others are rows and columns.

use super::product::multiplied;
use super::structure::strides;
use crate::onnx::call::{Call, Results, one};
use crate::onnx::error::{Fault, cut, refuse};
use crease_core::{Atom, Layout, Shape};

/// The letter of an axis of an ellipsis, counted from the last; none that an equation can have.
fn dots(from_last: usize) -> char {
    char::from_u32(0x2000 + from_last as u32).unwrap_or('.')
}

pub fn einsum(c: &mut Call<'_>) -> Results {
    let equation = c.word("equation", "")?;
    if equation.len() > 256 {
        return refuse("its equation is too long");
    }
    let plain: String = equation.chars().filter(|l| !l.is_whitespace()).collect();
    let (left, right) = match plain.split_once("->") {
        Some((left, right)) => (left, Some(right)),
        None => (&plain[..], None),
    };
    let odd = || refuse(format!("equation `{}` is not supported; letters and an ellipsis are", cut(&equation)));
    let terms: Vec<&str> = left.split(',').collect();
    if terms.len() != c.args.len() {
        return refuse(format!("equation `{}` does not fit {} arguments", cut(&equation), c.args.len()));
    }
    let mut parts: Vec<Term> = Vec::new();
    let mut most = 0;
    for (i, term) in terms.iter().enumerate() {
        let x = c.real(i)?;
        let rank = c.shape(x).len();
        let Some(letters) = letters(term, rank) else { return odd() };
        if letters.len() != rank {
            return refuse(format!("equation `{}` has {} letters for {:?}", cut(&equation), letters.len(), c.shape(x)));
        }
        most = most.max(letters.iter().filter(|l| !l.is_ascii()).count());
        parts.push((x, letters));
    }
    let ellipsis: Vec<char> = (0..most).rev().map(dots).collect();
    let result: Vec<char> = match right {
        // without a result: the ellipsis, then the letters that occur once, in the order of the alphabet
        None => {
            let mut once: Vec<char> =
                left.chars().filter(|l| l.is_ascii_alphabetic() && left.matches(*l).count() == 1).collect();
            once.sort_unstable();
            [ellipsis, once].concat()
        }
        Some(right) => {
            let written = right.chars().filter(|l| l.is_ascii_alphabetic()).count();
            let open = if right.contains("...") { most } else { 0 };
            match letters(right, written + open) {
                Some(letters) => letters,
                None => return odd(),
            }
        }
    };
    let twice = result.iter().enumerate().any(|(i, l)| result[..i].contains(l));
    if twice || result.iter().any(|l| !parts.iter().any(|(_, t)| t.contains(l))) {
        return refuse(format!("equation `{}` has a result that its arguments do not give", cut(&equation)));
    }
    let mut sizes: Vec<(char, usize)> = Vec::new();
    for (x, letters) in &mut parts {
        *x = diagonal(c, *x, letters)?;
        for (&l, &d) in letters.iter().zip(&c.shape(*x)) {
            match sizes.iter_mut().find(|(m, _)| *m == l) {
                Some((_, size)) if *size == d => {}
                // axes of an ellipsis spread
                Some((_, size)) if !l.is_ascii() && (*size == 1 || d == 1) => *size = d.max(*size),
                Some((_, size)) => return refuse(format!("`{l}` stands for sizes {size} and {d}")),
                None => sizes.push((l, d)),
            }
        }
    }
    let size = |l: &char| sizes.iter().find(|(m, _)| m == l).map_or(1, |(_, n)| *n);
    for (x, letters) in &mut parts {
        // an axis that spreads is left out, for the others have it
        let dims = c.shape(*x);
        let stays = |i: &usize| dims[*i] == size(&letters[*i]);
        let kept: Vec<usize> = (0..dims.len()).filter(stays).collect();
        if kept.len() < dims.len() {
            *x = c.reshape(*x, &kept.iter().map(|&i| dims[i]).collect::<Vec<_>>())?;
            *letters = kept.iter().map(|&i| letters[i]).collect();
        }
    }
    for i in 0..parts.len() {
        let others = |l: &char| result.contains(l) || (0..parts.len()).any(|j| j != i && parts[j].1.contains(l));
        let letters = parts[i].1.clone();
        let gone: Vec<usize> = (0..letters.len()).filter(|&a| !others(&letters[a])).collect();
        let kept: Vec<char> = letters.iter().copied().filter(|l| others(l)).collect();
        parts[i] = (c.b.sum(parts[i].0, &gone)?, kept);
    }
    let mut rest = parts.into_iter();
    let Some(mut all) = rest.next() else { return odd() };
    while let Some(next) = rest.next() {
        let needed: Vec<char> = rest.as_slice().iter().flat_map(|(_, t)| t).chain(&result).copied().collect();
        all = product(c, &all, &next, &needed, &sizes)?;
    }
    let (y, have) = all;
    let order = result.iter().filter_map(|l| have.iter().position(|o| o == l)).collect::<Vec<_>>();
    one(if order.is_empty() { y } else { c.b.transpose(y, &order)? })
}

type Term = (Atom, Vec<char>);

/// The letters of an argument of so many axes, those of an ellipsis among them.
fn letters(term: &str, rank: usize) -> Option<Vec<char>> {
    let (before, after) = match term.split_once("...") {
        Some((before, after)) => (before, Some(after)),
        None => (term, None),
    };
    let plain = |t: &str| t.chars().all(|l| l.is_ascii_alphabetic());
    if !plain(before) || !after.is_none_or(plain) {
        return None;
    }
    let Some(after) = after else { return Some(before.chars().collect()) };
    let open = rank.checked_sub(before.len() + after.len())?;
    Some(before.chars().chain((0..open).rev().map(dots)).chain(after.chars()).collect())
}

/// The diagonal along axes that have the same letter, which then stands once.
fn diagonal(c: &mut Call<'_>, x: Atom, letters: &mut Vec<char>) -> Result<Atom, Fault> {
    let mut once: Vec<char> = Vec::new();
    letters.iter().for_each(|l| {
        if !once.contains(l) {
            once.push(*l)
        }
    });
    if once.len() == letters.len() {
        return Ok(x);
    }
    let dims = c.shape(x);
    let steps = strides(&dims);
    let mut loops = Vec::new();
    for l in &once {
        let axes: Vec<usize> = (0..dims.len()).filter(|&i| letters[i] == *l).collect();
        if axes.iter().any(|&i| dims[i] != dims[axes[0]]) {
            return refuse(format!("`{l}` stands for axes of different sizes in {dims:?}"));
        }
        loops.push((dims[axes[0]], axes.iter().map(|&i| steps[i]).sum::<isize>()));
    }
    let to: Vec<usize> = loops.iter().map(|l| l.0).collect();
    *letters = once;
    Ok(c.b.view(x, Layout::strided(0, &loops), Shape::new(to)?)?)
}

/// The product of two arguments, and the letters of its axes.
fn product(c: &mut Call<'_>, a: &Term, b: &Term, needed: &[char], sizes: &[(char, usize)]) -> Result<Term, Fault> {
    let size = |l: &char| sizes.iter().find(|(m, _)| m == l).map_or(1, |(_, n)| *n);
    let both = |l: &&char| a.1.contains(l) && b.1.contains(l);
    let stack: Vec<char> = a.1.iter().filter(both).filter(|l| needed.contains(l)).copied().collect();
    let summed: Vec<char> = a.1.iter().filter(both).filter(|l| !needed.contains(l)).copied().collect();
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
