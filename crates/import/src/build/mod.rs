//! Builds one array for each column of the table from the records of a block.
//!
//! Owned here: the rows of a block with their errors, the values of one column ([`cells`], [`column_values`]), and
//! mapped texts ([`text_numbers`]). Not owned: the plan that is followed (`plan`), and the parsing of single values
//! (`values`).

mod cells;
pub(crate) mod column_values;
pub(crate) mod text_numbers;

use crate::batches::rows::{default_array, repeated_text, time_bounds, with_types_of};
use crate::build::cells::{Cells, Utf8Slice};
use crate::build::column_values::{ColumnValues, Inexact, InvalidValue};
use crate::facts::distinct::Distinct;
use crate::facts::nulls::{NullCounts, NullTexts};
use crate::input::parser::{ReadBlock, RecordParser};
use crate::options::Options;
use crate::options::report::Skipped;
use crate::plan::Plan;
use crate::plan::column::{Binding, MapRule, PlanColumn};
use crate::records::Field;
use crate::records::error::{RecordError, shown};
use arrow::array::{BooleanArray, StringArray};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::error::ArrowError;
use arrow::record_batch::RecordBatch;
use atsdb_core::{ColumnType, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The columns whose distinct texts need not be counted any more.
#[derive(Debug)]
pub(crate) struct UncountedColumns(Vec<AtomicBool>);

impl UncountedColumns {
    /// The columns that a plan does not count.
    pub(crate) fn new(plan: &Plan) -> Self {
        let is_counted = |column: &PlanColumn| column.map_rule != MapRule::Fixed || column.may_keep_words;
        Self(plan.columns.iter().map(|column| AtomicBool::new(!is_counted(column))).collect())
    }

    pub(crate) fn has(&self, position: usize) -> bool {
        self.0[position].load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, position: usize) {
        self.0[position].store(true, Ordering::Relaxed);
    }
}

/// The result of building a block.
#[derive(Debug)]
pub(crate) enum Built {
    /// Rows.
    Rows(BuiltRows),
    /// A value that does not fit the plan.
    Misfit(Box<RecordError>),
}

/// The rows of a block.
#[derive(Debug)]
pub(crate) struct BuiltRows {
    /// The rows, with the columns of the plan's definition.
    pub(crate) batch: RecordBatch,
    /// The first and last time.
    pub(crate) time_bounds: Option<(i64, i64)>,
    /// The distinct texts and the number of values of each counted column.
    pub(crate) distinct: Vec<Option<(Distinct, u64)>>,
    /// The NULLs of each column, and the values that it keeps although they usually mean NULL.
    pub(crate) nulls: Vec<NullCounts>,
    /// The rounded numbers of each column.
    pub(crate) inexact: Vec<Inexact>,
    /// Records left out.
    pub(crate) skipped: Vec<Skipped>,
    /// Comments left out.
    pub(crate) comment_count: u64,
    /// Records left out because they repeat the header.
    pub(crate) header_count: u64,
}

/// Builds the rows of blocks.
pub(crate) struct Builder<'a> {
    /// The plan to follow.
    pub(crate) plan: &'a Plan,
    /// The parser of each file.
    pub(crate) parsers: Vec<&'a RecordParser>,
    /// The files' names without extensions.
    pub(crate) stems: Vec<&'a str>,
    /// The schema of the plan's definition.
    pub(crate) schema: SchemaRef,
    /// The texts that mean NULL.
    pub(crate) nulls: &'a NullTexts,
    /// The caller's options.
    pub(crate) options: &'a Options,
    /// Columns that are not counted.
    pub(crate) uncounted: &'a UncountedColumns,
}

impl Builder<'_> {
    /// The rows of a block.
    pub(crate) fn build(&self, read: ReadBlock) -> Result<Built> {
        if let Some((name, line)) = read.unknown {
            let file = self.parsers[read.file].file.clone();
            let reason = format!("{name} is a name that the table has no column for");
            let skipped = Skipped { file, line, column: None, value: String::new(), reason };
            return Ok(Built::Misfit(Box::new(RecordError { row: 0, skipped, hint: None })));
        }
        let may_skip = self.options.skip_bad && self.plan.is_definitive;
        let mut arrays = Vec::with_capacity(self.plan.columns.len());
        let mut distinct = Vec::with_capacity(self.plan.columns.len());
        let mut nulls = Vec::with_capacity(self.plan.columns.len());
        let mut inexact = Vec::with_capacity(self.plan.columns.len());
        let mut errors: Vec<RecordError> = Vec::new();
        for (position, column) in self.plan.columns.iter().enumerate() {
            let gathered = self.column(position, column, &read, may_skip)?;
            let wrong = if may_skip { &gathered.wrong[..] } else { &gathered.wrong[..gathered.wrong.len().min(1)] };
            errors.extend(wrong.iter().map(|wrong| self.record_error(&read, column, wrong)));
            arrays.push(gathered.array);
            distinct.push(gathered.distinct);
            nulls.push(gathered.nulls);
            inexact.push(gathered.inexact);
        }
        errors.sort_by_key(|record_error| record_error.row);
        if !may_skip && !errors.is_empty() {
            return Ok(Built::Misfit(Box::new(errors.swap_remove(0))));
        }
        let mut skipped = read.skipped;
        let schema = with_types_of(&self.schema, &arrays);
        let batch = if errors.is_empty() {
            RecordBatch::try_new(schema, arrays)?
        } else {
            errors.dedup_by_key(|record_error| record_error.row);
            let mut keep = vec![true; read.records.count()];
            errors.iter().for_each(|record_error| keep[record_error.row] = false);
            // The schema applies only after filtering, because the filter removes rows with a NULL time.
            let columns = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
            let loose = Arc::new(Schema::new(columns.collect::<Vec<_>>()));
            let batch = RecordBatch::try_new(loose, arrays)?;
            let batch = filter_record_batch(&batch, &BooleanArray::from(keep))?;
            skipped.extend(errors.into_iter().map(|record_error| record_error.skipped));
            skipped.sort_by_key(|skipped| skipped.line);
            RecordBatch::try_new(schema, batch.columns().to_vec())?
        };
        let time = self.plan.columns.iter().position(|column| column.is_time);
        let time_bounds = time.and_then(|position| time_bounds(batch.column(position)));
        let (comment_count, header_count) = (read.records.comment_count, read.records.header_count);
        let rows = BuiltRows { batch, time_bounds, distinct, nulls, inexact, skipped, comment_count, header_count };
        Ok(Built::Rows(rows))
    }

    fn record_error(&self, read: &ReadBlock, column: &PlanColumn, wrong: &InvalidValue) -> RecordError {
        let value = shown(wrong.field.bytes(read.text.as_bytes()).utf8());
        let start = read.records.starts.get(wrong.row).map_or(0, |start| *start as usize);
        let at = if wrong.field == Field::ABSENT { start } else { wrong.field.start() };
        let is_empty = wrong.field.start() == wrong.field.end();
        RecordError {
            row: wrong.row,
            skipped: Skipped {
                file: self.parsers[read.file].file.clone(),
                line: read.line_of(at),
                column: Some(column.column.name.clone()),
                value: if is_empty { String::new() } else { value },
                reason: wrong.reason.clone(),
            },
            hint: self.units_hint(read, column, wrong),
        }
    }

    /// How a record of units below the header is left out, if the first record of a file of separated values looks like
    /// one: its time is no time, and no field has a digit.
    fn units_hint(&self, read: &ReadBlock, column: &PlanColumn, wrong: &InvalidValue) -> Option<String> {
        let parser = &self.parsers[read.file];
        let has_header = parser.unpivot.is_none() && parser.dialect.as_ref().is_some_and(|dialect| dialect.has_header);
        if !has_header || !column.is_time || read.first_line > 1 || wrong.row > 0 {
            return None;
        }
        let first = read.records.fields.iter().take(read.records.width);
        let fields: Vec<&[u8]> = first.map(|field| field.bytes(read.text.as_bytes())).collect();
        let has_digit = fields.iter().any(|field| field.iter().any(u8::is_ascii_digit));
        let has_text = fields.iter().any(|field| !field.trim_ascii().is_empty());
        let line = read.line_of(*read.records.starts.first()? as usize);
        let names = parser.names.join(",");
        (has_text && !has_digit).then(|| {
            format!(
                "if line {line} holds the units of the columns, leave out the header and it: --skip {line} --columns \
                 '{names}'; otherwise correct the line, or pass --skip-bad"
            )
        })
    }

    fn column(
        &self,
        position: usize,
        column: &PlanColumn,
        read: &ReadBlock,
        all: bool,
    ) -> Result<ColumnValues, ArrowError> {
        let row_count = read.records.count();
        let is_mapped = column.column.map.is_some();
        let cells = Cells { read, nulls: self.nulls, column, all };
        let binding = &column.bindings[read.file];
        let array = match binding {
            Binding::Missing => default_array(&column.column, row_count)?,
            Binding::FileName => {
                let stem = self.stems[read.file];
                if is_mapped {
                    repeated_text(stem, row_count)
                } else {
                    Arc::new(StringArray::from_iter_values(std::iter::repeat_n(stem, row_count)))
                }
            }
            Binding::Field(field, _) if column.column.column_type == ColumnType::Text => {
                let is_padded = self.parsers[read.file].dialect.as_ref().is_some_and(|dialect| dialect.is_padded);
                return cells.texts(*field, is_padded, !self.uncounted.has(position));
            }
            Binding::Field(field, parsing) => return cells.typed(*field, *parsing),
            Binding::DateClock(date, clock, parsing) => return cells.date_clocks(*date, *clock, *parsing),
            Binding::Parts(fields) => return cells.parts(fields, self.options.zone),
        };
        let has_none = !column.column.nullable && column.column.default.is_none();
        let is_missing = matches!(binding, Binding::Missing) && has_none;
        let wrong_rows = if is_missing { 0..row_count } else { 0..0 };
        let wrong =
            wrong_rows.map(|row| InvalidValue { row, field: Field::ABSENT, reason: "is missing".to_owned() }).collect();
        Ok(ColumnValues::new(array, wrong, NullCounts::default()))
    }
}
