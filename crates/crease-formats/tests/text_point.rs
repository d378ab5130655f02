//! Points: text, JSON and NPY in, exact numbers in the order of the inputs out.

use crease_formats::{Point, parse, parse_point};
use proptest::prelude::*;

fn fault(text: &str) -> String {
    parse_point(text).unwrap_err().to_string()
}

#[test]
fn numbers_are_exact_and_lists_have_shapes() {
    let point =
        parse_point(" x=0, y = -1/2,z=0.1,w=~0.1, v=[1, 2/3 ,-3e-1],\n W=[[1,2],[3,4],[5,6]],t=[[[7]]]").unwrap();
    let one = |name: &str| point.get(name).unwrap().1[0].fraction();
    assert_eq!((one("x"), one("y"), one("z")), ("0".into(), "-1/2".into(), "1/10".into()));
    assert_ne!(one("w"), "1/10");
    assert_eq!(point.get("v").unwrap().1[2].fraction(), "-3/10");
    assert_eq!(point.shape_of("W").unwrap().dims(), [3, 2]);
    assert_eq!(point.shape_of("t").unwrap().dims(), [1, 1, 1]);
    assert!(point.shape_of("x").unwrap().is_scalar());
    assert_eq!(point.iter().len(), 7);
    assert_eq!(parse_point("").unwrap().iter().len(), 0);
    assert_eq!(parse_point("x=1,").unwrap().iter().len(), 1);
}

#[test]
fn faults_name_the_input() {
    let cases = [
        ("x=nan", "x is NaN; a point needs finite numbers"),
        ("x=1,v=[0,-inf]", "v is infinite; a point needs finite numbers"),
        ("x=1,x=2", "`x` is given twice"),
        ("x", "expected `=` after `x`, at character 2 of the point"),
        ("x=", "expected a number for `x`, at character 3 of the point"),
        ("x=,y=1", "expected a number for `x`, at character 3 of the point"),
        ("3=x", "expected a name, as in x=0, at character 1 of the point"),
        ("x=1 2", "`x`: `1 2` is not a number; write 3, 0.5, 1/3, 1e-3, or ~0.1 for the nearest double"),
        ("x=abc", "`x`: `abc` is not a number; write 3, 0.5, 1/3, 1e-3, or ~0.1 for the nearest double"),
        ("v=[1,2", "expected `,` or `]`, at character 7 of the point"),
        ("v=[1,,2]", "expected a number for `v`, at character 6 of the point"),
        ("v=[]", "`v`: an empty list has no shape"),
        ("v=[[1,2],[3]]", "`v`: a list has 1 parts where the one before has 2"),
        ("v=[[1,2],3]", "`v`: a number stands where a list stood before"),
        ("v=[1,[2]]", "`v`: a list stands where a number stood before"),
        ("v=[1]2", "expected `,` and the next name, at character 6 of the point"),
    ];
    for (text, message) in cases {
        assert_eq!(fault(text), message, "{text}");
    }
    assert!(fault("x=1/0").contains("`1/0` is not a number"));
    assert!(fault("x=1e9999999").contains("exponent"), "{}", fault("x=1e9999999"));
    assert!(fault(&format!("x={}", "[".repeat(1_000_000))).contains("nested 32 deep"));
    assert!(fault(&format!("x={}", "a".repeat(1_000_000))).len() < 300);
}

#[test]
fn binding_puts_values_in_the_order_of_the_inputs() {
    let module = parse("program f(x, alpha, v[2]) = x + alpha + sum(v)").unwrap();
    let f = module.main();
    let bound = parse_point("v=[1,2],alpha=3,x=4").unwrap().bind(f).unwrap();
    assert_eq!(bound[0].1[0].to_string(), "4");
    assert_eq!(bound[2].0.dims(), [2]);
    let fault = |text: &str| parse_point(text).unwrap().bind(f).unwrap_err().to_string();
    assert_eq!(fault("x=1,v=[1,2]"), "input `alpha` has no value; add alpha=... to the point");
    assert_eq!(fault("x=1,alpha=1"), "input `v` has no value; add v=[...] to the point");
    assert_eq!(fault("x=1,alhpa=2,v=[1,2]"), "`alhpa` is not an input of `f`; did you mean `alpha`?");
    assert_eq!(fault("qqq=1"), "`qqq` is not an input of `f`; its inputs are x, alpha, v");
    assert_eq!(fault("x=[3],alpha=1,v=[1,2]"), "input `x` is a scalar, but its value has shape [1]");
    assert_eq!(fault("x=3,alpha=1,v=[[1,2]]"), "input `v` has shape [2], but its value has shape [1, 2]");
    assert_eq!(fault("x=3,alpha=1,v=1"), "input `v` has shape [2], but its value is a scalar");
}

#[test]
fn json_decimals_are_exact() {
    let point =
        Point::from_json(r#"{"x": 0.1, "y": "1/3", "v": [1, -2.5e-3, "~0.1"], "W": [[1, 2], [3, 4]], "z": 1e400}"#)
            .unwrap();
    assert_eq!(point.get("x").unwrap().1[0].fraction(), "1/10");
    assert_eq!(point.get("y").unwrap().1[0].fraction(), "1/3");
    assert_eq!(point.shape_of("W").unwrap().dims(), [2, 2]);
    let fault = |text: &str| Point::from_json(text).unwrap_err().to_string();
    assert_eq!(fault(r#"{"x": "NaN"}"#), "x is NaN; a point needs finite numbers");
    assert_eq!(fault(r#"{"x": 1, "x": 2}"#), "`x` is given twice");
    assert!(fault(r#"{"x": null}"#).contains("`null` is not a number"));
    assert!(fault(r#"{"x": {"y": 1}}"#).contains("is not a number"));
    assert!(fault(r#"[1, 2]"#).contains("expected an object"));
    assert!(fault(r#"{"x": 1"#).contains("not a JSON object"));
    assert!(fault(r#"{"v": [[1], [1, 2]]}"#).contains("a list has 2 parts"));
    assert!(fault(&format!("{{\"v\": {}", "[".repeat(100_000))).contains("JSON"));
}

fn npy(kind: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{kind}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
    let header = format!("{header:<117}\n");
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend((header.len() as u16).to_le_bytes());
    out.extend(header.bytes());
    out.extend(data);
    out
}

#[test]
fn npy_arrays_of_all_kinds() {
    let doubles: Vec<u8> = [1.5f64, -2.0, 3.0, 4.0, 5.0, 6.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    let read = |bytes: &[u8]| Point::from_npy(bytes, "v").unwrap();
    let text = |point: &Point| {
        let (shape, values) = point.get("v").unwrap();
        format!("{shape} {}", values.iter().map(|r| r.to_string()).collect::<Vec<_>>().join(" "))
    };
    assert_eq!(text(&read(&npy("<f8", "False", "(2, 3)", &doubles))), "[2, 3] 1.5 -2 3 4 5 6");
    assert_eq!(text(&read(&npy("<f8", "True", "(2, 3)", &doubles))), "[2, 3] 1.5 3 5 -2 4 6");
    assert_eq!(text(&read(&npy("<f8", "False", "()", &doubles[..8]))), "[] 1.5");
    let ints: Vec<u8> = [-1i64, i64::MIN].iter().flat_map(|x| x.to_le_bytes()).collect();
    assert_eq!(text(&read(&npy("<i8", "False", "(2,)", &ints))), "[2] -1 -9223372036854775808");
    let ints: Vec<u8> = [-1i32, 7].iter().flat_map(|x| x.to_be_bytes()).collect();
    assert_eq!(text(&read(&npy(">i4", "False", "(2,)", &ints))), "[2] -1 7");
    let floats: Vec<u8> = [0.5f32, -1.0].iter().flat_map(|x| x.to_be_bytes()).collect();
    assert_eq!(text(&read(&npy(">f4", "False", "(2,)", &floats))), "[2] 0.5 -1");
    assert_eq!(text(&read(&npy("|u1", "False", "(2,)", &[255, 1]))), "[2] 255 1");

    let fault = |bytes: &[u8]| Point::from_npy(bytes, "v").unwrap_err().to_string();
    assert_eq!(fault(&npy("<f8", "False", "()", &f64::NAN.to_le_bytes())), "v is NaN; a point needs finite numbers");
    assert_eq!(
        fault(&npy("<f4", "False", "()", &f32::INFINITY.to_le_bytes())),
        "v is infinite; a point needs finite numbers"
    );
    assert!(fault(&npy("<c16", "False", "()", &[0; 16])).contains("its numbers are of type '<c16';"));
    // where it is, whichever axis runs fastest
    let one: Vec<u8> = [0.0, 0.0, f64::NAN, 0.0, 0.0, 0.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    assert_eq!(fault(&npy("<f8", "False", "(3, 2)", &one)), "v[1, 0] is NaN; a point needs finite numbers");
    assert_eq!(fault(&npy("<f8", "True", "(3, 2)", &one)), "v[2, 0] is NaN; a point needs finite numbers");
    assert!(fault(&npy("<f8", "False", "(99999999999,)", &[])).contains("2^27"));
    assert!(fault(&npy("<f8", "False", "(3,)", &doubles)).contains("does not match 48 bytes"));
    assert!(fault(&npy("<f8", "False", "(0,)", &[])).contains("empty axis"));
    assert!(fault(b"PK").contains("no NPY header"));
}

proptest! {
    #[test]
    fn nothing_panics(text in "[-a-c0-9~./=,\\[\\] \"e]{0,30}", bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let _ = parse_point(&text);
        let _ = Point::from_json(&text);
        let _ = Point::from_npy(&bytes, "x");
        let mut header = b"\x93NUMPY\x01\x00\x1e\x00".to_vec();
        header.extend(&bytes);
        let _ = Point::from_npy(&header, "x");
    }
}
