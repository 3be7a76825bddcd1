//! A server that speaks S3: moto's, if it is installed.

use super::setup::listening;
use crate::skipped;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

/// The server, which ends when this is dropped. It has one bucket, named `bucket`, and accepts any credentials.
#[derive(Debug)]
pub struct Moto {
    child: Child,
    /// The port on loopback.
    pub port: u16,
}

impl Moto {
    /// Starts the server. `None`, with a message on stderr, if it is not installed.
    ///
    /// # Panics
    ///
    /// If it is installed and does not start.
    pub fn start() -> Option<Self> {
        let is_there = Command::new("python3").args(["-c", "import moto.server"]).stderr(Stdio::null()).status();
        if !is_there.is_ok_and(|status| status.success()) {
            skipped("the Python package moto (with its server) is not installed");
            return None;
        }
        let (port, child) = listening("moto", |port| {
            let mut command = Command::new("python3");
            command.args(["-m", "moto.server", "-p", &port.to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
            command.spawn().expect("moto can be started")
        });
        let server = Self { child, port };
        server.request("PUT /bucket", b"");
        Some(server)
    }

    /// Returns the URL of the server, as `AWS_ENDPOINT_URL` names it.
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Sends a request, such as `PUT /bucket/name`, and returns the answer with its head.
    ///
    /// # Panics
    ///
    /// If the server does not answer.
    pub fn request(&self, what: &str, body: &[u8]) -> String {
        moto_request(self.port, what, body)
    }
}

/// Sends a request to the server with this port, like [`Moto::request`].
///
/// # Panics
///
/// If the server does not answer.
pub fn moto_request(port: u16, what: &str, body: &[u8]) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("moto accepts connections");
    let length = body.len();
    let heads = format!("Host: 127.0.0.1\r\nx-amz-acl: public-read-write\r\nContent-Length: {length}");
    let request = [format!("{what} HTTP/1.0\r\n{heads}\r\n\r\n").as_bytes(), body].concat();
    stream.write_all(&request).expect("moto reads");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("moto answers");
    String::from_utf8_lossy(&answer).into_owned()
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
