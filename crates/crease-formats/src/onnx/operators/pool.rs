//! Pooling: the largest number or the mean of each window. Padding never wins, and counts only where `count_include_pad` says so.

use super::window::{Stretch, numbers, step, stretches, windows};
use crate::onnx::call::{Call, Results, one};
use crate::onnx::error::{Fault, refuse};
use crease_core::{Atom, Kink, Lane, Layout, Op, Rational, Shape};

/// The most parts that pooling is put together from.
const PARTS: usize = 1 << 14;

/// What pooling makes of windows: an atom whose last axis holds what a window sees, and how many that are with padding.
type Pool = fn(&mut Call<'_>, Atom, usize, usize) -> Result<Atom, Fault>;

fn largest(c: &mut Call<'_>, windows: Atom, _seen: usize, _padded: usize) -> Result<Atom, Fault> {
    Ok(c.b.push1(Op::Kink(Kink::Max(Lane::Axis)), &[windows])?)
}

fn mean_of_seen(c: &mut Call<'_>, windows: Atom, seen: usize, _padded: usize) -> Result<Atom, Fault> {
    shared(c, windows, seen)
}

fn mean_of_all(c: &mut Call<'_>, windows: Atom, _seen: usize, padded: usize) -> Result<Atom, Fault> {
    shared(c, windows, padded)
}

/// The sum along the last axis, divided by n.
fn shared(c: &mut Call<'_>, windows: Atom, n: usize) -> Result<Atom, Fault> {
    let last = c.shape(windows).len() - 1;
    let total = c.b.sum(windows, &[last])?;
    let share = c.b.constant(Rational::new(1, n as i64).unwrap_or(Rational::ONE));
    if n == 1 { Ok(total) } else { c.apply(Op::Mul, &[total, share]) }
}

fn pooled(c: &mut Call<'_>, pool: Pool) -> Results {
    let x = c.real(0)?;
    let dims = c.shape(x);
    let Some(axes) = dims.len().checked_sub(2).filter(|&n| n > 0) else {
        return refuse(format!("it takes images [N, C, ...], not {dims:?}"));
    };
    if !c.has("kernel_shape") {
        return refuse("it has no kernel_shape");
    }
    let size = numbers(c, "kernel_shape", axes, 1, 1)?;
    let along = windows(c, &dims[2..], &size)?;
    let to: Vec<usize> = dims[..2].iter().copied().chain(along.iter().map(|a| a.positions)).collect();
    let shape = Shape::new(to.clone())?;
    // positions of the window that see equally many elements along each axis go together
    c.budget.spend(along.iter().map(|a| a.positions).sum())?;
    let cut = along.iter().map(stretches).collect::<Result<Vec<_>, _>>()?;
    let parts = cut.iter().map(Vec::len).fold(1usize, usize::saturating_mul);
    if parts > PARTS {
        return refuse("its windows are cut by the border in too many ways");
    }
    c.budget.spend(64 * parts)?;
    let (from, into) = (super::structure::strides(&dims), super::structure::strides(&to));
    let planes = dims[0] * dims[1];
    let mut parts: Vec<(Atom, Layout)> = Vec::new();
    let mut choice = vec![0usize; axes];
    loop {
        let chosen: Vec<Stretch> = choice.iter().zip(&cut).map(|(&i, s)| s[i]).collect();
        let mut loops = vec![(planes, from[1])];
        let mut places = vec![(planes, into[1])];
        let (mut offset, mut place) = (0, 0);
        for (i, s) in chosen.iter().enumerate() {
            loops.push((s.count, step(along[i].stride, s.count) * from[i + 2]));
            places.push((s.count, into[i + 2]));
            offset += s.from * from[i + 2] as usize;
            place += s.first * into[i + 2] as usize;
        }
        loops.extend(chosen.iter().enumerate().map(|(i, s)| (s.seen, step(along[i].dilation, s.seen) * from[i + 2])));
        let product = |f: fn(&Stretch) -> usize| chosen.iter().map(f).fold(1, usize::saturating_mul);
        let (seen, padded) = (product(|s| s.seen), product(|s| s.padded));
        let windows = Shape::new([planes, product(|s| s.count), seen])?;
        let windows = c.b.view(x, Layout::strided(offset, &loops), windows)?;
        let values = pool(c, windows, seen, padded)?;
        parts.push((values, Layout::strided(place, &places)));
        // the next choice, as digits count
        let Some(i) = (0..axes).rev().find(|&i| choice[i] + 1 < cut[i].len()) else { break };
        choice[i] += 1;
        choice[i + 1..].fill(0);
    }
    one(match parts[..] {
        [(all, _)] => c.b.reshape(all, &shape)?,
        _ => c.b.assemble(shape, parts)?,
    })
}

pub fn max(c: &mut Call<'_>) -> Results {
    c.int("storage_order", 0)?;
    pooled(c, largest)
}

pub fn average(c: &mut Call<'_>) -> Results {
    let all = c.flag("count_include_pad", false)?;
    pooled(c, if all { mean_of_all } else { mean_of_seen })
}

/// All axes after the first two, which stay with size 1.
fn global(c: &mut Call<'_>, f: impl Fn(&mut Call<'_>, Atom, &[usize]) -> Result<Atom, Fault>) -> Results {
    let x = c.real(0)?;
    let dims = c.shape(x);
    if dims.len() < 3 {
        return refuse(format!("it takes images [N, C, ...], not {dims:?}"));
    }
    let axes: Vec<usize> = (2..dims.len()).collect();
    let y = f(c, x, &axes)?;
    let mut to = vec![1; dims.len()];
    to[..2].copy_from_slice(&dims[..2]);
    one(c.reshape(y, &to)?)
}

pub fn global_max(c: &mut Call<'_>) -> Results {
    global(c, |c, x, axes| c.lane(Op::Kink(Kink::Max(Lane::Axis)), x, axes))
}

pub fn global_average(c: &mut Call<'_>) -> Results {
    global(c, |c, x, axes| Ok(c.b.mean(x, axes)?))
}
