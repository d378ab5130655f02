//! What is picked at each kind of kink.
//!
//! A derivative program has to return *something* where an operation has no derivative. A [`Selection`] says what, for
//! each kind of operation, and the same selection gives the same answer forward and backward. The presets reproduce the
//! paper and three frameworks. [`Selection::validate`] refuses what is no element of a conservative gradient of the
//! operation: then the result of the chain rule would mean nothing.

use super::{Kink, KinkKind};
use crate::number::Rational;
use std::fmt;

/// What a [`Op::Joint`](super::Op::Joint) picks at its kink; made by a [`Selection`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Choice {
    /// The derivative where an operation of one variable has its kink.
    pub at_kink: Rational,
    /// Which tied arguments take the weight.
    pub ties: Ties,
}

/// Which of several tied arguments of a maximum take the derivative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ties {
    /// The first of them.
    First,
    /// The last of them.
    Last,
    /// All of them, in equal parts.
    Average,
    /// All of them, each in full. Some frameworks do this; it is no element of any conservative gradient, and a
    /// [`Selection`] that holds it is refused.
    Every,
}

impl Ties {
    /// The name in the text language.
    pub fn name(self) -> &'static str {
        match self {
            Ties::First => "first",
            Ties::Last => "last",
            Ties::Average => "average",
            Ties::Every => "every",
        }
    }

    /// The convention of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Ties::First, Ties::Last, Ties::Average, Ties::Every].into_iter().find(|t| t.name() == name)
    }
}

/// What is picked at each kind of kink; one selection gives one answer, forward and backward.
///
/// ```
/// use crease_core::differentiate::Selection;
/// let s = Selection::parse("torch, relu=1/2").unwrap();
/// assert_eq!(s.relu.to_string(), "0.5");
/// assert!(Selection::parse("relu=2").unwrap().validate().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// relu'(0), from 0 to 1.
    pub relu: Rational,
    /// The derivative of relu inside `a * relu(b)` at b = 0, from 0 to 1.
    pub times_relu: Rational,
    /// abs'(0), from -1 to 1; also of each coordinate of a norm.
    pub abs: Rational,
    /// Where between its left slope (0) and its right slope (1) leaky relu is taken at 0.
    pub leaky_relu: Rational,
    /// Where between its left slope (0) and its right slope (1) ELU is taken at 0.
    pub elu: Rational,
    /// Which tied arguments of max, min, norminf and max_linear take the weight.
    pub max: Ties,
    /// Which tied elements take the weight in order statistics, medians and sorting (which knows no average: there
    /// tied elements keep their order).
    pub order: Ties,
    /// The subgradient of a Euclidean norm at 0: the first coordinates of a vector of the unit ball, the others are 0.
    pub norm2: Vec<Rational>,
}

impl Selection {
    /// The choices of the paper: relu'(0) = 0 by Example 1, but 1 inside the x-ReLU program of the appendix; |x| has slope -1
    /// at 0, ELU slope 1; of tied arguments the first.
    pub fn paper() -> Self {
        Selection {
            relu: Rational::ZERO,
            times_relu: Rational::ONE,
            abs: Rational::from(-1),
            leaky_relu: Rational::ZERO,
            elu: Rational::ONE,
            max: Ties::First,
            order: Ties::First,
            norm2: Vec::new(),
        }
    }

    /// What PyTorch returns: relu'(0) = 0, abs'(0) = 0, 0 for a norm at 0, ties of maximum and amax shared equally, one index for median. [`Framework`](super::Framework) has the
    /// version, and says where it returns something else.
    pub fn torch() -> Self {
        Selection {
            relu: Rational::ZERO,
            times_relu: Rational::ZERO,
            abs: Rational::ZERO,
            leaky_relu: Rational::ZERO,
            elu: Rational::ZERO,
            max: Ties::Average,
            order: Ties::First,
            norm2: Vec::new(),
        }
    }

    /// What JAX returns: relu'(0) = 0, abs'(0) = 1, leaky_relu from the right, ties of maximum shared equally. For a Euclidean norm at 0 it
    /// returns NaN, which is no choice: this takes 0. [`Framework`](super::Framework) has the version, and says where it returns something else.
    pub fn jax() -> Self {
        Selection { abs: Rational::ONE, leaky_relu: Rational::ONE, ..Selection::torch() }
    }

    /// What TensorFlow returns: relu'(0) = 0, abs'(0) = 0 (`tf.sign`), leaky_relu from the left (its gradient asks whether
    /// features > 0), ELU from the right (its gradient asks whether activations < 0), and `tf.maximum` and `tf.minimum` give the
    /// whole weight to the first of two tied arguments. `tf.reduce_max` shares ties equally instead; a selection has one `max` for
    /// both, so for reductions write `tensorflow, max=average`.
    ///
    /// ```
    /// use crease_core::{Ties, differentiate::Selection};
    /// assert_eq!(Selection::tensorflow().max, Ties::First);
    /// assert_eq!(Selection::parse("tensorflow, max=average").unwrap().max, Ties::Average);
    /// ```
    pub fn tensorflow() -> Self {
        Selection { elu: Rational::ONE, max: Ties::First, ..Selection::torch() }
    }

    /// The presets by name.
    pub fn preset(name: &str) -> Option<Self> {
        match name {
            "paper" => Some(Selection::paper()),
            "torch" => Some(Selection::torch()),
            "jax" => Some(Selection::jax()),
            "tensorflow" => Some(Selection::tensorflow()),
            _ => None,
        }
    }

    /// Reads `preset, name=value, ...`, for example `torch, relu=1/2, max=last`. Without a preset, the paper's. Each name is there once.
    ///
    /// ```
    /// use crease_core::differentiate::Selection;
    /// let refused = |text: &str| Selection::parse(text).unwrap_err().to_string();
    /// assert_eq!(refused("torch, paper"), "a selection begins with one preset, and `paper` would be another one after `torch`");
    /// assert_eq!(refused("relu=0, relu=1"), "a selection says relu twice");
    /// assert_eq!(refused("torch,,relu=1"), "part 2 of the selection is empty; write a preset or name=value between commas");
    /// ```
    pub fn parse(text: &str) -> Result<Self, SelectionError> {
        let mut out = Selection::paper();
        let mut named: Vec<&str> = Vec::new();
        let mut preset = None;
        for (i, part) in parts(text).into_iter().map(str::trim).enumerate() {
            match part.split_once('=') {
                None if part.is_empty() => return Err(SelectionError::Empty { part: i + 1 }),
                None => {
                    let found = Selection::preset(part).ok_or_else(|| SelectionError::Preset(part.into()))?;
                    if i > 0 {
                        return Err(SelectionError::Second { preset: part.into(), first: preset.map(String::from) });
                    }
                    (out, preset) = (found, Some(part));
                }
                Some((name, value)) => {
                    let name = name.trim();
                    out.set(name, value.trim())?;
                    if named.contains(&name) {
                        return Err(SelectionError::Twice(name.into()));
                    }
                    named.push(name);
                }
            }
        }
        Ok(out)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), SelectionError> {
        let bad = || SelectionError::Value { name: name.into(), value: value.into() };
        if let Some(ties) = match name {
            "max" => Some(&mut self.max),
            "order" => Some(&mut self.order),
            _ => None,
        } {
            *ties = Ties::from_name(value).ok_or_else(bad)?;
            return Ok(());
        }
        if name == "norm2" {
            let list = value.strip_prefix('[').and_then(|v| v.strip_suffix(']'));
            let numbers = match list {
                Some(list) if list.trim().is_empty() => Vec::new(),
                Some(list) => list.split(',').map(str::trim).collect(),
                None => vec![value],
            };
            self.norm2 = numbers.into_iter().map(|x| x.parse().map_err(|_| bad())).collect::<Result<_, _>>()?;
            return Ok(());
        }
        let slot = match name {
            "relu" => &mut self.relu,
            "times_relu" => &mut self.times_relu,
            "abs" => &mut self.abs,
            "leaky_relu" => &mut self.leaky_relu,
            "elu" => &mut self.elu,
            _ => return Err(SelectionError::Name(name.into())),
        };
        *slot = value.parse().map_err(|_| bad())?;
        Ok(())
    }

    /// Checks that every choice is a Clarke subgradient of its operation at the kink, and so in the autodiff conservative gradient.
    pub fn validate(&self) -> Result<(), SelectionError> {
        let ranges = [
            ("relu", &self.relu, 0, 1),
            ("times_relu", &self.times_relu, 0, 1),
            ("abs", &self.abs, -1, 1),
            ("leaky_relu", &self.leaky_relu, 0, 1),
            ("elu", &self.elu, 0, 1),
        ];
        for (name, value, low, high) in ranges {
            if *value < Rational::from(low) || *value > Rational::from(high) {
                return Err(SelectionError::Range { name: name.into(), value: value.clone(), low, high });
            }
        }
        let square: Rational = self.norm2.iter().map(|x| x * x).sum();
        if square > Rational::ONE {
            return Err(SelectionError::Outside { vector: vector(&self.norm2), square });
        }
        for (name, ties) in [("max", self.max), ("order", self.order)] {
            if ties == Ties::Every {
                return Err(SelectionError::Every(name.into()));
            }
        }
        Ok(())
    }

    /// What this selection picks at the kink of an operation.
    pub fn choice(&self, kink: &Kink) -> Choice {
        // between the slope on the left and the slope 1 on the right
        let between = |left: &Rational, share: &Rational| left + &(share * &(&Rational::ONE - left));
        let at_kink = match kink {
            Kink::Relu => self.relu.clone(),
            Kink::TimesRelu => self.times_relu.clone(),
            Kink::Abs | Kink::Norm1(_) | Kink::NormInf(_) => self.abs.clone(),
            Kink::LeakyRelu(slope) => between(slope, &self.leaky_relu),
            Kink::Elu(scale) => between(scale, &self.elu),
            Kink::Max(_) | Kink::Min(_) | Kink::OrderStatistic(..) | Kink::Sort(_) => Rational::ZERO,
            // the choice of a norm is a vector, which rules add
            Kink::MaxLinear { .. } | Kink::Norm2(_) => Rational::ZERO,
        };
        Choice { at_kink, ties: self.ties(kink.kind()) }
    }

    /// Which tied members of an operation take the weight.
    pub(crate) fn ties(&self, kind: KinkKind) -> Ties {
        match kind {
            KinkKind::Max | KinkKind::Min | KinkKind::NormInf | KinkKind::MaxLinear { .. } => self.max,
            KinkKind::OrderStatistic => self.order,
            KinkKind::Sort if self.order == Ties::Last => Ties::Last,
            // a permutation is one order or another, never shared
            KinkKind::Sort => Ties::First,
            // no member of these ties with another
            KinkKind::Relu | KinkKind::TimesRelu | KinkKind::Abs | KinkKind::LeakyRelu | KinkKind::Elu => Ties::First,
            KinkKind::Norm1 | KinkKind::Norm2 => Ties::First,
        }
    }
}

impl Default for Selection {
    fn default() -> Self {
        Selection::paper()
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "relu={}, times_relu={}, abs={}, leaky_relu={}, elu={}, max={}, order={}, norm2={}",
            self.relu,
            self.times_relu,
            self.abs,
            self.leaky_relu,
            self.elu,
            self.max.name(),
            self.order.name(),
            vector(&self.norm2)
        )
    }
}

/// A vector as a selection writes it: a single 0 if there is nothing else in it.
fn vector(x: &[Rational]) -> String {
    match x.iter().all(Rational::is_zero) {
        true => "0".into(),
        false => format!("[{}]", x.iter().map(Rational::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// The parts of a selection: commas inside brackets belong to a vector.
fn parts(text: &str) -> Vec<&str> {
    let mut depth = 0usize;
    text.split(|c| {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
    .collect()
}

/// Why a selection cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SelectionError {
    /// No preset of that name.
    #[error("there is no selection `{0}`; use paper, torch, jax or tensorflow, or name=value such as relu=1/2")]
    Preset(String),
    /// A preset that is not the first part.
    #[error(
        "a selection begins with one preset, and `{preset}` would be another one after {}",
        first.as_ref().map_or("other parts".into(), |f| format!("`{f}`"))
    )]
    Second {
        /// The preset.
        preset: String,
        /// The preset that the selection begins with, if it does.
        first: Option<String>,
    },
    /// A parameter that is given twice.
    #[error("a selection says {0} twice")]
    Twice(String),
    /// Nothing between two commas, or nothing at all.
    #[error("part {part} of the selection is empty; write a preset or name=value between commas")]
    Empty {
        /// Which, counted from 1.
        part: usize,
    },
    /// No parameter of that name.
    #[error("a selection has no `{0}`; it has relu, times_relu, abs, leaky_relu, elu, max, order and norm2")]
    Name(String),
    /// A value that does not parse.
    #[error(
        "`{value}` is no choice for {name}; use a number, first, last or average for max and order, or a list such as [3/5, 4/5] for norm2"
    )]
    Value {
        /// The parameter.
        name: String,
        /// The text.
        value: String,
    },
    /// A derivative outside the Clarke subdifferential at the kink. (Definition 1 alone would let it pass, since an argument that
    /// stays at a kink does not move; but no autodiff conservative gradient of the paper holds it.)
    #[error("{name} = {value} is no Clarke subgradient at the kink: it must lie between {low} and {high}")]
    Range {
        /// The parameter.
        name: String,
        /// Its value.
        value: Rational,
        /// The smallest possible.
        low: i32,
        /// The largest possible.
        high: i32,
    },
    /// A vector outside the unit ball, which holds the subgradients of a Euclidean norm at 0.
    #[error(
        "norm2 = {vector} is no Clarke subgradient at 0: its squares add up to {square}, and must not to more than 1"
    )]
    Outside {
        /// The vector.
        vector: String,
        /// The sum of its squares.
        square: Rational,
    },
    /// Full weight to every tied argument.
    #[error(
        "{0} = every is no element of a conservative gradient: the weights of tied arguments must add up to 1 (use first, last or average)"
    )]
    Every(String),
}
