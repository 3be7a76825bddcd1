//! A query on its way to a worker.

use crate::plan::files::QueryFiles;
use crate::text::place::Place;
use atsdb_engine::ReadSnapshot;

/// One query on its way.
pub(crate) struct Query {
    pub(crate) text: String,
    pub(crate) place: Place,
    pub(crate) params: Vec<(String, String)>,
    pub(crate) snapshot: ReadSnapshot,
    /// Who reads the files that the query names; without, it may name none.
    pub(crate) files: Option<QueryFiles>,
}
