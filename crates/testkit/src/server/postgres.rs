//! PostgreSQL for tests. It refuses to run as root: then it runs as the user of the package.

use super::certificates::Certificates;
use super::setup::{PASSWORD, USER, find, is_root, run};
use std::io::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

const ADMINISTRATOR_PASSWORD: &str = "administrator";

fn folder() -> Option<PathBuf> {
    let mut versions: Vec<PathBuf> =
        std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    versions.sort();
    let debian = versions.into_iter().rev().map(|version| version.join("bin"));
    let others = ["/usr/bin", "/usr/local/bin", "/usr/local/pgsql/bin"].map(PathBuf::from);
    debian.chain(others).find(|folder| folder.join("initdb").exists())
}

fn program(name: &str) -> PathBuf {
    folder().unwrap_or_default().join(name)
}

/// Finds a program of the installed PostgreSQL, such as `pgbench`.
pub fn installed(name: &str) -> Option<PathBuf> {
    Some(program(name)).filter(|path| path.exists())
}

pub(super) fn missing() -> Option<&'static str> {
    match folder() {
        None => Some("PostgreSQL"),
        Some(_) if find("setpriv", &["/usr/bin", "/bin"]).is_none() => Some("setpriv"),
        Some(_) => None,
    }
}

/// A command that ends with this thread. It runs as another user if this process runs as root.
pub(super) fn as_user(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]);
    if is_root() {
        command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
    }
    command.arg(program).current_dir("/tmp");
    command
}

pub(super) fn initialize(data: &Path) -> Result<()> {
    std::fs::create_dir(data)?;
    let password = data.with_extension("password");
    std::fs::write(&password, ADMINISTRATOR_PASSWORD)?;
    if is_root() {
        run(Command::new("chown").arg("postgres:postgres").arg(data).arg(&password))?;
    }
    let mut command = as_user(&program("initdb"));
    command.arg("-D").arg(data).arg("--pwfile").arg(password);
    run(command.args(["-U", "postgres", "-A", "scram-sha-256", "-E", "UTF8", "--locale=C", "--no-sync"]))?;
    // The ordinary user is created by a server that serves no one else.
    let mut single = as_user(&program("postgres"));
    let sql = format!("CREATE ROLE {USER} LOGIN PASSWORD '{PASSWORD}'\n");
    single.arg("--single").arg("-D").arg(data).arg("postgres");
    let mut child = single
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()?;
    std::io::Write::write_all(&mut child.stdin.take().ok_or_else(|| Error::other("no pipe"))?, sql.as_bytes())?;
    match child.wait()?.success() {
        true => Ok(()),
        false => Err(Error::other("the ordinary user cannot be made")),
    }
}

/// Copies a running server, and sets the copy up as a standby that follows it.
pub(super) fn copy_to_follow(port: u16, data: &Path) -> Result<()> {
    std::fs::create_dir(data)?;
    if is_root() {
        run(Command::new("chown").arg("postgres:postgres").arg(data))?;
    }
    run(Command::new("chmod").arg("700").arg(data))?;
    let mut command = as_user(&program("pg_basebackup"));
    command.args(["-h", "127.0.0.1", "-U", "postgres", "--write-recovery-conf", "--checkpoint=fast", "--no-sync"]);
    command.arg("-p").arg(port.to_string()).arg("-D").arg(data).env("PGPASSWORD", ADMINISTRATOR_PASSWORD);
    run(&mut command)
}

/// Returns the command that starts a server. Nothing is synced: the writes of a killed server are in the system's
/// cache, and no test cuts the power. But the server may be killed while it writes a page.
pub(super) fn command(data: &Path, port: u16) -> Command {
    let mut command = as_user(&program("postgres"));
    command.arg("-D").arg(data).arg("-p").arg(port.to_string());
    for setting in [
        "listen_addresses=127.0.0.1",
        "unix_socket_directories=",
        "fsync=off",
        "max_connections=300",
        "shared_buffers=64MB",
        "max_wal_size=256MB",
        "log_min_messages=fatal",
    ] {
        command.arg("-c").arg(setting);
    }
    command
}

/// The arguments that enable encryption. The server accepts no key that other users may read.
pub(super) fn encryption(certificates: &Certificates) -> Vec<String> {
    if is_root() {
        run(Command::new("chown").arg("postgres:postgres").arg(&certificates.key)).expect("the key can be handed over");
    }
    let setting = |name: &str, file: &Path| ["-c".to_owned(), format!("{name}={}", file.display())];
    let files = [setting("ssl_cert_file", &certificates.server), setting("ssl_key_file", &certificates.key)];
    ["-c", "ssl=on"].map(str::to_owned).into_iter().chain(files.into_iter().flatten()).collect()
}

/// Keeps the write-ahead log in its place when the other files are moved.
pub(super) fn keep_log_elsewhere(data: &Path, elsewhere: &Path) -> Result<()> {
    if is_root() {
        run(Command::new("chown").arg("postgres:postgres").arg(data))?;
    }
    run(Command::new("chmod").arg("700").arg(data))?;
    std::fs::remove_dir_all(data.join("pg_wal"))?;
    std::os::unix::fs::symlink(elsewhere.join("pg_wal"), data.join("pg_wal"))
}

pub(super) fn client(port: u16, database: &str) -> Command {
    let mut command = Command::new(program("psql"));
    command.args(["-X", "-q", "-A", "-t", "-h", "127.0.0.1", "-U", "postgres", "-v", "ON_ERROR_STOP=1"]);
    command.arg("-p").arg(port.to_string()).env("PGPASSWORD", ADMINISTRATOR_PASSWORD).env("PGCONNECT_TIMEOUT", "60");
    command.arg("-d").arg(if database.is_empty() { "postgres" } else { database }).arg("-c");
    command
}
