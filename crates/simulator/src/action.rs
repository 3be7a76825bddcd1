//! What a history is made of. `Debug` prints it as Rust, so that a history can be pasted into a test.
//!
//! Actions name tables, sessions and marks by small numbers. What a number stands for may not be there: then the action is
//! refused, by the model too. So any step can be left out of a history, and what is left is a history.

/// How many processes share the store.
pub const PROCESSES: usize = 3;
/// Sessions that transactions are made in; session `n` is in process `n % PROCESSES`.
pub const SESSIONS: usize = 4;
/// Names that tables have.
pub const TABLE_NAMES: [&str; 4] = ["alpha", "beta", "gamma", "delta"];

/// What sessions speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// The calls of the engine.
    Calls,
    /// SQL.
    Sql,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What is done.
    pub action: Action,
    /// What goes wrong meanwhile.
    pub trouble: Option<Trouble>,
}

/// What goes wrong at the store's call of this number, counted from 0 within the step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// The call. If the step makes fewer, nothing goes wrong.
    pub call: i64,
    /// What happens.
    pub kind: TroubleKind,
}

/// What happens at a call of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TroubleKind {
    /// It fails, and nothing of it is done.
    Fails,
    /// It is done, and its answer is lost.
    AnswerLost,
    /// The process ends before it.
    CrashBefore,
    /// The process ends after it.
    CrashAfter,
    /// It takes so long that another process does this before.
    Stall(Box<Action>),
}

/// The values of a row. Columns that are added later have `extra`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cells {
    /// Half hours since the beginning.
    pub time: i64,
    /// Which sensor: a mapped column.
    pub sensor: Option<i64>,
    /// Which note: text.
    pub note: Option<i64>,
    /// A number.
    pub count: Option<i64>,
    /// What added columns get.
    pub extra: Option<i64>,
}

/// Which rows are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// All.
    All,
    /// Those before a time; in a plain table, those of smaller counts.
    Before(i64),
    /// Those of a sensor.
    Sensor(i64),
    /// Those of a count.
    Count(i64),
    /// Those whose note is NULL.
    NoNote,
}

/// What kind of table is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// No time, no key.
    Plain,
    /// No time; no two rows have the same count.
    Counted,
    /// A time.
    Series,
    /// A time; no two rows have the same sensor and time.
    Keyed,
    /// The same, and rows older than two days expire.
    Expiring,
}

/// What becomes of rows whose key is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// They are refused.
    Error,
    /// They replace the others.
    Replace,
    /// They are left out.
    Keep,
}

/// How a definition changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alteration {
    /// Another column, with this value in the rows that are there.
    AddColumn(Option<i64>),
    /// The last of the columns that were added goes.
    DropColumn,
    /// The notes' column gets another name, or its old one.
    RenameNote,
    /// The table gets another name.
    Rename(usize),
    /// The sensors' map gets wider.
    Widen,
    /// Slices are a day wide instead of an hour, or the other way round.
    Slice,
    /// Rows are kept for so many days; 0 is for ever.
    Retain(u32),
}

/// Something that somebody does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Rows are appended, in the session's transaction or by themselves.
    Append {
        /// By which session.
        session: usize,
        /// To which table.
        table: usize,
        /// What becomes of rows whose keys are there, unless the table says it.
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
    /// Rows are given to an appender.
    Push {
        /// By which session.
        session: usize,
        /// Whether they are given as a batch, instead of one by one.
        together: bool,
        /// The rows.
        rows: Vec<Cells>,
    },
    /// Rows that were pushed become visible.
    Flush {
        /// Of which session.
        session: usize,
    },
    /// A transaction begins.
    Begin {
        /// In which session.
        session: usize,
    },
    /// It ends, and what was done in it becomes visible.
    Commit {
        /// In which session.
        session: usize,
    },
    /// It ends, and nothing of it stays.
    Rollback {
        /// In which session.
        session: usize,
    },
    /// A savepoint is set.
    Mark {
        /// In which session.
        session: usize,
        /// Its name.
        mark: u8,
    },
    /// What was done since a savepoint is taken back.
    ReturnTo {
        /// In which session.
        session: usize,
        /// Its name.
        mark: u8,
    },
    /// A savepoint is forgotten.
    ReleaseMark {
        /// In which session.
        session: usize,
        /// Its name.
        mark: u8,
    },
    /// Rows are deleted.
    Delete {
        /// By which session.
        session: usize,
        /// In which table.
        table: usize,
        /// Which ones.
        rows: Rows,
    },
    /// A row is appended, or the note of the row is set that has its key. By SQL alone.
    Upsert {
        /// By which session.
        session: usize,
        /// In which table.
        table: usize,
        /// The row.
        row: Cells,
    },
    /// The note of rows is set.
    Update {
        /// By which session.
        session: usize,
        /// In which table.
        table: usize,
        /// Which ones.
        rows: Rows,
        /// To what.
        note: Option<i64>,
    },
    /// All rows of a table go.
    Truncate {
        /// By which session.
        session: usize,
        /// In which table.
        table: usize,
    },
    /// A table is read, as the session sees it.
    Read {
        /// By which session.
        session: usize,
        /// Which one.
        table: usize,
    },
    /// A table is created.
    Create {
        /// By which session.
        session: usize,
        /// Its name.
        table: usize,
        /// Of what kind.
        shape: Shape,
        /// What becomes of rows whose keys are there.
        policy: Policy,
    },
    /// A table is dropped.
    Drop {
        /// By which session.
        session: usize,
        /// Which one.
        table: usize,
    },
    /// A table's definition changes.
    Alter {
        /// By which session.
        session: usize,
        /// Of which table.
        table: usize,
        /// How.
        alteration: Alteration,
    },
    /// An index over the counts is declared and built, or dropped if it is there.
    Index {
        /// By which process.
        process: usize,
        /// Of which table.
        table: usize,
    },
    /// Everything is sealed.
    Seal {
        /// By which process.
        process: usize,
    },
    /// What the background thread does.
    Look {
        /// In which process.
        process: usize,
    },
    /// Expired slices go.
    Retain {
        /// By which process.
        process: usize,
    },
    /// A snapshot is taken, and held until another takes its place.
    Hold {
        /// By which process.
        process: usize,
    },
    /// Everything is copied to a store of its own.
    Copy {
        /// By which process.
        process: usize,
    },
    /// Time goes by.
    Tick {
        /// How many hours.
        hours: i64,
    },
    /// A process ends without a word, and begins again.
    Crash {
        /// Which one.
        process: usize,
    },
}

impl Action {
    /// The session whose transaction it belongs to, if there is one.
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
            | Self::Alter { session, .. } => Some(*session),
            _ => None,
        }
    }

    /// The session that it is said in.
    pub(crate) fn speaker(&self) -> Option<usize> {
        match self {
            Self::Begin { session } | Self::Commit { session } | Self::Rollback { session } => Some(*session),
            _ => self.session(),
        }
    }

    /// The table that it is about, of those that a session may change.
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

    /// Which kind of action it is: histories leave some kinds out.
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
        }
    }

    /// The process that does it.
    pub(crate) fn process(&self) -> usize {
        match self {
            Self::Append { session, .. }
            | Self::OpenAppender { session, .. }
            | Self::Push { session, .. }
            | Self::Flush { session }
            | Self::Begin { session }
            | Self::Commit { session }
            | Self::Rollback { session }
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
            | Self::Alter { session, .. } => session % PROCESSES,
            Self::Index { process, .. }
            | Self::Seal { process }
            | Self::Look { process }
            | Self::Retain { process }
            | Self::Hold { process }
            | Self::Copy { process }
            | Self::Crash { process } => process % PROCESSES,
            Self::Tick { .. } => 0,
        }
    }
}
