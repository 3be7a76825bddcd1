//! Names in queries.

use atsdb::sql::ResultName;
use datafusion::sql::sqlparser::ast::{Expr, Function, Ident, ObjectName};

/// A name as PostgreSQL folds it: in lower case unless it is quoted.
pub(in crate::pg) fn ident(ident: &Ident) -> String {
    if ident.quote_style.is_some() { ident.value.clone() } else { ident.value.to_lowercase() }
}

/// The parts of a name.
pub(in crate::pg) fn parts(name: &ObjectName) -> Vec<String> {
    name.0.iter().filter_map(|part| part.as_ident()).map(ident).collect()
}

/// The schema, if the name is qualified, and the name.
pub(in crate::pg) fn schema_and_name(name: &ObjectName) -> (Option<String>, String) {
    let mut parts = parts(name);
    let last = parts.pop().unwrap_or_default();
    (parts.pop(), last)
}

/// The name of a function without its schema.
pub(in crate::pg) fn function_name(function: &Function) -> String {
    schema_and_name(&function.name).1
}

/// The name of an output column without an alias.
pub(in crate::pg) fn name_of_expression(expr: &Expr) -> String {
    match ResultName::of(expr) {
        ResultName::Own(name) => ident(&name),
        ResultName::Case => "case".to_owned(),
        ResultName::Type(data_type) => super::type_names::type_name(data_type),
        ResultName::Bool => "bool".to_owned(),
        ResultName::Interval => "interval".to_owned(),
        ResultName::None => "?column?".to_owned(),
    }
}
