//! The SQLSTATEs of errors, as PostgreSQL gives them, for everything that reports them: the server, the package for
//! Python, the ADBC driver. An error's kind decides, and for errors of SQL and of values also its message, because the
//! libraries below report them as text alone.

use super::time_text::has_form_of_time;
use atsdb_core::{Error, ErrorKind};

/// The start of a message that refuses a statement to a user.
pub const PERMISSION_DENIED: &str = "permission denied";

/// The parts that a message must have, and its code.
type Rule = (&'static [&'static str], &'static str);

/// Errors of the statement. The first rule that fits decides.
const OF_SQL: &[Rule] = &[
    (&["value too long for type "], "22001"),
    (&["length for type "], "22023"),
    (&["invalid input value for enum "], "22P02"),
    (&["invalid enum label"], "42602"),
    (&["is not an existing enum label"], "22023"),
    (&["invalid regular expression:"], "2201B"),
    (&["no unique constraint matching given keys"], "42830"),
    (&["number of referencing and referenced columns"], "42830"),
    (&["foreign key constraint \"", "cannot be implemented"], "42804"),
    (&["referenced in foreign key constraint does not exist"], "42703"),
    (&["there is no primary key for referenced table"], "42704"),
    (&["referenced relation \"", "is not a table"], "42809"),
    (&["cannot truncate a table referenced"], "0A000"),
    (&["cached plan must not change result type"], "0A000"),
    (&["because it has pending trigger events"], "55006"),
    (&["may reference only permanent tables"], "42P16"),
    (&["syntax error"], "42601"),
    (&["non-DEFAULT value"], "428C9"),
    (&["can only be updated to DEFAULT"], "428C9"),
    (&["is not yet defined in this session"], "55000"),
    (&["constraint \"", "is not a foreign key or check constraint"], "42809"),
    (&["constraint \"", "is not a foreign key constraint"], "42809"),
    (&["a column list with SET ", "is only supported for ON DELETE actions"], "0A000"),
    (&["referenced in ON DELETE SET action must be part of foreign key"], "42P10"),
    (&["constraint \"", "does not exist"], "42704"),
    (&["relation \"", "does not exist"], "42P01"),
    (&["type \"", "does not exist"], "42704"),
    (&["type \"", "already exists"], "42710"),
    (&["cannot cast type "], "42846"),
    (&["FROM-clause entry for table"], "42P01"),
    (&["constraint \"", "already exists"], "42710"),
    (&["constraint \"", "is not deferrable"], "42809"),
    (&["INITIALLY DEFERRED must be DEFERRABLE"], "42601"),
    (&["cannot be marked NOT VALID"], "0A000"),
    (&["aggregate functions are not allowed"], "42803"),
    (&["window functions are not allowed"], "42P20"),
    (&["set-returning functions are not allowed"], "0A000"),
    (&["cannot use subquery in check constraint"], "0A000"),
    (&["so a CHECK constraint cannot use it"], "42P17"),
    (&["must be type boolean"], "42804"),
    (&["must be type bigint"], "42804"),
    (&["no table named"], "42P01"),
    (&["no view named"], "42P01"),
    (&["no rollup named"], "42P01"),
    (&["table '", "not found"], "42P01"),
    (&["there is no table "], "42P01"),
    (&["table ", " was dropped"], "42P01"),
    (&["no column named"], "42703"),
    (&["is not a column"], "42703"),
    (&["specified more than once"], "42712"),
    (&["duplicate qualified field name"], "42712"),
    (&["table reference", "is ambiguous"], "42P09"),
    (&["mbiguous"], "42702"),
    (&["duplicate unqualified field name"], "42702"),
    (&["Invalid function"], "42883"),
    (&["no function named"], "42883"),
    (&["no table function named"], "42883"),
    (&["no window function named"], "42883"),
    (&["no window named"], "42704"),
    (&["GROUP BY", "neither"], "42803"),
    (&["must appear in the GROUP BY"], "42803"),
    (&["Aggregate functions are not allowed"], "42803"),
    (&["Aggregate function calls cannot"], "42803"),
    (&["not an aggregate"], "42803"),
    (&["Window function calls cannot be nested"], "42P20"),
    (&["is defined multiple times"], "42P20"),
    (&["LIMIT must"], "2201W"),
    (&["row count cannot be null"], "2201W"),
    (&["OFFSET must"], "2201X"),
    (&["frame must not be negative"], "22013"),
    (&["is not in select list"], "42P10"),
    (&["has no such position"], "42P10"),
    (&["columns available but"], "42P10"),
    (&["SELECT DISTINCT", "ORDER BY expressions"], "42P10"),
    (&["has no key that matches ON CONFLICT"], "42P10"),
    (&["condition must be of type BOOLEAN"], "42804"),
    (&["does not support the \"global\" option"], "22023"),
    (&["no time zone named"], "22023"),
    (&["is not a time zone"], "22023"),
    (&["no table option named"], "22023"),
    (&["step size cannot equal zero"], "22023"),
    (&["percentile value", "is not between"], "22003"),
    (&["Arrow has no type named"], "0A000"),
    (&["INCREMENT must not be zero"], "22023"),
    (&["type must be smallint, integer, or bigint"], "22023"),
    (&["does not fit the type"], "22023"),
    (&["invalid escape string"], "22025"),
    (&["ends with its escape character"], "22025"),
    (&["has [ without ]"], "2201B"),
    (&["' is not a UUID"], "22P02"),
    (&["is not a number in the pattern"], "22P02"),
    (&["' is not an interval"], "22007"),
    (&["' is not a time"], "22007"),
    (&["does not match the pattern at"], "22007"),
    (&["is out of the range of times"], "22008"),
    (&["is not implemented"], "0A000"),
    (&["not supported"], "0A000"),
    (&["Unsupported"], "0A000"),
    (&["may not read"], "42501"),
    (&["may not write"], "42501"),
    (&["a statement of this transaction has failed"], "25P02"),
    (&["the transaction had failed"], "25P02"),
    (&["no transaction is open"], "25P01"),
    (&["a transaction is already open"], "25001"),
    (&["cannot run inside a transaction block"], "25001"),
    (&["does not take"], "42883"),
    (&["operator does not exist"], "42883"),
    (&["function ", "does not exist"], "42883"),
    (&[" takes ", "argument"], "42883"),
    (&["needs arguments"], "42883"),
    (&["Cannot coerce"], "42883"),
    (&["type_coercion"], "42883"),
    (&["are not compared"], "42883"),
    (&["Failed to coerce"], "42804"),
    (&[" types ", "cannot be matched"], "42804"),
    (&["UNION field", "have different type"], "42804"),
    (&["Inconsistent data type across values list"], "42804"),
    (&["is the sequence of column"], "2BP01"),
    (&["requires an OVER clause"], "42809"),
    (&["cannot drop columns from view"], "42P16"),
    (&["cannot change", "of view column"], "42P16"),
    (&["has not been populated"], "55000"),
    (&["cannot refresh materialized view", "concurrently"], "55000"),
    (&["CONCURRENTLY cannot be used"], "0A000"),
    (&["must not use temporary tables"], "0A000"),
    (&["cannot change materialized view"], "42809"),
    (&["is a materialized view"], "42809"),
    (&["is a view"], "42809"),
    (&["is a table"], "42809"),
    (&["is a rollup"], "42809"),
    (&["is a sequence"], "42809"),
    (&["is not a sequence"], "42809"),
    (&["is not a rollup"], "42809"),
    (&["multiple primary keys"], "42P16"),
    (&["must stay NOT NULL"], "42P16"),
    (&["is NOT NULL, but existing rows"], "23502"),
    (&["is set twice"], "42701"),
    (&["appears twice"], "42701"),
    (&["two columns named"], "42701"),
    (&["other objects depend on it"], "2BP01"),
    (&["cannot drop index", "requires it"], "2BP01"),
    (&["summarises table"], "2BP01"),
    (&["needs table", "as it is"], "2BP01"),
    (&["cannot be dropped"], "2BP01"),
    (&["nested too deep"], "54001"),
    (&["more than"], "54001"),
    (&["no value is given for the parameter"], "42P02"),
    (&["values are given, the statement has"], "08P01"),
    (&["its value is"], "42804"),
    (&["no schema"], "3F000"),
    (&["unacceptable schema name"], "42939"),
    (&["is reserved"], "42939"),
    (&["is longer than", "bytes"], "42622"),
    (&["control character"], "42602"),
    (&["no savepoint"], "3B001"),
    (&["no index named"], "42704"),
    (&["no constraint named"], "42704"),
    (&["of the type"], "42804"),
    (&["is of type"], "42804"),
];

/// Errors of values, except those that name a value and its type. The first rule that fits decides.
const OF_VALUES: &[Rule] = &[
    (&["value too long for type "], "22001"),
    (&["JSON object does not contain key"], "2203A"),
    (&["jsonpath member accessor"], "2203A"),
    (&["jsonpath wildcard member accessor"], "2203C"),
    (&["jsonpath item method .keyvalue()"], "2203C"),
    (&["jsonpath", "can only be applied to an array"], "22039"),
    (&["jsonpath array subscript"], "22033"),
    (&["operand of unary jsonpath operator"], "2203B"),
    (&["operand of jsonpath operator"], "22038"),
    (&["single boolean result is expected"], "22038"),
    (&["jsonpath item method"], "22036"),
    (&["could not find jsonpath variable"], "42704"),
    (&["\"vars\" argument is not an object"], "22023"),
    (&["unsupported Unicode escape sequence"], "22P05"),
    (&["invalid enum label"], "42602"),
    (&["syntax error in ts"], "42601"),
    (&["no operand in tsquery"], "42601"),
    (&["text search ", "does not exist"], "42704"),
    (&["malformed array literal"], "22P02"),
    (&["has several dimensions, but arrays have one"], "0A000"),
    (&["malformed range literal"], "22P02"),
    (&["range lower bound must be less than"], "22000"),
    (&["result of range ", "would not be contiguous"], "22000"),
    (&["range constructor flags argument must not be null"], "22000"),
    (&["invalid range bound flags"], "42601"),
    (&["date out of range"], "22008"),
    (&["division by zero"], "22012"),
    (&["cannot take logarithm of"], "2201E"),
    (&["cannot take square root of"], "2201F"),
    (&["zero raised to a negative power"], "2201F"),
    (&["a negative number raised to a non-integer power"], "2201F"),
    (&["more than one row returned by a subquery"], "21000"),
    (&["subquery returned more than one row"], "21000"),
    (&["has several new values"], "21000"),
    (&["cannot affect row a second time"], "21000"),
    (&[" takes ", "argument"], "42883"),
    (&["OVERLAPS compares"], "42883"),
    (&["invalid value for parameter"], "22023"),
    (&["invalid regular expression option"], "22023"),
    (&["have no flag g"], "22023"),
    (&["egular expression"], "2201B"),
    (&["regex"], "2201B"),
    (&["does not support the \"global\" option"], "22023"),
    (&["negative count not allowed"], "22011"),
    (&["negative substring length not allowed"], "22011"),
    (&["must not end with escape character"], "22025"),
    (&["percentile value"], "22003"),
    (&["bounds contains NULL"], "22004"),
    (&["width_bucket"], "2201G"),
    (&["nth_value must be greater than zero"], "22016"),
    (&["factorial of a negative number"], "22003"),
    (&["channel name "], "22023"),
    (&["payload string too long"], "22023"),
    (&["chr: "], "54000"),
    (&["the encoding '", "is not supported"], "0A000"),
    (&["unrecognized encoding"], "22023"),
    (&["bytes are no text in UTF8"], "22021"),
    (&["is not in the format escape"], "22P02"),
    (&["cannot extract elements from"], "22023"),
    (&["NULL is not an identifier"], "22004"),
    (&["format has too few arguments"], "22023"),
    (&["format: "], "22023"),
    (&["takes the name of a zone"], "22023"),
    (&["must not include months or days"], "22023"),
    (&["unit \"", "not recognized for type"], "22023"),
    (&["an INTERVAL has no"], "0A000"),
    (&["Date part", "not supported"], "22023"),
    (&["cannot get array length of"], "22023"),
    (&["cannot replace the existing key"], "22023"),
    (&["number of elements to trim"], "2202E"),
    (&["interval is out of range"], "22008"),
    (&["step size cannot equal zero"], "22023"),
    (&["Overflow converting"], "22008"),
    (&["Unable to represent"], "22008"),
    (&["there is no time with the parts"], "22008"),
    (&["rounded to 24:00:00"], "22008"),
    (&["type of the time column"], "22008"),
    (&["the bucket of"], "22008"),
    (&["nvalid input syntax for type interval"], "22007"),
    (&["is not an interval"], "22007"),
    (&["' is not a time"], "22007"),
    (&["interval amount"], "22007"),
    (&["cannot be converted to"], "42804"),
    (&["verflow"], "22003"),
    (&["too large to store"], "22003"),
    (&["too small to store"], "22003"),
    (&["Can't cast value"], "22003"),
    (&["does not fit"], "22003"),
    (&["out of range"], "22003"),
    (&["NULL in"], "23502"),
    (&["is NOT NULL"], "23502"),
    (&["is NULL"], "23502"),
    (&["contains null values"], "23502"),
    (&[": column ", " is missing"], "23502"),
    (&["Cast"], "22P02"),
    (&["cast"], "22P02"),
    (&["parse"], "22P02"),
    (&["parsing"], "22P02"),
    (&["cannot be read as bytes"], "22P02"),
    (&["is not valid JSON"], "22P02"),
    (&["is no "], "22P02"),
    (&["is not a"], "22P02"),
    (&["invalid"], "22P02"),
];

/// The SQLSTATE that PostgreSQL has for an error.
pub fn sqlstate_of(error: &Error) -> &'static str {
    let message = error.message();
    let has = |part: &str| message.contains(part);
    match error.kind() {
        kind @ (ErrorKind::Sql | ErrorKind::NotFound) => {
            let otherwise = if kind == ErrorKind::NotFound { "42704" } else { "42601" };
            // The value of a default may be wrong, too.
            let of_default = has("DEFAULT").then(|| of_wrong_value(message)).flatten();
            of_default.unwrap_or_else(|| by_rules(OF_SQL, message, otherwise))
        }
        ErrorKind::InvalidValue if has("invalid input value for enum ") || has("invalid cidr value: ") => "22P02",
        ErrorKind::InvalidValue => {
            of_wrong_value(message).unwrap_or_else(|| by_rules(OF_VALUES, message, ErrorKind::InvalidValue.sqlstate()))
        }
        ErrorKind::Exists if message.starts_with("the schema ") || has(": the schema ") => "42P06",
        ErrorKind::Exists if has("enum label ") => "42710",
        ErrorKind::Limit if has("value of sequence") => "2200H",
        ErrorKind::ReadOnly if message.starts_with(PERMISSION_DENIED) => "42501",
        ErrorKind::Resources if has("ran for longer") => "57014",
        ErrorKind::Resources if has("limit for temporary files") => "53400",
        ErrorKind::Resources if has("no space is left") => "53100",
        ErrorKind::Unavailable if has("disk full") || has("No space left") => "53100",
        kind => kind.sqlstate(),
    }
}

fn by_rules(rules: &[Rule], message: &str, otherwise: &'static str) -> &'static str {
    let fits = |(parts, _): &&Rule| parts.iter().all(|part| message.contains(part));
    rules.iter().find(fits).map_or(otherwise, |rule| rule.1)
}

/// The code of a message that names a value and the type which it does not have.
fn of_wrong_value(message: &str) -> Option<&'static str> {
    if let Some((value, type_name)) =
        message.rsplit_once(", or is out of its range").and_then(|(before, _)| before.rsplit_once(" is not a valid "))
    {
        return Some(of_value(named_value(value), type_name));
    }
    if let Some((value, rest)) = message.rsplit_once(" is not a valid ")
        && let Some((type_name, _)) = rest.split_once(" (parameter ")
    {
        return Some(of_value(named_value(value), type_name));
    }
    let of_cast = ["invalid input syntax for type ", "date/time field value out of range for type "];
    if let Some((_, rest)) = of_cast.iter().find_map(|start| message.split_once(start))
        && let Some((type_name, value)) = rest.split_once(": \"")
    {
        return Some(of_value(NamedValue { text: value.strip_suffix('"').unwrap_or(value), is_text: true }, type_name));
    }
    match message.rsplit_once(" does not fit ") {
        Some((value, type_name)) if !type_name.starts_with("the ") => Some(of_value(named_value(value), type_name)),
        _ => None,
    }
}

/// A value in a message.
#[derive(Debug, Clone, Copy)]
struct NamedValue<'a> {
    text: &'a str,
    /// Whether the statement has the value as a text in quotes.
    is_text: bool,
}

/// The value at the end of a text, behind the location of the error.
fn named_value(text: &str) -> NamedValue<'_> {
    match text.strip_suffix('\'') {
        Some(text) => {
            let start = if text.starts_with('\'') { Some(1) } else { text.find(": '").map(|at| at + 3) };
            NamedValue { text: &text[start.unwrap_or(0)..], is_text: true }
        }
        None => NamedValue { text: text.rsplit(": ").next().unwrap_or(text), is_text: false },
    }
}

fn of_value(value: NamedValue<'_>, type_name: &str) -> &'static str {
    let text = value.text.trim();
    let has_digit = text.bytes().any(|byte| byte.is_ascii_digit());
    let is_number = has_digit && text.parse::<f64>().is_ok();
    let is_integer = text.trim_start_matches(['+', '-']).bytes().all(|byte| byte.is_ascii_digit()) && has_digit;
    let begins = |names: &[&str]| names.iter().any(|name| type_name.starts_with(name));
    if begins(&["TIMESTAMP", "Timestamp", "DATE", "Date", "TIME", "Time"]) {
        return if has_form_of_time(text) || is_number && !value.is_text { "22008" } else { "22007" };
    }
    if begins(&["INTERVAL", "Interval"]) {
        return "22007";
    }
    let is_whole = begins(&["INT", "Int", "BIGINT", "SMALLINT", "TINYINT", "UInt"]);
    let is_other_number = begins(&["REAL", "DOUBLE", "Float", "DECIMAL", "Decimal"]);
    // A text with a fraction is not an integer, but a number with one is rounded.
    let is_of_type = is_integer || is_number && (is_other_number || !value.is_text);
    if is_of_type && (is_whole || is_other_number) { "22003" } else { "22P02" }
}

#[cfg(test)]
mod tests {
    use super::sqlstate_of;
    use atsdb_core::{Error, ErrorKind, array_text};

    #[test]
    fn every_kind_has_a_code() {
        let code = |kind, message: &str| sqlstate_of(&Error::new(kind, message));
        assert_eq!(code(ErrorKind::Sql, "no table named t"), "42P01");
        assert_eq!(code(ErrorKind::NotFound, "no table named t"), "42P01");
        assert_eq!(code(ErrorKind::NotFound, "table t was dropped"), "42P01");
        assert_eq!(code(ErrorKind::Sql, "no column named c in t"), "42703");
        assert_eq!(code(ErrorKind::Sql, "FOR UPDATE is not supported yet"), "0A000");
        assert_eq!(code(ErrorKind::Sql, "cached plan must not change result type"), "0A000");
        assert_eq!(code(ErrorKind::Sql, "DEFAULT: 'many' is not a valid INT, or is out of its range"), "22P02");
        assert_eq!(code(ErrorKind::Sql, "column a: length for type varchar must be at least 1"), "22023");
        assert_eq!(code(ErrorKind::Sql, "LIMIT must be >= 0, '-1' was provided"), "2201W");
        assert_eq!(code(ErrorKind::Sql, "OFFSET must be >=0, '-1' was provided"), "2201X");
        assert_eq!(code(ErrorKind::Sql, "row count cannot be null in FETCH FIRST ... WITH TIES"), "2201W");
        assert_eq!(code(ErrorKind::Sql, "ORDER BY position 9 is not in select list"), "42P10");
        assert_eq!(code(ErrorKind::Sql, "a condition must be of type BOOLEAN, not TEXT"), "42804");
        assert_eq!(code(ErrorKind::Sql, "operator does not exist: INT LIKE TEXT"), "42883");
        assert_eq!(code(ErrorKind::Sql, "UNION types INT and DATE cannot be matched"), "42804");
        assert_eq!(code(ErrorKind::Sql, "invalid regular expression: look-around is not supported"), "2201B");
        assert_eq!(code(ErrorKind::Sql, "Aggregate function calls cannot be nested: 'sum(a)' is nested"), "42803");
        assert_eq!(code(ErrorKind::Sql, "the savepoint: there is no savepoint a"), "3B001");
        assert_eq!(code(ErrorKind::Sql, "relation \"s\" does not exist"), "42P01");
        assert_eq!(code(ErrorKind::Conflict, "another writer was faster"), "40001");
        assert_eq!(code(ErrorKind::Interrupted, "the query was interrupted"), "57014");
        assert_eq!(code(ErrorKind::DuplicateKey, "the key is there"), "23505");
        assert_eq!(code(ErrorKind::CheckViolation, "new row for relation"), "23514");
        assert_eq!(code(ErrorKind::ForeignKeyViolation, "insert or update on table"), "23503");
        let no_key = "there is no unique constraint matching given keys for referenced table \"p\"";
        assert_eq!(code(ErrorKind::Sql, no_key), "42830");
        let types = "foreign key constraint \"f\" cannot be implemented: Key columns are of incompatible types";
        assert_eq!(code(ErrorKind::Sql, types), "42804");
        assert_eq!(code(ErrorKind::Sql, "cannot drop table p because other objects depend on it"), "2BP01");
        assert_eq!(code(ErrorKind::Sql, "constraint c: argument of CHECK must be type boolean"), "42804");
        assert_eq!(code(ErrorKind::Sql, "constraint \"c\" for relation \"t\" already exists"), "42710");
        assert_eq!(code(ErrorKind::Sql, "constraint \"c\" of relation \"t\" does not exist"), "42704");
        assert_eq!(code(ErrorKind::Sql, "constraint \"c\" is not deferrable"), "42809");
        assert_eq!(code(ErrorKind::InvalidValue, "JSON object does not contain key \"x\""), "2203A");
        assert_eq!(code(ErrorKind::InvalidValue, "jsonpath array accessor can only be applied to an array"), "22039");
        assert_eq!(code(ErrorKind::InvalidValue, "jsonpath array subscript is out of bounds"), "22033");
        assert_eq!(code(ErrorKind::InvalidValue, "invalid input syntax for type jsonpath: \"\""), "22P02");
        assert_eq!(code(ErrorKind::Sql, "syntax error at end of jsonpath input"), "42601");
        assert_eq!(code(ErrorKind::Resources, "more memory"), "53200");
        assert_eq!(code(ErrorKind::Resources, "the query ran for longer than 1s"), "57014");
        assert_eq!(code(ErrorKind::Resources, "more than their limit for temporary files in /tmp: 1 GiB"), "53400");
        assert_eq!(code(ErrorKind::Resources, "no space is left for temporary files of queries in /tmp"), "53100");
        assert_eq!(code(ErrorKind::InvalidValue, "division by zero"), "22012");
        assert_eq!(code(ErrorKind::InvalidValue, "table t: column c is missing"), "23502");
        assert_eq!(code(ErrorKind::InvalidValue, "invalid regular expression: unclosed group"), "2201B");
        assert_eq!(code(ErrorKind::InvalidValue, "step size cannot equal zero"), "22023");
        assert_eq!(code(ErrorKind::InvalidValue, "Scalar subquery returned more than one row"), "21000");
        assert_eq!(code(ErrorKind::InvalidValue, "300 is out of range for type TINYINT"), "22003");
        assert_eq!(code(ErrorKind::InvalidValue, "1234.5 is out of range for type DECIMAL(4, 1)"), "22003");
        assert_eq!(code(ErrorKind::InvalidValue, "the interval is out of range"), "22008");
        let malformed = |text| code(ErrorKind::InvalidValue, &array_text::parse(text).unwrap_err().message(text));
        assert_eq!([malformed("{1,}"), malformed("{{1},{2}}")], ["22P02", "0A000"]);
        assert_eq!(code(ErrorKind::Exists, "t is there"), "42P07");
        assert_eq!(code(ErrorKind::Exists, "the schema s already exists"), "42P06");
        assert_eq!(code(ErrorKind::Exists, "the transaction is rolled back: the schema s already exists"), "42P06");
        assert_eq!(code(ErrorKind::ReadOnly, "cannot execute INSERT in a read-only transaction"), "25006");
        assert_eq!(code(ErrorKind::ReadOnly, "permission denied: the role read may not change anything"), "42501");
        assert_eq!(code(ErrorKind::Unavailable, "disk full at air.db: this call stored nothing"), "53100");
        assert_eq!(code(ErrorKind::Unavailable, "the server does not answer"), "58030");
    }

    #[test]
    fn a_value_that_is_named_has_the_code_of_its_type() {
        for (message, code) in [
            ("table t, column a, row 1: 'x' is not a valid INT, or is out of its range", "22P02"),
            ("table t, column a, row 1: '1.5' is not a valid INT, or is out of its range", "22P02"),
            ("table t, column a, row 1: '99999999999' is not a valid INT, or is out of its range", "22003"),
            ("table t, column a: row 1: 99999999999 is not a valid INT, or is out of its range", "22003"),
            ("table t, column a: row 1: 1e300 is not a valid REAL, or is out of its range", "22003"),
            ("row 1: 'a: 'b' is not a valid DECIMAL(8, 2), or is out of its range", "22P02"),
            ("'1234567890' is not a valid DECIMAL(8, 2), or is out of its range", "22003"),
            ("row 2: 'noon' is not a valid TIMESTAMP(3), or is out of its range", "22007"),
            ("row 2: '2024-02-30' is not a valid DATE, or is out of its range", "22008"),
            ("row 2: '25:00' is not a valid TIME, or is out of its range", "22008"),
            ("'soon' is not a valid INTERVAL, or is out of its range", "22007"),
            ("'perhaps' is not a valid BOOLEAN, or is out of its range", "22P02"),
            ("invalid input syntax for type INT: \"x\"", "22P02"),
            ("invalid input syntax for type BOOLEAN: \"perhaps\"", "22P02"),
            ("invalid input syntax for type TIMESTAMP: \"noon\"", "22007"),
            ("date/time field value out of range for type DATE: \"2024-02-30\"", "22008"),
            ("value \"99999999999\" is out of range for type INT", "22003"),
            ("'x' is not a valid INT (parameter $1)", "22P02"),
            ("row 1: x does not fit UUID", "22P02"),
            ("table t, column a: row 1: value too long for type character varying(3)", "22001"),
            ("row 1: 1234.5 does not fit DECIMAL(5, 2)", "22003"),
            ("unit \"fortnight\" not recognized for type interval", "22023"),
            ("invalid input syntax for type inet: \"10.1\"", "22P02"),
            ("invalid cidr value: \"10.1.2.3/8\"", "22P02"),
            ("syntax error in tsquery: \"a b\"", "42601"),
            ("text search configuration \"x\" does not exist", "42704"),
            ("parameter $1 is INT: 3000000000 does not fit", "22003"),
            ("time 7 does not fit the type of the time column", "22008"),
        ] {
            assert_eq!(sqlstate_of(&Error::invalid(message)), code, "{message}");
        }
    }
}
