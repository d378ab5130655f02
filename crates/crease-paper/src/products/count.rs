//! What products cost: by operations, over the theorem's dictionary, and differentiated.

use super::schemes::{Scheme, product};
use crease::Error;
use crease_core::cost::{Count, ItemKind, tally};
use crease_core::dictionary::{Dictionary, LowerError, lower};
use crease_core::differentiate::{How, vjp};
use crease_core::{Program, simplify};

/// How often a program of `+`, `-` and `x` applies each of them.
///
/// ```
/// use crease_paper::products::{operations, product, Operations, Scheme};
/// let count = operations(&product(2, Scheme::Winograd, 1)?).unwrap();
/// assert_eq!(count, Operations { multiplications: 7, scalings: 0, additions: 8, subtractions: 7 });
/// assert_eq!((count.sums(), count.total()), (15, 22));
/// # Ok::<(), crease::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Operations {
    /// Products of two values.
    pub multiplications: u128,
    /// Products with a constant.
    pub scalings: u128,
    /// Sums, of two values or with a constant.
    pub additions: u128,
    /// Differences and negations.
    pub subtractions: u128,
}

impl Operations {
    /// Additions and subtractions, which are usually counted as one.
    ///
    /// ```
    /// let count = crease_paper::products::Operations { additions: 12, subtractions: 6, ..Default::default() };
    /// assert_eq!(count.sums(), 18);
    /// ```
    pub fn sums(&self) -> u128 {
        self.additions + self.subtractions
    }

    /// All of them: the cost at unit prices.
    ///
    /// ```
    /// let count = crease_paper::products::Operations { multiplications: 7, additions: 18, ..Default::default() };
    /// assert_eq!(count.total(), 25);
    /// ```
    pub fn total(&self) -> u128 {
        self.multiplications + self.scalings + self.sums()
    }
}

/// Counts the operations of a program, calls and tensors expanded; nothing if it uses others than `+`, `-` and `x`, or
/// 2^126 times one of them.
///
/// ```
/// use crease::{relu, trace};
/// use crease_paper::products::operations;
/// let count = operations(&trace(2, |x| x[0] * x[1] - 2.0 * x[0])?).unwrap();
/// assert_eq!((count.multiplications, count.scalings, count.subtractions), (1, 1, 1));
/// assert_eq!(operations(&trace(1, |x| relu(x[0]))?), None);
/// # Ok::<(), crease::Error>(())
/// ```
pub fn operations(p: &Program) -> Option<Operations> {
    let mut out = Operations::default();
    // two bits less than there are, so that all four of them can be added
    let more = |sum: &mut u128, n: &Count| {
        *sum = sum.checked_add(n.to_u128()?).filter(|sum| *sum < 1 << 126)?;
        Some(())
    };
    for (item, n) in tally(p).iter() {
        match (item.kind, item.values) {
            (ItemKind::Mul, 2) => more(&mut out.multiplications, n)?,
            (ItemKind::Mul, _) => more(&mut out.scalings, n)?,
            (ItemKind::Add, _) => more(&mut out.additions, n)?,
            (ItemKind::Sub | ItemKind::Neg, _) => more(&mut out.subtractions, n)?,
            _ => return None,
        }
    }
    Some(out)
}

/// The same function over {+, x, +c, xc}, the dictionary in which Theorem 3 counts: `a - b` is `a + (-1) b`, which costs two,
/// but what is negated twice in one program is negated once. An operation that is no polynomial is an error.
///
/// ```
/// use crease::dictionary::{outside, Dictionary};
/// use crease_paper::products::{operations, over_polynomials, product, Scheme};
/// for (scheme, cost) in [(Scheme::Naive, 12), (Scheme::Strassen, 7 + 24), (Scheme::Winograd, 7 + 21)] {
///     let p = over_polynomials(&product(2, scheme, 1)?)?;
///     assert!(outside(&p, Dictionary::Polynomial).is_empty());
///     assert_eq!(operations(&p).unwrap().total(), cost);
/// }
/// # Ok::<(), crease::Error>(())
/// ```
pub fn over_polynomials(p: &Program) -> Result<Program, Error> {
    let lowered = lower(p, Dictionary::Polynomial).map_err(|e| match e {
        LowerError::Build(e) => Error::from(e),
        LowerError::Outside { outsider, .. } => {
            let expected = "one of +, - and x";
            Error::Parameter { what: "an operation of the program", expected, got: outsider.to_string() }
        }
    })?;
    // equal multiplications by -1 become one
    Ok(simplify(&lowered)?)
}

/// What the product of two n × n matrices costs by one scheme.
///
/// ```
/// use crease_paper::products::{counts, Scheme};
/// let table = counts(&[2, 4], 1)?;
/// let row = table.iter().find(|r| (r.size, r.scheme) == (4, Scheme::Strassen)).unwrap();
/// assert_eq!((row.plain.multiplications, row.plain.sums()), (49, 198));
/// assert_eq!(row.backprop.multiplications, 3 * 49);
/// # Ok::<(), crease::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Counts {
    /// n.
    pub size: usize,
    /// How it is computed.
    pub scheme: Scheme,
    /// From which size on it is naive.
    pub cutoff: usize,
    /// The operations, with `-` among them, as such programs are usually counted.
    pub plain: Operations,
    /// The operations over {+, x, +c, xc}: the paper's c(n) is at most their number.
    pub polynomial: Operations,
    /// The operations of value and adjoints together, by backprop of the plain program.
    pub backprop: Operations,
}

impl Counts {
    /// The overhead of backprop: its cost by that of the product.
    ///
    /// ```
    /// let row = &crease_paper::products::counts(&[8], 1)?[0];
    /// assert!(row.overhead() < 3.1); // three products and some additions
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn overhead(&self) -> f64 {
        self.backprop.total() as f64 / self.plain.total() as f64
    }
}

/// The costs of products of these sizes by all schemes, with those of their derivatives: for each size the naive product, then
/// Strassen's, then Winograd's, down to size `cutoff`. Derivatives are really derived, so sizes much above 64 take long.
///
/// ```
/// use crease_paper::products::counts;
/// let table = counts(&[2, 4, 8], 1)?;
/// let totals: Vec<u128> = table.iter().map(|r| r.plain.total()).collect();
/// assert_eq!(totals, [12, 25, 22, 112, 247, 214, 960, 2017, 1738]);
/// # Ok::<(), crease::Error>(())
/// ```
pub fn counts(sizes: &[usize], cutoff: usize) -> Result<Vec<Counts>, Error> {
    let mut table = Vec::with_capacity(3 * sizes.len());
    for (&size, scheme) in sizes.iter().flat_map(|n| Scheme::ALL.map(|s| (n, s))) {
        let program = product(size, scheme, cutoff)?;
        let backprop = vjp(&program, &How::default())?;
        // all of them use +, - and x alone
        let [plain, polynomial, backprop] =
            [&program, &over_polynomials(&program)?, &backprop].map(|p| operations(p).unwrap_or_default());
        table.push(Counts { size, scheme, cutoff, plain, polynomial, backprop });
    }
    Ok(table)
}
