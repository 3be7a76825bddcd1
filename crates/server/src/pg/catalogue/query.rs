//! Recognises queries about the catalogue, and answers them.

use super::activity::Activity;
use super::contents::{self, Contents};
use super::context::{Context, Frame, Purpose, Queries};
use super::functions::{is_about_the_server, special_name};
use super::limits::Limits;
use super::names::{function_name, ident, schema_and_name};
use super::not_tables::NotTables;
use super::relation::Row;
use super::select::Executor;
use super::store_functions::StoreFunctions;
use super::type_names::type_id;
use super::value::Value;
use crate::access::state::Access;
use crate::pg::error::PgError;
use crate::pg::settings::Settings;
use crate::pg::store::StoreSession;
use crate::pg::types::cells::Cells;
use crate::pg::types::{known, text};
use crate::pg::wire::outgoing::ResultColumn;
use arrow::array::{Array, ArrayRef};
use atsdb::sql::is_of_sequences;
use atsdb::sql::tree_walk::{visit_expressions, visit_relations};
use datafusion::common::ScalarValue;
use datafusion::sql::sqlparser::ast::{
    Expr, FunctionArg, FunctionArgExpr, FunctionArguments, ObjectName, Query, Statement, Value as Literal,
};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};
use regex::Regex;
use std::cell::RefCell;
use std::collections::BTreeMap;
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
pub(in crate::pg) struct Surroundings<'a> {
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
    pub(in crate::pg) fn columns(&self, surroundings: Surroundings<'_>) -> Result<Vec<ResultColumn>, PgError> {
        let nulls = vec![ScalarValue::Null; self.parameter_types.len()];
        self.evaluate(&nulls, surroundings, Purpose::Columns).map(|found| found.columns)
    }

    /// Answers the query.
    pub(in crate::pg) fn run(
        &self,
        values: &[ScalarValue],
        surroundings: Surroundings<'_>,
    ) -> Result<CatalogueAnswer, PgError> {
        self.evaluate(values, surroundings, Purpose::Answer)
    }

    fn evaluate(
        &self,
        values: &[ScalarValue],
        surroundings: Surroundings<'_>,
        purpose: Purpose,
    ) -> Result<CatalogueAnswer, PgError> {
        let Surroundings { database, user, process, settings, session, access, activity } = surroundings;
        let parameters: Vec<Value> =
            values.iter().zip(&self.parameter_types).map(|(value, id)| of_scalar(value, *id)).collect();
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

/// Whether a text may be about the catalogue. This spares most statements the time to parse them here.
fn may_be(text: &str) -> bool {
    let trimmed = text.trim_start();
    let begins = |start: &&str| trimmed.get(..start.len()).is_some_and(|part| part.eq_ignore_ascii_case(start));
    let is_query = ["select", "with", "(", "table", "/*", "--"].iter().any(begins);
    is_query && text.len() <= TEXT_BYTES_MAX && has_sign(text)
}

/// Whether a text has a word that occurs in queries about the catalogue. Columns of tables have names such as
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

/// Whether all tables of a query belong to the catalogue or are sequences, or a query without a table is about the
/// server.
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

/// The types of the parameters: the declared ones, or else those of the expressions they are compared with, or else
/// text.
fn parameter_types(query: &Query, declared: &[u32]) -> Vec<u32> {
    let mut found: BTreeMap<usize, Option<u32>> = BTreeMap::new();
    let mut note = |expr: &Expr, type_id: Option<u32>| {
        if let Expr::Value(value) = expr
            && let Literal::Placeholder(name) = &value.value
            && let Some(number) = name.strip_prefix('$').and_then(|number| number.parse::<usize>().ok())
        {
            let noted = found.entry(number).or_default();
            *noted = noted.or(type_id);
        }
    };
    let column_type = |expr: &Expr| match expr {
        Expr::Identifier(name) => contents::type_of_column(&ident(name)),
        Expr::CompoundIdentifier(parts) => parts.last().and_then(|name| contents::type_of_column(&ident(name))),
        _ => None,
    };
    let _: ControlFlow<()> = visit_expressions(query, |expr| {
        match expr {
            Expr::Cast { expr, data_type, .. } => {
                note(expr, Some(type_id(data_type).unwrap_or(known::TEXT)));
            }
            Expr::BinaryOp { left, right, .. } => {
                note(left, column_type(right));
                note(right, column_type(left));
            }
            Expr::InList { expr, list, .. } => {
                let column = column_type(expr);
                list.iter().for_each(|item| note(item, column));
            }
            Expr::AnyOp { left, right, .. } => {
                let element = column_type(left).and_then(known::by_id);
                note(right, element.map(|element| element.array));
            }
            Expr::Function(function) => {
                if let FunctionArguments::List(list) = &function.args
                    && let Some(FunctionArg::Unnamed(FunctionArgExpr::Expr(last))) = list.args.last()
                {
                    note(last, last_parameter_type(&function_name(function), list.args.len()));
                }
            }
            Expr::Value(_) => note(expr, None),
            _ => {}
        }
        ControlFlow::Continue(())
    });
    let count = found.keys().next_back().copied().unwrap_or(0).max(declared.len());
    let type_of = |number: usize| {
        let declared = declared.get(number - 1).copied().filter(|id| *id != 0 && *id != known::UNKNOWN);
        declared.or_else(|| found.get(&number).copied().flatten()).unwrap_or(known::TEXT)
    };
    (1..=count).map(type_of).collect()
}

/// The type of the last argument of a function, if it is the flag for pretty-printing.
fn last_parameter_type(function: &str, argument_count: usize) -> Option<u32> {
    let is_pretty = match function {
        "pg_get_constraintdef" | "pg_get_viewdef" | "pg_get_ruledef" | "pg_get_triggerdef" => argument_count == 2,
        "pg_get_indexdef" | "pg_get_expr" => argument_count == 3,
        _ => false,
    };
    is_pretty.then_some(known::BOOL)
}

/// Converts a parameter's value.
fn of_scalar(value: &ScalarValue, type_id: u32) -> Value {
    match value {
        value if value.is_null() => Value::Null,
        ScalarValue::Boolean(Some(value)) => Value::Bool(*value),
        ScalarValue::Int16(Some(value)) => Value::Int(i64::from(*value)),
        ScalarValue::Int32(Some(value)) => Value::Int(i64::from(*value)),
        ScalarValue::Int64(Some(value)) => Value::Int(*value),
        ScalarValue::Float32(Some(value)) => Value::Float(f64::from(*value)),
        ScalarValue::Float64(Some(value)) => Value::Float(*value),
        ScalarValue::Utf8(Some(text)) => Value::text(text.as_str()),
        ScalarValue::List(list) => {
            let items: ArrayRef = list.value(0);
            let element = known::element_of(type_id).map_or(known::TEXT, |element| element.id);
            let cells = Cells::new(&items);
            let item = |row: usize| match cells.get(row) {
                crate::pg::types::cells::Cell::Null => Value::Null,
                crate::pg::types::cells::Cell::Int(value) => Value::Int(value),
                cell => Value::maybe(text::of(element, &cell)),
            };
            Value::Array((0..items.len()).map(item).collect())
        }
        other => Value::Text(other.to_string()),
    }
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
