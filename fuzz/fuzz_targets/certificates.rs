//! Certificates: no bytes make the checker panic, and what it accepts is true, as brute force sees it.
#![no_main]

#[path = "../../crates/crease-cli/tests/fan/mod.rs"]
mod fan;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(checked) = crease_check::check(bytes) {
        let text = std::str::from_utf8(bytes).expect("what is accepted is text");
        let (holds, how) = fan::judge(text, &checked.claim);
        assert!(holds, "accepted, but not true ({how:?}): {:?}", checked.claim);
    }
});
