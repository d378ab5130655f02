//! The programs of the paper, ready to be costed, drawn, run and differentiated.
//!
//! Figure 1 and its costs: [`p0`], [`p1`], [`q1`], [`p2`]. Theorem 3's function, whose p directional derivatives at 0 are a
//! matrix product: [`theorem3`]. The maximum as a ReLU network with weights -1, 0 and 1: [`max_by_relu`]. The cases of the
//! appendix: [`abs_value`], [`elu`], [`max_m_linear`], [`max_pool`], [`l1`], [`linf`], [`median`], [`selection_function`].
//! Two programs that show what the chain rule does at kinks: [`identity_by_relu`], [`cancelling_paths`].
//!
//! What they cost is in [`tables`](crate::tables); where the paper says otherwise, in [`errata`](crate::errata).

use crease::Error;
use crease_core::op::{Comparison, Op};
use crease_core::{Builder, Program, Shape, Tape, abs, elu as elu_of, max_linear, relu};
use std::sync::Arc;

fn scalars<const N: usize>(b: &mut Builder, names: [&str; N]) -> Result<[crease_core::Atom; N], Error> {
    let mut out = Vec::with_capacity(N);
    for name in names {
        out.push(b.input(name, Shape::scalar())?);
    }
    // as many atoms as names
    Ok(std::array::from_fn(|i| out[i]))
}

/// Figure 1 (a): `P0(a, b) = a + b`, of level 0 and cost 1.
///
/// ```
/// use crease::cost::cost;
/// use crease_paper::programs::p0;
/// let p = p0()?;
/// assert_eq!((p.level(), cost(&p).to_string().as_str()), (0, "1"));
/// # Ok::<(), crease::Error>(())
/// ```
pub fn p0() -> Result<Program, Error> {
    let mut builder = Builder::new("P0");
    let [a, b] = scalars(&mut builder, ["a", "b"])?;
    let sum = builder.add(a, b)?;
    Ok(builder.finish(&[sum])?)
}

/// Figure 1 (b): `P1(a, b, c) = a (b + c)`, of level 1 and cost 2.
///
/// ```
/// use crease::cost::cost;
/// use crease_paper::programs::p1;
/// let p = p1()?;
/// assert_eq!((p.level(), cost(&p).to_string().as_str()), (1, "2"));
/// # Ok::<(), crease::Error>(())
/// ```
pub fn p1() -> Result<Program, Error> {
    let mut builder = Builder::new("P1");
    let [a, b, c] = scalars(&mut builder, ["a", "b", "c"])?;
    let sum = builder.add(b, c)?;
    let product = builder.mul(a, sum)?;
    Ok(builder.finish(&[product])?)
}

/// Figure 1 (c): `Q1(a, b, c) = a b + a c`, of level 1 and cost 3. It computes the same function as [`p1`].
///
/// ```
/// use crease::Function;
/// use crease_paper::programs::{p1, q1};
/// let (p, q) = (Function::from(p1()?), Function::from(q1()?));
/// assert_eq!(p.value(&[2.0, 3.0, 4.0])?, q.value(&[2.0, 3.0, 4.0])?);
/// # Ok::<(), crease::Error>(())
/// ```
pub fn q1() -> Result<Program, Error> {
    let mut builder = Builder::new("Q1");
    let [a, b, c] = scalars(&mut builder, ["a", "b", "c"])?;
    let left = builder.mul(a, b)?;
    let right = builder.mul(a, c)?;
    let sum = builder.add(left, right)?;
    Ok(builder.finish(&[sum])?)
}

/// Figure 1 (d): `P2(a, b, c, d) = Q1(a, c, d) + P1(b, c, d) = (a + b)(c + d)`, of level 2 and cost 6.
///
/// ```
/// use crease::{cost::cost, inline};
/// use crease_paper::programs::p2;
/// let p = p2()?;
/// assert_eq!((p.level(), cost(&p).to_string().as_str()), (2, "6"));
/// // expanded, it has level 1 and the same cost
/// assert_eq!(inline(&p).unwrap().level(), 1);
/// assert_eq!(cost(&inline(&p).unwrap()), cost(&p));
/// # Ok::<(), crease::Error>(())
/// ```
pub fn p2() -> Result<Program, Error> {
    let mut builder = Builder::new("P2");
    let [a, b, c, d] = scalars(&mut builder, ["a", "b", "c", "d"])?;
    let q1 = builder.callee(Arc::new(q1()?), None)?;
    let p1 = builder.callee(Arc::new(p1()?), None)?;
    let left = builder.push1(Op::Call(q1), &[a, c, d])?;
    let right = builder.push1(Op::Call(p1), &[b, c, d])?;
    let sum = builder.add(left, right)?;
    Ok(builder.finish(&[sum])?)
}

/// Theorem 3's function `F(x, B, M) = 1/p sum |U B^T M x|`, of cost 6 p^2 + 2 p. It is
/// [`theorem3::function`](crate::theorem3::function); the proof is beside it.
///
/// ```
/// use crease::Function;
/// use crease_paper::programs::theorem3;
/// let f = Function::from(theorem3(1)?);
/// assert_eq!(f.value(&[-2.0, 3.0, 5.0])?, 30.0); // |x b m|
/// # Ok::<(), crease::Error>(())
/// ```
pub fn theorem3(p: usize) -> Result<Program, Error> {
    crate::theorem3::function(p)
}

/// The maximum of 2^k numbers as a ReLU network with k layers and weights in {-1, 0, 1}: the construction in the paper's lemma
/// on maxima. The layers, from the input on, have sizes 3 2^(k-1), ..., 6, 3.
///
/// ```
/// use crease::Function;
/// use crease_paper::programs::max_by_relu;
/// let f = Function::from(max_by_relu(2)?);
/// assert_eq!(f.value(&[-4.0, -1.0, -3.0, -2.0])?, -1.0);
/// # Ok::<(), crease::Error>(())
/// ```
pub fn max_by_relu(k: u32) -> Result<Program, Error> {
    if !(1..=12).contains(&k) {
        return Err(Error::Parameter { what: "the number of layers", expected: "from 1 to 12", got: k.to_string() });
    }
    // one layer turns pairs (a, b) into (a - b, b, -b), of which relu's B = (1, 1, -1) makes the maximum; the next layer
    // takes its pairs through B, so the matrices between two layers are A (B + B)
    let (a, b) = ([[1.0, -1.0], [0.0, 1.0], [0.0, -1.0]], [1.0, 1.0, -1.0]);
    let tape = Tape::new("max_by_relu");
    let mut at = tape.input("x", Shape::vector(1 << k)?);
    for layer in 0..k {
        let pairs = 1usize << (k - 1 - layer);
        let width = if layer == 0 { 1 } else { 3 }; // numbers that stand for one argument
        let (rows, columns) = (3 * pairs, 2 * pairs * width);
        let mut m = vec![0.0; rows * columns];
        for pair in 0..pairs {
            for (i, row) in a.iter().enumerate() {
                for (j, entry) in row.iter().enumerate() {
                    for w in 0..width {
                        let through = if width == 1 { 1.0 } else { b[w] };
                        m[(3 * pair + i) * columns + (2 * pair + j) * width + w] = entry * through;
                    }
                }
            }
        }
        at = relu(tape.tensor(Shape::new([rows, columns])?, m).matmul(at));
    }
    Ok(tape.finish(&[tape.tensor(Shape::vector(3)?, b.to_vec()).matmul(at)])?)
}

/// `relu(x) - relu(-x)`: the identity, with two kinks at 0. Backprop gives twice the selection's relu'(0) there.
///
/// ```
/// use crease::Function;
/// use crease_paper::programs::identity_by_relu;
/// let f = Function::from(identity_by_relu()?);
/// assert_eq!((f.grad(&[0.0])?, f.grad(&[0.1])?), (vec![0.0], vec![1.0]));
/// # Ok::<(), crease::Error>(())
/// ```
pub fn identity_by_relu() -> Result<Program, Error> {
    Ok(crease_core::trace(1, |x| relu(x[0]) - relu(-x[0]))?)
}

/// `relu(x) - relu(relu(x))`: zero, with two kinks at 0. With slopes s and t there, its derivative is `s - s t`, so the path
/// through both relus gives 0 and only the path through one gives something else.
///
/// ```
/// use crease::{Function, Selection};
/// use crease_paper::programs::cancelling_paths;
/// let at = |relu: &str| -> Result<f64, crease::Error> {
///     let f = Function::from(cancelling_paths()?).select(Selection::parse(relu).unwrap());
///     Ok(f.grad(&[0.0])?[0])
/// };
/// assert_eq!((at("relu=0")?, at("relu=1")?, at("relu=1/2")?), (0.0, 0.0, 0.25));
/// # Ok::<(), crease::Error>(())
/// ```
pub fn cancelling_paths() -> Result<Program, Error> {
    Ok(crease_core::trace(1, |x| relu(x[0]) - relu(relu(x[0])))?)
}

/// The absolute value: one sign and, at worst, one multiplication. Its derivative is the sign.
///
/// ```
/// use crease::cost::cost;
/// use crease_paper::programs::abs_value;
/// assert_eq!(cost(&abs_value()?).to_string(), "1 + c_relu");
/// # Ok::<(), crease::Error>(())
/// ```
pub fn abs_value() -> Result<Program, Error> {
    Ok(crease_core::trace(1, |x| abs(x[0]))?.renamed("absolute"))
}

/// ELU: `x` where positive, else `a (exp(x) - 1)`. The derivative on the left, `a exp(x)`, is there already.
///
/// ```
/// use crease::cost::cost;
/// use crease_paper::programs::elu;
/// assert_eq!(cost(&elu(1.0)?).to_string(), "2 + c_nonlin + c_relu");
/// # Ok::<(), crease::Error>(())
/// ```
pub fn elu(a: f64) -> Result<Program, Error> {
    Ok(crease_core::trace(1, |x| elu_of(x[0], a))?.renamed("ELU"))
}

/// Max-m-linear: `A -> max(A x)` for a fixed vector x, by all entries of the matrix A with m rows.
///
/// ```
/// use crease::cost::cost;
/// use crease_paper::programs::max_m_linear;
/// // m (2 n - 1) additions and multiplications, m - 1 comparisons
/// assert_eq!(cost(&max_m_linear(4, &[1.0, 2.0, 3.0])?).to_string(), "20 + 3 c_relu");
/// # Ok::<(), crease::Error>(())
/// ```
pub fn max_m_linear(m: usize, x: &[f64]) -> Result<Program, Error> {
    let tape = Tape::new("max_m_linear");
    let a = tape.input("A", Shape::new([m, x.len()])?);
    let x = tape.tensor(Shape::vector(x.len())?, x.to_vec());
    Ok(tape.finish(&[max_linear(a, x)])?)
}

/// The 3 x 3 max-pool of the appendix: the largest of the nine numbers that a 3 x 3 kernel gives on a fixed image of
/// 5 x 5, by the nine weights of the kernel. Max-m-linear, with the nine patches of the image for a matrix.
///
/// ```
/// use crease::{cost::cost, Function};
/// use crease_paper::programs::max_pool;
/// let image: [f64; 25] = std::array::from_fn(|i| i as f64);
/// let p = max_pool(&image)?;
/// assert_eq!(cost(&p).to_string(), "153 + 8 c_relu");
/// // the gradient is the patch that wins: with equal weights, the last one
/// let g = Function::from(p).grad(&[1.0; 9])?;
/// assert_eq!(g, [12.0, 13.0, 14.0, 17.0, 18.0, 19.0, 22.0, 23.0, 24.0]);
/// # Ok::<(), crease::Error>(())
/// ```
pub fn max_pool(image: &[f64; 25]) -> Result<Program, Error> {
    let patch = |i: usize| (0..9).map(move |k| image[(i / 3 + k / 3) * 5 + i % 3 + k % 3]);
    let tape = Tape::new("max_pool");
    let kernel = tape.input("kernel", Shape::new([3, 3])?).reshape(&[9]);
    let patches = tape.tensor(Shape::new([9, 9])?, (0..9).flat_map(patch).collect());
    Ok(tape.finish(&[max_linear(patches, kernel)])?)
}

/// The l1 norm of n numbers.
///
/// ```
/// use crease::cost::cost;
/// use crease_paper::programs::l1;
/// assert_eq!(cost(&l1(5)?).to_string(), "9 + 5 c_relu");
/// # Ok::<(), crease::Error>(())
/// ```
pub fn l1(n: usize) -> Result<Program, Error> {
    let tape = Tape::new("l1");
    let x = tape.input("x", Shape::vector(n)?);
    Ok(tape.finish(&[x.norm1()])?)
}

/// The l-infinity norm of n numbers: n absolute values and n - 1 comparisons.
///
/// ```
/// use crease::cost::cost;
/// use crease_paper::programs::linf;
/// assert_eq!(cost(&linf(5)?).to_string(), "5 + 9 c_relu");
/// # Ok::<(), crease::Error>(())
/// ```
pub fn linf(n: usize) -> Result<Program, Error> {
    let tape = Tape::new("linf");
    let x = tape.input("x", Shape::vector(n)?);
    Ok(tape.finish(&[x.norminf()])?)
}

/// The lower median of n numbers, by sorting. The derivative is 1 at the index that the permutation tells.
///
/// ```
/// use crease::Function;
/// use crease_paper::programs::median;
/// let f = Function::from(median(3)?);
/// assert_eq!(f.value_and_grad(&[5.0, 1.0, 3.0])?, (3.0, vec![0.0, 0.0, 1.0]));
/// # Ok::<(), crease::Error>(())
/// ```
pub fn median(n: usize) -> Result<Program, Error> {
    let tape = Tape::new("median");
    let x = tape.input("x", Shape::vector(n)?);
    Ok(tape.finish(&[x.median()])?)
}

/// A selection function: `x y` where `x < y`, else `x x`. The two pieces agree where `x = y`, so it is continuous; there the
/// second is selected, and its gradient is returned.
///
/// ```
/// use crease::Function;
/// use crease_paper::programs::selection_function;
/// let f = Function::from(selection_function()?);
/// assert_eq!(f.value_and_grad(&[2.0, 3.0])?, (6.0, vec![3.0, 2.0]));
/// assert_eq!(f.value_and_grad(&[2.0, 2.0])?, (4.0, vec![4.0, 0.0]));
/// # Ok::<(), crease::Error>(())
/// ```
pub fn selection_function() -> Result<Program, Error> {
    let piece = |name: &str, product: fn(&mut Builder, [crease_core::Atom; 2]) -> _| -> Result<Arc<Program>, Error> {
        let mut b = Builder::new(name);
        let inputs = scalars(&mut b, ["x", "y"])?;
        let product: Result<_, crease_core::BuildError> = product(&mut b, inputs);
        Ok(Arc::new(b.finish(&[product?])?))
    };
    let below = piece("below", |b, [x, y]| b.mul(x, y))?;
    let above = piece("above", |b, [x, _]| b.mul(x, x))?;
    let mut b = Builder::new("selection");
    let [x, y] = scalars(&mut b, ["x", "y"])?;
    let pieces = [b.callee(below, None)?, b.callee(above, None)?];
    let condition = b.compare(Comparison::Less, x, y)?;
    let chosen = b.push1(Op::Select(pieces.into()), &[condition, x, y])?;
    Ok(b.finish(&[chosen])?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crease::cost::{Prices, cost};
    use crease::reductions::max_network;
    use crease::{Function, How, Rational, backprop};

    #[test]
    fn the_function_of_theorem_3_is_a_norm_of_a_product() {
        // with B and M the identity, F(x) = 1/p |U x|_1
        let f = Function::from(theorem3(2).unwrap());
        let identity = [1.0, 0.0, 0.0, 1.0];
        let at = |x: [f64; 2]| f.value(&[&x[..], &identity, &identity].concat()).unwrap();
        assert_eq!(at([3.0, 1.0]), (4.0 + 2.0) / 2.0);
        // and its derivatives at 0 along the unit vectors are the entries of B^T M A on the diagonal
        assert_eq!((at([1.0, 0.0]), at([0.0, 1.0])), (1.0, 1.0));
    }

    #[test]
    fn the_maximum_by_relu_is_the_maximum() {
        let mut state = 1u32;
        for k in 1..=4 {
            let f = Function::from(max_by_relu(k).unwrap());
            let layers = max_network(k).unwrap();
            for round in 0..40 {
                let x: Vec<f64> = (0..1 << k)
                    .map(|_| {
                        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        // a narrow range makes ties
                        if round % 2 == 0 { f64::from(state >> 24) - 128.0 } else { f64::from(state >> 30) - 2.0 }
                    })
                    .collect();
                assert_eq!(f.value(&x).unwrap(), x.iter().copied().fold(f64::MIN, f64::max));
                assert_eq!(f.value(&x).unwrap(), layers.evaluate(&x).unwrap());
            }
        }
    }

    #[test]
    fn backprop_of_a_selection_function_is_as_cheap_as_the_paper_says() {
        let p = selection_function().unwrap();
        let d = backprop(&p, &How::default()).unwrap();
        // c_s + c_f = 1 + 1 and c_s + c_grad = 1 + 2: below (c_s + 5 c_f) / (c_s + c_f) = 3
        let unit = Prices::unit();
        assert_eq!(cost(&p).at(&unit), Rational::from(2));
        assert_eq!(cost(&d).at(&unit), Rational::from(3));
    }
}
