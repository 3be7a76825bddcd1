//! `--dry-run`: shows what an import would do, without changing the store.

use super::super::schema::statement;
use super::declared::DeclaredTable;
use super::remarks::show_remarks;
use crate::console::interrupt;
use crate::console::quantity::show_rows;
use crate::output::destination::Destination;
use crate::output::{Format, write_result};
use arrow::array::{ArrayRef, AsArray, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Schema};
use arrow::record_batch::RecordBatch;
use atsdb::{Result, Table, TableDefinition};
use atsdb_import::{Input, Options, Sink};
use std::borrow::Cow;
use std::sync::Arc;

/// The number of rows that are shown.
const ROWS_SHOWN: usize = 10;

/// The number of letters of a text that are shown.
const LETTERS_SHOWN: usize = 80;

/// Keeps the first rows.
#[derive(Default)]
struct FirstRows {
    batches: Vec<RecordBatch>,
    row_count: usize,
}

impl Sink for FirstRows {
    fn begin(&mut self, _: &TableDefinition) -> Result<()> {
        *self = Self::default();
        Ok(())
    }

    fn rows(&mut self, batch: RecordBatch) -> Result<()> {
        interrupt::check()?;
        let wanted = (ROWS_SHOWN - self.row_count).min(batch.num_rows());
        if wanted > 0 {
            self.batches.push(shortened(&batch.slice(0, wanted))?);
            self.row_count += wanted;
        }
        Ok(())
    }
}

/// The rows with the beginnings of long texts.
fn shortened(rows: &RecordBatch) -> Result<RecordBatch> {
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (field, column) in rows.schema().fields().iter().zip(rows.columns()) {
        if !matches!(column.data_type(), DataType::Utf8 | DataType::Dictionary(..)) {
            fields.push(Arc::clone(field));
            columns.push(Arc::clone(column));
            continue;
        }
        let texts = cast(column, &DataType::Utf8)?;
        let beginnings: StringArray = texts.as_string::<i32>().iter().map(|text| text.map(beginning)).collect();
        let shown = Field::new(field.name(), DataType::Utf8, true).with_metadata(field.metadata().clone());
        fields.push(Arc::new(shown));
        columns.push(Arc::new(beginnings) as ArrayRef);
    }
    Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)
}

fn beginning(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(LETTERS_SHOWN) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// Shows the table, the first rows, and what would be NULL or refused. `not_compared` is what an import compares and
/// this does not.
///
/// # Errors
///
/// The import's own error for the first record that it would refuse, or for types that no row shows. It comes after
/// everything was shown.
pub(super) fn run(
    name: &str,
    existing: Option<&Table>,
    inputs: Vec<Input>,
    options: &Options,
    declared: &DeclaredTable,
    not_compared: &str,
) -> Result<()> {
    let is_strict = !options.skip_bad;
    let options = Options { skip_bad: true, ..options.clone() };
    let mut rows = FirstRows::default();
    let definition = existing.map(|table| &table.definition);
    let report = atsdb_import::import(name, inputs, &options, definition, &mut rows, &|_| ())?;
    let mut out = Destination::stdout();
    if existing.is_none() {
        out.put(statement(&declared.apply(&report.definition)?).as_bytes())?;
        out.put(b"\n")?;
    }
    if let Some(first) = rows.batches.first() {
        let schema = first.schema();
        write_result(Format::Table, &schema, rows.batches.into_iter().map(Ok), &mut out)?;
        out.put(b"\n")?;
    }
    out.hand_on()?;
    show_remarks(&report);
    let outcome = match report.skipped_count {
        0 => format!("{} would be stored", show_rows(report.row_count)),
        _ if is_strict => "the import would be refused for these records; --skip-bad leaves them out".to_owned(),
        _ => format!("{} would be stored, without these records", show_rows(report.row_count)),
    };
    out.put(format!("{outcome}; this was a dry run, which does not compare {not_compared}\n").as_bytes())?;
    out.complete()?;
    match report.skipped.first() {
        Some(skipped) if is_strict => Err(skipped.refusal()),
        _ => report.check_types(),
    }
}
