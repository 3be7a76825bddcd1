//! Recognises queries about the catalogue, and answers them.

use super::activity::Activity;
use super::contents::{self, Contents};
use super::context::{Context, Frame, Purpose, Queries};
use super::functions::{is_about_the_server, special_name};
use super::limits::Limits;
use super::names::{function_name, ident, schema_and_name};
use super::not_tables::NotTables;
use super::parameter_types::parameter_types;
use super::patterns::LastPattern;
use super::relation::Row;
use super::select::Executor;
use super::store_functions::{StoreFunctions, value_at};
use super::type_names::type_id;
use super::value::Value;
use crate::access::state::Access;
use crate::pg::error::PgError;
use crate::pg::settings::Settings;
use crate::pg::store::StoreSession;
use crate::pg::types::known;
use crate::pg::wire::outgoing::ResultColumn;
use atsdb::sql::is_of_sequences;
use atsdb::sql::tree_walk::{visit_expressions, visit_relations};
use atsdb::{Error, ErrorKind};
use datafusion::common::ScalarValue;
use datafusion::sql::sqlparser::ast::{Expr, ObjectName, Query, Statement};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};
use regex::Regex;
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::LazyLock;

/// The maximum nesting depth of a query.
const DEPTH_MAX: usize = 60;

/// The maximum length of a query's text in bytes. A longer one is not about the catalogue.
const TEXT_BYTES_MAX: usize = 1 << 17;

/// Whether a name, with or without a schema, is that of a sequence.
pub(in crate::pg) type IsSequence<'a> = &'a dyn Fn(Option<&str>, &str) -> bool;

/// A query about the catalogue.
#[derive(Debug)]
pub(in crate::pg) struct CatalogueQuery {
    query: Box<Query>,
    pub(in crate::pg) parameter_types: Vec<u32>,
}

/// The connection that runs the query.
pub(in crate::pg) struct ConnectionContext<'a> {
    pub(in crate::pg) database: &'a str,
    pub(in crate::pg) user: &'a str,
    pub(in crate::pg) process: i32,
    pub(in crate::pg) settings: Settings,
    pub(in crate::pg) session: &'a StoreSession,
    pub(in crate::pg) access: &'a Access,
    pub(in crate::pg) activity: &'a dyn Activity,
}

/// The answer to a query.
pub(in crate::pg) struct CatalogueAnswer {
    pub(in crate::pg) columns: Vec<ResultColumn>,
    pub(in crate::pg) rows: Vec<Row>,
    pub(in crate::pg) changed_settings: Vec<(String, String, bool)>,
    pub(in crate::pg) notices: Vec<PgError>,
}

impl CatalogueQuery {
    /// Parses a query. Returns `None` if it is not about the catalogue or cannot be parsed; the store then reports the
    /// error.
    pub(in crate::pg) fn read(text: &str, types: &[u32], is_sequence: IsSequence<'_>) -> Option<Self> {
        if !may_be(text) {
            return None;
        }
        let tokens = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize_with_location().ok()?;
        let parser = Parser::new(&PostgreSqlDialect {}).with_recursion_limit(DEPTH_MAX);
        let mut parser = parser.with_tokens_with_locations(with_plain_comparisons(tokens));
        let Ok(Statement::Query(query)) = parser.parse_statement() else { return None };
        if !is_about_the_catalogue(&query, is_sequence) {
            return None;
        }
        let parameter_types = parameter_types(&query, types);
        Some(Self { query, parameter_types })
    }

    /// The columns of the answer.
    pub(in crate::pg) fn columns(&self, connection: ConnectionContext<'_>) -> Result<Vec<ResultColumn>, PgError> {
        let nulls = vec![ScalarValue::Null; self.parameter_types.len()];
        self.evaluate(&nulls, connection, Purpose::Columns).map(|found| found.columns)
    }

    /// Answers the query.
    pub(in crate::pg) fn run(
        &self,
        values: &[ScalarValue],
        connection: ConnectionContext<'_>,
    ) -> Result<CatalogueAnswer, PgError> {
        self.evaluate(values, connection, Purpose::Answer)
    }

    fn evaluate(
        &self,
        values: &[ScalarValue],
        connection: ConnectionContext<'_>,
        purpose: Purpose,
    ) -> Result<CatalogueAnswer, PgError> {
        let ConnectionContext { database, user, process, settings, session, access, activity } = connection;
        let parameters = values.iter().zip(&self.parameter_types).map(|(value, id)| of_scalar(value, *id));
        let parameters = parameters.collect::<Result<Vec<Value>, PgError>>()?;
        let source = Contents::new(session, (database, user), &settings, access, activity);
        let context = Context {
            parameters: &parameters,
            database,
            user,
            process,
            settings: RefCell::new(settings.clone()),
            changed: RefCell::default(),
            notices: RefCell::default(),
            purpose,
            limits: Limits::begin(session),
            last_pattern: LastPattern::default(),
            activity,
            functions: StoreFunctions::new(session),
            source: &source,
            queries: &Executor,
        };
        let relation = Executor.query(&context, &self.query, &Frame::root())?;
        let columns = relation.columns.iter();
        let columns = columns.map(|column| ResultColumn::new(&column.name, column.type_id)).collect();
        let rows = std::rc::Rc::unwrap_or_clone(relation.rows);
        Ok(CatalogueAnswer {
            columns,
            rows,
            changed_settings: context.changed.into_inner(),
            notices: context.notices.into_inner(),
        })
    }
}

/// Writes comparisons such as `OPERATOR(pg_catalog.=)` as `=`, which the parser takes before `ANY`, too.
fn with_plain_comparisons(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    use Token::{Eq, Gt, GtEq, LParen, Lt, LtEq, Neq, Period, RParen};
    let is_word =
        |token: &Token, text: &str| matches!(token, Token::Word(word) if word.value.eq_ignore_ascii_case(text));
    let mut plain: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    for token in tokens {
        plain.push(token);
        let Some(start) = plain.len().checked_sub(6) else { continue };
        if let [operator, LParen, schema, Period, Eq | Neq | Lt | LtEq | Gt | GtEq, RParen] =
            [0, 1, 2, 3, 4, 5].map(|at| &plain[start + at].token)
            && is_word(operator, "operator")
            && is_word(schema, "pg_catalog")
        {
            let comparison = plain.swap_remove(start + 4);
            plain.truncate(start);
            plain.push(comparison);
        }
    }
    plain
}

/// Returns whether a text may be about the catalogue. This spares most statements the time to parse them here.
fn may_be(text: &str) -> bool {
    let trimmed = text.trim_start();
    let begins = |start: &&str| trimmed.get(..start.len()).is_some_and(|part| part.eq_ignore_ascii_case(start));
    let is_query = ["select", "with", "(", "table", "/*", "--"].iter().any(begins);
    is_query && text.len() <= TEXT_BYTES_MAX && has_sign(text)
}

/// Returns whether a text has a word that occurs in queries about the catalogue. Columns of tables have names such as
/// `usage_user`.
pub(in crate::pg) fn has_sign(text: &str) -> bool {
    static SIGNS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let beginnings = "pg_|current_|to_reg|has_|inet_|reg(?:class|namespace|oper|proc|role|type)";
        let ends = "_description|_ident";
        // Two of them are columns of sequences.
        let words = "information_schema|version|set_config|session_user|user|format_type|getdatabaseencoding\
                     |last_value|is_called";
        // ASCII letters alone are found many times faster.
        Regex::new(&format!(r"(?i-u)\b(?:{beginnings})|(?:{ends})\b|\b(?:{words})\b")).ok()
    });
    SIGNS.as_ref().is_none_or(|signs| signs.is_match(text))
}

/// Returns whether all tables of a query belong to the catalogue or are sequences. A query without a table counts if it
/// concerns the server.
fn is_about_the_catalogue(query: &Query, is_sequence: IsSequence<'_>) -> bool {
    let names = NotTables::of(query);
    let mut found = false;
    let outcome = visit_relations(query, |name: &ObjectName| {
        let (schema, table) = schema_and_name(name);
        let is_about_it = ["current_schema", "pg_get_keywords", "_pg_expandarray"].contains(&table.as_str());
        if contents::is_relation(schema.as_deref(), &table) || is_about_it {
            found = true;
        } else if !names.has(schema.as_deref(), &table) {
            if !is_sequence(schema.as_deref(), &table) {
                return ControlFlow::Break(());
            }
            found = true;
        }
        ControlFlow::Continue(())
    });
    if outcome.is_break() {
        return false;
    }
    if found {
        return true;
    }
    // Only the store has the numbers. Their sequence may be written as a cast to REGCLASS.
    let draws = visit_expressions(query, |expr| match expr {
        Expr::Function(function) if is_of_sequences(&function_name(function)) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    if draws.is_break() {
        return false;
    }
    let asked = visit_expressions(query, |expr| {
        let is_asked = match expr {
            Expr::Function(function) => is_about_the_server(&function_name(function)),
            Expr::Identifier(name) => name.quote_style.is_none() && special_name(&ident(name)),
            Expr::Cast { data_type, .. } => type_id(data_type).is_some_and(known::is_named),
            _ => false,
        };
        if is_asked { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    asked.is_break()
}

/// Converts a parameter's value.
fn of_scalar(value: &ScalarValue, type_id: u32) -> Result<Value, PgError> {
    let array = value.to_array().map_err(|error| Error::new(ErrorKind::Internal, error.to_string()))?;
    Ok(value_at(&array, 0, type_id))
}

#[cfg(test)]
mod tests {
    use super::super::functions::ABOUT_THE_SERVER;
    use super::*;

    #[test]
    fn every_function_about_the_server_is_recognised() {
        for name in ABOUT_THE_SERVER {
            assert!(has_sign(&format!("SELECT {}()", name.to_uppercase())), "{name}");
        }
        for text in ["SELECT usage_user, identity, description FROM t", "SELECT 'é' || reg FROM t", ""] {
            assert!(!has_sign(text), "{text}");
        }
    }
}
