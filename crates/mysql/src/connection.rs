//! One connection.

use crate::error::translate;
use crate::tls::Tls;
use atsdb_core::Error;
use atsdb_sqlstore::{Attempt, Cell, Connection, Row, Value, statement_bytes, statement_too_large};
use mysql::prelude::Queryable;
use mysql::{Conn, OptsBuilder, Params};
use std::collections::HashMap;
use std::sync::Arc;

/// The maximum number of translated statements that a connection keeps; the client keeps them prepared.
pub(crate) const STATEMENTS_KEPT_MAX: usize = 256;
/// The size of a packet before the values, in bytes.
const PACKET_HEAD_BYTES: usize = 1 << 10;

/// A statement in this server's syntax: `?` stands for each parameter, in the order of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Statement {
    sql: Arc<str>,
    order: Arc<[usize]>,
}

/// A configured connection.
pub(crate) struct MysqlConnection {
    inner: Conn,
    statements: HashMap<String, Statement>,
    location: Arc<str>,
    in_cluster: bool,
    /// The maximum packet size in bytes. With a larger one the server breaks the connection, or reads one statement as
    /// two.
    packet_bytes: usize,
    is_standby: bool,
}

/// Replicas have `read_only` set; some releases report its value as a name, others as a number.
const SESSION_QUERY: &str =
    "SELECT CAST(@@max_allowed_packet AS SIGNED), CAST(@@global.read_only AS CHAR) NOT IN ('0', 'OFF')";

impl MysqlConnection {
    /// Connects to a server, which may be a node of a cluster.
    pub(crate) fn open(options: &OptsBuilder, tls: &Tls, location: &Arc<str>, in_cluster: bool) -> Attempt<Self> {
        let mut inner = tls.connect(options).map_err(|error| translate(error, location, in_cluster))?;
        let row: Option<(u64, bool)> =
            inner.query_first(SESSION_QUERY).map_err(|error| translate(error, location, in_cluster))?;
        let (packet_bytes, is_standby) =
            row.ok_or_else(|| Error::internal("the server does not report its settings"))?;
        let (location, packet_bytes) = (Arc::clone(location), usize::try_from(packet_bytes).unwrap_or(usize::MAX));
        Ok(Self { inner, statements: HashMap::new(), location, in_cluster, packet_bytes, is_standby })
    }

    fn statement(&mut self, sql: &str, values: &[Value<'_>]) -> Attempt<Statement> {
        let byte_count = statement_bytes(sql, values);
        if byte_count > self.statement_bytes_max() {
            return Err(statement_too_large(&self.location, byte_count, self.packet_bytes, "max_allowed_packet"));
        }
        Ok(self.translate_cached(sql))
    }

    fn translate_cached(&mut self, sql: &str) -> Statement {
        if let Some(statement) = self.statements.get(sql) {
            return statement.clone();
        }
        if self.statements.len() >= STATEMENTS_KEPT_MAX {
            self.statements.clear();
        }
        let statement = translate_placeholders(sql);
        self.statements.insert(sql.to_owned(), statement.clone());
        statement
    }

    fn failed(&self, error: mysql::Error) -> atsdb_sqlstore::Failure {
        translate(error, &self.location, self.in_cluster)
    }
}

/// Replaces `$1` and the like by `?`. The statements are fixed: no string in them contains a dollar sign.
fn translate_placeholders(sql: &str) -> Statement {
    let mut order = Vec::new();
    let mut pieces = sql.split('$');
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let digits = piece.find(|character: char| !character.is_ascii_digit()).unwrap_or(piece.len());
        order.push(piece[..digits].parse::<usize>().unwrap_or(1) - 1);
        text.push('?');
        text.push_str(&piece[digits..]);
    }
    Statement { sql: text.into(), order: order.into() }
}

fn parameters(statement: &Statement, values: &[Value<'_>]) -> Params {
    let value = |position: &usize| match values[*position] {
        Value::Int(value) => mysql::Value::Int(value),
        Value::Text(value) => mysql::Value::Bytes(value.as_bytes().to_vec()),
        Value::Bytes(value) => mysql::Value::Bytes(value.to_vec()),
    };
    match statement.order.is_empty() {
        true => Params::Empty,
        false => Params::Positional(statement.order.iter().map(value).collect()),
    }
}

impl Connection for MysqlConnection {
    fn is_standby(&self) -> bool {
        self.is_standby
    }

    fn statement_bytes_max(&self) -> usize {
        self.packet_bytes.saturating_sub(PACKET_HEAD_BYTES)
    }

    fn execute(&mut self, sql: &str, values: &[Value<'_>]) -> Attempt<u64> {
        let statement = self.statement(sql, values)?;
        let parameters = parameters(&statement, values);
        self.inner.exec_drop(&*statement.sql, parameters).map_err(|error| self.failed(error))?;
        Ok(self.inner.affected_rows())
    }

    fn query(&mut self, sql: &str, values: &[Value<'_>]) -> Attempt<Vec<Row>> {
        if values.is_empty() && sql.starts_with("CHECK ") {
            // MySQL does not prepare this statement.
            let rows: Vec<mysql::Row> = self.inner.query(sql).map_err(|error| self.failed(error))?;
            return rows.into_iter().map(row_of).collect();
        }
        let statement = self.statement(sql, values)?;
        let parameters = parameters(&statement, values);
        let rows: Vec<mysql::Row> = self.inner.exec(&*statement.sql, parameters).map_err(|error| self.failed(error))?;
        rows.into_iter().map(row_of).collect()
    }

    fn run(&mut self, sql: &str) -> Attempt<()> {
        for statement in sql.split(';').map(str::trim).filter(|statement| !statement.is_empty()) {
            self.inner.query_drop(statement).map_err(|error| self.failed(error))?;
        }
        Ok(())
    }
}

fn row_of(row: mysql::Row) -> Attempt<Row> {
    let cell = |value: mysql::Value| {
        Ok(match value {
            mysql::Value::NULL => Cell::Null,
            mysql::Value::Int(value) => Cell::Int(value),
            mysql::Value::UInt(value) => {
                Cell::Int(i64::try_from(value).map_err(|_| Error::corrupt("a number of the store is out of range"))?)
            }
            mysql::Value::Bytes(value) => Cell::Bytes(value),
            other => return Err(Error::corrupt(format!("the store returned an unexpected value: {other:?}")).into()),
        })
    };
    Ok(Row(row.unwrap().into_iter().map(cell).collect::<Attempt<_>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_values_become_question_marks_in_the_order_of_the_text() {
        let statement = translate_placeholders("UPDATE t SET a = $2 WHERE b = $1 AND (c = $2 OR d = $10)");
        assert_eq!(&*statement.sql, "UPDATE t SET a = ? WHERE b = ? AND (c = ? OR d = ?)");
        assert_eq!(&*statement.order, [1, 0, 1, 9]);
    }
}
