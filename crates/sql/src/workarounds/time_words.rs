//! A word that is compared with a time, such as `day = 'today'`, stands for a time, as in PostgreSQL. DataFusion reads
//! only times in digits.
//!
//! No upstream issue known.

use super::expressions::rewrite_expressions;
use crate::text::datafusion_errors::external;
use crate::text::errors::not_supported;
use crate::text::time_text::TimeWord;
use crate::text::tree_walk::visit;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::functions::datetime::{current_date, now};
use datafusion::logical_expr::expr::{Between, BinaryExpr, InList};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, Operator, binary_expr, lit};
use datafusion::sql::sqlparser::ast::{Statement, Value, ValueWithSpan, Visitor};
use std::ops::ControlFlow;

/// Whether a statement has such a word in it, wherever.
pub(crate) fn has_time_words(statement: &Statement) -> bool {
    visit(statement, &mut Words).is_break()
}

struct Words;

impl Visitor for Words {
    type Break = ();

    fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<()> {
        match &value.value {
            Value::SingleQuotedString(text) if TimeWord::read(text).is_some() || is_infinite(text) => {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Replaces the words in a plan. The plan depends on the time from then on, so that it is not kept.
pub(crate) fn read_time_words(plan: LogicalPlan) -> Result<LogicalPlan> {
    rewrite_expressions(plan, |_| false, rewrite)
}

fn rewrite(mut expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
    let changed = match &mut expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right })
            if matches!(*op, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom) =>
        {
            settle(vec![left, right], schema)?
        }
        Expr::Between(Between { expr, low, high, .. }) => settle(vec![expr, low, high], schema)?,
        Expr::InList(InList { expr, list, .. }) => settle(std::iter::once(&mut **expr).chain(list).collect(), schema)?,
        _ => false,
    };
    Ok(if changed { Transformed::yes(expr) } else { Transformed::no(expr) })
}

/// Replaces the words among expressions that are compared with a time. Returns whether there are any.
fn settle(exprs: Vec<&mut Expr>, schema: &DFSchema) -> Result<bool> {
    let is_word = |expr: &Expr| text(expr).is_some_and(|text| TimeWord::read(text).is_some() || is_infinite(text));
    if !exprs.iter().any(|expr| is_word(expr)) {
        return Ok(false);
    }
    let mut types = exprs.iter().filter_map(|expr| expr.get_type(schema).ok());
    let Some(of) = types.find(|of| matches!(of, DataType::Date32 | DataType::Timestamp(..))) else { return Ok(false) };
    for expr in exprs {
        let Some(word) = text(expr).filter(|_| is_word(expr)) else { continue };
        let Some(time) = TimeWord::read(word) else {
            return Err(external(
                not_supported(format_args!("the time '{word}'")).with_hint("there are no infinite times: leave it out"),
            ));
        };
        *expr = time_of(time, &of);
    }
    Ok(true)
}

fn time_of(word: TimeWord, of: &DataType) -> Expr {
    let today = || current_date().call(Vec::new());
    let day = || lit(ScalarValue::new_interval_mdn(0, 1, 0));
    match word {
        TimeWord::Now if *of == DataType::Date32 => today(),
        TimeWord::Now => now(&ConfigOptions::default()).call(Vec::new()),
        TimeWord::Today => today(),
        TimeWord::Tomorrow => binary_expr(today(), Operator::Plus, day()),
        TimeWord::Yesterday => binary_expr(today(), Operator::Minus, day()),
        TimeWord::Epoch => lit(ScalarValue::Date32(Some(0))),
    }
}

fn text(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Literal(ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text)), _) => Some(text),
        _ => None,
    }
}

fn is_infinite(text: &str) -> bool {
    matches!(text.trim().to_ascii_lowercase().as_str(), "infinity" | "-infinity")
}
