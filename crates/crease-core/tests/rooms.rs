//! Rooms use what ARCHITECTURE.md says they may use, and no others: crates by their manifests, rooms of crease-core by their sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

type Graph = BTreeMap<String, BTreeSet<String>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The table under a heading of ARCHITECTURE.md: in each line a name, and in the last column the names that it may use.
fn table(heading: &str) -> Graph {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let section = text.split(&format!("### {heading}\n")).nth(1).expect("the heading is there");
    let names = |cell: &str| -> BTreeSet<String> { cell.split('`').skip(1).step_by(2).map(str::to_string).collect() };
    let lines = section.lines().skip_while(|l| !l.starts_with('|')).take_while(|l| l.starts_with('|')).skip(2);
    let mut out = Graph::new();
    for line in lines {
        let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
        let used = names(cells[cells.len() - 1]);
        for name in names(cells[0]) {
            assert!(out.insert(name, used.clone()).is_none(), "{line}");
        }
    }
    out
}

/// What stands in `allowed` without being used, or the other way round.
fn compare(used: &Graph, allowed: &Graph) {
    let nothing = BTreeSet::new();
    for (name, uses) in used {
        let may = allowed.get(name).unwrap_or_else(|| panic!("ARCHITECTURE.md does not know `{name}`"));
        let too_many: Vec<_> = uses.difference(may).collect();
        assert!(too_many.is_empty(), "`{name}` uses {too_many:?}, which ARCHITECTURE.md does not allow");
    }
    for (name, may) in allowed {
        let uses = used.get(name).unwrap_or(&nothing);
        let unused: Vec<_> = may.difference(uses).collect();
        assert!(unused.is_empty(), "`{name}` does not use {unused:?}: take it out of ARCHITECTURE.md");
    }
}

/// Whether nothing uses itself by way of others.
fn has_no_cycle(graph: &Graph) {
    let mut done: BTreeSet<&str> = BTreeSet::new();
    while done.len() < graph.len() {
        let free = |(name, uses): &(&String, &BTreeSet<String>)| {
            !done.contains(name.as_str()) && uses.iter().all(|u| done.contains(u.as_str()) || !graph.contains_key(u))
        };
        let next: Vec<&str> = graph.iter().filter(free).map(|(name, _)| name.as_str()).collect();
        let open: Vec<_> = graph.keys().filter(|n| !done.contains(n.as_str())).collect();
        assert!(!next.is_empty(), "a cycle among {open:?}");
        done.extend(next);
    }
}

#[test]
fn crates_use_what_they_may() {
    let mut used = Graph::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        let manifest = fs::read_to_string(path.join("Cargo.toml")).unwrap();
        let section = manifest.split("\n[dependencies]\n").nth(1).unwrap_or("").split("\n[").next().unwrap_or("");
        let uses = section.lines().filter(|l| l.starts_with("crease"));
        let uses = uses.map(|l| l.split([' ', '.', '=']).next().unwrap().to_string()).collect();
        used.insert(name, uses);
    }
    assert!(used.len() > 10);
    compare(&used, &table("Crates"));
    has_no_cycle(&used);
}

fn sources(at: &Path, out: &mut Vec<PathBuf>) {
    if at.is_dir() {
        fs::read_dir(at).unwrap().for_each(|e| sources(&e.unwrap().path(), out));
    } else if at.extension().is_some_and(|e| e == "rs") && !at.ends_with("tests.rs") {
        out.push(at.to_path_buf());
    }
}

/// The words after `crate::` in a source, those of a list one by one; comments and tests left out.
fn mentioned(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]").next().unwrap();
    let code: String = code.lines().filter(|l| !l.trim_start().starts_with("//")).map(|l| format!("{l}\n")).collect();
    let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut out = Vec::new();
    for after in code.split("crate::").skip(1) {
        match after.strip_prefix('{') {
            Some(list) => {
                let list = list.split("};").next().unwrap();
                out.extend(list.split(',').map(|part| word(part.trim())));
            }
            None => out.push(word(after)),
        }
    }
    out
}

#[test]
fn rooms_of_core_use_what_they_may() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let lib = fs::read_to_string(src.join("lib.rs")).unwrap();
    // names at the root of the crate, and the rooms they come from
    let mut home: BTreeMap<String, String> = BTreeMap::new();
    home.insert("number".into(), "number".into());
    for line in lib.replace('\n', " ").split("pub use ").skip(1) {
        let Some((room, names)) = line.split_once("::") else { continue };
        let names = names.split(';').next().unwrap();
        for name in names.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|n| !n.is_empty()) {
            home.insert(name.into(), room.into());
        }
    }
    let mut used = Graph::new();
    for entry in fs::read_dir(&src).unwrap() {
        let path = entry.unwrap().path();
        let room = path.file_stem().unwrap().to_str().unwrap().to_string();
        if room != "lib" {
            used.insert(room, BTreeSet::new());
        }
    }
    let rooms: BTreeSet<String> = used.keys().cloned().collect();
    for (room, uses) in &mut used {
        let (folder, file) = (src.join(room), src.join(format!("{room}.rs")));
        let mut files = Vec::new();
        sources(if folder.is_dir() { &folder } else { &file }, &mut files);
        for file in files {
            for name in mentioned(&fs::read_to_string(file).unwrap()) {
                let other = if rooms.contains(&name) { Some(&name) } else { home.get(&name) };
                uses.extend(other.filter(|o| *o != room).cloned());
            }
        }
    }
    assert!(used["local"].contains("differentiate") && used.len() > 12);
    compare(&used, &table("Rooms of crease-core"));
    has_no_cycle(&used);
}
