//! The layout and collation of values in the catalogue, as in PostgreSQL. The store lays values out in its own way.

use super::known;

const TID: u32 = 27;
const PG_NODE_TREE: u32 = 194;
const TIMETZ: u32 = 1266;
const CSTRING: u32 = 2275;
const ANYARRAY: u32 = 2277;

/// The alignment of a type's values: to 1 byte (`c`), 2 (`s`), 4 (`i`) or 8 (`d`).
pub(in crate::pg) fn alignment_of(id: u32) -> &'static str {
    if let Some(element) = known::element_of(id) {
        // An array begins with integers.
        return if alignment_of(element.id) == "d" { "d" } else { "i" };
    }
    match id {
        known::BOOL | known::CHAR | known::NAME | known::UNKNOWN | known::UUID | CSTRING => "c",
        known::INT2 | TID => "s",
        known::INT8 | known::FLOAT8 | known::TIME | known::TIMESTAMP | known::TIMESTAMPTZ | known::INTERVAL => "d",
        TIMETZ | known::RECORD | ANYARRAY => "d",
        range if known::bounds_of(range).is_some_and(|bound| alignment_of(bound) == "d") => "d",
        _ => "i",
    }
}

/// How a type's values may be stored: as they are (`p`), compressed (`m`), or elsewhere, too (`x`).
pub(in crate::pg) fn storage_of(id: u32) -> &'static str {
    match (id, known::width_of(id)) {
        (known::INT2VECTOR | known::OIDVECTOR, _) => "p",
        (known::NUMERIC | known::INET | known::CIDR, _) => "m",
        (_, -1) => "x",
        _ => "p",
    }
}

/// Returns whether values of this width are passed as they are, not by their address.
pub(in crate::pg) fn is_by_value(width: i16) -> bool {
    matches!(width, 1 | 2 | 4 | 8)
}

/// The number of the collation of a type's values; 0 if it has none.
pub(in crate::pg) fn collation_of(id: u32) -> i64 {
    match known::element_of(id).map_or(id, |element| element.id) {
        known::TEXT | known::VARCHAR | known::BPCHAR | PG_NODE_TREE => 100,
        known::NAME => 950,
        _ => 0,
    }
}

/// Returns whether a type is preferred to others of its category.
pub(in crate::pg) fn is_preferred(id: u32) -> bool {
    matches!(
        id,
        known::BOOL | known::TEXT | known::OID | known::FLOAT8 | known::TIMESTAMPTZ | known::INTERVAL | known::INET
    )
}
