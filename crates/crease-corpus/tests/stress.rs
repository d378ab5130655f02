//! Stress programs can be read at every small size, and their points are theirs.

use crease_core::Tensor;
use crease_corpus::precise::{Arithmetic, evaluate};
use crease_corpus::stress::{FAMILIES, FORMULAS};
use std::collections::BTreeSet;

#[test]
fn names_are_unique_and_sizes_ascend() {
    let names: BTreeSet<&str> = FAMILIES.iter().map(|f| f.name).chain(FORMULAS.iter().map(|f| f.name)).collect();
    assert_eq!(names.len(), FAMILIES.len() + FORMULAS.len());
    for f in FAMILIES {
        assert!(f.sizes.len() > 2 && f.sizes.is_sorted() && f.sizes.last() == Some(&f.worst()), "{}", f.name);
    }
}

#[test]
fn small_cases_have_a_value() {
    for family in FAMILIES {
        let case = family.case(family.sizes[0]);
        let (p, point) = case.read().unwrap_or_else(|e| panic!("{}: {e}\n{:?}", family.name, case.source));
        assert_eq!((case.family, case.dimension()), (family.name, p.dimension()));
        let inputs = point.bind(&p).unwrap_or_else(|e| panic!("{}: {e}", family.name));
        let inputs: Vec<_> = inputs.into_iter().map(|(shape, data)| Tensor::new(shape, data).unwrap()).collect();
        let value = evaluate(&p, &inputs, &Arithmetic::new(600));
        assert!(value.is_ok() || family.name == "undecided-ties", "{}: {value:?}", family.name);
    }
}

#[test]
fn formulas_can_be_read() {
    for f in FORMULAS {
        for &n in &f.sizes[..2] {
            let text = (f.make)(n);
            assert!(crease_formats::parse_dimacs(text.as_bytes()).is_ok(), "{} {n}", f.name);
        }
    }
}
