//! `jsonb_path_query` and the like: what an SQL/JSON path finds in a document. Without a mode, paths are lax: arrays
//! are opened where a step needs their elements, and what is missing is no error.

use super::jsonb::{Json, written};
use super::path_syntax::{Comparison, Condition, JsonPath, Operand, Path, PathStart, PathStep, Position};
use super::read::{Documents, text};
use crate::functions::base::plain::{Compute, Plain, Returns};
use crate::functions::base::text_types::TextType;
use crate::text::datafusion_errors::external;
use crate::text::errors::not_supported;
use atsdb_core::json_text::as_text;
use datafusion::arrow::array::{Array, ArrayRef, BooleanArray, ListBuilder, StringArray, StringBuilder};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::ScalarUDF;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::cmp::Ordering;
use std::sync::Arc;

pub(super) fn functions() -> Vec<ScalarUDF> {
    let jsonb = |name: &'static str, compute: Compute| {
        Plain::variadic(name, DataType::Utf8, compute).returning(Returns::Declared(TextType::Jsonb)).udf()
    };
    vec![
        Plain::variadic("jsonb_path_exists", DataType::Boolean, exists).udf(),
        jsonb("jsonb_path_query_first", first),
        jsonb("jsonb_path_query_array", array),
        Plain::variadic("jsonb_path_elements", DataType::new_list(DataType::Utf8, true), list).udf(),
    ]
}

/// Items of a document, or values that were made of them.
type Items<'a> = Vec<Cow<'a, Json>>;

fn exists(args: &[ArrayRef]) -> Result<ArrayRef> {
    let found = each_row("jsonb_path_exists", args, |items| !items.is_empty())?;
    Ok(Arc::new(found.into_iter().collect::<BooleanArray>()))
}

fn first(args: &[ArrayRef]) -> Result<ArrayRef> {
    let found = each_row("jsonb_path_query_first", args, |items| items.first().map(|item| written(item, None)))?;
    Ok(Arc::new(found.into_iter().map(Option::flatten).collect::<StringArray>()))
}

fn array(args: &[ArrayRef]) -> Result<ArrayRef> {
    let found = each_row("jsonb_path_query_array", args, |items| {
        let texts: Vec<String> = items.iter().map(|item| written(item, None)).collect();
        format!("[{}]", texts.join(", "))
    })?;
    Ok(Arc::new(found.into_iter().collect::<StringArray>()))
}

/// The items as a list, of which `jsonb_path_query` makes rows.
fn list(args: &[ArrayRef]) -> Result<ArrayRef> {
    let found = each_row("jsonb_path_query", args, |items| {
        items.iter().map(|item| Some(written(item, None))).collect::<Vec<_>>()
    })?;
    let mut lists = ListBuilder::new(StringBuilder::new());
    for items in found {
        lists.append_option(items);
    }
    Ok(Arc::new(lists.finish()))
}

/// Applies `make` to what each row's path finds in its document. `None` is NULL.
fn each_row<T>(name: &str, args: &[ArrayRef], make: impl Fn(Items<'_>) -> T) -> Result<Vec<Option<T>>> {
    let [documents, paths] = args else {
        let error = not_supported(format_args!("{name} with {} arguments", args.len()));
        return Err(external(error.with_hint(format!("write {name}(document, path)"))));
    };
    let (documents, paths) = (Documents::new(documents)?, text(paths)?);
    let mut last: Option<(&str, JsonPath)> = None;
    let mut made = Vec::with_capacity(paths.len());
    for (document, path) in documents.read().zip(&paths) {
        let (Some(document), Some(path)) = (document, path) else {
            made.push(None);
            continue;
        };
        let known = match last.take() {
            Some((text, known)) if text == path => known,
            _ => JsonPath::parse(path).map_err(external)?,
        };
        made.push(Some(make(Evaluation::new(&known, &document).found(&known.path, &document))));
        last = Some((path, known));
    }
    Ok(made)
}

/// Finds what a path means in one document. What does not depend on the item of a condition is computed once.
struct Evaluation<'a> {
    document: &'a Json,
    /// What paths in conditions find from the document, by their numbers, with arrays opened.
    inner: Vec<OnceCell<Items<'a>>>,
    /// The answers of conditions that do not depend on the item, by their numbers.
    answers: Vec<OnceCell<Option<bool>>>,
}

impl<'a> Evaluation<'a> {
    fn new(path: &JsonPath, document: &'a Json) -> Self {
        let inner = (0..path.inner_count).map(|_| OnceCell::new()).collect();
        let answers = (0..path.once_count).map(|_| OnceCell::new()).collect();
        Self { document, inner, answers }
    }

    /// What a path finds. `item` is the item that a condition is about.
    fn found<'b>(&self, path: &Path, item: &'b Json) -> Items<'b>
    where
        'a: 'b,
    {
        let start: &'b Json = if path.start == PathStart::Item { item } else { self.document };
        path.steps.iter().fold(vec![Cow::Borrowed(start)], |items, step| self.after_step(step, items))
    }

    fn after_step<'b>(&self, step: &PathStep, items: Items<'b>) -> Items<'b> {
        match step {
            PathStep::Member(key) => {
                let member = |item: Cow<'b, Json>| match item {
                    Cow::Borrowed(Json::Object(members)) => members.get(key).map(Cow::Borrowed),
                    _ => None,
                };
                items.into_iter().flat_map(opened).filter_map(member).collect()
            }
            PathStep::Members => {
                let members = |item: Cow<'b, Json>| -> Items<'b> {
                    match item {
                        Cow::Borrowed(Json::Object(members)) => members.values().map(Cow::Borrowed).collect(),
                        _ => Vec::new(),
                    }
                };
                items.into_iter().flat_map(opened).flat_map(members).collect()
            }
            PathStep::Elements => items.into_iter().flat_map(opened).collect(),
            PathStep::Positions(positions) => {
                items.into_iter().flat_map(|item| at_positions(&opened(item), positions)).collect()
            }
            PathStep::Filter(condition) => {
                let is_kept = |item: &Cow<'b, Json>| self.holds(condition, item) == Some(true);
                items.into_iter().flat_map(opened).filter(is_kept).collect()
            }
            PathStep::TypeName => {
                items.iter().map(|item| Cow::Owned(Json::Scalar(format!("\"{}\"", type_name(item))))).collect()
            }
            PathStep::Size => items.iter().map(|item| Cow::Owned(Json::Scalar(size(item).to_string()))).collect(),
        }
    }

    /// Whether a condition holds for an item; `None` if that is unknown.
    fn holds(&self, condition: &Condition, item: &Json) -> Option<bool> {
        match condition {
            Condition::Any(conditions) => any(conditions.iter().map(|inner| self.holds(inner, item))),
            Condition::All(conditions) => {
                // All hold where it is wrong that any does not.
                let fails = |inner: &Condition| self.holds(inner, item).map(|holds| !holds);
                any(conditions.iter().map(fails)).map(|fails| !fails)
            }
            Condition::Not(inner) => self.holds(inner, item).map(|holds| !holds),
            Condition::Exists(path) => Some(!self.found(path, item).is_empty()),
            Condition::Once(number, inner) => match self.answers.get(*number) {
                Some(answer) => *answer.get_or_init(|| self.holds(inner, item)),
                None => self.holds(inner, item),
            },
            Condition::Compare(left, comparison, right) => {
                let (left, right) = (self.values(left, item), self.values(right, item));
                any(left.iter().flat_map(|left| right.iter().map(move |right| compared(left, *comparison, right))))
            }
            Condition::StartsWith(operand, start) => {
                any(self.values(operand, item).iter().map(|value| match &**value {
                    Json::Scalar(text) if text.starts_with('"') => Some(as_text(text)?.starts_with(start)),
                    _ => None,
                }))
            }
        }
    }

    /// The values of an operand. Arrays are opened.
    fn values<'b>(&'b self, operand: &'b Operand, item: &'b Json) -> Cow<'b, [Cow<'b, Json>]> {
        let path = match operand {
            Operand::Value(value) => return Cow::Owned(vec![Cow::Borrowed(value)]),
            Operand::Path(path) => path,
        };
        if let PathStart::Inner(number) = path.start
            && let Some(known) = self.inner.get(number)
        {
            let from_document = || self.found(path, self.document).into_iter().flat_map(opened).collect();
            return Cow::Borrowed(known.get_or_init(from_document).as_slice());
        }
        Cow::Owned(self.found(path, item).into_iter().flat_map(opened).collect())
    }
}

/// The elements of an array, or the item itself.
fn opened(item: Cow<'_, Json>) -> Items<'_> {
    match item {
        Cow::Borrowed(Json::Array(elements)) => elements.iter().map(Cow::Borrowed).collect(),
        other => vec![other],
    }
}

fn at_positions<'a>(elements: &[Cow<'a, Json>], positions: &[(Position, Position)]) -> Items<'a> {
    let count = i64::try_from(elements.len()).unwrap_or(i64::MAX);
    let resolved = |position: Position| match position {
        Position::FromStart(at) => at,
        Position::BeforeLast(distance) => (count - 1).saturating_sub(distance),
    };
    let mut found = Vec::new();
    for (from, to) in positions {
        let range = resolved(*from).max(0)..=resolved(*to).min(count - 1);
        let elements_of_range = range.filter_map(|at| elements.get(usize::try_from(at).ok()?));
        found.extend(elements_of_range.cloned());
    }
    found
}

fn type_name(item: &Json) -> &'static str {
    match item {
        Json::Object(_) => "object",
        Json::Array(_) => "array",
        Json::Scalar(text) => match text.as_bytes().first() {
            Some(b'"') => "string",
            Some(b't' | b'f') => "boolean",
            Some(b'n') => "null",
            _ => "number",
        },
    }
}

fn size(item: &Json) -> usize {
    match item {
        Json::Array(elements) => elements.len(),
        _ => 1,
    }
}

/// Whether one of the answers is true; unknown if none is, and one is unknown.
fn any(answers: impl Iterator<Item = Option<bool>>) -> Option<bool> {
    let mut any = Some(false);
    for answer in answers {
        match answer {
            Some(true) => return Some(true),
            Some(false) => {}
            None => any = None,
        }
    }
    any
}

/// Compares two items. Only scalars of one type can be compared; `null` is unequal to all others.
fn compared(left: &Json, comparison: Comparison, right: &Json) -> Option<bool> {
    let (left_type, right_type) = (type_name(left), type_name(right));
    if left_type != right_type {
        let is_null = left_type == "null" || right_type == "null";
        return is_null.then_some(comparison == Comparison::Unequal);
    }
    let (Json::Scalar(left), Json::Scalar(right)) = (left, right) else { return None };
    let ordering = match left_type {
        "number" => number_ordering(left, right),
        "string" => as_text(left)?.cmp(&as_text(right)?),
        _ => left.cmp(right),
    };
    Some(match comparison {
        Comparison::Equal => ordering.is_eq(),
        Comparison::Unequal => ordering.is_ne(),
        Comparison::Less => ordering.is_lt(),
        Comparison::LessOrEqual => ordering.is_le(),
        Comparison::Greater => ordering.is_gt(),
        Comparison::GreaterOrEqual => ordering.is_ge(),
    })
}

/// Compares numbers as `jsonb` writes them: without exponents, and without zeros before them.
fn number_ordering(left: &str, right: &str) -> Ordering {
    match (left.starts_with('-'), right.starts_with('-')) {
        (false, true) => Ordering::Greater,
        (true, false) => Ordering::Less,
        (false, false) => magnitude_ordering(left, right),
        (true, true) => magnitude_ordering(&right[1..], &left[1..]),
    }
}

fn magnitude_ordering(left: &str, right: &str) -> Ordering {
    let (left, left_fraction) = left.split_once('.').unwrap_or((left, ""));
    let (right, right_fraction) = right.split_once('.').unwrap_or((right, ""));
    let fractions = || left_fraction.trim_end_matches('0').cmp(right_fraction.trim_end_matches('0'));
    left.len().cmp(&right.len()).then_with(|| left.cmp(right)).then_with(fractions)
}
