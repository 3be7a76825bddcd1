//! `generate_subscripts(array, dimension)`, which DataFusion lacks, is a series of the positions in the array.
//!
//! No upstream issue known.

use super::rows_of_functions::named;
use crate::text::errors::not_supported;
use crate::text::tree_walk::visit_mut;
use crate::workarounds::syntax::forms::composed_functions::filled;
use atsdb_core::{Error, Result};
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Ident, ObjectName, Statement, TableFactor, Value,
    ValueWithSpan, VisitorMut,
};
use std::ops::ControlFlow;

const SUBSCRIPTS: &str = "generate_subscripts";

/// The last position in a dimension `b` of an array `a`.
const LAST: &str = "CAST(coalesce(array_length(a, b), 0) AS INT)";

/// The same in FROM, where DataFusion's series takes a constant only if it is a BIGINT.
const LAST_IN_FROM: &str = "coalesce(array_length(a, b), 0)";

/// Rewrites the calls in a statement.
pub(crate) fn write_subscripts(statement: &mut Statement) -> Result<()> {
    match visit_mut(statement, &mut Subscripts) {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Subscripts;

impl VisitorMut for Subscripts {
    type Break = Error;

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<Error> {
        let (name, args, alias) = match factor {
            TableFactor::Table { name, args: Some(args), alias, .. } => (name, &mut args.args, alias),
            TableFactor::Function { name, args, alias, .. } => (name, args, alias),
            _ => return ControlFlow::Continue(()),
        };
        if !is_it(name) {
            return ControlFlow::Continue(());
        }
        match series(args, LAST_IN_FROM) {
            Ok(Expr::Function(Function { name: series, args: FunctionArguments::List(list), .. })) => {
                (*name, *args) = (series, list.args);
                alias.get_or_insert_with(|| named(Ident::new(SUBSCRIPTS)));
                ControlFlow::Continue(())
            }
            Ok(other) => ControlFlow::Break(Error::internal(format!("{other} is not a call"))),
            Err(error) => ControlFlow::Break(error),
        }
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Error> {
        let Expr::Function(Function { name, args: FunctionArguments::List(list), .. }) = &*expr else {
            return ControlFlow::Continue(());
        };
        if !is_it(name) {
            return ControlFlow::Continue(());
        }
        match series(&list.args, LAST) {
            Ok(series) => {
                *expr = series;
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        }
    }
}

fn is_it(name: &ObjectName) -> bool {
    let [part] = name.0.as_slice() else { return false };
    part.as_ident().is_some_and(|name| name.value.eq_ignore_ascii_case(SUBSCRIPTS))
}

/// The series from the first position to `last`, or the other way round if the third argument is true.
fn series(args: &[FunctionArg], last: &str) -> Result<Expr> {
    let value = |arg: &FunctionArg| match arg {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Some(value.clone()),
        _ => None,
    };
    let values = args.iter().map(value).collect::<Option<Vec<_>>>().unwrap_or_default();
    match values.as_slice() {
        [array, dimension] => filled(&format!("generate_series(1, {last})"), &[array, dimension]),
        [array, dimension, Expr::Value(ValueWithSpan { value: Value::Boolean(is_reversed), .. })] => {
            let template = match is_reversed {
                true => format!("generate_series({last}, 1, -1)"),
                false => format!("generate_series(1, {last})"),
            };
            filled(&template, &[array, dimension])
        }
        _ => Err(not_supported("generate_subscripts of other arguments than an array, a dimension, and true or false")),
    }
}
