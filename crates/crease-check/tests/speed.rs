//! How long a long proof takes. In release: `cargo test --release -p crease-check --test speed -- --ignored --nocapture`.

#[allow(dead_code)]
mod truth;

use crease_check::check;
use std::fmt::Write;
use std::time::Instant;
use truth::Random;

/// Atoms say which of two coordinates is larger, lemmas that this is transitive; learned is that the first on a path is larger than the
/// last, for a hundred thousand paths of thirty.
#[test]
#[ignore = "takes seconds, in release"]
fn many_long_clauses() {
    let (n, length, paths) = (32_usize, 30, 100_000);
    let mut text =
        format!("crease-certificate 1\nclaim differentiable\ndimension {n}\nkinks 0\noutput 0\ngradient 0\nrelus 0\n");
    let pairs: Vec<(usize, usize)> = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j))).collect();
    let mut atoms = vec![vec![0_i32; n]; n];
    for (&(i, j), atom) in pairs.iter().zip(1..) {
        writeln!(text, "atom > 1*d{i} -1*d{j}").unwrap();
        (atoms[i][j], atoms[j][i]) = (atom, -atom);
    }
    for &(i, j) in &pairs {
        for k in j + 1..n {
            writeln!(text, "lemma {} 1 {} 1 {} 1", atoms[i][j], atoms[j][k], atoms[k][i]).unwrap();
            writeln!(text, "lemma {} 1 {} 1 {} 1", atoms[j][i], atoms[k][j], atoms[i][k]).unwrap();
        }
    }
    let random = &mut Random(1);
    for _ in 0..paths {
        let mut path: Vec<usize> = (0..n).collect();
        (0..n).for_each(|i| path.swap(i, i + random.below(n - i)));
        let path = &path[..length];
        let clause: Vec<String> = path.windows(2).map(|w| (-atoms[w[0]][w[1]]).to_string()).collect();
        writeln!(text, "learn {} {}", clause.join(" "), atoms[path[0]][path[length - 1]]).unwrap();
    }
    text += "end\n";
    let start = Instant::now();
    let checked = check(text.as_bytes()).unwrap();
    println!("{} bytes, {:?}, {:?}", text.len(), checked.statistics, start.elapsed());
    assert_eq!(checked.statistics.learned, paths);
}
