//! What plans are made of, and what is refused: nothing here needs a device or a compiler.

mod battery;

use crease_core::{Program, Shape, relu, sin, trace, trace_shapes};
use crease_corpus::random::Rng;
use crease_cuda::{CudaError, Device, Form, Options, Plan, TensorPlan};

/// A chain of so many operations.
fn chain(n: usize) -> Program {
    trace(2, |x| {
        let (mut a, mut b) = (x[0], x[1]);
        for _ in 0..n {
            (a, b) = (b, relu(a * b) - sin(b));
        }
        b
    })
    .unwrap()
}

#[test]
fn sources_grow_linearly() {
    let size = |n: usize| {
        let source = Plan::value_and_grad::<f64>(&chain(n), &[], &Options::default()).unwrap().source().len();
        source - crease_cuda::prelude(crease_cuda::Precision::Double).len()
    };
    let [one, two, four] = [200, 400, 800].map(size);
    assert!(two < one * 22 / 10 && four < two * 22 / 10, "{one} {two} {four}");
    // a fold grows by its tables
    let mut rng = Rng::new(1);
    let [small, large] = [500, 1000].map(|n| {
        let plan =
            Plan::value_and_grad::<f32>(&battery::clauses(100, n, 0, &mut rng), &[], &Options::default()).unwrap();
        assert_eq!(plan.form(), Form::Fold);
        plan.source().len()
    });
    assert!(large < 2 * small, "{small} {large}");
}

#[test]
fn what_cannot_be_run_is_refused_with_its_reason() {
    let p = chain(10);
    let told = |e: Result<Plan, CudaError>| e.unwrap_err().to_string();
    let options = Options::default;
    assert!(told(Plan::compile::<f64>(&p, &options().steps(5))).contains("more than the 5 of one kernel"));
    assert!(told(Plan::value_and_grad::<f64>(&p, &[2], &options())).contains("there is no input 2"));
    assert!(told(Plan::compile::<f64>(&p, &options().common(&[7]))).contains("there is no input 7"));
    assert!(told(Plan::compile::<f64>(&p, &options().summed(&[1]))).contains("there is no output 1"));
    let large = Shape::new([4096, 4096]).unwrap();
    let p = trace_shapes(&[large.clone(), large], |x| vec![x[0].matmul(x[1]).sum()]).unwrap();
    assert!(matches!(Plan::compile::<f32>(&p, &options()), Err(CudaError::TooLarge { .. })));
    // as tensors it is a product and a sum
    assert_eq!(TensorPlan::compile::<f32>(&p).unwrap().launches(), 3);
    let p = trace_shapes(&[Shape::vector(300).unwrap()], |x| vec![x[0].max_all()]).unwrap();
    let error = TensorPlan::compile::<f32>(&p).unwrap_err().to_string();
    assert!(error.contains("`max` does not run on a device: a lane of 300 members"), "{error}");
    assert_eq!(Plan::compile::<f32>(&p, &options()).unwrap().form(), Form::Fold);
}

#[test]
fn a_machine_without_a_device_says_so() {
    let told = Device::open(0).map_or_else(|e| e.to_string(), |_| "no CUDA device: but there is one".into());
    assert!(told.starts_with("no CUDA device: "), "{told}");
}
