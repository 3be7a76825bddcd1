//! The types of values that are texts for DataFusion, and UUIDs, JSON or labels of an enumerated type for SQL. The
//! metadata of a field marks them, for columns as well as for results of functions.

use atsdb_codec::{declared_field, declared_type, enumeration_field, enumeration_of, is_jsonb, jsonb_field};
use atsdb_core::{ColumnType, Enumeration};
use datafusion::arrow::datatypes::{DataType, Field};
use std::sync::Arc;

/// A type whose values are texts for DataFusion.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TextType {
    /// A UUID.
    Uuid,
    /// A JSON document.
    Json,
    /// JSON in the form of PostgreSQL's `jsonb`.
    Jsonb,
    /// A label of an enumerated type.
    Enum(Arc<Enumeration>),
}

impl TextType {
    /// The type that a field declares.
    pub fn of(field: &Field) -> Option<Self> {
        match declared_type(field) {
            Some(ColumnType::Uuid) => Some(Self::Uuid),
            Some(ColumnType::Json) => Some(if is_jsonb(field) { Self::Jsonb } else { Self::Json }),
            _ => enumeration_of(field).map(|of| Self::Enum(Arc::new(of))),
        }
    }

    /// Whether the type is JSON.
    pub fn is_json(&self) -> bool {
        matches!(self, Self::Json | Self::Jsonb)
    }

    /// Whether the type is UUID.
    pub fn is_uuid(&self) -> bool {
        *self == Self::Uuid
    }

    /// The enumerated type, if it is one.
    pub fn enumeration(self) -> Option<Arc<Enumeration>> {
        match self {
            Self::Enum(of) => Some(of),
            Self::Uuid | Self::Json | Self::Jsonb => None,
        }
    }

    /// A nullable field of values of this type.
    pub fn field(&self, name: &str) -> Field {
        let field = Field::new(name, DataType::Utf8, true);
        match self {
            Self::Uuid => declared_field(field, ColumnType::Uuid),
            Self::Json => declared_field(field, ColumnType::Json),
            Self::Jsonb => jsonb_field(field),
            Self::Enum(of) => enumeration_field(field, of),
        }
    }
}
