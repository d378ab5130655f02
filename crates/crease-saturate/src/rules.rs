//! The laws under which the e-graph is saturated.
//!
//! Each of them holds for all real numbers for which its left side is defined, and its right side is defined there too. So by
//! induction every term of the e-graph is defined wherever the given program is, and has there the value of its class: a term such as
//! `x * inv(x)` may become 1, because a program that holds it is not defined where x = 0.
//!
//! Laws without numbers are patterns; those that look at numbers (powers, scaling by constants, signs) are passes over all terms.
//! Deliberately absent: laws of exp, log and the other smooth functions, which are opaque here, and the expansion of a maximum of
//! minima, which only makes programs dearer.

use crate::language::{Graph, Node};
use crease_core::Rational;
use crease_core::dictionary::Dictionary;
use egg::{Id, Pattern, Rewrite};

type Law = Rewrite<Node, crate::language::Facts>;

/// Laws, as a name and two sides.
const LAWS: &[(&str, &str, &str)] = &[
    // the ring
    ("a + b = b + a", "(+ ?a ?b)", "(+ ?b ?a)"),
    ("a b = b a", "(* ?a ?b)", "(* ?b ?a)"),
    ("a + (b + c) = (a + b) + c", "(+ ?a (+ ?b ?c))", "(+ (+ ?a ?b) ?c)"),
    ("a (b c) = (a b) c", "(* ?a (* ?b ?c))", "(* (* ?a ?b) ?c)"),
    ("a b + a c = a (b + c)", "(+ (* ?a ?b) (* ?a ?c))", "(* ?a (+ ?b ?c))"),
    ("a (b + c) = a b + a c", "(* ?a (+ ?b ?c))", "(+ (* ?a ?b) (* ?a ?c))"),
    ("a + a b = a (b + 1)", "(+ ?a (* ?a ?b))", "(* ?a (+ ?b 1))"),
    ("a + a = 2 a", "(+ ?a ?a)", "(* 2 ?a)"),
    ("2 a = a + a", "(* 2 ?a)", "(+ ?a ?a)"),
    ("a + 0 = a", "(+ ?a 0)", "?a"),
    ("1 a = a", "(* 1 ?a)", "?a"),
    ("0 a = 0", "(* 0 ?a)", "0"),
    ("a - a = 0", "(- ?a ?a)", "0"),
    ("a - b = a + (-1) b", "(- ?a ?b)", "(+ ?a (* -1 ?b))"),
    ("a + (-1) b = a - b", "(+ ?a (* -1 ?b))", "(- ?a ?b)"),
    ("-a = (-1) a", "(neg ?a)", "(* -1 ?a)"),
    ("(-1) a = -a", "(* -1 ?a)", "(neg ?a)"),
    ("a + -b = a - b", "(+ ?a (neg ?b))", "(- ?a ?b)"),
    ("(a - b) + b = a", "(+ (- ?a ?b) ?b)", "?a"),
    ("(a + b) - b = a", "(- (+ ?a ?b) ?b)", "?a"),
    ("a - (a - b) = b", "(- ?a (- ?a ?b))", "?b"),
    ("a - (b - c) = a + (c - b)", "(- ?a (- ?b ?c))", "(+ ?a (- ?c ?b))"),
    ("-(a - b) = b - a", "(neg (- ?a ?b))", "(- ?b ?a)"),
    ("a b - a c = a (b - c)", "(- (* ?a ?b) (* ?a ?c))", "(* ?a (- ?b ?c))"),
    // division
    ("a / b = a inv(b)", "(/ ?a ?b)", "(* ?a (inv ?b))"),
    ("a inv(b) = a / b", "(* ?a (inv ?b))", "(/ ?a ?b)"),
    ("inv(inv(a)) = a", "(inv (inv ?a))", "?a"),
    ("inv(a) inv(b) = inv(a b)", "(* (inv ?a) (inv ?b))", "(inv (* ?a ?b))"),
    ("inv(a b) = inv(a) inv(b)", "(inv (* ?a ?b))", "(* (inv ?a) (inv ?b))"),
    ("a inv(a) = 1", "(* ?a (inv ?a))", "1"),
    // the lattice
    ("max(a, b) = max(b, a)", "(max ?a ?b)", "(max ?b ?a)"),
    ("min(a, b) = min(b, a)", "(min ?a ?b)", "(min ?b ?a)"),
    ("max(a, max(b, c)) = max(max(a, b), c)", "(max ?a (max ?b ?c))", "(max (max ?a ?b) ?c)"),
    ("min(a, min(b, c)) = min(min(a, b), c)", "(min ?a (min ?b ?c))", "(min (min ?a ?b) ?c)"),
    ("max(a, a) = a", "(max ?a ?a)", "?a"),
    ("min(a, a) = a", "(min ?a ?a)", "?a"),
    ("max(a, min(a, b)) = a", "(max ?a (min ?a ?b))", "?a"),
    ("min(a, max(a, b)) = a", "(min ?a (max ?a ?b))", "?a"),
    ("min(max(a, b), max(a, c)) = max(a, min(b, c))", "(min (max ?a ?b) (max ?a ?c))", "(max ?a (min ?b ?c))"),
    ("max(min(a, b), min(a, c)) = min(a, max(b, c))", "(max (min ?a ?b) (min ?a ?c))", "(min ?a (max ?b ?c))"),
    ("max(a + c, b + c) = max(a, b) + c", "(max (+ ?a ?c) (+ ?b ?c))", "(+ (max ?a ?b) ?c)"),
    ("min(a + c, b + c) = min(a, b) + c", "(min (+ ?a ?c) (+ ?b ?c))", "(+ (min ?a ?b) ?c)"),
    ("c + max(a, b) = max(a + c, b + c)", "(+ ?c (max ?a ?b))", "(max (+ ?a ?c) (+ ?b ?c))"),
    ("c + min(a, b) = min(a + c, b + c)", "(+ ?c (min ?a ?b))", "(min (+ ?a ?c) (+ ?b ?c))"),
    ("max(a, b) + min(a, b) = a + b", "(+ (max ?a ?b) (min ?a ?b))", "(+ ?a ?b)"),
    ("max(a, b) - min(a, b) = |a - b|", "(- (max ?a ?b) (min ?a ?b))", "(abs (- ?a ?b))"),
    ("relu(a) = max(a, 0)", "(relu ?a)", "(max ?a 0)"),
    ("max(a, 0) = relu(a)", "(max ?a 0)", "(relu ?a)"),
    ("relu(a - b) + b = max(a, b)", "(+ (relu (- ?a ?b)) ?b)", "(max ?a ?b)"),
    ("max(a, b) = relu(a - b) + b", "(max ?a ?b)", "(+ (relu (- ?a ?b)) ?b)"),
    ("a - relu(a - b) = min(a, b)", "(- ?a (relu (- ?a ?b)))", "(min ?a ?b)"),
    ("min(a, b) = a - relu(a - b)", "(min ?a ?b)", "(- ?a (relu (- ?a ?b)))"),
    ("relu(-a) = relu(a) - a", "(relu (* -1 ?a))", "(- (relu ?a) ?a)"),
    ("relu(b - a) = relu(a - b) + (b - a)", "(relu (- ?b ?a))", "(+ (relu (- ?a ?b)) (- ?b ?a))"),
    ("relu(a) - relu(-a) = a", "(- (relu ?a) (relu (* -1 ?a)))", "?a"),
    ("relu(a) + relu(-a) = |a|", "(+ (relu ?a) (relu (* -1 ?a)))", "(abs ?a)"),
    ("2 relu(a) - a = |a|", "(- (* 2 (relu ?a)) ?a)", "(abs ?a)"),
    ("|a| = 2 relu(a) - a", "(abs ?a)", "(- (* 2 (relu ?a)) ?a)"),
    ("a + |a| = 2 relu(a)", "(+ ?a (abs ?a))", "(* 2 (relu ?a))"),
    ("max(a, -a) = |a|", "(max ?a (* -1 ?a))", "(abs ?a)"),
    ("|a - b| = |b - a|", "(abs (- ?a ?b))", "(abs (- ?b ?a))"),
    ("|a| |b| = |a b|", "(* (abs ?a) (abs ?b))", "(abs (* ?a ?b))"),
    ("relu(a) a = relu(a) relu(a)", "(* (relu ?a) ?a)", "(* (relu ?a) (relu ?a))"),
    ("relu(a) relu(a) = relu(a) a", "(* (relu ?a) (relu ?a))", "(* (relu ?a) ?a)"),
    ("relu(a) relu(-a) = 0", "(* (relu ?a) (relu (* -1 ?a)))", "0"),
];

/// The laws that are patterns.
pub fn laws() -> Vec<Law> {
    let pattern = |text: &str| text.parse::<Pattern<Node>>().map_err(|e| format!("{text}: {e}"));
    let law = |(name, left, right): &(&str, &str, &str)| Rewrite::new(*name, pattern(left)?, pattern(right)?);
    // the list above is constant, and a test reads all of it
    LAWS.iter().filter_map(|l| law(l).ok()).collect()
}

/// The terms that a term equals by the laws that look at numbers, as far as one step goes.
pub fn passes(graph: &mut Graph, dictionary: Dictionary, limit: usize) {
    let mut found: Vec<(Id, Plan)> = Vec::new();
    for class in graph.classes() {
        for node in &class.nodes {
            steps(graph, node, dictionary, &mut |plan| found.push((class.id, plan)));
        }
    }
    for (id, plan) in found {
        if graph.total_size() > limit {
            break;
        }
        let new = plan.build(graph);
        graph.union(id, new);
    }
}

/// A term that is to be added.
enum Plan {
    Class(Id),
    Number(Rational),
    Power(i32, Box<Plan>),
    One(fn([Id; 1]) -> Node, Box<Plan>),
    Two(fn([Id; 2]) -> Node, Box<[Plan; 2]>),
}

impl Plan {
    fn two(make: fn([Id; 2]) -> Node, a: Plan, b: Plan) -> Plan {
        Plan::Two(make, Box::new([a, b]))
    }

    fn one(make: fn([Id; 1]) -> Node, a: Plan) -> Plan {
        Plan::One(make, Box::new(a))
    }

    fn scaled(c: Rational, a: Plan) -> Plan {
        Plan::two(Node::Mul, Plan::Number(c), a)
    }

    fn power(k: i32, a: Id) -> Plan {
        match k {
            0 => Plan::Number(Rational::ONE),
            1 => Plan::Class(a),
            _ => Plan::Power(k, Box::new(Plan::Class(a))),
        }
    }

    fn build(self, graph: &mut Graph) -> Id {
        match self {
            Plan::Class(id) => id,
            Plan::Number(c) => graph.add(Node::Number(c)),
            Plan::Power(k, a) => {
                let a = a.build(graph);
                graph.add(Node::Power(k, [a]))
            }
            Plan::One(make, a) => {
                let a = a.build(graph);
                graph.add(make([a]))
            }
            Plan::Two(make, pair) => {
                let [a, b] = *pair;
                let (a, b) = (a.build(graph), b.build(graph));
                graph.add(make([a, b]))
            }
        }
    }
}

/// The largest exponent that is made.
const EXPONENT: i32 = 64;

fn steps(graph: &Graph, node: &Node, dictionary: Dictionary, out: &mut dyn FnMut(Plan)) {
    let fact = |id: Id| &graph[id].data;
    let number = |id: Id| fact(id).constant.as_ref();
    match *node {
        Node::Mul([a, b]) => {
            products(graph, a, b, out);
            if let Some(c) = number(a) {
                scaling(graph, c, b, dictionary, out);
            }
        }
        Node::Inv([a]) => {
            for n in &graph[a].nodes {
                if let Node::Power(k, [x]) = n {
                    out(Plan::power(-*k, *x));
                }
            }
        }
        Node::Power(k, [a]) => match k {
            0 | 1 => out(Plan::power(k, a)),
            -1 => out(Plan::one(Node::Inv, Plan::Class(a))),
            ..-1 if k >= -EXPONENT => out(Plan::one(Node::Inv, Plan::power(-k, a))),
            2..=EXPONENT => {
                out(Plan::two(Node::Mul, Plan::power(k / 2, a), Plan::power(k - k / 2, a)));
                out(Plan::two(Node::Mul, Plan::Class(a), Plan::power(k - 1, a)));
                // a power of a product is a product of powers
                for n in &graph[a].nodes {
                    if let Node::Mul([x, y]) = n {
                        out(Plan::two(Node::Mul, Plan::power(k, *x), Plan::power(k, *y)));
                    }
                }
            }
            _ => {}
        },
        Node::Relu([a]) => {
            if fact(a).nonnegative {
                out(Plan::Class(a));
            }
            scaled_inside(graph, a, |c, x| {
                c.is_positive().then(|| Plan::scaled(c.clone(), Plan::one(Node::Relu, Plan::Class(x))))
            })
            .for_each(out);
        }
        Node::Abs([a]) => {
            if fact(a).nonnegative {
                out(Plan::Class(a));
            }
            if fact(a).nonpositive {
                out(Plan::scaled(-Rational::ONE, Plan::Class(a)));
            }
            scaled_inside(graph, a, |c, x| Some(Plan::scaled(c.abs(), Plan::one(Node::Abs, Plan::Class(x)))))
                .for_each(out);
        }
        Node::Max([a, b]) => extremum(graph, a, b, true, out),
        Node::Min([a, b]) => extremum(graph, a, b, false, out),
        Node::Add([a, b]) => {
            // a + (-c) x = a - c x
            for n in &graph[b].nodes {
                if let Node::Mul([c, x]) = n
                    && let Some(c) = number(*c)
                    && c.is_negative()
                {
                    out(Plan::two(Node::Sub, Plan::Class(a), Plan::scaled(-c, Plan::Class(*x))));
                }
            }
            if let Some(c) = number(b).filter(|c| c.is_negative()) {
                out(Plan::two(Node::Sub, Plan::Class(a), Plan::Number(-c)));
            }
        }
        _ => {}
    }
}

/// a a = a^2, a^j a^k = a^(j+k).
fn products(graph: &Graph, a: Id, b: Id, out: &mut dyn FnMut(Plan)) {
    if number_like(graph, a) || number_like(graph, b) {
        return;
    }
    let powers = |id: Id| {
        let more = graph[id].nodes.iter().filter_map(|n| match n {
            Node::Power(k, [x]) if k.abs() <= EXPONENT => Some((*k, graph.find(*x))),
            Node::Inv([x]) => Some((-1, graph.find(*x))),
            _ => None,
        });
        std::iter::once((1, graph.find(id))).chain(more).collect::<Vec<_>>()
    };
    let right = powers(b);
    for (j, x) in powers(a) {
        for &(k, y) in &right {
            if x == y && (j + k).abs() <= EXPONENT {
                out(Plan::power(j + k, x));
            }
        }
    }
}

fn number_like(graph: &Graph, id: Id) -> bool {
    graph[id].data.constant.is_some()
}

/// c max(a, b) = max(c a, c b), or min if c < 0; c relu(a) = relu(c a) and c |a| = |c a| if c > 0; in D0, c a = a + (c - 1) a.
fn scaling(graph: &Graph, c: &Rational, b: Id, dictionary: Dictionary, out: &mut dyn FnMut(Plan)) {
    if c.is_zero() || c.is_one() {
        return;
    }
    let scaled = |x: Id| Plan::scaled(c.clone(), Plan::Class(x));
    for n in &graph[b].nodes {
        match (n, c.is_positive()) {
            (Node::Max([x, y]), true) | (Node::Min([x, y]), false) => out(Plan::two(Node::Max, scaled(*x), scaled(*y))),
            (Node::Min([x, y]), true) | (Node::Max([x, y]), false) => out(Plan::two(Node::Min, scaled(*x), scaled(*y))),
            (Node::Relu([x]), true) => out(Plan::one(Node::Relu, scaled(*x))),
            (Node::Sub([x, y]), false) => {
                out(Plan::scaled(-c, Plan::two(Node::Sub, Plan::Class(*y), Plan::Class(*x))));
            }
            _ => {}
        }
    }
    // where constants do not multiply, multiples are sums
    if dictionary == Dictionary::D0
        && let Some((n, 1)) = c.small_parts()
    {
        if (3..=64).contains(&n) {
            let half = Plan::scaled(Rational::from(n / 2), Plan::Class(b));
            out(Plan::two(Node::Add, half, Plan::scaled(Rational::from(n - n / 2), Plan::Class(b))));
        } else if (-64..=-2).contains(&n) {
            out(Plan::one(Node::Neg, Plan::scaled(-c, Plan::Class(b))));
        }
    }
}

/// What a term makes of an argument that is c x, for each way in which it is.
fn scaled_inside<'g>(
    graph: &'g Graph,
    a: Id,
    make: impl Fn(&Rational, Id) -> Option<Plan> + 'g,
) -> impl Iterator<Item = Plan> + 'g {
    graph[a].nodes.iter().filter_map(move |n| match n {
        Node::Mul([c, x]) => make(graph[*c].data.constant.as_ref()?, *x),
        _ => None,
    })
}

/// The larger or smaller of two terms, one of which certainly is, or which are multiples by one constant.
fn extremum(graph: &Graph, a: Id, b: Id, largest: bool, out: &mut dyn FnMut(Plan)) {
    let (fa, fb) = (&graph[a].data, &graph[b].data);
    if fa.nonnegative && fb.nonpositive {
        out(Plan::Class(if largest { a } else { b }));
    }
    if fb.nonnegative && fa.nonpositive {
        out(Plan::Class(if largest { b } else { a }));
    }
    for n in &graph[a].nodes {
        let Node::Mul([c, x]) = n else { continue };
        let Some(factor) = graph[*c].data.constant.as_ref().filter(|c| !c.is_zero() && !c.is_one()) else { continue };
        for m in &graph[b].nodes {
            let y = match m {
                Node::Mul([d, y]) if graph.find(*d) == graph.find(*c) => Plan::Class(*y),
                Node::Number(d) => Plan::Number(d.checked_div(factor).unwrap_or_default()),
                _ => continue,
            };
            let make = if largest == factor.is_positive() { Node::Max } else { Node::Min };
            out(Plan::scaled(factor.clone(), Plan::two(make, Plan::Class(*x), y)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_laws_can_be_read() {
        assert_eq!(laws().len(), LAWS.len());
    }

    /// Evaluates one side of a law; none where it is not defined.
    fn value(text: &str, at: &dyn Fn(&str) -> Rational) -> Option<Rational> {
        fn read<'t>(tokens: &mut std::slice::Iter<'_, &'t str>, at: &dyn Fn(&str) -> Rational) -> Option<Rational> {
            let token: &'t str = tokens.next().expect("a term");
            if token != "(" {
                return Some(token.parse().unwrap_or_else(|_| at(token)));
            }
            let op = *tokens.next().expect("an operation");
            let mut args = Vec::new();
            while tokens.as_slice().first() != Some(&")") {
                args.push(read(tokens, at));
            }
            tokens.next();
            let args: Vec<Rational> = args.into_iter().collect::<Option<_>>()?;
            let a = &args[0];
            match op {
                "+" => Some(a + &args[1]),
                "-" => Some(a - &args[1]),
                "*" => Some(a * &args[1]),
                "/" => a.checked_div(&args[1]),
                "max" => Some(a.clone().max(args[1].clone())),
                "min" => Some(a.clone().min(args[1].clone())),
                "neg" => Some(-a),
                "inv" => a.inv(),
                "relu" => Some(a.clone().max(Rational::ZERO)),
                "abs" => Some(a.abs()),
                other => panic!("{other}"),
            }
        }
        let spaced = text.replace('(', " ( ").replace(')', " ) ");
        let tokens: Vec<&str> = spaced.split_whitespace().collect();
        read(&mut tokens.iter(), at)
    }

    #[test]
    fn every_law_holds_wherever_its_left_side_is_defined() {
        let numbers: Vec<Rational> = [(0, 1), (1, 1), (-1, 1), (2, 1), (-3, 2), (1, 3), (-7, 5)]
            .iter()
            .map(|(n, d)| Rational::new(*n, *d).expect("a number"))
            .collect();
        for (name, left, right) in LAWS {
            for i in 0..numbers.len().pow(3) {
                let n = numbers.len();
                let at = |v: &str| match v {
                    "?a" => numbers[i % n].clone(),
                    "?b" => numbers[i / n % n].clone(),
                    "?c" => numbers[i / n / n].clone(),
                    other => panic!("{other}"),
                };
                if let Some(x) = value(left, &at) {
                    assert_eq!(Some(x), value(right, &at), "{name} at number {i}");
                }
            }
        }
    }
}
