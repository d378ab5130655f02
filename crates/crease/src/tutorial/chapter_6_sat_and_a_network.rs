//! Chapter 6: 3-SAT and a network.
//!
//! One Clarke subgradient is cheap. Is there a second one? For piecewise-linear programs that is the question whether
//! the function fails to be differentiable, and it is a question of another kind. This chapter shows why, and then goes
//! back to everyday life: a small network in training, and what becomes of its ties.
//!
//! # A formula as a program
//!
//! A formula in 3-SAT is a list of clauses of three literals, such as (x1 or x2 or not x3), and asks for truth values
//! that satisfy all of them. Read positive as true. Then *or* is max, *not* is minus, *and* is min. With a ReLU around
//! every clause, so that it is never negative, the formula is a function that is positive exactly in the directions
//! that satisfy it:
//!
//! ```
//! use crease::reductions::{sat_program, Cnf};
//!
//! let formula = Cnf { variables: 3, clauses: vec![vec![1, 2, -3], vec![-1, 2, 3]] };
//! assert_eq!(sat_program(&formula)?.to_string(), "\
//! program F(x1, x2, x3) {
//!   let v3 = -x3
//!   let v4 = max(x1, x2, v3)
//!   let v5 = relu(v4)
//!   let v6 = -x1
//!   let v7 = max(v6, x2, x3)
//!   let v8 = relu(v7)
//!   let v9 = min(v5, v8)
//!   return v9
//! }
//! ");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! If no truth values satisfy the formula, this is the function 0, and it is differentiable at 0. If some do, it is
//! positive in a direction and nowhere negative, so it has a kink at 0. To decide whether it is differentiable there is
//! to decide the formula. 3-SAT is NP-complete, so no method that is efficient for all programs is to be expected.
//!
//! Three variables, each negated or not, make eight clauses. Every truth assignment violates exactly one of them. So
//! with seven of the clauses one assignment is left, and with all eight none:
//!
//! ```
//! use crease::{local::localize, oracles::{conservative, differentiable, Effort, Verdict}, Function, Rational};
//! use crease::reductions::{model_from_direction, origin, sat_program, Cnf};
//! use crease::check::{check, Claim};
//!
//! let clause = |signs: i32| (0..3).map(|i| if signs >> i & 1 == 0 { i + 1 } else { -i - 1 }).collect();
//! let seven = Cnf { variables: 3, clauses: (0..7).map(clause).collect() };
//! let eight = Cnf { variables: 3, clauses: (0..8).map(clause).collect() };
//! let models = |formula: &Cnf| {
//!     (0..8).filter(|bits| formula.satisfied_by(&[0, 1, 2].map(|i| bits >> i & 1 == 1)).is_ok()).count()
//! };
//! assert_eq!((models(&seven), models(&eight)), (1, 0)); // counted by trying all eight assignments
//!
//! let program = sat_program(&seven)?;
//! let model = localize(&program, &origin(&program))?;
//! let Verdict::No(sides) = differentiable(&model, 0, &Effort::default())?.verdict else { panic!() };
//! let side = sides.iter().find(|s| s.gradient.iter().any(|g| !g.is_zero())).unwrap();
//! let truth = model_from_direction(&seven, &side.direction); // the signs of a direction in which it grows
//! assert_eq!(truth, [true, true, true]);
//! assert_eq!(seven.satisfied_by(&truth), Ok(()));
//!
//! let program = sat_program(&eight)?;
//! let model = localize(&program, &origin(&program))?;
//! let decision = differentiable(&model, 0, &Effort::default())?;
//! assert!(matches!(&decision.verdict, Verdict::Yes(e) if e.gradient == [0, 0, 0].map(Rational::from)));
//! let proof = check(decision.certificate().unwrap().as_bytes())?; // of the fact that there is no truth assignment
//! assert!(matches!(proof.claim, Claim::Differentiable { .. }));
//!
//! for formula in [seven, eight] {
//!     let program = sat_program(&formula)?;
//!     let model = localize(&program, &origin(&program))?;
//!     assert!(!conservative(&model, 0)?.is_singleton());
//!     assert_eq!(Function::from(program).grad(&[0.0; 3])?, [0.0; 3]);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The loop at the end asks the easy questions, and they do not tell the two formulas apart: backprop says 0 for both,
//! and the conservative gradient is a singleton for neither. So the two kinds of derivative part ways. Of the
//! conservative gradient, two elements are found in polynomial time. Of the Clarke subdifferential, one is found in a
//! few sweeps, and a second one is NP-hard to find. Hard does not mean hopeless: crease turns signs back into
//! propositions and asks a SAT solver. The benchmark `sat` of this crate shows how far that goes.
//!
//! # The same as a network
//!
//! Is this about odd programs with min and max, which nobody would write? The proof answers by a network: matrices of
//! weights -1, 0 and 1, ReLU between them, and nothing else. It rests on max(a, b) = relu(a - b) + relu(b) - relu(-b).
//!
//! ```
//! use crease::{dictionary::{outside, Dictionary}, oracles::Effort};
//! use crease::reductions::{sat_bounds, sat_network, solve, Cnf, SatForm, Satisfiability};
//!
//! # let clause = |signs: i32| (0..3).map(|i| if signs >> i & 1 == 0 { i + 1 } else { -i - 1 }).collect();
//! let formula = Cnf { variables: 3, clauses: (0..8).map(clause).collect() }; // the eight clauses again
//! let network = sat_network(&formula)?;
//! let widths: Vec<usize> = network.layers().iter().map(|l| l.width()).collect();
//! assert_eq!(widths, [48, 24, 8, 12, 6, 3]); // n = 8 clauses: log2(n) + 3 layers, none wider than 6 n
//! let bounds = sat_bounds(&formula);
//! assert_eq!((bounds.relu_layers, bounds.width), (6, 48));
//! for layer in network.layers() {
//!     let mut entries = (0..layer.width()).flat_map(|i| layer.matrix().row(i)); // those that are not 0
//!     assert!(entries.all(|(_, weight)| weight == 1 || weight == -1));
//! }
//! assert!(outside(&network.program()?, Dictionary::D0).is_empty()); // +, - and ReLU
//!
//! let solved = solve(&formula, SatForm::Network, &Effort::default())?; // the steps above in one call
//! assert_eq!(solved.answer, Satisfiability::Unsatisfiable);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A network in training
//!
//! Now a network with weights to be learned: two inputs, three hidden units, one output. The data are the four points
//! of *exclusive or*. The first of them is (0, 0), and biases start at 0, as they usually do. So all three hidden units
//! begin with a tie at that point. Here is gradient descent, with kinks counted at every step:
//!
//! ```
//! use crease::{losses::squared, networks::{Mlp, Network}, trace_shapes, Function, Selection, Shape, Tensor};
//!
//! let network = Network::from(Mlp::new(&[2, 3, 1]));
//! let shapes: Vec<Shape> = network.parameters()?.into_iter().map(|(_, shape)| shape).collect();
//! let (inputs, outputs) = (Shape::new([4, 2])?, Shape::new([4, 1])?);
//! let loss = trace_shapes(&shapes, |weights| {
//!     let x = weights[0].tape().tensor(inputs, vec![0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0]);
//!     let target = weights[0].tape().tensor(outputs, vec![0.0, 1.0, 1.0, 0.0]);
//!     vec![squared(network.apply(x, 4, weights).expect("the weights are the network's"), target)]
//! })?;
//! let first = network.weights(4)?; // W1, b1, W2, b2, with seed 4
//! assert!(first[1].data().iter().chain(first[3].data()).all(|&bias| bias == 0.0));
//!
//! let train = |choice: &str| -> Result<(Vec<usize>, f64), Box<dyn std::error::Error>> {
//!     let f = Function::from(loss.clone()).select(Selection::parse(choice)?);
//!     let mut w: Vec<f64> = first.iter().flat_map(|t| t.data().to_vec()).collect();
//!     let mut ties = Vec::new();
//!     for _ in 0..200 {
//!         ties.push(f.kinks(&w)?.iter().map(|k| k.elements).sum());
//!         let gradient = f.grad(&w)?;
//!         w.iter_mut().zip(gradient).for_each(|(w, g)| *w -= 0.1 * g);
//!     }
//!     Ok((ties, f.value(&w)?))
//! };
//!
//! let (ties, end) = train("relu=0")?; // as in the paper, PyTorch, JAX and TensorFlow
//! assert_eq!((&ties[..4], ties.iter().sum::<usize>()), (&[3, 2, 2, 2][..], 3 + 199 * 2));
//! assert!(end > 0.2);
//!
//! let (ties, end) = train("relu=1/2")?;
//! assert_eq!((&ties[..4], ties.iter().sum::<usize>()), (&[3, 2, 0, 0][..], 5));
//! assert!(end < 0.01);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! With relu'(0) = 0 there are two ties at every step from the second to the last, and the loss ends above 0.2. With
//! relu'(0) = 1/2 all ties are gone after two steps, and the loss ends below 0.01. What happened? Ask the oracles, at
//! the points where the first two steps were taken:
//!
//! ```
//! # use crease::{losses::squared, networks::{Mlp, Network}, trace_shapes, Shape, Tensor};
//! # let network = Network::from(Mlp::new(&[2, 3, 1]));
//! # let shapes: Vec<Shape> = network.parameters()?.into_iter().map(|(_, shape)| shape).collect();
//! # let (inputs, outputs) = (Shape::new([4, 2])?, Shape::new([4, 1])?);
//! # let loss = trace_shapes(&shapes, |weights| {
//! #     let x = weights[0].tape().tensor(inputs, vec![0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0]);
//! #     let target = weights[0].tape().tensor(outputs, vec![0.0, 1.0, 1.0, 0.0]);
//! #     vec![squared(network.apply(x, 4, weights).expect("the weights are the network's"), target)]
//! # })?;
//! # let first = network.weights(4)?;
//! use crease::oracles::{Effort, Membership, Session, Verdict};
//! use crease::{gradient, local::localize, run, How, Rational, Selection};
//!
//! let exact = |w: &[Tensor<f64>]| -> Vec<Tensor<Rational>> {
//!     w.iter().map(|t| t.map(|&x| Rational::from_f64(x).expect("weights are finite"))).collect()
//! };
//! assert_eq!(localize(&loss, &exact(&first))?.kinks().len(), 0);
//!
//! let slopes = run(&gradient(&loss, &How::default())?, &first)?;
//! let step = |w: &Tensor<f64>, g: &Tensor<f64>| {
//!     let moved = w.data().iter().zip(g.data()).map(|(w, g)| w - 0.1 * g).collect();
//!     Tensor::new(w.shape().clone(), moved).expect("as many numbers as before")
//! };
//! let second: Vec<Tensor<f64>> = first.iter().zip(&slopes).map(|(w, g)| step(w, g)).collect();
//!
//! // what enters hidden unit j at the input (x, y)
//! let enters = |j: usize, x: f64, y: f64| x * second[0].data()[j] + y * second[0].data()[3 + j] + second[1].data()[j];
//! let tied: Vec<usize> = (0..3).filter(|&j| enters(j, 0.0, 0.0) == 0.0).collect();
//! assert_eq!((tied.len(), second[3].data()[0] != 0.0), (2, true)); // and the last bias has moved
//! for (x, y) in [(0.0, 1.0), (1.0, 0.0), (1.0, 1.0)] {
//!     assert!(tied.iter().all(|&j| enters(j, x, y) < 0.0));
//! }
//!
//! let model = localize(&loss, &exact(&second))?;
//! assert_eq!(model.kinks().len(), 2);
//! let session = Session::new(&model, 0);
//! assert!(matches!(session.differentiable(&Effort::default())?.verdict, Verdict::No(_)));
//! let all = session.neighbouring_gradients(&Default::default(), |_| ())?;
//! assert_eq!((all.gradients.len(), all.complete()), (4, true));
//!
//! for choice in ["relu=0", "relu=1/2"] {
//!     let how = How::default().select(Selection::parse(choice)?);
//!     let picked = run(&gradient(&loss, &how)?, &exact(&second))?;
//!     let picked: Vec<Rational> = picked.into_iter().flat_map(Tensor::into_data).collect();
//!     let place = session.membership_among(&all, &picked, &Default::default())?;
//!     assert!(matches!(place, Membership::Vertex { .. } | Membership::Hull { .. })); // a Clarke subgradient
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! At the first step three ties were met, and none mattered. All biases were 0, so the output at (0, 0) was 0, which is
//! right; the squared loss is flat there; and what is multiplied by zero needs no slope. The local model has no kink.
//! The step moved the last bias, and that was over. One hidden unit had moved away from its tie. The other two are
//! negative at the three other inputs, so (0, 0) is the only one that could teach them anything, and there they are
//! tied: the loss is not differentiable, with four limits of gradients, one for each way to decide two ties.
//!
//! With relu'(0) = 0 the two units get the gradient 0 and stay where they are. With 1/2 they get off. Both choices are
//! legitimate: each gives a Clarke subgradient here, not only an element of the conservative gradient. Theorems on
//! convergence do not tell them apart. Looking at the ties does.
//!
//! Do not conclude that 1/2 is the better choice. This is one seed, of a network so small that losing two units is
//! losing most of it. `training` in the crate `crease-paper` asks the question with more care. Conclude that a tie which
//! persists is worth knowing about, and that [`kinks`](crate::kinks()) is how to know.
//!
//! # To try
//!
//! - Other seeds, and relu'(0) = 1. How often does the selection change the end?
//! - Start from biases that are not 0. How many ties are met in 200 steps?
//! - Write a formula of your own in DIMACS, read it with [`parse_dimacs`](crate::formats::parse_dimacs), and solve it
//!   in both forms.
//!
//! The details: [`reductions`](crate::reductions) for formulas and linear networks, [`networks`](crate::networks) and
//! [`losses`](crate::losses) for those that learn. The other lower bound, on directional derivatives and products of
//! matrices, is `theorem3` in the crate `crease-paper`.
