//! `EXCLUDE CURRENT ROW`, `GROUP` and `TIES` of a window's frame, which neither the parser nor DataFusion knows. On the
//! way to the plan, the clause is first a mark among the expressions of `PARTITION BY` (tokens), then a condition of
//! the function's `FILTER` (syntax tree), or around its argument if it returns the value of one row and cannot have a
//! `FILTER`. The rule [`ExcludeRows`](crate::workarounds::aggregates::excluded_rows::rule) makes a function of its own
//! of both. Neither can be lost: a mark that is not read is refused, and the condition or argument fails where it is
//! evaluated.
//!
//! Waits for [#2513](https://github.com/apache/datafusion-sqlparser-rs/pull/2513) of the parser; for DataFusion no
//! upstream issue is known.

use super::frames::{OF_ONE_ROW, WITHOUT_FRAME};
use crate::text::errors::not_supported;
use crate::workarounds::syntax::{binary, expression, set_first_argument};
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, WindowSpec, WindowType,
};

/// How the mark begins. No statement can write this name.
const MARK: &str = "\u{1}exclude ";

/// The name that marks a window without these rows.
pub(crate) fn mark_of(rows: &str) -> String {
    format!("{MARK}{rows}")
}

/// The rows that an expression marks as excluded.
fn marked(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Identifier(name) => name.value.strip_prefix(MARK),
        _ => None,
    }
}

/// Takes the mark out of a window.
pub(crate) fn take_mark(spec: &mut WindowSpec) -> Option<Expr> {
    let position = spec.partition_by.iter().position(|expr| marked(expr).is_some())?;
    Some(spec.partition_by.remove(position))
}

/// Returns whether a window has a mark.
pub(crate) fn is_marked(spec: &WindowSpec) -> bool {
    spec.partition_by.iter().any(|expr| marked(expr).is_some())
}

/// Makes a condition of the mark of a function's window.
pub(crate) fn exclude_rows(expr: &mut Expr) -> Result<()> {
    if marked(expr).is_some() {
        return Err(not_supported("EXCLUDE in this window").with_hint("write the window after OVER"));
    }
    let Expr::Function(Function { name, args, filter, over: Some(WindowType::WindowSpec(spec)), .. }) = expr else {
        return Ok(());
    };
    let Some(mark) = take_mark(spec) else { return Ok(()) };
    let name = name.to_string().to_lowercase();
    if WITHOUT_FRAME.contains(&name.as_str()) {
        return Ok(());
    }
    let rows = marked(&mark).unwrap_or_default().replace(' ', "_");
    if OF_ONE_ROW.contains(&name.as_str()) {
        let mut excluded = expression(&format!("excluded_{rows}(NULL)"))?;
        if let FunctionArguments::List(list) = args
            && let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(value))) = list.args.first_mut()
        {
            set_first_argument(&mut excluded, value.clone());
            *value = excluded;
        }
        return Ok(());
    }
    let condition = expression(&format!("excluded_{rows}()"))?;
    *filter = Some(Box::new(match filter.take() {
        None => condition,
        Some(filter) => binary(condition, BinaryOperator::And, Expr::Nested(filter)),
    }));
    Ok(())
}
