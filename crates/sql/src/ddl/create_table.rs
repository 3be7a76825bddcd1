//! The table that a `CREATE TABLE` declares.

use super::columns::with_column;
use super::constraints::Constraints;
use super::enumerations::unknown_type;
use super::options::{TableOptions, is_name_of_time};
use atsdb_core::name::same_name;
use atsdb_core::{Result, TableDefinition};
use atsdb_dialect::parse::refuse::refused;
use atsdb_dialect::parse::statement::parse_declaring;
use atsdb_dialect::text::errors::{as_sql_error, not_supported, sql_error};
use atsdb_dialect::text::params::Parameters;
use atsdb_dialect::text::source_position::SourcePosition;
use atsdb_dialect::text::table_names::{NamedSchema, TableName};
use atsdb_engine::OnCommit;
use datafusion::sql::sqlparser::ast::helpers::stmt_create_table::CreateTableBuilder;
use datafusion::sql::sqlparser::ast::{
    ColumnDef, ColumnOption, CreateTable, CreateTableOptions, OnCommit as Clause, Statement,
};

/// Returns the table that a `CREATE TABLE` declares. Every unsupported clause is an error.
pub(crate) fn table_definition(create: &CreateTable) -> Result<TableDefinition> {
    refuse_other_clauses(create)?;
    let TableName { schema, name } = TableName::of(&create.name)?;
    let schema = if let NamedSchema::Other(schema) = &schema { Some(schema.as_str()) } else { None };
    let mut definition = TableDefinition::new_in(schema, &name);
    let mut constraints = Constraints::default();
    let place = format!("table {}", definition.name);
    for column in &create.columns {
        let place = format!("{place}, column {}", column.name.value);
        definition = with_column(definition, column, &place, &mut constraints)?;
    }
    for constraint in &create.constraints {
        constraints.table_constraint(constraint).map_err(|error| error.context(&place))?;
    }
    constraints.apply(&mut definition).map_err(as_sql_error)?;
    let definition = table_options(create)?.apply(definition).map_err(as_sql_error)?;
    definition.check().map_err(as_sql_error)?;
    Ok(definition)
}

/// The options in `WITH (...)`.
pub(crate) fn table_options(create: &CreateTable) -> Result<TableOptions> {
    let options = match &create.table_options {
        CreateTableOptions::None => TableOptions::default(),
        CreateTableOptions::With(options) => TableOptions::read(options).map_err(as_sql_error)?,
        other => return Err(not_supported(other).with_hint("use WITH (NAME = 'VALUE', ...)")),
    };
    if create.temporary { options.of_temporary().map_err(as_sql_error) } else { Ok(options) }
}

/// Returns the notice about a time column that was chosen only because of its type: it cannot be NULL, although the
/// statement does not say so and another column is the key. `None` for other tables.
pub(crate) fn notice_of_time(create: &CreateTable, definition: &TableDefinition) -> Result<Option<String>> {
    let Some(column) = definition.time.and_then(|time| definition.column_by_id(time.column)) else { return Ok(None) };
    let is_not_null = |declared: &ColumnDef| {
        same_name(&declared.name.value, &column.name)
            && declared.options.iter().any(|option| matches!(option.option, ColumnOption::NotNull))
    };
    let has_default = column.default.is_some() || column.default_function.is_some();
    let is_declared = table_options(create)?.names_time() || is_name_of_time(&column.name);
    let other_key = definition.unique.iter().any(|unique| unique.primary && !unique.columns.contains(&column.id));
    if !other_key || is_declared || has_default || create.columns.iter().any(is_not_null) {
        return Ok(None);
    }
    Ok(Some(format!(
        "column {} becomes the time of table {}, by which its rows are stored, and cannot be NULL; if it is a column \
         like any other, write WITH (time = 'none') after the columns",
        column.name, definition.name
    )))
}

/// Returns what happens to a temporary table at the end of a transaction; `None` for other tables, for which an `ON
/// COMMIT` is an error.
pub(crate) fn on_commit(create: &CreateTable) -> Result<Option<OnCommit>> {
    match (create.temporary, create.on_commit) {
        (false, None) => Ok(None),
        (false, Some(_)) => Err(sql_error("ON COMMIT can only be used on temporary tables")),
        (true, None | Some(Clause::PreserveRows)) => Ok(Some(OnCommit::PreserveRows)),
        (true, Some(Clause::DeleteRows)) => Ok(Some(OnCommit::DeleteRows)),
        (true, Some(Clause::Drop)) => Ok(Some(OnCommit::Drop)),
    }
}

/// Returns the definition that a `CREATE TABLE` text declares; the inverse of
/// [`create_table_sql`](crate::create_table_sql) for a table whose constraints are all valid.
pub fn parse_create_table(text: &str) -> Result<TableDefinition> {
    match parse_declaring(text.trim_end().trim_end_matches(';'), SourcePosition::START, &Parameters::none())? {
        Statement::CreateTable(create) if !create.temporary => {
            let definition = table_definition(&create)?;
            let unresolved = definition.columns.iter().find_map(|column| Some((column, column.enumeration.as_ref()?)));
            match unresolved {
                Some((column, enumeration)) => Err(unknown_type(&definition, column, &enumeration.type_name)),
                None => Ok(definition),
            }
        }
        other => Err(refused(&other).with_hint("write a CREATE TABLE")),
    }
}

/// Refuses all clauses that the parser accepts and that are not supported.
pub(crate) fn refuse_other_clauses(create: &CreateTable) -> Result<()> {
    if create.query.is_some() {
        return Err(sql_error("CREATE TABLE ... AS takes its columns from the query"));
    }
    if create.or_replace {
        return Err(not_supported("CREATE OR REPLACE TABLE").with_hint("DROP TABLE IF EXISTS first"));
    }
    if create.like.is_some() {
        return Err(not_supported("CREATE TABLE ... LIKE").with_hint(
            "CREATE TABLE t AS SELECT * FROM other WITH NO DATA takes the columns, SHOW CREATE TABLE other shows all",
        ));
    }
    on_commit(create)?;
    let known = CreateTableBuilder::new(create.name.clone())
        .if_not_exists(create.if_not_exists)
        .temporary(create.temporary)
        .global(create.global)
        .on_commit(create.on_commit)
        .columns(create.columns.clone())
        .constraints(create.constraints.clone())
        .table_options(create.table_options.clone())
        .build();
    let partition = match (&create.partition_by, &create.partition_of) {
        (Some(_), _) => Some("PARTITION BY"),
        (None, Some(_)) => Some("PARTITION OF"),
        (None, None) => None,
    };
    if let Some(partition) = partition {
        return Err(not_supported(partition).with_hint(
            "leave it out: a table with a time is stored in slices, and WITH (slice = 'day') chooses how long they are",
        ));
    }
    if known != *create {
        return Err(not_supported("a clause of this CREATE TABLE")
            .with_hint("after the columns there may be WITH (NAME = 'VALUE', ...) and nothing else"));
    }
    Ok(())
}
