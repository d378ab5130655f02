//! The graph of the paper's proof that two elements of the conservative gradient are easy to find, on the normal form.

use crease_core::limits::{Steps, work_of};
use crease_core::local::{Form, LocalModel, NormalForm, Sum};
use crease_core::number::Rational;

/// What came of the search for a path.
pub(crate) enum Path {
    /// A path with the fewest kinks, from the output down, as pairs of a kink and the form to switch to.
    Found(Vec<(usize, usize)>),
    /// There is none: the conservative gradient is a singleton.
    None,
    /// It would take too long to tell.
    TooLarge,
}

/// A path of the paper's graph with the fewest kinks.
///
/// The base choice is the first form of every kink. Switching kink k to form j adds `f_j - f_0`; an edge leads from the output, or
/// from such a switch, to every kink whose effective coefficient in it is not zero when all others stay at their base choice; a path
/// ends where the effective coefficient of some coordinate of the direction is not zero. The gradient is a polynomial in the
/// switches, kinks along a path are in descending order, so a set of switches is at most one path and its monomial has the product
/// of the edges for coefficient. With the switches of a path that has the fewest kinks all others off, its own monomial is the only
/// one left: any other would be a shorter path.
pub(crate) fn shortest_path(normal: &NormalForm, output_number: usize, steps: Steps<'_>) -> Path {
    let mut reader = Reader { normal, left: steps };
    match reader.search(output_number) {
        Some(Some(path)) => Path::Found(path),
        Some(None) => Path::None,
        None => Path::TooLarge,
    }
}

struct Reader<'n> {
    normal: &'n NormalForm,
    left: Steps<'n>,
}

impl Reader<'_> {
    /// What a combination of forms depends on when all kinks are at their base: the kinks, and whether any coordinate.
    fn effective(&mut self, forms: &[(&Form, i32)]) -> Option<(Vec<usize>, bool)> {
        let Reader { normal, left } = self;
        let (mut sum, mut reached) = (Sum::default(), Vec::new());
        let mut add = |sum: &mut Sum, weight: &Rational, form: &Form| {
            left.take(1 + form.terms().len())?;
            left.charge(work_of(weight) * form.terms().len() as u64)?;
            sum.add(weight, form);
            Some(())
        };
        for (form, sign) in forms {
            add(&mut sum, &Rational::from(*sign), form)?;
        }
        // kinks only use earlier ones, so the last one is complete
        while let Some((v, weight)) = sum.pop(normal.dimension) {
            let k = v - normal.dimension;
            reached.push(k);
            add(&mut sum, &weight, &normal.kinks[k].forms[0])?;
        }
        reached.reverse();
        Some((reached, !sum.is_zero()))
    }

    /// Breadth-first search. The outer nothing means that the steps are used up.
    fn search(&mut self, output_number: usize) -> Option<Option<Vec<(usize, usize)>>> {
        let normal = self.normal;
        let Some(output) = normal.outputs.get(output_number) else { return Some(None) };
        // for each kink that was reached, the switch from which it was, if it was not the output
        let mut came_from: Vec<Option<Option<(usize, usize)>>> = vec![None; normal.kinks.len()];
        let mut layer = self.effective(&[(output, 1)])?.0;
        layer.iter().for_each(|&k| came_from[k] = Some(None));
        while !layer.is_empty() {
            let mut next = Vec::new();
            for &k in &layer {
                let forms = &normal.kinks[k].forms;
                for (j, form) in forms.iter().enumerate().skip(1) {
                    let (reached, ends) = self.effective(&[(form, 1), (&forms[0], -1)])?;
                    if ends {
                        let mut path = vec![(k, j)];
                        let mut at = k;
                        while let Some(Some(previous)) = came_from[at] {
                            path.push(previous);
                            at = previous.0;
                        }
                        path.reverse();
                        return Some(Some(path));
                    }
                    for l in reached {
                        if came_from[l].is_none() {
                            came_from[l] = Some(Some((k, j)));
                            next.push(l);
                        }
                    }
                }
            }
            layer = next;
        }
        Some(None)
    }
}

/// The choices, as members of the model's kinks, that switch the kinks of a path and leave all others at their base.
pub(crate) fn switched(model: &LocalModel, normal: &NormalForm, path: &[(usize, usize)]) -> Vec<usize> {
    let mut picked = vec![0; model.kinks().len()];
    for &(k, j) in path {
        let kink = &normal.kinks[k];
        picked[kink.origin] = kink.members[j];
    }
    picked
}
