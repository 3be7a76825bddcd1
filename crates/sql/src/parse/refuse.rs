//! Statements that are recognised but not supported.

use crate::text::errors::{not_supported, sql_error};
use crate::text::words::leading_words;
use atsdb_core::{Error, Result};
use datafusion::sql::sqlparser::ast::Statement as Ast;

/// Whether a statement is `LOAD DATA`.
pub(crate) fn is_load_data(text: &str) -> bool {
    let words = leading_words(text, 2);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    matches!(words.as_slice(), ["LOAD", "DATA"])
}

/// Refuses statements about files by their first words, because the parser knows only some forms of them.
pub(crate) fn refuse_files(text: &str) -> Result<()> {
    let words = leading_words(text, 2);
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["CREATE", "EXTERNAL"] | ["LOAD" | "UNLOAD" | "ATTACH" | "INSTALL", ..] => {
            Err(sql_error("SQL may not read or write files").with_hint("use `atsdb import` and `atsdb export`"))
        }
        _ => Ok(()),
    }
}

/// The error for an unsupported statement.
pub(crate) fn refused(statement: &Ast) -> Error {
    match statement {
        Ast::Update { .. } | Ast::Delete { .. } => {
            not_supported("UPDATE or DELETE inside another statement").with_hint("write it as a statement of its own")
        }
        Ast::StartTransaction { .. } | Ast::Commit { .. } | Ast::Rollback { .. } => {
            not_supported("BEGIN, COMMIT and ROLLBACK").with_hint("each statement is a transaction of its own")
        }
        Ast::Savepoint { .. } | Ast::ReleaseSavepoint { .. } => not_supported("SAVEPOINT"),
        other => {
            let text = other.to_string();
            let verb: Vec<&str> = text.split_whitespace().take(2).collect();
            not_supported(verb.join(" "))
        }
    }
}
