//! A database whose answers count as right.

use super::postgres::Postgres;
use super::sqlite::Sqlite;
use super::{Answer, Failure};
use crate::differential::keys::DECLARATION;
use crate::differential::schema::Schema;
use crate::differential::types::{Dialect, Type};

pub(crate) trait Oracle {
    fn execute(&mut self, sql: &str) -> Result<(), Failure>;
    fn query(&mut self, sql: &str, types: &[Type]) -> Answer;
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
pub(crate) fn fill(oracle: &mut dyn Oracle, schema: &Schema) -> Result<(), Failure> {
    oracle.execute("DROP TABLE IF EXISTS k")?;
    oracle.execute(DECLARATION)?;
    for table in &schema.tables {
        oracle.execute(&format!("DROP TABLE IF EXISTS {}", table.name))?;
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
