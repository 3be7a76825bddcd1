//! `SET a = 1, (b, c) = (2, 3)`.

use crate::text::errors::{not_supported, sql_error};
use atsdb_core::Result;
use datafusion::sql::sqlparser::ast::{Assignment, AssignmentTarget, Expr, ObjectName};

/// Each assigned column, by name, and its new value.
pub(crate) fn assignments(assignments: &mut Vec<Assignment>) -> Result<Vec<(String, Expr)>> {
    let name_of = |name: &ObjectName| match name.0.last().and_then(|part| part.as_ident()) {
        Some(ident) => Ok(ident.value.clone()),
        None => Err(sql_error(format!("{name} is not a column"))),
    };
    let mut set = Vec::new();
    for Assignment { target, value } in assignments.drain(..) {
        match (target, value) {
            (AssignmentTarget::ColumnName(name), value) => set.push((name_of(&name)?, value)),
            (AssignmentTarget::Tuple(names), Expr::Tuple(values)) if names.len() == values.len() => {
                for (name, value) in names.iter().zip(values) {
                    set.push((name_of(name)?, value));
                }
            }
            (AssignmentTarget::Tuple(_), _) => {
                return Err(not_supported("SET (a, b) = anything but as many values").with_hint("SET a = 1, b = 2"));
            }
        }
    }
    Ok(set)
}
