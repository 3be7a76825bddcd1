//! The reserve for a full disk: freeing space needs some space itself, for the log of its transaction.
//!
//! A file of random bytes, `FILE-reserve`, is kept beside each store that is large enough to free a significant amount.
//! When the disk is full, dropping, truncating, retention and reclaiming truncate the log. If that is not enough, they
//! delete the reserve, do their work, and refill the reserve from the remaining space. Writing rows never uses it.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The minimum size in bytes of a store in one file with a reserve. Without a smaller one's reserve, the disk would be
/// just as full.
const STORE_BYTES_MIN: u64 = 4 << 20;
/// The reserve is this fraction of the file, since what dropping writes grows with the number of chunks.
const STORE_FRACTION: u64 = 64;
const BYTES_MIN: u64 = 256 << 10;
const BYTES_MAX: u64 = 4 << 20;

/// The reserve of a store.
#[derive(Debug)]
pub(crate) struct Reserve {
    path: PathBuf,
    pub(crate) store: PathBuf,
    /// The folder of page files of a split store, whose catalogue shows little of its size.
    pages: Option<PathBuf>,
}

impl Reserve {
    /// Creates the reserve of a store's file and its folder of page files.
    pub(crate) fn new(store: &Path, pages: Option<PathBuf>) -> Self {
        let mut path = store.as_os_str().to_owned();
        path.push("-reserve");
        Self { path: PathBuf::from(path), store: store.to_owned(), pages }
    }

    /// Extends the reserve to the size that fits a file of `store_bytes`, or as far as the disk allows. If it fails,
    /// only the reserve is missing.
    pub(crate) fn fill(&self, store_bytes: u64) {
        let _ = self.try_fill(store_bytes);
    }

    fn try_fill(&self, store_bytes: u64) -> io::Result<()> {
        let has_pages = |pages: &PathBuf| fs::read_dir(pages).is_ok_and(|mut list| list.next().is_some());
        let is_useful = store_bytes >= STORE_BYTES_MIN || self.pages.as_ref().is_some_and(has_pages);
        let target = if is_useful { (store_bytes / STORE_FRACTION).clamp(BYTES_MIN, BYTES_MAX) } else { 0 };
        let length = fs::metadata(&self.path).map_or(0, |metadata| metadata.len());
        if target < length / 2 {
            self.release();
        } else if length < target {
            self.append(length, target - length)?;
        }
        Ok(())
    }

    fn append(&self, length: u64, mut left: u64) -> io::Result<()> {
        let mode = fs::metadata(&self.store)?.mode() & 0o666;
        let mut file = OpenOptions::new().append(true).create(true).mode(mode).open(&self.path)?;
        // Zeros would take no space on a file system that compresses.
        let mut state = length;
        while left > 0 {
            let bytes: Vec<u8> = (0..512).flat_map(|_| scramble(&mut state).to_le_bytes()).collect();
            let bytes = &bytes[..bytes.len().min(usize::try_from(left).unwrap_or(usize::MAX))];
            file.write_all(bytes)?;
            left -= bytes.len() as u64;
        }
        Ok(())
    }

    /// Deletes the reserve to free its space. Returns whether there was any.
    pub(crate) fn release(&self) -> bool {
        fs::metadata(&self.path).is_ok_and(|metadata| metadata.len() > 0) && fs::remove_file(&self.path).is_ok()
    }
}

/// Bytes that do not compress (SplitMix64, Steele, Lea and Flood 2014).
fn scramble(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserve_is_made_beside_a_store_that_is_worth_it_and_given_up_once() {
        let scratch = tempfile::tempdir().unwrap();
        let store = scratch.path().join("a.db");
        fs::write(&store, "").unwrap();
        let reserve = Reserve::new(&store, None);
        let length = || fs::metadata(scratch.path().join("a.db-reserve")).map_or(0, |metadata| metadata.len());
        assert!(!reserve.release());
        for (store_bytes, expected) in [
            (STORE_BYTES_MIN - 1, 0),
            (STORE_BYTES_MIN, BYTES_MIN),
            (64 << 20, 1 << 20),
            (1 << 40, BYTES_MAX),
            (1 << 30, BYTES_MAX),
            // A store that has become small keeps none.
            (1 << 20, 0),
            (64 << 20, 1 << 20),
        ] {
            reserve.fill(store_bytes);
            assert_eq!(length(), expected, "{store_bytes}");
        }
        assert!(reserve.release() && length() == 0 && !reserve.release());
    }
}
