//! The rows of one scan.

#![expect(unsafe_code, reason = "the layout of a cursor is fixed by SQLite")]

use crate::error::{guarded, module_error, of_store};
use crate::filter::{Operands, request};
use crate::plan::{Operator, Plan};
use crate::shape::{find_complete, shape_of};
use crate::table_state::TableState;
use crate::time_format::TimeWriter;
use crate::walk::{ReadRows, ScanProgress};
use rusqlite::Result;
use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::types::Value as Operand;
use rusqlite::vtab::{Context, Filters, VTabCursor, sqlite3_vtab_cursor};
use std::cell::RefCell;
use std::ffi::c_int;
use std::sync::Arc;

/// A scan of a table.
#[repr(C)]
pub(crate) struct TableCursor {
    base: sqlite3_vtab_cursor,
    table: Arc<TableState>,
    walk: Option<ScanProgress>,
    /// For each column of the table its position among the columns that are read.
    slots: Vec<Option<usize>>,
    rows: Option<ReadRows>,
    position: usize,
    writer: RefCell<TimeWriter>,
}

impl TableCursor {
    pub(crate) fn new(table: Arc<TableState>) -> Self {
        Self {
            base: sqlite3_vtab_cursor::default(),
            table,
            walk: None,
            slots: Vec::new(),
            rows: None,
            position: 0,
            writer: RefCell::default(),
        }
    }

    fn start(&mut self, plan: &Plan, operands: &[Operands]) -> Result<()> {
        (self.walk, self.rows, self.position) = (None, None, 0);
        let TableState { stores, file, name, shape, format, .. } = self.table.as_ref();
        let snapshot = file.snapshot()?;
        let table = find_complete(&snapshot, name)?.clone();
        if shape_of(&table) != *shape {
            return Err(module_error(format!(
                "table {name} was altered: it has other columns than this virtual table (drop the virtual table and create \
                 it again)"
            )));
        }
        self.slots = vec![None; shape.len()];
        for (slot, column) in plan.columns.iter().enumerate() {
            let place = self.slots.get_mut(*column).ok_or_else(|| module_error("the plan belongs to another table"))?;
            *place = Some(slot);
        }
        if let Some(request) = request(&table, *format, plan, operands) {
            let walk = ScanProgress::new(Arc::clone(stores), snapshot, &table, request, plan.order)?;
            self.walk = Some(walk);
            self.advance()?;
        }
        Ok(())
    }

    fn advance(&mut self) -> Result<()> {
        self.position = 0;
        // The old rows are freed before new ones are read.
        self.rows = None;
        if let Some(walk) = &mut self.walk {
            self.rows = walk.next()?;
        }
        Ok(())
    }
}

// SAFETY: the structure has C's layout, and begins with SQLite's.
unsafe impl VTabCursor for TableCursor {
    fn filter(&mut self, _: c_int, plan: Option<&str>, values: &Filters<'_>) -> Result<()> {
        guarded(|| {
            let plan = plan.and_then(Plan::parse).ok_or_else(|| module_error("the plan cannot be read"))?;
            let operands = operands(&plan, values)?;
            self.start(&plan, &operands)
        })
    }

    fn next(&mut self) -> Result<()> {
        self.position += 1;
        match self.rows.as_ref().is_some_and(|rows| self.position < rows.len()) {
            true => Ok(()),
            false => guarded(|| self.advance()),
        }
    }

    fn eof(&self) -> bool {
        self.rows.is_none()
    }

    fn column(&self, context: &mut Context, column: c_int) -> Result<()> {
        guarded(|| {
            let slot = usize::try_from(column).ok().and_then(|column| self.slots.get(column).copied().flatten());
            match (&self.rows, slot) {
                (Some(rows), Some(slot)) => {
                    let (chunk, row) = rows.at(self.position);
                    let mut writer = self.writer.borrow_mut();
                    context.set_result(chunk.value(slot, row, self.table.format, &mut writer))
                }
                _ => Err(module_error(format!("column {column} was not read"))),
            }
        })
    }

    fn rowid(&self) -> Result<i64> {
        guarded(|| {
            let rows = self.rows.as_ref().ok_or_else(|| module_error("there is no row"))?;
            let (chunk, row) = rows.at(self.position);
            Ok(chunk.rowid(row))
        })
    }
}

/// The operands of the plan's terms.
fn operands(plan: &Plan, values: &Filters<'_>) -> Result<Vec<Operands>> {
    let mut numbered = values.iter().enumerate();
    let mut operands = Vec::with_capacity(plan.terms.len());
    for term in &plan.terms {
        if !term.operator.has_operand() {
            operands.push(Operands::None);
            continue;
        }
        let (number, value) = numbered.next().ok_or_else(|| module_error("the plan has more terms than values"))?;
        operands.push(match term.operator {
            Operator::In => {
                let mut list = Vec::new();
                let mut listed = values.in_values(number)?;
                while let Some(value) = listed.next()? {
                    list.push(owned(value)?);
                }
                Operands::Many(list)
            }
            _ => Operands::One(owned(value)?),
        });
    }
    Ok(operands)
}

fn owned(value: rusqlite::types::ValueRef<'_>) -> Result<Operand> {
    // Text of SQLite need not be valid.
    Operand::try_from(value).map_err(|error| of_store(atsdb_core::Error::usage(error.to_string())))
}
