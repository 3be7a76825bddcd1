//! `coalesce`, `nvl` and `ifnull`, which do not repeat large arguments.
//!
//! DataFusion writes `coalesce(a, b)` as `CASE WHEN a IS NOT NULL THEN a ELSE b END`, so that `b` is evaluated only for
//! rows where `a` is NULL. With `a` twice in it, an expression of 30 such calls in each other has a billion parts. Here
//! an argument that is more than a column or constant stays in the call if all later ones are columns and constants,
//! which may as well be evaluated for all rows. And calls within each other become one `CASE` of all their arguments. A
//! statement that still repeats a large argument is refused.
//!
//! No upstream issue known: DataFusion does so since [#17357](https://github.com/apache/datafusion/pull/17357).

use crate::functions::base::of_inner::of_inner;
use crate::text::datafusion_errors::external;
use crate::text::errors::too_complex;
use crate::text::plan_walk::DynWalk;
use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::compute::is_not_null;
use datafusion::arrow::compute::kernels::zip::zip;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, plan_err};
use datafusion::execution::context::SessionContext;
use datafusion::logical_expr::expr::{Case, ScalarFunction};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl};
use std::collections::VecDeque;
use std::sync::Arc;

/// The maximum number of parts of an argument that is repeated.
const PARTS_MAX: usize = 1 << 16;

/// Replaces DataFusion's functions.
pub(crate) fn register(context: &SessionContext) {
    for name in ["coalesce", "nvl"] {
        if let Some(inner) = context.state().scalar_functions().get(name) {
            context.register_udf(ScalarUDF::new_from_impl(FirstValue { inner: Arc::clone(inner) }));
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct FirstValue {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for FirstValue {
    of_inner!(name, aliases, signature, coerce_types, return_type, return_field_from_args, documentation);

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        if args.len() < 2 {
            return self.inner.simplify(args, info);
        }
        if stays(&args, info) && !args.iter().any(is_of_values) {
            return Ok(ExprSimplifyResult::Original(args));
        }
        let mut values = Vec::with_capacity(args.len());
        for arg in args {
            open(arg, &mut values);
            // Nothing comes after a constant.
            if values.last().and_then(Expr::as_literal).is_some_and(|constant| !constant.is_null()) {
                break;
            }
        }
        self.in_order(values, info).map(ExprSimplifyResult::Simplified)
    }

    fn short_circuits(&self) -> bool {
        true
    }

    fn conditional_arguments<'a>(&self, args: &'a [Expr]) -> Option<(Vec<&'a Expr>, Vec<&'a Expr>)> {
        self.inner.conditional_arguments(args)
    }

    /// The value of a call that stayed, or whose arguments are all constants.
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let mut values = args.args.into_iter();
        let Some(mut found) = values.next() else { return plan_err!("{} without arguments", self.name()) };
        for next in values {
            found = match found {
                ColumnarValue::Scalar(value) if value.is_null() => next,
                ColumnarValue::Array(array) if array.logical_null_count() > 0 => {
                    ColumnarValue::Array(filled(&array, &next)?)
                }
                found => return Ok(found),
            };
        }
        Ok(found)
    }
}

impl FirstValue {
    /// The first of some values that is not NULL. No value is evaluated before those in front of it, except columns and
    /// constants.
    fn in_order(&self, values: Vec<Expr>, info: &SimplifyContext) -> Result<Expr> {
        let (mut whens, mut left) = (Vec::new(), VecDeque::from(values));
        while left.len() > 1 && !stays(left.make_contiguous(), info) {
            let Some(value) = left.pop_front() else { break };
            if is_large(&value)? {
                return Err(external(too_complex()));
            }
            whens.push((Box::new(value.clone().is_not_null()), Box::new(value)));
        }
        let last = match left.len() {
            0 | 1 => left.pop_front(),
            _ => Some(self.call(left.into())),
        };
        Ok(match last {
            Some(last) if whens.is_empty() => last,
            last => Expr::Case(Case::new(None, whens, last.map(Box::new))),
        })
    }

    fn call(&self, args: Vec<Expr>) -> Expr {
        let function = Arc::new(ScalarUDF::new_from_impl(self.clone()));
        Expr::ScalarFunction(ScalarFunction::new_udf(function, args))
    }
}

/// Returns whether a call stays: its first argument should not be repeated, and the others may be evaluated for all
/// rows.
fn stays(args: &[Expr], info: &SimplifyContext) -> bool {
    match args {
        [first, others @ ..] => !is_small(first) && others.iter().all(|other| is_harmless(other, info)),
        [] => false,
    }
}

/// Returns whether an expression costs nothing, and never fails: a column or constant, or one that was cast to the type
/// of the other arguments.
fn is_harmless(expr: &Expr, info: &SimplifyContext) -> bool {
    match expr {
        Expr::Cast(cast) if let Expr::Literal(value, _) = cast.expr.as_ref() => {
            value.cast_to(cast.field.data_type()).is_ok()
        }
        Expr::Cast(cast) if is_leaf(&cast.expr) => {
            let from = info.get_data_type(&cast.expr);
            from.is_ok_and(|from| always_fits(&from, cast.field.data_type()))
        }
        other => is_leaf(other),
    }
}

/// Returns whether an expression may be repeated: a column or constant, or a cast of one.
fn is_small(expr: &Expr) -> bool {
    match expr {
        Expr::Cast(cast) => is_leaf(&cast.expr),
        Expr::TryCast(cast) => is_leaf(&cast.expr),
        other => is_leaf(other),
    }
}

pub(crate) fn is_leaf(expr: &Expr) -> bool {
    matches!(expr, Expr::Column(_) | Expr::OuterReferenceColumn(..) | Expr::Literal(..) | Expr::Placeholder(_))
}

/// Returns whether every value of a type has a value of another type.
fn always_fits(from: &DataType, to: &DataType) -> bool {
    match (from, to) {
        (DataType::Null, _) => true,
        (from, to) if from.is_signed_integer() && to.is_signed_integer() => {
            from.primitive_width() <= to.primitive_width()
        }
        (from, DataType::Float32 | DataType::Float64) if from.is_integer() => true,
        (DataType::Float32, DataType::Float64) => true,
        (from, to) if from.is_integer() || from.is_string() || *from == DataType::Boolean => to.is_string(),
        (from, to) => from == to,
    }
}

/// Returns whether an expression is too large to be repeated.
fn is_large(expr: &Expr) -> Result<bool> {
    let mut part_count = 0;
    expr.dyn_apply(|_| {
        part_count += 1;
        Ok(if part_count > PARTS_MAX { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(part_count > PARTS_MAX)
}

/// Adds an argument to the values. One that is the result of this rule is replaced by its own values.
fn open(arg: Expr, values: &mut Vec<Expr>) {
    match arg {
        Expr::Case(case) if is_case_of_values(&case) => {
            values.extend(case.when_then_expr.into_iter().map(|(_, value)| *value));
            if let Some(last) = case.else_expr {
                open(*last, values);
            }
        }
        other => values.push(other),
    }
}

fn is_of_values(expr: &Expr) -> bool {
    matches!(expr, Expr::Case(case) if is_case_of_values(case))
}

/// Returns whether it is `CASE WHEN a IS NOT NULL THEN a WHEN b IS NOT NULL THEN b ... END`.
fn is_case_of_values(case: &Case) -> bool {
    let is_value = |(when, value): &(Box<Expr>, Box<Expr>)| {
        matches!(when.as_ref(), Expr::IsNotNull(tested) if tested == value) && !value.is_volatile()
    };
    case.expr.is_none() && case.when_then_expr.iter().all(is_value)
}

/// An array with other values in the place of its NULLs.
fn filled(array: &ArrayRef, other: &ColumnarValue) -> Result<ArrayRef> {
    let is_valid = is_not_null(array)?;
    Ok(match other {
        ColumnarValue::Array(other) => zip(&is_valid, array, other)?,
        ColumnarValue::Scalar(other) => zip(&is_valid, array, &other.to_scalar()?)?,
    })
}
