//! Convolutional networks.

use super::{Activation, Layer, Network};
use crate::Error;
use crate::losses::Loss;
use crease_core::{Program, Tensor, Window};

/// A convolutional network, layer by layer, on images `[channels, rows, columns]`.
///
/// ```
/// use crease::{losses::Loss, networks::{Activation::Relu, Cnn}};
/// let cnn = Cnn::new((1, 28, 28))
///     .padded_conv(8, (3, 3), (1, 1)).activation(Relu).max_pool((2, 2))
///     .padded_conv(16, (3, 3), (1, 1)).activation(Relu).max_pool((2, 2))
///     .flatten().dense(10);
/// assert_eq!(cnn.network().shapes()?.last(), Some(&vec![10]));
/// let p = cnn.loss_program(1, Loss::CrossEntropy)?;
/// assert_eq!(p.inputs().len(), 8);
/// # Ok::<(), crease::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Cnn {
    network: Network,
}

impl Cnn {
    /// A network without layers for images of so many channels, rows and columns.
    ///
    /// ```
    /// use crease::networks::Cnn;
    /// assert!(Cnn::new((1, 8, 8)).program(1).is_err()); // there is no layer yet
    /// ```
    pub fn new((channels, rows, columns): (usize, usize, usize)) -> Self {
        Cnn { network: Network::new([channels, rows, columns]) }
    }

    /// With any layer.
    ///
    /// ```
    /// use crease::networks::{Cnn, Layer};
    /// assert_eq!(Cnn::new((1, 8, 8)).layer(Layer::Flatten).network().shapes()?, [[64]]);
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn layer(self, layer: Layer) -> Self {
        Cnn { network: self.network.layer(layer) }
    }

    /// With a convolution that moves by one and stays inside. For other steps use [`Layer::Conv`].
    ///
    /// ```
    /// use crease::networks::Cnn;
    /// assert_eq!(Cnn::new((1, 8, 8)).conv(4, (3, 3)).network().shapes()?, [[4, 6, 6]]);
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn conv(self, out: usize, kernel: (usize, usize)) -> Self {
        self.padded_conv(out, kernel, (0, 0))
    }

    /// With a convolution that moves by one over an image with zeros around it.
    ///
    /// ```
    /// use crease::networks::Cnn;
    /// assert_eq!(Cnn::new((1, 8, 8)).padded_conv(4, (3, 3), (1, 1)).network().shapes()?, [[4, 8, 8]]);
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn padded_conv(self, out: usize, kernel: (usize, usize), padding: (usize, usize)) -> Self {
        self.layer(Layer::Conv { out, kernel, stride: (1, 1), padding })
    }

    /// With max-pooling over windows that do not overlap. For others use [`Layer::MaxPool`].
    ///
    /// ```
    /// use crease::networks::Cnn;
    /// assert_eq!(Cnn::new((1, 8, 8)).max_pool((2, 2)).network().shapes()?, [[1, 4, 4]]);
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn max_pool(self, size: (usize, usize)) -> Self {
        self.layer(Layer::MaxPool(Window::new(size).stride(size)))
    }

    /// With a function of every number.
    ///
    /// ```
    /// use crease::networks::{Activation, Cnn};
    /// assert_eq!(Cnn::new((1, 8, 8)).activation(Activation::Relu).network().shapes()?, [[1, 8, 8]]);
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn activation(self, activation: Activation) -> Self {
        self.layer(Layer::Activation(activation))
    }

    /// With the images as lists of numbers.
    ///
    /// ```
    /// use crease::networks::Cnn;
    /// assert_eq!(Cnn::new((2, 3, 4)).flatten().network().shapes()?, [[24]]);
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn flatten(self) -> Self {
        self.layer(Layer::Flatten)
    }

    /// With a dense layer, after a flatten layer.
    ///
    /// ```
    /// use crease::networks::Cnn;
    /// assert_eq!(Cnn::new((1, 2, 2)).flatten().dense(3).network().shapes()?, [[4], [3]]);
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn dense(self, outputs: usize) -> Self {
        self.layer(Layer::Dense(outputs))
    }

    /// The network: see [`Network`] for what else can be asked of it.
    ///
    /// ```
    /// use crease::networks::Cnn;
    /// assert_eq!(Cnn::new((1, 2, 2)).flatten().network().layers().len(), 1);
    /// ```
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// [`Network::program`].
    ///
    /// ```
    /// use crease::networks::Cnn;
    /// assert_eq!(Cnn::new((1, 4, 4)).conv(2, (3, 3)).program(5)?.dimension(), 80 + 18 + 2);
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn program(&self, batch: usize) -> Result<Program, Error> {
        self.network.program(batch)
    }

    /// [`Network::loss_program`].
    ///
    /// ```
    /// use crease::{losses::Loss, networks::Cnn};
    /// let p = Cnn::new((1, 2, 2)).flatten().dense(3).loss_program(2, Loss::CrossEntropy)?;
    /// assert_eq!(p.outputs().len(), 1);
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn loss_program(&self, batch: usize, loss: Loss) -> Result<Program, Error> {
        self.network.loss_program(batch, loss)
    }

    /// [`Network::weights`].
    ///
    /// ```
    /// use crease::networks::Cnn;
    /// let w = Cnn::new((1, 4, 4)).conv(2, (3, 3)).weights(7)?;
    /// assert_eq!(w[0].shape().dims(), [2, 1, 3, 3]);
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn weights(&self, seed: u64) -> Result<Vec<Tensor<f64>>, Error> {
        self.network.weights(seed)
    }
}

impl From<Cnn> for Network {
    fn from(cnn: Cnn) -> Self {
        cnn.network
    }
}
