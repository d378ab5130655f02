//! Random tensor programs: views with strides of every sign, windows under products and maxima, assemblies that overlap, sizes around
//! the widths of vector registers.

use crease_core::{Atom, Builder, Conv2d, Kink, Lane, Layout, Op, Program, Rational, Shape, Smooth, Window};
use crease_corpus::random::Rng;

/// Around the widths of vector registers and of what kernels do at once.
pub const SIZES: [usize; 22] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 24, 31, 32, 33, 63, 64, 65, 100, 130];

/// Values are not made longer than this.
const LONGEST: usize = 2500;
/// Values are kept below this, so that integers stay exact in f32.
const LARGEST: f64 = 60.0;

struct Growing<'a> {
    b: Builder,
    rng: &'a mut Rng,
    /// values, and a bound on their size at points of small integers
    pool: Vec<(Atom, f64)>,
    /// Whether integers stay integers.
    whole: bool,
}

/// A program with one scalar output. A whole one maps integers to integers that floats hold.
pub fn program(rng: &mut Rng, whole: bool) -> Program {
    let mut g = Growing { b: Builder::new("f"), rng, pool: Vec::new(), whole };
    for i in 0..1 + g.rng.below(3) {
        let shape = g.shape();
        let x = g.b.input(format!("x{i}"), shape).expect("a fresh input");
        g.pool.push((x, 2.0));
    }
    for _ in 0..2 + g.rng.below(5) {
        // what does not fit is not done
        let _ = g.step();
    }
    let out = g.total();
    g.b.finish(&[out]).expect("a random program can be built")
}

type Made = Option<()>;

impl Growing<'_> {
    fn size(&mut self, most: usize) -> usize {
        let fitting = SIZES.iter().filter(|&&n| n <= most).count().max(1);
        SIZES[self.rng.below(fitting)]
    }

    fn shape(&mut self) -> Shape {
        let rank = 1 + self.rng.below(4);
        let mut left = LONGEST;
        let dims: Vec<usize> = (0..rank)
            .map(|_| {
                let n = self.size(left.min(if rank > 2 { 17 } else { 130 }));
                left /= n;
                n
            })
            .collect();
        Shape::new(dims).expect("a shape without empty axes")
    }

    fn any(&mut self) -> (Atom, f64) {
        let n = self.pool.len();
        let i = self.rng.below(n).max(self.rng.below(n));
        self.pool[i]
    }

    /// Keeps a value, cut off where it may be too large.
    fn keep(&mut self, x: Atom, size: f64) -> Made {
        let shape = self.b.shape(x);
        if x.value().is_none() || shape.len() > 4 * LONGEST {
            return None;
        }
        if size <= LARGEST {
            self.pool.push((x, size));
            return Some(());
        }
        let (low, high) = (self.b.constant(-7), self.b.constant(7));
        let cut = self.b.elementwise(Op::Kink(Kink::Max(Lane::Args)), &[x, low]).ok()?;
        let cut = self.b.elementwise(Op::Kink(Kink::Min(Lane::Args)), &[cut, high]).ok()?;
        self.pool.push((cut, 7.0));
        Some(())
    }

    /// Strided loops of these sizes over `n` elements.
    fn loops(&mut self, sizes: &[usize], n: usize) -> Option<Layout> {
        for _ in 0..20 {
            let mut dims = Vec::new();
            for &size in sizes {
                let stride = match self.rng.below(8) {
                    0 => 0,
                    1 | 2 => 1,
                    3 | 4 => -1,
                    5 => [2, -2][self.rng.below(2)],
                    6 => self.rng.between(-9, 9) as isize,
                    _ => (n / size) as isize * [1, -1][self.rng.below(2)],
                };
                dims.push((size, stride));
            }
            let reach = |s: isize| -> isize {
                dims.iter().filter(|d| d.1.signum() == s).map(|d| (d.0 as isize - 1) * d.1.abs()).sum()
            };
            let (down, up) = (reach(-1) as usize, reach(1) as usize);
            if down + up < n {
                let offset = down + self.rng.below(n - down - up);
                return Some(Layout::strided(offset, &dims));
            }
        }
        None
    }

    fn view(&mut self, x: Atom, sizes: &[usize]) -> Option<Atom> {
        let n = self.b.shape(x).len();
        let layout = self.loops(sizes, n)?;
        self.b.view(x, layout, Shape::new(sizes.to_vec()).ok()?).ok()
    }

    fn step(&mut self) -> Made {
        match self.rng.below(12) {
            0 => self.any_view(),
            1 => self.reversed(),
            2 => self.pool_of_windows(),
            3 | 4 => self.product_of_windows(),
            5 => self.convolution(),
            6 => self.elementwise(),
            7 => self.binary(),
            8 => self.lanes(),
            9 => self.assembly(),
            10 => self.stack_of_products(),
            _ => self.sums(),
        }
    }

    fn any_view(&mut self) -> Made {
        let (x, size) = self.any();
        let shape = self.shape();
        let y = self.view(x, shape.dims())?;
        self.keep(y, size)
    }

    /// Some axes backward, or every second index of them; perhaps transposed.
    fn reversed(&mut self) -> Made {
        let (x, size) = self.any();
        let shape = self.b.shape(x);
        let axes: Vec<(usize, usize, isize)> = shape
            .dims()
            .iter()
            .map(|&n| match self.rng.below(4) {
                0 => (n - 1, n.div_ceil(2), -2),
                1 => (0, n, 1),
                _ => (n - 1, n, -1),
            })
            .collect();
        let mut y = self.b.slice(x, &axes).ok()?;
        if self.rng.once_in(2) {
            let mut order: Vec<usize> = (0..shape.rank()).collect();
            (1..order.len()).for_each(|i| order.swap(i, self.rng.below(i + 1)));
            y = self.b.transpose(y, &order).ok()?;
        }
        self.keep(y, size)
    }

    fn pool_of_windows(&mut self) -> Made {
        let (x, size) = self.any();
        let sizes: Vec<usize> = (0..1 + self.rng.below(2)).map(|_| self.size(100)).collect();
        let window: Vec<usize> = (0..1 + self.rng.below(2)).map(|_| self.size(5)).collect();
        let windows = self.view(x, &[&sizes[..], &window].concat())?;
        let lane: usize = window.iter().product();
        let flat = self.b.reshape(windows, &Shape::new([&sizes[..], &[lane]].concat()).ok()?).ok()?;
        let kink = if self.rng.once_in(2) { Kink::Max(Lane::Axis) } else { Kink::Min(Lane::Axis) };
        let y = self.b.push1(Op::Kink(kink), &[flat]).ok()?;
        self.keep(y, size)
    }

    fn product_of_windows(&mut self) -> Made {
        let ((x, a), (k, b)) = (self.any(), self.any());
        let rows: Vec<usize> = (0..1 + self.rng.below(2)).map(|_| self.size(65)).collect();
        let columns: Vec<usize> = (0..1 + self.rng.below(2)).map(|_| self.size(9)).collect();
        let windows = self.view(x, &[&rows[..], &columns].concat())?;
        let (m, n) = (rows.iter().product::<usize>(), columns.iter().product::<usize>());
        let (ta, tb) = (self.rng.once_in(4), self.rng.once_in(2));
        let windows = self.b.reshape(windows, &Shape::new([m, n]).ok()?).ok()?;
        // the columns of the first factor are windows, or its rows are
        let inner = if ta { m } else { n };
        let o = self.size(33);
        let sizes = if tb { [o, inner] } else { [inner, o] };
        let kernels = self.view(k, &sizes)?;
        let op = Op::MatMul { transpose_a: ta, transpose_b: tb };
        let y = self.b.push1(op, &[windows, kernels]).ok()?;
        let y = if self.rng.once_in(2) {
            // channel by channel
            let shape = self.b.shape(y);
            let images = rows[0].min(if ta { 1 } else { rows[0] });
            let [m, o] = shape.dims() else { return None };
            let per = m / images;
            let layout = Layout::strided(0, &[(images, (per * o) as isize), (*o, 1), (per, *o as isize)]);
            if images * per != *m {
                return None;
            }
            self.b.view(y, layout, Shape::new([images, *o, per]).ok()?).ok()?
        } else {
            y
        };
        self.keep(y, a * b * inner as f64)
    }

    fn convolution(&mut self) -> Made {
        let (x, a) = self.any();
        let [n, c, h, w] = [self.size(3), self.size(3), self.size(9), self.size(33)];
        let image = self.view(x, &[n, c, h, w])?;
        let image = match self.rng.below(3) {
            0 => {
                let axes = [n, c, h, w].map(|n| if self.rng.once_in(2) { (n - 1, n, -1) } else { (0, n, 1) });
                self.b.slice(image, &axes).ok()?
            }
            _ => image,
        };
        if self.rng.once_in(3) {
            let window = Window::new((1 + self.rng.below(3), 1 + self.rng.below(3)));
            let window = window.stride((1 + self.rng.below(2), 1 + self.rng.below(3)));
            let window = if self.rng.once_in(3) { window.padding((0, window.size.1 / 2)) } else { window };
            let y = self.b.maxpool2d(image, window).ok()?;
            return self.keep(y, a);
        }
        let (k, b) = self.any();
        let [o, kh, kw] = [self.size(17), self.size(3), self.size(5)];
        let kernel = self.view(k, &[o, c, kh, kw])?;
        let how = Conv2d {
            stride: (1 + self.rng.below(2), 1 + self.rng.below(2)),
            padding: (self.rng.below(2), self.rng.below(2)),
        };
        let y = self.b.conv2d(image, kernel, how).ok()?;
        self.keep(y, a * b * (c * kh * kw) as f64)
    }

    fn elementwise(&mut self) -> Made {
        let (x, size) = self.any();
        let half = Rational::new(1, 2)?;
        let ops = [
            Op::Neg,
            Op::Kink(Kink::Relu),
            Op::Kink(Kink::Abs),
            Op::Kink(Kink::LeakyRelu(Rational::from(3))),
            Op::Smooth(Smooth::Power(2)),
            Op::Kink(Kink::LeakyRelu(half.clone())),
            Op::Kink(Kink::Elu(half)),
            Op::Smooth(Smooth::Exp),
            Op::Smooth(Smooth::Tanh),
            Op::Smooth(Smooth::Sigmoid),
            Op::Smooth(Smooth::Sin),
            Op::Smooth(Smooth::Cos),
            Op::Smooth(Smooth::Atan),
            Op::Smooth(Smooth::Asinh),
            Op::Smooth(Smooth::Erf),
            Op::Smooth(Smooth::Erfc),
        ];
        let op = ops[self.rng.below(if self.whole { 5 } else { ops.len() })].clone();
        let x = match op {
            Op::Smooth(Smooth::Exp) => self.b.elementwise(Smooth::Tanh, &[x]).ok()?,
            _ => x,
        };
        let y = self.b.elementwise(op, &[x]).ok()?;
        self.keep(y, (3.0 * size).max(size * size))
    }

    fn binary(&mut self) -> Made {
        let ((x, a), (z, b)) = (self.any(), self.any());
        let shape = self.b.shape(x);
        let z = self.view(z, shape.dims())?;
        let (op, size) = match self.rng.below(6) {
            0 => (Op::Add, a + b),
            1 => (Op::Sub, a + b),
            2 => (Op::Mul, a * b),
            3 => (Op::Kink(Kink::Max(Lane::Args)), a.max(b)),
            4 => (Op::Kink(Kink::Min(Lane::Args)), a.max(b)),
            _ => (Op::Kink(Kink::TimesRelu), a * b),
        };
        let y = self.b.elementwise(op, &[x, z]).ok()?;
        self.keep(y, size)
    }

    fn lanes(&mut self) -> Made {
        let (x, size) = self.any();
        let n = self.size(130);
        let count = self.size(33);
        let x = if self.rng.once_in(2) { self.view(x, &[count, n])? } else { x };
        let n = self.b.shape(x).dims().last().copied()?;
        let lane = Lane::Axis;
        let kinks = [
            Kink::Max(lane),
            Kink::Min(lane),
            Kink::NormInf(lane),
            Kink::Norm1(lane),
            Kink::OrderStatistic(lane, self.rng.below(n)),
            Kink::Sort(lane),
        ];
        let y = match self.rng.below(if self.whole { 7 } else { 8 }) {
            6 => {
                let (z, other) = self.any();
                let rows = self.size(9);
                let (a, v) = (self.view(x, &[rows, n])?, self.view(z, &[n])?);
                let y = self.b.max_linear(a, v).ok()?;
                return self.keep(y, size * other * n as f64);
            }
            7 => self.b.push1(Op::LogSumExp(lane), &[x]).ok()?,
            k => self.b.push1(Op::Kink(kinks[k].clone()), &[x]).ok()?,
        };
        self.keep(y, size * n as f64)
    }

    /// Pieces into places that overlap, or leave some out.
    fn assembly(&mut self) -> Made {
        let shape = self.shape();
        let (mut pieces, mut size) = (Vec::new(), 0.0);
        for _ in 0..1 + self.rng.below(3) {
            let (x, s) = self.any();
            let sizes = self.b.shape(x).dims().to_vec();
            let Some(layout) = self.loops(&sizes, shape.len()) else { continue };
            size += s * layout.len() as f64;
            pieces.push((x, layout));
        }
        let y = self.b.assemble(shape, pieces).ok()?;
        self.keep(y, size)
    }

    /// Products of stacks of matrices, shared or not.
    fn stack_of_products(&mut self) -> Made {
        let ((x, a), (z, b)) = (self.any(), self.any());
        let [batch, m, n, k] = [self.size(5), self.size(17), self.size(17), self.size(33)];
        let (ta, tb) = (self.rng.once_in(2), self.rng.once_in(2));
        let x = self.view(x, &if ta { [batch, k, m] } else { [batch, m, k] })?;
        let z = self.view(z, &if tb { [batch, n, k] } else { [batch, k, n] })?;
        let y = self.b.push1(Op::MatMul { transpose_a: ta, transpose_b: tb }, &[x, z]).ok()?;
        self.keep(y, a * b * k as f64)
    }

    fn sums(&mut self) -> Made {
        let (x, size) = self.any();
        let shape = self.b.shape(x);
        let axes: Vec<usize> = (0..shape.rank()).filter(|_| self.rng.once_in(2)).collect();
        let count: usize = axes.iter().map(|&a| shape.dims()[a]).product();
        let y = self.b.sum(x, &axes).ok()?;
        self.keep(y, size * count as f64)
    }

    /// A sum of the values, each times something that tells its elements apart.
    fn total(&mut self) -> Atom {
        let mut total: Option<Atom> = None;
        let last = self.pool.len().saturating_sub(3);
        for k in (0..self.pool.len()).rev().take(4) {
            let (x, _) = self.pool[k];
            let n = self.b.shape(x).len();
            let flat = self.b.flatten(x).expect("a value");
            let flat = if k >= last || self.rng.once_in(2) {
                let weights: Vec<f64> = (0..n).map(|i| ((i * 7 + k) % 5) as f64 - 1.0).collect();
                let weights = self.b.tensor(Shape::vector(n).expect("not empty"), weights).expect("a constant");
                self.b.mul(flat, weights).expect("two vectors")
            } else {
                flat
            };
            let sum = self.b.sum_all(flat).expect("a vector");
            total = Some(match total {
                None => sum,
                Some(t) => self.b.add(t, sum).expect("two scalars"),
            });
        }
        total.expect("there is an input")
    }
}
