//! A query on its way to a worker.

use crate::text::params::Parameters;
use crate::text::place::Place;
use atsdb_engine::ReadSnapshot;

/// One query on its way.
pub(crate) struct Query {
    pub(crate) text: String,
    pub(crate) place: Place,
    pub(crate) parameters: Parameters,
    pub(crate) snapshot: ReadSnapshot,
}
