//! Columns: `atsdb.columns`, and `columns` of the standard.

use super::relation::{
    CATALOG, Cell, ColumnKind, Relation, RelationBuilder, RelationRequest, RelationSource, Schemas, name_of, schema_of,
};
use crate::ddl::enumerations::type_sql;
use crate::ddl::print::column_type_sql;
use crate::ddl::sequences::nextval_sql;
use atsdb_codec::{column_type_of, declared_type, encoding_name, enumeration_of, logical_type, time_unit_of};
use atsdb_core::{Column, ColumnType, Identity, Result, Table, Value, hex};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use std::collections::BTreeMap;

/// The maximum number of bytes of a character in UTF-8.
const CHARACTER_BYTES_MAX: i64 = 4;

pub(super) const COLUMNS: Relation = Relation {
    name: "columns",
    columns: &[
        ("table_name", ColumnKind::Text),
        ("column_name", ColumnKind::Text),
        ("position", ColumnKind::Int),
        ("type", ColumnKind::Text),
        ("nullable", ColumnKind::Bool),
        ("default_value", ColumnKind::Text),
        ("map", ColumnKind::Text),
        ("is_time", ColumnKind::Bool),
        ("encoding", ColumnKind::Text),
        ("bytes", ColumnKind::Int),
    ],
    source: RelationSource::Tables("table_name", columns),
};

pub(super) const STANDARD_COLUMNS: Relation = Relation {
    name: "columns",
    columns: &[
        ("table_catalog", ColumnKind::Text),
        ("table_schema", ColumnKind::Text),
        ("table_name", ColumnKind::Text),
        ("column_name", ColumnKind::Text),
        ("ordinal_position", ColumnKind::Int),
        ("column_default", ColumnKind::Text),
        ("is_nullable", ColumnKind::Text),
        ("data_type", ColumnKind::Text),
        ("character_maximum_length", ColumnKind::Int),
        ("character_octet_length", ColumnKind::Int),
        ("numeric_precision", ColumnKind::Int),
        ("numeric_precision_radix", ColumnKind::Int),
        ("numeric_scale", ColumnKind::Int),
        ("datetime_precision", ColumnKind::Int),
        ("is_identity", ColumnKind::Text),
        ("identity_generation", ColumnKind::Text),
        ("identity_start", ColumnKind::Text),
        ("identity_increment", ColumnKind::Text),
        ("identity_maximum", ColumnKind::Text),
        ("identity_minimum", ColumnKind::Text),
        ("identity_cycle", ColumnKind::Text),
    ],
    source: RelationSource::TablesAndCatalogue("table_name", standard_columns, catalogue_columns),
};

fn columns(request: &RelationRequest<'_>, table: &Table, rows: &mut RelationBuilder) -> Result<()> {
    let definition = &table.definition;
    let mut encodings: Vec<BTreeMap<u8, u64>> = vec![BTreeMap::new(); definition.columns.len()];
    if definition.view.is_none() && request.wants(&["encoding", "bytes"]) {
        for entry in request.snapshot.chunks(table)? {
            let descriptor = request.snapshot.descriptor(table, &entry)?;
            for (column, encodings) in definition.columns.iter().zip(&mut encodings) {
                if let Some(page) = descriptor.page(column.id) {
                    *encodings.entry(page.encoding).or_default() += u64::from(page.byte_count);
                }
            }
        }
    }
    for (position, (column, encodings)) in definition.columns.iter().zip(&encodings).enumerate() {
        let most = encodings.iter().max_by_key(|(_, bytes)| **bytes);
        rows.push(vec![
            Cell::text(name_of(table)),
            Cell::text(&column.name),
            Cell::count(position as u64 + 1),
            Cell::text(column_type_sql(column)),
            Cell::Bool(column.nullable),
            default_of(column),
            Cell::maybe(column.map.map(|width| width.to_string())),
            Cell::Bool(definition.time.is_some_and(|time| time.column == column.id)),
            Cell::maybe(most.map(|(encoding, _)| encoding_name(*encoding))),
            Cell::count(encodings.values().sum()),
        ]);
    }
    for (position, column) in view_columns(request, table).enumerate() {
        rows.push(vec![
            Cell::text(name_of(table)),
            Cell::text(column.name()),
            Cell::count(position as u64 + 1),
            Cell::text(type_of_field(column)),
            Cell::Bool(column.is_nullable()),
            Cell::Null,
            Cell::Null,
            Cell::Bool(false),
        ]);
    }
    Ok(())
}

fn standard_columns(request: &RelationRequest<'_>, table: &Table, rows: &mut RelationBuilder) -> Result<()> {
    let definition = &table.definition;
    if definition.sequence || definition.materialized.is_some() {
        return Ok(());
    }
    for (position, column) in definition.columns.iter().enumerate() {
        let place = (schema_of(table), definition.local_name(), column.name.as_str(), position);
        let name = match column.column_type {
            _ if column.enumeration.is_some() => "USER-DEFINED".to_owned(),
            ColumnType::Array(_) => "ARRAY".to_owned(),
            _ => column_type_sql(column).into_owned(),
        };
        rows.push(standard(place, column.nullable, default_of(column), name, &logical_type(column), Some(column)));
    }
    for (position, column) in view_columns(request, table).enumerate() {
        let place = (schema_of(table), definition.local_name(), column.name().as_str(), position);
        let name = match column.data_type() {
            DataType::List(_) => "ARRAY".to_owned(),
            _ if enumeration_of(column).is_some() => "USER-DEFINED".to_owned(),
            _ => type_of_field(column),
        };
        rows.push(standard(place, column.is_nullable(), Cell::Null, name, column.data_type(), None));
    }
    Ok(())
}

fn catalogue_columns(schemas: Schemas, rows: &mut RelationBuilder) {
    for &(schema, relations) in schemas {
        for relation in relations {
            for (position, (column, kind)) in relation.columns.iter().enumerate() {
                let data_type = kind.data_type();
                let place = (schema, relation.name, *column, position);
                rows.push(standard(place, true, Cell::Null, type_name(&data_type), &data_type, None));
            }
        }
    }
}

fn view_columns<'a>(request: &'a RelationRequest<'_>, table: &Table) -> impl Iterator<Item = &'a FieldRef> {
    request.view_columns.get(&table.id).into_iter().flat_map(|schema| schema.fields())
}

/// A row of the standard's `columns`. `declared` is the column's definition, if it is one of a table.
fn standard(
    (schema, table, column, position): (&str, &str, &str, usize),
    nullable: bool,
    default: Cell,
    type_name: String,
    data_type: &DataType,
    declared: Option<&Column>,
) -> Vec<Cell> {
    let length = declared.and_then(|column| column.length).map(|length| i64::from(length.characters));
    let precision = numeric_precision(data_type);
    let scale = match data_type {
        DataType::Decimal128(_, scale) => Some(i64::from(*scale)),
        _ => data_type.is_integer().then_some(0),
    };
    let radix = if matches!(data_type, DataType::Decimal128(..)) { 10 } else { 2 };
    let mut row = vec![
        Cell::text(CATALOG),
        Cell::text(schema),
        Cell::text(table),
        Cell::text(column),
        Cell::count(position as u64 + 1),
        default,
        Cell::yes_or_no(nullable),
        Cell::text(type_name),
        length.map_or(Cell::Null, Cell::Int),
        length.map_or(Cell::Null, |characters| Cell::Int(characters * CHARACTER_BYTES_MAX)),
        precision.map_or(Cell::Null, Cell::Int),
        precision.map_or(Cell::Null, |_| Cell::Int(radix)),
        scale.map_or(Cell::Null, Cell::Int),
        datetime_precision(data_type).map_or(Cell::Null, Cell::Int),
    ];
    row.extend(identity_cells(declared.and_then(|column| Some((column.identity?, column.column_type)))));
    row
}

/// Returns the cells `is_identity` to `identity_cycle` of `information_schema.columns`; all but the first and the last
/// are NULL for a column that is no identity column. Numbers never begin again, so that the last cell is always `NO`.
fn identity_cells(numbers: Option<(Identity, ColumnType)>) -> [Cell; 7] {
    let (identity, bounds) = match numbers {
        Some((identity, column_type)) => (Some(identity), identity.bounds(column_type)),
        None => (None, None),
    };
    let number = |number: Option<i64>| Cell::maybe(number.map(|number| number.to_string()));
    [
        Cell::yes_or_no(identity.is_some()),
        Cell::maybe(identity.map(|identity| if identity.always { "ALWAYS" } else { "BY DEFAULT" })),
        number(identity.map(|identity| identity.start)),
        number(identity.map(|identity| identity.increment)),
        number(bounds.map(|(_, greatest)| greatest)),
        number(bounds.map(|(least, _)| least)),
        Cell::text("NO"),
    ]
}

/// The number of bits, without the sign bit; of decimals the number of digits.
fn numeric_precision(data_type: &DataType) -> Option<i64> {
    Some(match data_type {
        DataType::Int8 | DataType::UInt8 => 8,
        DataType::Int16 | DataType::UInt16 => 16,
        DataType::Int32 | DataType::UInt32 => 32,
        DataType::Int64 | DataType::UInt64 => 64,
        DataType::Float32 => 24,
        DataType::Float64 => 53,
        DataType::Decimal128(precision, _) => i64::from(*precision),
        _ => return None,
    })
}

/// The number of fractional digits of a second.
fn datetime_precision(data_type: &DataType) -> Option<i64> {
    Some(match data_type {
        DataType::Timestamp(unit, _) | DataType::Time64(unit) => time_unit_of(*unit).fraction_digits() as i64,
        DataType::Date32 => 0,
        _ => return None,
    })
}

/// The name of the type of a view's column, which may be declared, as that of JSON is.
fn type_of_field(field: &Field) -> String {
    if let Some(enumeration) = enumeration_of(field) {
        return type_sql(&enumeration.type_name);
    }
    declared_type(field).map_or_else(|| type_name(field.data_type()), |of| of.sql_name().into_owned())
}

/// The name of a computed type in `CREATE TABLE`, if it has one.
fn type_name(data_type: &DataType) -> String {
    let plain = match data_type {
        DataType::Dictionary(_, values) => values,
        other => other,
    };
    let same = |column_type: &ColumnType| match (logical_type(&plain_column(*column_type)), plain) {
        (DataType::Timestamp(unit, _), DataType::Timestamp(other, _)) => unit == *other,
        (DataType::Utf8, DataType::Utf8View | DataType::LargeUtf8) => true,
        (data_type, other) => data_type == *other,
    };
    let decimal = match plain {
        DataType::Decimal128(precision, scale) => u8::try_from(*scale).ok().map(|scale| (*precision, scale)),
        _ => None,
    };
    let decimal = decimal.and_then(|(precision, scale)| ColumnType::decimal(precision, scale));
    let known = ColumnType::PLAIN.into_iter().chain([ColumnType::Time, ColumnType::Interval]).chain(decimal);
    if let DataType::List(_) = plain
        && let Some((array, _)) = column_type_of(&Field::new("", plain.clone(), true))
    {
        return array.sql_name().into_owned();
    }
    match known.into_iter().find(same) {
        Some(column_type) => column_type.sql_name().into_owned(),
        None => plain.to_string().to_uppercase(),
    }
}

fn plain_column(column_type: ColumnType) -> Column {
    Column::new(atsdb_core::ColumnId(0), "", column_type)
}

fn default_of(column: &Column) -> Cell {
    if let Some(sequence) = &column.sequence {
        return Cell::text(nextval_sql(sequence));
    }
    if let Some(function) = column.default_function {
        return Cell::text(function.sql());
    }
    let Some(value) = &column.default else { return Cell::Null };
    Cell::text(match (value, column.column_type) {
        (Value::Int(time), ColumnType::Timestamp(unit)) => format!("'{}'", atsdb_core::time::format_time(*time, unit)),
        (Value::Int(days), ColumnType::Date) => format!("'{}'", atsdb_core::time::format_date(*days)),
        (Value::Int(value), _) => value.to_string(),
        (Value::UInt(value), _) => value.to_string(),
        (Value::Float(value), _) => value.to_string(),
        (Value::Text(text), _) => format!("'{}'", text.replace('\'', "''")),
        (Value::Bytes(bytes), _) => format!("X'{}'", hex::encode(bytes)),
        (Value::Bool(value), _) => value.to_string(),
    })
}
