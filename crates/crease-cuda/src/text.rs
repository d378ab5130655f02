//! From scalar steps to the text of a kernel: one variable for each value, the operations in the words of `prelude.c`.
//!
//! [`Scalars`] enter, with an expression for each input; C leaves, with an expression for each output. The text grows linearly with the
//! steps and their arguments. It is C and CUDA C++ alike, so that the same text is compiled for a device and, in tests, for the processor.

use crate::lower::{Act, Operand, Scalars, Step};
use crease_core::op::{Choice, Comparison, Logic};
use crease_core::{Kink, Number, Op, Rational, Smooth, Stair, Ties};
use std::fmt::Write;

/// The kind of numbers that a kernel computes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Precision {
    /// `f32`.
    Single,
    /// `f64`.
    Double,
}

impl Precision {
    /// The bytes of one number.
    pub fn bytes(self) -> usize {
        match self {
            Precision::Single => 4,
            Precision::Double => 8,
        }
    }

    /// A rational number as the nearest float, digit by digit.
    pub(crate) fn literal(self, r: &Rational) -> String {
        let (x, suffix) = match self {
            Precision::Single => (f64::from(f32::from_rational(r).unwrap_or(f32::NAN)), "f"),
            Precision::Double => (f64::from_rational(r).unwrap_or(f64::NAN), ""),
        };
        hexadecimal(x, suffix)
    }

    /// The words that every source begins with.
    pub(crate) fn prelude(self) -> String {
        let head = match self {
            Precision::Single => {
                "#define SINGLE 1\ntypedef float REAL;\n#define F(name) name##f\n\
                 #define SHRINK 0x1p-90f\n#define GROW 0x1p+90f\n#define LEAST_SQUARE 0x1p-80f\n"
            }
            Precision::Double => {
                "typedef double REAL;\n#define F(name) name\n\
                 #define SHRINK 0x1p-600\n#define GROW 0x1p+600\n#define LEAST_SQUARE 0x1p-918\n"
            }
        };
        format!("{head}{}\n", include_str!("prelude.c"))
    }
}

/// A float in hexadecimal, as C reads it.
fn hexadecimal(x: f64, suffix: &str) -> String {
    if x.is_nan() {
        return "(INFINITE - INFINITE)".into();
    }
    if x.is_infinite() {
        return if x > 0.0 { "INFINITE".into() } else { "(-INFINITE)".into() };
    }
    let bits = x.to_bits();
    let (exponent, digits) = ((bits >> 52) & 0x7ff, bits & ((1 << 52) - 1));
    let sign = if x.is_sign_negative() { "-" } else { "" };
    let text = match (exponent, digits) {
        (0, 0) => format!("{sign}0.0{suffix}"),
        (0, _) => format!("{sign}0x0.{digits:013x}p-1022{suffix}"),
        _ => format!("{sign}0x1.{digits:013x}p{:+}{suffix}", exponent as i64 - 1023),
    };
    if x.is_sign_negative() { format!("({text})") } else { text }
}

/// Writes steps.
pub(crate) struct Writer<'a> {
    pub precision: Precision,
    /// What the names of values begin with.
    pub prefix: &'a str,
    /// An expression for each input.
    pub inputs: &'a [String],
    /// Before each line.
    pub indent: &'a str,
    /// Whether to set `bad` where a number is not finite.
    pub checked: bool,
}

impl Writer<'_> {
    fn operand(&self, s: &Scalars, o: Operand) -> String {
        match o {
            Operand::Value(v) => match self.inputs.get(v as usize) {
                Some(input) => input.clone(),
                None => format!("{}{v}", self.prefix),
            },
            Operand::Const(c) => self.precision.literal(&s.consts[c as usize]),
        }
    }

    /// Appends all steps, and gives an expression for each output. Where a truth value must be and is none, `bad` is set.
    pub fn steps(&self, s: &Scalars, out: &mut String) -> Vec<String> {
        for step in &s.steps {
            self.step(s, step, out);
        }
        let indent = self.indent;
        for &t in &s.truths {
            let _ = writeln!(out, "{indent}bad |= is_bad_truth({});", self.operand(s, t));
        }
        if self.checked {
            for &v in &s.looks {
                let _ = writeln!(out, "{indent}bad |= !is_finite({});", self.operand(s, Operand::Value(v)));
            }
        }
        s.outputs.iter().map(|&o| self.operand(s, o)).collect()
    }

    fn step(&self, s: &Scalars, step: &Step, out: &mut String) {
        let args: Vec<String> = step.args.iter().map(|&a| self.operand(s, a)).collect();
        let name = |i: usize| format!("{}{}", self.prefix, step.first as usize + i);
        let Writer { precision, indent, .. } = self;
        let mut set = |i: usize, text: String| {
            let _ = writeln!(out, "{indent}const REAL {} = {text};", name(i));
        };
        let truth = |test: String| format!("({test}) ? (REAL)1 : (REAL)0");
        let lit = |r: &Rational| precision.literal(r);
        let op = match &*step.act {
            Act::Pick => return set(0, format!("{} == 1 ? {} : {}", args[0], args[1], args[2])),
            Act::Op(op) => op,
        };
        match op {
            Op::Where => set(0, format!("{} == 1 ? {} : {}", args[0], args[1], args[2])),
            Op::Stair(stair) => set(0, stairs(*stair, &args[0])),
            Op::Add => set(0, format!("{} + {}", args[0], args[1])),
            Op::Sub => set(0, format!("{} - {}", args[0], args[1])),
            Op::Mul => set(0, format!("{} * {}", args[0], args[1])),
            Op::Div => set(0, format!("{} / {}", args[0], args[1])),
            Op::Neg => set(0, format!("-{}", args[0])),
            Op::Smooth(f) => set(0, smooth(*f, &args[0])),
            Op::Compare(how) => {
                let (a, b) = (&args[0], &args[1]);
                set(
                    0,
                    truth(match how {
                        Comparison::Less => format!("{a} < {b}"),
                        Comparison::LessEqual => format!("{a} <= {b}"),
                        Comparison::Greater => format!("{a} > {b}"),
                        Comparison::GreaterEqual => format!("{a} >= {b}"),
                        Comparison::Equal => format!("{a} == {b}"),
                        // with a NaN no comparison holds, not even this one
                        Comparison::NotEqual => format!("{a} < {b} || {a} > {b}"),
                    }),
                );
            }
            Op::Logic(Logic::And) => set(0, format!("smaller({}, {})", args[0], args[1])),
            Op::Logic(Logic::Or) => set(0, format!("larger({}, {})", args[0], args[1])),
            Op::Logic(Logic::Not) => set(0, format!("1 - {}", args[0])),
            Op::Kink(kink) => self.kink(kink, None, &args, step.first, out),
            Op::Joint(kink, choice) => self.kink(kink, Some(choice), &args, step.first, out),
            Op::LogSumExp(_) | Op::LogSumExpJoint(_) => {
                let n = args.len();
                let v = name(0);
                self.folded(&format!("{v}_top"), "larger", &args, out);
                for (i, a) in args.iter().enumerate() {
                    let _ = writeln!(out, "{indent}const REAL {v}_e{i} = call_exp({a} - {v}_top);");
                }
                let powers: Vec<String> = (0..n).map(|i| format!("{v}_e{i}")).collect();
                self.folded(&format!("{v}_sum"), "added", &powers, out);
                let _ = writeln!(out, "{indent}const REAL {v} = {v}_top + call_log({v}_sum);");
                for (i, power) in powers.iter().enumerate().take(step.results as usize - 1) {
                    let _ = writeln!(out, "{indent}const REAL {} = {power} / {v}_sum;", name(i + 1));
                }
            }
            Op::Permute { inverse, .. } => {
                let n = args.len() / 2;
                let v = name(0);
                let (members, places) = (args[..n].join(", "), args[n..].join(", "));
                let _ = writeln!(out, "{indent}const REAL {v}_m[{n}] = {{{members}}}, {v}_p[{n}] = {{{places}}};");
                let _ = writeln!(out, "{indent}REAL {v}_o[{n}];");
                let _ = writeln!(out, "{indent}permuted({v}_m, {v}_p, {v}_o, {n}, {});", u8::from(*inverse));
                for i in 0..n {
                    let _ = writeln!(out, "{indent}const REAL {} = {v}_o[{i}];", name(i));
                }
            }
            Op::Constant(c) => {
                // taken apart, a constant is a number
                for (i, x) in c.data().iter().enumerate() {
                    set(i, lit(&Rational::from_f64(*x).unwrap_or(Rational::ZERO)));
                }
            }
            // of scalars these are what they read
            Op::View { .. } => set(0, args[0].clone()),
            Op::Assemble { .. } => set(0, if args.is_empty() { "0".into() } else { args.join(" + ") }),
            Op::MatMul { .. } => set(0, format!("{} * {}", args[0], args[1])),
            Op::Gather { .. } | Op::Position(..) => unreachable!("refused when steps are made"),
            Op::Call(_) | Op::Select(_) | Op::Scan(_) => unreachable!("expanded when steps are made"),
        }
    }

    fn kink(&self, kink: &Kink, choice: Option<&Choice>, args: &[String], first: u32, out: &mut String) {
        let indent = self.indent;
        let name = |i: usize| format!("{}{}", self.prefix, first as usize + i);
        let lit = |r: &Rational| self.precision.literal(r);
        let zero = Rational::ZERO;
        let at = lit(choice.map_or(&zero, |c| &c.at_kink));
        let v = name(0);
        let set = |out: &mut String, i: usize, text: &str| {
            let _ = writeln!(out, "{indent}const REAL {} = {text};", name(i));
        };
        let hinge = |out: &mut String, value: &str, slope: &str| {
            set(out, 0, value);
            if choice.is_some() {
                set(out, 1, slope);
            }
        };
        match kink {
            Kink::Relu => hinge(out, &format!("relu({})", args[0]), &format!("slope({}, 0, {at}, 1)", args[0])),
            Kink::Abs => hinge(out, &format!("F(fabs)({})", args[0]), &format!("slope({}, -1, {at}, 1)", args[0])),
            Kink::LeakyRelu(s) => {
                let (a, s) = (&args[0], lit(s));
                hinge(out, &format!("{a} < 0 ? {s} * {a} : {a}"), &format!("slope({a}, {s}, {at}, 1)"));
            }
            Kink::Elu(s) => {
                let (a, s) = (&args[0], lit(s));
                hinge(out, &format!("elu({a}, {s})"), &format!("elu_slope({a}, {s}, {at})"));
            }
            Kink::TimesRelu => {
                let (a, b) = (&args[0], &args[1]);
                set(out, 0, &format!("{a} * relu({b})"));
                if choice.is_some() {
                    set(out, 1, &format!("relu({b})"));
                    set(out, 2, &format!("{a} * slope({b}, 0, {at}, 1)"));
                }
            }
            Kink::Max(_) | Kink::Min(_) => {
                self.folded(&v, if matches!(kink, Kink::Max(_)) { "larger" } else { "smaller" }, args, out);
                if let Some(choice) = choice {
                    self.shares(args, &v, choice.ties, &|i| name(i + 1), out);
                }
            }
            Kink::Norm1(_) => {
                let sizes: Vec<String> = args.iter().map(|a| format!("F(fabs)({a})")).collect();
                self.folded(&v, "added", &sizes, out);
                if choice.is_some() {
                    for (i, a) in args.iter().enumerate() {
                        set(out, i + 1, &format!("slope({a}, -1, {at}, 1)"));
                    }
                }
            }
            Kink::NormInf(_) => {
                for (i, a) in args.iter().enumerate() {
                    let _ = writeln!(out, "{indent}const REAL {v}_s{i} = F(fabs)({a});");
                }
                let sizes: Vec<String> = (0..args.len()).map(|i| format!("{v}_s{i}")).collect();
                self.folded(&v, "larger", &sizes, out);
                if let Some(choice) = choice {
                    self.shares(&sizes, &v, choice.ties, &|i| format!("{v}_h{i}"), out);
                    for (i, a) in args.iter().enumerate() {
                        set(out, i + 1, &format!("{v}_h{i} * slope({a}, -1, {at}, 1)"));
                    }
                }
            }
            Kink::Norm2(_) => {
                let n = args.len();
                let squares: Vec<String> = args.iter().map(|a| format!("{a} * {a}")).collect();
                let _ = writeln!(out, "{indent}const REAL {v}_m[{n}] = {{{}}};", args.join(", "));
                self.folded(&format!("{v}_q"), "added", &squares, out);
                set(out, 0, &format!("norm({v}_m, {n}, {v}_q)"));
                if choice.is_some() {
                    for (i, a) in args.iter().enumerate() {
                        set(out, i + 1, &format!("{v} == 0 ? (REAL)0 : {a} / {v}"));
                    }
                }
            }
            Kink::Sort(_) | Kink::OrderStatistic(..) => {
                let n = args.len();
                let last = u8::from(matches!(kink, Kink::Sort(_)) && choice.is_some_and(|c| c.ties == Ties::Last));
                let _ = writeln!(out, "{indent}REAL {v}_m[{n}] = {{{}}};", args.join(", "));
                let _ = writeln!(out, "{indent}int {v}_f[{n}];");
                let _ = writeln!(out, "{indent}sorted({v}_m, {v}_f, {n}, {last});");
                match kink {
                    Kink::OrderStatistic(_, k) => {
                        set(out, 0, &format!("{v}_m[{k}]"));
                        if let Some(choice) = choice {
                            self.shares(args, &v, choice.ties, &|i| name(i + 1), out);
                        }
                    }
                    _ => {
                        (0..n).for_each(|i| set(out, i, &format!("{v}_m[{i}]")));
                        if choice.is_some() {
                            (0..n).for_each(|i| set(out, n + i, &format!("(REAL){v}_f[{i}]")));
                        }
                    }
                }
            }
            Kink::MaxLinear { rows, .. } => self.max_linear(*rows, choice, args, &name, out),
        }
    }

    /// A variable that takes the members one after the other, as the interpreter does: nothing is nested, however many there are.
    fn folded(&self, name: &str, f: &str, members: &[String], out: &mut String) {
        let indent = self.indent;
        let Some((first, rest)) = members.split_first() else { return };
        let _ = writeln!(out, "{indent}REAL {name} = {first};");
        for m in rest {
            let _ = writeln!(out, "{indent}{name} = {f}({name}, {m});");
        }
    }

    /// How the derivative is shared among the members that equal the value.
    fn shares(&self, members: &[String], value: &str, ties: Ties, name: &dyn Fn(usize) -> String, out: &mut String) {
        let indent = self.indent;
        let n = members.len();
        let weight = |out: &mut String, i: usize, test: &str, share: &str| {
            let _ = writeln!(
                out,
                "{indent}const REAL {} = {value} != {value} ? {value} : ({test}) ? {share} : (REAL)0;",
                name(i)
            );
        };
        match ties {
            Ties::First | Ties::Last => {
                let _ = writeln!(out, "{indent}int {value}_t = 0;");
                let each: Vec<usize> = if ties == Ties::First { (0..n).collect() } else { (0..n).rev().collect() };
                for i in each {
                    weight(out, i, &format!("!{value}_t && {} == {value}", members[i]), "(REAL)1");
                    let _ = writeln!(out, "{indent}{value}_t |= {} == {value};", members[i]);
                }
            }
            Ties::Every => (0..n).for_each(|i| weight(out, i, &format!("{} == {value}", members[i]), "(REAL)1")),
            Ties::Average => {
                let tests: Vec<String> = members.iter().map(|m| format!("({m} == {value})")).collect();
                let _ = writeln!(out, "{indent}int {value}_n = 0;");
                tests.iter().for_each(|t| {
                    let _ = writeln!(out, "{indent}{value}_n += {t};");
                });
                let _ = writeln!(out, "{indent}const REAL {value}_t = 1 / (REAL){value}_n;");
                (0..n).for_each(|i| weight(out, i, &tests[i], &format!("{value}_t")));
            }
        }
    }

    fn max_linear(
        &self,
        rows: usize,
        choice: Option<&Choice>,
        args: &[String],
        name: &dyn Fn(usize) -> String,
        out: &mut String,
    ) {
        let indent = self.indent;
        let columns = args.len() / (rows + 1);
        let (a, x) = args.split_at(rows * columns);
        let v = name(0);
        let values: Vec<String> = (0..rows).map(|r| format!("{v}_r{r}")).collect();
        for (r, value) in values.iter().enumerate() {
            let terms: Vec<String> = (0..columns).map(|j| format!("{} * {}", a[r * columns + j], x[j])).collect();
            self.folded(value, "added", &terms, out);
        }
        self.folded(&v, "larger", &values, out);
        let Some(choice) = choice else { return };
        self.shares(&values, &v, choice.ties, &|r| format!("{v}_h{r}"), out);
        // a share of 0 or 1 only moves numbers about
        let scaled = |r: usize, y: &str| format!("({v}_h{r} == 0 ? (REAL)0 : {v}_h{r} == 1 ? {y} : {v}_h{r} * {y})");
        for r in 0..rows {
            for (j, x) in x.iter().enumerate() {
                let _ = writeln!(out, "{indent}const REAL {} = {};", name(1 + r * columns + j), scaled(r, x));
            }
        }
        for j in 0..columns {
            let terms: Vec<String> = (0..rows).map(|r| scaled(r, &a[r * columns + j])).collect();
            let _ = writeln!(out, "{indent}const REAL {} = {};", name(1 + rows * columns + j), terms.join(" + "));
        }
    }
}

/// There is one zero.
fn stairs(stair: Stair, a: &str) -> String {
    match stair {
        Stair::Sign => format!("({a} > 0 ? (REAL)1 : {a} < 0 ? (REAL)-1 : {a}) + (REAL)0"),
        Stair::Floor => format!("F(floor)({a}) + (REAL)0"),
        Stair::Ceil => format!("F(ceil)({a}) + (REAL)0"),
        Stair::Round => format!("F(rint)({a}) + (REAL)0"),
    }
}

fn smooth(f: Smooth, a: &str) -> String {
    let plain = |name: &str| format!("call_{name}({a})");
    match f {
        Smooth::Inv => format!("1 / {a}"),
        Smooth::Exp => plain("exp"),
        Smooth::Log => plain("log"),
        Smooth::Sqrt => format!("F(sqrt)({a})"),
        Smooth::Sin => plain("sin"),
        Smooth::Cos => plain("cos"),
        Smooth::Tanh => plain("tanh"),
        Smooth::Sigmoid => format!("sigmoid({a})"),
        Smooth::Softplus => format!("softplus({a})"),
        Smooth::Tan => plain("tan"),
        Smooth::Asin => plain("asin"),
        Smooth::Acos => plain("acos"),
        Smooth::Atan => plain("atan"),
        Smooth::Sinh => plain("sinh"),
        Smooth::Cosh => plain("cosh"),
        Smooth::Asinh => format!("inverse_sinh({a})"),
        Smooth::Acosh => format!("inverse_cosh({a})"),
        Smooth::Atanh => format!("inverse_tanh({a})"),
        Smooth::Erf => plain("erf"),
        Smooth::Erfc => plain("erfc"),
        Smooth::ErfSlope => format!("erf_slope({a})"),
        Smooth::Log1p => plain("log1p"),
        Smooth::Expm1 => plain("expm1"),
        Smooth::Power(k) => format!("powers({a}, {k})"),
        Smooth::Root(p, q) => format!("root({a}, {p}.0, {q}.0)"),
    }
}
