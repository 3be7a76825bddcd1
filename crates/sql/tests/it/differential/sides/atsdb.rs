//! atsdb, with rows in one layout.

use super::layout::{LAYOUTS, Layout, ON_MARIADB, Variant, Where};
use super::parameters::with_parameters;
use super::{Answer, Cell, Failure};
use crate::differential::keys::DECLARATION;
use crate::differential::query::Query;
use crate::differential::schema::Schema;
use crate::differential::types::{Dialect, Type};
use crate::stores::{SealState, server_session, session};
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Date32Type, Float64Type, TimeUnit, TimestampMicrosecondType};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use atsdb_core::{Error, ErrorKind};
use atsdb_sql::{Answer as SessionAnswer, ParameterValue, Session};
use datafusion::sql::sqlparser::ast::{Statement, TableFactor, VisitMut, VisitorMut};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;
use std::ops::ControlFlow;
use tempfile::TempDir;

pub(crate) struct Atsdb {
    pub(crate) layout: Layout,
    session: Session,
    _directory: Option<TempDir>,
}

impl Atsdb {
    /// Returns a store with the layout, if its server is installed.
    pub(crate) fn new(layout: Layout) -> Option<Self> {
        let (session, directory) = match layout.place {
            Where::Store(name) => {
                let (session, directory) = session(name);
                (session, Some(directory))
            }
            Where::Server(kind) => (server_session(kind)?, None),
        };
        Some(Self { layout, session, _directory: directory })
    }

    /// Returns a store with each layout.
    pub(crate) fn all() -> Vec<Self> {
        LAYOUTS.iter().chain([&ON_MARIADB]).filter_map(|layout| Self::new(*layout)).collect()
    }

    /// Drops earlier tables, creates the tables and fills them.
    pub(crate) fn fill(&self, schema: &Schema, dialect: Dialect) -> Result<(), Failure> {
        self.execute("ROLLBACK").ok();
        for table in schema.tables.iter().map(|table| table.name).chain(["k"]) {
            self.execute(&format!("DROP TABLE IF EXISTS {table}"))?;
        }
        dialect.declarations().iter().try_for_each(|declaration| self.execute(declaration))?;
        let in_memory = if self.layout.variant == Variant::InMemory { " WITH (engine = 'memory')" } else { "" };
        self.execute(&format!("{DECLARATION}{in_memory}"))?;
        let mut step = 0;
        for statement in self.layout.statements(schema, dialect) {
            match statement {
                Some(sql) => self.execute(&sql)?,
                None => {
                    if self.layout.state == SealState::Sealed
                        || (self.layout.state == SealState::HalfSealed && step % 2 == 0)
                    {
                        self.session.engine().recompress(None).map_err(|error| failure(&error))?;
                    }
                    step += 1;
                }
            }
        }
        Ok(())
    }

    pub(crate) fn execute(&self, sql: &str) -> Result<(), Failure> {
        self.answer(sql, &[]).map(drop)
    }

    /// Executes statements one after the other. If one fails, rolls back the transaction.
    pub(crate) fn change(&self, statements: &[String]) -> Result<(), Failure> {
        for sql in statements {
            if let Err(failure) = self.execute(sql) {
                if statements.len() > 1 {
                    let _ = self.execute("ROLLBACK");
                }
                return Err(failure);
            }
        }
        Ok(())
    }

    /// Runs a query twice, if it is not refused, and returns the second answer, which comes from a cached plan.
    pub(crate) fn query(&self, sql: &str, types: &[Type]) -> Answer {
        if self.layout.variant == Variant::Prepared
            && let Some((sql, values)) = with_parameters(sql)
        {
            let prepared = self.session.prepare(&sql, &[]).map_err(|error| failure(&error))?;
            let answer = || self.session.execute_prepared(&prepared, &values).map_err(|error| failure(&error));
            return rows(answer()?, types).and_then(|_| rows(answer()?, types));
        }
        let sql = match self.layout.variant {
            // A LIMIT below another one may get lost: see the exclusions.
            Variant::NoPushdown if !sql.contains(" LIMIT ") => without_pushdown(sql),
            _ => sql.to_owned(),
        };
        self.answer(&sql, types).and_then(|_| self.answer(&sql, types))
    }

    /// Runs a query, with the values of its parameters.
    pub(crate) fn ask(&self, query: &Query) -> Answer {
        let Query { sql, types, parameters, .. } = query;
        if parameters.is_empty() {
            return self.query(sql, types);
        }
        let values: Vec<ParameterValue> = parameters.iter().map(|text| text.as_str().into()).collect();
        let prepared = self.session.prepare(sql, &[]).map_err(|error| failure(&error))?;
        rows(self.session.execute_prepared(&prepared, &values).map_err(|error| failure(&error))?, types)
    }

    fn answer(&self, sql: &str, types: &[Type]) -> Answer {
        let failed = |error: Error| failure(&error);
        let statement = self.session.statements(sql).next().unwrap().map_err(failed)?;
        rows(self.session.execute(&statement, &[]).map_err(failed)?, types)
    }
}

fn rows(answer: SessionAnswer, types: &[Type]) -> Answer {
    let SessionAnswer::Rows(batches) = answer else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    for batch in batches {
        let batch = batch.map_err(|error| failure(&error))?;
        let columns: Vec<Vec<Cell>> = batch.columns().iter().zip(types).map(|(array, ty)| cells(array, *ty)).collect();
        found.extend((0..batch.num_rows()).map(|row| columns.iter().map(|column| column[row].clone()).collect()));
    }
    Ok(found)
}

fn failure(error: &Error) -> Failure {
    let text = error.to_string();
    match error.kind() {
        ErrorKind::InvalidValue | ErrorKind::DuplicateKey => Failure::Value(text),
        ErrorKind::Sql | ErrorKind::Limit | ErrorKind::Resources => Failure::Refused(text),
        _ => Failure::Internal(text),
    }
}

fn cells(array: &ArrayRef, ty: Type) -> Vec<Cell> {
    let of = |to: DataType, cell: &dyn Fn(&ArrayRef, usize) -> Cell| -> Vec<Cell> {
        let array = cast(array, &to).unwrap();
        (0..array.len()).map(|row| if array.is_null(row) { Cell::Null } else { cell(&array, row) }).collect()
    };
    match (ty, array.data_type()) {
        (_, DataType::Null) => vec![Cell::Null; array.len()],
        (Type::Float | Type::Numeric, plain) if plain.is_numeric() => {
            of(DataType::Float64, &|array, row| Cell::Float(array.as_primitive::<Float64Type>().value(row) + 0.0))
        }
        (Type::Timestamp | Type::TimestampTz, DataType::Timestamp(..)) => {
            of(DataType::Timestamp(TimeUnit::Microsecond, None), &|array, row| {
                let time = array.as_primitive::<TimestampMicrosecondType>().value_as_datetime(row).unwrap();
                let text = time.format("%Y-%m-%d %H:%M:%S%.6f").to_string();
                let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
                let fraction = fraction.trim_end_matches('0');
                let point = if fraction.is_empty() { "" } else { "." };
                Cell::Text(format!("{whole}{point}{fraction}"))
            })
        }
        (Type::Time, DataType::Time64(_)) => {
            let cells = texts(array, ty).into_iter();
            let shortened = |cell| match cell {
                // The fraction has as many digits as it needs.
                Cell::Text(text) if text.contains('.') => Cell::Text(text.trim_end_matches('0').to_owned()),
                other => other,
            };
            cells.map(shortened).collect()
        }
        (Type::Date, DataType::Date32) => of(DataType::Date32, &|array, row| {
            Cell::Text(array.as_primitive::<Date32Type>().value_as_date(row).unwrap().to_string())
        }),
        (Type::Bytea, DataType::Binary | DataType::LargeBinary | DataType::BinaryView) => {
            of(DataType::Binary, &|array, row| {
                let bytes = array.as_binary::<i32>().value(row);
                Cell::Text(bytes.iter().fold("\\x".to_owned(), |text, byte| format!("{text}{byte:02x}")))
            })
        }
        _ => texts(array, ty),
    }
}

fn texts(array: &ArrayRef, ty: Type) -> Vec<Cell> {
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(array.as_ref(), &options).unwrap();
    let cell = |row| match array.is_null(row) {
        true => Cell::Null,
        false => Cell::of_number(&formatter.value(row).to_string(), ty),
    };
    (0..array.len()).map(cell).collect()
}

/// Returns the same query with a LIMIT around each table, so that no condition is pushed down.
fn without_pushdown(sql: &str) -> String {
    let Ok(mut statements) = Parser::parse_sql(&PostgreSqlDialect {}, sql) else { return sql.to_owned() };
    let _ = statements[0].visit(&mut Hide);
    statements[0].to_string()
}

struct Hide;

impl VisitorMut for Hide {
    type Break = ();

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, alias, .. } = factor
            && ["a", "b", "c", "k"].contains(&name.to_string().as_str())
        {
            let alias = alias.as_ref().map_or(name.to_string(), |alias| alias.name.to_string());
            let hidden = format!("SELECT * FROM (SELECT * FROM {name} LIMIT 1000000) AS {alias}");
            if let Ok(parsed) = Parser::parse_sql(&PostgreSqlDialect {}, &hidden)
                && let Some(hidden) = only_factor(parsed)
            {
                *factor = hidden;
            }
        }
        ControlFlow::Continue(())
    }
}

fn only_factor(statements: Vec<Statement>) -> Option<TableFactor> {
    let Some(Statement::Query(query)) = statements.into_iter().next() else { return None };
    let select = query.body.as_select()?;
    Some(select.from.first()?.relation.clone())
}
