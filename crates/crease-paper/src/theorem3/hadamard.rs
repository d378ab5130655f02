//! Hadamard matrices: entries 1 and -1, orthogonal columns. They are the matrix U in the proof of Theorem 3.
//!
//! An order p enters, a matrix leaves, or nothing where none of the constructions here reaches p: Sylvester's for powers of two,
//! both of Paley's for primes, and Kronecker products of what they give. Whatever they give can be checked with
//! [`is_hadamard`]. Deliberately absent: Paley's constructions over fields of prime powers (orders such as 52), and the
//! constructions of Williamson and others (92). That there is one for every multiple of 4 is a conjecture.

use std::fmt;

/// The largest order for which a matrix is made: beyond it, it has more elements than a tensor may have.
const LARGEST: usize = 1 << 14;

/// How a Hadamard matrix is made.
///
/// ```
/// use crease_paper::theorem3::{construction, Construction};
/// assert_eq!(construction(16), Some(Construction::Sylvester { order: 16 }));
/// assert_eq!(construction(12), Some(Construction::PaleyOne { q: 11 }));
/// assert_eq!(construction(36), Some(Construction::PaleyTwo { q: 17 }));
/// assert_eq!(construction(40).unwrap().to_string(), "Sylvester of order 2 x Paley I over 19 elements");
/// assert_eq!((construction(3), construction(92)), (None, None));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Construction {
    /// Sylvester's: entry (i, j) is -1 to the number of bits that i and j share. The order is a power of two.
    Sylvester {
        /// The order.
        order: usize,
    },
    /// Paley's first: order q + 1 for a prime q = 3 mod 4.
    PaleyOne {
        /// The prime.
        q: usize,
    },
    /// Paley's second: order 2 (q + 1) for a prime q = 1 mod 4.
    PaleyTwo {
        /// The prime.
        q: usize,
    },
    /// The Kronecker product of two.
    Kronecker(Box<Construction>, Box<Construction>),
}

impl Construction {
    /// The order of the matrix.
    ///
    /// ```
    /// assert_eq!(crease_paper::theorem3::Construction::PaleyTwo { q: 5 }.order(), 12);
    /// ```
    pub fn order(&self) -> usize {
        match self {
            Construction::Sylvester { order } => *order,
            Construction::PaleyOne { q } => q + 1,
            Construction::PaleyTwo { q } => 2 * (q + 1),
            Construction::Kronecker(left, right) => left.order() * right.order(),
        }
    }

    /// The matrix, row by row. It is a Hadamard matrix for the orders and primes that [`construction`] chooses.
    ///
    /// ```
    /// use crease_paper::theorem3::{is_hadamard, Construction};
    /// let both = [Construction::PaleyOne { q: 11 }, Construction::PaleyTwo { q: 5 }].map(|c| c.matrix());
    /// assert!(both.iter().all(|h| h.len() == 12 && is_hadamard(h)));
    /// assert!(!is_hadamard(&Construction::PaleyOne { q: 5 }.matrix())); // 5 is not 3 mod 4
    /// ```
    pub fn matrix(&self) -> Vec<Vec<i64>> {
        match self {
            Construction::Sylvester { order } => {
                let sign = |i: usize, j: usize| if (i & j).count_ones().is_multiple_of(2) { 1 } else { -1 };
                square(*order, sign)
            }
            Construction::PaleyOne { q } => {
                let c = conference(*q, -1);
                square(q + 1, |i, j| c[i][j] + i64::from(i == j))
            }
            Construction::PaleyTwo { q } => {
                let c = conference(*q, 1);
                let (zero, other) = ([[1, -1], [-1, -1]], [[1, 1], [1, -1]]);
                square(2 * (q + 1), |i, j| match c[i / 2][j / 2] {
                    0 => zero[i % 2][j % 2],
                    sign => sign * other[i % 2][j % 2],
                })
            }
            Construction::Kronecker(left, right) => kronecker(&left.matrix(), &right.matrix()),
        }
    }
}

impl fmt::Display for Construction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Construction::Sylvester { order } => write!(f, "Sylvester of order {order}"),
            Construction::PaleyOne { q } => write!(f, "Paley I over {q} elements"),
            Construction::PaleyTwo { q } => write!(f, "Paley II over {q} elements"),
            Construction::Kronecker(left, right) => write!(f, "{left} x {right}"),
        }
    }
}

/// How a Hadamard matrix of order p is made here; nothing if it is not.
///
/// ```
/// let reached: Vec<usize> = (1..=64).filter(|&p| crease_paper::theorem3::construction(p).is_some()).collect();
/// assert_eq!(reached, [1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 56, 60, 64]);
/// ```
pub fn construction(p: usize) -> Option<Construction> {
    if p == 0 || p > LARGEST {
        return None;
    }
    if p.is_power_of_two() {
        return Some(Construction::Sylvester { order: p });
    }
    if !p.is_multiple_of(4) {
        return None;
    }
    // a multiple of 4 less 1 is 3 mod 4
    if is_prime(p - 1) {
        return Some(Construction::PaleyOne { q: p - 1 });
    }
    let q = p / 2 - 1;
    if q % 4 == 1 && is_prime(q) {
        return Some(Construction::PaleyTwo { q });
    }
    let divisors = (2..p).take_while(|d| d * d <= p).filter(|d| p.is_multiple_of(*d));
    divisors.into_iter().find_map(|d| {
        let (left, right) = (construction(d)?, construction(p / d)?);
        Some(Construction::Kronecker(Box::new(left), Box::new(right)))
    })
}

/// A Hadamard matrix of order p, row by row; nothing where [`construction`] knows none.
///
/// ```
/// use crease_paper::theorem3::{hadamard, is_hadamard};
/// assert_eq!(hadamard(2).unwrap(), [[1, 1], [1, -1]]);
/// assert!(is_hadamard(&hadamard(20).unwrap()));
/// assert_eq!(hadamard(6), None);
/// ```
pub fn hadamard(p: usize) -> Option<Vec<Vec<i64>>> {
    Some(construction(p)?.matrix())
}

/// Whether a matrix is square, has no entries but 1 and -1, and satisfies H H^T = p I.
///
/// ```
/// use crease_paper::theorem3::is_hadamard;
/// assert!(is_hadamard(&[vec![1, 1], vec![-1, 1]]));
/// assert!(!is_hadamard(&[vec![1, 1], vec![1, 1]]));
/// assert!(!is_hadamard(&[vec![1, 0], vec![0, 1]])); // orthogonal, but not of signs
/// ```
pub fn is_hadamard(h: &[Vec<i64>]) -> bool {
    let signs = h.iter().all(|row| row.len() == h.len() && row.iter().all(|x| x.abs() == 1));
    let dot = |a: &[i64], b: &[i64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<i64>();
    signs && h.iter().enumerate().all(|(i, row)| h[..i].iter().all(|other| dot(row, other) == 0))
}

/// The Kronecker product: every entry of the left matrix replaced by that many times the right one. Of Hadamard matrices it is
/// a Hadamard matrix.
///
/// ```
/// use crease_paper::theorem3::kronecker;
/// assert_eq!(kronecker(&[vec![1, 2]], &[vec![3], vec![5]]), [[3, 6], [5, 10]]);
/// ```
pub fn kronecker(left: &[Vec<i64>], right: &[Vec<i64>]) -> Vec<Vec<i64>> {
    let rows = left.iter().flat_map(|l| right.iter().map(move |r| (l, r)));
    rows.map(|(l, r)| l.iter().flat_map(|x| r.iter().map(move |y| x * y)).collect()).collect()
}

fn square(n: usize, entry: impl Fn(usize, usize) -> i64) -> Vec<Vec<i64>> {
    (0..n).map(|i| (0..n).map(|j| entry(i, j)).collect()).collect()
}

/// Zeros on the diagonal, elsewhere signs: whether i - j is a square modulo q, with a border of ones, on the left of `left`s.
fn conference(q: usize, left: i64) -> Vec<Vec<i64>> {
    let mut character = vec![-1; q];
    character[0] = 0;
    (1..q).for_each(|x| character[x * x % q] = 1);
    square(q + 1, |i, j| match (i, j) {
        (0, 0) => 0,
        (0, _) => 1,
        (_, 0) => left,
        _ => character[(i + q - j) % q],
    })
}

fn is_prime(n: usize) -> bool {
    n >= 2 && (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d))
}
