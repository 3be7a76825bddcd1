//! Retrying after a conflict with other processes.

use atsdb::{ErrorKind, Result};

/// The maximum number of attempts while other writers change the same tables.
const ATTEMPTS_MAX: usize = 20;

/// Repeats an attempt to store rows while others change a definition, create a table, or add rows of the same keys.
pub(crate) fn repeat<T>(mut attempt: impl FnMut() -> Result<T>) -> Result<T> {
    for _ in 1..ATTEMPTS_MAX {
        match attempt() {
            Err(error) if matches!(error.kind(), ErrorKind::Conflict | ErrorKind::Exists) => {}
            done => return done,
        }
    }
    attempt()
}
