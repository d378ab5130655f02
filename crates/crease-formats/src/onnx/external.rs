//! Weights that are not in the model file but beside it: what there is to read, and how it is read from the folder of the model and from nowhere else.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Data of a tensor that lies outside the model file. The location is relative and stays inside the folder as far as its text tells; who opens it
/// sees to links.
///
/// ```
/// use crease_formats::onnx::{External, Options};
/// let read = |e: &External| if e.location == "weights.bin" { Ok(vec![0; e.length]) } else { Err("no such file".into()) };
/// let options = Options { external: Some(&read), ..Options::default() };
/// assert!(options.external.is_some());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct External {
    /// The file, relative to the folder of the model, with `/` between its parts.
    pub location: String,
    /// The first byte.
    pub offset: u64,
    /// How many bytes.
    pub length: usize,
}

/// Reads what lies beside a model file, for [`Options::external`](super::Options::external). What leads out of its folder is refused. If the file is too short, so is
/// what was read, which the reader of the model says.
///
/// ```
/// use crease_formats::onnx::{External, read_beside};
/// let wanted = External { location: "../secret".into(), offset: 0, length: 4 };
/// assert!(read_beside("folder/net.onnx".as_ref(), &wanted).is_err());
/// ```
pub fn read_beside(model: &Path, e: &External) -> Result<Vec<u8>, String> {
    let folder = match model.parent() {
        Some(folder) if folder != Path::new("") => folder.to_path_buf(),
        _ => PathBuf::from("."),
    };
    let path = folder.join(&e.location);
    let shown = path.display();
    let unread = |why: std::io::Error| match why.kind() {
        ErrorKind::NotFound => format!("there is no file {shown}"),
        _ => format!("{shown}: {why}"),
    };
    let (inside, path) = (folder.canonicalize().map_err(unread)?, path.canonicalize().map_err(unread)?);
    if !path.starts_with(&inside) {
        return Err(format!("{shown} leads out of the folder of the model"));
    }
    if !path.is_file() {
        return Err(format!("{shown} is no file"));
    }
    let mut file = File::open(path).map_err(unread)?;
    file.seek(SeekFrom::Start(e.offset)).map_err(unread)?;
    let mut bytes = Vec::new();
    file.take(e.length as u64).read_to_end(&mut bytes).map_err(unread)?;
    Ok(bytes)
}
