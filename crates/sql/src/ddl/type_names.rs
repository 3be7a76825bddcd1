//! Type names of PostgreSQL, SQLite and MySQL, and the corresponding column types.

use atsdb_core::{ColumnType, Error, ErrorKind, Result, TextLength, TimeUnit};
use atsdb_dialect::functions::base::text_types::RangeType;
use atsdb_dialect::text::declared_length::declared_length;
use atsdb_dialect::text::errors::sql_error;
use datafusion::sql::sqlparser::ast::{ArrayElemTypeDef, DataType, ExactNumberInfo, ObjectName, TimezoneInfo};

/// The column type for a declared type. `place` names the column, for the error.
pub(crate) fn column_type(declared: &DataType, place: &str) -> Result<ColumnType> {
    use DataType as T;
    Ok(match declared {
        T::Bool | T::Boolean => ColumnType::Bool,
        T::TinyInt(_) => ColumnType::Int8,
        T::TinyIntUnsigned(_) | T::UTinyInt => ColumnType::UInt8,
        T::SmallInt(_) | T::Int2(_) | T::Int16 => ColumnType::Int16,
        T::SmallIntUnsigned(_) | T::Int2Unsigned(_) | T::USmallInt | T::UInt16 => ColumnType::UInt16,
        T::Int(_) | T::Integer(_) | T::Int4(_) | T::Int32 | T::MediumInt(_) => ColumnType::Int32,
        T::IntUnsigned(_) | T::IntegerUnsigned(_) | T::Int4Unsigned(_) | T::MediumIntUnsigned(_) | T::UInt32 => {
            ColumnType::UInt32
        }
        // INT8 counts bytes, as in PostgreSQL. INT16 and wider count bits, because no database has 16-byte integers.
        T::BigInt(_) | T::Int8(_) | T::Int64 => ColumnType::Int64,
        T::BigIntUnsigned(_) | T::Int8Unsigned(_) | T::UBigInt | T::UInt64 => ColumnType::UInt64,
        T::Float4 | T::Float32 | T::Real | T::RealUnsigned => ColumnType::Float32,
        T::Float(ExactNumberInfo::Precision(1..=24)) => ColumnType::Float32,
        T::Float(_) | T::FloatUnsigned(_) | T::Float8 | T::Float64 => ColumnType::Float64,
        T::Double(_) | T::DoublePrecision | T::DoubleUnsigned(_) | T::DoublePrecisionUnsigned => ColumnType::Float64,
        T::Character(_) | T::Char(_) | T::CharacterVarying(_) | T::CharVarying(_) | T::Varchar(_) | T::Nvarchar(_) => {
            ColumnType::Text
        }
        T::CharacterLargeObject(_) | T::CharLargeObject(_) | T::Clob(_) => ColumnType::Text,
        T::Text | T::TinyText | T::MediumText | T::LongText | T::String(_) => ColumnType::Text,
        T::Binary(_) | T::Varbinary(_) | T::Bytea | T::Bytes(_) => ColumnType::Binary,
        T::Blob(_) | T::TinyBlob | T::MediumBlob | T::LongBlob => ColumnType::Binary,
        T::Date | T::Date32 => ColumnType::Date,
        T::Timestamp(digits, TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => timestamp(*digits, place)?,
        T::Timestamp(digits, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => timestamp(*digits, place)?,
        T::Datetime(digits) | T::TimestampNtz(digits) => timestamp(*digits, place)?,
        T::Decimal(digits) | T::Numeric(digits) | T::Dec(digits) => decimal(digits, declared, place)?,
        T::Time(None | Some(0..=6), TimezoneInfo::None | TimezoneInfo::WithoutTimeZone) => ColumnType::Time,
        T::Interval { fields: None, precision: None | Some(0..=6) } => ColumnType::Interval,
        T::Uuid => ColumnType::Uuid,
        T::JSON | T::JSONB => ColumnType::Json,
        T::Array(ArrayElemTypeDef::SquareBracket(element, _)) => array(element, declared, place)?,
        T::Array(ArrayElemTypeDef::AngleBracket(element)) => array(element, declared, place)?,
        T::Custom(name, _) => custom(name, declared, place)?,
        _ => return Err(unsupported(declared, place)),
    })
}

/// The length that a declared type gives to the texts of a column. `place` names the column, for the error.
pub(crate) fn text_length(declared: &DataType, place: &str) -> Result<Option<TextLength>> {
    let Some((characters, is_char)) = declared_length(declared) else { return Ok(None) };
    let name = if is_char { "char" } else { "varchar" };
    match u32::try_from(characters) {
        Ok(0) => Err(sql_error(format!("{place}: length for type {name} must be at least 1"))),
        Ok(characters @ 1..=TextLength::CHARACTERS_MAX) => Ok(Some(TextLength { characters, is_char })),
        _ => {
            let message = format!("{place}: length for type {name} cannot exceed {}", TextLength::CHARACTERS_MAX);
            Err(sql_error(message).with_hint("use TEXT"))
        }
    }
}

/// The coarsest unit with at least this many digits of a second; microseconds if no number is given.
fn timestamp(digits: Option<u64>, place: &str) -> Result<ColumnType> {
    Ok(ColumnType::Timestamp(match digits {
        Some(0) => TimeUnit::Second,
        Some(1..=3) => TimeUnit::Millisecond,
        None | Some(4..=6) => TimeUnit::Microsecond,
        Some(7..=9) => TimeUnit::Nanosecond,
        Some(more) => {
            return Err(Error::new(ErrorKind::Sql, format!("{place}: a timestamp with {more} digits of a second"))
                .with_hint("the maximum is 9: TIMESTAMP(9)"));
        }
    }))
}

/// Decimals. Without numbers they are `DECIMAL(38, 9)`; with one, they are whole.
fn decimal(digits: &ExactNumberInfo, declared: &DataType, place: &str) -> Result<ColumnType> {
    let (precision, scale) = match digits {
        ExactNumberInfo::None => (38, 9),
        ExactNumberInfo::Precision(precision) => (*precision, 0),
        ExactNumberInfo::PrecisionAndScale(precision, scale) => (*precision, *scale),
    };
    let numbers = u8::try_from(precision).ok().zip(u8::try_from(scale).ok());
    numbers.and_then(|(precision, scale)| ColumnType::decimal(precision, scale)).ok_or_else(|| {
        Error::new(ErrorKind::Sql, format!("{place}: {declared} has too many digits"))
            .with_hint("a decimal has 1 to 38 digits, and no more of them after the point: DECIMAL(18, 2)")
    })
}

/// Arrays of one dimension. Their length may be declared, and has no effect, as in PostgreSQL.
fn array(element: &DataType, declared: &DataType, place: &str) -> Result<ColumnType> {
    if matches!(element, DataType::Array(_)) {
        return Err(Error::new(ErrorKind::Sql, format!("{place}: {declared} has several dimensions"))
            .with_hint("an array of a column has one dimension: TEXT[]"));
    }
    let element = column_type(element, place)?;
    ColumnType::array(element).ok_or_else(|| {
        Error::new(ErrorKind::Sql, format!("{place}: arrays of {} are not supported", element.sql_name())).with_hint(
            "use an array of BOOLEAN, SMALLINT, INT, BIGINT, REAL, DOUBLE, DECIMAL, TEXT, TIMESTAMP, DATE, TIME or UUID",
        )
    })
}

/// Names that the parser does not know.
fn custom(name: &ObjectName, declared: &DataType, place: &str) -> Result<ColumnType> {
    Ok(match name.to_string().to_ascii_lowercase().as_str() {
        "int1" => ColumnType::Int8,
        "int3" => ColumnType::Int32,
        "long" => ColumnType::Int64,
        "timestamp_s" => ColumnType::Timestamp(TimeUnit::Second),
        "timestamp_ms" => ColumnType::Timestamp(TimeUnit::Millisecond),
        "timestamp_us" => ColumnType::Timestamp(TimeUnit::Microsecond),
        "timestamp_ns" => ColumnType::Timestamp(TimeUnit::Nanosecond),
        "bpchar" | "citext" | "name" | "ntext" => ColumnType::Text,
        "oid" => ColumnType::UInt32,
        "image" => ColumnType::Binary,
        _ => return Err(unsupported(declared, place)),
    })
}

/// The error for a type that no column has.
pub(super) fn unsupported(declared: &DataType, place: &str) -> Error {
    use DataType as T;
    let hint = match declared {
        T::BigNumeric(_) | T::BigDecimal(_) | T::DecimalUnsigned(_) | T::DecUnsigned(_) => "use DECIMAL",
        T::Time(..) => "use TIME, which has microseconds and no time zone",
        T::Interval { .. } => "use INTERVAL, which holds all units",
        T::Enum(..) | T::Set(_) => "use TEXT",
        T::Custom(name, _) if name.to_string().to_ascii_lowercase().contains("serial") => {
            "use SMALLSERIAL, SERIAL or BIGSERIAL, or BIGINT GENERATED BY DEFAULT AS IDENTITY"
        }
        T::Custom(name, _) if matches!(name.to_string().to_ascii_lowercase().as_str(), "inet" | "cidr") => {
            "store addresses as TEXT, and cast them where they are compared: CAST(ip AS INET) << '10.0.0.0/8'"
        }
        T::Custom(name, _) if RangeType::of_name(&name.to_string()).is_some() => {
            "use two columns, and make a range of them where it is compared: tstzrange(start, finish) @> x"
        }
        T::TsVector | T::TsQuery => {
            "store texts as TEXT, and search them: to_tsvector('english', x) @@ plainto_tsquery('english', 'two words')"
        }
        T::Array(_) => "write the type of its elements: TEXT[]",
        T::Map(..) | T::Struct(..) => "use one column for each element",
        T::Unspecified => "write a type after the name: INT, BIGINT, DOUBLE, TEXT, TIMESTAMP, ...",
        _ => {
            "use BOOLEAN, TINYINT, SMALLINT, INT, BIGINT (each also UNSIGNED), REAL, DOUBLE, DECIMAL, TEXT, BLOB, \
             TIMESTAMP, DATE, TIME, INTERVAL, UUID, JSON or an array such as TEXT[]"
        }
    };
    let message = match declared {
        T::Unspecified => format!("{place} has no type"),
        _ => format!("{place}: the type {declared} is not supported"),
    };
    Error::new(ErrorKind::Sql, message).with_hint(hint)
}
