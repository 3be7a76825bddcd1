//! PostgreSQL: started with settings that keep a tier's promise.

use super::account::Account;
use super::address::{ServerAddress, ServerKind};
use super::launch::{Launch, Running, prepare};
use crate::failure::Failure;
use crate::measure::Tuning;
use crate::process;
use atsdb::{Durability, Error, ErrorKind};
use postgres::error::SqlState;
use postgres::{Client, Config, NoTls};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The command that installs PostgreSQL.
pub(super) const INSTALL: &str = "apt-get install postgresql";

/// The database that exists in every server.
const ALWAYS: &str = "postgres";

/// The installed program: the newest one in Debian's folders, or else the one on the path.
pub(super) fn program(name: &str) -> Result<PathBuf, Failure> {
    let folders = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions: Vec<(u32, PathBuf)> = folders
        .filter_map(|folder| Some((folder.file_name().to_str()?.parse().ok()?, folder.path().join("bin").join(name))))
        .filter(|(_, path)| path.is_file())
        .collect();
    versions.sort();
    let newest = versions.pop().map(|(_, path)| path);
    newest.or_else(|| process::on_path(name)).ok_or_else(|| Failure::cannot(INSTALL))
}

/// The version of the program.
pub(super) fn version() -> Result<String, Failure> {
    let output = Command::new(program("postgres")?).arg("--version").output().map_err(Failure::broken)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let version = text.split("(PostgreSQL) ").nth(1).and_then(|rest| rest.split_whitespace().next());
    Ok(format!("PostgreSQL {}", version.unwrap_or("unknown")))
}

/// Starts one in `folder`, which it owns.
pub(super) fn start(
    folder: &Path,
    durability: Durability,
    tuning: Tuning,
) -> Result<(Running, ServerAddress), Failure> {
    let (program, initialise, account) = (program("postgres")?, program("initdb")?, Account::of("postgres")?);
    let data = folder.join("data");
    account.own(folder)?;
    let arguments = [
        initialise.to_string_lossy().into_owned(),
        format!("--pgdata={}", data.display()),
        "--username=postgres".to_owned(),
        "--auth=trust".to_owned(),
        "--encoding=UTF8".to_owned(),
        "--locale=C".to_owned(),
        "--no-sync".to_owned(),
    ];
    prepare("postgres", &arguments, &account, folder)?;

    let settings = settings(durability, tuning);
    let mut command =
        vec![program.to_string_lossy().into_owned(), "-D".to_owned(), data.to_string_lossy().into_owned()];
    let always =
        [("listen_addresses", String::new()), ("unix_socket_directories", folder.to_string_lossy().into_owned())];
    for (name, value) in always.iter().chain(&settings) {
        command.extend(["-c".to_owned(), format!("{name}={value}")]);
    }
    let mut address = ServerAddress {
        data: Some(data),
        tuning: Some(tuning),
        settings: settings.iter().map(|(name, value)| format!("{name} = {value}")).collect(),
        ..ServerAddress::of_url(ServerKind::Postgres, &format!("postgresql://postgres@/lab?host={}", folder.display()))
    };
    let signal = "QUIT";
    let launch = Launch { name: "postgres", command, account: &account, folder, signal, signal_at_once: signal };
    let running = launch.start(|| postgres_client(&address, ALWAYS).map(drop))?;
    address.process = Some(running.process);
    Ok((running, address))
}

/// The settings that decide the tier, and those that an experienced user changes. Tier `normal` has no exact setting:
/// commits that do not wait are written within 0.6 s, so a crash of the server may also lose them.
fn settings(durability: Durability, tuning: Tuning) -> Vec<(&'static str, String)> {
    let on_off = |on: bool| if on { "on" } else { "off" }.to_owned();
    let mut settings = vec![
        ("fsync", on_off(durability != Durability::Off)),
        ("full_page_writes", on_off(durability != Durability::Off)),
        ("synchronous_commit", on_off(durability != Durability::Normal)),
    ];
    if tuning == Tuning::Tuned {
        let quarter = process::memory_bytes().unwrap_or(4 << 30) / 4;
        let mebibytes = |bytes: u64| format!("{}MB", (bytes >> 20).max(64));
        settings.extend([
            ("shared_buffers", mebibytes(quarter.min(4 << 30))),
            ("effective_cache_size", mebibytes(quarter * 3)),
            ("work_mem", "128MB".to_owned()),
            ("maintenance_work_mem", "512MB".to_owned()),
            ("max_wal_size", "8GB".to_owned()),
            ("checkpoint_timeout", "30min".to_owned()),
            ("random_page_cost", "1.1".to_owned()),
        ]);
    }
    settings
}

/// A connection to a database.
///
/// # Errors
///
/// An error of the server.
pub(crate) fn postgres_client(address: &ServerAddress, database: &str) -> Result<Client, Failure> {
    connect(address, database)?.map_err(postgres_failure)
}

fn connect(address: &ServerAddress, database: &str) -> Result<Result<Client, postgres::Error>, Failure> {
    let (mut config, tls) = atsdb_postgres::client_config(&address.url_of(database))?;
    config.application_name("atsdb lab").options("-c timezone=UTC");
    let config = Config::from(config);
    Ok(tls.map_or_else(|| config.connect(NoTls), |tls| config.connect(tls)))
}

/// A connection to a database, which is created if it does not exist.
///
/// # Errors
///
/// An error of the server.
pub(crate) fn postgres_session(address: &ServerAddress, database: &str) -> Result<Client, Failure> {
    match connect(address, database)? {
        Ok(client) => Ok(client),
        Err(error) if error.code() == Some(&SqlState::INVALID_CATALOG_NAME) => {
            let create = format!("CREATE DATABASE \"{}\"", database.replace('"', "\"\""));
            postgres_client(address, ALWAYS)?.batch_execute(&create).map_err(postgres_failure)?;
            postgres_client(address, database)
        }
        Err(error) => Err(postgres_failure(error)),
    }
}

/// The server's own error message.
pub(crate) fn postgres_failure(error: postgres::Error) -> Failure {
    let message = match error.as_db_error() {
        Some(reported) => format!("{} ({})", reported.message(), reported.code().code()),
        None => std::error::Error::source(&error).map_or(error.to_string(), |source| format!("{error}: {source}")),
    };
    Failure::Failed(Error::new(ErrorKind::Unavailable, message).with_source(error))
}

/// The version that a running server reports.
pub(super) fn running_version(address: &ServerAddress) -> Result<String, Failure> {
    let mut client = postgres_client(address, ALWAYS)?;
    let row = client.query_one("SHOW server_version", &[]).map_err(postgres_failure)?;
    let version: String = row.try_get(0).map_err(postgres_failure)?;
    Ok(format!("PostgreSQL {}", version.split_whitespace().next().unwrap_or_default()))
}

/// The names of all databases, and how many tables `database` has.
pub(super) fn databases(address: &ServerAddress, database: &str) -> Result<(Vec<String>, u64), Failure> {
    let mut client = postgres_client(address, ALWAYS)?;
    let rows = client.query("SELECT datname::text FROM pg_database", &[]).map_err(postgres_failure)?;
    let names = rows.iter().map(|row| row.try_get(0)).collect::<Result<Vec<String>, _>>().map_err(postgres_failure)?;
    if !names.iter().any(|name| name == database) {
        return Ok((names, 0));
    }
    let count = "SELECT count(*) FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace WHERE relkind IN ('r', 'p', 'm') \
                 AND nspname NOT IN ('pg_catalog', 'information_schema') AND nspname NOT LIKE 'pg_toast%'";
    let row = postgres_client(address, database)?.query_one(count, &[]).map_err(postgres_failure)?;
    let tables: i64 = row.try_get(0).map_err(postgres_failure)?;
    Ok((names, tables.unsigned_abs()))
}

/// Drops a database, and ends the connections to it.
pub(super) fn drop_database(address: &ServerAddress, name: &str) -> Result<(), Failure> {
    let drop = format!("DROP DATABASE \"{}\" WITH (FORCE)", name.replace('"', "\"\""));
    postgres_client(address, ALWAYS)?.batch_execute(&drop).map_err(postgres_failure)
}
