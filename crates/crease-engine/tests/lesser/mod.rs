//! The tests of a file once more in processes of their own, on the instructions of lesser machines.

use std::process::Command;

/// Runs all tests of this file again, on AVX2 where the machine has more, and on what every machine has.
pub fn again() {
    const VARIABLE: &str = "CREASE_INSTRUCTIONS";
    if std::env::var_os(VARIABLE).is_some() {
        return;
    }
    let tests = std::env::current_exe().unwrap();
    for lesser in lesser() {
        let run = Command::new(&tests).env(VARIABLE, lesser).output().unwrap();
        assert!(run.status.success(), "{lesser}: {}", String::from_utf8_lossy(&run.stdout));
    }
}

#[cfg(target_arch = "x86_64")]
fn lesser() -> &'static [&'static str] {
    if is_x86_feature_detected!("avx512f") { &["avx2", "portable"] } else { &["portable"] }
}

#[cfg(not(target_arch = "x86_64"))]
fn lesser() -> &'static [&'static str] {
    &[]
}
