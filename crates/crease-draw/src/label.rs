//! Labels: what is written on the node of an equation, and how much room it takes.
//!
//! An equation enters, a [`Label`] leaves. The match over operations is exhaustive, so that a new operation asks for its
//! label here.

use crease_core::number::Rational;
use crease_core::op::{Comparison, Logic};
use crease_core::{Atom, Equation, Kink, Layout, Op, Program, Shape, Smooth, Stair};

/// What is written on an equation.
pub(super) struct Label {
    pub text: String,
    /// Whether the constant argument is part of the text, so that it needs no node.
    pub folded: bool,
    /// Whether exchanging arguments would change the meaning.
    pub ordered: bool,
}

/// The label of an equation of `p`.
pub(super) fn label(p: &Program, e: &Equation<'_>) -> Label {
    let (text, ordered) = match e.op {
        Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Compare(_) => return infix(p, e),
        Op::Neg => ("−".into(), false),
        Op::Smooth(Smooth::Inv) => ("1/·".into(), false),
        Op::Smooth(Smooth::Sqrt) => ("√".into(), false),
        Op::Smooth(Smooth::Power(k)) => (format!("·{}", superscript(*k)), false),
        Op::Smooth(Smooth::Root(p, q)) => (format!("·^({p}/{q})"), false),
        Op::Smooth(f) => (f.name().into(), false),
        Op::LogSumExp(_) => ("logsumexp".into(), false),
        Op::LogSumExpJoint(_) => ("logsumexp, logsumexp′".into(), true),
        Op::Kink(k) => (kink(k), !symmetric(k)),
        Op::Joint(k, _) => {
            let name = kink(k);
            // several weights come out, so that the order of the arguments matters even for a maximum
            (format!("{name}, {name}′"), true)
        }
        Op::Stair(Stair::Floor) => ("⌊·⌋".into(), false),
        Op::Stair(Stair::Ceil) => ("⌈·⌉".into(), false),
        Op::Stair(s @ (Stair::Sign | Stair::Round)) => (s.name().into(), false),
        Op::Permute { .. } | Op::Gather { .. } | Op::Position(..) | Op::Where => (e.op.name().into(), true),
        Op::Logic(l @ (Logic::And | Logic::Or | Logic::Not)) => (l.word().into(), false),
        Op::Constant(c) => (tensor(c.data()), false),
        Op::View { layout, shape } => (view(&p.atom_shape(e.args[0]), layout, shape), false),
        Op::Assemble { shape, pieces } => (assemble(shape, pieces), true),
        Op::MatMul { transpose_a, transpose_b } => {
            let text = match (transpose_a, transpose_b) {
                (false, false) => "@",
                (true, false) => "·ᵀ @",
                (false, true) => "@ ·ᵀ",
                (true, true) => "·ᵀ @ ·ᵀ",
            };
            (text.into(), true)
        }
        Op::Call(id) => (short(p.callee(*id).program.name()), true),
        Op::Select(_) => ("select".into(), true),
        Op::Scan(scan) => {
            let sign = if scan.back { "back, " } else { "" };
            (format!("{} {sign}× {}", short(p.callee(scan.body).program.name()), scan.turns), true)
        }
    };
    Label { text, folded: false, ordered }
}

/// The sign between two arguments, one of which may be a constant and then belongs to the label.
fn infix(p: &Program, e: &Equation<'_>) -> Label {
    let (sign, ordered) = match e.op {
        Op::Add => ("+", false),
        Op::Mul => ("×", false),
        Op::Sub => ("−", true),
        Op::Div => ("÷", true),
        Op::Compare(c) => match c {
            Comparison::Less => ("<", true),
            Comparison::LessEqual => ("≤", true),
            Comparison::Greater => (">", true),
            Comparison::GreaterEqual => ("≥", true),
            Comparison::Equal => ("=", false),
            Comparison::NotEqual => ("≠", false),
        },
        other => (other.name(), true),
    };
    let constant = |a: &Atom| p.as_constant(*a);
    let folded = match e.args {
        [a, b] => match (constant(a), constant(b)) {
            // x + (-3) reads better as x - 3
            (None, Some(c)) | (Some(c), None) if sign == "+" && c.is_negative() => Some(format!("− {}", number(&-c))),
            (None, Some(c)) => Some(format!("{sign} {}", number(c))),
            (Some(c), None) if ordered => Some(format!("{} {sign} ·", number(c))),
            (Some(c), None) => Some(format!("{sign} {}", number(c))),
            _ => None,
        },
        _ => None,
    };
    Label { folded: folded.is_some(), text: folded.unwrap_or_else(|| sign.into()), ordered }
}

fn kink(k: &Kink) -> String {
    match k {
        Kink::Relu => "relu".into(),
        Kink::TimesRelu => "× relu".into(),
        Kink::Abs => "|·|".into(),
        Kink::LeakyRelu(slope) => format!("leaky relu {}", number(slope)),
        Kink::Elu(scale) if scale.is_one() => "elu".into(),
        Kink::Elu(scale) => format!("elu {}", number(scale)),
        Kink::Max(_) => "max".into(),
        Kink::Min(_) => "min".into(),
        Kink::OrderStatistic(_, k) => format!("{} smallest", ordinal(k + 1)),
        Kink::Sort(_) => "sort".into(),
        Kink::Norm1(_) => "‖·‖₁".into(),
        Kink::NormInf(_) => "‖·‖∞".into(),
        Kink::Norm2(_) => "‖·‖₂".into(),
        Kink::MaxLinear { .. } => "max linear".into(),
    }
}

fn symmetric(k: &Kink) -> bool {
    !matches!(k, Kink::TimesRelu | Kink::MaxLinear { .. })
}

/// Whether an operation is not smooth.
pub(super) fn nonsmooth(op: &Op) -> bool {
    matches!(op, Op::Kink(_) | Op::Joint(..) | Op::Select(_))
}

/// The word for a view that a reader would use.
fn view(from: &Shape, layout: &Layout, to: &Shape) -> String {
    if layout.is_identity(from.len()) {
        return "reshape".into();
    }
    let Layout::Strided { offset, dims } = layout else { return "gather".into() };
    if dims.iter().any(|d| d.stride == 0) || dims.is_empty() && to.len() > 1 {
        return "broadcast".into();
    }
    if to.is_scalar() {
        let strides = from.strides();
        let at = strides.iter().zip(from.dims()).map(|(s, n)| (offset / *s as usize % n).to_string());
        return format!("[{}]", at.collect::<Vec<_>>().join(", "));
    }
    match (layout.is_injective(), to.len() == from.len()) {
        (true, true) if dims.iter().all(|d| d.stride > 0) => "transpose".into(),
        (true, true) => "reverse".into(),
        (true, false) => "slice".into(),
        (false, _) => "windows".into(),
    }
}

/// The word for an assembly that a reader would use.
fn assemble(to: &Shape, pieces: &[Layout]) -> String {
    let injective = pieces.iter().all(Layout::is_injective);
    let elements: usize = pieces.iter().map(Layout::len).sum();
    let word = match pieces {
        [] => "zeros",
        [Layout::Strided { dims, .. }] if dims.is_empty() || dims.iter().any(|d| d.stride == 0) => "sum",
        [Layout::Strided { .. }] if injective => "pad",
        [_] => "scatter",
        _ if injective && pieces.iter().all(|l| l.is_identity(to.len())) => "sum",
        _ if injective && elements == to.len() => "concat",
        _ => "assemble",
    };
    word.into()
}

fn ordinal(n: usize) -> String {
    let ending = match (n % 10, n % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{n}{ending}")
}

fn superscript(k: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    k.to_string().chars().map(|c| c.to_digit(10).map_or('⁻', |d| DIGITS[d as usize])).collect()
}

/// A constant, to a few digits: a drawing is no place for long ones.
pub(super) fn number(c: &Rational) -> String {
    let exact = c.to_string();
    let text = match c.to_f64() {
        _ if exact.chars().count() <= 8 => exact,
        x if !x.is_finite() => "…".into(),
        x if (1e-3..1e6).contains(&x.abs()) => {
            let digits = format!("{x:.4}");
            format!("≈{}", digits.trim_end_matches('0').trim_end_matches('.'))
        }
        x => format!("≈{x:.2e}"),
    };
    // a float that stands for a decimal is written as that decimal
    text.replace('-', "−").replace('~', "")
}

fn tensor(data: &[f64]) -> String {
    let show = |x: &f64| Rational::from_f64(*x).map_or_else(|| x.to_string(), |c| number(&c));
    match data {
        [x] => show(x),
        [first, rest @ ..] if rest.iter().all(|x| x == first) => format!("all {}", show(first)),
        few if few.len() <= 4 => few.iter().map(show).collect::<Vec<_>>().join(", "),
        _ => "constant".into(),
    }
}

/// A name, cut if it is very long.
pub(super) fn short(name: &str) -> String {
    if name.chars().count() <= 28 {
        return name.into();
    }
    name.chars().take(27).chain(['…']).collect()
}

/// A name such as `P1` or `x_12` as a letter and a subscript; any other name has no subscript.
pub(super) fn subscript(name: &str) -> (&str, &str) {
    let Some(first) = name.chars().next().filter(|c| c.is_alphabetic()) else { return (name, "") };
    let (stem, rest) = name.split_at(first.len_utf8());
    let digits = rest.strip_prefix('_').unwrap_or(rest);
    if !digits.is_empty() && digits.len() <= 4 && digits.bytes().all(|b| b.is_ascii_digit()) {
        (stem, digits)
    } else {
        (name, "")
    }
}

/// The width of a text, estimated from classes of characters; rather too large than too small.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let ems = text.chars().map(|c| match c {
        'i' | 'j' | 'l' | '|' | '.' | ',' | '\'' | '·' | '′' | ' ' | '!' | ':' | ';' | '₁' => 0.33,
        'f' | 'r' | 't' | '(' | ')' | '[' | ']' | '-' => 0.42,
        'm' | 'w' | 'M' | 'W' | '@' | '…' | '∞' => 0.9,
        c if c.is_uppercase() => 0.72,
        c if (c as u32) >= 0x2E80 => 1.0,
        _ => 0.62,
    });
    ems.sum::<f64>() * size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        assert_eq!(subscript("P1"), ("P", "1"));
        assert_eq!(subscript("x_12"), ("x", "12"));
        assert_eq!(subscript("layer2"), ("layer2", ""));
        assert_eq!(subscript("é1"), ("é", "1"));
        assert_eq!(subscript(""), ("", ""));
        assert_eq!(number(&Rational::new(-1, 3).unwrap()), "−1/3");
        assert_eq!(number(&Rational::from_f64(0.1).unwrap()), "0.1");
        assert_eq!(number(&Rational::new(123_456_789, 7).unwrap()), "≈1.76e7");
        assert_eq!([1, 2, 3, 4, 11, 12, 21].map(ordinal), ["1st", "2nd", "3rd", "4th", "11th", "12th", "21st"]);
        assert_eq!(superscript(-12), "⁻¹²");
        assert_eq!(short(&"a".repeat(40)).chars().count(), 28);
    }
}
