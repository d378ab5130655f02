//! Expressions that doubles get wrong.

use super::grow::Grower;

/// Makes an expression, and the inputs that it needs.
pub(super) type Kernel = fn(&mut Grower<'_>) -> String;

/// What cancels; the numbers in comments are what is left of 16 digits.
pub(super) const CANCELLATIONS: &[Kernel] = &[
    |g| {
        let x = g.small(3, 13);
        format!("(1 - cos({x})) / {x}^2")
    },
    |g| {
        let x = g.small(3, 13);
        format!("(exp({x}) - 1 - {x}) / {x}^2")
    },
    |g| {
        let x = g.between(5, 40);
        format!("1 - tanh({x})")
    },
    |g| {
        let x = g.between(5, 60);
        format!("1 - sigmoid({x})")
    },
    |g| {
        let x = g.between(2, 15);
        format!("1 - erf({x})")
    },
    |g| {
        let x = g.small(3, 20);
        format!("sqrt({x} * {x} + 1) - 1")
    },
    |g| {
        let x = g.small(3, 15);
        format!("(log(1 + {x}) - {x}) / {x}^2")
    },
    |g| {
        let x = g.small(2, 9);
        format!("(sin({x}) - {x}) / {x}^3")
    },
    |g| {
        let x = g.small(2, 9);
        format!("(tanh({x}) - atan({x})) / {x}^3")
    },
    |g| {
        let x = g.small(2, 8);
        format!("(asin({x}) - sinh({x})) / {x}^3")
    },
    // sin(x - y)
    |g| {
        let (x, y) = g.close_pair();
        format!("sin({x}) * cos({y}) - cos({x}) * sin({y})")
    },
    |g| {
        let (x, y) = g.close_pair();
        format!("exp({x}) - exp({y})")
    },
    |g| {
        let (x, y) = g.close_pair();
        format!("(log({x}) - log({y})) / ({x} - {y})")
    },
    |g| {
        let x = g.large(6, 17);
        format!("sqrt({x} + 1) - sqrt({x})")
    },
    |g| {
        let x = g.large(6, 17);
        format!("1 / (sqrt({x} + 1) - sqrt({x}))")
    },
    // the small root of a quadratic equation
    |g| {
        let (b, c) = (g.large(4, 12), g.between(1, 9));
        format!("(-{b} + sqrt({b} * {b} - 4 * {c})) / 2")
    },
    |g| {
        let (x, big) = (g.between(1, 9), g.large(10, 22));
        format!("({big} + sin({x})) - {big}")
    },
    |g| {
        let (x, big) = (g.between(1, 9), g.large(10, 22));
        format!("exp({x}) * {big} - (exp({x}) - 1) * {big} - {big} + log({x} + 1)")
    },
    |g| {
        let x = g.large(8, 18);
        format!("2 * atan(1) - atan({x})")
    },
    |g| {
        let x = g.small(6, 20);
        format!("acosh(1 + {x})")
    },
    |g| {
        let x = g.small(6, 20);
        format!("acos(1 - {x})")
    },
    // the Taylor series of exp(-sqrt(x)), which alternates
    |g| {
        let x = g.between(100, 900);
        let n = 80 + g.rng.below(60);
        (1..=n).rev().fold("1".to_string(), |s, k| format!("1 - sqrt({x}) / {k} * ({s})"))
    },
    // what is left of the exponential after the first terms of its series
    |g| {
        let x = g.small(2, 6);
        let n = 2 + g.rng.below(8);
        let mut factorial = 1_u64;
        let mut terms = String::from("1");
        for k in 1..=n as u64 {
            factorial *= k;
            terms += &format!(" + {x}^{k} / {factorial}");
        }
        format!("(exp({x}) - ({terms})) / {x}^{}", n + 1)
    },
    |g| {
        let x = g.small(2, 7);
        format!("(cos({x}) - 1 + {x}^2 / 2 - {x}^4 / 24) / {x}^6")
    },
    // a variance by the formula that cancels
    |g| {
        let (x, big) = (g.between(1, 9), g.large(5, 14));
        format!("(({big} + exp({x}))^2 + ({big} - exp({x}))^2) / 2 - {big}^2")
    },
    |g| {
        let (x, big) = (g.between(1, 9), g.large(5, 14));
        format!("std([{big} + sin({x}), {big}, {big} - cos({x})])")
    },
    |g| {
        let (x, y) = (g.between(500, 900), g.between(1, 9));
        format!("logsumexp({x}, {y}, {x} - {y}) - {x}")
    },
    // the second difference of a function
    |g| {
        let (x, h) = (g.between(1, 9), g.small(3, 10));
        format!("(exp({x} + {h}) - 2 * exp({x}) + exp({x} - {h})) / {h}^2")
    },
    |g| {
        let (x, h) = (g.between(1, 9), g.small(3, 14));
        format!("(sqrt({x} + {h}) - sqrt({x})) / {h}")
    },
    |g| {
        let x = g.large(3, 22);
        format!("sin({x} * atan(1) * 4) / 2")
    },
    |g| {
        let x = g.large(8, 60);
        format!("cos({x}) + {x} * sin({x}) / {x}")
    },
    |g| {
        let x = g.small(4, 14);
        format!("1 / tan({x}) - 1 / {x}")
    },
    |g| {
        let x = g.small(4, 30);
        format!("softplus({x}) - log(2)")
    },
    |g| {
        let x = g.small(4, 30);
        format!("(1 + {x})^(1/3) - 1")
    },
    |g| {
        let (x, y) = g.close_pair();
        format!("norm2({x}, {y}) - sqrt(2) * {y}")
    },
    |g| {
        let x = g.between(3, 30);
        format!("atanh(tanh({x})) - {x} * tanh({x})")
    },
];

/// What doubles are too small or too large for on the way.
pub(super) const RANGES: &[Kernel] = &[
    |g| {
        let x = g.between(300, 2000);
        format!("log(sigmoid(-{x}))")
    },
    |g| {
        let x = g.between(300, 2000);
        format!("log(1 + exp({x}))")
    },
    |g| {
        let (x, y) = g.near(700, 1500);
        format!("exp({x}) / exp({y})")
    },
    |g| {
        let (x, y) = g.near(700, 1500);
        format!("exp({x}) / (exp({x}) + exp({y}))")
    },
    |g| {
        let (x, y) = g.near(700, 1500);
        format!("exp(-{x}) * exp({y})")
    },
    |g| {
        let x = g.between(400, 1500);
        format!("log(cosh({x}))")
    },
    |g| {
        let x = g.between(400, 1500);
        format!("sinh({x}) / cosh({x} - 1)")
    },
    |g| {
        let (x, y) = (g.large(150, 250), g.large(150, 250));
        format!("sqrt({x} * {x} + {y} * {y})")
    },
    |g| {
        let (x, y) = (g.small(165, 250), g.small(165, 250));
        format!("sqrt({x} * {x} + {y} * {y})")
    },
    |g| {
        let x = g.small(120, 250);
        format!("exp({x}^2 / {x}^3 * {x}) + {x}^4 / {x}^4")
    },
    |g| {
        let (x, y) = g.near(20, 40);
        format!("erfc({x}) * exp({y} * {x})")
    },
    |g| {
        let x = g.between(30, 60);
        format!("log(erfc({x}))")
    },
    |g| {
        let (x, y) = g.near(700, 1500);
        format!("log(exp({x}) + exp({y}))")
    },
    |g| {
        let x = g.between(2, 9);
        let n = 400 + g.rng.below(2000);
        format!("{x}^{n} / ({x} + 1/1000)^{n}")
    },
    |g| {
        let x = g.large(200, 280);
        format!("log({x}^3) - log({x}^2)")
    },
    |g| {
        let x = g.between(50, 700);
        format!("asinh(exp({x}) * 2)")
    },
    |g| {
        let x = g.large(160, 250);
        format!("sqrt({x}) * sqrt({x} + sqrt({x}))  / {x}")
    },
];
