//! Repairing files after a failed sync.
//!
//! Linux reports once that it could not write to the disk, and considers the pages written from then on: the next sync
//! of the file succeeds, and a power cut loses data that was written before the failure (Rebello et al., "Can
//! Applications Recover from fsync Failures?", 2020). So data that is still in memory must be rewritten to become
//! durable.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

const STEP_BYTES: u64 = 1 << 20;

/// Rewrites the first `length` bytes of a file with their own content and syncs the file. No other process may write to
/// them at the same time.
pub(crate) fn rewrite_and_sync(file: &File, length: u64) -> io::Result<()> {
    let end = length.min(file.metadata()?.len());
    let (mut start, mut bytes) = (0, Vec::new());
    while start < end {
        bytes.resize(usize::try_from(STEP_BYTES.min(end - start)).unwrap_or(0), 0);
        file.read_exact_at(&mut bytes, start)?;
        file.write_all_at(&bytes, start)?;
        start += bytes.len() as u64;
    }
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_again_is_as_it_was() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("a");
        let bytes: Vec<u8> = (0..STEP_BYTES * 2 + 77).map(|at| (at * 31 % 251) as u8).collect();
        for length in [0, 1, STEP_BYTES, STEP_BYTES + 1, STEP_BYTES * 2 + 77, STEP_BYTES * 9] {
            std::fs::write(&path, &bytes).unwrap();
            rewrite_and_sync(&File::options().read(true).write(true).open(&path).unwrap(), length).unwrap();
            assert!(std::fs::read(&path).unwrap() == bytes);
        }
    }
}
