//! One token for all that a question spends: work is counted, and the same for the same input; a stop is a stop, and nothing about the program.

use super::{composed, doubled};
use crease_core::differentiate::{How, backprop};
use crease_core::limits::Stop;
use crease_core::local::{LocalError, LocalModel, Precision, localize_within};
use crease_core::{Cancel, Limits, Program, Rational, Tensor, inline_limited, scalarize_limited, unroll_limited};
use crease_formats::{parse, parse_expression};
use std::time::{Duration, Instant};

/// Far more than any of these takes that ends by itself.
const LONG: Duration = Duration::from_secs(60);

fn at_zero(p: &Program, limits: &Limits) -> Result<LocalModel, LocalError> {
    let at: Vec<Tensor<Rational>> = p.inputs().iter().map(|_| Tensor::scalar(Rational::ZERO)).collect();
    localize_within(p, &at, Precision::default(), limits)
}

/// `sqrt(s_k)` with `s_(i+1) = s_i + s_i`: a sum of 2^k squares.
fn shared_squares(k: usize) -> Program {
    let sums: String = (0..k).map(|i| format!("  let s{} = s{i} + s{i}\n", i + 1)).collect();
    let text = format!("program p(x, y) {{\n  let s0 = x * x + y * y\n{sums}  return sqrt(s{k})\n}}");
    (**parse(&text).unwrap().main()).clone()
}

/// Both branches of a selection call the one below, on equal numbers that come about differently: 2^k kinks.
fn shared_selections(k: usize) -> Program {
    let levels: String = (1..=k)
        .map(|i| {
            let below = format!("p{}", i - 1);
            format!("program p{i}(x) = select {{ x > 0 => {below}(x + x - x), else => {below}(3 * x - 2 * x) }}\n")
        })
        .collect();
    (**parse(&format!("program p0(x) = x\n{levels}")).unwrap().main()).clone()
}

#[test]
fn shared_squares_are_found_once() {
    for k in [1, 2, 30, 10_000] {
        let p = shared_squares(k);
        let limits = Limits { work: 50_000_000, ..Limits::default() };
        let model = at_zero(&p, &limits.within(LONG)).unwrap();
        assert!(model.has_norms() && model.len() < 20, "{k}: {} nodes", model.len());
        assert!(backprop(&p, &How::default().within(&Limits::default().within(LONG))).unwrap().len() < 40);
    }
    // with the weights that they add up to: s is 8 (x^2 + y^2), so that a slope is the root of 8
    let along =
        at_zero(&shared_squares(3), &Limits::default()).unwrap().along(&[Rational::ONE, Rational::ZERO]).unwrap();
    let (low, high) = along[0].enclosure().outer();
    assert!(low <= 8f64.sqrt() && 8f64.sqrt() <= high && high - low < 1e-9, "{low} {high}");
}

#[test]
fn what_doubles_ends_by_work_by_time_and_by_cancellation() {
    let p = shared_selections(60);
    let start = Instant::now();
    let stop = |limits: Limits| at_zero(&p, &limits).unwrap_err();
    assert_eq!(stop(Limits { work: 200_000, ..Limits::default() }), LocalError::Stopped(Stop::Work));
    assert_eq!(stop(Limits::default().within(Duration::from_millis(50))), LocalError::Stopped(Stop::Time));
    assert_eq!(stop(Limits { memory: 1 << 20, ..Limits::default() }), LocalError::Stopped(Stop::Memory));
    let cancel = Cancel::new();
    let cancelled = std::thread::scope(|s| {
        s.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            cancel.stop();
        });
        stop(Limits::default().cancelled_by(&cancel))
    });
    assert_eq!(cancelled, LocalError::Stopped(Stop::Cancelled));
    assert!(start.elapsed() < LONG);
    assert!(at_zero(&shared_selections(6), &Limits::default()).is_ok());
}

#[test]
fn the_same_work_is_counted_each_time() {
    let p = shared_selections(8);
    let spent = || {
        let limits = Limits::default().started();
        at_zero(&p, &limits).unwrap();
        (limits.spent(), limits.held())
    };
    let first = spent();
    assert!(first.0 > 1000 && first.1 > 1000, "{first:?}");
    assert_eq!(first, spent());
    // as much is enough, and less is not
    assert!(at_zero(&p, &Limits { work: first.0, ..Limits::default() }).is_ok());
    let less = at_zero(&p, &Limits { work: first.0 - 1, ..Limits::default() });
    assert_eq!(less.unwrap_err(), LocalError::Stopped(Stop::Work));
}

#[test]
fn expansions_are_charged() {
    let few = Limits { work: 1000, ..Limits::default() };
    let stopped = |limits: &Limits| {
        let p = doubled(14);
        let inlined = inline_limited(&p, &limits.started()).unwrap_err().stop();
        let flat = inline_limited(&p, &Limits::default()).unwrap();
        let scalars = scalarize_limited(&flat, &limits.started()).unwrap_err().stop();
        let derived = backprop(&p, &How::default().within(&limits.started())).unwrap_err().stop();
        let repeated = parse("program p(x) = repeat(1000, y = x) { return y * y + y }").unwrap();
        let unrolled = unroll_limited(repeated.main(), &limits.started()).unwrap_err().stop();
        [inlined, scalars, derived, unrolled]
    };
    assert_eq!(stopped(&few), [Some(Stop::Work); 4]);
    let cancel = Cancel::new();
    cancel.stop();
    assert_eq!(stopped(&Limits::default().cancelled_by(&cancel)), [Some(Stop::Cancelled); 4]);
    // a refusal is no stop
    assert_eq!(inline_limited(&composed(40), &Limits::default()).unwrap_err().stop(), None);
}

/// Exact numbers double their length with each square: what an operation takes is charged before it is done.
#[test]
fn long_numbers_are_charged_by_their_length() {
    let work = |k: usize| {
        let squares: String = (0..k).map(|i| format!("  let m{} = m{i} * m{i} + x\n", i + 1)).collect();
        let text = format!("program p(x) {{\n  let m0 = x + 1/3\n{squares}  return abs(m{k})\n}}");
        let limits = Limits::default().started();
        at_zero(parse(&text).unwrap().main(), &limits).unwrap();
        limits.spent()
    };
    assert!(work(13) > 20 * work(6), "{} {}", work(13), work(6));
}

/// Numbers, ties and norms of which nothing is shared are as they were: one entry for each argument, in order.
#[test]
fn plain_sums_of_squares_keep_their_arguments() {
    let p = parse_expression("sqrt(y * y + 4 * (x * x) + z^2)", &|_| None).unwrap();
    let model = at_zero(&p, &Limits::default()).unwrap();
    assert_eq!(model.kinks().len(), 1);
    let weights = model.kinks()[0].weights(&crease_core::differentiate::Selection::paper()).unwrap();
    assert!(weights.iter().all(Rational::is_zero) && weights.len() == 3);
}
