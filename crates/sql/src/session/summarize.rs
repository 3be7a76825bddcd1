//! `SUMMARIZE table` and `SUMMARIZE query`, as in DuckDB: one row of measures for each column.

use super::state::Session;
use crate::ddl::from_query::type_name_of;
use crate::run::answer::{Answer, AnswerRows};
use arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{DataType, Field, Float64Type, Int64Type, Schema, SchemaRef};
use atsdb_core::{Error, Result};
use atsdb_dialect::text::errors::sql_error;
use atsdb_dialect::text::params::Parameters;
use atsdb_dialect::text::script::Statement;
use atsdb_dialect::text::source_position::SourcePosition;
use atsdb_dialect::text::verbs::verb_of;
use std::fmt::Write;
use std::sync::Arc;

const VERB: &str = "SUMMARIZE";

/// The measures of each column.
const MEASURES: [&str; 8] = ["min", "max", "approx_unique", "avg", "std", "q25", "q50", "q75"];

/// The columns of the answer.
pub(super) fn schema() -> SchemaRef {
    let measures = MEASURES.into_iter().map(|name| match name {
        "min" | "max" => (name, DataType::Utf8),
        "approx_unique" => (name, DataType::Int64),
        _ => (name, DataType::Float64),
    });
    let columns = [("column_name", DataType::Utf8), ("column_type", DataType::Utf8)].into_iter().chain(measures);
    let columns = columns.chain([("count", DataType::Int64), ("null_percentage", DataType::Float64)]);
    Arc::new(Schema::new(columns.map(|(name, data_type)| Field::new(name, data_type, true)).collect::<Vec<_>>()))
}

impl Session {
    /// Runs one query that computes the same number of measures for each column.
    pub(super) fn summarize(&self, statement: &Statement) -> Result<Answer> {
        let rest = statement.text()[VERB.len()..].trim();
        let query = match verb_of(rest).as_str() {
            "SELECT" | "WITH" | "VALUES" | "FROM" | "TABLE" => rest.to_owned(),
            _ if rest.starts_with('(') => rest.to_owned(),
            _ if rest.is_empty() => return Err(sql_error("SUMMARIZE what?").with_hint("SUMMARIZE table")),
            _ => format!("SELECT * FROM {rest}"),
        };
        let prepared = self.prepare(&query, &[])?;
        let schema = prepared.schema().ok_or_else(|| sql_error("SUMMARIZE takes a table or a query"))?;
        let fields = schema.fields();
        let rows = self.rows_of(&question(fields, &query), SourcePosition::START, &Parameters::none())?;
        let schema = rows.schema();
        let batches = rows.collect::<Result<Vec<_>>>()?;
        let found = concat_batches(&schema, &batches)?;
        summary(fields, &found).map(|batch| Answer::Rows(AnswerRows::fixed(batch)))
    }
}

/// The query that measures all columns of another query, by position, because names may repeat.
fn question(fields: &[Arc<Field>], query: &str) -> String {
    let mut text = "SELECT count(*)".to_owned();
    for (position, field) in fields.iter().enumerate() {
        let column = format!("c{position}");
        let _ = write!(text, ", count({column})");
        for measure in MEASURES {
            let _ = write!(text, ", {}", expression(measure, &column, field.data_type()));
        }
    }
    let names: Vec<String> = (0..fields.len()).map(|position| format!("c{position}")).collect();
    format!("{text} FROM ({query}) AS summarized ({})", names.join(", "))
}

fn expression(measure: &str, column: &str, data_type: &DataType) -> String {
    let is_number = data_type.is_numeric();
    match measure {
        "min" | "max" => match data_type {
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView => {
                format!("concat('\\x', encode({measure}({column}), 'hex'))")
            }
            _ => format!("CAST({measure}({column}) AS TEXT)"),
        },
        "approx_unique" => match data_type {
            DataType::Dictionary(..) | DataType::Float16 | DataType::Float32 | DataType::Float64 => {
                format!("approx_distinct(CAST({column} AS TEXT))")
            }
            data_type if data_type.is_decimal() => format!("approx_distinct(CAST({column} AS TEXT))"),
            _ => format!("approx_distinct({column})"),
        },
        _ if !is_number => "NULL".to_owned(),
        "avg" => format!("CAST(avg({column}) AS DOUBLE)"),
        "std" => format!("stddev({column})"),
        quantile => format!("approx_percentile_cont(CAST({column} AS DOUBLE), 0.{})", &quantile[1..]),
    }
}

/// Splits the single row of that query into one row for each column.
fn summary(fields: &[Arc<Field>], found: &RecordBatch) -> Result<RecordBatch> {
    let value = |at: usize, data_type: DataType| cast(found.column(at), &data_type).map_err(Error::from);
    let integer = |at: usize| value(at, DataType::Int64).map(|array| array.as_primitive::<Int64Type>().value(0));
    let at = |position: usize, measure: usize| 2 + position * (MEASURES.len() + 1) + measure;
    let positions = 0..fields.len();
    let row_count = integer(0)?;
    let names: StringArray = fields.iter().map(|field| Some(field.name().as_str())).collect();
    let types: StringArray = fields.iter().map(|field| Some(type_name_of(field))).collect();
    let mut columns: Vec<ArrayRef> = vec![Arc::new(names), Arc::new(types)];
    for (measure, name) in MEASURES.into_iter().enumerate() {
        let values = positions.clone().map(|position| at(position, measure));
        let column: ArrayRef = match name {
            "min" | "max" => {
                let texts = values.map(|at| {
                    let texts = value(at, DataType::Utf8)?;
                    Ok(texts.is_valid(0).then(|| texts.as_string::<i32>().value(0).to_owned()))
                });
                Arc::new(texts.collect::<Result<StringArray>>()?)
            }
            "approx_unique" => Arc::new(values.map(integer).collect::<Result<Vec<_>>>().map(Int64Array::from)?),
            _ => {
                let floats = values.map(|at| {
                    let floats = value(at, DataType::Float64)?;
                    Ok(floats.is_valid(0).then(|| floats.as_primitive::<Float64Type>().value(0)))
                });
                Arc::new(floats.collect::<Result<Float64Array>>()?)
            }
        };
        columns.push(column);
    }
    let null_percentages = positions.map(|position| {
        let null_count = row_count - integer(at(position, 0) - 1)?;
        Ok((row_count > 0).then(|| (null_count as f64 * 10_000.0 / row_count as f64).round() / 100.0))
    });
    columns.push(Arc::new(Int64Array::from(vec![row_count; fields.len()])));
    columns.push(Arc::new(null_percentages.collect::<Result<Float64Array>>()?));
    RecordBatch::try_new(schema(), columns).map_err(Error::from)
}
