//! The workloads with loops, and the camera, as texts in the language: as the examples of the repository, in other sizes.

use crease_core::{Builder, Program, batch};
use crease_formats::parse;
use std::sync::Arc;

fn main_of(text: &str) -> Arc<Program> {
    parse(text).expect("a text that reads").main().clone()
}

/// H: the lasso by proximal gradient descent; inputs are the matrix, the targets, the penalty and the rate.
pub fn lasso(rows: usize, columns: usize, steps: usize) -> Program {
    let text = format!(
        "program soft(x[{columns}], t) = relu(x - t) - relu(-x - t)
         program lasso(A[{rows}, {columns}], b[{rows}], lambda, rate) {{
           let x = repeat({steps}, x = zeros([{columns}])) {{
             return soft(x - rate * (transpose(A) @ (A @ x - b)), rate * lambda)
           }}
           let r = A @ x - b
           return 1/2 * dot(r, r) + lambda * norm1(x)
         }}"
    );
    Arc::unwrap_or_clone(main_of(&text))
}

/// I: a gated recurrent unit with `n` numbers of state over a series of vectors of `m`; inputs are the series, six matrices and the last layer.
pub fn gru(n: usize, m: usize, steps: usize) -> Program {
    let text = format!(
        "program gru(x[{steps}, {m}], W[{n}, {n}], U[{n}, {n}], V[{n}, {n}], w[{n}, {m}], u[{n}, {m}], v[{n}, {m}], out[{n}]) {{
           let h, error = scan(h = zeros([{n}]), x in x) {{
             let z = sigmoid(W @ h + w @ x)
             let r = sigmoid(U @ h + u @ x)
             let new = tanh(V @ (r * h) + v @ x)
             let next = h + z * (new - h)
             return next, abs(dot(out, next) - x[0])
           }}
           return mean(error)
         }}"
    );
    Arc::unwrap_or_clone(main_of(&text))
}

/// J: the camera of the examples at many points: the sum of the losses, by one camera and by each point.
pub fn camera(points: usize) -> Program {
    let one = main_of(include_str!("../../../../examples/camera.crease"));
    // point, weight and what was seen differ from point to point
    let all = batch(&one, &[5, 6, 7], points).expect("no selections");
    let mut b = Builder::new("camera");
    let inputs =
        all.inputs().iter().map(|i| b.input(i.name.clone(), i.shape.clone()).expect("fresh")).collect::<Vec<_>>();
    let each = b.splice(&all, &inputs).expect("its own inputs")[0];
    let sum = b.sum_all(each).expect("a vector");
    b.finish(&[sum]).expect("an output")
}
