//! Rows of structs as a batch. Times are integers.

use crate::data::columns::RowSink;
use crate::data::rows::Binder;
use crate::failure::Failure;
use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use std::sync::Arc;

/// A column that grows.
enum GrowingColumn {
    Integers(Vec<Option<i64>>),
    Floats(Vec<Option<f64>>),
    Texts(Vec<Option<String>>),
    /// A column with only NULLs so far.
    Nulls(usize),
}

/// Rows that become a batch.
pub(super) struct ArrowRows {
    names: Vec<String>,
    columns: Vec<GrowingColumn>,
    position: usize,
}

impl ArrowRows {
    /// Creates a batch with these columns.
    pub(super) fn new(names: Vec<String>) -> Self {
        let columns = names.iter().map(|_| GrowingColumn::Nulls(0)).collect();
        Self { names, columns, position: 0 }
    }

    /// The batch. Times are integers.
    pub(super) fn finish(self) -> Result<RecordBatch, Failure> {
        let array = |column| -> ArrayRef {
            match column {
                GrowingColumn::Integers(values) => Arc::new(Int64Array::from(values)),
                GrowingColumn::Floats(values) => Arc::new(Float64Array::from(values)),
                GrowingColumn::Texts(values) => Arc::new(StringArray::from(values)),
                GrowingColumn::Nulls(count) => Arc::new(Int64Array::from(vec![None; count])),
            }
        };
        let columns = self.names.into_iter().zip(self.columns.into_iter().map(array));
        RecordBatch::try_from_iter_with_nullable(columns.map(|(name, array)| (name, array, true)))
            .map_err(Failure::broken)
    }

    fn next(&mut self) -> Result<&mut GrowingColumn, Failure> {
        self.position += 1;
        self.columns.get_mut(self.position - 1).ok_or_else(|| Failure::wrong("a row has too many values"))
    }
}

macro_rules! push {
    ($rows:expr, $kind:ident, $value:expr) => {{
        let column = $rows.next()?;
        if let GrowingColumn::Nulls(count) = column {
            *column = GrowingColumn::$kind(vec![None; *count]);
        }
        match column {
            GrowingColumn::$kind(values) => values.push(Some($value)),
            _ => return Err(Failure::wrong("a column has values of two types")),
        }
        Ok(())
    }};
}

impl RowSink for ArrowRows {
    fn begin(&mut self) -> Result<(), Failure> {
        self.position = 0;
        Ok(())
    }

    fn time(&mut self, value: i64) -> Result<(), Failure> {
        self.integer(value)
    }

    fn end(&mut self) -> Result<(), Failure> {
        Ok(())
    }
}

impl Binder for ArrowRows {
    type Error = Failure;

    fn integer(&mut self, value: i64) -> Result<(), Failure> {
        push!(self, Integers, value)
    }

    fn text(&mut self, value: &str) -> Result<(), Failure> {
        push!(self, Texts, value.to_owned())
    }

    fn float(&mut self, value: f64) -> Result<(), Failure> {
        push!(self, Floats, value)
    }

    fn null(&mut self) -> Result<(), Failure> {
        match self.next()? {
            GrowingColumn::Integers(values) => values.push(None),
            GrowingColumn::Floats(values) => values.push(None),
            GrowingColumn::Texts(values) => values.push(None),
            GrowingColumn::Nulls(count) => *count += 1,
        }
        Ok(())
    }
}
