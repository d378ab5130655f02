//! The words of tensor users against loops written out: convolution, pooling, products, sums, slices, gathering.

use crate::support::outputs;
use crease_core::{Atom, BuildError, Builder, Conv2d, Rational, Shape, Tensor, Window};
use crease_corpus::random::{Rng, tied_point};

/// Builds a program of inputs of these shapes and runs it at a random point of small numbers.
fn result(
    rng: &mut Rng,
    shapes: &[&[usize]],
    f: impl FnOnce(&mut Builder, &[Atom]) -> Result<Atom, BuildError>,
) -> (Vec<Tensor<Rational>>, Tensor<Rational>) {
    let build = || -> Result<_, BuildError> {
        let mut b = Builder::new("f");
        let mut inputs = Vec::new();
        for (i, dims) in shapes.iter().enumerate() {
            inputs.push(b.input(format!("x{i}"), Shape::new(dims.to_vec())?)?);
        }
        let y = f(&mut b, &inputs)?;
        b.finish(&[y])
    };
    let p = build().expect("a program");
    assert!(p.verify().is_empty());
    let x = tied_point(rng, &p);
    let y = outputs(&p, &x).expect("a run").swap_remove(0);
    (x, y)
}

/// The flat position of some indices.
fn at(dims: &[usize], index: &[usize]) -> usize {
    dims.iter().zip(index).fold(0, |n, (d, i)| n * d + i)
}

/// All indices of a shape, in row-major order.
fn indices(dims: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for &n in dims {
        all = all.into_iter().flat_map(|head| (0..n).map(move |i| [&head[..], &[i]].concat())).collect();
    }
    all
}

#[test]
fn convolution_is_correlation_with_zeros_around() {
    let mut rng = Rng::new(1);
    for _ in 0..100 {
        let (n, c, o) = (1 + rng.below(2), 1 + rng.below(3), 1 + rng.below(2));
        let (h, w, kh, kw) = (3 + rng.below(3), 3 + rng.below(3), 1 + rng.below(3), 1 + rng.below(3));
        let stride = (1 + rng.below(2), 1 + rng.below(2));
        let padding = (rng.below(2), rng.below(2));
        let (image, kernel) = ([n, c, h, w], [o, c, kh, kw]);
        let (x, y) = result(&mut rng, &[&image, &kernel], |b, x| b.conv2d(x[0], x[1], Conv2d { stride, padding }));
        let out = [n, o, (h + 2 * padding.0 - kh) / stride.0 + 1, (w + 2 * padding.1 - kw) / stride.1 + 1];
        assert_eq!(y.shape().dims(), out);
        for (i, y) in indices(&out).iter().zip(y.data()) {
            let mut sum = Rational::ZERO;
            for k in indices(&[c, kh, kw]) {
                let row = (i[2] * stride.0 + k[1]).checked_sub(padding.0).filter(|r| *r < h);
                let column = (i[3] * stride.1 + k[2]).checked_sub(padding.1).filter(|r| *r < w);
                if let (Some(row), Some(column)) = (row, column) {
                    let pixel = &x[0].data()[at(&image, &[i[0], k[0], row, column])];
                    sum += pixel * &x[1].data()[at(&kernel, &[i[1], k[0], k[1], k[2]])];
                }
            }
            assert_eq!(*y, sum, "{image:?} with {kernel:?}, stride {stride:?}, padding {padding:?}");
        }
    }
}

#[test]
fn pooling_takes_the_largest_of_what_lies_inside() {
    let mut rng = Rng::new(2);
    for _ in 0..100 {
        let (c, h, w) = (1 + rng.below(2), 3 + rng.below(3), 3 + rng.below(3));
        let size = (1 + rng.below(3), 1 + rng.below(3));
        let stride = (1 + rng.below(3), 1 + rng.below(3));
        let padding = (rng.below(size.0), rng.below(size.1));
        let window = Window { size, stride, padding };
        let (x, y) = result(&mut rng, &[&[c, h, w]], |b, x| b.maxpool2d(x[0], window));
        let (oh, ow) = window.output((h, w)).expect("it fits");
        assert_eq!(y.shape().dims(), [c, oh, ow]);
        for (i, y) in indices(&[c, oh, ow]).iter().zip(y.data()) {
            let inside = indices(&[size.0, size.1]).into_iter().filter_map(|k| {
                let row = (i[1] * stride.0 + k[0]).checked_sub(padding.0).filter(|r| *r < h)?;
                let column = (i[2] * stride.1 + k[1]).checked_sub(padding.1).filter(|r| *r < w)?;
                Some(x[0].data()[at(&[c, h, w], &[i[0], row, column])].clone())
            });
            assert_eq!(Some(y), inside.max().as_ref(), "{window:?} at {i:?} of {}", x[0]);
        }
    }
}

#[test]
fn products_of_matrices_and_vectors_are_sums_of_products() {
    let mut rng = Rng::new(3);
    for _ in 0..50 {
        let (m, k, n) = (1 + rng.below(4), 1 + rng.below(4), 1 + rng.below(4));
        for (a, b, out) in [
            (vec![m, k], vec![k, n], vec![m, n]),
            (vec![m, k], vec![k], vec![m]),
            (vec![k], vec![k, n], vec![n]),
            (vec![k], vec![k], vec![]),
            (vec![2, m, k], vec![2, k, n], vec![2, m, n]),
        ] {
            let (x, y) = result(&mut rng, &[&a, &b], |builder, x| builder.matmul(x[0], x[1]));
            assert_eq!(y.shape().dims(), out);
            let (rows, columns) = (if a.len() > 1 { m } else { 1 }, if b.len() > 1 { n } else { 1 });
            for (i, y) in y.data().iter().enumerate() {
                let (s, r, c) = (i / (rows * columns), i / columns % rows, i % columns);
                let term = |l: usize| &x[0].data()[(s * rows + r) * k + l] * &x[1].data()[(s * k + l) * columns + c];
                assert_eq!(*y, (0..k).map(term).sum::<Rational>(), "{a:?} @ {b:?}");
            }
        }
    }
}

#[test]
fn structure_moves_numbers_where_it_says() {
    let mut rng = Rng::new(4);
    let dims = [2, 3, 4];
    let (x, y) = result(&mut rng, &[&dims], |b, x| b.transpose(x[0], &[2, 0, 1]));
    for (i, y) in indices(&[4, 2, 3]).iter().zip(y.data()) {
        assert_eq!(*y, x[0].data()[at(&dims, &[i[1], i[2], i[0]])]);
    }
    let (x, y) = result(&mut rng, &[&dims], |b, x| b.slice(x[0], &[(1, 1, 1), (2, 2, -2), (0, 2, 3)]));
    for (i, y) in indices(&[1, 2, 2]).iter().zip(y.data()) {
        assert_eq!(*y, x[0].data()[at(&dims, &[1, 2 - 2 * i[1], 3 * i[2]])]);
    }
    let (x, y) = result(&mut rng, &[&dims], |b, x| b.gather(x[0], -2, &[2, 2, 0, 1]));
    for (i, y) in indices(&[2, 4, 4]).iter().zip(y.data()) {
        assert_eq!(*y, x[0].data()[at(&dims, &[i[0], [2, 2, 0, 1][i[1]], i[2]])]);
    }
    let (x, y) = result(&mut rng, &[&[3, 1]], |b, x| b.broadcast(x[0], &Shape::new([2, 3, 4])?));
    for (i, y) in indices(&dims).iter().zip(y.data()) {
        assert_eq!(*y, x[0].data()[i[1]]);
    }
    let (x, y) = result(&mut rng, &[&[2, 1, 2], &[2, 3, 2]], |b, x| b.concat(x, 1));
    for (i, y) in indices(&[2, 4, 2]).iter().zip(y.data()) {
        let from = if i[1] == 0 {
            &x[0].data()[at(&[2, 1, 2], &[i[0], 0, i[2]])]
        } else {
            &x[1].data()[at(&[2, 3, 2], &[i[0], i[1] - 1, i[2]])]
        };
        assert_eq!(y, from);
    }
    let (x, y) = result(&mut rng, &[&dims], |b, x| b.at(x[0], &[1, 2]));
    assert_eq!(y.data(), &x[0].data()[at(&dims, &[1, 2, 0])..][..4]);
}

#[test]
fn sums_and_means_run_over_their_axes() {
    let mut rng = Rng::new(5);
    let dims = [2, 3, 4];
    for axes in [vec![0], vec![1], vec![2], vec![0, 2], vec![1, 2], vec![0, 1, 2]] {
        let kept: Vec<usize> = (0..3).filter(|a| !axes.contains(a)).collect();
        let out: Vec<usize> = kept.iter().map(|&a| dims[a]).collect();
        let count: usize = axes.iter().map(|&a| dims[a]).product();
        for mean in [false, true] {
            let (x, y) = result(&mut rng, &[&dims], |b, x| if mean { b.mean(x[0], &axes) } else { b.sum(x[0], &axes) });
            assert_eq!(y.shape().dims(), out);
            for (i, y) in indices(&out).iter().zip(y.data()) {
                let alike = |full: &&Vec<usize>| kept.iter().zip(i).all(|(&a, k)| full[a] == *k);
                let all = indices(&dims);
                let sum: Rational = all.iter().filter(alike).map(|f| x[0].data()[at(&dims, f)].clone()).sum();
                let expected = if mean { sum.checked_div(&Rational::from(count as i64)) } else { Some(sum) };
                assert_eq!(Some(y), expected.as_ref(), "axes {axes:?}");
            }
        }
    }
}

#[test]
fn padding_of_a_pool_makes_no_kinks() {
    // every pixel is another number, so no window has two largest ones
    let build = || -> Result<_, BuildError> {
        let mut b = Builder::new("f");
        let x = b.input("x", Shape::new([1, 2, 2])?)?;
        let y = b.maxpool2d(x, Window::new((2, 2)).stride((2, 2)).padding((1, 1)))?;
        b.finish(&[y])
    };
    let p = build().expect("a program");
    let x = Tensor::new(p.inputs()[0].shape.clone(), [1, 2, 3, 4].map(Rational::from).to_vec()).expect("four pixels");
    let (y, hits) = crease_core::kinks(&p, &[x]).expect("a run");
    assert_eq!(y[0].data(), [1, 2, 3, 4].map(Rational::from));
    assert!(hits.is_empty(), "{hits:?}");
}
