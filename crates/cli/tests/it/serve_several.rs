//! `atsdb serve` with several databases.

use crate::serve_settings::{SLOW, Served};
use crate::support::Case;
use std::process::Stdio;

fn add_user(case: &Case, store: &str, user: &str, role: &str, password: &str) {
    let mut add = case.command(&["user", "add", store, user, "--role", role]);
    assert!(add.env("ATSDB_USER_PASSWORD", password).stdin(Stdio::null()).status().unwrap().success());
}

#[test]
fn flags_the_environment_and_the_file_have_one_grammar() {
    let both = "air=first.db machines=my second.db";
    let ask = |case: &Case, served: Served| {
        for (name, value) in [("air", 1), ("machines", 2)] {
            let path = format!("/api/sql?db={name}");
            let made = served.post(&path, "", &format!("CREATE TABLE t (a INT); INSERT INTO t VALUES ({value})"));
            assert!(made.starts_with("HTTP/1.1 200"), "{made}");
        }
        served.log();
        assert_eq!(case.query("first.db", "SELECT a FROM t").lines().last(), Some("1"));
        assert_eq!(case.query("./my second.db", "SELECT a FROM t").lines().last(), Some("2"));
    };
    let case = Case::new();
    let served = Served::start(&case, &["air=first.db", "machines=my second.db"], &[]);
    ask(&case, served);
    let case = Case::new();
    let served = Served::start(&case, &[], &[("ATSDB_URL", both)]);
    ask(&case, served);
    let case = Case::new();
    case.write("two.toml", format!("url = \"{both}\"\n"));
    let served = Served::start(&case, &["--config", "two.toml"], &[]);
    ask(&case, served);
}

#[test]
fn databases_are_named_after_their_stores() {
    let case = Case::new();
    let served = Served::start(&case, &["air.db", "sqlite:machines.sqlite"], &[]);
    let wrong = served.post("/api/sql?db=nowhere", "", "SELECT 1");
    assert!(wrong.starts_with("HTTP/1.1 404") && wrong.contains("(available: air, machines)"), "{wrong}");
    drop(served);
    let serve = |stores: [&str; 2]| {
        let addresses = ["serve", "--pg", "127.0.0.1:0", "--http", "127.0.0.1:0"];
        case.run(&[addresses.as_slice(), &stores].concat())
    };
    serve(["air.db", "old/air.db"]).failed(1, &["two databases have the name air", "NAME=URL"]);
    serve(["air.db", "postgresql://localhost"]).failed(1, &["postgresql://localhost", "NAME=URL"]);
    serve(["air.db", "my data.db"]).failed(1, &["not a valid database name"]);
}

#[test]
fn users_belong_to_their_database_and_sighup_reloads_all() {
    let case = Case::new();
    add_user(&case, "air.db", "anna", "admin", "a-pass");
    add_user(&case, "machines.db", "anna", "read", "m-pass");
    let served = Served::start(
        &case,
        &["air.db", "machines.db", "--log", "json", "--log-level", "info", "--log-slow", "1ms"],
        &[],
    );
    let ask = |database: &str, password: &str, sql: &str| served.psql_in(database, "anna", password, sql);
    let Some(made) = ask("air", "a-pass", "CREATE TABLE t (a INT)") else { return };
    assert_eq!(made.trim(), "CREATE TABLE");
    assert!(ask("machines", "m-pass", "CREATE TABLE t (a INT)").unwrap().contains("permission denied"));
    assert!(ask("machines", "a-pass", "SELECT 1").unwrap().contains("password authentication failed"));
    for store in ["air.db", "machines.db"] {
        assert!(case.run(&["user", "role", store, "anna", "write"]).well().text().is_empty());
    }
    served.signal("-HUP");
    served.logs("reload");
    assert!(ask("air", "a-pass", "DROP TABLE t").unwrap().contains("permission denied"));
    assert_eq!(ask("machines", "m-pass", "SHOW is_superuser").unwrap().trim(), "off");
    assert!(ask("air", "a-pass", SLOW).is_some());
    let log = served.log();
    // On a busy machine, others may be slow as well.
    let is_asked = |line: &&str| line.contains("slow statement") && line.contains("generate_series");
    let slow = log.lines().find(is_asked).unwrap();
    assert!(slow.contains("\"database\":\"air\""), "{slow}");
}

#[test]
fn a_damaged_store_does_not_take_the_others_down() {
    let case = Case::new();
    case.write("broken.db", vec![7; 20_000]);
    case.run(&["serve", "broken.db", "--pg", "127.0.0.1:0", "--http", "127.0.0.1:0"]).failed(2, &["broken.db"]);
    let served = Served::start(&case, &["air.db", "broken.db"], &[]);
    assert!(served.post("/api/sql?db=air", "", "SELECT 1").starts_with("HTTP/1.1 200"));
    assert!(served.post("/write?db=broken", "", "m v=1").starts_with("HTTP/1.1 503"));
    let log = served.log();
    assert!(log.contains("ERROR database cannot be opened database=broken"), "{log}");
    assert_eq!(log.matches("cannot be opened").count(), 1, "{log}");
}
