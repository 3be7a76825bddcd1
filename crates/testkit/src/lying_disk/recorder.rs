//! Records the file operations of a program, and makes its calls fail.

use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = include_str!("recorder.c");

/// The library that intercepts a program's calls of libc.
#[derive(Debug)]
pub struct Recorder(PathBuf);

/// Calls that fail. Kinds are letters: `o` open, `w` write, `t` truncate, `s` sync, `u` unlink, `m` mkdir, `n` link,
/// `r` read, `l` lock, `p` mmap, `i` fstat.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    /// The kinds of calls that are counted, and may fail.
    pub kinds: &'static str,
    /// The first call that fails, counted from 1.
    pub first: u64,
    /// The number of calls that fail.
    pub count: u64,
    /// The system's error number; 0 kills the process instead; -1 makes reads and writes process only half of the
    /// requested bytes.
    pub error: i32,
}

impl Recorder {
    /// Compiles it into a folder. `None`, with a message on stderr, if there is no C compiler or the system does not
    /// preload libraries.
    pub fn build(folder: &Path) -> Option<Self> {
        let (source, library) = (folder.join("recorder.c"), folder.join("recorder.so"));
        std::fs::write(&source, SOURCE).expect("a file can be written");
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-shared", "-fPIC", "-o"]).arg(&library).arg(&source).arg("-ldl");
        let is_built = cfg!(target_os = "linux") && compiler.status().is_ok_and(|status| status.success());
        if !is_built {
            crate::skipped("the recorder of system calls cannot be built: it needs Linux and a C compiler");
        }
        is_built.then_some(Self(library))
    }

    /// Sets up recording for a command that is not started yet: all its file operations below `root` are appended to
    /// `log`.
    pub fn watch(&self, command: &mut Command, root: &Path, log: &Path, fault: Option<Fault>) {
        command.env("LD_PRELOAD", &self.0).env("ATSDB_DISK_ROOT", root).env("ATSDB_DISK_LOG", log);
        if let Some(Fault { kinds, first, count, error }) = fault {
            command.env("ATSDB_DISK_FAIL", format!("{kinds}:{first}:{count}:{error}"));
        }
    }
}

/// A call that was made, or that failed on purpose. Files are identified by their inodes, because a name may pass to
/// another file.
#[derive(Debug, Clone)]
#[expect(missing_docs, reason = "the fields are what they are called")]
pub enum Event {
    /// A file was created.
    Created { path: PathBuf, inode: u64 },
    /// Bytes were written.
    Written { inode: u64, offset: u64, bytes: Vec<u8> },
    /// A file's length was changed.
    Truncated { inode: u64, length: u64 },
    /// A file or folder was synced.
    Synced { path: PathBuf, inode: u64 },
    /// A sync failed.
    SyncFailed { path: PathBuf, inode: u64 },
    /// A name was removed.
    Removed { path: PathBuf },
    /// A folder was created.
    FolderMade { path: PathBuf },
    /// A file was renamed.
    Renamed { from: PathBuf, to: PathBuf },
    /// A file got an additional name.
    Linked { from: PathBuf, to: PathBuf },
    /// An acknowledgement, which the program wrote to a file whose name ends in `.ack`.
    Mark(String),
    /// A call failed on purpose.
    Failed { path: PathBuf, kind: char },
}

/// Reads the recorded operations.
pub fn read_log(log: &Path) -> Vec<Event> {
    let bytes = std::fs::read(log).unwrap_or_default();
    let mut rest = bytes.as_slice();
    let mut events = Vec::new();
    // A killed process may leave half of a record.
    while let Some(event) = next(&mut rest) {
        events.push(event);
    }
    events
}

fn next(rest: &mut &[u8]) -> Option<Event> {
    let (head, after) = rest.split_at_checked(32)?;
    let number = |at: usize| u64::from_ne_bytes(head[at..at + 8].try_into().expect("8 bytes"));
    let path_bytes = u32::from_ne_bytes(head[4..8].try_into().expect("4 bytes")) as usize;
    let (path, after) = after.split_at_checked(path_bytes)?;
    let (data, after) = after.split_at_checked(number(24) as usize)?;
    let path = PathBuf::from(String::from_utf8_lossy(path).into_owned());
    let (inode, offset) = (number(8), number(16));
    let text = || String::from_utf8_lossy(data).into_owned();
    let event = match head[0] {
        b'C' => Event::Created { path, inode },
        b'W' => Event::Written { inode, offset, bytes: data.to_vec() },
        b'T' => Event::Truncated { inode, length: offset },
        b'S' => Event::Synced { path, inode },
        b'X' => Event::SyncFailed { path, inode },
        b'U' => Event::Removed { path },
        b'M' => Event::FolderMade { path },
        b'R' => Event::Renamed { from: path, to: PathBuf::from(text()) },
        b'L' => Event::Linked { from: path, to: PathBuf::from(text()) },
        b'A' => Event::Mark(text()),
        b'F' => Event::Failed { path, kind: char::from(offset as u8) },
        other => panic!("a record of an unknown kind: {other}"),
    };
    *rest = after;
    Some(event)
}
