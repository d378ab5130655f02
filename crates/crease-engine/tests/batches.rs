//! Many points: in lanes, on threads, summed; and without allocation.

mod lesser;

use crease_core::differentiate::{How, Selection};
use crease_core::{Arithmetic, Program};
use crease_corpus::random::{Rng, any_options, program};
use crease_engine::{Compiled, Float, Form, Options, compile, value_and_grad};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Counts what the current thread allocates.
struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: hands everything on to the system
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = COUNT.try_with(|c| c.set(c.get() + 1));
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

fn point(rng: &mut Rng, n: usize) -> Vec<f64> {
    (0..n).map(|_| rng.between(-64, 64) as f64 / 32.0).collect()
}

fn programs(count: usize) -> Vec<Program> {
    let mut rng = Rng::new(77);
    (0..count)
        .map(|_| {
            let size = 5 + rng.below(20);
            let options = any_options(&mut rng, size).one_output();
            program(&mut rng, &options)
        })
        .collect()
}

fn both<T: Float>(p: &Program) -> Vec<Compiled<T>> {
    let how = How::default().select(Selection::torch());
    let options = Options::default().arithmetic(Arithmetic::Ieee).how(how);
    let mut out = Vec::new();
    for form in [Form::Scalars, Form::Tensors] {
        let options = options.clone().form(form);
        out.push(compile::<T>(p, &options).unwrap());
        out.push(value_and_grad::<T>(p, &[], &options).unwrap());
    }
    out
}

fn same(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan())
}

#[test]
fn a_batch_is_every_point_whatever_the_number_of_threads() {
    let mut rng = Rng::new(5);
    for p in programs(60) {
        for c in both::<f64>(&p) {
            let points = 1 + rng.below(40);
            let lens: Vec<usize> = c.inputs().iter().map(|s| s.len()).collect();
            let shared = rng.below(lens.len() + 1);
            let data: Vec<Vec<f64>> = lens
                .iter()
                .enumerate()
                .map(|(i, &n)| point(&mut rng, if i == shared { n } else { n * points }))
                .collect();
            let inputs: Vec<&[f64]> = data.iter().map(|d| &d[..]).collect();
            let room =
                |points: usize| -> Vec<Vec<f64>> { c.outputs().iter().map(|s| vec![0.0; s.len() * points]).collect() };
            let mut one_by_one = room(points);
            let mut w = c.workspace();
            for k in 0..points {
                let at: Vec<&[f64]> = data
                    .iter()
                    .zip(&lens)
                    .map(|(d, &n)| if d.len() == n { &d[..] } else { &d[k * n..][..n] })
                    .collect();
                let mut out: Vec<&mut [f64]> =
                    one_by_one.iter_mut().zip(c.outputs()).map(|(o, s)| &mut o[k * s.len()..][..s.len()]).collect();
                c.run(&mut w, &at, &mut out).unwrap();
            }
            let mut sums: Option<Vec<Vec<f64>>> = None;
            for threads in [1, 2, 3, 7] {
                let mut batch = room(points);
                let mut workspaces: Vec<_> = (0..threads).map(|_| c.workspace()).collect();
                let mut out: Vec<&mut [f64]> = batch.iter_mut().map(|o| &mut o[..]).collect();
                c.run_parallel(&mut workspaces, points, &inputs, &mut out).unwrap();
                for (a, b) in batch.iter().zip(&one_by_one) {
                    assert!(same(a, b), "{threads} threads: {a:?} {b:?}\n{p}\n{}", c.explain());
                }
                let mut sum = room(1);
                let mut out: Vec<&mut [f64]> = sum.iter_mut().map(|o| &mut o[..]).collect();
                c.run_sum(&mut workspaces, points, &inputs, &mut out).unwrap();
                match &sums {
                    None => sums = Some(sum),
                    Some(known) => assert!(known.iter().zip(&sum).all(|(a, b)| same(a, b))),
                }
            }
        }
    }
}

#[test]
fn a_run_allocates_nothing() {
    let mut rng = Rng::new(6);
    let mut mlp = vec![mlp()];
    mlp.extend(programs(40));
    for p in mlp {
        for c in both::<f64>(&p) {
            let data: Vec<Vec<f64>> = c.inputs().iter().map(|s| point(&mut rng, s.len())).collect();
            let inputs: Vec<&[f64]> = data.iter().map(|d| &d[..]).collect();
            let mut room: Vec<Vec<f64>> = c.outputs().iter().map(|s| vec![0.0; s.len()]).collect();
            let mut out: Vec<&mut [f64]> = room.iter_mut().map(|o| &mut o[..]).collect();
            let mut w = c.workspace();
            // once for what is found out on the first run of a process
            c.run(&mut w, &inputs, &mut out).unwrap();
            let before = COUNT.with(Cell::get);
            c.run(&mut w, &inputs, &mut out).unwrap();
            assert_eq!(COUNT.with(Cell::get), before, "{p}\n{}", c.explain());
        }
    }
}

/// A network large enough for blocked products.
fn mlp() -> Program {
    use crease_core::{Builder, Shape};
    let mut b = Builder::new("mlp");
    let x = b.input("x", Shape::new([32, 64]).unwrap()).unwrap();
    let w = b.input("w", Shape::new([64, 48]).unwrap()).unwrap();
    let h = b.matmul(x, w).unwrap();
    let h = b.relu(h).unwrap();
    let y = b.logsumexp(h).unwrap();
    b.finish(&[y]).unwrap()
}

#[test]
fn lesser_instructions_pass_these_tests_too() {
    lesser::again();
}
