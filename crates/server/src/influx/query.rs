//! The few statements of InfluxQL that clients send before they write: `SHOW DATABASES` and `CREATE DATABASE`.

use super::answer::error;
use super::dialect::Dialect;
use crate::databases::known_caller::KnownCaller;
use crate::databases::list::{Databases, OpenDatabase};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use std::collections::HashMap;

/// Answers `/query`. `form` contains the parameters in the body of a POST.
pub(crate) fn query(
    databases: &Databases,
    known: &KnownCaller,
    query: &HashMap<String, String>,
    form: &HashMap<String, String>,
) -> Response {
    let Some(statement) = form.get("q").or_else(|| query.get("q")) else {
        return error(Dialect::V1, StatusCode::BAD_REQUEST, "missing required parameter \"q\"");
    };
    let words: Vec<&str> =
        statement.trim_end_matches(|end: char| end == ';' || end.is_whitespace()).split_ascii_whitespace().collect();
    let is = |at: usize, word: &str| words.get(at).is_some_and(|found| found.eq_ignore_ascii_case(word));
    let names = known.databases.iter().map(OpenDatabase::name);
    let result = if words.len() == 2 && is(0, "SHOW") && is(1, "DATABASES") {
        let names: Vec<[&str; 1]> = names.map(|name| [name]).collect();
        json!({ "statement_id": 0, "series": [{ "name": "databases", "columns": ["name"], "values": names }] })
    } else if let Some(name) = words.get(2).filter(|_| is(0, "CREATE") && is(1, "DATABASE")) {
        let name = name.trim_matches('"');
        if databases.have_names() && !names.into_iter().any(|known| known == name) {
            let message = format!("database {name:?} cannot be created: databases are named when the server starts");
            return error(Dialect::V1, StatusCode::FORBIDDEN, &message);
        }
        json!({ "statement_id": 0 })
    } else {
        let message = "InfluxQL is not supported: POST SQL to /api/sql";
        return error(Dialect::V1, StatusCode::BAD_REQUEST, message);
    };
    ([(CONTENT_TYPE, "application/json")], json!({ "results": [result] }).to_string()).into_response()
}
