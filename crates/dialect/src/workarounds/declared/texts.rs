//! Columns of UUIDs, JSON and [`char(n)`](chars), which are texts for DataFusion. A text that is compared with a UUID
//! is read as one, as in PostgreSQL, and gets the form in which columns have UUIDs. JSON is not compared: equal values
//! may be different texts. `jsonb` is, for equality.
//!
//! DataFusion 55.2 has no types for UUIDs and JSON. Waits for [#7845](https://github.com/apache/datafusion/issues/7845)
//! (JSON) and [#4827](https://github.com/apache/datafusion/issues/4827) (UUIDs).

use super::chars;
use crate::functions::base::text_types::TextType;
use crate::functions::json::operators::equality_key;
use crate::functions::types::declared::text_type_of;
use crate::functions::types::uuids::uuid_of;
use crate::text::datafusion_errors::external;
use crate::text::errors::sql_error;
use crate::workarounds::shared::compared_rows::{columns_of_rows, is_row};
use crate::workarounds::shared::expressions::rewrite_expressions;
use atsdb_codec::declared_type;
use atsdb_core::{ColumnType, uuid_text};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, DataFusionError, ExprSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{Between, BinaryExpr, Case, InList};
use datafusion::logical_expr::{Expr, LogicalPlan, Operator, lit};
use datafusion::optimizer::AnalyzerRule;

/// Runs before types are made equal.
#[derive(Debug)]
pub(crate) struct DeclaredTexts;

impl AnalyzerRule for DeclaredTexts {
    fn name(&self) -> &str {
        "declared_texts"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_expressions(plan, rewrite)
    }
}

fn rewrite(mut expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    let changed = match &mut expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if compares(*op) => {
            settle(vec![left, right], schema, finds_equal(*op))?
        }
        Expr::Between(Between { expr, low, high, .. }) => settle(vec![expr, low, high], schema, false)?,
        Expr::InList(InList { expr, list, .. }) => {
            settle(std::iter::once(&mut **expr).chain(list).collect(), schema, true)?
        }
        Expr::Case(Case { expr: Some(expr), when_then_expr, .. }) => {
            let whens = when_then_expr.iter_mut().map(|(when, _)| &mut **when);
            settle(std::iter::once(&mut **expr).chain(whens).collect(), schema, true)?
        }
        // `element = ANY (ARRAY[...])`
        Expr::ScalarFunction(call) if call.func.name() == "array_has" => match call.args.as_mut_slice() {
            [Expr::ScalarFunction(array), element] if array.func.name() == "make_array" => {
                settle(std::iter::once(element).chain(&mut array.args).collect(), schema, true)?
            }
            _ => false,
        },
        Expr::ScalarFunction(call) if call.func.name() == "nullif" => {
            chars::settle(&mut call.args.iter_mut().collect::<Vec<_>>(), schema)
        }
        other => chars::pad_operands(other, schema),
    };
    Ok(if changed { Transformed::yes(expr) } else { Transformed::no(expr) })
}

/// Settles expressions that are compared with each other, for equality or order, or rows of them. Returns whether
/// something changed.
fn settle(mut exprs: Vec<&mut Expr>, schema: &DFSchema, finds_equal: bool) -> Result<bool> {
    if exprs.iter().all(|expr| is_row(expr)) {
        return columns_of_rows(exprs)
            .into_iter()
            .try_fold(false, |changed, column| Ok(settle(column, schema, finds_equal)? | changed));
    }
    if chars::settle(&mut exprs, schema) {
        return Ok(true);
    }
    if exprs.iter().any(|expr| text_type_of(expr, schema) == Some(TextType::Jsonb)) {
        return match finds_equal {
            true => {
                exprs.into_iter().for_each(|expr| *expr = equality_key().call(vec![std::mem::take(expr)]));
                Ok(true)
            }
            false => {
                let error = sql_error("jsonb values have no order");
                Err(external(error.with_hint("compare a value in it: doc ->> 'key' < 'x'")))
            }
        };
    }
    let declared = exprs.iter().filter_map(|expr| type_of(expr, schema));
    let declared = declared.filter(|declared| !matches!(declared, ColumnType::Array(_))).collect::<Vec<_>>();
    if declared.contains(&ColumnType::Json) {
        let error = sql_error("JSON values are not compared, because equal values may be written differently");
        let hint = "compare a value in it: doc ->> 'key' = 'x', or as jsonb: CAST(doc AS JSONB) = '{}', or the text: \
                    CAST(doc AS TEXT) = '{}'";
        return Err(external(error.with_hint(hint)));
    }
    if declared.is_empty() {
        return Ok(false);
    }
    as_uuids(exprs)
}

/// Reads the texts among expressions as UUIDs. Returns whether there were any.
pub(crate) fn as_uuids(exprs: Vec<&mut Expr>) -> Result<bool> {
    let mut changed = false;
    for expr in exprs {
        let text = match &*expr {
            Expr::Literal(ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text)), _) => Some(text.clone()),
            Expr::Placeholder(_) => None,
            _ => continue,
        };
        *expr = match text {
            Some(text) => lit(uuid_text::canonical(&text).ok_or_else(|| no_uuid(&text))?),
            // Its value is inserted later, into a plan that is kept.
            None => uuid_of().call(vec![std::mem::take(expr)]),
        };
        changed = true;
    }
    Ok(changed)
}

fn no_uuid(text: &str) -> DataFusionError {
    external(sql_error(format!("'{text:.60}' is not a UUID, but is compared with one")))
}

/// The declared type of a column that is a text.
pub(crate) fn type_of(expr: &Expr, schema: &DFSchema) -> Option<ColumnType> {
    match expr {
        Expr::Column(column) => declared_type(schema.field_from_column(column).ok()?),
        Expr::OuterReferenceColumn(field, _) => declared_type(field),
        _ => None,
    }
}

/// Returns whether an operator asks whether two values are equal.
fn finds_equal(operator: Operator) -> bool {
    use Operator as O;
    matches!(operator, O::Eq | O::NotEq | O::IsDistinctFrom | O::IsNotDistinctFrom)
}

/// Returns whether an operator compares two values.
pub(crate) fn compares(operator: Operator) -> bool {
    use Operator as O;
    matches!(operator, O::Eq | O::NotEq | O::Lt | O::LtEq | O::Gt | O::GtEq)
        || matches!(operator, O::IsDistinctFrom | O::IsNotDistinctFrom)
}
