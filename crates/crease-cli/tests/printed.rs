//! Every command that is printed in the pages, the README files and the comments of the examples is run, in a copy of the examples, and ends. What is printed
//! below a command is what it prints.

mod tool;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a command of a page may take, on a slow machine in a build without optimisation.
const PATIENCE: Duration = Duration::from_secs(120);

/// A command as it is printed, and what is printed below it, if anything is.
struct Printed {
    page: String,
    line: usize,
    command: String,
    output: Option<String>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The files of a folder and those in it whose names end so.
fn files(folder: &Path, end: &str) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        match path.is_dir() {
            true if !path.ends_with("target") => all.extend(files(&path, end)),
            true => {}
            false => all.extend(Some(path).filter(|p| p.to_str().is_some_and(|p| p.ends_with(end)))),
        }
    }
    all.sort();
    all
}

/// The command on a line of a block; `cargo run` is one, too.
fn command(line: &str) -> Option<String> {
    let line = line.strip_prefix("$ ").unwrap_or(line);
    let line = line.replacen("cargo run --release -- ", "crease ", 1);
    line.starts_with("crease ").then(|| line.trim_end().to_string())
}

/// The commands of the fenced blocks of a page. In a block of `console` output stands below its command; the output of a block of `sh` that ends with one
/// command of ours is the block of `text` after it, if that follows.
fn of_page(page: &str, text: &str) -> Vec<Printed> {
    let mut all: Vec<Printed> = Vec::new();
    let mut block: Option<(&str, usize)> = None;
    for (i, line) in text.lines().enumerate() {
        if let Some(word) = line.strip_prefix("```") {
            block = match block {
                None => Some((word, all.len())),
                Some(_) => None,
            };
            continue;
        }
        let Some((word, before)) = block else { continue };
        match (word, command(line)) {
            ("sh" | "console" | "bash", Some(command)) => {
                all.push(Printed { page: page.into(), line: i + 1, command, output: None });
            }
            ("console", None) if all.len() > before && !line.starts_with("$ ") => {
                let last = all.last_mut().unwrap();
                last.output.get_or_insert_default().extend([line, "\n"]);
            }
            _ => {}
        }
    }
    all
}

/// The commands in the comments at the top of an example.
fn of_example(page: &str, text: &str) -> Vec<Printed> {
    let comments = text.lines().enumerate().take_while(|(_, l)| l.starts_with('#') || l.is_empty());
    let commands = comments.filter_map(|(i, l)| Some((i, command(l.strip_prefix('#')?.trim_start())?)));
    // what is said about a command stands after a gap
    let bare = |c: String| c.split_once("   ").map_or(c.clone(), |(c, _)| c.to_string());
    commands.map(|(i, c)| Printed { page: page.into(), line: i + 1, command: bare(c), output: None }).collect()
}

fn all() -> Vec<Printed> {
    let root = root();
    let name = |p: &Path| p.strip_prefix(&root).unwrap().display().to_string();
    let mut pages = vec![root.join("README.md"), root.join("examples/digits/README.md")];
    pages.extend(files(&root.join("docs"), ".md"));
    pages.extend(files(&root.join("crates"), "README.md").into_iter().filter(|p| !name(p).contains("/.")));
    let mut all: Vec<Printed> = pages.iter().flat_map(|p| of_page(&name(p), &fs::read_to_string(p).unwrap())).collect();
    for example in [".crease", ".cnf"].into_iter().flat_map(|end| files(&root.join("examples"), end)) {
        all.extend(of_example(&name(&example), &fs::read_to_string(&example).unwrap()));
    }
    // the first output of the README stands in a block of its own
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let output = readme.split("```text\n").nth(1).and_then(|t| t.split("```").next()).map(String::from);
    all[0].output = output;
    all
}

/// What the shell is given: what is said about a command after it is a comment there, too.
fn run(folder: &Path, command: &str) -> (Option<i32>, String, String, Duration) {
    let tool = Path::new(env!("CARGO_BIN_EXE_crease")).parent().unwrap().display().to_string();
    let path = format!("{tool}:{}", std::env::var("PATH").unwrap_or_default());
    let start = Instant::now();
    let (out, err) = (folder.join(".out"), folder.join(".err"));
    let mut child = Command::new("sh")
        .args(["-c", &format!("exec {command}")])
        .current_dir(folder)
        .env("PATH", path)
        .stdin(Stdio::null())
        .stdout(fs::File::create(&out).unwrap())
        .stderr(fs::File::create(&err).unwrap())
        .spawn()
        .unwrap();
    let code = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status.code(),
            None if start.elapsed() > PATIENCE => {
                child.kill().unwrap();
                child.wait().unwrap();
                break None;
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let text = |p: &Path| String::from_utf8_lossy(&fs::read(p).unwrap()).into_owned();
    (code, text(&out), text(&err), start.elapsed())
}

/// A picture of four grey pixels in PNG, its data stored and not packed.
fn picture(pixels: [u8; 4]) -> Vec<u8> {
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut chunk = |kind: &[u8], data: &[u8]| {
        png.extend((data.len() as u32).to_be_bytes());
        png.extend(kind);
        png.extend(data);
        // checksums of chunks are not compared
        png.extend([0; 4]);
    };
    chunk(b"IHDR", &[0, 0, 0, 2, 0, 0, 0, 2, 8, 0, 0, 0, 0]);
    let rows = [0, pixels[0], pixels[1], 0, pixels[2], pixels[3]];
    let (a, b) =
        rows.iter().fold((1u32, 0u32), |(a, b), &x| ((a + u32::from(x)) % 65521, (a + b + u32::from(x)) % 65521));
    let mut data = vec![0x78, 1, 1, 6, 0, !6, 0xff];
    data.extend(rows);
    data.extend((b << 16 | a).to_be_bytes());
    chunk(b"IDAT", &data);
    chunk(b"IEND", &[]);
    png
}

/// A ZIP archive of one stored file.
fn archive(name: &str, data: &[u8]) -> Vec<u8> {
    let checksum = !data.iter().fold(!0u32, |c, &byte| {
        (0..8).fold(c ^ u32::from(byte), |c, _| if c & 1 == 1 { c >> 1 ^ 0xedb8_8320 } else { c >> 1 })
    });
    let (size, length) = ((data.len() as u32).to_le_bytes(), (name.len() as u16).to_le_bytes());
    let facts =
        [&[20, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &checksum.to_le_bytes(), &size, &size, &length, &[0, 0]].concat();
    let mut zip = [b"PK\x03\x04", &facts[..], name.as_bytes(), data].concat();
    let start = zip.len() as u32;
    let entry = [b"PK\x01\x02\x14\x00", &facts[..], &[0; 14][..], name.as_bytes()].concat();
    zip.extend(&entry);
    let end = [&(entry.len() as u32).to_le_bytes()[..], &start.to_le_bytes(), &[0, 0]].concat();
    zip.extend([b"PK\x05\x06\x00\x00\x00\x00\x01\x00\x01\x00", &end[..]].concat());
    zip
}

/// A copy of the examples, with the files that the pages speak of and the repository does not have.
fn folder() -> PathBuf {
    use crease_formats::onnx::messages::*;
    use prost::Message;
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("printed");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("digits")).unwrap();
    for path in files(&root().join("examples"), "") {
        let to = folder.join(path.strip_prefix(root()).unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(&path, to).unwrap();
    }
    fs::copy(folder.join("examples/lasso.crease"), folder.join("lasso.crease")).unwrap();
    let net = "program net(image[1, 2, 2]) {
      let v = reshape(image, [4])
      return relu([[1, -1, 0, 0], [0, 1, -1, 0], [0, 0, 1, -1], [1, 1, 1, 1]] @ v - [0, 0, 0, 1])
    }";
    fs::write(folder.join("net.crease"), net).unwrap();
    let (code, _, said, _) = run(&folder, "crease export net.crease -o net.onnx");
    assert_eq!(code, Some(0), "{said}");
    let numbers = tool::npy("(2, 1, 2, 2)", &[0.5, 0.5, 0.0, 0.25, 1.0, 0.0, 0.0, 0.0]);
    let one = tool::npy("(1, 2, 2)", &[0.5, 0.5, 0.0, 0.25]);
    fs::write(folder.join("image.npz"), archive("image.npy", &one)).unwrap();
    fs::write(folder.join("image.npy"), one).unwrap();
    fs::write(folder.join("image.json"), r#"{"image": [[[0.5, 0.5], [0, 0.25]]]}"#).unwrap();
    fs::write(folder.join("images.npy"), numbers).unwrap();
    fs::write(folder.join("images.csv"), "3,128,128,0,64\n0,255,0,0,0\n").unwrap();
    fs::write(folder.join("digits/0.png"), picture([128, 128, 0, 64])).unwrap();
    fs::write(folder.join("digits/1.png"), picture([255, 0, 0, 0])).unwrap();
    fs::write(folder.join("labels.txt"), "3\n0\n").unwrap();
    // tokens choose rows of an embedding
    let axis = |n| DimensionProto { dim_value: Some(n), dim_param: None };
    let port = |name: &str, of: i32, dims: &[i64]| {
        let shape = TensorShapeProto { dim: dims.iter().map(|&n| axis(n)).collect() };
        let tensor = TensorTypeProto { elem_type: Some(of), shape: Some(shape) };
        ValueInfoProto { name: Some(name.into()), r#type: Some(TypeProto { tensor_type: Some(tensor) }) }
    };
    let node = |op: &str, input: &[&str], output: &str| NodeProto {
        input: input.iter().map(|n| n.to_string()).collect(),
        output: vec![output.into()],
        op_type: Some(op.into()),
        ..Default::default()
    };
    let table = TensorProto {
        name: Some("embedding".into()),
        dims: vec![5, 4],
        data_type: Some(1),
        float_data: (0..20).map(|i| i as f32 / 8.0 - 1.0).collect(),
        ..Default::default()
    };
    let graph = GraphProto {
        node: vec![node("Gather", &["embedding", "tokens"], "e"), node("Relu", &["e"], "scores")],
        input: vec![port("tokens", 7, &[2])],
        output: vec![port("scores", 1, &[2, 4])],
        initializer: vec![table],
        ..Default::default()
    };
    let opset = OperatorSetIdProto { domain: None, version: Some(17) };
    let gpt = ModelProto { ir_version: Some(8), graph: Some(graph), opset_import: vec![opset], ..Default::default() };
    fs::write(folder.join("gpt.onnx"), gpt.encode_to_vec()).unwrap();
    fs::write(folder.join("tokens.json"), r#"{"tokens": [3, 1]}"#).unwrap();
    folder
}

/// Lines without what is blank at their ends.
fn trimmed(text: &str) -> String {
    text.trim_end().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

#[test]
#[cfg(unix)]
fn every_command_that_is_printed_ends_as_printed() {
    let all = all();
    assert!(all.len() > 45, "only {} commands were found", all.len());
    for page in
        ["README.md", "docs/onnx.md", "docs/audit.md", "docs/ties.md", "examples/gru.crease", "examples/camera.crease"]
    {
        assert!(all.iter().any(|p| p.page == page), "no command of {page}");
    }
    assert!(all[0].output.is_some());
    let folder = folder();
    let mut faults = Vec::new();
    for Printed { page, line, command, output } in &all {
        let bare = command.split(" #").next().unwrap_or(command).trim();
        let (code, out, err, time) = run(&folder, command);
        // satisfiable or not is in the exit code
        let fine = if bare.starts_with("crease sat") { matches!(code, Some(10 | 20)) } else { code == Some(0) };
        if !fine || !err.is_empty() {
            faults.push(format!("{page}:{line}: {command}\n{code:?} after {time:.1?}: {err}"));
        } else if let Some(output) = output
            && trimmed(&out) != trimmed(output)
        {
            faults.push(format!("{page}:{line}: {command}\nprints\n{out}instead of\n{output}"));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
    // what is left out is printed somewhere
}
