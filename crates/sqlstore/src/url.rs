//! The URL of a store on a server: `scheme://user:password@host:port/database?option=value`. Several addresses,
//! separated by commas, belong to one database: the nodes of a cluster, or a server and its standbys.

use crate::error::{Attempt, Failure};
use atsdb_core::{Error, Result};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, percent_decode_str, utf8_percent_encode};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// Options of every server's URL that are not for the server: where its pages are cached on this machine.
pub const CACHE_OPTIONS: [&str; 2] = ["cache", "cache_bytes"];

/// Removes some options from a URL. Returns the rest of the URL and the decoded options.
pub fn take_options(url: &str, names: &[&str]) -> Result<(String, BTreeMap<String, String>)> {
    let Some((location, options)) = url.split_once('?') else { return Ok((url.to_owned(), BTreeMap::new())) };
    let (mut taken, mut left) = (BTreeMap::new(), Vec::new());
    for option in options.split('&') {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        match names.contains(&name) {
            true => {
                let value = decode(value).ok_or_else(|| {
                    Error::usage(format!("the option {name} of the store's URL has a % without two hexadecimal digits"))
                })?;
                taken.insert(name.to_owned(), value);
            }
            false => left.push(option),
        }
    }
    let url = if left.is_empty() { location.to_owned() } else { format!("{location}?{}", left.join("&")) };
    Ok((url, taken))
}

/// A password. Messages and debug output do not contain it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Creates a secret from a text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the password, for the client only.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The address of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The host name or IP address; empty if an option names a socket.
    pub host: String,
    /// The port, if it is not the default.
    pub port: Option<u16>,
}

impl Address {
    fn parse(text: &str) -> Result<Self, &'static str> {
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, port),
            _ => (text, ""),
        };
        let port = match port {
            "" => None,
            port => match port.parse::<u16>() {
                Ok(port) if port > 0 => Some(port),
                _ => return Err("has a port that is not a number from 1 to 65535"),
            },
        };
        let host = decode(host.trim_start_matches('[').trim_end_matches(']'))
            .ok_or("has a % without two hexadecimal digits")?;
        Ok(Self { host, port })
    }

    /// Returns whether the address is on this machine.
    fn is_local(&self) -> bool {
        self.host.is_empty()
            || self.host == "localhost"
            || self.host.starts_with('/')
            || self.host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]", self.host)?,
            false => write!(f, "{}", encode(&self.host))?,
        }
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// The parsed URL of a database on a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerUrl {
    scheme: String,
    /// The user.
    pub user: Option<String>,
    /// The password.
    pub password: Option<Secret>,
    /// The addresses of the database, at least one. If the option `host` is given, these are its hosts.
    pub addresses: Vec<Address>,
    /// The addresses before the database, which the option `host` may override.
    written: Vec<Address>,
    /// The name of the database.
    pub database: String,
    /// The options after the question mark.
    pub options: BTreeMap<String, String>,
}

impl ServerUrl {
    /// Parses a URL. `known` are the options of this kind of server. Errors never contain the password.
    pub fn parse(url: &str, known: &[&str]) -> Result<Self> {
        let refuse = |what: &str| {
            Err(Error::usage(format!("the store's URL {what}")).with_hint(
                "write scheme://user@host:port/database, and special characters as % with two hexadecimal digits",
            ))
        };
        // Anything else there may be a password, while a scheme is shown.
        let is_scheme = |scheme: &str| scheme.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let Some((scheme, rest)) = url.split_once("://").filter(|(scheme, _)| is_scheme(scheme)) else {
            return refuse("has no ://");
        };
        let (rest, options) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, address) =
            authority.rsplit_once('@').map_or((None, authority), |(login, rest)| (Some(login), rest));
        let (user, password) = login.map(|login| login.split_once(':').unwrap_or((login, ""))).unwrap_or_default();
        let written = match address.split(',').map(Address::parse).collect::<Result<Vec<_>, _>>() {
            Ok(addresses) => addresses,
            Err(what) => return refuse(what),
        };
        let [Some(user), Some(password), Some(database)] = [user, password, database].map(decode) else {
            return refuse("has a % without two hexadecimal digits");
        };
        if database.is_empty() || database.contains('/') {
            return refuse("names no database");
        }
        let mut option_values = BTreeMap::new();
        for option in options.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            if !known.contains(&name) {
                let message = format!("the store's URL has the unknown option {name:.40}");
                return Err(Error::usage(message).with_hint(format!(
                    "options are {}, {}",
                    known.join(", "),
                    CACHE_OPTIONS.join(", ")
                )));
            }
            let Some(value) = decode(value) else { return refuse("has a % without two hexadecimal digits") };
            option_values.insert(name.to_owned(), value);
        }
        let addresses =
            option_values.get("host").map_or_else(|| Ok(written.clone()), |hosts| overruled(hosts, &written));
        let addresses = match addresses {
            Ok(addresses) => addresses,
            Err(what) => return refuse(what),
        };
        if addresses.len() > 1 && addresses.iter().any(|address| address.host.is_empty()) {
            return refuse("has an empty address between commas");
        }
        let some = |text: String| Some(text).filter(|text| !text.is_empty());
        Ok(Self {
            scheme: scheme.to_ascii_lowercase(),
            user: some(user),
            password: some(password).map(Secret::new),
            addresses,
            written,
            database,
            options: option_values,
        })
    }

    /// Returns the URL without the password, for messages.
    pub fn shown(&self) -> String {
        let mut shown = format!("{}://", self.scheme);
        if let Some(user) = &self.user {
            shown.push_str(&format!("{}@", encode(user)));
        }
        let addresses: Vec<String> = self.written.iter().map(Address::to_string).collect();
        shown.push_str(&addresses.join(","));
        shown.push_str(&format!("/{}", encode(&self.database)));
        for (position, (name, value)) in self.options.iter().enumerate() {
            shown.push_str(&format!("{}{name}={}", if position == 0 { '?' } else { '&' }, encode(value)));
        }
        shown
    }

    /// Connects to the first address whose server answers and accepts the connection. If there is none, returns the
    /// failure of the last one.
    pub fn connect_to_any<C>(&self, mut connect: impl FnMut(&Address) -> Attempt<C>) -> Attempt<C> {
        let mut connected = connect(&self.addresses[0]);
        for address in &self.addresses[1..] {
            if matches!(connected, Err(Failure::Lost(_) | Failure::Full(_))) {
                connected = connect(address);
            }
        }
        connected
    }

    /// Returns the Unix socket, which takes precedence over the addresses.
    pub fn socket(&self) -> Option<&str> {
        self.options.get("socket").map(String::as_str)
    }

    /// Returns whether the server is on this machine, so that its traffic cannot be intercepted.
    pub fn is_local(&self) -> bool {
        self.socket().is_some() || self.addresses.iter().all(Address::is_local)
    }
}

/// Returns the addresses of the option `host`: names, or folders of Unix sockets, separated by commas. Their ports are
/// those of the addresses that they override.
fn overruled(hosts: &str, written: &[Address]) -> Result<Vec<Address>, &'static str> {
    let hosts: Vec<&str> = hosts.split(',').collect();
    if written.len() != 1 && written.len() != hosts.len() {
        return Err("has more or fewer addresses in host= than before the database");
    }
    let port = |position: usize| written.get(position).unwrap_or(&written[0]).port;
    let address = |(position, host): (usize, &&str)| Address { host: (*host).to_owned(), port: port(position) };
    Ok(hosts.iter().enumerate().map(address).collect())
}

/// Decodes percent escapes. Returns `None` if a `%` is not followed by two hexadecimal digits, which
/// [`percent_decode_str`] would leave unchanged, or if the bytes are not UTF-8.
fn decode(text: &str) -> Option<String> {
    let is_escape = |rest: &str| rest.len() >= 2 && rest.bytes().take(2).all(|byte| byte.is_ascii_hexdigit());
    if !text.split('%').skip(1).all(is_escape) {
        return None;
    }
    percent_decode_str(text).decode_utf8().ok().map(Cow::into_owned)
}

fn encode(text: &str) -> PercentEncode<'_> {
    /// All bytes except those that need no escape in any part of a URL.
    const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'/');
    utf8_percent_encode(text, ESCAPED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart_and_shown_without_its_password() {
        let url =
            ServerUrl::parse("PostgreSQL://me:p%40ss%2Fword@db.example:5433/air%20q?sslmode=require", &["sslmode"]);
        let url = url.unwrap();
        assert_eq!((url.user.as_deref(), url.password.as_ref().unwrap().reveal()), (Some("me"), "p@ss/word"));
        let address = &url.addresses[0];
        assert_eq!((address.host.as_str(), address.port, url.database.as_str()), ("db.example", Some(5433), "air q"));
        assert_eq!(url.shown(), "postgresql://me@db.example:5433/air%20q?sslmode=require");
        assert!(!format!("{url:?}").contains("p@ss"));
        let bare = ServerUrl::parse("mysql://[::1]/air", &[]).unwrap();
        let address = &bare.addresses[0];
        assert_eq!(
            (address.host.as_str(), address.port, bare.user.as_deref(), bare.is_local()),
            ("::1", None, None, true)
        );
        assert!(!ServerUrl::parse("mysql://h/air", &[]).unwrap().is_local());
    }

    #[test]
    fn the_first_address_that_answers_is_used() {
        let url = ServerUrl::parse("mysql://a,b,c/air", &[]).unwrap();
        let mut tried = Vec::new();
        let connected = url.connect_to_any(|address| {
            tried.push(address.host.clone());
            if address.host == "b" { Ok("b") } else { Err(Failure::Lost(Error::internal("no answer"))) }
        });
        assert_eq!((connected.unwrap(), tried), ("b", vec!["a".to_owned(), "b".to_owned()]));
        let mut tries = 0;
        let refused = url.connect_to_any(|_| {
            tries += 1;
            Err::<(), _>(Failure::Server(Error::internal("no such login")))
        });
        assert!(matches!(refused, Err(Failure::Server(_))) && tries == 1);
    }

    #[test]
    fn a_url_may_have_several_addresses() {
        let url = ServerUrl::parse("mariadb://me:secret@one,[::2]:3307,three:3308/air", &[]).unwrap();
        let ports: Vec<_> = url.addresses.iter().map(|address| (address.host.as_str(), address.port)).collect();
        assert_eq!(ports, [("one", None), ("::2", Some(3307)), ("three", Some(3308))]);
        assert_eq!(url.shown(), "mariadb://me@one,[::2]:3307,three:3308/air");
        assert!(!ServerUrl::parse("mysql://127.0.0.1,far/air", &[]).unwrap().is_local());
        assert!(ServerUrl::parse("mysql://127.0.0.1:1,[::1]:2/air", &[]).unwrap().is_local());
    }

    #[test]
    fn where_the_server_is_follows_from_the_host_that_is_connected_to() {
        let parse = |url: &str| ServerUrl::parse(url, &["host", "socket"]).unwrap();
        let far = parse("postgresql://me@/air?host=192.0.2.2");
        assert_eq!((far.is_local(), far.addresses[0].host.as_str()), (false, "192.0.2.2"));
        assert_eq!(far.shown(), "postgresql://me@/air?host=192.0.2.2");
        assert!(!parse("postgresql://127.0.0.1/air?host=db.example").is_local());
        assert!(parse("postgresql://db.example/air?host=/run/postgresql").is_local());
        assert!(parse("mariadb://db.example/air?socket=run/mysqld.sock").is_local());
        let two = parse("postgresql://:5433/air?host=/run/postgresql,::1");
        assert_eq!(two.addresses.iter().map(|address| address.port).collect::<Vec<_>>(), [Some(5433); 2]);
        assert!(two.is_local() && !parse("postgresql://me@/air?host=/run/postgresql,db.example").is_local());
        for url in ["postgresql://one,two/air?host=a,b,c", "postgresql://me@/air?host=a,,b"] {
            assert!(ServerUrl::parse(url, &["host"]).is_err(), "{url}");
        }
    }

    #[test]
    fn options_of_others_are_taken_out_of_a_url() {
        let url = "mysql://u:p%40@h/d?cache=/a%20b&sslmode=require&cache_bytes=5";
        let (left, taken) = take_options(url, &CACHE_OPTIONS).unwrap();
        assert_eq!(left, "mysql://u:p%40@h/d?sslmode=require");
        assert_eq!((taken["cache"].as_str(), taken["cache_bytes"].as_str()), ("/a b", "5"));
        assert_eq!(take_options("mysql://h/d?cache=off", &CACHE_OPTIONS).unwrap().0, "mysql://h/d");
        assert!(take_options("mysql://h/d?cache=%2", &CACHE_OPTIONS).is_err());
    }

    #[test]
    fn a_url_that_cannot_be_is_refused_without_telling_its_password() {
        for url in [
            "mysql:x",
            "mysql://u:secret@h",
            "mysql://u:secret@h:x/d",
            "mysql://u:secret%2@h/d",
            "mysql://u:secret%+2@h/d",
            "mysql://u:secret%ff@h/d",
            "mysql://u:secret@h/d?x=1",
            "mysql://u:secret@h,/d",
            "mysql://u:secret@h:1,i:x/d",
        ] {
            let error = ServerUrl::parse(url, &["sslmode"]).unwrap_err().to_string();
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_password_before_a_later_scheme_is_not_shown() {
        let url = "postgresql:/me:secret@host/air?sslmode=x://me@host/air";
        let error = ServerUrl::parse(url, &["sslmode"]).unwrap_err();
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
