//! Statements that are recognised but not supported.

use crate::text::errors::not_supported;
use crate::text::words::leading_words;
use atsdb_core::{Error, Result};
use datafusion::sql::sqlparser::ast::Statement as Ast;

/// Returns whether a statement is `LOAD DATA`.
pub fn is_load_data(text: &str) -> bool {
    let words = leading_words(text, 2);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    matches!(words.as_slice(), ["LOAD", "DATA"])
}

/// Statements of PostgreSQL and other databases that are not supported: their first words, and what to do instead.
const UNSUPPORTED: [(&[&str], &str); 58] = [
    (&["CREATE", "DOMAIN"], NO_DOMAINS),
    (&["ALTER", "DOMAIN"], NO_DOMAINS),
    (&["DROP", "DOMAIN"], NO_DOMAINS),
    (&["CREATE", "FUNCTION"], NO_CODE),
    (&["DROP", "FUNCTION"], NO_CODE),
    (&["CREATE", "PROCEDURE"], NO_CODE),
    (&["DROP", "PROCEDURE"], NO_CODE),
    (&["CREATE", "AGGREGATE"], NO_CODE),
    (&["DROP", "AGGREGATE"], NO_CODE),
    (&["CREATE", "TRIGGER"], NO_CODE),
    (&["CREATE", "CONSTRAINT", "TRIGGER"], NO_CODE),
    (&["CREATE", "EVENT", "TRIGGER"], NO_CODE),
    (&["DROP", "TRIGGER"], NO_CODE),
    (&["CREATE", "RULE"], NO_CODE),
    (&["DROP", "RULE"], NO_CODE),
    (&["CALL"], NO_CODE),
    (&["DO"], NO_CODE),
    (&["CREATE", "EXTENSION"], NO_EXTENSIONS),
    (&["DROP", "EXTENSION"], NO_EXTENSIONS),
    (&["GRANT"], RIGHTS),
    (&["REVOKE"], RIGHTS),
    (&["CREATE", "POLICY"], RIGHTS),
    (&["CREATE", "ROLE"], RIGHTS),
    (&["CREATE", "USER"], RIGHTS),
    (&["ALTER", "ROLE"], RIGHTS),
    (&["ALTER", "USER"], RIGHTS),
    (&["DROP", "ROLE"], RIGHTS),
    (&["DROP", "USER"], RIGHTS),
    (&["ALTER", "DEFAULT", "PRIVILEGES"], RIGHTS),
    (&["REASSIGN", "OWNED"], RIGHTS),
    (&["LOCK"], "leave it out: a transaction sees one state, and fails at COMMIT if another one changed the same rows"),
    (&["CREATE", "DATABASE"], ONE_STORE),
    (&["ALTER", "DATABASE"], ONE_STORE),
    (&["DROP", "DATABASE"], ONE_STORE),
    (&["CREATE", "TABLESPACE"], ONE_STORE),
    (&["CREATE", "SERVER"], OTHER_SERVERS),
    (&["CREATE", "FOREIGN"], OTHER_SERVERS),
    (&["IMPORT", "FOREIGN"], OTHER_SERVERS),
    (&["CREATE", "UNLOGGED"], "write CREATE TABLE, or CREATE TEMPORARY TABLE"),
    (&["VACUUM"], BY_ITSELF),
    (&["CLUSTER"], BY_ITSELF),
    (&["REINDEX"], BY_ITSELF),
    (&["NOTIFY"], "leave it out: there are no messages between clients"),
    (&["LISTEN"], CONNECTION),
    (&["PREPARE"], CONNECTION),
    (&["EXECUTE"], CONNECTION),
    (&["DECLARE"], CONNECTION),
    (&["FETCH"], CONNECTION),
    (
        &["CREATE", "EXTERNAL"],
        "query the file by its name, FROM 'day.csv', or store it: CREATE TABLE t AS FROM 'day.csv'",
    ),
    (&["ATTACH"], OTHER_STORES),
    (&["DETACH"], OTHER_STORES),
    (&["INSTALL"], NO_EXTENSIONS),
    (&["LOAD"], NO_EXTENSIONS),
    (&["UNLOAD"], NO_EXTENSIONS),
    (&["OPTIMIZE"], BY_ITSELF),
    (&["EXPORT"], "atsdb backup STORE FOLDER keeps all tables, and COPY t TO 'FILE' writes one"),
    (&["PIVOT"], "write a column for each value: sum(x) FILTER (WHERE name = 'a') AS a"),
    (&["UNPIVOT"], "write a SELECT for each column, with UNION ALL between them"),
];

const NO_DOMAINS: &str = "declare the columns with the type itself, and the condition as a CHECK of the table";
const NO_CODE: &str = "the store runs no code: compute values in the queries, in a view or a rollup, or in the program";
const RIGHTS: &str = "rights are the roles of users: atsdb user add STORE USER --role read, write or admin";
const ONE_STORE: &str = "a database is a store, such as a file: atsdb NAME.db creates one, atsdb serve serves several";
const OTHER_SERVERS: &str = "copy the table: atsdb import STORE TABLE postgresql://USER@HOST/DATABASE#TABLE";
const OTHER_STORES: &str = "a session has one store: atsdb copy SOURCE TARGET TABLE copies tables from one to another";
const NO_EXTENSIONS: &str = "leave it out: there are no extensions, and SHOW FUNCTIONS lists all functions";
const BY_ITSELF: &str = "leave it out: the store seals, merges and frees by itself";
const CONNECTION: &str = "it is for connections of PostgreSQL's protocol: atsdb serve";

/// Refuses statements by their first words, whether or not the parser knows them.
pub fn refuse_unsupported(text: &str) -> Result<()> {
    let mut words = leading_words(text, 5);
    if words.get(..3).is_some_and(|first| first == ["CREATE", "OR", "REPLACE"]) {
        words.drain(1..3);
    }
    let is_of = |names: &[&str]| words.get(..names.len()).is_some_and(|first| first == names);
    match UNSUPPORTED.iter().find(|(names, _)| is_of(names)) {
        Some((names, instead)) => Err(not_supported(names.join(" ")).with_hint(*instead)),
        None => Ok(()),
    }
}

/// The error for an unsupported statement.
pub fn refused(statement: &Ast) -> Error {
    match statement {
        Ast::Update { .. } | Ast::Delete { .. } => {
            not_supported("UPDATE or DELETE inside another statement").with_hint("write it as a separate statement")
        }
        Ast::StartTransaction { .. } | Ast::Commit { .. } | Ast::Rollback { .. } => {
            not_supported("BEGIN, COMMIT and ROLLBACK").with_hint("each statement is a transaction of its own")
        }
        Ast::Savepoint { .. } | Ast::ReleaseSavepoint { .. } => not_supported("SAVEPOINT"),
        other => {
            let text = other.to_string();
            let verb: Vec<&str> = text.split_whitespace().take(2).collect();
            let error = not_supported(verb.join(" "));
            match verb.as_slice() {
                ["SHOW", ..] => {
                    error.with_hint("use SHOW TABLES, SHOW COLUMNS FROM, SHOW FUNCTIONS or SHOW CREATE TABLE")
                }
                ["PRAGMA", ..] => {
                    error.with_hint("DESCRIBE t shows the columns of a table, SHOW TABLES lists the tables")
                }
                ["USE", ..] => error.with_hint("SET search_path chooses a schema; atsdb URL opens another store"),
                ["SET", "TIME" | "TIMEZONE", ..] => {
                    error.with_hint("times are in UTC: convert them in the query, time AT TIME ZONE 'Europe/Berlin'")
                }
                _ => error,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_statement_is_named_with_what_to_do_instead() {
        for (text, name, instead) in [
            ("CREATE DOMAIN positive AS INT CHECK (VALUE > 0)", "CREATE DOMAIN", "a CHECK"),
            ("create or replace function f() returns int", "CREATE FUNCTION", "a view"),
            ("/* x */ NOTIFY channel", "NOTIFY", "no messages"),
            ("GRANT SELECT ON t TO me", "GRANT", "atsdb user"),
            ("DO $$ BEGIN END $$", "DO", "no code"),
            ("ATTACH 'other.db' AS other", "ATTACH", "atsdb copy"),
            ("INSTALL httpfs", "INSTALL", "no extensions"),
            ("create external table t stored as csv", "CREATE EXTERNAL", "FROM 'day.csv'"),
        ] {
            let error = refuse_unsupported(text).unwrap_err();
            assert_eq!(error.message(), format!("{name} is not supported yet"));
            assert!(error.hint().is_some_and(|hint| hint.contains(instead)), "{error}");
        }
        for text in [
            "CREATE TABLE type (a INT)",
            "CREATE OR REPLACE VIEW v AS SELECT 1",
            "REFRESH ROLLUP r",
            "REFRESH MATERIALIZED VIEW v",
        ] {
            refuse_unsupported(text).unwrap();
        }
    }
}
