//! MariaDB for tests.

use super::certificates::Certificates;
use super::setup::{PASSWORD, USER, find, is_root, run};
use std::io::Result;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const FOLDERS: [&str; 4] = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"];

fn program(name: &str) -> PathBuf {
    find(name, &FOLDERS).unwrap_or_default()
}

pub(super) fn missing() -> Option<&'static str> {
    ["mariadbd", "mariadb-install-db", "mariadb", "setpriv"]
        .into_iter()
        .find(|program| find(program, &FOLDERS).is_none())
}

pub(super) fn initialize(data: &Path) -> Result<()> {
    let mut install = Command::new(program("mariadb-install-db"));
    install.arg("--no-defaults").arg("--auth-root-authentication-method=normal").arg("--skip-test-db");
    if is_root() {
        install.arg("--user=root");
    }
    run(install.arg(data_argument(data)).arg(temporary_argument(data)))?;
    // The ordinary user is created by a server that serves no one else.
    let sql = format!(
        "FLUSH PRIVILEGES; DELETE FROM mysql.global_priv WHERE user = ''; CREATE USER {USER}@'%' IDENTIFIED BY '{PASSWORD}';"
    );
    let mut bootstrap = base(data);
    bootstrap.arg("--bootstrap").stdin(std::process::Stdio::piped());
    let mut child = bootstrap.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn()?;
    if let Some(mut input) = child.stdin.take() {
        std::io::Write::write_all(&mut input, sql.replace("; ", ";\n").as_bytes())?;
    }
    match child.wait()?.success() {
        true => Ok(()),
        false => Err(std::io::Error::other("the ordinary user cannot be made")),
    }
}

fn base(data: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL"]).arg(program("mariadbd")).arg("--no-defaults");
    if is_root() {
        // If an argument is repeated, the last one counts. The server runs as the owner of the folder.
        let is_roots = std::fs::metadata(data).map_or(true, |metadata| metadata.uid() == 0);
        command.arg(if is_roots { "--user=root" } else { "--user=mysql" });
    }
    command.arg(data_argument(data)).arg(temporary_argument(data));
    command
}

/// Written as one argument, because the script that creates the folder supports no other form.
pub(super) fn data_argument(data: &Path) -> String {
    format!("--datadir={}", data.display())
}

/// Next to the data: when a server starts, it removes the temporary files of other servers with the same folder.
pub(super) fn temporary_argument(data: &Path) -> String {
    format!("--tmpdir={}", data.parent().unwrap_or(data).display())
}

pub(super) fn socket(data: &Path) -> PathBuf {
    data.with_extension("socket")
}

/// Returns the command that starts a server. Nothing is synced: the writes of a killed server are in the system's
/// cache, and no test cuts the power.
pub(super) fn command(data: &Path, port: u16) -> Command {
    let mut command = base(data);
    command.arg("--port").arg(port.to_string()).arg("--socket").arg(socket(data));
    command.args([
        "--bind-address=127.0.0.1",
        "--skip-name-resolve",
        "--innodb-flush-log-at-trx-commit=2",
        "--innodb-flush-method=nosync",
        "--innodb-buffer-pool-size=64M",
        "--innodb-log-file-size=32M",
        "--max-connections=300",
        "--performance-schema=off",
    ]);
    command
}

/// The arguments that enable encryption.
pub(super) fn encryption(certificates: &Certificates) -> Vec<String> {
    let setting = |name: &str, file: &Path| format!("--ssl-{name}={}", file.display());
    vec![setting("cert", &certificates.server), setting("key", &certificates.key)]
}

pub(super) fn client(data: &Path, database: &str) -> Command {
    client_of(program("mariadb"), data, database)
}

/// Returns a client program that connects as the administrator.
pub(super) fn client_of(program: PathBuf, data: &Path, database: &str) -> Command {
    let mut command = Command::new(program);
    command.args(["--no-defaults", "-N", "-B", "-u", "root"]).arg("--socket").arg(socket(data));
    if !database.is_empty() {
        command.arg("-D").arg(database);
    }
    command.arg("-e");
    command
}
