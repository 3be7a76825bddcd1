//! Values in SQL/JSON paths: those that a path makes, which live as long as the path is computed, and how two values
//! are compared.

use super::jsonb::Json;
use super::path_numbers::number_ordering;
use super::path_tree::Comparison;
use atsdb_core::json_text::{as_text, kind};
use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::fmt::Display;

/// A list of values that were made. It grows while its values are in use.
#[derive(Debug)]
pub(super) struct MadeValues {
    value: Json,
    next: OnceCell<Box<MadeValues>>,
}

impl MadeValues {
    pub(super) fn new() -> Self {
        Self::of(Json::Array(Vec::new()))
    }

    fn of(value: Json) -> Self {
        Self { value, next: OnceCell::new() }
    }
}

impl Drop for MadeValues {
    /// One after the other, because each would drop the next one within itself.
    fn drop(&mut self) {
        let mut next = self.next.take();
        while let Some(mut made) = next {
            next = made.next.take();
        }
    }
}

/// The last node of the list of made values, behind which the next value is put.
#[derive(Debug)]
pub(super) struct LastMade<'a>(Cell<&'a MadeValues>);

impl<'a> LastMade<'a> {
    /// The end of a new list.
    pub(super) fn new(values: &'a MadeValues) -> Self {
        Self(Cell::new(values))
    }

    pub(super) fn add(&self, value: Json) -> &'a Json {
        let last: &'a MadeValues = self.0.get();
        let made: &'a MadeValues = last.next.get_or_init(|| Box::new(MadeValues::of(value)));
        self.0.set(made);
        &made.value
    }
}

/// The type of a value, as `.type()` has it.
pub(super) fn type_name(json: &Json) -> &'static str {
    match json {
        Json::Object(_) => "object",
        Json::Array(_) => "array",
        Json::Scalar(text) => kind(text),
    }
}

/// The text of a number; `None` for other values.
pub(super) fn number_of(json: &Json) -> Option<&str> {
    match json {
        Json::Scalar(text) if kind(text) == "number" => Some(text),
        _ => None,
    }
}

/// The characters of a string; `None` for other values.
pub(super) fn string_of(json: &Json) -> Option<Cow<'_, str>> {
    match json {
        Json::Scalar(text) if kind(text) == "string" => as_text(text),
        _ => None,
    }
}

pub(super) fn is_array(json: &Json) -> bool {
    matches!(json, Json::Array(_))
}

pub(super) fn number_json(number: impl Display) -> Json {
    Json::Scalar(number.to_string())
}

pub(super) fn is_null(json: &Json) -> bool {
    matches!(json, Json::Scalar(text) if text == "null")
}

/// The bytes of a scalar's text.
pub(super) fn bytes_of(json: &Json) -> usize {
    if let Json::Scalar(text) = json { text.len() } else { 0 }
}

/// About the bytes of a value with all of its parts in memory.
pub(super) fn weight_of(json: &Json) -> usize {
    const PART: usize = 32;
    PART + match json {
        Json::Scalar(text) => text.len(),
        Json::Array(elements) => elements.iter().map(weight_of).sum(),
        Json::Object(members) => members.iter().map(|((length, _), value)| PART + length + weight_of(value)).sum(),
    }
}

/// Compares two values. Only scalars of one type can be compared; `null` is unequal to all others.
pub(super) fn compared(left: &Json, comparison: Comparison, right: &Json) -> Option<bool> {
    let (left_type, right_type) = (type_name(left), type_name(right));
    if left_type != right_type {
        return (is_null(left) || is_null(right)).then_some(comparison == Comparison::Unequal);
    }
    let (Json::Scalar(left), Json::Scalar(right)) = (left, right) else { return None };
    let ordering = match left_type {
        "number" => number_ordering(left, right),
        "string" => as_text(left)?.cmp(&as_text(right)?),
        _ => left.cmp(right),
    };
    Some(comparison.holds(ordering))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_values_are_made_and_dropped() {
        let values = MadeValues::new();
        let last = LastMade::new(&values);
        let made: Vec<&Json> = (0..300_000).map(|number| last.add(Json::Scalar(number.to_string()))).collect();
        assert_eq!(number_of(made[299_999]), Some("299999"));
    }

    #[test]
    fn only_scalars_of_one_type_are_compared() {
        let compare = |left: &str, right: &str| {
            let (left, right) = (Json::of(left), Json::of(right));
            [Comparison::Equal, Comparison::Unequal, Comparison::Less].map(|of| compared(&left, of, &right))
        };
        let known = |answers: [bool; 3]| answers.map(Some);
        assert_eq!(compare("1", "1.0"), known([true, false, false]));
        assert_eq!(compare("-2", "-1"), known([false, true, true]));
        assert_eq!(compare("9", "10"), known([false, true, true]));
        assert_eq!(compare("9e19999", "1e20000"), known([false, true, true]));
        assert_eq!(compare("-9e19999", "-1e20000"), known([false, true, false]));
        assert_eq!(compare("0.10e20001", "1E20000"), known([true, false, false]));
        assert_eq!(compare("5", "1e-20000"), known([false, true, false]));
        assert_eq!(compare("0.0", "1e-20000"), known([false, true, true]));
        assert_eq!(compare(r#""a""#, r#""B""#), known([false, true, false]));
        assert_eq!(compare("false", "true"), known([false, true, true]));
        assert_eq!(compare("null", "null"), known([true, false, false]));
        assert_eq!(compare("null", "[]"), known([false, true, false]));
        assert_eq!(compare("1", r#""1""#), [None; 3]);
        assert_eq!(compare("[1]", "[1]"), [None; 3]);
    }
}
