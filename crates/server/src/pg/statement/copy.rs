//! `COPY` of a client: from what it sends, or to it. Files and programs of the server are refused.

use crate::pg::error::PgError;
use atsdb::sql::{CopySource, CopyStatement, CopyTarget, quoted};

/// Parses a COPY.
pub(in crate::pg) fn copy_of_client(text: &str) -> Result<CopyStatement, PgError> {
    let copy = CopyStatement::parse(text)?;
    match copy.target {
        CopyTarget::Client => Ok(copy),
        CopyTarget::File(_) | CopyTarget::Program(_) | CopyTarget::Parameter(_) => Err(PgError::no_files()),
    }
}

/// The query for the rows of a COPY that sends rows.
pub(in crate::pg) fn query_of(copy: &CopyStatement) -> String {
    match &copy.source {
        CopySource::Query(query) => query.clone(),
        CopySource::Table { name, columns } => {
            let columns: Vec<String> = columns.iter().map(|column| quoted(column)).collect();
            let columns = if columns.is_empty() { "*".to_owned() } else { columns.join(", ") };
            format!("SELECT {columns} FROM {}", quoted_name(name))
        }
    }
}

/// The name of a table in a statement.
pub(in crate::pg) fn quoted_name(parts: &[String]) -> String {
    parts.iter().map(|part| quoted(part)).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_programs_are_refused() {
        for text in [
            "COPY t FROM '/etc/passwd'",
            "COPY t TO '/tmp/x'",
            "COPY t FROM PROGRAM 'id'",
            "COPY (SELECT 1) TO 'x.csv'",
            "COPY t FROM $file",
        ] {
            assert_eq!(copy_of_client(text).unwrap_err().code, "42501", "{text}");
        }
        assert_eq!(copy_of_client("COPY t FROM").unwrap_err().code, "42601");
        let copy = copy_of_client("COPY public.t (a, \"b c\") TO STDOUT").unwrap();
        assert_eq!(query_of(&copy), "SELECT a, \"b c\" FROM public.t");
    }
}
