//! Multilayer perceptrons.

use super::{Activation, Layer, Network};
use crate::Error;
use crate::losses::Loss;
use crease_core::{Program, Tensor};

/// A multilayer perceptron: dense layers of given sizes with an activation between them, none after the last.
///
/// ```
/// use crease::{cost::cost, losses::Loss, networks::{Activation, Mlp}};
/// let mlp = Mlp::new(&[784, 256, 256, 10]).activation(Activation::Relu);
/// // every layer: two operations for each weight; every hidden unit: one sign
/// assert_eq!(cost(&mlp.program(1)?).to_string(), "537600 + 512 c_relu");
/// let p = mlp.loss_program(64, Loss::CrossEntropy)?;
/// assert_eq!(p.inputs().last().map(|i| i.shape.to_string()).as_deref(), Some("[64, 10]"));
/// # Ok::<(), crease::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Mlp {
    sizes: Vec<usize>,
    activation: Activation,
}

impl Mlp {
    /// A perceptron with these sizes, the input's first, and relu between the layers.
    ///
    /// ```
    /// use crease::networks::Mlp;
    /// assert!(Mlp::new(&[3, 2]).program(1).is_ok());
    /// assert!(Mlp::new(&[3]).program(1).is_err());
    /// ```
    pub fn new(sizes: &[usize]) -> Self {
        Mlp { sizes: sizes.to_vec(), activation: Activation::Relu }
    }

    /// The same with another activation.
    ///
    /// ```
    /// use crease::{cost::cost, networks::{Activation, Mlp}};
    /// let mlp = Mlp::new(&[3, 2, 1]).activation(Activation::Tanh);
    /// assert_eq!(cost(&mlp.program(1)?).to_string(), "16 + 2 c_nonlin");
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn activation(self, activation: Activation) -> Self {
        Mlp { activation, ..self }
    }

    /// The network: see [`Network`] for what else can be asked of it.
    ///
    /// ```
    /// use crease::networks::{Activation, Layer, Mlp};
    /// let layers = [Layer::Dense(2), Layer::Activation(Activation::Relu), Layer::Dense(1)];
    /// assert_eq!(Mlp::new(&[3, 2, 1]).network().layers(), layers);
    /// ```
    pub fn network(&self) -> Network {
        let (input, rest) = match self.sizes.split_first() {
            Some((&input, rest)) => (input, rest),
            None => (1, &[][..]),
        };
        let mut network = Network::new([input]);
        for (i, &n) in rest.iter().enumerate() {
            network = network.layer(Layer::Dense(n));
            if i + 1 < rest.len() && self.activation != Activation::Identity {
                network = network.layer(Layer::Activation(self.activation));
            }
        }
        network
    }

    /// [`Network::program`].
    ///
    /// ```
    /// use crease::networks::Mlp;
    /// assert_eq!(Mlp::new(&[3, 2]).program(5)?.dimension(), 15 + 6 + 2);
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn program(&self, batch: usize) -> Result<Program, Error> {
        self.network().program(batch)
    }

    /// [`Network::loss_program`].
    ///
    /// ```
    /// use crease::{losses::Loss, networks::Mlp};
    /// assert_eq!(Mlp::new(&[3, 2]).loss_program(5, Loss::Squared)?.dimension(), 15 + 6 + 2 + 10);
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn loss_program(&self, batch: usize, loss: Loss) -> Result<Program, Error> {
        self.network().loss_program(batch, loss)
    }

    /// [`Network::weights`].
    ///
    /// ```
    /// use crease::networks::Mlp;
    /// assert_eq!(Mlp::new(&[3, 4, 2]).weights(7)?.len(), 4);
    /// # Ok::<(), crease::Error>(())
    /// ```
    pub fn weights(&self, seed: u64) -> Result<Vec<Tensor<f64>>, Error> {
        self.network().weights(seed)
    }
}

impl From<Mlp> for Network {
    fn from(mlp: Mlp) -> Self {
        mlp.network()
    }
}
