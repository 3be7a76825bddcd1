//! Declarations between text and definition: `CREATE TABLE` both ways, and the pieces that other declarations share.

pub(crate) mod alter;
pub(crate) mod columns;
pub(crate) mod constraints;
pub(crate) mod defaults;
pub(crate) mod foreign;
pub(crate) mod from_query;
pub(crate) mod in_statements;
mod print;

pub use print::{create_table_sql, quoted};

use crate::error::{as_sql_error, not_supported, sql_error};
use crate::table_options::TableOptions;
use atsdb_core::{ColumnId, Result, TableDefinition};
use columns::with_column;
use constraints::Constraints;
use datafusion::sql::sqlparser::ast::helpers::stmt_create_table::CreateTableBuilder;
use datafusion::sql::sqlparser::ast::{CreateTable, CreateTableOptions, ObjectName, Statement};

/// The table that a `CREATE TABLE` declares. Whatever cannot be honoured is an error.
pub(crate) fn table_definition(create: &CreateTable) -> Result<TableDefinition> {
    refuse_other_clauses(create)?;
    let mut definition = TableDefinition::new(table_name(&create.name)?);
    let mut constraints = Constraints::default();
    for column in &create.columns {
        definition = with_column(definition, column, &mut constraints)?;
    }
    let place = format!("table {}", definition.name);
    for constraint in &create.constraints {
        constraints.table_constraint(constraint).map_err(|error| error.context(&place))?;
    }
    constraints.apply(&mut definition).map_err(as_sql_error)?;
    let definition = table_options(create)?.apply(definition).map_err(as_sql_error)?;
    definition.check().map_err(as_sql_error)?;
    Ok(definition)
}

/// What stands in `WITH (...)`.
pub(crate) fn table_options(create: &CreateTable) -> Result<TableOptions> {
    match &create.table_options {
        CreateTableOptions::None => Ok(TableOptions::default()),
        CreateTableOptions::With(options) => TableOptions::read(options).map_err(as_sql_error),
        other => Err(not_supported(other).with_hint("use WITH (NAME = 'VALUE', ...)")),
    }
}

/// The definition that a `CREATE TABLE` text declares; the inverse of [`create_table_sql`].
pub fn parse_create_table(text: &str) -> Result<TableDefinition> {
    match crate::parse::parse_declaring(text.trim_end().trim_end_matches(';'), crate::script::Place::START, &[])? {
        Statement::CreateTable(create) => table_definition(&create),
        other => Err(crate::refuse::refused(&other).with_hint("a CREATE TABLE is wanted here")),
    }
}

/// The last part of a table's name; what stands before may only be the one schema there is.
pub(crate) fn table_name(name: &ObjectName) -> Result<String> {
    let parts: Vec<&str> = name.0.iter().filter_map(|part| part.as_ident()).map(|ident| ident.value.as_str()).collect();
    match parts.as_slice() {
        [table] => Ok((*table).to_owned()),
        [schema, table] if ["main", "public"].iter().any(|known| known.eq_ignore_ascii_case(schema)) => {
            Ok((*table).to_owned())
        }
        _ => Err(sql_error(format!("no schema of the table {name}")).with_hint("write the table's name alone")),
    }
}

/// The series key that a table has by its primary key: its columns without the time.
pub(crate) fn series_key_of_primary(definition: &TableDefinition) -> Vec<ColumnId> {
    let time = definition.time.map(|time| time.column);
    let primary = definition.unique.first().filter(|unique| unique.primary);
    primary.map_or_else(Vec::new, |unique| unique.columns.iter().copied().filter(|id| Some(*id) != time).collect())
}

/// Everything that the parser read and that is not looked at here.
pub(crate) fn refuse_other_clauses(create: &CreateTable) -> Result<()> {
    if create.query.is_some() {
        return Err(sql_error("CREATE TABLE ... AS declares no columns by itself"));
    }
    if create.or_replace {
        return Err(not_supported("CREATE OR REPLACE TABLE").with_hint("DROP TABLE IF EXISTS first"));
    }
    if create.temporary {
        return Err(not_supported("CREATE TEMPORARY TABLE"));
    }
    let known = CreateTableBuilder::new(create.name.clone())
        .if_not_exists(create.if_not_exists)
        .columns(create.columns.clone())
        .constraints(create.constraints.clone())
        .table_options(create.table_options.clone())
        .build();
    if known != *create {
        return Err(not_supported("a clause of this CREATE TABLE")
            .with_hint("after the columns there may be WITH (NAME = 'VALUE', ...) and nothing else"));
    }
    Ok(())
}
