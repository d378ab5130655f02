//! What techniques cost: by Theorem 2, and counted.

use crease::Error;
use crease_core::cost::{Price, Prices, cost};
use crease_core::differentiate::{How, Mode, Technique, backprop, forprop};
use crease_core::differentiate::{Overhead, overhead};
use crease_core::{Callee, Program, Rational};

/// The cost of a derived program.
#[derive(Clone, Debug, PartialEq)]
pub struct Derived {
    /// The tally of the program that was emitted, priced.
    pub counted: Price,
    /// By the formulas in the proof of Theorem 2.
    pub model: Price,
    /// The bound of Theorem 2 on the overhead ratio, at the given prices; nothing where an operation costs nothing.
    pub omega: Option<Rational>,
}

/// What a part of a program costs, with its derivative by each technique.
#[derive(Clone, Debug, PartialEq)]
pub struct InnerCosts {
    /// The number of scalar inputs: the paper's p.
    pub dimension: usize,
    /// cost(g).
    pub cost: Price,
    /// By backprop.
    pub backward: Derived,
    /// By forprop.
    pub forward: Derived,
    /// By the joint program of its author, if there is one.
    pub joint: Option<Price>,
    /// The prices at which ratios are taken.
    pub prices: Prices,
}

impl InnerCosts {
    /// The overhead ratio of something that costs so much; nothing if the part itself costs nothing.
    pub fn ratio(&self, price: &Price) -> Option<Rational> {
        ratio(price, &self.cost, &self.prices)
    }

    /// What the paper prints for a part that is differentiated forward: 3p + 5. It holds as a bound; for programs of + and ×
    /// Theorem 2 itself gives 3p + 1.
    pub fn printed(&self) -> Rational {
        Rational::from(3 * self.dimension as i64 + 5)
    }
}

/// What a program costs that calls a part, with its derivative by backprop outside and each technique inside.
#[derive(Clone, Debug, PartialEq)]
pub struct OuterCosts {
    /// The cost of the program.
    pub cost: Price,
    /// Backward throughout, the part expanded.
    pub through: Derived,
    /// Backward outside, forward inside: the paper's mixed technique.
    pub mixed: Derived,
    /// Backward outside, with backprop of the part inside.
    pub chained: Derived,
    /// Backward outside, with the joint program of the part's author; nothing if it has none.
    pub joint: Option<Derived>,
    /// The prices at which ratios are taken.
    pub prices: Prices,
}

impl OuterCosts {
    /// The overhead ratio of something that costs so much; nothing if the program itself costs nothing.
    pub fn ratio(&self, price: &Price) -> Option<Rational> {
        ratio(price, &self.cost, &self.prices)
    }
}

fn ratio(above: &Price, below: &Price, prices: &Prices) -> Option<Rational> {
    above.at(prices).checked_div(&below.at(prices))
}

/// Costs a part: a program with one scalar output, and the joint program of its author if it has one.
///
/// ```
/// use crease::{Callee, How, cost::Prices, trace};
/// use crease_paper::experiments::beyond::inner_costs;
/// let program = trace(3, |x| x[0] * x[1] + x[2] * x[0]).unwrap().into();
/// let costs = inner_costs(&Callee { program, joint: None }, &How::default(), &Prices::unit())?;
/// // every operation attains Theorem 2's constant for forward mode: 3p + 1 = 10
/// assert_eq!(costs.forward.omega.clone().unwrap().to_string(), "10");
/// assert_eq!(costs.ratio(&costs.forward.model).unwrap().to_string(), "10");
/// # Ok::<(), crease::Error>(())
/// ```
pub fn inner_costs(part: &Callee, how: &How, prices: &Prices) -> Result<InnerCosts, Error> {
    let p = &part.program;
    Ok(InnerCosts {
        dimension: p.dimension(),
        cost: cost(p),
        backward: derived(cost(&backprop(p, how)?), overhead(p, how, Mode::Backward, prices)?),
        forward: derived(cost(&forprop(p, how)?), overhead(p, how, Mode::Forward, prices)?),
        joint: part.joint.as_deref().map(cost),
        prices: prices.clone(),
    })
}

/// Costs a program that calls the part of the given name.
///
/// ```
/// use crease::{How, cost::Prices, formats::parse};
/// use crease_paper::experiments::beyond::outer_costs;
/// let text = "program long(a, b, c) { let d = a * b + c let e = d * d + a return e * e + d * b }
///             program f(x, y) = long(x, y, x * y) + x";
/// let costs = outer_costs(parse(text).unwrap().main(), "long", &How::default(), &Prices::unit())?;
/// // forward inside is dearer than backward throughout
/// assert!(costs.mixed.counted.at(&costs.prices) > costs.through.counted.at(&costs.prices));
/// # Ok::<(), crease::Error>(())
/// ```
pub fn outer_costs(program: &Program, part: &str, how: &How, prices: &Prices) -> Result<OuterCosts, Error> {
    let with = |technique: Technique| {
        let how = how.clone().callee(part, technique);
        let counted = cost(&backprop(program, &how)?);
        Ok::<_, Error>(derived(counted, overhead(program, &how, Mode::Backward, prices)?))
    };
    // a part may be called from a part
    let calls = |p: &Program| p.callees().iter().any(|c| c.program.name() == part && c.joint.is_some());
    let has_joint = calls(program) || program.library().iter().any(|p| calls(p));
    Ok(OuterCosts {
        cost: cost(program),
        through: with(Technique::Through)?,
        mixed: with(Technique::Forward)?,
        chained: with(Technique::Backward)?,
        joint: if has_joint { Some(with(Technique::Joint)?) } else { None },
        prices: prices.clone(),
    })
}

fn derived(counted: Price, by_theorem: Overhead) -> Derived {
    Derived { counted, model: by_theorem.model, omega: by_theorem.omega }
}
