//! Feed-forward networks as programs: layers in, a program of the input and the weights out.
//!
//! [`Mlp`] is given by the sizes of its layers, [`Cnn`] by a list of [`Layer`]s on images; both are a [`Network`]. Its
//! programs take the input `x`, with a leading axis of examples, then the weights `W1, b1, W2, b2, ...`, and return the
//! logits; with a loss on top, they also take the `target`, last, and return one number.
//!
//! Dense weights have shape `[inputs, outputs]`, so that a layer is `x @ W + b` and costs `2 inputs` operations for each
//! output and example: one product for each input, and as many additions, the bias included. Kernels have shape
//! `[out, in, rows, columns]`.
//!
//! Deliberately absent: training, and layers with a state.

mod cnn;
mod init;
mod layer;
mod mlp;

pub use cnn::Cnn;
pub use layer::{Activation, Layer, NetworkError};
pub use mlp::Mlp;

use crate::Error;
use crate::losses::Loss;
use crease_core::differentiate::{How, backprop};
use crease_core::{BuildError, Program, Shape, Tape, Tensor, Var, simplify};
use layer::Parameters;

/// A network: the shape of one example, and the layers.
///
/// ```
/// use crease::networks::{Activation, Layer, Network};
/// let n = Network::new([4]).layer(Layer::Dense(3)).layer(Layer::Activation(Activation::Relu)).layer(Layer::Dense(2));
/// assert_eq!(n.shapes()?, [vec![3], vec![3], vec![2]]);
/// assert_eq!(n.program(1)?.inputs().len(), 5); // x, W1, b1, W2, b2
/// # Ok::<(), crease::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    input: Vec<usize>,
    layers: Vec<Layer>,
}

impl Network {
    /// A network without layers, for examples of that shape.
    ///
    /// ```
    /// use crease::networks::Network;
    /// assert!(Network::new([1, 28, 28]).layers().is_empty());
    /// ```
    pub fn new(input: impl Into<Vec<usize>>) -> Self {
        Network { input: input.into(), layers: Vec::new() }
    }

    /// The same network with one more layer.
    ///
    /// ```
    /// use crease::networks::{Layer, Network};
    /// assert_eq!(Network::new([4]).layer(Layer::Dense(3)).layers(), [Layer::Dense(3)]);
    /// ```
    pub fn layer(mut self, layer: Layer) -> Self {
        self.layers.push(layer);
        self
    }

    /// The layers in order.
    ///
    /// ```
    /// use crease::networks::{Layer, Mlp, Network};
    /// assert_eq!(Network::from(Mlp::new(&[3, 2])).layers(), [Layer::Dense(2)]);
    /// ```
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// The shape of one example after each layer.
    ///
    /// ```
    /// use crease::networks::{Layer, Network};
    /// let n = Network::new([1, 28, 28]).layer(Layer::Dense(10));
    /// assert_eq!(
    ///     n.shapes().unwrap_err().to_string(),
    ///     "layer 1, dense to 10, takes a list of numbers, but gets shape [1, 28, 28]; put a flatten layer before it"
    /// );
    /// ```
    pub fn shapes(&self) -> Result<Vec<Vec<usize>>, NetworkError> {
        let mut at = self.input.clone();
        if at.contains(&0) {
            return Err(NetworkError::EmptyInput { shape: at });
        }
        let mut shapes = Vec::with_capacity(self.layers.len());
        for (i, layer) in self.layers.iter().enumerate() {
            at = layer.output(i + 1, &at)?;
            shapes.push(at.clone());
        }
        Ok(shapes)
    }

    /// The names and shapes of the weights, in the order in which programs take them.
    ///
    /// ```
    /// use crease::networks::{Mlp, Network};
    /// let parameters = Network::from(Mlp::new(&[3, 2])).parameters()?;
    /// let shown: Vec<String> = parameters.iter().map(|(name, shape)| format!("{name}: {shape}")).collect();
    /// assert_eq!(shown, ["W1: [3, 2]", "b1: [2]"]);
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn parameters(&self) -> Result<Vec<(String, Shape)>, Error> {
        let mut out = Vec::new();
        for (i, p) in self.weighted()?.into_iter().enumerate() {
            out.push((format!("W{}", i + 1), Shape::new(p.weight)?));
            out.push((format!("b{}", i + 1), Shape::vector(p.outputs)?));
        }
        Ok(out)
    }

    /// What the layers with weights hold, in order.
    fn weighted(&self) -> Result<Vec<Parameters>, NetworkError> {
        let shapes = self.shapes()?;
        let inputs = std::iter::once(&self.input).chain(&shapes);
        Ok(self.layers.iter().zip(inputs).filter_map(|(layer, input)| layer.parameters(input)).collect())
    }

    /// First weights: He's, normal with variance 2 / (numbers that enter an output), which keeps the size of what flows
    /// through relu layers; biases are 0. The same seed gives the same weights everywhere.
    ///
    /// ```
    /// use crease::networks::{Mlp, Network};
    /// let n = Network::from(Mlp::new(&[3, 2]));
    /// assert_eq!(n.weights(1)?, n.weights(1)?);
    /// assert_ne!(n.weights(1)?, n.weights(2)?);
    /// assert_eq!(n.weights(1)?[1].data(), [0.0, 0.0]);
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn weights(&self, seed: u64) -> Result<Vec<Tensor<f64>>, Error> {
        let mut noise = init::Normal::new(seed);
        let mut out = Vec::new();
        for p in self.weighted()? {
            let shape = Shape::new(p.weight)?;
            let scale = (2.0 / p.entering as f64).sqrt();
            let data: Vec<f64> = (0..shape.len()).map(|_| scale * noise.draw()).collect();
            out.extend(Tensor::new(shape, data));
            out.push(Tensor::vector(vec![0.0; p.outputs])?);
        }
        Ok(out)
    }

    /// The network on variables: `x` with a leading axis of `batch` examples, and the weights in order. Part of a larger
    /// trace; for a program see [`Network::program`].
    ///
    /// ```
    /// use crease::{networks::{Mlp, Network}, trace_shapes, Shape};
    /// let n = Network::from(Mlp::new(&[3, 2]));
    /// let shapes = [[1, 3].as_slice(), &[3, 2], &[2]].map(|d| Shape::new(d).unwrap());
    /// let doubled = trace_shapes(&shapes, |v| vec![2.0 * n.apply(v[0], 1, &v[1..]).unwrap()]).unwrap();
    /// assert_eq!(doubled.dimension(), 11);
    /// ```
    pub fn apply<'t>(&self, x: Var<'t>, batch: usize, weights: &[Var<'t>]) -> Result<Var<'t>, Error> {
        let shapes = self.shapes()?;
        let expected = 2 * self.weighted()?.len();
        if weights.len() != expected {
            return Err(Error::Length { what: "the list of weights", expected, got: weights.len() });
        }
        let mut pairs = weights.chunks(2);
        let mut at = x;
        for (number, (layer, shape)) in self.layers.iter().zip(&shapes).enumerate() {
            let full: Vec<usize> = std::iter::once(batch).chain(shape.iter().copied()).collect();
            let name = format!("layer {} {layer}", number + 1);
            at = x.tape().within(&name, || layer.apply(at, &full, &mut pairs));
        }
        Ok(at)
    }

    /// The program of the network for that many examples: `x, W1, b1, ...` to logits `[batch, ..]`.
    ///
    /// ```
    /// use crease::{networks::{Mlp, Network}, run, Tensor};
    /// let n = Network::from(Mlp::new(&[2, 1]));
    /// let p = n.program(1)?;
    /// let t = |dims: &[usize], data: &[f64]| Tensor::new(crease::Shape::new(dims).unwrap(), data.to_vec()).unwrap();
    /// let y = run(&p, &[t(&[1, 2], &[3.0, 4.0]), t(&[2, 1], &[1.0, 10.0]), t(&[1], &[0.5])])?;
    /// assert_eq!(y[0].data(), [43.5]);
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn program(&self, batch: usize) -> Result<Program, Error> {
        let tape = Tape::new("network");
        let (x, weights) = self.declare(&tape, batch)?;
        let logits = self.apply(x, batch, &weights)?;
        Ok(tape.finish(&[logits])?)
    }

    /// The program of the network with a loss on top: `x, W1, b1, ..., target` to one number. The target has the shape of the
    /// logits.
    ///
    /// ```
    /// use crease::{backprop, losses::Loss, networks::{Mlp, Network}, How};
    /// let p = Network::from(Mlp::new(&[4, 3, 2])).loss_program(8, Loss::CrossEntropy)?;
    /// let names: Vec<&str> = p.inputs().iter().map(|i| &*i.name).collect();
    /// assert_eq!(names, ["x", "W1", "b1", "W2", "b2", "target"]);
    /// assert_eq!(backprop(&p, &How::default())?.outputs().len(), 7); // the loss, and one derivative for each input
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn loss_program(&self, batch: usize, loss: Loss) -> Result<Program, Error> {
        loss.check()?;
        let tape = Tape::new("loss");
        let (x, weights) = self.declare(&tape, batch)?;
        let shapes = self.shapes()?;
        let output = shapes.last().unwrap_or(&self.input);
        let target = tape.input("target", batched(batch, output)?);
        let logits = self.apply(x, batch, &weights)?;
        Ok(tape.finish(&[loss.apply(logits, target)])?)
    }

    /// The program of a training step: the loss and its derivatives by the weights, and nothing that only the others need.
    ///
    /// It takes what [`Network::loss_program`] takes, and returns the loss, then one derivative for each of `W1, b1, ...`.
    /// [`simplify`](crate::simplify()) has been through it, to remove what carries adjoints to `x` and `target`.
    ///
    /// ```
    /// use crease::{losses::Loss, networks::{Mlp, Network}, How};
    /// let p = Network::from(Mlp::new(&[4, 3, 2])).gradient_program(8, Loss::CrossEntropy, &How::default())?;
    /// assert_eq!((p.inputs().len(), p.outputs().len()), (6, 5));
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn gradient_program(&self, batch: usize, loss: Loss, how: &How) -> Result<Program, Error> {
        let all = backprop(&self.loss_program(batch, loss)?, how)?;
        // the loss, the derivative by x, those by the weights, the derivative by the target
        let kept: Vec<usize> = std::iter::once(0).chain(2..all.outputs().len() - 1).collect();
        let gradient = all.with_outputs(&kept).ok_or(BuildError::NoOutput)?;
        Ok(simplify(&gradient.renamed("gradient"))?)
    }

    fn declare<'t>(&self, tape: &'t Tape, batch: usize) -> Result<(Var<'t>, Vec<Var<'t>>), Error> {
        if self.layers.is_empty() {
            return Err(NetworkError::NoLayer.into());
        }
        let parameters = self.parameters()?;
        let x = tape.input("x", batched(batch, &self.input)?);
        let weights = parameters.iter().map(|(name, shape)| tape.input(name, shape.clone())).collect();
        Ok((x, weights))
    }
}

fn batched(batch: usize, shape: &[usize]) -> Result<Shape, Error> {
    let dims: Vec<usize> = std::iter::once(batch).chain(shape.iter().copied()).collect();
    Ok(Shape::new(dims)?)
}

#[cfg(test)]
mod tests;
