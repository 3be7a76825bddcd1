//! Values that are written as text. PostgreSQL's `concat`, `concat_ws` and `format` write booleans as `t` and `f`, and
//! bytes in hexadecimal digits, `\x00ff`, as casts do, and as `||` does beside a text. DataFusion writes `true`, and
//! takes bytes for UTF-8. `format` writes what is neither as a cast does. A cast of rows, or of an array of rows,
//! writes them as `(1,a)`; DataFusion refuses it.
//!
//! No upstream issue known.

use crate::functions::base::arguments::is_text;
use crate::workarounds::casts::shown_rows::shown;
use crate::workarounds::shared::expressions::rewrite_expressions;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, Result};
use datafusion::functions::encoding::expr_fn::encode;
use datafusion::logical_expr::expr::{BinaryExpr, Case};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, Operator, binary_expr, cast, lit};
use datafusion::optimizer::AnalyzerRule;

/// Functions that write their arguments as text.
const WRITING: [&str; 3] = ["concat", "concat_ws", "format"];

/// Runs before types are made equal: casts that DataFusion adds later do not write bytes for people.
#[derive(Debug)]
pub(crate) struct TextOutputs;

impl AnalyzerRule for TextOutputs {
    fn name(&self) -> &str {
        "text_outputs"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite_expressions(plan, |expr, schema| Ok(rewrite(expr, schema)))
    }
}

fn rewrite(mut expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    let is_changed = match &mut expr {
        Expr::Cast(cast) if cast.field.data_type().is_string() => {
            write_bytes(&mut cast.expr, schema) || write_rows(&mut cast.expr, schema)
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::StringConcat, right }) => {
            let is_beside = |value: &Expr| value.get_type(schema).is_ok_and(|of| is_text(&of));
            (is_beside(right) && write_bytes(left, schema)) || (is_beside(left) && write_bytes(right, schema))
        }
        Expr::ScalarFunction(call) if WRITING.contains(&call.func.name()) => {
            let is_format = call.func.name() == "format";
            let values = call.args.iter_mut();
            values.fold(false, |is_changed, value| write_value(value, is_format, schema) | is_changed)
        }
        _ => false,
    };
    if is_changed { Transformed::yes(expr) } else { Transformed::no(expr) }
}

/// Writes an argument as text; other values than booleans and bytes only for `format`. Returns whether it did.
fn write_value(value: &mut Expr, is_format: bool, schema: &DFSchema) -> bool {
    match value.get_type(schema) {
        Ok(DataType::Boolean) => {
            let texts = [(true, "t"), (false, "f")];
            *value = Expr::Case(Case {
                expr: Some(Box::new(std::mem::take(value))),
                when_then_expr: texts.map(|(flag, text)| (Box::new(lit(flag)), Box::new(lit(text)))).to_vec(),
                else_expr: None,
            });
            true
        }
        Ok(DataType::Null | DataType::Dictionary(..)) | Err(_) => false,
        Ok(of) if is_format && !of.is_string() && !of.is_binary() => {
            *value = cast(std::mem::take(value), DataType::Utf8);
            true
        }
        Ok(_) => write_bytes(value, schema),
    }
}

/// Writes rows, or the rows in an array, as texts. Returns whether the value was one of both.
fn write_rows(value: &mut Expr, schema: &DFSchema) -> bool {
    let Some(texts) = value.get_type(schema).ok().and_then(|of| shown(&of)) else { return false };
    *value = texts.call(vec![std::mem::take(value)]);
    true
}

/// Writes bytes in hexadecimal digits. Returns whether the value was bytes.
fn write_bytes(value: &mut Expr, schema: &DFSchema) -> bool {
    if !value.get_type(schema).is_ok_and(|of| of.is_binary()) {
        return false;
    }
    *value = binary_expr(lit("\\x"), Operator::StringConcat, encode(std::mem::take(value), lit("hex")));
    true
}
