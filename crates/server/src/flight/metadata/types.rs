//! The types of columns, with their numbers in ODBC and JDBC.

use super::tables::failed;
use arrow_flight::sql::metadata::{XdbcTypeInfo, XdbcTypeInfoDataBuilder};
use arrow_flight::sql::{CommandGetXdbcTypeInfo, Nullable, Searchable, XdbcDataType, XdbcDatetimeSubcode};
use atsdb::Result;
use atsdb::arrow::array::RecordBatch;

/// Names, numbers, the maximum number of digits or letters, and for numbers whether they are unsigned.
const TYPES: [(&str, XdbcDataType, i32, Option<bool>); 14] = [
    ("BOOLEAN", XdbcDataType::XdbcBit, 1, None),
    ("TINYINT", XdbcDataType::XdbcTinyint, 3, Some(false)),
    ("TINYINT UNSIGNED", XdbcDataType::XdbcTinyint, 3, Some(true)),
    ("SMALLINT", XdbcDataType::XdbcSmallint, 5, Some(false)),
    ("SMALLINT UNSIGNED", XdbcDataType::XdbcSmallint, 5, Some(true)),
    ("INT", XdbcDataType::XdbcInteger, 10, Some(false)),
    ("INT UNSIGNED", XdbcDataType::XdbcInteger, 10, Some(true)),
    ("BIGINT", XdbcDataType::XdbcBigint, 19, Some(false)),
    ("BIGINT UNSIGNED", XdbcDataType::XdbcBigint, 20, Some(true)),
    ("REAL", XdbcDataType::XdbcReal, 24, Some(false)),
    ("DOUBLE", XdbcDataType::XdbcDouble, 53, Some(false)),
    ("TEXT", XdbcDataType::XdbcVarchar, i32::MAX, None),
    ("BLOB", XdbcDataType::XdbcVarbinary, i32::MAX, None),
    ("DATE", XdbcDataType::XdbcDate, 10, None),
];

/// The types with the number that a command names, or all.
pub(super) fn types(command: CommandGetXdbcTypeInfo) -> Result<RecordBatch> {
    let mut builder = XdbcTypeInfoDataBuilder::new();
    for (name, number, column_size, unsigned) in TYPES {
        builder.append(XdbcTypeInfo { unsigned_attribute: unsigned, ..described(name, number, column_size) });
    }
    let timestamp = XdbcTypeInfo {
        maximum_scale: Some(9),
        minimum_scale: Some(0),
        datetime_subcode: Some(XdbcDatetimeSubcode::XdbcSubcodeTimestamp),
        ..described("TIMESTAMP", XdbcDataType::XdbcTimestamp, 29)
    };
    builder.append(timestamp);
    let known = builder.build().map_err(failed)?;
    command.into_builder(&known).build().map_err(failed)
}

fn described(name: &str, number: XdbcDataType, column_size: i32) -> XdbcTypeInfo {
    let is_number = !matches!(
        number,
        XdbcDataType::XdbcBit
            | XdbcDataType::XdbcVarchar
            | XdbcDataType::XdbcVarbinary
            | XdbcDataType::XdbcDate
            | XdbcDataType::XdbcTimestamp
    );
    let quote = (!is_number && number != XdbcDataType::XdbcBit).then(|| "'".to_owned());
    XdbcTypeInfo {
        type_name: name.to_owned(),
        local_type_name: Some(name.to_owned()),
        data_type: number,
        sql_data_type: number,
        column_size: Some(column_size),
        literal_prefix: quote.clone(),
        literal_suffix: quote,
        nullable: Nullable::NullabilityNullable,
        case_sensitive: number == XdbcDataType::XdbcVarchar,
        searchable: Searchable::Full,
        num_prec_radix: is_number.then_some(10),
        ..XdbcTypeInfo::default()
    }
}
