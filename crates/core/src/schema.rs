//! Schema: the definitions of tables and columns.

use crate::check::Check;
use crate::column::Column;
use crate::column_type::{ColumnType, MapWidth};
use crate::error::{Error, Result};
use crate::foreign_key::ForeignKey;
use crate::id::{ColumnId, TableId};
use crate::limits::INDEX_ID_MIN;
use crate::name::{parse_name, same_name, unknown_name};
use crate::origin::Origin;
use crate::retention::Retention;
use crate::rollup::Rollup;
use crate::slice::{Slice, SliceWidth};
use crate::time::{DAY_SECONDS, TimeUnit};
use crate::view::{MaterializedView, View};
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

/// A uniqueness constraint: no two rows have the same values in these columns. Rows with a NULL in one of them never
/// conflict, unless [`nulls_equal`](Self::nulls_equal) is set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unique {
    /// The constraint's name, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The columns, in the declared order.
    pub columns: Vec<ColumnId>,
    /// Whether it is the primary key. Its columns do not accept NULL.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub primary: bool,
    /// Whether a NULL equals another NULL (`NULLS NOT DISTINCT`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nulls_equal: bool,
    /// Whether it is a unique index (`CREATE UNIQUE INDEX`). It forbids the same rows, but is not listed as a
    /// constraint.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub index: bool,
}

impl Unique {
    /// Creates a key without a name that is a constraint, but not the primary key, and in which NULLs never conflict.
    pub fn new(columns: Vec<ColumnId>) -> Self {
        Self { name: None, columns, primary: false, nulls_equal: false, index: false }
    }
}

/// The reaction to a row whose key already exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum ConflictPolicy {
    /// The whole batch is refused.
    #[default]
    Error,
    /// The new row replaces the existing one.
    Replace,
    /// The existing row stays, and the new one is skipped.
    Keep,
    /// The existing row gets the values of the new row that are not NULL. The table has one key.
    Merge,
}

impl ConflictPolicy {
    /// All policies.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// `error`, `replace`, `keep` or `merge`.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Parses a [`name`](Self::name) in either case. Everything else is a [`Usage`](crate::ErrorKind::Usage) error.
    pub fn parse(text: &str) -> Result<Self> {
        parse_name("on_conflict", text)
    }
}

/// An index: for each chunk a membership filter over columns, which excludes values that the chunk does not contain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Index {
    /// The number of its pages, beside those of the columns. It is [`INDEX_ID_MIN`] or higher, and never reused.
    pub id: ColumnId,
    /// Its name, as written.
    pub name: String,
    /// The columns, in the declared order.
    pub columns: Vec<ColumnId>,
}

/// Options of an in-memory table: its rows are in the process, and the store has the table's definition and the rows
/// that were saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InMemory {
    /// The maximum size of the table in bytes, including its indexes; `None` is limited by the process only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_max: Option<u64>,
}

/// The time column and its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeColumn {
    /// The column.
    pub column: ColumnId,
    /// The unit of the time. A timestamp column has its own unit; an integer column counts this unit. A date column
    /// counts days, and `unit` is then seconds: see [`TableDefinition::time_scale`].
    pub unit: TimeUnit,
}

/// The definition of a table, without its number. It is stored as JSON. A program that finds an unknown field refuses
/// the table, since it could violate what the field requires.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableDefinition {
    /// Its name, as written. No other table has it. In another schema than `public` it begins with the schema and a
    /// dot.
    pub name: String,
    /// The schema, if it is another one than `public`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// Its columns, in order.
    pub columns: Vec<Column>,
    /// The time column of a series table; `None` for a plain table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<TimeColumn>,
    /// The width of the slices. A plain table has one slice, for any width.
    pub slice: SliceWidth,
    /// The series key: the columns that distinguish the series, in the sort order of sealed chunks; the time follows
    /// implicitly. If it is empty, sealing chooses a key by size.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub key: Vec<ColumnId>,
    /// The period for which rows are kept; `None` is forever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retention: Option<Retention>,
    /// The period, back from now, whose rows are kept decoded in the memory of each process that has the store open;
    /// `None` keeps none. Only for series tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preload: Option<Retention>,
    /// The unique keys. The primary key, if there is one, comes first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unique: Vec<Unique>,
    /// The conditions that every row satisfies: its CHECK constraints.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
    /// The keys of other tables that its rows have: its foreign keys.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub foreign_keys: Vec<ForeignKey>,
    /// The reaction to rows with an existing key, unless the statement names another one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_conflict: ConflictPolicy,
    /// The indexes: membership filters, or hash indexes for an in-memory table.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub indexes: Vec<Index>,
    /// The options of an in-memory table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<InMemory>,
    /// Whether it is a sequence: its only column is an identity, whose numbers are those of the sequence, and it has no
    /// rows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sequence: bool,
    /// The labels of an enumerated type, which has no columns, in their order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<Vec<String>>,
    /// The query of a view, which has no columns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<View>,
    /// The query of a materialized view, and whether its rows are there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub materialized: Option<MaterializedView>,
    /// The source of a rollup's rows. Nothing else adds or changes rows of a rollup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollup: Option<Rollup>,
    /// The change log of a table with rollups: a table that records which of its times changed. `None` for other
    /// tables. Every removal of a chunk, except by [`retention`](Self::retention), adds to it in the same commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change_log: Option<TableId>,
    /// The table to which a change log belongs; `None` for other tables. Users do not see change logs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logs: Option<TableId>,
    /// Whether the table belongs to the program, such as the one of users. Users do not see it, and statements cannot
    /// name it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub system: bool,
    /// The origin of a table that was copied from another store; `None` for other tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Column numbers below this one have been assigned, including those of dropped columns.
    #[serde(default, skip_serializing_if = "is_default")]
    pub columns_given: u16,
    /// The number of assigned index numbers, including those of dropped indexes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub indexes_given: u16,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl TableDefinition {
    /// Creates the definition of a plain table without columns.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            schema: None,
            columns: Vec::new(),
            time: None,
            slice: SliceWidth::Day,
            key: Vec::new(),
            retention: None,
            preload: None,
            unique: Vec::new(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            on_conflict: ConflictPolicy::Error,
            indexes: Vec::new(),
            memory: None,
            sequence: false,
            labels: None,
            view: None,
            materialized: None,
            rollup: None,
            change_log: None,
            logs: None,
            system: false,
            origin: None,
            columns_given: 0,
            indexes_given: 0,
        }
    }

    /// Adds a column with the next number.
    pub fn with_column(mut self, name: impl Into<String>, column_type: ColumnType, map: Option<MapWidth>) -> Self {
        let id = self.next_column_id();
        self.columns.push(Column { map, ..Column::new(id, name, column_type) });
        self.columns_given = id.0 + 1;
        self
    }

    /// Returns the number of the next column, which no column has or had.
    pub fn next_column_id(&self) -> ColumnId {
        let after_last = self.columns.iter().map(|column| column.id.0 + 1).max().unwrap_or(0);
        ColumnId(after_last.max(self.columns_given))
    }

    /// Returns the number of the next index.
    pub fn next_index_id(&self) -> ColumnId {
        ColumnId(INDEX_ID_MIN + self.indexes_given)
    }

    /// Returns the index with this name, compared without case.
    pub fn index(&self, name: &str) -> Option<&Index> {
        self.indexes.iter().find(|index| same_name(&index.name, name))
    }

    /// Returns the indexes with membership filters in chunks. An in-memory table has none, since its chunks are read
    /// completely.
    pub fn filtered_indexes(&self) -> &[Index] {
        if self.is_in_memory() { &[] } else { &self.indexes }
    }

    pub(crate) fn has_mapped(&self) -> bool {
        self.columns.iter().any(|column| column.map.is_some())
    }

    /// Returns whether it is an in-memory table.
    pub fn is_in_memory(&self) -> bool {
        self.memory.is_some()
    }

    /// Returns whether the table has unique keys.
    pub fn has_unique(&self) -> bool {
        !self.unique.is_empty()
    }

    /// Sets the time column, which no longer accepts NULL. A timestamp column has its own unit, and `unit` is ignored.
    /// It is a [`NotFound`](crate::ErrorKind::NotFound) error if there is no such column, and
    /// [`Usage`](crate::ErrorKind::Usage) if its type cannot be the time.
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

    /// Returns the column with this name, compared without case.
    pub fn column(&self, name: &str) -> Result<&Column> {
        self.position(name).map(|position| &self.columns[position])
    }

    /// Returns the position of the column with this name.
    pub fn position(&self, name: &str) -> Result<usize> {
        self.columns.iter().position(|column| same_name(&column.name, name)).ok_or_else(|| {
            unknown_name("column", name, self.columns.iter().map(|column| column.name.as_str()))
                .context(format_args!("table {}", self.name))
        })
    }

    /// Returns the column with this number.
    pub fn column_by_id(&self, id: ColumnId) -> Option<&Column> {
        self.columns.iter().find(|column| column.id == id)
    }

    /// Returns the time column of a series table.
    pub fn time_column(&self) -> Option<&Column> {
        self.time.and_then(|time| self.column_by_id(time.column))
    }

    /// Returns the time unit of the table's slices, ranges and chunks. It is seconds for a plain table.
    pub fn time_unit(&self) -> TimeUnit {
        self.time.map_or(TimeUnit::Second, |time| time.unit)
    }

    /// Returns how many [`time_unit`](Self::time_unit)s one step of the time column's stored value is: 86,400 for a
    /// date, else 1.
    pub fn time_scale(&self) -> i64 {
        match self.time_column().map(|column| column.column_type) {
            Some(ColumnType::Date) => DAY_SECONDS,
            _ => 1,
        }
    }

    /// Returns the slice that contains a time of this table.
    pub fn slice_of(&self, time: i64) -> Slice {
        match self.time {
            Some(time_column) => self.slice.slice_of(time, time_column.unit),
            None => Slice::PLAIN,
        }
    }
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
    fn what_no_store_can_hold_is_refused() {
        readings().check().unwrap();
        assert!(TableDefinition::new("t").check().is_err());
        assert!(readings().with_column("SENSOR", ColumnType::Bool, None).check().is_err());
        assert!(readings().with_column("x", ColumnType::Int8, Some(MapWidth::U8)).check().is_err());
        assert!(readings().column("senser").unwrap_err().to_string().contains("did you mean sensor?"));
    }
}
