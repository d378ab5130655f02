//! Networks: no bytes make the reader or the writer panic, what is read is a right program, and what is written of it and read again is the same function, in rationals.
#![no_main]

use crease_core::{Limits, Program, Rational, RunOptions, Tensor, run_with};
use crease_formats::onnx::{Element, Limits as Sizes, Options, WriteOptions, parse_onnx, write_onnx};
use libfuzzer_sys::fuzz_target;

/// The most numbers that all values together have.
const NUMBERS: usize = 1 << 16;

/// Whether floats hold all constants.
fn is_dyadic(p: &Program) -> bool {
    let held = |r: &Rational| Rational::from_f64(r.to_f64()).as_ref() == Some(r);
    p.equations().flat_map(|e| e.args).chain(p.outputs()).all(|&a| p.as_constant(a).is_none_or(held))
}

fn values(p: &Program) -> Option<Vec<Tensor<Rational>>> {
    let at = p.inputs().iter().enumerate().map(|(i, input)| {
        let number = |k: usize| Rational::new((k * 7 + i * 3) as i64 % 23 - 11, 4).unwrap_or_default();
        Tensor::new(input.shape.clone(), (0..input.shape.len()).map(number).collect())
    });
    let limits = Limits { steps: 1 << 18, ..Limits::default() };
    run_with(p, &at.collect::<Option<Vec<_>>>()?, RunOptions::from(&limits), &mut crease_core::run::Unobserved).ok()
}

fuzz_target!(|bytes: &[u8]| {
    let limits = Sizes { bytes: 1 << 16, parts: 1 << 11, memory: 1 << 17 };
    let Ok(network) = parse_onnx(bytes, &Options { limits, ..Options::default() }) else { return };
    let p = &network.program;
    assert!(p.verify().is_empty(), "{:?}", p.verify());
    let sizes = p.equations().flat_map(|e| e.results()).chain(p.input_values()).map(|v| p.shape(v).len());
    if sizes.sum::<usize>() > NUMBERS {
        return;
    }
    for element in [Element::F32, Element::F64] {
        let Ok(written) = write_onnx(p, &WriteOptions { element, ..WriteOptions::default() }) else { continue };
        let Ok(again) = parse_onnx(&written, &Options::default()) else { continue };
        let shapes = |p: &Program| p.outputs().iter().map(|&o| p.atom_shape(o)).collect::<Vec<_>>();
        assert_eq!(shapes(p), shapes(&again.program));
        if element == Element::F64 && is_dyadic(p) {
            if let (Some(one), Some(other)) = (values(p), values(&again.program)) {
                assert_eq!(one, other, "{p}\n{}", again.program);
            }
        }
    }
});
