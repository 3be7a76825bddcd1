//! Loading, in three forms.

use super::value::{EPOCH_DAYS, EPOCH_MICROSECONDS};
use crate::contestant::{Dialect, Loader};
use crate::contestants::insert_text::InsertText;
use crate::contestants::time_unit::units_per_second;
use crate::data::columns::{BatchRows, RowSink, insert_rows};
use crate::data::rows::{Binder, RowSet};
use crate::failure::Failure;
use crate::server::postgres_failure;
use arrow::array::RecordBatch;
use atsdb::{Column, ColumnType, TableDefinition};
use postgres::types::{ToSql, Type};
use postgres::{Client, CopyInWriter, Statement};
use std::io::Write;
use std::time::{Duration, SystemTime};

/// A statement of many rows is sent once it is this long.
const STATEMENT_BYTES: usize = 128 << 10;
/// The number of bytes that are passed to COPY at once.
const COPY_BYTES: usize = 64 << 10;
/// The signature, no flags, no extension (PostgreSQL's documentation of COPY, *Binary Format*).
const COPY_HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// COPY in binary form: one statement, which is a transaction.
pub(super) struct CopyLoader<'a> {
    writer: CopyInWriter<'a>,
    bytes: Vec<u8>,
    columns: Vec<ColumnType>,
    position: usize,
    per_second: i64,
}

impl<'a> CopyLoader<'a> {
    pub(super) fn new(client: &'a mut Client, table: &TableDefinition) -> Result<Self, Failure> {
        let copy = format!("COPY {} FROM STDIN (FORMAT binary)", Dialect::Postgres.quote(&table.name));
        let writer = client.copy_in(&copy).map_err(postgres_failure)?;
        let columns = table.columns.iter().map(|column| column.column_type).collect();
        let bytes = COPY_HEADER.to_vec();
        Ok(Self { writer, bytes, columns, position: 0, per_second: units_per_second(table) })
    }

    fn field(&mut self, bytes: &[u8]) {
        self.position += 1;
        self.bytes.extend_from_slice(&(bytes.len() as i32).to_be_bytes());
        self.bytes.extend_from_slice(bytes);
    }

    fn send(&mut self) -> Result<(), Failure> {
        self.writer.write_all(&self.bytes).map_err(Failure::broken)?;
        self.bytes.clear();
        Ok(())
    }
}

impl Loader for CopyLoader<'_> {
    fn rows(&mut self, rows: &RowSet) -> Result<(), Failure> {
        insert_rows(rows, self)
    }

    fn batch(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        BatchRows::of(batch)?.insert(self)
    }

    fn finish(mut self: Box<Self>) -> Result<(), Failure> {
        self.bytes.extend_from_slice(&(-1_i16).to_be_bytes());
        self.send()?;
        self.writer.finish().map_err(postgres_failure).map(drop)
    }
}

impl RowSink for CopyLoader<'_> {
    #[inline]
    fn begin(&mut self) -> Result<(), Failure> {
        self.position = 0;
        self.bytes.extend_from_slice(&(self.columns.len() as i16).to_be_bytes());
        Ok(())
    }

    #[inline]
    fn time(&mut self, value: i64) -> Result<(), Failure> {
        match self.columns.get(self.position) {
            Some(ColumnType::Timestamp(unit)) if unit.per_second() <= 1_000_000 => {
                let microseconds = value * (1_000_000 / self.per_second) - EPOCH_MICROSECONDS;
                self.field(&microseconds.to_be_bytes());
                Ok(())
            }
            _ => self.integer(value),
        }
    }

    #[inline]
    fn end(&mut self) -> Result<(), Failure> {
        if self.bytes.len() >= COPY_BYTES { self.send() } else { Ok(()) }
    }
}

impl Binder for CopyLoader<'_> {
    type Error = Failure;

    #[inline]
    fn integer(&mut self, value: i64) -> Result<(), Failure> {
        match self.columns.get(self.position) {
            Some(ColumnType::Bool | ColumnType::Int8 | ColumnType::Int16) => self.field(&(value as i16).to_be_bytes()),
            Some(ColumnType::Int32) => self.field(&(value as i32).to_be_bytes()),
            Some(ColumnType::Date) => self.field(&(value as i32 - EPOCH_DAYS).to_be_bytes()),
            _ => self.field(&value.to_be_bytes()),
        }
        Ok(())
    }

    #[inline]
    fn text(&mut self, value: &str) -> Result<(), Failure> {
        self.field(value.as_bytes());
        Ok(())
    }

    #[inline]
    fn float(&mut self, value: f64) -> Result<(), Failure> {
        match self.columns.get(self.position) {
            Some(ColumnType::Float32) => self.field(&(value as f32).to_be_bytes()),
            _ => self.field(&value.to_be_bytes()),
        }
        Ok(())
    }

    #[inline]
    fn null(&mut self) -> Result<(), Failure> {
        self.position += 1;
        self.bytes.extend_from_slice(&(-1_i32).to_be_bytes());
        Ok(())
    }
}

/// INSERT statements of many rows, in a transaction that ends with the connection if it is not committed.
pub(super) struct MultirowLoader<'a> {
    client: &'a mut Client,
    text: InsertText,
    finished: bool,
}

impl<'a> MultirowLoader<'a> {
    pub(super) fn new(client: &'a mut Client, table: &TableDefinition) -> Result<Self, Failure> {
        client.batch_execute("BEGIN").map_err(postgres_failure)?;
        let text = InsertText::new(Dialect::Postgres, "INSERT INTO", table, STATEMENT_BYTES);
        Ok(Self { client, text, finished: false })
    }
}

impl Loader for MultirowLoader<'_> {
    fn rows(&mut self, rows: &RowSet) -> Result<(), Failure> {
        let client = &mut *self.client;
        insert_rows(rows, &mut self.text.sink(|statement| client.batch_execute(statement).map_err(postgres_failure)))
    }

    fn batch(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        let client = &mut *self.client;
        let mut sink = self.text.sink(|statement| client.batch_execute(statement).map_err(postgres_failure));
        BatchRows::of(batch)?.insert(&mut sink)
    }

    fn finish(mut self: Box<Self>) -> Result<(), Failure> {
        let client = &mut *self.client;
        self.text.finish(|statement| client.batch_execute(statement).map_err(postgres_failure))?;
        client.batch_execute("COMMIT").map_err(postgres_failure)?;
        self.finished = true;
        Ok(())
    }
}

impl Drop for MultirowLoader<'_> {
    fn drop(&mut self) {
        if !self.finished {
            // The load has failed anyway. If it cannot be rolled back here, it is when the connection closes.
            let _ = self.client.batch_execute("ROLLBACK");
        }
    }
}

/// A prepared INSERT a row: a round trip each.
pub(super) struct InsertLoader<'a> {
    client: &'a mut Client,
    insert: Statement,
    values: Vec<Box<dyn ToSql + Sync>>,
    per_second: i64,
    finished: bool,
}

impl<'a> InsertLoader<'a> {
    pub(super) fn new(client: &'a mut Client, table: &TableDefinition) -> Result<Self, Failure> {
        // A date is sent as its days since the epoch.
        let mark = |(position, column): (usize, &Column)| match column.column_type {
            ColumnType::Date => format!("DATE '1970-01-01' + ${}::int4", position + 1),
            _ => format!("${}", position + 1),
        };
        let marks: Vec<String> = table.columns.iter().enumerate().map(mark).collect();
        let insert = format!("INSERT INTO {} VALUES ({})", Dialect::Postgres.quote(&table.name), marks.join(", "));
        let insert = client.prepare(&insert).map_err(postgres_failure)?;
        client.batch_execute("BEGIN").map_err(postgres_failure)?;
        Ok(Self { client, insert, values: Vec::new(), per_second: units_per_second(table), finished: false })
    }

    fn expected(&self) -> Option<&Type> {
        self.insert.params().get(self.values.len())
    }
}

impl Loader for InsertLoader<'_> {
    fn rows(&mut self, rows: &RowSet) -> Result<(), Failure> {
        insert_rows(rows, self)
    }

    fn batch(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        BatchRows::of(batch)?.insert(self)
    }

    fn finish(mut self: Box<Self>) -> Result<(), Failure> {
        self.client.batch_execute("COMMIT").map_err(postgres_failure)?;
        self.finished = true;
        Ok(())
    }
}

impl Drop for InsertLoader<'_> {
    fn drop(&mut self) {
        if !self.finished {
            // The load has failed anyway. If it cannot be rolled back here, it is when the connection closes.
            let _ = self.client.batch_execute("ROLLBACK");
        }
    }
}

impl RowSink for InsertLoader<'_> {
    fn begin(&mut self) -> Result<(), Failure> {
        self.values.clear();
        Ok(())
    }

    fn time(&mut self, value: i64) -> Result<(), Failure> {
        if self.expected() != Some(&Type::TIMESTAMPTZ) {
            return self.integer(value);
        }
        let microseconds = Duration::from_micros((value * (1_000_000 / self.per_second)).unsigned_abs());
        let time =
            if value < 0 { SystemTime::UNIX_EPOCH - microseconds } else { SystemTime::UNIX_EPOCH + microseconds };
        self.values.push(Box::new(time));
        Ok(())
    }

    fn end(&mut self) -> Result<(), Failure> {
        let values: Vec<&(dyn ToSql + Sync)> = self.values.iter().map(AsRef::as_ref).collect();
        self.client.execute(&self.insert, &values).map_err(postgres_failure).map(drop)
    }
}

impl Binder for InsertLoader<'_> {
    type Error = Failure;

    fn integer(&mut self, value: i64) -> Result<(), Failure> {
        let value: Box<dyn ToSql + Sync> = match self.expected() {
            Some(&Type::INT2) => Box::new(value as i16),
            Some(&Type::INT4) => Box::new(value as i32),
            _ => Box::new(value),
        };
        self.values.push(value);
        Ok(())
    }

    fn text(&mut self, value: &str) -> Result<(), Failure> {
        self.values.push(Box::new(value.to_owned()));
        Ok(())
    }

    fn float(&mut self, value: f64) -> Result<(), Failure> {
        match self.expected() {
            Some(&Type::FLOAT4) => self.values.push(Box::new(value as f32)),
            _ => self.values.push(Box::new(value)),
        }
        Ok(())
    }

    fn null(&mut self) -> Result<(), Failure> {
        let value: Box<dyn ToSql + Sync> = match self.expected() {
            Some(&Type::INT2) => Box::new(None::<i16>),
            Some(&Type::INT4) => Box::new(None::<i32>),
            Some(&Type::INT8) => Box::new(None::<i64>),
            Some(&Type::FLOAT4) => Box::new(None::<f32>),
            Some(&Type::FLOAT8) => Box::new(None::<f64>),
            Some(&Type::TIMESTAMPTZ) => Box::new(None::<SystemTime>),
            _ => Box::new(None::<String>),
        };
        self.values.push(value);
        Ok(())
    }
}
