//! A temporary file.

use crate::positions::{read_at, read_exact_at, write_all_at};
use crate::space::{TakenSpace, TemporarySpace};
use atsdb_core::{Error, ErrorKind, Result};
use parking_lot::Mutex;
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

/// A file without a name, which is written at its end and may be read meanwhile. Its bytes count against a space until
/// the file is dropped.
#[derive(Debug)]
pub struct TemporaryFile {
    file: File,
    /// The space of the written bytes.
    taken: Mutex<TakenSpace>,
}

impl TemporaryFile {
    /// Creates an empty file.
    ///
    /// # Errors
    ///
    /// `Unavailable` if the folder of the space does not permit it, `Resources` if the disk is full.
    pub fn new(space: &Arc<TemporarySpace>) -> Result<Self> {
        Ok(Self { file: space.create()?, taken: Mutex::new(TakenSpace::new(space)) })
    }

    /// The number of bytes that were written.
    pub fn byte_count(&self) -> u64 {
        self.taken.lock().byte_count()
    }

    /// Writes bytes at the end.
    ///
    /// # Errors
    ///
    /// `Resources` if the space is used up or the disk is full, `Unavailable` for other failures of the file system.
    /// The file then is as before.
    pub fn append(&self, bytes: &[u8]) -> Result<()> {
        let byte_count = bytes.len() as u64;
        let mut taken = self.taken.lock();
        let end = taken.byte_count();
        taken.take(byte_count)?;
        write_all_at(&self.file, bytes, end).map_err(|error| {
            taken.give_back(byte_count);
            taken.space().failed("write", error)
        })
    }

    /// Returns up to `byte_count` bytes from a position on. There are none at the end.
    ///
    /// # Errors
    ///
    /// `Unavailable` if the file system fails.
    pub fn piece(&self, position: u64, byte_count_max: u64) -> Result<Vec<u8>> {
        let byte_count = self.byte_count().saturating_sub(position).min(byte_count_max);
        let mut piece = vec![0; usize::try_from(byte_count).unwrap_or(usize::MAX)];
        let read = read_exact_at(&self.file, &mut piece, position);
        read.map(|()| piece).map_err(|error| self.taken.lock().space().failed("read", error))
    }

    /// Reads bytes from a position on; 0 at the end. The remains of a failed [`append`](Self::append) are not read.
    pub(crate) fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let left = usize::try_from(self.byte_count().saturating_sub(position)).unwrap_or(usize::MAX);
        let wanted = buffer.len().min(left);
        read_at(&self.file, &mut buffer[..wanted], position)
    }
}

/// Writes at the end. An error of this project is in the error of the writer.
impl Write for TemporaryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.append(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The error for a failed copy of `name` in a temporary file. An error of this project, such as one of
/// [`TemporaryFile`], keeps its kind and its hint. Others are errors of the copied source.
pub fn cannot_copy(name: &str, error: io::Error) -> Error {
    let what = format!("cannot copy {name} to a temporary file");
    match error.downcast::<Error>() {
        Ok(error) => error.context(what),
        Err(error) => Error::new(ErrorKind::Unavailable, format!("{what}: {error}")).with_source(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::PositionedFile;
    use std::io::{Read, Seek, SeekFrom};
    use std::path::Path;

    fn space(folder: &Path, bytes_max: Option<u64>) -> Arc<TemporarySpace> {
        Arc::new(TemporarySpace::new(folder.to_owned(), bytes_max))
    }

    #[test]
    fn a_file_is_read_while_it_is_written_and_has_no_name() {
        let folder = tempfile::tempdir().unwrap();
        let space = space(folder.path(), None);
        let file = Arc::new(TemporaryFile::new(&space).unwrap());
        file.append(b"abc").unwrap();
        let reader = || PositionedFile::from(Arc::clone(&file));
        let (mut first, mut second) = (reader(), reader());
        let mut two = [0; 2];
        first.read_exact(&mut two).unwrap();
        assert_eq!(&two, b"ab");
        second.seek(SeekFrom::End(-2)).unwrap();
        second.read_exact(&mut two).unwrap();
        assert_eq!(&two, b"bc");
        file.append(b"de").unwrap();
        let mut rest = String::new();
        first.read_to_string(&mut rest).unwrap();
        assert_eq!((rest.as_str(), file.piece(1, 2).unwrap().as_slice()), ("cde", &b"bc"[..]));
        assert!(second.read_exact_at(&mut two, 4).is_err() && file.piece(5, 9).unwrap().is_empty());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        drop((first, file));
        assert_eq!(space.used_bytes(), 5, "a reader keeps the file");
        drop(second);
        assert_eq!(space.used_bytes(), 0);
    }

    #[test]
    fn all_files_together_are_limited() {
        let folder = tempfile::tempdir().unwrap();
        let space = space(folder.path(), Some(1_000));
        let (first, second) = (TemporaryFile::new(&space).unwrap(), TemporaryFile::new(&space).unwrap());
        first.append(&[0; 600]).unwrap();
        second.append(&[0; 400]).unwrap();
        let error = second.append(&[0]).unwrap_err();
        assert_eq!((error.kind(), second.byte_count()), (ErrorKind::Resources, 400));
        assert!(error.message().ends_with(": 1000 bytes") && error.hint().unwrap().contains("--temp"), "{error}");
        drop(first);
        second.append(&[0; 600]).unwrap();
    }

    #[test]
    fn a_failed_copy_says_what_was_copied_and_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = TemporaryFile::new(&space(folder.path(), Some(2))).unwrap();
        let error = cannot_copy("stdin", file.write_all(b"abc").unwrap_err());
        assert_eq!(error.kind(), ErrorKind::Resources);
        assert!(error.message().starts_with("cannot copy stdin to a temporary file: more space"), "{error}");
        let other = cannot_copy("stdin", io::ErrorKind::BrokenPipe.into());
        assert_eq!((other.kind(), other.hint()), (ErrorKind::Unavailable, None));
    }

    #[test]
    fn a_limit_that_is_not_given_is_half_of_the_free_space() {
        let folder = tempfile::tempdir().unwrap();
        let space = space(folder.path(), None);
        let file = TemporaryFile::new(&space).unwrap();
        let error = TakenSpace::new(&space).take(u64::MAX).unwrap_err();
        assert!(error.message().contains("half of the free space"), "{error}");
        file.append(&[0]).unwrap();
    }

    #[test]
    fn a_folder_that_does_not_exist_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing");
        let error = TemporaryFile::new(&space(&missing, None)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.message().contains("missing") && error.hint().unwrap().contains("TMPDIR"), "{error}");
    }

    #[test]
    fn a_full_disk_is_a_shortage() {
        let error = space(Path::new("/somewhere"), None).failed("write", io::ErrorKind::StorageFull.into());
        assert_eq!(error.kind(), ErrorKind::Resources);
        assert!(error.message().contains("no space is left") && error.message().contains("/somewhere"), "{error}");
    }
}
