//! Names with a schema.

use serde::{Deserialize, Serialize};

/// The schema of tables that are in no other.
pub const PUBLIC_SCHEMA: &str = "public";

/// The name of a table, and its schema; `None` is `public`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QualifiedName {
    /// The schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The name in the schema.
    pub name: String,
}
