//! `jsonb_path_query` and the like: functions of a document, an SQL/JSON path, its variables, and whether errors of the
//! document are silent; and the operators `@?` and `@@`, which are silent and have no variables.

use super::jsonb::{Json, written};
use super::path_failures::PathFailure;
use super::path_items::Evaluation;
use super::path_syntax::parse;
use super::path_text::text_of;
use super::path_tree::JsonPath;
use super::path_values::MadeValues;
use super::path_walk::PathItem;
use super::path_work::CallSteps;
use super::read::{Documents, check, text};
use crate::functions::base::plain::{Compute, Plain, Returns};
use crate::functions::base::text_types::TextType;
use crate::text::datafusion_errors::external;
use crate::text::errors::sql_error;
use atsdb_core::Error;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, ListBuilder, StringArray, StringBuilder};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

/// The maximum size in bytes of what a path finds in one document, as PostgreSQL's `jsonb` has it.
const FOUND_BYTES_MAX: usize = (1 << 28) - 1;

/// The maximum size in bytes of what paths find in the documents of one call, which are in memory at once.
const ROWS_BYTES_MAX: usize = 1 << 30;

/// The function that reads a text as an SQL/JSON path.
pub(crate) const JSON_PATH: &str = "jsonpath_of";

pub(super) fn functions() -> Vec<ScalarUDF> {
    let jsonb = |name: &'static str, compute: Compute| {
        Plain::variadic(name, DataType::Utf8, compute).returning(Returns::Declared(TextType::Jsonb)).udf()
    };
    let flag = |name: &'static str, compute: Compute| Plain::variadic(name, DataType::Boolean, compute).udf();
    let texts_of = |name: &'static str, compute: Compute| {
        Plain::variadic(name, DataType::new_list(DataType::Utf8, true), compute).udf()
    };
    vec![
        flag("jsonb_path_exists", |args| answers(&PathCall::of("jsonb_path_exists", args)?, exists)),
        flag("jsonb_path_exists_opr", |args| answers(&PathCall::of_operator("@?", args)?, exists)),
        flag("jsonb_path_match", |args| answers(&PathCall::of("jsonb_path_match", args)?, matches)),
        path_match_operator(),
        flag("jsonb_path_exists_tz", |args| answers(&PathCall::of("jsonb_path_exists_tz", args)?, exists)),
        flag("jsonb_path_match_tz", |args| answers(&PathCall::of("jsonb_path_match_tz", args)?, matches)),
        jsonb("jsonb_path_query_first", |args| first("jsonb_path_query_first", args)),
        jsonb("jsonb_path_query_first_tz", |args| first("jsonb_path_query_first_tz", args)),
        jsonb("jsonb_path_query_array", |args| array("jsonb_path_query_array", args)),
        jsonb("jsonb_path_query_array_tz", |args| array("jsonb_path_query_array_tz", args)),
        texts_of("jsonb_path_elements", |args| list("jsonb_path_query", args)),
        texts_of("jsonb_path_elements_tz", |args| list("jsonb_path_query_tz", args)),
        Plain::variadic(JSON_PATH, DataType::Utf8, paths).udf(),
    ]
}

/// The function behind `document @@ path`.
pub(crate) fn path_match_operator() -> ScalarUDF {
    let compute: Compute = |args| answers(&PathCall::of_operator("@@", args)?, matches);
    Plain::variadic("jsonb_path_match_opr", DataType::Boolean, compute).udf()
}

/// The arguments of a call, one for each row.
struct PathCall {
    documents: Documents,
    paths: StringArray,
    /// `None` for operators.
    variables: Option<StringArray>,
    silent: BooleanArray,
    /// Whether times without a zone are compared with those that have one, as times in UTC.
    uses_zone: bool,
}

impl PathCall {
    fn of(name: &str, args: &[ArrayRef]) -> Result<Self> {
        let ([documents, paths] | [documents, paths, _] | [documents, paths, _, _]) = args else {
            let error = sql_error(format!("{name} takes 2 to 4 arguments, not {}", args.len()));
            return Err(external(error.with_hint(format!("write {name}(document, path [, vars [, silent]])"))));
        };
        let count = paths.len();
        let variables = match args.get(2) {
            Some(variables) => text(variables)?,
            None => std::iter::repeat_n(Some("{}"), count).collect(),
        };
        let silent = match args.get(3) {
            Some(silent) => cast(silent, &DataType::Boolean)?.as_boolean().clone(),
            None => BooleanArray::from(vec![false; count]),
        };
        let (documents, paths) = (Documents::new(documents)?, text(paths)?);
        Ok(Self { documents, paths, variables: Some(variables), silent, uses_zone: name.ends_with("_tz") })
    }

    fn of_operator(symbol: &str, args: &[ArrayRef]) -> Result<Self> {
        let [documents, paths] = args else {
            return Err(external(sql_error(format!("{symbol} takes 2 arguments, not {}", args.len()))));
        };
        let silent = BooleanArray::from(vec![true; paths.len()]);
        let (documents, paths) = (Documents::new(documents)?, text(paths)?);
        Ok(Self { documents, paths, variables: None, silent, uses_zone: false })
    }

    /// Calls `answer` for each row without a NULL argument, with the row's argument `silent`. The other rows are NULL.
    fn each_row<T>(&self, mut answer: impl FnMut(&Evaluation<'_>, bool) -> Answer<T>) -> Result<Vec<Option<T>>> {
        let (mut last_path, mut last_variables) = (LastRead(None), LastRead(None));
        let call_steps = CallSteps::new();
        let mut answers = Vec::with_capacity(self.paths.len());
        for (row, document) in self.documents.0.iter().enumerate() {
            let variables = self.variables.as_ref();
            let has_null = self.silent.is_null(row) || variables.is_some_and(|variables| variables.is_null(row));
            let (Some(document), false, false) = (document, self.paths.is_null(row), has_null) else {
                answers.push(None);
                continue;
            };
            let document = Json::read(document).map_err(external)?;
            let path: &JsonPath = last_path.read(self.paths.value(row), parse).map_err(external)?;
            let variables = match variables {
                Some(variables) => Some(last_variables.read(variables.value(row), variables_of).map_err(external)?),
                None => None,
            };
            let values = MadeValues::new();
            let evaluation = Evaluation::new(path, &document, variables, self.uses_zone, &values, &call_steps);
            let answer = answer(&evaluation, self.silent.value(row));
            answers.push(answer.map_err(|failure| external(failure.into()))?);
        }
        Ok(answers)
    }
}

/// The result of a function for one document; `None` is NULL.
type Answer<T> = std::result::Result<Option<T>, PathFailure>;

/// The last text that was parsed, and the value parsed from it; `None` before the first. Consecutive rows often have
/// the same text.
struct LastRead<'a, T>(Option<(&'a str, T)>);

impl<'a, T> LastRead<'a, T> {
    fn read(&mut self, text: &'a str, read: fn(&str) -> atsdb_core::Result<T>) -> atsdb_core::Result<&T> {
        let known = self.0.take().filter(|(known, _)| *known == text);
        let value = match known {
            Some((_, value)) => value,
            None => read(text)?,
        };
        Ok(&self.0.insert((text, value)).1)
    }
}

fn variables_of(text: &str) -> atsdb_core::Result<Json> {
    check(text)?;
    match Json::read(text)? {
        object @ Json::Object(_) => Ok(object),
        _ => Err(Error::invalid("\"vars\" argument is not an object").with_hint("write '{\"name\": value}'")),
    }
}

fn answers(call: &PathCall, answer: fn(&Evaluation<'_>, bool) -> Answer<bool>) -> Result<ArrayRef> {
    Ok(Arc::new(call.each_row(answer)?.into_iter().collect::<BooleanArray>()))
}

fn exists(evaluation: &Evaluation<'_>, is_silent: bool) -> Answer<bool> {
    match evaluation.exists() {
        Err(PathFailure::Unfit(_)) if is_silent => Ok(None),
        answer => answer.map(Some),
    }
}

fn matches(evaluation: &Evaluation<'_>, is_silent: bool) -> Answer<bool> {
    let found = found(evaluation, is_silent)?;
    let single = match found.as_slice() {
        [PathItem { value: Json::Scalar(text), .. }] => Some(text.as_str()),
        _ => None,
    };
    match single {
        Some("true") => Ok(Some(true)),
        Some("false") => Ok(Some(false)),
        Some("null") => Ok(None),
        _ if is_silent => Ok(None),
        _ => Err(PathFailure::no_single_boolean()),
    }
}

/// All items; in a silent call, those before an error.
fn found<'a>(evaluation: &Evaluation<'a>, is_silent: bool) -> std::result::Result<Vec<PathItem<'a>>, PathFailure> {
    let mut items = Vec::new();
    match evaluation.find(&mut items) {
        Err(PathFailure::Unfit(_)) if is_silent => {}
        done => done?,
    }
    Ok(items)
}

/// The texts of all items for each row.
fn texts(name: &str, args: &[ArrayRef]) -> Result<Vec<Option<Vec<String>>>> {
    let mut bytes_left = ROWS_BYTES_MAX;
    PathCall::of(name, args)?.each_row(|evaluation, is_silent| {
        let (mut texts, mut bytes) = (Vec::new(), 0);
        for item in found(evaluation, is_silent)? {
            let text = written(item.value, None);
            bytes += text.len();
            if bytes > FOUND_BYTES_MAX {
                return Err(PathFailure::too_many_bytes(FOUND_BYTES_MAX, "a document"));
            }
            let left = bytes_left.checked_sub(size_of::<String>() + text.len());
            bytes_left = left.ok_or_else(|| PathFailure::too_many_bytes(ROWS_BYTES_MAX, "some documents"))?;
            texts.push(text);
        }
        Ok(Some(texts))
    })
}

fn first(name: &str, args: &[ArrayRef]) -> Result<ArrayRef> {
    let firsts = PathCall::of(name, args)?.each_row(|evaluation, is_silent| {
        let found = found(evaluation, is_silent)?;
        Ok(found.first().map(|item| written(item.value, None)))
    })?;
    Ok(Arc::new(firsts.into_iter().collect::<StringArray>()))
}

fn array(name: &str, args: &[ArrayRef]) -> Result<ArrayRef> {
    let arrays = texts(name, args)?.into_iter().map(|texts| texts.map(|texts| format!("[{}]", texts.join(", "))));
    Ok(Arc::new(arrays.collect::<StringArray>()))
}

/// The items as a list, which `jsonb_path_query` turns into rows.
fn list(name: &str, args: &[ArrayRef]) -> Result<ArrayRef> {
    let mut lists = ListBuilder::new(StringBuilder::new());
    for texts in texts(name, args)? {
        lists.append_option(texts.map(|texts| texts.into_iter().map(Some)));
    }
    Ok(Arc::new(lists.finish()))
}

/// `CAST(x AS jsonpath)`: paths in PostgreSQL's form.
fn paths(args: &[ArrayRef]) -> Result<ArrayRef> {
    let [paths] = args else { return Err(external(sql_error("one text becomes a jsonpath"))) };
    let shown = |path: Option<&str>| path.map(|path| parse(path).map(|path| text_of(&path))).transpose();
    let shown = text(paths)?.iter().map(shown).collect::<atsdb_core::Result<StringArray>>();
    Ok(Arc::new(shown.map_err(external)?))
}
