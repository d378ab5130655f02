//! Fourier and Motzkin's elimination: the slow and simple way to ask whether half-spaces have a direction in common.

/// Rows `(coefficients, strict)`: whether there is a direction with all of them `>= 0`, or `> 0` where strict.
pub fn has_direction(mut rows: Vec<(Vec<i128>, bool)>) -> bool {
    while let Some(n) = rows.first().map(|r| r.0.len()).filter(|&n| n > 0) {
        let k = n - 1;
        let (mut up, mut down, mut next) = (Vec::new(), Vec::new(), Vec::new());
        for row in rows {
            match row.0[k].signum() {
                1 => up.push(row),
                -1 => down.push(row),
                _ => next.push((row.0[..k].to_vec(), row.1)),
            }
        }
        for (a, s) in &up {
            for (b, t) in &down {
                let mut sum: Vec<i128> = (0..k).map(|i| a[i] * -b[k] + b[i] * a[k]).collect();
                let g = sum.iter().fold(0, |g, &x| gcd(g, x));
                if g > 1 {
                    sum.iter_mut().for_each(|x| *x /= g);
                }
                next.push((sum, *s || *t));
            }
        }
        next.sort();
        next.dedup();
        rows = next;
    }
    rows.iter().all(|r| !r.1)
}

fn gcd(a: i128, b: i128) -> i128 {
    if b == 0 { a.abs() } else { gcd(b, a % b) }
}
