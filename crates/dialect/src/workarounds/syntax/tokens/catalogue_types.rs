//! `pg_catalog.int4` and other types of PostgreSQL with their schema, in casts and declarations: the parser knows them
//! only without it.
//!
//! No upstream issue known.

use super::words::blank;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

const TYPES: [&str; 27] = [
    "bool",
    "bpchar",
    "bytea",
    "date",
    "daterange",
    "float4",
    "float8",
    "int2",
    "int4",
    "int4range",
    "int8",
    "int8range",
    "interval",
    "json",
    "jsonb",
    "name",
    "numeric",
    "numrange",
    "oid",
    "text",
    "time",
    "timestamp",
    "timestamptz",
    "tsrange",
    "tstzrange",
    "uuid",
    "varchar",
];

/// Removes the schema before such a type.
pub(crate) fn drop_catalogue(tokens: &mut [TokenWithSpan]) {
    for at in 2..tokens.len() {
        let [schema, point, name] = &mut tokens[at - 2..=at] else { continue };
        if is_named(schema, &["pg_catalog"]) && point.token == Token::Period && is_named(name, &TYPES) {
            blank(schema);
            blank(point);
        }
    }
}

fn is_named(token: &TokenWithSpan, names: &[&str]) -> bool {
    match &token.token {
        Token::Word(word) => names.iter().any(|name| word.value.eq_ignore_ascii_case(name)),
        _ => false,
    }
}
