//! Other forms of JSON: `jsonb_set`, `jsonb_insert`, `jsonb_pretty`, and `json_strip_nulls`.

use super::jsonb::{Json, normalized, written};
use super::read::{Documents, path_at};
use crate::functions::base::plain::{Compute, Plain, Returns};
use crate::functions::base::text_types::TextType;
use atsdb_core::json_text::{as_text, elements, kind, members, quoted};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ScalarUDF;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) fn functions() -> Vec<ScalarUDF> {
    const TEXT: DataType = DataType::Utf8;
    let jsonb = |function: Plain| function.returning(Returns::Declared(TextType::Jsonb)).udf();
    let pretty: Compute = |args| rewritten("jsonb_pretty", args, |json| written(&Json::of(json), Some(0)));
    let json_without: Compute = |args| rewritten("json_strip_nulls", args, without_nulls);
    let jsonb_without: Compute = |args| rewritten("jsonb_strip_nulls", args, |json| normalized(&without_nulls(json)));
    vec![
        jsonb(Plain::variadic("jsonb_set", TEXT, set)),
        jsonb(Plain::variadic("jsonb_insert", TEXT, insert)),
        Plain::variadic("jsonb_pretty", TEXT, pretty).udf(),
        Plain::variadic("json_strip_nulls", TEXT, json_without).returning(Returns::Declared(TextType::Json)).udf(),
        jsonb(Plain::variadic("jsonb_strip_nulls", TEXT, jsonb_without)),
    ]
}

/// Applies a function to each document.
fn rewritten(name: &str, args: &[ArrayRef], rewrite: fn(&str) -> String) -> Result<ArrayRef> {
    let [documents] = args else { return exec_err!("{name} takes 1 argument, not {}", args.len()) };
    let documents = Documents::new(documents)?;
    Ok(Arc::new(documents.0.iter().map(|json| json.map(rewrite)).collect::<StringArray>()))
}

/// The text without members that are `null`, at any depth, and without spaces.
fn without_nulls(json: &str) -> String {
    if let Some(members) = members(json) {
        let kept = members.filter(|(_, value)| kind(value) != "null");
        let kept = kept.map(|(key, value)| format!("{}:{}", plain_string(key), without_nulls(value)));
        let kept: Vec<String> = kept.collect();
        return format!("{{{}}}", kept.join(","));
    }
    match elements(json) {
        Some(elements) => format!("[{}]", elements.map(without_nulls).collect::<Vec<_>>().join(",")),
        None if kind(json) == "string" => plain_string(json),
        None => json.trim().to_owned(),
    }
}

/// A string with as few escapes as possible.
fn plain_string(json: &str) -> String {
    as_text(json).map_or_else(|| json.to_owned(), |text| quoted(&text))
}

/// How a value comes into a document.
#[derive(Debug, Clone, Copy)]
enum Change {
    /// It replaces the value at the path. `creates` adds it if there is none.
    Set { creates: bool },
    /// It becomes an element before or after the one at the path, or a new member.
    Insert { after: bool },
}

/// `jsonb_set(document, path, value [, create_if_missing])`.
fn set(args: &[ArrayRef]) -> Result<ArrayRef> {
    changed("jsonb_set", args, true, |creates| Change::Set { creates })
}

/// `jsonb_insert(document, path, value [, insert_after])`.
fn insert(args: &[ArrayRef]) -> Result<ArrayRef> {
    changed("jsonb_insert", args, false, |after| Change::Insert { after })
}

/// Changes each document at its path. `default` stands for a fourth argument that is left out.
fn changed(name: &str, args: &[ArrayRef], default: bool, change: fn(bool) -> Change) -> Result<ArrayRef> {
    let (documents, paths, values, options) = match args {
        [documents, paths, values] => (documents, paths, values, None),
        [documents, paths, values, options] => (documents, paths, values, Some(cast(options, &DataType::Boolean)?)),
        _ => return exec_err!("{name} takes 3 or 4 arguments, not {}", args.len()),
    };
    let (documents, values) = (Documents::new(documents)?, Documents::new(values)?);
    let mut changed = Vec::with_capacity(documents.0.len());
    for (row, (document, value)) in documents.0.iter().zip(&values.0).enumerate() {
        let option = match &options {
            None => Some(default),
            Some(options) => options.is_valid(row).then(|| options.as_boolean().value(row)),
        };
        let path = path_at(paths, row)?;
        let (Some(document), Some(value), Some(path), Some(option)) = (document, value, path, option) else {
            changed.push(None);
            continue;
        };
        let mut json = Json::of(document);
        if matches!(json, Json::Scalar(_)) {
            return exec_err!("{name}: cannot set a path in a JSON {}", kind(document));
        }
        let mut steps = Vec::with_capacity(path.len());
        for (at, step) in path.into_iter().enumerate() {
            match step {
                Some(step) => steps.push(step),
                None => return exec_err!("{name}: the element {} of the path is NULL", at + 1),
            }
        }
        change_at(name, &mut json, &steps, &Json::of(value), change(option))?;
        changed.push(Some(written(&json, None)));
    }
    Ok(Arc::new(StringArray::from(changed)))
}

/// Changes the value at a path. Nothing changes if a step before the last one leads nowhere.
fn change_at(name: &str, json: &mut Json, path: &[String], value: &Json, change: Change) -> Result<()> {
    let Some((step, rest)) = path.split_first() else { return Ok(()) };
    let inner = match json {
        Json::Scalar(_) => None,
        Json::Object(members) => {
            let key = (step.len(), step.clone());
            if rest.is_empty() {
                return change_member(name, members, key, value, change);
            }
            members.get_mut(&key)
        }
        Json::Array(items) => {
            let Ok(position) = step.trim().parse::<i32>() else {
                return exec_err!("{name}: '{step:.40}' is not the position of an element");
            };
            let from_end = usize::try_from(position.unsigned_abs()).unwrap_or(usize::MAX);
            // None is before the first element.
            let at = if position < 0 { items.len().checked_sub(from_end) } else { Some(from_end) };
            if rest.is_empty() {
                change_element(items, at, value, change);
                return Ok(());
            }
            at.and_then(|at| items.get_mut(at))
        }
    };
    match inner {
        Some(inner) => change_at(name, inner, rest, value, change),
        None => Ok(()),
    }
}

fn change_member(
    name: &str,
    members: &mut BTreeMap<(usize, String), Json>,
    key: (usize, String),
    value: &Json,
    change: Change,
) -> Result<()> {
    match change {
        Change::Insert { .. } if members.contains_key(&key) => {
            return exec_err!("{name}: cannot replace the existing key '{:.40}'; jsonb_set replaces its value", key.1);
        }
        Change::Set { creates: false } if !members.contains_key(&key) => {}
        Change::Set { .. } | Change::Insert { .. } => {
            members.insert(key, value.clone());
        }
    }
    Ok(())
}

/// `at` is the position of an element, or none for one before the first.
fn change_element(items: &mut Vec<Json>, at: Option<usize>, value: &Json, change: Change) {
    let count = items.len();
    match (change, at) {
        (Change::Set { .. }, Some(at)) if at < count => items[at] = value.clone(),
        (Change::Set { creates: false }, _) => {}
        (Change::Insert { after: true }, Some(at)) if at < count => items.insert(at + 1, value.clone()),
        (Change::Set { .. } | Change::Insert { .. }, at) => {
            items.insert(at.map_or(0, |at| at.min(count)), value.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_set_as_postgresql_sets_them() {
        for (document, path, creates, wanted) in [
            (r#"[{"f1":1,"f2":null},2,null,3]"#, "0,f1", false, r#"[{"f1": 9, "f2": null}, 2, null, 3]"#),
            (r#"[{"f1":1,"f2":null},2]"#, "0,f3", true, r#"[{"f1": 1, "f2": null, "f3": 9}, 2]"#),
            (r#"{"bb":1,"a":2,"a":3}"#, "c", false, r#"{"a": 3, "bb": 1}"#),
            (r#"{"a":{}}"#, "x,y", true, r#"{"a": {}}"#),
            ("[1,2]", "-1", true, "[1, 9]"),
            ("[1,2]", "-5", true, "[9, 1, 2]"),
            ("[1,2]", "7", true, "[1, 2, 9]"),
            ("[1,2]", "7", false, "[1, 2]"),
        ] {
            let mut json = Json::of(document);
            let steps: Vec<String> = path.split(',').map(str::to_owned).collect();
            change_at("jsonb_set", &mut json, &steps, &Json::of("9"), Change::Set { creates }).unwrap();
            assert_eq!(written(&json, None), wanted, "{document} {path}");
        }
        let change = Change::Set { creates: true };
        assert!(change_at("jsonb_set", &mut Json::of("[1]"), &["x".to_owned()], &Json::of("9"), change).is_err());
    }

    #[test]
    fn values_have_lines_or_no_nulls() {
        let json = Json::of(r#"{"b": [1, {}], "a": "x"}"#);
        assert_eq!(
            written(&json, Some(0)),
            "{\n    \"a\": \"x\",\n    \"b\": [\n        1,\n        {\n        }\n    ]\n}"
        );
        assert_eq!(without_nulls(r#"{"a": 1, "b": null, "c": [null, {"d": null}]}"#), r#"{"a":1,"c":[null,{}]}"#);
    }
}
