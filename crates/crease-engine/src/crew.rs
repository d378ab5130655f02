//! Threads that stay: started when they are first wanted, then waiting for work.
//!
//! A number of jobs and what is to be done for each enter; all jobs are done when [`Team::each`] returns. The caller works too. Every thread has
//! a stretch of the jobs, the same one from order to order, so that it finds in its cache what it has left there; whoever is done with
//! its own takes jobs of the others. So it does not matter to a result how many threads there are, and nothing waits for a thread
//! that has not woken up yet: its order is taken back. A thread that has nothing to do looks for orders for a moment, since
//! the next one mostly comes at once, and longer as long as it belongs to a team; then it sleeps. Giving out work allocates nothing.
//!
//! Jobs do not give out work themselves: inside a job a team has the caller alone, so that threads are never more than were asked for.
//!
//! Deliberately absent: queues, priorities. Parts of one computation are even enough.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

/// No more threads are started: an operating system refuses some number of them.
pub(crate) const THREADS: usize = 1024;

/// So long a thread without work looks for it before it sleeps.
const AWAKE: Duration = Duration::from_micros(100);

/// And so long if it belongs to a team, which may be in a step that is not shared: to wake up takes longer than many steps that are.
const CALLED: Duration = Duration::from_micros(500);

/// So often a thread pauses before it looks again: an order is to be seen within a fraction of a microsecond, and a pause may take a tenth of one.
const PAUSES: usize = 4;

/// Jobs are in so many stretches at most.
const STRETCHES: usize = 16;

/// What is to be done for each job: told are the number of the place at which a thread works, 0 that of the caller, and that of the
/// job.
type Work<'w> = dyn Fn(usize, usize) + Sync + 'w;

/// Work that has been given out. It lies on the stack of the caller, who does not go before everybody has let go of it.
struct Order<'w> {
    work: &'w Work<'w>,
    jobs: usize,
    /// In how many stretches they are, and the next job in each.
    stretches: usize,
    next: [AtomicUsize; STRETCHES],
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl<'w> Order<'w> {
    fn new(work: &'w Work<'w>, jobs: usize, threads: usize) -> Self {
        let stretches = threads.clamp(1, STRETCHES);
        let next = std::array::from_fn(|s| AtomicUsize::new(s * jobs / stretches));
        Order { work, jobs, stretches, next, panic: Mutex::new(None) }
    }

    /// Does one job after the other until there are none left: those of its own stretch, then of the one after it, and so on.
    fn carry_out(&self, place: usize) {
        let done = catch_unwind(AssertUnwindSafe(|| {
            for stretch in (place..place + self.stretches).map(|s| s % self.stretches) {
                let end = (stretch + 1) * self.jobs / self.stretches;
                loop {
                    let job = self.next[stretch].fetch_add(1, Ordering::Relaxed);
                    if job >= end {
                        break;
                    }
                    (self.work)(place, job);
                }
            }
        }));
        if let Err(panic) = done {
            // the others need not begin what is lost
            self.next.iter().for_each(|next| next.store(self.jobs, Ordering::Relaxed));
            *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
        }
    }
}

/// Where one thread gets its orders.
struct Seat {
    /// The order to be carried out, [`BUSY`] while one is, and null when there is none.
    order: AtomicPtr<Order<'static>>,
    asleep: AtomicBool,
    thread: OnceLock<Thread>,
    /// Whether it belongs to a team.
    called: AtomicBool,
    /// The place in the team that has called it.
    place: AtomicUsize,
    /// The next one in the list that this one is in.
    next: AtomicPtr<Seat>,
}

/// No order, but the sign that one is being carried out.
const BUSY: *mut Order<'static> = std::ptr::without_provenance_mut(1);

impl Seat {
    fn new() -> Seat {
        Seat {
            order: AtomicPtr::new(null_mut()),
            asleep: AtomicBool::new(false),
            thread: OnceLock::new(),
            called: AtomicBool::new(false),
            place: AtomicUsize::new(0),
            next: AtomicPtr::new(null_mut()),
        }
    }

    /// Takes orders for ever.
    fn serve(&self) {
        GIVES_OUT.set(false);
        let mut idle = Instant::now();
        loop {
            let order = self.order.load(Ordering::Acquire);
            let taken = !order.is_null()
                && self.order.compare_exchange(order, BUSY, Ordering::Acquire, Ordering::Relaxed).is_ok();
            if taken {
                // SAFETY: the caller does not take its order back once it is being carried out, and waits for the end
                let order = unsafe { &*order };
                order.carry_out(self.place.load(Ordering::Relaxed));
                self.order.store(null_mut(), Ordering::Release);
                idle = Instant::now();
                continue;
            }
            let patience = if self.called.load(Ordering::Relaxed) { CALLED } else { AWAKE };
            if spins() && idle.elapsed() < patience {
                (0..PAUSES).for_each(|_| std::hint::spin_loop());
                continue;
            }
            self.asleep.store(true, Ordering::SeqCst);
            if self.order.load(Ordering::SeqCst).is_null() {
                std::thread::park();
            }
            self.asleep.store(false, Ordering::SeqCst);
            idle = Instant::now();
        }
    }
}

/// Whether it is worth to wait awake: not where there is one processor.
fn spins() -> bool {
    static SEVERAL: OnceLock<bool> = OnceLock::new();
    *SEVERAL.get_or_init(|| std::thread::available_parallelism().is_ok_and(|n| n.get() > 1))
}

thread_local! {
    /// Whether this thread may give out work.
    static GIVES_OUT: Cell<bool> = const { Cell::new(true) };
}

/// Those that nobody has called, as a list, and how many threads there are in all.
struct Crew {
    free: *mut Seat,
    started: usize,
}

// SAFETY: seats live for ever and are made of what threads share
unsafe impl Send for Crew {}

static CREW: Mutex<Crew> = Mutex::new(Crew { free: null_mut(), started: 0 });

/// The threads that work for one caller as long as this is there, itself among them.
pub(crate) struct Team {
    /// A list of those that are called, and how many there are.
    first: *mut Seat,
    called: usize,
}

impl Team {
    /// So many threads, or fewer if there are no more to be had: one inside of a job.
    pub fn of(threads: usize) -> Team {
        let mut team = Team { first: null_mut(), called: 0 };
        if threads <= 1 || !GIVES_OUT.get() {
            return team;
        }
        let mut crew = CREW.lock().unwrap_or_else(PoisonError::into_inner);
        while team.called + 1 < threads {
            // SAFETY: seats live for ever; the lock makes this the only one that reads the list
            let seat = match unsafe { crew.free.as_ref() } {
                Some(seat) => {
                    crew.free = seat.next.load(Ordering::Relaxed);
                    std::ptr::from_ref(seat).cast_mut()
                }
                None if crew.started < THREADS => match start() {
                    Some(seat) => {
                        crew.started += 1;
                        seat
                    }
                    None => break,
                },
                None => break,
            };
            // SAFETY: as above; nobody else has this seat now
            let called = unsafe { &*seat };
            called.called.store(true, Ordering::Relaxed);
            called.next.store(team.first, Ordering::Relaxed);
            (team.first, team.called) = (seat, team.called + 1);
        }
        team
    }

    /// How many there are, the caller among them. Places are numbered below this.
    #[cfg(test)]
    pub fn threads(&self) -> usize {
        self.called + 1
    }

    fn seats(&self) -> impl Iterator<Item = &Seat> {
        // SAFETY: seats live for ever, and the list is this team's alone
        let next = |s: &&Seat| unsafe { s.next.load(Ordering::Relaxed).as_ref() };
        // SAFETY: as above
        std::iter::successors(unsafe { self.first.as_ref() }, next)
    }

    /// Does all jobs. A job that panics ends this with its panic, once nobody works any more.
    pub fn each(&self, jobs: usize, work: &Work<'_>) {
        if self.called == 0 || jobs <= 1 {
            (0..jobs).for_each(|job| work(0, job));
            return;
        }
        let order = Order::new(work, jobs, jobs.min(self.called + 1));
        let given: *mut Order<'static> = std::ptr::from_ref(&order).cast_mut().cast();
        let helpers = || self.seats().take(jobs - 1).enumerate();
        for (i, seat) in helpers() {
            seat.place.store(i + 1, Ordering::Relaxed);
            seat.order.store(given, Ordering::SeqCst);
            if seat.asleep.load(Ordering::SeqCst)
                && let Some(thread) = seat.thread.get()
            {
                thread.unpark();
            }
        }
        let gave = GIVES_OUT.replace(false);
        order.carry_out(0);
        GIVES_OUT.set(gave);
        for (_, seat) in helpers() {
            // one that has not begun need not begin any more
            if seat.order.compare_exchange(given, null_mut(), Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                continue;
            }
            let start = Instant::now();
            while !seat.order.load(Ordering::Acquire).is_null() {
                if spins() && start.elapsed() < AWAKE {
                    std::hint::spin_loop();
                } else {
                    std::thread::yield_now();
                }
            }
        }
        let panic = order.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.seats().for_each(|seat| seat.called.store(false, Ordering::Relaxed));
        if let Some(last) = self.seats().last() {
            let mut crew = CREW.lock().unwrap_or_else(PoisonError::into_inner);
            last.next.store(crew.free, Ordering::Relaxed);
            crew.free = self.first;
        }
    }
}

/// One thread more, if the operating system has one.
fn start() -> Option<*mut Seat> {
    let seat: &'static Seat = Box::leak(Box::new(Seat::new()));
    let made = std::thread::Builder::new().name("crease".into()).spawn(move || seat.serve()).ok()?;
    // set before the first order, which this very thread gives
    let _ = seat.thread.set(made.thread().clone());
    Some(std::ptr::from_ref(seat).cast_mut())
}

/// Numbers of which each job takes others.
///
/// Jobs run at the same time, so no job may have all of them; which are whose is for the caller to say.
pub(crate) struct Shared<X> {
    start: *mut X,
    len: usize,
}

// SAFETY: what is handed out is handed out to one job each, by the contract of `part`
unsafe impl<X: Send> Sync for Shared<X> {}

impl<X> Shared<X> {
    /// All of a slice. It must be there as long as jobs use this.
    pub fn new(all: &mut [X]) -> Self {
        Shared { start: all.as_mut_ptr(), len: all.len() }
    }

    /// Where some of them begin.
    pub fn pointer(&self, range: std::ops::Range<usize>) -> *mut X {
        assert!(range.start <= range.end && range.end <= self.len, "a part of what there is");
        self.start.wrapping_add(range.start)
    }

    /// Some of them.
    ///
    /// # Safety
    ///
    /// The slice is still borrowed for this, and no two parts that are in use at the same time overlap.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn part(&self, range: std::ops::Range<usize>) -> &mut [X] {
        let len = range.len();
        // SAFETY: inside of the slice, as `pointer` checks; no other part overlaps, by the contract
        unsafe { std::slice::from_raw_parts_mut(self.pointer(range), len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_is_done_once_whatever_the_number_of_threads() {
        for threads in [1, 2, 3, 7] {
            let team = Team::of(threads);
            assert!(team.threads() <= threads);
            for jobs in [0, 1, 2, 5, 100, 1000] {
                let mut done = vec![0usize; jobs];
                let all = Shared::new(&mut done);
                team.each(jobs, &|place, job| {
                    assert!(place < threads);
                    // SAFETY: each job has a number of its own
                    let mine = unsafe { all.part(job..job + 1) };
                    mine[0] += job + 1;
                });
                assert!(done.iter().enumerate().all(|(i, &n)| n == i + 1));
            }
        }
    }

    #[test]
    fn threads_that_slept_wake_up_and_teams_work_beside_each_other() {
        let count = AtomicUsize::new(0);
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    for round in 0..20 {
                        let team = Team::of(3);
                        team.each(10, &|_, _| {
                            count.fetch_add(1, Ordering::Relaxed);
                        });
                        if round % 5 == 0 {
                            std::thread::sleep(3 * AWAKE);
                        }
                    }
                });
            }
        });
        assert_eq!(count.into_inner(), 4 * 20 * 10);
    }

    #[test]
    fn a_job_gives_out_no_work_and_a_panic_comes_back() {
        let team = Team::of(3);
        let inside = AtomicUsize::new(0);
        team.each(8, &|_, _| {
            inside.fetch_max(Team::of(5).threads(), Ordering::Relaxed);
        });
        assert_eq!(inside.into_inner(), 1);
        let caught = catch_unwind(AssertUnwindSafe(|| {
            team.each(8, &|_, job| {
                assert!(job != 5, "five");
            })
        }));
        assert!(caught.is_err());
        // and it works on
        let count = AtomicUsize::new(0);
        team.each(8, &|_, _| {
            count.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(count.into_inner(), 8);
    }
}
