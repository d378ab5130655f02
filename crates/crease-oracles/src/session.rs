//! One output of a local model, with everything that its oracles have in common.
//!
//! What enters is a model and the number of a scalar output. What leaves are the answers: every oracle is a method of the [`Session`], written in
//! its own room. What several of them need is computed when it is first asked for, and once: the coefficients in each kind of numbers, the sizes of kinks, the cost of
//! sweeps, the normal form, bounds, one Clarke subgradient, the conservative gradient. So a second question costs what is new about it.
//!
//! What an answer may take is the session's ([`Session::within`]): the work token that all loops charge, and the limits of single parts. Searches and lists take limits of their own, which share
//! its count of work.

use crate::bounds::{Bounds, bounds};
use crate::decide::{Decision, Effort};
use crate::enclosed::{enclosed_nodes, nodes_below};
use crate::sweep::{SweepCost, Weights, sizes};
use crate::{ClarkeElement, Conservative, Lexicographic, Neighbours, OracleError};
use crease_core::Limits;
use crease_core::limits::{OracleLimits, Steps};
use crease_core::local::{LocalModel, Node, NodeId, NormalForm};
use crease_core::number::{Field61, Mixed, NumberError, Rational};
use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// One scalar output of a local model, and what was computed of it so far. See the [crate] for its questions.
///
/// ```
/// use crease_core::{local::localize, relu, trace, Rational, Tensor};
/// use crease_oracles::{Effort, Session};
/// let p = trace(1, |x| relu(x[0]) - relu(-x[0])).unwrap(); // the identity
/// let model = localize(&p, &[Tensor::scalar(Rational::ZERO)]).unwrap();
/// let session = Session::new(&model, 0);
/// assert_eq!(session.clarke_element(7).unwrap().gradient, [Rational::ONE]);
/// assert_eq!(session.differentiable(&Effort::default()).unwrap().verdict.word(), "yes");
/// assert!(!session.conservative().unwrap().is_singleton());
/// assert_eq!(session.normal_form().unwrap().kinks.len(), 2); // which two of them needed
/// ```
#[derive(Clone)]
pub struct Session<'m> {
    model: Cow<'m, LocalModel>,
    output: usize,
    limits: Limits,
    of_model: Box<OfModel>,
    pub(crate) of_output: Box<OfOutput>,
}

/// What is known of the model.
#[derive(Clone, Default)]
struct OfModel {
    sizes: OnceLock<Vec<usize>>,
    cost: OnceLock<SweepCost>,
    weights: OnceLock<Weights<Rational>>,
    known: OnceLock<Weights<Mixed>>,
    field: OnceLock<Result<Weights<Field61>, NumberError>>,
    enclosed: OnceLock<Vec<bool>>,
    normal: OnceLock<Option<Arc<NormalForm>>>,
    long: OnceLock<Option<Arc<NormalForm>>>,
    choices: OnceLock<Option<Arc<NormalForm>>>,
}

/// What is known of the output.
#[derive(Clone, Default)]
pub(crate) struct OfOutput {
    below: OnceLock<Vec<bool>>,
    bounds: OnceLock<Result<Vec<Bounds>, OracleError>>,
    /// The Clarke subgradient that was asked for first, and its seed.
    pub first: OnceLock<(u64, Result<ClarkeElement, OracleError>)>,
    pub conservative: OnceLock<Result<Conservative, OracleError>>,
    plain: OnceLock<Option<Box<Session<'static>>>>,
}

impl fmt::Debug for Session<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("model", &self.model).field("output", &self.output).finish_non_exhaustive()
    }
}

impl<'m> Session<'m> {
    /// A session for one output of a model. That there is such an output is for the questions to find out.
    pub fn new(model: &'m LocalModel, output: usize) -> Self {
        Session::of(Cow::Borrowed(model), output)
    }

    fn of(model: Cow<'m, LocalModel>, output: usize) -> Self {
        Session { model, output, limits: Limits::DEFAULT, of_model: Box::default(), of_output: Box::default() }
    }

    /// The same session within limits: what its questions may spend on their parts, and what ends them. What was found before stays.
    ///
    /// ```
    /// use crease_core::{local::localize, relu, trace, Limits, Rational, Tensor, limits::OracleLimits};
    /// use crease_oracles::{Effort, Session};
    /// let p = trace(1, |x| relu(x[0]) - relu(-x[0])).unwrap(); // the identity, which takes a normal form to see
    /// let model = localize(&p, &[Tensor::scalar(Rational::ZERO)]).unwrap();
    /// let verdict = |oracles| {
    ///     let limits = Limits { oracles, ..Limits::default() };
    ///     Session::new(&model, 0).within(&limits).differentiable(&Effort::default()).unwrap().verdict.word()
    /// };
    /// assert_eq!(verdict(OracleLimits::DEFAULT), "yes");
    /// assert_eq!(verdict(OracleLimits { graph: 0, ..OracleLimits::DEFAULT }), "unknown");
    /// ```
    pub fn within(mut self, limits: &Limits) -> Self {
        self.limits = limits.metered();
        self
    }

    /// What its questions may spend on their parts.
    pub(crate) fn limits(&self) -> &OracleLimits {
        &self.limits.oracles
    }

    /// What its questions charge their work to.
    pub(crate) fn token(&self) -> &Limits {
        &self.limits
    }

    /// Charges work.
    pub(crate) fn charge(&self, units: u64) -> Result<(), OracleError> {
        self.limits.charge(units).map_err(OracleError::Stopped)
    }

    /// An error if it is time to stop: then what was not found means nothing.
    pub(crate) fn go_on(&self) -> Result<(), OracleError> {
        self.limits.check().map_err(OracleError::Stopped)
    }

    /// Turns to another output; what belongs to the model stays.
    ///
    /// ```
    /// use crease_core::{abs, local::localize, trace_shapes, Rational, Shape, Tensor};
    /// use crease_oracles::Session;
    /// let p = trace_shapes(&[Shape::scalar()], |x| vec![abs(x[0]), 2.0 * x[0]]).unwrap();
    /// let mut session = Session::owning(localize(&p, &[Tensor::scalar(Rational::ZERO)]).unwrap(), 0);
    /// assert!(!session.conservative().unwrap().is_singleton());
    /// session.turn_to(1);
    /// assert!(session.conservative().unwrap().is_singleton());
    /// ```
    pub fn turn_to(&mut self, output: usize) {
        if output != self.output {
            (self.output, self.of_output) = (output, Box::default());
        }
    }

    /// The model.
    pub fn model(&self) -> &LocalModel {
        &self.model
    }

    /// The number of the output.
    pub fn output(&self) -> usize {
        self.output
    }

    /// The node of the output.
    pub(crate) fn from(&self) -> Result<NodeId, OracleError> {
        let outputs = self.model.outputs();
        let missing = OracleError::NoOutput { number: self.output, outputs: outputs.len() };
        outputs.get(self.output).copied().ok_or(missing)
    }

    /// The same function of the direction without Euclidean norms, if there are some and they cancel. Questions about the function are better asked of it;
    /// those about what selections choose are not.
    pub(crate) fn plain(&self) -> Option<&Session<'static>> {
        let plain = || {
            let plain = self.model.without_norms_within(self.output, &self.limits)?;
            Some(Box::new(self.beside(plain)))
        };
        self.of_output.plain.get_or_init(plain).as_deref()
    }

    /// The same where it is the function itself around the point that has no norms, and not only its derivatives along directions: norms of curved arguments may
    /// be the same to first order and differ beside the point.
    pub(crate) fn plain_around(&self) -> Option<&Session<'static>> {
        self.plain().filter(|_| self.model.has_affine_kinks())
    }

    /// A session for the only output of another model, with the same limits.
    pub(crate) fn beside(&self, model: LocalModel) -> Session<'static> {
        Session { limits: self.limits.clone(), ..Session::owning(model, 0) }
    }

    /// The numbers of members of every kink.
    pub(crate) fn sizes(&self) -> &[usize] {
        self.of_model.sizes.get_or_init(|| sizes(&self.model))
    }

    /// The cost of one sweep each way.
    pub(crate) fn cost(&self) -> SweepCost {
        *self.of_model.cost.get_or_init(|| SweepCost::of(&self.model))
    }

    /// The coefficients, or the middles of their enclosures.
    pub(crate) fn weights(&self) -> &Weights<Rational> {
        self.of_model.weights.get_or_init(|| Weights::middles(&self.model))
    }

    /// What is known of the coefficients, enclosures and all.
    pub(crate) fn known(&self) -> &Weights<Mixed> {
        self.of_model.known.get_or_init(|| Weights::known(&self.model))
    }

    /// The coefficients in the prime field, if all of them have a place there.
    pub(crate) fn field(&self) -> Result<&Weights<Field61>, NumberError> {
        self.of_model.field.get_or_init(|| Weights::in_field(&self.model)).as_ref().map_err(Clone::clone)
    }

    /// Which nodes rest on an enclosed coefficient.
    pub(crate) fn enclosed_nodes(&self) -> &[bool] {
        self.of_model.enclosed.get_or_init(|| enclosed_nodes(&self.model))
    }

    /// Which nodes the output depends on.
    pub(crate) fn nodes_below(&self, from: NodeId) -> &[bool] {
        self.of_output.below.get_or_init(|| nodes_below(&self.model, from))
    }

    /// The normal form, of all outputs, if it is not too large; of enclosed coefficients it has the middle.
    pub fn normal_form(&self) -> Option<&Arc<NormalForm>> {
        self.of_model
            .normal
            .get_or_init(|| self.eliminated(LocalModel::normal_form_within, self.limits().graph))
            .as_ref()
    }

    /// The same for those who take what it takes.
    pub(crate) fn long_normal_form(&self) -> Option<&Arc<NormalForm>> {
        let long = || self.eliminated(LocalModel::normal_form_within, self.limits().normal_form);
        self.normal_form().or_else(|| self.of_model.long.get_or_init(long).as_ref())
    }

    /// The normal form of all that selections may choose among: the same, unless a piece is taken.
    pub(crate) fn choices(&self) -> Option<&Arc<NormalForm>> {
        if !self.model.nodes().any(|n| matches!(n, Node::Taken(_))) {
            return self.normal_form();
        }
        self.of_model.choices.get_or_init(|| self.eliminated(LocalModel::choices_within, self.limits().graph)).as_ref()
    }

    fn eliminated(
        &self,
        form: fn(&LocalModel, Steps<'_>) -> Option<NormalForm>,
        steps: usize,
    ) -> Option<Arc<NormalForm>> {
        #[cfg(test)]
        tests::BUILT.with(|n| n.set(n.get() + 1));
        form(&self.model, self.limits.steps_of(steps)).map(Arc::new)
    }

    /// Bounds on every coordinate of the conservative gradient.
    pub(crate) fn bounds(&self) -> Result<&[Bounds], OracleError> {
        self.of_output.bounds.get_or_init(|| bounds(self)).as_deref().map_err(Clone::clone)
    }
}

impl Session<'static> {
    /// A session that keeps the model.
    pub fn owning(model: LocalModel, output: usize) -> Self {
        Session::of(Cow::Owned(model), output)
    }
}

/// Functions for single questions.
macro_rules! alone {
    ($($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {$(
        #[doc = concat!("[`Session::", stringify!($name), "`], in a session of its own.")]
        pub fn $name(model: &LocalModel, output: usize $(, $argument: $type)*) -> Result<$answer, OracleError> {
            Session::new(model, output).$name($($argument),*)
        }
    )*};
}

alone! {
    clarke_element(seed: u64) -> ClarkeElement;
    clarke_along(direction: &[Rational]) -> Option<ClarkeElement>;
    gradient_at_choices(choices: &[Vec<Rational>]) -> Vec<Rational>;
    lexicographic(basis: &[Vec<Rational>]) -> Lexicographic;
    lexicographic_forward(basis: &[Vec<Rational>]) -> Lexicographic;
}

/// [`Session::differentiable`], in a session of its own.
pub fn differentiable(model: &LocalModel, output: usize, effort: &Effort<'_>) -> Result<Decision, OracleError> {
    Session::new(model, output).within(&effort.limits).differentiable(effort)
}

/// [`Session::conservative`], in a session of its own.
pub fn conservative(model: &LocalModel, output: usize) -> Result<Conservative, OracleError> {
    Session::new(model, output).conservative().cloned()
}

/// [`Session::neighbouring_gradients`], in a session of its own, without being told anything on the way.
pub fn neighbouring_gradients(model: &LocalModel, output: usize, limits: &Limits) -> Result<Neighbours, OracleError> {
    Session::new(model, output).within(limits).neighbouring_gradients(limits, |_| ())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KinkReport;
    use crease_core::differentiate::Selection;
    use crease_core::{Tensor, abs, local::localize, relu, trace};
    use std::cell::Cell;

    thread_local! {
        /// How many normal forms were made.
        pub(super) static BUILT: Cell<usize> = const { Cell::new(0) };
    }

    /// Everything is asked, some of it twice: there is one normal form, and the answers are those of sessions of their own.
    #[test]
    fn what_is_shared_is_made_once() {
        let p = trace(2, |x| abs(x[0] - x[1]) + relu(x[0]) - relu(relu(x[1]) - x[0])).unwrap();
        let model = localize(&p, &vec![Tensor::scalar(Rational::ZERO); 2]).unwrap();
        let (session, effort, limits) = (Session::new(&model, 0), Effort::default(), Limits::default());
        let half = [Rational::new(1, 3).unwrap(), Rational::new(1, 5).unwrap()];
        BUILT.set(0);
        for round in 0..2 {
            let clarke = session.clarke_element(effort.seed).unwrap();
            let conservative = session.conservative().unwrap();
            let decision = session.differentiable(&effort).unwrap();
            let report = KinkReport::new(&session, &Selection::paper(), &limits).unwrap();
            let all = session.neighbouring_gradients(&limits, |_| ()).unwrap();
            let place = session.membership_among(&all, &half, &Default::default()).unwrap();
            let certificate = session.membership_certificate(&half, &place, &all.gradients).unwrap();
            assert_eq!(BUILT.get(), 1, "in round {round}");
            assert_eq!(clarke, super::clarke_element(&model, 0, effort.seed).unwrap());
            assert_eq!(*conservative, super::conservative(&model, 0).unwrap());
            let own = super::differentiable(&model, 0, &effort).unwrap();
            assert_eq!((&decision.verdict, decision.certificate()), (&own.verdict, own.certificate()));
            assert_eq!(report, KinkReport::new(&Session::new(&model, 0), &Selection::paper(), &limits).unwrap());
            let others = super::neighbouring_gradients(&model, 0, &limits).unwrap();
            assert_eq!(all, others);
            let own = Session::new(&model, 0);
            assert_eq!(own.membership_among(&others, &half, &Default::default()).unwrap(), place);
            assert_eq!(own.membership_certificate(&half, &place, &others.gradients).unwrap(), certificate);
            BUILT.set(1);
        }
        assert!(session.normal_form().is_some_and(|n| std::ptr::eq(n, session.choices().unwrap())));
    }

    /// A piece that is taken is a kink for selections only: there are two normal forms, each made once.
    #[test]
    fn choices_have_a_form_of_their_own() {
        let p = crease_formats::parse("program p(x) = select { x == 0 => 2 * x, else => x }").unwrap();
        let model = localize(p.main(), &[Tensor::scalar(Rational::ZERO)]).unwrap();
        let session = Session::new(&model, 0);
        BUILT.set(0);
        for _ in 0..2 {
            assert!(!session.conservative().unwrap().is_singleton());
            assert_eq!(session.differentiable(&Effort::default()).unwrap().verdict.word(), "yes");
            assert_eq!((session.normal_form().unwrap().kinks.len(), session.choices().unwrap().kinks.len()), (0, 1));
        }
        assert_eq!(BUILT.get(), 2);
    }
}
