//! The three versions of the write API: their parameters and defaults.

use atsdb_lineproto::Precision;
use std::collections::HashMap;

/// The version of InfluxDB whose path was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// `/write?db=D&precision=P`
    V1,
    /// `/api/v2/write?bucket=B&org=O&precision=P`
    V2,
    /// `/api/v3/write_lp?db=D&precision=P&accept_partial=true`
    V3,
}

/// The parameters of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WriteParameters {
    pub(crate) precision: Precision,
    pub(crate) accept_partial: bool,
}

impl Dialect {
    /// Reads the parameters; an error is a message. Parameters that have no meaning here are ignored: users, passwords,
    /// organisations and retention policies.
    pub(crate) fn parameters(self, query: &HashMap<String, String>) -> Result<WriteParameters, String> {
        let database = match self {
            Self::V1 | Self::V3 => ("db", "database is required"),
            Self::V2 => ("bucket", "bucket is required"),
        };
        if query.get(database.0).is_none_or(String::is_empty) {
            return Err(database.1.to_owned());
        }
        let precision = match query.get("precision").map(String::as_str) {
            None | Some("") if self == Self::V3 => Precision::Auto,
            None | Some("") => Precision::NANOSECOND,
            Some(name) => Precision::parse(name)
                .filter(|precision| self == Self::V3 || *precision != Precision::Auto)
                .ok_or_else(|| format!("invalid precision {name:?} (use n, u, ms, s, m or h)"))?,
        };
        let accept_partial = match query.get("accept_partial").map(String::as_str) {
            None | Some("" | "true") => true,
            Some("false") if self == Self::V3 => false,
            Some(_) if self != Self::V3 => true,
            Some(other) => return Err(format!("invalid accept_partial {other:?} (use true or false)")),
        };
        Ok(WriteParameters { precision, accept_partial })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(dialect: Dialect, pairs: &[(&str, &str)]) -> Result<WriteParameters, String> {
        dialect.parameters(&pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn each_version_has_its_parameters() {
        let of = |precision, accept_partial| Ok(WriteParameters { precision, accept_partial });
        assert_eq!(read(Dialect::V1, &[("db", "d"), ("u", "x"), ("rp", "y")]), of(Precision::NANOSECOND, true));
        assert_eq!(read(Dialect::V1, &[("db", "d"), ("precision", "m")]), of(Precision::Unit(60_000_000_000), true));
        assert_eq!(read(Dialect::V2, &[("bucket", "b"), ("precision", "us")]), of(Precision::Unit(1_000), true));
        assert_eq!(read(Dialect::V3, &[("db", "d")]), of(Precision::Auto, true));
        let exact = [("db", "d"), ("precision", "second"), ("accept_partial", "false"), ("no_sync", "true")];
        assert_eq!(read(Dialect::V3, &exact), of(Precision::Unit(1_000_000_000), false));
    }

    #[test]
    fn wrong_parameters_are_refused() {
        assert!(read(Dialect::V1, &[]).is_err() && read(Dialect::V2, &[("db", "d")]).is_err());
        assert!(read(Dialect::V1, &[("db", "d"), ("precision", "auto")]).is_err());
        assert!(read(Dialect::V3, &[("db", "d"), ("precision", "fortnight")]).is_err());
        assert!(read(Dialect::V3, &[("db", "d"), ("accept_partial", "1")]).is_err());
    }
}
