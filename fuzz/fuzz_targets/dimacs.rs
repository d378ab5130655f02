//! DIMACS: no bytes make the reader panic, and a formula that it reads it prints so that it reads the same again.
#![no_main]

use crease_formats::parse_dimacs;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| match parse_dimacs(bytes) {
    Ok(formula) => {
        formula.verify().expect("its literals are its own");
        let printed = formula.to_string();
        assert_eq!(parse_dimacs(printed.as_bytes()).as_ref(), Ok(&formula), "{printed}");
    }
    Err(e) => {
        // the message that the tool would show
        let (error, text) = e.as_text(bytes);
        let _ = (error.to_string(), text.len());
    }
});
