//! The resources and limits of a session.

use std::time::Duration;

/// The resources and limits of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionOptions {
    /// The maximum memory of all running queries together, in bytes. Beyond it they write temporary files, or fail with
    /// [`ErrorKind::Resources`](atsdb_core::ErrorKind::Resources).
    pub memory_bytes: usize,
    /// The maximum size of the temporary files of all running queries together, in bytes, with those that a reader of
    /// files puts into [`Session::temporary_space`](crate::Session::temporary_space). A query that needs more fails
    /// with [`ErrorKind::Resources`](atsdb_core::ErrorKind::Resources). 0 means that queries write none. `None` means
    /// half of the space that is free in the folder of temporary files, [`std::env::temp_dir`].
    pub temp_bytes: Option<u64>,
    /// The number of threads for queries.
    pub threads: usize,
    /// Whether statements may name files, which the reader of [`Session::with_files`](crate::Session::with_files)
    /// opens. A server sets this to `false`.
    pub file_access: bool,
    /// The maximum duration of a query until its last row is read. A query that takes longer fails with
    /// [`ErrorKind::Resources`](atsdb_core::ErrorKind::Resources). `None` means no limit.
    pub time_limit: Option<Duration>,
    /// Whether statements that change something are refused, with
    /// [`ErrorKind::ReadOnly`](atsdb_core::ErrorKind::ReadOnly).
    pub read_only: bool,
}

impl Default for SessionOptions {
    /// A quarter of the machine's memory, but at least 1 GiB; temporary files in half of the free space; one thread for
    /// each processor; no files; no time limit; changes allowed.
    fn default() -> Self {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let memory_bytes = (atsdb_engine::machine_memory_bytes() / 4).max(1 << 30);
        Self { memory_bytes, temp_bytes: None, threads, file_access: false, time_limit: None, read_only: false }
    }
}
