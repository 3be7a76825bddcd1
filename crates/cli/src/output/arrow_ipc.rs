//! Arrow IPC: a file for `-o`, which readers can map and seek in; a stream for stdout, which they cannot.
//!
//! Dictionaries are written as their values: a file allows one dictionary a column, and results may have many.

use super::destination::{Destination, write_error};
use super::writer::ResultWriter;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::ipc::writer::{FileWriter, StreamWriter};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use atsdb::Result;
use std::sync::Arc;

enum IpcWriter<'a> {
    File(FileWriter<&'a mut Destination>),
    Stream(StreamWriter<&'a mut Destination>),
}

pub(super) struct ArrowIpcWriter<'a> {
    writer: IpcWriter<'a>,
    schema: SchemaRef,
    place: String,
}

impl<'a> ArrowIpcWriter<'a> {
    pub(super) fn new(schema: &SchemaRef, out: &'a mut Destination) -> Result<Self> {
        let fields = schema.fields().iter().map(|field| match field.data_type() {
            DataType::Dictionary(_, values) => Arc::new(field.as_ref().clone().with_data_type(values.as_ref().clone())),
            _ => Arc::clone(field),
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let place = out.place().to_owned();
        let refuse = |error: ArrowError| write_error(&place, error);
        let writer = if out.is_stdout() {
            IpcWriter::Stream(StreamWriter::try_new(out, &schema).map_err(refuse)?)
        } else {
            IpcWriter::File(FileWriter::try_new(out, &schema).map_err(refuse)?)
        };
        Ok(Self { writer, schema, place })
    }
}

impl ResultWriter for ArrowIpcWriter<'_> {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let refuse = |error: ArrowError| write_error(&self.place, error);
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
        let refuse = |error: ArrowError| write_error(&self.place, error);
        match &mut self.writer {
            IpcWriter::File(writer) => writer.finish().map_err(refuse),
            IpcWriter::Stream(writer) => writer.finish().map_err(refuse),
        }
    }
}
