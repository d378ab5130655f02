//! The search itself: a SAT solver over signs and phases, with the cone behind it.

use super::proof::Record;
use super::relus::Relus;
use super::signs::Signs;
use super::theory::{Arithmetic, literal, number};
use super::{Effort, Limit, Progress, SearchCounts};
use batsat::{Callbacks, ClauseKind, Lit, Solver, SolverInterface, SolverOpts, Var, lbool};
use crease_core::local::Form;
use crease_core::number::Rational;
use std::cell::{Cell, RefCell};

/// What the search for a direction along which h is not zero ended with.
pub(crate) enum Outcome {
    /// Such a direction.
    Found(Vec<Rational>),
    /// There is none; the record says why, if it was asked for.
    None(Box<(Signs, Record)>),
    Limit(Limit),
}

/// Looks for a direction along which h, a form in the direction and in relus, is not zero, among those with given signs of the first atoms by their [rank](Signs::ranked). What it learns holds for all directions.
pub(crate) fn search(
    relus: &Relus,
    h: &Form,
    given: &[bool],
    effort: &Effort<'_>,
    counts: &mut SearchCounts,
) -> Outcome {
    let limits = &effort.limits.metered();
    let signs = Signs::new(relus, h, limits);
    if let Err(stop) = limits.check() {
        return Outcome::Limit(stop.into());
    }
    let (columns, rows) = (relus.dimension + relus.arguments.len(), 2 * signs.phases_used());
    if columns.saturating_mul(rows) > limits.oracles.tableau {
        return Outcome::Limit(Limit::TooLarge);
    }
    let conflicts = Cell::new(0);
    let record = RefCell::new(Record::default());
    let kept = effort.proof.then_some(&record);
    let found = RefCell::new(None);
    let watch = Watch {
        effort,
        record: kept,
        found: &found,
        conflicts: &conflicts,
        calls: Cell::new(0),
        limit: Cell::new(None),
    };
    // the default forgets clauses as soon as there are more than a third of those given, which may be very few here
    let options = SolverOpts { min_learnts_lim: 20_000, ..SolverOpts::default() };
    let mut solver = Solver::new(options, watch);
    let variables: Vec<Var> = signs.atoms.iter().map(|_| solver.new_var_default()).collect();
    let mut consistent = true;
    for clause in signs.clauses() {
        let mut clause: Vec<Lit> = clause.into_iter().map(|n| literal(&variables, n)).collect();
        consistent &= solver.add_clause_reuse(&mut clause);
    }
    let mut theory = Arithmetic::new(relus, &signs, h, &variables, kept, &found, limits);
    let assumed: Vec<Lit> = signs.given(relus, given).into_iter().map(|n| literal(&variables, n)).collect();
    let result = if consistent { solver.solve_limited_th(&mut theory, &assumed) } else { lbool::FALSE };
    let (lemmas, programs) = (theory.lemmas, theory.programs());
    drop(theory);
    *counts = SearchCounts {
        relus: counts.relus,
        atoms: signs.atoms.len(),
        phases: signs.phases_used(),
        conflicts: conflicts.get(),
        lemmas,
        linear_programs: programs,
    };
    let limit = solver.cb().limit.get();
    drop(solver);
    match found.into_inner() {
        Some(direction) => Outcome::Found(direction),
        None if result == lbool::FALSE && limit.is_none() => Outcome::None(Box::new((signs, record.into_inner()))),
        None => {
            let stopped = || effort.exhausted(&Progress { conflicts: counts.conflicts });
            Outcome::Limit(limit.or_else(stopped).unwrap_or(Limit::Stopped))
        }
    }
}

/// The units of work that a step of the solver takes.
const CALL: u64 = 64;

/// Counts, records, and stops where the effort ends.
struct Watch<'a> {
    effort: &'a Effort<'a>,
    record: Option<&'a RefCell<Record>>,
    found: &'a RefCell<Option<Vec<Rational>>>,
    conflicts: &'a Cell<u64>,
    calls: Cell<u32>,
    limit: Cell<Option<Limit>>,
}

impl Callbacks for Watch<'_> {
    fn on_new_clause(&mut self, clause: &[Lit], _: ClauseKind) {
        self.conflicts.set(self.conflicts.get() + 1);
        if let Some(record) = self.record {
            record.borrow_mut().learn(clause.iter().map(|&l| number(l)));
        }
    }

    fn on_delete_clause(&mut self, clause: &[Lit]) {
        if let Some(record) = self.record {
            record.borrow_mut().drop(clause.iter().map(|&l| number(l)));
        }
    }

    fn stop(&self) -> bool {
        if self.limit.get().is_some() || self.found.borrow().is_some() {
            return true;
        }
        let conflicts = self.conflicts.get();
        let mut limit = Some(self.effort.limits.conflicts).filter(|&most| conflicts >= most).map(Limit::Conflicts);
        // progress is reported now and then; what the solver does by itself is charged
        let calls = self.calls.get();
        self.calls.set(calls.wrapping_add(1));
        if limit.is_none() && calls.is_multiple_of(64) {
            limit = self.effort.exhausted(&Progress { conflicts });
        } else if limit.is_none() {
            limit = self.effort.limits.charge(CALL).err().map(Limit::from);
        }
        self.limit.set(limit);
        limit.is_some()
    }
}

impl Effort<'_> {
    /// Tells how far the search is; whether time is up, or somebody stopped it.
    pub(crate) fn exhausted(&self, progress: &Progress) -> Option<Limit> {
        if let Some(watch) = self.watch {
            watch(progress);
        }
        self.limits.stopped().map(Limit::from)
    }
}
