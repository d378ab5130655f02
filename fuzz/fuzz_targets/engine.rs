//! The engine against the interpreter: bit for bit the same, as bytecode, as kernels and as machine code, and a fault where there is one.
#![no_main]

use arbitrary::Unstructured;
use crease_core::{Tensor, run};
use crease_engine::{Agreement, Form, Options, compile};
use crease_formats::parse;
use crease_fuzz::{INPUTS, Operations, program};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut u = Unstructured::new(bytes);
    let Ok(text) = program(&mut u, Operations::All) else { return };
    let mut point = [0.0; INPUTS.len()];
    for x in &mut point {
        *x = match u.int_in_range(0..=3) {
            Ok(0) => f64::from(u.arbitrary::<i8>().unwrap_or(0)),
            Ok(1) => f64::from(u.arbitrary::<i16>().unwrap_or(0)) / 256.0,
            Ok(2) => u.arbitrary().unwrap_or(0.5),
            _ => 0.0,
        };
        if !x.is_finite() {
            *x = 1.0;
        }
    }
    let module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let program = module.main();
    let expected = run(program, &point.map(Tensor::scalar));
    for (form, runs) in [(Form::Scalars, 1), (Form::Tensors, 1), (Form::Scalars, 1 << 40)] {
        let options = Options::default().agreement(Agreement::Bits).form(form).runs(runs);
        let Ok(code) = compile::<f64>(program, &options) else { continue };
        let mut out = [0.0];
        let inputs: Vec<&[f64]> = point.iter().map(std::slice::from_ref).collect();
        let done = code.run(&mut code.workspace(), &inputs, &mut [&mut out[..]]);
        match (&expected, done) {
            (Ok(expected), Ok(())) => {
                assert_eq!(expected[0].data()[0].to_bits(), out[0].to_bits(), "{point:?} {}\n{text}", out[0]);
            }
            (Err(_), Err(_)) => {}
            (expected, got) => panic!("{expected:?} but {got:?} at {point:?}\n{text}"),
        }
    }
});
