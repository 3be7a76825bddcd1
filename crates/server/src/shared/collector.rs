//! A collector of OpenTelemetry, which takes requests over HTTP.

use super::clock;
use atsdb::{Error, Result};
use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::mpsc::sync_channel;
use std::thread::Builder;
use std::time::{Duration, Instant};

/// The port of collectors for OTLP over HTTP.
const PORT: u16 = 4318;

/// The path for traces.
const PATH: &str = "/v1/traces";

/// The maximum time that a request may take, from the look-up of the collector's name to its answer.
pub(super) const REQUEST_TIME_MAX: Duration = Duration::from_secs(2);

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

    /// Sends a body of JSON. Any status but 2xx is an error, and so is an answer that has not come at a time.
    pub(crate) fn post(&self, body: &str, until: Instant) -> io::Result<()> {
        let mut stream = StreamUntil { stream: self.connect(until)?, until };
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
    fn connect(&self, until: Instant) -> io::Result<TcpStream> {
        let mut failed = io::Error::other("the name of the collector has no address");
        for address in self.addresses(until)? {
            match TcpStream::connect_timeout(&address, time_left(until)?) {
                Ok(stream) => return Ok(stream),
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    /// Looks up the name of the collector. The system's look-up has no time limit, so a thread of its own waits for it.
    fn addresses(&self, until: Instant) -> io::Result<Vec<SocketAddr>> {
        if let Ok(address) = self.authority.parse() {
            return Ok(vec![address]);
        }
        let (sender, receiver) = sync_channel(1);
        let authority = self.authority.clone();
        Builder::new().name("atsdb-lookup".to_owned()).spawn(move || {
            // Nobody may wait for the addresses any more.
            let _ = sender.send(authority.to_socket_addrs().map(Vec::from_iter));
        })?;
        receiver.recv_timeout(time_left(until)?).map_err(|_| late())?
    }
}

/// A connection whose reads and writes end at a time.
struct StreamUntil {
    stream: TcpStream,
    until: Instant,
}

impl Read for StreamUntil {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(time_left(self.until)?))?;
        self.stream.read(bytes)
    }
}

impl Write for StreamUntil {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(time_left(self.until)?))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// The time until then, which is not zero.
fn time_left(until: Instant) -> io::Result<Duration> {
    Some(until.saturating_duration_since(clock::now())).filter(|left| !left.is_zero()).ok_or_else(late)
}

fn late() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the collector has not answered in time")
}

impl fmt::Display for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.authority, self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

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

    #[test]
    fn an_answer_in_small_pieces_has_no_more_time_than_another() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let collector = Collector::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        let answering = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            // The line with the status does not end before the connection does.
            while stream.write_all(b"H").is_ok() {
                atsdb_testkit::clock::sleep(Duration::from_millis(20));
            }
        });
        let error = collector.post("{}", clock::now() + Duration::from_millis(200)).unwrap_err();
        assert!(matches!(error.kind(), io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock), "{error}");
        answering.join().unwrap();
    }

    #[test]
    fn a_name_is_looked_up_within_the_time() {
        let collector = Collector::parse("http://localhost:1").unwrap();
        assert!(!collector.addresses(clock::now() + Duration::from_secs(60)).unwrap().is_empty());
        let error = collector.addresses(clock::now()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut, "{error}");
    }
}
