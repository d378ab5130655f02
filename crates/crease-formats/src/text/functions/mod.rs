//! The functions of the language: one table of names, and what each does with its arguments.
//!
//! A call by name is the raw operation: nothing is folded, so that `add(1, 2)` is an equation. Scalars are spread over
//! tensors as the infix signs do. Functions on groups of numbers are in [`lanes`], those that move numbers about in
//! [`structure`], convolution and pooling in [`windows`].

mod args;
mod lanes;
mod named;
mod structure;
mod windows;

pub(crate) use args::Args;

pub(crate) use named::Named;

use lanes::Group;

use super::error::TextError;
use super::machine::Target;
use super::operand::{Kind, Operand};
use super::parser::Parser;
use crease_core::builder::Cumulative;
use crease_core::op::{Choice, Ties};
use crease_core::{Atom, Kink, Lane, Op, Place, Position, Rational, Smooth, Stair};

/// A function of the language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Abs,
    Add,
    AddAlong,
    Assemble,
    AvgPool,
    Broadcast,
    Concat,
    Constant,
    /// Convolution along so many axes.
    Conv(usize),
    /// The transpose of that.
    ConvTranspose(usize),
    /// What runs along an axis.
    Cumulative(Cumulative),
    Div,
    Dot,
    Elu,
    Gather,
    /// What works on a group of numbers.
    Group(Group),
    LeakyRelu,
    MatMul,
    MaxLinear,
    MaxPool,
    Mean,
    Mul,
    Neg,
    Permute,
    Power,
    Prod,
    Put,
    Relu,
    Reshape,
    Slice,
    /// A smooth function of one number.
    Smooth(Smooth),
    /// A function that is constant between jumps.
    Stair(Stair),
    Std,
    Sub,
    Sum,
    TakeAlong,
    TimesRelu,
    TopK,
    Transpose,
    Unpermute,
    Var,
    View,
    Where,
    Zeros,
    /// A function that is made of others.
    Named(Named),
}

use Function::*;

/// Every function but the smooth ones of one number, which core has a table of: its name, itself, and how it is written. In the
/// order of the names.
const TABLE: &[(&str, Function, &str)] = &[
    ("abs", Abs, "abs(x)"),
    ("add", Add, "add(a, b)"),
    ("add_along", AddAlong, "add_along(x, positions, of=5, axis=-1) or add_along(a, b, i, j, of=5)"),
    ("assemble", Assemble, "assemble([shape], put(x, from=0, sizes=[3], strides=[1]), ...)"),
    ("avgpool", AvgPool, "avgpool(x, 2, stride=2, padding=0, ceil=0, count_padding=1)"),
    ("broadcast", Broadcast, "broadcast(x, [shape])"),
    ("concat", Concat, "concat(a, b, ..., axis=0)"),
    ("constant", Constant, "constant(2)"),
    ("conv1d", Conv(1), "conv1d(x, kernel, stride=1, padding=0, dilation=1, groups=1)"),
    ("conv2d", Conv(2), "conv2d(x, kernel, stride=1, padding=0, dilation=1, groups=1)"),
    ("conv3d", Conv(3), "conv3d(x, kernel, stride=1, padding=0, dilation=1, groups=1)"),
    (
        "conv_transpose1d",
        ConvTranspose(1),
        "conv_transpose1d(x, kernel, stride=1, padding=0, dilation=1, groups=1, extra=0)",
    ),
    (
        "conv_transpose2d",
        ConvTranspose(2),
        "conv_transpose2d(x, kernel, stride=1, padding=0, dilation=1, groups=1, extra=0)",
    ),
    (
        "conv_transpose3d",
        ConvTranspose(3),
        "conv_transpose3d(x, kernel, stride=1, padding=0, dilation=1, groups=1, extra=0)",
    ),
    ("cummax", Function::Cumulative(Cumulative::Max), "cummax(x) or cummax(x, axis=0)"),
    ("cummin", Function::Cumulative(Cumulative::Min), "cummin(x) or cummin(x, axis=0)"),
    ("cumprod", Function::Cumulative(Cumulative::Product), "cumprod(x) or cumprod(x, axis=0)"),
    ("cumsum", Function::Cumulative(Cumulative::Sum), "cumsum(x) or cumsum(x, axis=0)"),
    ("div", Div, "div(a, b)"),
    ("dot", Dot, "dot(a, b)"),
    ("elu", Elu, "elu(x, scale=1)"),
    ("gather", Gather, "gather(x, [0, 2], axis=0), or gather(x, i, axis=0) with computed positions"),
    ("leaky_relu", LeakyRelu, "leaky_relu(x, slope=0.01)"),
    ("logsumexp", Function::Group(Group::LogSumExp), "logsumexp(a, b, ...), logsumexp(x) or logsumexp(x, axis=0)"),
    ("matmul", MatMul, "matmul(a, b, transpose=first), or second, or both"),
    ("max", Function::Group(Group::Max), "max(a, b, ...), max(x) or max(x, axis=0)"),
    ("max_linear", MaxLinear, "max_linear(A, x)"),
    ("maxpool", MaxPool, "maxpool(x, 2, stride=2, padding=0, dilation=1, ceil=0)"),
    ("mean", Mean, "mean(x) or mean(x, axis=0)"),
    ("median", Function::Group(Group::Median), "median(a, b, ...), median(x) or median(x, axis=0)"),
    ("min", Function::Group(Group::Min), "min(a, b, ...), min(x) or min(x, axis=0)"),
    ("mul", Mul, "mul(a, b)"),
    ("neg", Neg, "neg(x)"),
    ("norm1", Function::Group(Group::Norm1), "norm1(a, b, ...), norm1(x) or norm1(x, axis=0)"),
    ("norm2", Function::Group(Group::Norm2), "norm2(a, b, ...), norm2(x) or norm2(x, axis=0)"),
    ("norminf", Function::Group(Group::NormInf), "norminf(a, b, ...), norminf(x) or norminf(x, axis=0)"),
    (
        "order_statistic",
        Function::Group(Group::OrderStatistic),
        "order_statistic(a, b, ..., k=1) or order_statistic(x, k=1, axis=0)",
    ),
    ("permute", Permute, "permute(x, positions, axis=-1) or permute(a, b, i, j)"),
    ("power", Power, "power(x, 2) or power(x, 1/3)"),
    ("prod", Prod, "prod(x) or prod(x, axis=0)"),
    ("put", Put, "put(x, from=0, sizes=[3], strides=[1]) inside assemble"),
    ("relu", Relu, "relu(x)"),
    ("reshape", Reshape, "reshape(x, [shape])"),
    ("slice", Slice, "x[0:2, :, ::2]"),
    ("sort", Function::Group(Group::Sort), "sort(a, b, ...) or sort(x, axis=-1)"),
    ("std", Std, "std(x) or std(x, axis=0)"),
    ("sub", Sub, "sub(a, b)"),
    ("sum", Sum, "sum(x) or sum(x, axis=0)"),
    ("take_along", TakeAlong, "take_along(x, positions, axis=-1) or take_along(a, b, c, i, j, of=3)"),
    ("times_relu", TimesRelu, "times_relu(a, b)"),
    ("top_k", TopK, "top_k(x, k=3, axis=-1)"),
    ("transpose", Transpose, "transpose(x) or transpose(x, [1, 0])"),
    ("unpermute", Unpermute, "unpermute(x, positions, axis=-1) or unpermute(a, b, i, j)"),
    ("var", Var, "var(x) or var(x, axis=0)"),
    ("view", View, "view(x, [shape], from=0, sizes=[3], strides=[1])"),
    ("where", Where, "where(condition, a, b)"),
    ("zeros", Zeros, "zeros([shape])"),
];

/// The function of that name.
pub(crate) fn lookup(name: &str) -> Option<Function> {
    let row = TABLE.binary_search_by(|row| row.0.cmp(name)).ok();
    row.map(|i| TABLE[i].1)
        .or_else(|| Smooth::from_name(name).map(Function::Smooth))
        .or_else(|| Stair::from_name(name).map(Function::Stair))
        .or_else(|| Position::from_name(name).map(|which| Function::Group(Group::Position(which))))
        .or_else(|| Named::from_name(name).map(Function::Named))
}

/// The names of all functions.
pub(crate) fn names<'a>() -> impl Iterator<Item = &'a str> {
    let named = Named::ALL.iter().map(|f| f.name());
    let constant = Stair::ALL.iter().map(|s| s.name()).chain(Position::ALL.iter().map(|p| p.name()));
    TABLE.iter().map(|row| row.0).chain(Smooth::NAMED.iter().map(|f| f.name())).chain(constant).chain(named)
}

/// The name of a function.
pub(crate) fn name(function: Function) -> &'static str {
    match function {
        Function::Smooth(f) => f.name(),
        Function::Stair(s) => s.name(),
        Function::Group(Group::Position(which)) => which.name(),
        Function::Named(f) => f.name(),
        other => row(other).0,
    }
}

/// How a function is written.
pub(crate) fn usage(function: Function) -> String {
    match function {
        Function::Smooth(f) => format!("{}(x)", f.name()),
        Function::Stair(s) => format!("{}(x)", s.name()),
        Function::Group(Group::Position(p)) => format!("{0}(a, b, ...), {0}(x) or {0}(x, axis=0)", p.name()),
        Function::Named(f) => f.usage(),
        other => row(other).2.into(),
    }
}

fn row(function: Function) -> &'static (&'static str, Function, &'static str) {
    TABLE.iter().find(|row| row.1 == function).unwrap_or_else(|| unreachable!("functions are found by their rows"))
}

/// Whether a function has a joint form, with a tick.
pub(crate) fn has_joint(function: Function) -> bool {
    match function {
        Function::Group(group) => !matches!(group, Group::Position(_)),
        other => matches!(other, Relu | Abs | LeakyRelu | Elu | TimesRelu | MaxLinear),
    }
}

impl<'s> Parser<'s> {
    /// Applies what is called to the operands from `base` on.
    pub fn call(&mut self, target: Target, base: usize, place: Place) -> Result<Kind, TextError> {
        let operands: Vec<Operand> = self.operands.drain(base..).collect();
        match target {
            Target::Function(function, tick) => {
                let args = self.arguments(function, operands, place)?;
                self.apply(function, tick, args)
            }
            Target::Program(number) => self.call_program(number, operands, place),
        }
    }

    fn call_program(&mut self, number: usize, operands: Vec<Operand>, place: Place) -> Result<Kind, TextError> {
        if let Some(key) = operands.iter().find(|o| matches!(o.kind, Kind::Key)) {
            let message = format!("a program has no settings, but `{}` is given by name", self.text_of(key));
            return Err(TextError::new(message, key.place()).help("give its arguments in order"));
        }
        let atoms = operands.into_iter().map(|o| self.atom(o)).collect::<Result<Vec<_>, _>>()?;
        let program = self.library.programs[number].clone();
        let joint = self.library.joints[number].clone();
        let results = self.build(place, |b| {
            let id = b.callee(program, joint)?;
            b.push(Op::Call(id), &atoms)
        })?;
        Ok(self.kind_of_all(results))
    }

    fn apply(&mut self, function: Function, tick: bool, mut args: Args<'s>) -> Result<Kind, TextError> {
        match function {
            Neg => self.plain(Op::Neg, args, 1),
            Function::Smooth(f) => self.plain(Op::Smooth(f), args, 1),
            Function::Stair(s) => self.plain(Op::Stair(s), args, 1),
            Where => self.plain(Op::Where, args, 3),
            Add => self.plain(Op::Add, args, 2),
            Sub => self.plain(Op::Sub, args, 2),
            Mul => self.plain(Op::Mul, args, 2),
            Div => self.plain(Op::Div, args, 2),
            Power => {
                args.arity(2, 2)?;
                let exponent = args.pop();
                let k =
                    exponent.number("the exponent of `power`").map_err(|e| e.help("for other powers write x ^ y"))?;
                let f = Smooth::power_of(&k).ok_or_else(|| {
                    let message = "the exponent of `power` must be a fraction of integers of at most 32 bits";
                    TextError::new(message, exponent.place()).help("for other powers write x ^ y")
                })?;
                self.plain(Op::Smooth(f), args, 1)
            }
            Relu => self.one_kink(Kink::Relu, tick, args),
            Abs => self.one_kink(Kink::Abs, tick, args),
            TimesRelu => self.one_kink(Kink::TimesRelu, tick, args),
            LeakyRelu => {
                let slope = args.parameter("slope", "the slope")?;
                let slope = slope.ok_or_else(|| args.fault("`leaky_relu` needs its slope".into()))?;
                self.one_kink(Kink::LeakyRelu(slope), tick, args)
            }
            Elu => {
                let scale = args.parameter("scale", "the scale")?.unwrap_or(Rational::ONE);
                self.one_kink(Kink::Elu(scale), tick, args)
            }
            Function::Group(function) => self.lane(function, tick, args),
            TakeAlong => self.along(false, args),
            AddAlong => self.along(true, args),
            TopK => self.top_k(args),
            Function::Named(f) => self.named(f, args),
            Function::Cumulative(what) => self.cumulative(what, args),
            MaxLinear => self.max_linear(tick, args),
            Permute => self.permute(false, args),
            Unpermute => self.permute(true, args),
            Slice => Err(args.fault("there is no function `slice`; ranges stand in brackets".into())),
            Conv(axes) => self.conv(axes, false, args),
            ConvTranspose(axes) => self.conv(axes, true, args),
            MaxPool => self.pool(false, args),
            AvgPool => self.pool(true, args),
            Assemble | Broadcast | Concat | Constant | Dot | Gather | MatMul | Mean | Prod | Put | Reshape | Std
            | Sum | Transpose | Var | View | Zeros => self.structural(function, args),
        }
    }

    /// An operation of so many arguments and no settings.
    fn plain(&mut self, op: Op, args: Args<'s>, arity: usize) -> Result<Kind, TextError> {
        args.no_more_settings(self)?;
        args.arity(arity, arity)?;
        let place = args.place;
        let atoms = self.values(args)?;
        Ok(Kind::Value(self.elementwise(op, &atoms, place)?))
    }

    /// A kink that is applied element by element, or the same with its derivative.
    fn one_kink(&mut self, kink: Kink, tick: bool, mut args: Args<'s>) -> Result<Kind, TextError> {
        let arity = kink.facts().arity.map_or(0, |n| n as usize);
        if !tick {
            return self.plain(Op::Kink(kink), args, arity);
        }
        let choice = self.choice(&mut args)?;
        args.no_more_settings(self)?;
        args.arity(arity, arity)?;
        let place = args.place;
        let atoms = self.values(args)?;
        let results = self.equation(Op::Joint(kink, choice), &atoms, place)?;
        Ok(self.kind_of_all(results))
    }

    /// The settings of a joint operation.
    fn choice(&mut self, args: &mut Args<'s>) -> Result<Choice, TextError> {
        let at_kink = match args.key("at") {
            Some(at) => at.number("the derivative at the kink")?,
            None => Rational::ZERO,
        };
        let ties = match args.key("ties") {
            Some(word) => Ties::from_name(self.text_of(&word))
                .ok_or_else(|| TextError::new("ties are `first`, `last`, `average` or `every`", word.place()))?,
            None => Ties::First,
        };
        Ok(Choice { at_kink, ties })
    }

    /// The positional arguments as values.
    fn values(&mut self, args: Args<'s>) -> Result<Vec<Atom>, TextError> {
        args.positional.into_iter().map(|o| self.atom(o)).collect()
    }

    fn max_linear(&mut self, tick: bool, mut args: Args<'s>) -> Result<Kind, TextError> {
        let rows = args.key("rows").map(|r| r.count("the number of rows")).transpose()?;
        let choice = if tick { Some(self.choice(&mut args)?) } else { None };
        args.no_more_settings(self)?;
        if rows.is_none() {
            args.arity(2, 2)?;
        }
        let place = args.place;
        let atoms = self.values(args)?;
        let kink = match rows {
            Some(rows) => Kink::MaxLinear { lane: Lane::Args, rows },
            None => {
                // anything but a matrix is refused by the operation itself, which names the shapes
                let rows = self.builder.shape(atoms[0]).dims().first().copied().unwrap_or(0);
                Kink::MaxLinear { lane: Lane::Axis, rows }
            }
        };
        let op = match choice {
            Some(choice) => Op::Joint(kink, choice),
            None => Op::Kink(kink),
        };
        let results = self.build(place, |b| b.push(op, &atoms))?;
        Ok(self.kind_of_all(results))
    }

    /// Along one axis, the last one unless told otherwise.
    fn cumulative(&mut self, what: Cumulative, mut args: Args<'s>) -> Result<Kind, TextError> {
        let axis = args.key("axis").map(|a| a.integer("the axis")).transpose()?.unwrap_or(-1);
        args.no_more_settings(self)?;
        args.arity(1, 1)?;
        let place = args.place;
        let atoms = self.values(args)?;
        let axis = isize::try_from(axis).unwrap_or(isize::MAX);
        let result = self.build(place, |b| b.cumulative(what, atoms[0], axis))?;
        Ok(Kind::Value(result))
    }

    /// Reading or adding at positions along an axis, or at positions that are given after the numbers.
    fn along(&mut self, scatter: bool, mut args: Args<'s>) -> Result<Kind, TextError> {
        let of = args.key("of").map(|n| n.count("the length of the lane")).transpose()?;
        let axis = args.key("axis").map(|axis| axis.integer("the axis")).transpose()?;
        args.no_more_settings(self)?;
        if scatter && of.is_none() {
            return Err(args.fault("`add_along` needs the length `of` what is added into".into()));
        }
        let place = args.place;
        // several numbers with a length that is told are a lane of arguments, unless they have an axis
        if let (Some(of), None) = (of, axis)
            && (args.positional.len() != 2 || self.all_scalars(&args))
        {
            let atoms = self.values(args)?;
            let results = self.equation(Op::Gather { lane: Lane::Args, of, scatter }, &atoms, place)?;
            return Ok(self.kind_of_all(results));
        }
        args.arity(2, 2)?;
        let atoms = self.values(args)?;
        let axis = axis.unwrap_or(-1) as isize;
        let atom = self.build(place, |b| match of.filter(|_| scatter) {
            Some(of) => b.add_along(atoms[0], atoms[1], axis, of),
            None => b.take_along(atoms[0], atoms[1], axis),
        })?;
        Ok(Kind::Value(atom))
    }

    /// Whether no argument has an axis.
    fn all_scalars(&self, args: &Args<'s>) -> bool {
        args.positional.iter().all(|o| match &o.kind {
            Kind::Number(_) => true,
            Kind::Value(a) => self.builder.shape(*a).is_scalar(),
            Kind::List(_) | Kind::Several(_) | Kind::Put(_) | Kind::Word | Kind::Key => false,
        })
    }

    /// The largest numbers along an axis, and their positions.
    fn top_k(&mut self, mut args: Args<'s>) -> Result<Kind, TextError> {
        let axis = args.key("axis").map_or(Ok(-1), |axis| axis.integer("the axis"))?;
        let k = args.key("k").ok_or_else(|| args.fault("`top_k` needs the number k".into()))?;
        let k = k.count("the number k")?;
        args.no_more_settings(self)?;
        args.arity(1, 1)?;
        let place = args.place;
        let x = self.values(args)?[0];
        let results = self.build(place, |b| b.top_k(x, k, axis as isize))?;
        Ok(self.kind_of_all(results.to_vec()))
    }

    fn permute(&mut self, inverse: bool, mut args: Args<'s>) -> Result<Kind, TextError> {
        let axis = args.key("axis");
        args.no_more_settings(self)?;
        let place = args.place;
        let atoms = self.values(args)?;
        let lane = match axis {
            // as for every function of a group, a tensor is the group
            None if atoms.len() == 2 && atoms.iter().any(|&a| !self.builder.shape(a).is_scalar()) => Lane::Axis,
            None => Lane::Args,
            Some(axis) => {
                let last = atoms.first().map_or(0, |&a| self.builder.shape(a).rank()) as i64 - 1;
                if !matches!(axis.integer("the axis")?, -1) && axis.integer("the axis")? != last {
                    return Err(
                        TextError::new("a permutation is along the last axis", axis.place()).help("write axis=-1")
                    );
                }
                Lane::Axis
            }
        };
        let results = self.equation(Op::Permute { lane, inverse }, &atoms, place)?;
        Ok(self.kind_of_all(results))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_complete() {
        assert!(TABLE.windows(2).all(|w| w[0].0 < w[1].0));
        for word in names() {
            assert_eq!(lookup(word).map(name), Some(word));
        }
        assert_eq!(lookup("softmax"), None);
        // a printed program must not give a value one of these names
        let reserved: Vec<&str> = crease_core::program::reserved().collect();
        let missing: Vec<&str> = names().filter(|name| !reserved.contains(name)).collect();
        assert!(missing.is_empty(), "{missing:?} can be names of values");
    }

    #[test]
    fn the_page_about_the_language_has_them_all() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/language.md");
        // a package of the crate alone has no pages
        let Ok(page) = std::fs::read_to_string(page) else { return };
        let word = |name: &str| page.split(|c: char| !c.is_alphanumeric() && c != '_').any(|w| w == name);
        let missing: Vec<&str> = names().filter(|name| !word(name)).collect();
        assert!(missing.is_empty(), "docs/language.md does not have {missing:?}");
    }
}
