//! Line protocol: written lines are in the store, and the responses are InfluxDB's.

use crate::client::{TestServer, rows, serve, server};
use atsdb::OpenOptions;
use atsdb_server::IngestOptions;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use std::io::Write;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn json_of(body: &str) -> Value {
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {body}"))
}

fn write(server: &TestServer, lines: &str) {
    let reply = server.post("/write?db=test", lines);
    assert_eq!((reply.status, reply.text()), (204, ""), "{lines}");
}

#[test]
fn a_table_is_created_with_its_columns_and_key() {
    let server = server();
    write(&server, "cpu,host=a,core=0 user=1.5,n=3i,u=7u,up=t,note=\"x\" 1700000000000000000\n");
    let sql = server.rows("SELECT sql FROM atsdb.tables WHERE name = 'cpu'").join("\n");
    let expected = "CREATE TABLE cpu (
    time TIMESTAMP(9),
    host TEXT,
    core TEXT,
    \"user\" DOUBLE,
    n BIGINT,
    u BIGINT UNSIGNED,
    up BOOLEAN,
    note TEXT,
    UNIQUE NULLS NOT DISTINCT (host, core, time)
) WITH (time = 'time', slice = 'day', map = 'host:u32, core:u32', sort = 'host, core', on_conflict = 'merge')";
    assert_eq!(sql.replace("key = 'host", "sort = 'host").replace("    user ", "    \"user\" "), expected);
    let row = "2023-11-14T22:13:20 | a | 0 | 1.5 | 3 | 7 | true | x";
    assert_eq!(server.rows("SELECT * FROM cpu").join("").replace("Z", ""), row);
}

#[test]
fn lines_of_one_series_and_time_become_one_row() {
    let server = server();
    write(&server, "cpu,host=a user=1 10\ncpu,host=a system=2 10\n");
    write(&server, "cpu,host=a user=3 10\ncpu system=4 10\ncpu user=5 10");
    let query = "SELECT host, \"user\", system FROM cpu ORDER BY host NULLS FIRST";
    assert_eq!(server.rows(query), ["NULL | 5.0 | 4.0", "a | 3.0 | 2.0"]);
}

#[test]
fn a_new_tag_widens_the_key_in_the_commit_of_its_rows() {
    let server = server();
    write(&server, "cpu,host=a user=1 10");
    write(
        &server,
        "cpu,host=a,core=1 user=2 10\ncpu,host=a user=3 10\ncpu,host=a,core=1 system=4i 10\ncpu,rack=r user=6 10",
    );
    let query = "SELECT host, core, rack, \"user\", system FROM cpu ORDER BY 1 NULLS FIRST, 2 NULLS FIRST";
    let expected = ["NULL | NULL | r | 6.0 | NULL", "a | NULL | NULL | 3.0 | NULL", "a | 1 | NULL | 2.0 | 4"];
    assert_eq!(server.rows(query), expected);
    server.database.engine().recompress(None).unwrap();
    write(&server, "cpu,host=a,core=1 user=9 10");
    assert_eq!(server.rows(query)[2], "a | 1 | NULL | 9.0 | 4");
}

#[test]
fn every_version_and_precision_is_understood() {
    let server = server();
    let cases = [
        ("/write?db=d&precision=n", "1700000000000000000"),
        ("/write?db=d&precision=u", "1700000000000000"),
        ("/write?db=d&precision=ms&u=me&p=secret&rp=autogen", "1700000000000"),
        ("/write?db=d&precision=s", "1700000000"),
        ("/write?db=d&precision=m", "28333333"),
        ("/write?db=d&precision=h", "472222"),
        ("/api/v2/write?bucket=b&org=o&precision=ns", "1700000000000000000"),
        ("/api/v2/write?bucket=b&org=o&precision=us", "1700000000000000"),
        ("/api/v2/write?bucket=b&org=o", "1700000000000000000"),
        ("/api/v3/write_lp?db=d&precision=millisecond", "1700000000000"),
        ("/api/v3/write_lp?db=d&precision=auto&no_sync=true", "1700000000"),
        ("/api/v3/write_lp?db=d", "1700000000000000000"),
    ];
    for (number, (path, time)) in cases.iter().enumerate() {
        assert_eq!(server.post(path, format!("m,case={number} v=1 {time}")).status, 204, "{path}");
    }
    let times = server.rows("SELECT DISTINCT date_trunc('hour', time) AS t FROM m ORDER BY t");
    assert_eq!(times.len(), 1, "{times:?}");
    assert_eq!(server.rows("SELECT count(*) FROM m"), ["12"]);
}

#[test]
fn a_body_may_be_compressed_and_empty() {
    let server = server();
    let body = gzip(b"m v=1 1\nm v=2 2\n");
    assert_eq!(server.send("POST", "/write?db=d", &[("Content-Encoding", "gzip")], body).status, 204);
    assert_eq!(server.rows("SELECT v FROM m ORDER BY time"), ["1.0", "2.0"]);
    assert_eq!(server.post("/write?db=d", "").status, 204);
    assert_eq!(server.post("/write?db=d", "\n# nothing\n").status, 204);
}

#[test]
fn a_partial_write_is_reported_as_each_version_does() {
    let server = server();
    let body = "m v=1 1\nm v=x 2\nm v=3 3\nm v=\"text\" 4\n";
    let reply = server.post("/write?db=d", body);
    let message = "partial write: unable to parse line 2 'm v=x 2': invalid field value \"x\" dropped=2";
    assert_eq!((reply.status, json_of(reply.text())), (400, json!({ "error": message })));
    assert_eq!(reply.header("x-influxdb-error"), Some(message));
    let reply = server.post("/api/v2/write?bucket=b", body);
    assert_eq!((reply.status, json_of(reply.text())), (400, json!({ "code": "invalid", "message": message })));
    let reply = server.post("/api/v3/write_lp?db=d&precision=nanosecond", body);
    let line = |number: u64, line: &str, message: &str| json!({ "original_line": line, "line_number": number, "error_message": message });
    let conflict =
        "field type conflict: input field \"v\" on measurement \"m\" is type string, already exists as type float";
    let data = [line(2, "m v=x 2", "invalid field value \"x\""), line(4, "m v=\"text\" 4", conflict)];
    let expected = json!({ "error": "partial write of line protocol occurred", "data": data });
    assert_eq!((reply.status, json_of(reply.text())), (400, expected));
    assert_eq!(server.rows("SELECT v FROM m ORDER BY time"), ["1.0", "3.0"], "the good lines are stored");

    let reply =
        server.post("/api/v3/write_lp?db=d&precision=nanosecond&accept_partial=false", "other v=1 1\nother v 2");
    let expected = json!({ "error": "parsing failed for write_lp endpoint", "data": line(2, "other v 2", "invalid field format") });
    assert_eq!((reply.status, json_of(reply.text())), (400, expected));
    assert_eq!(server.rows("SELECT count(*) FROM atsdb.tables WHERE name = 'other'"), ["0"]);

    let reply = server.post("/write?db=d", "m");
    assert_eq!(json_of(reply.text())["error"], "unable to parse line 1 'm': missing fields");
}

#[test]
fn numbers_take_the_type_of_the_column() {
    let server = server();
    write(&server, "m f=1.5,i=2i 1");
    write(&server, "m f=7i,i=8 2");
    let reply = server.post("/write?db=d", "m i=2.5 3\nm f=9007199254740993i 4\nm f=3,i=3i 5");
    assert_eq!(reply.status, 400);
    assert!(reply.text().ends_with("dropped=2\"}"), "{}", reply.text());
    assert_eq!(server.rows("SELECT f, i FROM m ORDER BY time"), ["1.5 | 2", "7.0 | 8", "3.0 | 3"]);
}

#[test]
fn a_named_batch_counts_once() {
    let server = server();
    server.database.sql("CREATE TABLE log (time TIMESTAMP(9), v DOUBLE)").unwrap();
    for _ in 0..3 {
        assert_eq!(server.send("POST", "/write?db=d", &[("X-Atsdb-Batch", "one")], "log v=1 1\nlog v=2 2").status, 204);
    }
    assert_eq!(server.rows("SELECT count(*) FROM log"), ["2"]);
    assert_eq!(server.send("POST", "/write?db=d", &[("X-Atsdb-Batch", "")], "log v=1 1").status, 400);
    assert_eq!(server.send("POST", "/write?db=d", &[("X-Atsdb-Batch", "two")], "log v=1 1").status, 204);
    assert_eq!(server.rows("SELECT count(*) FROM log"), ["3"]);
}

#[test]
fn many_writers_of_new_tables_and_columns_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let database = OpenOptions::new().open(folder.path().join("t.db").to_str().unwrap()).unwrap();
    let server = serve(database, IngestOptions::default());
    std::thread::scope(|scope| {
        for writer in 0..8_i64 {
            let server = &server;
            scope.spawn(move || {
                for round in 0..20_i64 {
                    let (time, host) = (round * 100 + 1, writer);
                    let lines = format!(
                        "cpu,host=h{host} f{writer}={round},shared={writer}i {time}\ncpu,t{writer}=x,host=h v=1 {round}\n\
                         table{} v={round} {writer}\n",
                        round % 3
                    );
                    write(server, &lines);
                }
            });
        }
    });
    assert_eq!(server.rows("SELECT count(*), count(shared) FROM cpu"), ["320 | 160"]);
    assert_eq!(server.rows("SELECT count(*) FROM table0"), ["8"]);
    assert_eq!(server.rows("SELECT min(f7), max(f7), count(f7) FROM cpu"), ["0.0 | 19.0 | 20"]);
    assert_eq!(server.database.engine().verify(None).unwrap().findings.len(), 0);
    drop(server);
    let database = OpenOptions::new().open(folder.path().join("t.db").to_str().unwrap()).unwrap();
    assert_eq!(rows(&database, "SELECT count(*) FROM cpu"), ["320"]);
}

#[test]
fn clients_that_prepare_get_their_answers() {
    let server = server();
    let ping = server.get("/ping");
    assert_eq!(ping.status, 204);
    assert!(ping.header("x-influxdb-version").is_some());
    assert_eq!(server.send("HEAD", "/ping", &[], "").status, 204);
    let shown = server.get("/query?q=SHOW%20DATABASES");
    assert_eq!(json_of(shown.text())["results"][0]["series"][0]["values"], json!([["atsdb"]]));
    let created = server.post("/query", "q=CREATE+DATABASE+%22telegraf%22");
    assert_eq!((created.status, json_of(created.text())), (200, json!({ "results": [{ "statement_id": 0 }] })));
    assert_eq!(server.post("/query?q=CREATE%20DATABASE%20benchmark%20WITH%20REPLICATION%201", "").status, 200);
    let refused = server.get("/query?q=SELECT%20*%20FROM%20cpu");
    assert_eq!(refused.status, 400);
    assert!(json_of(refused.text())["error"].as_str().unwrap().contains("/api/sql"));
    assert_eq!(server.get("/query").status, 400);
}

#[test]
fn requests_that_are_not_writes_have_their_status() {
    let server = server();
    let cases = [
        ("POST", "/write", 400),
        ("POST", "/write?db=", 400),
        ("POST", "/write?db=d&precision=year", 400),
        ("POST", "/api/v2/write?org=o", 400),
        ("POST", "/api/v3/write_lp", 400),
        ("POST", "/api/v3/write_lp?db=d&accept_partial=perhaps", 400),
        ("GET", "/write?db=d", 405),
        ("POST", "/writ?db=d", 404),
        ("POST", "/ping", 405),
    ];
    for (method, path, status) in cases {
        assert_eq!(server.send(method, path, &[], "m v=1 1").status, status, "{method} {path}");
    }
    let encoded = |encoding: &str, body: &[u8]| {
        server.send("POST", "/write?db=d", &[("Content-Encoding", encoding)], body).status
    };
    assert_eq!(encoded("br", b"m v=1 1"), 415);
    assert_eq!(encoded("gzip", b"m v=1 1"), 400);
    assert_eq!(encoded("gzip", &gzip(b"m v=1 1")[..12]), 400);
    assert_eq!(encoded("identity", b"m v=1 1"), 204);
    server.database.sql("CREATE VIEW v AS SELECT 1 AS a").unwrap();
    server.database.sql("CREATE TABLE plain (a INT)").unwrap();
    for table in ["v", "plain"] {
        assert_eq!(server.post("/write?db=d", format!("{table} a=1 1")).status, 400, "{table}");
    }
}

#[test]
fn a_measurement_with_a_dot_is_in_the_schema_that_it_names() {
    let server = server();
    write(&server, "a.lp v=1 1");
    assert_eq!(server.rows("SELECT v FROM \"a.lp\""), ["1.0"]);
    server.database.sql("CREATE SCHEMA b").unwrap();
    write(&server, "b.lp v=2 1\nb.lp v=3 2");
    write(&server, "b.lp v=4 3");
    assert_eq!(server.rows("SELECT v FROM b.lp ORDER BY v"), ["2.0", "3.0", "4.0"]);
}

#[test]
fn known_tags_are_stored_under_the_present_definition() {
    let server = server();
    let run = |sql: &str| drop(server.database.sql(sql).unwrap());
    let hosts = || server.rows("SELECT host FROM cpu ORDER BY time");
    write(&server, "cpu,host=a f=1 1\ncpu,host=b f=1 2");
    run("ALTER TABLE cpu ADD COLUMN note TEXT DEFAULT 'late'");
    write(&server, "cpu,zone=z,host=b f=1 3\ncpu,host=c f=1 4");
    assert_eq!(hosts(), ["a", "b", "b", "c"]);
    // A new table has its strings in another order.
    run("DROP TABLE cpu");
    write(&server, "cpu,host=c f=1 1\ncpu,host=b f=1 2");
    write(&server, "cpu,host=a f=1 3\ncpu,host=c f=1 4");
    assert_eq!(hosts(), ["c", "b", "a", "c"]);
}
