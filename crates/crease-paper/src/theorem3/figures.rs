//! The overhead of p directional derivatives, with that of backprop beside it.
//!
//! An order enters, costs at unit prices leave. Nothing is expanded, so orders in the hundreds take no time.

use super::chain::unit;
use super::function::{Derivative, function, in_dictionary};
use crease::Error;
use crease_core::differentiate::{How, backprop};

/// What derivatives of Theorem 3's function cost, at unit prices.
///
/// ```
/// use crease_paper::theorem3::figures;
/// let at: Vec<_> = [4, 16, 64].into_iter().map(figures).collect::<Result<_, _>>()?;
/// // p directional derivatives get dearer with p, by F itself p times; the gradient does not
/// assert!(at.iter().all(|f| f.overhead(f.derivatives[0].1) == f.order as f64));
/// assert!(at.iter().all(|f| f.overhead(f.backprop) < 5.0));
/// # Ok::<(), crease::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Figures {
    /// p.
    pub order: usize,
    /// cost(P_F) = 6 p^2 + 2 p.
    pub function: u128,
    /// The cost of F and its gradient by x, B and M together.
    pub backprop: u128,
    /// The cost of programs P' over {+, x, ReLU, ReLU', +c, xc}: all but [`Derivative::Forward`], which has to be expanded to be
    /// simplified.
    pub derivatives: Vec<(Derivative, u128)>,
}

impl Figures {
    /// A cost by that of P_F.
    ///
    /// ```
    /// let f = crease_paper::theorem3::figures(2)?;
    /// assert_eq!(f.overhead(2 * f.function), 2.0);
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn overhead(&self, cost: u128) -> f64 {
        cost as f64 / self.function as f64
    }

    /// The theorem's lower bound (c - 5 p) / (40 p^2) on the overhead, if c were the cost of the cheapest p × p product.
    ///
    /// ```
    /// let f = crease_paper::theorem3::figures(4)?;
    /// assert_eq!(f.bound(2 * 64 - 16), (112.0 - 20.0) / 640.0); // with the naive product
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn bound(&self, product: u128) -> f64 {
        let p = self.order as f64;
        (product as f64 - 5.0 * p) / (40.0 * p * p)
    }
}

/// The figures for one order.
///
/// ```
/// let f = crease_paper::theorem3::figures(12)?;
/// assert_eq!(f.function, 6 * 144 + 2 * 12);
/// assert!(crease_paper::theorem3::figures(6).is_err());
/// # Ok::<(), crease::Error>(())
/// ```
pub fn figures(p: usize) -> Result<Figures, Error> {
    let f = function(p)?;
    let mut derivatives = Vec::new();
    for how in Derivative::ALL.into_iter().filter(|d| *d != Derivative::Forward) {
        derivatives.push((how, unit(&in_dictionary(p, how)?)));
    }
    let backprop = backprop(&f, &How::default())?;
    Ok(Figures { order: p, function: unit(&f), backprop: unit(&backprop), derivatives })
}
