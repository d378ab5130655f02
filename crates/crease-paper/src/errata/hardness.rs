//! Slips of the proofs of Section 5.3: networks of programs, and clauses that are always true.
//!
//! Each construction is carried out as the paper words it, with [`SignMatrix`] as the judge of its entries.

use super::{Erratum, unit};
use crease::Error;
use crease::reductions::{Cnf, Layer, ReductionError, ReluNetwork, SignMatrix, sat_network};
use crease_core::differentiate::{How, backprop};
use crease_core::{Atom, Kink, Op, Program, Rational, inv, relu, trace};

/// The construction of Appendix D.1 to the letter: of m = p + cost(P) coordinates, each operation of a scalar program fills in
/// one by a matrix and an activation; the last matrix picks the output.
pub(super) fn to_the_letter(p: &Program) -> Result<ReluNetwork, ReductionError> {
    let inputs = p.inputs().len();
    let m = inputs + p.len();
    let mut layers = Vec::with_capacity(p.len());
    for (i, e) in p.equations().enumerate() {
        let sign = |k: usize| match e.op {
            Op::Neg => -1,
            Op::Sub if k == 1 => -1,
            _ => 1,
        };
        let place = |a: Atom| a.value().map_or(m, |v| v.index());
        let operation = e.args.iter().enumerate().map(|(k, &a)| (place(a), sign(k))).collect();
        let done = inputs + i;
        let mut rows: Vec<Vec<(usize, i64)>> = (0..done).map(|k| vec![(k, 1)]).collect();
        rows.push(operation);
        rows.resize(m, Vec::new());
        let matrix = SignMatrix::new(if i == 0 { inputs } else { m }, rows)?;
        let activations = (0..m).map(|k| k == done && *e.op == Op::Kink(Kink::Relu)).collect();
        layers.push(Layer::new(matrix, activations)?);
    }
    let output = p.outputs()[0].value().map_or(m, |v| v.index());
    ReluNetwork::new(layers, SignMatrix::new(m, [vec![(output, 1)]])?)
}

/// The entry for which matrices are refused; nothing if they are not.
pub(super) fn refused<T>(made: Result<T, ReductionError>) -> Option<i64> {
    match made {
        Err(ReductionError::Entry { entry, .. }) => Some(entry),
        _ => None,
    }
}

fn failed(e: ReductionError) -> Error {
    Error::Parameter { what: "a network of the errata", expected: "one over {-1, 0, 1}", got: e.to_string() }
}

fn shown(entry: Option<i64>) -> String {
    entry.map_or("no entry that is refused".into(), |c| format!("the entry {c}"))
}

/// x, doubled so many times.
pub(super) fn doubled(times: usize) -> Result<Program, Error> {
    Ok(trace(1, |x| (0..times).fold(x[0], |sum, _| sum + sum))?)
}

/// How often the derived program of inv multiplies a number by itself.
pub(super) fn squares_of_inv() -> Result<usize, Error> {
    let derived = backprop(&trace(1, |x| inv(x[0]))?, &How::default())?;
    Ok(derived.equations().filter(|e| *e.op == Op::Mul && e.args[0] == e.args[1]).count())
}

/// 18 cost(P)^3.
pub(super) fn cubic_bound(p: &Program) -> Rational {
    let c = unit(p);
    &(&c * &c) * &c * Rational::from(18)
}

pub(super) fn repeated_argument() -> Result<Erratum, Error> {
    let entry = refused(to_the_letter(&doubled(1)?));
    let (mut sizes, mut bounds) = (Vec::new(), Vec::new());
    for times in [1, 2, 10] {
        let p = doubled(times)?;
        sizes.push(ReluNetwork::from_program(&p).map_err(failed)?.size().to_string());
        bounds.push(cubic_bound(&p).to_string());
    }
    Ok(Erratum {
        id: "repeated-argument",
        place: "Section 3.1, on predecessors; Appendix B.1, the case of inv; Appendix D.1, from programs to networks.",
        says: "pr(i) is a set and g_i has |pr(i)| arguments, so that x + x is no operation; inv is differentiated with one \
               multiplication for a square; each operation of {+, -, ReLU} is one matrix with entries in {-1, 0, 1}.",
        computed: format!(
            "The derived program of inv has {} multiplication of a number by itself. If operations may repeat an argument, \
             the matrix of x + x has {}. With a layer that copies x, the networks of x doubled 1, 2 and 10 times have \
             sizes {}, at most 18 cost^3 = {}.",
            squares_of_inv()?,
            shown(entry),
            sizes.join(", "),
            bounds.join(", ")
        ),
        holds: "For operations on distinct numbers, as a set has them. Otherwise with a copy for each that repeats one: the \
                networks of `crease::reductions` have at most 2 cost(P) layers, none of more than cost(P) + 1 coordinates, \
                so that their size is below 18 cost(P)^3 all the same.",
    })
}

pub(super) fn layer_count() -> Result<Erratum, Error> {
    let mut told = Vec::new();
    let programs =
        [("relu(x)", trace(1, |x| relu(x[0]))?), ("relu(x - y) + y", trace(2, |x| relu(x[0] - x[1]) + x[1])?)];
    for (text, p) in &programs {
        let network = to_the_letter(p).map_err(failed)?;
        told.push(format!(
            "{text}, of cost {}, has L = {} and size {}, at most 18 cost^3 = {}",
            unit(p),
            network.layers().len() + 1,
            network.size(),
            cubic_bound(p)
        ));
    }
    Ok(Erratum {
        id: "layer-count",
        place: "Appendix D.1, the size of the network of a program.",
        says: "One matrix and one activation for each operation make a network with L = cost(P) layers.",
        computed: format!(
            "L counts the matrices, the last of which has no activation: L = cost(P) + 1, and M_L adds m = p + cost(P) to \
             the size. {}. With L = 1, the network M_1 x would be linear.",
            told.join("; ")
        ),
        holds: "L - 1 = cost(P). The bound 18 cost(P)^3 has room for M_L: with m <= 3 cost(P), the size is at most \
                15 cost(P)^3. No program costs 0, as m >= p + q.",
    })
}

/// The first matrix of the lemma on maxima for the maximum of four literals, in pairs, over the inputs themselves.
pub(super) fn first_matrix(literals: [i32; 4]) -> Result<SignMatrix, ReductionError> {
    let entry = |l: i32| (l.unsigned_abs() as usize - 1, i64::from(l.signum()));
    let pair = |a: i32, b: i32| [vec![entry(a), entry(-b)], vec![entry(b)], vec![entry(-b)]];
    let columns = literals.iter().map(|&l| entry(l).0 + 1).max().unwrap_or(0);
    let [a, b, c, d] = literals;
    SignMatrix::new(columns, pair(a, b).into_iter().chain(pair(c, d)))
}

/// All ways to copy one of three literals and to pair the four.
pub(super) fn pairings([a, b, c]: [i32; 3]) -> impl Iterator<Item = [i32; 4]> {
    [a, b, c].into_iter().flat_map(move |d| [[a, b, c, d], [a, c, b, d], [a, d, b, c]])
}

/// The formula of the example in the proof.
pub(super) fn example() -> Cnf {
    Cnf { variables: 6, clauses: vec![vec![1, 2, -3], vec![1, 4, -5], vec![-2, -3, 6], vec![2, -2, 6]] }
}

pub(super) fn literal_pair() -> Result<Erratum, Error> {
    let clause = [2, -2, 6];
    let ways: Vec<[i32; 4]> = pairings(clause).collect();
    let fine = ways.iter().filter(|&&w| first_matrix(w).is_ok()).count();
    let network = sat_network(&example()).map_err(failed)?;
    let widths: Vec<String> = network.layers().iter().map(|l| l.width().to_string()).collect();
    Ok(Erratum {
        id: "literal-pair",
        place: "Appendix D.3, the proof that finding two Clarke subgradients is NP-hard, and its last example.",
        says: "The lemma on maxima makes a clause, always true ones such as (b2 or not b2 or b6) included, a network of 3 ReLU \
               layers with entries in {-1, 0, 1}.",
        computed: format!(
            "The proof names no layer for the literals. If they are multiplied into the lemma's first matrix, its row for the \
             pair (x2, -x2) is x2 - (-x2), with {}. Of the {} ways to copy one of the three literals and to pair the four, \
             {fine} have entries in {{-1, 0, 1}} only. With max(x, -x) = relu(x) + relu(-x) for such pairs, the layers of \
             the example have sizes {}.",
            shown(refused(first_matrix([2, -2, 6, 6]))),
            ways.len(),
            widths.join(", ")
        ),
        holds: "If no literal is paired with its negation, and three literals can always be copied and paired so; if \
                max(x, -x) is written as above; or if the literals are a layer of their own, with the identity.",
    })
}
