//! `CHECKPOINT [table, ...]`: saves the rows of tables in memory to the store.

use super::state::Session;
use crate::run::answer::Answer;
use atsdb_core::limits::SQL_DEPTH_MAX;
use atsdb_core::{Result, Table};
use atsdb_dialect::text::errors::{from_parser, not_supported, sql_error};
use atsdb_dialect::text::source_position::SourcePosition;
use atsdb_engine::TemporaryTables;
use datafusion::sql::sqlparser::ast::ObjectName;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

impl Session {
    /// Saves the named tables, or all, in one commit.
    pub(super) fn checkpoint(&self, text: &str, position: SourcePosition) -> Result<Answer> {
        let names = names(text).map_err(|error| from_parser(error, position))?;
        if self.in_transaction() {
            return Err(not_supported("CHECKPOINT inside a transaction").with_hint("COMMIT first"));
        }
        let mut tables: Vec<Table> = match names.is_empty() {
            true => self.tables()?.into_iter().filter(|table| table.definition.is_in_memory()).collect(),
            false => names.iter().map(|name| self.memory_table(name)).collect::<Result<_>>()?,
        };
        tables.sort_by_key(|table| table.id);
        tables.dedup_by_key(|table| table.id);
        tables.retain(|table| !TemporaryTables::contain(table));
        let row_count = self.engine.save_resident(&tables)?;
        Ok(Answer::Done { verb: "CHECKPOINT", row_count: Some(row_count) })
    }

    fn memory_table(&self, name: &ObjectName) -> Result<Table> {
        let table = self.table(name)?;
        if TemporaryTables::contain(&table) {
            let name = &table.definition.name;
            return Err(sql_error(format!("{name} is a temporary table: its rows are never stored"))
                .with_hint(format!("CREATE TABLE another_name AS SELECT * FROM {name}")));
        }
        match table.definition.is_in_memory() {
            true => Ok(table),
            false => {
                let name = &table.definition.name;
                Err(sql_error(format!("{name} is not in memory: its rows are stored with each commit")))
            }
        }
    }
}

fn names(text: &str) -> Result<Vec<ObjectName>, ParserError> {
    let mut parser = Parser::new(&GenericDialect).with_recursion_limit(SQL_DEPTH_MAX).try_with_sql(text)?;
    parser.next_token();
    if parser.peek_token().token == Token::EOF {
        return Ok(Vec::new());
    }
    let names = parser.parse_comma_separated(|parser| parser.parse_object_name(false))?;
    match parser.next_token() {
        end if end.token == Token::EOF => Ok(names),
        other => parser.expected("end of statement", other),
    }
}
