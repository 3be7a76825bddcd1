//! Other forms of JSON: `jsonb_set`, `jsonb_pretty`, and `json_strip_nulls`.

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
use std::sync::Arc;

pub(super) fn functions() -> Vec<ScalarUDF> {
    const TEXT: DataType = DataType::Utf8;
    let jsonb = |function: Plain| function.returning(Returns::Declared(TextType::Jsonb)).udf();
    let pretty: Compute = |args| rewritten("jsonb_pretty", args, |json| written(&Json::of(json), Some(0)));
    let json_without: Compute = |args| rewritten("json_strip_nulls", args, without_nulls);
    let jsonb_without: Compute = |args| rewritten("jsonb_strip_nulls", args, |json| normalized(&without_nulls(json)));
    vec![
        jsonb(Plain::variadic("jsonb_set", TEXT, set)),
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

/// `jsonb_set(document, path, value [, create_if_missing])`.
fn set(args: &[ArrayRef]) -> Result<ArrayRef> {
    let (documents, paths, values, creating) = match args {
        [documents, paths, values] => (documents, paths, values, None),
        [documents, paths, values, creating] => (documents, paths, values, Some(cast(creating, &DataType::Boolean)?)),
        _ => return exec_err!("jsonb_set takes 3 or 4 arguments, not {}", args.len()),
    };
    let (documents, values) = (Documents::new(documents)?, Documents::new(values)?);
    let mut changed = Vec::with_capacity(documents.0.len());
    for (row, (document, value)) in documents.0.iter().zip(&values.0).enumerate() {
        let creates = match &creating {
            None => Some(true),
            Some(creating) => creating.is_valid(row).then(|| creating.as_boolean().value(row)),
        };
        let path = path_at(paths, row)?;
        let (Some(document), Some(value), Some(path), Some(creates)) = (document, value, path, creates) else {
            changed.push(None);
            continue;
        };
        let mut json = Json::of(document);
        if matches!(json, Json::Scalar(_)) {
            return exec_err!("jsonb_set: cannot set a path in a JSON {}", kind(document));
        }
        let mut steps = Vec::with_capacity(path.len());
        for (at, step) in path.into_iter().enumerate() {
            match step {
                Some(step) => steps.push(step),
                None => return exec_err!("jsonb_set: the element {} of the path is NULL", at + 1),
            }
        }
        set_at(&mut json, &steps, &Json::of(value), creates)?;
        changed.push(Some(written(&json, None)));
    }
    Ok(Arc::new(StringArray::from(changed)))
}

/// Sets the value at a path. Nothing changes if a step before the last one leads nowhere.
fn set_at(json: &mut Json, path: &[String], value: &Json, creates: bool) -> Result<()> {
    let Some((step, rest)) = path.split_first() else { return Ok(()) };
    let inner = match json {
        Json::Scalar(_) => None,
        Json::Object(members) => {
            let key = (step.len(), step.clone());
            if rest.is_empty() && creates {
                members.insert(key, value.clone());
                return Ok(());
            }
            members.get_mut(&key)
        }
        Json::Array(items) => {
            let Ok(position) = step.trim().parse::<i32>() else {
                return exec_err!("jsonb_set: '{step:.40}' is not the position of an element");
            };
            let from_end = usize::try_from(position.unsigned_abs()).unwrap_or(usize::MAX);
            let at = if position < 0 { items.len().checked_sub(from_end) } else { Some(from_end) };
            let at_end = items.len();
            match at.filter(|at| *at < at_end) {
                Some(at) => items.get_mut(at),
                // A position before the first element, or behind the last one.
                None if rest.is_empty() && creates => {
                    items.insert(at.map_or(0, |_| at_end), value.clone());
                    return Ok(());
                }
                None => None,
            }
        }
    };
    match inner {
        Some(inner) if rest.is_empty() => *inner = value.clone(),
        Some(inner) => set_at(inner, rest, value, creates)?,
        None => {}
    }
    Ok(())
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
            set_at(&mut json, &steps, &Json::of("9"), creates).unwrap();
            assert_eq!(written(&json, None), wanted, "{document} {path}");
        }
        assert!(set_at(&mut Json::of("[1]"), &["x".to_owned()], &Json::of("9"), true).is_err());
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
