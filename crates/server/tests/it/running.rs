//! Running statements are listed, whichever client sent them, and cancelling one affects no other.

use crate::client::server;
use crate::support::Served;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const SLOW: &str = "SELECT count(*) FROM points a, points b WHERE a.value + b.value < 0";

fn served() -> Served {
    let served = Served::new();
    let statements =
        ["CREATE TABLE points (value DOUBLE)", "INSERT INTO points SELECT i FROM generate_series(1, 100000) AS g(i)"];
    statements.iter().for_each(|statement| drop(served.database.sql(statement).unwrap()));
    served
}

/// Returns the status and body of a response.
fn http(served: &Served, method: &str, path: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(served.server.http_address().unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(300))).unwrap();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + body).as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

fn listed(served: &Served) -> Vec<serde_json::Value> {
    let (status, body) = http(served, "GET", "/api/statements", "");
    assert_eq!(status, 200);
    serde_json::from_str::<Vec<serde_json::Value>>(&body).unwrap()
}

/// Waits until this many statements are running.
fn wait_for(served: &Served, count: usize) -> Vec<serde_json::Value> {
    let begun = Instant::now();
    loop {
        let found = listed(served);
        if found.len() == count {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(300), "{found:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_statement_of_each_protocol_is_listed_and_cancelled_alone() {
    let served = served();
    std::thread::scope(|scope| {
        let by_http = scope.spawn(|| http(&served, "POST", "/api/sql", SLOW));
        wait_for(&served, 1);
        let by_pg = scope.spawn(|| {
            let mut client = postgres::Config::new();
            client.host("127.0.0.1").port(served.pg().port()).user("me").dbname("air");
            let mut client = client.connect(postgres::NoTls).unwrap();
            let failed = client.simple_query(SLOW).unwrap_err();
            // The connection can be used further.
            (failed.code().cloned(), client.simple_query("SELECT 1").is_ok())
        });
        let both = wait_for(&served, 2);
        assert_eq!([&both[0]["protocol"], &both[1]["protocol"]], ["http", "postgresql"]);
        assert_eq!([&both[0]["sql"], &both[1]["sql"]], [SLOW, SLOW]);
        assert_eq!((&both[0]["user"], &both[1]["user"]), (&serde_json::Value::Null, &"me".into()));
        assert!(both[0]["seconds"].as_f64().unwrap() >= both[1]["seconds"].as_f64().unwrap());

        assert_eq!(http(&served, "DELETE", &format!("/api/statements/{}", both[1]["id"]), "").0, 204);
        assert_eq!(by_pg.join().unwrap(), (Some(postgres::error::SqlState::QUERY_CANCELED), true));
        let left = wait_for(&served, 1);
        assert_eq!(left[0]["id"], both[0]["id"], "the other one runs on");

        assert_eq!(http(&served, "DELETE", &format!("/api/statements/{}", both[0]["id"]), "").0, 204);
        let (status, body) = by_http.join().unwrap();
        assert!(status == 503 && body.contains("\"kind\":\"interrupted\""), "{status} {body}");
    });
    assert_eq!(wait_for(&served, 0).len(), 0);
    // The session of the cancelled statement is used for other statements.
    assert!(
        http(&served, "POST", "/api/sql?format=ndjson", "SELECT count(*) AS n FROM points")
            .1
            .contains("{\"n\":100000}")
    );
}

#[test]
fn only_running_statements_can_be_cancelled() {
    let server = server();
    for path in ["/api/statements/1", "/api/statements/none", "/api/statements/99999999999999999999999"] {
        let reply = server.send("DELETE", path, &[], "");
        assert_eq!(reply.status, 404, "{path}");
        assert!(reply.text().contains("is running"), "{}", reply.text());
    }
    // A page of another origin can neither list nor cancel.
    for (method, path) in [("GET", "/api/statements"), ("DELETE", "/api/statements/1")] {
        assert_eq!(server.send(method, path, &[("Origin", "http://evil.example")], "").status, 403, "{path}");
    }
}

#[test]
fn a_client_that_goes_away_leaves_no_statement() {
    let served = served();
    let mut stream = TcpStream::connect(served.server.http_address().unwrap()).unwrap();
    let head = format!("POST /api/sql HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{SLOW}", SLOW.len());
    stream.write_all(head.as_bytes()).unwrap();
    wait_for(&served, 1);
    drop(stream);
    wait_for(&served, 0);
}

#[test]
fn the_format_table_says_columns_rows_and_how_it_ended() {
    let served = Served::with_tables();
    let table = |sql: &str| {
        let (status, body) = http(&served, "POST", "/api/sql?format=table", sql);
        let lines = body.split("\r\n").flat_map(|chunk| chunk.split('\n')).filter(|line| line.starts_with(['{', '[']));
        (status, lines.map(str::to_owned).collect::<Vec<_>>())
    };
    let (status, lines) = table("SELECT time, sensor, value, count FROM readings ORDER BY time");
    assert_eq!(status, 200);
    assert_eq!(
        lines,
        [
            "{\"columns\":[{\"name\":\"time\",\"type\":\"TIMESTAMP\"},{\"name\":\"sensor\",\"type\":\"TEXT\"},\
             {\"name\":\"value\",\"type\":\"DOUBLE\"},{\"name\":\"count\",\"type\":\"BIGINT\"}]}",
            "[\"2024-01-01T00:00:00Z\",\"s1\",0.5,1]",
            "[\"2024-01-01T00:01:00Z\",\"s2\",1.5,2]",
            "[\"2024-01-01T00:02:00Z\",\"s1\",null,3]",
            "{\"rows\":3}",
        ]
    );
    let (_, lines) = table("SELECT * FROM sensors WHERE false");
    assert_eq!(lines.len(), 2, "columns are known without rows: {lines:?}");
    // Numbers that a float would change are sent as text, others are not. Columns with the same name keep their values.
    let (_, lines) = table(
        "SELECT 9007199254740993 AS a, -9007199254740993 AS b, 999999999999999 AS c, CAST(1.5 AS DECIMAL(20, 2)) AS d, \
         CAST('NaN' AS DOUBLE) AS e, 1 AS x, 2 AS x",
    );
    assert_eq!(lines[1], "[\"9007199254740993\",\"-9007199254740993\",999999999999999,1.50,\"NaN\",1,2]");
    // If an error occurs after rows were sent, it is the last line, instead of the count.
    let (status, lines) = table("SELECT 100 / (200000 - i) AS q FROM generate_series(1, 300000) AS g(i)");
    assert_eq!(status, 200, "{lines:?}");
    let last = lines.last().unwrap();
    assert!(last.starts_with("{\"error\":{") && last.contains("division by zero"), "{last}");
}
