//! Each protocol reaches the database that it names, and no other.

use super::several::{NAMES, Several, any_ports};
use crate::flight::client::connect_to;
use crate::programs::clients;
use arrow::array::{Int64Array, RecordBatch};
use arrow::ipc::writer::StreamWriter;
use atsdb_server::{DatabaseSource, Listening, Server, ServerOptions};
use postgres::error::SqlState;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use tonic::Code;

#[test]
fn psql_lists_and_changes_databases() {
    let several = Several::new();
    let script = "CREATE TABLE own (a INT); INSERT INTO own VALUES (1);\n\\l\n\\c machines\n\
                  SELECT current_database(), current_catalog; CREATE TABLE own (b TEXT); INSERT INTO own VALUES ('x');\n\
                  SELECT * FROM own;\n\\d own\n\\c air\nSELECT * FROM own;\n\\c nowhere\n";
    let Some(found) = several.psql("user=me dbname=air", "", script) else { return };
    let lines: Vec<&str> = found.lines().collect();
    assert!(lines[0].starts_with("air|me|UTF8") && lines[1].starts_with("machines|me|UTF8"), "{found}");
    assert_eq!(lines[2..6], ["machines|machines", "x", "b|text|||", "1"], "{found}");
    assert!(found.contains("database \"nowhere\" does not exist") && found.contains("air, machines"), "{found}");
    assert_eq!(several.rows("air", "SELECT * FROM own"), ["1"]);
    assert_eq!(several.rows("machines", "SELECT * FROM own"), ["x"]);
}

#[test]
fn an_unknown_database_is_an_error_with_the_names_of_those_that_exist() {
    let several = Several::new();
    for keywords in ["user=me dbname=nowhere", "user=me"] {
        let error = several.connect(keywords).map(drop).unwrap_err();
        assert_eq!(error.code(), Some(&SqlState::INVALID_CATALOG_NAME), "{error}");
        assert_eq!(error.as_db_error().unwrap().hint(), Some("available: air, machines"));
    }
    let mut air = several.connect("user=me dbname=air").unwrap();
    let names = "SELECT datname, datname = current_database() FROM pg_database ORDER BY 1";
    let found: Vec<(String, bool)> =
        air.query(names, &[]).unwrap().iter().map(|row| (row.get(0), row.get(1))).collect();
    assert_eq!(found, [("air".to_owned(), true), ("machines".to_owned(), false)]);
    // What is known of the other database is its name.
    let size = |name: &str| format!("SELECT pg_database_size('{name}')");
    assert!(air.query_one(&size("air"), &[]).is_ok());
    let denied = air.query_one(&size("machines"), &[]).unwrap_err();
    assert_eq!(denied.code(), Some(&SqlState::INSUFFICIENT_PRIVILEGE));
    let unknown = air.query_one(&size("nowhere"), &[]).unwrap_err();
    assert_eq!(unknown.code(), Some(&SqlState::INVALID_CATALOG_NAME));
    for (name, may) in [("air", true), ("machines", false)] {
        let asked = format!("SELECT has_database_privilege('{name}', 'CONNECT')");
        assert_eq!(air.query_one(&asked, &[]).unwrap().get::<_, bool>(0), may, "{name}");
    }
    let joined = "SELECT d.datname FROM pg_stat_activity a JOIN pg_database d ON a.datid = d.oid \
                  WHERE a.datname = d.datname";
    assert_eq!(air.query_one(joined, &[]).unwrap().get::<_, String>(0), "air");
}

#[test]
fn lines_reach_the_database_that_they_name() {
    let several = Several::new();
    let line = "pm,station=north pm10=17.5 1";
    for path in [
        "/write?db=machines",
        "/api/v2/write?bucket=machines",
        "/api/v2/write?bucket=machines/autogen",
        "/api/v3/write_lp?db=machines&precision=nanosecond",
    ] {
        assert_eq!(several.post(path, line).status, 204, "{path}");
    }
    assert_eq!(several.rows("machines", "SELECT count(*) FROM pm"), ["1"]);
    assert_eq!(several.table_count("air"), 0);
    let missing = several.post("/write?db=nowhere", line);
    assert_eq!(missing.status, 404);
    assert!(missing.text().contains("database not found: \\\"nowhere\\\" (available: air, machines)"), "{missing:?}");
    let unnamed = several.post("/write", line);
    assert_eq!(unnamed.status, 400);
    assert!(unnamed.text().contains("names no database") && unnamed.text().contains("air, machines"), "{unnamed:?}");
    let listed = several.send("GET", "/query?q=SHOW+DATABASES", &[], "");
    assert!(listed.text().contains("[[\"air\"],[\"machines\"]]"), "{listed:?}");
    let create = |name: &str| several.post(&format!("/query?q=CREATE+DATABASE+%22{name}%22"), "").status;
    assert_eq!((create("machines"), create("Machines"), create("new")), (200, 403, 403));
    assert_eq!(several.send("GET", "/ping", &[], "").status, 204);
}

#[test]
fn sql_over_http_reaches_the_database_that_it_names() {
    let several = Several::new();
    // The tables have the same number and the same version in both stores.
    several.execute("air", "CREATE TABLE t (a INT); INSERT INTO t VALUES (1)");
    several.execute("machines", "CREATE TABLE t (b TEXT, c INT); INSERT INTO t VALUES ('x', 2)");
    for _ in 0..3 {
        for (name, expected) in NAMES.into_iter().zip(["[{\"a\":1}]", "[{\"b\":\"x\",\"c\":2}]"]) {
            let by_parameter = several.post(&format!("/api/sql?db={name}"), "SELECT * FROM t");
            assert_eq!(by_parameter.text().replace('\n', ""), expected);
            let by_header = several.send("POST", "/api/sql", &[("database", name)], "SELECT * FROM t");
            assert_eq!(by_header.text().replace('\n', ""), expected);
            let got = several.send("GET", &format!("/api/sql?db={name}&sql=SELECT+*+FROM+t"), &[], "");
            assert_eq!(got.text().replace('\n', ""), expected);
        }
    }
    assert_eq!(several.post("/api/sql", "SELECT 1").status, 400);
    assert_eq!(several.post("/api/sql?db=nowhere", "SELECT 1").status, 404);
    assert_eq!(several.send("POST", "/api/sql?db=air", &[("database", "machines")], "SELECT 1").status, 400);
    let databases = several.send("GET", "/api/databases", &[], "");
    assert_eq!(databases.text(), "{\"databases\":[\"air\",\"machines\"]}");
    assert_eq!(several.send("GET", "/", &[], "").status, 200);
}

#[test]
fn arrow_batches_and_samples_reach_the_database_that_they_name() {
    let several = Several::new();
    NAMES.iter().for_each(|name| several.execute(name, "CREATE TABLE t (a BIGINT)"));
    let rows = RecordBatch::try_from_iter([("a", Arc::new(Int64Array::from(vec![1, 2])) as _)]).unwrap();
    let mut body = Vec::new();
    let mut writer = StreamWriter::try_new(&mut body, &rows.schema()).unwrap();
    writer.write(&rows).unwrap();
    writer.finish().unwrap();
    assert_eq!(several.post("/api/append?table=t&db=machines", &body).status, 200);
    assert_eq!(several.rows("machines", "SELECT count(*) FROM t"), ["2"]);
    assert_eq!(several.rows("air", "SELECT count(*) FROM t"), ["0"]);
    let metric = r#"{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"heat","gauge":{"dataPoints":[
        {"timeUnixNano":"1000000000","asInt":"7"}]}}]}]}]}"#;
    let json = ("Content-Type", "application/json");
    assert_eq!(several.send("POST", "/v1/metrics", &[json, ("database", "machines")], metric).status, 200);
    assert_eq!(several.send("POST", "/v1/metrics", &[json], metric).status, 400);
    let query = |name: &str| several.send("GET", &format!("/api/v1/query?db={name}&query=heat&time=1"), &[], "");
    assert!(query("machines").text().contains("\"7\""), "{:?}", query("machines"));
    assert!(!query("air").text().contains("\"7\""), "{:?}", query("air"));
}

#[test]
fn flight_sql_names_a_database_in_a_header() {
    let several = Several::new();
    several.execute("machines", "CREATE TABLE t (a BIGINT); INSERT INTO t VALUES (42)");
    let client = |database: &str| {
        let mut client = connect_to(several.server.grpc_address().unwrap());
        if !database.is_empty() {
            client.sql.set_header("database", database);
        }
        client
    };
    assert_eq!(client("machines").number("SELECT a FROM t"), 42);
    assert!(client("air").info("SELECT a FROM t").is_err(), "the table is in the other database");
    let unknown = client("nowhere").info("SELECT 1").unwrap_err();
    assert_eq!(
        (unknown.code(), unknown.message()),
        (Code::NotFound, "database not found: \"nowhere\" (available: air, machines)")
    );
    let unnamed = client("").info("SELECT 1").unwrap_err();
    assert_eq!(unnamed.code(), Code::InvalidArgument);
    assert!(unnamed.message().contains("names no database"), "{unnamed}");
}

#[test]
fn metrics_are_those_of_each_database() {
    let several = Several::new();
    several.post("/write?db=machines", "m v=1 1\nm v=2 2");
    let text = several.send("GET", "/metrics", &[], "").text().to_owned();
    for line in [
        "atsdb_lines_stored_total{database=\"air\"} 0",
        "atsdb_lines_stored_total{database=\"machines\"} 2",
        "atsdb_database_up{database=\"air\"} 1",
        "# TYPE atsdb_http_connections gauge",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    let mut described: Vec<&str> = text.lines().filter(|line| line.starts_with("# TYPE")).collect();
    let count = described.len();
    described.dedup();
    assert_eq!(described.len(), count, "each metric is described once");
}

#[test]
fn a_single_database_with_a_name_has_only_that_name() {
    let source = || DatabaseSource::named("air", || atsdb::open("memory:")).unwrap();
    let listening = || Listening::open(any_ports(ServerOptions::default())).unwrap();
    let server = Server::start_all(vec![source()], listening()).unwrap();
    let port = server.pg_address().unwrap().port();
    let connect = |name: &str| {
        postgres::Client::connect(&format!("host=127.0.0.1 port={port} user=me dbname={name}"), postgres::NoTls)
    };
    assert!(connect("air").is_ok() && connect("other").is_err());
    let send = |path: &str| crate::client::send(server.http_address().unwrap(), "POST", path, &[], b"SELECT 1").status;
    assert_eq!((send("/api/sql"), send("/api/sql?db=air"), send("/api/sql?db=other")), (200, 200, 404));
    let twice = Server::start_all(vec![source(), source()], listening()).unwrap_err();
    assert!(twice.to_string().contains("two databases have the name air"), "{twice}");
    assert!(DatabaseSource::named("a/b", || atsdb::open("memory:")).is_err());
}

#[test]
fn psycopg_uses_both_databases() {
    let Some(python) = clients().map(|folder| folder.join("python/bin/python")).filter(|path| path.exists()) else {
        eprintln!("skipped: the Python clients are not installed: .ci/clients FOLDER, then ATSDB_CLIENTS=FOLDER");
        return;
    };
    let several = Several::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients/databases.py");
    let url = format!("postgresql://me@127.0.0.1:{}/air", several.server.pg_address().unwrap().port());
    let output = Command::new(python).arg(script).arg(url).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.trim_end().ends_with("done"), "{text}");
    assert_eq!(several.rows("air", "SELECT count(*) FROM own"), ["100"]);
    assert_eq!(several.rows("machines", "SELECT count(*) FROM own"), ["200"]);
}

#[test]
fn chromium_chooses_a_database() {
    let several = Several::new();
    several.execute("air", "CREATE TABLE points (a INT)");
    several.execute("machines", "CREATE TABLE heats (name TEXT); INSERT INTO heats VALUES ('furnace')");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/page/databases.py");
    let url = format!("http://{}/", several.server.http_address().unwrap());
    let Ok(output) = Command::new("python3").arg(script).arg(url).output() else {
        eprintln!("skipped: there is no python3, which drives the browser");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
}
