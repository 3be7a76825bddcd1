//! A query on its way to a worker.

use crate::plan::files::QueryFiles;
use crate::text::params::Parameters;
use crate::text::place::Place;
use atsdb_engine::ReadSnapshot;

/// One query on its way.
pub(crate) struct Query {
    pub(crate) text: String,
    pub(crate) place: Place,
    pub(crate) parameters: Parameters,
    pub(crate) snapshot: ReadSnapshot,
    /// Who reads the files that the query names; without, it may name none.
    pub(crate) files: Option<QueryFiles>,
    /// Which definitions it sees; `None` if its plan is not kept.
    pub(crate) sees: Option<Sees>,
}

/// Which definitions a statement sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sees {
    /// Those that are committed: their versions tell them apart.
    Committed,
    /// Maybe others: those of a transaction.
    OwnToo,
}
