//! `||`, `-`, `@>` and `<@` with JSON, as PostgreSQL has them for `jsonb`: objects are merged, keys removed, and parts
//! looked for. A constant of text beside JSON is read as JSON. DataFusion joins texts, and knows no arithmetic of them.
//! Otherwise `@>` and `<@` compare arrays.
//!
//! DataFusion 55.2 has no type for JSON. Waits for [#7845](https://github.com/apache/datafusion/issues/7845).

use crate::functions::base::arguments::is_text;
use crate::functions::base::text_types::TextType;
use crate::functions::json::operators::{concatenation, containment, deletion};
use crate::functions::types::declared::{is_untyped, reading, text_type_of};
use crate::text::datafusion_errors::external;
use crate::text::errors::sql_error;
use crate::workarounds::arrays::members;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Expr, ExprSchemable};
use datafusion::sql::sqlparser::ast::BinaryOperator;

/// Runs while a statement is planned, before the planners that look at texts.
#[derive(Debug)]
pub(crate) struct JsonOperands;

impl ExprPlanner for JsonOperands {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        use BinaryOperator as B;
        if !matches!(expr.op, B::StringConcat | B::Minus | B::AtArrow | B::ArrowAt) {
            return Ok(PlannerResult::Original(expr));
        }
        let of = |operand: &Expr| text_type_of(operand, schema).filter(|of| of.is_json());
        let (of_left, of_right) = (of(&expr.left), of(&expr.right));
        let is_json = |of: &Option<TextType>, operand: &Expr| of.is_some() || is_untyped(operand);
        let is_of_json = match expr.op {
            B::Minus => of_left.is_some(),
            _ if of_left.is_none() && of_right.is_none() => false,
            _ => is_json(&of_left, &expr.left) && is_json(&of_right, &expr.right),
        };
        if !is_of_json {
            if matches!(expr.op, B::StringConcat) {
                let others = [(&of_left, &expr.right), (&of_right, &expr.left)];
                others.into_iter().try_for_each(|(of, other)| refuse_other_types(of, other, schema))?;
            }
            return Ok(match expr.op {
                B::AtArrow => PlannerResult::Planned(members::contains(expr.left, expr.right)),
                B::ArrowAt => PlannerResult::Planned(members::contains(expr.right, expr.left)),
                _ => PlannerResult::Original(expr),
            });
        }
        let RawBinaryExpr { op, left, right } = expr;
        let (function, operands) = match op {
            B::Minus => (deletion(), vec![left, right]),
            B::AtArrow => (containment(), vec![read(&of_left, left), read(&of_right, right)]),
            B::ArrowAt => (containment(), vec![read(&of_right, right), read(&of_left, left)]),
            _ => (concatenation(), vec![read(&of_left, left), read(&of_right, right)]),
        };
        Ok(PlannerResult::Planned(function.call(operands)))
    }
}

/// Refuses `||` of JSON and a value that is neither JSON nor a text. An array may have JSON as elements.
fn refuse_other_types(of: &Option<TextType>, other: &Expr, schema: &DFSchema) -> Result<()> {
    let may_be_joined = |of: DataType| of.is_null() || is_text(&of) || matches!(of, DataType::List(_));
    if of.is_none() || is_untyped(other) || other.get_type(schema).map_or(true, may_be_joined) {
        return Ok(());
    }
    let error = sql_error("operator does not exist: || of JSON and a value that is neither JSON nor TEXT");
    Err(external(error.with_hint("write doc || to_jsonb(x), or join texts: doc || CAST(x AS TEXT)")))
}

/// An operand as JSON.
fn read(of: &Option<TextType>, operand: Expr) -> Expr {
    match of {
        Some(_) => operand,
        None => reading(TextType::Jsonb).call(vec![operand]),
    }
}
