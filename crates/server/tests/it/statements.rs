//! SQL over HTTP.

use crate::client::{Reply, TestServer, reply, server};
use arrow::array::{ArrayRef, AsArray, Float64Array, Int64Array, RecordBatch, TimestampMicrosecondArray};
use arrow::datatypes::{DataType, Field, Int64Type, Schema};
use arrow::ipc::reader::StreamReader;
use arrow::ipc::writer::StreamWriter;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn json_of(reply: &Reply) -> Value {
    serde_json::from_slice(&reply.body).unwrap_or_else(|error| panic!("{error}: {}", reply.text()))
}

fn sql(server: &TestServer, body: &Value) -> Reply {
    server.send("POST", "/api/sql", &[("Content-Type", "application/json")], body.to_string())
}

fn served() -> TestServer {
    let server = server();
    server.database.sql("CREATE TABLE t (time TIMESTAMP, name TEXT, x DOUBLE) WITH (map = 'name')").unwrap();
    let insert =
        "INSERT INTO t VALUES ('2026-01-01', 'a', 1.5), ('2026-01-02', 'b \"q\"', NULL), ('2026-01-03', '', 'NaN')";
    server.database.sql(insert).unwrap();
    server
}

#[test]
fn rows_are_sent_in_every_format() {
    let server = served();
    let query = "SELECT time, name, x FROM t ORDER BY time";
    let rows = [
        r#"{"time":"2026-01-01T00:00:00","name":"a","x":1.5}"#,
        r#"{"time":"2026-01-02T00:00:00","name":"b \"q\"","x":null}"#,
        r#"{"time":"2026-01-03T00:00:00","name":"","x":"NaN"}"#,
    ];
    let plain = |reply: &Reply| reply.text().replace("00Z", "00");
    let answer = server.post("/api/sql", query);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(plain(&answer), format!("[\n{}\n]\n", rows.join(",\n")));
    let answer = server.post("/api/sql?format=ndjson", query);
    assert_eq!(plain(&answer), format!("{}\n", rows.join("\n")));
    let answer = server.post("/api/sql?format=csv", query);
    let csv =
        "time,name,x\n2026-01-01T00:00:00,a,1.5\n2026-01-02T00:00:00,\"b \"\"q\"\"\",\n2026-01-03T00:00:00,\"\",NaN\n";
    assert_eq!(plain(&answer), csv);
    let answer = sql(&server, &json!({ "sql": query, "format": "arrow" }));
    let batches: Vec<RecordBatch> =
        StreamReader::try_new(answer.body.as_slice(), None).unwrap().map(Result::unwrap).collect();
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 3);
    let answer = server.post("/api/sql?format=parquet", query);
    assert!(answer.body.starts_with(b"PAR1") && answer.body.ends_with(b"PAR1"));
    let none = server.post("/api/sql", "SELECT x FROM t WHERE x < 0");
    assert_eq!((none.status, none.text()), (200, "[]\n"));
}

#[test]
fn requests_that_are_refused_before_their_path_reads_them_get_a_message() {
    let server = server();
    for (method, path, allowed) in [
        ("DELETE", "/api/sql", "GET,HEAD,POST"),
        ("GET", "/api/append", "POST"),
        ("GET", "/api/statements/1", "DELETE"),
        ("GET", "/write", "POST"),
        ("PUT", "/api/v1/query", "GET,HEAD,POST"),
        ("POST", "/health", "GET,HEAD"),
        ("PATCH", "/", "GET,HEAD"),
    ] {
        let answer = server.send(method, path, &[], "");
        assert_eq!((answer.status, answer.header("allow")), (405, Some(allowed)), "{method} {path}");
        let (body, message) = (json_of(&answer), format!("the path {path} does not take the method {method}"));
        assert_eq!((&body["kind"], &body["error"]), (&json!("method_not_allowed"), &body["message"]));
        assert!(body["message"].as_str().unwrap().starts_with(&message), "{body}");
    }
    let missing = server.get("/page/nothing.js");
    assert_eq!((missing.status, &json_of(&missing)["message"]), (404, &json!("the page has no file nothing.js")));
    let unknown = server.get("/nothing");
    assert_eq!((unknown.status, &json_of(&unknown)["kind"]), (404, &json!("not_found")));
    let large = server.post("/query", vec![b'q'; 65 << 10]);
    assert_eq!((large.status, &json_of(&large)["error"]), (413, &json!("the statement is larger than 65536 bytes")));
    let text = server.send("POST", "/v1/metrics", &[("Content-Type", "text/plain")], "x");
    assert!(text.status == 415 && json_of(&text)["message"].is_string(), "{}", text.text());
}

#[test]
fn parameters_have_types() {
    let server = served();
    let select = |params: Value| {
        json_of(&sql(&server, &json!({ "sql": "SELECT name FROM t WHERE name = $1 OR x = $2", "params": params })))
    };
    assert_eq!(select(json!(["", 1.5])), json!([{ "name": "a" }, { "name": "" }]));
    assert_eq!(select(json!(["a' OR 1=1 --", null])), json!([]));
    server.database.sql("INSERT INTO t VALUES ('2026-01-04', '7', 0)").unwrap();
    assert_eq!(select(json!(["7", null])), json!([{ "name": "7" }]));
    let wrong = sql(&server, &json!({ "sql": "SELECT $1; SELECT 2", "params": [1] }));
    assert_eq!((wrong.status, json_of(&wrong)["kind"].clone()), (400, json!("usage")));
    assert_eq!(sql(&server, &json!({ "sql": "SELECT 1", "params": [[1]] })).status, 400);
    assert_eq!(sql(&server, &json!({ "query": "SELECT 1" })).status, 400);
}

#[test]
fn notices_of_statements_are_in_the_answer() {
    let server = served();
    let text = "CREATE TABLE z (id INT PRIMARY KEY, deleted_at TIMESTAMP); INSERT INTO z VALUES (1, '2026-01-01')";
    let done = json_of(&server.post("/api/sql", text));
    assert_eq!((&done["verb"], &done["rows"]), (&json!("INSERT"), &json!(1)));
    let notices = done["notices"].as_array().unwrap();
    assert_eq!(notices.len(), 1);
    assert!(notices[0].as_str().unwrap().starts_with("column deleted_at becomes the time of table z"), "{done}");
    let quiet = json_of(&server.post("/api/sql", "CREATE TABLE quiet (a INT)"));
    assert_eq!(quiet, json!({ "verb": "CREATE TABLE", "rows": null }));
}

#[test]
fn changes_are_answered_and_a_get_only_reads() {
    let server = served();
    let done = server.post("/api/sql", "INSERT INTO t VALUES ('2026-02-01', 'c', 2), ('2026-02-02', 'd', 3)");
    assert_eq!((done.status, json_of(&done)), (200, json!({ "verb": "INSERT", "rows": 2 })));
    let read = server.get("/api/sql?sql=SELECT%20count(*)%20AS%20n%20FROM%20t&format=csv");
    assert_eq!((read.status, read.text()), (200, "n\n5\n"));
    for change in [
        "DELETE%20FROM%20t",
        "DROP%20TABLE%20t",
        "WITH%20a%20AS%20(SELECT%20*%20FROM%20t)%20INSERT%20INTO%20t%20SELECT%20*%20FROM%20a",
        "INSERT%20INTO%20t%20VALUES%20('2026-02-01','c',2)",
        "CHECKPOINT",
        "COPY%20t%20TO%20'x.csv'",
    ] {
        let refused = server.get(&format!("/api/sql?sql={change}"));
        assert!([400, 403].contains(&refused.status), "{change}: {} {}", refused.status, refused.text());
    }
    assert_eq!(server.rows("SELECT count(*) FROM t"), ["5"]);
    // What begins with no verb is wrong, and not forbidden.
    let wrong = server.get("/api/sql?sql=SELEC%201");
    assert_eq!((wrong.status, json_of(&wrong)["kind"].as_str()), (400, Some("sql")), "{}", wrong.text());
    assert_eq!(server.get("/api/sql?sql=DELETE%20FROM%20t").status, 403);
    let several =
        server.post("/api/sql", "CREATE TABLE u (a INT); INSERT INTO u VALUES (1), (2); SELECT sum(a) AS s FROM u");
    assert_eq!(json_of(&several), json!([{ "s": 3 }]));
}

#[test]
fn an_open_transaction_ends_with_its_request() {
    let server = served();
    let begun = server.post("/api/sql", "-- a comment\nBEGIN; INSERT INTO t VALUES ('2026-02-01', 'c', 2)");
    // What is lost is not acknowledged.
    assert_eq!((begun.status, json_of(&begun)["kind"].as_str()), (400, Some("usage")));
    for change in [
        "INSERT INTO t VALUES ('2026-02-01', 'c', 2) RETURNING name",
        "WITH a AS (INSERT INTO t VALUES ('2026-02-01', 'c', 2) RETURNING name) SELECT name FROM a",
    ] {
        let begun = server.post("/api/sql", format!("BEGIN; {change}"));
        assert_eq!((begun.status, json_of(&begun)["kind"].as_str()), (400, Some("usage")), "{change}");
    }
    assert_eq!(server.post("/api/sql", "BEGIN; DELETE FROM t; SELECT count(*) FROM t").status, 200);
    let counted = server.post("/api/sql?format=csv", "SELECT count(*) AS n FROM t");
    assert_eq!(counted.text(), "n\n3\n");
    assert_eq!(server.post("/api/sql", "BEGIN; INSERT INTO t VALUES ('2026-02-01', 'c', 2); COMMIT").status, 200);
    assert_eq!(server.rows("SELECT count(*) FROM t"), ["4"]);
}

#[test]
fn errors_have_a_kind_and_a_status() {
    let server = served();
    server.database.sql("CREATE TABLE k (a INT PRIMARY KEY)").unwrap();
    server.database.sql("INSERT INTO k VALUES (1)").unwrap();
    let cases = [
        ("SELEC 1", 400, "sql"),
        ("SELECT nothing FROM t", 400, "sql"),
        ("", 400, "sql"),
        ("INSERT INTO k VALUES (1)", 409, "duplicate_key"),
        ("SELECT 1/0", 400, ""),
        ("COPY t TO '/tmp/x.csv'", 400, "sql"),
    ];
    for (text, status, kind) in cases {
        let answer = server.post("/api/sql", text);
        let body = json_of(&answer);
        assert!(
            answer.status == status || (kind.is_empty() && answer.status >= 400),
            "{text}: {} {body}",
            answer.status
        );
        assert!(kind.is_empty() || body["kind"] == kind, "{text}: {body}");
        assert!(!body["message"].as_str().unwrap().is_empty());
    }
    assert_eq!(server.post("/api/sql?format=xml", "SELECT 1").status, 400);
    assert_eq!(server.get("/api/sql").status, 400);
    assert_eq!(server.send("DELETE", "/api/sql", &[], "").status, 405);
    assert_eq!(server.post("/api/sql", vec![b' '; 17 << 20]).status, 413);
    for (address, body) in [("/api/sql", "SELECT 1"), ("/write?db=a", "m x=1"), ("/api/append?table=t", "")] {
        let foreign = server.send("POST", address, &[("Origin", "http://evil.example")], body);
        assert_eq!(foreign.status, 403, "{address}");
    }
    assert_eq!(server.send("POST", "/api/sql", &[("Origin", "http://localhost")], "SELECT 1").status, 200);
}

fn stream_of(times: std::ops::Range<i64>) -> Vec<u8> {
    let rows = RecordBatch::try_from_iter([
        ("time", Arc::new(TimestampMicrosecondArray::from_iter_values(times.clone()).with_timezone("UTC")) as ArrayRef),
        ("x", Arc::new(Float64Array::from_iter_values(times.map(|time| time as f64)))),
    ])
    .unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &rows.schema()).unwrap();
    writer.write(&rows).unwrap();
    writer.into_inner().unwrap()
}

#[test]
fn arrow_batches_are_appended_once() {
    let server = served();
    let named = [("X-Atsdb-Batch", "load 1")];
    for duplicate in [false, true] {
        let answer = server.send("POST", "/api/append?table=t", &named, stream_of(0..1_000));
        let body = json_of(&answer);
        assert_eq!((answer.status, body["duplicate"].clone()), (200, json!(duplicate)), "{body}");
    }
    assert_eq!(server.post("/api/append?table=t&batch=load%202", stream_of(0..10)).status, 200);
    assert_eq!(server.rows("SELECT count(*) FROM t"), ["1013"]);
    assert_eq!(server.post("/api/append?table=none", stream_of(0..10)).status, 404);
    assert_eq!(server.post("/api/append", stream_of(0..10)).status, 400);
    assert_eq!(server.post("/api/append?table=t", "no stream").status, 422);
    assert_eq!(server.post("/api/append?table=t", "").status, 422);
    let twice = [stream_of(0..10), stream_of(10..20)].concat();
    assert_eq!(server.post("/api/append?table=t", twice).status, 422, "the second stream would be lost");
    let mut cut = stream_of(0..1_000);
    cut.truncate(cut.len() / 2);
    assert!([400, 422].contains(&server.post("/api/append?table=t", cut).status));
    let wrong = RecordBatch::try_from_iter([("y", Arc::new(Int64Array::from(vec![1])) as ArrayRef)]).unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &wrong.schema()).unwrap();
    writer.write(&wrong).unwrap();
    let refused = server.post("/api/append?table=t", writer.into_inner().unwrap());
    assert!([404, 422].contains(&refused.status), "{}", refused.text());
    let fields = ["time", "x", "X"].map(|name| Field::new(name, DataType::Int64, true));
    let columns = [1, 2, 3].map(|value| Arc::new(Int64Array::from(vec![value])) as ArrayRef);
    let twice = RecordBatch::try_new(Arc::new(Schema::new(fields.to_vec())), columns.to_vec()).unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &twice.schema()).unwrap();
    writer.write(&twice).unwrap();
    let refused = server.post("/api/append?table=t", writer.into_inner().unwrap());
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("column x is given twice"), "{}", refused.text());
    assert_eq!(server.rows("SELECT count(*) FROM t"), ["1013"]);
}

const ENDLESS: &str = "SELECT a.a AS a, b.b AS b FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b";

fn ask(server: &TestServer, format: &str) -> std::net::TcpStream {
    let mut stream = server.connect();
    let head = format!("POST /api/sql?format={format} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
    write!(stream, "{head}Content-Length: {}\r\n\r\n{ENDLESS}", ENDLESS.len()).unwrap();
    stream
}

#[test]
fn a_batch_that_is_sent_again_is_a_duplicate_whatever_became_of_its_table() {
    let server = served();
    server.database.sql("CREATE TABLE gone (time TIMESTAMP(6), x DOUBLE)").unwrap();
    let named = [("X-Atsdb-Batch", "load 7")];
    let send = || server.send("POST", "/api/append?table=gone", &named, stream_of(0..1_000));
    assert_eq!(json_of(&send()), json!({ "rows": 1_000, "duplicate": false }));
    let again = json!({ "rows": 1_000, "duplicate": true });
    server.database.sql("DROP TABLE gone").unwrap();
    let answer = send();
    assert_eq!((answer.status, json_of(&answer)), (200, again.clone()));
    server.database.sql("CREATE TABLE gone (other TEXT)").unwrap();
    assert_eq!(json_of(&send()), again);
    assert_eq!(server.rows("SELECT count(*) FROM gone"), ["0"]);
    // Another batch is refused as ever.
    let other = server.send("POST", "/api/append?table=nowhere", &[("X-Atsdb-Batch", "load 8")], stream_of(0..1));
    assert_eq!(other.status, 404);
}

#[test]
fn a_client_that_goes_away_ends_its_query() {
    let server = server();
    // More than may run at the same time: earlier ones must have ended.
    for _ in 0..24 {
        let mut stream = ask(&server, "csv");
        let mut part = [0; 10_000];
        stream.read_exact(&mut part).unwrap();
        drop(stream);
    }
    let begin = Instant::now();
    assert_eq!(server.post("/api/sql?format=csv", "SELECT 1 AS one").text(), "one\n1\n");
    assert!(begin.elapsed() < Duration::from_secs(300));
}

#[test]
fn a_large_answer_is_whole() {
    let server = server();
    let mut stream = server.connect();
    let text = "SELECT value FROM generate_series(CAST(1 AS BIGINT), 300000)";
    write!(
        stream,
        "POST /api/sql?format=arrow HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{text}",
        text.len()
    )
    .unwrap();
    let answer = reply(stream);
    let batches = StreamReader::try_new(answer.body.as_slice(), None).unwrap();
    let sum: i64 =
        batches.map(|batch| batch.unwrap().column(0).as_primitive::<Int64Type>().values().iter().sum::<i64>()).sum();
    assert_eq!(sum, 300_000 * 300_001 / 2);
}
