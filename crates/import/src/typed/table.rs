//! The table that files of typed values make.

use crate::infer::column_type::text_unit;
use crate::infer::maps::{asked_width, map_of};
use crate::infer::time_column::{Merged, TimeChoice, choose, unknown_epoch};
use crate::options::Options;
use crate::options::key::declare_key;
use crate::typed::columns::TypedColumn;
use atsdb_core::{ColumnType, Error, MapWidth, Result, TableDefinition, TimeUnit};

/// The note about typed files whose time is in several columns.
const PLAIN_PARTS: &str = "a plain table: no column holds times; in SQL, make_timestamp(year, month, day, hour, 0, 0) \
                           makes one of several columns";

/// The table that the files show.
pub(crate) fn created(
    name: &str,
    found: &[TypedColumn],
    row_count: u64,
    options: &Options,
    notes: &mut Vec<String>,
) -> Result<TableDefinition> {
    let time = time_position(found, row_count, options, notes)?;
    let mut definition = TableDefinition::new(name);
    for (position, column) in found.iter().enumerate() {
        let facts = &column.merged.facts;
        let column_type = match column.column_type {
            other if time != Some(position) => other,
            ColumnType::Timestamp(unit) => ColumnType::Timestamp(unit),
            ColumnType::Date => ColumnType::Date,
            ColumnType::Text => ColumnType::Timestamp(text_unit(facts)),
            _ => match options.time_unit.or_else(|| facts.epoch_unit()) {
                Some(unit) => ColumnType::Timestamp(unit),
                None => return Err(unknown_epoch(&column.merged)),
            },
        };
        let is_text = column_type == ColumnType::Text;
        let is_mapped = is_text && !options.for_query;
        let map = if is_mapped { map_of(facts.distinct.count(), facts.value_count) } else { None };
        definition = definition.with_column(&column.merged.name, column_type, map);
    }
    if let Some(file_column) = &options.file_column {
        definition = definition.with_column(file_column, ColumnType::Text, Some(MapWidth::U16));
    }
    for (name, width) in &options.map {
        let position = definition.position(name)?;
        let distinct = found.get(position).and_then(|column| column.merged.facts.distinct.count());
        definition.columns[position].map = Some(width.unwrap_or_else(|| asked_width(distinct)));
    }
    if let Some(position) = time {
        definition = definition.with_time(&found[position].merged.name, TimeUnit::Second)?;
    }
    definition.slice = options.slice.unwrap_or(definition.slice);
    declare_key(&mut definition, &options.key)?;
    definition.check()?;
    Ok(definition)
}

/// The position of the column with the time; `None` for a plain table.
fn time_position(
    found: &[TypedColumn],
    row_count: u64,
    options: &Options,
    notes: &mut Vec<String>,
) -> Result<Option<usize>> {
    let merged: Vec<Merged> = found.iter().map(|column| column.merged.clone()).collect();
    let mut choice_notes = Vec::new();
    let choice = choose(&merged, row_count, options, &mut choice_notes)?;
    let time = match choice {
        TimeChoice::Column(position) => Some(position),
        TimeChoice::None(note) => {
            choice_notes.extend(note);
            None
        }
        // Their names suggest it, and the caller does not ask for it.
        TimeChoice::Parts(_) if options.time.is_empty() => {
            choice_notes = vec![PLAIN_PARTS.to_owned()];
            None
        }
        TimeChoice::DateClock(..) | TimeChoice::Parts(_) => {
            return Err(Error::usage("the time of typed values is one column")
                .with_hint("write the file again with a timestamp, or pass --time none for a plain table"));
        }
    };
    notes.append(&mut choice_notes);
    Ok(time)
}
