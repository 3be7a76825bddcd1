//! `atsdb serve`: its settings from flags, the environment and a file, and its log.

#![allow(clippy::print_stderr, reason = "a test that is skipped has to say so")]

use crate::support::Case;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A server, killed if it is still running when dropped. Its log is a file in the case's folder.
pub(crate) struct Served {
    child: Child,
    log: PathBuf,
    pub(crate) pg: String,
    http: String,
}

impl Served {
    pub(crate) fn start(case: &Case, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let arguments = [&["serve", "--pg", "127.0.0.1:0", "--http", "127.0.0.1:0"], arguments].concat();
        let mut command = case.command(&arguments);
        command.envs(environment.iter().copied());
        let log = case.path("serve.log");
        let mut child = command.stdout(Stdio::piped()).stderr(File::create(&log).unwrap()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        let pg = lines.find_map(|line| line.strip_prefix("postgresql://").map(str::to_owned)).unwrap();
        let http = lines.find_map(|line| line.strip_prefix("http://").map(str::to_owned)).unwrap();
        Self { child, log, pg, http }
    }

    pub(crate) fn post(&self, path: &str, headers: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.http).unwrap();
        let (http, length) = (&self.http, body.len());
        let head = format!("POST {path} HTTP/1.1\r\nHost: {http}\r\nConnection: close\r\n{headers}");
        write!(stream, "{head}Content-Length: {length}\r\n\r\n{body}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Returns psql's output for a statement, or `None` without psql.
    fn psql(&self, user: &str, password: &str, statement: &str) -> Option<String> {
        self.psql_in("air", user, password, statement)
    }

    /// Runs a statement like [`psql`](Self::psql), in a named database.
    pub(crate) fn psql_in(&self, database: &str, user: &str, password: &str, statement: &str) -> Option<String> {
        let (host, port) = self.pg.split_once(':').unwrap();
        let mut psql = Command::new("psql");
        psql.args(["-X", "-A", "-t", "-w", "-h", host, "-p", port, "-U", user, "-d", database, "-c", statement]);
        let Ok(output) = psql.env("PGPASSWORD", password).stdin(Stdio::null()).output() else {
            eprintln!("skipped: there is no psql here");
            return None;
        };
        Some(String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap())
    }

    pub(crate) fn signal(&self, name: &str) {
        assert!(Command::new("kill").arg(name).arg(self.child.id().to_string()).status().unwrap().success());
    }

    /// Waits until the log has an event.
    pub(crate) fn logs(&self, event: &str) {
        let begun = Instant::now();
        let event = format!("\"event\":\"{event}\"");
        while !std::fs::read_to_string(&self.log).unwrap().contains(&event) {
            assert!(begun.elapsed() < Duration::from_secs(300), "{event} is not logged");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Asks the server to shut down and returns its log.
    pub(crate) fn log(mut self) -> String {
        self.signal("-TERM");
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        std::fs::read_to_string(&self.log).unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A statement that takes some time and contains a secret.
pub(crate) const SLOW: &str =
    "SELECT count(*) FROM generate_series(1, 3000000) AS g(i) WHERE i % 7 = 3 AND 'hush' <> 'x'";

#[test]
fn flags_override_the_environment_which_overrides_the_file() {
    let case = Case::new();
    case.write("air.toml", "# of the tests\nurl = \"file.db\"\nlog-level = 'info'\nlog = \"json\" # lines\n");
    let config = ["--config", "air.toml"];
    let log = Served::start(&case, &config, &[]).log();
    assert!(log.starts_with("{\"time\":\"") && log.contains("\"event\":\"stop\""), "{log}");
    let log = Served::start(&case, &config, &[("ATSDB_URL", "environment.db"), ("ATSDB_LOG", "text")]).log();
    assert!(log.contains("Z INFO start version="), "{log}");
    let of_flags = [&config, ["flag.db", "--log-level"].as_slice(), &["off"]].concat();
    let log = Served::start(&case, &of_flags, &[("ATSDB_URL", "environment2.db"), ("ATSDB_LOG_LEVEL", "debug")]).log();
    assert_eq!(log, "");
    let names = case.names();
    for (name, is_there) in [("file.db", true), ("environment.db", true), ("flag.db", true), ("environment2.db", false)]
    {
        assert_eq!(names.contains(&name.to_owned()), is_there, "{name}: {names:?}");
    }
    // The environment can also name the file; there a switch needs a value.
    let environment = [("ATSDB_CONFIG", "air.toml"), ("ATSDB_READ_ONLY", "true")];
    let served = Served::start(&case, &[], &environment);
    let answer = served.post("/api/sql", "", "CREATE TABLE t (a INT)");
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
}

#[test]
fn the_limits_of_statements_come_from_settings() {
    let case = Case::new();
    case.write("air.toml", "url = \"air.db\"\nmemory = \"64MiB\"\nstatement-timeout = \"1h\"\n");
    let greedy = "SELECT array_length(array_agg(value)) FROM generate_series(1, 100000000)";
    let served = Served::start(&case, &["--config", "air.toml"], &[]);
    let answer = served.post("/api/sql", "", greedy);
    assert!(answer.starts_with("HTTP/1.1 507"), "{answer}");
    let Some(shown) = served.psql("me", "", "SHOW statement_timeout") else { return };
    assert_eq!(shown.trim(), "1h");
    drop(served);
    let environment = [("ATSDB_MEMORY", "64MiB"), ("ATSDB_STATEMENT_TIMEOUT", "90s"), ("ATSDB_STATEMENTS", "3")];
    let served = Served::start(&case, &["air.db"], &environment);
    assert!(served.psql("me", "", greedy).unwrap().contains("memory"));
    assert_eq!(served.psql("me", "", "SHOW statement_timeout").unwrap().trim(), "90s");
    drop(served);
    // Without users, everybody is an admin.
    case.write("roles.toml", "role-timeout = \"read=1s, admin=70s\"\nrole-statements = \"admin=2\"\n");
    let served = Served::start(&case, &["air.db", "--config", "roles.toml"], &environment);
    assert_eq!(served.psql("me", "", "SHOW statement_timeout").unwrap().trim(), "70s");
}

#[test]
fn statements_become_spans_for_a_collector() {
    let case = Case::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let collector = format!("http://{}", listener.local_addr().unwrap());
    let served = Served::start(&case, &["air.db", "--traces", &collector], &[]);
    let answer = served.post("/api/sql", "", "SELECT 40 + 2 AS answer");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let mut reader = BufReader::new(listener.accept().unwrap().0);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).unwrap() > 0, "{head}");
    }
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    reader.read_exact(&mut body).unwrap();
    write!(reader.get_mut(), "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
    let body = String::from_utf8(body).unwrap();
    assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
    assert!(body.contains("\"SELECT ? + ? AS answer\""), "{body}");
}

#[test]
fn a_client_of_postgresql_gets_the_notice_of_a_time() {
    let case = Case::new();
    let served = Served::start(&case, &["air.db"], &[]);
    let declared = "CREATE TABLE z (id SERIAL PRIMARY KEY, deleted_at TIMESTAMPTZ)";
    let Some(answer) = served.psql("me", "", declared) else { return };
    assert!(answer.contains("CREATE TABLE") && answer.contains("NOTICE:  column deleted_at becomes"), "{answer}");
    let plan = served.psql("me", "", "EXPLAIN (FORMAT JSON) SELECT 1 AS a").unwrap();
    assert!(plan.contains("\"Node Type\": \"ProjectionExec\""), "{plan}");
}

#[test]
fn a_wrong_setting_is_named() {
    let case = Case::new();
    let serve = |text: &str| {
        case.write("wrong.toml", text);
        case.run(&["serve", "air.db", "--config", "wrong.toml"])
    };
    serve("\npg = 'off'\nlog-slwo = '1s'\n").failed(1, &["wrong.toml line 3: no setting named log-slwo", "log-slow?"]);
    serve("connections = 'few'").failed(1, &["wrong.toml line 1: invalid value 'few'"]);
    serve("log-slow = 'soon'").failed(1, &["--log-slow", "soon"]);
    serve("memory = 'much'").failed(1, &["--memory", "much"]);
    serve("temp = 'much'").failed(1, &["--temp", "much"]);
    serve("statement-timeout = 'soon'").failed(1, &["--statement-timeout", "soon"]);
    serve("role-timeout = 'read=soon'").failed(1, &["--role-timeout", "soon"]);
    serve("role-statements = 'read=0'").failed(1, &["--role-statements", "\"0\" is not a number of statements"]);
    serve("role-statements = 'read'").failed(1, &["--role-statements", "\"read\" has no = after a role"]);
    serve("role-statements = 'readers=1'").failed(1, &["--role-statements", "readers"]);
    serve("traces = 'https://collector'").failed(1, &["--traces", "https://collector", "http://HOST:4318"]);
    serve("tls-cert = 'a.crt'").failed(1, &["--tls-cert needs --tls-key"]);
    case.run(&["serve", "air.db", "--config", "nowhere.toml"]).failed(1, &["nowhere.toml"]);
    case.run(&["serve", "air.db", "--log-level", "loud"]).failed(1, &["off, error, warn, info, debug"]);
    assert!(!case.names().contains(&"air.db".to_owned()));
}

#[test]
fn the_log_says_what_happened_and_no_secret() {
    let case = Case::new();
    let mut add = case.command(&["user", "add", "air.db", "anna", "--role", "admin"]);
    assert!(add.env("ATSDB_USER_PASSWORD", "hush").stdin(Stdio::null()).status().unwrap().success());
    let token = case.run(&["user", "token", "air.db", "anna"]).well().text();
    let token = token.trim_end();
    let arguments = ["air.db", "--log", "json", "--log-level", "debug", "--log-slow", "1ms"];
    let served = Served::start(&case, &arguments, &[]);
    let Some(found) = served.psql("anna", "hush", SLOW) else { return };
    assert_eq!(found.trim(), "428572");
    assert!(served.psql("anna", "hush-hush", "SELECT 1").unwrap().contains("password authentication failed"));
    served.psql("anna", "hush", "SELECT nothing").unwrap();
    let bearer = format!("Authorization: Bearer {token}\r\n");
    assert!(served.post("/api/sql", &bearer, SLOW).starts_with("HTTP/1.1 200"));
    let wrong = "Authorization: Bearer atsdb_hush\r\n";
    assert!(served.post(&format!("/api/sql?p={token}"), wrong, "SELECT 1").starts_with("HTTP/1.1 401"));
    served.signal("-HUP");
    served.logs("reload");
    served.logs("disconnection");
    assert!(served.post("/api/sql", &bearer, "SELECT 1").starts_with("HTTP/1.1 200"));
    let log = served.log();
    assert!(!log.contains("hush") && !log.contains(token), "a secret is in the log: {log}");
    let lines: Vec<serde_json::Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let found = |event: &str, name: &str, value: serde_json::Value| {
        lines.iter().find(|line| line["event"] == event && line[name] == value).unwrap_or_else(|| {
            panic!("no {event} with {name}={value} in {log}");
        })
    };
    for (protocol, user) in [("postgresql", "anna"), ("http", "anna")] {
        let line = found("slow statement", "protocol", protocol.into());
        assert_eq!((&line["user"], &line["rows"], &line["level"]), (&user.into(), &1.into(), &"warn".into()));
        assert!(line["duration_ms"].as_f64().unwrap() >= 1.0);
        let text = "SELECT count(*) FROM generate_series(?, ?) AS g(i) WHERE i % ? = ? AND ? <> ?";
        assert_eq!(line["statement"], text);
    }
    assert_eq!(found("login failed", "user", "anna".into())["address"], "127.0.0.1");
    found("connection", "protocol", "postgresql".into());
    found("connection", "protocol", "http".into());
    found("disconnection", "database", "air".into());
    found("error", "code", "42703".into());
    assert_eq!(found("error", "status", 401.into())["path"], "/api/sql");
    found("reload", "level", "info".into());
    assert!(log.lines().next().unwrap().contains("\"event\":\"start\""));
    assert!(log.lines().last().unwrap().contains("\"event\":\"stop\""));
}
