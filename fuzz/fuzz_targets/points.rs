//! Points: no bytes make a reader panic, and what comes one at a time is what comes as a whole.
#![no_main]

use crease_core::Rational;
use crease_formats::point::{List, Rows};
use crease_formats::{Point, parse_point};
use libfuzzer_sys::fuzz_target;
use serde_json::value::RawValue;
use std::io::BufReader;

fuzz_target!(|bytes: &[u8]| {
    let whole = Point::from_npy(bytes, "it");
    let rows = Rows::new(BufReader::with_capacity(7, bytes));
    let rows = rows.and_then(|rows| Ok((rows.shape().len(), rows.collect::<Result<Vec<_>, _>>()?)));
    match (&whole, &rows) {
        (Ok(whole), Ok((row, rows))) => {
            let (_, values) = whole.get("it").expect("an array has its name");
            assert_eq!(&values.chunks(*row).map(<[Rational]>::to_vec).collect::<Vec<_>>(), rows);
        }
        // one number is an array, but has no rows
        (Ok(whole), Err(_)) => assert!(whole.shape_of("it").is_some_and(|s| s.is_scalar())),
        (Err(e), Ok(_)) => panic!("rows of what is no array: {e}"),
        (Err(_), Err(_)) => {}
    }
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(point) = parse_point(text) {
        assert!(point.iter().all(|(_, shape, values)| shape.len() == values.len()));
    }
    if let Ok(point) = Point::from_json(text) {
        assert!(point.iter().all(|(_, shape, values)| shape.len() == values.len()));
    }
    let members: Result<Vec<_>, _> = List::new(BufReader::with_capacity(3, bytes)).collect();
    match (serde_json::from_str::<Vec<&RawValue>>(text), members) {
        (Ok(whole), Ok(members)) => {
            assert_eq!(whole.iter().map(|r| r.get()).collect::<Vec<_>>(), members.iter().map(|m| &m.text).collect::<Vec<_>>());
        }
        (Err(_), Err(_)) => {}
        (whole, members) => panic!("{whole:?} but {members:?}"),
    }
});
