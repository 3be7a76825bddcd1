//! Replaces DataFusion's message for a function call with wrong arguments, which lists all of the function's signatures
//! and calls it an internal bug, by a short sentence.

use super::errors::sql_error;
use atsdb_core::Error;
use std::collections::BTreeSet;

/// The error for such a call, if a message is about one.
pub(crate) fn wrong_call(message: &str) -> Option<Error> {
    if let Some((before, inner)) = message.split_once("' user-defined coercion failed with: ") {
        if let Some(error) = wrong_call(inner) {
            return Some(error);
        }
        let (_, name) = before.rsplit_once("Function '")?;
        let inner = inner.trim_start_matches("Error during planning: ").trim_start_matches("Execution error: ");
        return Some(sql_error(format!("{name}: {}", inner.trim_end_matches('.'))));
    }
    let (before, errors) = message.split_once("' failed to match any signature, errors: ")?;
    let (_, name) = before.rsplit_once("Function '")?;
    if let Some((wanted, found)) = counts(errors) {
        let plural = if wanted == "1" { "" } else { "s" };
        return Some(sql_error(format!("{name} takes {wanted} argument{plural}, not {found}")));
    }
    let received = errors.split_once(" but received ")?.1;
    let received: String = received.chars().take_while(char::is_ascii_alphanumeric).collect();
    let error = sql_error(format!("{name} does not take {}", declared(&received)));
    let takes_numbers = ["Decimal", "Numeric", "Float64"].iter().any(|number| errors.contains(number));
    Some(match takes_numbers && received == "String" {
        true => error.with_hint(format!("convert it: {name}(CAST(x AS DOUBLE))")),
        false => error,
    })
}

/// The number of arguments that a function accepts, and the number in the call, if the number is wrong for each
/// signature.
fn counts(errors: &str) -> Option<(String, &str)> {
    let (mut wanted, mut found) = (BTreeSet::new(), None);
    for error in errors.split("Function '").skip(1) {
        let (_, numbers) = error.split_once("' expects ")?;
        let (count, rest) = numbers.split_once(" arguments but received ")?;
        wanted.insert(count.parse::<usize>().ok()?);
        found = rest.split(|character: char| !character.is_ascii_digit()).next();
    }
    let wanted: Vec<String> = wanted.iter().map(usize::to_string).collect();
    Some((wanted.join(" or "), found?))
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
}
