//! `atsdb schema`: the statements that declare the tables, or their definitions.

use super::report;
use crate::args::{ReportArgs, ReportFormat};
use crate::session::settings::{self, Access};
use atsdb::sql::create_table_sql;
use atsdb::{Result, TableDefinition};

/// Prints the statements or the definitions.
pub(super) fn run(args: &ReportArgs) -> Result<()> {
    let database = settings::open(&args.url, Access::Read, &args.store, None)?;
    let tables = report::tables_of(database.engine(), args)?;
    let definitions: Vec<&TableDefinition> = tables.iter().map(|table| &table.definition).collect();
    report::write_text(&match args.format {
        ReportFormat::Json => report::json(&definitions)?,
        ReportFormat::Table => definitions.iter().map(|definition| statement(definition)).collect(),
    })
}

/// The statement with its semicolon.
pub(crate) fn statement(definition: &TableDefinition) -> String {
    format!("{};\n", create_table_sql(definition).trim_end_matches(';'))
}
