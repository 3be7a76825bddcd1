//! MySQL for tests: the program that ATSDB_TEST_MYSQLD names, or else the installed one.

use super::certificates::Certificates;
use super::mariadb;
use super::setup::{PASSWORD, USER, find, is_root, run};
use std::io::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const FOLDERS: [&str; 4] = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/mysql/bin"];

/// The program and its version text. MariaDB's program may have this name too.
fn found() -> Option<(PathBuf, String)> {
    let named = std::env::var_os("ATSDB_TEST_MYSQLD").map(PathBuf::from);
    let is_named = named.is_some();
    let program = named.or_else(|| find("mysqld", &FOLDERS))?;
    let text = Command::new(&program).args(["--no-defaults", "--version"]).stderr(Stdio::null()).output();
    let text = text.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let is_mysql = !text.contains("MariaDB") && text.contains("Ver 8");
    assert!(is_mysql || !is_named, "ATSDB_TEST_MYSQLD names no MySQL 8: {}: {text}", program.display());
    is_mysql.then_some((program, text))
}

fn program() -> Option<PathBuf> {
    found().map(|(program, _)| program)
}

/// A name for data of this version.
pub(super) fn version() -> String {
    let text = found().map(|(_, text)| text).unwrap_or_default();
    let version = text.split("Ver ").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap_or("8");
    format!("Mysql-{version}")
}

fn client_program() -> Option<PathBuf> {
    ["mysql", "mariadb"].into_iter().find_map(|name| find(name, &FOLDERS))
}

pub(super) fn missing() -> Option<&'static str> {
    match (program(), client_program()) {
        (Some(_), Some(_)) if find("setpriv", &["/usr/bin", "/bin"]).is_some() => None,
        (Some(_), Some(_)) => Some("setpriv"),
        (Some(_), None) => Some("mysql"),
        (None, _) => Some("mysqld, version 8,"),
    }
}

fn base(data: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]).arg(program().unwrap_or_default()).arg("--no-defaults");
    if is_root() {
        command.arg("--user=root");
    }
    command.arg(mariadb::data_argument(data)).arg(mariadb::temporary_argument(data));
    command
}

pub(super) fn initialize(data: &Path) -> Result<()> {
    let statements = data.with_extension("sql");
    // The default: a login needs the server's key, or an encrypted connection.
    std::fs::write(&statements, format!("CREATE USER {USER}@'%' IDENTIFIED BY '{PASSWORD}';\n"))?;
    let mut initialize = base(data);
    initialize.arg("--initialize-insecure").arg(format!("--init-file={}", statements.display()));
    run(&mut initialize).map_err(|error| Error::other(format!("the data folder cannot be made: {error}")))
}

/// Returns the command that starts a server. Nothing is synced: the writes of a killed server are in the system's
/// cache, and no test cuts the power.
pub(super) fn command(data: &Path, port: u16) -> Command {
    let mut command = base(data);
    command.arg("--port").arg(port.to_string()).arg("--socket").arg(mariadb::socket(data));
    command.args([
        "--bind-address=127.0.0.1",
        "--skip-name-resolve",
        "--mysqlx=OFF",
        "--disable-log-bin",
        "--innodb-flush-log-at-trx-commit=2",
        "--innodb-flush-method=nosync",
        "--innodb-buffer-pool-size=64M",
        "--loose-innodb-redo-log-capacity=32M",
        "--max-connections=300",
        "--performance-schema=off",
    ]);
    command
}

pub(super) fn encryption(certificates: &Certificates) -> Vec<String> {
    let authority = format!("--ssl-ca={}", certificates.authority.display());
    mariadb::encryption(certificates).into_iter().chain([authority]).collect()
}

pub(super) fn client(data: &Path, database: &str) -> Command {
    mariadb::client_of(client_program().unwrap_or_default(), data, database)
}
