//! The tests of a file once more in processes of their own, on the instructions of lesser machines.

use std::process::Command;

/// Runs all tests of this file again, on AVX2 and on what every machine has.
pub fn again() {
    const VARIABLE: &str = "CREASE_INSTRUCTIONS";
    if std::env::var_os(VARIABLE).is_some() {
        return;
    }
    let tests = std::env::current_exe().unwrap();
    for lesser in ["avx2", "portable"] {
        let run = Command::new(&tests).env(VARIABLE, lesser).output().unwrap();
        assert!(run.status.success(), "{lesser}: {}", String::from_utf8_lossy(&run.stdout));
    }
}
