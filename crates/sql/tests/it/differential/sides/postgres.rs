//! PostgreSQL: a database on the server that all tests share. Text is ordered by its bytes, and times are UTC.

use super::oracle::Oracle;
use super::{Answer, Cell, Failure};
use crate::differential::types::Type;
use atsdb_testkit::server::{self, ServerKind};
use postgres::types::Type as Known;
use postgres::{Client, NoTls, SimpleQueryMessage};

pub(super) struct Postgres(Client);

impl Postgres {
    /// Returns `None`, with a message on stderr, if PostgreSQL is not installed.
    pub(super) fn connect() -> Option<Self> {
        let url = server::shared(ServerKind::Postgres)?.database();
        let mut client = Client::connect(&url, NoTls).unwrap();
        let settings =
            "SET client_min_messages = error; SET timezone = 'UTC'; SET jit = off; SET statement_timeout = '20s'";
        client.batch_execute(settings).unwrap();
        Some(Self(client))
    }
}

impl Oracle for Postgres {
    fn execute(&mut self, sql: &str) -> Result<(), Failure> {
        self.0.batch_execute(sql).map_err(failure)
    }

    fn query(&mut self, sql: &str, types: &[Type]) -> Answer {
        let mut found = Vec::new();
        for message in self.0.simple_query(sql).map_err(failure)? {
            let SimpleQueryMessage::Row(row) = message else { continue };
            let cell = |column: usize| row.get(column).map_or(Cell::Null, |text| cell(text, types[column]));
            found.push((0..row.len()).map(cell).collect());
        }
        Ok(found)
    }

    fn types(&mut self, sql: &str) -> Option<Vec<Type>> {
        let statement = self.0.prepare(sql).ok()?;
        Some(statement.columns().iter().map(|column| type_of(column.type_())).collect())
    }
}

fn type_of(ty: &Known) -> Type {
    match *ty {
        Known::BOOL => Type::Bool,
        Known::INT2 | Known::INT4 | Known::INT8 => Type::Int,
        Known::FLOAT4 | Known::FLOAT8 => Type::Float,
        Known::NUMERIC => Type::Numeric,
        Known::BYTEA => Type::Bytea,
        Known::DATE => Type::Date,
        Known::TIMESTAMP => Type::Timestamp,
        Known::TIMESTAMPTZ => Type::TimestampTz,
        Known::TIME => Type::Time,
        Known::UUID => Type::Uuid,
        Known::INTERVAL => Type::Interval,
        _ => Type::Text,
    }
}

fn cell(text: &str, ty: Type) -> Cell {
    match ty {
        Type::Bool => Cell::Text(if text == "t" { "true" } else { "false" }.to_owned()),
        Type::TimestampTz => Cell::Text(text.strip_suffix("+00").unwrap_or(text).to_owned()),
        _ => Cell::of_number(text, ty),
    }
}

/// Converts an error. SQLSTATEs of classes 22 and 23 are about values.
fn failure(error: postgres::Error) -> Failure {
    match error.as_db_error() {
        Some(error) if error.code().code().starts_with("22") || error.code().code().starts_with("23") => {
            Failure::Value(error.message().to_owned())
        }
        Some(error) => Failure::Refused(format!("{}: {}", error.code().code(), error.message())),
        None => Failure::Internal(error.to_string()),
    }
}
