//! What of a body goes where: who is asked for, what the next turn waits for, and which carried values are sums.
//!
//! A body enters, and which results of its loop are asked for; places of its equations leave, and the parts that they make.

use super::translated;
use crease_core::{Atom, BuildError, Builder, Kink, Layout, Op, Program, Scan, Value};
use std::collections::HashSet;

/// Products with vectors leave a loop even if so many numbers have to be stacked for them.
const STACKED: usize = 1 << 10;

/// What is asked for of a loop.
pub(super) struct Live {
    pub inputs: Vec<bool>,
    pub outputs: Vec<bool>,
    pub equations: Vec<bool>,
}

impl Live {
    /// A carried value is asked for outside, or by a turn that is itself asked for.
    pub fn of(body: &Program, scan: &Scan, wanted: &[bool]) -> Live {
        let mut outputs = wanted.to_vec();
        loop {
            let roots = body.outputs().iter().zip(&outputs).filter(|(_, live)| **live).filter_map(|(o, _)| o.value());
            let part = Part::of(body, roots, |_| true);
            let mut inputs = vec![false; body.inputs().len()];
            part.boundary.iter().for_each(|v| inputs[v.index()] = true);
            let grown: Vec<usize> = (0..scan.carried).filter(|&i| inputs[i] && !outputs[i]).collect();
            if grown.is_empty() {
                // what is carried is given to the first turn, whoever asks for it
                (0..scan.carried).for_each(|i| inputs[i] |= outputs[i]);
                return Live { inputs, outputs, equations: part.equations };
            }
            grown.into_iter().for_each(|i| outputs[i] = true);
        }
    }
}

/// Some equations of a program, and the values that they need from elsewhere, in order.
pub(super) struct Part {
    pub equations: Vec<bool>,
    pub boundary: Vec<Value>,
}

impl Part {
    /// The equations behind some values, for as long as they are inside.
    pub fn of(p: &Program, roots: impl IntoIterator<Item = Value>, inside: impl Fn(usize) -> bool) -> Part {
        let mut wanted = vec![false; p.values()];
        roots.into_iter().for_each(|v| wanted[v.index()] = true);
        let mut equations = vec![false; p.len()];
        for (i, e) in p.equations().enumerate().rev() {
            if inside(i) && e.results().any(|v| wanted[v.index()]) {
                equations[i] = true;
                e.results().for_each(|v| wanted[v.index()] = false);
                e.args.iter().filter_map(|a| a.value()).for_each(|v| wanted[v.index()] = true);
            }
        }
        Part { equations, boundary: values(p).filter(|v| wanted[v.index()]).collect() }
    }

    /// Copies them, given what became of other values.
    pub fn copy(&self, b: &mut Builder, p: &Program, map: &mut [Option<Atom>]) -> Result<(), BuildError> {
        for (_, e) in p.equations().enumerate().filter(|(i, _)| self.equations[*i]) {
            b.set_origin(e.origin());
            let args: Vec<Atom> = e.args.iter().filter_map(|&a| translated(b, p, map, a)).collect();
            debug_assert_eq!(args.len(), e.args.len(), "what is needed was made before");
            let results = b.push_from(p, e.op, &args)?;
            e.results().zip(results).for_each(|(v, r)| map[v.index()] = Some(r));
        }
        b.set_origin(None);
        Ok(())
    }
}

fn values(p: &Program) -> impl Iterator<Item = Value> + use<> {
    let inputs = p.input_values();
    let rest: Vec<Value> = p.equations().flat_map(|e| e.results()).collect();
    inputs.chain(rest)
}

/// Where an equation of a body goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Wherever it is needed: made of constants, or a view that reads no less than it shows.
    Anywhere,
    Before,
    /// Before the loop, for all turns at once.
    Parts,
    Loop,
    After,
    Gone,
}

/// What is added in each turn to a sum that is carried.
pub(super) struct Term {
    pub value: Value,
    pub negative: bool,
    /// Where in the sum.
    pub layout: Layout,
    /// If it is a product that nobody else needs: its factors, and whether each is transposed to have the inner dimension first.
    pub factors: Option<[(Value, bool); 2]>,
}

/// Where everything in a body goes.
pub(super) struct Split {
    pub places: Vec<Place>,
    /// For each carried value its terms, if it is a sum that nobody looks at before the last turn.
    pub sums: Vec<Option<Vec<Term>>>,
    /// The stacked outputs that the loop itself returns.
    pub direct: Vec<bool>,
}

/// The last of these on which a value depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Constants,
    Still,
    Parts,
    Turn,
}

/// Operations that run at all turns at once, for the same cost: a maximum of linear functions would become a product and a maximum.
fn together(op: &Op) -> bool {
    let runs = matches!(op, Op::Call(_) | Op::Select(_) | Op::Scan(_));
    let linear = matches!(op, Op::Kink(Kink::MaxLinear { .. }) | Op::Joint(Kink::MaxLinear { .. }, _));
    !(runs || linear)
}

/// Places with the turns together or not. `uses` counts who reads a value, outputs among them.
pub(super) fn places(body: &Program, scan: &Scan, live: &Live, together_: bool) -> Split {
    let mut levels: Vec<Level> = Vec::with_capacity(body.values());
    for i in 0..body.inputs().len() {
        levels.push(match i {
            i if i < scan.carried => Level::Turn,
            i if i < scan.still() => Level::Parts,
            _ => Level::Still,
        });
    }
    let mut places = Vec::with_capacity(body.len());
    for e in body.equations() {
        let level = e.args.iter().filter_map(|a| a.value()).map(|v| levels[v.index()]).max();
        let level = level.unwrap_or(Level::Constants);
        let shown = |v: Value| body.shape(v).len() <= body.shape(e.first).len();
        let free = matches!(e.op, Op::View { .. }) && e.args.iter().filter_map(|a| a.value()).all(shown);
        // what cannot run at all turns at once, and what is made of it, belongs to its turn
        let stays = level == Level::Parts && !(together_ && together(e.op));
        let level = if stays { Level::Turn } else { level };
        places.push(match level {
            Level::Constants => Place::Anywhere,
            _ if free => Place::Anywhere,
            Level::Still => Place::Before,
            Level::Parts => Place::Parts,
            Level::Turn => Place::Loop,
        });
        levels.extend(std::iter::repeat_n(level, e.results));
    }
    for (place, live) in places.iter_mut().zip(&live.equations) {
        if !live {
            *place = Place::Gone;
        }
    }
    let mut split =
        Split { places, sums: (0..scan.carried).map(|_| None).collect(), direct: vec![true; body.outputs().len()] };
    if together_ {
        split.find_sums(body, scan, live);
        split.sink(body, scan, live, &levels);
    }
    split
}

impl Split {
    fn find_sums(&mut self, body: &Program, scan: &Scan, live: &Live) {
        let mut uses = vec![0usize; body.values()];
        let outputs = body.outputs().iter().zip(&live.outputs).filter(|(_, live)| **live).map(|(o, _)| o);
        let equations = body.equations().zip(&live.equations).filter(|(_, live)| **live);
        let read = equations.flat_map(|(e, _)| e.args.iter());
        outputs.chain(read).filter_map(|a| a.value()).for_each(|v| uses[v.index()] += 1);
        for i in (0..scan.carried).filter(|&i| live.outputs[i]) {
            if let Some((terms, gone)) = terms(body, i, &uses) {
                gone.into_iter().for_each(|e| self.places[e] = Place::Gone);
                self.sums[i] = Some(terms);
            }
        }
    }

    /// Decides what runs after the loop.
    fn sink(&mut self, body: &Program, scan: &Scan, live: &Live, levels: &[Level]) {
        // what the next turn waits for, and what cannot leave
        let carried = (0..scan.carried).filter(|&i| live.outputs[i] && self.sums[i].is_none());
        let mut roots: Vec<Value> = carried.filter_map(|i| body.outputs()[i].value()).collect();
        for (i, e) in body.equations().enumerate() {
            if self.places[i] == Place::Loop && !together(e.op) {
                roots.extend(e.results());
            }
        }
        let waits = Part::of(body, roots, |i| matches!(self.places[i], Place::Loop | Place::Anywhere)).equations;
        let mut stacked: HashSet<Value> = HashSet::new();
        let outputs = (scan.carried..body.outputs().len()).filter(|&k| live.outputs[k]);
        let outputs: Vec<(usize, Value)> = outputs.filter_map(|k| Some((k, body.outputs()[k].value()?))).collect();
        for &(_, v) in &outputs {
            if body.definition(v).is_none_or(|i| waits[i] && self.places[i] == Place::Loop) {
                stacked.insert(v);
            }
        }
        for (i, e) in body.equations().enumerate() {
            if self.places[i] != Place::Loop || waits[i] {
                continue;
            }
            let sources: HashSet<Value> =
                e.args.iter().filter_map(|a| a.value()).map(|v| self.source(body, v)).collect();
            let from = |v: &Value| body.definition(*v).map(|i| self.places[i]);
            let follows = sources.iter().any(|v| from(v) == Some(Place::After));
            let in_loop = |v: &&Value| match from(v) {
                Some(place) => place == Place::Loop,
                None => v.index() < scan.carried,
            };
            let new: Vec<Value> = sources.iter().filter(in_loop).filter(|v| !stacked.contains(v)).copied().collect();
            let more: usize = new.iter().map(|&v| body.shape(v).len()).sum();
            let numbers: usize = e.results().map(|v| body.shape(v).len()).sum();
            let product = matches!(e.op, Op::MatMul { .. });
            if follows || more <= numbers || product && more <= STACKED {
                self.places[i] = Place::After;
                stacked.extend(new);
            }
        }
        for (k, v) in outputs {
            let source = self.source(body, v);
            let place = body.definition(source).map(|i| self.places[i]);
            let in_loop = match place {
                Some(place) => place == Place::Loop && (source == v || !stacked.contains(&source)),
                None => source.index() < scan.carried && (source == v || !stacked.contains(&source)),
            };
            self.direct[k] = in_loop || levels[v.index()] == Level::Constants;
        }
    }

    /// What a value is a view of that can be made anywhere.
    fn source(&self, body: &Program, mut v: Value) -> Value {
        while let Some(i) = body.definition(v) {
            let e = body.equation(i);
            match (self.places[i], e.op, e.args) {
                (Place::Anywhere, Op::View { .. }, [Atom::Value(from)]) => v = *from,
                _ => break,
            }
        }
        v
    }
}

/// What is added to a carried value in each turn, and the equations that add it; nothing if it is no sum, or if somebody looks at it.
fn terms(body: &Program, carried: usize, uses: &[usize]) -> Option<(Vec<Term>, Vec<usize>)> {
    let input = body.input_values().nth(carried)?;
    let last = body.outputs()[carried].value().and_then(|v| body.definition(v))?;
    let adds = matches!(body.equation(last).op, Op::Add | Op::Sub | Op::Assemble { .. });
    if !adds || uses[input.index()] != 1 {
        return None;
    }
    let mut depends = vec![false; body.values()];
    depends[input.index()] = true;
    for e in body.equations() {
        let any = e.args.iter().filter_map(|a| a.value()).any(|v| depends[v.index()]);
        e.results().for_each(|v| depends[v.index()] = any);
    }
    let len = body.shape(input).len();
    let (mut terms, mut gone) = (Vec::new(), Vec::new());
    let mut v = body.outputs()[carried].value()?;
    while v != input {
        let i = body.definition(v)?;
        let e = body.equation(i);
        if uses[v.index()] != 1 || !depends[v.index()] {
            return None;
        }
        gone.push(i);
        let all: Vec<Value> = e.args.iter().map(|a| a.value()).collect::<Option<_>>()?;
        let layouts: Vec<Layout> = match e.op {
            Op::Add | Op::Sub => vec![Layout::identity(len); 2],
            Op::Assemble { pieces, .. } => pieces.to_vec(),
            _ => return None,
        };
        let mut next = None;
        for (k, (&a, layout)) in all.iter().zip(layouts).enumerate() {
            if depends[a.index()] {
                let whole = layout.is_identity(len) && body.shape(a) == body.shape(input);
                let negative = matches!(e.op, Op::Sub) && k == 1;
                if !whole || negative || next.replace(a).is_some() {
                    return None;
                }
                continue;
            }
            if matches!(layout, Layout::Table(_)) {
                return None;
            }
            let factors = (uses[a.index()] == 1).then(|| product(body, a)).flatten();
            if factors.is_some() {
                gone.extend(body.definition(a));
            }
            terms.push(Term { value: a, negative: matches!(e.op, Op::Sub), layout, factors });
        }
        v = next?;
    }
    Some((terms, gone))
}

/// The factors of a product of two matrices that are smaller than it together.
fn product(body: &Program, v: Value) -> Option<[(Value, bool); 2]> {
    let e = body.equation(body.definition(v)?);
    let (Op::MatMul { transpose_a, transpose_b }, [Atom::Value(a), Atom::Value(b)]) = (e.op, e.args) else {
        return None;
    };
    let few = body.shape(*a).len() + body.shape(*b).len() <= body.shape(v).len();
    (body.shape(v).rank() == 2 && few).then_some([(*a, !transpose_a), (*b, *transpose_b)])
}

/// The parts of a body.
pub(super) struct Parts {
    pub before: Part,
    pub parts: Part,
    pub inside: Part,
    pub after: Part,
    /// What is made after the loop.
    pub roots: Vec<Value>,
    /// What the loop stacks for that.
    pub stacked: Vec<Value>,
}

impl Parts {
    pub fn of(split: &Split, body: &Program, scan: &Scan, live: &Live) -> Parts {
        let part = |place: Place, roots: Vec<Value>| {
            Part::of(body, roots, |i| split.places[i] == place || split.places[i] == Place::Anywhere)
        };
        // after the loop: sums, and outputs that it does not return
        let mut roots: Vec<Value> = Vec::new();
        for t in split.sums.iter().flatten().flatten() {
            match t.factors {
                Some(factors) => roots.extend(factors.map(|(v, _)| v)),
                None => roots.push(t.value),
            }
        }
        let outputs = (0..body.outputs().len()).filter(|&k| live.outputs[k]);
        let (later, now): (Vec<usize>, Vec<usize>) = outputs
            .filter(|&k| split.sums.get(k).is_none_or(Option::is_none))
            .partition(|&k| k >= scan.carried && !split.direct[k]);
        roots.extend(later.iter().filter_map(|&k| body.outputs()[k].value()));
        roots.sort_unstable();
        roots.dedup();
        let after = part(Place::After, roots.clone());
        let turns = |v: &&Value| match body.definition(**v) {
            Some(i) => split.places[i] == Place::Loop,
            None => v.index() < scan.carried,
        };
        let stacked: Vec<Value> = after.boundary.iter().filter(turns).copied().collect();
        let own = now.iter().filter_map(|&k| body.outputs()[k].value());
        let inside = part(Place::Loop, own.chain(stacked.iter().copied()).collect());
        let of = |v: &&Value, place: Place| body.definition(**v).is_some_and(|i| split.places[i] == place);
        let needed = |part: &Part, place| part.boundary.iter().filter(|v| of(v, place)).copied().collect::<Vec<_>>();
        let both = [needed(&after, Place::Parts), needed(&inside, Place::Parts)].concat();
        let parts = part(Place::Parts, both);
        let still = [&after, &inside, &parts].map(|p| needed(p, Place::Before)).concat();
        let before = part(Place::Before, still);
        Parts { before, parts, inside, after, roots, stacked }
    }

    /// The values made in a place that others need.
    pub fn asked_of(&self, body: &Program, split: &Split, place: Place) -> Vec<Value> {
        let mut all: Vec<Value> = [&self.after.boundary[..], &self.inside.boundary].concat();
        all.retain(|v| body.definition(*v).is_some_and(|i| split.places[i] == place));
        all.sort_unstable();
        all.dedup();
        all
    }

    /// How many numbers all that leaves the loop has in each turn.
    pub fn numbers(&self, split: &Split, body: &Program) -> usize {
        let len = |v: &Value| body.shape(*v).len();
        let batched = body.equations().enumerate().filter(|(i, _)| {
            matches!(split.places[*i], Place::Parts | Place::After)
                && (self.parts.equations[*i] || self.after.equations[*i])
        });
        let batched: usize = batched.flat_map(|(_, e)| e.results()).map(|v| len(&v)).sum();
        batched + self.stacked.iter().map(len).sum::<usize>()
    }
}
