//! The columns that rows bring values for, by the names that a caller gives.

use crate::error::{Error, Result};
use crate::schema::TableDefinition;
use std::collections::HashSet;

impl TableDefinition {
    /// Fails if one of these names is not a column, or if two of them are the same column.
    pub fn check_given<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<()> {
        let mut seen = HashSet::new();
        for name in names {
            let column = self.column(name)?;
            if !seen.insert(column.id) {
                let message = format!("table {}: column {} is given twice", self.name, column.name);
                let error = Error::usage(message);
                return Err(error.with_hint("give each column once: names that differ only in case are the same"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column_type::ColumnType;

    #[test]
    fn each_column_is_given_once() {
        let table = TableDefinition::new("t").with_column("a", ColumnType::Text, None);
        let table = table.with_column("b", ColumnType::Int64, None);
        table.check_given(["B", "a"]).unwrap();
        table.check_given([]).unwrap();
        let refused = |names: &[&str]| table.check_given(names.iter().copied()).unwrap_err().to_string();
        assert!(refused(&["a", "b", "A"]).starts_with("table t: column a is given twice"));
        assert!(refused(&["a", "c"]).contains("no column named c"));
    }
}
