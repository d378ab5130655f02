//! Each workload written by hand: what a person would write who knows the function and wants its value and gradient fast.

pub mod cnn;
pub mod gmm;
pub mod mlp;
pub mod product;
pub mod sat;
pub mod theorem3;
pub mod vectors;
