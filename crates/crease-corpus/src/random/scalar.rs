//! The choice of an operation, and the operations on single numbers and on groups of them.

use super::Dictionary;
use super::grow::{Fact, Grower, Var};
use crease_core::op::{Comparison, Logic};
use crease_core::{Atom, Kink, Lane, Op, Rational, Shape, Smooth};

/// A kind of step in the growth of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Add,
    Sub,
    Mul,
    Neg,
    Div,
    Inv,
    Exp,
    Log,
    Sqrt,
    Bounded,
    Power,
    LogSumExp,
    Relu,
    TimesRelu,
    Abs,
    Leaky,
    Elu,
    Group,
    MaxLinear,
    Folded,
    Structure,
    Product,
    Images,
    Compare,
    Select,
    Call,
}

impl Grower<'_> {
    /// Adds one operation of the dictionary, with its guards.
    pub fn step(&mut self) {
        let steps = self.steps();
        let done = match *self.rng.pick(&steps) {
            Step::Add => self.sum_of_two(Op::Add),
            Step::Sub => self.sum_of_two(Op::Sub),
            Step::Mul => self.product_of_two(),
            Step::Neg => self.unary(Op::Neg, |f| f.within(f.size)),
            Step::Div => self.quotient(),
            Step::Inv => self.guarded(Op::Smooth(Smooth::Inv)),
            Step::Log => self.guarded(Op::Smooth(Smooth::Log)),
            Step::Sqrt => self.guarded(Op::Smooth(Smooth::Sqrt)),
            Step::Exp => self.exponential(),
            Step::Bounded => {
                let op = self
                    .rng
                    .pick(&[
                        Op::Smooth(Smooth::Sin),
                        Op::Smooth(Smooth::Cos),
                        Op::Smooth(Smooth::Tanh),
                        Op::Smooth(Smooth::Sigmoid),
                    ])
                    .clone();
                let v = self.any();
                let v = self.small(v, 8.0);
                self.emit(op, &[v], v.fact.within(1.0));
                true
            }
            Step::Power => self.power(),
            Step::LogSumExp => self.log_sum_exp(),
            Step::Relu => self.unary(Op::Kink(Kink::Relu), |f| f),
            Step::Abs => self.unary(Op::Kink(Kink::Abs), |f| f),
            Step::Leaky => {
                let slope = self.rng.pick(&[(1, 4), (0, 1), (-1, 2), (1, 100)]);
                let slope = Rational::new(slope.0, slope.1).unwrap_or_default();
                self.unary(Op::Kink(Kink::LeakyRelu(slope)), |f| f.within(f.size))
            }
            Step::Elu => {
                let scale = Rational::new(*self.rng.pick(&[1, 2, 3]), 2).unwrap_or_default();
                self.unary(Op::Kink(Kink::Elu(scale)), |f| f.within(f.size.max(1.5)))
            }
            Step::TimesRelu => {
                let (a, b) = (self.any_or_constant(), self.any());
                let (a, b) = self.alike(a, b);
                let fact = a.fact.times(b.fact);
                self.fits(fact) && {
                    self.emit(Op::Kink(Kink::TimesRelu), &[a, b], fact);
                    true
                }
            }
            Step::Group => self.group(),
            Step::MaxLinear => self.max_linear(),
            Step::Folded => self.folded(),
            Step::Structure => self.structure(),
            Step::Product => self.matrix_product(),
            Step::Images => self.images(),
            Step::Compare => {
                let c = self.condition();
                self.keep(c, Fact::constant(1.0).within(1.0));
                true
            }
            Step::Select => self.call(true),
            Step::Call => self.call(false),
        };
        if !done {
            // always possible, and small again
            let (a, b) = (self.plain(), self.plain());
            let (a, b) = self.alike(a, b);
            self.emit(Op::Add, &[a, b], a.fact.plus(b.fact));
        }
    }

    fn steps(&self) -> Vec<Step> {
        use Step::*;
        let mut steps = match self.o.dictionary {
            Dictionary::D0 => vec![Add, Add, Sub, Sub, Relu, Relu],
            Dictionary::Relu => vec![Add, Add, Mul, Mul, Inv, Relu, Relu, Exp, Log],
            Dictionary::Polynomial => vec![Add, Sub, Mul, Mul, Neg, Power],
            Dictionary::Smooth => {
                vec![Add, Sub, Mul, Neg, Div, Inv, Power, Exp, Log, Sqrt, Bounded, Bounded, LogSumExp]
            }
            Dictionary::PiecewiseLinear => vec![Add, Sub, Neg, Relu, Abs, Leaky, Group, Group, Group],
            Dictionary::Everything => vec![
                Add, Sub, Mul, Neg, Div, Inv, Power, Folded, Relu, TimesRelu, Abs, Leaky, Group, Group, Group,
                MaxLinear, Exp, Log, Sqrt, Bounded, LogSumExp, Elu,
            ],
        };
        if self.o.exact {
            steps.retain(|s| !matches!(s, Exp | Log | Sqrt | Bounded | LogSumExp | Elu));
        }
        if self.o.tensors {
            let n = 1 + steps.len() / 4;
            steps.extend(std::iter::repeat_n(Structure, n));
            if self.o.dictionary != Dictionary::D0 && self.o.dictionary != Dictionary::PiecewiseLinear {
                steps.extend([Product, Product]);
            }
            if matches!(self.o.dictionary, Dictionary::Everything) {
                steps.extend([Images, Images]);
            }
        }
        if self.o.branches && self.o.dictionary == Dictionary::Everything {
            steps.push(Compare);
            if self.o.calls > 0 {
                steps.extend([Select, Select]);
            }
        }
        if self.o.calls > 0 {
            let n = 1 + steps.len() / 4;
            steps.extend(std::iter::repeat_n(Call, n));
        }
        steps
    }

    fn unary(&mut self, op: Op, fact: impl Fn(Fact) -> Fact) -> bool {
        let v = self.any();
        self.emit(op, &[v], fact(v.fact));
        true
    }

    /// Two values of one shape, or of which one is a scalar.
    fn alike(&mut self, a: Var, b: Var) -> (Var, Var) {
        let (sa, sb) = (self.b.shape(a.atom), self.b.shape(b.atom));
        if sa == sb || sa.is_scalar() || sb.is_scalar() {
            return (a, b);
        }
        if sa.len() >= sb.len() { (a, self.reshaped(b, &sa)) } else { (self.reshaped(a, &sb), b) }
    }

    /// Two values, of which one may be a constant.
    fn two(&mut self) -> (Var, Var) {
        let (a, b) = (self.any(), self.any_or_constant());
        let (a, b) = self.alike(a, b);
        if self.rng.once_in(2) { (a, b) } else { (b, a) }
    }

    fn sum_of_two(&mut self, op: Op) -> bool {
        let (a, b) = self.two();
        let fact = a.fact.plus(b.fact);
        self.fits(fact) && {
            self.emit(op, &[a, b], fact);
            true
        }
    }

    fn product_of_two(&mut self) -> bool {
        let (a, b) = self.two();
        let (a, b) = (self.small(a, 16.0), self.small(b, 16.0));
        let fact = a.fact.times(b.fact);
        self.fits(fact) && {
            self.emit(Op::Mul, &[a, b], fact);
            true
        }
    }

    /// A value that is at least 1, by squaring or rectifying.
    fn positive(&mut self, v: Var) -> Option<Var> {
        let v = self.small(v, 4.0);
        let kinks = matches!(self.o.dictionary, Dictionary::Relu | Dictionary::Everything);
        let base = if kinks && self.rng.once_in(2) {
            self.emit(Op::Kink(Kink::Relu), &[v], v.fact)
        } else {
            let fact = v.fact.times(v.fact);
            if !self.fits(fact) {
                return None;
            }
            self.emit(Op::Mul, &[v, v], fact)
        };
        let one = Var { atom: self.b.constant(1), fact: Fact::constant(1.0) };
        let fact = Fact { low: 1.0, ..base.fact.plus(one.fact) };
        Some(self.emit(Op::Add, &[base, one], fact))
    }

    fn guarded(&mut self, op: Op) -> bool {
        let v = self.any();
        let v = match v.fact.low {
            low if low >= 0.5 => Some(v),
            _ => self.positive(v),
        };
        let Some(v) = v else { return false };
        let fact = match op {
            Op::Smooth(Smooth::Inv) => {
                Fact { size: 1.0 / v.fact.low, low: 1.0 / v.fact.size, fraction: true, ..v.fact }
            }
            Op::Smooth(Smooth::Sqrt) => Fact { size: v.fact.size.sqrt(), low: v.fact.low.sqrt(), ..v.fact },
            _ => v.fact.within(v.fact.size.ln().abs().max(v.fact.low.ln().abs())),
        };
        self.emit(op, &[v], fact);
        true
    }

    fn exponential(&mut self) -> bool {
        let v = self.any();
        let v = self.small(v, 2.0);
        let low = (-v.fact.size).exp();
        self.emit(Smooth::Exp, &[v], Fact { low, ..v.fact.within(v.fact.size.exp()) });
        true
    }

    fn quotient(&mut self) -> bool {
        let (a, b) = self.two();
        if b.atom.value().is_none() {
            // by a constant, which must not be 0
            let b = if b.fact.size == 0.0 { Var { atom: self.b.constant(-3), fact: Fact::constant(3.0) } } else { b };
            let fact = a.fact.within(a.fact.size * 4.0);
            return self.fits(fact) && {
                self.emit(Op::Div, &[a, b], fact);
                true
            };
        }
        let Some(b) = self.positive(b) else { return false };
        let fact = Fact { fraction: true, ..a.fact.times(b.fact).within(a.fact.size) };
        self.fits(fact) && {
            let (a, b) = self.alike(a, b);
            self.emit(Op::Div, &[a, b], fact);
            true
        }
    }

    fn power(&mut self) -> bool {
        let v = self.any();
        let v = self.small(v, 4.0);
        let powers: &[i32] =
            if self.o.dictionary == Dictionary::Polynomial { &[2, 3, 1] } else { &[2, 3, 4, 1, 0, -1, -2] };
        let k = *self.rng.pick(powers);
        let v = if k >= 0 {
            v
        } else {
            match self.positive(v) {
                Some(v) => v,
                None => return false,
            }
        };
        let n = k.unsigned_abs() as usize;
        let size = if k < 0 { 1.0 } else { v.fact.size.powi(k) };
        let fact = Fact { size, low: 0.0, degree: v.fact.degree * n, fraction: v.fact.fraction || k < 0 };
        self.fits(fact) && {
            self.emit(Smooth::Power(k), &[v], fact);
            true
        }
    }

    /// An operation of constants alone, which stays in the program.
    fn folded(&mut self) -> bool {
        let (a, b) = (self.constant(), self.constant());
        let op = self.rng.pick(&[Op::Add, Op::Mul, Op::Kink(Kink::Max(Lane::Args)), Op::Sub]).clone();
        let atom = self.b.push1(op, &[a.atom, b.atom]).expect("two constants");
        self.keep(atom, Fact::constant(9.0).within(9.0));
        true
    }

    fn log_sum_exp(&mut self) -> bool {
        if self.o.tensors && self.rng.once_in(2) {
            let v = self.any();
            let v = self.small(v, 8.0);
            let shape = self.b.shape(v.atom);
            let fact = v.fact.within(v.fact.size + 4.0);
            let atom = if shape.is_scalar() || self.rng.once_in(2) {
                self.b.logsumexp(v.atom)
            } else {
                self.b.logsumexp_axis(v.atom, self.rng.below(shape.rank()) as isize)
            };
            self.keep(atom.expect("an axis that is there"), fact);
            return true;
        }
        let n = 1 + self.rng.below(3);
        let members = self.members(n);
        let members: Vec<Var> = members.into_iter().map(|v| self.small(v, 8.0)).collect();
        let fact = self.of_members(&members);
        let args: Vec<Atom> = members.iter().map(|v| v.atom).collect();
        let atom = self.b.push1(Op::LogSumExp(Lane::Args), &args).expect("members of one shape");
        self.keep(atom, fact.within(fact.size + 4.0));
        true
    }

    /// Several values of one shape; now and then one of them twice, now and then a constant.
    fn members(&mut self, n: usize) -> Vec<Var> {
        let first = self.any();
        // one tensor alone is no lane of arguments
        let first = if n == 1 { self.one_number(first) } else { first };
        let shape = self.b.shape(first.atom);
        let mut members = vec![first];
        while members.len() < n {
            let v = match self.rng.below(6) {
                0 => first,
                1 if self.o.dictionary != Dictionary::D0 => self.constant(),
                _ => {
                    let v = self.any();
                    self.reshaped(v, &shape)
                }
            };
            members.push(v);
        }
        let i = self.rng.below(n);
        members.swap(0, i);
        members
    }

    fn of_members(&self, members: &[Var]) -> Fact {
        members.iter().map(|v| v.fact).reduce(Fact::either).unwrap_or(Fact::constant(0.0))
    }

    /// A maximum, minimum, order statistic, sort or norm, of arguments, along an axis or of everything.
    fn group(&mut self) -> bool {
        // a Euclidean norm is no rational number
        let rational = self.o.exact || self.o.dictionary != Dictionary::Everything;
        let pick = self.rng.below(if rational { 6 } else { 7 });
        let kink = |n: usize, k: usize| match pick {
            0 => Kink::Max(Lane::Args),
            1 => Kink::Min(Lane::Args),
            2 => Kink::OrderStatistic(Lane::Args, k % n),
            3 => Kink::Sort(Lane::Args),
            4 => Kink::Norm1(Lane::Args),
            6 => Kink::Norm2(Lane::Args),
            _ => Kink::NormInf(Lane::Args),
        };
        let k = self.rng.below(60);
        let summed = |f: Fact, n: usize| if pick == 4 || pick == 6 { f.sum(n) } else { f };
        let of_tensor = self.o.tensors && !self.rng.once_in(3);
        if !of_tensor {
            let n = 1 + self.rng.below(4);
            let members = self.members(n);
            let fact = summed(self.of_members(&members), n);
            if !self.fits(fact) {
                return false;
            }
            let args: Vec<Atom> = members.iter().map(|v| v.atom).collect();
            for atom in self.b.lane(&kink(n, k), &args).expect("members of one shape") {
                self.keep(atom, fact);
            }
            return true;
        }
        let v = self.any();
        let shape = self.b.shape(v.atom);
        let all = shape.is_scalar() || self.rng.once_in(2);
        let axis = if all { 0 } else { self.rng.below(shape.rank()) };
        let n = if all { shape.len() } else { shape.dims()[axis] };
        let fact = summed(v.fact, n);
        if !self.fits(fact) {
            return false;
        }
        let kink = kink(n, k);
        let atom = if all { self.b.lane_all(&kink, v.atom) } else { self.b.lane_axis(&kink, v.atom, axis as isize) };
        self.keep(atom.expect("an axis that is there"), fact);
        true
    }

    fn max_linear(&mut self) -> bool {
        let (rows, columns) = (1 + self.rng.below(3), 1 + self.rng.below(2));
        if self.o.tensors && self.rng.once_in(2) {
            let (a, x) = (self.any(), self.any());
            let matrix = Shape::new([rows, columns]).expect("no empty axis");
            let (a, x) = (self.reshaped(a, &matrix), self.reshaped(x, &Shape::vector(columns).expect("no empty axis")));
            let (a, x) = (self.small(a, 8.0), self.small(x, 8.0));
            let fact = a.fact.times(x.fact).sum(columns);
            return self.fits(fact) && {
                let atom = self.b.max_linear(a.atom, x.atom).expect("a matrix and a vector");
                self.keep(atom, fact);
                true
            };
        }
        let numbers: Vec<Var> = (0..rows * columns + columns)
            .map(|_| {
                let v = self.any_or_constant();
                let v = self.one_number(v);
                self.small(v, 8.0)
            })
            .collect();
        let fact = self.of_members(&numbers);
        let fact = fact.times(fact).sum(columns);
        self.fits(fact) && {
            let args: Vec<Atom> = numbers.iter().map(|v| v.atom).collect();
            let results =
                self.b.lane(&Kink::MaxLinear { lane: Lane::Args, rows }, &args).expect("a matrix and a vector");
            self.keep(results[0], fact);
            true
        }
    }

    /// A comparison of two scalars, or a combination of such.
    pub fn condition(&mut self) -> Atom {
        use Comparison::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
        let how = *self.rng.pick(&[Less, LessEqual, Greater, GreaterEqual, Equal, NotEqual]);
        let (a, b) = (self.any_scalar(), self.any_or_constant());
        let b = self.one_number(b);
        let one = self.b.compare(how, a.atom, b.atom).expect("two scalars");
        match self.rng.below(6) {
            0 => self.b.logic(Logic::Not, &[one]).expect("a scalar"),
            1 => {
                let other = self.condition();
                let how = *self.rng.pick(&[Logic::And, Logic::Or]);
                self.b.logic(how, &[one, other]).expect("two scalars")
            }
            _ => one,
        }
    }
}
