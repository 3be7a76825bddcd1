//! The columns of a table.

use crate::column_type::{ColumnType, MapWidth};
use crate::id::ColumnId;
use crate::identity::Identity;
use crate::qualified_name::QualifiedName;
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
    /// For a mapped column, which is always text: the width of its index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<MapWidth>,
    /// The value of an INSERT that does not name the column; NULL if `None`. For a mapped column it is the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// The value of rows that are older than the column; NULL if `None`. For a mapped column it is the index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<Value>,
    /// For a column that numbers the rows by itself: how. Such a column does not accept NULL and has no default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
    /// The sequence whose next number is the value of an INSERT that does not name the column. Such a column is no
    /// identity and has no other default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sequence: Option<QualifiedName>,
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
            missing: None,
            identity: None,
            sequence: None,
        }
    }
}
