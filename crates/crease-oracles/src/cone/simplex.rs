//! The simplex method for bounds on linear forms, after Dutertre and de Moura, over floats and over rationals.
//!
//! Variables are the coordinates of the direction and, for each form that is not a coordinate, its value. As many of them as there
//! are coordinates are *free to be set* (nonbasic), and every other one (basic) has a row that says what it is in terms of those.
//! Set variables always lie within their bounds; a basic variable that does not is exchanged for a set one that can still move, and
//! if none can, its row proves that the bounds contradict each other. There is nothing to be optimised, so all choices are ties; to break them
//! in a way that makes progress, leaving its bound has a price for each set variable, as good as random, and the cheapest is
//! exchanged: the dual simplex method. Dropping bounds needs no work at all, so searches may go
//! back as they like. The same code runs on floats, where it is fast and its answers are guesses, and on rationals.

use super::forms::{FormId, Forms};
use crease_core::Limits;
use crease_core::limits::work_of;
use crease_core::number::Rational;
use crease_core::random::SplitMix64;

/// Numbers that the method runs on.
pub(super) trait Scalar: Clone + PartialOrd {
    /// Whether there is no rounding.
    const EXACT: bool;
    fn zero() -> Self;
    fn one() -> Self;
    /// Whether this is zero, or might be but for rounding.
    fn vanishes(&self) -> bool;
    /// Whether this is larger than the other, by more than rounding can do.
    fn exceeds(&self, other: &Self) -> bool;
    fn add_mul(&mut self, a: &Self, b: &Self);
    fn minus(&self, other: &Self) -> Self;
    fn times(&self, other: &Self) -> Self;
    fn negated(&self) -> Self;
    /// The inverse of a number that does not vanish.
    fn inverse(&self) -> Self;
    /// How large it is, for choosing among exchanges.
    fn size(&self) -> f64;
    /// The units of work that a sixteenth of an operation on it takes.
    fn work(&self) -> u64;
    /// The coefficients of a form, scaled as suits these numbers, and what is asked of the scaled form where it must be positive.
    fn row(forms: &Forms, form: FormId) -> (Vec<(usize, Self)>, Self);
}

/// How large a float must be not to be taken for zero. Rows are scaled to size 1.
const TOLERANCE: f64 = 1e-9;

impl Scalar for f64 {
    const EXACT: bool = false;
    fn zero() -> f64 {
        0.0
    }
    fn one() -> f64 {
        1.0
    }
    fn vanishes(&self) -> bool {
        self.abs() <= TOLERANCE
    }
    fn exceeds(&self, other: &f64) -> bool {
        *self > *other + TOLERANCE
    }
    fn add_mul(&mut self, a: &f64, b: &f64) {
        *self += a * b;
    }
    fn minus(&self, other: &f64) -> f64 {
        self - other
    }
    fn times(&self, other: &f64) -> f64 {
        self * other
    }
    fn negated(&self) -> f64 {
        -self
    }
    fn inverse(&self) -> f64 {
        1.0 / self
    }
    fn size(&self) -> f64 {
        self.abs()
    }
    fn work(&self) -> u64 {
        1
    }
    fn row(forms: &Forms, form: FormId) -> (Vec<(usize, f64)>, f64) {
        let size = forms.size(form).to_f64();
        if size.is_finite() {
            return (forms.near(form).map(|(i, c)| (i, c / size)).collect(), 1.0);
        }
        // too large for floats, but ratios are not
        let over = forms.size(form).inv().unwrap_or_default();
        (forms.exact(form).terms().iter().map(|(i, c)| (*i, (c * &over).to_f64())).collect(), 1.0)
    }
}

impl Scalar for Rational {
    const EXACT: bool = true;
    fn zero() -> Rational {
        Rational::ZERO
    }
    fn one() -> Rational {
        Rational::ONE
    }
    fn vanishes(&self) -> bool {
        self.is_zero()
    }
    fn exceeds(&self, other: &Rational) -> bool {
        self > other
    }
    fn add_mul(&mut self, a: &Rational, b: &Rational) {
        if !a.is_zero() && !b.is_zero() {
            Rational::add_mul(self, a, b);
        }
    }
    fn minus(&self, other: &Rational) -> Rational {
        self - other
    }
    fn times(&self, other: &Rational) -> Rational {
        self * other
    }
    fn negated(&self) -> Rational {
        -self
    }
    fn inverse(&self) -> Rational {
        self.inv().unwrap_or_default()
    }
    fn size(&self) -> f64 {
        self.to_f64().abs()
    }
    fn work(&self) -> u64 {
        32 * work_of(self)
    }
    fn row(forms: &Forms, form: FormId) -> (Vec<(usize, Rational)>, Rational) {
        // the same point as in floats, without fractions
        (forms.exact(form).terms().to_vec(), forms.size(form).clone())
    }
}

/// A bound on a variable, and the half-space that it is from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bound {
    /// Whether the half-space is open: then the bound is the unit of the variable, or minus that, and not 0.
    pub strict: bool,
    pub half: u32,
}

/// The bounds of all variables.
#[derive(Clone, Debug, Default)]
pub(super) struct Bounds {
    pub lower: Vec<Option<Bound>>,
    pub upper: Vec<Option<Bound>>,
}

impl Bounds {
    pub fn is_free(&self, v: u32) -> bool {
        self.lower[v as usize].is_none() && self.upper[v as usize].is_none()
    }

    pub fn grow(&mut self, variables: usize) {
        if self.lower.len() < variables {
            self.lower.resize(variables, None);
            self.upper.resize(variables, None);
        }
    }
}

/// Where a variable is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Absent,
    Row(u32),
    Column(u32),
}

/// What came of it.
pub(super) enum Outcome<N> {
    /// All variables are within their bounds, as far as these numbers can tell.
    Within,
    /// These half-spaces, each with a positive multiplier of its (scaled) variable, contradict each other.
    Contradiction(Vec<(u32, u32, N)>),
    /// Too many exchanges, which only floats do.
    GaveUp,
}

/// A tableau. Variables are numbered: first the coordinates, then forms by their number.
#[derive(Clone, Debug)]
pub(super) struct Simplex<N> {
    columns: Vec<u32>,
    basic: Vec<u32>,
    rows: Vec<Vec<N>>,
    places: Vec<Place>,
    values: Vec<N>,
    units: Vec<N>,
    /// For each column, the price of moving its variable. Only a choice among exchanges depends on it.
    prices: Vec<f64>,
    /// How many rows there may be before those without bounds are dropped.
    room: usize,
    /// Exchanges since rows were last computed from the forms.
    aged: usize,
    pub exchanges: u64,
}

/// After how many exchanges rows of floats are computed anew.
const STALE: usize = 200;

impl<N: Scalar> Simplex<N> {
    pub fn new(dimension: usize) -> Self {
        Simplex {
            columns: (0..dimension as u32).collect(),
            basic: Vec::new(),
            rows: Vec::new(),
            places: (0..dimension as u32).map(Place::Column).collect(),
            values: vec![N::zero(); dimension],
            units: vec![N::one(); dimension],
            prices: vec![0.0; dimension],
            room: 64.max(dimension),
            aged: 0,
            exchanges: 0,
        }
    }

    fn dimension(&self) -> usize {
        self.columns.len()
    }

    /// The direction at which the variables stand.
    pub fn point(&self) -> &[N] {
        &self.values[..self.dimension()]
    }

    /// Makes room for a variable, with a row if it is a form that is not there yet.
    pub fn enter(&mut self, forms: &Forms, v: u32, bounds: &Bounds) {
        let i = v as usize;
        if i >= self.places.len() {
            self.places.resize(i + 1, Place::Absent);
            self.values.resize(i + 1, N::zero());
            self.units.resize(i + 1, N::one());
        }
        if self.places[i] != Place::Absent {
            return;
        }
        if self.rows.len() >= self.room {
            self.drop_unbounded(bounds);
            self.room = self.room.max(2 * self.rows.len());
        }
        let (terms, unit) = N::row(forms, FormId((i - self.dimension()) as u32));
        let mut row = vec![N::zero(); self.dimension()];
        let mut value = N::zero();
        for (k, c) in terms {
            match self.places[k] {
                Place::Column(j) => row[j as usize].add_mul(&c, &N::one()),
                Place::Row(r) => row.iter_mut().zip(&self.rows[r as usize]).for_each(|(x, y)| x.add_mul(&c, y)),
                Place::Absent => {}
            }
            value.add_mul(&c, &self.values[k]);
        }
        self.units[i] = unit;
        self.values[i] = value;
        self.places[i] = Place::Row(self.rows.len() as u32);
        self.rows.push(row);
        self.basic.push(v);
    }

    /// The units of work that it takes to enter a variable, at most.
    pub fn work_to_enter(&self, forms: &Forms, v: u32) -> u64 {
        match (v as usize).checked_sub(self.dimension()) {
            Some(form) => 1 + (forms.exact(FormId(form as u32)).terms().len() * self.dimension()) as u64 / 16,
            None => 1,
        }
    }

    /// Takes out the rows of forms that have no bound.
    fn drop_unbounded(&mut self, bounds: &Bounds) {
        let dimension = self.dimension() as u32;
        for r in (0..self.rows.len()).rev() {
            let v = self.basic[r];
            if v >= dimension && bounds.is_free(v) {
                self.places[v as usize] = Place::Absent;
                self.rows.swap_remove(r);
                self.basic.swap_remove(r);
                if let Some(&moved) = self.basic.get(r) {
                    self.places[moved as usize] = Place::Row(r as u32);
                }
            }
        }
    }

    fn lower(&self, bounds: &Bounds, v: u32) -> Option<N> {
        let strict = bounds.lower[v as usize]?.strict;
        Some(if strict { self.units[v as usize].clone() } else { N::zero() })
    }

    fn upper(&self, bounds: &Bounds, v: u32) -> Option<N> {
        let strict = bounds.upper[v as usize]?.strict;
        Some(if strict { self.units[v as usize].negated() } else { N::zero() })
    }

    /// Brings a variable within its bounds, if it is one that can be set.
    pub fn settle(&mut self, v: u32, bounds: &Bounds) {
        let Place::Column(j) = self.places[v as usize] else { return };
        let value = &self.values[v as usize];
        let to = match (self.lower(bounds, v), self.upper(bounds, v)) {
            (Some(low), _) if *value < low => low,
            (_, Some(high)) if *value > high => high,
            _ => return,
        };
        self.set(j as usize, to);
    }

    /// Sets the variable of a column.
    fn set(&mut self, j: usize, to: N) {
        let v = self.columns[j] as usize;
        let step = to.minus(&self.values[v]);
        self.values[v] = to;
        for (row, &b) in self.rows.iter().zip(&self.basic) {
            self.values[b as usize].add_mul(&row[j], &step);
        }
    }

    /// Looks for values within all bounds. Gives up when it is stopped, and floats also when they get lost.
    pub fn solve(&mut self, forms: &Forms, bounds: &Bounds, limits: &Limits) -> Outcome<N> {
        if !N::EXACT && self.aged > STALE {
            let Some(rebuilt) = self.rebuilt(forms, bounds, limits) else { return Outcome::GaveUp };
            *self = rebuilt;
        }
        self.set_prices(bounds);
        let patience = 2 * (self.rows.len() + self.dimension()) + 20;
        let most = if N::EXACT { usize::MAX } else { 20 * patience };
        for count in 0..most {
            // of the exchange, and of looking for it; what rationals take beyond that is charged on the way
            let numbers = self.rows.len() * self.dimension() + self.rows.len() + self.dimension();
            if !limits.go_on(4 + numbers as u64 / 16) {
                return Outcome::GaveUp;
            }
            // the worst offender is usually a good choice, and the first one, by Bland, never goes round in circles
            let bland = count > patience;
            let Some((r, raise, target)) = self.offender(bounds, bland) else { return Outcome::Within };
            let Some(j) = self.entering(r, raise, bounds, bland) else {
                return Outcome::Contradiction(self.contradiction(r, raise, bounds));
            };
            if !self.exchange_to(r, j, target, limits) {
                return Outcome::GaveUp;
            }
        }
        Outcome::GaveUp
    }

    /// Sets prices: positive to leave a lower bound, negative to leave an upper one, nothing for variables that are at no bound.
    fn set_prices(&mut self, bounds: &Bounds) {
        for (j, &v) in self.columns.iter().enumerate() {
            let value = &self.values[v as usize];
            let low = self.lower(bounds, v).is_some_and(|low| *value <= low);
            let high = self.upper(bounds, v).is_some_and(|high| *value >= high);
            let price = 1.0 + SplitMix64::new(u64::from(v)).below(1 << 20) as f64 / (1 << 20) as f64;
            self.prices[j] = match (low, high) {
                (true, false) => price,
                (false, true) => -price,
                _ => 0.0,
            };
        }
    }

    /// A row whose variable is out of its bounds, whether it must be raised, and to what it should be set.
    fn offender(&self, bounds: &Bounds, bland: bool) -> Option<(usize, bool, N)> {
        let mut worst: Option<(usize, bool, N)> = None;
        let mut rank = (0.0, u32::MAX);
        for (r, &v) in self.basic.iter().enumerate() {
            let value = &self.values[v as usize];
            let found = match (self.lower(bounds, v), self.upper(bounds, v)) {
                (Some(low), _) if low.exceeds(value) => (r, true, low),
                (_, Some(high)) if value.exceeds(&high) => (r, false, high),
                _ => continue,
            };
            let size = if bland { 0.0 } else { found.2.minus(value).size() };
            if worst.is_none() || size > rank.0 || size == rank.0 && v < rank.1 {
                rank = (size, v);
                worst = Some(found);
            }
        }
        worst
    }

    /// A column that can move the variable of a row in the right direction.
    fn entering(&self, r: usize, raise: bool, bounds: &Bounds, bland: bool) -> Option<usize> {
        let mut best: Option<(usize, f64, f64)> = None;
        for (j, a) in self.rows[r].iter().enumerate() {
            if a.vanishes() {
                continue;
            }
            let v = self.columns[j];
            let up = (*a > N::zero()) == raise;
            let can = match up {
                true => self.upper(bounds, v).is_none_or(|high| self.values[v as usize] < high),
                false => self.lower(bounds, v).is_none_or(|low| self.values[v as usize] > low),
            };
            if !can {
                continue;
            }
            if bland {
                if best.is_none_or(|(b, ..)| v < self.columns[b]) {
                    best = Some((j, 0.0, 0.0));
                }
                continue;
            }
            // among those that are about as cheap, the largest coefficient is the most accurate
            let (size, price) = (a.size(), self.prices[j].abs() / a.size());
            let better = |&(_, cheapest, largest): &(usize, f64, f64)| {
                price < cheapest * (1.0 - 1e-9) - 1e-9 || price <= cheapest * (1.0 + 1e-9) + 1e-9 && size > largest
            };
            if best.as_ref().is_none_or(better) {
                best = Some((j, price, size));
            }
        }
        best.map(|(j, ..)| j)
    }

    /// What a row proves whose variable cannot be moved into its bounds.
    fn contradiction(&self, r: usize, raise: bool, bounds: &Bounds) -> Vec<(u32, u32, N)> {
        let half = |v: u32, lower: bool| {
            let side = if lower { &bounds.lower } else { &bounds.upper };
            side[v as usize].map_or(0, |b| b.half)
        };
        let v = self.basic[r];
        let mut parts = vec![(half(v, raise), v, N::one())];
        for (j, a) in self.rows[r].iter().enumerate() {
            if !a.vanishes() {
                let positive = *a > N::zero();
                let size = if positive { a.clone() } else { a.negated() };
                // to raise the row, a column with a positive coefficient would have to rise beyond its upper bound
                parts.push((half(self.columns[j], positive != raise), self.columns[j], size));
            }
        }
        parts
    }

    /// Exchanges the variables of a row and of a column, so that the first takes the given value. Says whether it came to its end: if not,
    /// rows are not what they should be.
    fn exchange_to(&mut self, r: usize, j: usize, target: N, limits: &Limits) -> bool {
        let (leaving, entering) = (self.basic[r] as usize, self.columns[j] as usize);
        let step = target.minus(&self.values[leaving]).times(&self.rows[r][j].inverse());
        self.values[leaving] = target;
        self.values[entering].add_mul(&step, &N::one());
        for (k, row) in self.rows.iter().enumerate() {
            if k != r {
                self.values[self.basic[k] as usize].add_mul(&row[j], &step);
            }
        }
        self.reprice(r, j);
        self.exchange(r, j, limits)
    }

    /// Prices after an exchange: what moving other variables costs when the one of the row stands at its bound.
    fn reprice(&mut self, r: usize, j: usize) {
        let signed = |x: &N| if *x < N::zero() { -x.size() } else { x.size() };
        let share = self.prices[j] / signed(&self.rows[r][j]);
        if share != 0.0 {
            for (price, a) in self.prices.iter_mut().zip(&self.rows[r]) {
                *price -= share * signed(a);
            }
        }
        self.prices[j] = share;
    }

    fn exchange(&mut self, r: usize, j: usize, limits: &Limits) -> bool {
        self.exchanges += 1;
        self.aged += 1;
        let mut row = std::mem::take(&mut self.rows[r]);
        let over = row[j].inverse();
        let minus = over.negated();
        for (k, x) in row.iter_mut().enumerate() {
            if k != j && *x != N::zero() {
                *x = x.times(&minus);
            }
        }
        row[j] = over;
        let work = if N::EXACT { row.iter().map(N::work).sum() } else { 0 };
        for (k, other) in self.rows.iter_mut().enumerate() {
            if k == r || other[j] == N::zero() {
                continue;
            }
            // floats were charged before, and are never left half done
            if N::EXACT && !limits.go_on((work + other[j].work() * row.len() as u64) / 16) {
                return false;
            }
            let c = std::mem::replace(&mut other[j], N::zero());
            other.iter_mut().zip(&row).for_each(|(x, y)| x.add_mul(&c, y));
        }
        self.rows[r] = row;
        let (leaving, entering) = (self.basic[r], self.columns[j]);
        self.basic[r] = entering;
        self.columns[j] = leaving;
        self.places[entering as usize] = Place::Row(r as u32);
        self.places[leaving as usize] = Place::Column(j as u32);
        true
    }

    /// The same bounds and, as far as possible, the same choice of set variables, with rows computed from the forms, on any numbers.
    /// Nothing if it is stopped.
    pub fn rebuilt<M: Scalar>(&self, forms: &Forms, bounds: &Bounds, limits: &Limits) -> Option<Simplex<M>> {
        let dimension = self.dimension();
        let mut out: Simplex<M> = Simplex::new(dimension);
        out.room = self.room;
        out.exchanges = self.exchanges;
        out.places.resize(self.places.len(), Place::Absent);
        out.values.resize(self.places.len(), M::zero());
        out.units.resize(self.places.len(), M::one());
        let all = self.basic.iter().chain(&self.columns).copied();
        let bounded: Vec<u32> = all.filter(|&v| v as usize >= dimension && !bounds.is_free(v)).collect();
        for &v in &bounded {
            limits.charge(out.work_to_enter(forms, v)).ok()?;
            out.enter(forms, v, bounds);
        }
        for &v in &bounded {
            limits.charge(1 + dimension as u64 / 16).ok()?;
            let (Place::Column(_), Place::Row(r)) = (self.places[v as usize], out.places[v as usize]) else { continue };
            let goes = |j: usize| matches!(self.places[out.columns[j] as usize], Place::Row(_));
            let size = |j: usize| out.rows[r as usize][j].size();
            let best = (0..dimension).filter(|&j| goes(j)).max_by(|&a, &b| size(a).total_cmp(&size(b)));
            if let Some(j) = best.filter(|&j| !out.rows[r as usize][j].vanishes()) {
                limits.charge((out.rows.len() * dimension) as u64 / 16).ok()?;
                if !out.exchange(r as usize, j, limits) {
                    return None;
                }
            }
        }
        // all stand at 0 so far
        for j in 0..dimension {
            limits.charge(1 + out.rows.len() as u64 / 16).ok()?;
            let v = out.columns[j];
            let value = &self.values[v as usize];
            let stands = |bound: Option<N>| bound.is_some_and(|b| !b.exceeds(value) && !value.exceeds(&b));
            let at = if stands(self.lower(bounds, v)) {
                out.lower(bounds, v)
            } else if stands(self.upper(bounds, v)) {
                out.upper(bounds, v)
            } else {
                None
            };
            match at {
                Some(at) => out.set(j, at),
                None => out.settle(v, bounds),
            }
        }
        out.aged = 0;
        Some(out)
    }
}
