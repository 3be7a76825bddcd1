//! One cursor: its rows, and where it stands.
//!
//! The position follows PostgreSQL's rules, which its clients rely on: before the first row, on a row, or after the
//! last one. A cursor without SCROLL reads its rows once and keeps none.

use super::io::Io;
use crate::pg::error::{Failure, PgError};
use crate::pg::kept_rows::KeptRows;
use crate::pg::rows::{RowSource, push_row};
use crate::pg::statement::cursors::{Declaration, Direction};
use crate::pg::types::input::Format;
use crate::pg::wire::outgoing::ResultColumn;
use atsdb::sql::KeptMemory;

/// A cursor that `DECLARE` has opened.
pub(super) struct Cursor {
    rows: CursorRows,
    /// The first word of the tag if it is executed as a portal.
    pub(super) verb: &'static str,
    pub(super) is_scrollable: bool,
    pub(super) is_holdable: bool,
    /// Whether the transaction that declared it is committed.
    pub(super) is_held: bool,
    /// Whether reading it has failed. It can then only be closed.
    pub(super) is_failed: bool,
    /// The number of the current row, from 1; after the last row, the number of rows.
    position: usize,
    is_at_start: bool,
    is_at_end: bool,
}

enum CursorRows {
    /// Rows that are read once.
    Once(RowSource),
    /// Rows that are kept, without the first ones if the cursor has passed them before it was held.
    Kept { rows: KeptRows, passed: usize },
}

/// The target of rows: the client, or nothing with `MOVE`.
pub(super) struct RowTarget<'a> {
    pub(super) io: &'a mut Io,
    pub(super) formats: &'a [Format],
    /// Whether the statement is a `MOVE`, which only counts the rows.
    pub(super) is_move: bool,
}

impl Cursor {
    /// Opens a cursor before the first row. If it scrolls, its rows count against the memory.
    pub(super) fn new(
        declaration: &Declaration,
        source: RowSource,
        verb: &'static str,
        memory: impl FnOnce() -> KeptMemory,
    ) -> Result<Self, Failure> {
        let rows = match declaration.is_scrollable {
            true => CursorRows::Kept { rows: KeptRows::new(source, memory())?, passed: 0 },
            false => CursorRows::Once(source),
        };
        Ok(Self {
            rows,
            verb,
            is_scrollable: declaration.is_scrollable,
            is_holdable: declaration.is_holdable,
            is_held: false,
            is_failed: false,
            position: 0,
            is_at_start: true,
            is_at_end: false,
        })
    }

    /// Returns whether a query of the store still computes rows.
    pub(super) fn is_of_store(&self) -> bool {
        match &self.rows {
            CursorRows::Once(source) => source.is_of_store() && !self.is_at_end,
            CursorRows::Kept { rows, .. } => rows.is_of_store(),
        }
    }

    pub(super) fn columns(&self) -> &[ResultColumn] {
        match &self.rows {
            CursorRows::Once(source) => source.columns(),
            CursorRows::Kept { rows, .. } => rows.columns(),
        }
    }

    /// Reads all rows that are left, so that it no longer needs its transaction.
    pub(super) fn hold(self, memory: KeptMemory) -> Result<Self, Failure> {
        let (mut rows, passed) = match self.rows {
            CursorRows::Kept { rows, passed } => (rows, passed),
            CursorRows::Once(source) if self.is_at_end => {
                (KeptRows::new(RowSource::values(source.columns().to_vec(), Vec::new()), memory)?, self.position)
            }
            CursorRows::Once(source) => (KeptRows::new(source, memory)?, self.position),
        };
        rows.read(usize::MAX)?;
        Ok(Self { rows: CursorRows::Kept { rows, passed }, is_held: true, ..self })
    }

    /// Sends the rows that `FETCH` or `MOVE` wants, and returns their number.
    pub(super) fn fetch(&mut self, direction: Direction, target: &mut RowTarget<'_>) -> Result<usize, Failure> {
        match direction {
            Direction::Forward(Some(0)) | Direction::Backward(Some(0)) | Direction::Relative(0) => {
                let is_on_row = !self.is_at_start && !self.is_at_end;
                if target.is_move || !is_on_row {
                    return Ok(usize::from(is_on_row));
                }
                self.skip(Direction::Backward(Some(1)), target)?;
                self.forward(Some(1), target)
            }
            Direction::Forward(count) => self.forward(count, target),
            Direction::Backward(count) => self.backward(count, target),
            Direction::Relative(by) => {
                let count = size(by);
                if by > 0 {
                    self.skip(Direction::Forward(Some(count - 1)), target)?;
                    self.forward(Some(1), target)
                } else {
                    self.skip(Direction::Backward(Some(count - 1)), target)?;
                    self.backward(Some(1), target)
                }
            }
            Direction::Absolute(0) => {
                self.rewind()?;
                Ok(0)
            }
            Direction::Absolute(number) if number > 0 => {
                let number = size(number);
                // A cursor that cannot go back may still get there.
                let next = self.position + 1 + usize::from(self.is_at_end);
                if number - 1 <= self.position / 2 {
                    self.rewind()?;
                    self.skip(Direction::Forward(Some(number - 1)), target)?;
                } else if number < next {
                    self.skip(Direction::Backward(Some(next - number)), target)?;
                } else {
                    self.skip(Direction::Forward(Some(number - next)), target)?;
                }
                self.forward(Some(1), target)
            }
            Direction::Absolute(number) => {
                self.skip(Direction::Forward(None), target)?;
                self.skip(Direction::Backward(Some(size(number) - 1)), target)?;
                self.backward(Some(1), target)
            }
        }
    }

    /// Moves without sending rows.
    fn skip(&mut self, direction: Direction, target: &mut RowTarget<'_>) -> Result<(), Failure> {
        let target = &mut RowTarget { io: &mut *target.io, formats: target.formats, is_move: true };
        match direction {
            Direction::Backward(Some(0)) => Ok(()),
            Direction::Backward(count) => self.backward(count, target).map(drop),
            Direction::Forward(count) => self.forward(count, target).map(drop),
            Direction::Absolute(_) | Direction::Relative(_) => self.fetch(direction, target).map(drop),
        }
    }

    /// Reads forward, and returns the number of rows; `None` stands for all.
    pub(super) fn forward(&mut self, count: Option<usize>, target: &mut RowTarget<'_>) -> Result<usize, Failure> {
        if self.is_at_end || count == Some(0) {
            return Ok(0);
        }
        let wanted = count.unwrap_or(usize::MAX);
        let read = match &mut self.rows {
            CursorRows::Once(source) if target.is_move => source.visit(wanted, &target.io.holds, |_| Ok(()))?.0,
            CursorRows::Once(source) => source.send(target.io, target.formats, wanted)?.0,
            CursorRows::Kept { rows, passed } => {
                let first = self.position - *passed;
                let end = rows.read(first.saturating_add(wanted))?.min(first.saturating_add(wanted));
                target.send(rows, first..end)?;
                end - first
            }
        };
        self.is_at_start &= read == 0;
        self.is_at_end = read < wanted;
        self.position += read;
        Ok(read)
    }

    /// Reads backward, and returns the number of rows; `None` stands for all.
    fn backward(&mut self, count: Option<usize>, target: &mut RowTarget<'_>) -> Result<usize, Failure> {
        let CursorRows::Kept { rows, .. } = &self.rows else { return Err(only_forward()) };
        if !self.is_scrollable {
            return Err(only_forward());
        }
        if self.is_at_start || count == Some(0) {
            return Ok(0);
        }
        let end = if self.is_at_end { self.position } else { self.position.saturating_sub(1) };
        let read = count.map_or(end, |count| count.min(end));
        target.send(rows, (end - read..end).rev())?;
        if count.is_none_or(|count| read < count) {
            self.is_at_start = true;
            self.is_at_end &= read == 0;
            self.position = 0;
        } else {
            self.is_at_end = false;
            self.position = end + 1 - read;
        }
        Ok(read)
    }

    /// Moves before the first row.
    fn rewind(&mut self) -> Result<(), Failure> {
        if self.is_at_start && !self.is_at_end {
            return Ok(());
        }
        if !self.is_scrollable {
            return Err(only_forward());
        }
        (self.position, self.is_at_start, self.is_at_end) = (0, true, false);
        Ok(())
    }
}

impl RowTarget<'_> {
    /// Sends kept rows by their numbers, unless they are only counted.
    fn send(&mut self, rows: &KeptRows, numbers: impl Iterator<Item = usize>) -> Result<(), Failure> {
        if self.is_move {
            return Ok(());
        }
        let types: Vec<u32> = rows.columns().iter().map(|column| column.type_id).collect();
        rows.visit(numbers, |row| {
            push_row(&mut self.io.out.bytes, &types, self.formats, row)?;
            self.io.flush_if_full()
        })
    }
}

fn size(number: i32) -> usize {
    usize::try_from(number.unsigned_abs()).unwrap_or(usize::MAX)
}

/// The error of a cursor that would have to go back.
pub(super) fn only_forward() -> Failure {
    let error = PgError::error("55000", "cursor can only scan forward");
    error.with_hint("Declare it with SCROLL option to enable backward scan.").into()
}
