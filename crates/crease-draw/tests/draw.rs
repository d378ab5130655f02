//! Facts about drawings: what is in them, where it stands, and that nothing covers anything else.

use crease_core::op::{Choice, Comparison};
use crease_core::{Atom, Builder, Kink, Lane, Op, Program, Rational, Shape, Smooth, Tape, Ties, abs, max, relu, trace};
use crease_draw::{Direction, DrawError, Drawing, Kind, Mark, Outline, Picture, dot, picture, svg};
use std::sync::Arc;

fn flat() -> Drawing {
    Drawing::default()
}

fn nested() -> Drawing {
    Drawing { nested: true, ..flat() }
}

/// A program of scalars with named inputs.
fn program(name: &str, inputs: &[&str], body: impl FnOnce(&mut Builder, &[Atom]) -> Vec<Atom>) -> Program {
    let mut b = Builder::new(name);
    let x: Vec<Atom> = inputs.iter().map(|n| b.input(*n, Shape::scalar()).unwrap()).collect();
    let outputs = body(&mut b, &x);
    b.finish(&outputs).unwrap()
}

/// The programs of the paper's Figure 1.
fn figure() -> [Program; 4] {
    let p0 = program("P0", &["a", "b"], |b, x| vec![b.add(x[0], x[1]).unwrap()]);
    let p1 = program("P1", &["a", "b", "c"], |b, x| {
        let sum = b.add(x[1], x[2]).unwrap();
        vec![b.mul(x[0], sum).unwrap()]
    });
    let q1 = program("Q1", &["a", "b", "c"], |b, x| {
        let (left, right) = (b.mul(x[0], x[1]).unwrap(), b.mul(x[0], x[2]).unwrap());
        vec![b.add(left, right).unwrap()]
    });
    let p2 = program("P2", &["a", "b", "c", "d"], |b, x| {
        let q = b.callee(Arc::new(q1.clone()), None).unwrap();
        let p = b.callee(Arc::new(p1.clone()), None).unwrap();
        let left = b.push1(Op::Call(q), &[x[0], x[2], x[3]]).unwrap();
        let right = b.push1(Op::Call(p), &[x[1], x[2], x[3]]).unwrap();
        vec![b.add(left, right).unwrap()]
    });
    [p0, p1, q1, p2]
}

/// A value and its derivatives: several outputs, joint operations, a constant output.
fn gradient() -> Program {
    program("grad", &["x", "y", "z"], |b, x| {
        let choice = Choice { at_kink: Rational::ZERO, ties: Ties::First };
        let two = b.constant(2);
        let product = b.mul(x[0], x[1]).unwrap();
        let kink = b.push(Op::Joint(Kink::Relu, choice.clone()), &[product]).unwrap();
        let difference = b.sub(kink[0], x[2]).unwrap();
        let largest = b.push(Op::Joint(Kink::Max(Lane::Args), choice), &[difference, x[0], x[2]]).unwrap();
        let value = b.mul(largest[0], two).unwrap();
        let back = b.mul(largest[1], two).unwrap();
        let through = b.mul(back, kink[1]).unwrap();
        let (dx, dy) = (b.mul(through, x[1]).unwrap(), b.mul(through, x[0]).unwrap());
        let direct = b.mul(largest[2], two).unwrap();
        let dx = b.add(dx, direct).unwrap();
        let zero = b.constant(0);
        vec![value, dx, dy, zero]
    })
}

fn network() -> Program {
    let shape = |d: &[usize]| Shape::new(d).unwrap();
    let tape = Tape::new("mlp");
    let x = tape.input("x", shape(&[4]));
    let (w1, b1) = (tape.input("W1", shape(&[8, 4])), tape.input("b1", shape(&[8])));
    let (w2, b2) = (tape.input("W2", shape(&[3, 8])), tape.input("b2", shape(&[3])));
    let hidden = relu(w1.matmul(x) + b1);
    let y = w2.matmul(hidden) + b2;
    tape.finish(&[y.logsumexp(0) - y.at(&[1])]).unwrap()
}

fn selection() -> Program {
    let negative = Arc::new(program("negative", &["u", "v"], |b, x| vec![b.mul(x[0], x[1]).unwrap()]));
    let positive = Arc::new(program("positive", &["u", "v"], |b, x| vec![b.relu(x[0]).unwrap()]));
    program("choose", &["x", "y"], |b, x| {
        let zero = b.constant(0);
        let condition = b.compare(Comparison::Less, x[0], zero).unwrap();
        let branches = [negative, positive].map(|p| b.callee(p, None).unwrap());
        vec![b.push1(Op::Select(branches.into()), &[condition, x[0], x[1]]).unwrap()]
    })
}

/// A graph without any plan in it.
fn random(equations: usize, mut state: u64) -> Program {
    let mut below = move |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    program("random", &["x0", "x1", "x2", "x3", "x4", "x5"], |b, x| {
        let mut v = x.to_vec();
        for _ in 0..equations {
            let (a, c) = (v[below(v.len())], v[below(v.len())]);
            let made = match below(6) {
                0 => b.add(a, c),
                1 => b.mul(a, c),
                2 => b.sub(a, c),
                3 => b.relu(a),
                4 => b.max(&[a, c, x[0]]),
                _ => b.elementwise(Smooth::Sigmoid, &[a]),
            };
            v.push(made.unwrap());
        }
        vec![v[v.len() - 1], v[v.len() - 2], v[3]]
    })
}

fn everything() -> Vec<(Program, Drawing)> {
    let mut all: Vec<(Program, Drawing)> = Vec::new();
    for p in figure().into_iter().chain([gradient(), network(), selection()]) {
        all.push((p.clone(), flat()));
        all.push((p.clone(), nested()));
        all.push((p, Drawing { direction: Direction::Down, ..nested() }));
    }
    all.push((trace(1, |x| relu(x[0]) - relu(-x[0])).unwrap(), flat()));
    all.push((trace(2, |x| max(&[x[0] * x[0], abs(x[1]) / 3.0, x[0]]) + 0.5).unwrap(), flat()));
    all.extend((0..12).map(|seed| (random(52, seed), flat())));
    all
}

fn named<'p>(picture: &'p Picture, text: &str) -> &'p Mark {
    picture.marks.iter().find(|m| m.text == text).unwrap_or_else(|| panic!("no node {text}"))
}

/// The texts of a row from left to right.
fn row(picture: &Picture, row: usize) -> Vec<&str> {
    let mut marks: Vec<&Mark> = picture.marks.iter().filter(|m| m.row == row && m.depth == 0).collect();
    marks.sort_by(|a, b| a.x.total_cmp(&b.x));
    marks.iter().map(|m| &*m.text).collect()
}

#[test]
fn figure_1_has_its_nodes_rows_and_arrows() {
    let expected: [(&[&[&str]], usize); 4] = [
        (&[&["a", "b"], &["+"], &[""]], 2),
        (&[&["a", "b", "c"], &["+"], &["×"], &[""]], 4),
        (&[&["b", "a", "c"], &["×", "×"], &["+"], &[""]], 6),
        (&[&["a", "b", "c", "d"], &["Q1", "P1"], &["+"], &[""]], 8),
    ];
    for (p, (rows, arrows)) in figure().iter().zip(expected) {
        let drawn = picture(p, &flat()).unwrap();
        let found: Vec<Vec<&str>> = (0..rows.len()).map(|r| row(&drawn, r)).collect();
        assert_eq!(found, rows, "{}", p.name());
        assert_eq!(drawn.marks.len(), rows.iter().map(|r| r.len()).sum::<usize>());
        assert_eq!(drawn.lines.len(), arrows + 1, "the arrow to the output comes on top");
        let circles = drawn.marks.iter().filter(|m| m.kind != Kind::Output);
        assert!(circles.clone().all(|m| m.outline == Outline::Circle && m.width == 34.0));
        assert!(drawn.lines.iter().all(|l| l.points.len() == 2), "all arrows of the figure are straight");
        assert!(drawn.tags.is_empty(), "the figure has no numbers at its arrows");
    }
}

#[test]
fn figure_1_has_its_relative_positions() {
    let [p0, p1, q1, p2] = figure().map(|p| picture(&p, &flat()).unwrap());
    let x = |p: &Picture, text: &str| named(p, text).x;
    assert!((x(&p0, "+") - (x(&p0, "a") + x(&p0, "b")) / 2.0).abs() < 0.2);
    assert!(x(&p1, "b") < x(&p1, "+") && x(&p1, "+") < x(&p1, "c"));
    assert!(x(&p1, "a") < x(&p1, "×") && x(&p1, "×") < x(&p1, "+"));
    assert!((x(&q1, "+") - x(&q1, "a")).abs() < 0.2, "Q1 is symmetric");
    assert!(x(&p2, "Q1") < x(&p2, "+") && x(&p2, "+") < x(&p2, "P1"));
    for p in [&p0, &p1, &q1, &p2] {
        let bottom = p.marks.iter().filter(|m| m.kind == Kind::Input).map(|m| m.y);
        assert!(bottom.clone().all(|y| y == named(p, "a").y), "inputs are in one row");
        let others = p.marks.iter().filter(|m| m.kind != Kind::Input);
        assert!(others.clone().all(|m| m.y < named(p, "a").y), "operations are above the inputs");
        assert!(p.lines.iter().all(|l| l.points[0].1 > l.points[1].1), "arrows point up");
    }
}

#[test]
fn down_is_up_turned_over() {
    for p in figure() {
        let (up, down) = (
            picture(&p, &nested()).unwrap(),
            picture(&p, &Drawing { direction: Direction::Down, ..nested() }).unwrap(),
        );
        for (a, b) in up.marks.iter().zip(&down.marks) {
            assert!((a.x - b.x).abs() < 0.2 && (a.y + b.y - up.height).abs() < 2.0);
        }
    }
}

#[test]
fn nodes_keep_apart_and_stay_on_the_sheet() {
    for (p, how) in everything() {
        let drawn = picture(&p, &how).unwrap();
        let solid: Vec<&Mark> = drawn.marks.iter().filter(|m| m.width > 0.0).collect();
        let within = |a: &Mark, b: &Mark| {
            let (dx, dy) = ((a.x - b.x).abs(), (a.y - b.y).abs());
            dx <= (b.width - a.width) / 2.0 && dy <= (b.height - a.height) / 2.0
        };
        for (i, a) in solid.iter().enumerate() {
            assert!(a.x - a.width / 2.0 >= 0.0 && a.x + a.width / 2.0 <= drawn.width, "{}", p.name());
            assert!(a.y - a.height / 2.0 >= 0.0 && a.y + a.height / 2.0 <= drawn.height, "{}", p.name());
            for b in &solid[..i] {
                let apart = (a.x - b.x).abs() >= (a.width + b.width) / 2.0 + 4.0
                    || (a.y - b.y).abs() >= (a.height + b.height) / 2.0 + 4.0;
                let held = b.outline == Outline::Frame && a.depth > b.depth && within(a, b);
                assert!(apart || held, "`{}` and `{}` of {}", a.text, b.text, p.name());
            }
        }
    }
}

/// Points along a path of the image, curves included.
fn samples(path: &str) -> Vec<(f64, f64)> {
    let spaced = path.replace(['M', 'L'], " ").replace('Q', " Q ");
    let mut words = spaced.split_whitespace();
    let mut corners: Vec<(bool, (f64, f64))> = Vec::new();
    while let Some(word) = words.next() {
        let control = word == "Q";
        let x = if control { words.next().unwrap() } else { word };
        corners.push((control, (x.parse().unwrap(), words.next().unwrap().parse().unwrap())));
    }
    let mut out = vec![corners[0].1];
    let mut i = 1;
    while i < corners.len() {
        let a = *out.last().unwrap();
        let control = corners[i].0;
        let b = corners[i].1;
        let c = if control { corners[i + 1].1 } else { b };
        let middle = if control { b } else { ((a.0 + c.0) / 2.0, (a.1 + c.1) / 2.0) };
        out.extend((1..=40).map(|k| {
            let t = f64::from(k) / 40.0;
            let mix = |a: f64, b: f64, c: f64| (1.0 - t) * (1.0 - t) * a + 2.0 * t * (1.0 - t) * b + t * t * c;
            (mix(a.0, middle.0, c.0), mix(a.1, middle.1, c.1))
        }));
        i += if control { 2 } else { 1 };
    }
    out
}

#[test]
fn arrows_pass_no_node_and_end_at_rims() {
    for (p, how) in everything() {
        let drawn = picture(&p, &how).unwrap();
        let image = svg(&p, &how).unwrap();
        let paths: Vec<&str> =
            image.split("class=\"edge\" d=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
        assert_eq!(paths.len(), drawn.lines.len());
        for (line, path) in drawn.lines.iter().zip(paths) {
            let points = samples(path);
            for (i, m) in drawn.marks.iter().enumerate().filter(|(_, m)| m.outline != Outline::Frame) {
                let least = points
                    .iter()
                    .map(|&(x, y)| {
                        let (dx, dy) = ((x - m.x).abs(), (y - m.y).abs());
                        match m.outline {
                            Outline::Circle => dx.hypot(dy) - m.width / 2.0,
                            Outline::Diamond => (dx / m.width + dy / m.height - 0.5) * m.height,
                            _ => (dx - m.width / 2.0).max(dy - m.height / 2.0),
                        }
                    })
                    .fold(f64::INFINITY, f64::min);
                // the corner of the box around a pill is no part of it, hence the second allowance at the ends
                let allowed = if [line.from, line.to].contains(&i) { -6.0 } else { 0.5 };
                assert!(least > allowed, "an arrow of {} meets `{}`: {least}", p.name(), m.text);
            }
            for (end, at) in [(line.from, points[0]), (line.to, points[points.len() - 1])] {
                let m = &drawn.marks[end];
                assert!((at.0 - m.x).abs() <= m.width / 2.0 + 0.2 && (at.1 - m.y).abs() <= m.height / 2.0 + 0.2);
            }
        }
    }
}

#[test]
fn boxes_hold_the_called_programs() {
    let [_, _, _, p2] = figure();
    let drawn = picture(&p2, &nested()).unwrap();
    let frames: Vec<&str> = drawn.marks.iter().filter(|m| m.outline == Outline::Frame).map(|m| &*m.text).collect();
    assert_eq!(frames, ["Q1", "P1"]);
    assert_eq!(drawn.marks.iter().filter(|m| m.depth == 1 && m.kind == Kind::Input).count(), 6);
    // an arrow into a box goes to the input inside
    let into: Vec<(&str, &str)> = drawn
        .lines
        .iter()
        .map(|l| (&drawn.marks[l.from], &drawn.marks[l.to]))
        .filter(|(a, b)| a.depth == 0 && b.depth == 1)
        .map(|(a, b)| (&*a.text, &*b.text))
        .collect();
    assert_eq!(into, [("a", "a"), ("c", "b"), ("d", "c"), ("b", "a"), ("c", "b"), ("d", "c")]);
}

#[test]
fn labels_tags_and_accents() {
    let p = trace(1, |x| max(&[abs(x[0] * 2.0) - 3.0, (1.0 / x[0]) + (-4.0), x[0] / 3.0])).unwrap();
    let drawn = picture(&p, &flat()).unwrap();
    for (text, nonsmooth) in
        [("× 2", false), ("|·|", true), ("− 3", false), ("1 ÷ ·", false), ("− 4", false), ("max", true)]
    {
        assert_eq!(named(&drawn, text).nonsmooth, nonsmooth, "{text}");
    }
    let gradient = picture(&gradient(), &flat()).unwrap();
    assert!(named(&gradient, "relu, relu′").nonsmooth);
    assert_eq!(named(&gradient, "relu, relu′").outline, Outline::Pill);
    assert_eq!(named(&gradient, "0").outline, Outline::Square);
    assert_eq!(gradient.marks.iter().filter(|m| m.text.starts_with("out ")).count(), 4);
    let numbers = gradient.tags.iter().filter(|t| t.text == "1").count();
    assert!(numbers >= 2, "results of joint operations are numbered");
    let network = picture(&network(), &flat()).unwrap();
    for text in ["@", "reshape", "relu", "logsumexp", "[1]"] {
        named(&network, text);
    }
    for shape in ["[4]", "[8, 4]", "[8]", "[3, 8]"] {
        assert!(network.tags.iter().any(|t| t.text == shape), "{shape}");
    }
    let choose = picture(&selection(), &flat()).unwrap();
    assert_eq!(named(&choose, "select").outline, Outline::Diamond);
    assert!(svg(&selection(), &nested()).unwrap().matches("class=\"box\"").count() == 3);
}

#[test]
fn constants_of_many_arguments_are_squares() {
    let p = program("f", &["x"], |b, x| {
        let (one, two) = (b.constant(1), b.constant(2));
        vec![b.max(&[x[0], one, two]).unwrap()]
    });
    let drawn = picture(&p, &flat()).unwrap();
    assert_eq!(drawn.marks.iter().filter(|m| m.outline == Outline::Square).count(), 2);
    assert_eq!(drawn.lines.len(), 4);
}

#[test]
fn arguments_are_numbered_only_where_their_order_is_not_seen() {
    let straight = program("f", &["a", "b"], |b, x| vec![b.sub(x[0], x[1]).unwrap()]);
    assert!(picture(&straight, &flat()).unwrap().tags.is_empty());
    let turned = program("f", &["a", "b"], |b, x| vec![b.sub(x[1], x[0]).unwrap()]);
    let drawn = picture(&turned, &flat()).unwrap();
    let tag = |text: &str| drawn.tags.iter().find(|t| t.text == text).unwrap().x;
    assert_eq!(row(&drawn, 0), ["a", "b"]);
    assert!(tag("2") < tag("1"));
}

#[test]
fn drawing_is_deterministic() {
    let p = random(60, 5);
    assert_eq!(svg(&p, &flat()).unwrap(), svg(&random(60, 5), &flat()).unwrap());
    assert_eq!(dot(&p, &flat()).unwrap(), dot(&random(60, 5), &flat()).unwrap());
}

#[test]
fn names_are_escaped() {
    let nasty = "a<b>&\"c'\\\n]]>\u{1}";
    let p = program(nasty, &[nasty, "}; x"], |b, x| vec![b.add(x[0], x[1]).unwrap()]);
    let image = svg(&p, &flat()).unwrap();
    assert!(image.contains("a&lt;b&gt;&amp;&quot;c&apos;\\"));
    assert!(!image.contains("a<b") && !image.contains('\u{1}'));
    let text = dot(&p, &flat()).unwrap();
    assert!(text.contains("label=\"a<b>&amp;\\\"c'\\\\\\\\n]]>\\\\u{1}\""), "{text}");
    check_dot(&text);
}

/// Reads DOT as far as quotes, brackets and statements go.
fn check_dot(text: &str) {
    let (mut depth, mut quoted, mut chars) = (Vec::new(), false, text.chars());
    while let Some(c) = chars.next() {
        match c {
            '\\' if quoted => assert!(chars.next().is_some()),
            '"' => quoted = !quoted,
            _ if quoted => {}
            '{' | '[' => depth.push(c),
            '}' => assert_eq!(depth.pop(), Some('{')),
            ']' => assert_eq!(depth.pop(), Some('[')),
            _ => {}
        }
    }
    assert!(!quoted && depth.is_empty());
    for line in text.lines().skip(1) {
        assert!(line.ends_with([';', '{', '}']), "{line}");
    }
}

#[test]
fn dot_has_the_same_nodes_and_arrows() {
    for (p, how) in everything() {
        let text = dot(&p, &how).unwrap();
        check_dot(&text);
        let drawn = picture(&p, &how).unwrap();
        let lines = text.lines().map(str::trim_start);
        let nodes =
            lines.clone().filter(|l| l.starts_with('g') && l.contains(" [label=") && !l.contains(" -> ")).count();
        assert_eq!(nodes, drawn.marks.iter().filter(|m| m.outline != Outline::Frame).count());
        let arrows = lines.clone().filter(|l| l.starts_with('g') && l.contains(" -> ")).count();
        assert_eq!(arrows, drawn.lines.len());
        let clusters = lines.filter(|l| l.starts_with("subgraph cluster_")).count();
        assert_eq!(clusters, drawn.marks.iter().filter(|m| m.outline == Outline::Frame).count());
    }
    let [_, _, q1, _] = figure();
    assert!(dot(&q1, &flat()).unwrap().contains("{ rank=min; edge [style=invis]; g0n1 -> g0n0 -> g0n2; }"));
}

#[test]
fn the_limit_counts_what_is_drawn() {
    for (p, how) in everything() {
        let nodes = picture(&p, &how).unwrap().marks.len();
        assert!(svg(&p, &Drawing { max_nodes: nodes, ..how.clone() }).is_ok());
        let DrawError::TooLarge { nodes: told, .. } = svg(&p, &Drawing { max_nodes: nodes - 1, ..how }).unwrap_err()
        else {
            panic!("another error")
        };
        assert_eq!(told, nodes, "{}", p.name());
    }
}

#[test]
fn large_programs_are_refused_with_advice() {
    let long = trace(1, |x| (0..100_000).fold(x[0], |y, _| y + 1.0)).unwrap();
    assert_eq!(
        svg(&long, &flat()).unwrap_err().to_string(),
        "the drawing of `f` would have 100002 nodes, more than the limit of 500; \
         raise the limit or draw a part of the program"
    );
    // each program calls the one before twice: as boxes there are 2^200 of them
    let mut p = Arc::new(program("f", &["x"], |b, x| vec![b.relu(x[0]).unwrap()]));
    for _ in 0..200 {
        p = Arc::new(program("f", &["x"], |b, x| {
            let id = b.callee(p.clone(), None).unwrap();
            let y = b.push1(Op::Call(id), &[x[0]]).unwrap();
            vec![b.push1(Op::Call(id), &[y]).unwrap()]
        }));
    }
    assert!(dot(&p, &flat()).is_ok());
    assert_eq!(
        dot(&p, &nested()).unwrap_err().to_string(),
        "the drawing of `f` would have more than 10^19 nodes, more than the limit of 500; \
         draw calls as single nodes instead of boxes (4 nodes), or raise the limit"
    );
}

#[test]
fn nesting_may_be_deep() {
    let chain = |depth: usize| {
        let mut p = Arc::new(program("f", &["x"], |b, x| vec![b.relu(x[0]).unwrap()]));
        for _ in 0..depth {
            p = Arc::new(program("f", &["x"], |b, x| {
                let id = b.callee(p.clone(), None).unwrap();
                vec![b.push1(Op::Call(id), &[x[0]]).unwrap()]
            }));
        }
        p
    };
    assert!(matches!(svg(&chain(100_000), &nested()), Err(DrawError::TooLarge { nodes: 300_003, .. })));
    let deep = Drawing { max_nodes: usize::MAX, ..nested() };
    let p = chain(5_000);
    assert_eq!(svg(&p, &deep).unwrap().matches("class=\"box\"").count(), 5_000);
    check_dot(&dot(&p, &deep).unwrap());
}

#[test]
fn odd_programs_are_drawn() {
    // an output that is an input, an input that is not used, a program without inputs
    let identity = program("id", &["x", "y"], |_, x| vec![x[0]]);
    let drawn = picture(&identity, &flat()).unwrap();
    assert_eq!((drawn.marks.len(), drawn.lines.len()), (3, 1));
    let constant = program("one", &[], |b, _| vec![b.constant(1)]);
    let drawn = picture(&constant, &flat()).unwrap();
    assert_eq!((drawn.marks.len(), drawn.lines.len()), (2, 1));
    let square = program("square", &["x"], |b, x| vec![b.mul(x[0], x[0]).unwrap()]);
    let drawn = picture(&square, &flat()).unwrap();
    assert_eq!(drawn.lines.len(), 3);
    assert_ne!(drawn.lines[0].points, drawn.lines[1].points, "the two arrows of x * x are both seen");
    for p in [identity, constant, square] {
        check_dot(&dot(&p, &nested()).unwrap());
    }
}
