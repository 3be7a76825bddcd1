//! The database that a request names: the parameter `db`, or `bucket` where InfluxDB 2 has it, or the header
//! `database`, which gRPC has as well.

use crate::shared::form;
use axum::http::{HeaderMap, Uri};

/// The header that names a database.
const HEADER: &str = "database";

/// The path whose parameter is a bucket.
const WITH_BUCKET: &str = "/api/v2/write";

/// The database that a request names, if it names one. An error is a message.
pub(super) fn database_of(headers: &HeaderMap, uri: &Uri) -> Result<Option<String>, &'static str> {
    let mut parameters = form::pairs(uri.query().unwrap_or_default().as_bytes());
    let in_address = match uri.path() {
        // InfluxDB 1.8 names a bucket by its database and its retention policy.
        WITH_BUCKET => {
            parameters.remove("bucket").map(|bucket| bucket.split('/').next().unwrap_or_default().to_owned())
        }
        _ => parameters.remove("db"),
    };
    match (in_address.filter(|name| !name.is_empty()), of_header(headers)?) {
        (Some(one), Some(other)) if one != other => Err("the request names two databases"),
        (in_address, in_header) => Ok(in_address.or(in_header)),
    }
}

/// The database that the header names, if there is one.
pub(crate) fn of_header(headers: &HeaderMap) -> Result<Option<String>, &'static str> {
    let Some(value) = headers.get(HEADER) else { return Ok(None) };
    let name = std::str::from_utf8(value.as_bytes()).map_err(|_| "the header database is not UTF-8")?;
    Ok(Some(name.trim().to_owned()).filter(|name| !name.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_named_in_the_address_or_the_header() {
        let named = |address: &str, header: &str| {
            let mut headers = HeaderMap::new();
            if !header.is_empty() {
                headers.insert(HEADER, header.parse().unwrap());
            }
            database_of(&headers, &address.parse().unwrap())
        };
        let some = |name: &str| Ok(Some(name.to_owned()));
        assert_eq!(named("/api/sql?sql=SELECT+1&db=a%2Dir", ""), some("a-ir"));
        assert_eq!(named("/api/v2/write?bucket=air/autogen&db=other", ""), some("air"));
        assert_eq!(named("/api/v1/write?bucket=air", ""), Ok(None));
        assert_eq!(named("/api/sql?db=", "air"), some("air"));
        assert_eq!(named("/write?db=air", "air"), some("air"));
        assert!(named("/write?db=air", "machines").is_err());
    }
}
