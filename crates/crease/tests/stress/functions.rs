//! Every function of `crease::inspect` that takes limits.

#![allow(clippy::result_large_err)] // the errors are those of the library

use crease::Limits;
use crease::Rational;
use crease::inspect::*;
use crease_core::{Program, Tensor};
use crease_corpus::stress::Case;
use crease_formats::Point;
use crease_oracles::{Cube, SignCube};
use std::time::{Duration, Instant};

/// What is asked: the program, the point, the case, and how.
pub struct Question<'a> {
    pub program: &'a Program,
    pub point: &'a Point,
    pub case: &'a Case,
    seconds: f64,
}

/// What came of it, in a few words, and how long that took. What prepares a question is not timed.
pub type Outcome = (Duration, String);

/// A function, by its name.
pub type Function = (&'static str, fn(&Question<'_>) -> Outcome);

impl Question<'_> {
    pub fn new<'a>(program: &'a Program, point: &'a Point, case: &'a Case, seconds: f64) -> Question<'a> {
        Question { program, point, case, seconds }
    }

    /// The limits, from now on.
    fn ask(&self) -> Ask<'static> {
        Ask { limits: Limits::default().within(Duration::from_secs_f64(self.seconds)), ..Ask::default() }
    }

    fn inputs(&self) -> Vec<Tensor<Rational>> {
        self.point.inputs(self.program).unwrap_or_default()
    }

    fn timed<T, E: std::fmt::Display>(&self, f: impl FnOnce(&Ask<'_>) -> Result<T, E>) -> Outcome {
        let (start, ask) = (Instant::now(), self.ask());
        let result = f(&ask);
        let took = start.elapsed();
        (took, result.map_or_else(|e| e.to_string(), |_| "answered".into()))
    }
}

/// A certificate that the identity of two kinks is differentiable at 0.
fn certificate() -> String {
    let p = crease::trace(1, |x| crease::relu(x[0]) - crease::relu(-x[0])).expect("it is a program");
    let answer = differentiable(&p, &[0.0], &Ask::default()).expect("it has an answer");
    answer.certificate().expect("a yes has a certificate")
}

/// All of them.
pub const FUNCTIONS: &[Function] = &[
    ("inspect", |q| q.timed(|ask| inspect(q.program, q.point, ask))),
    ("inspect-report", |q| {
        q.timed(|ask| inspect(q.program, q.point, &Ask { report: true, proof: true, ..ask.clone() }))
    }),
    ("inspect-float", |q| q.timed(|ask| inspect(q.program, q.point, &Ask { numbers: Numbers::Float, ..ask.clone() }))),
    ("inspect-exact", |q| q.timed(|ask| inspect(q.program, q.point, &Ask { numbers: Numbers::Exact, ..ask.clone() }))),
    ("inspect-jacobian", |q| q.timed(|ask| inspect(q.program, q.point, &Ask { jacobian: true, ..ask.clone() }))),
    ("inspect-text", |q| {
        q.timed(|ask| inspect(q.program, q.point, ask).map(|i| (i.to_string(), serde_json::to_value(&i).is_ok())))
    }),
    ("judge", |q| match inspect(q.program, q.point, &q.ask()) {
        Err(e) => (Duration::ZERO, e.to_string()),
        Ok(i) => {
            let ones = vec![1.0; q.case.dimension()];
            q.timed(|_| Ok::<_, InspectError>((i.judge(&ones), i.judge_within(&ones, 1e-9), i.status())))
        }
    }),
    ("compute", |q| {
        let (inputs, task) = (q.inputs(), Task { program: q.program, watched: Some(q.program) });
        q.timed(|ask| task.compute(&inputs, Numbers::Auto, &ask.limits))
    }),
    ("derive", |q| q.timed(|ask| derive(q.program, ask))),
    ("clarke", |q| q.timed(|ask| clarke(q.program, q.point, ask))),
    ("all-gradients", |q| q.timed(|ask| all_gradients(q.program, q.point, &Wanted::default(), ask, |_, _| ()))),
    ("all-gradients-stationary", |q| {
        let wanted = Wanted { stationary: true, contains: Some(q.case.ones()) };
        q.timed(|ask| all_gradients(q.program, q.point, &wanted, ask, |_, _| ()))
    }),
    ("cubes", |q| q.timed(|ask| cubes(q.program, q.point, &Cube::default(), 4, ask))),
    ("gradients-in", |q| q.timed(|ask| gradients_in(q.program, q.point, &Cube::default(), ask))),
    ("united-gradients", |q| {
        let parts = gradients_in(q.program, q.point, &Cube::default(), &q.ask()).into_iter().collect::<Vec<_>>();
        q.timed(|ask| united_gradients(q.program, q.point, parts, None, &Wanted::default(), ask))
    }),
    ("differentiable", |q| q.timed(|ask| differentiable(q.program, q.point, ask))),
    ("differentiable-in", |q| q.timed(|ask| differentiable_in(q.program, q.point, &SignCube::default(), ask))),
    ("differentiable-united", |q| {
        let part = differentiable_in(q.program, q.point, &SignCube::default(), &q.ask());
        let parts = part.into_iter().map(|part| (SignCube::default(), part)).collect::<Vec<_>>();
        q.timed(|ask| differentiable_united(q.program, q.point, parts, None, ask))
    }),
    ("conservative", |q| q.timed(|ask| conservative(q.program, q.point, None, ask))),
    ("conservative-contains", |q| q.timed(|ask| conservative(q.program, q.point, Some(q.case.ones()), ask))),
    ("directional", |q| q.timed(|ask| directional(q.program, q.point, &[q.case.ones()], ask))),
    ("directional-float", |q| {
        q.timed(|ask| {
            directional(q.program, q.point, &[q.case.ones()], &Ask { numbers: Numbers::Float, ..ask.clone() })
        })
    }),
    ("lexicographic", |q| q.timed(|ask| lexicographic(q.program, q.point, &Basis::default(), ask))),
    ("lexicographic-forward", |q| {
        let basis = Basis { forward: true, trace: true, ..Basis::default() };
        q.timed(|ask| lexicographic(q.program, q.point, &basis, ask))
    }),
    ("check-about", |q| {
        let certificate = certificate();
        q.timed(|ask| {
            check(&certificate).map_err(|e| e.to_string())?.about(q.program, q.point, ask).map_err(|e| e.to_string())
        })
    }),
    ("singular-places", |q| {
        let near: Vec<Tensor<f64>> = q.inputs().iter().map(|t| t.map(Rational::to_f64)).collect();
        q.timed(|ask| singular_places(q.program, &near, &ask.how, &ask.limits))
    }),
];
