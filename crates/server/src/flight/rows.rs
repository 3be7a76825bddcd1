//! Rows as messages of Flight. Mapped columns are sent as their texts, and large batches in several messages, so that
//! no client meets a type or a size that it cannot read.

use super::error::{IntoStatus, StatusResult};
use crate::shared::batch_size::byte_count;
use arrow_flight::{FlightData, SchemaAsIpc};
use atsdb::arrow::array::RecordBatch;
use atsdb::arrow::compute::cast;
use atsdb::arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use atsdb::arrow::ipc::writer::{DictionaryTracker, IpcDataGenerator, IpcWriteContext, IpcWriteOptions};
use atsdb::arrow::record_batch::RecordBatchOptions;
use atsdb::{Error, ErrorKind};
use std::sync::Arc;

/// The size of a message that is aimed at, in bytes. Clients of gRPC refuse more than 4 MiB by default.
const MESSAGE_BYTES: usize = 1 << 20;

/// Columns with the types that are sent.
pub(super) fn sent_schema(schema: &Schema) -> SchemaRef {
    let fields: Vec<FieldRef> = schema.fields().iter().map(sent_field).collect();
    Arc::new(Schema::new(fields))
}

/// The columns of a query's answer as they are sent. All of them may be NULL, so that they are the same when the query
/// is described and when it is executed: drivers compare them.
pub(super) fn answer_schema(schema: &Schema) -> SchemaRef {
    let nullable = |field: &FieldRef| Arc::new(sent_field(field).as_ref().clone().with_nullable(true));
    let fields: Vec<FieldRef> = schema.fields().iter().map(nullable).collect();
    Arc::new(Schema::new(fields))
}

fn sent_field(field: &FieldRef) -> FieldRef {
    match sent_type(field.data_type()) {
        same if same == *field.data_type() => Arc::clone(field),
        other => Arc::new(Field::new(field.name(), other, field.is_nullable())),
    }
}

fn sent_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Dictionary(_, values) => sent_type(values),
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::List(items) | DataType::ListView(items) => DataType::List(sent_field(items)),
        DataType::LargeList(items) | DataType::LargeListView(items) => DataType::LargeList(sent_field(items)),
        DataType::FixedSizeList(items, length) => DataType::FixedSizeList(sent_field(items), *length),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(sent_field).collect()),
        other => other.clone(),
    }
}

/// A schema in the form that Flight's messages carry.
pub(super) fn schema_bytes(schema: &Schema) -> StatusResult<prost::bytes::Bytes> {
    let message = arrow_flight::IpcMessage::try_from(SchemaAsIpc::new(schema, &IpcWriteOptions::default()));
    Ok(message.or_status()?.0)
}

/// Encodes the batches of one answer.
pub(super) struct RowEncoder {
    schema: SchemaRef,
    options: IpcWriteOptions,
    generator: IpcDataGenerator,
    tracker: DictionaryTracker,
    context: IpcWriteContext,
}

impl RowEncoder {
    /// An encoder for columns as they are sent.
    pub(super) fn new(schema: SchemaRef) -> Self {
        Self {
            schema,
            options: IpcWriteOptions::default(),
            generator: IpcDataGenerator::default(),
            tracker: DictionaryTracker::new(false),
            context: IpcWriteContext::default(),
        }
    }

    /// The first message.
    pub(super) fn schema_message(&self) -> FlightData {
        SchemaAsIpc::new(&self.schema, &self.options).into()
    }

    /// Calls `send` with the messages for a batch.
    pub(super) fn encode(
        &mut self,
        batch: &RecordBatch,
        mut send: impl FnMut(FlightData) -> atsdb::Result<()>,
    ) -> atsdb::Result<()> {
        let batch = self.sent(batch)?;
        let parts = byte_count(&batch).div_ceil(MESSAGE_BYTES).clamp(1, batch.num_rows().max(1));
        let rows_at_once = batch.num_rows().div_ceil(parts).max(1);
        for start in (0..batch.num_rows()).step_by(rows_at_once) {
            let part = batch.slice(start, rows_at_once.min(batch.num_rows() - start));
            let (dictionaries, encoded) =
                self.generator.encode(&part, &mut self.tracker, &self.options, &mut self.context)?;
            dictionaries.into_iter().chain([encoded]).try_for_each(|data| send(data.into()))?;
        }
        Ok(())
    }

    /// A batch with the columns that its schema promises.
    fn sent(&self, batch: &RecordBatch) -> atsdb::Result<RecordBatch> {
        if batch.num_columns() != self.schema.fields().len() {
            let error = Error::new(ErrorKind::Conflict, "the columns of the result have changed");
            return Err(error.with_hint("run it again"));
        }
        let columns = batch.columns().iter().zip(self.schema.fields());
        let columns = columns.map(|(column, field)| match column.data_type() == field.data_type() {
            true => Ok(Arc::clone(column)),
            false => cast(column, field.data_type()),
        });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb::arrow::array::{ArrayRef, Int64Array};

    #[test]
    fn messages_have_the_size_of_their_own_rows() {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1_000_000));
        let batch = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
        let message_count = |batch: &RecordBatch| {
            let mut count = 0;
            let counted = RowEncoder::new(batch.schema()).encode(batch, |_| {
                count += 1;
                Ok(())
            });
            counted.map(|()| count).unwrap()
        };
        assert_eq!((message_count(&batch), message_count(&batch.slice(500_000, 8_192))), (8, 1));
    }
}
