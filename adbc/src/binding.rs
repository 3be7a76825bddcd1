//! Parameters from Arrow: each row of the bound data is one set of values.

use crate::failure::{invalid, of_store};
use crate::link::Link;
use adbc_core::error::Result;
use atsdb::ErrorKind;
use atsdb::arrow::array::{RecordBatch, RecordBatchReader};
use atsdb::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use atsdb::arrow::error::ArrowError;
use atsdb::sql::{Answer, AnswerRows, NumberedText, ParameterValue, Prepared, Session, verb_of};
use std::sync::Arc;

/// Data that was bound.
pub(crate) enum BoundData {
    /// A batch, which can be used several times.
    Batch(RecordBatch),
    /// A stream, which can be read once.
    Stream(Box<dyn RecordBatchReader + Send>),
}

impl BoundData {
    pub(crate) fn schema(&self) -> SchemaRef {
        match self {
            Self::Batch(batch) => batch.schema(),
            Self::Stream(stream) => stream.schema(),
        }
    }

    /// The batches, without empty ones.
    pub(crate) fn batches(self) -> Box<dyn Iterator<Item = atsdb::Result<RecordBatch>> + Send> {
        let batches: Box<dyn Iterator<Item = std::result::Result<RecordBatch, ArrowError>> + Send> = match self {
            Self::Batch(batch) => Box::new(std::iter::once(Ok(batch))),
            Self::Stream(stream) => stream,
        };
        let has_rows =
            |batch: &std::result::Result<RecordBatch, ArrowError>| !matches!(batch, Ok(batch) if batch.num_rows() == 0);
        Box::new(batches.filter(has_rows).map(|batch| {
            batch.map_err(|error| {
                let message = format!("reading the bound data failed: {error}");
                atsdb::Error::new(ErrorKind::InvalidValue, message).with_source(error)
            })
        }))
    }
}

/// A statement with parameters, and the column of the bound data for each parameter.
pub(crate) struct BoundStatement {
    pub(crate) prepared: Prepared,
    columns: Vec<usize>,
}

impl BoundStatement {
    /// Prepares a statement for data of this schema.
    pub(crate) fn new(session: &Session, statement: &NumberedText, data: &Schema, by_name: bool) -> Result<Self> {
        let inferred = session.prepare(&statement.text, &[]).map_err(of_store)?;
        let count = inferred.parameter_types().len();
        let columns = columns_of(statement, data, by_name, count)?;
        let is_query = matches!(verb_of(&statement.text).as_str(), "SELECT" | "WITH" | "VALUES" | "FROM" | "TABLE");
        let pairs = inferred.parameter_types().iter().zip(&columns);
        let declared: Vec<Option<DataType>> = pairs
            .map(|(inferred, column)| declared_type(inferred, data.field(*column).data_type(), is_query))
            .collect();
        let prepared = match declared.iter().any(Option::is_some) {
            true => session.prepare(&statement.text, &declared).map_err(of_store)?,
            false => inferred,
        };
        Ok(Self { prepared, columns })
    }

    /// Executes the statement with one row of the data.
    pub(crate) fn execute(&self, session: &Session, data: &RecordBatch, row: usize) -> atsdb::Result<Answer> {
        let value = |column: &usize| ParameterValue::from_array(data.column(*column).as_ref(), row);
        let values = self.columns.iter().map(value).collect::<atsdb::Result<Vec<_>>>()?;
        session.execute_prepared(&self.prepared, &values)
    }
}

/// The column of the data for each parameter, by number.
fn columns_of(statement: &NumberedText, data: &Schema, by_name: bool, count: usize) -> Result<Vec<usize>> {
    if !by_name {
        let bound = data.fields().len();
        return match bound == count {
            true => Ok((0..count).collect()),
            false => Err(invalid(format!("{bound} columns are bound, but the statement has {count} parameters"))),
        };
    }
    let column = |number: usize| {
        let Some(Some(name)) = statement.names.get(number) else {
            return Err(invalid("a parameter that is bound by name is written as $name"));
        };
        let found = data.fields().iter().position(|field| field.name() == name);
        found.ok_or_else(|| invalid(format!("no column is bound for the parameter ${name}")))
    };
    (0..count).map(column).collect()
}

/// The type to declare for a parameter, if it differs from the one inferred from the statement: where the statement
/// implies no type, and where a value may be compared with a column that has less precision.
fn declared_type(inferred: &DataType, bound: &DataType, is_query: bool) -> Option<DataType> {
    let bound = match bound {
        DataType::Dictionary(_, values) => values.as_ref(),
        other => other,
    };
    let is_text = |data_type: &DataType| match data_type {
        DataType::Dictionary(_, values) => values.is_string(),
        other => other.is_string(),
    };
    let is_finer = match (inferred, bound) {
        (DataType::Timestamp(unit, _), DataType::Timestamp(other, _)) => unit < other,
        (DataType::Date32, DataType::Timestamp(..)) => true,
        (inferred, bound) => inferred.is_integer() && (bound.is_floating() || bound.is_decimal()),
    };
    if bound.is_null() || is_text(bound) {
        return None;
    }
    (is_text(inferred) || (is_query && is_finer)).then(|| bound.clone())
}

/// The rows of a query, executed for each row of the data in turn.
pub(crate) struct RowsPerRow {
    link: Arc<Link>,
    session: Arc<Session>,
    statement: BoundStatement,
    data: Box<dyn Iterator<Item = atsdb::Result<RecordBatch>> + Send>,
    /// The batch of the data that is in use, and its next row.
    batch: Option<(RecordBatch, usize)>,
    open: Option<AnswerRows>,
}

impl RowsPerRow {
    pub(crate) fn new(link: Arc<Link>, session: Arc<Session>, statement: BoundStatement, data: BoundData) -> Self {
        Self { link, session, statement, data: data.batches(), batch: None, open: None }
    }

    /// The schema of the first row's result, else the prepared one.
    pub(crate) fn schema(&mut self) -> Result<SchemaRef> {
        self.open = self.next_rows().map_err(of_store)?;
        let prepared = || self.statement.prepared.schema().cloned().unwrap_or_else(|| Arc::new(Schema::empty()));
        let schema = self.open.as_ref().map_or_else(prepared, AnswerRows::schema);
        // A later row may have NULL where the first one has a value.
        let nullable = |field: &Arc<Field>| field.as_ref().clone().with_nullable(true);
        Ok(Arc::new(Schema::new(schema.fields().iter().map(nullable).collect::<Vec<_>>())))
    }

    /// Executes the statement with the next row of the data; `None` after the last one.
    fn next_rows(&mut self) -> atsdb::Result<Option<AnswerRows>> {
        loop {
            if let Some((batch, row)) = &mut self.batch
                && *row < batch.num_rows()
            {
                self.link.check_not_cancelled()?;
                let answer = self.statement.execute(&self.session, batch, *row)?;
                *row += 1;
                if let Answer::Rows(rows) = answer {
                    return Ok(Some(rows));
                }
                continue;
            }
            match self.data.next().transpose()? {
                Some(batch) => self.batch = Some((batch, 0)),
                None => return Ok(None),
            }
        }
    }
}

impl Iterator for RowsPerRow {
    type Item = atsdb::Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(next) = self.open.as_mut().and_then(Iterator::next) {
                return Some(next);
            }
            match self.next_rows() {
                Ok(Some(rows)) => self.open = Some(rows),
                Ok(None) => {
                    self.open = None;
                    return None;
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// Executes a change for each row of the data. Returns how many rows were changed, or `None` if that is not known.
pub(crate) fn change_per_row(
    link: &Link,
    session: &Session,
    statement: &BoundStatement,
    data: BoundData,
) -> Result<Option<u64>> {
    let mut changed = Some(0);
    for batch in data.batches() {
        let batch = batch.map_err(of_store)?;
        for row in 0..batch.num_rows() {
            link.check_not_cancelled().map_err(of_store)?;
            let of_row = row_count(statement.execute(session, &batch, row).map_err(of_store)?)?;
            changed = changed.zip(of_row).map(|(changed, of_row)| changed + of_row);
        }
    }
    Ok(changed)
}

/// The number of rows that an answer has or has changed. Its rows are read and dropped.
pub(crate) fn row_count(answer: Answer) -> Result<Option<u64>> {
    match answer {
        Answer::Done { row_count, .. } => Ok(row_count),
        Answer::Rows(rows) => {
            let mut count = 0;
            for batch in rows {
                count += batch.map_err(of_store)?.num_rows() as u64;
            }
            Ok(Some(count))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb::arrow::datatypes::TimeUnit;

    #[test]
    fn a_type_is_declared_where_the_statement_says_none_or_less() {
        let second = DataType::Timestamp(TimeUnit::Second, Some("UTC".into()));
        let microsecond = DataType::Timestamp(TimeUnit::Microsecond, None);
        let declared = |inferred: &DataType, bound: &DataType, is_query| declared_type(inferred, bound, is_query);
        assert_eq!(declared(&DataType::Utf8, &DataType::Int64, false), Some(DataType::Int64));
        assert_eq!(declared(&second, &microsecond, true), Some(microsecond.clone()));
        assert_eq!(declared(&DataType::Int32, &DataType::Float64, true), Some(DataType::Float64));
        for (inferred, bound) in
            [(&second, &microsecond), (&DataType::Int32, &DataType::Float64), (&DataType::Int32, &DataType::Int64)]
        {
            assert_eq!(declared(inferred, bound, false), None);
        }
        assert_eq!(declared(&DataType::Utf8, &DataType::Null, true), None);
        assert_eq!(declared(&DataType::Int32, &DataType::Utf8, true), None);
    }

    #[test]
    fn columns_are_matched_by_place_or_by_name() {
        let statement = NumberedText::new("SELECT $b, $a").unwrap();
        let field = |name: &str| Field::new(name, DataType::Int64, true);
        let data = Schema::new(vec![field("a"), field("b"), field("c")]);
        assert_eq!(columns_of(&statement, &data, true, 2).unwrap(), [1, 0]);
        assert!(columns_of(&statement, &data, false, 2).is_err());
        assert!(columns_of(&NumberedText::new("SELECT ?").unwrap(), &data, true, 1).is_err());
        let other = Schema::new(vec![field("x"), field("y")]);
        assert_eq!(columns_of(&statement, &other, false, 2).unwrap(), [0, 1]);
        assert!(columns_of(&statement, &other, true, 2).unwrap_err().message.contains("$b"));
    }
}
