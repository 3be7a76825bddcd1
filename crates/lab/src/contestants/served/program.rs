//! The server's program, settings, and store in a workspace.

use crate::contestant::Workspace;
use crate::contestants::http::{Http, Reply};
use crate::failure::Failure;
use crate::server::{Ports, WorkspaceProgram, WorkspaceServers};
use atsdb::Durability;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(super) static SERVERS: WorkspaceServers = WorkspaceServers::new();

/// The variable that may name the program.
const VARIABLE: &str = "ATSDB_LAB_ATSDB";
/// The program's name.
const NAME: &str = "atsdb";

/// The program that the variable names, or else this one.
fn program() -> Result<PathBuf, Failure> {
    let named = std::env::var_os(VARIABLE).map(PathBuf::from).filter(|path| path.is_file());
    let own = || std::env::current_exe().ok().filter(|path| path.file_stem().is_some_and(|name| name == NAME));
    named.or_else(own).ok_or_else(|| Failure::cannot(format!("run the lab by the program, or set {VARIABLE} to it")))
}

/// The version of the program.
pub(super) fn version() -> Result<String, Failure> {
    let output = Command::new(program()?).arg("--version").output().map_err(Failure::broken)?;
    // `atsdb 0.1.0 (SQLite 3.54.1, page format 2)`
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.split_whitespace().nth(1).filter(|_| output.status.success());
    let version = version.ok_or_else(|| Failure::cannot(format!("{VARIABLE} names a program that is not {NAME}")))?;
    Ok(format!("atsdb {version} as a server"))
}

/// The server of a workspace.
pub(super) struct ServedProgram {
    program: PathBuf,
    pub(super) folder: PathBuf,
    pub(super) durability: Durability,
}

impl ServedProgram {
    /// The server of a workspace.
    pub(super) fn of(workspace: &Workspace) -> Result<Self, Failure> {
        Ok(Self { program: program()?, folder: workspace.directory.clone(), durability: workspace.durability })
    }

    /// The store.
    fn store(&self) -> PathBuf {
        Path::new(&self.folder).join("atsdb.db")
    }
}

impl WorkspaceProgram for ServedProgram {
    const NAME: &'static str = NAME;

    fn command(&self, ports: Ports) -> Result<Vec<String>, Failure> {
        let (pg, http) = (format!("127.0.0.1:{}", ports.other), format!("127.0.0.1:{}", ports.http));
        let (program, store) = (self.program.display().to_string(), self.store().display().to_string());
        let command = [&program, "serve", &store, "--pg", &pg, "--http", &http, "--durability", self.durability.name()];
        Ok(command.map(str::to_owned).to_vec())
    }

    fn answers(&self, ports: Ports) -> Result<(), Failure> {
        Http::new(ports.http).get("/ready").and_then(Reply::end)
    }
}
