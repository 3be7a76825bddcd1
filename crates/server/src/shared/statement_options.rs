//! The limits of statements, over all protocols.

use atsdb::sql::Permission;
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
    /// The time for which a statement waits before it is refused.
    pub hold_time: Duration,
    /// The maximum duration of a statement. `None`: ten minutes over HTTP and gRPC, no limit over PostgreSQL's
    /// protocol, whose clients set their own.
    pub time_limit: Option<Duration>,
    /// The limits of users with the role `read`.
    pub read: RoleLimits,
    /// The limits of users with the role `write`.
    pub write: RoleLimits,
    /// The limits of users with the role `admin`, which everybody has as long as a store has no users.
    pub admin: RoleLimits,
}

/// The limits of the statements of all users with one role, within those of all statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RoleLimits {
    /// The maximum number of statements that run at once. A statement that waits for its client counts.
    pub running_max: Option<usize>,
    /// The maximum duration of a statement, which no client can raise.
    pub time_limit: Option<Duration>,
}

impl Default for StatementOptions {
    /// A quarter of the machine's memory, but at least 1 GiB; half of the free space; 64 statements; five seconds; no
    /// common time limit; no limits of roles.
    fn default() -> Self {
        Self {
            memory_bytes: atsdb::sql::SessionOptions::default().memory_bytes,
            temp_bytes: None,
            running_max: 64,
            hold_time: Duration::from_secs(5),
            time_limit: None,
            read: RoleLimits::default(),
            write: RoleLimits::default(),
            admin: RoleLimits::default(),
        }
    }
}

impl StatementOptions {
    /// The memory that one statement may hold.
    pub(crate) fn memory_of_one(&self) -> usize {
        self.memory_bytes / 2
    }

    /// The limits of the role that has a permission.
    pub(crate) fn of_role(&self, permission: Permission) -> &RoleLimits {
        match permission {
            Permission::Read => &self.read,
            Permission::Change => &self.write,
            Permission::Define => &self.admin,
        }
    }

    /// The maximum duration of a statement of the role that has a permission.
    pub(crate) fn time_limit_of(&self, permission: Permission) -> Option<Duration> {
        self.time_limit.into_iter().chain(self.of_role(permission).time_limit).min()
    }
}
