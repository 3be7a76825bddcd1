//! PostgreSQL's operators of `jsonb`, as functions that statements are rewritten to: `||`, `-`, `#-`, `?`, `?|`, `?&`
//! and `@>`. They take any JSON, and return it in the [form](super::jsonb) of `jsonb`.

use super::jsonb::{Json, written};
use super::read::{Documents, path_at, text};
use crate::functions::base::plain::{Compute, Plain, Returns};
use crate::functions::base::text_types::TextType;
use atsdb_core::json_text::quoted;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

pub(super) fn functions() -> Vec<ScalarUDF> {
    let flag = |name: &'static str, compute: Compute| Plain::variadic(name, DataType::Boolean, compute).udf();
    vec![
        concatenation(),
        deletion(),
        of_jsonb("jsonb_delete_path", delete_path),
        flag("jsonb_exists", |args| exists(args, "?", |json, keys| keys.iter().any(|key| has_key(json, key)))),
        flag("jsonb_exists_any", |args| exists(args, "?|", |json, keys| keys.iter().any(|key| has_key(json, key)))),
        flag("jsonb_exists_all", |args| exists(args, "?&", |json, keys| keys.iter().all(|key| has_key(json, key)))),
        containment(),
        equality_key(),
    ]
}

/// `a || b`.
pub fn concatenation() -> ScalarUDF {
    of_jsonb("jsonb_concat", concat)
}

/// `a - b`, where `b` is a key, several keys, or the position of an element.
pub fn deletion() -> ScalarUDF {
    of_jsonb("jsonb_delete", delete)
}

/// `a @> b`.
pub fn containment() -> ScalarUDF {
    Plain::variadic("jsonb_contains", DataType::Boolean, contain).udf()
}

/// Makes a text of JSON that is the same for equal values.
pub fn equality_key() -> ScalarUDF {
    Plain::variadic("jsonb_equality_key", DataType::Utf8, equality_keys).udf()
}

fn of_jsonb(name: &'static str, compute: Compute) -> ScalarUDF {
    Plain::variadic(name, DataType::Utf8, compute).returning(Returns::Declared(TextType::Jsonb)).udf()
}

fn operands<'a>(args: &'a [ArrayRef], operator: &str) -> Result<(&'a ArrayRef, &'a ArrayRef)> {
    match args {
        [left, right] => Ok((left, right)),
        _ => exec_err!("{operator} has 2 operands, not {}", args.len()),
    }
}

fn texts(values: impl Iterator<Item = Option<Json>>) -> ArrayRef {
    Arc::new(values.map(|json| json.map(|json| written(&json, None))).collect::<StringArray>())
}

fn concat(args: &[ArrayRef]) -> Result<ArrayRef> {
    let (left, right) = operands(args, "||")?;
    let (left, right) = (Documents::new(left)?, Documents::new(right)?);
    Ok(texts(left.read().zip(right.read()).map(|(left, right)| Some(joined(left?, right?)))))
}

/// The members of two objects, where the second one's count, or the elements of two arrays. Another value is an array
/// of itself.
fn joined(left: Json, right: Json) -> Json {
    match (left, right) {
        (Json::Object(mut members), Json::Object(others)) => {
            members.extend(others);
            Json::Object(members)
        }
        (left, right) => {
            let mut items = items_of(left);
            items.extend(items_of(right));
            Json::Array(items)
        }
    }
}

fn items_of(json: Json) -> Vec<Json> {
    match json {
        Json::Array(items) => items,
        other => vec![other],
    }
}

fn delete(args: &[ArrayRef]) -> Result<ArrayRef> {
    let (documents, doomed) = operands(args, "-")?;
    let documents = Documents::new(documents)?;
    let left = documents.read().enumerate();
    if doomed.data_type().is_integer() {
        let positions = cast(doomed, &DataType::Int64)?;
        let positions = positions.as_primitive::<Int64Type>();
        let rows = left.map(|(row, json)| match json.filter(|_| positions.is_valid(row)) {
            Some(json) => remove_element(json, positions.value(row)).map(Some),
            None => Ok(None),
        });
        return Ok(texts(rows.collect::<Result<Vec<_>>>()?.into_iter()));
    }
    let keys = keys_of(doomed)?;
    let rows = left.map(|(row, json)| match (json, &keys[row]) {
        (Some(json), Some(keys)) => remove_keys(json, keys).map(Some),
        _ => Ok(None),
    });
    Ok(texts(rows.collect::<Result<Vec<_>>>()?.into_iter()))
}

/// The keys of each row: a text is one key, and an array has several. Those that are NULL are left out.
fn keys_of(keys: &ArrayRef) -> Result<Vec<Option<Vec<String>>>> {
    if keys.as_list_opt::<i32>().is_some() {
        return lists_of(keys);
    }
    Ok(text(keys)?.iter().map(|key| key.map(|key| vec![key.to_owned()])).collect())
}

/// The texts of each row's array, which may be written `{a,b}`.
fn lists_of(lists: &ArrayRef) -> Result<Vec<Option<Vec<String>>>> {
    let present = |keys: Vec<Option<String>>| -> Vec<String> { keys.into_iter().flatten().collect() };
    (0..lists.len()).map(|row| Ok(path_at(lists, row)?.map(present))).collect()
}

fn remove_keys(json: Json, keys: &[String]) -> Result<Json> {
    Ok(match json {
        Json::Object(mut members) => {
            members.retain(|(_, key), _| !keys.contains(key));
            Json::Object(members)
        }
        Json::Array(mut items) => {
            items.retain(|item| !keys.iter().any(|key| is_string(item, key)));
            Json::Array(items)
        }
        Json::Scalar(_) => return exec_err!("cannot delete from scalar"),
    })
}

fn is_string(json: &Json, text: &str) -> bool {
    matches!(json, Json::Scalar(scalar) if *scalar == quoted(text))
}

fn remove_element(json: Json, position: i64) -> Result<Json> {
    match json {
        Json::Array(mut items) => {
            if let Some(at) = index_of(position, items.len()) {
                items.remove(at);
            }
            Ok(Json::Array(items))
        }
        Json::Object(_) => exec_err!("cannot delete from object using integer index"),
        Json::Scalar(_) => exec_err!("cannot delete from scalar"),
    }
}

/// The index of a position among some elements, which counts from the end if it is negative.
fn index_of(position: i64, count: usize) -> Option<usize> {
    let from_start = match position {
        0.. => position,
        _ => i64::try_from(count).ok()?.checked_add(position)?,
    };
    usize::try_from(from_start).ok().filter(|at| *at < count)
}

fn delete_path(args: &[ArrayRef]) -> Result<ArrayRef> {
    let (documents, paths) = operands(args, "#-")?;
    let documents = Documents::new(documents)?;
    let mut rows = Vec::with_capacity(paths.len());
    for (row, json) in documents.read().enumerate() {
        let (Some(mut json), Some(path)) = (json, path_at(paths, row)?) else {
            rows.push(None);
            continue;
        };
        if matches!(json, Json::Scalar(_)) {
            return exec_err!("cannot delete path in scalar");
        }
        let mut steps = Vec::with_capacity(path.len());
        for (at, step) in path.into_iter().enumerate() {
            match step {
                Some(step) => steps.push(step),
                None => return exec_err!("path element at position {} is null", at + 1),
            }
        }
        remove_at(&mut json, &steps, 1)?;
        rows.push(Some(json));
    }
    Ok(texts(rows.into_iter()))
}

/// Removes the value at a path, if there is one. `level` counts the steps from 1, for errors.
fn remove_at(json: &mut Json, path: &[String], level: usize) -> Result<()> {
    let Some((step, rest)) = path.split_first() else { return Ok(()) };
    match json {
        Json::Object(members) => {
            let key = (step.len(), step.clone());
            if rest.is_empty() {
                members.remove(&key);
            } else if let Some(inner) = members.get_mut(&key) {
                remove_at(inner, rest, level + 1)?;
            }
        }
        Json::Array(items) => {
            let Ok(position) = step.trim().parse::<i64>() else {
                return exec_err!("path element at position {level} is not an integer: \"{step:.40}\"");
            };
            match index_of(position, items.len()) {
                Some(at) if rest.is_empty() => drop(items.remove(at)),
                Some(at) => remove_at(&mut items[at], rest, level + 1)?,
                None => {}
            }
        }
        Json::Scalar(_) => {}
    }
    Ok(())
}

fn exists(args: &[ArrayRef], operator: &str, holds: fn(&Json, &[String]) -> bool) -> Result<ArrayRef> {
    let (documents, keys) = operands(args, operator)?;
    let documents = Documents::new(documents)?;
    let keys = if operator == "?" { keys_of(keys)? } else { lists_of(keys)? };
    let rows = documents.read().zip(keys).map(|(json, keys)| Some(holds(&json?, &keys?)));
    Ok(Arc::new(rows.collect::<BooleanArray>()))
}

/// Returns whether a text is a key of an object, a string of an array, or the string itself.
fn has_key(json: &Json, key: &str) -> bool {
    match json {
        Json::Object(members) => members.contains_key(&(key.len(), key.to_owned())),
        Json::Array(items) => items.iter().any(|item| is_string(item, key)),
        Json::Scalar(_) => is_string(json, key),
    }
}

fn contain(args: &[ArrayRef]) -> Result<ArrayRef> {
    let (left, right) = operands(args, "@>")?;
    let (left, right) = (Documents::new(left)?, Documents::new(right)?);
    let rows = left.read().zip(right.read()).map(|(left, right)| Some(contains(&left?, &right?)));
    Ok(Arc::new(rows.collect::<BooleanArray>()))
}

/// Returns whether a value contains another one. An array also contains its strings, numbers, booleans and nulls.
fn contains(json: &Json, other: &Json) -> bool {
    match (json, other) {
        (Json::Array(items), Json::Scalar(_)) => items.iter().any(|item| contains_part(item, other)),
        _ => contains_part(json, other),
    }
}

/// Returns whether a part of a document contains another document.
fn contains_part(json: &Json, other: &Json) -> bool {
    match (json, other) {
        (Json::Object(members), Json::Object(others)) => {
            others.iter().all(|(key, other)| members.get(key).is_some_and(|value| contains_part(value, other)))
        }
        (Json::Array(items), Json::Array(others)) => {
            others.iter().all(|other| items.iter().any(|item| contains_part(item, other)))
        }
        (Json::Scalar(scalar), Json::Scalar(other)) => is_same(scalar, other),
        _ => false,
    }
}

/// Returns whether two scalars are equal. `1.0` is `1`.
fn is_same(scalar: &str, other: &str) -> bool {
    scalar == other || without_zeros(scalar) == without_zeros(other)
}

/// A scalar without the zeros at the end of a fraction.
fn without_zeros(scalar: &str) -> &str {
    match scalar.contains('.') && !scalar.starts_with('"') {
        true => scalar.trim_end_matches('0').trim_end_matches('.'),
        false => scalar,
    }
}

fn equality_keys(args: &[ArrayRef]) -> Result<ArrayRef> {
    let [documents] = args else { return exec_err!("one value is compared") };
    Ok(texts(Documents::new(documents)?.read().map(|json| json.map(with_equal_numbers))))
}

fn with_equal_numbers(json: Json) -> Json {
    match json {
        Json::Object(members) => {
            Json::Object(members.into_iter().map(|(key, value)| (key, with_equal_numbers(value))).collect())
        }
        Json::Array(items) => Json::Array(items.into_iter().map(with_equal_numbers).collect()),
        Json::Scalar(scalar) => Json::Scalar(without_zeros(&scalar).to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contains_text(json: &str, other: &str) -> bool {
        contains(&Json::of(json), &Json::of(other))
    }

    #[test]
    fn values_contain_their_parts() {
        for (json, other) in [
            (r#"{"a":1,"b":[1,2,{"c":3}]}"#, r#"{"b":[{"c":3.0},1]}"#),
            (r#"["a","b"]"#, r#""a""#),
            ("[1,[2]]", "[[2]]"),
            (r#"{"a":null}"#, r#"{"a":null}"#),
            ("[1]", "[1,1]"),
        ] {
            assert!(contains_text(json, other), "{json} {other}");
        }
        for (json, other) in [
            (r#""a""#, r#"["a"]"#),
            ("[[1]]", "[1]"),
            ("{}", "[]"),
            (r#"{"a":{}}"#, r#"{"a":[]}"#),
            (r#"["1"]"#, "[1]"),
            (r#"["1.0"]"#, r#"["1"]"#),
        ] {
            assert!(!contains_text(json, other), "{json} {other}");
        }
    }

    #[test]
    fn values_are_joined_as_postgresql_joins_them() {
        for (left, right, wanted) in [
            (r#"{"a":1}"#, "1", r#"[{"a": 1}, 1]"#),
            ("1", "2", "[1, 2]"),
            ("{}", "[]", "[{}]"),
            (r#"{"a":{"x":1}}"#, r#"{"b":1,"a":{"y":2}}"#, r#"{"a": {"y": 2}, "b": 1}"#),
        ] {
            assert_eq!(written(&joined(Json::of(left), Json::of(right)), None), wanted);
        }
    }
}
