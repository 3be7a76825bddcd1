//! COPY: rows from the client into the store, and back.

use super::io::Io;
use super::session::Connection;
use crate::ingest::request_memory::MemoryReservation;
use crate::pg::copy::reader::CopyReader;
use crate::pg::copy::writer;
use crate::pg::error::{Failure, PgError};
use crate::pg::rows::RowSource;
use crate::pg::statement::copy::quoted_name;
use crate::pg::store::{CopyBatch, CopyPiece};
use crate::pg::wire::incoming::Incoming;
use atsdb::sql::{CopyFormat, CopyHeader, CopySource, CopyStatement, Permission};
use atsdb::{Column, Error, ErrorKind, Table};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::Builder;

/// The maximum number of batches that are read but not stored yet.
const WAITING_BATCHES_MAX: usize = 2;

impl Connection {
    /// Reads rows until the client signals the end, and returns the command's tag.
    pub(super) fn copy_in(&mut self, copy: &CopyStatement) -> Result<String, Failure> {
        let CopySource::Table { name, .. } = &copy.source else {
            return Err(PgError::syntax("COPY FROM takes a table").into());
        };
        // Before the client sends rows.
        self.session.require(Permission::Change)?;
        self.take_permit()?;
        let (relation, found) = self.columns_to_copy(copy)?;
        let is_binary = copy.options.format == CopyFormat::Binary;
        self.io.out.copy_response(b'G', is_binary, found.len());
        self.io.flush()?;
        let reader = CopyReader::new(&relation, &found, &copy.options);
        let reservation = self.io.further_reservation();
        let (sender, pieces) = sync_channel::<CopyPiece>(WAITING_BATCHES_MAX);
        let table = quoted_name(name);
        let names: Vec<String> = found.into_iter().map(|column| column.name).collect();
        let (session, io, copied_rows) = (&self.session, &mut self.io, &self.copied_rows);
        std::thread::scope(|scope| {
            let load = || session.load(&table, &names, copy.condition.as_deref(), pieces);
            let store = Builder::new().spawn_scoped(scope, load).map_err(Error::no_thread)?;
            let read = read_rows(io, reader, reservation, &sender);
            if read.is_err() {
                give_up(&sender);
            }
            drop(sender);
            let stored = store.join().map_err(|_| PgError::error("XX000", "storing the rows failed inside"))?;
            read?;
            let row_count = stored?;
            copied_rows.add(row_count);
            Ok(format!("COPY {row_count}"))
        })
    }

    /// The name of the table that rows are copied to, and the columns of the rows, in order.
    fn columns_to_copy(&self, copy: &CopyStatement) -> Result<(String, Vec<Column>), Failure> {
        let table = self.table_of(copy)?.ok_or_else(|| PgError::syntax("COPY FROM takes a table"))?;
        let definition = &table.definition;
        if definition.view.is_some() {
            return Err(PgError::error("42809", format!("cannot copy to view \"{}\"", definition.name)).into());
        }
        if definition.materialized.is_some() {
            let message = format!("cannot copy to materialized view \"{}\"", definition.name);
            return Err(PgError::error("42809", message).into());
        }
        let all: Vec<&str> = definition.columns.iter().map(|column| column.name.as_str()).collect();
        let columns = copy.positions(&all)?.into_iter().map(|position| definition.columns[position].clone());
        Ok((definition.local_name().to_owned(), columns.collect()))
    }

    fn table_of(&self, copy: &CopyStatement) -> Result<Option<Table>, Failure> {
        match &copy.source {
            CopySource::Table { name, .. } => Ok(Some(self.session.table(name)?)),
            CopySource::Query(_) => Ok(None),
        }
    }

    /// Sends rows, and returns the command's tag.
    pub(super) fn copy_out(&mut self, copy: &CopyStatement, mut rows: RowSource) -> Result<String, Failure> {
        let options = &copy.options;
        let columns = rows.columns().to_vec();
        let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
        match self.table_of(copy) {
            // A view has no columns in its definition.
            Ok(Some(table)) if table.definition.view.is_none() => {
                let all: Vec<&str> = table.definition.columns.iter().map(|column| column.name.as_str()).collect();
                copy.positions(&all)?;
            }
            _ => options.check_columns(&names, &names, None)?,
        }
        let io = &mut self.io;
        io.out.copy_response(b'H', options.format == CopyFormat::Binary, columns.len());
        let mut data = writer::begin(options).to_vec();
        if options.header != CopyHeader::None {
            writer::header(&mut data, options, &columns);
        }
        let (count, _) = rows.visit(usize::MAX, &io.holds.clone(), |row| {
            writer::row(&mut data, options, &columns, row)?;
            io.out.message(b'd', |out| out.append(&mut data));
            io.flush_if_full()
        })?;
        data.extend(writer::end(options));
        if !data.is_empty() {
            io.out.message(b'd', |out| out.append(&mut data));
        }
        io.out.copy_done();
        Ok(format!("COPY {count}"))
    }
}

/// Passes the rows that a client sends to the storing thread.
fn read_rows(
    io: &mut Io,
    mut reader: CopyReader,
    mut reservation: MemoryReservation,
    sender: &SyncSender<CopyPiece>,
) -> Result<(), Failure> {
    while let Some(batch) = next_rows(io, &mut reader, &mut reservation)? {
        if sender.send(Ok(batch)).is_err() {
            // The storing thread has an error of its own.
            return Ok(());
        }
    }
    if let Some(rows) = reader.finish()? {
        // The storing thread itself reports why it ended.
        let _ = sender.send(Ok(CopyBatch { rows, reservation }));
    }
    Ok(())
}

/// Returns the next rows that a client sends, with the memory reserved for them; `None` at their end, where the reader
/// may have some more.
fn next_rows(
    io: &mut Io,
    reader: &mut CopyReader,
    reservation: &mut MemoryReservation,
) -> Result<Option<CopyBatch>, Failure> {
    loop {
        let is_full = reservation.try_grow(reader.byte_count()).is_err();
        let mut batch = reader.next_batch()?;
        // If others need the memory, complete rows are stored at once; the rest of a row waits.
        if batch.is_none() && is_full {
            batch = reader.batch()?;
        }
        if let Some(rows) = batch {
            let reservation = reservation.split_off(reader.byte_count());
            return Ok(Some(CopyBatch { rows, reservation }));
        }
        reservation.shrink(reader.byte_count());
        io.grow(reservation, reader.byte_count())?;
        io.holds.set(reader.byte_count());
        match io.wait()? {
            Incoming::CopyData(piece) => reader.push(&piece),
            Incoming::CopyDone => return Ok(None),
            Incoming::CopyFail(why) => {
                return Err(PgError::error("57014", format!("COPY from stdin failed: {why}")).into());
            }
            Incoming::Flush | Incoming::Sync => {}
            _ => return Err(PgError::protocol("unexpected message during COPY from stdin").into()),
        }
    }
}

/// Tells the storing thread to discard everything.
fn give_up(sender: &SyncSender<CopyPiece>) {
    // If the thread does not receive this error, it already has another one.
    let _ = sender.send(Err(Error::new(ErrorKind::Interrupted, "the client abandoned the COPY")));
}
