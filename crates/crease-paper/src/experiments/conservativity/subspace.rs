//! Subspaces given by equations: which directions keep which ties.

use crease_core::Rational;

/// The vectors that satisfy some linear equations, the equations kept in reduced echelon form.
#[derive(Clone, Debug)]
pub(super) struct Subspace {
    dimension: usize,
    /// each with a 1 where no other has anything
    rows: Vec<(usize, Vec<Rational>)>,
}

impl Subspace {
    pub fn whole(dimension: usize) -> Self {
        Subspace { dimension, rows: Vec::new() }
    }

    /// The number of vectors in a basis.
    pub fn size(&self) -> usize {
        self.dimension - self.rows.len()
    }

    /// Adds the equation ⟨row, d⟩ = 0.
    pub fn restrict(&mut self, mut row: Vec<Rational>) {
        for (pivot, known) in &self.rows {
            subtract(&mut row, &known[..], *pivot);
        }
        let Some(pivot) = row.iter().position(|c| !c.is_zero()) else { return };
        let Some(scale) = row[pivot].inv() else { return };
        row.iter_mut().for_each(|c| *c = &*c * &scale);
        for (_, known) in &mut self.rows {
            subtract(known, &row, pivot);
        }
        self.rows.push((pivot, row));
    }

    /// A vector of the space, with the given numbers as the coordinates that are free.
    pub fn vector(&self, mut free: impl FnMut() -> Rational) -> Vec<Rational> {
        let mut d: Vec<Rational> = (0..self.dimension).map(|_| free()).collect();
        self.rows.iter().for_each(|(pivot, _)| d[*pivot] = Rational::ZERO);
        let bound = |row: &[Rational]| row.iter().zip(&d).fold(Rational::ZERO, |sum, (a, b)| &sum - &(a * b));
        let values: Vec<Rational> = self.rows.iter().map(|(_, row)| bound(row)).collect();
        self.rows.iter().zip(values).for_each(|((pivot, _), x)| d[*pivot] = x);
        d
    }
}

/// Takes away the multiple of `known`, which has a 1 at the pivot, that clears the pivot.
fn subtract(row: &mut [Rational], known: &[Rational], pivot: usize) {
    let factor = -&row[pivot];
    if !factor.is_zero() {
        row.iter_mut().zip(known).for_each(|(a, b)| a.add_mul(&factor, b));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_satisfy_all_equations() {
        let rows = [[1, 2, -1, 0], [0, 3, 0, 1], [1, 5, -1, 1]].map(|r: [i64; 4]| r.map(Rational::from).to_vec());
        let mut space = Subspace::whole(4);
        rows.iter().for_each(|r| space.restrict(r.clone()));
        assert_eq!(space.size(), 2); // the third is the sum of the others
        let mut next = 0;
        let d = space.vector(|| {
            next += 1;
            Rational::from(next * next)
        });
        assert!(d.iter().any(|c| !c.is_zero()));
        for row in rows {
            assert!(row.iter().zip(&d).map(|(a, b)| a * b).sum::<Rational>().is_zero());
        }
    }
}
