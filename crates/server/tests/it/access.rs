//! Users over HTTP: every role on every address, tokens, delays, and the hidden users' table.

use crate::client::{Reply, reply};
use crate::support::Served;
use atsdb_server::{Role, UserStore};
use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

const USERS: [(&str, Role, &str); 3] =
    [("reader", Role::Read, "r-pass"), ("writer", Role::Write, "w-pass"), ("boss", Role::Admin, "b-pass")];

fn served() -> Served {
    let served = Served::with_users(&USERS, None);
    served.create_tables();
    served
}

fn users(served: &Served) -> UserStore {
    UserStore::new(served.database.clone())
}

fn send(served: &Served, method: &str, path: &str, authorization: &str, body: &str) -> Reply {
    let mut stream = TcpStream::connect(served.server.http_address().unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(300))).unwrap();
    let mut head = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
    if !authorization.is_empty() {
        head += &format!("Authorization: {authorization}\r\n");
    }
    let length = body.len();
    write!(stream, "{head}Content-Length: {length}\r\n\r\n{body}").unwrap();
    reply(stream)
}

fn sql(served: &Served, token: &str, statement: &str) -> Reply {
    send(served, "POST", "/api/sql", &format!("Bearer {token}"), statement)
}

/// `USER:PASSWORD` in base64.
fn basic(user: &str, password: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::from("Basic ");
    for bytes in format!("{user}:{password}").as_bytes().chunks(3) {
        let bits = bytes.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - bytes.len()));
        for digit in 0..4 {
            let at = (bits >> (18 - 6 * digit) & 63) as usize;
            text.push(if digit <= bytes.len() { DIGITS[at] as char } else { '=' });
        }
    }
    text
}

/// The role that each address requires. `None`: it is open.
const ADDRESSES: [(&str, &str, &str, Option<Role>); 20] = [
    ("GET", "/health", "", None),
    ("GET", "/ready", "", None),
    ("GET", "/metrics", "", Some(Role::Read)),
    ("GET", "/ping", "", Some(Role::Read)),
    ("GET", "/query?q=SHOW+DATABASES", "", Some(Role::Read)),
    ("POST", "/query", "q=CREATE+DATABASE+x", Some(Role::Read)),
    ("POST", "/write?db=d", "made,host=a v=1 1", Some(Role::Write)),
    ("POST", "/api/v2/write?bucket=b", "made,host=a v=2 2", Some(Role::Write)),
    ("POST", "/api/v3/write_lp?db=d", "made,host=a v=3 3", Some(Role::Write)),
    ("GET", "/api/sql?sql=SELECT+1", "", Some(Role::Read)),
    ("POST", "/api/sql", "SELECT count(*) FROM sensors", Some(Role::Read)),
    ("POST", "/api/sql", "SHOW TABLES", Some(Role::Read)),
    ("POST", "/api/sql", "INSERT INTO readings (time, value) VALUES ('2024-02-01', 1)", Some(Role::Write)),
    ("POST", "/api/sql", "UPDATE sensors SET height = 2 WHERE id = 1", Some(Role::Write)),
    ("POST", "/api/sql", "DELETE FROM sensors WHERE id = 77", Some(Role::Write)),
    ("POST", "/api/sql", "TRUNCATE readings", Some(Role::Write)),
    ("POST", "/api/sql", "CREATE TABLE IF NOT EXISTS own (a INT)", Some(Role::Admin)),
    ("POST", "/api/sql", "DROP TABLE IF EXISTS nothing", Some(Role::Admin)),
    ("POST", "/api/append?table=sensors", "no arrow", Some(Role::Write)),
    ("GET", "/nothing", "", Some(Role::Read)),
];

#[test]
fn every_role_on_every_address() {
    let served = served();
    let callers: Vec<(Role, String)> = USERS
        .iter()
        .map(|(name, role, _)| (*role, format!("Bearer {}", users(&served).add_token(name, "test").unwrap())))
        .collect();
    served.server.reloader().reload().unwrap();
    for (method, path, body, needed) in ADDRESSES {
        let anonymous = send(&served, method, path, "", body).status;
        assert_eq!(anonymous == 401, needed.is_some(), "{method} {path} {body}: {anonymous} without credentials");
        for (role, authorization) in &callers {
            let answer = send(&served, method, path, authorization, body);
            let is_refused = answer.status == 403;
            assert_eq!(
                is_refused,
                needed.is_some_and(|needed| *role < needed),
                "{role} {method} {path} {body}: {answer:?}"
            );
            assert!(answer.status != 401 && answer.status != 500, "{role} {method} {path} {body}: {answer:?}");
        }
    }
    let unknown = send(&served, "GET", "/nothing", &callers[0].1, "");
    assert_eq!(unknown.status, 404);
    assert!(unknown.text().contains("no path /nothing") && unknown.text().contains("/api/sql"), "{unknown:?}");
    // A refused request has changed nothing, and an accepted one has.
    assert_eq!(served.count("made"), 3);
    assert_eq!(served.count("own"), 0);
    let refused = sql(&served, &callers[0].1["Bearer ".len()..], "DELETE FROM sensors");
    assert!(refused.text().contains("the role read may not change"), "{refused:?}");
    assert_eq!(served.count("sensors"), 2);
}

#[test]
fn a_statement_knows_its_user() {
    let served = served();
    let names = "SELECT current_user AS a, session_user AS b, current_role AS c";
    for (name, ..) in USERS {
        let token = users(&served).add_token(name, "t").unwrap();
        served.server.reloader().reload().unwrap();
        let expected = format!("[\n{{\"a\":\"{name}\",\"b\":\"{name}\",\"c\":\"{name}\"}}\n]\n");
        assert_eq!(sql(&served, &token, names).text(), expected);
        // A plan of another user is not reused.
        let beside = sql(&served, &token, "SELECT count(*) AS n FROM sensors WHERE current_user = 'writer'");
        assert_eq!(beside.text(), if name == "writer" { "[\n{\"n\":2}\n]\n" } else { "[\n{\"n\":0}\n]\n" });
    }
}

#[test]
fn no_statement_gets_around_its_role() {
    let served = served();
    let reader = users(&served).add_token("reader", "t").unwrap();
    let writer = users(&served).add_token("writer", "t").unwrap();
    served.server.reloader().reload().unwrap();
    let before = (served.count("sensors"), served.count("readings"));
    for statement in [
        "WITH a AS (SELECT 9 AS id, 'x' AS name, 1 AS height) INSERT INTO sensors SELECT * FROM a",
        "/* a */ INSERT INTO sensors VALUES (9, 'x', 1)",
        "/* a */ DELETE FROM sensors",
        "-- a\nDROP TABLE sensors",
        "EXPLAIN ANALYZE INSERT INTO sensors VALUES (9, 'x', 1)",
        "EXPLAIN ANALYZE DELETE FROM sensors",
        "SELECT * INTO copied FROM sensors",
        "CREATE TABLE copied AS SELECT * FROM sensors",
        "BEGIN; INSERT INTO sensors VALUES (9, 'x', 1); COMMIT",
        "SELECT 1; DELETE FROM sensors",
        "(DELETE FROM sensors)",
        "REPLACE INTO sensors VALUES (1, 'x', 1)",
        "INSERT INTO sensors VALUES (1, 'x', 1) ON CONFLICT DO NOTHING",
        "ALTER TABLE sensors ADD COLUMN x INT",
        "CREATE INDEX i ON sensors (height)",
        "CREATE VIEW w AS SELECT 1",
        "COPY sensors FROM '/etc/passwd'",
        "LOAD DATA INFILE '/etc/passwd' INTO TABLE sensors",
        "MERGE INTO sensors USING readings ON false WHEN NOT MATCHED THEN INSERT VALUES (1, 'x', 1)",
        "REFRESH ROLLUP high",
        "CHECKPOINT",
    ] {
        let answer = sql(&served, &reader, statement);
        assert!((400..500).contains(&answer.status), "{statement}: {answer:?}");
        let by_get = statement.replace(' ', "+").replace(';', "%3B").replace('\n', "%0A");
        let answer = send(&served, "GET", &format!("/api/sql?sql={by_get}"), &format!("Bearer {reader}"), "");
        assert!((400..500).contains(&answer.status), "GET {statement}: {answer:?}");
    }
    for statement in ["ALTER TABLE sensors ADD COLUMN x INT", "DROP VIEW high", "/* a */ DROP TABLE sensors"] {
        let answer = sql(&served, &writer, statement);
        assert!((400..500).contains(&answer.status), "{statement}: {answer:?}");
    }
    assert_eq!((served.count("sensors"), served.count("readings")), before);
    let tables = served.rows("SHOW TABLES");
    assert!(!tables.contains("copied") && tables.contains("high"), "{tables}");
    // A GET request can only read, even for an administrator.
    let boss = send(&served, "GET", "/api/sql?sql=DELETE+FROM+sensors", &basic("boss", "b-pass"), "");
    assert_eq!(boss.status, 403, "{boss:?}");
}

#[test]
fn statements_never_see_the_users() {
    let served = served();
    let boss = users(&served).add_token("boss", "t").unwrap();
    served.server.reloader().reload().unwrap();
    for statement in [
        "SELECT * FROM atsdb_access",
        "SELECT * FROM \"ATSDB_ACCESS\"",
        "DELETE FROM atsdb_access",
        "INSERT INTO atsdb_access VALUES ('x', 'role', '', 'admin', '2024-01-01')",
        "DROP TABLE atsdb_access",
        "CREATE TABLE atsdb_access (a INT)",
        "CREATE VIEW atsdb_access AS SELECT 1",
        "ALTER TABLE readings RENAME TO atsdb_access",
        "SHOW CREATE TABLE atsdb_access",
    ] {
        let answer = sql(&served, &boss, statement);
        assert!((400..500).contains(&answer.status), "{statement}: {answer:?}");
    }
    for statement in ["SHOW TABLES", "SELECT * FROM information_schema.tables", "SELECT * FROM atsdb.tables"] {
        let answer = sql(&served, &boss, statement);
        assert!(answer.status == 200 && !answer.text().contains("atsdb_access"), "{statement}: {answer:?}");
    }
    let line = send(&served, "POST", "/write?db=d", &format!("Bearer {boss}"), "atsdb_access v=1");
    assert!((400..500).contains(&line.status) && line.text().contains("reserved"), "{line:?}");
    let append = send(&served, "POST", "/api/append?table=atsdb_access", &format!("Bearer {boss}"), "");
    assert!((400..500).contains(&append.status), "{append:?}");
    assert_eq!(users(&served).list().unwrap().len(), 3);
}

#[test]
fn credentials_come_in_every_form() {
    let served = served();
    let token = users(&served).add_token("writer", "telegraf").unwrap();
    assert!(token.len() == 70 && token.starts_with("atsdb_"), "{token}");
    served.server.reloader().reload().unwrap();
    let write = |path: &str, authorization: &str| send(&served, "POST", path, authorization, "m v=1 1").status;
    let v1 = "/write?db=d";
    for authorization in [
        format!("Bearer {token}"),
        format!("bearer  {token}"),
        format!("Token {token}"),
        "Token writer:w-pass".to_owned(),
        basic("writer", "w-pass"),
        basic("writer", &token),
        basic("", &token),
    ] {
        assert_eq!(write(v1, &authorization), 204, "{authorization}");
    }
    assert_eq!(write("/write?db=d&u=writer&p=w-pass", ""), 204);
    assert_eq!(write(&format!("/write?db=d&u=writer&p={token}"), ""), 204);
    // Credentials in the query string are accepted on the addresses of InfluxDB 1 only.
    assert_eq!(write("/api/v2/write?bucket=b&u=writer&p=w-pass", ""), 401);
    let missing = send(&served, "POST", v1, "", "m v=1 1");
    assert!(missing.header("www-authenticate").is_some_and(|challenge| challenge.starts_with("Basic")), "{missing:?}");
    assert!(missing.text().contains("\"error\":") && missing.text().contains("\"code\":\"unauthorized\""));
    // Another user's token, and a token with a wrong last digit.
    assert_eq!(write(v1, &basic("boss", &token)), 401);
    let (rest, last) = token.split_at(token.len() - 1);
    assert_eq!(write(v1, &format!("Bearer {rest}{}", if last == "0" { '1' } else { '0' })), 401);
}

#[test]
fn changes_of_users_are_followed() {
    let served = Served::new();
    served.create_tables();
    assert_eq!(send(&served, "POST", "/api/sql", "", "SELECT 1").status, 200, "without users the server is open");
    users(&served).add("anna", Role::Read, Some("secret")).unwrap();
    let follows = |what: &str, is_so: &dyn Fn() -> bool| {
        let begun = Instant::now();
        while !is_so() {
            assert!(begun.elapsed() < Duration::from_secs(300), "{what} is not followed");
            std::thread::sleep(Duration::from_millis(100));
        }
    };
    follows("the first user", &|| send(&served, "POST", "/api/sql", "", "SELECT 1").status == 401);
    let token = users(&served).add_token("anna", "t").unwrap();
    follows("a token", &|| sql(&served, &token, "SELECT 1").status == 200);
    users(&served).set_role("anna", Role::Admin).unwrap();
    follows("a role", &|| sql(&served, &token, "CREATE TABLE IF NOT EXISTS x (a INT)").status == 200);
    users(&served).set_password("anna", "other").unwrap();
    served.server.reloader().reload().unwrap();
    assert_eq!(send(&served, "POST", "/api/sql", &basic("anna", "other"), "SELECT 1").status, 200);
    assert_eq!(send(&served, "POST", "/api/sql", &basic("anna", "secret"), "SELECT 1").status, 401);
    users(&served).revoke_token("anna", "t").unwrap();
    served.server.reloader().reload().unwrap();
    assert_eq!(sql(&served, &token, "SELECT 1").status, 401);
}

#[test]
fn guessing_is_slow_and_does_not_lock_users_out() {
    let served = served();
    let token = users(&served).add_token("boss", "t").unwrap();
    served.server.reloader().reload().unwrap();
    let login =
        |user: &str, password: &str| send(&served, "POST", "/api/sql", &basic(user, password), "SELECT 1").status;
    assert_eq!(login("reader", "r-pass"), 200);
    let begun = Instant::now();
    for attempt in 0..6 {
        assert_eq!(login("boss", &format!("guess {attempt}")), 401);
    }
    assert!(begun.elapsed() > Duration::from_millis(250 + 500 + 1_000), "{:?}", begun.elapsed());
    // The next guesses wait for seconds. A token, and one that has logged in from here before, do not wait behind them.
    let are_answered_first = |attempt: u32| {
        std::thread::scope(|scope| {
            let guess = scope.spawn(|| login("boss", &format!("slow guess {attempt}")));
            assert_eq!(sql(&served, &token, "SELECT 1").status, 200);
            assert_eq!(login("reader", "r-pass"), 200);
            let is_first = !guess.is_finished();
            assert_eq!(guess.join().unwrap(), 401);
            is_first
        })
    };
    // On a busy machine a guess that waits for two seconds may be answered first; later ones wait for longer.
    assert!((1..=4).any(are_answered_first), "guesses are answered before those who may log in");
    // Parallel attempts do not allow more guesses: an attempt that cannot be checked within ten seconds is refused at
    // once.
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let login = &login;
        let attempt = |attempt: u32| scope.spawn(move || login("boss", &format!("at once {attempt}")));
        let threads: Vec<_> = (0..12).map(attempt).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(statuses.iter().filter(|status| **status == 429).count() >= 6, "{statuses:?}");
    let metrics = send(&served, "GET", "/metrics", &format!("Bearer {token}"), "");
    assert!(metrics.text().contains("atsdb_login_failures_total"), "{metrics:?}");
}

#[test]
fn users_at_the_same_time_are_all_kept() {
    let served = Served::new();
    let store = users(&served);
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let store = store.clone();
            scope.spawn(move || {
                for number in 0..5 {
                    store.add(&format!("u{writer}-{number}"), Role::Read, None).unwrap();
                }
            });
        }
    });
    assert_eq!(store.list().unwrap().len(), 20);
    assert!(store.add("u0-0", Role::Read, None).unwrap_err().to_string().contains("already"));
    store.drop("u0-0").unwrap();
    assert_eq!(store.list().unwrap().len(), 19);
    for wrong in ["", "a:b", "a\nb", &"x".repeat(64)] {
        assert!(store.add(wrong, Role::Read, None).is_err(), "{wrong:?}");
    }
    for wrong in ["", "a\0b", "a\nb", &"x".repeat(1_025)] {
        assert!(store.add("anna", Role::Read, Some(wrong)).is_err(), "{wrong:?}");
    }
    assert!(served.database.engine().verify(None).unwrap().findings.is_empty());
}

#[test]
fn users_go_with_a_copy_of_the_store() {
    let served = served();
    let token = users(&served).add_token("reader", "t").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let copy = atsdb::open(folder.path().join("copy.db").to_str().unwrap()).unwrap();
    served.database.copy_into(&copy, &atsdb::CopyOptions::default()).unwrap();
    assert_eq!(UserStore::new(copy.clone()).list().unwrap(), users(&served).list().unwrap());
    let names: Vec<String> = copy.tables().unwrap().into_iter().map(|table| table.definition.name).collect();
    assert!(!names.contains(&"atsdb_access".to_owned()), "{names:?}");
    // The users are copied again after a change.
    users(&served).drop("writer").unwrap();
    served.database.copy_into(&copy, &atsdb::CopyOptions::default()).unwrap();
    assert_eq!(UserStore::new(copy).list().unwrap().len(), 2);
    assert!(!token.is_empty());
}
