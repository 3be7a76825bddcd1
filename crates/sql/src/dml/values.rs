//! Values in `INSERT` and `UPDATE` that depend on their column: `DEFAULT` is what the column's definition says, a
//! parameter for a text column is text, even if it looks like a number, a number for a decimal has the digits of the
//! column, and a text beside values of other types has the column's type.

use super::target::{Overriding, Target, first_columns};
use crate::ddl::defaults::{call_of, value_sql};
use atsdb_core::{Column, ColumnType, Error, Result, Table, decimal};
use atsdb_dialect::parse::parameter_types::numeric_parameter;
use atsdb_dialect::text::errors::{as_sql_error, sql_error};
use atsdb_dialect::text::sequence_names::{qualified_sequence_name, sequence_text};
use atsdb_dialect::text::time_text::TimeWord;
use atsdb_dialect::workarounds::{is_default, select_rows};
use datafusion::sql::sqlparser::ast::{
    ArrayElemTypeDef, CastKind, DataType, Expr, Ident, Insert, Parens, Query, SelectItem, SetExpr, Statement as Ast,
    TimezoneInfo, UnaryOperator, Value, ValueWithSpan, Values,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;

/// Replaces the word `DEFAULT` by the default of the column at a position of a table, a parameter for a text column by
/// text, and a number for a decimal by one with the digits of the column.
pub(crate) fn place_value(table: &Table, position: usize, value: &mut Expr) -> Result<()> {
    let column = &table.definition.columns[position];
    place_literal(column, value);
    if is_default(value) {
        *value = default_expression(table, column)?;
    }
    Ok(())
}

/// The same for a value that an `UPDATE` assigns.
pub(crate) fn place_assigned(table: &Table, position: usize, value: &mut Expr) -> Result<()> {
    let column = &table.definition.columns[position];
    match column.identity.is_some_and(|identity| identity.always) && !is_default(value) {
        true => Err(sql_error(format!("column \"{}\" can only be updated to DEFAULT", column.name))
            .with_hint("it is GENERATED ALWAYS: write SET COLUMN = DEFAULT for a new number")),
        false => place_value(table, position, value),
    }
}

fn place_literal(column: &Column, value: &mut Expr) {
    match column.column_type {
        ColumnType::Text => {
            if let Some(text) = numeric_parameter(value).map(|text| text.into_owned()) {
                *value = Expr::value(Value::SingleQuotedString(text));
            }
        }
        // The rows of `VALUES` have one type, which must have room for the digits of all numbers.
        ColumnType::Decimal { precision, scale } => {
            if let Some(number) = number_in(value)
                && let Some(fitted) = decimal::parse(number, precision, scale)
            {
                *number = decimal::format(fitted, scale);
            }
        }
        ColumnType::Date | ColumnType::Timestamp(_) => {
            if let Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(text), .. }) = value
                && let Some(word) = TimeWord::read(text)
                && let Ok(time) = parsed(word.sql(), column)
            {
                let data_type = match column.column_type {
                    ColumnType::Date => DataType::Date,
                    _ => DataType::Timestamp(Some(6), TimezoneInfo::None),
                };
                let (kind, expr) = (CastKind::Cast, Box::new(time));
                *value = Expr::Cast { kind, expr, data_type, array: false, format: None };
            }
        }
        _ => {}
    }
}

/// The number in a literal, without its sign.
fn number_in(value: &mut Expr) -> Option<&mut String> {
    match value {
        Expr::Nested(inner) | Expr::UnaryOp { op: UnaryOperator::Minus, expr: inner } => number_in(inner),
        Expr::Value(ValueWithSpan { value: Value::Number(number, _), .. }) => Some(number),
        _ => None,
    }
}

/// Replaces literals in the expressions that a query selects for these columns.
fn place_literals(body: &mut SetExpr, columns: &[&Column]) {
    match body {
        SetExpr::Query(query) => place_literals(&mut query.body, columns),
        SetExpr::SetOperation { left, right, .. } => {
            place_literals(left, columns);
            place_literals(right, columns);
        }
        SetExpr::Select(select) => {
            for (column, item) in columns.iter().zip(&mut select.projection) {
                match item {
                    SelectItem::UnnamedExpr(value) | SelectItem::ExprWithAlias { expr: value, .. } => {
                        place_literal(column, value);
                    }
                    // From here on, expressions can no longer be assigned to columns.
                    _ => break,
                }
            }
        }
        _ => {}
    }
}

/// The rows of an `INSERT`, with `DEFAULT` replaced by its values; one row for `DEFAULT VALUES`.
pub(crate) fn source_with_defaults(insert: &mut Insert, target: &mut Target, tables: &[Table]) -> Result<Box<Query>> {
    if let Some(source) = &insert.source {
        target.name_first_columns(tables, &source.body);
    }
    let (table, positions) = target.resolve_among(tables)?;
    let columns: Vec<&Column> = positions.iter().map(|position| &table.definition.columns[*position]).collect();
    target.generated = generated_columns(insert, target.overriding, &columns);
    target.refuse_identity_values(&table, &positions)?;
    let default_of = |column: &Column| match target.is_generated(column) {
        true => Ok(Expr::value(Value::Null)),
        false => default_expression(&table, column),
    };
    let Some(mut source) = insert.source.take() else {
        return values_query(columns.into_iter().map(default_of).collect::<Result<Vec<_>>>()?);
    };
    match source.body.as_mut() {
        SetExpr::Values(values) => {
            for row in &mut values.rows {
                for ((column, position), value) in columns.iter().zip(&positions).zip(&mut row.content) {
                    match target.is_generated(column) {
                        true => *value = Expr::value(Value::Null),
                        false => place_value(&table, *position, value)?,
                    }
                }
            }
            type_texts(values, &columns);
        }
        body => place_literals(body, &columns),
    }
    select_rows(&mut source, false)?;
    Ok(source)
}

/// The values of one row for a target, with `DEFAULT` replaced by its values; without a row, all defaults.
pub(crate) fn row_with_defaults(row: Option<Vec<Expr>>, target: &mut Target, tables: &[Table]) -> Result<Vec<Expr>> {
    if let (None, Some(row)) = (&target.columns, &row) {
        target.columns = target.table.find(tables).and_then(|table| first_columns(table, row.len()));
    }
    let (table, positions) = target.resolve_among(tables)?;
    let columns: Vec<&Column> = positions.iter().map(|position| &table.definition.columns[*position]).collect();
    let default = || Expr::Identifier(Ident::new("DEFAULT"));
    let mut row = row.unwrap_or_else(|| columns.iter().map(|_| default()).collect());
    if row.len() != columns.len() {
        return Err(sql_error(format!("{} values for {} columns of table {}", row.len(), columns.len(), target.alias)));
    }
    let overrides = target.overriding == Some(Overriding::User);
    let is_generated = |(column, value): (&&Column, &Expr)| {
        (column.identity.is_some() && (overrides || is_default(value))).then(|| column.name.clone())
    };
    target.generated = columns.iter().zip(&row).filter_map(is_generated).collect();
    target.refuse_identity_values(&table, &positions)?;
    for ((column, position), value) in columns.iter().zip(&positions).zip(&mut row) {
        match target.is_generated(column) {
            true => *value = Expr::value(Value::Null),
            false => place_value(&table, *position, value)?,
        }
    }
    Ok(row)
}

/// Casts texts to the types of their columns where other rows have values of other kinds: the rows of `VALUES` have one
/// type, and DataFusion knows none for a text and a time. A text alone keeps its type, because assigning it accepts
/// more. A date for a column of times becomes a time, because DataFusion would make nanoseconds of it and of the other
/// rows. A value for a column of texts becomes its own text: beside the number 1, DataFusion would read the text `01`
/// as a number.
fn type_texts(values: &mut Values, columns: &[&Column]) {
    for (position, column) in columns.iter().enumerate() {
        if column.column_type == ColumnType::Text && column.enumeration.is_none() {
            for value in values.rows.iter_mut().filter_map(|row| row.content.get_mut(position)) {
                if !is_untyped(value) {
                    cast_to(value, DataType::Text);
                }
            }
            continue;
        }
        let Some(data_type) = type_beside_text(column.column_type) else { continue };
        let has_other = values.rows.iter().filter_map(|row| row.content.get(position)).any(|value| match value {
            Expr::Value(ValueWithSpan { value, .. }) => match value {
                Value::Boolean(_) | Value::HexStringLiteral(_) => true,
                // Beside numbers, 'NaN' would be read as a decimal.
                Value::Number(..) => matches!(data_type, DataType::Real | DataType::DoublePrecision),
                _ => false,
            },
            _ => true,
        });
        if !has_other {
            continue;
        }
        for value in values.rows.iter_mut().filter_map(|row| row.content.get_mut(position)) {
            let is_text = matches!(value, Expr::Value(ValueWithSpan { value: Value::SingleQuotedString(_), .. }));
            if is_text || (matches!(data_type, DataType::Timestamp(..)) && is_date(value)) {
                cast_to(value, data_type.clone());
            }
        }
    }
}

fn cast_to(value: &mut Expr, data_type: DataType) {
    let expr = Box::new(value.clone());
    *value = Expr::Cast { kind: CastKind::Cast, expr, data_type, array: false, format: None };
}

/// Returns whether a value has no type of its own: a text in quotes, NULL or a parameter.
fn is_untyped(value: &Expr) -> bool {
    match value {
        Expr::Value(ValueWithSpan { value, .. }) => !matches!(value, Value::Number(..) | Value::Boolean(_)),
        _ => false,
    }
}

/// Returns whether an expression has the type DATE by its syntax: a literal or a cast.
fn is_date(value: &Expr) -> bool {
    match value {
        Expr::Nested(inner) => is_date(inner),
        Expr::TypedString(literal) => literal.data_type == DataType::Date,
        Expr::Cast { data_type, .. } => *data_type == DataType::Date,
        _ => false,
    }
}

/// The type that a text needs beside other values of a column; `None` if DataFusion finds a common type by itself.
fn type_beside_text(column_type: ColumnType) -> Option<DataType> {
    Some(match column_type {
        ColumnType::Bool => DataType::Boolean,
        ColumnType::Float32 => DataType::Real,
        ColumnType::Float64 => DataType::DoublePrecision,
        ColumnType::Binary => DataType::Bytea,
        ColumnType::Date => DataType::Date,
        ColumnType::Time => DataType::Time(None, TimezoneInfo::None),
        ColumnType::Interval => DataType::Interval { fields: None, precision: None },
        ColumnType::Timestamp(unit) => DataType::Timestamp(Some(unit.fraction_digits() as u64), TimezoneInfo::None),
        ColumnType::Array(element) => {
            let element = parsed_type(&element.column_type().sql_name())?;
            DataType::Array(ArrayElemTypeDef::SquareBracket(Box::new(element), None))
        }
        _ => return None,
    })
}

fn parsed_type(name: &str) -> Option<DataType> {
    Parser::new(&GenericDialect).try_with_sql(name).and_then(|mut parser| parser.parse_data_type()).ok()
}

/// The identity columns whose given values do not count, because all of them are `DEFAULT` or the statement overrides
/// them.
fn generated_columns(insert: &Insert, overriding: Option<Overriding>, columns: &[&Column]) -> Vec<String> {
    let rows = insert.source.as_ref().map(|source| source.body.as_ref());
    let has_only_defaults = |at: usize| match rows {
        None => true,
        Some(SetExpr::Values(values)) => values.rows.iter().all(|row| row.content.get(at).is_some_and(is_default)),
        Some(_) => false,
    };
    let identities = columns.iter().enumerate().filter(|(_, column)| column.identity.is_some());
    let generated = identities.filter(|(at, _)| overriding == Some(Overriding::User) || has_only_defaults(*at));
    generated.map(|(_, column)| column.name.clone()).collect()
}

fn default_expression(table: &Table, column: &Column) -> Result<Expr> {
    if column.identity.is_some() {
        let sequence = qualified_sequence_name(table, &column.name);
        return parsed(&format!("nextval('{}')", sequence.replace('\'', "''")), column);
    }
    if let Some(sequence) = &column.sequence {
        let text = format!("nextval('{}')", sequence_text(sequence).replace('\'', "''"));
        return parsed(&text, column);
    }
    if let Some(function) = column.default_function {
        return parsed(call_of(function), column);
    }
    let Some(value) = &column.default else { return Ok(Expr::value(Value::Null)) };
    parsed(&value_sql(column.column_type, value), column)
}

fn parsed(text: &str, column: &Column) -> Result<Expr> {
    let parsed = Parser::new(&GenericDialect).try_with_sql(text).and_then(|mut parser| parser.parse_expr());
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
        _ => Err(Error::internal("VALUES is not a query")),
    }
}
