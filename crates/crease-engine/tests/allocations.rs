//! Runs at many points, on several threads and summed, allocate nothing once they have run before: on no thread.
//!
//! There is one test in this file, since it counts what the whole process allocates.

mod lesser;

use crease_core::{Program, Shape, trace, trace_shapes};
use crease_engine::{Compiled, Form, Options, Workspace, compile, value_and_grad};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts what all threads allocate.
struct Counting;

static COUNT: AtomicUsize = AtomicUsize::new(0);

// SAFETY: hands everything on to the system
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as above
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Whether runs come to allocate nothing: the first one makes room, and starts threads, which may take their time to begin.
fn settles(mut run: impl FnMut()) -> bool {
    run();
    (0..100).any(|_| {
        let before = COUNT.load(Ordering::Relaxed);
        run();
        let none = COUNT.load(Ordering::Relaxed) == before;
        if !none {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        none
    })
}

fn programs() -> Vec<Program> {
    let vector = Shape::vector(50).unwrap();
    vec![
        trace(3, |x| crease_core::relu(x[0] * x[1]) + crease_core::abs(x[2] - x[0]) * x[1]).unwrap(),
        trace_shapes(&[vector], |x| vec![(x[0] * x[0]).sum() + x[0].norm1()]).unwrap(),
    ]
}

type Run = dyn Fn(&Compiled<f64>, &mut [Workspace<f64>], usize, &[&[f64]], &mut [&mut [f64]]);

#[test]
fn a_run_like_the_last_one_allocates_nothing_on_any_thread() {
    let runs: [(&str, bool, &Run); 3] = [
        ("batch", false, &|c, w, n, x, y| c.run_batch(&mut w[0], n, x, y).unwrap()),
        ("parallel", false, &|c, w, n, x, y| c.run_parallel(w, n, x, y).unwrap()),
        ("sum", true, &|c, w, n, x, y| c.run_sum(w, n, x, y).unwrap()),
    ];
    for p in programs() {
        for form in [Form::Scalars, Form::Tensors] {
            let options = Options::default().form(form);
            for c in [compile::<f64>(&p, &options).unwrap(), value_and_grad::<f64>(&p, &[], &options).unwrap()] {
                for (name, summed, run) in &runs {
                    for (threads, points) in [(1, 300), (2, 300), (3, 1000), (7, 129)] {
                        let data: Vec<Vec<f64>> = c
                            .inputs()
                            .iter()
                            .map(|s| (0..s.len() * points).map(|i| (i * 37 % 101) as f64 / 50.0 - 1.0).collect())
                            .collect();
                        let inputs: Vec<&[f64]> = data.iter().map(|d| &d[..]).collect();
                        let held = if *summed { 1 } else { points };
                        let mut room: Vec<Vec<f64>> = c.outputs().iter().map(|s| vec![0.0; s.len() * held]).collect();
                        let mut out: Vec<&mut [f64]> = room.iter_mut().map(|o| &mut o[..]).collect();
                        let mut workspaces: Vec<_> = (0..threads).map(|_| c.workspace()).collect();
                        let steady = settles(|| run(&c, &mut workspaces, points, &inputs, &mut out));
                        assert!(steady, "{name} on {threads} threads\n{}", c.explain());
                    }
                }
            }
        }
    }
    one_run_on_several_threads();
    lesser::again();
}

/// Programs whose steps are shared among threads.
fn one_run_on_several_threads() {
    let shapes = [Shape::new([64, 80]).unwrap(), Shape::new([80, 96]).unwrap(), Shape::vector(100_000).unwrap()];
    let p = trace_shapes(&shapes, |x| {
        let h = crease_core::relu(x[0].matmul(x[1]));
        let norms = x[2].norm1() + x[2].norminf() + x[2].norm2() + x[2].max_all();
        let others = x[2].median() + x[2].logsumexp(0);
        vec![(h * h).sum() + crease_core::relu(x[2]).sum() + norms + others]
    })
    .unwrap();
    for threads in [2, 3] {
        let options = Options::default().threads(threads);
        for c in [compile::<f64>(&p, &options).unwrap(), value_and_grad::<f64>(&p, &[], &options).unwrap()] {
            assert!(!c.explain().to_string().contains("\n0 of the steps on"), "{}", c.explain());
            let data: Vec<Vec<f64>> =
                c.inputs().iter().map(|s| (0..s.len()).map(|i| (i * 37 % 101) as f64 / 50.0 - 1.0).collect()).collect();
            let inputs: Vec<&[f64]> = data.iter().map(|d| &d[..]).collect();
            let mut room: Vec<Vec<f64>> = c.outputs().iter().map(|s| vec![0.0; s.len()]).collect();
            let mut out: Vec<&mut [f64]> = room.iter_mut().map(|o| &mut o[..]).collect();
            let mut w = c.workspace();
            let steady = settles(|| c.run(&mut w, &inputs, &mut out).unwrap());
            assert!(steady, "{threads} threads\n{}", c.explain());
        }
    }
}
