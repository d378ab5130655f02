//! Equality of programs by evaluation, independent of the library's own verification.

use crease_core::number::{Mixed, Number};
use crease_core::{Program, Rational, Tensor, run};
use crease_corpus::random::{Rng, generic_point, origin, tied_point};

fn at(p: &Program, x: &[Tensor<Rational>]) -> Option<Vec<Mixed>> {
    let x: Vec<Tensor<Mixed>> = x.iter().map(|t| t.convert().expect("a number")).collect();
    Some(run(p, &x).ok()?.into_iter().flat_map(Tensor::into_data).collect())
}

/// Checks that two programs agree wherever the first is defined: at the origin, at points with ties and at generic ones.
#[track_caller]
pub fn assert_equal(p: &Program, q: &Program) {
    assert_eq!(p.inputs(), q.inputs());
    assert_eq!(p.outputs().len(), q.outputs().len());
    let mut rng = Rng::new(99);
    let mut points = vec![origin(p)];
    points.extend((0..24).map(|i| if i % 2 == 0 { tied_point(&mut rng, p) } else { generic_point(&mut rng, p) }));
    for x in points {
        let (Some(a), Some(b)) = (at(p, &x), at(q, &x)) else { continue };
        assert_eq!(a.len(), b.len());
        for (a, b) in a.iter().zip(&b) {
            match (a.exact(), b.exact()) {
                (Some(a), Some(b)) => assert_eq!(a, b, "at {x:?}\n{p}\n{q}"),
                _ => assert!(a.compare(b).is_none_or(|o| o.is_eq()), "{a} and {b} at {x:?}\n{p}\n{q}"),
            }
        }
    }
}
