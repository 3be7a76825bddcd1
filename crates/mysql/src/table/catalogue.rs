//! The tables of a database, their columns, and the statements that read them. Names are always quoted.

use super::column::SourceColumn;
use super::types::{ReadBy, TypeByValues};
use mysql::prelude::Queryable;
use mysql::{Conn, Result};

/// A table that can be read.
#[derive(Debug)]
pub(super) struct SourceTable {
    /// Its name, with its database if that is not the URL's.
    pub(super) name: String,
    database: String,
    table: String,
    pub(super) columns: Vec<SourceColumn>,
}

/// The tables and views that the user may see.
pub(super) fn tables(connection: &mut Conn) -> Result<Vec<String>> {
    connection.query(
        "SELECT CAST(table_name AS CHAR) FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY 1",
    )
}

/// The table of that name: one of the URL's database, or one whose database is given before a dot. The exact name is
/// preferred to one that differs in case.
pub(super) fn find(connection: &mut Conn, wanted: &str) -> Result<Option<SourceTable>> {
    const FIND: &str = "SELECT CAST(table_schema AS CHAR), CAST(table_name AS CHAR) FROM information_schema.tables
        WHERE table_schema = coalesce(?, DATABASE()) AND table_name = ?
        ORDER BY CAST(table_name AS BINARY) = CAST(? AS BINARY) DESC";
    let mut found: Option<(String, String)> = connection.exec_first(FIND, (None::<&str>, wanted, wanted))?;
    let mut prefix = String::new();
    if found.is_none()
        && let Some((database, table)) = wanted.split_once('.')
    {
        found = connection.exec_first(FIND, (Some(database), table, table))?;
        prefix = format!("{database}.");
    }
    let Some((database, table)) = found else { return Ok(None) };
    let columns = columns(connection, &database, &table)?;
    Ok(Some(SourceTable { name: format!("{prefix}{table}"), database, table, columns }))
}

fn columns(connection: &mut Conn, database: &str, table: &str) -> Result<Vec<SourceColumn>> {
    type Row = (String, String, String, Option<u32>, Option<u32>, Option<u32>);
    let rows: Vec<Row> = connection.exec(
        "SELECT CAST(column_name AS CHAR), CAST(data_type AS CHAR), CAST(column_type AS CHAR),
                CAST(numeric_precision AS UNSIGNED), CAST(numeric_scale AS UNSIGNED),
                CAST(datetime_precision AS UNSIGNED)
         FROM information_schema.columns
         WHERE table_schema = ? AND table_name = ? AND extra NOT LIKE '%INVISIBLE%' ORDER BY ordinal_position",
        (database, table),
    )?;
    let version: Option<String> = connection.query_first("SELECT VERSION()")?;
    // MariaDB's JSON is a text with a check of this form.
    let checks: Vec<String> = match version.is_some_and(|version| version.contains("MariaDB")) {
        true => connection.exec(
            "SELECT CAST(check_clause AS CHAR) FROM information_schema.check_constraints
             WHERE constraint_schema = ? AND table_name = ?",
            (database, table),
        )?,
        false => Vec::new(),
    };
    let column = |(name, type_name, shown, precision, scale, second_digits): Row| {
        let check = format!("json_valid({})", quoted(&name));
        SourceColumn {
            is_json: checks.contains(&check),
            name,
            type_name: type_name.to_ascii_lowercase(),
            shown,
            precision: precision.unwrap_or(0),
            scale: scale.unwrap_or(0),
            second_digits: second_digits.unwrap_or(0),
        }
    };
    Ok(rows.into_iter().map(column).collect())
}

impl SourceTable {
    /// The statement that reads all rows.
    pub(super) fn select(&self, read_by: impl Iterator<Item = ReadBy>) -> String {
        let column = |(column, read_by): (&SourceColumn, ReadBy)| match (quoted(&column.name), read_by) {
            (name, ReadBy::Itself) => name,
            (name, ReadBy::Cast) => format!("CAST({name} AS CHAR)"),
            (name, ReadBy::Shape) => format!("ST_AsText({name})"),
        };
        let columns: Vec<String> = self.columns.iter().zip(read_by).map(column).collect();
        format!("SELECT {} FROM {}", columns.join(", "), self.quoted_name())
    }

    /// The query that decides the undecided types of these columns.
    pub(super) fn questions(&self, questions: &[(usize, TypeByValues)]) -> String {
        let question = |(position, undecided): &(usize, TypeByValues)| {
            format!("CAST({} AS CHAR)", undecided.question(&quoted(&self.columns[*position].name)))
        };
        let questions: Vec<String> = questions.iter().map(question).collect();
        format!("SELECT {} FROM {}", questions.join(", "), self.quoted_name())
    }

    fn quoted_name(&self) -> String {
        format!("{}.{}", quoted(&self.database), quoted(&self.table))
    }
}

fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}
