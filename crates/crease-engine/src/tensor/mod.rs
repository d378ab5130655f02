//! Tensor programs: few equations, each on many numbers.
//!
//! A flat program enters; a plan leaves, a list of steps over buffers. [`lower`] resolves views, [`pattern`] and [`rewrite`] find
//! what can be had for less, [`fuse`] decides what runs together, [`memory`] where results lie; then each step is a loop that was compiled for this machine: [`block`] for fused elementwise operations and their sums, [`assemble`],
//! [`product`], [`windows`], [`lanes`]. A run allocates nothing. On several threads large steps run in parts ([`split`]).

mod assemble;
mod block;
mod chosen;
mod fuse;
mod gemm;
mod guard;
mod hadamard;
mod lanes;
mod lower;
mod memory;
mod pattern;
mod pool;
mod product;
mod rewrite;
mod split;
mod turns;
mod walk;
mod windows;

use crate::crew::{Shared, Team};
use crate::error::EngineError;
use crate::executable::{Code as AnyCode, Executable, Inputs};
use crate::flat::Flat;
use crate::float::{Float, all_finite, all_truths};
use crate::kernel::moves::carry_out;
use crate::options::Explain;
use crate::unit::Move;
pub(crate) use block::Manner;
use chosen::Chosen;
use crease_core::Limits;
use guard::{Guard, Need};
use lower::{Buf, Kind, Node, Nodes, Origin};
use memory::{Aligned, Life, Place, Pointers};
use split::Parts;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use turns::Body;

/// A tensor program as code.
pub(crate) struct Code<T> {
    steps: Vec<Step<T>>,
    /// For each step whether it is needed.
    guards: Vec<Option<Guard>>,
    places: Vec<(Place, usize)>,
    consts: Vec<T>,
    /// Buffers that must turn out to hold truth values.
    truths: Vec<Buf>,
    arena: usize,
    /// For each thread.
    space: usize,
    positions: usize,
    /// Sums of parts that are still to be added up.
    partial: usize,
    threads: usize,
    /// For each step its parts, if it has any that can run at the same time.
    parts: Vec<Option<Parts<T>>>,
    manner: Manner,
    /// The code of the bodies of loops.
    bodies: Vec<Arc<dyn AnyCode<T>>>,
    /// For each input whether a step that is always carried out finds out if it is finite.
    seen: Vec<bool>,
    /// Whether this is the body of a loop: what it is given was looked at where it was made.
    inside: bool,
    /// When it is to stop.
    limits: Limits,
}

/// So many numbers of an input are looked at together.
const LOOK: usize = 1 << 14;

enum Step<T> {
    Fused(block::Fused<T>),
    Assemble(assemble::Assembly<T>, Buf),
    /// And whether it is right only if it is finite.
    Product(product::Product, Buf, bool),
    Transform(hadamard::Transform<T>, Buf),
    Lanes(lanes::Lanes<T>),
    Across(lanes::Across),
    Move {
        what: Move,
        src: Buf,
        positions: Option<Buf>,
        sizes: [usize; 3],
        out: Buf,
    },
    Conv(windows::Conv, windows::Pass, Buf),
    Pool(pool::Pool),
    Unpool(pool::Unpool),
    Chosen(Chosen),
    Turns(turns::Turns),
}

/// The memory of a run.
pub(crate) struct Memory<T: 'static> {
    arena: Aligned<T>,
    space: Aligned<T>,
    positions: Vec<u32>,
    partial: Aligned<T>,
    table: Vec<Entry<T>>,
    bodies: Vec<Body<T>>,
}

/// Where a buffer lies in the current run.
type Entry<T> = (*mut T, usize);

// SAFETY: the pointers are filled in at the beginning of each run and used in that run only
unsafe impl<T: Send> Send for Memory<T> {}

/// Makes a plan, given the code of the bodies of loops, and whether it is one.
pub(crate) fn build<T: Float>(
    f: &Flat,
    (bodies, inside): (Vec<Arc<dyn AnyCode<T>>>, bool),
    manner: Manner,
    threads: usize,
    limits: &Limits,
    explain: &mut Explain,
) -> Result<Code<T>, EngineError> {
    let mut nodes = lower::lower_all::<T>(f, limits)?;
    if !manner.exact {
        pattern::recognise(&mut nodes);
    }
    let Nodes { mut nodes, lens, origins, outputs, truths } = nodes;
    let needs = guard::needs(&nodes, &lens, outputs.iter().chain(&truths).copied());
    fuse::sums_first(&mut nodes, &lens, &needs, manner.exact);
    let groups = guard::decide_early(fuse::fuse(&nodes, &lens), &nodes, &needs);
    // who reads what, counted in steps
    let mut from = vec![usize::MAX; lens.len()];
    let mut to = vec![0usize; lens.len()];
    let mut read_elsewhere = vec![false; lens.len()];
    let mut home = vec![usize::MAX; lens.len()];
    for (i, g) in groups.iter().enumerate() {
        for &n in &g.nodes {
            for &b in &nodes[n].out {
                from[b as usize] = i;
                to[b as usize] = to[b as usize].max(i);
                home[b as usize] = i;
            }
        }
    }
    for (i, g) in groups.iter().enumerate() {
        for &n in &g.nodes {
            for (b, _) in nodes[n].reads() {
                to[b as usize] = to[b as usize].max(i);
                read_elsewhere[b as usize] |= home[b as usize] != i;
            }
        }
    }
    for &b in &outputs {
        read_elsewhere[b as usize] = true;
    }
    // looked at when all is done
    for &b in &truths {
        read_elsewhere[b as usize] = true;
        to[b as usize] = groups.len();
    }
    let mut places: Vec<(Place, usize)> = lens.iter().map(|&n| (Place::Arena(0), n)).collect();
    let mut consts: Vec<T> = Vec::new();
    let mut lives = Vec::new();
    for (b, origin) in origins.iter().enumerate() {
        match origin {
            Origin::Input(i) => places[b].0 = Place::Input(*i as u32),
            Origin::Given(data) => {
                places[b].0 = Place::Const(consts.len());
                consts.extend_from_slice(data);
            }
            Origin::Computed => match outputs.iter().position(|&o| o as usize == b) {
                Some(k) => places[b].0 = Place::Output(k as u32),
                None => lives.push(Life { buf: b as Buf, len: lens[b], from: from[b], to: to[b] }),
            },
        }
    }
    // a guard must be known by then
    let need = |b: Buf, step: usize| match needs[b as usize] {
        Need::If(guard) if home[guard.buf as usize] != usize::MAX && home[guard.buf as usize] >= step => Need::Always,
        need => need,
    };
    let mut steps = Vec::with_capacity(groups.len());
    let mut guards = Vec::with_capacity(groups.len());
    let (mut space, mut positions, mut fused, mut partial) = (block::block::<T>(), 0, 0, 0);
    // what stays in the registers of a group needs no place
    let mut needed = read_elsewhere;
    for (i, g) in groups.iter().enumerate() {
        let members: Vec<&Node<T>> = g.nodes.iter().map(|&n| &nodes[n]).collect();
        let node = members[0];
        let out = node.out[0];
        let all = members.iter().flat_map(|m| &m.out).fold(Need::Never, |n, &b| n.and(need(b, i)));
        if let Some(elements) = g.elements {
            for m in members.iter().filter(|m| matches!(m.kind, Kind::Assemble(_))) {
                needed[m.out[0] as usize] = true;
            }
            let f = block::build(&members, elements, &lens, &|b| needed[b as usize], &|b| need(b, i), manner.exact);
            space = space.max(f.space());
            partial = partial.max(f.partial());
            fused += members.len();
            steps.push(Step::Fused(f));
            guards.push(all.guard());
            continue;
        }
        node.out.iter().for_each(|&b| needed[b as usize] = true);
        steps.push(match &node.kind {
            Kind::Assemble(pieces) => Step::Assemble(assemble::build(pieces, out, lens[out as usize]), out),
            Kind::MatMul { a, b, size, stands_for_sum } => {
                let product = product::build(*a, *b, out, *size);
                let fast = if manner.exact || *stands_for_sum { None } else { hadamard::recognise(&product, &origins) };
                match fast {
                    Some(t) => {
                        explain.say(format!("matrix product {}", t.describe()));
                        Step::Transform(t, out)
                    }
                    None => {
                        explain.say(format!("matrix product {}", product.describe()));
                        space = space.max(product.space());
                        Step::Product(product, out, *stands_for_sum)
                    }
                }
            }
            Kind::Lane { op, pick, src, second, n, .. } => {
                let wanted = node.out.iter().map(|&b| to[b as usize] > from[b as usize] || outputs.contains(&b));
                let mut lanes = lanes::Lanes {
                    op: *op,
                    pick: *pick,
                    src: *src,
                    second: *second,
                    n: *n,
                    wanted: wanted.collect(),
                    out: node.out.clone(),
                    long: false,
                    look: false,
                };
                lanes.long = lanes.is_long(manner.exact);
                space = space.max(lanes.space());
                positions = positions.max(lanes.positions());
                partial = partial.max(lanes.partial());
                Step::Lanes(lanes)
            }
            Kind::Across { src, rows, count } => {
                explain.say(format!("log-sum-exp of {count} columns of {rows}"));
                Step::Across(lanes::Across { src: *src, values: out, weights: node.out.get(1).copied() })
            }
            Kind::Move { what, src, positions, sizes } => {
                Step::Move { what: *what, src: *src, positions: *positions, sizes: *sizes, out }
            }
            Kind::Conv(conv, pass) => {
                space = space.max(conv.space());
                explain.say(format!("convolution, {pass:?}: {} kernels of {}", conv.count, conv.windows.offsets.len()));
                let mut conv = conv.clone();
                if let (windows::Pass::Forward, Origin::Given(data)) = (pass, &origins[conv.kernels.0 as usize]) {
                    let packed = conv.pack(data);
                    conv.packed = Some(places.len() as Buf);
                    places.push((Place::Const(consts.len()), packed.len()));
                    consts.extend(packed);
                }
                Step::Conv(conv, *pass, out)
            }
            Kind::Pool(pool) => {
                explain.say(format!("pooling over windows of {}", pool.windows.offsets.len()));
                Step::Pool(pool.clone())
            }
            Kind::Unpool(pool) => {
                space = space.max(pool.space());
                Step::Unpool(pool.clone())
            }
            Kind::Chosen(chosen) => {
                space = space.max(chosen.space());
                positions = positions.max(chosen.positions());
                explain.say(chosen.describe());
                Step::Chosen(chosen.clone())
            }
            Kind::Turns(t) => Step::Turns(turns::Turns { out: node.out.clone(), ..t.clone() }),
            Kind::Unit(..) => continue,
        });
        guards.push(all.guard());
    }
    lives.retain(|l| needed[l.buf as usize]);
    let (peak, total) = (memory::peak(&lives), lives.iter().map(|l| l.len).sum::<usize>());
    let (offsets, arena) = memory::place(lives);
    for (b, offset) in offsets {
        places[b as usize].0 = Place::Arena(offset);
    }
    for (b, p) in places.iter_mut().enumerate() {
        // a buffer that lives in registers only is never looked at
        if p.0 == Place::Arena(0) && !needed[b] {
            p.1 = 0;
        }
    }
    explain.say(format!(
        "tensor code: {} steps, {fused} elementwise operations in {} of them; \
         {arena} numbers of memory for {peak} alive at once, {total} in all; {space} of working space",
        steps.len(),
        steps.iter().filter(|s| matches!(s, Step::Fused(_))).count(),
    ));
    let mut seen = vec![false; f.inputs];
    for (step, guard) in steps.iter_mut().zip(&guards) {
        if let (Step::Lanes(lanes), None) = (step, guard)
            && let Place::Input(i) = places[lanes.src as usize].0
        {
            let seen = &mut seen[i as usize];
            lanes.look = manner.checked && !inside && !*seen && !lanes.shows() && lanes.can_look();
            *seen |= lanes.shows() || lanes.look;
        }
    }
    // no more threads than a machine could have
    let threads = threads.clamp(1, crate::crew::THREADS);
    let mut parts = Vec::with_capacity(steps.len());
    for step in &steps {
        let mut all = split::Buffers { places: &mut places, partial: &mut partial };
        parts.push(split::split(step, threads, &mut all));
    }
    for step in parts.iter().flatten().flat_map(|p| &p.steps) {
        space = space.max(match step {
            Step::Product(product, ..) => product.space(),
            Step::Conv(conv, ..) => conv.space(),
            Step::Unpool(pool) => pool.space(),
            Step::Lanes(lanes) => lanes.space(),
            Step::Chosen(chosen) => chosen.space(),
            _ => 0,
        });
    }
    if threads > 1 {
        let shared = parts.iter().flatten().count()
            + steps.iter().filter(|s| matches!(s, Step::Fused(f) if f.parts() > 1)).count()
            + steps.iter().filter(|s| matches!(s, Step::Lanes(l) if l.long)).count()
            + steps.iter().filter(|s| matches!(s, Step::Across(_))).count();
        explain.say(format!("{shared} of the steps on up to {threads} threads"));
    }
    if threads > 1 {
        // so that the space of each thread begins where a line of the caches does
        space = space.next_multiple_of(64);
    }
    let skipped = |s: &Step<T>| if let Step::Fused(f) = s { f.guarded() } else { 1 };
    let guarded: usize = steps
        .iter()
        .zip(&guards)
        .map(|(s, g)| if g.is_some() || matches!(s, Step::Fused(_)) { skipped(s) } else { 0 })
        .sum();
    if guarded > 0 {
        explain.say(format!("{guarded} operations run only where a selection asks for them"));
    }
    Ok(Code {
        steps,
        guards,
        places,
        consts,
        truths,
        arena,
        space,
        positions,
        partial,
        threads,
        parts,
        manner,
        bodies,
        seen,
        inside,
        limits: limits.clone(),
    })
}

impl<T: Float> Executable<T> for Code<T> {
    type Memory = Memory<T>;

    fn memory(&self) -> Memory<T> {
        Memory {
            arena: Aligned::zeros(self.arena),
            space: Aligned::zeros(self.space * self.threads),
            positions: vec![0; self.positions * self.threads],
            partial: Aligned::zeros(self.partial),
            table: vec![(std::ptr::null_mut(), 0); self.places.len()],
            bodies: self.bodies.iter().map(|code| Body::new(code.clone())).collect(),
        }
    }

    fn numbers(&self) -> usize {
        let inside = self.bodies.iter().map(|code| code.held()).fold(0, usize::saturating_add);
        let each = self.space.saturating_add(self.positions).saturating_mul(self.threads);
        self.arena.saturating_add(each).saturating_add(self.partial).saturating_add(inside)
    }

    fn bytes(m: &Memory<T>) -> usize {
        m.bodies.iter().map(Body::bytes).sum::<usize>()
            + m.arena.bytes()
            + m.space.bytes()
            + m.partial.bytes()
            + size_of_val(&m.positions[..])
            + size_of_val(&m.table[..])
    }

    fn run(&self, m: &mut Memory<T>, points: Range<usize>, inputs: Inputs<'_, T>, outputs: &mut [&mut [T]]) -> bool {
        points.into_iter().all(|point| self.run_at(m, point, inputs, outputs))
    }
}

impl<T: Float> Code<T> {
    /// Runs at one point; false if something was not finite and that was asked, or if that means that the numbers may be wrong, or if it was stopped.
    fn run_at(&self, m: &mut Memory<T>, point: usize, inputs: Inputs<'_, T>, outputs: &mut [&mut [T]]) -> bool {
        assert!(
            m.table.len() == self.places.len() && m.positions.len() == self.positions * self.threads,
            "memory of other code"
        );
        let (arena, partial) = (m.arena.all(), Shared::new(m.partial.all()));
        for (k, &(place, len)) in self.places.iter().enumerate() {
            let start = match place {
                Place::Input(i) => inputs.input(i as usize, point).as_ptr().cast_mut(),
                Place::Output(i) => outputs[i as usize][point * len..][..len].as_mut_ptr(),
                Place::Const(at) => self.consts[at..at + len].as_ptr().cast_mut(),
                Place::Arena(at) => arena[at..at + len].as_mut_ptr(),
                Place::Partial(at) => partial.pointer(at..at + len),
                Place::Part(b, at) => {
                    let (first, all) = m.table[b as usize];
                    assert!(at + len <= all, "a part of what there is");
                    first.wrapping_add(at)
                }
            };
            m.table[k] = (start, len);
        }
        // SAFETY: the slices outlive the run; inputs and constants are never written; the planner lets buffers share a place
        // only if their lives do not meet
        let p = unsafe { Pointers::new(&m.table) };
        let team = Team::of(self.threads);
        let (space, positions) = (Shared::new(m.space.all()), Shared::new(&mut m.positions));
        let spaces = block::Spaces::new(&space, self.space);
        let numbers = |place: usize| place * self.positions..(place + 1) * self.positions;
        let mut fine = true;
        for ((step, guard), parts) in self.steps.iter().zip(&self.guards).zip(&self.parts) {
            if let Some(guard) = guard
                && !guard.opens(&p)
            {
                continue;
            }
            if self.limits.stopped().is_some() {
                return false;
            }
            fine &= match (step, parts) {
                (Step::Turns(t), _) => t.run(&p, &mut m.bodies[t.body], &self.limits),
                (Step::Fused(f), _) => f.run(&p, (&spaces, &partial, &team), self.manner),
                (Step::Across(across), _) => {
                    across.run(&p, &team);
                    self.looked(step, &p)
                }
                (Step::Lanes(lanes), None) if lanes.long => {
                    lanes.run_in_parts(&p, (&spaces, &partial, &team)) && self.looked(step, &p)
                }
                (step, None) => {
                    // SAFETY: nobody else works
                    let (space, positions) = unsafe { (spaces.of(0), positions.part(numbers(0))) };
                    self.carry_out(step, &p, space, positions) && self.looked(step, &p)
                }
                (step, Some(parts)) => {
                    let right = AtomicBool::new(true);
                    team.each(parts.steps.len(), &|place, k| {
                        // SAFETY: each thread has a place of its own
                        let (space, positions) = unsafe { (spaces.of(place), positions.part(numbers(place))) };
                        if !self.carry_out(&parts.steps[k], &p, space, positions) {
                            right.store(false, Ordering::Relaxed);
                        }
                    });
                    add_up(&parts.sums, step, &p);
                    right.into_inner() && self.looked(step, &p)
                }
            };
        }
        let true_or_false = self.truths.iter().all(|&b| all_truths(p.read(b)));
        fine && true_or_false && (!self.manner.checked || self.inside || self.given(inputs, point, &team))
    }

    /// Whether those inputs are finite that no step has looked at.
    fn given(&self, inputs: Inputs<'_, T>, point: usize, team: &Team) -> bool {
        let fine = AtomicBool::new(true);
        for (x, _) in inputs.at(point).zip(&self.seen).filter(|(_, seen)| !**seen) {
            team.each(x.len().div_ceil(LOOK), &|_, k| {
                if !all_finite(&x[k * LOOK..((k + 1) * LOOK).min(x.len())]) {
                    fine.store(false, Ordering::Relaxed);
                }
            });
        }
        fine.into_inner()
    }

    /// Carries out one step; false if positions were none.
    fn carry_out(&self, step: &Step<T>, p: &Pointers<'_, T>, space: &mut [T], positions: &mut [u32]) -> bool {
        let exact = self.manner.exact;
        match step {
            Step::Turns(_) | Step::Fused(_) | Step::Across(_) => unreachable!("they have their own ways"),
            Step::Product(product, ..) => product.run(p, space, self.manner),
            Step::Transform(t, _) => t.run(p),
            Step::Assemble(a, _) => a.run(p, space, exact),
            Step::Lanes(lanes) => lanes.run(p, space, positions, exact),
            Step::Conv(conv, pass, _) => conv.run(p, space, *pass),
            Step::Pool(pool) => pool.run(p),
            Step::Unpool(pool) => pool.run(p, space),
            Step::Chosen(chosen) => return chosen.run(p, space, positions, self.manner.checked),
            Step::Move { what, src, positions, sizes: [n, m, results], out } => {
                let positions = positions.map(|b| p.read(b));
                let lanes = p.read(*src).chunks_exact(*n).zip(p.write(*out).chunks_exact_mut(*results));
                let mut fine = true;
                for (l, (lane, out)) in lanes.enumerate() {
                    let positions = positions.map_or(&[][..], |all| &all[l * m..][..*m]);
                    fine &= carry_out(*what, lane, positions, out);
                }
                return fine;
            }
        }
        true
    }

    /// Whether the results of a step are finite, if that is asked.
    fn looked(&self, step: &Step<T>, p: &Pointers<'_, T>) -> bool {
        match step {
            Step::Product(_, out, true) => all_finite(p.read(*out)),
            Step::Product(_, out, false) | Step::Transform(_, out) | Step::Assemble(_, out) | Step::Conv(_, _, out) => {
                self.look(p, &[*out])
            }
            Step::Lanes(lanes) => self.look(p, &lanes.out[..1]),
            Step::Across(across) => self.look(p, &[across.values]),
            Step::Pool(pool) => self.look(p, &[pool.values]),
            Step::Unpool(pool) => self.look(p, &[pool.out]),
            Step::Chosen(chosen) => {
                [chosen.kernels, chosen.image].into_iter().flatten().all(|(_, out)| self.look(p, &[out]))
            }
            Step::Move { what: Move::Add, out, .. } => self.look(p, &[*out]),
            Step::Fused(_) | Step::Move { .. } | Step::Turns(_) => true,
        }
    }

    /// Whether results are finite, if that is asked.
    fn look(&self, p: &Pointers<'_, T>, out: &[Buf]) -> bool {
        !self.manner.checked || out.iter().all(|&b| all_finite(p.read(b)))
    }
}

/// Adds up the sums that the parts of a step have left, in order.
fn add_up<T: Float>(sums: &[Buf], step: &Step<T>, p: &Pointers<'_, T>) {
    let out = match step {
        Step::Conv(_, _, out) => *out,
        Step::Chosen(Chosen { kernels: Some((_, out)), .. }) => *out,
        _ => return,
    };
    let (Some((first, rest)), out) = (sums.split_first(), p.write(out)) else { return };
    out.copy_from_slice(p.read(*first));
    for &b in rest {
        out.iter_mut().zip(p.read(b)).for_each(|(o, &x)| *o += x);
    }
}
