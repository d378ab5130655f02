//! Ctrl-C: long searches stop at the first and print what they have; the second ends the process.

use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

/// A flag that the first Ctrl-C sets.
#[derive(Clone, Copy)]
pub struct Interrupt(());

impl Interrupt {
    /// Begins to listen. Where that is not possible, Ctrl-C ends the process as it always does.
    pub fn listen() -> Self {
        // an error means that somebody listens already, or that there are no signals here
        let _ = ctrlc::set_handler(|| {
            if ASKED.swap(true, Ordering::SeqCst) {
                // what a shell reports of a process that Ctrl-C ended
                std::process::exit(130);
            }
        });
        Interrupt(())
    }

    /// Whether Ctrl-C was pressed.
    pub fn is_set(self) -> bool {
        ASKED.load(Ordering::Relaxed)
    }
}
