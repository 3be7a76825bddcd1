//! Hints for a call of a function that does not exist, or whose arguments do not fit: a name or a call to write
//! instead.

use super::function_kind::FunctionKind;
use super::function_list::{FunctionInfo, functions};
use atsdb_core::Error;
use atsdb_core::name::nearest_name;
use atsdb_dialect::text::errors::{ALL_FUNCTIONS, sql_error};

/// The longest example that a hint shows.
const EXAMPLE_CHARACTERS_MAX: usize = 80;

/// Functions of other databases, and what to write instead.
const INSTEAD: [(&str, &str); 56] = [
    ("json_extract", JSON),
    ("json_extract_string", JSON),
    ("json_value", JSON),
    ("json_query", JSON),
    ("json_unquote", JSON),
    ("get_json_object", JSON),
    ("json_type", "json_typeof(document)"),
    ("json_group_array", "json_agg(x)"),
    ("json_group_object", "json_object_agg(key, x)"),
    ("isnull", "x IS NULL, or COALESCE(x, y)"),
    ("if", CASE),
    ("iif", CASE),
    ("date", "CAST(x AS DATE), or DATE '2024-03-01'"),
    ("datetime", "CAST(x AS TIMESTAMP), to_timestamp(seconds) or now()"),
    ("todate", "CAST(x AS DATE)"),
    ("todatetime", "CAST(x AS TIMESTAMP), or to_timestamp(seconds)"),
    ("toyyyymm", "to_char(x, 'YYYYMM')"),
    ("time", "CAST(x AS TIME)"),
    ("strptime", PARSE),
    ("str_to_date", PARSE),
    ("date_parse", PARSE),
    ("format_datetime", "to_char(x, 'YYYY-MM-DD HH24:MI:SS')"),
    ("getdate", "now()"),
    ("sysdate", "now()"),
    ("curdate", "current_date"),
    ("unix_timestamp", "extract(epoch FROM x)"),
    ("epoch", "extract(epoch FROM x)"),
    ("epoch_ms", "to_timestamp(x / 1000.0), or extract(epoch FROM x) * 1000"),
    ("tounixtimestamp", "extract(epoch FROM x)"),
    ("tostartofminute", "time_bucket('1 minute', x)"),
    ("tostartofhour", "time_bucket('1 hour', x)"),
    ("tostartofday", "time_bucket('1 day', x)"),
    ("tostartofmonth", "time_bucket('1 month', x)"),
    ("julianday", "extract(julian FROM x)"),
    ("dateadd", PERIOD),
    ("date_add", PERIOD),
    ("date_sub", PERIOD),
    ("timestampdiff", "date_diff('hour', from, to)"),
    ("len", "length(x)"),
    ("charindex", "strpos(text, part)"),
    ("regexp_extract", "regexp_substr(text, pattern)"),
    ("hex", "encode(x, 'hex') for bytes, to_hex(x) for a number"),
    ("unhex", "decode(text, 'hex')"),
    ("hash", "md5(text)"),
    ("typeof", "pg_typeof(x)"),
    ("printf", "x || ' ' || y, or to_char(x, '990.00')"),
    ("newid", "gen_random_uuid()"),
    ("count_if", COUNT),
    ("countif", COUNT),
    ("sumif", "sum(x) FILTER (WHERE condition)"),
    ("avgif", "avg(x) FILTER (WHERE condition)"),
    ("uniq", "count(DISTINCT x), or approx_distinct(x)"),
    ("list", ARRAY),
    ("grouparray", ARRAY),
    ("collect_list", ARRAY),
    ("quantile", "percentile_cont(0.5) WITHIN GROUP (ORDER BY x)"),
];
const PERIOD: &str = "x + INTERVAL '1 day'";
const PARSE: &str = "to_timestamp(text, 'YYYY-MM-DD HH24:MI:SS')";
const ARRAY: &str = "array_agg(x)";
const COUNT: &str = "count(*) FILTER (WHERE condition)";
const JSON: &str = "document -> 'key' for a part of a JSON document, document ->> 'key' for its text; a number names an \
                    element of an array";
const CASE: &str = "CASE WHEN condition THEN x ELSE y END";

/// An error about the call of a function, with what to write instead. Other errors stay as they are.
pub(crate) fn with_function_hint(error: Error) -> Error {
    if let Some(name) = error.message().strip_prefix("no function named ")
        && error.hint() == Some(ALL_FUNCTIONS)
    {
        let name = name.to_owned();
        return with_nearest_function(error, &name);
    }
    let usage = if error.hint().is_none() { called_wrongly(error.message()).and_then(usage_of) } else { None };
    match usage {
        Some(usage) => error.with_hint(format!("write {usage}")),
        None => error,
    }
}

/// The error for a function that does not exist, with the name that may have been meant, or for a window function that
/// is called without a window.
fn with_nearest_function(error: Error, name: &str) -> Error {
    if let Some((_, hint)) = INSTEAD.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)) {
        return error.with_hint(format!("write {hint}"));
    }
    let Ok(functions) = functions() else { return error };
    if let Some(window) = functions.iter().find(|function| is_window(function) && is_named(function, name)) {
        let call = format!("{}({})", window.name, window.arguments);
        return sql_error(format!("window function {} requires an OVER clause", window.name))
            .with_hint(format!("write {call} OVER (ORDER BY time)"));
    }
    let is_table = |function: &&FunctionInfo| function.kind == FunctionKind::Table && is_named(function, name);
    if let Some(table) = functions.iter().find(is_table) {
        let call = format!("{}({})", table.name, table.arguments);
        return error.with_hint(format!("it returns rows: write SELECT * FROM {call}"));
    }
    match nearest_name(name, functions.iter().map(|function| function.name.as_str())).map(str::to_owned) {
        Some(near) => error.with_hint(format!("did you mean {near}?")),
        None => error,
    }
}

fn is_window(function: &FunctionInfo) -> bool {
    function.kind == FunctionKind::Window
}

fn is_named(function: &FunctionInfo, name: &str) -> bool {
    function.name.eq_ignore_ascii_case(name)
}

/// Returns the function that an error names, if it is the error of a call with wrong arguments.
fn called_wrongly(message: &str) -> Option<&str> {
    let (name, fault) = message.split_once(' ')?;
    let is_count = fault.strip_prefix("takes ").is_some_and(|count| count.contains(" argument"));
    (is_count || fault.starts_with("does not take ") || fault == "needs arguments").then_some(name)
}

/// How a function is called: `lpad(str, n[, padding_str]), for example lpad('7', 3, '0')`.
fn usage_of(name: &str) -> Option<String> {
    let functions = functions().ok()?;
    let function = functions.iter().find(|function| is_named(function, name))?;
    let usage = format!("{}({})", function.name, function.arguments);
    let example = function.example.as_ref().filter(|example| example.sql.chars().count() <= EXAMPLE_CHARACTERS_MAX);
    Some(match example {
        Some(example) => format!("{usage}, for example {}", example.sql.replace('\n', " ")),
        None => usage,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb_dialect::text::errors::unknown_function;

    fn hint_of(error: Error) -> String {
        with_function_hint(error).to_string()
    }

    #[test]
    fn window_functions_say_that_they_need_a_window() {
        let error = hint_of(unknown_function("RANK"));
        assert_eq!(error, "window function rank requires an OVER clause (write rank() OVER (ORDER BY time))");
        let error = hint_of(unknown_function("read_csv"));
        assert!(error.contains("it returns rows: write SELECT * FROM read_csv(file"), "{error}");
        let error = hint_of(unknown_function("row_numbr"));
        assert_eq!(error, "no function named row_numbr (did you mean row_number?)");
        let error = hint_of(unknown_function("strptime"));
        assert_eq!(
            error, "no function named strptime (write to_timestamp(text, 'YYYY-MM-DD HH24:MI:SS'))",
            "and not strftime"
        );
    }

    #[test]
    fn wrong_calls_show_how_a_function_is_called() {
        let error = hint_of(sql_error("array_slice does not take (BIGINT, BIGINT, BIGINT)"));
        let usage = "write array_slice(array, begin, end[, stride]), for example array_slice([1, 2, 3, 4], 2, 3)";
        assert!(error.ends_with(&format!("({usage})")), "{error}");
        assert!(hint_of(sql_error("lpad takes 2 or 3 arguments, not 1")).contains("lpad('7', 3, '0')"));
        assert!(hint_of(sql_error("round needs arguments")).contains("(write round("));
        for other in ["the table takes 2 arguments", "t does not take (1)", "lpad is full"] {
            assert_eq!(hint_of(sql_error(other)), other);
        }
    }
}
