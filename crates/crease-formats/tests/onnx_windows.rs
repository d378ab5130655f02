//! Convolution, its transpose, and pooling: some numbers by hand, and many random sizes, strides, gaps, pads and groups against plain loops.

mod network;

use network::*;

/// A generator of small numbers.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }

    fn numbers(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| self.below(17) as f64 / 4.0 - 2.0).collect()
    }
}

fn as_f32(x: &[f64]) -> Vec<f32> {
    x.iter().map(|&x| x as f32).collect()
}

fn as_i64(x: &[usize]) -> Vec<i64> {
    x.iter().map(|&x| x as i64).collect()
}

/// Two axes: sizes of image and window, steps, gaps, pads before and after.
#[derive(Debug)]
struct Case {
    image: [usize; 2],
    size: [usize; 2],
    stride: [usize; 2],
    gap: [usize; 2],
    pads: [usize; 4],
}

impl Case {
    fn random(r: &mut Random) -> Case {
        loop {
            let mut pair = |low: usize, n: usize| [low + r.below(n), low + r.below(n)];
            let (image, size, stride, gap) = (pair(1, 7), pair(1, 3), pair(1, 3), pair(1, 2));
            let pads = [0; 4].map(|_| r.below(3));
            let case = Case { image, size, stride, gap, pads };
            // a window lies neither beside the image nor in its padding alone
            if (0..2).all(|i| {
                case.reach(i) <= image[i] + pads[i] + pads[i + 2] && pads[i] < size[i] && pads[i + 2] < size[i]
            }) {
                return case;
            }
        }
    }

    fn reach(&self, i: usize) -> usize {
        (self.size[i] - 1) * self.gap[i] + 1
    }

    fn positions(&self, i: usize, ceil: bool) -> usize {
        let padded = self.image[i] + self.pads[i] + self.pads[i + 2];
        let way = padded - self.reach(i);
        let mut n = if ceil { way.div_ceil(self.stride[i]) } else { way / self.stride[i] } + 1;
        if ceil && (n - 1) * self.stride[i] >= self.image[i] + self.pads[i] {
            n -= 1;
        }
        n
    }

    /// Where an element of the window at a position lies: in the image, or nothing for the padding; an error beyond it.
    fn at(&self, i: usize, position: usize, element: usize) -> Result<Option<usize>, ()> {
        let place = position * self.stride[i] + element * self.gap[i];
        if place >= self.image[i] + self.pads[i] + self.pads[i + 2] {
            return Err(());
        }
        Ok(place.checked_sub(self.pads[i]).filter(|&p| p < self.image[i]))
    }
}

#[test]
fn convolutions_are_what_loops_compute() {
    let mut r = Random(1);
    for round in 0..300 {
        let case = Case::random(&mut r);
        let (n, groups, each, out) = (1 + r.below(2), 1 + r.below(3), 1 + r.below(2), 1 + r.below(2));
        let (channels, kernels) = (groups * each, groups * out);
        let x = r.numbers(n * channels * case.image[0] * case.image[1]);
        let w = r.numbers(kernels * each * case.size[0] * case.size[1]);
        let b = r.numbers(kernels);
        let [oh, ow] = [0, 1].map(|i| case.positions(i, false));
        let mut want = Vec::new();
        for image in 0..n {
            for o in 0..kernels {
                for (y, z) in (0..oh).flat_map(|y| (0..ow).map(move |z| (y, z))) {
                    let mut sum = b[o];
                    for c in 0..each {
                        for (i, j) in (0..case.size[0]).flat_map(|i| (0..case.size[1]).map(move |j| (i, j))) {
                            if let (Ok(Some(p)), Ok(Some(q))) = (case.at(0, y, i), case.at(1, z, j)) {
                                let channel = o / out * each + c;
                                let at = ((image * channels + channel) * case.image[0] + p) * case.image[1] + q;
                                sum += x[at] * w[((o * each + c) * case.size[0] + i) * case.size[1] + j];
                            }
                        }
                    }
                    want.push(sum);
                }
            }
        }
        let constants = vec![
            floats("w", &as_i64(&[kernels, each, case.size[0], case.size[1]]), &as_f32(&w)),
            floats("b", &[kernels as i64], &as_f32(&b)),
        ];
        let attributes = [
            ("strides", A::Is(&as_i64(&case.stride))),
            ("dilations", A::Is(&as_i64(&case.gap))),
            ("pads", A::Is(&as_i64(&case.pads))),
            ("group", A::I(groups as i64)),
            ("kernel_shape", A::Is(&as_i64(&case.size))),
        ];
        let (dims, got) =
            apply(13, "Conv", (&as_i64(&[n, channels, case.image[0], case.image[1]]), &x), constants, &attributes);
        assert_eq!(dims, [n, kernels, oh, ow], "{case:?}");
        assert!(near(&got, &want), "{round}: {case:?}");
    }
}

#[test]
fn transposed_convolutions_are_what_loops_compute() {
    let mut r = Random(2);
    let mut done = 0;
    while done < 300 {
        let mut case = Case::random(&mut r);
        case.pads = [0; 4].map(|_| r.below(2));
        let (n, groups, each, out) = (1 + r.below(2), 1 + r.below(2), 1 + r.below(2), 1 + r.below(2));
        let extra = [0, 1].map(|i| r.below(case.stride[i]));
        let whole = [0, 1].map(|i| (case.image[i] - 1) * case.stride[i] + case.reach(i) + extra[i]);
        let Some(size) = (0..2)
            .map(|i| whole[i].checked_sub(case.pads[i] + case.pads[i + 2]).filter(|&n| n > 0))
            .collect::<Option<Vec<_>>>()
        else {
            continue;
        };
        done += 1;
        let (channels, kernels) = (groups * each, groups * out);
        let x = r.numbers(n * channels * case.image[0] * case.image[1]);
        let w = r.numbers(channels * out * case.size[0] * case.size[1]);
        let b = r.numbers(kernels);
        let mut want = vec![0.0; n * kernels * size[0] * size[1]];
        for (k, v) in want.iter_mut().enumerate() {
            *v = b[k / (size[0] * size[1]) % kernels];
        }
        for image in 0..n {
            for c in 0..channels {
                for (y, z) in (0..case.image[0]).flat_map(|y| (0..case.image[1]).map(move |z| (y, z))) {
                    let value = x[((image * channels + c) * case.image[0] + y) * case.image[1] + z];
                    for o in 0..out {
                        for (i, j) in (0..case.size[0]).flat_map(|i| (0..case.size[1]).map(move |j| (i, j))) {
                            let p = (y * case.stride[0] + i * case.gap[0]).checked_sub(case.pads[0]);
                            let q = (z * case.stride[1] + j * case.gap[1]).checked_sub(case.pads[1]);
                            if let (Some(p), Some(q)) = (p.filter(|&p| p < size[0]), q.filter(|&q| q < size[1])) {
                                let channel = c / each * out + o;
                                want[((image * kernels + channel) * size[0] + p) * size[1] + q] +=
                                    value * w[((c * out + o) * case.size[0] + i) * case.size[1] + j];
                            }
                        }
                    }
                }
            }
        }
        let constants = vec![
            floats("w", &as_i64(&[channels, out, case.size[0], case.size[1]]), &as_f32(&w)),
            floats("b", &[kernels as i64], &as_f32(&b)),
        ];
        let attributes = [
            ("strides", A::Is(&as_i64(&case.stride))),
            ("dilations", A::Is(&as_i64(&case.gap))),
            ("pads", A::Is(&as_i64(&case.pads))),
            ("output_padding", A::Is(&as_i64(&extra))),
            ("group", A::I(groups as i64)),
        ];
        let (dims, got) = apply(
            13,
            "ConvTranspose",
            (&as_i64(&[n, channels, case.image[0], case.image[1]]), &x),
            constants,
            &attributes,
        );
        assert_eq!(dims, [n, kernels, size[0], size[1]], "{case:?}");
        assert!(near(&got, &want), "{case:?}");
    }
}

#[test]
fn pools_are_what_loops_compute() {
    let mut r = Random(3);
    for _ in 0..400 {
        let case = Case::random(&mut r);
        let ceil = r.below(2) == 1;
        let (n, channels) = (1 + r.below(2), 1 + r.below(2));
        let x = r.numbers(n * channels * case.image[0] * case.image[1]);
        let [oh, ow] = [0, 1].map(|i| case.positions(i, ceil));
        // all that windows see, and how many they have with padding
        let mut seen: Vec<(Vec<f64>, usize)> = Vec::new();
        let mut empty = false;
        for plane in 0..n * channels {
            for (y, z) in (0..oh).flat_map(|y| (0..ow).map(move |z| (y, z))) {
                let (mut inside, mut padded) = (Vec::new(), 0);
                for (i, j) in (0..case.size[0]).flat_map(|i| (0..case.size[1]).map(move |j| (i, j))) {
                    if let (Ok(p), Ok(q)) = (case.at(0, y, i), case.at(1, z, j)) {
                        padded += 1;
                        if let (Some(p), Some(q)) = (p, q) {
                            inside.push(x[(plane * case.image[0] + p) * case.image[1] + q]);
                        }
                    }
                }
                empty |= inside.is_empty();
                seen.push((inside, padded));
            }
        }
        let attributes = |more: Option<(&'static str, A<'static>)>| -> Vec<(&'static str, A<'_>)> {
            let mut all = vec![("ceil_mode", A::I(i64::from(ceil)))];
            all.extend(more);
            all
        };
        let lists = [as_i64(&case.size), as_i64(&case.stride), as_i64(&case.gap), as_i64(&case.pads)];
        let run = |op: &str, more: Option<(&'static str, A<'static>)>| {
            let mut all = attributes(more);
            all.extend(
                ["kernel_shape", "strides", "dilations", "pads"].into_iter().zip(&lists).map(|(n, l)| (n, A::Is(l))),
            );
            apply(19, op, (&as_i64(&[n, channels, case.image[0], case.image[1]]), &x), vec![], &all)
        };
        if empty {
            // a window with a gap that sees padding only
            continue;
        }
        let (dims, got) = run("MaxPool", None);
        assert_eq!(dims, [n, channels, oh, ow], "{case:?}");
        let want: Vec<f64> = seen.iter().map(|(s, _)| s.iter().copied().fold(f64::MIN, f64::max)).collect();
        assert!(near(&got, &want), "{case:?}");
        let mean = |n: fn(&(Vec<f64>, usize)) -> usize| {
            seen.iter().map(|s| s.0.iter().sum::<f64>() / n(s) as f64).collect::<Vec<_>>()
        };
        assert!(near(&run("AveragePool", None).1, &mean(|s| s.0.len())), "{case:?}");
        assert!(near(&run("AveragePool", Some(("count_include_pad", A::I(1)))).1, &mean(|s| s.1)), "{case:?}");
    }
}

#[test]
fn one_axis_and_three() {
    let x = [1.0, 2.0, 3.0, 4.0, 5.0];
    let conv = apply(
        13,
        "Conv",
        (&[1, 1, 5], &x),
        vec![floats("w", &[1, 1, 2], &[1.0, -1.0])],
        &[("strides", A::Is(&[2])), ("pads", A::Is(&[1, 0]))],
    );
    assert_eq!(conv, (vec![1, 1, 3], vec![-1.0, -1.0, -1.0]));
    let pool = apply(
        13,
        "MaxPool",
        (&[1, 1, 5], &x),
        vec![],
        &[("kernel_shape", A::Is(&[2])), ("strides", A::Is(&[2])), ("ceil_mode", A::I(1))],
    );
    assert_eq!(pool, (vec![1, 1, 3], vec![2.0, 4.0, 5.0]));
    let cube: Vec<f64> = (0..8).map(f64::from).collect();
    let conv = apply(13, "Conv", (&[1, 1, 2, 2, 2], &cube), vec![floats("w", &[1, 1, 2, 2, 2], &[1.0; 8])], &[]);
    assert_eq!(conv, (vec![1, 1, 1, 1, 1], vec![28.0]));
    let back = apply(
        13,
        "ConvTranspose",
        (&[1, 1, 2], &[1.0, 2.0]),
        vec![floats("w", &[1, 1, 3], &[1.0, 10.0, 100.0])],
        &[("strides", A::Is(&[2]))],
    );
    assert_eq!(back, (vec![1, 1, 5], vec![1.0, 10.0, 102.0, 20.0, 200.0]));
    assert_eq!(apply(13, "GlobalMaxPool", (&[1, 2, 2, 2], &cube), vec![], &[]), (vec![1, 2, 1, 1], vec![3.0, 7.0]));
    assert_eq!(apply(13, "GlobalAveragePool", (&[1, 2, 2, 2], &cube), vec![], &[]), (vec![1, 2, 1, 1], vec![1.5, 5.5]));
}

#[test]
fn automatic_padding() {
    let x = [1.0, 2.0, 3.0, 4.0];
    let conv = |auto: &str, strides: i64| {
        let attributes = [("auto_pad", A::S(auto)), ("strides", A::Is(&[strides]))];
        apply(13, "Conv", (&[1, 1, 4], &x), vec![floats("w", &[1, 1, 2], &[1.0, 10.0])], &attributes).1
    };
    assert_eq!(conv("SAME_UPPER", 1), [21.0, 32.0, 43.0, 4.0]);
    assert_eq!(conv("SAME_LOWER", 1), [10.0, 21.0, 32.0, 43.0]);
    assert_eq!(conv("VALID", 1), [21.0, 32.0, 43.0]);
    assert_eq!(conv("SAME_UPPER", 3), [21.0, 4.0]);
    let pool = |auto: &str| {
        apply(
            13,
            "MaxPool",
            (&[1, 1, 4], &x),
            vec![],
            &[("auto_pad", A::S(auto)), ("kernel_shape", A::Is(&[3])), ("strides", A::Is(&[2]))],
        )
        .1
    };
    assert_eq!((pool("SAME_UPPER"), pool("SAME_LOWER")), (vec![3.0, 4.0], vec![2.0, 4.0]));
    let back = |size: i64, data: &[f32]| {
        let attributes = [("strides", A::Is(&[2])), ("auto_pad", A::S("SAME_UPPER"))];
        let w = floats("w", &[1, 1, size], data);
        read(&model(
            13,
            vec![port("x", &[1, 1, 2])],
            vec![w],
            vec![node("ConvTranspose", "x w", "y", &attributes)],
            &["y"],
        ))
    };
    let even = back(4, &[1.0, 10.0, 100.0, 1000.0]).unwrap();
    assert_eq!(values(&even.program, &[vec![1.0, 2.0]])[0].data(), [10.0, 102.0, 1020.0, 200.0]);
    assert!(back(3, &[1.0, 10.0, 100.0]).unwrap_err().to_string().contains("runtimes differ"));
    let shaped = apply(
        13,
        "ConvTranspose",
        (&[1, 1, 2], &[1.0, 2.0]),
        vec![floats("w", &[1, 1, 3], &[1.0, 10.0, 100.0])],
        &[("strides", A::Is(&[2])), ("output_shape", A::Is(&[3]))],
    );
    assert_eq!(shaped.1, [10.0, 102.0, 20.0]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let conv = |w: TensorProto, a: &[(&str, A<'_>)]| {
        message(&model(13, vec![port("x", &[1, 4, 3, 3])], vec![w], vec![node("Conv", "x w", "y", a)], &["y"]))
    };
    let w = |dims: &[i64]| floats("w", dims, &vec![1.0; dims.iter().product::<i64>() as usize]);
    assert!(conv(w(&[2, 3, 1, 1]), &[]).contains("do not fit images"));
    assert!(conv(w(&[2, 4, 4, 4]), &[]).contains("does not fit into 3"));
    assert!(conv(w(&[2, 4, 1, 1]), &[("group", A::I(0))]).contains("groups must be positive"));
    assert!(conv(w(&[2, 4, 1, 1]), &[("strides", A::Is(&[0, 1]))]).contains("strides are [0, 1]"));
    assert!(conv(w(&[2, 4, 1, 1]), &[("kernel_shape", A::Is(&[2, 2]))]).contains("kernel_shape"));
    assert!(conv(w(&[2, 4, 1, 1]), &[("pads", A::Is(&[i64::MAX, 0, 0, 0]))]).contains("pads are"));
    assert!(conv(w(&[2, 4, 1, 1]), &[("pads", A::Is(&[1 << 28, 1 << 28, 0, 0]))]).contains("2^27"));
    assert!(conv(w(&[2, 4, 1, 1]), &[("flavour", A::I(1))]).contains("attribute `flavour` is not supported"));
    let pool = model(
        13,
        vec![port("x", &[1, 1, 3, 3])],
        vec![],
        vec![node("MaxPool", "x", "y i", &[("kernel_shape", A::Is(&[2, 2]))])],
        &["y", "i"],
    );
    assert!(message(&pool).contains("result 2 (`i`) is not supported"), "{}", message(&pool));
}

use crease_formats::onnx::messages::TensorProto;
