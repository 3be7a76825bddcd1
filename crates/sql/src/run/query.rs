//! A query that is sent to a worker.

use crate::plan::files::QueryFiles;
use atsdb_dialect::text::params::Parameters;
use atsdb_dialect::text::source_position::SourcePosition;
use atsdb_engine::ReadSnapshot;

/// A query that is sent to a worker.
#[derive(Clone)]
pub(crate) struct Query {
    pub(crate) text: String,
    pub(crate) position: SourcePosition,
    pub(crate) parameters: Parameters,
    pub(crate) snapshot: ReadSnapshot,
    /// The reader of files that the query names. Without one, it may name none.
    pub(crate) files: Option<QueryFiles>,
    /// The definitions that it sees; `None` if its plan is not cached.
    pub(crate) scope: Option<DefinitionScope>,
}

/// The definitions that a statement sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DefinitionScope {
    /// Committed definitions, which their versions identify.
    Committed,
    /// Possibly definitions that other sessions do not see: those of an open transaction, and temporary tables.
    Transaction,
}
