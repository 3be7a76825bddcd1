//! The server's program, settings, and files in a workspace.

use crate::contestant::Workspace;
use crate::contestants::http::{Http, Reply};
use crate::failure::Failure;
use crate::measure::Tuning;
use crate::process;
use crate::server::{Ports, WorkspaceProgram, WorkspaceServers};
use std::path::PathBuf;
use std::process::Command;

pub(super) static SERVERS: WorkspaceServers = WorkspaceServers::new();

/// The command that installs it.
const INSTALL: &str = "apt-get install victoria-metrics";
/// The folder of samples in a workspace.
pub(super) const STORAGE: &str = "storage";
/// The names of the program in Debian and in its own releases.
const NAMES: [&str; 2] = ["victoria-metrics", "victoria-metrics-prod"];

fn program() -> Result<PathBuf, Failure> {
    NAMES.into_iter().find_map(process::on_path).ok_or_else(|| Failure::cannot(INSTALL))
}

/// The version of the program. Debian's program does not report it.
pub(super) fn version() -> Result<String, Failure> {
    let said = |command: &mut Command| {
        let output = command.output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        (output.status.success() && !text.is_empty()).then_some(text)
    };
    let program = program()?;
    let package = || said(Command::new("dpkg-query").args(["--show", "--showformat=${Version}", NAMES[0]]));
    let version = said(Command::new(program).arg("--version")).or_else(package);
    // `victoria-metrics-20220718-tags-v1.79.1-0-g0a4c3f1`, or a package's version.
    let version = version.unwrap_or_else(|| "unknown".to_owned());
    let tag = version.split("-tags-v").nth(1).and_then(|rest| rest.split('-').next());
    Ok(format!("VictoriaMetrics {}", tag.unwrap_or_else(|| version.split(['+', '-']).next().unwrap_or(&version))))
}

/// The server of a workspace.
pub(super) struct VictoriaMetricsProgram {
    program: PathBuf,
    pub(super) folder: PathBuf,
    pub(super) settings: Vec<(&'static str, String)>,
}

impl VictoriaMetricsProgram {
    /// The server of a workspace.
    pub(super) fn of(workspace: &Workspace) -> Result<Self, Failure> {
        // By default, old data would be dropped, answers would be cached, and long queries would be stopped.
        let mut settings = vec![
            ("retentionPeriod", "100y".to_owned()),
            ("search.disableCache", "true".to_owned()),
            ("search.maxQueryDuration", "10m".to_owned()),
            ("search.maxPointsPerTimeseries", "10000000".to_owned()),
        ];
        if workspace.tuning == Tuning::Tuned {
            let quarter = process::memory_bytes().unwrap_or(4 << 30) / 4;
            settings.push(("memory.allowedBytes", quarter.min(4 << 30).to_string()));
        }
        Ok(Self { program: program()?, folder: workspace.directory.clone(), settings })
    }
}

impl WorkspaceProgram for VictoriaMetricsProgram {
    const NAME: &'static str = "victoria-metrics";

    fn command(&self, ports: Ports) -> Result<Vec<String>, Failure> {
        let mut command = vec![
            self.program.display().to_string(),
            format!("-storageDataPath={}", self.folder.join(STORAGE).display()),
            format!("-httpListenAddr=127.0.0.1:{}", ports.http),
            "-loggerLevel=WARN".to_owned(),
        ];
        command.extend(self.settings.iter().map(|(name, value)| format!("-{name}={value}")));
        Ok(command)
    }

    fn answers(&self, ports: Ports) -> Result<(), Failure> {
        Http::new(ports.http).get("/health").and_then(Reply::end)
    }
}
