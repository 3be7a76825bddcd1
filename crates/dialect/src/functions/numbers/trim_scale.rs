//! `trim_scale(x)`: a decimal without the zeros at its end. A column has one number of digits after the point, and
//! keeps it.

use super::arithmetic::least_scale;
use crate::functions::base::answers::{answer, are_constant};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue, internal_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use std::sync::Arc;

/// The digits of the greatest integer.
const INTEGER_DIGITS: u8 = 20;

pub(super) fn function() -> ScalarUDF {
    ScalarUDF::new_from_impl(TrimScale { signature: Signature::user_defined(Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct TrimScale {
    signature: Signature,
}

impl ScalarUDFImpl for TrimScale {
    fn name(&self) -> &'static str {
        "trim_scale"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [decimal @ DataType::Decimal128(..)] => Ok(vec![decimal.clone()]),
            [other] if other.is_integer() || other.is_null() => Ok(vec![DataType::Decimal128(INTEGER_DIGITS, 0)]),
            [_] => plan_err!("trim_scale takes a NUMERIC: convert it, trim_scale(CAST(x AS NUMERIC))"),
            _ => plan_err!("trim_scale takes 1 argument, not {}", types.len()),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("the type of {} depends on its argument", self.name())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let Some(number) = args.arg_fields.first() else { return internal_err!("{} of nothing", self.name()) };
        let data_type = match args.scalar_arguments.first() {
            Some(Some(ScalarValue::Decimal128(Some(value), precision, scale))) => trimmed(*value, *precision, *scale),
            _ => number.data_type().clone(),
        };
        Ok(Arc::new(Field::new(self.name(), data_type, true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let [numbers] = arrays.as_slice() else { return internal_err!("{} takes 1 argument", self.name()) };
        answer(are_constant(&args.args), cast(numbers, args.return_type())?)
    }
}

/// The type of a decimal without the zeros at its end.
fn trimmed(value: i128, precision: u8, scale: i8) -> DataType {
    let kept = i8::try_from(least_scale(value, scale.into())).unwrap_or(scale);
    let precision = precision.saturating_sub(scale.abs_diff(kept));
    DataType::Decimal128(precision.max(kept.unsigned_abs()).max(1), kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_at_the_end_are_no_part_of_the_type() {
        for (value, precision, scale, expected) in [
            (84_100, 5, 4, (3, 2)),
            (84_100, 5, 0, (5, 0)),
            (0, 2, 2, (1, 0)),
            (10, 2, 2, (1, 1)),
            (-1_000, 38, 3, (35, 0)),
        ] {
            assert_eq!(trimmed(value, precision, scale), DataType::Decimal128(expected.0, expected.1), "{value}");
        }
    }
}
