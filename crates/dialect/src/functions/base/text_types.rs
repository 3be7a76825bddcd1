//! The types of values that are texts for DataFusion, and UUIDs, JSON, network addresses, ranges, vectors and queries
//! of full-text search, labels of an enumerated type or values of a `char(n)` for SQL. The metadata of a field marks
//! them, for columns as well as for results of functions.

use atsdb_codec::{
    char_field, char_length, declared_field, declared_type, enumeration_field, enumeration_of, is_char, is_jsonb,
    jsonb_field,
};
use atsdb_core::{ColumnType, Enumeration};
use datafusion::arrow::datatypes::{DataType, Field};
use std::collections::HashMap;
use std::sync::Arc;

/// The key in the metadata of a field of texts whose value is the name of an [`AddressType`]. Only results have it.
const ADDRESS_KEY: &str = "atsdb.address";

/// The key in the metadata of a field of texts whose value is the name of a [`RangeType`]. Only results have it.
const RANGE_KEY: &str = "atsdb.range";

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

/// A type of ranges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RangeType {
    /// Ranges of days.
    Date,
    /// Ranges of integers of 32 bits.
    Int4,
    /// Ranges of integers of 64 bits.
    Int8,
    /// Ranges of decimals.
    Num,
    /// Ranges of times without a zone.
    Ts,
    /// Ranges of times with a zone.
    Tstz,
}

impl RangeType {
    /// All types of ranges.
    pub const ALL: [Self; 6] = [Self::Date, Self::Int4, Self::Int8, Self::Num, Self::Ts, Self::Tstz];

    /// The name of the type in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Date => "daterange",
            Self::Int4 => "int4range",
            Self::Int8 => "int8range",
            Self::Num => "numrange",
            Self::Ts => "tsrange",
            Self::Tstz => "tstzrange",
        }
    }

    /// The name of the type of the values within ranges.
    pub fn element_name(self) -> &'static str {
        match self {
            Self::Date => "date",
            Self::Int4 => "integer",
            Self::Int8 => "bigint",
            Self::Num => "numeric",
            Self::Ts => "timestamp",
            Self::Tstz => "timestamp with time zone",
        }
    }

    /// Returns whether each value has a next one, so that a range has one form: `[1,5)`.
    pub fn is_discrete(self) -> bool {
        matches!(self, Self::Date | Self::Int4 | Self::Int8)
    }

    /// The type with a name in either case.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|of| name.eq_ignore_ascii_case(of.name()))
    }

    /// The type of the ranges of a field of results.
    pub fn of(field: &Field) -> Option<Self> {
        Self::of_name(field.metadata().get(RANGE_KEY).filter(|_| field.data_type().is_string())?)
    }
}

/// The key in the metadata of a field of texts whose value is the name of a [`SearchType`]. Only results have it.
const SEARCH_KEY: &str = "atsdb.text_search";

/// A type of full-text search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SearchType {
    /// The words of a document.
    Vector,
    /// A condition on the words of a document.
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
    /// A range.
    Range(RangeType),
    /// The words of a document, or a query for them.
    Search(SearchType),
    /// A text of a `char(n)`, without spaces at the end. The number is `n`; `None` of values of several lengths.
    Char(Option<u32>),
}

impl TextType {
    /// The type that a field declares.
    pub fn of(field: &Field) -> Option<Self> {
        match declared_type(field) {
            Some(ColumnType::Uuid) => Some(Self::Uuid),
            Some(ColumnType::Json) => Some(if is_jsonb(field) { Self::Jsonb } else { Self::Json }),
            _ => {
                let address = AddressType::of(field).map(Self::Address);
                let range = || RangeType::of(field).map(Self::Range);
                let search = || SearchType::of(field).map(Self::Search);
                let label = || enumeration_of(field).map(|of| Self::Enum(Arc::new(of)));
                let fixed = || is_char(field).then(|| Self::Char(char_length(field)));
                address.or_else(range).or_else(search).or_else(label).or_else(fixed)
            }
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

    /// Returns whether the type is `char(n)`, whose values functions take as texts.
    pub fn is_char(&self) -> bool {
        matches!(self, Self::Char(_))
    }

    /// Returns whether values of the type are compared as texts, so that they need their type in results alone.
    pub fn is_compared_as_text(&self) -> bool {
        self.is_uuid() || self.is_char()
    }

    /// The enumerated type, if it is one.
    pub fn enumeration(self) -> Option<Arc<Enumeration>> {
        match self {
            Self::Enum(of) => Some(of),
            _ => None,
        }
    }

    /// The type of addresses, if it is one.
    pub fn address(&self) -> Option<AddressType> {
        match self {
            Self::Address(of) => Some(*of),
            _ => None,
        }
    }

    /// The type of ranges, if it is one.
    pub fn range(&self) -> Option<RangeType> {
        match self {
            Self::Range(of) => Some(*of),
            _ => None,
        }
    }

    /// The type of full-text search, if it is one.
    pub fn search(&self) -> Option<SearchType> {
        match self {
            Self::Search(of) => Some(*of),
            _ => None,
        }
    }

    /// Returns whether values have another order than their texts. Those of full-text search have none.
    pub fn has_own_order(&self) -> bool {
        matches!(self, Self::Enum(_)) || self.excludes_texts()
    }

    /// Returns whether values are never looked for among texts or united with them, since a text may write them in
    /// several ways.
    pub fn excludes_texts(&self) -> bool {
        matches!(self, Self::Address(_) | Self::Range(_) | Self::Search(_))
    }

    /// Returns whether equal values may have different texts: `[1.0,2)` and `[1,2)`.
    pub fn has_several_texts(&self) -> bool {
        *self == Self::Range(RangeType::Num)
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
            Self::Address(of) => named(field, ADDRESS_KEY, of.name()),
            Self::Range(of) => named(field, RANGE_KEY, of.name()),
            Self::Search(of) => named(field, SEARCH_KEY, of.name()),
            Self::Char(characters) => char_field(field, *characters),
        }
    }
}

/// The field with the name of its type under a key.
fn named(field: Field, key: &str, name: &str) -> Field {
    field.with_metadata(HashMap::from([(key.to_owned(), name.to_owned())]))
}
