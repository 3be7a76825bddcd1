//! The functions of ranges. Ranges are texts; a call knows the type of its ranges from its arguments, until a rule of
//! the analyzer makes the type part of the function, because DataFusion may forget it.

use super::calls::{RangeCall, ResultOfRanges};
use super::computed::computed;
use super::conditions::as_comparisons;
use super::element::{element_type, is_bound_type};
use super::range_text::{places_of, read};
use crate::functions::base::answers::{answer, are_constant};
use crate::functions::base::arguments::{is_text, type_name};
use crate::functions::base::text_types::{RangeType, TextType};
use crate::text::datafusion_errors::external;
use crate::text::decimals;
use crate::text::errors::sql_error;
use datafusion::arrow::array::ArrayRef;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{DFSchema, DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};
use std::sync::Arc;

/// The function that declares the type of ranges and returns them.
pub(crate) const DECLARED: &str = "declared_range";

/// The digits after the point of decimals that nothing says it of, as those of `NUMERIC`.
const PLACES: i8 = 10;

/// A function of ranges; `of` is their type, if it is known.
pub(crate) fn range_function(call: RangeCall, of: Option<RangeType>) -> ScalarUDF {
    ScalarUDF::new_from_impl(RangeFunction { call, of, places: PLACES, signature: call.signature() })
}

/// `lower` or `upper` of a value of a field, if it is a range. `places` is the number of digits after the point of
/// decimals, if it is known.
pub(crate) fn bound_function(name: &str, fields: &[FieldRef], places: Option<i8>) -> Option<ScalarUDF> {
    let call = match name {
        "lower" => RangeCall::Lower,
        "upper" => RangeCall::Upper,
        _ => return None,
    };
    let [field] = fields else { return None };
    let of = Some(RangeType::of(field)?);
    let (places, signature) = (places.unwrap_or(PLACES), call.signature());
    Some(ScalarUDF::new_from_impl(RangeFunction { call, of, places, signature }))
}

/// The number of digits after the point that the decimals of ranges have at most, if the expression says so.
pub(crate) fn places_of_ranges(expr: &Expr, schema: &DFSchema) -> Option<i8> {
    match expr {
        Expr::Literal(ScalarValue::Utf8(Some(text)), _) => Some(places_of(text)),
        Expr::ScalarFunction(function) => {
            let call = function.func.inner().downcast_ref::<RangeFunction>()?.call;
            let are_bounds = call == RangeCall::Construct && function.args.len() > 1;
            let places = function.args.iter().take(2).map(|arg| match arg {
                Expr::Literal(value, _) if value.is_null() => Some(0),
                Expr::Literal(ScalarValue::Utf8(Some(text)), _) if are_bounds => Some(decimals::read(text.trim())?.1),
                bound if are_bounds => match bound.get_type(schema).ok()? {
                    DataType::Decimal128(_, places) => Some(places),
                    data_type => data_type.is_integer().then_some(0),
                },
                range => places_of_ranges(range, schema),
            });
            places.collect::<Option<Vec<i8>>>()?.into_iter().max()
        }
        _ => None,
    }
}

/// The function for ranges of this type; `None` if it is no function of ranges.
pub(crate) fn function_of_ranges(function: &ScalarUDF, of: RangeType) -> Option<ScalarUDF> {
    let known = function.inner().downcast_ref::<RangeFunction>()?;
    let signature = known.signature.clone();
    let of = Some(known.of.unwrap_or(of));
    Some(ScalarUDF::new_from_impl(RangeFunction { call: known.call, of, places: known.places, signature }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct RangeFunction {
    call: RangeCall,
    of: Option<RangeType>,
    /// The digits after the point of decimals that are returned.
    places: i8,
    signature: Signature,
}

impl RangeFunction {
    fn type_of(&self, fields: &[FieldRef]) -> Option<RangeType> {
        self.of.or_else(|| fields.iter().find_map(|field| RangeType::of(field)))
    }

    /// Refuses arguments of other types. A field that says no type may be a range that DataFusion has forgotten.
    fn check_types(&self, of: RangeType, fields: &[FieldRef]) -> Result<()> {
        let is_wrong = |at: usize, field: &FieldRef| match TextType::of(field).filter(|of| !of.is_char()) {
            _ if self.call == RangeCall::ContainsElement && at == 1 => false,
            Some(own) => own != TextType::Range(of),
            None if is_text(field.data_type()) || field.data_type().is_null() => false,
            None if self.call == RangeCall::Construct && fields.len() > 1 && at < 2 => {
                !is_bound_type(of, field.data_type())
            }
            None => true,
        };
        if !fields.iter().enumerate().any(|(at, field)| is_wrong(at, field)) {
            return Ok(());
        }
        let names: Vec<String> = fields.iter().map(|field| name_of_type(field)).collect();
        Err(match (self.call, names.as_slice()) {
            (RangeCall::Construct, [name]) => {
                let error = sql_error(format!("cannot cast type {name} to {}", of.name()));
                external(error.with_hint("cast it to TEXT first, or make a range of its bounds"))
            }
            _ => self.no_function(&names),
        })
    }

    fn no_function(&self, types: &[String]) -> DataFusionError {
        let error = sql_error(format!("function {}({}) does not exist", self.name(), types.join(", ")));
        external(error.with_hint("cast the arguments to ranges of one type, or to the type of the bounds"))
    }
}

fn name_of_type(field: &Field) -> String {
    match RangeType::of(field) {
        Some(of) => of.name().to_owned(),
        None => type_name(field.data_type()).to_lowercase(),
    }
}

impl ScalarUDFImpl for RangeFunction {
    fn name(&self) -> &'static str {
        use RangeCall as C;
        match self.call {
            C::Construct => self.of.map_or("range", RangeType::name),
            C::Declare => DECLARED,
            C::Key => "range_key",
            C::Lower => "range_lower",
            C::Upper => "range_upper",
            C::IsEmpty => "isempty",
            C::LowerInclusive => "lower_inc",
            C::UpperInclusive => "upper_inc",
            C::LowerInfinite => "lower_inf",
            C::UpperInfinite => "upper_inf",
            C::Merge => "range_merge",
            C::Union => "range_union",
            C::Intersection => "range_intersect",
            C::Difference => "range_minus",
            C::Contains => "range_contains",
            C::ContainsElement => "range_contains_elem",
            C::Overlaps => "range_overlaps",
            C::IsBefore => "range_before",
            C::EndsWithin => "range_overleft",
            C::StartsWithin => "range_overright",
            C::IsAdjacent => "range_adjacent",
            C::Greatest => "range_greatest",
            C::Least => "range_least",
            C::NullIf => "range_nullif",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match self.call.result() {
            ResultOfRanges::Range => DataType::Utf8,
            ResultOfRanges::Element => self.of.map_or(DataType::Utf8, |of| element_type(of, self.places)),
            ResultOfRanges::Condition => DataType::Boolean,
            ResultOfRanges::Key => DataType::Binary,
        })
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let of = self.type_of(args.arg_fields);
        if let Some(of) = of {
            self.check_types(of, args.arg_fields)?;
        }
        Ok(Arc::new(match (self.call.result(), of) {
            (ResultOfRanges::Range, Some(of)) => TextType::Range(of).field(self.name()),
            _ => Field::new(self.name(), self.return_type(&[])?, true),
        }))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some(of) = self.type_of(&args.arg_fields) else {
            let names: Vec<String> = args.arg_fields.iter().map(|field| name_of_type(field)).collect();
            return Err(self.no_function(&names));
        };
        if let (RangeCall::Declare, [value]) = (self.call, args.args.as_slice()) {
            return value.cast_to(&DataType::Utf8, None);
        }
        let is_constant = are_constant(&args.args);
        let count = if is_constant { 1 } else { args.number_rows };
        // A constant is an array of one row here.
        let arrays = args.args.iter().map(|arg| match arg {
            ColumnarValue::Array(array) => Ok(Arc::clone(array)),
            ColumnarValue::Scalar(value) => value.to_array(),
        });
        let arrays = arrays.collect::<Result<Vec<ArrayRef>>>()?;
        answer(is_constant, computed(self.call, of, self.places, &arrays, count)?)
    }

    /// Makes comparisons of `range @> column` with a constant range.
    fn simplify(&self, args: Vec<Expr>, context: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let comparisons = match (self.call, self.of, args.as_slice()) {
            (
                RangeCall::ContainsElement,
                Some(of),
                [Expr::Literal(ScalarValue::Utf8(Some(text)), _), column @ Expr::Column(_)],
            ) => {
                let range = read(text, of).map_err(external)?;
                as_comparisons(range, column, &context.get_data_type(column)?)
            }
            _ => None,
        };
        Ok(comparisons.map_or_else(|| ExprSimplifyResult::Original(args), ExprSimplifyResult::Simplified))
    }
}
