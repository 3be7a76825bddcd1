//! The types of values that are texts for DataFusion, and UUIDs or JSON for SQL. The metadata of a field says so, of
//! columns as of results of functions.

use atsdb_codec::{declared_field, declared_type, is_jsonb, jsonb_field};
use atsdb_core::ColumnType;
use datafusion::arrow::datatypes::{DataType, Field};

/// A type whose values are texts for DataFusion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum TextType {
    Uuid,
    Json,
    /// JSON in the form of PostgreSQL's `jsonb`.
    Jsonb,
}

impl TextType {
    /// The type that a field declares.
    pub(crate) fn of(field: &Field) -> Option<Self> {
        match declared_type(field) {
            Some(ColumnType::Uuid) => Some(Self::Uuid),
            Some(ColumnType::Json) => Some(if is_jsonb(field) { Self::Jsonb } else { Self::Json }),
            _ => None,
        }
    }

    pub(crate) fn is_json(self) -> bool {
        self != Self::Uuid
    }

    /// A nullable field of values of this type.
    pub(crate) fn field(self, name: &str) -> Field {
        let field = Field::new(name, DataType::Utf8, true);
        match self {
            Self::Uuid => declared_field(field, ColumnType::Uuid),
            Self::Json => declared_field(field, ColumnType::Json),
            Self::Jsonb => jsonb_field(field),
        }
    }
}
