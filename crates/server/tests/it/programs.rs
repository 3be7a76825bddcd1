//! Clients in other languages: each is a script in `tests/clients`, which runs if its language and its client are
//! installed.

use crate::support::Served;
use std::path::PathBuf;
use std::process::Command;

/// The folder in which `.ci/clients` installs the clients.
pub(crate) fn clients() -> Option<PathBuf> {
    std::env::var_os("ATSDB_CLIENTS").map(PathBuf::from).filter(|folder| folder.is_dir())
}

fn scripts() -> PathBuf {
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

fn python(script: &str) -> Option<Served> {
    let Some(python) = clients().map(|folder| folder.join("python/bin/python")).filter(|path| path.exists()) else {
        eprintln!("skipped: the Python clients are not installed: .ci/clients FOLDER, then ATSDB_CLIENTS=FOLDER");
        return None;
    };
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
    let Some(program) = clients().map(|folder| folder.join("pgx")).filter(|path| path.exists()) else {
        eprintln!("skipped: pgx is not installed: .ci/clients FOLDER, then ATSDB_CLIENTS=FOLDER");
        return;
    };
    let served = Served::with_tables();
    if run(&served, Command::new(program)) {
        assert_eq!(served.count("sensors"), 2 + 1 + 1_000);
    }
}

#[test]
fn node_pg() {
    let modules = clients().map(|folder| folder.join("node/node_modules")).filter(|path| path.is_dir());
    let Some(modules) = modules else {
        eprintln!("skipped: pg of Node.js is not installed: .ci/clients FOLDER, then ATSDB_CLIENTS=FOLDER");
        return;
    };
    let served = Served::with_tables();
    let mut command = Command::new("node");
    command.arg(scripts().join("node_pg.js")).env("NODE_PATH", modules);
    if run(&served, command) {
        assert_eq!(served.count("sensors"), 2 + 1 + 1_000);
    }
}

#[test]
fn pgjdbc() {
    let driver = clients().map(|folder| folder.join("postgresql-42.7.8.jar")).filter(|path| path.exists());
    let Some(driver) = driver else {
        eprintln!("skipped: pgjdbc is not installed: .ci/clients FOLDER, then ATSDB_CLIENTS=FOLDER");
        return;
    };
    let served = Served::with_tables();
    let mut command = Command::new("java");
    command.arg("-cp").arg(driver).arg(scripts().join("PgJdbc.java"));
    if run(&served, command) {
        assert_eq!(served.count("sensors"), 2 + 300 + 2 + 500);
        assert_eq!(served.count("every"), 10);
    }
}
