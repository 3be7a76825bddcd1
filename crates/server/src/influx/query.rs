//! The few statements of InfluxQL that clients send before they write: `SHOW DATABASES` and `CREATE DATABASE`.

use super::answer::error;
use super::dialect::Dialect;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use std::collections::HashMap;

/// The name under which the store is listed. Every other name is accepted for it as well.
const DATABASE: &str = "atsdb";

/// Answers `/query`. `form` contains the parameters in the body of a POST.
pub(crate) fn query(query: &HashMap<String, String>, form: &HashMap<String, String>) -> Response {
    let Some(statement) = form.get("q").or_else(|| query.get("q")) else {
        return error(Dialect::V1, StatusCode::BAD_REQUEST, "missing required parameter \"q\"");
    };
    let words: Vec<String> = statement
        .trim_end_matches(|end: char| end == ';' || end.is_whitespace())
        .split_ascii_whitespace()
        .map(str::to_ascii_uppercase)
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["SHOW", "DATABASES"] => {
            json!({ "statement_id": 0, "series": [{ "name": "databases", "columns": ["name"], "values": [[DATABASE]] }] })
        }
        ["CREATE", "DATABASE", _, ..] => json!({ "statement_id": 0 }),
        _ => {
            let message = "InfluxQL is not supported: POST SQL to /api/sql";
            return error(Dialect::V1, StatusCode::BAD_REQUEST, message);
        }
    };
    ([(CONTENT_TYPE, "application/json")], json!({ "results": [result] }).to_string()).into_response()
}
