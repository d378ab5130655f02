//! Certificates that were damaged: each is refused, or proves something that is true all the same.

mod cases;
#[allow(dead_code)]
mod truth;

use crease_check::check;
use truth::{Function, Random};

/// How many damaged certificates were refused, and how many were not.
#[derive(Debug, Default)]
struct Count {
    refused: usize,
    accepted: usize,
}

impl Count {
    /// Sees that a text is refused with a line that it has, or that what it proves is true.
    #[track_caller]
    fn check(&mut self, text: &str, random: &mut Random) {
        match check(text.as_bytes()) {
            Err(e) => {
                assert!(e.line >= 1 && e.line <= text.lines().count() + 1, "{e}\n{text}");
                self.refused += 1;
            }
            Ok(checked) => {
                assert!(Function::of(text).has(&checked.claim, random), "{:?}\n{text}", checked.claim);
                assert_eq!(Function::of(&checked.model).dimension, checked.dimension);
                self.accepted += 1;
            }
        }
    }
}

fn joined(lines: &[&str]) -> String {
    lines.iter().flat_map(|l| [l, "\n"]).collect()
}

#[test]
fn lines_deleted_duplicated_and_swapped() {
    let (mut count, random) = (Count::default(), &mut Random(1));
    for (_, text) in cases::ALL {
        let lines: Vec<&str> = text.lines().collect();
        for i in 0..lines.len() {
            let mut deleted = lines.clone();
            deleted.remove(i);
            count.check(&joined(&deleted), random);
            let mut twice = lines.clone();
            twice.insert(i, lines[i]);
            count.check(&joined(&twice), random);
            for j in i + 1..lines.len() {
                let mut swapped = lines.clone();
                swapped.swap(i, j);
                count.check(&joined(&swapped), random);
            }
        }
    }
    // such as comments, lines of the same kind, and clauses that are there twice
    assert!(count.refused > 8 * count.accepted, "{count:?}");
}

#[test]
fn texts_cut_off_anywhere() {
    for (name, text) in cases::ALL {
        for n in 0..text.len() - 1 {
            let error = check(&text.as_bytes()[..n]).expect_err(name);
            assert!(error.line <= text.lines().count());
        }
    }
}

#[test]
fn every_byte_changed() {
    let mut accepted = 0;
    for (_, text) in cases::ALL {
        for i in 0..text.len() {
            for byte in [
                b'0', b'1', b'7', b'-', b' ', b'\n', b'd', b'z', b'w', b'k', b'/', b'#', b';', b'>', b'=', b'\r', 0,
                0xff,
            ] {
                let mut bytes = text.as_bytes().to_vec();
                bytes[i] = byte;
                if let Ok(checked) = check(&bytes) {
                    accepted += 1;
                    let text = String::from_utf8(bytes).unwrap();
                    assert!(Function::of(&text).has(&checked.claim, &mut Random(i as u64)), "{text}");
                }
            }
        }
    }
    assert!(accepted > 0);
}

/// All ways to change one token a little.
fn changed(token: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    // every number in it by one
    let digits: Vec<usize> = token.char_indices().filter(|(_, c)| c.is_ascii_digit()).map(|(i, _)| i).collect();
    for &i in &digits {
        if i > 0 && digits.contains(&(i - 1)) {
            continue;
        }
        let end = (i..token.len()).find(|j| !digits.contains(j)).unwrap_or(token.len());
        let n: i64 = token[i..end].parse().unwrap();
        out.extend([n - 1, n + 1].map(|m| format!("{}{m}{}", &token[..i], &token[end..])));
    }
    // its sign
    match token.strip_prefix('-') {
        Some(rest) => out.push(rest.into()),
        None => out.push(format!("-{token}")),
    }
    // its kind
    for (a, b) in [("d", "z"), ("d", "k"), ("k", "d"), ("z", "d"), ("z", "w"), ("w", "z"), ("F", "T"), ("T", "F")] {
        out.push(token.replacen(a, b, 1));
    }
    match token {
        ">" | ">=" | "=" => out.extend([">", ">=", "=", "z0"].map(Into::into)),
        _ if token.starts_with('z') => out.extend(["=", ">="].map(Into::into)),
        _ => {}
    }
    if token.parse::<i32>().is_ok() {
        out.extend(["F".into(), "T".into(), "0".into()]);
    }
    out.retain(|t| t != token);
    out
}

#[test]
fn numbers_signs_and_kinds_changed() {
    let (mut count, random) = (Count::default(), &mut Random(2));
    for (_, text) in cases::ALL {
        for (start, token) in tokens(text) {
            for other in changed(token) {
                count.check(&format!("{}{other}{}", &text[..start], &text[start + token.len()..]), random);
            }
        }
    }
    assert!(count.accepted > 0 && count.refused > 20 * count.accepted, "{count:?}");
}

fn tokens(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split([' ', '\n']).map(|t| (t.as_ptr() as usize - text.as_ptr() as usize, t)).filter(|t| !t.1.is_empty())
}

/// Several changes at once, some of which make good for others.
#[test]
fn many_changes_at_random() {
    let (mut count, random) = (Count::default(), &mut Random(3));
    for round in 0..30_000 {
        let (_, text) = cases::ALL[round % cases::ALL.len()];
        let mut text = text.to_string();
        for _ in 0..1 + random.below(4) {
            let all: Vec<(usize, &str)> = tokens(&text).collect();
            let (start, token) = all[random.below(all.len())];
            let other = match random.below(3) {
                0 => all[random.below(all.len())].1.to_string(),
                _ => {
                    let ways = changed(token);
                    ways[random.below(ways.len())].clone()
                }
            };
            text.replace_range(start..start + token.len(), &other);
        }
        count.check(&text, random);
    }
    assert!(count.accepted > 100, "{count:?}");
}
