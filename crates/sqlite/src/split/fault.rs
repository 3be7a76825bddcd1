//! Hooks for crash tests: points at which the process is ended, and a log of the data that is on disk at that time.
//! Outside of tests they do nothing.

/// A named point between two steps.
#[cfg(not(test))]
#[inline(always)]
pub(crate) fn point(_name: &str) {}

/// Reports that the current length of a file is on disk.
#[cfg(not(test))]
#[inline(always)]
pub(crate) fn synced(_number: i64, _file: &std::fs::File) {}

/// Appends the length to the file that the environment names.
#[cfg(test)]
pub(crate) fn synced(number: i64, file: &std::fs::File) {
    use std::io::Write;
    let Some(log) = std::env::var_os("ATSDB_TEST_SYNCED") else { return };
    let mut log = std::fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
    log.write_all(format!("{number} {}\n", file.metadata().unwrap().len()).as_bytes()).unwrap();
}

/// Ends the process at the point that the environment names, once it has been reached the given number of times.
#[cfg(test)]
pub(crate) fn point(name: &str) {
    use std::sync::atomic::{AtomicU32, Ordering};
    static PASSED: AtomicU32 = AtomicU32::new(0);
    let wanted = std::env::var("ATSDB_TEST_FAULT").unwrap_or_default();
    let Some((point, count)) = wanted.split_once(':') else { return };
    if point == name && PASSED.fetch_add(1, Ordering::Relaxed) + 1 == count.parse::<u32>().unwrap_or(1) {
        std::process::abort();
    }
}
