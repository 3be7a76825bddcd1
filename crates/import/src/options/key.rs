//! The key of a table that is created, as `key` declares it in `CREATE TABLE`.

use atsdb_core::{ColumnId, Result, TableDefinition, Unique};

/// Declares the key columns. If the time is among them, or the table is plain, they identify a row and are the primary
/// key. Otherwise they are the series key, which is not unique.
///
/// # Errors
///
/// `NotFound` for a column that the table has not.
pub fn declare_key(definition: &mut TableDefinition, names: &[String]) -> Result<()> {
    let time = definition.time.map(|time| time.column);
    let mut series: Vec<ColumnId> = Vec::new();
    let mut is_timed = false;
    for name in names {
        let id = definition.column(name)?.id;
        if Some(id) == time {
            is_timed = true;
        } else if !series.contains(&id) {
            series.push(id);
        }
    }
    if is_timed || (time.is_none() && !series.is_empty()) {
        let columns: Vec<ColumnId> = series.iter().copied().chain(time.filter(|_| is_timed)).collect();
        for column in definition.columns.iter_mut().filter(|column| columns.contains(&column.id)) {
            column.nullable = false;
        }
        definition.unique.insert(0, Unique { primary: true, ..Unique::new(columns) });
    }
    definition.key = series;
    Ok(())
}
