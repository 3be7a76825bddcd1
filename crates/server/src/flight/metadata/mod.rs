//! Metadata: tables, keys, types, and what the server supports. A store has one catalog.

mod keys;
mod server;
mod tables;
mod types;

pub(super) use atsdb::sql::CATALOG;

use arrow_flight::sql::Command;
use atsdb::Result;
use atsdb::arrow::array::RecordBatch;
use atsdb::sql::Session;
use keys::NamedTable;

/// The answer to a command; `None` if it does not ask for metadata.
pub(super) fn answer(session: &Session, command: &Command) -> Option<Result<RecordBatch>> {
    Some(match command {
        Command::CommandGetCatalogs(command) => tables::catalogs(*command),
        Command::CommandGetDbSchemas(command) => tables::schemas(session, command.clone()),
        Command::CommandGetTables(command) => tables::tables(session, command.clone()),
        Command::CommandGetTableTypes(command) => tables::types(*command),
        Command::CommandGetPrimaryKeys(command) => keys::primary(session, command),
        Command::CommandGetExportedKeys(command) => {
            let parent = NamedTable::of(&command.catalog, &command.db_schema, &command.table);
            keys::foreign(session, Some(&parent), None)
        }
        Command::CommandGetImportedKeys(command) => {
            let child = NamedTable::of(&command.catalog, &command.db_schema, &command.table);
            keys::foreign(session, None, Some(&child))
        }
        Command::CommandGetCrossReference(command) => {
            let parent = NamedTable::of(&command.pk_catalog, &command.pk_db_schema, &command.pk_table);
            let child = NamedTable::of(&command.fk_catalog, &command.fk_db_schema, &command.fk_table);
            keys::foreign(session, Some(&parent), Some(&child))
        }
        Command::CommandGetSqlInfo(command) => server::info(command.clone()),
        Command::CommandGetXdbcTypeInfo(command) => types::types(*command),
        _ => return None,
    })
}
