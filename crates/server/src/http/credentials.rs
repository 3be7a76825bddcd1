//! Finds the credentials in a request.
//!
//! | where | who sends it |
//! |---|---|
//! | `Authorization: Bearer TOKEN` | most programs; Prometheus; InfluxDB 3 |
//! | `Authorization: Token TOKEN`, `Token USER:PASSWORD` | programs that write to InfluxDB 2 and 1.8 |
//! | `Authorization: Basic USER:PASSWORD`, in base64; the password may be a token | browsers, curl, Prometheus |
//! | `?u=USER&p=PASSWORD` of the addresses of InfluxDB 1 | programs that write to InfluxDB 1 |

use crate::access::authenticate::Credentials;
use crate::shared::form;
use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, Uri};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// The paths of InfluxDB 1. No other path accepts a secret in the URL, because URLs are written to logs.
const WITH_PARAMETERS: [&str; 3] = ["/write", "/query", "/ping"];

/// The credentials of a request, if it has any. Unreadable credentials match no user.
pub(super) fn of_request(headers: &HeaderMap, uri: &Uri) -> Option<Credentials> {
    let in_header = of_header_alone(headers);
    if in_header.is_some() {
        return in_header;
    }
    if !WITH_PARAMETERS.contains(&uri.path()) {
        return None;
    }
    let mut parameters = form::pairs(uri.query()?.as_bytes());
    let password = parameters.remove("p")?;
    Some(Credentials::Password { user: parameters.remove("u").unwrap_or_default(), password })
}

/// The credentials in the header, if there is one.
pub(crate) fn of_header_alone(headers: &HeaderMap) -> Option<Credentials> {
    let nobodys = Credentials::Token(String::new());
    let header = headers.get(AUTHORIZATION)?;
    Some(header.to_str().ok().and_then(of_header).unwrap_or(nobodys))
}

fn of_header(header: &str) -> Option<Credentials> {
    let (scheme, value) = header.trim().split_once(' ')?;
    let value = value.trim();
    match scheme.to_ascii_lowercase().as_str() {
        "bearer" => Some(Credentials::Token(value.to_owned())),
        "token" => Some(match value.split_once(':') {
            Some((user, password)) => password_of(user, password),
            None => Credentials::Token(value.to_owned()),
        }),
        "basic" => {
            // Flight's client for Go leaves out the padding.
            let bytes = STANDARD_NO_PAD.decode(value.trim_end_matches('=')).ok()?;
            let text = String::from_utf8(bytes).ok()?;
            text.split_once(':').map(|(user, password)| password_of(user, password))
        }
        _ => None,
    }
}

fn password_of(user: &str, password: &str) -> Credentials {
    Credentials::Password { user: user.to_owned(), password: password.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(header: Option<&str>, uri: &str) -> Option<Credentials> {
        let mut headers = HeaderMap::new();
        header.map(|header| headers.insert(AUTHORIZATION, header.parse().unwrap()));
        of_request(&headers, &uri.parse().unwrap())
    }

    #[test]
    fn every_form_is_read() {
        let token = |token: &str| Some(Credentials::Token(token.to_owned()));
        let password = |user, password| Some(password_of(user, password));
        assert_eq!(read(Some("Bearer abc"), "/api/sql"), token("abc"));
        assert_eq!(read(Some("token  abc "), "/api/v2/write"), token("abc"));
        assert_eq!(read(Some("Token me:se:cret"), "/api/v2/write"), password("me", "se:cret"));
        assert_eq!(read(Some("Basic bWU6c2U6Y3JldA=="), "/api/sql"), password("me", "se:cret"));
        assert_eq!(read(None, "/write?db=d&u=me&p=se%3Acret"), password("me", "se:cret"));
        assert_eq!(read(None, "/write?p=atsdb_1"), password("", "atsdb_1"));
        // A header takes precedence.
        assert_eq!(read(Some("Bearer abc"), "/write?u=me&p=x"), token("abc"));
    }

    #[test]
    fn what_cannot_be_read_is_wrong_and_not_missing() {
        for header in ["", "Bearer", "Basic", "Basic ?", "Basic bWU=", "Basic /w==", "Digest x", "\u{7f}".trim()] {
            let Ok(_) = axum::http::HeaderValue::from_str(header) else { continue };
            assert_eq!(read(Some(header), "/write?u=me&p=x"), Some(Credentials::Token(String::new())), "{header:?}");
        }
        assert_eq!(read(None, "/api/sql?u=me&p=x"), None);
        assert_eq!(read(None, "/write?u=me"), None);
        assert_eq!(read(None, "/write"), None);
    }
}
