//! `json_agg` and `json_object_agg`: `array_agg` collects the values, and a function makes JSON of the list.
//!
//! No upstream issue known.

use crate::text::errors::sql_error;
use crate::workarounds::syntax::{expression, set_arguments, set_first_argument};
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, Value,
};

/// The function of a whole row, which has a line of its own in a list.
pub(crate) const ROW: &str = "json_row";

/// The aggregates, and the functions of their lists.
const AGGREGATES: [(&str, &str); 4] = [
    ("json_agg", "json_list"),
    ("jsonb_agg", "jsonb_list"),
    ("json_object_agg", "json_pairs"),
    ("jsonb_object_agg", "jsonb_pairs"),
];

/// Replaces a call whose arguments have been rewritten already.
pub(crate) fn collect_json(expr: &mut Expr) -> Result<()> {
    let Expr::Function(call) = expr else { return Ok(()) };
    let name = call.name.to_string().to_ascii_lowercase();
    let Some((_, of_list)) = AGGREGATES.iter().find(|(known, _)| *known == name) else { return Ok(()) };
    let mut of_list = *of_list;
    let FunctionArguments::List(list) = &mut call.args else {
        return Err(sql_error(format!("{name} takes a value of each row")));
    };
    let value = |arg: &FunctionArg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Ok(value.clone()),
        other => Err(sql_error(format!("{name}: {other} is not a value"))),
    };
    let values = list.args.iter().map(value).collect::<Result<Vec<_>>>()?;
    match (of_list, values.as_slice()) {
        ("json_pairs" | "jsonb_pairs", [_, _]) => {
            let mut pair = expression("json_pair(NULL)")?;
            set_arguments(&mut pair, values.clone());
            list.args = vec![FunctionArg::Unnamed(FunctionArgExpr::Expr(pair))];
        }
        ("json_list", [Expr::Function(Function { name, .. })]) if name.to_string() == ROW => {
            of_list = "json_list_of_rows";
        }
        ("json_list" | "jsonb_list", [_]) => {}
        (_, values) => {
            let wanted = if of_list.ends_with("list") { "1 argument" } else { "a key and a value" };
            return Err(sql_error(format!("{name} takes {wanted}, not {} arguments", values.len())));
        }
    }
    call.name = ObjectName::from(vec![Ident::new("array_agg")]);
    let mut json = expression(&format!("{of_list}(NULL)"))?;
    set_first_argument(&mut json, std::mem::replace(expr, Expr::value(Value::Null)));
    *expr = json;
    Ok(())
}
