//! What moves numbers about, and products of tensors.

use super::grow::{Fact, Grower, Var, some_shape};
use crease_core::{Atom, Conv2d, Layout, Op, Shape, Sliding, Window};

/// No value gets more elements than this.
const MAX_ELEMENTS: usize = 24;

impl Grower<'_> {
    /// One number out of a value: one of its elements, or their sum.
    pub fn one_number(&mut self, v: Var) -> Var {
        let shape = self.b.shape(v.atom);
        if shape.is_scalar() {
            return v;
        }
        let fact = v.fact.sum(shape.len());
        let (atom, fact) = if self.fits(fact) && !self.rng.once_in(3) {
            (self.b.sum_all(v.atom), fact)
        } else {
            let index: Vec<usize> = shape.dims().iter().map(|&n| self.rng.below(n)).collect();
            (self.b.at(v.atom, &index), v.fact)
        };
        Var { atom: atom.expect("an element that is there"), fact }
    }

    /// A value brought into a shape, its elements repeated or left out as needed.
    pub fn reshaped(&mut self, v: Var, shape: &Shape) -> Var {
        let from = self.b.shape(v.atom);
        if from == *shape {
            return v;
        }
        if shape.is_scalar() {
            return self.one_number(v);
        }
        let atom = if from.is_scalar() {
            self.b.broadcast(v.atom, shape)
        } else if from.len() == shape.len() {
            self.b.reshape(v.atom, shape)
        } else {
            let start = self.rng.below(from.len());
            let table: Vec<u32> = (0..shape.len()).map(|i| ((start + i) % from.len()) as u32).collect();
            self.b.view(v.atom, Layout::table(table), shape.clone())
        };
        Var { atom: atom.expect("an index map that fits"), fact: v.fact }
    }

    fn axes(&mut self, rank: usize) -> Vec<usize> {
        let some: Vec<usize> = (0..rank).filter(|_| self.rng.once_in(2)).collect();
        if some.is_empty() { vec![self.rng.below(rank)] } else { some }
    }

    fn order(&mut self, rank: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..rank).collect();
        for i in (1..rank).rev() {
            order.swap(i, self.rng.below(i + 1));
        }
        order
    }

    /// A view, a sum, a concatenation, a constant tensor.
    pub fn structure(&mut self) -> bool {
        let v = self.any();
        let shape = self.b.shape(v.atom);
        let rank = shape.rank();
        let (atom, fact) = match self.rng.below(11) {
            0 if rank > 0 => {
                let order = self.order(rank);
                (self.b.transpose(v.atom, &order), v.fact)
            }
            1 if rank > 0 => {
                let axes = self.axes(rank);
                let n = axes.iter().map(|&a| shape.dims()[a]).product();
                let fact = v.fact.sum(n);
                if !self.fits(fact) {
                    return false;
                }
                // the paper's smallest dictionary has no multiplication
                let mean = self.o.dictionary != super::Dictionary::D0 && self.rng.once_in(3);
                (if mean { self.b.mean(v.atom, &axes) } else { self.b.sum(v.atom, &axes) }, fact)
            }
            2 if rank > 0 => {
                let ranges: Vec<(usize, usize, isize)> = shape.dims().iter().map(|&n| self.range(n)).collect();
                (self.b.slice(v.atom, &ranges), v.fact)
            }
            3 if rank > 0 => {
                let axis = self.rng.below(rank);
                let n = shape.dims()[axis];
                let positions: Vec<usize> = (0..1 + self.rng.below(3)).map(|_| self.rng.below(n)).collect();
                if shape.len() / n * positions.len() > MAX_ELEMENTS {
                    return false;
                }
                (self.b.gather(v.atom, axis as isize, &positions), v.fact)
            }
            4 if rank > 0 => {
                let depth = 1 + self.rng.below(rank);
                let index: Vec<usize> = shape.dims()[..depth].iter().map(|&n| self.rng.below(n)).collect();
                (self.b.at(v.atom, &index), v.fact)
            }
            5 => {
                let n = 1 + self.rng.below(3);
                let mut parts = vec![v];
                for _ in 0..n {
                    let other = self.any();
                    parts.push(self.reshaped(other, &shape));
                }
                let axis = if rank == 0 { 0 } else { self.rng.below(rank) };
                if shape.len() * parts.len() > MAX_ELEMENTS {
                    return false;
                }
                let fact = parts.iter().map(|p| p.fact).reduce(Fact::either).unwrap_or(v.fact);
                let atoms: Vec<Atom> = parts.iter().map(|p| p.atom).collect();
                (self.b.concat(&atoms, axis as isize), fact)
            }
            6 => {
                let to = some_shape(self.rng);
                let table: Vec<u32> = (0..to.len()).map(|_| self.rng.below(shape.len()) as u32).collect();
                (self.b.view(v.atom, Layout::table(table), to), v.fact)
            }
            7 => return self.assembly(v),
            8 if rank < 3 => {
                let n = 1 + self.rng.below(3);
                let mut to = vec![n];
                to.extend_from_slice(shape.dims());
                let to = Shape::new(to).expect("no empty axis");
                if to.len() > MAX_ELEMENTS {
                    return false;
                }
                (self.b.broadcast(v.atom, &to), v.fact)
            }
            9 => {
                let to = some_shape(self.rng);
                let to = if to.is_scalar() { Shape::vector(2).expect("no empty axis") } else { to };
                let data = (0..to.len()).map(|_| *self.rng.pick(&[0.0, 1.0, -1.0, 2.0, 0.5, 0.1])).collect();
                (self.b.tensor(to, data), Fact::constant(2.0).within(2.0))
            }
            _ => {
                let to = Shape::new([shape.len(), 1]).expect("no empty axis");
                (self.b.reshape(v.atom, &to), v.fact)
            }
        };
        let atom = atom.expect("structure that fits");
        if atom != v.atom {
            self.keep(atom, fact);
        }
        true
    }

    /// The first index, the number of indices and the step of a part of an axis.
    fn range(&mut self, n: usize) -> (usize, usize, isize) {
        let count = 1 + self.rng.below(n);
        let longest = if count == 1 { 1 } else { (n - 1) / (count - 1) };
        let step = 1 + self.rng.below(longest.max(1));
        let first = self.rng.below(n - (count - 1) * step);
        if self.rng.once_in(2) {
            (first, count, step as isize)
        } else {
            (first + (count - 1) * step, count, -(step as isize))
        }
    }

    /// Values added into zeros through any index maps.
    fn assembly(&mut self, v: Var) -> bool {
        let to = some_shape(self.rng);
        let to = if to.is_scalar() { Shape::vector(3).expect("no empty axis") } else { to };
        let mut parts = vec![v];
        for _ in 0..self.rng.below(3) {
            parts.push(self.any_or_constant());
        }
        let mut fact = Fact::constant(0.0);
        let mut pieces = Vec::new();
        for part in parts {
            let n = self.b.shape(part.atom).len();
            let table: Vec<u32> = (0..n).map(|_| self.rng.below(to.len()) as u32).collect();
            fact = fact.plus(part.fact.sum(n));
            pieces.push((part.atom, Layout::table(table)));
        }
        self.fits(fact) && {
            let atom = self.b.assemble(to, pieces).expect("index maps that fit");
            self.keep(atom, fact);
            true
        }
    }

    /// A product of matrices and vectors, or of stacks of matrices, some of them transposed.
    pub fn matrix_product(&mut self) -> bool {
        let (m, k, n) = (1 + self.rng.below(3), 1 + self.rng.below(3), 1 + self.rng.below(3));
        let (a, b) = (self.any(), self.any());
        let (a, b) = (self.small(a, 8.0), self.small(b, 8.0));
        let fact = a.fact.times(b.fact).sum(k);
        if !self.fits(fact) {
            return false;
        }
        let shape = |dims: &[usize]| Shape::new(dims.to_vec()).expect("no empty axis");
        let atom = match self.rng.below(6) {
            0 => {
                let (a, b) = (self.reshaped(a, &shape(&[m, k])), self.reshaped(b, &shape(&[k])));
                self.b.matmul(a.atom, b.atom)
            }
            1 => {
                let (a, b) = (self.reshaped(a, &shape(&[k])), self.reshaped(b, &shape(&[k, n])));
                self.b.matmul(a.atom, b.atom)
            }
            2 => {
                let (a, b) = (self.reshaped(a, &shape(&[k])), self.reshaped(b, &shape(&[k])));
                self.b.matmul(a.atom, b.atom)
            }
            _ => {
                let (ta, tb) = (self.rng.once_in(2), self.rng.once_in(2));
                let mut left = if ta { vec![k, m] } else { vec![m, k] };
                let mut right = if tb { vec![n, k] } else { vec![k, n] };
                if self.rng.once_in(3) {
                    left.insert(0, 2);
                    right.insert(0, 2);
                }
                let (a, b) = (self.reshaped(a, &shape(&left)), self.reshaped(b, &shape(&right)));
                self.b.push1(Op::MatMul { transpose_a: ta, transpose_b: tb }, &[a.atom, b.atom])
            }
        };
        self.keep(atom.expect("matrices that fit"), fact);
        true
    }

    /// A convolution or a pooling.
    pub fn images(&mut self) -> bool {
        let (h, w) = (2 + self.rng.below(2), 2 + self.rng.below(2));
        let v = self.any();
        if self.rng.once_in(2) {
            let shape = Shape::new([1, h, w]).expect("no empty axis");
            let x = self.reshaped(v, &shape);
            let size = (1 + self.rng.below(2), 1 + self.rng.below(2));
            let stride = (1 + self.rng.below(2), 1 + self.rng.below(2));
            let padding = (self.rng.below(size.0), self.rng.below(size.1));
            let mut fact = v.fact;
            let atom = match self.rng.below(3) {
                0 => {
                    let how = Sliding::new(2).strides([stride.0, stride.1]).pads([padding.0, padding.1]);
                    let counted = self.rng.once_in(2);
                    // zeros around it count
                    fact.low = 0.0;
                    self.b.avgpool(x.atom, &[size.0, size.1], &how, counted)
                }
                _ => self.b.maxpool2d(x.atom, Window { size, stride, padding }),
            };
            self.keep(atom.expect("a window that fits"), fact);
            return true;
        }
        if self.rng.once_in(3) {
            return self.series(v);
        }
        let channels = 1 + self.rng.below(2);
        let kernel = Shape::new([1 + self.rng.below(2), channels, 1 + self.rng.below(2), 2]).expect("no empty axis");
        let shape = Shape::new([channels, h, w]).expect("no empty axis");
        let k = self.any();
        let (x, k) = (self.small(v, 8.0), self.small(k, 8.0));
        let fact = x.fact.times(k.fact).sum(kernel.len());
        if !self.fits(fact) {
            return false;
        }
        let (x, k) = (self.reshaped(x, &shape), self.reshaped(k, &kernel));
        let how = Conv2d {
            stride: (1 + self.rng.below(2), 1 + self.rng.below(2)),
            padding: (self.rng.below(2), self.rng.below(2)),
        };
        let atom = self.b.conv2d(x.atom, k.atom, how);
        self.keep(atom.expect("a kernel that fits"), fact);
        true
    }

    /// A convolution of two channels along one axis, in groups or not, with gaps, or the transpose of one.
    fn series(&mut self, v: Var) -> bool {
        let (channels, groups) = (2, 1 + self.rng.below(2));
        let kernel = Shape::new([channels, channels / groups, 2]).expect("no empty axis");
        let shape = Shape::new([channels, 3 + self.rng.below(2)]).expect("no empty axis");
        let k = self.any();
        let (x, k) = (self.small(v, 8.0), self.small(k, 8.0));
        let fact = x.fact.times(k.fact).sum(kernel.len());
        if !self.fits(fact) {
            return false;
        }
        let (x, k) = (self.reshaped(x, &shape), self.reshaped(k, &kernel));
        let stride = 1 + self.rng.below(2);
        let how = Sliding::new(1).strides([stride]).pads([self.rng.below(2)]).dilations([1 + self.rng.below(2)]);
        let atom = match self.rng.below(2) {
            0 => self.b.conv(x.atom, k.atom, &how, groups),
            _ => self.b.conv_transpose(x.atom, k.atom, &how, groups, &[self.rng.below(stride)]),
        };
        // there are places that no kernel reaches
        self.keep(atom.expect("a kernel that fits"), Fact { low: 0.0, ..fact });
        true
    }
}
