//! Parquet files. Their columns already have types; only the time, the maps and the slices must be determined, in a
//! first pass over the columns that this needs.

use crate::arrow_types::arrow_type;
use crate::build::{schema, time_bounds};
use crate::distinct::hash;
use crate::facts::{Facts, kind};
use crate::infer::slice_width;
use crate::key::declare_key;
use crate::map_choice::{map_of, map_width};
use crate::options::{Options, Progress, Report, SKIPPED_SHOWN_MAX, Sink, Skipped};
use crate::parquet_columns::{ParquetColumn, conversion_notes, find};
use crate::parquet_reader::{damaged, read, reader};
use crate::source::Source;
use crate::time_choice::{Merged, TimeChoice, choose, unknown_epoch};
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, DictionaryArray, StringArray, UInt32Array, new_null_array};
use arrow::compute::{CastOptions, cast_with_options, filter_record_batch};
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef, UInt64Type};
use arrow::record_batch::RecordBatch;
use atsdb_core::name::{same_name, unknown_name};
use atsdb_core::{ColumnType, Error, MapWidth, Result, SliceWidth, TableDefinition, TimeUnit};
use std::sync::Arc;

/// Reads all values that are needed to determine time, maps and slices.
fn observe(sources: &[Source], found: &mut [ParquetColumn]) -> Result<u64> {
    let mut row_count = 0;
    for (number, source) in sources.iter().enumerate() {
        let is_wanted = |column: &ParquetColumn| {
            !matches!(
                column.column_type,
                ColumnType::Bool | ColumnType::Float32 | ColumnType::Float64 | ColumnType::Binary
            )
        };
        let mut wanted: Vec<(usize, usize)> = found
            .iter()
            .enumerate()
            .filter(|(_, column)| is_wanted(column))
            .filter_map(|(index, column)| column.merged.positions[number].map(|position| (position, index)))
            .collect();
        wanted.sort_unstable();
        let positions: Vec<usize> = wanted.iter().map(|(position, _)| *position).collect();
        for batch in reader(source, Some(&positions))?.1 {
            let batch = batch?;
            row_count += batch.num_rows() as u64;
            for (array, (_, index)) in batch.columns().iter().zip(&wanted) {
                let column = &mut found[*index];
                let mut observed = || observe_array(array, column.column_type, &mut column.merged.facts);
                read(source, || observed().map_err(|error| damaged(source, error)))?;
            }
        }
    }
    Ok(row_count)
}

fn observe_array(array: &ArrayRef, column_type: ColumnType, facts: &mut Facts) -> Result<(), arrow::error::ArrowError> {
    let valid_count = (array.len() - array.logical_null_count()) as u64;
    facts.value_count += valid_count;
    facts.null_count += array.logical_null_count() as u64;
    match column_type {
        ColumnType::Text => {
            let texts = cast(array, &DataType::Utf8)?;
            for text in texts.as_string::<i32>().iter().flatten() {
                facts.distinct.add(hash(text.as_bytes()));
                facts.observe_string(text.as_bytes());
            }
        }
        ColumnType::Timestamp(_) | ColumnType::Date => {
            facts.kinds |= if column_type == ColumnType::Date { kind::DATE } else { kind::STAMP };
            facts.time_count += valid_count;
        }
        ColumnType::UInt64 => {
            facts.kinds |= kind::INT;
            facts.number_count += valid_count;
            for value in cast(array, &DataType::UInt64)?.as_primitive::<UInt64Type>().iter().flatten() {
                match i64::try_from(value) {
                    Ok(value) => facts.observe_int(value),
                    // No time in any unit.
                    Err(_) => facts.kinds |= kind::UINT,
                }
            }
        }
        // Decimals and times of day are no times.
        rules if rules.stored() != rules => {}
        _ => {
            facts.kinds |= kind::INT;
            facts.number_count += valid_count;
            for value in cast(array, &DataType::Int64)?.as_primitive::<Int64Type>().iter().flatten() {
                facts.observe_int(value);
            }
        }
    }
    Ok(())
}

fn cast(array: &dyn Array, to: &DataType) -> Result<ArrayRef, arrow::error::ArrowError> {
    cast_with_options(array, to, &CastOptions { safe: false, ..CastOptions::default() })
}

/// The table that the files show.
fn created(
    name: &str,
    found: &[ParquetColumn],
    row_count: u64,
    options: &Options,
    notes: &mut Vec<String>,
) -> Result<TableDefinition> {
    let merged: Vec<Merged> = found.iter().map(|column| column.merged.clone()).collect();
    let choice = choose(&merged, row_count, options, notes)?;
    let time = match choice {
        TimeChoice::Column(position) => Some(position),
        TimeChoice::None(note) => {
            notes.extend(note);
            None
        }
        TimeChoice::DateClock(..) | TimeChoice::Parts(_) => {
            return Err(Error::usage("the time of typed values is one column")
                .with_hint("write the file again with a timestamp, or pass --time none for a plain table"));
        }
    };
    let mut definition = TableDefinition::new(name);
    for (position, column) in found.iter().enumerate() {
        let facts = &column.merged.facts;
        let column_type = match column.column_type {
            other if time != Some(position) => other,
            ColumnType::Timestamp(unit) => ColumnType::Timestamp(unit),
            ColumnType::Date => ColumnType::Date,
            ColumnType::Text => ColumnType::Timestamp(crate::infer::text_unit(facts)),
            _ => match options.time_unit.or_else(|| facts.epoch_unit()) {
                Some(unit) => ColumnType::Timestamp(unit),
                None => return Err(unknown_epoch(&column.merged)),
            },
        };
        let is_text = column_type == ColumnType::Text;
        let map = if is_text { map_of(facts.distinct.count(), facts.value_count) } else { None };
        definition = definition.with_column(&column.merged.name, column_type, map);
    }
    if let Some(file_column) = &options.file_column {
        definition = definition.with_column(file_column, ColumnType::Text, Some(MapWidth::U16));
    }
    for (name, width) in &options.map {
        let position = definition.position(name)?;
        let distinct = found.get(position).and_then(|column| column.merged.facts.distinct.count());
        definition.columns[position].map =
            Some(width.unwrap_or_else(|| map_width(distinct.unwrap_or(usize::MAX).max(17))));
    }
    if let Some(position) = time {
        definition = definition.with_time(&found[position].merged.name, TimeUnit::Second)?;
    }
    definition.slice = options.slice.unwrap_or(definition.slice);
    declare_key(&mut definition, &options.key)?;
    definition.check()?;
    Ok(definition)
}

/// Imports Parquet files.
pub(crate) fn run(
    name: &str,
    sources: &[Source],
    options: &Options,
    existing: Option<&TableDefinition>,
    sink: &mut dyn Sink,
    progress: &dyn Fn(Progress),
) -> Result<Report> {
    let mut found = find(sources, options)?;
    let mut notes = conversion_notes(sources, options)?;
    let row_count = if existing.is_none() { observe(sources, &mut found)? } else { 0 };
    let mut definition = match existing {
        Some(definition) => definition.clone(),
        None => created(name, &found, row_count, options, &mut notes)?,
    };
    let mut renamed = None;
    if existing.is_some() {
        renamed = renamed_time(&definition, &found, options)?;
        let is_known = |column: &&ParquetColumn| {
            renamed == Some(column.merged.name.as_str()) || definition.column(&column.merged.name).is_ok()
        };
        if let Some(column) = found.iter().find(|column| !is_known(column)) {
            definition.column(&column.merged.name)?;
        }
    }
    let time = definition.time_column().map(|column| column.id);
    let sources_of: Vec<Option<&ParquetColumn>> = definition
        .columns
        .iter()
        .map(|column| {
            let wanted = if Some(column.id) == time { renamed.unwrap_or(&column.name) } else { &column.name };
            found.iter().find(|found| same_name(&found.merged.name, wanted))
        })
        .collect();
    let mut pass = Pass {
        sources,
        options,
        sources_of,
        notes,
        progress,
        report_rows: 0,
        skipped: Vec::new(),
        skipped_count: 0,
        bounds: None,
    };
    let is_slice_free = existing.is_none() && options.slice.is_none() && definition.time.is_some();
    if is_slice_free && options.begin_once {
        pass.build(&definition, &mut IgnoreRows)?;
        definition.slice = pass.slice(&definition);
    }
    pass.build(&definition, sink)?;
    if is_slice_free && pass.slice(&definition) != definition.slice {
        definition.slice = pass.slice(&definition);
        pass.build(&definition, sink)?;
    }
    Ok(Report {
        definition,
        row_count: pass.report_rows,
        bytes_read: sources.iter().map(|source| source.byte_count).sum(),
        skipped: pass.skipped,
        skipped_count: pass.skipped_count,
        notes: pass.notes,
    })
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

fn renamed_time<'a>(
    definition: &TableDefinition,
    found: &'a [ParquetColumn],
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

struct Pass<'a> {
    sources: &'a [Source],
    options: &'a Options,
    sources_of: Vec<Option<&'a ParquetColumn>>,
    notes: Vec<String>,
    progress: &'a dyn Fn(Progress),
    report_rows: u64,
    skipped: Vec<Skipped>,
    skipped_count: u64,
    bounds: Option<(i64, i64)>,
}

impl Pass<'_> {
    /// The width that suits the rows of the last pass.
    fn slice(&self, definition: &TableDefinition) -> SliceWidth {
        let scale = definition.time_scale() as f64 / definition.time_unit().per_second() as f64;
        let span = self.bounds.map_or(0.0, |(min, max)| (max as f64 - min as f64) * scale);
        slice_width(self.report_rows, span)
    }

    fn build(&mut self, definition: &TableDefinition, sink: &mut dyn Sink) -> Result<()> {
        sink.begin(definition)?;
        let schema = schema(definition);
        (self.report_rows, self.bounds, self.skipped_count) = (0, None, 0);
        self.skipped.clear();
        let bytes_total = self.sources.iter().map(|source| source.byte_count).sum();
        let mut bytes_before = 0;
        for (number, source) in self.sources.iter().enumerate() {
            let mut first_row = 1;
            let (_, mut batches) = reader(source, None)?;
            for batch in batches.by_ref() {
                let batch = batch?;
                let row_count = batch.num_rows() as u64;
                let batch = read(source, || self.convert(definition, &schema, number, &batch, first_row))?;
                first_row += row_count;
                self.report_rows += batch.num_rows() as u64;
                sink.rows(batch)?;
                (self.progress)(Progress { bytes_read: bytes_before, bytes_total, row_count: self.report_rows });
            }
            let (skipped, skipped_count) = batches.skipped();
            let room = SKIPPED_SHOWN_MAX.saturating_sub(self.skipped.len());
            self.skipped.extend(skipped.into_iter().take(room));
            self.skipped_count += skipped_count;
            bytes_before += source.byte_count;
        }
        Ok(())
    }

    fn convert(
        &mut self,
        definition: &TableDefinition,
        schema: &SchemaRef,
        number: usize,
        batch: &RecordBatch,
        first_row: u64,
    ) -> Result<RecordBatch> {
        let source = &self.sources[number];
        let mut arrays = Vec::with_capacity(definition.columns.len());
        for (column, found) in definition.columns.iter().zip(&self.sources_of) {
            let wanted = arrow_type(column.column_type, column.map.is_some());
            let is_file_name = self.options.file_column.as_ref().is_some_and(|name| same_name(name, &column.name));
            let position = found.and_then(|found| found.merged.positions[number]);
            arrays.push(match position {
                _ if is_file_name => {
                    let keys = UInt32Array::from(vec![0; batch.num_rows()]);
                    let names = StringArray::from(vec![source.stem()]);
                    Arc::new(DictionaryArray::new(keys, Arc::new(names))) as ArrayRef
                }
                // Values of these types are rounded and checked when they are appended.
                Some(position) if column.column_type.stored() != column.column_type => {
                    Arc::clone(batch.column(position))
                }
                Some(position) => converted(batch.column(position), &wanted).map_err(|error| {
                    let last = first_row + batch.num_rows() as u64 - 1;
                    Error::invalid(format!(
                        "{}, rows {first_row} to {last}, column {}: {error}",
                        source.name, column.name
                    ))
                    .with_hint(format!("the column is {}", column.column_type.sql_name()))
                })?,
                None => new_null_array(&wanted, batch.num_rows()),
            });
        }
        let required: Vec<usize> =
            (0..definition.columns.len()).filter(|column| !definition.columns[*column].nullable).collect();
        let mut keep = vec![true; batch.num_rows()];
        for column in required {
            for row in (0..batch.num_rows()).filter(|row| arrays[column].is_null(*row)).collect::<Vec<_>>() {
                let skipped = Skipped {
                    file: source.name.clone(),
                    line: first_row + row as u64,
                    column: Some(definition.columns[column].name.clone()),
                    value: String::new(),
                    reason: "is NULL, but the column is NOT NULL".to_owned(),
                };
                if !self.options.skip_bad {
                    let message = format!(
                        "{}, row {}, column {}: {}",
                        skipped.file, skipped.line, definition.columns[column].name, skipped.reason
                    );
                    return Err(Error::invalid(message).with_hint("pass --skip-bad to skip such rows"));
                }
                if !std::mem::replace(&mut keep[row], false) {
                    continue;
                }
                self.skipped_count += 1;
                if self.skipped.len() < SKIPPED_SHOWN_MAX {
                    self.skipped.push(skipped);
                }
            }
        }
        let field =
            |(field, array): (&Arc<Field>, &ArrayRef)| field.as_ref().clone().with_data_type(array.data_type().clone());
        let fields: Vec<Field> = schema.fields().iter().zip(&arrays).map(field).collect();
        let columns =
            schema.fields().iter().zip(&arrays).map(|(field, array)| (field.name().as_str(), Arc::clone(array), true));
        let mut batch = RecordBatch::try_from_iter_with_nullable(columns)?;
        if keep.contains(&false) {
            batch = filter_record_batch(&batch, &BooleanArray::from(keep))?;
        }
        if let Some(time) = definition.time_column().and_then(|time| definition.position(&time.name).ok())
            && let Some((min, max)) = time_bounds(batch.column(time))
        {
            let (old_min, old_max) = self.bounds.unwrap_or((min, max));
            self.bounds = Some((old_min.min(min), old_max.max(max)));
        }
        Ok(RecordBatch::try_new(Arc::new(Schema::new(fields)), batch.columns().to_vec())?)
    }
}

/// Casts without loss of range; dictionaries of other keys pass through text.
fn converted(array: &ArrayRef, wanted: &DataType) -> Result<ArrayRef, arrow::error::ArrowError> {
    if array.data_type() == wanted {
        return Ok(Arc::clone(array));
    }
    if matches!(wanted, DataType::Timestamp(..)) && array.data_type().is_integer() {
        return cast(&cast(array, &DataType::Int64)?, wanted);
    }
    // A timestamp without a zone is UTC: cast to the same unit first, so that nothing is shifted.
    cast(array, wanted)
}
