//! The three programs: naive, Strassen (1969), Winograd's variant with 15 additions.

use crease::Error;
use crease_core::{Atom, Builder, Layout, Op, Program, Shape};
use std::fmt;
use std::sync::Arc;

/// The largest size for which a product is made.
const LARGEST: usize = 1 << 13;

/// A way to multiply matrices.
///
/// ```
/// use crease_paper::products::Scheme;
/// assert_eq!(Scheme::ALL.map(|s| s.to_string()), ["naive", "Strassen", "Winograd"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scheme {
    /// Row by column: n^3 multiplications and n^3 - n^2 additions.
    Naive,
    /// Strassen's: 7 products of half the size and 18 additions of blocks, 6 of them subtractions.
    Strassen,
    /// Winograd's variant: 7 products of half the size and 15 additions of blocks, 7 of them subtractions.
    Winograd,
}

impl Scheme {
    /// All of them.
    ///
    /// ```
    /// assert_eq!(crease_paper::products::Scheme::ALL.len(), 3);
    /// ```
    pub const ALL: [Scheme; 3] = [Scheme::Naive, Scheme::Strassen, Scheme::Winograd];

    /// The exponent of its cost, 3 or log2 7.
    ///
    /// ```
    /// use crease_paper::products::Scheme;
    /// assert_eq!(Scheme::Naive.exponent(), 3.0);
    /// assert!((Scheme::Winograd.exponent() - 2.8073549).abs() < 1e-7);
    /// ```
    pub fn exponent(self) -> f64 {
        match self {
            Scheme::Naive => 3.0,
            Scheme::Strassen | Scheme::Winograd => 7f64.log2(),
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Scheme::Naive => "naive",
            Scheme::Strassen => "Strassen",
            Scheme::Winograd => "Winograd",
        })
    }
}

/// The product of two n × n matrices as a program. Fast schemes go down to size `cutoff`, from where on it is naive; odd sizes
/// above it are filled up with a row and a column of zeros.
///
/// ```
/// use crease::{cost::tally, run, Rational, Shape, Tensor};
/// use crease_paper::products::{product, Scheme};
/// let p = product(2, Scheme::Strassen, 1)?;
/// assert_eq!(tally(&p).to_string(), "7 *, 12 +, 6 -");
/// let square = |x: [i64; 4]| Tensor::new(Shape::new([2, 2]).unwrap(), x.map(Rational::from).to_vec()).unwrap();
/// let c = run(&p, &[square([1, 2, 3, 4]), square([5, 6, 7, 8])])?;
/// assert_eq!(c[0].to_string(), "[[19, 22], [43, 50]]");
/// assert!(product(0, Scheme::Naive, 1).is_err());
/// # Ok::<(), crease::Error>(())
/// ```
pub fn product(n: usize, scheme: Scheme, cutoff: usize) -> Result<Program, Error> {
    for (what, x) in [("the size of a product", n), ("the cutoff", cutoff)] {
        if !(1..=LARGEST).contains(&x) {
            return Err(Error::Parameter { what, expected: "from 1 to 2^13", got: x.to_string() });
        }
    }
    let mut sizes = vec![n];
    if scheme != Scheme::Naive {
        let mut at = n;
        while at > cutoff {
            at = at.div_ceil(2);
            sizes.push(at);
        }
    }
    let mut program = naive(sizes.pop().unwrap_or(n))?;
    for &size in sizes.iter().rev() {
        program = halved(size, scheme, program)?;
    }
    Ok(program)
}

fn naive(n: usize) -> Result<Program, Error> {
    let mut b = Builder::new(format!("naive_{n}"));
    let square = Shape::new([n, n])?;
    let (x, y) = (b.input("A", square.clone())?, b.input("B", square)?);
    let product = b.matmul(x, y)?;
    Ok(b.finish(&[product])?)
}

/// A product of size n by products of half the size, rounded up.
fn halved(n: usize, scheme: Scheme, half: Program) -> Result<Program, Error> {
    let h = n.div_ceil(2);
    let mut b = Builder::new(format!("{}_{n}", scheme.to_string().to_lowercase()));
    let square = Shape::new([n, n])?;
    let inputs = [b.input("A", square.clone())?, b.input("B", square)?];
    let half = b.callee(Arc::new(half), None)?;
    let mut blocks = Vec::with_capacity(8);
    for x in inputs {
        let full = if n == 2 * h {
            x
        } else {
            b.assemble(Shape::new([2 * h, 2 * h])?, vec![(x, Layout::strided(0, &[(n, 2 * h as isize), (n, 1)]))])?
        };
        for (i, j) in [(0, 0), (0, h), (h, 0), (h, h)] {
            blocks.push(b.slice(full, &[(i, h, 1), (j, h, 1)])?);
        }
    }
    let mut half = |b: &mut Builder, x: Atom, y: Atom| b.push1(Op::Call(half), &[x, y]);
    let c = match scheme {
        Scheme::Winograd => winograd(&mut b, &blocks, &mut half)?,
        Scheme::Strassen | Scheme::Naive => strassen(&mut b, &blocks, &mut half)?,
    };
    let wide = 2 * h as isize;
    let corners = [0, h, 2 * h * h, 2 * h * h + h];
    let pieces = c.into_iter().zip(corners).map(|(x, at)| (x, Layout::strided(at, &[(h, wide), (h, 1)])));
    let whole = b.assemble(Shape::new([2 * h, 2 * h])?, pieces.collect())?;
    let out = if n == 2 * h { whole } else { b.slice(whole, &[(0, n, 1), (0, n, 1)])? };
    Ok(b.finish(&[out])?)
}

type Half<'a> = &'a mut dyn FnMut(&mut Builder, Atom, Atom) -> Result<Atom, crease_core::BuildError>;

/// The four blocks of the product from those of the factors, row by row.
fn strassen(b: &mut Builder, blocks: &[Atom], product: Half<'_>) -> Result<[Atom; 4], Error> {
    let [a11, a12, a21, a22, b11, b12, b21, b22] = eight(blocks);
    let (x, y) = (b.add(a11, a22)?, b.add(b11, b22)?);
    let m1 = product(b, x, y)?;
    let x = b.add(a21, a22)?;
    let m2 = product(b, x, b11)?;
    let y = b.sub(b12, b22)?;
    let m3 = product(b, a11, y)?;
    let y = b.sub(b21, b11)?;
    let m4 = product(b, a22, y)?;
    let x = b.add(a11, a12)?;
    let m5 = product(b, x, b22)?;
    let (x, y) = (b.sub(a21, a11)?, b.add(b11, b12)?);
    let m6 = product(b, x, y)?;
    let (x, y) = (b.sub(a12, a22)?, b.add(b21, b22)?);
    let m7 = product(b, x, y)?;
    let c11 = b.add(m1, m4)?;
    let c11 = b.sub(c11, m5)?;
    let c11 = b.add(c11, m7)?;
    let c12 = b.add(m3, m5)?;
    let c21 = b.add(m2, m4)?;
    let c22 = b.sub(m1, m2)?;
    let c22 = b.add(c22, m3)?;
    let c22 = b.add(c22, m6)?;
    Ok([c11, c12, c21, c22])
}

/// The same with sums shared. Signs are chosen so that over {+, x, +c, xc} six blocks are negated, no more than in Strassen's.
fn winograd(b: &mut Builder, blocks: &[Atom], product: Half<'_>) -> Result<[Atom; 4], Error> {
    let [a11, a12, a21, a22, b11, b12, b21, b22] = eight(blocks);
    let s1 = b.add(a21, a22)?;
    let s2 = b.sub(s1, a11)?;
    let s3 = b.sub(a21, a11)?;
    let s4 = b.sub(a12, s2)?;
    let t1 = b.sub(b12, b11)?;
    let t2 = b.sub(b22, t1)?;
    let t3 = b.sub(b12, b22)?;
    let t4 = b.sub(b21, t2)?;
    let p1 = product(b, a11, b11)?;
    let p2 = product(b, a12, b21)?;
    let p3 = product(b, s4, b22)?;
    let p4 = product(b, a22, t4)?;
    let p5 = product(b, s1, t1)?;
    let p6 = product(b, s2, t2)?;
    let p7 = product(b, s3, t3)?;
    let c11 = b.add(p1, p2)?;
    let u2 = b.add(p1, p6)?;
    let u3 = b.add(u2, p7)?;
    let u4 = b.add(u2, p5)?;
    let c12 = b.add(u4, p3)?;
    let c21 = b.add(u3, p4)?;
    let c22 = b.add(u3, p5)?;
    Ok([c11, c12, c21, c22])
}

fn eight(blocks: &[Atom]) -> [Atom; 8] {
    std::array::from_fn(|i| blocks[i])
}
