//! The columns of files of typed values: their types, and notes about types that tables do not have.

use crate::facts::Facts;
use crate::infer::time_column::Merged;
use crate::input::batch_reader::{converted_columns, reader};
use crate::input::source::Source;
use crate::options::Options;
use crate::options::selection;
use arrow::datatypes::{DataType, Field, IntervalUnit, TimeUnit as ArrowUnit};
use atsdb_codec::declared_type;
use atsdb_core::name::same_name;
use atsdb_core::{ColumnType, Error, Result, TimeUnit};

/// The column type for an Arrow field.
fn type_of_field(source: &Source, field: &Field) -> Result<ColumnType> {
    declared_type(field).map_or_else(|| type_of(source, field.name(), field.data_type()), Ok)
}

fn type_of(source: &Source, name: &str, data_type: &DataType) -> Result<ColumnType> {
    Ok(match data_type {
        DataType::Boolean => ColumnType::Bool,
        DataType::Int8 => ColumnType::Int8,
        DataType::Int16 => ColumnType::Int16,
        DataType::Int32 => ColumnType::Int32,
        DataType::Int64 => ColumnType::Int64,
        DataType::UInt8 => ColumnType::UInt8,
        DataType::UInt16 => ColumnType::UInt16,
        DataType::UInt32 => ColumnType::UInt32,
        DataType::UInt64 => ColumnType::UInt64,
        DataType::Float16 | DataType::Float32 => ColumnType::Float32,
        DataType::Float64 => ColumnType::Float64,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => ColumnType::Text,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            ColumnType::Binary
        }
        DataType::Date32 | DataType::Date64 => ColumnType::Date,
        DataType::Timestamp(unit, _) => ColumnType::Timestamp(match unit {
            ArrowUnit::Second => TimeUnit::Second,
            ArrowUnit::Millisecond => TimeUnit::Millisecond,
            ArrowUnit::Microsecond => TimeUnit::Microsecond,
            ArrowUnit::Nanosecond => TimeUnit::Nanosecond,
        }),
        DataType::Time32(_) | DataType::Time64(_) => ColumnType::Time,
        DataType::Decimal128(precision, scale) if *scale >= 0 => {
            ColumnType::Decimal { precision: *precision, scale: scale.unsigned_abs() }
        }
        DataType::Interval(IntervalUnit::MonthDayNano) => ColumnType::Interval,
        DataType::Dictionary(_, values) => return type_of(source, name, values),
        other => {
            let error = Error::invalid(format!("{}, column {name}: no column type holds {other}", source.name));
            return Err(error.with_hint("write the file again with the column as numbers, text or timestamps"));
        }
    })
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
}

/// Notes for the user about columns that are read as another type.
pub(crate) fn conversion_notes(sources: &[Source], options: &Options) -> Result<Vec<String>> {
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
                DataType::Decimal128(..) => continue,
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
    Ok(notes)
}

/// The columns of all files.
pub(crate) fn find(sources: &[Source], options: &Options) -> Result<Vec<TypedColumn>> {
    let mut found: Vec<TypedColumn> = Vec::new();
    let schemas = sources.iter().map(|source| Ok(reader(source, Some(&[]))?.0)).collect::<Result<Vec<_>>>()?;
    selection::check(
        options,
        schemas.iter().flat_map(|schema| schema.fields().iter().map(|field| field.name().as_str())),
    )?;
    for (number, (source, schema)) in sources.iter().zip(&schemas).enumerate() {
        for (position, field) in schema.fields().iter().enumerate() {
            let Some(name) = selection::table_name(options, field.name()) else { continue };
            let column_type = type_of_field(source, field)?;
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
                    let merged = Merged { name, facts: Facts::new(), positions };
                    found.push(TypedColumn { merged, column_type });
                }
            }
        }
    }
    Ok(found)
}
