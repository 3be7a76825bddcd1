//! Clients in other languages: each is a script in `tests/clients`, which runs if its language and its client are
//! installed.

use crate::support::Served;
use std::path::PathBuf;
use std::process::Command;

/// The folder in which `.ci/clients` installs the clients.
pub(crate) fn clients() -> Option<PathBuf> {
    std::env::var_os("ATSDB_CLIENTS").map(PathBuf::from).filter(|folder| folder.is_dir())
}

pub(crate) fn scripts() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/clients")
}

/// Runs a client against a server with tables, and requires success. Returns `false` if the client is missing.
fn run(served: &Served, mut command: Command) -> bool {
    let url = format!("postgresql://me@127.0.0.1:{}/air", served.pg().port());
    let Ok(output) = command.arg(&url).env("DATABASE_URL", &url).output() else {
        eprintln!("skipped: {command:?} cannot be started");
        return false;
    };
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}\n{stdout}\n{stderr}");
    assert!(stdout.trim_end().ends_with("done"), "{command:?}\n{stdout}\n{stderr}");
    true
}

/// A program in the folder of clients, or `None` if it is not there.
pub(crate) fn installed(path: &str, what: &str) -> Option<PathBuf> {
    let found = clients().map(|folder| folder.join(path)).filter(|path| path.exists());
    if found.is_none() {
        eprintln!("skipped: {what} is not installed: .ci/clients FOLDER, then ATSDB_CLIENTS=FOLDER");
    }
    found
}

fn python(script: &str) -> Option<Served> {
    let python = installed("python/bin/python", "a Python with its clients")?;
    let served = Served::with_tables();
    let mut command = Command::new(python);
    command.arg(scripts().join(script));
    run(&served, command).then_some(served)
}

#[test]
fn psycopg_3() {
    let Some(served) = python("psycopg3.py") else { return };
    assert_eq!(served.count("sensors"), 2 + 1 + 1_000 + 100);
    assert!(served.rows("SELECT name FROM sensors WHERE id = 10").contains("| 42 "), "text that looks like a number");
}

#[test]
fn psycopg_2() {
    let Some(served) = python("psycopg2_client.py") else { return };
    assert_eq!(served.count("sensors"), 2 + 1 + 2);
}

#[test]
fn asyncpg() {
    let Some(served) = python("asyncpg_client.py") else { return };
    assert_eq!(served.count("sensors"), 2 + 1 + 500);
}

#[test]
fn sqlalchemy() {
    let Some(served) = python("sqlalchemy_client.py") else { return };
    assert_eq!(served.count("made"), 2);
}

#[test]
fn the_suite_of_sqlalchemy() {
    if let Some(served) = python("sqlalchemy_suite.py") {
        let left: Vec<_> = served.database.tables().unwrap().into_iter().map(|table| table.definition.name).collect();
        assert!(left.is_empty(), "the suite drops its tables: {left:?}");
    }
}

#[test]
fn django() {
    let Some(served) = python("django_client.py") else { return };
    assert_eq!(served.count("air_reading"), 20);
    assert_eq!(served.count("auth_user"), 1);
}

#[test]
fn pgx() {
    let Some(program) = installed("pgx", "pgx") else { return };
    let served = Served::with_tables();
    if run(&served, Command::new(program)) {
        assert_eq!(served.count("sensors"), 2 + 1 + 1_000);
    }
}

/// Runs a script in Node.js on a server with tables.
fn node(script: &str) -> Option<Served> {
    let modules = installed("node/node_modules", "a Node.js with its clients")?;
    let served = Served::with_tables();
    let mut command = Command::new("node");
    command.arg(scripts().join(script)).env("NODE_PATH", modules);
    run(&served, command).then_some(served)
}

#[test]
fn node_pg() {
    let Some(served) = node("node_pg.js") else { return };
    assert_eq!(served.count("sensors"), 2 + 1 + 1_000);
}

#[test]
fn postgres_js() {
    let Some(served) = node("postgres_js.js") else { return };
    assert_eq!(served.count("sensors"), 2 + 2 + 100);
}

#[test]
fn pgjdbc() {
    let Some(driver) = installed("postgresql-42.7.8.jar", "pgjdbc") else { return };
    let served = Served::with_tables();
    let mut command = Command::new("java");
    command.arg("-cp").arg(driver).arg(scripts().join("PgJdbc.java"));
    if run(&served, command) {
        assert_eq!(served.count("sensors"), 2 + 300 + 2 + 500);
        assert_eq!(served.count("every"), 10);
    }
}

#[test]
fn pandas() {
    let Some(served) = python("pandas_client.py") else { return };
    assert_eq!(served.count("frame"), 2_000);
    assert_eq!(served.count("indexed"), 1_000);
}

#[test]
fn adbc_of_postgresql() {
    let Some(served) = python("adbc_postgresql.py") else { return };
    assert_eq!(served.count("ingested"), 20);
    assert_eq!(served.count("sensors"), 2 + 2);
}

/// Runs a script in a language of Debian's packages, if the language has its client.
fn debian(language: &str, has_client: &[&str], script: &str) -> Option<Served> {
    let check = Command::new(language).args(has_client).output();
    if !check.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: {language} or its client of PostgreSQL is not installed: .ci/clients FOLDER");
        return None;
    }
    let served = Served::with_tables();
    let mut command = Command::new(language);
    command.arg(scripts().join(script));
    run(&served, command).then_some(served)
}

#[test]
fn dbd_pg() {
    let Some(served) = debian("perl", &["-MDBD::Pg", "-e", "1"], "dbd_pg.pl") else { return };
    assert_eq!(served.count("sensors"), 2 + 20 + 2 + 100);
}

#[test]
fn ruby_pg() {
    let Some(served) = debian("ruby", &["-e", "require 'pg'"], "ruby_pg.rb") else { return };
    assert_eq!(served.count("sensors"), 2 + 20 + 100 + 1);
}

#[test]
fn php_pdo() {
    let check = "exit(extension_loaded('pdo_pgsql') && extension_loaded('pgsql') ? 0 : 1);";
    let Some(served) = debian("php", &["-r", check], "php_pdo.php") else { return };
    assert_eq!(served.count("sensors"), 2 + 2 * 20 + 2 + 2);
}

#[test]
fn psqlodbc() {
    let driver = Command::new("odbcinst").args(["-q", "-d", "-n", "PostgreSQL Unicode"]).output();
    if !driver.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: there is no psqlODBC (apt-get install odbc-postgresql unixodbc)");
        return;
    }
    let Some(served) = python("psqlodbc.py") else { return };
    assert_eq!(served.count("sensors"), 2 + 4 * 10);
}
