//! A connection to the workspace's server, over both of its protocols.

use super::failure::questdb_failure;
use super::program::QuestdbProgram;
use crate::contestants::http::{Http, Reply};
use crate::contestants::postgres::value::Raw;
use crate::data::answer::{Answer, Cell};
use crate::failure::Failure;
use crate::measure::clock;
use crate::server::{WorkspaceServer, WorkspaceServers};
use atsdb::{Error, ErrorKind};
use postgres::fallible_iterator::FallibleIterator;
use postgres::types::{ToSql, Type};
use postgres::{Client, Row};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub(super) static SERVERS: WorkspaceServers = WorkspaceServers::new();

pub(super) const NO_PARAMETERS: [(&(dyn ToSql + Sync), Type); 0] = [];

/// The interval at which to poll whether the log is applied.
const PAUSE: Duration = Duration::from_millis(2);

pub(super) struct QuestdbConnection {
    /// The client. It is declared before the server, so that connections are closed first.
    pub(super) client: Client,
    http: Http,
    server: Arc<WorkspaceServer>,
    import: PathBuf,
}

impl QuestdbConnection {
    pub(super) fn open(program: &QuestdbProgram) -> Result<Self, Failure> {
        let server = SERVERS.of(&program.folder, program)?;
        let client = QuestdbProgram::connect(server.ports).map_err(questdb_failure)?;
        let http = Http::new(server.ports.http);
        Ok(Self { client, http, server, import: program.import() })
    }

    /// The folder of files to load.
    pub(super) fn import(&self) -> &Path {
        &self.import
    }

    /// Sends lines.
    pub(super) fn post(&mut self, path: &str, lines: &[u8]) -> Result<(), Failure> {
        self.http.post(path, lines).and_then(Reply::end).map_err(|failure| self.server.explain(failure))
    }

    /// Waits until what is in the write-ahead log is in the tables.
    pub(super) fn wait_until_applied(&mut self) -> Result<(), Failure> {
        let select = "SELECT name, suspended, writerTxn < sequencerTxn, errorMessage FROM wal_tables()";
        loop {
            let answer = self.query(select)?;
            let suspended = answer.rows.iter().find(|row| row[1] == Cell::Integer(1));
            if let Some(row) = suspended {
                let message = format!("QuestDB cannot apply its log: {row:?}");
                return Err(Failure::Failed(Error::new(ErrorKind::Unavailable, message)));
            }
            if answer.rows.iter().all(|row| row[2] == Cell::Integer(0)) {
                return Ok(());
            }
            clock::sleep(PAUSE);
        }
    }

    pub(super) fn query(&mut self, sql: &str) -> Result<Answer, Failure> {
        let mut answer = Answer::default();
        let rows = self.client.query_typed_raw(sql, NO_PARAMETERS);
        let mut rows = rows.map_err(|error| self.server.explain(questdb_failure(error)))?;
        while let Some(row) = rows.next().map_err(|error| self.server.explain(questdb_failure(error)))? {
            answer.rows.push((0..row.len()).map(|position| cell(&row, position)).collect::<Result<_, _>>()?);
        }
        Ok(answer)
    }

    pub(super) fn explained(&self, error: postgres::Error) -> Failure {
        self.server.explain(questdb_failure(error))
    }
}

fn cell(row: &Row, position: usize) -> Result<Cell, Failure> {
    let value: Option<Raw<'_>> = row.try_get(position).map_err(questdb_failure)?;
    value.map_or(Ok(Cell::Null), |value| value.cell())
}
