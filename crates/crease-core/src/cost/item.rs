//! The elementary operations as the paper counts them, and their prices: the appendix's tables, one row a line.

use super::price::Price;
use crate::op::{Algebra, KinkKind, Position, Selection, Slope, Smooth, Stair, Ties};
use std::convert::Infallible;
use std::fmt;

/// In which direction a Jacobian is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// One tangent for each scalar input.
    Forward,
    /// One adjoint for each scalar output.
    Backward,
}

/// An elementary operation that is counted: its kind, how many numbers it takes, and how many of those are values rather
/// than constants, which is the paper's |pr|.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Item {
    /// Which operation.
    pub kind: ItemKind,
    /// Whether it is the joint form, which returns derivatives too.
    pub joint: Option<Ties>,
    /// How many numbers it takes.
    pub size: u32,
    /// How many of them are values.
    pub values: u32,
}

/// The kinds of elementary operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)] // named as in `Op`
pub enum ItemKind {
    Add,
    Sub,
    Mul,
    Div,
    Neg,
    Smooth(Smooth),
    LogSumExp,
    Kink(KinkKind),
    Permute,
    Gather { of: u32 },
    Scatter,
    Position(Position),
    Stair(Stair),
    Where { fixed: bool },
    Compare,
    Logic,
}

impl From<KinkKind> for ItemKind {
    fn from(kind: KinkKind) -> Self {
        ItemKind::Kink(kind)
    }
}

impl From<Smooth> for ItemKind {
    /// All powers are priced alike, as if by a general exponent.
    fn from(f: Smooth) -> Self {
        ItemKind::Smooth(match f {
            Smooth::Power(_) => Smooth::Power(3),
            Smooth::Root(..) => Smooth::Root(5, 3),
            named => named,
        })
    }
}

/// The price of a slope beside its value: what its little program takes, and one for its sign.
fn of_slope(f: Smooth) -> Price {
    let mut counter = Counter(Price::default());
    match f.slope(&mut counter, &(), &()) {
        Ok(Slope::Zero | Slope::One | Slope::Plus(())) => counter.0,
        Ok(Slope::Minus(())) => counter.0 + Price::ones(1),
        Err(never) => match never {},
    }
}

/// Counts instead of computing.
struct Counter(Price);

impl Counter {
    fn takes(&mut self, price: Price) -> Result<(), Infallible> {
        self.0 = std::mem::take(&mut self.0) + price;
        Ok(())
    }
}

impl Algebra for Counter {
    type Value = ();
    type Error = Infallible;

    fn constant(&mut self, _: i32, _: i32) -> Result<(), Infallible> {
        Ok(())
    }

    fn add(&mut self, (): &(), (): &()) -> Result<(), Infallible> {
        self.takes(Item::new(ItemKind::Add, 2, 2).price())
    }

    fn sub(&mut self, (): &(), (): &()) -> Result<(), Infallible> {
        self.takes(Item::new(ItemKind::Sub, 2, 2).price())
    }

    fn mul(&mut self, (): &(), (): &()) -> Result<(), Infallible> {
        self.takes(Item::new(ItemKind::Mul, 2, 2).price())
    }

    fn div(&mut self, (): &(), (): &()) -> Result<(), Infallible> {
        self.takes(Item::new(ItemKind::Div, 2, 2).price())
    }

    fn smooth(&mut self, f: Smooth, (): &()) -> Result<(), Infallible> {
        self.takes(Item::new(f.into(), 1, 1).price())
    }
}

/// The number of comparisons that merge sort needs for n numbers in the worst case.
fn comparisons(n: i128) -> i128 {
    let log = i128::from(128 - (n.max(1) - 1).leading_zeros());
    n * log - (1 << log) + 1
}

/// The price of a nonsmooth operation on n numbers.
fn of_kink(kind: KinkKind, n: i128) -> Price {
    match kind {
        KinkKind::Relu => Price::new(0, 0, 1),
        KinkKind::TimesRelu | KinkKind::Abs | KinkKind::LeakyRelu => Price::new(1, 0, 1),
        KinkKind::Elu => Price::new(2, 1, 1),
        KinkKind::Max | KinkKind::Min => Price::new(0, 0, n - 1),
        KinkKind::OrderStatistic | KinkKind::Sort => Price::new(0, 0, comparisons(n)),
        KinkKind::Norm1 => Price::new(2 * n - 1, 0, n),
        KinkKind::NormInf => Price::new(n, 0, 2 * n - 1),
        // n squares, n - 1 additions, the root
        KinkKind::Norm2 => Price::new(2 * n - 1, 1, 0),
        KinkKind::MaxLinear { rows } => {
            let (m, n) = (i128::from(rows), n / (i128::from(rows) + 1));
            Price::new(m * (2 * n - 1), 0, m - 1)
        }
    }
}

/// What its weights cost beyond its value: nothing for all that the appendix of the paper treats; sharing weight among ties has to find and
/// count them.
fn of_weights(kind: KinkKind, n: i128, ties: Ties) -> Price {
    let shared = ties == Ties::Average;
    match kind {
        // whether it is 0, one inverse, n products with it
        KinkKind::Norm2 => Price::new(n, 1, 1),
        KinkKind::MaxLinear { rows } if shared => {
            let m = i128::from(rows);
            let n = n / (m + 1);
            Price::new(m - 1 + 2 * m * n + (m - 1) * n, 1, m)
        }
        KinkKind::NormInf if shared => Price::new(2 * n - 1, 1, n),
        KinkKind::Max | KinkKind::Min | KinkKind::OrderStatistic if shared => Price::new(n - 1, 1, n),
        // where one member takes it all, it was found on the way
        KinkKind::Max | KinkKind::Min | KinkKind::OrderStatistic => Price::default(),
        KinkKind::NormInf | KinkKind::MaxLinear { .. } => Price::default(),
        // so was the sign, or the place of each number
        KinkKind::Relu | KinkKind::TimesRelu | KinkKind::Abs | KinkKind::LeakyRelu | KinkKind::Elu => Price::default(),
        KinkKind::Sort | KinkKind::Norm1 => Price::default(),
    }
}

/// What has no joint form, as a pattern.
macro_rules! without_joint {
    () => {
        ItemKind::Add
            | ItemKind::Sub
            | ItemKind::Mul
            | ItemKind::Div
            | ItemKind::Neg
            | ItemKind::Smooth(_)
            | ItemKind::Permute
            | ItemKind::Gather { .. }
            | ItemKind::Scatter
            | ItemKind::Position(_)
            | ItemKind::Stair(_)
            | ItemKind::Where { .. }
            | ItemKind::Compare
            | ItemKind::Logic
    };
}

impl Item {
    /// An operation of one kind on `size` numbers, `values` of them values.
    pub fn new(kind: ItemKind, size: u32, values: u32) -> Self {
        Item { kind, joint: None, size, values }
    }

    /// The paper's cost(g).
    ///
    /// ```
    /// use crease_core::{cost::Item, op::KinkKind};
    /// assert_eq!(Item::new(KinkKind::Norm1.into(), 3, 3).price().to_string(), "5 + 3 c_relu");
    /// ```
    pub fn price(&self) -> Price {
        let n = i128::from(self.size);
        let base = match self.kind {
            ItemKind::Add | ItemKind::Sub | ItemKind::Mul | ItemKind::Neg => Price::new(1, 0, 0),
            ItemKind::Div | ItemKind::Smooth(_) => Price::new(0, 1, 0),
            // the largest, then n differences, n exponentials, n - 1 additions, the logarithm, one addition
            ItemKind::LogSumExp => Price::new(2 * n, n + 1, n - 1),
            ItemKind::Kink(kind) => of_kink(kind, n),
            ItemKind::Compare | ItemKind::Stair(_) | ItemKind::Where { .. } => Price::new(0, 0, 1),
            ItemKind::Position(Position::Largest | Position::Smallest) => Price::new(0, 0, n - 1),
            ItemKind::Position(Position::Order) => Price::new(0, 0, comparisons(n)),
            // in the worst case all of them meet in one place
            ItemKind::Scatter => Price::new(n / 2 - 1, 0, 0),
            ItemKind::Permute | ItemKind::Gather { .. } | ItemKind::Logic => Price::default(),
        };
        base + self.joint_extra()
    }

    /// What the joint form costs beyond the value.
    fn joint_extra(&self) -> Price {
        let n = i128::from(self.size);
        match (self.kind, self.joint) {
            (_, None) => Price::default(),
            (ItemKind::LogSumExp, Some(_)) => Price::new(0, n, 0),
            (ItemKind::Kink(kind), Some(ties)) => of_weights(kind, n, ties),
            (without_joint!(), Some(_)) => Price::default(),
        }
    }

    /// The paper's |pr| as far as derivatives go: comparisons have none.
    pub fn predecessors(&self) -> u32 {
        match self.kind {
            ItemKind::Compare | ItemKind::Logic | ItemKind::Stair(_) | ItemKind::Position(_) => 0,
            // positions are not differentiated
            ItemKind::Permute | ItemKind::Scatter => self.values.min(self.size / 2),
            ItemKind::Gather { of } => self.values.min(of),
            // nor is the condition
            ItemKind::Where { fixed } => self.values - u32::from(!fixed),
            ItemKind::Add
            | ItemKind::Sub
            | ItemKind::Mul
            | ItemKind::Div
            | ItemKind::Neg
            | ItemKind::Smooth(_)
            | ItemKind::LogSumExp
            | ItemKind::Kink(_) => self.values,
        }
    }

    /// The paper's cost(gd): value and derivative together.
    pub fn joint_price(&self, mode: Mode, selection: &Selection) -> Price {
        let g = self.price();
        let more = |one, nonlin, relu| g.clone() + Price::new(one, nonlin, relu);
        // derivatives of derivatives: the weights that are not piecewise constant
        let second = match (self.kind, self.joint) {
            (_, None) => None,
            (ItemKind::LogSumExp, Some(_)) => Some(g.clone() + Price::ones(6) * self.size),
            (ItemKind::Kink(KinkKind::Elu), Some(_)) => Some(more(5, 0, 1)),
            (ItemKind::Kink(KinkKind::TimesRelu), Some(_)) => Some(more(4, 0, 1)),
            // whether it is 0, its inverse, and for each member: w <w, dx> and dx, times that inverse
            (ItemKind::Kink(KinkKind::Norm2), Some(_)) => Some(more(2, 1, 1) + Price::ones(6) * self.size),
            (ItemKind::Kink(KinkKind::MaxLinear { .. }), Some(_)) => Some(g.clone() * 2 + Price::ones(4) * self.size),
            (ItemKind::Kink(_) | without_joint!(), Some(_)) => Some(g.clone()),
        };
        if let Some(price) = second {
            return price;
        }
        match self.kind {
            // backward, one division of the adjoint stands in for one multiplication; forward, the inverse is formed once
            ItemKind::Div if self.values == 0 => g,
            ItemKind::Div if mode == Mode::Forward => more(2, 1, 0),
            ItemKind::Div if self.values == 1 => more(0, 1, 0),
            ItemKind::Div => more(-1, 1, 0),
            ItemKind::Smooth(f) => g + of_slope(f),
            // backward, a choice for each branch stands in for a multiplication
            ItemKind::Where { .. } if mode == Mode::Backward => {
                let branches = i128::from(self.predecessors());
                more(-branches, 0, branches)
            }
            ItemKind::LogSumExp => Item { joint: Some(Ties::First), ..*self }.price(),
            ItemKind::Kink(kind) => {
                let plain = Item { joint: Some(selection.ties(kind)), ..*self }.price();
                // what is taken where a norm is 0 is multiplied by whether it is there, and added
                match kind == KinkKind::Norm2 && selection.norm2.iter().any(|x| !x.is_zero()) {
                    true => plain + Price::new(2 * i128::from(self.size), 0, 1),
                    false => plain,
                }
            }
            // forward, the choice is made again for the tangents, as it is without a price for each of them
            ItemKind::Where { .. } => g,
            // the derivative is a constant, an argument, or found on the way
            ItemKind::Add
            | ItemKind::Sub
            | ItemKind::Mul
            | ItemKind::Neg
            | ItemKind::Permute
            | ItemKind::Gather { .. }
            | ItemKind::Scatter => g,
            // there is none
            ItemKind::Position(_) | ItemKind::Stair(_) | ItemKind::Compare | ItemKind::Logic => g,
        }
    }

    /// The name in tallies: the sign or the word of the text language, `c` where a constant takes part, the number of arguments
    /// where it varies.
    pub fn name(&self) -> String {
        let word = match self.kind {
            ItemKind::Add => "+",
            ItemKind::Sub => "-",
            ItemKind::Mul => "*",
            ItemKind::Div => "/",
            ItemKind::Neg => "neg",
            ItemKind::Smooth(f) => f.name(),
            ItemKind::LogSumExp => "logsumexp",
            ItemKind::Kink(kind) => kind.facts().name,
            ItemKind::Permute => "permute",
            ItemKind::Gather { .. } => "take_along",
            ItemKind::Scatter => "add_along",
            ItemKind::Position(which) => which.name(),
            ItemKind::Stair(s) => s.name(),
            ItemKind::Where { .. } => "where",
            ItemKind::Compare => "compare",
            ItemKind::Logic => "logic",
        };
        let tick = if self.joint.is_some() { "'" } else { "" };
        let fixed = match self.kind {
            ItemKind::Kink(kind) => kind.facts().arity,
            ItemKind::Add | ItemKind::Sub | ItemKind::Mul | ItemKind::Div => Some(2),
            ItemKind::Compare | ItemKind::Logic => Some(0),
            ItemKind::Where { .. } => Some(3),
            ItemKind::Neg | ItemKind::Smooth(_) | ItemKind::Stair(_) => Some(1),
            ItemKind::LogSumExp | ItemKind::Position(_) => None,
            ItemKind::Permute | ItemKind::Gather { .. } | ItemKind::Scatter => None,
        };
        match fixed {
            Some(n) if self.values < n => format!("{word}{tick}c"),
            Some(_) => format!("{word}{tick}"),
            None if self.values < self.size => format!("{word}{tick}/{} of {}", self.values, self.size),
            None => format!("{word}{tick}/{}", self.size),
        }
    }
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::comparisons;

    #[test]
    fn merge_sort_needs_so_many_comparisons() {
        assert_eq!([1, 2, 3, 4, 5, 8].map(comparisons), [0, 1, 3, 5, 8, 17]);
    }
}
