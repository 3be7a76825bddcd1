//! The data folder of a server: made once for each kind, then copied.

use super::setup::{FOLDER_PREFIX, own_folder, run};
use super::{mariadb, mysql, postgres};
use crate::disk::SmallDisk;
use crate::skipped;
use std::fs::File;
use std::io::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The kind of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerKind {
    /// PostgreSQL.
    Postgres,
    /// MariaDB.
    Mariadb,
    /// MySQL.
    Mysql,
}

/// Returns a folder with data of a kind. `None`, with a message on stderr, if its programs are not installed.
pub(super) fn new_folder(kind: ServerKind) -> Option<TempDir> {
    let missing = match kind {
        ServerKind::Postgres => postgres::missing(),
        ServerKind::Mariadb => mariadb::missing(),
        ServerKind::Mysql => mysql::missing(),
    };
    match missing {
        Some(program) => {
            skipped(&format!("{program} is not installed; the package {} has it", package(kind)));
            None
        }
        None => Some(data_folder(kind).expect("a data folder can be made")),
    }
}

fn package(kind: ServerKind) -> &'static str {
    match kind {
        ServerKind::Postgres => "postgresql",
        ServerKind::Mariadb => "mariadb-server",
        ServerKind::Mysql => "mysql-server",
    }
}

/// Deletes the data folders of processes that have ended, because a server that serves a whole process outlives the
/// last chance to delete its own folder.
fn remove_left_over() -> Result<()> {
    for entry in std::fs::read_dir(std::env::temp_dir())?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name.strip_prefix(FOLDER_PREFIX).and_then(|rest| rest.split_once('-')).map(|(owner, _)| owner);
        let is_number = |owner: &&str| owner.bytes().all(|byte| byte.is_ascii_digit());
        if owner.filter(is_number).is_some_and(|owner| !Path::new("/proc").join(owner).exists()) {
            let _ = Command::new("umount").arg("-l").arg(entry.path().join("data")).stderr(Stdio::null()).status();
            // Another process that starts a server may be deleting the same folder.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
    Ok(())
}

/// A copy of the kind's first data folder, which is made if it does not exist. It is not in the target folder: a
/// server that runs as another user could not get there.
pub(super) fn data_folder(kind: ServerKind) -> Result<TempDir> {
    let folder = own_folder()?;
    let name = if kind == ServerKind::Mysql { mysql::version() } else { format!("{kind:?}") };
    let template = templates()?.join(name);
    let lock = File::create(template.with_extension("lock"))?;
    lock.lock()?;
    remove_left_over()?;
    let data = folder.path().join("data");
    if !template.exists() {
        match kind {
            ServerKind::Postgres => postgres::initialize(&data)?,
            ServerKind::Mariadb => mariadb::initialize(&data)?,
            ServerKind::Mysql => mysql::initialize(&data)?,
        }
        let unfinished = template.with_extension("unfinished");
        let _ = std::fs::remove_dir_all(&unfinished);
        run(Command::new("cp").arg("-a").arg(&data).arg(&unfinished))?;
        std::fs::rename(&unfinished, &template)?;
    } else {
        run(Command::new("cp").arg("-a").arg(&template).arg(&data))?;
    }
    Ok(folder)
}

/// Moves the data of a new server to a separate disk.
pub(super) fn onto_a_disk(kind: ServerKind, folder: &Path) -> Result<Option<SmallDisk>> {
    let (data, elsewhere) = (folder.join("data"), folder.join("elsewhere"));
    std::fs::rename(&data, &elsewhere)?;
    let Some(disk) = SmallDisk::mount(&data, 1 << 30) else { return Ok(None) };
    run(Command::new("cp").arg("-a").arg(elsewhere.join(".")).arg(&data))?;
    if kind == ServerKind::Postgres {
        postgres::keep_log_elsewhere(&data, &elsewhere)?;
    }
    Ok(Some(disk))
}

/// Beside the folder of compiled programs, of which this is one: `target/release/deps/NAME`.
fn templates() -> Result<PathBuf> {
    let program = std::env::current_exe()?;
    let target = program.ancestors().nth(3).unwrap_or(Path::new("/tmp"));
    let folder = target.join("test-servers");
    std::fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// The size of a folder's files.
pub(super) fn bytes_in(folder: &Path) -> Result<u64> {
    let printed = Command::new("du").args(["-s", "-B1"]).arg(folder).output()?;
    let printed = String::from_utf8_lossy(&printed.stdout);
    printed.split_whitespace().next().and_then(|bytes| bytes.parse().ok()).ok_or_else(|| Error::other(printed.clone()))
}
