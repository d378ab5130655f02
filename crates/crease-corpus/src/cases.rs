//! Named cases: a program, a point, and the facts that hold there.
//!
//! Every case is small enough to be checked by hand, and was. Texts are in the language of `*.crease` files, points and
//! gradients in that of `--at`, so a case can be pasted into a shell. A new engine runs [`ALL`] and compares with
//! [`Case::value`] and [`Case::gradients`]; it need not know anything else.
//!
//! Facts are exact unless [`Case::exact`] is false: then numbers are decimals to some fifteen digits.

use crease_core::{Program, Rational, Tensor};
use crease_formats::{parse, parse_point};
use std::sync::Arc;

/// A program, a point, and what is known there.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// A name by which a failing test can be found.
    pub name: &'static str,
    /// What the case shows.
    pub shows: &'static str,
    /// The program; the last one of the text.
    pub source: &'static str,
    /// The point.
    pub at: &'static str,
    /// The one scalar output there.
    pub value: &'static str,
    /// Selections, and the gradient that the chain rule gives under each, forward or backward.
    pub gradients: &'static [(&'static str, &'static str)],
    /// The number of equations that meet a kink; a comparison of two equal numbers is one.
    pub kinks: usize,
    /// The cost, as `crease_core::cost::Price` prints it.
    pub cost: &'static str,
    /// The level.
    pub level: usize,
    /// Whether exact rationals can carry it out.
    pub exact: bool,
}

impl Case {
    /// The program. Panics if the text does not parse.
    pub fn program(&self) -> Arc<Program> {
        let module = parse(self.source).unwrap_or_else(|e| panic!("case {}: {e:?}", self.name));
        module.main().clone()
    }

    /// The point, in the order of the program's inputs.
    pub fn point(&self) -> Vec<Tensor<Rational>> {
        self.bound(self.at)
    }

    /// The value.
    pub fn expected_value(&self) -> Rational {
        self.value.parse().unwrap_or_else(|e| panic!("case {}: {e:?}", self.name))
    }

    /// The gradients with their selections, each in the order and the shapes of the program's inputs.
    pub fn expected_gradients(&self) -> impl Iterator<Item = (&'static str, Vec<Tensor<Rational>>)> + '_ {
        self.gradients.iter().map(|&(selection, gradient)| (selection, self.bound(gradient)))
    }

    fn bound(&self, text: &str) -> Vec<Tensor<Rational>> {
        let point = parse_point(text).unwrap_or_else(|e| panic!("case {}: {e}", self.name));
        let values = point.bind(&self.program()).unwrap_or_else(|e| panic!("case {}: {e}", self.name));
        values.into_iter().filter_map(|(shape, data)| Tensor::new(shape, data)).collect()
    }
}

/// The case of that name.
///
/// ```
/// assert_eq!(crease_corpus::cases::find("identity by relu").unwrap().value, "0");
/// ```
pub fn find(name: &str) -> Option<&'static Case> {
    ALL.iter().find(|c| c.name == name)
}

/// All cases.
pub const ALL: &[Case] = &[
    // --- one kink
    Case {
        name: "identity by relu",
        shows: "the function is the identity, yet the chain rule gives twice relu'(0)",
        source: "program f(x) = relu(x) - relu(-x)",
        at: "x=0",
        value: "0",
        gradients: &[("paper", "x=0"), ("torch", "x=0"), ("jax", "x=0"), ("relu=1/2", "x=1"), ("relu=1", "x=2")],
        kinks: 2,
        cost: "2 + 2 c_relu",
        level: 1,
        exact: true,
    },
    Case {
        name: "identity by relu, off its kinks",
        shows: "where no kink is met, every selection gives the gradient",
        source: "program f(x) = relu(x) - relu(-x)",
        at: "x=-1/3",
        value: "-1/3",
        gradients: &[("paper", "x=1"), ("torch", "x=1"), ("jax", "x=1"), ("relu=1", "x=1")],
        kinks: 0,
        cost: "2 + 2 c_relu",
        level: 1,
        exact: true,
    },
    Case {
        name: "zero by relu",
        shows: "all-ones and all-zeros agree, and between them they do not: s - s^2",
        source: "program f(x) { let y = relu(x) return y - relu(y) }",
        at: "x=0",
        value: "0",
        gradients: &[("paper", "x=0"), ("torch", "x=0"), ("jax", "x=0"), ("relu=1", "x=0"), ("relu=1/2", "x=1/4")],
        kinks: 2,
        cost: "1 + 2 c_relu",
        level: 1,
        exact: true,
    },
    Case {
        name: "abs minus abs",
        shows: "equal choices cancel",
        source: "program f(x) = abs(x) - abs(x)",
        at: "x=0",
        value: "0",
        gradients: &[("paper", "x=0"), ("torch", "x=0"), ("jax", "x=0"), ("abs=1/3", "x=0")],
        kinks: 2,
        cost: "3 + 2 c_relu",
        level: 1,
        exact: true,
    },
    Case {
        name: "abs",
        shows: "the slope of |x| at 0 differs from framework to framework",
        source: "program f(x) = abs(x)",
        at: "x=0",
        value: "0",
        gradients: &[("paper", "x=-1"), ("torch", "x=0"), ("jax", "x=1")],
        kinks: 1,
        cost: "1 + c_relu",
        level: 0,
        exact: true,
    },
    Case {
        name: "leaky relu",
        shows: "between the slope on the left and 1",
        source: "program f(x) = leaky_relu(x, slope=1/4)",
        at: "x=0",
        value: "0",
        gradients: &[("paper", "x=1/4"), ("torch", "x=1/4"), ("jax", "x=1"), ("leaky_relu=1/3", "x=1/2")],
        kinks: 1,
        cost: "1 + c_relu",
        level: 0,
        exact: true,
    },
    Case {
        name: "elu",
        shows: "between the slope 2 on the left and 1 on the right",
        source: "program f(x) = elu(x, scale=2)",
        at: "x=0",
        value: "0",
        gradients: &[("paper", "x=1"), ("torch", "x=2"), ("jax", "x=2"), ("elu=1/4", "x=7/4")],
        kinks: 1,
        cost: "2 + c_nonlin + c_relu",
        level: 0,
        exact: true,
    },
    Case {
        name: "times relu",
        shows: "the x-ReLU program of the appendix takes relu'(0) = 1",
        source: "program f(a, b) = times_relu(a, b)",
        at: "a=3,b=0",
        value: "0",
        gradients: &[("paper", "a=0,b=3"), ("torch", "a=0,b=0"), ("jax", "a=0,b=0")],
        kinks: 1,
        cost: "1 + c_relu",
        level: 0,
        exact: true,
    },
    // --- ties
    Case {
        name: "max both ways",
        shows: "zero everywhere, but the first of two ties is another one each time",
        source: "program f(x, y) = max(x, y) - max(y, x)",
        at: "x=1,y=1",
        value: "0",
        gradients: &[("paper", "x=1,y=-1"), ("torch", "x=0,y=0"), ("jax", "x=0,y=0"), ("max=last", "x=-1,y=1")],
        kinks: 2,
        cost: "1 + 2 c_relu",
        level: 1,
        exact: true,
    },
    Case {
        name: "max of one number twice",
        shows: "a tie that is none: the weights add up",
        source: "program f(x) = max(x, x)",
        at: "x=3",
        value: "3",
        gradients: &[("paper", "x=1"), ("torch", "x=1"), ("jax", "x=1"), ("max=last", "x=1")],
        kinks: 1,
        cost: "c_relu",
        level: 1,
        exact: true,
    },
    Case {
        name: "min of three",
        shows: "two of three tie",
        source: "program f(x, y, z) = min(x, y, z)",
        at: "x=2,y=1,z=1",
        value: "1",
        gradients: &[
            ("paper", "x=0,y=1,z=0"),
            ("torch", "x=0,y=1/2,z=1/2"),
            ("jax", "x=0,y=1/2,z=1/2"),
            ("max=last", "x=0,y=0,z=1"),
        ],
        kinks: 1,
        cost: "2 c_relu",
        level: 0,
        exact: true,
    },
    Case {
        name: "hinge loss at the margin",
        shows: "a constant ties with a value and may take all the weight",
        source: "program f(y, t) = max(0, 1 - y * t)",
        at: "y=1,t=1",
        value: "0",
        gradients: &[
            ("paper", "y=0,t=0"),
            ("torch", "y=-1/2,t=-1/2"),
            ("jax", "y=-1/2,t=-1/2"),
            ("max=last", "y=-1,t=-1"),
        ],
        kinks: 1,
        cost: "2 + c_relu",
        level: 1,
        exact: true,
    },
    Case {
        name: "clip at its lower end",
        shows: "only the inner of two kinks is met",
        source: "program f(x) = min(max(x, 0), 1)",
        at: "x=0",
        value: "0",
        gradients: &[("paper", "x=1"), ("torch", "x=1/2"), ("jax", "x=1/2"), ("max=last", "x=0")],
        kinks: 1,
        cost: "2 c_relu",
        level: 1,
        exact: true,
    },
    Case {
        name: "median with ties",
        shows: "three of five are the median",
        source: "program f(v[5]) = median(v)",
        at: "v=[1,2,2,3,2]",
        value: "2",
        gradients: &[
            ("paper", "v=[0,1,0,0,0]"),
            ("torch", "v=[0,1,0,0,0]"),
            ("jax", "v=[0,1,0,0,0]"),
            ("order=last", "v=[0,0,0,0,1]"),
            ("order=average", "v=[0,1/3,1/3,0,1/3]"),
        ],
        kinks: 1,
        cost: "8 c_relu",
        level: 0,
        exact: true,
    },
    Case {
        name: "sort with ties",
        shows: "tied elements keep their order, or turn it",
        source: "program f(v[3]) = sort(v, axis=0) @ [1, 10, 100]",
        at: "v=[1,0,1]",
        value: "110",
        gradients: &[
            ("paper", "v=[10,1,100]"),
            ("torch", "v=[10,1,100]"),
            ("jax", "v=[10,1,100]"),
            ("order=last", "v=[100,1,10]"),
        ],
        kinks: 1,
        cost: "5 + 3 c_relu",
        level: 1,
        exact: true,
    },
    Case {
        name: "max-pool over a constant patch",
        shows: "the background of an image ties all its windows",
        source: "program f(x[1, 2, 4]) = sum(maxpool(x, size=[2, 2]))",
        at: "x=[[[1,1,0,0],[1,1,0,2]]]",
        value: "3",
        gradients: &[
            ("paper", "x=[[[1,0,0,0],[0,0,0,1]]]"),
            ("torch", "x=[[[1/4,1/4,0,0],[1/4,1/4,0,1]]]"),
            ("jax", "x=[[[1/4,1/4,0,0],[1/4,1/4,0,1]]]"),
            ("max=last", "x=[[[0,0,0,0],[0,1,0,1]]]"),
        ],
        kinks: 1,
        cost: "1 + 6 c_relu",
        level: 1,
        exact: true,
    },
    Case {
        name: "l1 norm at the origin",
        shows: "every coordinate is at its own kink",
        source: "program f(v[3]) = norm1(v)",
        at: "v=[0,0,0]",
        value: "0",
        gradients: &[("paper", "v=[-1,-1,-1]"), ("torch", "v=[0,0,0]"), ("jax", "v=[1,1,1]")],
        kinks: 1,
        cost: "5 + 3 c_relu",
        level: 0,
        exact: true,
    },
    Case {
        name: "linf norm at the origin",
        shows: "a tie of kinks",
        source: "program f(v[2]) = norminf(v)",
        at: "v=[0,0]",
        value: "0",
        gradients: &[
            ("paper", "v=[-1,0]"),
            ("torch", "v=[0,0]"),
            ("jax", "v=[1/2,1/2]"),
            ("max=last, abs=1/2", "v=[0,1/2]"),
        ],
        kinks: 1,
        cost: "2 + 3 c_relu",
        level: 0,
        exact: true,
    },
    Case {
        name: "linf norm with opposite ties",
        shows: "shares have the signs of their coordinates",
        source: "program f(v[3]) = norminf(v)",
        at: "v=[-2,1,2]",
        value: "2",
        gradients: &[
            ("paper", "v=[-1,0,0]"),
            ("torch", "v=[-1/2,0,1/2]"),
            ("jax", "v=[-1/2,0,1/2]"),
            ("max=last", "v=[0,0,1]"),
        ],
        kinks: 1,
        cost: "3 + 5 c_relu",
        level: 0,
        exact: true,
    },
    Case {
        name: "max-m-linear with tied rows",
        shows: "the derivative by the matrix is the vector in the rows that win",
        source: "program f(A[2, 2], x[2]) = max_linear(A, x)",
        at: "A=[[1,2],[3,0]],x=[1,1]",
        value: "3",
        gradients: &[
            ("paper", "A=[[1,1],[0,0]],x=[1,2]"),
            ("torch", "A=[[1/2,1/2],[1/2,1/2]],x=[2,1]"),
            ("jax", "A=[[1/2,1/2],[1/2,1/2]],x=[2,1]"),
            ("max=last", "A=[[0,0],[1,1]],x=[3,0]"),
        ],
        kinks: 1,
        cost: "6 + c_relu",
        level: 0,
        exact: true,
    },
    // --- smooth
    Case {
        name: "square",
        shows: "one nonlinear operation",
        source: "program f(x) = x ^ 2",
        at: "x=3",
        value: "9",
        gradients: &[("paper", "x=6"), ("torch", "x=6"), ("jax", "x=6")],
        kinks: 0,
        cost: "c_nonlin",
        level: 0,
        exact: true,
    },
    Case {
        name: "product of one number with itself",
        shows: "predecessors are a list, not a set",
        source: "program f(x) = x * x",
        at: "x=-1/2",
        value: "1/4",
        gradients: &[("paper", "x=-1"), ("torch", "x=-1"), ("jax", "x=-1")],
        kinks: 0,
        cost: "1",
        level: 1,
        exact: true,
    },
    Case {
        name: "quotient",
        shows: "Baur and Strassen's worst case",
        source: "program f(x, y) = x / y",
        at: "x=1,y=4",
        value: "1/4",
        gradients: &[("paper", "x=1/4,y=-1/16"), ("torch", "x=1/4,y=-1/16"), ("jax", "x=1/4,y=-1/16")],
        kinks: 0,
        cost: "c_nonlin",
        level: 0,
        exact: true,
    },
    Case {
        name: "logistic loss",
        shows: "exp and log, with constants",
        source: "program f(x) = log(1 + exp(-x))",
        at: "x=0",
        value: "0.6931471805599453",
        gradients: &[("paper", "x=-1/2"), ("torch", "x=-1/2"), ("jax", "x=-1/2")],
        kinks: 0,
        cost: "2 + 2 c_nonlin",
        level: 1,
        exact: false,
    },
    Case {
        name: "log-sum-exp of equals",
        shows: "smooth where the maximum is not",
        source: "program f(v[2]) = logsumexp(v)",
        at: "v=[5,5]",
        value: "5.693147180559945",
        gradients: &[("paper", "v=[1/2,1/2]"), ("torch", "v=[1/2,1/2]"), ("jax", "v=[1/2,1/2]")],
        kinks: 0,
        cost: "4 + 3 c_nonlin + c_relu",
        level: 0,
        exact: false,
    },
    // --- programs of programs
    Case {
        name: "figure 1, P0",
        shows: "an elementary program is its operation",
        source: "program p0(a, b) = a + b",
        at: "a=1,b=2",
        value: "3",
        gradients: &[("paper", "a=1,b=1"), ("torch", "a=1,b=1"), ("jax", "a=1,b=1")],
        kinks: 0,
        cost: "1",
        level: 0,
        exact: true,
    },
    Case {
        name: "figure 1, P1",
        shows: "level 1",
        source: "program p1(a, b, c) = a * (b + c)",
        at: "a=2,b=3,c=5",
        value: "16",
        gradients: &[("paper", "a=8,b=2,c=2"), ("torch", "a=8,b=2,c=2"), ("jax", "a=8,b=2,c=2")],
        kinks: 0,
        cost: "2",
        level: 1,
        exact: true,
    },
    Case {
        name: "figure 1, Q1",
        shows: "the same function at another cost",
        source: "program q1(a, b, c) = a * b + a * c",
        at: "a=2,b=3,c=5",
        value: "16",
        gradients: &[("paper", "a=8,b=2,c=2"), ("torch", "a=8,b=2,c=2"), ("jax", "a=8,b=2,c=2")],
        kinks: 0,
        cost: "3",
        level: 1,
        exact: true,
    },
    Case {
        name: "figure 1, P2",
        shows: "a program of programs, of level 2",
        source: "program p1(a, b, c) = a * (b + c)
                 program q1(a, b, c) = a * b + a * c
                 program p2(a, b, c, d) = q1(a, c, d) + p1(b, c, d)",
        at: "a=2,b=3,c=5,d=7",
        value: "60",
        gradients: &[("paper", "a=12,b=12,c=5,d=5"), ("torch", "a=12,b=12,c=5,d=5"), ("jax", "a=12,b=12,c=5,d=5")],
        kinks: 0,
        cost: "6",
        level: 2,
        exact: true,
    },
    Case {
        name: "several outputs, one constant",
        shows: "constants are followed through calls: both products are *c",
        source: "program g(a, b) { return a * b, 3, a }
                 program f(x) { let u, v, w = g(x, 2) return u + v * w }",
        at: "x=2",
        value: "10",
        gradients: &[("paper", "x=5"), ("torch", "x=5"), ("jax", "x=5")],
        kinks: 0,
        cost: "3",
        level: 2,
        exact: true,
    },
    Case {
        name: "joint program of its own",
        shows: "the author's derivative goes before any selection",
        source: "program g(x) = relu(x)
                 joint g(x) = relu'(x, at=1)
                 program f(x) = g(x) - g(-x)",
        at: "x=0",
        value: "0",
        gradients: &[("paper", "x=2"), ("torch", "x=2"), ("jax", "x=2"), ("relu=1/2", "x=2")],
        kinks: 2,
        cost: "2 + 2 c_relu",
        level: 1,
        exact: true,
    },
    Case {
        name: "Huber loss where its pieces meet",
        shows: "a selection function takes the branch that it computes; the comparison at its tie counts as a kink",
        source: "program f(x) = select { x > 1 => x - 1/2, x < -1 => -x - 1/2, else => x * x / 2 }",
        at: "x=1",
        value: "1/2",
        gradients: &[("paper", "x=1"), ("torch", "x=1"), ("jax", "x=1")],
        kinks: 1,
        cost: "2 + 2 c_relu",
        level: 2,
        exact: true,
    },
    // --- networks
    Case {
        name: "theorem 3 at the origin, p = 2",
        shows: "all kinks are met at once",
        source: "program f(x[2], B[2, 2], M[2, 2]) {
                   let t = [[1, 1], [1, -1]] @ (transpose(B, [1, 0]) @ (M @ x))
                   return sum(relu(t) + relu(-t)) / 2
                 }",
        at: "x=[0,0],B=[[1,0],[2,1]],M=[[1,2],[3,4]]",
        value: "0",
        gradients: &[
            ("paper", "x=[0,0],B=[[0,0],[0,0]],M=[[0,0],[0,0]]"),
            ("torch", "x=[0,0],B=[[0,0],[0,0]],M=[[0,0],[0,0]]"),
            ("jax", "x=[0,0],B=[[0,0],[0,0]],M=[[0,0],[0,0]]"),
        ],
        kinks: 2,
        cost: "24 + 4 c_relu",
        level: 1,
        exact: true,
    },
    Case {
        name: "theorem 3 off its kinks, p = 2",
        shows: "three products of a matrix and a vector",
        source: "program f(x[2], B[2, 2], M[2, 2]) {
                   let t = [[1, 1], [1, -1]] @ (transpose(B, [1, 0]) @ (M @ x))
                   return sum(relu(t) + relu(-t)) / 2
                 }",
        at: "x=[1,0],B=[[1,0],[2,1]],M=[[1,2],[3,4]]",
        value: "7",
        gradients: &[
            ("paper", "x=[7,10],B=[[1,0],[3,0]],M=[[1,0],[2,0]]"),
            ("torch", "x=[7,10],B=[[1,0],[3,0]],M=[[1,0],[2,0]]"),
            ("jax", "x=[7,10],B=[[1,0],[3,0]],M=[[1,0],[2,0]]"),
        ],
        kinks: 0,
        cost: "24 + 4 c_relu",
        level: 1,
        exact: true,
    },
    Case {
        name: "perceptron with a unit at its kink",
        shows: "one of two hidden units is undecided",
        source: "program f(x[2], W[2, 2], b[2], v[2]) = v @ relu(W @ x + b)",
        at: "x=[1,-1],W=[[1,1],[2,1]],b=[0,0],v=[3,5]",
        value: "5",
        gradients: &[
            ("paper", "x=[10,5],W=[[0,0],[5,-5]],b=[0,5],v=[0,1]"),
            ("torch", "x=[10,5],W=[[0,0],[5,-5]],b=[0,5],v=[0,1]"),
            ("jax", "x=[10,5],W=[[0,0],[5,-5]],b=[0,5],v=[0,1]"),
            ("relu=1", "x=[13,8],W=[[3,-3],[5,-5]],b=[3,5],v=[0,1]"),
        ],
        kinks: 1,
        cost: "11 + 2 c_relu",
        level: 1,
        exact: true,
    },
    Case {
        name: "convolutional network on a constant image",
        shows: "convolution, relu and a pool whose window is tied",
        source: "program f(x[1, 3, 3], K[1, 1, 2, 2]) = sum(maxpool(relu(conv2d(x, K)), size=[2, 2]))",
        at: "x=[[[1,1,1],[1,1,1],[1,1,1]]],K=[[[[1,0],[0,1]]]]",
        value: "2",
        gradients: &[
            ("paper", "x=[[[1,0,0],[0,1,0],[0,0,0]]],K=[[[[1,1],[1,1]]]]"),
            ("torch", "x=[[[1/4,1/4,0],[1/4,1/2,1/4],[0,1/4,1/4]]],K=[[[[1,1],[1,1]]]]"),
            ("jax", "x=[[[1/4,1/4,0],[1/4,1/2,1/4],[0,1/4,1/4]]],K=[[[[1,1],[1,1]]]]"),
            ("max=last", "x=[[[0,0,0],[0,1,0],[0,0,1]]],K=[[[[1,1],[1,1]]]]"),
        ],
        kinks: 1,
        cost: "28 + 7 c_relu",
        level: 1,
        exact: true,
    },
];
