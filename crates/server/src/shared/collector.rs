//! A collector of OpenTelemetry, which takes requests over HTTP.

use atsdb::{Error, Result};
use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// The port of collectors for OTLP over HTTP.
const PORT: u16 = 4318;

/// The path for traces.
const PATH: &str = "/v1/traces";

/// How long connecting, sending and answering may take, each.
const TIME_MAX: Duration = Duration::from_secs(2);

/// The maximum number of bytes of the line with the status.
const STATUS_BYTES_MAX: u64 = 1 << 10;

/// The address of a collector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Collector {
    /// `HOST:PORT`.
    authority: String,
    path: String,
}

impl Collector {
    /// Parses `http://HOST[:PORT][/PATH]`. The port is 4318 and the path `/v1/traces` if there is none.
    ///
    /// Errors: [`Usage`](atsdb::ErrorKind::Usage) for everything else.
    pub(crate) fn parse(url: &str) -> Result<Self> {
        let parse = || {
            let rest = url.strip_prefix("http://")?;
            let slash = rest.find('/').unwrap_or(rest.len());
            let (authority, path) = rest.split_at(slash);
            let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
            if authority.is_empty() || authority.contains('@') || !is_plain(rest) {
                return None;
            }
            // The last colon of an address in brackets is in them.
            let authority = match authority.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')) {
                Some((_, port)) => port.parse::<u16>().ok().map(|_| authority.to_owned())?,
                None => format!("{authority}:{PORT}"),
            };
            let path = if path.len() > 1 { path } else { PATH };
            Some(Self { authority, path: path.to_owned() })
        };
        parse().ok_or_else(|| {
            Error::usage(format!("{url:?} is not the address of a collector"))
                .with_hint("write http://HOST:4318; a collector on this machine can forward spans over TLS")
        })
    }

    /// Sends a body of JSON. Any status but 2xx is an error.
    pub(crate) fn post(&self, body: &str) -> io::Result<()> {
        let mut stream = self.connect()?;
        stream.set_write_timeout(Some(TIME_MAX))?;
        stream.set_read_timeout(Some(TIME_MAX))?;
        let head = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n",
            self.path,
            self.authority,
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body.as_bytes())?;
        let mut line = Vec::new();
        BufReader::new(stream.take(STATUS_BYTES_MAX)).read_until(b'\n', &mut line)?;
        let line = String::from_utf8_lossy(&line);
        match line.split_once(' ') {
            Some((_, status)) if status.starts_with('2') => Ok(()),
            Some((_, status)) => Err(io::Error::other(format!("the collector answers {}", status.trim_end()))),
            None => Err(io::Error::other("the collector does not answer as HTTP")),
        }
    }

    /// Connects to the first of its addresses that accepts.
    fn connect(&self) -> io::Result<TcpStream> {
        let mut failed = io::Error::other("the name of the collector has no address");
        for address in self.authority.to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, TIME_MAX) {
                Ok(stream) => return Ok(stream),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }
}

impl fmt::Display for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.authority, self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_port_and_a_path() {
        for (url, expected) in [
            ("http://localhost", "http://localhost:4318/v1/traces"),
            ("http://localhost/", "http://localhost:4318/v1/traces"),
            ("http://10.0.0.7:80", "http://10.0.0.7:80/v1/traces"),
            ("http://[::1]", "http://[::1]:4318/v1/traces"),
            ("http://[::1]:4319/otlp/v1/traces", "http://[::1]:4319/otlp/v1/traces"),
        ] {
            assert_eq!(Collector::parse(url).unwrap().to_string(), expected);
        }
        for url in [
            "",
            "localhost:4318",
            "https://localhost",
            "http://",
            "http://a b",
            "http://a\r\nb",
            "http://u:p@a",
            "http://a:99999",
            "http://a:port/v1/traces",
        ] {
            let error = Collector::parse(url).unwrap_err();
            assert_eq!(error.kind(), atsdb::ErrorKind::Usage, "{url}");
        }
    }
}
