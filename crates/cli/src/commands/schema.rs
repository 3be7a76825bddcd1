//! `atsdb schema`: the statements that declare the tables, or their definitions.

use super::report;
use crate::args::{ReportArgs, ReportFormat};
use crate::session::settings::{self, Access};
use atsdb::name::same_name;
use atsdb::sql::{counters_sql, create_table_sql, create_type_sql, quoted};
use atsdb::{Engine, Enumeration, Result, Table, TableDefinition};

/// Prints the statements or the definitions.
pub(super) fn run(args: &ReportArgs) -> Result<()> {
    let database = settings::open(&args.url, Access::Read, &args.store, None)?;
    let mut tables = report::tables_of(database.engine(), args)?;
    sort_by_origin(&mut tables);
    // Numbers that rows have already are not given again in a store that is made from this.
    let engine = database.engine();
    let tables = tables.into_iter().map(|table| engine.continued(table)).collect::<Result<Vec<Table>>>()?;
    let definitions: Vec<&TableDefinition> = tables.iter().map(|table| &table.definition).collect();
    report::write_text(&match args.format {
        ReportFormat::Json => report::json(&definitions)?,
        ReportFormat::Table => {
            let schemas = schema_statements(engine, &tables, args.table.is_none())?;
            definitions.iter().fold(schemas, |text, definition| text + &statement(definition))
        }
    })
}

/// Puts what others are made from before them: sequences, tables, then rollups, then views and materialized views in
/// the order of their making.
pub(crate) fn sort_by_origin(tables: &mut [Table]) {
    tables.sort_by_key(|table| {
        let is_view = table.definition.view.is_some() || table.definition.materialized.is_some();
        let is_rollup = table.definition.rollup.is_some();
        let number = if is_view || is_rollup { table.id.0 } else { 0 };
        (is_view, is_rollup, !table.definition.sequence, number)
    });
}

/// The statements that create the schemas and the enumerated types of tables. `is_whole` says whether these are all
/// tables of the store: then also of schemas without tables, and of types without columns.
pub(crate) fn schema_statements(engine: &Engine, tables: &[Table], is_whole: bool) -> Result<String> {
    let is_needed = |schema: &String| {
        is_whole
            || tables.iter().any(|table| table.definition.schema.as_ref().is_some_and(|own| same_name(own, schema)))
    };
    let snapshot = engine.snapshot()?;
    let types = snapshot.enumerations().filter_map(|entry| entry.definition.enumeration());
    let is_used = |of: &Enumeration| {
        let mut used = tables.iter().flat_map(|table| table.definition.enumerations());
        is_whole || used.any(|used| used.type_name == of.type_name)
    };
    let types: Vec<Enumeration> = types.filter(is_used).collect();
    let is_of_type = |schema: &String| {
        let mut schemas = types.iter().filter_map(|of| of.type_name.schema.as_ref());
        schemas.any(|own| same_name(own, schema))
    };
    let schemas = engine.schemas()?.into_iter().filter(|schema| is_needed(schema) || is_of_type(schema));
    let schemas = schemas.map(|schema| format!("CREATE SCHEMA IF NOT EXISTS {};\n", quoted(&schema)));
    Ok(schemas.chain(types.iter().map(|of| format!("{};\n", create_type_sql(of)))).collect())
}

/// The statement with its semicolon, and after it those that let columns which number the rows continue.
pub(crate) fn statement(definition: &TableDefinition) -> String {
    let declared = create_table_sql(&definition.uncounted());
    let statements = std::iter::once(declared).chain(counters_sql(definition));
    statements.map(|statement| format!("{};\n", statement.trim_end_matches(';'))).collect()
}
