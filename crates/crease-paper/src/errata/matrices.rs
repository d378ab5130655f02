//! Slips in Section 5.1 and Appendix C: products of matrices, and p directional derivatives.

use super::{Erratum, unit};
use crate::products::{Scheme, counts};
use crate::programs;
use crate::theorem3::{Chain, Derivative, ProofError, Stage, chain, hadamard};
use crease::Error;
use crease_core::Rational;

/// The proof of Theorem 3 on F along each column, for p = 2.
fn smallest() -> Result<Chain, Error> {
    let failed = |e: ProofError| Error::Parameter {
        what: "the chain of Theorem 3",
        expected: "one in which every step holds",
        got: e.to_string(),
    };
    chain(2, Derivative::Columns, 0).map_err(failed)
}

pub(super) fn omega_bound() -> Result<Erratum, Error> {
    let strassen = counts(&[2], 1)?.into_iter().find(|c| c.scheme == Scheme::Strassen);
    let products = strassen.map_or(0, |c| c.plain.multiplications);
    Ok(Erratum {
        id: "omega-bound",
        place: "Section 5.1, before the paragraph on matrix multiplication.",
        says: "The best known lower bound is omega < 2.37.",
        computed: format!(
            "A program bounds omega from above: Strassen's takes {products} multiplications for 2 × 2 matrices, so omega <= \
             log2({products}) = {:.2}. 2.37 is a bound of that kind, as its sign says.",
            (products as f64).log2()
        ),
        holds: "As an upper bound; the lower bound that is known is 2, as the same section says later.",
    })
}

pub(super) fn theorem_3_constant() -> Result<Erratum, Error> {
    let p = 8;
    let five = unit(&programs::theorem3(p)?) * Rational::from(5);
    Ok(Erratum {
        id: "theorem-3-constant",
        place: "Theorem 3 and the last line of its proof.",
        says: "The theorem has (c(p) - 5p) / (40 p^2); the proof ends with (c(p) - 5p) / (5 cost(P_F)) = \
               (c(p) - 5p) / (8 p^2).",
        computed: format!(
            "cost(P_F) = 6 p^2 + 2 p, so 5 cost(P_F) = 30 p^2 + 10 p. For p = {p} that is {five}, above 8 p^2 = {} and \
             at most 40 p^2 = {}.",
            8 * p * p,
            40 * p * p
        ),
        holds: "40 p^2 for every p, with equality for p = 1; 8 p^2 for none. The proof's last line lost the factor 5, and \
                its equality is an inequality.",
    })
}

/// Whether some matrix of that order with entries 1 and -1 has orthogonal columns, by trying all of them.
pub(super) fn order_exists(p: usize) -> bool {
    let entries = p * p;
    (0u32..1 << entries).any(|bits| {
        let entry = |i: usize, j: usize| if bits >> (i * p + j) & 1 == 1 { 1i32 } else { -1 };
        (0..p).all(|a| (0..a).all(|b| (0..p).map(|i| entry(i, a) * entry(i, b)).sum::<i32>() == 0))
    })
}

pub(super) fn theorem_3_order() -> Result<Erratum, Error> {
    let orders: Vec<String> = (1..=4).filter(|&p| order_exists(p)).map(|p| p.to_string()).collect();
    Ok(Erratum {
        id: "theorem-3-order",
        place: "The proof of Theorem 3, first sentence.",
        says: "For every p: let U be an orthogonal p × p matrix with entries in {-1, 1}.",
        computed: format!(
            "Of the orders up to 4, such a matrix exists for {}. Two columns of odd length have an odd, hence nonzero, \
             product.",
            orders.join(", ")
        ),
        holds: "For p = 1, for p = 2, and for the multiples of 4 that are orders of Hadamard matrices: all that Sylvester's and \
                Paley's constructions and their products reach, which `crease_paper::theorem3::function` takes. For other p, the \
                first p columns of such a matrix with fewer than 2p rows serve as well, and only the constant changes.",
    })
}

pub(super) fn function_domain() -> Result<Erratum, Error> {
    let p = 2;
    let f = programs::theorem3(p)?;
    let q = f.dimension() - p;
    Ok(Erratum {
        id: "function-domain",
        place: "Appendix A.2, the last display, on the supremum over all F.",
        says: "The supremum is over functions F from R^(p × q) to R.",
        computed: format!(
            "F takes p inputs and q parameters: its program for p = {p} has {p} + {q} = {} inputs, and p × q would be {}.",
            f.dimension(),
            p * q
        ),
        holds: "With R^p × R^q, as in Theorem 3.",
    })
}

/// Whether sign(U B^T M a_i) = u_i for all i, at A = B = M = I.
pub(super) fn identities_are_in_s(u: &[Vec<i64>]) -> bool {
    // U I I e_i is the i-th column of U, whose entries are their own signs
    let p = u.len();
    let unit = |i: usize, j: usize| i64::from(i == j);
    (0..p).all(|i| (0..p).all(|row| (0..p).map(|k| u[row][k] * unit(k, i)).sum::<i64>().signum() == u[row][i]))
}

pub(super) fn nonempty_set() -> Result<Erratum, Error> {
    let orders = [2, 4, 8, 12, 16, 20];
    let inside = orders.into_iter().filter_map(hadamard).filter(|u| identities_are_in_s(u)).count();
    Ok(Erratum {
        id: "nonempty-set",
        place: "The proof of Theorem 3, on the set S of matrices with sign(U B^T M a_i) = u_i.",
        says: "S is an open set, to which attention is restricted.",
        computed: format!(
            "Open is not enough, since a program that agrees with G on the empty set says nothing of it; the proof shows no \
             point of S. A = B = M = I is one: U e_i = u_i. It is in S for {inside} of the {} orders tried, from {} to {}.",
            orders.len(),
            orders[0],
            orders[orders.len() - 1]
        ),
        holds: "For every p for which U exists, with that point.",
    })
}

pub(super) fn gradient_inputs() -> Result<Erratum, Error> {
    let c = smallest()?;
    let inputs = |stage| c.step(stage).map_or(0, |s| s.program.inputs().len());
    let cost = |stage| c.step(stage).map_or(0, |s| s.cost);
    Ok(Erratum {
        id: "gradient-inputs",
        place: "The proof of Theorem 3, on D_2 = backprop(P_2).",
        says: "D_2 is a program computing B A^T for all A, B, so comp(B A^T) <= cost(D_2).",
        computed: format!(
            "For p = 2, D_2 has {} inputs, those of M among them, and a program of B A^T has {}. As the gradient does not depend \
             on M, constants may take their place: the cost goes from {} to {}.",
            inputs(Stage::Gradient),
            inputs(Stage::Product),
            cost(Stage::Gradient),
            cost(Stage::Product)
        ),
        holds: "After that step, which never costs more: an operation with a constant is +c or ×c, at the price of + or ×.",
    })
}

pub(super) fn lemma_node() -> Result<Erratum, Error> {
    let c = smallest()?;
    let count = |name: &str| {
        let tally = c.step(Stage::Fixed).map(|s| s.tally.by_name()).unwrap_or_default();
        tally.get(name).cloned().unwrap_or_default()
    };
    Ok(Erratum {
        id: "lemma-node",
        place: "Appendix C.2, the proof of the lemma on constant complexity.",
        says: "Each absolute value node is replaced by multiplication by the corresponding ReLU' value; S' is an open subset of S \
               such that G is constant on S.",
        computed: format!(
            "The dictionary of the lemma has no absolute value. P_1 in the proof of Theorem 3 has {} ReLU nodes for p = 2 and {} \
             absolute values; the former are replaced, and G is constant on S'.",
            count("relu"),
            count("abs")
        ),
        holds: "With ReLU for the absolute value, and S' for the last S.",
    })
}
