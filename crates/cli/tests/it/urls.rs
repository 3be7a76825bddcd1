//! Files at URLs: over HTTP from a server in this process, from S3 on moto's server if it is installed.

use crate::support::{Case, Run};
use crate::web_server::WebServer;
use atsdb_testkit::server::Moto;
use std::fmt::Write as _;
use std::process::{Command, Stdio};

const ROWS: u64 = 9_000;

fn csv() -> Vec<u8> {
    let mut text = String::from("time,v\n");
    for row in 0..ROWS {
        writeln!(text, "{},{}", 1_700_000_000 + row, row * 7 % 1_000).unwrap();
    }
    text.into_bytes()
}

fn gzip(case: &Case, content: &[u8]) -> Vec<u8> {
    case.write("packed.csv", content);
    let out = Command::new("gzip").args(["-c", "packed.csv"]).current_dir(case.path("")).output().unwrap();
    assert!(out.status.success());
    std::fs::remove_file(case.path("packed.csv")).unwrap();
    out.stdout
}

/// A file of three columns in several row groups; `pad` is nearly all of it.
fn parquet(case: &Case) -> Vec<u8> {
    let sql = "SELECT to_timestamp(1700000000 + value) AS time, value % 100 AS v,
        concat(md5(value::text), md5((value + 1)::text), md5((value * 3)::text)) AS pad FROM generate_series(1, 60000)";
    case.run(&["sql", "memory:", sql, "-o", "x.parquet"]).well();
    let bytes = std::fs::read(case.path("x.parquet")).unwrap();
    std::fs::remove_file(case.path("x.parquet")).unwrap();
    assert!(bytes.len() > 2_000_000, "{}", bytes.len());
    bytes
}

/// Imports without a proxy, which would not reach this machine.
fn command(case: &Case, arguments: &[&str]) -> Command {
    let mut command = case.command(arguments);
    for name in ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        command.env_remove(name);
    }
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("AWS_")) {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
    command
}

fn run(case: &Case, arguments: &[&str]) -> Run {
    Run::of(&mut command(case, arguments))
}

fn import(case: &Case, url: &str, more: &[&str]) -> Run {
    run(case, &[&["import", "a.db", "t", url], more].concat())
}

/// Requires an import that stored all rows of [`csv`].
#[track_caller]
fn assert_stored(case: &Case, run: &Run) {
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(case.query("a.db", "SELECT count(*), sum(v) FROM t"), "9000,4495500");
}

#[test]
fn files_arrive_from_servers_of_every_kind() {
    let setup = Case::new();
    let server = WebServer::start(&[("day.csv", csv()), ("day.csv.gz", gzip(&setup, &csv())), ("day", csv())]);
    for path in [
        "plain/day.csv",
        "ranges/day.csv",
        "ranges/day.csv.gz?token=1",
        "chunked/day.csv",
        "chunked/day.csv.gz",
        "moved/moved/plain/day",
        "flaky/day.csv",
    ] {
        let case = Case::new();
        let done = import(&case, &server.url(path), &[]);
        assert_stored(&case, &done);
        assert!(!done.stderr.contains("warning"), "{path}: {}", done.stderr);
        assert_eq!(case.names(), ["a.db"], "{path}");
    }
    assert!(server.requests().iter().all(|request| request.authorization.is_none()));
    let case = Case::new();
    let done = import(&case, &server.url("endless/day.csv"), &[]);
    assert_stored(&case, &done);
    assert!(done.stderr.contains("a cut connection would not be noticed"), "{}", done.stderr);
}

#[test]
fn a_file_is_stored_once_wherever_it_is() {
    let case = Case::new();
    case.write("here.csv", csv());
    let server = WebServer::start(&[("day.csv", csv()), ("day.csv.gz", gzip(&case, &csv()))]);
    let url = server.url("plain/day.csv.gz");
    assert_stored(&case, &import(&case, &url, &[]));
    for again in [url.as_str(), &server.url("chunked/day.csv"), "here.csv"] {
        let run = import(&case, again, &[]);
        assert!(run.text().contains("imported into this table before"), "{}", run.text());
    }
    assert_eq!(import(&case, &url, &["--again"]).code, 0);
    assert_eq!(case.query("a.db", "SELECT count(*) FROM t"), "18000");
    // The name is that of the file.
    let named = server.url("ranges/day.csv?name=other.csv");
    assert_eq!(run(&case, &["import", "a.db", "u", &named, "here.csv", "--file-column", "f"]).code, 0);
    assert_eq!(case.query("a.db", "SELECT f, count(*) FROM u GROUP BY 1 ORDER BY 1"), "day,9000\nhere,9000");
}

#[test]
fn of_parquet_only_what_is_needed_arrives() {
    let case = Case::new();
    let file = parquet(&case);
    let server = WebServer::start(&[("x.parquet", file.clone())]);
    let sum = "SELECT count(*), sum(v) FROM t";
    let done = import(&case, &server.url("ranges/x.parquet"), &["--columns", "time,v"]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    let requests = server.requests();
    // The first request has no range, and is dropped when the beginning of the file has arrived.
    let sent: usize = requests[1..].iter().map(|request| request.sent_bytes).sum();
    assert!(requests.len() > 2 && sent < file.len() / 4, "{sent} of {}: {requests:?}", file.len());
    assert_eq!(case.query("a.db", sum), "60000,2970000");
    assert!(import(&case, &server.url("ranges/x.parquet"), &[]).text().contains("imported into this table before"));
    server.requests();
    for path in ["ranges/x.parquet", "flaky/x.parquet", "plain/x.parquet", "chunked/x.parquet"] {
        let case = Case::new();
        let done = import(&case, &server.url(path), &[]);
        assert_eq!(done.code, 0, "{path}: {}", done.stderr);
        assert_eq!(case.query("a.db", sum), "60000,2970000", "{path}");
        assert_eq!(case.query("a.db", "SELECT count(DISTINCT pad) FROM t"), "60000", "{path}");
        if path.starts_with("ranges") {
            let sent: usize = server.requests()[1..].iter().map(|request| request.sent_bytes).sum();
            assert!(sent <= file.len(), "nothing is fetched twice: {sent} of {}", file.len());
        }
    }
}

#[test]
fn messages_name_a_file_by_its_url() {
    let server = WebServer::start(&[("day.csv", b"time,v\n2024-01-01,1\nnoon,2\n".to_vec())]);
    let (case, url) = (Case::new(), server.url("plain/day.csv"));
    import(&case, &url, &[]).failed(2, &[&format!("error: {url}, line 3, column time")]);
    assert_eq!(import(&case, &url, &["--skip-bad", "--file-column", "file"]).code, 0);
    assert_eq!(case.query("a.db", "SELECT file FROM t"), "day");
}

#[test]
fn half_a_file_is_never_stored() {
    let setup = Case::new();
    let (packed, file) = (gzip(&setup, &csv()), parquet(&setup));
    let server = WebServer::start(&[("day.csv", csv()), ("day.csv.gz", packed), ("x.parquet", file)]);
    for path in ["cut/day.csv", "cut/day.csv.gz", "cut/x.parquet", "broken/x.parquet", "changed/x.parquet"] {
        let case = Case::new();
        let run = import(&case, &server.url(path), &[]);
        assert_eq!(run.code, 2, "{path}: {}", run.stderr);
        let said = if path.starts_with("changed") { "was changed while it was read" } else { "cannot read http://127" };
        assert!(run.stderr.contains(said) && !run.stderr.contains("Parquet"), "{path}: {}", run.stderr);
        assert!(case.names().is_empty(), "{path}: {:?}", case.names());
    }
    // A table that is there keeps its rows.
    let case = Case::new();
    assert_stored(&case, &import(&case, &server.url("plain/day.csv"), &[]));
    assert_eq!(import(&case, &server.url("cut/x.parquet"), &[]).code, 2);
    assert_eq!(case.query("a.db", "SELECT count(*) FROM t"), "9000");
}

#[test]
fn failures_are_explained_without_secrets() {
    let server = WebServer::start(&[("day.csv", csv())]);
    let port = server.port;
    let closed = atsdb_testkit::server::free_port();
    for (url, code, said) in [
        (format!("http://me:s%40cret@127.0.0.1:{port}/plain/none.csv?sig=s@cret"), 2, "does not exist"),
        (format!("http://me:s%40cret@127.0.0.1:{port}/status/403?sig=s%40cret"), 2, "refuses access, status 403"),
        (format!("http://me:s%40cret@127.0.0.1:{port}/status/503?sig=s@cret"), 2, "answers with status 503"),
        (format!("http://me:s@cret@127.0.0.1:{closed}/x?sig=s@cret"), 2, "Connection refused"),
        (format!("https://me:s@cret@127.0.0.1:{port}/x?sig=s@cret"), 2, "cannot read https://127.0.0.1"),
        ("http://me:s@cret@no-such-host.invalid/x?sig=s@cret".to_owned(), 2, "check the name of the server"),
        ("https://me:s@cret@/x".to_owned(), 1, "names no server"),
        ("http://me:s@cret@127.0.0.1:99999/x".to_owned(), 1, "is not a URL"),
        ("s3://me:s@cret@bucket/x".to_owned(), 1, "without a password"),
    ] {
        let case = Case::new();
        let run = import(&case, &url, &[]).failed(code, &[said]);
        for secret in ["s@cret", "s%40cret", "sig="] {
            assert!(!run.stderr.contains(secret), "{}", run.stderr);
        }
        assert!(run.stderr.contains("hint: "), "{}", run.stderr);
        assert!(case.names().is_empty(), "{:?}", case.names());
    }
    // A server's page about an error is not a table.
    assert!(server.requests().len() > 4);
}

#[test]
fn a_login_goes_to_its_own_server_alone() {
    let case = Case::new();
    let (server, other) = (WebServer::start(&[("day.csv", csv())]), WebServer::start(&[("day.csv", csv())]));
    import(&case, &server.url("login/day.csv"), &[]).failed(2, &["refuses access, status 401", "USER:PASSWORD@"]);
    let with_login = |path: String| server.url(&path).replace("http://", "http://me:s%40cret@");
    assert_stored(&case, &import(&case, &with_login("login/day.csv".to_owned()), &[]));
    assert_eq!(import(&case, &with_login(format!("away/{}/plain/day.csv", other.port)), &["--again"]).code, 0);
    let requests = other.requests();
    assert!(requests.len() == 1 && requests[0].authorization.is_none(), "{requests:?}");
    assert_eq!(case.query("a.db", "SELECT count(*) FROM t"), "18000");
}

#[test]
fn statements_name_urls() {
    let case = Case::new();
    let server = WebServer::start(&[("day.csv", csv()), ("x.parquet", parquet(&case))]);
    let query = |sql: String| Run::of(&mut command(&case, &["sql", &sql, "--format", "csv"])).well().text();
    assert_eq!(query(format!("SELECT count(*) AS n FROM '{}'", server.url("plain/day.csv?x=1"))), "n\n9000\n");
    assert_eq!(query(format!("SELECT sum(x.v) AS n FROM '{}' x", server.url("ranges/x.parquet"))), "n\n2970000\n");
    let copy = format!("CREATE TABLE t (time TIMESTAMP, v INT); COPY t FROM '{}'", server.url("chunked/day.csv"));
    run(&case, &["sql", "a.db", &copy]).well();
    assert_eq!(case.query("a.db", "SELECT sum(v) FROM t"), "4495500");
    run(&case, &["sql", &format!("SELECT * FROM '{}'", server.url("cut/day.csv"))]).failed(2, &["cannot read http"]);
}

#[test]
fn objects_of_a_bucket_are_imported() {
    let Some(moto) = Moto::start() else { return };
    let case = Case::new();
    let part = |start: u64| format!("time,v\n{start},1\n{},2\n", start + 1).into_bytes();
    for (name, content) in [
        ("logs/b.csv", part(1_700_000_010)),
        ("logs/a.csv", part(1_700_000_000)),
        ("logs/c.csv.gz", gzip(&case, &part(1_700_000_020))),
        ("logs/deep/d.csv", part(1_700_000_030)),
        ("logs/note.txt", b"nothing".to_vec()),
        ("logs/x y.csv", part(1_700_000_040)),
        ("big/x.parquet", parquet(&case)),
    ] {
        let put = moto.request(&format!("PUT /bucket/{}", name.replace(' ', "%20")), &content);
        assert!(put.contains(" 200 "), "{put}");
    }
    let import = |table: &str, url: &str, more: &[&str]| {
        let mut command = command(&case, &[&["import", "a.db", table, url], more].concat());
        command.env("AWS_ENDPOINT_URL", moto.endpoint());
        Run::of(command.env("AWS_ACCESS_KEY_ID", "the-key").env("AWS_SECRET_ACCESS_KEY", "the-secret"))
    };
    let stored = |table: &str, url: &str| {
        let done = import(table, url, &["--file-column", "f"]);
        assert_eq!(done.code, 0, "{url}: {}", done.stderr);
        let names = case.query("a.db", &format!("SELECT f FROM {table} GROUP BY f ORDER BY f"));
        format!("{},{}", names.replace('\n', " "), case.query("a.db", &format!("SELECT count(*) FROM {table}")))
    };
    assert_eq!(stored("one", "s3://bucket/logs/a.csv"), "a,2");
    assert_eq!(stored("blank", "s3://bucket/logs/x y.csv"), "x y,2");
    assert_eq!(stored("some", "s3://bucket/logs/[ab].csv"), "a b,4");
    assert_eq!(stored("pattern", "s3://bucket/logs/?.csv*"), "a b c,6");
    assert_eq!(stored("deep", "s3://bucket/**/[a-d].csv"), "a b d,6");
    // A folder that gets files again and again.
    let more = moto.request("PUT /bucket/logs/b2.csv", &part(1_700_000_050));
    assert!(more.contains(" 200 "), "{more}");
    let again = import("pattern", "s3://bucket/logs/*.csv*", &["--file-column", "f"]);
    assert!(
        again.stderr.contains("left out 3 files") && again.stderr.contains("s3://bucket/logs/a.csv"),
        "{}",
        again.stderr
    );
    assert_eq!(case.query("a.db", "SELECT count(*) FROM pattern"), "10");
    let done = import("p", "S3://bucket/big/", &["--columns", "time,v"]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert_eq!(case.query("a.db", "SELECT count(*), sum(v) FROM p"), "60000,2970000");
    let before = case.names();
    import("new", "s3://bucket/logs/none.csv", &[]).failed(2, &["s3://bucket/logs/none.csv does not exist, NoSuchKey"]);
    import("new", "s3://bucket/none/*.csv", &[]).failed(2, &["no object matches s3://bucket/none/*.csv"]);
    let run = import("new", "s3://no-such-bucket/x.csv", &[]).failed(2, &["NoSuchBucket"]);
    assert!(!run.stderr.contains("the-secret"), "{}", run.stderr);
    assert_eq!(case.names(), before);
}
