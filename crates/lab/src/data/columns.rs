//! The rows of a batch for contestants that insert row by row: column types are looked up once a batch, not once
//! a value.

use crate::data::rows::{Binder, LabRow, RowSet, RowVisitor, Timed};
use crate::failure::Failure;
use arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, RecordBatch, UInt32Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type, UInt32Type};

/// Inserts rows one by one.
pub(crate) trait RowSink: Binder {
    /// A row begins.
    fn begin(&mut self) -> Result<(), Self::Error>;
    /// The time of a row of a struct: the first value, in the table's unit.
    fn time(&mut self, value: i64) -> Result<(), Self::Error>;
    /// The row has all its values.
    fn end(&mut self) -> Result<(), Self::Error>;
}

/// Hands the rows of structs to `sink`.
pub(crate) fn insert_rows<S: RowSink>(rows: &RowSet, sink: &mut S) -> Result<(), S::Error> {
    rows.visit(InsertRows(sink))
}

struct InsertRows<'a, S>(&'a mut S);

impl<S: RowSink> RowVisitor for InsertRows<'_, S> {
    type Output = Result<(), S::Error>;

    fn visit<R: LabRow>(self, rows: &[Timed<R>]) -> Self::Output {
        rows.iter().try_for_each(|row| {
            self.0.begin()?;
            self.0.time(row.time)?;
            row.record.bind(self.0)?;
            self.0.end()
        })
    }
}

/// The columns of a batch.
pub(crate) struct BatchRows {
    columns: Vec<BatchColumn>,
    rows: usize,
}

enum BatchColumn {
    Times(Int64Array),
    Integers(Int64Array),
    Floats(Float64Array),
    Texts { keys: UInt32Array, texts: Vec<String> },
}

impl BatchRows {
    /// Looks at a batch.
    ///
    /// # Errors
    ///
    /// A column of a type that the lab's tables do not have.
    pub(crate) fn of(batch: &RecordBatch) -> Result<Self, Failure> {
        let columns = batch.columns().iter().map(BatchColumn::of).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { columns, rows: batch.num_rows() })
    }

    /// Hands the rows to `sink`.
    pub(crate) fn insert<S: RowSink>(&self, sink: &mut S) -> Result<(), S::Error> {
        for row in 0..self.rows {
            sink.begin()?;
            for column in &self.columns {
                match column {
                    BatchColumn::Times(values) if values.is_valid(row) => sink.time(values.value(row))?,
                    BatchColumn::Integers(values) if values.is_valid(row) => sink.integer(values.value(row))?,
                    BatchColumn::Floats(values) if values.is_valid(row) => sink.float(values.value(row))?,
                    BatchColumn::Texts { keys, texts } if keys.is_valid(row) => {
                        sink.text(&texts[keys.value(row) as usize])?;
                    }
                    _ => sink.null()?,
                }
            }
            sink.end()?;
        }
        Ok(())
    }
}

impl BatchColumn {
    fn of(column: &ArrayRef) -> Result<Self, Failure> {
        let to = |data_type: &DataType| cast(column, data_type).map_err(Failure::broken);
        match column.data_type() {
            DataType::Dictionary(_, _) | DataType::Utf8 => {
                let dictionary = to(&DataType::Dictionary(Box::new(DataType::UInt32), Box::new(DataType::Utf8)))?;
                let dictionary = dictionary.as_dictionary::<UInt32Type>();
                let texts = dictionary.values().as_string::<i32>();
                let texts = (0..texts.len()).map(|position| texts.value(position).to_owned()).collect();
                Ok(Self::Texts { keys: dictionary.keys().clone(), texts })
            }
            DataType::Float32 | DataType::Float64 => {
                Ok(Self::Floats(to(&DataType::Float64)?.as_primitive::<Float64Type>().clone()))
            }
            DataType::Timestamp(_, _) => Ok(Self::Times(to(&DataType::Int64)?.as_primitive::<Int64Type>().clone())),
            _ => Ok(Self::Integers(to(&DataType::Int64)?.as_primitive::<Int64Type>().clone())),
        }
    }
}
