//! Oracles against difference quotients: piecewise linear programs have directional derivatives that are quotients of small steps, exactly.
#![no_main]

use arbitrary::Unstructured;
use crease_core::local::localize;
use crease_core::{Rational, Tensor, run};
use crease_formats::parse;
use crease_fuzz::{INPUTS, Operations, program};
use crease_oracles::{clarke_element, directional};
use libfuzzer_sys::fuzz_target;

/// Shorter than the way to the next kink: numbers are fractions of small ones, and each operation at most multiplies them by 6.
fn step() -> Rational {
    Rational::from(2).pow(-400).expect("two is not zero")
}

fuzz_target!(|bytes: &[u8]| {
    let mut u = Unstructured::new(bytes);
    let Ok(text) = program(&mut u, Operations::PiecewiseLinear) else { return };
    let mut draw = || INPUTS.map(|_| Rational::from(i64::from(u.int_in_range(-2i8..=2).unwrap_or(0))));
    let (point, direction) = (draw(), draw());
    let module = parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let program = module.main();
    let value = |step: &Rational, direction: &[Rational]| {
        let at: Vec<_> = point.iter().zip(direction).map(|(x, d)| Tensor::scalar(x + &(step * d))).collect();
        run(program, &at).expect("it is defined everywhere")[0].data()[0].clone()
    };
    let quotient = |direction: &[Rational]| {
        let rise = value(&step(), direction) - value(&Rational::ZERO, direction);
        rise.checked_div(&step()).expect("a step is not zero")
    };
    let model = localize(program, &point.clone().map(Tensor::scalar)).expect("it is defined everywhere");
    assert!(model.is_exact(), "{text}");
    let found = directional(&model, &direction).expect("the direction fits");
    assert_eq!(found[0], quotient(&direction), "at {point:?} along {direction:?}\n{text}");
    // a Clarke subgradient is the gradient along its direction
    let element = clarke_element(&model, 0, 1).expect("there is an output");
    let rise: Rational = element.gradient.iter().zip(&element.direction).map(|(g, d)| g * d).sum();
    assert_eq!(rise, quotient(&element.direction), "at {point:?}, {element:?}\n{text}");
});
