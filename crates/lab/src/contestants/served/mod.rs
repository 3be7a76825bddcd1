//! atsdb as a server for each workspace, as `atsdb serve` starts it with its default settings: loaded by binary COPY
//! over PostgreSQL's protocol or by the line protocol over HTTP, queried over PostgreSQL's protocol.

mod load_method;
mod program;
mod session;

use self::load_method::LoadMethod;
use self::program::{SERVERS, ServedProgram};
use crate::contestant::{Contestant, Session, Workspace, folder_bytes};
use crate::failure::Failure;
use crate::server::ServerUrls;

/// atsdb as a server, loaded in one way.
pub(crate) struct Served {
    name: &'static str,
    summary: &'static str,
    method: LoadMethod,
}

/// All of them.
pub(super) static VARIANTS: [Served; 2] = [
    Served {
        name: "atsdb:served",
        summary: "atsdb as a server, loaded by binary COPY and asked over PostgreSQL's protocol",
        method: LoadMethod::Copy,
    },
    Served {
        name: "atsdb:lines",
        summary: "atsdb as a server, loaded by the line protocol over HTTP",
        method: LoadMethod::Lines,
    },
];

impl Contestant for Served {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn version(&self, _urls: &ServerUrls) -> Result<String, Failure> {
        program::version()
    }

    fn open(&self, workspace: &Workspace) -> Result<Box<dyn Session>, Failure> {
        Ok(Box::new(session::ServedSession::open(&ServedProgram::of(workspace)?, self.method)?))
    }

    fn close(&self) {
        SERVERS.stop();
    }

    /// The files of the store, once the server has stopped.
    fn bytes(&self, workspace: &Workspace) -> Result<u64, Failure> {
        SERVERS.stop();
        folder_bytes(&workspace.directory)
    }

    fn has_program(&self) -> Result<(), Failure> {
        Err(Failure::cannot("a server; it runs already"))
    }
}
