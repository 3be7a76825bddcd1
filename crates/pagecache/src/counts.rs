//! The hits and misses of all processes that ever read a store's pages here: a line of two numbers, under a lock.

use std::fs::File;
use std::io::{Read, Result, Seek, Write};
use std::path::Path;

/// The name of the file in a store's folder.
pub(crate) const NAME: &str = "counts";

/// Adds to the counters and returns the sums. An invalid file counts as missing.
pub(crate) fn add(folder: &Path, hits: u64, misses: u64) -> Result<(u64, u64)> {
    let mut options = File::options();
    options.create(true).read(true).write(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(folder.join(NAME))?;
    file.lock()?;
    let mut text = String::new();
    // Two numbers are short; bytes that are not text count as zero.
    let _ = (&mut file).take(64).read_to_string(&mut text);
    let mut numbers = text.split_whitespace().map(|word| word.parse::<u64>().unwrap_or(0));
    let mut next = |more: u64| numbers.next().unwrap_or(0).saturating_add(more);
    let counts = (next(hits), next(misses));
    if hits + misses > 0 {
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(format!("{} {}\n", counts.0, counts.1).as_bytes())?;
    }
    Ok(counts)
}
