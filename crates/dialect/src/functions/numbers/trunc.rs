//! `trunc(x, places)` of a decimal at a place before the point, which leaves no digits behind it, and of an integer,
//! which is computed as a decimal. DataFusion keeps the digits after the point, and computes integers as floats.

use crate::functions::base::answers::{answer, are_constant};
use crate::functions::base::of_inner::of_inner;
use atsdb_core::column_type::DECIMAL_DIGITS_MAX;
use datafusion::arrow::array::{ArrayRef, AsArray, Decimal128Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Decimal128Type, Field, FieldRef, Int64Type};
use datafusion::common::{Result, ScalarValue, exec_err, internal_err, plan_err};
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use std::sync::Arc;

/// The digits of the greatest integer.
const INTEGER_DIGITS: u8 = 20;

/// Replaces DataFusion's function.
pub(super) fn register(context: &SessionContext) {
    if let Some(inner) = context.state().scalar_functions().get("trunc") {
        let signature = Signature::user_defined(Volatility::Immutable);
        context.register_udf(ScalarUDF::new_from_impl(Trunc { inner: Arc::clone(inner), signature }));
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Trunc {
    inner: Arc<ScalarUDF>,
    signature: Signature,
}

impl ScalarUDFImpl for Trunc {
    of_inner!(name, aliases, documentation);

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let number = match (types, types.first()) {
            ([_] | [_, _], Some(decimal @ DataType::Decimal128(..))) => decimal.clone(),
            ([_] | [_, _], Some(DataType::Float32)) => DataType::Float32,
            ([_, _], Some(integer)) if integer.is_integer() => DataType::Decimal128(INTEGER_DIGITS, 0),
            ([_] | [_, _], Some(number)) if number.is_numeric() || number.is_null() => DataType::Float64,
            ([_, _, _, ..], _) | (_, None) => return plan_err!("trunc takes 1 or 2 arguments, not {}", types.len()),
            (_, Some(other)) => return plan_err!("trunc takes numbers, not {other}"),
        };
        match types.get(1) {
            None => Ok(vec![number]),
            Some(places) if places.is_integer() || places.is_null() => Ok(vec![number, DataType::Int64]),
            Some(other) => plan_err!("trunc takes an integer as its second argument, not {other}"),
        }
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("the type of {} depends on its arguments", self.name())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let Some(number) = args.arg_fields.first() else { return internal_err!("{} of nothing", self.name()) };
        let data_type = match (number.data_type(), args.scalar_arguments.get(1)) {
            (DataType::Decimal128(precision, scale), Some(Some(places))) if *scale > 0 && is_negative(places) => {
                let whole = precision.saturating_sub(scale.unsigned_abs()).max(1);
                DataType::Decimal128(whole, 0)
            }
            (DataType::Null, _) => DataType::Float64,
            (other, _) => other.clone(),
        };
        Ok(Arc::new(Field::new(self.name(), data_type, true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let (Some(DataType::Decimal128(_, scale)), DataType::Decimal128(precision, to_scale)) =
            (args.args.first().map(ColumnarValue::data_type), args.return_type().clone())
        else {
            return self.inner.invoke_with_args(args);
        };
        let is_scalar = are_constant(&args.args);
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let numbers = arrays[0].as_primitive::<Decimal128Type>();
        let places = match arrays.get(1) {
            Some(places) => cast(places, &DataType::Int64)?.as_primitive::<Int64Type>().clone(),
            None => std::iter::repeat_n(Some(0_i64), numbers.len()).collect(),
        };
        let rows = numbers.iter().zip(&places).map(|(number, places)| match number.zip(places) {
            Some((number, places)) => match truncated(number, places, scale, to_scale) {
                Some(number) => Ok(Some(number)),
                None => exec_err!("trunc: the result is out of range"),
            },
            None => Ok(None),
        });
        let rows = rows.collect::<Result<Decimal128Array>>()?.with_precision_and_scale(precision, to_scale)?;
        let rows: ArrayRef = Arc::new(rows);
        answer(is_scalar, rows)
    }
}

fn is_negative(places: &ScalarValue) -> bool {
    matches!(places.cast_to(&DataType::Int64), Ok(ScalarValue::Int64(Some(..=-1))))
}

/// A number that counts the last of `scale` digits after the point, cut at a place, with other digits after the point.
fn truncated(number: i128, places: i64, scale: i8, to_scale: i8) -> Option<i128> {
    let power = |exponent: i64| u32::try_from(exponent).ok().and_then(|exponent| 10_i128.checked_pow(exponent));
    // Beyond the digits that a number can have, nothing changes any more.
    let most = i64::from(DECIMAL_DIGITS_MAX);
    let places = places.clamp(-most, most);
    let cut = match i64::from(scale) - places {
        ..=0 => number,
        dropped => power(dropped).map_or(Some(0), |one| Some(number / one * one))?,
    };
    match i64::from(scale) - i64::from(to_scale) {
        dropped @ 0.. => power(dropped).map_or(Some(0), |one| Some(cut / one)),
        added => cut.checked_mul(power(-added)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_cut_on_both_sides_of_the_point() {
        for (number, places, scale, to_scale, wanted) in [
            (12_345, -2, 1, 0, 1_200),
            (-12_999, -2, 1, 0, -1_200),
            (12_345, 1, 3, 3, 12_300),
            (12_345, 9, 3, 3, 12_345),
            (12_345, i64::MIN, 3, 0, 0),
            (12_345, i64::MAX, 0, 0, 12_345),
            (1_299, -2, 0, 0, 1_200),
        ] {
            assert_eq!(truncated(number, places, scale, to_scale), Some(wanted), "{number} {places}");
        }
    }
}
