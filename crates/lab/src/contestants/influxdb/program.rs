//! The server's program, settings, and files in a workspace.

use super::influxql::result;
use crate::contestant::Workspace;
use crate::contestants::http::{Http, Reply};
use crate::failure::Failure;
use crate::measure::Tuning;
use crate::process;
use crate::server::{Ports, WorkspaceProgram, WorkspaceServers};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

pub(super) static SERVERS: WorkspaceServers = WorkspaceServers::new();

/// A file's blocks are counted in units of this many bytes (stat(2)).
const BLOCK_BYTES: u64 = 512;

/// The command that installs it.
pub(super) const INSTALL: &str = "apt-get install influxdb";
/// The folders of a workspace, and the database in it.
pub(super) const DATA: &str = "data";
pub(super) const LOG: &str = "wal";
pub(super) const DATABASE: &str = "lab";

/// The program.
pub(super) fn program() -> Result<PathBuf, Failure> {
    process::on_path("influxd").ok_or_else(|| Failure::cannot(INSTALL))
}

/// Returns the bytes of the files of a folder. A file that reserves space counts with its blocks in use.
pub(super) fn used_bytes(folder: &Path) -> Result<u64, Failure> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder).map_err(Failure::broken)? {
        let entry = entry.map_err(Failure::broken)?;
        let metadata = entry.metadata().map_err(Failure::broken)?;
        bytes += match metadata.is_dir() {
            true => used_bytes(&entry.path())?,
            false => metadata.len().min(metadata.blocks() * BLOCK_BYTES),
        };
    }
    Ok(bytes)
}

/// The server of a workspace.
#[derive(Clone)]
pub(super) struct InfluxdbProgram {
    program: PathBuf,
    pub(super) folder: PathBuf,
    pub(super) settings: Vec<(&'static str, String)>,
    /// Whether data is compacted as soon as writing pauses. By default that takes hours.
    compacts_at_once: bool,
}

impl InfluxdbProgram {
    /// The server of a workspace, in its usual form.
    pub(super) fn of(workspace: &Workspace) -> Result<Self, Failure> {
        // This is the default, and the safest: a request is answered once its part of the log is on disk. With a longer
        // delay, requests wait for each other's.
        let mut settings = vec![("wal-fsync-delay", "\"0s\"".to_owned())];
        if workspace.tuning == Tuning::Tuned {
            let quarter = process::memory_bytes().unwrap_or(4 << 30) / 4;
            settings.push(("cache-max-memory-size", quarter.min(4 << 30).to_string()));
        }
        let folder = workspace.directory.clone();
        Ok(Self { program: program()?, folder, settings, compacts_at_once: false })
    }

    /// Returns the server in a form that compacts as soon as writing pauses.
    pub(super) fn compacting(&self) -> Self {
        Self { compacts_at_once: true, ..self.clone() }
    }

    fn configuration(&self, ports: Ports) -> String {
        let folder = |name: &str| self.folder.join(name).display().to_string();
        let mut data = self.settings.clone();
        if self.compacts_at_once {
            data.extend(
                ["cache-snapshot-write-cold-duration", "compact-full-write-cold-duration"]
                    .map(|name| (name, "\"1s\"".to_owned())),
            );
        }
        let data: Vec<String> = data.iter().map(|(name, value)| format!("{name} = {value}\n")).collect();
        format!(
            "reporting-disabled = true\nbind-address = \"127.0.0.1:{}\"\n\
             [meta]\ndir = {:?}\n\
             [data]\ndir = {:?}\nwal-dir = {:?}\nquery-log-enabled = false\n{}\
             [monitor]\nstore-enabled = false\n\
             [http]\nbind-address = \"127.0.0.1:{}\"\nlog-enabled = false\nmax-body-size = 0\n\
             [continuous_queries]\nenabled = false\n\
             [logging]\nlevel = \"warn\"\nsuppress-logo = true\n",
            ports.other,
            folder("meta"),
            folder(DATA),
            folder(LOG),
            data.concat(),
            ports.http,
        )
    }
}

impl WorkspaceProgram for InfluxdbProgram {
    const NAME: &'static str = "influxd";

    fn command(&self, ports: Ports) -> Result<Vec<String>, Failure> {
        for name in ["meta", DATA, LOG] {
            std::fs::create_dir_all(self.folder.join(name)).map_err(Failure::broken)?;
        }
        let file = self.folder.join("influxdb.conf");
        std::fs::write(&file, self.configuration(ports)).map_err(Failure::broken)?;
        let program = self.program.display().to_string();
        Ok(vec![program, "-config".to_owned(), file.display().to_string()])
    }

    /// Databases can be queried once their data has been opened.
    fn answers(&self, ports: Ports) -> Result<(), Failure> {
        let create = format!("CREATE DATABASE {DATABASE}");
        let response = Http::new(ports.http).post_form("/query", &[("q", &create)]).and_then(Reply::bytes)?;
        result(&serde_json::from_slice(&response).map_err(Failure::broken)?).map(drop)
    }
}
