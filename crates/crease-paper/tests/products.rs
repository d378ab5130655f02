//! Products of matrices as programs: right in exact numbers, and as cheap as their recurrences say.

use crease::cost::tally;
use crease::differentiate::vjp;
use crease::number::Field61;
use crease::{How, Number, Rational, Shape, Tensor, inline, run, scalarize};
use crease_paper::products::{Counts, Scheme, counts, operations, over_polynomials, product};

type Matrix = Vec<Vec<i64>>;

fn random(n: usize, seed: u64) -> Matrix {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 59) as i64 - 16
    };
    (0..n).map(|_| (0..n).map(|_| next()).collect()).collect()
}

fn times(a: &Matrix, b: &Matrix) -> Matrix {
    let n = a.len();
    (0..n).map(|i| (0..n).map(|j| (0..n).map(|k| a[i][k] * b[k][j]).sum()).collect()).collect()
}

fn transposed(a: &Matrix) -> Matrix {
    (0..a.len()).map(|i| a.iter().map(|row| row[i]).collect()).collect()
}

/// Half of the matrix, in some kind of numbers: fractions, so that nothing rests on integers.
fn halves<N: Number>(a: &Matrix) -> Tensor<N> {
    let half = |&x: &i64| N::from_rational(&Rational::new(x, 2).unwrap()).unwrap();
    Tensor::new(Shape::new([a.len(), a.len()]).unwrap(), a.iter().flatten().map(half).collect()).unwrap()
}

fn quarters<N: Number>(a: &Matrix) -> Vec<N> {
    a.iter().flatten().map(|&x| N::from_rational(&Rational::new(x, 4).unwrap()).unwrap()).collect()
}

#[test]
fn all_schemes_multiply_in_rationals() {
    for n in 1..=9 {
        let (a, b) = (random(n, n as u64), random(n, 100 + n as u64));
        let expected: Vec<Rational> = quarters(&times(&a, &b));
        for scheme in Scheme::ALL {
            for cutoff in [1, 2, 3] {
                let p = product(n, scheme, cutoff).unwrap();
                assert_eq!(
                    run(&p, &[halves::<Rational>(&a), halves(&b)]).unwrap()[0].data(),
                    expected,
                    "{n} {scheme} {cutoff}"
                );
            }
        }
    }
}

#[test]
fn all_schemes_multiply_in_the_prime_field() {
    for n in [16, 27, 32, 33] {
        let (a, b) = (random(n, 7), random(n, 8));
        let expected: Vec<Field61> = quarters(&times(&a, &b));
        for scheme in Scheme::ALL {
            let p = product(n, scheme, 1).unwrap();
            for p in [over_polynomials(&p).unwrap(), p] {
                assert_eq!(run(&p, &[halves::<Field61>(&a), halves(&b)]).unwrap()[0].data(), expected, "{n} {scheme}");
            }
        }
    }
}

/// Multiplications and sums of a fast scheme with so many sums of blocks, halved down to an even chain's end.
fn recurrence(n: u128, cutoff: u128, sums: u128) -> (u128, u128) {
    if n <= cutoff {
        return (n * n * n, n * n * n - n * n);
    }
    let (m, s) = recurrence(n / 2, cutoff, sums);
    (7 * m, 7 * s + sums * (n / 2) * (n / 2))
}

#[test]
fn operations_follow_the_recurrences() {
    for n in [1usize, 2, 4, 8, 12, 16, 40, 64, 256, 1024] {
        let odd = n >> n.trailing_zeros();
        for cutoff in [odd, 2 * odd, 4 * odd] {
            for (scheme, sums, negated) in [(Scheme::Strassen, 18, 6), (Scheme::Winograd, 15, 6)] {
                let p = product(n, scheme, cutoff).unwrap();
                let count = operations(&p).unwrap();
                let (n, cutoff) = (n as u128, cutoff as u128);
                assert_eq!((count.multiplications, count.sums()), recurrence(n, cutoff, sums), "{n} {scheme}");
                assert_eq!(count.scalings, 0);
                // over {+, x, +c, xc} six blocks more are multiplied by -1
                let lowered = operations(&over_polynomials(&p).unwrap()).unwrap();
                let (m, all) = recurrence(n, cutoff, sums + negated);
                assert_eq!((lowered.multiplications, lowered.scalings + lowered.additions), (m, all));
                assert_eq!((lowered.subtractions, lowered.additions), (0, count.sums()));
            }
        }
        let (count, n) = (operations(&product(n, Scheme::Naive, 1).unwrap()).unwrap(), n as u128);
        assert_eq!((count.multiplications, count.total()), (n * n * n, 2 * n * n * n - n * n));
    }
}

#[test]
fn closed_forms() {
    for k in 0..=10u32 {
        let (sevens, fours) = (7u128.pow(k), 4u128.pow(k));
        let total = |s| operations(&product(1 << k, s, 1).unwrap()).unwrap().total();
        assert_eq!(total(Scheme::Strassen), 7 * sevens - 6 * fours);
        assert_eq!(total(Scheme::Winograd), 6 * sevens - 5 * fours);
    }
}

#[test]
fn when_fast_products_are_fewer_operations() {
    let first = |scheme: Scheme, polynomial: bool| {
        (0..=12).map(|k| 1usize << k).find(|&n| {
            let p = product(n, scheme, 1).unwrap();
            let p = if polynomial { over_polynomials(&p).unwrap() } else { p };
            operations(&p).unwrap().total() < operations(&product(n, Scheme::Naive, 1).unwrap()).unwrap().total()
        })
    };
    assert_eq!((first(Scheme::Strassen, false), first(Scheme::Winograd, false)), (Some(1024), Some(512)));
    // without `-` they come later still
    assert_eq!((first(Scheme::Strassen, true), first(Scheme::Winograd, true)), (Some(4096), Some(2048)));
    // and with a cutoff much sooner
    let total = |n, s, c| operations(&product(n, s, c).unwrap()).unwrap().total();
    assert!(total(32, Scheme::Strassen, 16) < total(32, Scheme::Naive, 1));
    assert!(total(16, Scheme::Winograd, 8) < total(16, Scheme::Naive, 1));
}

#[test]
fn filling_up_with_zeros_is_no_dearer_than_the_next_even_size() {
    for n in [3, 5, 7, 9, 15, 31] {
        for scheme in [Scheme::Strassen, Scheme::Winograd] {
            let total = |n| operations(&product(n, scheme, 1).unwrap()).unwrap().total();
            assert!(total(n) <= total(n + 1), "{n} {scheme}");
        }
    }
}

#[test]
fn the_scalar_program_of_level_one_has_the_same_tally_and_the_same_values() {
    for scheme in Scheme::ALL {
        for n in [2, 3, 4] {
            let p = product(n, scheme, 1).unwrap();
            let scalar = scalarize(&inline(&p).unwrap()).unwrap();
            assert_eq!((tally(&p), scalar.level()), (tally(&scalar), 1));
            assert_eq!(scalar.inputs().len(), 2 * n * n);
            let (a, b) = (random(n, 3), random(n, 4));
            let inputs: Vec<Tensor<Rational>> =
                [halves(&a), halves(&b)].iter().flat_map(|t| t.data().to_vec()).map(Tensor::scalar).collect();
            let got: Vec<Rational> = run(&scalar, &inputs).unwrap().iter().map(|t| t.data()[0].clone()).collect();
            assert_eq!(got, quarters::<Rational>(&times(&a, &b)));
        }
    }
    // a program of programs: one level more for every halving
    let level = |n| product(n, Scheme::Strassen, 1).unwrap().level();
    assert!([2, 4, 8, 16].iter().all(|&n| level(2 * n) == level(n) + 1));
}

#[test]
fn backprop_of_a_product_is_two_more_products() {
    for n in [1, 2, 3, 4, 6] {
        let (a, b, c) = (random(n, 5), random(n, 6), random(n, 7));
        for scheme in Scheme::ALL {
            let d = vjp(&product(n, scheme, 1).unwrap(), &How::default()).unwrap();
            let out = run(&d, &[halves::<Rational>(&a), halves(&b), halves(&c)]).unwrap();
            assert_eq!(out[1].data(), quarters(&times(&c, &transposed(&b))), "{n} {scheme}");
            assert_eq!(out[2].data(), quarters(&times(&transposed(&a), &c)), "{n} {scheme}");
        }
    }
}

#[test]
fn the_table_of_counts() {
    let sizes = [2, 4, 8, 16, 32];
    let table = counts(&sizes, 1).unwrap();
    assert_eq!(table.len(), 3 * sizes.len());
    for (row, (n, scheme)) in table.iter().zip(sizes.iter().flat_map(|n| Scheme::ALL.map(|s| (*n, s)))) {
        let Counts { size, scheme: of, cutoff, plain, polynomial, backprop } = row.clone();
        assert_eq!((size, of, cutoff), (n, scheme, 1));
        let k = n.trailing_zeros();
        let (sevens, fours) = (7u128.pow(k), 4u128.pow(k));
        assert_eq!(backprop.multiplications, 3 * plain.multiplications);
        assert!(backprop.total() <= 5 * plain.total() && polynomial.total() <= 2 * plain.total());
        match scheme {
            Scheme::Naive => assert_eq!(backprop.total(), 3 * plain.total()),
            // 18 sums of blocks, 8 + 8 + 5 when transposed: 16 7^k - 13 4^k, of 7 7^k - 6 4^k
            Scheme::Strassen => assert_eq!(backprop.total(), 16 * sevens - 13 * fours),
            // 15 and 7 + 7 + 4, and adjoints that come with a minus are negated between calls
            Scheme::Winograd => {
                let least = 14 * sevens - 11 * fours;
                assert!((least..=least + least / 10).contains(&backprop.total()), "{n}");
            }
        }
    }
    let overhead = |n, s| table.iter().find(|r| (r.size, r.scheme) == (n, s)).unwrap().overhead();
    assert!((overhead(32, Scheme::Strassen) - 16.0 / 7.0).abs() < 0.01);
    assert_eq!(overhead(32, Scheme::Naive), 3.0);
}

#[test]
fn sizes_out_of_range_are_refused() {
    for (n, cutoff) in [(0, 1), (1, 0), ((1 << 13) + 1, 1)] {
        assert!(product(n, Scheme::Strassen, cutoff).is_err());
    }
    let kinked = crease::trace(1, |x| crease::relu(x[0])).unwrap();
    assert!(over_polynomials(&kinked).is_err());
}
