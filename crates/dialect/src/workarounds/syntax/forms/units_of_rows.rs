//! `date_part(unit, t)` whose unit is not in quotes becomes the call of a function whose result is always a DOUBLE, as
//! in PostgreSQL. The type of DataFusion's `date_part` depends on the unit, which must be a constant.
//!
//! No upstream issue known.

use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, Value,
};

/// Rewrites such a call.
pub(crate) fn part_of_rows(expr: &mut Expr) {
    let Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) = expr else { return };
    let is_part = ["date_part", "datepart"].iter().any(|known| name.to_string().eq_ignore_ascii_case(known));
    let [FunctionArg::Unnamed(FunctionArgExpr::Expr(unit)), _] = list.args.as_slice() else { return };
    let is_written = match unit {
        Expr::Value(value) => matches!(value.value, Value::SingleQuotedString(_) | Value::EscapedStringLiteral(_)),
        _ => false,
    };
    if is_part && !is_written {
        *name = ObjectName::from(vec![Ident::new("date_part_of_rows")]);
    }
}
