//! NULLs in arrays equal nothing: `ARRAY[1, NULL] @> ARRAY[NULL]` is false, and so is `&&` of two arrays that only
//! have NULL in common. For DataFusion's `array_has_all` and `array_has_any` they are equal, and a NULL has all
//! elements of an empty array. A text beside an array is read as one: `tags @> '{a}'`.
//!
//! No upstream issue known.

use super::comparison::{Arrays, comparable};
use crate::functions::base::answers::are_constant;
use crate::functions::base::of_inner::of_inner;
use datafusion::arrow::array::{Array, ArrayRef, BooleanArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::row::{Row, RowConverter, SortField};
use datafusion::common::utils::take_function_args;
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::execution::context::SessionContext;
use datafusion::functions_nested::array_has::{array_has_all_udf, array_has_any_udf};
use datafusion::logical_expr::type_coercion::binary::comparison_coercion;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

/// Replaces DataFusion's functions.
pub(crate) fn register(context: &SessionContext) {
    for (name, needs_all) in [("array_has_all", true), ("array_has_any", false)] {
        if let Some(inner) = context.state().scalar_functions().get(name) {
            context.register_udf(ScalarUDF::new_from_impl(ArrayMembers::new(inner, needs_all)));
        }
    }
}

/// `array @> members`.
pub(crate) fn contains(array: Expr, members: Expr) -> Expr {
    ScalarUDF::new_from_impl(ArrayMembers::new(&array_has_all_udf(), true)).call(vec![array, members])
}

/// `array && members`.
pub(crate) fn overlaps(array: Expr, members: Expr) -> Expr {
    ScalarUDF::new_from_impl(ArrayMembers::new(&array_has_any_udf(), false)).call(vec![array, members])
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ArrayMembers {
    inner: Arc<ScalarUDF>,
    /// Whether all members must be found, not just one.
    needs_all: bool,
    signature: Signature,
}

impl ArrayMembers {
    fn new(inner: &Arc<ScalarUDF>, needs_all: bool) -> Self {
        Self { inner: Arc::clone(inner), needs_all, signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for ArrayMembers {
    of_inner!(name, aliases, return_type, documentation);

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let is_untyped = |data_type: &DataType| data_type.is_string() || data_type.is_null();
        let common = match types {
            [list @ DataType::List(_), other] | [other, list @ DataType::List(_)] if is_untyped(other) => {
                Some(list.clone())
            }
            [left, right] if left.is_nested() && right.is_nested() => comparison_coercion(left, right),
            _ => None,
        };
        match common {
            Some(DataType::List(element) | DataType::LargeList(element) | DataType::FixedSizeList(element, _)) => {
                Ok(vec![DataType::List(element); 2])
            }
            Some(other) => plan_err!("{} takes two arrays, not {other}", self.name()),
            None => plan_err!("{} takes two arrays", self.name()),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_scalar = are_constant(&args.args);
        let [arrays, members] = take_function_args(self.name(), &args.args)?;
        let row_count = if is_scalar { 1 } else { args.number_rows };
        let found: ArrayRef = Arc::new(self.found(&Arrays::of(arrays)?, &Arrays::of(members)?, row_count)?);
        Ok(match is_scalar {
            true => ColumnarValue::Scalar(ScalarValue::try_from_array(&found, 0)?),
            false => ColumnarValue::Array(found),
        })
    }
}

impl ArrayMembers {
    fn found(&self, arrays: &Arrays, members: &Arrays, row_count: usize) -> Result<BooleanArray> {
        // Whether two arrays overlap does not depend on which of them is the constant, which is looked up by hashes.
        let (arrays, members) = match !self.needs_all && members.is_constant() {
            true => (members, arrays),
            false => (arrays, members),
        };
        let converter = RowConverter::new(vec![SortField::new(arrays.elements().data_type().clone())])?;
        let elements = converter.convert_columns(&[comparable(arrays.elements())])?;
        let wanted = converter.convert_columns(&[comparable(members.elements())])?;
        let nulls = members.elements().logical_nulls();
        let constant: Option<HashSet<Row<'_>>> = match arrays.is_constant() {
            true => Some(arrays.range(0).into_iter().flatten().map(|at| elements.row(at)).collect()),
            false => None,
        };
        let is_element = |member: usize, array: &Range<usize>| {
            let wanted = wanted.row(member);
            nulls.as_ref().is_none_or(|nulls| nulls.is_valid(member))
                && match &constant {
                    Some(constant) => constant.contains(&wanted),
                    None => array.clone().any(|at| elements.row(at) == wanted),
                }
        };
        let found = |row: usize| {
            let (array, mut members) = arrays.range(row).zip(members.range(row))?;
            Some(match self.needs_all {
                true => members.all(|member| is_element(member, &array)),
                false => members.any(|member| is_element(member, &array)),
            })
        };
        Ok((0..row_count).map(found).collect())
    }
}
