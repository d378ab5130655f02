//! The text language: no bytes make the parser panic, and what it reads it prints so that it reads the same again.
#![no_main]

use crease_formats::{parse, parse_bytes, parse_expression};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(module) = parse_bytes(bytes) {
        let printed = module.main().to_string();
        match parse(&printed) {
            Ok(again) => assert_eq!(again.main().to_string(), printed),
            Err(e) => panic!("what is printed cannot be read: {e}\n{printed}"),
        }
    }
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(program) = parse_expression(text, &|_| None)
    {
        let printed = program.to_string();
        match parse(&printed) {
            Ok(again) => assert_eq!(again.main().to_string(), printed),
            Err(e) => panic!("what is printed cannot be read: {e}\n{printed}"),
        }
    }
});
