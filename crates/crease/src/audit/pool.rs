//! Several inputs at a time.

use super::{Case, Finding, Network, Options, measure};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// Who is told of findings, and may have some already.
pub trait Watch {
    /// A finding of an earlier run at this input, so that it is not done again.
    fn known(&self, _input: usize) -> Option<Finding> {
        None
    }

    /// An input is done.
    fn done(&self, _finding: &Finding) {}
}

/// Nobody.
pub struct Quiet;

impl Watch for Quiet {}

/// The findings in order of the inputs. Those that were not begun when it was stopped are left out, and so is one that was stopped on the way.
pub(super) fn run(network: &Network<'_>, cases: &[Case], options: &Options, watch: &dyn Watch) -> Vec<Finding> {
    let mut findings: Vec<Option<Finding>> = (0..cases.len()).map(|i| watch.known(i)).collect();
    let open: Vec<usize> = (0..cases.len()).filter(|&i| findings[i].is_none()).collect();
    let next = AtomicUsize::new(0);
    let (send, receive) = mpsc::channel::<Finding>();
    std::thread::scope(|scope| {
        for _ in 0..options.threads.clamp(1, open.len().max(1)) {
            let (send, next, open) = (send.clone(), &next, &open);
            scope.spawn(move || {
                while let Some(&i) = open.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if options.limits.stopped().is_some() {
                        break;
                    }
                    let finding = measure::finding(network.asked(&cases[i]), i, &cases[i], options);
                    // what was stopped from outside is not known, and will be done again
                    if options.limits.stopped().is_some() || send.send(finding).is_err() {
                        break;
                    }
                }
            });
        }
        drop(send);
        for finding in receive {
            watch.done(&finding);
            let place = finding.input;
            findings[place] = Some(finding);
        }
    });
    findings.into_iter().flatten().collect()
}
