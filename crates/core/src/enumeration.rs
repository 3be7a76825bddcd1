//! Enumerated types: texts that are labels of a list, in the order of the list.
//!
//! A type is an entry in the list of tables, a definition without columns that users do not see as a table. Each column
//! of the type has a copy of its labels, so that the definition of a table says all that its rows depend on. A change
//! of the type changes the copies in the same commit.

use crate::column_type::{ColumnType, MapWidth};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{LABEL_BYTES_MAX, LABELS_MAX};
use crate::qualified_name::QualifiedName;
use crate::schema::TableDefinition;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// An enumerated type: its name, and its labels in their order.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Enumeration {
    /// The name of the type.
    #[serde(rename = "type")]
    pub type_name: QualifiedName,
    /// The labels, the least one first.
    pub labels: Vec<String>,
}

impl Enumeration {
    /// The width of the index of every column of an enumerated type. There is room for labels that are added.
    pub const MAP: MapWidth = MapWidth::U16;

    /// The position of a label, from 0; `None` if the type does not have it.
    pub fn rank(&self, label: &str) -> Option<usize> {
        self.labels.iter().position(|own| own == label)
    }

    /// Refuses a text that is not a label.
    ///
    /// Errors: [`InvalidValue`](ErrorKind::InvalidValue).
    pub fn require(&self, text: &str) -> Result<()> {
        match self.rank(text) {
            Some(_) => Ok(()),
            None => Err(self.no_label(text)),
        }
    }

    /// The error for a text that is not a label.
    pub fn no_label(&self, text: &str) -> Error {
        Error::invalid(format!("invalid input value for enum {}: \"{text}\"", self.shown_name()))
    }

    /// The type as JSON, which [`of_json`](Self::of_json) reads back.
    pub fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads the JSON of a type.
    pub fn of_json(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The name of the type as messages say it.
    pub fn shown_name(&self) -> &str {
        &self.type_name.name
    }
}

/// Refuses labels that an enumerated type cannot have.
pub fn check_labels(labels: &[String]) -> Result<()> {
    if labels.len() > LABELS_MAX {
        let message = format!("an enumerated type has {} labels; the maximum is {LABELS_MAX}", labels.len());
        return Err(Error::new(ErrorKind::Limit, message));
    }
    if let Some(long) = labels.iter().find(|label| label.is_empty() || label.len() > LABEL_BYTES_MAX) {
        return Err(Error::invalid(format!("invalid enum label \"{long}\""))
            .with_hint(format!("labels have 1 to {LABEL_BYTES_MAX} bytes")));
    }
    let mut seen = HashSet::new();
    match labels.iter().find(|label| !seen.insert(label.as_str())) {
        Some(twice) => Err(Error::new(ErrorKind::Exists, format!("enum label \"{twice}\" already exists"))),
        None => Ok(()),
    }
}

impl TableDefinition {
    /// Creates the entry of an enumerated type.
    pub fn new_enumeration(schema: Option<&str>, name: &str, labels: Vec<String>) -> Self {
        Self { labels: Some(labels), ..Self::new_in(schema, name) }
    }

    /// Whether it is the entry of an enumerated type, not a table.
    pub fn is_enumeration(&self) -> bool {
        self.labels.is_some()
    }

    /// Whether it is the entry of a schema or of an enumerated type, not a table.
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
                let message = format!("table {table} is in memory and has column {name} of an enumerated type");
                return Err(Error::usage(message).with_hint("only stored tables have such columns: use TEXT"));
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
