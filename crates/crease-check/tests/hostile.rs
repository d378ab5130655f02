//! Texts that ask for too much: they are refused, soon, and without taking much memory.

use crease_check::{Effort, check, check_within};
use std::cell::Cell;
use std::fmt::Write;
use std::time::{Duration, Instant};

#[track_caller]
fn refused(text: &str, message: &str) {
    let start = Instant::now();
    let error = check(text.as_bytes()).unwrap_err();
    assert!(error.message.contains(message), "{error}");
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

fn head(claim: &str, dimension: usize, kinks: usize) -> String {
    format!("crease-certificate 1\nclaim {claim}\ndimension {dimension}\nkinks {kinks}\n")
}

#[test]
fn counts_are_promises_that_nobody_believes() {
    for claim in ["differentiable", "not-differentiable", "member"] {
        refused(&head(claim, 1, 4294967295), "expected `max FORM ; FORM ; ...`, found the end of the text");
        refused(&head(claim, 99999999999, 1), "found `99999999999`");
    }
    refused(
        &(head("differentiable", 4294967295, 0) + "output 0\ngradient 1*d4294967294\nrelus 4294967295\n"),
        "expected `relu FORM`, found the end of the text",
    );
}

#[test]
fn a_huge_dimension_is_only_a_number() {
    let text = head("differentiable", 4294967295, 0) + "output 1*d4294967294\ngradient 1*d4294967294\nrelus 0\nend\n";
    assert_eq!(check(text.as_bytes()).unwrap().dimension, 4294967295);
}

#[test]
fn numbers_that_grow() {
    // each kink is 10^300 times the one before
    let (n, big) = (600, format!("1{}", "0".repeat(300)));
    let mut text = head("not-differentiable", 1, n) + "max 0 ; 1*d0\n";
    for k in 1..n {
        writeln!(text, "max {big}*k{} ; 0", k - 1).unwrap();
    }
    writeln!(text, "output 1*k{}\nside\ndirection 1*d0", n - 1).unwrap();
    refused(&text, "a number grows longer than 262144 bits");
    refused(&(head("differentiable", 1, 0) + &format!("output {}*d0\n", "7".repeat(1_000_000))), "too long");
}

/// Sums of fractions with denominators that have nothing in common, all of them in one form.
#[test]
fn forms_that_grow() {
    let (n, wide) = (200, 400);
    let mut text = head("not-differentiable", wide, n);
    for k in 0..n {
        let mut form: Vec<String> = (0..wide).map(|i| format!("1/{}*d{i}", 10_000_019 + 2 * (k * 7 + i))).collect();
        if k > 0 {
            form.push(format!("1000000007/{}*k{}", 998_244_353 + 2 * k, k - 1));
        }
        writeln!(text, "max {} ; {}", form.join(" "), form.join(" ")).unwrap();
    }
    writeln!(text, "output 1*k{}\nside\ndirection 1*d0", n - 1).unwrap();
    let start = Instant::now();
    let _ = check(text.as_bytes());
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

/// Every kink ties with another one, and each tie needs all kinks before it.
#[test]
fn work_that_is_quadratic() {
    let n = 20_000;
    let mut text = head("not-differentiable", 2, n) + "max 1*d0 ; 1*d0\n";
    for k in 1..n {
        let b = k - 1;
        writeln!(text, "max 1*k{b} 1*d0 ; 1*d0 1*k{}", b / 2).unwrap();
    }
    writeln!(text, "output 1*k{}\nside\ndirection 0", n - 1).unwrap();
    let start = Instant::now();
    assert!(check(text.as_bytes()).is_err());
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

/// A chain of implications, followed from its beginning in every line.
#[test]
fn propagation_without_end() {
    let n = 4_000;
    let mut text = head("differentiable", 1, 0) + "output 0\ngradient 0\nrelus 1\nrelu 1*d0\n";
    for _ in 0..n {
        text += "atom > 1*d0\n";
    }
    for i in 1..n {
        writeln!(text, "lemma {i} 1 -{} 1", i + 1).unwrap();
    }
    for _ in 0..20_000 {
        writeln!(text, "learn -1 {n}\ndrop -1 {n}").unwrap();
    }
    text += "end\n";
    let start = Instant::now();
    assert!(check(text.as_bytes()).is_ok());
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}

#[test]
fn long_lines_and_deep_chains() {
    let n = 100_000;
    // one maximum of many forms, joined to one
    let mut text = head("differentiable", 2, 1) + "max 1*d0";
    text += &" ; 1*d0".repeat(n);
    text += "\noutput 1*k0\ngradient 1*d0\nrelus 0\nkink";
    for i in 0..n {
        let last = if i == 0 { 0 } else { n + i };
        write!(text, " {last} {} =", i + 1).unwrap();
    }
    text += "\nend\n";
    check(text.as_bytes()).unwrap();
    // kinks that would be long if they were written out
    let mut text = head("differentiable", 3, n) + "max 1*d0 ; 1*d1\n";
    for k in 1..n {
        writeln!(text, "max 1*k{} 1*d2 ; 1*k{} 1*d1", k - 1, k - 1).unwrap();
    }
    text += "output 0\ngradient 0\nrelus 2\nrelu 1*d0 -1*d1\nrelu 1*d2 -1*d1\nkink 0 1 z0\n";
    text += &"kink 0 1 z1\n".repeat(n - 1);
    text += "end\n";
    check(text.as_bytes()).unwrap();
}

/// A certificate of some work: sums of relus, and clauses that Farkas' lemma proves.
fn laborious(wide: usize) -> String {
    let mut text = head("not-differentiable", wide, wide);
    let form = |k: usize| (k..wide).map(|i| format!("1*d{i}")).collect::<Vec<_>>().join(" ");
    for k in 0..wide {
        writeln!(text, "max {} ; 0", form(k)).unwrap();
    }
    writeln!(text, "output {}", (0..wide).map(|k| format!("1*k{k}")).collect::<Vec<_>>().join(" ")).unwrap();
    let gradient = (0..wide).map(|i| format!("{}*d{i}", i + 1)).collect::<Vec<_>>().join(" ");
    writeln!(text, "side\ndirection {}\ngradient {gradient}", form(0)).unwrap();
    writeln!(text, "side\ndirection {}\ngradient 0\nend", form(0).replace("1*", "-1*")).unwrap();
    text
}

#[test]
fn what_checking_may_take_is_a_value() {
    let text = laborious(60);
    let text = text.as_bytes();
    assert!(check(text).is_ok());
    let with = |effort: Effort<'_>| check_within(text, &effort).map_err(|e| e.message);
    let few = Effort { steps: 1000, steps_per_byte: 0, ..Effort::default() };
    let error = with(few).unwrap_err();
    assert!(
        error.contains("the limit is 1000 steps and 0 for each byte") && error.contains("`Effort::steps`"),
        "{error}"
    );
    assert_eq!(with(Effort { steps_per_byte: 1 << 14, ..few }), check(text).map_err(|e| e.message));
    let narrow = Effort { words: 10, words_per_byte: 0, ..Effort::default() };
    let error = with(narrow).unwrap_err();
    assert!(
        error.contains("take 10 words of 64 bits and 0 for each byte") && error.contains("`Effort::words`"),
        "{error}"
    );
    assert!(with(Effort { words: u64::MAX, words_per_byte: u64::MAX, steps: u64::MAX, ..narrow }).is_ok());
}

#[test]
fn checking_is_stopped() {
    let text = laborious(200);
    let asked = Cell::new(0);
    let stop = |after: u32| {
        asked.set(0);
        let stop = || {
            asked.set(asked.get() + 1);
            asked.get() > after
        };
        check_within(text.as_bytes(), &Effort { stop: Some(&stop), ..Effort::default() })
    };
    assert!(stop(u32::MAX).is_ok());
    let looks = asked.get();
    assert!(looks > 2, "{looks} looks");
    for after in [0, 1, looks - 1] {
        assert_eq!(stop(after).unwrap_err().message, "it was stopped");
        assert_eq!(asked.get(), after + 1);
    }
}
