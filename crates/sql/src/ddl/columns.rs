//! One column of a `CREATE TABLE` or `ALTER TABLE`: its type and its options.

use super::constraints::Constraints;
use super::defaults::default_value;
use super::type_names::column_type;
use crate::text::errors::not_supported;
use atsdb_core::{Column, Error, Result, TableDefinition};
use datafusion::sql::sqlparser::ast::{ColumnDef, ColumnOption, Expr, ObjectName};

/// Adds a column to a definition, and its key options to `constraints`.
pub(crate) fn with_column(
    definition: TableDefinition,
    declared: &ColumnDef,
    constraints: &mut Constraints,
) -> Result<TableDefinition> {
    let name = &declared.name.value;
    let place = format!("table {}, column {name}", definition.name);
    let column_type = column_type(&declared.data_type, &place)?;
    let mut definition = definition.with_column(name, column_type, None);
    let Some(column) = definition.columns.last_mut() else { return Err(Error::internal("no column was added")) };
    // `DEFAULT NULL` is not a default, so NOT NULL must not be a reason to refuse it.
    let mut default: Option<&Expr> = None;
    for option in &declared.options {
        read_option(&option.option, option.name.as_ref(), column, &mut default, constraints)
            .map_err(|error| error.context(&place))?;
    }
    if let Some(default) = default {
        column.default = default_value(column, default).map_err(|error| error.context(&place))?;
    }
    Ok(definition)
}

fn read_option<'a>(
    option: &'a ColumnOption,
    name: Option<&datafusion::sql::sqlparser::ast::Ident>,
    column: &mut Column,
    default: &mut Option<&'a Expr>,
    constraints: &mut Constraints,
) -> Result<()> {
    let columns = || vec![column.name.clone()];
    match option {
        ColumnOption::Null | ColumnOption::Comment(_) | ColumnOption::CharacterSet(_) => Ok(()),
        ColumnOption::NotNull => {
            column.nullable = false;
            Ok(())
        }
        ColumnOption::Default(expression) => {
            *default = Some(expression);
            Ok(())
        }
        ColumnOption::Collation(collation) => check_collation(collation),
        ColumnOption::PrimaryKey(key) if key.characteristics.is_none() => constraints.primary(name, columns()),
        ColumnOption::Unique(key) if key.characteristics.is_none() => {
            constraints.unique(name, columns(), key.nulls_distinct);
            Ok(())
        }
        // SQLite's PRIMARY KEY DESC. The order has no effect here.
        ColumnOption::DialectSpecific(_) if matches!(option.to_string().as_str(), "ASC" | "DESC") => Ok(()),
        ColumnOption::DialectSpecific(_) | ColumnOption::Identity(_) => {
            Err(not_supported(option).with_hint("leave it out and give the values in the INSERT"))
        }
        ColumnOption::Check(_) => Err(not_supported("CHECK").with_hint("leave it out")),
        ColumnOption::ForeignKey(_) => Err(not_supported("REFERENCES").with_hint("leave it out")),
        other => Err(not_supported(other).with_hint("leave it out")),
    }
}

/// Text is compared by its bytes. A database's default collation is accepted; one that was chosen to ignore case is
/// refused, because it would have no effect.
fn check_collation(collation: &ObjectName) -> Result<()> {
    match collation.to_string().trim_matches('"').eq_ignore_ascii_case("nocase") {
        true => Err(not_supported(format_args!("COLLATE {collation}"))
            .with_hint("leave it out, and compare lower(COLUMN) or use ILIKE")),
        false => Ok(()),
    }
}
