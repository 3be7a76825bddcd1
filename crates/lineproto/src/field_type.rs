//! The values that a column accepts: a value is accepted if it is the same number in the column's type.

use crate::value::Value;
use arrow::datatypes::DataType;
use atsdb_core::ColumnType;
use atsdb_core::value::nearest_real;

/// The values that a field's column holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum FieldType {
    Float,
    /// Floating point numbers of 32 bits.
    Single,
    Int {
        min: i64,
        max: i64,
    },
    UInt {
        max: u64,
    },
    Bool,
    Text,
}

/// The first float beyond the integers of 64 bits.
const INT_END: f64 = 9_223_372_036_854_775_808.0;

impl FieldType {
    /// The type of an existing column; `None` if no field can be stored in it.
    pub(crate) fn of_column(column_type: ColumnType) -> Option<Self> {
        let int = |min, max| Some(Self::Int { min, max });
        match column_type {
            ColumnType::Float64 => Some(Self::Float),
            ColumnType::Float32 => Some(Self::Single),
            ColumnType::Int8 => int(i8::MIN.into(), i8::MAX.into()),
            ColumnType::Int16 => int(i16::MIN.into(), i16::MAX.into()),
            ColumnType::Int32 => int(i32::MIN.into(), i32::MAX.into()),
            ColumnType::Int64 => int(i64::MIN, i64::MAX),
            ColumnType::UInt8 => Some(Self::UInt { max: u8::MAX.into() }),
            ColumnType::UInt16 => Some(Self::UInt { max: u16::MAX.into() }),
            ColumnType::UInt32 => Some(Self::UInt { max: u32::MAX.into() }),
            ColumnType::UInt64 => Some(Self::UInt { max: u64::MAX }),
            ColumnType::Bool => Some(Self::Bool),
            ColumnType::Text => Some(Self::Text),
            _ => None,
        }
    }

    /// The type of the arrays of its values.
    pub(crate) fn arrow_type(self) -> DataType {
        match self {
            Self::Float | Self::Single => DataType::Float64,
            Self::Int { .. } => DataType::Int64,
            Self::UInt { .. } => DataType::UInt64,
            Self::Bool => DataType::Boolean,
            Self::Text => DataType::Utf8,
        }
    }

    /// The type that a new column gets by its first value.
    pub(crate) fn of_value(value: &Value<'_>) -> Self {
        match value {
            Value::Float(_) => Self::Float,
            Value::Int(_) => Self::Int { min: i64::MIN, max: i64::MAX },
            Value::UInt(_) => Self::UInt { max: u64::MAX },
            Value::Bool(_) => Self::Bool,
            Value::Text(..) => Self::Text,
        }
    }

    /// The name of the type in InfluxDB's messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Float | Self::Single => "float",
            Self::Int { .. } => "integer",
            Self::UInt { .. } => "unsigned",
            Self::Bool => "boolean",
            Self::Text => "string",
        }
    }

    /// Returns whether the value is one of this type as it is written, without a conversion.
    pub(crate) fn holds(self, value: &Value<'_>) -> bool {
        match (self, value) {
            (Self::Float, Value::Float(_)) | (Self::Bool, Value::Bool(_)) | (Self::Text, Value::Text(..)) => true,
            (Self::Int { min, max }, Value::Int(int)) => (min..=max).contains(int),
            (Self::UInt { max }, Value::UInt(uint)) => *uint <= max,
            _ => false,
        }
    }

    /// The value in this type; `None` if it would change.
    pub(crate) fn admit<'a>(self, value: Value<'a>) -> Option<Value<'a>> {
        match (self, value) {
            _ if self.holds(&value) => Some(value),
            (Self::Float, value) => exact_float(value).map(Value::Float),
            (Self::Single, value) => {
                let float = exact_float(value)?;
                (f64::from(nearest_real(float)).to_bits() == float.to_bits()).then_some(Value::Float(float))
            }
            (Self::Int { min, max }, value) => {
                let int = match value {
                    Value::Int(int) => int,
                    Value::UInt(uint) => i64::try_from(uint).ok()?,
                    Value::Float(float) if float.fract() == 0.0 && (-INT_END..INT_END).contains(&float) => float as i64,
                    _ => return None,
                };
                (min..=max).contains(&int).then_some(Value::Int(int))
            }
            (Self::UInt { max }, value) => {
                let uint = match value {
                    Value::UInt(uint) => uint,
                    Value::Int(int) => u64::try_from(int).ok()?,
                    Value::Float(float) if float.fract() == 0.0 && (0.0..2.0 * INT_END).contains(&float) => {
                        float as u64
                    }
                    _ => return None,
                };
                (uint <= max).then_some(Value::UInt(uint))
            }
            _ => None,
        }
    }
}

/// A number as a float, if it is the same number then.
fn exact_float(value: Value<'_>) -> Option<f64> {
    match value {
        Value::Float(float) => Some(float),
        Value::Int(int) => (int as f64 as i128 == i128::from(int)).then_some(int as f64),
        Value::UInt(uint) => (uint as f64 as i128 == i128::from(uint)).then_some(uint as f64),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_taken_where_it_stays_the_same() {
        let int = FieldType::of_column(ColumnType::Int64).unwrap();
        assert_eq!(FieldType::Float.admit(Value::Int(7)), Some(Value::Float(7.0)));
        assert_eq!(FieldType::Float.admit(Value::Int((1 << 53) + 1)), None);
        assert_eq!(FieldType::Float.admit(Value::Int(i64::MAX)), None);
        assert_eq!(FieldType::Float.admit(Value::UInt(u64::MAX)), None);
        assert_eq!(int.admit(Value::Float(-7.0)), Some(Value::Int(-7)));
        assert_eq!(int.admit(Value::Float(7.5)), None);
        assert_eq!(int.admit(Value::Float(9.3e18)), None);
        assert_eq!(int.admit(Value::Float(-9_223_372_036_854_775_808.0)), Some(Value::Int(i64::MIN)));
        assert_eq!(int.admit(Value::UInt(1 << 63)), None);
        let uint = FieldType::of_column(ColumnType::UInt64).unwrap();
        assert_eq!(uint.admit(Value::Float(-1.0)), None);
        assert_eq!(uint.admit(Value::Int(7)), Some(Value::UInt(7)));
        assert_eq!(FieldType::of_column(ColumnType::Int8).unwrap().admit(Value::Int(128)), None);
        assert_eq!(FieldType::Single.admit(Value::Float(0.1)), None);
        assert_eq!(FieldType::Single.admit(Value::Float(0.5)), Some(Value::Float(0.5)));
        assert_eq!(FieldType::Text.admit(Value::Int(7)), None);
        assert_eq!(FieldType::Bool.admit(Value::Int(1)), None);
    }
}
