//! The columns of files of typed values: their types, and notes about types that tables do not have.

use crate::facts::{Facts, kind};
use crate::infer::number_forms::NumberForms;
use crate::infer::time_column::Merged;
use crate::input::batch_reader::{converted_columns, reader};
use crate::input::source::ImportFile;
use crate::options::Options;
use crate::options::selection;
use crate::records::error::shown;
use arrow::datatypes::{DataType, Field};
use atsdb_codec::column_type_of;
use atsdb_core::count_text::format_count;
use atsdb_core::name::same_name;
use atsdb_core::{ColumnType, Error, Result};

/// The column type for an Arrow field.
fn type_of(source: &ImportFile, field: &Field) -> Result<ColumnType> {
    let values = match field.data_type() {
        DataType::Dictionary(_, values) => values.as_ref(),
        other => other,
    };
    if *values == DataType::Date64 {
        return Ok(ColumnType::Date);
    }
    let (column_type, _) = column_type_of(field).ok_or_else(|| {
        Error::invalid(format!("{}, column {}: no column type holds {values}", source.name, field.name()))
            .with_hint("write the file again with the column as numbers, text or timestamps")
    })?;
    Ok(column_type)
}

/// The narrowest type that holds the values of both.
fn united(a: ColumnType, b: ColumnType) -> Option<ColumnType> {
    use ColumnType::{Float32, Float64, Int8, Int16, Int32, Int64, Timestamp};
    let rank = |column_type: ColumnType| [Int8, Int16, Int32, Int64].iter().position(|other| *other == column_type);
    match (a, b) {
        (a, b) if a == b => Some(a),
        (Timestamp(a), Timestamp(b)) => Some(Timestamp(a.max(b))),
        (Float32, Float64) | (Float64, Float32) => Some(Float64),
        (a, b) => (rank(a)? < rank(b)?).then_some(b).or(Some(a)),
    }
}

/// A column of all files.
pub(crate) struct TypedColumn {
    pub(crate) merged: Merged,
    pub(crate) column_type: ColumnType,
    /// The first value that is not JSON, of a column that the files declare as JSON. The column is then text.
    pub(crate) not_json: Option<String>,
}

impl TypedColumn {
    /// A note for the user about a column of JSON that is text.
    pub(crate) fn note(&self) -> Option<String> {
        let value = shown(self.not_json.as_ref()?);
        Some(format!("column {}, JSON, is read as text: {value} is not JSON", self.merged.name))
    }
}

/// Notes for the user about columns that are read as another type, and about comments that were left out.
pub(crate) fn conversion_notes(sources: &[ImportFile], options: &Options) -> Result<Vec<String>> {
    let mut notes: Vec<String> = Vec::new();
    for source in sources {
        for (name, remark) in &source.remarks {
            if selection::table_name(options, name).is_some() {
                notes.push(format!("column {name}, {remark}; --omit {name} leaves it out"));
            }
        }
        for (name, from, to) in converted_columns(source)? {
            if selection::table_name(options, &name).is_none() {
                continue;
            }
            let to = match to {
                DataType::Decimal128(..) | DataType::List(_) => continue,
                DataType::Utf8 if from.is_nested() => "text, as JSON",
                DataType::Utf8 => "text",
                DataType::Int64 => "BIGINT",
                _ => "DOUBLE",
            };
            let from = match from {
                nested if nested.is_nested() => "a list or structure".to_owned(),
                other => other.to_string(),
            };
            let note = format!("column {name}, {from}, is read as {to}; --omit {name} leaves it out");
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    let lines = sources.iter().filter_map(|source| source.lines.as_ref());
    match lines.map(|lines| lines.comment_count).sum::<u64>() {
        0 => {}
        1 => notes.push("left out 1 comment line, which begins with #".to_owned()),
        count => notes.push(format!("left out {} comment lines, which begin with #", format_count(count))),
    }
    Ok(notes)
}

/// The columns of all files.
pub(crate) fn find(sources: &[ImportFile], options: &Options) -> Result<Vec<TypedColumn>> {
    let mut found: Vec<TypedColumn> = Vec::new();
    let schemas = sources.iter().map(|source| Ok(reader(source, Some(&[]))?.0)).collect::<Result<Vec<_>>>()?;
    selection::check(
        options,
        schemas
            .iter()
            .flat_map(|schema| schema.fields().iter().map(|field| field.name().as_str()))
            .chain(sources.iter().flat_map(|source| source.left_out.iter().map(String::as_str))),
    )?;
    for (number, (source, schema)) in sources.iter().zip(&schemas).enumerate() {
        for (position, field) in schema.fields().iter().enumerate() {
            let Some(name) = selection::table_name(options, field.name()) else { continue };
            let column_type = type_of(source, field)?;
            match found.iter_mut().find(|column| same_name(&column.merged.name, &name)) {
                Some(column) => {
                    if column.merged.positions[number].replace(position).is_some() {
                        let message = format!("{}: several columns are named {}, ignoring case", source.name, name);
                        return Err(
                            Error::invalid(message).with_hint("give one of them another name there, or import a view")
                        );
                    }
                    column.column_type = united(column.column_type, column_type).ok_or_else(|| {
                        let (name, before) = (&column.merged.name, column.column_type);
                        Error::invalid(format!(
                            "{}, column {name}: {column_type}, in files before {before}",
                            source.name
                        ))
                        .with_hint("import files of different types into different tables")
                    })?;
                }
                None => {
                    let mut positions = vec![None; sources.len()];
                    positions[number] = Some(position);
                    let kinds = match column_type {
                        ColumnType::Timestamp(_) => kind::STAMP,
                        ColumnType::Date => kind::DATE,
                        _ => 0,
                    };
                    let facts = Facts { kinds, ..Facts::new() };
                    let merged = Merged { name, facts, positions, numbers: NumberForms::default() };
                    found.push(TypedColumn { merged, column_type, not_json: None });
                }
            }
        }
    }
    Ok(found)
}
