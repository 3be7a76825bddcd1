//! The temporary files of queries: their folder, and the space that they may take together.
//!
//! A file has no name in its folder. So the system frees its space when the process ends, however it ends.

use crate::text::datafusion_errors::external;
use atsdb_core::size::format_size;
use atsdb_core::{Error, ErrorKind};
use bytes::Bytes;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::{SpillFile, SpillWriter, TempFileFactory};
use futures::{Stream, stream};
use parking_lot::Mutex;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The bytes that are read from a file at a time.
const PIECE_BYTES: u64 = 128 << 10;

/// The limit if the system does not report the free space.
const BYTES_MAX_UNKNOWN: u64 = 64 << 30;

/// What to do about too large temporary files, apart from allowing them.
const FEWER_ROWS: &str = "narrow the time range, or add a condition to the join";

/// The disk manager for queries whose temporary files may take so many bytes together; `None` means half of the space
/// that is free in their folder.
pub(super) fn disk_manager(bytes_max: Option<u64>) -> DiskManagerBuilder {
    if bytes_max == Some(0) {
        return DiskManagerBuilder::default().with_mode(DiskManagerMode::Disabled);
    }
    let space = TemporarySpace::new(std::env::temp_dir(), bytes_max);
    DiskManagerBuilder::default().with_temp_file_factory(Arc::new(TemporaryFiles(Arc::new(space))))
}

/// Creates the files.
struct TemporaryFiles(Arc<TemporarySpace>);

impl TempFileFactory for TemporaryFiles {
    fn create_temp_file(&self, _: &str) -> Result<Arc<dyn SpillFile>> {
        self.0.measure();
        let file = tempfile::tempfile_in(&self.0.folder);
        let file = file.map_err(|error| external(self.0.failed("create", error)))?;
        let content = Mutex::new(Content { file, byte_count: 0 });
        Ok(Arc::new(OpenFile(Arc::new(TemporaryFile { content, space: Arc::clone(&self.0) }))))
    }
}

/// The folder of the files, and the space that they take.
#[derive(Debug)]
struct TemporarySpace {
    folder: PathBuf,
    /// `None` means half of the free space.
    bytes_max: Option<u64>,
    /// Half of the space that is free without the files, as it was when the last one was created.
    half_of_free: AtomicU64,
    used: AtomicU64,
}

impl TemporarySpace {
    fn new(folder: PathBuf, bytes_max: Option<u64>) -> Self {
        Self { folder, bytes_max, half_of_free: AtomicU64::new(BYTES_MAX_UNKNOWN), used: AtomicU64::new(0) }
    }

    fn measure(&self) {
        if self.bytes_max.is_none()
            && let Some(free) = free_bytes(&self.folder)
        {
            let without_files = free.saturating_add(self.used.load(Ordering::Relaxed));
            self.half_of_free.store(without_files / 2, Ordering::Relaxed);
        }
    }

    /// Takes space for bytes that are about to be written.
    fn take(&self, byte_count: u64) -> Result<(), Error> {
        let bytes_max = self.bytes_max.unwrap_or_else(|| self.half_of_free.load(Ordering::Relaxed));
        let used = self.used.fetch_add(byte_count, Ordering::Relaxed).saturating_add(byte_count);
        if used <= bytes_max {
            return Ok(());
        }
        self.give_back(byte_count);
        let limit = match self.bytes_max {
            Some(_) => shown(bytes_max),
            None => format!("{}, half of the free space", shown(bytes_max)),
        };
        let folder = self.folder.display();
        let message = format!("the queries need more than their limit for temporary files in {folder}: {limit}");
        let hint = format!("{FEWER_ROWS}; --temp (temp_bytes in the library) allows more, TMPDIR names another folder");
        Err(Error::new(ErrorKind::Resources, message).with_hint(hint))
    }

    fn give_back(&self, byte_count: u64) {
        self.used.fetch_sub(byte_count, Ordering::Relaxed);
    }

    fn failed(&self, action: &str, error: io::Error) -> Error {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        let folder = self.folder.display();
        let failure = match error.kind() {
            StorageFull | QuotaExceeded | FileTooLarge => {
                let message = format!("no space is left for temporary files of queries in {folder}: {error}");
                Error::new(ErrorKind::Resources, message)
                    .with_hint(format!("{FEWER_ROWS}; free space there, or let TMPDIR name another folder"))
            }
            _ => Error::new(ErrorKind::Unavailable, format!("cannot {action} a temporary file in {folder}: {error}"))
                .with_hint("TMPDIR names the folder of temporary files"),
        };
        failure.with_source(error)
    }
}

/// The limit as it is shown: in whole MiB or GiB, if it is large.
fn shown(byte_count: u64) -> String {
    match byte_count {
        0..0x10_0000 => format!("{byte_count} bytes"),
        0x10_0000..0x4_0000_0000 => format_size(byte_count >> 20 << 20),
        _ => format_size(byte_count >> 30 << 30),
    }
}

/// The space that is free in a folder for this user, if the system reports it.
#[cfg(unix)]
fn free_bytes(folder: &Path) -> Option<u64> {
    let statistics = rustix::fs::statvfs(folder).ok()?;
    statistics.f_bavail.checked_mul(statistics.f_frsize)
}

#[cfg(not(unix))]
fn free_bytes(_: &Path) -> Option<u64> {
    None
}

/// A file. Its space is free once all its readers are dropped.
struct TemporaryFile {
    content: Mutex<Content>,
    space: Arc<TemporarySpace>,
}

struct Content {
    file: File,
    byte_count: u64,
}

impl TemporaryFile {
    fn append(&self, bytes: &[u8]) -> Result<(), Error> {
        let byte_count = bytes.len() as u64;
        self.space.take(byte_count)?;
        let mut content = self.content.lock();
        // A reader may have moved the position.
        let end = SeekFrom::Start(content.byte_count);
        let written = content.file.seek(end).and_then(|_| content.file.write_all(bytes));
        if let Err(error) = written {
            self.space.give_back(byte_count);
            return Err(self.space.failed("write", error));
        }
        content.byte_count += byte_count;
        Ok(())
    }

    /// The bytes from a position on, up to [`PIECE_BYTES`]; none at the end.
    fn piece(&self, position: u64) -> Result<Vec<u8>, Error> {
        let mut content = self.content.lock();
        let length = content.byte_count.saturating_sub(position).min(PIECE_BYTES);
        let mut piece = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
        let read = content.file.seek(SeekFrom::Start(position));
        let read = read.and_then(|_| (&mut content.file).take(length).read_to_end(&mut piece));
        read.map(|_| piece).map_err(|error| self.space.failed("read", error))
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        self.space.give_back(self.content.get_mut().byte_count);
    }
}

/// A file as DataFusion sees it.
struct OpenFile(Arc<TemporaryFile>);

impl SpillFile for OpenFile {
    fn size(&self) -> Option<u64> {
        Some(self.0.content.lock().byte_count)
    }

    fn read_stream(&self) -> Result<Pin<Box<dyn Stream<Item = Result<Bytes>> + Send>>> {
        Ok(Box::pin(stream::try_unfold((Arc::clone(&self.0), 0), next_piece)))
    }

    fn open_writer(&self) -> Result<Box<dyn SpillWriter>> {
        Ok(Box::new(FileEnd(Arc::clone(&self.0))))
    }
}

/// A file and the position in it from which to read on.
type ReadPosition = (Arc<TemporaryFile>, u64);

async fn next_piece((file, position): ReadPosition) -> Result<Option<(Bytes, ReadPosition)>> {
    let reader = Arc::clone(&file);
    let piece = tokio::task::spawn_blocking(move || reader.piece(position)).await;
    let piece = piece.map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)))?.map_err(external)?;
    let after = position + piece.len() as u64;
    Ok((!piece.is_empty()).then(|| (Bytes::from(piece), (file, after))))
}

/// Appends to a file.
struct FileEnd(Arc<TemporaryFile>);

impl Write for FileEnd {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.append(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl SpillWriter for FileEnd {
    fn finish(&mut self) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::TryStreamExt;

    fn files(folder: &Path, bytes_max: Option<u64>) -> TemporaryFiles {
        TemporaryFiles(Arc::new(TemporarySpace::new(folder.to_owned(), bytes_max)))
    }

    fn append(file: &Arc<dyn SpillFile>, bytes: &[u8]) -> Result<(), Error> {
        let written = file.open_writer().unwrap().write_all(bytes);
        written.map_err(|error| error.downcast::<Error>().unwrap())
    }

    #[test]
    fn a_file_is_read_while_it_is_written_and_has_no_name() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(folder.path(), None);
        let file = files.create_temp_file("").unwrap();
        append(&file, &[7; 300_000]).unwrap();
        let mut pieces = file.read_stream().unwrap();
        let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let mut found = threads.block_on(pieces.try_next()).unwrap().unwrap().to_vec();
        append(&file, &[1, 2, 3]).unwrap();
        while let Some(piece) = threads.block_on(pieces.try_next()).unwrap() {
            found.extend_from_slice(&piece);
        }
        assert!(found[..300_000].iter().all(|byte| *byte == 7) && found[300_000..] == [1, 2, 3]);
        assert_eq!(file.size(), Some(300_003));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        drop((pieces, file));
        assert_eq!(files.0.used.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn all_files_together_are_limited() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(folder.path(), Some(1_000));
        let (first, second) = (files.create_temp_file("").unwrap(), files.create_temp_file("").unwrap());
        append(&first, &[0; 600]).unwrap();
        append(&second, &[0; 400]).unwrap();
        let error = append(&second, &[0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Resources);
        assert!(error.message().ends_with(": 1000 bytes") && error.hint().unwrap().contains("--temp"), "{error}");
        drop(first);
        append(&second, &[0; 600]).unwrap();
    }

    #[test]
    fn a_limit_that_is_not_given_is_half_of_the_free_space() {
        let folder = tempfile::tempdir().unwrap();
        let files = files(folder.path(), None);
        files.0.half_of_free.store(0, Ordering::Relaxed);
        let error = files.0.take(1).unwrap_err();
        assert!(error.message().contains("half of the free space"), "{error}");
        let file = files.create_temp_file("").unwrap();
        append(&file, &[0]).unwrap();
    }

    #[test]
    fn a_folder_that_does_not_exist_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing");
        let error = files(&missing, None).create_temp_file("").err().unwrap();
        let error = crate::text::datafusion_errors::from_datafusion(error);
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.message().contains("missing") && error.hint().unwrap().contains("TMPDIR"), "{error}");
    }

    #[test]
    fn a_full_disk_is_a_shortage() {
        let files = files(Path::new("/somewhere"), None);
        let error = files.0.failed("write", io::ErrorKind::StorageFull.into());
        assert_eq!(error.kind(), ErrorKind::Resources);
        assert!(error.message().contains("no space is left") && error.message().contains("/somewhere"), "{error}");
    }
}
