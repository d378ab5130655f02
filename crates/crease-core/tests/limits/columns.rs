//! Forward mode counted by one column that stands for all: the tally is that of the program that would have been emitted.

use crease_core::cost::{Prices, tally};
use crease_core::differentiate::overhead;
use crease_core::differentiate::{DiffError, How, Mode, Selection, Technique, backprop, counted, forprop, jvp_batch};
use crease_core::{Shape, relu, trace_shapes};
use crease_corpus::random::{Dictionary, Options, Rng, program};

const TECHNIQUES: [Technique; 4] = [Technique::Auto, Technique::Through, Technique::Backward, Technique::Forward];

#[test]
fn counting_without_emitting_gives_the_tally_of_what_is_emitted() {
    let (mut compared, mut nested, mut selected) = (0, 0, 0);
    for seed in 0..600u64 {
        let mut rng = Rng::new(seed);
        let options = Options::new(Dictionary::ALL[seed as usize % 6]).tensors().branches().joints();
        let options = options.calls(seed as usize % 3).inputs(1 + seed as usize % 3).equations(1 + seed as usize % 19);
        let p = program(&mut rng, &options);
        for technique in TECHNIQUES {
            for selection in [Selection::paper(), Selection::parse("max=average, order=average").unwrap()] {
                let how = How::default().technique(technique).select(selection);
                let Ok(forward) = forprop(&p, &how) else { continue };
                assert_eq!(counted(&p, &how, Mode::Forward).unwrap(), tally(&forward), "{technique:?}\n{p}");
                let backward = tally(&backprop(&p, &how).unwrap());
                assert_eq!(counted(&p, &how, Mode::Backward).unwrap(), backward, "{technique:?}\n{p}");
                compared += 1;
            }
        }
        nested += usize::from(!p.callees().is_empty());
        let selects = |q: &crease_core::Program| q.equations().any(|e| matches!(e.op, crease_core::Op::Select(_)));
        selected += usize::from(selects(&p));
    }
    assert!(compared > 1000 && nested > 50 && selected > 20, "{compared} {nested} {selected}");
}

/// A network of ordinary size: forward mode would carry 270,106 columns along.
#[test]
fn a_network_of_ordinary_size_is_counted_and_refused_before_it_is_emitted() {
    let shape = |dims: &[usize]| Shape::new(dims).unwrap();
    let sizes = [784usize, 256, 256, 10];
    let mut shapes = vec![shape(&[784])];
    for pair in sizes.windows(2) {
        shapes.extend([shape(&[pair[1], pair[0]]), shape(&[pair[1]])]);
    }
    let p = trace_shapes(&shapes, |x| {
        let h = relu(x[1].matmul(x[0]) + x[2]);
        let h = relu(x[3].matmul(h) + x[4]);
        let s = x[5].matmul(h) + x[6];
        vec![s.logsumexp(0) - s.at(&[0])]
    })
    .unwrap();
    assert_eq!(p.dimension(), 270_106);
    let how = How::default();
    let error = forprop(&p, &how).unwrap_err();
    assert!(matches!(error, DiffError::Columns { columns: 270_106, .. }), "{error}");
    assert!(error.to_string().contains("backprop"), "{error}");
    assert!(matches!(jvp_batch(&p, &how, 1 << 20), Err(DiffError::Columns { .. })));
    let prices = Prices::unit();
    for mode in [Mode::Forward, Mode::Backward] {
        let counted = counted(&p, &how, mode).unwrap().price().unit().to_rational();
        let theorem = overhead(&p, &how, mode, &prices).unwrap();
        let own = tally(&p).price().unit().to_rational();
        assert!(own < counted && counted <= theorem.model.at(&prices), "{mode:?}");
        assert!(theorem.model.at(&prices) <= theorem.omega.unwrap() * own, "{mode:?}");
    }
}

/// The same network, small, is counted and emitted alike: so what is counted of the large one is right.
#[test]
fn the_network_is_counted_right_where_it_can_be_emitted() {
    for hidden in [1, 3, 6] {
        let text = format!(
            "program part(W[{hidden}, 4], x[4]) = sum(relu(W @ x))
             program net(x[4], W[{hidden}, 4], V[2, {hidden}]) {{
               let s = V @ relu(W @ x)
               let c = concat(s, [1, 2])
               return logsumexp(c) - s[0] + part(W, x) * max(c)
             }}"
        );
        let module = crease_formats::parse(&text).unwrap();
        for technique in TECHNIQUES {
            let how = How::default().technique(technique);
            let p = module.main();
            assert_eq!(counted(p, &how, Mode::Forward).unwrap(), tally(&forprop(p, &how).unwrap()), "{technique:?}");
        }
    }
}
