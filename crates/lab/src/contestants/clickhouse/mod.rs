//! ClickHouse through chdb, its engine as a library, in a process of Python behind a pipe: it takes statements and
//! answers in lines of JSON. Rows in bulk travel as Parquet files, one INSERT for all of a load.
//!
//! Tables use the engine MergeTree, ordered by the key of the table, or else by its first mapped text, and then by the
//! time, without additional indexes; mapped texts are `LowCardinality`. Times and dates have the types that ClickHouse
//! stores in four and two bytes, from 1970 on. There are no transactions: every statement is a separate insert.

mod pipe;
mod session;

use crate::contestant::{Contestant, Session, Workspace};
use crate::failure::Failure;
use crate::process;
use crate::server::ServerUrls;
use std::path::PathBuf;
use std::process::Command;

/// The variable that may name a Python that has chdb.
const VARIABLE: &str = "ATSDB_LAB_CHDB";

/// ClickHouse.
pub(crate) struct Clickhouse;

/// The Python that the variable names, or else the one on the path.
fn python() -> Result<PathBuf, Failure> {
    let named = std::env::var_os(VARIABLE).map(PathBuf::from).filter(|path| path.is_file());
    named.or_else(|| process::on_path("python3")).ok_or_else(missing)
}

fn missing() -> Failure {
    Failure::cannot(format!("pip install chdb, or set {VARIABLE} to a Python that has it"))
}

impl Contestant for Clickhouse {
    fn name(&self) -> &'static str {
        "clickhouse"
    }

    fn summary(&self) -> &'static str {
        "ClickHouse as a library, chdb, behind a pipe, loaded from Parquet files"
    }

    fn version(&self, _urls: &ServerUrls) -> Result<String, Failure> {
        let script = "import chdb; print(chdb.engine_version)";
        let output = Command::new(python()?).args(["-c", script]).output().map_err(Failure::broken)?;
        match output.status.success() {
            true => Ok(format!("ClickHouse {}", String::from_utf8_lossy(&output.stdout).trim())),
            false => Err(missing()),
        }
    }

    fn open(&self, workspace: &Workspace) -> Result<Box<dyn Session>, Failure> {
        Ok(Box::new(session::ClickhouseSession::open(&python()?, workspace)?))
    }

    /// The parts of tables that are in use. Those that were merged into others stay for some minutes more.
    fn bytes(&self, workspace: &Workspace) -> Result<u64, Failure> {
        session::ClickhouseSession::open(&python()?, workspace)?.bytes()
    }

    fn has_program(&self) -> Result<(), Failure> {
        Err(Failure::cannot("a library; starting is its program's"))
    }
}
