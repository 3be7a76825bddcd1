//! The unit of a table's times.

use atsdb::TableDefinition;

/// The number of units of a table's time in a second.
pub(super) fn units_per_second(table: &TableDefinition) -> i64 {
    table.time.map_or(1, |time| time.unit.per_second())
}
