//! The steps of growth, and the ordinary ones among them: operations applied to anything.

use super::grow::{Grower, Var};
use crease_core::{Kink, Lane, Op, Rational, Shape, Smooth};

impl Grower<'_> {
    /// One step: a few equations, or none if what was drawn has no value at the point.
    pub fn step(&mut self) {
        let v = match self.rng.below(41) {
            0..3 => self.arithmetic_step(),
            3..6 => self.smooth(),
            6..10 => self.hinge(),
            10..14 => self.group(),
            14..17 => self.near_tie(),
            17..20 => self.cancellation(),
            20..24 => self.vanishing(),
            24..28 if self.depth < 2 => self.selection(),
            28..30 if self.depth < 2 => self.calls(),
            30..32 => self.tensor(),
            32..34 => self.choice(),
            34 => self.rounding(),
            35 => self.guarded(),
            36 => self.position(),
            37 => self.position(),
            38..40 if self.depth < 2 => self.turns(),
            _ => self.linear_group(),
        };
        self.keep(v);
    }

    fn arithmetic_step(&mut self) -> Option<Var> {
        let (a, b) = (self.any(), self.any_or_constant());
        let (a, b) = if self.rng.once_in(2) { (a, b) } else { (b, a) };
        let op = self.rng.pick(&[Op::Add, Op::Sub, Op::Mul, Op::Mul, Op::Div]).clone();
        self.emit(op, &[&a, &b])
    }

    fn smooth(&mut self) -> Option<Var> {
        let a = if self.rng.once_in(3) { self.zero()? } else { self.any() };
        if self.rng.once_in(5) {
            return self.at_an_edge(&a);
        }
        let k = *self.rng.pick(&[-3, -2, -1, 0, 1, 2, 2, 3, 4]);
        let ops = [
            Op::Smooth(Smooth::Exp),
            Op::Smooth(Smooth::Exp),
            Op::Smooth(Smooth::Log),
            Op::Smooth(Smooth::Sqrt),
            Op::Smooth(Smooth::Sqrt),
            Op::Smooth(Smooth::Sin),
            Op::Smooth(Smooth::Cos),
            Op::Smooth(Smooth::Tanh),
            Op::Smooth(Smooth::Sigmoid),
            Op::Smooth(Smooth::Softplus),
            Op::Smooth(Smooth::Tan),
            Op::Smooth(Smooth::Asin),
            Op::Smooth(Smooth::Acos),
            Op::Smooth(Smooth::Atan),
            Op::Smooth(Smooth::Sinh),
            Op::Smooth(Smooth::Cosh),
            Op::Smooth(Smooth::Asinh),
            Op::Smooth(Smooth::Acosh),
            Op::Smooth(Smooth::Atanh),
            Op::Smooth(Smooth::Erf),
            Op::Smooth(Smooth::Erfc),
            Op::Smooth(Smooth::ErfSlope),
            Op::Smooth(Smooth::Log1p),
            Op::Smooth(Smooth::Expm1),
            Op::Smooth(Smooth::Root(2, 3)),
            Op::Smooth(Smooth::Root(-1, 2)),
            Op::Smooth(Smooth::Root(5, 2)),
            Op::Smooth(Smooth::Inv),
            Op::Smooth(Smooth::Power(k)),
            Op::Smooth(Smooth::Power(k)),
        ];
        let op = self.rng.pick(&ops).clone();
        self.emit(op, &[&a])
    }

    /// A function at or next to the place where it ends, the argument moved there by what it is otherwise: an input, a zero, the square or
    /// the size of one.
    fn at_an_edge(&mut self, a: &Var) -> Option<Var> {
        let places = [
            (Smooth::Asin, 1),
            (Smooth::Asin, -1),
            (Smooth::Acos, 1),
            (Smooth::Acos, -1),
            (Smooth::Acosh, 1),
            (Smooth::Atanh, 1),
            (Smooth::Atanh, -1),
            (Smooth::Log1p, -1),
            (Smooth::Root(1, 3), 0),
            (Smooth::Root(3, 2), 0),
            (Smooth::Root(7, 3), 0),
            (Smooth::Root(-1, 3), 0),
            (Smooth::Sqrt, 0),
            (Smooth::Log, 0),
        ];
        let (f, at) = *self.rng.pick(&places);
        let moved = match self.rng.below(5) {
            0 => a.clone(),
            1 => self.emit(Smooth::Power(2), &[a])?,
            2 => self.abs(a)?,
            3 => {
                let gap = self.rng.pick(&["1e-20", "-1e-20", "1e-40", "1e-17"]).parse().unwrap_or_default();
                let gap = self.constant(gap);
                self.add(a, &gap)?
            }
            _ => {
                let square = self.emit(Smooth::Power(2), &[a])?;
                self.neg(&square)?
            }
        };
        let at = self.ratio(at, 1);
        let sum = self.add(&moved, &at)?;
        self.emit(f, &[&sum])
    }

    /// The operations of one variable with a kink at zero.
    pub fn hinged(&mut self) -> Op {
        let slope: Rational =
            self.rng.pick(&["1/4", "0", "-1", "0.99999999999999999999", "1e-20", "-3"]).parse().unwrap_or_default();
        let scale: Rational =
            self.rng.pick(&["1", "1", "2", "1/2", "1.00000000000000000001", "1e-20"]).parse().unwrap_or_default();
        let kinks = [Kink::Relu, Kink::Relu, Kink::Abs, Kink::Abs, Kink::LeakyRelu(slope), Kink::Elu(scale)];
        Op::Kink(self.rng.pick(&kinks).clone())
    }

    fn hinge(&mut self) -> Option<Var> {
        let a = if self.rng.once_in(4) { self.any() } else { self.zero()? };
        if self.rng.once_in(5) {
            let b = self.any_or_constant();
            return self.emit(Op::Kink(Kink::TimesRelu), &[&b, &a]);
        }
        // a smooth function between: abs(sin(z)), relu(tanh(z)), relu(exp(z) - 1)
        let a = match self.rng.below(6) {
            0 => self.emit(Smooth::Sin, &[&a])?,
            3 => {
                let through = [Smooth::Tan, Smooth::Asin, Smooth::Atan, Smooth::Sinh, Smooth::Asinh, Smooth::Atanh];
                let more = [Smooth::Erf, Smooth::Log1p, Smooth::Expm1];
                let f = *self.rng.pick(&[&through[..], &more[..]].concat());
                self.emit(f, &[&a])?
            }
            1 => self.emit(Smooth::Tanh, &[&a])?,
            2 if a.is_zero() => {
                let one = self.ratio(1, 1);
                let e = self.emit(Smooth::Exp, &[&a])?;
                self.sub(&e, &one)?
            }
            _ => a,
        };
        let op = self.hinged();
        self.emit(op, &[&a])
    }

    /// Members of a group that tie at the point: zeros, their negatives, disguises and copies.
    pub fn members(&mut self, n: usize) -> Option<Vec<Var>> {
        let mut members: Vec<Var> = Vec::new();
        for _ in 0..n {
            let v = match self.rng.below(8) {
                0 => self.ratio(0, 1),
                1 if !members.is_empty() => self.rng.pick(&members).clone(),
                2 if !members.is_empty() => {
                    let m = self.rng.pick(&members).clone();
                    self.neg(&m)?
                }
                3 if !members.is_empty() => {
                    let m = self.rng.pick(&members).clone();
                    self.disguise(&m)?
                }
                4 => self.any(),
                _ => self.zero()?,
            };
            members.push(v);
        }
        if members.iter().all(|m| m.atom.value().is_none()) {
            members[0] = self.any();
        }
        Some(members)
    }

    fn group(&mut self) -> Option<Var> {
        let n = 1 + self.rng.below(4);
        let mut members = self.members(n)?;
        if self.rng.once_in(12) {
            // many, most of them copies: long lists are worked on in other ways than short ones
            for _ in 0..16 + self.rng.below(4) {
                let copy = self.rng.pick(&members).clone();
                members.push(copy);
            }
        }
        let n = members.len();
        let args: Vec<&Var> = members.iter().collect();
        let k = self.rng.below(n);
        let lane = Lane::Args;
        let kinks = [
            Kink::Max(lane),
            Kink::Max(lane),
            Kink::Min(lane),
            Kink::OrderStatistic(lane, k),
            Kink::Sort(lane),
            Kink::Norm1(lane),
            Kink::NormInf(lane),
            Kink::Norm2(lane),
        ];
        if n > 1 && self.rng.once_in(10) {
            return self.root_of_squares(&members);
        }
        let kink = self.rng.pick(&kinks).clone();
        if n > 1 && self.rng.once_in(4) {
            return self.emit_on_axis(&kink, &args);
        }
        let mut results = self.emit_all(Op::Kink(kink), &args)?;
        let i = self.rng.below(results.len());
        Some(results.swap_remove(i))
    }

    /// A Euclidean norm under another name: the root of squares, some of them with a weight.
    fn root_of_squares(&mut self, members: &[Var]) -> Option<Var> {
        let mut sum: Option<Var> = None;
        for m in members {
            let mut square = match *self.rng.pick(&[0, 2, 2, 4]) {
                0 => self.emit(Op::Mul, &[m, m])?,
                k => self.emit(Smooth::Power(k), &[m])?,
            };
            if self.rng.once_in(3) {
                let weight = self.some_constant();
                square = self.emit(Op::Mul, &[&weight, &square])?;
            }
            sum = Some(match sum {
                None => square,
                Some(sum) => self.emit(Op::Add, &[&sum, &square])?,
            });
        }
        self.emit(Smooth::Sqrt, &[&sum?])
    }

    /// A maximum of linear forms, or a log-sum-exp.
    fn linear_group(&mut self) -> Option<Var> {
        let n = 1 + self.rng.below(2);
        if self.rng.once_in(3) {
            let members = self.members(n + 1)?;
            let args: Vec<&Var> = members.iter().collect();
            if self.rng.once_in(3) {
                let number = self.numbers(&args).and_then(|x| self.scalars(&Op::LogSumExp(Lane::Args), &x));
                let vector = self.vector(&args)?;
                let atom = self.b.logsumexp(vector).ok()?;
                return Some(Var { atom, number: number.map(|mut n| n.swap_remove(0)) });
            }
            return self.emit(Op::LogSumExp(Lane::Args), &args);
        }
        let rows = 2 + self.rng.below(2);
        let mut args: Vec<Var> = Vec::new();
        for _ in 0..rows * n {
            args.push(if self.rng.once_in(4) { self.any() } else { self.some_constant() });
        }
        args.extend(self.members(n)?);
        let args: Vec<&Var> = args.iter().collect();
        let op = Op::Kink(Kink::MaxLinear { lane: Lane::Args, rows });
        if self.rng.once_in(3) {
            let number = self.numbers(&args).and_then(|x| self.scalars(&op, &x));
            let (matrix, vector) = (self.vector(&args[..rows * n])?, self.vector(&args[rows * n..])?);
            let matrix = self.b.reshape(matrix, &Shape::new([rows, n]).ok()?).ok()?;
            let atom = self.b.max_linear(matrix, vector).ok()?;
            return Some(Var { atom, number: number.map(|mut n| n.swap_remove(0)) });
        }
        self.emit(op, &args)
    }
}
