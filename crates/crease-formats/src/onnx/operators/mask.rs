//! Masks: constant choices of elements, and minus infinity in front of a softmax.
//!
//! No real number is minus infinity, but `exp` of it is 0. So a value of which some elements are minus infinity is kept as numbers and the set of those elements, through
//! sums and whatever moves numbers about, until a softmax or a logarithm of a sum of exponentials takes it: there the masked elements are left out, exactly. Anything else that would
//! compute with them is refused, and so is a group of which all are masked.

use super::structure::{reordered, spread};
use crate::onnx::call::{Call, Results, known, one, together};
use crate::onnx::error::{Fault, refuse};
use crate::onnx::values::{Data, Known, Masked, Value, count, place};
use crease_core::{Atom, Lane, Layout, Op, Shape, Smooth};
use std::sync::Arc;

/// Where a value is minus infinity, and the rest of it, with zeros there.
fn apart(v: Value) -> (Value, Option<Arc<[bool]>>) {
    match v {
        Value::Masked(m) => (Value::Real(m.numbers), Some(m.gone)),
        Value::Known(Known { dims, data: Data::Float(d) }) if d.contains(&f64::NEG_INFINITY) => {
            let gone: Arc<[bool]> = d.iter().map(|&x| x == f64::NEG_INFINITY).collect();
            let rest = d.iter().map(|&x| if x == f64::NEG_INFINITY { 0.0 } else { x }).collect();
            (Value::Known(Known::floats(dims, rest)), Some(gone))
        }
        v => (v, None),
    }
}

/// Whether some element of a value is minus infinity.
pub fn is_masked(v: &Value) -> bool {
    match v {
        Value::Masked(_) => true,
        Value::Known(Known { data: Data::Float(d), .. }) => d.contains(&f64::NEG_INFINITY),
        _ => false,
    }
}

/// Truth values spread over a larger shape; none hold if there are none.
fn holding(c: &mut Call<'_>, gone: Option<Arc<[bool]>>, dims: &[usize], to: &[usize]) -> Result<Vec<bool>, Fault> {
    let n = count(to)?;
    let Some(gone) = gone else {
        c.budget.spend(n)?;
        return Ok(vec![false; n]);
    };
    match spread(c, &Value::Known(Known { dims: dims.to_vec(), data: Data::Bool(gone) }), to)? {
        Value::Known(Known { data: Data::Bool(d), .. }) => Ok(d.to_vec()),
        _ => refuse("a mask is no truth values"),
    }
}

/// Numbers of which some may be minus infinity.
fn masked(numbers: Atom, dims: Vec<usize>, gone: Vec<bool>) -> Value {
    match gone.contains(&true) {
        true => Value::Masked(Masked { numbers, dims, gone: gone.into() }),
        false => Value::Real(numbers),
    }
}

/// The sum of two values; it is minus infinity where one of them is.
pub fn sum(c: &mut Call<'_>, a: Value, b: Value) -> Result<Value, Fault> {
    let (da, db) = (a.dims(c.b), b.dims(c.b));
    let dims = together(&da, &db)?;
    let ((a, gone_a), (b, gone_b)) = (apart(a), apart(b));
    let (gone_a, gone_b) = (holding(c, gone_a, &da, &dims)?, holding(c, gone_b, &db, &dims)?);
    let (a, b) = (spread(c, &a, &dims)?, spread(c, &b, &dims)?);
    let (a, b) = (c.atom(&a)?, c.atom(&b)?);
    let numbers = c.apply(Op::Add, &[a, b])?;
    Ok(masked(numbers, dims, gone_a.iter().zip(&gone_b).map(|(a, b)| a | b).collect()))
}

/// The elements of one value where a constant condition holds, those of the other elsewhere.
pub fn choice(c: &mut Call<'_>, holds: &Known, a: Value, b: Value) -> Result<Value, Fault> {
    let (da, db) = (a.dims(c.b), b.dims(c.b));
    let dims = together(&together(&holds.dims, &da)?, &db)?;
    let n = count(&dims)?;
    let Data::Bool(d) = &holds.data else { return refuse("its condition must be truth values") };
    let holds = holding(c, Some(d.clone()), &holds.dims, &dims)?;
    let ((a, gone_a), (b, gone_b)) = (apart(a), apart(b));
    let (gone_a, gone_b) = (holding(c, gone_a, &da, &dims)?, holding(c, gone_b, &db, &dims)?);
    c.budget.spend(2 * n)?;
    let mut pieces = Vec::new();
    for (value, side) in [(&a, true), (&b, false)] {
        let places: Vec<u32> = (0..n).filter(|&i| holds[i] == side).map(|i| i as u32).collect();
        if places.is_empty() {
            continue;
        }
        let whole = spread(c, value, &dims)?;
        let places = Layout::table(places);
        let part = c.moved(&whole, places.clone(), vec![places.len()])?;
        let part = match &part {
            Value::Known(k) => Value::Known(k.numbers().unwrap_or_else(|| k.clone())),
            _ => part,
        };
        pieces.push((c.atom(&part)?, places));
    }
    let numbers = c.b.assemble(Shape::new(dims.clone())?, pieces)?;
    let gone = (0..n).map(|i| if holds[i] { gone_a[i] } else { gone_b[i] }).collect();
    Ok(masked(numbers, dims, gone))
}

/// The triangle on and above a diagonal, or on and below it; zeros elsewhere.
pub fn trilu(c: &mut Call<'_>) -> Results {
    let upper = c.flag("upper", true)?;
    let x = c.need(0)?;
    let dims = x.dims(c.b);
    let [.., rows, columns] = dims[..] else { return refuse(format!("it takes matrices, not {dims:?}")) };
    let diagonal = match c.fixed_ints(1, "diagonal")?.as_deref() {
        None => 0,
        Some(&[k]) => k,
        Some(_) => return refuse("its diagonal must be one integer"),
    };
    let n = count(&dims)?;
    c.budget.spend(n)?;
    let kept = |i: usize| {
        let (row, column) = ((i / columns % rows) as i64, (i % columns) as i64);
        let over = (column - row).cmp(&diagonal);
        if upper { over.is_ge() } else { over.is_le() }
    };
    let keep = Known::bools(dims.clone(), (0..n).map(kept).collect());
    if let Value::Known(k) = &x {
        let zero = match k.data {
            Data::Float(_) => Known::floats(vec![1], vec![0.0]),
            Data::Int(_) => Known::ints(vec![1], vec![0]),
            Data::Bool(_) => Known::bools(vec![1], vec![false]),
        };
        c.budget.spend(2 * n)?;
        let Some(both) = Known::join(&[k.clone(), zero], vec![n + 1]) else { return refuse("it has no numbers") };
        return known(both.pick(dims, (0..n).map(|i| if kept(i) { i } else { n })));
    }
    let zero = Value::Known(Known::floats(vec![], vec![0.0]));
    Ok(vec![choice(c, &keep, x, zero)?])
}

/// Truth values about constants; a number that is computed is a number.
fn about(c: &mut Call<'_>, holds: impl Fn(f64) -> bool, at_infinity: bool) -> Results {
    let x = c.need(0)?;
    let dims = x.dims(c.b);
    let n = count(&dims)?;
    c.budget.spend(n)?;
    known(Known::bools(
        dims,
        match x {
            Value::Known(Known { data: Data::Float(d), .. }) => d.iter().map(|&x| holds(x)).collect(),
            Value::Masked(m) => m.gone.iter().map(|&gone| gone && at_infinity).collect(),
            _ => vec![false; n],
        },
    ))
}

pub fn is_nan(c: &mut Call<'_>) -> Results {
    about(c, f64::is_nan, false)
}

pub fn is_inf(c: &mut Call<'_>) -> Results {
    let (below, above) = (c.flag("detect_negative", true)?, c.flag("detect_positive", true)?);
    about(c, |x| x == f64::NEG_INFINITY && below || x == f64::INFINITY && above, below)
}

/// Groups with masked elements, as rows.
pub struct Rows {
    /// The elements; where one is masked, another one of its group that is not.
    filled: Atom,
    /// 1 for an element, 0 for one that is masked.
    there: Atom,
    gone: Vec<bool>,
    /// The axes of the groups come last here, which once were at these places.
    order: Vec<usize>,
    moved: Vec<usize>,
    rows: usize,
}

impl Rows {
    /// The groups along some axes.
    pub fn new(c: &mut Call<'_>, v: Value, axes: &[usize]) -> Result<Rows, Fault> {
        let dims = v.dims(c.b);
        let rest: Vec<usize> = (0..dims.len()).filter(|i| !axes.contains(i)).collect();
        let order: Vec<usize> = rest.iter().chain(axes).copied().collect();
        let v = reordered(c, &v, &order)?;
        let moved = v.dims(c.b);
        let (v, gone) = apart(v);
        let gone = holding(c, gone, &moved, &moved)?;
        let each: usize = axes.iter().map(|&i| dims[i]).product();
        let rows = gone.len() / each.max(1);
        c.budget.spend(2 * gone.len())?;
        let mut table = Vec::with_capacity(gone.len());
        for row in 0..rows {
            let of = &gone[row * each..(row + 1) * each];
            let Some(first) = of.iter().position(|g| !g) else {
                let at: Vec<usize> = rest.iter().map(|&i| dims[i]).collect();
                return refuse(format!(
                    "all of its numbers at {} are masked by minus infinity, so that it has no value there",
                    place(row, &at)
                ));
            };
            table.extend((0..each).map(|j| (row * each + if of[j] { first } else { j }) as u32));
        }
        let numbers = c.atom(&v)?;
        let shape = Shape::new([rows, each])?;
        let filled = c.b.view(numbers, Layout::table(table), shape)?;
        let there = gone.iter().map(|&g| if g { 0.0 } else { 1.0 }).collect();
        let there = Known::floats(vec![rows, each], there).atom(c.b)?;
        Ok(Rows { filled, there, gone, order, moved, rows })
    }

    /// The logarithms of the sums of exponentials of filled groups, which are at most so much too large that the rest is a number between 0 and 1.
    fn level(&self, c: &mut Call<'_>) -> Result<(Atom, Atom, Atom), Fault> {
        let level = c.b.push1(Op::LogSumExp(Lane::Axis), &[self.filled])?;
        let column = c.reshape(level, &[self.rows, 1])?;
        let below = c.apply(Op::Sub, &[self.filled, column])?;
        let parts = c.apply(Smooth::Exp, &[below])?;
        let parts = c.apply(Op::Mul, &[parts, self.there])?;
        Ok((level, below, parts))
    }

    /// The elements as they were.
    fn back(&self, c: &mut Call<'_>, y: Atom) -> Result<Value, Fault> {
        let y = Value::Real(c.reshape(y, &self.moved)?);
        reordered(c, &y, &self.inverse())
    }

    fn inverse(&self) -> Vec<usize> {
        (0..self.order.len()).map(|i| self.order.iter().position(|&o| o == i).unwrap_or(0)).collect()
    }

    /// The softmax of each group: 0 where it is masked.
    pub fn softmax(&self, c: &mut Call<'_>) -> Result<Value, Fault> {
        let (_, _, parts) = self.level(c)?;
        let total = c.b.sum(parts, &[1])?;
        let total = c.reshape(total, &[self.rows, 1])?;
        let y = c.apply(Op::Div, &[parts, total])?;
        self.back(c, y)
    }

    /// The logarithm of the sum of exponentials of each group.
    pub fn log_sum_exp(&self, c: &mut Call<'_>) -> Result<Atom, Fault> {
        let (level, _, parts) = self.level(c)?;
        let total = c.b.sum(parts, &[1])?;
        let more = c.apply(Smooth::Log, &[total])?;
        c.apply(Op::Add, &[level, more])
    }

    /// The logarithm of the softmax, which is minus infinity where it is masked.
    pub fn log_softmax(&self, c: &mut Call<'_>) -> Result<Value, Fault> {
        let (_, below, parts) = self.level(c)?;
        let total = c.b.sum(parts, &[1])?;
        let less = c.apply(Smooth::Log, &[total])?;
        let less = c.reshape(less, &[self.rows, 1])?;
        let y = c.apply(Op::Sub, &[below, less])?;
        let numbers = c.reshape(y, &self.moved)?;
        let y = masked(numbers, self.moved.clone(), self.gone.clone());
        reordered(c, &y, &self.inverse())
    }
}

/// The softmax of a value along axes, which may be masked.
pub fn softmax_of(c: &mut Call<'_>, v: Value, axes: &[usize]) -> Result<Value, Fault> {
    Rows::new(c, v, axes)?.softmax(c)
}

/// One value, which may be masked, as the result.
pub fn result(v: Value) -> Results {
    match v {
        Value::Real(a) => one(a),
        v => Ok(vec![v]),
    }
}
