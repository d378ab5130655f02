//! Work on another thread while this one looks at signals, so that Ctrl-C gets through. What was found until then is kept.

use crate::error::CreaseError;
use crease::Cancel;
use pyo3::prelude::*;
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

/// How long until signals are looked at again.
const WAIT: Duration = Duration::from_millis(20);

/// How work on another thread ended.
enum Ended<T> {
    Done(T),
    /// By a signal: what the handler raised, and what the work gave as it was told to stop.
    Interrupted(PyErr, Option<T>),
}

/// Does work on another thread, and waits for it in a way that signals get through.
pub fn interruptible<T: Send>(py: Python<'_>, cancel: &Cancel, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    match waited(py, cancel, work)? {
        Ended::Done(answer) => Ok(answer),
        Ended::Interrupted(interrupt, _) => Err(interrupt),
    }
}

/// The same for work whose answer is worth having if it was stopped: it is the `answer` of the exception then.
pub fn keeping<T: Send + for<'py> IntoPyObject<'py>>(
    py: Python<'_>,
    cancel: &Cancel,
    work: impl FnOnce() -> PyResult<T> + Send,
) -> PyResult<T> {
    match waited(py, cancel, work)? {
        Ended::Done(answer) => answer,
        Ended::Interrupted(interrupt, found) => {
            if let Some(Ok(found)) = found {
                interrupt.value(py).setattr("answer", found)?;
            }
            Err(interrupt)
        }
    }
}

fn waited<T: Send>(py: Python<'_>, cancel: &Cancel, work: impl FnOnce() -> T + Send) -> PyResult<Ended<T>> {
    std::thread::scope(|scope| {
        let (done, wait) = mpsc::channel();
        let wait = Mutex::new(wait);
        let worker = std::thread::Builder::new().stack_size(64 << 20).spawn_scoped(scope, move || {
            // nobody waits any more if this fails
            let _ = done.send(work());
        });
        let worker = worker.map_err(|e| CreaseError::new_err(format!("no thread could be started: {e}")))?;
        loop {
            match py.detach(|| wait.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(WAIT)) {
                Ok(answer) => return Ok(Ended::Done(answer)),
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    if let Err(interrupt) = py.check_signals() {
                        cancel.stop();
                        let _ = py.detach(|| worker.join());
                        let found = wait.lock().unwrap_or_else(PoisonError::into_inner).try_recv().ok();
                        return Ok(Ended::Interrupted(interrupt, found));
                    }
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    // it panicked; a thread that nobody joined would end the interpreter with it
                    let why = match py.detach(|| worker.join()) {
                        Err(panic) => panic
                            .downcast_ref::<String>()
                            .cloned()
                            .or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string())),
                        Ok(()) => None,
                    };
                    let why = why.map(|w| format!(" ({w})")).unwrap_or_default();
                    return Err(CreaseError::new_err(format!("the search broke off{why}; this is a defect of crease")));
                }
            }
        }
    })
}
