//! A client of HTTP/1.1 for servers on this machine: one connection, one request at a time. It reads bodies of a known
//! length and in chunks. It is written by hand, so that it blocks and adds little to the times that are measured.

use crate::failure::Failure;
use atsdb::{Error, ErrorKind};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};

/// The part of an error's body that is shown.
const MESSAGE_BYTES: u64 = 2_000;
/// The client's buffer for replies.
const BUFFER_BYTES: usize = 64 << 10;

/// A connection.
pub(super) struct Http {
    port: u16,
    /// `None` before the first request, and after a reply that was not read to its end.
    stream: Option<BufReader<TcpStream>>,
}

/// The body of a reply. A server may send the head before it has done the work, and may abandon the work when the
/// connection is closed: only the end of the body shows that it is done.
#[must_use = "only the end of the body says that the server has done it"]
pub(super) struct Reply<'a> {
    http: &'a mut Http,
    /// `None` at the end of the body.
    stream: Option<BufReader<TcpStream>>,
    body: Body,
    is_last: bool,
}

enum Body {
    /// Bytes that are left.
    Length(u64),
    /// A body in chunks, before the first.
    FirstChunk,
    /// Bytes that are left of the present chunk.
    Chunk(u64),
    /// Everything has been read.
    Ended,
}

impl Http {
    /// A client of the server on this port. It connects with the first request.
    pub(super) fn new(port: u16) -> Self {
        Self { port, stream: None }
    }

    /// Sends a request without a body.
    ///
    /// # Errors
    ///
    /// The server's message if it refuses, or a lost connection.
    pub(super) fn get(&mut self, path: &str) -> Result<Reply<'_>, Failure> {
        self.request("GET", path, "", &[])
    }

    /// Sends a request with a body.
    ///
    /// # Errors
    ///
    /// As for [`get`](Self::get): the server's message if it refuses, or a lost connection.
    pub(super) fn post(&mut self, path: &str, body: &[u8]) -> Result<Reply<'_>, Failure> {
        self.request("POST", path, "", body)
    }

    /// Sends a form, as programs do with queries of any length.
    ///
    /// # Errors
    ///
    /// As for [`get`](Self::get): the server's message if it refuses, or a lost connection.
    pub(super) fn post_form(&mut self, path: &str, fields: &[(&str, &str)]) -> Result<Reply<'_>, Failure> {
        let field = |(name, value): &(&str, &str)| format!("{name}={}", encoded(value));
        let form: Vec<String> = fields.iter().map(field).collect();
        let kind = "Content-Type: application/x-www-form-urlencoded\r\n";
        self.request("POST", path, kind, form.join("&").as_bytes())
    }

    fn request(&mut self, verb: &str, path: &str, headers: &str, body: &[u8]) -> Result<Reply<'_>, Failure> {
        let mut stream = self.connection().map_err(lost)?;
        let length = body.len();
        let head = format!("{verb} {path} HTTP/1.1\r\nHost: localhost\r\n{headers}Content-Length: {length}\r\n\r\n");
        let connection = stream.get_mut();
        connection.write_all(head.as_bytes()).and_then(|()| connection.write_all(body)).map_err(lost)?;
        let head = Head::read(&mut stream).map_err(lost)?;
        let mut reply = Reply { http: self, stream: Some(stream), body: head.body, is_last: head.is_last };
        reply.keep_if_ended();
        if head.status < 300 {
            return Ok(reply);
        }
        let mut message = Vec::new();
        reply.take(MESSAGE_BYTES).read_to_end(&mut message).map_err(lost)?;
        let (message, status) = (String::from_utf8_lossy(&message).trim().to_owned(), head.status);
        Err(Failure::Failed(Error::new(ErrorKind::Unavailable, format!("{message} (HTTP status {status})"))))
    }

    /// The open connection, or a new one. A server may close one that was idle for long.
    fn connection(&mut self) -> io::Result<BufReader<TcpStream>> {
        if let Some(stream) = self.stream.take() {
            stream.get_ref().set_nonblocking(true)?;
            let is_open = stream.get_ref().peek(&mut [0]).is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock);
            stream.get_ref().set_nonblocking(false)?;
            if is_open {
                return Ok(stream);
            }
        }
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_nodelay(true)?;
        Ok(BufReader::with_capacity(BUFFER_BYTES, stream))
    }
}

/// The status line and the headers of a reply.
struct Head {
    status: u16,
    body: Body,
    /// The server closes the connection after this reply.
    is_last: bool,
}

impl Head {
    fn read(stream: &mut impl BufRead) -> io::Result<Self> {
        let first = line(stream)?;
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        let mut head = Self { status: status.ok_or_else(malformed)?, body: Body::Ended, is_last: false };
        loop {
            let line = line(stream)?;
            let Some((name, value)) = line.split_once(':') else {
                return if line.is_empty() { Ok(head) } else { Err(malformed()) };
            };
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => head.body = Body::Length(value.parse().map_err(|_| malformed())?),
                "transfer-encoding" if value.eq_ignore_ascii_case("chunked") => head.body = Body::FirstChunk,
                "connection" => head.is_last = value.eq_ignore_ascii_case("close"),
                _ => {}
            }
        }
    }
}

impl Reply<'_> {
    /// The whole body.
    ///
    /// # Errors
    ///
    /// A lost connection.
    pub(super) fn bytes(mut self) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        self.read_to_end(&mut bytes).map_err(lost)?;
        Ok(bytes)
    }

    /// Reads the body to its end, which is when the server has done the work.
    ///
    /// # Errors
    ///
    /// A lost connection.
    pub(super) fn end(mut self) -> Result<(), Failure> {
        io::copy(&mut self, &mut io::sink()).map(drop).map_err(lost)
    }

    /// Gives the connection back at the end of the body.
    fn keep_if_ended(&mut self) {
        if matches!(self.body, Body::Ended | Body::Length(0)) && !self.is_last {
            self.http.stream = self.stream.take();
        }
    }
}

impl Read for Reply<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(stream) = &mut self.stream else { return Ok(0) };
        if matches!(self.body, Body::FirstChunk | Body::Chunk(0)) {
            self.body = next_chunk(stream, matches!(self.body, Body::FirstChunk))?;
        }
        let (Body::Length(left) | Body::Chunk(left)) = &mut self.body else {
            self.keep_if_ended();
            return Ok(0);
        };
        let count = stream.by_ref().take(*left).read(buffer)?;
        if count == 0 && *left > 0 && !buffer.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        *left -= count as u64;
        self.keep_if_ended();
        Ok(count)
    }
}

/// Reads the line before a chunk: its length in hexadecimal, maybe with more after a semicolon. The last chunk has no
/// bytes.
fn next_chunk(stream: &mut impl BufRead, is_first: bool) -> io::Result<Body> {
    if !is_first && !line(stream)?.is_empty() {
        return Err(malformed());
    }
    let length = line(stream)?;
    let length = length.split(';').next().unwrap_or_default().trim();
    match u64::from_str_radix(length, 16).map_err(|_| malformed())? {
        0 => {
            while !line(stream)?.is_empty() {}
            Ok(Body::Ended)
        }
        length => Ok(Body::Chunk(length)),
    }
}

/// A line without its end.
fn line(stream: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    match stream.read_line(&mut line)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(line.trim_end().to_owned()),
    }
}

fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the server's reply is not HTTP")
}

fn lost(error: io::Error) -> Failure {
    Failure::broken(error)
}

/// The characters that are escaped in a path or a form: all but letters, digits and four signs.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Encodes a value in a path or a form.
pub(super) fn encoded(value: &str) -> String {
    utf8_percent_encode(value, ESCAPED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::thread::JoinHandle;

    #[test]
    fn a_request_is_done_when_its_reply_ends() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let mut http = Http::new(listener.local_addr().expect("its address").port());
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut stream = BufReader::new(listener.accept().expect("a connection").0);
                while !line(&mut stream).expect("a header").is_empty() {}
                let (head, body) = LENGTH.split_at(LENGTH.len() - 3);
                stream.get_mut().write_all(head.as_bytes()).expect("sent");
                std::thread::park_timeout(std::time::Duration::from_millis(50));
                done.store(true, std::sync::atomic::Ordering::SeqCst);
                stream.get_mut().write_all(body.as_bytes()).expect("sent");
            });
            http.get("/").and_then(Reply::end).expect("a reply");
            assert!(done.load(std::sync::atomic::Ordering::SeqCst));
        });
    }

    /// A server that gives these replies on one connection after another. Returns the first lines of requests.
    fn server(connections: Vec<Vec<&'static str>>) -> (u16, JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("its address").port();
        let serve = move || {
            let mut requests = Vec::new();
            for replies in connections {
                let mut stream = BufReader::new(listener.accept().expect("a connection").0);
                for reply in replies {
                    requests.push(line(&mut stream).expect("a request"));
                    let mut length = 0;
                    loop {
                        let header = line(&mut stream).expect("a header");
                        if header.is_empty() {
                            break;
                        }
                        length =
                            header.strip_prefix("Content-Length: ").map_or(length, |it| it.parse().expect("a length"));
                    }
                    let mut body = vec![0; length];
                    stream.read_exact(&mut body).expect("a body");
                    requests.push(String::from_utf8(body).expect("a text"));
                    stream.get_mut().write_all(reply.as_bytes()).expect("sent");
                }
            }
            requests
        };
        (port, std::thread::spawn(serve))
    }

    const CHUNKS: &str =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nab\nc\r\nA;x=1\r\n0123456789\r\n0\r\n\r\n";
    const LENGTH: &str = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nxyz";
    const NOTHING: &str = "HTTP/1.1 204 No Content\r\n\r\n";
    const REFUSED: &str = "HTTP/1.1 400 Bad Request\r\nContent-Length: 7\r\n\r\nno such";
    const LAST: &str = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\n1";

    #[test]
    fn replies_follow_one_another_on_a_connection() {
        let (port, served) = server(vec![vec![CHUNKS, LENGTH, NOTHING, REFUSED, LAST], vec![LENGTH]]);
        let mut http = Http::new(port);
        assert_eq!(http.get("/a").expect("a reply").bytes().expect("a body"), b"ab\nc0123456789");
        assert_eq!(http.post("/b", b"text").expect("a reply").bytes().expect("a body"), b"xyz");
        http.post("/c", b"").expect("a reply").end().expect("its end");
        let refused = http.post_form("/d", &[("q", "a b&\"ü"), ("p", "s")]).map(drop).expect_err("refused");
        assert!(refused.to_string().contains("no such (HTTP status 400)"), "{refused}");
        assert_eq!(http.get("/e").expect("a reply").bytes().expect("a body"), b"1");
        assert_eq!(http.get("/f").expect("a reply").bytes().expect("a body"), b"xyz", "on a new connection");
        let requests = served.join().expect("the requests");
        let expected = [
            ("GET /a HTTP/1.1", ""),
            ("POST /b HTTP/1.1", "text"),
            ("POST /c HTTP/1.1", ""),
            ("POST /d HTTP/1.1", "q=a%20b%26%22%C3%BC&p=s"),
            ("GET /e HTTP/1.1", ""),
            ("GET /f HTTP/1.1", ""),
        ];
        assert_eq!(requests, expected.iter().flat_map(|(first, body)| [*first, *body]).collect::<Vec<_>>());
    }

    #[test]
    fn a_reply_that_is_cut_off_is_an_error() {
        let cut = [
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nxyz",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        ];
        let (port, served) = server(cut.map(|reply| vec![reply]).to_vec());
        let mut http = Http::new(port);
        for _ in cut {
            assert!(http.get("/").expect("a head").end().is_err());
        }
        served.join().expect("the requests");
    }

    #[test]
    fn a_reply_that_is_not_read_costs_only_its_connection() {
        let (port, served) = server(vec![vec![LENGTH], vec![CHUNKS]]);
        let mut http = Http::new(port);
        drop(http.get("/").expect("a reply"));
        assert_eq!(http.get("/").expect("a reply").bytes().expect("a body"), b"ab\nc0123456789");
        served.join().expect("the requests");
    }
}
