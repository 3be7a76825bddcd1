//! The columns of a table.

use crate::column_type::{ColumnType, MapWidth};
use crate::default_function::DefaultFunction;
use crate::enumeration::Enumeration;
use crate::id::ColumnId;
use crate::identity::Identity;
use crate::qualified_name::QualifiedName;
use crate::text_length::TextLength;
use crate::value::Value;
use serde::{Deserialize, Serialize};

/// One column of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// The column's number.
    pub id: ColumnId,
    /// Its name, as written.
    pub name: String,
    /// The type of its values.
    #[serde(rename = "type")]
    pub column_type: ColumnType,
    /// Whether the column accepts NULL.
    pub nullable: bool,
    /// The width of a mapped column's index; `None` for other columns. A mapped column is always text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<MapWidth>,
    /// The value of added rows that lack the column; NULL if `None`. For a mapped column it is the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// The function whose result is the value of added rows that lack the column. Such a column has no other default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_function: Option<DefaultFunction>,
    /// The value of rows that are older than the column; NULL if `None`. For a mapped column it is the index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<Value>,
    /// How the column numbers the rows, if it is an identity column. Such a column does not accept NULL and has no
    /// default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
    /// The sequence whose next number is the value in an INSERT that does not name the column. Such a column is no
    /// identity and has no other default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<QualifiedName>,
    /// The enumerated type of the column's values. Such a column is mapped, and its strings are labels of the type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enumeration: Option<Enumeration>,
    /// The length of its texts, if one is declared. Such a column is text, and no text of a row is longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<TextLength>,
}

impl Column {
    /// Creates a column that accepts NULL, is not mapped and has no default.
    pub fn new(id: ColumnId, name: impl Into<String>, column_type: ColumnType) -> Self {
        let name = name.into();
        Self {
            id,
            name,
            column_type,
            nullable: true,
            map: None,
            default: None,
            default_function: None,
            missing: None,
            identity: None,
            sequence: None,
            enumeration: None,
            length: None,
        }
    }

    /// Returns whether it has a default that is a value or a function. Numbers of an identity or a sequence do not
    /// count.
    pub fn has_default_value(&self) -> bool {
        self.default.is_some() || self.default_function.is_some()
    }

    /// Returns whether appended rows that lack the column get a value of the table: a number, or a default.
    pub fn is_filled(&self) -> bool {
        self.identity.is_some() || self.sequence.is_some() || self.has_default_value()
    }
}
