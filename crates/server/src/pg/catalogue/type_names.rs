//! Looks up types by their names in queries.

use crate::pg::types::known;
use datafusion::sql::sqlparser::ast::DataType;

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
