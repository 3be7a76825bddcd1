//! The tables of a workspace, in a file beside its data: these systems keep neither the order of columns nor their
//! types.

use crate::contestants::line_protocol::Role;
use crate::contestants::time_unit::units_per_second;
use crate::failure::Failure;
use atsdb::{Column, ColumnType, TableDefinition};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SeriesTable {
    pub(crate) name: String,
    pub(crate) columns: Vec<SeriesColumn>,
    /// Units of its time in a second.
    pub(crate) per_second: i64,
    /// The tags that name a series, if the table declares them.
    pub(crate) key: Vec<String>,
    /// The number of rows that were loaded.
    pub(crate) rows: u64,
    /// The first and the last time, in units, once there are rows.
    pub(crate) times: Option<(i64, i64)>,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SeriesColumn {
    pub(crate) name: String,
    pub(crate) role: Role,
    pub(crate) nullable: bool,
}

/// The tables of a workspace.
pub(crate) struct Catalogue {
    path: PathBuf,
    tables: BTreeMap<String, SeriesTable>,
}

impl Catalogue {
    /// The tables of the workspace in `folder`.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub(crate) fn open(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join("tables.json");
        let tables = match path.exists() {
            true => serde_json::from_slice(&std::fs::read(&path).map_err(Failure::broken)?).map_err(Failure::broken)?,
            false => BTreeMap::new(),
        };
        Ok(Self { path, tables })
    }

    /// Keeps a table, instead of an earlier one of its name.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub(crate) fn keep(&mut self, table: SeriesTable) -> Result<(), Failure> {
        self.tables.insert(table.name.clone(), table);
        let text = serde_json::to_vec(&self.tables).map_err(Failure::broken)?;
        // Other sessions may write theirs at the same time.
        let own = self.path.with_extension(format!("{:?}", std::thread::current().id()));
        std::fs::write(&own, text).map_err(Failure::broken)?;
        std::fs::rename(&own, &self.path).map_err(Failure::broken)
    }

    /// A table.
    ///
    /// # Errors
    ///
    /// There is none of this name.
    pub(crate) fn table(&self, name: &str) -> Result<&SeriesTable, Failure> {
        self.tables.get(name).ok_or_else(|| Failure::cannot(format!("has no table {name}")))
    }
}

impl SeriesTable {
    /// A table whose columns have the roles that `role` gives to all but the time.
    ///
    /// # Errors
    ///
    /// It has no time, or a column has no role.
    pub(crate) fn of(
        table: &TableDefinition,
        role: impl Fn(&Column) -> Result<Role, Failure>,
    ) -> Result<Self, Failure> {
        let time = table.time_column().filter(|column| matches!(column.column_type, ColumnType::Timestamp(_)));
        let time = time.ok_or_else(|| Failure::cannot("a point has a time, and this table has none"))?;
        let column = |column: &Column| {
            let role = if column.id == time.id { Role::Time } else { role(column)? };
            Ok(SeriesColumn { name: column.name.clone(), role, nullable: column.nullable })
        };
        let key = table.key.iter().filter_map(|id| table.column_by_id(*id)).map(|column| column.name.clone());
        Ok(Self {
            name: table.name.clone(),
            columns: table.columns.iter().map(column).collect::<Result<_, Failure>>()?,
            per_second: units_per_second(table),
            key: key.collect(),
            rows: 0,
            times: None,
        })
    }

    /// A column.
    ///
    /// # Errors
    ///
    /// There is none of this name.
    pub(crate) fn column(&self, name: &str) -> Result<&SeriesColumn, Failure> {
        let found = self.columns.iter().find(|column| column.name == name);
        found.ok_or_else(|| Failure::cannot(format!("{} has no column {name}", self.name)))
    }

    /// The columns that are fields.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &SeriesColumn> {
        self.columns.iter().filter(|column| !matches!(column.role, Role::Time | Role::Tag))
    }

    /// A field that every row has, whose values are as many as the rows.
    ///
    /// # Errors
    ///
    /// There is none.
    pub(crate) fn counted(&self) -> Result<&SeriesColumn, Failure> {
        let every_row = self.fields().find(|column| !column.nullable);
        every_row.ok_or_else(|| Failure::cannot("counts values and not rows, and every field may lack one"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb::{MapWidth, TimeUnit};

    #[test]
    fn tables_are_kept_with_their_columns_in_order() {
        let table = TableDefinition::new("cpu")
            .with_column("host", ColumnType::Text, Some(MapWidth::U8))
            .with_column("time", ColumnType::Timestamp(TimeUnit::Millisecond), None)
            .with_column("load", ColumnType::Float64, None);
        let without_time = SeriesTable::of(&table, |_| Ok(Role::Float)).expect_err("no time");
        assert!(matches!(without_time, Failure::Cannot(_)), "{without_time}");
        let table = table.with_time("time", TimeUnit::Millisecond).expect("a table");
        let role = |column: &Column| Ok(if column.map.is_some() { Role::Tag } else { Role::Float });
        let cpu = SeriesTable { times: Some((1, 9)), ..SeriesTable::of(&table, role).expect("a table") };
        let folder = tempfile::tempdir().expect("a folder");
        Catalogue::open(folder.path()).expect("no tables").keep(cpu.clone()).expect("kept");
        let catalogue = Catalogue::open(folder.path()).expect("a table");
        assert_eq!(catalogue.table("cpu").expect("the table"), &cpu);
        let roles: Vec<Role> = cpu.columns.iter().map(|column| column.role).collect();
        assert_eq!((roles.as_slice(), cpu.per_second), ([Role::Tag, Role::Time, Role::Float].as_slice(), 1_000));
        assert!(catalogue.table("mem").is_err());
    }
}
