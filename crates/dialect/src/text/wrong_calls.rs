//! Replaces DataFusion's message for a function call with wrong arguments, which lists all of the function's signatures
//! and calls it an internal bug, by a short sentence.

use super::errors::sql_error;
use atsdb_core::Error;
use std::collections::BTreeSet;

/// Returns the error for such a call, if a message reports one.
pub(crate) fn wrong_call(message: &str) -> Option<Error> {
    if let Some((before, inner)) = message.split_once("' user-defined coercion failed with: ") {
        if let Some(error) = wrong_call(inner) {
            return Some(error);
        }
        let (_, name) = before.rsplit_once("Function '")?;
        let inner = inner.trim_start_matches("Error during planning: ").trim_start_matches("Execution error: ");
        return Some(sql_error(format!("{name}: {}", inner.trim_end_matches('.'))));
    }
    let Some((before, errors)) = message.split_once("' failed to match any signature, errors: ") else {
        return no_match(message);
    };
    let (_, name) = before.rsplit_once("Function '")?;
    if let Some((wanted, found)) = counts(errors) {
        return Some(wrong_count(name, &wanted, found));
    }
    let received = errors.split_once(", but received ")?.1;
    let received: String = received.chars().take_while(char::is_ascii_alphanumeric).collect();
    let error = sql_error(format!("{name} does not take {}", declared(&received)));
    let takes_numbers = ["Decimal", "Numeric", "Float64"].iter().any(|number| errors.contains(number));
    Some(match takes_numbers && received == "String" {
        true => error.with_hint(format!("convert it: {name}(CAST(x AS DOUBLE))")),
        false => error,
    })
}

/// The number of candidates that a hint lists.
const CANDIDATES_SHOWN: usize = 4;

/// The error for a call that fits none of a function's signatures, which the message lists:
/// `No function matches the given name and argument types 'f(Int64)'. [...] Candidate functions:\n\tf(Utf8)`.
fn no_match(message: &str) -> Option<Error> {
    const CALL: &str = "No function matches the given name and argument types '";
    let (_, rest) = message.split_once(CALL)?;
    let (call, rest) = rest.split_once("'.")?;
    let (name, passed) = call.strip_suffix(')')?.split_once('(')?;
    let passed = arguments(passed);
    let lines = rest.split_once("Candidate functions:").map_or("", |(_, lines)| lines).lines();
    let candidates: Vec<Vec<String>> = lines
        .filter_map(|line| line.trim().strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')'))
        .map(arguments)
        .collect();
    // `Any`, `Numeric(2)`, `Variadic` and the like stand for other numbers of arguments than they show.
    let is_plain = |candidate: &Vec<String>| candidate.iter().all(|argument| is_type(argument));
    let counts_text =
        message.split_once("' expects ").and_then(|(_, rest)| rest.split_once(" arguments but received "));
    let counts: BTreeSet<usize> = match counts_text.and_then(|(count, _)| count.parse().ok()) {
        Some(count) => BTreeSet::from([count]),
        None if candidates.iter().all(is_plain) => candidates.iter().map(Vec::len).collect(),
        None => BTreeSet::new(),
    };
    if passed.is_empty() && counts.is_empty() {
        return Some(sql_error(format!("{name} needs arguments")));
    }
    if !counts.is_empty() && !counts.contains(&passed.len()) {
        return Some(wrong_count(name, &counts, passed.len()));
    }
    let error = sql_error(format!("{name} does not take ({})", passed.join(", ")));
    let mut shown: Vec<String> = Vec::new();
    for candidate in candidates.iter().filter(|candidate| is_plain(candidate)) {
        let text = format!("({})", candidate.join(", "));
        if !shown.contains(&text) {
            shown.push(text);
        }
    }
    Some(match shown.len() {
        0 => error,
        1..=CANDIDATES_SHOWN => error.with_hint(format!("it takes {}; CAST(x AS TYPE) converts", shown.join(" or "))),
        _ => error.with_hint(format!("it takes {} or others", shown[..CANDIDATES_SHOWN].join(", "))),
    })
}

fn wrong_count(name: &str, counts: &BTreeSet<usize>, passed: usize) -> Error {
    let wanted: Vec<String> = counts.iter().map(usize::to_string).collect();
    let plural = if wanted == ["1"] { "" } else { "s" };
    sql_error(format!("{name} takes {} argument{plural}, not {passed}", wanted.join(" or ")))
}

/// The arguments of a call or a signature, as types that users declare.
fn arguments(list: &str) -> Vec<String> {
    let (mut arguments, mut depth, mut start) = (Vec::new(), 0, 0);
    for (position, character) in list.char_indices() {
        match character {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            ',' if depth == 0 => {
                arguments.push(sql_type(&list[start..position]));
                start = position + 1;
            }
            _ => {}
        }
    }
    if !list.trim().is_empty() {
        arguments.push(sql_type(&list[start..]));
    }
    arguments
}

/// The SQL name of a type of DataFusion or Arrow.
pub(super) fn sql_type(text: &str) -> String {
    let text = text.trim();
    let word = text.split(['(', '[']).next().unwrap_or(text);
    let element = text.strip_prefix("List(").and_then(|text| text.strip_suffix(')'));
    if let Some(element) = element {
        let (element, _) = element.split_once(", field: '").unwrap_or((element, ""));
        return format!("{}[]", sql_type(element.strip_prefix("non-null ").unwrap_or(element)));
    }
    match word {
        "Timestamp" => "TIMESTAMP",
        "Date32" | "Date64" => "DATE",
        "Time32" | "Time64" => "TIME",
        "Duration" | "Interval" => "INTERVAL",
        "Utf8" | "LargeUtf8" | "Utf8View" => "TEXT",
        "LargeBinary" | "BinaryView" | "FixedSizeBinary" => "BLOB",
        "Decimal32" | "Decimal64" | "Decimal128" | "Decimal256" => "DECIMAL",
        "Null" => "NULL",
        _ if word == text => declared(text),
        _ => text,
    }
    .to_owned()
}

/// Returns whether an argument is one type in SQL.
fn is_type(argument: &str) -> bool {
    argument.chars().all(|letter| letter.is_ascii_uppercase() || letter == ' ')
}

/// The number of arguments that a function accepts, and the number in the call, if the number is wrong for each
/// signature.
fn counts(errors: &str) -> Option<(BTreeSet<usize>, usize)> {
    let (mut wanted, mut found) = (BTreeSet::new(), None);
    for error in errors.split("Function '").skip(1) {
        let (_, numbers) = error.split_once("' expects ")?;
        let (count, rest) = numbers.split_once(" arguments but received ")?;
        wanted.insert(count.parse::<usize>().ok()?);
        found = rest.split(|character: char| !character.is_ascii_digit()).next().and_then(|count| count.parse().ok());
    }
    Some((wanted, found?))
}

/// A type as users declare it.
fn declared(logical: &str) -> &str {
    match logical {
        "String" => "TEXT",
        "Binary" => "BLOB",
        "Boolean" => "BOOLEAN",
        "Timestamp" => "TIMESTAMP",
        "Date" => "DATE",
        "Interval" | "Duration" => "INTERVAL",
        "Int64" => "BIGINT",
        "Int32" => "INT",
        "Int16" => "SMALLINT",
        "Int8" => "TINYINT",
        "UInt64" => "BIGINT UNSIGNED",
        "UInt32" => "INT UNSIGNED",
        "UInt16" => "SMALLINT UNSIGNED",
        "UInt8" => "TINYINT UNSIGNED",
        "Float64" => "DOUBLE",
        "Float32" => "REAL",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_about_signatures_becomes_a_sentence() {
        let prefix = "Function 'sum' failed to match any signature, errors: Error during planning: ";
        let message = |errors: &str| wrong_call(&format!("{prefix}{errors}")).unwrap().to_string();
        assert_eq!(
            message(
                "Function 'sum' requires Decimal, but received String (DataType: Utf8).,Error during planning: ..."
            ),
            "sum does not take TEXT (convert it: sum(CAST(x AS DOUBLE)))"
        );
        assert_eq!(
            message(
                "Function 'sum' expects 1 arguments but received 3,Error during planning: Function 'sum' expects 2 \
                 arguments but received 3"
            ),
            "sum takes 1 or 2 arguments, not 3"
        );
        assert!(wrong_call("no column named x").is_none());
    }

    #[test]
    fn a_list_of_candidates_becomes_a_sentence() {
        let call = "No function matches the given name and argument types '";
        let rest = "'. You might need to add explicit type casts.\n\tCandidate functions:\n\t";
        let message = |before: &str, passed: &str, candidates: &str| {
            wrong_call(&format!("{before}. {call}{passed}{rest}{candidates}")).unwrap().to_string()
        };
        assert_eq!(
            message("Function 'lower' expects 1 arguments but received 2", "lower(Int64, Int64)", "lower(String)"),
            "lower takes 1 argument, not 2"
        );
        assert_eq!(
            message("Function 'lower' requires String, but received Int64", "lower(Int64)", "lower(String)"),
            "lower does not take (BIGINT) (it takes (TEXT); CAST(x AS TYPE) converts)"
        );
        assert_eq!(
            message("x", "to_char(Float64, Utf8)", "to_char(Date32, Utf8)\n\tto_char(Timestamp(ns, \"+TZ\"), Utf8)"),
            "to_char does not take (DOUBLE, TEXT) (it takes (DATE, TEXT) or (TIMESTAMP, TEXT); CAST(x AS TYPE) converts)"
        );
        assert_eq!(
            message("x", "lpad(Utf8)", "lpad(Utf8, Int64)\n\tlpad(Utf8, Int64, Utf8)"),
            "lpad takes 2 or 3 arguments, not 1"
        );
        assert_eq!(message("'f' does not support zero arguments", "f()", "f(Any)"), "f needs arguments");
    }
}
