//! InfluxDB, version 1, as a server for each workspace: loaded by its line protocol over HTTP, queried in InfluxQL.
//!
//! A point consists of a measurement, its tags and a time. So a table needs a time, and two rows with equal tags and
//! equal times become one point, which reading reports. The tags of a row are the mapped texts if the table's key names
//! a series, or else the first of them. Other columns are fields. Rows are not changed, and there is no statement that
//! inserts. A write is acknowledged once the write-ahead log is on disk, at every tier.

mod influxql;
mod program;
mod session;

use self::program::{InfluxdbProgram, SERVERS, used_bytes};
use crate::contestant::{Contestant, Session, Workspace};
use crate::failure::Failure;
use crate::server::ServerUrls;
use std::process::Command;

/// InfluxDB.
pub(crate) struct Influxdb;

impl Contestant for Influxdb {
    fn name(&self) -> &'static str {
        "influxdb"
    }

    fn summary(&self) -> &'static str {
        "InfluxDB 1, loaded by its line protocol, asked in InfluxQL"
    }

    fn version(&self, _urls: &ServerUrls) -> Result<String, Failure> {
        let output = Command::new(program::program()?).arg("version").output().map_err(Failure::broken)?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let version = text.split_whitespace().nth(1).unwrap_or("unknown").trim_start_matches('v').to_owned();
        match version.starts_with("1.") {
            true => Ok(format!("InfluxDB {version}")),
            false => Err(Failure::cannot(format!("{} (version 1; here is {version})", program::INSTALL))),
        }
    }

    fn open(&self, workspace: &Workspace) -> Result<Box<dyn Session>, Failure> {
        Ok(Box::new(session::InfluxdbSession::open(InfluxdbProgram::of(workspace)?)?))
    }

    fn close(&self) {
        SERVERS.stop();
    }

    /// The size of the data files and of the write-ahead log, once the server has stopped. A file that reserves space,
    /// such as the index of series, counts with its blocks in use.
    fn bytes(&self, workspace: &Workspace) -> Result<u64, Failure> {
        SERVERS.stop();
        Ok(used_bytes(&workspace.directory.join(program::DATA))? + used_bytes(&workspace.directory.join(program::LOG))?)
    }

    fn has_program(&self) -> Result<(), Failure> {
        Err(Failure::cannot("a server; it runs already"))
    }
}
