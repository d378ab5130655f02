//! Lists and rows that come one at a time say what they say when they are read as a whole.

use crease_formats::Point;
use crease_formats::point::{List, ListError, Rows};
use serde_json::value::RawValue;
use std::io::{BufReader, Read};

/// Reads through a buffer of a few bytes, so that everything is cut somewhere.
fn listed(text: &str) -> Result<Vec<(usize, String)>, ListError> {
    let list = List::new(BufReader::with_capacity(3, text.as_bytes()));
    list.map(|m| m.map(|m| (m.line, m.text))).collect()
}

#[test]
fn members_are_those_of_the_whole_list() {
    for text in [
        "[]",
        " [ ] \n",
        "[1]",
        "[1,2 , 3]",
        "\n[\n[1, [2]],\r\n {\"a\": [1, \"],[\"], \"b\\\"}\": \"\\\\\"}\n, \"x,y\" , null]\n\n",
        "[\"\\\\\",\"\\\"\", -1e-5 ]",
        "[\"é\u{1F600}\", {\"ü\": 1}]",
    ] {
        let whole: Vec<&RawValue> = serde_json::from_str(text).expect(text);
        let members = listed(text).expect(text);
        assert_eq!(
            members.iter().map(|m| &*m.1).collect::<Vec<_>>(),
            whole.iter().map(|r| r.get()).collect::<Vec<_>>()
        );
        for ((line, _), raw) in members.iter().zip(&whole) {
            let at = raw.get().as_ptr() as usize - text.as_ptr() as usize;
            assert_eq!(*line, 1 + text[..at].matches('\n').count(), "{text}");
        }
    }
}

#[test]
fn what_is_no_list_is_told_by_its_line() {
    for (text, line, why) in [
        ("", 1, "nothing"),
        ("\n\n{}", 3, "expected `[`"),
        ("[1\n,\n,2]", 3, "expected a value"),
        ("[1,\n]", 2, "expected a value"),
        ("[1,\n2", 2, "the text ends here"),
        ("[1, \"a\n]", 2, "the text ends here"),
        ("[1,\n2}]", 2, "no `{`"),
        ("[1]\n[2]", 2, "something follows"),
        ("[[1,\n\n(2]]", 3, "expected value"),
        ("[[1}]", 1, "expected `,` or `]`"),
        ("[\n01]", 2, "invalid number"),
        // a form feed is no blank of JSON
        ("[]\n\x0c", 2, "something follows"),
        ("[1\x0c]", 1, "trailing characters"),
        ("\x0c[1]", 1, "expected `[`"),
    ] {
        assert!(serde_json::from_str::<Vec<&RawValue>>(text).is_err(), "{text}");
        match listed(text) {
            Err(ListError::Syntax { line: l, why: w }) => {
                assert!(l == line && w.contains(why), "{text}: line {l}: {w}")
            }
            other => panic!("{text}: {other:?}"),
        }
    }
    // after a fault nothing comes
    let mut list = List::new(&b"[1,,2]"[..]);
    assert!(list.next().is_some_and(|m| m.is_ok()) && list.next().is_some_and(|m| m.is_err()) && list.next().is_none());
}

fn npy(descr: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let head = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(format!("{head:<117}\n").bytes());
    bytes.extend(data);
    bytes
}

#[test]
fn rows_are_those_of_the_whole_array() {
    let numbers: Vec<u8> = (0..24).map(|i| (i * 7 + 3) as u8).collect();
    for fortran in ["False", "True"] {
        for (shape, row) in [("(24,)", 1), ("(6, 4)", 4), ("(2, 3, 4)", 12), ("(1, 24)", 24)] {
            let bytes = npy("|i1", fortran, shape, &numbers);
            let point = Point::from_npy(&bytes, "it").unwrap();
            let (_, whole) = point.get("it").unwrap();
            let rows = Rows::new(BufReader::with_capacity(5, &bytes[..])).unwrap();
            assert_eq!(rows.shape().len(), row);
            let rows: Vec<_> = rows.collect::<Result<_, _>>().unwrap();
            assert_eq!(rows, whole.chunks(row).map(<[_]>::to_vec).collect::<Vec<_>>(), "{shape} {fortran}");
        }
    }
}

#[test]
fn arrays_that_are_too_short_or_too_long() {
    for fortran in ["False", "True"] {
        let faulty = |bytes: &[u8]| match Rows::new(bytes) {
            Err(e) => Some(e.to_string()),
            Ok(mut rows) => rows.find_map(Result::err).map(|e| e.to_string()),
        };
        let whole = npy("|i1", fortran, "(3, 2)", &[1, 2, 3, 4, 5, 6]);
        assert_eq!(faulty(&whole), None);
        for n in 0..whole.len() {
            assert!(faulty(&whole[..n]).is_some(), "{fortran}: {n}");
        }
        assert!(faulty(&[&whole[..], &[7]].concat()).is_some());
        // a header may state what it likes: what is read is what is there
        let huge = npy("<f8", fortran, "(3, 999999999999)", &[0; 16]);
        assert!(faulty(&huge).is_some());
    }
    assert!(Rows::new(&npy("<f8", "False", "()", &[0; 8])[..]).is_err_and(|e| e.to_string().contains("no rows")));
    let long = b"\x93NUMPY\x02\x00\xff\xff\xff\xff";
    assert!(Rows::new((&long[..]).chain(&b"{"[..])).is_err());
}
