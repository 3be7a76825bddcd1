//! Definitions with text columns of a declared length.

use crate::column_type::ColumnType;
use crate::error::{Error, Result};
use crate::schema::TableDefinition;
use crate::text_length::TextLength;

impl TableDefinition {
    /// The positions of the columns whose length was declared or shortened since an older definition. Rows that were
    /// added under that one may have texts that do not fit.
    pub fn lengths_added_to(&self, older: &Self) -> Vec<usize> {
        let columns = self.columns.iter().enumerate();
        let added = columns.filter(|(_, column)| match (column.length, older.column_by_id(column.id)) {
            (Some(length), Some(before)) => !length.holds_all_of(before.length),
            // The value of rows that are older than the column has its length.
            (Some(_), None) | (None, _) => false,
        });
        added.map(|(position, _)| position).collect()
    }

    /// Refuses a length of a column that has no texts, or labels.
    pub(crate) fn check_lengths(&self) -> Result<()> {
        let is_wrong = |length: TextLength| !(1..=TextLength::CHARACTERS_MAX).contains(&length.characters);
        for column in &self.columns {
            let Some(length) = column.length else { continue };
            if column.column_type != ColumnType::Text || column.enumeration.is_some() || is_wrong(length) {
                let (table, name) = (&self.name, &column.name);
                return Err(Error::internal(format!("table {table}: column {name} cannot be {}", length.sql_name())));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_keeps_the_length_and_an_older_one_has_none() {
        let mut table = TableDefinition::new("t").with_column("a", ColumnType::Text, None);
        let older = table.clone();
        assert!(!serde_json::to_string(&older).unwrap().contains("length"));
        table.columns[0].length = Some(TextLength { characters: 3, is_char: false });
        let json = serde_json::to_string(&table).unwrap();
        assert!(json.contains(r#""length":{"characters":3}"#), "{json}");
        assert_eq!(serde_json::from_str::<TableDefinition>(&json).unwrap(), table);
        assert_eq!((table.lengths_added_to(&older), older.lengths_added_to(&table)), (vec![0], vec![]));
        table.check().unwrap();
        table.columns[0].length = Some(TextLength { characters: 2, is_char: true });
        assert!(serde_json::to_string(&table).unwrap().contains(r#""length":{"characters":2,"char":true}"#));
        table.columns[0].column_type = ColumnType::Int64;
        assert!(table.check().is_err());
    }
}
