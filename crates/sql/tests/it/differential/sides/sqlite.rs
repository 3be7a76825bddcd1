//! SQLite.

use super::oracle::Oracle;
use super::{Answer, Cell, Failure};
use crate::differential::types::Type;
use rusqlite::Connection;
use rusqlite::types::ValueRef;

pub(super) struct Sqlite(Connection);

impl Sqlite {
    pub(super) fn new() -> Self {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("PRAGMA case_sensitive_like = ON").unwrap();
        Self(connection)
    }
}

impl Oracle for Sqlite {
    fn execute(&mut self, sql: &str) -> Result<(), Failure> {
        self.0.execute_batch(sql).map_err(failure)
    }

    fn query(&mut self, sql: &str, types: &[Type]) -> Answer {
        let mut statement = self.0.prepare(sql).map_err(failure)?;
        let column_count = statement.column_count();
        let mut rows = statement.query([]).map_err(failure)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next().map_err(failure)? {
            let cell = |column| match row.get_ref(column).unwrap() {
                ValueRef::Null => Cell::Null,
                ValueRef::Integer(value) => Cell::of_number(&value.to_string(), types[column]),
                ValueRef::Real(value) => Cell::of_number(&value.to_string(), types[column]),
                ValueRef::Text(text) => Cell::Text(String::from_utf8_lossy(text).into_owned()),
                ValueRef::Blob(_) => panic!("a blob: {sql}"),
            };
            found.push((0..column_count).map(cell).collect());
        }
        Ok(found)
    }

    fn types(&mut self, _: &str) -> Option<Vec<Type>> {
        None
    }
}

fn failure(error: rusqlite::Error) -> Failure {
    Failure::Refused(error.to_string())
}
