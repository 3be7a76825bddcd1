//! Looks up types by their names in queries.

use crate::pg::error::PgError;
use crate::pg::types::known;
use atsdb::Table;
use datafusion::sql::sqlparser::ast::DataType;
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::Token;

/// The name of a type in `pg_type`.
pub(in crate::pg) fn type_name(data_type: &DataType) -> String {
    let written = data_type.to_string().to_lowercase().replace("pg_catalog.", "").replace('"', "");
    let (name, array) = match written.strip_suffix("[]") {
        Some(name) => (name.to_owned(), "_"),
        None => (written, ""),
    };
    let name = name.split('(').next().unwrap_or_default().trim();
    let name = known::by_name(name).map_or(name, |known| known.name);
    format!("{array}{name}")
}

/// The number of a type, or `None` if it is unknown.
pub(in crate::pg) fn type_id(data_type: &DataType) -> Option<u32> {
    let name = type_name(data_type);
    match name.strip_prefix('_') {
        Some(element) => known::by_name(element).map(|element| element.array).filter(|id| *id != 0),
        None => known::by_name(&name).map(|known| known.id),
    }
}

/// The numbers of types, which are written one after the other with commas between them. Values of the enumerated types
/// among them get their type from what they are compared with or assigned to.
pub(in crate::pg) fn type_ids(written: &str, enumerations: &[Table]) -> Result<Vec<u32>, PgError> {
    if written.is_empty() {
        return Ok(Vec::new());
    }
    let syntax = |error: &dyn std::fmt::Display| PgError::syntax(error.to_string());
    let mut parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(written).map_err(|error| syntax(&error))?;
    let types = parser.parse_comma_separated(Parser::parse_data_type).map_err(|error| syntax(&error))?;
    parser.expect_token(&Token::EOF).map_err(|error| syntax(&error))?;
    let unknown = |name: &DataType| PgError::error("42704", format!("type \"{}\" does not exist", type_name(name)));
    let enumerated = |data_type: &DataType| {
        let name = type_name(data_type);
        let is_found = enumerations.iter().any(|of| of.definition.name.eq_ignore_ascii_case(&name));
        is_found.then_some(known::UNKNOWN)
    };
    types.iter().map(|name| type_id(name).or_else(|| enumerated(name)).ok_or_else(|| unknown(name))).collect()
}

/// The number of a type by its name in SQL.
pub(super) fn type_number(name: &str) -> Option<i64> {
    let folded = name.trim().to_lowercase().replace("pg_catalog.", "").replace('"', "");
    let (name, is_array) = match folded.strip_suffix("[]") {
        Some(name) => (name, true),
        None => (folded.as_str(), false),
    };
    let name = match name.split_once('(') {
        Some((before, rest)) => format!("{before}{}", rest.split_once(')').map_or("", |(_, after)| after)),
        None => name.to_owned(),
    };
    let name = name.trim();
    let of_array = name.strip_prefix('_').and_then(known::by_name).map(|element| element.array);
    let found = match (known::by_name(name), is_array) {
        (Some(element), true) => Some(element.array),
        (Some(known), false) => Some(known.id),
        (None, _) => of_array,
    };
    found.filter(|id| *id != 0).map(i64::from)
}
