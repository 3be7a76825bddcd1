//! The tables of a database, their columns, and the statements that read them. Names are always quoted.

use crate::connection::PostgresConnection;
use tokio_postgres::Error;

/// Tables, views, materialised views, and tables with partitions or on other servers.
const KINDS: &str = "c.relkind IN ('r', 'v', 'm', 'p', 'f')";

/// A table that can be read.
#[derive(Debug)]
pub(super) struct SourceTable {
    /// Its name, with its schema if that is not in the search path.
    pub(super) name: String,
    schema: String,
    table: String,
    pub(super) columns: Vec<SourceColumn>,
}

/// A column, whose type is not a domain: domains are resolved to their base types.
#[derive(Debug)]
pub(super) struct SourceColumn {
    pub(super) name: String,
    /// Whether its values are arrays of one dimension. Then the type is that of their elements.
    pub(super) is_array: bool,
    /// The name of its type, without schema.
    pub(super) type_name: String,
    /// Whether the type is one of the server's own.
    pub(super) is_builtin: bool,
    pub(super) is_enum: bool,
    /// The precision and the like, in the type's own form; -1 without.
    pub(super) modifier: i32,
    /// The column's type as SQL shows it.
    pub(super) shown: String,
}

/// The tables that the user may see, without those of the server.
pub(super) fn tables(connection: &PostgresConnection) -> Result<Vec<String>, Error> {
    let sql = format!(
        "SELECT CASE WHEN pg_table_is_visible(c.oid) THEN '' ELSE n.nspname || '.' END || c.relname
         FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE {KINDS} AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
         ORDER BY 1"
    );
    let rows = connection.texts(&sql, &[])?;
    Ok(rows.into_iter().filter_map(|mut row| row.pop().flatten()).collect())
}

/// The table of that name: one in the search path, or one whose schema is given before a dot.
pub(super) fn find(connection: &PostgresConnection, wanted: &str) -> Result<Option<SourceTable>, Error> {
    let sql = format!(
        "SELECT c.oid::text, n.nspname::text, c.relname::text,
                CASE WHEN pg_table_is_visible(c.oid) THEN '' ELSE n.nspname || '.' END || c.relname
         FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE {KINDS} AND (c.relname = $1::text AND pg_table_is_visible(c.oid)
                OR n.nspname || '.' || c.relname = $1::text)
         ORDER BY pg_table_is_visible(c.oid) DESC"
    );
    let Some(row) = connection.texts(&sql, &[wanted])?.into_iter().next() else { return Ok(None) };
    let [oid, schema, table, name]: [String; 4] =
        row.into_iter().map(Option::unwrap_or_default).collect::<Vec<_>>().try_into().unwrap_or_default();
    let columns = columns(connection, &oid)?;
    Ok(Some(SourceTable { name, schema, table, columns }))
}

fn columns(connection: &PostgresConnection, oid: &str) -> Result<Vec<SourceColumn>, Error> {
    let sql = "WITH RECURSIVE base (number, name, type, modifier, dimensions) AS (
            SELECT a.attnum, a.attname, a.atttypid, a.atttypmod, a.attndims::int FROM pg_attribute a
            WHERE a.attrelid::text = $1 AND a.attnum > 0 AND NOT a.attisdropped
            UNION ALL
            SELECT b.number, b.name, t.typbasetype, t.typtypmod, greatest(b.dimensions, t.typndims)
            FROM base b JOIN pg_type t ON t.oid = b.type WHERE t.typtype = 'd')
        SELECT b.name::text, (e.oid <> t.oid)::text, e.typname::text, (n.nspname = 'pg_catalog')::text,
               (e.typtype = 'e')::text, b.modifier::text, format_type(b.type, b.modifier)
        FROM base b JOIN pg_type t ON t.oid = b.type
            JOIN pg_type e ON e.oid = CASE WHEN t.typcategory = 'A' AND t.typelem <> 0 AND b.dimensions <= 1
                                      THEN t.typelem ELSE t.oid END
            JOIN pg_namespace n ON n.oid = e.typnamespace
        WHERE t.typtype <> 'd' ORDER BY b.number";
    let column = |row: Vec<Option<String>>| {
        let mut texts = row.into_iter().map(Option::unwrap_or_default);
        let mut next = || texts.next().unwrap_or_default();
        SourceColumn {
            name: next(),
            is_array: next() == "true",
            type_name: next(),
            is_builtin: next() == "true",
            is_enum: next() == "true",
            modifier: next().parse().unwrap_or(-1),
            shown: next(),
        }
    };
    Ok(connection.texts(sql, &[oid])?.into_iter().map(column).collect())
}

impl SourceTable {
    /// The statement that reads all rows. `casts` are the conversions behind the columns' names.
    pub(super) fn select(&self, casts: impl Iterator<Item = &'static str>) -> String {
        let columns = self.columns.iter().zip(casts).map(|(column, cast)| format!("{}{cast}", quoted(&column.name)));
        format!("SELECT {} FROM {}", columns.collect::<Vec<_>>().join(", "), self.quoted_name())
    }

    /// The query for the largest scale and the largest whole part of each of these columns.
    pub(super) fn numeric_bounds(&self, positions: &[usize]) -> String {
        let bounds = |position: &usize| {
            let column = &self.columns[*position];
            let name = quoted(&column.name);
            if column.is_array {
                let of_elements = |bound: &str| format!("max((SELECT max({bound}) FROM unnest({name}) AS e))::text");
                return format!("{}, {}", of_elements("scale(e)"), of_elements("abs(trunc(e))"));
            }
            format!("max(scale({name}))::text, max(abs(trunc({name})))::text")
        };
        let bounds: Vec<String> = positions.iter().map(bounds).collect();
        format!("SELECT {} FROM {}", bounds.join(", "), self.quoted_name())
    }

    fn quoted_name(&self) -> String {
        format!("{}.{}", quoted(&self.schema), quoted(&self.table))
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
