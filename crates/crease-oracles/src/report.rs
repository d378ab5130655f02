//! The kink report: what a derivative program met at a point, what it picked there, and what else it could have returned.

use crate::conservative::check_choices;
use crate::sweep::{backward_sparse, backward_watched};
use crate::{OracleError, Session};
use crease_core::Limits;
use crease_core::differentiate::Selection;
use crease_core::limits::Steps;
use crease_core::local::{ActiveKink, LocalModel, Margin, Node, NodeId};
use crease_core::number::Rational;
use crease_core::{Site, Ties};

/// An active kink in a [`KinkReport`].
#[derive(Clone, Debug, PartialEq)]
pub struct KinkLine {
    /// The operation that has the kink.
    pub operation: &'static str,
    /// Its equation, and the place of that in the source.
    pub site: Site,
    /// The weights of its members that were selected; they add up to 1.
    pub weights: Vec<Rational>,
    /// Whether those are what the selection picks. An order statistic whose ties share in equal parts has no weights of single
    /// exchanges that say so; there the first is taken.
    pub followed: bool,
    /// By how much the gradient changes, in the largest of its coordinates, when this kink alone takes whichever single member
    /// changes it most. Nothing if the limit was reached before.
    pub change: Option<Rational>,
}

/// Which kinks are active at a point, how far the others are from switching, what was selected, and how much the gradient would
/// change under other selections.
///
/// For large models it is kept within [`Limits`]: margins are the smallest only, and [`KinkReport::measured`] says for how many
/// kinks the change was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct KinkReport {
    /// The gradient that the selected weights give.
    pub gradient: Vec<Rational>,
    /// The active kinks in the order of the program.
    pub active: Vec<KinkLine>,
    /// For how many of them, from the first on, the change was measured.
    pub measured: usize,
    /// The decided kinks that are nearest to switching, nearest first.
    pub nearest: Vec<Margin>,
    /// How many kinks are decided.
    pub decided: usize,
    /// For every coordinate, numbers between which it lies under all selections. They need not be attained.
    pub bounds: Vec<(Rational, Rational)>,
    /// Whether all of this is exact; see [`LocalModel::exactness`].
    pub exact: bool,
}

impl KinkReport {
    /// The report for the derivative program that a selection makes.
    ///
    /// ```
    /// use crease_core::{differentiate::Selection, local::localize, relu, trace, Rational, Tensor};
    /// use crease_oracles::{KinkReport, Session};
    /// let p = trace(2, |x| relu(x[0]) - relu(-x[0]) + 3.0 * relu(x[1])).unwrap();
    /// let at = [Tensor::scalar(Rational::ZERO), Tensor::scalar(Rational::from(5))];
    /// let model = localize(&p, &at).unwrap();
    /// let report = KinkReport::new(&Session::new(&model, 0), &Selection::paper(), &Default::default()).unwrap();
    /// assert_eq!(report.gradient, [0, 3].map(Rational::from)); // the derivative is (1, 3)
    /// assert_eq!(report.active.len(), 2);
    /// assert_eq!(report.active[0].change, Some(Rational::ONE));
    /// assert_eq!((report.nearest[0].margin, report.decided), (5.0, 1));
    /// assert_eq!(report.width(), Rational::from(2)); // anything from 0 to 2
    /// ```
    pub fn new(session: &Session<'_>, selection: &Selection, limits: &Limits) -> Result<Self, OracleError> {
        let first = Selection { order: Ties::First, ..selection.clone() };
        let choice = |(kink, &n): (&ActiveKink, &usize)| {
            let uniform = || vec![Rational::new(1, n as i64).unwrap_or_default(); n];
            match kink.weights(selection) {
                Some(weights) => (weights, true),
                None => (kink.weights(&first).unwrap_or_else(uniform), false),
            }
        };
        let kinks = session.model().kinks().iter().zip(session.sizes());
        let picked: Vec<(Vec<Rational>, bool)> = kinks.map(choice).collect();
        let (choices, followed): (Vec<_>, Vec<_>) = picked.into_iter().unzip();
        let mut report = KinkReport::of_choices(session, &choices, limits)?;
        report.active.iter_mut().zip(followed).for_each(|(line, f)| line.followed = f);
        Ok(report)
    }

    /// The report for given weights of the members of each kink.
    ///
    /// ```
    /// use crease_core::{abs, local::localize, trace, Rational, Tensor};
    /// use crease_oracles::{KinkReport, Session};
    /// let p = trace(1, |x| abs(x[0])).unwrap();
    /// let model = localize(&p, &[Tensor::scalar(Rational::ZERO)]).unwrap();
    /// let right = vec![vec![Rational::ZERO, Rational::ONE]];
    /// let report = KinkReport::of_choices(&Session::new(&model, 0), &right, &Default::default()).unwrap();
    /// assert_eq!((&report.gradient[0], &report.active[0].change), (&Rational::ONE, &Some(Rational::from(2))));
    /// ```
    pub fn of_choices(session: &Session<'_>, choices: &[Vec<Rational>], limits: &Limits) -> Result<Self, OracleError> {
        let (model, from) = (session.model(), session.from()?);
        check_choices(session, choices)?;
        let share = |kink: usize, k: usize| Some(&choices[kink][k]).filter(|c| !c.is_zero()).cloned();
        let mut adjoints: Vec<Rational> = vec![Rational::ZERO; choices.len()];
        let gradient = backward_watched(session, session.weights(), from, share, |kink, a| adjoints[kink] = a.clone())?;
        let mut left = session.token().steps_of(limits.visits);
        let mut measured = 0;
        let mut active = Vec::with_capacity(choices.len());
        for (kink, (line, adjoint)) in model.kinks().iter().zip(&adjoints).enumerate() {
            let change = match left.left() {
                0 => None,
                _ => largest_change(model, line.node, adjoint, share, &mut left),
            };
            if change.is_none() {
                left = session.token().steps_of(0);
            }
            measured += usize::from(change.is_some());
            active.push(KinkLine {
                operation: line.operation,
                site: line.site.clone(),
                weights: choices[kink].clone(),
                followed: true,
                change,
            });
        }
        Ok(KinkReport {
            gradient,
            active,
            measured,
            nearest: nearest(model.margins(), limits.margins),
            decided: model.margins().len(),
            bounds: session.bounds()?.to_vec(),
            exact: model.is_exact(),
        })
    }

    /// The largest width of the bounds: no selection changes a coordinate of the gradient by more.
    pub fn width(&self) -> Rational {
        self.bounds.iter().map(|(low, high)| high - low).max().unwrap_or_default()
    }
}

/// How much the gradient changes at most when one kink takes another member. Nothing if that takes more than the visits left.
///
/// Kinks do not use themselves: with this one alone changed, the gradient changes by its adjoint times the difference of the member
/// and what was selected.
fn largest_change(
    model: &LocalModel,
    kink: NodeId,
    adjoint: &Rational,
    share: impl Fn(usize, usize) -> Option<Rational> + Copy,
    left: &mut Steps<'_>,
) -> Option<Rational> {
    let (members, round) = match model.node(kink) {
        Node::Max(members) | Node::Taken(members) => (members, false),
        Node::Norm(members) => (members, true),
        Node::Direction(_) | Node::Linear(_) | Node::Seam { .. } => return None,
    };
    if adjoint.is_zero() {
        return Some(Rational::ZERO);
    }
    let selected = backward_sparse(model, [(kink, adjoint.clone())], share, left)?;
    let mut largest = Rational::ZERO;
    for &member in members {
        let whole = backward_sparse(model, [(member, adjoint.clone())], share, left)?;
        left.take(selected.terms().len())?;
        // a norm may as well take minus a member
        let other = round.then(|| whole.scaled(&Rational::from(-1)));
        for taken in [Some(whole), other].into_iter().flatten() {
            let change = taken.minus(&selected);
            largest = change.terms().iter().map(|t| t.1.abs()).fold(largest, Ord::max);
        }
    }
    Some(largest)
}

/// The smallest margins, in ascending order.
fn nearest(margins: &[Margin], count: usize) -> Vec<Margin> {
    let mut order: Vec<usize> = (0..margins.len()).collect();
    let by_margin = |&i: &usize, &j: &usize| margins[i].margin.total_cmp(&margins[j].margin).then(i.cmp(&j));
    if count < order.len() {
        order.select_nth_unstable_by(count, by_margin);
        order.truncate(count);
    }
    order.sort_by(by_margin);
    order.into_iter().map(|i| margins[i].clone()).collect()
}
