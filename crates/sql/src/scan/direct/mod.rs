//! Direct reads: simple queries of at most one table for which no plan is executed. They are recognised by their
//! optimized plan, in which names, types and casts are resolved. Their conditions may contain parameters, so that one
//! read serves any values. They return rows ([`rows`]), the groups of an aggregate ([`groups`]), or constants
//! ([`constants`]). A query that does not have exactly such a form, or would read many chunks, is executed as usual.

mod conditions;
mod constants;
mod groups;
mod read_length;
mod rows;
mod skips;
mod steps;
mod watch;

pub(crate) use constants::DirectConstants;
pub(crate) use groups::{DirectGroups, GroupsForm};
pub(crate) use read_length::ReadLength;
pub(crate) use rows::DirectRows;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use atsdb_core::{Result, Table, TableDefinition, TableId};
use atsdb_dialect::text::params::Parameters;
use atsdb_engine::ReadSnapshot;
use watch::Watch;

/// A query that is answered without executing a plan.
#[derive(Debug)]
pub(crate) enum DirectRead {
    Rows(DirectRows),
    Groups(DirectGroups),
    Constants(DirectConstants),
}

impl DirectRead {
    /// Returns whether it may take only a [moment](ReadLength::Moment). To be asked once before each read.
    pub(crate) fn may_be_short(&self) -> bool {
        match self {
            Self::Rows(rows) => rows.may_be_short(),
            Self::Constants(_) => true,
            Self::Groups(_) => false,
        }
    }

    /// The answer; `None` if a plan is needed after all, or if reading would take longer than it may. If columns are
    /// not in memory and it may only take a moment, it fails.
    pub(crate) fn read(
        &self,
        snapshot: &ReadSnapshot,
        parameters: &Parameters,
        length: ReadLength,
        watch: Watch<'_>,
    ) -> Result<Option<Vec<RecordBatch>>> {
        match (self, self.table(snapshot)) {
            (Self::Rows(rows), Some(table)) => rows.read(table, snapshot, parameters, length, watch),
            (Self::Groups(_), _) if length == ReadLength::Moment => Ok(None),
            (Self::Groups(groups), Some(table)) => groups.read(table, snapshot, parameters, watch),
            (Self::Constants(constants), _) => Ok(Some(constants.read())),
            (Self::Rows(_) | Self::Groups(_), None) => Ok(None),
        }
    }

    /// The columns of the answer.
    pub(crate) fn schema(&self) -> SchemaRef {
        match self {
            Self::Rows(rows) => rows.schema(),
            Self::Groups(groups) => groups.schema(),
            Self::Constants(constants) => constants.schema(),
        }
    }

    /// The table that is read, if there is one and it exists in a snapshot.
    pub(crate) fn table<'a>(&self, snapshot: &'a ReadSnapshot) -> Option<&'a Table> {
        snapshot.table_by_id(self.table_id()?)
    }

    fn table_id(&self) -> Option<TableId> {
        match self {
            Self::Rows(rows) => Some(rows.table_id()),
            Self::Groups(groups) => Some(groups.table_id()),
            Self::Constants(_) => None,
        }
    }

    /// Returns whether this read, with values for its parameters, is the same as another one without parameters.
    pub(crate) fn is_same(&self, parameters: &Parameters, other: &Self, definition: &TableDefinition) -> bool {
        match (self, other) {
            (Self::Rows(own), Self::Rows(other)) => own.is_same(parameters, other, definition),
            (Self::Groups(own), Self::Groups(other)) => own.is_same(parameters, other, definition),
            (Self::Rows(_) | Self::Groups(_) | Self::Constants(_), _) => false,
        }
    }
}
