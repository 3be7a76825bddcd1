//! `pg_typeof(x)`: PostgreSQL's name of a value's type.

use crate::functions::base::text_types::TextType;
use crate::text::quoted_names::quoted;
use atsdb_codec::{declared_type, enumeration_of, is_json_list, is_jsonb};
use atsdb_core::{ColumnType, ElementType};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

/// The name of the type of `char(n)`.
pub const CHAR_NAME: &str = "character";

pub(super) fn function() -> ScalarUDF {
    ScalarUDF::new_from_impl(TypeOf { signature: Signature::any(1, Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct TypeOf {
    signature: Signature,
}

impl ScalarUDFImpl for TypeOf {
    fn name(&self) -> &'static str {
        "pg_typeof"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.arg_fields.as_slice() {
            [field] => Ok(ColumnarValue::Scalar(ScalarValue::from(type_name(field)))),
            fields => internal_err!("{} of {} values", self.name(), fields.len()),
        }
    }
}

/// The name of the type of a field's values.
pub fn type_name(field: &Field) -> String {
    if let Some(of) = enumeration_of(field) {
        let name = quoted(&of.type_name.name);
        return of.type_name.schema.as_ref().map_or(name.clone(), |schema| format!("{}.{name}", quoted(schema)));
    }
    match TextType::of(field) {
        Some(TextType::Address(of)) => return of.name().to_owned(),
        Some(TextType::Range(of)) => return of.name().to_owned(),
        Some(TextType::Search(of)) => return of.name().to_owned(),
        Some(TextType::Char(_)) => return CHAR_NAME.to_owned(),
        _ => {}
    }
    match declared_type(field) {
        Some(ColumnType::Uuid) => "uuid".to_owned(),
        Some(ColumnType::Json) if is_jsonb(field) => "jsonb".to_owned(),
        Some(ColumnType::Json) => "json".to_owned(),
        Some(ColumnType::Array(ElementType::Uuid)) => "uuid[]".to_owned(),
        _ if is_json_list(field) => "json[]".to_owned(),
        _ => name_of(field.data_type()),
    }
}

/// The name of the type that DataFusion has for values.
pub fn name_of(data_type: &DataType) -> String {
    use DataType as T;
    let name = match data_type {
        T::Null => "unknown",
        T::Boolean => "boolean",
        T::Int8 => "tinyint",
        T::Int16 => "smallint",
        T::Int32 => "integer",
        T::Int64 => "bigint",
        T::UInt8 => "tinyint unsigned",
        T::UInt16 => "smallint unsigned",
        T::UInt32 => "integer unsigned",
        T::UInt64 => "bigint unsigned",
        T::Float32 => "real",
        T::Float64 => "double precision",
        T::Decimal32(..) | T::Decimal64(..) | T::Decimal128(..) | T::Decimal256(..) => "numeric",
        T::Utf8 | T::LargeUtf8 | T::Utf8View => "text",
        T::Binary | T::LargeBinary | T::BinaryView | T::FixedSizeBinary(_) => "bytea",
        T::Date32 | T::Date64 => "date",
        T::Time32(_) | T::Time64(_) => "time without time zone",
        T::Timestamp(..) => "timestamp without time zone",
        T::Interval(_) | T::Duration(_) => "interval",
        T::Struct(_) => "record",
        T::Dictionary(_, values) => return name_of(values),
        T::List(item) | T::LargeList(item) | T::FixedSizeList(item, _) => {
            // PostgreSQL has one type for arrays of any number of dimensions.
            let name = name_of(item.data_type());
            return if name.ends_with("[]") { name } else { format!("{name}[]") };
        }
        other => return other.to_string().to_ascii_lowercase(),
    };
    name.to_owned()
}
