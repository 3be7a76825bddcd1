//! Answers with rows that are compressed for clients that accept it.

use crate::client::{Reply, server};
use serde_json::{Value, json};
use std::io::{Read, Write};

const MANY: &str = "SELECT+i,+'some+text'+AS+t+FROM+generate_series(1,+20000)+AS+g(i)+ORDER+BY+i";

/// Returns the body as the client's library would, or the error that it would report.
fn decoded(reply: &Reply) -> std::io::Result<Vec<u8>> {
    match reply.header("content-encoding") {
        None => Ok(reply.body.clone()),
        Some("gzip") => {
            let mut bytes = Vec::new();
            flate2::read::GzDecoder::new(reply.body.as_slice()).read_to_end(&mut bytes).map(|_| bytes)
        }
        Some("zstd") => zstd::stream::decode_all(reply.body.as_slice()),
        Some(other) => panic!("the encoding {other}"),
    }
}

#[test]
fn rows_as_text_are_compressed_as_the_client_accepts() {
    let server = server();
    for format in ["json", "ndjson", "csv"] {
        let path = format!("/api/sql?format={format}&sql={MANY}");
        let plain = server.get(&path);
        assert_eq!((plain.status, plain.header("content-encoding")), (200, None), "{format}");
        assert_eq!(plain.header("vary"), Some("accept-encoding"), "{format}");
        for (accepted, expected) in [
            ("gzip", Some("gzip")),
            ("zstd", Some("zstd")),
            ("gzip, deflate, br, zstd", Some("zstd")),
            ("gzip;q=1.0, zstd;q=0", Some("gzip")),
            ("br, identity", None),
        ] {
            let reply = server.send("GET", &path, &[("Accept-Encoding", accepted)], "");
            assert_eq!((reply.status, reply.header("content-encoding")), (200, expected), "{format} {accepted}");
            assert_eq!(reply.header("vary"), Some("accept-encoding"), "{format} {accepted}");
            assert_eq!(reply.header("content-type"), plain.header("content-type"), "{format} {accepted}");
            assert!(decoded(&reply).unwrap() == plain.body, "{format} {accepted}: other rows");
            assert_eq!(reply.body.len() < plain.body.len() / 2, expected.is_some(), "{format} {accepted}");
        }
    }
    for format in ["arrow", "parquet", "table"] {
        let path = format!("/api/sql?format={format}&sql={MANY}");
        let reply = server.send("GET", &path, &[("Accept-Encoding", "gzip, zstd")], "");
        assert_eq!((reply.status, reply.header("content-encoding")), (200, None), "{format}");
    }
}

#[test]
fn short_answers_are_not_compressed() {
    let server = server();
    let headers = [("Accept-Encoding", "gzip")];
    for (sql, expected) in [("SELECT 1 AS a", json!([{ "a": 1 }])), ("SELECT 1 AS a WHERE false", json!([]))] {
        let reply = server.send("POST", "/api/sql", &headers, sql);
        assert_eq!((reply.status, reply.header("content-encoding")), (200, None), "{sql}: {}", reply.text());
        assert_eq!(serde_json::from_slice::<Value>(&reply.body).unwrap(), expected, "{sql}");
    }
    let done = server.send("POST", "/api/sql", &headers, "CREATE TABLE t (a INT)");
    assert_eq!((done.status, done.header("content-encoding")), (200, None), "{}", done.text());
    let refused = server.send("POST", "/api/sql", &headers, "SELECT no_such_column");
    assert_eq!((refused.status, refused.header("content-encoding")), (400, None), "{}", refused.text());
    assert!(refused.text().contains("no_such_column"), "{}", refused.text());
}

#[test]
fn an_answer_that_fails_does_not_look_complete() {
    let server = server();
    let sql = "SELECT 1 / (i - 90000) AS v, i FROM generate_series(1, 100000) AS g(i)";
    for encoding in ["gzip", "zstd"] {
        let head = format!("POST /api/sql?format=csv HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: {encoding}");
        let mut stream = server.connect();
        let request = format!("{head}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{sql}", sql.len());
        stream.write_all(request.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        // The connection may end with an error.
        let _ = stream.read_to_end(&mut bytes);
        let is_error = bytes.starts_with(b"HTTP/1.1 4");
        assert!(is_error || !bytes.ends_with(b"\r\n0\r\n\r\n"), "{encoding}");
    }
}
