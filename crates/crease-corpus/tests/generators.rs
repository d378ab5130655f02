//! The generators keep their promises: programs run, seeds decide, options hold, and everything turns up.

use crease_core::{Op, Program, run};
use crease_corpus::compare::convert;
use crease_corpus::random::{
    Dictionary, Options, Rng, any_options, dyadic_point, generic_point, origin, program, tied_point,
};
use std::collections::BTreeSet;

fn draws(n: u64) -> impl Iterator<Item = (u64, Rng)> {
    (0..n).map(|seed| (seed, Rng::new(seed)))
}

#[test]
fn programs_run_everywhere_within_the_radius() {
    for (seed, mut rng) in draws(3000) {
        let size = 1 + rng.below(14);
        let p = program(&mut rng, &any_options(&mut Rng::new(seed), size).joints());
        for x in [generic_point(&mut rng, &p), dyadic_point(&mut rng, &p), tied_point(&mut rng, &p), origin(&p)] {
            if let Err(e) = run(&p, &convert::<f64>(&x)) {
                panic!("seed {seed}: {e}\n{p:?}");
            }
        }
    }
}

#[test]
fn exact_programs_run_on_rationals() {
    for (seed, mut rng) in draws(1500) {
        let size = 1 + rng.below(14);
        let p = program(&mut rng, &any_options(&mut Rng::new(seed), size).exact());
        // numbers grow from turn to turn
        let most = if p.name().starts_with("looped") { 40_000 } else { 4000 };
        for x in [generic_point(&mut rng, &p), tied_point(&mut rng, &p)] {
            let out = run(&p, &x).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{p}"));
            let longest = out.iter().flat_map(|t| t.data()).map(|r| r.bits()).max().unwrap_or(0);
            assert!(longest < most, "seed {seed}: a number of {longest} bits\n{p}");
        }
    }
}

#[test]
fn one_seed_gives_one_program() {
    for (seed, _) in draws(200) {
        let draw = || {
            let mut rng = Rng::new(seed);
            let o = any_options(&mut rng, 8);
            let p = program(&mut rng, &o);
            (p.to_string(), generic_point(&mut rng, &p))
        };
        assert_eq!(draw(), draw());
    }
    let texts: BTreeSet<String> =
        draws(200).map(|(_, mut r)| program(&mut r, &Options::new(Dictionary::Everything)).to_string()).collect();
    assert!(texts.len() > 190, "{} of 200 programs differ", texts.len());
}

#[test]
fn options_hold() {
    for (_, mut rng) in draws(300) {
        let scalar = program(&mut rng, &Options::new(Dictionary::Everything).inputs(3));
        assert_eq!((scalar.inputs().len(), scalar.outputs().len(), scalar.library().len()), (3, 1, 0));
        assert_eq!(scalar.dimension(), 3);
        assert!(scalar.outputs()[0].value().is_some());
        let called = program(&mut rng, &Options::new(Dictionary::Everything).calls(3).outputs(2));
        assert_eq!(called.outputs().len(), 2);
        assert!(called.level() <= 4);
        let linear = program(&mut rng, &Options::new(Dictionary::D0).equations(9));
        assert!(linear.equations().all(|e| matches!(e.op.name(), "+" | "-" | "relu")), "{linear}");
    }
}

fn words(p: &Program, found: &mut BTreeSet<String>) {
    for e in p.equations() {
        let constants = e.args.iter().filter(|a| a.value().is_none()).count();
        found.insert(match e.op {
            Op::Add | Op::Mul | Op::Sub | Op::Div if constants > 0 => format!("{} c", e.op),
            Op::Kink(k) => format!("{} {:?}", e.op, k.lane()),
            Op::LogSumExp(lane) => format!("{} {lane:?}", e.op),
            op => op.to_string(),
        });
        if let Op::Call(_) = e.op {
            found.insert(format!("call with {constants} constants"));
        }
    }
}

#[test]
fn every_operation_turns_up() {
    let mut found = BTreeSet::new();
    let (mut deep, mut shared, mut constant) = (0, 0, 0);
    for (_, mut rng) in draws(1500) {
        let o = Options::new(Dictionary::Everything).branches().calls(3).equations(10);
        let o = if rng.once_in(2) { o.tensors() } else { o };
        let p = program(&mut rng, &o);
        words(&p, &mut found);
        let library = p.library();
        library.iter().for_each(|q| words(q, &mut found));
        deep += usize::from(p.level() >= 4);
        constant += usize::from(library.iter().any(|q| q.outputs().iter().any(|o| o.value().is_none())));
        let calls = p.equations().filter(|e| matches!(e.op, Op::Call(_))).count();
        shared += usize::from(calls > p.callees().len());
    }
    assert!(deep > 100 && shared > 100 && constant > 100, "{deep} deep, {shared} shared, {constant} with constants");
    let words = [
        "+",
        "-",
        "*",
        "/",
        "+ c",
        "- c",
        "* c",
        "/ c",
        "neg",
        "inv",
        "exp",
        "log",
        "sqrt",
        "sin",
        "cos",
        "tanh",
        "sigmoid",
        "^",
        "logsumexp Args",
        "logsumexp Axis",
        "relu None",
        "times_relu None",
        "abs None",
        "leaky_relu None",
        "elu None",
        "max Some(Args)",
        "max Some(Axis)",
        "min Some(Args)",
        "min Some(Axis)",
        "order_statistic Some(Args)",
        "order_statistic Some(Axis)",
        "sort Some(Args)",
        "sort Some(Axis)",
        "norm1 Some(Args)",
        "norm1 Some(Axis)",
        "norminf Some(Args)",
        "norminf Some(Axis)",
        "max_linear Some(Args)",
        "max_linear Some(Axis)",
        "view",
        "assemble",
        "constant",
        "@",
        "<",
        "<=",
        ">",
        ">=",
        "==",
        "!=",
        "and",
        "or",
        "not",
        "select",
        "call",
        "call with 1 constants",
    ];
    for word in words {
        assert!(found.contains(word), "no {word} among {found:?}");
    }
}
