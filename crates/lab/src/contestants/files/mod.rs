//! Files without a database, as the published PHP test had them: a CSV file to which rows are appended, and a JSON
//! file that is written anew whenever it changes. Reading is reading the whole file; nothing is synced.
//!
//! They take the statements that the test made (`INSERT ... VALUES`, sums and counts over all rows, an UPDATE of all
//! rows) and no other SQL.

mod json;
mod session;
mod statement;

use crate::contestant::{Contestant, Place, Session};
use crate::failure::Failure;
use crate::server::ServerUrls;

/// A file a table.
pub(crate) struct Files {
    name: &'static str,
    summary: &'static str,
    form: Form,
}

/// What a file looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A line a row; rows are appended.
    Csv,
    /// One array of arrays; written anew with every change.
    Json,
}

/// All of them.
pub(super) static VARIANTS: [Files; 2] = [
    Files { name: "csv", summary: "a CSV file: append a line, read all, write all anew to update", form: Form::Csv },
    Files { name: "json", summary: "a JSON file: read all, write all anew with every change", form: Form::Json },
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

    fn open(&self, place: &Place) -> Result<Box<dyn Session>, Failure> {
        Ok(Box::new(session::FilesSession::new(self.form, &place.directory)))
    }

    fn has_program(&self) -> Result<(), Failure> {
        Err(Failure::cannot("no system, only files"))
    }
}
