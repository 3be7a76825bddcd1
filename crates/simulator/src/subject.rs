//! What actions are about: tables, their rows, changes of them, rollups.

/// Names that tables have.
pub const TABLE_NAMES: [&str; 4] = ["alpha", "beta", "gamma", "delta"];
/// Names that rollups have.
pub const ROLLUP_NAMES: [&str; 2] = ["hourly", "daily"];

/// An hour, in milliseconds.
const HOUR_MS: i64 = 3_600_000;

/// The name of a table.
pub(crate) fn table_name(table: usize) -> &'static str {
    TABLE_NAMES[table % TABLE_NAMES.len()]
}

/// The name of a rollup.
pub(crate) fn rollup_name(rollup: usize) -> &'static str {
    ROLLUP_NAMES[rollup % ROLLUP_NAMES.len()]
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
    /// In memory: rows live in the process, without a key.
    Resident,
    /// In memory; no two rows have the same count.
    ResidentCounted,
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
    /// The others get their values that are not NULL. Only a table has this policy, not a statement.
    Merge,
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
    /// The counts become a key, or are none any more.
    Key,
}

/// What a rollup computes of each bucket: the sum and the number of counts, and how many rows there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// Whether buckets are a day wide, instead of an hour.
    pub daily: bool,
    /// Whether sensors are told apart.
    pub by_sensor: bool,
    /// Whether notes are counted, too.
    pub notes: bool,
}

impl Summary {
    /// How wide a bucket is, in seconds.
    pub(crate) fn width(self) -> i64 {
        if self.daily { 86_400 } else { 3_600 }
    }

    /// Where the bucket of a time begins, in seconds.
    pub(crate) fn bucket(self, seconds: i64) -> i64 {
        seconds.div_euclid(self.width()) * self.width()
    }
}

/// Which backup is restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhichBackup {
    /// The newest.
    Newest,
    /// The newest of so many hours ago, but for half an hour.
    HoursAgo(i64),
}

impl WhichBackup {
    /// The last moment at which it may have been taken, in milliseconds.
    pub(crate) fn until_ms(self, now_ms: i64) -> i64 {
        match self {
            Self::Newest => i64::MAX,
            Self::HoursAgo(hours) => now_ms - hours * HOUR_MS + HOUR_MS / 2,
        }
    }
}
