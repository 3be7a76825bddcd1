//! The limits of statements, over all protocols.

use std::time::Duration;

/// The limits of statements, over all protocols.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementOptions {
    /// The memory of all running statements together, in bytes. One may hold half of it.
    pub memory_bytes: usize,
    /// The maximum size of the temporary files of all running statements together, in bytes; 0 means that they write
    /// none. `None` means half of the space that is free in the folder of temporary files.
    pub temp_bytes: Option<u64>,
    /// The maximum number of statements that run at once. Others wait, and are refused after `hold_time`.
    pub running_max: usize,
    /// How long a statement waits before it is refused.
    pub hold_time: Duration,
    /// The maximum duration of a statement. `None`: ten minutes over HTTP and gRPC, no limit over PostgreSQL's
    /// protocol, whose clients set their own.
    pub time_limit: Option<Duration>,
}

impl Default for StatementOptions {
    /// A quarter of the machine's memory, but at least 1 GiB; half of the free space; 64 statements; five seconds; no
    /// common time limit.
    fn default() -> Self {
        let memory_bytes = atsdb::sql::SessionOptions::default().memory_bytes;
        Self { memory_bytes, temp_bytes: None, running_max: 64, hold_time: Duration::from_secs(5), time_limit: None }
    }
}

impl StatementOptions {
    /// The memory that one statement may hold.
    pub(crate) fn memory_of_one(&self) -> usize {
        self.memory_bytes / 2
    }
}
