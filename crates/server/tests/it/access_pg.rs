//! Users over PostgreSQL's protocol: SCRAM, roles, read-only transactions, and which errors strangers get.

use crate::support::Served;
use atsdb_server::{Role, UserStore};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

const USERS: [(&str, Role, &str); 3] =
    [("reader", Role::Read, "r-pass"), ("writer", Role::Write, "w'p\u{e9}ss"), ("boss", Role::Admin, "I\u{ad}X")];

fn served() -> Served {
    let served = Served::with_users(&USERS, None);
    served.create_tables();
    served
}

#[test]
fn right_and_wrong_passwords() {
    let served = served();
    for (name, _, password) in USERS {
        let Some(found) = served.psql_as(&format!("user={name}"), password, "SELECT current_user") else { return };
        assert_eq!(found.trim(), name);
    }
    // Passwords are normalised before the comparison, which removes a soft hyphen.
    assert_eq!(served.psql_as("user=boss", "IX", "SELECT 1").unwrap().trim(), "1");
    for (name, password) in [("reader", "R-pass"), ("nobody", "r-pass")] {
        let found = served.psql_as(&format!("user={name}"), password, "SELECT 1").unwrap();
        assert!(found.contains(&format!("password authentication failed for user \"{name}\"")), "{found}");
    }
    let missing = served.psql_as("user=reader", "", "SELECT 1").unwrap();
    assert!(missing.contains("no password supplied"), "{missing}");
}

#[test]
fn roles_hold_for_every_statement() {
    let served = served();
    let run = |user: &str, statement: &str| {
        let password = USERS.iter().find(|(name, ..)| *name == user).unwrap().2;
        served.psql_as(&format!("user={user}"), password, statement)
    };
    let Some(count) = run("reader", "SELECT count(*) FROM sensors") else { return };
    assert_eq!(count.trim(), "2");
    assert!(run("reader", "COPY sensors TO STDOUT").unwrap().contains("s1"));
    assert!(run("reader", "BEGIN; SELECT 1; COMMIT").unwrap().contains('1'));
    for statement in [
        "INSERT INTO sensors VALUES (9, 'x', 1)",
        "UPDATE sensors SET height = 1",
        "DELETE FROM sensors",
        "COPY sensors FROM STDIN",
        "TRUNCATE sensors",
        "CREATE TABLE x (a INT)",
        "DROP TABLE sensors",
        "BEGIN; DELETE FROM sensors; COMMIT",
    ] {
        let found = run("reader", statement).unwrap();
        assert!(found.contains("42501") && found.contains("permission denied"), "{statement}: {found}");
    }
    assert_eq!(run("writer", "INSERT INTO sensors VALUES (9, 'x', 1)").unwrap(), "");
    assert_eq!(run("writer", "DELETE FROM sensors WHERE id = 9").unwrap(), "");
    for statement in ["CREATE TABLE x (a INT)", "DROP TABLE sensors", "CREATE INDEX i ON sensors (height)"] {
        let found = run("writer", statement).unwrap();
        assert!(found.contains("42501"), "{statement}: {found}");
    }
    assert_eq!(run("boss", "CREATE TABLE x (a INT)").unwrap(), "");
    assert_eq!(run("boss", "SHOW is_superuser").unwrap().trim(), "on");
    assert_eq!(run("writer", "SHOW is_superuser").unwrap().trim(), "off");
    assert!(run("boss", "SELECT * FROM atsdb_access").unwrap().contains("42P01"));
    assert!(!run("boss", "SELECT relname FROM pg_class").unwrap().contains("atsdb_access"));
    assert_eq!(served.count("sensors"), 2);
}

#[test]
fn transactions_that_may_only_read_change_nothing() {
    let served = Served::with_tables();
    let insert = "INSERT INTO sensors VALUES (9, 'x', 1);";
    for (script, is_refused) in [
        (format!("BEGIN READ ONLY; {insert} COMMIT"), true),
        (format!("START TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY; {insert} COMMIT"), true),
        (format!("BEGIN; SET TRANSACTION READ ONLY; {insert} COMMIT"), true),
        (format!("BEGIN; SET transaction_read_only = on; {insert} COMMIT"), true),
        (format!("SET default_transaction_read_only = on; {insert}"), true),
        (format!("SET default_transaction_read_only = yes; BEGIN; {insert} COMMIT"), true),
        (format!("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY; {insert}"), true),
        (format!("SELECT set_config('default_transaction_read_only', 'on', false); {insert}"), true),
        ("SET default_transaction_read_only = on; CREATE TABLE x (a INT)".to_owned(), true),
        ("SET default_transaction_read_only = on; COPY sensors FROM STDIN".to_owned(), true),
        (
            "SET default_transaction_read_only = on; BEGIN READ WRITE; DELETE FROM sensors WHERE id = 9; COMMIT"
                .to_owned(),
            false,
        ),
        ("BEGIN READ ONLY; SET TRANSACTION READ WRITE; DELETE FROM sensors WHERE id = 9; COMMIT".to_owned(), false),
        ("BEGIN READ ONLY; SELECT 1; COMMIT; DELETE FROM sensors WHERE id = 9".to_owned(), false),
    ] {
        // One message for each statement, in the same session, so that settings stay.
        let mut arguments = Vec::new();
        let parts: Vec<&str> = script.split(';').map(str::trim).filter(|part| !part.is_empty()).collect();
        parts.iter().for_each(|part| arguments.extend(["-c", part]));
        let Some(found) = served.psql(&arguments, "") else { return };
        assert_eq!(found.contains("25006"), is_refused, "{script}: {found}");
        assert_eq!(found.contains("ERROR"), is_refused, "{script}: {found}");
        // In a single message too, unless the script changes settings.
        if !script.contains("set_config") && !script.starts_with("SET") {
            let found = served.psql(&["-c", &script], "").unwrap();
            assert_eq!(found.contains("25006"), is_refused, "{script}: {found}");
        }
    }
    assert_eq!(served.count("sensors"), 2);
    let shown = "SHOW transaction_read_only;\nBEGIN READ ONLY;\nSHOW transaction_read_only;\nSELECT 1;\nSET TRANSACTION READ WRITE;\n\
                 ROLLBACK;\nSHOW transaction_read_only;\n";
    let found = served.psql(&["-t"], shown).unwrap();
    let lines: Vec<&str> = found.lines().filter(|line| ["on", "off"].contains(line)).collect();
    assert_eq!(lines, ["off", "on", "off"], "{found}");
    assert!(found.contains("25001"), "{found}");
}

#[test]
fn sessions_end_with_their_users() {
    let served = served();
    let users = UserStore::new(served.database.clone());
    let place = format!("host=127.0.0.1 port={} dbname=air user=writer", served.pg().port());
    let mut config: postgres::Config = place.parse().unwrap();
    config.password(USERS[1].2);
    let mut client = config.connect(postgres::NoTls).unwrap();
    client.execute("DELETE FROM sensors WHERE id = 77", &[]).unwrap();
    users.set_role("writer", Role::Read).unwrap();
    served.server.reloader().reload().unwrap();
    let refused = client.execute("DELETE FROM sensors WHERE id = 77", &[]).unwrap_err();
    assert_eq!(refused.code().map(|code| code.code()), Some("42501"), "{refused:?}");
    users.drop("writer").unwrap();
    served.server.reloader().reload().unwrap();
    // The client sends more before it has read the error. The server must not reset the connection because of that.
    let ended = client.execute("SELECT 1", &[]).unwrap_err();
    assert!(ended.is_closed() || ended.code().is_some_and(|code| code.code() == "57P01"), "{ended:?}");
}

fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    [&[kind], length.as_slice(), body].concat()
}

fn startup(user: &str) -> Vec<u8> {
    let body = [b"\0\x03\0\0user\0", user.as_bytes(), b"\0database\0air\0\0"].concat();
    [(body.len() as u32 + 4).to_be_bytes().as_slice(), &body].concat()
}

fn initial(mechanism: &str, first: &[u8]) -> Vec<u8> {
    let length = (first.len() as u32).to_be_bytes();
    message(b'p', &[mechanism.as_bytes(), b"\0", &length, first].concat())
}

/// Returns the server's answer, until it closes the connection.
fn answer(served: &Served, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(served.pg()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(300))).unwrap();
    // The server may already have closed the connection.
    let _ = stream.write_all(bytes);
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn unknown_users_look_like_existing_ones() {
    let served = served();
    let salt = |user: &str| {
        let found = answer(&served, &[startup(user), initial("SCRAM-SHA-256", b"n,,n=,r=abc")].concat());
        assert!(found.contains("SCRAM-SHA-256") && found.contains("r=abc") && found.contains(",i=4096"), "{found}");
        let (_, salt) = found.split_once(",s=").unwrap();
        salt.split(',').next().unwrap().to_owned()
    };
    assert_eq!(salt("nobody"), salt("nobody"));
    assert_eq!(salt("nobody").len(), salt("reader").len());
    assert_ne!(salt("nobody"), salt("somebody"));
}

#[test]
fn hostile_messages_of_scram_are_refused() {
    let served = served();
    let start = startup("reader");
    for (bytes, code) in [
        (message(b'Q', b"SELECT 1\0"), "08P01"),
        (message(b'p', b""), "08P01"),
        (message(b'p', b"SCRAM-SHA-256\0\0\0\0\x63x"), "08P01"),
        (message(b'p', b"SCRAM-SHA-256\0\xff\xff\xff\xff"), "08P01"),
        (initial("PLAIN", b"n,,n=,r=abc"), "08P01"),
        (initial("SCRAM-SHA-256-PLUS", b"p=tls-server-end-point,,n=,r=abc"), "08P01"),
        (initial("SCRAM-SHA-256", b"n,a=boss,n=,r=abc"), "0A000"),
        (initial("SCRAM-SHA-256", b"p=tls-unique,,n=,r=abc"), "28000"),
        ([initial("SCRAM-SHA-256", b"n,,n=,r=abc"), message(b'p', b"c=biws,r=abc,p=AAAA")].concat(), "08P01"),
        (b"Q\x0f\xff\xff\xff".to_vec(), "08P01"),
        (b"p\x0f\xff\xff\xff".to_vec(), "08P01"),
    ] {
        let found = answer(&served, &[start.as_slice(), &bytes].concat());
        assert!(found.contains(code) && !found.contains("server_version"), "{code}: {bytes:?}: {found}");
    }
    let mut state = 5_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    for _ in 0..100 {
        let noise: Vec<u8> = (0..next() % 60).map(|_| next()).collect();
        let found = answer(&served, &[start.clone(), initial("SCRAM-SHA-256", &noise)].concat());
        assert!(!found.contains("server_version"), "{noise:?}");
    }
}
