//! Products, variances and deviations of groups of numbers, made of the others.
//!
//! A product is a tree of products of halves: n - 1 multiplications, and no division in its derivative, which is right where numbers are 0.

use super::{BuildError, Builder};
use crate::op::OpError;
use crate::program::Atom;
use crate::shape::{Layout, Shape};

impl Builder {
    /// The product over some axes, which disappear; of no axis it is the tensor itself.
    ///
    /// ```
    /// use crease_core::{Builder, Shape, Tensor, differentiate::{backprop, How}, run};
    /// let mut b = Builder::new("f");
    /// let x = b.input("x", Shape::vector(3)?)?;
    /// let y = b.prod(x, &[0])?;
    /// let p = backprop(&b.finish(&[y])?, &How::default())?;
    /// let out = run(&p, &[Tensor::vector(vec![2.0, 0.0, 5.0]).unwrap()])?;
    /// assert_eq!((out[0].data(), out[1].data()), (&[0.0][..], &[0.0, 10.0, 0.0][..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prod(&mut self, x: Atom, axes: &[usize]) -> Result<Atom, BuildError> {
        let shape = self.shape_of(x)?;
        super::structure::check_axes("prod", &shape, axes)?;
        let kept: Vec<usize> = (0..shape.rank()).filter(|a| !axes.contains(a)).collect();
        let order: Vec<usize> = kept.iter().chain(axes).copied().collect();
        let to = Shape::new(kept.iter().map(|&a| shape.dims()[a]).collect::<Vec<_>>())?;
        let (rest, mut n) = (to.len(), shape.len() / to.len());
        let last = self.transpose(x, &order)?;
        let mut lanes = self.reshape(last, &Shape::new([rest, n])?)?;
        while n > 1 {
            let half = n / 2;
            let part = |b: &mut Builder, from: usize| {
                let layout = Layout::strided(from, &[(rest, n as isize), (half, 1)]);
                b.view(lanes, layout, Shape::new([rest, half])?)
            };
            let (left, right) = (part(self, 0)?, part(self, half)?);
            let halves = self.mul(left, right)?;
            lanes = match n % 2 {
                0 => halves,
                _ => {
                    let odd =
                        self.view(lanes, Layout::strided(n - 1, &[(rest, n as isize)]), Shape::new([rest, 1])?)?;
                    self.concat(&[halves, odd], 1)?
                }
            };
            n = half + n % 2;
        }
        self.reshape(lanes, &to)
    }

    /// The mean of the squared distances from the mean over some axes, which disappear: divided by as many as there are.
    pub fn variance(&mut self, x: Atom, axes: &[usize]) -> Result<Atom, BuildError> {
        let shape = self.shape_of(x)?;
        if axes.is_empty() {
            return Err(OpError::Parameter { op: "variance".into(), why: "it needs an axis to go along".into() }.into());
        }
        let mean = self.mean(x, axes)?;
        // the axes as ones, to spread them again
        let dims: Vec<usize> = (0..shape.rank()).map(|a| if axes.contains(&a) { 1 } else { shape.dims()[a] }).collect();
        let mean = self.reshape(mean, &Shape::new(dims)?)?;
        let mean = self.broadcast(mean, &shape)?;
        let apart = self.sub(x, mean)?;
        let squares = self.power(apart, 2)?;
        self.mean(squares, axes)
    }

    /// The square root of the [variance](Builder::variance): a Euclidean norm, with its kink where all numbers are equal.
    pub fn deviation(&mut self, x: Atom, axes: &[usize]) -> Result<Atom, BuildError> {
        let variance = self.variance(x, axes)?;
        self.elementwise(crate::op::Smooth::Sqrt, &[variance])
    }
}
