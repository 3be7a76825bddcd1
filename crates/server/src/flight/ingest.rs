//! Bulk ingestion: the rows of a request into a table, all or nothing.

use super::error::{IntoStatus, StatusResult};
use super::metadata::CATALOG;
use super::put::Arrivals;
use super::session::StatementSession;
use arrow_flight::sql::{CommandStatementIngest, TableExistsOption, TableNotExistOption};
use atsdb::arrow::datatypes::Schema;
use atsdb::sql::{Permission, is_storage_parameter, quoted};
use atsdb::{Error, ErrorKind, MapWidth, column_type_of};
use tonic::Status;

/// Options of a new table begin with this, and then with their names in `CREATE TABLE ... WITH`.
const OPTION_PREFIX: &str = "atsdb.";

/// Stores the rows of a request. Returns their number.
pub(super) fn ingest(
    session: &mut StatementSession,
    command: &CommandStatementIngest,
    rows: Arrivals,
) -> StatusResult<u64> {
    check_target(command)?;
    session.require(Permission::Change).or_status()?;
    session.all_or_nothing(|session| store(session, command, rows))
}

fn store(session: &StatementSession, command: &CommandStatementIngest, mut rows: Arrivals) -> StatusResult<u64> {
    let options = command.table_definition_options.unwrap_or_default();
    let is_there = match session.find_table(schema_of(command), &command.table) {
        Ok(_) => true,
        Err(error) if error.kind() == ErrorKind::Sql => false,
        Err(error) => return Err(error).or_status(),
    };
    let none = || Status::invalid_argument("the request has no columns: send a schema");
    let schema = rows.schema()?.ok_or_else(none)?;
    match (is_there, options.if_exists(), options.if_not_exist()) {
        (true, TableExistsOption::Append, _) => {}
        (true, TableExistsOption::Replace, _) => {
            session.execute(&format!("DROP TABLE {}", target_name(command))).or_status()?;
            session.execute(&create_table(command, &schema).or_status()?).or_status()?;
        }
        (true, ..) => return Err(Status::already_exists(format!("table {} already exists", command.table))),
        (false, _, TableNotExistOption::Create) => {
            session.execute(&create_table(command, &schema).or_status()?).or_status()?;
        }
        (false, ..) => return Err(Status::not_found(format!("there is no table {}", command.table))),
    }
    let table = session.find_table(schema_of(command), &command.table).or_status()?.definition.name;
    let mut row_count = 0;
    while let Some(batch) = rows.next()? {
        row_count += session.append(&table, &batch).or_status()?;
    }
    Ok(row_count)
}

/// The statement that creates a table for rows with these columns.
fn create_table(command: &CommandStatementIngest, schema: &Schema) -> atsdb::Result<String> {
    let (mut columns, mut maps) = (Vec::new(), Vec::new());
    for field in schema.fields() {
        let name = quoted(field.name());
        let Some((column_type, map)) = column_type_of(field) else {
            let message = format!("column {}: no table holds the type {}", field.name(), field.data_type());
            return Err(Error::invalid(message).with_hint("cast it first, for example to DOUBLE or text"));
        };
        let not_null = if field.is_nullable() { "" } else { " NOT NULL" };
        columns.push(format!("{name} {}{not_null}", column_type.sql_name()));
        // A name with a comma or with blanks around it cannot be written in the option: its column is not mapped.
        let map = map.filter(|_| !field.name().contains(',') && field.name().trim() == field.name());
        maps.extend(map.map(|width: MapWidth| format!("{}:{width}", field.name())));
    }
    let mut options = Vec::new();
    if !maps.is_empty() && !command.options.contains_key("atsdb.map") {
        options.push(("map", maps.join(",")));
    }
    for (name, value) in &command.options {
        let Some(name) = name.strip_prefix(OPTION_PREFIX) else { continue };
        if !is_storage_parameter(name) {
            return Err(Error::usage(format!("there is no option {OPTION_PREFIX}{name} of a new table")));
        }
        options.push((name, value.clone()));
    }
    options.sort();
    let options = options.iter().map(|(name, value)| format!("{name} = '{}'", value.replace('\'', "''")));
    let with = match options.collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => none,
        options => format!(" WITH ({options})"),
    };
    Ok(format!("CREATE TABLE {} ({}){with}", target_name(command), columns.join(", ")))
}

/// The schema of the table, if the request says one.
fn schema_of(command: &CommandStatementIngest) -> Option<&str> {
    command.schema.as_deref().filter(|schema| !schema.is_empty())
}

/// The name of the table in a statement.
fn target_name(command: &CommandStatementIngest) -> String {
    match schema_of(command) {
        Some(schema) => format!("{}.{}", quoted(schema), quoted(&command.table)),
        None => quoted(&command.table),
    }
}

fn check_target(command: &CommandStatementIngest) -> StatusResult<()> {
    if command.temporary {
        return Err(Status::unimplemented("temporary tables are not supported"));
    }
    let catalog = command.catalog.as_deref().filter(|catalog| !catalog.is_empty());
    match catalog.filter(|catalog| !catalog.eq_ignore_ascii_case(CATALOG)) {
        Some(catalog) => Err(Status::not_found(format!("there is no catalog {catalog}: it is always {CATALOG}"))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb::arrow::datatypes::{DataType, Field};

    #[test]
    fn only_columns_that_the_option_can_name_are_mapped() {
        let texts = DataType::Dictionary(Box::new(DataType::UInt8), Box::new(DataType::Utf8));
        let fields = ["a", "a,b", " c", "d:e"].map(|name| Field::new(name, texts.clone(), true));
        let command = CommandStatementIngest { table: "t".to_owned(), ..CommandStatementIngest::default() };
        let statement = create_table(&command, &Schema::new(fields.to_vec())).unwrap();
        assert_eq!(
            statement,
            "CREATE TABLE t (a TEXT, \"a,b\" TEXT, \" c\" TEXT, \"d:e\" TEXT) WITH (map = 'a:u8,d:e:u8')"
        );
    }
}
