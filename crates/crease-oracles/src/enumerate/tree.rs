//! The tree over kinks: which members can win, given those that won before.

use super::circuits::{Circuits, Signs};
use super::cube::Cube;
use super::found::Found;
use super::order::order;
use super::prune::Pruner;
use super::witness::{Walker, Witness};
use super::{EnumerateEvent as Event, EnumerateLimit as Limit, EnumerateWork, Neighbour, is_alone};
use crate::cone::{Cone, Conflict, Forms, Half, Halt, Signed, direction_near};
use crease_core::Limits;
use crease_core::limits::work_of;
use crease_core::local::{Form, NormalForm};
use crease_core::number::Rational;
use crease_core::random::SplitMix64;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// After how many nodes the clock is looked at and progress is told.
const BREATH: u64 = 64;

/// The units of work that a node takes by itself.
const NODE: u64 = 32;

/// From how many members on the clock is looked at for each of them.
const MANY: usize = 100;

/// How many directions are tried for one along which kinks that do not matter do not tie.
const GENERIC_ATTEMPTS: u32 = 24;

/// What a kink is asked about at a node.
#[derive(Clone)]
enum Question {
    /// Its members are the same.
    Same(Rc<Form>),
    /// Whether the second of two members wins: where the signed form is positive.
    Two([Rc<Form>; 2], Signed),
    /// Which of several different members wins.
    Many(Rc<[Rc<Form>]>),
}

/// One way to go on from a node.
struct Branch {
    /// Which of the members that differ wins.
    member: usize,
    /// Its form.
    form: Rc<Form>,
    /// The half-spaces in which it does, as far as they are not implied.
    halves: Vec<Half>,
    witness: Witness,
}

/// A node with the ways that have not been gone yet.
struct Node {
    at: usize,
    path: usize,
    branches: Vec<Branch>,
}

/// An enumeration under way.
pub(super) struct Tree<'n, 't> {
    normal: &'n NormalForm,
    order: Vec<usize>,
    /// Questions about kinks that use no other, which are the same at all nodes.
    fixed: Vec<Option<Question>>,
    pairs: HashMap<(usize, usize, usize), Signed>,
    weights: Vec<Rational>,
    /// For a model that is symmetric, the sum of the gradients of opposite cells.
    mirror: Option<Vec<Rational>>,
    pruner: Option<Pruner<'n>>,

    forms: Forms,
    path: Vec<Half>,
    signs: Signs,
    /// What each kink has become on the path.
    decided: Vec<Rc<Form>>,
    /// The gradient so far, for each level.
    sums: Vec<Vec<Rational>>,

    cone: Cone,
    /// How much of the path the cone has.
    synced: usize,
    circuits: Circuits,
    walker: Walker,

    found: Found,
    cells: u64,
    nodes: u64,
    limits: &'t Limits,
    tell: &'t mut dyn FnMut(Event<'_>),
    /// Whether all kinks of the model are in the normal form; if not, ties along a direction are to be asked about.
    whole: bool,
    generic: &'t mut dyn FnMut(&[Rational]) -> Option<bool>,
    /// Whether what a direction along which something ties would show is not known to be a gradient nearby.
    strict: bool,
    /// Whether a cell was left out, since no direction was found that shows its gradient.
    left_out: bool,
    work: EnumerateWork,

    /// The part of the directions that is visited, and how many of its kinks were met.
    cube: &'t Cube,
    met: usize,
    /// Who won at the nodes with several ways that lead here.
    chosen: Vec<(usize, usize)>,
    /// Whether it is only taken apart: after how many such nodes, the parts so far, and whether there is more below one of them.
    cut: Option<(usize, Vec<Cube>, bool)>,
}

impl<'n, 't> Tree<'n, 't> {
    pub fn new(
        normal: &'n NormalForm,
        limits: &'t Limits,
        tell: &'t mut dyn FnMut(Event<'_>),
        whole: bool,
        strict: bool,
        generic: &'t mut dyn FnMut(&[Rational]) -> Option<bool>,
        cube: &'t Cube,
    ) -> Self {
        let (n, p) = (normal.kinks.len(), normal.dimension);
        let mut weights = vec![Rational::ZERO; n];
        let mut sum = vec![Rational::ZERO; p];
        for output in &normal.outputs {
            output.beyond(p).for_each(|(k, c)| weights[k] = c.clone());
            sum = output.vector(p);
        }
        let order = order(normal);
        let mut tree = Tree {
            normal,
            fixed: vec![None; n],
            pairs: HashMap::new(),
            mirror: mirror(normal, &weights, &sum),
            weights,
            pruner: Pruner::new(normal),
            forms: Forms::new(p),
            path: Vec::new(),
            signs: Signs::default(),
            decided: vec![Rc::default(); n],
            sums: vec![sum; n + 1],
            cone: Cone::new(p, limits),
            synced: 0,
            circuits: Circuits::default(),
            walker: Walker::default(),
            found: Found::new(),
            cells: 0,
            nodes: 0,
            limits,
            tell,
            whole,
            generic,
            strict,
            left_out: false,
            work: EnumerateWork::default(),
            cube,
            met: 0,
            chosen: Vec::new(),
            cut: None,
            order,
        };
        // in the order of the tree, so that forms are numbered as they are met
        for &k in &tree.order.clone() {
            if is_alone(&normal.kinks[k], p) {
                // members, their differences, and what these are known by; without them a visit ends at once, as it is stopped
                let work = normal.kinks[k].forms.iter().map(work_to_intern).sum();
                let bytes = 3 * normal.kinks[k].forms.iter().map(Form::bytes).sum::<usize>();
                if !limits.go_on(work) || limits.hold(bytes).is_err() {
                    break;
                }
                let members = normal.kinks[k].forms.iter().map(|f| Rc::new(f.clone())).collect();
                tree.fixed[k] = Some(tree.question(members));
            }
        }
        tree
    }

    /// Whether gradients may be missing, since no direction was found that shows them.
    pub fn left_out(&self) -> bool {
        self.left_out
    }

    /// Whether all kinks that the cube names were met, so that it is one of this tree.
    pub fn met_cube(&self) -> bool {
        self.met == self.cube.winners.len()
    }

    /// Takes the tree apart into so many cubes or more, as far as there are so many cells; together they hold what a visit finds.
    pub fn split(&mut self, wanted: usize) -> Result<Vec<Cube>, Limit> {
        for depth in 1.. {
            self.cut = Some((depth, Vec::new(), false));
            let stopped = self.visit();
            let (_, cubes, more) = self.cut.take().unwrap_or_default();
            match stopped {
                Some(limit) => return Err(limit),
                None if cubes.len() >= wanted || !more => return Ok(cubes),
                None => {}
            }
        }
        Ok(Vec::new())
    }

    pub fn into_found(self) -> (Vec<Neighbour>, u64, EnumerateWork) {
        let work = self.work_so_far();
        (self.found.list, self.cells, work)
    }

    fn work_so_far(&self) -> EnumerateWork {
        let cone = self.cone.work();
        EnumerateWork { programs: cone.programs, exact: cone.exact, circuits: self.circuits.count, ..self.work }
    }

    /// Visits all cells; the limit that ended it, if one did.
    pub fn visit(&mut self) -> Option<Limit> {
        let mut random = SplitMix64::new(1);
        // anything will do; this makes for short directions where signs are all that matters
        let mut draw = || 0.6 + 0.4 * (random.bits() >> 11) as f64 / (1u64 << 53) as f64;
        let start: Vec<f64> = (0..self.normal.dimension).map(|_| draw()).collect();
        let mut nodes: Vec<Node> = Vec::new();
        self.go_back(0);
        self.chosen.clear();
        let mut result = self.descend(0, Witness::Float(start.into()), &mut nodes);
        // a cube lies on one side already
        if self.mirror.is_some()
            && self.cube.is_whole()
            && let Some(first) = nodes.first_mut()
        {
            // the last is the one that will be taken
            first.branches.drain(..first.branches.len() - 1);
        }
        while result.is_ok()
            && let Some(node) = nodes.last_mut()
        {
            let (at, path) = (node.at, node.path);
            let branch = node.branches.pop();
            self.go_back(path);
            self.chosen.truncate(nodes.len() - 1);
            match branch {
                None => drop(nodes.pop()),
                Some(branch) => {
                    self.chosen.push((self.order[at], branch.member));
                    let witness = self.take(at, branch);
                    result = self.descend(at + 1, witness, &mut nodes);
                }
            }
        }
        result.err()
    }

    /// Goes down for as long as there is one way only, to a cell or to a node where there are several.
    fn descend(&mut self, mut at: usize, mut witness: Witness, nodes: &mut Vec<Node>) -> Result<(), Limit> {
        loop {
            self.breathe()?;
            if at == self.order.len() {
                let gradient = self.sums[at].clone();
                return self.cell(at, gradient, &witness);
            }
            if let Some(pruner) = &mut self.pruner
                && pruner.is_settled(at, &self.decided, self.limits)
            {
                let gradient = pruner.gradient(at, &self.decided);
                return self.cell(at, gradient, &witness);
            }
            let mut branches = self.branches(at, &witness)?;
            if let Some(winner) = self.cube.winner(self.order[at]) {
                branches.retain(|b| b.member == winner);
                self.met += branches.len();
            }
            if branches.len() > 1 {
                if let Some((depth, cubes, more)) = &mut self.cut
                    && nodes.len() >= *depth
                {
                    cubes.push(self.cube.with(&self.chosen));
                    *more = true;
                    return Ok(());
                }
                nodes.push(Node { at, path: self.path.len(), branches });
                return Ok(());
            }
            // a cone has an inside, so somebody wins there, unless the cube is one of another tree
            let Some(branch) = branches.pop() else { return Ok(()) };
            witness = self.take(at, branch);
            at += 1;
        }
    }

    fn breathe(&mut self) -> Result<(), Limit> {
        self.nodes += 1;
        if !self.nodes.is_multiple_of(BREATH) {
            return self.charge(NODE);
        }
        self.look()
    }

    fn charge(&self, units: u64) -> Result<(), Limit> {
        self.limits.charge(units).map_err(Limit::of)
    }

    /// The units of work that a look at the half-spaces of the path takes.
    fn work_of_path(&self) -> u64 {
        let terms = |h: &Half| 1 + self.forms.exact(h.form).terms().len() as u64;
        self.path.iter().map(terms).sum::<u64>() / 4
    }

    /// Looks at the clock, and tells how far it is.
    fn look(&mut self) -> Result<(), Limit> {
        let work = self.work_so_far();
        (self.tell)(Event::Progress { cells: self.cells, gradients: self.found.list.len(), work });
        self.limits.stopped().map_or(Ok(()), |stop| Err(Limit::of(stop)))
    }

    /// Lets a member win at a level.
    fn take(&mut self, at: usize, branch: Branch) -> Witness {
        let k = self.order[at];
        for &half in &branch.halves {
            self.signs.set(half);
            self.path.push(half);
        }
        let (before, after) = self.sums.split_at_mut(at + 1);
        after[0].clone_from(&before[at]);
        if !self.weights[k].is_zero() {
            branch.form.terms().iter().for_each(|(i, c)| after[0][*i].add_mul(&self.weights[k], c));
        }
        if let Some(pruner) = &mut self.pruner {
            pruner.decide(k, &branch.form);
        }
        self.decided[k] = branch.form;
        branch.witness
    }

    fn go_back(&mut self, path: usize) {
        for half in self.path.drain(path..) {
            self.signs.unset(half);
        }
        self.synced = self.synced.min(path);
    }

    /// Counts a cell, and its mirror image.
    fn cell(&mut self, at: usize, gradient: Vec<Rational>, witness: &Witness) -> Result<(), Limit> {
        if let Some((_, cubes, _)) = &mut self.cut {
            cubes.push(self.cube.with(&self.chosen));
            return Ok(());
        }
        let image = self.mirror.as_ref().map(|sum| sum.iter().zip(&gradient).map(|(s, g)| s - g).collect());
        self.count(at, gradient, witness, false)?;
        match image {
            // without a kink the cell is its own image
            Some(image) if !self.path.is_empty() => self.count(at, image, witness, true),
            _ => Ok(()),
        }
    }

    fn count(&mut self, at: usize, gradient: Vec<Rational>, witness: &Witness, opposite: bool) -> Result<(), Limit> {
        if self.cells >= self.limits.cells {
            return Err(Limit::Cells(self.limits.cells));
        }
        if self.found.count(&gradient).is_none() {
            if self.found.list.len() >= self.limits.gradients {
                return Err(Limit::Gradients(self.limits.gradients));
            }
            match self.direction(at, witness, opposite) {
                Some(direction) => {
                    let bytes = 2 * gradient.len() * size_of::<Rational>();
                    self.limits.hold(bytes).map_err(Limit::of)?;
                    (self.tell)(Event::Gradient(self.found.add(gradient, direction)));
                }
                None => {
                    // not looked for to the end
                    self.charge(0)?;
                    self.left_out = true;
                }
            }
        }
        self.cells += 1;
        // who was told of it may have had enough
        if self.limits.cancel.is_stopped() { Err(Limit::Stopped) } else { Ok(()) }
    }

    /// A direction of the cone to be shown, in short numbers. Where kinks are left or were dropped, it should not be one along which
    /// they tie: among straight pieces that would be true, too, but harder to check; elsewhere it would prove nothing, and there is none.
    /// For the opposite cone it is turned round, before anything is asked about it: borders of selections need not lie opposite each other.
    fn direction(&mut self, at: usize, witness: &Witness, opposite: bool) -> Option<Vec<Rational>> {
        let turned = |d: Vec<Rational>| if opposite { d.iter().map(|x| -x).collect() } else { d };
        let first = match witness {
            Witness::Float(d) => direction_near(&self.forms, &self.path, d, 0, self.limits)
                .unwrap_or_else(|| d.iter().filter_map(|&x| Rational::from_f64(x)).collect()),
            Witness::Exact(d) => d.to_vec(),
        };
        let first = turned(first);
        if at == self.order.len() && self.whole || (self.generic)(&first) == Some(true) {
            return Some(first);
        }
        if let Witness::Float(from) = witness {
            let mut random = SplitMix64::new(2);
            let size = from.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
            for attempt in 0..GENERIC_ATTEMPTS {
                let shake = size / f64::from(1 << (attempt / 2));
                let mut draw = || shake * ((random.bits() >> 11) as f64 / (1u64 << 52) as f64 - 1.0);
                let near: Vec<f64> = from.iter().map(|x| x + draw()).collect();
                let Some(found) = direction_near(&self.forms, &self.path, &near, attempt as usize / 4, self.limits)
                else {
                    continue;
                };
                let found = turned(found);
                match (self.generic)(&found) {
                    Some(true) => return Some(found),
                    Some(false) => {}
                    None => break,
                }
            }
        }
        (!self.strict).then_some(first)
    }

    /// What is to be asked about a kink with these members.
    fn question(&mut self, mut members: Vec<Rc<Form>>) -> Question {
        let mut seen: Vec<Rc<Form>> = Vec::with_capacity(members.len());
        members.retain(|m| {
            let new = !seen.contains(m);
            if new {
                seen.push(m.clone());
            }
            new
        });
        match &members[..] {
            [] => Question::Same(Rc::default()),
            [one] => Question::Same(one.clone()),
            [a, b] => match self.forms.intern(&b.minus(a)) {
                Some((signed, _)) => Question::Two([a.clone(), b.clone()], signed),
                None => Question::Same(a.clone()),
            },
            _ => Question::Many(members.into()),
        }
    }

    /// The members that can win at a level; the one that wins at the witness comes last.
    fn branches(&mut self, at: usize, witness: &Witness) -> Result<Vec<Branch>, Limit> {
        let k = self.order[at];
        let question = match &self.fixed[k] {
            Some(question) => question.clone(),
            None => {
                let normal = self.normal;
                let inside =
                    |f: &Form| f.beyond(normal.dimension).map(|(k, _)| self.decided[k].terms().len()).sum::<usize>();
                let terms = |f: &Form| -> usize { f.terms().len() + inside(f) };
                self.charge(4 * normal.kinks[k].forms.iter().map(terms).sum::<usize>() as u64)?;
                for f in &normal.kinks[k].forms {
                    let used = f.beyond(normal.dimension).map(|(k, _)| work_to_intern(&self.decided[k]));
                    self.charge(used.sum())?;
                }
                // what its forms are once the kinks that they use are decided
                let reduced = |f: &Form| Rc::new(f.replaced(normal.dimension, |k| &self.decided[k]));
                let members = normal.kinks[k].forms.iter().map(reduced).collect();
                self.question(members)
            }
        };
        Ok(match question {
            Question::Same(form) => vec![Branch { member: 0, form, halves: Vec::new(), witness: witness.clone() }],
            Question::Two(members, signed) => self.two(members, signed, witness)?,
            Question::Many(members) => self.many(k, &members, witness)?,
        })
    }

    fn two(&mut self, members: [Rc<Form>; 2], second: Signed, witness: &Witness) -> Result<Vec<Branch>, Limit> {
        let known = self.signs.of(second.form);
        if known != 0 {
            let [a, b] = members;
            let (member, form) = if (known < 0) == second.negative { (1, b) } else { (0, a) };
            return Ok(vec![Branch { member, form, halves: Vec::new(), witness: witness.clone() }]);
        }
        let here = witness.sign(&self.forms, second.form);
        let here = if second.negative { here.reverse() } else { here };
        let mut out = Vec::with_capacity(2);
        let mut sides = [(second.opposite(), Ordering::Less), (second, Ordering::Greater)];
        let [a, b] = members;
        let mut members = [(0, a), (1, b)];
        if here.is_lt() {
            sides.reverse();
            members.reverse();
        }
        for ((signed, side), (member, form)) in sides.into_iter().zip(members) {
            let half = Half::open(signed);
            let reached = if side == here { Some(witness.clone()) } else { self.reach(&[half], witness)? };
            out.extend(reached.map(|witness| Branch { member, form, halves: vec![half], witness }));
        }
        Ok(out)
    }

    fn many(&mut self, k: usize, members: &[Rc<Form>], witness: &Witness) -> Result<Vec<Branch>, Limit> {
        let mut out = Vec::new();
        let mut own = None;
        for j in 0..members.len() {
            if members.len() > MANY {
                self.look()?;
            }
            let mut halves: Vec<Half> = Vec::new();
            let mut known: HashSet<Half> = HashSet::new();
            let mut lost = false;
            for i in (0..members.len()).filter(|&i| i != j) {
                self.charge(2 + work_to_intern(&members[i]) + work_to_intern(&members[j]))?;
                let Some(signed) = self.pair(k, members, j, i) else { continue };
                match (self.signs.of(signed.form), signed.negative) {
                    (1, true) | (-1, false) => {
                        lost = true;
                        break;
                    }
                    (0, _) => {
                        let half = Half::open(signed);
                        // two members may differ from the winner by proportional forms
                        if known.contains(&Half::open(signed.opposite())) {
                            lost = true;
                            break;
                        }
                        if known.insert(half) {
                            halves.push(half);
                        }
                    }
                    _ => {}
                }
            }
            if lost {
                continue;
            }
            let wins = |h: &Half| {
                let sign = witness.sign(&self.forms, h.form);
                sign == if h.negative { Ordering::Less } else { Ordering::Greater }
            };
            if halves.iter().all(wins) {
                own = Some(Branch { member: j, form: members[j].clone(), halves, witness: witness.clone() });
            } else if let Some(witness) = self.reach(&halves, witness)? {
                out.push(Branch { member: j, form: members[j].clone(), halves, witness });
            }
        }
        out.extend(own);
        Ok(out)
    }

    /// The form by which one member is larger than another.
    fn pair(&mut self, k: usize, members: &[Rc<Form>], j: usize, i: usize) -> Option<Signed> {
        if self.fixed[k].is_none() {
            return self.forms.intern(&members[j].minus(&members[i])).map(|(signed, _)| signed);
        }
        let (low, high) = (i.min(j), i.max(j));
        let signed = match self.pairs.get(&(k, low, high)) {
            Some(&signed) => signed,
            None => {
                let (signed, _) = self.forms.intern(&members[high].minus(&members[low]))?;
                self.pairs.insert((k, low, high), signed);
                signed
            }
        };
        Some(if j == high { signed } else { signed.opposite() })
    }

    /// A direction of the cone that also lies in these half-spaces, if there is one.
    fn reach(&mut self, halves: &[Half], from: &Witness) -> Result<Option<Witness>, Limit> {
        self.work.questions += 1;
        self.charge(NODE + self.work_of_path() + halves.len() as u64)?;
        if self.is_refuted(halves) {
            self.work.refuted += 1;
            return Ok(None);
        }
        if let Witness::Float(d) = from
            && let Some(there) = self.walker.walk(&self.forms, d, &self.path, halves)
        {
            self.work.walks += 1;
            return Ok(Some(there));
        }
        self.cone.backtrack(self.synced);
        for &half in self.path[self.synced..].iter().chain(halves) {
            self.cone.assert(&self.forms, half);
        }
        self.synced = self.path.len();
        let result = self.solve();
        if let Err(Halt::Conflict(conflict)) = &result {
            self.learn(conflict, halves);
        }
        self.cone.backtrack(self.synced);
        match result {
            Ok(witness) => Ok(Some(witness)),
            Err(Halt::Conflict(_)) => Ok(None),
            Err(Halt::Stopped) => Err(self.limits.stopped().map_or(Limit::Stopped, Limit::of)),
        }
    }

    fn is_refuted(&mut self, halves: &[Half]) -> bool {
        if let [half] = halves {
            return self.circuits.refute(*half, &self.signs);
        }
        halves.iter().for_each(|h| self.signs.set(*h));
        let refuted = halves.iter().any(|h| self.circuits.refute(*h, &self.signs));
        halves.iter().for_each(|h| self.signs.unset(*h));
        refuted
    }

    fn solve(&mut self) -> Result<Witness, Halt> {
        self.cone.check_quick(&self.forms)?;
        if let Some(w) = Witness::float(&self.forms, self.cone.point(), self.cone.halves().iter()) {
            return Ok(w);
        }
        let exact = self.cone.witness(&self.forms)?;
        let near: Vec<f64> = exact.iter().map(Rational::to_f64).collect();
        let float = Witness::float(&self.forms, &near, self.cone.halves().iter());
        Ok(float.unwrap_or_else(|| Witness::Exact(exact.into())))
    }

    fn learn(&mut self, conflict: &Conflict, asked: &[Half]) {
        let all = self.cone.halves();
        let signed = |h: &Half| Signed { form: h.form, negative: h.negative };
        let parts = conflict.parts.iter().map(|(i, _)| signed(&all[*i]));
        // the cone had an inside before, so something that was asked is part of it
        let new = conflict.parts.iter().map(|(i, _)| all[*i].form).find(|f| asked.iter().any(|h| h.form == *f));
        if let Some(form) = new {
            self.circuits.learn(form, parts);
        }
    }
}

/// The units of work that looking up a form takes.
fn work_to_intern(f: &Form) -> u64 {
    f.terms().iter().map(|t| 2 + 8 * work_of(&t.1)).sum()
}

/// For a model whose kinks all have two forms that use no other kink: what the gradients of opposite cells add up to.
fn mirror(normal: &NormalForm, weights: &[Rational], constant: &[Rational]) -> Option<Vec<Rational>> {
    let mut sum: Vec<Rational> = constant.iter().map(|c| c * Rational::from(2)).collect();
    for (kink, by) in normal.kinks.iter().zip(weights) {
        if kink.forms.len() != 2 || !is_alone(kink, normal.dimension) {
            return None;
        }
        kink.forms.iter().flat_map(Form::terms).for_each(|(i, c)| sum[*i].add_mul(by, c));
    }
    Some(sum)
}
