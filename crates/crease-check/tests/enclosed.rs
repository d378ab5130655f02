//! Certificates about models with enclosed coefficients: what they prove, what is said of those that are not valid, and that damaged ones are
//! refused or true all the same. The judge draws coefficients from the enclosures and evaluates; it shares no code with the checker.

#[allow(dead_code)]
mod truth;

use crease_check::{Claim, check};
use crease_number::Rational;
use truth::Random;

/// c |x|.
const ABS: &str = "crease-certificate 1
claim not-differentiable-enclosed
dimension 1
bits 128
nodes 3
linear -1*d0
max d0 n0
linear 1/3..1/2*n1
output n2
side
direction 1*d0
side
direction -1*d0
coordinate d0
end
";

/// max(a x, b x) with a < b, as near to each other as they can be told.
const NEAR: &str = "crease-certificate 1
claim not-differentiable-enclosed
dimension 1
bits 64
nodes 3
linear 1..4294967297/4294967296*d0
linear 2147483649/2147483648..4294967299/4294967296*d0
max n0 n1
output n2
side
direction -2*d0
side
direction 2*d0
coordinate d0
end
";

/// c relu(relu(x) - y) + max(b x, y) + e y + max(u, u)/2, where u = x + relu(x) comes about twice: a tie of no consequence. The third coordinate
/// plays no part.
const DEEP: &str = "crease-certificate 1
claim not-differentiable-enclosed
dimension 3
bits 192
nodes 10
linear 0
# relu(x)
max n0 d0
linear 1*n1 -1*d1
max n0 n2
linear -7/4..-5/3*d0
max n4 d1
linear 1*d0 1*n1
linear 1*n1 1*d0
max n6 n7
linear 5/2..3*n3 1*n5 -1/8..1/8*d1 1/2*n8
output n9
side
direction 4*d0 1*d1
side
direction 1*d0 -3*d1 5*d2
coordinate d1
end
";

const ALL: [(&str, &str); 3] = [("ABS", ABS), ("NEAR", NEAR), ("DEEP", DEEP)];

/// Coefficients and variables.
type Terms = Vec<(Rational, char, usize)>;

/// A choice of coefficients. Each node is the largest of its terms, if that is said, or their sum.
struct Choice {
    dimension: usize,
    nodes: Vec<(bool, Terms)>,
    output: (char, usize),
}

fn variable(word: &str) -> (char, usize) {
    (word.chars().next().unwrap(), word[1..].parse().unwrap())
}

impl Choice {
    /// Draws coefficients, the ends of enclosures among them, for the model of a certificate that was accepted.
    fn draw(text: &str, random: &mut Random) -> Choice {
        let mut choice = Choice { dimension: 0, nodes: Vec::new(), output: ('d', 0) };
        let mut draw = |term: &str| {
            let (c, v) = term.split_once('*').unwrap();
            let (letter, i) = variable(v);
            let Some((low, high)) = c.split_once("..") else { return (c.parse().unwrap(), letter, i) };
            let (low, high): (Rational, Rational) = (low.parse().unwrap(), high.parse().unwrap());
            let share = Rational::new(random.below(5) as i64, 4).unwrap();
            (&low + &((&high - &low) * share), letter, i)
        };
        for line in text.lines() {
            match line.split_once(' ') {
                Some(("dimension", n)) => choice.dimension = n.parse().unwrap(),
                Some(("linear", "0")) => choice.nodes.push((false, Vec::new())),
                Some(("linear", terms)) => choice.nodes.push((false, terms.split(' ').map(&mut draw).collect())),
                Some(("max", members)) => {
                    let member = |m| {
                        let (letter, i) = variable(m);
                        (Rational::ONE, letter, i)
                    };
                    choice.nodes.push((true, members.split(' ').map(member).collect()));
                }
                Some(("output", v)) => choice.output = variable(v),
                _ => {}
            }
        }
        choice
    }

    fn at(&self, d: &[Rational]) -> Rational {
        let mut values: Vec<Rational> = Vec::new();
        let of = |values: &[Rational], letter, i: usize| if letter == 'd' { d[i].clone() } else { values[i].clone() };
        for (maximum, terms) in &self.nodes {
            let parts = terms.iter().map(|(c, letter, i)| c * &of(&values, *letter, *i));
            let value = if *maximum { parts.max().unwrap() } else { parts.sum() };
            values.push(value);
        }
        of(&values, self.output.0, self.output.1)
    }

    /// The gradient around a direction, if the function is linear there as far as many directions tell.
    fn gradient(&self, direction: &[Rational], random: &mut Random) -> Option<Vec<Rational>> {
        let tiny = Rational::from(2).pow(-400).unwrap();
        let far = Rational::from(2).pow(400).unwrap();
        let here = self.at(direction);
        let moved = |step: &[Rational]| {
            let near: Vec<Rational> = direction.iter().zip(step).map(|(d, s)| d + &(s * &tiny)).collect();
            (self.at(&near) - &here) * &far
        };
        let unit = |j| (0..self.dimension).map(|i| Rational::from(i64::from(i == j))).collect::<Vec<_>>();
        let gradient: Vec<Rational> = (0..self.dimension).map(|j| moved(&unit(j))).collect();
        (0..12)
            .all(|_| {
                let step = random.vector(self.dimension, 100);
                moved(&step) == gradient.iter().zip(&step).map(|(g, s)| g * s).sum()
            })
            .then_some(gradient)
    }
}

/// Whether what the checker says of a text is true for coefficients that are drawn.
fn is_true(text: &str, claim: &Claim, random: &mut Random) -> bool {
    let Claim::NotDifferentiableEnclosed { coordinate, sides, .. } = claim else { return false };
    let [a, b] = sides;
    let apart = a.high < b.low || b.high < a.low;
    apart
        && (0..4).all(|_| {
            let choice = Choice::draw(text, random);
            let mut slopes = Vec::new();
            for side in sides {
                let direction: Vec<Rational> = (0..choice.dimension).map(|i| side.direction.get(i)).collect();
                let Some(gradient) = choice.gradient(&direction, random) else { return false };
                let slope = gradient[*coordinate].clone();
                if slope < side.low || slope > side.high {
                    return false;
                }
                slopes.push(slope);
            }
            slopes[0] != slopes[1]
        })
}

#[test]
fn valid_certificates_prove_what_is_true() {
    for (name, text) in ALL {
        let checked = check(text.as_bytes()).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(is_true(text, &checked.claim, &mut Random(1)), "{name}");
    }
    let checked = check(DEEP.as_bytes()).unwrap();
    assert_eq!((checked.dimension, checked.kinks), (3, 4));
    let Claim::NotDifferentiableEnclosed { bits, coordinate, sides } = checked.claim else { panic!() };
    assert_eq!((bits, coordinate), (192, 1));
    // in y it is -c + 1 + e around the first direction, and -c + e around the second, where y < b x
    assert_eq!(
        [&sides[0].low, &sides[0].high, &sides[1].low, &sides[1].high].map(|x| x.fraction()),
        ["-17/8", "-11/8", "-25/8", "-19/8"]
    );
}

#[test]
fn models_are_normalised() {
    let text = ABS.replace("linear -1*d0", "# a comment\nlinear -1*d0");
    let model = check(text.as_bytes()).unwrap().model;
    assert_eq!(model, "dimension 1\nbits 128\nnodes 3\nlinear -1*d0\nmax d0 n0\nlinear 1/3..1/2*n1\noutput n2\n");
    let swapped = DEEP.replace("linear 1*n1 1*d0", "linear 1*d0 1*n1");
    assert_ne!(swapped, DEEP);
    assert_eq!(check(swapped.as_bytes()).unwrap().model, check(DEEP.as_bytes()).unwrap().model);
}

#[track_caller]
fn refused(text: &str, line: usize, message: &str) {
    let error = check(text.as_bytes()).unwrap_err();
    assert!(error.line == line && error.message.contains(message), "{error}");
}

#[test]
fn messages_say_what_was_expected_and_found() {
    let change = |a: &str, b: &str| {
        assert!(ABS.contains(a), "{a}");
        ABS.replacen(a, b, 1)
    };
    refused(&change("bits 128", "bits 0"), 4, "expected a positive number of bits, found `0`");
    refused(&change("nodes 3", "nodes 4"), 9, "or `max VARIABLE VARIABLE ...`, found `output n2`");
    refused(&change("nodes 3", "nodes 2"), 8, "expected `output VARIABLE`");
    refused(&change("-1*d0", "-1*n0"), 6, "n0 cannot be used here; there are 1 coordinates and 0 earlier nodes");
    refused(&change("-1*d0", "-1*d1"), 6, "d1 cannot be used here");
    refused(&change("-1*d0", "-1*d0 2*d0"), 6, "d0 stands in the combination twice");
    refused(&change("-1*d0", "0*d0"), 6, "expected a coefficient that is not 0");
    refused(&change("linear -1*d0", "linear"), 6, "expected a term, or `0`, found nothing");
    refused(&change("linear -1*d0", "linear 0 1*d0"), 6, "expected the end of the line");
    refused(&change("max d0 n0", "max d0"), 7, "two or more variables; here is 1");
    refused(&change("max d0 n0", "max"), 7, "two or more variables; here is 0");
    refused(&change("max d0 n0", "max d0 n1"), 7, "n1 cannot be used here");
    for bad in ["1/2..1/3", "1/2..1/2", "1/3...1/2", "1/3..", "..1/2", "1/3..2/4", "1/3..1/2..1"] {
        refused(&change("1/3..1/2", bad), 8, "expected");
    }
    refused(&change("output n2", "output n3"), 9, "n3 cannot be used here");
    refused(&change("direction 1*d0", "direction 0"), 11, "do not tell which member of the maximum n1 is the largest");
    refused(&change("direction 1*d0", "direction 1*n0"), 11, "expected a term");
    refused(&change("direction -1*d0", "direction 2*d0"), 14, "the enclosures of d0 of the two gradients meet");
    refused(&change("coordinate d0", "coordinate n0"), 14, "n0 cannot be used here");
    refused(&change("coordinate d0", "coordinate d1"), 14, "d1 cannot be used here");
    refused(&change("1/3..1/2", "0..1/2"), 14, "the enclosures of d0 of the two gradients meet");
    // b need not be above a any more: along x they cannot be told apart
    let touching = NEAR.replace("2147483649/2147483648..", "4294967297/4294967296..");
    refused(&touching, 11, "the maximum n2 is the largest: n0 and n1 may both be");
    // the same number enclosed twice may be two numbers
    let twice = DEEP.replace("linear 1*n1 1*d0", "linear 1..2*n1 1*d0").replace("1*d0 1*n1", "1*d0 1..2*n1");
    refused(&twice, 19, "the maximum n8");
    // the other coordinate does not show it
    refused(&DEEP.replace("coordinate d1", "coordinate d2"), 22, "the enclosures of d2");
    refused(&format!("{ABS}end\n"), 16, "expected the end of the text");
}

fn tokens(text: &str) -> Vec<(usize, &str)> {
    let place = |t: &str| t.as_ptr() as usize - text.as_ptr() as usize;
    text.split([' ', '\n', '*']).filter(|t| !t.is_empty()).map(|t| (place(t), t)).collect()
}

/// Another token in place of one.
fn changed(token: &str, all: &[(usize, &str)], random: &mut Random) -> String {
    let digits: Vec<usize> = token.char_indices().filter(|c| c.1.is_ascii_digit()).map(|c| c.0).collect();
    match random.below(6) {
        0 => all[random.below(all.len())].1.to_string(),
        1 => token.strip_prefix('-').map_or(format!("-{token}"), Into::into),
        2 => token.replacen('n', "d", 1),
        3 => token.replacen('d', "n", 1),
        4 => token.split_once("..").map_or(format!("{token}..5"), |(low, _)| low.to_string()),
        _ if digits.is_empty() => "0".into(),
        _ => {
            let (i, digit) = (digits[random.below(digits.len())], random.below(10));
            format!("{}{digit}{}", &token[..i], &token[i + 1..])
        }
    }
}

/// Tokens and lines changed at random, a few at once.
#[test]
fn damaged_certificates_are_refused_or_true() {
    let (mut accepted, mut other, random) = (0, 0, &mut Random(5));
    for round in 0..40_000 {
        let original = ALL[round % ALL.len()].1;
        let mut text = original.to_string();
        for _ in 0..1 + random.below(3) {
            if random.below(8) == 0 {
                let mut lines: Vec<&str> = text.lines().collect();
                let (i, j) = (random.below(lines.len()), random.below(lines.len()));
                match random.below(3) {
                    0 => drop(lines.remove(i)),
                    1 => lines.insert(i, lines[j]),
                    _ => lines.swap(i, j),
                }
                text = lines.iter().flat_map(|l| [l, "\n"]).collect();
                continue;
            }
            let all = tokens(&text);
            let (start, token) = all[random.below(all.len())];
            let new = changed(token, &all, random);
            text.replace_range(start..start + token.len(), &new);
        }
        match check(text.as_bytes()) {
            Err(e) => assert!(e.line >= 1 && e.line <= text.lines().count() + 1, "{e}\n{text}"),
            Ok(checked) => {
                assert!(is_true(&text, &checked.claim, random), "{:?}\n{text}", checked.claim);
                accepted += 1;
                other += usize::from(checked.model != check(original.as_bytes()).unwrap().model);
            }
        }
    }
    // and of those that were accepted, many are about other models
    assert!(accepted > 1000 && other > 500 && accepted < 20_000, "{accepted} accepted, {other} of other models");
}

#[test]
fn texts_cut_off_anywhere() {
    for (name, text) in ALL {
        for n in 0..text.len() - 1 {
            check(&text.as_bytes()[..n]).expect_err(name);
        }
    }
}

/// Counts are promises that nobody believes, and numbers that grow are refused.
#[test]
fn texts_that_ask_for_too_much() {
    let head = |n: usize| {
        format!("crease-certificate 1\nclaim not-differentiable-enclosed\ndimension 1\nbits 128\nnodes {n}\n")
    };
    refused(&head(4294967295), 6, "found the end of the text");
    let n = 600;
    let big = format!("1{}", "0".repeat(300));
    let mut grows = head(n) + "linear 1..2*d0\n";
    (1..n).for_each(|i| grows += &format!("linear {big}..{big}1*n{}\n", i - 1));
    grows += &format!("output n{}\nside\ndirection 1*d0\n", n - 1);
    refused(&grows, 5 + n + 3, "a number grows longer than 262144 bits");
}
