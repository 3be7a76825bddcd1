//! The table-valued function `atsdb_tables`: the tables of a store.

#![expect(unsafe_code, reason = "the layout of a virtual table is fixed by SQLite")]

use crate::arguments::path_of;
use crate::error::{guarded, module_error, of_store};
use crate::shape::kind;
use crate::stores::Stores;
use atsdb_core::Table;
use atsdb_core::time::format_time;
use atsdb_engine::ReadSnapshot;
use rusqlite::types::Value;
use rusqlite::vtab::{
    Context, Filters, IndexConstraintOp, IndexInfo, Module, VTab, VTabConnection, VTabCursor, sqlite3_vtab,
    sqlite3_vtab_cursor,
};
use rusqlite::{Connection, Result};
use std::borrow::Cow;
use std::ffi::{CStr, c_int};
use std::sync::Arc;

/// The number of the last column, which is hidden and holds the argument.
const PATH: c_int = 8;

/// Registers the module.
pub(crate) fn register(host: &Connection, stores: &Arc<Stores>) -> Result<()> {
    host.create_module(
        "atsdb_tables",
        const { &Module::<TableList>::eponymous_only_module() },
        Some(Arc::clone(stores)),
    )
}

#[repr(C)]
struct TableList {
    base: sqlite3_vtab,
    stores: Arc<Stores>,
}

// SAFETY: the structure has C's layout, and begins with SQLite's.
unsafe impl VTab<'_> for TableList {
    type Aux = Arc<Stores>;
    type Cursor = ListCursor;

    fn connect(
        _: &mut VTabConnection,
        stores: Option<&Self::Aux>,
        _: &[u8],
        _: &[u8],
        _: &[u8],
        _: &[&[u8]],
    ) -> Result<(Cow<'static, CStr>, Self)> {
        let stores = stores.ok_or_else(|| module_error("the module has no stores"))?;
        let declaration = c"CREATE TABLE x (name TEXT, kind TEXT, time_column TEXT, rows INTEGER, chunks INTEGER,
            fresh_chunks INTEGER, first TEXT, last TEXT, path HIDDEN)";
        Ok((declaration.into(), Self { base: sqlite3_vtab::default(), stores: Arc::clone(stores) }))
    }

    fn best_index(&self, info: &mut IndexInfo) -> Result<bool> {
        let mut is_given = false;
        for (constraint, mut usage) in info.constraints_and_usages() {
            let is_path =
                constraint.column() == PATH && constraint.operator() == IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_EQ;
            if is_path && !constraint.is_usable() {
                return Ok(false);
            }
            if is_path && !is_given {
                is_given = true;
                usage.set_argv_index(1);
                usage.set_omit(true);
            }
        }
        info.set_estimated_cost(1_000.0);
        info.set_estimated_rows(20);
        Ok(true)
    }

    fn open(&mut self) -> Result<ListCursor> {
        let stores = Arc::clone(&self.stores);
        Ok(ListCursor { base: sqlite3_vtab_cursor::default(), stores, rows: Vec::new(), position: 0 })
    }
}

#[repr(C)]
struct ListCursor {
    base: sqlite3_vtab_cursor,
    stores: Arc<Stores>,
    rows: Vec<Vec<Value>>,
    position: usize,
}

// SAFETY: the structure has C's layout, and begins with SQLite's.
unsafe impl VTabCursor for ListCursor {
    fn filter(&mut self, _: c_int, _: Option<&str>, values: &Filters<'_>) -> Result<()> {
        guarded(|| {
            (self.rows, self.position) = (Vec::new(), 0);
            if values.is_empty() {
                return Err(module_error("atsdb_tables needs the path of a store: atsdb_tables('FILE')"));
            }
            let path: String = values.get(0)?;
            let snapshot = self.stores.open(&path_of(&path)?)?.snapshot()?;
            let tables = snapshot.tables().iter();
            self.rows = tables
                .map(|table| row(&snapshot, table, &path))
                .collect::<atsdb_core::Result<_>>()
                .map_err(of_store)?;
            Ok(())
        })
    }

    fn next(&mut self) -> Result<()> {
        self.position += 1;
        Ok(())
    }

    fn eof(&self) -> bool {
        self.position >= self.rows.len()
    }

    fn column(&self, context: &mut Context, column: c_int) -> Result<()> {
        let row = self.rows.get(self.position);
        let value = usize::try_from(column).ok().and_then(|column| row?.get(column));
        context.set_result(value.unwrap_or(&Value::Null))
    }

    fn rowid(&self) -> Result<i64> {
        Ok(self.position as i64 + 1)
    }
}

fn row(snapshot: &ReadSnapshot, table: &Table, path: &str) -> atsdb_core::Result<Vec<Value>> {
    let definition = &table.definition;
    let mut row = vec![Value::from(definition.name.clone()), Value::from(kind(table).to_owned())];
    row.push(definition.time_column().map_or(Value::Null, |time| Value::from(time.name.clone())));
    if definition.view.is_some() {
        row.resize(PATH as usize, Value::Null);
    } else {
        let chunks = snapshot.chunks(table)?;
        let unit = definition.time_unit();
        let first = chunks.iter().map(|chunk| chunk.time_min).min().filter(|_| definition.time.is_some());
        let last = chunks.iter().map(|chunk| chunk.time_max).max().filter(|_| definition.time.is_some());
        row.push(Value::from(chunks.iter().map(|chunk| i64::from(chunk.row_count)).sum::<i64>()));
        row.push(Value::from(chunks.len() as i64));
        row.push(Value::from(chunks.iter().filter(|chunk| !chunk.sealed).count() as i64));
        row.extend([first, last].map(|time| time.map_or(Value::Null, |time| Value::from(format_time(time, unit)))));
    }
    row.push(Value::from(path.to_owned()));
    Ok(row)
}
