//! The two sides: SQLite, and this crate. Values are compared as texts; numbers with six digits after the point.

use super::choice::Choice;
use super::expressions::{Type, literal};
use super::keys::DECLARATION;
use super::queries::TABLES;
use crate::stores::{State, session};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use atsdb_sql::{Answer, Session};
use rusqlite::Connection;
use rusqlite::types::ValueRef;
use tempfile::TempDir;

/// SQLite.
pub(crate) struct Oracle(Connection);

impl Oracle {
    pub(crate) fn new() -> Self {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("PRAGMA case_sensitive_like = ON").unwrap();
        Self(connection)
    }

    pub(crate) fn execute(&self, sql: &str) {
        self.0.execute_batch(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
    }

    pub(crate) fn query(&self, sql: &str) -> Vec<Vec<String>> {
        let mut statement = self.0.prepare(sql).unwrap_or_else(|error| panic!("SQLite: {error}: {sql}"));
        let column_count = statement.column_count();
        let mut rows = statement.query([]).unwrap();
        let mut found = Vec::new();
        while let Some(row) = rows.next().unwrap_or_else(|error| panic!("SQLite: {error}: {sql}")) {
            let cell = |column| match row.get_ref(column).unwrap() {
                ValueRef::Null => "NULL".to_owned(),
                ValueRef::Integer(value) => integer(value),
                ValueRef::Real(value) => float(value),
                ValueRef::Text(text) => format!("'{}'", String::from_utf8_lossy(text)),
                ValueRef::Blob(_) => panic!("a blob: {sql}"),
            };
            found.push((0..column_count).map(cell).collect());
        }
        found
    }
}

/// This crate, over a store of its own.
pub(crate) struct Here {
    pub(crate) state: State,
    session: Session,
    _directory: TempDir,
}

impl Here {
    pub(crate) fn new(store: &str, state: State) -> Self {
        let (session, directory) = session(store);
        Self { state, session, _directory: directory }
    }

    pub(crate) fn execute(&self, sql: &str) {
        self.query(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
    }

    fn seal(&self, step: usize) {
        if self.state == State::Sealed || (self.state == State::HalfSealed && step.is_multiple_of(2)) {
            self.session.engine().recompress(None).unwrap();
        }
    }

    pub(crate) fn query(&self, sql: &str) -> Result<Vec<Vec<String>>, String> {
        let statement = self.session.statements(sql).next().unwrap().map_err(|error| error.to_string())?;
        let answer = self.session.execute(&statement, &[]).map_err(|error| error.to_string())?;
        let Answer::Rows(rows) = answer else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for batch in rows {
            let batch = batch.map_err(|error| error.to_string())?;
            let columns: Vec<Vec<String>> = batch.columns().iter().map(texts).collect();
            found.extend((0..batch.num_rows()).map(|row| columns.iter().map(|column| column[row].clone()).collect()));
        }
        Ok(found)
    }
}

fn texts(array: &ArrayRef) -> Vec<String> {
    let of = |to: &DataType, text: &dyn Fn(&ArrayRef, usize) -> String| -> Vec<String> {
        let array = cast(array, to).unwrap();
        (0..array.len()).map(|row| if array.is_null(row) { "NULL".to_owned() } else { text(&array, row) }).collect()
    };
    match array.data_type() {
        DataType::Null => vec!["NULL".to_owned(); array.len()],
        DataType::Float32 | DataType::Float64 | DataType::Decimal128(..) => {
            of(&DataType::Float64, &|array, row| float(array.as_primitive::<Float64Type>().value(row)))
        }
        ty if ty.is_integer() => {
            of(&DataType::Int64, &|array, row| integer(array.as_primitive::<Int64Type>().value(row)))
        }
        _ => of(&DataType::Utf8, &|array, row| format!("'{}'", array.as_string::<i32>().value(row))),
    }
}

fn integer(value: i64) -> String {
    format!("{value}.000000")
}

fn float(value: f64) -> String {
    let text = format!("{value:.6}");
    if text == "-0.000000" { "0.000000".to_owned() } else { text }
}

/// Makes the tables on both sides, and fills them in several statements, between which chunks are sealed.
pub(crate) fn fill(choice: &mut Choice, oracle: &Oracle, here: &[Here]) {
    let types = |types: [&'static str; 3]| {
        move |ty: Type| match ty {
            Type::Int => types[0],
            Type::Float => types[1],
            Type::Text => types[2],
        }
    };
    oracle.execute(DECLARATION);
    here.iter().for_each(|here| here.execute(DECLARATION));
    for (table, columns) in TABLES {
        let declare = |of: &dyn Fn(Type) -> &'static str| {
            let columns: Vec<String> = columns.iter().map(|(name, ty)| format!("{name} {}", of(*ty))).collect();
            format!("CREATE TABLE {table} ({})", columns.join(", "))
        };
        oracle.execute(&declare(&types(["INTEGER", "REAL", "TEXT"])));
        let options = match table {
            "a" => " WITH (time = 'at', time_unit = 's', slice = 'day', map = 'm:u8')",
            "b" => " WITH (map = 's:u16')",
            _ => "",
        };
        let sql = declare(&types(["BIGINT", "DOUBLE", "TEXT"])) + options;
        here.iter().for_each(|here| here.execute(&sql));
        let (statements, rows) = match table {
            "a" => (6, 30),
            "b" => (4, 9),
            _ => (2, 3),
        };
        for step in 0..statements {
            let rows: Vec<String> = (0..rows).map(|_| row(choice, columns)).collect();
            let sql = format!("INSERT INTO {table} VALUES {}", rows.join(", "));
            oracle.execute(&sql);
            for here in here {
                here.execute(&sql);
                here.seal(step);
            }
        }
    }
}

fn row(choice: &mut Choice, columns: &[(&str, Type)]) -> String {
    let cell = |choice: &mut Choice, name: &str, ty: Type| match (name, ty) {
        ("at", _) => choice.below(4 * 86_400).to_string(),
        _ if choice.percent(12) => "NULL".to_owned(),
        ("k", _) => choice.below(8).to_string(),
        ("m", _) => choice.of(&["'red'", "'green'", "'a'"]).to_owned(),
        (_, ty) => match literal(choice, ty) {
            text if text.starts_with("CAST") => "NULL".to_owned(),
            text => text,
        },
    };
    let cells: Vec<String> = columns.iter().map(|(name, ty)| cell(choice, name, *ty)).collect();
    format!("({})", cells.join(", "))
}
