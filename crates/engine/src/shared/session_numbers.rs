//! Drawing numbers of identity columns, and what each session has drawn last.

use crate::shared::Shared;
use crate::shared::numbers::RestartedNumbers;
use crate::shared::temporary::is_temporary;
use atsdb_core::{ColumnId, Counter, Result, Table, TableDefinition, TableId};
use parking_lot::{Mutex, MutexGuard};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// The numbers that one session has drawn from identity columns. Clones are the same session.
#[derive(Clone)]
pub struct SessionNumbers(Arc<DrawnNumbers>);

struct DrawnNumbers {
    shared: Arc<Shared>,
    drawn: Mutex<LastNumbers>,
    /// The counters that the session's transaction has restarted.
    restarted: Mutex<RestartedNumbers>,
}

#[derive(Default)]
struct LastNumbers {
    last: Option<i64>,
    of_columns: HashMap<(TableId, ColumnId), i64>,
}

impl fmt::Debug for SessionNumbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionNumbers").field("last", &self.last()).finish_non_exhaustive()
    }
}

impl SessionNumbers {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        let (drawn, restarted) = (Mutex::default(), Mutex::default());
        Self(Arc::new(DrawnNumbers { shared: Arc::clone(shared), drawn, restarted }))
    }

    /// Draws numbers for the identity column at a position of a table. They are never given again, even if the
    /// statement fails.
    ///
    /// Errors: [`Limit`](atsdb_core::ErrorKind::Limit) if the column's type has no further number, and those of the
    /// store.
    pub fn draw(&self, table: &Table, position: usize, count: usize) -> Result<Vec<i64>> {
        let own = self.0.restarted.lock().draw(table, position, count);
        let numbers = own.unwrap_or_else(|| self.0.shared.draw_numbers(table, position, count))?;
        if let (Some(last), Some(column)) = (numbers.last(), table.definition.columns.get(position)) {
            let mut drawn = self.0.drawn.lock();
            drawn.last = Some(*last);
            drawn.of_columns.insert((table.id, column.id), *last);
        }
        Ok(numbers)
    }

    /// Sets the counter of the identity column at a position of a table: `number` is the last one that it gave or,
    /// unless it `is_called`, the next one. This takes effect at once, even if the transaction is rolled back, unless
    /// the transaction itself has restarted the counter. Other processes may still give numbers that they had reserved
    /// before.
    ///
    /// Errors: [`InvalidValue`](atsdb_core::ErrorKind::InvalidValue) for a number that the counter could not give, and
    /// those of the store.
    pub fn set(&self, table: &Table, position: usize, number: i64, is_called: bool) -> Result<()> {
        let own = self.0.restarted.lock().set(table, position, number, is_called);
        own.unwrap_or_else(|| {
            let shared = &self.0.shared;
            let store = (!is_temporary(table.id)).then_some(shared.store.as_ref());
            shared.numbers.set(store, table, position, number, is_called)
        })?;
        if let Some(column) = table.definition.columns.get(position).filter(|_| is_called) {
            self.0.drawn.lock().of_columns.insert((table.id, column.id), number);
        }
        Ok(())
    }

    /// Restarts the counters of columns that a new definition makes an identity or restarts. Counters of columns with a
    /// new increment continue from where they are.
    pub fn begin_counters(&self, table: &Table, definition: &mut TableDefinition) -> Result<()> {
        for column in &mut definition.columns {
            let before = table.definition.column_by_id(column.id).map(|before| before.identity);
            let (Some(identity), Some(before)) = (&mut column.identity, before) else { continue };
            let begins = before.is_none_or(|before| identity.restarts > before.restarts);
            let turned = before.filter(|before| !begins && before.increment != identity.increment);
            if begins || turned.is_some() {
                let counter = self.0.shared.counter(table.id, column.id)?;
                if let Some(before) = turned {
                    let own = self.restarted().counter(table.id, column.id, before.restarts);
                    *identity = identity.turned(before, own.or(counter));
                }
                let later = counter.map_or(0, |counter| counter.restarts.saturating_add(1));
                identity.restarts = identity.restarts.max(later);
            }
        }
        Ok(())
    }

    /// Forgets which numbers the session has drawn.
    pub fn forget(&self) {
        *self.0.drawn.lock() = LastNumbers::default();
    }

    /// The counters that the session's transaction has restarted.
    pub(crate) fn restarted(&self) -> MutexGuard<'_, RestartedNumbers> {
        self.0.restarted.lock()
    }

    /// Records that a table has another number but is the same table.
    pub(crate) fn renumber(&self, table: TableId, to: TableId) {
        let mut drawn = self.0.drawn.lock();
        let of_table: Vec<_> = drawn.of_columns.extract_if(|(other, _), _| *other == table).collect();
        drawn.of_columns.extend(of_table.into_iter().map(|((_, column), number)| ((to, column), number)));
    }

    /// The number that the session has drawn last, of any column.
    pub fn last(&self) -> Option<i64> {
        self.0.drawn.lock().last
    }

    /// The number that the session has drawn last for a column.
    pub fn last_of(&self, table: TableId, column: ColumnId) -> Option<i64> {
        self.0.drawn.lock().of_columns.get(&(table, column)).copied()
    }
}

/// The session that draws the numbers of a batch. When the batch ends, so do the counters that it has restarted: a
/// commit has recorded in the definitions where they ended, and a dropped batch leaves nothing.
pub(crate) struct BatchNumbers(pub(crate) SessionNumbers);

impl Drop for BatchNumbers {
    fn drop(&mut self) {
        self.0.restarted().clear();
    }
}

impl Shared {
    /// The present counter of an identity column; `None` if it never gave a number.
    pub(crate) fn counter(&self, table: TableId, column: ColumnId) -> Result<Option<Counter>> {
        match is_temporary(table) {
            true => Ok(self.numbers.counter(table, column)),
            false => self.store.snapshot()?.counter(table, column),
        }
    }

    /// Draws numbers for the identity column at a position of a table.
    pub(crate) fn draw_numbers(&self, table: &Table, position: usize, count: usize) -> Result<Vec<i64>> {
        let store = (!is_temporary(table.id)).then_some(self.store.as_ref());
        self.numbers.draw(store, table, position, count)
    }
}
