//! A rollup's query in normal form: one SELECT from one table, grouped by a bucket of its time, which is also a column.

use atsdb_core::name::same_name;
use atsdb_core::{ColumnType, Error, Result, SliceWidth, Table};
use atsdb_dialect::functions::times::interval::{nanos_of, parse_interval};
use atsdb_dialect::parse::statement::parse_over;
use atsdb_dialect::text::errors::{not_supported, sql_error};
use atsdb_dialect::text::params::Parameters;
use atsdb_dialect::text::quoted_names::quoted;
use atsdb_dialect::text::source_position::SourcePosition;
use atsdb_dialect::text::table_names::{Scope, TableName};
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, Ident, Query, Select, SelectItem,
    SetExpr, Statement as Ast, TableFactor, Value,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;

/// A query that returns a row for each bucket and group.
#[derive(Debug)]
pub(crate) struct BucketedQuery {
    pub(crate) text: String,
    /// The column with the bucket.
    pub(crate) bucket: String,
    /// The width of buckets, as written.
    pub(crate) every: String,
}

impl BucketedQuery {
    /// Parses a query over `source`. The bucket is the one that it groups by, or else one with the width `every`.
    pub(crate) fn read(
        text: &str,
        position: SourcePosition,
        source: &Table,
        every: Option<&str>,
        scope: Scope<'_>,
    ) -> Result<Self> {
        let (mut statement, _) = parse_over(text, position, &Parameters::none(), scope)?;
        atsdb_dialect::functions::place_named_arguments(&mut statement)?;
        let Ast::Query(mut query) = statement else { return Err(sql_error("the query of a rollup must be a SELECT")) };
        let select = only_select(&mut query)?;
        check_source(select, source)?;
        let time = source
            .definition
            .time_column()
            .ok_or_else(|| sql_error(format!("table {} has no time column to roll up by", source.definition.name)))?;
        let mut groups = take_groups(select)?;
        let found = groups.iter().find(|expr| bucket_call(expr, &time.name).is_some()).cloned();
        let (bucket, every) = match (found, every) {
            (Some(bucket), None) => {
                let width = bucket_call(&bucket, &time.name).and_then(width_text);
                (bucket, width.ok_or_else(constant_width)?)
            }
            (Some(bucket), Some(every)) => {
                let width = bucket_call(&bucket, &time.name).and_then(width_text).ok_or_else(constant_width)?;
                if ticks_of(&width, source)? != ticks_of(every, source)? {
                    return Err(sql_error(format!("EVERY '{every}', but the query groups by buckets of {width}"))
                        .with_hint("leave EVERY out, or give the same width"));
                }
                (bucket, every.to_owned())
            }
            (None, Some(every)) => {
                let bucket = implied_bucket(every, source)?;
                groups.insert(0, bucket.clone());
                (bucket, every.to_owned())
            }
            (None, None) => {
                return Err(sql_error("the rollup has no bucket width").with_hint("add EVERY '1 hour'"));
            }
        };
        select.group_by = GroupByExpr::Expressions(groups, Vec::new());
        let bucket = name_bucket(select, &bucket, &time.name);
        Ok(Self { text: query.to_string(), bucket, every })
    }
}

/// The default slice width for buckets of a width.
pub(crate) fn default_slice(every: &str, unit_seconds: f64) -> SliceWidth {
    let seconds = match (parse_interval(every), every.trim().parse::<f64>()) {
        (Ok(width), _) if width.months > 0 => f64::from(width.months) * 2_629_746.0,
        (Ok(width), _) => nanos_of(width) as f64 / 1e9,
        (_, Ok(count)) => count * unit_seconds,
        _ => 3_600.0,
    };
    match seconds {
        ..60.0 => SliceWidth::Day,
        60.0..86_400.0 => SliceWidth::Month,
        _ => SliceWidth::Year,
    }
}

/// The SELECT of a query that consists only of a SELECT.
fn only_select(query: &mut Query) -> Result<&mut Select> {
    let refused = [
        (query.with.is_some(), "WITH before SELECT"),
        (query.order_by.is_some(), "ORDER BY"),
        (query.limit_clause.is_some() || query.fetch.is_some(), "LIMIT"),
        (!query.locks.is_empty() || query.for_clause.is_some() || query.settings.is_some(), "a clause after it"),
        (query.format_clause.is_some() || !query.pipe_operators.is_empty(), "a clause after it"),
    ];
    refuse(&refused)?;
    let SetExpr::Select(select) = query.body.as_mut() else {
        return Err(not_supported("anything but one SELECT as the query of a rollup"));
    };
    let refused = [
        (select.distinct.is_some() || select.top.is_some(), "DISTINCT or TOP"),
        (select.into.is_some(), "INTO"),
        (!select.lateral_views.is_empty() || select.prewhere.is_some() || !select.connect_by.is_empty(), "a clause"),
        (!select.cluster_by.is_empty() || !select.distribute_by.is_empty() || !select.sort_by.is_empty(), "a clause"),
        (!select.named_window.is_empty() || select.qualify.is_some(), "a window"),
        (select.exclude.is_some() || select.value_table_mode.is_some(), "a clause"),
    ];
    refuse(&refused)?;
    Ok(select)
}

fn refuse(refused: &[(bool, &str)]) -> Result<()> {
    match refused.iter().find(|(found, _)| *found) {
        Some((_, what)) => {
            Err(not_supported(format_args!("{what} in the query of a rollup"))
                .with_hint("use it in queries of the rollup"))
        }
        None => Ok(()),
    }
}

/// Checks that the query reads only the source table.
fn check_source(select: &Select, source: &Table) -> Result<()> {
    let name = &source.definition.name;
    let other = || {
        sql_error(format!("the query of a rollup on {name} reads another table, or several"))
            .with_hint(format!("SELECT ... FROM {name} alone; join in queries of the rollup"))
    };
    let [from] = select.from.as_slice() else { return Err(other()) };
    match &from.relation {
        TableFactor::Table { name: read, args: None, sample: None, version: None, .. } if from.joins.is_empty() => {
            match TableName::of(read)?.find(std::slice::from_ref(source)) {
                Some(_) => Ok(()),
                None => Err(other()),
            }
        }
        _ => Err(other()),
    }
}

/// The group expressions, with positions and aliases of the SELECT list replaced by their expressions.
fn take_groups(select: &Select) -> Result<Vec<Expr>> {
    let GroupByExpr::Expressions(groups, modifiers) = &select.group_by else {
        return Err(not_supported("GROUP BY ALL in the query of a rollup").with_hint("name what it groups by"));
    };
    if !modifiers.is_empty()
        || groups.iter().any(|expr| matches!(expr, Expr::Cube(_) | Expr::Rollup(_) | Expr::GroupingSets(_)))
    {
        return Err(not_supported("totals over groups in the query of a rollup"));
    }
    let stands_for = |expr: &Expr| -> Result<Expr> {
        match expr {
            Expr::Value(value) => match &value.value {
                Value::Number(position, _) => {
                    let position: usize = position.to_string().parse().map_err(|_| bad_position(expr))?;
                    let item = position.checked_sub(1).and_then(|position| select.projection.get(position));
                    item.and_then(item_expr).cloned().ok_or_else(|| bad_position(expr))
                }
                _ => Ok(expr.clone()),
            },
            Expr::Identifier(name) => {
                let named = select.projection.iter().find_map(|item| match item {
                    SelectItem::ExprWithAlias { expr: Expr::Function(call), alias } if alias.value == name.value => {
                        Some(Expr::Function(call.clone()))
                    }
                    _ => None,
                });
                // A column of the table takes precedence over an alias, except for the alias of the bucket.
                Ok(named.filter(is_bucket_function).unwrap_or_else(|| expr.clone()))
            }
            _ => Ok(expr.clone()),
        }
    };
    groups.iter().map(stands_for).collect()
}

fn bad_position(expr: &Expr) -> Error {
    sql_error(format!("GROUP BY {expr}: the SELECT list has no such position"))
}

fn item_expr(item: &SelectItem) -> Option<&Expr> {
    match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    }
}

fn is_bucket_function(expr: &Expr) -> bool {
    matches!(expr, Expr::Function(call) if is_bucket_name(call))
}

fn is_bucket_name(call: &Function) -> bool {
    let name = call.name.to_string();
    ["time_bucket", "date_bin"].iter().any(|known| known.eq_ignore_ascii_case(&name))
}

/// The arguments of a call that divides the time column into buckets.
fn bucket_call<'a>(expr: &'a Expr, time: &str) -> Option<&'a [FunctionArg]> {
    let Expr::Function(call) = expr else { return None };
    let FunctionArguments::List(list) = &call.args else { return None };
    let FunctionArg::Unnamed(FunctionArgExpr::Expr(cut)) = list.args.get(1).filter(|_| is_bucket_name(call))? else {
        return None;
    };
    let name = match cut {
        Expr::Identifier(name) => name,
        Expr::CompoundIdentifier(names) => names.last()?,
        _ => return None,
    };
    same_name(&name.value, time).then_some(&list.args)
}

/// The first argument, if it is a constant.
fn width_text(arguments: &[FunctionArg]) -> Option<String> {
    let FunctionArg::Unnamed(FunctionArgExpr::Expr(width)) = arguments.first()? else { return None };
    match width {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text.clone()),
            Value::Number(number, _) => Some(number.to_string()),
            _ => None,
        },
        Expr::Interval(interval) => {
            let Expr::Value(value) = interval.value.as_ref() else { return None };
            let text = match &value.value {
                Value::SingleQuotedString(text) => text.clone(),
                Value::Number(number, _) => number.to_string(),
                _ => return None,
            };
            Some(match &interval.leading_field {
                Some(field) => format!("{text} {}", field.to_string().to_lowercase()),
                None => text,
            })
        }
        _ => None,
    }
}

fn constant_width() -> Error {
    sql_error("the width of the query's buckets is not a constant").with_hint("GROUP BY time_bucket('1 hour', time)")
}

/// A width in months and nanoseconds. A number without a unit is in the unit of an integer time.
fn ticks_of(width: &str, source: &Table) -> Result<(i32, i128)> {
    let nanos_per_tick = 1_000_000_000 / i128::from(source.definition.time_unit().per_second());
    match width.trim().parse::<i64>() {
        Ok(ticks) if has_integer_time(source) => Ok((0, i128::from(ticks) * nanos_per_tick)),
        _ => parse_interval(width).map(|width| (width.months, nanos_of(width))),
    }
}

fn has_integer_time(source: &Table) -> bool {
    let column_type = source.definition.time_column().map(|column| column.column_type);
    !matches!(column_type, Some(ColumnType::Timestamp(_) | ColumnType::Date) | None)
}

fn implied_bucket(every: &str, source: &Table) -> Result<Expr> {
    let definition = &source.definition;
    let time = definition.time_column().map_or("", |column| column.name.as_str());
    let width = match has_integer_time(source) {
        false => format!("'{}'", every.replace('\'', "''")),
        true => {
            let (months, nanos) = ticks_of(every, source)?;
            let nanos_per_tick = 1_000_000_000 / i128::from(definition.time_unit().per_second());
            if months != 0 || nanos % nanos_per_tick != 0 {
                return Err(sql_error(format!("an integer time cannot be divided into '{every}'"))
                    .with_hint("use hours or days, or a number of the time's units"));
            }
            (nanos / nanos_per_tick).to_string()
        }
    };
    let text = format!("time_bucket({width}, {})", quoted(time));
    let parsed = Parser::new(&GenericDialect).try_with_sql(&text).and_then(|mut parser| parser.parse_expr());
    parsed.map_err(|error| sql_error(format!("EVERY '{every}': {error}")))
}

/// Makes the bucket a column, and returns its name.
fn name_bucket(select: &mut Select, bucket: &Expr, time: &str) -> String {
    let text = bucket.to_string();
    let position = select.projection.iter().position(|item| match item_expr(item) {
        Some(Expr::Identifier(_)) | None => false,
        Some(expr) => expr.to_string() == text,
    });
    let alias = if quoted(time) == time { Ident::new(time) } else { Ident::with_quote('"', time) };
    match position {
        Some(position) => match &select.projection[position] {
            SelectItem::ExprWithAlias { alias, .. } => alias.value.clone(),
            _ => {
                select.projection[position] = SelectItem::ExprWithAlias { expr: bucket.clone(), alias };
                time.to_owned()
            }
        },
        None => {
            select.projection.insert(0, SelectItem::ExprWithAlias { expr: bucket.clone(), alias });
            time.to_owned()
        }
    }
}
