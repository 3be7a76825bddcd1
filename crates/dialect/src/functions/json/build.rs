//! Functions that build JSON of values of any type: `to_json`, `json_build_object` and the like, also as `jsonb`. The
//! aggregates `json_agg` and `json_object_agg` are lists that `array_agg` has collected, which end here.

use super::jsonb::normalized;
use super::read::{path_at, text};
use super::values::JsonValues;
use crate::functions::base::answers::{answer, are_constant};
use crate::functions::base::text_types::TextType;
use crate::text::datafusion_errors::external;
use crate::text::errors::sql_error;
use atsdb_core::array_text;
use atsdb_core::json_text::quoted;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringArray};
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{DataFusionError, Result, exec_err};
use datafusion::logical_expr::{
    ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// The text of the JSON of one row; `None` for NULL. The values are those of the arguments.
type Build = fn(&Call<'_>, &[JsonValues], usize) -> Result<Option<String>>;

/// A call of a function: its arguments, and what it knows of them besides their values.
struct Call<'a> {
    function: &'a Building,
    /// The arguments as they are.
    arrays: &'a [ArrayRef],
}

pub(super) fn functions() -> Vec<ScalarUDF> {
    let json = |name: &'static str, build: Build| Building::new(name, TextType::Json, build).udf();
    let jsonb = |name: &'static str, build: Build| Building::new(name, TextType::Jsonb, build).udf();
    vec![
        json("to_json", value),
        jsonb("to_jsonb", value),
        json("json_build_object", object),
        jsonb("jsonb_build_object", object),
        json("json_build_array", array),
        jsonb("jsonb_build_array", array),
        json("json_object", object_of_texts),
        jsonb("jsonb_object", object_of_texts),
        json("array_to_json", of_array),
        json("row_to_json", of_row),
        json("json_row", row),
        json("json_row_lines", row_in_lines),
        json("json_list", list),
        jsonb("jsonb_list", list),
        json("json_list_of_rows", list_of_rows),
        json("json_pair", pair),
        json("json_pairs", object_of_pairs),
        jsonb("jsonb_pairs", object_of_pairs),
    ]
}

#[derive(Debug)]
struct Building {
    name: &'static str,
    returns: TextType,
    build: Build,
    signature: Signature,
}

impl Building {
    fn new(name: &'static str, returns: TextType, build: Build) -> Self {
        let takes = vec![TypeSignature::Nullary, TypeSignature::VariadicAny];
        Self { name, returns, build, signature: Signature::one_of(takes, Volatility::Immutable) }
    }

    fn udf(self) -> ScalarUDF {
        ScalarUDF::new_from_impl(self)
    }
}

impl PartialEq for Building {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Building {}

impl Hash for Building {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for Building {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        Ok(Arc::new(self.returns.field(self.name)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_constant = are_constant(&args.args);
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let values = arrays.iter().zip(&args.arg_fields).map(|(array, field)| JsonValues::new(array, field));
        let values = values.collect::<Result<Vec<_>>>()?;
        let row_count = arrays.first().map_or(1, |array| array.len());
        let call = Call { function: self, arrays: &arrays };
        let built = (0..row_count).map(|row| match (self.build)(&call, &values, row)? {
            Some(json) if self.returns == TextType::Jsonb => Ok(Some(normalized(&json))),
            json => Ok(json),
        });
        let built: ArrayRef = Arc::new(built.collect::<Result<StringArray>>()?);
        answer(is_constant && built.len() == 1, built)
    }
}

/// An error with what to write instead.
fn wrong(message: String, hint: String) -> DataFusionError {
    external(sql_error(message).with_hint(hint))
}

/// `to_json(x)`.
fn value(call: &Call<'_>, values: &[JsonValues], row: usize) -> Result<Option<String>> {
    let [value] = values else {
        return exec_err!("{} takes 1 argument, not {}", call.function.name, values.len());
    };
    Ok(written(value, row, ","))
}

fn written(value: &JsonValues, row: usize, separator: &str) -> Option<String> {
    if value.is_null(row) {
        return None;
    }
    let mut out = String::new();
    value.push_parts(row, separator, &mut out);
    Some(out)
}

/// `json_build_object(key, value, ...)`.
fn object(call: &Call<'_>, values: &[JsonValues], row: usize) -> Result<Option<String>> {
    if values.len() % 2 == 1 {
        let hint = format!("the arguments of {}() are keys and values in turn", call.function.name);
        return Err(wrong("argument list must have even number of elements".to_owned(), hint));
    }
    let mut out = "{".to_owned();
    for (at, pair) in values.chunks_exact(2).enumerate() {
        let [key, value] = pair else { continue };
        if key.is_null(row) {
            return exec_err!("argument {}: key must not be null", at * 2 + 1);
        }
        if at > 0 {
            out.push_str(", ");
        }
        out.push_str(&quoted(key_of(key, row)?));
        out.push_str(" : ");
        value.push(row, &mut out);
    }
    out.push('}');
    Ok(Some(out))
}

fn key_of(key: &JsonValues, row: usize) -> Result<&str> {
    match key.key(row) {
        Some(key) => Ok(key),
        None => exec_err!("key value must be scalar, not array, composite, or json"),
    }
}

/// `json_build_array(value, ...)`.
fn array(_: &Call<'_>, values: &[JsonValues], row: usize) -> Result<Option<String>> {
    let mut out = "[".to_owned();
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            out.push_str(", ");
        }
        value.push(row, &mut out);
    }
    out.push(']');
    Ok(Some(out))
}

/// `json_object(keys_and_values)`, `json_object(keys, values)`.
fn object_of_texts(call: &Call<'_>, _: &[JsonValues], row: usize) -> Result<Option<String>> {
    let pairs: Vec<(Option<String>, Option<String>)> = match call.arrays {
        [both] => {
            let Some(texts) = texts_at(both, row)? else { return Ok(None) };
            if texts.len() % 2 == 1 {
                return exec_err!("array must have even number of elements");
            }
            let mut texts = texts.into_iter();
            std::iter::from_fn(|| Some((texts.next()?, texts.next()?))).collect()
        }
        [keys, values] => {
            let (Some(keys), Some(values)) = (texts_at(keys, row)?, texts_at(values, row)?) else { return Ok(None) };
            if keys.len() != values.len() {
                return exec_err!("mismatched array dimensions");
            }
            keys.into_iter().zip(values).collect()
        }
        arrays => return exec_err!("{} takes 1 or 2 arrays of text, not {}", call.function.name, arrays.len()),
    };
    let mut members = Vec::with_capacity(pairs.len());
    for (key, value) in pairs {
        let Some(key) = key else { return exec_err!("null value not allowed for object key") };
        let value = value.map_or_else(|| "null".to_owned(), |value| quoted(&value));
        members.push(format!("{} : {value}", quoted(&key)));
    }
    Ok(Some(format!("{{{}}}", members.join(", "))))
}

/// The texts of an array, which may be written `{a,b}`, or of an array of pairs; `None` for NULL.
fn texts_at(arrays: &ArrayRef, row: usize) -> Result<Option<Vec<Option<String>>>> {
    if arrays.as_list_opt::<i32>().is_none() {
        let written = text(&arrays.slice(row, 1))?;
        return match written.iter().flatten().next() {
            Some(written) => match array_text::parse(written) {
                Ok(texts) => Ok(Some(texts)),
                Err(error) => exec_err!("{}", error.message(written)),
            },
            None => Ok(None),
        };
    }
    let pairs = arrays.as_list_opt::<i32>().filter(|lists| lists.is_valid(row)).map(|lists| lists.value(row));
    let Some(pairs) = pairs.as_ref().and_then(|pairs| pairs.as_list_opt::<i32>()) else {
        return path_at(arrays, row);
    };
    let mut texts = Vec::with_capacity(pairs.len() * 2);
    for pair in pairs.iter().flatten() {
        if pair.len() != 2 {
            return exec_err!("array must have two columns");
        }
        texts.extend(text(&pair)?.iter().map(|text| text.map(str::to_owned)));
    }
    Ok(Some(texts))
}

/// The separator of the parts: if the second argument of `array_to_json` and `row_to_json` is true, it is a new line.
/// `None` if the argument is NULL.
fn separator(call: &Call<'_>, row: usize) -> Result<Option<&'static str>> {
    match call.arrays {
        [_] => Ok(Some(",")),
        [_, lines] => match lines.as_boolean_opt() {
            Some(lines) => Ok(lines.is_valid(row).then(|| if lines.value(row) { ",\n " } else { "," })),
            None if lines.data_type().is_null() => Ok(None),
            None => exec_err!("{}: the second argument is true or false", call.function.name),
        },
        arrays => exec_err!("{} takes 1 or 2 arguments, not {}", call.function.name, arrays.len()),
    }
}

/// `array_to_json(array [, lines])`.
fn of_array(call: &Call<'_>, values: &[JsonValues], row: usize) -> Result<Option<String>> {
    let separator = separator(call, row)?;
    match values.first() {
        Some(value) if value.are_lists() || value.is_null(row) => {
            Ok(separator.and_then(|separator| written(value, row, separator)))
        }
        _ => exec_err!("array_to_json takes an array"),
    }
}

/// `row_to_json(row [, lines])`.
fn of_row(call: &Call<'_>, values: &[JsonValues], row: usize) -> Result<Option<String>> {
    let separator = separator(call, row)?;
    match values.first() {
        Some(value) if value.are_rows() || value.is_null(row) => {
            Ok(separator.and_then(|separator| written(value, row, separator)))
        }
        _ => Err(wrong("row_to_json takes a row".to_owned(), "write json_build_object('name', value)".to_owned())),
    }
}

/// `json_row(name, value, ...)`: a whole row of a relation.
fn row(_: &Call<'_>, values: &[JsonValues], row: usize) -> Result<Option<String>> {
    row_of(values, row, ",").map(Some)
}

/// Writes a row as a JSON object that has a line for each member.
fn row_in_lines(_: &Call<'_>, values: &[JsonValues], row: usize) -> Result<Option<String>> {
    row_of(values, row, ",\n ").map(Some)
}

fn row_of(values: &[JsonValues], row: usize, separator: &str) -> Result<String> {
    let mut out = "{".to_owned();
    for (at, member) in values.chunks_exact(2).enumerate() {
        let [name, value] = member else { continue };
        if at > 0 {
            out.push_str(separator);
        }
        out.push_str(&quoted(key_of(name, row)?));
        out.push(':');
        value.push(row, &mut out);
    }
    out.push('}');
    Ok(out)
}

/// `json_list(values)`: what `json_agg` has collected. Arrays and rows are on lines of their own.
fn list(_: &Call<'_>, values: &[JsonValues], row: usize) -> Result<Option<String>> {
    let Some(elements) = values.first().and_then(JsonValues::all_elements) else {
        return exec_err!("json_list takes a list");
    };
    let separator = if elements.are_lists() || elements.are_rows() { ", \n " } else { ", " };
    Ok(written(&values[0], row, separator))
}

/// `json_list_of_rows(rows)`: the same for whole rows, each of which is JSON already.
fn list_of_rows(_: &Call<'_>, values: &[JsonValues], row: usize) -> Result<Option<String>> {
    match values.first() {
        Some(rows) => Ok(written(rows, row, ", \n ")),
        None => exec_err!("json_list_of_rows takes a list"),
    }
}

/// `json_pair(key, value)`: a member of an object, as text; NULL without a key.
fn pair(_: &Call<'_>, values: &[JsonValues], row: usize) -> Result<Option<String>> {
    let [key, value] = values else {
        return exec_err!("json_object_agg takes a key and a value, not {} arguments", values.len());
    };
    if key.is_null(row) {
        return Ok(None);
    }
    let mut out = format!("{} : ", quoted(key_of(key, row)?));
    value.push(row, &mut out);
    Ok(Some(out))
}

/// `json_pairs(pairs)`: what `json_object_agg` has collected.
fn object_of_pairs(call: &Call<'_>, _: &[JsonValues], row: usize) -> Result<Option<String>> {
    let Some(pairs) = call.arrays.first().and_then(|lists| path_at(lists, row).transpose()).transpose()? else {
        return Ok(None);
    };
    match pairs.into_iter().collect::<Option<Vec<_>>>() {
        Some(pairs) => Ok(Some(format!("{{ {} }}", pairs.join(", ")))),
        None => exec_err!("field name must not be null"),
    }
}
