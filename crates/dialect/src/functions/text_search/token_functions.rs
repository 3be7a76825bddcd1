//! Functions that show how the parser takes documents apart: the columns of `ts_debug`, `ts_parse` and
//! `ts_token_type`, each as a list.

use super::dictionaries::{Configuration, plain_name};
use super::token_kinds::TokenKind;
use super::tokens::{Token, Tokens};
use crate::functions::base::plain::{Compute, Plain};
use crate::text::datafusion_errors::external;
use atsdb_core::Error;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int32Builder, ListBuilder, StringBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

pub(super) fn functions() -> Vec<ScalarUDF> {
    let texts = DataType::new_list(DataType::Utf8, true);
    let column = |name: &'static str, compute: Compute| Plain::variadic(name, texts.clone(), compute).udf();
    let numbers = |name: &'static str, compute: Compute| {
        Plain::variadic(name, DataType::new_list(DataType::Int32, true), compute).udf()
    };
    let lists = |name: &'static str, compute: Compute| {
        Plain::variadic(name, DataType::new_list(texts.clone(), true), compute).udf()
    };
    vec![
        column("ts_debug_aliases", |args| texts_of(args, |_, token| Some(token.kind.alias().to_owned()))),
        column("ts_debug_descriptions", |args| texts_of(args, |_, token| Some(token.kind.description().to_owned()))),
        column("ts_debug_tokens", |args| texts_of(args, |_, token| Some(token.text.to_owned()))),
        lists("ts_debug_dictionaries", |args| {
            lists_of(args, |of, token| Some(dictionary(of, token).into_iter().collect()))
        }),
        column("ts_debug_dictionary", |args| texts_of(args, dictionary)),
        lists("ts_debug_lexemes", |args| lists_of(args, lexemes)),
        numbers("ts_parse_ids", |args| numbers_of(args, 2, |text| Tokens::of(text).map(|token| token.kind).collect())),
        column("ts_parse_tokens", |args| {
            parsed(args, 2, |text| Tokens::of(text).map(|token| token.text.to_owned()).collect())
        }),
        numbers("ts_token_type_ids", |args| numbers_of(args, 1, |_| TokenKind::ALL.to_vec())),
        column("ts_token_type_aliases", |args| {
            parsed(args, 1, |_| TokenKind::ALL.map(|of| of.alias().to_owned()).to_vec())
        }),
        column("ts_token_type_descriptions", |args| {
            parsed(args, 1, |_| TokenKind::ALL.map(|of| of.description().to_owned()).to_vec())
        }),
    ]
}

fn dictionary(configuration: Configuration, token: Token<'_>) -> Option<String> {
    configuration.dictionary(token.kind).map(|of| of.name().to_owned())
}

fn lexemes(configuration: Configuration, token: Token<'_>) -> Option<Vec<String>> {
    let word = configuration.dictionary(token.kind)?.normalized(token.text);
    Some(word.into_iter().map(|word| word.into_owned()).collect())
}

/// The arguments of a call as texts, for each row; `None` where one of them is NULL.
fn rows(args: &[ArrayRef]) -> Result<Vec<Option<Vec<String>>>> {
    let args = args.iter().map(|arg| Ok(cast(arg, &DataType::Utf8)?)).collect::<Result<Vec<ArrayRef>>>()?;
    let count = args.first().map_or(0, |arg| arg.len());
    let value = |arg: &ArrayRef, row: usize| {
        let texts = arg.as_string::<i32>();
        texts.is_valid(row).then(|| texts.value(row).to_owned())
    };
    Ok((0..count).map(|row| args.iter().map(|arg| value(arg, row)).collect()).collect())
}

/// The configuration and the text of a row of `ts_debug`.
fn document(row: &[String]) -> Result<(Configuration, &str)> {
    match row {
        [text] => Ok((Configuration::DEFAULT, text)),
        [name, text] => Ok((Configuration::of_name(name).map_err(external)?, text)),
        _ => exec_err!("ts_debug takes a configuration and a text"),
    }
}

fn texts_of(args: &[ArrayRef], of: fn(Configuration, Token<'_>) -> Option<String>) -> Result<ArrayRef> {
    let mut lists = ListBuilder::new(StringBuilder::new());
    for row in rows(args)? {
        let Some(row) = row else {
            lists.append_null();
            continue;
        };
        let (configuration, text) = document(&row)?;
        lists.append_value(Tokens::of(text).map(|token| of(configuration, token)));
    }
    Ok(Arc::new(lists.finish()))
}

fn lists_of(args: &[ArrayRef], of: fn(Configuration, Token<'_>) -> Option<Vec<String>>) -> Result<ArrayRef> {
    let mut lists = ListBuilder::new(ListBuilder::new(StringBuilder::new()));
    for row in rows(args)? {
        if let Some(row) = &row {
            let (configuration, text) = document(row)?;
            for token in Tokens::of(text) {
                match of(configuration, token) {
                    Some(texts) => lists.values().append_value(texts.into_iter().map(Some)),
                    None => lists.values().append_null(),
                }
            }
        }
        lists.append(row.is_some());
    }
    Ok(Arc::new(lists.finish()))
}

/// The last argument of a call whose first one is the name of the parser.
fn parsed_text(row: &[String], count: usize) -> Result<&str> {
    let (Some(parser), Some(text)) = (row.first(), row.last().filter(|_| row.len() == count)) else {
        return exec_err!("ts_parse takes a parser and a text, ts_token_type a parser");
    };
    match plain_name(parser).as_str() {
        "default" => Ok(text),
        _ => {
            let error = Error::invalid(format!("text search parser \"{parser:.60}\" does not exist"));
            Err(external(error.with_hint("available: default")))
        }
    }
}

fn parsed(args: &[ArrayRef], count: usize, of: fn(&str) -> Vec<String>) -> Result<ArrayRef> {
    let mut lists = ListBuilder::new(StringBuilder::new());
    for row in rows(args)? {
        match row {
            Some(row) => lists.append_value(of(parsed_text(&row, count)?).into_iter().map(Some)),
            None => lists.append_null(),
        }
    }
    Ok(Arc::new(lists.finish()))
}

fn numbers_of(args: &[ArrayRef], count: usize, of: fn(&str) -> Vec<TokenKind>) -> Result<ArrayRef> {
    let mut lists = ListBuilder::new(Int32Builder::new());
    for row in rows(args)? {
        match row {
            Some(row) => {
                lists.append_value(of(parsed_text(&row, count)?).into_iter().map(|kind| Some(kind.number())));
            }
            None => lists.append_null(),
        }
    }
    Ok(Arc::new(lists.finish()))
}
