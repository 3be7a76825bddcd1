//! Translates the flags of `atsdb import` to the importer's options.

use super::server_table::{self, is_on_server};
use super::sqlite_table::{self, is_sqlite};
use crate::args::{DateOrderArg, ImportArgs, ImportFormat};
use crate::console::clock::unix_seconds;
use crate::console::stdin::Stdin;
use crate::session::source_file::SourceFile;
use atsdb::{BatchId, Error, MapWidth, Result, SliceWidth, TableDefinition, TimeUnit, Unique};
use atsdb_import::{
    ColumnChoice, DateOrder, Encoding, Format, Input, Options, UnpivotChoice, Zone, declare_key, parse_delimiter,
};
use atsdb_temporary::TemporarySpace;
use std::path::Path;
use std::sync::Arc;

/// The importer's options, and the space for its temporary files.
pub(super) fn options(args: &ImportArgs, temporary_space: &Arc<TemporarySpace>) -> Result<Options> {
    Ok(Options {
        format: args.format.map(|format| match format {
            ImportFormat::Csv => Format::Csv,
            ImportFormat::Text => Format::Text,
            ImportFormat::Json => Format::Json,
            ImportFormat::Parquet => Format::Parquet,
            ImportFormat::Arrow => Format::Arrow,
            ImportFormat::Line => Format::Lines,
        }),
        encoding: args.encoding.as_deref().map(Encoding::parse).transpose()?,
        delimiter: args.delimiter.as_deref().map(parse_delimiter).transpose()?,
        header: args.header.then_some(true).or(args.no_header.then_some(false)),
        time: args.time.iter().map(|name| name.trim().to_owned()).collect(),
        time_unit: args.time_unit.as_deref().map(TimeUnit::parse).transpose()?,
        date_order: args.date_order.map(|order| match order {
            DateOrderArg::Dmy => DateOrder::DayFirst,
            DateOrderArg::Mdy => DateOrder::MonthFirst,
        }),
        times_until: Some(unix_seconds()),
        map: args.map.iter().map(|text| map(text)).collect::<Result<_>>()?,
        slice: args.slice.as_deref().map(SliceWidth::parse).transpose()?,
        key: args.key.iter().map(|name| name.trim().to_owned()).collect(),
        null: args.null.clone(),
        skip: args.skip,
        no_quotes: args.no_quotes,
        decimal_comma: args.decimal_comma,
        zone: args.zone.as_deref().map(Zone::parse).transpose()?,
        columns: args.columns.iter().map(|text| ColumnChoice::parse(text)).collect(),
        omit: args.omit.iter().map(|name| name.trim().to_owned()).collect(),
        unpivot: unpivot(args)?,
        path: args.path.clone(),
        sheet: args.sheet.clone(),
        skip_bad: args.skip_bad,
        file_column: args.file_column.clone(),
        temporary_space: Arc::clone(temporary_space),
        ..Options::default()
    })
}

/// The flags that contradict the existing table.
pub(super) fn unused(options: &Options, definition: &TableDefinition) -> Result<Vec<String>> {
    let mut unused = Vec::new();
    if let Some(slice) = options.slice.filter(|slice| *slice != definition.slice) {
        unused.push(format!("--slice {}", slice.name()));
    }
    let mut keyed = TableDefinition { key: Vec::new(), unique: Vec::new(), ..definition.clone() };
    declare_key(&mut keyed, &options.key)?;
    let has_same = |asked: &Unique| definition.unique.iter().any(|unique| unique.columns == asked.columns);
    if !options.key.is_empty() && (keyed.key != definition.key || !keyed.unique.iter().all(has_same)) {
        unused.push(format!("--key {}", options.key.join(",")));
    }
    for (name, width) in &options.map {
        let map = definition.column(name)?.map;
        if map.is_none() || width.is_some() && *width != map {
            let width = width.map_or(String::new(), |width| format!(":{}", width.name()));
            unused.push(format!("--map {name}{width}"));
        }
    }
    Ok(unused)
}

/// The inputs. Stdin may occur only once.
pub(super) fn inputs(files: &[SourceFile], options: &Options) -> Result<Vec<Input>> {
    let is_stdin = |file: &&SourceFile| matches!(file, SourceFile::Local(path) if path.as_path() == Path::new("-"));
    if files.iter().filter(is_stdin).count() > 1 {
        return Err(Error::usage("stdin (-) can only be read once").with_hint("name - once"));
    }
    let input = |file: &SourceFile| match file {
        file if is_stdin(&file) => Ok(Input::Reader("stdin".to_owned(), Box::new(Stdin::default()))),
        SourceFile::Local(path) if is_sqlite(path) => sqlite_table::input(path, options, files.len() == 1),
        SourceFile::Local(path) if is_on_server(path) => server_table::input(path, options, files.len() == 1),
        file => file.input(),
    };
    files.iter().map(input).collect()
}

/// The batch's id, if the user gave one.
pub(super) fn batch_id(args: &ImportArgs) -> Result<Option<BatchId>> {
    args.batch_id.as_deref().map(BatchId::new).transpose()
}

/// The columns that become rows, if there are any.
fn unpivot(args: &ImportArgs) -> Result<Option<UnpivotChoice>> {
    if args.unpivot.is_empty() {
        return Ok(None);
    }
    let choice = UnpivotChoice::new(args.unpivot.iter().map(|name| name.trim().to_owned()).collect());
    match args.into.as_deref() {
        None => Ok(Some(choice)),
        Some(into) => choice.into_columns(into).map(Some).map_err(|error| error.context("--into")),
    }
}

/// `COL` or `COL:u16`.
fn map(text: &str) -> Result<(String, Option<MapWidth>)> {
    match text.rsplit_once(':') {
        Some((name, width)) if !name.is_empty() => Ok((name.trim().to_owned(), Some(MapWidth::parse(width.trim())?))),
        _ => Ok((text.trim().to_owned(), None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_read_or_refused() {
        assert_eq!(map("wd").unwrap(), ("wd".to_owned(), None));
        assert_eq!(map("wd:u16").unwrap(), ("wd".to_owned(), Some(MapWidth::U16)));
        assert_eq!(map("wd:u12").unwrap_err().hint(), Some("use u8, u16 or u32"));
    }
}
