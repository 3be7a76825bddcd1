//! Schema: what a table and its columns are.

use crate::column_type::{ColumnType, MapWidth};
use crate::error::{Error, ErrorKind, Result};
use crate::id::{ColumnId, TableId};
use crate::limits::{COLUMNS_MAX, INDEX_ID_MIN};
use crate::name::{check_name, name_key, same_name, unknown_name};
use crate::origin::Origin;
use crate::retention::Retention;
use crate::rollup::Rollup;
use crate::slice::{Slice, SliceWidth};
use crate::time::{DAY_SECONDS, TimeUnit};
use crate::value::Value;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// One column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
    /// What an INSERT gives that does not name it; NULL without. Of a mapped column it is the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// What rows have in it that are older than the column; NULL without. Of a mapped column it is the index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<Value>,
}

impl Column {
    /// A column that takes NULL, is not mapped and has no default.
    pub fn new(id: ColumnId, name: impl Into<String>, column_type: ColumnType) -> Self {
        Self { id, name: name.into(), column_type, nullable: true, map: None, default: None, missing: None }
    }
}

/// A constraint: no two rows have the same values in these columns. Rows with a NULL in one of them are never the
/// same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unique {
    /// Its name, if it was given one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its columns, in the order declared.
    pub columns: Vec<ColumnId>,
    /// Whether it is the primary key. Its columns take no NULL.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub primary: bool,
}

/// What becomes of a row whose key another row has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ConflictPolicy {
    /// The whole batch is refused.
    #[default]
    Error,
    /// The new row takes the other's place.
    Replace,
    /// The other row stays, the new one is left out.
    Keep,
}

impl ConflictPolicy {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Error, Self::Replace, Self::Keep];

    /// `error`, `replace` or `keep`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Replace => "replace",
            Self::Keep => "keep",
        }
    }

    /// The policy of this [`name`](Self::name).
    pub fn parse(text: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|policy| policy.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| Error::usage(format!("unknown on_conflict {text}")).with_hint("use error, replace or keep"))
    }
}

/// A membership filter over columns: for each chunk a page that tells which values it cannot hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Index {
    /// Under which number its pages lie, beside those of the columns; [`INDEX_ID_MIN`]
    /// or higher, and never used again.
    pub id: ColumnId,
    /// Its name, as written.
    pub name: String,
    /// Its columns, in the order declared.
    pub columns: Vec<ColumnId>,
}

/// Rows that live in the process; the store has their table's definition, and those of them that were saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InMemory {
    /// The most bytes that the table takes, its indexes included; `None` is as much as the process may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_max: Option<u64>,
}

/// A view: a table that holds nothing, and is asked by a query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct View {
    /// The query, as written.
    pub query: String,
}

/// Which column is the time, and what it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeColumn {
    /// The column.
    pub column: ColumnId,
    /// What it counts. The unit of a timestamp column is its own; an integer column counts this unit.
    /// A date column counts days, and `unit` is then seconds: see [`TableDefinition::time_scale`].
    pub unit: TimeUnit,
}

/// What a table is, apart from its number. Stored as JSON; a program that meets a field it does not know refuses the
/// table rather than break what the field promises.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
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
    /// For a series table: up to how long ago rows are kept decoded in the memory of each process that has the store open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preload: Option<Retention>,
    /// What no two rows have in common. The primary key, if there is one, comes first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unique: Vec<Unique>,
    /// What becomes of rows that break it, unless the statement says otherwise.
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_conflict: ConflictPolicy,
    /// Membership filters; of a table in memory hash indexes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub indexes: Vec<Index>,
    /// For a table whose rows live in the process: how.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<InMemory>,
    /// For a view: its query. A view has no columns of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<View>,
    /// For a rollup: what its rows are computed from. Nobody else adds to it or changes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollup: Option<Rollup>,
    /// For a table that has rollups: the one that notes which of its times were changed. Whoever removes a chunk, but
    /// for [`retention`](Self::retention), adds to it in the same commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change_log: Option<TableId>,
    /// For such a log: whose it is. It is shown to nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logs: Option<TableId>,
    /// For a table that was copied from another store: from where.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// Numbers of columns below this were given, also to columns that are gone.
    #[serde(default, skip_serializing_if = "is_default")]
    pub columns_given: u16,
    /// How many numbers of indexes were given, also to indexes that are gone.
    #[serde(default, skip_serializing_if = "is_default")]
    pub indexes_given: u16,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
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
            preload: None,
            unique: Vec::new(),
            on_conflict: ConflictPolicy::Error,
            indexes: Vec::new(),
            memory: None,
            view: None,
            rollup: None,
            change_log: None,
            logs: None,
            origin: None,
            columns_given: 0,
            indexes_given: 0,
        }
    }

    /// A view of this query.
    pub fn new_view(name: impl Into<String>, query: impl Into<String>) -> Self {
        Self { view: Some(View { query: query.into() }), ..Self::new(name) }
    }

    /// The same definition with one more column, numbered after the last.
    pub fn with_column(mut self, name: impl Into<String>, column_type: ColumnType, map: Option<MapWidth>) -> Self {
        let id = self.next_column_id();
        self.columns.push(Column { map, ..Column::new(id, name, column_type) });
        self.columns_given = id.0 + 1;
        self
    }

    /// The number of the next column: one that no column has or had.
    pub fn next_column_id(&self) -> ColumnId {
        let after_last = self.columns.iter().map(|column| column.id.0 + 1).max().unwrap_or(0);
        ColumnId(after_last.max(self.columns_given))
    }

    /// The number of the next index.
    pub fn next_index_id(&self) -> ColumnId {
        ColumnId(INDEX_ID_MIN + self.indexes_given)
    }

    /// The index of a name, compared without case.
    pub fn index(&self, name: &str) -> Option<&Index> {
        self.indexes.iter().find(|index| same_name(&index.name, name))
    }

    /// The indexes of which chunks carry a filter: none of a table in memory, whose chunks are read whole.
    pub fn filtered_indexes(&self) -> &[Index] {
        if self.is_in_memory() { &[] } else { &self.indexes }
    }

    fn has_mapped(&self) -> bool {
        self.columns.iter().any(|column| column.map.is_some())
    }

    /// Whether its rows live in the process.
    pub fn is_in_memory(&self) -> bool {
        self.memory.is_some()
    }

    /// Whether rows are checked against a key.
    pub fn has_unique(&self) -> bool {
        !self.unique.is_empty()
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
        if self.view.is_some() {
            return match self.columns.is_empty() {
                true => Ok(()),
                false => Err(Error::internal(format!("view {} has columns of its own", self.name))),
            };
        }
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
            _ if self.memory.is_some() && self.what_memory_has_not().is_some() => {
                let what = self.what_memory_has_not().unwrap_or_default();
                return Err(Error::usage(format!("table {} is in memory and has {what}", self.name))
                    .with_hint("leave it out: that is for tables that are stored"));
            }
            (None, _) if self.retention.is_some() => {
                return Err(Error::usage(format!("table {} has a retention but no time column", self.name))
                    .with_hint("declare one: WITH (time = 'COLUMN')"));
            }
            (None, _) if self.preload.is_some() => {
                return Err(Error::usage(format!("table {} has preload but no time column", self.name))
                    .with_hint("declare one: WITH (time = 'COLUMN')"));
            }
            _ => {}
        }
        if self.rollup.is_some() && self.time.is_none() {
            return Err(Error::internal(format!("rollup {} has no time column", self.name)));
        }
        let keys = self.key.iter().chain(self.unique.iter().flat_map(|unique| &unique.columns));
        let mut keys = keys.chain(self.indexes.iter().flat_map(|index| &index.columns));
        if let Some(id) = keys.find(|id| self.column_by_id(**id).is_none()) {
            return Err(Error::internal(format!("table {}: no key column {}", self.name, id.0)));
        }
        self.check_constraints()
    }

    /// What only tables that are stored have, and this one has too.
    fn what_memory_has_not(&self) -> Option<&'static str> {
        match () {
            () if self.retention.is_some() => Some("a retention"),
            () if self.preload.is_some() => Some("preload"),
            () if self.has_mapped() => Some("mapped columns"),
            () => None,
        }
    }

    fn check_constraints(&self) -> Result<()> {
        for unique in &self.unique {
            if unique.columns.is_empty() {
                return Err(Error::usage(format!("table {}: a key without columns", self.name)));
            }
            let nullable = unique.columns.iter().filter_map(|id| self.column_by_id(*id)).find(|column| column.nullable);
            if let (true, Some(column)) = (unique.primary, nullable) {
                return Err(Error::internal(format!("table {}: key column {} takes NULL", self.name, column.name)));
            }
        }
        if self.on_conflict != ConflictPolicy::Error && self.unique.is_empty() {
            return Err(Error::usage(format!("table {} has on_conflict but no key", self.name))
                .with_hint("declare one: PRIMARY KEY (COLUMN, ...)"));
        }
        let mut names = HashSet::new();
        for index in &self.indexes {
            check_name("index", &index.name)?;
            if !names.insert(name_key(&index.name)) {
                return Err(Error::usage(format!("table {} has two indexes named {}", self.name, index.name)));
            }
            if index.id.0 < INDEX_ID_MIN || index.columns.is_empty() {
                return Err(Error::internal(format!("table {}: index {} is not one", self.name, index.name)));
            }
        }
        Ok(())
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
