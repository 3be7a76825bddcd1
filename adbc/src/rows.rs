//! Rows of results: a stream that is computed while it is read, in bounded memory. Dropping it early stops the query.

use crate::failure::{guarded, of_store, text_of};
use crate::options::{DICTIONARIES, DURATIONS, flag};
use adbc_core::error::Result;
use adbc_core::options::OptionValue;
use atsdb::arrow::array::{RecordBatch, RecordBatchReader};
use atsdb::arrow::compute::cast;
use atsdb::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use atsdb::arrow::error::ArrowError;
use atsdb::arrow::record_batch::RecordBatchOptions;
use atsdb::sql::{batch_with_durations, with_durations};
use atsdb::{Error, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The stream that a driver manager reads.
pub(crate) type Reader = Box<dyn RecordBatchReader + Send + 'static>;

/// Batches with the error of a store.
pub(crate) type Batches = Box<dyn Iterator<Item = atsdb::Result<RecordBatch>> + Send>;

/// The types that the columns of results have for the caller: options of a database, which its connections and their
/// statements inherit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResultTypes {
    /// Whether mapped columns are dictionaries; otherwise they are text.
    dictionaries: bool,
    /// Whether intervals are durations.
    durations: bool,
}

impl Default for ResultTypes {
    fn default() -> Self {
        Self { dictionaries: true, durations: false }
    }
}

impl ResultTypes {
    /// Sets an option. `None` if the key is that of none of them.
    pub(crate) fn set(&mut self, key: &str, value: &OptionValue) -> Option<Result<()>> {
        let option = match key {
            DICTIONARIES => &mut self.dictionaries,
            DURATIONS => &mut self.durations,
            _ => return None,
        };
        Some(flag(key, value).map(|value| *option = value))
    }

    /// The text of an option. `None` if the key is that of none of them.
    pub(crate) fn get(&self, key: &str) -> Option<String> {
        match key {
            DICTIONARIES => Some(self.dictionaries.to_string()),
            DURATIONS => Some(self.durations.to_string()),
            _ => None,
        }
    }

    /// The schema that a result has for the caller.
    pub(crate) fn shown(self, schema: &SchemaRef) -> SchemaRef {
        let schema = if self.durations { with_durations(schema) } else { Arc::clone(schema) };
        if self.dictionaries {
            return schema;
        }
        let plain = |field: &Arc<Field>| match field.data_type() {
            DataType::Dictionary(_, values) => Arc::new(field.as_ref().clone().with_data_type(values.as_ref().clone())),
            _ => Arc::clone(field),
        };
        let fields: Vec<_> = schema.fields().iter().map(plain).collect();
        Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
    }
}

/// Rows of a fixed schema.
struct RowStream {
    schema: SchemaRef,
    types: ResultTypes,
    /// The first batch, which was computed before.
    first: Option<RecordBatch>,
    /// The others; `None` at the end and after an error.
    batches: Option<Batches>,
}

/// A stream of a query's rows. The first batch is computed now, so that most errors are those of the call, with their
/// status.
pub(crate) fn stream(schema: &SchemaRef, mut batches: Batches, types: ResultTypes) -> Result<Reader> {
    let schema = types.shown(schema);
    guarded(|| {
        let first =
            batches.next().transpose().and_then(|first| first.map(|first| shown(&first, &schema, types)).transpose());
        let first = first.map_err(of_store)?;
        let batches = first.is_some().then_some(batches);
        Ok(Box::new(RowStream { schema, types, first, batches }) as Reader)
    })
}

/// A stream of one batch that is in memory.
pub(crate) fn fixed(batch: RecordBatch) -> Reader {
    Box::new(RowStream { schema: batch.schema(), types: ResultTypes::default(), first: Some(batch), batches: None })
}

/// A stream without rows and without columns.
pub(crate) fn nothing() -> Reader {
    let schema = Arc::new(Schema::empty());
    Box::new(RowStream { schema, types: ResultTypes::default(), first: None, batches: None })
}

impl Iterator for RowStream {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(first) = self.first.take() {
            return Some(Ok(first));
        }
        let mut batches = self.batches.take()?;
        // C reads it, and a panic may not reach C.
        let next = catch_unwind(AssertUnwindSafe(|| {
            let next = batches.next().map(|batch| batch.and_then(|batch| shown(&batch, &self.schema, self.types)));
            (next, batches)
        }));
        match next {
            Ok((None, _)) => None,
            Ok((Some(Ok(batch)), batches)) => {
                self.batches = Some(batches);
                Some(Ok(batch))
            }
            Ok((Some(Err(error)), _)) => Some(Err(ArrowError::ExternalError(Box::new(error)))),
            Err(panic) => {
                let message = format!("internal error: reading the rows panicked: {}", text_of(panic.as_ref()));
                Some(Err(ArrowError::ExternalError(message.into())))
            }
        }
    }
}

impl RecordBatchReader for RowStream {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// A batch with the columns that its stream promised.
fn shown(batch: &RecordBatch, schema: &SchemaRef, types: ResultTypes) -> atsdb::Result<RecordBatch> {
    if batch.schema_ref() == schema {
        return Ok(batch.clone());
    }
    if batch.num_columns() != schema.fields().len() {
        return Err(Error::new(ErrorKind::Conflict, "the columns of the result have changed").with_hint("run it again"));
    }
    let converted =
        if types.durations { batch_with_durations(batch, &with_durations(batch.schema_ref()))? } else { batch.clone() };
    let columns = converted.columns().iter().zip(schema.fields());
    let columns = columns.map(|(column, field)| match column.data_type() == field.data_type() {
        true => Ok(Arc::clone(column)),
        false => cast(column, field.data_type()),
    });
    let columns = columns.collect::<std::result::Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb::arrow::array::{AsArray, DictionaryArray, Int64Array, IntervalMonthDayNanoArray};
    use atsdb::arrow::datatypes::{DurationMicrosecondType, IntervalMonthDayNano, TimeUnit, UInt8Type};

    fn batch(values: &[&str]) -> RecordBatch {
        let texts: DictionaryArray<UInt8Type> = values.iter().copied().collect();
        RecordBatch::try_from_iter([("sensor", Arc::new(texts) as _)]).unwrap()
    }

    #[test]
    fn without_dictionaries_a_mapped_column_is_text() {
        let schema = batch(&[]).schema();
        let batches = Box::new([Ok(batch(&["a"])), Ok(batch(&["b", "a"]))].into_iter());
        let types = ResultTypes { dictionaries: false, ..ResultTypes::default() };
        let reader = stream(&schema, batches, types).unwrap();
        assert_eq!(reader.schema().field(0).data_type(), &DataType::Utf8);
        let read: Vec<String> = reader
            .flat_map(|batch| {
                let texts = batch.unwrap().column(0).as_string::<i32>().clone();
                texts.iter().map(|text| text.unwrap_or_default().to_owned()).collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(read, ["a", "b", "a"]);
    }

    #[test]
    fn intervals_are_durations_if_the_caller_wants_them() {
        let interval = |months| IntervalMonthDayNano::new(months, 1, 0);
        let batch = |months| {
            let lengths = IntervalMonthDayNanoArray::from(vec![interval(months)]);
            RecordBatch::try_from_iter([("length", Arc::new(lengths) as _)]).unwrap()
        };
        let types = ResultTypes { durations: true, ..ResultTypes::default() };
        let batches = Box::new([Ok(batch(0)), Ok(batch(1))].into_iter());
        let mut reader = stream(&batch(0).schema(), batches, types).unwrap();
        assert_eq!(reader.schema().field(0).data_type(), &DataType::Duration(TimeUnit::Microsecond));
        let first = reader.next().unwrap().unwrap();
        assert_eq!(first.column(0).as_primitive::<DurationMicrosecondType>().value(0), 86_400_000_000);
        assert!(reader.next().unwrap().unwrap_err().to_string().contains("cannot hold an interval of months"));
    }

    #[test]
    fn an_error_or_a_panic_ends_the_stream() {
        let one = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from(vec![1])) as _)]).unwrap();
        let (schema, types) = (one.schema(), ResultTypes::default());
        assert!(stream(&schema, Box::new([Err(Error::invalid("no"))].into_iter()), types).is_err());
        let mut failing =
            stream(&schema, Box::new([Ok(one.clone()), Err(Error::invalid("no"))].into_iter()), types).unwrap();
        assert!(failing.next().unwrap().is_ok());
        assert_eq!(failing.next().unwrap().unwrap_err().to_string(), "External error: no");
        assert!(failing.next().is_none());
        let panics = std::iter::once(Ok(one)).chain(std::iter::once_with(|| panic!("page 7")));
        let mut panicking = stream(&schema, Box::new(panics), types).unwrap();
        assert!(panicking.next().unwrap().is_ok());
        assert!(panicking.next().unwrap().unwrap_err().to_string().contains("page 7"));
        assert!(panicking.next().is_none());
    }
}
