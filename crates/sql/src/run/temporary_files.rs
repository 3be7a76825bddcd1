//! The temporary files of queries, as DataFusion writes and reads them.

use atsdb_core::{Error, ErrorKind};
use atsdb_dialect::text::datafusion_errors::external;
use atsdb_temporary::{TemporaryFile, TemporarySpace};
use bytes::Bytes;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::{SpillFile, SpillWriter, TempFileFactory};
use futures::{Stream, stream};
use std::io::{self, Write};
use std::pin::Pin;
use std::sync::Arc;

/// The bytes that are read from a file at a time.
const PIECE_BYTES: u64 = 128 << 10;

/// The hint for temporary files that are too large, apart from allowing larger ones.
const FEWER_ROWS: &str = "narrow the time range, or add a condition to the join";

/// The disk manager for queries whose temporary files are in this space.
pub(super) fn disk_manager(space: &Arc<TemporarySpace>) -> DiskManagerBuilder {
    if !space.allows_files() {
        return DiskManagerBuilder::default().with_mode(DiskManagerMode::Disabled);
    }
    DiskManagerBuilder::default().with_temp_file_factory(Arc::new(TemporaryFiles(Arc::clone(space))))
}

/// Creates the files.
struct TemporaryFiles(Arc<TemporarySpace>);

impl TempFileFactory for TemporaryFiles {
    fn create_temp_file(&self, _: &str) -> Result<Arc<dyn SpillFile>> {
        let file = TemporaryFile::new(&self.0).map_err(|error| external(of_query(error)))?;
        Ok(Arc::new(OpenFile(Arc::new(file))))
    }
}

/// The error of a file of a query: fewer rows would need less space.
fn of_query(error: Error) -> Error {
    match error.hint().filter(|_| error.kind() == ErrorKind::Resources).map(str::to_owned) {
        Some(hint) => error.with_hint(format!("{FEWER_ROWS}; {hint}")),
        None => error,
    }
}

/// A file as DataFusion sees it.
struct OpenFile(Arc<TemporaryFile>);

impl SpillFile for OpenFile {
    fn size(&self) -> Option<u64> {
        Some(self.0.byte_count())
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
    let piece = tokio::task::spawn_blocking(move || reader.piece(position, PIECE_BYTES)).await;
    let piece = piece.map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)))?.map_err(external)?;
    let after = position + piece.len() as u64;
    Ok((!piece.is_empty()).then(|| (Bytes::from(piece), (file, after))))
}

/// Appends to a file.
struct FileEnd(Arc<TemporaryFile>);

impl Write for FileEnd {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.append(bytes).map_err(|error| io::Error::other(of_query(error)))?;
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

    #[test]
    fn a_file_is_read_while_it_is_written() {
        let space = Arc::new(TemporarySpace::default());
        let file = TemporaryFiles(Arc::clone(&space)).create_temp_file("").unwrap();
        file.open_writer().unwrap().write_all(&[7; 300_000]).unwrap();
        let mut pieces = file.read_stream().unwrap();
        let threads = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let mut found = threads.block_on(pieces.try_next()).unwrap().unwrap().to_vec();
        file.open_writer().unwrap().write_all(&[1, 2, 3]).unwrap();
        while let Some(piece) = threads.block_on(pieces.try_next()).unwrap() {
            found.extend_from_slice(&piece);
        }
        assert!(found[..300_000].iter().all(|byte| *byte == 7) && found[300_000..] == [1, 2, 3]);
        assert_eq!(file.size(), Some(300_003));
        drop((pieces, file));
        assert_eq!(space.used_bytes(), 0);
    }

    #[test]
    fn too_large_files_call_for_fewer_rows_or_more_space() {
        let space = Arc::new(TemporarySpace::in_default_folder(Some(2)));
        let file = TemporaryFiles(space).create_temp_file("").unwrap();
        let error = file.open_writer().unwrap().write_all(&[0; 3]).unwrap_err().downcast::<Error>().unwrap();
        assert_eq!(error.kind(), ErrorKind::Resources);
        assert!(error.hint().is_some_and(|hint| hint.contains("time range") && hint.contains("--temp")), "{error}");
    }
}
