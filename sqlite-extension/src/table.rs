//! One table of a store as a virtual table.

#![expect(unsafe_code, reason = "the layout of a virtual table is fixed by SQLite")]

use crate::cursor::TableCursor;
use crate::error::{guarded, module_error};
use crate::plan::Operator;
use crate::stores::Stores;
use crate::table_state::TableState;
use rusqlite::vtab::{CreateVTab, IndexFlags, IndexInfo, Module, VTab, VTabConnection, VTabKind, sqlite3_vtab};
use rusqlite::{Connection, Result};
use std::borrow::Cow;
use std::ffi::CStr;
use std::sync::Arc;

/// Registers the module `atsdb`.
pub(crate) fn register(host: &Connection, stores: &Arc<Stores>) -> Result<()> {
    host.create_module("atsdb", const { &Module::<StoreTable>::read_only_module() }, Some(Arc::clone(stores)))
}

#[repr(C)]
struct StoreTable {
    base: sqlite3_vtab,
    state: Arc<TableState>,
}

// SAFETY: the structure has C's layout, and begins with SQLite's.
unsafe impl VTab<'_> for StoreTable {
    type Aux = Arc<Stores>;
    type Cursor = TableCursor;

    fn connect(
        _: &mut VTabConnection,
        stores: Option<&Self::Aux>,
        _: &[u8],
        _: &[u8],
        _: &[u8],
        arguments: &[&[u8]],
    ) -> Result<(Cow<'static, CStr>, Self)> {
        guarded(|| {
            let stores = stores.ok_or_else(|| module_error("the module has no stores"))?;
            let (declaration, state) = TableState::open(stores, arguments)?;
            let state = Arc::new(state);
            Ok((declaration.into(), Self { base: sqlite3_vtab::default(), state }))
        })
    }

    fn best_index(&self, info: &mut IndexInfo) -> Result<bool> {
        guarded(|| {
            let (plan, constraints) = self.state.plan(info)?;
            let time = self.state.time_bounds(info, &plan, &constraints);
            let mut argument = 0;
            for (term, constraint) in plan.terms.iter().zip(&constraints) {
                if term.operator == Operator::In {
                    info.set_in_constraint(*constraint, true)?;
                }
                if term.operator.has_operand() {
                    argument += 1;
                    let mut usage = info.constraint_usage(*constraint);
                    usage.set_argv_index(argument);
                    usage.set_omit(false);
                }
            }
            info.set_order_by_consumed(plan.order.is_some());
            info.set_idx_str(&plan.to_text(&self.state.shape));
            let (estimate, is_unique) = self.state.estimate(&plan, time);
            info.set_estimated_cost(estimate.cost);
            info.set_estimated_rows(estimate.rows as i64);
            if is_unique {
                info.set_idx_flags(IndexFlags::SQLITE_INDEX_SCAN_UNIQUE);
            }
            Ok(true)
        })
    }

    fn open(&mut self) -> Result<TableCursor> {
        Ok(TableCursor::new(Arc::clone(&self.state)))
    }
}

impl CreateVTab<'_> for StoreTable {
    const KIND: VTabKind = VTabKind::Default;
}
