//! VictoriaMetrics as a server for each workspace: loaded by InfluxDB's line protocol over HTTP, queried in MetricsQL,
//! read back by its export.
//!
//! It keeps 64-bit floating point numbers with times in milliseconds. Each field is a separate series, named by the
//! table, the field and the tags. The tags are the mapped texts. So a table needs a time and a number, and other texts
//! cannot be stored. Rows cannot be changed, and there is no statement that inserts. Rows of the last seconds are in
//! memory only: a crash of the server loses them, as a power cut does.

mod answers;
mod export;
mod metricsql;
mod program;
mod session;

use self::program::{SERVERS, VictoriaMetricsProgram};
use crate::contestant::{Contestant, Session, Workspace, folder_bytes};
use crate::failure::Failure;
use crate::server::ServerUrls;

/// VictoriaMetrics.
pub(crate) struct VictoriaMetrics;

impl Contestant for VictoriaMetrics {
    fn name(&self) -> &'static str {
        "victoriametrics"
    }

    fn summary(&self) -> &'static str {
        "VictoriaMetrics, numbers only, loaded by the line protocol, asked in MetricsQL"
    }

    fn version(&self, _urls: &ServerUrls) -> Result<String, Failure> {
        program::version()
    }

    fn open(&self, workspace: &Workspace) -> Result<Box<dyn Session>, Failure> {
        Ok(Box::new(session::VictoriaMetricsSession::open(VictoriaMetricsProgram::of(workspace)?)?))
    }

    /// Only the session that loaded a table knows the range of its times.
    fn loads_at_once(&self) -> Result<(), Failure> {
        Err(Failure::cannot("one session at a time loads a table"))
    }

    fn close(&self) {
        SERVERS.stop();
    }

    /// The files of samples and of the index, once the server has stopped and written its memory to them. Caches, which
    /// it also keeps in files, are not counted.
    fn bytes(&self, workspace: &Workspace) -> Result<u64, Failure> {
        SERVERS.stop();
        let storage = workspace.directory.join(program::STORAGE);
        Ok(folder_bytes(&storage.join("data"))? + folder_bytes(&storage.join("indexdb"))?)
    }

    fn has_program(&self) -> Result<(), Failure> {
        Err(Failure::cannot("a server; it runs already"))
    }
}
