//! The values of settings: which ones the server supports, and their stored forms.

use super::error::{PgError, Severity};
use atsdb::SearchPath;
use atsdb::sql::is_time_zone;
use atsdb::time::DAY_MILLISECONDS;
use std::time::Duration;

/// The setting with the schemas in which names that say none are looked up.
pub(in crate::pg) const SEARCH_PATH: &str = "search_path";

/// Returns the value in its stored form, if the server supports it.
pub(super) fn checked(key: &str, value: String) -> Result<(String, Option<PgError>), PgError> {
    let lower = value.to_lowercase();
    let only = |supported: bool| {
        if supported { Ok(()) } else { Err(PgError::not_supported(format_args!("{key} = {value}"))) }
    };
    let is_off = ["off", "false", "no", "0"].contains(&lower.as_str());
    match key {
        "client_encoding" => {
            // asyncpg writes it with quotes.
            let plain: String = lower.chars().filter(char::is_ascii_alphanumeric).collect();
            only(["utf8", "unicode"].contains(&plain.as_str()))?;
            Ok(("UTF8".to_owned(), None))
        }
        "datestyle" => date_style(&lower).map(|()| ("ISO, MDY".to_owned(), None)),
        "intervalstyle" => only(lower == "postgres").map(|()| (lower, None)),
        "bytea_output" => only(lower == "hex").map(|()| (lower, None)),
        "standard_conforming_strings" => only(!is_off).map(|()| ("on".to_owned(), None)),
        "default_transaction_read_only" | "transaction_read_only" => match parse_boolean(&value) {
            Some(is_on) => Ok((if is_on { "on" } else { "off" }.to_owned(), None)),
            None => Err(PgError::error("22023", format!("parameter \"{key}\" requires a Boolean value"))),
        },
        "timezone" => {
            let is_utc =
                ["utc", "gmt", "etc/utc", "z", "0", "zulu", "universal", "default", "local"].contains(&lower.as_str());
            // PostgreSQL takes the hours east of Greenwich, too.
            let is_zone = is_time_zone(&value) || value.parse::<f64>().is_ok_and(|hours| hours.abs() <= 167.0);
            if !is_utc && !is_zone {
                return Err(PgError::error("22023", format!("invalid value for parameter \"TimeZone\": \"{value}\"")));
            }
            let notice = (!is_utc).then(|| {
                let text = format!("times are written in UTC, not in {value}");
                PgError::new(Severity::Notice, "00000", text)
            });
            Ok(("UTC".to_owned(), notice))
        }
        "extra_float_digits" => {
            let invalid = |_| PgError::error("22023", format!("invalid value for parameter \"{key}\": \"{value}\""));
            let digits: i32 = value.trim().parse().map_err(invalid)?;
            if !(-15..=3).contains(&digits) {
                let range = format!("{digits} is outside the valid range for parameter \"{key}\" (-15 .. 3)");
                return Err(PgError::error("22023", range));
            }
            let notice = (digits < 1).then(|| {
                PgError::new(Severity::Notice, "00000", "floating-point numbers are written with all their digits")
            });
            Ok((digits.to_string(), notice))
        }
        "client_min_messages" => {
            let levels = ["debug5", "debug4", "debug3", "debug2", "debug1", "log", "notice", "warning", "error"];
            if levels.contains(&lower.as_str()) || ["debug", "info"].contains(&lower.as_str()) {
                return Ok((if lower == "debug" { "debug2".to_owned() } else { lower }, None));
            }
            let message = format!("invalid value for parameter \"{key}\": \"{value}\"");
            Err(PgError::error("22023", message).with_hint(format!("Available values: {}.", levels.join(", "))))
        }
        "transaction_isolation" | "default_transaction_isolation" => {
            let known = ["read uncommitted", "read committed", "repeatable read", "serializable", "default"];
            if !known.contains(&lower.as_str()) {
                return Err(PgError::error("22023", format!("invalid value for parameter \"{key}\": \"{value}\"")));
            }
            // There is only one isolation level: a snapshot.
            Ok(("repeatable read".to_owned(), None))
        }
        SEARCH_PATH => match SearchPath::parse(&value) {
            Some(_) => Ok((value, None)),
            None => {
                let message = format!("invalid value for parameter \"{key}\": \"{value}\"");
                Err(PgError { detail: Some("List syntax is invalid.".into()), ..PgError::error("22023", message) })
            }
        },
        "statement_timeout" | "idle_in_transaction_session_timeout" | "idle_session_timeout" | "lock_timeout" => {
            match parse_milliseconds(&value) {
                Some(_) => Ok((value, None)),
                None => Err(PgError::error("22023", format!("invalid value for parameter \"{key}\": \"{value}\""))),
            }
        }
        _ => Ok((value, None)),
    }
}

/// Accepts the style in which times are written, `ISO`, and the order in which `02/03/2020` is read: the month first.
fn date_style(value: &str) -> Result<(), PgError> {
    for part in value.split([',', ' ']).map(str::trim).filter(|part| !part.is_empty()) {
        let hint = match part {
            "iso" | "mdy" | "us" | "noneuro" | "noneuropean" | "default" => continue,
            "dmy" | "ymd" | "euro" | "european" => "write dates as YYYY-MM-DD: of 02/03/2020, the month is first",
            "sql" | "postgres" | "german" => "times are written in the style ISO: use to_char for others",
            _ => {
                let message = format!("invalid value for parameter \"DateStyle\": \"{value}\"");
                return Err(PgError::error("22023", message));
            }
        };
        return Err(PgError::not_supported(format_args!("datestyle = {value}")).with_hint(hint));
    }
    Ok(())
}

/// Parses a boolean setting.
pub(in crate::pg) fn parse_boolean(text: &str) -> Option<bool> {
    match text.trim().to_ascii_lowercase().as_str() {
        "on" | "true" | "t" | "yes" | "y" | "1" => Some(true),
        "off" | "false" | "f" | "no" | "n" | "0" => Some(false),
        _ => None,
    }
}

pub(super) fn parse_milliseconds(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let count: u64 = text[..end].parse().ok()?;
    let factor = match text[end..].trim() {
        "" | "ms" => 1,
        "s" => 1_000,
        "min" => 60_000,
        "h" => 3_600_000,
        "d" => DAY_MILLISECONDS.unsigned_abs(),
        _ => return None,
    };
    count.checked_mul(factor)
}

/// A duration as a setting: `30s`.
pub(in crate::pg) fn written_duration(duration: Duration) -> String {
    // 0 would be no limit.
    let milliseconds = duration.as_millis().max(1);
    let units = [("h", 3_600_000), ("min", 60_000), ("s", 1_000)];
    match units.into_iter().find(|(_, factor)| milliseconds.is_multiple_of(*factor)) {
        Some((unit, factor)) => format!("{}{unit}", milliseconds / factor),
        None => format!("{milliseconds}ms"),
    }
}
