//! `SELECT generate_series(1, 3)` makes rows in PostgreSQL, and a list in DataFusion: `unnest` makes rows of the list.
//! Inside of another function, such as `unnest` or `array_length`, it stays a list.
//!
//! With an alias, as in `FROM generate_series(1, 3) AS id`, the column has the name of the alias.
//!
//! A series of `INT`s is one in PostgreSQL, in FROM too, and always of `BIGINT`s in DataFusion.
//!
//! Waits for [#13316](https://github.com/apache/datafusion/issues/13316) (rows); of the name and the type no upstream
//! issue is known.

use super::integer_literals::{are_narrow, make_int, widen};
use super::{expression, set_first_argument};
use atsdb_core::{Error, Result};
use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArguments, ObjectName, Select, SelectItem, TableAliasColumnDef, TableFactor,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;

const SERIES: &str = "generate_series";

/// Makes rows of such functions in a SELECT list.
pub(super) fn unnest_functions(select: &mut Select) -> Result<()> {
    for item in &mut select.projection {
        if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
            unnest(expr)?;
        }
    }
    Ok(())
}

fn unnest(expr: &mut Expr) -> Result<()> {
    match expr {
        Expr::Function(call) if call.over.is_none() && is_series(&call.name) => {
            let has_ints = matches!(&call.args, FunctionArguments::List(list) if are_narrow(&list.args));
            let mut rows = expression("unnest(NULL)")?;
            set_first_argument(&mut rows, expr.clone());
            *expr = rows;
            if has_ints {
                make_int(expr);
            }
            Ok(())
        }
        Expr::BinaryOp { left, right, .. } => {
            unnest(left)?;
            unnest(right)
        }
        Expr::Nested(inner) | Expr::UnaryOp { expr: inner, .. } | Expr::Cast { expr: inner, .. } => unnest(inner),
        _ => Ok(()),
    }
}

/// `FROM generate_series(1, 3) AS id`: the series is of INTs if what bounds it are, and its column is named `id`.
pub(super) fn narrow_series(factor: &mut TableFactor) -> Result<()> {
    let TableFactor::Table { name, args: Some(args), alias, .. } = factor else { return Ok(()) };
    if let Some(alias) = alias.as_mut().filter(|alias| alias.columns.is_empty() && has_one_column(name)) {
        alias.columns.push(TableAliasColumnDef { name: alias.name.clone(), data_type: None });
    }
    let is_of_ints = is_series(name) && are_narrow(&args.args);
    // What returns a table takes integers of 64 bits alone.
    widen(args);
    if !is_of_ints {
        return Ok(());
    }
    let alias = alias.take();
    let text = format!("(SELECT CAST(value AS INT) AS value FROM {factor})");
    let parsed = Parser::new(&GenericDialect).try_with_sql(&text).and_then(|mut parser| parser.parse_table_factor());
    *factor = parsed.map_err(|error| Error::internal(format!("{text}: {error}")))?;
    if let TableFactor::Derived { alias: named, .. } = factor {
        *named = alias;
    }
    Ok(())
}

/// Whether it is the name of a function whose tables have a single column.
fn has_one_column(name: &ObjectName) -> bool {
    is_series(name) || name.to_string().eq_ignore_ascii_case("range")
}

/// Whether it is the name of a function that makes rows.
fn is_series(name: &ObjectName) -> bool {
    name.to_string().eq_ignore_ascii_case(SERIES)
}
