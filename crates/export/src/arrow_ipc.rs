//! Arrow IPC: a file, which readers can map and seek in, or a stream.
//!
//! Dictionaries are written as their values: a file allows one dictionary a column, and results may have many.

use crate::writer::{Output, ResultWriter, write_error};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::writer::{FileWriter, StreamWriter};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use atsdb_core::Result;
use std::fmt;
use std::io::Write;
use std::sync::Arc;

/// The format of Arrow IPC that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IpcShape {
    /// The file format.
    File,
    /// The stream format.
    Stream,
}

enum IpcWriter<W: Write> {
    File(FileWriter<W>),
    Stream(StreamWriter<W>),
}

/// Writes rows as Arrow IPC.
pub struct ArrowIpcWriter<W: Write> {
    writer: IpcWriter<W>,
    schema: SchemaRef,
    location: String,
}

impl<W: Write> ArrowIpcWriter<W> {
    /// Begins a result.
    pub fn new(schema: &SchemaRef, shape: IpcShape, out: Output<W>) -> Result<Self> {
        let fields = schema.fields().iter().map(|field| match field.data_type() {
            DataType::Dictionary(_, values) => Arc::new(field.as_ref().clone().with_data_type(values.as_ref().clone())),
            _ => Arc::clone(field),
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let Output { out, location } = out;
        let refuse = |error: ArrowError| write_error(&location, error);
        let writer = match shape {
            IpcShape::Stream => IpcWriter::Stream(StreamWriter::try_new(out, &schema).map_err(refuse)?),
            IpcShape::File => IpcWriter::File(FileWriter::try_new(out, &schema).map_err(refuse)?),
        };
        Ok(Self { writer, schema, location })
    }
}

impl<W: Write> fmt::Debug for ArrowIpcWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArrowIpcWriter").field("location", &self.location).finish_non_exhaustive()
    }
}

impl<W: Write> ResultWriter for ArrowIpcWriter<W> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let refuse = |error: ArrowError| write_error(&self.location, error);
        let columns = batch.columns().iter().zip(self.schema.fields());
        let columns = columns.map(|(column, field)| cast(column, field.data_type()).map_err(refuse));
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let schema = Arc::clone(&self.schema);
        let batch = RecordBatch::try_new_with_options(schema, columns, &options).map_err(refuse)?;
        match &mut self.writer {
            IpcWriter::File(writer) => writer.write(&batch).map_err(refuse),
            IpcWriter::Stream(writer) => writer.write(&batch).map_err(refuse),
        }
    }

    fn finish(&mut self) -> Result<()> {
        let refuse = |error: ArrowError| write_error(&self.location, error);
        match &mut self.writer {
            IpcWriter::File(writer) => writer.finish().map_err(refuse),
            IpcWriter::Stream(writer) => writer.finish().map_err(refuse),
        }
    }
}
