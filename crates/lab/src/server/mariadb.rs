//! MariaDB, started with settings that satisfy a tier. MySQL uses the same protocol and is named by a URL.

use super::account::Account;
use super::address::{ServerAddress, ServerKind};
use super::launch::{Launch, Running, prepare};
use crate::failure::Failure;
use crate::measure::Tuning;
use crate::process;
use atsdb::{Durability, Error, ErrorKind};
use mysql::Conn;
use mysql::prelude::Queryable;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The command that installs it.
pub(super) const INSTALL: &str = "apt-get install mariadb-server";

const PROGRAMS: [&str; 4] =
    ["/usr/sbin/mariadbd", "/usr/bin/mariadbd", "/usr/local/bin/mariadbd", "/opt/homebrew/bin/mariadbd"];

/// The program, where it is installed.
pub(super) fn program() -> Result<PathBuf, Failure> {
    let found = PROGRAMS.iter().map(PathBuf::from).chain(process::on_path("mariadbd")).find(|path| path.is_file());
    found.ok_or_else(|| Failure::cannot(INSTALL))
}

/// The version of the program.
pub(super) fn version() -> Result<String, Failure> {
    let output = Command::new(program()?).args(["--no-defaults", "--version"]).output().map_err(Failure::broken)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.split("Ver ").nth(1).and_then(|rest| rest.split([' ', '-']).next()).unwrap_or("unknown");
    Ok(format!("MariaDB {version}"))
}

/// Checks that the plug-in with the RocksDB engine is installed.
pub(super) fn rocksdb() -> Result<(), Failure> {
    let folders = [
        "/usr/lib/mysql/plugin",
        "/usr/lib64/mysql/plugin",
        "/usr/lib/mariadb/plugin",
        "/usr/lib/x86_64-linux-gnu/mariadb19/plugin",
    ];
    match folders.iter().any(|folder| Path::new(folder).join("ha_rocksdb.so").is_file()) {
        true => Ok(()),
        false => Err(Failure::cannot("apt-get install mariadb-plugin-rocksdb")),
    }
}

/// Starts one in `folder`, which it owns.
pub(super) fn start(
    kind: ServerKind,
    folder: &Path,
    durability: Durability,
    tuning: Tuning,
) -> Result<(Running, ServerAddress), Failure> {
    let (program, account) = (program()?, Account::of("mysql")?);
    let (data, socket) = (folder.join("data"), folder.join("s"));
    // At its start, a server removes the temporary files of other servers in the same folder.
    let temporary = format!("--tmpdir={}", folder.display());
    account.own(folder)?;
    let install = process::on_path("mariadb-install-db").unwrap_or_else(|| "mariadb-install-db".into());
    let arguments = [
        install.to_string_lossy().into_owned(),
        "--no-defaults".to_owned(),
        format!("--datadir={}", data.display()),
        temporary.clone(),
        "--auth-root-authentication-method=normal".to_owned(),
        "--skip-test-db".to_owned(),
    ];
    prepare("mariadbd", &arguments, &account, folder)?;

    let settings = match kind {
        ServerKind::MariadbRocksdb => rocksdb_settings(durability, tuning),
        _ => settings(durability, tuning),
    };
    let mut command = vec![
        program.to_string_lossy().into_owned(),
        "--no-defaults".to_owned(),
        format!("--datadir={}", data.display()),
        temporary,
        format!("--socket={}", socket.display()),
        format!("--pid-file={}", folder.join("pid").display()),
        "--skip-networking".to_owned(),
        "--skip-log-bin".to_owned(),
        "--local-infile=1".to_owned(),
    ];
    command.extend(settings.iter().map(|(name, value)| format!("--{name}={value}")));
    let mut address = ServerAddress {
        data: Some(data),
        tuning: Some(tuning),
        settings: settings.iter().map(|(name, value)| format!("{name} = {value}")).collect(),
        ..ServerAddress::of_url(kind, &format!("mysql://root@localhost/lab?socket={}", socket.display()))
    };
    let signal = "KILL";
    let launch = Launch { name: "mariadbd", command, account: &account, folder, signal, signal_at_once: signal };
    let running = launch.start(|| connect(&address).map(drop))?;
    address.process = Some(running.process);
    Ok((running, address))
}

/// The settings that decide the tier, and those that an experienced user changes. The binary log is off, because it is
/// not needed here, and the other contestants have none.
fn settings(durability: Durability, tuning: Tuning) -> Vec<(&'static str, String)> {
    let mut settings: Vec<(&str, String)> = match durability {
        Durability::Full => vec![("innodb-flush-log-at-trx-commit", "1".to_owned())],
        Durability::Normal => vec![("innodb-flush-log-at-trx-commit", "2".to_owned())],
        Durability::Off => vec![
            ("innodb-flush-log-at-trx-commit", "2".to_owned()),
            ("innodb-flush-method", "nosync".to_owned()),
            ("innodb-doublewrite", "0".to_owned()),
        ],
    };
    if tuning == Tuning::Tuned {
        let quarter = process::memory_bytes().unwrap_or(4 << 30) / 4;
        let mebibytes = |bytes: u64| format!("{}M", (bytes >> 20).max(64));
        settings.extend([
            ("innodb-buffer-pool-size", mebibytes(quarter.min(4 << 30))),
            ("innodb-log-file-size", "1G".to_owned()),
            ("key-buffer-size", mebibytes((quarter / 4).min(512 << 20))),
            ("aria-pagecache-buffer-size", mebibytes((quarter / 4).min(512 << 20))),
            ("max-heap-table-size", mebibytes(quarter)),
            ("tmp-table-size", "256M".to_owned()),
            ("sort-buffer-size", "16M".to_owned()),
            ("max-allowed-packet", "64M".to_owned()),
        ]);
    }
    settings
}

/// Settings of the RocksDB engine. A load is one transaction, which holds a lock a row.
fn rocksdb_settings(durability: Durability, tuning: Tuning) -> Vec<(&'static str, String)> {
    let flush = match durability {
        Durability::Full => "1",
        Durability::Normal => "2",
        Durability::Off => "0",
    };
    let mut settings = vec![
        ("plugin-load-add", "ha_rocksdb".to_owned()),
        ("rocksdb-flush-log-at-trx-commit", flush.to_owned()),
        ("rocksdb-max-row-locks", (1 << 30).to_string()),
    ];
    if tuning == Tuning::Tuned {
        let quarter = process::memory_bytes().unwrap_or(4 << 30) / 4;
        settings.push(("rocksdb-block-cache-size", format!("{}M", (quarter.min(4 << 30) >> 20).max(64))));
        settings.push(("max-allowed-packet", "64M".to_owned()));
    }
    settings
}

/// A connection to a database, or to none.
///
/// # Errors
///
/// The URL is invalid, or an error of the server.
pub(crate) fn mysql_client(address: &ServerAddress, database: Option<&str>) -> Result<Conn, Failure> {
    // A URL always names a database, even if none is needed.
    let url = address.url_of(database.unwrap_or("mysql"));
    atsdb_mysql::connect(&url, database)?.map_err(server_failure)
}

/// Features that an engine lacks: an option of a table, keys, TEXT columns, nullable columns.
const ENGINE_CANNOT: [u16; 6] = [1031, 1069, 1163, 1164, 1178, 1214];

/// The server's own error message.
pub(crate) fn server_failure(error: mysql::Error) -> Failure {
    let (message, code) = match &error {
        mysql::Error::MySqlError(reported) => (format!("{} ({})", reported.message, reported.code), reported.code),
        // The message without the client's name for the error.
        mysql::Error::IoError(why) => (why.to_string(), 0),
        mysql::Error::CodecError(why) => (why.to_string(), 0),
        mysql::Error::DriverError(why) => (why.to_string(), 0),
        other => (other.to_string(), 0),
    };
    if ENGINE_CANNOT.contains(&code) {
        return Failure::Cannot(message);
    }
    Failure::Failed(Error::new(ErrorKind::Unavailable, message).with_source(error))
}

/// A connection to no database.
pub(super) fn connect(address: &ServerAddress) -> Result<Conn, Failure> {
    mysql_client(address, None)
}

/// The version that a running server reports.
pub(super) fn running_version(address: &ServerAddress) -> Result<String, Failure> {
    let version: Option<String> = connect(address)?.query_first("SELECT VERSION()").map_err(server_failure)?;
    let version = version.unwrap_or_default();
    let name = if version.contains("MariaDB") { "MariaDB" } else { "MySQL" };
    Ok(format!("{name} {}", version.split('-').next().unwrap_or_default()))
}

/// The names of all databases, and how many tables `database` has.
pub(super) fn databases(address: &ServerAddress, database: &str) -> Result<(Vec<String>, u64), Failure> {
    let mut connection = connect(address)?;
    let names = connection.query("SHOW DATABASES").map_err(server_failure)?;
    let count = "SELECT count(*) FROM information_schema.tables WHERE table_schema = ?";
    let tables = connection.exec_first(count, (database,)).map_err(server_failure)?;
    Ok((names, tables.unwrap_or(0)))
}

/// Drops a database. A statement of a disconnected client may still be running there; this does not wait long for it.
pub(super) fn drop_database(address: &ServerAddress, name: &str) -> Result<(), Failure> {
    let mut connection = connect(address)?;
    connection.query_drop("SET SESSION lock_wait_timeout = 10").map_err(server_failure)?;
    connection.query_drop(format!("DROP DATABASE `{}`", name.replace('`', "``"))).map_err(server_failure)
}
