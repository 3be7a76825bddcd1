//! The names of ClickHouse's types. Its formats `TabSeparatedWithNamesAndTypes`, `CSVWithNamesAndTypes` and
//! `JSONCompactEachRowWithNamesAndTypes` have a record of them below the names of the columns.

/// Types without arguments.
const PLAIN: [&str; 28] = [
    "Bool", "Date", "Date32", "DateTime", "Decimal", "Dynamic", "Float32", "Float64", "IPv4", "IPv6", "Int8", "Int16",
    "Int32", "Int64", "Int128", "Int256", "JSON", "Nothing", "Point", "String", "Time", "UInt8", "UInt16", "UInt32",
    "UInt64", "UInt128", "UInt256", "UUID",
];

/// Types with arguments.
const WITH_ARGUMENTS: [&str; 20] = [
    "AggregateFunction",
    "Array",
    "DateTime",
    "DateTime64",
    "Decimal",
    "Decimal32",
    "Decimal64",
    "Decimal128",
    "Decimal256",
    "Enum8",
    "Enum16",
    "FixedString",
    "JSON",
    "Map",
    "Nested",
    "Object",
    "SimpleAggregateFunction",
    "Time64",
    "Tuple",
    "Variant",
];

/// Types of the values of another one, which is their argument.
const WRAPPERS: [&str; 2] = ["LowCardinality", "Nullable"];

/// Types whose values are texts, also if they look like numbers or times.
const TEXTS: [&str; 4] = ["Enum8", "Enum16", "FixedString", "String"];

/// The note about a record of types.
pub(crate) const TYPES_LEFT_OUT: &str = "the line below the names has types of ClickHouse and is left out: strings stay \
                                         text, other types are chosen from the values";

/// Returns for each column whether it is text; `None` unless all cells of the record are types.
pub(crate) fn text_columns(cells: &[String]) -> Option<Vec<bool>> {
    let columns = cells.iter().map(|cell| is_text_type(cell)).collect::<Option<Vec<_>>>()?;
    (!columns.is_empty()).then_some(columns)
}

/// Returns whether the values of a type are texts; `None` if it is no type.
fn is_text_type(cell: &str) -> Option<bool> {
    let (name, arguments) = match cell.split_once('(') {
        Some((name, rest)) => (name, Some(rest.strip_suffix(')')?)),
        None => (cell, None),
    };
    if WRAPPERS.contains(&name) {
        return is_text_type(arguments?);
    }
    let is_type = if arguments.is_some() { WITH_ARGUMENTS.contains(&name) } else { PLAIN.contains(&name) };
    is_type.then(|| TEXTS.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_known_by_their_names_and_arguments() {
        for (cell, wanted) in [
            ("DateTime", Some(false)),
            ("DateTime64(3, 'UTC')", Some(false)),
            ("Nullable(UInt8)", Some(false)),
            ("Array(Nullable(String))", Some(false)),
            ("String", Some(true)),
            ("LowCardinality(Nullable(String))", Some(true)),
            ("Enum8('a' = 1, 'b' = 2)", Some(true)),
            ("string", None),
            ("Nullable", None),
            ("Array", None),
            ("Float64(", None),
            ("value", None),
            ("", None),
        ] {
            assert_eq!(is_text_type(cell), wanted, "{cell}");
        }
        assert_eq!(text_columns(&[]), None);
        assert_eq!(text_columns(&["UInt8".to_owned(), "String".to_owned()]), Some(vec![false, true]));
    }
}
