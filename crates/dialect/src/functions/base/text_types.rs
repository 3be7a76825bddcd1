//! The types of values that are texts for DataFusion, and UUIDs, JSON, network addresses, vectors and queries of
//! full-text search or labels of an enumerated type for SQL. The metadata of a field marks them, for columns as well as
//! for results of functions.

use atsdb_codec::{declared_field, declared_type, enumeration_field, enumeration_of, is_jsonb, jsonb_field};
use atsdb_core::{ColumnType, Enumeration};
use datafusion::arrow::datatypes::{DataType, Field};
use std::collections::HashMap;
use std::sync::Arc;

/// The key in the metadata of a field of texts whose value is the name of an [`AddressType`]. Only results have it.
const ADDRESS_KEY: &str = "atsdb.address";

/// A type of network addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressType {
    /// An address, perhaps with the mask of its network.
    Inet,
    /// A network.
    Cidr,
}

impl AddressType {
    /// The name of the type in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Inet => "inet",
            Self::Cidr => "cidr",
        }
    }

    /// The type with a name in either case.
    pub fn of_name(name: &str) -> Option<Self> {
        [Self::Inet, Self::Cidr].into_iter().find(|of| name.eq_ignore_ascii_case(of.name()))
    }

    /// The type of the addresses of a field of results.
    pub fn of(field: &Field) -> Option<Self> {
        Self::of_name(field.metadata().get(ADDRESS_KEY).filter(|_| field.data_type().is_string())?)
    }
}

/// The key in the metadata of a field of texts whose value is the name of a [`SearchType`]. Only results have it.
const SEARCH_KEY: &str = "atsdb.text_search";

/// A type of full-text search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SearchType {
    /// The words of a document.
    Vector,
    /// What is looked for.
    Query,
}

impl SearchType {
    /// The name of the type in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Vector => "tsvector",
            Self::Query => "tsquery",
        }
    }

    /// The type with a name in either case.
    pub fn of_name(name: &str) -> Option<Self> {
        [Self::Vector, Self::Query].into_iter().find(|of| name.eq_ignore_ascii_case(of.name()))
    }

    /// The type of the values of a field of results.
    pub fn of(field: &Field) -> Option<Self> {
        Self::of_name(field.metadata().get(SEARCH_KEY).filter(|_| field.data_type().is_string())?)
    }
}

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
    /// A network address.
    Address(AddressType),
    /// The words of a document, or what is looked for among them.
    Search(SearchType),
}

impl TextType {
    /// The type that a field declares.
    pub fn of(field: &Field) -> Option<Self> {
        match declared_type(field) {
            Some(ColumnType::Uuid) => Some(Self::Uuid),
            Some(ColumnType::Json) => Some(if is_jsonb(field) { Self::Jsonb } else { Self::Json }),
            _ => match (AddressType::of(field), SearchType::of(field)) {
                (Some(of), _) => Some(Self::Address(of)),
                (None, Some(of)) => Some(Self::Search(of)),
                (None, None) => enumeration_of(field).map(|of| Self::Enum(Arc::new(of))),
            },
        }
    }

    /// Returns whether the type is `json` or `jsonb`.
    pub fn is_json(&self) -> bool {
        matches!(self, Self::Json | Self::Jsonb)
    }

    /// Returns whether the type is `uuid`.
    pub fn is_uuid(&self) -> bool {
        *self == Self::Uuid
    }

    /// The enumerated type, if it is one.
    pub fn enumeration(self) -> Option<Arc<Enumeration>> {
        match self {
            Self::Enum(of) => Some(of),
            Self::Uuid | Self::Json | Self::Jsonb | Self::Address(_) | Self::Search(_) => None,
        }
    }

    /// The type of addresses, if it is one.
    pub fn address(&self) -> Option<AddressType> {
        match self {
            Self::Address(of) => Some(*of),
            Self::Uuid | Self::Json | Self::Jsonb | Self::Enum(_) | Self::Search(_) => None,
        }
    }

    /// The type of full-text search, if it is one.
    pub fn search(&self) -> Option<SearchType> {
        match self {
            Self::Search(of) => Some(*of),
            Self::Uuid | Self::Json | Self::Jsonb | Self::Enum(_) | Self::Address(_) => None,
        }
    }

    /// Whether values have another order than their texts. Those of full-text search have none.
    pub fn has_own_order(&self) -> bool {
        matches!(self, Self::Enum(_) | Self::Address(_) | Self::Search(_))
    }

    /// A nullable field of values of this type.
    pub fn field(&self, name: &str) -> Field {
        self.mark(Field::new(name, DataType::Utf8, true))
    }

    /// The field with the mark of this type.
    pub fn mark(&self, field: Field) -> Field {
        match self {
            Self::Uuid => declared_field(field, ColumnType::Uuid),
            Self::Json => declared_field(field, ColumnType::Json),
            Self::Jsonb => jsonb_field(field),
            Self::Enum(of) => enumeration_field(field, of),
            Self::Address(of) => field.with_metadata(HashMap::from([(ADDRESS_KEY.to_owned(), of.name().to_owned())])),
            Self::Search(of) => field.with_metadata(HashMap::from([(SEARCH_KEY.to_owned(), of.name().to_owned())])),
        }
    }
}
