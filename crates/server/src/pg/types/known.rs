//! The PostgreSQL types that clients may see, by number.

use super::enumerations;
use arrow::datatypes::{DataType, Field};
use atsdb::sql::{AddressType, RangeType, TextForm};
use atsdb::{ColumnType, ElementType, TextLength};

/// A type of PostgreSQL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::pg) struct PgType {
    pub(in crate::pg) id: u32,
    /// Its name in `pg_type`.
    pub(in crate::pg) name: &'static str,
    /// Its name in SQL.
    pub(in crate::pg) sql_name: &'static str,
    /// The size of a value in bytes; -1 if it varies, -2 for a C string.
    pub(in crate::pg) width: i16,
    /// `typcategory`.
    pub(in crate::pg) category: char,
    /// The type of its arrays; 0 if there is none.
    pub(in crate::pg) array: u32,
    /// The name of its array type.
    pub(in crate::pg) array_name: &'static str,
}

pub(in crate::pg) const BOOL: u32 = 16;
pub(in crate::pg) const BYTEA: u32 = 17;
pub(in crate::pg) const CHAR: u32 = 18;
pub(in crate::pg) const NAME: u32 = 19;
pub(in crate::pg) const INT8: u32 = 20;
pub(in crate::pg) const INT2: u32 = 21;
pub(in crate::pg) const INT2VECTOR: u32 = 22;
pub(in crate::pg) const INT4: u32 = 23;
pub(in crate::pg) const REGPROC: u32 = 24;
pub(in crate::pg) const TEXT: u32 = 25;
pub(in crate::pg) const OID: u32 = 26;
pub(in crate::pg) const OIDVECTOR: u32 = 30;
pub(in crate::pg) const JSON: u32 = 114;
const XML: u32 = 142;
pub(in crate::pg) const CIDR: u32 = 650;
pub(in crate::pg) const FLOAT4: u32 = 700;
pub(in crate::pg) const FLOAT8: u32 = 701;
pub(in crate::pg) const UNKNOWN: u32 = 705;
pub(in crate::pg) const INET: u32 = 869;
pub(in crate::pg) const BPCHAR: u32 = 1042;
pub(in crate::pg) const VARCHAR: u32 = 1043;
pub(in crate::pg) const DATE: u32 = 1082;
pub(in crate::pg) const TIME: u32 = 1083;
pub(in crate::pg) const TIMESTAMP: u32 = 1114;
pub(in crate::pg) const TIMESTAMPTZ: u32 = 1184;
pub(in crate::pg) const INTERVAL: u32 = 1186;
pub(in crate::pg) const NUMERIC: u32 = 1700;
pub(in crate::pg) const REGPROCEDURE: u32 = 2202;
pub(in crate::pg) const REGCLASS: u32 = 2205;
pub(in crate::pg) const REGTYPE: u32 = 2206;
pub(in crate::pg) const RECORD: u32 = 2249;
const CSTRING: u32 = 2275;
pub(in crate::pg) const UUID: u32 = 2950;
pub(in crate::pg) const UUID_ARRAY: u32 = 2951;
pub(in crate::pg) const JSONB: u32 = 3802;
const INT4RANGE: u32 = 3904;
const NUMRANGE: u32 = 3906;
const TSRANGE: u32 = 3908;
const TSTZRANGE: u32 = 3910;
const DATERANGE: u32 = 3912;
const INT8RANGE: u32 = 3926;
pub(in crate::pg) const REGNAMESPACE: u32 = 4089;
pub(in crate::pg) const REGROLE: u32 = 4096;
/// The version of the binary form of `jsonb`, which stands before its text.
pub(in crate::pg) const JSONB_VERSION: u8 = 1;

const fn plain(
    id: u32,
    name: &'static str,
    sql_name: &'static str,
    width: i16,
    category: char,
    (array, array_name): (u32, &'static str),
) -> PgType {
    PgType { id, name, sql_name, width, category, array, array_name }
}

/// The types that are not arrays.
pub(in crate::pg) const TYPES: [PgType; 53] = [
    plain(BOOL, "bool", "boolean", 1, 'B', (1000, "_bool")),
    plain(BYTEA, "bytea", "bytea", -1, 'U', (1001, "_bytea")),
    plain(CHAR, "char", "\"char\"", 1, 'Z', (1002, "_char")),
    plain(NAME, "name", "name", 64, 'S', (1003, "_name")),
    plain(INT8, "int8", "bigint", 8, 'N', (1016, "_int8")),
    plain(INT2, "int2", "smallint", 2, 'N', (1005, "_int2")),
    plain(INT2VECTOR, "int2vector", "int2vector", -1, 'A', (1006, "_int2vector")),
    plain(INT4, "int4", "integer", 4, 'N', (1007, "_int4")),
    plain(REGPROC, "regproc", "regproc", 4, 'N', (1008, "_regproc")),
    plain(TEXT, "text", "text", -1, 'S', (1009, "_text")),
    plain(OID, "oid", "oid", 4, 'N', (1028, "_oid")),
    plain(27, "tid", "tid", 6, 'U', (1010, "_tid")),
    plain(28, "xid", "xid", 4, 'U', (1011, "_xid")),
    plain(29, "cid", "cid", 4, 'U', (1012, "_cid")),
    plain(OIDVECTOR, "oidvector", "oidvector", -1, 'A', (1013, "_oidvector")),
    plain(JSON, "json", "json", -1, 'U', (199, "_json")),
    plain(XML, "xml", "xml", -1, 'U', (143, "_xml")),
    plain(194, "pg_node_tree", "pg_node_tree", -1, 'Z', (0, "")),
    plain(CIDR, "cidr", "cidr", -1, 'I', (651, "_cidr")),
    plain(FLOAT4, "float4", "real", 4, 'N', (1021, "_float4")),
    plain(FLOAT8, "float8", "double precision", 8, 'N', (1022, "_float8")),
    plain(UNKNOWN, "unknown", "unknown", -2, 'X', (0, "")),
    plain(INET, "inet", "inet", -1, 'I', (1041, "_inet")),
    plain(1033, "aclitem", "aclitem", 12, 'U', (1034, "_aclitem")),
    plain(BPCHAR, "bpchar", "character", -1, 'S', (1014, "_bpchar")),
    plain(VARCHAR, "varchar", "character varying", -1, 'S', (1015, "_varchar")),
    plain(DATE, "date", "date", 4, 'D', (1182, "_date")),
    plain(TIME, "time", "time without time zone", 8, 'D', (1183, "_time")),
    plain(TIMESTAMP, "timestamp", "timestamp without time zone", 8, 'D', (1115, "_timestamp")),
    plain(TIMESTAMPTZ, "timestamptz", "timestamp with time zone", 8, 'D', (1185, "_timestamptz")),
    plain(INTERVAL, "interval", "interval", 16, 'T', (1187, "_interval")),
    plain(1266, "timetz", "time with time zone", 12, 'D', (1270, "_timetz")),
    plain(NUMERIC, "numeric", "numeric", -1, 'N', (1231, "_numeric")),
    plain(REGPROCEDURE, "regprocedure", "regprocedure", 4, 'N', (2207, "_regprocedure")),
    plain(2204, "regoperator", "regoperator", 4, 'N', (2209, "_regoperator")),
    plain(REGCLASS, "regclass", "regclass", 4, 'N', (2210, "_regclass")),
    plain(REGTYPE, "regtype", "regtype", 4, 'N', (2211, "_regtype")),
    plain(REGNAMESPACE, "regnamespace", "regnamespace", 4, 'N', (4090, "_regnamespace")),
    plain(REGROLE, "regrole", "regrole", 4, 'N', (4097, "_regrole")),
    plain(RECORD, "record", "record", -1, 'P', (2287, "_record")),
    plain(CSTRING, "cstring", "cstring", -2, 'P', (1263, "_cstring")),
    plain(2276, "any", "\"any\"", 4, 'P', (0, "")),
    plain(2277, "anyarray", "anyarray", -1, 'P', (0, "")),
    plain(2278, "void", "void", 4, 'P', (0, "")),
    plain(2279, "trigger", "trigger", 4, 'P', (0, "")),
    plain(UUID, "uuid", "uuid", 16, 'U', (UUID_ARRAY, "_uuid")),
    plain(JSONB, "jsonb", "jsonb", -1, 'U', (3807, "_jsonb")),
    plain(INT4RANGE, "int4range", "int4range", -1, 'R', (3905, "_int4range")),
    plain(NUMRANGE, "numrange", "numrange", -1, 'R', (3907, "_numrange")),
    plain(TSRANGE, "tsrange", "tsrange", -1, 'R', (3909, "_tsrange")),
    plain(TSTZRANGE, "tstzrange", "tstzrange", -1, 'R', (3911, "_tstzrange")),
    plain(DATERANGE, "daterange", "daterange", -1, 'R', (3913, "_daterange")),
    plain(INT8RANGE, "int8range", "int8range", -1, 'R', (3927, "_int8range")),
];

/// Returns whether values of a type are numbers of objects that are written by their names: `regclass` and similar
/// types.
pub(in crate::pg) fn is_named(id: u32) -> bool {
    matches!(id, REGPROC | REGPROCEDURE | REGCLASS | REGTYPE | REGNAMESPACE | REGROLE)
}

/// Returns whether values of a type are sent as their texts in the binary format, too.
pub(in crate::pg) fn is_sent_as_text(id: u32) -> bool {
    matches!(id, 0 | TEXT | VARCHAR | BPCHAR | NAME | CHAR | UNKNOWN | JSON | XML | CSTRING)
        || enumerations::is_enumeration(id)
}

/// The type with this number, if it is not an array type.
pub(in crate::pg) fn by_id(id: u32) -> Option<&'static PgType> {
    TYPES.iter().find(|known| known.id == id)
}

/// The type of the elements of the arrays of this type.
pub(in crate::pg) fn element_of(array: u32) -> Option<&'static PgType> {
    TYPES.iter().find(|known| known.array == array && array != 0)
}

/// The type of the values within ranges of this type.
pub(in crate::pg) fn bounds_of(range: u32) -> Option<u32> {
    Some(match range {
        DATERANGE => DATE,
        INT4RANGE => INT4,
        INT8RANGE => INT8,
        NUMRANGE => NUMERIC,
        TSRANGE => TIMESTAMP,
        TSTZRANGE => TIMESTAMPTZ,
        _ => return None,
    })
}

/// The type of the elements of arrays and vectors of this type, and the number of the first one.
pub(in crate::pg) fn elements_of(id: u32) -> Option<(u32, i32)> {
    match id {
        INT2VECTOR => Some((INT2, 0)),
        OIDVECTOR => Some((OID, 0)),
        array => element_of(array).map(|element| (element.id, 1)),
    }
}

/// A type by its name in `pg_type` or in SQL.
pub(in crate::pg) fn by_name(name: &str) -> Option<&'static PgType> {
    let name = match name {
        "int" | "integer" => "int4",
        "bigint" => "int8",
        "smallint" => "int2",
        "decimal" => "numeric",
        "double" => "float8",
        "string" => "text",
        other => other,
    };
    TYPES.iter().find(|known| known.name == name || known.sql_name == name)
}

/// The size of a value of this type in bytes; -1 if it varies.
pub(in crate::pg) fn width_of(id: u32) -> i16 {
    // PostgreSQL stores the number of a label.
    if enumerations::is_enumeration(id) { 4 } else { by_id(id).map_or(-1, |known| known.width) }
}

/// The name of a type in SQL, as `format_type` returns it.
pub(in crate::pg) fn sql_name(id: u32) -> Option<String> {
    match by_id(id) {
        Some(known) => Some(known.sql_name.to_owned()),
        None => element_of(id).map(|element| format!("{}[]", element.sql_name)),
    }
}

/// The PostgreSQL type for a column of texts with a length.
pub(in crate::pg) fn of_length(length: TextLength) -> u32 {
    if length.is_char { BPCHAR } else { VARCHAR }
}

/// The PostgreSQL type for a column of a table or result.
pub(in crate::pg) fn of_field(field: &Field) -> u32 {
    if let Some(of) = atsdb::enumeration_of(field) {
        return enumerations::number_of(&of.type_name);
    }
    if let Some(of) = AddressType::of(field) {
        return match of {
            AddressType::Inet => INET,
            AddressType::Cidr => CIDR,
        };
    }
    if let Some(of) = RangeType::of(field) {
        return match of {
            RangeType::Date => DATERANGE,
            RangeType::Int4 => INT4RANGE,
            RangeType::Int8 => INT8RANGE,
            RangeType::Num => NUMRANGE,
            RangeType::Ts => TSRANGE,
            RangeType::Tstz => TSTZRANGE,
        };
    }
    match atsdb::declared_type(field) {
        Some(ColumnType::Uuid) => UUID,
        Some(ColumnType::Json) if atsdb::is_jsonb(field) => JSONB,
        Some(ColumnType::Json) => JSON,
        Some(ColumnType::Array(ElementType::Uuid)) => UUID_ARRAY,
        _ => of_arrow(field.data_type()),
    }
}

/// The PostgreSQL type for parameters whose texts have a form.
pub(in crate::pg) fn of_form(form: TextForm) -> u32 {
    match form {
        TextForm::Uuid => UUID,
        TextForm::Uuids => UUID_ARRAY,
        TextForm::Json => JSON,
        TextForm::Jsonb => JSONB,
    }
}

/// The PostgreSQL type for an Arrow type.
pub(in crate::pg) fn of_arrow(data_type: &DataType) -> u32 {
    match data_type {
        DataType::Boolean => BOOL,
        DataType::Int8 | DataType::UInt8 | DataType::Int16 => INT2,
        DataType::UInt16 | DataType::Int32 => INT4,
        DataType::UInt32 | DataType::Int64 => INT8,
        DataType::UInt64
        | DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..) => NUMERIC,
        DataType::Float16 | DataType::Float32 => FLOAT4,
        DataType::Float64 => FLOAT8,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => BYTEA,
        DataType::Date32 | DataType::Date64 => DATE,
        DataType::Time32(_) | DataType::Time64(_) => TIME,
        DataType::Timestamp(_, Some(_)) => TIMESTAMPTZ,
        DataType::Timestamp(_, None) => TIMESTAMP,
        DataType::Interval(_) | DataType::Duration(_) => INTERVAL,
        DataType::Dictionary(_, values) => of_arrow(values),
        DataType::List(element) | DataType::LargeList(element) | DataType::FixedSizeList(element, _) => {
            match element.data_type() {
                // Arrays of any number of dimensions have one type.
                inner @ (DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..)) => of_arrow(inner),
                inner => by_id(of_arrow(inner)).map(|known| known.array).filter(|id| *id != 0).unwrap_or(JSON),
            }
        }
        DataType::Struct(_) | DataType::Map(..) | DataType::Union(..) => JSON,
        _ => TEXT,
    }
}
