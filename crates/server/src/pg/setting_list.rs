//! The settings that every session has: PostgreSQL's names, initial values and descriptions.

use super::error::PgError;
use super::setting_values::parse_boolean;
use atsdb::sql::POSTGRES_VERSION;
use std::sync::LazyLock;

/// One setting a line: its name, its initial value, who may change it, and when, the kind of its values, and its
/// description.
const LIST: &str = include_str!("setting_list.txt");

/// A setting.
#[derive(Debug)]
pub(in crate::pg) struct KnownSetting {
    /// The name as PostgreSQL spells it.
    pub(in crate::pg) name: &'static str,
    /// The initial value. Some settings, such as `port`, get another one when a session begins.
    pub(in crate::pg) value: &'static str,
    /// The kind of users who may change it, and the time at which they may: `context` in `pg_settings`.
    pub(in crate::pg) context: &'static str,
    /// The kind of its values: `vartype` in `pg_settings`.
    pub(in crate::pg) kind: &'static str,
    pub(in crate::pg) description: &'static str,
}

/// The settings, by name.
pub(in crate::pg) static KNOWN: LazyLock<Vec<KnownSetting>> =
    LazyLock::new(|| LIST.lines().filter_map(KnownSetting::read).collect());

impl KnownSetting {
    fn read(line: &'static str) -> Option<Self> {
        let mut parts = line.splitn(5, '|');
        let (name, value) = (parts.next()?, parts.next()?);
        let value = if name == "server_version" { POSTGRES_VERSION } else { value };
        Some(Self { name, value, context: parts.next()?, kind: parts.next()?, description: parts.next()? })
    }

    /// The setting with a name.
    pub(in crate::pg) fn named(name: &str) -> Option<&'static Self> {
        KNOWN.iter().find(|known| known.name.eq_ignore_ascii_case(name))
    }

    /// Returns whether SET can change the setting in a session.
    pub(super) fn is_changeable(&self) -> bool {
        matches!(self.context, "user" | "superuser")
    }

    /// Refuses a change that the session must not make.
    pub(super) fn check_changeable(&self, is_superuser: bool) -> Result<(), PgError> {
        let name = self.name;
        match self.context {
            "superuser" if !is_superuser => {
                Err(PgError::error("42501", format!("permission denied to set parameter \"{name}\"")))
            }
            "user" | "superuser" => Ok(()),
            "postmaster" => {
                let message = format!("parameter \"{name}\" cannot be changed without restarting the server");
                Err(PgError::error("55P02", message))
            }
            "sighup" => Err(PgError::error("55P02", format!("parameter \"{name}\" cannot be changed now"))),
            _ => Err(PgError::error("55P02", format!("parameter \"{name}\" cannot be changed"))),
        }
    }

    /// Returns a value in its stored form, if it is one of the setting's kind.
    pub(super) fn checked(&self, value: String) -> Result<String, PgError> {
        let name = self.name;
        match self.kind {
            "bool" => match parse_boolean(&value) {
                Some(is_on) => Ok(if is_on { "on" } else { "off" }.to_owned()),
                None => Err(PgError::error("22023", format!("parameter \"{name}\" requires a Boolean value"))),
            },
            "integer" | "real" if !is_number(&value) => {
                Err(PgError::error("22023", format!("invalid value for parameter \"{name}\": \"{value}\"")))
            }
            _ => Ok(value),
        }
    }
}

/// Returns whether a text is a number, which may have a unit.
fn is_number(text: &str) -> bool {
    const UNITS: [&str; 11] = ["B", "kB", "MB", "GB", "TB", "us", "ms", "s", "min", "h", "d"];
    let text = text.trim();
    let digits = text.trim_start_matches(['-', '+', '.']);
    if !digits.starts_with(|first: char| first.is_ascii_digit()) {
        return false;
    }
    let end = text.find(|letter: char| letter.is_ascii_alphabetic() || letter.is_whitespace()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    text.parse::<f64>().is_ok() || number.parse::<f64>().is_ok() && UNITS.contains(&unit.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_setting() {
        assert_eq!(KNOWN.len(), LIST.lines().count());
        for known in KNOWN.iter() {
            let contexts = ["user", "superuser", "sighup", "postmaster", "internal"];
            assert!(contexts.contains(&known.context), "{known:?}");
            assert!(["bool", "integer", "real", "string", "enum"].contains(&known.kind), "{known:?}");
            assert_eq!(known.checked(known.value.to_owned()).unwrap(), known.value, "{known:?}");
        }
        assert!(KNOWN.is_sorted_by_key(|known| known.name.to_lowercase()));
    }

    #[test]
    fn numbers_may_have_units() {
        for text in ["4096", "64MB", " 1.5 GB", "-1", "10min", "0.1", "1e3"] {
            assert!(is_number(text), "{text}");
        }
        for text in ["", "MB", "64 pounds", "x", "inf"] {
            assert!(!is_number(text), "{text}");
        }
    }
}
