//! Where what a command says goes: standard output, or a file. Nothing else in this crate writes either.
//!
//! Pieces of text enter. On standard output each appears at once. A file gets its name when it is whole: the pieces go into a
//! temporary file beside it, which then takes its place, so that whatever goes wrong, what was there before still is. Of a symbolic link
//! the target is replaced in this way, and the link stays. What is no file (devices, pipes, everything in /dev and /proc) is written to
//! where it is, and neither emptied nor removed. What the command itself has read is not overwritten.
//!
//! A reader that leaves, as `head` does, is [`Closed`]: an error, so that it ends the work, of which nobody is told.

use anyhow::{Context, Result, anyhow, bail};
use std::fs::{File, Metadata, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The most symbolic links that lead to a file one after the other.
const LINKS: usize = 40;

/// Nobody reads any more what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed;

impl std::fmt::Display for Closed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the reader of the output has left")
    }
}

impl std::error::Error for Closed {}

/// Standard output or a file that is being written.
pub struct Writer {
    /// What messages call it.
    name: String,
    place: Place,
    /// Open from the first piece on.
    open: Option<File>,
}

enum Place {
    Standard,
    /// Written to where it is.
    There(PathBuf),
    /// Replaced when it is whole.
    File {
        target: PathBuf,
        temporary: PathBuf,
    },
}

impl Writer {
    /// Standard output.
    pub fn standard() -> Self {
        Writer { name: "standard output".into(), place: Place::Standard, open: None }
    }

    /// The file of this name, if there is one.
    pub fn optional(path: Option<&Path>) -> Result<Option<Self>> {
        path.map(Writer::file).transpose()
    }

    /// The file of this name, untouched so far. What keeps it from being written is found now, before any work is done for it.
    pub fn file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let name = path.display().to_string();
        let told = || format!("{name} cannot be written");
        if let Some(open) = standard_stream(path) {
            return Ok(Writer::to(name, Place::There(path.into()), Some(open)));
        }
        let place = place(path).with_context(told)?;
        if let Place::File { target, temporary } = &place {
            if let Some(metadata) = existing(target)? {
                refuse_what_was_read(target, &name)?;
                if metadata.is_dir() {
                    bail!("{name} is a directory, not a file");
                }
                OpenOptions::new().write(true).open(target).with_context(told)?;
            }
            new_file(temporary).with_context(told)?;
            std::fs::remove_file(temporary).with_context(told)?;
        }
        Ok(Writer::to(name, place, None))
    }

    /// The file of this name, to which pieces are added as they come, after so many bytes of what it has; one that is not there is made. What was added stays, whatever goes wrong later.
    pub fn appending(path: &Path, after: usize) -> Result<Self> {
        let name = path.display().to_string();
        let told = || format!("{name} cannot be written");
        let file = OpenOptions::new().create(true).append(true).open(path).with_context(told)?;
        if file.metadata().with_context(told)?.is_file() {
            file.set_len(after as u64).with_context(told)?;
        }
        Ok(Writer::to(name, Place::There(path.into()), Some(file)))
    }

    fn to(name: String, place: Place, open: Option<File>) -> Self {
        FILES.fetch_add(1, Ordering::Relaxed);
        Writer { name, place, open }
    }

    /// Writes one more piece.
    pub fn put(&mut self, piece: impl AsRef<[u8]>) -> Result<()> {
        let piece = piece.as_ref();
        let done = match self.place {
            Place::Standard => {
                let mut out = std::io::stdout().lock();
                out.write_all(piece).and_then(|()| out.flush())
            }
            _ => self.opened().and_then(|mut file| file.write_all(piece)),
        };
        self.told(done)
    }

    /// Says that this was all. From now on a file has its name.
    pub fn finish(mut self) -> Result<()> {
        // what had no pieces is an empty file
        self.put("")?;
        if let (Place::File { target, temporary }, Some(file)) = (&self.place, &self.open) {
            // somebody may have read it, or made it, since
            refuse_what_was_read(target, &self.name)?;
            let placed = existing(target)?
                .map_or(Ok(()), |old| take_over(temporary, &old))
                .and_then(|()| file.sync_all())
                .and_then(|()| std::fs::rename(temporary, target));
            self.told(placed)?;
            self.place = Place::There(PathBuf::new());
        }
        Ok(())
    }

    /// Writes a text or bytes, and that was all.
    pub fn all(mut self, whole: impl AsRef<[u8]>) -> Result<()> {
        self.put(whole)?;
        self.finish()
    }

    fn opened(&mut self) -> std::io::Result<&File> {
        let file = match self.open.take() {
            Some(file) => file,
            None => match &self.place {
                Place::File { temporary, .. } => new_file(temporary)?,
                // appending empties nothing, and nothing new is made
                Place::There(path) => OpenOptions::new().append(true).open(path)?,
                Place::Standard => return Err(ErrorKind::Unsupported.into()),
            },
        };
        Ok(self.open.insert(file))
    }

    fn told<T>(&self, done: std::io::Result<T>) -> Result<T> {
        done.map_err(|e| match e.kind() {
            ErrorKind::BrokenPipe => Closed.into(),
            _ => anyhow!("{} cannot be written: {e}", self.name),
        })
    }
}

impl Drop for Writer {
    /// What is not whole goes away.
    fn drop(&mut self) {
        if let (Place::File { temporary, .. }, Some(_)) = (&self.place, self.open.take()) {
            let _ = std::fs::remove_file(temporary);
        }
        if !matches!(self.place, Place::Standard) {
            FILES.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// How many files are going to be written.
static FILES: AtomicUsize = AtomicUsize::new(0);

/// Whether files are going to be written, so that there is work to do even if nobody reads standard output.
pub fn files_are_due() -> bool {
    FILES.load(Ordering::Relaxed) > 0
}

/// What is known of a file, if there is one.
fn existing(path: &Path) -> Result<Option<Metadata>> {
    match std::fs::metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(anyhow!("{} cannot be written: {e}", path.display())),
    }
}

fn new_file(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Follows symbolic links to what is written.
fn place(path: &Path) -> Result<Place> {
    let mut at = path.to_path_buf();
    if path.to_string_lossy().ends_with(std::path::is_separator) {
        bail!("that names a directory");
    }
    for _ in 0..LINKS {
        let Some(name) = at.file_name() else { bail!("that names a directory") };
        let folder = at.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.canonicalize().with_context(|| format!("the folder {}", folder.display()))?;
        let here = folder.join(name);
        if folder == Path::new("/dev") || folder.starts_with("/proc") {
            return Ok(Place::There(here));
        }
        if let Ok(link) = here.read_link() {
            at = folder.join(link);
            continue;
        }
        if existing(&here)?.is_some_and(|m| !m.is_file() && !m.is_dir()) {
            return Ok(Place::There(here));
        }
        return Ok(Place::File { temporary: free_name(&folder)?, target: here });
    }
    bail!("more than {LINKS} symbolic links lead to it")
}

/// A name beside a file that no other file has; it is short, whatever that of the file is.
fn free_name(folder: &Path) -> Result<PathBuf> {
    let mut names = (0..1000).map(|n| folder.join(format!(".crease-{}-{n}.part", std::process::id())));
    names.find(|n| n.symlink_metadata().is_err()).context("too many unfinished files lie beside it")
}

/// The standard output or the standard error, if that is what a name stands for: to open it anew would be to begin it anew.
#[cfg(unix)]
fn standard_stream(path: &Path) -> Option<File> {
    use std::os::fd::AsFd;
    let wanted = Identity::of(path)?;
    let streams = [std::io::stdout().as_fd().try_clone_to_owned(), std::io::stderr().as_fd().try_clone_to_owned()];
    let mut streams = streams.into_iter().flatten().map(File::from);
    streams.find(|s| s.metadata().is_ok_and(|m| Identity::from(&m) == wanted))
}

#[cfg(not(unix))]
fn standard_stream(_: &Path) -> Option<File> {
    None
}

/// Gives a new file the permissions, and where that is allowed the owner, of the one whose place it takes.
fn take_over(new: &Path, old: &Metadata) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        // only root may give files away; without that the file is ours
        let _ = std::os::unix::fs::chown(new, Some(old.uid()), Some(old.gid()));
    }
    std::fs::set_permissions(new, old.permissions())
}

/// Which file it is, whatever its name.
#[derive(PartialEq, Eq)]
struct Identity(#[cfg(unix)] (u64, u64), #[cfg(not(unix))] PathBuf);

#[cfg(unix)]
impl From<&Metadata> for Identity {
    fn from(m: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Identity((m.dev(), m.ino()))
    }
}

impl Identity {
    fn of(path: &Path) -> Option<Self> {
        #[cfg(unix)]
        return std::fs::metadata(path).ok().map(|m| Identity::from(&m));
        #[cfg(not(unix))]
        return path.canonicalize().ok().map(Identity);
    }
}

/// The lines of a file that are whole; nothing if there is no such file. What follows the last end of a line was cut short.
pub fn whole_lines(path: &Path) -> Result<String> {
    let bytes = match std::fs::read(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(String::new()),
        read => read.with_context(|| format!("{} cannot be read", path.display()))?,
    };
    let end = bytes.iter().rposition(|&b| b == b'\n').map_or(0, |i| i + 1);
    // what is no text of ours is none that may be cut
    if end == 0 && !bytes.is_empty() && !bytes.starts_with(b"{\"audit\":") {
        bail!("{} is no file of findings; give another name", path.display());
    }
    String::from_utf8(bytes[..end].to_vec()).map_err(|_| anyhow!("{} is no file of findings", path.display()))
}

/// The files that this process has read.
static READ: Mutex<Vec<Identity>> = Mutex::new(Vec::new());

/// Notes that a file is read, so that it is not overwritten.
pub fn note_read(path: &Path) {
    if let (Some(identity), Ok(mut read)) = (Identity::of(path), READ.lock()) {
        read.push(identity);
    }
}

fn refuse_what_was_read(target: &Path, name: &str) -> Result<()> {
    let read = READ.lock().map_err(|_| anyhow!("{name} cannot be written: what was read is not known"))?;
    match Identity::of(target) {
        Some(identity) if read.contains(&identity) => {
            bail!("{name} cannot be written: it is what was read; give the output another name")
        }
        _ => Ok(()),
    }
}
