//! Errors for values that a column does not take, with PostgreSQL's codes.

use crate::pg::error::PgError;
use crate::pg::types::{input, known};
use atsdb::sql::has_form_of_time;

/// The error for a text that is not a value of a type.
pub(super) fn invalid(type_id: u32, text: &str) -> PgError {
    match type_id {
        known::DATE | known::TIME | known::TIMESTAMP | known::TIMESTAMPTZ | known::INTERVAL => {
            if type_id != known::INTERVAL && has_form_of_time(text) {
                return PgError::error("22008", format!("date/time field value out of range: \"{text}\""));
            }
            if type_id == known::TIME {
                return PgError::error("22007", format!("invalid input syntax for type time: \"{text}\""));
            }
            PgError { code: "22007", ..input::invalid(type_id, text) }
        }
        known::BYTEA => invalid_bytes(text),
        _ => input::invalid(type_id, text),
    }
}

pub(super) fn out_of_range(type_id: u32, text: &str) -> PgError {
    let name = known::sql_name(type_id).unwrap_or_default();
    match type_id {
        known::FLOAT4 | known::FLOAT8 => PgError::error("22003", format!("\"{text}\" is out of range for type {name}")),
        _ => PgError::error("22003", format!("value \"{text}\" is out of range for type {name}")),
    }
}

/// The error for a number with too many digits before the point.
pub(super) fn overflow(precision: u8, scale: u8) -> PgError {
    let detail = format!(
        "A field with precision {precision}, scale {scale} must round to an absolute value less than 10^{}.",
        precision.saturating_sub(scale)
    );
    PgError { detail: Some(detail.into()), ..PgError::error("22003", "numeric field overflow") }
}

fn invalid_bytes(text: &str) -> PgError {
    let Some(hex) = text.strip_prefix("\\x") else {
        return PgError::error("22P02", "invalid input syntax for type bytea");
    };
    match hex.chars().find(|digit| !digit.is_ascii_hexdigit()) {
        Some(digit) => PgError::error("22023", format!("invalid hexadecimal digit: \"{digit}\"")),
        None => PgError::error("22023", "invalid hexadecimal data: odd number of digits"),
    }
}

/// A number, unless it is too large for its type, or so small that nothing is left of it.
pub(super) fn float<T>(type_id: u32, text: &str) -> Result<T, PgError>
where
    T: std::str::FromStr + Into<f64> + Copy,
{
    let trimmed = text.trim();
    let value: T = trimmed.parse().map_err(|_| invalid(type_id, text))?;
    let wide: f64 = value.into();
    let has_mantissa = || {
        let mantissa = trimmed.split(['e', 'E']).next().unwrap_or_default();
        mantissa.bytes().any(|byte| (b'1'..=b'9').contains(&byte))
    };
    let is_lost =
        (wide.is_infinite() && trimmed.bytes().any(|byte| byte.is_ascii_digit())) || (wide == 0.0 && has_mantissa());
    if is_lost { Err(out_of_range(type_id, text)) } else { Ok(value) }
}
