//! Verifying the programs of the chain on random exact data.
//!
//! What each should compute is computed from the formulas of the proof, not by programs: in rationals, at points of S up to P_1 and
//! anywhere after it; over a prime field once nothing compares any more. P' is checked outside S as well, and what it is checked
//! against is checked against the local model of F at 0.
//!
//! A polynomial identity that holds at random points of a field of 2^61 elements is not proved by that; a wrong one of degree k
//! passes a point with probability below k / 2^60. Of our own P', all programs have degree 3 at most.

use super::chain::{ProofError, Stage};
use super::constants::on_kinks;
use super::data::{Data, Matrix};
use super::function::function;
use crease::Error;
use crease_core::local::localize;
use crease_core::number::Field61;
use crease_core::random::SplitMix64;
use crease_core::{Number, Program, Rational, Shape, Tensor, run};
use crease_oracles::directional_batch;

/// Random data to verify the programs on.
pub(super) struct Test {
    u: Matrix,
    /// points of S
    pub inside: Vec<Data>,
    /// points without any relation to S
    pub outside: Vec<Data>,
    /// points that are spread over the prime field
    large: Vec<Data>,
}

impl Test {
    pub fn new(p: usize, u: Matrix, random: &mut SplitMix64) -> Self {
        let inside = (0..2).map(|_| Data::in_s(p, random)).collect();
        let outside = (0..2).map(|_| Data::anywhere(p, random)).collect();
        let large = (0..2).map(|_| Data::large(p, random)).collect();
        Test { u, inside, outside, large }
    }

    /// P' against the definition of F, in S and outside.
    pub fn derivatives(&self, p: &Program) -> Result<(), ProofError> {
        for data in self.inside.iter().chain(&self.outside) {
            let expected = "the directional derivatives of F at 0";
            compare(Stage::Directional, p, &data.scalars(), &data.derivatives(&self.u), expected)?;
        }
        let as_proved = |d: &Data| d.is_in_s(&self.u) && d.diagonal() == d.derivatives(&self.u);
        if self.inside.iter().all(as_proved) {
            Ok(())
        } else {
            Err(disagrees::<Rational>(Stage::Directional, "b_i^T M a_i on S"))
        }
    }

    /// The definition of F against its local model at 0.
    pub fn oracle(&self, p: usize) -> Result<(), ProofError> {
        let f = function(p)?;
        let data = &self.outside[0];
        let square = |m: &Matrix| Tensor::new(Shape::new([p, p]).ok()?, m.iter().flatten().cloned().collect());
        let zero = Tensor::vector(vec![Rational::ZERO; p]).map_err(Error::from)?;
        let at: Vec<Tensor<Rational>> = [Some(zero), square(&data.b), square(&data.m)].into_iter().flatten().collect();
        let model = localize(&f, &at)?;
        let fixed = vec![Rational::ZERO; 2 * p * p];
        let along = |i: usize| data.a.iter().map(|row| row[i].clone()).chain(fixed.iter().cloned()).collect();
        let directions: Vec<Vec<Rational>> = (0..p).map(along).collect();
        if directional_batch(&model, &directions)?.concat() == data.derivatives(&self.u) {
            Ok(())
        } else {
            Err(disagrees::<Rational>(Stage::Directional, "what the local model of F at 0 says"))
        }
    }

    /// A program of one output is G on S.
    pub fn on_s(&self, stage: Stage, p: &Program) -> Result<(), ProofError> {
        self.inside.iter().try_for_each(|data| compare(stage, p, &data.scalars(), &[data.trace()], "Tr(M A B^T) on S"))
    }

    /// A point of S where no ReLU of a program is at its kink, if there is one among ours; how many are at their kinks there.
    pub fn generic(&self, p: &Program) -> Result<(Vec<Tensor<Rational>>, usize), ProofError> {
        let mut best: Option<(Vec<Tensor<Rational>>, usize)> = None;
        for at in self.inside.iter().map(Data::scalars) {
            let zeros = on_kinks(p, &at)?;
            if best.as_ref().is_none_or(|b| zeros < b.1) {
                best = Some((at, zeros));
            }
        }
        Ok(best.unwrap_or_default())
    }

    /// A polynomial program computes what it should, in rationals and in the prime field; at how many points that was tried.
    pub fn everywhere(
        &self,
        stage: Stage,
        p: &Program,
        name: &'static str,
        inputs: fn(&Data) -> Vec<Tensor<Rational>>,
        expected: &dyn Fn(&Data) -> Vec<Rational>,
    ) -> Result<(usize, usize), ProofError> {
        let mut points = 0;
        for data in self.inside.iter().chain(&self.outside) {
            let (at, expected) = (inputs(data), expected(data));
            compare(stage, p, &at, &expected, name)?;
            points += 1;
        }
        let field = self.field(stage, p, name, inputs, expected)?;
        Ok((points, field))
    }

    fn field(
        &self,
        stage: Stage,
        p: &Program,
        name: &'static str,
        inputs: fn(&Data) -> Vec<Tensor<Rational>>,
        expected: &dyn Fn(&Data) -> Vec<Rational>,
    ) -> Result<usize, ProofError> {
        for data in &self.large {
            // integers, which all have residues
            let residue = |x: &Rational| Field61::from_rational(x).unwrap_or_default();
            let at: Vec<Tensor<Field61>> = inputs(data).iter().map(|t| t.map(residue)).collect();
            let expected: Vec<Field61> = expected(data).iter().map(residue).collect();
            compare(stage, p, &at, &expected, name)?;
        }
        Ok(self.large.len())
    }
}

fn disagrees<N: Number>(stage: Stage, expected: &'static str) -> ProofError {
    ProofError::Disagrees { stage, expected, numbers: N::NAME }
}

/// Whether a program returns these numbers.
fn compare<N: Number>(
    stage: Stage,
    p: &Program,
    at: &[Tensor<N>],
    expected: &[N],
    name: &'static str,
) -> Result<(), ProofError> {
    let got = run(p, at).map_err(Error::from)?;
    let same = got.iter().flat_map(|t| t.data()).eq(expected.iter());
    if same { Ok(()) } else { Err(disagrees::<N>(stage, name)) }
}
