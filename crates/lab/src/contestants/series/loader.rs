//! Loading points by the line protocol, in requests of many lines.

use super::catalogue::SeriesTable;
use crate::contestant::Loader;
use crate::contestants::line_protocol::{LineDialect, Lines};
use crate::data::columns::{BatchRows, RowSink, insert_rows};
use crate::data::rows::{Binder, RowSet};
use crate::failure::Failure;
use arrow::array::RecordBatch;

/// A server that takes points.
pub(crate) trait PointServer {
    /// How it reads lines.
    const DIALECT: LineDialect;
    /// The number of lines of a request.
    const LINES: u64;

    /// Sends lines of a table, and waits until they are accepted.
    ///
    /// # Errors
    ///
    /// An error of the server.
    fn write(&mut self, table: &SeriesTable, lines: &[u8]) -> Result<(), Failure>;

    /// Waits until all that was sent can be read. The table has the number and the times of its rows.
    ///
    /// # Errors
    ///
    /// An error of the server.
    fn finish(&mut self, table: SeriesTable) -> Result<(), Failure>;
}

/// A load.
pub(crate) struct PointLoader<'a, S> {
    server: &'a mut S,
    table: SeriesTable,
    lines: Lines,
}

impl<'a, S: PointServer> PointLoader<'a, S> {
    /// A load into this table.
    pub(crate) fn new(server: &'a mut S, table: SeriesTable) -> Self {
        let columns = table.columns.iter().map(|column| (column.name.as_str(), column.role));
        let lines = Lines::new(S::DIALECT, &table.name, columns, table.per_second);
        Self { server, table, lines }
    }

    fn send(&mut self) -> Result<(), Failure> {
        if self.lines.rows() > 0 {
            self.server.write(&self.table, self.lines.bytes())?;
            self.table.rows += self.lines.rows();
            self.lines.clear();
        }
        Ok(())
    }
}

impl<S: PointServer> Loader for PointLoader<'_, S> {
    fn rows(&mut self, rows: &RowSet) -> Result<(), Failure> {
        insert_rows(rows, self)
    }

    fn batch(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        BatchRows::of(batch)?.insert(self)
    }

    fn finish(mut self: Box<Self>) -> Result<(), Failure> {
        self.send()?;
        let both = self.table.times.into_iter().chain(self.lines.times());
        self.table.times = both.reduce(|(first, last), (begin, end)| (first.min(begin), last.max(end)));
        self.server.finish(self.table)
    }
}

impl<S: PointServer> RowSink for PointLoader<'_, S> {
    fn begin(&mut self) -> Result<(), Failure> {
        self.lines.begin()
    }

    fn time(&mut self, value: i64) -> Result<(), Failure> {
        self.lines.time(value)
    }

    fn end(&mut self) -> Result<(), Failure> {
        self.lines.end()?;
        if self.lines.rows() >= S::LINES { self.send() } else { Ok(()) }
    }
}

impl<S: PointServer> Binder for PointLoader<'_, S> {
    type Error = Failure;

    fn integer(&mut self, value: i64) -> Result<(), Failure> {
        self.lines.integer(value)
    }

    fn text(&mut self, value: &str) -> Result<(), Failure> {
        self.lines.text(value)
    }

    fn float(&mut self, value: f64) -> Result<(), Failure> {
        self.lines.float(value)
    }

    fn null(&mut self) -> Result<(), Failure> {
        self.lines.null()
    }
}
