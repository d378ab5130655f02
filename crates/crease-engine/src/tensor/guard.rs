//! What is needed only if a condition holds.
//!
//! A selection is flat: both branches are computed and one of them is picked. Where the condition is one number, what only
//! the other branch needs is not worth computing. The nodes of a program enter; for each buffer leaves when somebody reads it. Steps
//! whose results nobody reads this time are skipped, and whatever lies in their buffers is left unread: a pick copies the side that
//! is chosen.

use super::fuse::Group;
use super::lower::{Arg, Buf, Kind, Node};
use super::memory::Pointers;
use crate::float::Float;
use crate::unit::Unit;
use crease_core::Layout;
use std::collections::HashSet;

/// One number that decides: what is guarded is needed only where it is 1, or only where it is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Guard {
    pub buf: Buf,
    at: usize,
    wants: bool,
}

impl Guard {
    /// For what is needed where a number is 1, and for what is needed where it is not.
    pub fn both(buf: Buf, at: usize) -> [Guard; 2] {
        [true, false].map(|wants| Guard { buf, at, wants })
    }

    /// Whether what is guarded is needed in this run.
    #[inline(always)]
    pub fn opens<T: Float>(&self, p: &Pointers<'_, T>) -> bool {
        (p.read(self.buf)[self.at] == T::ONE) == self.wants
    }
}

/// When something is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    Never,
    If(Guard),
    Always,
}

impl Need {
    /// Needed by both.
    pub fn and(self, other: Need) -> Need {
        match (self, other) {
            (Need::Never, n) | (n, Need::Never) => n,
            (a, b) if a == b => a,
            _ => Need::Always,
        }
    }

    /// Needed for this, and then only if the guard opens. One guard is enough.
    pub fn behind(self, guard: Guard) -> Need {
        match self {
            Need::Never | Need::Always => Need::If(guard),
            outer => outer,
        }
    }

    pub fn guard(self) -> Option<Guard> {
        match self {
            Need::If(guard) => Some(guard),
            Need::Never | Need::Always => None,
        }
    }
}

/// The one element that an index map repeats.
pub(crate) fn constant_at(layout: &Layout) -> Option<usize> {
    match layout {
        Layout::Strided { offset, dims } if dims.iter().all(|d| d.stride == 0) => Some(*offset),
        _ => None,
    }
}

/// Both sides of a pick, guarded by its condition if that is one number.
fn sides<T>(unit: &Unit<T>, args: &[Arg<T>], lens: &[usize]) -> Option<[Guard; 2]> {
    let (Unit::Pick, Some(condition)) = (unit, args.first()) else { return None };
    let (buf, at) = match condition {
        Arg::Direct(b) if lens[*b as usize] == 1 => (*b, 0),
        Arg::Through(b, layout) => (*b, constant_at(layout)?),
        _ => return None,
    };
    Some(Guard::both(buf, at))
}

/// When each buffer is needed. `always` lists those that others read.
pub(crate) fn needs<T>(nodes: &[Node<T>], lens: &[usize], always: impl Iterator<Item = Buf>) -> Vec<Need> {
    let mut needs = vec![Need::Never; lens.len()];
    always.for_each(|b| needs[b as usize] = Need::Always);
    for node in nodes.iter().rev() {
        let here = node.out.iter().fold(Need::Never, |n, &b| n.and(needs[b as usize]));
        let mut note = |b: Buf, n: Need| needs[b as usize] = needs[b as usize].and(n);
        match &node.kind {
            Kind::Unit(unit, args) => {
                let guards = sides(unit, args, lens);
                for (k, arg) in args.iter().enumerate() {
                    let Some(b) = arg.buf() else { continue };
                    note(
                        b,
                        match guards {
                            Some(guards) if k > 0 => here.behind(guards[k - 1]),
                            _ => {
                                if here == Need::Never {
                                    Need::Always
                                } else {
                                    here
                                }
                            }
                        },
                    );
                }
            }
            _ => {
                let here = if here == Need::Never { Need::Always } else { here };
                node.reads().into_iter().for_each(|(b, _)| note(b, here));
            }
        }
    }
    needs
}

/// Groups of single numbers, cut behind the last condition in them, so that what it decides can wait for it. A group depends on others
/// only when nothing is added to those any more, so its beginning may come before its end.
pub(crate) fn decide_early<T>(groups: Vec<Group>, nodes: &[Node<T>], needs: &[Need]) -> Vec<Group> {
    let decides: HashSet<Buf> = needs.iter().filter_map(|n| n.guard()).map(|g| g.buf).collect();
    if decides.is_empty() {
        return groups;
    }
    let mut out = Vec::with_capacity(groups.len() + 1);
    for mut g in groups {
        let last = g.nodes.iter().rposition(|&n| nodes[n].out.iter().any(|b| decides.contains(b)));
        if let (Some(1), Some(k)) = (g.elements, last)
            && k + 1 < g.nodes.len()
        {
            let nodes = g.nodes.split_off(k + 1);
            out.push(Group { nodes, elements: g.elements });
        }
        out.push(g);
    }
    out.sort_by_key(|g| g.nodes.last().copied());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_side_of_a_pick_needs_what_the_other_does_not() {
        let unit = |unit, args: &[Arg<f64>], out| Node { kind: Kind::Unit(unit, args.to_vec()), out: vec![out] };
        let one = Arg::Through(1, Layout::strided(0, &[(8, 0)]));
        // 0: x; 1: the condition; 2 and 3: one side; 4: the other; 5: both
        let nodes = [
            unit(Unit::Neg, &[Arg::Direct(0)], 5),
            unit(Unit::Neg, &[Arg::Direct(5)], 2),
            unit(Unit::Abs, &[Arg::Direct(2)], 3),
            unit(Unit::Relu, &[Arg::Direct(5)], 4),
            unit(Unit::Pick, &[one, Arg::Direct(3), Arg::Direct(4)], 6),
        ];
        let lens = [8, 1, 8, 8, 8, 8, 8];
        let found = needs(&nodes, &lens, [6].into_iter());
        let guard = |wants| Need::If(Guard { buf: 1, at: 0, wants });
        assert_eq!(found[2..5], [guard(true), guard(true), guard(false)]);
        assert_eq!([found[0], found[1], found[5], found[6]], [Need::Always; 4]);
        // where each number has a condition of its own, both sides are needed
        let nodes = [
            unit(Unit::Neg, &[Arg::Direct(0)], 2),
            unit(Unit::Pick, &[Arg::Direct(5), Arg::Direct(2), Arg::Direct(0)], 6),
        ];
        assert_eq!(needs(&nodes, &lens, [6].into_iter())[2], Need::Always);
    }
}
