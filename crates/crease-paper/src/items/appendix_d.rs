//! Appendix D: programs and linear ReLU networks, and what is hard about them.

use super::appendix_a::{neighbours, spanned};
use super::item::{Failure, Item, Kind, Run};
use super::outcome::Outcome;
use super::sample;
use super::section3::unit;
use crease::reductions::{
    Cnf, ReluNetwork, SatForm, Satisfiability, SignMatrix, max_network, origin, sat_bounds, sat_network, sat_program,
    solve,
};
use crease_core::local::localize;
use crease_core::random::SplitMix64;
use crease_core::{Program, Rational, Tensor, run};
use crease_oracles::{Effort, Verdict, conservative, differentiable, gradient_at_choices, identity, lexicographic};
use std::collections::BTreeSet;

pub const ITEMS: &[Item] = &[
    Item::statement("equivalence").about("Programs over D0 and linear ReLU networks", "Appendix D.1").claims(
        "A program P over {+, -, ReLU} becomes a linear ReLU network with skip connections, weights in {-1, 0, 1} and size at most \
         18 cost(P)³; a network becomes a program of equivalent size.",
        equivalence,
    ),
    Item::numbered(Kind::Definition, 2, "definition-2").about("Autodiff conservative gradient", "Appendix D.2").claims(
        "Dᵃ_F(x) is the set of products M₁ᵀD₁...M_Lᵀ where D_i has 0 or 1 where the sign decides and anything in [0, 1] at ties; it is what \
         differentiation of the program can return.",
        autodiff,
    ),
    Item::numbered(Kind::Problem, 1, "problem-1").about("Conservative gradient enumeration", "Appendix D.2").claims(
        "Given a network, a point and a conservative gradient: two distinct elements, or the one there is.",
        enumeration,
    ),
    Item::numbered(Kind::Theorem, 5, "theorem-5").about("Two Clarke subgradients of a network", "Appendix D.2").claims(
        "Deciding whether the Clarke subdifferential of a linear ReLU network has two elements is \
         NP-hard: 3-SAT reduces to it.",
        || hardness(SatForm::Network, 81),
    ),
    Item::numbered(Kind::Corollary, 2, "corollary-2").about("Non-differentiability of a network", "Appendix D.2").claims(
        "F is not differentiable at x if and only if ∂ᶜF(x) is not a singleton, so deciding that is NP-hard as well.",
        non_differentiability,
    ),
    Item::numbered(Kind::Corollary, 3, "corollary-3").about("Two lexicographic subgradients", "Appendix D.2").claims(
        "For these networks the lexicographic subdifferential is the set of neighbouring gradients, \
         so the same holds for it.",
        lexicographic_pairs,
    ),
    Item::numbered(Kind::Example, 2, "example-2").about("A 3-CNF formula", "Appendix D.3").claims(
        "(b1 ∨ b2 ∨ ¬b3) ∧ (b1 ∨ b4 ∨ ¬b5) ∧ (¬b2 ∨ ¬b3 ∨ b6) has 6 variables and 3 clauses.",
        || example(3),
    ),
    Item::numbered(Kind::Problem, 2, "problem-2").about("3-SAT", "Appendix D.3").claims(
        "Given a formula of clauses with three literals, is there an assignment that makes it true?",
        three_sat,
    ),
    Item::numbered(Kind::Example, 3, "example-3").about("The network of a formula", "Appendix D.3").claims(
        "With a fourth clause (b2 ∨ ¬b2 ∨ b6), F = min of ReLU(max of three) over the four clauses, \
         in 6 real variables.",
        || example(4),
    ),
    Item::numbered(Kind::Proposition, 2, "proposition-2").about("Two elements of Dᵃ in polynomial time", "Appendix D.4").claims(
        "Whether the autodiff conservative gradient is a singleton is a question of reachability in a graph of ReLUs.",
        paths,
    ),
    Item::numbered(Kind::Lemma, 2, "lemma-2").about("∂ᶜF(0) = {0} if and only if F is constant", "Appendix D.5").claims(
        "For a linear ReLU network F.",
        weak_stationarity,
    ),
    Item::numbered(Kind::Lemma, 3, "lemma-3").about("Maxima as networks", "Appendix D.5").claims(
        "The maximum of 2ᵏ numbers is a ReLU network of k ReLU layers of size at most 3 × 2ᵏ⁻¹ with \
         weights in {-1, 0, 1}.",
        maxima,
    ),
];

fn equivalence() -> Run {
    let mut o = Outcome::of(
        "200 random programs over D0 to networks and back: values at random points, conservative gradients at 0, sizes",
    );
    let mut random = SplitMix64::new(80);
    let (mut same, mut gradient, mut sizes, mut used, mut largest) = (0, 0, 0, 0, 0.0f64);
    for _ in 0..200 {
        let p = sample::d0(3, 10, &mut random)?;
        let network = ReluNetwork::from_program(&p)?;
        let back = network.program()?;
        let at = sample::generic(&p, &mut random);
        let point: Vec<Rational> = at.iter().flat_map(|t| t.data().to_vec()).collect();
        let value = run(&p, &at)?[0].data()[0].clone();
        same += usize::from(network.evaluate(&point)? == value && run(&back, &at)?[0].data()[0] == value);
        gradient += usize::from(corners(&p)? == corners(&back)?);
        // the bound is for programs that use all their inputs
        let bound = 18.0 * unit(&p).to_f64().powi(3);
        if unit(&p).to_f64() >= 1.5 {
            used += 1;
            sizes += usize::from(network.size() as f64 <= bound);
            largest = largest.max(network.size() as f64 / bound);
        }
    }
    o.always("network and program compute the same", same, 200);
    o.always("the same corners of the conservative gradient at 0", gradient, 200);
    o.always("size ≤ 18 cost(P)³", sizes, used);
    o.measured("the largest size over that bound", format!("{largest:.4}"));
    let doubled = SignMatrix::new(1, [vec![(0, 2)]]);
    let ours = if doubled.is_err() { "the entry 2" } else { "yes" };
    o.slip("repeated-argument", "is x + x one matrix with entries in {-1, 0, 1}?", "yes", ours, doubled.is_ok());
    let one = ReluNetwork::from_program(&crease_core::trace(1, |x| crease_core::relu(x[0]))?)?;
    let matrices = one.layers().len() + 1;
    o.slip("layer-count", "matrices of the network of relu(x), of cost 1", 1, matrices, matrices == 1);
    Ok(o)
}

/// The gradients at 0 when each kink takes one of its members: the corners of the autodiff conservative gradient.
pub fn corners(p: &Program) -> Result<BTreeSet<Vec<Rational>>, Failure> {
    corners_at(p, &origin(p))
}

/// The same at any point.
pub fn corners_at(p: &Program, at: &[Tensor<Rational>]) -> Result<BTreeSet<Vec<Rational>>, Failure> {
    let model = localize(p, at)?;
    let kinks = model.kinks().len();
    if kinks > 12 {
        return Err(format!("{kinks} kinks are too many to try all corners").into());
    }
    let mut all = BTreeSet::new();
    for bits in 0u32..1 << kinks {
        let choices: Vec<Vec<Rational>> = (0..kinks)
            .map(|k| match bits >> k & 1 {
                0 => vec![Rational::ONE, Rational::ZERO],
                _ => vec![Rational::ZERO, Rational::ONE],
            })
            .collect();
        all.insert(gradient_at_choices(&model, 0, &choices)?);
    }
    Ok(all)
}

fn autodiff() -> Run {
    use crease_core::differentiate::{How, Selection, backprop};
    let mut o = Outcome::of(
        "what backprop returns at integer points for relu'(0) = 0, 1/3, 1/2 and 1, against the \
         convex hull of the corners of Dᵃ, on 100 random programs",
    );
    let mut random = SplitMix64::new(82);
    let (mut inside, mut tried, mut singletons) = (0, 0, 0);
    for _ in 0..100 {
        let p = sample::d0(3, 12, &mut random)?;
        let at = sample::integers(&p, 1, &mut random);
        let Ok(all) = corners_at(&p, &at) else { continue };
        let all: Vec<Vec<Rational>> = all.into_iter().collect();
        singletons += usize::from(all.len() == 1);
        for relu in ["relu=0", "relu=1/3", "relu=1/2", "relu=1"] {
            let how = How::default().select(Selection::parse(relu)?);
            let out = run(&backprop(&p, &how)?, &at)?;
            let g: Vec<Rational> = out[1..].iter().flat_map(|t| t.data().to_vec()).collect();
            tried += 1;
            inside += usize::from(spanned(&all, &g)?);
        }
    }
    o.always("what backprop returns is in conv Dᵃ(x)", inside, tried);
    let (corners, clarke) = {
        let p = crate::programs::identity_by_relu()?;
        (corners(&p)?.len(), neighbours(&p, &origin(&p))?.len())
    };
    o.holds(
        "relu(x) - relu(-x): corners of Dᵃ(0), elements of ∂ᶜ(0)",
        "Dᵃ may be larger",
        format!("{corners} and {clarke}"),
        corners > clarke,
    );
    o.measured("programs with a singleton", format!("{singletons} of {}", tried / 4));
    Ok(o)
}

fn enumeration() -> Run {
    let mut o = Outcome::of(
        "150 random programs over D0 at integer points, for the Clarke subdifferential and for Dᵃ, \
         against all cones and all corners",
    );
    let mut random = SplitMix64::new(83);
    let (mut clarke, mut auto, mut tried, mut two) = (0, 0, 0, 0);
    for _ in 0..150 {
        let p = sample::d0(3, 13, &mut random)?;
        let at = sample::integers(&p, 1, &mut random);
        let Ok(all) = corners_at(&p, &at) else { continue };
        tried += 1;
        let model = localize(&p, &at)?;
        let near = neighbours(&p, &at)?;
        clarke += usize::from(match differentiable(&model, 0, &Effort::default())?.verdict {
            Verdict::Yes(one) => near.len() == 1 && near.contains(&one.gradient),
            Verdict::No(pair) => {
                pair[0].gradient != pair[1].gradient && pair.iter().all(|e| near.contains(&e.gradient))
            }
            Verdict::Unknown { .. } => false,
        });
        let found = conservative(&model, 0)?;
        two += usize::from(!found.is_singleton());
        auto += usize::from(found.is_singleton() == (all.len() == 1));
    }
    o.always("two Clarke subgradients, or the only one", clarke, tried);
    o.always("two elements of Dᵃ, or the only one", auto, tried);
    o.measured("programs with two elements of Dᵃ", format!("{two} of {tried}"));
    Ok(o)
}

/// The reduction on random formulas around the threshold, answers against all assignments, certificates checked.
pub fn hardness(form: SatForm, seed: u64) -> Run {
    let what = match form {
        SatForm::Lattice => "min, max and ReLU",
        SatForm::Network => "a linear ReLU network",
    };
    let mut o = Outcome::of(format!(
        "60 random formulas with 6 to 12 variables and 4.3 clauses for each, written with {what}: is the program differentiable at 0? \
         Answers against all assignments, models against the clauses, certificates by the independent checker"
    ));
    let mut random = SplitMix64::new(seed);
    let (mut right, mut yes, mut checked, mut relus) = (0, 0, 0, 0);
    for k in 0..60 {
        let variables = 6 + k % 7;
        let cnf = sample::formula(variables, variables * 43 / 10, &mut random);
        let solved = solve(&cnf, form, &Effort { proof: true, ..Effort::default() })?;
        let truth = sample::satisfiable(&cnf);
        yes += usize::from(truth);
        right += usize::from(match &solved.answer {
            Satisfiability::Satisfiable(model) => truth && cnf.satisfied_by(model).is_ok(),
            Satisfiability::Unsatisfiable => !truth,
            Satisfiability::Unknown(_) => false,
        });
        let certificate = solved.decision.certificate().ok_or("a verdict without a certificate")?;
        checked += usize::from(crease::check::check(certificate.as_bytes()).is_ok());
        relus = relus.max(solved.program.equations().filter(|e| e.op.name() == "relu").count());
    }
    o.always("∂ᶜF(0) ≠ {0} if and only if the formula is satisfiable", right, 60);
    o.always("certificates accepted", checked, 60);
    o.measured("satisfiable ones", format!("{yes} of 60"));
    o.measured("ReLUs of the largest program", relus);
    Ok(o)
}

fn non_differentiability() -> Run {
    let mut o = Outcome::of(
        "200 random programs over D0 at 0: the verdict of the decision procedure, and the number of \
         neighbouring gradients",
    );
    let mut random = SplitMix64::new(84);
    let (mut same, mut no) = (0, 0);
    for _ in 0..200 {
        let p = sample::d0(3, 14, &mut random)?;
        let model = localize(&p, &origin(&p))?;
        let yes = matches!(differentiable(&model, 0, &Effort::default())?.verdict, Verdict::Yes(_));
        no += usize::from(!yes);
        same += usize::from(yes == (neighbours(&p, &origin(&p))?.len() == 1));
    }
    o.always("differentiable if and only if ∂ᶜF(0) is a singleton", same, 200);
    o.measured("not differentiable", format!("{no} of 200"));
    Ok(o)
}

/// All orders of signed unit vectors, as bases.
fn bases(p: usize) -> Vec<Vec<Vec<Rational>>> {
    let mut all: Vec<Vec<Vec<Rational>>> = vec![Vec::new()];
    for _ in 0..p {
        let mut longer = Vec::new();
        for base in &all {
            for e in identity(p) {
                let minus: Vec<Rational> = e.iter().map(|x| -x).collect();
                if !base.contains(&e) && !base.contains(&minus) {
                    longer.extend([e.clone(), minus].map(|v| [base.clone(), vec![v]].concat()));
                }
            }
        }
        all = longer;
    }
    all
}

fn lexicographic_pairs() -> Run {
    let mut o = Outcome::of(
        "120 random programs over D0 in two variables at 0: lexicographic derivatives along many \
         bases, against all neighbouring gradients",
    );
    let mut random = SplitMix64::new(85);
    let (mut among, mut pairs, mut reached) = (0, 0, 0);
    for _ in 0..120 {
        let p = sample::d0(2, 10, &mut random)?;
        let model = localize(&p, &origin(&p))?;
        let near: BTreeSet<Vec<Rational>> = neighbours(&p, &origin(&p))?.into_iter().collect();
        let mut found = BTreeSet::new();
        let mut all = bases(2);
        for _ in 0..40 {
            let a: Vec<Rational> = (0..2).map(|_| Rational::from(random.below(41) as i64 - 20)).collect();
            // the vector across it completes a basis, if it is not 0
            if a.iter().any(|x| !x.is_zero()) {
                all.push(vec![a.clone(), vec![-&a[1], a[0].clone()]]);
            }
        }
        for basis in all {
            found.insert(lexicographic(&model, 0, &basis)?.gradient);
        }
        among += usize::from(found.is_subset(&near));
        pairs += usize::from((found.len() > 1) == (near.len() > 1));
        reached += usize::from(found == near);
    }
    o.always("each is a neighbouring gradient", among, 120);
    o.always("two of them exist if and only if F is not differentiable", pairs, 120);
    o.measured("programs of which the bases tried reached all neighbouring gradients", format!("{reached} of 120"));
    Ok(o)
}

/// The paper's formula: its first clauses.
fn formula(clauses: usize) -> Cnf {
    let all = [vec![1, 2, -3], vec![1, 4, -5], vec![-2, -3, 6], vec![2, -2, 6]];
    Cnf { variables: 6, clauses: all[..clauses].to_vec() }
}

fn example(clauses: usize) -> Run {
    let cnf = formula(clauses);
    let mut o =
        Outcome::of("the formula as a program and as a network, at all 64 vectors of signs and at 200 random points");
    o.equal(
        "variables and clauses",
        format!("6 and {clauses}"),
        format!("{} and {}", cnf.variables, cnf.clauses.len()),
    );
    let (lattice, network) = (sat_program(&cnf)?, sat_network(&cnf)?);
    let program = network.program()?;
    let signs = (0u32..64).try_fold(0, |right, bits| -> Result<usize, Failure> {
        let model: Vec<bool> = (0..6).map(|i| bits >> i & 1 == 1).collect();
        let at: Vec<Rational> = model.iter().map(|&b| Rational::from(if b { 1 } else { -1 })).collect();
        let value = network.evaluate(&at)?;
        let tensors: Vec<Tensor<Rational>> = at.iter().cloned().map(Tensor::scalar).collect();
        let truth = Rational::from(i64::from(cnf.satisfied_by(&model).is_ok()));
        Ok(right + usize::from(value == truth && run(&lattice, &tensors)?[0].data()[0] == truth))
    })?;
    o.always("F is 1 at signs that satisfy the formula, else 0", signs, 64);
    let mut random = SplitMix64::new(86);
    let mut formula_right = 0;
    for _ in 0..200 {
        let at = sample::generic(&program, &mut random);
        let x: Vec<Rational> = at.iter().map(|t| t.data()[0].clone()).collect();
        let literal = |l: &i32| if *l > 0 { x[*l as usize - 1].clone() } else { -&x[l.unsigned_abs() as usize - 1] };
        let clause = |c: &Vec<i32>| c.iter().map(literal).max().map(|m| m.max(Rational::ZERO));
        let expected = cnf.clauses.iter().filter_map(clause).min();
        let (ours, padded) = (run(&lattice, &at)?[0].data()[0].clone(), run(&program, &at)?[0].data()[0].clone());
        // a clause that is always true was added if there are three, so only the sign is the same
        let network_right = if clauses == 4 { padded == ours } else { padded.is_positive() == ours.is_positive() };
        formula_right += usize::from(Some(ours) == expected && network_right);
    }
    let network_does = if clauses == 4 { "the network as well" } else { "the network has its sign" };
    o.always(format!("the program is the min of ReLU(max of three), {network_does}"), formula_right, 200);
    let bounds = sat_bounds(&cnf);
    o.equal("ReLU layers, log₂(n) + 3 with n padded to a power of two", bounds.relu_layers, network.relu_layers());
    let width = network.layers().iter().map(|l| l.width()).max().unwrap_or(0);
    o.at_most("the largest layer, 6n", bounds.width, width);
    if clauses == 4 {
        // the lemma's first row compares two numbers: here x2 - (-x2), in the order of the clause
        let refused = SignMatrix::new(6, [vec![(1, 2)]]).is_err();
        let ours = if refused { "2 x₂ has the entry 2; another pairing is needed" } else { "possible" };
        o.slip(
            "literal-pair",
            "the lemma on max(x₂, -x₂, x₆) as it stands, entries in {-1, 0, 1}",
            "possible",
            ours,
            !refused,
        );
    }
    Ok(o)
}

fn three_sat() -> Run {
    let mut o = Outcome::of(
        "100 random formulas with 5 to 9 variables, by both forms of the reduction, against all assignments",
    );
    let mut random = SplitMix64::new(87);
    let mut right = 0;
    for k in 0..100 {
        let variables = 5 + k % 5;
        let cnf = sample::formula(variables, variables * 9 / 2, &mut random);
        let truth = sample::satisfiable(&cnf);
        let answers: Vec<bool> = [SatForm::Lattice, SatForm::Network]
            .into_iter()
            .map(|form| Ok(matches!(solve(&cnf, form, &Effort::default())?.answer, Satisfiability::Satisfiable(_))))
            .collect::<Result<_, Failure>>()?;
        right += usize::from(answers == [truth, truth]);
    }
    o.always("both forms answer as all assignments say", right, 100);
    Ok(o)
}

fn paths() -> Run {
    let mut o = Outcome::of(
        "300 random programs over D0 at 0 against all corners; then growing chains of ReLUs, timed \
         by the number of nodes",
    );
    let mut random = SplitMix64::new(88);
    let (mut right, mut tried) = (0, 0);
    for _ in 0..300 {
        let p = sample::d0(3, 13, &mut random)?;
        let Ok(all) = corners(&p) else { continue };
        tried += 1;
        right += usize::from(conservative(&localize(&p, &origin(&p))?, 0)?.is_singleton() == (all.len() == 1));
    }
    o.always("singleton or several, as all corners say", right, tried);
    for n in [100, 1000, 10_000] {
        // every relu is on a path, and there are 2^n corners
        let p = crease_core::trace(1, |x| (0..n).fold(x[0], |a, _| crease_core::relu(a) - crease_core::relu(-a)))?;
        let several = !conservative(&localize(&p, &origin(&p))?, 0)?.is_singleton();
        o.holds(
            format!("{} ReLUs, 2^{} corners", 2 * n, 2 * n),
            "polynomial",
            if several { "two elements found" } else { "none found" },
            several,
        );
    }
    let p = crate::programs::cancelling_paths()?;
    let model = localize(&p, &origin(&p))?;
    let ones = gradient_at_choices(&model, 0, &vec![vec![Rational::ONE, Rational::ZERO]; model.kinks().len()])?;
    let zeros = gradient_at_choices(&model, 0, &vec![vec![Rational::ZERO, Rational::ONE]; model.kinks().len()])?;
    o.slip(
        "path-element",
        "relu(x) - relu(relu(x)): the path through both ReLUs is an element other than 0",
        "nonzero",
        format!("{} and {}", ones[0], zeros[0]),
        ones != zeros,
    );
    Ok(o)
}

fn weak_stationarity() -> Run {
    let mut o = Outcome::of(
        "200 random programs over D0 at 0, and as networks: all neighbouring gradients, and values at 50 random points",
    );
    let mut random = SplitMix64::new(89);
    let (mut right, mut constant) = (0, 0);
    for k in 0..200 {
        // every fourth one is 0 in disguise
        let p = sample::d0(2, 10, &mut random)?;
        let p = if k % 4 == 0 {
            crease_core::trace(2, |x| {
                let f = std::sync::Arc::new(p.clone());
                let y = x[0].tape().call(&f, &[x[0], x[1]])[0];
                y - crease_core::relu(y) + crease_core::relu(-y)
            })?
        } else {
            p
        };
        let near = neighbours(&p, &origin(&p))?;
        let only_zero = near.len() == 1 && near[0].iter().all(Rational::is_zero);
        let mut zero = true;
        for _ in 0..50 {
            zero &= run(&p, &sample::generic(&p, &mut random))?[0].data()[0].is_zero();
        }
        constant += usize::from(zero);
        right += usize::from(zero == only_zero);
    }
    o.always("∂ᶜF(0) = {0} if and only if F is 0 at all points tried", right, 200);
    o.measured("constant ones", format!("{constant} of 200"));
    Ok(o)
}

fn maxima() -> Run {
    let mut o = Outcome::of("the networks for k = 1 to 6, at 50 random points each; the sizes of their layers");
    let mut random = SplitMix64::new(90);
    for k in 1..=6u32 {
        let network = max_network(k)?;
        let mut right = 0;
        for _ in 0..50 {
            let x: Vec<Rational> = (0..1 << k).map(|_| Rational::from(random.below(2001) as i64 - 1000)).collect();
            right += usize::from(Some(&network.evaluate(&x)?) == x.iter().max());
        }
        let widths: Vec<usize> = network.layers().iter().map(|l| l.width()).collect();
        o.always(format!("the maximum of {} numbers", 1 << k), right, 50);
        o.equal(format!("ReLU layers, k = {k}"), k, network.relu_layers());
        o.at_most(format!("the largest layer, k = {k}"), 3 << (k - 1), widths.iter().copied().max().unwrap_or(0));
    }
    let attained = max_network(4)?.layers().iter().map(|l| l.width()).max().unwrap_or(0);
    o.slip("max-lemma", "the bound in the proof for k = 4, 3 × 2ᵏ", 48, attained, attained == 48);
    Ok(o)
}
