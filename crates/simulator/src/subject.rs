//! The objects of actions: tables, their rows, alterations, rollups.

/// The names of tables.
pub const TABLE_NAMES: [&str; 4] = ["alpha", "beta", "gamma", "delta"];
/// The names of rollups.
pub const ROLLUP_NAMES: [&str; 2] = ["hourly", "daily"];

/// The milliseconds of an hour.
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
    /// The number of the sensor, in a mapped column.
    pub sensor: Option<i64>,
    /// The number of the note, in a text column.
    pub note: Option<i64>,
    /// A number.
    pub count: Option<i64>,
    /// The values of added columns.
    pub extra: Option<i64>,
}

/// Selects rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowSelection {
    /// All rows.
    All,
    /// Rows before this time. In a plain table, rows with a smaller count.
    Before(i64),
    /// Rows of this sensor.
    Sensor(i64),
    /// Rows with this count.
    Count(i64),
    /// Rows whose note is NULL.
    NoNote,
}

/// The kind of table that is created.
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
    /// A table in memory, without a key.
    Resident,
    /// In memory; no two rows have the same count.
    ResidentCounted,
}

/// The conflict policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Policy {
    /// New rows are refused.
    Error,
    /// New rows replace the others.
    Replace,
    /// New rows are skipped.
    Keep,
    /// The other rows get the values of the new ones that are not NULL. Only a table has this policy, not a statement.
    Merge,
}

/// How a definition changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alteration {
    /// Adds a column, with this value in existing rows.
    AddColumn(Option<i64>),
    /// Drops the last added column.
    DropColumn,
    /// The notes' column gets another name, or its first one again.
    RenameNote,
    /// The table gets another name.
    Rename(usize),
    /// The sensors' map gets wider.
    Widen,
    /// Slices are a day wide instead of an hour, or the other way round.
    Slice,
    /// Rows are kept for this many days; 0 means for ever.
    Retain(u32),
    /// The counts become a key, or are no longer one.
    Key,
}

/// The values that a rollup computes for each bucket: the sum and the number of counts, and the number of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// Whether buckets are a day wide, instead of an hour.
    pub daily: bool,
    /// Whether it groups by sensor.
    pub by_sensor: bool,
    /// Whether notes are counted, too.
    pub notes: bool,
}

impl Summary {
    /// The width of a bucket in seconds.
    pub(crate) fn width(self) -> i64 {
        if self.daily { 86_400 } else { 3_600 }
    }

    /// The beginning of the bucket of a time, in seconds.
    pub(crate) fn bucket(self, seconds: i64) -> i64 {
        seconds.div_euclid(self.width()) * self.width()
    }
}

/// The backup that is restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WhichBackup {
    /// The newest.
    Newest,
    /// The newest one of this many hours ago, minus half an hour.
    HoursAgo(i64),
}

impl WhichBackup {
    /// The latest time at which it may have been made, in milliseconds.
    pub(crate) fn until_ms(self, now_ms: i64) -> i64 {
        match self {
            Self::Newest => i64::MAX,
            Self::HoursAgo(hours) => now_ms - hours * HOUR_MS + HOUR_MS / 2,
        }
    }
}
