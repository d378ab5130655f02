//! Tensor programs: few equations, each on many numbers.
//!
//! A flat program enters; a plan leaves, a list of steps over buffers. [`lower`] resolves views, [`pattern`] and [`rewrite`] find
//! what can be had for less, [`fuse`] decides what runs together, [`memory`] where results lie; then each step is a loop that was compiled for this machine: [`block`] for fused elementwise operations and their sums, [`assemble`],
//! [`product`], [`windows`], [`lanes`]. A run allocates nothing.

mod assemble;
mod block;
mod fuse;
mod gemm;
mod hadamard;
mod lanes;
mod lower;
mod memory;
mod pattern;
mod pool;
mod product;
mod rewrite;
mod walk;
mod windows;

use crate::error::EngineError;
use crate::executable::{Executable, Inputs};
use crate::flat::Flat;
use crate::float::{Float, all_finite, all_truths};
use crate::options::Explain;
pub(crate) use block::Manner;
use crease_core::Limits;
use lower::{Buf, Kind, Node, Nodes, Origin};
use memory::{Aligned, Life, Place, Pointers};
use std::ops::Range;

/// A tensor program as code.
pub(crate) struct Code<T> {
    steps: Vec<Step<T>>,
    places: Vec<(Place, usize)>,
    consts: Vec<T>,
    /// Buffers that must turn out to hold truth values.
    truths: Vec<Buf>,
    arena: usize,
    space: usize,
    positions: usize,
    manner: Manner,
}

enum Step<T> {
    Fused(block::Fused<T>),
    Assemble(assemble::Assembly<T>, Buf),
    /// And whether it is right only if it is finite.
    Product(product::Product, Buf, bool),
    Transform(hadamard::Transform<T>, Buf),
    Lanes(lanes::Lanes<T>),
    Across(lanes::Across),
    Permute {
        src: Buf,
        perm: Buf,
        n: usize,
        inverse: bool,
        out: Buf,
    },
    Conv(windows::Conv, windows::Pass, Buf),
    Pool(pool::Pool),
    Unpool(pool::Unpool),
}

/// The memory of a run.
pub(crate) struct Memory<T> {
    arena: Aligned<T>,
    space: Aligned<T>,
    positions: Vec<u32>,
    table: Vec<Entry<T>>,
}

/// Where a buffer lies in the current run.
type Entry<T> = (*mut T, usize);

// SAFETY: the pointers are filled in at the beginning of each run and used in that run only
unsafe impl<T: Send> Send for Memory<T> {}

/// Makes a plan.
pub(crate) fn build<T: Float>(
    f: &Flat,
    manner: Manner,
    limits: &Limits,
    explain: &mut Explain,
) -> Result<Code<T>, EngineError> {
    let mut nodes = lower::lower_all::<T>(f, limits)?;
    if !manner.exact {
        pattern::recognise(&mut nodes);
    }
    let Nodes { nodes, lens, origins, outputs, truths } = nodes;
    let groups = fuse::fuse(&nodes, &lens);
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
    let mut steps = Vec::with_capacity(groups.len());
    let (mut space, mut positions, mut fused) = (block::block::<T>(), 0, 0);
    // what stays in the registers of a group needs no place
    let mut needed = read_elsewhere;
    for g in &groups {
        let members: Vec<&Node<T>> = g.nodes.iter().map(|&n| &nodes[n]).collect();
        let node = members[0];
        let out = node.out[0];
        if let Some(elements) = g.elements {
            for m in members.iter().filter(|m| matches!(m.kind, Kind::Assemble(_))) {
                needed[m.out[0] as usize] = true;
            }
            let f = block::build(&members, elements, &lens, &|b| needed[b as usize]);
            space = space.max(f.space());
            fused += members.len();
            steps.push(Step::Fused(f));
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
                let lanes = lanes::Lanes {
                    op: *op,
                    pick: *pick,
                    src: *src,
                    second: *second,
                    n: *n,
                    wanted: wanted.collect(),
                    out: node.out.clone(),
                };
                space = space.max(lanes.space());
                positions = positions.max(*n);
                Step::Lanes(lanes)
            }
            Kind::Across { src, rows, count } => {
                explain.say(format!("log-sum-exp of {count} columns of {rows}"));
                Step::Across(lanes::Across { src: *src, values: out, weights: node.out.get(1).copied() })
            }
            Kind::Permute { src, perm, n, inverse } => {
                Step::Permute { src: *src, perm: *perm, n: *n, inverse: *inverse, out }
            }
            Kind::Conv(conv, pass) => {
                space = space.max(conv.space());
                explain.say(format!("convolution, {pass:?}: {} kernels of {}", conv.count, conv.windows.offsets.len()));
                Step::Conv(conv.clone(), *pass, out)
            }
            Kind::Pool(pool) => {
                explain.say(format!("pooling over windows of {}", pool.windows.offsets.len()));
                Step::Pool(pool.clone())
            }
            Kind::Unpool(pool) => {
                space = space.max(pool.space());
                Step::Unpool(pool.clone())
            }
            Kind::Unit(..) => continue,
        });
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
    Ok(Code { steps, places, consts, truths, arena, space, positions, manner })
}

impl<T: Float> Executable<T> for Code<T> {
    type Memory = Memory<T>;

    fn memory(&self) -> Memory<T> {
        Memory {
            arena: Aligned::zeros(self.arena),
            space: Aligned::zeros(self.space),
            positions: vec![0; self.positions],
            table: vec![(std::ptr::null_mut(), 0); self.places.len()],
        }
    }

    fn numbers(&self) -> usize {
        self.arena.saturating_add(self.space).saturating_add(self.positions)
    }

    fn bytes(m: &Memory<T>) -> usize {
        m.arena.bytes() + m.space.bytes() + size_of_val(&m.positions[..]) + size_of_val(&m.table[..])
    }

    fn run(&self, m: &mut Memory<T>, points: Range<usize>, inputs: Inputs<'_, T>, outputs: &mut [&mut [T]]) -> bool {
        points.into_iter().all(|point| self.run_at(m, point, inputs, outputs))
    }
}

impl<T: Float> Code<T> {
    /// Runs at one point; false if something was not finite and that was asked, or if that means that the numbers may be wrong.
    fn run_at(&self, m: &mut Memory<T>, point: usize, inputs: Inputs<'_, T>, outputs: &mut [&mut [T]]) -> bool {
        assert!(m.table.len() == self.places.len() && m.positions.len() == self.positions, "memory of other code");
        let arena = m.arena.all();
        for (entry, &(place, len)) in m.table.iter_mut().zip(&self.places) {
            let start = match place {
                Place::Input(i) => inputs.input(i as usize, point).as_ptr().cast_mut(),
                Place::Output(i) => outputs[i as usize][point * len..][..len].as_mut_ptr(),
                Place::Const(at) => self.consts[at..at + len].as_ptr().cast_mut(),
                Place::Arena(at) => arena[at..at + len].as_mut_ptr(),
            };
            *entry = (start, len);
        }
        // SAFETY: the slices outlive the run; inputs and constants are never written; the planner lets buffers share a place
        // only if their lives do not meet
        let p = unsafe { Pointers::new(&m.table) };
        let mut fine = true;
        for step in &self.steps {
            fine &= self.step(step, &p, m.space.all(), &mut m.positions);
        }
        let true_or_false = self.truths.iter().all(|&b| all_truths(p.read(b)));
        fine && true_or_false && (!self.manner.checked || inputs.at(point).all(all_finite))
    }

    /// Carries out one step; false if something was not finite and that was asked.
    fn step(&self, step: &Step<T>, p: &Pointers<'_, T>, space: &mut [T], positions: &mut [u32]) -> bool {
        let exact = self.manner.exact;
        match step {
            Step::Fused(f) => return f.run(p, space, self.manner),
            Step::Product(product, ..) => product.run(p, space, self.manner),
            Step::Transform(t, _) => t.run(p),
            Step::Assemble(a, _) => a.run(p, space, exact),
            Step::Lanes(lanes) => lanes.run(p, space, positions, exact),
            Step::Across(across) => across.run(p),
            Step::Conv(conv, pass, _) => conv.run(p, space, *pass),
            Step::Pool(pool) => pool.run(p),
            Step::Unpool(pool) => pool.run(p, space),
            Step::Permute { src, perm, n, inverse, out } => {
                let lanes = p.read(*src).chunks_exact(*n).zip(p.read(*perm).chunks_exact(*n));
                for ((lane, perm), out) in lanes.zip(p.write(*out).chunks_exact_mut(*n)) {
                    crate::kernel::lanes::reorder(lane, perm, *inverse, out);
                }
            }
        }
        match step {
            Step::Product(_, out, true) => all_finite(p.read(*out)),
            Step::Product(_, out, false) | Step::Transform(_, out) | Step::Assemble(_, out) | Step::Conv(_, _, out) => {
                self.look(p, &[*out])
            }
            Step::Lanes(lanes) => self.look(p, &lanes.out[..1]),
            Step::Across(across) => self.look(p, &[across.values]),
            Step::Pool(pool) => self.look(p, &[pool.values]),
            Step::Unpool(pool) => self.look(p, &[pool.out]),
            Step::Fused(_) | Step::Permute { .. } => true,
        }
    }

    /// Whether results are finite, if that is asked.
    fn look(&self, p: &Pointers<'_, T>, out: &[Buf]) -> bool {
        !self.manner.checked || out.iter().all(|&b| all_finite(p.read(b)))
    }
}
