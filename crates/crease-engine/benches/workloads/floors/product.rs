//! Products of matrices by a library that does nothing else, so that crease's own kernels are not their own measure.

use crease_engine::Float;

/// A matrix in rows, or the transpose of one.
#[derive(Clone, Copy)]
pub enum Matrix<'a, T> {
    Rows(&'a [T]),
    Transposed(&'a [T]),
}

/// c = a b, or c += a b, for an [m, k] matrix a and a [k, n] matrix b.
pub fn product<T: Float + 'static>(c: &mut [T], add: bool, a: Matrix<'_, T>, b: Matrix<'_, T>, [m, k, n]: [usize; 3]) {
    let parts = |x: Matrix<'_, T>, rows: usize, columns: usize| {
        let (Matrix::Rows(data) | Matrix::Transposed(data)) = x;
        assert_eq!(data.len(), rows * columns);
        match x {
            Matrix::Rows(_) => (data.as_ptr(), 1, columns as isize),
            Matrix::Transposed(_) => (data.as_ptr(), rows as isize, 1),
        }
    };
    let ((a, a_columns, a_rows), (b, b_columns, b_rows)) = (parts(a, m, k), parts(b, k, n));
    assert_eq!(c.len(), m * n);
    let one_thread = gemm::Parallelism::None;
    // SAFETY: the slices hold as many numbers as the sizes and strides reach, as was just checked, and `c` is no other's
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            c.as_mut_ptr(),
            1,
            n as isize,
            add,
            a,
            a_columns,
            a_rows,
            b,
            b_columns,
            b_rows,
            T::ONE,
            T::ONE,
            false,
            false,
            false,
            one_thread,
        );
    }
}
