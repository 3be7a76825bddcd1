//! `DEFAULT` in `INSERT` and `UPDATE`: in the place of a value, the literal that the column's definition says.

use super::defaults::value_sql;
use crate::error::{as_sql_error, sql_error};
use crate::insert::Target;
use atsdb_core::{Column, Error, Result, Table};
use datafusion::sql::sqlparser::ast::{Expr, Insert, Parens, Query, SetExpr, Statement as Ast, Value, Values};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;

/// Puts a column's default in the place of the word `DEFAULT`.
pub(crate) fn place_default(column: &Column, value: &mut Expr) -> Result<()> {
    let is_default = matches!(value, Expr::Identifier(word)
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("default"));
    if is_default {
        *value = default_expression(column)?;
    }
    Ok(())
}

/// The rows of an `INSERT`, with what `DEFAULT` stands for; of `DEFAULT VALUES` one row.
pub(crate) fn source_with_defaults(insert: &mut Insert, target: &Target, tables: &[Table]) -> Result<Box<Query>> {
    let Some(mut source) = insert.source.take() else {
        let (table, _) = target.resolve_among(tables)?;
        let row = table.definition.columns.iter().map(default_expression).collect::<Result<Vec<_>>>()?;
        return values_query(row);
    };
    if let SetExpr::Values(values) = source.body.as_mut() {
        let (table, positions) = target.resolve_among(tables)?;
        for row in &mut values.rows {
            for (position, value) in positions.iter().zip(&mut row.content) {
                place_default(&table.definition.columns[*position], value)?;
            }
        }
    }
    Ok(source)
}

fn default_expression(column: &Column) -> Result<Expr> {
    let Some(value) = &column.default else { return Ok(Expr::value(Value::Null)) };
    let text = value_sql(column.column_type, value);
    let parsed = Parser::new(&GenericDialect).try_with_sql(&text).and_then(|mut parser| parser.parse_expr());
    parsed.map_err(|error| as_sql_error(sql_error(format!("DEFAULT of {}: {error}", column.name))))
}

fn values_query(row: Vec<Expr>) -> Result<Box<Query>> {
    let statements = Parser::parse_sql(&GenericDialect, "VALUES (1)");
    match statements.map_err(|error| Error::internal(error.to_string()))?.pop() {
        Some(Ast::Query(mut query)) => {
            let rows = vec![Parens::with_empty_span(row)];
            query.body = Box::new(SetExpr::Values(Values { explicit_row: false, value_keyword: false, rows }));
            Ok(query)
        }
        _ => Err(Error::internal("VALUES is no query")),
    }
}
