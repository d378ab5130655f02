//! Writes stress programs, their points and formulas to a folder: `cargo run -p crease-corpus --example stress -- FOLDER [FAMILY]`.
//!
//! `crease grad FOLDER/ties-100.crease --at FOLDER/ties-100.json --seconds 1` then asks about one of them.

use crease_corpus::stress::{FAMILIES, FORMULAS, Source};
use std::path::Path;

fn main() -> std::io::Result<()> {
    let mut args = std::env::args().skip(1);
    let folder = args.next().unwrap_or_else(|| "stress".into());
    let wanted = args.next().unwrap_or_default();
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    for family in FAMILIES.iter().filter(|f| f.name.contains(&wanted)) {
        for &n in family.sizes {
            let case = family.case(n);
            let path = |end: &str| folder.join(format!("{}-{n}.{end}", family.name));
            match &case.source {
                Source::Text(text) => std::fs::write(path("crease"), text)?,
                Source::Onnx(bytes) => std::fs::write(path("onnx"), bytes)?,
            }
            std::fs::write(path("json"), case.json())?;
            std::fs::write(path("along.json"), case.direction())?;
        }
    }
    for formula in FORMULAS.iter().filter(|f| f.name.contains(&wanted)) {
        for &n in formula.sizes {
            std::fs::write(folder.join(format!("{}-{n}.cnf", formula.name)), (formula.make)(n))?;
        }
    }
    Ok(())
}
