//! Convolution, its transpose and pooling along one, two and three axes, with steps, padding, gaps and groups: values against loops written out, and
//! derivatives against differences, both exactly.

use crate::support::outputs;
use crease_core::differentiate::{How, backprop, directional};
use crease_core::{Atom, BuildError, Builder, Program, Rational, Shape, Sliding, Tensor};
use crease_corpus::random::{Rng, tied_point};

/// How windows move in a test, and over what.
#[derive(Clone, Debug)]
struct Drawn {
    batch: Vec<usize>,
    image: Vec<usize>,
    size: Vec<usize>,
    how: Sliding,
}

fn drawn(rng: &mut Rng, axes: usize) -> Drawn {
    let mut each = |low: usize, high: usize| (0..axes).map(|_| low + rng.below(high - low + 1)).collect::<Vec<_>>();
    let (size, stride, dilation) = (each(1, 3), each(1, 3), each(1, 2));
    // the window fits without padding
    let image =
        each(0, 2).iter().zip(size.iter().zip(&dilation)).map(|(more, (s, d))| (s - 1) * d + 1 + more).collect();
    let batch = if rng.once_in(2) { vec![2] } else { Vec::new() };
    let padding = size.iter().map(|&s| (rng.below(s), rng.below(s))).collect();
    Drawn { batch, image, size, how: Sliding { stride, padding, dilation, ceil: false } }
}

fn build(shapes: &[Vec<usize>], f: impl FnOnce(&mut Builder, &[Atom]) -> Result<Atom, BuildError>) -> Program {
    let build = || -> Result<_, BuildError> {
        let mut b = Builder::new("f");
        let mut inputs = Vec::new();
        for (i, dims) in shapes.iter().enumerate() {
            inputs.push(b.input(format!("x{i}"), Shape::new(dims.clone())?)?);
        }
        let y = f(&mut b, &inputs)?;
        b.finish(&[y])
    };
    let p = build().unwrap_or_else(|e| panic!("{shapes:?}: {e}"));
    assert!(p.verify().is_empty());
    p
}

/// All indices of a shape, in row-major order.
fn indices(dims: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for &n in dims {
        all = all.into_iter().flat_map(|head| (0..n).map(move |i| [&head[..], &[i]].concat())).collect();
    }
    all
}

fn at<'t>(t: &'t Tensor<Rational>, index: &[usize]) -> &'t Rational {
    &t.data()[t.shape().dims().iter().zip(index).fold(0, |n, (d, i)| n * d + i)]
}

/// The element of the image under an element of the window, unless that lies in the padding.
fn under(d: &Drawn, position: &[usize], k: &[usize]) -> Option<Vec<usize>> {
    let along = |i: usize| {
        let padded = position[i] * d.how.stride[i] + k[i] * d.how.dilation[i];
        padded.checked_sub(d.how.padding[i].0).filter(|&x| x < d.image[i])
    };
    (0..d.image.len()).map(along).collect()
}

/// Positions of the window along each axis, counted one by one.
fn positions(d: &Drawn) -> Vec<usize> {
    let along = |i: usize| {
        let padded = d.image[i] + d.how.padding[i].0 + d.how.padding[i].1;
        let last = (d.size[i] - 1) * d.how.dilation[i];
        let fits = |p: &usize| match d.how.ceil {
            // it begins before the end of the image, and the one before it did not reach the end of the padding
            true => {
                let start = p * d.how.stride[i];
                *p == 0 || (start < d.image[i] + d.how.padding[i].0 && (p - 1) * d.how.stride[i] + last + 1 < padded)
            }
            false => p * d.how.stride[i] + last < padded,
        };
        (0..padded + 1).take_while(fits).count()
    };
    (0..d.image.len()).map(along).collect()
}

/// Backward, the adjoint of a function that is linear in each input is the difference that each of them makes.
fn differences(p: &Program, x: &[Tensor<Rational>], y: &Tensor<Rational>) {
    let d = backprop(&summed(p), &How::default()).unwrap();
    let out = outputs(&d, x).unwrap();
    let total: Rational = weighed(y);
    assert_eq!(out[0].data(), std::slice::from_ref(&total));
    for (input, gradient) in out[1..].iter().enumerate() {
        for i in 0..gradient.data().len() {
            let mut moved = x.to_vec();
            let mut data = moved[input].data().to_vec();
            data[i] += Rational::ONE;
            moved[input] = Tensor::new(moved[input].shape().clone(), data).unwrap();
            let there = weighed(&outputs(p, &moved).unwrap()[0]);
            assert_eq!(gradient.data()[i], there - total.clone(), "input {input}, number {i} of {p}");
        }
    }
}

/// Each number times another one, so that they are told apart.
fn weighed(y: &Tensor<Rational>) -> Rational {
    y.data().iter().enumerate().map(|(i, y)| y * &Rational::from(i as i64 % 7 - 2)).sum()
}

fn summed(p: &Program) -> Program {
    let mut b = Builder::new("weighed");
    let inputs: Vec<Atom> = p.inputs().iter().map(|i| b.input(i.name.clone(), i.shape.clone()).unwrap()).collect();
    let id = b.callee(std::sync::Arc::new(p.clone()), None).unwrap();
    let y = b.push1(crease_core::Op::Call(id), &inputs).unwrap();
    let y = b.flatten(y).unwrap();
    let n = b.shape(y).len();
    let w = b.tensor(Shape::vector(n).unwrap(), (0..n).map(|i| (i as i64 % 7 - 2) as f64).collect()).unwrap();
    let y = b.matmul(w, y).unwrap();
    b.finish(&[y]).unwrap()
}

#[test]
fn convolution_along_any_axes_in_groups() {
    let mut rng = Rng::new(21);
    for round in 0..90 {
        let axes = 1 + round % 3;
        let d = drawn(&mut rng, axes);
        let (groups, each, per_group) = (1 + rng.below(3), 1 + rng.below(2), 1 + rng.below(2));
        let image = [&d.batch[..], &[groups * each], &d.image].concat();
        let kernel = [&[groups * per_group, each], &d.size[..]].concat();
        let p = build(&[image.clone(), kernel], |b, x| b.conv(x[0], x[1], &d.how, groups));
        let x = tied_point(&mut rng, &p);
        let y = outputs(&p, &x).unwrap().swap_remove(0);
        let out = [&d.batch[..], &[groups * per_group], &positions(&d)].concat();
        assert_eq!(y.shape().dims(), out, "{d:?}");
        let split = d.batch.len();
        for i in indices(&out) {
            let (o, position) = (i[split], &i[split + 1..]);
            let mut sum = Rational::ZERO;
            for c in 0..each {
                for k in indices(&d.size) {
                    if let Some(place) = under(&d, position, &k) {
                        let channel = o / per_group * each + c;
                        let pixel = at(&x[0], &[&i[..split], &[channel], &place].concat());
                        sum += pixel * at(&x[1], &[&[o, c], &k[..]].concat());
                    }
                }
            }
            assert_eq!(*at(&y, &i), sum, "{d:?}, {groups} groups, at {i:?}");
        }
        if round < 12 {
            differences(&p, &x, &y);
        }
    }
}

/// Each number of the image adds a copy of its kernels to the result.
#[test]
fn transposed_convolution_spreads_kernels() {
    let mut rng = Rng::new(22);
    for round in 0..90 {
        let axes = 1 + round % 3;
        let mut d = drawn(&mut rng, axes);
        let (groups, each, per_group) = (1 + rng.below(2), 1 + rng.below(2), 1 + rng.below(2));
        let extra: Vec<usize> = d.how.stride.iter().map(|&s| rng.below(s)).collect();
        let whole: Vec<usize> = (0..axes)
            .map(|i| (d.image[i] - 1) * d.how.stride[i] + (d.size[i] - 1) * d.how.dilation[i] + 1 + extra[i])
            .collect();
        for (pad, whole) in d.how.padding.iter_mut().zip(&whole) {
            if pad.0 + pad.1 >= *whole {
                *pad = (0, 0);
            }
        }
        let image = [&d.batch[..], &[groups * each], &d.image].concat();
        let kernel = [&[groups * each, per_group], &d.size[..]].concat();
        let p = build(&[image.clone(), kernel], |b, x| b.conv_transpose(x[0], x[1], &d.how, groups, &extra));
        let x = tied_point(&mut rng, &p);
        let y = outputs(&p, &x).unwrap().swap_remove(0);
        let rest: Vec<usize> = whole.iter().zip(&d.how.padding).map(|(w, p)| w - p.0 - p.1).collect();
        let out = [&d.batch[..], &[groups * per_group], &rest].concat();
        assert_eq!(y.shape().dims(), out, "{d:?}");
        let mut expected = vec![Rational::ZERO; y.data().len()];
        let split = d.batch.len();
        for i in indices(&image) {
            let (c, position) = (i[split], &i[split + 1..]);
            for o in 0..per_group {
                for k in indices(&d.size) {
                    let place: Option<Vec<usize>> = (0..axes)
                        .map(|a| {
                            let place = position[a] * d.how.stride[a] + k[a] * d.how.dilation[a];
                            place.checked_sub(d.how.padding[a].0).filter(|&p| p < rest[a])
                        })
                        .collect();
                    if let Some(place) = place {
                        let to = [&i[..split], &[c / each * per_group + o], &place].concat();
                        let flat = out.iter().zip(&to).fold(0, |n, (d, i)| n * d + i);
                        expected[flat] += at(&x[0], &i) * at(&x[1], &[&[c, o], &k[..]].concat());
                    }
                }
            }
        }
        assert_eq!(y.data(), expected, "{d:?}, {groups} groups, {extra:?} more");
        if round < 12 {
            differences(&p, &x, &y);
        }
    }
}

#[test]
fn pooling_of_what_windows_see() {
    let mut rng = Rng::new(23);
    for round in 0..120 {
        let axes = 1 + round % 3;
        let mut d = drawn(&mut rng, axes);
        d.how.ceil = rng.once_in(2);
        // no window may lie in the padding alone
        for i in 0..axes {
            if d.how.dilation[i] > 1 {
                d.how.padding[i] = (0, 0);
            }
            d.how.padding[i].1 = d.how.padding[i].1.min(d.how.padding[i].0);
        }
        let shape = [&d.batch[..], &d.image].concat();
        let kinds = [("largest", None), ("mean of all", Some(true)), ("mean of what is there", Some(false))];
        for (kind, counted) in kinds {
            let p = build(std::slice::from_ref(&shape), |b, x| match counted {
                None => b.maxpool(x[0], &d.size, &d.how),
                Some(counted) => b.avgpool(x[0], &d.size, &d.how, counted),
            });
            let x = tied_point(&mut rng, &p);
            let y = outputs(&p, &x).unwrap().swap_remove(0);
            let out = [&d.batch[..], &positions(&d)].concat();
            assert_eq!(y.shape().dims(), out, "{d:?}");
            let split = d.batch.len();
            for i in indices(&out) {
                let position = &i[split..];
                let seen: Vec<Rational> = indices(&d.size)
                    .iter()
                    .filter_map(|k| under(&d, position, k))
                    .map(|place| at(&x[0], &[&i[..split], &place].concat()).clone())
                    .collect();
                // elements of the window that lie in the padded image
                let padded = indices(&d.size).into_iter().filter(|k| {
                    (0..axes).all(|a| {
                        let place = position[a] * d.how.stride[a] + k[a] * d.how.dilation[a];
                        place < d.image[a] + d.how.padding[a].0 + d.how.padding[a].1
                    })
                });
                let total: Rational = seen.iter().cloned().sum();
                let expected = match counted {
                    None => seen.iter().max().cloned(),
                    Some(true) => total.checked_div(&Rational::from(padded.count() as i64)),
                    Some(false) => total.checked_div(&Rational::from(seen.len() as i64)),
                };
                assert_eq!(Some(at(&y, &i)), expected.as_ref(), "{kind}: {d:?} at {i:?}");
            }
            if counted.is_some() && round < 12 {
                differences(&p, &x, &y);
            }
        }
    }
}

/// The directional derivative of max-pooling at ties is the largest tangent of those that tie.
#[test]
fn max_pooling_at_ties() {
    let p = build(&[vec![4]], |b, x| b.maxpool(x[0], &[2], &Sliding::new(1).strides([2])));
    let d = directional(&p, &[0], 1).unwrap();
    let x = Tensor::vector([1, 1, 0, -1].map(Rational::from).to_vec()).unwrap();
    let along = Tensor::new(Shape::new([1, 4]).unwrap(), [2, 3, 5, 7].map(Rational::from).to_vec()).unwrap();
    let out = outputs(&d, &[x, along]).unwrap();
    assert_eq!(out[1].data(), [3, 5].map(Rational::from));
}

/// What the builder says of operations that do not fit.
fn refused(shapes: &[Vec<usize>], f: impl Fn(&mut Builder, &[Atom]) -> Result<Atom, BuildError>) -> String {
    let mut b = Builder::new("f");
    let inputs: Vec<Atom> = shapes
        .iter()
        .enumerate()
        .map(|(i, dims)| b.input(format!("x{i}"), Shape::new(dims.clone()).unwrap()).unwrap())
        .collect();
    f(&mut b, &inputs).unwrap_err().to_string()
}

#[test]
fn what_does_not_fit_is_told() {
    let one = Sliding::new(1);
    let message = refused(&[vec![2, 5], vec![1, 3, 2]], |b, x| b.conv(x[0], x[1], &one, 1));
    assert!(message.contains("`conv1d` cannot combine shapes [2, 5] and [1, 3, 2]"), "{message}");
    assert!(message.contains("2 channels"), "{message}");
    let message = refused(&[vec![2, 5], vec![3, 1, 2]], |b, x| b.conv(x[0], x[1], &one, 2));
    assert!(message.contains("divisible"), "{message}");
    let message = refused(&[vec![1, 2], vec![1, 1, 3]], |b, x| b.conv(x[0], x[1], &one, 1));
    assert!(message.contains("reaches over 3 does not fit into 2"), "{message}");
    let message = refused(&[vec![5], vec![1, 1, 3]], |b, x| b.conv(x[0], x[1], &one, 1));
    assert!(message.contains("images [.., C, 1 more]"), "{message}");
    let message = refused(&[vec![1, 5], vec![1, 1, 3]], |b, x| b.conv(x[0], x[1], &one, 0));
    assert!(message.contains("groups must be positive"), "{message}");
    for how in [Sliding::new(1).strides([0]), Sliding::new(1).dilations([0])] {
        let message = refused(&[vec![1, 5], vec![1, 1, 3]], |b, x| b.conv(x[0], x[1], &how, 1));
        assert!(message.contains("at least 1"), "{message}");
    }
    let message = refused(&[vec![1, 5], vec![1, 1, 3]], |b, x| b.conv(x[0], x[1], &Sliding::new(1).strides([1, 1]), 1));
    assert!(message.contains("one of each for each axis"), "{message}");
    let huge = Sliding::new(1).pads([usize::MAX]);
    let message = refused(&[vec![1, 5], vec![1, 1, 3]], |b, x| b.conv(x[0], x[1], &huge, 1));
    assert!(message.contains("2^27"), "{message}");
    let message = refused(&[vec![1, 5], vec![2, 1, 3]], |b, x| b.conv_transpose(x[0], x[1], &one, 1, &[0]));
    assert!(message.contains("`conv_transpose1d`"), "{message}");
    let cut = Sliding::new(1).pads([4]);
    let message = refused(&[vec![1, 5], vec![1, 1, 3]], |b, x| b.conv_transpose(x[0], x[1], &cut, 1, &[0]));
    assert!(message.contains("leaves nothing of the 7"), "{message}");
    let message = refused(&[vec![5]], |b, x| b.maxpool(x[0], &[2, 2], &Sliding::new(2)));
    assert!(message.contains("`maxpool`: the image needs 2 axes"), "{message}");
    let alone = Sliding::new(1).pads([3]);
    let message = refused(&[vec![5]], |b, x| b.avgpool(x[0], &[2], &alone, true));
    assert!(message.contains("`avgpool`: the window at position 0 lies in the padding alone"), "{message}");
    let message = refused(&[vec![5]], |b, x| b.maxpool(x[0], &[0], &one));
    assert!(message.contains("sizes are from 1"), "{message}");
}
