//! Schema: what a table and its columns are.

use crate::error::{Error, ErrorKind, Result};
use crate::limits::COLUMNS_MAX;
use crate::name::{check_name, name_key, same_name, unknown_name};
use crate::slice::{Slice, SliceWidth};
use crate::time::{DAY_SECONDS, TimeUnit, civil_from_days, days_from_civil, days_in_month};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fmt;

/// A table's number in its store; never used again, also after DROP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TableId(pub i64);

/// A column's number in its table; never used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ColumnId(pub u16);

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ColumnType {
    /// true and false.
    Bool,
    /// 8-bit signed integers.
    Int8,
    /// 16-bit signed integers.
    Int16,
    /// 32-bit signed integers.
    Int32,
    /// 64-bit signed integers.
    Int64,
    /// 8-bit unsigned integers.
    UInt8,
    /// 16-bit unsigned integers.
    UInt16,
    /// 32-bit unsigned integers.
    UInt32,
    /// 64-bit unsigned integers.
    UInt64,
    /// 32-bit floating point numbers (IEEE 754), each bit pattern kept.
    Float32,
    /// 64-bit floating point numbers (IEEE 754), each bit pattern kept.
    Float64,
    /// UTF-8 text, NUL bytes included.
    Text,
    /// Bytes.
    Binary,
    /// Counts of a unit since the Unix epoch, UTC.
    Timestamp(TimeUnit),
    /// Days since the Unix epoch, 32 bits.
    Date,
}

impl ColumnType {
    /// All of them.
    pub const ALL: [Self; 18] = [
        Self::Bool,
        Self::Int8,
        Self::Int16,
        Self::Int32,
        Self::Int64,
        Self::UInt8,
        Self::UInt16,
        Self::UInt32,
        Self::UInt64,
        Self::Float32,
        Self::Float64,
        Self::Text,
        Self::Binary,
        Self::Timestamp(TimeUnit::Second),
        Self::Timestamp(TimeUnit::Millisecond),
        Self::Timestamp(TimeUnit::Microsecond),
        Self::Timestamp(TimeUnit::Nanosecond),
        Self::Date,
    ];

    /// The name in a stored definition and in `schema --format json`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Int8 => "int8",
            Self::Int16 => "int16",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::UInt8 => "uint8",
            Self::UInt16 => "uint16",
            Self::UInt32 => "uint32",
            Self::UInt64 => "uint64",
            Self::Float32 => "float32",
            Self::Float64 => "float64",
            Self::Text => "text",
            Self::Binary => "binary",
            Self::Timestamp(TimeUnit::Second) => "timestamp_s",
            Self::Timestamp(TimeUnit::Millisecond) => "timestamp_ms",
            Self::Timestamp(TimeUnit::Microsecond) => "timestamp_us",
            Self::Timestamp(TimeUnit::Nanosecond) => "timestamp_ns",
            Self::Date => "date",
        }
    }

    /// The SQL spelling, which `CREATE TABLE` reads back as the same type.
    pub const fn sql_name(self) -> &'static str {
        match self {
            Self::Bool => "BOOLEAN",
            Self::Int8 => "TINYINT",
            Self::Int16 => "SMALLINT",
            Self::Int32 => "INT",
            Self::Int64 => "BIGINT",
            Self::UInt8 => "TINYINT UNSIGNED",
            Self::UInt16 => "SMALLINT UNSIGNED",
            Self::UInt32 => "INT UNSIGNED",
            Self::UInt64 => "BIGINT UNSIGNED",
            Self::Float32 => "REAL",
            Self::Float64 => "DOUBLE",
            Self::Text => "TEXT",
            Self::Binary => "BLOB",
            Self::Timestamp(TimeUnit::Second) => "TIMESTAMP(0)",
            Self::Timestamp(TimeUnit::Millisecond) => "TIMESTAMP(3)",
            Self::Timestamp(TimeUnit::Microsecond) => "TIMESTAMP",
            Self::Timestamp(TimeUnit::Nanosecond) => "TIMESTAMP(9)",
            Self::Date => "DATE",
        }
    }

    /// Whether a time column may have this type: timestamps, dates, and integers of 32 bits and more.
    pub const fn can_be_time(self) -> bool {
        matches!(self, Self::Timestamp(_) | Self::Date | Self::Int32 | Self::Int64 | Self::UInt32 | Self::UInt64)
    }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl From<ColumnType> for String {
    fn from(column_type: ColumnType) -> Self {
        column_type.name().to_owned()
    }
}

impl TryFrom<String> for ColumnType {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        Self::ALL.into_iter().find(|ty| ty.name() == name).ok_or_else(|| format!("unknown column type {name}"))
    }
}

/// How wide the index of a mapped column is: the most strings its dictionary takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MapWidth {
    /// 8 bits: 256 strings.
    U8,
    /// 16 bits: 65,536 strings.
    U16,
    /// 32 bits: 4,294,967,296 strings.
    U32,
}

impl MapWidth {
    /// All of them, narrowest first.
    pub const ALL: [Self; 3] = [Self::U8, Self::U16, Self::U32];

    /// How many strings the dictionary takes.
    pub const fn capacity(self) -> u64 {
        match self {
            Self::U8 => 1 << 8,
            Self::U16 => 1 << 16,
            Self::U32 => 1 << 32,
        }
    }

    /// `u8`, `u16` or `u32`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
        }
    }

    /// The width of this [`name`](Self::name).
    pub fn parse(text: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|width| width.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| Error::usage(format!("unknown map width {text}")).with_hint("use u8, u16 or u32"))
    }
}

impl fmt::Display for MapWidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Its number.
    pub id: ColumnId,
    /// Its name, as written.
    pub name: String,
    /// What it holds.
    #[serde(rename = "type")]
    pub column_type: ColumnType,
    /// Whether it takes NULL.
    pub nullable: bool,
    /// For a mapped column (always text): the width of its index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<MapWidth>,
}

/// Which column is the time, and what it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeColumn {
    /// The column.
    pub column: ColumnId,
    /// What it counts. The unit of a timestamp column is its own; an integer column counts this unit.
    /// A date column counts days, and `unit` is then seconds: see [`TimeColumn::scale`].
    pub unit: TimeUnit,
}

/// How long rows are kept, counted back from now: whole calendar units. Text: `2 years`, `36 hours`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Retention {
    /// How many units.
    pub count: u32,
    /// Which unit.
    pub unit: SliceWidth,
}

impl Retention {
    /// The retention that a text such as `2 years` or `90 days` names.
    pub fn parse(text: &str) -> Result<Self> {
        let refuse = || {
            Error::usage(format!("cannot read the retention {text:?}"))
                .with_hint("write a count and hours, days, weeks, months or years: '90 days'")
        };
        let (count, unit) = text.trim().split_once(char::is_whitespace).ok_or_else(refuse)?;
        let count: u32 = count.parse().map_err(|_| refuse())?;
        let unit = unit.trim().to_ascii_lowercase();
        let unit = SliceWidth::parse(unit.strip_suffix('s').unwrap_or(&unit)).map_err(|_| refuse())?;
        if count == 0 {
            return Err(refuse());
        }
        Ok(Self { count, unit })
    }

    /// The earliest time that is kept, in `unit`, when it is `now_ms` (milliseconds since the epoch).
    pub fn cutoff(&self, now_ms: i64, unit: TimeUnit) -> i64 {
        let count = i64::from(self.count);
        let now_seconds = now_ms.div_euclid(1_000);
        let seconds = match self.unit {
            SliceWidth::Hour => now_seconds - count * 3_600,
            SliceWidth::Day => now_seconds - count * DAY_SECONDS,
            SliceWidth::Week => now_seconds - count * 7 * DAY_SECONDS,
            SliceWidth::Month => months_before(now_seconds, count),
            SliceWidth::Year => months_before(now_seconds, count * 12),
        };
        seconds.saturating_mul(unit.per_second())
    }
}

fn months_before(seconds: i64, months: i64) -> i64 {
    let (year, month, day) = civil_from_days(seconds.div_euclid(DAY_SECONDS));
    let index = year * 12 + i64::from(month) - 1 - months;
    let (year, month) = (index.div_euclid(12), index.rem_euclid(12) as u32 + 1);
    let days = days_from_civil(year, month, day.min(days_in_month(year, month)));
    days * DAY_SECONDS + seconds.rem_euclid(DAY_SECONDS)
}

impl fmt::Display for Retention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}{}", self.count, self.unit, if self.count == 1 { "" } else { "s" })
    }
}

impl From<Retention> for String {
    fn from(retention: Retention) -> Self {
        retention.to_string()
    }
}

impl TryFrom<String> for Retention {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        Self::parse(&text)
    }
}

/// What a table is, apart from its number. Stored as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableDefinition {
    /// Its name, as written.
    pub name: String,
    /// Its columns, in order.
    pub columns: Vec<Column>,
    /// The time column of a series table; a plain table has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<TimeColumn>,
    /// How wide its slices are. A plain table has one slice, whatever this says.
    pub slice: SliceWidth,
    /// The columns that tell the series apart, in the order a sealed chunk is sorted by; the time comes last by
    /// itself. Empty: sealing chooses by size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub key: Vec<ColumnId>,
    /// How long rows are kept; `None` is for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention: Option<Retention>,
}

impl TableDefinition {
    /// A plain table with no columns yet.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            columns: Vec::new(),
            time: None,
            slice: SliceWidth::Day,
            key: Vec::new(),
            retention: None,
        }
    }

    /// The same definition with one more column, numbered after the last.
    pub fn with_column(mut self, name: impl Into<String>, column_type: ColumnType, map: Option<MapWidth>) -> Self {
        let id = ColumnId(self.columns.len() as u16);
        self.columns.push(Column { id, name: name.into(), column_type, nullable: true, map });
        self
    }

    /// The same definition with this time column, which takes no NULL from now on. For a timestamp column the
    /// unit is its own and `unit` is not asked.
    pub fn with_time(mut self, name: &str, unit: TimeUnit) -> Result<Self> {
        let position = self.position(name)?;
        let column = &mut self.columns[position];
        if !column.column_type.can_be_time() {
            return Err(Error::usage(format!("column {name} of type {} cannot be the time", column.column_type))
                .with_hint("a time column is a timestamp, a date or an integer of 32 bits or more"));
        }
        column.nullable = false;
        let unit = match column.column_type {
            ColumnType::Timestamp(unit) => unit,
            ColumnType::Date => TimeUnit::Second,
            _ => unit,
        };
        self.time = Some(TimeColumn { column: column.id, unit });
        Ok(self)
    }

    /// The column of a name, compared without case.
    pub fn column(&self, name: &str) -> Result<&Column> {
        self.position(name).map(|position| &self.columns[position])
    }

    /// Where the column of a name stands.
    pub fn position(&self, name: &str) -> Result<usize> {
        self.columns.iter().position(|column| same_name(&column.name, name)).ok_or_else(|| {
            unknown_name("column", name, self.columns.iter().map(|column| column.name.as_str()))
                .context(format_args!("table {}", self.name))
        })
    }

    /// The column of a number.
    pub fn column_by_id(&self, id: ColumnId) -> Option<&Column> {
        self.columns.iter().find(|column| column.id == id)
    }

    /// The time column, for a series table.
    pub fn time_column(&self) -> Option<&Column> {
        self.time.and_then(|time| self.column_by_id(time.column))
    }

    /// The unit in which this table counts time: of its slices, ranges and chunks. Seconds for a plain table.
    pub fn time_unit(&self) -> TimeUnit {
        self.time.map_or(TimeUnit::Second, |time| time.unit)
    }

    /// What one step of the time column's stored value is in [`time_unit`](Self::time_unit)s: 86,400 for a date,
    /// else 1.
    pub fn time_scale(&self) -> i64 {
        match self.time_column().map(|column| column.column_type) {
            Some(ColumnType::Date) => DAY_SECONDS,
            _ => 1,
        }
    }

    /// The slice that a time of this table falls in.
    pub fn slice_of(&self, time: i64) -> Slice {
        match self.time {
            Some(time_column) => self.slice.slice_of(time, time_column.unit),
            None => Slice::PLAIN,
        }
    }

    /// Refuses a definition that no store takes. Every store calls it before it creates a table.
    pub fn check(&self) -> Result<()> {
        check_name("table", &self.name)?;
        if self.columns.is_empty() {
            return Err(Error::usage(format!("table {} has no columns", self.name)));
        }
        if self.columns.len() > COLUMNS_MAX {
            let message = format!("table {} has {} columns; the most is {COLUMNS_MAX}", self.name, self.columns.len());
            return Err(Error::new(ErrorKind::Limit, message));
        }
        let (mut names, mut ids) = (HashSet::new(), HashSet::new());
        for column in &self.columns {
            check_name("column", &column.name)?;
            if !names.insert(name_key(&column.name)) {
                return Err(Error::usage(format!("table {} has two columns named {}", self.name, column.name)));
            }
            if !ids.insert(column.id) {
                return Err(Error::internal(format!("table {} has two columns numbered {}", self.name, column.id.0)));
            }
            if column.map.is_some() && column.column_type != ColumnType::Text {
                return Err(Error::usage(format!(
                    "column {} of type {} cannot be mapped",
                    column.name, column.column_type
                ))
                .with_hint("only text columns are mapped"));
            }
        }
        match (self.time, self.time_column()) {
            (Some(_), None) => return Err(Error::internal(format!("table {}: no such time column", self.name))),
            (Some(_), Some(column)) if column.nullable || !column.column_type.can_be_time() => {
                return Err(Error::internal(format!("table {}: {} cannot be the time", self.name, column.name)));
            }
            (None, _) if self.retention.is_some() => {
                return Err(Error::usage(format!("table {} has a retention but no time column", self.name))
                    .with_hint("declare one: WITH (time = 'COLUMN')"));
            }
            _ => {}
        }
        match self.key.iter().find(|id| self.column_by_id(**id).is_none()) {
            Some(id) => Err(Error::internal(format!("table {}: no key column {}", self.name, id.0))),
            None => Ok(()),
        }
    }
}

/// A table of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Its number.
    pub id: TableId,
    /// What it is.
    pub definition: TableDefinition,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings() -> TableDefinition {
        TableDefinition::new("readings")
            .with_column("time", ColumnType::Timestamp(TimeUnit::Microsecond), None)
            .with_column("sensor", ColumnType::Text, Some(MapWidth::U32))
            .with_time("TIME", TimeUnit::Second)
            .unwrap()
    }

    #[test]
    fn a_definition_comes_back_from_json() {
        let mut definition = readings();
        definition.retention = Some(Retention::parse("2 years").unwrap());
        let json = serde_json::to_string(&definition).unwrap();
        assert_eq!(serde_json::from_str::<TableDefinition>(&json).unwrap(), definition);
        assert_eq!(definition.time_unit(), TimeUnit::Microsecond);
    }

    #[test]
    fn type_names_are_their_own() {
        for column_type in ColumnType::ALL {
            assert_eq!(ColumnType::try_from(column_type.name().to_owned()), Ok(column_type));
        }
    }

    #[test]
    fn what_no_store_can_hold_is_refused() {
        readings().check().unwrap();
        assert!(TableDefinition::new("t").check().is_err());
        assert!(readings().with_column("SENSOR", ColumnType::Bool, None).check().is_err());
        assert!(readings().with_column("x", ColumnType::Int8, Some(MapWidth::U8)).check().is_err());
        assert!(readings().column("senser").unwrap_err().to_string().contains("did you mean sensor?"));
    }

    #[test]
    fn retention_counts_calendar_units_back() {
        let now_ms = 1_709_164_800_000; // 2024-02-29
        let cutoff = |text: &str| Retention::parse(text).unwrap().cutoff(now_ms, TimeUnit::Second);
        assert_eq!(cutoff("1 year"), 1_677_542_400); // 2023-02-28
        assert_eq!(cutoff("36 hours"), 1_709_164_800 - 36 * 3_600);
        for bad in ["", "2", "0 days", "-1 days", "2 fortnights"] {
            assert!(Retention::parse(bad).is_err(), "{bad}");
        }
    }
}
