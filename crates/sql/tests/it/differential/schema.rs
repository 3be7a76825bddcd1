//! Tables and their rows, as data, so that a failure can be shown with fewer of them.

use super::choice::Choice;
use super::types::{Dialect, Type, value};

/// The tables of a seed.
#[derive(Debug, Clone)]
pub(crate) struct Schema {
    pub(crate) tables: Vec<Table>,
}

/// A table: `a` is a series table with a few days, `b` is a plain one, `c` is small enough for cross joins.
#[derive(Debug, Clone)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) columns: Vec<Column>,
    /// The rows of each INSERT statement. Between two of them rows may be sealed. A cell is a literal.
    pub(crate) inserts: Vec<Vec<Vec<String>>>,
}

#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) ty: Type,
    /// The type as it is written in the declaration.
    pub(crate) declared: &'static str,
    pub(crate) is_not_null: bool,
    pub(crate) history: History,
}

/// How a column is created on an altered table. The rows are such that the result is the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum History {
    Declared,
    /// Added after half of the statements, with this default, which earlier rows get.
    Added(String),
    /// Has this narrower type for half of the statements.
    Widened(&'static str),
    Renamed,
}

impl Schema {
    pub(crate) fn new(choice: &mut Choice, dialect: Dialect) -> Self {
        let tables = [("a", 6, 30), ("b", 4, 9), ("c", 2, 3)];
        Self { tables: tables.map(|(name, inserts, rows)| Table::new(choice, dialect, name, inserts, rows)).into() }
    }

    pub(crate) fn table(&self, name: &str) -> &Table {
        self.tables.iter().find(|table| table.name == name).expect("a table")
    }

    pub(crate) fn row_count(&self) -> usize {
        self.tables.iter().flat_map(|table| &table.inserts).map(Vec::len).sum()
    }
}

impl Table {
    fn new(choice: &mut Choice, dialect: Dialect, name: &'static str, insert_count: usize, row_count: usize) -> Self {
        let columns = columns(choice, dialect, name);
        let insert = |choice: &mut Choice, is_early: bool| -> Vec<Vec<String>> {
            (0..row_count).map(|_| columns.iter().map(|column| column.cell(choice, is_early)).collect()).collect()
        };
        let inserts = (0..insert_count).map(|at| insert(choice, at < insert_count / 2)).collect();
        Self { name, columns, inserts }
    }

    /// Returns the `CREATE TABLE` statement in the dialect of a database.
    pub(crate) fn declaration(&self) -> String {
        let column = |column: &Column| {
            let not_null = if column.is_not_null { " NOT NULL" } else { "" };
            format!("{} {}{not_null}", column.name, column.declared)
        };
        let columns: Vec<String> = self.columns.iter().map(column).collect();
        format!("CREATE TABLE {} ({})", self.name, columns.join(", "))
    }

    /// Returns whether it can be a table in memory: an enumerated type cannot be that of its columns.
    pub(crate) fn fits_in_memory(&self) -> bool {
        self.columns.iter().all(|column| column.ty != Type::Mood)
    }

    pub(crate) fn names(&self) -> String {
        self.columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ")
    }

    pub(crate) fn insert(&self, rows: &[Vec<String>]) -> String {
        let rows: Vec<String> = rows.iter().map(|row| format!("({})", row.join(", "))).collect();
        format!("INSERT INTO {} ({}) VALUES {}", self.name, self.names(), rows.join(", "))
    }

    pub(crate) fn whole(&self) -> String {
        format!("SELECT {} FROM {}", self.names(), self.name)
    }
}

impl Column {
    fn new(name: &str, ty: Type, declared: &'static str) -> Self {
        Self { name: name.to_owned(), ty, declared, is_not_null: false, history: History::Declared }
    }

    fn cell(&self, choice: &mut Choice, is_early: bool) -> String {
        if let (History::Added(default), true) = (&self.history, is_early) {
            return default.clone();
        }
        if self.name == "at" && self.ty == Type::Int {
            return choice.below(4 * 86_400).to_string();
        }
        if !self.is_not_null && choice.percent(12) {
            return "NULL".to_owned();
        }
        match self.name.as_str() {
            "k" => choice.below(8).to_string(),
            "m" => choice.of(&["'red'", "'green'", "'a'"]).to_owned(),
            _ => value(choice, self.ty),
        }
    }
}

fn columns(choice: &mut Choice, dialect: Dialect, table: &str) -> Vec<Column> {
    let mut columns = Vec::new();
    if table == "a" {
        let times = [
            ("BIGINT", Type::Int),
            ("TIMESTAMP", Type::Timestamp),
            ("TIMESTAMP", Type::Timestamp),
            ("TIMESTAMPTZ", Type::TimestampTz),
        ];
        let (declared, ty) = if dialect == Dialect::Sqlite { times[0] } else { times[choice.below(4)] };
        columns.push(Column { is_not_null: true, ..Column::new("at", ty, declared) });
    }
    columns.push(Column::new("k", Type::Int, "BIGINT"));
    if table != "c" && dialect == Dialect::Sqlite {
        let number = if table == "a" { "x" } else { "y" };
        columns.push(Column::new(number, Type::Int, "BIGINT"));
        columns.push(Column::new("f", Type::Float, "DOUBLE PRECISION"));
    }
    columns.push(Column::new("s", Type::Text, "TEXT"));
    if table == "a" {
        columns.push(Column::new("m", Type::Text, "TEXT"));
    }
    if dialect == Dialect::Postgres {
        let mut kinds = vec![
            ("i2", Type::Int, "SMALLINT"),
            ("i4", Type::Int, "INT"),
            ("i8", Type::Int, "BIGINT"),
            ("f4", Type::Float, "REAL"),
            ("f8", Type::Float, "DOUBLE PRECISION"),
            ("t", Type::Text, "TEXT"),
            ("bo", Type::Bool, "BOOLEAN"),
            ("by", Type::Bytea, "BYTEA"),
            ("day", Type::Date, "DATE"),
            ("ts", Type::Timestamp, "TIMESTAMP"),
            ("tz", Type::TimestampTz, "TIMESTAMPTZ"),
            ("nu", Type::Numeric, "DECIMAL(10, 2)"),
            ("ti", Type::Time, "TIME"),
            ("id", Type::Uuid, "UUID"),
            ("mo", Type::Mood, "mood"),
        ];
        let count = if table == "c" { 1 + choice.below(2) } else { 3 + choice.below(4) };
        for _ in 0..count {
            let (name, ty, declared) = kinds.swap_remove(choice.below(kinds.len()));
            columns.push(Column::new(name, ty, declared));
        }
    }
    for column in columns.iter_mut().filter(|column| !["at", "k"].contains(&column.name.as_str())) {
        column.is_not_null = choice.percent(15);
        column.history = history(choice, column);
    }
    columns
}

fn history(choice: &mut Choice, column: &Column) -> History {
    match column.declared {
        "INT" | "BIGINT" if choice.percent(40) => History::Widened("SMALLINT"),
        "DOUBLE PRECISION" if choice.percent(40) => History::Widened("REAL"),
        _ if choice.percent(20) && matches!(column.ty, Type::Int | Type::Text | Type::Float) => {
            History::Added(value(choice, column.ty))
        }
        _ if choice.percent(20) && !column.is_not_null => History::Added("NULL".to_owned()),
        _ if choice.percent(20) => History::Renamed,
        _ => History::Declared,
    }
}
