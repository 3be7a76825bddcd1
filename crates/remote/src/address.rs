//! URLs of files: the request, and the form that may be shown. User, password and query are secrets: a signed URL has
//! its signature in the query.

use atsdb_core::{Error, Result};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::percent_decode_str;
use std::path::PathBuf;

/// A file of an HTTP server.
#[derive(Clone)]
pub(crate) struct HttpAddress {
    /// The URL to request, without user and password.
    pub(crate) url: String,
    /// The value of the header for user and password, if the URL has them.
    pub(crate) authorization: Option<String>,
    /// The URL without its secrets.
    pub(crate) shown: String,
    /// The name of the file.
    pub(crate) name: String,
    /// Whether the connection is plain HTTP, without encryption.
    pub(crate) is_plain: bool,
}

/// Returns the rest of a text after a scheme, compared without case.
pub(crate) fn after_scheme<'a>(text: &'a str, scheme: &str) -> Option<&'a str> {
    let (start, rest) = text.split_once("://")?;
    start.eq_ignore_ascii_case(scheme).then_some(rest)
}

/// Returns the path on this machine that a `file://` URL names.
pub fn path_of_url(text: &str) -> Option<PathBuf> {
    let rest = after_scheme(text, "file")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    path.starts_with('/').then(|| PathBuf::from(decoded(path)))
}

impl HttpAddress {
    /// Reads `http://` or `https://`.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let plain = after_scheme(text, "http");
        let (scheme, rest) = match plain {
            Some(rest) => ("http", rest),
            None => ("https", after_scheme(text, "https").unwrap_or_default()),
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let (authority, path) = rest.split_at(rest.find(['/', '?', '\\']).unwrap_or(rest.len()));
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        if host.is_empty() {
            return Err(Error::usage(format!("{scheme}:// names no server")).with_hint("write https://HOST/FILE"));
        }
        let (bare, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        let shown = format!("{scheme}://{host}{bare}{}", if query.is_some() { "?..." } else { "" });
        let last = bare.rsplit('/').find(|part| !part.is_empty()).unwrap_or(host);
        Ok(Self {
            url: format!("{scheme}://{host}{path}"),
            authorization: user.map(basic),
            shown,
            name: decoded(last),
            is_plain: plain.is_some(),
        })
    }
}

/// The header of user and password, which a URL has as `USER:PASSWORD`.
fn basic(user: &str) -> String {
    let (name, password) = user.split_once(':').unwrap_or((user, ""));
    format!("Basic {}", BASE64_STANDARD.encode(format!("{}:{}", decoded(name), decoded(password))))
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_its_secrets() {
        for (url, requested, shown, name) in [
            ("https://h/a/day.csv.gz", "https://h/a/day.csv.gz", "https://h/a/day.csv.gz", "day.csv.gz"),
            (
                "HTTP://me:s%40cret@h:80/d%20x.csv?sig=abc#x",
                "http://h:80/d%20x.csv?sig=abc",
                "http://h:80/d%20x.csv?...",
                "d x.csv",
            ),
            ("https://h?key=1@2/3", "https://h?key=1@2/3", "https://h?...", "h"),
            ("https://a:b@c@h/x/", "https://h/x/", "https://h/x/", "x"),
            ("http://[::1]:8080/x", "http://[::1]:8080/x", "http://[::1]:8080/x", "x"),
        ] {
            let address = HttpAddress::parse(url).unwrap();
            assert_eq!((address.url.as_str(), address.shown.as_str(), address.name.as_str()), (requested, shown, name));
        }
        let address = HttpAddress::parse("http://me:s%40cret@h/").unwrap();
        assert_eq!(address.authorization.unwrap(), format!("Basic {}", BASE64_STANDARD.encode("me:s@cret")));
        assert!(HttpAddress::parse("https:///x").is_err() && HttpAddress::parse("http://me@/x").is_err());
    }

    #[test]
    fn a_file_of_this_machine_has_a_path() {
        for url in ["file:///a/b%20c.csv", "FILE://localhost/a/b c.csv"] {
            assert_eq!(path_of_url(url), Some(PathBuf::from("/a/b c.csv")), "{url}");
        }
        assert_eq!((path_of_url("file://h/a"), path_of_url("/a"), path_of_url("https://h/a")), (None, None, None));
    }
}
