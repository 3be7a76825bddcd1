//! Operators of full-text search: `@@`, `||`, `&&`, `<->`, `@>` and `<@`. A constant of text beside a vector or a query
//! is read as one. `@@` of two texts asks whether the first one has the words of the second. Of other values, it asks
//! for the answer of an SQL/JSON path.
//!
//! Part of [`ordered_texts`](super).

use super::own_order::{name_of_type, no_operator};
use crate::functions::base::arguments::is_text;
use crate::functions::base::text_types::SearchType;
use crate::functions::json::path_query::{JSON_PATH, path_match_operator};
use crate::functions::text_search::functions::{QueryStyle, SearchCall, search_call_of, search_function};
use crate::functions::types::declared::{is_untyped, text_type_of};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{Expr, ExprSchemable};
use datafusion::sql::sqlparser::ast::BinaryOperator;

/// The operator between the words of a phrase.
pub(crate) const PHRASE: &str = "<->";

/// Runs while a statement is planned, before the planners of other operators with these names.
#[derive(Debug)]
pub(crate) struct SearchOperands;

impl ExprPlanner for SearchOperands {
    fn plan_binary_op(&self, expr: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        use BinaryOperator as B;
        use SearchType::{Query, Vector};
        let is_phrase = matches!(&expr.op, B::Custom(name) if name == PHRASE);
        let is_known = matches!(expr.op, B::AtAt | B::StringConcat | B::PGOverlap | B::AtArrow | B::ArrowAt);
        if !is_known && !is_phrase {
            return Ok(PlannerResult::Original(expr));
        }
        let of = |operand: &Expr| text_type_of(operand, schema).and_then(|of| of.search());
        let (of_left, of_right) = (of(&expr.left), of(&expr.right));
        let RawBinaryExpr { op, left, right } = expr;
        if of_left.is_none() && of_right.is_none() {
            return Ok(match op {
                B::AtAt if is_searched(&left, schema) && is_searched(&right, schema) => {
                    let words = search_function(SearchCall::ToQuery(QueryStyle::Plain)).call(vec![right]);
                    PlannerResult::Planned(search_function(SearchCall::TextMatches).call(vec![left, words]))
                }
                B::AtAt => PlannerResult::Planned(path_match_operator().call(vec![left, right])),
                op => PlannerResult::Original(RawBinaryExpr { op, left, right }),
            });
        }
        let are =
            |of: SearchType| (of_left == Some(of) || is_untyped(&left)) && (of_right == Some(of) || is_untyped(&right));
        let (call, operands) = match (&op, of_left, of_right) {
            (B::AtAt, Some(Vector), None) if !is_untyped(&right) => {
                return Err(no_operator("tsvector", "@@", &name_of_type(&right, schema)));
            }
            (B::AtAt, Some(Vector), Some(Query) | None) => match_of_vector(left, right),
            (B::AtAt, Some(Query), Some(Vector)) => match_of_vector(right, left),
            (B::AtAt, Some(Query), None) if is_untyped(&right) => (SearchCall::Matches, vec![right, left]),
            // The vector of a text is that of the default configuration.
            (B::AtAt, None, Some(Query)) => (SearchCall::TextMatches, vec![left, right]),
            (B::StringConcat, ..) if are(Vector) => (SearchCall::Concat, vec![left, right]),
            (B::StringConcat, ..) if are(Query) => (SearchCall::Or, vec![left, right]),
            (B::PGOverlap, ..) if are(Query) => (SearchCall::And, vec![left, right]),
            (B::AtArrow, ..) if are(Query) => (SearchCall::Contains, vec![left, right]),
            (B::ArrowAt, ..) if are(Query) => (SearchCall::Contains, vec![right, left]),
            _ if is_phrase && are(Query) => (SearchCall::Phrase, vec![left, right]),
            (B::AtAt | B::PGOverlap | B::AtArrow | B::ArrowAt, ..) => {
                let (left, right) = (name_of_type(&left, schema), name_of_type(&right, schema));
                return Err(no_operator(&left, &op.to_string(), &right));
            }
            _ => return Ok(PlannerResult::Original(RawBinaryExpr { op, left, right })),
        };
        Ok(PlannerResult::Planned(search_function(call).call(operands)))
    }
}

/// Returns whether a value is a text of no other type: neither JSON nor an SQL/JSON path. A parameter may be either.
fn is_searched(operand: &Expr, schema: &DFSchema) -> bool {
    match operand {
        Expr::Placeholder(_) => false,
        Expr::ScalarFunction(call) if call.func.name() == JSON_PATH => false,
        operand if is_untyped(operand) => true,
        operand => text_type_of(operand, schema).is_none() && operand.get_type(schema).is_ok_and(|of| is_text(&of)),
    }
}

/// Returns the call that tests whether a vector matches a query, and its operands. The vector of a text is used
/// directly, without a conversion to text.
fn match_of_vector(vector: Expr, query: Expr) -> (SearchCall, Vec<Expr>) {
    match vector {
        Expr::ScalarFunction(call) if search_call_of(&call.func) == Some(SearchCall::ToVector) => {
            let mut operands = call.args;
            operands.push(query);
            (SearchCall::TextMatches, operands)
        }
        vector => (SearchCall::Matches, vec![vector, query]),
    }
}
