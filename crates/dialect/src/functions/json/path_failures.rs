//! The failures of computing an SQL/JSON path, in PostgreSQL's words.

use atsdb_core::{Error, ErrorKind};

/// The common fields of the templates of `.datetime()`.
const TEMPLATE_FIELDS: &str = "YYYY MM Mon DD DDD HH24 HH12 MI SS SSSSS MS US FF1 to FF6 AM P.M. TZH TZM";

#[derive(Debug)]
pub(super) enum PathFailure {
    /// The path does not fit the document: unknown in a condition, and NULL or fewer items for silent calls.
    Unfit(Error),
    /// An error in any case.
    Fatal(Error),
}

/// An error of a number.
impl From<Error> for PathFailure {
    fn from(error: Error) -> Self {
        Self::Unfit(error)
    }
}

impl From<PathFailure> for Error {
    fn from(failure: PathFailure) -> Self {
        match failure {
            PathFailure::Unfit(error) | PathFailure::Fatal(error) => error,
        }
    }
}

/// The result, or `None` if the path does not fit the document.
pub(super) fn quiet<T>(result: Result<T, PathFailure>) -> Result<Option<T>, PathFailure> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(PathFailure::Unfit(_)) => Ok(None),
        Err(failure) => Err(failure),
    }
}

impl PathFailure {
    fn unfit(message: impl Into<String>) -> Self {
        Self::Unfit(Error::invalid(message))
    }

    pub(super) fn no_key(key: &str) -> Self {
        Self::unfit(format!("JSON object does not contain key \"{key}\""))
    }

    pub(super) fn not_an_object(accessor: &str) -> Self {
        Self::unfit(format!("jsonpath {accessor} can only be applied to an object"))
    }

    pub(super) fn not_an_array(accessor: &str) -> Self {
        Self::unfit(format!("jsonpath {accessor} can only be applied to an array"))
    }

    pub(super) fn out_of_bounds() -> Self {
        Self::unfit("jsonpath array subscript is out of bounds")
    }

    pub(super) fn no_position() -> Self {
        Self::unfit("jsonpath array subscript is not a single numeric value")
    }

    pub(super) fn position_out_of_range() -> Self {
        Self::unfit("jsonpath array subscript is out of integer range")
    }

    /// `side` is `left` or `right`.
    pub(super) fn wrong_operand(side: &str, operator: &str) -> Self {
        Self::unfit(format!("{side} operand of jsonpath operator {operator} is not a single numeric value"))
    }

    pub(super) fn wrong_signed(sign: &str) -> Self {
        Self::unfit(format!("operand of unary jsonpath operator {sign} is not a numeric value"))
    }

    pub(super) fn wrong_for_method(method: &str, wanted: &str) -> Self {
        Self::unfit(format!("jsonpath item method .{method}() can only be applied to {wanted}"))
    }

    pub(super) fn number_is_no_double() -> Self {
        Self::unfit("numeric argument of jsonpath item method .double() is out of range for type double precision")
    }

    pub(super) fn string_is_no_double() -> Self {
        let what = "is not a valid representation of a double precision number";
        Self::unfit(format!("string argument of jsonpath item method .double() {what}"))
    }

    pub(super) fn no_single_boolean() -> Self {
        Self::unfit("single boolean result is expected")
    }

    pub(super) fn unknown_variable(name: &str) -> Self {
        Self::Fatal(Error::invalid(format!("could not find jsonpath variable \"{name}\"")))
    }

    pub(super) fn no_datetime_format(text: &str) -> Self {
        let error = Error::invalid(format!("datetime format is not recognized: \"{text}\""));
        Self::Unfit(error.with_hint("Use a datetime template argument to specify the input data format."))
    }

    /// A string that does not fit the template of `.datetime()`.
    pub(super) fn wrong_datetime(message: impl Into<String>) -> Self {
        Self::unfit(message)
    }

    pub(super) fn wrong_separator(separator: char) -> Self {
        let error = Error::invalid(format!("invalid datetime format separator: \"{separator}\""));
        Self::Fatal(error.with_hint(format!("the fields are {TEMPLATE_FIELDS}; write other texts in double quotes")))
    }

    /// A field that no string can be read by.
    pub(super) fn unread_field(word: &str) -> Self {
        let error = Error::invalid(format!("formatting field \"{word}\" is only supported in to_char"));
        Self::Fatal(error.with_hint(format!("the fields are {TEMPLATE_FIELDS}")))
    }

    /// `from` and `to` are names of types.
    pub(super) fn needs_zone(from: &str, to: &str) -> Self {
        let error = Error::invalid(format!("cannot convert value from {from} to {to} without time zone usage"));
        Self::Fatal(error.with_hint("Use *_tz() function for time zone support."))
    }

    pub(super) fn too_much_work(steps_max: usize, place: &str) -> Self {
        let error = Error::new(ErrorKind::Limit, format!("the jsonpath needs more than {steps_max} steps for {place}"));
        Self::Fatal(error.with_hint("narrow the path, or unnest the document and write conditions in SQL"))
    }

    pub(super) fn too_many_bytes(bytes_max: usize, place: &str) -> Self {
        let error = Error::new(ErrorKind::Limit, format!("the jsonpath finds more than {bytes_max} bytes in {place}"));
        Self::Fatal(error.with_hint("narrow the path"))
    }
}
