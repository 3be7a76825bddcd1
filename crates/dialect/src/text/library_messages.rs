//! Replaces messages of DataFusion, Arrow and the library of regular expressions, which have types of their own in
//! them, by a sentence with SQL's types. Not owned: calls of functions with wrong arguments (`wrong_calls`).

use super::accepted_forms::accepted_form;
use super::time_text::has_form_of_time;
use super::wrong_calls::sql_type;
use atsdb_core::Error;

/// The beginning of the library's message about an invalid regular expression. The reason follows it.
pub(super) const PATTERN_FAILED: &str = "Regular expression did not compile: ";

/// A message for users, and what to do.
struct Sentence {
    message: String,
    hint: Option<String>,
}

impl Sentence {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Adds a description of a type's values as the hint, if there is one.
    fn with_form(self, type_name: &str) -> Self {
        Self { hint: accepted_form(type_name).map(str::to_owned), ..self }
    }
}

/// The error with a sentence for users, if its message is one of a library's. Its kind stays, and so does its hint.
pub(super) fn in_words_of_sql(error: Error) -> Error {
    let Some(Sentence { message, hint }) = sentence(error.message()) else { return error };
    let replaced = Error::new(error.kind(), message);
    match error.hint().map(str::to_owned).or(hint) {
        Some(hint) => replaced.with_hint(hint),
        None => replaced,
    }
}

fn sentence(message: &str) -> Option<Sentence> {
    const OF: [fn(&str) -> Option<Sentence>; 9] = [
        unreadable_text,
        time_out_of_range,
        number_out_of_range,
        decimal_out_of_range,
        missing_operator,
        wrong_position,
        wrong_columns,
        wrong_argument,
        wrong_pattern,
    ];
    OF.iter().find_map(|of| of(message))
}

/// A text that is cast to a type: `Cannot cast string 'x' to value of Int32 type`.
fn unreadable_text(message: &str) -> Option<Sentence> {
    let (text, type_name) = match message.strip_prefix("Error parsing timestamp from '") {
        Some(rest) => {
            let with_pattern = rest.split_once("' using format '");
            let text = with_pattern.or_else(|| rest.rsplit_once("': ")).map_or(rest, |(text, _)| text);
            (text, "TIMESTAMP".to_owned())
        }
        None => {
            let starts = ["Cannot cast string '", "Cannot cast value '"];
            let rest = starts.iter().find_map(|start| message.strip_prefix(start))?;
            let (text, type_name) = rest.strip_suffix(" type")?.rsplit_once("' to value of ")?;
            (text, sql_type(type_name))
        }
    };
    let sentence = match type_name.as_str() {
        "TIMESTAMP" | "DATE" | "TIME" if has_form_of_time(text) => {
            format!("date/time field value out of range for type {type_name}: \"{text}\"")
        }
        name if is_number_of(name, text) => format!("value \"{text}\" is out of range for type {name}"),
        name => format!("invalid input syntax for type {name}: \"{text}\""),
    };
    Some(Sentence::new(sentence).with_form(&type_name))
}

/// Returns whether a text is a number that a type of numbers has, or would have if its range were larger.
fn is_number_of(type_name: &str, text: &str) -> bool {
    let text = text.trim();
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    match type_name {
        "REAL" | "DOUBLE" | "DECIMAL" => text.bytes().any(|byte| byte.is_ascii_digit()) && text.parse::<f64>().is_ok(),
        name => {
            let is_whole = matches!(name.trim_end_matches(" UNSIGNED"), "TINYINT" | "SMALLINT" | "INT" | "BIGINT");
            is_whole && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
        }
    }
}

/// A time that another unit cannot count: `Cannot cast Timestamp(µs) value 5 to Timestamp(ns): converted value exceeds
/// the representable i64 range`; and a number of days that an interval cannot.
fn time_out_of_range(message: &str) -> Option<Sentence> {
    if message.starts_with("Cannot cast to Interval(MonthDayNano). Overflowing on ") {
        return Some(Sentence::new("date out of range"));
    }
    let target = match message.strip_prefix("Overflow converting ") {
        Some(rest) => rest.split_once(". The dates that can be represented")?.0,
        None => {
            let cast = message.strip_prefix("Cannot cast ")?;
            cast.strip_suffix(": converted value exceeds the representable i64 range")?
        }
    };
    let sentence = Sentence::new("timestamp out of range");
    Some(if target.ends_with(" to Nanosecond") || target.ends_with(" to Timestamp(ns)") {
        sentence
            .with_hint("beside a TIMESTAMP(9) or a DATE the years are 1678 to 2261: CAST(x AS TIMESTAMP) allows others")
    } else {
        sentence
    })
}

/// A number that is cast to another type: `Can't cast value 300 to type Int8`.
fn number_out_of_range(message: &str) -> Option<Sentence> {
    let (value, type_name) = match message.strip_prefix("Can't cast value ") {
        Some(rest) => rest.rsplit_once(" to type ")?,
        None => message.strip_prefix("value of ")?.rsplit_once(" is out of range ")?,
    };
    let type_name = sql_type(type_name);
    Some(Sentence::new(format!("{value} is out of range for type {type_name}")).with_form(&type_name))
}

/// `1234.5 is too large to store in a Decimal128 of precision 4. Max is 999.9`, or `too small` and `Min`.
fn decimal_out_of_range(message: &str) -> Option<Sentence> {
    let starts = [" is too large to store in a Decimal", " is too small to store in a Decimal"];
    let (value, rest) = starts.iter().find_map(|start| message.split_once(start))?;
    let (precision, limit) = rest.split_once(" of precision ")?.1.split_once(". M")?;
    let limit = limit.split_once(" is ")?.1;
    let scale = limit.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let limit = limit.trim_start_matches('-');
    let sentence = Sentence::new(format!("{value} is out of range for type DECIMAL({precision}, {scale})"));
    Some(sentence.with_hint(format!("its numbers are from -{limit} to {limit}")))
}

/// The starts of messages about an operator that does not take its operands; `LEFT OPERATOR RIGHT` follows.
const OPERATIONS: [&str; 8] = [
    "Cannot infer common argument type for comparison operation ",
    "Cannot infer common argument type for logical boolean operation ",
    "Cannot infer common argument type for regex operation ",
    "Cannot infer common argument type for AtAt operation ",
    "Cannot infer common argument type for operation ",
    "Cannot infer common type for bitwise operation ",
    "Cannot infer common string type for string concat operation ",
    "Cannot coerce arithmetic expression ",
];

fn missing_operator(message: &str) -> Option<Sentence> {
    let (left, operator, right) = match message.strip_prefix("There isn't a common type to coerce ") {
        Some(rest) => {
            let (types, operator) = rest.strip_suffix(" expression")?.rsplit_once(" in ")?;
            let (left, right) = types.split_once(" and ")?;
            (left, operator, right)
        }
        None => {
            let operation = OPERATIONS.iter().find_map(|start| message.strip_prefix(start))?;
            operands(operation.strip_suffix(" to valid types").unwrap_or(operation))?
        }
    };
    let sentence = format!("operator does not exist: {} {operator} {}", sql_type(left), sql_type(right));
    Some(Sentence::new(sentence).with_hint("convert an operand: CAST(x AS TYPE)"))
}

/// The parts of `LEFT OPERATOR RIGHT`. A type may have blanks in parentheses: `Timestamp(µs, "UTC")`.
fn operands(operation: &str) -> Option<(&str, &str, &str)> {
    let mut depth = 0_u32;
    let mut is_outer_blank = |letter: char| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ' ' && depth == 0
    };
    let blanks: Vec<usize> =
        operation.char_indices().filter(|(_, letter)| is_outer_blank(*letter)).map(|(position, _)| position).collect();
    let [first, .., last] = blanks.as_slice() else { return None };
    Some((&operation[..*first], &operation[first + 1..*last], &operation[last + 1..]))
}

/// A number in ORDER BY or GROUP BY that is not a position of a column.
fn wrong_position(message: &str) -> Option<Sentence> {
    let sentence = |clause: &str, position: &str, count: &str| {
        let columns = if count == "1" { "1 column".to_owned() } else { format!("{count} columns") };
        let sentence = Sentence::new(format!("{clause} position {position} is not in select list"));
        sentence.with_hint(format!("the list has {columns}"))
    };
    if message.starts_with("Order by index starts at 1") {
        return Some(Sentence::new("ORDER BY position 0 is not in select list").with_hint("positions start at 1"));
    }
    if let Some(rest) = message.strip_prefix("Order by column out of bounds, specified: ") {
        let (position, count) = rest.split_once(", max: ")?;
        return Some(sentence("ORDER BY", position, count));
    }
    let rest = message.strip_prefix("Cannot find column with position ")?;
    let (position, count) = rest.split_once(" in SELECT clause. Valid columns: 1 to ")?;
    Some(sentence("GROUP BY", position, count))
}

/// Columns that are too many, too few or of a wrong type.
fn wrong_columns(message: &str) -> Option<Sentence> {
    if let Some((operator, _)) = message.split_once(" queries have different number of columns") {
        return Some(Sentence::new(format!("each {operator} query must have the same number of columns")));
    }
    if let Some(types) = message.strip_prefix("Incompatible inputs for Union: Previous inputs were of type ") {
        let (first, rest) = types.split_once(", but got incompatible type ")?;
        let (second, _) = rest.rsplit_once(" on column '")?;
        let sentence = format!("UNION types {} and {} cannot be matched", sql_type(first), sql_type(second));
        return Some(Sentence::new(sentence).with_hint("cast one of them, as in CAST(x AS TEXT)"));
    }
    if let Some(counts) = message.strip_prefix("Inconsistent data length across values list: got ") {
        let (count, rest) = counts.split_once(" values in row ")?;
        let (row, wanted) = rest.split_once(" but expected ")?;
        let row = row.parse::<usize>().ok()? + 1;
        let sentence = Sentence::new("VALUES lists must all be the same length");
        return Some(sentence.with_hint(format!("row 1 has {wanted}, row {row} has {count}")));
    }
    if message.starts_with("Too many columns! The subquery should only return one column") {
        return Some(Sentence::new("subquery must return only one column"));
    }
    let type_name = match message.strip_prefix("Cannot create filter with non-boolean predicate '") {
        Some(rest) => rest.rsplit_once("' returning ")?.1,
        None => message.strip_prefix("Join condition must be boolean type, but got ")?,
    };
    Some(Sentence::new(format!("a condition must be of type BOOLEAN, not {}", sql_type(type_name))))
}

/// An argument that a function does not take.
fn wrong_argument(message: &str) -> Option<Sentence> {
    if message.starts_with("step can't be 0 for function ") || message == "Step cannot be zero" {
        return Some(Sentence::new("step size cannot equal zero"));
    }
    if let Some(clause) = ["LIMIT", "OFFSET"].into_iter().find(|clause| is_below_zero(message, clause)) {
        return Some(Sentence::new(format!("{clause} must not be negative")));
    }
    if let Some(rest) = message.strip_prefix("Percentile value must be between 0.0 and 1.0 inclusive, ") {
        let fraction = rest.strip_suffix(" is invalid")?;
        return Some(Sentence::new(format!("percentile value {fraction} is not between 0 and 1")));
    }
    let rest = message.strip_prefix("Unsupported type '")?;
    let (name, _) = rest.split_once("'. Must be a supported arrow type name")?;
    let sentence = Sentence::new(format!("Arrow has no type named '{name}'"));
    Some(sentence.with_hint("write a name such as 'Int32' or 'Timestamp(ns)', or CAST(x AS TYPE) with a type of SQL"))
}

/// Returns whether the number of rows after a clause is negative: `LIMIT must be >= 0, '-1' was provided`.
fn is_below_zero(message: &str, clause: &str) -> bool {
    message.strip_prefix(clause).is_some_and(|rest| rest.starts_with(" must be >="))
}

/// A regular expression that cannot be compiled. The library shows it in several lines, in the form to which it was
/// rewritten.
fn wrong_pattern(message: &str) -> Option<Sentence> {
    let reason = message.split_once(PATTERN_FAILED).map_or(message, |(_, reason)| reason);
    if reason.starts_with("Compiled regex exceeds size limit") || reason.starts_with("CompiledTooBig(") {
        return Some(Sentence::new("invalid regular expression: it is too large"));
    }
    let (_, report) = message.split_once("regex parse error:\n")?;
    let (_, reason) = report.rsplit_once("\nerror: ")?;
    Some(Sentence::new(format!("invalid regular expression: {reason}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(message: &str) -> String {
        in_words_of_sql(Error::invalid(message)).to_string()
    }

    #[test]
    fn a_cast_that_fails_names_the_type_of_sql() {
        for (message, expected) in [
            ("Cannot cast string 'a'b' to value of Int32 type", "invalid input syntax for type INT: \"a'b\""),
            ("Cannot cast string '1.5' to value of Int64 type", "invalid input syntax for type BIGINT: \"1.5\""),
            (
                "Cannot cast string '-70000' to value of Int16 type",
                "value \"-70000\" is out of range for type SMALLINT",
            ),
            (
                "Cannot cast string 'x' to value of Decimal128(9, 1) type",
                "invalid input syntax for type DECIMAL: \"x\"",
            ),
            ("Cannot cast value 'maybe' to value of Boolean type", "invalid input syntax for type BOOLEAN: \"maybe\""),
            (
                "Cannot cast string '5' to value of Interval(DayTime) type",
                "invalid input syntax for type INTERVAL: \"5\"",
            ),
            ("Cannot cast string 'soon' to value of Time64(ns) type", "invalid input syntax for type TIME: \"soon\""),
            (
                "Cannot cast string '2024-02-30' to value of Date32 type",
                "date/time field value out of range for type DATE: \"2024-02-30\"",
            ),
            (
                "Error parsing timestamp from 'noon': error parsing date",
                "invalid input syntax for type TIMESTAMP: \"noon\"",
            ),
            ("Can't cast value 300 to type Int8", "300 is out of range for type TINYINT"),
            ("value of 1000 is out of range Int8", "1000 is out of range for type TINYINT"),
        ] {
            let shown = shown(message);
            let (sentence, hint) = shown.rsplit_once(" (").unwrap();
            assert!(sentence == expected && !hint.is_empty(), "{shown}");
        }
        assert_eq!(
            shown("1234.5 is too large to store in a Decimal128 of precision 4. Max is 999.9"),
            "1234.5 is out of range for type DECIMAL(4, 1) (its numbers are from -999.9 to 999.9)"
        );
    }

    #[test]
    fn an_operator_that_does_not_take_its_operands_names_their_types() {
        for (message, expected) in [
            ("There isn't a common type to coerce Int64 and Utf8 in NOT LIKE expression", "BIGINT NOT LIKE TEXT"),
            (
                "Cannot infer common argument type for operation Timestamp(µs, \"UTC\") IS DISTINCT FROM Int32",
                "TIMESTAMP IS DISTINCT FROM INT",
            ),
            ("Cannot coerce arithmetic expression Boolean + List(Int32) to valid types", "BOOLEAN + INT[]"),
            ("Cannot infer common string type for string concat operation Int32 || Int32", "INT || INT"),
        ] {
            let expected = format!("operator does not exist: {expected} (convert an operand: CAST(x AS TYPE))");
            assert_eq!(shown(message), expected);
        }
        let hinted = Error::invalid("Cannot coerce arithmetic expression Date32 + Date32 to valid types");
        assert_eq!(in_words_of_sql(hinted.with_hint("subtract them")).hint(), Some("subtract them"));
    }

    #[test]
    fn a_wrong_pattern_gets_the_reason_in_one_line() {
        let report = "regex parse error:\n    (?s)^(?:(?:)$\n         ^\nerror: unclosed group";
        for message in [report.to_owned(), format!("Regular expression did not compile: {report}")] {
            assert_eq!(shown(&message), "invalid regular expression: unclosed group");
        }
        for message in ["CompiledTooBig(10485760)", "Compiled regex exceeds size limit of 10485760 bytes."] {
            let message = format!("Regular expression did not compile: {message}");
            assert_eq!(shown(&message), "invalid regular expression: it is too large");
        }
    }

    #[test]
    fn a_negative_number_of_rows_is_refused_as_in_postgresql() {
        assert_eq!(shown("LIMIT must be >= 0, '-1' was provided"), "LIMIT must not be negative");
        assert_eq!(shown("OFFSET must be >=0, '-1' was provided"), "OFFSET must not be negative");
    }

    #[test]
    fn other_messages_stay() {
        for message in ["no column named \"Cannot cast string 'x'\"", "value of x", "Can't cast value"] {
            assert_eq!(shown(message), message);
        }
    }
}
