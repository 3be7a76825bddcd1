//! The Arrow types of columns: the logical type that users see, the type of column that holds the values of an Arrow
//! type, and the stored type in pages with its number in the page header.

use arrow::array::AnyDictionaryArray;
use arrow::datatypes::{DataType, Field, IntervalUnit, Schema, SchemaRef, TimeUnit as ArrowUnit};
use atsdb_core::{Column, ColumnType, ElementType, Enumeration, MapWidth, TableDefinition, TimeUnit};
use std::collections::HashMap;
use std::sync::Arc;

/// Returns the type of a column for users: a mapped column is a dictionary of text, a timestamp is in UTC, a decimal
/// has its precision and scale.
pub fn logical_type(column: &Column) -> DataType {
    match column.map {
        Some(width) => DataType::Dictionary(Box::new(index_type(width)), Box::new(DataType::Utf8)),
        None => plain_type(column.column_type),
    }
}

/// Returns the type of a column in its pages: that of its index for a mapped column, else that of its
/// [stored type](ColumnType::stored). [`stored_form`](mod@crate::stored_form) converts between both.
pub fn stored_type(column: &Column) -> DataType {
    match column.map {
        Some(width) => index_type(width),
        None => stored_plain_type(column.column_type),
    }
}

fn stored_plain_type(column_type: ColumnType) -> DataType {
    match column_type {
        ColumnType::Array(element) => array_type(stored_plain_type(element.column_type())),
        other => plain_type(other.stored()),
    }
}

/// The type of arrays with elements of a type, which may be NULL.
fn array_type(element: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(element, true)))
}

/// The key in the metadata of an Arrow field whose value is the name of a column type, for types that have no Arrow
/// type of their own: UUIDs, arrays of UUIDs, and JSON; and for intervals as text.
const TYPE_KEY: &str = "atsdb.type";

/// The key in the metadata of a field of JSON whose value is `jsonb` if the JSON has the form of PostgreSQL's type of
/// this name: ordered keys, each of them once.
const FORM_KEY: &str = "atsdb.form";

const JSONB: &str = "jsonb";

/// The key in the metadata of a field of texts whose value is an enumerated type as JSON: its name and labels.
const ENUMERATION_KEY: &str = "atsdb.enum";

/// The key in the metadata of a field of texts that are values of a `char(n)`. Its value is `n`, or empty for values of
/// several lengths.
const CHAR_KEY: &str = "atsdb.char";

/// The value of [`TYPE_KEY`] for lists of JSON, for which there is no type of columns.
const JSON_LIST: &str = "json[]";

/// The size in bytes of an array's element, without the letters of a text.
pub fn element_bytes(element: &DataType) -> usize {
    // A text has a length in memory.
    element.primitive_width().unwrap_or(if *element == DataType::Boolean { 1 } else { 4 })
}

/// Returns the Arrow field of a column for users: its name, logical type and nullability.
pub fn logical_field(column: &Column) -> Field {
    let field = Field::new(&column.name, logical_type(column), column.nullable);
    if let Some(enumeration) = &column.enumeration {
        return enumeration_field(field, enumeration);
    }
    if let Some(length) = column.length.filter(|length| length.is_char) {
        return char_field(field, Some(length.characters));
    }
    match column.column_type {
        ColumnType::Uuid | ColumnType::Json | ColumnType::Array(ElementType::Uuid) => {
            declared_field(field, column.column_type)
        }
        _ => field,
    }
}

/// Returns a field whose [declared type](declared_type) is the given one: UUID, array of UUIDs, or JSON.
pub fn declared_field(field: Field, column_type: ColumnType) -> Field {
    field.with_metadata(HashMap::from([(TYPE_KEY.to_owned(), column_type.name().into_owned())]))
}

/// Returns a field of JSON in the form of PostgreSQL's `jsonb`.
pub fn jsonb_field(field: Field) -> Field {
    let name = ColumnType::Json.name().into_owned();
    let metadata = [(TYPE_KEY.to_owned(), name), (FORM_KEY.to_owned(), JSONB.to_owned())];
    field.with_metadata(HashMap::from(metadata))
}

/// Returns whether a field's values are JSON in the form of PostgreSQL's `jsonb`.
pub fn is_jsonb(field: &Field) -> bool {
    declared_type(field) == Some(ColumnType::Json) && field.metadata().get(FORM_KEY).is_some_and(|form| form == JSONB)
}

/// Returns a field of texts that are labels of an enumerated type.
pub fn enumeration_field(field: Field, enumeration: &Enumeration) -> Field {
    field.with_metadata(HashMap::from([(ENUMERATION_KEY.to_owned(), enumeration.json())]))
}

/// The enumerated type whose labels a field's values are.
pub fn enumeration_of(field: &Field) -> Option<Enumeration> {
    let json = field.metadata().get(ENUMERATION_KEY).filter(|_| is_text(field.data_type()))?;
    Enumeration::of_json(json)
}

/// Returns whether values of a type are texts, plain or of a dictionary.
pub fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => values.is_string(),
        other => other.is_string(),
    }
}

/// Returns a field of texts that are values of a `char(n)`, without spaces at the end. `characters` is `n`; `None` of
/// values of several lengths.
pub fn char_field(field: Field, characters: Option<u32>) -> Field {
    let characters = characters.map(|characters| characters.to_string()).unwrap_or_default();
    field.with_metadata(HashMap::from([(CHAR_KEY.to_owned(), characters)]))
}

/// Returns whether a field's values are those of a `char(n)`.
pub fn is_char(field: &Field) -> bool {
    is_text(field.data_type()) && field.metadata().contains_key(CHAR_KEY)
}

/// The `n` of a field whose values are those of a `char(n)`.
pub fn char_length(field: &Field) -> Option<u32> {
    field.metadata().get(CHAR_KEY).filter(|_| is_char(field))?.parse().ok()
}

/// Returns a field of lists whose elements are JSON.
pub fn json_list_field(field: Field) -> Field {
    field.with_metadata(HashMap::from([(TYPE_KEY.to_owned(), JSON_LIST.to_owned())]))
}

/// Returns whether a field's values are lists whose elements are JSON.
pub fn is_json_list(field: &Field) -> bool {
    let is_list = matches!(field.data_type(), DataType::List(element) if element.data_type().is_string());
    is_list && field.metadata().get(TYPE_KEY).is_some_and(|name| name == JSON_LIST)
}

/// Returns a field of texts that are intervals, for files whose format has no intervals with nanoseconds.
pub fn interval_text_field(field: Field) -> Field {
    declared_field(field.with_data_type(DataType::Utf8), ColumnType::Interval)
}

/// Returns whether a field holds intervals that are written as text.
pub fn is_interval_text(field: &Field) -> bool {
    field.data_type().is_string() && named_type(field) == Some(ColumnType::Interval)
}

/// Returns the column type that a [`logical_field`] declares beside its Arrow type: UUID, array of UUIDs, or JSON.
pub fn declared_type(field: &Field) -> Option<ColumnType> {
    named_type(field).filter(|column_type| plain_type(*column_type) == *field.data_type())
}

/// The column type that the metadata of a field names.
fn named_type(field: &Field) -> Option<ColumnType> {
    field.metadata().get(TYPE_KEY).and_then(|name| ColumnType::of_name(name))
}

/// Returns the Arrow schema of a table: its columns' [fields](logical_field).
pub fn arrow_schema(definition: &TableDefinition) -> SchemaRef {
    Arc::new(Schema::new(definition.columns.iter().map(logical_field).collect::<Vec<_>>()))
}

/// Returns the Arrow schema of a table's rows in stored form.
pub fn stored_schema(definition: &TableDefinition) -> SchemaRef {
    let field = |column: &Column| Field::new(&column.name, stored_type(column), column.nullable);
    Arc::new(Schema::new(definition.columns.iter().map(field).collect::<Vec<_>>()))
}

fn index_type(width: MapWidth) -> DataType {
    match width {
        MapWidth::U8 => DataType::UInt8,
        MapWidth::U16 => DataType::UInt16,
        MapWidth::U32 => DataType::UInt32,
    }
}

/// Returns the Arrow type of the values of a column type.
pub fn plain_type(column_type: ColumnType) -> DataType {
    match column_type {
        ColumnType::Bool => DataType::Boolean,
        ColumnType::Int8 => DataType::Int8,
        ColumnType::Int16 => DataType::Int16,
        ColumnType::Int32 => DataType::Int32,
        ColumnType::Int64 => DataType::Int64,
        ColumnType::UInt8 => DataType::UInt8,
        ColumnType::UInt16 => DataType::UInt16,
        ColumnType::UInt32 => DataType::UInt32,
        ColumnType::UInt64 => DataType::UInt64,
        ColumnType::Float32 => DataType::Float32,
        ColumnType::Float64 => DataType::Float64,
        ColumnType::Text => DataType::Utf8,
        ColumnType::Binary => DataType::Binary,
        ColumnType::Timestamp(unit) => DataType::Timestamp(arrow_unit(unit), Some("UTC".into())),
        ColumnType::Date => DataType::Date32,
        ColumnType::Decimal { precision, scale } => DataType::Decimal128(precision, scale.cast_signed()),
        ColumnType::Time => DataType::Time64(ArrowUnit::Microsecond),
        ColumnType::Uuid | ColumnType::Json => DataType::Utf8,
        ColumnType::Interval => DataType::Interval(IntervalUnit::MonthDayNano),
        ColumnType::Array(element) => array_type(plain_type(element.column_type())),
    }
}

/// Returns the type of a column that holds all values of an Arrow field, and the width of its indices if these are
/// dictionaries of text; `None` if there is no such column.
pub fn column_type_of(field: &Field) -> Option<(ColumnType, Option<MapWidth>)> {
    match declared_type(field) {
        Some(declared) => Some((declared, None)),
        None if is_uuid_extension(field) => Some((ColumnType::Uuid, None)),
        None => column_type_of_values(field.data_type()),
    }
}

/// The key in the metadata of a field whose value is the name of Arrow's extension type.
const EXTENSION_KEY: &str = "ARROW:extension:name";

/// The name of Arrow's canonical extension type for UUIDs.
const UUID_EXTENSION: &str = "arrow.uuid";

/// Returns whether a field has Arrow's canonical extension type for UUIDs.
fn is_uuid_extension(field: &Field) -> bool {
    *field.data_type() == DataType::FixedSizeBinary(16) && field.extension_type_name() == Some(UUID_EXTENSION)
}

/// Returns a field of 16 bytes with Arrow's canonical extension type for UUIDs. Other fields are returned as they are.
pub fn uuid_bytes_field(field: Field) -> Field {
    if *field.data_type() != DataType::FixedSizeBinary(16) {
        return field;
    }
    field.with_metadata(HashMap::from([(EXTENSION_KEY.to_owned(), UUID_EXTENSION.to_owned())]))
}

fn column_type_of_values(data_type: &DataType) -> Option<(ColumnType, Option<MapWidth>)> {
    use DataType as T;
    let column_type = match data_type {
        T::Boolean => ColumnType::Bool,
        T::Int8 => ColumnType::Int8,
        T::Int16 => ColumnType::Int16,
        T::Int32 => ColumnType::Int32,
        T::Int64 => ColumnType::Int64,
        T::UInt8 => ColumnType::UInt8,
        T::UInt16 => ColumnType::UInt16,
        T::UInt32 => ColumnType::UInt32,
        T::UInt64 => ColumnType::UInt64,
        T::Float16 | T::Float32 => ColumnType::Float32,
        T::Float64 => ColumnType::Float64,
        T::Decimal32(precision, scale) | T::Decimal64(precision, scale) | T::Decimal128(precision, scale) => {
            ColumnType::decimal(*precision, u8::try_from(*scale).ok()?)?
        }
        T::Time32(_) | T::Time64(_) => ColumnType::Time,
        T::Interval(_) | T::Duration(_) => ColumnType::Interval,
        T::Utf8 | T::LargeUtf8 | T::Utf8View | T::Null => ColumnType::Text,
        T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_) => ColumnType::Binary,
        T::Timestamp(unit, _) => ColumnType::Timestamp(time_unit_of(*unit)),
        T::Date32 => ColumnType::Date,
        T::Date64 => ColumnType::Timestamp(TimeUnit::Millisecond),
        T::Dictionary(key, values) if values.is_string() => {
            let width = match key.as_ref() {
                T::UInt8 => MapWidth::U8,
                T::UInt16 => MapWidth::U16,
                _ => MapWidth::U32,
            };
            return Some((ColumnType::Text, Some(width)));
        }
        T::Dictionary(_, values) => return column_type_of_values(values),
        T::List(element) | T::LargeList(element) | T::FixedSizeList(element, _) => {
            ColumnType::array(column_type_of(element)?.0)?
        }
        _ => return None,
    };
    Some((column_type, None))
}

fn arrow_unit(unit: TimeUnit) -> ArrowUnit {
    match unit {
        TimeUnit::Second => ArrowUnit::Second,
        TimeUnit::Millisecond => ArrowUnit::Millisecond,
        TimeUnit::Microsecond => ArrowUnit::Microsecond,
        TimeUnit::Nanosecond => ArrowUnit::Nanosecond,
    }
}

/// Returns the unit of times of an Arrow type.
pub fn time_unit_of(unit: ArrowUnit) -> TimeUnit {
    match unit {
        ArrowUnit::Second => TimeUnit::Second,
        ArrowUnit::Millisecond => TimeUnit::Millisecond,
        ArrowUnit::Microsecond => TimeUnit::Microsecond,
        ArrowUnit::Nanosecond => TimeUnit::Nanosecond,
    }
}

/// The number of a stored array is this plus that of its elements.
const ARRAY_OF: u8 = 32;

/// Returns the number of a column's stored type in page headers. Numbers are never changed or reused.
pub(crate) fn stored_type_number(column: &Column) -> u8 {
    match (column.map, column.column_type.stored()) {
        (_, ColumnType::Array(element)) => {
            ARRAY_OF + stored_type_number(&Column::new(column.id, "", element.column_type()))
        }
        (Some(MapWidth::U8), _) | (None, ColumnType::UInt8) => 6,
        (Some(MapWidth::U16), _) | (None, ColumnType::UInt16) => 7,
        (Some(MapWidth::U32), _) | (None, ColumnType::UInt32) => 8,
        (None, ColumnType::Bool) => 1,
        (None, ColumnType::Int8) => 2,
        (None, ColumnType::Int16) => 3,
        (None, ColumnType::Int32) => 4,
        (None, ColumnType::Int64 | ColumnType::Time | ColumnType::Decimal { .. }) => 5,
        (None, ColumnType::UInt64) => 9,
        (None, ColumnType::Float32) => 10,
        (None, ColumnType::Float64) => 11,
        (None, ColumnType::Text | ColumnType::Uuid | ColumnType::Json) => 12,
        (None, ColumnType::Binary | ColumnType::Interval) => 13,
        (None, ColumnType::Timestamp(TimeUnit::Second)) => 14,
        (None, ColumnType::Timestamp(TimeUnit::Millisecond)) => 15,
        (None, ColumnType::Timestamp(TimeUnit::Microsecond)) => 16,
        (None, ColumnType::Timestamp(TimeUnit::Nanosecond)) => 17,
        (None, ColumnType::Date) => 18,
    }
}

/// Returns the type of a page's values from the stored type's number in its header, if each of them is a value of the
/// column: the column's own type, or a narrower one of its kind. Returns `None` otherwise.
pub(crate) fn stored_type_of_number(number: u8, column: &Column) -> Option<DataType> {
    let own = stored_type_number(column);
    Some(match (number, own) {
        (number, own) if number == own => stored_type(column),
        (2, 3..=5) => DataType::Int8,
        (3, 4..=5) => DataType::Int16,
        (4, 5) => DataType::Int32,
        (6, 7..=9) => DataType::UInt8,
        (7, 8..=9) => DataType::UInt16,
        (8, 9) => DataType::UInt32,
        (10, 11) => DataType::Float32,
        _ => return None,
    })
}

/// Returns the position of each row's value among a dictionary's values. The position of a row that is NULL has no
/// meaning; it may be 0 where there are no values at all.
#[expect(clippy::disallowed_methods, reason = "this is the place that has looked for values")]
pub fn dictionary_keys(dictionary: &dyn AnyDictionaryArray) -> Vec<usize> {
    if dictionary.values().is_empty() { vec![0; dictionary.len()] } else { dictionary.normalized_keys() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb_core::{ColumnId, QualifiedName};

    #[test]
    fn the_extension_type_of_uuids_is_a_uuid() {
        let bytes = Field::new("id", DataType::FixedSizeBinary(16), true);
        assert_eq!(column_type_of(&bytes), Some((ColumnType::Binary, None)));
        let name = HashMap::from([("ARROW:extension:name".to_owned(), "arrow.uuid".to_owned())]);
        let uuid = bytes.with_metadata(name.clone());
        assert_eq!(column_type_of(&uuid), Some((ColumnType::Uuid, None)));
        let list = Field::new("ids", DataType::List(uuid.with_name("item").into()), true);
        assert_eq!(column_type_of(&list), Some((ColumnType::Array(ElementType::Uuid), None)));
        let text = Field::new("id", DataType::Utf8, true).with_metadata(name);
        assert_eq!(column_type_of(&text), Some((ColumnType::Text, None)));
    }

    #[test]
    fn a_column_of_an_enumerated_type_says_so() {
        let type_name = QualifiedName { schema: Some("s".to_owned()), name: "mood".to_owned() };
        let mood = Enumeration { type_name, labels: vec!["sad".to_owned(), "ok".to_owned()] };
        let mut column = Column::new(ColumnId(0), "m", ColumnType::Text);
        (column.map, column.enumeration) = (Some(Enumeration::MAP), Some(mood.clone()));
        let field = logical_field(&column);
        assert_eq!(enumeration_of(&field), Some(mood));
        assert_eq!(enumeration_of(&field.with_data_type(DataType::Int64)), None);
    }

    #[test]
    fn the_page_of_types_names_each_and_its_arrow_type() {
        let page = include_str!("../../../docs/reference/types.md");
        let (_, rows) = page.split_once("|---|---|---|---|---|---|---|\n").unwrap();
        let rows = rows.lines().take_while(|line| line.starts_with('|'));
        let written: Vec<(&str, &str)> = rows
            .map(|row| {
                let cells: Vec<&str> = row.split('|').map(|cell| cell.trim().trim_matches('`')).collect();
                (cells[1], cells[3])
            })
            .collect();
        let others = [ColumnType::Time, ColumnType::Uuid, ColumnType::Json, ColumnType::Interval];
        let types = ColumnType::PLAIN.into_iter().chain(ColumnType::decimal(12, 2)).chain(others);
        let types = types.chain(ColumnType::array(ColumnType::Text));
        let is: Vec<_> =
            types.map(|column_type| (column_type.sql_name(), plain_type(column_type).to_string())).collect();
        let mut enumerated = Column::new(ColumnId(0), "v", ColumnType::Text);
        enumerated.map = Some(Enumeration::MAP);
        let labels = logical_type(&enumerated).to_string();
        let is = is.iter().map(|(sql, arrow)| (sql.as_ref(), arrow.as_str()));
        let is: Vec<(&str, &str)> = is.chain([("mood", labels.as_str())]).collect();
        assert_eq!(written, is);
    }
}
