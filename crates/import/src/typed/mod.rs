//! Files whose values have types: Parquet, Arrow IPC and line protocol. Only the time, the maps and the slices must be
//! determined, in a first pass over the columns that this needs.
//!
//! Owned here: the columns of the files ([`columns`]), their facts ([`observe`]), the table that they make ([`table`]),
//! and a pass over their rows ([`pass`]). Not owned: reading the formats (`batches`, `input`).

mod columns;
mod observe;
mod pass;
mod table;

use crate::input::source::ImportFile;
use crate::options::report::{Progress, Report};
use crate::options::{Options, Sink};
use crate::plan::lacking::{LackingColumns, keep_given, refuse_mixed};
use crate::typed::columns::{TypedColumn, conversion_notes, find};
use crate::typed::observe::observe;
use crate::typed::pass::Pass;
use crate::typed::table::created;
use arrow::record_batch::RecordBatch;
use atsdb_core::name::{same_name, unknown_name};
use atsdb_core::{Column, ColumnType, Result, TableDefinition};

/// Imports files of typed values.
pub(crate) fn run(
    name: &str,
    sources: &[ImportFile],
    options: &Options,
    existing: Option<&TableDefinition>,
    sink: &mut dyn Sink,
    progress: &dyn Fn(Progress),
) -> Result<Report> {
    let mut found = find(sources, options)?;
    let mut notes = conversion_notes(sources, options)?;
    let row_count = if existing.is_none() { observe(sources, &mut found, options.for_query)? } else { 0 };
    notes.extend(found.iter().filter_map(TypedColumn::note));
    let mut definition = match existing {
        Some(definition) => definition.clone(),
        None => created(name, &found, row_count, options, &mut notes)?,
    };
    let renamed = match existing {
        Some(_) => renamed_time(&definition, &found, options)?,
        None => None,
    };
    let time = definition.time_column().map(|column| column.id);
    let names: Vec<&str> = found.iter().map(|column| column.merged.name.as_str()).collect();
    keep_given(&mut definition, options, renamed.is_some(), &names);
    let sources_of: Vec<Option<&TypedColumn>> = definition
        .columns
        .iter()
        .map(|column| {
            let wanted = if Some(column.id) == time { renamed.unwrap_or(&column.name) } else { &column.name };
            found.iter().find(|found| same_name(&found.merged.name, wanted))
        })
        .collect();
    if existing.is_some() {
        notes.extend(notes_of_lacking(&definition, &names, &sources_of, options)?);
    }
    let mut pass = Pass::new(sources, options, sources_of, progress);
    let is_slice_free =
        existing.is_none() && options.slice.is_none() && !options.for_query && definition.time.is_some();
    if is_slice_free && options.begin_once {
        pass.build(&definition, &mut IgnoreRows)?;
        definition.slice = pass.slice(&definition);
    }
    if options.for_query {
        notes.clear();
    }
    pass.build(&definition, sink)?;
    if is_slice_free && pass.slice(&definition) != definition.slice {
        definition.slice = pass.slice(&definition);
        pass.build(&definition, sink)?;
    }
    Ok(Report {
        definition,
        row_count: pass.row_count,
        bytes_read: sources.iter().map(ImportFile::bytes_read).sum(),
        skipped: pass.skipped.first,
        skipped_count: pass.skipped.count,
        are_types_unknown: false,
        notes,
    })
}

/// The table that files of typed values show. `None` if texts are its times, because any of them may turn out to be
/// none.
pub(crate) fn table_of(name: &str, sources: &[ImportFile], options: &Options) -> Result<Option<TableDefinition>> {
    let mut found = find(sources, options)?;
    let row_count = observe(sources, &mut found, options.for_query)?;
    let definition = created(name, &found, row_count, options, &mut Vec::new())?;
    let is_text = |time: &Column| {
        let of_files = found.iter().find(|column| same_name(&column.merged.name, &time.name));
        of_files.is_some_and(|column| column.column_type == ColumnType::Text)
    };
    Ok(Some(definition).filter(|definition| !definition.time_column().is_some_and(is_text)))
}

/// The sink for a pass that only collects facts.
struct IgnoreRows;

impl Sink for IgnoreRows {
    fn begin(&mut self, _: &TableDefinition) -> Result<()> {
        Ok(())
    }

    fn rows(&mut self, _: RecordBatch) -> Result<()> {
        Ok(())
    }
}

/// The notes about the columns of an existing table that the files lack. `names` are those of the files' columns, and
/// `sources` the columns of the files for those of the table.
fn notes_of_lacking(
    definition: &TableDefinition,
    names: &[&str],
    sources: &[Option<&TypedColumn>],
    options: &Options,
) -> Result<Vec<String>> {
    let mut lacking = LackingColumns::default();
    for (column, source) in definition.columns.iter().zip(sources) {
        match source {
            Some(source) => refuse_mixed(definition, column, &source.merged.positions)?,
            None if options.is_file_column(&column.name) => {}
            None => lacking.add(definition, column, names.iter().copied())?,
        }
    }
    Ok(lacking.notes())
}

/// The column that the options name as the time of an existing table, whose time may have another name. All other
/// columns of the files must be columns of the table.
fn renamed_time<'a>(
    definition: &TableDefinition,
    found: &'a [TypedColumn],
    options: &Options,
) -> Result<Option<&'a str>> {
    let renamed = named_time(definition, found, options)?;
    for column in found {
        let name = column.merged.name.as_str();
        if renamed != Some(name) {
            definition.column(name)?;
        }
    }
    Ok(renamed)
}

/// The column that the options name as the time, if the table has one.
fn named_time<'a>(
    definition: &TableDefinition,
    found: &'a [TypedColumn],
    options: &Options,
) -> Result<Option<&'a str>> {
    let [name] = options.time.as_slice() else { return Ok(None) };
    if definition.time.is_none() {
        return Ok(None);
    }
    let column = found.iter().find(|column| same_name(&column.merged.name, name)).ok_or_else(|| {
        unknown_name("column", name, found.iter().map(|column| column.merged.name.as_str())).context("--time")
    })?;
    Ok(Some(&column.merged.name))
}
