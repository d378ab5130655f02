//! On a device, where there is one: every operation and every form against the interpreter, and what does not fit is refused.

mod battery;

use battery::{tensor_trials, trials};
use crease_core::Number;
use crease_cuda::{CudaError, Device, DeviceReal, Options, Plan, Products, TensorPlan};

/// The device, or a line that says why there is none.
fn device() -> Option<Device> {
    match Device::open(0) {
        Ok(device) => Some(device),
        Err(why) => {
            eprintln!("skipped: {why}");
            None
        }
    }
}

fn on_the_device<T: DeviceReal>() {
    let Some(device) = device() else { return };
    let mut faults = Vec::new();
    let all = trials::<T>(&[3], 15);
    for t in &all {
        let loaded = device.load::<T>(&t.plan).unwrap_or_else(|e| panic!("{}: {e}\n{}", t.name, t.plan.source()));
        let inputs: Vec<&[T]> = t.inputs.iter().map(|x| &x[..]).collect();
        let batch = device.upload(t.plan.inputs(), t.points, &inputs).unwrap();
        let mut results = loaded.results(t.points).unwrap();
        loaded.run(&batch, &mut results).unwrap();
        let bad = results.first_bad().unwrap().map(|b| b as usize);
        faults.extend(t.check(&results.read_unchecked().unwrap(), bad).err());
        // again from the host, point after point
        let mut outputs: Vec<Vec<T>> = t.plan.outputs().iter().map(|n| vec![T::zero(); n * t.points]).collect();
        let mut parts: Vec<&mut [T]> = outputs.iter_mut().map(|v| &mut v[..]).collect();
        let streamed = loaded.stream(t.points, &inputs, &mut parts);
        assert_eq!(streamed.is_err(), bad.is_some(), "{}", t.name);
        faults.extend(t.check(&outputs, bad).err());
    }
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), all.len(), faults.join("\n"));
}

#[test]
fn kernels_in_double_precision_say_what_the_interpreter_says() {
    on_the_device::<f64>();
}

#[test]
fn kernels_in_single_precision_say_what_the_interpreter_says() {
    on_the_device::<f32>();
}

#[test]
fn what_does_not_fit_is_refused() {
    let Some(device) = device() else { return };
    let p = crease_core::trace(2, |x| x[0] / x[1]).unwrap();
    let plan = Plan::compile::<f64>(&p, &Options::default()).unwrap();
    let loaded = device.load::<f64>(&plan).unwrap();
    assert!(device.load::<f32>(&plan).is_err());
    assert!(device.upload::<f64>(plan.inputs(), 2, &[&[1.0, 2.0]]).is_err());
    assert!(device.upload::<f64>(plan.inputs(), 2, &[&[1.0, 2.0], &[1.0]]).is_err());
    let batch = device.upload::<f64>(plan.inputs(), 2, &[&[1.0, 2.0], &[1.0, 0.0]]).unwrap();
    assert!(loaded.run(&batch, &mut loaded.results(3).unwrap()).is_err());
    let mut results = loaded.results(2).unwrap();
    loaded.run(&batch, &mut results).unwrap();
    // in checked arithmetic the second point is for the interpreter
    assert!(results.read().unwrap_err().to_string().contains("at point 1"));
    #[cfg(feature = "engine")]
    as_code_of_the_engine(&device, &plan, &p);
    // no points at all
    let none = device.upload::<f64>(plan.inputs(), 0, &[&[], &[]]).unwrap();
    let mut results = loaded.results(0).unwrap();
    loaded.run(&none, &mut results).unwrap();
    assert!(results.read().unwrap()[0].is_empty());
}

/// The engine asks the interpreter about what a kernel gives up.
#[cfg(feature = "engine")]
fn as_code_of_the_engine(device: &Device, plan: &Plan, p: &crease_core::Program) {
    let code = crease_cuda::OnDevice(device.load::<f64>(plan).unwrap());
    let c = crease_engine::Compiled::from_executable(code, p, &crease_engine::Options::default()).unwrap();
    let mut y = [0.0; 2];
    let x: [&[f64]; 2] = [&[6.0, 9.0], &[2.0, 3.0]];
    c.run_batch(&mut c.workspace(), 2, &x, &mut [&mut y]).unwrap();
    assert_eq!(y, [3.0, 3.0]);
    let x: [&[f64]; 2] = [&[6.0, 9.0], &[2.0, 0.0]];
    let error = c.run_batch(&mut c.workspace(), 2, &x, &mut [&mut y]).unwrap_err();
    assert!(error.to_string().contains("division by zero"), "{error}");
}

fn tensors_on_the_device<T: DeviceReal>(tolerance: f64)
where
    cudarc::cublas::CudaBlas: cudarc::cublas::Gemm<T>,
{
    let Some(device) = device() else { return };
    let (mut faults, mut refused, mut ran) = (Vec::new(), std::collections::BTreeMap::new(), 0);
    let mut plans: Vec<(String, crease_cuda::LoadedTensors<T>)> = Vec::new();
    for (name, p, inputs, expected) in tensor_trials::<T>(&[3, 20], 10) {
        let Some(expected) = expected else { continue };
        if plans.last().is_none_or(|(last, _)| *last != name) {
            match TensorPlan::compile::<T>(&p) {
                Ok(plan) => {
                    let loaded = device.load_tensors::<T>(&plan, Products::Full);
                    plans.push((name.clone(), loaded.unwrap_or_else(|e| panic!("{name}: {e}\n{}", plan.source()))));
                }
                Err(CudaError::Unsupported { operation, .. }) => {
                    *refused.entry(operation).or_insert(0) += 1;
                    continue;
                }
                Err(e) => panic!("{name}: {e}"),
            }
        }
        let Some((_, loaded)) = plans.last_mut() else { continue };
        for (i, x) in inputs.iter().enumerate() {
            loaded.set(i, x.data()).unwrap();
        }
        loaded.run().unwrap();
        ran += 1;
        let scale = expected
            .iter()
            .flat_map(|t| t.data())
            .map(|x| x.to_f64().abs())
            .filter(|x| x.is_finite())
            .fold(1.0, f64::max);
        for (j, y) in expected.iter().enumerate() {
            let found = loaded.read(j).unwrap();
            let same = |a: f64, b: f64| (a.is_nan() && b.is_nan()) || a == b || (a - b).abs() <= tolerance * scale;
            let at = found.iter().zip(y.data()).position(|(a, b)| !same(a.to_f64(), b.to_f64()));
            if let Some(k) = at {
                faults.push(format!("{name}: output {j}[{k}] is {}, the interpreter says {}", found[k], y.data()[k]));
            }
        }
    }
    println!("{ran} runs, refused: {refused:?}");
    assert!(faults.is_empty(), "{} of {ran}:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn tensors_in_double_precision_are_what_the_interpreter_says() {
    tensors_on_the_device::<f64>(1e-11);
}

#[test]
fn tensors_in_single_precision_are_what_the_interpreter_says() {
    tensors_on_the_device::<f32>(1e-4);
}

#[test]
fn sources_of_all_forms_compile_where_there_is_a_compiler() {
    for t in trials::<f32>(&[3], 5) {
        match crease_cuda::assemble(t.plan.source(), "compute_80") {
            Ok(_) => {}
            Err(crease_cuda::CudaError::NoDevice(why)) => return eprintln!("skipped: {why}"),
            Err(e) => panic!("{}: {e}\n{}", t.name, t.plan.source()),
        }
    }
    let mut last = String::new();
    for (name, p, _, _) in tensor_trials::<f64>(&[4], 10) {
        if name != last
            && let Ok(plan) = TensorPlan::compile::<f64>(&p)
            && let Err(e) = crease_cuda::assemble(plan.source(), "compute_80")
        {
            panic!("{name}: {e}\n{}", plan.source());
        }
        last = name;
    }
}
