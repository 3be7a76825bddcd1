//! Functions that read JSON, as PostgreSQL has them. Values of `json` are text as it was written, and those of `jsonb`
//! text in one [form](super::jsonb).
//! `a -> b`, `a ->> b`, `a #> b` and `a #>> b` are calls of `json_get` and `json_get_path`, with `_text` where the
//! answer is the text of a value.

use super::jsonb::{Json, written};
use crate::functions::base::plain::{Compute, Plain, Returns};
use crate::functions::base::text_types::TextType;
use crate::text::datafusion_errors::external;
use atsdb_core::{Error, json_text};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, Int32Array, Int64Builder, ListBuilder, StringArray, StringBuilder,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::ScalarUDF;
use std::borrow::Cow;
use std::sync::Arc;

const TEXT: DataType = DataType::Utf8;

pub(super) fn functions() -> Vec<ScalarUDF> {
    let plain = |name: &'static str, compute: Compute| Plain::variadic(name, TEXT, compute).udf();
    let found = |name: &'static str, compute: Compute| {
        Plain::variadic(name, TEXT, compute).returning(Returns::JsonOfFirst).udf()
    };
    let jsonb = |name: &'static str, compute: Compute| {
        Plain::variadic(name, TEXT, compute).returning(Returns::Declared(TextType::Jsonb)).udf()
    };
    let list =
        |name: &'static str, compute: Compute| Plain::variadic(name, DataType::new_list(TEXT, true), compute).udf();
    vec![
        json_of(),
        jsonb_of(),
        found("json_get", |args| get(args, false)),
        plain("json_get_text", |args| get(args, true)),
        found("json_get_path", |args| get_path(args, false)),
        plain("json_get_path_text", |args| get_path(args, true)),
        extraction(),
        jsonb("jsonb_extract_path", |args| in_jsonb(&extract_path(args, false)?)),
        plain("json_extract_path_text", |args| extract_path(args, true)),
        plain("jsonb_extract_path_text", |args| extract_path(args, true)),
        plain("json_typeof", kind),
        plain("jsonb_typeof", kind),
        Plain::variadic("json_array_length", DataType::Int32, array_length).udf(),
        Plain::variadic("jsonb_array_length", DataType::Int32, array_length).udf(),
        list("json_elements", |args| elements(args, false)),
        list("json_elements_text", |args| elements(args, true)),
        list("jsonb_elements", |args| elements(&all_in_jsonb(args)?, false)),
        list("jsonb_elements_text", |args| elements(&all_in_jsonb(args)?, true)),
        list("json_keys", keys),
        list("json_values", |args| values(args, false)),
        list("json_values_text", |args| values(args, true)),
        list("jsonb_keys", |args| keys(&all_in_jsonb(args)?)),
        list("jsonb_values", |args| values(&all_in_jsonb(args)?, false)),
        list("jsonb_values_text", |args| values(&all_in_jsonb(args)?, true)),
        Plain::variadic("json_positions", DataType::new_list(DataType::Int64, true), positions).udf(),
    ]
}

/// `json_extract_path(x, key, ...)`.
pub fn extraction() -> ScalarUDF {
    let compute: Compute = |args| extract_path(args, false);
    Plain::variadic("json_extract_path", TEXT, compute).returning(Returns::JsonOfFirst).udf()
}

/// `CAST(x AS JSON)`.
pub fn json_of() -> ScalarUDF {
    Plain::variadic("json_of", TEXT, checked).returning(Returns::Declared(TextType::Json)).udf()
}

/// `CAST(x AS JSONB)`.
pub fn jsonb_of() -> ScalarUDF {
    let compute: Compute = |args| match args {
        [documents] => in_jsonb(documents),
        _ => exec_err!("one value becomes JSON"),
    };
    Plain::variadic("jsonb_of", TEXT, compute).returning(Returns::Declared(TextType::Jsonb)).udf()
}

/// The texts of one argument of each row, each JSON.
pub(super) struct Documents(pub(super) StringArray);

impl Documents {
    pub(super) fn new(array: &ArrayRef) -> Result<Self> {
        let documents = text(array)?;
        documents.iter().flatten().try_for_each(check).map_err(external)?;
        Ok(Self(documents))
    }

    /// Reads the document of each row.
    pub(super) fn read(&self) -> impl Iterator<Item = Option<Json>> {
        self.0.iter().map(|document| document.map(Json::of))
    }

    /// Applies `find` to the row and text of each document.
    fn find<'a>(&'a self, as_text: bool, find: impl Fn(usize, &'a str) -> Option<&'a str>) -> ArrayRef {
        let found = self.0.iter().enumerate().map(|(row, document)| shown(find(row, document?)?, as_text));
        Arc::new(found.collect::<StringArray>())
    }
}

/// Checks that a text is JSON.
pub(super) fn check(document: &str) -> atsdb_core::Result<()> {
    let error = |error| Error::invalid(format!("'{document:.60}' is not valid JSON: {error}"));
    json_text::check(document).map_err(error)
}

pub(super) fn text(array: &ArrayRef) -> Result<StringArray> {
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
    if paths.data_type().is_null() || paths.is_null(row) {
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
            None if json_text::kind(json) == "object" => exec_err!("cannot get array length of a non-array"),
            None => exec_err!("cannot get array length of a scalar"),
        },
        None => Ok(None),
    });
    Ok(Arc::new(lengths.collect::<Result<Int32Array>>()?))
}

/// The elements of an array, which `json_array_elements` turns into rows.
fn elements(args: &[ArrayRef], as_text: bool) -> Result<ArrayRef> {
    lists(args, |json| {
        let Some(found) = json_text::elements(json) else {
            let what = if json_text::kind(json) == "object" { "an object" } else { "a scalar" };
            return exec_err!("cannot extract elements from {what}");
        };
        Ok(found.map(|element| shown(element, as_text)).collect())
    })
}

/// The keys of an object, which `json_object_keys` and `json_each` turn into rows.
fn keys(args: &[ArrayRef]) -> Result<ArrayRef> {
    lists(args, |json| {
        let Some(members) = json_text::members(json) else {
            return exec_err!("cannot read the keys of a JSON {}", json_text::kind(json));
        };
        Ok(members.map(|(key, _)| json_text::as_text(key).map(Cow::into_owned)).collect())
    })
}

/// The values of an object, in the order of [`keys`].
fn values(args: &[ArrayRef], as_text: bool) -> Result<ArrayRef> {
    lists(args, |json| {
        let Some(members) = json_text::members(json) else {
            return exec_err!("cannot read the keys of a JSON {}", json_text::kind(json));
        };
        Ok(members.map(|(_, value)| shown(value, as_text)).collect())
    })
}

/// The numbers of the elements of lists, from 1.
fn positions(args: &[ArrayRef]) -> Result<ArrayRef> {
    let [lists] = args else { return exec_err!("the elements of one list are numbered") };
    let lists = lists.as_list::<i32>();
    let mut numbers = ListBuilder::new(Int64Builder::new());
    for row in 0..lists.len() {
        match lists.is_valid(row) {
            true => numbers.append_value((1_i64..).take(lists.value(row).len()).map(Some)),
            false => numbers.append_null(),
        }
    }
    Ok(Arc::new(numbers.finish()))
}

/// A value as JSON, or as `->>` returns it.
fn shown(value: &str, as_text: bool) -> Option<String> {
    if as_text { json_text::as_text(value).map(Cow::into_owned) } else { Some(value.to_owned()) }
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

fn checked(args: &[ArrayRef]) -> Result<ArrayRef> {
    let [documents] = args else { return exec_err!("one value becomes JSON") };
    Ok(Arc::new(Documents::new(documents)?.0))
}

/// Documents in the form of `jsonb`.
fn in_jsonb(documents: &ArrayRef) -> Result<ArrayRef> {
    let documents = Documents::new(documents)?;
    let in_form = |json: Option<&str>| json.map(|json| Json::read(json).map(|json| written(&json, None))).transpose();
    let texts = documents.0.iter().map(in_form).collect::<atsdb_core::Result<StringArray>>();
    Ok(Arc::new(texts.map_err(external)?))
}

fn all_in_jsonb(args: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
    args.iter().map(in_jsonb).collect()
}
