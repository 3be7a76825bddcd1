//! Points at which a test ends the process, as a crash would. Elsewhere they are nothing.

/// A named moment between two steps.
#[cfg(not(test))]
#[inline(always)]
pub(crate) fn point(_name: &str) {}

/// Ends the process at the point that the environment names, the so-manieth time it is passed.
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
