//! The actions of a history. `Debug` prints them as Rust code, so that a history can be pasted into a test. Actions
//! name tables, rollups, sessions and savepoints by small numbers. If an object with that number does not exist, the
//! action is refused, by the model too. So any step can be left out, and the rest is still a valid history.

use crate::references::ReferenceChange;
use crate::setting::PROCESSES;
use crate::subject::{Alteration, Cells, Policy, RowSelection, Shape, Summary, WhichBackup};

/// The family of actions on parents and children.
pub(crate) const REFERENCES_FAMILY: u32 = 22;

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryStep {
    /// The action.
    pub action: Action,
    /// A fault during the action, if any.
    pub fault: Option<Fault>,
}

/// A fault at one call of the store, numbered from 0 within the step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The number of the call. If the step makes fewer calls, there is no fault.
    pub call: i64,
    /// The kind of fault.
    pub kind: FaultKind,
}

/// A fault at a call of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultKind {
    /// It fails without taking effect.
    Fails,
    /// It takes effect, and its answer is lost.
    AnswerLost,
    /// The process ends before it.
    CrashBefore,
    /// The process ends after it.
    CrashAfter,
    /// The call stalls, so that another process does this before it.
    Stall(Box<Action>),
}

/// An action of a session or process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Rows are appended, in the session's transaction or by themselves.
    Append {
        /// The session.
        session: usize,
        /// The table.
        table: usize,
        /// The conflict policy, unless the table's applies.
        policy: Option<Policy>,
        /// The batch's name, outside of a transaction.
        batch: Option<u8>,
        /// The rows.
        rows: Vec<Cells>,
    },
    /// A session remembers the table as it is now, for [`Push`](Action::Push).
    OpenAppender {
        /// The session.
        session: usize,
        /// The table.
        table: usize,
    },
    /// Rows are added to an appender.
    Push {
        /// The session.
        session: usize,
        /// Whether they are added as a batch instead of one by one.
        together: bool,
        /// The rows.
        rows: Vec<Cells>,
    },
    /// Rows that were pushed become visible.
    Flush {
        /// The session.
        session: usize,
    },
    /// A transaction begins.
    Begin {
        /// The session.
        session: usize,
    },
    /// The transaction commits.
    Commit {
        /// The session.
        session: usize,
    },
    /// A transaction is rolled back.
    Rollback {
        /// The session.
        session: usize,
    },
    /// A savepoint is set.
    Mark {
        /// The session.
        session: usize,
        /// Its name.
        mark: u8,
    },
    /// Everything since a savepoint is undone.
    ReturnTo {
        /// The session.
        session: usize,
        /// Its name.
        mark: u8,
    },
    /// A savepoint is forgotten.
    ReleaseMark {
        /// The session.
        session: usize,
        /// Its name.
        mark: u8,
    },
    /// Rows are deleted.
    Delete {
        /// The session.
        session: usize,
        /// The table.
        table: usize,
        /// The selected rows.
        rows: RowSelection,
    },
    /// A row is appended, or the note of the row with the same key is set. Only in SQL.
    Upsert {
        /// The session.
        session: usize,
        /// The table.
        table: usize,
        /// The row.
        row: Cells,
    },
    /// The note of rows is set.
    Update {
        /// The session.
        session: usize,
        /// The table.
        table: usize,
        /// The selected rows.
        rows: RowSelection,
        /// The new note.
        note: Option<i64>,
    },
    /// All rows of a table are removed.
    Truncate {
        /// The session.
        session: usize,
        /// The table.
        table: usize,
    },
    /// A table is read, as the session sees it.
    Read {
        /// The session.
        session: usize,
        /// The table.
        table: usize,
    },
    /// A table is created.
    Create {
        /// The session.
        session: usize,
        /// Its name.
        table: usize,
        /// The kind of table.
        shape: Shape,
        /// The conflict policy.
        policy: Policy,
        /// Whether the table has a CHECK constraint.
        is_checked: bool,
    },
    /// A table is dropped.
    Drop {
        /// The session.
        session: usize,
        /// The table.
        table: usize,
        /// Whether its rollups are dropped with it. Only possible in SQL.
        cascade: bool,
    },
    /// A table's definition changes.
    Alter {
        /// The session.
        session: usize,
        /// The table.
        table: usize,
        /// The alteration.
        alteration: Alteration,
    },
    /// An index over the counts is declared and built, or dropped if it exists.
    Index {
        /// The process.
        process: usize,
        /// The table.
        table: usize,
    },
    /// Everything is sealed.
    Seal {
        /// The process.
        process: usize,
    },
    /// The work of the background thread.
    Look {
        /// The process.
        process: usize,
    },
    /// Expired slices are dropped.
    Retain {
        /// The process.
        process: usize,
    },
    /// A snapshot is taken, and held until another one replaces it.
    Hold {
        /// The process.
        process: usize,
    },
    /// Everything is copied to a separate store.
    Copy {
        /// The process.
        process: usize,
    },
    /// A rollup is created. Only in SQL.
    CreateRollup {
        /// The session.
        session: usize,
        /// Its name.
        rollup: usize,
        /// The table.
        table: usize,
        /// The query of the rollup.
        summary: Summary,
    },
    /// A rollup is dropped.
    DropRollup {
        /// The session.
        session: usize,
        /// The rollup.
        rollup: usize,
    },
    /// The stale buckets of a rollup are computed.
    Refresh {
        /// The session.
        session: usize,
        /// The rollup.
        rollup: usize,
    },
    /// A rollup is read, as the session sees it.
    ReadRollup {
        /// The session.
        session: usize,
        /// The rollup.
        rollup: usize,
    },
    /// Parents or children change, or their definitions. Only in SQL.
    Refer {
        /// The session. In a transaction, changes of definitions are left out.
        session: usize,
        /// The change.
        change: ReferenceChange,
    },
    /// Children are read with their parents, as the session sees them. Only in SQL.
    ReadReferences {
        /// The session.
        session: usize,
    },
    /// The rows that a process has of tables in memory are saved.
    Checkpoint {
        /// The session. In a transaction it is refused.
        session: usize,
        /// The table; `None` means all tables.
        table: Option<usize>,
    },
    /// Everything is backed up to the archive that all processes share.
    Backup {
        /// The process.
        process: usize,
        /// The number of backups to keep, if old ones are deleted.
        keep: Option<usize>,
    },
    /// A backup is restored to a separate store.
    Restore {
        /// The process.
        process: usize,
        /// The backup.
        which: WhichBackup,
        /// Whether the store is empty, instead of having the contents of the last restore.
        afresh: bool,
    },
    /// Time passes.
    Tick {
        /// The number of hours.
        hours: i64,
    },
    /// A process crashes and restarts.
    Crash {
        /// The process.
        process: usize,
    },
}

impl Action {
    /// The session whose transaction the action belongs to, if any.
    pub(crate) fn session(&self) -> Option<usize> {
        match self {
            Self::Append { session, .. }
            | Self::Mark { session, .. }
            | Self::ReturnTo { session, .. }
            | Self::ReleaseMark { session, .. }
            | Self::Delete { session, .. }
            | Self::Upsert { session, .. }
            | Self::Update { session, .. }
            | Self::Truncate { session, .. }
            | Self::Read { session, .. }
            | Self::Create { session, .. }
            | Self::Drop { session, .. }
            | Self::Alter { session, .. }
            | Self::CreateRollup { session, .. }
            | Self::DropRollup { session, .. }
            | Self::Refresh { session, .. }
            | Self::ReadRollup { session, .. }
            | Self::Refer { session, .. }
            | Self::ReadReferences { session }
            | Self::Checkpoint { session, .. } => Some(*session),
            _ => None,
        }
    }

    /// The session that executes it.
    pub(crate) fn speaker(&self) -> Option<usize> {
        match self {
            Self::Begin { session } | Self::Commit { session } | Self::Rollback { session } => Some(*session),
            _ => self.session(),
        }
    }

    /// The table that it concerns, if sessions may change it.
    pub(crate) fn table(&self) -> Option<usize> {
        match self {
            Self::Append { table, .. }
            | Self::Delete { table, .. }
            | Self::Upsert { table, .. }
            | Self::Update { table, .. }
            | Self::Truncate { table, .. }
            | Self::Read { table, .. }
            | Self::Create { table, .. }
            | Self::Drop { table, .. }
            | Self::Alter { table, .. } => Some(*table),
            _ => None,
        }
    }

    /// The number of its kind. Histories leave out some kinds.
    pub(crate) fn family(&self) -> u32 {
        match self {
            Self::Append { .. } => 0,
            Self::OpenAppender { .. } | Self::Push { .. } | Self::Flush { .. } => 1,
            Self::Begin { .. } | Self::Commit { .. } | Self::Rollback { .. } => 2,
            Self::Mark { .. } | Self::ReturnTo { .. } | Self::ReleaseMark { .. } => 3,
            Self::Delete { .. } => 4,
            Self::Update { .. } | Self::Upsert { .. } => 5,
            Self::Truncate { .. } => 6,
            Self::Read { .. } => 7,
            Self::Create { .. } => 8,
            Self::Drop { .. } => 9,
            Self::Alter { .. } => 10,
            Self::Index { .. } => 11,
            Self::Seal { .. } => 12,
            Self::Look { .. } => 13,
            Self::Retain { .. } => 14,
            Self::Hold { .. } => 15,
            Self::Copy { .. } => 16,
            Self::Tick { .. } => 17,
            Self::Crash { .. } => 18,
            Self::CreateRollup { .. } | Self::DropRollup { .. } | Self::Refresh { .. } | Self::ReadRollup { .. } => 19,
            Self::Checkpoint { .. } => 20,
            Self::Backup { .. } | Self::Restore { .. } => 21,
            Self::Refer { .. } | Self::ReadReferences { .. } => REFERENCES_FAMILY,
        }
    }

    /// Returns whether a part of it may take effect although the rest does not.
    pub(crate) fn has_several_commits(&self) -> bool {
        matches!(self, Self::Index { .. } | Self::CreateRollup { .. })
    }

    /// Returns whether the action only reads.
    pub(crate) fn is_question(&self) -> bool {
        matches!(self, Self::Read { .. } | Self::ReadRollup { .. } | Self::ReadReferences { .. })
    }

    /// Returns whether it is only possible in SQL.
    pub(crate) fn is_of_sql(&self) -> bool {
        matches!(
            self,
            Self::Upsert { .. }
                | Self::CreateRollup { .. }
                | Self::DropRollup { .. }
                | Self::Refresh { .. }
                | Self::ReadRollup { .. }
                | Self::Refer { .. }
                | Self::ReadReferences { .. }
        )
    }

    /// The process that executes it.
    pub(crate) fn process(&self) -> usize {
        match self {
            Self::OpenAppender { session, .. } | Self::Push { session, .. } | Self::Flush { session } => {
                session % PROCESSES
            }
            Self::Index { process, .. }
            | Self::Seal { process }
            | Self::Look { process }
            | Self::Retain { process }
            | Self::Hold { process }
            | Self::Copy { process }
            | Self::Backup { process, .. }
            | Self::Restore { process, .. }
            | Self::Crash { process } => process % PROCESSES,
            _ => self.speaker().unwrap_or(0) % PROCESSES,
        }
    }
}
