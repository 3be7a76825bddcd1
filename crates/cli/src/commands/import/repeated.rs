//! Detects that a table already has the same files. The hash of their content is the id of the batch, which is stored
//! only once.

use atsdb::{BatchId, Error, ErrorKind, Result, TableId};
use std::fs::File;
use std::hash::Hasher;
use std::io::Read;
use std::path::{Path, PathBuf};
use twox_hash::XxHash3_64;

/// The hash of the files' content, in their order. `None` if one is not a regular file, such as stdin.
pub(super) fn hash(files: &[PathBuf]) -> Result<Option<u64>> {
    let mut hasher = XxHash3_64::with_seed(0);
    for path in files {
        // The importer reports a missing file.
        if !path.is_file() {
            return Ok(None);
        }
        hash_file(path, &mut hasher).map_err(|error| {
            Error::new(ErrorKind::Unavailable, format!("cannot read {}: {error}", path.display())).with_source(error)
        })?;
    }
    Ok(Some(hasher.finish()))
}

/// The id of a batch of these files in a table.
pub(super) fn batch_id(hash: u64, table: TableId) -> Result<BatchId> {
    BatchId::new(format!("files {hash:016x} in table {}", table.0))
}

fn hash_file(path: &Path, hasher: &mut XxHash3_64) -> std::io::Result<()> {
    let mut file = File::open(path)?;
    hasher.write_u64(file.metadata()?.len());
    let mut buffer = vec![0; 1 << 20];
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        hasher.write(&buffer[..count]);
    }
}
