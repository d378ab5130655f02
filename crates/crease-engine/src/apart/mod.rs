//! Loops without what need not be in them.
//!
//! A program enters and a program of the same function leaves, in which each turn of a loop computes only what the next turn waits for:
//!
//! | what the body computes | where it goes |
//! | --- | --- |
//! | what nobody asks for, sums that are carried for nobody among it | nowhere |
//! | from arguments that are the same in each turn | before the loop, once |
//! | from parts of sequences alone, such as `W @ x` for each part `x` | before the loop, for all turns at once ([`batch`]) |
//! | what later turns do not need | after the loop, for all turns at once, from what the loop stacks |
//! | sums over turns | after the loop; a sum of products of columns and rows is one product of two matrices |
//!
//! Work is neither added nor saved but for what nobody asks for: a batch is what its points cost. But a product of matrices takes a fraction of the time of
//! as many products with vectors, and each operation that leaves a loop is begun once and not in each turn. It is done before a
//! program is differentiated, so that the adjoints of weights become such products, and after it, since the loop that goes back is a loop as others.
//!
//! Where every bit must agree sums stay where they are, and so do turns: then only what is the same in each turn leaves.

mod places;

use crate::error::EngineError;
use crease_core::{Atom, BatchError, BuildError, Builder, Layout, Op, Program, Scan, Shape, Value, batch, inline};
use places::{Live, Part, Parts, Place, Split, Term, places};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// What leaves a loop together has so many numbers at most, over all turns: beyond, memory is slower than beginning anew in each turn.
const MOST: usize = 1 << 20;

/// How a loop may be taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct How {
    /// Turns together, and sums in another order.
    pub together: bool,
    /// Calls in bodies as what they stand for.
    pub inline: bool,
}

/// The same function with its loops taken apart.
pub(crate) fn apart(p: &Program, how: How) -> Result<Cow<'_, Program>, EngineError> {
    let turns = |e: &crease_core::Equation<'_>| matches!(e.op, Op::Scan(scan) if scan.turns > 1);
    if p.callees().is_empty() || !p.equations().any(|e| turns(&e)) {
        return Ok(Cow::Borrowed(p));
    }
    // who is asked for, and of loops which results and arguments
    let mut asked = vec![false; p.values()];
    p.outputs().iter().filter_map(|o| o.value()).for_each(|v| asked[v.index()] = true);
    let mut loops: HashMap<usize, (Program, Live)> = HashMap::new();
    let mut kept = vec![false; p.len()];
    for (i, e) in p.equations().enumerate().rev() {
        kept[i] = e.results().any(|v| asked[v.index()]);
        if !kept[i] {
            continue;
        }
        let wanted: Vec<bool> = e.results().map(|v| asked[v.index()]).collect();
        let mut ask = |a: &Atom| a.value().into_iter().for_each(|v| asked[v.index()] = true);
        match e.op {
            Op::Scan(scan) if turns(&e) => {
                let body = &p.callee(scan.body).program;
                // what is too large to be expanded is refused by others, with its size
                let expanded = if how.inline { inline(body).ok() } else { None };
                let body = expanded.unwrap_or_else(|| Program::clone(body));
                let live = Live::of(&body, scan, &wanted);
                e.args.iter().zip(&live.inputs).filter(|(_, live)| **live).for_each(|(a, _)| ask(a));
                loops.insert(i, (body, live));
            }
            _ => e.args.iter().for_each(ask),
        }
    }
    let mut b = Builder::new(p.name());
    let mut map: Vec<Option<Atom>> = Vec::with_capacity(p.values());
    for i in p.inputs() {
        map.push(Some(b.input(i.name.clone(), i.shape.clone())?));
    }
    for (i, e) in p.equations().enumerate() {
        if !kept[i] {
            map.extend(std::iter::repeat_n(None, e.results));
            continue;
        }
        b.set_origin(e.origin());
        // an argument that nobody asks for may be gone
        let args: Vec<Option<Atom>> = e.args.iter().map(|&a| translated(&mut b, p, &map, a)).collect();
        if let (Op::Scan(scan), Some((body, live))) = (e.op, loops.get(&i)) {
            let mut outer = Outer { b: &mut b, p, map: &map, given: e.args, args };
            let results = outer.take_apart(scan, body, live, how.together)?;
            map.extend(results);
            continue;
        }
        let args: Vec<Atom> = args.into_iter().flatten().collect();
        let results = b.push_from(p, e.op, &args)?;
        map.extend(results.into_iter().map(Some));
    }
    b.set_origin(None);
    let outputs: Vec<Atom> = p.outputs().iter().filter_map(|&o| translated(&mut b, p, &map, o)).collect();
    Ok(Cow::Owned(b.finish(&outputs)?))
}

fn translated(b: &mut Builder, p: &Program, map: &[Option<Atom>], a: Atom) -> Option<Atom> {
    match a {
        Atom::Value(v) => map[v.index()],
        Atom::Const(c) => Some(b.constant(p.constant(c).clone())),
    }
}

/// A program under way, in which a loop is to be taken apart.
struct Outer<'a> {
    b: &'a mut Builder,
    p: &'a Program,
    map: &'a [Option<Atom>],
    /// The arguments of the loop in the program that it comes from, and in this one.
    given: &'a [Atom],
    args: Vec<Option<Atom>>,
}

impl Outer<'_> {
    /// The results of the loop that somebody asks for.
    fn take_apart(
        &mut self,
        scan: &Scan,
        body: &Program,
        live: &Live,
        together: bool,
    ) -> Result<Vec<Option<Atom>>, EngineError> {
        let mut split = places(body, scan, live, together);
        let mut parts = Parts::of(&split, body, scan, live);
        if together && parts.numbers(&split, body).saturating_mul(scan.turns) > MOST {
            split = places(body, scan, live, false);
            parts = Parts::of(&split, body, scan, live);
        }
        let mut made = Made { once: vec![None; body.values()], each: vec![None; body.values()] };
        for (i, &a) in self.args.iter().enumerate() {
            let of = if i >= scan.still() { &mut made.once } else { &mut made.each };
            // carried values are nobody's before the loop
            of[i] = if i < scan.carried { None } else { a };
        }
        parts.before.copy(self.b, body, &mut made.once)?;
        let roots = parts.asked_of(body, &split, Place::Parts);
        let (batched, along, taken) = sub(body, &parts.parts, &roots, &made)?;
        self.spread(scan, (batched, &along, &taken), &roots, &mut made)?;
        let (carried, direct) = self.turns(scan, body, live, &split, &parts, &mut made)?;
        let (batched, along, taken) = sub(body, &parts.after, &parts.roots, &made)?;
        self.spread(scan, (batched, &along, &taken), &parts.roots, &mut made)?;
        let mut results = Vec::with_capacity(body.outputs().len());
        for (i, &o) in body.outputs().iter().enumerate() {
            results.push(match (live.outputs[i], split.sums.get(i)) {
                (false, _) => None,
                (true, Some(Some(terms))) => Some(self.sum(scan, body, i, terms, &made)?),
                (true, Some(None)) => carried[i],
                // one that is stacked for others, too, is stacked once
                (true, None) => direct[i].or_else(|| o.value().and_then(|v| made.each[v.index()])),
            });
        }
        Ok(results)
    }

    /// Runs a program at all turns at once.
    fn spread(
        &mut self,
        scan: &Scan,
        (program, along, taken): (Option<Program>, &[usize], &[Atom]),
        roots: &[Value],
        made: &mut Made,
    ) -> Result<(), EngineError> {
        let Some(program) = program else { return Ok(()) };
        let all = batch(&program, along, scan.turns).map_err(|e| match e {
            BatchError::Build(e) => EngineError::from(e),
            BatchError::Selection { .. } | BatchError::NoSuchInput { .. } => {
                unreachable!("what leaves a loop has no selections")
            }
        })?;
        let results = self.b.splice(&all, taken)?;
        roots.iter().zip(results).for_each(|(v, r)| made.each[v.index()] = Some(r));
        Ok(())
    }

    /// The loop itself: carried values, and those stacked outputs that it returns.
    #[allow(clippy::type_complexity)]
    fn turns(
        &mut self,
        scan: &Scan,
        body: &Program,
        live: &Live,
        split: &Split,
        parts: &Parts,
        made: &mut Made,
    ) -> Result<(Vec<Option<Atom>>, Vec<Option<Atom>>), EngineError> {
        let carried: Vec<usize> = (0..scan.carried).filter(|&i| live.outputs[i] && split.sums[i].is_none()).collect();
        let own = |&k: &usize| {
            let stacked = body.outputs()[k].value().is_some_and(|v| parts.stacked.contains(&v));
            live.outputs[k] && split.direct[k] && !stacked
        };
        let direct: Vec<usize> = (scan.carried..body.outputs().len()).filter(own).collect();
        let (mut all_carried, mut all_direct) = (vec![None; scan.carried], vec![None; body.outputs().len()]);
        if carried.is_empty() && direct.is_empty() && parts.stacked.is_empty() {
            return Ok((all_carried, all_direct));
        }
        let mut b = Builder::new(body.name());
        let mut map: Vec<Option<Atom>> = vec![None; body.values()];
        let mut args = Vec::new();
        for &i in &carried {
            let input = &body.inputs()[i];
            map[i] = Some(b.input(input.name.clone(), input.shape.clone())?);
            args.extend(self.args[i]);
        }
        let taken: Vec<Value> = parts.inside.boundary.iter().copied().filter(|v| v.index() >= scan.carried).collect();
        let (each, once): (Vec<Value>, Vec<Value>) = taken.iter().partition(|v| made.each[v.index()].is_some());
        for v in &each {
            map[v.index()] = Some(b.input(format!("part{}", v.index()), body.shape(*v).clone())?);
            args.extend(made.each[v.index()]);
        }
        let mut known: HashMap<Atom, Atom> = HashMap::new();
        let mut shown = Vec::new();
        for v in &once {
            let Some(outside) = made.once[v.index()] else { continue };
            // a view of what is the same in each turn is read where the numbers lie
            let (source, views) = self.seen_through(*v, outside, scan);
            let shape = if views.is_empty() { body.shape(*v).clone() } else { self.b.shape(source) };
            let inner = match known.get(&source) {
                Some(&inner) if source.value().is_some() => inner,
                _ => {
                    args.push(source);
                    b.input(format!("still{}", v.index()), shape)?
                }
            };
            known.insert(source, inner);
            shown.push((v, inner, views));
        }
        for (v, mut inner, views) in shown {
            for (layout, shape) in views.into_iter().rev() {
                inner = b.view(inner, layout, shape)?;
            }
            map[v.index()] = Some(inner);
        }
        parts.inside.copy(&mut b, body, &mut map)?;
        let mut outputs: Vec<Atom> = Vec::new();
        for &i in carried.iter().chain(&direct) {
            outputs.extend(translated(&mut b, body, &map, body.outputs()[i]));
        }
        outputs.extend(parts.stacked.iter().filter_map(|v| map[v.index()]));
        let turn = Arc::new(b.finish(&outputs)?);
        let op = Scan { body: self.b.callee(turn, None)?, carried: carried.len(), each: each.len(), ..*scan };
        let mut results = self.b.push(op, &args)?.into_iter();
        carried.iter().zip(results.by_ref()).for_each(|(&i, r)| all_carried[i] = Some(r));
        direct.iter().zip(results.by_ref()).for_each(|(&i, r)| all_direct[i] = Some(r));
        parts.stacked.iter().zip(results).for_each(|(v, r)| made.each[v.index()] = Some(r));
        Ok((all_carried, all_direct))
    }

    /// What an argument that is the same in each turn is a view of, and the views from there on, the last one first.
    fn seen_through(&self, v: Value, outside: Atom, scan: &Scan) -> (Atom, Vec<(Layout, Shape)>) {
        let (mut source, mut views) = (outside, Vec::new());
        let Some(mut given) = self.given.get(v.index()).filter(|_| v.index() >= scan.still()) else {
            return (source, views);
        };
        while let Some(i) = given.value().and_then(|v| self.p.definition(v)) {
            let e = self.p.equation(i);
            let (Op::View { layout: layout @ Layout::Strided { .. }, shape }, [from @ Atom::Value(inner)]) =
                (e.op, e.args)
            else {
                break;
            };
            let Some(there) = self.map[inner.index()] else { break };
            views.push((layout.clone(), shape.clone()));
            (source, given) = (there, from);
        }
        (source, views)
    }

    /// A sum over all turns, from its first value on.
    fn sum(
        &mut self,
        scan: &Scan,
        body: &Program,
        carried: usize,
        terms: &[Term],
        made: &Made,
    ) -> Result<Atom, EngineError> {
        let shape = body.inputs()[carried].shape.clone();
        // what is added and what is taken away
        let mut both: [Vec<(Atom, Layout)>; 2] = [Vec::new(), Vec::new()];
        let first = self.args[carried].expect("what is carried has a first value");
        let zeros = |a: Atom| match a {
            Atom::Const(c) => self.p.constant(c).is_zero(),
            Atom::Value(v) => self
                .p
                .definition(v)
                .is_some_and(|i| matches!(self.p.equation(i).op, Op::Assemble { pieces, .. } if pieces.is_empty())),
        };
        if !zeros(self.given[carried]) {
            let first = if first.value().is_some() { first } else { self.b.broadcast(first, &shape)? };
            both[0].push((first, Layout::identity(shape.len())));
        }
        for t in terms {
            let of = |v: Value| made.each[v.index()].expect("terms were made");
            let piece = match t.factors {
                None => (of(t.value), t.layout.batched(scan.turns, 0)),
                Some(factors) => {
                    let mut tall = Vec::with_capacity(2);
                    for (v, turned) in factors {
                        let dims = body.shape(v).dims();
                        let (inner, other) = if turned { (dims[1], dims[0]) } else { (dims[0], dims[1]) };
                        let x = if turned { self.b.transpose(of(v), &[0, 2, 1])? } else { of(v) };
                        let rows = Shape::new([scan.turns * inner, other]).map_err(BuildError::from)?;
                        tall.push(self.b.reshape(x, &rows)?);
                    }
                    (self.b.push1(Op::MatMul { transpose_a: true, transpose_b: false }, &tall)?, t.layout.clone())
                }
            };
            both[usize::from(t.negative)].push(piece);
        }
        let [added, taken] = both;
        let mut all = |pieces: Vec<(Atom, Layout)>| match &pieces[..] {
            [] => Ok(None),
            [(one, layout)] if layout.is_identity(shape.len()) && self.b.shape(*one) == shape => Ok(Some(*one)),
            _ => self.b.assemble(shape.clone(), pieces).map(Some),
        };
        Ok(match (all(added)?, all(taken)?) {
            (Some(added), Some(taken)) => self.b.sub(added, taken)?,
            (Some(added), None) => added,
            (None, Some(taken)) => self.b.neg(taken)?,
            (None, None) => self.b.zeros(shape)?,
        })
    }
}

/// What became of the values of a body outside of the loop: those that are the same in each turn, and those that have one part for each turn.
struct Made {
    once: Vec<Option<Atom>>,
    each: Vec<Option<Atom>>,
}

/// A part of a body as a program of its own: which of its inputs have a part for each turn, and what is given for its inputs. Nothing if nobody asks.
#[allow(clippy::type_complexity)]
fn sub(
    body: &Program,
    part: &Part,
    roots: &[Value],
    made: &Made,
) -> Result<(Option<Program>, Vec<usize>, Vec<Atom>), BuildError> {
    if roots.is_empty() {
        return Ok((None, Vec::new(), Vec::new()));
    }
    let mut b = Builder::new(body.name());
    let mut map: Vec<Option<Atom>> = vec![None; body.values()];
    let (mut along, mut taken) = (Vec::new(), Vec::new());
    for (k, v) in part.boundary.iter().enumerate() {
        map[v.index()] = Some(b.input(format!("v{}", v.index()), body.shape(*v).clone())?);
        match (made.each[v.index()], made.once[v.index()]) {
            (Some(each), _) => {
                along.push(k);
                taken.push(each);
            }
            (None, once) => taken.extend(once),
        }
    }
    part.copy(&mut b, body, &mut map)?;
    let outputs: Vec<Atom> = roots.iter().filter_map(|v| map[v.index()]).collect();
    Ok((Some(b.finish(&outputs)?), along, taken))
}

#[cfg(test)]
mod tests;
