//! `ROWS FROM (f(...), g(...))`, which has a column for each function, and as many rows as the longest of them. The
//! parser does not know it: its tokens are written as a function, which becomes an `unnest` of several lists.
//!
//! No upstream issue known.

use super::rows_of_functions::named;
use crate::text::errors::not_supported;
use crate::text::tree_walk::visit_mut;
use crate::workarounds::syntax::names::output_names::distinct;
use crate::workarounds::syntax::tokens::statement_words::ROWS_FROM;
use crate::workarounds::syntax::{expression, set_first_argument};
use atsdb_core::name::same_name;
use atsdb_core::{Error, Result};
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, Statement, TableAliasColumnDef,
    TableFactor, VisitorMut,
};
use std::ops::ControlFlow;

/// Functions that return rows, and those that return the same as a list.
const LISTS: [(&str, &str); 5] = [
    ("generate_series", "generate_series"),
    ("generate_subscripts", "generate_subscripts"),
    ("regexp_matches", "regexp_all_matches"),
    ("regexp_split_to_table", "regexp_split_to_array"),
    ("string_to_table", "string_to_array"),
];

/// Functions whose rows are no list here.
const REFUSED: [&str; 4] = ["json_each", "json_each_text", "jsonb_each", "jsonb_each_text"];

/// Rewrites such tables of a statement.
pub(crate) fn write_rows_from(statement: &mut Statement) -> Result<()> {
    match visit_mut(statement, &mut RowsFrom) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct RowsFrom;

impl VisitorMut for RowsFrom {
    type Break = Error;

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        let (name, args, alias, with_ordinality) = match factor {
            TableFactor::Table { name, args: Some(args), alias, with_ordinality, .. } => {
                (name, &mut args.args, alias, *with_ordinality)
            }
            TableFactor::Function { name, args, alias, with_ordinality, .. } => (name, args, alias, *with_ordinality),
            _ => return ControlFlow::Continue(()),
        };
        if name.to_string() != ROWS_FROM {
            return ControlFlow::Continue(());
        }
        let calls = match args.drain(..).map(call).collect::<Result<Vec<_>>>() {
            Ok(calls) => calls,
            Err(error) => return ControlFlow::Break(error),
        };
        if let [Function { name: only, args: FunctionArguments::List(list), .. }] = calls.as_slice() {
            (*name, *args) = (only.clone(), list.args.clone());
            return ControlFlow::Continue(());
        }
        let mut names: Vec<Ident> = Vec::with_capacity(calls.len());
        for (position, call) in calls.iter().enumerate() {
            let name = name_of(&call.name);
            let is_taken = names.iter().any(|other| same_name(&other.value, &name.value));
            names.push(if is_taken { distinct(&name.value, position) } else { name });
        }
        let array_exprs = match calls.into_iter().map(list).collect::<Result<Vec<_>>>() {
            Ok(lists) => lists,
            Err(error) => return ControlFlow::Break(error),
        };
        let mut alias = alias.take().unwrap_or_else(|| named(Ident::new("rows")));
        let ordinality = with_ordinality.then(|| Ident::new("ordinality"));
        let missing = names.into_iter().chain(ordinality).skip(alias.columns.len());
        alias.columns.extend(missing.map(|name| TableAliasColumnDef { name, data_type: None }).collect::<Vec<_>>());
        let alias = Some(alias);
        *factor =
            TableFactor::UNNEST { alias, array_exprs, with_offset: false, with_offset_alias: None, with_ordinality };
        ControlFlow::Continue(())
    }
}

fn name_of(function: &ObjectName) -> Ident {
    function.0.last().and_then(|part| part.as_ident()).cloned().unwrap_or_else(|| Ident::new("column"))
}

/// The call of a function.
fn call(arg: FunctionArg) -> Result<Function> {
    match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Function(call))) => Ok(call),
        other => Err(not_supported(format_args!("ROWS FROM ({other})")).with_hint("write calls of functions")),
    }
}

/// The rows of a function as a list. A function that returns no rows has one.
fn list(mut call: Function) -> Result<Expr> {
    let name = name_of(&call.name).value.to_ascii_lowercase();
    if let Some((_, list)) = LISTS.iter().find(|(rows, _)| *rows == name) {
        call.name = ObjectName::from(vec![Ident::new(*list)]);
        return Ok(Expr::Function(call));
    }
    if REFUSED.contains(&name.as_str()) || name.contains("_array_elements") || name.ends_with("_object_keys") {
        let error = not_supported(format_args!("{name} in ROWS FROM beside other functions"));
        return Err(error.with_hint("write it as a separate item of FROM"));
    }
    if name == "unnest"
        && let FunctionArguments::List(list) = &call.args
        && let [FunctionArg::Unnamed(FunctionArgExpr::Expr(array))] = list.args.as_slice()
    {
        return Ok(array.clone());
    }
    let mut one = expression("make_array(NULL)")?;
    set_first_argument(&mut one, Expr::Function(call));
    Ok(one)
}
