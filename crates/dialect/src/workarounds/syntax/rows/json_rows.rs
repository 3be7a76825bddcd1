//! Functions of JSON, of texts and of full-text search that return rows in FROM, as in `FROM t, jsonb_each(t.doc)` and
//! `FROM t, string_to_table(t.s, ',')`: each is a subquery that unnests lists of the same length, one for each column.
//! A function of one value, as in `FROM t, lower(t.s) AS l`, is a subquery of one row.
//!
//! No upstream issue known.

use super::rows_of_functions::{is_table_function, mentions_column};
use crate::functions::place_arguments;
use crate::text::errors::{sql_error, too_many_names};
use crate::text::file_functions;
use crate::workarounds::syntax::forms::composed_functions::returns_rows_of_list;
use crate::workarounds::syntax::names::aggregate_names::is_name_of_aggregate;
use crate::workarounds::syntax::{expression, set_arguments, set_first_argument};
use atsdb_core::{Error, Result};
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, SelectItem, SetExpr,
    TableAlias, TableFactor,
};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;

/// A column of a function's rows.
struct RowColumn {
    /// The name of the column; `None` if it has the name of the relation.
    name: Option<&'static str>,
    /// The function that returns the list of its values.
    list: &'static str,
    /// The function that says that they are JSON.
    declaration: Option<&'static str>,
}

const fn column(name: &'static str, list: &'static str, declaration: Option<&'static str>) -> RowColumn {
    RowColumn { name: Some(name), list, declaration }
}

const fn values(list: &'static str) -> RowColumn {
    RowColumn { name: None, list, declaration: None }
}

const JSON: Option<&str> = Some("declared_json");
const JSONB: Option<&str> = Some("declared_jsonb");

const FUNCTIONS: [(&str, &[RowColumn]); 18] = [
    ("json_array_elements", &[column("value", "json_elements", JSON)]),
    ("json_array_elements_text", &[column("value", "json_elements_text", None)]),
    ("jsonb_array_elements", &[column("value", "jsonb_elements", JSONB)]),
    ("jsonb_array_elements_text", &[column("value", "jsonb_elements_text", None)]),
    ("json_each", &[column("key", "json_keys", None), column("value", "json_values", JSON)]),
    ("json_each_text", &[column("key", "json_keys", None), column("value", "json_values_text", None)]),
    ("jsonb_each", &[column("key", "jsonb_keys", None), column("value", "jsonb_values", JSONB)]),
    ("jsonb_each_text", &[column("key", "jsonb_keys", None), column("value", "jsonb_values_text", None)]),
    ("json_object_keys", &[values("json_keys")]),
    ("jsonb_object_keys", &[values("jsonb_keys")]),
    ("jsonb_path_query", &[RowColumn { name: None, list: PATH_ELEMENTS, declaration: JSONB }]),
    ("jsonb_path_query_tz", &[RowColumn { name: None, list: PATH_ELEMENTS_TZ, declaration: JSONB }]),
    ("regexp_matches", &[values("regexp_all_matches")]),
    ("regexp_split_to_table", &[values("regexp_split_to_array")]),
    ("string_to_table", &[values("string_to_array")]),
    (
        "ts_debug",
        &[
            column("alias", "ts_debug_aliases", None),
            column("description", "ts_debug_descriptions", None),
            column("token", "ts_debug_tokens", None),
            column("dictionaries", "ts_debug_dictionaries", None),
            column("dictionary", "ts_debug_dictionary", None),
            column("lexemes", "ts_debug_lexemes", None),
        ],
    ),
    ("ts_parse", &[column("tokid", "ts_parse_ids", None), column("token", "ts_parse_tokens", None)]),
    (
        "ts_token_type",
        &[
            column("tokid", "ts_token_type_ids", None),
            column("alias", "ts_token_type_aliases", None),
            column("description", "ts_token_type_descriptions", None),
        ],
    ),
];

/// The lists of what a path finds in a document.
const PATH_ELEMENTS: &str = "jsonb_path_elements";
const PATH_ELEMENTS_TZ: &str = "jsonb_path_elements_tz";

/// The name of the column that `WITH ORDINALITY` adds.
const ORDINALITY: &str = "ordinality";

fn columns_of(name: &ObjectName) -> Option<&'static [RowColumn]> {
    let name = name.to_string().to_ascii_lowercase();
    FUNCTIONS.iter().find(|(known, _)| *known == name).map(|(_, columns)| *columns)
}

/// Returns whether it is the call of a function that returns one value. One whose alias gives types to columns returns
/// records.
fn returns_value(name: &ObjectName, alias: Option<&TableAlias>) -> bool {
    let has_types = alias.is_some_and(|alias| alias.columns.iter().any(|column| column.data_type.is_some()));
    let is_plain = |name: &Ident| file_functions::format_of(&name.value).is_none();
    let is_known = name.0.len() == 1 && name.0[0].as_ident().is_some_and(is_plain);
    is_known && !has_types && !is_table_function(name) && !returns_rows_of_list(name)
}

/// The name of a relation of such rows and the names of its columns; `None` if it is another relation.
pub(crate) fn names_of_rows(factor: &TableFactor) -> Option<(Ident, Vec<Ident>)> {
    let (TableFactor::Table { name, args: Some(_), alias, with_ordinality, .. }
    | TableFactor::Function { name, alias, with_ordinality, .. }) = factor
    else {
        return None;
    };
    let relation = match alias {
        Some(alias) => alias.name.clone(),
        None => name.0.last()?.as_ident()?.clone(),
    };
    let name_of = |column: &RowColumn| column.name.map_or_else(|| relation.clone(), Ident::new);
    let mut names: Vec<Ident> = match columns_of(name) {
        Some(columns) => columns.iter().map(name_of).collect(),
        None if returns_value(name, alias.as_ref()) => vec![relation.clone()],
        None => return None,
    };
    names.extend(with_ordinality.then(|| Ident::new(ORDINALITY)));
    for (name, column) in names.iter_mut().zip(alias.iter().flat_map(|alias| &alias.columns)) {
        name.clone_from(&column.name);
    }
    Some((relation, names))
}

/// Writes such a function as a subquery. One that begins a FROM can only mention columns of an outer query.
pub(crate) fn select_json_rows(factor: &mut TableFactor, is_first: bool) -> Result<()> {
    let Some((relation, names)) = names_of_rows(factor) else { return Ok(()) };
    let (name, args, alias) = match &*factor {
        TableFactor::Table { name, args: Some(args), alias, .. } => (name, &args.args, alias),
        TableFactor::Function { name, args, alias, .. } => (name, args, alias),
        _ => return Ok(()),
    };
    if let Some(alias) = alias.as_ref().filter(|alias| alias.columns.len() > names.len()) {
        return Err(too_many_names(&relation.value, names.len(), alias.columns.len()));
    }
    let is_lateral = !is_first && args.iter().any(mentions_column);
    let values = match columns_of(name) {
        Some(columns) => {
            let mut placed = args.clone();
            place_arguments(name, &mut placed)?;
            elements(name, &placed, columns, names.len() > columns.len())?
        }
        None if is_name_of_aggregate(name) => {
            let error = sql_error("aggregate functions are not allowed in functions in FROM");
            return Err(error.with_hint("write a subquery: FROM t, (SELECT sum(x) AS s FROM t) AS q"));
        }
        None => value(name, args, names.len() > 1)?,
    };
    let text = "(SELECT 1)";
    let parsed = Parser::new(&GenericDialect).try_with_sql(text).and_then(|mut parser| parser.parse_table_factor());
    let mut selected = parsed.map_err(|error| Error::internal(format!("{text}: {error}")))?;
    if let TableFactor::Derived { lateral, subquery, alias, .. } = &mut selected
        && let SetExpr::Select(select) = subquery.body.as_mut()
    {
        let item = |(expr, alias)| SelectItem::ExprWithAlias { expr, alias };
        select.projection = values.into_iter().zip(names).map(item).collect();
        *lateral = is_lateral;
        *alias = Some(TableAlias { explicit: true, name: relation, columns: Vec::new(), at: None });
    }
    *factor = selected;
    Ok(())
}

/// The value of a function as a SELECT list, with the number of its only row.
fn value(name: &ObjectName, args: &[FunctionArg], is_numbered: bool) -> Result<Vec<Expr>> {
    let mut call = expression("coalesce(NULL)")?;
    if let Expr::Function(Function { name: called, args: FunctionArguments::List(list), .. }) = &mut call {
        called.clone_from(name);
        list.args = args.to_vec();
    }
    let mut values = vec![call];
    if is_numbered {
        values.push(expression("CAST(1 AS BIGINT)")?);
    }
    Ok(values)
}

/// The columns of a function's rows as a SELECT list, with the numbers of the rows.
fn elements(name: &ObjectName, args: &[FunctionArg], columns: &[RowColumn], is_numbered: bool) -> Result<Vec<Expr>> {
    let value = |argument: &FunctionArg| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Some(value.clone()),
        _ => None,
    };
    let (counts, what) = match columns {
        [RowColumn { list: PATH_ELEMENTS | PATH_ELEMENTS_TZ, .. }] => {
            (2..=4, "a document, a path, variables and silent")
        }
        [RowColumn { list: "string_to_array", .. }] => (2..=3, "a text, a separator and the text of NULL"),
        [RowColumn { list: "regexp_all_matches" | "regexp_split_to_array", .. }] => {
            (2..=3, "a text, a pattern and flags")
        }
        [RowColumn { list: "ts_debug_aliases", .. }, ..] => (1..=2, "a configuration and a text"),
        [RowColumn { list: "ts_parse_ids", .. }, ..] => (2..=2, "a parser and a text"),
        [RowColumn { list: "ts_token_type_ids", .. }, ..] => (1..=1, "a parser"),
        _ => (1..=1, "one document"),
    };
    let arguments = args.iter().map(value).collect::<Option<Vec<_>>>();
    let Some(arguments) = arguments.filter(|arguments| counts.contains(&arguments.len())) else {
        return Err(sql_error(format!("{name} takes {what}")));
    };
    let call = |function: &str, argument: Expr| -> Result<Expr> {
        let mut call = expression(&format!("{function}(NULL)"))?;
        set_first_argument(&mut call, argument);
        Ok(call)
    };
    let list = |column: &RowColumn| -> Result<Expr> {
        let mut list = expression(&format!("{}(NULL)", column.list))?;
        set_arguments(&mut list, arguments.clone());
        Ok(list)
    };
    let mut values = Vec::with_capacity(columns.len() + 1);
    for column in columns {
        let elements = call("unnest", list(column)?)?;
        values.push(match column.declaration {
            Some(declaration) => call(declaration, elements)?,
            None => elements,
        });
    }
    if let Some(column) = columns.first().filter(|_| is_numbered) {
        values.push(call("unnest", call("json_positions", list(column)?)?)?);
    }
    Ok(values)
}
