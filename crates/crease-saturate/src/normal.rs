//! A normal form: polynomials over atoms.
//!
//! A scalar program enters; what leaves is one polynomial for each value, with exact coefficients, whose variables are *atoms*: inputs, relu of a
//! polynomial, powers of a polynomial that is divided by, and operations without laws, each with its arguments in normal form.
//! All kinks that relu can express are expressed by it, and every relu is turned so that its argument begins with coefficient 1:
//! relu(c w) = c relu(w) for c > 0, and relu(-w) = relu(w) - w. So `relu(a - b) + b` and `max(b, a)` have one normal form.
//!
//! Equal normal forms prove that two programs agree wherever both are defined. Different ones prove nothing: max(a, max(b, c)) and
//! max(max(a, b), c) differ. Deliberately absent: factoring, cancellation of common factors of several terms.

use crease_core::limits::SaturationLimits;
use crease_core::{Atom, Kink, Lane, Op, Program, Rational, Smooth};
use std::collections::{BTreeMap, HashMap};

/// A product of powers of atoms, in the order of the atoms; no exponent is 0.
pub type Monomial = Vec<(u32, i32)>;

/// A sum of monomials with coefficients that are not 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Poly(pub BTreeMap<Monomial, Rational>);

impl Poly {
    pub fn constant(c: Rational) -> Self {
        Poly((!c.is_zero()).then(|| (Vec::new(), c)).into_iter().collect())
    }

    fn atom(id: u32) -> Self {
        Poly(BTreeMap::from([(vec![(id, 1)], Rational::ONE)]))
    }

    fn scaled(&self, c: &Rational) -> Self {
        if c.is_zero() {
            return Poly::default();
        }
        Poly(self.0.iter().map(|(m, x)| (m.clone(), x * c)).collect())
    }

    fn plus(&self, c: &Rational, other: &Poly) -> Self {
        let mut sum = self.0.clone();
        for (m, x) in &other.0 {
            add_term(&mut sum, m.clone(), x * c);
        }
        Poly(sum)
    }

    fn times(&self, other: &Poly, limits: &SaturationLimits) -> Option<Self> {
        let mut sum = BTreeMap::new();
        for (m, x) in &self.0 {
            for (n, y) in &other.0 {
                add_term(&mut sum, product(m, n), x * y);
                if sum.len() > limits.monomials {
                    return None;
                }
            }
        }
        Poly(sum).checked(limits)
    }

    fn checked(self, limits: &SaturationLimits) -> Option<Self> {
        let short = |c: &Rational| c.bits() <= limits.coefficient;
        (self.0.len() <= limits.monomials && self.0.values().all(short)).then_some(self)
    }
}

fn add_term(sum: &mut BTreeMap<Monomial, Rational>, m: Monomial, c: Rational) {
    if c.is_zero() {
        return;
    }
    match sum.entry(m) {
        std::collections::btree_map::Entry::Vacant(v) => {
            v.insert(c);
        }
        std::collections::btree_map::Entry::Occupied(mut o) => {
            let total = o.get() + &c;
            if total.is_zero() {
                o.remove();
            } else {
                o.insert(total);
            }
        }
    }
}

fn product(m: &Monomial, n: &Monomial) -> Monomial {
    let mut out: Monomial = Vec::with_capacity(m.len() + n.len());
    let (mut i, mut j) = (0, 0);
    while i < m.len() || j < n.len() {
        let (a, b) = (m.get(i).map_or(u32::MAX, |x| x.0), n.get(j).map_or(u32::MAX, |x| x.0));
        let atom = a.min(b);
        let mut exponent = 0;
        if a == atom {
            exponent += m[i].1;
            i += 1;
        }
        if b == atom {
            exponent += n[j].1;
            j += 1;
        }
        if exponent != 0 {
            out.push((atom, exponent));
        }
    }
    out
}

/// What an atom is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// An input of the program.
    Input(u32),
    /// A value that is looked at no further.
    Value(u32),
    /// relu of a polynomial that is no constant and begins with 1.
    Relu(Poly),
    /// A polynomial of several terms that begins with 1, of which there are negative powers.
    Group(Poly),
    /// A result of an operation without laws.
    Other(Op, Vec<Poly>, u32),
}

/// The atoms of some normal forms: those that are compared share one table.
pub struct Atoms {
    limits: SaturationLimits,
    keys: Vec<Key>,
    ids: HashMap<Key, u32>,
}

impl Atoms {
    /// None yet, for normal forms within these limits.
    pub fn new(limits: &SaturationLimits) -> Self {
        Atoms { limits: *limits, keys: Vec::new(), ids: HashMap::new() }
    }

    pub fn key(&self, id: u32) -> &Key {
        &self.keys[id as usize]
    }

    fn poly(&mut self, key: Key) -> Poly {
        let next = self.keys.len() as u32;
        let id = *self.ids.entry(key.clone()).or_insert(next);
        if id == next {
            self.keys.push(key);
        }
        Poly::atom(id)
    }

    /// The normal forms of all outputs; none if one of them is too large, or is computed by other programs.
    pub fn outputs(&mut self, p: &Program) -> Option<Vec<Poly>> {
        let values = self.values(p, false)?;
        Some(p.outputs().iter().map(|&o| atom(p, &values, o)).collect())
    }

    /// The normal forms of all values. What is too large becomes an atom if `cut` says so.
    pub fn values(&mut self, p: &Program, cut: bool) -> Option<Vec<Poly>> {
        let mut values: Vec<Poly> = (0..p.inputs().len() as u32).map(|i| self.poly(Key::Input(i))).collect();
        for e in p.equations() {
            let args: Vec<Poly> = e.args.iter().map(|&a| atom(p, &values, a)).collect();
            match self.results(e.op, &args, e.results) {
                Some(results) => values.extend(results),
                None if cut => {
                    for v in e.results() {
                        values.push(self.poly(Key::Value(v.index() as u32)));
                    }
                }
                None => return None,
            }
        }
        Some(values)
    }

    fn results(&mut self, op: &Op, args: &[Poly], count: usize) -> Option<Vec<Poly>> {
        let minus = -Rational::ONE;
        let one = match op {
            Op::Add => args[0].plus(&Rational::ONE, &args[1]).checked(&self.limits)?,
            Op::Sub => args[0].plus(&minus, &args[1]).checked(&self.limits)?,
            Op::Neg => args[0].scaled(&minus),
            Op::Mul => args[0].times(&args[1], &self.limits)?,
            Op::Div => args[0].times(&self.inverse(&args[1])?, &self.limits)?,
            Op::Smooth(Smooth::Inv) => self.inverse(&args[0])?,
            Op::Smooth(Smooth::Power(k)) => self.power(&args[0], *k)?,
            Op::Kink(kink) => match self.kink(kink, args)? {
                Some(value) => value,
                None => return Some(self.others(op, args, count)),
            },
            Op::Joint(kink, _) => {
                let mut results = self.others(op, args, count);
                if let Some(value) = self.kink(kink, args)? {
                    results[0] = value;
                }
                return Some(results);
            }
            // which program a number names is a matter of the program it is in
            op if !op.callees().is_empty() => return None,
            _ => return Some(self.others(op, args, count)),
        };
        Some(vec![one])
    }

    fn others(&mut self, op: &Op, args: &[Poly], count: usize) -> Vec<Poly> {
        (0..count as u32).map(|i| self.poly(Key::Other(op.clone(), args.to_vec(), i))).collect()
    }

    /// A kink by relu; `Some(None)` if it has no such form here, nothing if it is too large.
    fn kink(&mut self, kink: &Kink, args: &[Poly]) -> Option<Option<Poly>> {
        let fold = |atoms: &mut Self, args: &[Poly], f: fn(&mut Self, &Poly, &Poly) -> Option<Poly>| {
            let mut rest = args.iter();
            let first = rest.next()?.clone();
            rest.try_fold(first, |a, b| f(atoms, &a, b))
        };
        let value = match kink {
            Kink::Relu => self.relu(&args[0])?,
            Kink::Abs => self.abs(&args[0])?,
            Kink::TimesRelu => args[0].times(&self.relu(&args[1])?, &self.limits)?,
            Kink::LeakyRelu(slope) => {
                let bend = self.relu(&args[0])?.scaled(&(&Rational::ONE - slope));
                bend.plus(slope, &args[0]).checked(&self.limits)?
            }
            Kink::Max(Lane::Args) => fold(self, args, Self::max)?,
            Kink::Min(Lane::Args) => fold(self, args, Self::min)?,
            Kink::OrderStatistic(Lane::Args, 0) => fold(self, args, Self::min)?,
            Kink::OrderStatistic(Lane::Args, k) if k + 1 == args.len() => fold(self, args, Self::max)?,
            Kink::Norm1(Lane::Args) => {
                let sizes = args.iter().map(|a| self.abs(a)).collect::<Option<Vec<_>>>()?;
                sizes.iter().fold(Poly::default(), |sum, x| sum.plus(&Rational::ONE, x)).checked(&self.limits)?
            }
            Kink::NormInf(Lane::Args) => {
                let sizes = args.iter().map(|a| self.abs(a)).collect::<Option<Vec<_>>>()?;
                fold(self, &sizes, Self::max)?
            }
            Kink::MaxLinear { lane: Lane::Args, rows } => {
                let columns = args.len() / (rows + 1);
                let (matrix, x) = args.split_at(rows * columns);
                let mut products = Vec::new();
                for row in matrix.chunks(columns) {
                    let mut sum = Poly::default();
                    for (a, x) in row.iter().zip(x) {
                        sum = sum.plus(&Rational::ONE, &a.times(x, &self.limits)?).checked(&self.limits)?;
                    }
                    products.push(sum);
                }
                fold(self, &products, Self::max)?
            }
            _ => return Some(None),
        };
        Some(Some(value))
    }

    fn abs(&mut self, a: &Poly) -> Option<Poly> {
        self.relu(a)?.scaled(&Rational::from(2)).plus(&-Rational::ONE, a).checked(&self.limits)
    }

    fn max(&mut self, a: &Poly, b: &Poly) -> Option<Poly> {
        let over = self.relu(&a.plus(&-Rational::ONE, b))?;
        b.plus(&Rational::ONE, &over).checked(&self.limits)
    }

    fn min(&mut self, a: &Poly, b: &Poly) -> Option<Poly> {
        let over = self.relu(&a.plus(&-Rational::ONE, b))?;
        a.plus(&-Rational::ONE, &over).checked(&self.limits)
    }

    fn relu(&mut self, a: &Poly) -> Option<Poly> {
        if self.nonnegative(a) {
            return Some(a.clone());
        }
        if self.nonnegative(&a.scaled(&-Rational::ONE)) {
            return Some(Poly::default());
        }
        let (_, leading) = a.0.last_key_value()?;
        let w = a.scaled(&leading.inv()?).checked(&self.limits)?;
        let relu = self.poly(Key::Relu(w.clone()));
        let size = leading.abs();
        let turned = if leading.is_negative() { relu.plus(&-Rational::ONE, &w) } else { relu };
        turned.scaled(&size).checked(&self.limits)
    }

    /// Whether a polynomial is seen to be never negative.
    fn nonnegative(&self, a: &Poly) -> bool {
        let atom = |id: u32| match self.key(id) {
            Key::Relu(_) => true,
            Key::Other(op, _, 0) => matches!(op, Op::Smooth(f) if f.facts().is_nonnegative),
            _ => false,
        };
        a.0.iter().all(|(m, c)| c.is_positive() && m.iter().all(|&(id, k)| k % 2 == 0 || atom(id)))
    }

    fn inverse(&mut self, a: &Poly) -> Option<Poly> {
        let (m, c) = a.0.last_key_value()?;
        let inverse = c.inv()?;
        if a.0.len() == 1 {
            return Some(Poly(BTreeMap::from([(m.iter().map(|&(id, k)| (id, -k)).collect(), inverse)])));
        }
        let group = self.poly(Key::Group(a.scaled(&inverse).checked(&self.limits)?));
        let (m, _) = group.0.last_key_value()?;
        Some(Poly(BTreeMap::from([(m.iter().map(|&(id, k)| (id, -k)).collect(), inverse)])))
    }

    fn power(&mut self, a: &Poly, k: i32) -> Option<Poly> {
        if k < 0 {
            let inverse = self.inverse(a)?;
            return self.power(&inverse, k.checked_neg()?);
        }
        let short = k.unsigned_abs() <= self.limits.exponent;
        if let [(m, c)] = a.0.iter().collect::<Vec<_>>()[..]
            && k > 0
        {
            let powers = m.iter().map(|&(id, e)| Some((id, e.checked_mul(k)?))).collect::<Option<Monomial>>()?;
            let c = if c.is_one() { Rational::ONE } else { c.pow(short.then_some(k)?)? };
            return Some(Poly(BTreeMap::from([(powers, c)])));
        }
        if !short {
            return None;
        }
        (0..k).try_fold(Poly::constant(Rational::ONE), |product, _| product.times(a, &self.limits))
    }
}

fn atom(p: &Program, values: &[Poly], a: Atom) -> Poly {
    match a {
        Atom::Value(v) => values[v.index()].clone(),
        Atom::Const(c) => Poly::constant(p.constant(c).clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crease_formats::parse_expression;

    fn same(a: &str, b: &str) -> bool {
        let names = "0 * (x + y + z + w) + ";
        let read = |text: &str| parse_expression(&format!("{names}({text})"), &|_| None).expect("an expression");
        let mut atoms = Atoms::new(&SaturationLimits::DEFAULT);
        let (p, q) = (atoms.outputs(&read(a)), atoms.outputs(&read(b)));
        p.is_some() && p == q
    }

    #[test]
    fn equal_ones_are_seen() {
        for (a, b) in [
            ("relu(x - y) + y", "max(y, x)"),
            ("relu(x) - relu(-x)", "x"),
            ("relu(x) + relu(-x)", "abs(x)"),
            ("(x + y) * (x - y)", "x^2 - y^2"),
            ("relu(2 * x - 4)", "2 * relu(x - 2)"),
            ("exp((x + 1) * y)", "exp(y * x + y)"),
            ("x / (2 * y)", "x * inv(y) / 2"),
            ("x * (1 / x)", "1"),
            ("relu(relu(x) + y^2)", "y * y + relu(x)"),
            ("max(x, y) + min(x, y)", "x + y"),
            ("max(x, y, z)", "max(x, y, z) + w - w"),
            ("leaky_relu(x + y, slope=0)", "relu(y + x)"),
            ("leaky_relu(x, slope=1/4)", "x - 3 / 4 * relu(x) + 3 / 2 * relu(x) - 3 / 4 * x"),
        ] {
            assert!(same(a, b), "{a} and {b}");
        }
    }

    #[test]
    fn different_ones_are_not_mistaken() {
        for (a, b) in [
            ("relu(x - y)", "relu(y - x)"),
            ("x^2", "x^3"),
            ("exp(x)", "sin(x)"),
            ("max(x, y)", "min(x, y)"),
            ("relu(x + 1)", "relu(x) + 1"),
            ("x / (y + z)", "x / y + x / z"),
        ] {
            assert!(!same(a, b), "{a} and {b}");
        }
    }
}
