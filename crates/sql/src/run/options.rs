//! What a session may use.

use std::time::Duration;

/// What a session may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionOptions {
    /// The most bytes that running queries may hold, together; beyond it they write temporary files, or fail with
    /// [`ErrorKind::Resources`](atsdb_core::ErrorKind::Resources).
    pub memory_bytes: usize,
    /// How many threads work on queries.
    pub threads: usize,
    /// Whether statements may name files, which the reader of [`Session::with_files`](crate::Session::with_files)
    /// opens; a server says `false`.
    pub file_access: bool,
    /// The longest that a query may take until its last row is read; beyond it fails with
    /// [`ErrorKind::Resources`](atsdb_core::ErrorKind::Resources).
    /// `None`: as long as it takes.
    pub time_limit: Option<Duration>,
    /// Whether statements that change something are refused, with
    /// [`ErrorKind::ReadOnly`](atsdb_core::ErrorKind::ReadOnly).
    pub read_only: bool,
}

impl Default for SessionOptions {
    /// 2 GiB, a thread for each processor, no files, no limit of time, changes allowed.
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self { memory_bytes: 2 << 30, threads, file_access: false, time_limit: None, read_only: false }
    }
}
