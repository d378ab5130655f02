//! Layers: what each does to a shape, which weights it has, and how it is traced.

use crease_core::{Conv2d, Var, Window, abs, elu, leaky_relu, relu, sigmoid, softplus, tanh};
use std::fmt;

/// A function applied to every number between two layers.
///
/// ```
/// use crease::{grad, networks::Activation};
/// assert_eq!(grad(|x| Activation::LeakyRelu(0.125).apply(x[0]), &[-1.0])?, [0.125]);
/// # Ok::<(), crease::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Activation {
    /// `max(0, x)`.
    #[default]
    Relu,
    /// `x` where positive, else the given slope times `x`; the slope is below 1.
    LeakyRelu(f64),
    /// `x` where positive, else the given scale times `exp(x) - 1`; the scale is positive.
    Elu(f64),
    /// The hyperbolic tangent.
    Tanh,
    /// The logistic function.
    Sigmoid,
    /// `log(1 + exp(x))`.
    Softplus,
    /// The absolute value.
    Abs,
    /// Nothing.
    Identity,
}

impl Activation {
    /// Applies it to every element.
    ///
    /// ```
    /// use crease::{networks::Activation, Function};
    /// let f = Function::trace(1, |x| Activation::Abs.apply(x[0]))?;
    /// assert_eq!(f.value(&[-3.0])?, 3.0);
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn apply(self, x: Var<'_>) -> Var<'_> {
        match self {
            Activation::Relu => relu(x),
            Activation::LeakyRelu(slope) => leaky_relu(x, slope),
            Activation::Elu(scale) => elu(x, scale),
            Activation::Tanh => tanh(x),
            Activation::Sigmoid => sigmoid(x),
            Activation::Softplus => softplus(x),
            Activation::Abs => abs(x),
            Activation::Identity => x,
        }
    }
}

/// One layer of a [`Network`](super::Network).
///
/// ```
/// use crease::networks::Layer;
/// let conv = Layer::Conv { out: 8, kernel: (3, 3), stride: (1, 1), padding: (1, 1) };
/// assert_eq!(conv.to_string(), "convolution to 8 channels");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Layer {
    /// `x @ W + b` to that many numbers.
    Dense(usize),
    /// Convolution of images `[channels, rows, columns]`, and a bias for each channel.
    Conv {
        /// The number of channels that come out.
        out: usize,
        /// The rows and columns of the kernel.
        kernel: (usize, usize),
        /// How far it moves at each step.
        stride: (usize, usize),
        /// How many rows and columns of zeros are on each side.
        padding: (usize, usize),
    },
    /// The largest number in each position of a window.
    MaxPool(Window),
    /// A function of every number.
    Activation(Activation),
    /// Images as lists of numbers.
    Flatten,
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Layer::Dense(n) => write!(f, "dense to {n}"),
            Layer::Conv { out, .. } => write!(f, "convolution to {out} channels"),
            Layer::MaxPool(w) => write!(f, "max-pool {}x{}", w.size.0, w.size.1),
            Layer::Activation(a) => write!(f, "activation {a:?}"),
            Layer::Flatten => f.write_str("flatten"),
        }
    }
}

/// Why layers do not fit together.
///
/// ```
/// use crease::networks::{Cnn, NetworkError};
/// let error = Cnn::new((1, 4, 4)).conv(8, (5, 5)).network().shapes().unwrap_err();
/// assert!(matches!(error, NetworkError::DoesNotFit { number: 1, .. }));
/// ```
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// There is nothing to compute.
    #[error("the network has no layer; give at least two sizes, or add a layer")]
    NoLayer,
    /// An input without numbers.
    #[error("an example of shape {shape:?} has no numbers; every size must be at least 1")]
    EmptyInput {
        /// The shape.
        shape: Vec<usize>,
    },
    /// A layer without outputs.
    #[error("layer {number}, {layer}, gives nothing; its size must be at least 1")]
    EmptyLayer {
        /// Which layer, counted from 1.
        number: usize,
        /// The layer.
        layer: Layer,
    },
    /// A dense layer on images.
    #[error(
        "layer {number}, {layer}, takes a list of numbers, but gets shape {shape:?}; put a flatten layer before it"
    )]
    NotFlat {
        /// Which layer, counted from 1.
        number: usize,
        /// The layer.
        layer: Layer,
        /// The shape that it gets.
        shape: Vec<usize>,
    },
    /// A layer for images on something else.
    #[error("layer {number}, {layer}, takes images [channels, rows, columns], but gets shape {shape:?}")]
    NotAnImage {
        /// Which layer, counted from 1.
        number: usize,
        /// The layer.
        layer: Layer,
        /// The shape that it gets.
        shape: Vec<usize>,
    },
    /// A window that does not fit into its image.
    #[error("layer {number}, {layer}, does not fit shape {shape:?}: {}", layer.window_told())]
    DoesNotFit {
        /// Which layer, counted from 1.
        number: usize,
        /// The layer.
        layer: Layer,
        /// The shape that it gets.
        shape: Vec<usize>,
    },
}

/// How many numbers a shape holds; sizes beyond all bounds are refused later, when a shape is made of them.
fn count(dims: &[usize]) -> usize {
    dims.iter().fold(1, |n, &d| n.saturating_mul(d))
}

/// The weights of a layer.
pub(super) struct Parameters {
    /// The shape of the weights.
    pub weight: Vec<usize>,
    /// The number of biases.
    pub outputs: usize,
    /// How many numbers enter one output.
    pub entering: usize,
}

impl Layer {
    /// The window that slides over images, for layers that have one.
    fn window(&self) -> Option<Window> {
        match *self {
            Layer::Conv { kernel, stride, padding, .. } => Some(Window { size: kernel, stride, padding }),
            Layer::MaxPool(window) => Some(window),
            Layer::Dense(_) | Layer::Activation(_) | Layer::Flatten => None,
        }
    }

    fn window_told(&self) -> String {
        self.window().map_or(String::new(), |w| {
            format!("its window of {:?} has steps {:?} and padding {:?}", w.size, w.stride, w.padding)
        })
    }

    /// The shape of one example behind the layer, which is number `number`.
    pub(super) fn output(&self, number: usize, input: &[usize]) -> Result<Vec<usize>, NetworkError> {
        let shape = || input.to_vec();
        let slide = |window: Window| match *input {
            [c, h, w] => match window.output((h, w)) {
                Some((h, w)) => Ok((c, h, w)),
                None => Err(NetworkError::DoesNotFit { number, layer: *self, shape: shape() }),
            },
            _ => Err(NetworkError::NotAnImage { number, layer: *self, shape: shape() }),
        };
        match *self {
            Layer::Dense(0) | Layer::Conv { out: 0, .. } => Err(NetworkError::EmptyLayer { number, layer: *self }),
            Layer::Dense(n) => match input {
                [_] => Ok(vec![n]),
                _ => Err(NetworkError::NotFlat { number, layer: *self, shape: shape() }),
            },
            Layer::Conv { out, kernel, stride, padding } => {
                let (_, h, w) = slide(Window { size: kernel, stride, padding })?;
                Ok(vec![out, h, w])
            }
            Layer::MaxPool(window) => {
                let (c, h, w) = slide(window)?;
                Ok(vec![c, h, w])
            }
            Layer::Activation(_) => Ok(shape()),
            Layer::Flatten => Ok(vec![count(input)]),
        }
    }

    /// The weights of the layer behind such an input.
    pub(super) fn parameters(&self, input: &[usize]) -> Option<Parameters> {
        match *self {
            Layer::Dense(n) => {
                let entering = count(input);
                Some(Parameters { weight: vec![entering, n], outputs: n, entering })
            }
            Layer::Conv { out, kernel: (h, w), .. } => {
                let channels = input.first().copied().unwrap_or(1);
                Some(Parameters { weight: vec![out, channels, h, w], outputs: out, entering: count(&[channels, h, w]) })
            }
            Layer::MaxPool(_) | Layer::Activation(_) | Layer::Flatten => None,
        }
    }

    /// Traces the layer; `shape` is what comes out, batch included. Weights are taken from the list as they are needed.
    pub(super) fn apply<'t>(
        &self,
        x: Var<'t>,
        shape: &[usize],
        weights: &mut std::slice::Chunks<'_, Var<'t>>,
    ) -> Var<'t> {
        match *self {
            Layer::Dense(_) => match weights.next() {
                Some(&[w, b]) => x.matmul(w) + b.broadcast(shape),
                _ => x,
            },
            Layer::Conv { out, stride, padding, .. } => match weights.next() {
                // the bias belongs to the channel: repeated over rows and columns
                Some(&[w, b]) => x.conv2d(w, Conv2d { stride, padding }) + b.reshape(&[out, 1, 1]).broadcast(shape),
                _ => x,
            },
            Layer::MaxPool(window) => x.maxpool2d(window),
            Layer::Activation(a) => a.apply(x),
            Layer::Flatten => x.reshape(shape),
        }
    }
}
