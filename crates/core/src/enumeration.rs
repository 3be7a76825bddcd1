//! Enumerated types: texts that are labels of a list, in the order of the list.
//!
//! A type is an entry in the list of tables, a definition without columns that users do not see as a table. Each column
//! of the type has a copy of its labels, so that the definition of a table says all that its rows depend on. A change
//! of the type changes the copies in the same commit.

use crate::column_type::MapWidth;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{LABEL_BYTES_MAX, LABELS_MAX};
use crate::qualified_name::QualifiedName;
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
