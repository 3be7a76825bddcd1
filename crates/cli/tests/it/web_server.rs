//! A server of files over HTTP on loopback, which behaves as the first part of a path says:
//!
//! | path | behaviour |
//! |---|---|
//! | `/ranges/NAME` | sends ranges, and a version of the file |
//! | `/plain/NAME` | sends the whole file, whatever is asked for |
//! | `/chunked/NAME` | the same, and does not know its length before |
//! | `/endless/NAME` | the same, and ends with the connection |
//! | `/cut/NAME` | closes the connection in the middle of each answer |
//! | `/flaky/NAME` | like `ranges`, but closes the connection after a quarter of the file |
//! | `/broken/NAME` | sends whole files, and cuts off ranges before the end of the file |
//! | `/changed/NAME` | sends the end of the file, and then ranges of another version |
//! | `/stalled/NAME` | sends half of the file, and then nothing |
//! | `/login/NAME` | like `plain`, for the user `me` with the password `s@cret` |
//! | `/moved/REST` | answers that the file is at `/REST` |
//! | `/away/PORT/REST` | the same at another server of this machine |
//! | `/status/CODE` | answers with this status |

use parking_lot::Mutex;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// The server. Its threads end with the process.
pub(crate) struct WebServer {
    pub(crate) port: u16,
    shared: Arc<Shared>,
    /// Each answer that stalled.
    pub(crate) stalled: Receiver<()>,
}

struct Shared {
    files: HashMap<String, Vec<u8>>,
    requests: Mutex<Vec<Request>>,
    stalls: Mutex<Sender<()>>,
}

/// A request.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) path: String,
    pub(crate) authorization: Option<String>,
    /// The bytes that were sent as content.
    pub(crate) sent_bytes: usize,
    range: Option<(usize, usize)>,
}

impl WebServer {
    /// Starts a server of these files.
    pub(crate) fn start(files: &[(&str, Vec<u8>)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (stalls, stalled) = channel();
        let files = files.iter().map(|(name, content)| ((*name).to_owned(), content.clone())).collect();
        let shared = Arc::new(Shared { files, requests: Mutex::default(), stalls: Mutex::new(stalls) });
        let server = Self { port, shared: Arc::clone(&shared), stalled };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || {
                    // A client may go away at any time.
                    let _ = shared.answer(stream);
                });
            }
        });
        server
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    /// The requests since the last call.
    pub(crate) fn requests(&self) -> Vec<Request> {
        std::mem::take(&mut self.shared.requests.lock())
    }
}

impl Shared {
    fn answer(&self, mut stream: TcpStream) -> std::io::Result<()> {
        let mut lines = BufReader::new(stream.try_clone()?).lines();
        while let Some(first) = lines.next() {
            let first = first?;
            let mut request = Request {
                path: first.split(' ').nth(1).unwrap_or_default().to_owned(),
                authorization: None,
                sent_bytes: 0,
                range: None,
            };
            for line in lines.by_ref() {
                let line = line?;
                if line.is_empty() {
                    break;
                }
                let (name, value) = line.split_once(": ").unwrap_or((&line, ""));
                match name.to_ascii_lowercase().as_str() {
                    "authorization" => request.authorization = Some(value.to_owned()),
                    "range" => request.range = range(value),
                    _ => {}
                }
            }
            let is_get = first.starts_with("GET ");
            let (head, body, then) = if is_get { self.respond(&request) } else { status(405) };
            request.sent_bytes = body.len();
            self.requests.lock().push(request);
            stream.write_all(head.as_bytes())?;
            stream.write_all(&body)?;
            match then {
                Then::Continue => {}
                Then::Close => return Ok(()),
                Then::Stall => {
                    self.stalls.lock().send(()).unwrap();
                    loop {
                        std::thread::park();
                    }
                }
            }
        }
        Ok(())
    }

    fn respond(&self, request: &Request) -> (String, Vec<u8>, Then) {
        let path = request.path.split('?').next().unwrap().trim_start_matches('/');
        let (kind, rest) = path.split_once('/').unwrap_or((path, ""));
        let to = |place: String| {
            (
                format!("HTTP/1.1 302 Found\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n"),
                Vec::new(),
                Then::Continue,
            )
        };
        match kind {
            "moved" => return to(format!("/{rest}")),
            "away" => return to(format!("http://127.0.0.1:{rest}")),
            "status" => return status(rest.parse().unwrap()),
            "login" if request.authorization.as_deref() != Some("Basic bWU6c0BjcmV0") => return status(401),
            _ => {}
        }
        let Some(file) = self.files.get(rest) else { return status(404) };
        let ok = "HTTP/1.1 200 OK\r\n";
        let length = format!("Content-Length: {}\r\n", file.len());
        let flaky_bytes = file.len() / 4 + 1;
        let half = || file[..file.len() / 2].to_vec();
        match (kind, request.range) {
            ("ranges" | "flaky" | "changed" | "broken", Some((start, end))) => {
                let end = end.min(file.len());
                let tag = if kind == "changed" && end < file.len() { 2 } else { 1 };
                let head = format!(
                    "HTTP/1.1 206 Partial Content\r\nContent-Length: {}\r\nContent-Range: bytes {start}-{}/{}\r\n\
                     ETag: \"{tag}\"\r\n\r\n",
                    end - start,
                    end - 1,
                    file.len()
                );
                match kind {
                    "flaky" if end - start > flaky_bytes => {
                        (head, file[start..start + flaky_bytes].to_vec(), Then::Close)
                    }
                    "broken" if end < file.len() => (head, Vec::new(), Then::Close),
                    _ => (head, file[start..end].to_vec(), Then::Continue),
                }
            }
            ("flaky", None) => {
                let head = format!("{ok}{length}ETag: \"1\"\r\n\r\n");
                (head, file[..flaky_bytes].to_vec(), Then::Close)
            }
            ("ranges" | "changed" | "broken", None) => {
                (format!("{ok}{length}ETag: \"1\"\r\nLast-Modified: yesterday\r\n\r\n"), file.clone(), Then::Continue)
            }
            ("chunked", _) => {
                let mut body = Vec::new();
                for part in file.chunks(1_000) {
                    body.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
                    body.extend_from_slice(part);
                    body.extend_from_slice(b"\r\n");
                }
                body.extend_from_slice(b"0\r\n\r\n");
                (format!("{ok}Transfer-Encoding: chunked\r\n\r\n"), body, Then::Continue)
            }
            ("endless", _) => (format!("{ok}\r\n"), file.clone(), Then::Close),
            ("cut", _) => (format!("{ok}{length}\r\n"), half(), Then::Close),
            ("stalled", _) => (format!("{ok}{length}\r\n"), half(), Then::Stall),
            _ => (format!("{ok}{length}\r\n"), file.clone(), Then::Continue),
        }
    }
}

/// The next step of the server after it has sent an answer.
enum Then {
    Continue,
    Close,
    Stall,
}

fn status(code: u16) -> (String, Vec<u8>, Then) {
    let body = b"<html>no</html>".to_vec();
    (format!("HTTP/1.1 {code} Status\r\nContent-Length: {}\r\n\r\n", body.len()), body, Then::Continue)
}

/// The first byte of `bytes=a-b`, and the one behind the last.
fn range(value: &str) -> Option<(usize, usize)> {
    let (start, end) = value.strip_prefix("bytes=")?.split_once('-')?;
    Some((start.parse().ok()?, end.parse::<usize>().ok()? + 1))
}
