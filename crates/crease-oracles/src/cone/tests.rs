//! Against Fourier and Motzkin's elimination on random systems; every certificate and every witness is checked here again.

#[path = "../../tests/support/elimination.rs"]
mod elimination;

use super::*;
use crease_core::local::Form;
use crease_core::random::SplitMix64;
use elimination::has_direction;

/// Where the signed form is not negative.
fn closed(signed: Signed) -> Half {
    Half { form: signed.form, negative: signed.negative, strict: false }
}

fn row(forms: &Forms, half: Half, dimension: usize) -> (Vec<i128>, bool) {
    let mut out = vec![0; dimension];
    for (i, c) in forms.exact(half.form).terms() {
        out[*i] = i128::from(c.small_parts().unwrap().0) * if half.negative { -1 } else { 1 };
    }
    (out, half.strict)
}

/// Checks what a cone says about its half-spaces, in its own words and against elimination.
fn judge(cone: &mut Cone, forms: &Forms) -> bool {
    let expected = has_direction(cone.halves().iter().map(|h| row(forms, *h, cone.dimension)).collect());
    match cone.witness(forms) {
        Ok(d) => {
            assert!(expected, "a witness of nothing");
            for half in cone.halves() {
                let value = forms.value(half.form, &d);
                let value = if half.negative { -value } else { value };
                assert!(if half.strict { value.is_positive() } else { !value.is_negative() }, "{half:?} at {d:?}");
            }
            assert_eq!(cone.check_quick(forms), Ok(()), "floats know better");
        }
        Err(Halt::Stopped) => panic!("nobody stopped it"),
        Err(Halt::Conflict(conflict)) => {
            assert!(!expected, "a conflict of what fits");
            proves(cone, forms, &conflict);
            refuted(cone, forms);
        }
    }
    expected
}

/// Checks that both ways of asking prove that there is none.
fn refuted(cone: &mut Cone, forms: &Forms) {
    let Err(Halt::Conflict(quick)) = cone.check_quick(forms) else { panic!("floats must see this, or ask") };
    proves(cone, forms, &quick);
    let Err(Halt::Conflict(sure)) = cone.check(forms) else { panic!("there is no direction") };
    proves(cone, forms, &sure);
}

fn proves(cone: &Cone, forms: &Forms, conflict: &Conflict) {
    let mut sum = vec![Rational::ZERO; cone.dimension];
    for (half, by) in &conflict.parts {
        assert!(by.is_positive());
        let half = cone.halves()[*half];
        for (i, c) in forms.exact(half.form).terms() {
            sum[*i] += c * by * Rational::from(if half.negative { -1 } else { 1 });
        }
    }
    assert!(sum.iter().all(Rational::is_zero), "{conflict:?} adds up to {sum:?}");
    assert!(conflict.parts.iter().any(|(half, _)| cone.halves()[*half].strict));
    assert!(conflict.parts.windows(2).all(|w| w[0].0 < w[1].0));
    // minimal: no form can be left out, so there are at most as many as the dimension and one
    assert!(conflict.parts.len() <= cone.dimension + 1);
}

fn random_half(forms: &mut Forms, n: usize, random: &mut SplitMix64, range: u64, strict: u64) -> Half {
    loop {
        let dense = random.below(3) > 0;
        let mut c: Vec<(usize, Rational)> = Vec::new();
        for i in 0..n {
            if dense || random.below(n as u64) == 0 {
                c.push((i, Rational::from(random.below(2 * range + 1) as i64 - range as i64)));
            }
        }
        if let Some((signed, _)) = forms.intern(&c.into_iter().collect()) {
            return if random.below(4) < strict { Half::open(signed) } else { closed(signed) };
        }
    }
}

#[test]
fn random_systems() {
    let mut random = SplitMix64::new(1);
    let (mut yes, mut no) = (0, 0);
    for round in 0..6000u64 {
        let dimension = 1 + random.below(4) as usize;
        let (range, strict, count) = ([1, 2, 9, 1000][(round % 4) as usize], round / 4 % 5, 1 + random.below(9));
        let (mut forms, mut cone) = (Forms::new(dimension), Cone::new(dimension, &Limits::DEFAULT));
        for _ in 0..count {
            let half = random_half(&mut forms, cone.dimension, &mut random, range, strict);
            cone.assert(&forms, half);
        }
        if judge(&mut cone, &forms) { yes += 1 } else { no += 1 }
    }
    assert!(yes > 1000 && no > 1000, "{yes} with a direction, {no} without");
}

/// Half-spaces come and go, some twice, some in both directions.
#[test]
fn going_back_and_forth() {
    let mut random = SplitMix64::new(2);
    let (mut yes, mut no) = (0, 0);
    for round in 0..300u64 {
        let dimension = 1 + random.below(4) as usize;
        let (mut forms, mut cone) = (Forms::new(dimension), Cone::new(dimension, &Limits::DEFAULT));
        for _ in 0..40 {
            match random.below(8) {
                0..5 if cone.halves().len() < 9 => {
                    let mut half = random_half(&mut forms, cone.dimension, &mut random, 1 + round % 3, round % 5);
                    if random.below(4) == 0 && !cone.halves().is_empty() {
                        half = cone.halves()[random.below(cone.halves().len() as u64) as usize];
                        half.negative ^= random.below(2) == 0;
                        half.strict ^= random.below(2) == 0;
                    }
                    let mark = cone.halves().len();
                    assert_eq!(cone.assert(&forms, half), mark);
                }
                5 => cone.backtrack(random.below(cone.halves().len() as u64 + 1) as usize),
                _ => {
                    if judge(&mut cone, &forms) {
                        yes += 1
                    } else {
                        no += 1
                    }
                }
            }
        }
    }
    assert!(yes > 500 && no > 500, "{yes} with a direction, {no} without");
}

/// Thin cones, which floats cannot see: borders that differ by less than any float can tell.
#[test]
fn thin_cones() {
    let mut forms = Forms::new(2);
    let mut form = |a: &str, b: &str| {
        let terms = [(0, a.parse().unwrap()), (1, b.parse().unwrap())];
        forms.intern(&terms.into_iter().collect()).map(|(signed, _)| signed).unwrap()
    };
    let e30 = "1000000000000000000000000000000";
    let above = form("-1", "1");
    let below = form("1000000000000000000000000000001", &format!("-{e30}"));
    let right = form("1", "0");
    let mut cone = Cone::new(2, &Limits::DEFAULT);
    for half in [Half::open(above), Half::open(below), Half::open(right)] {
        cone.assert(&forms, half);
    }
    let d = cone.witness(&forms).unwrap();
    assert!(d[1] > d[0] && cone.work().exact > 0, "{d:?}");
    let mark = cone.halves().len();
    cone.backtrack(mark - 1);
    cone.assert(&forms, Half::open(right.opposite()));
    refuted(&mut cone, &forms);
    // and a wedge that is not there
    cone.backtrack(0);
    for half in [Half::open(above.opposite()), Half::open(below.opposite()), closed(right)] {
        cone.assert(&forms, half);
    }
    refuted(&mut cone, &forms);
    let mark = cone.halves().len();
    cone.backtrack(mark - 1);
    assert!(cone.witness(&forms).unwrap()[0].is_negative());
}

/// Equations with a point of fractions: borders meet only there.
#[test]
fn equations() {
    let mut forms = Forms::new(4);
    let mut random = SplitMix64::new(5);
    for _ in 0..200 {
        let mut cone = Cone::new(4, &Limits::DEFAULT);
        let target: Vec<i64> = (0..4).map(|_| 1 + random.below(50) as i64).collect();
        for i in 0..3 {
            // t_(i+1) d_i = t_i d_(i+1)
            let c = [(i, Rational::from(target[i + 1])), (i + 1, Rational::from(-target[i]))];
            let (signed, _) = forms.intern(&c.into_iter().collect()).unwrap();
            cone.assert(&forms, closed(signed));
            cone.assert(&forms, closed(signed.opposite()));
        }
        let (last, _) = forms.intern(&Form::variable(3)).unwrap();
        cone.assert(&forms, Half::open(last));
        let d = cone.witness(&forms).unwrap();
        for i in 0..4 {
            assert_eq!(&d[i] * Rational::from(target[3]), &d[3] * Rational::from(target[i]));
        }
        let off = [(0, Rational::from(target[3])), (3, Rational::from(-target[0]))];
        let (off, _) = forms.intern(&off.into_iter().collect()).unwrap_or((last, d[0].clone()));
        if off != last {
            cone.assert(&forms, Half::open(off));
            refuted(&mut cone, &forms);
        }
    }
}

/// Thousands of half-spaces on single coordinates take no exchange at all.
#[test]
fn coordinates_are_bounds() {
    let mut forms = Forms::new(300);
    let mut cone = Cone::new(300, &Limits::DEFAULT);
    let unit: Vec<Signed> =
        (0..300).map(|i| forms.intern(&Form::variable(i).scaled(&Rational::from(-7))).unwrap().0).collect();
    for k in 0..3000 {
        cone.assert(&forms, Half::open(if k % 3 == 0 { unit[k % 300] } else { unit[k % 300].opposite() }));
    }
    assert_eq!(cone.check(&forms), Ok(()));
    assert_eq!(cone.float.exchanges, 0);
    let mark = cone.assert(&forms, closed(unit[4]));
    assert_eq!(cone.check(&forms), Err(Conflict { parts: vec![(4, Rational::ONE), (mark, Rational::ONE)] }.into()));
    cone.backtrack(mark);
    assert_eq!(cone.check(&forms), Ok(()));
}

/// Many dense rows in many coordinates, with rows that come and go: a hidden direction must be found, and a hidden contradiction too.
#[test]
fn large_systems() {
    let mut random = SplitMix64::new(7);
    for n in [30usize, 120] {
        let mut forms = Forms::new(n);
        let hidden: Vec<i64> = (0..n).map(|_| random.below(21) as i64 - 10).collect();
        let mut cone = Cone::new(n, &Limits::DEFAULT);
        let mut sum = vec![0i64; n];
        for k in 0..2 * n {
            let c: Vec<i64> =
                (0..n).map(|_| if random.below(4) == 0 { random.below(7) as i64 - 3 } else { 0 }).collect();
            let along: i64 = c.iter().zip(&hidden).map(|(c, d)| c * d).sum();
            let terms: Form = c.iter().map(|&c| Rational::from(c)).enumerate().collect();
            let Some((signed, factor)) = forms.intern(&terms) else { continue };
            let signed = if along < 0 { signed.opposite() } else { signed };
            cone.assert(&forms, if along == 0 { closed(signed) } else { Half::open(signed) });
            if k % 4 == 0 {
                let by = if along < 0 { -1 } else { 1 };
                sum.iter_mut().zip(&c).for_each(|(s, c)| *s += by * c);
                assert!(factor.is_positive());
            }
            if k % 10 == 9 {
                assert_eq!(cone.check_quick(&forms), Ok(()));
            }
        }
        let d = cone.witness(&forms).unwrap();
        assert!(cone.halves().iter().all(|h| h.allows(forms.exact_sign(h.form, &d))));
        let terms: Form = sum.iter().map(|&c| Rational::from(-c)).enumerate().collect();
        let (signed, _) = forms.intern(&terms).unwrap();
        let mark = cone.assert(&forms, Half::open(signed));
        refuted(&mut cone, &forms);
        cone.backtrack(mark);
        assert_eq!(cone.check(&forms), Ok(()));
    }
}

/// A cone whose limits say stop says so: no direction, no conflict. Wherever it stands then.
#[test]
fn stopped_in_floats_and_in_rationals() {
    let mut forms = Forms::new(30);
    let mut random = SplitMix64::new(11);
    let halves: Vec<Half> = (0..60)
        .map(|_| {
            let terms = (0..30).map(|i| (i, Rational::from(random.below(2_000_001) as i64 - 1_000_000)));
            Half::open(forms.intern(&terms.collect()).unwrap().0)
        })
        .collect();
    let cone = |limits: &Limits| {
        let mut cone = Cone::new(30, limits);
        for &half in &halves {
            cone.assert(&forms, half);
        }
        cone
    };
    let enough = Limits::default().started();
    let sure = cone(&enough).witness(&forms);
    let exact = Limits::default().started();
    assert_eq!(cone(&exact).check_exact(&forms).is_ok(), sure.is_ok());
    for part in [0, 1, 2, 5, 10, 50] {
        let limits = |spent: u64| Limits { work: spent * part / 100, ..Limits::default() }.started();
        assert_eq!(cone(&limits(enough.spent())).check_quick(&forms), Err(Halt::Stopped), "{part}");
        assert_eq!(cone(&limits(exact.spent())).check_exact(&forms), Err(Halt::Stopped), "{part}");
    }
}
