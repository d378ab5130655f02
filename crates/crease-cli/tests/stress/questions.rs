//! Every command of the tool, in the ways in which it may take long.

use crate::tool::crease;
use crease_corpus::stress::{Case, Family, Formula, Source};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};

/// Questions about a program: `PROGRAM`, `AT` and so on are replaced by files and texts of the case.
pub const OF_PROGRAMS: &[&str] = &[
    "eval PROGRAM --at AT",
    "eval PROGRAM --at AT --exact",
    "eval PROGRAM --at AT --float",
    "eval PROGRAM --points POINTS",
    "grad PROGRAM --at AT",
    "grad PROGRAM --at AT --float",
    "grad PROGRAM --at AT --exact",
    "grad PROGRAM --at AT --json --report",
    "grad PROGRAM --at AT --mode forward",
    "grad PROGRAM --at AT --jacobian",
    "grad PROGRAM --at AT --technique backward",
    "grad PROGRAM --points POINTS --json",
    "directional PROGRAM --at AT --along ALONG",
    "directional PROGRAM --at AT --along ALONG --float",
    "directional PROGRAM --at AT --show",
    "lexicographic PROGRAM --at AT",
    "lexicographic PROGRAM --at AT --forward --trace",
    "clarke PROGRAM --at AT",
    "clarke PROGRAM --at AT --all",
    "clarke PROGRAM --at AT --all --stationary --contains ONES --json",
    "clarke PROGRAM --at AT --all --stream",
    "conservative PROGRAM --at AT",
    "conservative PROGRAM --at AT --contains ONES --json",
    "differentiable PROGRAM --at AT",
    "differentiable PROGRAM --at AT --certificate OUT.cert --json",
    "check CERTIFICATE PROGRAM --at AT",
    "audit PROGRAM --inputs TABLE",
    "cost PROGRAM",
    "cost PROGRAM --dictionary D0 --technique backward --json",
    "show PROGRAM",
    "show PROGRAM --derive backprop --inline --simplify",
    "show PROGRAM --derive hessian --scalarize",
    "show PROGRAM --lower D0 --json",
    "simplify PROGRAM",
    "draw PROGRAM --format svg --max-nodes 1000000 --nested",
    "draw PROGRAM --inline --max-nodes 1000000",
    "export PROGRAM -o OUT.onnx",
    "export PROGRAM -o OUT.onnx --value-and-grad --dtype f64",
    "export PROGRAM -o OUT.onnx --directional 1",
    "bench PROGRAM --at AT",
];

/// Questions about a formula.
pub const OF_FORMULAS: &[&str] = &[
    "sat FORMULA",
    "sat FORMULA --form network",
    "sat FORMULA --certificate OUT.cert --json",
    "reduce FORMULA",
    "reduce FORMULA --form network --json",
];

/// Questions about nothing.
pub const OF_NOTHING: &[&str] =
    &["table 1", "table 2", "table 3 --n 10", "table 3 --n 1000", "table 3 --n 10000", "paper", "paper --json"];

/// What limits a command by time: nothing if it has no such flag.
pub fn limited(command: &str, seconds: f64) -> Option<Vec<String>> {
    let has = |flag: &str| help(command).split_whitespace().any(|word| word == flag);
    let seconds = seconds.to_string();
    match command {
        "bench" if has("--duration") => Some(vec!["--duration".into(), "0.1".into(), "--seconds".into(), seconds]),
        // it used to be how long to measure
        "bench" => None,
        _ => has("--seconds").then(|| vec!["--seconds".into(), seconds]),
    }
}

/// The help of a command, asked for once.
fn help(command: &str) -> String {
    static KNOWN: LazyLock<Mutex<HashMap<String, String>>> = LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock().expect("nobody panics here");
    let ask = || {
        let output = tool(&[command, "--help"]).output().expect("the tool starts");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    known.entry(command.into()).or_insert_with(ask).clone()
}

/// The tool that is asked: the one of this build, or that of `CREASE_BIN`.
pub fn tool(args: &[&str]) -> std::process::Command {
    let mut command = crease(args);
    if let Some(other) = std::env::var_os("CREASE_BIN") {
        command = std::process::Command::new(other);
        command.args(args).stdin(std::process::Stdio::null());
    }
    command
}

/// The files of a case.
pub struct Files {
    folder: PathBuf,
    words: Vec<(&'static str, String)>,
    written: Vec<PathBuf>,
}

impl Files {
    fn new(folder: &Path) -> Files {
        std::fs::create_dir_all(folder).expect("there is room for a folder");
        Files { folder: folder.into(), words: Vec::new(), written: Vec::new() }
    }

    fn file(&mut self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.folder.join(name);
        std::fs::write(&path, bytes).expect("there is room for a file");
        self.written.push(path.clone());
        path.to_str().expect("paths are UTF-8").into()
    }

    /// Of a program.
    pub fn of_program(folder: &Path, family: &Family, n: usize) -> Files {
        let case: Case = family.case(n);
        let mut files = Files::new(folder);
        let name = |end: &str| format!("{}-{n}.{end}", family.name);
        let program = match &case.source {
            Source::Text(text) => files.file(&name("crease"), text),
            Source::Onnx(bytes) => files.file(&name("onnx"), bytes),
        };
        let at = if case.is_short() { case.point() } else { files.file(&name("point.json"), case.json()) };
        let along = files.file(&name("along.json"), case.direction());
        let points = files.file(&name("points.json"), format!("[{0}, {0}]", case.json()));
        let table = files.file(&name("csv"), case.line() + "\n");
        let certificate = files.certificate();
        files.words = vec![
            ("PROGRAM", program),
            ("AT", at),
            ("ALONG", along),
            ("POINTS", points),
            ("TABLE", table),
            ("CERTIFICATE", certificate),
        ];
        if case.is_short() {
            let ones = case.inputs.iter().map(|i| crease_corpus::stress::Input { value: "1".into(), ..i.clone() });
            files.words.push(("ONES", Case { inputs: ones.collect(), ..case.clone() }.point()));
        }
        files
    }

    /// Of a formula.
    pub fn of_formula(folder: &Path, formula: &Formula, n: usize) -> Files {
        let mut files = Files::new(folder);
        let path = files.file(&format!("{}-{n}.cnf", formula.name), (formula.make)(n));
        files.words = vec![("FORMULA", path)];
        files
    }

    /// Of nothing.
    pub fn of_nothing(folder: &Path) -> Files {
        Files::new(folder)
    }

    /// A certificate about another program.
    fn certificate(&self) -> String {
        static WRITTEN: Mutex<()> = Mutex::new(());
        let _one_at_a_time = WRITTEN.lock();
        let path = self.folder.join("identity.cert");
        let path = path.to_str().expect("paths are UTF-8").to_string();
        if !Path::new(&path).exists() {
            let args = ["differentiable", "-e", "relu(x) - relu(-x)", "--at", "x=0", "--certificate", &path];
            assert!(tool(&args).output().expect("the tool starts").status.success());
        }
        path
    }

    /// The words of a question, unless it needs what the case does not have.
    pub fn words(&self, question: &str, distinct: usize) -> Option<Vec<String>> {
        let word = |word: &str| {
            let known = self.words.iter().find(|(name, _)| *name == word);
            match (known, word.strip_prefix("OUT.")) {
                (Some((_, text)), _) => Some(text.clone()),
                (None, Some(end)) => Some(format!("{}/out-{distinct}.{end}", self.folder.display())),
                (None, None) if word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase()) => None,
                (None, None) => Some(word.into()),
            }
        };
        question.split_whitespace().map(word).collect()
    }

    /// Removes them.
    pub fn remove(self) {
        for path in self.written {
            let _ = std::fs::remove_file(path);
        }
    }
}
