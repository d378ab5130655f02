//! "Did you mean": the name that is nearest to a misspelt one.

/// Names longer than this are not compared.
const LONGEST: usize = 40;

/// The candidate nearest to `name`, if it is near enough to be meant; the earliest of equally near ones.
pub(crate) fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if name.len() > LONGEST {
        return None;
    }
    let limit = match name.chars().count() {
        0..=4 => 1,
        5..=8 => 2,
        _ => 3,
    };
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        if candidate.len() > LONGEST || candidate.len().abs_diff(name.len()) > 2 * limit {
            continue;
        }
        let d = distance(name, candidate);
        // a name that would have to be written anew letter by letter is not meant
        let near = d <= limit && d < name.chars().count().max(candidate.chars().count());
        if near && best.is_none_or(|(b, c)| (d, candidate) < (b, c)) {
            best = Some((d, candidate));
        }
    }
    best.map(|(_, name)| name)
}

/// The sentence that names a suggestion, to follow a message; nothing where there is none.
pub(crate) fn did_you_mean<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(name, candidates).map(|n| format!("; did you mean `{n}`?")).unwrap_or_default()
}

/// The number of letters to insert, remove, replace or swap with their neighbour.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let width = b.len() + 1;
    let mut rows = vec![0usize; (a.len() + 1) * width];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            rows[i * width + j] = if i == 0 || j == 0 {
                i + j
            } else {
                let differ = usize::from(!a[i - 1].eq_ignore_ascii_case(&b[j - 1]));
                let mut d = (rows[(i - 1) * width + j] + 1)
                    .min(rows[i * width + j - 1] + 1)
                    .min(rows[(i - 1) * width + j - 1] + differ);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    d = d.min(rows[(i - 2) * width + j - 2] + 1);
                }
                d
            };
        }
    }
    rows[a.len() * width + b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let names = ["relu", "elu", "log", "exp", "x"];
        assert_eq!(nearest("rleu", names), Some("relu"));
        assert_eq!(nearest("RELU", names), Some("relu"));
        assert_eq!(nearest("lgo", names), Some("log"));
        assert_eq!(nearest("softplus", names), None);
        assert_eq!(nearest("y", names), None);
    }
}
