//! Remembers the series key that was chosen for a table.
//!
//! To choose a key, samples are encoded several times, which is too much work for each group of chunks. So a key is
//! used again for as many rows as it was chosen from, and for twice as many
//! each time the same key is chosen. A table whose data changes soon gets another key.

use atsdb_core::{Column, ColumnId, DefinitionVersion, Result, Table};

/// A key is chosen again after at most this many rows.
const ROWS_MAX: u64 = 1 << 26;

/// The last key that was chosen.
#[derive(Debug, Default)]
pub(crate) struct KeyChoice {
    /// The version of the table's definition, and the columns.
    chosen: Option<(DefinitionVersion, Vec<ColumnId>)>,
    /// The number of rows for which the key is used after each choice.
    rows: u64,
    /// The number of these rows for which it was not used yet.
    rows_left: u64,
}

impl KeyChoice {
    /// Returns the key for this number of rows: the last one, or the result of `choose`.
    pub(crate) fn key<'a>(
        &mut self,
        table: &'a Table,
        row_count: usize,
        choose: impl FnOnce() -> Result<Vec<&'a Column>>,
    ) -> Result<Vec<&'a Column>> {
        let (row_count, version) = (row_count as u64, table.version);
        let last = self.chosen.as_ref().filter(|(of, _)| *of == version).map(|(_, ids)| ids);
        if let Some(ids) = last.filter(|_| row_count <= self.rows_left) {
            self.rows_left -= row_count;
            return Ok(ids.iter().filter_map(|id| table.definition.column_by_id(*id)).collect());
        }
        let key = choose()?;
        let ids: Vec<ColumnId> = key.iter().map(|column| column.id).collect();
        self.rows = if last == Some(&ids) { (self.rows * 2).min(ROWS_MAX) } else { row_count };
        self.rows_left = self.rows;
        self.chosen = Some((version, ids));
        Ok(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use atsdb_core::{ColumnType, MapWidth, TableDefinition, TableId};

    #[test]
    fn a_key_that_is_chosen_again_is_used_longer() {
        let column = |definition: TableDefinition, name: &str| {
            definition.with_column(name, ColumnType::Text, Some(MapWidth::U8))
        };
        let definition = column(column(TableDefinition::new("t"), "a"), "b");
        let table = Table::new(TableId(1), definition);
        let (mut choice, mut choices) = (KeyChoice::default(), Vec::new());
        for group in 0..12 {
            let best = &table.definition.columns[usize::from(group >= 8)];
            let key = choice.key(&table, 100, || {
                choices.push(group);
                Ok(vec![best])
            });
            let is_new = choices.contains(&group) || group < 8;
            assert!(!is_new || key.unwrap() == [best]);
        }
        assert_eq!(choices, [0, 2, 5, 10]);
        let table = Table { version: table.version.next(), ..table };
        assert!(choice.key(&table, 100, || Ok(Vec::new())).unwrap().is_empty());
        assert!(choice.key(&table, 100, || panic!("the key is known")).unwrap().is_empty());
    }
}
