//! The numbers of identity columns: the blocks that this process holds, and the counters of transactions.
//!
//! A block belongs to one column and serves all sessions. The first blocks are small, so that a program that inserts
//! one row leaves no gap, and each is twice as large as the one before. Not owned: which numbers are free
//! (`NumberRequest` and the store), and what a session has drawn (`session_numbers`).

use atsdb_core::{ColumnId, Counter, Error, NumberBlock, NumberRequest, Result, Store, Table, TableId};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// The largest block that is reserved ahead of its use.
const BLOCK_NUMBERS_MAX: u64 = 1_024;

/// The blocks that this process holds.
#[derive(Default)]
pub(crate) struct Numbers(Mutex<HashMap<(TableId, ColumnId), SharedNumbers>>);

type SharedNumbers = Arc<Mutex<HeldNumbers>>;

/// The numbers of one column.
#[derive(Default)]
struct HeldNumbers {
    /// The unused rest of the block.
    block: Option<NumberBlock>,
    /// The size of the next block, if no more are wanted.
    size: u64,
    /// The counter of a temporary table, or of a transaction, which no store holds.
    counter: Option<Counter>,
}

impl Numbers {
    /// Draws numbers for the column at a position of a table. A temporary table has no store, and its counter is here.
    pub(crate) fn draw(
        &self,
        store: Option<&dyn Store>,
        table: &Table,
        position: usize,
        count: usize,
    ) -> Result<Vec<i64>> {
        let request = request_of(table, position)?;
        let held = Arc::clone(self.0.lock().entry((request.table, request.column)).or_default());
        let mut held = held.lock();
        held.draw(store, request, count).map_err(|error| error.context(place(table, position)))
    }

    /// Sets a counter: `number` is the last number that it gave or, unless it `is_called`, the next one.
    pub(crate) fn set(
        &self,
        store: Option<&dyn Store>,
        table: &Table,
        position: usize,
        number: i64,
        is_called: bool,
    ) -> Result<()> {
        let request = request_of(table, position)?;
        let held = Arc::clone(self.0.lock().entry((request.table, request.column)).or_default());
        let mut held = held.lock();
        held.set(store, request, number, is_called)
    }

    /// The counter of a temporary table.
    pub(crate) fn counter(&self, table: TableId, column: ColumnId) -> Option<Counter> {
        let held = self.0.lock().get(&(table, column)).map(Arc::clone);
        held.and_then(|held| held.lock().counter)
    }

    /// Forgets a table that was dropped.
    pub(crate) fn forget(&self, table: TableId) {
        self.0.lock().retain(|(other, _), _| *other != table);
    }
}

/// The counters that a transaction has restarted, until it is committed: no store knows of them.
#[derive(Default)]
pub(crate) struct RestartedNumbers(HashMap<(TableId, ColumnId, u32), HeldNumbers>);

impl RestartedNumbers {
    /// Restarts the transaction's counter of a column, under this number of restarts.
    pub(crate) fn restart(&mut self, table: TableId, column: ColumnId, restarts: u32) {
        self.0.insert((table, column, restarts), HeldNumbers::default());
    }

    /// Draws numbers for the column at a position of a table. `None` if the transaction did not restart its counter.
    pub(crate) fn draw(&mut self, table: &Table, position: usize, count: usize) -> Option<Result<Vec<i64>>> {
        let request = NumberRequest::of(table, position, 1)?;
        let held = self.0.get_mut(&(request.table, request.column, request.identity.restarts))?;
        // No number is reserved ahead: the commit would lose it.
        held.size = 0;
        Some(held.draw(None, request, count).map_err(|error| error.context(place(table, position))))
    }

    /// Sets the counter of the column at a position of a table: `number` is the last one that it gave or, unless it
    /// `is_called`, the next one. `None` if the transaction did not restart the counter.
    pub(crate) fn set(&mut self, table: &Table, position: usize, number: i64, is_called: bool) -> Option<Result<()>> {
        let request = NumberRequest::of(table, position, 1)?;
        let held = self.0.get_mut(&(request.table, request.column, request.identity.restarts))?;
        Some(held.set(None, request, number, is_called))
    }

    /// The counter that the transaction restarted. `None` if it was neither set nor gave a number.
    pub(crate) fn counter(&self, table: TableId, column: ColumnId, restarts: u32) -> Option<Counter> {
        self.0.get(&(table, column, restarts))?.counter
    }

    /// Forgets all of them.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

/// A request for a number of the column at a position of a table.
fn request_of(table: &Table, position: usize) -> Result<NumberRequest> {
    let internal =
        || Error::internal("a number of a column that is not an identity column").context(place(table, position));
    NumberRequest::of(table, position, 1).ok_or_else(internal)
}

/// A column, for messages.
fn place(table: &Table, position: usize) -> String {
    let name = &table.definition.name;
    match table.definition.columns.get(position) {
        Some(column) if !table.definition.sequence => format!("table {name}, column {}", column.name),
        _ => format!("sequence {name}"),
    }
}

impl HeldNumbers {
    fn draw(&mut self, store: Option<&dyn Store>, request: NumberRequest, count: usize) -> Result<Vec<i64>> {
        let mut drawn = Vec::with_capacity(count);
        while drawn.len() < count {
            let wanted = (count - drawn.len()) as u64;
            let mut block = match self.block.take().filter(|block| is_valid(block, &request)) {
                Some(block) => block,
                None => self.reserve(store, NumberRequest { count: wanted.max(self.size), ..request })?,
            };
            let taken = block.count.min(wanted);
            for _ in 0..taken {
                drawn.push(block.first);
                // After the last number of 64 bits there is none, and the block is empty.
                block.first = block.first.wrapping_add(block.increment);
            }
            block.count -= taken;
            self.block = (block.count > 0).then_some(block);
        }
        Ok(drawn)
    }

    fn set(&mut self, store: Option<&dyn Store>, request: NumberRequest, number: i64, is_called: bool) -> Result<()> {
        let counter = match store {
            Some(store) => store.snapshot()?.counter(request.table, request.column)?,
            None => self.counter,
        };
        let request = request.set_to(counter, number, is_called)?;
        (self.block, self.size) = (None, 0);
        self.reserve(store, request).map(drop)
    }

    fn reserve(&mut self, store: Option<&dyn Store>, request: NumberRequest) -> Result<NumberBlock> {
        self.size = (self.size * 2).clamp(1, BLOCK_NUMBERS_MAX);
        if let Some(store) = store {
            return store.reserve_numbers(&request);
        }
        let (block, counter) = request.take(self.counter)?;
        self.counter = Some(counter);
        Ok(block)
    }
}

/// Returns whether reserved numbers may be given under a definition: counting has not been restarted since.
fn is_valid(block: &NumberBlock, request: &NumberRequest) -> bool {
    let identity = &request.identity;
    if block.increment != identity.increment {
        return false;
    }
    match block.restarts == identity.restarts {
        true => identity.after.is_none_or(|after| match block.increment > 0 {
            true => block.first > after,
            false => block.first < after,
        }),
        false => block.restarts > identity.restarts,
    }
}
