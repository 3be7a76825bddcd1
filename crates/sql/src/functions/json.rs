//! Functions of JSON, as PostgreSQL has them, for its `json` and `jsonb` alike: values are text as it was written.
//! `a -> b`, `a ->> b`, `a #> b` and `a #>> b` are calls of `json_get` and `json_get_path`, with `_text` where the
//! answer is the text of a value.

use super::plain::{Compute, Plain};
use crate::text::datafusion_errors::external;
use atsdb_core::{Error, json_text};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, Int32Array, ListBuilder, StringArray, StringBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ScalarUDF;
use std::borrow::Cow;
use std::sync::Arc;

pub(super) fn functions() -> Vec<ScalarUDF> {
    const TEXT: DataType = DataType::Utf8;
    let plain = |name: &'static str, compute: Compute| Plain::variadic(name, TEXT, compute).udf();
    vec![
        plain("json_of", json_of),
        plain("json_get", |args| get(args, false)),
        plain("json_get_text", |args| get(args, true)),
        plain("json_get_path", |args| get_path(args, false)),
        plain("json_get_path_text", |args| get_path(args, true)),
        plain("json_extract_path", |args| extract_path(args, false)),
        plain("jsonb_extract_path", |args| extract_path(args, false)),
        plain("json_extract_path_text", |args| extract_path(args, true)),
        plain("jsonb_extract_path_text", |args| extract_path(args, true)),
        plain("json_typeof", kind),
        plain("jsonb_typeof", kind),
        Plain::variadic("json_array_length", DataType::Int32, array_length).udf(),
        Plain::variadic("jsonb_array_length", DataType::Int32, array_length).udf(),
        Plain::variadic("json_elements", DataType::new_list(TEXT, true), |args| elements(args, false)).udf(),
        Plain::variadic("json_keys", DataType::new_list(TEXT, true), keys).udf(),
        Plain::variadic("json_elements_text", DataType::new_list(TEXT, true), |args| elements(args, true)).udf(),
    ]
}

/// The texts of one argument of each row, each JSON.
pub(super) struct Documents(pub(super) StringArray);

impl Documents {
    pub(super) fn new(array: &ArrayRef) -> Result<Self> {
        let documents = text(array)?;
        for document in documents.iter().flatten() {
            if let Err(error) = json_text::check(document) {
                return Err(external(Error::invalid(format!("'{document:.60}' is no JSON: {error}"))));
            }
        }
        Ok(Self(documents))
    }

    /// Applies `find` to the row and text of each document.
    fn find<'a>(&'a self, as_text: bool, find: impl Fn(usize, &'a str) -> Option<&'a str>) -> ArrayRef {
        let found = self.0.iter().enumerate().map(|(row, document)| {
            let value = find(row, document?)?;
            if as_text { json_text::as_text(value).map(|text| text.into_owned()) } else { Some(value.to_owned()) }
        });
        Arc::new(found.collect::<StringArray>())
    }
}

fn text(array: &ArrayRef) -> Result<StringArray> {
    Ok(cast(array, &DataType::Utf8)?.as_string::<i32>().clone())
}

fn two<'a>(args: &'a [ArrayRef], what: &str) -> Result<(&'a ArrayRef, &'a ArrayRef)> {
    match args {
        [document, what] => Ok((document, what)),
        _ => exec_err!("JSON is asked for one {what}"),
    }
}

/// The value of a key, or the element at a position.
fn get(args: &[ArrayRef], as_text: bool) -> Result<ArrayRef> {
    let (documents, keys) = two(args, "key")?;
    let documents = Documents::new(documents)?;
    if keys.data_type().is_integer() {
        let positions = cast(keys, &DataType::Int64)?;
        let positions = positions.as_primitive::<Int64Type>();
        let find = |row, json| json_text::element(json, positions.is_valid(row).then(|| positions.value(row))?);
        return Ok(documents.find(as_text, find));
    }
    let keys = text(keys)?;
    Ok(documents.find(as_text, |row, json| json_text::member(json, keys.is_valid(row).then(|| keys.value(row))?)))
}

/// The value at a path: an array of texts, or one that is written `{a,0}`.
fn get_path(args: &[ArrayRef], as_text: bool) -> Result<ArrayRef> {
    let (documents, paths) = two(args, "path")?;
    let documents = Documents::new(documents)?;
    let paths = (0..paths.len()).map(|row| path_at(paths, row)).collect::<Result<Vec<_>>>()?;
    Ok(documents.find(as_text, |row, json| {
        let steps = paths[row].as_ref()?.iter();
        steps.map(Option::as_deref).try_fold(json.trim(), |json, step| follow(json, step?))
    }))
}

/// The steps of a path; `None` if the path is NULL.
pub(super) fn path_at(paths: &ArrayRef, row: usize) -> Result<Option<Vec<Option<String>>>> {
    if paths.is_null(row) {
        return Ok(None);
    }
    if let Some(lists) = paths.as_list_opt::<i32>() {
        let steps = text(&lists.value(row))?;
        return Ok(Some(steps.iter().map(|step| step.map(str::to_owned)).collect()));
    }
    let path = text(&paths.slice(row, 1))?.value(0).to_owned();
    let Some(inner) = path.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else {
        return exec_err!("'{path:.60}' is not a path: write '{{a,b}}' or array['a', 'b']");
    };
    let step = |step: &str| Some(step.trim().trim_matches('"').to_owned());
    Ok(Some(if inner.trim().is_empty() { Vec::new() } else { inner.split(',').map(step).collect() }))
}

fn extract_path(args: &[ArrayRef], as_text: bool) -> Result<ArrayRef> {
    let Some((documents, steps)) = args.split_first() else { return exec_err!("a path is looked for in JSON") };
    let documents = Documents::new(documents)?;
    let steps = steps.iter().map(text).collect::<Result<Vec<_>>>()?;
    Ok(documents.find(as_text, |row, json| {
        steps.iter().try_fold(json.trim(), |json, step| follow(json, step.is_valid(row).then(|| step.value(row))?))
    }))
}

/// One step of a path: the key of an object, or the position in an array.
fn follow<'a>(json: &'a str, step: &str) -> Option<&'a str> {
    match json_text::kind(json) {
        "array" => json_text::element(json, step.trim().parse().ok()?),
        _ => json_text::member(json, step),
    }
}

fn kind(args: &[ArrayRef]) -> Result<ArrayRef> {
    let [documents] = args else { return exec_err!("json_typeof takes JSON") };
    let documents = Documents::new(documents)?;
    Ok(documents.find(false, |_, json| Some(json_text::kind(json))))
}

fn array_length(args: &[ArrayRef]) -> Result<ArrayRef> {
    let [documents] = args else { return exec_err!("json_array_length takes JSON") };
    let documents = Documents::new(documents)?;
    let lengths = documents.0.iter().map(|json| match json {
        Some(json) => match json_text::array_length(json) {
            Some(length) => Ok(i32::try_from(length).ok()),
            None => exec_err!("cannot get the array length of a JSON {}", json_text::kind(json)),
        },
        None => Ok(None),
    });
    Ok(Arc::new(lengths.collect::<Result<Int32Array>>()?))
}

/// The elements of an array, of which `json_array_elements` makes rows.
fn elements(args: &[ArrayRef], as_text: bool) -> Result<ArrayRef> {
    lists(args, |json| {
        let Some(found) = json_text::elements(json) else {
            return exec_err!("cannot extract elements from a JSON {}", json_text::kind(json));
        };
        let shown = |element: &str| match as_text {
            true => json_text::as_text(element).map(Cow::into_owned),
            false => Some(element.to_owned()),
        };
        Ok(found.map(shown).collect())
    })
}

/// The keys of an object, of which `json_object_keys` makes rows.
fn keys(args: &[ArrayRef]) -> Result<ArrayRef> {
    lists(args, |json| {
        let Some(members) = json_text::members(json) else {
            return exec_err!("cannot read the keys of a JSON {}", json_text::kind(json));
        };
        Ok(members.map(|(key, _)| json_text::as_text(key).map(Cow::into_owned)).collect())
    })
}

/// A list of texts for each document.
fn lists(args: &[ArrayRef], list_of: impl Fn(&str) -> Result<Vec<Option<String>>>) -> Result<ArrayRef> {
    let [documents] = args else { return exec_err!("a list is made of one JSON") };
    let documents = Documents::new(documents)?;
    let mut lists = ListBuilder::new(StringBuilder::new());
    for document in &documents.0 {
        lists.append_option(document.map(&list_of).transpose()?);
    }
    Ok(Arc::new(lists.finish()))
}

/// `CAST(x AS JSON)`.
fn json_of(args: &[ArrayRef]) -> Result<ArrayRef> {
    let [documents] = args else { return exec_err!("one value becomes JSON") };
    Ok(Arc::new(Documents::new(documents)?.0))
}
