//! A database whose answers count as right.

use super::postgres::Postgres;
use super::sqlite::Sqlite;
use super::{Answer, Failure};
use crate::differential::keys::DECLARATION;
use crate::differential::query::Query;
use crate::differential::schema::Schema;
use crate::differential::types::{Dialect, Type};

pub(crate) trait Oracle {
    fn execute(&mut self, sql: &str) -> Result<(), Failure>;
    fn query(&mut self, sql: &str, types: &[Type]) -> Answer;
    /// Runs a query, with the values of its parameters.
    fn ask(&mut self, query: &Query) -> Answer {
        let Query { sql, types, parameters, .. } = query;
        if parameters.is_empty() {
            return self.query(sql, types);
        }
        let values: Vec<String> = parameters.iter().map(|text| format!("'{}'", text.replace('\'', "''"))).collect();
        self.query(&format!("DEALLOCATE ALL; PREPARE q AS {sql}; EXECUTE q ({})", values.join(", ")), types)
    }
    /// Returns the types of a query's columns, if they are known before it runs.
    fn types(&mut self, sql: &str) -> Option<Vec<Type>>;
}

/// Returns the oracle of a dialect, if it is installed.
pub(crate) fn oracle(dialect: Dialect) -> Option<Box<dyn Oracle>> {
    match dialect {
        Dialect::Sqlite => Some(Box::new(Sqlite::new())),
        Dialect::Postgres => Some(Box::new(Postgres::connect()?)),
    }
}

/// Drops earlier tables, creates the tables and fills them.
pub(crate) fn fill(oracle: &mut dyn Oracle, schema: &Schema, dialect: Dialect) -> Result<(), Failure> {
    for table in schema.tables.iter().map(|table| table.name).chain(["k"]) {
        oracle.execute(&format!("DROP TABLE IF EXISTS {table}"))?;
    }
    dialect.declarations().iter().try_for_each(|declaration| oracle.execute(declaration))?;
    oracle.execute(DECLARATION)?;
    for table in &schema.tables {
        oracle.execute(&table.declaration())?;
        for rows in table.inserts.iter().filter(|rows| !rows.is_empty()) {
            oracle.execute(&table.insert(rows))?;
        }
    }
    Ok(())
}

/// Executes statements one after the other. If one fails, rolls back the transaction.
pub(crate) fn change(oracle: &mut dyn Oracle, statements: &[String]) -> Result<(), Failure> {
    for sql in statements {
        if let Err(failure) = oracle.execute(sql) {
            if statements.len() > 1 {
                let _ = oracle.execute("ROLLBACK");
            }
            return Err(failure);
        }
    }
    Ok(())
}
