//! Detects the end of a transaction of the host.
//!
//! SQLite informs a virtual table of a transaction only if the table takes part as one that is written to. So an empty
//! table in the schema `temp` takes part for all tables of the extension: an empty DELETE makes SQLite begin a
//! transaction of it, and report its end. See
//! [`follow_transaction`](crate::connection::HostConnection::follow_transaction). Nothing is written, and no file but
//! the connection's own temporary one is locked.

#![expect(unsafe_code, reason = "the layout of a virtual table is fixed by SQLite")]

use crate::error::{guarded, module_error};
use crate::stores::Stores;
use rusqlite::types::ValueRef;
use rusqlite::vtab::{
    Context, CreateVTab, Filters, IndexInfo, Inserts, Module, TransactionVTab, UpdateVTab, Updates, VTab,
    VTabConnection, VTabCursor, VTabKind, sqlite3_vtab, sqlite3_vtab_cursor,
};
use rusqlite::{Connection, Result};
use std::borrow::Cow;
use std::ffi::{CStr, c_int};
use std::sync::Arc;

/// Registers the module of the table.
pub(crate) fn register(host: &Connection, stores: &Arc<Stores>) -> Result<()> {
    host.create_module(
        "atsdb_transaction",
        const { &Module::<TransactionTable>::update_module_with_tx() },
        Some(Arc::clone(stores)),
    )
}

#[repr(C)]
struct TransactionTable {
    base: sqlite3_vtab,
    stores: Arc<Stores>,
}

// SAFETY: the structure has C's layout, and begins with SQLite's.
unsafe impl VTab<'_> for TransactionTable {
    type Aux = Arc<Stores>;
    type Cursor = NoRows;

    fn connect(
        _: &mut VTabConnection,
        stores: Option<&Self::Aux>,
        _: &[u8],
        _: &[u8],
        _: &[u8],
        _: &[&[u8]],
    ) -> Result<(Cow<'static, CStr>, Self)> {
        let stores = stores.ok_or_else(|| module_error("the module has no stores"))?;
        Ok((c"CREATE TABLE x (ended)".into(), Self { base: sqlite3_vtab::default(), stores: Arc::clone(stores) }))
    }

    fn best_index(&self, info: &mut IndexInfo) -> Result<bool> {
        info.set_estimated_cost(1.0);
        Ok(true)
    }

    fn open(&mut self) -> Result<NoRows> {
        Ok(NoRows { base: sqlite3_vtab_cursor::default() })
    }
}

impl CreateVTab<'_> for TransactionTable {
    const KIND: VTabKind = VTabKind::Default;
}

impl UpdateVTab<'_> for TransactionTable {
    fn delete(&mut self, _: ValueRef<'_>) -> Result<()> {
        Ok(())
    }

    fn insert(&mut self, _: &Inserts<'_>) -> Result<i64> {
        Err(module_error("atsdb_transaction has no rows"))
    }

    fn update(&mut self, _: &Updates<'_>) -> Result<()> {
        Err(module_error("atsdb_transaction has no rows"))
    }
}

impl TransactionVTab<'_> for TransactionTable {
    fn commit(&mut self) -> Result<()> {
        guarded(|| {
            self.stores.end_transaction();
            Ok(())
        })
    }

    fn rollback(&mut self) -> Result<()> {
        self.commit()
    }
}

#[repr(C)]
struct NoRows {
    base: sqlite3_vtab_cursor,
}

// SAFETY: the structure has C's layout, and begins with SQLite's.
unsafe impl VTabCursor for NoRows {
    fn filter(&mut self, _: c_int, _: Option<&str>, _: &Filters<'_>) -> Result<()> {
        Ok(())
    }

    fn next(&mut self) -> Result<()> {
        Ok(())
    }

    fn eof(&self) -> bool {
        true
    }

    fn column(&self, _: &mut Context, _: c_int) -> Result<()> {
        Ok(())
    }

    fn rowid(&self) -> Result<i64> {
        Ok(0)
    }
}
