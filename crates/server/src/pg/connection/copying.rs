//! COPY: rows from the client into the store, and back.

use super::session::Connection;
use crate::pg::copy::reader::CopyReader;
use crate::pg::copy::writer;
use crate::pg::error::{Failure, PgError};
use crate::pg::rows::RowSource;
use crate::pg::statement::copy::{Copy, CopyFormat, CopyWhat};
use crate::pg::wire::incoming::Incoming;
use arrow::array::RecordBatch;
use atsdb::name::same_name;
use atsdb::sql::Permission;
use atsdb::{Column, Error, ErrorKind};
use std::sync::mpsc::{SyncSender, sync_channel};

/// The maximum number of batches that are read but not stored yet.
const WAITING_BATCHES_MAX: usize = 2;

type CopyBatch = Result<RecordBatch, Error>;

impl Connection {
    /// Reads rows until the client signals the end, and returns the command's tag.
    pub(super) fn copy_in(&mut self, copy: &Copy) -> Result<String, Failure> {
        let CopyWhat::Table { name, columns } = &copy.what else {
            return Err(PgError::syntax("COPY FROM takes a table").into());
        };
        // Before the client sends rows.
        self.session.require(Permission::Change)?;
        self.take_place()?;
        let found = self.columns_to_copy(name, columns)?;
        let is_binary = copy.options.format == CopyFormat::Binary;
        self.io.out.copy_response(b'G', is_binary, found.len());
        self.io.flush()?;
        let mut reader = CopyReader::new(&found, &copy.options);
        let mut room = self.io.further_room();
        let (sender, pieces) = sync_channel::<CopyBatch>(WAITING_BATCHES_MAX);
        let names: Vec<String> = found.into_iter().map(|column| column.name).collect();
        let (session, io, copied_rows) = (&self.session, &mut self.io, &self.copied_rows);
        std::thread::scope(|scope| {
            let store = scope.spawn(|| session.load(name, &names, pieces));
            let mut next = || -> Result<Option<RecordBatch>, Failure> {
                loop {
                    match io.wait()? {
                        Incoming::CopyData(piece) => {
                            let mut batch = reader.push(&piece)?;
                            // If others need the memory, complete rows are stored at once; the rest of a row waits.
                            if batch.is_none() && room.try_grow(reader.byte_count()).is_err() {
                                batch = reader.batch()?;
                            }
                            room.shrink(reader.byte_count());
                            io.runtime().block_on(room.grow(reader.byte_count())).map_err(|_| PgError::full())?;
                            io.holds.set(reader.byte_count());
                            if batch.is_some() {
                                return Ok(batch);
                            }
                        }
                        Incoming::CopyDone => return Ok(None),
                        Incoming::CopyFail(why) => {
                            return Err(PgError::error("57014", format!("COPY from stdin failed: {why}")).into());
                        }
                        Incoming::Flush | Incoming::Sync => {}
                        _ => return Err(PgError::protocol("unexpected message during COPY from stdin").into()),
                    }
                }
            };
            let mut read = Ok(());
            // If the storing thread does not accept a batch, it has an error of its own.
            loop {
                match next() {
                    Ok(Some(batch)) => {
                        if sender.send(Ok(batch)).is_err() {
                            break;
                        }
                    }
                    Ok(None) => break,
                    Err(failure) => {
                        read = Err(failure);
                        break;
                    }
                }
            }
            let read = read.and_then(|()| match reader.finish()? {
                Some(batch) => {
                    // The receiving thread itself reports why it ended.
                    let _ = sender.send(Ok(batch));
                    Ok(())
                }
                None => Ok(()),
            });
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

    /// The columns of the rows, in order.
    fn columns_to_copy(&self, table: &str, names: &[String]) -> Result<Vec<Column>, Failure> {
        let table = self.session.table(table)?;
        let definition = &table.definition;
        if definition.view.is_some() {
            return Err(PgError::error("42809", format!("cannot copy to view \"{}\"", definition.name)).into());
        }
        if names.is_empty() {
            return Ok(definition.columns.clone());
        }
        let find = |name: &String| match definition.columns.iter().find(|column| same_name(&column.name, name)) {
            Some(column) => Ok(column.clone()),
            None => {
                let message = format!("column \"{name}\" of relation \"{}\" does not exist", definition.name);
                Err(PgError::error("42703", message).into())
            }
        };
        names.iter().map(find).collect()
    }

    /// Sends rows, and returns the command's tag.
    pub(super) fn copy_out(&mut self, copy: &Copy, mut rows: RowSource) -> Result<String, Failure> {
        let options = &copy.options;
        let columns = rows.columns().to_vec();
        let io = &mut self.io;
        io.out.copy_response(b'H', options.format == CopyFormat::Binary, columns.len());
        let mut data = writer::begin(options).to_vec();
        if options.has_header {
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

/// Tells the storing thread to discard everything.
fn give_up(sender: &SyncSender<CopyBatch>) {
    // If the thread does not receive this error, it already has another one.
    let _ = sender.send(Err(Error::new(ErrorKind::Interrupted, "the client gave the COPY up")));
}
