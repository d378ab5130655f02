//! What ends long searches early: Ctrl-C, at which they print what they have, and a reader of standard output that leaves.
//!
//! Work that Ctrl-C cut short ends with the exit code 130, whether something was printed or not; work that was complete before it was noticed ends with its own.
//! The second Ctrl-C ends the process. A reader that has left ends only work that nobody else waits for: where a file is going to be
//! written, it goes on.

use crate::writer;
use crease::Cancel;
use std::fmt;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What a shell reports of a process that Ctrl-C ended.
pub const INTERRUPTED: i32 = 130;

/// So long after Ctrl-C, work that has nothing to keep and has not noticed it is ended.
const UNNOTICED: Duration = Duration::from_millis(500);

/// Whether there is nothing to keep.
static ENDS: AtomicBool = AtomicBool::new(false);
static ASKED: AtomicBool = AtomicBool::new(false);
static LEFT: AtomicBool = AtomicBool::new(false);

/// Whether work was told of Ctrl-C, and so is not all that it would have been.
static TOLD: AtomicBool = AtomicBool::new(false);

/// What the first Ctrl-C stops.
static CANCEL: LazyLock<Cancel> = LazyLock::new(Cancel::new);

/// A flag that the first Ctrl-C sets.
#[derive(Clone, Copy)]
pub struct Interrupt(());

impl Interrupt {
    /// Begins to listen. Where that is not possible, Ctrl-C ends the process as it always does.
    pub fn listen() -> Self {
        ENDS.store(false, Ordering::Relaxed);
        // an error means that somebody listens already, or that there are no signals here
        let first = ctrlc::set_handler(|| {
            if ASKED.swap(true, Ordering::SeqCst) {
                std::process::exit(INTERRUPTED);
            }
            CANCEL.stop();
            if ENDS.load(Ordering::Relaxed) {
                std::thread::spawn(end_unless_noticed);
            }
        });
        if first.is_ok() {
            std::thread::spawn(watch_reader);
        }
        Interrupt(())
    }

    /// The same for work that keeps nothing if it is stopped: parts of it that do not look whether they are to stop are ended all the same.
    pub fn listen_or_end() -> Self {
        let interrupt = Interrupt::listen();
        ENDS.store(true, Ordering::Relaxed);
        interrupt
    }

    /// What Ctrl-C stops.
    pub fn cancel(self) -> &'static Cancel {
        &CANCEL
    }

    /// Stops the work if nobody waits for what is being computed.
    pub fn look(self) {
        if self.wanted() {
            CANCEL.stop();
        }
    }

    /// Whether Ctrl-C was pressed, or nobody waits for what is being computed.
    pub fn is_set(self) -> bool {
        let set = self.wanted();
        if set {
            TOLD.store(true, Ordering::Relaxed);
        }
        set
    }

    fn wanted(self) -> bool {
        ASKED.load(Ordering::Relaxed) || (LEFT.load(Ordering::Relaxed) && !writer::files_are_due())
    }

    /// Why what was printed is not all, of work that got this far.
    pub fn told(self, far: &str) -> anyhow::Error {
        match ASKED.load(Ordering::Relaxed) {
            true => Stopped(far.into()).into(),
            false => writer::Closed.into(),
        }
    }
}

/// Whether Ctrl-C was pressed, and some work noticed it before it came to its end.
pub fn cut_short() -> bool {
    ASKED.load(Ordering::Relaxed) && (TOLD.load(Ordering::Relaxed) || CANCEL.is_noticed())
}

/// Ends the process, unless the work is about to end by itself.
fn end_unless_noticed() {
    std::thread::sleep(UNNOTICED);
    if !CANCEL.is_noticed() {
        std::process::exit(INTERRUPTED);
    }
}

/// Waits for the reader of standard output to leave.
#[cfg(unix)]
fn watch_reader() {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use std::os::fd::AsFd;
    let out = std::io::stdout();
    // asked about nothing, it still reports that the other end is closed; files and terminals never do
    let mut ends = [PollFd::new(out.as_fd(), PollFlags::empty())];
    while let Err(nix::errno::Errno::EINTR) = poll(&mut ends, PollTimeout::NONE) {}
    let closed = PollFlags::POLLERR | PollFlags::POLLHUP;
    if ends[0].revents().is_some_and(|r| r.intersects(closed)) {
        LEFT.store(true, Ordering::Relaxed);
    }
}

#[cfg(not(unix))]
fn watch_reader() {
    // there the first piece that cannot be written ends the work
    let _ = &LEFT;
}

/// What was printed so far is not all, because of Ctrl-C.
#[derive(Debug)]
pub struct Stopped(String);

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stopped by Ctrl-C {}", self.0)
    }
}

impl std::error::Error for Stopped {}
