//! `?` takes the errors of all rooms: this does not compile if [`Error`] lacks one that is named here, and fails if a room has one that is not.

use crease::Error;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Asserts of every type that it becomes an [`Error`]; what is left are their names.
macro_rules! taken {
    ($($($part:ident)::+),* $(,)?) => {{
        const fn taken<E: Into<Error>>() {}
        $(const _: () = taken::<$($part)::+>();)*
        [$(stringify!($($part)::+)),*]
    }};
}

fn names() -> BTreeSet<&'static str> {
    let paths = taken![
        crease::audit::AuditError,
        crease::check::CheckError,
        crease::dictionary::LowerError,
        crease::differentiate::SelectionError,
        crease::engine::EngineError,
        crease::formats::dimacs::LiteralError,
        crease::formats::onnx::WriteError,
        crease::formats::point::ListError,
        crease::formats::samples::SampleError,
        crease::formats::DimacsError,
        crease::formats::OnnxError,
        crease::formats::PointError,
        crease::formats::TextError,
        crease::inspect::InspectError,
        crease::inspect::ProofError,
        crease::limits::LimitError,
        crease::local::LocalError,
        crease::networks::NetworkError,
        crease::number::ParseRationalError,
        crease::oracles::AskError,
        crease::oracles::OracleError,
        crease::reductions::ReductionError,
        crease::BatchError,
        crease::BuildError,
        crease::CasesError,
        crease::DiffError,
        crease::InlineError,
        crease::NumberError,
        crease::OpError,
        crease::RunError,
        crease::ShapeError,
    ];
    paths.iter().filter_map(|path| path.split("::").last()).map(str::trim).collect()
}

/// The public types below a folder whose names end as those of errors do.
fn errors(at: &Path, out: &mut BTreeSet<String>) {
    if at.is_dir() {
        fs::read_dir(at).unwrap().for_each(|entry| errors(&entry.unwrap().path(), out));
    } else if at.extension().is_some_and(|e| e == "rs") {
        for line in fs::read_to_string(at).unwrap().lines() {
            let public = line.strip_prefix("pub enum ").or(line.strip_prefix("pub struct "));
            let name = public.and_then(|rest| rest.split([' ', '(', '<', ';']).next());
            out.extend(name.filter(|n| n.len() > "Error".len() && n.ends_with("Error")).map(str::to_string));
        }
    }
}

#[test]
fn the_errors_of_all_rooms_are_taken() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let taken = names();
    let mut found = BTreeSet::new();
    for room in ["number", "core", "check", "oracles", "engine", "formats"] {
        let sources = crates.join(format!("crease-{room}/src"));
        if !sources.is_dir() {
            return eprintln!("skipped: the sources of other crates are not here");
        }
        errors(&sources, &mut found);
    }
    errors(&crates.join("crease/src"), &mut found);
    let missing: Vec<_> = found.iter().filter(|name| !taken.contains(name.as_str())).collect();
    assert!(found.len() > 25 && missing.is_empty(), "crease::Error does not take {missing:?}");
}

#[test]
fn parts_of_errors_become_the_whole() {
    let limit = || -> Result<(), Error> { Ok(crease::Limits::default().set("bitz", 1)?) };
    assert!(matches!(limit(), Err(Error::Limit(_))));
    let lower = || -> Result<_, Error> {
        let p = crease::trace(1, |x| crease::exp(x[0]))?;
        Ok(crease::dictionary::lower(&p, crease::dictionary::Dictionary::D0)?)
    };
    assert!(matches!(lower(), Err(Error::Lower(_))));
    let number = || -> Result<crease::Rational, Error> { Ok("1/0".parse()?) };
    assert!(matches!(number(), Err(Error::Literal(_))));
}
