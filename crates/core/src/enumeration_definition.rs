//! Definitions with enumerated types: the entry of a type, and tables with columns of one.

use crate::column_type::ColumnType;
use crate::enumeration::{Enumeration, check_labels};
use crate::error::{Error, Result};
use crate::schema::TableDefinition;

impl TableDefinition {
    /// Creates the entry of an enumerated type.
    pub fn new_enumeration(schema: Option<&str>, name: &str, labels: Vec<String>) -> Self {
        Self { labels: Some(labels), ..Self::new_in(schema, name) }
    }

    /// Returns whether it is the entry of an enumerated type, not a table.
    pub fn is_enumeration(&self) -> bool {
        self.labels.is_some()
    }

    /// Returns whether it is the entry of a schema or of an enumerated type, not a table.
    pub fn is_entry(&self) -> bool {
        self.is_schema() || self.is_enumeration()
    }

    /// The enumerated type that the entry defines.
    pub fn enumeration(&self) -> Option<Enumeration> {
        let labels = self.labels.clone()?;
        Some(Enumeration { type_name: self.qualified_name(), labels })
    }

    /// The enumerated types of the columns.
    pub fn enumerations(&self) -> impl Iterator<Item = &Enumeration> {
        self.columns.iter().filter_map(|column| column.enumeration.as_ref())
    }

    /// Refuses an entry or a column of an enumerated type that is not one.
    pub(crate) fn check_enumerations(&self) -> Result<()> {
        if let Some(labels) = &self.labels {
            if !self.columns.is_empty() || self.schema.is_some() && self.local_name().is_empty() {
                return Err(Error::internal(format!("type {} has columns", self.name)));
            }
            return check_labels(labels);
        }
        for column in &self.columns {
            let Some(enumeration) = &column.enumeration else { continue };
            let (table, name) = (&self.name, &column.name);
            if self.is_in_memory() {
                // Whether there is a type of that name does not matter.
                let message =
                    format!("table {table} is in memory and has column {name} of a type that is not built in");
                return Err(Error::usage(message)
                    .with_hint("use TEXT, or another built-in type: only stored tables have enumerated types"));
            }
            if column.column_type != ColumnType::Text || column.map != Some(Enumeration::MAP) {
                return Err(Error::usage(format!(
                    "table {table}: column {name} of an enumerated type has another map"
                ))
                .with_hint("leave the column out of map: its values are mapped in any case"));
            }
            check_labels(&enumeration.labels)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mood() -> TableDefinition {
        TableDefinition::new_enumeration(Some("s"), "mood", vec!["sad".into(), "ok".into()])
    }

    #[test]
    fn labels_have_the_order_of_their_list() {
        let entry = mood();
        entry.check().unwrap();
        assert!(entry.is_entry() && entry.is_hidden() && !entry.is_schema());
        let mood = entry.enumeration().unwrap();
        assert_eq!((mood.rank("sad"), mood.rank("ok"), mood.rank("OK")), (Some(0), Some(1), None));
        assert_eq!(mood.require("x").unwrap_err().message(), "invalid input value for enum mood: \"x\"");
    }

    #[test]
    fn what_is_no_type_is_refused() {
        let labels =
            |labels: &[&str]| check_labels(&labels.iter().map(|label| (*label).to_owned()).collect::<Vec<_>>());
        labels(&[]).unwrap();
        labels(&["a", "A"]).unwrap();
        assert!(labels(&["a", "a"]).is_err());
        assert!(labels(&[""]).is_err());
        assert!(labels(&[&"x".repeat(64)]).is_err());
        let mut table = TableDefinition::new("t").with_column("m", ColumnType::Text, Some(Enumeration::MAP));
        table.columns[0].enumeration = mood().enumeration();
        table.check().unwrap();
        table.columns[0].map = None;
        assert!(table.check().is_err());
    }

    #[test]
    fn an_older_definition_has_no_enumeration() {
        let json = serde_json::to_string(&TableDefinition::new("t").with_column("a", ColumnType::Text, None)).unwrap();
        assert!(!json.contains("enumeration") && !json.contains("labels"), "{json}");
        let entry = serde_json::to_string(&mood()).unwrap();
        assert_eq!(serde_json::from_str::<TableDefinition>(&entry).unwrap(), mood());
    }
}
