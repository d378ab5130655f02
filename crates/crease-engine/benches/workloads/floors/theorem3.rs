//! D, by hand: the function is positively homogeneous, so its derivatives at 0 are its values at the directions. That takes three
//! products of matrices, and no way with fewer is known.

use super::product::{Matrix, product};

/// Room for the products.
pub struct Products {
    p: usize,
    x: Vec<f64>,
    y: Vec<f64>,
}

impl Products {
    pub fn new(p: usize) -> Self {
        Products { p, x: vec![0.0; p * p], y: vec![0.0; p * p] }
    }

    /// F'(0; d) for all directions, the rows of `a`: sums of the sizes of a M' B U', by rows. Returns F(0).
    pub fn derivatives(&mut self, [u, b, m, a]: [&[f64]; 4], out: &mut [f64]) -> f64 {
        let size = [self.p; 3];
        product(&mut self.x, false, Matrix::Rows(a), Matrix::Transposed(m), size);
        product(&mut self.y, false, Matrix::Rows(&self.x), Matrix::Rows(b), size);
        product(&mut self.x, false, Matrix::Rows(&self.y), Matrix::Transposed(u), size);
        for (o, row) in out.iter_mut().zip(self.x.chunks_exact(self.p)) {
            *o = row.iter().map(|x| x.abs()).sum::<f64>() / self.p as f64;
        }
        0.0
    }
}
