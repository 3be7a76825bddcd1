//! Files without a database, as the published PHP test had them: a CSV file to which rows are appended, and a JSON file
//! that every change rewrites. Reading means reading the whole file; nothing is synced. They support the statements of
//! that test (`INSERT ... VALUES`, sums and counts over all rows, an UPDATE of all rows) and no other SQL.

mod file_format;
mod json;
mod session;
mod statement;

use self::file_format::FileFormat;
use crate::contestant::{Contestant, Session, Workspace};
use crate::failure::Failure;
use crate::server::ServerUrls;

/// One file for each table.
pub(crate) struct Files {
    name: &'static str,
    summary: &'static str,
    format: FileFormat,
}

/// All of them.
pub(super) static VARIANTS: [Files; 2] = [
    Files {
        name: "csv",
        summary: "a CSV file: append a line, read all, write all anew to update",
        format: FileFormat::Csv,
    },
    Files {
        name: "json",
        summary: "a JSON file: read all, write all anew with every change",
        format: FileFormat::Json,
    },
];

impl Contestant for Files {
    fn name(&self) -> &'static str {
        self.name
    }

    fn summary(&self) -> &'static str {
        self.summary
    }

    fn version(&self, _urls: &ServerUrls) -> Result<String, Failure> {
        Ok(format!("{} files by atsdb-lab {}", self.name.to_uppercase(), env!("CARGO_PKG_VERSION")))
    }

    fn open(&self, workspace: &Workspace) -> Result<Box<dyn Session>, Failure> {
        Ok(Box::new(session::FilesSession::new(self.format, &workspace.directory)))
    }

    fn loads_at_once(&self) -> Result<(), Failure> {
        Err(Failure::cannot("one session at a time writes a file"))
    }

    fn has_program(&self) -> Result<(), Failure> {
        Err(Failure::cannot("no system, only files"))
    }
}
