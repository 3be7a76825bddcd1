//! The functions that a query may call: their names, arguments, results and descriptions.

use super::context::context;
use super::function_examples::{FunctionExample, function_examples};
use super::function_kind::FunctionKind;
use super::function_notes::{FILE_FUNCTIONS, NOTES, REWRITTEN_AGGREGATES, REWRITTEN_SCALARS};
use super::internal_functions::INTERNAL;
use super::options::SessionOptions;
use crate::ddl::from_query::type_name_of;
use atsdb_core::Result;
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, TimeUnit};
use datafusion::logical_expr::function::WindowUDFFieldArgs;
use datafusion::logical_expr::type_coercion::functions::{UDFCoercionExt, fields_with_udf};
use datafusion::logical_expr::{Documentation, ReturnFieldArgs, Signature, TypeSignature};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The maximum number of lists of types that are tried to find the type of a function's result.
const EXAMPLES_MAX: usize = 400;

/// The maximum number of types of a result that are shown. With more, the result depends on the arguments.
const TYPES_SHOWN: usize = 3;

/// The words for the type of a result that depends on the arguments.
const BY_THE_ARGUMENTS: &str = "by the arguments";

/// A function that a query may call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FunctionInfo {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: FunctionKind,
    /// Its arguments, as one writes them.
    pub arguments: String,
    /// The types of its result, or how they depend on its arguments.
    pub returns: String,
    /// A sentence about what it computes; empty if the function has no description.
    pub description: String,
    /// A call of it and the answer. Most aliases have none.
    pub example: Option<FunctionExample>,
}

impl FunctionInfo {
    /// The function that this one is another name of, if it is one.
    pub fn alias_of(&self) -> Option<&str> {
        let name = self.description.strip_prefix("The same as ")?.strip_suffix('.')?;
        (!name.contains(' ')).then_some(name)
    }
}

/// The functions that a query may call, by name and kind.
///
/// # Errors
/// `Resources` if there is not enough memory for a context.
pub fn functions() -> Result<Vec<FunctionInfo>> {
    let state = context(&SessionOptions::default(), &Arc::default())?.state();
    let examples = function_examples();
    let mut functions = BTreeMap::new();
    let mut insert = |function: FunctionInfo| {
        let example = examples.get(&(function.name.as_str(), function.kind)).cloned();
        functions.insert((function.name.clone(), function.kind), FunctionInfo { example, ..function });
    };
    let mut add =
        |name: &str, own: &str, kind, signature: Option<&Signature>, about: Option<&Documentation>, returns| {
            if !name.starts_with(|first: char| first.is_ascii_alphabetic()) || INTERNAL.contains(&name) {
                return;
            }
            if let Some((_, arguments, returns, description)) = NOTES.iter().find(|(noted, ..)| *noted == name) {
                let [arguments, returns, description] = [*arguments, *returns, *description].map(str::to_owned);
                insert(FunctionInfo { name: name.to_owned(), kind, arguments, returns, description, example: None });
                return;
            }
            let description = match (name == own, about) {
                (false, _) => format!("The same as {own}."),
                (true, Some(about)) => first_sentence(&about.description),
                (true, None) => String::new(),
            };
            let documented = about.and_then(|about| inside_brackets(&about.syntax_example));
            let arguments = documented.or_else(|| signature.map(arguments_of)).unwrap_or_default();
            insert(FunctionInfo { name: name.to_owned(), kind, arguments, returns, description, example: None });
        };
    for (name, function) in state.scalar_functions() {
        let result = |fields: &[FieldRef]| {
            let scalar_arguments = vec![None; fields.len()];
            let args = ReturnFieldArgs { arg_fields: fields, scalar_arguments: &scalar_arguments };
            function.return_field_from_args(args).ok()
        };
        let returns = returns(&**function, &result);
        add(name, function.name(), FunctionKind::Scalar, Some(function.signature()), function.documentation(), returns);
    }
    for (name, function) in state.aggregate_functions() {
        let result = |fields: &[FieldRef]| function.return_field(fields).ok();
        let returns = returns(&**function, &result);
        let (own, signature) = (function.name(), function.signature());
        add(name, own, FunctionKind::Aggregate, Some(signature), function.documentation(), returns);
    }
    for (name, function) in state.window_functions() {
        let (own, signature) = (function.name(), function.signature());
        let result = |fields: &[FieldRef]| function.field(WindowUDFFieldArgs::new(fields, own)).ok();
        let returns = returns(&**function, &result);
        add(name, own, FunctionKind::Window, Some(signature), function.documentation(), returns);
    }
    for name in state.table_functions().keys() {
        add(name, name, FunctionKind::Table, None, None, "rows".to_owned());
    }
    let scalars = REWRITTEN_SCALARS.iter().map(|note| (FunctionKind::Scalar, note));
    let aggregates = REWRITTEN_AGGREGATES.iter().map(|note| (FunctionKind::Aggregate, note));
    let tables = FILE_FUNCTIONS.iter().map(|note| (FunctionKind::Table, note));
    for (kind, (name, arguments, returns, description)) in scalars.chain(aggregates).chain(tables) {
        let [name, arguments, returns, description] = [*name, *arguments, *returns, *description].map(str::to_owned);
        insert(FunctionInfo { name, kind, arguments, returns, description, example: None });
    }
    Ok(functions.into_values().collect())
}

/// The names of all functions that a query may call, sorted.
///
/// # Errors
/// `Resources` if there is not enough memory for a context.
pub fn function_names() -> Result<Vec<String>> {
    let mut names: Vec<String> = functions()?.into_iter().map(|function| function.name).collect();
    names.dedup();
    Ok(names)
}

/// The types of the results for the arguments that a function shows as examples, or else for a few usual ones, or else
/// for arrays. Where none of them is taken, the result depends on the arguments.
fn returns<F: UDFCoercionExt>(function: &F, result: &dyn Fn(&[FieldRef]) -> Option<FieldRef>) -> String {
    let result_of = |types: &[DataType]| {
        let fields: Vec<FieldRef> =
            types.iter().map(|data_type| Arc::new(Field::new("argument", data_type.clone(), true))).collect();
        let field = result(&fields_with_udf(&fields, function).ok()?)?;
        Some(type_name(field.data_type())).filter(|name| !field.data_type().is_null() && !name.is_empty())
    };
    let type_signature = &function.signature().type_signature;
    let mut examples = type_signature.get_example_types();
    if matches!(type_signature, TypeSignature::Nullary) {
        examples.push(Vec::new());
    }
    if examples.is_empty() {
        examples = usual_arguments();
    }
    let names_of = |types: &[DataType]| types.iter().map(type_name).collect::<Vec<_>>();
    let results = examples.iter().take(EXAMPLES_MAX).filter_map(|types| Some((names_of(types), result_of(types)?)));
    let results: Vec<(Vec<String>, String)> = results.collect();
    let mut names: Vec<&str> = Vec::new();
    for (_, name) in &results {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let rule = match names.len() {
        0 => result_for_arrays(&result_of),
        1..=TYPES_SHOWN => Some(names.join(" or ")),
        _ => rule_of_arguments(&results),
    };
    rule.unwrap_or_else(|| BY_THE_ARGUMENTS.to_owned())
}

/// How the result follows from the types of the arguments, if it does.
fn rule_of_arguments(results: &[(Vec<String>, String)]) -> Option<String> {
    let is_array = results.iter().all(|(_, result)| result.ends_with("[]"));
    let is = |result: &str, of: &str| if is_array { result.strip_suffix("[]") == Some(of) } else { result == of };
    let follows = |at: usize| results.iter().all(|(types, result)| types.get(at).is_some_and(|of| is(result, of)));
    let mut alike = results.iter().filter_map(|(types, result)| {
        let (first, others) = types.split_first()?;
        others.iter().all(|other| other == first).then_some((first, result))
    });
    let of = if follows(0) && results.iter().all(|(types, _)| types.len() == 1) {
        "the argument's type"
    } else if follows(0) {
        "the first argument's type"
    } else if follows(1) {
        "the second argument's type"
    } else if alike.next().is_some_and(|(of, result)| is(result, of)) && alike.all(|(of, result)| is(result, of)) {
        "the arguments' common type"
    } else {
        return None;
    };
    Some(if is_array { format!("an array of {of}") } else { of.to_owned() })
}

fn usual_arguments() -> Vec<Vec<DataType>> {
    let time = DataType::Timestamp(TimeUnit::Microsecond, None);
    let types = [DataType::Utf8, DataType::Float64, DataType::Int64, time];
    let mut lists: Vec<Vec<DataType>> = vec![Vec::new()];
    lists.extend(types.iter().map(|data_type| vec![data_type.clone()]));
    let pairs = types.iter().flat_map(|first| types.iter().map(|second| vec![first.clone(), second.clone()]));
    lists.extend(pairs);
    lists
}

/// Returns the type of the result of a function of arrays, or words for how that type follows from the array's. `None`
/// if the function accepts no array.
fn result_for_arrays(result_of: &dyn Fn(&[DataType]) -> Option<String>) -> Option<String> {
    let elements = [DataType::Int64, DataType::Utf8, DataType::Float64];
    let shapes_of = |element: &DataType| {
        let array = DataType::new_list(element.clone(), true);
        let [array, element, number, text] = [&array, element, &DataType::Int64, &DataType::Utf8];
        let shapes: [&[&DataType]; 10] = [
            &[array],
            &[array, element],
            &[element, array],
            &[array, array],
            &[array, number],
            &[array, text],
            &[array, element, element],
            &[array, number, number],
            &[array, element, number],
            &[array, element, element, number],
        ];
        shapes.map(|shape| shape.iter().map(|data_type| (*data_type).clone()).collect::<Vec<_>>())
    };
    let shapes = elements.each_ref().map(shapes_of);
    let results_of = |shape: usize| -> Vec<(String, String)> {
        let results = elements.iter().zip(&shapes);
        results.filter_map(|(element, shapes)| Some((type_name(element), result_of(&shapes[shape])?))).collect()
    };
    let all: Vec<Vec<(String, String)>> = (0..shapes[0].len()).map(results_of).collect();
    // A shape that is accepted for few types of elements may be another one: a number that is a position.
    let accepted = all.iter().map(Vec::len).max().filter(|count| *count > 0)?;
    let rule = all.iter().filter(|results| results.len() == accepted).find_map(|results| rule_of(results));
    Some(rule.unwrap_or_else(|| BY_THE_ARGUMENTS.to_owned()))
}

/// How the result follows from the type of elements, if it does. The types of elements come with their results.
fn rule_of(results: &[(String, String)]) -> Option<String> {
    let (_, first) = results.first()?;
    if results.iter().all(|(_, result)| result == first) {
        return Some(first.clone());
    }
    if results.iter().all(|(element, result)| result == element) {
        return Some("an element's type".to_owned());
    }
    results.iter().all(|(element, result)| *result == format!("{element}[]")).then(|| "the array's type".to_owned())
}

/// The arguments of a signature: names if it has them, otherwise types.
fn arguments_of(signature: &Signature) -> String {
    if let Some(names) = &signature.parameter_names {
        return names.join(", ");
    }
    match &signature.type_signature {
        TypeSignature::Nullary => String::new(),
        TypeSignature::Any(count) | TypeSignature::Comparable(count) => vec!["any"; *count].join(", "),
        TypeSignature::Variadic(_) | TypeSignature::VariadicAny | TypeSignature::UserDefined => "...".to_owned(),
        other => {
            let mut lists: Vec<String> = Vec::new();
            for types in other.get_example_types().iter().take(EXAMPLES_MAX) {
                let list = types.iter().map(type_name).collect::<Vec<_>>().join(", ");
                if !lists.contains(&list) {
                    lists.push(list);
                }
            }
            if lists.is_empty() || lists.len() > TYPES_SHOWN { "...".to_owned() } else { lists.join(" or ") }
        }
    }
}

/// The name of a type in SQL.
fn type_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Null => "NULL".to_owned(),
        DataType::Interval(_) | DataType::Duration(_) => "INTERVAL".to_owned(),
        DataType::Time32(_) | DataType::Time64(_) => "TIME".to_owned(),
        DataType::Date64 => "DATE".to_owned(),
        DataType::Decimal32(..) | DataType::Decimal64(..) | DataType::Decimal128(..) | DataType::Decimal256(..) => {
            "DECIMAL".to_owned()
        }
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::ListView(field)
        | DataType::LargeListView(field) => format!("{}[]", type_name(field.data_type())),
        DataType::Timestamp(..) => "TIMESTAMP".to_owned(),
        DataType::Dictionary(_, values) => type_name(values),
        DataType::Struct(_) => "STRUCT".to_owned(),
        DataType::Map(..) => "MAP".to_owned(),
        other => type_name_of(&Field::new("", other.clone(), true)),
    }
}

/// The text between the first bracket and the one that closes it.
fn inside_brackets(syntax: &str) -> Option<String> {
    let (_, rest) = syntax.split_once('(')?;
    let mut depth = 1;
    for (position, character) in rest.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(rest[..position].split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
    None
}

fn first_sentence(description: &str) -> String {
    let paragraph = description.trim().split("\n\n").next().unwrap_or("");
    let text = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.split_once(". ") {
        Some((sentence, _)) if !sentence.ends_with("e.g") && !sentence.ends_with("i.e") => format!("{sentence}."),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_arguments_and_results() {
        let functions = functions().unwrap();
        let find = |name: &str| functions.iter().find(|function| function.name == name).unwrap();
        assert_eq!((find("sqrt").arguments.as_str(), find("sqrt").kind), ("numeric_expression", FunctionKind::Scalar));
        assert_eq!(find("md5").returns, "TEXT");
        assert_eq!(find("md5").arguments, "TEXT or BLOB");
        assert!(NOTES.iter().all(|(name, ..)| functions.iter().any(|function| function.name == *name)));
        assert!(NOTES.is_sorted_by_key(|(name, ..)| *name));
        assert_eq!((find("year").returns.as_str(), find("arg_max").kind), ("BIGINT", FunctionKind::Aggregate));
        assert!(functions.iter().all(|function| function.arguments != "..." && !INTERNAL.contains(&&*function.name)));
        assert_eq!(find("stddev").returns, "DOUBLE");
        assert_eq!(
            (find("array_has").returns.as_str(), find("array_max").returns.as_str()),
            ("BOOLEAN", "an element's type")
        );
        for name in ["array_element", "array_extract", "list_element", "list_extract"] {
            assert_eq!(find(name).returns, "an element's type", "{name}");
        }
        assert_eq!(
            (find("array_sort").returns.as_str(), find("map_keys").returns.as_str()),
            ("the array's type", BY_THE_ARGUMENTS)
        );
        assert_eq!((find("rank").returns.as_str(), find("count").returns.as_str()), ("BIGINT UNSIGNED", "BIGINT"));
        assert!(functions.iter().all(|function| !function.returns.is_empty()));
        assert_eq!(find("row_number").kind, FunctionKind::Window);
        assert_eq!(find("pow").description, "The same as power.");
        assert!(functions.is_sorted_by_key(|function| (function.name.clone(), function.kind)));
        assert_eq!((find("pow").alias_of(), find("jsonb_agg").alias_of()), (Some("power"), None));
        let files: Vec<&str> = FILE_FUNCTIONS.iter().map(|(name, ..)| *name).collect();
        let mut known: Vec<&str> = atsdb_dialect::text::file_functions::names().collect();
        known.sort_unstable();
        assert_eq!(files, known);
        assert_eq!((find("read_csv").kind, find("read_ndjson").alias_of()), (FunctionKind::Table, Some("read_json")));
        for (name, kind) in function_examples().into_keys() {
            assert!(functions.iter().any(|function| function.name == name && function.kind == kind), "{name}");
        }
    }

    #[test]
    fn results_follow_from_the_types_of_arguments() {
        let rule = |results: &[(&[&str], &str)]| {
            let results = results.iter().map(|(types, result)| {
                (types.iter().map(|of| (*of).to_owned()).collect::<Vec<_>>(), (*result).to_owned())
            });
            rule_of_arguments(&results.collect::<Vec<_>>())
        };
        assert_eq!(rule(&[(&["INT"], "INT"), (&["TEXT"], "TEXT")]).as_deref(), Some("the argument's type"));
        let array = rule(&[(&["INT"], "INT[]"), (&["TEXT", "INT"], "TEXT[]")]);
        assert_eq!(array.as_deref(), Some("an array of the first argument's type"));
        assert_eq!(rule(&[(&["A", "B"], "B"), (&["C", "D"], "D")]).as_deref(), Some("the second argument's type"));
        let common = rule(&[(&["A", "A"], "A"), (&["A", "B"], "A"), (&["B", "A"], "A"), (&["B", "B"], "B")]);
        assert_eq!(common.as_deref(), Some("the arguments' common type"));
        assert_eq!(rule(&[(&["A"], "A"), (&["B"], "C")]), None);
        assert_eq!(rule(&[(&["A", "B"], "C"), (&["B", "A"], "C")]), None);
    }

    #[test]
    fn arguments_are_cut_from_the_syntax() {
        assert_eq!(inside_brackets("f(a, g(b)) OVER (c)").as_deref(), Some("a, g(b)"));
        assert_eq!(inside_brackets("a || b"), None);
        assert_eq!(first_sentence("One thing.\nTwo. Three"), "One thing.");
    }
}
