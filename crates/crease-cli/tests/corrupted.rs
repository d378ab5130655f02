//! Certificates that the search wrote, damaged in more than ten thousand ways: each is refused, or proves something that is true all the
//! same, as brute force sees it, which knows nothing of proofs.

mod fan;

use crease_check::{Claim, check};
use crease_core::Limits;
use crease_core::local::{LocalModel, localize};
use crease_core::random::SplitMix64;
use crease_core::{Rational, Tensor};
use crease_formats::parse_expression;
use crease_oracles::{Effort, Session, differentiable};
use fan::{Judged, judge};
use std::collections::HashMap;

/// The local model of an expression where all its inputs are 0.
fn model(expression: &str) -> LocalModel {
    let program = parse_expression(expression, &|_| None).expect(expression);
    let zeros: Vec<_> = program.inputs().iter().map(|_| Tensor::scalar(Rational::ZERO)).collect();
    localize(&program, &zeros).expect(expression)
}

fn decided(expression: &str) -> String {
    let decision = differentiable(&model(expression), 0, &Effort::default()).expect(expression);
    decision.certificate().expect(expression)
}

/// The certificate that a vector is a Clarke subgradient.
fn member(expression: &str, vector: &[(i64, i64)]) -> String {
    let model = model(expression);
    let vector: Vec<Rational> = vector.iter().map(|(n, d)| Rational::new(*n, *d).expect("a fraction")).collect();
    let session = Session::new(&model, 0);
    let all = session.neighbouring_gradients(&Limits::default(), |_| ()).expect(expression);
    let found = session.membership_among(&all, &vector, &Default::default()).expect(expression);
    session.membership_certificate(&vector, &found, &all.gradients).expect(expression).expect(expression)
}

/// A formula over three variables as a program: all eight clauses, or without the last.
fn formula(clauses: usize) -> String {
    let literal = |clause: usize, k: usize| format!("{}x{k}", if clause >> k & 1 == 0 { "" } else { "-" });
    let clause = |c: usize| format!("relu(max({}, {}, {}))", literal(c, 0), literal(c, 1), literal(c, 2));
    (1..clauses).fold(clause(0), |all, c| format!("min({all}, {})", clause(c)))
}

/// Certificates of all kinds, from a few lines to some hundred.
fn certificates() -> Vec<String> {
    let yes = [
        "relu(x) - relu(-x)",
        "max(x, y) + min(x, y) - 3 * x",
        "relu(relu(x) - relu(-x) + 2 * y) - relu(-x - 2 * y)",
        "abs(x + y) + abs(x - y) - 2 * max(abs(x), abs(y))",
        "max(x, max(y, z)) - max(max(x, y), z)",
        "max(min(x, y), min(x, z)) - min(x, max(y, z))",
        "relu(x + relu(y) - relu(-y) - z) - relu(z - x - y) - relu(y)+ relu(y/2 + y/2)",
        "max(relu(x) - y, relu(y) - x, 1/2 * x) - max(1/2 * x, max(relu(y) - x, relu(x) - y))",
    ];
    let no = [
        "abs(x)",
        "max(x, y / 3) - relu(x)",
        "abs(x) + abs(y) + relu(z - x)",
        "max(x, y, z, x - y) + 2/3 * abs(relu(x) - relu(y))",
        "relu(x + relu(y)) - relu(x) - min(y, relu(-x))",
    ];
    let mut all: Vec<String> = yes.iter().chain(&no).map(|e| decided(e)).collect();
    all.extend([8, 7].map(|clauses| decided(&formula(clauses))));
    all.push(member("abs(x)", &[(1, 3)]));
    all.push(member("abs(x) + relu(y - x)", &[(-1, 5), (1, 2)]));
    all.push(member("max(x, y, z) - relu(x)", &[(-1, 2), (1, 4), (1, 4)]));
    all
}

/// A number between 0 and `n`.
fn below(random: &mut SplitMix64, n: usize) -> usize {
    random.below(n as u64) as usize
}

/// What may stand in the place of a token.
fn other_token(token: &str, all: &[&str], random: &mut SplitMix64) -> String {
    let number = token.trim_start_matches(|c: char| !c.is_ascii_digit());
    let number: String = number.chars().take_while(char::is_ascii_digit).collect();
    match below(random, 9) {
        // another index, count or coefficient
        0 if !number.is_empty() => token.replacen(&number, &below(random, 12).to_string(), 1),
        1 if !number.is_empty() => {
            let n: u64 = number.parse().unwrap_or(0);
            token.replacen(&number, &n.saturating_add(1).to_string(), 1)
        }
        // huge ones
        2 if !number.is_empty() => {
            let huge = ["18446744073709551616", "9223372036854775807", "4294967296", &"9".repeat(400)];
            token.replacen(&number, huge[below(random, 4)], 1)
        }
        // fractions, lowest terms or not
        3 if !number.is_empty() => token.replacen(&number, ["1/2", "2/4", "1/0", "-0"][below(random, 4)], 1),
        // its sign
        4 | 5 => token.strip_prefix('-').map_or_else(|| format!("-{token}"), Into::into),
        6 => ["0", "F", "T", "=", ">=", ">", ";", "end"][below(random, 8)].into(),
        7 => {
            let (a, b) = [("d", "z"), ("d", "k"), ("k", "d"), ("z", "d"), ("z", "w"), ("w", "z")][below(random, 6)];
            token.replacen(a, b, 1)
        }
        _ => all[below(random, all.len())].into(),
    }
}

/// One way to damage a text.
fn damaged(text: &str, random: &mut SplitMix64) -> Vec<u8> {
    let mut lines: Vec<&str> = text.lines().collect();
    let at = below(random, lines.len());
    match below(random, 13) {
        // one thing for another throughout, as if of another function
        12 => {
            let all: Vec<&str> = text.split([' ', '\n']).filter(|t| !t.is_empty()).collect();
            let token = all[below(random, all.len())];
            let other = other_token(token, &all, random);
            let tokens = |line: &str| -> Vec<String> {
                line.split(' ').map(|t| if t == token { other.clone() } else { t.into() }).collect()
            };
            let changed: Vec<String> = lines.iter().map(|l| tokens(l).join(" ")).collect();
            return (changed.join("\n") + "\n").into_bytes();
        }
        0 => drop(lines.remove(at)),
        1 => lines.insert(below(random, lines.len() + 1), lines[at]),
        2 => lines.swap(at, below(random, text.lines().count())),
        3 => {
            let part = lines.remove(at);
            lines.insert(below(random, lines.len() + 1), part);
        }
        // cut off
        4 => return text.as_bytes()[..below(random, text.len())].to_vec(),
        // one bit
        5 | 6 => {
            let mut bytes = text.as_bytes().to_vec();
            bytes[below(random, text.len())] ^= 1 << below(random, 8);
            return bytes;
        }
        // tokens
        way => {
            let mut text = text.to_string();
            for _ in 0..1 + below(random, if way < 10 { 1 } else { 3 }) {
                let all: Vec<&str> = text.split([' ', '\n']).filter(|t| !t.is_empty()).collect();
                let token = all[below(random, all.len())];
                let start = token.as_ptr() as usize - text.as_ptr() as usize;
                let (end, other) = (start + token.len(), other_token(token, &all, random));
                text.replace_range(start..end, &other);
            }
            return text.into_bytes();
        }
    }
    (lines.join("\n") + "\n").into_bytes()
}

#[derive(Debug, Default)]
struct Count {
    refused: usize,
    /// Accepted, with the claim and the model that were there before.
    same: usize,
    /// Accepted with another claim or of another model.
    other: usize,
    /// Of those accepted, judged at all rays.
    by_rays: usize,
    /// Of those accepted with another claim or model, claims of a gradient, of two sides, and of a member.
    kinds: [usize; 3],
}

fn kind(claim: &Claim) -> usize {
    match claim {
        Claim::Differentiable { .. } => 0,
        Claim::NotDifferentiable { .. } => 1,
        Claim::Member { .. } => 2,
        Claim::NotDifferentiableEnclosed { .. } => panic!("damage made it a certificate of an enclosed model"),
    }
}

#[test]
fn damaged_certificates_are_refused_or_prove_what_is_true() {
    let mut count = Count::default();
    let mut random = SplitMix64::new(11);
    for text in certificates() {
        let whole = check(text.as_bytes()).expect("what the search writes is valid");
        assert_eq!(judge(&text, &whole.claim), (true, Judged::Rays), "{text}");
        // what was judged already
        let mut known: HashMap<String, Judged> = HashMap::new();
        for _ in 0..5000 {
            let bytes = damaged(&text, &mut random);
            let checked = match check(&bytes) {
                Ok(checked) => checked,
                Err(e) => {
                    assert!(e.line >= 1, "{e}");
                    count.refused += 1;
                    continue;
                }
            };
            let damaged = String::from_utf8(bytes).expect("what is accepted is text");
            let same = (&checked.model, &checked.claim) == (&whole.model, &whole.claim);
            let model: String = damaged.lines().take_while(|l| !l.starts_with("output")).collect();
            let output = damaged.lines().find(|l| l.starts_with("output")).unwrap_or_default();
            let how = *known.entry(format!("{model}{output}{:?}", checked.claim)).or_insert_with(|| {
                let (holds, how) = judge(&damaged, &checked.claim);
                assert!(holds, "accepted, but not true: {:?}\n{damaged}", checked.claim);
                how
            });
            count.by_rays += usize::from(how == Judged::Rays);
            if same {
                count.same += 1;
            } else {
                count.other += 1;
                count.kinds[kind(&checked.claim)] += 1;
            }
        }
    }
    println!("{count:?}");
    let accepted = count.same + count.other;
    assert!(count.refused + accepted > 10_000 && count.refused > accepted, "{count:?}");
    // damage of every kind goes unnoticed, and is judged, nearly all of it at all rays
    assert!(count.same > 500 && count.kinds.iter().all(|n| *n > 30), "{count:?}");
    assert!(count.by_rays * 20 > accepted * 19, "{count:?}");
}

/// The judge knows what is false: it would be of no use if it agreed with everything.
#[test]
fn the_judge_refutes_what_is_false() {
    let claims = |text: &str| check(text.as_bytes()).expect("valid").claim;
    let certificates = certificates();
    let mut refuted = 0;
    for (i, a) in certificates.iter().enumerate() {
        for b in &certificates[..i] {
            // what is claimed of one function, held against another
            let told = claims(b);
            let own = claims(a);
            if told != own && !judge(a, &told).0 {
                refuted += 1;
            }
        }
    }
    assert!(refuted > 60, "{refuted}");
    // a gradient that is off by little, at a function that bends nowhere
    let text = decided("abs(x + y) + abs(x - y) - 2 * max(abs(x), abs(y))");
    let off = claims(&decided("relu(x/1000) - relu(-x/1000) + 0 * y"));
    assert!(!judge(&text, &off).0);
    // a function that bends in a narrow cone only
    let narrow = "max(0, min(1000 * x - y, y - 999 * x))";
    let text = decided(narrow);
    assert!(matches!(claims(&text), Claim::NotDifferentiable { .. }), "{text}");
    let flat = claims(&decided("relu(x) - relu(-x) - x + 0 * y"));
    assert_eq!(judge(&text, &flat), (false, Judged::Rays));
}
