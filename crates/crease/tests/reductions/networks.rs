//! Linear ReLU networks: the lemma on maxima, and the equivalence with programs over D0, conservative gradients included.

use crate::support::{below, integers, value, within};
use crease::cost::{Prices, cost};
use crease::dictionary::{Dictionary, outside};
use crease::local::{LocalModel, Node, localize};
use crease::oracles::gradient_at_choices;
use crease::reductions::{Layer, ReductionError, ReluNetwork, SignMatrix, max_network};
use crease::{Program, Rational, Tensor, relu, trace};
use crease_core::random::SplitMix64;
use std::collections::BTreeSet;

#[test]
fn the_lemma_on_maxima() {
    let mut random = SplitMix64::new(1);
    for k in 1..=5u32 {
        let network = max_network(k).unwrap();
        let widths: Vec<usize> = network.layers().iter().map(|l| l.width()).collect();
        let want: Vec<usize> = (0..k).rev().map(|j| 3 << j).collect();
        assert_eq!(widths, want);
        assert!(widths.iter().all(|&w| w <= 3 << (k - 1)));
        assert_eq!((network.relu_layers(), network.relus()), (k as usize, widths.iter().sum()));
        let program = network.program().unwrap();
        for round in 0..40 {
            // a narrow range makes ties
            let at: Vec<i64> =
                (0..1 << k).map(|_| within(&mut random, if round % 2 == 0 { 2 } else { 1000 })).collect();
            let max = *at.iter().max().unwrap();
            assert_eq!(network.evaluate(&integers(&at)).unwrap(), Rational::from(max));
            assert_eq!(value(&program, &integers(&at)), Rational::from(max));
            let floats: Vec<f64> = at.iter().map(|&x| x as f64).collect();
            assert_eq!(network.evaluate(&floats).unwrap(), max as f64);
        }
    }
    assert!(max_network(0).is_err() && max_network(40).is_err());
}

/// A random program over D0 and a point, both as data, so that it can be run by code of its own.
struct Case {
    inputs: usize,
    steps: Vec<Step>,
    at: Vec<i64>,
}

#[derive(Clone, Copy)]
enum Step {
    Add(usize, usize),
    Sub(usize, usize),
    Neg(usize),
    Relu(usize),
}

fn case(random: &mut SplitMix64) -> Case {
    let inputs = 1 + below(random, 3);
    let length = 1 + below(random, 20);
    let mut steps = Vec::new();
    let mut relus = 0;
    for i in 0..length {
        let cells = inputs + i;
        // late cells more often, so that programs are deep
        let mut cell = || cells - 1 - below(random, cells).min(below(random, cells));
        let (a, b) = (cell(), cell());
        steps.push(match below(random, 12) {
            0..3 => Step::Add(a, b),
            3..6 => Step::Sub(a, b),
            6 => Step::Neg(a),
            7 if below(random, 2) == 0 => Step::Add(a, a),
            _ if relus < 9 => {
                relus += 1;
                Step::Relu(a)
            }
            _ => Step::Sub(a, b),
        });
    }
    let at = (0..inputs).map(|_| [0, 0, 0, 0, 1, -1][below(random, 6)]).collect();
    Case { inputs, steps, at }
}

impl Case {
    fn program(&self) -> Program {
        trace(self.inputs, |x| {
            let mut cells = x.to_vec();
            for s in &self.steps {
                cells.push(match *s {
                    Step::Add(a, b) => cells[a] + cells[b],
                    Step::Sub(a, b) => cells[a] - cells[b],
                    Step::Neg(a) => -cells[a],
                    Step::Relu(a) => relu(cells[a]),
                });
            }
            cells[cells.len() - 1]
        })
        .unwrap()
    }

    /// The conservative gradient at the corners: the derivative for every way of letting tied relus pass or not.
    fn corners(&self) -> BTreeSet<Vec<i64>> {
        let relus: Vec<usize> = (0..self.steps.len()).filter(|&i| matches!(self.steps[i], Step::Relu(_))).collect();
        (0..1usize << relus.len())
            .map(|bits| {
                let mut values = self.at.clone();
                let unit = |i: usize| (0..self.inputs).map(|j| i64::from(i == j)).collect::<Vec<_>>();
                let mut forms: Vec<Vec<i64>> = (0..self.inputs).map(unit).collect();
                for (i, s) in self.steps.iter().enumerate() {
                    let zip = |a: usize, b: usize, sign: i64| {
                        forms[a].iter().zip(&forms[b]).map(|(x, y)| x + sign * y).collect::<Vec<_>>()
                    };
                    let (value, form) = match *s {
                        Step::Add(a, b) => (values[a] + values[b], zip(a, b, 1)),
                        Step::Sub(a, b) => (values[a] - values[b], zip(a, b, -1)),
                        Step::Neg(a) => (-values[a], forms[a].iter().map(|x| -x).collect()),
                        Step::Relu(a) => {
                            let number = relus.iter().position(|&r| r == i).unwrap();
                            let passes = values[a] > 0 || values[a] == 0 && bits >> number & 1 == 1;
                            let form = if passes { forms[a].clone() } else { vec![0; self.inputs] };
                            (values[a].max(0), form)
                        }
                    };
                    values.push(value);
                    forms.push(form);
                }
                forms.swap_remove(forms.len() - 1)
            })
            .collect()
    }

    /// Whether the output depends on every input, as the paper assumes.
    fn uses_all_inputs(&self) -> bool {
        let mut used = vec![false; self.inputs + self.steps.len()];
        *used.last_mut().unwrap() = true;
        for (i, s) in self.steps.iter().enumerate().rev() {
            if used[self.inputs + i] {
                let (a, b) = match *s {
                    Step::Add(a, b) | Step::Sub(a, b) => (a, b),
                    Step::Neg(a) | Step::Relu(a) => (a, a),
                };
                (used[a], used[b]) = (true, true);
            }
        }
        used[..self.inputs].iter().all(|&u| u)
    }
}

/// The corners of the conservative gradient of a program at a point, by its local model.
fn corners(p: &Program, at: &[i64]) -> BTreeSet<Vec<i64>> {
    let at: Vec<Tensor<Rational>> = at.iter().map(|&x| Tensor::scalar(Rational::from(x))).collect();
    let local: LocalModel = localize(p, &at).unwrap();
    let sizes: Vec<usize> = local
        .kinks()
        .iter()
        .map(|k| match local.node(k.node) {
            Node::Max(members) => members.len(),
            _ => unreachable!("a kink is a maximum"),
        })
        .collect();
    let integer = |x: &Rational| x.small_parts().filter(|p| p.1 == 1).unwrap().0;
    let mut found = BTreeSet::new();
    let mut picked = vec![0; sizes.len()];
    loop {
        let choice = |(&n, &k): (&usize, &usize)| (0..n).map(|i| Rational::from(usize::from(i == k))).collect();
        let choices: Vec<Vec<Rational>> = sizes.iter().zip(&picked).map(choice).collect();
        found.insert(gradient_at_choices(&local, 0, &choices).unwrap().iter().map(integer).collect());
        // the next way to choose, as one counts
        let Some(next) = (0..sizes.len()).find(|&i| picked[i] + 1 < sizes[i]) else { return found };
        picked[..next].fill(0);
        picked[next] += 1;
    }
}

/// The same of a network, by the definition of the paper: M_1^T D_1 ... M_{L-1}^T D_{L-1} M_L^T, for all 0/1 diagonals that the
/// signs allow.
fn network_corners(network: &ReluNetwork, at: &[i64]) -> BTreeSet<Vec<i64>> {
    let product = |m: &SignMatrix, x: &[i64]| -> Vec<i64> {
        (0..m.rows()).map(|i| m.row(i).map(|(j, entry)| i64::from(entry) * x[j]).sum()).collect()
    };
    let transposed = |m: &SignMatrix, y: &[i64]| -> Vec<i64> {
        let mut out = vec![0; m.columns()];
        for (i, y) in y.iter().enumerate() {
            m.row(i).for_each(|(j, entry)| out[j] += i64::from(entry) * y);
        }
        out
    };
    // for each layer and coordinate: 0, 1, or free
    let mut diagonals: Vec<Vec<Option<i64>>> = Vec::new();
    let mut x = at.to_vec();
    for layer in network.layers() {
        let y = product(layer.matrix(), &x);
        let slope = |(y, relu): (&i64, &bool)| match (relu, y.signum()) {
            (false, _) | (true, 1) => Some(1),
            (true, -1) => Some(0),
            _ => None,
        };
        diagonals.push(y.iter().zip(layer.relu()).map(slope).collect());
        x = y.iter().zip(layer.relu()).map(|(y, relu)| if *relu { *y.max(&0) } else { *y }).collect();
    }
    let free = diagonals.iter().flatten().filter(|d| d.is_none()).count();
    assert!(free <= 12, "{free}");
    (0..1usize << free)
        .map(|bits| {
            let mut number = 0;
            let mut chosen = |d: &Option<i64>| {
                d.unwrap_or_else(|| {
                    number += 1;
                    (bits >> (number - 1) & 1) as i64
                })
            };
            let diagonals: Vec<Vec<i64>> = diagonals.iter().map(|d| d.iter().map(&mut chosen).collect()).collect();
            let mut adjoint = transposed(network.last(), &[1]);
            for (layer, d) in network.layers().iter().zip(&diagonals).rev() {
                let scaled: Vec<i64> = adjoint.iter().zip(d).map(|(a, d)| a * d).collect();
                adjoint = transposed(layer.matrix(), &scaled);
            }
            adjoint
        })
        .collect()
}

fn same_function(p: &Program, network: &ReluNetwork, random: &mut SplitMix64) {
    for radius in [1, 3, 100] {
        let at: Vec<i64> = (0..network.inputs()).map(|_| within(random, radius)).collect();
        let at = integers(&at);
        assert_eq!(network.evaluate(&at).unwrap(), value(p, &at), "{p}at {at:?}");
    }
}

#[test]
fn programs_become_networks_and_back() {
    let mut random = SplitMix64::new(2);
    let (mut rich, mut doubled, mut worst, mut bounded) = (0, 0, [0.0f64; 2], 0);
    for _ in 0..1500 {
        let case = case(&mut random);
        let p = case.program();
        let network = ReluNetwork::from_program(&p).unwrap();
        let back = network.program().unwrap();
        same_function(&p, &network, &mut random);
        same_function(&back, &network, &mut random);
        assert!(outside(&back, Dictionary::D0).is_empty());

        // the conservative gradient, four times: by the program's own steps, by local models, by the definition
        let want = case.corners();
        assert_eq!(corners(&p, &case.at), want, "{p}at {:?}", case.at);
        assert_eq!(network_corners(&network, &case.at), want, "{p}at {:?}\n{network:?}", case.at);
        assert_eq!(corners(&back, &case.at), want, "{p}at {:?}\n{back}", case.at);
        rich += usize::from(want.len() > 2);
        doubled += usize::from(case.steps.iter().any(|s| matches!(s, Step::Add(a, b) if a == b)));

        let unit = Prices::unit();
        let price = |p: &Program| cost(p).at(&unit).to_f64();
        assert!(price(&back) <= network.size() as f64, "{} {}", price(&back), network.size());
        if case.uses_all_inputs() {
            let (c, size) = (price(&p), network.size() as f64);
            assert!(size <= 18.0 * c.powi(3), "{p}cost {c}, size {size}");
            assert!(size <= 2.0 * c * (c + 1.0) * (c + 2.0) + c + 1.0, "{p}cost {c}, size {size}");
            // the cube only begins to tell for programs of some length
            let long = usize::from(c >= 10.0);
            worst[long] = worst[long].max(size / c.powi(3));
            bounded += 1;
        }
    }
    let [short, long] = worst;
    println!(
        "size / cost^3 of {bounded} programs: at most {short:.2}, from cost 10 on {long:.2}; the paper's bound is 18"
    );
    assert!(rich > 200 && doubled > 300 && bounded > 500, "{rich} rich, {doubled} doubled, {bounded} bounded");
}

/// A random network of a few layers; rows may be 0.
fn random_network(random: &mut SplitMix64) -> (ReluNetwork, Vec<i64>) {
    let mut columns = 1 + below(random, 3);
    let at = (0..columns).map(|_| [0, 0, 0, 0, 1, -1][below(random, 6)]).collect();
    let matrix = |random: &mut SplitMix64, rows: usize, columns: usize| {
        let row = |random: &mut SplitMix64| (0..columns).map(|j| (j, within(random, 1))).collect::<Vec<_>>();
        SignMatrix::new(columns, (0..rows).map(|_| row(random)).collect::<Vec<_>>()).unwrap()
    };
    let mut relus = 0;
    let mut layers = Vec::new();
    for _ in 0..below(random, 5) {
        let rows = 1 + below(random, 4);
        let mut activations = Vec::new();
        for _ in 0..rows {
            activations.push(relus < 9 && random.below(3) > 0);
            relus += usize::from(activations[activations.len() - 1]);
        }
        layers.push(Layer::new(matrix(random, rows, columns), activations).unwrap());
        columns = rows;
    }
    (ReluNetwork::new(layers, matrix(random, 1, columns)).unwrap(), at)
}

#[test]
fn networks_become_programs_and_back() {
    let mut random = SplitMix64::new(3);
    let mut rich = 0;
    for _ in 0..1500 {
        let (network, at) = random_network(&mut random);
        let p = network.program().unwrap();
        assert_eq!(p.inputs().len(), network.inputs());
        same_function(&p, &network, &mut random);
        let want = network_corners(&network, &at);
        assert_eq!(corners(&p, &at), want, "{p}at {at:?}");
        let again = ReluNetwork::from_program(&p).unwrap();
        same_function(&p, &again, &mut random);
        assert_eq!(network_corners(&again, &at), want, "{p}at {at:?}");
        rich += usize::from(want.len() > 2);
        assert!(cost(&p).at(&Prices::unit()).to_f64() <= network.size() as f64);
    }
    assert!(rich > 200, "{rich}");
}

fn network_of(text: &str) -> Result<ReluNetwork, ReductionError> {
    ReluNetwork::from_program(crease::formats::parse(text).unwrap().main())
}

#[test]
fn calls_tensors_and_lattice_operations_are_lowered_first() {
    let mut random = SplitMix64::new(4);
    for text in [
        "program g(a, b) = relu(a - b)  program f(x, y) = g(x, y) + g(y, g(x, y))",
        "program f(x, y, z) = max(x, -y, z) - min(abs(x), y)",
        "program f(x, y) = max(x, 0) + min(y, 0) + max(0, y)",
        "program f(x, y, z) { let a, b, c = sort(x, y, z)  return a - c + median([x, y, z]) }",
        "program f(x, y) = norm1([x, y]) - norminf([x, x, y])",
        "program f(x, y) = -1 * relu(x) + 1 * y - 0 * x",
        "program f(x, y) = x + x + x + y - y",
        "program f(x, y) = -(x - y)",
        "program f(x, y) = y",
        "program f(x, y) = -y",
        "program f(x, y) = 0",
        "program f(x, y) = min(relu(0), 0)",
        "program f(x, y) = x - x",
    ] {
        let p = crease::formats::parse(text).unwrap().main().clone();
        let network = network_of(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        for _ in 0..10 {
            same_function(&p, &network, &mut random);
        }
    }
    let tensor = crease::formats::parse("program f(v[4]) = sum(relu(v[1:] - v[:3]))").unwrap().main().clone();
    let network = ReluNetwork::from_program(&tensor).unwrap();
    assert_eq!((network.inputs(), network.evaluate(&[1.0, 3.0, 2.0, 4.0]).unwrap()), (4, 4.0));
}

#[test]
fn what_networks_cannot_compute_is_refused_with_its_place() {
    let message = |text: &str| network_of(text).unwrap_err().to_string();
    assert_eq!(
        message("program f(x) = relu(x) + 1"),
        "`+c` in `v1 + 1` of program `f` cannot be written with +, - and ReLU alone, as weights -1, 0 and 1 allow it"
    );
    for (text, part) in [
        ("program f(x) = 1/2 * x", "`*c`"),
        // constants that only cancel in the end are constants
        ("program f(x) = x + relu(1) - relu(1)", "`+c`"),
        ("program f(x, y) = x * y", "`*` in `x * y`"),
        ("program f(x) = exp(x)", "`exp`"),
        ("program f(x) = leaky_relu(x, slope=1/4)", "`*c`"),
        ("program f(x) = select { x > 0 => x, else => 0 }", "`compare`"),
        ("program f(x) = 3", "returns the constant 3"),
        ("program f(x, y) = x, y", "the program has 2"),
        ("program f(v[3]) = relu(v)", "the program has 3"),
    ] {
        let message = message(text);
        assert!(message.contains(part), "{text}: {message}");
    }
}

#[test]
fn matrices_that_do_not_fit_are_refused() {
    let one = |columns: usize| SignMatrix::new(columns, [vec![(0, 1)]]).unwrap();
    let layer = Layer::new(one(2), vec![true]).unwrap();
    assert!(ReluNetwork::new(vec![layer.clone()], one(1)).is_ok());
    let error = ReluNetwork::new(vec![layer.clone()], one(2)).unwrap_err();
    assert_eq!(error.to_string(), "the number of columns of the next matrix must be 1, got 2");
    assert!(ReluNetwork::new(vec![layer.clone(), layer], one(1)).is_err());
    let error = SignMatrix::new(2, [vec![], vec![(2, 1)]]).unwrap_err();
    assert_eq!(error.to_string(), "row 1 has an entry in column 2, but the matrix has 2 columns");
    let network = max_network(1).unwrap();
    assert_eq!(network.evaluate(&[1.0]).unwrap_err().to_string(), "the number of inputs must be 2, got 1");
    // a prime field has no order
    use crease::number::Field61;
    assert!(matches!(network.evaluate(&[Field61::new(1), Field61::new(2)]), Err(ReductionError::Number(_))));
}

#[test]
fn depth_and_width_are_no_danger() {
    // a long chain, and inputs that are needed at its very end
    let deep = trace(3, |x| (0..3000).fold(x[0], |sum, i| relu(sum - x[1 + i % 2]) + sum)).unwrap();
    let network = ReluNetwork::from_program(&deep).unwrap();
    assert_eq!(network.relus(), 3000);
    // each doubling needs the copy of a layer before
    let doubled = trace(1, |x| (0..40).fold(x[0], |sum, _| sum + sum)).unwrap();
    let network = ReluNetwork::from_program(&doubled).unwrap();
    assert_eq!(network.evaluate(&[1.0]).unwrap(), (1u64 << 40) as f64);
    assert!(network.size() <= 18 * 40u128.pow(3));
    // refused before any memory is taken: 3,000 cells that wait for 6,000 layers
    let wide = trace(3000, |x| {
        let chain = (0..6000).fold(x[0], |sum, _| relu(sum + x[0]));
        x.iter().fold(chain, |sum, y| sum + *y)
    });
    assert!(matches!(ReluNetwork::from_program(&wide.unwrap()), Err(ReductionError::TooLarge { .. })));
}
