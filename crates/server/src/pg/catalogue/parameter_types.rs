//! The types of the parameters of a query about the catalogue.

use super::contents;
use super::names::{function_name, ident};
use super::result_types::result_type;
use super::type_names::type_id;
use crate::pg::types::known;
use atsdb::sql::tree_walk::visit_expressions;
use datafusion::sql::sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, FunctionArguments, Query, Value as Literal};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// The types of the parameters: the declared ones, or else those of the functions that they are passed to or of the
/// expressions they are compared with, or else text.
pub(super) fn parameter_types(query: &Query, declared: &[u32]) -> Vec<u32> {
    let mut found: BTreeMap<usize, Option<u32>> = BTreeMap::new();
    let mut note = |expr: &Expr, type_id: Option<u32>| {
        if let Expr::Value(value) = expr
            && let Literal::Placeholder(name) = &value.value
            && let Some(number) = name.strip_prefix('$').and_then(|number| number.parse::<u16>().ok())
        {
            let noted = found.entry(usize::from(number)).or_default();
            *noted = noted.or(type_id);
        }
    };
    let _: ControlFlow<()> = visit_expressions(query, |expr| {
        match expr {
            Expr::Cast { expr, data_type, .. } => {
                note(expr, Some(type_id(data_type).unwrap_or(known::TEXT)));
            }
            Expr::BinaryOp { left, right, .. } => {
                note(left, operand_type(right));
                note(right, operand_type(left));
            }
            Expr::InList { expr, list, .. } => {
                let column = operand_type(expr);
                list.iter().for_each(|item| note(item, column));
            }
            Expr::AnyOp { left, right, .. } => {
                let element = operand_type(left).and_then(known::by_id);
                note(right, element.map(|element| element.array));
            }
            Expr::Function(function) => {
                if let FunctionArguments::List(list) = &function.args {
                    for (argument, type_id) in list.args.iter().zip(argument_types(&function_name(function))) {
                        if let FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) = argument {
                            note(argument, Some(*type_id));
                        }
                    }
                }
            }
            Expr::Value(_) => note(expr, None),
            _ => {}
        }
        ControlFlow::Continue(())
    });
    let count = found.keys().next_back().copied().unwrap_or(0).max(declared.len());
    let type_of = |number: usize| {
        let declared = declared.get(number - 1).copied().filter(|id| *id != 0 && *id != known::UNKNOWN);
        declared.or_else(|| found.get(&number).copied().flatten()).unwrap_or(known::TEXT)
    };
    (1..=count).map(type_of).collect()
}

/// The type of what a parameter is compared with, if it is known.
fn operand_type(expr: &Expr) -> Option<u32> {
    match expr {
        Expr::Identifier(name) => contents::type_of_column(&ident(name)),
        Expr::CompoundIdentifier(parts) => parts.last().and_then(|name| contents::type_of_column(&ident(name))),
        Expr::Nested(inner) => operand_type(inner),
        Expr::Cast { data_type, .. } => type_id(data_type),
        Expr::Function(function) => result_type(&function_name(function), &[]),
        _ => None,
    }
}

/// The types of a function's arguments. Those of others are texts.
fn argument_types(function: &str) -> &'static [u32] {
    match function {
        "current_setting" => &[known::TEXT, known::BOOL],
        "set_config" => &[known::TEXT, known::TEXT, known::BOOL],
        "current_schemas" => &[known::BOOL],
        "pg_get_userbyid"
        | "pg_table_is_visible"
        | "pg_type_is_visible"
        | "pg_function_is_visible"
        | "pg_get_functiondef"
        | "pg_get_function_arguments"
        | "pg_get_function_identity_arguments"
        | "pg_get_function_result" => &[known::OID],
        "format_type" | "col_description" => &[known::OID, known::INT4],
        "obj_description" | "shobj_description" => &[known::OID, known::NAME],
        "pg_get_expr" => &[known::TEXT, known::OID, known::BOOL],
        // The first argument may also be a name.
        "pg_get_viewdef" => &[known::TEXT, known::BOOL],
        "pg_get_constraintdef" | "pg_get_ruledef" | "pg_get_triggerdef" => &[known::OID, known::BOOL],
        "pg_get_indexdef" => &[known::OID, known::INT4, known::BOOL],
        "pg_relation_size" => &[known::REGCLASS, known::TEXT],
        "pg_table_size" | "pg_total_relation_size" | "pg_indexes_size" => &[known::REGCLASS],
        "pg_encoding_to_char" | "pg_cancel_backend" | "pg_blocking_pids" => &[known::INT4],
        "pg_terminate_backend" => &[known::INT4, known::INT8],
        _ => &[],
    }
}
