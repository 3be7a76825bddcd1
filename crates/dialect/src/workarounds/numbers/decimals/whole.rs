//! `ceil`, `floor`, `trunc` and `round` of a decimal: the result has as many digits after the point as its name or its
//! second argument says. DataFusion keeps those of the decimal.

use super::arithmetic::constant;
use crate::functions::base::answers::answer;
use crate::text::decimals::{digits_before, precision_of};
use atsdb_core::column_type::DECIMAL_DIGITS_MAX;
use datafusion::arrow::array::{ArrayRef, AsArray};
use datafusion::arrow::datatypes::{DataType, Decimal128Type};
use datafusion::common::{DFSchema, Result, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility, cast,
};
use std::sync::Arc;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Direction {
    Up,
    Down,
    TowardZero,
}

/// The function of a decimal for a call of DataFusion's; `None` if that is right.
pub(super) fn whole(call: &ScalarFunction, schema: &DFSchema) -> Option<Expr> {
    let (argument, places) = match call.args.as_slice() {
        [argument] => (argument, 0),
        [argument, places] => (argument, i8::try_from(constant(places).filter(|(_, scale)| *scale == 0)?.0).ok()?),
        _ => return None,
    };
    let Ok(DataType::Decimal128(precision, scale)) = argument.get_type(schema) else { return None };
    let direction = match call.func.name() {
        "round" if places > scale => {
            let precision = precision.checked_add((places - scale).unsigned_abs())?;
            let padded = DataType::Decimal128(precision, places);
            return (precision <= DECIMAL_DIGITS_MAX).then(|| cast(argument.clone(), padded));
        }
        "ceil" => Direction::Up,
        "floor" => Direction::Down,
        "trunc" => Direction::TowardZero,
        _ => return None,
    };
    if !(0..scale).contains(&places) {
        return None;
    }
    let whole = RoundedDecimal { direction, places, signature: Signature::any(1, Volatility::Immutable) };
    Some(ScalarUDF::new_from_impl(whole).call(vec![argument.clone()]))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct RoundedDecimal {
    direction: Direction,
    /// The digits after the point that are kept.
    places: i8,
    signature: Signature,
}

impl RoundedDecimal {
    fn of(&self, value: i128, one: i128) -> i128 {
        match self.direction {
            Direction::Up => -(-value).div_euclid(one),
            Direction::Down => value.div_euclid(one),
            Direction::TowardZero => value / one,
        }
    }
}

impl ScalarUDFImpl for RoundedDecimal {
    fn name(&self) -> &str {
        match self.direction {
            Direction::Up => "ceil",
            Direction::Down => "floor",
            Direction::TowardZero => "trunc",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// One digit more before the point, which the next number may have.
    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [DataType::Decimal128(precision, scale)] => {
                let before_point = digits_before(*precision, *scale).max(0) + 1;
                Ok(DataType::Decimal128(precision_of(before_point, self.places), self.places))
            }
            other => internal_err!("{} of {other:?}", self.name()),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let array = args.args[0].to_array(args.number_rows)?;
        let DataType::Decimal128(_, scale) = *array.data_type() else {
            return internal_err!("{} of {}", self.name(), array.data_type());
        };
        let one = 10_i128.pow((scale - self.places).unsigned_abs().into());
        let whole = array.as_primitive::<Decimal128Type>().unary::<_, Decimal128Type>(|value| self.of(value, one));
        let whole: ArrayRef = Arc::new(whole.with_data_type(args.return_type().clone()));
        answer(matches!(args.args[0], ColumnarValue::Scalar(_)), whole)
    }
}
