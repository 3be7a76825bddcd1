//! Calls whose last arguments are in an array: `concat(VARIADIC ARRAY[a, b])` is `concat(a, b)`. An array that is not
//! written out is supported where another function takes one.
//!
//! No upstream issue known.

use super::composed_functions::filled;
use crate::functions::texts::strings::FORMAT_ARRAY;
use crate::text::errors::not_supported;
use crate::workarounds::syntax::tokens::variadic::array_in;
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::{
    Array, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectName,
};

/// Rewrites a call whose arguments have been rewritten already.
pub(crate) fn spread_array(expr: &mut Expr) -> Result<()> {
    let Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) = &*expr else { return Ok(()) };
    let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(last))) = list.args.last() else { return Ok(()) };
    let Some(array) = array_in(last) else { return Ok(()) };
    if let Expr::Array(Array { elem, .. }) = array
        && !elem.is_empty()
    {
        let mut arguments = list.args[..list.args.len() - 1].to_vec();
        arguments.extend(elem.iter().cloned().map(|element| FunctionArg::Unnamed(FunctionArgExpr::Expr(element))));
        if let Expr::Function(Function { args: FunctionArguments::List(list), .. }) = expr {
            list.args = arguments;
        }
        return Ok(());
    }
    let first = match list.args.as_slice() {
        [FunctionArg::Unnamed(FunctionArgExpr::Expr(first)), _] => Some(first),
        _ => None,
    };
    *expr = match (lower(name).as_str(), first, list.args.len()) {
        ("concat", None, 1) => filled("array_to_string(a, '')", &[array])?,
        ("concat_ws", Some(separator), _) => filled("array_to_string(a, b)", &[array, separator])?,
        // The text of an array has its elements as `format` writes them: a boolean is `t`.
        ("format", Some(pattern), _) => {
            filled(&format!("{FORMAT_ARRAY}(a, CAST(CAST(b AS TEXT) AS TEXT[]))"), &[pattern, array])?
        }
        ("num_nonnulls", None, 1) => filled("CAST(cardinality(array_remove_all(a, NULL)) AS INT)", &[array])?,
        ("num_nulls", None, 1) => {
            filled("CAST(cardinality(a) - cardinality(array_remove_all(a, NULL)) AS INT)", &[array])?
        }
        _ => {
            let error = not_supported(format_args!("{name} with VARIADIC and an array that is not written out"));
            return Err(error.with_hint("write the arguments, or VARIADIC ARRAY[...]"));
        }
    };
    Ok(())
}

fn lower(name: &ObjectName) -> String {
    name.to_string().to_ascii_lowercase()
}
