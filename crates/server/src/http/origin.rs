//! Refuses requests that a browser sends for a page of another origin. The browser adds a saved password to them, so
//! such a page must not get through. If a database has no users, it must not get through under its own host name
//! either, which it could let resolve to this machine; with users, the browser has no password for that name.

use crate::databases::list::Databases;
use axum::extract::{Request, State};
use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::IpAddr;

/// The headers in which a browser says which page causes a request, and what it is for.
const FETCH_SITE: &str = "sec-fetch-site";
const FETCH_DESTINATION: &str = "sec-fetch-dest";

const FOREIGN_PAGE: &str = "the request comes from a page of another origin";

/// Answers 403 to requests from pages that this server did not send.
pub(crate) async fn refuse_foreign(State(databases): State<Databases>, request: Request, next: Next) -> Response {
    let host = request.uri().authority().map(|authority| authority.as_str().to_owned());
    let have_users = databases.opened().all(|database| database.access.has_users());
    match problem(host.as_deref(), request.headers(), have_users) {
        Some(problem) => (StatusCode::FORBIDDEN, format!("{problem}\n")).into_response(),
        None => next.run(request).await,
    }
}

fn problem(authority: Option<&str>, headers: &HeaderMap, has_users: bool) -> Option<&'static str> {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    // A request without a host does not come from a browser.
    let host = authority.or_else(|| text(HOST.as_str()))?;
    if !has_users && !is_of_this_machine(host) {
        return Some("address the server as localhost or by its IP address");
    }
    // A browser sends no origin for a GET that a page embeds, such as an image. Links to the server are followed.
    let is_of_other_site = text(FETCH_SITE).is_some_and(|site| ["cross-site", "same-site"].contains(&site));
    if is_of_other_site && text(FETCH_DESTINATION) != Some("document") {
        return Some(FOREIGN_PAGE);
    }
    let origin = text(ORIGIN.as_str())?;
    let is_own = origin.split_once("://").is_some_and(|(_, origin)| origin == host);
    (!is_own).then_some(FOREIGN_PAGE)
}

/// Returns whether a host is an IP address or `localhost`. No one else can make these resolve to this machine.
fn is_of_this_machine(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_of_this_server_get_through() {
        let request = |host: &'static str, origin: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, host.parse().unwrap());
            origin.map(|origin| headers.insert(ORIGIN, origin.parse().unwrap()));
            headers
        };
        let get = |host, origin| problem(None, &request(host, origin), false).is_none();
        assert!(get("localhost:8086", None) && get("127.0.0.1:8086", None) && get("[::1]:8086", None));
        assert!(get("localhost:8086", Some("http://localhost:8086")) && get("[::1]:80", Some("http://[::1]:80")));
        assert!(!get("localhost:8086", Some("http://evil.example")) && !get("localhost:8086", Some("null")));
        assert!(!get("localhost:8086", Some("http://localhost:3000")), "another port is another origin");
        // A name that its owner lets resolve to 127.0.0.1 is the page's own origin.
        assert!(!get("evil.example:8086", Some("http://evil.example:8086")) && !get("evil.example:8086", None));
        assert!(!get("localhost.evil.example", None) && !get("", None));
        assert_eq!(problem(None, &HeaderMap::new(), false), None);
        let fetched = |site: &'static str, destination: &'static str| {
            let mut headers = request("localhost:8086", None);
            headers.insert(FETCH_SITE, site.parse().unwrap());
            headers.insert(FETCH_DESTINATION, destination.parse().unwrap());
            problem(None, &headers, false).is_none()
        };
        assert!(fetched("same-origin", "empty") && fetched("none", "document") && fetched("cross-site", "document"));
        for destination in ["image", "script", "iframe", "empty"] {
            assert!(!fetched("cross-site", destination) && !fetched("same-site", destination), "{destination}");
        }
        // With users any name is accepted, because passwords are needed; the page must still be the server's own.
        let get = |host, origin| problem(None, &request(host, origin), true).is_none();
        assert!(get("air.example:8086", None) && get("air.example", Some("https://air.example")));
        assert!(!get("air.example:8086", Some("https://evil.example")) && !get("air.example", Some("null")));
    }
}
