//! A file that appears under its name only when it is complete.
//!
//! On Linux it has no name until then, so nothing is left when the process is killed. Where the file system does not
//! allow that, it has a temporary name beside its target, `.atsdb-` and `.part`, and is locked while it is written. The
//! next file that is created in the folder removes abandoned ones, which nobody has locked.

use std::ffi::OsStr;
use std::fs::{DirEntry, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use tempfile::{Builder, TempPath};

const PREFIX: &str = ".atsdb-";
const SUFFIX: &str = ".part";

/// The number of random letters and digits between the prefix and the suffix.
const RANDOM_LENGTH: usize = 6;

/// A file that is being written. If it is dropped before it is [complete](Self::complete), nothing remains.
#[derive(Debug)]
pub struct UnfinishedFile {
    file: File,
    /// `None` if it has no name yet.
    temporary: Option<TempPath>,
    target: PathBuf,
}

impl UnfinishedFile {
    /// Creates a file that will have the name `target`. Its folder must exist.
    ///
    /// # Errors
    ///
    /// The error that the file system reports, without the temporary name, which the user does not know.
    pub fn create(target: PathBuf) -> io::Result<Self> {
        let folder = folder_of(&target);
        let (file, temporary) = match nameless::create(folder) {
            Some(file) => {
                // To replace another file, it gets a temporary name for a moment.
                let _ = file.try_lock();
                (file, None)
            }
            None => named(folder).map(|(file, path)| (file, Some(path)))?,
        };
        remove_abandoned(folder);
        Ok(Self { file, temporary, target })
    }

    /// The file, for writing.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The temporary name, if there is one.
    pub fn temporary_path(&self) -> Option<&Path> {
        self.temporary.as_deref()
    }

    /// The name that it will have.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Syncs the file and gives it its name. Another file of that name is replaced if `may_replace`.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if the name is taken and the file may not be replaced; otherwise what the file system reports.
    pub fn complete(self, may_replace: bool) -> io::Result<()> {
        self.file.sync_all()?;
        match self.temporary {
            Some(temporary) if may_replace => temporary.persist(&self.target).map_err(|error| error.error),
            Some(temporary) => temporary.persist_noclobber(&self.target).map_err(|error| error.error),
            None => link(&self.file, &self.target, may_replace),
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn builder() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX).rand_bytes(RANDOM_LENGTH);
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder
}

/// A file with a temporary name, locked.
fn named(folder: &Path) -> io::Result<(File, TempPath)> {
    loop {
        let (file, path) = builder().tempfile_in(folder).map_err(without_path)?.into_parts();
        if is_claimed(&file, &path) {
            return Ok((file, path));
        }
    }
}

/// Locks a file that was just created. Until then it looks abandoned: returns false if somebody has removed it, or
/// holds the lock to remove it.
fn is_claimed(file: &File, path: &Path) -> bool {
    match file.try_lock() {
        Ok(()) => path.exists(),
        Err(TryLockError::WouldBlock) => false,
        // Where files cannot be locked, nobody can lock this one to remove it.
        Err(TryLockError::Error(_)) => true,
    }
}

/// Gives a file without a name its name.
fn link(file: &File, target: &Path, may_replace: bool) -> io::Result<()> {
    match nameless::link(file, target) {
        Err(error) if may_replace && error.kind() == io::ErrorKind::AlreadyExists => {
            // Only a rename replaces a file.
            let link = |path: &Path| nameless::link(file, path);
            let linked = builder().make_in(folder_of(target), link).map_err(without_path)?;
            linked.into_temp_path().persist(target).map_err(|error| error.error)
        }
        linked => linked,
    }
}

/// Removes files of programs that were killed. A failure to remove one does not matter here.
fn remove_abandoned(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten().filter(|entry| is_temporary_name(&entry.file_name())) {
        let _ = remove_unlocked(&entry);
    }
}

fn is_temporary_name(name: &OsStr) -> bool {
    let random = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)).unwrap_or("");
    random.len() == RANDOM_LENGTH && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Removes a file if nobody has locked it. The lock is held meanwhile, so that its creator does not take it.
fn remove_unlocked(entry: &DirEntry) -> io::Result<()> {
    if entry.metadata()?.is_file() {
        let file = File::options().write(true).open(entry.path())?;
        if file.try_lock().is_ok() {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Removes the temporary name from an error.
fn without_path(error: io::Error) -> io::Error {
    let text = error.to_string();
    match text.split_once(" at path ") {
        Some((reason, _)) => io::Error::new(error.kind(), reason.to_owned()),
        None => error,
    }
}

/// Files that get their name at the end.
#[cfg(target_os = "linux")]
mod nameless {
    use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd;
    use std::path::{Path, PathBuf};

    /// Returns `None` if the file system, or the lack of `/proc`, does not allow it.
    pub(super) fn create(folder: &Path) -> Option<File> {
        let flags = OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC;
        let file = File::from(open(folder, flags, Mode::from_raw_mode(0o666)).ok()?);
        descriptor(&file).exists().then_some(file)
    }

    pub(super) fn link(file: &File, path: &Path) -> io::Result<()> {
        Ok(linkat(CWD, descriptor(file), CWD, path, AtFlags::SYMLINK_FOLLOW)?)
    }

    /// The path under which the system shows an open file.
    fn descriptor(file: &File) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
    }
}

/// Without nameless files: each file has a name.
#[cfg(not(target_os = "linux"))]
mod nameless {
    use std::fs::File;
    use std::io;
    use std::path::Path;

    pub(super) fn create(_: &Path) -> Option<File> {
        None
    }

    pub(super) fn link(_: &File, _: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Creates a file in both ways, regardless of the file system of the test.
    fn both(target: &Path) -> [UnfinishedFile; 2] {
        let (file, path) = named(folder_of(target)).unwrap();
        let named = UnfinishedFile { file, temporary: Some(path), target: target.to_owned() };
        [UnfinishedFile::create(target.to_owned()).unwrap(), named]
    }

    #[test]
    fn a_file_has_its_name_when_it_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("x.csv");
        for unfinished in both(&target) {
            unfinished.file().write_all(b"abc").unwrap();
            assert!(!target.exists());
            unfinished.complete(false).unwrap();
            assert_eq!(std::fs::read(&target).unwrap(), b"abc");
            std::fs::remove_file(&target).unwrap();
        }
        for unfinished in both(&target) {
            drop(unfinished);
        }
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    fn a_file_is_replaced_only_if_it_may_be() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("x.csv");
        std::fs::write(&target, "old").unwrap();
        for unfinished in both(&target) {
            unfinished.file().write_all(b"new").unwrap();
            assert_eq!(unfinished.complete(false).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(std::fs::read(&target).unwrap(), b"old");
        }
        for (index, unfinished) in both(&target).into_iter().enumerate() {
            unfinished.file().write_all(&[b'0', b'0' + u8::try_from(index).unwrap()]).unwrap();
            unfinished.complete(true).unwrap();
            assert_eq!(std::fs::read(&target).unwrap(), [b'0', b'0' + u8::try_from(index).unwrap()]);
        }
        assert_eq!(names(folder.path()), ["x.csv"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn nothing_is_in_the_folder_while_a_file_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let unfinished = UnfinishedFile::create(folder.path().join("x.csv")).unwrap();
        assert_eq!((unfinished.temporary_path(), names(folder.path()).len()), (None, 0));
    }

    #[test]
    fn a_file_that_a_killed_program_left_is_removed_and_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let create = |name: &str| File::create(folder.path().join(name)).unwrap();
        for name in [".atsdb-Killed.part", ".atsdb-notes-of-mine.part", "x.part"] {
            drop(create(name));
        }
        let written = create(".atsdb-Locked.part");
        written.lock().unwrap();
        UnfinishedFile::create(folder.path().join("x.csv")).unwrap().complete(false).unwrap();
        let left = [".atsdb-Locked.part", ".atsdb-notes-of-mine.part", "x.csv", "x.part"];
        assert_eq!(names(folder.path()), left);
    }

    #[test]
    fn a_file_that_others_are_about_to_remove_or_have_removed_is_not_claimed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".atsdb-Create.part");
        let created = File::create(&path).unwrap();
        let remover = File::open(&path).unwrap();
        remover.lock().unwrap();
        assert!(!is_claimed(&created, &path));
        std::fs::remove_file(&path).unwrap();
        drop(remover);
        assert!(!is_claimed(&created, &path));
        assert!(is_claimed(&File::create(&path).unwrap(), &path));
    }

    #[test]
    fn a_folder_that_does_not_exist_is_an_error_without_a_temporary_name() {
        let folder = tempfile::tempdir().unwrap();
        let error = UnfinishedFile::create(folder.path().join("missing/x.csv")).unwrap_err();
        assert!(error.kind() == io::ErrorKind::NotFound && !error.to_string().contains(SUFFIX), "{error}");
    }
}
