//! CHECK constraints of a declaration: their names, and the columns that their conditions name. Not owned: what a
//! condition means, and whether it is one (`check`).

use atsdb_core::name::same_name;
use atsdb_core::{Check, ColumnId, Error, Result, TableDefinition};
use atsdb_dialect::parse::statement::parse_condition;
use atsdb_dialect::parse::text_locations::{in_bytes, with_replaced};
use atsdb_dialect::text::errors::{not_supported, sql_error};
use atsdb_dialect::text::quoted_names::quoted;
use atsdb_dialect::text::tree_walk::visit_expressions;
use datafusion::sql::sqlparser::ast::{CheckConstraint, Expr, Ident, Value};
use datafusion::sql::sqlparser::tokenizer::Location;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// A constraint of a declaration whose columns may still be unknown.
#[derive(Debug)]
pub(crate) struct DeclaredCheck {
    name: Option<String>,
    condition: String,
    not_valid: bool,
}

impl DeclaredCheck {
    /// The constraint of a syntax tree, with the name that stands before it.
    pub(crate) fn of(name: Option<&Ident>, check: &CheckConstraint) -> Result<Self> {
        if check.enforced == Some(false) {
            return Err(not_supported("CHECK (...) NOT ENFORCED").with_hint("leave the constraint out"));
        }
        let condition = match check.expr.as_ref() {
            Expr::Value(value) => match &value.value {
                Value::SingleQuotedString(condition) => condition.clone(),
                other => other.to_string(),
            },
            other => other.to_string(),
        };
        let name = name.or(check.name.as_ref()).map(|name| name.value.clone());
        Ok(Self { name, condition, not_valid: false })
    }

    /// Tests only rows that are written from now on.
    pub(crate) fn without_validation(self) -> Self {
        Self { not_valid: true, ..self }
    }

    /// Adds it to a definition that has its columns.
    pub(crate) fn apply(self, definition: &mut TableDefinition) -> Result<()> {
        let Self { name, condition, not_valid } = self;
        let names = names_in(&parse_condition(&condition)?)?;
        let mut columns: Vec<ColumnId> = Vec::new();
        let mut edits = Edits::default();
        for parts in &names {
            let Some((column, qualifiers)) = parts.split_last() else { continue };
            if let Some(qualifier) = qualifiers.last() {
                if !same_name(&qualifier.value, definition.local_name()) {
                    let table = &qualifier.value;
                    return Err(sql_error(format!("missing FROM-clause entry for table \"{table}\""))
                        .with_hint("a CHECK constraint is about the columns of its own table"));
                }
                // The table may get another name.
                let first = &qualifiers[0];
                edits.replace(first.span.start, column.span.start, String::new())?;
            }
            columns.push(definition.column(&column.value)?.id);
        }
        columns.sort_unstable();
        columns.dedup();
        let name = name.unwrap_or_else(|| definition.free_check_name(&columns));
        definition.checks.push(Check { name, condition: edits.apply(&condition), columns, not_valid });
        Ok(())
    }
}

/// Gives a column another name in the conditions of a table's constraints.
pub(crate) fn rename_in_checks(definition: &mut TableDefinition, column: ColumnId, from: &str, to: &str) -> Result<()> {
    for check in definition.checks.iter_mut().filter(|check| check.columns.contains(&column)) {
        let mut edits = Edits::default();
        for parts in names_in(&parse_condition(&check.condition)?)? {
            if let Some(name) = parts.last().filter(|name| same_name(&name.value, from)) {
                edits.replace(name.span.start, name.span.end, quoted(to))?;
            }
        }
        check.condition = edits.apply(&check.condition);
    }
    Ok(())
}

/// The names of columns in a condition, each with what stands before it.
fn names_in(condition: &Expr) -> Result<Vec<Vec<Ident>>> {
    let mut names = Vec::new();
    let seen = visit_expressions(condition, |expr| {
        match expr {
            Expr::Identifier(name) => names.push(vec![name.clone()]),
            Expr::CompoundIdentifier(parts) => names.push(parts.clone()),
            Expr::Subquery(_) | Expr::Exists { .. } | Expr::InSubquery { .. } => {
                let error = sql_error("cannot use subquery in check constraint");
                return ControlFlow::Break(error.with_hint("write a condition over the columns of one row"));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    });
    match seen {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok(names),
    }
}

/// The ends and the new texts of parts of a condition, by their starts. They do not overlap.
#[derive(Default)]
struct Edits(BTreeMap<Location, (Location, String)>);

impl Edits {
    fn replace(&mut self, start: Location, end: Location, text: String) -> Result<()> {
        if start.line == 0 || start >= end {
            return Err(Error::internal("a name in a condition has no place in its text"));
        }
        self.0.insert(start, (end, text));
        Ok(())
    }

    fn apply(self, condition: &str) -> String {
        let parts = self.0.into_iter().map(|(start, (end, text))| (start..end, text));
        with_replaced(condition, &in_bytes(condition, parts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb_core::ColumnType;

    fn applied(condition: &str) -> Result<Check> {
        let mut definition = ["a", "Größe", "year"]
            .iter()
            .fold(TableDefinition::new("t"), |of, name| of.with_column(*name, ColumnType::Int64, None));
        DeclaredCheck { name: None, condition: condition.to_owned(), not_valid: false }.apply(&mut definition)?;
        Ok(definition.checks.remove(0))
    }

    #[test]
    fn a_condition_names_its_columns() {
        let check = applied("T.a > 0 AND \"Größe\" < public.t.A").unwrap();
        assert_eq!((check.condition.as_str(), check.name.as_str()), ("a > 0 AND \"Größe\" < A", "t_check"));
        assert_eq!(check.columns, [ColumnId(0), ColumnId(1)]);
        assert_eq!(applied("a > 0 or a is null").unwrap().name, "t_a_check");
        assert!(applied("true").unwrap().columns.is_empty());
    }

    #[test]
    fn other_names_and_queries_are_refused() {
        let message = |condition| applied(condition).unwrap_err().to_string();
        assert!(message("b > 0").contains("no column named b"));
        assert!(message("u.a > 0").contains("missing FROM-clause entry for table \"u\""));
        for query in ["a > (SELECT 1)", "EXISTS (SELECT 1)", "a IN (SELECT 1)"] {
            assert!(message(query).contains("cannot use subquery in check constraint"), "{query}");
        }
        assert!(applied("a >").is_err() && applied("").is_err() && applied("a > 0, a").is_err());
    }

    #[test]
    fn a_new_name_is_written_where_the_column_is_meant() {
        let mut definition = TableDefinition::new("t").with_column("year", ColumnType::Int64, None);
        let condition = "Year > 0 AND extract(year FROM DATE '2020-01-01') > \"year\" AND 'year' <> ''".to_owned();
        DeclaredCheck { name: None, condition, not_valid: false }.apply(&mut definition).unwrap();
        rename_in_checks(&mut definition, ColumnId(0), "year", "My Year").unwrap();
        assert_eq!(
            definition.checks[0].condition,
            "\"My Year\" > 0 AND extract(year FROM DATE '2020-01-01') > \"My Year\" AND 'year' <> ''"
        );
    }
}
