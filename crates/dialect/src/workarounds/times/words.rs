//! A word that is compared with a time, such as `day = 'today'`, or has the type of a time beside it, such as
//! `coalesce(day, 'today')`, stands for a time, as in PostgreSQL. DataFusion reads only times in digits.
//!
//! No upstream issue known.

use crate::functions::session::statement_time::now;
use crate::text::datafusion_errors::external;
use crate::text::errors::not_supported;
use crate::text::time_text::TimeWord;
use crate::text::tree_walk::visit;
use crate::workarounds::shared::expressions::rewrite_expressions;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::functions::datetime::current_date;
use datafusion::logical_expr::expr::{Between, BinaryExpr, InList};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, Operator, binary_expr, lit};
use datafusion::sql::sqlparser::ast::{Statement, Value, ValueWithSpan, Visitor};
use std::ops::ControlFlow;

/// Functions whose arguments are times if one of them is.
const OF_TIMES: [&str; 3] = ["age", "greatest", "least"];

/// Returns whether a statement has such a word in it, wherever.
pub fn has_time_words(statement: &Statement) -> bool {
    visit(statement, &mut Words).is_break()
}

struct Words;

impl Visitor for Words {
    type Break = ();

    fn pre_visit_value(&mut self, value: &ValueWithSpan) -> ControlFlow<()> {
        match &value.value {
            Value::SingleQuotedString(text) if is_word(text) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}

/// Replaces the words in a plan. The plan depends on the time from then on, so that it is not kept.
pub fn read_time_words(plan: LogicalPlan) -> Result<LogicalPlan> {
    rewrite_expressions(plan, rewrite)
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
        Expr::ScalarFunction(call) if OF_TIMES.contains(&call.func.name()) => {
            settle(call.args.iter_mut().collect(), schema)?
        }
        // A constant whose context made it a time.
        Expr::Cast(of_text) => {
            let of = of_text.field.data_type().clone();
            match text(&of_text.expr) {
                Some(word) if is_time(&of) && is_word(word) => {
                    *of_text.expr = time_of(read(word)?, &of);
                    true
                }
                _ => false,
            }
        }
        _ => false,
    };
    Ok(if changed { Transformed::yes(expr) } else { Transformed::no(expr) })
}

/// Replaces the words among expressions that are compared with a time. Returns whether there are any.
fn settle(exprs: Vec<&mut Expr>, schema: &DFSchema) -> Result<bool> {
    if !exprs.iter().any(|expr| text(expr).is_some_and(is_word)) {
        return Ok(false);
    }
    let mut types = exprs.iter().filter_map(|expr| expr.get_type(schema).ok());
    let Some(of) = types.find(is_time) else { return Ok(false) };
    for expr in exprs {
        let Some(word) = text(expr).filter(|text| is_word(text)) else { continue };
        *expr = time_of(read(word)?, &of);
    }
    Ok(true)
}

fn is_time(of: &DataType) -> bool {
    matches!(of, DataType::Date32 | DataType::Timestamp(..))
}

/// Returns whether a text is such a word, or one that is refused.
fn is_word(text: &str) -> bool {
    TimeWord::read(text).is_some() || is_infinite(text)
}

fn read(word: &str) -> Result<TimeWord> {
    TimeWord::read(word).ok_or_else(|| {
        external(
            not_supported(format_args!("the time '{word}'")).with_hint("there are no infinite times: leave it out"),
        )
    })
}

fn time_of(word: TimeWord, of: &DataType) -> Expr {
    let today = || current_date().call(Vec::new());
    let day = || lit(ScalarValue::new_interval_mdn(0, 1, 0));
    match word {
        TimeWord::Now if *of == DataType::Date32 => today(),
        TimeWord::Now => now().call(Vec::new()),
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
